r"""Multi-switch transductive SVM of Sindhwani & Keerthi: label switching for large and sparse data.

The loop is that of `specmargin.solvers.label_switching`, but all pairs that pay are switched between two trainings, up
to `max_switches`: positive samples within their margin in ascending, negative ones in descending order of their
decisions, as long as f_i < f_j. Every such pair lowers the losses on its own, hence the objective falls as it does with
one pair, in far fewer trainings. These are steps of the modified finite Newton method from the last weights, with
conjugate gradients on sparse features (`specmargin.solvers.finite_newton`).

SVMlin minimises lam/2 |w|^2 + 1/(2l) sum_labelled + lam'/(2u) sum_unlabelled, with lam' growing from 1e-5: that is
C = 1 / (2 lam l), C* = lam' / (2 lam u), intercept="regularized".
"""

from __future__ import annotations

from specmargin.objectives import S3VM
from specmargin.results import SolveResult
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.finite_newton import REQUIRES as FINITE_NEWTON
from specmargin.solvers.s3vm.label_switching import switch_labels
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "multi_switch"]

REQUIRES = (*FINITE_NEWTON, "nonincreasing")
"""Trainings by `specmargin.solvers.finite_newton`, which start where the last one ended, and switches that pay."""


def multi_switch(
    obj: S3VM,
    w: FloatArray | None = None,
    *,
    max_switches: int = 10_000,
    rate: float = 1.5,
    first_share: float = 1e-5,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> SolveResult:
    """Search a local minimum over the labels of the unlabelled samples, switching many pairs at a time.

    Parameters
    ----------
    obj : S3VM
        Objective with a V such as the squared hinge, piecewise quadratic with a continuous slope, and any intercept.
    w : ndarray of shape (size,), optional
        Its decisions give the first labels; by default those of the supervised SVM.
    max_switches : int, default 10000
        Most pairs between two trainings; 1 is the one-pair version.
    rate : float, default 1.5
        Factor by which the weight of the unlabelled losses grows, > 1.
    first_share : float, default 1e-5
        First weight, as a share of C*, in (0, 1].
    tol : float, default 1e-6
        Relative duality gap of every training.
    max_iter : int, default 10000
        Most trainings.

    Returns
    -------
    SolveResult
        The answer of `specmargin.solvers.label_switching`, with the labels held as ``held_labels``.

    Raises
    ------
    ValueError
        For a loss that does not meet `REQUIRES`, or numbers out of range.

    References
    ----------
    Sindhwani & Keerthi, Large scale semi-supervised linear SVMs, SIGIR 2006, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.5], [-1.0], [1.0], [1.5]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1, -1]), intercept="regularized")
    >>> multi_switch(obj).variables["held_labels"].tolist()
    [-1.0, -1.0, 1.0, 1.0]
    """
    require("multi_switch", "S3VM", obj.loss)
    return switch_labels(
        obj,
        w,
        solver="multi_switch",
        pairs=max_switches,
        rate=rate,
        first_share=first_share,
        skewed=False,
        tol=tol,
        max_iter=max_iter,
    )
