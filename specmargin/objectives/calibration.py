r"""Probabilities from decisions: one scale, calibrated on decisions of left-out samples.

With decisions h_i at labelled samples whose labels were withheld (`specmargin.objectives.leave_one_out`), the K classes
get softmax(T f), with two classes 1 / (1 + exp(-T f)), at the T > 0 that minimises

    sum_i -log p_T(y_i | h_i)  +  2 log(1 + (K - 1) exp(-T m)) + T m,

m the mean distance of the largest decision from the mean of the others (with two classes the mean of abs(h)). The last
terms are two pseudo-samples at the distance m, one right and one wrong: they keep T finite where no left-out sample is
wrong, and small where they are few. The sum is convex in T. T changes no order: the most probable class is the one that
is predicted.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, softmax

from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray

__all__ = ["calibrated_scale", "class_probabilities"]

_RANGE = (1e-3, 1e3)
"""T in units of one over m: a model that is mostly wrong keeps the order of its decisions."""


def calibrated_scale(decisions: FloatArray, sign: FloatArray) -> float:
    """Return the T of the module's docstring.

    Parameters
    ----------
    decisions : ndarray of shape (m,) or (m, K)
        Decisions at left-out samples; none (m = 0) leave 1.
    sign : ndarray of shape (m,) or (m, K)
        Their signs.

    Returns
    -------
    float
        Positive, and at most 1000 over the mean margin.

    Examples
    --------
    >>> round(calibrated_scale(np.array([1.0, 1.0, -1.0, 1.0]), np.array([1.0, 1.0, -1.0, -1.0])), 3)  # 4 of 6 right
    0.693
    """
    h, y = np.asarray(decisions, dtype=float), np.asarray(sign, dtype=float)
    if h.shape != y.shape:
        raise InvalidInputError(f"decisions have the shape {h.shape}, signs {y.shape}; pass one sign per decision.")
    unit, others = _distance(h), 1 if h.ndim == 1 else h.shape[1] - 1
    if not (np.isfinite(unit) and unit > 0):
        return 1.0
    # -log p = log sum_k exp(-T margin_k), where the margin to the own class is 0.
    margins = _margins(h, y) / unit

    def slope(T: float) -> float:
        weights = softmax(np.column_stack([np.zeros(len(margins)), -T * margins]), axis=1)[:, 1:]
        return float(1.0 - 2.0 * expit(np.log(others) - T) - (weights * margins).sum())

    low, high = _RANGE
    if slope(low) >= 0 or slope(high) <= 0:
        return (low if slope(low) >= 0 else high) / unit
    return float(brentq(slope, low, high, xtol=1e-12)) / unit


def class_probabilities(scores: FloatArray, T: float) -> FloatArray:
    """Return the probabilities of the classes, (m, 2) for scores (m,), else (m, K).

    Examples
    --------
    >>> class_probabilities(np.array([0.0, 2.0]), 1.0).round(2).tolist()
    [[0.5, 0.5], [0.12, 0.88]]
    """
    if scores.ndim == 1:
        positive = expit(T * scores)
        return np.column_stack([expit(-T * scores), positive])
    return np.asarray(softmax(T * scores, axis=1))


def _margins(h: FloatArray, y: FloatArray) -> FloatArray:
    """Return own less other decision for each other class, (m, K - 1); y h with two classes."""
    if h.ndim == 1:
        return (y * h)[:, None]
    own = y.argmax(axis=1)
    others = np.arange(h.shape[1]) != own[:, None]
    return np.take_along_axis(h, own[:, None], axis=1) - h[others].reshape(len(h), -1)


def _distance(h: FloatArray) -> float:
    """Return the mean distance of the largest decision from the mean of the others; 0 without decisions."""
    if len(h) == 0:
        return 0.0
    if h.ndim == 1:
        return float(np.abs(h).mean())
    largest = h.max(axis=1)
    return float((largest - (h.sum(axis=1) - largest) / (h.shape[1] - 1)).mean())
