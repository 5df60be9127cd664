"""The bound B of a relative margin: a number, inf for an absolute margin, or from the absolute margin's range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.results import SolveResult
from specmargin.typing import IntArray

__all__ = ["BoundParameter", "bound_in_use", "within_bound"]

_LEAST_EXCESS = 1e-4
"""A free range that exceeds 1 by less is all margin, up to the accuracy of f: there is nothing to bound."""


@dataclass(kw_only=True, eq=False, repr=False)
class BoundParameter:
    """The bound on the labelled decisions.

    Parameters
    ----------
    B : float or "auto"
        Bound on the labelled decisions: a relative margin; inf is the absolute margin of the SVM. Only values between 1
        and the largest |f| of the absolute margin change anything; "auto" is the middle of that range: the absolute
        margin is solved first, r is its largest labelled |f|, and B = (1 + r) / 2, or inf (nothing to bound) where
        r <= 1.

    Attributes
    ----------
    B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none.
    """

    B: float | str = np.inf


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
    if not isinstance(B, str):
        return solve(B), float(B)
    free = solve(np.inf)
    bound = bound_in_use(B, lambda _: free, rows)
    return (free if np.isinf(bound) else solve(bound)), bound


def bound_in_use(B: float | str, solve: Callable[[float], SolveResult], rows: IntArray | slice) -> float:
    """Return the bound as a number, for which "auto" solves without one; the arguments are those of `within_bound`."""
    if not isinstance(B, str):
        return float(B)
    if B != "auto":
        raise InvalidInputError(f"B={B!r} must be a number >= 0, inf, or 'auto'.")
    largest = float(np.abs(solve(np.inf).variables["f"][rows]).max())
    return np.inf if largest <= 1 + _LEAST_EXCESS else (1 + largest) / 2
