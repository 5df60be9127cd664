"""Predictions that are proved to be those of the optimum: `ProvedDecisions`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import AsText
from specmargin.estimators._base.changed_model import refuse_changed
from specmargin.estimators._base.semi_supervised import columns, numerical_failures
from specmargin.exceptions import SolverError
from specmargin.objectives.proved_decisions import DecisionBounds, decision_bounds, distances
from specmargin.results import SolveResult
from specmargin.rounding import UNIT
from specmargin.typing import BoolArray, FloatArray, Matrix

__all__ = ["ProvedDecisions", "proved_decisions"]

_REPRODUCED = 1e-6
"""Relative difference to the decisions of the fit up to which a problem is that of the fit."""
_KNOWN: WeakKeyDictionary[Any, tuple[Any, list[DecisionBounds]]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class ProvedDecisions(AsText):
    """Which predictions are proved to be those of the optimum; made by `proved_decisions` of a classifier.

    Parameters
    ----------
    proved : ndarray of bool, of shape (m,) or (m, n_classes)
        Whether a prediction is that of every optimum. With more than two classes whether that is known of each class:
        that the optimum predicts it, or that it does not; a prediction is proved where its own entry is.
    low, high : ndarray of shape (m,) or (m, n_classes)
        Ends of the intervals that hold the optimum's scores.
    predicted : ndarray of bool, of shape (m,)
        The same for the class that is predicted, whatever the number of classes.

    Examples
    --------
    >>> print(ProvedDecisions(np.array([True, False]), np.ones(2), np.ones(2), np.array([True, False])))
    1 of 2 predictions (50.0 %) are proved to be those of the optimum
    """

    proved: BoolArray
    low: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    predicted: BoolArray = field(repr=False)

    @property
    def share(self) -> float:
        """Share of the predictions that are proved."""
        return float(self.predicted.mean())

    def __str__(self) -> str:
        m = len(self.predicted)
        share = np.floor(1000.0 * self.share) / 10.0
        return f"{self.predicted.sum()} of {m} predictions ({share:.1f} %) are proved to be those of the optimum"


def proved_decisions(estimator: Any, X: Matrix | None) -> ProvedDecisions:
    """Return what ``proved_decisions`` of a classifier says.

    It has ``_objectives()``, the problem of each of its results, and ``_bounds_at(X, bounds)``.
    """
    check_is_fitted(estimator)
    refuse_changed(estimator, "proved decisions")
    with numerical_failures(estimator):
        low, high = _score_bounds(estimator, X)
    scores = estimator.scores_ if X is None else estimator.decision_function(X)
    rounding = 4.0 * estimator._rounding
    if low.ndim == 1:
        proved = np.where(scores > rounding, low > rounding, (high < -rounding) & (scores < -rounding))
        return ProvedDecisions(proved, low, high, proved)
    every = np.arange(low.shape[1])
    rivals = [(low[:, every != k].max(axis=1), high[:, every != k].max(axis=1)) for k in every]
    wins = np.stack([low[:, k] > most + rounding for k, (_, most) in enumerate(rivals)], axis=1)
    loses = np.stack([high[:, k] < least - rounding for k, (least, _) in enumerate(rivals)], axis=1)
    own = scores.argmax(axis=1)[:, None] == every
    proved = np.where(own, wins, loses)
    return ProvedDecisions(proved, low, high, proved[own])


def _score_bounds(estimator: Any, X: Matrix | None) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals of the balanced scores."""
    kept = _KNOWN.get(estimator)
    if kept is None or kept[0] is not estimator.result_:
        kept = _KNOWN[estimator] = (estimator.result_, _decision_bounds(estimator))
    bounds = kept[1] if X is None else estimator._bounds_at(X, kept[1])
    slope, offset = estimator.balance_.slope, estimator.balance_.offset
    ends = []
    for name, way in (("low", -1.0), ("high", 1.0)):
        end = columns([getattr(one, name) for one in bounds]) * slope
        ends.append(end + offset + way * 8.0 * UNIT * (np.abs(end) + np.abs(offset)))
    return ends[0], ends[1]


def _decision_bounds(estimator: Any) -> list[DecisionBounds]:
    """Return the bounds of each result, after a look that its problem is known."""
    result = estimator.result_
    results = (result,) if isinstance(result, SolveResult) else result
    bounds, known = [], None
    for objective, one in zip(estimator._objectives(), results, strict=True):
        f = np.asarray(one.variables["f"])
        off = float(np.abs(objective.decisions(one.variables) - f).max())
        if not off <= _REPRODUCED * float(np.abs(f).max()):
            raise SolverError(
                f"{type(estimator).__name__}: the problem of fit cannot be made again (decisions differ by {off:.1e}): "
                "a random_state that is no number draws others; pass a number."
            )
        known = distances(objective) if known is None else known
        bounds.append(decision_bounds(objective, one.variables, known=known))
    return bounds
