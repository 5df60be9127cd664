r"""Continuation: cS3VM of Chapelle, Chi & Zien (2006), a walk from a smooth convex objective to the real one.

J is convolved with a Gaussian of variance gamma in w (`specmargin.objectives.S3VM.smoothed`). At gamma_0 the dents of
the unlabelled losses are so shallow that 1/2 |w|^2 makes up for them, and the one minimum is found; gamma then falls
geometrically, and each minimum starts the next descent, down to where the smoothing is a tenth of the loss's own width:

    gamma_0 = (C* lambda_max)^(2/3) / (2s)^(1/3),   lambda_max of sum_unlabelled x x' / |x|^3,
    gamma_end = 1 / (20 s max |x|^2).

Both assume U = exp(-s f^2); the paper has s = 3. gamma_0 follows from the second derivative of the smoothed U at its
peak, -2 s C* (1 + 2 s gamma |x|^2)^(-3/2) > -C* (2 s)^(-1/2) gamma^(-3/2) |x|^-3. The paper's eq. 5 prints half the
variance that its eqs. 6-8 have: here gamma is the variance everywhere.

Build the objective as ``S3VM(..., loss="hinge", unlabeled_loss="exp")``. The end is a minimum of J smoothed by
gamma_end, and stationary for that: J itself has the kink of the hinge.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.results import SolveResult
from specmargin.solvers.lbfgs import Descent
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.homotopy import follow
from specmargin.solvers.s3vm.polish import newton_descent
from specmargin.solvers.s3vm.precision import require_range, start_vector
from specmargin.solvers.s3vm.weighted_svm import supervised_svm
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "REQUIRES_UNLABELED", "continuation", "smoothing_path"]

REQUIRES = REQUIRES_UNLABELED = ("gaussian",)
"""Losses whose convolution with a Gaussian is known."""

_SMALL = 32
"""Samples or features up to which all singular values are computed."""


def continuation(
    obj: S3VM,
    w: FloatArray | None = None,
    *,
    n_steps: int = 10,
    minimizer: Literal["lbfgs", "newton"] = "lbfgs",
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> SolveResult:
    """Minimise an S3VM by continuation in the width of a Gaussian smoothing.

    Parameters
    ----------
    obj : S3VM
        Meant with the losses "hinge" and "exp"; any that `specmargin.losses.smoothed` knows will do. For even losses
        other than `ExpSquared`, the two ends of the path are those of s = 3, which resembles the symmetric hinge.
    w : ndarray of shape (size,), optional
        Start; default zero. With the intercept "balance" the first objective is convex, and the start is no matter.
    n_steps : int, default 10
        gamma is lowered so often.
    minimizer : {"lbfgs", "newton"}, default "lbfgs"
        Method that descends. L-BFGS is the faster; from the second objective on Newton's method may find another
        minimum.
    tol, max_iter
        The same as in `specmargin.solvers.gradient`.

    Returns
    -------
    SolveResult
        The answer of `specmargin.solvers.gradient`, but the history holds, per step, ``gamma``, the ``objective``
        smoothed by it at its end, the relative norm of the ``gradient`` of that, and ``n_iter`` and ``n_calls``.

    Raises
    ------
    ValueError
        If an argument is out of range, w does not fit, or the losses do not meet `REQUIRES` and `REQUIRES_UNLABELED`.

    References
    ----------
    Chapelle, Chi & Zien, A continuation method for semi-supervised SVMs, ICML 2006, algorithm 1 and section 3.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.5], [1.0], [1.8]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), "hinge", "exp", balance=1 / 3)
    >>> result = continuation(obj)
    >>> result.status.name, result.variables["labels"].tolist(), len(result.history)
    ('STATIONARY', [-1.0, 1.0, 1.0], 11)
    """
    start = time.perf_counter()
    require_range(obj, power=1)
    w = start_vector(w, obj.size)
    if obj.is_supervised:
        return supervised_svm(obj, w, solver="continuation", start=start, max_iter=max_iter)
    require("continuation", "S3VM", obj.loss, obj.unlabeled_loss)
    path = [(float(gamma), obj.smoothed(float(gamma))) for gamma in smoothing_path(obj, n_steps)]
    return follow(
        obj,
        path,
        w,
        parameter="gamma",
        minimizer=None if minimizer == "lbfgs" else _newton,
        solver="continuation",
        tol=tol,
        loose=1e-3,
        max_iter=max_iter,
        start=start,
    )


def _newton(obj: S3VM, w: FloatArray, tol: float, scale: float, max_iter: int) -> Descent:
    """Minimise an S3VM by the Newton method of `polish`."""
    return newton_descent(obj, w, tol, max_iter)


def smoothing_path(obj: S3VM, n_steps: int = 10) -> FloatArray:
    """Return the variances gamma_0 > ... > gamma_end of the continuation, (n_steps + 1,).

    Rows of zeros are left out: their decisions do not depend on w. Where no unlabelled row is left the objective is
    convex as it is, and the path is gamma_end alone; that is 0 where all rows are zero.
    """
    unlabeled_loss = obj.unlabeled_loss
    s = getattr(unlabeled_loss, "sharpness", 3.0)
    longest = float(obj.features.squared_norms.max())
    end = 1.0 / (20.0 * s * longest) if longest > 0 else 0.0
    if not np.isfinite(end):
        raise InvalidInputError(
            "squared lengths of the features underflow; divide the features by their largest length."
        )
    steepest = (obj.C_star * _largest_eigenvalue(obj)) ** (2.0 / 3.0) / (2.0 * s) ** (1.0 / 3.0)
    if not steepest > end:
        return np.array([end])
    return np.asarray(np.geomspace(steepest, end, n_steps + 1))


def _largest_eigenvalue(obj: S3VM) -> float:
    """Return lambda_max of sum x x' / |x|^3 over the unlabelled samples, 0 without any."""
    squares = obj.features.squared_norms[obj.unlabeled]
    # What centring leaves of a sample at the mean is rounding.
    seen = squares > 1e-12 * squares.max(initial=0.0)
    if not seen.any():
        return 0.0
    features = obj.features.subset(obj.unlabeled[seen])
    # In units of the longest row, so that no power of a length overflows.
    longest = float(squares.max())
    scale = (squares[seen] / longest) ** -1.5 / longest
    if min(features.n_samples, features.size) <= _SMALL:
        rows = np.sqrt(scale)[:, None] * features.dense()
        return float(np.linalg.norm(rows, 2) ** 2) / np.sqrt(longest)

    def product(v: FloatArray) -> FloatArray:
        return features.adjoint(scale * features.products(v.ravel()))

    operator = LinearOperator((features.size, features.size), matvec=product, dtype=float)
    first = np.random.default_rng(0).normal(size=features.size)
    try:
        eigenvalues = eigsh(operator, k=1, v0=first, tol=1e-4, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        # An upper bound, the trace, where nothing better is known.
        eigenvalues = error.eigenvalues if len(error.eigenvalues) else [scale @ squares[seen]]
    return float(eigenvalues[0]) / np.sqrt(longest)
