r"""Boxes of x, the decisions plus slacks, that hold every point of an S3VM better than a level.

For a quadratic below J (`Quadratic`) and labels s that are known, any a >= 0 with p = e_j + s o a proves

    x_j <= p'c - 1'a + sqrt(2 (t - kappa) p'Qp)      where J(x) <= t,

and likewise for -x_j. A good a minimises the right-hand side: with p'Qp / 2 tau + (t - kappa) tau for the root, whose
best tau is sqrt(p'Qp / 2 (t - kappa)), every step is a nonnegative quadratic program. A side of the box that leaves
only one sign of x_j fixes the label. An empty box says that no point is better than the level: it is a proof by itself.

Points that are not better may be outside. A bound over a box that was cut at the level t therefore proves no more than
J >= min(bound, t) for the labels that the box is of: the box remembers the lowest t.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from specmargin.optima.boxes.margin_space import Quadratic
from specmargin.optima.boxes.pivoting import nonnegative_qp
from specmargin.typing import FloatArray, IntArray

__all__ = ["MarginBox", "Row"]

Row = tuple[int, IntArray, FloatArray]
"""A bound by multipliers of known labels: j + 1 of the high side, -(j + 1) of the low side of x_j, 0 of J itself; the
samples that have a multiplier, and these."""

_EPS = float(np.finfo(float).eps)
_STEPS = 8
_GAIN = 1e-3
"""Share of a bound that another step must gain."""


@dataclass(eq=False)
class MarginBox:
    """Lower and upper bounds of x, (n,) each, the labels that they fix, and the level below which they hold all points.

    Parameters
    ----------
    low, high : ndarray of shape (n,)
    level : float, default inf
        The lowest level that the box was cut at: points of its part of the tree are outside only if J >= level there.
    """

    low: FloatArray
    high: FloatArray
    level: float = np.inf

    @classmethod
    def of(cls, y: FloatArray, level: float = np.inf) -> MarginBox:
        """Return the box of known labels, 0 where unknown."""
        return cls(np.where(y > 0, 1.0, -np.inf), np.where(y < 0, -1.0, np.inf), level)

    @property
    def labels(self) -> FloatArray:
        """+1 or -1 where only that sign is left, else 0."""
        return np.where(self.low >= 1.0, 1.0, np.where(self.high <= -1.0, -1.0, 0.0))

    def with_label(self, j: int, sign: float) -> MarginBox:
        """Return the part of the box where sample j has that label."""
        box = MarginBox(self.low.copy(), self.high.copy(), self.level)
        if sign > 0:
            box.low[j] = max(box.low[j], 1.0)
        else:
            box.high[j] = min(box.high[j], -1.0)
        return box

    def decide(self, labels: FloatArray) -> None:
        """Take labels of samples that have none yet, (n,), 0 where open."""
        self.low = np.where(labels > 0, np.maximum(self.low, 1.0), self.low)
        self.high = np.where(labels < 0, np.minimum(self.high, -1.0), self.high)

    def meet(self, low: FloatArray, high: FloatArray, level: float) -> bool:
        """Cut the box by one that holds where J <= level, and by |x| >= 1; False where nothing is left."""
        self.level = min(self.level, level)
        self.low, self.high = np.maximum(self.low, low), np.minimum(self.high, high)
        self.low[(self.low > -1.0) & (self.low < 1.0)] = 1.0
        self.high[(self.high < 1.0) & (self.high > -1.0)] = -1.0
        return bool((self.low <= self.high).all())

    def tighten(
        self,
        below: Quadratic,
        level: float,
        *,
        rounds: int = 3,
        deadline: float = np.inf,
        told: Callable[[MarginBox, MarginBox, list[Row]], None] | None = None,
    ) -> bool:
        """Cut the box by what `below` proves where J <= level, again while that fixes labels; False where it is empty.

        Parameters
        ----------
        below : Quadratic
            A minorant of J at all points of the box.
        level : float
            Points above it do not matter.
        rounds : int, default 3
            Passes over the samples.
        deadline : float, default inf
            Time of `time.perf_counter` after which the box is left as it is.
        told : callable, optional
            Called with the box before a pass and after it, and the rows that have moved its sides.
        """
        for _ in range(rounds):
            labels, before, rows = self.labels, MarginBox(self.low, self.high), list[Row]()
            inside = self._cut(below, level, _Sides(below, labels, level), rows, deadline)
            if told is not None:
                told(before, self, rows)
            if not inside:
                return False
            if (self.labels == labels).all():
                break
        return True

    def _cut(self, below: Quadratic, level: float, sides: _Sides, rows: list[Row], deadline: float) -> bool:
        """Cut the box once, and add the rows that did it; False where it is empty."""
        if not self.meet(*below.box(level), level):
            return False
        if sides.lower > level:
            rows.append(sides.row(0, sides.multipliers))
            return False
        for j in range(len(self.low)):
            if time.perf_counter() > deadline:
                break
            for side, end in ((1.0, self.high), (-1.0, self.low)):
                if sides.labels[j] * side < 0:
                    continue
                bound, a = sides.bound(j, side, side * float(end[j]))
                if bound < side * end[j]:
                    end[j] = side * bound
                    rows.append(sides.row(int(side) * (j + 1), a))
        return self.meet(self.low, self.high, level)


class _Sides:
    """Bounds of s x_j for one quadratic, with the labels that are known."""

    def __init__(self, below: Quadratic, labels: FloatArray, level: float) -> None:
        self.below, self.level, self.labels, self.rows = below, level, labels, np.flatnonzero(labels)
        self.plain = below.reduced()
        self.s = labels[self.rows]
        self.d = 1.0 - self.s * self.plain.c[self.rows]
        self.H = self.plain.Q[np.ix_(self.rows, self.rows)] * np.multiply.outer(self.s, self.s)
        self.multipliers, self.start = nonnegative_qp(self.H, self.d)
        self.p = np.zeros(len(labels))
        self.lower = below.dual_bound(self._combined(0, 0.0, self.multipliers), float(self.multipliers.sum()))
        """Bound of the quadratic itself, by `multipliers`."""
        self.rho = max(level - self.plain.kappa, 0.0)
        self.gap = max(level - self.lower, 1e-12 * abs(level))

    def _combined(self, j: int, side: float, a: FloatArray) -> FloatArray:
        """Return p = side e_j + s o a."""
        p = np.zeros(len(self.p))
        p[self.rows] = self.s * a
        p[j] += side
        return p

    def row(self, side: int, a: FloatArray) -> Row:
        """Return what multipliers of the known labels prove, for a log."""
        used = np.flatnonzero(a)
        return side, self.rows[used], a[used]

    def bound(self, j: int, side: float, end: float) -> tuple[float, FloatArray]:
        """Return an upper bound of side * x_j, inf if not below `end`, and multipliers of the labels that prove it."""
        plain, own = self.plain, float(self.plain.Q[j, j])
        row = side * self.s * plain.Q[j, self.rows]
        if not own > 0 or not self.rho > 0:
            none = np.zeros(len(row))
            return self.below.support(self._combined(j, side, none), self.level), none
        # While the same margins bind, p'Qp is a + b tau^2.
        b, tau = 2.0 * (self.rho - self.gap), float(np.sqrt(own / (2.0 * self.gap)))
        least, best, active, last = np.inf, np.zeros(len(row)), self.start, (0.0, own)
        for _ in range(_STEPS):
            a, active = nonnegative_qp(self.H, tau * self.d - row, active, 60)
            squared = max(own + 2.0 * float(row @ a) + float(a @ (self.H @ a)), 1e-300)
            value = side * float(plain.c[j]) - float(self.d @ a) + float(np.sqrt(2.0 * self.rho * squared))
            gain = least - value
            if value < least:
                least, best = value, a
            if not gain > _GAIN * (1.0 + abs(least)):
                break
            if last[0] and abs(tau - last[0]) > 1e-9 * tau:
                b = (squared - last[1]) / (tau**2 - last[0] ** 2)
            last = tau, squared
            a_rest, b_rest = squared - b * tau**2, 2.0 * self.rho - b
            tau = float(np.sqrt(a_rest / b_rest if min(a_rest, b_rest) > 0 else squared / (2.0 * self.rho)))
        if least >= end:
            return np.inf, best
        total = float(best.sum())
        bound = self.below.support(self._combined(j, side, best), self.level) - total
        return bound + (len(best) + 20) * _EPS * (abs(bound) + 2.0 * total), best
