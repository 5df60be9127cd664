"""Several decision functions next to each other, on one scale of colours.

`decision_panels` compares classifiers, parameters or iterations on the same points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from specmargin.checks import checked, count, instance, maybe, number
from specmargin.exceptions import InvalidInputError
from specmargin.plots.decision import DecisionDisplay
from specmargin.plots.theme import subplots

__all__ = ["decision_panels"]


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
