"""False labels in pictures: the share of predictions that survive them, and the labels that matter most.

`LabelRobustnessDisplay` compares classifiers by what ``label_robustness`` says of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from specmargin.checks import instance
from specmargin.exceptions import InvalidInputError
from specmargin.objectives.held_out.label_flips import LabelRobustness
from specmargin.plots.points import MORE_COLORS, points_in_plane
from specmargin.plots.theme import Display, legend_above, method_styles

__all__ = ["LabelRobustnessDisplay"]

_MOST = 10  # false labels that are drawn
_DARKEST = 3  # false labels from whose survival on samples are drawn alike
_AREA = 400.0  # square points of a label that decides all predictions


class LabelRobustnessDisplay(Display):
    """Share of the predictions that survive r false labels, a line for each classifier.

    Parameters
    ----------
    results : mapping of str to LabelRobustness
        What `label_robustness` returned, by the names of the legend.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot` and `plot_labels`.
    lines_ : list of Line2D
        Set by `plot`.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.plots import subplots
    >>> X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(truth, per_class=4, random_state=0)
    >>> figure, axes = subplots(width="column")
    >>> display = LabelRobustnessDisplay({"ridge": sm.SpectralRidge().fit(X, y).label_robustness()}).plot(axes[0, 0])
    >>> len(display.lines_)
    1
    """

    lines_: list[Line2D]

    def __init__(self, results: Mapping[str, LabelRobustness]) -> None:
        instance(Mapping, 'pass names with results, {"LapRLS": clf.label_robustness()}')("results", results)
        if not results:
            raise InvalidInputError('results is empty; pass one at least, {"LapRLS": clf.label_robustness()}.')
        for name, one in results.items():
            instance(LabelRobustness, "pass what clf.label_robustness() returns")(f"results[{name!r}]", one)
        self.results = dict(results)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Self:
        """Draw the shares over the number of false labels, each as far as it is known.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        title : str, optional
            Title of the axes.

        Returns
        -------
        LabelRobustnessDisplay
            Itself, with its attributes set.
        """
        with self._drawing(ax, (3.4, 2.6), title) as ax:
            self.lines_ = []
            for name, look in method_styles(self.results).items():
                one = self.results[name]
                shares = [100.0 * one.share(r) for r in range(min(one.limit, _MOST) + 1)]
                shares = shares[: shares.index(0.0) + 1] if 0.0 in shares else shares  # none survives more
                drawn: dict[str, Any] = {"color": look.color, "marker": look.marker, "markersize": 4}
                drawn["linestyle"] = look.linestyle
                self.lines_ += ax.plot(np.arange(len(shares)), shares, label=name or None, linewidth=1.2, **drawn)
            ax.set(xlabel="false labels $r$", ylabel="predictions that survive [%]", ylim=(-2.0, 102.0))
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            if any(self.results):
                ax.legend(loc="upper right")
        return self

    def plot_labels(
        self, X: npt.ArrayLike, name: str | None = None, ax: Axes | None = None, *, title: str | None = None
    ) -> Self:
        """Draw the training samples in the plane: who survives how many false labels, and how much each label decides.

        The area of a labelled sample is the share of the predictions that it changes when its label alone is false;
        others are darker, the more false labels their class survives. The legend has both.

        Parameters
        ----------
        X : array of shape (n, 2)
            Positions of the training samples.
        name : str, optional
            Name of the result; by default the first.
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        title : str, optional
            Title of the axes.

        Returns
        -------
        LabelRobustnessDisplay
            Itself, with ``figure_`` and ``ax_`` set.
        """
        one = self.results[next(iter(self.results)) if name is None else name]
        X = points_in_plane(X, len(one.radius), "predictions")
        with self._drawing(ax, (3.4, 2.8), title, 32) as ax:
            survived = np.minimum(one.radius - 1, _DARKEST)
            colors = np.array([to_rgba(MORE_COLORS[code % len(MORE_COLORS)]) for code in one.codes])
            faded = colors * [1.0, 1.0, 1.0, 0.0] + np.outer(_opacity(survived), [0.0, 0.0, 0.0, 1.0])
            ax.scatter(X[:, 0], X[:, 1], s=9, c=faded, linewidths=0)
            at, area = X[one.labeled], _area(one.influence)
            edge: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.8, "zorder": 4}
            ax.scatter(at[:, 0], at[:, 1], s=area, c=colors[one.labeled], **edge)
            ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
            for k in np.unique(survived):
                named = f"survives {k}" + " or more" * bool(k == _DARKEST)
                ax.scatter([], [], s=16, c="black", alpha=_opacity(k), linewidths=0, label=named)
            for share in np.unique([0.0, one.influence.max()]):
                ax.scatter([], [], s=_area(share), c="white", label=f"decides {share:.0%}", **edge)
            legend_above(ax, 3, columnspacing=1.0, handletextpad=0.2)
        return self


def _opacity(survived: Any) -> Any:
    return 0.15 + 0.75 * survived / _DARKEST


def _area(share: Any) -> Any:
    return _AREA * share + 16.0
