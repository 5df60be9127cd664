"""Ticks that are understood at once: plain numbers on logarithmic axes, whole numbers where things are counted."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axis import Axis
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FormatStrFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
)

__all__ = ["plain_ticks", "ticks_at", "whole_ticks", "literal"]


def plain_ticks(axis: Axis) -> None:
    """Write plain numbers on a logarithmic axis: few where it spans decades, several where it spans less than two.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(1, 1, width="column")
    >>> _ = axes[0, 0].set(xscale="log", xlim=(0.5, 200.0))
    >>> plain_ticks(axes[0, 0].xaxis)
    >>> shown = [label.get_text() for label in axes[0, 0].get_xticklabels()]
    >>> [text in shown for text in ("1", "3", "10", "30", "100")]
    [True, True, True, True, True]
    """
    low, high = sorted(axis.get_view_interval())  # an axis may run from right to left
    within = (1.0,) if high > 1e3 * low else (1.0, 3.0) if high > 30 * low else (1.0, 2.0, 3.0, 5.0, 7.0)
    axis.set_major_locator(LogLocator(10.0, subs=within, numticks=20))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())


def whole_ticks(axis: Axis, most: int = 6) -> None:
    """Put at most a number of ticks, all at whole numbers, on a linear axis that counts.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(1, 1, width="column")
    >>> _ = axes[0, 0].set(xlim=(0.5, 5.5))
    >>> whole_ticks(axes[0, 0].xaxis)
    >>> axes[0, 0].get_xticks().tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    """
    axis.set_major_locator(MaxNLocator(most, integer=True, min_n_ticks=1))
    axis.set_minor_locator(NullLocator())


def ticks_at(axis: Axis, places: Sequence[float], names: Sequence[str] | None = None) -> None:
    """Put a tick at each place and nowhere else, with plain numbers or with names of their own.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(1, 1, width="column")
    >>> ticks_at(axes[0, 0].xaxis, [1, 10], ["one", "ten"])
    >>> [label.get_text() for label in axes[0, 0].get_xticklabels()]
    ['one', 'ten']
    """
    axis.set_major_locator(FixedLocator([float(place) for place in places]))
    axis.set_major_formatter(FixedFormatter([f"{place:g}" for place in places] if names is None else list(names)))
    axis.set_minor_locator(NullLocator())


def literal(name: object) -> str:
    r"""Return a name as matplotlib draws it letter by letter: a pair of dollars would be mathematics.

    Examples
    --------
    >>> print(literal("$1 to $2"))
    \$1 to \$2
    """
    return str(name).replace("$", r"\$")
