r"""Candidates of one kernel and their decisions about left-out labels: the ridge, the SVM, and a low-density S3VM.

**Ridge**, with an intercept that pseudo-labels hold.
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

**Hinge**: supervised SVMs on the features of `sup`.
The ridge loses to the hinge where classes are separable. Nothing exact is known about an SVM without one of its labels
short of training it again, so that the decisions at left-out samples are those of at most ten stratified folds.

**Low density**: S3VMs on the leading directions of a kernel's features.
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

from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.labels import Labels
from specmargin.objectives.s3vm import S3VM
from specmargin.solvers.hinge_duals import solve_hinge_duals
from specmargin.solvers.s3vm.quasi_newton import quasi_newton
from specmargin.tables.candidates.ambient_maps import FeatureMap
from specmargin.typing import FloatArray, IntArray

__all__ = ["Fits", "held_out_hinge", "held_out_ridge", "held_out_s3vm", "leading_directions", "stratified_folds"]
__all__ += ["shrunken_means", "targets"]

_SCHEDULE = (0.0, 0.01, 0.1, 1.0)  # of the weight of the unlabelled samples
_STEPS = 25  # of L-BFGS at each: a candidate is one of many
_TOL = 1e-3


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


class Fits(NamedTuple):
    """Fits of one kernel with several penalties, or weights of a loss: p of them.

    Parameters
    ----------
    weights : ndarray
        Coefficients v of the ridge and the hinge, (p, l, C): f = K v + intercept; of the S3VM those of
        the features, (r, p, 1).
    intercept : ndarray of shape (p, C)
    held_out : ndarray of shape (p, l, C)
        Decisions at each labelled sample of the fit without it.
    intercept_without : ndarray of shape (p, l, C)
        Intercepts of the fits without each label.
    """

    weights: FloatArray
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
) -> Fits:
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
    Fits

    Examples
    --------
    >>> fits = held_out_ridge(np.eye(2), np.array([[-1.0], [1.0]]), penalties=np.array([1.0]), n_classes=2)
    >>> fits.weights.ravel().tolist(), fits.held_out.ravel().round(3).tolist()
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
    fits = []
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
        fits.append((v, b0 + beta, Y - missed, b0 + beta - change - m[:, None] * missed / D))
    return Fits(*map(np.stack, zip(*fits, strict=True)))


def stratified_folds(codes: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return a fold for every label, dealt out class by class, in the order of the codes, in random order.

    Examples
    --------
    >>> folds = stratified_folds(np.array([0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> sorted(folds[:2].tolist()), sorted(folds[2:].tolist())
    ([0, 1], [0, 1])
    """
    order = np.concatenate([rng.permutation(np.flatnonzero(codes == c)) for c in np.unique(codes)])
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % min(n_folds, len(codes))
    return folds


def held_out_hinge(features: FloatArray, Y: FloatArray, *, Cs: tuple[float, ...], folds: IntArray) -> Fits:
    """Fit SVMs, each class against the rest, and decide about each fold by what the others say.

    Where all labels of a part are alike, so are the decisions.

    Parameters
    ----------
    features : ndarray of shape (l, r)
        Features of the labelled samples.
    Y : ndarray of shape (l, C)
        Targets as `targets` returns them.
    Cs : tuple of float
        Weights of the loss.
    folds : ndarray of shape (l,)
        Fold of each label, by `stratified_folds`.

    Returns
    -------
    Fits

    Examples
    --------
    >>> Y = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> fits = held_out_hinge(Y.copy(), Y, Cs=(1.0,), folds=np.array([0, 1, 0, 1]))
    >>> fits.held_out.ravel().round(6).tolist()
    [-1.0, -1.0, 1.0, 1.0]
    """
    (l, n_classes), n_folds = Y.shape, int(folds.max()) + 1
    # All labels, then all but each fold; for every class, C by C.
    kept = np.vstack([np.ones(l, dtype=bool), folds != np.arange(n_folds)[:, None]])
    G = features @ features.T
    shape = (len(Cs), n_folds + 1, n_classes)
    upper = np.broadcast_to(np.multiply.outer(np.asarray(Cs, dtype=np.float64), kept)[:, :, None], (*shape, l))
    signs = np.broadcast_to(Y.T, (*shape, l))
    flat, b = solve_hinge_duals(G, signs.reshape(-1, l), upper.reshape(-1, l))
    beta, intercept = flat.reshape(*shape, l), b.reshape(shape)
    held, without = np.empty((2, len(Cs), l, n_classes))
    for fold in range(n_folds):
        test = np.flatnonzero(folds == fold)
        held[:, test] = np.einsum("tl,pcl->ptc", G[test], beta[:, fold + 1]) + intercept[:, None, fold + 1]
        without[:, test] = intercept[:, None, fold + 1]
    return Fits(beta[:, 0].transpose(0, 2, 1), intercept[:, 0], held, without)


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
) -> Fits:
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
    >>> np.sign(fits.held_out).ravel().tolist(), fits.weights.shape
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
    return Fits(coefficients, intercept, held, without)
