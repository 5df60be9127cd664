r"""Decisions of LapSVM and LapRLS at labelled samples whose labels were withheld, after the whole problem was solved.

The reduction of the problem stays (`specmargin.objectives.held_out.leave_one_out`), so that what is left are problems
of the l labelled samples, and mostly formulas: for the squared loss one eigendecomposition for all samples and classes,
for the hinge and the squared hinge the neighbouring optimum (`specmargin.objectives.held_out.refitting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

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

__all__ = ["MOST", "left_out_decisions"]

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
    if loss.name == "squared":
        return np.asarray(RidgePath(G, labels.sign, fit_intercept, labels.weights).leave_one_out([1.0])[0])

    def solve(G: FloatArray, sign: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, float]:
        binary = Labels(sign, np.arange(len(sign)), np.array([False, True]), len(sign), weights)
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
        known: Any = {"full": full, "nearby": nearby, "weights": labels.weights}
        part = np.full(l, np.nan)
        if loss.slack_power == 2 and l <= MOST:
            part = squared_hinge_leave_one_out(G, binary.sign, solve, fit_intercept=fit_intercept, **known)
        else:
            part[tested] = refitted(G, binary.sign, folds, solve, intercept=rule, **known)
        parts.append(part)
    return parts[0] if labels.is_binary else np.column_stack(parts)
