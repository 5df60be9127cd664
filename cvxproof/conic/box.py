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
from cvxproof.typing import AnyArray, FloatArray

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
    return _Propagation(program, _level(program, level, xh), start, slacks, 1e-300).run(passes)


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
        self, program: ConeProgram, level: _Level | None, start: Box | None, slacks: FloatArray | None, least: float
    ) -> None:
        self.program, self.level, self.b = program, level, program.b
        self.m, self.n = program.A.shape
        self.i, self.j, self.a = program.entries
        self.modulus = np.abs(self.a)
        self.starts = np.flatnonzero(np.diff(self.j, prepend=-1))
        self.full = self.j[self.starts]
        box = Box(*program.paired_ends) if start is None else start
        self.low, self.high = box.low.copy(), box.high.copy()
        self.least = np.full(self.m, -np.inf)
        self.most = np.full(self.m, np.inf) if slacks is None else slacks.copy()
        self.counts = np.bincount(self.i, minlength=self.m)
        self.chain = program.ordered_pairs
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
            finite = Box(self.low, self.high).n_ends
            now = finite, float(np.log1p(width[np.isfinite(width)]).sum())
            if before is not None and finite == before[0]:
                gained = now[1] / before[1] if before[1] > 0 else 1.0
                if gained > 0.99:
                    break
            before = now
        return Box(self.low, self.high)

    def _rows(self) -> None:
        """Tighten slacks by columns, then columns by slacks: a x in the first row of an array, -a x in the second."""
        i, j, is_positive = self.i, self.j, self.a > 0
        ends = np.take([self.low, -self.high], j, axis=1)
        terms = self.modulus * np.where(is_positive, ends, ends[::-1])
        is_finite = np.isfinite(terms)
        kept, b = np.where(is_finite, terms, 0.0), np.array([self.b, -self.b])
        sums, n_open = self._sums(kept), self._sums(~is_finite)
        pad = (self.counts + 8) * 2 * UNIT * (self._sums(np.abs(kept)) + np.abs(b))
        most = np.where(n_open == 0, pad - sums, np.inf)
        self.most, self.least = np.minimum(self.most, self.b + most[0]), np.maximum(self.least, self.b - most[1])
        others = np.where(
            n_open.take(i, axis=1) == ~is_finite, sums.take(i, axis=1) - kept, -np.inf
        )  # without the term itself
        slacks = np.array([-self.least, self.most])
        rest = b + slacks + pad + 4 * UNIT * np.where(np.isfinite(slacks), np.abs(slacks), 0.0)
        with np.errstate(invalid="ignore"):
            room = rest.take(i, axis=1) - others
            room = np.where(is_positive, room, room[::-1]) / self.modulus
            room += 4 * UNIT * np.abs(room)
        if len(j):
            ends = np.minimum.reduceat(np.where(np.isfinite(room), room, np.inf), self.starts, axis=1)
            self.high[self.full] = np.minimum(self.high[self.full], ends[0])
            self.low[self.full] = np.maximum(self.low[self.full], -ends[1])

    def _sums(self, terms: AnyArray) -> FloatArray:
        """Return the sums over every row of both rows of an array of terms."""
        return np.array([np.bincount(self.i, one, self.m) for one in terms], dtype=float)

    def _chains(self) -> None:
        """Hand bounds on along a x_j <= c x_k + b, so that an order of many columns does not take a pass for each."""
        j, k, a, c, rows = self.chain
        if not len(j):
            return
        known, b = Box(self.low, self.high).n_ends, self.b[rows]
        for _ in range(_STEPS):
            np.minimum.at(self.high, j, _outward(c * self.high[k], b, a))
            np.maximum.at(self.low, k, -_outward(-a * self.low[j], b, c))
            before, known = known, Box(self.low, self.high).n_ends
            if known == before:
                break

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
