r"""The reduction of a manifold-regularised problem where gamma_A is far below gamma_I: by a Cholesky factor of K.

`specmargin.objectives.reduction.reduce` factorises S = gamma_A I + gamma_I L K, which is not symmetric; below
gamma_A = 1e-8 gamma_I its answers lose all digits. With K = F F' the same problem in w, f = F w, has the matrix

    M = gamma_A I + gamma_I F'L F,

symmetric positive definite, whose factorisation is stable however the gammas differ. The coefficients are those on
the pivots of F alone: with F_p the rows of the pivots, alpha_p = F_p^-T w and K alpha = F w. It takes four times as
long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla

from specmargin.exceptions import InvalidTypeError, SolverError
from specmargin.kernels.operators import KernelOperator, LowRankKernel, kernel_rows
from specmargin.objectives.reduction import Reduction, damping, deformed
from specmargin.rounding import cholesky
from specmargin.typing import FloatArray, IntArray, MatrixLike

__all__ = ["reduce_pivoted"]


@dataclass(frozen=True, eq=False)
class _Pivoted:
    """(S + c J'J K)^-1 J' on the pivots of K = F F', and the inverse of S."""

    F: FloatArray
    pivots: IntArray
    corner: FloatArray
    a: FloatArray
    factor: tuple[FloatArray, FloatArray]
    gain: FloatArray
    c: float
    unit: float = 1.0

    def __matmul__(self, v: FloatArray) -> FloatArray:
        return self._embedded(self.unit * (self.a @ v))

    def __rmul__(self, unit: float) -> _Pivoted:
        return replace(self, unit=unit * self.unit)

    def solve(self, r: FloatArray) -> FloatArray:
        """Return S^-1 r in the same units, up to what K maps to zero."""
        q = _solved(self.factor, self.F.T @ r)
        # Without the damping, by Woodbury's identity.
        q = q + self.c * (self.a @ (self.gain @ (self.a.T @ (self.F.T @ r))))
        return self._embedded(self.unit * q)

    def _embedded(self, w: FloatArray) -> FloatArray:
        alpha = np.zeros((len(self.F), *w.shape[1:]))
        alpha[self.pivots] = sla.solve_triangular(self.corner, w, lower=True, trans=1, check_finite=False)
        return alpha


def reduce_pivoted(K: Any, L: MatrixLike | None, labeled: IntArray, gamma_A: float, gamma_I: float) -> Reduction:
    """Return the reduction of a problem, as `specmargin.objectives.reduction.reduce`, stable for all gammas.

    Parameters
    ----------
    K, L, labeled, gamma_A, gamma_I
        The same as there.

    Raises
    ------
    SolverError
        If K is zero, or the numbers overflow.
    TypeError
        If K is an operator of another kind than a LowRankKernel.

    Examples
    --------
    >>> K, L = np.eye(3), np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> (8 * reduce_pivoted(K, L, np.array([0, 2]), gamma_A=1.0, gamma_I=1.0).G).round(9).tolist()
    [[5.0, 1.0], [1.0, 5.0]]
    """
    F, pivots = _factor(K)
    R = F[labeled]
    c = damping(K, gamma_A, gamma_I)
    M = c * (R.T @ R)
    if L is not None and gamma_I > 0:
        P = F.T @ np.asarray(L @ F)
        M += gamma_I * ((P + P.T) / 2)
    M[np.diag_indices_from(M)] += gamma_A
    if not np.isfinite(M).all():
        raise SolverError("the products of kernel and graph overflow; scale the features or take smaller gammas.")
    # Unit diagonal: the columns of F fall over sixteen orders of magnitude.
    scale = 1.0 / np.sqrt(M.diagonal())
    factor = _shifted_factor(M * scale[:, None] * scale), scale
    a = _solved(factor, R.T)
    G, gain = deformed(R @ a, c)
    return Reduction(_Pivoted(F, pivots, F[pivots], a, factor, gain, c), G, c)


def _factor(K: Any) -> tuple[FloatArray, IntArray]:
    """Return F (n, r) with K = F F' up to rounding, and the r rows on which it is triangular."""
    if isinstance(K, LowRankKernel):
        R, order = sla.qr(K.factor.T, mode="r", pivoting=True, check_finite=False)
        sizes = np.abs(R.diagonal())
        rank = int(np.count_nonzero(sizes > len(order) * np.finfo(float).eps * sizes.max(initial=0.0)))
        factor, order = R[:rank].T, np.asarray(order, dtype=np.intp)
    elif isinstance(K, KernelOperator):
        raise InvalidTypeError(f"a {type(K).__name__} is not stored, so that there is nothing to factorise.")
    else:
        n = K.shape[0]
        dense = kernel_rows(K, np.arange(n))
        tol = np.finfo(float).eps * float(dense.diagonal().max(initial=0.0))
        C, order, rank, _ = sla.lapack.dpstrf(dense, lower=1, tol=tol)
        factor, order = np.tril(C)[:, :rank], np.asarray(order, dtype=np.intp) - 1
    if rank == 0:
        raise SolverError("the kernel is zero at all samples: there is nothing to learn with.")
    F = np.empty((len(order), rank))
    F[order] = factor
    return F, order[:rank]


def _shifted_factor(M: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a matrix of unit diagonal, which is shifted where rounding made it indefinite."""
    shift = 0.0
    while shift < 1.0:
        C = cholesky(M + shift * np.eye(len(M)), clean=False)
        if C is not None:
            return C
        shift = max(10.0 * shift, 1e-16 * len(M))
    raise SolverError("the penalties of kernel and graph are no positive definite form; check K and L.")


def _solved(factor: tuple[FloatArray, FloatArray], right: FloatArray) -> FloatArray:
    C, scale = factor
    columns = scale[:, None] if right.ndim == 2 else scale
    return np.asarray(columns * sla.lapack.dpotrs(C, columns * right, lower=1)[0])
