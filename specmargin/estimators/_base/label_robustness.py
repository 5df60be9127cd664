"""False labels that change predictions of classifiers whose decisions are a linear map of the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from specmargin.checks import whole
from specmargin.estimators._base.changed_model import refuse_changed
from specmargin.estimators._base.label_weights import weights_when_relabelled
from specmargin.estimators._base.semi_supervised import check_features, numerical_failures
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.labels import Labels
from specmargin.labels.shares import UNDECIDED, Balance, codes_of
from specmargin.objectives.held_out.collective_flips import CollectiveFlips, collective_flips
from specmargin.objectives.held_out.label_flips import (
    LabelRobustness,
    enumerated_flips,
    label_sets_up_to,
    linear_flips,
)
from specmargin.typing import FloatArray, IntArray, Matrix

Smoother: TypeAlias = Callable[[FloatArray | None], tuple[FloatArray, FloatArray]]
"""From the weights of the labels to H of the decisions f = H y: at the training samples, and at those asked for."""

_MOST = 5_000
"""Sets of false labels that are tried unless more are asked for: seconds."""
_REPRODUCED = 1e-5
"""Relative difference to the decisions of the fit up to which they are the same."""


def count_flips(estimator: Any, X: Matrix | None, max_flips: int | None) -> LabelRobustness:
    """Return what ``label_robustness`` of a classifier says; ``_smoother(X)`` has its decisions as a linear map."""
    refuse_changed(estimator, "label robustness")
    labels: Labels = estimator._remembered().labels
    _check(labels, max_flips)
    if X is not None:
        X = check_features(estimator, X, reset=False)
    known, n_classes, l = labels.sign_codes, len(labels.classes), labels.n_labeled
    with numerical_failures(estimator):
        smooth = estimator._smoother(X)
        H, at = smooth(labels.weights)
        _require_reproduced(estimator, H, labels)
        if estimator.class_balance is None and estimator.class_weight is None:
            limit = l if max_flips is None else max_flips
            codes, radius, flips, decides = linear_flips(at, known, n_classes, rounding=estimator._rounding)
            flips[radius > limit] = -1
            radius = np.minimum(radius, limit + 1)
        else:
            limit = label_sets_up_to(l, n_classes, _MOST) if max_flips is None else max_flips
            weigh = weights_when_relabelled(labels, estimator.class_weight)

            def decide(codes: IntArray) -> IntArray:
                other = labels.with_codes(codes)
                other = replace(other, weights=weigh(other))
                maps = (H, at) if estimator.class_weight is None else smooth(other.weights)
                f, new = (_decided(one, other) for one in maps)
                balance = Balance.of(f, other, estimator.class_balance)
                return codes_of(balance(new), UNDECIDED * float(np.abs(balance(f)).max(initial=0.0)))

            codes, radius, flips, decides = enumerated_flips(decide, known, n_classes, limit)
    counted = np.ones(len(codes), dtype=bool)
    if X is None:
        counted[labels.labeled] = False
    return LabelRobustness(codes, radius, flips, decides, labels.labeled, labels.classes, limit, counted)


def count_together(estimator: Any, r: int, X: Matrix | None, time_limit: float) -> CollectiveFlips:
    """Return what ``collective_flips`` of a classifier says; ``_smoother(X)`` has its decisions as a linear map."""
    refuse_changed(estimator, "collective flips")
    labels: Labels = estimator._remembered().labels
    _check(labels, None)
    if estimator.class_balance is not None or estimator.class_weight is not None:
        raise InvalidInputError(
            "thresholds and weights that follow from the labels are no linear map of them; take class_balance=None and "
            f"class_weight=None, or the bound (label_robustness(max_flips={r}).radius <= {r}).sum()."
        )
    if X is not None:
        X = check_features(estimator, X, reset=False)
    with numerical_failures(estimator):
        H, at = estimator._smoother(X)(labels.weights)
        _require_reproduced(estimator, H, labels)
    counted = np.ones(at.shape[-2], dtype=bool)
    if X is None:
        counted[labels.labeled] = False
    options = {"counted": counted, "rounding": estimator._rounding, "time_limit": time_limit}
    return collective_flips(at, labels.sign_codes, len(labels.classes), r, **options)


def _require_reproduced(estimator: Any, H: FloatArray, labels: Labels) -> None:
    f = _decided(H, labels)
    scores = Balance.of(f, labels, estimator.class_balance)(f)
    error = float(np.abs(scores - estimator.scores_).max(initial=0.0))
    if not error <= _REPRODUCED * float(np.abs(estimator.scores_).max(initial=0.0)):
        raise SolverError(
            f"{type(estimator).__name__}: decisions as a linear map of the labels differ from those of fit by "
            f"{error:.1e}: weights are so far apart that rounding decides; take a larger gamma_A (penalty)."
        )


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
