"""What is tried of an estimator: the grid, refits of every fold, and the supervised twin that the choice is held to."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from specmargin.checks import shown
from specmargin.estimators._base.parameters import PARTS
from specmargin.estimators._search.trials import OF_DECISIONS, Settings, Trials
from specmargin.estimators._search.twin import supervised_twin
from specmargin.exceptions import InvalidInputError, InvalidTypeError, SolverError
from specmargin.labels import Labels, Targets
from specmargin.model_selection import LabeledKFold
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.typing import BoolArray, FloatArray, IntArray, Matrix

_LOGGER = logging.getLogger(__name__)


@dataclass(eq=False)
class Candidates:
    """Settings of an estimator, judged by refits: each fold of labels is hidden in turn, whatever the estimator.

    A subclass knows a shorter way to the decisions at left-out samples for some parameters of one estimator.

    Parameters
    ----------
    template : estimator
        It has all parameters that are not tried.
    grid : dict
        What is tried, checked.
    X, y, labels, graph, sample_weight
        What `fit` is given, read.
    cv : "auto", "loo", int or splitter
    """

    template: Any
    grid: Mapping[str, Sequence[Any]]
    X: Matrix
    y: Any
    labels: Any
    graph: Any
    sample_weight: Any
    cv: Any

    usual: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """What is tried where the grid does not say."""
    names: ClassVar[tuple[str, ...]] = ()
    """Parameters for which there is a shorter way."""
    criteria: ClassVar[tuple[str, ...]] = OF_DECISIONS
    most_folds: ClassVar[float] = 10
    """Labels up to which each is a fold of its own; of more there are as many folds."""
    instead: ClassVar[str] = "the first candidates are taken"
    """What is done where the labels cannot choose."""

    def __post_init__(self) -> None:
        """Add the usual candidates of what the grid does not name, but for what the estimator sets itself."""
        roots = {name.partition("__")[0] for name in self.grid}
        own, default = self.template.get_params(), type(self.template)().get_params()
        free = {
            name: values
            for name, values in self.usual.items()
            if name.partition("__")[0] not in roots and name in own and same(own[name], default.get(name))
        }
        self.tried = {**free, **self.grid}
        self.folds = folds_of(self.cv, self.X, self.labels, self.most_folds)

    @property
    def can_choose(self) -> bool:
        """Whether some fold tests a class that it trains on."""
        return isinstance(self.labels, Targets) or bool(loo.counted(self.labels.sign, self.folds).any())

    @classmethod
    def serve(cls, template: Any, graph: Any) -> bool:
        """Whether the shorter way is one for an estimator with these parameters."""
        return getattr(template, "model", None) is None

    def values(self, name: str) -> list[Any]:
        """Return the values of one parameter: what is tried, or what the estimator has; parts as they are read."""
        keys = [key for key in self.tried if key.partition("__")[0] == name]
        made = [
            getattr(clone(self.template).set_params(**dict(zip(keys, combined, strict=True))), name)
            for combined in product(*(self.tried[key] for key in keys))
        ]
        read = [PARTS[name](name, value) if name in PARTS else value for value in made]
        return [value for at, value in enumerate(read) if not any(same(value, one) for one in read[:at])]

    def common(self) -> dict[str, Any]:
        """Return the parameters of the estimator that are not the default of its class; what is tried comes on top."""
        default = type(self.template)().get_params(deep=False)
        own = self.template.get_params(deep=False)
        return {name: value for name, value in own.items() if not same(value, default[name])}

    def made(self, tried: Mapping[str, Any]) -> Any:
        """Return the estimator of a setting."""
        return type(self.template)(**{**self.common(), **tried})

    def settings(self) -> Iterator[Settings]:
        """Yield the settings with their decisions at the tested samples."""
        names = list(dict.fromkeys(name.partition("__")[0] for name in self.tried))
        for combined in product(*map(self.values, names)):
            tried = dict(zip(names, combined, strict=True))
            yield self._by_folds([tried], partial(self._refitted, tried))

    def _by_folds(
        self, tried: list[dict[str, Any]], decide: Callable[[IntArray, IntArray], tuple[FloatArray, FloatArray]]
    ) -> Settings:
        """Return settings that are decided about fold by fold, by the labelled samples that train and are tested."""
        l, each = self.labels.n_labeled, []
        for fold in self.folds:
            loo.check_fold(fold.left_out, l)
            each.append(decide(np.setdiff1d(np.arange(l), fold.left_out), fold.test))
        raw, compared = (np.concatenate(parts, axis=1) for parts in zip(*each, strict=True))
        return Settings(tried, raw, compared)

    def _refitted(self, tried: dict[str, Any], train: IntArray, test: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what a refit decides about tested samples, whose labels it does not see; nan where it fails."""
        labels, made, at = self.labels, self.made(tried), self.labels.labeled[test]
        numbers = isinstance(labels, Targets)
        truth = labels.values if numbers else labels.classes[labels.sign_codes]
        seen = np.full((labels.n_samples, *truth.shape[1:]), np.nan if numbers else made.unlabeled, dtype=object)
        seen[labels.labeled[train]] = truth[train]
        shape = (1, len(at), *(truth if numbers else labels.sign).shape[1:])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of fewer labels than there are
                made.fit(self.X, seen, graph=self.graph, sample_weight=self.sample_weight)
        except (InvalidInputError, SolverError) as error:
            _LOGGER.info("%r with %d labels: %s", made, len(train), error)
            return (nothing := np.full(shape, np.nan)), nothing
        f = (made.transduction_ if numbers else made.scores_)[at]
        if not numbers and len(made.classes_) < len(labels.classes):
            # Nothing is of the classes that the fold hides.
            f, known = np.full(shape[1:], -1.0), np.column_stack([-f, f]) if f.ndim == 1 else f
            f[:, np.isin(labels.classes, made.classes_)] = known
        return f[None], f[None]

    def graph_of(self, params: Mapping[str, Any]) -> Any:
        """Return the graph that the chosen setting is fitted with."""
        return self.graph

    def baseline(self, trials: Trials, chosen: Any) -> tuple[Any, float, BoolArray]:
        """Return what knows the labelled samples alone, fitted, its score, and which labels it names wrongly; or None.

        `chosen` is the estimator that was chosen, fitted.
        """
        if isinstance(self.labels, Targets) or self.template._is_precomputed:
            return None, np.nan, np.zeros(0, dtype=bool)
        twin = supervised_twin(self.X, self.labels, self.folds, tuple(self._costs()), trials.criterion)
        return twin.fitted(self.X, self.y, self.labels, self.template.unlabeled), twin.score, twin.wrong

    def _costs(self) -> Sequence[float]:
        """Return the weights of the loss that the twin tries."""
        return (1.0, 10.0, 0.1, 100.0)


def same(value: Any, usual: Any) -> bool:
    """Whether two parameters are the same; markers such as pandas.NA have no truth value when compared."""
    return value is usual or (type(value) is type(usual) and bool(np.all(value == usual)))


def checked_grid(template: Any, grid: Any) -> dict[str, Sequence[Any]]:
    """Return what is tried: lists of values that the estimator takes, by names of parameters that it has."""
    if grid is not None and not isinstance(grid, Mapping):
        raise InvalidTypeError(f"grid={shown(grid)} must be a dict from names of parameters to lists, or None.")
    apart = clone(template)
    for name, values in dict(grid or {}).items():
        if not isinstance(name, str):
            raise InvalidTypeError(f"grid names {shown(name)}, which is no text; pass the names of parameters.")
        if name == "unlabeled":
            raise InvalidInputError("grid names 'unlabeled', but y has one marker; give it to the estimator.")
        listed = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)
        if not listed or np.ndim(values) > 1 or len(values) == 0:
            raise InvalidInputError(f"grid[{name!r}]={shown(values)} must be a list of at least one candidate.")
        for value in values:
            apart.set_params(**{name: value})._check_parameters()
    return dict(grid or {})


def folds_of(cv: Any, X: Matrix, labels: Labels | Targets, most: float = Candidates.most_folds) -> list[loo.Fold]:
    """Return the folds of the labelled samples; "auto": each alone up to `most` labels, beyond that as many folds."""
    l = labels.n_labeled
    if isinstance(cv, str):
        if cv == "loo" or l <= most:
            return loo.one_left_out(l)
        cv = int(most)
    splitter = LabeledKFold(int(cv), shuffle=False) if isinstance(cv, int | np.integer) else check_cv(cv)
    codes = np.zeros(l, dtype=int) if isinstance(labels, Targets) else labels.sign_codes
    folds = []
    for train, test in splitter.split(X[labels.labeled], codes):
        left_out = np.setdiff1d(np.arange(l), train)
        if not np.isin(test, left_out).all():
            raise InvalidInputError("the splitter of cv tests labelled samples that it trains on.")
        folds.append(loo.Fold(left_out, np.asarray(test)))
    return folds
