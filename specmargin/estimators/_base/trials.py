"""What searches try, and what left-out samples say of it: `judged` and `Trials`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.rounding import first_least
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

OF_DECISIONS = ("nll", "sq", "01")
"""The criteria that `judged` returns."""
_TIE = 1e-3
"""Of nll, by which equal numbers of errors are told apart: few labels make many ties."""


class Judged(NamedTuple):
    """What left-out samples say of P settings.

    `values` are the criteria, (P,) each, nan where no sample counts; `losses` what the chosen criterion is the mean of,
    times the weights of the labels where these have some, and `wrong` the errors, both (P, m).
    """

    values: dict[str, FloatArray]
    losses: FloatArray
    wrong: BoolArray


def judged(
    raw: FloatArray, compared: FloatArray, sign: FloatArray, criterion: str, weights: FloatArray | None = None
) -> Judged:
    """Judge settings by their decisions at left-out samples.

    Parameters
    ----------
    raw, compared : ndarray of shape (P, m) or (P, m, K)
        Decisions, and what the classes are compared by.
    sign : ndarray of shape (m,) or (m, K)
        True signs of these samples.
    criterion : str
        The one that chooses; where it looks at no sample, `losses` are those of "nll".
    weights : ndarray of shape (m,), optional
        Weights of the losses; the criteria are means by them.
    """
    if not len(sign):
        nothing = np.zeros((len(raw), 0))
        return Judged(dict.fromkeys(OF_DECISIONS, np.full(len(raw), np.nan)), nothing, nothing.astype(bool))
    log_losses, wrong = loo.log_losses(compared, sign), loo.wrong(compared, sign)
    each = {"nll": log_losses, "sq": loo.squares(raw, sign), "01": wrong + _TIE * log_losses}
    values = {name: np.average(parts, axis=1, weights=weights) for name, parts in each.items()}
    losses = each.get(criterion, log_losses)
    return Judged(values, losses if weights is None else losses * weights, wrong)


class Trials:
    """Every setting that was tried, with what the criteria say of it.

    Parameters
    ----------
    criterion : str
        What chooses.
    samples : ndarray of shape (m,)
        Which labelled sample each test is of.
    """

    def __init__(self, criterion: str, samples: IntArray) -> None:
        self.criterion, self._samples = criterion, samples
        self.params: list[dict[str, Any]] = []
        """Keyword arguments of every setting."""
        self._tried: list[dict[str, Any]] = []
        self._supervised: list[bool] = []
        self._judged: list[Judged] = []
        self._ranks: list[float] = []

    def add(
        self,
        tried: Sequence[dict[str, Any]],
        judgement: Judged,
        *,
        common: dict[str, Any],
        supervised: bool = False,
        ranks: Sequence[float] | None = None,
    ) -> None:
        """Record P settings.

        `common` are the keyword arguments that all have in addition to what is tried; `ranks` say which is taken first
        where the labels cannot choose, by default the one that was tried first.
        """
        self._ranks += range(len(self.params), len(self.params) + len(tried)) if ranks is None else ranks
        self._tried += tried
        self.params += [{**common, **one} for one in tried]
        self._supervised += [supervised] * len(tried)
        self._judged.append(judgement)

    @property
    def supervised(self) -> BoolArray:
        """Which settings have no graph."""
        return np.array(self._supervised)

    def values(self, name: str) -> FloatArray:
        """Return one criterion of all settings; smaller is better."""
        return np.concatenate([judgement.values[name] for judgement in self._judged])

    def best(self, among: BoolArray | None = None) -> int:
        """Return the setting that the criterion chooses, of all or of some; of equally good ones the first."""
        values = _worst_if_nan(self.values(self.criterion))
        values = np.array(self._ranks) if np.isinf(values).all() else values
        return int(first_least(values if among is None else np.where(among, values, np.inf)))

    def wrong_when_chosen_by_others(self, among: BoolArray | None = None) -> BoolArray:
        """Return which labelled samples are named wrongly by the setting that all other samples choose.

        Of a setting that was chosen by the errors themselves, those say too little. Where the criterion looks at no
        fold ("gcv"), they are the errors of the one setting that it chooses.
        """
        each, first = np.unique(self._samples, return_index=True)
        if len(each) == 0:
            return np.zeros(0, dtype=bool)
        wrong = np.concatenate([judgement.wrong for judgement in self._judged])[:, first]
        if self.criterion not in OF_DECISIONS:
            return np.asarray(wrong[self.best(among)])
        losses = np.concatenate([judgement.losses for judgement in self._judged])
        own = np.stack([losses[:, self._samples == i].sum(axis=1) for i in each], axis=1)
        others = _worst_if_nan(losses.sum(axis=1)[:, None] - own)
        if among is not None:
            others[~among] = np.inf
        return np.asarray(wrong[first_least(others), np.arange(len(each))])

    def results(self) -> dict[str, Any]:
        """Return `cv_results_`."""
        values = self.values(self.criterion)
        columns = list(dict.fromkeys(name for one in self._tried for name in one))
        return {
            **{f"param_{name}": _column([one.get(name, np.nan) for one in self._tried]) for name in columns},
            "params": self.params,
            "supervised": self.supervised,
            "mean_test_score": -values,
            "rank_test_score": rankdata(_worst_if_nan(values), method="min").astype(np.int32),
            **{name: self.values(name) for name in self._judged[0].values},
        }


def _worst_if_nan(values: FloatArray) -> FloatArray:
    return np.where(np.isnan(values), np.inf, values)


def _column(values: list[Any]) -> AnyArray:
    """Return values as an array of numbers, or of objects where some are none."""
    if all(isinstance(value, float | int) for value in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
