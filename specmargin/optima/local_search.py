r"""Local searches of the S3VM objective in the row space of its features: what branch and bound starts and ends with.

With the unlabelled loss U(f) = min(V(f), V(-f)) the minimum over w is one over labels: retrain with guessed labels (a
convex problem), take the signs of the decisions as the new guess, and repeat until they stay. No step raises J. With
exp(-s f^2) there are no guessed labels, and L-BFGS descends in w.

`LocalSearch` descends in the row space of a relaxation, which a free intercept does not have (it is unbounded below),
nor losses that the bounds do not cover. The descents need neither: `FeatureSearch` descends in the weights themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from specmargin.exceptions import InvalidInputError
from specmargin.losses import is_better_label
from specmargin.objectives.features import Features
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.weighted_svm import WeightedSVM
from specmargin.optima.interior_point import barrier
from specmargin.optima.label_qp import PIVOTED, LabelPoint
from specmargin.optima.label_svms import LabelSVMs
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.solvers.lbfgs import lbfgs
from specmargin.solvers.newton_system import NewtonSystem
from specmargin.solvers.s3vm.finite_newton import descend as newton_descent
from specmargin.solvers.s3vm.weighted_svm import supervised_svm, weighted_svm
from specmargin.typing import FloatArray

__all__ = ["FeatureSearch", "LabelDescent", "LocalSearch", "has_relaxation", "signs_of"]

_ROUNDS = 100  # of retraining with guessed labels
_HARD = 1e4
"""C |z|^2 beyond which Newton's method in w is not accurate enough."""
_SLID = 1e-7
"""Norm of the gradient relative to its parts at which a slide ends."""


def signs_of(f: FloatArray) -> FloatArray:
    """Return the best labels of unlabelled samples; +1 for a decision of 0."""
    return np.where(f >= 0, 1.0, -1.0)


class LabelDescent:
    """Descents of one objective; labelings that were tried are not tried again.

    Parameters
    ----------
    obj : S3VM
        The objective.
    """

    decisions: Callable[[FloatArray], FloatArray]
    """Return f of the unlabelled samples at w."""
    _trained: Callable[[FloatArray, FloatArray], tuple[float, FloatArray]]
    """Solve what `retrain` has not met before."""
    _slide: Callable[[FloatArray], tuple[float, FloatArray]]
    """Return J and w where L-BFGS ends."""

    def __init__(self, obj: S3VM) -> None:
        self.obj = obj
        self.by_labels = not getattr(obj.unlabeled_loss, "smooth", False)
        self._seen: dict[bytes, tuple[float, FloatArray]] = {}

    def descend(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return J and w where the descent from w ends."""
        if self.obj.is_supervised:
            return self.retrain(np.ones(len(self.obj.unlabeled)), w)
        return self.alternate(signs_of(self.decisions(w)), w) if self.by_labels else self._slide(w)

    def alternate(self, labels: FloatArray, w: FloatArray) -> tuple[float, FloatArray]:
        """Retrain and guess the labels anew until they stay, and return J and w; `w` is a start."""
        for _ in range(_ROUNDS):
            value, w = self.retrain(labels, w)
            guessed = signs_of(self.decisions(w))
            if (guessed == labels).all():
                break
            labels = guessed
        return value, w

    def retrain(self, labels: FloatArray, w: FloatArray) -> tuple[float, FloatArray]:
        """Return J and w at the minimum of the convex SVM with those labels of the unlabelled samples."""
        key = np.packbits(labels > 0).tobytes()
        if key not in self._seen:
            if len(self._seen) > 100_000:
                self._seen.clear()
            self._seen[key] = self._trained(labels, w)
        return self._seen[key]


class LocalSearch(LabelDescent):
    """Descents in the row space of a relaxation.

    Parameters
    ----------
    relaxation : S3VMRelaxation
        Relaxation of the objective; its decided labels do not matter.
    """

    def __init__(self, relaxation: S3VMRelaxation) -> None:
        super().__init__(relaxation.obj)
        self.relaxation, self.expand, self.coordinates = relaxation, relaxation.expand, relaxation.coordinates
        assert relaxation.space is not None
        self.Z = relaxation.space.Z
        self.Z_unlabeled = self.Z[self.obj.unlabeled]
        self.features = Features(self.Z, offset=relaxation.offset)
        self._system = NewtonSystem(self.features)
        self._last: LabelPoint | None = None

    @cached_property
    def qp(self) -> LabelSVMs:
        """The SVMs with given labels, solved exactly."""
        return LabelSVMs(self.relaxation)

    @cached_property
    def _pivoted(self) -> bool:
        """Whether SVMs with all labels are left to `qp`: few samples, mixed losses or large weights."""
        qp = self.qp
        mixed = len(set(qp.hinge[qp.c > 0])) > 1
        return len(self.Z) <= PIVOTED and (mixed or float((qp.c * qp.lengths**2).max(initial=0.0)) > _HARD)

    @cached_property
    def supervised(self) -> LabelPoint | None:
        """The SVM of the known labels alone, solved; None where they are too many for `qp`, or of another loss."""
        qp = self.qp
        covered = self.obj.labels.n_labeled <= PIVOTED and self.obj.loss.slack_power > 0
        return qp.solve(qp.known) if covered else None

    def decisions(self, w: FloatArray) -> FloatArray:
        """Return f of the unlabelled samples."""
        return self.Z_unlabeled @ w + self.relaxation.offset

    def value(self, w: FloatArray) -> float:
        """Return J at coordinates w of the row space."""
        return self.obj.value_at(self.expand(w))

    def at(self, point: LabelPoint) -> tuple[float, FloatArray]:
        """Return J and w at a solution of `qp`."""
        several = self.qp.primal(point)
        if len(several) == 1:
            return self.value(several[0]), several[0]
        # Which is the lowest float64 cannot tell.
        proved = [(self.obj.prove(self.expand(w)), w) for w in several]
        certificate, w = min(proved, key=lambda pair: pair[0].primal_objective + pair[0].rounding)
        return certificate.primal_objective, w

    def cold(self) -> tuple[float, FloatArray]:
        """Return the descent from the supervised SVM: the usual start of local solvers."""
        if self.supervised is not None:
            return self.descend(self.supervised.w)
        supervised = S3VMRelaxation(self.obj.supervised(), space=self.relaxation.space)
        return self.descend(barrier(supervised, tol=1e-6).w)

    def _trained(self, labels: FloatArray, w: FloatArray) -> tuple[float, FloatArray]:
        if self._pivoted:
            self._last = self.qp.solve(self.qp.labels(labels), self._last)
            return self.at(self._last)
        problem = self.relaxation.with_(signs=labels)
        powers = {getattr(loss, "slack_power", 0) for _, loss in problem.groups}
        if len(powers) == 1 and 0 not in powers:
            cost = np.zeros((2, len(self.Z)))
            cost[(problem.y < 0).astype(int), problem.known] = problem.weights
            svm = WeightedSVM(self.features, cost[0], cost[1], problem.groups[0][1])
            if powers == {1}:
                w = weighted_svm(svm, w).variables["w"]
            else:
                w = newton_descent(svm, w, self.features.decisions(w), tol=1e-12, system=self._system).w
        else:
            result = barrier(problem, tol=1e-9)
            w = result.w if result.primal is None else result.primal
        return self.value(w), w

    def _slide(self, w: FloatArray) -> tuple[float, FloatArray]:
        space, obj = self.relaxation, self.obj
        if not len(w):
            return self.value(w), w  # scipy calls the minimum over nothing 0

        def function(w: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = obj.value_and_gradient(space.expand(w))
            return value, space.coordinates(gradient)

        options = {"maxcor": 30, "gtol": 1e-7, "ftol": 1e-13, "maxiter": 2000}
        minimum = minimize(function, w, jac=True, method="L-BFGS-B", options=options)
        return float(minimum.fun), np.asarray(minimum.x)


def has_relaxation(obj: S3VM) -> bool:
    """Whether `specmargin.optima.relaxation.S3VMRelaxation` takes intercept and labelled loss."""
    return obj.features.penalty != 0.0 and getattr(obj.loss, "slack_power", 0) > 0


class FeatureSearch(LabelDescent):
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
        end = lbfgs(self.obj.value_and_gradient, w, self.obj.features.weights, tol=_SLID, max_iter=2000)
        return end.value, end.w
