"""Losses of the margin t = y f(x): value, gradient, curvature and concave conjugate, in numpy.

A loss V is written once, here. `specmargin.problems.as_cvxpy` is the only bridge of the convex ones to CVXPY and a
property test holds the two together. The conjugate that duality needs is

    dual_value(beta) = inf_t V(t) + beta t,

finite for `lower <= beta <= upper`: it is what one labelled sample adds to the dual objective when its
multiplier is beta. Values are per sample, without 1/2 and without weights; the objectives scale them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import entr, expit, xlog1py

from specmargin.checks import numeric, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import FloatArray

__all__ = [
    "LOSSES",
    "Hinge",
    "MarginLoss",
    "Ramp",
    "SmoothHinge",
    "SmoothLoss",
    "Squared",
    "SquaredHinge",
    "get_loss",
]


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


class MarginLoss(SmoothLoss, Protocol):
    """What a convex objective asks of a loss."""

    name: ClassVar[str]
    lower: ClassVar[float]
    upper: ClassVar[float]

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """inf_t V(t) + beta t, elementwise; -inf outside [lower, upper]."""
        ...


@dataclass(frozen=True)
class Hinge:
    """V(t) = max(0, 1 - t), the L1 loss of the SVM.

    Examples
    --------
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """

    name: ClassVar[str] = "hinge"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = 1.0

    def value(self, t: FloatArray) -> FloatArray:
        """max(0, 1 - t)."""
        return np.maximum(1.0 - t, 0.0)

    def gradient(self, t: FloatArray) -> FloatArray:
        """-1 left of the kink at t = 1, 0 from there on."""
        return np.where(t < 1.0, -1.0, 0.0)

    def curvature(self, t: FloatArray) -> FloatArray:
        """Zero: the loss is piecewise linear."""
        return np.zeros_like(t)

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """Beta on [0, 1]."""
        return np.where((beta >= 0.0) & (beta <= 1.0), beta, -np.inf)


@dataclass(frozen=True)
class SquaredHinge:
    """V(t) = max(0, 1 - t)^2, the L2 loss of the primal LapSVM.

    Examples
    --------
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 0.0]
    """

    name: ClassVar[str] = "squared_hinge"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = np.inf

    def value(self, t: FloatArray) -> FloatArray:
        """max(0, 1 - t)^2."""
        return np.maximum(1.0 - t, 0.0) ** 2

    def gradient(self, t: FloatArray) -> FloatArray:
        """-2 max(0, 1 - t)."""
        return -2.0 * np.maximum(1.0 - t, 0.0)

    def curvature(self, t: FloatArray) -> FloatArray:
        """2 where t < 1, else 0."""
        return np.where(t < 1.0, 2.0, 0.0)

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """Beta - beta^2 / 4 for beta >= 0."""
        return np.where(beta >= 0.0, beta - beta**2 / 4.0, -np.inf)


@dataclass(frozen=True)
class Squared:
    """V(t) = (1 - t)^2, which is (y - f)^2 for y in {-1, +1}: regularised least squares.

    Examples
    --------
    >>> Squared().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 1.0]
    """

    name: ClassVar[str] = "squared"
    lower: ClassVar[float] = -np.inf
    upper: ClassVar[float] = np.inf

    def value(self, t: FloatArray) -> FloatArray:
        """(1 - t)^2."""
        return (1.0 - t) ** 2

    def gradient(self, t: FloatArray) -> FloatArray:
        """-2 (1 - t)."""
        return -2.0 * (1.0 - t)

    def curvature(self, t: FloatArray) -> FloatArray:
        """2 everywhere."""
        return np.full_like(t, 2.0)

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """Beta - beta^2 / 4 for every beta."""
        return beta - beta**2 / 4.0


@dataclass(frozen=True)
class SmoothHinge:
    r"""V(t) = log(1 + exp(s (1 - t))) / s, the hinge with its kink rounded off; QN-S3VM takes s = 20.

    It lies above the hinge, by log(2) / s at most.

    Parameters
    ----------
    s : float, default 20
        Sharpness, > 0.

    References
    ----------
    Gieseke et al., Fast and simple gradient-based optimization for semi-supervised support vector machines,
    Neurocomputing 123, 2014.

    Examples
    --------
    >>> SmoothHinge().value(np.array([-1e6, 1.0, 2.0])).round(4).tolist()
    [1000001.0, 0.0347, 0.0]
    """

    s: float = 20.0
    name: ClassVar[str] = "smooth_hinge"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        numeric("s", self.s)
        if not (np.isfinite(self.s) and self.s > 0):
            raise InvalidInputError(f"s={self.s!r} must be a positive number: the sharpness of the rounded hinge.")

    def value(self, t: FloatArray) -> FloatArray:
        """log(1 + exp(s (1 - t))) / s, without overflow."""
        return np.logaddexp(0.0, self.s * (1.0 - t)) / self.s

    def gradient(self, t: FloatArray) -> FloatArray:
        """-1 / (1 + exp(-s (1 - t)))."""
        return -np.asarray(expit(self.s * (1.0 - t)))

    def curvature(self, t: FloatArray) -> FloatArray:
        """Curvature s p (1 - p) with p = -V'(t)."""
        u = self.s * (1.0 - t)
        return np.asarray(self.s * expit(u) * expit(-u))

    def majorant(self, t: FloatArray) -> FloatArray:
        """Curvature s tanh(u/2) / (2u), u = s (1 - t), of the parabola that touches V at t and lies above it elsewhere.

        Unlike V'' it does not vanish: its step is safe where V is all but straight (Jaakkola & Jordan, Bayesian
        parameter estimation via variational methods, Statistics and Computing 10, 2000).
        """
        u = np.maximum(np.abs(self.s * (1.0 - t)), 1e-8)
        return np.asarray(0.5 * self.s * np.tanh(0.5 * u) / u)

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """Beta plus the entropy of (beta, 1 - beta) over s, on [0, 1]."""
        inside = np.clip(beta, 0.0, 1.0)
        # log1p: 1 - beta has lost the digits of a small beta, and large weights would bring that to light.
        value = inside + (entr(inside) - xlog1py(1.0 - inside, -inside)) / self.s
        return np.where(inside == beta, value, -np.inf)


@dataclass(frozen=True)
class Ramp:
    """V(t) = min(1 - s, max(0, 1 - t)) = H_1(t) - H_s(t), the hinge that stops charging below t = s. Not convex.

    Parameters
    ----------
    s : float, default -0.3
        Where the loss becomes constant, < 1.

    References
    ----------
    Collobert, Sinz, Weston & Bottou, Large scale transductive SVMs, JMLR 7, 2006.

    Examples
    --------
    >>> Ramp(s=-0.5).value(np.array([-9.0, 0.0, 2.0])).tolist()
    [1.5, 1.0, 0.0]
    """

    s: float = -0.3
    name: ClassVar[str] = "ramp"

    def __post_init__(self) -> None:
        numeric("s", self.s)
        if not (np.isfinite(self.s) and self.s < 1):
            raise InvalidInputError(f"s={self.s!r} must be a number below 1, where the hinge ends.")

    def value(self, t: FloatArray) -> FloatArray:
        """min(1 - s, max(0, 1 - t))."""
        return np.clip(1.0 - t, 0.0, 1.0 - self.s)

    def gradient(self, t: FloatArray) -> FloatArray:
        """-1 from s to 1, 0 elsewhere."""
        return np.where((t >= self.s) & (t < 1.0), -1.0, 0.0)

    def curvature(self, t: FloatArray) -> FloatArray:
        """Zero: the loss is piecewise linear."""
        return np.zeros_like(t)


LOSSES: dict[str, MarginLoss] = {loss.name: loss for loss in (Hinge(), SquaredHinge(), Squared(), SmoothHinge())}
"""The convex losses by name."""


def get_loss(loss: str | MarginLoss) -> MarginLoss:
    """Return the loss of that name; a loss object passes through.

    Raises
    ------
    ValueError
        If no loss has that name; the message lists those that exist.

    Examples
    --------
    >>> get_loss("squared_hinge")
    SquaredHinge()
    """
    if not isinstance(loss, str):
        if not all(hasattr(loss, name) for name in ("value", "gradient")):
            raise InvalidTypeError(
                f"loss={shown(loss)} is no loss; take one of {sorted(LOSSES)}, or an object of specmargin.losses."
            )
        return loss
    try:
        return LOSSES[loss]
    except KeyError:
        raise InvalidInputError(f"unknown loss {loss!r}; choose one of {sorted(LOSSES)}.") from None
