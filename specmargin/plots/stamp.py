"""A note under a figure: what a saved picture must say of itself, for it is sent about without the page it stood on."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.figure import Figure

from specmargin.plots.theme import PALETTE, style

__all__ = ["QUICK_NOTE", "add_note"]

QUICK_NOTE = "QUICK SIZE, a look only: fewer samples, settings and draws than the figure is meant for."
"""What stands under every picture of the size "quick"."""

_POINTS = 6.5
_WIDE = 0.62  # a letter's width over its size, on the average


def add_note(figure: Figure, note: str) -> None:
    """Write a note below all that a figure holds.

    Parameters
    ----------
    figure : Figure
        It keeps its size and its layout; when it is saved there is room for the note.
    note : str
        Broken into lines where it is wider than the figure.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, _ = subplots(1, 1, width="column")
    >>> add_note(figure, "A look only.")
    >>> figure.texts[-1].get_text()
    'A look only.'
    """
    letters = int(72 * figure.get_figwidth() / (_WIDE * _POINTS))
    with style():
        figure.draw_without_rendering()  # the layout is made when a figure is drawn
        lowest = min(0.0, figure.get_tightbbox().y0)  # in inches
        # Below the figure's edge, where the tight box of `save` takes it in.
        look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": _POINTS, "color": PALETTE["vermillion"]}
        figure.text(0.5, (lowest - 0.06) / figure.get_figheight(), textwrap.fill(note, letters), **look)
