"""Learned spectra: the weight that each method gives to each eigenvector of the Laplacian.

`SpectrumDisplay` draws the figure of the spectrum-learning paper. Ordered spectra (KTA, STORM,
STOAM) and free ones (MKL) are drawn differently: a decaying step curve for the former, a stem per weight
for the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from specmargin.arrays import vector
from specmargin.checks import choice, number
from specmargin.exceptions import InvalidInputError
from specmargin.plots.theme import Display, MethodStyle, legend_above, method_styles, style
from specmargin.plots.ticks import ticks_at
from specmargin.plots.weights import require_fitted, require_names
from specmargin.typing import FloatArray

__all__ = ["SpectrumDisplay"]

# A rise of less than this share of the largest weight is a solver's rounding, not a broken order.
_ORDER_TOLERANCE = 1e-6


class SpectrumDisplay(Display):
    """Weights over the eigenvectors, one curve per method.

    Parameters
    ----------
    spectra : mapping of str to array of shape (q,)
        Learned weights delta by the method's name, two or more and not negative; they may differ in length. The first
        is not shown: its eigenvector is constant, as the intercept is, so that its weight has no meaning.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.plots import subplots
    >>> ordered = 0.5 ** np.arange(20)
    >>> display = SpectrumDisplay({"KTA": ordered, "MKL": np.roll(ordered, 7)})
    >>> figure, axes = subplots(width="column")
    >>> display.plot(axes[0, 0]).ax_.get_yscale()
    'log'
    """

    def __init__(self, spectra: Mapping[str, npt.ArrayLike]) -> None:
        require_names("spectra", spectra, '{"STORM": storm.delta_}')
        self.spectra = {name: _weights(name, delta) for name, delta in spectra.items()}

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the spectra that fitted estimators have learned.

        Parameters
        ----------
        estimators : mapping of str to estimator
            Estimators with ``delta_`` (q,), of any q.
        ax : Axes, optional
            See `plot`.
        **options
            Passed to `plot`.

        Returns
        -------
        SpectrumDisplay
        """
        require_names("estimators", estimators, '{"STORM": storm}, of fitted ones')
        advice = "a method that learns a spectrum (KTA, STORM, STOAM, MKL)"
        require_fitted(estimators.items(), ("delta_",), advice)
        return cls({name: one.delta_ for name, one in estimators.items()}).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        scale: Literal["linear", "log"] = "log",
        floor: float = 1e-6,
        legend: bool = True,
        title: str | None = None,
    ) -> Self:
        """Draw the curves: weights as shares of the sum of those shown, so that spectra of different trace compare.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        scale : {"log", "linear"}
            Scale of the weights.
        floor : float, default 1e-6
            Log scale: weights below it are drawn at it, as open markers, and its tick says so.
        legend : bool, default True
            Whether to name the methods.
        title : str, optional
            Title of the axes.

        Returns
        -------
        SpectrumDisplay
            Itself, with `figure_` and `ax_`.
        """
        choice("linear", "log")("scale", scale)
        number(above=0, most=1)("floor", floor)
        rows, shown = -(-len(self.spectra) // 4) if legend else 0, floor if scale == "log" else None
        with self._drawing(ax, (3.4, 2.5), title, 4 + 12 * rows) as ax:
            styles = method_styles(self.spectra)
            for order, (name, delta) in enumerate(self.spectra.items()):
                weights = delta[1:] / (delta[1:].sum() or 1.0)
                position = np.arange(2.0, len(delta) + 1)
                draw = _stems if _order_violations(weights) else _steps
                draw(ax, position, weights, styles[name], shown, order)
            _label_axes(ax, scale, floor, max(map(len, self.spectra.values())))
            if legend:
                legend_above(ax, min(4, len(self.spectra)), handles=self.legend_handles(), columnspacing=1.2)
        return self

    def legend_handles(self) -> list[Line2D]:
        """Entries for a legend that several panels share: line and marker, or the marker alone of stems."""
        styles: dict[str, Any] = method_styles(self.spectra)
        for name, delta in self.spectra.items():
            if _order_violations(delta[1:]):
                styles[name] = styles[name]._replace(linestyle="none")
        with style():
            return [
                Line2D([], [], color=look.color, marker=look.marker, linestyle=look.linestyle, label=name)
                for name, look in styles.items()
            ]


def _weights(name: str, delta: npt.ArrayLike) -> FloatArray:
    """Return the weights as a vector, or say what is wrong with them."""
    what = f"spectra[{name!r}]"
    weights = vector(what, delta, "weights of the eigenvectors, (q,), e.g. delta_[k] of the class k")
    # Interior-point answers dip below zero by rounding; more than that is not a spectrum.
    if weights.min(initial=0.0) < -1e-8 * weights.max(initial=0.0) - 1e-300:
        at = int(weights.argmin())
        raise InvalidInputError(f"{what} is negative at index {at} ({weights[at]:.3g}); pass weights >= 0.")
    if len(weights) < 2:
        raise InvalidInputError(f"{what} has {len(weights)} weights; give two or more, the first is not shown.")
    return np.maximum(weights, 0.0)


def _order_violations(weights: FloatArray) -> int:
    """Return the number of weights that are larger than the one before."""
    return int((np.diff(weights) > _ORDER_TOLERANCE * weights.max(initial=0.0)).sum())


def _steps(ax: Axes, x: FloatArray, weights: FloatArray, look: MethodStyle, floor: float | None, order: int) -> None:
    """Draw an ordered spectrum: a step curve that ends where it reaches the floor."""
    stop = len(weights)
    if floor is not None:
        below = np.flatnonzero(weights <= floor)
        # Ordered: from the first weight under the floor on all are.
        stop = int(below[0]) + 1 if below.size else stop
        weights = np.maximum(weights, floor)
    shape: dict[str, Any] = {"color": look.color, "zorder": 3.0 + 0.1 * order}
    ax.plot(x[:stop], weights[:stop], drawstyle="steps-mid", linestyle=look.linestyle, **shape)
    # Few markers, at other places for every method: they name the curve, they are not the data.
    every = max(1, len(weights) // 7)
    marked = np.unique(np.r_[0, np.arange((order * every) // 3 % every, stop, every)])
    marked = marked[marked < stop]
    closed = marked if floor is None else marked[weights[marked] > floor]
    ax.plot(x[closed], weights[closed], look.marker, **shape)
    if floor is not None and stop and weights[stop - 1] <= floor:
        shape |= {"zorder": shape["zorder"] + 1, "markerfacecolor": "white", "markeredgewidth": 0.9}
        ax.plot(x[stop - 1 : stop], [floor], look.marker, clip_on=False, **shape)


def _stems(ax: Axes, x: FloatArray, weights: FloatArray, look: MethodStyle, floor: float | None, order: int) -> None:
    """Draw a spectrum without order: one stem per weight that counts, under the curves."""
    base = 0.0 if floor is None else floor
    # On a linear axis a weight under 1/1000 of the largest cannot be seen: its marker is left out.
    seen = weights > (base if floor is not None else 1e-3 * weights.max())
    shape: dict[str, Any] = {"color": look.color, "zorder": 2.0 + 0.1 * order}
    ax.vlines(x[seen], base, weights[seen], linewidth=0.8, alpha=0.75, **shape)
    ax.plot(x[seen], weights[seen], look.marker, markersize=3.0, **shape)
    if floor is not None:
        ax.plot(x[~seen], np.full((~seen).sum(), floor), "|", alpha=0.4, markersize=2.5, **shape)


def _label_axes(ax: Axes, scale: str, floor: float, last: int) -> None:
    """Label the axes, and mark where the log scale ends."""
    if scale == "log":
        # Shares always end at one, so that panels can be compared and share their axis.
        ax.set(yscale="log", ylim=(floor / 1.6, 1.6))
        decades = np.arange(np.ceil(np.log10(floor) + 1e-9), 1)
        step = max(1, int(np.ceil(len(decades) / 5)))
        # The floor's label is wide and would overlap that of a decade near it.
        ticks = [floor, *(tick for tick in 10.0 ** decades[::-1][::step][::-1] if tick > 3 * floor)]
        ticks_at(ax.yaxis, ticks, [_tick_label(tick, floor) for tick in ticks])
        ax.axhline(floor, color="0.6", linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
    else:
        ax.set_ylim(bottom=0)
    ax.set(xlabel="eigenvector index $i$ (1, constant, left out)", xlim=(1.5 - 0.02 * last, 1.02 * last + 0.5))
    ax.set(ylabel=r"weight $\delta_i\,/\,\sum_{j\geq 2}\delta_j$")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.grid(axis="y")


def _tick_label(value: float, floor: float) -> str:
    exponent = np.log10(value)
    is_decade = abs(exponent - round(exponent)) < 1e-9
    text = rf"10^{{{round(exponent)}}}" if is_decade else f"{value:.1g}"
    return rf"$\leq {text}$" if np.isclose(value, floor, rtol=1e-6) else f"${text}$"
