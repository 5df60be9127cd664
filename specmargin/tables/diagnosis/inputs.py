"""Reading of what the user gave: rows, graph, labels, lists of neighbours, eigenpairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from specmargin.arrays import feature_rows
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import NeighborSearch, check_adjacency
from specmargin.labels import encode_labels, is_unlabeled, label_array, label_vector
from specmargin.labels.markers import is_missing
from specmargin.spectra import Spectrum, laplacian_eigenpairs
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = [
    "SHOWN",
    "edges_between",
    "eigenpairs",
    "integer_seed",
    "nearest_labels",
    "neighbor_counts",
    "read_labels",
    "read_samples",
]

SHOWN = 20
"""Eigenvalues among which the largest gap is looked for; where there are more components, one more than these."""

_LEARNED = 50  # eigenvectors that are not constant on components, for decisions at left-out labels
_MOST_PIECES = 200  # components up to which eigenvectors behind theirs are computed


def integer_seed(random_state: Any) -> int:
    """Return a seed of several generators.

    Examples
    --------
    >>> integer_seed(3)
    3
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(np.random.default_rng().integers(2**31)) if random_state is None else int(random_state)


def read_samples(X: Any, graph: Any, metric: Any, seed: int) -> tuple[Any, SparseArray | None, Any]:
    """Return features or None, the graph that was given or None, and the search for neighbours or None."""
    if X is None and graph is None:
        raise InvalidInputError("X=None and graph=None: there is nothing to look at; pass features, a graph or both.")
    search = None
    if X is not None:
        X = _rows(X)
        if X.shape[0] < 3:
            raise InvalidInputError(f"X has {X.shape[0]} samples (shape {X.shape}); pass three or more.")
        projected = isinstance(metric, str) and metric in ("euclidean", "l2", "cosine") and not sp.issparse(X)
        search = NeighborSearch(X, metric=metric, reduce="auto" if projected else None, random_state=seed)
        if int(search.used.sum()) < 2 and graph is None:
            raise InvalidInputError(
                f"metric={metric!r} is defined for {int(search.used.sum())} of {X.shape[0]} rows of X, the others are "
                "zero; take metric='euclidean', or drop these rows."
            )
    if graph is not None:
        graph = check_adjacency(graph, None if X is None else X.shape[0])
        if graph.shape[0] < 3:
            raise InvalidInputError(f"graph has {graph.shape[0]} nodes; pass three or more.")
    return X, graph, search


def _rows(X: Any) -> Matrix:
    from sklearn.utils import check_array

    keywords = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": False, "input_name": "X"}
    return feature_rows(X, "X", lambda X: check_array(X, **keywords))


def read_labels(y: npt.ArrayLike | None, unlabeled: Any, n: int) -> tuple[IntArray, IntArray, list[Any]]:
    """Return the indices of the labelled samples, their classes as codes, and the sorted classes; also of none or one.

    Examples
    --------
    >>> labeled, codes, classes = read_labels(["b", None, "a"], None, 3)
    >>> labeled.tolist(), codes.tolist(), classes
    ([0, 2], [1, 0], ['a', 'b'])
    """
    none = np.zeros(0, dtype=np.intp)
    if y is None:
        return none, none, []
    y = label_array(y)
    y = label_vector(y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y)
    if len(y) != n:
        raise InvalidInputError(
            f"X has {n} rows, but y has {len(y)} labels; pass one label or marker per row, in the order of the rows."
        )
    labeled = np.flatnonzero(~is_unlabeled(y, unlabeled))
    known = y[labeled]
    if len(labeled) == 0:
        return none, none, []
    values = known.tolist()
    if not any(is_missing(one) for one in values) and all(one == values[0] for one in values):
        return labeled, np.zeros(len(labeled), dtype=np.intp), values[:1]
    labels = encode_labels(y, unlabeled)
    return labels.labeled, labels.sign_codes, labels.classes.tolist()


def edges_between(W: SparseArray, labeled: IntArray) -> tuple[IntArray, IntArray]:
    """Return the edges between labelled samples, each once, as indices into `labeled`.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> [ends.tolist() for ends in edges_between(W, np.array([0, 2]))]
    [[0], [1]]
    """
    inside = sp.triu(W[labeled][:, labeled], 1).tocoo()
    return inside.row.astype(np.intp), inside.col.astype(np.intp)


def nearest_labels(search: Any, labeled: IntArray) -> IntArray | None:
    """Return the nearest other labelled sample of each, as an index into `labeled`; -1 for rows without a direction.

    Parameters
    ----------
    search : NeighborSearch or None
        Search among all samples.
    labeled : ndarray of shape (l,)

    Returns
    -------
    ndarray of shape (l,) or None
        None without features, or with fewer than two labelled samples.
    """
    if search is None or len(labeled) < 2:
        return None
    used = np.flatnonzero(search.used[labeled])
    nearest = np.full(len(labeled), -1, dtype=np.intp)
    if len(used) > 1:
        rows = labeled[used]
        part = search.rows[np.ix_(rows, rows)] if search.metric == "precomputed" else search.rows[rows]
        inside = NeighborSearch(part, metric=search.metric)
        nearest[used] = used[inside.kneighbors(n_neighbors=1)[1].ravel()]
    return nearest


def eigenpairs(W: SparseArray, n_components: int, seed: int) -> Spectrum:
    """Return the lowest eigenpairs of the normalised Laplacian: those of the components, and 50 more."""
    n = W.shape[0]
    more = 0 if n_components > _MOST_PIECES else _LEARNED
    return laplacian_eigenpairs(W, min(n, n_components + more), normalized=True, random_state=seed)


def neighbor_counts(search: Any, k: int, n: int) -> tuple[IntArray, FloatArray]:
    """Return how many samples list each among their k nearest (n,), and the distances to those (m, k)."""
    distances, indices = search.kneighbors(n_neighbors=k)
    return np.bincount(indices.ravel(), minlength=n).astype(np.intp), distances
