"""How far the values of variables are outside of a constraint of CVXPY."""

from __future__ import annotations

from typing import Any

import numpy as np
from cvxpy.constraints import PSD, SOC, Equality, ExpCone, Inequality, PowCone3D, PowConeND

from cvxproof.conic import cones
from cvxproof.conic.values import value_of
from cvxproof.typing import AnyArray

__all__ = ["relative", "violation"]


def violation(constraint: Any) -> float:
    """Return how far the values of the variables are outside of a constraint, by the rule of the rows of its cone.

    CVXPY's own number for a complex matrix rests on its transpose, which is not its adjoint, and that for an
    exponential or a power cone on the answer of a solver.
    """
    values = [np.asarray(value_of(part)) for part in constraint.args]
    match constraint:
        case Equality():
            outside = np.abs(values[0] - values[1])
        case Inequality():
            outside = values[0] - values[1]
        case PSD():
            outside = -np.linalg.eigvalsh((values[0] + np.conj(np.swapaxes(values[0], -2, -1))) / 2)
        case SOC():
            outside = np.linalg.norm(np.atleast_1d(values[1]), axis=constraint.axis) - values[0]
        case ExpCone():
            slacks = np.stack([np.ravel(part) for part in values], axis=1)
            outside = cones.Exponential(np.zeros((0, 3), dtype=np.intp), (0, 1, 2)).violation(slacks)
        case PowCone3D() | PowConeND():
            X, powers = _powers(constraint, values)
            product = np.prod(np.maximum(X, 0.0) ** powers, axis=0)
            outside = np.concatenate([np.abs(np.ravel(values[-1])) - product, -np.ravel(X)])
        case _:
            outside = constraint.violation()
    return float(np.max(outside, initial=0.0))


def relative(constraint: Any, outside: float) -> float:
    """Return a violation relative to the largest entry of the constraint's sides, which is one at least."""
    sides = (float(np.abs(np.asarray(value_of(part))).max(initial=0)) for part in constraint.args)
    return outside / max(1.0, *sides)


def _powers(constraint: PowCone3D | PowConeND, values: list[AnyArray]) -> tuple[AnyArray, AnyArray]:
    """Return the factors of power cones and their exponents, a column for each cone."""
    alpha = np.asarray(constraint.alpha.value)
    if isinstance(constraint, PowCone3D):
        return np.stack([np.ravel(part) for part in values[:2]]), np.stack([np.ravel(alpha), 1 - np.ravel(alpha)])
    columns = [np.atleast_2d(part.T if constraint.axis == 0 else part).T for part in (values[0], alpha)]
    return columns[0], columns[1]
