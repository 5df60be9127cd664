"""Answers in files, with the problem they answer and the evidence: `save_result`, `load_result`, `read_record`.

A file (`specmargin.archive`) has sections, which share the arrays that are equal:

- ``objective/``: the data and the weights that the objective is built from again.
- ``result/``: the `SolveResult`: answer, multipliers, certificate, status.
- ``log/``: the `ProofLog` or `BoxLog` of a branch and bound or a probing, where the result has one; the `ConeProof` of
  a CVXPY problem, which then has no ``objective/``.

There is no other copy of any of them: what is verified is what is loaded. `read_record` makes the record of it that
`specmargin.proofs.verifier` checks.

With them go the versions of the package and of what it computes with, the platform, the time, and a note.
"""

from __future__ import annotations

import os
import platform
import sysconfig
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np

from specmargin.archive import read_archive, write_archive
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
from specmargin.proofs.cone_records import cone_record_of, problem_of
from specmargin.proofs.packing import OBJECTIVES, class_named, contents_of, pack, package_versions, unpack
from specmargin.proofs.record import ProofRecord
from specmargin.proofs.translation import DENSE as LARGEST_PROOF
from specmargin.proofs.translation import record_of
from specmargin.proofs.wings import TREES, loaded
from specmargin.results import Certificate, ConeProof, History, SolveResult, Status
from specmargin.typing import AnyArray

__all__ = ["load_result", "provable", "read_provenance", "read_record", "save_result"]

KIND = "result"
"""Of the archives that hold a result."""

_PACKAGES = ("numpy", "scipy", "cvxpy", "python-flint")


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
    >>> import specmargin as sm
    >>> path = f"{tempfile.mkdtemp()}/answer.npz"
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> obj = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0, B=1.5)
    >>> result = sm.solvers.relative_margin(obj)
    >>> save_result(path, obj, result, note="four points")
    >>> again, answer = load_result(path)
    >>> again.C, answer.certificate == result.certificate
    (1.0, True)
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidTypeError(f"path={shown(path)} is no path; pass it first, save_result(path, objective, result).")
    objective, result = _checked(objective, result)
    if not (note is None or isinstance(note, str | Mapping)):
        raise InvalidTypeError(f"note={shown(note)} is no text; pass one, or a mapping of names to texts and numbers.")
    data: dict[str, AnyArray] = {}
    packed = pack(objective, data, "objective")  # first, because it says what a file cannot hold
    header = {
        "objective": packed,
        "result": _packed_result(result, data),
        "log": pack(result.log, data, "log"),
        "provenance": _provenance(note),
    }
    write_archive(path, KIND, header, data)


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
    >>> import specmargin as sm
    >>> path = f"{tempfile.mkdtemp()}/pair.npz"
    >>> obj = sm.objectives.RMM(np.eye(2), sm.encode_labels([0, 1]), C=1.0)
    >>> sm.save_result(path, obj, sm.solvers.relative_margin(obj))
    >>> sm.certify(*sm.load_result(path)).is_optimal(1e-12)
    True
    """
    header, arrays = read_archive(path, KIND, prefix=("objective/", "result/", "log/"))
    with contents_of(path):
        log, objective = unpack(header["log"], arrays), unpack(header["objective"], arrays)
        if (objective is None) != isinstance(log, ConeProof):
            raise InvalidInputError("its log is not the proof of its problem.")
        return log if objective is None else objective, _result(header["result"], arrays, log)


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
    >>> import specmargin as sm
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


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read where a file of `save_result` comes from.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    dict
        ``versions`` of packages, ``platform``, ``utc``, the time it was saved, and the ``note``.

    Raises
    ------
    ValueError
        As `load_result`.

    Examples
    --------
    >>> import tempfile
    >>> import specmargin as sm
    >>> path = f"{tempfile.mkdtemp()}/pair.npz"
    >>> obj = sm.objectives.RMM(np.eye(2), sm.encode_labels([0, 1]), C=1.0)
    >>> sm.save_result(path, obj, sm.solvers.relative_margin(obj), note={"seed": 3})
    >>> read_provenance(path)["note"]
    {'seed': 3}
    """
    header, _ = read_archive(path, KIND, prefix="provenance/")
    with contents_of(path):
        return dict(header["provenance"])


def _checked(problem: Any, result: Any) -> tuple[Any, SolveResult]:
    objective = problem_of(problem, result)
    if isinstance(objective, ConeProof):
        return None, result  # the log holds the program
    cls = type(objective)
    if not hasattr(cls, "certificate") or class_named(cls.__name__) is not cls:
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


def _packed_result(result: SolveResult, arrays: dict[str, AnyArray]) -> dict[str, Any]:
    history = {name: np.array(column, dtype=float) for name, column in result.history.columns.items()}
    given = {field.name: getattr(result, field.name) for field in fields(result) if field.name != "log"}
    given |= {"status": str(result.status), "certificate": asdict(result.certificate), "history": history}
    return {name: pack(value, arrays, f"result/{name}") for name, value in given.items()}


def _result(packed: Mapping[str, Any], arrays: Mapping[str, AnyArray], log: Any) -> SolveResult:
    given = {name: unpack(value, arrays) for name, value in packed.items()}
    history = History({name: column.tolist() for name, column in given.pop("history").items()})
    status, certificate = Status(given.pop("status")), Certificate(**given.pop("certificate"))
    return SolveResult(status=status, certificate=certificate, history=history, log=log, **given)


def _provenance(note: Any) -> dict[str, Any]:
    return {
        "versions": package_versions(*_PACKAGES),
        "platform": f"{sysconfig.get_platform()}, {platform.python_implementation()}",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "note": note,
    }
