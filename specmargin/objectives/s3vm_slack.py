r"""S3VMs whose balance is on decisions plus slacks: the value of their points.

With signed slacks s, x = f + s, the squared hinge is a minimum over them,

    J(w, x) = 1/2 |w|^2 + sum_i C_i (x_i - f_i)^2,   y_i x_i >= 1 (labelled),  |x_j| >= 1 (unlabelled),

and a balance on x, sum_unlabelled x_j = u r, a linear equation in it. A point is (w, x): the best x for a w is a choice
of labels as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.results import Certificate
from specmargin.typing import FloatArray

__all__ = [
    "has_slacks",
    "require_slack_balance",
    "require_squared_hinges",
    "slack_certificate",
    "slack_costs",
    "slack_value",
]

_EPS = float(np.finfo(float).eps)
_VIOLATED = 1e-6
"""Violation, relative to the margin of 1, beyond which a point has no value."""


def has_slacks(obj: Any) -> bool:
    """Whether J is a minimum over signed slacks: squared hinges, and unlabelled samples that cost something."""
    names = [getattr(one, "name", None) for one in (obj.loss, obj.unlabeled_loss)]
    return names == ["squared_hinge", "symmetric_squared_hinge"] and not obj.is_supervised


def require_squared_hinges(obj: Any) -> None:
    """Raise where a balance that is not on the decisions is asked for of other losses, or of no unlabelled samples."""
    if not has_slacks(obj):
        raise InvalidInputError(
            f"balance_on={obj.balance_on!r} is for squared hinges and C_star > 0, not for {obj.loss!r} and "
            f"{obj.unlabeled_loss!r} with C_star={float(obj.C_star)} and {len(obj.unlabeled)} unlabelled samples; "
            "optima.branch_and_bound takes it."
        )


def require_slack_balance(obj: Any) -> None:
    """Raise where a balance on decision plus slack is asked for that the losses or the samples do not have."""
    require_squared_hinges(obj)
    if not np.isfinite(obj.balance):
        raise InvalidInputError(f"balance={obj.balance!r} must be a finite number: the mean of the unlabelled x.")
    if obj.features.penalty is not None or obj.features.mu is not None or obj.features.offset:
        raise InvalidInputError(
            "balance_on='slack' goes with intercept='none': the balance is an equation of its own, not an intercept."
        )


def slack_value(obj: Any, w: FloatArray, x: FloatArray | None) -> float:
    """Return J(w, x), inf where x violates a constraint by more than rounding."""
    if x is None:
        raise InvalidInputError(
            "with balance_on='slack' J is a function of w and x, the decisions plus slacks; only "
            "optima.branch_and_bound minimises it."
        )
    return np.inf if max(_violations(obj, x).values()) > _VIOLATED else _value(obj, w, x)


def slack_certificate(obj: Any, w: FloatArray, x: FloatArray, lower: float = -np.inf) -> Certificate:
    """Return J(w, x) with a bound on its rounding, how far x is from its constraints, and a lower bound.

    The rounding includes what moving x to the margins may cost that it is short of.

    Parameters
    ----------
    w : ndarray of shape (size,)
    x : ndarray of shape (n,)
        Decisions plus slacks.
    lower : float, default -inf
        A proved lower bound of J.
    """
    errors = obj.features.decision_errors(w) + _EPS * np.abs(x) + np.maximum(1.0 - _margins(obj, x), 0.0)
    slack, C = np.abs(x - obj.decisions_at(w)), slack_costs(obj)
    value = _value(obj, w, x)
    rounding = float(C @ (2.0 * slack * errors + errors**2)) + (len(x) + len(w) + 8) * _EPS * value
    violations = _violations(obj, x)
    return Certificate(value, lower, primal_residual=max(violations.values()), rounding=rounding, violations=violations)


def slack_costs(obj: Any) -> FloatArray:
    """Return what the square of each slack costs, (n,)."""
    C = np.full(obj.features.n_samples, float(obj.C_star))
    C[obj.labels.labeled] = obj.costs
    return C


def _value(obj: Any, w: FloatArray, x: FloatArray) -> float:
    return 0.5 * float(w @ w) + float(slack_costs(obj) @ (x - obj.decisions_at(w)) ** 2)


def _margins(obj: Any, x: FloatArray) -> FloatArray:
    """Return y_i x_i of the labelled and |x_j| of the unlabelled samples."""
    margins = np.abs(x)
    margins[obj.labels.labeled] = obj.labels.sign * x[obj.labels.labeled]
    return margins


def _violations(obj: Any, x: FloatArray) -> dict[str, float]:
    """Return by how much margins are short of 1, and the mean of the unlabelled x off the balance."""
    return {
        "margins": float(np.max(1.0 - _margins(obj, x), initial=0.0)),
        "balance": abs(float(x[obj.unlabeled].mean()) - obj.balance),
    }
