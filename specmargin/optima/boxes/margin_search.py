"""The best known labels of an S3VM in x: retraining and relabelling, single flips, pairs, and samples of moments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from specmargin.objectives.s3vm_count import counted_labels
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.pivoting import LabeledPoint, LabelPrograms
from specmargin.typing import FloatArray, IntArray

__all__ = ["MarginSearch"]

_ROUNDS = 60
_FLIPS, _PAIRS = 60, 15
"""Samples whose labels are flipped alone, and on either side of pairs."""
_BETTER = 1e-9


class MarginSearch:
    """Descents over labels by the programs of one problem; `best` is the best point that they met.

    Parameters
    ----------
    space : MarginSpace
    deadline : float, default inf
        Time of `time.perf_counter` at which searches end.
    best : LabeledPoint, optional
        The best point that is known already.
    """

    def __init__(self, space: MarginSpace, deadline: float = np.inf, best: LabeledPoint | None = None) -> None:
        self.space, self.deadline, self.programs = space, deadline, LabelPrograms(space)
        self.best = best

    @cached_property
    def known(self) -> LabeledPoint:
        """The point of the known labels alone."""
        return self.programs.solve(self.space.y)

    @property
    def value(self) -> float:
        """J of the best point."""
        return np.inf if self.best is None else self.best.value

    def level(self, tol: float) -> float:
        """Return the value that a better point would have to be below, to that relative gap."""
        return self.value * (1.0 - 0.999 * tol)

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self.deadline

    def signs(self, x: FloatArray) -> FloatArray:
        """Return the labels that x suggests; under a balance on x not one for all, under a count by their order."""
        y, free = self.space.y, self.space.free
        if self.space.count is not None:
            labels = y.copy()
            labels[free] = counted_labels(x[free], self.space.count)
            return labels
        labels = np.where(y != 0, y, np.where(x >= 0, 1.0, -1.0))
        if not self.space.is_possible(labels):
            j = free[int(np.argmin(np.abs(x[free])))]
            labels[j] = -labels[j]
        return labels

    def offer(self, labels: FloatArray, *, flips: bool = False) -> bool:
        """Descend from labels, by flips as well where that is asked for or the point is the best; whether it is."""
        point = self._relabeled(self.programs.solve(labels, self.best))
        if flips or point.value < self.value * (1.0 - _BETTER):
            point = self._flipped(point)
        if not point.value < self.value * (1.0 - _BETTER if np.isfinite(self.value) else 1.0):
            return False
        self.best = point
        return True

    def take(self, point: LabeledPoint | None) -> None:
        """Make a point of another search the best one, if it is better."""
        if point is not None and point.value < self.value * (1.0 - _BETTER):
            self.best = point

    def sample(self, X: FloatArray, count: int, seed: int) -> bool:
        """Descend from the signs of normal samples with the moments X of (x, 1); whether that gives the best point."""
        x = X[-1, :-1]
        values, vectors = np.linalg.eigh(X[:-1, :-1] - np.multiply.outer(x, x))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal = np.random.default_rng(seed).standard_normal((count, len(x)))
        better = False
        for row in normal:
            if self.late:
                break
            better |= self.offer(self.signs(x + root @ row))
        return better

    def decisions(self, point: LabeledPoint) -> FloatArray:
        """Return f at a point: x less the slack, that of the balance's multiplier included."""
        return point.x - self.space.quadratic.completed(point.p) / (2.0 * self.space.C)

    def _relabeled(self, point: LabeledPoint) -> LabeledPoint:
        """Take the signs of the decisions as labels until that gains nothing."""
        for _ in range(_ROUNDS):
            labels = self.signs(self.decisions(point))
            if (labels == point.labels).all():
                break
            new = self.programs.solve(labels, point)
            if not new.value < point.value * (1.0 - _BETTER):
                break
            point = new
        return point

    def _flipped(self, point: LabeledPoint) -> LabeledPoint:
        """Flip single labels, and pairs under a balance on x, as long as that gains."""
        while True:
            for flips in self._neighbours(point):
                if self.late:
                    return point
                labels = point.labels.copy()
                labels[flips] *= -1.0
                new = self.programs.solve(labels, point)
                if new.value < point.value * (1.0 - _BETTER) or new.value < np.inf == point.value:
                    point = new
                    break
            else:
                return point

    def _neighbours(self, point: LabeledPoint) -> Iterator[IntArray]:
        """Yield the samples to flip: those of least margin first that cost something; only pairs under a count."""
        free = self.space.free
        margins = point.labels[free] * self.decisions(point)[free]
        order = free[np.argsort(margins, kind="stable")]
        order = order[np.abs(point.p[order]) > 1e-12][:_FLIPS]
        if self.space.count is None:
            yield from order[:, None]
        if self.space.total is not None or self.space.count is not None:
            up, down = order[point.labels[order] > 0], order[point.labels[order] < 0]
            for i in up[:_PAIRS]:
                for j in down[:_PAIRS]:
                    yield np.array([i, j])
