"""How a search of S3VMs begins and ends where double precision ends: refused, or told where digits are lost.

`require_range` is the first thing that a search does, `start_vector` its start; `trusted` decides whether its end is
STATIONARY or NUMERICAL, and `ended` makes the answer of it.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.rounding.weighted_svm import decision_rounding
from specmargin.objectives.s3vm import S3VM
from specmargin.results import INACCURATE_GAP, Certificate, History, SolveResult, Status
from specmargin.typing import FloatArray

__all__ = ["cause_of_rounding", "ended", "far_away", "require_range", "start_vector", "trusted"]

_LARGEST = {1: 1e160, 2: 1e120}
"""Most of n C |x|^power: of gradients, whose lengths are taken with scaling, and of Hessians, which lack that care."""
_FAR = 1e6
"""How far from the origin, in lengths of the longest centred row, sparse features get the blame for roundings."""
_PROVED = 1e-6
"""Relative gap of a convex problem, its rounding aside, that no descent closes any more."""
_SMALLEST_C, _SMALLEST_SQUARE = 1e-100, 1e-305


def require_range(obj: S3VM, *, power: Literal[1, 2] = 2) -> None:
    """Raise a ValueError where the objective's derivatives would leave the range of double precision.

    Parameters
    ----------
    obj : S3VM
        What is to be searched.
    power : {1, 2}
        Power of the lengths of the features in what the search computes: 1 for gradients alone, 2 for Hessians.
    """
    features = obj.features
    entries = features.X.data if features.is_sparse else features.X
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        square = float(features.squared_norms.max(initial=0.0))
        largest = float(np.abs(entries).max(initial=0.0))
        most = _LARGEST[power] / (features.n_samples * max(square, 1.0) ** (power / 2))
    if not np.isfinite(square):
        raise InvalidInputError(
            "squared lengths of the features overflow; divide the features by their largest length."
        )
    if largest > 0.0 and largest**2 < _SMALLEST_SQUARE:
        raise InvalidInputError(
            "squared lengths of the features underflow; divide the features by their largest length."
        )
    least_cost, largest_cost = float(np.min(obj.costs)), float(np.max(obj.costs))
    limits = (("C", least_cost, _SMALLEST_C), ("C", largest_cost, _SMALLEST_C), ("C_star", obj.C_star, 0.0))
    for name, value, least in limits:
        if not least <= value <= most:
            remedy = f"Take {name} from {_SMALLEST_C:.0e} to {most:.0e}, or scale" if most > _SMALLEST_C else "Scale"
            raise InvalidInputError(
                f"{name}={value:.6g} with features of length up to {square**0.5:.3g} is beyond double precision: "
                f"{'squares of gradients underflow' if value < least else 'derivatives overflow'}. {remedy} the "
                "features to a length of about one; a large C separates the samples, and its size does not matter."
            )


def start_vector(w: npt.ArrayLike | None, size: int) -> FloatArray:
    """Return a copy of the weights to start from, checked, or zeros, (size,).

    Examples
    --------
    >>> start_vector(None, 2).tolist(), start_vector([1, 2], 2).tolist()
    ([0.0, 0.0], [1.0, 2.0])
    """
    if w is None:
        return np.zeros(size)
    w = np.array(w, dtype=float)
    if w.shape != (size,) or not np.isfinite(w).all():
        raise InvalidInputError(f"the start w must be finite and of the shape ({size},), got {w.shape}.")
    return w


def trusted(
    obj: S3VM, w: FloatArray, status: Status, message: str = "", inner: Certificate | None = None
) -> tuple[Status, str]:
    """Return the status and the message, or NUMERICAL and why where the search ended in rounding.

    Parameters
    ----------
    obj : S3VM
        What was searched.
    w : ndarray of shape (size,)
        Weights at the end.
    status : Status
        STATIONARY or MAX_ITER.
    message : str
        What there is to say otherwise.
    inner : Certificate, optional
        Certificate of the last convex problem, where the search consists of such.

    Returns
    -------
    Status, str
        NUMERICAL where more than `INACCURATE_GAP` of J(w) is rounding (the decisions' times the slopes of the losses:
        large weights on a kink), or the last convex problem is proved less well than that, or than
        to 1e-6 even if its rounding is left out.
    """
    if status is not Status.STATIONARY or (
        (inner is None or _is_proved(inner)) and _value_rounding(obj, w) <= INACCURATE_GAP * abs(obj.value_at(w))
    ):
        return status, message
    return Status.NUMERICAL, f"{message}{'; ' if message else ''}{cause_of_rounding(obj)}"


def ended(
    obj: S3VM,
    w: FloatArray,
    end: tuple[Status, str],
    inner: Certificate | None = None,
    *,
    solver: str,
    history: History,
    n_iter: int,
    start: float,
    **variables: Any,
) -> SolveResult:
    """Return the answer of a search that ended at w.

    Parameters
    ----------
    end : tuple of (Status, str)
        Status and message, as far as `trusted` leaves them.
    inner : Certificate, optional
        The same as there.
    start : float
        Clock at the start.
    **variables
        What the answer holds besides those of `S3VM.result`.
    """
    status, message = trusted(obj, w, *end, inner)
    seconds = time.perf_counter() - start
    return obj.result(
        w, solver=solver, status=status, message=message, history=history, n_iter=n_iter, seconds=seconds, **variables
    )


def cause_of_rounding(obj: S3VM) -> str:
    """Return what makes roundings of an objective large, and what to do about it."""
    far = far_away(obj)
    if far:
        return far
    hardness = max(float(np.max(obj.costs)), obj.C_star) * float(obj.features.squared_norms.max(initial=0.0))
    return (
        f"rounding decides: the weights times the squared length of the features are up to {hardness:.1e}; take a "
        "smaller C, which changes little where the samples can be separated"
    )


def far_away(obj: S3VM) -> str:
    """Return what is wrong with sparse features far from the origin, nothing for others."""
    features = obj.features
    if not features.is_sparse or features.mu is None:
        return ""
    far = float(np.linalg.norm(features.mu))
    if far**2 <= _FAR**2 * float(features.squared_norms.max(initial=0.0)):
        return ""
    return (
        f"rounding decides: the centre of the sparse features is at {far:.1e}, and products with them cancel against "
        "it; pass X.toarray(), which is centred once, or subtract a typical row from all of them first"
    )


def _is_proved(inner: Certificate) -> bool:
    # What more than rounding is left of the gap is a way down.
    open_gap = inner.gap - inner.rounding
    return inner.is_optimal(INACCURATE_GAP) and open_gap <= _PROVED * abs(inner.primal_objective)


def _value_rounding(obj: S3VM, w: FloatArray) -> float:
    """Return by how much J may change when the decisions move by their roundings."""
    f = obj.decisions_at(w)
    df = decision_rounding(obj.features, w, f)
    loss, unlabeled_loss = obj.loss, obj.unlabeled_loss
    labeled, free = obj.labels.labeled, obj.unlabeled
    parts: list[Any] = [(obj.costs, loss, obj.labels.sign * f[labeled], df[labeled])]
    if obj.C_star:
        parts.append((obj.C_star, unlabeled_loss, f[free], df[free]))
    return sum(
        float(np.sum(weight * np.maximum(abs(V.value(t + e) - V.value(t)), abs(V.value(t - e) - V.value(t)))))
        for weight, V, t, e in parts
    )
