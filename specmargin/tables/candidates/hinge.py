"""Hinge candidates: supervised SVMs on the features of `sup`, decided about in folds.

The ridge loses to the hinge where classes are separable. Nothing exact is known about an SVM without one of its labels
short of training it again, so that the decisions at left-out samples are those of at most ten stratified folds.
"""

from __future__ import annotations

import numpy as np

from specmargin.solvers.hinge_duals import solve_hinge_duals
from specmargin.tables.candidates.ridge import KernelFits
from specmargin.typing import FloatArray, IntArray

__all__ = ["held_out_hinge", "stratified_folds"]


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


def held_out_hinge(features: FloatArray, Y: FloatArray, *, Cs: tuple[float, ...], folds: IntArray) -> KernelFits:
    """Fit SVMs, each class against the rest, and decide about each fold by what the others say.

    Where all labels of a part are alike, so are the decisions.

    Parameters
    ----------
    features : ndarray of shape (l, r)
        Features of the labelled samples.
    Y : ndarray of shape (l, C)
        Targets as `specmargin.tables.candidates.ridge.targets` returns them.
    Cs : tuple of float
        Weights of the loss.
    folds : ndarray of shape (l,)
        Fold of each label, by `stratified_folds`.

    Returns
    -------
    KernelFits

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
    return KernelFits(beta[:, 0].transpose(0, 2, 1), intercept[:, 0], held, without)
