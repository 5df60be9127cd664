"""A loss whose samples have weights: `Weighted`, c_i V(t_i), with the facts and the conjugate that follow from V's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from specmargin.losses.protocols import MarginLoss
from specmargin.typing import FloatArray

__all__ = ["Weighted"]


@dataclass(frozen=True, eq=False)
class Weighted:
    """c_i V(t_i): a `MarginLoss` of arrays of l samples, or of several columns of them.

    Its dual value is c V*(beta / c), on [c lower, c upper]. Of a loss that is piecewise quadratic the pieces are those
    of V, which solvers multiply by the weights.

    Parameters
    ----------
    loss : MarginLoss
        V.
    weights : ndarray of shape (l,)
        c, positive.

    Examples
    --------
    >>> from specmargin.losses import Hinge
    >>> loss = Weighted(Hinge(), np.array([1.0, 3.0]))
    >>> loss.value(np.array([0.0, 0.0])).tolist(), loss.dual_value(np.array([2.0, 2.0])).tolist()
    ([1.0, 3.0], [-inf, 2.0])
    """

    loss: MarginLoss
    weights: FloatArray

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "loss":  # asked by copies, before there is a loss
            raise AttributeError(name)
        return getattr(self.loss, name)

    @property
    def lower(self) -> FloatArray:
        """C times the lower bound of a multiplier."""
        return self.weights * self.loss.lower

    @property
    def upper(self) -> FloatArray:
        """C times the upper bound of a multiplier."""
        return self.weights * self.loss.upper

    def _c(self, of: FloatArray) -> FloatArray:
        return self.weights if np.ndim(of) == 1 else self.weights[:, None]

    def value(self, t: FloatArray) -> FloatArray:
        """C V(t)."""
        return self._c(t) * self.loss.value(t)

    def gradient(self, t: FloatArray) -> FloatArray:
        """C V'(t)."""
        return self._c(t) * self.loss.gradient(t)

    def curvature(self, t: FloatArray) -> FloatArray:
        """C V''(t)."""
        return self._c(t) * self.loss.curvature(t)

    def value_of_slack(self, u: FloatArray) -> FloatArray:
        """C V(1 - u)."""
        return self._c(u) * self.loss.value_of_slack(u)

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """C V*(beta / c); rounding of the quotient leaves no multiplier outside that is within c times a bound."""
        share = beta / self.weights
        share = np.where(
            (beta <= self.upper) & (beta >= self.lower), np.clip(share, self.loss.lower, self.loss.upper), share
        )
        return self.weights * self.loss.dual_value(share)
