"""What one cell measures: an estimator fitted on a split, and its errors on everything that can be measured."""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from reproduction.engine.protocol import LabeledFolds, Tuning, labeled_folds
from reproduction.engine.splits import Split
from specmargin.exceptions import MarkerWarning
from specmargin.labels import label_vector
from specmargin.typing import AnyArray, IntArray, Matrix


def evaluate(
    estimator: Any,
    X: Matrix,
    y: npt.ArrayLike,
    split: Split,
    *,
    tunings: Iterable[Tuning] = (),
    graph: Any = None,
    labeled_only: bool = False,
) -> dict[str, Any]:
    """Fit an estimator on one split and return its errors, in percent, on everything that can be measured.

    Parameters
    ----------
    estimator : classifier
        Cloned for every fit. Unlabelled samples carry -1 whatever the classes are, because the labels are passed as
        0, 1, ...
    X : array or sparse matrix of shape (n, d)
        All samples; with ``kernel="precomputed"`` the Gram matrix of all samples, (n, n).
    y : array-like of shape (n,)
        True labels of all samples.
    split : Split
        What to fit and what to measure.
    tunings : iterable of Tuning
        Protocols whose criteria are wanted beyond the errors below: each `LabeledFolds` costs its number of fits.
    graph : sparse matrix, optional
        Passed to ``fit``; over the training samples ``split.train``, in their order.
    labeled_only : bool, default False
        Fit a supervised learner on the labelled samples alone.

    Returns
    -------
    dict
        ``error_unlabeled``, ``error_validation`` and ``error_test`` where the split has such samples, and a column per
        `LabeledFolds`. Where the estimator has a ``result_``, also ``solver`` and ``relative_gap``: the worst of all
        fits and classes, inf where nothing is proved.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1], [0.2], [0.9]])
    >>> split = Split([0, 1, 2, 3], [4, 5])
    >>> evaluate(SVC(), X, list("aabbab"), split, tunings=[LabeledFolds(2)], labeled_only=True)
    {'error_unlabeled': 0.0, 'error_2fold_seed0': 0.0}
    """
    codes = np.unique(label_vector(y), return_inverse=True)[1]
    fit = _Fitter(estimator, X, codes, split, graph, labeled_only)
    parts = {part: getattr(split, part) for part in ("unlabeled", "validation", "test") if getattr(split, part).size}
    predictions = fit(split.labeled, list(parts.values()))
    errors: dict[str, Any] = {
        f"error_{name}": percent(predicted != codes[part])
        for (name, part), predicted in zip(parts.items(), predictions, strict=True)
    }
    for tuning in tunings:
        if isinstance(tuning, LabeledFolds):
            wrong = []
            for left_out in labeled_folds(codes, split.labeled, tuning):
                (predicted,) = fit(np.setdiff1d(split.labeled, left_out), [left_out])
                wrong.append(predicted != codes[left_out])
            errors[tuning.criterion] = percent(np.concatenate(wrong))
    return {**errors, **fit.evidence()}


def percent(truths: AnyArray) -> float:
    """Return the share of truths, in percent."""
    return 100.0 * float(np.mean(truths))


@dataclass
class _Fitter:
    """Fits clones of one estimator on subsets of the labels of a split, and keeps solver and gap of every result."""

    estimator: Any
    X: Matrix
    codes: IntArray
    split: Split
    graph: Any
    labeled_only: bool
    certified: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, labeled: IntArray, queries: Sequence[IntArray]) -> list[AnyArray]:
        """Predict the codes of each array of samples after a fit that sees the labels of `labeled` alone."""
        from sklearn.base import clone

        seen = np.unique(self.codes[labeled])
        if len(seen) == 1:  # a fold may leave one class: the constant classifier
            return [np.full(len(query), seen[0]) for query in queries]
        estimator = clone(self.estimator)
        if "unlabeled" in estimator.get_params():
            estimator.set_params(unlabeled=-1)
        train = labeled if self.labeled_only else self.split.train
        labels = np.where(np.isin(train, labeled), self.codes[train], -1)
        with warnings.catch_warnings():
            # The labels were hidden here: where none is, as for a supervised learner, that is meant.
            warnings.simplefilter("ignore", MarkerWarning)
            estimator.fit(self._rows(train, train), labels, **({} if self.graph is None else {"graph": self.graph}))
        if (results := getattr(estimator, "result_", None)) is not None:
            results = results if isinstance(results, list | tuple) else [results]
            self.certified += [(result.solver, float(result.certificate.relative_gap)) for result in results]
        transduction = getattr(estimator, "transduction_", None)
        return [
            np.asarray(transduction)[np.searchsorted(train, query)]
            if transduction is not None and np.isin(query, train).all()
            else estimator.predict(self._rows(query, train))
            for query in queries
        ]

    def _rows(self, samples: IntArray, train: IntArray) -> Matrix:
        whole = len(samples) == self.X.shape[0]  # sorted and unique: everything, so no copy
        kernel = self.estimator.get_params().get("kernel")
        if kernel != "precomputed" and not getattr(kernel, "is_precomputed", False):
            return self.X if whole else self.X[samples]
        return self.X if whole and len(train) == self.X.shape[0] else self.X[np.ix_(samples, train)]

    def evidence(self) -> dict[str, Any]:
        if not self.certified:
            return {}
        # NaN proves as little as an infinite gap, and max() would pass over it.
        worst = max((math.inf if math.isnan(gap) else gap for _, gap in self.certified), key=abs)
        return {"solver": "+".join(sorted({solver for solver, _ in self.certified})), "relative_gap": worst}
