"""Probabilities of classifiers by what they decide at labels that were left out: `Calibration`.

Least squares and LapSVM know that from their fit, by exact leave-one-out on the labelled samples alone; others have to
be fitted again without some labels. Either is done when probabilities are first asked for: a fit costs what it did, no
parameter has to be set beforehand, and who does not want probabilities pays nothing. Until then a classifier of the
second kind refers to what it was fitted to.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.labels import Labels
from specmargin.losses import MarginLoss
from specmargin.objectives.held_out.calibration import calibrated_scale
from specmargin.objectives.held_out.leave_one_out import dealt_folds, told_alone
from specmargin.solvers.manifold.left_out import left_out_decisions
from specmargin.typing import FloatArray, Matrix

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class OnReduction:
    """What `left_out_decisions` needs of a fit, on its labelled samples alone: numbers, which a file can hold."""

    G: FloatArray
    labels: Labels
    loss: MarginLoss
    fit_intercept: bool
    solutions: list[tuple[FloatArray, float]] | None

    def __call__(self) -> FloatArray:
        """Return the decisions at left-out labels."""
        return left_out_decisions(self.G, self.labels, self.loss, self.fit_intercept, self.solutions)


@dataclass(eq=False)
class Calibration:
    """The scale T, or what it follows from until it is asked for.

    Parameters
    ----------
    labels : Labels
        Labels of the fit.
    held_out : ndarray or OnReduction, optional
        The decisions at left-out labelled samples, (l,) or (l, K), before they are balanced, or what returns them.
    fitted_to : tuple of (classifier, X, graph), optional
        Else a classifier that is not fitted, and what it would be fitted to.
    """

    labels: Labels
    held_out: FloatArray | OnReduction | None = None
    fitted_to: tuple[Any, Matrix, Any] | None = None
    scale: float | None = None

    def scale_of(self, fitted: Any) -> float:
        """Return T of the classifier that was fitted."""
        if self.scale is None:
            self.scale = calibrated_scale(*(self._left_out(fitted) if self.held_out is None else self._known(fitted)))
            self.held_out = self.fitted_to = None
        return self.scale

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        if self.fitted_to is not None and getattr(self.fitted_to[0], "_is_precomputed", False):
            state["fitted_to"] = None  # a kernel matrix is not worth one number
        return state

    def _known(self, fitted: Any) -> tuple[FloatArray, FloatArray]:
        """Return balanced decisions, and signs, as far as they say something."""
        assert self.held_out is not None
        sign = self.labels.sign
        decisions = self.held_out() if isinstance(self.held_out, OnReduction) else self.held_out
        kept = told_alone(sign) & np.isfinite(decisions).reshape(len(sign), -1).all(axis=1)
        return fitted.balance_(decisions)[kept], sign[kept]

    def _left_out(self, fitted: Any) -> tuple[FloatArray, FloatArray]:
        """Return the same by fits without a fifth of the labels."""
        if self.fitted_to is None:
            raise InvalidInputError(
                f"{type(fitted).__name__} was stored without its kernel matrix before its probabilities were "
                "calibrated; look at calibration_ before you store it."
            )
        labels, (template, X, graph) = self.labels, self.fitted_to
        decisions, signs = [labels.sign[:0]], [labels.sign[:0]]
        for left_out, test in dealt_folds(labels.sign, _FOLDS):
            kept = np.delete(np.arange(labels.n_labeled), left_out)
            others = labels.at(kept)
            apart = clone(template)
            apart.classes_ = labels.classes
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of fewer labels than there are
                    at = fitted._decisions_without(apart, X, others, graph)[labels.labeled[test]]
            except (SolverError, InvalidInputError, np.linalg.LinAlgError):  # these labels leave it undefined
                continue
            if np.isfinite(at).all():
                decisions.append(at)
                signs.append(labels.sign[test])
        return np.concatenate(decisions), np.concatenate(signs)
