r"""The threshold: shares of the classes among the predictions, told by labels and gaps while labels are few.

With few labels most of the error is that of the threshold. Two classes are cut where the log-odds are sparse and the
shares fit those of the labels, `specmargin.labels.shares.sparse_share`: the share above that cut counts
:math:`A = \min(1, 20 / l')`, that of the predictions 1 - A. Of several classes, :math:`l_c` of l labels in class c,
the shares :math:`(l_c + 2) / (l + 2 K)` of the labels (two pseudo-labels per class) count
:math:`A = \min(1, 10 / l')`. Few labels are those of the rarer classes, too: classifiers forget a class of three
labels however many the others have, while three among 150 say well how rare it is. Hence

.. math:: l' = K^2 \Big/ \sum_c 1 / l_c ,

the number of labels that would say as much about the ratio of the classes if all had the same number; it is l if so.
Where somebody knows the shares of the classes, these are the aim, and neither labels nor predictions count.
"""

from __future__ import annotations

import numpy as np

from specmargin.labels.shares import cut, shrunken_shares, sparse_share
from specmargin.tables.candidates.constants import CONSTANTS, Constants
from specmargin.typing import FloatArray

__all__ = ["even_labels", "log_offsets"]

_LEAST = 0.2  # of 1 / K: no class is asked for less
_ITERATIONS = 300
_TOL = 1e-4


def even_labels(counts: FloatArray) -> float:
    """Return l', the labels of classes of equal numbers that say as much as those counted; 0 where a class has none.

    With two classes the variance of the log-ratio of the shares is about 1 / l_0 + 1 / l_1 = 4 / l'.

    Parameters
    ----------
    counts : ndarray of shape (K,)
        Labels of each class.

    Examples
    --------
    >>> even_labels(np.array([10.0, 10.0])), round(even_labels(np.array([147.0, 3.0])), 1)
    (20.0, 11.8)
    """
    return float(len(counts) ** 2 / (1.0 / counts).sum()) if counts.all() else 0.0


def log_offsets(
    log_p: FloatArray,
    counts: FloatArray,
    constants: Constants = CONSTANTS,
    start: FloatArray | None = None,
    known_shares: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Return what to add to log-probabilities (n, K) so that the predictions have the shares that are aimed at.

    Two classes: a threshold, so that the share of the second class is as near to the aim as copies of a sample
    allow, and neither class is empty. Several: offsets after which the mean probabilities are the aim.

    Parameters
    ----------
    log_p : ndarray of shape (n, K)
        Logarithms of the probabilities of all samples, or of a part of them.
    counts : ndarray of shape (K,)
        Labels of each class.
    constants : Constants
    start : ndarray of shape (K,), optional
        Offsets that are nearly right.
    known_shares : tuple of two ndarrays of shape (K,), optional
        Ends of the intervals in which the shares of the classes are known to be, of
        `specmargin.labels.shares.known_shares`: aimed at are the shares within that are nearest to what labels and
        predictions say.

    Examples
    --------
    >>> log_p = np.log([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> predictions = (log_p + log_offsets(log_p, np.array([2.0, 2.0]))).argmax(axis=1)
    >>> predictions.tolist()
    [0, 0, 1, 1]
    """
    n_classes = log_p.shape[1]
    aim = _estimated_shares(log_p, counts, constants)
    if known_shares is not None:
        aim = np.maximum(_nearest_within(aim, *known_shares), 1e-12)
    if n_classes == 2:
        return np.array([cut(log_p[:, 1] - log_p[:, 0], float(aim[1]), unit=1.0), 0.0])
    offsets = np.zeros(n_classes) if start is None else start
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    for _ in range(_ITERATIONS):
        # Iterative scaling: each step decreases the convex function whose gradient is the difference of the shares.
        factors = np.exp(offsets - offsets.max())
        means = factors * ((1.0 / np.maximum(p @ factors, 1e-300)) @ p) / len(p)
        step = np.log(aim / np.maximum(means, 1e-12))
        offsets = offsets + step
        if np.abs(step).max() < _TOL:
            break
    return offsets


def _estimated_shares(log_p: FloatArray, counts: FloatArray, constants: Constants) -> FloatArray:
    """Return the shares to aim at where nobody knows them: what labels and gaps tell, and those of the predictions."""
    n_classes, labels = log_p.shape[1], even_labels(counts)
    own = np.bincount(log_p.argmax(axis=1), minlength=n_classes) / len(log_p)
    if n_classes == 2:
        trust = min(1.0, constants.cut_labels / max(float(labels), 1.0))
        share = sparse_share(log_p[:, 1] - log_p[:, 0], counts)
        return trust * np.array([1.0 - share, share]) + (1.0 - trust) * own
    trust = min(1.0, constants.share_labels / max(float(labels), 1.0))
    shares = trust * shrunken_shares(counts, constants.pseudo_labels) + (1.0 - trust) * own
    shares = np.maximum(shares, _LEAST / n_classes)
    return np.asarray(shares / shares.sum())


def _nearest_within(shares: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the shares of sum one between two ends that are nearest to others: these, moved and clipped.

    All move by one number; the sum rises with it, and one is among its values: bisection finds it to rounding.
    """
    least, most = -1.0, 1.0
    for _ in range(60):
        middle = (least + most) / 2.0
        if np.clip(shares + middle, low, high).sum() < 1.0:
            least = middle
        else:
            most = middle
    return np.clip(shares + most, low, high)
