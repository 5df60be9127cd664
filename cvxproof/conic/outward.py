"""The bound of weak duality with all that rounding can do to it.

For every z in the dual cone and every xh, a feasible x has

    f(x) >= -b'z - xh'P xh / 2 + d + r'x,    r = P xh + q + A'z,

so that a wrong z gives a weak bound, never a wrong one. Sums run in long double: a sum of k products errs by at most
(k + 4) w times the sum of their moduli, w the unit of long double. It does not err where all products are multiples of
one power of two, and their sum is less than 1 / w of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from cvxproof.conic.program import ConeProgram
from cvxproof.rounding import EXTENDED_UNIT, UNIT
from cvxproof.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix

__all__ = ["Bound", "Box", "Outward"]


class Box(NamedTuple):
    """Bounds low <= x <= high of every feasible x below a level, infinite where none is known."""

    low: FloatArray
    high: FloatArray

    @property
    def is_finite(self) -> BoolArray:
        """Columns that have both bounds."""
        return np.isfinite(self.low) & np.isfinite(self.high) & (self.low <= self.high)

    @property
    def n_ends(self) -> int:
        """How many bounds are known."""
        return int(np.isfinite(self.low).sum() + np.isfinite(self.high).sum())

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
    residual: FloatArray
    """|r|, rounded outward."""


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
        self._size_At, self._size_P = abs(program.A).T.tocsr(), abs(program.P).tocsr()
        self._bits_P, self._bits_At = _bits(program.P), _bits(program.A.T)
        self._rows: tuple[Callable[[FloatArray], AnyArray], IntArray] | None = None

    def residual(self, xh: FloatArray, z: FloatArray) -> tuple[AnyArray, FloatArray]:
        """Return r in long double, and a bound on its rounding."""
        r = self._P(xh) + self.program.q.astype(np.longdouble) + self._At(z)
        size = self._size_P @ np.abs(xh) + np.abs(self.program.q) + self._size_At @ np.abs(z)
        error = (self._terms_A + self._terms_P + 4) * EXTENDED_UNIT * size * (1 + 1e-10)
        last = _last_bit(self.program.q)
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
        s, size, last = long.astype(float), np.abs(program.b) + self._size_At.T @ np.abs(x), _last_bit(program.b)
        j, i, bit = self._bits_At
        np.minimum.at(last, i, bit + _last_bit(x)[j])
        return s, np.where(
            _fits(size, last) & (s == long), 0.0, (terms + 4) * EXTENDED_UNIT * size + 2 * UNIT * np.abs(s)
        )

    def at_point(self, xh: FloatArray, z: FloatArray, x0: FloatArray) -> tuple[float, FloatArray]:
        """Return a lower bound of -b'z - xh'P xh / 2 + d + r'x0, and |r| rounded outward."""
        program = self.program
        r, error = self.residual(xh, z)
        modulus = np.abs(r).astype(float) * (1 + 2 * UNIT) + error
        terms = [-(program.b.astype(np.longdouble) * z), -(xh.astype(np.longdouble) * self._P(xh)) / 2, r * x0]
        total = sum((part.sum() for part in terms), np.longdouble(program.d))
        size = float(
            np.abs(program.b) @ np.abs(z)
            + np.abs(xh) @ (self._size_P @ np.abs(xh)) / 2
            + modulus @ np.abs(x0)
            + abs(program.d)
        )
        n_terms = len(z) + 3 * len(xh) + int(self._terms_P.max(initial=0)) + 10
        slack = float(error @ np.abs(x0)) * (1 + 1e-9) + n_terms * EXTENDED_UNIT * size
        return float(total) - slack - 2 * UNIT * abs(float(total)), modulus

    def bound(self, xh: FloatArray, z: FloatArray, x0: FloatArray, box: Box, radius: float) -> Bound:
        """Return the bound over all feasible x in the box, and within the radius of x0 where the box is open."""
        least, modulus = self.at_point(xh, z, x0)
        low, high = box.within(x0, radius)
        far = np.maximum(np.abs(low - x0), np.abs(high - x0)) * (1 + 8 * UNIT)
        used = modulus > 0
        cost = float(modulus[used] @ far[used]) * (1 + 1e-9)
        defect = self.program.convexity[0]
        if defect and self.program.P.nnz:
            diagonal = self.program.P.diagonal()
            curved = diagonal > 0
            far_h = np.maximum(np.abs(low - xh), np.abs(high - xh))[curved]
            cost += defect / 2 * float(diagonal[curved] @ far_h**2) * (1 + 1e-9)
            used = used | curved
        return Bound(least - cost, cost, bool((box.is_finite | ~used).all()), modulus)
