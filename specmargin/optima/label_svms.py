r"""The SVMs of an S3VM with given labels, in the coordinates of its relaxation: what bounds the nodes of label trees.

Every a within its bounds bounds the SVM's objective from below (`LabelSVMs.lower`), and the solution for some labels is
a start for all problems with more of them.

Where C |z|^2 is 1e12 a margin that is short by one rounding costs the hinge more than the tolerance of any proof.
`LabelSVMs.primal` raises the margins of samples with the hinge above 1 by a few roundings, so that their loss is
exactly zero.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from specmargin.optima.label_qp import LabelPoint, LabelQP
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["LabelSVMs"]

_EPS = float(np.finfo(float).eps)
_PIVOTS = 50
"""Steps per sample after which the search gives up: of what is proved by it."""
_SCALED = 1e-12
"""Relative gap at which weights are as good as they get."""


class LabelSVMs(LabelQP):
    """The SVMs of one S3VM, for all labels.

    Parameters
    ----------
    relaxation : S3VMRelaxation
        Relaxation of the objective, with labels of its unlabelled samples (not exp(-s f^2), which has none).
    """

    def __init__(self, relaxation: S3VMRelaxation) -> None:
        obj = relaxation.obj
        assert relaxation.space is not None
        space, labels = relaxation.space, obj.labels
        n = len(space.Z)
        c, hinge = np.full(n, obj.C_star), np.full(n, getattr(relaxation.minorant.branch, "box_dual", False))
        c[labels.labeled] = obj.costs
        hinge[labels.labeled] = getattr(obj.loss, "box_dual", False)
        super().__init__(space.Z, relaxation.offset, np.ones(n), c, hinge, _PIVOTS)
        self.known = np.zeros(n)
        self.known[labels.labeled] = labels.sign
        self.unlabeled, self.skew = obj.unlabeled, space.skew
        self.error = self.error + space.errors

    def labels(self, signs: FloatArray) -> FloatArray:
        """Return the labels of all samples, (n,), of those of the unlabelled ones."""
        y = self.known.copy()
        y[self.unlabeled] = signs
        return np.where(self.c > 0, y, 0.0)

    def lower(self, point: LabelPoint) -> float:
        """Return the dual objective at its multipliers, less all that rounding may have added to it.

        Pivots may leave a multiplier beyond its bounds by a rounding, where it proves nothing.
        """
        y, a = point.y, np.clip(point.a, 0.0, self.upper)
        q = (y * a) @ self.Z
        length = float(np.linalg.norm(q)) * (1.0 + 4.0 * (len(q) + 4) * _EPS) + float(a @ self.error)
        length *= 1.0 + self.skew
        gains, losses = a * (self.need - y * self.b), 0.5 * self.D * a**2
        size = float((a * (np.abs(self.need) + abs(self.b))).sum() + losses.sum()) + length**2
        return float(gains.sum() - losses.sum() - 0.5 * length**2 - 2.0 * (len(a) + 8) * _EPS * size)

    def pieces(self, rows: IntArray, hinge: BoolArray, need: FloatArray, c: FloatArray) -> LabelSVMs:
        """Return the SVM whose samples are those rows, any of them repeatedly, with such losses."""
        new = copy(self)
        new.Z, new.lengths = self.Z[rows], self.lengths[rows]
        new.error = (1.0 + len(rows) / len(self.Z)) * self.error[rows]
        new.kept = None if self.kept is None else self.kept[np.ix_(rows, rows)]
        new.hinge, new.need, new.c = hinge, need, c
        new.upper, new.D = np.where(hinge, c, np.inf), np.where(hinge, 0.0, 0.5 / c)
        return new

    def replace_rows(self, Z: FloatArray) -> None:
        """Take other rows: the same SVM in another metric, whose `lower` is no bound."""
        self.Z, self.kept, self.lengths = Z, Z @ Z.T, np.asarray(np.linalg.norm(Z, axis=1))

    def value(self, y: FloatArray, w: FloatArray) -> float:
        """Return the objective of the SVM with labels y at w, all margins off by their error to the worse."""
        error = self.error * float(np.linalg.norm(w)) + 2.0 * _EPS
        slack = np.maximum(self.need - y * (self.Z @ w + self.b) + error, 0.0)
        losses = np.where(self.hinge, slack, slack**2)
        return float(0.5 * w @ w + (self.c * losses)[y != 0].sum())

    def primal(self, point: LabelPoint) -> list[FloatArray]:
        """Return weights at a solution: its own, and such whose margins exceed 1 by a few roundings.

        Scaling raises the margins unless the offset is -1 or 1, or close; there the problem is solved again for larger
        ones.
        """
        y, w = point.y, point.w
        lower = self.lower(point)
        if not self.hinge[y != 0].any() or not self.value(y, w) > lower * (1.0 + _SCALED):
            return [w]
        aim = 8.0 * (float(self.error[y != 0].max()) * float(np.linalg.norm(w)) + 4.0 * _EPS)
        scaled = w * (1.0 + aim / max(1.0 - abs(self.b), 0.1))
        if self.value(y, scaled) <= lower * (1.0 + 1e-9):
            return [scaled]
        return [w, scaled, self.solve(y, point, aim).w]
