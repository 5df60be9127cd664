"""Problems of every kind in every regime, solved by every solver that proves something: what the campaign judges."""

import itertools
from dataclasses import replace
from typing import Any, NamedTuple

import exact_values as exact
import numpy as np
import scipy.sparse as sp
from exact_numbers import ZERO, wide

import specmargin as sm
from reproduction.data import DataNotFoundError, load
from specmargin.kernels import LowRankKernel
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    LapRLS,
    LapSVM,
    RegularizedClustering,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumMargin,
)
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.optima import S3VMRelaxation

REGIMES = ("random", "real", "weights", "gammas", "hard margin", "ties", "scale", "offset")


class Answer(NamedTuple):
    """One result of a solver beside the truth."""

    solver: str
    result: Any
    tol: float
    primal: Any = None
    """In exact arithmetic at the returned point; None where the result carries too little to say."""
    dual: Any = None
    """The bound that the returned multipliers prove, or the lowest value that was met; None likewise."""
    bound: Any = None
    """What no lower bound may exceed, where that is known."""
    objective: Any = None
    """The problem that was solved."""


def sample(rng, regime, n):
    """Features, two classes and their names in the regime."""
    if regime == "real":
        X, truth = real(rng, n)
    else:
        X = rng.standard_normal((n, int(rng.integers(2, 6))))
        truth = (X[:, 0] + 0.3 * rng.standard_normal(n) > 0).astype(int)
        truth[:2] = 0, 1
    if regime == "hard margin":
        X[:, 0] += np.where(truth, 3.0, -3.0)
    elif regime == "ties":
        X = np.round(X)[rng.integers(0, max(2, 2 * n // 3), n)]
    elif regime == "scale":
        X = X * 10.0 ** rng.integers(-8, 9)
    elif regime == "offset":
        X = X + 10.0 ** rng.uniform(3, 12)
    return X, truth


def real(rng, n):
    """Some images of two digits, or some text, or some of a set in the folder of the data."""
    at = rng.integers(0, 3)
    if at == 0:
        X, truth = sm.datasets.digits_pair(3, 8)
    elif at == 1:
        X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.1, random_state=int(rng.integers(100)))
    else:
        X, truth = fetched("g50c")
    rows = np.concatenate([[np.flatnonzero(truth == c)[0] for c in (0, 1)], rng.permutation(len(X))[: n - 2]])
    return np.asarray(X[rows], dtype=float), truth[rows]


def fetched(name):
    """A data set of two classes from the folder of the data, or bundled digits where there is none."""
    try:
        data = load(name, download=False)
    except DataNotFoundError:
        return sm.datasets.digits_pair(4, 9)
    return data.X, data.y


def labelled(rng, truth, l):
    """Labels of which l are known, of both classes."""
    y = np.full(len(truth), -1)
    y[rng.permutation(len(truth))[:l]] = 0
    y = np.where(y == 0, truth, -1)
    for c in (0, 1):
        if not (y == c).any() and (truth == c).any():
            y[np.flatnonzero(truth == c)[0]] = c
    if not (y == 0).any() or not (y == 1).any():
        y[:2] = 0, 1
    return y


def kernel(rng, X):
    """A kernel matrix that is positive definite without any rounding, too."""
    spread = float(np.median(((X - X.mean(axis=0)) ** 2).sum(axis=1))) or 1.0
    name = ("rbf", "linear", "poly")[rng.integers(3)]
    with np.errstate(over="ignore"):
        K = sm.kernels.gram(X, kernel=name, gamma=float(10 ** rng.uniform(-1, 1)) / spread, degree=2)
    # Without it there is no optimum to compare with.
    return (K + K.T) / 2 + 1e-13 * len(X) * np.abs(K).max() * np.eye(len(X))


def graph(rng, X):
    """A graph of nearest neighbours of the samples about their mean, and its Laplacian."""
    W = sm.graphs.knn_graph(X - X.mean(axis=0), n_neighbors=int(rng.integers(2, 5)))
    return sm.graphs.laplacian(W, normalized=bool(rng.integers(2)), power=int(rng.integers(1, 3)))


def weight(rng, regime):
    """A weight C of the losses."""
    low, high = {"weights": (4, 10), "hard margin": (3, 8), "gammas": (-6, -1)}.get(regime, (-2, 3))
    return float(10 ** rng.uniform(low, high))


def eigenvectors(rng, regime, X, q):
    """The lowest eigenpairs of a graph; in two regimes on another scale, and with equal eigenvalues."""
    W = sm.graphs.knn_graph(X - X.mean(axis=0), n_neighbors=4)
    if regime == "ties":
        n = len(X)
        W = sp.csr_array(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))  # a ring: pairs are equal
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=q, normalized=bool(rng.integers(2)))
    scale = 10.0 ** rng.integers(-8, 9) if regime == "scale" else 1.0
    return replace(spectrum, eigenvectors=scale * spectrum.eigenvectors), float(scale)


class ByProducts:
    """A graph of which nothing is known but its products."""

    def __init__(self, hidden):
        self.hidden, self.shape = hidden, hidden.shape

    def __matmul__(self, x):
        return self.hidden @ x


def manifold(rng, regime):
    """LapSVM and LapRLS."""
    n = int(rng.integers(10, 28))
    X, truth = sample(rng, regime, n)
    L = graph(rng, X)
    L = ByProducts(L) if rng.random() < 0.1 else L
    K = LowRankKernel(np.column_stack([X, np.ones(n)])) if rng.random() < 0.3 else kernel(rng, X)
    losses = ("hinge", "squared_hinge", "squared", "smooth_hinge")
    loss = losses[rng.choice(4, p=[0.35, 0.3, 0.2, 0.15])]
    reach = float(np.mean(K.diagonal()))
    gamma_A = reach / weight(rng, regime)
    gamma_I = float(10 ** rng.uniform(-3, 3)) * (1.0 if rng.random() < 0.8 else 0.0)
    if regime == "gammas":
        gamma_A, gamma_I = reach * float(10 ** rng.uniform(-10, -3)), float(10 ** rng.uniform(-2, 5))
    labels = sm.encode_labels(labelled(rng, truth, int(rng.integers(2, n + 1))))
    obj = LapSVM(
        K, L if gamma_I else None, labels, loss=loss, gamma_A=gamma_A, gamma_I=gamma_I, fit_intercept=rng.random() < 0.8
    )
    solvers = {}
    if loss != "smooth_hinge":
        solvers["factorized"] = (lambda: sm.solvers.factorized(obj), 1e-9)
    if loss in ("squared", "squared_hinge"):
        solvers["newton"] = (lambda: sm.solvers.newton(obj), 1e-9)
        solvers["pcg"] = (lambda: sm.solvers.pcg(obj, max_iter=300), 1e-6)
    solvers["lapsvm_dual"] = (lambda: sm.solve(sm.problems.lapsvm_dual(obj)), 1e-6)
    if not isinstance(K, LowRankKernel):
        solvers["lapsvm_primal"] = (lambda: sm.solve(sm.problems.lapsvm_primal(obj)), 1e-6)
    judge = exact.Manifold(obj)
    return choices(rng, obj, solvers, 2, judge)


def regressions(rng, regime):
    """LapRLS with numbers for targets."""
    n = int(rng.integers(10, 28))
    X, _ = sample(rng, regime, n)
    L = graph(rng, X)
    K = LowRankKernel(np.column_stack([X, np.ones(n)])) if rng.random() < 0.3 else kernel(rng, X)
    reach = float(np.mean(K.diagonal()))
    gamma_A, gamma_I = reach / weight(rng, regime), float(10 ** rng.uniform(-3, 3))
    if regime == "gammas":
        gamma_A, gamma_I = reach * float(10 ** rng.uniform(-10, -3)), float(10 ** rng.uniform(-2, 5))
    z = rng.normal(size=n) if regime != "ties" else rng.integers(-1, 2, size=n).astype(float)
    z = {"scale": 10.0 ** rng.integers(-8, 9), "real": 3.0}.get(regime, 1.0) * z
    z += {"offset": 10.0 ** rng.integers(0, 9)}.get(regime, 0.0)
    at = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
    weights = {"gamma_A": gamma_A, "gamma_I": gamma_I, "fit_intercept": rng.random() < 0.8}
    obj = LapRLS(K, L, labeled=at, targets=z[at], **weights)
    solvers = {"factorized": (lambda: sm.solvers.factorized(obj), 1e-9)}
    solvers["lapsvm_dual"] = (lambda: sm.solve(sm.problems.lapsvm_dual(obj)), 1e-6)
    if not isinstance(K, LowRankKernel):
        solvers["lapsvm_primal"] = (lambda: sm.solve(sm.problems.lapsvm_primal(obj)), 1e-6)
    return choices(rng, obj, solvers, 2, exact.Regression(obj))


def choices(rng, obj, solvers, most, judge):
    """The answers of some of the solvers to a problem."""
    answers = []
    for name in rng.permutation(list(solvers))[:most]:
        solve, tol = solvers[name]
        result = solve()
        values = judge(result) if result.status.has_solution else ()
        answers.append(Answer(str(name), result, tol, *values)._replace(objective=obj))
    return answers


def bound_on_decisions(rng):
    """B."""
    return float(rng.choice([np.inf, 1.0001, 1.1, 3.0], p=[0.4, 0.2, 0.2, 0.2]))


def relative_margins(rng, regime):
    """SVMs and relative margin machines on a kernel."""
    n = int(rng.integers(6, 24))
    X, truth = sample(rng, regime, n)
    K = kernel(rng, X)
    C = weight(rng, regime) / float(np.mean(K.diagonal()))
    obj = RMM(K, sm.encode_labels(truth), C=C, B=bound_on_decisions(rng))

    def judge(result):
        found = result.variables
        multipliers = result.duals.get("gamma")
        if multipliers is None:
            y = obj.labels.sign
            multipliers = y * found["alpha"] - found.get("beta", 0.0) + found.get("eta", 0.0)
        return exact.on_kernel(obj, found["gamma"], found["b"], multipliers)

    solvers = {
        "relative_margin": (lambda: sm.solvers.relative_margin(obj), 1e-9),
        "rmm": (lambda: sm.solve(sm.problems.rmm(obj)), 1e-6),
    }
    return choices(rng, obj, solvers, 2, judge)


def spectra_learned(rng, regime):
    """STORM, STOAM, multiple kernels, given spectra, several graphs, a path."""
    n, q = int(rng.integers(16, 40)), int(rng.integers(3, 12))
    X, truth = sample(rng, regime, n)
    spectrum, scale = eigenvectors(rng, regime, X, q)
    spectra = spectrum
    if rng.random() < 0.3:
        spectra = [spectrum, eigenvectors(rng, "random", X[:, ::-1] ** 3, q - 1)[0]]
        spectra[1] = replace(spectra[1], eigenvectors=scale * spectra[1].eigenvectors)
    y = labelled(rng, truth, int(rng.integers(4, n // 2 + 1)))
    if rng.random() < 0.3:
        wrong = [np.flatnonzero(y == c)[0] for c in (0, 1)]
        y[wrong] = 1 - y[wrong]
    labels, C, B = sm.encode_labels(y), weight(rng, regime) / scale**2, bound_on_decisions(rng)
    order, eps = bool(rng.random() < 0.7), float(rng.choice([0.0, 1e-6], p=[0.7, 0.3]))
    obj = SpectrumMargin(spectra, labels, C=C, B=B, order=order, eps=eps, ties=bool(rng.random() < 0.7))
    if rng.random() < 0.15:
        obj = replace(obj, eps=0.0, delta=rng.exponential(size=obj.q))
    form = ("compact", "chained", "literal", "primal")[rng.integers(4)]
    solvers = {
        "spectrum_margin": (lambda: sm.solvers.spectrum_margin(obj), 1e-9),
        "storm": (lambda: sm.solve(sm.problems.storm(obj, form)), 1e-6),
    }
    closed = replace(obj, eps=0.0)  # which has a closed form
    if obj.delta is None:
        solvers["alternation"] = (lambda: sm.solvers.alternation(closed, max_iter=20), 1e-6)
        solvers["path"] = (lambda: sm.solvers.spectrum_path(obj, np.array([C / 2, C]))[-1], 1e-9)
    answers = choices(
        rng,
        obj,
        solvers,
        2,
        lambda result: exact.over_spectrum(closed if result.solver == "alternation" else obj, result.variables),
    )
    return [one._replace(objective=closed) if one.solver == "alternation" else one for one in answers]


def alignments(rng, regime):
    """Kernel target alignment."""
    n, q = int(rng.integers(16, 40)), int(rng.integers(3, 12))
    X, truth = sample(rng, regime, n)
    spectrum, _ = eigenvectors(rng, regime, X, q)
    spectra = [spectrum, spectrum.truncate(q - 1)] if rng.random() < 0.2 else spectrum
    labels = sm.encode_labels(labelled(rng, truth, int(rng.integers(4, n // 2 + 1))))
    obj = Alignment(spectra, labels, order=bool(rng.random() < 0.7), ties=bool(rng.random() < 0.7))
    solvers = {
        "alignment": (lambda: sm.solvers.alignment(obj), 1e-9),
        "kta": (lambda: sm.solve(sm.problems.kta(obj)), 1e-6),
    }
    return choices(rng, obj, solvers, 2, lambda result: exact.aligned(obj, result.variables))


def ridges(rng, regime):
    """Least squares over eigenvectors, of two classes or three."""
    n, q = int(rng.integers(16, 40)), int(rng.integers(3, 14))
    X, truth = sample(rng, regime, n)
    spectrum, scale = eigenvectors(rng, regime, X, q)
    y = labelled(rng, truth, int(rng.integers(4, n)))
    if rng.random() < 0.4:
        y[np.flatnonzero(y == 1)[0]] = 2
    penalty = scale**2 / weight(rng, regime)
    obj = SpectralRidge(spectrum, sm.encode_labels(y), power_spectrum(spectrum, float(rng.integers(0, 4))), penalty)
    solvers = {"spectral_ridge": (lambda: sm.solvers.spectral_ridge(obj), 1e-9)}
    return choices(rng, obj, solvers, 1, lambda result: exact.ridge(obj, result.variables))


def transducers(rng, regime):
    """The spectral graph transducer."""
    n = int(rng.integers(16, 44))
    X, truth = sample(rng, regime, n)
    spectrum, _ = eigenvectors(rng, regime if regime != "scale" else "random", X, int(rng.integers(3, n - 2)))
    labels = sm.encode_labels(labelled(rng, truth, int(rng.integers(2, n + 1))))
    Q = spectrum.eigenvalues[1:] if rng.random() < 0.4 else None
    obj = SpectralGraphTransducer(spectrum, labels, C=10.0 * weight(rng, regime), Q=Q)
    solvers = {"graph_transducer": (lambda: sm.solvers.graph_transducer(obj), 1e-10)}
    return choices(rng, obj, solvers, 1, lambda result: exact.transduced(obj, result.variables))


def clusterings(rng, regime):
    """Regularized spectral clustering and eigenmaps."""
    n = int(rng.integers(10, 24))
    X, _ = sample(rng, regime, n)
    K, L = kernel(rng, X - X.mean(axis=0) if regime == "offset" else X), graph(rng, X)
    low, high = {"gammas": (-10, -4), "weights": (-8, 0)}.get(regime, (-3, 1))
    obj = RegularizedClustering(K, L, float(np.mean(K.diagonal())) * float(10 ** rng.uniform(low, high)))
    m = int(rng.integers(1, 4))
    solvers = {"eigenmaps": (lambda: sm.solvers.eigenmaps(obj, m), 1e-8)}
    judge = exact.Clustering(obj)
    return choices(rng, obj, solvers, 1, lambda result: judge(result.variables))


def features_of(rng, regime, n):
    """Features with an intercept of some kind, and the samples with names."""
    X, truth = sample(rng, regime, n)
    y = labelled(rng, truth, int(rng.integers(2, n - 2)))
    intercept = ("balance", "regularized", "free")[rng.integers(3)]
    X = sp.csr_array(X * (rng.random(X.shape) < 0.7)) if rng.random() < 0.3 else X
    dense = X.toarray() if sp.issparse(X) else X
    spread = float(np.median(((dense - dense.mean(axis=0)) ** 2).sum(axis=1))) or 1.0
    return X, y, intercept, spread


def convex_svms(rng, regime):
    """Weighted SVMs, and rounds of the CCCP by CVXPY."""
    n = int(rng.integers(8, 30))
    X, y, intercept, spread = features_of(rng, regime, n)
    obj = S3VM(X, sm.encode_labels(y), "hinge", C=weight(rng, regime) / spread, balance=0.1, intercept=intercept)
    if rng.random() < 0.2 and intercept != "free":
        beta = obj.C_star * np.where(rng.random(len(obj.unlabeled)) < 0.5, 1.0, -1.0)
        built = sm.problems.cccp_subproblem(obj, beta)
        svm = built.current_objective()
        result = sm.solve(built)
        values = ()
        if result.status.has_solution:
            values = exact.weighted(svm, result.variables["w"], cccp_multipliers(built, svm, obj, beta))
        return [Answer("cccp_subproblem", result, 1e-6, *values)._replace(objective=svm)]
    loss = ("hinge", "squared_hinge", "squared", "smooth_hinge")[rng.choice(4, p=[0.4, 0.3, 0.1, 0.2])]
    guess = np.where(rng.random(len(obj.unlabeled)) < 0.5, 1.0, -1.0)
    if rng.random() < 0.3:
        guess = rng.uniform(-1, 1, len(guess))
    svm = obj.guessed(guess, float(rng.choice([0.1, 1.0])) * obj.C).with_(loss=loss)
    solvers = {"weighted_svm": (lambda: sm.solvers.weighted_svm(svm), 1e-10)}
    return choices(rng, svm, solvers, 1, lambda result: exact.weighted(svm, result.variables["w"], result.duals))


def cccp_multipliers(built, svm, obj, beta):
    """theta of both labels: stationarity in the margins says weights V' + beta = multiplier."""
    rows = np.concatenate([obj.labels.labeled, obj.unlabeled, obj.unlabeled])
    u, l = len(obj.unlabeled), obj.labels.n_labeled
    side = np.concatenate([obj.labels.sign, np.ones(u), -np.ones(u)])
    weights = np.where(side > 0, svm.plus[rows], svm.minus[rows])
    charged = -np.asarray(built.constraints["margin"].dual_value)
    charged[l : l + u] += beta
    theta = np.divide(charged, weights, out=np.zeros_like(charged), where=weights > 0)
    duals = {"plus": np.zeros(len(svm.plus)), "minus": np.zeros(len(svm.plus))}
    duals["plus"][rows[side > 0]], duals["minus"][rows[side < 0]] = theta[side > 0], theta[side < 0]
    return duals


S3VM_LOSSES = list(itertools.product(["hinge", "squared_hinge"], ["symmetric_hinge", "symmetric_squared_hinge", "exp"]))


def s3vms(rng, regime):
    """Bounds of S3VMs, from the relaxation to branch and bound."""
    n = int(rng.integers(8, 14))
    X, y, intercept, spread = features_of(rng, regime, n)
    y[rng.permutation(np.flatnonzero(y == -1))[6:]] = 1
    loss, unlabeled_loss = S3VM_LOSSES[rng.integers(len(S3VM_LOSSES))]
    if intercept == "free" or regime == "scale":
        intercept = "balance" if regime == "scale" else "regularized"  # a constant of one is no feature of such a scale
    C = weight(rng, regime) / spread
    obj = S3VM(X, sm.encode_labels(y), loss, unlabeled_loss, C=C, balance=0.2, intercept=intercept)
    known = [np.zeros(obj.size)]
    for guess in itertools.product([-1.0, 1.0], repeat=len(obj.unlabeled)):
        svm = obj.guessed(np.array(guess))
        known.append(sm.solvers.weighted_svm(svm, max_iter=60).variables["w"])
    floats = [obj.value_at(w) for w in known]
    best = min(exact.nonconvex(obj, known[i]) for i in np.argsort(floats)[:4])
    local = sm.solvers.label_switching(obj) if unlabeled_loss != "exp" else sm.solvers.gradient(obj)
    tasks = {
        "with_bound": lambda: sm.optima.with_bound(obj, local),
        "branch_and_bound": lambda: sm.optima.branch_and_bound(obj, time_limit=10),
        "probe": lambda: sm.optima.probe(obj),
        "s3vm_bound": lambda: sm.optima.s3vm_bound(obj),
        "s3vm_relaxation": lambda: sm.solve(sm.optima.s3vm_relaxation(obj)),
    }
    answers = []
    for name in rng.permutation(list(tasks))[:2]:
        result = tasks[name]()
        if not result.status.has_solution:
            answers.append(Answer(str(name), result, 1e-3))
            continue
        value = exact.nonconvex(obj, result.variables["w"])
        best = min(best, value)
        if name in ("s3vm_bound", "s3vm_relaxation"):
            theta, beta = result.variables["theta"], result.variables["beta"]
            # That of CVXPY draws its multipliers inwards.
            inwards = [1.0] if name == "s3vm_bound" else [1.0, *(1 - 10.0 ** -np.arange(1.0, 8.0)), 0.5, 0.0]
            dual = max(ZERO, *(exact.relaxed(obj, factor * theta, beta) for factor in inwards))
            answers.append(Answer(str(name), result, 1e-3, None, dual, best, S3VMRelaxation(obj)))
        else:
            answers.append(Answer(str(name), result, 1e-6, value, best, best, obj))
    return answers


KINDS = {
    "manifold": manifold,
    "relative margin": relative_margins,
    "spectrum": spectra_learned,
    "alignment": alignments,
    "ridge": ridges,
    "transducer": transducers,
    "clustering": clusterings,
    "weighted SVM": convex_svms,
    "S3VM": s3vms,
    "regression": regressions,
}


def solved(kind, seed):
    """The answers of a random problem of that kind, and its regime."""
    rng = np.random.default_rng([41, list(KINDS).index(kind), seed])
    regime = REGIMES[seed % len(REGIMES)]
    return regime, KINDS[kind](rng, regime)


def shortfall(answer):
    """Why the certificate claims more than holds; empty where it does not."""
    certificate, status = answer.result.certificate, answer.result.status
    maximize = certificate.sense == "maximize"
    said = []
    if answer.primal is not None:
        off = abs(answer.primal - wide(certificate.primal_objective))
        if not off <= wide(certificate.rounding):
            said.append(f"the primal is off by {off:.1e}, rounding is {certificate.rounding:.1e}")
    if answer.primal is not None and answer.dual is not None:
        gap = (answer.dual - answer.primal) if maximize else (answer.primal - answer.dual)
        if not gap <= wide(certificate.gap):
            said.append(f"the gap is {gap:.2e}, {certificate.gap:.2e} was reported")
        if status is sm.Status.OPTIMAL and gap > wide(answer.tol) * max(abs(answer.primal), abs(answer.dual)):
            said.append(f"OPTIMAL, but the gap is {gap:.1e}")
    if answer.primal is None and answer.dual is not None and not wide(certificate.dual_objective) <= answer.dual:
        said.append(f"a bound of {certificate.dual_objective:.17e}, but the multipliers prove {answer.dual:.17e}")
    if answer.bound is not None:
        bound = wide(certificate.dual_objective)
        if not 0 <= bound <= answer.bound + wide(certificate.rounding):
            said.append(f"a lower bound of {bound:.17e}, but {answer.bound:.17e} is attained")
    relative = certificate.relative_gap
    if status in (sm.Status.UNBOUNDED, sm.Status.INFEASIBLE):
        said.append(f"{status.name}, though there is an optimum")
    fits = {
        sm.Status.OPTIMAL: 0 <= relative <= answer.tol,
        sm.Status.OPTIMAL_INACCURATE: 0 < relative <= 0.01,
        sm.Status.UNPROVED: not relative <= 0.01,
        sm.Status.NUMERICAL: not relative >= 0 or answer.bound is not None,  # a search that ended in rounding
    }
    if not fits.get(status, True):
        said.append(f"{status.name} with a relative gap of {relative:.1e}")
    return "; ".join(said)
