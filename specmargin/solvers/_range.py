"""Weights and features beyond double precision: refused where products overflow, told where digits are lost.

`require_range` is the first thing that a search of S3VMs does; `trusted` decides whether its end is STATIONARY or
NUMERICAL.
"""

from __future__ import annotations

import numpy as np

from specmargin.objectives._weighted_rounding import decision_rounding
from specmargin.objectives.s3vm import S3VM
from specmargin.results import INACCURATE_GAP, Certificate, Status
from specmargin.typing import FloatArray

__all__ = ["require_range", "trusted"]

_LARGEST = 1e120
"""Sums of weights times squared lengths stay below this: their own squares, and some more factors, below overflow."""
_SMALLEST = 1e-100
"""And weights and lengths above this, so that squares do not underflow."""


def require_range(obj: S3VM) -> None:
    """Raise a ValueError where gradients or Hessians of the objective would leave the range of double precision."""
    features = obj.features
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        square = float(features.squared_norms.max(initial=0.0))
        entries = features.X.data if features.is_sparse else features.X
        largest = float(np.abs(entries).max(initial=0.0))
        if not np.isfinite(square):
            raise ValueError("the squares of the features overflow; scale them to entries of about one.")
        if 0.0 < largest < _SMALLEST:
            raise ValueError(
                f"the largest feature is {largest:.3g}, and its square underflows; divide the features by that number."
            )
        share = _LARGEST / (features.n_samples * max(square, 1.0))
    if not _SMALLEST <= obj.C <= share:
        raise _refused("C", obj.C, square, share)
    if obj._C_star > share:
        raise _refused("C_star", obj._C_star, square, share)


def _refused(name: str, value: float, square: float, most: float) -> ValueError:
    return ValueError(
        f"{name}={value:.6g} with features of length up to {square**0.5:.3g} is beyond double precision: squares of "
        f"gradients {'underflow' if value < 1 else 'overflow'}. Take {name} from {_SMALLEST:.0e} to {most:.0e}, or "
        "scale the features to a length of about one; without errors the answer hardly depends on a large C."
    )


def trusted(obj: S3VM, w: FloatArray, status: Status, inner: Certificate | None = None) -> Status:
    """Return the status, or NUMERICAL where the search ended in rounding.

    Parameters
    ----------
    obj : S3VM
        What was searched.
    w : ndarray of shape (size,)
        Where it ended.
    status : Status
        STATIONARY or MAX_ITER.
    inner : Certificate, optional
        Of the last convex problem, where the search consists of such.

    Returns
    -------
    Status
        NUMERICAL where more than `INACCURATE_GAP` of J(w) is rounding (the decisions' times the slopes of the losses:
        large weights on a kink), or the last convex problem is proved less well than that.
    """
    if status is not Status.STATIONARY:
        return status
    if inner is not None and not inner.is_optimal(INACCURATE_GAP):
        return Status.NUMERICAL
    f = obj.decisions(w)
    df = decision_rounding(obj.features, w, f)
    value = obj.value(w, f)
    loss, unlabeled_loss = obj._losses
    labeled, free = obj.labels.labeled, obj.unlabeled
    parts = [(obj.C, loss, obj.labels.sign * f[labeled], df[labeled])]
    if obj._C_star:
        parts.append((obj._C_star, unlabeled_loss, f[free], df[free]))
    lost = sum(
        weight * float(np.maximum(abs(V.value(t + e) - V.value(t)), abs(V.value(t - e) - V.value(t))).sum())
        for weight, V, t, e in parts
    )
    return status if lost <= INACCURATE_GAP * abs(value) else Status.NUMERICAL
