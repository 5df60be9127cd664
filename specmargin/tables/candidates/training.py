"""Candidates of a bank: each kernel's ridge, SVM or S3VM, with its decisions about left-out labels.

`train_candidates` trains them all on the labels, `specmargin.tables.candidates.mixture` weighs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.tables.candidates.ambient_maps import FeatureMap
from specmargin.tables.candidates.bank import KernelGroup
from specmargin.tables.candidates.constants import CONSTANTS, Constants
from specmargin.tables.candidates.held_out import (
    held_out_hinge,
    held_out_ridge,
    held_out_s3vm,
    leading_directions,
    stratified_folds,
    targets,
)
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
        those of `held_out_s3vm` on two of these kernels, for two classes.
    constants : Constants
    random_state : int
        Deals out the folds.
    dealt : ndarray of shape (l,), optional
        Codes by which folds are dealt out class by class; by default `codes`. `AutoSSL` numbers the classes as they
        first appear, so that their names change nothing.
    """
    families, dealt = set(families), codes if dealt is None else dealt
    Y, penalties, pseudo = targets(codes, n_classes), np.asarray(constants.penalties), constants.pseudo_labels
    held: dict[str, Any] = {"pseudo_labels": pseudo, "intercept_labels": constants.intercept_labels}

    def folds(n_folds: int) -> IntArray:
        return stratified_folds(dealt, n_folds, np.random.default_rng(random_state))

    trained = []
    for group in groups:
        if group.family not in families:
            continue
        P, coefficients, fits = group.labeled(labeled), [], []
        for d in group.weights:
            fits.append(held_out_ridge(P * np.sqrt(d), Y, penalties=penalties, n_classes=n_classes, **held))
            coefficients.append(np.einsum("r,lr,plc->rpc", d, P, fits[-1].weights, optimize=True))
        joined = np.concatenate(coefficients, axis=1)
        rotated = group.coefficients(joined.reshape(P.shape[1], -1)).reshape(-1, *joined.shape[1:])
        names = [f"{name}, penalty {penalty:g}" for name in group.names for penalty in penalties]
        rest = (np.concatenate(part) for part in list(zip(*fits, strict=True))[1:])
        trained.append(CandidateGroup(group.family, group.map, names, rotated, *rest))
    ambient = [group for group in groups if group.family == "sup"]
    if "svm" in families and len(labeled) <= constants.hinge_labels:
        Cs = constants.Cs if n_classes == 2 else constants.few_Cs
        for group in ambient[:1] + ambient[1:][-2:] if n_classes > 2 else ambient:
            P = group.labeled(labeled)
            hinge = held_out_hinge(P, Y, Cs=Cs, folds=folds(constants.folds))
            names = [f"{group.names[0]}, C {C:g}" for C in Cs]
            given = np.einsum("lr,plc->rpc", P, hinge.weights, optimize=True)
            trained.append(CandidateGroup("svm", group.map, names, given, *hinge[1:]))
    shares = constants.s3vm_shares
    if "s3vm" in families and n_classes == 2 and shares and len(labeled) < len(groups[0].map.values):
        options: dict[str, Any] = {"C": constants.s3vm_C, "shares": shares, "pseudo_labels": pseudo}
        for group in ambient:
            if group.names[0] in ("linear", f"rbf {constants.deformed_width:g}"):
                directions, dealt_out = leading_directions(group.map, constants.s3vm_rank), folds(constants.s3vm_folds)
                low = held_out_s3vm(group.map.values, directions, labeled, codes, folds=dealt_out, **options)
                names = [f"{group.names[0]}, unlabelled {share:g}" for share in shares]
                trained.append(CandidateGroup("s3vm", group.map, names, *low))
    return trained
