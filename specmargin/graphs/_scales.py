"""The lengths that edge weights are measured in: a mean over edges, and one of every row."""

from __future__ import annotations

import numpy as np

from specmargin.graphs.neighbors import NeighborSearch
from specmargin.typing import FloatArray, IntArray

__all__ = ["listed_pairs", "mean_distance", "neighbor_scales"]


def listed_pairs(search: NeighborSearch, k: int) -> tuple[IntArray, IntArray]:
    """Directed edges from every row to its k nearest others."""
    return np.repeat(np.flatnonzero(search.used), k), search.lists(k).ravel()


def mean_distance(search: NeighborSearch, rows: IntArray, cols: IntArray) -> float:
    """Mean length of edges between rows; 1 where there are none, or all have length 0."""
    mean = float(search.distances(search.rows, rows, cols).mean()) if len(rows) else 0.0
    return mean if mean > 0 else 1.0


def neighbor_scales(search: NeighborSearch, k: int) -> FloatArray:
    """Distance of every row to its k-th neighbour; the median of the positive ones where k copies leave 0."""
    scales = np.zeros(search.n_samples)
    if k:
        rows, cols = listed_pairs(search, k)
        scales[search.used] = search.distances(search.rows, rows, cols).reshape(-1, k).max(axis=1)
    positive = scales > 0
    scales[~positive] = np.median(scales[positive]) if positive.any() else 1.0
    return scales
