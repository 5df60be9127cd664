"""Kernels of many samples without their n x n numbers: rows computed when they are needed, and landmarks.

`BlockKernel` holds the data only: a product computes rows of K block by block and forgets them. `landmark_features`
maps samples to features whose inner products are Nyström's approximation of a kernel, the factor of a
`specmargin.kernels.LowRankKernel`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.checks import seed, shown, whole
from specmargin.exceptions import InvalidInputError
from specmargin.kernels.matrices import SCALED, Kernel, check_kernel, check_rows, gram, resolve_gamma
from specmargin.kernels.operators import KernelOperator
from specmargin.kernels.semidefinite import is_semidefinite, require_semidefinite
from specmargin.rounding import UNIT, gamma
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = ["BlockKernel", "LandmarkFeatures", "landmark_features"]

_BLOCK_ELEMENTS = 2**24
_CHECKED = 512  # samples on which a kernel of one's own is checked
_NULL = 1e-12
"""Share of the largest diagonal below which what is left of a landmark's kernel by the others is rounding."""


@dataclass(frozen=True, eq=False)
class BlockKernel(KernelOperator):
    """A kernel of `specmargin.kernels.gram` whose rows are computed when a product needs them.

    Memory is that of the data and of one block; every product costs as much as computing K.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Samples.
    kernel, gamma, degree, coef0
        The same as in `specmargin.kernels.gram`; a rule for gamma is resolved on X.
    block_elements : int, default 2**24
        Entries of K that are held at once.

    Raises
    ------
    ValueError
        If the kernel is "precomputed", or one of one's own is not positive semidefinite on 512 of the samples.

    Examples
    --------
    >>> X = np.arange(4.0)[:, None]
    >>> K = BlockKernel(X, gamma=0.5, block_elements=4)
    >>> bool(np.allclose(K @ np.eye(4), gram(X, gamma=0.5))), K.trace()
    (True, 4.0)
    """

    X: Matrix
    kernel: Kernel = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1.0
    block_elements: int = field(default=_BLOCK_ELEMENTS, kw_only=True)

    def __post_init__(self) -> None:
        check_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        object.__setattr__(self, "X", check_rows(self.X, "X"))
        if self.kernel == "precomputed":
            raise InvalidInputError("kernel='precomputed' is stored already; pass the matrix itself.")
        if self.kernel in SCALED:
            object.__setattr__(self, "gamma", resolve_gamma(self.X, self.gamma))
        if not is_semidefinite(self.kernel, self.degree, self.coef0):
            # All of K is never there to be checked; every principal block of a kernel is a kernel.
            n = self.shape[0]
            some = np.sort(np.random.default_rng(0).permutation(n)[:_CHECKED])
            require_semidefinite(self._block(self.X[some], self.X[some]), name=f"the kernel of {len(some)} samples")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, twice."""
        return (self.X.shape[0], self.X.shape[0])

    def __matmul__(self, other: FloatArray) -> FloatArray:
        """Return K v, block by block."""
        n = self.shape[0]
        step = max(1, self.block_elements // max(1, n))
        out = np.empty((n, *np.shape(other)[1:]))
        for start in range(0, n, step):
            out[start : start + step] = self._block(self.X[start : start + step]) @ other
        return out

    def rows(self, index: IntArray) -> FloatArray:
        """Return some rows of K."""
        return self._block(self.X[index])

    def trace(self) -> float:
        """Return the sum of the diagonal."""
        return self._trace

    def diagonal(self) -> FloatArray:
        """Return the diagonal."""
        return np.ones(self.shape[0]) if self.kernel == "rbf" else super().diagonal()

    @property
    def rounding(self) -> float:
        """Bound on the rounding of K v; the entries themselves, computed anew each time, are part of it.

        Two blocks may round x'x' differently. Of a callable only the sums count: its entries are what it returns.
        """
        X, n = self.X, self.shape[0]
        entry = gamma(X.shape[1] + 4)
        if self.kernel in SCALED:
            squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        if self.kernel == "rbf":
            entry = 8.0 * entry * float(self.gamma) * float(np.max(squares, initial=0.0)) + 8.0 * UNIT
        elif self.kernel in ("poly", "polynomial"):
            entry = (1.0 + abs(self.degree)) * 4.0 * entry
            if self.coef0 < 0:  # the constant cancels, and the rounding of what it cancels stays
                size = float(self.gamma) * squares - self.coef0
                base = np.abs(float(self.gamma) * squares + self.coef0) - entry * size
                with np.errstate(over="ignore"):
                    entry *= float(np.max(size / np.maximum(base, 1e-300), initial=1.0) ** np.float64(self.degree))
        elif callable(self.kernel):
            entry = 0.0
        else:
            entry *= 4.0
        return gamma(n + 1) + 2.0 * entry

    @cached_property
    def _trace(self) -> float:
        n = self.shape[0]
        if self.kernel == "rbf":
            return float(n)
        return float(sum(self._block(self.X[i : i + 1], self.X[i : i + 1])[0, 0] for i in range(n)))

    def _block(self, X: Matrix, Y: Matrix | None = None) -> FloatArray:
        reference = self.X if Y is None else Y
        return gram(X, reference, kernel=self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)


@dataclass(frozen=True, eq=False)
class LandmarkFeatures:
    """The map of `landmark_features`: phi(x) = W' k(Z, x).

    Parameters
    ----------
    landmarks : ndarray or sparse matrix of shape (r, d)
        Z, without those whose functions are those of the others up to rounding.
    W : ndarray of shape (r, k)
        Whitens the landmarks' kernel: W' k(Z, Z) W = I; that of `landmark_features` is upper triangular.
    kernel, gamma, degree, coef0
        Parameters of `specmargin.kernels.gram`.
    """

    landmarks: Matrix
    W: FloatArray
    kernel: Kernel
    gamma: float
    degree: float
    coef0: float

    def __call__(self, X: Matrix) -> FloatArray:
        """Return the features of samples, (n, r), by blocks of rows."""
        X = check_rows(X, "X", small=False)
        step = max(1, _BLOCK_ELEMENTS // max(1, self.W.shape[0]))
        kernel = partial(gram, kernel=self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        out = np.empty((X.shape[0], self.W.shape[1]))
        is_triangular = self.W.shape[0] == self.W.shape[1] and not np.tril(self.W, -1).any()
        for start in range(0, X.shape[0], step):
            block = kernel(X[start : start + step], self.landmarks)
            if is_triangular:  # half a product
                out[start : start + step] = sla.blas.dtrmm(1.0, self.W, block.T, trans_a=1, overwrite_b=1).T
            else:
                out[start : start + step] = block @ self.W
        return out


def _row_numbers(include: Any, n: int) -> IntArray:
    rows = np.asarray(include)
    rows = rows.astype(np.intp) if rows.size == 0 else rows
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows.size and not 0 <= rows.min() <= rows.max() < n):
        raise InvalidInputError(f"include={shown(include)} must be a list of row numbers from 0 to {n - 1}.")
    return rows.astype(np.intp)


def landmark_features(
    X: Matrix,
    n_landmarks: int,
    *,
    kernel: Kernel = "rbf",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 1.0,
    include: IntArray | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> LandmarkFeatures:
    r"""Return the map whose inner products are Nyström's approximation of a kernel.

    With m landmarks Z among the rows of X, :math:`k(x, Z)\,k(Z, Z)^{-1} k(Z, x')` is the kernel of the functions in
    the span of k(z, .): a classifier on it is exact in that span. Directions in which k(Z, Z) is rounding are left out.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Samples.
    n_landmarks : int
        m, at most n.
    kernel, gamma, degree, coef0
        The same as in `specmargin.kernels.gram`; a rule for gamma is resolved on X.
    include : ndarray of int, optional
        Rows that are landmarks in any case, the labelled ones for instance; the others are drawn.
    random_state : int, Generator or None, default 0
        Draws the landmarks.

    Returns
    -------
    LandmarkFeatures

    Raises
    ------
    ValueError
        If `n_landmarks` is out of range or less than what is included, the kernel of the landmarks is indefinite, or
        no direction is left.

    Examples
    --------
    >>> X = np.arange(6.0)[:, None]
    >>> features = landmark_features(X, 6, gamma=0.5)
    >>> F = features(X)
    >>> bool(np.allclose(F @ F.T, gram(X, gamma=0.5)))
    True
    """
    whole("n_landmarks", n_landmarks)
    seed("random_state", random_state)
    check_kernel(kernel, gamma, degree, coef0)
    X = check_rows(X, "X")
    n = X.shape[0]
    if include is not None:
        include = _row_numbers(include, n)
    kept = np.empty(0, dtype=np.intp) if include is None else np.unique(include)
    if not max(1, len(kept)) <= n_landmarks <= n:
        raise InvalidInputError(
            f"n_landmarks={n_landmarks!r} must be between {max(1, len(kept))} (those to include) and n={n}."
        )
    width = resolve_gamma(X, gamma) if kernel in SCALED else 1.0
    others = np.setdiff1d(np.arange(n), kept)
    drawn = np.random.default_rng(random_state).permutation(others)[: n_landmarks - len(kept)]
    Z = X[np.sort(np.concatenate([kept, drawn]))]
    K = gram(Z, kernel=kernel, gamma=width, degree=degree, coef0=coef0)
    require_semidefinite(K, kernel=kernel, degree=degree, coef0=coef0, name="the kernel of the landmarks")
    tol = _NULL * max(float(K.diagonal().max()), 0.0)
    C, order, rank, _ = sla.lapack.dpstrf(K.T, lower=0, tol=tol)
    if rank == 0:
        raise InvalidInputError(f"the kernel vanishes at all {Z.shape[0]} landmarks: check features and kernel.")
    W = np.tril(sla.lapack.dtrtri(C[:rank, :rank], lower=0)[0].T).T
    return LandmarkFeatures(Z[order[:rank] - 1], W, kernel, width, degree, coef0)
