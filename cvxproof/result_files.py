"""Results in files: the answer, its evidence and where it comes from, with whatever problem it answers.

A file (`cvxproof.archive`) has sections, which share the arrays that are equal:

- ``objective/``: the problem, where it is none of CVXPY's.
- ``result/``: the `SolveResult`: answer, multipliers, certificate, status.
- ``log/``: the `ConeProof` of a CVXPY problem, or another proof that the result holds.

There is no other copy of any of them: what is verified is what is loaded. With them go the versions of the package and
of what it computes with, the platform, the time, and a note.
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

from cvxproof.archive import read_archive, write_archive
from cvxproof.checks import shown
from cvxproof.exceptions import InvalidInputError, InvalidTypeError
from cvxproof.packing import Packing, contents_of, package_versions
from cvxproof.proofs.cone_records import program_of
from cvxproof.results import Certificate, ConeProof, History, SolveResult, Status
from cvxproof.typing import AnyArray

__all__ = ["load_result", "read_provenance", "read_result", "require_path", "save_result", "write_result"]

KIND = "result"
"""Of the archives that hold a result."""
_PACKAGES = ("cvxproof", "cvxpy", "numpy", "python-flint", "scipy")


def save_result(
    path: str | os.PathLike[str], problem: Any, result: SolveResult, *, note: str | Mapping[str, Any] | None = None
) -> None:
    """Write what a CVXPY problem compiles to, its answer and the proof to a file that `load_result` reads.

    Parameters
    ----------
    path : str or path
        The file, such as "answer.npz"; its folder must exist. A file of that name is replaced.
    problem : cvxpy.Problem
        The problem that was solved, its parameters unchanged since.
    result : SolveResult
        What `solve` returned for it.
    note : str or mapping of str to object, optional
        Anything that belongs to it and JSON knows. `read_provenance` returns it.

    Raises
    ------
    TypeError
        If `result` holds no proof of a cone program.
    ValueError
        If the folder does not exist, or the result answers another problem.

    Examples
    --------
    >>> import tempfile
    >>> import cvxpy as cp
    >>> from cvxproof import solve
    >>> path, x = f"{tempfile.mkdtemp()}/answer.npz", cp.Variable(2, name="x")
    >>> problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
    >>> result = solve(problem)
    >>> save_result(path, problem, result)
    >>> log, answer = load_result(path)
    >>> log, answer.certificate == result.certificate
    (ConeProof: 2 columns, 2 rows in 2 cones, True)
    """
    require_path(path)
    program_of(problem, result)
    write_result(path, None, result, note, Packing())


def load_result(path: str | os.PathLike[str]) -> tuple[ConeProof, SolveResult]:
    """Read a cone program and its answer from a file of `save_result`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    log : ConeProof
        What the problem was compiled to, and the evidence: that of `result`.
    result : SolveResult

    Raises
    ------
    ValueError
        If there is no such file, or it is foreign, truncated, of a newer version, or changed after it was written.
    """
    problem, result = read_result(path, Packing())
    return problem, result


def require_path(path: Any) -> None:
    """Raise for what is no path, an objective that was passed first for instance."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidTypeError(f"path={shown(path)} is no path; pass it first, save_result(path, objective, result).")


def write_result(path: Any, objective: Any, result: SolveResult, note: Any, packing: Packing, *packages: str) -> None:
    """Write an objective, or None where the log of the result holds the problem, and its answer to a file.

    With it go the versions of further packages.
    """
    if not (note is None or isinstance(note, str | Mapping)):
        raise InvalidTypeError(f"note={shown(note)} is no text; pass one, or a mapping of names to texts and numbers.")
    data: dict[str, AnyArray] = {}
    packed = packing.pack(objective, data, "objective")  # first, because it says what a file cannot hold
    history = {name: np.array(column, dtype=float) for name, column in result.history.columns.items()}
    given = {field.name: getattr(result, field.name) for field in fields(result) if field.name != "log"}
    given |= {"status": str(result.status), "certificate": asdict(result.certificate), "history": history}
    provenance = {
        "versions": package_versions(*packages, *_PACKAGES),
        "platform": f"{sysconfig.get_platform()}, {platform.python_implementation()}",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "note": note,
    }
    header = {
        "objective": packed,
        "result": {name: packing.pack(value, data, f"result/{name}") for name, value in given.items()},
        "log": packing.pack(result.log, data, "log"),
        "provenance": provenance,
    }
    write_archive(path, KIND, header, data)


def read_result(path: Any, packing: Packing) -> tuple[Any, SolveResult]:
    """Return the objective of a file, or the `ConeProof` of a CVXPY problem, and its answer."""
    header, arrays = read_archive(path, KIND, prefix=("objective/", "result/", "log/"))
    with contents_of(path):
        log, objective = packing.unpack(header["log"], arrays), packing.unpack(header["objective"], arrays)
        if (objective is None) != isinstance(log, ConeProof):
            raise InvalidInputError("its log is not the proof of its problem.")
        given = {name: packing.unpack(value, arrays) for name, value in header["result"].items()}
        history = History({name: column.tolist() for name, column in given.pop("history").items()})
        status, certificate = Status(given.pop("status")), Certificate(**given.pop("certificate"))
        result = SolveResult(status=status, certificate=certificate, history=history, log=log, **given)
        return log if objective is None else objective, result


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
    >>> import cvxpy as cp
    >>> from cvxproof import solve
    >>> path, x = f"{tempfile.mkdtemp()}/answer.npz", cp.Variable(2)
    >>> problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
    >>> save_result(path, problem, solve(problem), note={"seed": 3})
    >>> read_provenance(path)["note"]
    {'seed': 3}
    """
    header, _ = read_archive(path, KIND, prefix="provenance/")
    with contents_of(path):
        return dict(header["provenance"])
