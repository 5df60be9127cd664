"""What a loss offers and declares: `SmoothLoss`, `Loss` and `MarginLoss`.

Solvers ask a loss for facts, not for its name (`specmargin.solvers.parts`). The conjugate that duality needs is

    dual_value(beta) = inf_t V(t) + beta t,

finite for `lower <= beta <= upper`: it is what one labelled sample adds to the dual objective when its multiplier is
beta.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from specmargin.exceptions import InvalidTypeError
from specmargin.losses.pieces import Pieces
from specmargin.typing import FloatArray

__all__ = ["Loss", "MarginLoss", "SmoothLoss"]

_FAR, _HALVINGS = 1e3, 90
"""Where bisection starts, and its steps: to the last digit."""


class SmoothLoss(Protocol):
    """What a descent method asks of a loss, convex or not."""

    def value(self, t: FloatArray) -> FloatArray:
        """V(t), elementwise."""
        ...

    def gradient(self, t: FloatArray) -> FloatArray:
        """V'(t), elementwise; a subgradient where V has a kink."""
        ...

    def curvature(self, t: FloatArray) -> FloatArray:
        """V''(t), elementwise; the second derivative from the left where it jumps."""
        ...


class Loss(SmoothLoss, Protocol):
    """What a loss declares of itself, and solvers ask for (`specmargin.solvers.parts`).

    A loss states each fact that holds, as an attribute of its class; a fact that it does not state is taken to be
    false. Tests hold every declaration against the numbers.
    """

    def curvature(self, t: FloatArray) -> FloatArray:
        """V''(t), elementwise: zero unless it is curved."""
        return np.zeros_like(t)

    convex: bool = False
    """Whether it is convex."""
    smooth: bool = False
    """Whether its slope is continuous."""
    curved: bool = False
    """Whether it is curved somewhere, other than at kinks: it is not piecewise linear."""
    piecewise_quadratic: bool = False
    """Whether it consists of finitely many parabolas; lines are such."""
    nonincreasing: bool = False
    """Whether it never rises: with t for losses of the margin, with |f| for those of the decision."""

    @property
    def curvature_bound(self) -> float:
        """The largest change of the slope per change of the argument; inf where there is a kink."""
        return np.inf

    gaussian: bool = False
    """Whether `specmargin.losses.smoothed` knows its convolution with a Gaussian."""

    @property
    def slack_power(self) -> int:
        """P where it is max(0, 1 - t)^p, for losses of the decision max(0, 1 - |f|)^p; 0 for any other loss."""
        return 0

    def rounding_scale(self, t: FloatArray, value: FloatArray) -> FloatArray:
        """Return of which numbers the computed value may be off by 16 roundings; `value` is |V(t)|.

        Those of a power of a slack are its own.
        """
        return value if self.slack_power else np.maximum(value, 1.0)


class MarginLoss(Loss, Protocol):
    """What a convex objective asks of a loss.

    To write a loss of your own, derive from this class: give it `name`, `lower`, `upper`, the value with its
    derivatives, `dual_value`, and the facts of `Loss` that hold. `specmargin.problems.as_cvxpy` needs its CVXPY atom,
    and `specmargin.problems.conjugate_as_cvxpy` that of its dual value.

    Attributes
    ----------
    name : str
        Name in messages, and in `LOSSES`.
    lower, upper : float
        Ends of the interval in which `dual_value` is finite.
    """

    name: ClassVar[str]
    lower: ClassVar[float]
    upper: ClassVar[float]

    box_dual: bool = False
    """Whether `dual_value` is beta itself, on [0, 1]: the dual is a quadratic program in a box."""
    lapsvm_scale: float = 1.0
    """Factor in front of the whole objective of LapSVM where it has this loss."""

    @property
    def pieces(self) -> Pieces | None:
        """Kinks and parabolas of a loss that is piecewise quadratic."""
        return None

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """inf_t V(t) + beta t, elementwise; -inf outside [lower, upper]."""
        ...

    def dual_derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first two derivatives of `dual_value`: t where V has the slope -beta, and -1 / V''(t)."""
        if not (self.smooth and self.nonincreasing):
            raise InvalidTypeError(f"{type(self).__name__} has no derivatives of its dual value here.")
        low, high = np.full_like(beta, -_FAR), np.full_like(beta, _FAR)
        for _ in range(_HALVINGS):
            t = 0.5 * (low + high)
            beyond = self.gradient(t) > -beta
            low, high = np.where(beyond, low, t), np.where(beyond, t, high)
        return t, -1.0 / np.maximum(self.curvature(t), 1e-300)

    def value_of_slack(self, u: FloatArray) -> FloatArray:
        """Return V(1 - u) of slacks u, which may be far smaller than the rounding of 1 - u.

        A loss that is piecewise quadratic computes it to a few roundings of itself.
        """
        return self.value(1.0 - u)
