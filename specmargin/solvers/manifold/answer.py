"""The form of the answers that solvers of `specmargin.objectives.LapSVM` in the full space of (alpha, b) give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specmargin.objectives import LapSVM
from specmargin.results import History, SolveResult, Status
from specmargin.rounding import gamma
from specmargin.typing import FloatArray

__all__ = ["full_space_result", "never_worse_than_zero"]


def full_space_result(
    obj: LapSVM,
    alpha: FloatArray,
    b: float,
    *,
    solver: str,
    history: History,
    n_iter: int,
    seconds: float,
    tol: float,
    stopped: Status | None,
    message: str,
    Kalpha: FloatArray | None = None,
    prove: bool = True,
) -> SolveResult:
    """Return the answer of a solver that ended at (alpha, b).

    Parameters
    ----------
    tol : float
        Relative gap that the certificate has to prove for the status OPTIMAL.
    stopped : Status or None
        MAX_ITER or EARLY_STOPPED where the solver was cut off; EARLY_STOPPED stays whatever the gap is.
    Kalpha : ndarray of shape (n,), optional
        K alpha where it is known, computed from these very alpha.
    prove : bool, default True
        False keeps to the cheap bounds of the certificate.
    """
    Kalpha = obj.K @ alpha if Kalpha is None else Kalpha
    f = Kalpha + b
    y = obj.labels.sign
    theta = -y * obj.margin_loss.gradient(y * f[obj.labels.labeled])
    theta = obj.repair_multipliers(theta)
    certificate = obj.prove(alpha, b, theta, Ka=Kalpha, tol=tol, thorough=prove)
    result = SolveResult(
        problem=obj.name,
        status=certificate.status(tol, stopped),
        variables={"alpha": alpha, "b": np.asarray(b), "f": f, "beta": y * theta},
        duals={"balance": np.asarray(b)},
        certificate=certificate,
        history=history,
        solver=solver,
        n_iter=n_iter,
        seconds=seconds,
        message=message,
    )
    if not certificate.is_optimal(tol):
        result = never_worse_than_zero(obj, result, tol)
    return replace(result, status=Status.EARLY_STOPPED) if stopped is Status.EARLY_STOPPED else result


def never_worse_than_zero(obj: LapSVM, result: SolveResult, tol: float) -> SolveResult:
    """Return a result that is not proved, or alpha = 0 with the best intercept where that is better, so bounded."""
    known = result.certificate
    b, zero = obj.constant(), np.zeros(obj.labels.n_samples)
    value = obj.value_at(zero, b, zero)
    # Where it counts, what was lost to rounding may be all of it.
    if known.primal_objective + known.rounding <= value * (1.0 + 1e-12):
        return result
    certificate = replace(known, primal_objective=value, rounding=known.rounding + gamma(len(zero) + 8) * value)
    return replace(
        result,
        status=certificate.status(tol, Status.MAX_ITER if result.status is Status.MAX_ITER else None),
        variables={**result.variables, "alpha": zero, "b": np.asarray(b), "f": zero + b},
        duals={"balance": np.asarray(b)},
        certificate=certificate,
        message=f"{result.message}; rounding left nothing better than alpha = 0",
    )
