"""The supervised twin of a search: an SVM on the features of the labelled samples, chosen by the same folds.

`TwinnedSearch` is a search whose every fold learns anew, and which is held against its twin.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specmargin.candidates.hinge_duals import solve_hinge_duals
from specmargin.checks import Rule
from specmargin.estimators._label_search import LabelSearch, Trials, judged
from specmargin.estimators._parameter_rules import RULES
from specmargin.estimators.relative_margin import RMM
from specmargin.kernels import gram, resolve_gamma
from specmargin.kernels.matrices import near_origin
from specmargin.labels import Labels
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.manifold_weights import mean_eigenvalue
from specmargin.typing import BoolArray, FloatArray, Matrix

_MOST_FOLDS = 10
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

    def fitted(self, X: Matrix, y: Any, weights: FloatArray | None = None, **parameters: Any) -> RMM:
        """Return the SVM, fitted to all labels; warnings are those of the estimator that it is held to."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return RMM(B=np.inf, **self.params, **parameters).fit(X, y, sample_weight=weights)


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
    X, trials = X[labels.labeled], Trials(criterion, tested)
    for params in kernels:
        K = gram(near_origin(X)[0] if params["kernel"] == "linear" else X, **params)
        unit = mean_eigenvalue(K, centred=True) or 1.0
        decisions = _held_out(K / unit, labels, folds, np.asarray(Cs, dtype=float))[:, kept]
        own = None if labels.weights is None else labels.weights[tested]
        judgement = judged(decisions, decisions, labels.sign[tested], criterion, own)
        trials.add([{**params, "C": float(C / unit)} for C in Cs], judgement, common={})
    best = trials.best()
    return Twin(trials.params[best], -float(trials.values(criterion)[best]), trials.wrong_when_chosen_by_others())


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


@dataclass(kw_only=True, eq=False, repr=False)
class TwinnedSearch(LabelSearch):
    """A search by folds that are learned from the start, compared with a supervised twin that has the same folds.

    Parameters
    ----------
    cv : "auto", "loo", int or splitter
        "auto": leave one labelled sample out up to 10 labels, beyond that 10 folds. "loo": leave one out, whatever
        it takes. A number of folds (those of `LabeledKFold`, in the order of the samples), or any splitter, which is
        shown the labelled samples only. Left-out samples stay as unlabelled ones.

    Attributes
    ----------
    baseline_ : RMM
        The supervised twin: an SVM on the features of the labelled samples, fitted. Kernel (linear, or RBF with half
        the median distance for sigma, with it, and with twice it) and C (per unit mean diagonal of the centred kernel)
        are chosen by the same folds and criterion.
    baseline_score_ : float
        Its criterion with the sign changed, as `best_score_`.
    comparison_ : specmargin.candidates.Comparison
        The search against its twin, by their errors at left-out labels, each label judged by the settings that the
        other labels choose: exact McNemar test, and a ``verdict`` in words.

    Notes
    -----
    **Is it worth it?** The twin knows the labelled samples alone. `comparison_` counts at which left-out labels each of
    the two errs; its verdict is "too few labels to judge" below ten.
    """

    cv: Any = "auto"

    _refitted: ClassVar[type]
    _takes_graph_alone: ClassVar[bool] = False  # the twin learns from features
    _parameter_rules: ClassVar[dict[str, Rule]] = {
        "cv": lambda name, value: value if isinstance(value, str) and value == "auto" else RULES["cv"](name, value),
    }

    def _cv_for(self, labels: Labels) -> Any:
        if not isinstance(self.cv, str) or self.cv != "auto":
            return self.cv
        return "loo" if labels.n_labeled <= _MOST_FOLDS else _MOST_FOLDS

    def _kept_parameters(self: Any, searched: Sequence[str]) -> dict[str, Any]:
        """Return the parameters that are not searched for, and not the default of the estimator."""
        usual = {name: entry.default for name, entry in signature(self._refitted).parameters.items()}
        given = {name: value for name, value in self.get_params(deep=False).items() if name in usual}
        return {name: value for name, value in given.items() if name not in searched and not _same(value, usual[name])}

    def _compare(self: Any, X: Matrix, y: Any, labels: Labels, folds: list[loo.Fold], trials: Trials, Cs: Any) -> None:
        """Choose and fit the supervised twin, and compare what the labels say of both."""
        twin = supervised_twin(X, labels, folds, tuple(Cs), self.criterion)
        weights = None
        if labels.weights is not None:
            weights = np.zeros(labels.n_samples)
            weights[labels.labeled] = labels.weights
        self.baseline_ = twin.fitted(X, y, weights, unlabeled=self.unlabeled, tol=self.tol)
        self.baseline_score_ = twin.score
        self.comparison_ = self._compared(trials.wrong_when_chosen_by_others(), twin.wrong)


def _same(value: Any, usual: Any) -> bool:
    """Whether a parameter is the usual one; markers such as pandas.NA have no truth value when compared."""
    return value is usual or (type(value) is type(usual) and bool(value == usual))
