"""Decision functions of classifiers in the plane, with the boundary and the labels.

`DecisionDisplay.from_estimator` evaluates a fitted estimator on a grid and draws the points on top;
`DecisionDisplay` itself takes values that were computed elsewhere, as the figure scripts do. `decision_panels` compares
classifiers, parameters or iterations on the same points, on one scale of colours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from specmargin.arrays import vector
from specmargin.checks import checked, count, instance, maybe, number, shown, whole
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.plots.points import LabelDisplay, axis_names, on_grid, points_in_plane
from specmargin.plots.theme import Display, attach_colorbar, decision_colormap, style, subplots
from specmargin.typing import FloatArray

__all__ = ["DecisionDisplay", "decision_grid", "decision_panels"]


class DecisionDisplay(Display):
    """Decision function over the plane, with the zero contour.

    Parameters
    ----------
    xx0, xx1 : array of shape (m0,) and (m1,)
        Grid coordinates, increasing and evenly spaced.
    response : array of shape (m1, m0)
        Decision values f(x); row i belongs to ``xx1[i]``.
    points : LabelDisplay, optional
        Drawn on top.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.
    surface_ : AxesImage
        The filled values, e.g. for a colour bar elsewhere.
    colorbar_ : Colorbar or None
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.plots import subplots
    >>> x = np.linspace(-1, 1, 9)
    >>> figure, axes = subplots(width="column")
    >>> display = DecisionDisplay(x, x, np.add.outer(x, x)).plot(axes[0, 0])
    >>> display.surface_.get_clim()  # centred on zero
    (-2.0, 2.0)
    """

    surface_: AxesImage
    colorbar_: Colorbar | None

    def __init__(
        self,
        xx0: npt.ArrayLike,
        xx1: npt.ArrayLike,
        response: npt.ArrayLike,
        *,
        points: LabelDisplay | None = None,
    ) -> None:
        self.xx0, self.xx1 = (vector(name, x, "coordinates of the grid") for name, x in (("xx0", xx0), ("xx1", xx1)))
        maybe(instance(LabelDisplay, "pass specmargin.plots.LabelDisplay(X, y), or None"))("points", points)
        self.points = points
        self.axis_names = axis_names(None) if points is None else points.axis_names
        self.response = on_grid("response", response, "decisions of a fit that worked", xx0=self.xx0, xx1=self.xx1)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        unlabeled: Any = None,
        resolution: int = 200,
        margin: float = 0.08,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Evaluate a fitted binary classifier on a grid around its points, and draw it.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``decision_function`` of one column.
        X : array of shape (n, 2)
            Points: the grid covers them.
        y : array of shape (n,), optional
            Labels and markers, for the points on top; none are drawn without it.
        unlabeled : scalar, nan or None, optional
            The marker; the estimator's own by default, -1 if it has none.
        resolution : int, default 200
            Grid points along the longer side.
        margin : float, default 0.08
            Room around the points, as a share of their extent.
        ax : Axes, optional
            Axes to draw on.
        **options
            Passed to `plot`.

        Returns
        -------
        DecisionDisplay
        """
        points = None
        if y is not None:
            marker = getattr(estimator, "unlabeled", -1) if unlabeled is None else unlabeled
            points = LabelDisplay(X, y, unlabeled=marker, classes=getattr(estimator, "classes_", None))
        display = cls.from_function(estimator.decision_function, X, points=points, resolution=resolution, margin=margin)
        return display.plot(ax, **options)

    @classmethod
    def from_function(
        cls,
        decision_function: Callable[[FloatArray], npt.ArrayLike],
        X: npt.ArrayLike,
        *,
        points: LabelDisplay | None = None,
        resolution: int = 200,
        margin: float = 0.08,
    ) -> Self:
        """Evaluate a decision function on a grid around points; nothing is drawn yet.

        Parameters
        ----------
        decision_function : callable
            Map from points (m, 2) to their decisions (m,), e.g. an expansion that was computed by hand.
        X : array of shape (n, 2)
            Points: the grid covers them.
        points : LabelDisplay, optional
            Drawn on top.
        resolution : int, default 200
            Grid points along the longer side.
        margin : float, default 0.08
            Room around the points, as a share of their extent.

        Returns
        -------
        DecisionDisplay

        Examples
        --------
        >>> import numpy as np
        >>> display = DecisionDisplay.from_function(lambda nodes: nodes[:, 0], [[0, 0], [2, 1]], resolution=5, margin=0)
        >>> display.response[0].tolist()
        [0.0, 0.5, 1.0, 1.5, 2.0]
        """
        if not callable(decision_function):
            raise InvalidTypeError(
                f"decision_function={shown(decision_function)} cannot be called; pass a function of points (m, 2)."
            )
        xx0, xx1 = decision_grid(X, resolution=resolution, margin=margin)
        nodes: Any = np.column_stack([part.ravel() for part in np.meshgrid(xx0, xx1)])
        if hasattr(X, "columns") and hasattr(getattr(decision_function, "__self__", None), "feature_names_in_"):
            frame: Any = type(X)
            nodes = frame(dict(zip(X.columns, nodes.T, strict=True)))
        response = np.asarray(decision_function(nodes), dtype=np.float64)
        if response.shape != (len(nodes),):
            raise InvalidInputError(
                f"decision_function gives the shape {response.shape} for {len(nodes)} points: only two "
                "classes have one surface. Pass one column to DecisionDisplay(xx0, xx1, response)."
            )
        display = cls(xx0, xx1, response.reshape(len(xx1), len(xx0)), points=points)
        display.axis_names = axis_names(X)
        return display

    def plot(
        self,
        ax: Axes | None = None,
        *,
        limit: float | None = None,
        margins: bool = False,
        colorbar: bool = True,
        title: str | None = None,
        **points_options: Any,
    ) -> Self:
        """Draw the surface, the boundary and the points.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        limit : float, optional
            The colours span -limit to limit; the largest modulus on the grid by default. Give one for panels
            that share a scale; larger values take the end colour, and the colour bar shows it by arrows.
        margins : bool, default False
            Also draw the contours f(x) = -1 and 1, dashed.
        colorbar : bool, default True
            Whether to draw a colour bar.
        title : str, optional
            Title of the axes.
        **points_options
            Passed to `LabelDisplay.plot`.

        Returns
        -------
        DecisionDisplay
            Itself, with its attributes set.
        """
        largest = float(np.abs(self.response).max())
        limit = largest or 1.0 if limit is None else limit
        number(above=0)("limit", limit)
        with self._drawing(ax, (3.4, 2.8), title, 16 if points_options.get("legend") else 4) as ax:
            half = [0.5 * np.diff(x).mean() if len(x) > 1 else 0.5 for x in (self.xx0, self.xx1)]
            xlim, ylim = ((x[0] - h, x[-1] + h) for x, h in zip((self.xx0, self.xx1), half, strict=True))
            look: dict[str, Any] = {"cmap": decision_colormap(), "vmin": -limit, "vmax": limit, "zorder": 0}
            place: dict[str, Any] = {"origin": "lower", "extent": (*xlim, *ylim)}
            self.surface_ = ax.imshow(self.response, interpolation="bilinear", **place, **look)
            for level in (0.0, -1.0, 1.0) if margins else (0.0,):
                # matplotlib warns about a level that the values never cross.
                if self.response.min() < level < self.response.max():
                    look = {"linewidths": 0.7, "linestyles": "--"} if level else {"linewidths": 1.1}
                    ax.contour(self.xx0, self.xx1, self.response, [level], colors="black", zorder=2, **look)
            if self.points is not None:
                self.points.plot(ax, **points_options)
            ax.set(aspect="equal", xlim=xlim, ylim=ylim, **self.axis_names)
            ax.spines[:].set_visible(True)
            self.colorbar_ = self.add_colorbar(self.surface_, ax, limit < largest) if colorbar else None
        return self

    @staticmethod
    def add_colorbar(surface: AxesImage, ax: Axes, clipped: bool = False) -> Colorbar:
        """Add a colour bar next to `ax`, as high as it is.

        Parameters
        ----------
        surface : AxesImage
            ``surface_`` of a display; panels that share a `limit` need one bar.
        ax : Axes
            The panel at whose right the bar goes.
        clipped : bool, default False
            Whether values lie beyond the scale: the bar then ends in arrows.

        Returns
        -------
        Colorbar
        """
        with style():
            return attach_colorbar(surface, ax, "decision function $f(x)$", clipped)


@checked(resolution=whole, margin=number(least=0))
def decision_grid(X: npt.ArrayLike, *, resolution: int = 200, margin: float = 0.08) -> tuple[FloatArray, FloatArray]:
    """Coordinates of a grid of square cells around points of the plane.

    Parameters
    ----------
    X : array of shape (n, 2)
        Points.
    resolution : int, default 200
        Grid points along the longer side.
    margin : float, default 0.08
        Room around the points, as a share of the longer side.

    Returns
    -------
    xx0, xx1 : ndarray
        Coordinates along the two axes.

    Examples
    --------
    >>> xx0, xx1 = decision_grid([[0, 0], [2, 1]], resolution=5, margin=0.0)
    >>> xx0.tolist(), xx1.tolist()
    ([0.0, 0.5, 1.0, 1.5, 2.0], [0.0, 0.5, 1.0])
    """
    X = points_in_plane(X)
    if resolution < 2:
        raise InvalidInputError(f"resolution={resolution}; take 2 or more grid points along the longer side.")
    low, high = X.min(axis=0), X.max(axis=0)
    if (low == high).all():  # equal points: show one unit around them
        low, high = low - 0.5, high + 0.5
    side = float((high - low).max())
    low, high = low - margin * side, high + margin * side
    step = (1 + 2 * margin) * side / (resolution - 1)
    counts = np.maximum(2, np.ceil((high - low) / step - 1e-9).astype(int) + 1)
    xx0, xx1 = (low[k] + step * np.arange(counts[k]) for k in range(2))
    return xx0, xx1


@checked(
    displays=instance(Mapping, "pass titles with DecisionDisplay objects"),
    n_rows=count(1),
    limit=maybe(number(above=0)),
    aspect=number(above=0),
)
def decision_panels(
    displays: Mapping[str, DecisionDisplay],
    *,
    n_rows: int = 1,
    limit: float | None = None,
    aspect: float = 0.66,
    **options: Any,
) -> Figure:
    """Draw decision functions side by side, on one scale of colours with a bar at the end of each full row.

    Parameters
    ----------
    displays : mapping of str to DecisionDisplay
        Displays by the title of the panel; `DecisionDisplay.from_function` makes one. A display that has been drawn is
        drawn again here.
    n_rows : int, default 1
        Rows of panels, filled from the left; places beyond the last panel stay empty.
    limit : float, optional
        The colours span -limit to limit; the largest modulus of all panels by default.
    aspect : float, default 0.66
        Height over width of a panel.
    **options
        Passed to `DecisionDisplay.plot`.

    Returns
    -------
    Figure
        Its first axes are those of the panels, in the order of `displays`.

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.plots import DecisionDisplay
    >>> x = np.linspace(-1, 1, 9)
    >>> flat, steep = (DecisionDisplay(x, x, slope * np.add.outer(x, x)) for slope in (0.1, 1.0))
    >>> figure = decision_panels({"flat": flat, "steep": steep})
    >>> [ax.get_title() for ax in figure.axes[:2]], flat.surface_.get_clim()
    (['flat', 'steep'], (-2.0, 2.0))
    """
    for title, display in displays.items():
        instance(DecisionDisplay, "pass a specmargin.plots.DecisionDisplay")(f"displays[{title!r}]", display)
    if not displays:
        raise InvalidInputError("displays={} names none; give at least one DecisionDisplay by its title.")
    largest = max(float(np.abs(display.response).max()) for display in displays.values())
    scale = (largest or 1.0) if limit is None else limit
    figure, axes = subplots(n_rows, -(-len(displays) // n_rows), aspect=aspect, sharex=True, sharey=True)
    for ax, (title, display) in zip(axes.flat, displays.items(), strict=False):
        display.plot(ax, limit=scale, colorbar=False, title=title, **options)
        ax.label_outer()
    for ax in axes.flat[len(displays) :]:
        ax.set_axis_off()
    for ax in axes[:, -1]:
        if ax.images:  # elsewhere a bar would take the room of a panel
            DecisionDisplay.add_colorbar(ax.images[0], ax, clipped=scale < largest)
    return figure
