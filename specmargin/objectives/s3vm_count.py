r"""S3VMs whose balance is a number of labels: the value of their weights.

Exactly k of the u unlabelled samples are positive, k = (1 + r) u / 2 rounded to a whole number (halves to the even
one). With the labels as unknowns J is

    J(w) = 1/2 |w|^2 + C sum_labelled V(y_i f_i) + C* min_y sum_unlabelled V(y_j f_j),   y in {-1, +1}^u, k of them +1.

A label +1 instead of -1 costs V(f_j) - V(-f_j), which falls with f_j: the k samples of the largest decisions are the
positive ones. With these labels J is the SVM of `S3VM.guessed`; without the count, no J is larger.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm_slack import require_squared_hinges
from specmargin.results import Certificate
from specmargin.typing import FloatArray

__all__ = ["count_certificate", "counted_labels", "require_count_balance"]


def require_count_balance(obj: Any) -> None:
    """Raise where a number of positive labels is asked for that the losses or the samples do not have."""
    require_squared_hinges(obj)
    if not -1.0 <= obj.balance <= 1.0:
        raise InvalidInputError(
            f"balance={obj.balance!r} must be in [-1, 1]: no number of {len(obj.unlabeled)} labels has this mean."
        )
    if obj.features.mu is not None or obj.features.offset or obj.features.penalty == 0.0:
        raise InvalidInputError(
            "balance_on='labels' goes with intercept='none' or 'regularized': the decisions are not balanced as well."
        )


def counted_labels(f: FloatArray, count: int) -> FloatArray:
    """Return labels of which `count` are +1, those of the largest f.

    Examples
    --------
    >>> counted_labels(np.array([0.3, -2.0, 0.1, 4.0]), 1).tolist()
    [-1.0, -1.0, -1.0, 1.0]
    """
    labels = np.full(len(f), -1.0)
    labels[np.argsort(-f, kind="stable")[:count]] = 1.0
    return labels


def count_certificate(obj: Any, w: FloatArray, lower: float = -np.inf) -> Certificate:
    """Return J(w) with a bound on its rounding, how far w is from stationary with its labels, and a lower bound."""
    certificate = obj.with_labels(obj.labels_of(w)).prove(w)
    return replace(certificate, dual_objective=lower)
