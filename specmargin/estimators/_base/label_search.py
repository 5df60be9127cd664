"""What searches that choose by the labelled samples alone share: the grid, folds, the record, and the refit.

`Search` is mixed into classifiers and regressors; `LabelSearch` is a classifier that chooses by folds of the labels,
and compares itself with a supervised twin.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import Rule, among, choice, shown, warn
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.parameters import PARTS, RULES, is_precomputed
from specmargin.estimators._base.semi_supervised import check_features
from specmargin.estimators._base.supervised_twin import supervised_twin
from specmargin.estimators._base.trials import OF_DECISIONS, Judged, Trials, judged
from specmargin.estimators.comparison import Comparison, compare_errors
from specmargin.exceptions import InvalidInputError, InvalidTypeError, MarkerWarning
from specmargin.graphs import check_adjacency
from specmargin.labels import Labels
from specmargin.model_selection import LabeledKFold
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.typing import BoolArray, FloatArray, Matrix

__all__ = ["Judged", "LabelSearch", "OF_DECISIONS", "Search", "Settings", "Space", "Trials", "judged"]

_LOGGER = logging.getLogger(__name__)
_MOST_FOLDS = 10
"""Labels up to which each is a fold of its own."""


def same(value: Any, usual: Any) -> bool:
    """Whether two parameters are the same; markers such as pandas.NA have no truth value when compared."""
    return value is usual or (type(value) is type(usual) and bool(np.all(value == usual)))


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


class Search:
    """The choice of an estimator's parameters: what is tried, the record, and the refit.

    It is mixed into an estimator with the parameters `estimator` and `grid`.
    """

    estimator: Any
    grid: Any
    estimator_: Any
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what else the chosen estimator has learned; `_refit` copies it."""

    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """What is tried where the grid does not say."""
    _searched: ClassVar[tuple[str, ...]] = ()
    """Parameters that can be searched for."""

    @property
    def _template(self: Any) -> Any:
        return self._usual() if self.estimator is None else self.estimator

    @property
    def _is_precomputed(self) -> bool:
        kernels = self.grid.get("kernel", []) if isinstance(self.grid, Mapping) else []
        return any(map(is_precomputed, kernels)) or self._template._is_precomputed

    def _check_parameters(self: Any) -> None:
        kind, template = type(self._usual()), self._template
        if not isinstance(template, kind) or isinstance(template, type):
            raise InvalidTypeError(
                f"estimator={shown(template)} is no {kind.__name__}; pass specmargin.{kind.__name__}(...), or None."
            )
        template._check_parameters()
        if template.model is not None:
            raise InvalidInputError(
                f"{type(self).__name__} decides about left-out samples by the model of {kind.__name__}, and model="
                f"{template.model!r} changes it; take sklearn.model_selection.GridSearchCV(..., "
                "cv=specmargin.LabeledKFold())."
            )
        super()._check_parameters()  # type: ignore[misc]  # it is mixed in

    def _graph(self, X: Matrix, graph: Any) -> Any:
        return None if graph is None else check_adjacency(graph, X.shape[0])  # the grid makes them

    def _space(self) -> Space:
        """Return what is tried for every parameter: the grid, and the usual candidates of what it does not name.

        A parameter that the estimator sets to something else than its class does is not searched for unless the grid
        names it.
        """
        grid, template = self.grid, self._template
        if grid is not None and not isinstance(grid, Mapping):
            raise InvalidTypeError(f"grid={shown(grid)} must be a dict from names of parameters to lists, or None.")
        given, apart = dict(grid or {}), clone(template)
        for name, values in given.items():
            if name.partition("__")[0] not in self._searched:
                raise InvalidInputError(
                    f"grid names {name!r}, which this search does not try; it takes {among(name, self._searched)} "
                    "Others are for sklearn.model_selection.GridSearchCV(..., cv=specmargin.LabeledKFold())."
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
            for name, values in self._candidates.items()
            if name.partition("__")[0] not in roots and name in own and same(own[name], default.get(name))
        }
        return Space(template, {**free, **given})

    def _record(self, trials: Trials) -> None:
        """Keep what was tried and what is chosen."""
        self.best_index_ = trials.best()
        self.cv_results_ = trials.results()
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = dict(trials.params[self.best_index_])
        _LOGGER.info(
            "%s: %d settings, best %s %.4g at %s",
            *(type(self).__name__, len(trials.params), trials.criterion, -self.best_score_, self.best_params_),
        )

    def _refit(self, X: Matrix, y: Any, graph: Any, sample_weight: Any) -> None:
        """Fit the estimator that is chosen to all samples, and keep all that it has learned."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkerWarning)  # warned of before
            chosen = type(self._template)(**self.best_params_)
            self.estimator_ = chosen.fit(X, y, graph=graph, sample_weight=sample_weight)
        for name, value in vars(self.estimator_).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)

    def _refit_supervised(self, trials: Trials, X: Matrix, y: Any, sample_weight: Any) -> Any:
        """Return the supervised candidate that the criterion chooses, fitted; None where there is none."""
        if not trials.supervised.any():
            return None
        at = trials.best(trials.supervised)
        if at == self.best_index_:
            return self.estimator_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the answer is that of `estimator_`, which has had its say
            return type(self._template)(**trials.params[at]).fit(X, y, sample_weight=sample_weight)


class Settings(NamedTuple):
    """P settings that are tried, and their decisions at left-out samples: raw ones, and what classes are compared by.

    `criteria` are further ones, and `ranks` say which comes first where the labels cannot choose.
    """

    tried: list[dict[str, Any]]
    raw: FloatArray
    compared: FloatArray
    supervised: bool = False
    criteria: Mapping[str, FloatArray] = {}
    ranks: Sequence[float] | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class LabelSearch(Search, SemiSupervisedClassifier):
    """A search by the labels of left-out samples, compared with a supervised twin that has the same folds.

    A subclass implements ``_settings(space, X, labels, graph, folds)``.
    """

    estimator: Any = field(default=None, kw_only=False)
    grid: Mapping[str, Sequence[Any]] | None = field(default=None, kw_only=False)
    criterion: str = "nll"
    cv: Any = "auto"

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "cv": lambda name, value: value if isinstance(value, str) and value == "auto" else RULES["cv"](name, value),
    }
    _criteria: ClassVar[tuple[str, ...]] = OF_DECISIONS
    _Cs: Sequence[float] = field(init=False)
    """Weights of the loss that the twin tries."""

    @property
    def _instead(self) -> str:
        """What is done where the labels cannot choose."""
        return "the first candidates are taken"

    @property
    def _marker(self) -> Any:
        return self._template.unlabeled

    @property
    def class_weight(self) -> Any:
        """Weights of the classes, those of the estimator whose parameters are chosen."""
        return self._template.class_weight

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choice(*self._criteria)("criterion", self.criterion)

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: Any, sample_weight: Any) -> None:
        """Choose the parameters by the labelled samples, then learn from all."""
        space, folds = self._space(), self._folds(X, labels)
        kept, common = self._counted(labels, folds), space.kept()
        tested = np.concatenate([fold.test for fold in folds])[kept]
        weights = None if labels.weights is None else labels.weights[tested]
        trials = Trials(self.criterion, tested)
        for one in self._settings(space, X, labels, graph, folds):
            judgement = judged(one.raw[:, kept], one.compared[:, kept], labels.sign[tested], self.criterion, weights)
            judgement.values.update(one.criteria)
            trials.add(one.tried, judgement, common=common, supervised=one.supervised, ranks=one.ranks)
        self._record(trials)
        self._refit(X, y, graph, sample_weight)
        self._compare(X, y, labels, folds, trials, sample_weight)

    def _settings(
        self, space: Space, X: Matrix, labels: Labels, graph: Any, folds: list[loo.Fold]
    ) -> Iterable[Settings]:
        raise NotImplementedError

    def _compare(
        self, X: Matrix, y: Any, labels: Labels, folds: list[loo.Fold], trials: Trials, sample_weight: Any
    ) -> None:
        """Choose and fit the supervised twin, and compare what the labels say of both."""
        twin = supervised_twin(X, labels, folds, tuple(self._Cs), self.criterion)
        self.baseline_, self.baseline_score_ = twin.fitted(X, y, labels, self._marker), twin.score
        self.comparison_: Comparison | None = self._compared(trials.wrong_when_chosen_by_others(), twin.wrong)

    def _compared(self: Any, wrong: BoolArray, wrong_baseline: BoolArray) -> Comparison:
        differs = self.transduction_ != self.baseline_.transduction_
        return compare_errors(wrong, wrong_baseline, float(np.mean(differs)))

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

    def _folds(self, X: Matrix, labels: Labels) -> list[loo.Fold]:
        l, cv = labels.n_labeled, self.cv
        if isinstance(cv, str) and cv == "auto":
            cv = "loo" if l <= _MOST_FOLDS else _MOST_FOLDS
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
            warn(
                f"{type(self).__name__}: no fold tests a class that it trains on, so that the labelled samples cannot "
                f"choose; {self._instead}. Label two samples of a class{other}."
            )
        return kept

    def _decision(self, X: Matrix) -> FloatArray:
        return np.asarray(self.estimator_.decision_function(X))
