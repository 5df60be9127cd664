r"""Many SVMs on one kernel at once: their duals by sequential minimal optimisation, each step for all of them together.

Problem b has its own signs y and its own box: with :math:`\beta_i = y_i \alpha_i`

.. math:: \max_\beta\; y^\top \beta - \tfrac12 \beta^\top G \beta, \; 1^\top \beta = 0, \; 0 \le y_i \beta_i \le C_i .

A sample that the problem leaves out has :math:`C_i = 0`, so that folds, classes and weights of the loss share G. One
step changes the pair of samples that violates the optimality conditions most. What has not converged after a thousand
steps, and problems of many samples, are left to libsvm, where a step costs less and a problem more.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.labels import Labels
from specmargin.objectives import RMM
from specmargin.results import INACCURATE_GAP
from specmargin.solvers import relative_margin
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["solve_hinge_duals"]

# Of the gradient, in units of the margin 1. At libsvm's 1e-3 rounding picks the path (the two samples of a step tie
# after it), and decisions move by 1e-4 with the processor; a thousandth of it costs 1.5 times the steps.
_TOL = 1e-6
_NEAR = 1e-2  # where the samples inside of their boxes may be the right ones: a linear system has the rest
_STEPS = 1000  # then libsvm
_MANY = 400  # samples beyond which a step of all problems takes longer than libsvm
_DONE = 8  # where every eighth has converged, these are written down, and the others go on
_LIBSVM_STEPS = 1000  # per sample, then an interior point
_NEWTON_STEPS = 50  # of that


def solve_hinge_duals(G: FloatArray, Y: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients and the intercepts of SVMs: f = G beta + intercept.

    Where all samples of a problem are of one class its decisions are that class, -1 or 1; without samples, 0.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Kernel.
    Y : ndarray of shape (b, l)
        Signs, +-1.
    upper : ndarray of shape (b, l)
        C of each sample; 0 where the problem leaves it out.

    Returns
    -------
    beta : ndarray of shape (b, l)
    intercept : ndarray of shape (b,)

    Examples
    --------
    >>> x = np.array([-1.0, 1.0])
    >>> beta, intercept = solve_hinge_duals(np.outer(x, x), x[None], np.ones((1, 2)))
    >>> beta.tolist(), intercept.tolist()
    ([[-0.5, 0.5]], [0.0])
    """
    solution, lower, highest = np.zeros(Y.shape), np.where(Y < 0, -upper, 0.0), np.where(Y > 0, upper, 0.0)
    slopes = Y.astype(np.float64)  # y - G beta
    both = np.asarray((Y * (upper > 0) > 0).any(axis=1) & (Y * (upper > 0) < 0).any(axis=1))
    number = np.flatnonzero(both)
    if len(G) <= _MANY:
        number = _by_steps(G, number, solution, slopes, lower, highest)
    unsolved = 0
    for b in number:
        used = np.flatnonzero(upper[b] > 0)
        one = G[np.ix_(used, used)], Y[b, used], upper[b, used]
        solution[b, used], solved = _by_libsvm(*one)
        if not solved and not unsolved:  # what one of them is too hard for is so for all of a kernel
            solution[b, used], solved = _by_interior_point(*one)
        unsolved += not solved
    if unsolved:
        warnings.warn(
            f"{unsolved} of {len(Y)} SVMs on {len(G)} samples are not solved: features differ by too many orders of "
            "magnitude, and rounding decides. Scale them (sklearn.preprocessing.StandardScaler), or take smaller Cs.",
            ConvergenceWarning,
            stacklevel=2,
        )
    slopes[number] = Y[number] - solution[number] @ G
    return solution, _intercepts(slopes, solution, lower, highest, both, np.where(upper > 0, Y, 0.0))


def _by_steps(
    G: FloatArray, number: IntArray, solution: FloatArray, slopes: FloatArray, lower: FloatArray, highest: FloatArray
) -> IntArray:
    """Write multipliers and y - G beta of the problems of these numbers; return those that have not converged."""
    # The partner promises the largest increase of the objective, gap^2 / curvature (second-order selection).
    curvature = np.maximum(np.add.outer(G.diagonal(), G.diagonal()) - 2.0 * G, 1e-12)
    slower = 1.0 / np.sqrt(curvature)
    beta, e, low, high = (a[number] for a in (solution, slopes, lower, highest))
    # What cannot rise, or fall, is never chosen.
    up, down = np.where(beta < high, 0.0, -np.inf), np.where(beta > low, 0.0, np.inf)
    aim = np.full(len(number), _NEAR)
    for _ in range(_STEPS):
        rising, falling = e + up, e + down
        done = rising.max(axis=1) - falling.min(axis=1) <= aim
        if _DONE * done.sum() >= len(done):
            for k in np.flatnonzero(done & (aim > _TOL)):
                done[k] = _solve_free(G, beta[k], e[k], low[k], high[k])
                aim[k] *= 0.1
            solution[number[done]], slopes[number[done]] = beta[done], e[done]
            parts = number, beta, e, low, high, up, down, aim, rising, falling
            number, beta, e, low, high, up, down, aim, rising, falling = (a[~done] for a in parts)
        if not len(number):
            break
        i, at = rising.argmax(axis=1), np.arange(len(number))
        top = rising[at, i]
        j = ((top[:, None] - falling) * np.take(slower, i, axis=0)).argmax(axis=1)
        above, below = high[at, i] - beta[at, i], beta[at, j] - low[at, j]
        move = np.minimum(np.maximum(top - e[at, j], 0.0) / curvature[i, j], np.minimum(above, below))
        # Ends of the box are met exactly.
        beta[at, i] = np.where(move >= above, high[at, i], beta[at, i] + move)
        beta[at, j] = np.where(move >= below, low[at, j], beta[at, j] - move)
        for k in (i, j):
            up[at, k] = np.where(beta[at, k] < high[at, k], 0.0, -np.inf)
            down[at, k] = np.where(beta[at, k] > low[at, k], 0.0, np.inf)
        e -= move[:, None] * (np.take(G, i, axis=0) - np.take(G, j, axis=0))
    return number


def _solve_free(G: FloatArray, beta: FloatArray, e: FloatArray, low: FloatArray, high: FloatArray) -> bool:
    """Make the multipliers inside of their boxes, and e = y - G beta, the best given the others, if all then are."""
    free = np.flatnonzero((beta > low) & (beta < high))
    system = np.full((len(free) + 1,) * 2, G.diagonal().max())  # the row of the sum in the units of the others
    system[:-1, :-1], system[-1, -1] = G[np.ix_(free, free)], 0.0
    try:
        step = np.linalg.solve(system, np.append(e[free], 0.0))[:-1]
    except np.linalg.LinAlgError:
        return False
    new, slopes = beta.copy(), e - step @ G[free]
    new[free] += step
    inside = ((new >= low) & (new <= high)).all()
    if not inside or not slopes[new < high].max() - slopes[new > low].min() <= _TOL:
        return False
    beta[:], e[:] = new, slopes
    return True


def _by_libsvm(G: FloatArray, y: FloatArray, upper: FloatArray) -> tuple[FloatArray, bool]:
    """Return libsvm's multipliers, and whether it has converged."""
    from sklearn import config_context
    from sklearn.svm import SVC

    beta = np.zeros(len(y))
    with config_context(skip_parameter_validation=True, assume_finite=True):
        # Without a seed it would draw one from numpy's global stream, and not use it.
        svm = SVC(C=1.0, kernel="precomputed", tol=_TOL, random_state=0, max_iter=_LIBSVM_STEPS * len(y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # told once, for all
            svm.fit(G, y, sample_weight=upper)
    beta[svm.support_] = svm.dual_coef_[0]
    return beta, svm.fit_status_ == 0


def _by_interior_point(G: FloatArray, y: FloatArray, upper: FloatArray) -> tuple[FloatArray, bool]:
    """Return the answer of the package's own solver of SVMs, and whether its certificate speaks for it."""
    unit = float(upper.max())
    labels = Labels(y, np.arange(len(y)), np.array([False, True]), len(y), weights=upper / unit)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # its certificate tells what came of it
            result = relative_margin(RMM(G, labels, C=unit), tol=_TOL, max_iter=_NEWTON_STEPS)
    except (InvalidInputError, SolverError):  # rounding has left no semidefinite kernel, or nothing of it
        return np.zeros(len(y)), False
    return np.asarray(result.duals["gamma"]), 0.0 <= result.certificate.relative_gap <= INACCURATE_GAP


def _intercepts(
    e: FloatArray, beta: FloatArray, low: FloatArray, high: FloatArray, both: BoolArray, signs: FloatArray
) -> FloatArray:
    """Return the mean of y - G beta where beta is inside its box, else the middle of what the others allow."""
    free = (beta > low) & (beta < high)
    count = free.sum(axis=1)
    top = np.where(beta < high, e, -np.inf).max(axis=1)
    bottom = np.where(beta > low, e, np.inf).min(axis=1)
    with np.errstate(invalid="ignore"):
        middle = (top + bottom) / 2.0
    inside = np.where(free, e, 0.0).sum(axis=1) / np.maximum(count, 1)
    return np.asarray(np.where(both, np.where(count > 0, inside, middle), np.sign(signs.sum(axis=1))))
