"""Losses of the margin t = y f(x): value, gradient, curvature and concave conjugate, in numpy.

A loss V is written once, here, with the facts that `specmargin.losses.protocols` lists. `specmargin.problems.as_cvxpy`
is the only bridge of the convex ones to CVXPY and a property test holds the two together. Values are per sample,
without 1/2 and without weights; the objectives scale them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit, xlog1py

from specmargin.checks import among, numeric, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.losses.pieces import Pieces
from specmargin.losses.protocols import Loss, MarginLoss
from specmargin.typing import FloatArray

__all__ = ["LOSSES", "Hinge", "HuberHinge", "Ramp", "SmoothHinge", "Squared", "SquaredHinge", "get_loss"]


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """V(t) = max(0, 1 - t), the L1 loss of the SVM.

    Examples
    --------
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """

    name: ClassVar[str] = "hinge"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = 1.0
    convex = piecewise_quadratic = nonincreasing = gaussian = True
    slack_power = 1
    box_dual = True
    pieces = Pieces((0.0,), ((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))

    def value(self, t: FloatArray) -> FloatArray:
        """max(0, 1 - t)."""
        return np.maximum(1.0 - t, 0.0)

    def gradient(self, t: FloatArray) -> FloatArray:
        """-1 left of the kink at t = 1, 0 from there on."""
        return np.where(t < 1.0, -1.0, 0.0)

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """Beta on [0, 1]."""
        return np.where((beta >= 0.0) & (beta <= 1.0), beta, -np.inf)

    def dual_derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """1 and 0."""
        return np.ones_like(beta), np.zeros_like(beta)

    def value_of_slack(self, u: FloatArray) -> FloatArray:
        """max(0, u)."""
        return np.maximum(u, 0.0)


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """V(t) = max(0, 1 - t)^2, the L2 loss of the primal LapSVM.

    Examples
    --------
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 0.0]
    """

    name: ClassVar[str] = "squared_hinge"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = np.inf
    convex = smooth = curved = piecewise_quadratic = nonincreasing = True
    curvature_bound = 2.0
    gaussian = True
    slack_power = 2
    lapsvm_scale = 0.5  # eq. 7 of the primal paper
    pieces = Pieces((0.0,), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)))

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

    def dual_derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """1 - beta / 2 and -1/2."""
        return 1.0 - beta / 2.0, np.full_like(beta, -0.5)

    def value_of_slack(self, u: FloatArray) -> FloatArray:
        """max(0, u)^2."""
        return np.maximum(u, 0.0) ** 2


@dataclass(frozen=True)
class Squared(MarginLoss):
    """V(t) = (1 - t)^2, which is (y - f)^2 for y in {-1, +1}: regularised least squares.

    Examples
    --------
    >>> Squared().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 1.0]
    """

    name: ClassVar[str] = "squared"
    lower: ClassVar[float] = -np.inf
    upper: ClassVar[float] = np.inf
    convex = smooth = curved = piecewise_quadratic = True
    curvature_bound = 2.0
    pieces = Pieces((), ((1.0, 0.0, 0.0),))

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

    def value_of_slack(self, u: FloatArray) -> FloatArray:
        """u^2."""
        return u**2


@dataclass(frozen=True)
class HuberHinge(MarginLoss):
    r"""The hinge with its kink replaced by a parabola of width 2 h: piecewise quadratic, with a continuous slope.

    V(t) = 0 for t >= 1 + h, (1 + h - t)^2 / (4 h) for |1 - t| <= h, and 1 - t below. It lies above the hinge, by h / 4
    at most.

    Parameters
    ----------
    h : float, default 0.5
        Half the width of the parabola, > 0; from 0.01 to 0.5 in the paper.

    References
    ----------
    Chapelle, Training a support vector machine in the primal, Neural Computation 19, 2007.

    Examples
    --------
    >>> HuberHinge().value(np.array([-1.0, 0.5, 1.0, 1.5])).tolist()
    [2.0, 0.5, 0.125, 0.0]
    """

    h: float = 0.5
    name: ClassVar[str] = "huber_hinge"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = 1.0
    convex = smooth = curved = piecewise_quadratic = nonincreasing = True

    def __post_init__(self) -> None:
        numeric("h", self.h)
        if not 1e-150 < self.h < 1e150:
            raise InvalidInputError(f"h={self.h!r} must be a positive number: half the width of the rounded kink.")

    @property
    def curvature_bound(self) -> float:
        """1 / (2 h)."""
        return 0.5 / self.h

    @cached_property
    def pieces(self) -> Pieces:
        """Zero, the parabola from u = -h to h, and the line u."""
        return Pieces((-self.h, self.h), ((0.0, 0.0, 0.0), (0.25 / self.h, 0.5, 0.25 * self.h), (0.0, 1.0, 0.0)))

    def value(self, t: FloatArray) -> FloatArray:
        """Zero, the parabola or the line."""
        return self.value_of_slack(1.0 - t)

    def gradient(self, t: FloatArray) -> FloatArray:
        """-1 for t <= 1 - h, 0 for t >= 1 + h, straight between."""
        return -np.clip(((1.0 - t) + self.h) / (2.0 * self.h), 0.0, 1.0)

    def curvature(self, t: FloatArray) -> FloatArray:
        """1 / (2 h) between the kinks, 0 elsewhere."""
        u = 1.0 - t
        return np.where((u > -self.h) & (u <= self.h), 0.5 / self.h, 0.0)

    def dual_value(self, beta: FloatArray) -> FloatArray:
        """Beta + h beta (1 - beta) on [0, 1]."""
        inside = np.clip(beta, 0.0, 1.0)
        return np.where(inside == beta, inside + self.h * inside * (1.0 - inside), -np.inf)

    def dual_derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """1 + h (1 - 2 beta) and -2 h."""
        return 1.0 + self.h * (1.0 - 2.0 * beta), np.full_like(beta, -2.0 * self.h)

    def value_of_slack(self, u: FloatArray) -> FloatArray:
        """max(0, u + h)^2 / (4 h) up to u = h, u beyond."""
        inside = np.clip(u + self.h, 0.0, 2.0 * self.h)
        return np.where(u > self.h, u, inside / (4.0 * self.h) * inside)


@dataclass(frozen=True)
class SmoothHinge(MarginLoss):
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
    convex = smooth = curved = nonincreasing = gaussian = True

    def __post_init__(self) -> None:
        numeric("s", self.s)
        if not (np.isfinite(self.s) and self.s > 0):
            raise InvalidInputError(f"s={self.s!r} must be a positive number: the sharpness of the rounded hinge.")

    @property
    def curvature_bound(self) -> float:
        """S / 4."""
        return 0.25 * self.s

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

    def dual_derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """1 + log((1 - beta) / beta) / s and -1 / (s beta (1 - beta)), finite at the ends 0 and 1, too."""
        inside = np.clip(beta, 1e-300, 1.0 - 2.0**-53)
        odds = np.log1p(-inside) - np.log(inside)
        return 1.0 + odds / self.s, -1.0 / (self.s * inside * (1.0 - inside))


@dataclass(frozen=True)
class Ramp(Loss):
    """V(t) = min(1 - s, max(0, 1 - t)) = H_1(t) - H_s(t), the hinge that stops charging below t = s. Not convex.

    Parameters
    ----------
    s : float, default -0.3
        Margin below which the loss is constant, < 1.

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
    piecewise_quadratic = nonincreasing = gaussian = True

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


LOSSES: dict[str, MarginLoss] = {
    loss.name: loss for loss in (Hinge(), SquaredHinge(), HuberHinge(), Squared(), SmoothHinge())
}
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
        raise InvalidInputError(f"unknown loss {loss!r}; choose one of {among(loss, sorted(LOSSES))}") from None
