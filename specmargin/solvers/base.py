r"""What the solvers in the full space of (alpha, b) share: the exact line search and the form of their answer.

Along a line the objective of `specmargin.objectives.LapSVM` with the squared hinge is piecewise quadratic: its
derivative is continuous, increasing and piecewise linear, with one kink per labelled sample, where that enters or
leaves the active set E = {y f < 1}. `exact_step` sorts the kinks and finds the piece on which the derivative
crosses zero (section 3.2.1 of the primal paper). With the squared loss every sample stays in E, and the step is that
of section 5, -slope / curvature.

Both solvers work on the *inner gradient* g = S alpha + I_E (K alpha + b - y), which is the gradient by alpha with K
divided out. It vanishes at one alpha only, also where K is singular and the gradient K g vanishes at many.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives import LapSVM
from specmargin.results import History, SolveResult, Status
from specmargin.rounding import gamma
from specmargin.typing import BoolArray, FloatArray

__all__ = ["exact_step", "full_space_result", "never_worse_than_zero", "require_squared"]


def exact_step(
    slack: FloatArray, speed: FloatArray, slope: FloatArray, curvature: FloatArray, *, hinge: bool = True
) -> FloatArray:
    r"""Return the steps that minimise the objective along lines, one per column.

    Half the derivative by the step s is, with the active set E(s) at the step,

        phi(s) = slope + s * curvature + (what the active labelled samples add),

    and a sample i crosses its kink at s = slack_i / speed_i.

    Parameters
    ----------
    slack : ndarray of shape (l, c)
        1 - y f at s = 0.
    speed : ndarray of shape (l, c)
        y times what f gains per unit of s.
    slope : ndarray of shape (c,)
        phi(0), of loss and penalty together: the inner product of gradient and direction.
    curvature : ndarray of shape (c,)
        d'K S d, of the penalty alone.
    hinge : bool, default True
        Whether samples leave E beyond the margin; False is the squared loss.

    Returns
    -------
    ndarray of shape (c,)
        The steps, 0 where the line does not descend.

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, section 3.2.1. Keerthi & DeCoste, A
    modified finite Newton method for fast solution of large scale linear SVMs, JMLR 6, 2005.

    Examples
    --------
    One sample at f = 0 that moves towards its margin: 1/2 (1 - s)^2 + 1/2 s^2, whose minimum is at 1/2.

    >>> one = np.ones((1, 1))
    >>> exact_step(one, one, np.array([-1.0]), np.array([1.0])).tolist()
    [0.5]
    """
    active = (slack > 0) | ((slack == 0) & (speed < 0)) if hinge else np.ones(slack.shape, dtype=bool)
    bent = speed**2
    total = curvature + np.where(active, bent, 0.0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = -slope / total
        if hinge:
            kinks = slack / speed
            kinks[~((kinks > 0) & np.isfinite(kinks))] = np.inf
            # Nothing to sort where the minimum lies before the first kink.
            if (first > kinks.min(axis=0, initial=np.inf)).any():
                first = _beyond_kinks(slack, speed, slope, curvature, active, kinks)
    return np.where((slope < 0) & np.isfinite(first) & (first > 0), first, 0.0)


def _beyond_kinks(
    slack: FloatArray, speed: FloatArray, slope: FloatArray, curvature: FloatArray, active: BoolArray, kinks: FloatArray
) -> FloatArray:
    """Walk over the sorted kinks; whoever is active leaves at its kink, any other sample enters."""
    order = np.argsort(kinks, axis=0, kind="stable")
    ends = np.take_along_axis(kinks, order, axis=0)
    sign = np.where(active, -1.0, 1.0) * np.isfinite(kinks)
    zero = np.zeros((1, len(slope)))
    changes = [np.take_along_axis(sign * part, order, axis=0).cumsum(axis=0) for part in (-slack * speed, speed**2)]
    heights = slope + np.vstack([zero, changes[0]])
    bends = curvature + np.where(active, speed**2, 0.0).sum(axis=0) + np.vstack([zero, changes[1]])
    ends = np.vstack([zero, ends, np.full_like(zero, np.inf)])
    with np.errstate(invalid="ignore"):
        crossed = np.isinf(ends[1:]) | (heights + bends * ends[1:] >= 0)
    piece = crossed.argmax(axis=0)
    # The sums over that piece anew: adding and taking away leaves the roundings of the largest entry behind.
    passed = np.zeros(kinks.shape, dtype=bool)
    np.put_along_axis(passed, order, np.arange(len(kinks))[:, None] < piece, axis=0)
    height = slope - np.where(passed, sign * slack * speed, 0.0).sum(axis=0)
    bend = curvature + np.where(active ^ passed, speed**2, 0.0).sum(axis=0)
    return np.maximum(-height / bend, ends[piece, np.arange(len(slope))])


def require_squared(obj: LapSVM, solver: str) -> bool:
    """Return whether the loss is the squared hinge; refuse what is neither that nor the squared loss."""
    name = obj._loss.name
    if name not in ("squared_hinge", "squared"):
        raise InvalidInputError(
            f"solvers.{solver} needs a loss with a continuous slope, squared_hinge or squared, not {name!r}; "
            "solvers.factorized solves the hinge."
        )
    return bool(name == "squared_hinge")


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
    theta = -y * obj._loss.gradient(y * f[obj.labels.labeled])
    theta = obj.repair_multipliers(theta)
    certificate = obj.prove(alpha, b, theta, Ka=Kalpha, tol=tol, thorough=prove)
    result = SolveResult(
        problem="LapRLS" if obj._loss.name == "squared" else "LapSVM",
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
    result = never_worse_than_zero(obj, result, tol)
    return replace(result, status=Status.EARLY_STOPPED) if stopped is Status.EARLY_STOPPED else result


def never_worse_than_zero(obj: LapSVM, result: SolveResult, tol: float) -> SolveResult:
    """Return the result, or alpha = 0 with the best intercept under the same bound where that is better."""
    b, zero = obj.constant(), np.zeros(obj.labels.n_samples)
    value, known = obj.value_at(zero, b, zero), result.certificate
    # Where it counts, what was lost to rounding may be all of it.
    if known.primal_objective + known.rounding <= value * (1.0 + 1e-12) or known.is_optimal(tol):
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
