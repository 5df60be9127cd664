r"""Ridge candidates: kernel ridge regression on the labels, with an intercept that pseudo-labels hold.

With targets Y of +-1, G the kernel of the labelled samples (centred over all samples) and b0 the mean of Y, shrunk by
pseudo-labels, the ridge minimises

.. math:: |Y - G a - b|^2 + \lambda\, a^\top G a + \nu (b - b_0)^2 ,

where :math:`\nu` further pseudo-labels hold the intercept b at b0. Decisions at left-out samples need no second fit:
with :math:`M = (G + \lambda I)^{-1}, m = M 1, s = 1^\top m, D = \nu / \lambda + s`,

.. math::
    \beta = 1^\top M (Y - b_0) / D, \qquad v = M (Y - b_0) - m \beta, \qquad f = K v + b_0 + \beta, \\
    f_{-i}(x_i) = Y_i - r_i, \qquad
    r_i = \frac{v_i + m_i (1 - s / D)(b_0 - b_{0,-i})}{M_{ii} - m_i^2 / D} , \\
    b_{-i} = b - (1 - s / D) (b_0 - b_{0,-i}) - m_i r_i / D .

The second term of the numerator is there because b0 changes, too, without the label i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from specmargin.typing import FloatArray, IntArray

__all__ = ["KernelFits", "held_out_ridge", "shrunken_means", "targets"]


def targets(codes: IntArray, n_classes: int) -> FloatArray:
    """Return +-1 in one column with two classes, else in one column per class against the rest.

    Parameters
    ----------
    codes : ndarray of shape (l,)
        Classes 0 to n_classes - 1.
    n_classes : int

    Examples
    --------
    >>> targets(np.array([0, 1]), 2).tolist(), targets(np.array([0, 1]), 3).tolist()
    ([[-1.0], [1.0]], [[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]])
    """
    own = codes[:, None] == (1 if n_classes == 2 else np.arange(n_classes))
    return np.where(own, 1.0, -1.0)


def shrunken_means(Y: FloatArray, n_classes: int, pseudo_labels: float) -> tuple[FloatArray, FloatArray]:
    """Return the means (C,) of the targets, drawn towards equal classes by pseudo-labels, and those without each label.

    Parameters
    ----------
    Y : ndarray of shape (l, C)
        Targets as `targets` returns them.
    n_classes : int
    pseudo_labels : float
        Number of pseudo-labels per class.

    Returns
    -------
    mean : ndarray of shape (C,)
    without : ndarray of shape (l, C)

    Examples
    --------
    >>> mean, without = shrunken_means(np.array([[1.0], [1.0]]), 2, pseudo_labels=2.0)
    >>> mean.round(3).tolist(), without.ravel().round(3).tolist()
    ([0.333], [0.2, 0.2])
    """
    l, own = len(Y), Y > 0

    def mean(count: FloatArray, total: int) -> FloatArray:
        return 2.0 * (count + pseudo_labels) / (total + n_classes * pseudo_labels) - 1.0

    counts = own.sum(axis=0).astype(np.float64)
    return mean(counts, l), mean(counts - own, l - 1)


@dataclass(frozen=True, eq=False)
class KernelFits:
    """Fits of one kernel with several penalties, or weights of the loss.

    Parameters
    ----------
    dual : ndarray of shape (p, l, C)
        v: f = K v + intercept.
    intercept : ndarray of shape (p, C)
    held_out : ndarray of shape (p, l, C)
        Decisions at each labelled sample of the fit without it.
    intercept_without : ndarray of shape (p, l, C)
        Intercepts of the fits without each label.
    """

    dual: FloatArray
    intercept: FloatArray
    held_out: FloatArray
    intercept_without: FloatArray


def held_out_ridge(
    features: FloatArray,
    Y: FloatArray,
    *,
    penalties: FloatArray,
    n_classes: int,
    pseudo_labels: float = 2.0,
    intercept_labels: float = 10.0,
) -> KernelFits:
    """Fit the ridge with several penalties, and decide about each labelled sample without it.

    Parameters
    ----------
    features : ndarray of shape (l, r)
        Features of the labelled samples: G is features times their transpose.
    Y : ndarray of shape (l, C)
        Targets as `targets` returns them.
    penalties : ndarray of shape (p,)
        lambda in units of tr(G) / l.
    n_classes : int
    pseudo_labels, intercept_labels : float
        Pseudo-labels of the shrunken mean, per class; and nu.

    Returns
    -------
    KernelFits

    Examples
    --------
    >>> fits = held_out_ridge(np.eye(2), np.array([[-1.0], [1.0]]), penalties=np.array([1.0]), n_classes=2)
    >>> fits.dual.ravel().tolist(), fits.held_out.ravel().round(3).tolist()
    ([-0.5, 0.5], [0.238, -0.238])
    """
    l, r = features.shape
    few = r < l
    # Eigenvalues of features'features where there are fewer of them: M is then 1 / lambda outside of their span.
    w, V = sla.eigh(features.T @ features if few else features @ features.T, check_finite=False)
    w = np.maximum(w, 0.0)
    U = features @ V if few else V
    unit = float(w.sum()) / l or 1.0
    b0, without = shrunken_means(Y, n_classes, pseudo_labels)
    residual = np.column_stack([Y - b0, np.ones(l)])
    projected, squares = U.T @ residual, U * U
    dual, intercept, held, intercept_without = [], [], [], []
    for penalty in penalties:
        lam = penalty * unit
        inverse = 1.0 / (w + lam)
        solved, diagonal = U @ (inverse[:, None] * projected), squares @ inverse
        if few:
            solved, diagonal = (residual - solved) / lam, (1.0 - diagonal) / lam
        v, m = solved[:, :-1], solved[:, -1]
        s = float(m.sum())
        D = intercept_labels / lam + s
        beta = v.sum(axis=0) / D
        v = v - m[:, None] * beta
        change = (1.0 - s / D) * (b0 - without)
        missed = (v + m[:, None] * change) / (diagonal - m * m / D)[:, None]
        dual.append(v)
        intercept.append(b0 + beta)
        held.append(Y - missed)
        intercept_without.append(b0 + beta - change - m[:, None] * missed / D)
    return KernelFits(np.stack(dual), np.stack(intercept), np.stack(held), np.stack(intercept_without))
