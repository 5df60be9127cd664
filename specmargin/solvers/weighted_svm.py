r"""The convex machine with a weight for each label of each sample, solved by what its loss asks for.

- squared hinge, squared loss: the modified finite Newton method (`specmargin.solvers.finite_newton`);
- hinge: the box-constrained dual (`specmargin.solvers._box_qp`);
- any smooth loss: Newton's method with a line search.

All three are exact, take a warm start, and end with a duality gap. They are the inner loop of label switching,
annealing and the CCCP.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from specmargin.objectives import S3VM, WeightedSVM
from specmargin.results import History, SolveResult
from specmargin.solvers._box_qp import hinge_machine
from specmargin.solvers._newton_system import NewtonSystem
from specmargin.solvers.finite_newton import finite_newton, gradient_gap, machine_result, started
from specmargin.typing import FloatArray

__all__ = ["supervised_svm", "weighted_svm"]

_HALVINGS = 50
_ROUNDING = 1e-12
"""A fall of the objective by less than this share of it drowns in its rounding: the gradient judges the step then."""


def weighted_svm(
    svm: WeightedSVM, w: FloatArray | None = None, *, tol: float = 1e-10, max_iter: int = 500
) -> SolveResult:
    """Solve a weighted SVM with any convex loss.

    Parameters
    ----------
    svm : WeightedSVM
        The machine.
    w : ndarray of shape (size,), optional
        Where to start; default zero.
    tol : float, default 1e-10
        Relative duality gap that the certificate has to prove for the status OPTIMAL.
    max_iter : int, default 500
        Most Newton steps.

    Returns
    -------
    SolveResult
        Variables ``w``, ``f`` at all samples, ``v`` and ``b`` of the plane x'v + b; with the hinge the multipliers
        ``plus`` and ``minus`` among the duals.

    Raises
    ------
    ValueError
        For a start of another shape, features whose squares overflow, or a tilt that leaves the objective unbounded.

    Examples
    --------
    >>> from specmargin.objectives import Features
    >>> A = Features.of(np.array([[1.0], [-1.0]]), "free", rows=np.array([0, 1]))
    >>> svm = WeightedSVM(A, np.array([1.0, 0.0]), np.array([0.0, 1.0]), loss="hinge")
    >>> result = weighted_svm(svm)
    >>> result.variables["v"].round(9).tolist(), result.certificate.is_optimal(1e-10)
    ([1.0], True)
    """
    name = svm._loss.name
    if name in ("squared_hinge", "squared"):
        return finite_newton(svm, w, tol=tol, max_iter=max_iter)
    start = time.perf_counter()
    cold = w is None
    w = started(svm, w)
    f, history = svm.features.decisions(w), History()
    theta_plus = theta_minus = None
    if name == "hinge":
        point = hinge_machine(svm, w, f, warm=not cold, tol=tol, max_iter=max_iter, history=history)
        w, n_iter, theta_plus, theta_minus = point.w, point.n_iter, point.theta_plus, point.theta_minus
    else:
        w, _, n_iter = _damped_newton(svm, w, f, tol, max_iter, history)
    return machine_result(
        svm,
        w,
        theta_plus,
        theta_minus,
        solver="weighted_svm",
        tol=tol,
        max_iter=max_iter,
        history=history,
        n_iter=n_iter,
        start=start,
    )


def supervised_svm(
    obj: S3VM, w: FloatArray | None, *, solver: str, start: float, max_iter: int = 500, **variables: Any
) -> SolveResult:
    """Answer an S3VM that `is_supervised`, as every one of its solvers does: by the convex machine, with its proof.

    Parameters
    ----------
    obj : S3VM
        With C* = 0, or without unlabelled samples.
    w : ndarray of shape (size,), optional
        Where to start.
    solver : str
        Who was asked.
    start : float
        Clock when that was.
    max_iter : int, default 500
        Most Newton steps.
    **variables
        What that solver adds to the answer.
    """
    machine = weighted_svm(WeightedSVM.guessed(obj, np.zeros(len(obj.unlabeled)), 0.0), w, max_iter=max_iter)
    result = obj.result(
        np.asarray(machine.variables["w"]),
        solver=solver,
        history=machine.history,
        n_iter=machine.n_iter,
        seconds=time.perf_counter() - start,
        message=f"no unlabelled losses: the convex machine, {machine.message}",
        **variables,
    )
    return replace(result, status=machine.status, certificate=machine.certificate)


def _damped_newton(
    svm: WeightedSVM, w: FloatArray, f: FloatArray, tol: float, max_iter: int, history: History
) -> tuple[FloatArray, FloatArray, int]:
    """Minimise a smooth loss by Newton steps that are halved until the objective falls enough."""
    system, features = NewtonSystem(svm.features), svm.features
    value = svm.value(w, f)
    for n_iter in range(max_iter + 1):
        slopes, bends = svm.slopes(f), svm.curvatures(f)
        # Far out on both sides the loss is straight: what curvature is left there divides by zero.
        bends = np.where(bends > 1e-14 * bends.max(initial=0.0), bends, 0.0)
        g = system.gradient(w, slopes)
        size = float(np.linalg.norm(g))
        history.record(objective=value, gradient=size, active=float(np.count_nonzero(bends)))
        if gradient_gap(g, w, features.weights) <= 1e-2 * tol * abs(value) or n_iter == max_iter:
            break
        target, _ = system.target(w, f, slopes, bends, g, 1e-3 * size)
        d = target - w
        df, fall, step = features.products(d), float(g @ d), 1.0
        if -fall <= _ROUNDING * abs(value):
            f_new = features.decisions(target)
            if not np.linalg.norm(system.gradient(target, svm.slopes(f_new))) < 0.5 * size:
                break
            w, f = target, f_new
            value = svm.value(w, f)
            continue
        for _ in range(_HALVINGS):
            trial = svm.value(w + step * d, f + step * df)
            if trial <= value + 1e-4 * step * fall:
                break
            step *= 0.5
        if not trial < value:
            break
        w, value = w + step * d, trial
        f = features.decisions(w)
    return w, f, n_iter
