"""Losses of the decision f of an unlabelled sample: even functions, not increasing in |f|. None is convex.

The best label of an unlabelled sample is the sign of its decision, so that the hinge costs it
min(H(f), H(-f)) = max(0, 1 - |f|): the symmetric hinge. exp(-s f^2) is its smooth replacement; the CCCP uses the sum of
two ramps, whose limit is the symmetric hinge. All decrease in |f|; `SymmetricHinge`, `SymmetricSquaredHinge` and
`ExpSquared` are also *convex in f^2*, on which the global bounds of S3VMs rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from specmargin.checks import among, numeric, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.losses.margin import Hinge, Ramp, SquaredHinge
from specmargin.losses.protocols import Loss, SmoothLoss
from specmargin.typing import FloatArray

__all__ = [
    "UNLABELED_LOSSES",
    "ExpSquared",
    "SymmetricHinge",
    "SymmetricRamp",
    "SymmetricSquaredHinge",
    "UnlabeledLoss",
    "better_label",
    "get_unlabeled_loss",
    "is_better_label",
]


class UnlabeledLoss(Loss, Protocol):
    """An even loss of the decision, not increasing in |f|: ``nonincreasing``.

    Attributes
    ----------
    name : str
        Name in messages, and in `UNLABELED_LOSSES`.
    """

    name: ClassVar[str]

    @property
    def convex_in_square(self) -> bool:
        """Whether it is v(f^2) with a convex v that never rises: global bounds rest on that."""
        return False

    @property
    def flat_half_width(self) -> float:
        """-s of two ramps, one per label, which the loss is up to a constant: 0 or more; nan if it is no such sum.

        Between -flat_half_width and flat_half_width both ramps are constant.
        """
        return np.nan

    @property
    def two_ramps(self) -> bool:
        """Whether it is the sum of two ramps, one per label, up to a constant."""
        return not np.isnan(self.flat_half_width)

    @property
    def sharpness(self) -> float:
        """S of the exp(-s f^2) whose width the continuation takes for that of this loss."""
        return 3.0


class _BetterLabel(UnlabeledLoss):
    """U(f) = V(|f|): what a loss of the margin costs at the better of both labels."""

    piecewise_quadratic = nonincreasing = gaussian = True

    @property
    def of_margin(self) -> Loss:
        """The loss V."""
        raise NotImplementedError

    def value(self, f: FloatArray) -> FloatArray:
        """V(|f|)."""
        return self.of_margin.value(np.abs(f))

    def gradient(self, f: FloatArray) -> FloatArray:
        """Sign(f) V'(|f|): 0 at the kink f = 0."""
        return np.sign(f) * self.of_margin.gradient(np.abs(f))

    def curvature(self, f: FloatArray) -> FloatArray:
        """V''(|f|); the concave kink at 0 is left out."""
        return self.of_margin.curvature(np.abs(f))


@dataclass(frozen=True)
class SymmetricHinge(_BetterLabel):
    """U(f) = max(0, 1 - |f|): the hinge at the better of both labels.

    Examples
    --------
    >>> SymmetricHinge().value(np.array([-2.0, -0.25, 0.0, 0.5])).tolist()
    [0.0, 0.75, 1.0, 0.5]
    """

    name: ClassVar[str] = "symmetric_hinge"
    of_margin = Hinge()
    slack_power = 1
    convex_in_square = True
    flat_half_width = 0.0


@dataclass(frozen=True)
class SymmetricSquaredHinge(_BetterLabel):
    """U(f) = max(0, 1 - |f|)^2: the squared hinge at the better of both labels.

    Examples
    --------
    >>> SymmetricSquaredHinge().value(np.array([-2.0, 0.0, 0.5])).tolist()
    [0.0, 1.0, 0.25]
    """

    name: ClassVar[str] = "symmetric_squared_hinge"
    of_margin = SquaredHinge()
    curved = True
    slack_power = 2
    convex_in_square = True


@dataclass(frozen=True)
class ExpSquared(UnlabeledLoss):
    """U(f) = exp(-s f^2), the smooth loss of the gradient methods.

    Parameters
    ----------
    s : float, default 3
        Sharpness, > 0; 3 in the papers of Chapelle and of Gieseke, 5 in the survey of 2008.

    References
    ----------
    Chapelle & Zien, Semi-supervised classification by low density separation, AISTATS 2005.

    Examples
    --------
    >>> ExpSquared().value(np.array([0.0, 1.0, 1e200])).round(4).tolist()
    [1.0, 0.0498, 0.0]
    """

    s: float = 3.0
    name: ClassVar[str] = "exp"
    smooth = curved = nonincreasing = gaussian = convex_in_square = True

    def __post_init__(self) -> None:
        numeric("s", self.s)
        if not (np.isfinite(self.s) and self.s > 0):
            raise InvalidInputError(f"s={self.s!r} must be a positive number: the sharpness of exp(-s f^2).")

    @property
    def curvature_bound(self) -> float:
        """2 s, at f = 0."""
        return 2.0 * self.s

    @property
    def sharpness(self) -> float:
        """Its own."""
        return self.s

    def value(self, f: FloatArray) -> FloatArray:
        """exp(-s f^2)."""
        return np.asarray(np.exp(-self.s * _safe(f) ** 2))

    def gradient(self, f: FloatArray) -> FloatArray:
        """-2 s f U(f)."""
        f = _safe(f)
        return np.asarray(-2.0 * self.s * f * np.exp(-self.s * f**2))

    def curvature(self, f: FloatArray) -> FloatArray:
        """-2 s (1 - 2 s f^2) U(f)."""
        q = self.s * _safe(f) ** 2
        return np.asarray(-2.0 * self.s * (1.0 - 2.0 * q) * np.exp(-q))

    def rounding_scale(self, t: FloatArray, value: FloatArray) -> FloatArray:
        """Return the value times 1 + s f^2: of the exponent's roundings, too."""
        return value * (1.0 + self.s * t**2)


@dataclass(frozen=True)
class SymmetricRamp(_BetterLabel):
    """U(f) = min(1 + s, max(0, 1 - |f|)): what two ramps, one per label, cost beyond the constant 1 - s.

    With `Ramp(s)` = R, R(f) + R(-f) = U(f) + 1 - s. At s = 0 it is the symmetric hinge; below, samples with |f| < -s
    have the gradient 0.

    Parameters
    ----------
    s : float, default 0
        End of the ramp, in (-1, 0].

    References
    ----------
    Collobert, Sinz, Weston & Bottou, Large scale transductive SVMs, JMLR 7, 2006.

    Examples
    --------
    >>> SymmetricRamp(s=-0.25).value(np.array([-2.0, 0.0, 0.5])).tolist()
    [0.0, 0.75, 0.5]
    """

    s: float = 0.0
    name: ClassVar[str] = "symmetric_ramp"

    def __post_init__(self) -> None:
        numeric("s", self.s)
        if not -1.0 < self.s <= 0.0:
            raise InvalidInputError(f"s={self.s!r} must be in (-1, 0]: below -1 the two ramps cancel everywhere.")

    @property
    def convex_in_square(self) -> bool:
        """Whether s = 0, where it is the symmetric hinge."""
        return self.s == 0.0

    @property
    def slack_power(self) -> int:
        """1 at s = 0, where it is the symmetric hinge."""
        return int(self.s == 0.0)

    @property
    def flat_half_width(self) -> float:
        """-s."""
        return -self.s

    @cached_property
    def of_margin(self) -> Ramp:
        """The ramp that ends at -s."""
        return Ramp(-self.s)


def _safe(f: FloatArray) -> FloatArray:
    """Clip decisions whose squares would overflow: exp(-s f^2) has been zero long before."""
    return np.clip(f, -1e150, 1e150)


UNLABELED_LOSSES: dict[str, UnlabeledLoss] = {
    loss.name: loss for loss in (SymmetricHinge(), SymmetricSquaredHinge(), ExpSquared(), SymmetricRamp())
}
"""The losses of unlabelled samples by name."""


def _is_even(loss: Any) -> bool:
    """Whether a loss is the same for f and -f; one that was made for given samples is taken to be so."""
    if hasattr(loss, "dual_value") or isinstance(loss, type):  # of the margin, or no object
        return False
    try:
        near, far = (np.asarray(loss.value(sign * _SOME)) for sign in (1.0, -1.0))
    except ValueError:  # smoothed by other amounts than there are decisions here
        return True
    return bool(np.allclose(near, far, rtol=1e-9, atol=1e-12))


_SOME = np.array([0.25, 0.5, 1.0, 1.5])


def better_label(loss: SmoothLoss) -> UnlabeledLoss | None:
    """Return U(f) = V(|f|), what V costs at the better of both labels; None where that is none of this module's.

    Examples
    --------
    >>> from specmargin.losses import Hinge, Squared
    >>> better_label(Hinge()), better_label(Squared())
    (SymmetricHinge(), None)
    """
    power = getattr(loss, "slack_power", 0)
    same = (one for one in UNLABELED_LOSSES.values() if one.slack_power == power)
    return next(same, None) if power else None


def is_better_label(loss: SmoothLoss, unlabeled_loss: SmoothLoss) -> bool:
    """Whether an unlabelled loss is V(|f|), what a power of max(0, 1 - t) costs at the better of both labels.

    Examples
    --------
    >>> from specmargin.losses import Hinge, SquaredHinge
    >>> is_better_label(Hinge(), SymmetricRamp(s=0.0)), is_better_label(SquaredHinge(), SymmetricHinge())
    (True, False)
    """
    power = getattr(unlabeled_loss, "slack_power", 0)
    return power > 0 and power == getattr(loss, "slack_power", 0)


def get_unlabeled_loss(loss: str | UnlabeledLoss) -> UnlabeledLoss:
    """Return the loss of that name; a loss object of the decision passes through.

    Raises
    ------
    ValueError
        If no loss has that name; the message lists those that exist.
    TypeError
        For what is no loss, or one of the margin, which is not even: no label is there to multiply the decision with.

    Examples
    --------
    >>> get_unlabeled_loss("exp")
    ExpSquared(s=3.0)
    """
    if not isinstance(loss, str):
        is_loss = all(hasattr(loss, name) for name in ("value", "gradient"))
        if not is_loss or not _is_even(loss):
            what = "is a loss of the margin, not the same for f and -f" if is_loss else "is no loss"
            raise InvalidTypeError(
                f"loss={shown(loss)} {what}; take one of {sorted(UNLABELED_LOSSES)}, or one of "
                "specmargin.losses.unlabeled."
            )
        return loss
    try:
        return UNLABELED_LOSSES[loss]
    except KeyError:
        raise InvalidInputError(
            f"unknown loss {loss!r} of unlabelled samples; choose one of {among(loss, sorted(UNLABELED_LOSSES))}"
        ) from None
