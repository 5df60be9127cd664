"""Steps that make multipliers of a solver stationary while they stay in the dual cone.

z is moved a little into the dual cone; then the residual r = P xh + q + A'z is removed by the step

    z += F F'A dx,   xh += dx,   (P + A'F F'A) dx = -r,

F a ball of the dual cone around z. Rounds move deeper and deeper; whoever calls judges each of them, so that none can
do harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from cvxproof.conic.box import written_box
from cvxproof.conic.cones import Ball, Zero
from cvxproof.conic.outward import Outward
from cvxproof.conic.program import ConeProgram
from cvxproof.rounding import UNIT
from cvxproof.typing import FloatArray, IntArray, Matrix

__all__ = ["Metric", "Stationarity", "corrections", "onto_rows"]

_DENSE = 150
"""Columns up to which the least-squares problem is factorised by QR: its condition is not squared."""
_ENTRIES = 1_500_000
_LARGE = 3000
"""Columns above which no factorisation of A'FF'A is made."""
_STEPS = 300
"""Steps of LSMR."""
_SMALL = 50_000
"""Entries up to which a matrix is looked at as a dense one."""
_MOVES = 3
"""Steps of a point onto rows."""
_NEIGHBOURS = 8
"""Columns with which one that is projected out may share rows."""

Solve = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class Metric:
    """The balls of all cones around z as one linear map F."""

    def __init__(self, outward: Outward, z: FloatArray) -> None:
        self.program, m = outward.program, len(z)
        largest = float(np.abs(z).max(initial=0))
        held = [ball for cone in self.program.parts for ball in cone.balls(z[cone.rows], largest)]
        entries, width = [np.zeros((3, 0))], 0
        for one in (ball for ball in held if type(ball) is Ball):  # one matrix
            rows = np.repeat(one.rows, np.diff(one.matrix.indptr))
            entries.append(np.array([one.matrix.data, rows, width + one.matrix.indices]))
            width += one.matrix.shape[1]
        data, i, j = np.concatenate(entries, axis=1)
        whole = Ball(np.arange(m), sp.csr_matrix((data, (i.astype(int), j.astype(int))), (m, width)))
        self.balls = [whole, *(ball for ball in held if type(ball) is not Ball)]

    def times(self) -> Matrix:
        """Return F'A, in the order of the balls."""
        return self._stacked([ball.transposed for ball in self.balls])

    def sizes(self) -> Matrix:
        """Return |F|'|A|, in the order of the balls."""
        return self._stacked([ball.sizes for ball in self.balls])

    def _stacked(self, products: list[Callable[[Matrix], Matrix]]) -> Matrix:
        first, *others = products
        A = self.program.A.tocsr() if others else self.program.A
        parts = [product(A[ball.rows]) for product, ball in zip(others, self.balls[1:], strict=True)]
        return sp.vstack([first(A), *parts], format="csc") if parts else sp.csc_matrix(first(A))

    def adjoint(self, z: FloatArray) -> FloatArray:
        """Return F'z."""
        return np.concatenate([ball.adjoint(z[ball.rows]) for ball in self.balls])

    def apply(self, w: FloatArray) -> FloatArray:
        """Return F w."""
        z, at = np.zeros(len(self.program.b)), 0
        for ball in self.balls:
            end = at + ball.width
            z[ball.rows] += ball.apply(w[at:end])
            at = end
        return z


def corrections(
    outward: Outward, x: FloatArray, z: FloatArray, rounds: int, boost: float = 1.0
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield pairs (xh, z), each more nearly stationary or deeper in the dual cone.

    Parameters
    ----------
    outward : Outward
        The program.
    x, z : ndarray of shape (n,), (m,)
        Point and multipliers of a solver.
    rounds : int
        How often z is moved deeper.
    boost : float, default 1
        Factor of the depths.
    """
    program = outward.program
    s, xh = program.slacks(x), x.copy()
    scale = max(float(np.abs(z).max(initial=0)), 1e-300)
    z = program.moved_inside(z, 0.0, s)
    yield xh, z
    entry = np.ravel(abs(program.A).max(axis=0).toarray()) if len(z) else np.zeros(len(x))
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(entry > 0, np.abs(_residual(outward, xh, z)) / entry, 0.0).max(initial=0)
    for t in range(rounds):
        # First-order solvers need depths of the size of their residual.
        depth = max(boost * UNIT * scale * 16.0**t, float(needed) * 10.0 ** (t - 3) if t >= 2 else 0.0)
        z = program.moved_inside(z, depth, s)
        metric = Metric(outward, z)
        try:
            solver = Stationarity(metric.times(), program.P, augmented=t >= 2)
        except (RuntimeError, np.linalg.LinAlgError, ValueError):
            continue
        xh, z = _stepped(outward, metric, solver, xh, z)
        yield xh, z
        yield xh, program.moved_inside(z, 0.0, s)


def _residual(outward: Outward, xh: FloatArray, z: FloatArray) -> FloatArray:
    return np.asarray(outward.sums(xh, z).astype(float))


def _stepped(
    outward: Outward, metric: Metric, solver: Stationarity, xh: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return (xh, z) after steps, each of which halves the residual."""
    r, last = _residual(outward, xh, z), np.inf
    for _ in range(4):
        norm = float(np.abs(solver.scale * r).max(initial=0))
        if not norm < 0.5 * last:
            break
        last = norm
        dx, w = solver.step(-r)
        if not (np.isfinite(dx).all() and np.isfinite(w).all()):
            break
        further = xh + dx, z + metric.apply(w)
        r = _residual(outward, *further)
        if not float(np.abs(solver.scale * r).max(initial=0)) < norm:
            break
        xh, z = further
    return xh, z


class Stationarity:
    """Solutions of (B'B + P) dx = y and w = B dx, with columns scaled to length one."""

    def __init__(self, B: Matrix, P: Matrix, augmented: bool) -> None:
        n = B.shape[1]
        squares = np.ravel(B.multiply(B).sum(axis=0)) + P.diagonal()
        largest = max(float(squares.max(initial=0)), 1e-250)
        self.scale = 1 / np.sqrt(np.maximum(squares, 1e-32 * largest))
        if n <= _DENSE and len(squares) * B.shape[0] <= _ENTRIES:
            self.B = B.toarray() * self.scale
            self._solve = self._by_qr(P.toarray() * self.scale * self.scale[:, None])
        else:
            S = sp.diags(self.scale)
            self.B = (B @ S).tocsc()
            self._solve = self._chosen((S @ P @ S).tocsc(), n, augmented)

    def step(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return dx and w for the right side y."""
        dx, w = self._solve(self.scale * y)
        return self.scale * dx, w

    def _chosen(self, P: Matrix, n: int, augmented: bool) -> Solve:
        m = self.B.shape[0]
        if n > _LARGE and abs(P - sp.diags(P.diagonal())).nnz == 0:
            return self._by_lsmr(P)
        if augmented and n <= _LARGE:
            K = sp.bmat([[sp.identity(m), -self.B], [self.B.T, P + 1e-15 * sp.identity(n)]], format="csc")
            factors = sla.splu(K)
            return lambda y: self._with_w(factors.solve(np.concatenate([np.zeros(m), y]))[m:])
        H = (self.B.T @ self.B + P + 1e-14 * sp.identity(n)).tocsc()
        if H.nnz > 0.3 * n * n and n <= 4000:
            dense = scipy.linalg.cho_factor(H.toarray() + 1e-13 * np.eye(n))
            return lambda y: self._with_w(scipy.linalg.cho_solve(dense, y))
        solve = _symmetric_solver(H)
        return lambda y: self._with_w(solve(y))

    def _with_w(self, dx: FloatArray) -> tuple[FloatArray, FloatArray]:
        return dx, self.B @ dx

    def _by_qr(self, P: FloatArray) -> Solve:
        n = len(P)
        rows = [self.B, 1e-15 * np.eye(n)]
        curved = np.flatnonzero(P.diagonal())  # of a convex P, the others are zero
        if len(curved):
            values, vectors = np.linalg.eigh(P[np.ix_(curved, curved)])
            root = np.zeros((len(curved), n))
            root[:, curved] = (vectors * np.sqrt(np.maximum(values, 0.0))).T
            rows.append(root)
        R = np.linalg.qr(np.vstack(rows), mode="r")
        solve = scipy.linalg.solve_triangular
        return lambda y: self._with_w(solve(R, solve(R, y, trans="T")))

    def _by_lsmr(self, P: Matrix) -> Solve:
        """Find the w of least norm with B'w = y without a factorisation; square roots of P are further rows.

        Columns that are orthogonal to each other, such as those of the t of |u| <= t, are projected out of the others:
        what is left has another scale, and far fewer steps are needed.
        """
        n, root = self.B.shape[1], np.sqrt(P.diagonal())
        curved = np.flatnonzero(root)
        more = sp.csr_matrix((root[curved], (np.arange(len(curved)), curved)), (len(curved), n))
        B = sp.vstack([self.B, more]).tocsc()
        apart = _orthogonal_columns(B)
        others = np.setdiff1d(np.arange(n), apart)
        T = B[:, apart]
        squares = np.maximum(np.ravel(T.multiply(T).sum(axis=0)), 1e-300)
        C = sp.diags(1 / squares) @ (T.T @ B[:, others])
        rest = B[:, others] - T @ C
        scale = 1 / np.sqrt(np.maximum(np.ravel(rest.multiply(rest).sum(axis=0)), 1e-32))
        M = (rest @ sp.diags(scale)).T.tocsr()

        def solve(y: FloatArray) -> tuple[FloatArray, FloatArray]:
            first = T @ (y[apart] / squares)
            w = first + sla.lsmr(M, scale * (y[others] - C.T @ y[apart]), 0, 1e-14, 1e-14, 0, _STEPS)[0]
            dx = np.zeros(n)
            dx[curved] = w[self.B.shape[0] :] / root[curved]
            return dx, w[: self.B.shape[0]]

        return solve


def _orthogonal_columns(B: Matrix) -> IntArray:
    """Return columns no two of which share a row, those of few neighbours first."""
    pattern = (abs(B).T @ abs(B)).tocsr()
    counts = np.diff(pattern.indptr)
    free, chosen = np.ones(B.shape[1], dtype=bool), []
    for j in np.argsort(counts, kind="stable").tolist():
        if counts[j] > _NEIGHBOURS:
            break
        if free[j]:
            chosen.append(j)
            free[pattern.indices[pattern.indptr[j] : pattern.indptr[j + 1]]] = False
    return np.array(chosen, dtype=np.intp)


def onto_rows(program: ConeProgram, x: FloatArray) -> FloatArray:
    """Return a point next to x that is less outside of rows that are equalities or inequalities.

    Columns move the less the nearer their bounds are: dx = W^2 R'y with R W^2 R'y = what is missed, R the equalities
    and the inequalities that do not hold, and W the distances of the columns from their bounds.
    """
    low, high = written_box(program)
    is_equality, is_bound = np.zeros((2, len(program.b)), dtype=bool)
    for cone in program.parts:
        is_equality[cone.rows.ravel()] = isinstance(cone, Zero)
    is_bound[np.concatenate([bounds.rows for bounds in program.bounds])] = True
    A = program.A.toarray() if program.A.shape[0] * program.A.shape[1] <= _SMALL else program.A.tocsr()
    for _ in range(_MOVES):
        x = np.clip(x, low, high)
        room = np.minimum(np.minimum(x - low, high - x), 1e3 * (1 + np.abs(x)))
        missed = program.slacks(x)
        rows = np.flatnonzero(is_equality | ((missed < 0) & ~is_bound))
        if not len(rows):
            break
        try:
            x = x + room * _least_step(A[rows], room, missed[rows])
        except (RuntimeError, np.linalg.LinAlgError):  # it is singular
            break
    return np.asarray(np.clip(x, low, high))


def _least_step(A: Matrix, room: FloatArray, missed: FloatArray) -> FloatArray:
    """Return R'y with R R'y = what is missed, R = A diag(room)."""
    if isinstance(A, np.ndarray):
        R = A * room
        scale = 1 / np.sqrt(np.maximum((R * R).sum(axis=1), 1e-300))
        R *= scale[:, None]
        return np.asarray(R.T @ np.linalg.solve(R @ R.T + 1e-14 * np.eye(len(R)), scale * missed))
    R = A @ sp.diags(room)
    scale = 1 / np.sqrt(np.maximum(np.ravel(R.multiply(R).sum(axis=1)), 1e-300))
    R = (sp.diags(scale) @ R).tocsc()
    return np.asarray(R.T @ _symmetric_solver((R @ R.T + 1e-14 * sp.identity(len(scale))).tocsc())(scale * missed))


def _symmetric_solver(H: Matrix) -> Callable[[FloatArray], FloatArray]:
    options = {"SymmetricMode": True}
    solve: Callable[[FloatArray], FloatArray] = sla.splu(
        H, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
    ).solve
    return solve
