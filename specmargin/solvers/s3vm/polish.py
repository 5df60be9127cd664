r"""A safeguarded Newton method that takes any solver's answer to the rounding floor.

At w the Hessian of J is H = P + A' diag(c) A with the curvatures c of the losses, negative for an unlabelled sample
near f = 0. A shift mu (Levenberg) makes H + mu I positive definite where H is not, a line search keeps the value
from rising, and near a minimum with a definite Hessian the steps become Newton's own and converge quadratically.

Up to a few thousand unknowns H is formed and factorised. Beyond, conjugate gradients solve for the step by products
with A alone, truncated, and turned back at the first direction of negative curvature (Steihaug).
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as sla

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.lbfgs import Descent, Progress, line_search, relative_norm
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.precision import require_range, start_vector
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "REQUIRES_UNLABELED", "polish"]

REQUIRES = REQUIRES_UNLABELED = ("curved",)
"""Curvatures, of which the Hessian is made; kinks of a loss that is curved elsewhere are descended over."""
REMEDY = "polish obj.smoothed(gamma)"

_DENSE = 2000
"""Unknowns up to which the Hessian is formed."""
_PRODUCTS = 500
"""Products with the Hessian in one step of the large problems."""
_STALLED = 2
"""Steps in a row without progress, in value or gradient, that end the descent."""


def polish(obj: S3VM, w: FloatArray, *, tol: float = 1e-10, max_iter: int = 100) -> SolveResult:
    """Move w to the stationary point of an S3VM that Newton's method finds from there.

    Parameters
    ----------
    obj : S3VM
        Objective with losses that are curved: not "hinge" and its kin, whose smoothings
        (`specmargin.objectives.S3VM.smoothed`) will do.
    w : ndarray of shape (size,)
        Weights to start from, e.g. ``result.variables["w"]``.
    tol : float, default 1e-10
        Norm of the gradient relative to its parts P w and A' slopes. Where rounding does not let it be that small the
        method ends at the floor.
    max_iter : int, default 100
        Newton steps.

    Returns
    -------
    SolveResult
        STATIONARY, or MAX_ITER where it was cut off. The history holds, per step, the ``objective``, the relative norm
        of the ``gradient``, and the ``shift`` mu that its Hessian needed (nan for conjugate gradients).

    Raises
    ------
    ValueError
        If a loss is piecewise linear, w does not fit, `tol` or `max_iter` is not positive, or the features are so large
        that the Hessian overflows.

    References
    ----------
    Nocedal & Wright, Numerical Optimization, sections 3.4 and 7.1.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.5], [1.0], [1.8]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), "squared_hinge", "exp", balance=1 / 3)
    >>> result = polish(obj, np.array([0.3]))
    >>> result.status.name, result.certificate.dual_residual < 1e-14
    ('STATIONARY', True)
    """
    start = time.perf_counter()
    require("polish", "S3VM", obj.loss, obj.unlabeled_loss)
    require_range(obj, power=1)
    history = History()
    end = newton_descent(obj, start_vector(w, obj.size), tol, max_iter, history)
    return obj.result(
        end.w,
        solver="polish",
        status=Status.STATIONARY if end.converged else Status.MAX_ITER,
        history=history,
        n_iter=end.n_iter,
        seconds=time.perf_counter() - start,
        message=end.message(max_iter),
    )


def newton_descent(obj: S3VM, w: FloatArray, tol: float, max_iter: int, history: History | None = None) -> Descent:
    """Descend from w by Newton's method; the history gets a line per point."""
    value, gradient = obj.value_and_gradient(w)
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise InvalidInputError("the objective overflows at the start; divide the features by their largest length.")
    dense = obj.size <= _DENSE
    progress = Progress()
    n_iter, n_calls, shift = 0, 1, 0.0
    while True:
        progress.note(value, gradient, relative_norm(w, gradient, obj.features.weights))
        if history is not None:
            history.record(objective=value, gradient=progress.size, shift=shift if dense else np.nan)
        if progress.size <= tol or progress.stalled >= _STALLED or n_iter >= max_iter:
            break
        if dense:
            with np.errstate(over="ignore"):
                H = obj.hessian(w)
            direction, shift = _shifted(H, gradient, shift)
        else:
            direction = _truncated(obj, w, gradient, min(0.1, np.sqrt(progress.size)))
        step = line_search(obj.value_and_gradient, w, value, gradient, direction)
        n_calls += step.n_calls
        if step.gradient is None:
            break
        n_iter += 1
        w, value, gradient = w + step.moved, step.value, step.gradient
    converged = progress.size <= tol or (n_iter < max_iter and progress.at_floor)
    return Descent(w, value, gradient, n_iter, n_calls, converged)


def _shifted(H: FloatArray, gradient: FloatArray, shift: float) -> tuple[FloatArray, float]:
    """Return -(H + shift)^-1 g with a shift that makes the matrix positive definite, near the last one."""
    if not np.isfinite(H).all():
        raise InvalidInputError("the Hessian overflows; divide the features by their largest length.")
    least = 1e-3 * float(np.abs(H.diagonal()).max())
    # Fall back to Newton's own step in a few steps.
    shift = shift / 8 if shift > 8 * least else 0.0
    while True:
        try:
            moved = H + shift * np.eye(len(H)) if shift else H
            return -np.asarray(sla.cho_solve(sla.cho_factor(moved, check_finite=False), gradient)), shift
        except sla.LinAlgError:
            shift = max(4 * shift, least)


def _truncated(obj: S3VM, w: FloatArray, gradient: FloatArray, accuracy: float) -> FloatArray:
    """Return a step towards -H^-1 g by conjugate gradients, up to the first direction of negative curvature."""
    features, curvatures = obj.features, obj.curvatures(obj.decisions_at(w))
    step, residual = np.zeros_like(w), -gradient
    direction, square = residual, float(gradient @ gradient)
    target = accuracy**2 * square
    for _ in range(_PRODUCTS):
        bent = features.weights * direction + features.adjoint(curvatures * features.products(direction))
        curvature = float(direction @ bent)
        if curvature <= 0:
            return step if step.any() else direction
        length = square / curvature
        step = step + length * direction
        residual = residual - length * bent
        last, square = square, float(residual @ residual)
        if square <= target:
            break
        direction = residual + square / last * direction
    return step
