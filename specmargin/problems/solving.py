"""The one way to solve a CVXPY problem: by solvers in an order, judged by certificates.

`solve` tries the solvers in the order given, asks the *objective* for the certificate of what each of them returned,
and decides the status by that gap: a solver's "optimal" is recorded, never believed.

Of a problem that its user changed (`BuiltProblem.with_`) the objective knows nothing, nor of any other `cvxpy.Problem`:
there the answer holds CVXPY's own values and multipliers, and its certificate is that of the compiled cone program
(`specmargin.problems.conic`).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np

from specmargin.exceptions import (
    InfeasibleError,
    InvalidInputError,
    SolverError,
    SolverNotInstalledError,
)
from specmargin.problems import conic
from specmargin.problems.base import BuiltProblem
from specmargin.problems.conic.values import value_of
from specmargin.problems.hints import warn_of_broadcast
from specmargin.results import CHANGED, Certificate, ConeProof, SolveResult, Status
from specmargin.typing import AnyArray

__all__ = ["default_solvers", "solve"]

_STATUS = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.OPTIMAL_INACCURATE: Status.OPTIMAL_INACCURATE,
    cp.USER_LIMIT: Status.MAX_ITER,
    cp.INFEASIBLE: Status.INFEASIBLE,
    cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
    cp.UNBOUNDED: Status.UNBOUNDED,
    cp.UNBOUNDED_INACCURATE: Status.UNBOUNDED,
}
_NOTHING = Certificate(primal_objective=math.inf, dual_objective=-math.inf)


def solve(
    built: BuiltProblem | cp.Problem,
    solver: str | Sequence[str] = "CLARABEL",
    *,
    tol: float = 1e-6,
    check: bool = False,
    **solver_params: Any,
) -> SolveResult:
    """Solve a problem and certify the answer.

    Parameters
    ----------
    built : BuiltProblem or cvxpy.Problem
        Problem from one of the builders of `specmargin.problems`, changed or not, or any convex problem of CVXPY.
    solver : str or sequence of str, default "CLARABEL"
        Any installed CVXPY solver. A sequence is an explicit order of fallback: the next one is tried when a
        solver fails, whatever it raises, or its answer is not certified to `tol`. The best answer is returned.
    tol : float, default 1e-6
        Relative gap to which the certificate must prove the answer for it to be called OPTIMAL.
    check : bool, default False
        Raise where there is no usable answer, instead of returning a result that says so.
    **solver_params
        Options of the solver, e.g. ``max_iter=50``, each of which every solver of an order must have, and
        ``verbose=True`` to let it print. They hold for this solve alone: none begins where another one ended
        (``warm_start``). HiGHS stops at a quadratic program after 60 seconds, unless ``time_limit`` is another.

    Returns
    -------
    SolveResult
        ``solver`` names who answered, ``attempts`` everyone who was asked and how that ended. Of a problem that was
        changed, or was not made here, variables and multipliers are CVXPY's own, by their names and labels, and the
        certificate is that of the cone program (`Certificate.kind`).

    Raises
    ------
    SolverNotInstalledError
        If a named solver is not installed.
    ValueError
        For an option that a named solver does not have (`InvalidTypeError`, which is a TypeError, too).
    InfeasibleError, SolverError
        With ``check=True``: the problem is infeasible or unbounded, or every solver failed. ``.result`` holds
        what is known.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> labels = sm.encode_labels([0, 0, 1, 1])
    >>> result = sm.solve(sm.problems.rmm(sm.objectives.RMM(X @ X.T, labels, C=1.0)))
    >>> result.certificate.is_optimal(1e-6), result.solver
    (True, 'CLARABEL')
    """
    order = [solver] if isinstance(solver, str) else list(solver)
    if not order:
        raise InvalidInputError("solver is an empty sequence; name at least one solver, e.g. 'CLARABEL'.")
    given = {name: conic.require_options(_required(name), solver_params) for name in order}
    objective: Any = None
    attempt: Callable[..., SolveResult] = _of_cones
    if isinstance(built, cp.Problem):
        conic.require_convex(built)
    else:
        attempt, objective = _attempt, built.current_objective()
    attempts: list[str] = []
    best: SolveResult | None = None
    problem = built if isinstance(built, cp.Problem) else built.problem
    if isinstance(built, cp.Problem) or not built.is_as_built():
        warn_of_broadcast(problem)
    values = None
    for name in order:
        result = attempt(built, objective, name.upper(), tol, given[name])
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


@cache  # CVXPY tries to import all solvers that it knows of
def _required(name: str) -> str:
    """Return the name of an installed solver in capitals."""
    installed = cp.installed_solvers()
    if not isinstance(name, str) or name.upper() not in installed:
        raise SolverNotInstalledError(
            f"the solver {name!r} is not installed or not known to CVXPY; installed are {installed}. "
            f"Install it, or pass solver='CLARABEL'."
        )
    return name.upper()


def _rank(result: SolveResult) -> tuple[bool, bool, float, float]:
    """Return what is smaller of the better answer: whether there is none, or not proved, its gap or violation."""
    certificate = result.certificate
    gap, outside = certificate.relative_gap, certificate.primal_residual
    distance = gap if 0 <= gap < math.inf else math.inf  # negative, of an objective: nothing is proved
    is_open = not result.status.has_solution, result.status is not Status.OPTIMAL
    if certificate.kind == "objective":  # a gap at a point that was made feasible
        return *is_open, distance, 0.0
    return *is_open, max(distance, outside), outside


def _attempt(
    built: BuiltProblem, objective: Any, name: str, tol: float, solver_params: Mapping[str, Any]
) -> SolveResult:
    """Run one solver; its failure becomes a result like any other."""
    start, problem = time.perf_counter(), built.problem
    if built.is_changed_in_place():
        raise InvalidInputError(
            f"the list of constraints of {built.name} was changed in place, which CVXPY may ignore; make a new "
            "problem, built.with_(constraints={'name': new})."
        )
    if not built.is_as_built():
        return _of_changed(built, objective, name, tol, solver_params)
    answer = _failed(built.name, name, "failed")
    try:
        with _heard(), conic.as_solver_errors():
            data, chain, inverse = conic.data_for(problem, name)
            problem.unpack_results(conic.run(name, chain, data, inverse, solver_params), chain, inverse)
    except cp.SolverError as error:
        return replace(answer, message=f"failed ({error})", seconds=time.perf_counter() - start)
    status, stats = _STATUS.get(str(problem.status), Status.FAILED), problem.solver_stats
    reported = conic.told(name, str(problem.status), getattr(stats, "solve_time", None), solver_params)
    n_iter = int(getattr(stats, "num_iters", None) or 0)
    if status in (Status.INFEASIBLE, Status.UNBOUNDED):
        of, status = "of a problem that has an optimum", Status.FAILED
        if not built.has_optimum:
            proved = _of_cones(problem, None, name, tol, solver_params)
            if proved.status in (Status.INFEASIBLE, Status.UNBOUNDED):
                return replace(proved, problem=built.name)
            of = "without a proof"
        reported = f"failed (said {reported} {of})"
    answer = replace(answer, status=status, message=reported, n_iter=n_iter)
    if status.has_solution and all(_is_finite(variable.value) for variable in problem.variables()):
        duals = built.duals()
        if not all(_is_finite(multipliers) for multipliers in duals.values()):
            return replace(answer, status=Status.FAILED, message=f"failed ({reported}, multipliers are not finite)")
        recovered = built.recover(objective)
        status = recovered.certificate.status(tol, Status.MAX_ITER if status is Status.MAX_ITER else None)
        raw = {name: np.asarray(variable.value) for name, variable in built.variables.items()}
        answer = replace(
            answer,
            status=status,
            variables={**raw, **recovered.variables},
            duals={**duals, **recovered.duals},
            certificate=recovered.certificate,
            message=f"{reported}, relative gap {recovered.certificate.relative_gap:.1e}",
        )
    elif status.has_solution:
        answer = replace(answer, status=Status.FAILED, message=f"failed ({reported}, values are missing or not finite)")
    return replace(answer, seconds=time.perf_counter() - start)


def _of_cones(
    problem: cp.Problem, objective: None, name: str, tol: float, solver_params: Mapping[str, Any]
) -> SolveResult:
    """Run one solver on any problem; its certificate is that of the cone program."""
    try:
        with _heard():
            answer = conic.solved(problem, "CVXPY problem", name, tol, solver_params)
    except cp.SolverError as error:
        return _failed("CVXPY problem", name, f"failed ({error})")
    return replace(answer, solver_version=_version(answer.solver))


def _of_changed(
    built: BuiltProblem, objective: Any, name: str, tol: float, solver_params: Mapping[str, Any]
) -> SolveResult:
    """Run one solver on a problem that its user changed: values and multipliers are those of the changed one."""
    answer = _of_cones(built.problem, None, name, tol, solver_params)
    message = f"{answer.message}; changed: {', '.join(built.changes())}"
    answer = replace(answer, problem=f"{built.name}{CHANGED}", message=message)
    if not answer.status.has_solution:
        return answer
    ours = _ids_of_variables(built.original) | {variable.id for variable in built.variables.values()}
    values: dict[str, AnyArray] = {symbol: np.asarray(one.value) for symbol, one in built.variables.items()}
    names = [variable.name() for variable in built.problem.variables()]
    for variable in built.problem.variables():
        if variable.id not in ours:
            if variable.name() in values or names.count(variable.name()) > 1:
                raise InvalidInputError(f"two variables are called {variable.name()!r}; give yours another name.")
            values[variable.name()] = np.asarray(value_of(variable))
    derived = built.derived(objective)
    if isinstance(answer.log, ConeProof):
        columns = {name: at for name, at in answer.log.columns.items() if name in values and name not in derived}
        answer = replace(answer, log=replace(answer.log, columns=columns))
    return replace(answer, variables={**values, **derived}, duals=built.duals())


def _ids_of_variables(problem: cp.Problem | None) -> set[int]:
    return set() if problem is None else {variable.id for variable in problem.variables()}


def _failed(problem: str, solver: str, message: str) -> SolveResult:
    version = _version(solver)
    return SolveResult(problem, Status.FAILED, {}, _NOTHING, solver=solver, solver_version=version, message=message)


@contextlib.contextmanager
def _heard() -> Iterator[None]:
    """Run a solver without CVXPY's warning of inaccuracy, which is a status here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        yield


def _is_finite(value: Any) -> bool:
    return value is not None and bool(np.isfinite(value).all())


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
