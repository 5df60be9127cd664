"""The one bridge from the numpy losses to CVXPY expressions.

A loss that is not convex is not registered here: asking for it is a clear TypeError, not a wrong answer.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import cvxpy as cp

from specmargin.losses import Hinge, Squared, SquaredHinge

__all__ = ["as_cvxpy", "conjugate_as_cvxpy"]


@singledispatch
def as_cvxpy(loss: Any, t: cp.Expression) -> cp.Expression:
    """Return V(t), elementwise, as a convex CVXPY expression of the margins.

    Parameters
    ----------
    loss : MarginLoss
        A convex loss of `specmargin.losses`.
    t : cvxpy.Expression
        Affine margins y f.

    Raises
    ------
    TypeError
        If the loss has no convex expression.

    Examples
    --------
    >>> import numpy as np
    >>> as_cvxpy(Hinge(), cp.Constant(np.array([0.0, 2.0]))).value.tolist()
    [1.0, 0.0]
    """
    raise TypeError(
        f"{type(loss).__name__} has no convex CVXPY expression; convex losses are Hinge, SquaredHinge and Squared."
    )


@as_cvxpy.register
def _(loss: Hinge, t: cp.Expression) -> cp.Expression:
    return cp.pos(1 - t)


@as_cvxpy.register
def _(loss: SquaredHinge, t: cp.Expression) -> cp.Expression:
    return cp.square(cp.pos(1 - t))


@as_cvxpy.register
def _(loss: Squared, t: cp.Expression) -> cp.Expression:
    return cp.square(1 - t)


@singledispatch
def conjugate_as_cvxpy(loss: Any, beta: cp.Expression) -> cp.Expression:
    """Return the loss's `dual_value` inside its bounds, elementwise, as a concave CVXPY expression.

    The bounds ``loss.lower <= beta <= loss.upper`` are the caller's, as constraints with labels.

    Raises
    ------
    TypeError
        If the loss is not convex.

    Examples
    --------
    >>> import numpy as np
    >>> conjugate_as_cvxpy(SquaredHinge(), cp.Constant(np.array([2.0]))).value.tolist()
    [1.0]
    """
    raise TypeError(f"{type(loss).__name__} is not convex and has no dual in CVXPY.")


@conjugate_as_cvxpy.register
def _(loss: Hinge, beta: cp.Expression) -> cp.Expression:
    return beta


@conjugate_as_cvxpy.register(SquaredHinge)
@conjugate_as_cvxpy.register(Squared)
def _(loss: SquaredHinge | Squared, beta: cp.Expression) -> cp.Expression:
    return beta - cp.square(beta) / 4
