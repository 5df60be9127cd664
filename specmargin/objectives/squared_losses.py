"""The squared loss and the squared hinge with all that their duality needs, and losses of several classes.

`RelativeMargin` does the same for the hinge. With s = y gamma the concave conjugate of either is s - s^2 / (2 C), of
the squared hinge on s >= 0 only: decisions are bounded by nothing, and multipliers have no upper limit.
`ClassLosses` hands the columns of decisions and multipliers of several classes to the loss of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.intercept import balanced
from specmargin.objectives.relative_margin_loss import DecisionLoss, RelativeMargin, with_sum_zero
from specmargin.rounding import EXTENDED_UNIT, UNIT
from specmargin.typing import AnyArray, FloatArray

__all__ = ["ClassLosses", "SquaredHingeMargin", "SquaredMargin", "loss_of"]


@dataclass(frozen=True)
class SquaredMargin(DecisionLoss):
    """C / 2 (1 - t)^2: least squares on the labels, of which y f = 1 is wanted.

    Parameters
    ----------
    C : float or ndarray of shape (l,)
        Weight of the loss, > 0; of several samples one each.

    Examples
    --------
    >>> loss = SquaredMargin(2.0)
    >>> loss.value(np.array([0.0, 3.0])).tolist(), loss.dual_value(np.array([-2.0])).tolist()
    ([1.0, 4.0], [-3.0])
    """

    C: float | FloatArray
    B: ClassVar[float] = np.inf
    name: ClassVar[str] = "squared"

    def value(self, t: FloatArray) -> FloatArray:
        """Return the loss at the margins t."""
        return 0.5 * self.C * self._residual(t) ** 2

    def dual_value(self, s: FloatArray) -> FloatArray:
        """Return inf_t value(t) + s t."""
        return s - s**2 / (2 * self.C)

    def repair_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return multipliers near by with 1'gamma = 0."""
        C = np.broadcast_to(np.asarray(self.C, dtype=float), gamma.shape)
        wide = np.full(len(y), np.inf)
        return with_sum_zero(gamma - C * (gamma.sum() / C.sum()), -wide, wide)

    def repair_decisions(self, y: FloatArray, f: FloatArray, b: float) -> tuple[float, float]:
        """Return (1, b) with the best intercept for decisions f without one: the mean of what they miss."""
        C = np.broadcast_to(np.asarray(self.C, dtype=float), f.shape)
        return 1.0, float(C @ (y - f) / C.sum())

    def correct_rounding(
        self, y: FloatArray, A: FloatArray, v: FloatArray, b: float, primal: float
    ) -> tuple[FloatArray, float]:
        """Return (v, b) as they are: no decision is out of bounds."""
        return v, b

    def value_bounds(self, y: FloatArray, f: AnyArray, error: FloatArray, b: float) -> tuple[float, float]:
        """Return the sum of the losses at f + b, f within `error` of the exact ones, and a bound on the exact sum."""
        f = f.astype(np.longdouble) + b
        error = error + 2 * EXTENDED_UNIT * np.abs(f)
        residual, C = self._residual(y * f), np.asarray(self.C, dtype=np.longdouble)
        losses, most = C * residual**2 / 2, C * (np.abs(residual) + error) ** 2 / 2
        return float(losses.sum()), float(most.sum() * (1 + 4 * (len(y) + 4) * EXTENDED_UNIT))

    def dual_bounds(self, s: FloatArray) -> tuple[Any, Any]:
        """Return the sum of `dual_value` in extended precision, and a bound below it that no rounding has touched."""
        if not self.allows(s):
            return np.longdouble(-np.inf), np.longdouble(-np.inf)
        s, C = s.astype(np.longdouble), np.asarray(self.C, dtype=np.longdouble)
        squares = s**2 / (2 * C)
        total = s.sum() - squares.sum()
        return total, total - 4 * (len(s) + 6) * EXTENDED_UNIT * (np.abs(s).sum() + squares.sum())

    def _residual(self, t: Any) -> Any:
        return 1.0 - t

    def allows(self, s: FloatArray) -> bool:
        """Every conjugate is finite."""
        return True


@dataclass(frozen=True)
class SquaredHingeMargin(SquaredMargin):
    """C / 2 max(0, 1 - t)^2: the squared hinge.

    Examples
    --------
    >>> loss = SquaredHingeMargin(2.0)
    >>> loss.value(np.array([0.0, 3.0])).tolist(), loss.dual_value(np.array([-2.0, 1.0])).tolist()
    ([1.0, 0.0], [-inf, 0.75])
    """

    name: ClassVar[str] = "squared_hinge"

    def dual_value(self, s: FloatArray) -> FloatArray:
        """Return inf_t value(t) + s t, finite on s >= 0."""
        return np.where(s >= 0, s - s**2 / (2 * self.C), -np.inf)

    def repair_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return multipliers near by with 1'gamma = 0 and y gamma >= 0: the heavier class is scaled down."""
        gamma = y * balanced(y, np.maximum(y * gamma, 0.0))
        return with_sum_zero(gamma, np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0))

    def repair_decisions(self, y: FloatArray, f: FloatArray, b: float) -> tuple[float, float]:
        """Return (1, b) with the best intercept for decisions f without one.

        The derivative in b is piecewise linear and does not fall: between two neighbours of its kinks y - f it is
        solved exactly. Where it vanishes on an interval the given b is kept, or the nearer end of it.
        """
        C = np.broadcast_to(np.asarray(self.C, dtype=float), f.shape)
        kinks = y - f

        def derivative(at: float) -> float:
            return -float((C * y) @ np.maximum(1.0 - y * (f + at), 0.0))

        ordered = np.sort(kinks)
        low, high = 0, len(ordered)  # the derivative is < 0 before `low`, and > 0 from `high` on
        while low < high:
            middle = (low + high) // 2
            slope = derivative(ordered[middle])
            low, high = (middle + 1, high) if slope < 0 else (low, middle)
        left = ordered[low - 1] if low else -np.inf
        right = ordered[low] if low < len(ordered) else np.inf
        # In between the same samples miss their margin: those with y b < y (y - f) there.
        missing = np.where(y > 0, kinks >= right, kinks <= left)
        if not missing.any():
            return 1.0, float(np.clip(b, left, right))
        weight = C[missing]
        best = float(np.clip(weight @ kinks[missing] / weight.sum(), left, right))
        flat = low < len(ordered) and derivative(right) == 0.0
        return 1.0, float(np.clip(b, right, _last_flat(ordered, low, derivative))) if flat else best

    def _residual(self, t: Any) -> Any:
        return np.maximum(1.0 - t, 0)

    def allows(self, s: FloatArray) -> bool:
        """Whether all conjugates are finite."""
        return bool((s >= 0).all())


def _last_flat(ordered: FloatArray, start: int, derivative: Callable[[float], float]) -> float:
    """Return the last kink from `start` on at which the derivative is still zero."""
    while start + 1 < len(ordered) and derivative(ordered[start + 1]) == 0.0:
        start += 1
    return float(ordered[start])


_LOSSES: dict[str, Callable[[Any], Any]] = {
    "hinge": RelativeMargin,
    "squared_hinge": SquaredHingeMargin,
    "squared": SquaredMargin,
}


def loss_of(name: str, C: float, B: float, weights: FloatArray | None, n_classes: int) -> Any:
    """Return the loss by its name, for two classes (`n_classes` one) or a column per class.

    Raises
    ------
    ValueError
        If there is no loss of that name, C is not positive, or B is finite for another loss than the hinge.
    """
    if not isinstance(name, str) or name not in _LOSSES:
        raise InvalidInputError(f"loss={name!r} is unknown here; take one of {', '.join(map(repr, _LOSSES))}.")
    hinge = RelativeMargin(C if weights is None else C * weights, B)  # which checks C, B and the weights
    if name != "hinge" and np.isfinite(B):
        raise InvalidInputError(
            f"B={B!r} bounds the decisions of the relative margin machine, whose loss is the hinge; with "
            f"loss={name!r} leave it at inf."
        )
    loss = hinge if name == "hinge" else _LOSSES[name](hinge.C)
    return loss if n_classes == 1 else ClassLosses(loss)


@dataclass(frozen=True)
class ClassLosses:
    """The loss of several classes: the sum over the columns of margins, one against the rest each.

    Parameters
    ----------
    one : RelativeMargin, SquaredMargin or SquaredHingeMargin
        Loss of one column.

    Examples
    --------
    >>> ClassLosses(SquaredMargin(1.0)).value(np.array([[0.0, 1.0], [1.0, 3.0]])).tolist()
    [[0.5, 0.0], [0.0, 2.0]]
    """

    one: Any

    def __getattr__(self, name: str) -> Any:  # name, C and B, and what speaks of decisions alone
        if name.startswith("__") or name == "one":  # asked by copies, before there is a loss
            raise AttributeError(name)
        return getattr(self.one, name)

    def value(self, t: FloatArray) -> FloatArray:
        """Return the loss at the margins t, (l, K)."""
        return np.column_stack([self.one.value(column) for column in t.T])

    def dual_value(self, s: FloatArray) -> FloatArray:
        """Return inf_t value(t) + s t."""
        return np.column_stack([self.one.dual_value(column) for column in s.T])

    def nearest_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return multipliers that are feasible but for rounding as they are, others after `repair_multipliers`."""
        return np.column_stack([self.one.nearest_multipliers(*columns) for columns in zip(y.T, gamma.T, strict=True)])

    def repair_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return feasible multipliers near by."""
        return np.column_stack([self.one.repair_multipliers(*columns) for columns in zip(y.T, gamma.T, strict=True)])

    def repair_decisions(self, y: FloatArray, f: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (scale, b) of each class."""
        pairs = [self.one.repair_decisions(*columns) for columns in zip(y.T, f.T, b, strict=True)]
        scales, offsets = zip(*pairs, strict=True)
        return np.array(scales), np.array(offsets)

    def correct_rounding(
        self, y: FloatArray, A: FloatArray, v: FloatArray, b: FloatArray, primal: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return (v, b) whose decisions are within B whatever rounding does."""
        pairs = [self.one.correct_rounding(sign, A, w, at, primal) for sign, w, at in zip(y.T, v.T, b, strict=True)]
        vectors, offsets = zip(*pairs, strict=True)
        return np.column_stack(vectors), np.array(offsets)

    def value_bounds(self, y: FloatArray, f: AnyArray, error: FloatArray, b: FloatArray) -> tuple[float, float]:
        """Return the sum of the losses, and a bound on what it can be at a feasible point."""
        columns = zip(y.T, f.T, error.T, b, strict=True)
        values, most = zip(*(self.one.value_bounds(*parts) for parts in columns), strict=True)
        rounded = (1 + len(values) * UNIT) ** 2
        return float(np.sum(values)), float(np.sum(most)) * rounded

    def dual_bounds(self, s: FloatArray) -> tuple[Any, Any]:
        """Return the sum of `dual_value`, and a bound below it."""
        values, least = zip(*(self.one.dual_bounds(column) for column in s.T), strict=True)
        slack = 2 * len(values) * EXTENDED_UNIT * np.abs(np.array(values)).sum()
        return np.sum(values), np.sum(least) - slack
