"""What every estimator of the package shares: validation, labels, the graph, and reporting of results.

An estimator validates, calls and keeps arrays; the mathematics is in the objectives, the work in problems and
solvers.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from specmargin.graphs import check_adjacency, knn_graph, warn_components
from specmargin.labels import Labels, encode_labels, is_unlabeled
from specmargin.results import INACCURATE_GAP, SolveResult, Status
from specmargin.typing import AnyArray, FloatArray, Matrix, SparseArray

__all__ = ["SemiSupervisedClassifier"]

_BATCH_ELEMENTS = 2**25
"""Entries of a kernel block that `decision_function` holds at once."""


class SemiSupervisedClassifier(ClassifierMixin, BaseEstimator):
    """Classifier that learns from labelled and unlabelled samples.

    A subclass implements ``_fit(X, labels, graph)``, which returns the decisions of the training samples and the
    results behind them, and ``_decision(X)``; decisions have one column per binary problem.
    """

    unlabeled: Any
    n_neighbors: int
    kind: str
    weight: str
    metric: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

    def fit(self, X: Matrix, y: Any = None, graph: Any = None) -> Any:
        """Learn from labelled and unlabelled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
            Features; an (n, n) Gram matrix where ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels; unlabelled samples hold the marker `unlabeled`.
        graph : {ndarray, sparse matrix} of shape (n, n) or networkx.Graph, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes) to use instead of nearest neighbours.

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
        X, labels, graph = self._validated(X, y, graph)
        if graph is not None:
            warn_components(graph, labels.labeled, stacklevel=3)
        self.classes_ = labels.classes
        scores, results = self._fit(X, labels, graph)
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        self.transduction_ = self._classes_of(scores)
        self._warn_of_gaps(results)
        return self

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Labels, SparseArray | None]:
        """Check everything that `fit` is given; the graph is that of the neighbours where one is needed."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Unlabelled samples hold "
                f"the marker unlabeled={self.unlabeled!r}."
            )
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        labels = self._labels(X, y)
        if not self._needs_graph():
            graph = None
        elif graph is None:
            graph = self._neighbor_graph(X)
        else:
            graph = check_adjacency(graph, X.shape[0])
        return X, labels, graph

    def _labels(self, X: Matrix, y: Any) -> Labels:
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        hidden = is_unlabeled(y, self.unlabeled)
        if not hidden.all():
            check_classification_targets(y[~hidden])
        return encode_labels(y, self.unlabeled)

    def _needs_graph(self) -> bool:
        return True

    def _neighbor_graph(self, X: Matrix) -> SparseArray:
        """Return the graph of nearest neighbours."""
        return knn_graph(X, n_neighbors=self.n_neighbors, kind=self.kind, weight=self.weight, metric=self.metric)

    def _warn_of_gaps(self, results: list[SolveResult], stacklevel: int = 3) -> None:
        """Say which answers are proved less well than was asked for."""
        for result in results:
            if result.status in (Status.OPTIMAL_INACCURATE, Status.MAX_ITER, Status.UNPROVED, Status.NUMERICAL):
                gap = result.certificate.relative_gap
                proved = (
                    f"the answer is proved to a relative gap of {gap:.1e} only"
                    if 0 <= gap <= INACCURATE_GAP
                    else f"NOTHING is proved about this answer (relative gap {gap:.1e}); do not rely on it"
                )
                warnings.warn(
                    f"{type(self).__name__}: {result!r}; {proved}. Try another solver, a larger max_iter, or a smaller "
                    "ratio between the weights of loss and penalty.",
                    ConvergenceWarning,
                    stacklevel=stacklevel,
                )

    def _classes_of(self, scores: FloatArray) -> AnyArray:
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores > 0).astype(int)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def decision_function(self, X: Matrix) -> FloatArray:
        """Return f at new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            Features; the (m, n) kernel block where ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            Positive means ``classes_[1]`` with two classes; with more the largest column wins.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        rows = max(1, _BATCH_ELEMENTS // max(1, len(self.transduction_)))
        blocks = [self._decision(X[batch]) for batch in gen_batches(X.shape[0], rows)]
        return np.concatenate(blocks)

    def predict(self, X: Matrix) -> AnyArray:
        """Return the classes of new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._classes_of(self.decision_function(X))

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        raise NotImplementedError

    def _decision(self, X: Matrix) -> FloatArray:
        raise NotImplementedError


def unpacked(results: list[SolveResult]) -> SolveResult | tuple[SolveResult, ...]:
    """Return the one result of a binary problem, a tuple of several."""
    return results[0] if len(results) == 1 else tuple(results)


def columns(parts: list[FloatArray]) -> FloatArray:
    """Return one array for one binary problem, columns for several."""
    return parts[0] if len(parts) == 1 else np.column_stack(parts)
