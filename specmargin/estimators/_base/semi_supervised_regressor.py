"""Regressors that learn from samples with and without a target: validation, targets, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score

from specmargin.checks import shown
from specmargin.estimators._base.label_weights import weights_of_labeled
from specmargin.estimators._base.semi_supervised import SemiSupervised, require_rows
from specmargin.estimators._base.sklearn_bases import RegressorMixin
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.node_names import by_row
from specmargin.labels import Targets, encode_targets
from specmargin.typing import FloatArray, Matrix


class SemiSupervisedRegressor(RegressorMixin, SemiSupervised):
    """Regressor that learns from labelled and unlabelled samples.

    A subclass implements ``_fit(X, targets, graph)`` and ``_values(X)``, f at new samples; both have one column per
    output.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encoded(self, y: Any, n: int) -> Targets:
        targets = encode_targets(y)
        require_rows(n, targets.n_samples, "targets")
        return targets

    def _conclude(self, f: FloatArray, labels: Targets) -> None:
        self.transduction_ = labels.shaped(f)

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
        f = self._at_new(X, self._values)
        return f[:, 0] if f.ndim > self.transduction_.ndim else f

    def score(self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return R^2 on the labelled samples, the mean over outputs; those whose target is NaN are left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features) or None
            The same as for `predict`. None: the samples (nodes) of `fit`, whose values are ``transduction_``.
        y : array-like of shape (m,) or (m, n_outputs), or mapping by row or node
            Targets, NaN for unlabelled samples; matched by name, as `fit` does, where rows or nodes have names.
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
        predicted = self.predict(X) if X is not None else self.transduction_
        nodes = self._rows or (range(len(predicted)) if X is None else None)
        targets, sample_weight = encode_targets(by_row(y, X, nodes, np.nan)), by_row(sample_weight, X, nodes, 0.0)
        if (targets.n_samples, *targets.values.shape[1:]) != predicted.shape:
            rows = (
                f"X has {len(predicted)} rows" if X is not None else f"X=None are the {len(predicted)} samples of fit"
            )
            raise InvalidInputError(
                f"{rows} and predictions have the shape {predicted.shape}, but y has the shape "
                f"{np.shape(y)}; pass one target or NaN per sample and output."
            )
        if len(targets.labeled) < 2:
            raise InvalidInputError(
                f"R^2 needs two labelled samples, but y holds {len(targets.labeled)} of {targets.n_samples}; pass more."
            )
        at, weight = targets.labeled, None
        if sample_weight is not None:
            weight = weights_of_labeled(sample_weight, at, targets.n_samples)
            if not weight.any():
                raise InvalidInputError(
                    f"sample_weight={shown(sample_weight)} is zero at all labelled samples; give one a positive one."
                )
        return float(r2_score(targets.values, predicted[at], sample_weight=weight))

    def _values(self, X: Matrix) -> FloatArray:
        raise NotImplementedError
