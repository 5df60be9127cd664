"""An objective of two weights from above: contours, and the trails of methods that descend on it.

`LandscapeDisplay` shows why a method ends where it does; `DecisionDisplay` shows what the end means for the samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet

from specmargin.arrays import numbers_array, vector
from specmargin.checks import instance, maybe, shown
from specmargin.exceptions import InvalidInputError
from specmargin.plots.points import on_grid
from specmargin.plots.theme import Display, method_styles

__all__ = ["LandscapeDisplay"]


class LandscapeDisplay(Display):
    """Contours of a function of two weights, with trails on it.

    Parameters
    ----------
    w1, w2 : array of shape (m1,) and (m2,)
        Grid of the weights, increasing.
    values : array of shape (m2, m1)
        The objective; row i belongs to ``w2[i]``.
    trails : mapping of str to array of shape (k, 2), optional
        Points that a method went through, the last one where it ended.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.
    contours_ : QuadContourSet
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.plots import subplots
    >>> w = np.linspace(-1, 1, 21)
    >>> figure, axes = subplots(width="column")
    >>> display = LandscapeDisplay(w, w, np.add.outer(w**2, w**2), trails={"descent": [[1, 1], [0, 0]]})
    >>> len(display.plot(axes[0, 0]).contours_.levels)
    11
    """

    contours_: QuadContourSet

    def __init__(
        self,
        w1: npt.ArrayLike,
        w2: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        trails: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        self.w1, self.w2 = (vector(name, w, "finite weights, increasing") for name, w in (("w1", w1), ("w2", w2)))
        for name, w in (("w1", self.w1), ("w2", self.w2)):
            if len(w) < 2 or (np.diff(w) <= 0).any():
                raise InvalidInputError(f"{name}={shown(w)} must be two or more weights, increasing.")
        self.values = on_grid("values", values, "the objective", w1=self.w1, w2=self.w2)
        maybe(instance(Mapping, 'pass names with points, {"descent": w}'))("trails", trails)
        self.trails = {}
        for name, trail in (trails or {}).items():
            numbers_array("points of two weights, (k, 2)", ndim=2)(f"trails: {name!r}", trail)
            self.trails[name] = np.asarray(trail, dtype=np.float64)
            if self.trails[name].shape[1] != 2 or not len(self.trails[name]):
                raise InvalidInputError(f"trails: {name!r} has the shape {self.trails[name].shape}; pass (k, 2).")

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Self:
        """Draw eleven contours, closer to each other near the least value where minima are told apart, and the trails.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        title : str, optional
            Title of the axes.

        Returns
        -------
        LandscapeDisplay
            Itself, with its attributes set.
        """
        levels = self.values.min() + np.ptp(self.values) * np.linspace(0.02, 0.75, 11) ** 2.5
        with self._drawing(ax, (3.4, 3.4), title) as ax:
            self.contours_ = ax.contour(self.w1, self.w2, self.values, levels=levels, colors="0.7", linewidths=0.6)
            for name, look in method_styles(self.trails).items():
                trail = self.trails[name]
                ax.plot(*trail.T, color=look.color, marker=look.marker, markersize=3.5, linewidth=1.1, label=name)
                ax.plot(*trail[-1], look.marker, color=look.color, markersize=8, markeredgecolor="black", zorder=5)
            ax.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal")
            if self.trails:
                ax.legend(loc="upper right")
        return self
