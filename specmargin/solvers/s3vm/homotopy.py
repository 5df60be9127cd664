r"""What the gradient methods for S3VMs share: a walk along a path of easier objectives, each started at the last end.

`gradient` and `quasi_newton` raise the weight C* of the unlabelled losses, `continuation` lowers the smoothing gamma.
Only the last objective of a path counts; those before are followed loosely, for they are left again anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.lbfgs import Descent, lbfgs, relative_norm
from specmargin.solvers.s3vm.negative_curvature import ESCAPES, way_down
from specmargin.solvers.s3vm.precision import ended, far_away, require_range, start_vector
from specmargin.solvers.s3vm.weighted_svm import supervised_svm
from specmargin.typing import FloatArray

__all__ = ["Minimizer", "annealed", "follow", "rising"]

Minimizer = Callable[[S3VM, FloatArray, float, float, int], Descent]
"""(objective, w, tol, scale, max_iter) -> Descent."""


def follow(
    obj: S3VM,
    path: Sequence[tuple[float, S3VM]],
    w: FloatArray,
    *,
    parameter: str,
    minimizer: Minimizer | None = None,
    memory: int = 50,
    solver: str,
    tol: float,
    loose: float,
    max_iter: int,
    start: float,
) -> SolveResult:
    """Minimise the objectives of a path in turn and return the end of the last one as an answer to `obj`.

    Parameters
    ----------
    obj : S3VM
        What is to be answered.
    path : sequence of (float, S3VM)
        The parameter and the objective of every step.
    w : ndarray of shape (size,)
        Weights to start from.
    parameter : str
        The parameter's column in the history.
    minimizer : Minimizer, optional
        Method that descends, by default L-BFGS.
    memory : int, default 50
        Pairs that L-BFGS keeps.
    tol, loose : float
        `relative_norm` to be reached by the last step, and by those before.
    max_iter : int
        Iterations in each step.
    start : float
        Clock at the start.
    """
    history = History()
    n_iter, scale = 0, 0.0
    steps, escapes = list(path), 0
    for step, (value, surrogate) in enumerate(steps):
        last = step >= len(path) - 1
        aim, weights = tol if last else max(tol, loose), surrogate.features.weights
        if minimizer is None:
            fun = surrogate.value_and_gradient
            end = lbfgs(fun, w, weights, tol=aim, scale=scale, max_iter=max_iter, memory=memory)
        else:
            end = minimizer(surrogate, w, aim, scale, max_iter)
        w, scale = end.w, end.scale
        n_iter += end.n_iter
        history.record(
            **{
                parameter: value,
                "objective": end.value,
                "gradient": relative_norm(w, end.gradient, weights),
                "n_iter": end.n_iter,
                "n_calls": end.n_calls,
            }
        )
        below = way_down(obj, w) if last and escapes < ESCAPES else None
        if below is not None:  # a maximum or a saddle point: descended from once more
            w, escapes = below, escapes + 1
            steps.append((value, surrogate))
    status, message = Status.STATIONARY, ""
    if not end.converged:
        status, message = Status.MAX_ITER, end.message(max_iter)
        if end.n_iter < max_iter:
            message = far_away(obj) or message
    return ended(obj, w, (status, message), solver=solver, history=history, n_iter=n_iter, start=start)


def rising(schedule: npt.ArrayLike) -> FloatArray:
    """Return the factors of C*, (k,), checked."""
    factors = np.atleast_1d(np.asarray(schedule, dtype=float))
    if factors.ndim != 1 or len(factors) == 0 or not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise InvalidInputError(
            f"schedule={schedule!r} must be a sequence of numbers >= 0: factors of C*, mostly rising to 1."
        )
    return factors


def annealed(
    obj: S3VM,
    w: FloatArray | None,
    schedule: npt.ArrayLike,
    *,
    solver: str,
    tol: float,
    loose: float,
    max_iter: int,
    start: float,
    memory: int = 50,
) -> SolveResult:
    """Follow the objectives with C* times each factor of a schedule by L-BFGS."""
    factors = rising(schedule)
    require_range(obj, power=1)
    w = start_vector(w, obj.size)
    if obj.is_supervised:
        return supervised_svm(obj, w, solver=solver, start=start, max_iter=max_iter)
    path = [(float(factor), obj.with_unlabeled_weight(float(factor) * obj.C_star)) for factor in factors]
    return follow(
        obj,
        path,
        w,
        parameter="factor",
        memory=memory,
        solver=solver,
        tol=tol,
        loose=loose,
        max_iter=max_iter,
        start=start,
    )
