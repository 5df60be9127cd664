"""Candidates of a bank: each kernel's ridge, SVM or S3VM, with its decisions about left-out labels.

`train_candidates` trains them all on the labels, `specmargin.tables.candidates.mixture` weighs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from specmargin.tables.candidates.ambient_maps import FeatureMap
from specmargin.tables.candidates.bank import KernelGroup
from specmargin.tables.candidates.constants import CONSTANTS, Constants
from specmargin.tables.candidates.hinge import held_out_hinge, stratified_folds
from specmargin.tables.candidates.low_density import held_out_s3vm, leading_directions
from specmargin.tables.candidates.ridge import held_out_ridge, targets
from specmargin.typing import FloatArray, IntArray

__all__ = ["CandidateGroup", "train_candidates"]


@dataclass(frozen=True, eq=False)
class CandidateGroup:
    """Candidates on one feature map: f = features coefficients + intercept.

    Parameters
    ----------
    family : str
    map : FeatureMap
    names : list of str
        One per candidate, J of them.
    coefficients : ndarray of shape (r, J, C)
    intercept : ndarray of shape (J, C)
    held_out : ndarray of shape (J, l, C)
        Decisions about each label of the fit without it.
    intercept_without : ndarray of shape (J, l, C)
        Intercept of the fit without each label.
    """

    family: str
    map: FeatureMap
    names: list[str]
    coefficients: FloatArray
    intercept: FloatArray
    held_out: FloatArray
    intercept_without: FloatArray

    @cached_property
    def deviations(self) -> FloatArray:
        """Deviations of the decisions over all training samples, (J, C); their means are the intercepts."""
        r = len(self.coefficients)
        flat = self.coefficients.reshape(r, -1)
        variances = np.einsum("ij,ij->j", flat, self.map.covariance @ flat)
        return np.sqrt(np.maximum(variances, 0.0)).reshape(self.intercept.shape)


def train_candidates(
    groups: Sequence[KernelGroup],
    labeled: IntArray,
    codes: IntArray,
    n_classes: int,
    *,
    families: Iterable[str],
    constants: Constants = CONSTANTS,
    random_state: int = 0,
    dealt: IntArray | None = None,
) -> list[CandidateGroup]:
    """Train all candidates on the kernels of a bank, each with its decisions about left-out labels.

    Parameters
    ----------
    groups : list of KernelGroup
    labeled : ndarray of shape (l,)
        Rows of the labelled samples.
    codes : ndarray of shape (l,)
        Their classes, 0 to n_classes - 1.
    n_classes : int
    families : sequence of str
        ``svm`` are those of the hinge on the kernels of ``sup``, whether or not ``sup`` is wanted, too; ``s3vm``
        those of `specmargin.tables.candidates.low_density` on two of these kernels, for two classes.
    constants : Constants
    random_state : int
        Deals out the folds.
    dealt : ndarray of shape (l,), optional
        Codes by which folds are dealt out class by class; by default `codes`. `AutoSSL` numbers the classes as they
        first appear, so that their names change nothing.
    """
    families, dealt = set(families), codes if dealt is None else dealt
    Y = targets(codes, n_classes)
    penalties = np.asarray(constants.penalties)
    trained = []
    for group in groups:
        if group.family not in families:
            continue
        P = group.labeled(labeled)
        coefficients, intercepts, held, without, names = [], [], [], [], []
        for name, d in zip(group.names, group.weights, strict=True):
            fits = held_out_ridge(
                P * np.sqrt(d),
                Y,
                penalties=penalties,
                n_classes=n_classes,
                pseudo_labels=constants.pseudo_labels,
                intercept_labels=constants.intercept_labels,
            )
            coefficients.append(np.einsum("r,lr,plc->rpc", d, P, fits.dual, optimize=True))
            intercepts.append(fits.intercept)
            held.append(fits.held_out)
            without.append(fits.intercept_without)
            names += [f"{name}, penalty {penalty:g}" for penalty in penalties]
        r = P.shape[1]
        joined = np.concatenate(coefficients, axis=1)
        rotated = group.coefficients(joined.reshape(r, -1)).reshape(-1, *joined.shape[1:])
        trained.append(
            CandidateGroup(
                group.family,
                group.map,
                names,
                rotated,
                np.concatenate(intercepts),
                np.concatenate(held),
                np.concatenate(without),
            )
        )
    if "svm" in families and len(labeled) <= constants.hinge_labels:
        folds = stratified_folds(dealt, constants.folds, np.random.default_rng(random_state))
        Cs = constants.Cs if n_classes == 2 else constants.few_Cs
        kernels = [group for group in groups if group.family == "sup"]
        for group in kernels[:1] + kernels[1:][-2:] if n_classes > 2 else kernels:
            P = group.labeled(labeled)
            hinge = held_out_hinge(P, Y, Cs=Cs, folds=folds)
            names = [f"{group.names[0]}, C {C:g}" for C in Cs]
            coefficients_ = np.einsum("lr,plc->rpc", P, hinge.dual, optimize=True)
            trained.append(
                CandidateGroup(
                    "svm",
                    group.map,
                    names,
                    coefficients_,
                    hinge.intercept,
                    hinge.held_out,
                    hinge.intercept_without,
                )
            )
    if "s3vm" in families and n_classes == 2 and constants.s3vm_shares and len(labeled) < len(groups[0].map.values):
        folds = stratified_folds(dealt, constants.s3vm_folds, np.random.default_rng(random_state))
        trained += _low_density(groups, labeled, codes, constants, folds)
    return trained


def _low_density(
    groups: Sequence[KernelGroup], labeled: IntArray, codes: IntArray, constants: Constants, folds: IntArray
) -> list[CandidateGroup]:
    """Return the S3VMs on the linear and on one RBF kernel; none where all samples are labelled."""
    wanted, out = ("linear", f"rbf {constants.deformed_width:g}"), []
    for group in groups:
        if group.family != "sup" or group.names[0] not in wanted:
            continue
        fits = held_out_s3vm(
            group.map.values,
            leading_directions(group.map, constants.s3vm_rank),
            labeled,
            codes,
            C=constants.s3vm_C,
            shares=constants.s3vm_shares,
            folds=folds,
            pseudo_labels=constants.pseudo_labels,
        )
        names = [f"{group.names[0]}, unlabelled {share:g}" for share in constants.s3vm_shares]
        out.append(
            CandidateGroup(
                "s3vm", group.map, names, fits.coefficients, fits.intercept, fits.held_out, fits.intercept_without
            )
        )
    return out
