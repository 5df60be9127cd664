"""The bound of weak duality with all that rounding can do to it.

For every z in the dual cone and every xh, a feasible x has

    f(x) >= -b'z - xh'P xh / 2 + d + r'x,    r = P xh + q + A'z,

so that a wrong z gives a weak bound, never a wrong one. Sums run in long double: a sum of k products errs by at most
(k + 4) w times the sum of their moduli, w the unit of long double. It does not err where all products are multiples of
one power of two, and their sum is less than 1 / w of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from cvxproof.conic.program import ConeProgram
from cvxproof.rounding import EXTENDED_UNIT, UNIT
from cvxproof.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix

__all__ = ["Bound", "Box", "Outward"]


class Box(NamedTuple):
    """Bounds low <= x <= high of every feasible x below a level, infinite where none is known; or of residuals."""

    low: FloatArray
    high: FloatArray

    @property
    def modulus(self) -> FloatArray:
        """The largest modulus of each column."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def is_finite(self) -> BoolArray:
        """Columns that have both bounds."""
        return np.isfinite(self.low) & np.isfinite(self.high) & (self.low <= self.high)

    @property
    def n_ends(self) -> int:
        """How many bounds are known."""
        return int(np.isfinite(self.low).sum() + np.isfinite(self.high).sum())

    def cost(self, residual: Box, x0: FloatArray) -> FloatArray:
        """Return the most that r_j (x0_j - x_j) can be in each column, infinite where r_j leads to where no end is."""
        with np.errstate(invalid="ignore"):  # no residual in front of an infinite end
            corners = [np.where(r == 0, 0.0, r * (x0 - x)) for r in residual for x in self]
        cost = np.where((self.low <= self.high) | ~residual.modulus.astype(bool), np.max(corners, axis=0), np.inf)
        return np.asarray(cost + 16 * UNIT * np.abs(cost))

    def within(self, x0: FloatArray, radius: float) -> Box:
        """Return this box, and |x - x0| <= radius (1 + |x0|) for the columns that it leaves open."""
        width = radius * (1 + np.abs(x0))
        known = self.is_finite
        return Box(
            np.where(known, self.low, np.maximum(self.low, x0 - width)),
            np.where(known, self.high, np.minimum(self.high, x0 + width)),
        )


class Bound(NamedTuple):
    """A proved bound of the optimum."""

    value: float
    from_residual: float
    """What r'x has cost."""
    is_unconditional: bool
    """Whether every column with a residual has bounds that the program implies."""
    residual: Box
    """Ends of r, rounded outward."""


def extended(M: Matrix) -> tuple[Callable[[FloatArray], AnyArray], IntArray]:
    """Return x -> M x in long double, and the number of terms of every row."""
    M = sp.csr_matrix(M, copy=True)  # scipy sorts the entries of others in place, which may be those of M
    data, starts, counts = M.data.astype(np.longdouble), M.indptr[:-1], np.diff(M.indptr)

    def product(x: FloatArray) -> AnyArray:
        if not len(data):
            return np.zeros(M.shape[0], dtype=np.longdouble)
        terms = np.append(data * x[M.indices].astype(np.longdouble), np.longdouble(0))
        sums = np.add.reduceat(terms, np.minimum(starts, len(data)))
        sums[counts == 0] = 0
        return sums

    return product, counts


def _last_bit(x: FloatArray) -> FloatArray:
    """Return the exponent of the last bit of floats; infinity for zero, and minus infinity for what is no number."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 0.0))
    whole = (mantissa * 2.0**53).astype(np.int64)
    with np.errstate(divide="ignore"):
        last = exponent - 53 + np.log2((whole & -whole).astype(float))
    return np.where(np.isfinite(x), np.where(x == 0, np.inf, last), -np.inf)


def _bits(M: Matrix) -> tuple[IntArray, IntArray, FloatArray]:
    """Return rows and columns of the entries of a matrix, and the exponents of their last bits."""
    M = sp.coo_matrix(M)
    return M.row, M.col, _last_bit(M.data)


def _fits(size: FloatArray, last: FloatArray) -> BoolArray:
    """Whether sums of moduli `size` of multiples of 2^last are exact in long double."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(size) < last - np.log2(4 * EXTENDED_UNIT))


class Outward:
    """Residuals and bounds of one program, rounded outward."""

    def __init__(self, program: ConeProgram) -> None:
        self.program = program
        self._At, self._terms_A = extended(program.A.T)
        self._P, self._terms_P = extended(program.P)
        self._size_At = program.size_A.T
        self._rows: tuple[Callable[[FloatArray], AnyArray], IntArray] | None = None

    @cached_property
    def _bits_At(self) -> tuple[IntArray, IntArray, FloatArray]:
        return _bits(self.program.A.T)

    @cached_property
    def _bits_P(self) -> tuple[IntArray, IntArray, FloatArray]:
        return _bits(self.program.P)

    def sums(self, xh: FloatArray, z: FloatArray) -> AnyArray:
        """Return r in long double."""
        return self._P(xh) + self.program.q.astype(np.longdouble) + self._At(z)

    def residual(self, xh: FloatArray, z: FloatArray) -> tuple[AnyArray, FloatArray]:
        """Return r in long double, and a bound on its rounding."""
        r = self.sums(xh, z)
        size = self.program.size_P @ np.abs(xh) + np.abs(self.program.q) + self._size_At @ np.abs(z)
        error = (self._terms_A + self._terms_P + 4) * EXTENDED_UNIT * size * (1 + 1e-10)
        if not ((np.abs(r) <= error) & (error > 0)).any():
            return r, error
        last = _last_bit(self.program.q)  # what seems to be zero may be so exactly
        for (i, j, bit), x in ((self._bits_P, xh), (self._bits_At, z)):
            np.minimum.at(last, i, bit + _last_bit(x)[j])
        return r, np.where(_fits(size, last), 0.0, error)

    def slacks(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return b - A x, and a bound on its rounding."""
        program = self.program
        if self._rows is None:
            self._rows = extended(program.A)
        product, terms = self._rows
        long = program.b.astype(np.longdouble) - product(x)
        s, size, last = long.astype(float), np.abs(program.b) + program.size_A @ np.abs(x), _last_bit(program.b)
        j, i, bit = self._bits_At
        np.minimum.at(last, i, bit + _last_bit(x)[j])
        return s, np.where(
            _fits(size, last) & (s == long), 0.0, (terms + 4) * EXTENDED_UNIT * size + 2 * UNIT * np.abs(s)
        )

    def at_point(self, xh: FloatArray, z: FloatArray, x0: FloatArray) -> tuple[float, Box]:
        """Return a lower bound of -b'z - xh'P xh / 2 + d + r'x0, and the ends of r rounded outward."""
        program = self.program
        r, error = self.residual(xh, z)
        near = r.astype(float)
        wide = error + 2 * UNIT * np.abs(near)
        ends = Box(near - wide, near + wide)
        terms = [-(program.b.astype(np.longdouble) * z), -(xh.astype(np.longdouble) * self._P(xh)) / 2, r * x0]
        total = sum((part.sum() for part in terms), np.longdouble(program.d))
        size = float(
            np.abs(program.b) @ np.abs(z)
            + np.abs(xh) @ (program.size_P @ np.abs(xh)) / 2
            + ends.modulus @ np.abs(x0)
            + abs(program.d)
        )
        n_terms = len(z) + 3 * len(xh) + int(self._terms_P.max(initial=0)) + 10
        slack = float(error @ np.abs(x0)) * (1 + 1e-9) + n_terms * EXTENDED_UNIT * size
        return float(total) - slack - 2 * UNIT * abs(float(total)), ends

    def absorbed(self, xh: FloatArray, z: FloatArray, share: float = 0.0) -> FloatArray:
        """Return multipliers whose residuals are taken up by the rows that are bounds of single columns.

        In a column with a lower bound alone r_j >= 0 needs no other end, and r_j grows as the multiplier of that bound
        becomes less; with an upper one alone it is r_j <= 0, and falls. Where multipliers are large enough, what is
        left has that sign by `share` of the size of its terms.
        """
        lower, upper = self.program.bounds
        if not len(lower.rows) + len(upper.rows):
            return z
        z, r = z.copy(), self.sums(xh, z)
        size = self.program.size_P @ np.abs(xh) + np.abs(self.program.q) + self._size_At @ np.abs(z)
        held = np.bincount(lower.columns, minlength=len(xh)), np.bincount(upper.columns, minlength=len(xh))
        margin = np.where(np.minimum(*held) == 0, (share + 8 * UNIT) * size, 0.0)  # far above the rounding of r
        for (rows, columns, entries), missing in ((lower, margin - r), (upper, margin + r)):
            step = np.maximum(missing.astype(float), 0.0)[columns] / np.abs(entries)
            z[rows] = np.maximum(z[rows] - step, 0.0)
        return z

    def bound(self, xh: FloatArray, z: FloatArray, x0: FloatArray, box: Box, radius: float) -> Bound:
        """Return the bound over all feasible x in the box, and within the radius of x0 where the box is open."""
        least, residual = self.at_point(xh, z, x0)
        each, near = box.cost(residual, x0), box.within(x0, radius)
        defect, diagonal = self.program.convexity[0], self.program.P.diagonal()
        if defect:
            each[(diagonal > 0) & ~box.is_finite] = np.inf
        is_held = np.isfinite(each)
        ends = Box(np.minimum(*near), np.maximum(*near))  # they cross where no x is within the radius
        each = np.where(is_held, each, ends.cost(residual, x0))
        cost = float(each.sum() + 1e-9 * np.abs(each).sum())
        if defect:
            far = np.maximum(np.abs(near.low - xh), np.abs(near.high - xh))
            cost += defect / 2 * float(np.maximum(diagonal, 0.0) @ far**2) * (1 + 1e-9)
        return Bound(least - cost, cost, bool(is_held.all()), residual)
