"""Frequency responses of learned filters: which frequencies of a graph a method keeps.

`FilterResponseDisplay` draws the power that learned weights pass, sum_b delta_b h_b(1 - lam)^2 / power_b, over the
frequencies lam of the graph, one curve per method with a band over draws. The curve ends at the graph's highest
frequency: beyond it a filter has nothing to pass, and a rough one has its pole there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla
import scipy.sparse as sp
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from scipy.sparse.linalg import eigsh

from specmargin.arrays import vector
from specmargin.checks import choice, instance, shown
from specmargin.exceptions import InvalidInputError
from specmargin.plots.theme import Display, legend_above, style
from specmargin.plots.ticks import ticks_at
from specmargin.plots.weights import (
    estimators_by_draw,
    require_fitted,
    require_names,
    rows_of_draws,
    rule_styles,
    same_filters,
    shares_of_draws,
)
from specmargin.spectra import FilterBank
from specmargin.typing import FloatArray, SparseArray

__all__ = ["FilterResponseDisplay"]

_POINTS = 301
_DENSE = 2000
"""Nodes up to which the highest frequency is that of a dense matrix."""


class FilterResponseDisplay(Display):
    """Responses over the frequencies of a graph, one curve per method.

    Parameters
    ----------
    frequencies : array of shape (k,)
        Frequencies from 0 to the graph's highest, increasing.
    responses : mapping of str to array of shape (k,) or (draws, k)
        Power passed, by the method's name, not negative; the features as they are have 1. Of several draws the curve
        is the median at each frequency, the band the range from 10 to 90 % of the draws.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.
    lines_ : dict of str to Line2D
        Values by the method's name.

    Notes
    -----
    A filter that keeps high frequencies (a resolvent with g < 0) makes blocks whose rows resemble each other little, so
    that it also acts as a ridge: some weight on it does not say that classes differ along edges. Compare methods.

    Examples
    --------
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(width="column")
    >>> lam = np.linspace(0.0, 1.5, 50)
    >>> display = FilterResponseDisplay(lam, {"alignment": 1 / (0.1 + lam) ** 2}).plot(axes[0, 0])
    >>> [float(end) for end in display.ax_.get_xlim()]
    [0.0, 1.5]
    """

    lines_: dict[str, Line2D]

    def __init__(self, frequencies: npt.ArrayLike, responses: Mapping[str, npt.ArrayLike]) -> None:
        self.frequencies = vector("frequencies", frequencies, "frequencies of the graph, increasing from 0")
        lam = self.frequencies
        if len(lam) < 2 or lam[0] < 0 or (np.diff(lam) <= 0).any():
            raise InvalidInputError(f"frequencies={shown(frequencies)} must be two or more, not negative, increasing.")
        require_names("responses", responses, '{"alignment": response}')
        self.responses = {name: _draws(name, one, len(lam)) for name, one in responses.items()}

    @classmethod
    def from_bank(cls, bank: FilterBank, weights: Mapping[str, npt.ArrayLike]) -> Self:
        """Evaluate the responses of learned weights; `plot` draws them.

        Parameters
        ----------
        bank : FilterBank
            The filtered features over which the weights were learned.
        weights : mapping of str to array of shape (m,) or (draws, m)
            Values by the method's name, not negative, one per filter.

        Returns
        -------
        FilterResponseDisplay

        Examples
        --------
        >>> import specmargin as sm
        >>> W = sm.graphs.knn_graph(np.arange(30.0)[:, None], n_neighbors=2)
        >>> X = np.random.default_rng(0).normal(size=(30, 2))
        >>> bank = sm.spectra.filter_bank(sm.graphs.normalized_adjacency(W), X)
        >>> features_alone = [0, 0, 1, 0, 0, 0, 0]
        >>> display = FilterResponseDisplay.from_bank(bank, {"features": features_alone})
        >>> bool(np.allclose(display.responses["features"], 1.0))
        True
        """
        instance(FilterBank, "pass that of specmargin.spectra.filter_bank, or clf.bank_")("bank", bank)
        require_names("weights", weights, '{"alignment": clf.filter_weights_}')
        top, power = _highest_frequency(bank.operator), _power(bank.features, bank.n_samples)
        # Denser at the ends, where resolvents have their poles.
        lam = top * (1.0 - np.cos(np.linspace(0.0, np.pi, _POINTS))) / 2.0
        responses = {}
        for name, one in weights.items():
            draws = shares_of_draws(f"the weights of {name!r}", one, len(bank.filters.parameters))
            responses[name] = power * np.array([bank.response(delta, lam) for delta in draws])
        return cls(lam, responses)

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the responses that fitted estimators have learned.

        Parameters
        ----------
        estimators : mapping of str to estimator, or to a sequence of them
            Estimators with ``filter_weights_`` and ``bank_``, all on one graph with the same features and filters. A
            sequence holds fits to several draws of the labels.
        ax : Axes, optional
            See `plot`.
        **options
            Passed to `plot`.

        Returns
        -------
        FilterResponseDisplay
        """
        fitted = estimators_by_draw(estimators)
        every = [(name, one) for name, draws in fitted.items() for one in draws]
        advice = "a method that learns weights of filters (SpectralFilterClassifier)"
        require_fitted(every, ("filter_weights_", "bank_"), advice)
        same_filters(every)
        bank = every[0][1].bank_
        for name, one in every:
            theirs = one.bank_
            if theirs.n_samples != bank.n_samples or not np.allclose(theirs.power, bank.power, rtol=1e-5):
                raise InvalidInputError(
                    f"{name!r} was fitted on another graph or other features than {every[0][0]!r}; draw each graph in "
                    "axes of its own."
                )
        weights = {name: [one.filter_weights_ for one in draws] for name, draws in fitted.items()}
        return cls.from_bank(bank, weights).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        scale: Literal["log", "linear"] = "log",
        limits: tuple[float, float] | None = None,
        legend: bool = True,
        title: str | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        scale : {"log", "linear"}
            Scale of the power passed.
        limits : (float, float), optional
            Least and largest power shown; `extremes` by default. Panels side by side take the outermost of theirs.
        legend : bool, default True
            Whether to say above the axes what is drawn.
        title : str, optional
            Title of the axes.

        Returns
        -------
        FilterResponseDisplay
            Itself, with its attributes set.
        """
        choice("log", "linear")("scale", scale)
        low, high = self.extremes() if limits is None else _limits(limits)
        pad = 4 + 12 * -(-len(self.legend_handles()) // 2) * legend
        with self._drawing(ax, (3.4, 2.4), title, pad) as ax:
            looks, lam = rule_styles(self.responses), self.frequencies
            ax.axhline(1.0, color="0.55", linewidth=0.6, zorder=1)
            self.lines_ = {}
            shape: dict[str, Any]
            for order, (name, draws) in enumerate(self.responses.items()):
                look = looks[name]  # the first on top: broken lines of it show where they meet a whole one
                # A logarithmic scale has no zero: half of the least power shown lies below their part of the axes.
                few, middle, most = np.maximum(np.quantile(draws, [0.1, 0.5, 0.9], axis=0), 0.5 * low)
                if len(draws) > 1:
                    ax.fill_between(lam, few, most, color=look.color, alpha=0.22, linewidth=0, zorder=2 - 0.1 * order)
                shape = {"color": look.color, "linestyle": look.linestyle, "zorder": 3 - 0.1 * order}
                self.lines_[name] = ax.plot(lam, middle, label=name, **shape)[0]
            ax.set(xlim=(0.0, lam[-1]), xlabel=r"frequency $\lambda$ of the graph")
            ax.set(ylabel="power passed (features: 1)", yscale=scale)
            _set_limits(ax, scale, low, high)
            if legend:
                legend_above(ax, 2, handles=self.legend_handles())
        return self

    def extremes(self) -> tuple[float, float]:
        """Return the least and the largest power of curves, bands and features, over at most four decades."""
        shown = [np.quantile(draws, [0.1, 0.5, 0.9], axis=0) for draws in self.responses.values()]
        high = max(1.0, *(float(one.max()) for one in shown))
        return max(min(1.0, *(float(one.min()) for one in shown)), 1e-4 * high), high

    def legend_handles(self) -> list[Artist]:
        """Entries for a legend that several panels share: a line for each method, and the band."""
        draws = max(map(len, self.responses.values()))
        with style():
            handles: list[Artist] = [
                Line2D([], [], color=look.color, linestyle=look.linestyle, label=name + ", median" * (draws > 1))
                for name, look in rule_styles(self.responses).items()
            ]
            if draws > 1:
                handles.append(Patch(color="0.4", alpha=0.3, linewidth=0, label=f"10 to 90 % of {draws} draws"))
        return handles


def _limits(limits: Any) -> tuple[float, float]:
    """Check the powers shown."""
    ends = vector("limits", limits, "the least and the largest power shown")
    if len(ends) != 2 or not 0 < ends[0] < ends[1]:
        raise InvalidInputError(f"limits={shown(limits)} must be two powers above 0, the least first.")
    return float(ends[0]), float(ends[1])


def _highest_frequency(S: SparseArray) -> float:
    """Return 1 - s for the least eigenvalue s of the normalised adjacency."""
    n = S.shape[0]
    if not (S - sp.diags_array(S.diagonal())).count_nonzero():
        raise InvalidInputError(
            "this graph has no edge between two nodes, so that all its frequencies are the same and a filter has "
            "nothing to tell apart; pass a graph with edges."
        )
    if n <= _DENSE:
        return 1.0 - float(sla.eigvalsh(S.toarray(), subset_by_index=[0, 0])[0])
    start = np.random.default_rng(0).normal(size=n)
    return 1.0 - float(eigsh(S, k=1, which="SA", v0=start, tol=1e-6, return_eigenvectors=False)[0])


def _power(features: Any, n: int) -> float:
    """Return the mean squared length of a row of the centred features, of the identity for None."""
    if features is None:
        return 1.0 - 1.0 / n
    mean = np.asarray(features.mean(axis=0)).ravel()
    stored = features.data if sp.issparse(features) else features
    return float(np.vdot(stored, stored)) / n - float(mean @ mean)


def _set_limits(ax: Axes, scale: str, low: float, high: float) -> None:
    """Leave a little room around the curves, and put ticks where the scale measures something."""
    if scale == "linear":
        ax.set_ylim(0.0, 1.04 * high)
        ticks_at(ax.yaxis, [tick for tick in MaxNLocator(5).tick_values(0.0, high) if 0 <= tick <= 1.04 * high])
        return
    decades = max(float(np.log10(high / low)), 0.6)
    ax.set_ylim(high / 10 ** (1.04 * decades), high * 10 ** (0.04 * decades))
    steps = (1.0,) if decades > 1.8 else (1.0, 3.0) if decades > 0.9 else (1.0, 2.0, 3.0, 5.0)
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    ticks = np.outer(10.0 ** np.arange(first, last + 1), steps).ravel()
    ticks_at(ax.yaxis, [tick for tick in ticks if 0.99 * low <= tick <= 1.01 * high])


def _draws(name: str, response: npt.ArrayLike, k: int) -> FloatArray:
    """Return the responses of the draws, (draws, k), or say what is wrong with them."""
    what = f"responses[{name!r}]"
    expected = "power passed at each frequency, (k,), or a row for each draw, (draws, k)"
    draws = rows_of_draws(what, response, k, expected)
    if draws.min() < 0:
        at = np.unravel_index(int(draws.argmin()), draws.shape)
        raise InvalidInputError(
            f"{what} is negative at {tuple(map(int, at))} ({draws[at]:.3g}); pass powers, which are squares."
        )
    return draws
