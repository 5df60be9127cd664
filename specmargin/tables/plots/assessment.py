"""Pictures of a comparison: errors with intervals, confusion of left-out labels, learning curve; and SVG for a page.

The page is light or dark, as its reader's screen: `inline_svg` writes the colours of text, axes and background as
those of the page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, PercentFormatter

from specmargin.checks import visible
from specmargin.plots.theme import PALETTE, style
from specmargin.plots.ticks import literal
from specmargin.typing import FloatArray, IntArray

__all__ = ["draw_confusion", "draw_errors", "draw_learning_curve", "inline_svg"]

_ADAPTED = {
    "#ffffff": "var(--panel)",
    "#000000": "currentColor",
    "#1a1a1a": "currentColor",
    "#404040": "var(--axis)",
    "#e6e6e6": "var(--grid)",
    "#e5e5e5": "var(--grid)",
    "#8c8c8c": "var(--axis)",
    "#bfbfbf": "var(--axis)",
    "#767676": "var(--axis)",
    PALETTE["blue"].lower(): "var(--blue)",
    PALETTE["vermillion"].lower(): "var(--red)",
}
"""What CSS variables stand for."""
_LONG = 16
_COUNTER = count()


def draw_errors(
    ax: Axes,
    names: Sequence[str],
    errors: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    baseline: float,
    of_numbers: bool = False,
) -> None:
    """Draw the error of each method with its interval, and the baseline's as a line.

    Parameters
    ----------
    ax : Axes
    names : sequence of str
        Names, from the top.
    errors : sequence of float
        Shares.
    intervals : sequence of tuple of float
    baseline : float
        Error of the supervised baseline; nan draws no line.
    of_numbers : bool, default False
        Whether the labels are numbers, and the errors fractions of their deviation.
    """
    with style():
        at = np.arange(len(names))[::-1]
        low, high = (np.array([one[k] for one in intervals]) for k in (0, 1))
        ax.hlines(at, low, high, color=PALETTE["grey"], linewidth=1.6, label="95 % interval")
        ax.plot(errors, at, "o", color=PALETTE["blue"], markersize=4.5, label="error", zorder=3)
        if np.isfinite(baseline):
            ax.axvline(baseline, color=PALETTE["vermillion"], linestyle=(0, (4, 1.5)), label="supervised baseline")
        ax.set_yticks(at, [_cut(name, 24) for name in names])
        ax.set(ylim=(-0.6, len(names) - 0.4), xlim=(0.0, None))
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ax.set_xlabel("error / deviation of the labels" if of_numbers else "left-out labels that are wrong")
        ax.grid(axis="x")
        ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, columnspacing=1.0, handlelength=1.6)


def draw_confusion(ax: Axes, counts: IntArray, names: Sequence[str]) -> None:
    """Draw how many left-out labels of each class were decided as which.

    Parameters
    ----------
    ax : Axes
    counts : ndarray of shape (K, K)
        Rows are labels, columns decisions.
    names : sequence of str
    """
    with style():
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        # One colour of growing opacity lies on a light page as on a dark one; numbers stand out from it on both.
        colors = np.zeros((*shares.shape, 4))
        colors[..., :3] = [int(PALETTE["blue"][k : k + 2], 16) / 255 for k in (1, 3, 5)]
        colors[..., 3] = 0.06 + 0.38 * shares
        ax.pcolormesh(np.arange(len(names) + 1), np.arange(len(names) + 1), shares, facecolor="none", alpha=0.0)
        ax.set_aspect("equal")
        for i in range(len(names)):
            for j in range(len(names)):
                ax.add_patch(Rectangle((j, i), 1, 1, facecolor=colors[i, j], edgecolor="white", linewidth=1.0))
                if len(names) <= 15:
                    ax.text(j + 0.5, i + 0.5, str(int(counts[i, j])), ha="center", va="center", color="black")
        shown = [_cut(name, _LONG) for name in names]
        every = np.arange(len(names)) + 0.5
        ax.set_xticks(every, shown, rotation=0 if sum(map(len, shown)) <= 30 else 90)
        ax.set_yticks(every, shown)
        ax.tick_params(length=0)
        ax.set(xlim=(0, len(names)), ylim=(len(names), 0), xlabel="decided", ylabel="label")


def draw_learning_curve(
    ax: Axes, sizes: IntArray, errors: Mapping[str, FloatArray], deviations: Mapping[str, FloatArray]
) -> None:
    """Draw mean errors over the number of labels, with standard errors.

    Parameters
    ----------
    ax : Axes
    sizes : ndarray of shape (k,)
    errors, deviations : mapping of str to ndarray of shape (k,)
    """
    looks = ((PALETTE["blue"], "o", "-"), (PALETTE["vermillion"], "s", (0, (4, 1.5))))
    with style():
        for k, (name, values) in enumerate(errors.items()):
            color, marker, line = looks[k % 2]
            shift = 1.0 + 0.006 * (2 * k - 1)  # bars of equal abscissa would hide each other
            look: dict[str, Any] = {"color": color, "marker": marker, "linestyle": line, "label": name}
            ax.errorbar(sizes * shift, values, np.nan_to_num(deviations[name]), capsize=2.0, **look)
        ax.set(xlabel="labels", ylabel="error at other labels", ylim=(0.0, None))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.grid(axis="y")
        ax.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2)


def inline_svg(figure: Figure, description: str) -> str:
    """Return a figure as an SVG element for a page, in the page's colours.

    Parameters
    ----------
    figure : Figure
    description : str
        Words for readers that do not see it.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(width="column")
    >>> inline_svg(figure, "An empty figure.")[:14]
    '<svg role="img'
    """
    with style():
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "specmargin"})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for color, variable in _ADAPTED.items():
        text = text.replace(color, variable)
    # Several figures of one page must not share the names of their parts.
    at = f"f{next(_COUNTER)}-"
    text = re.sub(r'id="', f'id="{at}', text)
    text = re.sub(r'href="#', f'href="#{at}', text)
    text = re.sub(r"url\(#", f"url(#{at}", text)
    box = re.search(r'viewBox="([^"]*)"', text)
    body = text[text.index(">") + 1 :]
    label = description.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    opening = f'<svg role="img" aria-label="{label}" viewBox="{box[1] if box else "0 0 1 1"}"'
    return visible(f'{opening} xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{body}')


def _cut(name: str, length: int) -> str:
    return literal(name if len(name) <= length else name[: length - 1] + "…")
