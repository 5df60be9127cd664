r"""The edges of graphs of neighbours: which rows they join, and their weights, each a function of this module.

Row i lists its k nearest others; j need not list i in return. A new kind of graph is one function here under
`neighbor_kind`: it takes the lists and returns the edges. Checks, messages and docstrings list `KINDS`.

A new weight is one function here under `edge_weight`: it takes the `Edges` and returns a value for each of them. The
checks of ``weight=``, their messages and the docstrings of the graph functions and the estimators list `EDGE_WEIGHTS`;
the first paragraph of the function's docstring is its entry there.

>>> @edge_weight()
... def inverse(edges):
...     "The inverse distance."
...     return 1.0 / edges.distances
>>> del EDGE_WEIGHTS["inverse"]  # taken back: an example
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from specmargin.checks import choice
from specmargin.graphs._nearest import exact_neighbors, nonzero_rows, pair_distances
from specmargin.graphs.neighbors import NeighborSearch
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = [
    "EDGE_WEIGHTS",
    "TINY",
    "WEIGHT",
    "EdgeWeight",
    "Edges",
    "KIND",
    "KINDS",
    "edge_weight",
    "listed_pairs",
    "mean_distance",
    "neighbor_kind",
    "neighbor_scales",
    "weights_without",
]

TINY = float(np.finfo(np.float64).tiny)
"""Weight of an edge whose own underflows."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs of samples to be weighted, and what weights are computed from, each computed when it is first read.

    Parameters
    ----------
    search : NeighborSearch
        Holds the n rows at one end of the edges.
    queries : ndarray or csr_array of shape (m, d)
        The samples at the other end, transformed by the search; its own rows in a graph.
    rows, cols : ndarray of shape (e,)
        Edge k joins ``queries[rows[k]]`` and row ``cols[k]`` of the search.
    find_width : callable
        Returns the width of heat weights.
    find_scales : callable
        Returns the distances of the queries (m,) and of the rows (n,) to their k-th neighbours.
    known_distances : ndarray of shape (e,), optional
        Lengths of the edges, where they have been computed.
    """

    search: NeighborSearch
    queries: Matrix
    rows: IntArray
    cols: IntArray
    find_width: Callable[[], float]
    find_scales: Callable[[], tuple[FloatArray, FloatArray]]
    known_distances: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def distances(self) -> FloatArray:
        """Lengths of the edges, (e,), in units of the metric."""
        if self.known_distances is not None:
            return self.known_distances
        return self.search.distances(self.queries, self.rows, self.cols)

    @cached_property
    def cosines(self) -> FloatArray:
        """Cosines of the angles between the two ends, (e,), 0 at rows of zeros; for ``angles=True``."""
        X, Y = self.queries, self.search.rows
        # scikit-learn halves |x/|x| - y/|y||^2, which is exact for equal rows but reads 1/2 for a zero row.
        cosines = 1.0 - pair_distances(X, Y, self.rows, self.cols, "cosine")
        cosines[~(nonzero_rows(X)[self.rows] & nonzero_rows(Y)[self.cols])] = 0.0
        return cosines

    @cached_property
    def width(self) -> float:
        """The user's ``sigma``, or else the mean length of the edges to listed neighbours."""
        return self.find_width()

    @cached_property
    def scales(self) -> tuple[FloatArray, FloatArray]:
        """Distance of either end to its own k-th neighbour, (e,) each; for ``neighbors=True``."""
        of_queries, of_rows = self.find_scales()
        return of_queries[self.rows], of_rows[self.cols]


Values: TypeAlias = Callable[[Edges], FloatArray]


@dataclass(frozen=True)
class EdgeWeight:
    """A registered weight.

    Parameters
    ----------
    values : callable
        Function from `Edges` to an array of as many nonnegative numbers. An edge of value 0 is left out.
    angles : bool
        Whether it reads `Edges.cosines`: rows of zeros, which have no direction, then get no edges.
    neighbors : bool
        Whether it reads `Edges.scales`, which only graphs of a number of neighbours have.
    """

    values: Values
    angles: bool = False
    neighbors: bool = False

    @property
    def summary(self) -> str:
        """First paragraph of the docstring, in one line."""
        return " ".join((self.values.__doc__ or "").strip().split("\n\n")[0].split())


EDGE_WEIGHTS: dict[str, EdgeWeight] = {}
"""The edge weights by name."""


def WEIGHT(name: str, value: Any) -> Any:
    """Check the name of an edge weight: one of `EDGE_WEIGHTS`."""
    return choice(*EDGE_WEIGHTS)(name, value)


def edge_weight(*, angles: bool = False, neighbors: bool = False) -> Callable[[Values], Values]:
    """Register a function as the edge weight of its name; the options are those of `EdgeWeight`."""

    def register(values: Values) -> Values:
        EDGE_WEIGHTS[values.__name__] = EdgeWeight(values, angles, neighbors)
        return values

    return register


def weights_without(requirement: str) -> str:
    """Return the names of the weights that do without "angles" or "neighbors", for a message."""
    return ", ".join(name for name, weight in EDGE_WEIGHTS.items() if not getattr(weight, requirement))


def listed_pairs(search: NeighborSearch, k: int) -> tuple[IntArray, IntArray]:
    """Directed edges from every row to its k nearest others."""
    return np.repeat(np.flatnonzero(search.used), k), search.lists(k).ravel()


def mean_distance(search: NeighborSearch, rows: IntArray, cols: IntArray) -> float:
    """Mean length of edges between rows; 1 where there are none, or all have length 0."""
    mean = float(search.distances(search.rows, rows, cols).mean()) if len(rows) else 0.0
    return mean if mean > 0 else 1.0


def neighbor_scales(search: NeighborSearch, k: int) -> FloatArray:
    """Distance of every row to its k-th neighbour; the median of the positive ones where k copies leave 0."""
    scales = np.zeros(search.n_samples)
    if k:
        rows, cols = listed_pairs(search, k)
        scales[search.used] = search.distances(search.rows, rows, cols).reshape(-1, k).max(axis=1)
    positive = scales > 0
    scales[~positive] = np.median(scales[positive]) if positive.any() else 1.0
    return scales


@edge_weight()
def binary(edges: Edges) -> FloatArray:
    """1 for every edge."""
    return np.ones(len(edges))


@edge_weight()
def heat(edges: Edges) -> FloatArray:
    r""":math:`\exp(-d^2 / (2\sigma^2))` at the distance d, with the width `sigma`."""
    return np.maximum(np.exp(-((edges.distances / edges.width) ** 2) / 2.0), TINY)


@edge_weight(angles=True)
def cosine(edges: Edges) -> FloatArray:
    """Cosine of the angle between the rows; no edge where it is not positive."""
    return np.maximum(edges.cosines, 0.0)


@edge_weight(neighbors=True)
def self_tuning(edges: Edges) -> FloatArray:
    r""":math:`\exp(-d_{ij}^2 / (s_i s_j))`, with :math:`s_i` the distance of row i to its `n_neighbors`-th neighbour.

    Sparse and dense regions are then weighted alike (Zelnik-Manor & Perona, *Self-tuning spectral clustering*, NIPS 17,
    2004). Where that many copies leave s_i = 0, the median of the positive scales takes its place.
    """
    own, other = edges.scales
    return np.maximum(np.exp(-(edges.distances / own) * (edges.distances / other)), TINY)


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
