r"""Gradient descent with an annealed weight of the unlabelled samples: grad-S3VM of Chapelle & Zien (2005).

    J_i(w) = 1/2 |w|^2 + C sum_labelled max(0, 1 - y f)^2 + C*_i sum_unlabelled exp(-3 f^2),
    C*_i = 2^(i - 10) C*,   i = 0 ... 10.

The supervised SVM is all but convexly dented at first; the unlabelled samples press harder from step to step, and
each minimum starts the next descent. Build the objective as ``S3VM(..., loss="squared_hinge", unlabeled_loss="exp")``.
The paper descends by conjugate gradients; L-BFGS takes fewer calls.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from specmargin.objectives.s3vm import S3VM
from specmargin.results import SolveResult
from specmargin.solvers.s3vm.homotopy import annealed
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "gradient"]

REQUIRES = ()
"""Nothing beyond a value and a gradient, though at a kink the descent may stop early."""


def gradient(
    obj: S3VM,
    w: FloatArray | None = None,
    *,
    n_steps: int = 10,
    schedule: npt.ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> SolveResult:
    """Minimise an S3VM by gradient descent with C* annealed.

    Parameters
    ----------
    obj : S3VM
        Meant with the losses "squared_hinge" and "exp". Other smooth ones will do; at a kink the descent may stop
        early.
    w : ndarray of shape (size,), optional
        Start; default zero.
    n_steps : int, default 10
        C* is doubled so often, from 2^-n_steps of itself.
    schedule : array-like of float, optional
        Factors of C* in place of that; the last should be 1.
    tol : float, default 1e-6
        Norm of the last gradient relative to its parts P w and A' slopes.
    max_iter : int, default 1000
        Iterations in each step.

    Returns
    -------
    SolveResult
        STATIONARY, or MAX_ITER where the last step was cut off; without unlabelled losses the convex SVM, proved
        OPTIMAL. See `specmargin.objectives.S3VM.result`. The history
        holds, per step, the ``factor`` of C*, the ``objective`` with it at its end, the relative norm of the
        ``gradient``, and ``n_iter`` and ``n_calls``.

    Raises
    ------
    ValueError
        If `n_steps` or `schedule` is negative or empty, `tol` or `max_iter` not positive, or w does not fit.

    References
    ----------
    Chapelle & Zien, Semi-supervised classification by low density separation, AISTATS 2005.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.5], [1.0], [1.8]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), "squared_hinge", "exp", balance=1 / 3)
    >>> result = gradient(obj)
    >>> result.status.name, result.variables["labels"].tolist(), len(result.history)
    ('STATIONARY', [-1.0, 1.0, 1.0], 11)
    """
    start = time.perf_counter()
    if schedule is None:
        schedule = 2.0 ** np.arange(-n_steps, 1)
    return annealed(obj, w, schedule, solver="gradient", tol=tol, loose=1e-3, max_iter=max_iter, start=start)
