"""Hinge candidates: supervised SVMs on the features of `sup`, decided about in folds.

The ridge loses to the hinge where classes are separable. Nothing exact is known about an SVM without one of its labels
short of training it again, so that the decisions at left-out samples are those of at most ten stratified folds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specmargin.typing import FloatArray, IntArray

__all__ = ["HingeFits", "fitted_hinge", "held_out_hinge", "stratified_folds"]


def stratified_folds(codes: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return a fold for every label, dealt out class by class in random order.

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


@dataclass(frozen=True, eq=False)
class HingeFits:
    """Fits of one kernel with several weights of the loss; shapes as those of `specmargin.candidates.ridge.RidgeFits`.

    Parameters
    ----------
    dual : ndarray of shape (p, l, C)
    intercept : ndarray of shape (p, C)
    held_out : ndarray of shape (p, l, C)
    """

    dual: FloatArray
    intercept: FloatArray
    held_out: FloatArray


def held_out_hinge(features: FloatArray, Y: FloatArray, *, Cs: tuple[float, ...], folds: IntArray) -> HingeFits:
    """Fit SVMs, each class against the rest, and decide about each fold by what the others say.

    Where all labels of a part are alike, so are the decisions.

    Parameters
    ----------
    features : ndarray of shape (l, r)
        Of the labelled samples.
    Y : ndarray of shape (l, C)
        Of `specmargin.candidates.ridge.targets`.
    Cs : tuple of float
        Weights of the loss.
    folds : ndarray of shape (l,)
        Of `stratified_folds`.

    Returns
    -------
    HingeFits

    Examples
    --------
    >>> Y = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> fits = held_out_hinge(Y.copy(), Y, Cs=(1.0,), folds=np.array([0, 1, 0, 1]))
    >>> fits.held_out.ravel().round(6).tolist()
    [-1.0, -1.0, 1.0, 1.0]
    """
    from sklearn import config_context

    G = features @ features.T
    shape = (len(Cs), *Y.shape)
    dual, held, intercept = np.zeros(shape), np.zeros(shape), np.zeros((len(Cs), Y.shape[1]))
    parts = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(folds.max() + 1)]
    blocks = [(train, test, G[np.ix_(train, train)], G[np.ix_(test, train)]) for train, test in parts]
    # Thousands of small fits: what scikit-learn would check takes longer than they do.
    with config_context(skip_parameter_validation=True, assume_finite=True):
        for p, C in enumerate(Cs):
            for c, y in enumerate(Y.T):
                dual[p, :, c], intercept[p, c] = fitted_hinge(G, y, C)
                for train, test, inside, across in blocks:
                    v, b = fitted_hinge(inside, y[train], C)
                    held[p, test, c] = across @ v + b
    return HingeFits(dual, intercept, held)


def fitted_hinge(G: FloatArray, y: FloatArray, C: float) -> tuple[FloatArray, float]:
    """Return dual coefficients (l,) and intercept of an SVM on a kernel (l, l)."""
    from sklearn.svm import SVC

    v = np.zeros(len(y))
    if len(y) == 0 or (y == y[0]).all():
        return v, float(y[0]) if len(y) else 0.0
    # Without a seed it would draw one from numpy's global stream, and not use it.
    svm = SVC(C=C, kernel="precomputed", random_state=0).fit(G, y)
    v[svm.support_] = svm.dual_coef_[0]
    return v, float(svm.intercept_[0])
