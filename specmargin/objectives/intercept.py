"""The intercept and its constraint: multipliers that are balanced, and the intercepts that are best for the hinge.

An unpenalised intercept b is the multiplier of 1'gamma = 0. Every dual objective with one is a bound at balanced
multipliers only; every primal one is lowest at a b that depends on the other variables.
"""

from __future__ import annotations

import math

import numpy as np

from specmargin.rounding import UNIT
from specmargin.typing import FloatArray

__all__ = ["balanced", "exactly_balanced", "hinge_intercept", "hinge_intercepts"]


def balanced(y: FloatArray, s: FloatArray) -> FloatArray:
    """Scale the heavier class of nonnegative multipliers down until y's = 0."""
    excess = float(y @ s)
    heavy = (y > 0) == (excess > 0)
    total = float(s[heavy].sum())
    if excess == 0 or total == 0:
        return s
    s = s.copy()
    s[heavy] *= (total - abs(excess)) / total
    return s


def exactly_balanced(y: FloatArray, s: FloatArray, *, inwards: bool = False) -> FloatArray:
    """Return theta = y s with a sum that is zero without any rounding, for an s that is balanced up to rounding.

    Rounded to multiples of one power of two, all sums are exact; the heavier side then gives up what it has too much.
    `inwards` rounds towards zero, so that no theta is larger than before.

    Examples
    --------
    >>> theta = exactly_balanced(np.array([1.0, 1.0, -1.0]), np.array([0.1, 0.2, 0.30000000000000004]))
    >>> math.fsum(theta)
    0.0
    """
    largest = float(np.abs(s).max(initial=0.0))
    if not 1e-290 < largest < 1e290:
        return np.zeros_like(s) if largest < 1.0 else y * s
    grid = math.ldexp(1.0, math.frexp(largest)[1] - 52)
    theta: FloatArray = (np.trunc if inwards else np.rint)(y * s / grid) * grid
    excess = math.fsum(theta)
    if excess != 0.0:
        theta[np.argmax(np.copysign(1.0, excess) * theta)] -= excess
    return theta


def hinge_intercepts(y: FloatArray, f: FloatArray, weights: FloatArray | None = None) -> tuple[float, float]:
    """Return the interval of all b that minimise sum c max(0, 1 - y (f + b)).

    The sum is convex and piecewise linear with one kink per sample, at y_i - f_i, where its slope rises by its weight
    c_i (one, unless there are `weights`); it starts at minus the weight of the positives.
    """
    if weights is not None:
        return _weighted_intercepts(y, f, weights)
    kinks = np.sort(y - f)
    n_positive = int((y > 0).sum())
    left = kinks[n_positive - 1] if n_positive else -np.inf
    right = kinks[n_positive] if n_positive < len(y) else np.inf
    return float(left), float(right)


def _weighted_intercepts(y: FloatArray, f: FloatArray, weights: FloatArray) -> tuple[float, float]:
    if not (y > 0).any():
        return -np.inf, float((y - f).min())
    if (y > 0).all():
        return float((y - f).max()), np.inf
    order = np.argsort(y - f, kind="stable")
    kinks, c, positive = (y - f)[order], weights[order], (y > 0)[order]
    # After a kink the slope is what negatives before it weigh less what positives after it do: two sums of one sign
    # each, so that a class that weighs next to nothing is seen, too. Zero but for their rounding is flat.
    risen = np.where(positive, 0.0, c).cumsum()
    left_over = np.append(np.where(positive, c, 0.0)[::-1].cumsum()[::-1][1:], 0.0)
    flat = 4.0 * len(c) * UNIT
    left, right = int((risen < (1.0 - flat) * left_over).sum()), int((risen <= (1.0 + flat) * left_over).sum())
    return float(kinks[left]), float(kinks[right])


def hinge_intercept(y: FloatArray, f: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the middle of `hinge_intercepts`, its finite end where there is one class: the one rule for a free choice.

    Solvers end anywhere in the interval; what they return, and what leaving samples out compares with it, must not
    depend on that.

    Examples
    --------
    >>> y = np.array([1.0, -1.0])
    >>> hinge_intercept(y, np.array([2.0, -4.0])), hinge_intercept(y[:1], np.zeros(1))
    (1.0, 1.0)
    """
    left, right = hinge_intercepts(y, f, weights)
    if not np.isfinite(left) or not np.isfinite(right):
        return left if np.isfinite(left) else right if np.isfinite(right) else 0.0
    return left + (right - left) / 2.0
