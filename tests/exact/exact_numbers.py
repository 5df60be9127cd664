"""Arithmetic in a hundred digits, by the standard library: arrays of `decimal.Decimal` that numpy multiplies.

Floats become decimals without any rounding, and so do their products and sums up to a hundred digits: large numbers may
cancel for eighty of them before anything here is off in the twentieth. `Decimal` knows sqrt, exp and ln.
"""

import decimal

import numpy as np

DIGITS = 100
decimal.getcontext().prec = DIGITS
ZERO, ONE, TWO = decimal.Decimal(0), decimal.Decimal(1), decimal.Decimal(2)
INFINITE = decimal.Decimal("Infinity")

number = decimal.Decimal


def wide(x):
    """Floats as decimals: an array of the same shape, a decimal for a number."""
    x = np.asarray(x, dtype=float)
    if x.ndim == 0:
        return +decimal.Decimal(float(x))
    out = np.empty(x.size, dtype=object)
    out[:] = [+decimal.Decimal(value) for value in x.ravel().tolist()]
    return out.reshape(x.shape)


def dot(x, y):
    """The inner product of two vectors."""
    return sum((a * b for a, b in zip(x, y, strict=True) if a and b), ZERO)


def times(A, x):
    """The product of a matrix with a vector or a matrix, which spares the zeros."""
    columns = x[:, None] if x.ndim == 1 else x
    out = np.array([[dot(row, column) for column in columns.T] for row in A], dtype=object)
    out = out.reshape(len(A), columns.shape[1])
    return out[:, 0] if x.ndim == 1 else out


def unit(n):
    """The unit matrix."""
    return wide(np.eye(n))


def solve(A, B):
    """A^-1 B by elimination with pivots, for a vector or for columns."""
    A, vector = A.copy(), B.ndim == 1
    B = (B[:, None] if vector else B).copy()
    for k in range(len(A)):
        at = k + int(np.argmax([abs(value) for value in A[k:, k]]))
        A[[k, at]], B[[k, at]] = A[[at, k]], B[[at, k]]
        for i in range(k + 1, len(A)):
            if A[i, k]:
                factor = A[i, k] / A[k, k]
                A[i, k + 1 :] -= factor * A[k, k + 1 :]
                B[i] -= factor * B[k]
    X = np.full(B.shape, ZERO, dtype=object)
    for k in range(len(A) - 1, -1, -1):
        X[k] = (B[k] - (A[k, k + 1 :] @ X[k + 1 :] if k + 1 < len(A) else ZERO)) / A[k, k]
    return X[:, 0] if vector else X


def definite(A):
    """Whether a symmetric matrix is positive definite: whether all pivots of L D L' are positive."""
    A = A.copy()
    for k in range(len(A)):
        if not A[k, k] > 0:
            return False
        column = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k + 1 :] -= np.multiply.outer(column, A[k, k + 1 :])
    return True


def orthonormal(F):
    """Columns of the same span as those of F, orthonormal, by Gram's and Schmidt's method."""
    Q = F.copy()
    for j in range(Q.shape[1]):
        for i in range(j):
            Q[:, j] = Q[:, j] - dot(Q[:, i], Q[:, j]) * Q[:, i]
        Q[:, j] = Q[:, j] / dot(Q[:, j], Q[:, j]).sqrt()
    return Q


def balanced(y, s, lower=ZERO, upper=INFINITE):
    """Multipliers s near those given, within their bounds, with a sum of y s that is zero: several ways to repair them.

    The difference is a rounding; which way costs least is not known beforehand.
    """
    s = np.array([min(max(value, lower), upper) for value in s], dtype=object)
    excess = dot(y, s)
    if not excess:
        return [s]
    ways = []
    heavy = [i for i in range(len(s)) if (y[i] > 0) == (excess > 0)]
    total = sum((s[i] for i in heavy), ZERO)
    if lower == 0 and total > 0:
        scaled = s.copy()
        scaled[heavy] = scaled[heavy] * ((total - abs(excess)) / total)
        ways.append(scaled)
    if lower != 0:
        ways.append(s - y * (excess / len(s)))
    for i in range(len(s)):
        moved = s[i] - y[i] * excess
        if lower <= moved <= upper:
            one = s.copy()
            one[i] = moved
            ways.append(one)
    return ways
