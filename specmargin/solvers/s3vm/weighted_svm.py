r"""The convex SVM with a weight for each label of each sample, solved by what its loss asks for.

- squared hinge, squared loss: the modified finite Newton method (`specmargin.solvers.finite_newton`);
- hinge: the box-constrained dual (`specmargin.solvers.s3vm.box_qp`);
- any smooth loss: Newton's method with a line search.

All three are exact, take a warm start, and end with a duality gap. They are the inner loop of label switching,
annealing and the CCCP.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from specmargin.objectives import S3VM, WeightedSVM
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.newton_system import NewtonSystem
from specmargin.solvers.parts import missing, require
from specmargin.solvers.s3vm.box_qp import hinge_svm
from specmargin.solvers.s3vm.finite_newton import REQUIRES as FINITE_NEWTON
from specmargin.solvers.s3vm.finite_newton import finite_newton, gradient_gap, started, svm_result
from specmargin.solvers.s3vm.precision import cause_of_rounding
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "supervised_svm", "weighted_svm"]

REQUIRES = ("convex", "smooth or box_dual")
"""A gradient to follow, or the dual of the hinge in its box."""

_PROVED = 1e-6
"""Relative gap up to which a supervised answer is OPTIMAL; the solvers aim lower, which large weights may not allow."""
_ROUNDING = 1e-12
"""A fall of the objective by less than this share of it drowns in its rounding: the gradient judges the step then."""
_TRIALS, _FLAT = 60, 0.1
"""Points of a line search, and the share of the slope at its start that may be left at its end."""
_NEAR = (0.3, 3.0)
"""Lengths of a step of Newton's method that speak for its model."""


def weighted_svm(
    svm: WeightedSVM, w: FloatArray | None = None, *, tol: float = 1e-10, max_iter: int = 500
) -> SolveResult:
    """Solve a weighted SVM with any convex loss.

    Parameters
    ----------
    svm : WeightedSVM
        The SVM.
    w, tol, max_iter
        The same as in `specmargin.solvers.finite_newton`.

    Returns
    -------
    SolveResult
        Variables ``w``, ``f`` at all samples, coefficients ``v`` and intercept ``b`` of x'v + b; with the hinge the
        multipliers ``plus`` and ``minus`` among the duals.

    Raises
    ------
    ValueError
        For a loss that does not meet `REQUIRES`, a start of another shape, features whose squares overflow, or a linear
        term that leaves the objective unbounded.

    Examples
    --------
    >>> from specmargin.objectives import Features
    >>> A = Features.of(np.array([[1.0], [-1.0]]), "free", rows=np.array([0, 1]))
    >>> svm = WeightedSVM(A, np.array([1.0, 0.0]), np.array([0.0, 1.0]), loss="hinge")
    >>> result = weighted_svm(svm)
    >>> result.variables["v"].round(9).tolist(), result.certificate.is_optimal(1e-10)
    ([1.0], True)
    """
    require("weighted_svm", "WeightedSVM", svm.loss)
    if not missing(svm.loss, FINITE_NEWTON):
        return finite_newton(svm, w, tol=tol, max_iter=max_iter)
    start = time.perf_counter()
    cold = w is None
    w = started(svm, w)
    f, history = svm.features.decisions(w), History()
    thetas: tuple[FloatArray, ...] = ()
    if svm.loss.box_dual:
        point = hinge_svm(svm, w, f, warm=not cold, tol=tol, max_iter=max_iter, history=history)
        w, n_iter, thetas = point.w, point.n_iter, (point.theta_plus, point.theta_minus)
    else:
        w, n_iter = _damped_newton(svm, w, f, tol, max_iter, history)
    return svm_result(
        svm, w, thetas, solver="weighted_svm", tol=tol, max_iter=max_iter, history=history, n_iter=n_iter, start=start
    )


def supervised_svm(
    obj: S3VM, w: FloatArray | None, *, solver: str, start: float, max_iter: int = 500, **variables: Any
) -> SolveResult:
    """Answer an S3VM that `is_supervised`, as every one of its solvers does: by the convex SVM, with its proof.

    Parameters
    ----------
    obj : S3VM
        Objective with C* = 0, or without unlabelled samples.
    w : ndarray of shape (size,), optional
        Weights to start from.
    solver : str
        Name of the solver that was asked.
    start : float
        Clock when that was.
    max_iter : int, default 500
        Most Newton steps.
    **variables
        What that solver adds to the answer.
    """
    solved = weighted_svm(obj.guessed(np.zeros(len(obj.unlabeled)), 0.0), w, max_iter=max_iter)
    stopped = Status.MAX_ITER if solved.status is Status.MAX_ITER else None
    proved = solved.certificate.is_optimal(_PROVED)
    cause = "" if proved or stopped is not None else f"; {cause_of_rounding(obj)}"
    result = obj.result(
        np.asarray(solved.variables["w"]),
        solver=solver,
        history=solved.history,
        n_iter=solved.n_iter,
        seconds=time.perf_counter() - start,
        message=f"no unlabelled losses: the convex SVM, {solved.message}{cause}",
        **variables,
    )
    status = solved.certificate.status(_PROVED, stopped)
    return replace(result, status=status, certificate=solved.certificate, duals=solved.duals)


def _damped_newton(
    svm: WeightedSVM, w: FloatArray, f: FloatArray, tol: float, max_iter: int, history: History
) -> tuple[FloatArray, int]:
    """Minimise a smooth loss by Newton steps with an exact line search, and by safe ones where Newton's lead astray.

    Newton's model knows the curvature where a sample is. Where the loss is straight there is next to none, and its
    minimum lies anywhere; the parabolas of `_safe_curvatures` lie above the loss, so that their step always descends.
    """
    system, features = NewtonSystem(svm.features), svm.features
    value = svm.value_at(w, f)
    for n_iter in range(max_iter + 1):
        slopes, curvatures = svm.slopes(f), svm.curvatures(f)
        # Far out on both sides the loss is straight: what curvature is left there divides by zero.
        curvatures = np.where(curvatures > 1e-14 * curvatures.max(initial=0.0), curvatures, 0.0)
        g = system.gradient(w, slopes)
        size = float(np.linalg.norm(g))
        history.record(objective=value, gradient=size, active=float(np.count_nonzero(curvatures)))
        if gradient_gap(g, w, features.weights) <= 1e-2 * tol * abs(value) or n_iter == max_iter:
            break
        best = _stepped(svm, system, w, f, slopes, curvatures, g) if curvatures.any() else None
        if best is None or not _NEAR[0] <= best.length <= _NEAR[1]:
            safe = _stepped(svm, system, w, f, slopes, _safe_curvatures(svm, f), g)
            best = safe if best is None or safe.value < best.value else best
        if not best.value < value - _ROUNDING * abs(value):
            # Where the fall drowns in rounding the gradient judges.
            after = np.linalg.norm(system.gradient(best.w, svm.slopes(best.f)))
            if best.value > value + _ROUNDING * abs(value) or not after < 0.5 * size:
                break
        w, f, value = best.w, best.f, best.value
    return w, n_iter


class _Step(NamedTuple):
    """Point at which a line search ended, and how far along the direction that is."""

    w: FloatArray
    f: FloatArray
    value: float
    length: float


def _stepped(
    svm: WeightedSVM,
    system: NewtonSystem,
    w: FloatArray,
    f: FloatArray,
    slopes: FloatArray,
    curvatures: FloatArray,
    g: FloatArray,
) -> _Step:
    """Return the minimum on the line to that of the model with these curvatures."""
    target, _ = system.target(w, f, slopes, curvatures, g, 1e-3 * float(np.linalg.norm(g)))
    d = target - w
    length = _exact_step(svm, w, f, d, svm.features.products(d))
    w = target if length == 1.0 else w + length * d
    f = svm.features.decisions(w)
    return _Step(w, f, svm.value_at(w, f), length)


def _exact_step(svm: WeightedSVM, w: FloatArray, f: FloatArray, d: FloatArray, df: FloatArray) -> float:
    """Return the step to the minimum along a line, by safeguarded Newton steps on the derivative; 0 if none descends.

    A whole step that takes nine tenths of the slope away is as good as the minimum, and Newton stays quadratic.
    """
    regularisation, square = float(svm.features.weights @ (w * d)), float(svm.features.weights @ d**2)

    def derivative(s: float) -> tuple[float, float]:
        at = f + s * df
        return regularisation + s * square + float(svm.slopes(at) @ df), square + float(svm.curvatures(at) @ df**2)

    slope = derivative(0.0)[0]
    if not slope < 0:
        return 0.0
    value = svm.value_at(w, f)
    highest = value + _ROUNDING * abs(value)
    left, right, s = 0.0, np.inf, 1.0
    for _ in range(_TRIALS):
        rate, curvature = derivative(s)
        # Beyond the minimum a small slope may be that of a far and higher point.
        if abs(rate) <= -_FLAT * slope and (rate <= 0 or svm.value_at(w + s * d, f + s * df) <= highest):
            return s
        left, right = (s, right) if rate < 0 else (left, s)
        following = s - rate / curvature if curvature > 0 else np.inf
        if not left < following < right or following > 10.0 * s:
            following = 10.0 * s if right == np.inf else 0.5 * (left + right) if left > 0 else 0.1 * right
        if following == s:
            break
        s = following
    return left


def _safe_curvatures(svm: WeightedSVM, f: FloatArray) -> FloatArray:
    """Return the curvatures of parabolas above the losses; for a loss that does not know its own, of like ones."""
    majorant = getattr(svm.loss, "majorant", None)
    if majorant is None:

        def majorant(t: FloatArray) -> FloatArray:
            return np.maximum(svm.loss.curvature(t), np.abs(svm.loss.gradient(t)) / (1.0 + np.abs(t)))

    return np.asarray(svm.plus * majorant(f) + svm.minus * majorant(-f))
