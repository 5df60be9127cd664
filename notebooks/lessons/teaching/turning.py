"""Pictures that are turned by a slider, or stand next to each other where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError

__all__ = ["slider"]


def slider(draw: Callable[[Any, Any], Any], values: Sequence[Any], *, name: str) -> Any:
    """Draw a picture for each of several values: by a slider with ipywidgets, as a strip of pictures without it.

    Parameters
    ----------
    draw : callable
        Function of axes and a value that draws on the axes, with a title that says the value.
    values : sequence
        Values, in the order of the slider or from the left.
    name : str
        Name of the quantity, next to the slider.

    Returns
    -------
    ipywidgets.interactive or Figure
        What the last line of a cell shows.

    Raises
    ------
    InvalidInputError
        If there are no values (`InvalidTypeError` where `draw` cannot be called).

    Examples
    --------
    >>> shown = slider(lambda ax, power: ax.plot([1, 2], [1, 2**power]), [1, 2, 3], name="power")
    """
    from specmargin.plots import subplots

    if not callable(draw):
        raise InvalidTypeError(f"draw={shown(draw)} cannot be called; pass a function of axes and a value.")
    if not len(values):
        raise InvalidInputError(f"values={shown(values)} holds none; pass one or more.")

    def figure_of(*some: Any) -> Any:
        figure, axes = subplots(1, len(some), width="page" if len(some) > 1 else 4.6, aspect=1.0 if some[1:] else 0.75)
        for ax, value in zip(axes[0], some, strict=True):
            draw(ax, value)
            ax.label_outer()
        return figure

    try:
        from ipywidgets import SelectionSlider, interactive
    except ImportError:
        return figure_of(*values)
    from IPython.display import display

    turned = SelectionSlider(options=[(str(value), value) for value in values], description=name)
    return interactive(lambda value: display(figure_of(value)), value=turned)
