"""Kernels that are not stored as n x n numbers: the objectives need only products with them.

`LowRankKernel` is K = F F' of a factor F (n, m). A problem with it is the same problem confined to the span of the
columns of F, exactly; two factors serve large samples: `specmargin.kernels.landmark_features`, whose span is that of
the kernel functions at m landmarks (Nyström), and sqrt(n) times the lowest eigenvectors of a graph Laplacian. A sparse
K may be passed as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.arrays import finite_numbers, numbers_array
from specmargin.rounding import UNIT, gamma, split_product
from specmargin.typing import AnyArray, FloatArray, IntArray, MatrixLike

__all__ = [
    "KernelOperator",
    "LowRankKernel",
    "as_kernel",
    "kernel_diagonal",
    "kernel_rows",
    "kernel_trace",
]

WIDE = 512
"""Columns of a factor beyond which half of a symmetric product is computed; of fewer the graph takes the time."""
_ROWS = 256  # of an operator that are computed at a time
_PRODUCT_ROWS = 2048  # of a product with a graph that are held at a time
_PANEL = 64  # columns that a graph multiplies at once: they stay in the cache
_MATRIX = numbers_array("the kernel matrix of the samples, (n, n)", ndim=2, finite=False)


class KernelOperator(ABC):
    """A positive semidefinite kernel of n samples, known by its products.

    Examples
    --------
    >>> K = LowRankKernel(np.array([[1.0], [2.0]]))
    >>> K.shape, (K @ np.array([1.0, 1.0])).tolist(), np.asarray(K).tolist()
    ((2, 2), [3.0, 6.0], [[1.0, 2.0], [2.0, 4.0]])
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of samples, twice."""

    @abstractmethod
    def __matmul__(self, other: FloatArray) -> FloatArray:
        """Return K v, for a vector or for columns."""

    @abstractmethod
    def rows(self, index: IntArray) -> FloatArray:
        """Return some rows of K, (len(index), n)."""

    @abstractmethod
    def trace(self) -> float:
        """Return the sum of the diagonal."""

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n,)."""
        blocks = np.array_split(np.arange(self.shape[0]), max(1, self.shape[0] // _ROWS))
        return np.concatenate([self.rows(at)[np.arange(len(at)), at] for at in blocks])

    @property
    def rounding(self) -> float:
        """Bound on the rounding of K v at sample i, over sqrt(K_ii) sum_j sqrt(K_jj) |v_j|."""
        return gamma(self.shape[0] + 1)

    def split_product(self, v: FloatArray, slices: int) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return K v as in `specmargin.rounding.split_product`, None where that cannot be computed."""
        return None

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        """Return all of K, stored."""
        return self.rows(np.arange(self.shape[0])).astype(dtype or np.float64)


@dataclass(frozen=True, eq=False)
class LowRankKernel(KernelOperator):
    """K = F F'.

    Parameters
    ----------
    factor : ndarray of shape (n, m)
        F. A function f = K alpha is F a with a = F'alpha, and its norm in the space of the kernel is |a|.

    Raises
    ------
    ValueError
        If the factor is no matrix, or not finite.

    Examples
    --------
    >>> K = LowRankKernel(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> K.rows(np.array([2])).tolist(), K.trace(), len(K)
    ([[1.0, 1.0, 2.0]], 4.0, 3)
    """

    factor: FloatArray

    def __post_init__(self) -> None:
        numbers_array("a finite matrix (n, m)", ndim=2)("factor", self.factor)
        factor = np.asarray(self.factor, dtype=np.float64)
        object.__setattr__(self, "factor", factor)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, twice."""
        return (len(self.factor), len(self.factor))

    def __matmul__(self, other: FloatArray) -> FloatArray:
        """Return F (F'v)."""
        return self.factor @ (self.factor.T @ other)

    def rows(self, index: IntArray) -> FloatArray:
        """Return some rows of K."""
        return self.factor[index] @ self.factor.T

    def trace(self) -> float:
        """Return |F|^2."""
        return self._trace

    @cached_property
    def _trace(self) -> float:
        return float(np.einsum("ij,ij->", self.factor, self.factor))

    def diagonal(self) -> FloatArray:
        """Return the squared lengths of the rows of F."""
        return np.einsum("ij,ij->i", self.factor, self.factor)

    @property
    def rounding(self) -> float:
        """Bound on the rounding of K v at sample i, over sqrt(K_ii) sum_j sqrt(K_jj) |v_j|."""
        return gamma(sum(self.factor.shape) + 3)

    def split_product(self, v: FloatArray, slices: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return K v as in `specmargin.rounding.split_product`."""
        F, m = self.factor, self.factor.shape[1]
        a, a_low, a_error = split_product(F.T, v, slices)
        high, low, error = split_product(F, a, slices)
        lengths = np.sqrt(self.diagonal())
        inner = float(np.linalg.norm(a_error)) + gamma(m + 3) * float(np.linalg.norm(a_low))
        return high, low + F @ a_low, (error + lengths * inner) * (1.0 + 1e-9) + 4.0 * UNIT * np.abs(low)

    def penalty(self, L: MatrixLike) -> FloatArray:
        """Return F'L F, (m, m), symmetric; that of the last L is kept, so that a grid of weights computes it once."""
        known = self._last_penalty
        if not known or known[0] is not L:
            F, (n, m) = self.factor, self.factor.shape
            wide = m > WIDE
            product = np.zeros((m, m), order="F" if wide else "C")
            if wide and F.flags.c_contiguous and getattr(L, "power", 1) == 2:
                root: Any = L
                for at in range(0, n, _PRODUCT_ROWS):  # |L F|^2 of the root of L: half a product
                    Z = np.asarray(root.matrix[at : at + _PRODUCT_ROWS] @ F)
                    product = sla.blas.dsyrk(1.0, Z.T, beta=1.0, c=product, lower=1, overwrite_c=1)
            else:
                for start in range(0, m, _PANEL):
                    panel, below = slice(start, start + _PANEL), start if wide else 0
                    product[below:, panel] = F[:, below:].T @ (L @ np.ascontiguousarray(F[:, panel]))
            whole = np.tril(product) if wide else product / 2
            whole += whole.T
            if wide:
                whole[np.diag_indices(m)] /= 2
            known[:] = [L, whole]
        return np.asarray(known[1])

    @cached_property
    def _last_penalty(self) -> list[Any]:
        return []  # filled by `penalty`: the L, and F'L F


def as_kernel(K: Any) -> Any:
    """Return a kernel in the form that the objectives use: a dense float64 matrix, a CSR matrix, or an operator.

    Raises
    ------
    ValueError
        If a stored kernel holds NaN or infinite entries.

    Examples
    --------
    >>> as_kernel([[1, 0], [0, 1]]).dtype.name
    'float64'
    """
    if isinstance(K, KernelOperator):
        return K
    K = _MATRIX("K", K)
    K = sp.csr_array(K, dtype=np.float64) if sp.issparse(K) else np.asarray(K, dtype=np.float64)
    finite_numbers("K", K, "the kernel of finite features, and check its parameters")
    return K


def kernel_rows(K: Any, index: IntArray) -> FloatArray:
    """Return some rows of a kernel in any of the forms of `as_kernel`, dense.

    Examples
    --------
    >>> kernel_rows(np.eye(3), np.array([1])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    if isinstance(K, KernelOperator):
        return K.rows(index)
    rows = K[index]
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows)


def kernel_diagonal(K: Any) -> FloatArray:
    """Return the diagonal of a kernel in any of the forms of `as_kernel`.

    Examples
    --------
    >>> kernel_diagonal(np.eye(2)).tolist()
    [1.0, 1.0]
    """
    return np.asarray(K.diagonal(), dtype=np.float64)


def kernel_trace(K: Any) -> float:
    """Return the trace of a kernel in any of the forms of `as_kernel`.

    Examples
    --------
    >>> kernel_trace(np.eye(3))
    3.0
    """
    return K.trace() if isinstance(K, KernelOperator) else float(K.diagonal().sum())
