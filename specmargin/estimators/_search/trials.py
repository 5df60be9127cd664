"""What searches try, and what left-out samples say of it: `Settings` and `Trials`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from specmargin.labels import Labels, Targets
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.rounding import first_least
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

OF_DECISIONS = ("nll", "sq", "01")
"""The criteria of classes that look at the decisions at left-out samples."""
_TIE = 1e-3
"""Of nll, by which equal numbers of errors are told apart: few labels make many ties."""


class Settings(NamedTuple):
    """P settings that are tried, and their decisions at left-out samples: raw ones, and what classes are compared by.

    Both are (P, m) or (P, m, K), fold by fold. `criteria` are further ones, and `ranks` say which comes first where the
    labels cannot choose; by default the one that is tried first.
    """

    tried: list[dict[str, Any]]
    raw: FloatArray
    compared: FloatArray
    supervised: bool = False
    criteria: Mapping[str, FloatArray] = {}
    ranks: Sequence[float] | None = None


class Judged(NamedTuple):
    """What left-out samples say of P settings.

    `values` are the criteria, (P,) each, nan where no sample counts; `losses` what the chosen criterion is the mean of,
    times the weights of the labels where these have some, and `wrong` the errors, both (P, m).
    """

    values: dict[str, FloatArray]
    losses: FloatArray
    wrong: BoolArray


def judged(raw: FloatArray, compared: FloatArray, truth: Labels | Targets, criterion: str, tested: IntArray) -> Judged:
    """Judge settings by their decisions at left-out samples, by the squares alone where these are numbers.

    Parameters
    ----------
    raw, compared : ndarray of shape (P, m) or (P, m, K)
        Decisions, and what the classes are compared by.
    truth : Labels or Targets
        Classes or numbers of all labelled samples; with weights the criteria are means by them.
    criterion : str
        The one that chooses; where it looks at no sample, `losses` are those of "nll".
    tested : ndarray of shape (m,)
        Positions of the left-out samples among the labelled ones.
    """
    weights = None if truth.weights is None else truth.weights[tested]
    wrong = np.zeros(raw.shape[:2], dtype=bool)
    if isinstance(truth, Targets):
        each = {"sq": loo.squares(raw, truth.values[tested])}
    elif not len(tested):
        return Judged(dict.fromkeys(OF_DECISIONS, np.full(len(raw), np.nan)), wrong.astype(float), wrong)
    else:
        sign = truth.sign[tested]
        log_losses, wrong = loo.log_losses(compared, sign), loo.wrong(compared, sign)
        each = {"nll": log_losses, "sq": loo.squares(raw, sign), "01": wrong + _TIE * log_losses}
    values = {name: np.average(parts, axis=1, weights=weights) for name, parts in each.items()}
    losses = each[criterion if criterion in each else "nll"]
    return Judged(values, losses if weights is None else losses * weights, wrong)


class Trials:
    """Every setting that was tried, with what the criteria say of it.

    Parameters
    ----------
    each : iterable of Settings
    labels : Labels or Targets
    folds : list of Fold
        What is left out; tested samples whose class does not train do not count.
    criterion : str
        What chooses.

    Attributes
    ----------
    samples : ndarray of shape (m,)
        Which labelled sample each test is of.
    tried : list of dict
        What differs among the settings.
    values : dict of ndarray
        The criteria of all settings; smaller is better.
    supervised : ndarray of bool
        Which settings have no graph.
    """

    def __init__(
        self, each: Iterable[Settings], labels: Labels | Targets, folds: list[loo.Fold], criterion: str
    ) -> None:
        kept: Any = slice(None) if isinstance(labels, Targets) else loo.counted(labels.sign, folds)
        self.criterion, self.samples = criterion, np.concatenate([fold.test for fold in folds])[kept]
        self.tried: list[dict[str, Any]] = []
        supervised, ranks, parts = [], [], []
        for one in each:
            judgement = judged(one.raw[:, kept], one.compared[:, kept], labels, criterion, self.samples)
            parts.append(judgement._replace(values={**judgement.values, **one.criteria}))
            ranks.append(np.arange(len(one.tried)) + len(self.tried) if one.ranks is None else one.ranks)
            supervised += [one.supervised] * len(one.tried)
            self.tried += one.tried
        values, losses, wrong = zip(*parts, strict=True)
        self.values = {name: np.concatenate([one[name] for one in values]) for name in values[0]}
        self.supervised, self._ranks = np.array(supervised), np.concatenate(ranks)
        self._losses, self._wrong = np.concatenate(losses), np.concatenate(wrong)

    def best(self, among: BoolArray | None = None) -> int:
        """Return the setting that the criterion chooses, of all or of some; of equally good ones the first."""
        values = _worst_if_nan(self.values[self.criterion])
        values = self._ranks if np.isinf(values).all() else values
        return int(first_least(values if among is None else np.where(among, values, np.inf)))

    def wrong_when_chosen_by_others(self, among: BoolArray | None = None) -> BoolArray:
        """Return which labelled samples are named wrongly by the setting that all other samples choose.

        Of a setting that was chosen by the errors themselves, those say too little. Where the criterion looks at no
        fold ("gcv"), they are the errors of the one setting that it chooses.
        """
        each, first = np.unique(self.samples, return_index=True)
        if len(each) == 0:
            return np.zeros(0, dtype=bool)
        wrong = self._wrong[:, first]
        if self.criterion not in OF_DECISIONS:
            return np.asarray(wrong[self.best(among)])
        own = np.stack([self._losses[:, self.samples == i].sum(axis=1) for i in each], axis=1)
        others = _worst_if_nan(self._losses.sum(axis=1)[:, None] - own)
        if among is not None:
            others[~among] = np.inf
        return np.asarray(wrong[first_least(others), np.arange(len(each))])

    def results(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """Return `cv_results_`; `common` are the keyword arguments that all settings have besides what is tried."""
        values = self.values[self.criterion]
        columns = dict.fromkeys(name for one in self.tried for name in one)
        return {
            **{f"param_{name}": _column([one.get(name, np.nan) for one in self.tried]) for name in columns},
            "params": [{**common, **one} for one in self.tried],
            "supervised": self.supervised,
            "mean_test_score": -values,
            "rank_test_score": rankdata(_worst_if_nan(values), method="min").astype(np.int32),
            **self.values,
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
