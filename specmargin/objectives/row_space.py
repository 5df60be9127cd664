"""The span of the samples of an S3VM, in coordinates: all that its bounds need of the features."""

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
    slop : float
        How much a lower bound in these coordinates may exceed one in w: what rounding and the directions that were
        dropped cost at a minimiser.
    """

    Z: FloatArray
    V: FloatArray
    slop: float

    @cached_property
    def lengths(self) -> FloatArray:
        """|z_i|, (n,)."""
        return np.asarray(np.linalg.norm(self.Z, axis=1))

    @classmethod
    def of(cls, obj: S3VM) -> RowSpace:
        """Return the row space of the objective's features.

        At a minimiser 1/2 |w|^2 <= J(0), so that a decision that is off by e_i |w| moves J by the Lipschitz constant of
        its loss times e_i (2 J(0))^(1/2) at most; e_i is measured.
        """
        A = obj.features.dense()
        V = sla.svd(A, full_matrices=False, check_finite=False)[2].T
        Z = A @ V
        lengths = np.linalg.norm(Z, axis=0)
        kept = lengths > len(A) * _EPS * max(float(lengths.max(initial=0.0)), 1e-300)
        V, Z = np.ascontiguousarray(V[:, kept]), np.ascontiguousarray(Z[:, kept])
        top = obj.value(np.zeros(obj.size))
        off = np.linalg.norm(A - Z @ V.T, axis=1) + A.shape[1] * _EPS * np.linalg.norm(A, axis=1)
        # |U'| <= 2 for the symmetric hinges, (2 s / e)^(1/2) for exp(-s f^2); |V'| = 2 V^(1/2) for the squared hinge.
        steepest = max(2.0, float(np.sqrt(2.0 * getattr(obj.unlabeled_loss, "s", 0.0) / np.e)))
        slopes = np.full(len(A), obj._C_star * steepest)
        slopes[obj.labels.labeled] = obj.C * max(1.0, 2.0 * float(np.sqrt(top / obj.C)))
        radius = np.sqrt(2.0 * top)
        orthogonality = float(np.linalg.norm(V.T @ V - np.eye(V.shape[1]), 2)) if V.size else 0.0
        return cls(Z, V, float(slopes @ off) * radius + (orthogonality + A.shape[1] * _EPS) * top)
