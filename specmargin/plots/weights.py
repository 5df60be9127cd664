"""Learned weights as bars: how much of each filter, or of each graph, a method uses.

`WeightsDisplay` draws the ``filter_weights_`` of spectral filters by their parameter, or the ``graph_weights_`` of
methods that were fitted with several graphs, as a group of bars for each method. Draws of an experiment are a bar at
their median with a whisker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from specmargin.arrays import numbers_array
from specmargin.checks import shown, texts
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.plots.theme import METHODS, Display, MethodStyle, legend_above, method_styles
from specmargin.plots.ticks import ticks_at
from specmargin.typing import FloatArray

__all__ = ["WeightsDisplay"]

_RULES: dict[str, MethodStyle] = {
    "alignment": METHODS["KTA"],
    "margin": METHODS["STORM"],
    "ordered": METHODS["STOAM"],
    "single": METHODS["RLS"],
    "mean": METHODS["LapRLS"],
}
"""Ways to learn weights of filters look like the methods over eigenvectors that they are akin to."""

_PARAMETER_OF = {
    "resolvents": "$g$ of the filter: rough < 0 (features) < smooth",
    "powers": "power of the adjacency",
    "bernstein": "centre of the Bernstein polynomial",
    "bands": "middle of the band of frequencies",
}
"""What the parameters of a family of filters are."""


class WeightsDisplay(Display):
    """Bars of weights, a group for each filter or graph and a bar for each method.

    Parameters
    ----------
    weights : mapping of str to array of shape (m,) or (draws, m)
        Values by the method's name, not negative. They are divided by their sum. Of several draws the bar shows the
        median, the whisker the range from 10 to 90 % of the draws.
    names : sequence of m str
        Names of the filters or graphs.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.
    bars_ : dict of str to BarContainer
        Values by the method's name.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(width="column")
    >>> display = WeightsDisplay({"alignment": [0.2, 0.8], "margin": [[1, 1], [1, 3]]}, names=["g = 0", "g = 0.9"])
    >>> [float(bar.get_height()) for bar in display.plot(axes[0, 0]).bars_["margin"]]
    [0.375, 0.625]
    """

    bars_: dict[str, BarContainer]

    def __init__(self, weights: Mapping[str, npt.ArrayLike], *, names: Sequence[str]) -> None:
        require_names("weights", weights, '{"alignment": clf.filter_weights_}')
        self.names = list(texts("names of the filters or graphs")("names", names))
        self.weights = {
            name: shares_of_draws(f"the weights of {name!r}", one, len(self.names)) for name, one in weights.items()
        }

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the weights that fitted estimators have learned.

        Parameters
        ----------
        estimators : mapping of str to estimator, or to a sequence of them
            Estimators with ``filter_weights_`` over the same filters, or ``graph_weights_`` over as many graphs. A
            sequence holds fits to several draws of the labels.
        ax : Axes, optional
            See `plot`.
        **options
            Passed to `plot`.

        Returns
        -------
        WeightsDisplay
        """
        fitted = estimators_by_draw(estimators)
        every = [(name, one) for name, draws in fitted.items() for one in draws]
        kind = "graph_weights_" if hasattr(every[0][1], "graph_weights_") else "filter_weights_"
        advice = "methods that all learn weights of filters (SpectralFilterClassifier) or of graphs (STORM, MKL, KTA)"
        require_fitted(every, (kind,), advice)
        if kind == "filter_weights_":
            names = [f"{parameter:g}" for parameter in same_filters(every)]
            family = every[0][1].bank_.filters.name
            label = _PARAMETER_OF.get(family, f"parameter of {family}")
        else:
            names = [f"{k + 1}" for k in range(np.shape(every[0][1].graph_weights_)[-1])]
            label = "graph"
        learned = {name: [getattr(one, kind) for one in draws] for name, draws in fitted.items()}
        for name, one in every:
            shape = np.shape(getattr(one, kind))
            if shape != (len(names),):
                raise InvalidInputError(
                    f"{name!r}: {kind} has the shape {shape} instead of {(len(names),)}; draw methods over the same "
                    "filters or graphs together, and with several classes one row of weights, "
                    "WeightsDisplay({...: clf.graph_weights_[k]}, names=...)."
                )
        return cls(learned, names=names).plot(ax, **{"xlabel": label, **options})

    def plot(
        self, ax: Axes | None = None, *, xlabel: str | None = None, legend: bool = True, title: str | None = None
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        xlabel : str, optional
            What the groups are.
        legend : bool, default True
            Whether to name the methods.
        title : str, optional
            Title of the axes.

        Returns
        -------
        WeightsDisplay
            Itself, with its attributes set.
        """
        looks, width = rule_styles(self.weights), 0.8 / len(self.weights)
        most = max(map(len, self.weights.values()))
        with self._drawing(ax, (3.4, 2.2), title, 4 + 12 * (1 + (most > 1)) * legend) as ax:
            self.bars_ = {}
            for order, (name, draws) in enumerate(self.weights.items()):
                at = np.arange(len(self.names)) + (order + 0.5) * width - 0.4
                low, middle, high = np.quantile(draws, [0.1, 0.5, 0.9], axis=0)
                color = looks[name].color
                pale = 0.55 if len(draws) > 1 else 1.0  # whiskers stand out against the bar, in its own colour
                self.bars_[name] = ax.bar(at, middle, 0.88 * width, color=color, alpha=pale, label=name)
                if len(draws) > 1:
                    told = high > 0.005
                    ax.vlines(at[told], low[told], high[told], color=color, linewidth=1.1, zorder=3)
                    ends: dict[str, Any] = {"color": color, "markersize": 3.0, "zorder": 3}
                    ax.plot(np.tile(at[told], 2), np.r_[low[told], high[told]], "_", **ends)
            ticks_at(ax.xaxis, range(len(self.names)), self.names)
            ax.tick_params(axis="x", length=0)
            ax.set(ylabel="weight, share of the sum", ylim=(0.0, 1.03), xlim=(-0.6, len(self.names) - 0.4))
            ax.set_xlabel(ax.get_xlabel() if xlabel is None else xlabel)
            if legend:
                told = f"median of {most} draws; whiskers: 10 to 90 %" if most > 1 else None
                legend_above(ax, min(4, len(self.weights)), title=told)
        return self


def require_names(argument: str, values: Any, example: str) -> None:
    """Refuse what is no mapping of names, or an empty one."""
    if not isinstance(values, Mapping) or not values:
        raise InvalidTypeError(f"{argument}={shown(values)} names none; give at least one, e.g. {example}.")


def require_fitted(estimators: Iterable[tuple[str, Any]], attributes: Sequence[str], advice: str) -> None:
    """Name the first estimator without one of the attributes that fits leave."""
    for name, one in estimators:
        if not all(hasattr(one, attribute) for attribute in attributes):
            raise InvalidInputError(
                f"{name!r} ({type(one).__name__}) has no {attributes[0]}: fit it first, or pick {advice}."
            )


def rule_styles(names: Mapping[str, Any]) -> dict[str, MethodStyle]:
    """Return a style for each name; the rules of `SpectralFilterClassifier` have theirs in all figures."""
    others = [name for name in names if name not in _RULES]
    styles = _RULES | (method_styles(others) if others else {})
    return {name: styles[name] for name in names}


def shares_of_draws(what: str, weights: npt.ArrayLike, m: int) -> FloatArray:
    """Return weights as shares, (draws, m), or say what is wrong with them."""
    draws = rows_of_draws(what, weights, m, "weights, (m,), or a row for each draw, (draws, m)", "have")
    if draws.min() < -1e-8 * max(draws.max(), 0.0) or (draws.max(axis=1) <= 0).any():
        at = np.unravel_index(int(draws.argmin()), draws.shape)
        raise InvalidInputError(
            f"{what} hold {draws[at]:.3g} at {tuple(map(int, at))}; pass weights >= 0, some of them "
            "above 0 in each draw."
        )
    draws = np.maximum(draws, 0.0)
    return np.asarray(draws / draws.sum(axis=1, keepdims=True))


def rows_of_draws(what: str, values: npt.ArrayLike, m: int, expected: str, verb: str = "has") -> FloatArray:
    """Return values as rows of m, one for each draw, or say what is wrong with them."""
    numbers_array(expected)(what, values)
    draws = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if draws.ndim != 2 or draws.shape[1] != m or not len(draws):
        raise InvalidInputError(f"{what} {verb} the shape {np.shape(values)}; pass ({m},) or (draws, {m}).")
    return draws


def estimators_by_draw(estimators: Any) -> dict[str, list[Any]]:
    """Return the estimators of each method as a list."""
    example = '{"alignment": clf}, or a list of fits to several draws of the labels by name'
    require_names("estimators", estimators, example)
    fitted = {name: list(one) if isinstance(one, list | tuple) else [one] for name, one in estimators.items()}
    for name, draws in fitted.items():
        if not draws:
            raise InvalidInputError(f"estimators[{name!r}] is empty; give one fitted estimator or more.")
    return fitted


def same_filters(estimators: list[tuple[str, Any]]) -> FloatArray:
    """Return the parameters of the filters of all estimators, or say which has others."""
    (first, reference), *others = estimators
    family = reference.bank_.filters
    for name, other in others:
        theirs = other.bank_.filters
        if theirs.name != family.name or not np.array_equal(theirs.parameters, family.parameters):
            raise InvalidInputError(
                f"{name!r} has other filters ({theirs.name}) than {first!r} ({family.name}); draw them apart."
            )
    return np.asarray(family.parameters)
