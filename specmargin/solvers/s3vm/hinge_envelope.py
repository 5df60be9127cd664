"""The augmented Lagrangian of the hinge: its Moreau envelopes around a centre, minimised by Newton's method.

What it is for, and why its minimum is the next centre, is told in `specmargin.solvers.s3vm.box_qp`.
"""

from __future__ import annotations

import numpy as np

from specmargin.objectives import WeightedSVM
from specmargin.solvers.newton_system import NewtonSystem
from specmargin.typing import FloatArray

__all__ = ["Envelope", "exact_step", "lowest_slopes", "minimize"]

_SEARCH = 40
"""Points of a line search."""


def lowest_slopes(svm: WeightedSVM) -> FloatArray:
    """Return the slopes left of both kinks."""
    return -svm.plus if svm.linear is None else svm.linear - svm.plus


class Envelope:
    """The Moreau envelopes of all samples around a centre."""

    def __init__(self, svm: WeightedSVM, centre: FloatArray, eps: float) -> None:
        self.plus, self.minus, self.eps, self.lowest = svm.plus, svm.minus, eps, lowest_slopes(svm)
        shift = centre - self.lowest
        self.below, self.above = shift + 1.0 / eps, shift - 1.0 / eps - svm.minus

    def parts(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how far a has risen at the kink -1, in [0, m], and at the kink 1, in [0, p]."""
        pressed = f / self.eps
        return (
            np.minimum(np.maximum(pressed + self.below, 0.0), self.minus),
            np.minimum(np.maximum(pressed + self.above, 0.0), self.plus),
        )

    def curvatures(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the derivative of a: 1/eps on a kink."""
        free = ((low > 0) & (low < self.minus)) | ((high > 0) & (high < self.plus))
        return free / self.eps


def minimize(
    svm: WeightedSVM, envelope: Envelope, w: FloatArray, f: FloatArray, system: NewtonSystem, max_iter: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, int]:
    """Minimise the augmented Lagrangian by Newton steps; ends when the free samples repeat after a full step."""
    features, weights = svm.features, svm.features.weights
    low, high = envelope.parts(f)
    curvatures = envelope.curvatures(low, high)
    for n_iter in range(1, max(max_iter, 1) + 1):
        slopes = envelope.lowest + low + high
        g = system.gradient(w, slopes)
        target, _ = system.target(w, f, slopes, curvatures, g, 1e-3 * float(np.linalg.norm(g)))
        d = target - w
        f_target = features.decisions(target)
        df = f_target - f
        low, high = envelope.parts(f_target)
        after, held = envelope.curvatures(low, high), curvatures == 0
        # The same samples are free, and none has jumped over its kink; with nobody free the intercept has no target.
        if (
            np.array_equal(after, curvatures)
            and np.array_equal((envelope.lowest + low + high)[held], slopes[held])
            and not (weights[-1] == 0 and held.all() and g[-1])
        ):
            return target, f_target, low, high, n_iter
        step = exact_step(envelope, f, df, float(weights @ (w * d)), float(weights @ d**2))
        w = w + step * d
        # Not f + step df: where d is little more than rounding the step may be long, and both would part.
        f = features.decisions(w)
        low, high = envelope.parts(f)
        curvatures = envelope.curvatures(low, high)
        if step <= 0.0:
            break
    return w, f, low, high, n_iter


def exact_step(envelope: Envelope, f: FloatArray, df: FloatArray, slope: float, curvature: float) -> float:
    """Return the root of the derivative along a line, increasing and piecewise linear, by safeguarded Newton steps."""

    def derivative(s: float) -> tuple[float, float]:
        low, high = envelope.parts(f + s * df)
        curvatures = envelope.curvatures(low, high)
        return (
            slope + s * curvature + float(df @ (envelope.lowest + low + high)),
            curvature + float(df @ (curvatures * df)),
        )

    start = derivative(0.0)[0]
    if not start < 0:
        return 0.0
    left, right, s = 0.0, np.inf, 1.0
    for _ in range(_SEARCH):
        rate, change = derivative(s)
        if rate < 0:
            left = s
        else:
            right = s
        if abs(rate) <= 1e-13 * -start:
            break
        trial = s - rate / change if change > 0 else np.inf
        if not left < trial < right:
            trial = 0.5 * (left + right) if np.isfinite(right) else 2.0 * s
        if trial == s:
            break
        s = trial
    return s
