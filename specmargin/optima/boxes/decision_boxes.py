r"""Global minimisation over boxes of decisions where unlabelled samples have the loss exp(-s f^2).

That loss has no labels: with every sign decided what is left is smooth, and concave near f = 0. Boxes lo <= f <= hi
are closed by one of two bounds, and split otherwise.

**Curvature.** On a box the loss is above the parabola that touches it at any f0 with the least second derivative -c of
the box. Where I - C* sum c_j z_j z_j' is positive definite, J less its convex labelled losses is above a convex
quadratic that touches it at a local minimum, which is then the minimum of the box. With small C* |z|^2 that closes the
whole space at once.

**Envelopes.** Else every loss is replaced by lines below it: the chord from lo (the tangent from there), tangents where
the last solution was, a wall at both ends. That is an SVM with several hinges for every sample, which
`specmargin.optima.label_svms` solves exactly. Splitting a box at its solution closes the gap there.

**Labelled losses** that are no powers of a slack, such as the smooth hinge, are tangents there as well; next to the
parabolas they stay as they are, and Newton's method minimises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.special import lambertw

from specmargin.optima.local_search import LocalSearch
from specmargin.optima.minorants import ExpEnvelope
from specmargin.optima.tree_log import Evidence, TreeLog
from specmargin.rounding import cholesky
from specmargin.typing import FloatArray

__all__ = ["Box", "ExpBoxes"]

_EPS = float(np.finfo(float).eps)
_STEPS = 30
_FIRST = (0.1, 0.5, 0.9, 1.0)
"""Slopes of the first tangents of a smooth labelled loss, relative to the steepest."""
_NEWTON = 100
_TANGENTS = 6
"""Rounds of tangents for one box."""


@dataclass
class Box:
    """Bounds of the decisions of the unlabelled samples, and a proved bound on J there."""

    lower: float
    lo: FloatArray
    hi: FloatArray
    number: int | None = None
    """Its number in the log; None where none is written."""
    evidence: Evidence | None = None
    """What proves `lower`, here or at a box around it."""

    def bounded(self, lower: float, evidence: Evidence | None) -> None:
        """Take a bound that is higher than the one it has."""
        if lower > self.lower:
            self.lower, self.evidence = lower, evidence

    def halves(self, j: int, at: float, sample: int, log: TreeLog | None) -> tuple[Box, Box]:
        """Return the boxes with decisions of the unlabelled sample j, `sample` of all, up to `at` and from there."""
        low, high = self.lo.copy(), self.hi.copy()
        low[j] = high[j] = at
        numbers = (None, None) if log is None or self.number is None else log.split(self.number, sample, at)
        evidence = self.evidence
        return Box(self.lower, self.lo, high, numbers[0], evidence), Box(self.lower, low, self.hi, numbers[1], evidence)


class ExpBoxes:
    """Bounds of J over boxes.

    Parameters
    ----------
    search : LocalSearch
        Search for an objective with exp(-s f^2) whose labelled samples are few enough for `LocalSearch.qp`.
    """

    def __init__(self, search: LocalSearch) -> None:
        self.search, self.qp = search, search.qp
        assert not search.by_labels
        loss: Any = search.obj.unlabeled_loss
        self.loss, self.s, self.c = loss, loss.s, search.obj.C_star
        self.envelope = ExpEnvelope(loss.s)
        self.relaxation = search.relaxation
        self.Z, self.b = search.Z_unlabeled, search.relaxation.offset
        self.labeled = search.obj.labels.labeled
        self.y = search.obj.labels.sign
        self.smooth: Any = None if search.obj.loss.slack_power else search.obj.loss
        """The loss of the labelled samples where that is no power of a slack."""

    def within(self, value: float) -> tuple[FloatArray, FloatArray]:
        """Return the decisions that points of J <= value can have: |w|^2 <= 2 value."""
        free = self.search.obj.unlabeled
        longest = np.sqrt(2.0 * value) * (1.0 + self.qp.skew + 1e-12)
        radius = (self.qp.lengths + self.qp.error)[free] * longest + 4.0 * _EPS
        return self.b - radius, self.b + radius

    def descend(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return J and w after Newton steps that take the labelled losses as they are."""
        value = self.search.value(w)
        for _ in range(_STEPS):
            f = self.Z @ w + self.b
            for theta in (-self.c * self.loss.curvature(f), np.zeros_like(f)):
                model = self._model(theta, f)
                if model is not None:
                    break
            if model is None:
                break
            d, step = model[0] - w, 1.0
            for _ in range(20):
                there = self.search.value(w + step * d)
                if there < value:
                    break
                step *= 0.5
            if not there < value - 1e-14 * abs(value):
                break
            w, value = w + step * d, there
        return value, w

    def _model(self, theta: FloatArray, f: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Minimise J with parabolas of curvature -theta that touch the losses at f: w, and beta of the labelled."""
        linear = self.c * self.loss.gradient(f) + theta * f
        A = np.eye(self.Z.shape[1]) - (self.Z * theta[:, None]).T @ self.Z
        factor = cholesky(A)
        if factor is None or not self.Z.shape[1]:
            return None
        r = (self.b * theta - linear) @ self.Z
        centre = sla.lapack.dpotrs(factor, r, lower=1)[0]
        rows = self.qp.Z[self.labeled]
        weights = self.search.obj.costs * np.ones(len(rows))
        moved = sla.solve_triangular(factor, rows.T, lower=True).T
        if self.smooth is not None:
            v = _newton(self.smooth, self.y[:, None] * moved, self.y * (rows @ centre + self.b), weights)
            w = centre + sla.solve_triangular(factor, v, lower=True, trans=1)
            return w, -self.smooth.gradient(self.y * (rows @ w + self.b))
        need = 1.0 - self.y * (rows @ centre)
        pieces = self.qp.pieces(self.labeled, self.qp.hinge[self.labeled], need, weights)
        pieces.replace_rows(moved)
        point = pieces.solve(self.y)
        w = centre + sla.solve_triangular(factor, point.w, lower=True, trans=1)
        return w, point.a / weights

    def curved(self, box: Box, w: FloatArray) -> tuple[float, Evidence | None]:
        """Return the bound of the parabolas that touch at w, a local minimum, and its evidence where a log is written.

        -inf where they are too steep.
        """
        f = np.clip(self.Z @ w + self.b, box.lo, box.hi)
        least = np.where((box.lo <= 0.0) & (box.hi >= 0.0), 0.0, np.minimum(np.abs(box.lo), np.abs(box.hi)))
        x = self.s * least**2
        theta = self.c * np.maximum(2.0 * self.s * (1.0 - 2.0 * x) * np.exp(-x), 0.0) * (1.0 + 1e-12)
        model = self._model(theta, f)
        if model is None:
            return -np.inf, None
        value, slope = self.c * self.loss.value(f), self.c * self.loss.gradient(f)
        h = value - slope * f - 0.5 * theta * f**2
        h -= 32.0 * _EPS * ((1.0 + self.s * f**2) * (value + np.abs(slope * f)) + theta * f**2)
        linear = slope + theta * f
        # The linear term was rounded: within the box that moves the parabola by so much.
        farthest = np.maximum(np.abs(box.lo), np.abs(box.hi))
        h -= 16.0 * _EPS * ((1.0 + self.s * f**2) * np.abs(slope) + theta * np.abs(f)) * np.minimum(farthest, 1e300)
        lower, evidence = self.relaxation.minorant_bound(theta, h, linear, model[1]), None
        if box.number is not None:
            evidence = Evidence.of_parabolas(box.number, self.relaxation, theta, linear, model[1])
        return lower, evidence

    def enveloped(self, box: Box, target: float) -> tuple[float, FloatArray, FloatArray, Evidence | None]:
        """Return the bound of the envelopes of a box whose signs are decided, w there, and what they miss of J.

        And its evidence, where a log is written: one line a sample, what its multipliers add up to.
        """
        side = np.where(box.lo >= 0.0, 1.0, -1.0)
        lo, hi = np.minimum(np.abs(box.lo), np.abs(box.hi)), np.maximum(np.abs(box.lo), np.abs(box.hi))
        slopes = [[self._first(a, z)] for a, z in zip(lo, hi, strict=True)]
        labeled, free = self.labeled, self.search.obj.unlabeled
        costs = self.search.obj.costs * np.ones(len(labeled))
        heavy = 100.0 * (float(np.sum(costs)) + self.c * len(free))
        tangents = [[] if self.smooth is None else [share * self.smooth.upper for share in _FIRST] for _ in labeled]
        best, w, missed = -np.inf, np.zeros(self.Z.shape[1]), np.zeros(len(free))
        evidence = None
        for _ in range(_TANGENTS):
            rows, ys, need, weights, constants = self._labeled_hinges(tangents, costs)
            known = len(np.concatenate(rows))
            low = np.zeros(len(free))
            for j in range(len(free)):
                tau, drop, floor = self._hinges(slopes[j], lo[j], hi[j])
                constants.append(self.c * (floor - 64.0 * _EPS * (1.0 + float(np.abs(drop) @ (1.0 + np.abs(tau))))))
                at = np.concatenate([tau, [lo[j]], [-hi[j]]])
                rows.append(np.full(len(at), free[j]))
                ys.append(np.append(np.full(len(at) - 1, side[j]), -side[j]))
                need.append(at)
                weights.append(np.append(self.c * drop, [heavy, heavy]))
                low[j] = floor
            index, c = np.concatenate(rows), np.concatenate(weights)
            kept = (c > 0) & np.isfinite(np.concatenate(need))
            hinge = np.ones(len(index), dtype=bool)
            if self.smooth is None:
                hinge[:known] = self.qp.hinge[labeled]
            pieces = self.qp.pieces(index[kept], hinge[kept], np.concatenate(need)[kept], c[kept])
            point = pieces.solve(np.concatenate(ys)[kept])
            lower, w = pieces.lower(point) + math.fsum(constants), point.w
            if lower > best and box.number is not None:
                lines = np.zeros(len(self.qp.Z))
                np.subtract.at(lines, index[kept], point.y * np.clip(point.a, 0.0, pieces.upper))
                evidence = Evidence.of(box.number, lines, np.zeros(len(lines)))
            best = max(best, lower)
            t = np.clip(side * (self.Z @ w + self.b), lo, hi)
            for j in range(len(free)):
                tau, drop, floor = self._hinges(slopes[j], lo[j], hi[j])
                low[j] = floor + float(drop @ np.maximum(tau - t[j], 0.0))
            missed = self.c * (self.loss.value(t) - low)
            curved = t > np.maximum(self._touch(lo), lo)
            enough = 1e-3 * (target - best) / len(t)
            short = self._add_tangents(tangents, w, costs) if self.smooth is not None else 0.0
            if best > target or not ((curved & (missed > enough)).any() or short > enough):
                break
            for k in np.flatnonzero(curved):
                slopes[k].append(float(-self.loss.gradient(t[k : k + 1])[0]))
        return best, w, missed, evidence

    def _labeled_hinges(self, tangents: list[list[float]], costs: FloatArray) -> tuple[list[Any], ...]:
        """Return the labelled losses, or the highest of tangents below them, as rows, labels, kinks and weights.

        And constants, what rounding may have added to the tangents.
        """
        if self.smooth is None:
            return [self.labeled], [self.y], [np.ones(len(costs))], [costs], []
        parts: tuple[list[Any], ...] = ([], [], [], [], [])
        for i, at in enumerate(tangents):
            sorted_slopes = sorted({x for x in at if x > 0.0})
            lines = list(zip(sorted_slopes, self.smooth.dual_value(np.array(sorted_slopes)).tolist(), strict=True))
            tau, drop = _hull(lines, 0.0)
            parts[0].append(np.full(len(tau), self.labeled[i]))
            parts[1].append(np.full(len(tau), self.y[i]))
            parts[2].append(tau)
            parts[3].append(costs[i] * drop)
            parts[4].append(-costs[i] * 64.0 * _EPS * (1.0 + float(drop @ (1.0 + np.abs(tau)))))
        return parts

    def _add_tangents(self, tangents: list[list[float]], w: FloatArray, costs: FloatArray) -> float:
        """Add the slopes of the labelled losses at w; return what the tangents so far miss there."""
        t = self.y * (self.search.Z[self.labeled] @ w + self.b)
        below = np.zeros(len(t))
        for i, at in enumerate(tangents):
            lines = np.array(at)
            below[i] = max(0.0, float((self.smooth.dual_value(lines) - lines * t[i]).max()))
            at.append(float(-self.smooth.gradient(t[i : i + 1])[0]))
        return float(costs @ (self.smooth.value(t) - below))

    def _touch(self, lo: FloatArray) -> FloatArray:
        """Return where the tangent from (lo, U(lo)) touches the loss, nearly; lo itself where that is convex."""
        inflection = np.sqrt(0.5 / self.s)
        left, right = np.maximum(lo, inflection), np.maximum(lo, self.envelope.touch)
        for _ in range(50):
            t = 0.5 * (left + right)
            above = self.loss.value(t) + self.loss.gradient(t) * (lo - t) > self.loss.value(lo)
            left, right = np.where(above, t, left), np.where(above, right, t)
        return np.where(lo >= inflection, lo, 0.5 * (left + right))

    def _first(self, lo: float, hi: float) -> float:
        """Return the slope, downwards, of the line from (lo, U(lo)): to (hi, U(hi)), or the tangent."""
        touch = float(self._touch(np.array([lo]))[0])
        if hi <= touch:
            ends = self.loss.value(np.array([lo, hi]))
            return float((ends[0] - ends[1]) / (hi - lo)) if hi > lo else 0.0
        return float(-self.loss.gradient(np.array([max(touch, lo)]))[0])

    def _intercept(self, slope: float, lo: float, hi: float) -> float:
        """Return the highest intercept of a line of that slope, downwards, below the loss on [lo, hi]."""
        at = [lo, hi]
        inside = -(slope**2) / (2.0 * self.s)
        if slope > 0.0 and inside > -np.exp(-1.0):
            # Where the convex part falls with that slope; an error there is of second order.
            z = float(np.sqrt(-lambertw(inside, -1).real / (2.0 * self.s)))
            if lo < z < hi:
                at.append(z)
        t = np.array([x for x in at if np.isfinite(x)])
        return float((self.loss.value(t) + slope * t).min())

    def _hinges(self, slopes: list[float], lo: float, hi: float) -> tuple[FloatArray, FloatArray, float]:
        """Return the highest of lines of those slopes below the loss as kinks, drops of slope there, and the floor."""
        floor = float(self.loss.value(np.array([hi]))[0]) if np.isfinite(hi) else 0.0
        lines = [(slope, self._intercept(slope, lo, hi)) for slope in sorted({x for x in slopes if x > 0.0})]
        return *_hull(lines, floor), floor


def _hull(lines: list[tuple[float, float]], floor: float) -> tuple[FloatArray, FloatArray]:
    """Return kinks and drops of slope of the highest of lines, slopes downwards and intercepts, and of the floor."""
    hull: list[tuple[float, float]] = [(0.0, floor)]  # from the flattest; their maximum is convex
    kinks: list[float] = []
    for slope, intercept in lines:
        while True:
            tau = (intercept - hull[-1][1]) / (slope - hull[-1][0])
            if kinks and tau >= kinks[-1]:
                hull.pop()
                kinks.pop()
                continue
            break
        hull.append((slope, intercept))
        kinks.append(tau)
    return np.array(kinks), np.diff(np.array([slope for slope, _ in hull]))


def _newton(loss: Any, rows: FloatArray, t: FloatArray, weights: FloatArray) -> FloatArray:
    """Return v that minimises 1/2 |v|^2 + sum weights V(rows v + t) for a smooth convex V: damped Newton steps."""

    def value(v: FloatArray) -> float:
        return 0.5 * float(v @ v) + float(weights @ loss.value(rows @ v + t))

    v = np.zeros(rows.shape[1])
    best = value(v)
    for _ in range(_NEWTON):
        margins = rows @ v + t
        g = v + rows.T @ (weights * loss.gradient(margins))
        H = (rows.T * (weights * loss.curvature(margins))) @ rows
        H[np.diag_indices(len(H))] += 1.0
        factor = cholesky(H)
        if factor is None:
            break
        d, step = sla.lapack.dpotrs(factor, g, lower=1)[0], 1.0
        while step > 1e-10 and not value(v - step * d) < best:
            step *= 0.5
        if step <= 1e-10:
            break
        v = v - step * d
        best = value(v)
        if float(g @ d) <= 1e-20 * best:
            break
    return v
