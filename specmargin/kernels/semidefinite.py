"""Checks that a matrix is a kernel: positive semidefinite up to rounding.

Every dual bound of this package rests on it. With an indefinite matrix the problems are unbounded, and a certificate
would prove nothing. `require_semidefinite` is the one check: estimators call it where the kernel is not semidefinite
by construction, that is for precomputed matrices, callables, and polynomials of a negative constant or a fractional
degree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray

__all__ = ["INDEFINITE", "is_semidefinite", "refuse_indefinite", "require_minors", "require_semidefinite", "symmetric"]

INDEFINITE = 1e-6
"""Share of the largest eigenvalue beyond which a negative one is no rounding, not even of single precision."""

_ASYMMETRY = 1e-8  # of the largest entry: rounding, which is averaged away
_POWER_STEPS = 3
_TILE = 128  # rows and columns of a matrix and of its transpose that fit into the cache together


def is_semidefinite(kernel: Any, degree: float = 3, coef0: float = 1.0) -> bool:
    """Return whether a kernel of `specmargin.kernels.gram` is positive semidefinite by construction.

    Examples
    --------
    >>> is_semidefinite("rbf"), is_semidefinite("poly", degree=2, coef0=-1.0), is_semidefinite("precomputed")
    (True, False, False)
    """
    if not isinstance(kernel, str):
        return False
    if kernel in ("poly", "polynomial"):
        # A power series in x'y without negative coefficients.
        return bool(coef0 >= 0 and degree >= 0 and float(degree).is_integer())
    return kernel in ("rbf", "linear", "cosine")


def require_semidefinite(
    K: FloatArray, *, kernel: Any = "precomputed", degree: float = 3, coef0: float = 1.0, name: str = "K"
) -> None:
    """Raise where a symmetric matrix has a negative eigenvalue that rounding does not explain.

    One Cholesky factorisation; nothing where the named kernel is semidefinite by construction.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric and finite.
    kernel, degree, coef0
        Kernel that K comes from, as in `specmargin.kernels.gram`.
    name : str, default "K"
        Name of the matrix in the message.

    Raises
    ------
    ValueError
        If an eigenvalue is below -`INDEFINITE` times the largest.

    Examples
    --------
    >>> require_semidefinite(np.array([[1.0, 1.0], [1.0, 1.0]]))
    >>> require_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    cvxproof.exceptions.InvalidInputError: K is no kernel: it has the eigenvalue -1, with 3 as the largest. ...
    """
    if is_semidefinite(kernel, degree, coef0) or len(K) == 0:
        return
    size = float(np.abs(K).max())
    if size == 0.0:
        return
    shifted = np.asarray(K, dtype=np.float64) / size  # entries of 1e-300 underflow in products
    # At most the largest eigenvalue, so that a matrix that passes needs no more; another one is decomposed.
    x, largest = np.ones(len(K)), float(shifted.diagonal().max())
    for _ in range(_POWER_STEPS):
        length = float(np.linalg.norm(x))
        if length == 0.0:
            break
        image = shifted @ (x / length)
        largest = max(largest, float(x @ image) / length)
        x = image
    if largest > 0:
        shifted[np.diag_indices_from(shifted)] += INDEFINITE * largest
        try:
            sla.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except sla.LinAlgError:
            pass
        else:
            return
    values = sla.eigvalsh(K / size, check_finite=False)
    refuse_indefinite(size * float(values[0]), size * float(values[-1]), name)


def refuse_indefinite(least: float, largest: float, name: str = "K") -> None:
    """Raise where the least eigenvalue of a kernel is negative beyond rounding, given both ends of its spectrum.

    Examples
    --------
    >>> refuse_indefinite(-1e-12, 1.0)
    """
    if least < -INDEFINITE * max(largest, 0.0):
        raise InvalidInputError(
            f"{name} is no kernel: it has the eigenvalue {least:.6g}, with {largest:.6g} as the largest. Take a "
            "positive semidefinite kernel, or add a multiple of the identity."
        )


def require_symmetric(K: FloatArray, what: str = "K") -> float:
    """Return the largest ``|K[i, j] - K[j, i]|``; raise where it is more than rounding."""
    worst = 0.0
    at = (0, 0)
    for rows in blocks(len(K)):
        difference = np.abs(K[rows] - K[:, rows].T)
        if difference.max() > worst:
            worst = float(difference.max())
            row, col = divmod(int(difference.argmax()), len(K))
            at = (row + rows.start, col)
    if worst > _ASYMMETRY * max(abs(K.max()), abs(K.min())):
        _refuse_asymmetric(K, *at, what)
    return worst


def _refuse_asymmetric(K: Any, i: int, j: int, what: str) -> None:
    name = "L" if what == "L" else "K"
    raise InvalidInputError(
        f"{what} is not symmetric: {name}[{i}, {j}] = {K[i, j]:.6g} but {name}[{j}, {i}] = {K[j, i]:.6g}; "
        f"pass ({name} + {name}.T) / 2 if the difference is an accident."
    )


def symmetric(A: Any, what: str = "K") -> Any:
    """Return a dense or sparse matrix that is symmetric to the last bit: A, or the mean of A and its transpose.

    Raises
    ------
    ValueError
        If the two differ by more than rounding.

    Examples
    --------
    >>> symmetric(np.array([[1.0, 0.5], [0.5 + 2.0**-30, 1.0]])).tolist()
    [[1.0, 0.5000000004656613], [0.5000000004656613, 1.0]]
    """
    if sp.issparse(A):
        difference = sp.coo_array(abs(A - A.T))
        worst = float(difference.data.max(initial=0.0))
        if worst > _ASYMMETRY * float(abs(A).max()):
            at = difference.data.argmax()
            _refuse_asymmetric(sp.csr_array(A), int(difference.row[at]), int(difference.col[at]), what)
        return A if worst == 0.0 else sp.csr_array((A + A.T) / 2)
    tiles = blocks(len(A), _TILE)
    pairs = ((rows, columns) for i, rows in enumerate(tiles) for columns in tiles[i:])
    if all(np.array_equal(A[rows, columns], A[columns, rows].T) for rows, columns in pairs):
        return A
    require_symmetric(A, what)
    return (A + A.T) / 2


def require_minors(L: Any) -> None:
    """Raise where an entry of a symmetric matrix is larger than its diagonal allows, as of an adjacency all are.

    Only principal minors of two rows are checked, which costs no more than reading the entries.

    Examples
    --------
    >>> require_minors(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    """
    roots = np.sqrt(np.maximum(L.diagonal(), 0.0))
    entries = sp.coo_array(L) if sp.issparse(L) else None
    largest = float(abs(L).max()) if 0 not in L.shape else 0.0
    for rows in blocks(len(roots)) if entries is None else (slice(None),):
        sizes = np.abs(L[rows] if entries is None else entries.data)
        allowed = np.outer(roots[rows], roots) if entries is None else roots[entries.row] * roots[entries.col]
        over = sizes > (1.0 + INDEFINITE) * allowed + INDEFINITE * largest
        if over.any():
            k = int(over.argmax())
            i, j = divmod(k, len(roots)) if entries is None else (int(entries.row[k]), int(entries.col[k]))
            i += rows.start or 0
            stored = L if entries is None else sp.csr_array(L)
            value, first, second = (float(stored[at]) for at in ((i, j), (i, i), (j, j)))
            raise InvalidInputError(
                f"L is not positive semidefinite: L[{i}, {j}] is {value:.6g} between {first:.6g} and {second:.6g} on "
                "the diagonal; pass graphs.laplacian(W) of an adjacency W."
            )


def blocks(n: int, size: int = 512) -> list[slice]:
    """Return the indices 0 to n - 1 in consecutive slices."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
