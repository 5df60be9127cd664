r"""The convex SVM of an S3VM with given labels, solved exactly: an active-set method for its dual.

With labels y of some samples, hinge or squared hinge each, and the row space Z of the features,

    max_a  sum_i a_i (1 - y_i b) - 1/2 |sum_i a_i y_i z_i|^2 - 1/2 sum_i D_i a_i^2,      0 <= a_i <= u_i,

with D = 0 and u = c for the hinge of weight c, D = 1 / (2c) and no upper bound for the squared hinge. **Every** such a
bounds the SVM's objective from below (`LabelQP.lower`), and w = sum a y z minimises it at the best a.

The method is that of Goldfarb & Idnani (Mathematical Programming 27, 1983) with upper bounds: the samples in F have a
margin of exactly 1 (less D a), all others have a at a bound. The sample that violates its condition most is moved,
those in F follow so that their margins stay, and whoever meets a bound leaves F. The dual objective rises with every
step, F stays linearly independent, whatever the rank of Z and whatever copies there are, and a solution is a start for
every problem with more labels: what branching needs.

**Large weights.** Where C |z|^2 is 1e12 a margin that is short by one rounding costs the hinge more than the tolerance
of any proof. Therefore w is carried along and refined against the margins, not summed from a, whose terms may be 1e12
times larger; and `LabelQP.primal` raises the margins of samples with the hinge above 1 by a few roundings, so that
their loss is exactly zero.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from specmargin.objectives.s3vm_relaxation import S3VMRelaxation
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["PIVOTED", "LabelPoint", "LabelQP"]

PIVOTED = 300
"""Samples with labels up to which this method is the one to take."""
_EPS = float(np.finfo(float).eps)
_PIVOTS, _FEW_PIVOTS = 50, 5
"""Steps per sample after which the search gives up: of what is proved by it, and of what others solve as well."""
_REFINED = 4
_SCALED = 1e-12
"""Relative gap at which weights are as good as they get."""
_GRAM = 2000
"""Samples up to which all inner products are kept."""


@dataclass(frozen=True, eq=False)
class LabelPoint:
    """A solution: labels (0 unknown), multipliers, who is in F, the weights, and whether the method came to its end.

    The weights are right to rounding; where J is to be small, too, take those of `LabelQP.primal`.
    """

    y: FloatArray
    a: FloatArray
    F: IntArray
    w: FloatArray
    ended: bool = True


class LabelQP:
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
        self.Z, self.b = space.Z, relaxation.offset
        self.kept = self.Z @ self.Z.T if n <= _GRAM else None
        """Inner products of all samples, where they are few."""
        self.c = np.full(n, obj.C_star)
        self.hinge = np.full(n, getattr(relaxation.minorant.branch, "box_dual", False))
        self.c[labels.labeled] = obj.costs
        self.hinge[labels.labeled] = getattr(obj.loss, "box_dual", False)
        self.upper = np.where(self.hinge, self.c, np.inf)
        self.D = np.zeros(n)
        soft = ~self.hinge & (self.c > 0)
        self.D[soft] = 0.5 / self.c[soft]
        self.known = np.zeros(n)
        self.known[labels.labeled] = labels.sign
        self.unlabeled = obj.unlabeled
        self.need = np.ones(n)
        """Margins below which a sample is charged."""
        self.patience = _PIVOTS
        """Steps per sample after which a search gives up."""
        self.lengths, self.skew = space.lengths, space.skew
        roundings = (n + self.Z.shape[1] + 20) * _EPS
        self.error = roundings * space.lengths + space.errors
        """Error of a decision, and of a sample's part of w, relative to |w| and to a."""

    def labels(self, signs: FloatArray) -> FloatArray:
        """Return the labels of all samples, (n,), of those of the unlabelled ones."""
        y = self.known.copy()
        y[self.unlabeled] = signs
        return np.where(self.c > 0, y, 0.0)

    def gram(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return inner products of samples."""
        if self.kept is not None:
            return np.asarray(self.kept[np.ix_(rows, columns)])
        return np.asarray(self.Z[rows] @ self.Z[columns].T)

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

    def pieces(self, rows: IntArray, hinge: BoolArray, need: FloatArray, c: FloatArray) -> LabelQP:
        """Return the SVM whose samples are those rows, any of them repeatedly, with such losses."""
        new = copy(self)
        new.Z, new.lengths = self.Z[rows], self.lengths[rows]
        new.error = (1.0 + len(rows) / len(self.Z)) * self.error[rows]
        new.kept = None if self.kept is None else self.kept[np.ix_(rows, rows)]
        new.hinge, new.need, new.c = hinge, need, c
        new.upper, new.D = np.where(hinge, c, np.inf), np.where(hinge, 0.0, 0.5 / c)
        return new

    @classmethod
    def of_hinges(cls, Z: FloatArray, b: float, need: FloatArray, c: FloatArray) -> LabelQP:
        """Return the SVM of the hinges c max(0, need - y (Z w + b)), one a row; for `solve` alone."""
        new = cls.__new__(cls)
        new.Z, new.b, new.kept = Z, b, Z @ Z.T if len(Z) <= _GRAM else None
        new.c, new.need, new.hinge = c, need, np.ones(len(Z), dtype=bool)
        new.upper, new.D = c, np.zeros(len(Z))
        new.patience = _FEW_PIVOTS
        new.lengths, new.skew = np.asarray(np.linalg.norm(Z, axis=1)), 0.0
        new.error = (len(Z) + Z.shape[1] + 20) * _EPS * new.lengths
        return new

    def replace_rows(self, Z: FloatArray) -> None:
        """Take other rows: the same SVM in another metric, whose `lower` is no bound."""
        self.Z, self.kept, self.lengths = Z, Z @ Z.T, np.asarray(np.linalg.norm(Z, axis=1))

    def solve(self, y: FloatArray, warm: LabelPoint | None = None) -> LabelPoint:
        """Return the solution for labels y of all samples, 0 where unknown; `warm` is that of other labels."""
        return _ActiveSet(self, y, warm).run()

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
        return [w, scaled, _ActiveSet(self, y, point, aim).run().w]


class _ActiveSet:
    """Active-set method for one labelling y: the multipliers a, the samples F that are free, and the weights w."""

    def __init__(self, qp: LabelQP, y: FloatArray, warm: LabelPoint | None, aim: float = 0.0) -> None:
        self.qp, self.y, self.used = qp, y, y != 0
        self.need = qp.need + np.where(qp.hinge, aim, 0.0)
        self.aim = aim
        self.a = np.zeros(len(y))
        self.F: IntArray = np.zeros(0, dtype=np.intp)
        self.w = np.zeros(qp.Z.shape[1])
        self.pivots = 0
        if warm is not None:
            self._restart(warm)

    def _restart(self, warm: LabelPoint) -> None:
        """Start at the active set of the solution for other labels."""
        same = warm.y == self.y
        if same[warm.y != 0].all():
            self.a, self.F, self.w = warm.a.copy(), warm.F, warm.w
            return
        high = same & (warm.a == self.qp.upper) & self.used
        self.F = warm.F[same[warm.F]]
        while True:
            self.a[:] = 0.0
            self.a[high] = self.qp.upper[high]
            self.w = (self.y * self.a) @ self.qp.Z
            if not len(self.F):
                return
            step = self._solved(-self._margins()[self.F])
            if step is None:
                self.F = self.F[:0]
                continue
            low, above = step <= 0.0, step >= self.qp.upper[self.F]
            if not (low | above).any():
                self._move(self.F, step)
                return
            high[self.F[above]] = True
            self.F = self.F[~(low | above)]

    def _margins(self) -> FloatArray:
        """Return by how much the margins, D a included, exceed what is aimed at, (n,)."""
        qp = self.qp
        return self.y * (qp.Z @ self.w + qp.b) + qp.D * self.a - self.need

    def _system(self, rows: IntArray, columns: IntArray) -> FloatArray:
        return self.qp.gram(rows, columns) * np.multiply.outer(self.y[rows], self.y[columns])

    def _solved(self, right: FloatArray) -> FloatArray | None:
        """Return H_FF^-1 times a right-hand side, None where H_FF is singular to rounding."""
        H = self._system(self.F, self.F)
        H.ravel()[:: len(H) + 1] += self.qp.D[self.F]
        _, x, failed = lapack.dposv(H, right, lower=1)
        return None if failed else np.asarray(x)

    def _move(self, rows: IntArray, step: FloatArray) -> None:
        self.a[rows] += step
        self.w = self.w + (self.y[rows] * step) @ self.qp.Z[rows]

    def run(self) -> LabelPoint:
        """Change the active set, sample by sample, until no optimality condition is violated."""
        most = self.qp.patience * (int(self.used.sum()) + 1)
        ended = False
        for _ in range(most):
            self._refine()
            p = self._worst()
            if p < 0:
                ended = True
                break
            if not self._solve_condition(p) or self.pivots > most:
                break
        return LabelPoint(self.y, self.a, self.F, self.w, ended)

    def _refine(self) -> None:
        """Refine the equations of the free samples down to rounding; w is corrected, not recomputed."""
        if not len(self.F):
            return
        missed = np.inf
        for _ in range(_REFINED):
            residual = self._margins()[self.F]
            worst = float(np.abs(residual).max())
            if worst <= 4.0 * _EPS or worst > 0.5 * missed:
                return
            missed = worst
            step = self._solved(-residual)
            if step is None:
                return
            # Added to multipliers of 1e12 the step drowns; w is to feel it all the same.
            after = self.a[self.F] + step
            self._move(self.F, np.where((after > 0.0) & (after < self.qp.upper[self.F]), step, 0.0))

    def _worst(self) -> int:
        """Return the sample that violates its condition most, -1 if none does."""
        qp = self.qp
        margins = self._margins()
        short = np.where(self.used & (self.a == 0.0), -margins, -np.inf)
        beyond = np.where(self.used & (self.a > 0.0) & (self.a == qp.upper), margins, -np.inf)
        noise = 4.0 * qp.error * float(np.linalg.norm(self.w)) + 8.0 * _EPS
        violation = np.maximum(short, beyond) - np.maximum(noise, 0.5 * self.aim)
        violation[self.F] = -np.inf
        p = int(np.argmax(violation))
        return p if violation[p] > 0 else -1

    def _solve_condition(self, p: int) -> bool:
        """Move the multiplier of p until its condition holds; False where the arithmetic fails."""
        qp, up = self.qp, bool(self.a[p] == 0.0)
        sign = 1.0 if up else -1.0
        while True:
            self.pivots += 1
            column = self._system(self.F, np.array([p]))[:, 0]
            along = self._solved(column) if len(self.F) else column
            if along is None:
                return False
            own = float(qp.lengths[p] ** 2) + float(qp.D[p])
            noise = 64.0 * _EPS * (own + float(np.abs(along) @ np.abs(column)))
            curvature = max(own - float(column @ along), float(qp.D[p]))
            rows = np.append(self.F, p)
            step = sign * np.append(-along, 1.0)
            residual = float(self._margins()[p])
            full = -sign * residual / curvature if curvature > min(noise, 0.5 * own) or qp.D[p] > 0 else np.inf
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(step > 0, (qp.upper[rows] - self.a[rows]) / step, -self.a[rows] / step)
            room[step == 0] = np.inf
            k = int(np.argmin(room))
            length = min(max(full, 0.0), float(room[k]))
            if not np.isfinite(length) or self.pivots > qp.patience * (len(self.y) + 1):
                return False
            self._move(rows, length * step)
            if full <= room[k]:
                self.F = rows
                return True
            self.a[rows[k]] = qp.upper[rows[k]] if step[k] > 0 else 0.0
            if rows[k] == p:
                return True
            self.F = np.delete(self.F, k)
