"""Weights of an S3VM that suit any data: C in units of the features, C* as a share of the labelled losses.

C next to 1/2 |w|^2 has the unit of one over a squared length, so that a fixed C means another thing at every scale of
the features. And with C* = C, u unlabelled samples outvote l labelled ones u to l; C* = C l / u lets all unlabelled
losses together weigh as much as all labelled ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.typing import FloatArray

__all__ = ["labeled_weight", "unlabeled_weight"]

_WEIGHT = 10.0
"""C where the mean squared distance of a sample from the mean is one."""


def labeled_weight(Z: Any) -> float:
    """Return C = 10 over the mean squared distance of the rows of Z from their mean; 10 where all are equal.

    Parameters
    ----------
    Z : ndarray or sparse matrix of shape (n, d)
        Features, in which |w|^2 is penalised.

    Examples
    --------
    >>> labeled_weight(np.array([[7.0], [9.0]]))
    10.0
    """
    spread: FloatArray
    if sp.issparse(Z):
        n = Z.shape[0]
        mean = np.asarray(Z.mean(axis=0)).ravel()
        # Column by column, stored entries and zeros apart: a difference of squares would cancel.
        columns = Z.tocsc()
        stored = np.diff(columns.indptr)
        at = np.repeat(np.arange(len(mean)), stored)
        spread = np.bincount(at, (columns.data - mean[at]) ** 2, minlength=len(mean)) + (n - stored) * mean**2
        size = float(spread.sum()) / n
    else:
        size = float(np.asarray(Z).var(axis=0).sum())
    return _WEIGHT / size if size > 0 else _WEIGHT


def unlabeled_weight(C: float, l: float, u: int, multiple: float = 1.0) -> float:
    """Return C* = multiple C l / u; 0 where nothing is unlabelled.

    Examples
    --------
    >>> unlabeled_weight(10.0, 5, 100)
    0.5
    """
    return multiple * C * l / u if u else 0.0
