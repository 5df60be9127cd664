"""The intercept and its constraint: multipliers that are balanced, and the intercepts that are best for the hinge.

An unpenalised intercept b is the multiplier of 1'gamma = 0. Every dual objective with one is a bound at balanced
multipliers only; every primal one is lowest at a b that depends on the other variables. For squared losses with weights
that b is a weighted mean, and what is left is orthogonal to the roots of the weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.exceptions import InvalidInputError
from specmargin.rounding import UNIT
from specmargin.typing import FloatArray

__all__ = [
    "balanced",
    "centred_basis",
    "checked_weights",
    "exactly_balanced",
    "hinge_intercept",
    "hinge_intercepts",
    "less_mean",
    "weighted_mean",
]


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


def checked_weights(values: Any, l: int) -> FloatArray | None:
    """Return weights of l labelled samples as an array of positive numbers; None where there are none."""
    if values is None:
        return None
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != (l,):
        raise InvalidInputError(
            f"weights have the shape {weights.shape}, but {l} samples are labelled; pass one positive number for each."
        )
    finite_numbers("weights", weights, "positive numbers, one per labelled sample", least=0.0)
    if not (weights > 0).all():
        raise InvalidInputError("weights hold a zero; leave out the labelled samples whose loss does not count.")
    return weights


def weighted_mean(rows: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the mean of rows by weights, () of (l,) or (K,) of (l, K), where None is ones.

    Examples
    --------
    >>> rows, weights = np.array([1.0, 4.0]), np.array([2.0, 1.0])
    >>> float(weighted_mean(rows, weights)), float(weighted_mean(rows, None))
    (2.0, 2.5)
    """
    if weights is None:
        return np.asarray(rows.mean(axis=0))
    heaviest = rows[weights.argmax()]  # equal rows are met exactly
    return np.asarray(heaviest + np.average(rows - heaviest, axis=0, weights=weights))


def less_mean(rows: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return rows less their `weighted_mean`; what is left of a row that outweighs all others keeps its digits.

    Examples
    --------
    >>> less_mean(np.array([1.0, 4.0]), np.array([2e20, 1.0])).tolist()
    [-1.5e-20, 3.0]
    """
    if weights is None:
        return np.asarray(rows - rows.mean(axis=0))
    apart = rows - rows[weights.argmax()]
    return np.asarray(apart - np.average(apart, axis=0, weights=weights))


def centred_basis(l: int, weights: FloatArray | None) -> FloatArray:
    """Return orthonormal columns (l, l - 1) that are orthogonal to the roots of the weights, where None is ones.

    Examples
    --------
    >>> weights = np.array([4.0, 1.0])
    >>> abs(centred_basis(2, weights)[:, 0]).round(6).tolist()  # the roots are 2 and 1
    [0.447214, 0.894427]
    """
    return np.asarray(sla.helmert(l).T if weights is None else sla.qr(np.sqrt(weights)[:, None])[0][:, 1:])
