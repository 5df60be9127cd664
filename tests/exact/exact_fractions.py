"""Floats as fractions, and linear algebra in them: what rounds nothing."""

from fractions import Fraction

import numpy as np

fractions = np.vectorize(Fraction, otypes=[object])


def solved(M, b):
    """Return the solution of M x = b, for one right side or for columns of them, None where M is singular."""
    rows, n = np.hstack([fractions(M), fractions(b).reshape(len(M), -1)]), len(M)
    for i in range(n):
        pivot = next((k for k in range(i, n) if rows[k, i]), None)
        if pivot is None:
            return None
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] = rows[i] / rows[i, i]
        for k in range(n):
            if k != i and rows[k, i]:
                rows[k] = rows[k] - rows[k, i] * rows[i]
    return rows[:, n:].reshape(np.shape(b))


def is_definite(M, strictly=True):
    """Whether a symmetric matrix is positive definite, or semidefinite: by elimination."""
    M = fractions(M)
    for k in range(len(M)):
        if not M[k, k] > 0:
            return not strictly and M[k, k] == 0 and not M[k, k:].any() and is_definite(M[k + 1 :, k + 1 :], False)
        M[k + 1 :, k:] -= np.multiply.outer(M[k + 1 :, k] / M[k, k], M[k, k:])
    return True
