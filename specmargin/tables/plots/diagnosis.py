"""Four panels of a diagnosis: graph and labels in the plane, eigenvalues, hubs, and errors against chance.

`DiagnosisDisplay` draws what `specmargin.diagnose` returns; ``Diagnosis.plot`` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.plots.points import MORE_COLORS, MORE_MARKERS
from specmargin.plots.theme import PALETTE, figure_of, pyplot_axes, style
from specmargin.plots.ticks import literal
from specmargin.typing import AnyArray

__all__ = ["DiagnosisDisplay"]

_DRAWN = 5000  # unlabelled samples that are drawn


class DiagnosisDisplay:
    """Four panels of what `specmargin.diagnose` returns.

    Parameters
    ----------
    diagnosis : Diagnosis

    Attributes
    ----------
    figure_ : Figure
        Set by `plot`.
    axes_ : ndarray of four Axes
        Embedding, eigenvalues, hubs, comparison with chance.

    Examples
    --------
    >>> import numpy as np
    >>> import specmargin as sm
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(2, 2)
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> display = DiagnosisDisplay(sm.diagnose(X)).plot(axes.flat)
    >>> [ax.get_ylabel() for ax in display.axes_[:3]]
    ['eigenvector 2', 'eigenvalue', 'samples']
    """

    figure_: Figure
    axes_: AnyArray

    def __init__(self, diagnosis: Any) -> None:
        if not all(hasattr(diagnosis, name) for name in ("embedding", "gap", "counts", "verdict")):
            raise InvalidTypeError(
                f"diagnosis={diagnosis!r} is of the type {type(diagnosis).__name__}; pass what specmargin.diagnose "
                "returns."
            )
        self.diagnosis = diagnosis

    def plot(self, axes: Sequence[Axes] | Any = None) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of four Axes, optional
            Axes to draw on; a new pyplot figure by default.

        Returns
        -------
        DiagnosisDisplay
            Itself, with its attributes set.
        """
        with style():
            axes = pyplot_axes((7.0, 5.4), 2, 2) if axes is None else axes
            panels = np.asarray(list(np.ravel(np.asarray(axes, dtype=object))), dtype=object)
            if panels.shape != (4,) or not all(isinstance(ax, Axes) for ax in panels):
                raise InvalidInputError(f"axes={axes!r}; pass four Axes, e.g. those of subplots(2, 2), or None.")
            self._embedding(panels[0])
            self._eigenvalues(panels[1])
            self._hubs(panels[2])
            self._chance(panels[3])
        self.axes_, self.figure_ = panels, figure_of(panels[0])
        return self

    def _embedding(self, ax: Axes) -> None:
        d = self.diagnosis
        E = d.embedding
        hidden = np.setdiff1d(np.arange(len(E)), d.labeled)
        if len(hidden) > _DRAWN:
            hidden = np.random.default_rng(0).permutation(hidden)[:_DRAWN]
        if len(hidden):
            look: dict[str, Any] = {"s": 4, "color": "0.55", "alpha": 0.6, "linewidths": 0, "zorder": 2}
            ax.scatter(E[hidden, 0], E[hidden, 1], label="unlabelled", **look)
        classes = list(d.label_counts)
        look = {"s": 22.0 if d.n_labeled <= 200 else 8.0, "edgecolors": "white", "linewidths": 0.4, "zorder": 3}
        many = len(classes) > len(MORE_COLORS)
        for k, name in enumerate([f"labelled ({len(classes)} classes)"] if many else classes):
            rows = d.labeled if many else d.labeled[d.codes == k]
            look |= {"color": MORE_COLORS[k], "marker": MORE_MARKERS[k], "label": literal(name)}
            ax.scatter(E[rows, 0], E[rows, 1], **look)
        ax.set(xlabel="eigenvector 1", ylabel="eigenvector 2", xticks=[], yticks=[], title="graph and labels")
        ax.margins(0.06)
        if handles := ax.get_legend_handles_labels()[0]:  # below the axes: inside, it would hide samples
            place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1)}
            ax.legend(ncols=min(len(handles), 4), handletextpad=0.2, columnspacing=1.0, **place)

    def _eigenvalues(self, ax: Axes) -> None:
        gap = self.diagnosis.gap
        values = np.asarray(gap.eigenvalues)
        last, m, blue = len(values) + 0.5, gap.n_clusters, PALETTE["blue"]
        ax.plot(np.arange(1, last), values, "o", color=blue, label="of the normalised Laplacian", zorder=3)
        if gap.size > 0:
            label = f"clear gap: {m} cluster{'s' if m > 1 else ''}" if gap.is_clear else "largest gap, not a clear one"
            look: dict[str, Any] = {"color": PALETTE["orange"], "alpha": 0.3, "linewidth": 0, "zorder": 1}
            ax.fill_between([0.5, last], gap.low, gap.high, label=label, **look)
        top = max(float(values.max()), 0.01)
        ax.set(xlim=(0.5, last), ylim=(-0.03 * top, 1.35 * top))  # the legend stands above
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        ax.set(xlabel="index", ylabel="eigenvalue", title="eigengaps")
        ax.legend(loc="upper left")

    def _hubs(self, ax: Axes) -> None:
        d = self.diagnosis
        counts, degrees = d.counts, d.degrees
        width = max(1, int(np.ceil((counts.max() - counts.min() + 1) / 40)))
        bins = np.arange(counts.min(), counts.max() + width + 1, width) - 0.5
        label = f"skewness {degrees.hubness:.1f}"
        tallest = float(np.max(ax.hist(counts, bins=bins.tolist(), color=PALETTE["sky"], label=label)[0]))
        ax.set_ylim(0.0, 1.45 * tallest)  # the legend stands above
        look: dict[str, Any] = {"color": PALETTE["black"], "linewidth": 0.9, "linestyle": "--", "label": "mean"}
        ax.vlines(float(counts.mean()), 0.0, 1.02 * tallest, **look)
        look = {"color": PALETTE["vermillion"], "label": f"largest hub: sample {degrees.largest_hub}", "zorder": 4}
        ax.plot([degrees.largest_count], [0], "v", clip_on=False, **look)
        listed = f"samples that list it among their {d.n_neighbors} nearest" if d.n_neighbors is not None else "edges"
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        ax.set(xlabel=listed, ylabel="samples", title="degrees and hubs")
        ax.legend(loc="upper right")

    def _chance(self, ax: Axes) -> None:
        rows = _rows(self.diagnosis)
        ax.set_title("labels against chance", pad=15 if rows else 4)
        if not rows:
            ax.set_axis_off()
            ax.text(0.5, 0.5, "no labels to compare", ha="center", va="center", transform=ax.transAxes)
            return
        at = np.arange(len(rows))[::-1]
        values, chances, ps = (np.array([row[k] for row in rows], dtype=np.float64) for k in (1, 2, 3))
        ax.hlines(at, values, chances, color="0.75", linewidth=1.2, zorder=1)
        ax.plot(chances, at, "o", mfc="white", color=PALETTE["grey"], label="random labels (mean)", zorder=2)
        ax.plot(values, at, "o", color=PALETTE["blue"], label="labels", zorder=3)
        for y, value, p in zip(at, values, ps, strict=True):
            side = "left" if value < 0.15 else "right" if value > 0.85 else "center"  # inside the axes
            ax.annotate(f"p = {p:.2g}", (value, y), (0, 5), textcoords="offset points", ha=side, fontsize=6.3)
        ax.set_yticks(at, [row[0] for row in rows])
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.6, len(rows) - 0.2), xlabel="share")
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, borderaxespad=0.0)


def _rows(d: Any) -> list[tuple[str, float, float, float]]:
    """Return what is drawn against chance: name, share, share by chance, p-value."""
    listed = [("edges\nin one class", d.edges), ("nearest labels\nin one class", d.nearest)]
    if e := d.evidence:
        listed += [("errors: graph", e.graph), ("errors: linear", e.linear), ("errors: RBF", e.radial)]
        listed.append(("edges across\nthe linear boundary", e.boundary))
    shares = [(name, getattr(one, "error", getattr(one, "share", None)), one) for name, one in listed]
    return [(name, share, one.by_chance, one.p_value) for name, share, one in shares if share is not None]
