"""The regularisation path of a learned spectrum: the weights of the eigenvectors as the loss gets more weight.

`SpectrumPathDisplay.from_results` reads the answers for many C, and `plot` draws the weights as a map, C on the
horizontal axis, the index of the eigenvector on the vertical one, the weight as the colour. Under an order the colours
only fade upwards; in multiple kernel learning rows appear and vanish. Strips above the map summarise it by a number
per C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.ticker import MaxNLocator, NullLocator

from specmargin.arrays import finite_numbers, numbers_array, vector
from specmargin.checks import maybe
from specmargin.exceptions import InvalidInputError
from specmargin.plots.theme import PALETTE, Display, attach_colorbar
from specmargin.plots.ticks import ticks_at
from specmargin.typing import FloatArray

__all__ = ["SpectrumPathDisplay"]

_STRIP, _PITCH = 0.13, 0.18  # height of a strip, and from one to the next, as shares of the whole height
_FLOOR = 1e-4  # shares below it stay white


class SpectrumPathDisplay(Display):
    """Weights over eigenvectors and C.

    Parameters
    ----------
    Cs : array of shape (k,)
        Weights of the loss per unit mean kernel diagonal, positive and increasing, at least two.
    deltas : array of shape (k, q)
        A spectrum per C, not negative.
    margins : array of shape (k,), optional
        Margin 1 / |w| per C, in units of the root of the mean kernel diagonal; inf where w = 0.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`; `ax_` holds the map and is not the axes given.
    strips_ : tuple of Axes
        Axes above the map, from below: the effective number of eigenvectors, then the margin if it is known.
    mesh_ : QuadMesh
        The map.
    colorbar_ : Colorbar or None

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.plots import subplots
    >>> Cs = np.logspace(-1, 2, 7)
    >>> deltas = np.exp(-np.arange(20.0) / Cs[:, None])
    >>> figure, axes = subplots(width="column")
    >>> display = SpectrumPathDisplay(Cs, deltas).plot(axes[0, 0])
    >>> display.ax_.get_xscale(), len(display.strips_), bool(np.all(np.diff(display.effective()) > 0))
    ('log', 1, True)
    """

    strips_: tuple[Axes, ...]
    mesh_: QuadMesh
    colorbar_: Colorbar | None

    def __init__(self, Cs: npt.ArrayLike, deltas: npt.ArrayLike, *, margins: npt.ArrayLike | None = None) -> None:
        self.Cs = vector("Cs", Cs, "two or more finite positive numbers, increasing")
        numbers_array("a spectrum for each C, (n, q)", ndim=2, finite=False)("deltas", deltas)
        self.deltas = np.asarray(deltas, dtype=np.float64)
        margins = maybe(numbers_array("a margin for each C", ndim=1, finite=False))("margins", margins)
        self.margins = None if margins is None else np.asarray(margins, dtype=np.float64)
        if len(self.Cs) < 2 or not (self.Cs[0] > 0 and (np.diff(self.Cs) > 0).all()):
            raise InvalidInputError(f"Cs must be two or more positive numbers, increasing; got {self.Cs!r}.")
        if self.deltas.ndim != 2 or self.deltas.shape[0] != len(self.Cs) or self.deltas.shape[1] < 2:
            raise InvalidInputError(
                f"deltas has the shape {self.deltas.shape}; give one spectrum of two weights or more for each of the "
                f"{len(self.Cs)} C, ({len(self.Cs)}, q)."
            )
        finite_numbers("deltas", self.deltas, "finite weights >= 0", least=0.0)
        if self.margins is not None and self.margins.shape != self.Cs.shape:
            raise InvalidInputError(
                f"margins has the shape {self.margins.shape}, but there are {len(self.Cs)} values of C; pass one each."
            )

    @classmethod
    def from_results(cls, Cs: npt.ArrayLike, results: Sequence[Any], *, tol: float = 1e-6) -> Self:
        """Read spectra and margins from the results of a solver.

        Parameters
        ----------
        Cs : array of shape (k,)
            Values of C in any order.
        results : sequence of SolveResult
            Results for `specmargin.objectives.SpectrumMargin`, one per C.
        tol : float, default 1e-6
            Relative gap that every certificate has to prove: a map does not show which of its columns is wrong.

        Returns
        -------
        SpectrumPathDisplay
            Display, not drawn yet.

        Raises
        ------
        ValueError
            If an answer is not certified, or the numbers of C and of answers differ.
        """
        weights = np.asarray(Cs, dtype=np.float64)
        if weights.shape != (len(results),):
            raise InvalidInputError(
                f"{len(results)} results for Cs of the shape {weights.shape}; give one result per C."
            )
        for C, result in zip(weights, results, strict=True):
            if not result.certificate.is_optimal(tol):
                raise InvalidInputError(
                    f"the answer for C={C:.3g} is not certified to {tol:.0e} ({result}): solve it again, or pass a "
                    "larger tol."
                )
        order = np.argsort(weights)
        deltas = np.array([results[k].variables["delta"] for k in order])
        v = np.array([results[k].variables["v"] for k in order])
        with np.errstate(divide="ignore", invalid="ignore"):
            norms = np.sqrt(np.where(v == 0, 0.0, v**2 / deltas).sum(axis=1))
            return cls(weights[order], deltas, margins=1.0 / norms)

    def shares(self) -> FloatArray:
        """Weights from the second eigenvector on, divided by their sum: (k, q - 1). The first is constant."""
        shown = self.deltas[:, 1:]
        total = shown.sum(axis=1, keepdims=True)
        return np.divide(shown, total, out=np.zeros_like(shown), where=total > 0)

    def effective(self) -> FloatArray:
        """Effective number of eigenvectors, 1 / sum share^2, per C: k equal weights count as k; nan without weight."""
        squares = (self.shares() ** 2).sum(axis=1)
        return np.divide(1.0, squares, out=np.full_like(squares, np.nan), where=squares > 0)

    def plot(self, ax: Axes | None = None, *, colorbar: bool = True, title: str | None = None) -> Self:
        """Draw the map and the strips above it.

        Parameters
        ----------
        ax : Axes, optional
            Axes whose place is divided, and which are hidden; of a new pyplot figure by default.
        colorbar : bool, default True
            Whether to draw a colour bar.
        title : str, optional
            Title above everything.

        Returns
        -------
        SpectrumPathDisplay
            Itself, with its attributes set.
        """
        count = 1 if self.margins is None else 2
        borders, q = _cell_borders(np.log10(self.Cs)), self.deltas.shape[1]
        with self._drawing(ax, (3.8, 3.8)) as whole:
            # Axes in axes: the layout ignores what lies outside of all axes.
            whole.set_axis_off()
            heights = [1.0 - _STRIP - (count - 1 - k) * _PITCH for k in range(count)]
            self.strips_ = tuple(whole.inset_axes((0.0, height, 1.0, _STRIP)) for height in heights)
            ax = whole.inset_axes((0.0, 0.0, 1.0, 1.0 - count * _PITCH))
            look: dict[str, Any] = {"cmap": _weight_colormap(), "norm": LogNorm(_FLOOR, 1.0), "rasterized": True}
            shown = np.ma.masked_less(self.shares().T, _FLOOR)
            self.mesh_ = ax.pcolormesh(borders, np.arange(2, q + 2) - 0.5, shown, **look)
            ax.set(xscale="log", xlim=borders[[0, -1]], ylim=(1.5, q + 0.5))
            ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
            ax.set(xlabel=r"$C$, per unit mean kernel diagonal", ylabel="eigenvector index $i$")
            ax.spines[:].set_visible(True)
            strip = self.strips_[0]
            self._draw_strip(strip, "effective\nnumber", self.effective(), PALETTE["blue"])
            strip.set_ylim(bottom=0)
            strip.yaxis.set_major_locator(MaxNLocator(2, integer=True))
            if self.margins is not None:
                margins, strip = np.where(np.isfinite(self.margins), self.margins, np.nan), self.strips_[1]
                self._draw_strip(strip, "margin\n" + r"$1/\|w\|$", margins, PALETTE["vermillion"])
                strip.set_yscale("log")
                ticks_at(strip.yaxis, _few_ticks(*strip.get_ylim()))
            if title is not None:
                strip.set_title(title)
            self.colorbar_ = None
            if colorbar:
                self.colorbar_ = attach_colorbar(self.mesh_, ax, r"weight $\delta_i\,/\,\sum_{j\geq 2}\delta_j$")
                self.colorbar_.ax.yaxis.set_minor_locator(NullLocator())
        self.ax_ = ax
        return self

    def _draw_strip(self, strip: Axes, label: str, values: FloatArray, color: str) -> None:
        strip.plot(self.Cs, values, color=color)
        strip.set(xscale="log", xlim=_cell_borders(np.log10(self.Cs))[[0, -1]])
        strip.xaxis.set_minor_locator(NullLocator())
        strip.tick_params(axis="x", labelbottom=False)
        strip.set_ylabel(label, rotation=0, ha="right", va="center")
        strip.grid(axis="both")


def _cell_borders(centers: FloatArray) -> FloatArray:
    """Return 10 to the power of the borders between points, half a step beyond the ends."""
    middle = (centers[1:] + centers[:-1]) / 2
    return 10.0 ** np.concatenate([[2 * centers[0] - middle[0]], middle, [2 * centers[-1] - middle[-1]]])


def _few_ticks(low: float, high: float) -> list[float]:
    """Return two or three round numbers between the ends of a log axis where it holds as many."""
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
        ticks = [float(tick) for tick in np.multiply.outer(decades, steps).ravel() if low <= tick <= high]
        if len(ticks) >= 2:
            break
    return ticks[:: -(-len(ticks) // 3)] if ticks else []


def _weight_colormap() -> LinearSegmentedColormap:
    """Return one hue from nearly white to dark, so that a grey print is equivalent; white itself is left to zero."""
    stops = ["#EDF4FA", "#BBD8EC", "#6FA8D3", "#2C6FA6", "#17456F", "#08203A"]
    return LinearSegmentedColormap.from_list("specmargin_weight", stops)
