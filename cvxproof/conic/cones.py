"""The cones that CVXPY compiles to: proofs of membership in their duals, steps into these, and what a cone implies.

Rows of a program that lie in equal cones stand together: `rows` (count, m), one cone a row. Multipliers Z and slacks S
are arrays of that shape. Every statement here that proves something holds for the floats as they are, rounding
included.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cvxproof.rounding import UNIT
from cvxproof.typing import BoolArray, FloatArray, IntArray, Matrix

__all__ = [
    "Ball",
    "Cone",
    "Exponential",
    "Nonnegative",
    "Power",
    "SecondOrder",
    "Semidefinite",
    "Zero",
    "definiteness_margin",
    "is_definite",
]

_TINY = 1e-290
"""What underflow may have hidden."""
_LARGEST = 690.0
"""Largest argument of exp that is looked at."""
_LONG = 400
"""Second-order cones of more rows have the identity as their metric."""
_WIDE = 40
"""Semidefinite cones of more rows have the identity as their metric."""


class Ball:
    """A linear map F with z + F w in the dual cone for |w| < 1, to first order: blocks on the rows of one kind of cone.

    Parameters
    ----------
    rows : ndarray of int
        Rows of the program, in the order of the blocks.
    matrix : sparse matrix
        F.
    """

    def __init__(self, rows: IntArray, matrix: Matrix) -> None:
        self.rows, self.matrix = np.ravel(rows), sp.csr_matrix(matrix)

    @classmethod
    def diagonal(cls, rows: IntArray, entries: FloatArray) -> Ball:
        """Return the ball of a diagonal F."""
        places = np.arange(entries.size + 1)
        return cls(rows, sp.csr_matrix((entries.ravel(), places[:-1], places), (entries.size, entries.size)))

    @property
    def width(self) -> int:
        """How many entries w has."""
        return int(self.matrix.shape[1])

    def transposed(self, A: Matrix) -> Matrix:
        """Return F'A for the rows A of the program."""
        return self.matrix.T @ A

    def sizes(self, A: Matrix) -> Matrix:
        """Return |F|'|A|, to which the rounding of F'A is relative."""
        return abs(self.matrix).T @ abs(A)

    def adjoint(self, z: FloatArray) -> FloatArray:
        """Return F'z."""
        return np.asarray(self.matrix.T @ z)

    def apply(self, w: FloatArray) -> FloatArray:
        """Return F w."""
        return np.asarray(self.matrix @ w)


class _Congruence(Ball):
    """The map W -> R W R on the packed symmetric matrices of one semidefinite cone."""

    def __init__(self, rows: IntArray, root: FloatArray, cone: Semidefinite) -> None:
        self.rows, self.root, self.cone = np.ravel(rows), root, cone

    @property
    def width(self) -> int:
        return len(self.rows)

    def transposed(self, A: Matrix) -> Matrix:
        A = sp.csc_matrix(A)
        used = np.flatnonzero(np.diff(A.indptr))
        full = self.cone.packed(self.root @ self.cone.matrices(A[:, used].toarray().T) @ self.root)
        place = sp.csr_matrix((np.ones(len(used)), (np.arange(len(used)), used)), (len(used), A.shape[1]))
        return sp.csr_matrix(full.T) @ place

    def sizes(self, A: Matrix) -> Matrix:
        size = np.abs(self.root)
        return sp.csr_matrix(self.cone.packed(size @ self.cone.matrices(abs(A).toarray().T) @ size).T)

    def adjoint(self, z: FloatArray) -> FloatArray:
        return self.cone.packed(self.root @ self.cone.matrices(z[None]) @ self.root)[0]

    def apply(self, w: FloatArray) -> FloatArray:
        return self.adjoint(w)


@dataclass(frozen=True, eq=False)
class Cone(ABC):
    """Equal cones, one on every row of `rows`.

    Parameters
    ----------
    rows : ndarray of int, (count, m)
        Rows of the program.
    """

    rows: IntArray

    @abstractmethod
    def proves(self, Z: FloatArray) -> bool:
        """Whether every row of Z is proved to lie in the dual cone."""

    @abstractmethod
    def moved_inside(self, Z: FloatArray, depth: float, S: FloatArray) -> FloatArray:
        """Return Z moved `depth` deep into the dual cone, where the slacks S make that cheap."""

    @abstractmethod
    def balls(self, Z: FloatArray, largest: float) -> Iterator[Ball]:
        """Yield balls in the dual cone around Z; `largest` is the largest multiplier of the program."""

    @abstractmethod
    def violation(self, S: FloatArray) -> FloatArray:
        """Return how far each row of S is outside of the cone, in its own units, (count,)."""

    def holds_balls(self, Z: FloatArray, radius: float) -> bool:
        """Whether the balls of this radius, in the metric of `balls`, are proved to lie in the dual cone."""
        return True

    @abstractmethod
    def tighten(self, low: FloatArray, high: FloatArray) -> None:
        """Tighten bounds of all slacks of the program, in place, by what the cone says."""

    def slack_limits(self, Z: FloatArray, room: float, high: FloatArray) -> None:  # noqa: B027 # not every cone has one
        """Lower the upper bounds of slacks s with z's <= room, in place."""

    def shrunk(self, b: FloatArray, depth: float) -> None:  # noqa: B027 # equalities have no inside
        """Move the right sides b, in place, so that feasible points have slacks that are `depth` inside."""

    def has_room(self, S: FloatArray, moved: FloatArray) -> bool:
        """Whether the rows of S stay in the cone however their entries move by at most `moved`."""
        return True


class Zero(Cone):
    """Equalities; the dual cone is everything."""

    def proves(self, Z: FloatArray) -> bool:
        return bool(np.isfinite(Z).all())

    def moved_inside(self, Z: FloatArray, depth: float, S: FloatArray) -> FloatArray:
        return Z

    def balls(self, Z: FloatArray, largest: float) -> Iterator[Ball]:
        yield Ball.diagonal(self.rows, np.full(Z.size, max(1.0, largest)))

    def violation(self, S: FloatArray) -> FloatArray:
        return np.abs(S[:, 0])

    def tighten(self, low: FloatArray, high: FloatArray) -> None:
        low[self.rows], high[self.rows] = 0.0, 0.0


class Nonnegative(Cone):
    """s >= 0."""

    def proves(self, Z: FloatArray) -> bool:
        return bool(np.isfinite(Z).all() and (Z >= 0).all())

    def moved_inside(self, Z: FloatArray, depth: float, S: FloatArray) -> FloatArray:
        return np.maximum(Z, depth)

    def balls(self, Z: FloatArray, largest: float) -> Iterator[Ball]:
        yield Ball.diagonal(self.rows, Z)

    def violation(self, S: FloatArray) -> FloatArray:
        return np.maximum(-S[:, 0], 0.0)

    def holds_balls(self, Z: FloatArray, radius: float) -> bool:
        return bool((Z >= 0).all())  # z + z w >= 0

    def tighten(self, low: FloatArray, high: FloatArray) -> None:
        low[self.rows] = np.maximum(low[self.rows], 0.0)

    def slack_limits(self, Z: FloatArray, room: float, high: FloatArray) -> None:
        with np.errstate(all="ignore"):
            high[self.rows] = np.fmin(high[self.rows], np.where(Z > 0, room / Z * (1 + 4 * UNIT), np.inf))

    def shrunk(self, b: FloatArray, depth: float) -> None:
        b[self.rows] -= depth

    def has_room(self, S: FloatArray, moved: FloatArray) -> bool:
        return bool((moved <= S).all())


class SecondOrder(Cone):
    """|(s_1, ..., s_m)| <= s_0."""

    def proves(self, Z: FloatArray) -> bool:
        need = _norms(Z[:, 1:]) * (1 + (Z.shape[1] + 4) * UNIT) + _TINY * (Z[:, 1:] != 0).any(axis=1)
        return bool(np.isfinite(Z).all() and (Z[:, 0] >= need).all())

    def moved_inside(self, Z: FloatArray, depth: float, S: FloatArray) -> FloatArray:
        Z = Z.copy()
        Z[:, 0] = np.maximum(Z[:, 0], _norms(Z[:, 1:]) * (1 + 2 * (Z.shape[1] + 4) * UNIT) + depth)
        return Z

    def balls(self, Z: FloatArray, largest: float) -> Iterator[Ball]:
        m = Z.shape[1]
        if m > _LONG:
            for row, one in zip(self.rows, Z, strict=True):
                yield Ball(row, sp.identity(m) * max(float(np.abs(one).max()), 1e-300))
            return
        # The quadratic representation of z^(1/2).
        norm = _norms(Z[:, 1:])
        root = np.sqrt(np.maximum((Z[:, 0] - norm) * (Z[:, 0] + norm), 0.0))
        head = np.sqrt(np.maximum((Z[:, 0] + root) / 2, 1e-300))
        half = np.concatenate([head[:, None], Z[:, 1:] / (2 * head[:, None])], axis=1)
        mirror = -np.eye(m)
        mirror[0, 0] = 1.0
        F = 2 * half[:, :, None] * half[:, None, :] - root[:, None, None] * mirror
        yield _blocks(self.rows, F * (Z[:, 0] > 0)[:, None, None])

    def violation(self, S: FloatArray) -> FloatArray:
        return np.maximum(_norms(S[:, 1:]) - S[:, 0], 0.0)

    def holds_balls(self, Z: FloatArray, radius: float) -> bool:
        # The map is exact for radii below 1/2, up to its own rounding; long cones have a ball of radius 1/100 |z|.
        inner = Z[:, 0] - _norms(Z[:, 1:])
        if Z.shape[1] > _LONG:
            return bool((inner > 2 * radius * np.abs(Z).max(axis=1)).all())
        return bool((inner >= 1024 * Z.shape[1] * UNIT * Z[:, 0]).all())

    def tighten(self, low: FloatArray, high: FloatArray) -> None:
        head, rest = self.rows[:, :1], self.rows[:, 1:]
        low[head] = np.maximum(low[head], 0.0)
        high[rest], low[rest] = np.minimum(high[rest], high[head]), np.maximum(low[rest], -high[head])

    def slack_limits(self, Z: FloatArray, room: float, high: FloatArray) -> None:
        inner = Z[:, 0] - _norms(Z[:, 1:]) * (1 + 2 * (Z.shape[1] + 4) * UNIT)
        with np.errstate(all="ignore"):
            limit = np.where(inner > 0, room / inner * (1 + 8 * UNIT), np.inf)
        high[self.rows[:, 0]] = np.fmin(high[self.rows[:, 0]], limit)

    def shrunk(self, b: FloatArray, depth: float) -> None:
        b[self.rows[:, 0]] -= depth

    def has_room(self, S: FloatArray, moved: FloatArray) -> bool:
        S = S.copy()
        S[:, 0] -= moved[:, 0] + _norms(moved[:, 1:]) * (1 + 1e-10)
        return self.proves(S)


@dataclass(frozen=True, eq=False)
class Semidefinite(Cone):
    """Symmetric positive semidefinite matrices, packed by columns, off the diagonal times sqrt 2.

    Parameters
    ----------
    order : int
        Rows of a matrix.
    triangle : {"lower", "upper"}
        Which triangle is packed.
    """

    order: int
    triangle: str

    @property
    def places(self) -> tuple[IntArray, IntArray]:
        """Row and column of every packed entry."""
        if self.triangle == "lower":
            return np.triu_indices(self.order)
        i, j = np.tril_indices(self.order)
        return j, i

    def matrices(self, Z: FloatArray) -> FloatArray:
        """Return the matrices (count, order, order) of packed rows."""
        i, j = self.places
        out = np.zeros((len(Z), self.order, self.order))
        out[:, i, j] = out[:, j, i] = Z / np.where(i == j, 1.0, math.sqrt(2.0))
        return out

    def packed(self, M: FloatArray) -> FloatArray:
        """Return matrices (count, order, order) as packed rows."""
        i, j = self.places
        return M[:, i, j] * np.where(i == j, 1.0, math.sqrt(2.0))

    def proves(self, Z: FloatArray) -> bool:
        return bool(np.isfinite(Z).all()) and all(_is_semidefinite(M, M != 0) for M in self.matrices(Z))

    def moved_inside(self, Z: FloatArray, depth: float, S: FloatArray) -> FloatArray:
        M = self.matrices(Z)
        for one in M:
            # What `is_definite` will ask for, and the rounding of the eigenvalues.
            least = 8 * (self.order + 8) * UNIT * abs(np.trace(one)) + 32 * UNIT * np.linalg.norm(one) + _TINY
            least = max(depth, float(least))
            values, vectors = np.linalg.eigh(one)
            if values[0] < least:
                one += (vectors * np.maximum(least - values, 0.0)) @ vectors.T
                one[:] = (one + one.T) / 2
        return self.packed(M)

    def balls(self, Z: FloatArray, largest: float) -> Iterator[Ball]:
        for row, packed, one in zip(self.rows, Z, self.matrices(Z), strict=True):
            if self.order > _WIDE:
                yield Ball(row, sp.identity(len(row)) * max(float(np.abs(packed).max()), 1e-300))
                continue
            values, vectors = np.linalg.eigh(one)
            yield _Congruence(row, (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T, self)

    def violation(self, S: FloatArray) -> FloatArray:
        return np.array([max(-float(np.linalg.eigvalsh(M)[0]), 0.0) for M in self.matrices(S)])

    def holds_balls(self, Z: FloatArray, radius: float) -> bool:
        values = np.linalg.eigvalsh(self.matrices(Z))
        if self.order > _WIDE:
            return bool((values[:, 0] > 4 * radius * self.order * np.abs(Z).max(axis=1)).all())
        return bool((values[:, 0] >= 1024 * self.order * UNIT * values[:, -1]).all())

    def tighten(self, low: FloatArray, high: FloatArray) -> None:
        i, j = self.places
        on, off = np.flatnonzero(i == j), np.flatnonzero(i != j)
        diagonal, rest = self.rows[:, on], self.rows[:, off]
        low[diagonal] = np.maximum(low[diagonal], 0.0)
        # |S_ij| <= sqrt(S_ii S_jj); the diagonal stands in order.
        with np.errstate(invalid="ignore"):
            root = np.sqrt(np.maximum(high[diagonal], 0.0))
            limit = np.nan_to_num(root[:, i[off]] * root[:, j[off]], nan=np.inf, posinf=np.inf) * math.sqrt(2.0)
        limit = limit * (1 + 32 * UNIT)
        high[rest], low[rest] = np.minimum(high[rest], limit), np.maximum(low[rest], -limit)

    def slack_limits(self, Z: FloatArray, room: float, high: FloatArray) -> None:
        i, j = self.places
        for row, one in zip(self.rows, self.matrices(Z), strict=True):
            least = float(np.linalg.eigvalsh(one)[0]) - 1e-13 * float(np.linalg.norm(one)) * self.order
            if least > 0:
                high[row[i == j]] = np.minimum(high[row[i == j]], room / least * (1 + 8 * UNIT))

    def shrunk(self, b: FloatArray, depth: float) -> None:
        i, j = self.places
        b[self.rows[:, i == j]] -= depth

    def has_room(self, S: FloatArray, moved: FloatArray) -> bool:
        radii = _norms(moved) * (1 + 1e-10)
        shifted = self.matrices(S) - radii[:, None, None] * np.eye(self.order)
        # On a face, rows that are zero for certain stay so, and what is left is definite.
        return all(map(_is_semidefinite, shifted, self.matrices(np.abs(S) + moved) != 0))


@dataclass(frozen=True, eq=False)
class Exponential(Cone):
    """y exp(x / y) <= z, y > 0, and its closure. The dual cone: -u exp(v / u - 1) <= w, u < 0, and its closure.

    Parameters
    ----------
    order : tuple of int
        Places of x, y and z in a row.
    """

    order: tuple[int, int, int]

    def _parts(self, Z: FloatArray) -> FloatArray:
        return Z[:, list(self.order)].T

    def _rows(self, u: FloatArray, v: FloatArray, w: FloatArray) -> FloatArray:
        out = np.empty((len(u), 3))
        out[:, list(self.order)] = np.stack([u, v, w], axis=1)
        return out

    def proves(self, Z: FloatArray) -> bool:
        if not np.isfinite(Z).all():
            return False
        u, v, w = self._parts(Z)
        with np.errstate(all="ignore"):
            power = v / u - 1
            need = -u * np.exp(power) * (1 + 16 * UNIT * (2 + np.abs(v / u))) + _TINY
            inside = (u < 0) & (power < _LARGEST + 10) & (w >= need)
        return bool((inside | ((u == 0) & (v >= 0) & (w >= 0))).all())

    def moved_inside(self, Z: FloatArray, depth: float, S: FloatArray) -> FloatArray:
        u, v, w = self._parts(Z)
        _, slack_v, slack_w = np.abs(self._parts(S))
        least = max(depth, 1e-200)
        u = np.minimum(u, -least)
        with np.errstate(all="ignore"):
            power = np.minimum(v / u - 1, _LARGEST)
            needed_w = -u * np.exp(power) * (1 + 32 * UNIT * (2 + np.abs(v / u))) + depth
            positive = np.maximum(w, least)
            needed_v = u + u * np.log(positive / -u)
            needed_v += 64 * UNIT * (np.abs(needed_v) + np.abs(u)) + depth
        more_w, more_v = np.maximum(needed_w - w, 0.0), np.maximum(needed_v - v, 0.0)
        # s'dz is what a push costs.
        by_v = more_v * (slack_v + 1e-12) + (positive - w) * slack_w
        is_w = (more_w * (slack_w + 1e-12) <= by_v) & (v / u - 1 < _LARGEST)
        return self._rows(u, np.where(is_w, v, v + more_v), np.where(is_w, w + more_w, positive))

    def _map(self, Z: FloatArray) -> FloatArray:
        inside = (self._parts(Z)[0] < 0) & (self._parts(Z)[2] > 0)
        u, v, w = self._parts(np.where(inside[:, None], Z, self._rows(*np.array([[-1.0], [0.0], [1.0]]))))
        log = np.log(w / -u)
        inner = np.maximum(v - u - u * log, 1e-300)
        # The exact Hessian is singular to working precision near the boundary; this factor is not.
        k = np.minimum(1.0, np.sqrt(inner / np.abs(u)))
        F = np.zeros((len(Z), 3, 3))
        F[:, 0, 0], F[:, 1, 0] = -k * u, -k * log * u
        F[:, 1, 1], F[:, 2, 1] = k * u, k * w
        F[:, 1, 2] = inner
        out = np.empty_like(F)
        out[:, list(self.order), :] = F
        return out * inside[:, None, None]

    def balls(self, Z: FloatArray, largest: float) -> Iterator[Ball]:
        yield _blocks(self.rows, self._map(Z))

    def holds_balls(self, Z: FloatArray, radius: float) -> bool:
        return _holds_corners(self, self._map(Z), Z, radius)

    def violation(self, S: FloatArray) -> FloatArray:
        x, y, z = self._parts(S)
        with np.errstate(all="ignore"):
            above = y * np.exp(np.minimum(x / y, _LARGEST)) - z
        below = np.maximum(np.maximum(-y, -z), np.maximum(x, 0.0))
        return np.maximum(np.where(y > 0, above, below), 0.0)

    def tighten(self, low: FloatArray, high: FloatArray) -> None:
        x, y, z = (self.rows[:, k] for k in self.order)
        low[y], low[z] = np.maximum(low[y], 0.0), np.maximum(low[z], 0.0)
        top = high[z]
        with np.errstate(all="ignore"):
            # x <= y log(z / y), which is largest at y = z / e.
            at = np.clip(top / math.e, low[y], high[y])
            limit = np.where(at > 0, at * np.log(top / at), 0.0)
            limit += 1e-12 * (1 + np.abs(limit))
            high[x] = np.where(np.isfinite(top), np.fmin(high[x], limit), high[x])
            fixed = (low[y] == high[y]) & (low[y] > 0)
            least = low[y] * np.exp(np.minimum(low[x] / low[y], 600.0)) * (1 - 1e-12)
            low[z] = np.where(fixed, np.fmax(low[z], least), low[z])

    def shrunk(self, b: FloatArray, depth: float) -> None:
        b[self.rows[:, self.order[2]]] -= depth

    def has_room(self, S: FloatArray, moved: FloatArray) -> bool:
        x, y, z = self._parts(S)
        dx, dy, dz = self._parts(moved)
        on_face = (y == 0) & (dy == 0) & (x + dx <= 0) & (z - dz >= 0)
        x, y, z, dx, dy, dz = (part[~on_face] for part in (x, y, z, dx, dy, dz))
        for near in (y - dy, y + dy):  # y log(z / y) is concave in y
            if not ((near > 0).all() and (z - dz > 0).all()):
                return False
            value = near * np.log((z - dz) / near)
            if not (value - (x + dx) >= 16 * UNIT * (2 + np.abs(value) + np.abs(x + dx))).all():
                return False
        return True


@dataclass(frozen=True, eq=False)
class Power(Cone):
    """x_1^a_1 ... x_k^a_k >= |w|, x >= 0. The dual cone: the same with x_i / a_i.

    Parameters
    ----------
    powers : tuple of float
        a, of sum 1.
    """

    powers: tuple[float, ...]

    def _logs(self, X: FloatArray) -> FloatArray:
        a = np.array(self.powers)
        return a * np.log(X / a)

    def proves(self, Z: FloatArray) -> bool:
        X, w = Z[:, :-1], np.abs(Z[:, -1])
        with np.errstate(all="ignore"):
            logs = self._logs(X)
            error = 16 * UNIT * (2 + X.shape[1] + np.abs(logs).sum(axis=1))
            mean = np.exp(logs.sum(axis=1)) * (1 - error) - _TINY
            inside = (X >= 0).all(axis=1) & ((w == 0) | (w <= mean))
        return bool(np.isfinite(Z).all() and inside.all())

    def moved_inside(self, Z: FloatArray, depth: float, S: FloatArray) -> FloatArray:
        X = np.maximum(Z[:, :-1], max(depth, 1e-200) * np.array(self.powers))
        logs = self._logs(X)
        error = 64 * UNIT * (2 + X.shape[1] + np.abs(logs).sum(axis=1))
        need = np.abs(Z[:, -1]) * (1 + error) + 1e-3 * depth
        factor = np.maximum(need / np.exp(logs.sum(axis=1)), 1.0)
        return np.concatenate([X * factor[:, None] * (1 + 4 * UNIT), Z[:, -1:]], axis=1)

    def _map(self, Z: FloatArray) -> FloatArray:
        X, w, m = Z[:, :-1], Z[:, -1], Z.shape[1]
        mean = np.exp(self._logs(np.maximum(X, 1e-300)).sum(axis=1))
        inner = np.maximum(mean - np.abs(w), 1e-300)
        k = np.minimum(1.0, np.sqrt(inner / np.maximum(mean, 1e-300)))
        F = np.zeros((len(Z), m, m))
        for i, a in enumerate(self.powers):
            F[:, i, i], F[:, -1, i] = k * X[:, i], k * np.sign(w) * a * mean
        F[:, -1, -1] = inner
        return F

    def balls(self, Z: FloatArray, largest: float) -> Iterator[Ball]:
        yield _blocks(self.rows, self._map(Z))

    def holds_balls(self, Z: FloatArray, radius: float) -> bool:
        return _holds_corners(self, self._map(Z), Z, radius)

    def violation(self, S: FloatArray) -> FloatArray:
        X = S[:, :-1]
        outside = np.abs(S[:, -1]) - np.prod(np.maximum(X, 0.0) ** np.array(self.powers), axis=1)
        return np.maximum(np.maximum(outside, -X.min(axis=1)), 0.0)

    def tighten(self, low: FloatArray, high: FloatArray) -> None:
        X, w = self.rows[:, :-1], self.rows[:, -1]
        low[X] = np.maximum(low[X], 0.0)
        with np.errstate(all="ignore"):
            limit = np.exp((np.array(self.powers) * np.log(np.maximum(high[X], _TINY))).sum(axis=1)) * (1 + 1e-12)
        high[w], low[w] = np.fmin(high[w], limit), np.fmax(low[w], -limit)

    def shrunk(self, b: FloatArray, depth: float) -> None:
        b[self.rows[:, :-1]] -= depth

    def has_room(self, S: FloatArray, moved: FloatArray) -> bool:
        X = S[:, :-1] - moved[:, :-1]
        scaled = np.concatenate([X * np.array(self.powers), (np.abs(S[:, -1:]) + moved[:, -1:])], axis=1)
        return bool((X > 0).all()) and self.proves(scaled)


def is_definite(Z: FloatArray) -> bool:
    """Whether a symmetric matrix is proved to be positive semidefinite, by Rump's test.

    If the floating-point Cholesky factorisation of Z - c I runs through, Z is positive semidefinite: c is larger than
    all that its rounding can do (Rump, Verification of positive definiteness, BIT 46, 2006).
    """
    if not np.isfinite(Z).all():
        return False
    try:
        np.linalg.cholesky(Z - definiteness_margin(Z) * np.eye(len(Z)))
    except np.linalg.LinAlgError:
        return False
    return True


def _is_semidefinite(M: FloatArray, is_used: BoolArray) -> bool:
    """Whether what is left of a symmetric matrix without its rows of zeros is proved to be positive semidefinite."""
    face = is_used.any(axis=1)
    return not face.any() or is_definite(M[np.ix_(face, face)])


def definiteness_margin(Z: FloatArray) -> float:
    """Return the c of `is_definite`: no matrix with an eigenvalue below it is proved to be positive semidefinite."""
    return float(2 * (len(Z) + 3) * UNIT * abs(np.trace(Z)) + 8 * UNIT * np.linalg.norm(Z) + _TINY)


def _norms(X: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(X, axis=1))


def _blocks(rows: IntArray, F: FloatArray) -> Ball:
    """Return the ball of blocks F (count, m, m)."""
    count, m = rows.shape
    at = np.arange(count * m).reshape(count, m)
    i, j = np.repeat(at[:, :, None], m, axis=2), np.repeat(at[:, None, :], m, axis=1)
    return Ball(rows, sp.csr_matrix((F.ravel(), (i.ravel(), j.ravel())), (count * m, count * m)))


def _holds_corners(cone: Cone, F: FloatArray, Z: FloatArray, radius: float) -> bool:
    """Whether the dual cone holds all corners of a cube ten times as large as the ball: it is convex."""
    F, Z = F[F.any(axis=(1, 2))], Z[F.any(axis=(1, 2))]  # a map of zero stays where it is
    m = Z.shape[1]
    if m > 6 or (np.abs(F).max(axis=1).min(axis=1) * radius < 32 * UNIT * np.abs(Z).max(axis=1)).any():
        return False
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * m)).reshape(m, -1).T
    return all(cone.proves(Z + 10 * radius * (F @ corner)) for corner in corners)
