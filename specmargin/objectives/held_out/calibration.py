r"""Probabilities from decisions: one scale, calibrated on decisions of left-out samples.

With decisions h_i at labelled samples whose labels were withheld (`specmargin.objectives.held_out.leave_one_out`), the
K classes get softmax(T f), with two classes 1 / (1 + exp(-T f)), at the T > 0 that minimises

    sum_i -log p_T(y_i | h_i)  +  a [2 log(1 + (K - 1) exp(-T m)) + T m],

m the mean distance of the largest decision from the mean of the others (with two classes the mean of abs(h)). The last
terms are two pseudo-samples at the distance m, one right and one wrong, each of the weight a: they keep T finite where
no left-out sample is wrong, and small where they are few. The sum is convex in T. T changes no order: the most probable
class is the one that is predicted.

If all decisions are of one size, p is the mean of the share of right ones under a Beta(a, a) prior: a = 1 is Laplace's
rule, the uniform prior, a = 1/2 Jeffreys' prior. `calibrated_scale` has a = 1/2. With a = 1, accurate classifiers with
few labels are not as sure as they are right (docs/performance.md); what compares or mixes settings keeps a = 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp

from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray, IntArray

__all__ = ["calibrated_scale", "calibrated_scales", "class_probabilities", "log_probabilities"]

_RANGE = (1e-3, 1e3)
"""T in units of one over m: a model that is mostly wrong keeps the order of its decisions."""
_JEFFREYS = 0.5
"""Weight a of either pseudo-sample of `calibrated_scale`."""
_STEPS = 60
_TOL = 1e-8


def calibrated_scale(decisions: FloatArray, sign: FloatArray, *, pseudo: float = _JEFFREYS) -> float:
    """Return the T of the module's docstring.

    Parameters
    ----------
    decisions : ndarray of shape (m,) or (m, K)
        Decisions at left-out samples; none (m = 0) leave 1.
    sign : ndarray of shape (m,) or (m, K)
        Their signs.
    pseudo : float, default 0.5
        Weight a of either pseudo-sample, > 0.

    Returns
    -------
    float
        Positive, and at most 1000 over the mean margin.

    Examples
    --------
    >>> round(calibrated_scale(np.array([1.0, 1.0, -1.0, 1.0]), np.array([1.0, 1.0, -1.0, -1.0])), 3)  # 3.5 of 5
    0.847
    """
    h, y = np.asarray(decisions, dtype=float), np.asarray(sign, dtype=float)
    if h.shape != y.shape:
        raise InvalidInputError(f"decisions have the shape {h.shape}, signs {y.shape}; pass one sign per decision.")
    unit = float(_distances((h[:, None] if h.ndim == 1 else h)[None])[0]) if len(h) else 0.0
    if not (np.isfinite(unit) and unit > 0):
        return 1.0
    codes = (y > 0).astype(np.intp) if h.ndim == 1 else y.argmax(axis=1)
    held = (h[:, None] if h.ndim == 1 else h) / unit
    return float(calibrated_scales(held[None], codes, bounds=_RANGE, pseudo=pseudo)[0]) / unit


def log_probabilities(z: FloatArray) -> FloatArray:
    """Return log-probabilities (..., K) of decisions (..., C) times their scales; one column means two classes.

    Examples
    --------
    >>> np.exp(log_probabilities(np.array([[0.0]]))).tolist()
    [[0.5, 0.5]]
    """
    if z.shape[-1] == 1:
        return np.concatenate([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)], axis=-1)
    return np.asarray(z - logsumexp(z, axis=-1, keepdims=True))


def class_probabilities(z: FloatArray) -> FloatArray:
    """Return probabilities (..., K) of decisions (..., C) times their scales; one column means two classes.

    Examples
    --------
    >>> class_probabilities(np.array([[0.0], [4.0]])).round(2).tolist()
    [[0.5, 0.5], [0.02, 0.98]]
    """
    if z.shape[-1] == 1:
        return np.concatenate([expit(-z), expit(z)], axis=-1)
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(z / z.sum(axis=-1, keepdims=True))


def calibrated_scales(
    held: FloatArray, codes: IntArray, *, bounds: tuple[float, float], pseudo: float = 1.0
) -> FloatArray:
    """Return the T of each of several models, (J,), by Newton's method for all of them at once.

    Parameters
    ----------
    held : ndarray of shape (J, l, C)
        Decisions at left-out samples, comparable between the classes.
    codes : ndarray of shape (l,)
        Classes.
    bounds : tuple of float
        Bounds of T.
    pseudo : float, default 1.0
        Weight a of either pseudo-sample, > 0.

    Examples
    --------
    >>> held, codes = np.array([[[1.0], [1.0], [-1.0]]]), np.array([1, 1, 0])
    >>> bool(np.isclose(calibrated_scales(held, codes, bounds=(0.1, 30.0))[0], np.log(4)))
    True
    """
    binary = held.shape[-1] == 1
    gap, others = _distances(held), 1 if binary else held.shape[2] - 1
    # Differences from the decision for the class of the label: one column with two classes.
    if binary:
        apart = np.where(codes == 1, -1.0, 1.0)[:, None] * held
    else:
        apart = held - np.take_along_axis(held, codes[None, :, None], axis=2)
    T = np.full(len(held), bounds[0])
    # The derivative increases with T. Where it is positive at the least T, that one is the best.
    open_ = np.flatnonzero(_derivatives(apart, gap, others, T, pseudo)[0] < 0)
    apart, gap = apart[open_], gap[open_]
    low, high = np.full(len(open_), bounds[0]), np.full(len(open_), bounds[1])
    t = np.clip(1.0 / np.maximum(gap, 1e-300), *bounds)
    for _ in range(_STEPS):
        if len(open_) == 0:
            break
        first, second = _derivatives(apart, gap, others, t, pseudo)
        low, high = np.where(first < 0, t, low), np.where(first < 0, high, t)
        newton = t - first / np.maximum(second, 1e-300)
        # Bisect where Newton leaves the bounds.
        new = np.where((newton > low) & (newton < high), newton, (low + high) / 2.0)
        left = np.abs(new - t) > _TOL * t
        T[open_] = new
        open_ = open_[left]
        apart, gap, low, high, t = (a[left] for a in (apart, gap, low, high, new))
    return T


def _distances(held: FloatArray) -> FloatArray:
    """Return the mean distance m (J,) of the largest decision from the mean of the others."""
    if held.shape[-1] == 1:
        return np.asarray(np.abs(held[..., 0]).mean(axis=1))
    ordered = np.sort(held, axis=2)
    return np.asarray((ordered[..., -1] - ordered[..., :-1].mean(axis=2)).mean(axis=1))


def _derivatives(
    apart: FloatArray, gap: FloatArray, others: int, T: FloatArray, pseudo: float
) -> tuple[FloatArray, FloatArray]:
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
    first = first + pseudo * gap * (1.0 - 2.0 * wrong)
    return first, second + pseudo * 2.0 * gap**2 * wrong * (1.0 - wrong)
