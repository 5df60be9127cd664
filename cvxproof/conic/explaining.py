"""Why a problem has no optimum, and the least relaxation of its constraints with which it has a point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, Equality, ExpCone, Inequality, NonNeg, NonPos, PowCone3D, PowConeND, Zero

from cvxproof.conic.attempts import NEAR
from cvxproof.conic.attributes import told_apart
from cvxproof.conic.compiled import compiled
from cvxproof.conic.contradictions import Contradiction, parts_by_name
from cvxproof.conic.orders import solve
from cvxproof.conic.rays import infeasible_rows
from cvxproof.conic.values import dual_of
from cvxproof.exceptions import InvalidInputError
from cvxproof.results import SolveResult, Status, rounded
from cvxproof.typing import AnyArray

__all__ = ["Explanation", "explain"]

_IDLE = 1e-6
"""Share of the largest relaxation up to which one counts as zero."""


@dataclass(frozen=True)
class Explanation:
    """Why a problem has no optimum.

    Parameters
    ----------
    result : SolveResult
        The status with its proof.
    contradiction : Contradiction or None
        Constraints of an infeasible problem that have no common point.
    relaxation : mapping of str to float
        Relaxation of each constraint, in its own units; their sum over `scales` is least.
    scales : mapping of str to float
        What a relaxation is divided by.
    least, proved : float
        The sum, and a proved lower bound of it: no relaxation with a smaller sum has a point.
    directions : mapping of str to ndarray
        Direction in which the variables of an unbounded problem go without end.
    """

    result: SolveResult
    contradiction: Contradiction | None = None
    relaxation: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    least: float = 0.0
    proved: float = 0.0
    directions: Mapping[str, AnyArray] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.directions:
            return f"unbounded, proved: {', '.join(map(repr, self.directions))} can go on without end; bound what grows"
        if self.contradiction is None:
            return self.result.message
        told, used = f"infeasible, proved; {self.contradiction}", {k: t for k, t in self.relaxation.items() if t}
        if len(used) == 1:
            [(name, amount)] = used.items()
            proved = rounded(self.proved * self.scales[name], 6, up=False)
            return f"{told}; relax {name} by at least {amount:.5g} (proved {proved})"
        by = " and ".join(f"{name} by {amount:.5g}" for name, amount in used.items())
        proved = rounded(self.proved, 6, up=False)
        return f"{told}; relax {by}, in sum over their scales {self.least:.5g} (proved {proved})"


def explain(problem: cp.Problem, scales: Mapping[str, float] | None = None, tol: float = 1e-6) -> Explanation:
    """Explain why a problem is infeasible or unbounded: what contradicts each other, what to relax, by how much.

    Parameters
    ----------
    problem : cvxpy.Problem
        Convex by CVXPY's rules.
    scales : mapping of str to float, optional
        What the relaxation of a constraint is divided by in their sum; infinity for one that costs nothing. By default,
        the largest right side of its rows, or the largest entry where these are zero.
    tol : float, default 1e-6
        Relative gap to which the least relaxation is proved.

    Returns
    -------
    Explanation
        Its text says all; of a problem with an optimum it is the message of the result.

    Examples
    --------
    >>> x = cp.Variable(name="x")
    >>> held = [(x <= 1).set_label("cap"), (x >= 4).set_label("need")]
    >>> why = explain(cp.Problem(cp.Minimize(x), held), scales={"cap": 10})
    >>> why.contradiction.names, round(why.relaxation["cap"], 5), 2.9999 < 10 * why.proved <= 3
    (('cap', 'need'), 3.0, True)
    """
    result = solve(problem, tol=tol)
    if result.status is Status.UNBOUNDED:
        columns, along = compiled(problem).columns(), result.log.x if result.log is not None else np.zeros(0)
        moved = told_apart((one.name(), along[columns[one.id]]) for one in problem.variables() if one.id in columns)
        return Explanation(result, directions={name: value for name, value in moved.items() if value.any()})
    if result.status is not Status.INFEASIBLE:
        return Explanation(result)
    parts = parts_by_name(problem)
    given = {**_scales(parts), **(scales or {})}
    if given.keys() != parts.keys() or not all(scale > 0 for scale in given.values()):
        raise InvalidInputError(f"scales={scales!r} must be positive numbers of constraints among {list(parts)}.")
    slacks = {name: cp.Variable(name=name, nonneg=True) for name in parts}
    held = {name: _relaxed(part, slacks[name]) for name, part in parts.items()}
    elastic = solve(_elastic(held, slacks, given), tol=tol)
    amounts = {name: max(float(slack.value or 0.0), 0.0) for name, slack in slacks.items()}
    largest = max((amount / given[name] for name, amount in amounts.items()), default=0.0)
    used = {name: t if t / given[name] > _IDLE * largest else 0.0 for name, t in amounts.items()}
    proof = elastic.certificate
    if elastic.status is not Status.OPTIMAL:  # what has no multiplier is left out: the least of the others is as large
        own = {one.id for part in parts.values() for held_by in part for one in held_by.variables()}
        costly = {name: part for name, part in held.items() if math.isfinite(given[name])}
        worth = {name: given[name] * _largest_dual(part, own) for name, part in costly.items()}
        some = {name: held[name] for name, one in worth.items() if one > _IDLE * max(worth.values())}
        smaller = _elastic(some, slacks, given)
        proof = solve(smaller, tol=tol).certificate
    least = elastic.certificate.primal_objective
    bound = proof.dual_objective - proof.rounding
    if proof.assumptions:  # of rows alone, in rational numbers: there is nothing below
        bound = least * (1 - tol)
        below = compiled(cp.Problem(cp.Minimize(0), [*smaller.constraints, smaller.objective.expr <= bound])).program
        bound = bound - proof.rounding if infeasible_rows(below) or infeasible_rows(below, NEAR) else 0.0
    proved = max(bound, 0.0)
    return Explanation(result, result.contradiction, used, given, least, proved)


def _elastic(held: dict[str, list[Any]], slacks: dict[str, cp.Variable], scales: Mapping[str, float]) -> cp.Problem:
    """Return the least sum of relaxations over their scales."""
    total = sum(slacks[name] / scales[name] for name in held)
    return cp.Problem(cp.Minimize(total), [one for part in held.values() for one in part])


def _largest_dual(part: list[Any], own: set[int]) -> float:
    """Return the largest multiplier of what holds variables of the problem, not those of a relaxation alone."""
    duals = [dual_of(one) for one in part if own & {variable.id for variable in one.variables()}]
    return max((float(np.abs(dual).max(initial=0.0)) for dual in duals if dual is not None), default=0.0)


def _scales(parts: dict[str, list[Any]]) -> dict[str, float]:
    """Return the largest right side of the rows of each constraint, or the largest entry of these, or one."""
    held = [one for part in parts.values() for one in part]
    form = compiled(cp.Problem(cp.Minimize(0), held))
    owner, entry = form.owners(held), np.ravel(abs(form.program.A).max(axis=1).toarray())
    sizes, start = {}, 0
    for name, part in parts.items():
        rows = (owner >= start) & (owner < start + len(part))
        sides = (np.abs(form.program.b[rows]).max(initial=0.0), entry[rows].max(initial=0.0), 1.0)
        sizes[name], start = float(next(side for side in sides if side > 0)), start + len(part)
    return sizes


def _relaxed(part: list[Any], t: cp.Variable) -> list[Any]:
    """Return constraints relaxed by t: rows by as much, cones along a direction in their inside."""
    out: list[Any] = []
    for one in part:
        args = one.args
        match one:
            case Equality() | Zero():
                off = cp.Variable(one.shape, complex=any(part.is_complex() for part in args))
                out += [sum(args[1:], off) == args[0], cp.abs(off) <= t]
            case Inequality():
                out.append(args[0] - args[1] <= t)
            case NonNeg():
                out.append(args[0] + t >= 0)
            case NonPos():
                out.append(args[0] <= t)
            case PSD():
                out.append(args[0] + t * np.eye(args[0].shape[0]) >> 0)
            case SOC():
                out.append(SOC(args[0] + t, args[1], one.axis))
            case ExpCone():
                out.append(ExpCone(args[0] - t, args[1] + t, args[2] + t))
            case PowCone3D():
                out.append(PowCone3D(args[0] + t, args[1] + t, args[2], one.alpha))
            case PowConeND():
                out.append(PowConeND(args[0] + t, args[1], one.alpha, one.axis))
            case _:
                out.append(one)
    return out
