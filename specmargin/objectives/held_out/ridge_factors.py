"""What `SpectralRidge` predicts of labels that are left out follows from one singular value decomposition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.objectives.intercept import centred_basis
from specmargin.typing import FloatArray

__all__ = ["RidgeFactors"]


class RidgeFactors(NamedTuple):
    """Singular value decomposition of the centred design, on an orthonormal basis of the centred vectors.

    With weights rows are multiplied by their roots, and centred are the vectors that are orthogonal to these.
    """

    left: FloatArray
    values: FloatArray
    target: FloatArray
    rest: FloatArray
    leverage: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, weights: FloatArray | None) -> RidgeFactors:
        """Return the factors of a design (l, q) and a target (l,) or (l, K), both centred and weighted."""
        l, q = X.shape
        if l > q + 1:
            left, values, _ = sla.svd(X, full_matrices=False, check_finite=False)
            target = left.T @ y
            return cls(left, values, target, y - left @ target, _others(l, weights) - (left**2).sum(axis=1))
        # All of the residual lies in the span of `left`: nothing is subtracted, and no digit lost, at small penalties.
        basis = centred_basis(l, weights).T
        left, values, _ = sla.svd(basis @ X, check_finite=False)
        values = np.append(values, np.zeros(l - 1 - len(values)))
        left = basis.T @ left
        return cls(left, values, left.T @ y, np.zeros_like(y), np.zeros(l))

    def left_out(self, penalty: float) -> FloatArray:
        """Return the weighted residuals of the target where the row's own label is withheld."""
        kept = penalty / (self.values**2 + penalty)
        residual = self.left @ (kept * self.target.T).T + self.rest
        # 1 - S_ii > 0, but for rounding.
        slack = np.maximum((self.left**2) @ kept + self.leverage, np.finfo(np.float64).eps * kept.min())
        return np.asarray((residual.T / slack).T)


def _others(l: int, weights: FloatArray | None) -> FloatArray:
    """Return the share that the others have in the weights, 1 - c_i / sum c: of a heavy one it keeps its digits."""
    if weights is None:
        return np.full(l, 1.0 - 1.0 / l)
    before, after = np.append(0.0, weights[:-1].cumsum()), np.append(weights[:0:-1].cumsum()[::-1], 0.0)
    return np.asarray((before + after) / weights.sum())
