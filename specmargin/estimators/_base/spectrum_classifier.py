"""What the classifiers over a graph spectrum share: graphs, eigenpairs, one problem per class, new samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from specmargin import solvers
from specmargin.checks import Rule
from specmargin.estimators._base.bound import bound_in_use, within_bound
from specmargin.estimators._base.changed_model import ChangedModel, changes
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.feature_maps import opened
from specmargin.estimators._base.parameters import RULES, part_of, per_graph
from specmargin.estimators._base.semi_supervised import columns, own_spectrum, solved_by_cvxpy, unpacked
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian, check_adjacency
from specmargin.graphs.laplacians import INTERCEPT
from specmargin.graphs.parts import built
from specmargin.labels import Labels
from specmargin.labels.shares import Balance
from specmargin.objectives import RMM, SpectrumMargin
from specmargin.objectives.contract import unchecked
from specmargin.objectives.proved_decisions import DecisionBounds
from specmargin.results import SolveResult
from specmargin.solvers.parts import Solver
from specmargin.solvers.spectrum.spectrum_margin import spectrum_margin
from specmargin.spectra import Spectrum, extend
from specmargin.spectra.extension import harmonic
from specmargin.spectra.reuse import KeptSpectrum, reached, reused
from specmargin.typing import FloatArray, Matrix, SparseArray

_PER_GRAPH = ("graph", "laplacian", "q")
AS_IT_IS = ChangedModel(None)
"""No change of the problem."""

Spectra: TypeAlias = Spectrum | list[Spectrum]
Graph: TypeAlias = SparseArray | Spectrum
"""An adjacency, or its eigenpairs where they were passed."""


class Answer(NamedTuple):
    """What one binary problem gives."""

    result: SolveResult
    """Of the problem that chose the spectrum."""
    classifier: SolveResult
    """Of the classifier, with ``delta``, ``b`` and ``f``; the same result where both are learned in one."""
    B: float = np.inf
    """The bound in use."""


class Described(NamedTuple):
    """The parameters of one graph."""

    graph: Any
    laplacian: Laplacian
    q: int | None


def spectrum_of(fitted: Any) -> Any:
    """Return the eigenpairs that a fitted estimator keeps; a list of them for several graphs."""
    spectra = [kept.spectrum for kept in fitted._spectra]
    return spectra if len(spectra) > 1 else spectra[0]


def eigenvectors_of(fitted: Any) -> FloatArray:
    """Return their eigenvectors (n, q), those of several graphs next to each other."""
    vectors = [kept.spectrum.eigenvectors for kept in fitted._spectra]
    return np.hstack(vectors) if len(vectors) > 1 else np.asarray(vectors[0])


class GraphSpectrumClassifier(SemiSupervisedClassifier):
    """The graph, its eigenpairs, one problem per class, and the extension of the scores to new samples.

    A subclass has the parameters C, graph, laplacian, q, class_balance and random_state, and implements
    ``_solve(spectrum, labels, change)`` for two classes.
    """

    graph: Any
    laplacian: Any
    q: Any
    C: float
    class_balance: Any
    random_state: Any

    _several_graphs: ClassVar[bool] = False
    _takes_graph_alone: ClassVar[bool] = True
    _unreached: ClassVar[str] = INTERCEPT
    _parameter_rules: ClassVar[Mapping[str, Rule]] = {name: per_graph(RULES[name]) for name in _PER_GRAPH}
    _places: list[Any]
    _spectra: list[KeptSpectrum]
    spectrum_, eigenvectors_ = property(spectrum_of), property(eigenvectors_of)

    def _fit(self, X: Matrix, labels: Labels, graph: list[Graph]) -> tuple[FloatArray, list[SolveResult]]:
        self._spectra = self._kept(graph, labels)
        spectra = [kept.spectrum for kept in self._spectra]
        over = spectra if len(spectra) > 1 else spectra[0]
        if self.model is None:
            answers = [self._solve(over, binary, AS_IT_IS) for binary in labels.one_vs_rest()]
        else:
            answers = [self._solve(over, binary, change) for binary, change in changes(self, X, labels)]
        scores = self._record(answers)
        self.balance_ = Balance.of(reached(over, scores), labels, self.class_balance)
        return self.balance_(scores), [result for answer in answers for result in dict.fromkeys(answer[:2])]

    def _decisions_without(self, apart: Any, X: Matrix, labels: Labels, graph: Any) -> FloatArray:
        # Eigenvectors know no labels: all folds share them.
        answers = [apart._solve(self.spectrum_, binary, change) for binary, change in changes(self, X, labels)]
        scores = columns([np.asarray(answer.classifier.variables["f"]) for answer in answers])
        return Balance.of(reached(self.spectrum_, scores), labels, self.class_balance)(scores)

    def _kept(self, graphs: list[Graph], labels: Labels) -> list[KeptSpectrum]:
        """Return the eigenpairs of the labelled components of the graphs: of those that were passed, or computed."""
        return [
            KeptSpectrum(W, labels.labeled, own.q, own.laplacian, self.random_state)
            for W, own in zip(graphs, self._per_graph(len(graphs)), strict=True)
        ]

    def _record(self, answers: list[Answer]) -> FloatArray:
        """Keep what was learned; return the decisions of the training samples."""
        classifiers = [answer.classifier.variables for answer in answers]
        spectra = [kept.spectrum for kept in self._spectra]
        delta = np.array([variables["delta"] for variables in classifiers])
        ends = np.cumsum([spectrum.q for spectrum in spectra])[:-1]
        shares = np.column_stack([part.sum(axis=1) for part in np.split(delta, ends, axis=1)])
        bounds = np.array([answer.B for answer in answers])
        binary = len(answers) == 1
        self.delta_ = delta[0] if binary else delta
        self.graph_weights_ = shares[0] if binary else shares
        self.eigenvalues_ = np.concatenate([spectrum.eigenvalues for spectrum in spectra])
        self.intercept_ = np.array([float(variables["b"]) for variables in classifiers])
        self.result_ = unpacked([answer.result for answer in answers])
        if hasattr(self, "B"):
            self.B_ = float(bounds[0]) if binary else bounds
        scores = columns([np.asarray(variables["f"]) for variables in classifiers])
        # Each graph extends its own share of the decisions by its own neighbours; they are balanced afterwards.
        self._parts = [scores] if len(spectra) == 1 else _of_graphs(spectra, classifiers)
        return scores

    def _solve(self, spectrum: Any, labels: Labels, change: ChangedModel) -> Answer:
        raise NotImplementedError

    def _per_graph(self, n_graphs: int | None = None) -> list[Described]:
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
        described = []
        for g in range(n_graphs or count):
            graph, kind, q = (value[g % lists[name]] if name in lists else value for name, value in values.items())
            described.append(Described(part_of("graph", graph), part_of("laplacian", kind), q))
        return described

    def _graph(self, X: Matrix, graph: Any) -> list[Graph]:
        """Return the neighbour graphs, or the checked ones that were passed."""
        described = self._per_graph()
        if graph is None:
            made = [built(one.graph, X) for one in described]
            graphs: list[Graph] = [W for W, _ in made]
            self._places = [place for _, place in made]
            return graphs
        several = isinstance(graph, list | tuple) and len(graph) > 0 and all(map(is_graph, graph))
        graphs = list(graph) if several else [graph]
        if len(described) not in (1, len(graphs)):
            raise InvalidInputError(
                f"{len(graphs)} graphs were passed, but the parameters graph, laplacian and q, by which new samples "
                f"find their neighbours, describe {len(described)}; give single values or {len(graphs)} each."
            )
        if len(graphs) > 1 and not self._several_graphs:
            self._refuse_several(len(graphs))
        self._places = [X] * len(described)
        return [
            own_spectrum(
                reused(W, X.shape[0], q=own.q, normalized=bool(own.laplacian.normalized), power=own.laplacian.power)
            )
            if isinstance(W, Spectrum)
            else check_adjacency(W, X.shape[0])
            for W, own in zip(graphs, self._per_graph(len(graphs)), strict=True)
        ]

    def _refuse_several(self, n_graphs: int, why: str = "") -> None:
        raise InvalidInputError(
            f"{type(self).__name__} works on one graph, got {n_graphs}; pass one, or take STORM, STOAM or MKL, "
            f"which weigh the eigenvectors of several{why}."
        )

    def _decision(self, X: Matrix) -> FloatArray:
        weights = self._weights_at(X)
        if len(weights) == 1:
            return extend(self.scores_, weights[0])
        return self.balance_(_extended(self._parts, weights) + self.intercept_)

    def _on_graph(self, X: Any, graph: Any) -> FloatArray:
        several = list(graph) if isinstance(graph, list | tuple) and graph and all(map(is_graph, graph)) else [graph]
        if len(several) != len(self._parts):
            raise InvalidInputError(f"{len(several)} graphs were passed, but fit had {len(self._parts)}; pass as many.")
        larger = [self._larger(X, one) for one in several]
        if len(larger) == 1:
            return self._or_intercept(harmonic(self.scores_, larger[0]))
        parts = [np.nan_to_num(harmonic(part, W)) for part, W in zip(self._parts, larger, strict=True)]
        return self._finite(self.balance_(np.sum(parts, axis=0) + self.intercept_))

    def _weights_at(self, X: Matrix) -> list[SparseArray]:
        """Return the weights of the training samples at new ones, graph by graph."""
        pairs = zip(self._per_graph(len(self._places)), self._places, strict=True)
        near = [opened(own.graph, place, place) for own, place in pairs]
        return [graph.weights(X, place) for graph, place in near]


class SpectrumClassifier(GraphSpectrumClassifier):
    """A convex classifier over a spectrum, by a solver of one's choice.

    A subclass has the objective ``_objective(spectrum, labels)``, whose bound is still open, and its CVXPY problem
    ``_program(objective)``.
    """

    solver: Any

    def _problem(self, X: Matrix, labels: Labels, graph: list[Graph]) -> Any:
        """Return the CVXPY problem whose result `fit` keeps as `result_`."""
        spectra = [kept.spectrum for kept in self._kept(graph, labels)]
        over = spectra if len(spectra) > 1 else spectra[0]
        return self._built(over, labels, ChangedModel.of(self, X, labels.classes[1]))

    def _solve(self, spectrum: Any, labels: Labels, change: ChangedModel) -> Answer:
        bound = getattr(self, "B", np.inf)
        if not isinstance(bound, str):
            result = self._solved(self._objective(spectrum, labels, bound), change)
            return Answer(result, result, float(bound))
        objective = self._objective(spectrum, labels, np.inf)
        result, bound = within_bound(bound, partial(self._under, change, objective), labels.labeled)
        return Answer(result, result, bound)

    def _built(self, spectrum: Any, labels: Labels, change: ChangedModel) -> Any:
        objective = self._objective(spectrum, labels, np.inf)
        bound = bound_in_use(getattr(self, "B", np.inf), partial(self._under, change, objective), labels.labeled)
        return self._changeable(objective.with_(B=bound), change)

    def _changeable(self, objective: SpectrumMargin, change: ChangedModel) -> Any:
        """Return the CVXPY problem; a changed one in the form that the change was made to."""
        return change(objective) if change else self._program(objective)

    def _under(self, change: ChangedModel, objective: SpectrumMargin, bound: float) -> SolveResult:
        """Solve under a bound."""
        return self._solved(objective.with_(B=bound), change)

    def _solved(self, objective: SpectrumMargin, change: ChangedModel) -> SolveResult:
        """Solve by the solver that was asked for."""
        solver = part_of("solver", self.solver)
        if change.model is not None:
            return change.solved(objective, solver)
        if solver.name != "auto":
            return self._by_cvxpy(objective, solver)
        # Options are whatever was given: they are checked.
        solve = solvers.spectrum_margin if solver.options else spectrum_margin
        return solve(objective, **solver.arguments())

    def _by_cvxpy(self, objective: SpectrumMargin, solver: Solver) -> SolveResult:
        return solved_by_cvxpy(self._program(objective), solver)

    def _objective(self, spectrum: Any, labels: Labels, B: float) -> SpectrumMargin:
        raise NotImplementedError

    def _program(self, objective: SpectrumMargin) -> Any:
        raise NotImplementedError


class JointClassifier(SpectrumClassifier):
    """Spectrum and classifier in one problem, over one graph or several: what `STORM`, `STOAM` and `MKL` share."""

    _several_graphs: ClassVar[bool] = True
    _order: ClassVar[bool] = True

    def _objective(self, spectrum: Spectra, labels: Labels, B: float) -> SpectrumMargin:
        options = {"order": self._order, "eps": getattr(self, "eps", 0.0)}
        return unchecked(SpectrumMargin, spectrum, labels, C=self.C, B=B, **options)

    def _program(self, objective: SpectrumMargin) -> Any:
        from specmargin import problems

        return problems.storm(objective, "compact")


class FixedSpectrumClassifier(SpectrumClassifier):
    """A spectrum first, ``_weights(spectrum)``, then a classifier with an absolute or a relative margin on it."""

    _keeps_training: ClassVar[bool] = True

    def _objectives(self) -> list[SpectrumMargin]:
        binary = list(self._remembered().labels.one_vs_rest())
        bounds = np.broadcast_to(getattr(self, "B_", np.inf), len(binary))
        spectrum: Any = self.spectrum_
        return [self._objective(spectrum, *parts) for parts in zip(binary, bounds.tolist(), strict=True)]

    def _bounds_at(self, X: Matrix, bounds: list[DecisionBounds]) -> list[DecisionBounds]:
        weights = self._weights_at(X)[0]
        return [DecisionBounds(extend(one.low, weights), extend(one.high, weights)) for one in bounds]

    def _weights(self, spectrum: Spectrum) -> FloatArray:
        raise NotImplementedError

    def _objective(self, spectrum: Spectrum, labels: Labels, B: float) -> SpectrumMargin:
        return SpectrumMargin(spectrum, labels, C=self.C, B=B, delta=self._weights(spectrum))

    def _program(self, objective: SpectrumMargin) -> Any:
        """Return the relative margin machine on the kernel of a given spectrum."""
        from specmargin import problems

        K = (objective.U * _delta(objective)) @ objective.U.T
        return problems.rmm(RMM(K, objective.labels, C=objective.C, B=objective.B))

    def _by_cvxpy(self, objective: SpectrumMargin, solver: Solver) -> SolveResult:
        result = super()._by_cvxpy(objective, solver)
        gamma, b, weights = result.variables["gamma"], result.variables["b"], _delta(objective)
        v = weights * (objective.U.T @ gamma)
        f = objective.decisions_at(v, float(b))
        return replace(result, variables={"delta": weights, "v": v, "b": b, "gamma": gamma, "f": f})


def _of_graphs(spectra: list[Spectrum], solutions: list[Any]) -> list[FloatArray]:
    """Return what each graph adds to the decisions: of one graph these themselves, of several without the intercept."""
    v, ends = columns([np.asarray(one["v"]) for one in solutions]), np.cumsum([s.q for s in spectra])[:-1]
    pieces = zip(spectra, np.split(v, ends), strict=True)
    return [np.sqrt(s.n_reached) * (s.eigenvectors @ piece) for s, piece in pieces]


def _extended(parts: list[FloatArray], weights: list[SparseArray]) -> FloatArray:
    """Return the sum of what each graph adds at new samples."""
    return np.asarray(np.sum([extend(part, w) for part, w in zip(parts, weights, strict=True)], axis=0))


def _delta(objective: SpectrumMargin) -> FloatArray:
    return objective.cone.weights(np.ones(1))


def is_graph(entry: Any) -> bool:
    """Whether an entry of a list is a graph of its own rather than a row."""
    return isinstance(entry, Spectrum) or sp.issparse(entry) or hasattr(entry, "adjacency") or np.ndim(entry) == 2
