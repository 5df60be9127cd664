"""Answers in files, with the problem they answer and the evidence: `save_result`, `load_result`, `read_record`.

Of a result of an objective, a file (`cvxproof.result_files`) also holds the data and the weights that the
objective is built from again. `read_record` makes the record of it that `specmargin.proofs.verifier` checks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cvxproof.packing import contents_of, loaded
from cvxproof.proofs.cone_records import cone_record_of
from cvxproof.proofs.record import ProofRecord
from cvxproof.result_files import read_provenance, read_result, require_path, write_result
from specmargin.checks import instance, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.objectives import (
    S3VM,
    BlockAlignment,
    BlockMargin,
    LapSVM,
    RegularizedClustering,
    WeightedSVM,
)
from specmargin.objectives.contract import read
from specmargin.proofs.packing import OBJECTIVES, PACKING
from specmargin.proofs.translation import DENSE as LARGEST_PROOF
from specmargin.proofs.translation import record_of
from specmargin.proofs.verification import problem_of
from specmargin.proofs.wings import TREES
from specmargin.results import ConeProof, SolveResult

__all__ = ["load_result", "provable", "read_provenance", "read_record", "save_result"]


def save_result(
    path: str | os.PathLike[str],
    objective: Any,
    result: SolveResult,
    *,
    note: str | Mapping[str, Any] | None = None,
) -> None:
    """Write a problem, its answer and the proof to a file that `load_result` and ``specmargin verify`` read.

    Parameters
    ----------
    path : str or path
        The file, such as "answer.npz"; its folder must exist. A file of that name is replaced.
    objective : objective, BuiltProblem or cvxpy.Problem
        What was solved: one of `specmargin.objectives`, with losses of the package. A graph or a kernel of a class of
        one's own is saved as a matrix, up to 5,000 samples. Or a problem of CVXPY that `specmargin.solve` has solved,
        its parameters unchanged since: the program that it compiles to is saved.
    result : SolveResult
        Its answer, by any solver; of a problem of CVXPY that is infeasible or unbounded, its ray. Of an objective
        without a usable answer (`Status.has_solution`), with a kernel of more than 3,000 samples, of a problem over
        blocks, or of a search over labels that kept no log, it is saved, but not verified.
    note : str or mapping of str to object, optional
        Anything that belongs to it and JSON knows: the data set, the seed. `read_provenance` returns it.

    Raises
    ------
    TypeError
        If `objective` or `result` is something else, or an objective holds what a file cannot: a loss of one's own.
    ValueError
        If the folder does not exist, or the result answers another problem.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, specmargin as sm
    >>> path = f"{tempfile.mkdtemp()}/answer.npz"
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> obj = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0, B=1.5)
    >>> result = sm.solvers.relative_margin(obj)
    >>> save_result(path, obj, result, note="four points")
    >>> again, answer = load_result(path)
    >>> again.C, answer.certificate == result.certificate
    (1.0, True)
    """
    require_path(path)
    objective, result = _checked(objective, result)
    write_result(path, objective, result, note, PACKING, "specmargin")


def load_result(path: str | os.PathLike[str]) -> tuple[Any, SolveResult]:
    """Read a problem and its answer from a file of `save_result`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    objective : Objective or ConeProof
        Equal to the one that was saved: value, certificate and decisions are the same to the last bit on the same
        computer. What a LapSVM had factorised is factorised again. Of a CVXPY problem it is ``result.log``: what it
        was compiled to, and the evidence.
    result : SolveResult
        Result with the variables, multipliers, certificate and history that were saved.

    Raises
    ------
    ValueError
        If there is no such file, or it is foreign, truncated, of a newer version, or changed after it was written.

    Examples
    --------
    `save_result` has one. Whoever trusts nobody proves the answer again, from the data of the file:

    >>> import tempfile
    >>> import numpy as np, specmargin as sm
    >>> path = f"{tempfile.mkdtemp()}/pair.npz"
    >>> obj = sm.objectives.RMM(np.eye(2), sm.encode_labels([0, 1]), C=1.0)
    >>> sm.save_result(path, obj, sm.solvers.relative_margin(obj))
    >>> sm.certify(*sm.load_result(path)).is_optimal(1e-12)
    True
    """
    return read_result(path, PACKING)


def read_record(path: str | os.PathLike[str]) -> ProofRecord:
    """Read what a file of `save_result` claims, and why: of the very problem and answer that `load_result` returns.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    ProofRecord
        Record for `specmargin.proofs.verifier.check`.

    Raises
    ------
    ValueError
        As `load_result`; or if no record can be made of what it holds. The text says why.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, specmargin as sm
    >>> path = f"{tempfile.mkdtemp()}/pair.npz"
    >>> obj = sm.objectives.RMM(np.eye(2), sm.encode_labels([0, 1]), C=1.0)
    >>> sm.save_result(path, obj, sm.solvers.relative_margin(obj))
    >>> record = read_record(path)
    >>> record.kind, record.claim.gap < 1e-12
    ('rmm', True)
    """
    objective, result = load_result(path)
    with contents_of(path):
        return provable(objective, result)


def _checked(problem: Any, result: Any) -> tuple[Any, SolveResult]:
    objective = problem_of(problem, result)
    if isinstance(objective, ConeProof):
        return None, result  # the log holds the program
    cls = type(objective)
    if not hasattr(cls, "certificate") or PACKING.known(cls.__name__) is not cls:
        raise InvalidTypeError(
            f"objective={shown(objective)} is of the class {cls.__module__}.{cls.__qualname__}; pass one of "
            f"specmargin.objectives: {', '.join(OBJECTIVES)}; or a problem of CVXPY."
        )
    instance(SolveResult, "pass what a solver returned")("result", result)
    if result.status.has_solution:
        read(objective.variables, result.variables)
    return objective, result


def provable(objective: Any, result: SolveResult) -> ProofRecord:
    """Return the record of what a file holds, or say why there is none."""
    missing = ""
    if isinstance(objective, ConeProof):
        return cone_record_of(result)
    if not result.status.has_solution:
        missing = f"the result is {result.status.name} and has no answer"
    elif isinstance(objective, BlockAlignment | BlockMargin):
        missing = "no record says yet what a problem over blocks claims; specmargin.certify recomputes it"
    elif (entries := _entries(objective)) > LARGEST_PROOF**2:
        missing = f"{entries} numbers of its data are more than the {LARGEST_PROOF**2} of a proof"
    if missing:
        raise InvalidInputError(f"it holds no proof: {missing}; pass a file that holds one.")
    return record_of(objective, result) if result.log is None else loaded(TREES)(objective, result)


def _entries(objective: Any) -> int:
    """Return the size of the largest matrix that a proof writes out, whatever stands for it in the objective."""
    objective = getattr(objective, "obj", objective)  # of a relaxation
    if isinstance(objective, S3VM | WeightedSVM):
        return int(objective.features.n_samples * objective.features.size)
    return int(objective.K.shape[0]) ** 2 if isinstance(objective, LapSVM | RegularizedClustering) else 0
