"""Losses: value, gradient and curvature of one number per sample, numerically safe at any scale.

`margin` holds losses of the margin t = y f of a labelled sample, `unlabeled` those of the decision f of an unlabelled
one, `smoothing` their convolutions with Gaussians, which the continuation of S3VMs walks along.
"""

from specmargin.losses.margin import (
    LOSSES,
    Hinge,
    MarginLoss,
    Ramp,
    SmoothHinge,
    SmoothLoss,
    Squared,
    SquaredHinge,
    get_loss,
)
from specmargin.losses.smoothing import smoothed
from specmargin.losses.unlabeled import (
    UNLABELED_LOSSES,
    ExpSquared,
    SymmetricHinge,
    SymmetricRamp,
    SymmetricSquaredHinge,
    UnlabeledLoss,
    get_unlabeled_loss,
)

__all__ = [
    "LOSSES",
    "UNLABELED_LOSSES",
    "ExpSquared",
    "Hinge",
    "MarginLoss",
    "Ramp",
    "SmoothHinge",
    "SmoothLoss",
    "Squared",
    "SquaredHinge",
    "SymmetricHinge",
    "SymmetricRamp",
    "SymmetricSquaredHinge",
    "UnlabeledLoss",
    "get_loss",
    "get_unlabeled_loss",
    "smoothed",
]
