"""Weights of edges from the distances along them, and the scales that they are measured in."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.graphs._distances import cosine_similarities
from specmargin.graphs.neighbors import NeighborSearch
from specmargin.graphs.rules import WEIGHT
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = ["TINY", "edge_values", "listed_pairs", "local_scales", "mean_distance", "opened"]

TINY = float(np.finfo(np.float64).tiny)
"""Weight of an edge whose own underflows."""

_DEFAULTS = {"metric": "euclidean", "reduce": None, "search": "exact"}


def opened(
    X: Matrix | NeighborSearch, weight: str, sigma: float | None, *, random_state: int = 0, **options: Any
) -> NeighborSearch:
    """Return the search over the rows of `X`, or `X` if it is one; check `weight` and `sigma`; warn of rows of zeros.

    `options` are those of `NeighborSearch`. To be called by what the user calls: the warning points one further.
    """
    WEIGHT("weight", weight)
    if sigma is not None and not (
        isinstance(sigma, float | int | np.number)
        and math.isfinite(sigma)
        and sigma > 0
        and not isinstance(sigma, bool)
    ):
        raise InvalidInputError(f"sigma={sigma!r}; take a positive distance, or None for the mean neighbour distance.")
    if isinstance(X, NeighborSearch):
        search = X
        for name, value in options.items():
            made = getattr(search, name)
            if value != _DEFAULTS[name] and value != made:
                raise InvalidInputError(
                    f"{name}={value!r}, but the NeighborSearch was made with {made!r}; leave {name} to it, or make "
                    "another."
                )
        if weight == "cosine" and not search.angles:
            raise InvalidInputError("weight='cosine' takes angles; make the NeighborSearch with angles=True.")
    else:
        metric = options["metric"]
        angles = weight == "cosine" or (isinstance(metric, str) and metric == "cosine")
        search = NeighborSearch(X, angles=angles, random_state=random_state, **options)
    if search.metric == "precomputed" and weight == "cosine":
        raise InvalidInputError("weight='cosine' needs the rows, not their distances; take 'binary' or 'heat'.")
    if not search.used.all():
        zero = np.flatnonzero(~search.used)
        warnings.warn(
            f"{len(zero)} rows of X are zero (the first is row {zero[0]}) and have no direction: they get "
            "no edges under the cosine. Drop them, or take metric='euclidean' with another weight.",
            UserWarning,
            stacklevel=3,
        )
    return search


def listed_pairs(search: NeighborSearch, k: int) -> tuple[IntArray, IntArray]:
    """Directed edges from every row to its k nearest others."""
    return np.repeat(np.flatnonzero(search.used), k), search.lists(k).ravel()


def mean_distance(search: NeighborSearch, rows: IntArray, cols: IntArray) -> float:
    """Mean length of edges, 1 where all have none."""
    mean = float(search.distances(search.rows, rows, cols).mean()) if len(rows) else 0.0
    return mean if mean > 0 else 1.0


def local_scales(search: NeighborSearch, k: int) -> FloatArray:
    """Distance of every row to its k-th neighbour; the median of the positive ones where k copies leave 0."""
    scales = np.zeros(search.n_samples)
    if k:
        rows, cols = listed_pairs(search, k)
        scales[search.used] = search.distances(search.rows, rows, cols).reshape(-1, k).max(axis=1)
    positive = scales > 0
    scales[~positive] = np.median(scales[positive]) if positive.any() else 1.0
    return scales


def edge_values(
    search: NeighborSearch,
    queries: Matrix,
    rows: IntArray,
    cols: IntArray,
    weight: str,
    *,
    distances: FloatArray | None = None,
    sigma: float | None = None,
    scales: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Weights between ``queries[rows]``, transformed, and rows `cols` of the search: what underflows is `TINY`.

    `distances` are those of the pairs, if they are known; `scales` those of the queries and of the rows of the
    search; `sigma` is the width of heat weights.
    """
    if weight == "binary":
        return np.ones(len(rows))
    if weight == "cosine":
        return np.maximum(cosine_similarities(queries, search.rows, rows, cols), 0.0)
    if distances is None:
        distances = search.distances(queries, rows, cols)
    if weight == "heat":
        assert sigma is not None
        return np.maximum(np.exp(-((distances / sigma) ** 2) / 2.0), TINY)
    assert scales is not None
    return np.maximum(np.exp(-(distances / scales[0][rows]) * (distances / scales[1][cols])), TINY)
