r"""Local searches of the S3VM objective in its own weights, where there is no relaxation to search with.

Module ``local_search`` descends in the row space of a relaxation, which a free intercept does not have (it is
unbounded below), nor losses that the bounds do not cover. The descents need neither: retraining with guessed labels is
a convex problem with any intercept, and exp(-s f^2) is slid down in w.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.losses import is_better_label
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.local_search import LabelSearch
from specmargin.solvers.lbfgs import lbfgs
from specmargin.solvers.s3vm.weighted_svm import supervised_svm, weighted_svm
from specmargin.typing import FloatArray

__all__ = ["FeatureSearch", "has_relaxation"]

_TOL = 1e-7
"""Norm of the gradient relative to its parts at which a slide ends."""


def has_relaxation(obj: S3VM) -> bool:
    """Whether `specmargin.optima.relaxation.S3VMRelaxation` takes intercept and labelled loss."""
    return obj.features.penalty != 0.0 and getattr(obj.loss, "slack_power", 0) > 0


class FeatureSearch(LabelSearch):
    """Descents in w.

    Parameters
    ----------
    obj : S3VM
        Objective with exp(-s f^2), or with V and U the hinge and the symmetric hinge, or both squared.
    """

    def __init__(self, obj: S3VM) -> None:
        super().__init__(obj)
        loss, unlabeled = obj.loss, obj.unlabeled_loss
        if self.by_labels and not is_better_label(loss, unlabeled):
            raise InvalidInputError(
                f"with a free intercept one_flip retrains the labelled loss with guessed labels, and {unlabeled!r} is "
                f"not the better label's {loss!r}; take unlabeled_loss=None or 'exp', or intercept='balance'."
            )
        self.expand = self.coordinates = np.asarray

    @cached_property
    def Z_unlabeled(self) -> FloatArray:
        """Rows of the unlabelled samples, (u, size)."""
        return self.obj.features.subset(self.obj.unlabeled).dense()

    def decisions(self, w: FloatArray) -> FloatArray:
        """Return f of the unlabelled samples."""
        return self.obj.decisions_at(w)[self.obj.unlabeled]

    def cold(self) -> tuple[float, FloatArray]:
        """Return the descent from the supervised SVM."""
        result = supervised_svm(self.obj.supervised(), None, solver="one_flip", start=0.0)
        return self.descend(np.asarray(result.variables["w"]))

    def _trained(self, labels: FloatArray, w: FloatArray) -> tuple[float, FloatArray]:
        w = np.asarray(weighted_svm(self.obj.guessed(labels), w).variables["w"])
        return self.obj.value_at(w), w

    def _slide(self, w: FloatArray) -> tuple[float, FloatArray]:
        end = lbfgs(self.obj.value_and_gradient, w, self.obj.features.weights, tol=_TOL, max_iter=2000)
        return end.value, end.w
