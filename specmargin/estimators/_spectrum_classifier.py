"""What the classifiers over a graph spectrum share: graphs, eigenpairs, one problem per class, new samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from specmargin import solvers
from specmargin.checks import Rule, outside
from specmargin.estimators._calibrated import CalibratedScores
from specmargin.estimators._class_balance import Balance, ClassBalanceParameter
from specmargin.estimators._label_weights import BuildsWeightedProblem, LabelWeights
from specmargin.estimators._parameter_rules import RULES, per_graph
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier, columns, unpacked
from specmargin.estimators._shared_parameters import (
    LaplacianParameters,
    SolverParameters,
    bound_in_use,
    neighbor_count,
    within_bound,
)
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import check_adjacency, knn_graph, laplacian, neighbor_weights
from specmargin.graphs.neighbor_graphs import with_graph_sections
from specmargin.labels import Labels
from specmargin.objectives import RMM, SpectrumMargin
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum, extend, laplacian_eigenpairs
from specmargin.spectra.reuse import USUAL_Q, reused, whole_eigenspaces
from specmargin.typing import FloatArray, Matrix, SparseArray

_NEIGHBORS = ("n_neighbors", "weight", "metric")
_PER_GRAPH = (*_NEIGHBORS, "kind", "normalized", "power", "q")

Spectra: TypeAlias = Spectrum | list[Spectrum]
Graph: TypeAlias = SparseArray | Spectrum
"""An adjacency, or its eigenpairs where they were passed."""
PerGraph: TypeAlias = Any
"""One value, or a list with one per graph."""


class Answer(NamedTuple):
    """What one binary problem gives."""

    result: SolveResult
    """Of the problem that chose the spectrum."""
    classifier: SolveResult
    """Of the classifier, with ``delta``, ``b`` and ``f``; the same result where both are learned in one."""
    B: float = np.inf
    """The bound in use."""


@with_graph_sections
@dataclass(kw_only=True, eq=False, repr=False)
class GraphSpectrumClassifier(CalibratedScores, LaplacianParameters, ClassBalanceParameter, SemiSupervisedClassifier):
    """The graph, its eigenpairs, one problem per class, and the extension of the scores to new samples.

    A subclass implements ``_solve(spectrum, labels)`` for two classes.

    Parameters
    ----------
    C : float
        Weight of the loss per unit mean kernel diagonal, > 0.
    q : int
        Number of eigenvectors per graph, at most n; by default min(200, n).
    kind : <kinds>
        How the neighbour relation is made symmetric. The mutual graph of the paper falls apart on real data.
    power : int
        The eigenvalues are those of L^power. The order of the eigenvectors, which is all that an ordered spectrum
        needs, is the same for every power.
    tol : float
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    random_state : int, Generator or None
        Starts the search for eigenvectors.

    Attributes
    ----------
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The spectrum, of sum one.
    graph_weights_ : ndarray of shape (n_graphs,) or (n_classes, n_graphs)
        Share of each graph in the trace; one where there is one graph.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    spectrum_ : Spectrum or list of Spectrum
        The eigenpairs as one object, per graph where there are several: ``graph=`` of other fits takes it.

    Notes
    -----
    **Many fits over one graph.** Neighbours and eigenpairs ignore the labels. Compute them once and pass them
    on: ``spectrum = specmargin.spectra.laplacian_eigenpairs(W, q=200)``, then ``fit(X, y, graph=spectrum)`` of any
    estimator over a spectrum; or ``graph=other.spectrum_`` of one that is fitted. The answer is the same. The rows of X
    must be the nodes, in their order; ``normalized`` must be that of the spectrum, and with a smaller q the lowest
    eigenpairs are taken. The eigenpairs of L itself serve every `power`. By default q is min(200, n) here, too, or
    all that the spectrum has.

    New samples get the weighted mean of the scores of their nearest training samples (the Nyström extension of
    the eigenvectors to lowest order); a sample that coincides with training samples gets theirs. A component of the
    graph without a labelled sample is predicted by the intercept; a warning counts such samples.
    """

    C: float = 1.0
    q: PerGraph = None
    n_neighbors: PerGraph = None
    kind: PerGraph = "symmetric"
    weight: PerGraph = "binary"
    metric: PerGraph = "euclidean"
    normalized: PerGraph = True
    class_balance: str | None = "credible"
    power: PerGraph = 1
    tol: float = 1e-6
    random_state: Any = 0

    _several_graphs: ClassVar[bool] = False
    _takes_graph_alone: ClassVar[bool] = True
    _parameter_rules: ClassVar[dict[str, Rule]] = {name: per_graph(RULES[name]) for name in _PER_GRAPH}

    def _fit(self, X: Matrix, labels: Labels, graph: list[Graph]) -> tuple[FloatArray, list[SolveResult]]:
        spectra = self._spectra(graph)
        over = spectra if len(spectra) > 1 else spectra[0]
        answers = [self._solve(over, binary) for binary in labels.one_vs_rest()]
        self._X_fit = X
        scores = self._record(spectra, answers)
        self.balance_ = Balance.of(scores, labels, self.class_balance)
        return self.balance_(scores), [result for answer in answers for result in dict.fromkeys(answer[:2])]

    def _decisions_without(self, apart: Any, X: Matrix, labels: Labels, graph: Any) -> FloatArray:
        # Eigenvectors know no labels: all folds share them.
        answers = [apart._solve(self.spectrum_, binary) for binary in labels.one_vs_rest()]
        scores = columns([np.asarray(answer.classifier.variables["f"]) for answer in answers])
        return Balance.of(scores, labels, self.class_balance)(scores)

    def _spectra(self, graphs: list[Graph]) -> list[Spectrum]:
        """Return the eigenpairs of the graphs: those that were passed, or computed ones."""
        spectra = []
        for W, options in zip(graphs, self._per_graph(len(graphs)), strict=True):
            if not isinstance(W, Spectrum):
                q = min(USUAL_Q, W.shape[0]) if options["q"] is None else options["q"]
                L = laplacian(W, normalized=options["normalized"], power=options["power"])
                W = laplacian_eigenpairs(L, q=q, random_state=self.random_state)
            spectra.append(whole_eigenspaces(W, stacklevel=outside()))
        return spectra

    def _record(self, spectra: list[Spectrum], answers: list[Answer]) -> FloatArray:
        """Keep what was learned; return the decisions of the training samples."""
        classifiers = [answer.classifier.variables for answer in answers]
        delta = np.array([variables["delta"] for variables in classifiers])
        ends = np.cumsum([spectrum.q for spectrum in spectra])[:-1]
        shares = np.column_stack([part.sum(axis=1) for part in np.split(delta, ends, axis=1)])
        bounds = np.array([answer.B for answer in answers])
        binary = len(answers) == 1
        self.delta_ = delta[0] if binary else delta
        self.graph_weights_ = shares[0] if binary else shares
        self.spectrum_ = spectra if len(spectra) > 1 else spectra[0]
        self.eigenvalues_ = np.concatenate([spectrum.eigenvalues for spectrum in spectra])
        # One graph's are not copied: they are the largest part of what is kept.
        first = spectra[0].eigenvectors
        self.eigenvectors_ = np.hstack([s.eigenvectors for s in spectra]) if len(spectra) > 1 else first
        self.intercept_ = np.array([float(variables["b"]) for variables in classifiers])
        self.result_ = unpacked([answer.result for answer in answers])
        if hasattr(self, "B"):
            self.B_ = float(bounds[0]) if binary else bounds
        scores = columns([np.asarray(variables["f"]) for variables in classifiers])
        # Each graph extends its own share of the decisions by its own neighbours; they are balanced afterwards.
        self._parts = [scores]
        if len(spectra) > 1:
            v = columns([np.asarray(variables["v"]) for variables in classifiers])
            pieces = zip(spectra, np.split(v, ends), strict=True)
            self._parts = [np.sqrt(len(s.eigenvectors)) * (s.eigenvectors @ piece) for s, piece in pieces]
        return scores

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if isinstance(state.get("spectrum_"), list):
            del state["eigenvectors_"]  # those of the spectra, next to each other
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if isinstance(spectra := state.get("spectrum_"), list):
            self.eigenvectors_ = np.hstack([spectrum.eigenvectors for spectrum in spectra])

    def _solve(self, spectrum: Any, labels: Labels) -> Answer:
        raise NotImplementedError

    def _per_graph(self, n_graphs: int | None = None) -> list[dict[str, Any]]:
        """Return the parameters of each graph, single values repeated: of those that are described, or of n_graphs."""
        values = {name: getattr(self, name) for name in _PER_GRAPH}
        lists = {name: len(value) for name, value in values.items() if isinstance(value, list | tuple | np.ndarray)}
        count = max(lists.values(), default=1)
        if count > 1 and not self._several_graphs:
            name = max(lists, key=lambda name: lists[name])
            self._refuse_several(count, f" ({name}={values[name]!r} describes as many)")
        if 0 in lists.values() or len(set(lists.values())) > 1:
            raise InvalidInputError(
                f"lists of graph parameters must have one length, got {lists}; single values are repeated."
            )
        return [
            {name: value[g % lists[name]] if name in lists else value for name, value in values.items()}
            for g in range(n_graphs or count)
        ]

    def _graph(self, X: Matrix, graph: Any) -> list[Graph]:
        """Return the neighbour graphs, or the checked ones that were passed."""
        graphs: list[Graph]
        described = self._per_graph()
        if graph is None:
            graphs = [knn_graph(X, kind=each["kind"], **_neighbors(each, X.shape[0])) for each in described]
        else:
            several = isinstance(graph, list | tuple) and len(graph) > 0 and all(map(is_graph, graph))
            graphs = graph if several else [graph]
            if len(described) not in (1, len(graphs)):
                raise InvalidInputError(
                    f"{len(graphs)} graphs were passed, but the parameters n_neighbors, kind, weight and metric, by "
                    f"which new samples find their neighbours, describe {len(described)}; give single values or "
                    f"{len(graphs)} each."
                )
        if len(graphs) > 1 and not self._several_graphs:
            self._refuse_several(len(graphs))
        return graphs if graph is None else self._checked(X, graphs)

    def _checked(self, X: Matrix, graphs: list[Any]) -> list[Graph]:
        """Return the graphs that were passed, checked, and of eigenpairs those that are asked for."""
        names = ("q", "normalized", "power")
        return [
            reused(W, X.shape[0], **{name: options[name] for name in names})
            if isinstance(W, Spectrum)
            else check_adjacency(W, X.shape[0])
            for W, options in zip(graphs, self._per_graph(len(graphs)), strict=True)
        ]

    def _refuse_several(self, n_graphs: int, why: str = "") -> None:
        raise InvalidInputError(
            f"{type(self).__name__} works on one graph, got {n_graphs}; pass one, or take STORM, STOAM or MKL, "
            f"which weigh the eigenvectors of several{why}."
        )

    def _decision(self, X: Matrix) -> FloatArray:
        described = self._per_graph()
        n = self._X_fit.shape[0]
        weights = [neighbor_weights(X, self._X_fit, **_neighbors(each, n)) for each in described]
        if len(weights) == 1:
            return extend(self.scores_, weights[0])
        parts = zip(self._parts, weights, strict=True)
        f = np.sum([extend(part, w) for part, w in parts], axis=0) + self.intercept_
        return self.balance_(f)


@dataclass(kw_only=True, eq=False, repr=False)
class SpectrumClassifier(LabelWeights, BuildsWeightedProblem, SolverParameters, GraphSpectrumClassifier):
    """A convex classifier over a spectrum, by a solver of one's choice."""

    @property
    def _bound(self) -> float | str:
        return getattr(self, "B", np.inf)

    def _problem(self, X: Matrix, labels: Labels, graph: list[Graph]) -> Any:
        """Return the CVXPY problem whose result `fit` keeps as `result_`."""
        spectra = self._spectra(graph)
        return self._built(spectra if len(spectra) > 1 else spectra[0], labels)

    def _built(self, spectrum: Any, labels: Labels) -> Any:
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class FixedSpectrumClassifier(SpectrumClassifier):
    """A spectrum first, ``_weights(spectrum)``, then a classifier with an absolute or a relative margin on it."""

    def _weights(self, spectrum: Spectrum) -> FloatArray:
        raise NotImplementedError

    def _solve(self, spectrum: Spectrum, labels: Labels) -> Answer:
        classifier, bound = within_bound(
            self._bound, self._trained(spectrum, labels, self._weights(spectrum)), labels.labeled
        )
        return Answer(classifier, classifier, bound)

    def _built(self, spectrum: Spectrum, labels: Labels) -> Any:
        from specmargin import problems

        delta = self._weights(spectrum)
        bound = bound_in_use(self._bound, self._trained(spectrum, labels, delta), labels.labeled)
        return problems.rmm(_on_kernel(SpectrumMargin(spectrum, labels, C=self.C, B=bound, delta=delta)))

    def _trained(self, spectrum: Spectrum, labels: Labels, delta: FloatArray) -> Callable[[float], SolveResult]:
        """Return what solves for a given spectrum under a bound; through CVXPY on the kernel that it makes."""

        def solve(bound: float) -> SolveResult:
            objective = SpectrumMargin(spectrum, labels, C=self.C, B=bound, delta=delta)
            if self.solver == "auto":
                return solvers.spectrum_margin(objective, **self._options())
            from specmargin import problems

            result = self._cvxpy(problems.rmm(_on_kernel(objective)))
            gamma, b, weights = result.variables["gamma"], result.variables["b"], _delta(objective)
            v = weights * (objective.U.T @ gamma)
            f = objective.decisions_at(v, float(b))
            return replace(result, variables={"delta": weights, "v": v, "b": b, "gamma": gamma, "f": f})

        return solve


def _delta(objective: SpectrumMargin) -> FloatArray:
    return objective.cone.weights(np.ones(1))


def _on_kernel(objective: SpectrumMargin) -> RMM:
    """Return the relative margin machine on the kernel of a given spectrum."""
    U = objective.U
    return RMM((U * _delta(objective)) @ U.T, objective.labels, C=objective.C, B=objective.B)


def _neighbors(described: dict[str, Any], n: int) -> dict[str, Any]:
    """Return what finds the neighbours of a graph among n samples."""
    options = {name: described[name] for name in _NEIGHBORS}
    return options | {"n_neighbors": neighbor_count(options["n_neighbors"], n)}


def is_graph(entry: Any) -> bool:
    """Whether an entry of a list is a graph of its own rather than a row."""
    return isinstance(entry, Spectrum) or sp.issparse(entry) or hasattr(entry, "adjacency") or np.ndim(entry) == 2
