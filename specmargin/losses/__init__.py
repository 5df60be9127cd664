"""Losses: value, gradient and curvature of one number per sample, numerically safe at any scale.

`protocols` says what any loss offers and declares of itself. `margin` holds losses of the margin t = y f of a labelled
sample, `pieces` the tables of those that are piecewise quadratic, `unlabeled` losses of the decision f of an unlabelled
sample, `smoothing` their convolutions with Gaussians, which the continuation of S3VMs walks along.
"""

from specmargin.losses.margin import (
    LOSSES,
    Hinge,
    HuberHinge,
    Ramp,
    SmoothHinge,
    Squared,
    SquaredHinge,
    get_loss,
)
from specmargin.losses.pieces import Pieces
from specmargin.losses.protocols import Loss, MarginLoss, SmoothLoss
from specmargin.losses.smoothing import smoothed
from specmargin.losses.unlabeled import (
    UNLABELED_LOSSES,
    ExpSquared,
    SymmetricHinge,
    SymmetricRamp,
    SymmetricSquaredHinge,
    UnlabeledLoss,
    better_label,
    get_unlabeled_loss,
    is_better_label,
)

__all__ = [
    "LOSSES",
    "UNLABELED_LOSSES",
    "ExpSquared",
    "Hinge",
    "HuberHinge",
    "Loss",
    "MarginLoss",
    "Pieces",
    "Ramp",
    "SmoothHinge",
    "SmoothLoss",
    "Squared",
    "SquaredHinge",
    "SymmetricHinge",
    "SymmetricRamp",
    "SymmetricSquaredHinge",
    "UnlabeledLoss",
    "better_label",
    "get_loss",
    "get_unlabeled_loss",
    "is_better_label",
    "smoothed",
]
