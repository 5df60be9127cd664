"""Properties that decide where no stored value can: feasible, and a gap below a tolerance, so that any optimum passes.

A property takes the answer to an exercise, of the kind and shape that ``exercises.json`` names, and returns what it
violates; an empty text says that it is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from specmargin.checks import NUMBERS
from specmargin.datasets import digits_pair, make_two_moons
from specmargin.graphs import components, knn_graph, laplacian
from specmargin.kernels import gram
from specmargin.labels import encode_labels, hide_labels
from specmargin.objectives import S3VM, Alignment, LapSVM, SpectrumMargin
from specmargin.optima import S3VMRelaxation, branch_and_bound, s3vm_bound
from specmargin.solvers import alignment, cccp, factorized, spectrum_margin
from specmargin.spectra import laplacian_eigenpairs
from specmargin.typing import FloatArray

__all__ = ["PROPERTIES"]

_TOL = 1e-5
"""Allowed violation and relative gap: ten times what Clarabel leaves."""


def _dual_of_lapsvm(beta: FloatArray, per_class: int, seed: int, liar: int | None = None) -> str:
    """Check multipliers of lessons 02 and 03: the box, the balance, and a primal value that meets the dual one."""
    X, truth = make_two_moons(n_samples=200, noise=0.1, random_state=5)
    labels = encode_labels(hide_labels(truth, per_class=per_class, random_state=seed))
    if liar is not None:
        labels = replace(labels, sign=np.where(np.arange(labels.sign.size) == liar, -labels.sign, labels.sign))
    obj = LapSVM(gram(X, gamma=4.0), laplacian(knn_graph(X, n_neighbors=6)), labels, gamma_A=0.01, gamma_I=1.0)
    if beta.min() < -_TOL:
        return "A multiplier is negative: the constraint beta >= 0 is missing."
    if beta.max() > 1 + _TOL:
        return "A multiplier exceeds 1: the box is missing, so that a slack may be negative."
    if np.abs(beta).max() < _TOL:
        return "All multipliers are 0: is a constraint missing, or `*` between vectors, where CVXPY has `cp.multiply`?"
    if abs(labels.sign @ beta) > _TOL:
        return "y'beta is not 0, which the free intercept asks for: no balance, or one with classes 0 and 1."
    g = obj.reduction.G @ (labels.sign * beta) / 2
    offsets = labels.sign - g  # the hinges are piecewise linear in the intercept, with a kink for each label
    hinges = min(np.maximum(0.0, 1.0 - labels.sign * (g + b)).sum() for b in offsets)
    norm = labels.sign * beta @ g / 2
    gap = (hinges + norm) - (beta.sum() - norm)
    return "" if gap < _TOL else "Feasible, but not optimal: primal and dual value differ. Look at the factors."


def _least_squares_on_a_graph(f: FloatArray) -> str:
    """Check the decisions of lesson 01 by the optimality condition, and by those of problems with one mistake."""
    X, truth = make_two_moons(n_samples=200, noise=0.1, random_state=5)
    y = hide_labels(truth, per_class=2, random_state=9)
    known, t = y != -1, np.where(y == -1, 0.0, np.where(truth == 1, 1.0, -1.0))
    rough = np.asarray(laplacian(knn_graph(X, n_neighbors=6), normalized=False) @ f)
    rougher = np.asarray(laplacian(knn_graph(X, n_neighbors=6), normalized=False, power=2) @ f)
    derivatives = {
        "": known * f - t + 0.1 * rough,
        "The first sum is over all points here: those without a label are held to 0.": f - t + 0.1 * rough,
        "The weight gamma of the graph is missing.": known * f - t + rough,
        "This is the squared norm of L f: f'Lf has L once.": known * f - t + 0.1 * rougher,
    }
    for hint, derivative in derivatives.items():
        if np.abs(derivative).max() < _TOL:
            return hint
    return "The derivative of the objective does not vanish here: (P + gamma L) f differs from P y."


def _lying_graph(W: FloatArray) -> str:
    """Check that a graph of lesson 01 is one, and that least squares on it errs."""
    _, truth = make_two_moons(n_samples=60, noise=0.1, random_state=0)
    known = hide_labels(truth, per_class=3, random_state=0) != -1
    if not np.array_equal(W, W.T) or W.diagonal().any():
        return "W is not symmetric, or its diagonal is not 0."
    if W.min() < 0:
        return "A weight is negative."
    if components(csr_array(W)).n > 1:
        return "The graph is not connected."
    system = np.diag(known + 0.1 * W.sum(axis=1)) - 0.1 * W
    f = np.linalg.solve(system, known * np.where(truth == 1, 1.0, -1.0))
    decided = np.abs(f) > 1e-6  # what is below is rounding, or nearly
    if not decided[~known].any():
        return "All unlabelled decisions are 0 but for rounding: this graph does not lie, it says nothing."
    wrong = (decided & ((f > 0) != truth))[~known].mean()
    return "" if wrong >= 2 / 3 else "Less than two thirds of the unlabelled points are wrong with this graph."


def _not_ordered(delta: FloatArray) -> str:
    """Check that a spectrum is nonnegative, and does not increase from its second weight on."""
    if delta.min() < -_TOL:
        return "A weight is negative."
    if np.diff(delta[1:]).max() > _TOL:
        return "The weights are not ordered: from the second on they must not increase."
    return ""


def _weights_of_storm(delta: FloatArray) -> str:
    """Check the spectrum of lesson 04: feasible, and an SVM on it that attains the optimum over all spectra."""
    import cvxpy as cp
    from sklearn.datasets import load_digits

    from specmargin.problems import storm

    images, digit = load_digits(return_X_y=True)
    chosen = np.isin(digit, (3, 8))
    y = hide_labels((digit[chosen] == 8).astype(int), per_class=10, random_state=0)
    spectrum = laplacian_eigenpairs(knn_graph(images[chosen], n_neighbors=5), q=20, normalized=False)
    if abs(delta.sum() - 1) > _TOL:
        return "The weights do not add up to 1."
    if hint := _not_ordered(delta):
        return hint

    best = SpectrumMargin(spectrum, encode_labels(y), B=1.2, ties=False)

    def value(obj: SpectrumMargin) -> float:
        return spectrum_margin(obj).certificate.primal_objective

    def attained(optimum: float, there: SpectrumMargin = best) -> bool:
        here = value(replace(there, delta=np.maximum(delta, 0.0)))
        return here / optimum - 1 < 10 * _TOL  # small weights that a solver leaves above zero cost a little

    mistakes = {  # C and B; twice the fractions with C are the fractions with C / 2
        "": (1.0, 1.2),
        "The bound B on the decisions is missing.": (1.0, np.inf),
        "The 1/2 of the fractions is missing.": (0.5, 1.2),
        "The loss weighs too much: is the 1/2 of the fractions there twice? t has it already.": (2.0, 1.2),
    }
    for hint, (C, B) in mistakes.items():
        there = replace(best, C=C, B=B)
        if attained(value(there), there):
            return hint
    weights = (built := storm(best, "primal")).variables["delta"]
    whole = cp.Problem(built.problem.objective, [*built.problem.constraints, weights[0] >= weights[1]])
    if attained(whole.solve(solver="CLARABEL")):
        return "This is the optimum with delta_1 in the order, which begins at the second weight."
    return "Feasible, but not optimal: the margin on this spectrum can be improved by another one."


def _lapsvm_of_any_loss(solve: Callable[[Any], Any]) -> str:
    """Check the function of lesson 05: the optimum of LapSVM for two losses, by the solver in numpy."""
    import cvxpy as cp

    X, truth = make_two_moons(n_samples=200, noise=0.1, random_state=5)
    y = hide_labels(truth, per_class=2, random_state=9)
    graph = laplacian(knn_graph(X, n_neighbors=6))
    obj = LapSVM(gram(X, gamma=4.0), graph, encode_labels(y), gamma_A=0.01, gamma_I=1.0)
    losses = {"hinge": lambda t: cp.sum(cp.pos(1 - t)), "squared": lambda t: cp.sum_squares(1 - t)}
    values = [solve(loss) for loss in losses.values()]
    if not all(isinstance(value, NUMBERS) for value in values):
        return "The function must return its optimal value, a number."

    def solved(obj: LapSVM, names: tuple[str, str] = ("hinge", "squared")) -> bool:
        optima = [factorized(replace(obj, loss=loss)).certificate.primal_objective for loss in names]
        return np.allclose(values, optima, rtol=_TOL, atol=0)

    G, known = obj.reduction.G, encode_labels(y[y != -1])
    mistakes = {
        "": obj,
        "The intercept is missing.": replace(obj, fit_intercept=False),
        "The penalty is halved: v'Gv has no factor.": replace(obj, gamma_A=0.005, gamma_I=0.5),
        "The penalty is multiplied by gamma_A, which is inside G already.": replace(obj, gamma_A=1e-4, gamma_I=0.01),
        "The penalty is v'v: G is missing.": LapSVM(G @ G, csr_array(G.shape), known, gamma_A=1.0, gamma_I=0.0),
    }
    for hint, one in mistakes.items():
        if solved(one):
            return hint
    if solved(obj, ("hinge", "hinge")):
        return "The loss is always the hinge: the function must call its argument."
    if np.abs(values).max() < _TOL:  # f = 1 everywhere
        return "The margins have no signs: they are y_i f(x_i)."
    return "The optimum of another problem: compare the penalty and the margins with section 2."


def _weights_of_alignment(delta: FloatArray) -> str:
    """Check the spectrum of lesson 07: ordered, aligned as well as any, and as long as the optimum of the program."""
    X, truth = digits_pair(3, 8)
    labels = encode_labels(hide_labels(truth, n_labeled=16, random_state=0))
    spectrum = laplacian_eigenpairs(knn_graph(X, n_neighbors=5), q=60, normalized=False)
    best = Alignment(spectrum, labels, ties=False)
    if hint := _not_ordered(delta):
        return hint
    gap = 1 - best.value_at(np.maximum(delta, 0.0)) / alignment(best).certificate.primal_objective
    if gap >= _TOL:
        return "Ordered, but another spectrum is aligned better: compare with section 2."
    U = np.sqrt(len(X)) * spectrum.eigenvectors[labels.labeled]
    K = U * delta @ U.T
    if abs(labels.sign @ K @ labels.sign / (K**2).sum() - 1) > 100 * _TOL:  # no projection: yy' - K is orthogonal to K
        return "Aligned best, but of another length than the optimum of the program: is the factor 1/2 there?"
    return ""


def _dual_of_stoam(gamma: FloatArray) -> str:
    """Check the multipliers of lesson 08: the balance, the box, and a dual value that meets the optimum."""
    X, truth = digits_pair(3, 8)
    labels = encode_labels(hide_labels(truth, n_labeled=20, random_state=0))
    stoam = SpectrumMargin(
        laplacian_eigenpairs(knn_graph(X, n_neighbors=5), q=40, normalized=False), labels, C=1.0, ties=False
    )
    if (labels.sign * gamma).min() < -_TOL:
        return "The sign: y gamma must not be negative. (With Y alpha in the place of gamma, hand in Y alpha.)"
    if (labels.sign * gamma).max() > 1 + _TOL:
        return "y gamma exceeds C = 1: the box is missing."
    if abs(gamma.sum()) > _TOL:
        return "The entries of gamma do not add up to 0: the balance is missing."
    p = (stoam.U.T @ gamma) ** 2 / 2
    worst = max(p[0], (np.cumsum(p[1:]) / np.arange(1, p.size)).max())
    gap = 1 - (labels.sign @ gamma - worst) / spectrum_margin(stoam).certificate.primal_objective
    return "" if gap < _TOL else "Feasible, but not optimal: compare S, c and the objective with section 2."


def _ten_without_a_label(C: float = 2.0) -> S3VM:
    """Return the S3VM of lesson 09: two labels, ten points without one."""
    rng = np.random.default_rng(41)
    groups, known = rng.uniform(-1.5, 1.5, (4, 2)), rng.uniform(-1.2, 1.2, (2, 2))
    X = np.vstack([known, groups[rng.integers(0, 4, 10)] + rng.normal(0, 0.25, (10, 2))])
    return S3VM(X, encode_labels(np.array([0, 1] + [-1] * 10)), loss="hinge", C=C, balance=0.0)


def _relaxed_s3vm(M: FloatArray) -> str:
    """Check the matrix of lesson 09: feasible, and of a value that meets the lower bound."""
    if np.abs(M - M.T).max() > _TOL or np.linalg.eigvalsh(M).min() < -_TOL:
        return "M is not positive semidefinite, or not symmetric."
    if abs(M[0, 0] - 1) > _TOL:
        return "The corner is free: M_11 = 1 is missing."

    def attains(s3vm: S3VM) -> bool:
        Z, labels = s3vm.features.dense(), s3vm.labels
        f, q = Z @ M[1:, 0], np.maximum(0.0, ((Z @ M[1:, 1:]) * Z).sum(axis=1))
        hinges = np.maximum(0.0, 1.0 - labels.sign * f[labels.labeled]).sum()
        value = np.trace(M[1:, 1:]) / 2 + s3vm.C * (hinges + np.maximum(0.0, 1.0 - np.sqrt(q[labels.unlabeled])).sum())
        return bool(value / s3vm_bound(s3vm, tol=_TOL / 10).certificate.dual_objective < 1 + 10 * _TOL)

    if attains(_ten_without_a_label()):
        return ""
    if attains(_ten_without_a_label(C=1.0)):
        return "This is the optimum for C = 1: C is 2, and the norm has a factor 1/2."
    if np.linalg.eigvalsh(M)[-2] < _TOL:
        return "M has rank one: its value is a value of J, which others may undercut. Drop the rank, and minimise."
    return "Feasible, but not optimal: another M has a lower value. Compare the terms with the program."


def _ends_of_rounds(rows: FloatArray) -> str:
    """Check the ends of forty descents of lesson 09: rounds stop there, not above their start, and one is global."""
    s3vm = _ten_without_a_label()
    starts = np.random.default_rng(0).normal(0, 2, (40, 2))
    values, before = (np.array([s3vm.value_at(w) for w in one]) for one in (rows, starts))
    after = np.array([cccp(s3vm, w=w).certificate.primal_objective for w in rows])
    if (after < values * (1 - 1e-4)).any():
        return "From one of these rows rounds go on to a lower J: hand in where they end."
    if values.min() > branch_and_bound(s3vm).certificate.primal_objective * (1 + 1e-4):
        return "None of these is a global minimum: a lower J is known."
    if np.ptp(values) < _TOL:
        return "All forty end at one point here: does each begin at a start of its own?"
    if (values > before * (1 + 1e-4)).any():
        return "One of these rows has a larger J than its start: keep the order of the starts."
    return ""


def _labels_that_are_certain(given: FloatArray) -> str:
    """Check labels of lesson 09: the bound of the other one is above the global minimum, and none is missing."""
    from specmargin.optima import s3vm_relaxation
    from specmargin.problems import solve

    if not np.isin(given, (-1, 0, 1)).all():
        return "Give -1, 0 or 1 for each point."
    s3vm = _ten_without_a_label()
    least = branch_and_bound(s3vm).certificate.primal_objective * (1 + 1e-4)

    def is_wrong(j: int, label: float) -> bool:
        signs = np.where(np.arange(given.size) == j, label, 0.0)
        case = s3vm_relaxation(S3VMRelaxation(s3vm, signs))
        return bool(solve(case).certificate.dual_objective > least)

    wrong = np.array([[is_wrong(j, label) for label in (-1.0, 1.0)] for j in range(given.size)])
    proved = wrong[:, 0].astype(int) - wrong[:, 1]
    if (given * proved < 0).any():
        return "The signs: where the bound of a label is above the best known J, it is the other label that is proved."
    if (given != 0)[proved == 0].any():
        return (
            "Not each of these is proved by one question: the bound of the other label must be above the best known J."
        )
    if (given == 0)[proved != 0].any():
        return "Labels are missing: other bounds are above the best known J, too. (The lower J, the more is proved.)"
    return ""


def _hurting_graph(rows: FloatArray) -> str:
    """Check points and classes of lesson 11: LapRLS with the graph errs more than without, which learns something."""
    X, truth = rows[:, :2], rows[:, 2]
    if not np.isin(truth, (0, 1)).all() or np.bincount(truth.astype(int), minlength=2).min() < 10:
        return "The third column must hold the classes 0 and 1, each at least ten times."
    K, L = gram(X, gamma=4.0), laplacian(knn_graph(X, n_neighbors=6))
    errors = np.zeros((10, 2))
    for seed in range(10):
        y = hide_labels(truth.astype(int), per_class=5, random_state=seed)
        for k, gamma_I in enumerate((0.0, 10.0)):
            obj = LapSVM(K, L, encode_labels(y), loss="squared", gamma_A=0.1, gamma_I=gamma_I)
            errors[seed, k] = ((factorized(obj).variables["f"] > 0) != truth)[y == -1].mean()
    without, with_graph = errors.mean(axis=0)
    if without >= 0.3:
        return "Without the graph 30 % or more are wrong: there is little to be learned, whoever tries."
    if with_graph <= without:
        return (
            "The graph helps here, or changes nothing: let it see clusters that are not the classes, as in section 7."
        )
    if with_graph - without < 0.1:
        return "The graph costs less than 10 points of error here: set clusters further apart, and cut both in half."
    return ""


def _page(text: str) -> str:
    """Check the form of the page of lesson 12: four parts, numbers where somebody else must be able to look."""
    names = ("decision", "evidence", "doubt", "reversal")
    head = rf"(?m)^[\s>#*+-]*(?:\d[.)]\s*)?[*_]*({'|'.join(names)})[*_ \t]*:[*_]*"  # bullets, bold and headings
    parts = re.split(head, text)
    told = dict(zip(parts[1::2], parts[2::2], strict=True))
    for name in names:
        if name not in told:
            return f"The part {name} is missing: a line that begins with its name and a colon."
    for name in names:
        if len(re.findall(r"\w[^\s]*", told[name])) < 5:
            return f"The part {name} is nearly empty: five words or more."
    if len(re.findall(r"\d+(?:\.\d+)?", told["evidence"])) < 2:
        return "The evidence holds fewer than two numbers in digits: an error, and its interval or that of a baseline."
    if not re.search(r"\d", told["reversal"]):
        return "The reversal holds no number in digits: nobody could say that it has happened."
    return "" if len(text.split()) <= 300 else "One page: 300 words at most."


PROPERTIES: dict[str, Callable[[Any], str]] = {
    "01.W": _least_squares_on_a_graph,
    "01.E4": _lying_graph,
    "02.W": partial(_dual_of_lapsvm, per_class=2, seed=9),
    "03.W": partial(_dual_of_lapsvm, per_class=6, seed=1, liar=4),
    "04.W": _weights_of_storm,
    "05.W": _lapsvm_of_any_loss,
    "07.W": _weights_of_alignment,
    "08.W": _dual_of_stoam,
    "09.W": _relaxed_s3vm,
    "09.E2": _ends_of_rounds,
    "09.E3": _labels_that_are_certain,
    "11.E3": _hurting_graph,
    "12.E3": _page,
}
