r"""QN-S3VM of Gieseke et al. (2014), searched in w: L-BFGS on a smooth objective, for sparse data of any size.

    J(w) = 1/2 |w|^2 + C sum_labelled log(1 + exp(20 (1 - y f))) / 20 + C* sum_unlabelled exp(-3 f^2),

with C* raised through {0, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1} times itself; the first 0 is the supervised SVM. Build the
objective as ``S3VM(..., loss="smooth_hinge", unlabeled_loss="exp")``; the paper's lam and lam' are
C = 1 / (2 lam l), C* = lam' / (2 lam u).

The paper searches in the coefficients c of w = A'c, one per sample, and multiplies by the kernel A A' in both
directions. In w a call costs two products with the sparse features, a step little more, and the problem is better
conditioned. Two errors of the paper are mended: the intercept is the *mean* of the known labels (eq. 13 prints their
sum), and the logistic loss needs no cut-off at 500.
"""

from __future__ import annotations

import time

import numpy.typing as npt

from specmargin.objectives.s3vm import S3VM
from specmargin.results import SolveResult
from specmargin.solvers.s3vm.homotopy import annealed
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "quasi_newton"]

REQUIRES = ()
"""Nothing beyond a value and a gradient, though at a kink the descent may stop early."""


def quasi_newton(
    obj: S3VM,
    w: FloatArray | None = None,
    *,
    schedule: npt.ArrayLike = (0.0, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0),
    m: int = 50,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> SolveResult:
    """Minimise an S3VM by L-BFGS with C* annealed.

    Parameters
    ----------
    obj : S3VM
        Meant with the losses "smooth_hinge" and "exp". Other smooth ones will do; at a kink the descent may stop early.
    schedule : array-like of float, default (0, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1)
        Factors of C*; the last should be 1.
    m : int, default 50
        Pairs of steps and gradients that L-BFGS keeps.
    w, tol, max_iter
        The same as in `specmargin.solvers.gradient`.

    Returns
    -------
    SolveResult
        The answer of `specmargin.solvers.gradient`, its history included.

    Raises
    ------
    ValueError
        If `schedule` is negative or empty, `m`, `tol` or `max_iter` not positive, or w does not fit.

    References
    ----------
    Gieseke, Airola, Pahikkala & Kramer, Fast and simple gradient-based optimization for semi-supervised support vector
    machines, Neurocomputing 123, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.5], [1.0], [1.8]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), "smooth_hinge", "exp", balance=1 / 3)
    >>> result = quasi_newton(obj)
    >>> result.status.name, result.variables["labels"].tolist(), len(result.history)
    ('STATIONARY', [-1.0, 1.0, 1.0], 7)
    """
    start = time.perf_counter()
    return annealed(
        obj, w, schedule, solver="quasi_newton", tol=tol, loose=3e-3, max_iter=max_iter, memory=m, start=start
    )
