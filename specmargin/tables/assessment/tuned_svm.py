"""The supervised SVM that every method is compared with: linear or RBF, kernel and C chosen by folds of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

from specmargin.labels.encoding import as_they_appear
from specmargin.tables.candidates.held_out import stratified_folds
from specmargin.typing import AnyArray, FloatArray, IntArray, Matrix

__all__ = ["TunedSVM"]

_FOLDS = 5
_CS = (10.0, 1.0, 100.0, 0.1)
"""For a kernel of unit mean diagonal. Of equal errors the first counts: a weak penalty names the majority."""
_WIDTHS = (1.0, 0.5, 2.0, 0.25)
"""Of RBF kernels, times the median distance."""
_STEPS = 1000
"""Steps of libsvm for each sample, after which it warns: far from the origin it would go on for minutes."""


@dataclass(kw_only=True)
class TunedSVM(ClassifierMixin, BaseEstimator):
    """scikit-learn's SVC, whose kernel and C are chosen by five stratified folds of the samples it is fitted to.

    Parameters
    ----------
    random_state : int
        Deals out the folds.

    Attributes
    ----------
    classes_ : ndarray
    estimator_ : SVC or None
        None where there is one class.
    options_ : dict
        Parameters of the SVC.
    chosen_ : str
        Choice in words.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(0, 1, (15, 2)), rng.normal(4, 1, (15, 2))]
    >>> svm = TunedSVM().fit(X, [0] * 15 + [1] * 15)
    >>> svm.chosen_, svm.predict([[0, 0], [4, 4]]).tolist()
    ('linear kernel, C = 10', [0, 1])
    """

    random_state: int = 0

    def fit(self, X: Matrix, y: Any) -> TunedSVM:
        """Choose kernel and C, and fit to all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (l, d)
        y : array-like of shape (l,)
        """
        X = X if hasattr(X, "shape") else np.asarray(X)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            self.estimator_, self.options_, self.chosen_ = None, {}, "one class"
            return self
        kernels = _kernels(X)
        folds = stratified_folds(
            as_they_appear(codes), min(_FOLDS, len(codes)), np.random.default_rng(self.random_state)
        )
        best = min(
            ((_errors(G, codes, C, folds), i, j) for i, C in enumerate(_CS) for j, (_, _, G) in enumerate(kernels)),
        )
        (name, options, G), C = kernels[best[2]], _CS[best[1]]
        unit = float(np.mean(np.diag(G)))
        self.options_, self.chosen_ = {"C": C / unit if unit > 0 else C, **options}, f"{name} kernel, C = {C:g}"
        self.estimator_ = SVC(**self.options_, max_iter=_STEPS * len(codes)).fit(X, codes)
        return self

    def decision_function(self, X: Matrix) -> FloatArray:
        """Return decisions (m,) with two classes, (m, K) with more; zeros where there is one class."""
        if self.estimator_ is None:
            return np.zeros((X.shape[0], 1))
        return np.asarray(self.estimator_.decision_function(X))

    def predict(self, X: Matrix) -> AnyArray:
        """Return the classes (m,)."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        if self.estimator_ is None:
            return np.full(X.shape[0], self.classes_[0])
        return np.asarray(self.classes_[self.estimator_.predict(X)])


def _kernels(X: Matrix) -> list[tuple[str, dict[str, Any], FloatArray]]:
    """Return name, arguments of SVC and matrix of each kernel."""
    linear = X @ X.T
    linear = linear.toarray() if hasattr(linear, "toarray") else np.asarray(linear)
    squares = euclidean_distances(X, squared=True)
    unit = float(np.sqrt(np.median(squares[np.triu_indices(len(squares), 1)])))
    kernels: list[tuple[str, dict[str, Any], FloatArray]] = [("linear", {"kernel": "linear"}, linear)]
    for one in _WIDTHS if unit > 0 else ():
        gamma = 0.5 / (one * unit) ** 2
        name = f"RBF (width {one:g} times the median distance)"
        kernels.append((name, {"kernel": "rbf", "gamma": gamma}, np.exp(-gamma * squares)))
    return kernels


def _errors(G: FloatArray, codes: IntArray, C: float, folds: IntArray) -> int:
    """Return how many left-out samples are wrong."""
    unit, wrong = float(np.mean(np.diag(G))), 0
    for fold in np.unique(folds):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        known = np.unique(codes[train])
        if len(known) == 1:
            predicted = np.full(len(test), known[0])
        else:
            svm = SVC(C=C / unit if unit > 0 else C, kernel="precomputed", max_iter=_STEPS * len(train))
            svm.fit(G[np.ix_(train, train)], codes[train])
            predicted = svm.predict(G[np.ix_(test, train)])
        wrong += int((predicted != codes[test]).sum())
    return wrong
