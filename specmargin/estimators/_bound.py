"""The bound B of a relative margin: a number, or found from the absolute margin's own range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.results import SolveResult
from specmargin.typing import IntArray

__all__ = ["within_bound"]

_LEAST_EXCESS = 1e-4
"""A free range that exceeds 1 by less is all margin, up to the accuracy of f: there is nothing to bound."""


def within_bound(
    B: float | str, solve: Callable[[float], SolveResult], rows: IntArray | slice
) -> tuple[SolveResult, float]:
    """Solve under the bound; "auto" solves without one first and takes the middle between 1 and its largest |f|.

    Parameters
    ----------
    B : float or "auto"
        The bound. "auto" is none (inf) where no labelled decision exceeds 1.
    solve : callable
        From a bound to the result, whose variable ``f`` holds decisions.
    rows : ndarray or slice
        Those of the labelled samples in ``f``.
    """
    if isinstance(B, str):
        if B != "auto":
            raise InvalidInputError(f"B={B!r} must be a number >= 0, inf, or 'auto'.")
        free = solve(np.inf)
        reach = float(np.abs(free.variables["f"][rows]).max())
        if reach <= 1 + _LEAST_EXCESS:
            return free, np.inf
        B = (1 + reach) / 2
    return solve(B), float(B)
