"""Objectives: immutable data and mathematics, written once, in numpy.

An objective knows its value, its dual bound and the certificate of a candidate. `specmargin.problems` turns it
into a CVXPY problem, `specmargin.solvers` attacks it directly; both hand their candidate back to it for proof. All of
them keep one contract, `Objective`, so that `certify` proves any answer of any solver anew.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from specmargin.arrays import numbers_array, operator_like
from specmargin.checks import Rule, checked, choice, count, flag, instance, maybe, numeric, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.kernels.operators import KernelOperator
from specmargin.labels import Labels, Targets
from specmargin.losses import LOSSES, get_loss
from specmargin.objectives.blocks import BlockAlignment, BlockMargin
from specmargin.objectives.clustering import ClusteringBasis, RegularizedClustering
from specmargin.objectives.cones.block_cone import BlockCone, MonotoneCone
from specmargin.objectives.cones.cone import Cone, FixedSpectrum, ProductCone, SpectrumCone
from specmargin.objectives.cones.margin import SpectrumPoint
from specmargin.objectives.contract import Objective, certify
from specmargin.objectives.features import Features
from specmargin.objectives.graph_transducer import SpectralGraphTransducer
from specmargin.objectives.laprls import LapRLS
from specmargin.objectives.lapsvm import LapSVM
from specmargin.objectives.reduction import Reduction
from specmargin.objectives.relative_margin import RMM
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.spectral_ridge import SpectralRidge
from specmargin.objectives.spectrum_margin import Alignment, SpectrumMargin
from specmargin.objectives.weighted_svm import WeightedSVM
from specmargin.spectra import Spectrum

__all__ = [
    "Alignment",
    "BlockAlignment",
    "BlockCone",
    "BlockMargin",
    "ClusteringBasis",
    "Cone",
    "Features",
    "FixedSpectrum",
    "LapRLS",
    "LapSVM",
    "MonotoneCone",
    "Objective",
    "ProductCone",
    "RMM",
    "Reduction",
    "RegularizedClustering",
    "RelativeMargin",
    "S3VM",
    "SpectralGraphTransducer",
    "SpectralRidge",
    "SpectrumCone",
    "SpectrumMargin",
    "SpectrumPoint",
    "WeightedSVM",
    "certify",
]

# What goes into an objective is checked here, by kind; whether it fits together is checked by the objective itself.


def _read_already(kind: type | tuple[type, ...], rule: Rule) -> Rule:
    """Return the rule that takes objects of a kind as they are, and asks the given rule of others."""
    return lambda name, value: value if isinstance(value, kind) else rule(name, value)


def _spectra(name: str, value: Any) -> Any:
    if not isinstance(value, Spectrum):
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        if not (listed and all(isinstance(one, Spectrum) for one in value)):
            raise InvalidTypeError(f"{name}={shown(value)} is no spectrum, nor a list of them; {_FROM_GRAPH}.")
    return value


def _convex_loss(name: str, value: Any) -> Any:
    loss = get_loss(value)
    if not (getattr(loss, "convex", False) and hasattr(loss, "value_of_slack")):
        raise InvalidTypeError(
            f"{name}={shown(value)} is not declared convex, with a dual_value; take one of {sorted(LOSSES)}, or derive "
            "yours from specmargin.losses.MarginLoss."
        )
    return loss


_FROM_GRAPH = "pass specmargin.spectra.laplacian_eigenpairs(W)"
_KERNEL = _read_already(
    KernelOperator,
    numbers_array("the kernel matrix of the samples, (n, n), from finite features", ndim=2, finite=False),
)
_LABELS = instance(Labels, "pass specmargin.encode_labels(y)")


def _unweighted(rule: Rule) -> Rule:
    def checked(name: str, value: Any) -> Any:
        if rule(name, value).weights is not None:
            raise InvalidInputError(f"{name} have weights, which this objective has no place for; pass them without.")
        return value

    return checked


_ORDER = _read_already(Cone, flag)
_LAPLACIAN = operator_like("Laplacian", "pass specmargin.graphs.laplacian(W), or a symmetric matrix")
_DELTA = numbers_array("nonnegative weights of the eigenvectors, (q,)", finite=False)


_NORMS: dict[str, Rule] = {"L": maybe(_LAPLACIAN), "gamma_A": numeric, "gamma_I": numeric, "fit_intercept": flag}
_MARGIN: dict[str, Rule] = {"labels": _LABELS, "C": numeric, "B": numeric, "eps": numeric, "delta": maybe(_DELTA)}


def _check_arguments(cls: type, **rules: Rule) -> None:
    cls.__init__ = checked(**rules)(cls.__init__)  # type: ignore[misc]  # of the class, before any object exists


_check_arguments(
    LapSVM,
    **_NORMS,
    labels=_LABELS,
    loss=_convex_loss,
)
_check_arguments(
    LapRLS,
    **_NORMS,
    labeled=numbers_array("indices of the labelled samples, (l,)", ndim=1, finite=False),
    targets=numbers_array("one number per labelled sample, (l,)", ndim=1, finite=False),
    weights=maybe(numbers_array("one positive number per labelled sample, (l,)", ndim=1, finite=False)),
)
_check_arguments(RMM, K=_KERNEL, labels=_LABELS, C=numeric, B=numeric)
_check_arguments(
    S3VM,
    X=_read_already(Features, numbers_array("finite features, a row per sample", ndim=2, finite=False)),
    labels=_LABELS,
    C=numeric,
    C_star=maybe(numeric),
    balance=maybe(numeric),
    intercept=choice("balance", "regularized", "free", "none"),
    balance_on=choice("decision", "slack", "labels"),
)
_check_arguments(BlockMargin, **_MARGIN, order=_ORDER)
_check_arguments(SpectrumMargin, spectrum=_spectra, **_MARGIN, order=flag, ties=flag)
_LABELS_OR_NUMBERS = instance(
    (Labels, Targets), "pass specmargin.encode_labels(y), or specmargin.labels.encode_targets(y)"
)
_check_arguments(BlockAlignment, labels=_unweighted(_LABELS_OR_NUMBERS), order=_ORDER, centered=flag)
_check_arguments(Alignment, spectrum=_spectra, labels=_unweighted(_LABELS), order=flag, ties=flag)
_check_arguments(
    SpectralRidge,
    spectrum=instance(Spectrum, _FROM_GRAPH),
    labels=_LABELS,
    delta=_DELTA,
    penalty=numeric,
)
_check_arguments(
    SpectralGraphTransducer,
    spectrum=instance(Spectrum, _FROM_GRAPH),
    labels=_LABELS,
    C=numeric,
    Q=maybe(numbers_array("nonnegative penalties of the eigenvectors, (q - 1,)", finite=False)),
)
_WEIGHTS = numbers_array("one weight per sample, (n,)", finite=False)
_check_arguments(
    WeightedSVM,
    features=instance(Features, "pass Features.of(X, intercept, rows=...)"),
    plus=_WEIGHTS,
    minus=_WEIGHTS,
    linear=maybe(_WEIGHTS),
)
_COSTS = numbers_array("one weight of the loss, or one per labelled sample, (l,)", ndim=1)
_check_arguments(
    RelativeMargin, C=lambda name, value: (_COSTS if isinstance(value, np.ndarray) else numeric)(name, value), B=numeric
)
_check_arguments(FixedSpectrum, delta=_DELTA)
_check_arguments(SpectrumCone, q=count(1), order=flag)
_check_arguments(MonotoneCone, q=count(1))
_check_arguments(BlockCone, blocks=instance(Cone, "pass MonotoneCone(m) or SpectrumCone(m, order=False)"))
_check_arguments(RegularizedClustering, K=_KERNEL, L=_LAPLACIAN, gamma=numeric)
