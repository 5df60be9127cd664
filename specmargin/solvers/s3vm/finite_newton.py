r"""The modified finite Newton method of Keerthi & DeCoste, for SVMs with the squared hinge.

The objective of `specmargin.objectives.WeightedSVM` with the squared hinge is piecewise quadratic with a continuous
gradient: on the pieces of (sample, label) pairs that are within their margin it is one regularised least squares
problem. A step solves that problem (`specmargin.solvers.newton_system`) and searches the line towards its solution for
the exact minimum, whatever kinks lie between. It ends after finitely many steps, five or six as a rule, when the
solution has the very active set that it was computed for.

With the default multipliers of the certificate the duality gap is 1/2 |P^(-1/2) g|^2 with the gradient g, so that a
gradient of 1e-6 proves twelve digits of the objective.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives import WeightedSVM
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.line_search import exact_step
from specmargin.solvers.newton_system import NewtonSystem
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.precision import start_vector
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "Descent", "descend", "finite_newton", "gradient_gap", "svm_result", "started"]

REQUIRES = ("convex", "smooth", "piecewise_quadratic")
"""Least squares on every piece, with a gradient that is continuous across the kinks."""

_FORCING = 0.03
"""Residual of conjugate gradients, relative to the gradient."""


def finite_newton(
    svm: WeightedSVM, w: FloatArray | None = None, *, tol: float = 1e-10, max_iter: int = 100
) -> SolveResult:
    """Solve a weighted SVM whose loss is piecewise quadratic with a continuous slope: "squared_hinge", "squared", ...

    Parameters
    ----------
    svm : WeightedSVM
        The SVM, with any intercept and any weights of both labels.
    w : ndarray of shape (size,), optional
        Weights to start from; default zero.
    tol : float, default 1e-10
        Relative duality gap that the certificate has to prove for the status OPTIMAL.
    max_iter : int, default 100
        Most Newton steps.

    Returns
    -------
    SolveResult
        Variables ``w``, ``f`` at all samples, coefficients ``v`` and intercept ``b`` of x'v + b.

    Raises
    ------
    ValueError
        For a loss that does not meet `REQUIRES`, a start of another shape, features whose squares overflow, or a linear
        term that leaves the objective unbounded.

    References
    ----------
    Keerthi & DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs, JMLR 6, 2005.

    Examples
    --------
    >>> from specmargin.objectives import Features
    >>> A = Features.of(np.array([[1.0], [-1.0]]), "regularized", rows=np.array([0, 1]))
    >>> svm = WeightedSVM(A, plus=np.array([1.0, 0.0]), minus=np.array([0.0, 1.0]))
    >>> finite_newton(svm).variables["v"].round(12).tolist()
    [0.8]
    """
    start = time.perf_counter()
    require("finite_newton", "WeightedSVM", svm.loss)
    w = started(svm, w)
    history = History()
    end = descend(svm, w, svm.features.decisions(w), tol=tol, max_iter=max_iter, history=history)
    return svm_result(
        svm, end.w, solver="finite_newton", tol=tol, max_iter=max_iter, history=history, n_iter=end.n_iter, start=start
    )


def started(svm: WeightedSVM, w: FloatArray | None) -> FloatArray:
    """Return the start, zero where there is none; check it, and that the features can be squared."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(svm.features.squared_norms.sum()):
            raise InvalidInputError("the squares of the features overflow; scale them to entries of about one.")
    _require_bounded(svm)
    return start_vector(w, svm.size)


def _require_bounded(svm: WeightedSVM) -> None:
    """Refuse a linear term that a free intercept follows to infinity, where no loss is steep enough to hold it."""
    if svm.features.penalty != 0.0 or svm.linear is None:
        return
    total, upper = float(svm.linear.sum()), svm.loss.upper
    weight = float((svm.plus if total > 0 else svm.minus).sum())
    if svm.loss.lower == -np.inf:
        weight = float((svm.plus + svm.minus).sum())
    steepest = weight * upper if weight > 0 else 0.0
    if abs(total) > steepest * (1.0 + 1e-12):
        raise InvalidInputError(
            f"the linear term sums to {total:.6g}, but the losses hold only {steepest:.6g} against it: with a free "
            "intercept the objective has no minimum. Take another one, or intercept='balance' or 'regularized'."
        )


def svm_result(
    svm: WeightedSVM,
    w: FloatArray,
    multipliers: Sequence[FloatArray] = (),
    *,
    solver: str,
    tol: float,
    max_iter: int,
    history: History,
    n_iter: int,
    start: float,
) -> SolveResult:
    """Return the answer of a solver that ended at w; its certificate decides on the status.

    The multipliers of both labels follow from the slopes of the losses where they are not given.
    """
    certificate = svm.prove(w, *multipliers)
    status = certificate.status(tol, stopped=Status.MAX_ITER if n_iter >= max_iter else None)
    v, b = svm.features.coefficients(w)
    return SolveResult(
        problem="WeightedSVM",
        status=status,
        variables={"w": w, "v": v, "b": np.asarray(b), "f": svm.features.decisions(w)},
        duals=dict(zip(("plus", "minus"), multipliers, strict=False)),
        certificate=certificate,
        history=history,
        solver=solver,
        n_iter=n_iter,
        seconds=time.perf_counter() - start,
        message=f"relative gap {certificate.relative_gap:.1e}",
    )


class Descent(NamedTuple):
    """End of `descend`: weights, decisions, objective, norm of the last gradient computed, Newton steps."""

    w: FloatArray
    f: FloatArray
    value: float
    gradient: float
    n_iter: int


def descend(
    svm: WeightedSVM,
    w: FloatArray,
    f: FloatArray,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    system: NewtonSystem | None = None,
    history: History | None = None,
) -> Descent:
    """Minimise from w, whose decisions are f: `finite_newton` without checks and proof.

    The objective never rises, whatever the tolerance. Solvers that call it by the thousand hand over one `system` for
    all calls.
    """
    system = NewtonSystem(svm.features) if system is None else system
    features, weights = svm.features, svm.features.weights
    pieces = svm.loss.pieces
    assert pieces is not None
    both = (svm.plus, svm.minus)
    rows = np.concatenate([np.flatnonzero(c) for c in both])
    y = np.repeat([1.0, -1.0], [np.count_nonzero(c) for c in both])
    root = np.sqrt(np.concatenate([c[c > 0] for c in both]))
    value = svm.value_at(w, f)
    n_iter = 0
    while True:
        slopes = svm.slopes(f)
        g = system.gradient(w, slopes)
        size = float(np.linalg.norm(g))
        if history is not None:
            history.record(objective=value, gradient=size)
        # A hundredth, so that the certificate has the same to say however it rounds.
        enough = 0.01 * tol * abs(value)
        if n_iter == max_iter or gradient_gap(g, w, weights) <= enough:
            break
        curvatures = svm.curvatures(f)
        target, _ = system.target(w, f, slopes, curvatures, g, max(_FORCING * size, 0.5 * np.sqrt(enough)))
        d = target - w
        df = features.products(d)
        slope, curvature = 0.5 * float(g @ d), 0.5 * float(weights @ d**2)
        step = exact_step(1.0 - y * f[rows], y * df[rows], slope, curvature, pieces=pieces, root=root)[0]
        w_new = target if step == 1.0 else w + step * d
        f_new = features.decisions(w_new)
        value_new = svm.value_at(w_new, f_new)
        n_iter += 1
        if not value_new < value:  # rounding is all that is left
            break
        w, f, value = w_new, f_new, value_new
    return Descent(w, f, value, size, n_iter)


def gradient_gap(g: FloatArray, w: FloatArray, weights: FloatArray) -> float:
    """Return the duality gap that the gradient g leaves; a free intercept adds what shifting it may cost."""
    if not len(weights) or weights[-1] > 0:
        return 0.5 * float(g @ (g / weights))
    return 0.5 * float(g[:-1] @ g[:-1]) + abs(float(g[-1])) * (1.0 + abs(float(w[-1])))
