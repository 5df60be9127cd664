"""The supervised twin of a search: an SVM on the features of the labelled samples, chosen by the same folds."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from specmargin.candidates.hinge import fitted_hinge
from specmargin.estimators._label_search import of_decisions
from specmargin.estimators.relative_margin import RMM
from specmargin.kernels import gram, resolve_gamma
from specmargin.labels import Labels
from specmargin.objectives import leave_one_out as loo
from specmargin.objectives.manifold_weights import mean_eigenvalue
from specmargin.typing import FloatArray, Matrix

_WIDTHS = (0.5, 1.0, 2.0)
"""Multiples of the median distance."""


class Twin(NamedTuple):
    """The SVM that was chosen.

    `params` are keyword arguments of RMM, `score` is the criterion with its sign changed, and `decisions` are those at
    all tested samples, fold by fold.
    """

    params: dict[str, Any]
    score: float
    decisions: FloatArray

    def fitted(self, X: Matrix, y: Any, **parameters: Any) -> RMM:
        """Return the SVM, fitted to all labelled samples; warnings are those of the estimator that it is held to."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return RMM(B=np.inf, **self.params, **parameters).fit(X, y)


def supervised_twin(X: Matrix, labels: Labels, folds: list[loo.Fold], Cs: tuple[float, ...], criterion: str) -> Twin:
    """Return the SVM whose decisions at left-out samples are best.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        All samples: the widths are multiples of the median distance between them.
    labels : Labels
    folds : list of Fold
    Cs : tuple of float
        Weights of the loss per unit mean diagonal of the centred kernel.
    criterion : {"nll", "sq", "01"}
    """
    kept = loo.counted(labels.sign, folds)
    tested = np.concatenate([fold.test for fold in folds])[kept]
    median = resolve_gamma(X, "median")
    kernels: list[dict[str, Any]] = [{"kernel": "linear"}]
    kernels += [{"kernel": "rbf", "gamma": median / width**2} for width in _WIDTHS]
    X, best = X[labels.labeled], Twin({}, -np.inf, np.empty(0))
    for words in kernels:
        K = gram(X, **words)
        unit = mean_eigenvalue(K, centred=True) or 1.0
        decisions = np.stack([_held_out(K, labels, folds, C / unit) for C in Cs])
        scores = -of_decisions(decisions[:, kept], decisions[:, kept], labels.sign[tested])[criterion]
        k = int(np.argmax(np.where(np.isnan(scores), -np.inf, scores)))
        if not best.params or scores[k] > best.score:
            best = Twin({**words, "C": float(Cs[k] / unit)}, float(scores[k]), decisions[k])
    return best


def _held_out(K: FloatArray, labels: Labels, folds: list[loo.Fold], C: float) -> FloatArray:
    """Return the decisions at the tested samples, fold by fold."""
    parts = []
    for left_out, test in folds:
        train = np.setdiff1d(np.arange(labels.n_labeled), left_out)
        G, across = K[np.ix_(train, train)], K[np.ix_(test, train)]
        fits = [fitted_hinge(G, binary.sign[train], C) for binary in labels.one_vs_rest()]
        f = np.column_stack([across @ v + b for v, b in fits])
        parts.append(f[:, 0] if labels.is_binary else f)
    return np.concatenate(parts)
