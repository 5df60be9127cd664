"""Piecewise quadratic losses of the margin as tables: kinks, and a parabola between any two of them.

The tables are in the slack u = 1 - t, in which the losses of support vector machines begin at zero. Exact line
searches and Newton's method on active sets read them, and work with any such loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from specmargin.typing import FloatArray, IntArray

__all__ = ["Pieces"]


@dataclass(frozen=True)
class Pieces:
    """V(1 - u) = a u^2 + b u + c, with coefficients of each piece.

    Parameters
    ----------
    kinks : tuple of float
        The k slacks where pieces meet, increasing.
    coefficients : tuple of (a, b, c)
        Coefficients of the k + 1 pieces, from u = -inf on.

    Examples
    --------
    The squared hinge: nothing beyond the margin, u^2 short of it.

    >>> pieces = Pieces((0.0,), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)))
    >>> pieces.index(np.array([-1.0, 0.0, 0.5])).tolist(), pieces.value(np.array([-1.0, 0.5])).tolist()
    ([0, 0, 1], [0.0, 0.25])
    """

    kinks: tuple[float, ...]
    coefficients: tuple[tuple[float, float, float], ...]

    @cached_property
    def square(self) -> FloatArray:
        """Half the curvature of every piece, a, (k + 1,)."""
        return np.array([a for a, _, _ in self.coefficients])

    @cached_property
    def linear(self) -> FloatArray:
        """Half the slope of every piece at u = 0, b / 2, (k + 1,)."""
        return np.array([0.5 * b for _, b, _ in self.coefficients])

    @property
    def most_curved(self) -> int:
        """The piece of the largest curvature."""
        return int(self.square.argmax())

    def index(self, u: FloatArray) -> IntArray:
        """Return the piece of every slack; a kink belongs to the piece below it."""
        at = np.zeros(np.shape(u), dtype=np.intp)
        for kink in self.kinks:
            at += u > kink
        return at

    def value(self, u: FloatArray) -> FloatArray:
        """Return a u^2 + b u + c, elementwise."""
        a, b, c = np.array(self.coefficients).T
        at = self.index(u)
        return np.asarray((a[at] * u + b[at]) * u + c[at])
