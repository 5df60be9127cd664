"""Probabilities of classifiers that know what they decide at left-out labels: `CalibratedScores`."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from specmargin.labels import Labels
from specmargin.objectives.calibration import calibrated_scale, class_probabilities
from specmargin.objectives.leave_one_out import counted, one_left_out
from specmargin.typing import FloatArray, Matrix


def _has_left_out(estimator: Any) -> bool:
    return bool(estimator._calibrates)


class CalibratedScores:
    """A classifier whose ``_fit`` leaves decisions at left-out labelled samples in ``_held_out``, before balancing.

    Attributes
    ----------
    calibration_ : float
        The scale T of `predict_proba`.
    """

    calibration_: float
    _held_out: FloatArray | None = None
    _calibrates: bool = True

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: Any) -> None:
        super()._learn(X, y, labels, graph)  # type: ignore[misc]  # of the class it is mixed into
        held_out, self._held_out = self._held_out, None
        if held_out is not None:
            kept = counted(labels.sign, one_left_out(labels.n_labeled))
            balanced: FloatArray = self.balance_(held_out)  # type: ignore[attr-defined]  # of `ClassBalanceParameter`
            self.calibration_ = calibrated_scale(balanced[kept], labels.sign[kept])

    @available_if(_has_left_out)
    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probabilities of the classes at new samples.

        softmax(T f) of `decision_function`, with two classes 1 / (1 + exp(-T f)). T is calibrated on the decisions that
        the other labelled samples make at each one (exact leave-one-out; `specmargin.objectives.calibration`). The most
        probable class is the one that `predict` names. With few labels probabilities stay near equal shares.

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
        return class_probabilities(self.calibration_ * (scores[:, None] if scores.ndim == 1 else scores))
