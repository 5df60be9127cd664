"""Random problems of every kind of proof in every regime, with solvers: what is saved, verified and tampered with.

    problem = made("lapsvm", seed=3)
    result = problem.solvers["factorized"]()

The regimes are the edges that certificates must hold at: weights and gammas of 1e+-10, features on scales of 1e+-8 and
far from the origin, hard margins, ties, duplicates, singular and slightly indefinite kernels, one label a class, all
labelled. Problems are small, because a proof in balls of 256 bits is to take milliseconds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import specmargin as sm
from specmargin.kernels import BlockKernel, LowRankKernel
from specmargin.losses import ExpSquared, HuberHinge, SmoothHinge
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    LapSVM,
    RegularizedClustering,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumMargin,
)
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.optima import S3VMRelaxation

REGIMES = (
    *("plain", "weights", "gammas", "hard margin", "ties", "scale", "offset"),
    *("duplicates", "singular", "indefinite", "one label", "all labelled"),
)

Solvers = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class Problem:
    """An objective in a regime, and what solves it: names of CVXPY's begin with "cvxpy"."""

    kind: str
    regime: str
    objective: Any
    solvers: Solvers


def sample(rng, regime, least=8, most=22):
    """Features and two classes."""
    n, d = int(rng.integers(least, most)), int(rng.integers(2, 5))
    X = rng.standard_normal((n, d))
    truth = (X[:, 0] + 0.3 * rng.standard_normal(n) > 0).astype(int)
    truth[:2] = 0, 1
    if regime == "hard margin":
        X[:, 0] += np.where(truth, 3.0, -3.0)
    elif regime == "ties":
        X = np.round(X)
    elif regime == "duplicates":
        twice = rng.integers(2, n // 2 + 2, n)
        twice[:2] = 0, 1
        X, truth = X[twice], truth[twice]
    elif regime == "scale":
        X = X * 10.0 ** rng.integers(-8, 9)
    elif regime == "offset":
        X = X + 10.0 ** rng.uniform(3, 10)
    return X, truth


def marked(rng, truth, regime, most=None):
    """Classes with -1 for the unlabelled samples, of both classes at least one label."""
    n = len(truth)
    known = {"one label": 0, "all labelled": n}.get(regime, int(rng.integers(2, most or n)))
    y = np.full(n, -1)
    kept = rng.permutation(n)[:known]
    y[kept] = truth[kept]
    for c in (0, 1):
        if not (y == c).any():
            y[np.flatnonzero(truth == c)[0]] = c
    return y


def weight(rng, regime):
    """A weight C of the losses."""
    low, high = {"weights": (4, 10), "hard margin": (3, 8), "gammas": (-10, -4)}.get(regime, (-2, 3))
    return float(10 ** rng.uniform(low, high))


def spread(X):
    """The median squared distance from the mean."""
    X = X.toarray() if sp.issparse(X) else X
    return float(np.median(((X - X.mean(axis=0)) ** 2).sum(axis=1))) or 1.0


def kernel(rng, X, regime):
    """A kernel matrix: as it comes, singular, or with eigenvalues a little below zero."""
    name = "linear" if regime == "singular" else ("rbf", "linear", "poly")[rng.integers(3)]
    K = sm.kernels.gram(X, kernel=name, gamma=float(10 ** rng.uniform(-1, 1)) / spread(X), degree=2)
    K = (K + K.T) / 2
    if regime == "indefinite":
        K = K - 10 ** rng.uniform(-17, -14.5) * np.abs(K).max() * np.eye(len(K))
    return K


def laplacian(rng, X):
    """The Laplacian of a graph of neighbours, in one of the forms that it may have."""
    W = sm.graphs.knn_graph(X - X.mean(axis=0), n_neighbors=int(rng.integers(2, 5)))
    L = sm.graphs.laplacian(W, normalized=bool(rng.integers(2)), power=int(rng.integers(1, 3)))
    form = rng.integers(4)
    if form == 0:
        dense = L.toarray()
        return (dense + dense.T) / 2
    return sp.csr_array(L.matrix) if form == 1 else L


def eigenpairs(rng, X, regime, q):
    """The lowest eigenpairs of a graph; in one regime on another scale, in one with equal eigenvalues."""
    n = len(X)
    if regime == "ties":
        W = sp.csr_array(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))  # a ring: pairs are equal
    else:
        W = sm.graphs.knn_graph(X - X.mean(axis=0), n_neighbors=4)
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=q, normalized=bool(rng.integers(2)))
    scale = 10.0 ** rng.integers(-8, 9) if regime == "scale" else 1.0
    return replace(spectrum, eigenvectors=scale * spectrum.eigenvectors), float(scale)


def bound(rng):
    """B."""
    return float(rng.choice([np.inf, 1.0001, 1.1, 3.0]))


def lapsvms(rng, regime):
    """LapSVM and LapRLS."""
    X, truth = sample(rng, regime)
    n, K = len(X), kernel(rng, X, regime)
    if rng.random() < 0.2:
        K = LowRankKernel(np.column_stack([X, np.ones(n)]))
    losses = ("hinge", "squared_hinge", "squared", HuberHinge(h=0.25), SmoothHinge(s=8.0))
    loss = losses[rng.choice(5, p=[0.3, 0.3, 0.2, 0.1, 0.1])]
    size = float(np.mean(K.diagonal()))
    gamma_A = size / weight(rng, "plain" if regime == "gammas" else regime)
    gamma_I = float(10 ** rng.uniform(-3, 3)) * bool(rng.random() < 0.8)
    if regime == "gammas":
        gamma_A, gamma_I = size * float(10 ** rng.uniform(-10, -3)), float(10 ** rng.uniform(-10, 10))
    obj = LapSVM(
        K,
        laplacian(rng, X) if gamma_I else None,
        sm.encode_labels(marked(rng, truth, regime)),
        loss=loss,
        gamma_A=gamma_A,
        gamma_I=gamma_I,
        fit_intercept=bool(rng.random() < 0.8),
    )
    solvers: Solvers = {"cvxpy dual": lambda: sm.solve(sm.problems.lapsvm_dual(obj))}
    if not isinstance(loss, SmoothHinge):
        solvers["factorized"] = lambda: sm.solvers.factorized(obj)
    if loss in ("squared", "squared_hinge"):
        solvers["newton"] = lambda: sm.solvers.newton(obj)
        solvers["pcg"] = lambda: sm.solvers.pcg(obj, max_iter=300)
    return obj, solvers


def relative_margins(rng, regime):
    """SVMs and relative margin machines on a kernel."""
    X, truth = sample(rng, regime)
    K = kernel(rng, X, regime)
    labels = sm.encode_labels(marked(rng, truth, regime))
    obj = RMM(K, labels, C=weight(rng, regime) / float(np.mean(K.diagonal())), B=bound(rng))
    return obj, {
        "relative_margin": lambda: sm.solvers.relative_margin(obj),
        "cvxpy rmm": lambda: sm.solve(sm.problems.rmm(obj)),
    }


def spectrum_margins(rng, regime):
    """STORM, STOAM, multiple kernels, given spectra, several graphs."""
    X, truth = sample(rng, regime, 12, 26)
    q = int(rng.integers(3, 9))
    spectrum, scale = eigenpairs(rng, X, regime, q)
    spectra = spectrum
    if rng.random() < 0.3:
        other = eigenpairs(rng, X[:, ::-1] ** 3, "plain", q - 1)[0]
        spectra = [spectrum, replace(other, eigenvectors=scale * other.eigenvectors)]
    labels = sm.encode_labels(marked(rng, truth, regime, len(X) // 2))
    obj = SpectrumMargin(
        spectra,
        labels,
        C=weight(rng, regime) / scale**2,
        B=bound(rng),
        order=bool(rng.random() < 0.7),
        eps=float(rng.choice([0.0, 1e-6], p=[0.7, 0.3])),
        ties=bool(rng.random() < 0.7),
    )
    if rng.random() < 0.15:
        obj = replace(obj, eps=0.0, delta=rng.exponential(size=obj.q))
    form = ("compact", "chained", "literal", "primal")[rng.integers(4)]
    return obj, {
        "spectrum_margin": lambda: sm.solvers.spectrum_margin(obj),
        "cvxpy storm": lambda: sm.solve(sm.problems.storm(obj, form)),
    }


def alignments(rng, regime):
    """Kernel-target alignment."""
    X, truth = sample(rng, regime, 12, 26)
    q = int(rng.integers(3, 9))
    spectrum, _ = eigenpairs(rng, X, regime, q)
    spectra = [spectrum, spectrum.truncate(q - 1)] if rng.random() < 0.2 else spectrum
    labels = sm.encode_labels(marked(rng, truth, regime, len(X) // 2))
    obj = Alignment(spectra, labels, order=bool(rng.random() < 0.7), ties=bool(rng.random() < 0.7))
    return obj, {
        "alignment": lambda: sm.solvers.alignment(obj),
        "cvxpy kta": lambda: sm.solve(sm.problems.kta(obj)),
    }


def ridges(rng, regime):
    """Least squares over eigenvectors, of two classes or three."""
    X, truth = sample(rng, regime, 12, 26)
    spectrum, scale = eigenpairs(rng, X, regime, int(rng.integers(3, 9)))
    y = marked(rng, truth, regime)
    if rng.random() < 0.4 and regime != "one label":
        y[np.flatnonzero(y == 1)[0]] = 2
        y[np.flatnonzero(truth == 1)[-1]] = 1
    delta = power_spectrum(spectrum, float(rng.integers(0, 4)))
    obj = SpectralRidge(spectrum, sm.encode_labels(y), delta, scale**2 / weight(rng, regime))
    return obj, {"spectral_ridge": lambda: sm.solvers.spectral_ridge(obj)}


def transducers(rng, regime):
    """The spectral graph transducer."""
    X, truth = sample(rng, regime, 12, 26)
    spectrum, _ = eigenpairs(rng, X, "plain" if regime == "scale" else regime, int(rng.integers(3, 9)))
    Q = spectrum.eigenvalues[1:] if rng.random() < 0.4 else None
    C = 10.0 * weight(rng, regime)
    obj = SpectralGraphTransducer(spectrum, sm.encode_labels(marked(rng, truth, regime)), C, Q)
    return obj, {"graph_transducer": lambda: sm.solvers.graph_transducer(obj)}


def clusterings(rng, regime):
    """Regularized spectral clustering and eigenmaps."""
    X, _ = sample(rng, regime)
    K = kernel(rng, X - X.mean(axis=0) if regime == "offset" else X, regime)
    low, high = {"gammas": (-10, -4), "weights": (2, 10)}.get(regime, (-3, 1))
    obj = RegularizedClustering(K, laplacian(rng, X), float(np.mean(K.diagonal()) * 10 ** rng.uniform(low, high)))
    m = min(int(rng.integers(1, 3)), obj.basis.dimension)
    return obj, {"eigenmaps": lambda: sm.solvers.eigenmaps(obj, m)}


def semi_supervised(rng, regime, least=8, most=13):
    """An S3VM on dense or sparse features, with at most six unlabelled samples."""
    X, truth = sample(rng, regime, least, most)
    y = marked(rng, truth, regime)
    hidden = np.flatnonzero(y == -1)[6:] if regime != "one label" else []
    y[hidden] = truth[hidden]
    intercept = ("balance", "regularized")[rng.integers(2)]
    if regime == "scale":
        intercept = "balance"  # a constant of one is no feature of such a scale
    if (y != -1).all():
        intercept = "regularized"
    if rng.random() < 0.3:
        X = sp.csr_array(X * (rng.random(X.shape) < 0.7))
    loss = ("hinge", "squared_hinge")[rng.integers(2)]
    unlabeled_loss = ("symmetric_hinge", "symmetric_squared_hinge", "exp", ExpSquared(s=5.0))[rng.integers(4)]
    C, labels = weight(rng, regime) / spread(X), sm.encode_labels(y)
    return S3VM(X, labels, loss, unlabeled_loss, C=C, balance=0.2, intercept=intercept)


def weighted_svms(rng, regime):
    """The convex SVM of guessed labels."""
    obj = semi_supervised(rng, regime, 8, 20)
    if rng.random() < 0.3 and not obj.features.is_sparse:
        obj = S3VM(obj.X.X, obj.labels, "hinge", C=obj.C, intercept="free")
    guess = np.where(rng.random(len(obj.unlabeled)) < 0.5, 1.0, -1.0)
    if rng.random() < 0.3:
        guess = rng.uniform(-1, 1, len(guess))
    loss = ("hinge", "squared_hinge", "squared", SmoothHinge(s=8.0))[rng.choice(4, p=[0.4, 0.3, 0.1, 0.2])]
    svm = obj.guessed(guess, float(rng.choice([0.1, 1.0])) * obj.C).with_(loss=loss)
    if rng.random() < 0.3:
        svm = svm.with_(linear=obj.C * rng.uniform(-0.5, 0.5, obj.labels.n_samples))
    return svm, {"weighted_svm": lambda: sm.solvers.weighted_svm(svm)}


def s3vms(rng, regime):
    """S3VMs with lower bounds."""
    obj = semi_supervised(rng, regime)

    def bounded():
        exp = isinstance(obj.unlabeled_loss, ExpSquared)
        return sm.optima.with_bound(obj, (sm.solvers.gradient if exp else sm.solvers.label_switching)(obj))

    return obj, {
        "with_bound": bounded,
        "s3vm_bound": lambda: sm.optima.s3vm_bound(obj),
    }


def searches(rng, regime):
    """S3VMs solved by searches over the labels that write down their proof."""
    obj = semi_supervised(rng, regime)
    return obj, {
        "branch_and_bound": lambda: sm.optima.branch_and_bound(obj, time_limit=10, log=True),
        "probe": lambda: sm.optima.probe(obj, log=True),
    }


def relaxations(rng, regime):
    """Relaxations of S3VMs, some labels decided."""
    obj = semi_supervised(rng, regime)
    decided = not isinstance(obj.unlabeled_loss, ExpSquared)  # CVXPY has no atom for a side of it
    signs = decided * rng.choice([-1.0, 0.0, 1.0], len(obj.unlabeled), p=[0.1, 0.8, 0.1])
    relaxation = S3VMRelaxation(obj, signs)
    return relaxation, {"cvxpy relaxation": lambda: sm.solve(sm.optima.s3vm_relaxation(relaxation))}


KINDS: dict[str, Callable[[Any, str], tuple[Any, Solvers]]] = {
    "lapsvm": lapsvms,
    "rmm": relative_margins,
    "spectrum_margin": spectrum_margins,
    "alignment": alignments,
    "spectral_ridge": ridges,
    "graph_transducer": transducers,
    "clustering": clusterings,
    "weighted_svm": weighted_svms,
    "s3vm": s3vms,
    "s3vm_tree": searches,
    "s3vm_relaxation": relaxations,
}


def made(kind, seed):
    """Return a random problem; its regime goes round with the seed."""
    regime = REGIMES[seed % len(REGIMES)]
    rng = np.random.default_rng([20260713, list(KINDS).index(kind), seed])
    return Problem(kind, regime, *KINDS[kind](rng, regime))


def saved(kind, seed, folder):
    """Solve a problem and save the answer: one in five by CVXPY. None where there is no certificate."""
    problem = made(kind, seed)
    ours = sorted(name for name in problem.solvers if not name.startswith("cvxpy"))
    cvxpy = sorted(problem.solvers.keys() - set(ours))
    turn = seed // len(REGIMES) + seed
    names = cvxpy if cvxpy and (turn % 5 == 0 or not ours) else ours
    result = problem.solvers[names[turn % len(names)]]()
    certificate = result.certificate
    if not (result.status.has_solution and math.isfinite(certificate.dual_objective - certificate.rounding)):
        return None
    path = folder / f"{kind}-{seed}.npz"
    sm.save_result(path, problem.objective, result, note={"kind": kind, "seed": seed})
    return path


def say(*lines):
    """Write lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def block_kernel(rng):
    """A LapSVM on a kernel that is not stored."""
    X, truth = sample(rng, "plain")
    labels = sm.encode_labels(marked(rng, truth, "plain"))
    K = BlockKernel(X, gamma=0.5)
    return LapSVM(K, laplacian(rng, X), labels, "squared_hinge", gamma_A=0.1, gamma_I=1.0)
