"""Regressors that learn from samples with and without a target: validation, targets, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from specmargin.arrays import finite_numbers, numbers_array
from specmargin.checks import outside, shown
from specmargin.estimators._label_weights import weights_of_labeled
from specmargin.estimators._semi_supervised import (
    SemiSupervised,
    check_features,
    fitting,
    in_batches,
    numerical_failures,
)
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs import warn_components
from specmargin.graphs.node_names import by_node
from specmargin.labels import Targets, encode_targets
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, Matrix


class SemiSupervisedRegressor(RegressorMixin, SemiSupervised):
    """Regressor that learns from labelled and unlabelled samples.

    A subclass implements ``_fit(X, targets, graph)``, which returns f at the training samples and the results behind
    it, and ``_values(X)``; both have one column per output.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Matrix, y: Any = None, graph: Any = None, sample_weight: npt.ArrayLike | None = None) -> Any:
        """Learn from labelled and unlabelled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
            Features; an (n, n) Gram matrix where ``kernel="precomputed"``.
        y : array-like of shape (n,) or (n, n_outputs), or mapping by node
            Targets; NaN for unlabelled samples, in all outputs at once.
        graph : {ndarray, sparse matrix} of shape (n, n), networkx.Graph or table of edges, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes), instead of the parameter `graph`. A
            table is a frame with the columns source, target and, with weights, weight. Nodes with names are matched
            with a frame X, or a mapping or series y, that has them as its index; else 0 to n - 1 are the rows.
        sample_weight : array-like of shape (n,), optional
            Weights of the losses of the labelled samples, >= 0; those of unlabelled samples are not looked at. A
            sample of weight 0 is an unlabelled one.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinite features, targets that are infinite, given in part, or all NaN, an asymmetric or
            negative graph, parameters out of range, or weights that are negative, not finite or all 0.
        SolverError
            If no solver gives a usable answer; its ``result`` says what is known.
        """
        with fitting(self):
            X, y, graph = self._by_node(X, y, graph)
            X, targets, graph = self._validated(X, y, graph)
            weights = by_node(sample_weight, getattr(self, "nodes_", None), np.nan)
            self._learn(X, y, self._weighted_targets(targets, weights), graph)
        return self

    def _weighted_targets(self, targets: Targets, sample_weight: Any) -> Targets:
        if sample_weight is None:
            return targets
        return targets.weighted(weights_of_labeled(sample_weight, targets.labeled, targets.n_samples))

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Any, Any]:
        """Check everything that `fit` is given; the graph is that of the neighbours where one is needed."""
        self._check_parameters()
        if y is None:
            raise InvalidTypeError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Unlabelled samples hold "
                "NaN; pass one number or NaN per sample."
            )
        X = check_features(self, X, ensure_min_samples=2)
        targets = encode_targets(y)
        if targets.n_samples != X.shape[0]:
            raise InvalidInputError(
                f"X has {X.shape[0]} rows, but y has {targets.n_samples} targets: inconsistent numbers of samples; "
                "pass one target or NaN per row, in the order of the rows."
            )
        return X, targets, self._graph(X, graph) if self._needs_graph() else None

    def _learn(self, X: Matrix, y: Any, targets: Targets, graph: Any) -> None:
        """Learn from checked data; warn where the graph or the answer is less than one may expect."""
        self._remember(X, targets, graph)
        if graph is not None:
            warn_components(graph, targets.labeled, stacklevel=outside() + 1)
        self._one_output = targets.values.ndim == 1
        f, results = self._fit(X, targets, graph)
        self.n_iter_ = max([1, *(result.n_iter for result in results)])
        self.transduction_ = targets.shaped(self._finite(f))
        self._warn_of_gaps(results)

    def predict(self, X: Matrix) -> FloatArray:
        """Return f at new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            Features; the (m, n) kernel block where ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (m,) or (m, n_outputs)
        """
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        with numerical_failures(self):
            f = self._finite(in_batches(self._values, X, len(self.transduction_)))
        return f[:, 0] if self._one_output else f

    def score(self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return R^2 on the labelled samples, the mean over outputs; those whose target is NaN are left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The same as for `predict`.
        y : array-like of shape (m,) or (m, n_outputs)
            Targets, NaN for unlabelled samples.
        sample_weight : array-like of shape (m,), optional
            Weights of the samples, >= 0.

        Returns
        -------
        float
            Number, at most 1; 0 for the mean of the targets.

        Raises
        ------
        ValueError
            If fewer than two samples are labelled, or the labelled ones have no weight.
        """
        if y is None:
            raise InvalidTypeError("y=None: there is nothing to score against; pass one target or NaN per sample.")
        targets, predicted = encode_targets(y), self.predict(X)
        if (targets.n_samples, *targets.values.shape[1:]) != predicted.shape:
            raise InvalidInputError(
                f"X has {len(predicted)} rows and predictions have the shape {predicted.shape}, but y has the shape "
                f"{np.shape(y)}; pass one target or NaN per sample and output."
            )
        if len(targets.labeled) < 2:
            raise InvalidInputError(
                f"R^2 needs two labelled samples, but y holds {len(targets.labeled)} of {targets.n_samples}; pass more."
            )
        weight = np.ones(targets.n_samples)
        if sample_weight is not None:
            numbers_array("one weight per sample", ndim=1, finite=False)("sample_weight", sample_weight)
            weight = np.asarray(sample_weight, dtype=np.float64)
            finite_numbers("sample_weight", weight, "numbers >= 0, one per sample", least=0.0)
        if weight.shape != (targets.n_samples,) or not 0 < weight[targets.labeled].sum() < np.inf:
            raise InvalidInputError(
                f"sample_weight={shown(weight)} of shape {weight.shape} does not weigh {targets.n_samples} samples "
                f"(its sum is {weight.sum():g}); pass numbers >= 0, one each, not all zero."
            )
        at = targets.labeled
        return float(r2_score(targets.values, predicted[at], sample_weight=weight[at]))

    def _fit(self, X: Matrix, targets: Targets, graph: Any) -> tuple[FloatArray, list[SolveResult]]:
        raise NotImplementedError

    def _values(self, X: Matrix) -> FloatArray:
        raise NotImplementedError
