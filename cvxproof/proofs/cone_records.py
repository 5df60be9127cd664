"""Records of cone programs: what a result of a CVXPY problem claims, and the `ConeProof` that it holds.

A result that is infeasible or unbounded becomes a record of the kind "cone ray", any other one of "cone program".
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from cvxproof.checks import shown
from cvxproof.exceptions import InvalidInputError, InvalidTypeError
from cvxproof.proofs.record import Claim, ProofRecord
from cvxproof.results import ConeProof, SolveResult

__all__ = ["cone_record_of", "program_of"]

_SAME = 1e-6
"""Share of the largest entry that CVXPY's projection may move a variable by, as of x >= 0."""
_STATED = re.compile(r"\|x - x0\| <= (\S+) \(1 \+ \|x0\|\) in (\d+) of (\d+) columns")
_APPROXIMATED = re.compile(r"that (the exponents of .*, which CVXPY rounds by .*, are|CVXPY's quadrature .* is) exact")


def program_of(problem: Any, result: Any) -> ConeProof:
    """Return the cone program that a result holds, if it is that of a CVXPY problem.

    Parameters
    ----------
    problem : cvxpy.Problem or ConeProof
        A problem must compile to the program that was solved: its parameters have the values of then.
    result : SolveResult
        Its answer.

    Raises
    ------
    InvalidTypeError
        If the result holds no proof of a cone program.
    InvalidInputError
        If it answers another problem.
    """
    log = getattr(result, "log", None)
    is_log = isinstance(problem, ConeProof)
    if not is_log:
        from cvxproof import conic  # loaded only where CVXPY is already

        conic.require_convex(problem)
    if not isinstance(result, SolveResult) or not isinstance(log, ConeProof):
        raise InvalidTypeError(
            f"result={shown(result)} holds no proof of a cone program; pass what solve(problem) returned."
        )
    if not (problem is log if is_log else conic.is_of(problem, result.solver, log)):
        raise InvalidInputError(
            "the result answers another problem: this one compiles to other numbers; pass the problem that was "
            "solved, its parameters with the values that they had."
        )
    return log


def cone_record_of(result: SolveResult) -> ProofRecord:
    """Return the record of a result with a `ConeProof`.

    Raises
    ------
    InvalidInputError
        If the variables of the result are not those of the answer that was judged, or its bound supposes what has no
        verification.
    """
    log, claimed = result.log, result.certificate
    assert isinstance(log, ConeProof)
    if not result.status.has_solution:
        return _ray_of(result, log)
    loose = [name for name in result.variables if name not in log.columns]
    for name, at in log.columns.items():
        x, own = np.asarray(result.variables[name], dtype=float), log.x[np.asarray(at)]
        if x.shape != own.shape or not (np.abs(x - own) <= _SAME * (1 + np.abs(log.x).max())).all():
            raise InvalidInputError(f"{name} of the result is not that of the answer that its proof is for.")
    n_open, told = 0, [text for text in claimed.assumptions if _APPROXIMATED.fullmatch(text)]
    others = [text for text in claimed.assumptions if text not in told]
    if others or log.radius:
        stated = _STATED.fullmatch("; ".join(others))
        if stated is None or (float(stated[1]), int(stated[3])) != (log.radius, len(log.q)):
            supposed = "; ".join(others) or "nothing"
            raise InvalidInputError(
                f"the bound supposes {supposed}, and its log a radius of {log.radius:g}: this has no verification; "
                "certify recomputes it."
            )
        n_open = int(stated[2])
    if list(claimed.violations) != list(log.names) or any("\n" in name for name in log.names):
        raise InvalidInputError("the constraints of the certificate are not those of the program.")
    approximated = "\n".join(f"supposing {text}" for text in told)
    return _record("cone program", result, n_open, {"loose": ", ".join(loose), "approximated": approximated})


def _ray_of(result: SolveResult, log: ConeProof) -> ProofRecord:
    """Return the record of a result without an answer: its ray."""
    if result.variables or result.duals or log.columns or log.names or log.added:
        raise InvalidInputError(f"a result that is {result.status.name} has no answer, but values or constraints.")
    if result.certificate.assumptions or log.radius:
        supposed = "; ".join(result.certificate.assumptions) or f"a radius of {log.radius:g}"
        raise InvalidInputError(f"the ray supposes {supposed}: then nothing is proved.")
    return _record("cone ray", result, 0, {"loose": "", "approximated": ""})


def _record(kind: str, result: SolveResult, n_open: int, facts: dict[str, Any]) -> ProofRecord:
    log, claimed = result.log, result.certificate
    assert isinstance(log, ConeProof)
    arrays = {name: getattr(log, name) for name in ("q", "b", "x", "z", "xh", "owner")}
    for name in ("P", "A"):
        M = getattr(log, name).tocoo()
        kept = M.data != 0
        arrays |= {name: M.data[kept], f"{name}_row": M.row[kept], f"{name}_column": M.col[kept]}
    for k, (_, rows, parameters) in enumerate(log.cones):
        arrays |= {f"rows {k}": rows, f"parameters {k}": np.array(parameters, dtype=float)}
    arrays["violations"] = np.array([*claimed.violations.values(), log.added], dtype=float)
    numbers: dict[str, Any] = {"d": log.d, "sign": log.sign, "radius": log.radius, "n_open": n_open}
    numbers |= {"cones": " ".join(name for name, _, _ in log.cones), **facts}
    numbers["names"] = "".join(f"\n{name}" for name in log.names)
    plain = {name: x if x.dtype == float else np.asarray(x, dtype=np.int64) for name, x in arrays.items()}
    primal, dual, rounding = map(float, (claimed.primal_objective, claimed.dual_objective, claimed.rounding))
    claim = Claim(primal, dual, rounding, claimed.sense, str(result.status), float(claimed.scale))
    return ProofRecord(kind, numbers, plain, claim)
