"""Records of relaxations of S3VMs, and of searches over labels that wrote down their proof."""

from __future__ import annotations

import numpy as np

from cvxproof.proofs.record import ProofRecord
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.objectives import S3VM, Objective
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.optima.search_log import BoxLog, ProofLog
from specmargin.proofs.translation import Parts, Variables, parts_of, record, require_own, s3vm_parts
from specmargin.results import SolveResult

__all__ = ["relaxation_parts", "tree_record_of"]


@parts_of.register
def relaxation_parts(obj: S3VMRelaxation, variables: Variables, held: Variables) -> Parts:
    """Return what a record of a relaxation holds: of its primal answer, or of the weights that minimise a minorant."""
    numbers, arrays = s3vm_parts(obj.obj, held)
    arrays.update(V=obj.space.V, decided=obj.obj.unlabeled[obj.decided], signs=obj.signs[obj.decided])
    arrays["theta"] = arrays["theta"][obj.free]
    if "M" in variables:
        M = np.asarray(variables["M"], dtype=float)
        M = M / M[0, 0]
        w = M[0, 1:]
        S = M[1:, 1:] - np.outer(w, w)
        eigenvalues, vectors = np.linalg.eigh((S + S.T) / 2)
        arrays.update(w=w, F=vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))
    else:
        arrays["w"] = obj.coordinates(np.asarray(variables["w"], dtype=float))
    return "s3vm", numbers, arrays


def tree_record_of(objective: Objective, result: SolveResult) -> ProofRecord:
    """Return the record of a search over labels that wrote down its proof, for `specmargin.optima.replay`.

    Parameters
    ----------
    objective : S3VM
        The problem that was solved.
    result : SolveResult
        Result of `specmargin.optima.branch_and_bound` or `specmargin.optima.probe` with ``log=True``.

    Returns
    -------
    ProofRecord
        Record of the kind "s3vm_tree", or "s3vm_boxes" of the search by boxes (`specmargin.optima.boxes.replay`): data,
        answer and log, and the labels that are claimed for all optima.

    Raises
    ------
    InvalidTypeError
        If `objective` is no S3VM.
    InvalidInputError
        If the result holds no log.

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[-2.0], [2.0], [-1.0], [0.1], [0.9]])
    >>> svm = sm.objectives.S3VM(X, sm.encode_labels([0, 1, -1, -1, -1]), C=10.0, intercept="regularized")
    >>> record = tree_record_of(svm, sm.optima.branch_and_bound(svm, log=True))
    >>> record.kind, "parent" in record.arrays
    ('s3vm_boxes', True)
    """
    if type(objective) is not S3VM:
        raise InvalidTypeError(f"objective={shown(objective)} is no S3VM, and only these have logs.")
    if not isinstance(result.log, ProofLog | BoxLog):
        raise InvalidInputError("the result holds no log; solve with branch_and_bound or probe and log=True.")
    if not result.status.has_solution:
        raise InvalidInputError(f"the result is {result.status.name}: it holds no answer to verify.")
    require_own(objective, result.variables)
    numbers, arrays = s3vm_parts(objective, {})
    arrays = {name: array for name, array in arrays.items() if name not in ("theta", "beta")}
    arrays.update(result.log.arrays, w=result.variables["w"])
    if "proved" in result.variables:
        arrays["proved"] = result.variables["proved"]
    if objective.total is not None:
        arrays.update(x=result.variables["x"], total=np.array([objective.total]))
    return record("s3vm_tree" if isinstance(result.log, ProofLog) else "s3vm_boxes", numbers, arrays, result)
