r"""The convex SVM of an S3VM with given labels, solved exactly: an active-set method for its dual.

With labels y of some samples, hinge or squared hinge each, and the row space Z of the features,

    max_a  sum_i a_i (1 - y_i b) - 1/2 |sum_i a_i y_i z_i|^2 - 1/2 sum_i D_i a_i^2,      0 <= a_i <= u_i,

with D = 0 and u = c for the hinge of weight c, D = 1 / (2c) and no upper bound for the squared hinge. Every such a
bounds the SVM's objective from below, and w = sum a y z minimises it at the best a.

The method is that of Goldfarb & Idnani (Mathematical Programming 27, 1983) with upper bounds: the samples in F have a
margin of exactly 1 (less D a), all others have a at a bound. The sample that violates its condition most is moved,
those in F follow so that their margins stay, and whoever meets a bound leaves F. The dual objective rises with every
step, F stays linearly independent, whatever the rank of Z and whatever copies there are, and a solution is a start for
every problem with more labels: what branching needs.

**Large weights.** Where C |z|^2 is 1e12 a margin that is short by one rounding costs the hinge more than the tolerance
of any proof. Therefore w is carried along and refined against the margins, not summed from a, whose terms may be 1e12
times larger.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["PIVOTED", "LabelPoint", "LabelQP"]

PIVOTED = 300
"""Samples with labels up to which this method is the one to take."""
_EPS = float(np.finfo(float).eps)
_FEW_PIVOTS = 5
"""Steps per sample after which the search gives up, where others solve the problem as well."""
_REFINED = 4
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
    """The SVMs with labels y of some samples and hinges c max(0, need - y (Z w + b)), or squared ones.

    Parameters
    ----------
    Z : ndarray of shape (n, rank)
        Rows of the samples.
    b : float
        Offset of their decisions.
    need : ndarray of shape (n,)
        Margins below which a sample is charged.
    c : ndarray of shape (n,)
        Weights of the losses.
    hinge : ndarray of bool, (n,)
        Whether a sample has the hinge; else the squared hinge.
    patience : int, default 5
        Steps per sample after which the search gives up.
    """

    def __init__(
        self, Z: FloatArray, b: float, need: FloatArray, c: FloatArray, hinge: BoolArray, patience: int = _FEW_PIVOTS
    ) -> None:
        self.Z, self.b, self.need, self.c, self.hinge, self.patience = Z, b, need, c, hinge, patience
        self.kept = Z @ Z.T if len(Z) <= _GRAM else None
        """Inner products of all samples, where they are few."""
        self.upper, self.D = np.where(hinge, c, np.inf), np.zeros(len(Z))
        soft = ~hinge & (c > 0)
        self.D[soft] = 0.5 / c[soft]
        self.lengths = np.asarray(np.linalg.norm(Z, axis=1))
        self.error = (len(Z) + Z.shape[1] + 20) * _EPS * self.lengths
        """Error of a decision, and of a sample's part of w, relative to |w| and to a."""

    def gram(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return inner products of samples."""
        if self.kept is not None:
            return np.asarray(self.kept[np.ix_(rows, columns)])
        return np.asarray(self.Z[rows] @ self.Z[columns].T)

    def solve(self, y: FloatArray, warm: LabelPoint | None = None, aim: float = 0.0) -> LabelPoint:
        """Return the solution for labels y of all samples, 0 where unknown; `warm` is that of other labels.

        Hinges are to exceed their margins by `aim`.
        """
        return _ActiveSet(self, y, warm, aim).run()


class _ActiveSet:
    """Active-set method for one labelling y: the multipliers a, the samples F that are free, and the weights w."""

    def __init__(self, qp: LabelQP, y: FloatArray, warm: LabelPoint | None, aim: float) -> None:
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
