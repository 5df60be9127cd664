r"""Decisions of LapSVM and LapRLS at labelled samples whose labels were withheld, after the whole problem was solved.

The reduction of the problem stays (`specmargin.objectives.held_out.leave_one_out`), so that what is left are problems
of the l labelled samples, and mostly formulas: for the squared loss one eigendecomposition for all samples and classes,
for the hinge and the squared hinge the neighbouring optimum (`specmargin.objectives.held_out.refitting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from specmargin.exceptions import SolverError
from specmargin.labels import Labels
from specmargin.losses import MarginLoss
from specmargin.objectives import LapSVM
from specmargin.objectives.held_out.leave_one_out import RidgePath, dealt_folds, one_left_out
from specmargin.objectives.held_out.principal_pivots import squared_hinge_leave_one_out
from specmargin.objectives.held_out.refitting import refitted, solution_near
from specmargin.objectives.intercept import hinge_intercept
from specmargin.solvers.manifold.factorized import factorized
from specmargin.typing import FloatArray

__all__ = ["MOST", "left_out_decisions", "weighted_squares_left_out"]

MOST = 100
"""Labelled samples of which each is left out by itself; of more five folds are, at a tenth of the cost."""
_FOLDS = 5


def left_out_decisions(
    G: FloatArray,
    labels: Labels,
    loss: MarginLoss,
    fit_intercept: bool,
    solutions: Sequence[tuple[FloatArray, float]] | None = None,
) -> FloatArray:
    """Return what the other labelled samples decide at each labelled sample.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Deformed kernel of the problem, ``LapSVM(...).reduction.G``: the penalty is v'G v.
    labels : Labels
        Labels of all classes.
    loss : MarginLoss
        Piecewise quadratic: `factorized` takes it.
    fit_intercept : bool
        Whether f has an unpenalised intercept.
    solutions : sequence of (v, b), optional
        The solution per class, f = G v + b, where it is known.

    Returns
    -------
    ndarray of shape (l,) or (l, K)
        Values by leave-one-out; of more than 100 labelled samples, unless the loss is squared, by five folds. nan where
        a sample is the only one of its class and folds never leave it out, or where there is no solution.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.losses import Squared
    >>> G = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> left_out_decisions(G, encode_labels([0, 1, 1]), Squared(), True).round(2).tolist()
    [1.0, 0.0, 0.5]
    """
    l = labels.n_labeled
    if labels.weights is not None:
        return _weighted(G, labels, loss, fit_intercept)
    if loss.name == "squared":
        return np.asarray(RidgePath(G, labels.sign, fit_intercept).leave_one_out([1.0])[0])

    def solve(G: FloatArray, sign: FloatArray) -> tuple[FloatArray, float]:
        binary = Labels(sign, np.arange(len(sign)), np.array([False, True]), len(sign))
        try:
            answer = factorized(LapSVM(G, None, binary, loss=loss, gamma_A=1.0, fit_intercept=fit_intercept))
        except (SolverError, np.linalg.LinAlgError):
            return np.full(len(sign), np.nan), np.nan
        return np.asarray(answer.variables["v"]), float(answer.variables["b"])

    folds = one_left_out(l) if l <= MOST else dealt_folds(labels.sign, _FOLDS)
    tested = np.concatenate([fold.test for fold in folds])
    nearby = partial(solution_near, loss=loss.name, fit_intercept=fit_intercept) if loss.slack_power else None
    rule = hinge_intercept if loss.box_dual and fit_intercept else None
    parts = []
    for k, binary in enumerate(labels.one_vs_rest()):
        full = None if solutions is None else solutions[k]
        part = np.full(l, np.nan)
        if loss.slack_power == 2 and l <= MOST:
            part = squared_hinge_leave_one_out(
                G, binary.sign, solve, fit_intercept=fit_intercept, full=full, nearby=nearby
            )
        else:
            part[tested] = refitted(G, binary.sign, folds, solve, full=full, nearby=nearby, intercept=rule)
        parts.append(part)
    return parts[0] if labels.is_binary else np.column_stack(parts)


def _weighted(G: FloatArray, labels: Labels, loss: MarginLoss, fit_intercept: bool) -> FloatArray:
    """Return the same of labels with weights: by the formula of least squares, or solved anew without each."""
    l = labels.n_labeled
    if loss.name == "squared":
        return weighted_squares_left_out(G, labels.sign, labels.weights_or_ones, fit_intercept)
    folds = one_left_out(l) if l <= MOST else dealt_folds(labels.sign, _FOLDS)
    decisions = np.full(labels.sign.shape, np.nan)
    for left_out, test in folds:
        kept = np.delete(np.arange(l), left_out)
        for k, one in enumerate(
            replace(labels.at(kept), labeled=np.arange(len(kept)), n_samples=len(kept)).one_vs_rest()
        ):
            obj = LapSVM(G[np.ix_(kept, kept)], None, one, loss=loss, gamma_A=1.0, fit_intercept=fit_intercept)
            with suppress(SolverError, np.linalg.LinAlgError):
                answer = factorized(obj).variables
                f = G[np.ix_(test, kept)] @ answer["v"] + float(answer["b"])
                decisions[test if labels.is_binary else (test, k)] = f
    return decisions


def weighted_squares_left_out(
    G: FloatArray, targets: FloatArray, weights: FloatArray, fit_intercept: bool
) -> FloatArray:
    """Return what the others predict at each labelled sample, by least squares with weights: exact, without refitting.

    It is z - v / diag(M) with v = M z, M the inverse of G + diag(1 / c) on the multipliers that sum to zero.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Deformed kernel.
    targets : ndarray of shape (l,) or (l, K)
        Signs or numbers z.
    weights : ndarray of shape (l,)
        c, > 0.
    fit_intercept : bool
        Whether f has an unpenalised intercept.

    Returns
    -------
    ndarray of the shape of `targets`
        nan where one sample is labelled and nothing predicts it, and everywhere if the matrix is singular to rounding.

    Examples
    --------
    >>> targets, weights = np.array([0.0, 3.0, 3.0]), np.array([1.0, 1.0, 3.0])
    >>> weighted_squares_left_out(np.eye(3), targets, weights, True).round(6).tolist()
    [3.0, 1.8, 1.5]
    """
    try:
        M = np.linalg.inv(G + np.diag(1.0 / weights))
    except np.linalg.LinAlgError:
        return np.full(np.shape(targets), np.nan)
    if fit_intercept:
        one = M.sum(axis=1)
        M -= np.outer(one, one) / one.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(targets - ((M @ targets).T / np.diag(M)).T)
