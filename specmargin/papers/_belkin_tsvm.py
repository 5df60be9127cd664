"""Joachims' transductive SVM on a kernel matrix: the rival of figures 2, 4 and 6 of the manifold-regularization paper.

It is `specmargin.solvers.label_switching`: the hinge at the label that is held, a free intercept, one pair of labels
switched at a time, the weight of the unlabelled losses doubled from 1e-5 of its end, as SVM-light does. The share of
positive labels is that of the labelled samples unless it is given. (`multi_switch`, with the squared hinge and many
pairs at a time, is another method, that of Sindhwani & Keerthi.)

`span` is the work that all draws of a task share, `transductive_svm` one draw.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from specmargin.kernels.maps import KernelMap, kernel_map
from specmargin.labels import Labels
from specmargin.objectives.s3vm import S3VM
from specmargin.results import SolveResult
from specmargin.solvers.s3vm.label_switching import label_switching
from specmargin.typing import FloatArray

__all__ = ["Transduced", "span", "transductive_svm"]

_RATE = 2.0
"""By which SVM-light multiplies the weight of the unlabelled losses."""


class Transduced(NamedTuple):
    """Decisions at the training samples (n,) and at new ones (m,), the answer, and the seconds of its search."""

    f: FloatArray
    f_test: FloatArray
    result: SolveResult
    seconds: float


def span(K: FloatArray) -> KernelMap:
    """Return the map of a kernel matrix of the training samples, (n, n), for every draw of their labels."""
    return kernel_map(K)


def transductive_svm(
    shared: KernelMap,
    labels: Labels,
    *,
    C: float,
    C_star: float | None = None,
    balance: float | None = None,
    K_test: FloatArray | None = None,
    **options: Any,
) -> Transduced:
    """Train Joachims' transductive SVM.

    Parameters
    ----------
    shared : KernelMap
        `span` of the kernel matrix.
    labels : Labels
        Of the labelled training samples, binary.
    C : float
        Weight of the sum of the labelled hinges next to 1/2 |w|^2; with LapSVM's gamma in the sums of `LapSVM`,
        C = 1 / (2 gamma).
    C_star : float, optional
        Of the unlabelled ones; default C, as SVM-light's.
    balance : float, optional
        Mean label of the unlabelled samples, 2 p - 1; default that of the labelled ones, as SVM-light's.
    K_test : ndarray of shape (m, n), optional
        Kernel between new samples and the training samples.
    **options
        Of `label_switching`.

    References
    ----------
    Joachims, Transductive inference for text classification using support vector machines, ICML 1999.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> x = np.array([-2.0, 2.0, -1.5, -1.0, 1.0, 1.5])
    >>> found = transductive_svm(span(np.outer(x, x)), encode_labels([0, 1, -1, -1, -1, -1]), C=1.0)
    >>> (found.f > 0).astype(int).tolist(), found.result.status.name
    ([0, 1, 0, 0, 1, 1], 'STATIONARY')
    """
    start = time.perf_counter()
    obj = S3VM(shared.Z, labels, "hinge", None, C=C, C_star=C_star, balance=balance, intercept="free")
    result = label_switching(obj, **{"rate": _RATE, **options})
    v, b = result.variables["v"], float(result.variables["b"])
    f_test = np.zeros(0) if K_test is None else np.asarray(shared(K_test) @ v) + b
    return Transduced(np.asarray(result.variables["f"]), f_test, result, time.perf_counter() - start)
