"""A run of an interior point, over eigenvectors or over blocks: when a step only centres, and when there is no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.results import History

__all__ = ["InteriorRun", "require_accuracy"]

_PATIENCE = 12
"""Steps without a smaller gap, once it is small, after which rounding has the last word."""
_TURNS = 5
"""Steps without a smaller gap, of a point that meets the linear conditions, after which a step only centres."""
_MET = 0.1
"""Error of a margin up to which the linear conditions count as met: far from them the gap means little."""
_SMALL = 1e-5
"""Estimated gap from which on it has to shrink; far from the optimum it may well grow for a while."""
_CLOSE = 1e-3
"""Estimated gap from which on the margins must not drift from those of the multipliers."""


class InteriorRun:
    """The steps of an interior point so far.

    Parameters
    ----------
    data, point
        Data and point of the iteration: `MarginData` and `Point`, or `BlockData` and `BlockPoint`.
    step : callable
        Takes one: `interior_step` or `block_step`.
    value : callable
        ``value(data, point)`` is what products are relative to.
    history : History
        History in which each step's estimated gap, length and largest residual are recorded.
    """

    def __init__(
        self, data: Any, point: Any, step: Callable[..., Any], value: Callable[[Any, Any], float], history: History
    ) -> None:
        self.data, self.point, self._step, self._value, self.history = data, point, step, value, history
        self.gap = self.residual = self._least = np.inf
        self.stalled = 0
        self.message = ""

    def advance(self) -> bool:
        """Take a step; return whether it led to finite numbers, and say in `message` why not."""
        # Early on the margins may well drift for a while; the path is then left and found again.
        drifted = self.residual if self.gap < _CLOSE else np.inf
        turning = self.stalled > 0 and self.stalled % _TURNS == 0 and self.residual < _MET
        try:
            step = self._step(self.data, self.point, drifted, centre=turning)
        except np.linalg.LinAlgError:
            self.message = "the linear system became singular"
            return False
        if not np.isfinite(step.length) or not np.isfinite(step.point.products()):
            self.message = "the linear system lost its digits"
            return False
        before, self.point, self.residual = self.residual, step.point, step.residual
        self.gap = self.point.products() / max(self._value(self.data, self.point), 1e-300)
        self.history.record(gap=self.gap, length=step.length, residual=step.residual)
        # Products may vanish before the linear conditions are met, which is progress as well.
        advanced = self.gap < 0.9 * self._least or _MET < self.residual < 0.5 * before
        self.stalled = 0 if advanced else self.stalled + 1
        self._least = min(self._least, self.gap)
        return True

    def gives_up(self) -> bool:
        """Whether the gap shrinks no more, once it is small."""
        if self.stalled <= _PATIENCE or self._least >= _SMALL:
            return False
        self.message = "the gap shrinks no more"
        return True


def require_accuracy(tol: float, max_iter: int) -> None:
    """Raise InvalidInputError for a gap or a number of steps that nothing can reach."""
    if not tol > 0:
        raise InvalidInputError(
            f"tol={tol!r} must be positive: it is the relative gap to be proved; 1e-9 is the default."
        )
    if max_iter < 1:
        raise InvalidInputError(f"max_iter={max_iter!r} must be at least 1; 100 is the default, 15 is usual.")
