"""What searches that choose by the labelled samples alone share: folds, criteria, the record, the supervised twin."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from specmargin.candidates.comparison import Comparison, compare_errors
from specmargin.checks import among, outside, shown
from specmargin.estimators._classifier import SemiSupervisedClassifier
from specmargin.estimators._label_weights import weighted_labels
from specmargin.estimators._parameters import PARTS, is_precomputed
from specmargin.estimators._semi_supervised import check_features
from specmargin.exceptions import InvalidInputError, InvalidTypeError
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


def search_space(template: Any, grid: Any, usual: Mapping[str, Sequence[Any]], known: Sequence[str]) -> Space:
    """Return what is tried for every parameter: the grid, and the usual candidates of what neither names.

    A parameter that the estimator sets to something else than its class does is not searched for unless the grid names
    it.

    Parameters
    ----------
    template : estimator
    grid : mapping from names of parameters to lists, or None
    usual : mapping
        The same, for what the grid does not name.
    known : sequence of str
        Parameters that can be searched for.
    """
    if grid is not None and not isinstance(grid, Mapping):
        raise InvalidTypeError(f"grid={shown(grid)} must be a dict from names of parameters to lists, or None.")
    given = dict(grid or {})
    apart = clone(template)
    for name, values in given.items():
        if name.partition("__")[0] not in known:
            raise InvalidInputError(
                f"grid names {name!r}, which this search does not try; it takes {among(name, known)} Others are for "
                "sklearn.model_selection.GridSearchCV(..., cv=specmargin.LabeledKFold())."
            )
        listed = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)
        if not listed or np.ndim(values) > 1 or len(values) == 0:
            raise InvalidInputError(f"grid[{name!r}]={shown(values)} must be a list of at least one candidate.")
        for value in values:
            apart.set_params(**{name: value})._check_parameters()
    roots = {name.partition("__")[0] for name in given}
    own, default = template.get_params(), type(template)().get_params()
    free = {
        name: values
        for name, values in usual.items()
        if name.partition("__")[0] not in roots and name in own and same(own[name], default.get(name))
    }
    return Space(template, {**free, **given})


class Space(NamedTuple):
    """The parameters that are tried, by name, and the estimator that has all others."""

    template: Any
    tried: dict[str, Sequence[Any]]

    def values(self, name: str) -> list[Any]:
        """Return the values of one parameter: what is tried, or what the estimator has; parts as they are read."""
        keys = [key for key in self.tried if key.partition("__")[0] == name]
        made = [
            getattr(clone(self.template).set_params(**dict(zip(keys, combined, strict=True))), name)
            for combined in product(*(self.tried[key] for key in keys))
        ]
        read = [PARTS[name](name, value) if name in PARTS else value for value in made]
        return [value for at, value in enumerate(read) if not any(same(value, one) for one in read[:at])]

    def kept(self) -> dict[str, Any]:
        """Return the parameters of the estimator that are not the default of its class; what is tried comes on top."""
        default = type(self.template)().get_params(deep=False)
        own = self.template.get_params(deep=False)
        return {name: value for name, value in own.items() if not same(value, default[name])}


def same(value: Any, usual: Any) -> bool:
    """Whether two parameters are the same; markers such as pandas.NA have no truth value when compared."""
    return value is usual or (type(value) is type(usual) and bool(np.all(value == usual)))


class LabelSearch(SemiSupervisedClassifier):
    """A search among settings by the labels of left-out samples.

    A subclass has the parameters estimator, grid, criterion and cv.
    """

    estimator: Any
    grid: Any
    criterion: str
    cv: Any
    estimator_: Any

    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """What is tried where the grid does not say."""
    _searched: ClassVar[tuple[str, ...]] = ()
    """Parameters that can be searched for."""
    _criteria: ClassVar[tuple[str, ...]] = OF_DECISIONS
    _instead: ClassVar[str] = "the first candidates are taken"
    """What is done where the labels cannot choose."""
    _sample_weight: Any = None

    @property
    def _template(self) -> Any:
        return self._usual() if self.estimator is None else self.estimator

    @property
    def _marker(self) -> Any:
        return self._template.unlabeled

    @property
    def _is_precomputed(self) -> bool:
        kernels = self.grid.get("kernel", []) if isinstance(self.grid, Mapping) else []
        return any(map(is_precomputed, kernels)) or self._template._is_precomputed

    def _check_parameters(self) -> None:
        kind, template = type(self._usual()), self._template
        if not isinstance(template, kind) or isinstance(template, type):
            raise InvalidTypeError(
                f"estimator={shown(template)} is no {kind.__name__}; pass specmargin.{kind.__name__}(...), or None."
            )
        template._check_parameters()
        super()._check_parameters()
        self._check_criterion()

    def _space(self) -> Space:
        return search_space(self._template, self.grid, self._candidates, self._searched)

    def _weighted_labels(self, labels: Labels, sample_weight: Any) -> Labels:
        self._sample_weight = sample_weight
        return weighted_labels(labels, sample_weight, self._template.class_weight)

    def _taken_weight(self) -> Any:
        """Return the `sample_weight` of this fit, and forget it."""
        taken, self._sample_weight = self._sample_weight, None
        return taken

    @property
    def calibration_(self) -> float:
        """The scale T of `predict_proba`, that of ``estimator_``."""
        check_is_fitted(self)
        return float(self.estimator_.calibration_)

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probabilities of the classes at new samples, those of ``estimator_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The same as for `decision_function`.

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(check_features(self, X, reset=False)))

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

    def _decision(self, X: Matrix) -> FloatArray:
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
