"""How neighbour lists become an undirected graph, each kind a function of this module.

Row i lists its k nearest others; j need not list i in return. A new kind is one function here under
`neighbor_kind`: it takes the lists and returns the edges. Checks, messages and docstrings list `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from specmargin.checks import choice
from specmargin.graphs._nearest import exact_neighbors, pair_distances
from specmargin.graphs.neighbors import NeighborSearch
from specmargin.graphs.weights import TINY
from specmargin.typing import IntArray, Matrix, SparseArray

__all__ = ["KIND", "KINDS", "neighbor_kind"]

_DENSE_ROWS = 3000  # 72 MB of distances

Kind: TypeAlias = Callable[[SparseArray, NeighborSearch, int], SparseArray]
"""From the lists (n, n), 1 where row i lists j, the search and k to the symmetric edges (n, n)."""

KINDS: dict[str, Kind] = {}
"""The kinds by name."""


def KIND(name: str, value: Any) -> Any:
    """Check the name of a kind of graph: one of `KINDS`."""
    return choice(*KINDS)(name, value)


def neighbor_kind(name: str) -> Callable[[Kind], Kind]:
    """Register a function as the kind of that name."""

    def register(kind: Kind) -> Kind:
        KINDS[name] = kind
        return kind

    return register


@neighbor_kind("symmetric")
def either_end(listed: SparseArray, search: NeighborSearch, k: int) -> SparseArray:
    """Join two rows if either lists the other."""
    return listed.maximum(listed.T)


@neighbor_kind("mutual")
def both_ends(listed: SparseArray, search: NeighborSearch, k: int) -> SparseArray:
    """Join two rows if both list each other."""
    return listed.minimum(listed.T)


@neighbor_kind("mutual+mst")
def both_ends_or_tree(listed: SparseArray, search: NeighborSearch, k: int) -> SparseArray:
    """Join as "mutual" does, and along a minimum spanning tree of the data (exact up to 3000 rows)."""
    edges = both_ends(listed, search, k)
    start, end = _spanning_edges(search, k)
    tree = sp.csr_array((np.ones(len(start)), (start, end)), shape=edges.shape)
    return edges.maximum(tree.maximum(tree.T))


def _spanning_edges(search: NeighborSearch, n_neighbors: int) -> tuple[IntArray, IntArray]:
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
        np.maximum(distances, TINY, out=distances)  # scipy reads 0 as no edge, which loses duplicates
        np.fill_diagonal(distances, 0.0)
        rows, cols = _tree_edges(sp.csr_array(distances))
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
    distances = np.maximum(pair_distances(X, X, pairs[0], pairs[1], metric), TINY)
    return sp.csr_array((distances, (pairs[0], pairs[1])), shape=(n, n))


def _tree_edges(graph: sp.csr_array) -> tuple[IntArray, IntArray]:
    """Return the ends of the edges of a minimum spanning tree, or forest, of a graph."""
    if max(graph.nnz, *graph.shape) < 2**31:  # of scipy's versions, those before 1.15 take no other indices
        indices, indptr = (part.astype(np.int32, copy=False) for part in (graph.indices, graph.indptr))
        graph = sp.csr_array((graph.data, indices, indptr), shape=graph.shape)
    tree = csgraph.minimum_spanning_tree(graph).tocoo()
    return tree.row.astype(np.intp), tree.col.astype(np.intp)
