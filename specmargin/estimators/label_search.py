"""An estimator's parameters chosen by the labelled samples alone: `LabelSearch`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import Rule, choice, shown, warn
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.label_weights import weights_of_classes
from specmargin.estimators._base.parameters import RULES, is_precomputed
from specmargin.estimators._base.semi_supervised import SemiSupervised, fitting
from specmargin.estimators._base.semi_supervised_regressor import SemiSupervisedRegressor
from specmargin.estimators._base.sklearn_bases import MetaEstimatorMixin
from specmargin.estimators._search.candidates import Candidates, checked_grid
from specmargin.estimators._search.filters import FilterCandidates
from specmargin.estimators._search.manifold import (
    FewerLabels,
    MarginCandidates,
    RidgeCandidates,
    SquaredCandidates,
)
from specmargin.estimators._search.spectra import AlignedCandidates, SpectrumCandidates
from specmargin.estimators._search.trials import OF_DECISIONS, Trials
from specmargin.estimators.alignment import KTA
from specmargin.estimators.comparison import Comparison, compare_errors
from specmargin.estimators.laprls import LapRLS
from specmargin.estimators.laprls_regressor import LapRLSRegressor
from specmargin.estimators.lapsvm import LapSVM
from specmargin.estimators.spectral_filter import SpectralFilterClassifier
from specmargin.estimators.spectrum_margin import STORM
from specmargin.exceptions import InvalidInputError, InvalidTypeError, MarkerWarning
from specmargin.labels import Targets
from specmargin.typing import AnyArray, FloatArray, IntArray, Matrix

__all__ = ["LabelSearch"]

_LOGGER = logging.getLogger(__name__)
_SHORTER: dict[type, type[Candidates]] = {
    LapRLS: SquaredCandidates,
    LapRLSRegressor: RidgeCandidates,
    LapSVM: MarginCandidates,
    STORM: SpectrumCandidates,
    KTA: AlignedCandidates,
    SpectralFilterClassifier: FilterCandidates,
}
"""Estimators whose left-out samples cost less than refits."""


def _has(name: str) -> Callable[[Any], bool]:
    return lambda own: hasattr(own._template, name)


@dataclass(kw_only=True, eq=False, repr=False)
class LabelSearch(MetaEstimatorMixin, SemiSupervised):
    """Parameters of an estimator, chosen by its decisions at labelled samples whose labels are left out.

    As `sklearn.model_selection.GridSearchCV`, for samples of which few are labelled: unlabelled samples always train,
    and left-out ones stay among them. Decisions at left-out samples follow without a refit of all samples where the
    estimator allows that; all others are refitted fold by fold.

    Parameters
    ----------
    estimator : classifier or regressor of this package, optional
        Estimator whose parameters are chosen; it has all others, such as the marker of unlabelled samples and the
        solver of the refit. By default ``LapRLS()``.
    grid : dict, optional
        What is tried, by the names of parameters and of those inside of parts: a dict from names to lists, a full
        product. The estimators of the table, and they alone, have usual candidates for what the grid does not name and
        the estimator does not set itself. A grid with another name than theirs is tried as it stands.
    criterion : {"auto", "nll", "sq", "01", "gcv"}, default "auto"
        What is asked of the decisions at left-out samples: "nll", log-loss of the probabilities that `predict_proba`
        would make of them; "sq", mean squared residual of f (in the table: before balancing); "01", errors, ties
        broken by nll; "gcv", generalised cross-validation of `LapRLS`, which looks at no fold. "auto": "nll", and of
        numbers "sq", which is all that can be asked of them.
    cv : "auto", "loo", int or splitter, default "auto"
        "auto": "loo" where that is exact, see the table; else leave one labelled sample out up to 10 labels, beyond
        that 10 folds. "loo": leave one out, whatever it takes. A number of folds (those of `LabeledKFold`, in the order
        of the samples), or any splitter, which is shown the labelled samples only.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted with `best_params_` to all samples. What it has learned are attributes of the search, too:
        ``classes_``, ``transduction_``, ``scores_``, ``result_``, ``kernel_``, ...
    best_params_ : dict
        Keyword arguments that make `best_estimator_` again: what was chosen, and all that its defaults do not imply.
    best_score_ : float
        The criterion with its sign changed, so that larger is better. **No estimate of accuracy**: see the notes.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarray
        ``params``, ``param_*``, ``supervised`` (whether no graph takes part), ``mean_test_score``,
        ``rank_test_score``, and every criterion under its name.
    baseline_ : estimator or None
        What knows the labelled samples alone. Of manifold regularization the supervised candidate that the same
        criterion chooses, fitted; `best_estimator_` itself where that is supervised, None where no ratio is 0. Of other
        classifiers an SVM (`RMM`) on the features of the labelled samples: kernel (linear, or RBF with half the median
        distance for sigma, with it, and with twice it) and C (per unit mean diagonal of the centred kernel) are chosen
        by the same folds and criterion. None of a precomputed kernel, and of numbers otherwise.
    baseline_score_ : float
        Its criterion with the sign changed, as `best_score_`; nan where there is none.
    comparison_ : specmargin.estimators.comparison.Comparison or None
        The search against the baseline, by their errors at left-out labels, each label judged by the settings that the
        other labels choose: exact McNemar test, and a ``verdict`` in words whether the unlabelled samples helped, "too
        few labels to judge" below ten.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.

    Notes
    -----
    =============================== ================================ ====================================== ===========
    estimator                       names with a shorter way         usual candidates                       left out by
    =============================== ================================ ====================================== ===========
    `LapRLS`, `LapRLSRegressor`     kernel, graph, laplacian,        kernel "linear", RBF("0.5 median"),    exact "loo"
                                    gamma_A, gamma_I                 RBF("median"); 2, 5, 15, 50
                                                                     neighbours; powers 1, 2, 4; gamma_I
                                                                     "0 gamma_A", "100 gamma_A"; gamma_A
                                                                     1e-4 to 1, nine values
    `LapSVM` with a hinge           the same                         the same, gamma_A five powers of ten   exact "loo"
    `STORM`, `KTA`                  graph, laplacian, q, B, C        10, 20, 5 neighbours; q 200; B 1.5,    folds
                                                                     inf (`KTA`: inf); C 1, 10, 0.1, 100
    `SpectralFilterClassifier`      learn, filters, self_loops       four rules; "resolvents", "powers";    folds
                                                                     self-loops 1
    =============================== ================================ ====================================== ===========

    **Manifold regularization**: a factorisation is paid for each kernel, graph, Laplacian and distinct ratio gamma_I /
    gamma_A. "0 gamma_A" is supervised learning, tried once per kernel, and of no cost. The usual gamma_A are in units
    of tr(H G H) / l, G the deformed kernel at gamma_A = 1 and H the centring, which suit any kernel and graph. Numbers
    for gamma_I need numbers for gamma_A. Neighbours decide, with the power: images want 4 to 10, views of one object
    2, Gaussian clusters and text 15 to 50; more than n - 1 are n - 1. `LapRLS` is faster than `LapSVM`, and chooses
    from the same grid.

    **Spectra**: every fold learns the spectrum (the alignment, too) and the classifier anew, without the left-out
    labels, over eigenpairs that are computed once per graph. With B = inf in the grid STOAM is a candidate. ``graph=``
    of `fit` takes an adjacency, or the eigenpairs of one graph. More eigenvectors than there are samples are as many.

    **Filters**: every fold learns the weights anew, and chooses C and penalty by leave-one-out among its own labels.

    The labelled samples alone choose. The minimum of a criterion over many settings is smaller than the criterion of a
    setting named in advance: `best_score_` is no estimate of the error. Keep labels aside for that.

    A sample that is the only labelled one of its class, or whose fold leaves one class to train on, does not count: no
    setting could name its class. If none counts, as with one label per class, the labels cannot choose, and a warning
    says what is taken. Classes are balanced while choosing and after it. Of equally good settings the first is taken.

    **Weights** of samples and classes are those of the losses, of the fits and of what chooses: criteria are means by
    them, and the supervised candidates have them, too. ``comparison_`` counts labels, whatever they weigh. To make the
    fit again, pass `sample_weight` again; `best_params_` has the `class_weight`.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006. Melacci & Belkin, Laplacian support vector machines
    trained in the primal, JMLR 2011. Golub, Heath & Wahba, Generalized cross-validation as a method for choosing a good
    ridge parameter, Technometrics 1979. Zhu, Kandola, Ghahramani & Lafferty, Nonparametric transforms of graph kernels
    for semi-supervised learning, NIPS 2004. Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
    >>> search = sm.LabelSearch(sm.LapRLS()).fit(X, y)
    >>> bool((search.transduction_ == y_true).mean() > 0.95), search.comparison_.verdict[:26]
    (True, 'cannot tell with 12 labels')
    >>> again = sm.LapRLS(**search.best_params_).fit(X, y)
    >>> bool((again.scores_ == search.scores_).all())
    True
    >>> search = sm.LabelSearch(sm.STORM(), {"q": [10, 20], "graph": [5]}).fit(X, y)
    >>> sorted(search.best_params_), search.score(X, y_true) > 0.9
    (['B', 'C', 'graph', 'q'], True)
    """

    estimator: Any = field(default=None, kw_only=False)
    grid: Mapping[str, Sequence[Any]] | None = field(default=None, kw_only=False)
    criterion: str = "auto"
    cv: Any = "auto"

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "cv": lambda name, value: value if isinstance(value, str) and value == "auto" else RULES["cv"](name, value),
        "criterion": choice("auto", *OF_DECISIONS, "gcv"),
    }

    def __getattr__(self, name: str) -> Any:
        """Return what else the chosen estimator has learned."""
        if "best_estimator_" in vars(self) and name.endswith("_") and not name.startswith("_"):
            return getattr(self.best_estimator_, name)
        elsewhere = "; best_estimator_ has it" if hasattr(self._template, name) else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{elsewhere}")

    def __sklearn_tags__(self) -> Any:
        tags = deepcopy(get_tags(self._template))
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @classmethod
    def _usual(cls) -> LapRLS:
        return LapRLS()

    @property
    def _template(self) -> Any:
        return self._usual() if self.estimator is None else self.estimator

    @property
    def _marker(self) -> Any:
        return getattr(self._template, "unlabeled", np.nan)

    @property
    def _is_precomputed(self) -> bool:
        kernels = self.grid.get("kernel", []) if isinstance(self.grid, Mapping) else []
        return any(map(is_precomputed, kernels)) or self._template._is_precomputed

    @property
    def class_weight(self) -> Any:
        """Weights of the classes, those of the estimator whose parameters are chosen."""
        return self._template.class_weight

    def _check_parameters(self) -> None:
        template = self._template
        if not isinstance(template, SemiSupervisedClassifier | SemiSupervisedRegressor):
            raise InvalidTypeError(
                f"estimator={shown(template)} is no classifier or regressor of this package; pass one, such as "
                "specmargin.LapSVM(), or take sklearn.model_selection.GridSearchCV(..., cv=specmargin.LabeledKFold())."
            )
        template._check_parameters()
        super()._check_parameters()

    def _encoded(self, y: Any, n: int) -> Any:
        return copy(self._template)._encoded(y, n)  # the estimator that was passed stays unfitted

    def _graph(self, X: Matrix, graph: Any) -> Any:
        return graph  # the candidates make them, or check this one

    @available_if(_has("predict_proba"))
    def fit_held_out(
        self,
        X: Matrix,
        y: Any,
        folds: Iterable[tuple[IntArray, IntArray]],
        *,
        progress: Callable[[str], None] | None = None,
    ) -> FloatArray:
        """Fit, and return the probabilities that the whole search finds for the left-out labels of each fold.

        Nothing that chooses has seen them, so that their errors are those of the search. It is for `LapRLS` over a
        stored kernel, the functions of up to 10,000 samples: no fold costs a factorisation of its own.

        Parameters
        ----------
        X, y
            The same as for `fit`; y by row.
        folds : iterable of pairs of ndarray
            Samples that train and that are tested, as `specmargin.LabeledKFold` splits them: labels of the latter are
            hidden. Two classes are left in each, and two labels of one of them.
        progress : callable, optional
            Gets a line of text after each factorisation; what it raises ends the fit.

        Returns
        -------
        ndarray of shape (n, n_classes)
            0 of a class that the fold hides, nan of samples that are in no fold.

        Raises
        ------
        ValueError
            As `fit`, for another estimator, and for a fold that leaves too few labels.

        Examples
        --------
        >>> import specmargin as sm
        >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
        >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
        >>> search = sm.LabelSearch(sm.LapRLS(), {"gamma_A": [0.1, 1.0], "graph": [5]})
        >>> p = search.fit_held_out(X, y, sm.LabeledKFold(3).split(X, y))
        >>> int((p[y >= 0].argmax(axis=1) == y[y >= 0]).sum()), int((y >= 0).sum())
        (10, 12)
        """
        with fitting(self):
            X, y, labels, _, _ = self._read(X, y, None, None)
            whole, criterion = self._candidates(X, y, labels, None, None)
            if type(whole) is not SquaredCandidates or not whole.shares(self._template, len(y)):
                raise InvalidInputError(
                    f"{self._template!r} shares no factorisations among folds; fit a clone of the search for each fold."
                )
            whole.parts, whole.progress = [self._without(whole, test) for _, test in folds], progress
            self._choose(whole, criterion)
        p = np.full((len(y), len(labels.classes)), np.nan)
        for part in whole.parts:
            p[part.rows] = 0.0
            known = np.isin(labels.classes, part.labels.classes)
            p[np.ix_(part.rows, known)] = part.probabilities(criterion)
        return p

    def _without(self, whole: SquaredCandidates, test: IntArray) -> FewerLabels:
        """Return the search without the labels of some samples."""
        labels, marker = whole.labels, self._template.unlabeled
        seen = np.full(labels.n_samples, marker, dtype=object)
        seen[labels.labeled] = labels.classes[labels.sign_codes]
        seen[test] = marker
        known = self._encoded(seen, labels.n_samples)
        if self.class_weight is not None:
            known = known.weighted(weights_of_classes(known, self.class_weight))
        return FewerLabels.of(whole, seen, known, test)

    def _learn(self, X: Matrix, y: Any, labels: Any, graph: Any, sample_weight: Any) -> None:
        """Choose the parameters by the labelled samples, then learn from all."""
        self._choose(*self._candidates(X, y, labels, graph, sample_weight))

    def _candidates(self, X: Matrix, y: Any, labels: Any, graph: Any, sample_weight: Any) -> tuple[Candidates, str]:
        """Return what is tried, and the criterion."""
        template, grid = self._template, checked_grid(self._template, self.grid)
        kind = _SHORTER.get(type(template), Candidates)
        if not kind.serve(template, graph) or not {name.partition("__")[0] for name in grid} <= {*kind.names}:
            kind = Candidates
        if not (grid or kind.usual):
            raise InvalidInputError(
                f"grid={self.grid!r} names nothing to try, and {type(template).__name__} has no usual candidates here; "
                f"pass a dict such as {{'{next(iter(template.get_params()))}': [...]}}."
            )
        known = ("sq",) if isinstance(labels, Targets) else kind.criteria
        criterion = choice(*known)("criterion", known[0] if self.criterion == "auto" else self.criterion)
        candidates = kind(template, grid, X, y, labels, graph, sample_weight, self.cv)
        if criterion in OF_DECISIONS and not candidates.can_choose:
            warn(
                "LabelSearch: no fold tests a class that it trains on, so that the labelled samples cannot choose; "
                f"{kind.instead.format(type(template).__name__)}. Label two samples of a class"
                f"{', or take criterion=' + repr(known[-1]) if known[-1] not in OF_DECISIONS else ''}."
            )
        return candidates, criterion

    def _choose(self, candidates: Candidates, criterion: str) -> None:
        """Choose what the criterion is best for, and learn from all."""
        trials = Trials(candidates.settings(), candidates.labels, candidates.folds, criterion)
        self._record(trials, candidates)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkerWarning)  # warned of before
            best = candidates.made(trials.tried[self.best_index_])
            known = {"graph": candidates.graph_of(self.best_params_), "sample_weight": candidates.sample_weight}
            best.fit(candidates.X, candidates.y, **known)
        for name in ("_rows", "nodes_", "feature_names_in_"):  # of what `fit` was given
            if name in vars(self):
                setattr(best, name, vars(self)[name])
        self.best_estimator_ = best
        self._compare(trials, candidates)

    def _record(self, trials: Trials, candidates: Candidates) -> None:
        """Keep what was tried and what is chosen."""
        self.best_index_ = trials.best()
        self.cv_results_ = trials.results(candidates.common())
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = dict(self.cv_results_["params"][self.best_index_])
        _LOGGER.info(
            "LabelSearch: %d settings, best %s %.4g at %s",
            *(len(trials.tried), trials.criterion, -self.best_score_, self.best_params_),
        )

    def _compare(self, trials: Trials, candidates: Candidates) -> None:
        """Keep what knows the labelled samples alone, and what the labels say of both."""
        self.baseline_, self.baseline_score_, wrong = candidates.baseline(trials, self.best_estimator_)
        self.comparison_: Comparison | None = None
        if self.baseline_ is not None and not isinstance(candidates.labels, Targets):
            differs = self.best_estimator_.transduction_ != self.baseline_.transduction_
            self.comparison_ = compare_errors(trials.wrong_when_chosen_by_others(), wrong, float(np.mean(differs)))

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    @available_if(_has("decision_function"))
    def decision_function(self, X: Matrix) -> FloatArray:
        """Return the decisions of the chosen estimator about new samples, (m,) or (m, n_classes)."""
        return np.asarray(self._best().decision_function(X))

    def predict(self, X: Matrix) -> AnyArray:
        """Return the classes (m,), or the numbers, that the chosen estimator predicts of new samples."""
        return np.asarray(self._best().predict(X))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probabilities (m, n_classes) of the chosen estimator at new samples."""
        return np.asarray(self._best().predict_proba(X))

    def score(self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the score of the chosen estimator on labelled samples: accuracy, or R^2 of numbers."""
        return float(self._best().score(X, y, sample_weight))
