"""What is proved of a CVXPY problem as plain numbers (`specmargin.results.ConeProof`), for files and their verifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import PSD, SOC, Equality, ExpCone, Inequality, PowCone3D, PowConeND

from specmargin.problems.base import value_of
from specmargin.problems.conic import cones
from specmargin.problems.conic.attempts import Attempt
from specmargin.problems.conic.certificate import RADIUS
from specmargin.problems.conic.cones import Cone
from specmargin.problems.conic.program import Compiled, compiled
from specmargin.results import ConeProof
from specmargin.typing import AnyArray, IntArray, Matrix

__all__ = ["evidence", "evidence_of_ray", "is_of", "told_apart", "violation"]


def told_apart(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a mapping of all that is named: one whose name is taken has its place behind it."""
    held: dict[str, Any] = {}
    for k, (name, part) in enumerate(named):
        while name in held:
            name = f"{name}_{k}"
        held[name] = part
    return held


def violation(constraint: Any) -> float:
    """Return how far the values of the variables are outside of a constraint, by the rule of the rows of its cone.

    CVXPY's own number for a complex matrix rests on its transpose, which is not its adjoint, and that for an
    exponential or a power cone on the answer of a solver.
    """
    values = [np.asarray(value_of(part)) for part in constraint.args]
    match constraint:
        case Equality():
            outside = np.abs(values[0] - values[1])
        case Inequality():
            outside = values[0] - values[1]
        case PSD():
            outside = -np.linalg.eigvalsh((values[0] + np.conj(np.swapaxes(values[0], -2, -1))) / 2)
        case SOC():
            outside = np.linalg.norm(np.atleast_1d(values[1]), axis=constraint.axis) - values[0]
        case ExpCone():
            slacks = np.stack([np.ravel(part) for part in values], axis=1)
            outside = cones.Exponential(np.zeros((0, 3), dtype=np.intp), (0, 1, 2)).violation(slacks)
        case PowCone3D() | PowConeND():
            X, powers = _powers(constraint, values)
            product = np.prod(np.maximum(X, 0.0) ** powers, axis=0)
            outside = np.concatenate([np.abs(np.ravel(values[-1])) - product, -np.ravel(X)])
        case _:
            outside = constraint.violation()
    return float(np.max(outside, initial=0.0))


def _powers(constraint: PowCone3D | PowConeND, values: list[AnyArray]) -> tuple[AnyArray, AnyArray]:
    """Return the factors of power cones and their exponents, a column for each cone."""
    alpha = np.asarray(constraint.alpha.value)
    if isinstance(constraint, PowCone3D):
        return np.stack([np.ravel(part) for part in values[:2]]), np.stack([np.ravel(alpha), 1 - np.ravel(alpha)])
    columns = [np.atleast_2d(part.T if constraint.axis == 0 else part).T for part in (values[0], alpha)]
    return columns[0], columns[1]


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
    owner, s, worst = _owner(form, named), form.program.slacks(x), np.zeros(len(named) + 1)
    for cone in form.program.parts:
        np.maximum.at(worst, owner[cone.rows[:, 0]], cone.violation(s[cone.rows]))  # the last is that of added rows
    radius = RADIUS if proof.assumptions else 0.0
    held = replace(_blank(form), x=x, z=proof.z, xh=proof.xh, radius=radius, names=tuple(named), owner=owner)
    return replace(held, added=float(worst[-1]), columns=_columns(form)), worst[:-1].tolist()


def evidence_of_ray(attempt: Attempt) -> ConeProof:
    """Return what was judged of an attempt that found a ray: nothing of it belongs to a constraint or a variable."""
    ray, form = attempt.ray, attempt.compiled
    assert ray is not None
    point = np.zeros(len(form.program.q)) if ray.point is None else ray.point
    owner = np.full(len(form.program.b), -1)
    return replace(_blank(form), x=ray.x, z=ray.z, xh=point, radius=ray.radius, owner=owner)


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


def _owner(form: Compiled, named: Mapping[str, Any]) -> IntArray:
    """Return the place in `named` of the constraint that each row was made of; -1 for rows that CVXPY added."""
    place: dict[int, int] = {}
    for k, constraint in enumerate(named.values()):
        last = constraint.id
        for reduction in form.chain.reductions:
            last = getattr(reduction, "cons_id_map", {}).get(last, last)
        place[last] = k
    owner, start = np.full(len(form.program.b), -1), 0
    for one in form.constraints:
        end = start + sum(part.size for part in one.args)
        owner[start:end], start = place.get(one.id, -1), end
    return owner


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


def _columns(form: Compiled) -> dict[str, IntArray]:
    """Return where the entries of the variables stand; of the variables whose entries CVXPY keeps."""
    lowered = [inverse[0] for inverse in form.inverse if isinstance(inverse, tuple) and inverse]
    starts, columns = form.data["param_prob"].var_id_to_col, dict[str, IntArray]()
    for name, variable in told_apart((one.name(), one) for one in form.problem.variables()).items():
        leaf = lowered[0].get(variable.id, variable) if lowered else variable
        if leaf.id not in starts:
            continue
        at = starts[leaf.id] + np.arange(leaf.size)
        if leaf.size == variable.size:
            columns[name] = at.reshape(variable.shape, order="F")
        elif variable.ndim == 2 and variable.is_symmetric() and 2 * leaf.size > variable.size:
            whole = np.zeros(variable.shape, dtype=np.intp)
            whole[np.triu_indices(len(whole))] = at
            columns[name] = np.maximum(whole, whole.T)
    return columns
