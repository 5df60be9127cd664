"""Proof files: a cone program, exact multipliers and what they prove, for a checker that needs Python alone.

`export` writes them; docs/proof_files.md describes the format, and `cvxproof/check.py` reads it.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, count
from typing import Any

import numpy as np
import scipy.sparse as sp

from cvxproof import check, checks
from cvxproof.conic import cones
from cvxproof.conic.cones import Cone
from cvxproof.conic.program import ConeProgram
from cvxproof.exceptions import CvxproofError, InvalidInputError
from cvxproof.files import replace_file
from cvxproof.proofs.cone_records import program_of
from cvxproof.proofs.implied_box import places
from cvxproof.results import ConeProof, SolveResult
from cvxproof.typing import FloatArray, IntArray

__all__ = ["export"]

_ADDED = "rows that CVXPY added"
_KINDS: dict[str, Callable[[IntArray], Cone]] = {
    "zero": cones.Zero,
    "nonnegative": cones.Nonnegative,
    "second_order": cones.SecondOrder,
}
_NEAR = 1e-9
"""Share of the objective up to which a bound may be worse than the certificate's, so that no other is looked for."""


def export(path: str | os.PathLike[str], problem: Any, result: SolveResult) -> None:
    """Write a proof in rational numbers to a file that `cvxproof/check.py` checks, with Python alone.

    The multipliers are made exactly feasible: what the file claims is what these prove, and is at most by rounding
    worse than the bound of the certificate. `verify_file` checks the file, too, and `python check.py FILE` does where
    nothing is installed.

    Parameters
    ----------
    path : str or path
        The file, such as "model.cvxproof". A file of that name is replaced.
    problem : cvxpy.Problem or ConeProof
        The problem that was solved, its parameters unchanged since, or the log of its result.
    result : SolveResult
        What `solve` returned for it: an answer, or the proof that there is none.

    Raises
    ------
    InvalidInputError
        If the result answers another problem, is unbounded, or the problem has exponential or power cones, whose
        multipliers are no rational numbers; `save_result` writes these for `verify_file`.
    CvxproofError
        If there are no such multipliers next to those of the certificate.
    SolverNotInstalledError
        Without python-flint.

    Examples
    --------
    >>> import tempfile
    >>> import cvxpy as cp, cvxproof
    >>> path, x = f"{tempfile.mkdtemp()}/model.cvxproof", cp.Variable(2, name="x")
    >>> problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
    >>> export(path, problem, cvxproof.solve(problem))
    >>> cvxproof.verify_file(path).outcome
    'proved'
    """
    from cvxproof.rational import exact_evidence  # loaded late, because it needs flint

    checks.path("path", path)
    has_point = isinstance(result, SolveResult) and result.status.has_solution
    if isinstance(result, SolveResult) and not has_point and result.status.value != "infeasible":
        raise InvalidInputError(
            f"the result is {result.status.name}: proof files hold a bound of the optimum, or that there is no point."
        )
    log = program_of(problem, result)
    if others := {kind for kind, _, _ in log.cones} - {*_KINDS, "semidefinite"}:
        raise InvalidInputError(
            f"the program has {' and '.join(sorted(others))} cones, whose multipliers are no rational numbers; "
            "save_result writes its proof, and verify_file checks it in balls."
        )
    order, parts, held = _in_order(log)
    program = ConeProgram(log.P, log.q, sp.csc_matrix(log.A.tocsr()[order]), log.b[order], parts, log.d, log.sign)
    document = {"format": check.FORMAT, "version": check.VERSION, "problem": _problem(program, held, log)}
    try:
        exact = check.problem_of(document["problem"])
    except check.Refused as error:
        raise InvalidInputError(
            f"a proof file does not hold this program: {error}. save_result writes the proof, for verify_file."
        ) from error
    enough = log.sign * result.certificate.dual_objective if has_point else 0.0
    asked = (program, exact) if has_point else (program.without_objective(), check.without_objective(exact))
    try:
        bound, (z, x) = exact_evidence(*asked, log.x, log.z[order], log.xh, enough - _NEAR * abs(enough))
        document["multipliers"] = {"z": [*map(_number, z)], "x": [*map(_number, x)]}
        document["claim"] = {"kind": "infeasible", "bound": None}
        if has_point:
            own = Fraction(int(log.sign)) * Fraction(check.at_most(bound))
            document["claim"] = {"kind": "bound", "bound": _number(own)}
            document["answer"] = _answer(program, exact, log)
        content = _zipped(document)
        check.check(io.BytesIO(content))
    except check.Refused as error:
        raise CvxproofError(
            f"no multipliers next to those of the certificate are feasible in rational numbers: of the last, {error}. "
            "save_result writes the proof that verify_file checks in balls."
        ) from error
    replace_file(path, content)


def _in_order(log: ConeProof) -> tuple[IntArray, tuple[Cone, ...], list[dict[str, Any]]]:
    """Return the rows cone by cone, the cones with their places in that order, and these as a file has them."""
    order, held, at = list[int](), list[dict[str, Any]](), 0
    rows: dict[Any, list[IntArray]] = {}
    for kind, block, parameters in log.cones:
        if kind == "semidefinite":  # the upper triangle by columns
            block = block[:, np.lexsort(places(parameters))]
        for one in block.tolist():
            owner = int(log.owner[one[0]])
            rows.setdefault((kind, *parameters[:1]), []).append(at + np.arange(len(one)))
            order.extend(one)
            at += len(one)
            if held and kind in ("zero", "nonnegative") and (held[-1]["kind"], held[-1]["of"]) == (kind, owner):
                held[-1]["rows"] += 1
            else:
                held.append({"kind": kind, "rows": len(one), "of": owner})
    for one in held:
        one["of"] %= len(log.names) + 1  # the last name is that of rows that CVXPY added
    parts = []
    for (kind, *order_of), blocks in rows.items():
        for length in sorted({len(one) for one in blocks}):
            same = np.array([one for one in blocks if len(one) == length])
            is_matrix = kind == "semidefinite"
            parts.append(cones.Semidefinite(same, int(order_of[0]), "upper") if is_matrix else _KINDS[kind](same))
    return np.array(order, dtype=np.intp), tuple(parts), held


def _problem(program: ConeProgram, held: list[dict[str, Any]], log: ConeProof) -> dict[str, Any]:
    return {
        "sense": "minimize" if log.sign > 0 else "maximize",
        "constant": _number(Fraction(log.d)),
        "q": _numbers(program.q),
        "b": _numbers(program.b),
        "P": _entries(sp.triu(program.P)),
        "A": _entries(program.A),
        "cones": held,
        "names": [*log.names, _ADDED],
    }


def _entries(M: Any) -> dict[str, Any]:
    M = sp.csr_matrix(M, copy=True)
    M.eliminate_zeros()
    M.sort_indices()
    i = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
    return {"row": i.tolist(), "column": M.indices.tolist(), "value": _numbers(M.data)}


def _answer(program: ConeProgram, problem: check.Problem, log: ConeProof) -> dict[str, Any]:
    """Return the answer with its objective, and how far it is outside at most, as the checker finds it."""
    x = [Fraction(one) for one in log.x.tolist()]
    value = problem.d + check.dot(problem.q, x) + check.dot(check.product(problem.P, x, len(x)), x) / 2
    s = [b - one for b, one in zip(problem.b, check.product(problem.A, x, len(problem.b)), strict=True)]
    near, guess, worst = np.array(s, dtype=float), np.zeros(len(s)), [Fraction(0)] * len(problem.names)
    for part in program.parts:
        guess[part.rows[:, 0]] = part.violation(near[part.rows])
    for kind, start, end, owner in problem.cones:
        size = 1e-16 * float(np.abs(near[start:end]).max()) + 1e-90
        tried = (Fraction(guess[start] * (1 + 1e-12) + size * 8.0**k) for k in count())
        worst[owner] = next(by for by in chain([worst[owner]], tried) if check.inside(kind, s[start:end], by))
    own = value if log.sign > 0 else -value
    return {"x": _numbers(log.x), "value": _number(own), "violations": [*map(_number, worst)]}


def _numbers(values: FloatArray) -> list[str]:
    return [_number(Fraction(one)) for one in values.tolist()]


def _number(value: Fraction) -> str:
    """Return a number as files have it: a whole one in hexadecimal, times a power of two or over another one."""
    above, below = value.numerator, value.denominator
    return f"{above:x}/{below:x}" if below & (below - 1) else f"{above:x}p{1 - below.bit_length()}"


def _zipped(document: dict[str, Any]) -> bytes:
    """Return a zip archive of the document, which says nothing of time and place."""
    buffer, info = io.BytesIO(), zipfile.ZipInfo(check.MEMBER, (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, json.dumps(document, separators=(",", ":")), zipfile.ZIP_DEFLATED, 6)
    return buffer.getvalue()
