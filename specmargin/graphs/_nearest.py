"""Distances of chosen pairs of rows, and the two searches: all pairs, block by block, and nearest-neighbour descent."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.rounding import directions
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix

__all__ = [
    "LARGE",
    "PROJECTED_METRICS",
    "NeighborDescent",
    "exact_neighbors",
    "load_pynndescent",
    "nonzero_rows",
    "pair_distances",
    "row_norms",
    "tie_slack",
]

LARGE = 10_000
"""Rows beyond which memory and time decide: single precision where it is exact, cosines searched as distances."""

PROJECTED_METRICS = ("euclidean", "l2", "cosine")
"""Metrics that a projection on principal components keeps, and that pynndescent searches."""

_EUCLIDEAN = ("l2", "sqeuclidean", "minkowski", "nan_euclidean")  # other names of one order
_MORE = 4  # neighbours to search in addition, which tell most ties
_FEW = 6  # queries that show how many are tied
_THIN = 0.9  # of the rows: where copies leave less, they are left out
_TREE_COLUMNS, _LEAF = 7, 30  # columns up to which a tree is quicker than all pairs, and its usual leaves
_CHUNK = 2_000_000  # numbers per operand of a chunk of pairs: 16 MB
_CACHED = 100_000  # the same where one pass follows another: 800 kB
_BLOCK = 4_000_000  # of listed distances that are looked through at a time: 32 MB
_MEMORY = 64  # MB of distances held at a time: of documents nearly every product is positive, so that X X' is dense
_EXACT_ROWS = 4000  # rows among which the exact search is quicker than any index


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
    if metric in ("euclidean", "l2") and not (sp.issparse(X) or sp.issparse(Y)):
        # As scikit-learn does, to the last bit, by differences that stay in the cache.
        step = max(1, _CACHED // max(1, X.shape[1]))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            D = X[rows[part]] - Y[cols[part]]
            distances[part] = np.sqrt(np.einsum("ij,ij->i", D, D))
        return distances
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


def exact_neighbors(X: Matrix, queries: Matrix, k: int, metric: Any) -> IntArray:
    """Return the indices (m, k) of the k rows of `X` nearest to every query, the nearest first.

    Of rows at equal distances the one of the lowest index comes first. A search that computes
    ``|x|^2 - 2x'y + |y|^2`` rounds as the number of threads and the place in a block have it: distances that it cannot
    tell apart are computed again, from differences.
    """
    from sklearn.preprocessing import normalize

    metric = "euclidean" if metric in _EUCLIDEAN else metric
    sparse = sp.issparse(X)
    if metric == "cosine":
        X, queries = directions(X), directions(queries)
        if not sparse and X.shape[0] > LARGE:
            # |x - y|^2 = 2 (1 - cos) of unit rows: the same order, by a search that keeps k distances, not n.
            X, queries, metric = normalize(X), normalize(queries), "euclidean"
    if sparse or metric not in ("euclidean", "cosine"):
        # A graph of distances holds no more than it was asked for, in an order of its own.
        more = 0 if metric == "precomputed" and sparse else _MORE
        return _first_neighbors(X, queries, k, metric, k + more)
    width = _enough(X, queries, k, metric)
    if width > 2 * k:
        # Of equal rows no query lists more than the first k, and equal queries list the same.
        _, before = _copies(X)
        few = np.flatnonzero(before < k)
        if len(few) < _THIN * len(X):
            some, number = np.unique(_copies(queries)[0], return_inverse=True)
            X, queries = X[few], queries[some]
            return few[_first_neighbors(X, queries, k, metric, _enough(X, queries, k, metric))[number]]
    return _first_neighbors(X, queries, k, metric, width)


def _first_neighbors(X: Matrix, queries: Matrix, k: int, metric: Any, width: int) -> IntArray:
    """Return what `exact_neighbors` does, of rows prepared for a metric, by lists of `width` that hold most ties."""
    from scipy.spatial import cKDTree
    from sklearn import config_context
    from sklearn.neighbors import NearestNeighbors

    sparse, m, (n, d) = sp.issparse(X), queries.shape[0], X.shape
    find: Any
    if metric == "euclidean" and not sparse and d <= _TREE_COLUMNS:
        find = cKDTree(X, leafsize=_LEAF, balanced_tree=False).query  # balanced, it is slow where coordinates agree
    else:
        find = NearestNeighbors(metric=metric).fit(X).kneighbors
    indices = np.empty((m, k), dtype=np.intp)
    rows, width = np.arange(m), min(width, n)
    lengths = row_norms(queries) if metric == "euclidean" else np.ones(m)
    while len(rows):
        undecided = [rows[:0]]
        for part in np.split(rows, range(step := max(1, _BLOCK // width), len(rows), step)):
            with config_context(working_memory=_MEMORY):
                found = find(queries if len(part) == m else queries[part], width)
            distances, listed = (one.reshape(-1, width) for one in found)
            values = distances**2 if metric == "euclidean" else distances
            indices[part] = listed[:, :k]
            slack = tie_slack(lengths[part], values[:, -1], d, metric)[:, None]
            alike = values[:, 1:] - values[:, :-1] <= slack
            if not alike.any():
                continue
            last = values[:, k - 1 : k] + slack
            cut = (values[:, -1] <= last[:, 0]) & (k < width < n)
            undecided.append(part[cut])
            at = np.flatnonzero(alike.any(axis=1) & ~cut)
            near, own = values[at] <= last[at], listed[at]
            exact = np.where(near, distances[at], np.inf)
            if metric in ("euclidean", "cosine"):
                tied = np.pad(alike[at], ((0, 0), (1, 1)))
                i, j = np.nonzero(near & (tied[:, 1:] | tied[:, :-1]))  # with the one before or after
                exact[i, j] = pair_distances(queries, X, part[at[i]], own[i, j], metric)
            order = np.lexsort((own, exact), axis=1)[:, :k]
            indices[part[at]] = np.take_along_axis(own, order, axis=1)
        rows, width = np.concatenate(undecided), min(4 * width, n)
    return indices


def _enough(X: FloatArray, queries: FloatArray, k: int, metric: str) -> int:
    """Return the length of lists of which most show where a list of k ends, by the ties of a few queries."""
    from sklearn.preprocessing import normalize

    some = queries[np.linspace(0, len(queries) - 1, _FEW).astype(np.intp)]
    if metric == "cosine":
        X, some = normalize(X), normalize(some)
    values = row_norms(X, squared=True) - 2.0 * (some @ X.T) + row_norms(some, squared=True)[:, None]
    last = np.maximum(np.partition(values, k - 1, axis=1)[:, k - 1], 0.0)
    last += tie_slack(row_norms(some), last, X.shape[1], "euclidean")
    most = int(np.count_nonzero(values <= last[:, None], axis=1).max())
    return k + 1 if most == k else max(most, k + _MORE) + 1


def _copies(X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return for every row the first one that equals it, and how many of these come before."""
    n, columns = X.shape
    order = np.argsort(np.einsum("ij,j->i", X, np.random.default_rng(0).random(columns)), kind="stable")
    new = np.append(True, (X[order[1:]] != X[order[:-1]]).any(axis=1))
    starts = np.maximum.accumulate(np.where(new, np.arange(n), 0))
    first, before = np.empty((2, n), dtype=np.intp)
    first[order], before[order] = order[starts], np.arange(n) - starts
    return first, before


def tie_slack(lengths: FloatArray, farthest: FloatArray, n_features: int, metric: Any) -> FloatArray:
    """Return the difference (m,) up to which rounding may order two distances of a query: of squares, if Euclidean.

    Queries of these `lengths`, and rows whose squared distances to them are at most `farthest`. It is 0 for metrics
    that are computed pair by pair.
    """
    unit = (n_features + 64) * float(np.finfo(np.float64).eps)
    if metric == "euclidean":
        return unit * (2.0 * lengths + np.sqrt(farthest)) ** 2
    return np.full(len(lengths), 8.0 * unit if metric == "cosine" else 0.0)


def load_pynndescent() -> Any:
    """Return the module pynndescent; say how to install it otherwise."""
    try:
        return import_module("pynndescent")
    except ImportError as error:
        raise ImportError(
            "search='approximate' needs pynndescent: pip install 'specmargin[large]', or take search='exact'."
        ) from error


class NeighborDescent:
    """A search by pynndescent: of 1.5 k neighbours that its index returns, the k nearest by exact distance.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
    k : int
        Number of neighbours.
    metric : {"euclidean", "l2", "cosine"}
    seed : int, RandomState or None
    """

    def __init__(self, X: Matrix, k: int, metric: str, seed: Any) -> None:
        self.k, self._X, self._metric = k, X, metric
        self._candidates = min(math.ceil(1.5 * k) + 1, X.shape[0])
        self._index: Any = None
        if X.shape[0] > _EXACT_ROWS:
            # One thread: the lists depend on their number.
            self._index = load_pynndescent().NNDescent(
                X,
                metric="cosine" if metric == "cosine" else "euclidean",
                n_neighbors=self._candidates,
                random_state=seed,
                n_jobs=1,
            )

    def __call__(self, queries: Matrix, k: int) -> IntArray:
        """Return what `exact_neighbors` does, of the same shape."""
        X = self._X
        if self._index is None:
            return exact_neighbors(X, queries, k, self._metric)
        if queries is X:
            candidates, _ = self._index.neighbor_graph
        else:
            candidates, _ = self._index.query(queries, k=self._candidates)
        indices = self._closest(queries, candidates, k)
        short = np.flatnonzero(indices[:, -1] < 0)
        if len(short):
            indices[short] = exact_neighbors(X, queries[short], k, self._metric)
        return indices

    def _closest(self, queries: Matrix, candidates: AnyArray, k: int) -> IntArray:
        """Return the k candidates at the smallest exact distance; -1 where there are not as many."""
        m, width = candidates.shape
        rows, cols = np.repeat(np.arange(m), width), candidates.ravel().astype(np.intp)
        known = cols >= 0
        distances = np.full(m * width, np.inf)
        distances[known] = pair_distances(queries, self._X, rows[known], cols[known], self._metric)
        best = np.lexsort((cols, distances, rows)).reshape(m, width)[:, :k]
        return cols[best]
