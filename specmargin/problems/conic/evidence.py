"""What is proved of a CVXPY problem as plain numbers (`specmargin.results.ConeProof`), for files and their verifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
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
    radius = RADIUS if proof.assumptions else 0.0
    blank = _blank(form)
    return replace(
        blank,
        x=attempt.answer.x,
        z=proof.z,
        xh=proof.xh,
        radius=radius,
        names=names,
        owner=owner,
        columns=_columns(form),
    )


def is_of(problem: cp.Problem, solver: str, held: ConeProof) -> bool:
    """Whether a CVXPY problem compiles to the program of a proof, to the last bit."""
    own, other = _numbers(_blank(compiled(problem, solver))), _numbers(held)
    return len(own) == len(other) and all(map(np.array_equal, own, other))


def _numbers(held: ConeProof) -> list[Any]:
    matrices = [part for M in (held.P, held.A) for part in (M.shape, M.indptr, M.indices, M.data)]
    return [*matrices, held.q, held.b, held.d, held.sign, *(part for cone in held.cones for part in cone)]


def owners(form: Compiled, named: dict[str, Any]) -> IntArray:
    """Return the place in `named` of the constraint that each row was made of; -1 for rows that CVXPY added."""
    place: dict[int, int] = {}
    for k, constraint in enumerate(named.values()):
        last = constraint.id
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
    P.sort_indices()
    A.sort_indices()
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
    lowered = [inverse[0] for inverse in form.inverse if isinstance(inverse, tuple) and inverse]
    starts, columns = form.data["param_prob"].var_id_to_col, dict[str, IntArray]()
    for variable in form.problem.variables():
        leaf = lowered[0].get(variable.id, variable) if lowered else variable
        if leaf.id not in starts:
            continue
        at = starts[leaf.id] + np.arange(leaf.size)
        if leaf.size == variable.size:
            columns[variable.name()] = at.reshape(variable.shape, order="F")
        elif variable.ndim == 2 and variable.is_symmetric() and 2 * leaf.size > variable.size:
            whole = np.zeros(variable.shape, dtype=np.intp)
            whole[np.triu_indices(len(whole))] = at
            columns[variable.name()] = np.maximum(whole, whole.T)
    return columns
