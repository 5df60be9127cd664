"""The best-proved answer of a solver to a CVXPY problem: a first attempt, and further ones where it leaves a gap."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solution import failure_solution

from cvxproof.checks import is_number
from cvxproof.conic.agreement import compiled_as_written
from cvxproof.conic.certificate import Proof, judged
from cvxproof.conic.compiled import Compiled
from cvxproof.conic.cones import Semidefinite
from cvxproof.conic.correction import onto_rows
from cvxproof.conic.existence import upper_end
from cvxproof.conic.farkas import has_no_vertex
from cvxproof.conic.outward import Outward
from cvxproof.conic.program import Answer, ConeProgram
from cvxproof.conic.rays import Ray, infeasible_rows, is_proved_feasible, proved_infeasible, proved_unbounded
from cvxproof.exceptions import InvalidInputError
from cvxproof.results import ZERO, compared
from cvxproof.typing import FloatArray

__all__ = ["Attempt", "attempted", "feasible_point", "proved_upper_end"]

_TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12, "max_iter": 200}
# The further attempts, until one is proved: whether the objective is scaled, and the settings. Each of them wins
# programs that the others lose, of SDPLIB, of Maros-Meszaros, or of random ones with power cones.
_FURTHER: tuple[tuple[bool, Mapping[str, Any]], ...] = (
    (True, {}),
    (True, _TIGHT),
    (False, {**_TIGHT, "max_step_fraction": 0.9}),
    (False, {**_TIGHT, "static_regularization_constant": 1e-11}),
    (False, {**_TIGHT, "equilibrate_enable": False}),
)
_WHOLE = 100
"""Semidefinite cones up to this order are solved as they are: the decomposition of sparse ones into cliques has
returned answers that were 1.5 % off as solved. A larger one takes Clarabel a matrix of order^4 / 4 entries."""
_LARGE = 1000
"""Entries of a linear program above which a bound without an assumption is worth no further attempt."""
_SMALL = 2000
"""Entries up to which a program whose answer is outside is looked at for a contradiction."""
_DEPTHS = (1e-9, 1e-8, 1e-7, 1e-6)


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
    ray : Ray or None
        Proof of infeasibility or unboundedness.
    supposing : tuple of str
        What its ray would have to suppose in order to be a proof; then there is none.
    written : float, default 0
        The largest relative violation of a constraint as it is written.
    """

    compiled: Compiled
    answer: Answer
    proof: Proof | None = None
    ray: Ray | None = None
    supposing: tuple[str, ...] = ()
    written: float = 0.0

    @cached_property
    def relative_gap(self) -> float:
        """Gap over what `cvxproof.Certificate.relative_gap` has it over.

        Negative where the value is below the bound, since the answer is outside of its constraints.
        """
        if self.proof is None:
            return math.inf
        gap = self.proof.value - self.proof.bound
        return gap / self._compared if math.isfinite(gap) else math.inf

    @cached_property
    def distance(self) -> float:
        """How far the answer is from a proved one: the modulus of its gap or its violation, both relative."""
        return max(abs(self.relative_gap), self.outside, self.written)

    @cached_property
    def outside(self) -> float:
        """The largest violation relative to its row, or what all are worth in the objective, relative to that."""
        if self.proof is None:
            return math.inf
        program, proof, x = self.compiled.program, self.proof, self.answer.x
        return max(program.relative_violation(x), program.worth(x, proof.z) / self._compared)

    @cached_property
    def _compared(self) -> float:
        """What a gap is relative to in the certificate, whose rounding holds a share for the verification of a file."""
        assert self.proof is not None
        return max(compared(self.proof.value, self.proof.bound, self.size, 0.2 * ZERO * self.size), 1e-300)

    @cached_property
    def size(self) -> float:
        """Size of the objective's terms, in units of the data."""
        return self.compiled.program.size(self.answer.x)


Measure = Callable[[Attempt], Attempt]


def attempted(problem: cp.Problem, solver: str, tol: float, measure: Measure = lambda a: a, **options: Any) -> Attempt:
    """Solve a problem and prove what can be proved, by further attempts where the first leaves a gap.

    Any solver has one with the objective scaled, if its coefficients are far from one; Clarabel has more. A solver that
    reported that there is no optimum, without a proof, is not asked again: Clarabel is. An answer that is outside of
    linear rows by more than `tol` is moved onto them. Where no attempt is proved, or the program may be infeasible by
    as little as its answer is outside, HiGHS looks for a contradiction of linear rows.

    Parameters
    ----------
    problem : cvxpy.Problem
        DCP.
    solver : str
        An installed solver.
    tol : float
        Relative gap that is enough.
    measure : callable, optional
        Gives an attempt its `Attempt.written`; without it, violations are those of the rows.
    **options
        Parameters of the solver.
    """
    if not (is_number(tol) and 0 <= tol < math.inf):
        raise InvalidInputError(f"tol={tol!r} is no relative gap; pass a number that is not negative, such as 1e-6.")
    best = _best(problem, solver, tol, measure, options)
    program, proof = best.compiled.program, best.proof
    if best.ray is not None or (best.distance <= tol and proof is not None and not _may_be_infeasible(best, proof)):
        return best
    ray: FloatArray | Ray | None = infeasible_rows(program)
    if ray is None and not best.distance <= tol:
        ray = feasible_point(best.compiled)
    if not isinstance(ray, Ray):
        return best
    return Attempt(best.compiled, replace(best.answer, solution=failure_solution(cp.INFEASIBLE)), ray=ray)


def _may_be_infeasible(attempt: Attempt, proof: Proof) -> bool:
    """Whether a proved answer may be one of a program without a point, as far as it costs little to find out.

    The value is below the bound, or the program is small, and the answer is outside, also when it is moved.
    """
    program, x = attempt.compiled.program, attempt.answer.x
    is_doubtful = proof.violation > 0 and (proof.value < proof.bound or program.A.nnz <= _SMALL)
    if not is_doubtful or has_no_vertex(program, x):
        return False
    return not has_no_vertex(program, onto_rows(program, x))


def _best(problem: cp.Problem, solver: str, tol: float, measure: Measure, options: Mapping[str, Any]) -> Attempt:
    form = compiled_as_written(problem, solver)
    best = measure(_judged(form, form.solved(**options), tol, rounds=3))
    if best.ray is not None:
        return best
    is_clarabel = solver == "CLARABEL"
    if best.proof is None and not is_clarabel:  # ECOS, for one, returns no ray
        with contextlib.suppress(cp.SolverError):
            second = _best(problem, "CLARABEL", tol, measure, {})
            best = second if second.ray is not None else best
        return best
    scale = _scale(form.program)
    others = _FURTHER[1:] if is_clarabel else ()
    is_large_lp = form.program.is_lp and form.program.A.nnz > _LARGE
    for is_scaled, changes in (*_FURTHER[:1], *others) if scale != 1.0 else others:
        supposes = best.proof is None or bool(best.proof.assumptions)
        is_sought = supposes and not is_large_lp and (is_scaled or "max_step_fraction" in changes)
        if best.distance <= tol and not is_sought:
            break  # the first three look for a bound without an assumption, too, unless that takes long
        try:
            answer = form.solved(scale if is_scaled else 1.0, **_settings(form, changes, options))
        except cp.SolverError:
            continue  # what is proved of an earlier answer stays
        further = measure(_judged(form, answer, tol, rounds=7, known=None if supposes else best.proof))
        if further.ray is not None:
            return further if best.proof is None else best
        if _order(further, tol) < _order(best, tol):
            best = further
    if best.proof is not None and best.distance > tol:  # what was judged briefly, of an answer that is outside
        known = None if best.proof.assumptions else best.proof
        best = replace(best, proof=judged(form.program, best.answer, rounds=7, tol=tol / 10, known=known))
    return best


def _order(attempt: Attempt, tol: float) -> tuple[float, bool, float]:
    """Return what is smaller of the better of two attempts: proved, without an assumption, near."""
    proof = attempt.proof
    return max(attempt.distance, tol), proof is None or bool(proof.assumptions), attempt.distance


def _scale(program: ConeProgram) -> float:
    """Return the power of two that brings the largest coefficient of the objective to one, if it is far from it."""
    largest = max(float(np.abs(program.q).max(initial=0)), float(abs(program.P).max() if program.P.nnz else 0), 1e-300)
    return 1.0 if 1e-2 <= largest <= 1e2 else float(np.exp2(-np.round(np.log2(largest))))


def _settings(form: Compiled, changes: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a further attempt."""
    orders = (cone.order for cone in form.program.parts if isinstance(cone, Semidefinite))
    is_whole = form.solver == "CLARABEL" and max(orders, default=0) <= _WHOLE
    whole = {"chordal_decomposition_enable": False} if is_whole else {}
    return {**changes, **whole, **options}


def _judged(form: Compiled, answer: Answer, tol: float, rounds: int, known: Proof | None = None) -> Attempt:
    if "infeasible" in answer.status:
        ray = infeasible_rows(form.program) or proved_infeasible(form.program, answer.z)
    elif "unbounded" in answer.status:
        ray = proved_unbounded(form.program, answer.x)
        point = None if ray is None else feasible_point(form)
        if isinstance(point, Ray):
            ray = point
        elif ray is not None and point is not None:
            ray = ray.from_point(point)
    else:
        program, outside = form.program, form.program.relative_violation(answer.x)
        if outside > tol and program.is_linear:
            x = onto_rows(program, answer.x)
            if (nearer := program.relative_violation(x)) < outside:
                answer, outside = answer.at(x, program.value(x) - program.value(answer.x)), nearer
        rounds = 0 if outside > tol else rounds
        return Attempt(form, answer, judged(program, answer, rounds, tol / 10, known=known, is_hasty=True))
    if ray is not None and ray.assumptions:
        return Attempt(form, answer, supposing=ray.assumptions)
    return Attempt(form, answer, ray=ray)


def feasible_point(form: Compiled) -> FloatArray | Ray | None:
    """Return a point next to which a feasible one is proved, or a proof that there is none; None if nothing is proved.

    The point is zero, or one inside the cones, which are all relaxed at once: that program has both optima.
    """
    program, x = form.program, np.zeros(len(form.program.q))
    if is_proved_feasible(program, x):
        return x
    if form.solver == "CLARABEL":
        with contextlib.suppress(cp.SolverError):
            _, relaxed, z = form.relaxed(program.row_sizes[:, None], np.ones(1))
            if is_proved_feasible(program, x := relaxed.x[:-1]):
                return x
            ray = infeasible_rows(program) or proved_infeasible(program, z)
            return None if ray is None or ray.assumptions else ray
    return None


def proved_upper_end(attempt: Attempt) -> float:
    """Return an upper bound of the minimisation at a point that is proved to be feasible; infinite where none is found.

    The answer itself is tried, then those of programs whose cones are a little smaller.
    """
    form, x = attempt.compiled, attempt.answer.x
    outward = Outward(form.program)
    upper = upper_end(outward, x)
    for inner in _inside(form, _DEPTHS if math.isinf(upper) else (), **_settings(form, _TIGHT, {})):
        if "infeasible" in inner.status:
            break
        upper = upper_end(outward, inner.x)
        if math.isfinite(upper):
            break
    return upper


def _inside(form: Compiled, depths: Iterable[float], **options: Any) -> Iterator[Answer]:
    """Yield Clarabel's answers to the program with smaller cones.

    Other solvers hold right sides otherwise: PIQP has ended the process at some of a wrong size.
    """
    for depth in depths if form.solver == "CLARABEL" else ():
        b = form.program.b.copy()
        for cone in form.program.parts:
            cone.shrunk(b, depth)
        with contextlib.suppress(cp.SolverError):
            yield replace(form, data={**form.data, "b": b}).solved(**options)
