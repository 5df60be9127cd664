"""Adjacencies from data: nearest neighbours, radius, and the weights of new points.

Call `knn_graph` first. ``kind="symmetric"`` (an edge if *either* end lists the other) is what Laplacian
methods are used with and is usually connected; ``kind="mutual"`` (*both* ends) falls into many components on
real data, and ``"mutual+mst"`` repairs that with a minimum spanning tree. `neighbor_weights` ties new points
to training points, so that functions on the graph can be evaluated out of sample.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.graphs._distances import (
    check_rows,
    cosine_similarities,
    nearest,
    nonzero_rows,
    pair_distances,
)
from specmargin.graphs._spanning import spanning_edges
from specmargin.typing import BoolArray, FloatArray, IntArray, Matrix, SparseArray

__all__ = ["knn_graph", "neighbor_weights", "radius_graph", "resolve_sigma"]

KINDS = ("symmetric", "mutual", "mutual+mst")
WEIGHTS = ("binary", "heat", "cosine")
_TINY = np.finfo(np.float64).tiny


def knn_graph(
    X: Matrix,
    n_neighbors: int = 6,
    *,
    kind: str = "symmetric",
    weight: str = "binary",
    metric: Any = "euclidean",
    sigma: float | None = None,
) -> SparseArray:
    r"""Return the nearest-neighbour graph of the rows of `X`.

    Every row lists its `n_neighbors` nearest other rows; a row never lists itself, also where it has
    duplicates.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Rows are samples.
    n_neighbors : int, default 6
        Neighbours per row, 1 to n - 1.
    kind : {"symmetric", "mutual", "mutual+mst"}, default "symmetric"
        Edge if either end lists the other; if both do; if both do, and along a minimum spanning tree of the
        data (exact up to 3000 rows).
    weight : {"binary", "heat", "cosine"}, default "binary"
        1; :math:`\exp(-d^2 / (2\sigma^2))`; the cosine of the angle between the rows, where it is positive.
    metric : str or callable, default "euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors`. Under "cosine" (metric or weight) a row of zeros
        has no direction: it is left without edges.
    sigma : float, optional
        Width of the heat weights, in units of the metric; by default the mean distance of the listed
        neighbours.

    Returns
    -------
    csr_array of shape (n, n)
        Exactly symmetric, float64, no self loops.

    Raises
    ------
    ValueError
        If there are not enough rows, an option is unknown, or X is not finite.

    Warns
    -----
    UserWarning
        If rows of zeros are left without edges.

    Examples
    --------
    >>> knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1, kind="mutual").nnz
    2
    """
    _check_choice("kind", kind, KINDS)
    X, used, n = _prepare(X, weight, metric, sigma)
    k = _check_count(n_neighbors, X.shape[0] - 1, n, int(used.sum()))
    rows, cols = _listed(X, k, metric)
    listed = sp.csr_array((np.ones(len(rows)), (rows, cols)), shape=(X.shape[0],) * 2)
    edges = listed.maximum(listed.T) if kind == "symmetric" else listed.minimum(listed.T)
    if kind == "mutual+mst":
        start, end = spanning_edges(X, k, metric)
        tree = sp.csr_array((np.ones(len(start)), (start, end)), shape=edges.shape)
        edges = edges.maximum(tree.maximum(tree.T))
    if weight == "heat" and sigma is None:
        sigma = _mean_distance(X, rows, cols, metric)
    return _weighted(X, edges, used, weight, metric, sigma)


def radius_graph(
    X: Matrix,
    radius: float,
    *,
    weight: str = "binary",
    metric: Any = "euclidean",
    sigma: float | None = None,
) -> SparseArray:
    """Return the graph with an edge between any two rows of `X` at most `radius` apart (the epsilon graph).

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Rows are samples.
    radius : float
        Largest distance of an edge, in units of the metric.
    weight, metric, sigma
        As in `knn_graph`; `sigma` is by default the mean distance along the edges.

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

    if not (isinstance(radius, float | int | np.number) and math.isfinite(radius) and radius >= 0):
        raise ValueError(f"radius={radius!r}; take a finite distance >= 0, in units of the metric.")
    X, used, _ = _prepare(X, weight, metric, sigma)
    near = NearestNeighbors(radius=radius, metric=metric).fit(X).radius_neighbors_graph(X, mode="connectivity")
    edges = sp.csr_array(near)
    edges = edges.maximum(edges.T)
    if weight == "heat" and sigma is None:
        upper = sp.triu(edges, 1).tocoo()
        sigma = _mean_distance(X, upper.row, upper.col, metric)
    return _weighted(X, edges, used, weight, metric, sigma)


def resolve_sigma(X: Matrix, n_neighbors: int = 6, *, metric: Any = "euclidean") -> float:
    """Return the mean distance of the rows to their nearest others: the default width of heat weights.

    Resolve it once on the training rows and pass it to `knn_graph` and `neighbor_weights` alike.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training rows.
    n_neighbors : int, default 6
        Neighbours per row, 1 to n - 1.
    metric : str or callable, default "euclidean"
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
    X, used, n = _prepare(X, "heat", metric, None)
    k = _check_count(n_neighbors, X.shape[0] - 1, n, int(used.sum()))
    return _mean_distance(X, *_listed(X, k, metric), metric)


def neighbor_weights(
    X_new: Matrix,
    X: Matrix,
    n_neighbors: int = 6,
    *,
    weight: str = "binary",
    metric: Any = "euclidean",
    sigma: float | None = None,
) -> SparseArray:
    """Return the weights between new points and their nearest training points.

    `specmargin.spectra.extend` averages scores with them. A new point that coincides with training points
    (distance 0) is tied to exactly those, with weight 1, so that the average returns their value. Where all
    weights of a row would vanish (no positive cosine, or a heat weight that underflows) its neighbours share
    it equally.

    Parameters
    ----------
    X_new : ndarray or sparse matrix of shape (m, d)
        New points.
    X : ndarray or sparse matrix of shape (n, d)
        Training points, in the order of the graph.
    n_neighbors : int, default 6
        Training points per new point, 1 to n.
    weight, metric : str
        As in `knn_graph`. A new row of zeros under "cosine" is tied to its neighbours equally.
    sigma : float, optional
        Width of the heat weights; by default `resolve_sigma` of the training rows, which costs a second
        search.

    Returns
    -------
    csr_array of shape (m, n)
        No empty row, no stored zero.

    Raises
    ------
    ValueError
        If shapes do not fit, there are too few rows, an option is unknown, or data are not finite.

    Examples
    --------
    >>> neighbor_weights([[0.4], [3.0]], [[0.0], [1.0], [3.0]], 2).toarray().tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    X_new = check_rows(X_new, "X_new")
    X, used, n = _prepare(X, weight, metric, sigma)
    width = n if metric == "precomputed" else X.shape[1]
    if X_new.shape[1] != width:
        raise ValueError(
            f"X_new has {X_new.shape[1]} columns but {width} were expected from the training data; measure both in the "
            "same columns."
        )
    k = _check_count(n_neighbors, X.shape[0], n, int(used.sum()))
    m = X_new.shape[0]
    searched, indices = nearest(X, X_new, k, metric)
    rows, cols = np.repeat(np.arange(m), k), indices.ravel()
    distances = searched if metric == "precomputed" else pair_distances(X_new, X, rows, cols, metric).reshape(m, k)
    if weight == "heat" and sigma is None:
        sigma = resolve_sigma(X, min(k, X.shape[0] - 1), metric=metric) if X.shape[0] > 1 else 1.0
    if weight == "cosine":
        values = np.maximum(cosine_similarities(X_new, X, rows, cols), 0.0).reshape(m, k)
    else:
        values = _values(distances, weight, sigma)
        values[values <= _TINY] = 0.0
    values[~values.any(axis=1)] = 1.0
    # A zero row is at cosine distance 1/2 from everything in pair_distances, hence never coincident.
    coincident = distances == 0
    at = coincident.any(axis=1)
    values[at] = coincident[at]
    out = sp.csr_array((values.ravel(), (rows, np.flatnonzero(used)[cols])), shape=(m, n))
    out.eliminate_zeros()
    out.sort_indices()
    return out


def _prepare(X: Matrix, weight: str, metric: Any, sigma: float | None) -> tuple[Matrix, BoolArray, int]:
    """Return the rows that can have neighbours, their mask, and the number of all rows."""
    _check_choice("weight", weight, WEIGHTS)
    if sigma is not None and not (isinstance(sigma, float | int | np.number) and math.isfinite(sigma) and sigma > 0):
        raise ValueError(f"sigma={sigma!r}; take a positive distance, or None for the mean neighbour distance.")
    X = check_rows(X)
    n = X.shape[0]
    if metric == "precomputed" and weight == "cosine":
        raise ValueError("weight='cosine' needs the rows, not their distances; take 'binary' or 'heat'.")
    if metric != "cosine" and weight != "cosine":
        return X, np.ones(n, dtype=bool), n
    used = nonzero_rows(X)
    if not used.all():
        zero = np.flatnonzero(~used)
        warnings.warn(
            f"{len(zero)} rows of X are zero (the first is row {zero[0]}) and have no direction: they get "
            "no edges under the cosine. Drop them, or take metric='euclidean' with another weight.",
            UserWarning,
            stacklevel=3,
        )
    return X[used], used, n


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; take one of {', '.join(choices)}.")


def _check_count(n_neighbors: int, largest: int, n: int, n_used: int) -> int:
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer):
        raise ValueError(f"n_neighbors={n_neighbors!r} is no count; take an integer from 1 to {largest}.")
    if not 1 <= n_neighbors <= largest:
        rows = f"{n} rows" if n_used == n else f"{n} rows of which {n_used} are not zero"
        remedy = f"take 1 to {largest}" if largest >= 1 else "add samples"
        raise ValueError(f"n_neighbors={n_neighbors}, but X has {rows}; {remedy}.")
    return int(n_neighbors)


def _listed(X: Matrix, k: int, metric: Any) -> tuple[IntArray, IntArray]:
    """Directed edges from every row to its k nearest others."""
    n = X.shape[0]
    _, indices = nearest(X, X, k + 1, metric)
    own = indices == np.arange(n)[:, None]
    # Among duplicates a row need not find itself; it then gives up the farthest of its k + 1 neighbours.
    own[~own.any(axis=1), -1] = True
    return np.repeat(np.arange(n), k), indices[~own]


def _mean_distance(X: Matrix, rows: IntArray, cols: IntArray, metric: Any) -> float:
    mean = float(pair_distances(X, X, rows, cols, metric).mean()) if len(rows) else 0.0
    return mean if mean > 0 else 1.0


def _weighted(
    X: Matrix, edges: SparseArray, used: BoolArray, weight: str, metric: Any, sigma: float | None
) -> SparseArray:
    """Weigh every undirected edge once, mirror it, and put back the rows that were left out."""
    upper = sp.triu(edges, 1).tocoo()
    rows, cols = upper.row.astype(np.intp), upper.col.astype(np.intp)
    if weight == "binary":
        values = np.ones(len(rows))
    elif weight == "cosine":
        values = np.maximum(cosine_similarities(X, X, rows, cols), 0.0)
    else:
        values = _values(pair_distances(X, X, rows, cols, metric), weight, sigma)
    place = np.flatnonzero(used)
    half = sp.csr_array((values, (place[rows], place[cols])), shape=(len(used), len(used)))
    W = sp.csr_array(half + half.T)
    W.eliminate_zeros()
    W.sort_indices()
    return W


def _values(distances: FloatArray, weight: str, sigma: float | None) -> FloatArray:
    """Binary or heat weights. A heat weight that underflows stays the smallest number: still an edge."""
    if weight == "binary":
        return np.ones_like(distances)
    assert sigma is not None
    return np.maximum(np.exp(-((distances / sigma) ** 2) / 2.0), _TINY)
