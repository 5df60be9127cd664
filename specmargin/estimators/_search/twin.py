"""The supervised twin of a search: an SVM on the features of the labelled samples, chosen by the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from specmargin.estimators._search.trials import Settings, Trials
from specmargin.estimators.relative_margin import RMM
from specmargin.kernels import RBF, Kernel, Linear, resolve_gamma
from specmargin.kernels.matrices import near_origin
from specmargin.labels import Labels
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.manifold_weights import mean_eigenvalue
from specmargin.solvers.hinge_duals import solve_hinge_duals
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

    def fitted(self, X: Matrix, y: Any, labels: Labels, unlabeled: Any) -> RMM:
        """Return the SVM, fitted to all labels; warnings are those of the estimator that it is held to."""
        weights = None
        if labels.weights is not None:
            weights = np.zeros(labels.n_samples)
            weights[labels.labeled] = labels.weights
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return RMM(B=np.inf, **self.params, unlabeled=unlabeled).fit(X, y, sample_weight=weights)


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
    median = resolve_gamma(X, "median")
    kernels: list[Kernel] = [Linear(), *(RBF(median / width**2) for width in _WIDTHS)]
    X = X[labels.labeled]

    def settings() -> Iterator[Settings]:
        for kernel in kernels:
            K = kernel(near_origin(X)[0] if isinstance(kernel, Linear) else X)
            unit = mean_eigenvalue(K, centred=True) or 1.0
            decisions = _held_out(K / unit, labels, folds, np.asarray(Cs, dtype=float))
            yield Settings([{"kernel": kernel, "C": float(C / unit)} for C in Cs], decisions, decisions)

    trials = Trials(settings(), labels, folds, criterion)
    best = trials.best()
    return Twin(trials.tried[best], -float(trials.values[criterion][best]), trials.wrong_when_chosen_by_others())


def _held_out(K: FloatArray, labels: Labels, folds: list[loo.Fold], Cs: FloatArray) -> FloatArray:
    """Return the decisions at the tested samples, fold by fold, for every C: (P, m) or (P, m, K)."""
    signs = np.stack([binary.sign for binary in labels.one_vs_rest()])
    kept = np.ones((len(folds), len(K)))
    for k, fold in enumerate(folds):
        kept[k, fold.left_out] = 0.0
    shape = (len(Cs), len(folds), *signs.shape)
    upper = np.broadcast_to(np.multiply.outer(Cs, kept * labels.weights_or_ones)[:, :, None], shape)
    flat, b = solve_hinge_duals(K, np.broadcast_to(signs, shape).reshape(-1, len(K)), upper.reshape(-1, len(K)))
    beta, intercept = flat.reshape(shape), b.reshape(shape[:-1])
    parts = [np.einsum("tl,pcl->ptc", K[fold.test], beta[:, k]) + intercept[:, None, k] for k, fold in enumerate(folds)]
    f = np.concatenate(parts, axis=1)
    return f[..., 0] if labels.is_binary else f
