"""What searches that choose by the labelled samples alone share: folds, criteria, the record, the supervised twin."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from specmargin.candidates.comparison import Comparison, compare_errors
from specmargin.checks import outside
from specmargin.estimators._calibrated import RefittedProbabilities
from specmargin.estimators._label_weights import LabelWeights, PassesWeights
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.model_selection import LabeledKFold
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix

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
        Of the losses; the criteria are means by them.
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
        self._params: list[dict[str, Any]] = []
        self._tried: list[dict[str, Any]] = []
        self._supervised: list[bool] = []
        self._judged: list[Judged] = []

    def __len__(self) -> int:
        return len(self._params)

    def add(
        self, tried: list[dict[str, Any]], judgement: Judged, *, common: dict[str, Any], supervised: bool = False
    ) -> None:
        """Record P settings; `common` are the keyword arguments that all have in addition to what is tried."""
        self._tried += tried
        self._params += [{**common, **one} for one in tried]
        self._supervised += [supervised] * len(tried)
        self._judged.append(judgement)

    @property
    def params(self) -> list[dict[str, Any]]:
        """Keyword arguments of every setting."""
        return self._params

    @property
    def supervised(self) -> BoolArray:
        """Which settings have no graph."""
        return np.array(self._supervised)

    def values(self, name: str) -> FloatArray:
        """Return one criterion of all settings; smaller is better."""
        return np.concatenate([judgement.values[name] for judgement in self._judged])

    def best(self, among: BoolArray | None = None) -> int:
        """Return the setting that the criterion chooses, of all or of some."""
        values = _worst_if_nan(self.values(self.criterion))
        return int((values if among is None else np.where(among, values, np.inf)).argmin())

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
        return np.asarray(wrong[others.argmin(axis=0), np.arange(len(each))])

    def results(self, names: Sequence[str]) -> dict[str, Any]:
        """Return `cv_results_` with the criteria that are named."""
        values = self.values(self.criterion)
        columns = list(dict.fromkeys(name for one in self._tried for name in one))
        return {
            **{f"param_{name}": _column([one.get(name, np.nan) for one in self._tried]) for name in columns},
            "params": self._params,
            "supervised": self.supervised,
            "mean_test_score": -values,
            "rank_test_score": rankdata(_worst_if_nan(values), method="min").astype(np.int32),
            **{name: self.values(name) for name in names},
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


@dataclass(kw_only=True, eq=False, repr=False)
class LabelSearch(PassesWeights, LabelWeights, RefittedProbabilities):
    """A search among settings by the labels of left-out samples.

    Parameters
    ----------
    criterion : {"nll", "sq", "01"}
        Of the decisions of left-out samples: "nll", log-loss of the probabilities that `predict_proba` would make of
        them; "sq", mean squared residual of f before balancing; "01", errors, ties broken by nll.
    cv : "loo", int or splitter
        "loo": leave one labelled sample out. A number of folds (stratified, in the order of the samples), or any
        splitter, which is shown the labelled samples only. Left-out samples stay as unlabelled ones.

    Attributes
    ----------
    best_params_ : dict
        Keyword arguments that make `estimator_` again: what was chosen, and all that its defaults do not imply.
    best_score_ : float
        The criterion with its sign changed, so that larger is better. **No estimate of accuracy**: see the notes.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarray
        ``params``, ``param_*``, ``supervised`` (whether no graph takes part), ``mean_test_score``,
        ``rank_test_score``, and every criterion under its name.
    estimator_ : estimator
        Fitted with `best_params_` to all samples; the other attributes are copied from it.

    Notes
    -----
    The labelled samples alone choose. The minimum of a criterion over many settings is smaller than the criterion of
    a setting named in advance: `best_score_` is no estimate of the error. Keep labels aside for that.

    A sample that is the only labelled one of its class, or whose fold leaves one class to train on, does not count:
    no setting could name its class. If none counts, as with one label per class, the labels cannot choose, and a
    warning says what is taken. Classes are balanced while choosing and after it.

    **Weights** of samples and classes are those of the losses, of the fits and of what chooses: criteria are means by
    them, and the supervised candidates have them, too. ``comparison_`` counts labels, whatever they weigh. To make the
    fit again, pass `sample_weight` again; `best_params_` has the `class_weight`.
    """

    criterion: str = "nll"
    cv: Any = "loo"

    _criteria: ClassVar[tuple[str, ...]] = OF_DECISIONS
    _instead: ClassVar[str] = "the first candidates are taken"
    """What is done where the labels cannot choose."""

    def _check_criterion(self) -> None:
        if self.criterion not in self._criteria:
            raise InvalidInputError(
                f"criterion={self.criterion!r} is unknown here; take one of {', '.join(self._criteria)}."
            )

    def _cv_for(self, labels: Labels) -> Any:
        """Return "loo", a number of folds or a splitter."""
        return self.cv

    def _folds(self, X: Matrix, labels: Labels) -> list[loo.Fold]:
        l, cv = labels.n_labeled, self._cv_for(labels)
        if isinstance(cv, str):
            return loo.one_left_out(l)
        splitter = LabeledKFold(int(cv), shuffle=False) if isinstance(cv, int | np.integer) else check_cv(cv)
        folds = []
        for train, test in splitter.split(X[labels.labeled], labels.sign_codes):
            left_out = np.setdiff1d(np.arange(l), train)
            if not np.isin(test, left_out).all():
                raise InvalidInputError("the splitter of cv tests labelled samples that it trains on.")
            folds.append(loo.Fold(left_out, np.asarray(test)))
        return folds

    def _counted(self, labels: Labels, folds: list[loo.Fold]) -> BoolArray:
        """Return which tested samples count; warn where none does and the criterion looks at them."""
        kept = loo.counted(labels.sign, folds)
        if not kept.any() and self.criterion in OF_DECISIONS:
            other = next((f", or take criterion={name!r}" for name in self._criteria if name not in OF_DECISIONS), "")
            warnings.warn(
                f"{type(self).__name__}: no fold tests a class that it trains on, so that the labelled samples cannot "
                f"choose; {self._instead}. Label two samples of a class{other}.",
                stacklevel=outside(),
            )
        return kept

    def _decision(self: Any, X: Matrix) -> FloatArray:
        return np.asarray(self.estimator_.decision_function(X))

    def _record(self, trials: Trials, best: int | None = None) -> None:
        """Keep what was tried, and which of it is taken: by default the best."""
        self.best_index_ = trials.best() if best is None else best
        self.cv_results_ = trials.results(self._criteria)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = dict(trials.params[self.best_index_])

    def _compared(self: Any, wrong: BoolArray, wrong_baseline: BoolArray) -> Comparison:
        """Compare the search with its supervised twin by their errors at left-out labels."""
        differs = self.transduction_ != self.baseline_.transduction_
        return compare_errors(wrong, wrong_baseline, float(np.mean(differs)))
