"""Adjacencies from data: nearest neighbours, radius, and the weights of new points.

Call `knn_graph` first. ``kind="symmetric"`` (an edge if *either* end lists the other) is what Laplacian
methods are used with and is usually connected; ``kind="mutual"`` (*both* ends) falls into many components on
real data, and ``"mutual+mst"`` repairs that with a minimum spanning tree. `neighbor_weights` ties new points
to training points, so that functions on the graph can be evaluated out of sample.

Every function also takes a `NeighborSearch` for the training rows, which is then asked instead of a new one. From
10,000 rows on read `specmargin.graphs.neighbors` about that, ``reduce`` and ``search``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.exceptions import InvalidInputError
from specmargin.graphs._spanning import spanning_edges
from specmargin.graphs._values import (
    TINY,
    edge_values,
    listed_pairs,
    local_scales,
    mean_distance,
    opened,
)
from specmargin.graphs.neighbors import NeighborSearch
from specmargin.graphs.rules import KIND
from specmargin.rounding import directions
from specmargin.typing import Matrix, SparseArray

__all__ = ["knn_graph", "neighbor_weights", "radius_graph", "resolve_sigma"]


def knn_graph(
    X: Matrix | NeighborSearch,
    n_neighbors: int = 6,
    *,
    kind: str = "symmetric",
    weight: str = "binary",
    metric: Any = "euclidean",
    sigma: float | None = None,
    reduce: int | str | None = None,
    search: str = "exact",
    random_state: int = 0,
) -> SparseArray:
    r"""Return the nearest-neighbour graph of the rows of `X`.

    Every row lists its `n_neighbors` nearest other rows; a row never lists itself, also where it has
    duplicates. Self-tuning weights are

    .. math:: w_{ij} = \exp\bigl(-d_{ij}^2 / (s_i s_j)\bigr)

    with :math:`s_i` the distance of row i to its `n_neighbors`-th neighbour [1]_, so that sparse and dense
    regions are weighted alike; where that many copies leave :math:`s_i = 0`, the median of the positive
    scales stands in for it.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d), or NeighborSearch
        Rows are samples. A search brings its own `metric`, `reduce`, `search` and `random_state`.
    n_neighbors : int, default 6
        Neighbours per row, 1 to n - 1.
    kind : {"symmetric", "mutual", "mutual+mst"}, default "symmetric"
        Edge if either end lists the other; if both do; if both do, and along a minimum spanning tree of the
        data (exact up to 3000 rows).
    weight : {"binary", "heat", "cosine", "self_tuning"}, default "binary"
        1; :math:`\exp(-d^2 / (2\sigma^2))`; the cosine of the angle between the rows, where it is positive;
        the weights above.
    metric : str or callable, default "euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors`. Under "cosine" (metric or weight) a row of zeros
        has no direction: it is left without edges.
    sigma : float, optional
        Width of the heat weights, in units of the metric; by default the mean distance of the listed
        neighbours.
    reduce : int, "auto" or None, default None
        Components to project the rows on first; distances and weights are those of the projected rows. See
        `NeighborSearch`.
    search : {"exact", "approximate"}, default "exact"
        All pairs, or pynndescent (the extra ``large``). See `NeighborSearch`.
    random_state : int, default 0
        Seed of the projection and of the approximate search.

    Returns
    -------
    csr_array of shape (n, n)
        Exactly symmetric, float64, no self loops.

    Raises
    ------
    ValueError
        If there are not enough rows, an option is unknown, or X is not finite.
    ImportError
        If the approximate search is asked for and pynndescent is not installed.

    Warns
    -----
    UserWarning
        If rows of zeros are left without edges.

    References
    ----------
    .. [1] Zelnik-Manor & Perona, *Self-tuning spectral clustering*, NIPS 17, 2004.

    Examples
    --------
    >>> knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1, kind="mutual").nnz
    2
    >>> knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1, weight="self_tuning").data.round(3).tolist()
    [0.368, 0.368, 0.135, 0.135]
    """
    KIND("kind", kind)
    found = opened(X, weight, sigma, metric=metric, reduce=reduce, search=search, random_state=random_state)
    k = found.count(n_neighbors, own=True)
    rows, cols = listed_pairs(found, k)
    listed = sp.csr_array((np.ones(len(rows)), (rows, cols)), shape=(found.n_samples,) * 2)
    edges = listed.maximum(listed.T) if kind == "symmetric" else listed.minimum(listed.T)
    if kind == "mutual+mst":
        start, end = spanning_edges(found, k)
        tree = sp.csr_array((np.ones(len(start)), (start, end)), shape=edges.shape)
        edges = edges.maximum(tree.maximum(tree.T))
    if weight == "heat" and sigma is None:
        sigma = mean_distance(found, rows, cols)
    return _weighted(found, edges, k, weight, sigma)


def radius_graph(
    X: Matrix | NeighborSearch,
    radius: float,
    *,
    weight: str = "binary",
    metric: Any = "euclidean",
    sigma: float | None = None,
) -> SparseArray:
    """Return the graph with an edge between any two rows of `X` at most `radius` apart (the epsilon graph).

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d), or NeighborSearch
        Rows are samples.
    radius : float
        Largest distance of an edge, in units of the metric.
    weight, metric, sigma
        As in `knn_graph`, but for self-tuning weights; `sigma` is by default the mean distance along the
        edges.

    Returns
    -------
    csr_array of shape (n, n)
        Exactly symmetric, float64, no self loops. Rows without a neighbour in reach are isolated.

    Raises
    ------
    ValueError
        If `radius` is not a nonnegative number, an option is unknown, or X is not finite.

    Examples
    --------
    >>> radius_graph([[0.0], [1.0], [3.0]], 1.5).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    from sklearn.neighbors import NearestNeighbors

    if not (
        isinstance(radius, float | int | np.number)
        and not isinstance(radius, bool)
        and math.isfinite(radius)
        and radius >= 0
    ):
        raise InvalidInputError(f"radius={radius!r}; take a finite distance >= 0, in units of the metric.")
    if weight == "self_tuning":
        raise InvalidInputError(
            "weight='self_tuning' measures in neighbours, of which a radius names no number; take 'heat'."
        )
    found = opened(X, weight, sigma, metric=metric)
    index = np.flatnonzero(found.used)
    inside = found.rows if len(index) == found.n_samples else found.rows[index]
    if found.metric == "cosine":
        inside = directions(inside)
    near = NearestNeighbors(radius=radius, metric=found.metric).fit(inside)
    edges = sp.csr_array(near.radius_neighbors_graph(inside, mode="connectivity"))
    edges = edges.maximum(edges.T)
    if len(index) < found.n_samples:
        inner = edges.tocoo()
        edges = sp.csr_array((inner.data, (index[inner.row], index[inner.col])), shape=(found.n_samples,) * 2)
    if weight == "heat" and sigma is None:
        upper = sp.triu(edges, 1).tocoo()
        sigma = mean_distance(found, upper.row.astype(np.intp), upper.col.astype(np.intp))
    return _weighted(found, edges, 0, weight, sigma)


def resolve_sigma(
    X: Matrix | NeighborSearch,
    n_neighbors: int = 6,
    *,
    metric: Any = "euclidean",
    reduce: int | str | None = None,
    search: str = "exact",
    random_state: int = 0,
) -> float:
    """Return the mean distance of the rows to their nearest others: the default width of heat weights.

    Resolve it once on the training rows and pass it to `knn_graph` and `neighbor_weights` alike.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d), or NeighborSearch
        Training rows.
    n_neighbors : int, default 6
        Neighbours per row, 1 to n - 1.
    metric, reduce, search, random_state
        As in `knn_graph`.

    Returns
    -------
    float
        In units of the metric; 1.0 where every row coincides with its neighbours.

    Examples
    --------
    >>> resolve_sigma([[0.0], [1.0], [3.0]], n_neighbors=1)
    1.3333333333333333
    """
    found = opened(X, "heat", None, metric=metric, reduce=reduce, search=search, random_state=random_state)
    return mean_distance(found, *listed_pairs(found, found.count(n_neighbors, own=True)))


def neighbor_weights(
    X_new: Matrix,
    X: Matrix | NeighborSearch,
    n_neighbors: int = 6,
    *,
    weight: str = "binary",
    metric: Any = "euclidean",
    sigma: float | None = None,
    reduce: int | str | None = None,
    search: str = "exact",
    random_state: int = 0,
) -> SparseArray:
    """Return the weights between new points and their nearest training points.

    `specmargin.spectra.extend` averages scores with them. A new point that coincides with training points
    (distance 0) is tied to exactly those, with weight 1, so that the average returns their value. Where all
    weights of a row would vanish (no positive cosine, or a weight that underflows) its neighbours share it
    equally.

    Under self-tuning weights a new point is measured by the distance to its own `n_neighbors`-th training
    point, a training point by its scale in `knn_graph`.

    Parameters
    ----------
    X_new : ndarray or sparse matrix of shape (m, d)
        New points.
    X : ndarray or sparse matrix of shape (n, d), or NeighborSearch
        Training points, in the order of the graph. Pass the search that made the graph where it took long:
        heat weights without `sigma` and self-tuning weights need the neighbours of the training points, which
        it keeps; from rows they are searched again, and a projection is fitted again.
    n_neighbors : int, default 6
        Training points per new point, 1 to n.
    weight, metric, reduce, search, random_state
        As in `knn_graph`. A new row of zeros under "cosine" is tied to its neighbours equally.
    sigma : float, optional
        Width of the heat weights; by default `resolve_sigma` of the training rows.

    Returns
    -------
    csr_array of shape (m, n)
        No empty row, no stored zero.

    Raises
    ------
    ValueError
        If shapes do not fit, there are too few rows, an option is unknown, or data are not finite.
    ImportError
        If the approximate search is asked for and pynndescent is not installed.

    Examples
    --------
    >>> neighbor_weights([[0.4], [3.0]], [[0.0], [1.0], [3.0]], 2).toarray().tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    found = opened(X, weight, sigma, metric=metric, reduce=reduce, search=search, random_state=random_state)
    queries = found.transform(X_new)
    k = found.count(n_neighbors)
    m, largest = queries.shape[0], int(found.used.sum()) - 1
    indices = found.nearest(queries, k)
    rows, cols = np.repeat(np.arange(m), k), indices.ravel()
    distances = found.distances(queries, rows, cols)
    scales = None
    if weight == "heat" and sigma is None:
        sigma = mean_distance(found, *listed_pairs(found, min(k, largest))) if largest else 1.0
    elif weight == "self_tuning":
        own = distances.reshape(m, k).max(axis=1)
        scales = np.where(own > 0, own, 1.0), local_scales(found, min(k, largest))
    values = edge_values(found, queries, rows, cols, weight, distances=distances, sigma=sigma, scales=scales)
    values = np.where(values > TINY, values, 0.0).reshape(m, k)
    values[~values.any(axis=1)] = 1.0
    # A zero row is at cosine distance 1/2 from everything in pair_distances, hence never coincident.
    coincident = distances.reshape(m, k) == 0
    at = coincident.any(axis=1)
    values[at] = coincident[at]
    out = sp.csr_array((values.ravel(), (rows, cols)), shape=(m, found.n_samples))
    out.eliminate_zeros()
    out.sort_indices()
    return out


def _weighted(found: NeighborSearch, edges: SparseArray, k: int, weight: str, sigma: float | None) -> SparseArray:
    """Weigh every undirected edge once and mirror it."""
    upper = sp.triu(edges, 1).tocoo()
    rows, cols = upper.row.astype(np.intp), upper.col.astype(np.intp)
    scales = (local_scales(found, k),) * 2 if weight == "self_tuning" else None
    values = edge_values(found, found.rows, rows, cols, weight, sigma=sigma, scales=scales)
    half = sp.csr_array((values, (rows, cols)), shape=edges.shape)
    W = sp.csr_array(half + half.T)
    W.eliminate_zeros()
    W.sort_indices()
    return W
