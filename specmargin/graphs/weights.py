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
from specmargin.graphs.neighbors import NeighborSearch, mean_length
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
        Edge i joins ``queries[rows[i]]`` and row ``cols[i]`` of the search.
    k : int
        Neighbours that every row of the search lists; 0 in a graph of a radius.
    sigma : float, optional
        Width of heat weights that the user gives.
    is_graph : bool
        Whether the queries are the rows of the search; of others each has as many edges.
    """

    search: NeighborSearch
    queries: Matrix
    rows: IntArray
    cols: IntArray
    k: int
    sigma: float | None
    is_graph: bool = True

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def distances(self) -> FloatArray:
        """Lengths of the edges, (e,), in units of the metric."""
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
        """The user's ``sigma``, or else the mean length of the edges to listed neighbours, or of these edges."""
        if self.sigma is not None:
            return self.sigma
        return self.search.mean_distance(self.k) if self.k else mean_length(self.distances)

    @cached_property
    def scales(self) -> tuple[FloatArray, FloatArray]:
        """Distance of either end to its own k-th neighbour, (e,) each; for ``neighbors=True``."""
        of_rows = neighbor_scales(self.search, self.k)
        if self.is_graph:
            return of_rows[self.rows], of_rows[self.cols]
        farthest = self.distances.reshape(self.queries.shape[0], -1).max(axis=1)
        return np.where(farthest > 0, farthest, 1.0)[self.rows], of_rows[self.cols]


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


def neighbor_scales(search: NeighborSearch, k: int) -> FloatArray:
    """Distance of every row to its k-th neighbour; the median of the positive ones where k copies leave 0."""
    scales = np.zeros(search.n_samples)
    if k:
        scales[search.used] = search.distances(search.rows, *search.pairs(k)).reshape(-1, k).max(axis=1)
    positive = scales > 0
    scales[~positive] = np.median(scales[positive]) if positive.any() else 1.0
    return scales


@edge_weight()
def binary(edges: Edges) -> FloatArray:
    """1 for every edge."""
    return np.ones(len(edges.rows))


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
    index, X, metric = np.flatnonzero(search.used), search.searched, search.metric
    n = len(index)
    if n <= _DENSE_ROWS or metric == "precomputed":
        from sklearn.metrics import pairwise_distances

        distances = np.array(pairwise_distances(X, metric=metric), dtype=np.float64)
        np.maximum(distances, TINY, out=distances)  # scipy reads 0 as no edge, which loses duplicates
        np.fill_diagonal(distances, 0.0)
        rows, cols = csgraph.minimum_spanning_tree(sp.csr_array(distances)).nonzero()
        return index[rows], index[cols]
    k = min(max(2 * n_neighbors, 15), n - 1)
    rows, cols = np.repeat(np.arange(n), k), np.searchsorted(index, search.lists(k).ravel())
    while True:
        pairs = np.unique(np.stack([np.minimum(rows, cols), np.maximum(rows, cols)]).astype(np.int32), axis=1)
        distances = np.maximum(pair_distances(X, X, pairs[0], pairs[1], metric), TINY)
        tree = csgraph.minimum_spanning_tree(sp.csr_array((distances, tuple(pairs)), shape=(n, n)))
        rows, cols = tree.nonzero()
        if len(rows) == n - 1:
            return index[rows], index[cols]
        more = _joining_edges(X, tree, metric)
        rows, cols = np.concatenate([rows, more[0]]), np.concatenate([cols, more[1]])


def _joining_edges(X: Matrix, forest: SparseArray, metric: Any) -> tuple[IntArray, IntArray]:
    """Shortest edge out of every tree but the largest."""
    count, index = csgraph.connected_components(forest, directed=False)
    start, end = [], []
    for k in set(range(count)) - {int(np.bincount(index).argmax())}:
        inside, outside = np.flatnonzero(index == k), np.flatnonzero(index != k)
        closest = outside[exact_neighbors(X[outside], X[inside], 1, metric)[:, 0]]
        at = int(pair_distances(X, X, inside, closest, metric).argmin())
        start.append(inside[at])
        end.append(closest[at])
    return np.array(start, dtype=np.intp), np.array(end, dtype=np.intp)
