"""Points of the plane with the labels that are known.

`LabelDisplay` draws a data set before anything is learned; `DecisionDisplay` and `GraphDisplay` put it on
top of what they draw. Unlabelled points are small and grey, labelled points large with the colour and marker
of their class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from specmargin.arrays import numbers_array
from specmargin.checks import checked, instance, number
from specmargin.exceptions import InvalidInputError
from specmargin.graphs.node_names import by_row
from specmargin.labels import is_unlabeled, label_vector
from specmargin.plots.theme import CLASS_COLORS, CLASS_MARKERS, PALETTE, Display, legend_above, style
from specmargin.plots.ticks import literal
from specmargin.typing import AnyArray, FloatArray

__all__ = ["LabelDisplay", "point_handles", "ring"]

MORE_COLORS = (*CLASS_COLORS, *map(PALETTE.__getitem__, ("green", "purple", "orange", "sky", "black", "yellow")))
MORE_MARKERS = (*CLASS_MARKERS, "^", "D", "v", "P", "X", "*")


class LabelDisplay(Display):
    """Points of the plane with the labels that are known.

    Parameters
    ----------
    X : array of shape (n, 2)
        Points.
    y : array of shape (n,)
        Class values, and the marker where there is none. Classes take their colours in sorted order.
    unlabeled : scalar, nan or None, default -1
        The marker.
    classes : sequence, optional
        All classes, where `y` does not show each of them; sorted values of `y` by default.

    Attributes
    ----------
    figure_ : Figure
        Set by `plot`.
    ax_ : Axes
        Set by `plot`.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(width="column")
    >>> LabelDisplay([[0, 0], [1, 1], [1, 0]], [0, 1, -1]).plot(axes[0, 0]).ax_.get_aspect()
    1.0
    """

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        unlabeled: Any = -1,
        classes: Sequence[Any] | AnyArray | None = None,
    ) -> None:
        self.X, self.axis_names = points_in_plane(X), axis_names(X)
        self.y = label_vector(by_row(y, X, None, unlabeled))
        if self.y.shape != (len(self.X),):
            raise InvalidInputError(
                f"y has the shape {self.y.shape}, but X has {len(self.X)} points; give one label each."
            )
        self.hidden = is_unlabeled(self.y, unlabeled)
        known = self.y[~self.hidden]
        self.classes = np.unique(known) if classes is None else np.asarray(classes)
        unlisted = [value for value in np.unique(known) if value not in self.classes]
        if unlisted:
            raise InvalidInputError(
                f"y holds {unlisted}, which classes={self.classes.tolist()} does not list; name all."
            )
        most = len(MORE_COLORS) * len(MORE_MARKERS)
        if len(self.classes) > most:
            raise InvalidInputError(
                f"{len(self.classes)} classes, but there are {most} pairs of a colour and a marker that can be told "
                "apart; draw fewer classes at a time."
            )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        legend: bool = False,
        title: str | None = None,
        size: float | None = None,
        unlabeled_size: float = 5.0,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        legend : bool, default False
            Name classes above the axes.
        title : str, optional
            Title of the axes.
        size : float, optional
            Area of a labelled point, in square points; by default large when few points are labelled.
        unlabeled_size : float, default 5
            Area of an unlabelled point.
        names : sequence of str, optional
            Names of the classes, for the legend.

        Returns
        -------
        LabelDisplay
            Itself, with `figure_` and `ax_`.
        """
        if names is not None and len(names) != len(self.classes):
            raise InvalidInputError(
                f"names={list(names)} for the {len(self.classes)} classes {self.classes.tolist()}; pass one each."
            )
        with self._drawing(ax, (3.4, 3.0), title, 16 if legend else 4) as ax:
            few = (~self.hidden).sum() <= 0.2 * len(self.X)
            size = (42.0 if few else 12.0) if size is None else size
            # Dark on a filled surface, light on white: the grey in between is seen on both.
            if self.hidden.any():
                look: dict[str, Any] = {"color": "0.35", "alpha": 0.75, "linewidths": 0, "zorder": 3}
                ax.scatter(self.X[self.hidden, 0], self.X[self.hidden, 1], s=unlabeled_size, label="unlabeled", **look)
            look = {"s": size, "edgecolors": "black", "linewidths": 0.9 if few else 0.4, "zorder": 4}
            for k, value in enumerate(self.classes):
                x1, x2 = self.X[~self.hidden & (self.y == value)].T
                label = str(names[k]) if names is not None else f"class {value}"
                marker = MORE_MARKERS[(k + k // len(MORE_COLORS)) % len(MORE_MARKERS)]  # each pair once
                ax.scatter(x1, x2, color=MORE_COLORS[k % len(MORE_COLORS)], marker=marker, label=label, **look)
            ax.set(aspect="equal", **self.axis_names)
            if legend:
                legend_above(ax, len(self.classes) + 1, columnspacing=1.0, handletextpad=0.2)
        return self


@checked(ax=instance(Axes, "pass one of specmargin.plots.subplots"))
def ring(ax: Axes, X: npt.ArrayLike, *, size: float = 11.0) -> Line2D:
    """Draw a ring around points of the plane, on top of what is there.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    X : array of shape (n, 2)
        Points.
    size : float, default 11
        Diameter in points.

    Returns
    -------
    Line2D
        The rings, for a legend.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(width="column")
    >>> len(ring(axes[0, 0], [[0, 0], [1, 1]]).get_xdata())
    2
    """
    x, y = points_in_plane(X).T
    number(above=0)("size", size)
    look: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": "black", "markeredgewidth": 0.9}
    return ax.plot(x, y, "o", markersize=size, zorder=8, **look)[0]


def point_handles(*, boundary: bool = True) -> list[Line2D]:
    """Return what a legend of a whole figure needs for the marks of `LabelDisplay` with two classes.

    Parameters
    ----------
    boundary : bool, default True
        Whether the zero contour of `DecisionDisplay` is among them.

    Examples
    --------
    >>> [handle.get_label() for handle in point_handles()]
    ['labelled, class 0', 'labelled, class 1', 'unlabelled', 'boundary']
    """
    with style():
        edge: dict[str, Any] = {"linestyle": "none", "markeredgecolor": "black", "markersize": 5.0}
        handles = [
            Line2D([], [], marker=marker, color=color, label=f"labelled, class {k}", **edge)
            for k, (marker, color) in enumerate(zip(CLASS_MARKERS, CLASS_COLORS, strict=True))
        ]
        handles.append(Line2D([], [], marker="o", color="0.35", linestyle="none", markersize=2.4, label="unlabelled"))
        return [*handles, Line2D([], [], color="black", linewidth=1.1, label="boundary")][: 4 if boundary else 3]


def points_in_plane(X: npt.ArrayLike, n: int | None = None, what: str = "") -> FloatArray:
    """Return X as points of the plane, one for each of n where n is given; an error says how to reduce features."""
    numbers_array("finite points of the plane, (n, 2)", ndim=2)("X", X)
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise InvalidInputError(
            f"X has the shape {points.shape}; a picture in the plane needs (n, 2). Reduce the features "
            "first, e.g. by sklearn.decomposition.PCA(2)."
        )
    if n is not None and len(points) != n:
        raise InvalidInputError(f"X has {len(points)} points for {n} {what}; pass one each.")
    return points


def axis_names(X: Any) -> dict[str, str]:
    """Return what the axes are called: as the columns of a frame are, else x_1 and x_2.

    Examples
    --------
    >>> axis_names([[0.0, 1.0]])
    {'xlabel': '$x_1$', 'ylabel': '$x_2$'}
    """
    names = [literal(name) for name in getattr(X, "columns", ()) if isinstance(name, str)]
    return dict(zip(("xlabel", "ylabel"), names if len(names) == 2 else ("$x_1$", "$x_2$"), strict=True))


def on_grid(name: str, values: npt.ArrayLike, what: str, **axes: FloatArray) -> FloatArray:
    """Return values as rows over the second of two named axes and columns over the first."""
    surface = np.asarray(numbers_array(f"{what} on the grid, (rows, columns)", ndim=2)(name, values), dtype=np.float64)
    wanted = tuple(len(axis) for axis in reversed(axes.values()))
    if surface.shape != wanted:
        given = " and ".join(f"{key} of the shape {axis.shape}" for key, axis in axes.items())
        raise InvalidInputError(f"{name} has the shape {surface.shape}; for {given} pass {wanted}.")
    return surface
