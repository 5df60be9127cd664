"""What is proved of a CVXPY problem as plain numbers (`cvxproof.ConeProof`), for files and their verifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from cvxproof.conic import cones
from cvxproof.conic.attempts import Attempt
from cvxproof.conic.attributes import told_apart
from cvxproof.conic.certificate import RADIUS
from cvxproof.conic.compiled import Compiled, compiled
from cvxproof.conic.cones import Cone
from cvxproof.results import ConeProof
from cvxproof.typing import Matrix

__all__ = ["evidence", "evidence_of_ray", "is_of"]


def evidence(attempt: Attempt, named: Mapping[str, Any]) -> tuple[ConeProof, list[float]]:
    """Return what was judged of an attempt that found a point, and how far that is outside of each constraint's rows.

    Parameters
    ----------
    attempt : Attempt
        An attempt with a proof.
    named : mapping of str to constraint
        The constraints of the problem by their labels.
    """
    proof, form, x = attempt.proof, attempt.compiled, attempt.answer.x
    assert proof is not None
    owner, s, worst = form.owners(named.values()), form.program.slacks(x), np.zeros(len(named) + 1)
    for cone in form.program.parts:
        np.maximum.at(worst, owner[cone.rows[:, 0]], cone.violation(s[cone.rows]))  # the last is that of added rows
    radius = RADIUS if proof.assumptions else 0.0
    held = replace(_blank(form), x=x, z=proof.z, xh=proof.xh, radius=radius, names=tuple(named), owner=owner)
    variables, columns = told_apart((one.name(), one.id) for one in form.problem.variables()), form.columns()
    at = {name: columns[key] for name, key in variables.items() if key in columns}
    return replace(held, added=float(worst[-1]), columns=at), worst[:-1].tolist()


def evidence_of_ray(attempt: Attempt) -> ConeProof:
    """Return what was judged of an attempt that found a ray: nothing of it belongs to a constraint or a variable."""
    ray, form = attempt.ray, attempt.compiled
    assert ray is not None
    point = np.zeros(len(form.program.q)) if ray.point is None else ray.point
    return replace(_blank(form), x=ray.x, z=ray.z, xh=point, owner=np.full(len(form.program.b), -1))


def is_of(problem: cp.Problem, solver: str, held: ConeProof) -> bool:
    """Whether a CVXPY problem compiles to the program of a proof, to the last bit, for a solver or for Clarabel.

    It is Clarabel that finds the ray where another solver returns none.
    """
    other = _numbers(held)
    for name in dict.fromkeys((solver, "CLARABEL")):
        own = _numbers(_blank(compiled(problem, name)))
        if len(own) == len(other) and all(map(np.array_equal, own, other)):
            return True
    return False


def _numbers(held: ConeProof) -> list[Any]:
    matrices = [part for M in (held.P, held.A) for part in (M.shape, M.indptr, M.indices, M.data)]
    return [*matrices, held.q, held.b, held.d, held.sign, *(part for cone in held.cones for part in cone)]


def _blank(form: Compiled) -> ConeProof:
    """Return the program without any answer."""
    program, none = form.program, np.zeros(0)
    held = tuple((_KINDS[type(cone)], cone.rows, _parameters(cone)) for cone in program.parts)
    data = (_sorted(program.P), program.q, _sorted(program.A), program.b, program.d, program.sign, held)
    owner = np.zeros(0, dtype=np.intp)
    return ConeProof(*data, x=none, z=none, xh=none, radius=0.0, names=(), owner=owner, added=0.0, columns={})


def _sorted(M: Matrix) -> Matrix:
    """Return a matrix by columns, with indices of the type that it has after loading."""
    M = M.tocsc().sorted_indices()
    return sp.csc_matrix((M.data, M.indices, M.indptr), M.shape)


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
