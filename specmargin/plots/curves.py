"""Curves over one quantity: what an objective, an error or a multiplier does as a weight or an iteration grows.

`CurveDisplay` draws named curves with their points and lines of reference, and draws of one experiment as thin lines
below their mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from specmargin.arrays import numbers_array, vector
from specmargin.checks import instance, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.plots.theme import PALETTE, Display, MethodStyle, method_styles
from specmargin.plots.ticks import plain_ticks
from specmargin.typing import FloatArray

__all__ = ["CurveDisplay"]

Pairs = Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]
Look = str | MethodStyle

_REFERENCES: tuple[tuple[float, tuple[float, ...]], ...] = ((0.0, (4.0, 3.0)), (0.0, (1.0, 1.4)), (0.0, (7.0, 2.0)))


class CurveDisplay(Display):
    """Named curves over one quantity.

    Parameters
    ----------
    curves : mapping of str to (x, y)
        Curves by their names in the legend, in the order they are drawn. ``x`` has the shape (m,), ``y`` too, or (m, k)
        for k draws: thin lines below their mean. A name that begins with an underscore stays out of the legend.
    points : mapping of str to (x, y), optional
        Drawn on top, as markers without a line.
    looks : mapping of str to str or MethodStyle, optional
        A colour of `PALETTE`, or a style, for names of either mapping; `method_styles` chooses the others, so that
        methods look as they do in all figures.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.
    lines_ : dict of str to Line2D
        Lines by name, the mean where there are draws.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(width="column")
    >>> display = CurveDisplay({"error": ([1, 10, 100], [0.3, 0.2, 0.1])}, looks={"error": "purple"})
    >>> display.plot(axes[0, 0], xscale="log", xlabel="labels").ax_.get_xscale()
    'log'
    """

    lines_: dict[str, Line2D]

    def __init__(self, curves: Pairs, *, points: Pairs | None = None, looks: Mapping[str, Look] | None = None) -> None:
        self.curves = _pairs("curves", curves)
        self.points = _pairs("points", {} if points is None else points)
        names = [*self.curves, *self.points]
        if not names:
            raise InvalidInputError('curves={} names none; give at least one, e.g. {"error": (weights, errors)}.')
        self.looks = {**method_styles(names), **_looks({} if looks is None else looks, names)}

    def plot(
        self,
        ax: Axes | None = None,
        *,
        xscale: Literal["linear", "log", "symlog"] = "linear",
        yscale: Literal["linear", "log"] = "linear",
        xlabel: str | None = None,
        ylabel: str | None = None,
        title: str | None = None,
        xlim: tuple[float | None, float | None] | None = None,
        ylim: tuple[float | None, float | None] | None = None,
        vertical: Mapping[str, float] | None = None,
        horizontal: Mapping[str, float] | None = None,
        between: tuple[str, str] | None = None,
        steps: bool = False,
        markers: bool = False,
        legend: str | None = "best",
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        xscale : {"linear", "log", "symlog"}
            Scale of the horizontal axis; "symlog" shows zero, too, and is logarithmic from the power of ten below
            the smallest other x on.
        yscale : {"linear", "log"}
            Scale of the vertical axis; a logarithmic one leaves out what is not positive.
        xlabel, ylabel, title : str, optional
            Names and title of the axes.
        xlim, ylim : (float, float), optional
            Ends of the axes; None for one of them leaves it to matplotlib.
        vertical, horizontal : mapping of str to float, optional
            Lines of reference at an x or a y, by the name in the legend.
        between : (str, str), optional
            Names of two curves over the same x: what lies between them is filled.
        steps : bool, default False
            Hold each value until the next x.
        markers : bool, default False
            Mark the points of the curves.
        legend : str or None, default "best"
            Place at which matplotlib puts the legend; "right" is outside of the axes, None leaves it out.

        Returns
        -------
        CurveDisplay
            Itself, with its attributes set.
        """
        for name in between or ():
            if name not in self.curves:
                raise InvalidInputError(f"between={between!r}: {name!r} is no curve; take two of {[*self.curves]}.")
        given = {"xlabel": xlabel, "ylabel": ylabel, "xlim": xlim, "ylim": ylim}  # what is not stays as it is
        with self._drawing(ax, (3.6, 2.4), title) as ax:
            self.lines_ = {}
            if between is not None:
                x, (low, high) = self.curves[between[0]][0], (self.curves[name][1] for name in between)
                ax.fill_between(x, low, high, color="0.93", linewidth=0, step="post" if steps else None)
            for name, (x, y) in self.curves.items():
                look, is_drawn_often = self.looks[name], y.ndim == 2
                shape: dict[str, Any] = {"color": look.color, "drawstyle": "steps-post" if steps else "default"}
                if is_drawn_often:
                    ax.plot(x, y, linewidth=0.6, alpha=0.35, **shape)
                    y = y.mean(axis=1)
                shape |= {"linestyle": look.linestyle, "marker": look.marker if markers else "None"}
                self.lines_[name] = ax.plot(x, y, linewidth=2.0 if is_drawn_often else 1.2, label=name, **shape)[0]
            for name, (x, y) in self.points.items():
                shape = {"color": self.looks[name].color, "markersize": 4.5, "alpha": 0.85, "zorder": 4}
                self.lines_[name] = ax.plot(x, y, self.looks[name].marker, label=name, **shape)[0]
            _references(ax, vertical or {}, horizontal or {})
            drawn = [*self.curves.values(), *self.points.values()]
            xs, ys = (np.concatenate([pair[k].ravel() for pair in drawn]) for k in (0, 1))
            least = np.abs(xs[xs != 0]).min() if xs.any() else 1.0
            lowest = {"linthresh": float(10.0 ** np.floor(np.log10(least) + 1e-9)), "linscale": 0.6}
            ax.set_xscale(xscale, **(lowest if xscale == "symlog" else {}))
            ax.set_yscale(yscale)
            ax.set(**{key: value for key, value in given.items() if value is not None})
            _ticks(ax.xaxis, xs)
            _ticks(ax.yaxis, ys)
            if legend is not None and ax.get_legend_handles_labels()[1]:
                outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
                ax.legend(**(outside if legend == "right" else {"loc": legend}))
        return self


def _references(ax: Axes, vertical: Mapping[str, float], horizontal: Mapping[str, float]) -> None:
    """Draw the lines of reference; those that the legend names have a dash pattern each."""
    named = 0
    for draw, lines in ((ax.axvline, vertical), (ax.axhline, horizontal)):
        for name, at in lines.items():
            dashes = _REFERENCES[0 if name.startswith("_") else named % len(_REFERENCES)]
            draw(at, color="0.35", linewidth=0.8, linestyle=dashes, label=name, zorder=1)
            named += not name.startswith("_")


def _ticks(axis: Axis, values: FloatArray) -> None:
    """Write whole numbers where all values are, and plain ones on a logarithmic axis of a few decades."""
    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() == "log" and low >= 1e-3 and high <= 1e4:
        plain_ticks(axis)
    elif axis.get_scale() == "linear" and (values == np.round(values)).all():
        axis.set_major_locator(MaxNLocator(integer=True))


def _pairs(argument: str, pairs: Any) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Check a mapping of names to x and y."""
    instance(Mapping, 'pass names with x and y, {"J": (w, J)}')(argument, pairs)
    read = {}
    for name, pair in pairs.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidTypeError(f"{argument}[{name!r}]={shown(pair)} is no pair; pass (x, y).")
        x = vector(f"{argument}: x of {name!r}", pair[0], "finite numbers, (m,)")
        expected = "a number for each x, (m,), or for each x and draw, (m, k)"
        y = np.asarray(numbers_array(expected)(f"{argument}: y of {name!r}", pair[1]), dtype=np.float64)
        most, more = (2, f" or ({len(x)}, k)") if argument == "curves" else (1, "")
        if not 1 <= y.ndim <= most or len(y) != len(x):
            told = f"{argument}: y of {name!r} has the shape {y.shape} for {len(x)} x"
            raise InvalidInputError(f"{told}; pass ({len(x)},){more}.")
        read[name] = x, y
    return read


def _looks(looks: Any, names: list[str]) -> dict[str, MethodStyle]:
    """Return the styles that were asked for; a colour alone gets a solid line and a round marker."""
    instance(Mapping, 'pass names with colours, {"J": "blue"}')("looks", looks)
    styles = {}
    for name, look in looks.items():
        if name not in names:
            raise InvalidInputError(f"looks names {name!r}, which is no curve; take names of {names}.")
        if not isinstance(look, MethodStyle) and (not isinstance(look, str) or look not in PALETTE):
            raise InvalidInputError(f"looks[{name!r}]={shown(look)} is unknown; take one of {sorted(PALETTE)}.")
        styles[name] = look if isinstance(look, MethodStyle) else MethodStyle(PALETTE[look], "o", "-")
    return styles
