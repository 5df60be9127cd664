r"""Bounds on the rounding of float64 arithmetic, which a certificate adds to its gap.

The model is the usual one, fl(x op y) = (x op y)(1 + d) with |d| <= u = 2^-53, and n of these in a row cost at most
gamma_n = n u / (1 - n u) relatively (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). The bounds
hold for any order of summation, blocked and parallel BLAS included, and assume neither overflow nor harmful underflow.

Where such a bound is too wide because large terms cancel, `math.fsum` sums floats exactly rounded, and
`accurate_product` computes in extended precision. `split_product` and `exact_dot` need no extended precision: they
split their factors into parts whose products float64 holds exactly (Dekker; Ozaki, Ogita, Oishi & Rump, Numerical
Algorithms 59, 2012), so that BLAS multiplies them.

`cholesky` is the one call of LAPACK's factorisation in this package: who may not raise where rounding has left a matrix
indefinite, but has to try something else (a longer diagonal, another route, a smaller bound), gets None.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from cvxproof.rounding import EXTENDED_UNIT, UNIT
from specmargin.typing import AnyArray, FloatArray, Matrix

__all__ = [
    "EXTENDED_UNIT",
    "UNIT",
    "accurate_product",
    "blocked_depth",
    "blocked_product",
    "bounded_product",
    "cholesky",
    "exact_dot",
    "exact_sum",
    "directions",
    "extended_product",
    "first_least",
    "gamma",
    "is_definite",
    "split_head",
    "split_product",
    "two_product",
    "two_sum",
]

_TIED = 1e-9  # of their size, up to which criteria are equal
_TINY = 1e-5  # largest entry of a row below which a norm may be taken for zero; scikit-learn's limit is 10 eps
_BLOCK = 2**22  # entries that are held in extended precision at a time
_TILE = 2**15  # entries that are split at a time: they stay in the cache
_COLUMNS, _ROWS = 256, 128  # of a block of `blocked_product`: smaller ones cost time


def gamma(n: int) -> float:
    """Return gamma_n = n u / (1 - n u), the relative cost of n operations in a row."""
    return n * UNIT / (1.0 - n * UNIT) if n * UNIT < 1 else math.inf


def first_least(values: AnyArray, axis: int = 0) -> Any:
    """Return the position of the least number along an axis; of those that are equal but for rounding, the first.

    Numbers that are nan come last. Criteria that leave a choice open are equal to 1e-9 of their size: the rounding of
    the least one, which the order of samples changes, decides nothing.

    Examples
    --------
    >>> int(first_least(np.array([np.nan, 0.5 + 1e-16, 0.5 - 1e-16, 0.7])))
    1
    """
    values = np.where(np.isnan(values), np.inf, values)
    least = values.min(axis=axis, keepdims=True)
    return (values <= least + _TIED * np.abs(least)).argmax(axis=axis)


def directions(X: Matrix) -> Matrix:
    """Return the rows of a matrix, tiny ones times a power of two that brings their largest entry to [1/2, 1).

    Exact, and no direction changes: cosines of rows whose squares underflow, or whose norm scikit-learn takes for zero,
    become those of rows of length about one. Without tiny rows the matrix itself comes back.

    Examples
    --------
    >>> directions(np.array([[3.0, 4.0], [1e-300, 0.0]])).round(3).tolist()
    [[3.0, 4.0], [0.67, 0.0]]
    """
    largest = abs(X).max(axis=1)
    largest = largest.toarray().ravel() if sp.issparse(largest) else np.asarray(largest, dtype=np.float64)
    tiny = (largest > 0) & (largest < _TINY)
    if not tiny.any():
        return X
    exponents = np.where(tiny, np.minimum(-np.frexp(largest)[1], 1000), 0)
    factors = np.ldexp(1.0, exponents)
    return sp.csr_array(sp.diags_array(factors) @ X) if sp.issparse(X) else X * factors[:, None]


def bounded_product(A: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``A @ x`` of a dense matrix in float64, and a bound on the error of each entry: gamma_n |a_i| |x|.

    Examples
    --------
    >>> value, error = bounded_product(np.array([[1e10, 1.0, -1e10]]), np.array([1e6, 1.0, 1e6]))
    >>> bool(abs(value[0] - 1.0) <= error[0])
    True
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", A, A))
    return A @ x, 1.001 * gamma(A.shape[1] + 1) * float(np.linalg.norm(x)) * lengths


def blocked_product(A: FloatArray, x: FloatArray) -> FloatArray:
    """Return ``A @ x`` of a dense matrix, summed in blocks of columns whose sums are added in pairs.

    No term passes through more than `blocked_depth` roundings, where BLAS promises n only, for a fifth more time.

    Examples
    --------
    >>> blocked_product(np.ones((2, 1000)), np.ones(1000)).tolist(), blocked_depth(1000)
    ([1000.0, 1000.0], 258)
    """
    m, n = A.shape
    count = n // _COLUMNS
    whole = count * _COLUMNS
    if count < 2:
        return np.asarray(A @ x)
    out, parts = np.empty(m), x[:whole].reshape(count, _COLUMNS, 1)
    for start in range(0, m, _ROWS):
        rows = A[start : start + _ROWS]
        blocks = rows[:, :whole].reshape(len(rows), count, _COLUMNS).transpose(1, 0, 2)
        sums = np.matmul(blocks, parts)[:, :, 0]
        if whole < n:
            sums = np.concatenate([sums, (rows[:, whole:] @ x[whole:])[None]])
        while len(sums) > 1:
            half = len(sums) // 2
            odd = sums[2 * half :]
            sums = np.concatenate([sums[:half] + sums[half : 2 * half], odd])
        out[start : start + _ROWS] = sums[0]
    return out


def blocked_depth(n: int) -> int:
    """Return the largest number of roundings that a term of `blocked_product` passes through."""
    return n if n < 2 * _COLUMNS else _COLUMNS + (-(-n // _COLUMNS) - 1).bit_length()


def extended_product(A: FloatArray, x: FloatArray) -> tuple[AnyArray, FloatArray]:
    """Return ``A @ x`` of a dense float64 matrix in long double, and a bound on the error of each entry.

    Examples
    --------
    >>> value, error = extended_product(np.array([[1e10, 1.0, -1e10]]), np.array([1e6, 1.0, 1e6]))
    >>> float(value[0]), bool(error[0] < 1e-2)
    (1.0, True)
    """
    out, error = np.empty(len(A), dtype=np.longdouble), np.empty(len(A))
    rows = max(1, _BLOCK // max(1, A.shape[1]))
    wide, size = np.asarray(x, dtype=np.longdouble), np.asarray(np.abs(x), dtype=float)
    for start in range(0, len(A), rows):
        block = A[start : start + rows]
        out[start : start + rows] = block.astype(np.longdouble, order="C") @ wide
        error[start : start + rows] = np.abs(block) @ size
    return out, 2.0 * (A.shape[1] + 1) * EXTENDED_UNIT * error


def accurate_product(A: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``A @ x`` of a dense matrix computed in extended precision, and a bound on the error of each entry.

    Where the platform's long double is float64 the product is an ordinary one, and the bound says so.

    Examples
    --------
    >>> value, error = accurate_product(np.array([[1e10, 1.0, -1e10]]), np.array([1e6, 1.0, 1e6]))
    >>> value.tolist(), bool(error[0] < 1e-2)
    ([1.0], True)
    """
    value, error = extended_product(A, x)
    out = value.astype(float)
    return out, error + UNIT * np.abs(out)


def two_sum(a: FloatArray | float, b: FloatArray | float) -> tuple[Any, Any]:
    """Return the rounded sum and its rounding error: together they are a + b exactly.

    Examples
    --------
    >>> two_sum(1.0, 1e-30)
    (1.0, 1e-30)
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: FloatArray | float, b: FloatArray | float) -> tuple[Any, Any]:
    """Return the rounded product and its rounding error: together they are a b exactly, short of under- and overflow.

    Examples
    --------
    >>> two_product(1.0 + 2.0**-30, 1.0 + 2.0**-30)[1] == 2.0**-60
    True
    """
    product = a * b
    a_high, b_high = 134217729.0 * a, 134217729.0 * b  # 2^27 + 1
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def exact_dot(x: FloatArray, y: FloatArray) -> float:
    """Return ``x @ y`` with a relative error of 2 `UNIT`, whatever cancels, short of over- and underflow.

    Examples
    --------
    >>> exact_dot(np.array([1e10, 1.0, -1e10]), np.array([1e6, 1e-20, 1e6]))
    1e-20
    """
    with np.errstate(over="ignore", invalid="ignore"):
        value = exact_sum(np.concatenate(two_product(x, y)))
        return value if math.isfinite(value) else float(np.dot(x, y))


def exact_sum(terms: FloatArray) -> float:
    """Return the sum with a relative error of one `UNIT`, whatever cancels; infinite or nan where a term is.

    Examples
    --------
    >>> exact_sum(np.array([1e16, 1.0, -1e16])), exact_sum(np.array([np.inf, -1.0]))
    (1.0, inf)
    """
    try:
        return math.fsum(np.ravel(terms).tolist())
    except (OverflowError, ValueError):  # of sums beyond the range on the way, and of inf - inf
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(terms))


def split_product(
    A: Matrix, x: FloatArray, slices: int = 1, largest: float | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``A @ x`` as a sum of two vectors, and a bound on the error of each entry.

    Parameters
    ----------
    A : ndarray or sparse matrix of shape (m, n)
        Finite.
    x : ndarray of shape (n,)
        Finite.
    slices : int, default 1
        Leading parts of A, of about 20 bits each, that are multiplied exactly. With one the error is about 1e-6 of that
        of a plain product, at the time of some five products; with two 1e-12, at twice that.
    largest : float, optional
        A bound on the entries of A, where that is known; for a kernel the largest of the diagonal.

    Examples
    --------
    >>> A, x = np.array([[1.0, 1.0, 1.0]]), np.array([1e10, 1e-3, -1e10])
    >>> high, low, error = split_product(A, x)
    >>> bool(abs(float(high[0] + low[0]) - 1e-3) <= error[0] < 1e-9)
    True
    """
    m, n = A.shape
    high, low, error = np.zeros(m), np.zeros(m), np.zeros(m)
    if largest is None:
        stored = A.data if sp.issparse(A) else A
        largest = max(float(stored.max()), -float(stored.min())) if stored.size else 0.0
    whole = np.asarray(x, dtype=np.float64)
    bound_x = float(np.abs(whole).max(initial=0.0))
    if largest == 0.0 or bound_x == 0.0:
        return high, low, error
    bits = max(4, (51 - max(1, n - 1).bit_length()) // 2)
    heads, tails = [], [whole]
    for i in range(slices):
        heads.append(split_head(tails[-1], bound_x * 2.0 ** (-bits * i), bits))
        tails.append(tails[-1] - heads[-1])
    left = [float(np.abs(tail).sum()) for tail in tails]
    rows = m if sp.issparse(A) else max(1, _TILE // max(1, n))
    # Two tiles are reused: new ones would cost more than the arithmetic.
    tiles = None if sp.issparse(A) else np.empty((2, rows, n))
    for start in range(0, m, rows):
        at = slice(start, min(m, start + rows))
        block = A[at] if rows < m else A
        h, l, off = np.zeros(at.stop - start), np.zeros(at.stop - start), np.zeros(at.stop - start)
        for i in range(slices):
            part, block = _sliced(block, largest * 2.0 ** (-bits * i), bits, tiles)
            for head in heads[: slices - i]:
                h, lost = two_sum(h, part @ head)
                l = l + lost
                off += np.abs(l)
            l = l + part @ tails[slices - i]
            off += np.abs(l)
        l = l + block @ whole
        off += np.abs(l)
        high[at], low[at] = two_sum(h, l)
        error[at] = off
    bound = sum(2.0 ** (-bits * i) * left[slices - i] for i in range(slices + 1))
    return high, low, gamma(n + 2) * 2.0 * largest * bound + 4.0 * UNIT * error


def split_head(x: FloatArray, largest: float, bits: int, out: FloatArray | None = None) -> FloatArray:
    """Return x, of entries up to `largest`, rounded to multiples of 2^-bits of the power of two above that.

    Sums of n products of two such heads are exact where ``2 * bits + log2(n)`` is at most 52; x less its head, too, is.

    Examples
    --------
    >>> split_head(np.array([1.0, 0.3]), largest=1.0, bits=3).tolist()
    [1.0, 0.25]
    """
    shift = 1.5 * 2.0 ** (math.frexp(largest)[1] - bits + 52)
    head: FloatArray = np.add(x, shift, out=out)
    head -= shift
    return head


def _sliced(A: Matrix, largest: float, bits: int, tiles: FloatArray | None) -> tuple[Any, Any]:
    """Return the leading bits of a matrix, and the rest; of a dense one both in `tiles`, where A may already be."""
    if not sp.issparse(A):
        assert tiles is not None
        part, rest = tiles[:, : len(A)]
        split_head(A, largest, bits, out=part)
        return part, np.subtract(A, part, out=rest)
    part, rest = A.copy(), A.copy()
    part.data = split_head(A.data, largest, bits)
    rest.data = A.data - part.data
    return part, rest


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
