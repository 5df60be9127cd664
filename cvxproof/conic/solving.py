"""Certificates of any CVXPY problem, in the units of its user, and solving with one.

Whoever solved the problem, its multipliers become a rigorous bound of the optimum (`cvxproof.conic`), the
violation of every constraint is measured, and the status follows from these two.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from textwrap import shorten
from typing import Any, Literal

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import FiniteSet

from cvxproof.conic.attempts import Attempt, attempted, proved_upper_end
from cvxproof.conic.attributes import named_constraints, told_apart
from cvxproof.conic.contradictions import Contradiction, contradiction
from cvxproof.conic.evidence import evidence, evidence_of_ray
from cvxproof.conic.hints import nodes, remedy
from cvxproof.conic.program import Answer
from cvxproof.conic.running import require_solver, told
from cvxproof.conic.values import densify, dual_of, value_of
from cvxproof.conic.violations import relative, violation
from cvxproof.exceptions import InvalidInputError, InvalidTypeError, SolverError
from cvxproof.results import ZERO, Certificate, ConeProof, SolveResult, Status
from cvxproof.rounding import UNIT
from cvxproof.typing import AnyArray

__all__ = ["certify", "require_convex", "solved"]

_SPARE = 5e-8
"""Share of the objective that is left for the verification of a file."""
_NEAR = 1e-6
"""Distance from all constraints, relative to rows, that says nothing of a program."""
_EXACT = 1e-14
"""Error of an exponent that is one of its float only."""
_STOPPED = {cp.USER_LIMIT: Status.MAX_ITER}


def certify(problem: cp.Problem, solver: str = "CLARABEL", tol: float = 1e-6, interval: bool = False) -> Certificate:
    """Certify a CVXPY problem that was solved, whoever solved it.

    The values of the variables are those that the problem holds. The bound comes from multipliers of `solver`, which
    solves the compiled program once more for them: CVXPY does not keep those of its auxiliary constraints.

    Parameters
    ----------
    problem : cvxpy.Problem
        DCP, solved, without integer variables.
    solver : str, default "CLARABEL"
        An installed solver, whose multipliers are judged.
    tol : float, default 1e-6
        Relative gap that is enough.
    interval : bool, default False
        Look for a point that is proved to be feasible (`Certificate.attained`), at the cost of up to four solves.

    Returns
    -------
    Certificate
        Certificate of the kind "cone program", in the units of the objective.

    Raises
    ------
    ValueError
        If the problem is not convex by CVXPY's rules, holds integer variables, or parameters or variables without
        values.
    SolverError
        If the solver fails, or the compiled program is not the one that was written.

    Examples
    --------
    >>> import cvxpy as cp, cvxproof
    >>> x = cp.Variable(3, name="x")
    >>> problem = cp.Problem(cp.Minimize(cp.norm1(x)), [cp.sum(x) == 2])
    >>> value = problem.solve()
    >>> certificate = cvxproof.certify(problem)
    >>> certificate.is_optimal(1e-6), certificate.assumptions
    (True, ())
    """
    require_convex(problem)
    empty = [variable.name() for variable in problem.variables() if variable.value is None]
    if empty:
        raise InvalidInputError(
            f"the variables {empty} have no values: the problem is not solved, or has no solution. Call "
            "problem.solve() before, or cvxproof.solve(problem), which proves that a problem has none, too."
        )
    try:
        attempt = attempted(problem, require_solver(solver), tol)
    except cp.SolverError as error:
        raise SolverError(f"{solver} gives no multipliers: {error} Name another solver, solver='CLARABEL'.") from error
    densify(problem)
    certificate = _certificate(problem, attempt, interval)
    unnamed = () if attempt.compiled.attributes else problem.variables()
    named = told_apart((variable.name(), variable) for variable in unnamed)
    far = {name: max(map(violation, variable.domain), default=0.0) for name, variable in named.items()}
    outside = {name: worst for name, worst in far.items() if worst > 0}  # of attributes that stayed such
    worst = max(certificate.primal_residual, *outside.values(), 0.0)
    return replace(certificate, primal_residual=worst, violations={**certificate.violations, **outside})


def solved(problem: cp.Problem, name: str, solver: str, tol: float, options: Mapping[str, Any]) -> SolveResult:
    """Solve a CVXPY problem by one solver, leave its values in the variables, and certify them.

    Parameters
    ----------
    problem : cvxpy.Problem
        DCP.
    name : str
        What the result is called.
    solver : str
        An installed solver.
    tol : float
        Relative gap up to which an answer is OPTIMAL.
    options : mapping
        Parameters of the solver.
    """
    require_convex(problem)
    start, held = time.perf_counter(), list[Answer]()
    attempt = attempted(problem, solver, tol, lambda one: _measured(problem, one, held), **options)
    if attempt.answer.solution.status not in cp.settings.ERROR and (
        attempt.answer is not held[-1] or math.isinf(attempt.written)
    ):
        attempt.compiled.unpack(attempt.answer)
    solver = attempt.compiled.solver  # Clarabel, where another one returned no ray
    attributes = attempt.answer.solution.attr or {}
    reported = told(solver, attempt.answer.status, attributes.get("solve_time"), options)
    if attempt.answer.moved:
        reported += f", moved onto its rows by at most {attempt.answer.moved:.1e}"
    nothing = Certificate(math.inf, -math.inf, kind="cone program")
    result = SolveResult(name, Status.FAILED, {}, nothing, solver=solver, message=reported)
    if attempt.proof is None or attempt.answer.solution.status in cp.settings.ERROR:
        return _timed(result, start, **_without_a_point(problem, attempt))
    values = told_apart((variable.name(), value_of(variable)) for variable in problem.variables())
    if not all(_is_finite(value) for value in values.values()):
        return _timed(result, start, message=f"failed ({reported}, values are missing or not finite)")
    certificate, log = _with_evidence(problem, attempt, _certificate(problem, attempt, interval=False))
    status = certificate.status(tol, _STOPPED.get(attempt.answer.status))
    duals = {label: dual_of(constraint) for label, constraint in _named(attempt).items()}
    return _timed(
        result,
        start,
        status=status,
        variables=values,
        duals={label: dual for label, dual in duals.items() if dual is not None},
        certificate=certificate,
        log=log,
        message=f"{reported}, {certificate.described}; violation {certificate.violation:.1e}, "
        f"relative and by what it is worth {certificate.primal_residual:.1e}{_outside(attempt, certificate, tol)}",
        n_iter=int(attributes.get("num_iters") or 0),
    )


def require_convex(problem: Any) -> None:
    """Raise for what is no convex program with values."""
    if not isinstance(problem, cp.Problem):
        raise InvalidTypeError(f"the problem is a {type(problem).__name__}; pass a cvxpy.Problem.")
    if not sum(variable.size for variable in problem.variables()):
        raise InvalidInputError("the problem has no variables, or empty ones alone: there is nothing to solve for.")
    integer = [one.name() for one in problem.variables() if one.attributes["integer"] or one.attributes["boolean"]]
    finite = [name for name, one in named_constraints(problem).items() if isinstance(one, FiniteSet)]
    if integer or finite:
        which = f"the variables {integer} are integer" if integer else f"the constraints {finite} are finite sets"
        raise InvalidInputError(
            f"{which}: such a problem has no multipliers that bound its optimum. Relax "
            "them to an interval; the bound then holds for the integer problem, too."
        )
    empty = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if empty:
        raise InvalidInputError(f"the parameters {empty} have no values; assign parameter.value before.")
    for name, part in {"the objective": problem.objective, **named_constraints(problem)}.items():
        for leaf in (*part.constants(), *part.parameters()):
            held = leaf.value.data if sp.issparse(leaf.value) else np.asarray(leaf.value)
            if len(bad := held[~np.isfinite(held)]):
                raise InvalidInputError(
                    f"{name} holds {bad[0]}: {shorten(str(part), 80)}. Solvers take no such number. A bound of "
                    "infinity bounds nothing: leave it out, of a vector u as x[k] <= u[k], k = numpy.isfinite(u), or "
                    "declare it, cvxpy.Variable(n, bounds=[None, u])."
                )
    if not problem.is_dcp():
        wrong = [part for part in [problem.objective, *problem.constraints] if not part.is_dcp()]
        raise InvalidInputError(
            f"the problem is not convex by CVXPY's rules (DCP): {'; '.join(map(str, wrong))}.{remedy(wrong)} Write "
            "these parts otherwise; https://www.cvxpy.org/tutorial/dcp has the rules."
        )


def _named(attempt: Attempt) -> dict[str, Any]:
    """Return the constraints of a problem, and what the attributes of its variables are, by their labels."""
    form = attempt.compiled
    return told_apart([*named_constraints(form.problem).items(), *form.attributes.items()])


def _certificate(problem: cp.Problem, attempt: Attempt, interval: bool) -> Certificate:
    """Return the certificate of the values that the variables hold."""
    program, proof = attempt.compiled.program, attempt.proof
    sense: Literal["minimize", "maximize"] = "minimize" if program.sign > 0 else "maximize"
    value = float(problem.objective.value)
    named = _named(attempt)
    violations = {label: violation(one) for label, one in named.items()}
    if proof is None:
        bound = -math.inf if program.sign > 0 else math.inf
        return Certificate(value, bound, sense=sense, kind="cone program", violations=violations)
    attained = proved_upper_end(attempt) if interval else math.inf
    return Certificate(
        value,
        program.sign * proof.bound,
        primal_residual=max(map(relative, named.values(), violations.values()), default=0.0),
        sense=sense,
        kind="cone program",
        violations=violations,
        assumptions=(*proof.assumptions, *_approximations(problem)),
        attained=program.sign * attained if math.isfinite(attained) else None,
        scale=attempt.size,
    )


def _measured(problem: cp.Problem, attempt: Attempt, held: list[Answer]) -> Attempt:
    """Give the variables the values of an attempt, and the attempt how far these are outside of the constraints.

    Whose values they hold is the last of `held`.
    """
    worst = math.inf
    held.append(attempt.answer)
    with contextlib.suppress(cp.SolverError):
        attempt.compiled.unpack(attempt.answer)
        if all(_is_finite(value_of(variable)) for variable in problem.variables()):
            worst = max((relative(one, violation(one)) for one in problem.constraints), default=0.0)
    return replace(attempt, written=worst)


def _with_evidence(problem: cp.Problem, attempt: Attempt, certificate: Certificate) -> tuple[Certificate, ConeProof]:
    """Return what can be proved of the certificate by the compiled program alone, and with what.

    There the objective is another sum of floats, over columns that CVXPY has added: how far it may be from the value
    is `rounding`, with a share of the objective for a verifier: it knows no other multipliers, and its bounds of x are
    wider. Violations are those of the rows, where they are larger.
    """
    program, proof = attempt.compiled.program, attempt.proof
    assert proof is not None
    log, rows = evidence(attempt, _named(attempt))
    worst = {name: max(one, own) for (name, one), own in zip(certificate.violations.items(), rows, strict=True)}
    far = abs(program.sign * certificate.primal_objective - proof.value)
    rounding = 2 * (len(program.q) + program.P.nnz + 8) * UNIT * program.terms(attempt.answer.x)
    if not proof.assumptions:
        is_zero = abs(proof.value) <= ZERO * attempt.size
        rounding += 0.1 * ZERO * attempt.size if is_zero else _SPARE * abs(proof.value)
    outside = max(certificate.primal_residual, attempt.outside)
    rounding = (far + rounding) * (1 + 1e-9)
    return replace(certificate, rounding=rounding, violations=worst, primal_residual=outside), log


def _without_a_point(problem: cp.Problem, attempt: Attempt) -> dict[str, Any]:
    """Return status, certificate, log and message of an answer that is a ray: neither value nor bound."""
    reported, ray, sign = attempt.answer.status, attempt.ray, attempt.compiled.program.sign
    if ray is None:
        problem._clear_solution()  # CVXPY would say what the solver says
        supposing = f" but by supposing {'; '.join(attempt.supposing)}" if attempt.supposing else ""
        proves = (
            "neither a point nor a proof that there is none is in it" if attempt.proof else "its ray does not prove it"
        )
        return {"message": f"failed ({reported} is what the solver says, and {proves}{supposing}){_nearest(attempt)}"}
    certificate = Certificate(
        sign * math.inf,
        -sign * math.inf,
        sense="minimize" if sign > 0 else "maximize",
        kind="cone program",
    )
    held = contradiction(problem) if ray.kind == "infeasible" else None
    if held and not held.names:  # those of the ray itself, unless it is about rows that are nobody's
        named = _named(attempt)
        owner = attempt.compiled.owners(named.values())[ray.z != 0]
        some = tuple(name for k, name in enumerate(named) if k in owner and (owner >= 0).all())
        held = Contradiction(some, some)
    which = f"; {held}" if held else ""
    other = "" if ray.kind in reported else f" ({reported} is what the solver says)"
    return {
        "status": Status(ray.kind),
        "certificate": certificate,
        "log": evidence_of_ray(attempt),
        "contradiction": held,
        "message": f"{ray.kind}, proved{other}{which}",
    }


def _outside(attempt: Attempt, certificate: Certificate, tol: float) -> str:
    """Return which constraint an answer violates that is no better than that, in words."""
    worst, most = max(certificate.violations.items(), key=lambda one: one[1], default=("rows that CVXPY added", 0.0))
    if not certificate.primal_residual > tol:
        return ""
    return f"; outside of {worst!r} by {most:.1e}, also with other settings{_nearest(attempt)}"


def _nearest(attempt: Attempt) -> str:
    """Return how near to all constraints points come, in words: a program without a ray comes as near as one likes."""
    form = attempt.compiled
    with contextlib.suppress(cp.SolverError):
        if form.solver == "CLARABEL":
            t = float(form.relaxed(form.program.row_sizes[:, None], np.ones(1))[1].x[-1])
            near = f"points come within {max(t, 0.0):.0e} of all constraints, relative to their rows"
            return f"; {near}" + ("" if t > _NEAR else ": ill-posed, if there is none of them, no ray proves it")
    return ""


def _approximations(problem: cp.Problem) -> tuple[str, ...]:
    """Return what CVXPY approximates where it compiles a problem: the bound is that of the approximation."""
    told: dict[str, None] = {}
    for part in nodes([problem.objective.expr, *problem.constraints]):
        error, points = getattr(part, "approx_error", 0.0), getattr(part, "quad_approx", ())
        name = type(part).__name__.removesuffix("Approx")
        if error > _EXACT:
            told[f"that the exponents of {name}, which CVXPY rounds by {error:.0e}, are exact"] = None
        elif points:
            told[f"that CVXPY's quadrature of {name} is exact"] = None
        elif isinstance(part, cp.maximum) and _is_loggamma(part):
            told["that CVXPY's loggamma, the largest of ten simpler functions, is exact"] = None
    return tuple(told)


def _is_loggamma(part: cp.maximum) -> bool:
    """Whether a maximum is what CVXPY writes for loggamma, which has no atom of its own."""
    of = next((one.args[0] for one in nodes(part.args) if isinstance(one, cp.log)), None)
    return of is not None and str(part) == str(cp.loggamma(of))


def _is_finite(value: AnyArray | None) -> bool:
    return value is not None and bool(np.isfinite(value).all())


def _timed(result: SolveResult, start: float, **changes: Any) -> SolveResult:
    return replace(result, **changes, seconds=time.perf_counter() - start)
