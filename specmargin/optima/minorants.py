r"""Convex stand-ins of the losses of unlabelled samples, below them: what global bounds of S3VMs are made of.

Each of the losses U(f) = v(f^2) is convex and decreasing in s = f^2, but for the symmetric ramp, whose convex envelope
in s has the same parabolas below it. Two stand-ins follow.

**A parabola** for every theta >= 0, touching U from below at one |f|:

    U(f) >= h(theta) - theta f^2 / 2,      h(theta) = min_{s >= 0} v(s) + theta s / 2,

concave and increasing in theta. Of all parabolas of curvature -theta below U it is the highest.

**A convex loss of the margin** t = y f, `branch`, once the side y f >= 0 is decided: V itself for the symmetric hinges,
and for exp(-s f^2) its convex envelope on t >= 0: the tangent from the point (0, 1), then the loss. (Ramps have none.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import lambertw

from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.losses import (
    ExpSquared,
    Hinge,
    SquaredHinge,
    SymmetricHinge,
    SymmetricRamp,
    SymmetricSquaredHinge,
)
from specmargin.typing import FloatArray

__all__ = ["ExpEnvelope", "Minorant", "minorant"]

_TANGENT = float(-0.5 - lambertw(-0.5 * np.exp(-0.5), -1).real)
"""x with exp(x) = 1 + 2x, where the line through (0, 1) touches exp(-s t^2), s t^2 = x; 1.2564."""


@dataclass(frozen=True)
class ExpEnvelope:
    """The convex envelope of exp(-s t^2) on t >= 0, continued by its tangent to t < 0.

    Parameters
    ----------
    s : float, default 3
        Sharpness, > 0.

    Examples
    --------
    >>> loss = ExpEnvelope(3.0)
    >>> round(loss.touch, 4), round(loss.upper, 4), loss.value(np.array([0.0, 0.3, 1.0])).round(4).tolist()
    (0.6472, 1.1053, [1.0, 0.6684, 0.0498])
    """

    s: float = 3.0
    name: ClassVar[str] = "exp_envelope"
    lower: ClassVar[float] = 0.0

    @cached_property
    def touch(self) -> float:
        """Return where the tangent from (0, 1) touches the loss."""
        return float(np.sqrt(_TANGENT / self.s))

    @cached_property
    def upper(self) -> float:
        """Slope of the tangent, downwards: the largest multiplier."""
        return 2.0 * self.s * self.touch * float(np.exp(-_TANGENT))

    def value(self, t: FloatArray) -> FloatArray:
        """1 - upper t up to `touch`, exp(-s t^2) beyond."""
        beyond = np.clip(t, self.touch, 1e150)
        return np.where(t < self.touch, 1.0 - self.upper * t, np.exp(-self.s * beyond**2))

    def gradient(self, t: FloatArray) -> FloatArray:
        """-upper up to `touch`, -2 s t exp(-s t^2) beyond."""
        beyond = np.clip(t, self.touch, 1e150)
        return np.where(t < self.touch, -self.upper, -2.0 * self.s * beyond * np.exp(-self.s * beyond**2))

    def curvature(self, t: FloatArray) -> FloatArray:
        """Zero up to `touch`, 2 s (2 s t^2 - 1) exp(-s t^2) beyond."""
        x = self.s * np.clip(t, self.touch, 1e150) ** 2
        return np.where(t < self.touch, 0.0, 2.0 * self.s * (2.0 * x - 1.0) * np.exp(-x))

    def meets(self, beta: FloatArray) -> FloatArray:
        """Return the t at which the loss falls with the slope beta; 0 < beta <= upper."""
        # 2 s t exp(-s t^2) = beta is z exp(z) = -beta^2 / (2 s) in z = -2 s t^2.
        z = lambertw(-(np.clip(beta, 1e-150, self.upper) ** 2) / (2.0 * self.s), -1).real
        return np.asarray(np.sqrt(-z / (2.0 * self.s)))

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """exp(-s t^2) + beta t where the loss falls with the slope beta, on [0, upper]."""
        t = self.meets(beta)
        value = np.where(beta > 0.0, np.exp(-self.s * t**2) + beta * t, 0.0)
        return np.where((beta >= 0.0) & (beta <= self.upper), value, -np.inf)

    def dual_derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """T where the loss falls with the slope beta, and 1 / (2 s exp(-x) (1 - 2 x)) with x = s t^2."""
        t = self.meets(beta)
        x = self.s * t**2
        return t, 1.0 / (2.0 * self.s * np.exp(-x) * (1.0 - 2.0 * x))


class Minorant:
    """The parabolas below a loss U(f) = v(f^2) and the convex loss of a decided side."""

    branch: Any
    """The convex loss of y f below U on the side y f >= 0."""
    largest: Any
    """A theta beyond which h gains nothing, or next to nothing."""
    relaxed: Callable[[FloatArray], FloatArray]
    """v(s), the loss as a function of f^2."""
    value: Callable[[FloatArray], FloatArray]
    """h(theta)."""
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    """First and second derivative of h, for theta > 0."""


class _HingeMinorant(Minorant):
    branch = Hinge()
    largest = 1e8

    def relaxed(self, s: FloatArray) -> FloatArray:
        return np.maximum(1.0 - np.sqrt(np.maximum(s, 0.0)), 0.0)

    def value(self, theta: FloatArray) -> FloatArray:
        return np.where(theta < 1.0, theta / 2.0, 1.0 - 0.5 / np.maximum(theta, 1.0))

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = np.maximum(theta, 1.0)
        return 0.5 / at**2, np.where(theta < 1.0, 0.0, -1.0 / at**3)


@dataclass(frozen=True)
class _RampMinorant(_HingeMinorant):
    """Parabolas below min(top, max(0, 1 - |f|)): those of the hinge that do not exceed top at f = 0."""

    top: float

    @property
    def largest(self) -> float:  # type: ignore[override]
        return 2.0 * self.top if self.top <= 0.5 else 0.5 / (1.0 - self.top)

    def relaxed(self, s: FloatArray) -> FloatArray:
        touch = min(2.0 * (1.0 - self.top), 1.0)
        near = self.top - (self.top - 1.0 + touch) / touch**2 * np.maximum(s, 0.0)
        return np.where(s < touch**2, near, super().relaxed(s))

    def value(self, theta: FloatArray) -> FloatArray:
        return np.minimum(super().value(theta), self.top)

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return tuple(np.where(theta < self.largest, part, 0.0) for part in super().derivatives(theta))  # type: ignore[return-value]


class _SquaredHingeMinorant(Minorant):
    branch = SquaredHinge()
    largest = 1e8

    def relaxed(self, s: FloatArray) -> FloatArray:
        return np.maximum(1.0 - np.sqrt(np.maximum(s, 0.0)), 0.0) ** 2

    def value(self, theta: FloatArray) -> FloatArray:
        return theta / (2.0 + theta)

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return 2.0 / (2.0 + theta) ** 2, -4.0 / (2.0 + theta) ** 3


@dataclass(frozen=True)
class _ExpMinorant(Minorant):
    s: float

    @cached_property
    def branch(self) -> Any:
        return ExpEnvelope(self.s)

    @property
    def largest(self) -> float:
        return 2.0 * self.s

    def relaxed(self, s: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-self.s * np.maximum(s, 0.0)))

    def value(self, theta: FloatArray) -> FloatArray:
        x = np.minimum(theta / (2.0 * self.s), 1.0)
        return x * (1.0 - np.log(np.maximum(x, 1e-300)))

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        x = np.clip(theta / (2.0 * self.s), 1e-300, 1.0)
        return -np.log(x) / (2.0 * self.s), np.where(theta < 2.0 * self.s, -0.25 / (x * self.s**2), 0.0)


def minorant(loss: Any) -> Minorant:
    """Return the parabolas below a loss of unlabelled samples.

    Parameters
    ----------
    loss : SymmetricHinge, SymmetricSquaredHinge, ExpSquared or SymmetricRamp
        U.

    Raises
    ------
    ValueError
        For a loss that is neither convex in f^2 nor a symmetric ramp.

    Examples
    --------
    The parabola of curvature -2 below (1 - |f|)_+^2 touches it at |f| = 1/2:

    >>> below = minorant(SymmetricSquaredHinge())
    >>> f = np.array([0.0, 0.5, 1.0])
    >>> (below.value(np.array(2.0)) - 2.0 * f**2 / 2).tolist()
    [0.5, 0.25, -0.5]
    """
    if not (getattr(loss, "convex_in_square", False) or getattr(loss, "two_ramps", False)):
        raise InvalidInputError(
            f"{loss!r} is not convex in f^2, nor a sum of two ramps, which the global bounds rest on; "
            "choose unlabeled_loss 'symmetric_hinge', 'symmetric_squared_hinge', 'exp' or 'symmetric_ramp'."
        )
    for kind, below in _BELOW.items():
        if isinstance(loss, kind):
            return below(loss)
    raise InvalidTypeError(f"{type(loss).__name__} has no parabolas below it here.")


_BELOW: dict[type, Callable[[Any], Minorant]] = {
    SymmetricHinge: lambda loss: _HingeMinorant(),
    SymmetricRamp: lambda loss: _RampMinorant(1.0 + loss.s) if loss.s < 0.0 else _HingeMinorant(),
    SymmetricSquaredHinge: lambda loss: _SquaredHingeMinorant(),
    ExpSquared: lambda loss: _ExpMinorant(loss.s),
}
"""Parabolas below losses of these kinds."""
