r"""Kernels of low numerical rank: K = F F' + E with an E that is rounding, which certificates charge for.

A smooth kernel of a few features has eigenvalues that fall below the rounding of K after some hundred of them. A
Cholesky factorisation with pivots stops there: of n columns of K it computes r, and K is never stored. What is left, E,
is a Schur complement of K and positive semidefinite like K itself, up to the rounding of its entries. So the functions
of F F' cost no less in its norm than in that of K, whose optimum is lower by gamma_A a'E a for the coefficients a at
the most: `TruncatedKernel.length_left` bounds that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from specmargin.kernels.operators import LowRankKernel
from specmargin.kernels.semidefinite import blocks
from specmargin.rounding import UNIT, blocked_depth, blocked_product, exact_dot, gamma, split_product
from specmargin.typing import FloatArray, Matrix

__all__ = ["TruncatedKernel", "truncated_kernel"]

_SHARE = 1e-14  # of the trace that may be left
_PIVOTS, _CANDIDATES = 64, 256
_PROBED = 0.01  # of the largest diagonal that is left: candidates below are those of a later step
_SIZES = (128, 1024)  # of the diagonal blocks of E that are looked at where its diagonal does not suffice


@dataclass(frozen=True, eq=False)
class TruncatedKernel(LowRankKernel):
    """K = F F' + E, used as F F'.

    Parameters
    ----------
    factor : ndarray of shape (n, r)
        F, best in Fortran's order.
    left : ndarray of shape (n,)
        Diagonal of E.
    block : callable
        ``block(rows)`` returns the entries of K between the samples of a slice.

    Examples
    --------
    >>> F, K = np.ones((2, 1)), np.array([[1.25, 1.0], [1.0, 1.0]])
    >>> truncated = TruncatedKernel(F, np.array([0.25, 0.0]), lambda rows: K[rows, rows])
    >>> round(truncated.length_left(np.array([2.0, 1.0])), 6)
    1.0
    """

    left: FloatArray
    block: Callable[[slice], FloatArray]

    def diagonal(self) -> FloatArray:
        """Return the diagonal of F F' + 2 E: no less than K's, with room for a sum of two lengths."""
        return super().diagonal() + 2.0 * self.left

    def __matmul__(self, other: FloatArray) -> FloatArray:
        """Return F (F'v), the product of a vector with F' in blocks that round less."""
        return self.factor @ (blocked_product(self.factor.T, other) if other.ndim == 1 else self.factor.T @ other)

    @property
    def rounding(self) -> float:
        """Bound on the rounding of F F'v at sample i, over sqrt(K_ii) sum_j sqrt(K_jj) |v_j|."""
        n, r = self.factor.shape
        return gamma(blocked_depth(n) + r + 3)

    def split_product(self, v: FloatArray, slices: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return K v as in `specmargin.rounding.split_product`, of two slices: with one it rounds as the product."""
        return super().split_product(v, max(slices, 2))

    def length_left(self, v: FloatArray, enough: float = 0.0) -> float:
        """Return a bound on sqrt(v'E v): by the diagonal of E, and where that is not enough by blocks of E.

        The lengths of the blocks' parts of v add up to no less than that of v, in fewer terms the larger the blocks.
        """
        length = float(np.sqrt(self.left) @ np.abs(v))
        for size in _SIZES:
            if length <= enough:
                break
            length = min(length, sum(self._length_in(rows, v[rows]) for rows in blocks(len(v), size)))
        return (1.0 + 1e-9) * length

    def _length_in(self, rows: slice, v: FloatArray) -> float:
        """Return a bound on sqrt(v'E v) of one block, whose parts nearly cancel."""
        f, f_low, f_error = split_product(self.block(rows), v)
        a, a_low, a_error = split_product(self.factor[rows].T, v)
        value = exact_dot(v, f) - exact_dot(a, a) + float(v @ f_low) - 2.0 * float(a @ a_low)
        error = float(np.abs(v) @ (f_error + len(v) * UNIT * np.abs(f_low)))
        error += 2.0 * float(np.abs(a) @ (a_error + len(a) * UNIT * np.abs(a_low))) + 8.0 * UNIT * abs(value)
        return math.sqrt(max(value, 0.0) + error + 4.0 * UNIT * exact_dot(a, a))


def truncated_kernel(block: Callable[..., FloatArray], X: Matrix, most: int) -> TruncatedKernel | None:
    """Return the kernel of samples by a factor of at most `most` columns; None where more are needed.

    Parameters
    ----------
    block : callable
        ``block(X, Y)`` returns the kernel between the rows of X and Y, positive semidefinite: `Kernel.block`.
    X : ndarray or sparse matrix of shape (n, d)
    most : int
        Largest number of columns. Where the trace that is left would not be rounding by then at the rate so far, no
        more are computed: that of a smooth kernel falls ever slower.

    Examples
    --------
    >>> from specmargin.kernels import RBF
    >>> X = np.linspace(0.0, 1.0, 500)[:, None]
    >>> K = truncated_kernel(RBF(1.0).block, X, 60)
    >>> K.factor.shape[1] < 20, bool(np.abs(np.asarray(K) - RBF(1.0)(X)).max() < 1e-12)
    (True, True)
    >>> truncated_kernel(RBF(1e4).block, X, 60) is None
    True
    """
    n, rng = X.shape[0], np.random.default_rng(0)
    left = np.concatenate([block(X[rows], X[rows]).diagonal() for rows in blocks(n, _CANDIDATES)])
    trace, G = float(left.sum()), np.empty((0, n))
    if not trace > 0.0:
        return None
    while (share := float(left.sum()) / trace) > _SHARE:
        r = len(G)
        # Several pivots at a time, drawn where much is left and tested against each other.
        drawn = np.unique(np.append(rng.choice(n, _CANDIDATES, p=left / left.sum()), left.argmax()))
        at = G[:, drawn]
        least = max(_PROBED * float(left.max()), 1e-3 * _SHARE * trace / n)
        C, order, rank, _ = sla.lapack.dpstrf(block(X[drawn]) - at.T @ at, lower=1, tol=least)
        m, order = min(rank, _PIVOTS), order[:_PIVOTS] - 1
        if m == 0 or r + m > most or r * math.log(_SHARE) < most * math.log(share):
            return None
        pivots = drawn[order[:m]]
        new = block(X[pivots], X) - at[:, order[:m]].T @ G
        new = sla.blas.dtrsm(1.0, C[:m, :m], new.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
        left -= np.einsum("ij,ij->j", new, new)
        np.maximum(left, 0.0, out=left)
        left[pivots] = 0.0
        G.resize((r + m, n), refcheck=False)  # in place where the system can
        G[r:] = new
    return TruncatedKernel(G.T, left, lambda rows: block(X[rows]))
