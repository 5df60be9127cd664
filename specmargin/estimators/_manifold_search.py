"""What `LapRLSCV` and `LapSVMCV` share: folds, criteria, the choice, the refit, and the best supervised candidate.

The grid and its factorisations are in `_manifold_grid`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from specmargin.candidates.comparison import Comparison, compare_errors
from specmargin.estimators._class_balance import Balance, ClassBalanceParameter, in_force
from specmargin.estimators._fit_warnings import outside
from specmargin.estimators._manifold_grid import Deformed, ManifoldGrid
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier
from specmargin.estimators._shared_parameters import SolverParameters
from specmargin.estimators.lapsvm import LapSVM
from specmargin.exceptions import InvalidInputError, MarkerWarning
from specmargin.labels import Labels
from specmargin.model_selection import LabeledKFold
from specmargin.objectives import leave_one_out as loo
from specmargin.typing import BoolArray, FloatArray, IntArray, Matrix, SparseArray

_LOGGER = logging.getLogger(__name__)

CRITERIA = ("nll", "sq", "01", "gcv")
_TIE = 1e-3
"""Of nll, by which equal numbers of errors are told apart: few labels make many ties."""
_OF_THE_REFIT = (
    *("classes_", "transduction_", "scores_", "dual_coef_", "intercept_", "balance_", "result_", "gamma_"),
    *("gamma_A_", "gamma_I_", "n_iter_"),
)


class LeftOut(NamedTuple):
    """The labelled samples, those that each fold leaves out, and how the scores of the classes are compared."""

    labels: Labels
    folds: list[loo.Fold]
    rule: str | None


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
        self._values: list[dict[str, FloatArray]] = []
        self._losses: list[FloatArray] = []
        self._wrong: list[BoolArray] = []

    def __len__(self) -> int:
        return len(self._params)

    def add(
        self,
        tried: list[dict[str, Any]],
        common: dict[str, Any],
        supervised: bool,
        values: dict[str, FloatArray],
        losses: FloatArray,
        wrong: BoolArray,
    ) -> None:
        """Record P settings: every criterion (P,), and of each test the loss that chooses and the error, (P, m)."""
        self._tried += tried
        self._params += [{**common, **one} for one in tried]
        self._supervised += [supervised] * len(tried)
        self._values.append(values)
        self._losses.append(losses)
        self._wrong.append(wrong)

    @property
    def supervised(self) -> BoolArray:
        """Which settings have no graph."""
        return np.array(self._supervised)

    def values(self, name: str) -> FloatArray:
        """Return one criterion of all settings; smaller is better."""
        return np.concatenate([values[name] for values in self._values])

    def best(self, among: BoolArray | None = None) -> int:
        """Return the setting that the criterion chooses, of all or of some."""
        values = self.values(self.criterion)
        values = np.where(np.isnan(values), np.inf, values)
        return int((values if among is None else np.where(among, values, np.inf)).argmin())

    def wrong_when_chosen_by_others(self, among: BoolArray | None = None) -> BoolArray:
        """Return which labelled samples are named wrongly by the setting that all other samples choose.

        Of a setting that was chosen by the errors themselves, those say too little. Where the criterion looks at no
        fold ("gcv"), they are the errors of the one setting that it chooses.
        """
        each, first = np.unique(self._samples, return_index=True)
        if len(each) == 0:
            return np.zeros(0, dtype=bool)
        wrong = np.concatenate(self._wrong)[:, first]
        if self.criterion == "gcv":
            return np.asarray(wrong[self.best(among)])
        losses = np.concatenate(self._losses)
        own = np.stack([losses[:, self._samples == i].sum(axis=1) for i in each], axis=1)
        others = losses.sum(axis=1)[:, None] - own
        others[np.isnan(others)] = np.inf
        if among is not None:
            others[~among] = np.inf
        return np.asarray(wrong[others.argmin(axis=0), np.arange(len(each))])

    def results(self, names: Sequence[str]) -> dict[str, Any]:
        """Return `cv_results_`."""
        values = self.values(self.criterion)
        order = np.where(np.isnan(values), np.inf, values)
        columns = list(dict.fromkeys(name for one in self._tried for name in one))
        return {
            **{f"param_{name}": _column([one.get(name, np.nan) for one in self._tried]) for name in columns},
            "params": self._params,
            "supervised": self.supervised,
            "mean_test_score": -values,
            "rank_test_score": rankdata(order, method="min").astype(np.int32),
            **{name: self.values(name) for name in names},
        }


def _column(values: list[Any]) -> Any:
    if all(isinstance(value, float | int) for value in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


@dataclass(kw_only=True, eq=False, repr=False)
class ManifoldCV(ManifoldGrid, ClassBalanceParameter, SolverParameters, SemiSupervisedClassifier):
    """Folds, criteria and the refit; a subclass knows the decisions of left-out samples.

    Parameters
    ----------
    criterion : {"nll", "sq", "01"}
        Of the decisions of left-out samples: "nll", log-loss of the probabilities that `LapRLS.predict_proba` would
        make of them; "sq", mean squared residual of f before balancing; "01", errors, ties broken by nll.
    cv : "loo", int or splitter
        "loo": leave one labelled sample out. A number of folds (stratified, in the order of the samples), or any
        splitter, which is shown the labelled samples only. Left-out samples stay as unlabelled ones.
    solver : str or sequence of str
        Of the refit, as for `LapSVM`, like `solver_params`, `tol` and `max_iter`.

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
    baseline_ : estimator or None
        The supervised candidate that the same criterion chooses, fitted; `estimator_` itself where that is supervised,
        None where no ratio is 0.
    comparison_ : specmargin.candidates.Comparison or None
        The search over all candidates against that over the supervised ones, by their errors at left-out labels, each
        label judged by the settings that the other labels choose. Its ``verdict`` says in words whether the unlabelled
        samples helped.
    dual_coef_ : ndarray of shape (n_outputs, n)
        Coefficients, as of `LapSVM`.
    gamma_ : float
        The kernel parameter that was chosen.
    gamma_A_, gamma_I_ : float
        The weights that were chosen.

    Notes
    -----
    The labelled samples alone choose. The minimum of a criterion over many settings is smaller than the criterion of
    a setting named in advance: `best_score_` is no estimate of the error. Keep labels aside for that.

    A sample that is the only labelled one of its class, or whose fold leaves one class to train on, does not count:
    no setting could name its class. If none counts, as with one label per class, the setting nearest to the defaults of
    the estimator is taken, with a warning. Classes are balanced while choosing and after it.
    """

    criterion: str = "nll"
    cv: Any = "loo"
    class_balance: str | None = "shrunk"

    _criteria: ClassVar[tuple[str, ...]] = CRITERIA
    _refitted: ClassVar[type[LapSVM]] = LapSVM

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: SparseArray | None) -> None:
        """Choose the parameters by the labelled samples, then learn from all."""
        self._check_grid()
        folds = self._folds(X, labels)
        left_out = LeftOut(labels, folds, in_force(self.class_balance, labels))
        kept = loo.counted(labels.sign, folds)
        tested = np.concatenate([fold.test for fold in folds])[kept]
        trials = Trials(self.criterion, tested)
        distances: list[float] = []
        n_factorized = 0
        for deformed in self._factorisations(X, labels, graph):
            n_factorized += not deformed.is_supervised
            path = loo.RidgePath(deformed.reduction.G, labels.sign, self.fit_intercept)
            gamma_As, tried = self._tried(deformed, path)
            raw, maps = self._held_out(path, gamma_As, deformed, left_out)
            raw = raw[:, kept]
            compared = np.stack([change(f) for change, f in zip(maps, raw, strict=True)]) if maps else raw
            values, losses = self._judged(raw, compared, labels.sign[tested], path, gamma_As)
            wrong = loo.wrong(compared, labels.sign[tested])
            trials.add(tried, self._common, deformed.is_supervised, values, losses, wrong)
            if not kept.any():
                distances += [self._from_defaults(X, deformed, path, one) for one in tried]
            _LOGGER.debug(
                "%s, ratio %g: %s %.4g", deformed.params, deformed.ratio, self.criterion, np.min(values[self.criterion])
            )
        self.best_index_ = trials.best()
        supervised = trials.best(trials.supervised)
        if self.criterion != "gcv" and not kept.any():
            self.best_index_ = int(np.argmin(distances))
            supervised = int(np.where(trials.supervised, distances, np.inf).argmin())
            warnings.warn(
                f"{type(self).__name__}: no fold tests a class that it trains on, so that the labelled samples cannot "
                f"choose; the setting nearest to the defaults of {self._refitted.__name__} is taken. Label two samples "
                "of a class, or take criterion='gcv' of LapRLSCV.",
                stacklevel=outside(),
            )
        self.cv_results_ = trials.results(self._criteria)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = dict(self.cv_results_["params"][self.best_index_])
        _LOGGER.info(
            "%s: %d settings from %d factorisations, best %s %.4g at %s",
            *(type(self).__name__, len(trials), n_factorized),
            *(self.criterion, -self.best_score_, self.best_params_),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkerWarning)  # warned of before
            self.estimator_ = self._refitted(**self.best_params_).fit(X, y, graph=graph)
        for name in _OF_THE_REFIT:
            setattr(self, name, getattr(self.estimator_, name))
        self._compare(trials, supervised, X, y)

    def _compare(self, trials: Trials, supervised: int, X: Matrix, y: Any) -> None:
        """Fit the best supervised setting, and compare what the labels say of both."""
        self.baseline_: Any = None
        self.comparison_: Comparison | None = None
        without = trials.supervised
        if not without.any():
            return
        if supervised == self.best_index_:
            self.baseline_ = self.estimator_
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the answer is that of `estimator_`, which has had its say
                self.baseline_ = self._refitted(**self.cv_results_["params"][supervised]).fit(X, y)
        self.comparison_ = compare_errors(
            trials.wrong_when_chosen_by_others(),
            trials.wrong_when_chosen_by_others(without),
            float(np.mean(self.transduction_ != self.baseline_.transduction_)),
        )

    def _held_out(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        """Return the decisions at the tested samples, (n_settings, m[, K]), and the balance per setting if any."""
        raise NotImplementedError

    def _decision(self, X: Matrix) -> FloatArray:
        return self.estimator_.decision_function(X)

    def _check_grid(self) -> None:
        super()._check_grid()
        if self.criterion not in self._criteria:
            raise InvalidInputError(
                f"criterion={self.criterion!r} is unknown here; take one of {', '.join(self._criteria)}."
            )

    def _folds(self, X: Matrix, labels: Labels) -> list[loo.Fold]:
        l = labels.n_labeled
        if isinstance(self.cv, str):
            return loo.one_left_out(l)
        codes = (labels.sign > 0).astype(int) if labels.is_binary else labels.sign.argmax(axis=1)
        whole = isinstance(self.cv, int | np.integer)
        splitter = LabeledKFold(int(self.cv), shuffle=False) if whole else check_cv(self.cv)
        folds = []
        for train, test in splitter.split(X[labels.labeled], codes):
            left_out = np.setdiff1d(np.arange(l), train)
            if not np.isin(test, left_out).all():
                raise InvalidInputError("the splitter of cv tests labelled samples that it trains on.")
            folds.append(loo.Fold(left_out, np.asarray(test)))
        return folds

    def _judged(
        self, raw: FloatArray, compared: FloatArray, sign: FloatArray, path: loo.RidgePath, gamma_As: FloatArray
    ) -> tuple[dict[str, FloatArray], FloatArray]:
        """Return every criterion per setting, and per test the loss that chooses.

        Criteria of the decisions are nan where no sample counts.
        """
        values = dict.fromkeys(self._criteria, np.full(len(gamma_As), np.nan))
        losses = np.zeros((len(gamma_As), 0))
        if len(sign):
            log_losses, squares = loo.log_losses(compared, sign), loo.squares(raw, sign)
            each = {"nll": log_losses, "sq": squares, "01": loo.wrong(compared, sign) + _TIE * log_losses}
            values |= {name: parts.mean(axis=1) for name, parts in each.items()}
            losses = each.get(self.criterion, log_losses)
        if "gcv" in self._criteria:
            values["gcv"] = path.gcv(gamma_As)
        return values, losses
