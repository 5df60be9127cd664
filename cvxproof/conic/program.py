"""Cone programs, and the answer of any solver to one.

    minimise  x'P x / 2 + q'x + d   subject to   A x + s = b,  s in K

All that is proved of a problem is proved of its program.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from cvxproof.conic import cones
from cvxproof.conic.cones import Cone
from cvxproof.conic.convexity import convexity
from cvxproof.rounding import UNIT
from cvxproof.typing import BoolArray, FloatArray, IntArray, Matrix

__all__ = ["Answer", "ColumnBounds", "ConeProgram"]

_PASSES = 100
"""Rows across which a column has its unit from other columns; beyond, it has none."""
_TINY = 1e-300
_NOISE = 1e-15
"""Share of the terms of a row up to which its right side is rounding."""


class ColumnBounds(NamedTuple):
    """Inequalities in one column each: rows, columns and entries."""

    rows: IntArray
    columns: IntArray
    entries: FloatArray


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """A cone program in the form of the module's docstring.

    Parameters
    ----------
    P : sparse matrix of shape (n, n)
        Symmetric.
    q, b : ndarray of shape (n,), (m,)
        Linear objective and right sides.
    A : sparse matrix of shape (m, n)
        Rows of the constraints.
    parts : tuple of Cone
        Every row is in one of them.
    d : float, default 0
        Constant of the objective.
    sign : {1, -1}, default 1
        -1 if the problem is a maximisation, so that bounds change sides.
    """

    P: Matrix
    q: FloatArray
    A: Matrix
    b: FloatArray
    parts: tuple[Cone, ...]
    d: float = 0.0
    sign: float = 1.0

    @cached_property
    def size_A(self) -> Matrix:
        """|A|."""
        return abs(self.A)

    @cached_property
    def size_P(self) -> Matrix:
        """|P|."""
        return abs(self.P)

    @cached_property
    def entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows, columns and values of the entries of A that are not zero, by columns."""
        A = sp.csc_matrix(self.A)
        j, used = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr)), A.data != 0
        return A.indices[used], j[used], A.data[used]

    @cached_property
    def inequalities(self) -> tuple[Matrix, IntArray]:
        """The rows of inequalities, and their places."""
        held = [cone.rows.ravel() for cone in self.parts if isinstance(cone, cones.Nonnegative)]
        place = np.concatenate([*held, np.zeros(0, dtype=np.intp)])
        return self.A.tocsr()[place], place

    @cached_property
    def bounds(self) -> tuple[ColumnBounds, ColumnBounds]:
        """The inequalities in one column that bound it from below, and those from above."""
        i, j, a = self.entries
        is_bound = np.zeros(len(self.b), dtype=bool)
        for cone in self.parts:
            is_bound[cone.rows.ravel()] = isinstance(cone, cones.Nonnegative)
        is_bound &= np.bincount(i, minlength=len(self.b)) == 1
        lower, upper = is_bound[i] & (a < 0), is_bound[i] & (a > 0)
        return ColumnBounds(i[lower], j[lower], a[lower]), ColumnBounds(i[upper], j[upper], a[upper])

    @cached_property
    def ordered_pairs(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray, IntArray]:
        """The j, k, a, c and the rows of the inequalities a x_j <= c x_k + b with a, c > 0."""
        rows, place = self.inequalities
        starts = rows.indptr[:-1]
        two = np.flatnonzero(np.diff(rows.indptr) == 2)
        first, second = starts[two], starts[two] + 1
        apart = rows.data[first] * rows.data[second] < 0
        two, first, second = two[apart], first[apart], second[apart]
        rising = rows.data[first] > 0
        up, down = np.where(rising, first, second), np.where(rising, second, first)
        return rows.indices[up], rows.indices[down], rows.data[up], -rows.data[down], place[two]

    @cached_property
    def paired_ends(self) -> tuple[FloatArray, FloatArray]:
        """Bounds by two inequalities whose sum has one column: t >= u and t >= -u, which CVXPY writes for |u|."""
        n = self.A.shape[1]
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        rows, place = self.inequalities
        columns, length = rows.tocsc(), np.diff(rows.indptr)
        starts, counts = columns.indptr[:-1], np.diff(columns.indptr)
        at, t, k = np.concatenate([_paired(starts[counts == m], m) for m in (2, 3, 4)], axis=1)
        first, second = columns.indices[at + t], columns.indices[at + k]
        like = (columns.data[at + t] == columns.data[at + k]) & (length[first] == length[second])
        first, second = first[like], second[like]
        whole = rows[first] + rows[second]
        whole.eliminate_zeros()
        single = np.flatnonzero(np.diff(whole.indptr) == 1)
        j, a = whole.indices[whole.indptr[single]], whole.data[whole.indptr[single]]
        one, two = self.b[place[first[single]]], self.b[place[second[single]]]
        end, pad = (one + two) / a, 8 * UNIT * (np.abs(one) + np.abs(two)) / np.abs(a)
        np.minimum.at(high, j[a > 0], (end + pad)[a > 0])
        np.maximum.at(low, j[a < 0], (end - pad)[a < 0])
        return low, high

    def value(self, x: FloatArray) -> float:
        """Return the objective of the minimisation."""
        return float(0.5 * (x @ (self.P @ x)) + self.q @ x) + self.d

    def size(self, x: FloatArray) -> float:
        """Return the sum of the moduli of the objective's terms, each column at least as large as its unit."""
        return self.terms(np.maximum(np.abs(x), self.units))

    def terms(self, x: FloatArray) -> float:
        """Return the sum of the moduli of the objective's terms at x."""
        quadratic = 0.5 * float(np.abs(x) @ (self.size_P @ np.abs(x)))
        return quadratic + float(np.abs(self.q) @ np.abs(x)) + abs(self.d)

    @cached_property
    def units(self) -> FloatArray:
        """Sizes of the columns that the right sides set, which follow every scaling of rows and columns.

        A column has the least that a row with it allows: the right side over its entry, or the largest of the rows of
        one cone. Columns without right sides have that of the columns next to them. Where there are none in a whole
        component every multiple of a point is as feasible as the point, and the unit is one.
        """
        return self._units(np.abs(self.b))

    def _units(self, b: FloatArray, largest: bool = False) -> FloatArray:
        (i, j, a), unit = self.entries, np.zeros(len(self.q))
        a = np.abs(a)
        for _ in range(_PASSES):
            size = np.maximum(b, self.size_A @ unit)
            for cone in self.parts:
                if cone.rows.shape[1] > 1:
                    size[cone.rows] = size[cone.rows].max(axis=1, keepdims=True)
            least, known = np.full(len(unit), math.inf), size[i] > 0
            if largest:
                least[j[known]] = 0.0
            (np.maximum if largest else np.minimum).at(least, j[known], size[i[known]] / a[known])
            new = (unit == 0) & (least < math.inf)
            unit[new] = least[new]
            if not new.any() or unit.all():
                break
        return np.where(unit == 0, 1.0, unit)

    @cached_property
    def _steady_units(self) -> FloatArray:
        """The units where right sides that are rounding next to the largest units of their columns set none."""
        size = np.abs(self.b)
        is_noise = (size <= _NOISE * (self.size_A @ self._units(size, largest=True))) & (size > 0)
        return self._units(np.where(is_noise, 0.0, size)) if is_noise.any() else self.units

    @cached_property
    def row_sizes(self) -> FloatArray:
        """Largest entry of each cone's rows, one where these are empty."""
        (i, _, a), sizes = self.entries, np.zeros(len(self.b))
        np.maximum.at(sizes, i, np.abs(a))
        for cone in self.parts:
            sizes[cone.rows] = sizes[cone.rows].max(axis=1, keepdims=True)
        return np.where(sizes > 0, sizes, 1.0)

    def slacks(self, x: FloatArray) -> FloatArray:
        """Return b - A x."""
        return np.asarray(self.b - self.A @ x)

    def violation(self, x: FloatArray) -> float:
        """Return how far the slacks are outside of their cones, the largest, in their own units."""
        s = self.slacks(x)
        return max((float(cone.violation(s[cone.rows]).max(initial=0)) for cone in self.parts), default=0.0)

    def relative_violation(self, x: FloatArray) -> float:
        """Return the largest violation relative to its rows.

        That is to their terms, each column at least as large as its unit.
        """
        s = self.slacks(x)
        size = np.abs(self.b) + self.size_A @ np.maximum(np.abs(x), self._steady_units)
        sides = ((cone.violation(s[cone.rows]), size[cone.rows].max(axis=1)) for cone in self.parts)
        return max((float((outside / np.maximum(side, _TINY)).max(initial=0)) for outside, side in sides), default=0.0)

    def worth(self, x: FloatArray, z: FloatArray) -> float:
        """Return what the violations are worth in the objective: the sum of their products with the multipliers."""
        s = self.slacks(x)
        return sum(float(np.linalg.norm(z[cone.rows], axis=1) @ cone.violation(s[cone.rows])) for cone in self.parts)

    def proves(self, z: FloatArray) -> bool:
        """Whether the multipliers are proved to lie in the dual cone."""
        return all(cone.proves(z[cone.rows]) for cone in self.parts)

    def moved_inside(self, z: FloatArray, depth: float, s: FloatArray) -> FloatArray:
        """Return multipliers `depth` deep in the dual cone; `s` says where that is cheap."""
        z = z.copy()
        for cone in self.parts:
            z[cone.rows] = cone.moved_inside(z[cone.rows], depth, s[cone.rows])
        return z

    def without_objective(self) -> ConeProgram:
        """Return the program that asks for feasibility alone."""
        return replace(self, P=sp.csc_matrix(self.P.shape), q=np.zeros_like(self.q), d=0.0)

    def without_idle_rows(self) -> tuple[ConeProgram, BoolArray]:
        """Return the program with zero in the rows that bound nothing, and which these are.

        A column without a cost whose entries are all in inequalities, and of one sign, satisfies these by going to
        infinity. Their multipliers are zero in every dual point, which therefore has no others around it.
        """
        A, idle = self.A.tocsc(), np.zeros(len(self.b), dtype=bool)
        is_row = np.zeros(len(self.b), dtype=bool)
        for cone in self.parts:
            is_row[cone.rows] = isinstance(cone, cones.Nonnegative)
        free = (self.q == 0) & (np.bincount(self.P.nonzero()[0], minlength=len(self.q)) == 0)
        column = np.repeat(np.arange(len(self.q)), np.diff(A.indptr))
        while True:
            used = ~idle[A.indices] & (A.data != 0)
            tests = (used & (A.data > 0), used & (A.data < 0), used & ~is_row[A.indices])
            above, below, other = (np.bincount(column[test], minlength=len(self.q)) for test in tests)
            alone = free & (other == 0) & ((above == 0) != (below == 0))
            if not alone.any():
                break
            idle[A.indices[used & alone[column]]] = True
        kept = sp.diags((~idle).astype(float))
        return replace(self, A=sp.csc_matrix(kept @ A), b=np.where(idle, 0.0, self.b)) if idle.any() else self, idle

    @cached_property
    def is_linear(self) -> bool:
        """Whether all rows are equalities and inequalities."""
        return all(isinstance(cone, (cones.Zero, cones.Nonnegative)) for cone in self.parts)

    @property
    def is_lp(self) -> bool:
        """Whether it is a linear program."""
        return self.is_linear and not self.P.nnz

    @cached_property
    def is_separable(self) -> bool:
        """Whether P is diagonal."""
        return bool(self.P.count_nonzero() == np.count_nonzero(self.P.diagonal()))

    @cached_property
    def convexity(self) -> tuple[float, float]:
        """Proved numbers c and k with P >= -c diag(P) and P >= k diag(P); c is infinite if P may not be convex."""
        if self.is_separable and (self.P.diagonal() >= 0).all():
            return 0.0, 1.0
        return convexity(self.P)


def _paired(starts: IntArray, m: int) -> IntArray:
    """Return the starts of columns of m entries with the places of every two of these."""
    t, k = np.tril_indices(m, -1)
    return np.array([np.repeat(starts, len(t)), np.tile(t, len(starts)), np.tile(k, len(starts))])


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver returned: its status in CVXPY's words, a point and multipliers, or a ray; zero for none."""

    status: str
    x: FloatArray
    z: FloatArray
    solution: Any = field(default=None, repr=False)
    """The same in CVXPY's form, on the way back through its reductions."""
    moved: float = 0.0
    """The largest distance of x from what the solver returned, relative to its entries."""

    def at(self, x: FloatArray, change: float) -> Answer:
        """Return the answer with another point, whose objective is larger by `change`."""
        solution = copy.copy(self.solution)
        if solution is not None:
            solution.primal_vars = {key: x.reshape(np.shape(one)) for key, one in solution.primal_vars.items()}
            solution.opt_val = None if solution.opt_val is None else solution.opt_val + change
        moved = float((np.abs(x - self.x) / np.maximum(np.abs(self.x), 1.0)).max(initial=0.0))
        return replace(self, x=x, solution=solution, moved=moved)
