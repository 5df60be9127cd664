"""CVXPY problems solved by solvers in an order, each answer judged by the certificate of its cone program.

A solver's "optimal" is recorded, never believed: the status is decided by the gap that is recomputed.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import cvxpy as cp

from cvxproof import conic
from cvxproof.conic.hints import warn_of_broadcast
from cvxproof.exceptions import InfeasibleError, InvalidInputError, SolverError
from cvxproof.results import Certificate, SolveResult, Status

__all__ = ["attempted", "default_solvers", "failed", "quietly", "solve", "solved_in_order"]

_NOTHING = Certificate(primal_objective=math.inf, dual_objective=-math.inf)


def solve(
    problem: cp.Problem,
    solver: str | Sequence[str] = "CLARABEL",
    *,
    tol: float = 1e-6,
    check: bool = False,
    **solver_params: Any,
) -> SolveResult:
    """Solve a convex CVXPY problem and certify the answer.

    Parameters
    ----------
    problem : cvxpy.Problem
        Convex by CVXPY's rules.
    solver : str or sequence of str, default "CLARABEL"
        Any installed CVXPY solver. A sequence is an explicit order of fallback: the next one is tried when a
        solver fails, whatever it raises, or its answer is not certified to `tol`. The best answer is returned.
    tol : float, default 1e-6
        Relative gap to which the certificate must prove the answer for it to be called OPTIMAL.
    check : bool, default False
        Raise where there is no usable answer, instead of returning a result that says so.
    **solver_params
        Options of the solver. They hold for this solve alone.

    Returns
    -------
    SolveResult
        Variables and multipliers by their names and labels, and the certificate of the cone program.

    Raises
    ------
    SolverNotInstalledError
        If a named solver is not installed.
    ValueError
        For a problem that is not convex, and for an option that a named solver does not have.
    InfeasibleError, SolverError
        With ``check=True``: the problem is infeasible or unbounded, or every solver failed.

    Examples
    --------
    >>> x = cp.Variable(3, name="x")
    >>> result = solve(cp.Problem(cp.Minimize(cp.norm1(x)), [cp.sum(x) == 2]))
    >>> result.status.name, result.certificate.is_optimal(1e-6)
    ('OPTIMAL', True)
    """
    conic.require_convex(problem)
    warn_of_broadcast(problem)
    return solved_in_order(problem, solver, tol, check, solver_params, attempted)


def solved_in_order(
    problem: cp.Problem,
    solver: str | Sequence[str],
    tol: float,
    check: bool,
    solver_params: Mapping[str, Any],
    attempt: Callable[[cp.Problem, str, float, Mapping[str, Any]], SolveResult],
) -> SolveResult:
    """Return the best answer of solvers that are tried in turn until one is OPTIMAL."""
    order = [solver] if isinstance(solver, str) else list(solver)
    if not order:
        raise InvalidInputError("solver is an empty sequence; name at least one solver, e.g. 'CLARABEL'.")
    given = {name: conic.require_options(conic.require_solver(name), solver_params) for name in order}
    attempts: list[str] = []
    best: SolveResult | None = None
    values = None
    for name in order:
        result = attempt(problem, name.upper(), tol, given[name])
        attempts.append(f"{result.solver}: {result.message}")
        if best is None or _rank(result) < _rank(best):
            best, values = result, problem.solution
        if result.status is Status.OPTIMAL:
            break
    assert best is not None
    if best.status.has_solution and problem.solution is not values:
        problem.unpack(values)  # the variables hold the answer that is returned, not that of the last solver
    best = replace(best, attempts=tuple(attempts))
    if check and not best.status.has_solution:
        raise _error(best)
    return best


def default_solvers() -> tuple[str, ...]:
    """Return the order of solvers that the estimators use when none is named: Clarabel, then ECOS if installed.

    ECOS has no wheels for Python 3.13 and later.

    Examples
    --------
    >>> default_solvers()[0]
    'CLARABEL'
    """
    return tuple(name for name in ("CLARABEL", "ECOS") if name in cp.installed_solvers())


def attempted(problem: cp.Problem, name: str, tol: float, solver_params: Mapping[str, Any]) -> SolveResult:
    """Run one solver on any problem; its certificate is that of the cone program."""
    try:
        with quietly():
            answer = conic.solved(problem, "CVXPY problem", name, tol, solver_params)
    except cp.SolverError as error:
        return failed("CVXPY problem", name, f"failed ({error})")
    return replace(answer, solver_version=_version(answer.solver))


def failed(problem: str, solver: str, message: str) -> SolveResult:
    """Return the result of a solver that returned nothing."""
    version = _version(solver)
    return SolveResult(problem, Status.FAILED, {}, _NOTHING, solver=solver, solver_version=version, message=message)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Run a solver without CVXPY's warning of inaccuracy, which is a status here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        yield


def _rank(result: SolveResult) -> tuple[bool, bool, float, float]:
    """Return what is smaller of the better answer: whether there is none, or not proved, its gap or violation."""
    certificate = result.certificate
    gap, outside = certificate.relative_gap, certificate.primal_residual
    distance = gap if 0 <= gap < math.inf else math.inf  # negative, of an objective: nothing is proved
    is_open = not result.status.has_solution, result.status is not Status.OPTIMAL
    if certificate.kind == "objective":  # a gap at a point that was made feasible
        return *is_open, distance, 0.0
    return *is_open, max(distance, outside), outside


@cache
def _version(name: str) -> str:
    try:
        return importlib.metadata.version({"HIGHS": "highspy", "SCIPY": "scipy"}.get(name, name.lower()))
    except importlib.metadata.PackageNotFoundError:
        return ""


def _error(result: SolveResult) -> SolverError:
    tried = "; ".join(result.attempts)
    if result.status is Status.INFEASIBLE:
        return InfeasibleError(
            f"{result.problem} is infeasible ({tried}): its constraints contradict each other. Loosen the ones that "
            "were added or the bounds that were changed.",
            result,
        )
    if result.status is Status.UNBOUNDED:
        return InfeasibleError(
            f"{result.problem} is unbounded ({tried}). Put back the constraint that was taken out.", result
        )
    return SolverError(
        f"{result.problem} was not solved ({tried}). Try another solver or an order of them, e.g. "
        "solver=('CLARABEL', 'SCS'), a larger max_iter, or features of a common scale.",
        result,
    )
