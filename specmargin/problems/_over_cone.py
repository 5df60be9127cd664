"""What the CVXPY problems of a classifier and its spectrum share: forms, the parameters C and B, the lines of B."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np

from cvxproof.conic.compiling import ParametrizedProblem
from cvxproof.conic.values import parts_of
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import costs
from specmargin.problems.relabel import LabelData
from specmargin.typing import AnyArray, FloatArray


@dataclass
class Formulation:
    """CVXPY objective, variables and constraints of a form, and what reads gamma, kappa, b and v (or None) from it."""

    objective: Any
    candidate: Callable[[Any], tuple[Any, ...]]
    variables: dict[str, cp.Variable] = field(default_factory=dict)
    constraints: dict[str, Any] = field(default_factory=dict)
    derived: Callable[[Any], dict[str, AnyArray]] = lambda objective: {}
    expressions: dict[str, cp.Expression] = field(default_factory=dict)
    label_data: LabelData | None = None


def built(obj: Any, form: str, forms: dict[str, Callable[..., Formulation]]) -> BuiltProblem:
    """Build the problem of an objective in one of several forms, with the parameters C and, where finite, B."""
    if form not in forms:
        raise InvalidInputError(f"unknown form {form!r}; choose one of {sorted(forms)}.")
    parameters = parameters_of(obj)
    formulation = forms[form](obj, parameters["C"], parameters.get("B"))

    def recover(current: Any) -> Recovered:
        gamma, kappa, b, v = formulation.candidate(current)
        point = current.repair(gamma, kappa, b, v)
        return Recovered(current.solution(point), current.prove(point, gamma, kappa))

    held = formulation.constraints.values()
    return BuiltProblem(
        name=f"{obj.name} {form}",
        problem=ParametrizedProblem(formulation.objective, [part for one in held for part in parts_of(one)]),
        objective=obj,
        variables=formulation.variables,
        parameters=parameters,
        constraints=formulation.constraints,
        recover=recover,
        derived=formulation.derived,
        expressions=formulation.expressions,
        label_data=formulation.label_data,
    )


def parameters_of(obj: Any) -> dict[str, cp.Parameter]:
    """Return the parameters C and, where it is finite, B."""
    names = ("C", "B") if np.isfinite(obj.B) else ("C",)
    return {name: cp.Parameter(nonneg=True, value=getattr(obj, name), name=name) for name in names}


def multipliers_of(
    obj: Any, C: cp.Parameter, B: cp.Parameter | None
) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Return gamma, the linear objective, the variables and the constraints of eq. 6 and eq. 16 on its multipliers."""
    y = obj.labels.sign
    alpha = cp.Variable(len(y), name="alpha")
    variables = {"alpha": alpha}
    gamma, value = cp.multiply(y, alpha), cp.sum(alpha)
    if B is not None:
        beta = variables["beta"] = cp.Variable(len(y), name="beta", nonneg=True)
        eta = variables["eta"] = cp.Variable(len(y), name="eta", nonneg=True)
        gamma, value = gamma - beta + eta, value - B * cp.sum(beta + eta)
    constraints = {"balance": cp.sum(gamma) == 0, "box": alpha <= costs(C, obj.labels), "nonnegative": alpha >= 0}
    return gamma, value, variables, constraints


def with_bounds(gamma: FloatArray, constraints: dict[str, Any]) -> FloatArray:
    """Return gamma less the multipliers of f <= B, and with those of f >= -B, where decisions are bounded."""
    for label, side in (("upper", -1.0), ("lower", 1.0)):
        if label in constraints:
            gamma = gamma + side * np.asarray(constraints[label].dual_value).reshape(gamma.shape, order="F")
    return gamma


def conjugate_lines(
    s: Any, h: cp.Variable, C: cp.Parameter, B: cp.Parameter, labels: Labels, spread: Callable[[Any], Any] = lambda c: c
) -> list[Any]:
    """Return what three lines exceed h by: those through the corners t = B, 1, -B of the loss; below B = 1 two."""
    middle = cp.CallbackParam(lambda: min(1.0, B.value), nonneg=True, name="min(1, B)")
    low = cp.CallbackParam(lambda: C.value * max(0.0, 1 - B.value), nonneg=True, name="C max(0, 1 - B)")
    high = cp.CallbackParam(lambda: C.value * (1 + B.value), nonneg=True, name="C (1 + B)")
    low, high = spread(costs(low, labels)), spread(costs(high, labels))
    return [low + cp.multiply(B, s) - h, low + cp.multiply(middle, s) - h, high - cp.multiply(B, s) - h]
