"""Proofs that an exactly feasible point exists next to one in floating point: of the dual, and of the primal.

Both rest on one lemma. Let X be an approximate inverse of the triangular factor of B, and |(B X)'(B X) - I| < 1/2, what
rounding does included. Then B'w = y has a solution of norm at most |X'y| / sqrt(1 - g), g that norm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.lapack import dtrtri

from cvxproof.conic.cones import Semidefinite, Zero
from cvxproof.conic.correction import Metric
from cvxproof.conic.outward import Box, Outward
from cvxproof.conic.program import ConeProgram
from cvxproof.rounding import UNIT
from cvxproof.typing import FloatArray, IntArray, Matrix

__all__ = ["FEW", "cost_of_exact_dual", "cost_of_squares", "upper_end"]

_RADIUS = 1e-2
_NEGLIGIBLE = 1e-2
_COLUMNS = 800
_ENTRIES = 4_000_000
_WIDEST = 40
FEW = 300
"""Columns up to which all are made stationary that do not have both bounds."""
_EQUALITIES = 600
_STEPS = 8
_RATIONAL = 30
"""Columns up to which squares are completed in rational arithmetic."""
_TINY = 1e-250
"""Far above what underflow hides of a norm, and below every norm that matters."""


def cost_of_exact_dual(
    outward: Outward, z: FloatArray, xh: FloatArray, x: FloatArray, residual: Box, box: Box
) -> float:
    """Return what the bound loses when (z, xh) becomes a pair that is stationary in all columns without bounds.

    B = [F'A; P^1/2]. If B'w = -r, in the columns that the box leaves open, has a solution of norm rho, then
    z + F w_1 is in the dual cone as rho is at most the radius of the balls. The bound loses |F's| rho + rho^2 +
    |P^1/2 (x - xh)| rho, and what the residual of the other columns, changed by |B_j| rho at most, costs in their
    bounds: one of these is enough where the residual does not lead to the other.

    Returns
    -------
    float
        The loss; infinite where nothing is proved.
    """
    program = outward.program
    is_open = ~box.is_finite
    if is_open.sum() > FEW:
        up, down = (residual.low > 0) & np.isfinite(box.low), (residual.high < 0) & np.isfinite(box.high)
        is_open &= ~((up | down) & (box.low <= box.high))
    is_wide = any(isinstance(cone, Semidefinite) and cone.order > _WIDEST for cone in program.parts)
    is_large = is_open.sum() > _COLUMNS or len(program.q) * len(program.b) > _ENTRIES
    if is_large or is_wide or (program.P.nnz and program.convexity[0] > 0):
        return math.inf
    metric, widest = Metric(outward, z), max((_width(cone) for cone in program.parts), default=1)
    length = float(np.linalg.norm(metric.adjoint(program.slacks(x))))
    maps, sizes = [metric.times()], [metric.sizes()]
    if program.P.nnz and (root := _root(outward)) is not None:
        maps.append(sp.csc_matrix(root))
        sizes.append(sp.csc_matrix((len(root) + 2) * np.abs(root)))
        length += 1.5 * float(np.linalg.norm(root @ (x - xh)))
    B, size = sp.vstack(maps, format="csc"), sp.vstack(sizes, format="csc")
    rounding = 2 * (widest + 8) * size[:, is_open].toarray()
    rho = _least_norm(B[:, is_open].toarray(), residual.modulus[is_open], rounding) * (1 + _NEGLIGIBLE)
    if not rho <= _RADIUS or not all(cone.holds_balls(z[cone.rows], _RADIUS) for cone in program.parts):
        return math.inf
    moved = rho * np.sqrt(np.ravel(size.multiply(size).sum(axis=0))) * (1 + 1e-9)
    others = box.cost(Box(residual.low - moved, residual.high + moved), x)[~is_open]
    return (length * rho + rho * rho + float(np.maximum(others, 0.0).sum())) * (1 + 1e-6)


def cost_of_squares(program: ConeProgram, z: FloatArray, xh: FloatArray, x: FloatArray, columns: IntArray) -> float:
    """Return what r'x + (x - xh)'P (x - xh) / 2 loses over some columns against r'x0, by completing squares.

    With P = L D L' and L s = r, in rational arithmetic, the least value is r'xh - sum of s_i^2 / 2 d_i, if s_i = 0
    wherever d_i = 0: where r is in the range of a singular P.

    Parameters
    ----------
    program : ConeProgram
        P must be positive semidefinite.
    z, xh, x : ndarray
        Multipliers, the point of the bound, and x0.
    columns : ndarray of int
        Columns that share no entry of P with others.

    Returns
    -------
    float
        The loss; infinite where nothing is proved.
    """
    if len(columns) > _RATIONAL:
        return math.inf
    P, rows, loss = program.P[columns].tocsr(), [], Fraction(0)
    for j, k in enumerate(columns.tolist()):
        terms = [(program.q[k], 1.0), *_entries(P[j], xh), *_entries(program.A[:, [k]].T.tocsr(), z)]
        r = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in terms), Fraction(0))
        rows.append([*map(Fraction, P[j].toarray()[0, columns].tolist()), r])
        loss += r * (Fraction(float(x[k])) - Fraction(float(xh[k])))
    _eliminate(rows)
    for i, row in enumerate(rows):
        if row[i]:
            loss += row[-1] ** 2 / row[i] / 2
        elif row[-1]:
            return math.inf
    return math.nextafter(float(loss), math.inf)


def _eliminate(rows: list[list[Fraction]]) -> None:
    """Make a positive semidefinite matrix, with whatever stands behind it, an upper triangle D L', in place."""
    for i, row in enumerate(rows):
        for below in rows[i + 1 :] if row[i] else ():
            if below[i]:
                factor = below[i] / row[i]
                below[:] = [one - factor * above for one, above in zip(below, row, strict=True)]


def _entries(row: Matrix, x: FloatArray) -> list[tuple[float, float]]:
    """Return the entries of a row, each with the one of x that it is multiplied by."""
    return list(zip(row.data.tolist(), x[row.indices].tolist(), strict=True))


def _width(cone: object) -> int:
    return 2 * cone.order if isinstance(cone, Semidefinite) else int(cone.rows.shape[1])  # type: ignore[attr-defined]


def _root(outward: Outward) -> FloatArray | None:
    """Return R with R'R = P, up to rounding; None where P is singular to working precision.

    Of a P that is not diagonal, R'R = P + E with |E| <= n (n + 2) u D, D = diag(P), and P >= k D: next to R there is a
    root of P if E is far below k D, and else there may be none at all. A singular P of few columns has its root from
    rational arithmetic.
    """
    program = outward.program
    diagonal = program.P.diagonal()
    kept = np.flatnonzero(diagonal > 0)
    if program.is_separable:
        return np.diag(np.sqrt(diagonal))[kept]
    root = np.zeros((len(kept), len(diagonal)))
    if not len(kept) * (len(kept) + 2) * UNIT <= _NEGLIGIBLE * program.convexity[1]:
        if len(kept) > _RATIONAL:
            return None
        rows = [list(map(Fraction, row)) for row in program.P[kept][:, kept].toarray().tolist()]
        _eliminate(rows)
        for i, row in enumerate(rows):
            root[i, kept] = np.array(row, dtype=float) / math.sqrt(row[i]) if row[i] else 0.0
        return root
    try:
        root[:, kept] = np.linalg.cholesky(program.P[kept][:, kept].toarray()).T
    except np.linalg.LinAlgError:
        return None
    return root


def _least_norm(B: FloatArray, y: FloatArray, sizes: FloatArray) -> float:
    """Return a bound of the least norm of a solution of B'w = y; infinite where none is proved to exist.

    `sizes` times the unit roundoff bounds the rounding of B's entries; it is zero where these are zero for certain.
    """
    if not y.any():
        return 0.0
    touched = sizes > 0  # an entry that rounding made zero may not be
    used = touched.any(axis=0)
    if y[~used].any():
        return math.inf
    # Rows that touch no column but those of y, if they are enough; else all.
    own = ~touched[:, y == 0].any(axis=1)
    for rows, columns in ((own, y != 0), (np.ones(len(B), dtype=bool), used)):
        part = B[rows][:, columns]
        root = _by_qr(part, sizes[rows][:, columns], _scale_of_columns(np.linalg.norm(part, axis=0)))
        if root is not None:
            return root.least_norm(y[columns])
    return math.inf


class _Root(NamedTuple):
    """An approximate inverse X of a root of S B'B S, and a bound of |(B S X)'(B S X) - I|."""

    X: FloatArray
    scale: FloatArray
    defect: float
    solution: Callable[[FloatArray], FloatArray]
    """From y to a w with B'w = y, up to what rounding does: to be repeated."""

    def least_norm(self, y: FloatArray) -> float:
        """Return the bound of the lemma, for moduli of y; squares of small ones must not vanish."""
        terms = np.abs(self.X).T @ (self.scale * y)
        size = float(terms.max(initial=0.0)) + _TINY
        return size * float(np.linalg.norm(terms / size)) / math.sqrt(1 - self.defect) * (1 + 1e-10) + _TINY


def _scale_of_columns(norms: FloatArray) -> FloatArray:
    """Return powers of two, by which a product is exact."""
    return np.exp2(-np.round(np.log2(np.maximum(norms, 1e-300))))


def _inverse(R: FloatArray) -> FloatArray | None:
    """Return the inverse of a triangle; None where there is none in floating point."""
    if not R.size or not np.isfinite(R).all():
        return None  # LAPACK prints that a parameter has an illegal value
    X, info = dtrtri(R)
    return None if info or not np.isfinite(X).all() else X


def _by_gram(B: Matrix, scale: FloatArray) -> _Root | None:
    """Return the root of a sparse B, whose entries are exact up to one rounding, by Cholesky's factors of B'B."""
    m, n = B.shape
    B = B @ sp.diags(scale)
    M, size = (B.T @ B).toarray(), float((B.data**2).sum())
    try:
        X = _inverse(np.linalg.cholesky(M).T)
    except np.linalg.LinAlgError:
        return None
    if X is None:
        return None
    T = M @ X
    square = float((X * X).sum())
    defect = float(np.linalg.norm(X.T @ T - np.eye(n)))
    defect += (n + 4) * UNIT * math.sqrt(square) * float(np.linalg.norm(M) * math.sqrt(square) + np.linalg.norm(T))
    defect += (m + 8) * UNIT * size * square + 2 * n * n * UNIT
    if not defect < 0.5:
        return None
    return _Root(X, scale, defect * (1 + 1e-10), lambda y: B @ (X @ (X.T @ (scale * y))))


def _by_qr(B: FloatArray, sizes: FloatArray, scale: FloatArray) -> _Root | None:
    """Return the root by the triangle of an orthogonal factorisation, whose condition is not squared."""
    n = B.shape[1]
    B, sizes = B * scale, sizes * scale
    if len(B) < n or not np.isfinite(B).all():
        return None
    X = _inverse(np.asarray(np.linalg.qr(B, mode="r")))
    if X is None:
        return None
    G = B @ X
    error = UNIT * (((n + 8) * np.abs(B) + sizes) @ np.abs(X))
    defect = float(np.linalg.norm(G.T @ G - np.eye(n)) + 2 * np.linalg.norm(np.abs(G).T @ error))
    defect += float(np.linalg.norm(error)) ** 2 + 2 * n * n * UNIT
    if not defect < 0.5:
        return None

    def solution(y: FloatArray) -> FloatArray:
        Q, R = np.linalg.qr(B)
        return np.asarray(Q @ scipy.linalg.solve_triangular(R, scale * y, trans="T"))

    return _Root(X, scale, defect, solution)


@np.errstate(all="ignore")  # what overflows proves nothing
def upper_end(outward: Outward, x: FloatArray) -> float:
    """Return an upper bound of the optimum: at an exactly feasible point that is proved to exist next to x.

    Returns
    -------
    float
        Infinite where none is proved: the feasible set has no interior, equalities depend on each other, or x is not
        inside.
    """
    program = outward.program
    held = [cone.rows.ravel() for cone in program.parts if isinstance(cone, Zero)]
    rho = 0.0
    if held:
        x, rho = _onto_equalities(outward, x, np.concatenate(held))
        if not math.isfinite(rho):
            return math.inf
    s, error = outward.slacks(x)
    rows = np.sqrt(np.ravel(program.A.multiply(program.A).sum(axis=1)))
    moved = rows * rho * (1 + 1e-9) + error
    if not all(cone.has_room(s[cone.rows], moved[cone.rows]) for cone in program.parts):
        return math.inf
    slope = float(np.linalg.norm(program.P @ x + program.q))
    size = 0.5 * float(np.abs(x) @ (program.size_P @ np.abs(x))) + float(np.abs(program.q) @ np.abs(x))
    rounding = (2 * len(x) + 8) * UNIT * (size + abs(program.d))
    return program.value(x) + slope * rho * (1 + 1e-9) + 0.5 * float(program.size_P.sum()) * rho**2 + rounding


def _onto_equalities(outward: Outward, x: FloatArray, rows: IntArray) -> tuple[FloatArray, float]:
    """Return x moved to the equalities, and the radius within which a point is proved to satisfy them exactly."""
    program = outward.program
    B = program.A.tocsr()[rows].T.tocsc()
    norms = np.sqrt(np.ravel(B.multiply(B).sum(axis=0)))
    used, b = norms > 0, program.b[rows]
    if min(B.shape) > _EQUALITIES or used.sum() > len(x):
        return x, math.inf
    B, scale = B[:, used], _scale_of_columns(norms[used])
    root = _by_gram(B, scale) or _by_qr(B.toarray(), abs(B).toarray(), scale)
    if root is None:
        return x, math.inf
    last = math.inf
    for _ in range(_STEPS):
        rest = b[used] - B.T @ x
        size = float(np.abs(rest).max(initial=0.0))
        if not size < 0.5 * last:
            break
        x, last = x + root.solution(rest), size
    s, error = outward.slacks(x)
    missed = np.abs(s[rows]) + error[rows]
    if not missed.any():
        return x, 0.0
    return x, math.inf if missed[~used].any() else root.least_norm(missed[used])
