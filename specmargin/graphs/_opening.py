"""The first step of every graph function: check its options, make or take the search."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.graphs.neighbors import NeighborSearch
from specmargin.graphs.rules import WEIGHT
from specmargin.graphs.weights import EDGE_WEIGHTS, weights_without
from specmargin.typing import Matrix

__all__ = ["open_search"]

_DEFAULTS = {"metric": "euclidean", "reduce": None, "search": "exact"}


def open_search(
    X: Matrix | NeighborSearch, weight: str, sigma: float | None, *, random_state: Any = 0, **options: Any
) -> NeighborSearch:
    """Return the search over the rows of `X`, or `X` if it is one; check `weight` and `sigma`; warn of rows of zeros.

    `options` are those of `NeighborSearch`. To be called by what the user calls: the warning points one further.
    """
    angles_needed = EDGE_WEIGHTS[WEIGHT("weight", weight)].angles
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
        if angles_needed and not search.angles:
            raise InvalidInputError(f"weight={weight!r} takes angles; make the NeighborSearch with angles=True.")
    else:
        metric = options["metric"]
        angles = angles_needed or (isinstance(metric, str) and metric == "cosine")
        search = NeighborSearch(X, angles=angles, random_state=random_state, **options)
    if search.metric == "precomputed" and angles_needed:
        raise InvalidInputError(
            f"weight={weight!r} needs the rows, not their distances; take one of {weights_without('angles')}."
        )
    if not search.used.all():
        zero = np.flatnonzero(~search.used)
        warnings.warn(
            f"{len(zero)} rows of X are zero (the first is row {zero[0]}) and have no direction: they get "
            "no edges under the cosine. Drop them, or take metric='euclidean' with another weight.",
            UserWarning,
            stacklevel=3,
        )
    return search
