"""What the classifiers over a graph spectrum share: graphs, eigenpairs, one problem per class, new samples.

The classes are dataclasses with keywords only: that writes the explicit ``__init__`` which scikit-learn asks for, and
a subclass names only the parameters that it adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from specmargin import objectives, solvers
from specmargin.estimators._base import SemiSupervisedClassifier, columns, numerical_failures, unpacked
from specmargin.estimators._bound import within_bound
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import check_adjacency, knn_graph, neighbor_weights, warn_components
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum, extend, laplacian_eigenpairs
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["Answer", "GraphSpectrumClassifier", "MarginClassifier", "Spectra", "SpectrumClassifier"]

_DEFAULT_Q = 200

Spectra: TypeAlias = Spectrum | list[Spectrum]
PerGraph: TypeAlias = Any
"""One value, or a list with one per graph."""


class Answer(NamedTuple):
    """What one binary problem gives.

    Parameters
    ----------
    result : SolveResult
        Of the problem that chose the spectrum.
    machine : SolveResult
        Of the classifier, with ``delta``, ``b`` and ``f``; the same result where both are learned in one.
    B : float
        The bound in use.
    """

    result: SolveResult
    machine: SolveResult
    B: float = np.inf


@dataclass(kw_only=True, eq=False, repr=False)
class GraphSpectrumClassifier(SemiSupervisedClassifier):
    """The graph, its eigenpairs, one problem per class, and the extension of the scores to new samples.

    A subclass implements ``_solve(spectrum, labels)`` for two classes.
    """

    C: float = 1.0
    q: int | None = None
    n_neighbors: PerGraph = 5
    kind: PerGraph = "symmetric"
    weight: PerGraph = "binary"
    metric: PerGraph = "euclidean"
    normalized: bool = False
    tol: float = 1e-6
    unlabeled: Any = -1

    _several_graphs: ClassVar[bool] = False

    def fit(self, X: Matrix, y: Any = None, graph: Any = None) -> Any:
        """Learn from labelled and unlabelled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
            Features.
        y : array-like of shape (n,)
            Labels; unlabelled samples hold the marker `unlabeled`.
        graph : {ndarray, sparse matrix} of shape (n, n) or networkx.Graph, or a list of such, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes) to use instead of nearest neighbours.
            Several graphs go to `STORM`, `STOAM` and `MKL` only.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinite features, fewer than two classes among the labels, an asymmetric or negative
            graph, or parameters out of range.
        SolverError
            If no solver gives a usable answer; its ``result`` says what is known.
        """
        X, labels, _ = self._validated(X, y, None)
        graphs = self._graphs(X, graph)
        for W in graphs:
            warn_components(W, labels.labeled, stacklevel=3)
        q = min(_DEFAULT_Q, X.shape[0]) if self.q is None else self.q
        with numerical_failures(self):
            spectra = [laplacian_eigenpairs(W, q=q, normalized=self.normalized) for W in graphs]
            over = spectra if len(spectra) > 1 else spectra[0]
            answers = [self._solve(over, binary) for binary in labels.one_vs_rest()]
        self.classes_ = labels.classes
        self._X_fit = X
        self._record(spectra, answers)
        self._transduce(self.scores_)
        results = [result for answer in answers for result in dict.fromkeys(answer[:2])]
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        self._warn_of_gaps(results)
        return self

    def _record(self, spectra: list[Spectrum], answers: list[Answer]) -> None:
        """Keep what was learned."""
        machines = [answer.machine.variables for answer in answers]
        delta = np.array([found["delta"] for found in machines])
        shares = delta.reshape(len(answers), len(spectra), -1).sum(axis=2)
        bounds = np.array([answer.B for answer in answers])
        binary = len(answers) == 1
        self.delta_ = delta[0] if binary else delta
        self.graph_weights_ = shares[0] if binary else shares
        self.eigenvalues_ = np.concatenate([spectrum.eigenvalues for spectrum in spectra])
        self.eigenvectors_ = np.hstack([spectrum.eigenvectors for spectrum in spectra])
        self.intercept_ = np.array([float(found["b"]) for found in machines])
        self.scores_ = columns([np.asarray(found["f"]) for found in machines])
        self.result_ = unpacked([answer.result for answer in answers])
        if hasattr(self, "B"):
            self.B_ = float(bounds[0]) if binary else bounds
        # Each graph extends its own share of the scores by its own neighbours.
        self._parts = [self.scores_]
        if len(spectra) > 1:
            v = columns([np.asarray(found["v"]) for found in machines])
            pieces = zip(spectra, np.split(v, len(spectra)), strict=True)
            self._parts = [np.sqrt(len(s.eigenvectors)) * (s.eigenvectors @ piece) for s, piece in pieces]

    def _solve(self, spectrum: Any, labels: Labels) -> Answer:
        raise NotImplementedError

    def _needs_graph(self) -> bool:
        return False  # none, one or several: `_graphs` takes care of them

    def _words(self) -> list[dict[str, Any]]:
        """Return the parameters of the neighbour graphs, single values repeated."""
        words = {name: getattr(self, name) for name in ("n_neighbors", "kind", "weight", "metric")}
        lists = {name: len(value) for name, value in words.items() if isinstance(value, list | tuple | np.ndarray)}
        if max(lists.values(), default=1) > 1 and not self._several_graphs:
            name, several = max(lists.items(), key=lambda item: item[1])
            raise InvalidInputError(
                f"{type(self).__name__} works on one graph, got {several}; pass one, or take STORM, STOAM or MKL, "
                f"which weigh the eigenvectors of several ({name}={words[name]!r} describes as many)."
            )
        count = max(lists.values(), default=1)
        if 0 in lists.values() or len(set(lists.values())) > 1:
            raise InvalidInputError(
                f"lists of graph parameters must have one length, got {lists}; single values are repeated."
            )
        return [{name: value[g] if name in lists else value for name, value in words.items()} for g in range(count)]

    def _graphs(self, X: Matrix, graph: Any) -> list[SparseArray]:
        """Return the neighbour graphs, or the checked ones that were passed."""
        words = self._words()
        if graph is None:
            graphs = [knn_graph(X, **parameters) for parameters in words]
        else:
            several = isinstance(graph, list | tuple) and len(graph) > 0 and all(map(_is_graph, graph))
            graphs = [check_adjacency(W, X.shape[0]) for W in (graph if several else [graph])]
            if len(words) not in (1, len(graphs)):
                raise InvalidInputError(
                    f"{len(graphs)} graphs were passed, but the parameters n_neighbors, kind, weight and metric, by "
                    f"which new samples find their neighbours, describe {len(words)}; give single values or "
                    f"{len(graphs)} each."
                )
        if len(graphs) > 1 and not self._several_graphs:
            raise InvalidInputError(
                f"{type(self).__name__} works on one graph, got {len(graphs)}; pass one, or take STORM, STOAM or MKL, "
                "which weigh the eigenvectors of several."
            )
        return graphs

    def _decision(self, X: Matrix) -> FloatArray:
        weights = [
            neighbor_weights(X, self._X_fit, **{name: value for name, value in words.items() if name != "kind"})
            for words in self._words()
        ]
        if len(weights) == 1:
            return extend(self.scores_, weights[0])
        parts = zip(self._parts, weights, strict=True)
        return np.sum([extend(part, w) for part, w in parts], axis=0) + self.intercept_


@dataclass(kw_only=True, eq=False, repr=False)
class SpectrumClassifier(GraphSpectrumClassifier):
    """A classifier by a solver of one's choice: in numpy, or any of CVXPY's."""

    solver: str | Sequence[str] = "auto"
    solver_params: Mapping[str, Any] | None = None

    def _numpy(self, solve: Any, objective: Any) -> SolveResult:
        return solve(objective, tol=self.tol, **dict(self.solver_params or {}))

    def _cvxpy(self, built: Any) -> SolveResult:
        from specmargin import problems

        return problems.solve(built, self.solver, tol=self.tol, check=True, **dict(self.solver_params or {}))

    def _machine(
        self, spectrum: Spectrum, labels: Labels, delta: FloatArray, B: float | str = np.inf
    ) -> tuple[SolveResult, float]:
        """Train the classifier on a given spectrum; return it with the bound in use."""

        def solve(bound: float) -> SolveResult:
            objective = objectives.SpectrumMargin(spectrum, labels, C=self.C, B=bound, delta=delta)
            if self.solver == "auto":
                return self._numpy(solvers.spectrum_margin, objective)
            return self._on_kernel(objective)

        return within_bound(B, solve, labels.labeled)

    def _on_kernel(self, objective: objectives.SpectrumMargin) -> SolveResult:
        """Solve for a given spectrum on the kernel that it makes, through CVXPY."""
        from specmargin import problems

        U, delta = objective.U, objective.cone.weights(np.ones(1))
        machine = objectives.RMM((U * delta) @ U.T, objective.labels, C=objective.C, B=objective.B)
        found = self._cvxpy(problems.rmm(machine))
        gamma, b = found.variables["gamma"], found.variables["b"]
        v = delta * (U.T @ gamma)
        f = objective.decisions_at(v, float(b))
        return replace(found, variables={"delta": delta, "v": v, "b": b, "gamma": gamma, "f": f})


@dataclass(kw_only=True, eq=False, repr=False)
class MarginClassifier(SpectrumClassifier):
    """A spectrum first, then a classifier on it, with an absolute or a relative margin."""

    margin: str = "absolute"
    B: float | str = 1.5

    def _margin(self, spectrum: Spectrum, labels: Labels, delta: FloatArray) -> tuple[SolveResult, float]:
        if self.margin not in ("absolute", "relative"):
            raise InvalidInputError(f"margin={self.margin!r} must be 'absolute' (SVM) or 'relative' (RMM).")
        return self._machine(spectrum, labels, delta, self.B if self.margin == "relative" else np.inf)


def _is_graph(entry: Any) -> bool:
    """Whether an entry of a list is a graph of its own rather than a row."""
    return sp.issparse(entry) or hasattr(entry, "adjacency") or np.ndim(entry) == 2
