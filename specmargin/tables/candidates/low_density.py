r"""Low-density candidates: semi-supervised SVMs (S3VM) on the leading directions of a kernel's features, in folds.

A linear classifier in few features that leaves the unlabelled samples away from its boundary: with the squared hinge
on the labels and an even loss on all others, which weigh together `share` times as much as the labels do,

.. math::
    \tfrac12 |w|^2 + C \sum_{i \le l} \max(0, 1 - y_i f_i)^2 + C^* \sum_{j > l} e^{-3 f_j^2} ,
    \qquad C^* = C\,\mathrm{share}\, l / u ,

searched by L-BFGS while C* is raised (`specmargin.solvers.quasi_newton`). The mean decision of the unlabelled samples
is held at the shrunken mean of the labels. It finds what no kernel of eigenvectors does, a gap that is not along the
largest variances, and is little worse than an SVM where there is none. A left-out label is an unlabelled sample of the
fit without it: no closed form is known, so that a few stratified folds are fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from specmargin.labels import Labels
from specmargin.objectives.s3vm import S3VM
from specmargin.solvers.s3vm.quasi_newton import quasi_newton
from specmargin.tables.candidates.ambient_maps import FeatureMap
from specmargin.tables.candidates.ridge import shrunken_means
from specmargin.typing import FloatArray, IntArray

__all__ = ["LowDensityFits", "held_out_s3vm", "leading_directions"]

_SCHEDULE = (0.0, 0.01, 0.1, 1.0)  # of the weight of the unlabelled samples
_STEPS = 25  # of L-BFGS at each: a candidate is one of many
_TOL = 1e-3


@dataclass(frozen=True, eq=False)
class LowDensityFits:
    """Fits of one feature map with several weights of the unlabelled samples; p of them, C = 1 column.

    Parameters
    ----------
    coefficients : ndarray of shape (r, p, 1)
    intercept : ndarray of shape (p, 1)
    held_out : ndarray of shape (p, l, 1)
    intercept_without : ndarray of shape (p, l, 1)
    """

    coefficients: FloatArray
    intercept: FloatArray
    held_out: FloatArray
    intercept_without: FloatArray


def leading_directions(features: FeatureMap, rank: int) -> FloatArray:
    """Return the directions (r, m) of the largest variances of centred features, scaled to samples of mean length one.

    Examples
    --------
    >>> from specmargin.tables.candidates.ambient_maps import PrincipalComponents
    >>> components = PrincipalComponents(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), rank=2)
    >>> np.abs(components.values @ leading_directions(components, 1)).round(9).ravel().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    r = features.rank
    variances, directions = sla.eigh(features.covariance, subset_by_index=(max(0, r - rank), r - 1))
    return np.asarray(directions / (np.sqrt(max(float(variances.sum()), 0.0)) or 1.0))


def held_out_s3vm(
    values: FloatArray,
    directions: FloatArray,
    labeled: IntArray,
    codes: IntArray,
    *,
    C: float,
    shares: tuple[float, ...],
    folds: IntArray,
    pseudo_labels: float,
) -> LowDensityFits:
    """Fit S3VMs of two classes, and decide about each fold of the labels by what the others and all samples say.

    Where all labels of a part are alike, so are the decisions.

    Parameters
    ----------
    values : ndarray of shape (n, r)
        Features of all samples, of mean zero.
    directions : ndarray of shape (r, m)
        Directions that `leading_directions` returns.
    labeled, codes : ndarray of shape (l,)
        Rows of the labelled samples, fewer than n, and their classes, 0 and 1.
    C : float
        Weight of the loss of a label.
    shares : tuple of float
        Weights of all unlabelled samples together, in units of that of all labels.
    folds : ndarray of shape (l,)
        Fold of each label, by `specmargin.tables.candidates.hinge.stratified_folds`.
    pseudo_labels : float
        Pseudo-labels of the shrunken mean, per class.

    Examples
    --------
    >>> X = np.array([[-1.2], [-1.0], [-0.8], [0.8], [1.0], [1.2]])
    >>> labeled, codes, folds = np.array([0, 2, 3, 5]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> fits = held_out_s3vm(X, np.eye(1), labeled, codes, C=1.0, shares=(1.0,), folds=folds, pseudo_labels=2.0)
    >>> np.sign(fits.held_out).ravel().tolist(), fits.coefficients.shape
    ([-1.0, -1.0, 1.0, 1.0], (1, 1, 1))
    """
    rows = values @ directions
    order = np.argsort(labeled)
    signs = np.where(codes == 1, 1.0, -1.0)
    r, p, l = len(directions), len(shares), len(labeled)
    coefficients, intercept = np.empty((r, p, 1)), np.empty((p, 1))
    held, without = np.empty((2, p, l, 1))

    def fit(kept: IntArray, share: float) -> tuple[FloatArray, float]:
        y, n_kept = signs[kept], len(kept)
        if (y == y[0]).all():
            return np.zeros(rows.shape[1]), float(y[0])
        labels = Labels(y, labeled[kept], np.array([0, 1]), len(rows))
        mean = float(shrunken_means(y[:, None], 2, pseudo_labels)[0][0])
        weight = C * share * n_kept / (len(rows) - n_kept)
        obj = S3VM(rows, labels, "squared_hinge", "exp", C=C, C_star=weight, balance=mean)
        answer = quasi_newton(obj, schedule=_SCHEDULE, max_iter=_STEPS, tol=_TOL).variables
        return np.asarray(answer["v"]), float(answer["b"])

    for j, share in enumerate(shares):
        v, b = fit(order, share)
        coefficients[:, j, 0], intercept[j] = directions @ v, b
        for fold in range(int(folds.max()) + 1):
            test = np.flatnonzero(folds == fold)
            v, b = fit(order[folds[order] != fold], share)
            held[j, test, 0], without[j, test, 0] = rows[labeled[test]] @ v + b, b
    return LowDensityFits(coefficients, intercept, held, without)
