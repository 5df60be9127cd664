"""Probabilities of classifiers by what they decide at labels that were left out: `CalibratedScores`.

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
from sklearn.utils.validation import check_is_fitted

from specmargin.estimators._class_balance import codes_of
from specmargin.estimators._semi_supervised import check_features
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.labels import Labels
from specmargin.losses import MarginLoss
from specmargin.objectives.held_out.calibration import calibrated_scale, class_probabilities
from specmargin.objectives.held_out.leave_one_out import counted, dealt_folds, one_left_out
from specmargin.solvers.manifold.left_out import MOST, left_out_decisions
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
        Of the fit.
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
        kept = counted(sign, one_left_out(len(sign))) & np.isfinite(decisions).reshape(len(sign), -1).all(axis=1)
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


class CalibratedScores:
    """A classifier with probabilities; what knows decisions at left-out labels is left by ``_fit`` in ``_held_out``.

    Attributes
    ----------
    calibration_ : float
        The scale T of `predict_proba`.
    """

    _held_out: FloatArray | OnReduction | None = None
    _calibration: Calibration

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: Any) -> None:
        self._held_out = None
        super()._learn(X, y, labels, graph)  # type: ignore[misc]  # of the class it is mixed into
        known = self._held_out is not None
        self._calibration = Calibration(labels, self._held_out, None if known else (clone(self), X, graph))
        self._held_out = None
        if known and labels.n_labeled > MOST:
            self.calibration_  # noqa: B018 - a few folds next to such a fit, and no matrix is kept for later

    def _decisions_without(self, apart: Any, X: Matrix, labels: Labels, graph: Any) -> FloatArray:
        """Return the decisions of all samples by fewer labels; `apart` is a classifier like this one, not fitted."""
        scores: FloatArray = apart._fit(X, labels, graph)[0]
        return scores

    @property
    def calibration_(self) -> float:
        """The scale T of `predict_proba`; the first look at it may take five fits."""
        check_is_fitted(self)
        return self._calibration.scale_of(self)

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probabilities of the classes at new samples.

        softmax(T f) of `decision_function`, with two classes 1 / (1 + exp(-T f)). T is calibrated on decisions at
        labelled samples that were left out (`specmargin.objectives.held_out.calibration`), never on those that were
        learned from: by exact leave-one-out where that follows from the fit (least squares; LapSVM with a loss that is
        piecewise quadratic), else by five folds of the labels, whose fits are paid for by the first call. The most
        probable class is the one that `predict` names. With few labels probabilities stay near equal shares.

        A soft vote is the mean of several classifiers' probabilities. `sklearn.ensemble.VotingClassifier` numbers
        classes and marker in their order: take a marker that sorts behind the K classes, and ``unlabeled=K`` for the
        members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Rows sum to one, in the order of ``classes_``.
        """
        check_is_fitted(self)
        scores: FloatArray = self.decision_function(X)  # type: ignore[attr-defined]  # of the class it is mixed into
        p = class_probabilities(self.calibration_ * (scores[:, None] if scores.ndim == 1 else scores))
        # Decisions may differ by less than probabilities can: the largest is that of the class that is predicted.
        own = codes_of(scores, self._rounding)  # type: ignore[attr-defined]
        for i in np.flatnonzero(p.argmax(axis=1) != own):
            p[i, own[i]] = np.nextafter(p[i].max(), 2.0)
        return p


class RefittedProbabilities:
    """A search whose ``estimator_`` has probabilities."""

    estimator_: Any

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probabilities of the classes at new samples, those of ``estimator_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(check_features(self, X, reset=False)))
