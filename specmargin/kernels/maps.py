r"""A kernel as features of its samples, and the kernel that a graph deforms.

A solver that works in w takes any kernel once the samples have coordinates in its space: `kernel_map` finds Z with
K = Z Z' (kernel principal components, not centred), and the features of samples that come later. With all components
a classifier on Z is the kernel classifier; with the leading `rank` of them it is confined to their span, at a
fraction of the time.

`deformed_kernel` brings a graph in: with the norm :math:`\|f\|^2 + \rho\, f^\top L f` in place of
:math:`\|f\|^2` the functions of a kernel have the kernel :math:`\tilde K = K (I + \rho L K)^{-1}` at the samples. Every
classifier of this package becomes a manifold-regularised one on it, S3VMs included ("the hybrid"). `deformed_features`
is the same for a kernel that is known by m features of n samples, m < n.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.arrays import finite_numbers, numbers_array, operator_like
from specmargin.checks import checked, number, numeric
from specmargin.exceptions import InvalidInputError
from specmargin.kernels.semidefinite import INDEFINITE, refuse_indefinite, require_semidefinite, require_symmetric
from specmargin.typing import FloatArray, MatrixLike

__all__ = ["DeformedKernel", "KernelMap", "deformed_features", "deformed_kernel", "kernel_map"]


def _dense(K: Any) -> FloatArray:
    return np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)


_K = numbers_array("the kernel matrix of the samples, (n, n)", finite=False)
_L = operator_like("Laplacian", "pass specmargin.graphs.laplacian(W), or a symmetric matrix")


@dataclass(frozen=True, eq=False)
class KernelMap:
    """The map of `kernel_map`, or of `deformed_features`.

    Parameters
    ----------
    Z : ndarray of shape (n, r)
        Features of the training samples.
    W : ndarray of shape (m, r)
        Maps rows of the kernel (m = n), or of the features that were deformed, to features: Z = K W.

    Examples
    --------
    >>> features = kernel_map(np.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> features.rank, np.abs(features(np.array([[2.0, 0.0]]))).tolist()
    (2, [[1.0, 0.0]])
    """

    Z: FloatArray
    W: FloatArray

    @property
    def rank(self) -> int:
        """Number of features, r."""
        return int(self.Z.shape[1])

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return the features of samples with these rows of the kernel, or features that were deformed."""
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.W):
            raise InvalidInputError(f"rows has the shape {rows.shape}; pass {len(self.W)} columns, as in training.")
        return np.asarray(rows @ self.W)


@checked(K=_K, tol=numeric)
def kernel_map(K: FloatArray, *, rank: int | None = None, tol: float = 1e-10) -> KernelMap:
    r"""Return features Z of the samples with Z Z' = K, from the eigenvectors of K.

    .. math::

        K = V \Lambda V^\top, \qquad Z = V \Lambda^{1/2},

        \phi(x) = \Lambda^{-1/2} V^\top k_x .

    Nothing is centred: `specmargin.objectives.Features` does that.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric, positive semidefinite.
    rank : int, optional
        Number of leading components to keep, 1 to n; by default all.
    tol : float, default 1e-10
        Components whose eigenvalue is at most this share of the largest are dropped, in [0, 1).

    Returns
    -------
    KernelMap
        Its rank is less than `rank` where K has no more components.

    Raises
    ------
    ValueError
        If K is not square, finite, symmetric and positive semidefinite, or zero; or a parameter is out of range.

    References
    ----------
    Schölkopf, Smola & Müller, Nonlinear component analysis as a kernel eigenvalue problem, Neural Computation 10, 1998.
    Chapelle, Chi & Zien, A continuation method for semi-supervised SVMs, ICML 2006 (as preprocessing of S3VMs).

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> features = kernel_map(K)
    >>> (features.Z @ features.Z.T).round(12).tolist(), kernel_map(K, rank=1).rank
    ([[2.0, 1.0], [1.0, 2.0]], 1)
    >>> bool(np.allclose(features(K), features.Z))
    True
    """
    K = _checked(K)
    n = len(K)
    if rank is not None and (isinstance(rank, bool) or not (isinstance(rank, int | np.integer) and 1 <= rank <= n)):
        raise InvalidInputError(f"rank={rank!r} must be a whole number from 1 to n={n}, or None for all components.")
    if not 0 <= tol < 1:
        raise InvalidInputError(
            f"tol={tol!r} must be in [0, 1): the share of the largest eigenvalue below which all is noise."
        )
    subset = None if rank is None or rank == n else (n - int(rank), n - 1)
    values, V = sla.eigh(K, subset_by_index=subset, check_finite=False)
    largest = float(values[-1])
    if subset is None:
        refuse_indefinite(float(values[0]), largest)
    else:
        # Cheaper than the other end of the spectrum, which is computed only for the message.
        shifted = K.copy()
        shifted[np.diag_indices(n)] += INDEFINITE * max(largest, 0.0)
        try:
            sla.cholesky(shifted, overwrite_a=True, check_finite=False)
        except sla.LinAlgError:
            least = float(sla.eigvalsh(K, subset_by_index=(0, 0), check_finite=False)[0])
            refuse_indefinite(least, largest)
    kept = values > max(tol, n * np.finfo(float).eps) * largest
    if largest <= 0 or not kept.any():
        raise InvalidInputError(f"the kernel K vanishes at all {n} samples: check features and kernel.")
    root, V = np.sqrt(values[kept][::-1]), V[:, kept][:, ::-1]
    return KernelMap(V * root, V / root)


def _checked(K: Any) -> FloatArray:
    K = _dense(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) == 0:
        raise InvalidInputError(f"K has the shape {K.shape}; pass the square kernel matrix of all samples.")
    finite_numbers("K", K, "the kernel of finite features, and check its parameters")
    require_symmetric(K, "K")
    return K


@dataclass(frozen=True, eq=False)
class DeformedKernel:
    r"""The kernel of `deformed_kernel`.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        :math:`\tilde K`, exactly symmetric.
    K : ndarray of shape (n, n)
        The kernel that was deformed.
    L : matrix-like of shape (n, n)
        The graph's Laplacian.
    ratio : float
        Weight of the graph.

    Examples
    --------
    >>> deformed = deformed_kernel(np.eye(2), np.array([[1.0, -1.0], [-1.0, 1.0]]), 1.0)
    >>> deformed.rows(np.array([[3.0, 0.0]])).round(6).tolist()
    [[2.0, 1.0]]
    """

    matrix: FloatArray
    K: FloatArray
    L: MatrixLike
    ratio: float
    _lu: tuple[FloatArray, Any] | None = field(default=None, repr=False)

    def rows(self, block: FloatArray) -> FloatArray:
        r"""Return the deformed kernel of new samples with those of K, (m, n).

        Parameters
        ----------
        block : ndarray of shape (m, n)
            Their kernel k(x, x_j); :math:`\tilde k_x = (I + \rho K L)^{-1} k_x`.
        """
        block = np.asarray(block, dtype=np.float64)
        if block.ndim != 2 or block.shape[1] != len(self.K):
            raise InvalidInputError(
                f"block has the shape {block.shape}; pass the (m, {len(self.K)}) kernel of new samples."
            )
        if self._lu is None:
            return block
        return _solved(self._lu, self.K, self.L, self.ratio, block.T).T

    def coefficients(self, v: FloatArray) -> FloatArray:
        r"""Return the expansion over the kernel that was deformed, (I + ratio L K)^-1 v.

        A function :math:`f(x) = \tilde k_x^\top v` is :math:`k_x^\top` times these: all that a fitted classifier keeps.

        Parameters
        ----------
        v : ndarray of shape (n,) or (n, c)
            Coefficients over :math:`\tilde K`.
        """
        if self._lu is None:
            return np.asarray(v, dtype=np.float64)

        def image(a: FloatArray) -> FloatArray:
            return a + self.ratio * np.asarray(self.L @ (self.K @ a))

        a = sla.lu_solve(self._lu, v, trans=1, check_finite=False)
        return np.asarray(a + sla.lu_solve(self._lu, v - image(a), trans=1, check_finite=False))


@checked(K=_K, L=_L, ratio=number(least=0))
def deformed_kernel(K: FloatArray, L: MatrixLike, ratio: float) -> DeformedKernel:
    r"""Return the kernel of the functions of K under the norm that a graph adds to.

    .. math:: \tilde K = K (I + \rho L K)^{-1}, \qquad \tilde k_x = (I + \rho K L)^{-1} k_x

    A function :math:`f = \tilde K a` has :math:`a^\top \tilde K a = \alpha^\top K \alpha + \rho\, \alpha^\top K L K
    \alpha` with :math:`\alpha` of `DeformedKernel.coefficients`. LapSVM with gamma_A and gamma_I is therefore the
    supervised SVM on :math:`\tilde K`, :math:`\rho` = gamma_I / gamma_A, and an S3VM on it is the hybrid.

    One LU factorisation, and one step of iterative refinement: with a large ratio I + ratio L K is ill-conditioned.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric, positive semidefinite.
    L : matrix-like of shape (n, n)
        Symmetric, positive semidefinite: anything with ``L @ v``, as `specmargin.graphs.laplacian`.
    ratio : float
        gamma_I / gamma_A, >= 0; 0 returns K.

    Returns
    -------
    DeformedKernel

    Raises
    ------
    ValueError
        If K is not square, finite, symmetric and positive semidefinite, L of another size, or the ratio negative or
        not finite.

    References
    ----------
    Sindhwani, Niyogi & Belkin, Beyond the point cloud: from transductive to semi-supervised learning, ICML 2005.

    Examples
    --------
    Two samples joined by an edge become more alike:

    >>> L = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> deformed_kernel(np.eye(2), L, 1.0).matrix.round(6).tolist()
    [[0.666667, 0.333333], [0.333333, 0.666667]]
    """
    K = _checked(K)
    n = len(K)
    _check_graph(L, n)
    require_semidefinite(K)
    if ratio == 0:
        return DeformedKernel(K, K, L, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # reported below, with a remedy
        S = ratio * np.asarray(L @ K)
    S[np.diag_indices(n)] += 1.0
    if not np.isfinite(S).all():
        raise InvalidInputError(f"ratio={ratio!r} times L K is not finite; check L, or take a smaller ratio.")
    # K S^-1 is symmetric, so that it solves S'X = K. The transpose is what LAPACK can overwrite without a copy.
    lu = sla.lu_factor(S.T, overwrite_a=True, check_finite=False)
    deformed = _solved(lu, K, L, ratio, K)
    return DeformedKernel((deformed + deformed.T) / 2, K, L, float(ratio), lu)


@checked(F=numbers_array("features, (n, m)", finite=False), L=_L, ratio=number(least=0))
def deformed_features(F: FloatArray, L: MatrixLike, ratio: float) -> KernelMap:
    r"""Return features of the deformed kernel of K = F F', from an m x m factorisation.

    .. math::

        I + \rho F^\top L F = R^\top R, \qquad Z = F R^{-1},

        Z Z^\top = F (R^\top R)^{-1} F^\top = \tilde K

    Parameters
    ----------
    F : ndarray of shape (n, m)
        Features of the samples: raw ones, or those of landmarks.
    L : matrix-like of shape (n, n)
        Symmetric, positive semidefinite: anything with ``L @ v``.
    ratio : float
        gamma_I / gamma_A, >= 0.

    Returns
    -------
    KernelMap
        Map with ``W`` = :math:`R^{-1}`, to be applied to features of new samples.

    Raises
    ------
    ValueError
        If F is no finite matrix, L of another size, or the ratio negative or not finite.

    Examples
    --------
    >>> L = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> features = deformed_features(np.eye(2), L, 1.0)
    >>> (features.Z @ features.Z.T).round(6).tolist()
    [[0.666667, 0.333333], [0.333333, 0.666667]]
    """
    F = _dense(F)
    if F.ndim != 2 or 0 in F.shape:
        raise InvalidInputError(f"F must be a finite matrix (n, m), got the shape {F.shape}.")
    finite_numbers("F", F, "finite features")
    _check_graph(L, len(F), "F")
    with np.errstate(over="ignore", invalid="ignore"):  # reported below, with a remedy
        M = ratio * (F.T @ np.asarray(L @ F))
        M = (M + M.T) / 2
    M[np.diag_indices(len(M))] += 1.0
    if not np.isfinite(M).all():
        raise InvalidInputError(
            f"ratio={ratio!r} times F'L F is not finite; scale the features, or take a smaller ratio."
        )
    R = sla.cholesky(M, overwrite_a=True, check_finite=False)
    W = sla.solve_triangular(R, np.eye(len(R)), overwrite_b=True, check_finite=False)
    return KernelMap(F @ W, W)


def _check_graph(L: MatrixLike, n: int, name: str = "K") -> None:
    shape = tuple(getattr(L, "shape", (n, n)))
    if shape != (n, n):
        raise InvalidInputError(
            f"L has the shape {shape}, but {name} has {n} rows; build the graph on the same samples."
        )


def _solved(lu: tuple[FloatArray, Any], K: FloatArray, L: MatrixLike, ratio: float, rhs: FloatArray) -> FloatArray:
    """Return (I + ratio K L)^-1 rhs for columns, from the factors of that matrix, refined once."""
    X = sla.lu_solve(lu, rhs, check_finite=False)
    residual = rhs - X - ratio * (K @ np.asarray(L @ X))
    return np.asarray(X + sla.lu_solve(lu, residual, overwrite_b=True, check_finite=False))
