"""What the classifiers over a graph spectrum share: the eigenpairs, one problem per class, new samples, docstrings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from specmargin.estimators._base import SemiSupervisedClassifier, columns, unpacked
from specmargin.graphs import neighbor_weights
from specmargin.labels import Labels
from specmargin.objectives import SpectrumMargin
from specmargin.results import SolveResult, Status
from specmargin.spectra import Spectrum, extend, laplacian_eigenpairs
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["SpectrumClassifier", "documented"]

_DEFAULT_Q = 200


class SpectrumClassifier(SemiSupervisedClassifier):
    """The graph, its eigenpairs, one problem per class, and the extension of the scores to new samples."""

    def __init__(
        self,
        *,
        C: float,
        q: int | None,
        n_neighbors: int,
        kind: str,
        weight: str,
        metric: str,
        normalized: bool,
        solver: str | Sequence[str],
        solver_params: Mapping[str, Any] | None,
        tol: float,
        unlabeled: Any,
    ) -> None:
        self.C = C
        self.q = q
        self.n_neighbors = n_neighbors
        self.kind = kind
        self.weight = weight
        self.metric = metric
        self.normalized = normalized
        self.solver = solver
        self.solver_params = solver_params
        self.tol = tol
        self.unlabeled = unlabeled

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        n = X.shape[0]
        spectrum = laplacian_eigenpairs(
            graph, q=min(_DEFAULT_Q, n) if self.q is None else self.q, normalized=self.normalized
        )
        results = [self._solve(spectrum, binary) for binary in labels.one_vs_rest()]
        self.eigenvalues_, self.eigenvectors_ = spectrum.eigenvalues, spectrum.eigenvectors
        self.result_ = unpacked(results)
        deltas = [np.asarray(result.variables["delta"]) for result in results]
        self.delta_ = deltas[0] if len(deltas) == 1 else np.vstack(deltas)
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        self.scores_ = columns([np.asarray(result.variables["f"]) for result in results])
        self._X_fit = X
        return self.scores_, results

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        raise NotImplementedError

    def _cvxpy(self, built: Any) -> SolveResult:
        """Solve a CVXPY problem by the solvers that were asked for."""
        from specmargin import problems

        order = problems.default_solvers() if self.solver == "auto" else self.solver
        return problems.solve(built, order, tol=self.tol, check=True, **dict(self.solver_params or {}))

    def _joint(self, objective: SpectrumMargin) -> SolveResult:
        """Learn spectrum and classifier together; left to itself, take the form that is certified best."""
        from specmargin import problems

        result = self._cvxpy(problems.storm(objective, "compact"))
        if self.solver == "auto" and result.status is not Status.OPTIMAL:
            other = self._cvxpy(problems.storm(objective, "chained"))
            result = min(result, other, key=lambda answer: abs(answer.certificate.relative_gap))
        return result

    def _decision(self, X: Matrix) -> FloatArray:
        weights = neighbor_weights(X, self._X_fit, n_neighbors=self.n_neighbors, weight=self.weight, metric=self.metric)
        return extend(self.scores_, weights)


_GRAPH_PARAMETERS = """q : int, optional
        Number of eigenvectors, at most n; default min(200, n).
    n_neighbors : int, default 5
        Neighbours of the graph.
    kind : {"symmetric", "mutual", "mutual+mst"}, default "symmetric"
        How the neighbour relation is made symmetric. The mutual graph of the paper falls apart on real data.
    weight : {"binary", "heat", "cosine"}, default "binary"
        Edge weights.
    metric : str, default "euclidean"
        Metric of the neighbours; "cosine" for text.
    normalized : bool, default False
        Whether the Laplacian is I - D^-1/2 W D^-1/2 or D - W.
    solver : str or sequence of str, default "auto"
        "auto": Clarabel, then ECOS, on the CVXPY form that gets certified. Or any installed CVXPY solver, or an
        order of them.
    solver_params : dict, optional
        Passed on to the solver.
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y."""

_ATTRIBUTES = """classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Their decisions f.
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The learned spectrum, of sum one.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per class with more than two.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str"""

_NOTES = """New samples get the weighted mean of the scores of their nearest training samples (the Nyström extension of
    the eigenvectors to lowest order); a sample that coincides with training samples gets theirs. A component of the
    graph without a labelled sample is predicted by the intercept; a warning counts such samples."""


def documented(cls: type) -> type:
    """Fill the sections that all classes of this module share into a docstring."""
    assert cls.__doc__ is not None
    for marker, text in (("<graph>", _GRAPH_PARAMETERS), ("<attributes>", _ATTRIBUTES), ("<notes>", _NOTES)):
        cls.__doc__ = cls.__doc__.replace(marker, text)
    return cls
