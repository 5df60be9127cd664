"""Weights of LapSVM and LapRLS that suit any data: units of gamma_A and gamma_I, and those that papers write.

The loss is a sum over l labels, and the norms have the unit of the kernel, so that a fixed gamma_A means another thing
with every kernel. With d the mean of the kernel's diagonal, the deformed kernel of the labelled samples (rows J) at a
ratio gamma_I / gamma_A = r / d, and H the centring of l samples,

    G = J K (I + r / d L K)^-1 J',    gamma_A = 0.1 tr(H G H) / l,    gamma_I = r / d gamma_A

make the same decisions for K and for any multiple of it. The mean eigenvalue tr(H G H) / l is that of a typical
direction among the labelled samples, and grows neither with l nor with the number of samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specmargin.checks import choice, count, number
from specmargin.graphs import LaplacianOperator
from specmargin.kernels.operators import WIDE, LowRankKernel, kernel_diagonal, kernel_rows
from specmargin.typing import FloatArray

__all__ = ["ambient_weight", "mean_eigenvalue", "ratio_for", "usual_ratio", "weights_of_paper"]

_SHARE = 0.1
"""gamma_A in units of the mean eigenvalue of the centred G: errors on 19 data sets differ by 0.3 points between 0.01
and 1 of it."""
_CONSTANT = 1e-13
_WEIGHT_OF_GRAPH = 1e4
"""Mean eigenvalue of ratio L K. By mean errors: 1e3 to 1e4 differ by 0.3 points, more is better on graphs and for the
span of eigenvectors, less where the graph misleads."""
_BLOCK = 256
"""Columns of a stored kernel that a graph multiplies at a time."""


def mean_eigenvalue(G: FloatArray, *, centred: bool = True) -> float:
    """Return tr(H G H) / l of a deformed kernel (l, l), or tr(G) / l; 0 where that is rounding.

    Zero means that all functions of G are constant on the labelled samples.

    Examples
    --------
    >>> mean_eigenvalue(np.array([[2.0, 1.0], [1.0, 2.0]]))
    0.5
    """
    l = len(G)
    trace = float(np.trace(G))
    mean = (trace - float(G.sum()) / l) / l if centred else trace / l
    return mean if mean > _CONSTANT * float(np.abs(G).max(initial=0.0)) else 0.0


def ambient_weight(G: FloatArray, *, centred: bool = True) -> float:
    """Return gamma_A = 0.1 tr(H G H) / l, the weight in units of the data.

    Where all functions of G are constant on the labelled samples it is 0.1 tr(G) / l, and 0.1 where G is zero.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Deformed kernel of the labelled samples at gamma_A = 1: ``LapSVM(K, L, ..., gamma_I=r).reduction.G``.
    centred : bool, default True
        Whether an intercept takes constants out; without one H is the identity.

    Examples
    --------
    >>> ambient_weight(np.array([[2.0, 1.0], [1.0, 2.0]]))
    0.05
    """
    unit = mean_eigenvalue(G, centred=centred) or float(np.trace(G)) / len(G)
    return _SHARE * (unit if unit > 0 else 1.0)


def ratio_for(K: Any, ratio: float) -> float:
    """Return gamma_I / gamma_A for a ratio in units of the kernel: over the mean of its diagonal, 1 for most kernels.

    Examples
    --------
    >>> ratio_for(4.0 * np.eye(3), 100.0)
    25.0
    """
    mean = float(kernel_diagonal(K).mean())
    return ratio / mean if mean > 0 else ratio


def usual_ratio(K: Any, L: LaplacianOperator) -> float:
    """Return gamma_I / gamma_A = 10000 m / tr(L K), m = tr(K)^2 / |K|^2: in units of both norms.

    The trace is the sum of the eigenvalues of L K, and m the number of functions that K holds in effect: q where it is
    that of q eigenvectors, 1 where its functions are nearly constant. So ratio L K has the mean eigenvalue 10000 on
    these, however many samples there are, and for any multiple of K or L. Where no function of K varies along the
    graph, it is `ratio_for` of 1: there is nothing to weigh.

    Parameters
    ----------
    K : ndarray, sparse matrix or KernelOperator of shape (n, n)
        The kernel.
    L : LaplacianOperator
        Laplacian of the graph norm, its power included.

    Examples
    --------
    >>> from specmargin.graphs import laplacian
    >>> L = laplacian([[0.0, 1.0], [1.0, 0.0]], normalized=False)
    >>> usual_ratio(np.eye(2), L), usual_ratio(4.0 * np.eye(2), laplacian([[0.0, 10.0], [10.0, 0.0]], normalized=False))
    (10000.0, 250.0)
    """
    n = K.shape[0]
    unit = float(kernel_diagonal(K).mean())
    if not unit > 0:
        return ratio_for(K, 1.0)
    if isinstance(K, LowRankKernel) and K.factor.shape[1] > WIDE:
        squares = float(((K.factor.T @ K.factor) ** 2).sum()) / unit**2
        graph = float(np.trace(K.penalty(L))) / unit
    elif isinstance(K, LowRankKernel):
        F = K.factor / np.sqrt(unit)
        squares, graph = float(((F.T @ F) ** 2).sum()), float((F * (L @ F)).sum())
    else:
        squares = graph = 0.0
        for at in np.array_split(np.arange(n), max(1, n // _BLOCK)):
            rows = kernel_rows(K, at) / unit
            squares += float((rows**2).sum())
            graph += float(np.trace((L @ rows.T)[at]))
    largest = float(L.matrix.diagonal().max(initial=0.0)) ** L.power
    if not _CONSTANT * n * largest < graph < np.inf:  # else it is rounding of zero, or no number
        return ratio_for(K, 1.0)
    return _WEIGHT_OF_GRAPH * n**2 / squares / graph / unit


def weights_of_paper(gamma_A: float, gamma_I: float, l: int, u: int, form: str) -> tuple[float, float]:
    """Return the weights of `LapSVM` that make the problem of a paper's.

    Parameters
    ----------
    gamma_A, gamma_I : float
        Weights as published; gamma_A > 0, gamma_I >= 0.
    l, u : int
        Numbers of labelled and of unlabelled samples.
    form : {"means", "sums"}
        "means": 1/l sum V(y_i f_i) + gamma_A |f|^2 + gamma_I / (l+u)^2 f'L f, the manifold-regularization paper. Then
        ours are l gamma_A and l gamma_I / (l+u)^2. "sums": sum V(y_i f_i) + gamma_A |f|^2 + gamma_I f'L f, or half of
        all that, the primal paper; they are ours.

    Examples
    --------
    >>> weights_of_paper(0.005, 0.045, 4, 16, "sums")
    (0.005, 0.045)
    >>> weights_of_paper(0.005, 4.0, 4, 16, "means")
    (0.02, 0.04)
    """
    gamma_A, gamma_I = number(above=0)("gamma_A", gamma_A), number(least=0)("gamma_I", gamma_I)
    l, u = count(1)("l", l), count(0)("u", u)
    if choice("means", "sums")("form", form) == "sums":
        return gamma_A, gamma_I
    return l * gamma_A, l * gamma_I / (l + u) ** 2
