"""Why a problem has no optimum, and the least relaxation of its constraints with which it has a point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from cvxproof.checks import is_number
from cvxproof.conic.attributes import told_apart
from cvxproof.conic.certificate import judged
from cvxproof.conic.compiled import compiled
from cvxproof.conic.cones import Nonnegative
from cvxproof.conic.contradictions import Contradiction, compiled_parts, parts_by_name
from cvxproof.conic.orders import solve
from cvxproof.conic.program import Answer, ConeProgram
from cvxproof.conic.rays import infeasible_rows
from cvxproof.exceptions import InvalidInputError
from cvxproof.results import SolveResult, Status, rounded
from cvxproof.typing import AnyArray, IntArray

__all__ = ["Explanation", "explain"]

_IDLE = 1e-6
"""Share of the largest relaxation up to which one counts as zero."""
_SHARES = (0.0, 1e-9, 1e-6, 1e-4)
"""Shares of the largest use of a row below which rows are left out."""


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
    form, owner = compiled_parts(parts)
    known = dict(zip(parts, _sizes(form.program, owner, len(parts)), strict=True))
    given = {**known, **(scales or {})}
    if given.keys() != known.keys() or not all(is_number(one) and one > 0 for one in given.values()):
        raise InvalidInputError(f"scales={scales!r} must be positive numbers of constraints among {list(parts)}.")
    shares = sp.identity(len(parts) + 1, format="csr")[owner, :-1]
    relaxed, answer, _ = form.relaxed(shares, 1 / np.array(list(given.values())))
    amounts = np.maximum(answer.x[len(form.program.q) :], 0.0)
    worth = amounts * relaxed.q[len(form.program.q) :]
    used = dict(zip(parts, np.where(worth > _IDLE * worth.max(), amounts, 0.0).tolist(), strict=True))
    least = relaxed.value(answer.x)
    return Explanation(result, result.contradiction, used, given, least, _proved(relaxed, answer, least, tol))


def _proved(program: ConeProgram, answer: Answer, least: float, tol: float) -> float:
    """Return a proved lower bound of the least relaxation; rows of little use are left out, where that proves more."""
    (i, _, a), use, bounds = program.entries, np.zeros(len(program.b)), [0.0]
    np.maximum.at(use, i, np.abs(a))
    use *= np.abs(answer.z)
    for cone in program.parts:
        use[cone.rows] = use[cone.rows].max(axis=1, keepdims=True)
    for share in _SHARES:
        kept = use >= share * use.max()
        fewer = replace(program, A=sp.csc_matrix(sp.diags(kept * 1.0) @ program.A), b=program.b * kept)
        proof = judged(fewer, replace(answer, z=answer.z * kept), tol=tol / 10)
        bounds += [] if proof.assumptions else [proof.bound]
        if bounds[-1] >= (1 - tol) * least:
            return bounds[-1]
    # Rows alone may have multipliers in rational numbers.
    more = {"A": sp.vstack([program.A, program.q], "csc"), "b": np.append(program.b, least * (1 - tol))}
    below = replace(program, **more, parts=(*program.parts, Nonnegative(np.array([[len(program.b)]]))))
    return least * (1 - tol) if infeasible_rows(below) else max(bounds)


def _sizes(program: ConeProgram, owner: IntArray, n: int) -> list[float]:
    """Return the largest right side of the rows of each constraint, or the largest entry of these, or one."""
    (i, _, a), sides, entries = program.entries, np.zeros(n + 1), np.zeros(n + 1)
    np.maximum.at(sides, owner, np.abs(program.b))
    np.maximum.at(entries, owner[i], np.abs(a))
    sizes = np.where(sides > 0, sides, np.where(entries > 0, entries, 1.0))
    return sizes[:n].tolist()
