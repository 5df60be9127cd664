"""Dual multipliers of labelled samples: complementary slackness as a picture.

`MultiplierDisplay.plot` draws each multiplier over the margin of its sample, on the staircase that the hinge allows;
`MultiplierDisplay.plot_points` draws the samples in the plane, as large as their multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from specmargin.arrays import vector
from specmargin.exceptions import InvalidInputError
from specmargin.plots.points import points_in_plane
from specmargin.plots.theme import CLASS_COLORS, Display

__all__ = ["MultiplierDisplay"]


class MultiplierDisplay(Display):
    """Multipliers beta of the hinge's dual with the margins y f of their samples.

    Parameters
    ----------
    beta : array of shape (l,)
        Multipliers, not negative; 1 is the bound of an unweighted hinge.
    margin : array of shape (l,)
        y f of the same labelled samples.
    sign : array of shape (l,)
        Labels, -1 and +1, for the colours.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot` and `plot_points`.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(width="column")
    >>> display = MultiplierDisplay([1.0, 0.4, 0.0], [0.2, 1.0, 1.3], [1, -1, 1]).plot(axes[0, 0])
    >>> display.distance().tolist()  # all lie on the staircase
    [0.0, 0.0, 0.0]
    """

    def __init__(self, beta: npt.ArrayLike, margin: npt.ArrayLike, sign: npt.ArrayLike) -> None:
        self.beta = vector("beta", beta, "finite multipliers >= 0, (l,)", least=0.0)
        self.margin = vector("margin", margin, "a finite margin y f for each multiplier")
        self.sign = vector("sign", sign, "a label, -1 or 1, for each multiplier")
        for name, values in (("margin", self.margin), ("sign", self.sign)):
            if values.shape != self.beta.shape:
                raise InvalidInputError(
                    f"{name} has the shape {values.shape}, but there are {len(self.beta)} multipliers; pass one each."
                )
        if (bad := self.sign[np.abs(self.sign) != 1.0]).size:
            raise InvalidInputError(f"sign holds {bad[0]:g}; pass -1 and 1, e.g. Labels.sign.")

    def distance(self) -> npt.NDArray[np.float64]:
        """Distance of each pair (y f, beta) from the staircase: zero for the multipliers of an optimum."""
        t, beta = self.margin, self.beta
        before = np.hypot(np.maximum(0.0, t - 1.0), beta - 1.0)  # beta = 1 up to the margin 1
        at = np.hypot(t - 1.0, beta - np.clip(beta, 0.0, 1.0))
        beyond = np.hypot(np.maximum(0.0, 1.0 - t), beta)
        return np.minimum(np.minimum(before, at), beyond)

    def plot(self, ax: Axes | None = None, *, notes: Mapping[int, str] | None = None, title: str | None = None) -> Self:
        """Draw the multipliers over the margins, and the staircase on which an optimum lies.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        notes : mapping of int to str, optional
            Text for samples, by their place in `beta`.
        title : str, optional
            Title of the axes.

        Returns
        -------
        MultiplierDisplay
            Itself, with its attributes set.
        """
        low, high = self.margin.min(initial=0.0) - 0.25, self.margin.max(initial=1.0) + 0.25
        with self._drawing(ax, (3.0, 2.4), title) as ax:
            ax.plot([low, 1.0, 1.0, high], [1.0, 1.0, 0.0, 0.0], color="0.75", linewidth=3.5, zorder=1)
            ax.scatter(self.margin, self.beta, s=26, c=self._colors(), edgecolors="black", linewidths=0.6, zorder=3)
            for k, text in (notes or {}).items():
                at = float(self.margin[k]), float(self.beta[k])
                arrow = {"arrowstyle": "-", "linewidth": 0.6, "shrinkB": 4}
                ax.annotate(text, at, xytext=(at[0], at[1] - 0.2), ha="center", arrowprops=arrow)
            ax.set(xlabel="margin $y_i f(x_i)$", ylabel=r"multiplier $\beta_i$")
        return self

    def plot_points(self, X: npt.ArrayLike, ax: Axes | None = None) -> Self:
        """Draw the samples: the area of a mark is the multiplier, a cross is a multiplier of zero.

        Parameters
        ----------
        X : array of shape (l, 2)
            The labelled samples.
        ax : Axes, optional
            Axes to draw on, e.g. over a `DecisionDisplay`; a new pyplot figure by default.

        Returns
        -------
        MultiplierDisplay
            Itself, with its attributes set.
        """
        X = points_in_plane(X, len(self.beta), "multipliers")
        positive, colors = self.beta > 1e-5, self._colors()
        with self._drawing(ax, (3.0, 2.4)) as ax:
            looks: list[dict[str, Any]] = [{"s": 90 * self.beta[positive], "linewidths": 0.8}, {"s": 34, "marker": "X"}]
            for shown, look in zip((positive, ~positive), looks, strict=True):
                ax.scatter(X[shown, 0], X[shown, 1], c=colors[shown], edgecolors="black", zorder=5, **look)
            ax.set_aspect("equal")
        return self

    def _colors(self) -> npt.NDArray[np.str_]:
        return np.where(self.sign > 0, CLASS_COLORS[1], CLASS_COLORS[0])
