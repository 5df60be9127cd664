"""The span of the samples of an S3VM, in coordinates: all that its bounds need of the features.

The coordinates are rounded, and directions of nearly no length are left out. Bounds that were proved in them hold for
the features themselves once they are charged `RowSpace.errors`, each relative to the multiplier of its sample and to
the length of the w that the bound was evaluated at; no bound on the minimiser's length is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as sla

from specmargin.objectives.s3vm import S3VM
from specmargin.rounding import UNIT, gamma, split_head
from specmargin.typing import FloatArray

__all__ = ["RowSpace"]

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Coordinates of the samples in an orthonormal basis of their span, where every minimiser of J lies.

    Parameters
    ----------
    Z : ndarray of shape (n, rank)
        A V.
    V : ndarray of shape (size, rank)
        The basis; w = V z.
    errors : ndarray of shape (n,) or float, default 0
        Bounds on the lengths of the rows of A - Z V': what rounding and the directions that were dropped cost.
    skew : float, default 0
        Bound on |V'V - I|.
    """

    Z: FloatArray
    V: FloatArray
    errors: FloatArray | float = 0.0
    skew: float = 0.0

    @cached_property
    def lengths(self) -> FloatArray:
        """|z_i|, (n,)."""
        return np.asarray(np.linalg.norm(self.Z, axis=1))

    @classmethod
    def of(cls, obj: S3VM) -> RowSpace:
        """Return the row space of the objective's features, its errors measured."""
        A = obj.features.dense()
        V = sla.svd(A, full_matrices=False, check_finite=False)[2].T
        Z = A @ V
        lengths = np.linalg.norm(Z, axis=0)
        kept = lengths > len(A) * _EPS * max(float(lengths.max(initial=0.0)), 1e-300)
        V, Z = np.ascontiguousarray(V[:, kept]), np.ascontiguousarray(Z[:, kept])
        missed, skew = _measured(A, Z, V)
        if obj.features.is_sparse:  # and rounded when it was centred
            missed = missed + 2.0 * UNIT * np.linalg.norm(A, axis=1)
        return cls(Z, V, missed, skew)


def _measured(A: FloatArray, Z: FloatArray, V: FloatArray) -> tuple[FloatArray, float]:
    """Return bounds on the lengths of the rows of A - Z V' and on |V'V - I|, hardly above them.

    BLAS may sum in any order, which could cost plain products rank^(3/2) and rank * size roundings of all that is
    proved. Those of the leading bits are exact, and only the small rest rounds.
    """
    size, rank = V.shape
    if not rank:
        return 1.01 * np.linalg.norm(A, axis=1), 0.0
    bits = max(4, (51 - max(1, size - 1).bit_length()) // 2)
    head, Z_head = split_head(V, 1.0, bits), split_head(Z, float(np.abs(Z).max()), bits)
    tail, Z_tail = V - head, Z - Z_head
    rest = (A - Z_head @ head.T) - (Z_head @ tail.T + Z_tail @ V.T)
    # Columns of V have length one.
    rounded = np.abs(Z_head) @ np.linalg.norm(tail, axis=0) + np.abs(Z_tail).sum(axis=1)
    off = (head.T @ head - np.eye(rank)) + (head.T @ tail + tail.T @ V)
    blurred = float(np.linalg.norm(tail)) * float(np.linalg.norm(head) + np.linalg.norm(V))
    skew = float(np.linalg.norm(off)) + gamma(size + 4) * blurred
    return 1.01 * (np.linalg.norm(rest, axis=1) + gamma(rank + 4) * rounded), 1.01 * skew
