r"""From decisions to probabilities: a logistic (softmax) map whose slope suits the decisions at left-out samples.

With decisions f and a slope T the probability of a class is a softmax of T f, or a logistic function with two classes.
T minimises the summed log-loss of the labels at the decisions made without them, plus that of two pseudo-samples of the
mean margin, one right and one wrong, which keep T finite where nothing is wrong: T g = log(l + 1) where all l labels
are right by the margin g.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp

from specmargin.typing import FloatArray, IntArray

__all__ = ["class_probabilities", "log_probabilities", "slopes"]

_RANGE = (0.1, 30.0)
"""Of the slope: a candidate that is mostly wrong keeps the order of its scores, so that no threshold sees only ties."""
_STEPS = 60
_TOL = 1e-8


def log_probabilities(z: FloatArray) -> FloatArray:
    """Return log-probabilities (..., K) of decisions (..., C) times their slopes; one column means two classes.

    Examples
    --------
    >>> np.exp(log_probabilities(np.array([[0.0]]))).tolist()
    [[0.5, 0.5]]
    """
    if z.shape[-1] == 1:
        return np.concatenate([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)], axis=-1)
    return np.asarray(z - logsumexp(z, axis=-1, keepdims=True))


def class_probabilities(z: FloatArray) -> FloatArray:
    """Return probabilities (..., K) of decisions (..., C) times their slopes."""
    if z.shape[-1] == 1:
        p = expit(z)
        return np.concatenate([1.0 - p, p], axis=-1)
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(z / z.sum(axis=-1, keepdims=True))


def slopes(held: FloatArray, codes: IntArray) -> FloatArray:
    """Return the slope T (J,) of each candidate.

    Parameters
    ----------
    held : ndarray of shape (J, l, C)
        Decisions at left-out samples, comparable between the classes.
    codes : ndarray of shape (l,)
        Classes.

    Examples
    --------
    >>> held, codes = np.array([[[1.0], [1.0], [-1.0]]]), np.array([1, 1, 0])
    >>> bool(np.isclose(slopes(held, codes)[0], np.log(4)))
    True
    """
    binary = held.shape[-1] == 1
    if binary:
        gap, others = np.abs(held[..., 0]).mean(axis=1), 1
    else:
        ordered = np.sort(held, axis=2)
        gap, others = (ordered[..., -1] - ordered[..., :-1].mean(axis=2)).mean(axis=1), held.shape[2] - 1
    # Differences from the decision for the class of the label: one column with two classes.
    if binary:
        apart = np.where(codes == 1, -1.0, 1.0)[:, None] * held
    else:
        apart = held - np.take_along_axis(held, codes[None, :, None], axis=2)
    T = np.full(len(held), _RANGE[0])
    # The derivative increases with T. Where it is positive at the least slope, that one is the best.
    open_ = np.flatnonzero(_derivatives(apart, gap, others, T)[0] < 0)
    apart, gap = apart[open_], gap[open_]
    low, high = np.full(len(open_), _RANGE[0]), np.full(len(open_), _RANGE[1])
    t = np.clip(1.0 / np.maximum(gap, 1e-300), *_RANGE)
    for _ in range(_STEPS):
        if len(open_) == 0:
            break
        first, second = _derivatives(apart, gap, others, t)
        low, high = np.where(first < 0, t, low), np.where(first < 0, high, t)
        newton = t - first / np.maximum(second, 1e-300)
        # Bisect where Newton leaves the bounds.
        new = np.where((newton > low) & (newton < high), newton, (low + high) / 2.0)
        left = np.abs(new - t) > _TOL * t
        T[open_] = new
        open_, apart, gap, low, high, t = (a[left] for a in (open_, apart, gap, low, high, new))
    return T


def _derivatives(apart: FloatArray, gap: FloatArray, others: int, T: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two derivatives by T (J,) of the loss log(sum_k exp(T apart_k)), and of that of the pseudo-samples."""
    z = T[:, None, None] * apart
    if apart.shape[2] == 1:
        q = expit(z[..., 0])
        first, second = (apart[..., 0] * q).sum(axis=1), (apart[..., 0] ** 2 * q * (1.0 - q)).sum(axis=1)
    else:
        # Sums over the few classes as products with ones: numpy adds up short rows slowly.
        ones = np.ones(apart.shape[2])
        p = np.exp(z - z.max(axis=2, keepdims=True))
        total = p @ ones
        p *= apart
        mean = (p @ ones) / total
        p *= apart
        first, second = mean.sum(axis=1), ((p @ ones) / total - mean**2).sum(axis=1)
    wrong = expit(np.log(others) - T * gap)  # probability that the right pseudo-sample gives to the others
    return first + gap * (1.0 - 2.0 * wrong), second + 2.0 * gap**2 * wrong * (1.0 - wrong)
