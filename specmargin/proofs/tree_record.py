"""The log of a search over labels as a record that a stranger can replay."""

from __future__ import annotations

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.proofs.record import Claim, ProofRecord
from specmargin.results import SolveResult

__all__ = ["tree_record_of"]


def tree_record_of(objective: S3VM, result: SolveResult) -> ProofRecord:
    """Return the record of a result of `branch_and_bound` or `probe` that holds a log."""
    if result.log is None:
        raise InvalidInputError("the result holds no log; solve with log=True.")
    loss, unlabeled = objective.loss, objective.unlabeled_loss
    exp = unlabeled.name == "exp"
    arrays = {
        "X": objective.features.dense(),
        "J": np.asarray(objective.labels.labeled, dtype=np.int64),
        "y": np.asarray(objective.labels.sign, dtype=float),
        "w": np.asarray(result.variables["w"], dtype=float),
        **result.log.arrays,
    }
    if "proved" in result.variables:
        arrays["proved"] = np.asarray(result.variables["proved"], dtype=float)
    numbers = {
        "loss": loss.name,
        "parameter": 0.0,
        "unlabeled_loss": "exp" if exp else {1: "symmetric_hinge", 2: "symmetric_squared_hinge"}[unlabeled.slack_power],
        "unlabeled_parameter": float(unlabeled.s) if exp else 0.0,
        "C": float(objective.C),
        "C_star": float(objective.C_star),
        "b": float(objective.features.offset),
    }
    certificate = result.certificate
    claim = Claim(certificate.primal_objective, certificate.dual_objective, certificate.rounding)
    return ProofRecord("s3vm_tree", numbers, arrays, claim)
