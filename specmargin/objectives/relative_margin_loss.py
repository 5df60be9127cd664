"""The loss of the SVM and of the relative margin machine (RMM) with all that its duality needs: `RelativeMargin`.

The constraint |f| <= B of eq. 5 of the spectrum paper is part of the loss: the hinge confined to |f| <= B. Everything
that duality needs of it is its concave conjugate, `RelativeMargin.dual_value`.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.intercept import balanced, hinge_intercepts
from specmargin.rounding import EXTENDED_UNIT, UNIT, extended_product
from specmargin.typing import AnyArray, FloatArray

__all__ = ["DecisionLoss", "RelativeMargin", "with_sum_zero"]

_ON_MARGIN = 1e-6
"""Distance from one at which a margin is meant to be one."""

_LEAST_LACK = 1e-14
"""Loss, relative to the objective, that margins of nearly one may cost."""

_FEASIBLE = 1e-9
"""Relative violation of a constraint that counts as rounding: such a point is certified as it is."""


class DecisionLoss(ABC):
    """What the losses of a classifier and its kernel share: decisions within B, multipliers of sum zero."""

    @property
    @abstractmethod
    def B(self) -> float:
        """Bound on the decisions."""

    @abstractmethod
    def allows(self, s: FloatArray) -> bool:
        """Whether all conjugates are finite."""

    @abstractmethod
    def repair_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return feasible multipliers near by."""

    def holds(self, f: FloatArray) -> bool:
        """Whether decisions are within B but for rounding."""
        return bool((np.abs(f) <= self.B * (1.0 + _FEASIBLE)).all())

    def share_within(self, f: FloatArray) -> float:
        """Return the factor that brings decisions within B; 1 where they `holds`."""
        return 1.0 if self.holds(f) else self.B / float(np.abs(f).max())

    def nearest_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return multipliers that are feasible but for rounding as they are, others after `repair_multipliers`."""
        even = abs(math.fsum(gamma)) <= len(gamma) * UNIT * float(np.abs(gamma).max(initial=0.0))
        return gamma if even and self.allows(y * gamma) else self.repair_multipliers(y, gamma)


@dataclass(frozen=True)
class RelativeMargin(DecisionLoss):
    """C max(0, 1 - t) on |t| <= B, infinite outside: the loss of the SVM (B = inf) and of the RMM.

    Parameters
    ----------
    C : float or ndarray of shape (l,)
        Weight of the loss, > 0; of several samples one each.
    B : float, default inf
        Bound on the decisions. Below 1 no sample can reach its margin: feasible, but every multiplier is at its
        bound, so a warning is issued. Negative values are an error.

    Examples
    --------
    >>> RelativeMargin(C=2.0, B=1.5).dual_value(np.array([-1.0, 1.0, 4.0])).tolist()
    [-1.5, 1.0, -1.0]
    """

    C: float | FloatArray
    B: float = np.inf
    name: ClassVar[str] = "hinge"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.C) & (np.asarray(self.C) > 0)).all():
            raise InvalidInputError(f"C={self.C!r} must be a positive number: it weighs the loss against the margin.")
        if np.isnan(self.B) or self.B < 0:
            raise InvalidInputError(
                f"B={self.B!r} must be >= 0: it bounds the decisions, |f| <= B. Take a value above 1, or inf (the SVM)."
            )
        if self.B < 1:
            warnings.warn(
                f"B={self.B!r} is below 1: no sample can reach the margin y f >= 1, all of them are charged; "
                "values of interest lie between 1 and the largest |f| of the SVM.",
                UserWarning,
                stacklevel=3,
            )

    def value(self, t: FloatArray) -> FloatArray:
        """Return the loss at the margins t, inf where |t| > B."""
        return np.where(np.abs(t) <= self.B, self.C * np.maximum(1.0 - t, 0.0), np.inf)

    def dual_value(self, s: FloatArray) -> FloatArray:
        """Return inf_t value(t) + s t: the least over the corners t = -B, 1, B of the loss."""
        C, B = self.C, self.B
        if np.isinf(B):
            return np.where((s >= 0) & (s <= C), s, -np.inf)
        left, right = C * (1 + B) - B * s, C * max(0.0, 1 - B) + B * s
        ends = np.minimum(left, right)
        return np.minimum(ends, s) if B >= 1 else ends

    def allows(self, s: FloatArray) -> bool:
        """Whether all conjugates are finite."""
        return bool(np.isfinite(self.B) or ((s >= 0) & (s <= self.C)).all())

    def value_bounds(self, y: FloatArray, f: AnyArray, error: FloatArray, b: float) -> tuple[float, float]:
        """Return the sum of the losses at f + b, and a bound on what it can be at a feasible point.

        Decisions f are within `error` of the exact ones. Those that may exceed B come within when all are shortened.
        """
        f = f.astype(np.longdouble) + b
        error = error + 2 * EXTENDED_UNIT * np.abs(f)
        over = max(float((np.abs(f) + error).max() - np.longdouble(self.B)), 0.0)
        t = np.clip(y * f, -self.B, self.B)
        C, slack = np.asarray(self.C, dtype=np.longdouble), 1 + 4 * (len(t) + 4) * EXTENDED_UNIT
        losses, most = C * np.maximum(1 - t, 0), C * np.maximum(1 - t + error + over, 0)
        return float(losses.sum()), float(most.sum() * slack)

    def dual_bounds(self, s: FloatArray) -> tuple[Any, Any]:
        """Return the sum of `dual_value` in extended precision, and a bound below it that no rounding has touched."""
        s, C = s.astype(np.longdouble), np.asarray(self.C, dtype=np.longdouble)
        summed = 4 * (len(s) + 4) * EXTENDED_UNIT
        if np.isinf(self.B):
            total = s.sum() if ((s >= 0) & (s <= C)).all() else np.longdouble(-np.inf)
            return total, total - summed * np.abs(s).sum()
        B = np.longdouble(self.B)
        # Two lines, and where B >= 1 the third one s: constant plus slope times s, rounded in proportion to both.
        lines = [(C * (1 + B), -B * s), (C * max(1 - B, np.longdouble(0)), B * s)]
        pieces = [constant + linear for constant, linear in lines]
        below = [constant + linear - 4 * EXTENDED_UNIT * (constant + np.abs(linear)) for constant, linear in lines]
        value, least = (np.minimum(*both) for both in (pieces, below))
        if B >= 1:
            value, least = np.minimum(value, s), np.minimum(least, s)
        return value.sum(), least.sum() - summed * np.abs(value).sum()

    def repair_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return the nearest multipliers with 1'gamma = 0 (and 0 <= y gamma <= C where B is infinite)."""
        if np.isfinite(self.B):
            return with_sum_zero(gamma - gamma.mean(), np.full(len(y), -np.inf), np.full(len(y), np.inf))
        gamma = y * balanced(y, np.clip(y * gamma, 0.0, self.C))
        return with_sum_zero(gamma, np.where(y > 0, 0.0, -self.C), np.where(y > 0, self.C, 0.0))

    def repair_decisions(self, y: FloatArray, f: FloatArray, b: float) -> tuple[float, float]:
        """Return (scale, b) for which scale*f + b lies within [-B, B] and b is the best intercept there.

        `f` holds the decisions without intercept. The `b` that is passed in is kept where it is optimal: the
        loss is flat in b when no free support vector pins it.
        """
        scale = 1.0
        low, high = -np.inf, np.inf
        if np.isfinite(self.B):
            spread = f.max() - f.min()
            if spread > 2 * self.B:
                scale = 2 * self.B / spread * (1 - 1e-15)
            low, high = -self.B - scale * f.min(), self.B - scale * f.max()
            if low > high:  # rounding only: both are the same point
                low = high = (low + high) / 2
        left, right = hinge_intercepts(y, scale * f, None if np.ndim(self.C) == 0 else np.asarray(self.C))
        return scale, float(np.clip(np.clip(b, left, right), low, high))

    def correct_rounding(
        self, y: FloatArray, A: FloatArray, v: FloatArray, b: float, primal: float
    ) -> tuple[FloatArray, float]:
        """Return (v, b) whose decisions A v + b are within B, and whose margins of one are one, whatever rounding does.

        The loss multiplies what a margin lacks by C; longer (v, b) make up for it at the price of twice as much of the
        `primal` objective. Decisions beyond the bound are shortened.
        """
        t = y * (A @ v + b)
        near = np.abs(t - 1) < _ON_MARGIN
        C = np.broadcast_to(self.C, t.shape)[near]
        lengthen = float(C.sum()) > 4 * primal
        lengthen = lengthen and float(C @ np.maximum(1 - t[near], 0)) + float(C.max()) * UNIT > _LEAST_LACK * primal
        for _ in range(3 if np.isfinite(self.B) or lengthen else 0):
            f, error = extended_product(A, v)
            f, error = f + b, error + UNIT * (np.linalg.norm(A * v, axis=1) + abs(b))
            largest, B = (np.abs(f) + error).max(), np.longdouble(self.B)
            lack = float(((1 - y * f)[near] + error[near]).max(initial=0.0)) if lengthen else 0.0
            if lack > 0 and largest * (1 + lack) <= B:
                scale = 1 + lack
            elif largest > B and np.abs(f).max() + error.max() / 4 > B:
                scale = float(np.nextafter(float(B / largest), 0.0))
            else:
                break
            lengthen = False
            v, b = scale * v, scale * b
        return v, b


def with_sum_zero(gamma: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return multipliers of sum 0: what rounding left of it is taken off the smallest one that can hold it."""
    for _ in range(3):
        rest = math.fsum(gamma)
        if rest == 0 or not math.isfinite(rest):
            break
        moved = gamma - rest
        able = (np.abs(gamma) >= 2 * abs(rest)) & (low <= moved) & (moved <= high)
        if not able.any():
            break
        i = int(np.where(able, np.abs(gamma), np.inf).argmin())
        gamma = gamma.copy()
        gamma[i] = moved[i]
    return gamma
