"""The best-proved answer of a solver to a CVXPY problem: a first attempt, and a second one with tighter tolerances."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from specmargin.problems.conic.certificate import Proof, judged, proved_infeasible, unbounded_defect
from specmargin.problems.conic.existence import upper_end
from specmargin.problems.conic.outward import Outward
from specmargin.problems.conic.program import Answer, Compiled, ConeProgram, compiled
from specmargin.typing import FloatArray

__all__ = ["Attempt", "attempted", "proved_upper_end"]

# The second attempt. Clarabel's chordal decomposition has returned answers that were 1.5 % off as solved.
_TIGHT = {
    "tol_gap_abs": 1e-12,
    "tol_gap_rel": 1e-12,
    "tol_feas": 1e-12,
    "max_iter": 200,
    "chordal_decomposition_enable": False,
}
_DEPTHS = (1e-9, 1e-8, 1e-7, 1e-6)
_RAY = 1e-9
"""Largest relative violation of a ray that proves unboundedness."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """What a solver answered, and what is proved of it.

    Parameters
    ----------
    compiled : Compiled
        The problem as the solver got it.
    answer : Answer
        What it returned.
    proof : Proof or None
        Proof of its point; None if it reported infeasibility or unboundedness.
    ray : tuple of str or None
        What the proof of infeasibility or unboundedness supposes; None where there is no proof.
    """

    compiled: Compiled
    answer: Answer
    proof: Proof | None = None
    ray: tuple[str, ...] | None = None

    @property
    def relative_gap(self) -> float:
        """Gap relative to the value itself, or to a thousandth of the terms that cancel in it."""
        if self.proof is None:
            return math.inf
        gap = self.proof.value - self.proof.bound
        return gap / max(abs(self.proof.value), 1e-3 * self.size, 1e-300) if math.isfinite(gap) else math.inf

    @property
    def size(self) -> float:
        """Sum of the moduli of the objective's terms at the answer."""
        return size_of_terms(self.compiled.program, self.answer.x)


def size_of_terms(program: ConeProgram, x: FloatArray) -> float:
    """Return the sum of the moduli of the objective's terms at x, at least the largest of its coefficients."""
    quadratic = 0.5 * float(np.abs(x) @ (abs(program.P) @ np.abs(x)))
    terms = quadratic + float(np.abs(program.q) @ np.abs(x)) + abs(program.d)
    return max(terms, float(np.abs(program.q).max(initial=0)))


def attempted(problem: cp.Problem, solver: str, tol: float, **options: Any) -> Attempt:
    """Solve a problem and prove what can be proved, by a second attempt where the first leaves a gap.

    Parameters
    ----------
    problem : cvxpy.Problem
        DCP.
    solver : str
        An installed solver.
    tol : float
        Relative gap that is enough.
    **options
        Parameters of the solver.
    """
    form = compiled(problem, solver)
    first = _judged(form, form.solved(**options), tol, rounds=3)
    if first.proof is None and first.ray is None and solver != "CLARABEL":  # ECOS, for one, returns no ray
        second = attempted(problem, "CLARABEL", tol)
        return second if second.ray is not None else first
    if first.proof is None or solver != "CLARABEL" or _is_enough(first, tol):
        return first
    program = form.program
    largest = max(float(np.abs(program.q).max(initial=0)), float(abs(program.P).max() if program.P.nnz else 0), 1e-300)
    scale = 1.0 if 1e-2 <= largest <= 1e2 else float(np.exp2(-np.round(np.log2(largest))))
    answer = form.solved(scale, **{**_TIGHT, **options})
    second = _judged(form, answer, tol, rounds=7)
    if second.proof is None:
        return first
    keeps = not first.proof.assumptions and second.proof.assumptions and first.relative_gap <= 10 * tol
    return second if second.relative_gap < first.relative_gap and not keeps else first


def _is_enough(attempt: Attempt, tol: float) -> bool:
    proof = attempt.proof
    return proof is not None and not proof.assumptions and attempt.relative_gap <= tol


def _judged(form: Compiled, answer: Answer, tol: float, rounds: int) -> Attempt:
    if "infeasible" in answer.status:
        return Attempt(form, answer, ray=proved_infeasible(form.program, answer.z))
    if "unbounded" in answer.status:
        defect = unbounded_defect(form.program, answer.x)
        off = (f"that its ray, which is off by {defect:.0e} of its length, is exact",) if defect else ()
        return Attempt(form, answer, ray=("that there is a feasible point", *off) if defect <= _RAY else None)
    return Attempt(form, answer, judged(form.program, answer, rounds=rounds, tol=tol / 10))


def proved_upper_end(attempt: Attempt) -> float:
    """Return an upper bound of the minimisation at a point that is proved to be feasible; infinite where none is found.

    The answer itself is tried, then those of programs whose cones are a little smaller.
    """
    form, x = attempt.compiled, attempt.answer.x
    outward = Outward(form.program)
    upper = upper_end(outward, x)
    for depth in _DEPTHS if math.isinf(upper) and form.solver == "CLARABEL" else ():
        b = form.program.b.copy()
        for cone in form.program.parts:
            cone.shrunk(b, depth)
        inner = replace_right_sides(form, b).solved(**_TIGHT)
        if "infeasible" in inner.status:
            break
        upper = upper_end(outward, inner.x)
        if math.isfinite(upper):
            break
    return upper


def replace_right_sides(form: Compiled, b: FloatArray) -> Compiled:
    """Return a compiled problem with other right sides."""
    return replace(form, data={**form.data, "b": b})
