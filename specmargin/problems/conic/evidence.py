"""What is proved of a CVXPY problem as plain numbers (`specmargin.results.ConeProof`), for files and their verifier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specmargin.problems.conic import cones
from specmargin.problems.conic.attempts import Attempt
from specmargin.problems.conic.certificate import RADIUS
from specmargin.problems.conic.cones import Cone
from specmargin.problems.conic.program import Compiled, compiled
from specmargin.results import ConeProof
from specmargin.typing import IntArray

__all__ = ["evidence", "is_of", "owners", "row_violations"]


def evidence(attempt: Attempt, owner: IntArray, names: tuple[str, ...]) -> ConeProof:
    """Return what was judged of an attempt that found a point: program, answer and multipliers.

    Parameters
    ----------
    attempt : Attempt
        An attempt with a proof.
    owner, names : ndarray of int, tuple of str
        Constraint of each row, and what these are called (`owners`).
    """
    proof, form = attempt.proof, attempt.compiled
    assert proof is not None
    reach = RADIUS if proof.assumptions else 0.0
    blank = _blank(form)
    return replace(
        blank, x=attempt.answer.x, z=proof.z, xh=proof.xh, reach=reach, names=names, owner=owner, columns=_columns(form)
    )


def is_of(problem: object, solver: str, held: ConeProof) -> bool:
    """Whether a CVXPY problem compiles to the program of a proof, to the last bit."""
    own = _blank(compiled(problem, solver))
    matrices = all(abs(getattr(own, name) - getattr(held, name)).nnz == 0 for name in ("P", "A") if _fits(own, held))
    kinds = [[(kind, rows.tolist(), more) for kind, rows, more in one.cones] for one in (own, held)]
    same = np.array_equal(own.q, held.q) and np.array_equal(own.b, held.b) and kinds[0] == kinds[1]
    return bool(_fits(own, held) and matrices and same and (own.d, own.sign) == (held.d, held.sign))


def _fits(own: ConeProof, held: ConeProof) -> bool:
    return bool(own.A.shape == held.A.shape)


def owners(form: Compiled, named: dict[str, object]) -> IntArray:
    """Return the place in `named` of the constraint that each row was made of; -1 for rows that CVXPY added."""
    place: dict[int, int] = {}
    for k, constraint in enumerate(named.values()):
        last = constraint.id  # type: ignore[attr-defined]
        for reduction in form.chain.reductions:
            last = getattr(reduction, "cons_id_map", {}).get(last, last)
        place[last] = k
    rows = [np.full(sum(part.size for part in one.args), place.get(one.id, -1)) for one in form.constraints]
    whole = np.concatenate([*rows, np.zeros(0, dtype=int)]).astype(np.intp)
    return np.pad(whole, (0, len(form.program.b) - len(whole)), constant_values=-1)  # bounds, which were taken apart


def row_violations(attempt: Attempt, owner: IntArray, count: int) -> list[float]:
    """Return the largest violation among the rows of each of `count` constraints."""
    program = attempt.compiled.program
    s, worst = program.slacks(attempt.answer.x), np.zeros(count + 1)  # the last is that of rows without a constraint
    for cone in program.parts:
        np.maximum.at(worst, owner[cone.rows[:, 0]], cone.violation(s[cone.rows]))
    return worst[:count].tolist()


def _blank(form: Compiled) -> ConeProof:
    """Return the program without any answer."""
    program, nothing = form.program, np.zeros(0)
    held = tuple((_KINDS[type(cone)], cone.rows, _parameters(cone)) for cone in program.parts)
    no_rows = np.zeros(0, dtype=np.intp)
    P, A = program.P.tocsc(), program.A.tocsc()
    return ConeProof(
        P, program.q, A, program.b, program.d, program.sign, held, nothing, nothing, nothing, 0.0, (), no_rows, {}
    )


_KINDS = {
    cones.Zero: "zero",
    cones.Nonnegative: "nonnegative",
    cones.SecondOrder: "second_order",
    cones.Semidefinite: "semidefinite",
    cones.Exponential: "exponential",
    cones.Power: "power",
}


def _parameters(cone: Cone) -> tuple[float, ...]:
    match cone:
        case cones.Semidefinite():
            return float(cone.order), float(cone.triangle == "lower")
        case cones.Exponential():
            return tuple(map(float, cone.order))
        case cones.Power():
            return tuple(cone.powers)
    return ()


def _columns(form: Compiled) -> dict[str, IntArray]:
    """Return where the entries of the variables stand; of the variables whose entries CVXPY keeps."""
    reduced = next((inverse[0] for inverse in form.inverse if isinstance(inverse, tuple) and inverse), {})
    starts, columns = form.data["param_prob"].var_id_to_col, dict[str, IntArray]()
    for variable in form.problem.variables():
        leaf = reduced.get(variable.id, variable)
        at = starts.get(leaf.id, 0) + np.arange(leaf.size)
        if leaf.id in starts and leaf.size == variable.size:
            columns[variable.name()] = at.reshape(variable.shape, order="F")
        elif leaf.id in starts and variable.is_symmetric() and variable.ndim == 2 and 2 * leaf.size > variable.size:
            whole = np.zeros(variable.shape, dtype=np.intp)
            whole[np.triu_indices(len(whole))] = at
            columns[variable.name()] = np.maximum(whole, whole.T)
    return columns
