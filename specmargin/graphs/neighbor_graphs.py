"""Graphs of neighbours: nearest neighbours, radius, and the weights of new points.

Call `knn_graph` first. ``kind="symmetric"`` (an edge if *either* end lists the other) is what Laplacian
methods are used with and is usually connected; ``kind="mutual"`` (*both* ends) falls into many components on
real data, and ``"mutual+mst"`` repairs that with a minimum spanning tree. `neighbor_weights` ties new points
to training points, so that functions on the graph can be evaluated out of sample.

Every function also takes a `NeighborSearch` for the training rows, which is used instead of a new one. From
10,000 rows on, read `specmargin.graphs.neighbors` about that, ``reduce`` and ``search``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from specmargin.checks import warn
from specmargin.exceptions import InvalidInputError
from specmargin.graphs._nearest import PROJECTED_METRICS, pair_distances, row_norms, tie_slack
from specmargin.graphs.neighbors import NeighborSearch
from specmargin.graphs.weights import (
    EDGE_WEIGHTS,
    KIND,
    KINDS,
    TINY,
    WEIGHT,
    Edges,
    weights_without,
)
from specmargin.rounding import directions
from specmargin.typing import Matrix, SparseArray

__all__ = [
    "knn_graph",
    "neighbor_graph",
    "neighbor_weights",
    "radius_graph",
    "resolve_sigma",
    "warn_of_zero_rows",
    "with_graph_sections",
]

_DEFAULTS = {"metric": "euclidean", "reduce": None, "search": "exact"}

Documented = TypeVar("Documented", bound=Callable[..., Any])


def with_graph_sections(documented: Documented) -> Documented:
    """Fill in the markers in the docstring of a function or a class, from the registries of kinds and weights.

    They are ``<kinds>`` and ``<weights>`` for the names, ``<each kind>`` and ``<each weight>`` for an entry on each.

    Examples
    --------
    >>> @with_graph_sections
    ... def graph(kind):
    ...     "Take a kind out of <kinds>."
    >>> graph.__doc__
    'Take a kind out of {"symmetric", "mutual", "mutual+mst"}.'
    """
    if documented.__doc__ is None:  # python -OO
        return documented
    kinds = {name: kind.__doc__ or "" for name, kind in KINDS.items()}
    weights = {name: weight.summary for name, weight in EDGE_WEIGHTS.items()}
    texts = {}
    for what, entries in (("kind", kinds), ("weight", weights)):
        texts[f"<{what}s>"] = "{" + ", ".join(f'"{name}"' for name in entries) + "}"
        texts[f"<each {what}>"] = "\n".join(f'* "{name}": {text}' for name, text in entries.items())
    for marker, text in texts.items():
        # Entries stand where their marker does: since Python 3.13 a docstring loses its own indentation.
        at = re.search(rf"^ *(?={marker})", documented.__doc__, re.MULTILINE)
        indented = text.replace("\n", "\n" + at.group() if at else "\n")
        documented.__doc__ = documented.__doc__.replace(marker, indented)
    return documented


@with_graph_sections
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
    random_state: Any = 0,
) -> SparseArray:
    """Return the nearest-neighbour graph of the rows of `X`.

    Every row lists its `n_neighbors` nearest other rows; a row never lists itself, also where it has
    duplicates. The weights are defined in `specmargin.graphs.weights`, self-tuning ones after [1]_.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d), or NeighborSearch
        Rows are samples. A search brings its own `metric`, `reduce`, `search` and `random_state`.
    n_neighbors : int, default 6
        Neighbours per row, 1 to n - 1.
    kind : <kinds>, default "symmetric"
        <each kind>
    weight : <weights>, default "binary"
        <each weight>
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
    random_state : int, Generator, RandomState or None, default 0
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
    searched = _open_search(X, weight, sigma, metric=metric, reduce=reduce, search=search, random_state=random_state)
    return neighbor_graph(searched, searched.count(n_neighbors, own=True), kind, weight, sigma)


def neighbor_graph(search: NeighborSearch, k: int, kind: str, weight: str, sigma: float | None = None) -> SparseArray:
    """Return the graph of `knn_graph` over a search, by checked options."""
    rows, cols = search.pairs(k)
    listed = sp.csr_array((np.ones(len(rows)), (rows, cols)), shape=(search.n_samples,) * 2)
    return _weighted(search, KINDS[kind](listed, search, k), k, weight, sigma)


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
        The same as in `knn_graph`, but for weights that are measured in neighbours (self-tuning); `sigma` is by default
        the mean distance along the edges.

    Returns
    -------
    csr_array of shape (n, n)
        Exactly symmetric, float64, no self loops. Rows with no other within the radius are isolated.

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

    if not (_is_finite(radius) and radius >= 0):
        raise InvalidInputError(f"radius={radius!r}; take a finite distance >= 0, in units of the metric.")
    if EDGE_WEIGHTS[WEIGHT("weight", weight)].neighbors:
        raise InvalidInputError(
            f"weight={weight!r} measures in neighbours, of which a radius names no number; take one of "
            f"{weights_without('neighbors')}."
        )
    searched = _open_search(X, weight, sigma, metric=metric)
    inside = directions(searched.searched) if searched.metric == "cosine" else searched.searched
    # The search squares first: what its rounding may put on the wrong side is measured again.
    metric, squared = searched.metric, searched.metric in PROJECTED_METRICS[:2]
    limit = float(radius) ** 2 if squared else float(radius)
    longest = row_norms(inside).max(initial=0.0, keepdims=True) if squared else np.zeros(1)
    slack = float(tie_slack(longest, np.array([limit]), inside.shape[1], "euclidean" if squared else metric)[0])
    beyond = math.sqrt(limit + slack) if squared else limit + slack
    pairs = NearestNeighbors(radius=beyond, metric=metric).fit(inside).radius_neighbors_graph(inside, mode="distance")
    pairs = pairs.tocoo()
    values = pairs.data**2 if squared else pairs.data
    kept, unsure = values <= limit, np.flatnonzero(np.abs(values - limit) <= slack)
    if slack:
        kept[unsure] = pair_distances(inside, inside, pairs.row[unsure], pairs.col[unsure], metric) <= radius
    index = np.flatnonzero(searched.used)
    ends = (index[pairs.row[kept]], index[pairs.col[kept]])
    edges = sp.csr_array((np.ones(kept.sum()), ends), shape=(searched.n_samples,) * 2)
    return _weighted(searched, edges.maximum(edges.T), 0, weight, sigma)


def resolve_sigma(
    X: Matrix | NeighborSearch,
    n_neighbors: int = 6,
    *,
    metric: Any = "euclidean",
    reduce: int | str | None = None,
    search: str = "exact",
    random_state: Any = 0,
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
        The same as in `knn_graph`.

    Returns
    -------
    float
        Number in units of the metric; 1.0 where every row coincides with its neighbours.

    Examples
    --------
    >>> resolve_sigma([[0.0], [1.0], [3.0]], n_neighbors=1)
    1.3333333333333333
    """
    searched = _open_search(X, "heat", None, metric=metric, reduce=reduce, search=search, random_state=random_state)
    return searched.mean_distance(searched.count(n_neighbors, own=True))


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
    random_state: Any = 0,
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
        The same as in `knn_graph`. A new row of zeros under "cosine" is tied to its neighbours equally.
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
    searched = _open_search(X, weight, sigma, metric=metric, reduce=reduce, search=search, random_state=random_state)
    queries = searched.transform(X_new)
    k = searched.count(n_neighbors)
    m, largest = queries.shape[0], int(searched.used.sum()) - 1
    indices = searched.nearest(queries, k)
    if not largest and sigma is None:
        sigma = 1.0
    edges = Edges(searched, queries, np.repeat(np.arange(m), k), indices.ravel(), min(k, largest), sigma, False)
    values = EDGE_WEIGHTS[weight].values(edges)
    values = np.where(values > TINY, values, 0.0).reshape(m, k)
    values[~values.any(axis=1)] = 1.0
    # A zero row is at cosine distance 1/2 from everything in pair_distances, hence never coincident.
    coincident = searched.coincident(queries, indices, edges.distances.reshape(m, k))
    at = coincident.any(axis=1)
    values[at] = coincident[at]
    weights = sp.csr_array((values.ravel(), (edges.rows, edges.cols)), shape=(m, searched.n_samples))
    weights.eliminate_zeros()
    weights.sort_indices()
    return weights


def _is_finite(value: Any) -> bool:
    return isinstance(value, float | int | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _weighted(search: NeighborSearch, edges: SparseArray, k: int, weight: str, sigma: float | None) -> SparseArray:
    """Return the graph with each of the symmetric `edges` weighted once, and mirrored."""
    upper = sp.triu(edges, 1).tocoo()
    rows, cols = upper.row.astype(np.intp), upper.col.astype(np.intp)
    values = EDGE_WEIGHTS[weight].values(Edges(search, search.rows, rows, cols, k, sigma))
    # Indices as those of `check_adjacency`: sparse arrays keep int64, which SuperLU does not take.
    half = sp.csr_array((values, (rows.astype(np.int32), cols.astype(np.int32))), shape=edges.shape)
    W = sp.csr_array(half + half.T)
    W.eliminate_zeros()
    W.sort_indices()
    return W


def _open_search(
    X: Matrix | NeighborSearch, weight: str, sigma: float | None, *, random_state: Any = 0, **options: Any
) -> NeighborSearch:
    """Return the search over the rows of `X`, or `X` if it is one; check `weight` and `sigma`; warn of rows of zeros.

    `options` are those of `NeighborSearch`.
    """
    angles_needed = EDGE_WEIGHTS[WEIGHT("weight", weight)].angles
    if sigma is not None and not (_is_finite(sigma) and sigma > 0):
        raise InvalidInputError(f"sigma={sigma!r}; take a positive distance, or None for the mean neighbour distance.")
    if isinstance(X, NeighborSearch):
        search = X
        for name, value in options.items():
            made = getattr(search, name)
            if value != _DEFAULTS[name] and value != made:
                raise InvalidInputError(
                    f"{name}={value!r}, but the NeighborSearch was made with {made!r}; leave {name} to it, or make "
                    "another."
                )
        if angles_needed and not search.angles:
            raise InvalidInputError(f"weight={weight!r} takes angles; make the NeighborSearch with angles=True.")
    else:
        metric = options["metric"]
        angles = angles_needed or (isinstance(metric, str) and metric == "cosine")
        search = NeighborSearch(X, angles=angles, random_state=random_state, **options)
    if search.metric == "precomputed" and angles_needed:
        raise InvalidInputError(
            f"weight={weight!r} needs the rows, not their distances; take one of {weights_without('angles')}."
        )
    if not search.used.all():
        warn_of_zero_rows(search)
    return search


def warn_of_zero_rows(search: NeighborSearch) -> None:
    """Warn of the rows that have no direction where angles are taken."""
    zero = np.flatnonzero(~search.used)
    warn(
        f"{len(zero)} rows of X are zero (the first is row {zero[0]}) and have no direction: they get "
        "no edges under the cosine. Drop them, or take metric='euclidean' with another weight."
    )
