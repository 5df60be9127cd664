"""An estimator that brings the unlabelled samples by itself, for tools that know no marker: `WithUnlabeled`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from specmargin.arrays import checked_sparse
from specmargin.checks import shown
from specmargin.estimators._base.sklearn_bases import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.node_names import by_row
from specmargin.labels import label_array, label_vector
from specmargin.labels.markers import missing_values
from specmargin.typing import AnyArray, FloatArray, Matrix

__all__ = ["WithUnlabeled"]


def _has(name: str) -> Any:
    return lambda own: hasattr(getattr(own, "estimator_", own.estimator), name)


class WithUnlabeled(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that adds the same unlabelled samples to whatever labelled samples it is fitted to.

    Tools of scikit-learn that read y as plain classes (`CalibratedClassifierCV`, `VotingClassifier`,
    `StackingClassifier`, `OneVsRestClassifier`, `BaggingClassifier`, ...) take a marker for one more class. They are
    given this classifier, and labelled samples alone: every fit of theirs then learns from the unlabelled ones, too.

    Parameters
    ----------
    estimator : classifier
        One of this package, or a pipeline that ends in one. It is cloned, and its marker set to None.
    X_unlabeled : {array-like, sparse matrix, frame} of shape (u, n_features)
        Features of the unlabelled samples, of the kind and columns that `fit` gets.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the samples given to `fit` and, behind them, the unlabelled ones.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Raises
    ------
    ValueError
        From `fit`: if the estimator has no parameter ``unlabeled``, columns differ, or a label is missing.

    Examples
    --------
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> import specmargin as sm
    >>> X, y = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> labeled = sm.hide_labels(y, per_class=12, random_state=0) != -1
    >>> svm = WithUnlabeled(sm.LapSVM(), X[~labeled])
    >>> calibrated = CalibratedClassifierCV(svm, cv=4).fit(X[labeled], y[labeled])
    >>> calibrated.classes_.tolist(), bool(calibrated.score(X, y) > 0.9)
    ([0, 1], True)
    """

    def __init__(self, estimator: Any, X_unlabeled: Any) -> None:
        self.estimator = estimator
        self.X_unlabeled = X_unlabeled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def fit(self, X: Matrix, y: Any) -> Self:
        """Fit the estimator to labelled samples and the unlabelled ones.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (l, n_features)
            Features of labelled samples.
        y : array-like of shape (l,)
            Their classes; any value is a class, -1 included.
        """
        if not hasattr(self.estimator, "get_params"):
            raise InvalidTypeError(
                f"estimator={shown(self.estimator)} is of the type {type(self.estimator).__name__}; pass a classifier "
                "of specmargin, or a pipeline that ends in one."
            )
        names = [name for name in self.estimator.get_params() if name.rpartition("__")[2] == "unlabeled"]
        if not names:
            raise InvalidInputError(
                f"estimator={shown(self.estimator)} has no parameter 'unlabeled', so that it knows no unlabelled "
                "samples; pass a classifier of specmargin, or a pipeline that ends in one."
            )
        known = label_array(by_row(y, X, None, None))
        known = label_vector(known[:, 0] if known.ndim == 2 and known.shape[1] == 1 else known)
        missing = missing_values(known)
        if missing.any():
            raise InvalidInputError(
                f"y[{int(missing.argmax())}] is {known[missing].tolist()[0]!r}, a missing value; pass labelled samples "
                "to fit, and the unlabelled ones as X_unlabeled."
            )
        rows = _stacked(X, self.X_unlabeled)
        marked = np.full(rows.shape[0], None, dtype=object)
        marked[: len(known)] = known.tolist() if known.dtype.kind != "O" else known
        self.estimator_ = clone(self.estimator).set_params(**dict.fromkeys(names)).fit(rows, marked)
        self.classes_ = np.asarray(self.estimator_.classes_)
        if known.dtype.kind != "O":
            self.classes_ = self.classes_.astype(known.dtype)
        self.n_features_in_ = int(rows.shape[1])
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def predict(self, X: Matrix) -> AnyArray:
        """Return the classes (m,) of new samples."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X)).astype(self.classes_.dtype)

    def score(self, X: Matrix, y: Any, sample_weight: Any = None) -> float:
        """Return the share of samples that are predicted correctly; y is matched by name, as by `fit`."""
        return float(super().score(X, by_row(y, X, None, None), by_row(sample_weight, X, None, np.nan)))

    @available_if(_has("decision_function"))
    def decision_function(self, X: Matrix) -> FloatArray:
        """Return what the estimator decides about new samples, (m,) or (m, n_classes)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the estimator's probabilities (m, n_classes) of new samples."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))


def _stacked(X: Any, unlabeled: Any) -> Any:
    """Return the rows of two matrices or frames, one below the other."""
    if hasattr(X, "iloc") and hasattr(unlabeled, "iloc"):
        import pandas as pd

        if list(X.columns) != list(unlabeled.columns):
            raise InvalidInputError(
                f"X has the columns {shown(list(X.columns))}, but X_unlabeled {shown(list(unlabeled.columns))}; pass "
                "the same columns in the same order. Tools that choose columns choose them of X alone: give them y "
                "with markers instead."
            )
        return pd.concat([X, unlabeled], ignore_index=True)
    parts = []
    for name, given in (("X", X), ("X_unlabeled", unlabeled)):
        parts.append(checked_sparse(name, given) if sp.issparse(given) else np.asarray(given))
        if parts[-1].ndim != 2:
            raise InvalidTypeError(
                f"{name}={shown(given)} has the shape {parts[-1].shape}; pass an array, a frame or a sparse matrix of "
                "numbers, a row per sample."
            )
    first, second = parts
    if first.shape[1] != second.shape[1]:
        raise InvalidInputError(
            f"X has the shape {first.shape}, but X_unlabeled {second.shape}; pass the same columns. Tools that choose "
            "columns choose them of X alone: give them y with markers instead."
        )
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([sp.csr_array(first), sp.csr_array(second)], format="csr")
    return np.concatenate([first, second])
