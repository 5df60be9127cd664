r"""Bounds on the rounding of float64 arithmetic: what a certificate adds to its gap.

The model is the usual one, fl(x op y) = (x op y)(1 + d) with |d| <= u = 2^-53, and n of these in a row cost at most
gamma_n = n u / (1 - n u) relatively (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). The bounds
hold for any order of summation, blocked and parallel BLAS included, and assume neither overflow nor harmful underflow.

Where such a bound is too wide because large terms cancel, `math.fsum` sums floats exactly rounded, and `accurate_dot`
and `accurate_product` compute in extended precision.
"""

from __future__ import annotations

import math

import numpy as np

from specmargin.typing import AnyArray, FloatArray

__all__ = [
    "EXTENDED_UNIT",
    "UNIT",
    "accurate_dot",
    "accurate_product",
    "bounded_product",
    "dot_error",
    "extended_product",
    "gamma",
    "sum_error",
]

UNIT = 2.0**-53
"""Unit roundoff of float64."""

EXTENDED_UNIT = float(np.finfo(np.longdouble).eps) / 2
"""Unit roundoff of long double: 2^-64 on x86, that of float64 where the platform has nothing better."""

_BLOCK = 2**22  # entries that are held in extended precision at a time


def gamma(n: int) -> float:
    """Return gamma_n = n u / (1 - n u), the relative cost of n operations in a row."""
    return n * UNIT / (1.0 - n * UNIT) if n * UNIT < 1 else math.inf


def sum_error(terms: FloatArray) -> float:
    """Return a bound on the rounding of the sum of the terms.

    Examples
    --------
    >>> terms = np.array([1e16, 1.0, -1e16])
    >>> abs(float(terms.sum()) - math.fsum(terms)) <= sum_error(terms)
    True
    """
    return gamma(np.size(terms)) * float(np.abs(terms).sum())


def dot_error(x: FloatArray, y: FloatArray) -> float:
    """Return a bound on the rounding of ``x @ y``: gamma_n |x|'|y|."""
    return gamma(np.size(x) + 1) * float(np.abs(x) @ np.abs(y))


def accurate_dot(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return ``x @ y`` computed in extended precision, and a bound on its error.

    Where the platform's long double is float64 the product is an ordinary one, and the bound says so.

    Examples
    --------
    >>> value, error = accurate_dot(np.array([1e10, 1.0, -1e10]), np.array([1e6, 1.0, 1e6]))
    >>> value == 1.0, error < 1e-2
    (True, True)
    """
    a, b = np.asarray(x, dtype=np.longdouble), np.asarray(y, dtype=np.longdouble)
    value = float((a * b).sum())
    n = np.size(x) + 1
    return value, 2.0 * n * EXTENDED_UNIT * float(np.abs(x) @ np.abs(y)) + UNIT * abs(value)


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
    """Return ``A @ x`` of a dense matrix computed in extended precision, and a bound on the error of each entry."""
    value, error = extended_product(A, x)
    out = value.astype(float)
    return out, error + UNIT * np.abs(out)
