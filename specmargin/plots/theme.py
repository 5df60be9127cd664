"""One look for all figures: colours, markers, sizes, and how a figure is saved.

Every method keeps its colour, marker and line style in all figures, so that a reader learns them once. The
colours are those of Okabe and Ito (distinct under the common forms of colour blindness); markers and lines
differ too, so that a grey print still reads. `style` sets matplotlib's parameters inside a ``with`` block and
nowhere else; `subplots` makes a figure of a paper column's width without pyplot; `save` writes it so that the
same figure gives the same bytes.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from cvxproof.files import replace_file
from specmargin.checks import checked, choice, count, instance, number, path, texts
from specmargin.typing import AnyArray

__all__ = [
    "CLASS_COLORS",
    "CLASS_MARKERS",
    "METHODS",
    "PALETTE",
    "WIDTHS",
    "LineStyle",
    "MethodStyle",
    "decision_colormap",
    "method_styles",
    "save",
    "style",
    "subplots",
]

PALETTE: dict[str, str] = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#767676",
}
"""Okabe and Ito's eight colours, and a grey for the background."""

CLASS_COLORS: tuple[str, str] = (PALETTE["blue"], PALETTE["vermillion"])
"""Of the negative and the positive class; the ends of `decision_colormap` are tones of them."""
CLASS_MARKERS: tuple[str, str] = ("o", "s")

WIDTHS: dict[str, float] = {"column": 3.4, "page": 7.0}
"""Inches: one column and the full width of a two-column paper."""

LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]


class MethodStyle(NamedTuple):
    """How one method is drawn, in every figure."""

    color: str
    marker: str
    linestyle: LineStyle


_DOTTED: LineStyle = (0.0, (1.0, 1.2))
_DASHED: LineStyle = (0.0, (4.0, 1.4))
_LONG: LineStyle = (0.0, (7.0, 1.6))
_DASHDOT: LineStyle = (0.0, (4.5, 1.3, 1.0, 1.3))
_DASHDOTDOT: LineStyle = (0.0, (4.5, 1.2, 1.0, 1.2, 1.0, 1.2))

METHODS: dict[str, MethodStyle] = {
    # The spectrum paper.
    "STORM": MethodStyle(PALETTE["vermillion"], "o", "-"),
    "STOAM": MethodStyle(PALETTE["orange"], "s", _DASHED),
    "KTA": MethodStyle(PALETTE["blue"], "^", _DASHDOT),
    "KTA-S": MethodStyle(PALETTE["blue"], "v", _DASHDOT),
    "KTA-R": MethodStyle(PALETTE["blue"], "<", _LONG),
    "MKL": MethodStyle(PALETTE["green"], "D", _DOTTED),
    "MKL-S": MethodStyle(PALETTE["green"], "d", _DASHDOTDOT),
    "MKL-R": MethodStyle(PALETTE["green"], "P", _DOTTED),
    "SGT": MethodStyle(PALETTE["sky"], "X", _LONG),
    "Xu": MethodStyle(PALETTE["black"], "*", _DASHDOTDOT),
    # Manifold regularization.
    "SVM": MethodStyle(PALETTE["grey"], "h", _LONG),
    "RMM": MethodStyle(PALETTE["grey"], "p", _DASHDOT),
    "RLS": MethodStyle(PALETTE["grey"], "o", _DASHED),
    "LapSVM": MethodStyle(PALETTE["purple"], ">", "-"),
    "LapRLS": MethodStyle(PALETTE["black"], "8", _DASHED),
    # Semi-supervised SVMs.
    "continuation": MethodStyle(PALETTE["vermillion"], "v", _LONG),
    "gradient": MethodStyle(PALETTE["orange"], "<", _DASHDOT),
    "quasi_newton": MethodStyle(PALETTE["blue"], "s", "-"),
    "multi_switch": MethodStyle(PALETTE["green"], "D", _DASHED),
    "annealing": MethodStyle(PALETTE["purple"], "d", _DOTTED),
    "cccp": MethodStyle(PALETTE["sky"], "^", _DASHDOTDOT),
    "label_switching": MethodStyle(PALETTE["black"], "X", _DASHDOT),
}
"""Fixed for all figures; `method_styles` chooses styles for other names."""

_SPARE = (
    MethodStyle(PALETTE["black"], "o", "-"),
    MethodStyle(PALETTE["sky"], "s", _DASHED),
    MethodStyle(PALETTE["purple"], "^", _DASHDOT),
    MethodStyle(PALETTE["orange"], "D", _DOTTED),
    MethodStyle(PALETTE["green"], "v", "-"),
    MethodStyle(PALETTE["blue"], "P", _LONG),
    MethodStyle(PALETTE["vermillion"], "X", _DASHDOTDOT),
    MethodStyle(PALETTE["grey"], "d", "-"),
)

_PARAMETERS = mpl.rc_params_from_file(Path(__file__).with_name("specmargin.mplstyle"), use_default_template=False)


def style() -> AbstractContextManager[None]:
    """Use the package's look inside the ``with`` block; the caller's parameters are back after it.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> before = mpl.rcParams["font.size"]
    >>> with style():
    ...     inside = mpl.rcParams["font.size"]
    >>> inside, mpl.rcParams["font.size"] == before
    (7.5, True)
    """
    return mpl.rc_context(_PARAMETERS)


# Metadata that a backend would otherwise fill with the time or its version.
_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": "specmargin", "Producer": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "specmargin"},
}


@checked(names=texts("names of methods"))
def method_styles(names: Iterable[str]) -> dict[str, MethodStyle]:
    """Colour, marker and line of each method.

    Parameters
    ----------
    names : iterable of str
        Methods of one figure. A name of `METHODS` has its fixed style; the longest such name that begins it
        and is not taken counts too, so that ``"STORM (C=10)"`` is drawn as STORM. Others share out spare
        styles in the order given.

    Returns
    -------
    dict
        Styles in the order of `names`; no two of up to eight unknown names are drawn alike.

    Examples
    --------
    >>> styles = method_styles(["KTA", "STORM (C=10)", "mine"])
    >>> styles["STORM (C=10)"] == METHODS["STORM"], styles["mine"].color
    (True, '#000000')
    """
    names = list(dict.fromkeys(names))
    taken = set(names) & METHODS.keys()
    styles = {name: METHODS[name] for name in taken}
    for name in (name for name in names if name not in styles):
        begins = [known for known in METHODS if name.startswith(known) and not name[len(known) :][:1].isalnum()]
        if known := max(set(begins) - taken, key=len, default=None):
            taken.add(known)
            styles[name] = METHODS[known]
    free = [spare for spare in _SPARE if spare not in styles.values()]
    for position, name in enumerate(name for name in names if name not in styles):
        styles[name] = free[position % len(free)]
    return {name: styles[name] for name in names}


def decision_colormap() -> LinearSegmentedColormap:
    """Diverging map for decision values: blue for the negative class, white at zero, orange for the positive.

    Blue against orange is told apart by every common form of colour vision; both ends are equally dark, so
    that a grey print shows the distance from the boundary.

    Examples
    --------
    >>> [float(channel) for channel in decision_colormap()(0.5)]
    [1.0, 1.0, 1.0, 1.0]
    """
    stops = ["#2C6FA6", "#6FA8D3", "#BBD8EC", "#FFFFFF", "#F7CBA8", "#DE8A4C", "#AE5216"]
    # An odd number of levels: zero itself is white, not one of two near-whites.
    return LinearSegmentedColormap.from_list("specmargin_decision", stops, N=257)


@checked(n_rows=count(1), n_cols=count(1), aspect=number(above=0))
def subplots(
    n_rows: int = 1,
    n_cols: int = 1,
    *,
    width: Literal["column", "page"] | float = "page",
    aspect: float = 0.75,
    **options: Any,
) -> tuple[Figure, AnyArray]:
    """Make a figure and its axes in the package's style, apart from pyplot.

    Parameters
    ----------
    n_rows, n_cols : int
        Grid of axes.
    width : {"column", "page"} or float
        Width of the figure: a name of `WIDTHS`, or inches.
    aspect : float, default 0.75
        Height over width of one cell of the grid.
    **options
        Passed to ``Figure.subplots``, e.g. ``sharex=True``.

    Returns
    -------
    figure : Figure
        Nothing else refers to it: it needs no closing.
    axes : ndarray of shape (n_rows, n_cols)

    Examples
    --------
    >>> figure, axes = subplots(1, 2, width="column")
    >>> axes.shape, float(figure.get_figwidth())
    ((1, 2), 3.4)
    """
    if isinstance(width, str):
        width = WIDTHS[choice(*WIDTHS)("width", width)]
    number(above=0)("width", width)
    with style():
        figure = Figure(figsize=(width, width / n_cols * aspect * n_rows), layout="constrained")
        axes = figure.subplots(n_rows, n_cols, squeeze=False, **options)
    return figure, axes


@checked(
    figure=instance(Figure, "pass one, e.g. of specmargin.plots.subplots"),
    path=path,
    formats=texts("formats", *_METADATA),
    caption=instance(str, "pass the caption as a text"),
)
def save(
    figure: Figure,
    path: str | os.PathLike[str],
    formats: Sequence[str] = ("pdf", "png", "svg"),
    caption: str = "",
) -> list[Path]:
    """Write a figure in several formats; the same figure gives the same bytes.

    Fonts are embedded, raster parts have 200 dots per inch, and no time stamp is written.

    Parameters
    ----------
    figure : Figure
        What to save.
    path : path
        Path without suffix; missing folders are created.
    formats : sequence of str
        Formats among ``"pdf"``, ``"png"``, ``"svg"``.
    caption : str
        Kept in the file as its properties: the first line as the title, all others as the description.

    Returns
    -------
    list of Path
        The files, in the order of `formats`.

    Raises
    ------
    ValueError
        If a format is not one of the three.

    Examples
    --------
    >>> import tempfile
    >>> figure, _ = subplots(1, 1, width="column")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = save(figure, folder + "/empty", formats=("png", "svg"))
    >>> [path.name for path in paths]
    ['empty.png', 'empty.svg']
    """
    title, _, rest = caption.partition("\n")
    told = {"Title": title, "Subject": " ".join(rest.split()), "Description": " ".join(rest.split())}
    base, drawn = Path(path), {}
    with style():
        for suffix in formats:
            # The style's dpi, not the figure's: a figure made for the screen prints like any other.
            # Portable documents have a subject, the others a description.
            known = told.keys() - {"Description" if suffix == "pdf" else "Subject"}
            metadata = _METADATA[suffix] | {key: told[key] for key in sorted(known) if told[key]}
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=metadata, dpi=mpl.rcParams["savefig.dpi"])
            drawn[base.with_name(f"{base.name}.{suffix}")] = buffer.getvalue()
    for target, content in drawn.items():
        replace_file(target, content)
    return list(drawn)


def figure_of(ax: Axes) -> Figure:
    """Return the figure that holds `ax`, also where it sits in a sub-figure."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def pyplot_axes(size: tuple[float, float], n_cols: int = 1, n_rows: int = 1) -> AnyArray:
    """Make axes in a pyplot figure, which a notebook or a window shows: for displays called without `ax`."""
    import matplotlib.pyplot as plt

    return plt.subplots(n_rows, n_cols, figsize=size, squeeze=False, layout="constrained")[1].ravel()


class Display:
    """What all displays keep of where they have drawn."""

    figure_: Figure
    ax_: Axes

    @contextmanager
    def _drawing(
        self, ax: Axes | None, size: tuple[float, float], title: str | None = None, pad: float = 4.0
    ) -> Iterator[Axes]:
        """Give axes in the package's style, those of a new pyplot figure for None; write the title in the end."""
        with style():
            ax = pyplot_axes(size)[0] if ax is None else ax
            yield ax
            if title is not None:
                ax.set_title(title, pad=pad)
        self.ax_, self.figure_ = ax, figure_of(ax)


def legend_above(ax: Axes, n_cols: int, **options: Any) -> None:
    """Name what is drawn above the axes: inside, a legend would hide some of it."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_cols, **options)


def attach_colorbar(mappable: ScalarMappable, ax: Axes, label: str, clipped: bool = False) -> Colorbar:
    """Put a colour bar at the right of `ax`, as high as the axes are, also where their aspect is fixed."""
    arrows: dict[str, Any] = {"extend": "both" if clipped else "neither", "extendfrac": 0.04}
    bar = figure_of(ax).colorbar(mappable, cax=ax.inset_axes((1.03, 0.0, 0.045, 1.0)), label=label, **arrows)
    bar.outline.set_linewidth(0.5)
    return bar
