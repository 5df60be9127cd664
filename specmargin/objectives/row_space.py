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
        size, rank = V.shape
        # A itself may have been rounded when it was centred; the rest is what measuring costs.
        roundings = (size + rank + 10) * _EPS
        errors = np.linalg.norm(A - Z @ V.T, axis=1) + roundings * np.linalg.norm(A, axis=1)
        skew = float(np.linalg.norm(V.T @ V - np.eye(rank), 2)) if V.size else 0.0
        return cls(Z, V, errors, skew + (size + rank) * _EPS)
