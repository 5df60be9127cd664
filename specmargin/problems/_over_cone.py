"""What the CVXPY problems of a classifier and its spectrum share: forms, the parameters C and B, the lines of B."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import costs
from specmargin.typing import AnyArray


@dataclass
class Formulation:
    """CVXPY objective, variables and constraints of a form, and what reads gamma, kappa, b and v (or None) from it."""

    objective: Any
    candidate: Callable[[Any], tuple[Any, ...]]
    variables: dict[str, cp.Variable] = field(default_factory=dict)
    constraints: dict[str, Any] = field(default_factory=dict)
    derived: Callable[[Any], dict[str, AnyArray]] = lambda objective: {}
    expressions: dict[str, cp.Expression] = field(default_factory=dict)


def built(obj: Any, form: str, forms: dict[str, Callable[..., Formulation]]) -> BuiltProblem:
    """Build the problem of an objective in one of several forms, with the parameters C and, where finite, B."""
    if form not in forms:
        raise InvalidInputError(f"unknown form {form!r}; choose one of {sorted(forms)}.")
    C = cp.Parameter(nonneg=True, value=obj.C, name="C")
    parameters = {"C": C}
    B = None
    if np.isfinite(obj.B):
        B = parameters["B"] = cp.Parameter(nonneg=True, value=obj.B, name="B")
    formulation = forms[form](obj, C, B)

    def recover(current: Any) -> Recovered:
        gamma, kappa, b, v = formulation.candidate(current)
        point = current.repair(gamma, kappa, b, v)
        return Recovered(current.solution(point), current.prove(point, gamma, kappa))

    held = formulation.constraints.values()
    return BuiltProblem(
        name=f"{obj.name} {form}",
        problem=cp.Problem(
            formulation.objective, [part for one in held for part in (one if isinstance(one, list) else [one])]
        ),
        objective=obj,
        variables=formulation.variables,
        parameters=parameters,
        constraints=formulation.constraints,
        recover=recover,
        derived=formulation.derived,
        expressions=formulation.expressions,
    )


def conjugate_lines(
    s: Any, h: cp.Variable, C: cp.Parameter, B: cp.Parameter, labels: Labels, spread: Callable[[Any], Any] = lambda c: c
) -> list[Any]:
    """Return what three lines exceed h by: those through the corners t = B, 1, -B of the loss; below B = 1 two."""
    middle = cp.CallbackParam(lambda: min(1.0, B.value), nonneg=True, name="min(1, B)")
    low = cp.CallbackParam(lambda: C.value * max(0.0, 1 - B.value), nonneg=True, name="C max(0, 1 - B)")
    high = cp.CallbackParam(lambda: C.value * (1 + B.value), nonneg=True, name="C (1 + B)")
    low, high = spread(costs(low, labels)), spread(costs(high, labels))
    return [low + cp.multiply(B, s) - h, low + cp.multiply(middle, s) - h, high - cp.multiply(B, s) - h]
