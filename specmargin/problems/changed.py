"""The answer to a CVXPY problem that its user changed: CVXPY's own, and what the unchanged problem bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.results import CHANGED, Certificate, SolveResult, Status
from specmargin.typing import AnyArray, FloatArray

__all__ = ["answer_of_changed"]


def answer_of_changed(built: Any, objective: Any, answer: SolveResult, duals: Mapping[str, FloatArray]) -> SolveResult:
    """Return CVXPY's own answer to a changed problem, with what the unchanged one bounds.

    Where constraints were only added, what was feasible is all that can be: below a minimum, or above a maximum, the
    optimum has not moved. A dual that is maximised stays below every value of its primal.
    """
    changes, problem = built.changes(), built.problem
    least = isinstance(problem.objective, cp.Minimize)
    bound, rounding = -math.inf if least else math.inf, 0.0
    assert built.original is not None
    only_added = len(changes) == 1 and changes[0].startswith("constraints added")
    if built.has_value and only_added and all(one.dual_value is not None for one in built.original.constraints):
        proved = built.recover(objective).certificate
        bound = proved.dual_objective if least else proved.primal_objective
        rounding = proved.rounding
    says = "says nothing here"
    if math.isfinite(bound) and math.isfinite(rounding):
        says = (
            f"holds here, too, as constraints were only added: no value is {'below' if least else 'above'} {bound:.6g}"
        )
    else:
        rounding = 0.0
    stopped = answer.status is Status.MAX_ITER
    return replace(
        answer,
        problem=f"{built.name}{CHANGED}",
        status=Status.MAX_ITER if stopped else Status.UNPROVED,
        variables={**_values(built), **built.derived(objective)},
        duals=duals,
        certificate=Certificate(
            float(problem.value), bound, sense="minimize" if least else "maximize", rounding=rounding
        ),
        message=f"{answer.message}; the problem was changed ({', '.join(changes)}): the values are the solver's own, "
        f"and nothing proves them; the certificate is of the unchanged problem, whose bound {says}",
    )


def _values(built: Any) -> dict[str, AnyArray]:
    """Return CVXPY's own values, those of variables that the user added by the names that these have."""
    values = {name: np.array(variable.value) for name, variable in built.variables.items()}
    known = {variable.id for variable in built.original.variables()}
    for variable in built.problem.variables():
        if variable.id in known or any(variable is ours for ours in built.variables.values()):
            continue
        if variable.name() in values:
            raise InvalidInputError(f"two variables are called {variable.name()!r}; give yours another name.")
        values[variable.name()] = np.array(variable.value)
    return values
