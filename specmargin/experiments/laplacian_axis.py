"""Which Laplacian explains a published number: D - W or the normalised one.

The manifold paper defines L = D - W, the primal-LapSVM paper used "its normalized expression". The tables of both run
on either, and `verdict_on` says set by set which of the two comes near the print.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

__all__ = ["CLOSE", "LAPLACIANS", "verdict_on"]

LAPLACIANS = {False: "D - W", True: "the normalised Laplacian"}
"""By the values of the axis ``normalized``."""

CLOSE = 0.5
"""Points of error within which a number counts as explained."""

_NEARER = 0.5  # of the other's mean distance: from there on one is said to be nearer


def verdict_on(
    name: str,
    published: Sequence[float],
    ours: Mapping[bool, Sequence[float]],
    tolerances: Sequence[float] | None = None,
) -> str:
    """Return a sentence on the published errors of a set: which Laplacian explains them.

    Parameters
    ----------
    name : str
        Of the set and the setting.
    published : sequence of float
        Errors in percent, as printed.
    ours : mapping of bool to sequence of float
        Errors with D - W (False) and with the normalised Laplacian (True), in the same order.
    tolerances : sequence of float, optional
        How far off a number may be that counts as explained; by default `CLOSE` for all.

    Returns
    -------
    str
        A Laplacian explains the numbers if none is further off than its tolerance, both may, or neither; in the last
        case the sentence says which is nearer, if its mean distance is at most half of the other's.

    Examples
    --------
    >>> print(verdict_on("isolet", [17.0, 23.9], {False: [19.4, 25.3], True: [17.1, 24.0]}))  # doctest: +ELLIPSIS
    isolet: the normalised Laplacian explains the print. Mean distance (largest): D - W 1.90 (2.40), ...
    """
    distances = {
        normalized: [abs(a - b) for a, b in zip(errors, published, strict=True)] for normalized, errors in ours.items()
    }
    mean = {normalized: statistics.fmean(each) for normalized, each in distances.items()}
    allowed = [CLOSE] * len(published) if tolerances is None else tolerances
    close = [
        normalized
        for normalized, each in distances.items()
        if all(distance <= most for distance, most in zip(each, allowed, strict=True))
    ]
    near, far = sorted(mean, key=lambda normalized: mean[normalized])
    if len(close) == 1:
        verdict = f"{LAPLACIANS[close[0]]} explains the print"
    elif close:
        verdict = "both Laplacians explain the print"
    elif mean[near] <= _NEARER * mean[far]:
        verdict = f"neither Laplacian explains the print, {LAPLACIANS[near]} is nearer"
    else:
        verdict = "neither Laplacian explains the print, nor is one clearly nearer"
    counts = ", ".join(f"{words} {mean[key]:.2f} ({max(distances[key]):.2f})" for key, words in LAPLACIANS.items())
    return f"{name}: {verdict}. Mean distance (largest): {counts}."
