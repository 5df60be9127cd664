"""Whether what the certificate of a CVXPY problem claims is so, by arithmetic that shares nothing with the solvers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from cvxproof.packing import Packing
from cvxproof.proofs.cone_records import cone_record_of, program_of
from cvxproof.proofs.record import ProofRecord, Verification
from cvxproof.results import ConeProof, SolveResult
from cvxproof.typing import AnyArray

__all__ = ["check", "digest_of", "verify"]


def verify(problem: Any, result: SolveResult) -> Verification:
    """Prove the certificate of a CVXPY problem anew, in ball and rational arithmetic.

    Constraints, objective and bound are computed from the compiled program as floats that are taken as exact, with
    error bounds for everything. Nothing of the solvers' arithmetic is used: they only supply the point and the
    multipliers, which may be any numbers.

    Parameters
    ----------
    problem : cvxpy.Problem or ConeProof
        The problem that was solved, or the log of its result.
    result : SolveResult
        What `solve` or `load_result` returned.

    Returns
    -------
    Verification
        True where the claim holds; its message says what was proved and of what, or what fails.

    Raises
    ------
    InvalidTypeError
        If `result` holds no proof of a cone program.
    InvalidInputError
        If the problem is another than the one that was solved.
    SolverNotInstalledError
        Without python-flint.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from cvxproof import solve
    >>> x = cp.Variable(2)
    >>> problem = cp.Problem(cp.Minimize(cp.norm1(x - 3)), [x <= 1])
    >>> bool(verify(problem, solve(problem)))
    True
    """
    log = program_of(problem, result)
    return replace(check(cone_record_of(result)), digest=digest_of(log, result))


def check(record: ProofRecord) -> Verification:
    """Return what is proved of a record of a cone program."""
    from cvxproof.proofs import cone_program, cone_rays  # loaded late, because they need flint

    return (cone_program if record.kind == "cone program" else cone_rays).check(record)


def digest_of(objective: Any, result: SolveResult, packing: Packing | None = None) -> str:
    """Return the SHA-256 of a problem and its answer: of every number and name that a proof of them depends on.

    Parameters
    ----------
    objective : ConeProof or object
        The log of the result, or a problem that `packing` knows.
    result : SolveResult
        Its answer. How long it took, who found it, and what was told on the way do not count.
    packing : Packing, optional
        How the problem is packed.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from cvxproof import solve
    >>> x = cp.Variable(2)
    >>> result = solve(cp.Problem(cp.Minimize(cp.norm1(x - 3))))
    >>> digest_of(result.log, result) == digest_of(result.log, replace(result, seconds=9.0))
    True
    >>> digest_of(result.log, result) == digest_of(result.log, replace(result, problem="another"))
    False
    """
    arrays, pack = dict[str, AnyArray](), (packing or Packing()).pack
    told = {name: getattr(result, name) for name in ("problem", "variables", "duals", "log")}
    told |= {"status": str(result.status), "certificate": asdict(result.certificate)}
    problem = {} if isinstance(objective, ConeProof) else pack(objective, arrays, "objective")
    problem.get("fields", {}).pop("reduced", None)  # what is known of it already
    digest = hashlib.sha256(json.dumps([problem, pack(told, arrays, "result")], sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
