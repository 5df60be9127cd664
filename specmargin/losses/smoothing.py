r"""Losses convolved with a Gaussian: V_sigma(t) = E V(t + sigma z), z standard normal, in closed form.

The continuation method of Chapelle, Chi & Zien smooths the objective in w with variance gamma per coordinate; a sample
x then sees its own loss convolved with sigma = sqrt(gamma) |x|. Hence sigma may hold one number per sample.

- `Hinge`, `SquaredHinge`, `Ramp` and the symmetric hinges are sums of powers of max(0, kink - t), whose smoothings are
  those of the error function. Far out on the side where they vanish they are evaluated by the scaled function erfcx,
  and the even losses at |f|, so that no large numbers cancel. Where sigma exceeds half the width of a bounded loss the
  pieces would cancel nevertheless, and Gauss-Legendre quadrature, exact to rounding there, is used instead.
- `ExpSquared` stays in its family: a^(-1/2) exp(-s f^2 / a) with a = 1 + 2 s sigma^2.
- `SmoothHinge` has no closed form: it is the smoothed hinge plus a quadrature of its difference from the hinge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtr

from specmargin.arrays import finite_numbers, numbers_array
from specmargin.checks import shown
from specmargin.exceptions import InvalidTypeError
from specmargin.losses.margin import Hinge, Ramp, SmoothHinge, SquaredHinge
from specmargin.losses.protocols import SmoothLoss
from specmargin.losses.unlabeled import ExpSquared, SymmetricHinge, SymmetricRamp, SymmetricSquaredHinge
from specmargin.typing import FloatArray

__all__ = ["smoothed"]

_WIDE = 0.5
"""Sigma from which a loss with support [-1, 1] is integrated instead of summed over its pieces."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_HERMITE_NODES, _HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


def smoothed(loss: Any, sigma: npt.ArrayLike) -> SmoothLoss:
    """Return the loss convolved with a Gaussian of standard deviation sigma.

    Parameters
    ----------
    loss : SmoothLoss
        One of `specmargin.losses` that declares ``gaussian``: not `Squared`, to which smoothing only adds sigma^2, nor
        `HuberHinge`.
    sigma : float or ndarray of shape (n,)
        Nonnegative; one number per sample where an array. 0 leaves the loss as it is, but for the side it takes at a
        kink.

    Returns
    -------
    SmoothLoss
        Loss with value, gradient and curvature.

    Raises
    ------
    ValueError
        If sigma is negative, NaN or infinite.
    TypeError
        If the loss has no smoothing here.

    Examples
    --------
    At its kink the hinge gains sigma times the density of the normal law at zero:

    >>> smoothed(Hinge(), 2.0).value(np.array([1.0])).round(6).tolist()
    [0.797885]
    """
    what = "the standard deviations of a Gaussian, >= 0"
    numbers_array(what, finite=False)("sigma", sigma)
    finite_numbers(f"sigma={shown(sigma)}", np.asarray(sigma, dtype=float), what, least=0.0)
    return _smoothed(loss, np.asarray(sigma, dtype=float))


@singledispatch
def _smoothed(loss: Any, sigma: FloatArray) -> SmoothLoss:
    raise InvalidTypeError(f"loss={shown(loss)} has no Gaussian smoothing here; take one of specmargin.losses.")


@_smoothed.register
def _(loss: Hinge, sigma: FloatArray) -> SmoothLoss:
    return _Pieces(sigma, ((1.0, 1.0, 1),))


@_smoothed.register
def _(loss: SquaredHinge, sigma: FloatArray) -> SmoothLoss:
    return _Pieces(sigma, ((1.0, 1.0, 2),))


@_smoothed.register
def _(loss: Ramp, sigma: FloatArray) -> SmoothLoss:
    return _SmoothedRamp(sigma, loss.s)


@_smoothed.register
def _(loss: SymmetricHinge, sigma: FloatArray) -> SmoothLoss:
    return _Even(sigma, ((1.0, 1.0, 1), (-2.0, 0.0, 1), (1.0, -1.0, 1)), loss.value, (0.0, 1.0))


@_smoothed.register
def _(loss: SymmetricSquaredHinge, sigma: FloatArray) -> SmoothLoss:
    return _Even(sigma, ((1.0, 1.0, 2), (-4.0, 0.0, 1), (-1.0, -1.0, 2)), loss.value, (0.0, 1.0))


@_smoothed.register
def _(loss: SymmetricRamp, sigma: FloatArray) -> SmoothLoss:
    flat = -loss.s
    pieces = ((1.0, 1.0, 1), (-1.0, flat, 1), (-1.0, -flat, 1), (1.0, -1.0, 1))
    return _Even(sigma, pieces, loss.value, (0.0, flat, 1.0))


@_smoothed.register
def _(loss: ExpSquared, sigma: FloatArray) -> SmoothLoss:
    return _SmoothedExp(loss, 1.0 + 2.0 * loss.s * sigma**2)


@_smoothed.register
def _(loss: SmoothHinge, sigma: FloatArray) -> SmoothLoss:
    return _SmoothedLogistic(loss, sigma)


class _Smoothed:
    """What smoothed losses share: that they are curved (`specmargin.losses.Loss`), and derivatives by their order."""

    curved = True

    def derivative(self, t: FloatArray, order: int) -> FloatArray:
        """Return the value (order 0), the gradient (1) or the curvature (2)."""
        raise NotImplementedError

    def value(self, t: FloatArray) -> FloatArray:
        return self.derivative(t, 0)

    def gradient(self, t: FloatArray) -> FloatArray:
        return self.derivative(t, 1)

    def curvature(self, t: FloatArray) -> FloatArray:
        return self.derivative(t, 2)


def _density(e: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * e**2) / np.sqrt(2.0 * np.pi))


def _positive_part(m: FloatArray, sigma: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return E max(0, m + sigma z)^power and its first two derivatives by m."""
    certain = np.where(m > 0, np.inf, np.where(m < 0, -np.inf, 0.0))
    with np.errstate(over="ignore"):
        # Beyond 40 deviations the Gaussian is zero in double precision.
        e = np.clip(np.divide(m, sigma, out=certain, where=sigma > 0), -40.0, 40.0)
    phi, Phi = _density(e), ndtr(e)
    tail = np.abs(e)
    mills = np.sqrt(np.pi / 2.0) * erfcx(tail / np.sqrt(2.0))
    # max(0, m) plus the Gaussian's part, which is even in m.
    first = np.maximum(m, 0.0) + sigma * phi * (1.0 - tail * mills)
    curvature = np.divide(phi, sigma, out=np.zeros_like(phi), where=sigma > 0)
    if power == 1:
        return first, Phi, curvature
    beyond = sigma**2 * phi * ((1.0 + tail**2) * mills - tail)
    second = np.where(m > 0, m**2 + sigma**2 - beyond, beyond)
    return second, 2.0 * first, 2.0 * Phi


@dataclass(frozen=True, eq=False)
class _Pieces(_Smoothed):
    """Sum of weight * E max(0, kink - t - sigma z)^power over (weight, kink, power)."""

    sigma: FloatArray
    pieces: tuple[tuple[float, float, int], ...]

    def derivative(self, t: FloatArray, order: int) -> FloatArray:
        """Return the value (order 0), the gradient (1) or the curvature (2)."""
        sigma = np.broadcast_to(self.sigma, np.shape(t))
        total = np.zeros(np.shape(t))
        for weight, kink, power in self.pieces:
            total += weight * (-1.0) ** order * _positive_part(kink - t, sigma, power)[order]
        return total


def _quadrature(ends: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss-Legendre rules on consecutive intervals."""
    nodes, weights = [], []
    for low, high in pairwise(ends):
        half = (high - low) / 2.0
        nodes.append((low + high) / 2.0 + half * _NODES)
        weights.append(half * _WEIGHTS)
    return np.concatenate(nodes), np.concatenate(weights)


@dataclass(frozen=True, eq=False)
class _Even(_Smoothed):
    """An even loss on [-1, 1]: pieces for f >= 0 where sigma is small, an integral over its support where it is not."""

    sigma: FloatArray
    pieces: tuple[tuple[float, float, int], ...]
    loss: Callable[[FloatArray], FloatArray]
    kinks: tuple[float, ...]

    def derivative(self, t: FloatArray, order: int) -> FloatArray:
        """Return the value (order 0), the gradient (1) or the curvature (2)."""
        at_size = self._evaluate(np.abs(t), order)
        return np.sign(t) * at_size if order == 1 else at_size

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        u, weight = _quadrature(self.kinks)
        mass = weight * self.loss(u)
        return np.concatenate([-u, u]), np.concatenate([mass, mass])

    def _evaluate(self, f: FloatArray, order: int) -> FloatArray:
        sigma = np.broadcast_to(self.sigma, f.shape)
        wide = sigma >= _WIDE
        out = np.empty(f.shape)
        out[~wide] = _Pieces(sigma[~wide], self.pieces).derivative(f[~wide], order)
        u, mass = self._nodes
        spread = sigma[wide]
        e = np.clip((f[wide][:, None] - u) / spread[:, None], -40.0, 40.0)
        shape = (1.0, -e / spread[:, None], (e**2 - 1.0) / spread[:, None] ** 2)[order]
        out[wide] = (shape * _density(e)) @ mass / spread
        return out


@dataclass(frozen=True, eq=False)
class _SmoothedRamp(_Smoothed):
    """1 - t confined to [0, 1 - s]; beyond the middle of its slope by symmetry."""

    sigma: FloatArray
    s: float

    def value(self, t: FloatArray) -> FloatArray:
        sigma = np.broadcast_to(self.sigma, np.shape(t))
        # Distance from the middle: beyond it the ramp is its largest value minus its mirror image.
        far = np.abs(t - (1.0 + self.s) / 2.0)
        half = (1.0 - self.s) / 2.0
        wide = sigma >= _WIDE * (1.0 - self.s)
        low = np.empty(np.shape(t))
        low[~wide] = _Pieces(sigma[~wide], ((1.0, half, 1), (-1.0, -half, 1))).derivative(far[~wide], 0)
        u, weight = _quadrature((-half, half))
        low[wide] = ndtr((u - far[wide][:, None]) / sigma[wide][:, None]) @ weight
        return np.where(t > (1.0 + self.s) / 2.0, low, 2.0 * half - low)

    def gradient(self, t: FloatArray) -> FloatArray:
        sigma = np.broadcast_to(self.sigma, np.shape(t))
        middle, half = (1.0 + self.s) / 2.0, (1.0 - self.s) / 2.0
        far = np.abs(t - middle)
        return -(_positive_part(half - far, sigma, 1)[1] - _positive_part(-half - far, sigma, 1)[1])

    def curvature(self, t: FloatArray) -> FloatArray:
        return _Pieces(self.sigma, ((1.0, 1.0, 1), (-1.0, self.s, 1))).derivative(t, 2)


@dataclass(frozen=True, eq=False)
class _SmoothedExp(_Smoothed):
    """a^(-1/2) exp(-s f^2 / a)."""

    loss: ExpSquared
    a: FloatArray

    def value(self, f: FloatArray) -> FloatArray:
        return self.loss.value(f / np.sqrt(self.a)) / np.sqrt(self.a)

    def gradient(self, f: FloatArray) -> FloatArray:
        return self.loss.gradient(f / np.sqrt(self.a)) / self.a

    def curvature(self, f: FloatArray) -> FloatArray:
        return self.loss.curvature(f / np.sqrt(self.a)) / self.a**1.5


@dataclass(frozen=True, eq=False)
class _SmoothedLogistic(_Smoothed):
    """The smoothed logistic hinge: by quadrature of V where sigma is small against 1/s, else of V less the hinge."""

    loss: SmoothHinge
    sigma: FloatArray

    def derivative(self, t: FloatArray, order: int) -> FloatArray:
        """Return the value (order 0), the gradient (1) or the curvature (2)."""
        sigma = np.broadcast_to(self.sigma, np.shape(t))
        wide = sigma * self.loss.s > 1.0
        out = np.empty(np.shape(t))
        whole = (self.loss.value, self.loss.gradient, self.loss.curvature)[order]
        points = t[~wide][:, None] + sigma[~wide][:, None] * _HERMITE_NODES
        out[~wide] = whole(points) @ _HERMITE_WEIGHTS / np.sqrt(2.0 * np.pi)
        # Wide: V less the hinge is even about t = 1, of width 1/s, and smooth on either side.
        out[wide] = _Pieces(sigma[wide], ((1.0, 1.0, 1),)).derivative(t[wide], order) + self._excess_over_hinge(
            t[wide], sigma[wide], order
        )
        return out

    def _excess_over_hinge(self, t: FloatArray, sigma: FloatArray, order: int) -> FloatArray:
        """Return the smoothed log(1 + exp(-s |1 - t|)) / s, or its derivatives."""
        ends = tuple(np.array([0.0, 1.0, 3.0, 8.0, 18.0, 40.0]) / self.loss.s)
        u, weight = _quadrature(ends)
        mass = weight * np.log1p(np.exp(-self.loss.s * u)) / self.loss.s
        total = np.zeros(t.shape)
        for side in (-1.0, 1.0):
            e = np.clip((t[:, None] - (1.0 + side * u)) / sigma[:, None], -40.0, 40.0)
            shape = (1.0, -e / sigma[:, None], (e**2 - 1.0) / sigma[:, None] ** 2)[order]
            total += (shape * _density(e)) @ mass / sigma
        return total
