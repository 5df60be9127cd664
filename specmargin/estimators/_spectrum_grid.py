"""What `STORMCV` and `KTACV` share: the grid over shared eigenpairs, honest folds, the comparison, and the refit.

Every graph is decomposed once, and fewer eigenvectors are its lowest. A fold trains from the start without the left-out
labels, the spectrum included: nothing else would be honest, for it is the spectrum that the labels choose.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specmargin import solvers
from specmargin.checks import Rule, count, number
from specmargin.estimators._class_balance import Balance, ClassBalanceParameter
from specmargin.estimators._label_search import Trials, judged
from specmargin.estimators._parameter_rules import RULES, candidates
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier
from specmargin.estimators._shared_parameters import LaplacianParameters, SolverParameters, within_bound
from specmargin.estimators._spectrum_classifier import Graph, SpectrumClassifier, is_graph
from specmargin.estimators._supervised_twin import TwinnedSearch
from specmargin.exceptions import InvalidInputError, MarkerWarning, SolverError
from specmargin.graphs import NeighborSearch, check_adjacency, knn_graph, laplacian
from specmargin.labels import Labels
from specmargin.objectives import SpectrumMargin
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum, laplacian_eigenpairs
from specmargin.spectra.reuse import reused
from specmargin.typing import FloatArray, Matrix

_LOGGER = logging.getLogger(__name__)

_FREE = 1.0 - 1e-6
"""Share of C below which the largest multiplier does not feel it."""
_OF_THE_REFIT = (
    *("classes_", "transduction_", "scores_", "intercept_", "balance_", "result_", "n_iter_", "delta_", "B_"),
    *("_rounding", "graph_weights_", "eigenvalues_", "eigenvectors_", "spectrum_"),
)


class Neighborhood(NamedTuple):
    """One graph with its eigenpairs, and what describes it."""

    params: dict[str, Any]
    graph: Graph
    spectrum: Spectrum


@dataclass(kw_only=True, eq=False, repr=False)
class SpectrumCV(TwinnedSearch, LaplacianParameters, ClassBalanceParameter, SolverParameters, SemiSupervisedClassifier):
    """Grid, folds, the supervised twin and the refit; a subclass knows the problem that a spectrum makes.

    Parameters
    ----------
    Cs : sequence of float
        Weights of the loss to try, > 0, per unit mean kernel diagonal. Of settings that are equally good, and where the
        labels cannot choose, the first is taken.
    Bs : sequence of float or "auto"
        Bounds on the labelled decisions to try, as `B` of `STORM`; inf is the absolute margin.
    qs : sequence of int
        Numbers of eigenvectors to try; more than there are samples (or eigenpairs, where they are passed) are as many.
        It hardly matters: on 19 sets 50 and 200 erred alike, in the mean within half a point.
    n_neighbors : sequence of int
        Neighbours of the graphs to try, unless `fit` is given a graph; more than n - 1 are n - 1.
    power : int
        The eigenvalues are those of L^power. The order of the eigenvectors is the same for every power.
    solver : str or sequence of str
        Of the refit, like `solver_params`, `tol` and `max_iter`; the folds are solved by the package's own.
    random_state : int, Generator or None
        Starts the search for eigenvectors.

    Attributes
    ----------
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The spectrum, of sum one.
    B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none.
    graph_weights_ : ndarray of shape (1,) or (n_classes, 1)
        Ones: there is one graph.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    spectrum_ : Spectrum
        The eigenpairs as one object.

    Notes
    -----
    **Honest folds.** Every fold learns the spectrum and the classifier anew, without the left-out labels. ``graph=``
    of `fit` takes an adjacency, or the eigenpairs of one graph, as that of `STORM` does.
    """

    Cs: Sequence[float] = (1.0, 10.0, 0.1, 100.0)  # ties, and labels that cannot choose, take the first
    Bs: Sequence[float | str] = (1.5, np.inf)
    qs: Sequence[int] = (200,)
    n_neighbors: Sequence[int] = (10, 20, 5)  # type: ignore[assignment]  # a search takes a list
    kind: str = "symmetric"
    weight: str = "binary"
    metric: str = "euclidean"
    normalized: bool = True
    class_balance: str | None = "credible"
    power: int = 1
    random_state: Any = 0

    _refitted: ClassVar[type[SpectrumClassifier]]
    _parameter_rules: ClassVar[dict[str, Rule]] = {
        "Cs": candidates(number(above=0)),
        "Bs": candidates(RULES["B"]),
        "qs": candidates(count(1)),
        "n_neighbors": candidates(count(1)),
    }

    def _problem_of(self, spectrum: Spectrum, labels: Labels) -> SpectrumMargin:
        """Return the problem of two classes whose C and B are still open."""
        raise NotImplementedError

    def _graph(self, X: Matrix, graph: Any) -> Graph | None:
        if graph is None:
            return None
        if isinstance(graph, list | tuple) and len(graph) and all(map(is_graph, graph)):
            raise InvalidInputError(f"{type(self).__name__} searches over one graph, got {len(graph)}; pass one.")
        if not isinstance(graph, Spectrum):
            return check_adjacency(graph, X.shape[0])
        q = min(max(map(int, self.qs)), graph.q)
        return reused(graph, X.shape[0], q=q, normalized=self.normalized, power=self.power)

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: Graph | None) -> None:
        """Choose the parameters by the labelled samples, then learn from all."""
        self._check_criterion()
        sample_weight, c = self._taken_weight(), labels.weights
        folds = self._folds(X, labels)
        kept = self._counted(labels, folds)
        tested = np.concatenate([fold.test for fold in folds])[kept]
        shared = self._kept_parameters(["n_neighbors"])
        trials = Trials(self.criterion, tested)
        neighborhoods = list(self._neighborhoods(X, graph))
        for params, _, spectrum in neighborhoods:
            for q in self._counts(spectrum):
                raw, compared = (f[:, kept] for f in self._held_out(spectrum.truncate(q), labels, folds))
                tried = [{**params, "q": q, "B": B, "C": float(C)} for B in self.Bs for C in self.Cs]
                judgement = judged(raw, compared, labels.sign[tested], self.criterion, None if c is None else c[tested])
                trials.add(tried, judgement, common=shared)
        self._record(trials)
        _LOGGER.info(
            "%s: %d settings over %d graphs, best %s %.4g at %s",
            *(type(self).__name__, len(trials), len(neighborhoods)),
            *(self.criterion, -self.best_score_, self.best_params_),
        )
        self._refit(X, y, neighborhoods, sample_weight)
        self._compare(X, y, labels, folds, trials, self.Cs)

    def _refit(self, X: Matrix, y: Any, neighborhoods: list[Neighborhood], sample_weight: Any) -> None:
        """Fit to all samples, with the graph that was chosen, or its eigenpairs where they are all that is needed."""
        chosen = next(one for one in neighborhoods if one.params.items() <= self.best_params_.items())
        graph = chosen.spectrum if chosen.spectrum.q == self.best_params_["q"] else chosen.graph
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkerWarning)  # warned of before
            self.estimator_ = self._refitted(**self.best_params_).fit(X, y, graph=graph, sample_weight=sample_weight)
        for name in _OF_THE_REFIT:
            setattr(self, name, getattr(self.estimator_, name))

    def _neighborhoods(self, X: Matrix, graph: Graph | None) -> Iterator[Neighborhood]:
        """Yield every graph with the most eigenpairs that are asked for."""
        if isinstance(graph, Spectrum):
            yield Neighborhood({}, graph, graph)
            return
        n = X.shape[0]
        graphs: list[tuple[dict[str, Any], Graph]] = [({}, graph)] if graph is not None else []
        if graph is None:
            search = NeighborSearch(X, metric=self.metric, angles=self.weight == "cosine" or self.metric == "cosine")
            counts = dict.fromkeys(min(int(k), n - 1) for k in self.n_neighbors)
            make = partial(knn_graph, search, kind=self.kind, weight=self.weight)
            graphs = [({"n_neighbors": k}, make(n_neighbors=k)) for k in counts]
        for params, W in graphs:
            L = laplacian(W, normalized=self.normalized, power=self.power)
            q = min(max(map(int, self.qs)), n)
            yield Neighborhood(params, W, laplacian_eigenpairs(L, q=q, random_state=self.random_state))

    def _counts(self, spectrum: Spectrum) -> list[int]:
        return list(dict.fromkeys(min(int(q), spectrum.q) for q in self.qs))

    def _held_out(self, spectrum: Spectrum, labels: Labels, folds: list[loo.Fold]) -> tuple[FloatArray, FloatArray]:
        """Return the decisions at the tested samples, fold by fold, and what classes are compared by, per setting."""
        raw, compared = [], []
        for fold in folds:
            loo.check_fold(fold.left_out, labels.n_labeled)
            train = _without(labels, fold.left_out)
            parts = [self._decisions(spectrum, binary) for binary in train.one_vs_rest()]
            f = parts[0] if labels.is_binary else np.stack(parts, axis=-1)
            at = labels.labeled[fold.test]
            raw.append(f[:, at])
            compared.append(np.stack([self._balanced(one, train)[at] for one in f]))
        return np.concatenate(raw, axis=1), np.concatenate(compared, axis=1)

    def _balanced(self, f: FloatArray, labels: Labels) -> FloatArray:
        if self.class_balance is None or not np.isfinite(f).all():
            return f
        return Balance.of(f, labels, self.class_balance)(f)

    def _decisions(self, spectrum: Spectrum, labels: Labels) -> FloatArray:
        """Return the decisions of two classes at all samples, per setting; nan where there is none."""
        shape = (len(self.Bs), len(self.Cs), labels.n_samples)
        if (labels.sign == labels.sign[0]).all():
            return np.full(shape, labels.sign[0]).reshape(-1, shape[-1])
        decisions = np.full(shape, np.nan)
        try:
            path = _Path(self._problem_of(spectrum, labels))
            for c in np.argsort(self.Cs, kind="stable"):
                for k, B in enumerate(self.Bs):
                    result, _ = within_bound(B, partial(path, float(self.Cs[c])), labels.labeled)
                    decisions[k, c] = result.variables["f"]
        except (InvalidInputError, SolverError) as error:
            _LOGGER.info("q=%d with %d labels: %s", spectrum.q, labels.n_labeled, error)
        return decisions.reshape(-1, shape[-1])


class _Path:
    """Answers for ascending C, each under its bound; where no multiplier feels C, larger ones have the same answer."""

    def __init__(self, objective: SpectrumMargin) -> None:
        self.objective = objective
        self._before: dict[float, tuple[float, SolveResult]] = {}

    def __call__(self, C: float, bound: float) -> SolveResult:
        before, result = self._before.get(bound, (C, None))
        labels = self.objective.labels
        felt = None if result is None else labels.sign * result.variables["gamma"] / labels.weights_or_ones
        if result is not None and felt is not None and felt.max() < _FREE * before:
            return result
        # No warm start: for a learned spectrum it saves nothing, and where the intercept is an interval, as with a
        # small C, it would end at another point of it than the estimator does.
        result = solvers.spectrum_margin(self.objective.with_(C=C, B=bound), tol=1e-6)
        self._before[bound] = (C, result)
        return result


def _without(labels: Labels, left_out: Any) -> Labels:
    """Return the labels of the other labelled samples."""
    kept = np.setdiff1d(np.arange(labels.n_labeled), left_out)
    return labels.at(kept)
