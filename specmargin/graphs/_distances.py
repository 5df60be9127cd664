"""Rows that have distances, distances of chosen pairs, and the cosine, as the searches and weights need them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import feature_rows
from specmargin.rounding import directions
from specmargin.typing import BoolArray, FloatArray, IntArray, Matrix

__all__ = [
    "LARGE",
    "PROJECTED_METRICS",
    "check_rows",
    "cosine_similarities",
    "nonzero_rows",
    "pair_distances",
    "row_norms",
]

LARGE = 10_000
"""Rows beyond which memory and time decide: single precision where it is exact, cosines searched as distances."""

PROJECTED_METRICS = ("euclidean", "l2", "cosine")
"""Metrics that a projection on principal components keeps, and that pynndescent searches."""

_CHUNK = 2_000_000  # numbers per operand of a chunk of pairs: 16 MB


def check_rows(X: Matrix, name: str = "X", *, small: bool = True) -> Matrix:
    """Return `X` as a finite array or CSR matrix; name the first bad entry otherwise.

    In float64, but for more than `LARGE` dense rows of a type that float32 holds exactly (images of uint8).
    """
    from sklearn.utils import check_array

    large = len(X) > LARGE if not sp.issparse(X) and hasattr(X, "__len__") else False
    single = large and hasattr(X, "dtype") and np.can_cast(X.dtype, np.float32)
    order = "C" if large else None  # as scikit-learn's fast search needs it
    keywords = {"accept_sparse": "csr", "order": order, "ensure_all_finite": False, "input_name": name}
    dtype = np.float32 if single else np.float64
    return feature_rows(X, name, lambda X: check_array(X, dtype=dtype, **keywords), small=small)


def nonzero_rows(X: Matrix) -> BoolArray:
    """Mask of the rows that have a direction."""
    return np.asarray(abs(X).sum(axis=1)).ravel() > 0


def row_norms(X: Matrix, *, squared: bool = False) -> FloatArray:
    """Euclidean length of every row."""
    from sklearn.utils.extmath import row_norms as norms

    return np.asarray(norms(X, squared=squared), dtype=np.float64)


def pair_distances(X: Matrix, Y: Matrix, rows: IntArray, cols: IntArray, metric: Any) -> FloatArray:
    """Distance between ``X[rows[k]]`` and ``Y[cols[k]]`` for every k.

    Computed from differences for the Euclidean and the cosine metric: the search itself may use
    ``|x|^2 - 2x'y + |y|^2``, which puts equal rows 1e-8 apart.
    """
    from sklearn.metrics import pairwise_distances
    from sklearn.metrics.pairwise import paired_cosine_distances, paired_euclidean_distances

    if metric == "precomputed":
        return np.asarray(X[rows, cols], dtype=np.float64).ravel()
    distances = np.empty(len(rows))
    if metric == "cosine":
        X, Y = directions(X), directions(Y)
    if metric in PROJECTED_METRICS:
        # Not paired_distances, which refuses sparse rows.
        paired = paired_cosine_distances if metric == "cosine" else paired_euclidean_distances
        width = X.nnz // max(1, X.shape[0]) if sp.issparse(X) else X.shape[1]
        step = max(1, _CHUNK // max(1, width))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            distances[part] = paired(X[rows[part]], Y[cols[part]])
        return distances
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
    for group in np.split(order, starts[1:]) if len(rows) else []:
        row = X[rows[group[:1]]]
        distances[group] = pairwise_distances(row, Y[cols[group]], metric=metric).ravel()
    return distances


def cosine_similarities(X: Matrix, Y: Matrix, rows: IntArray, cols: IntArray) -> FloatArray:
    """Cosine of the angle between ``X[rows[k]]`` and ``Y[cols[k]]``, 0 where a row is zero."""
    # scikit-learn halves |x/|x| - y/|y||^2, which is exact for equal rows but reads 1/2 for a zero row.
    similarity = 1.0 - pair_distances(X, Y, rows, cols, "cosine")
    similarity[~(nonzero_rows(X)[rows] & nonzero_rows(Y)[cols])] = 0.0
    return similarity
