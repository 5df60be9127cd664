"""The bound B on labelled decisions: a number, or the middle of the range in which it changes anything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specmargin.results import SolveResult
from specmargin.typing import IntArray

_LEAST_EXCESS = 1e-4
"""A free range that exceeds 1 by less is all margin, up to the accuracy of f: there is nothing to bound."""


def within_bound(
    B: float | str, solve: Callable[[float], SolveResult], rows: IntArray | slice
) -> tuple[SolveResult, float]:
    """Return the answer under the bound, and the bound: "auto" is the middle of the range that no bound leaves.

    `solve` makes a result of a bound; its variable ``f`` holds decisions, `rows` are those of the labelled samples.
    """
    if not isinstance(B, str):
        return solve(B), float(B)
    free = solve(np.inf)
    bound = _middle(free, rows)
    return (free if np.isinf(bound) else solve(bound)), bound


def bound_in_use(B: float | str, solve: Callable[[float], SolveResult], rows: IntArray | slice) -> float:
    """Return the bound as a number, for which "auto" solves without one; the arguments are those of `within_bound`."""
    return _middle(solve(np.inf), rows) if isinstance(B, str) else float(B)


def _middle(free: SolveResult, rows: IntArray | slice) -> float:
    """Return the middle between 1 and the largest |f|, or inf where no labelled decision exceeds 1."""
    largest = float(np.abs(free.variables["f"][rows]).max())
    return np.inf if largest <= 1 + _LEAST_EXCESS else (1 + largest) / 2
