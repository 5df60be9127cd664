"""One way to certify: an answer to an objective, a problem that was built here, any convex problem of CVXPY."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp

from cvxproof import conic
from specmargin import objectives
from specmargin.exceptions import InvalidInputError
from specmargin.problems.base import BuiltProblem
from specmargin.results import Certificate, SolveResult

__all__ = ["certify"]


def certify(
    problem: Any,
    result: SolveResult | Mapping[str, Any] | None = None,
    duals: Mapping[str, Any] | None = None,
    *,
    solver: str = "CLARABEL",
    interval: bool = False,
) -> Certificate:
    """Recompute from the data how far an answer is from the optimum, whoever found it.

    Parameters
    ----------
    problem : objective, BuiltProblem or cvxpy.Problem
        One of `specmargin.objectives`, whose answer is `result`; or a solved problem, whose answer is what its
        variables hold. Of a problem that is as its builder made it the objective computes the certificate.
    result : SolveResult or mapping of str to array, optional
        Answer to an objective, by any solver, here or elsewhere: at least the variables that `Objective.variables`
        names.
    duals : mapping of str to array, optional
        Multipliers, for a mapping of variables. The objective's docstring names those that count. They are looked for
        among the duals of a result, then among its variables, and derived from the variables where there are none.
    solver : str, default "CLARABEL"
        Solver whose multipliers bound the optimum of a CVXPY problem; it solves it once more for them.
    interval : bool, default False
        Whether to look for a point of a CVXPY problem that is proved to be feasible, `Certificate.attained`.

    Returns
    -------
    Certificate
        Certificate that looks at nothing but the data. Of a problem that is not convex it holds the value and how
        nearly the point is stationary, and no bound: its gap is infinite.

    Raises
    ------
    TypeError
        If `problem` is none of the three, or `result` neither a result nor a mapping.
    ValueError
        If a variable is missing, of another shape, or not finite; if a CVXPY problem is not convex by CVXPY's rules, is
        not solved, or holds integer variables or parameters without values.
    SolverError
        If the solver of a CVXPY problem fails.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> obj = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0, B=1.5)
    >>> sm.certify(obj, sm.solvers.relative_margin(obj)).is_optimal(1e-12)
    True
    >>> sm.certify(obj, {"gamma": np.zeros(4), "b": 0.0}).primal_objective
    4.0
    >>> x = cp.Variable(3)
    >>> problem = cp.Problem(cp.Minimize(cp.norm1(x)), [cp.sum(x) == 2])
    >>> value = problem.solve(solver="SCS")
    >>> certificate = sm.certify(problem)
    >>> certificate.kind, certificate.is_optimal(1e-3), certificate.assumptions
    ('cone program', True, ())
    """
    if not isinstance(problem, cp.Problem | BuiltProblem):
        if result is None:
            raise InvalidInputError("result is missing; pass what the solver returned, certify(objective, result).")
        return objectives.certify(problem, result, duals)
    if result is not None or duals is not None:
        raise InvalidInputError("the answer to a CVXPY problem is what its variables hold; pass the problem alone.")
    if isinstance(problem, BuiltProblem) and problem.is_as_built():
        if any(variable.value is None for variable in problem.variables.values()):
            raise InvalidInputError(f"{problem.name} is not solved; call specmargin.solve(built) before.")
        return problem.recover(problem.current_objective()).certificate
    held = problem.problem if isinstance(problem, BuiltProblem) else problem
    return conic.certify(held, solver, interval=interval)
