"""False labels that change predictions: `label_robustness` of classifiers by linear maps, refits and bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from specmargin.checks import whole
from specmargin.estimators._base.changed_model import refuse_changed
from specmargin.estimators._base.class_balance import UNDECIDED, Balance, codes_of
from specmargin.estimators._base.label_weights import weights_when_relabelled
from specmargin.estimators._base.semi_supervised import check_features, numerical_failures
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.labels import Labels
from specmargin.objectives.held_out.label_flips import (
    LabelRobustness,
    attacked_flips,
    enumerated_flips,
    label_sets_up_to,
    linear_flips,
)
from specmargin.typing import FloatArray, IntArray, Matrix

Smoother = Callable[[FloatArray | None], tuple[FloatArray, FloatArray]]
"""From the weights of the labels to H of the decisions f = H y: at the training samples, and at those asked for."""

Answers = Callable[[Labels], tuple[FloatArray, FloatArray]]
"""From labels to the decisions before classes are balanced: at the training samples, and at those asked for."""


class Products(NamedTuple):
    """Decisions f = H y; H anew where the weights follow from the labels."""

    smooth: Smoother
    anew: bool
    H: FloatArray
    at: FloatArray

    def __call__(self, labels: Labels) -> tuple[FloatArray, FloatArray]:
        H, at = self.smooth(labels.weights) if self.anew else (self.H, self.at)
        return _decided(H, labels), _decided(at, labels)


_MOST = 5_000
"""Sets of false labels that are tried unless more are asked for: seconds."""
_MOST_FITS = 300
"""The same where each is a fit; and as many are tried beyond the limit."""
FIXED = "kernel, graph, penalties and learned weights are those of fit"
"""What stays while labels change."""
_REPRODUCED = 1e-5
"""Relative difference to the decisions of the fit up to which they are the same."""


def count_flips(estimator: Any, X: Matrix | None, max_flips: int | None) -> LabelRobustness:
    """Return what ``label_robustness`` of a classifier says.

    It has ``_smoother(X)``, its decisions as a linear map of the labels, or ``_refits(X)``, `Answers` by fits with the
    parameters in use.
    """
    linear = hasattr(estimator, "_smoother")
    if not linear and not hasattr(estimator, "_refits"):
        raise InvalidInputError(
            f"{type(estimator).__name__} decides by no linear map of the labels: the worst false labels are not "
            "known in closed form; take LapRLS, SpectralRidge or SpectralFilterClassifier, or by fits LapSVM, STORM, "
            "STOAM or MKL."
        )
    refuse_changed(estimator, "label robustness")
    labels: Labels = estimator._remembered().labels
    _check(labels, max_flips)
    if X is not None:
        X = check_features(estimator, X, reset=False)
    known, n_classes, l, bound = labels.sign_codes, len(labels.classes), labels.n_labeled, ""
    weigh = weights_when_relabelled(labels, estimator.class_weight)
    with numerical_failures(estimator):
        answers = _products(estimator, X, labels) if linear else estimator._refits(X)
        if isinstance(answers, Products) and estimator.class_balance is None and estimator.class_weight is None:
            limit = l if max_flips is None else max_flips
            rounding = UNDECIDED * float(np.abs(estimator.scores_).max(initial=0.0))
            codes, radius, flips, decides = linear_flips(answers.at, known, n_classes, rounding=rounding)
            flips[radius > limit] = -1
            radius = np.minimum(radius, limit + 1)
        else:
            most = _MOST if linear else _MOST_FITS
            limit = label_sets_up_to(l, n_classes, most) if max_flips is None else max_flips

            def answer(codes: IntArray) -> tuple[IntArray, FloatArray]:
                other = labels.with_codes(codes)
                other = replace(other, weights=weigh(other))
                f, at = answers(other)
                balance = Balance.of(f, other, estimator.class_balance)
                rounding = UNDECIDED * float(np.abs(balance(f)).max(initial=0.0))
                return codes_of(balance(at), rounding), balance(at)

            codes, radius, flips, decides = enumerated_flips(lambda one: answer(one)[0], known, n_classes, limit)
            if max_flips is None and limit < l:
                flips = attacked_flips(answer, known, n_classes, flips, limit, _MOST_FITS)
                if estimator.class_balance is None and estimator.class_weight is None and n_classes == 2:
                    proved, bound = getattr(estimator, "_certified_flips", lambda X: (0, ""))(X)
                    radius = np.where(radius > limit, np.maximum(radius, proved + 1), radius)
    counted = np.ones(len(codes), dtype=bool)
    if X is None:
        counted[labels.labeled] = False
    return LabelRobustness(codes, radius, flips, decides, labels.labeled, labels.classes, limit, counted, FIXED, bound)


def _products(estimator: Any, X: Matrix | None, labels: Labels) -> Products:
    smooth = estimator._smoother(X)
    products = Products(smooth, estimator.class_weight is not None, *smooth(labels.weights))
    f = products(labels)[0]
    scores = Balance.of(f, labels, estimator.class_balance)(f)
    error = float(np.abs(scores - estimator.scores_).max(initial=0.0))
    if not error <= _REPRODUCED * float(np.abs(estimator.scores_).max(initial=0.0)):
        raise SolverError(
            f"{type(estimator).__name__}: decisions as a linear map of the labels differ from those of fit by "
            f"{error:.1e}: weights are so far apart that rounding decides; take a larger gamma_A (penalty)."
        )
    return products


def _decided(H: FloatArray, labels: Labels) -> FloatArray:
    """Return the decisions H y, (m,) or (m, K)."""
    if H.ndim == 2:
        return np.asarray(H @ labels.sign)
    return np.stack([one @ labels.sign[:, k] for k, one in enumerate(H)], axis=1)


def _check(labels: Labels, max_flips: int | None) -> None:
    counts, l = labels.counts, labels.n_labeled
    if counts.min() < 2:
        alone = labels.classes.tolist()[int(counts.argmin())]
        raise InvalidInputError(
            f"the class {alone!r} has one label, and if that is false nothing is known of the class; label another "
            "sample of it."
        )
    if max_flips is not None and not 1 <= whole("max_flips", max_flips) <= l:
        raise InvalidInputError(f"max_flips={max_flips} of {l} labels cannot be false; take 1 to {l}.")
