"""Whether CVXPY has compiled the program that was written.

Every certificate speaks of the compiled program. Where the columns of the variables are fixed to any point in the
domain of the written expressions, the rows that CVXPY added for its auxiliary columns must leave these some value, and
the least objective that they leave must not be above the written one. Both are tested at a few random points, by
bounds of the auxiliary columns that are right up to a rounding which is far below what is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Inequality, NonNeg, NonPos, Zero
from cvxpy.transforms.partial_optimize import PartialProblem

from cvxproof.conic.box import propagated
from cvxproof.conic.compiled import Compiled, compiled
from cvxproof.conic.cones import Cone
from cvxproof.conic.hints import nodes
from cvxproof.conic.outward import Box
from cvxproof.conic.program import ConeProgram
from cvxproof.conic.values import value_of
from cvxproof.conic.violations import violation
from cvxproof.typing import FloatArray, IntArray

__all__ = ["compiled_as_written"]

_APART = 1e-6
"""Relative difference that is no rounding."""
_BY_ROWS = (Equality, Inequality, NonNeg, NonPos, Zero)
"""Constraints whose rows are told from those that CVXPY adds."""


def compiled_as_written(problem: cp.Problem, solver: str = "CLARABEL") -> Compiled:
    """Return a problem as CVXPY compiles it for a solver.

    Raises
    ------
    cvxpy.SolverError
        If the compiled program is shown to be another one than that which was written.
    """
    form = compiled(problem, solver)
    difference = _difference(form)
    if difference:
        raise cp.SolverError(f"CVXPY {cp.__version__} compiles another program than was written: {difference}")
    return form


def _difference(form: Compiled) -> str:
    """Return how the compiled program differs from what was written, empty if it does not at a few random points."""
    problem, columns = form.problem, form.columns()
    variables = problem.variables()
    if any(variable.id not in columns for variable in variables):  # complex, diagonal or sparse ones
        return ""
    if any(isinstance(part, PartialProblem) for part in nodes([problem.objective.expr, *problem.constraints])):
        return ""  # its value takes a solve
    added = _Added(form, np.unique(np.concatenate([columns[variable.id].ravel() for variable in variables])))
    rng = np.random.default_rng(0)
    draw = np.zeros(len(form.program.q))
    draw[added.written] = rng.standard_normal(len(added.written))
    for point in (np.abs(draw), 30 * draw)[: 1 + bool(len(added.rest))]:  # one for what is nonnegative, and a large one
        box, crossing = added.bounds(point)
        with _values(variables, [point[columns[variable.id]] for variable in variables]):
            least, size = added.least_objective(point, box)
            value = form.program.sign * _value(problem)
            if (crossing > _APART or least > value + _APART * size) and _is_in_domain(problem):
                off = (
                    f"is at least {least:.6g} there"
                    if least > value
                    else f"has bounds there that cross by {crossing:.1g}"
                )
                return f"where the written objective is {value:.6g}, the compiled one {off}."
    return ""


class _Added:
    """The columns and the rows that CVXPY added to what was written."""

    def __init__(self, form: Compiled, written: IntArray) -> None:
        program = self.program = form.program
        is_rest, is_ours = np.full(len(program.q), True), np.zeros(len(program.b), dtype=bool)
        parts, start = list[Cone](), 0
        is_rest[written] = False
        self.written, self.rest, (i, j, a) = written, np.flatnonzero(is_rest), program.entries
        is_ours[i[is_rest[j]]] = True
        if is_ours.any():
            is_ours &= form.owners(form.problem.constraints) == -1
        place, held = np.full(len(program.b), -1), [np.zeros(0, dtype=np.intp)]
        for cone in program.parts:
            if len(rows := cone.rows[is_ours[cone.rows].any(axis=1)]):
                place[rows] = start + np.arange(rows.size).reshape(rows.shape)
                parts, start = [*parts, replace(cone, rows=place[rows])], start + rows.size
                held.append(rows.ravel())
        self.rows, inside, k = np.concatenate(held), is_rest[j] & (place[i] >= 0), len(self.rest)
        at = place[i[inside]], (np.cumsum(is_rest) - 1)[j[inside]]
        A, empty = sp.csc_matrix((a[inside], at), (start, k)), sp.csc_matrix((k, k))
        self.inner = ConeProgram(empty, np.zeros(k), A, np.zeros(start), tuple(parts))
        self.g, self.p = program.q[self.rest], program.P.diagonal()[self.rest]
        self.is_separable = program.is_separable or program.P[self.rest].count_nonzero() == np.count_nonzero(self.p)

    def bounds(self, point: FloatArray) -> tuple[Box, float]:
        """Return bounds of the added columns where the others are fixed, and how far these contradict each other."""
        if not len(self.rest):
            return Box(self.g, self.g), 0.0
        size = (np.abs(self.program.b) + self.program.size_A @ np.abs(point))[self.rows]
        b, least = self.program.slacks(point)[self.rows], _APART * float(size.max(initial=0.0)) + 1e-300
        return propagated(self.inner, b, least)

    def least_objective(self, point: FloatArray, box: Box) -> tuple[float, float]:
        """Return the least objective of the minimisation within the bounds, and the size of its terms."""
        g, p = self.g, self.p
        if not self.is_separable:
            return -np.inf, 0.0
        with np.errstate(all="ignore"):
            lowest = np.where(p > 0, np.clip(-g / p, box.low, box.high), np.where(g > 0, box.low, box.high))
            terms = np.where((p > 0) | (g != 0), lowest * (g + p * lowest / 2), 0.0)
        least, size = self.program.value(point), self.program.size(point)
        return least + float(terms.sum()), size + float(np.abs(terms).sum())


def _value(problem: cp.Problem) -> float:
    """Return the written objective, nan where it has none."""
    try:
        with np.errstate(all="ignore"):
            return float(np.real(problem.objective.value))
    except Exception:  # outside of their domains, functions may raise anything
        return math.nan


def _is_in_domain(problem: cp.Problem) -> bool:
    """Whether the values lie where all that was written is defined, and in the cones that were written."""
    parts = [problem.objective.expr, *(arg for one in problem.constraints for arg in one.args)]
    try:
        with np.errstate(all="ignore"):
            held = [one for part in parts for one in part.domain]
            held += [one for one in problem.constraints if not isinstance(one, _BY_ROWS)]
            is_defined = all(np.isfinite(np.asarray(value_of(part))).all() for part in parts)
            return is_defined and all(violation(one) == 0 for one in held)
    except Exception:
        return False


@contextmanager
def _values(variables: list[cp.Variable], values: list[FloatArray]) -> Iterator[None]:
    """Give variables other values for a while."""
    before = [variable.value for variable in variables]
    try:
        for variable, value in zip(variables, values, strict=True):
            variable.save_value(value)
        yield
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.save_value(value)
