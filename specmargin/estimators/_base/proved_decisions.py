"""Predictions that are proved to be those of the optimum: `ProvedDecisions`, and what classifiers with them share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import AsText
from specmargin.estimators._base.changed_model import refuse_changed
from specmargin.estimators._base.semi_supervised import numerical_failures
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.objectives.proved_decisions import DecisionBounds, decision_bounds, distances
from specmargin.results import SolveResult
from specmargin.rounding import UNIT
from specmargin.typing import BoolArray, FloatArray, Matrix

__all__ = ["Optimum", "ProvedDecisions"]

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


class Optimum:
    """Predictions compared with those of the optimum, for classifiers whose norm is given.

    A subclass has ``_objectives()``, the problem of each of its results, and ``_bounds_at(X, bounds)``.
    """

    balance_: Any
    result_: Any
    scores_: FloatArray

    _keeps_training: ClassVar[bool] = True
    _objectives: Any
    _bounds_at: Any

    @property
    def proved_(self) -> BoolArray:
        """Whether each prediction of a training sample is proved to be that of the optimum (`proved_decisions`)."""
        try:
            return self.proved_decisions().proved
        except InvalidInputError as error:
            raise AttributeError(f"there is no proved_: {error}") from error

    def proved_decisions(self, X: Matrix | None = None) -> ProvedDecisions:
        """Return which predictions are proved to be those of the optimum.

        A gap proves how good the objective is. The norm is strongly convex, so that it also proves how far the
        decisions can be from those of the optimum (`specmargin.objectives.proved_decisions`), rounding included. What
        is proved is the class at the thresholds of `balance_`, which are held: it is what every optimum of the problem
        that was solved would be given by the same map. It takes a factorisation, and is computed when it is asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples; by default the training samples.

        Returns
        -------
        ProvedDecisions
            ``proved``, ``share``, and the ends of the intervals of scores, ``low`` and ``high``.

        Raises
        ------
        ValueError
            Where nothing can be proved: `model` changes the problem, or ``kernel="precomputed"`` leaves no samples to
            compute it from.

        Examples
        --------
        >>> import specmargin as sm
        >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
        >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
        >>> print(sm.LapSVM().fit(X, y).proved_decisions())
        120 of 120 predictions (100.0 %) are proved to be those of the optimum
        """
        check_is_fitted(self)
        refuse_changed(self, "proved decisions")
        with numerical_failures(self):
            low, high = self._score_bounds(X)
        scores = self.scores_ if X is None else self.decision_function(X)  # type: ignore[attr-defined]  # mixed in
        rounding: float = 4.0 * self._rounding  # type: ignore[attr-defined]
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

    def _score_bounds(self, X: Matrix | None) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals of the balanced scores."""
        kept, result = _KNOWN.get(self), self.result_
        if kept is None or kept[0] is not result:
            kept = _KNOWN[self] = (result, self._decision_bounds())
        bounds = kept[1] if X is None else self._bounds_at(X, kept[1])
        ends = []
        for name, way in (("low", -1.0), ("high", 1.0)):
            parts = [getattr(one, name) for one in bounds]
            end = parts[0] if len(parts) == 1 else np.column_stack(parts)
            slope, offset = self.balance_.slope, self.balance_.offset
            ends.append(end * slope + offset + way * 8.0 * UNIT * (np.abs(end * slope) + np.abs(offset)))
        return ends[0], ends[1]

    def _decision_bounds(self) -> list[DecisionBounds]:
        """Return the bounds of each result, after a look that its problem is known."""
        results: Any = (self.result_,) if isinstance(self.result_, SolveResult) else self.result_
        bounds, known = [], None
        for objective, result in zip(self._objectives(), results, strict=True):
            f = np.asarray(result.variables["f"])
            off = float(np.abs(objective.decisions(result.variables) - f).max())
            if not off <= _REPRODUCED * float(np.abs(f).max()):
                raise SolverError(
                    f"{type(self).__name__}: the problem of fit cannot be made again (decisions differ by {off:.1e}): "
                    "a random_state that is no number draws others; pass a number."
                )
            known = distances(objective) if known is None else known
            bounds.append(decision_bounds(objective, result.variables, known=known))
        return bounds
