"""Bounds that a program implies: of every feasible x whose objective is at most a level.

Intervals go to and fro between columns and slacks, x_j = (b_i - s_i - the other terms of row i) / a_ij, through the
cones and through the level; every end is widened by more than its rounding. A feasible x above the level needs no
bound, since the optimum is at least the smaller of the level and of what is proved below it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cvxproof.conic.outward import Box, Outward
from cvxproof.conic.program import ConeProgram
from cvxproof.rounding import UNIT
from cvxproof.typing import FloatArray, IntArray

__all__ = ["implied_box", "propagated", "tightened_box", "written_box"]

_PASSES = 25
_STEPS = 1000
"""Steps along a chain of inequalities in two columns in one pass; a verifier takes one a pass."""
_TINY = 1e-290


class _Level(NamedTuple):
    """g'x + curvature'x^2 / 2 <= limit for all x that are looked at."""

    g: FloatArray
    curvature: FloatArray
    limit: float


def implied_box(
    program: ConeProgram,
    level: float,
    xh: FloatArray,
    start: Box | None = None,
    slacks: FloatArray | None = None,
    passes: int = _PASSES,
) -> Box:
    """Return bounds of every feasible x of objective `level` or less.

    Parameters
    ----------
    program : ConeProgram
        The program.
    level : float
        Objective above which nothing needs bounds; infinite for none.
    xh : ndarray of shape (n,)
        Point at whose tangent a quadratic objective is looked at.
    start : Box, optional
        Bounds that are known.
    slacks : ndarray of shape (m,), optional
        Upper bounds of the slacks that are known.
    passes : int
        How often all rows are gone through, at most.

    Returns
    -------
    Box
        Infinite where nothing is implied.
    """
    return _Propagation(program, _level(program, level, xh), start, slacks).run(passes)


def written_box(program: ConeProgram) -> Box:
    """Return the bounds of columns that are rows of the program."""
    low, high = np.full(len(program.q), -np.inf), np.full(len(program.q), np.inf)
    for (rows, columns, entries), ends, nearest in zip(
        program.bounds, (low, high), (np.maximum, np.minimum), strict=True
    ):
        end = program.b[rows] / entries
        outward = 4 * UNIT * np.abs(end) + _TINY
        nearest.at(ends, columns, end - outward if ends is low else end + outward)
    return Box(low, high)


def propagated(program: ConeProgram, b: FloatArray, least: float) -> tuple[Box, float]:
    """Return bounds of every x in the cones, and how far a lower one is above an upper one, relative to both.

    The right sides are b, whatever those of the program are, and distances are relative to `least` at least.
    """
    open_ends = np.full(program.A.shape[1], np.inf)
    propagation = _Propagation(program, None, Box(-open_ends, open_ends), None, least)
    propagation.b = b
    return propagation.run(), propagation.crossing


def _level(program: ConeProgram, level: float, xh: FloatArray) -> _Level | None:
    if not math.isfinite(level) or program.convexity[0]:
        return None
    P, q, limit = program.P, program.q, level - program.d
    if program.is_separable:
        return _Level(q, P.diagonal(), limit)
    size = float(np.abs(xh) @ (program.size_P @ np.abs(xh)))
    tangent = 0.5 * float(xh @ (P @ xh)) + 1e-12 * (1 + size)
    return _Level(P @ xh + q, np.zeros(len(q)), limit + tangent)


class _Propagation:
    """Bounds of columns and slacks, tightened in turns."""

    def __init__(
        self,
        program: ConeProgram,
        level: _Level | None,
        start: Box | None,
        slacks: FloatArray | None,
        least: float = 1e-300,
    ) -> None:
        self.program, self.level, self.b = program, level, program.b
        self.m, self.n = program.A.shape
        self.i, self.j, self.a = program.entries
        self.starts = np.flatnonzero(np.diff(self.j, prepend=-1))
        self.full = self.j[self.starts]
        box = _from_pairs(program) if start is None else start
        self.low, self.high = box.low.copy(), box.high.copy()
        self.least = np.full(self.m, -np.inf)
        self.most = np.full(self.m, np.inf) if slacks is None else slacks.copy()
        self.counts = np.bincount(self.i, minlength=self.m)
        self.chain = _ordered_pairs(program)
        self.crossing, self.smallest = 0.0, least

    def run(self, passes: int = _PASSES) -> Box:
        before: tuple[int, float] | None = None
        for _ in range(passes):
            for cone in self.program.parts:
                cone.tighten(self.least, self.most)
            self._rows()
            self._chains()
            if self.level is not None:
                self._objective(self.level)
            crossed = self.low > self.high  # by rounding, or no x below the level is feasible: claim nothing
            low, high = self.low[crossed], self.high[crossed]
            size = np.maximum(np.maximum(np.abs(low), np.abs(high)), self.smallest)
            self.crossing = max(self.crossing, float(((low - high) / size).max(initial=0.0)))
            self.low[crossed], self.high[crossed] = -np.inf, np.inf
            width = self.high - self.low
            finite = self._n_ends
            now = finite, float(np.log1p(width[np.isfinite(width)]).sum())
            if before is not None and finite == before[0]:
                gained = now[1] / before[1] if before[1] > 0 else 1.0
                if gained > 0.99:
                    break
            before = now
        return Box(self.low, self.high)

    @property
    def _n_ends(self) -> int:
        return Box(self.low, self.high).n_ends

    def _rows(self) -> None:
        """Tighten slacks by columns, then columns by slacks."""
        i, j, a, b = self.i, self.j, self.a, self.b
        positive = a > 0
        with np.errstate(invalid="ignore"):
            small = np.where(positive, a * self.low[j], a * self.high[j])
            large = np.where(positive, a * self.high[j], a * self.low[j])
        small_sum, small_open, small_pad = self._sums(small)
        large_sum, large_open, large_pad = self._sums(large)
        self.most = np.where(small_open == 0, np.minimum(self.most, b - small_sum + small_pad), self.most)
        self.least = np.where(large_open == 0, np.maximum(self.least, b - large_sum - large_pad), self.least)
        # Without the term itself.
        others_small = _without(small, small_sum[i], small_open[i], -np.inf)
        others_large = _without(large, large_sum[i], large_open[i], np.inf)
        least, most = self.least[i], self.most[i]
        with np.errstate(invalid="ignore", divide="ignore"):
            top = b[i] - least - others_small + small_pad[i] + 4 * UNIT * _size(least)
            bottom = b[i] - most - others_large - large_pad[i] - 4 * UNIT * _size(most)
            upper, lower = np.where(positive, top / a, bottom / a), np.where(positive, bottom / a, top / a)
            upper, lower = upper + 4 * UNIT * np.abs(upper), lower - 4 * UNIT * np.abs(lower)
        if len(a):
            ends = np.minimum.reduceat(np.where(np.isfinite(upper), upper, np.inf), self.starts)
            self.high[self.full] = np.minimum(self.high[self.full], ends)
            ends = np.maximum.reduceat(np.where(np.isfinite(lower), lower, -np.inf), self.starts)
            self.low[self.full] = np.maximum(self.low[self.full], ends)

    def _chains(self) -> None:
        """Hand bounds on along a x_j <= c x_k + b, so that an order of many columns does not take a pass for each."""
        j, k, a, c, rows = self.chain
        if not len(j):
            return
        known, b = self._n_ends, self.b[rows]
        for _ in range(_STEPS):
            np.minimum.at(self.high, j, _outward(c * self.high[k], b, a))
            np.maximum.at(self.low, k, -_outward(-a * self.low[j], b, c))
            before, known = known, self._n_ends
            if known == before:
                break

    def _sums(self, terms: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return the sums of the finite terms of each row, how many are not, and what rounding may have done."""
        finite = np.isfinite(terms)
        kept = np.where(finite, terms, 0.0)
        sums = np.bincount(self.i, kept, self.m)
        size = np.bincount(self.i, np.abs(kept), self.m) + np.abs(self.b)
        n_open = np.bincount(self.i, ~finite, self.m).astype(np.intp)
        return sums.astype(float), n_open, np.asarray((self.counts + 8) * 2 * UNIT * size, dtype=float)

    def _objective(self, level: _Level) -> None:
        """Tighten every column by the level and the least values of the others."""
        g, p, limit = level
        with np.errstate(all="ignore"):
            straight = np.where(g > 0, g * self.low, np.where(g < 0, g * self.high, 0.0))
            least = np.where(p > 0, -g * g / (2 * p), straight)
            finite = np.isfinite(least)
            size = float(np.abs(least[finite]).sum()) + abs(limit)
            pad = (self.n + 20) * 4 * UNIT * size + _TINY
            room = limit - least[finite].sum() + np.where(finite, least, 0.0) + pad
            room = np.where((~finite).sum() - ~finite == 0, room, np.inf)
            centre = -g / p
            half = np.sqrt(np.maximum(2 * (room + g * g / (2 * p)) / p, 0.0)) * (1 + 1e-12) + 1e-12 * np.abs(centre)
            edge = room / g
            edge_pad = 4 * UNIT * np.abs(edge)
            upper = np.where(p > 0, centre + half, np.where(g > 0, edge + edge_pad, np.inf))
            lower = np.where(p > 0, centre - half, np.where(g < 0, edge - edge_pad, -np.inf))
        self.high, self.low = np.fmin(self.high, upper), np.fmax(self.low, lower)


def _outward(term: FloatArray, b: FloatArray, a: FloatArray) -> FloatArray:
    """Return (term + b) / a, rounded up."""
    with np.errstate(invalid="ignore"):
        end = (term + b) / a + 8 * UNIT * ((np.abs(term) + np.abs(b)) / a) + _TINY
    return np.where(np.isfinite(end), end, np.inf)


def _ordered_pairs(program: ConeProgram) -> tuple[IntArray, IntArray, FloatArray, FloatArray, IntArray]:
    """Return j, k, a, c and the rows of the inequalities a x_j <= c x_k + b with a, c > 0."""
    rows, place = program.inequalities
    starts = rows.indptr[:-1]
    two = np.flatnonzero(np.diff(rows.indptr) == 2)
    first, second = starts[two], starts[two] + 1
    apart = rows.data[first] * rows.data[second] < 0
    two, first, second = two[apart], first[apart], second[apart]
    rising = rows.data[first] > 0
    up, down = np.where(rising, first, second), np.where(rising, second, first)
    return rows.indices[up], rows.indices[down], rows.data[up], -rows.data[down], place[two]


def _without(terms: FloatArray, sums: FloatArray, n_open: IntArray, empty: float) -> FloatArray:
    """Return the sums of the other terms, `empty` where one of these is not finite."""
    finite = np.isfinite(terms)
    return np.where(n_open - ~finite == 0, sums - np.where(finite, terms, 0.0), empty)


def _size(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), np.abs(values), 0.0)


def _from_pairs(program: ConeProgram) -> Box:
    """Return bounds by two inequalities whose sum has one column: t >= u and t >= -u, which CVXPY writes for |u|."""
    n = program.A.shape[1]
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    rows, place = program.inequalities
    columns, length = rows.tocsc(), np.diff(rows.indptr)
    starts, counts = columns.indptr[:-1], np.diff(columns.indptr)
    for t, k in ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)):
        at = starts[(counts > t) & (counts <= 4)]
        first, second, value = columns.indices[at + t], columns.indices[at + k], columns.data[at + t]
        like = (value == columns.data[at + k]) & (length[first] == length[second])
        if not like.any():
            continue
        first, second = first[like], second[like]
        whole = rows[first] + rows[second]
        whole.eliminate_zeros()
        single = np.flatnonzero(np.diff(whole.indptr) == 1)
        j, a = whole.indices[whole.indptr[single]], whole.data[whole.indptr[single]]
        one, two = program.b[place[first[single]]], program.b[place[second[single]]]
        end, pad = (one + two) / a, 8 * UNIT * (np.abs(one) + np.abs(two)) / np.abs(a)
        np.minimum.at(high, j[a > 0], (end + pad)[a > 0])
        np.maximum.at(low, j[a < 0], (end - pad)[a < 0])
    return Box(low, high)


def tightened_box(
    outward: Outward, level: float, x: FloatArray, xh: FloatArray, z: FloatArray, box: Box, proved: float
) -> Box:
    """Return bounds by complementarity and strong convexity.

    Once a bound `proved` holds, z's <= level - proved for the slacks of every feasible x below the level. Where
    P >= k diag(P), the distance of these x from xh is bounded, too.
    """
    program = outward.program
    limits = np.full(len(program.b), np.inf)
    if math.isfinite(proved):
        room = max(level - proved, 0.0) * (1 + 1e-9)
        for cone in program.parts:
            cone.slack_limits(z[cone.rows], room, limits)
    near = _near(outward, level, x, xh, z, box)
    start = Box(np.maximum(box.low, near.low), np.minimum(box.high, near.high))
    smaller = implied_box(program, level, x, start, limits)
    return Box(np.maximum(box.low, smaller.low), np.minimum(box.high, smaller.high))


def _near(outward: Outward, level: float, x: FloatArray, xh: FloatArray, z: FloatArray, box: Box) -> Box:
    """Return bounds by the curvature of the objective.

    With y = x' - xh, f(x') >= -b'z - xh'P xh / 2 + d + r'x' + k |y|_D^2 / 2, D the diagonal of P: columns without
    curvature need a residual of zero or a box.
    """
    program = outward.program
    strength, diagonal = program.convexity[1], program.P.diagonal()
    open_box = Box(np.full(len(x), -np.inf), np.full(len(x), np.inf))
    curved = diagonal > 0
    if not strength or not curved.any():
        return open_box
    least, residual = outward.at_point(xh, z, x)
    modulus, cost = residual.modulus, box.cost(residual, x)[~curved]
    if not np.isfinite(cost).all():
        return open_box
    room = level - least + float((modulus * np.abs(xh - x))[curved].sum()) + float(cost.sum())
    room += 1e-9 * float(np.abs(cost).sum())
    slope = float(np.sqrt((modulus[curved] ** 2 / diagonal[curved]).sum()))
    radius = (slope + math.sqrt(slope**2 + 2 * strength * max(room, 0.0))) / strength * (1 + 1e-9)
    width = np.where(curved, radius / np.sqrt(np.where(curved, diagonal, 1.0)), np.inf) * (1 + 1e-9)
    return Box(xh - width - 4 * UNIT * np.abs(xh), xh + width + 4 * UNIT * np.abs(xh))
