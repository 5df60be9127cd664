"""The supervised twin of a search: an SVM on the features of the labelled samples, chosen by the same folds."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from specmargin.candidates.hinge import fitted_hinge
from specmargin.estimators._label_search import Trials, judged
from specmargin.estimators.relative_margin import RMM
from specmargin.kernels import gram, resolve_gamma
from specmargin.labels import Labels
from specmargin.objectives import leave_one_out as loo
from specmargin.objectives.manifold_weights import mean_eigenvalue
from specmargin.typing import BoolArray, FloatArray, Matrix

_WIDTHS = (0.5, 1.0, 2.0)
"""Multiples of the median distance."""


class Twin(NamedTuple):
    """The SVM that was chosen.

    `params` are keyword arguments of RMM, `score` is the criterion with its sign changed, and `wrong` says of each
    labelled sample whether the SVM that the others choose names it wrongly.
    """

    params: dict[str, Any]
    score: float
    wrong: BoolArray

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
    from sklearn import config_context

    kept = loo.counted(labels.sign, folds)
    tested = np.concatenate([fold.test for fold in folds])[kept]
    median = resolve_gamma(X, "median")
    kernels: list[dict[str, Any]] = [{"kernel": "linear"}]
    kernels += [{"kernel": "rbf", "gamma": median / width**2} for width in _WIDTHS]
    X, trials = X[labels.labeled], Trials(criterion, tested)
    for params in kernels:
        K = gram(X, **params)
        unit = mean_eigenvalue(K, centred=True) or 1.0
        # Many small fits: what scikit-learn would check takes longer than they do.
        with config_context(skip_parameter_validation=True, assume_finite=True):
            decisions = np.stack([_held_out(K / unit, labels, folds, C) for C in Cs])
        decisions = decisions[:, kept]
        found = judged(decisions, decisions, labels.sign[tested], criterion)
        trials.add([{**params, "C": float(C / unit)} for C in Cs], found, common={})
    best = trials.best()
    return Twin(trials.params[best], -float(trials.values(criterion)[best]), trials.wrong_when_chosen_by_others())


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
