"""A minimum spanning tree of the data, which keeps a mutual neighbour graph in one piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from specmargin.graphs._distances import pair_distances
from specmargin.graphs._nearest import exact_neighbors
from specmargin.typing import FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from specmargin.graphs.neighbors import NeighborSearch

__all__ = ["spanning_edges"]

_DENSE_ROWS = 3000  # 72 MB of distances
_TINY = np.finfo(np.float64).tiny


def spanning_edges(search: NeighborSearch, n_neighbors: int) -> tuple[IntArray, IntArray]:
    """Return the edges (i, j) of a minimum spanning tree of the rows that can have neighbours.

    Exact up to 3000 rows. Beyond, the forest of a neighbour graph, whose trees are then joined by the
    shortest edges between them (Boruvka's rounds): always spanning, and minimal within the neighbour graph.
    """
    index = np.flatnonzero(search.used)
    n, metric = len(index), search.metric
    X = search.rows if n == search.n_samples else search.rows[index]
    if n <= _DENSE_ROWS or metric == "precomputed":
        from sklearn.metrics import pairwise_distances

        distances = np.array(pairwise_distances(X, metric=metric), dtype=np.float64)
        rows, cols = _tree_edges(sp.csr_array(_with_positive_entries(distances)))
        return index[rows], index[cols]
    k = min(max(2 * n_neighbors, 15), n - 1)
    place = np.empty(search.n_samples, dtype=np.intp)
    place[index] = np.arange(n)
    rows, cols = np.repeat(np.arange(n), k), place[search.lists(k)].ravel()
    rows, cols = _tree_edges(_distance_graph(X, rows, cols, metric))
    while len(rows) < n - 1:
        extra = _joining_edges(X, rows, cols, metric)
        rows, cols = np.concatenate([rows, extra[0]]), np.concatenate([cols, extra[1]])
        rows, cols = _tree_edges(_distance_graph(X, rows, cols, metric))
    return index[rows], index[cols]


def _joining_edges(X: Matrix, rows: IntArray, cols: IntArray, metric: Any) -> tuple[IntArray, IntArray]:
    """Shortest edge out of every component but the largest."""
    n = X.shape[0]
    forest = sp.coo_array((np.ones(len(rows)), (rows, cols)), shape=(n, n))
    count, index = csgraph.connected_components(forest, directed=False)
    largest = int(np.bincount(index).argmax())
    start, end = [], []
    for k in range(count):
        if k == largest:
            continue
        inside, outside = np.flatnonzero(index == k), np.flatnonzero(index != k)
        closest = outside[exact_neighbors(X[outside], X[inside], 1, metric)[:, 0]]
        at = int(pair_distances(X, X, inside, closest, metric).argmin())
        start.append(inside[at])
        end.append(closest[at])
    return np.array(start, dtype=np.intp), np.array(end, dtype=np.intp)


def _distance_graph(X: Matrix, rows: IntArray, cols: IntArray, metric: Any) -> sp.csr_array:
    """One stored distance per undirected edge."""
    n = X.shape[0]
    pairs = np.unique(np.stack([np.minimum(rows, cols), np.maximum(rows, cols)]), axis=1)
    distances = np.maximum(pair_distances(X, X, pairs[0], pairs[1], metric), _TINY)
    return sp.csr_array((distances, (pairs[0], pairs[1])), shape=(n, n))


def _with_positive_entries(distances: FloatArray) -> FloatArray:
    """Raise zero distances to the smallest number: scipy reads 0 as no edge, which loses duplicates."""
    np.maximum(distances, _TINY, out=distances)
    np.fill_diagonal(distances, 0.0)
    return distances


def _tree_edges(graph: sp.csr_array) -> tuple[IntArray, IntArray]:
    """Return the ends of the edges of a minimum spanning tree, or forest, of a graph."""
    if max(graph.nnz, *graph.shape) < 2**31:  # of scipy's versions, those before 1.15 take no other indices
        indices, indptr = (part.astype(np.int32, copy=False) for part in (graph.indices, graph.indptr))
        graph = sp.csr_array((graph.data, indices, indptr), shape=graph.shape)
    tree = csgraph.minimum_spanning_tree(graph).tocoo()
    return tree.row.astype(np.intp), tree.col.astype(np.intp)
