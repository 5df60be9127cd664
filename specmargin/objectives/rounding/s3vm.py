"""The value of the S3VM objective with a bound on its rounding: what `S3VM.prove` is made of."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from specmargin.losses import SmoothLoss
from specmargin.rounding import UNIT, gamma
from specmargin.typing import FloatArray

__all__ = ["exact_value", "value_rounding"]

S3VM: TypeAlias = Any
"""`specmargin.objectives.S3VM`, which calls this module and is not imported here."""


def exact_value(obj: S3VM, w: FloatArray, f: FloatArray) -> tuple[float, float]:
    """Return the value and a bound on its rounding, for hinges, whose arguments are right to the last digit."""
    labeled, free = obj.labels.labeled, obj.unlabeled
    y = np.where(f >= 0.0, 1.0, -1.0)
    y[labeled] = obj.labels.sign
    short = obj.features.shortfalls(w, y)
    # f may have come out on the wrong side of zero.
    short[free] = np.minimum(short[free], 2.0 - short[free])
    short = np.maximum(short, 0.0)
    plain, unlabeled_plain = (getattr(one, "slack_power", 0) == 1 for one in (obj.loss, obj.unlabeled_loss))
    losses = obj.charged((short if plain else short**2)[labeled])
    if obj.C_star:
        losses += obj.C_star * float((short if unlabeled_plain else short**2)[free].sum())
    square = 0.5 * float(obj.features.weights @ w**2)
    return square + losses, 1.01 * (gamma(len(w) + 4) * square + gamma(len(f) + 20) * losses)


def value_rounding(obj: S3VM, w: FloatArray, f: FloatArray, errors: FloatArray) -> float:
    """Return a bound on the rounding of the value at decisions f that are off by `errors` at most."""
    loss, unlabeled_loss = obj.loss, obj.unlabeled_loss
    labeled, free = obj.labels.labeled, obj.unlabeled
    parts: list[Any] = [(obj.costs, loss, obj.labels.sign * f[labeled], errors[labeled])]
    if obj.C_star:
        parts.append((obj.C_star, unlabeled_loss, f[free], errors[free]))
    square = 0.5 * float(obj.features.weights @ w**2)
    total, error = square, gamma(len(w) + 4) * square
    for weight, V, t, e in parts:
        here, off = _loss_rounding(V, t, e)
        total += float(np.sum(weight * np.abs(here)))
        error += float(np.sum(weight * off))
    return 1.01 * (error + gamma(len(f) + 8) * total)


def _loss_rounding(loss: SmoothLoss, t: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the losses at t and what they may be off by where t is off by `errors`: all are monotone or even."""
    errors = errors + 2.0 * UNIT * np.abs(t)
    here = loss.value(t)
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.maximum(np.abs(loss.value(t + errors) - here), np.abs(loss.value(t - errors) - here))
        if (np.abs(t) < errors).any():
            moved = np.where(np.abs(t) < errors, np.maximum(moved, np.abs(loss.value(0.0 * t) - here)), moved)
        own = np.abs(here)
        scale = getattr(loss, "rounding_scale", None)
        own = np.maximum(own, 1.0) if scale is None else scale(t, own)
    return here, 1.01 * moved + 16.0 * UNIT * own
