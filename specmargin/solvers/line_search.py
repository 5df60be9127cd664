r"""Exact line searches of objectives with piecewise quadratic losses.

Along a line the objective of `specmargin.objectives.LapSVM` or `WeightedSVM` with a loss that is piecewise quadratic,
convex and of continuous slope is piecewise quadratic: its derivative is continuous, increasing and piecewise linear. It
has as many kinks per labelled sample as the loss (`specmargin.losses.Pieces`); with the squared hinge one, where the
sample enters or leaves the active set E = {y f < 1}. `exact_step` sorts the kinks and finds the piece on which the
derivative crosses zero (section 3.2.1 of the primal paper). With the squared loss there are none, and the step is that
of section 5, -slope / curvature.
"""

from __future__ import annotations

import numpy as np

from specmargin.losses import Pieces
from specmargin.typing import FloatArray, IntArray

__all__ = ["exact_step"]


def exact_step(
    slack: FloatArray,
    speed: FloatArray,
    slope: FloatArray | float,
    curvature: FloatArray | float,
    *,
    pieces: Pieces,
    root: FloatArray | None = None,
) -> FloatArray:
    r"""Return the steps that minimise the objective along lines, one per column.

    Half the derivative by the step s is

        phi(s) = slope + s * curvature + (what the losses add to both on the way),

    and a sample crosses a kink k of the loss at s = (slack - k) / speed.

    Parameters
    ----------
    slack : ndarray of shape (l,) or (l, c)
        1 - y f at s = 0.
    speed : ndarray of the same shape
        y times what f gains per unit of s.
    slope : float or ndarray of shape (c,)
        phi(0), of loss and penalty together: half the inner product of gradient and direction.
    curvature : float or ndarray of shape (c,)
        d'K S d, of the penalty alone.
    pieces : Pieces
        Pieces of the loss.
    root : ndarray of shape (l,), optional
        Square roots of the samples' weights.

    Returns
    -------
    ndarray of shape (c,)
        The steps, 0 where the line does not descend.

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, section 3.2.1. Keerthi & DeCoste, A
    modified finite Newton method for fast solution of large scale linear SVMs, JMLR 6, 2005.

    Examples
    --------
    One sample at f = 0 that moves towards its margin: 1/2 (1 - s)^2 + 1/2 s^2, whose minimum is at 1/2.

    >>> from specmargin.losses import SquaredHinge
    >>> exact_step(np.ones(1), np.ones(1), -1.0, 1.0, pieces=SquaredHinge().pieces).tolist()
    [0.5]
    """
    scale = np.ones((len(slack), 1)) if root is None else root[:, None]
    slack, speed = (scale * (part[:, None] if part.ndim == 1 else part) for part in (slack, speed))
    slope, curvature = np.atleast_1d(slope), np.atleast_1d(curvature)
    # From each kink on, the distance to it; who stands on one is on the side that the line leads to.
    distances = [slack - kink * scale for kink in pieces.kinks]
    at = np.zeros(slack.shape, dtype=np.intp)
    for distance in distances:
        at += (distance > 0) | ((distance == 0) & (speed < 0))
    total = curvature + (pieces.square[at] * speed**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = -slope / total
        if distances:
            kinks = np.vstack([distance / speed for distance in distances])
            kinks[~((kinks > 0) & np.isfinite(kinks))] = np.inf
            # Nothing to sort where the minimum lies before the first kink.
            if (first > kinks.min(axis=0, initial=np.inf)).any():
                first = _beyond_kinks(slack, speed, slope, curvature, pieces, scale, at, kinks)
    return np.where((slope < 0) & np.isfinite(first) & (first > 0), first, 0.0)


def _beyond_kinks(
    slack: FloatArray,
    speed: FloatArray,
    slope: FloatArray,
    curvature: FloatArray,
    pieces: Pieces,
    scale: FloatArray,
    at: IntArray,
    kinks: FloatArray,
) -> FloatArray:
    """Walk over the sorted kinks, at each of which a sample changes over to the next piece."""
    l, c = slack.shape
    order = np.argsort(kinks, axis=0, kind="stable")
    ends = np.take_along_axis(kinks, order, axis=0)
    ahead = np.isfinite(kinks)
    jumps = np.diff(pieces.square)
    # What a sample gains in curvature at a kink: its slack falls where it is fast, and else grows.
    toward = np.where(speed > 0, -1.0, 1.0)
    gains = np.vstack([jump * toward for jump in jumps]) * ahead
    distances = np.vstack([slack - kink * scale for kink in pieces.kinks])
    speeds = np.vstack([speed] * len(jumps))
    zero = np.zeros((1, c))
    changes = [
        np.take_along_axis(part, order, axis=0).cumsum(axis=0)
        for part in (-gains * distances * speeds, gains * speeds**2)
    ]
    slopes = slope + np.vstack([zero, changes[0]])
    curvatures = curvature + (pieces.square[at] * speed**2).sum(axis=0) + np.vstack([zero, changes[1]])
    ends = np.vstack([zero, ends, np.full_like(zero, np.inf)])
    with np.errstate(invalid="ignore"):
        crossed = np.isinf(ends[1:]) | (slopes + curvatures * ends[1:] >= 0)
    piece = crossed.argmax(axis=0)
    # The sums over that piece anew: adding and taking away leaves the roundings of the largest entry behind.
    passed = np.zeros(kinks.shape, dtype=bool)
    np.put_along_axis(passed, order, np.arange(len(kinks))[:, None] < piece, axis=0)
    # Who stops on a kink may count it either way; a kink that is not ahead is never passed.
    moved = passed.reshape(len(jumps), l, c).sum(axis=0)
    now = np.where(speed > 0, at - moved, at + moved)
    square, linear = pieces.square, pieces.linear
    change = (square[now] - square[at]) * slack + (linear[now] - linear[at]) * scale
    last_slope = slope - (change * speed).sum(axis=0)
    last_curvature = curvature + (square[now] * speed**2).sum(axis=0)
    begin, end = ends[piece, np.arange(c)], ends[piece + 1, np.arange(c)]
    # Without curvature the slope changes its sign at the end of the piece.
    return np.where(last_curvature > 0, np.maximum(-last_slope / last_curvature, begin), end)
