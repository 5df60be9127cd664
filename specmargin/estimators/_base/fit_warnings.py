"""What a classifier warns of when it has learned: one class for all samples, shares far from the labels', scales.

Each warning is in words, says what to do, and is a `specmargin.exceptions.SpecmarginWarning`. Of a component of the
graph without a label `specmargin.graphs.warn_components` warns, of answers that are proved less well than was asked for
the estimators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import betabinom
from sklearn.utils.sparsefuncs import min_max_axis

from specmargin.checks import warn
from specmargin.exceptions import (
    ClassShareWarning,
    ColumnScaleWarning,
    DisconnectedGraphWarning,
    SingleClassWarning,
    UndecidedWarning,
)
from specmargin.graphs.connectivity import components_of, unconnected
from specmargin.labels import Labels
from specmargin.labels.shares import credible_shares
from specmargin.spectra import Spectrum
from specmargin.spectra.reuse import reached
from specmargin.typing import AnyArray, IntArray, Matrix

_SCALES = 1e3
"""Ratio of the ranges of two columns that is warned of."""
_ROUNDING = 1e-12
"""Range of a column, relative to its largest entry, up to which it is constant."""
_UNIT = 1e-3
"""By which the squared length of a row may differ from one."""
_CUT = "shrunk"
"""Rule of class balance that moves the threshold of two classes to a share."""
_BY_CHANCE = 0.05
"""Probability up to which the labels contradict that all unlabelled samples are of one class."""


def warn_of_components(graph: Any, labeled: IntArray, predicted_by: str) -> None:
    """Warn where a graph, or one of several, is not connected; say how samples that no label reaches are predicted."""
    for W in graph if isinstance(graph, list) else [graph]:
        nodes = W.component if isinstance(W, Spectrum) else W
        if nodes is not None and (parts := components_of(nodes)).n > 1:
            warn(unconnected(parts, labeled, predicted_by), DisconnectedGraphWarning)


def warn_of_scales(estimator: Any, X: Matrix) -> None:
    """Warn where columns that are not constant differ in range by a factor of 1000 or more.

    Of words, that is where most entries are zero and none is negative, rows of length one say what counts, as tf-idf
    makes them; and what centres columns is no remedy.
    """
    low, high = min_max_axis(X, axis=0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
    ranges = high - low
    used = np.flatnonzero(ranges > _ROUNDING * np.maximum(np.abs(low), np.abs(high)))
    if len(used) < 2:
        return
    wide, narrow = used[ranges[used].argmax()], used[ranges[used].argmin()]
    if ranges[wide] < _SCALES * ranges[narrow]:
        return
    remedy = "scale them, e.g. by make_pipeline(StandardScaler(), ...) of scikit-learn"
    entries = X.nnz if sp.issparse(X) else np.count_nonzero(X)
    if low.min() >= 0 and 2 * entries < X.shape[0] * X.shape[1]:
        squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1)).ravel()
        if (np.abs(squares[squares > 0] - 1.0) < _UNIT).all():
            return
        remedy = (
            "scale them: most entries are zero, which TfidfTransformer() (of words and their counts) or MaxAbsScaler() "
            "of scikit-learn keeps"
        )
    names = getattr(estimator, "feature_names_in_", None)
    first, second = (f"column {k}" if names is None else f"column {names[k]!r}" for k in (wide, narrow))
    warn(
        f"{type(estimator).__name__}: columns of X differ in scale: {first} spans {ranges[wide]:.2g} and {second} "
        f"{ranges[narrow]:.2g}, so that kernel and neighbours hardly see the latter. Unless all are in one unit, "
        f"{remedy}.",
        ColumnScaleWarning,
    )


def warn_of_classes(estimator: Any, labels: Labels, predicted: IntArray) -> None:
    """Warn where a fitted classifier cannot decide, predicts one class only, or shares that the labels speak against.

    `predicted` are the positions of the classes of all samples.
    """
    scores, rounding = estimator.scores_[labels.unlabeled], getattr(estimator, "_rounding", 0.0)
    if scores.ndim == 1:
        undecided = np.abs(scores) <= rounding
    else:
        first, second = -np.partition(-scores, 1, axis=1)[:, :2].T
        undecided = first - second <= rounding
    if undecided.any():
        _warn_of_undecided(estimator, labels, predicted, undecided)
    hidden = predicted[labels.unlabeled]
    alike = any(len(some) and bool((some == some[0]).all()) for some in (predicted, hidden))
    if not (alike and _warned_of_one_class(estimator, labels, predicted)) and len(hidden):
        _warn_of_shares(estimator, labels, predicted)


def _warn_of_undecided(estimator: Any, labels: Labels, predicted: AnyArray, undecided: AnyArray) -> None:
    """Warn where nothing but rounding would tell unlabelled samples' classes apart."""
    names = ", ".join(_name(labels, int(k)) for k in np.unique(predicted[labels.unlabeled][undecided]))
    warn(
        f"{type(estimator).__name__}: {np.count_nonzero(undecided)} of the {len(undecided)} unlabelled samples are "
        f"undecided: their decisions are {'zero' if labels.is_binary else 'equal'} but for rounding. They are given "
        f"the first of the classes that are equal ({names}). Label some of them, or add what tells them apart.",
        UndecidedWarning,
    )


def _warned_of_one_class(estimator: Any, labels: Labels, predicted: AnyArray) -> bool:
    """Warn where all training samples are predicted alike, or all unlabelled ones against all likelihood."""
    hidden = predicted[labels.unlabeled]
    everything = bool((predicted == predicted[0]).all())
    if not everything:
        own = labels.counts[hidden[0]] + 2.0
        if (
            betabinom.pmf(len(hidden), len(hidden), own, labels.n_labeled + 2.0 * len(labels.classes) - own)
            > _BY_CHANCE
        ):
            return False
    n, kind = (len(predicted), "training") if everything else (len(hidden), "unlabelled")
    name = _name(labels, int(predicted[0] if everything else hidden[0]))
    warn(
        f"{type(estimator).__name__}: all {n} {kind} samples are predicted to be of the class {name}, though "
        f"{len(labels.classes)} classes are labelled: the features, the graph or the parameters do not tell them apart."
        f" Check these, or label more samples{_other_cut(estimator)}.",
        SingleClassWarning,
    )
    return True


def _warn_of_shares(estimator: Any, labels: Labels, predicted: AnyArray) -> None:
    """Warn where the share of a class, as decided without a balance or with it, is no credible one."""
    if isinstance(getattr(estimator, "class_balance", None), Mapping):
        return  # who gives the shares knows better than the labels
    low, high = credible_shares(labels.counts)
    scores, told = estimator.scores_, [kept.spectrum for kept in getattr(estimator, "_spectra", ())]
    if told:  # samples that no label reaches say nothing of the shares
        scores, predicted = reached(told, scores), reached(told, predicted)
    shares = np.bincount(predicted, minlength=len(labels.classes)) / len(predicted)
    # With two classes this rule is always in force.
    cut = labels.is_binary and hasattr(estimator, "balance_") and getattr(estimator, "class_balance", None) == _CUT
    moved = cut and getattr(estimator, "refine", None) is None  # refined scores are no decisions
    before = shares
    if moved:
        positive = float(np.mean(scores - estimator.balance_.offset > 0))
        before = np.array([1.0 - positive, positive])
    for each in (shares, before):
        outside_of = np.maximum(low - each, each - high)
        k = int(outside_of.argmax())
        if outside_of[k] > 0:
            break
    else:
        return
    verb, also = "are", ""
    if each is not shares:
        verb, also = (
            "would be",
            f"; class_balance={estimator.class_balance!r} moved the threshold, and {shares[k]:.0%} are",
        )
    reason = (
        "the graph or the parameters may mislead, or few labels be far from the shares by chance: label more nodes"
        if getattr(estimator, "_alone", False)
        else "features, graph or parameters may mislead, or few labels be far from the shares by chance: compare with "
        "a supervised classifier, or label more samples"
    )
    warn(
        f"{type(estimator).__name__}: {each[k]:.0%} of the {len(predicted)} training samples {verb} predicted to be of "
        f"the class {_name(labels, k)}, but by the labels ({labels.counts[k]} of {labels.n_labeled}) "
        f"{low[k]:.0%} to {high[k]:.0%} are credible{also}. If labels were drawn at random, {reason}"
        f"{_other_cut(estimator)}. If they were drawn class by class, they say nothing of the shares.",
        ClassShareWarning,
    )


def _other_cut(estimator: Any) -> str:
    """Say which parameter of the classifier moves the shares, if any."""
    if hasattr(estimator, "balance"):
        return ", or give balance= where the shares are known"
    if getattr(estimator, "class_balance", None) == _CUT and not hasattr(estimator, "balance_"):
        return ", or give class_balance= where the shares are known"
    known = getattr(estimator, "class_balance", _CUT) != _CUT and len(estimator.classes_) == 2
    return ", or take class_balance='shrunk'" if known else ""


def _name(labels: Labels, k: int) -> str:
    return repr(labels.classes[k : k + 1].tolist()[0])
