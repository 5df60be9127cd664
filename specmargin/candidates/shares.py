"""The threshold: shares of the classes among the predictions, drawn towards those of the labels while labels are few.

With few labels most of the error is that of the threshold. With l labels, of which l_c are of the class c, the shares
(l_c + 2) / (l + 2 K) of the labels (two pseudo-labels per class) count A = min(1, 10 / l), those of the predictions
1 - A.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from specmargin.candidates.constants import CONSTANTS, Constants
from specmargin.typing import FloatArray

__all__ = ["cut", "log_offsets", "shrunken_shares"]

_TIE = 1e-9
"""Decisions closer than this, relative to the larger one or to 1, are those of copies: no threshold between them."""
_LEAST = 0.2  # of 1 / K: no class is asked for less
_ITERATIONS = 300
_TOL = 1e-4


def shrunken_shares(counts: FloatArray, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the shares (K,) of the classes that label counts (K,) speak for.

    Examples
    --------
    >>> shrunken_shares(np.array([1.0, 5.0])).tolist()
    [0.3, 0.7]
    """
    return (counts + constants.pseudo_labels) / (counts.sum() + len(counts) * constants.pseudo_labels)


def log_offsets(
    log_p: FloatArray, counts: FloatArray, constants: Constants = CONSTANTS, start: FloatArray | None = None
) -> FloatArray:
    """Return what to add to log-probabilities (n, K) so that the predictions have the shares that are aimed at.

    Two classes: a threshold, so that the share of the second class is as near to the aim as copies of a sample
    allow, and neither class is empty. Several: offsets after which the mean probabilities are the aim.

    Parameters
    ----------
    log_p : ndarray of shape (n, K)
        Of all samples, or of a part of them.
    counts : ndarray of shape (K,)
        Labels of each class.
    constants : Constants
    start : ndarray of shape (K,), optional
        Offsets that are nearly right.

    Examples
    --------
    >>> log_p = np.log([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> predictions = (log_p + log_offsets(log_p, np.array([2.0, 2.0]))).argmax(axis=1)
    >>> predictions.tolist()
    [0, 0, 1, 1]
    """
    n_classes = log_p.shape[1]
    trust = min(1.0, constants.share_labels / max(float(counts.sum()), 1.0))
    own = np.bincount(log_p.argmax(axis=1), minlength=n_classes) / len(log_p)
    aim = trust * shrunken_shares(counts, constants) + (1.0 - trust) * own
    if n_classes == 2:
        return np.array([cut(log_p[:, 1] - log_p[:, 0], float(aim[1])), 0.0])
    aim = np.maximum(aim, _LEAST / n_classes)
    aim /= aim.sum()
    offsets = np.zeros(n_classes) if start is None else start
    for _ in range(_ITERATIONS):
        # Iterative scaling: each step decreases the convex function whose gradient is the difference of the shares.
        z = log_p + offsets
        means = np.exp(z - logsumexp(z, axis=1, keepdims=True)).mean(axis=0)
        step = np.log(aim / np.maximum(means, 1e-12))
        offsets = offsets + step
        if np.abs(step).max() < _TOL:
            break
    return offsets


def cut(scores: FloatArray, share: float) -> float:
    """Return the threshold above which about a share of the scores lies: never within copies, never beyond all.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    share : float

    Examples
    --------
    >>> cut(np.array([0.0, 1.0, 1.0, 2.0]), 0.3), cut(np.array([0.0, 1.0, 2.0, 3.0]), 0.5)
    (1.5, 1.5)
    """
    ordered = np.sort(scores)
    gaps = np.diff(ordered)
    size = np.maximum(np.abs(ordered[1:]), 1.0)
    places = np.flatnonzero(gaps > _TIE * size)  # a threshold after this many + 1 scores
    if len(places) == 0:
        return 0.0
    above = len(scores) - 1 - places
    at = places[np.abs(above - share * len(scores)).argmin()]
    return float((ordered[at] + ordered[at + 1]) / 2.0)
