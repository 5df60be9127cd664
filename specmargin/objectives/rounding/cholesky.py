"""Cholesky factors of symmetric matrices, or the news that a matrix has none.

The one call of LAPACK's factorisation in this package: who may not raise, but has to try something else (a longer
diagonal, another route, a smaller bound), asks here, and gets None.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from specmargin.typing import FloatArray

__all__ = ["cholesky", "is_definite"]


def cholesky(A: FloatArray, *, clean: bool = True, overwrite: bool = False) -> FloatArray | None:
    """Return the lower Cholesky factor C of A = C C', None where A is not positive definite in floating point.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric; its lower triangle is read. In Fortran's order LAPACK reads it without a copy: the transpose of a
        symmetric matrix in C's order is such.
    clean : bool, default True
        Whether to fill the upper triangle of the factor with zeros; triangular solvers do not read it.
    overwrite : bool, default False
        Whether the memory of A may be used.

    Examples
    --------
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist(), cholesky(-np.eye(2)) is None
    ([[2.0, 0.0], [1.0, 2.0]], True)
    """
    factor, failed = lapack.dpotrf(A, lower=1, clean=int(clean), overwrite_a=int(overwrite))
    return None if failed else np.asarray(factor)


def is_definite(A: FloatArray, less: FloatArray | float) -> bool:
    """Whether A, less a number or a vector on its diagonal, is positive definite in floating point.

    Examples
    --------
    >>> is_definite(np.eye(2), 0.5), is_definite(np.eye(2), np.array([0.5, 2.0]))
    (True, False)
    """
    B = A.copy(order="F")
    B[np.diag_indices_from(B)] -= less
    return cholesky(B, clean=False, overwrite=True) is not None
