"""The one way to solve a CVXPY problem: by solvers in an order, judged by certificates.

`solve` tries the solvers in the order given, asks the *objective* for the certificate of what each of them returned,
and decides the status by that gap: a solver's "optimal" is recorded, never believed.

Of a problem that its user changed (`BuiltProblem.with_`) the objective knows nothing, nor of any other `cvxpy.Problem`:
there the answer holds CVXPY's own values and multipliers, and its certificate is that of the compiled cone program
(`cvxproof.conic`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from cvxproof import conic
from cvxproof.conic import orders
from cvxproof.conic.hints import warn_of_broadcast
from cvxproof.conic.values import value_of
from specmargin.exceptions import (
    InvalidInputError,
)
from specmargin.problems.base import BuiltProblem
from specmargin.results import CHANGED, ConeProof, SolveResult, Status
from specmargin.typing import AnyArray

__all__ = ["solve"]

_STATUS = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.OPTIMAL_INACCURATE: Status.OPTIMAL_INACCURATE,
    cp.USER_LIMIT: Status.MAX_ITER,
    cp.INFEASIBLE: Status.INFEASIBLE,
    cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
    cp.UNBOUNDED: Status.UNBOUNDED,
    cp.UNBOUNDED_INACCURATE: Status.UNBOUNDED,
}


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
    if isinstance(built, cp.Problem):
        return orders.solve(built, solver, tol=tol, check=check, **solver_params)
    objective = built.current_objective()
    if not built.is_as_built():
        warn_of_broadcast(built.problem)

    def attempt(problem: cp.Problem, name: str, tol: float, options: Mapping[str, Any]) -> SolveResult:
        return _attempt(built, objective, name, tol, options)

    return orders.solved_in_order(built.problem, solver, tol, check, solver_params, attempt)


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
    answer = orders.failed(built.name, name, "failed")
    try:
        with orders.quietly(), conic.as_solver_errors():
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
            proved = orders.attempted(problem, name, tol, solver_params)
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


def _of_changed(
    built: BuiltProblem, objective: Any, name: str, tol: float, solver_params: Mapping[str, Any]
) -> SolveResult:
    """Run one solver on a problem that its user changed: values and multipliers are those of the changed one."""
    answer = orders.attempted(built.problem, name, tol, solver_params)
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


def _is_finite(value: Any) -> bool:
    return value is not None and bool(np.isfinite(value).all())
