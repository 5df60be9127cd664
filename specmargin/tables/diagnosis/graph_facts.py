"""What the user gave (rows, graph, labels), and facts about the graph: pieces, degrees and hubs, eigenvalues, gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import skew

from specmargin.arrays import feature_rows
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Components, NeighborSearch, check_adjacency
from specmargin.graphs.parts import whole_seed
from specmargin.labels import encode_labels, is_unlabeled, label_array, label_vector
from specmargin.labels.markers import is_missing
from specmargin.spectra import Spectrum, laplacian_eigenpairs
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = ["Connectivity", "Degrees", "Gap", "SHOWN", "connectivity", "degree_facts", "edges_between", "eigenpairs"]
__all__ += [
    "embedding",
    "integer_seed",
    "largest_gap",
    "nearest_labels",
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
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(whole_seed(random_state))


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


_SHOWN = 20
_SPREAD = 0.1  # share of the samples over which an eigenvector must spread to be drawn


@dataclass(frozen=True)
class Connectivity:
    """Pieces of a graph that no edge joins.

    Parameters
    ----------
    n_components : int
    sizes : tuple of int
        The largest ones, at most 20, not increasing.
    n_isolated : int
        Samples without an edge.
    n_without_label : int
        Components that hold no label; 0 where there are no labels at all.
    n_samples_without_label : int
        Samples in them.
    """

    n_components: int
    sizes: tuple[int, ...]
    n_isolated: int
    n_without_label: int
    n_samples_without_label: int


@dataclass(frozen=True)
class Degrees:
    """Edges of the samples, and hubs.

    Parameters
    ----------
    least, most : int
        Edges of a sample.
    mean : float
    hubness : float
        Skewness of `counts`, 0 where all are equal: above 1, a few samples are neighbours of very many.
    largest_hub : int
        The number of the sample that most others list.
    largest_count : int
        How many list it.
    never_listed : int
        Samples that nobody lists.
    counted : str
        What `counts` are: "in-degree", how many list a sample among their nearest neighbours, or "degree", its edges
        in a graph that was given.
    """

    least: int
    most: int
    mean: float
    hubness: float
    largest_hub: int
    largest_count: int
    never_listed: int
    counted: str


@dataclass(frozen=True)
class Gap:
    """The largest gap between successive eigenvalues of the normalised Laplacian.

    Parameters
    ----------
    eigenvalues : tuple of float
        The lowest, at most 20 (more where the graph has that many components), in [0, 2].
    n_clusters : int
        Eigenvalues below the largest gap: the number of clusters that it suggests.
    size : float
        The gap.
    low, high : float
        Its ends.
    is_clear : bool
        Whether every other gap is less than half as large: otherwise the number of clusters is a guess.
    """

    eigenvalues: tuple[float, ...]
    n_clusters: int
    size: float
    low: float
    high: float
    is_clear: bool


def connectivity(parts: Components, labeled: IntArray) -> Connectivity:
    """Return the components, and which hold no label.

    Examples
    --------
    >>> from specmargin.graphs import components
    >>> parts = components(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    >>> connectivity(parts, np.array([2]))
    Connectivity(n_components=2, sizes=(2, 1), n_isolated=1, n_without_label=1, n_samples_without_label=2)
    """
    without = np.ones(parts.n, dtype=bool)
    without[parts.index[labeled]] = False
    if len(labeled) == 0:
        without[:] = False
    return Connectivity(
        parts.n,
        tuple(int(size) for size in parts.sizes[:_SHOWN]),
        parts.n_isolated,
        int(np.count_nonzero(without)),
        int(parts.sizes[without].sum()),
    )


def degree_facts(W: SparseArray, counts: IntArray, counted: str) -> Degrees:
    """Return the degrees of a graph, and the hubs by `counts` (n,), how many samples list each.

    Examples
    --------
    >>> W = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> facts = degree_facts(W, np.array([2, 1, 0]), "in-degree")
    >>> facts.most, facts.largest_hub, facts.never_listed, facts.hubness
    (2, 0, 1, 0.0)
    """
    edges = np.asarray((W != 0).sum(axis=1)).ravel()
    alike = bool((counts == counts[0]).all())
    return Degrees(
        int(edges.min()),
        int(edges.max()),
        float(edges.mean()),
        0.0 if alike else float(skew(counts)),
        int(counts.argmax()),
        int(counts.max()),
        int(np.count_nonzero(counts == 0)),
        counted,
    )


def largest_gap(eigenvalues: FloatArray, n_components: int) -> Gap:
    """Return the largest gap of the lowest eigenvalues, those that are given.

    Parameters
    ----------
    eigenvalues : ndarray of shape (q,)
        Eigenvalues, not decreasing.
    n_components : int
        Number of components of the graph: clusters are as many at least.

    Examples
    --------
    >>> gap = largest_gap(np.array([0.0, 0.1, 0.7, 0.8]), 1)
    >>> gap.n_clusters, round(gap.size, 3)
    (2, 0.6)
    """
    shown = tuple(float(one) for one in eigenvalues)
    gaps = np.diff(eigenvalues)
    if len(gaps) < n_components:
        return Gap(shown, n_components, 0.0, 0.0, 0.0, False)
    m = n_components + int(gaps[n_components - 1 :].argmax())
    others = np.delete(gaps, m - 1)
    is_clear = bool(2.0 * others.max(initial=0.0) < gaps[m - 1])
    return Gap(shown, m, float(gaps[m - 1]), shown[m - 1], shown[m], is_clear)


def embedding(spectrum: Spectrum) -> FloatArray:
    """Return two coordinates for every sample: the lowest eigenvectors that spread over a tenth of the samples.

    Those of a small piece of the graph are zero elsewhere, and would draw all other samples as one point. Each is
    divided by the roots of the degrees, as in spectral clustering, and has the mean square 1.

    Parameters
    ----------
    spectrum : Spectrum
        Spectrum of the normalised Laplacian, of two eigenpairs at least.

    Returns
    -------
    ndarray of shape (n, 2)
    """
    degrees = np.asarray(spectrum.degrees)
    root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    U = spectrum.eigenvectors[:, 1:] / root[:, None]
    n, squares = len(U), (U * U).sum(axis=0)
    spread = squares**2 / np.maximum((U**4).sum(axis=0), np.finfo(np.float64).tiny) / n
    order = np.argsort(spread < _SPREAD, kind="stable")[:2]
    chosen = U[:, order] * np.sqrt(n / np.maximum(squares[order], np.finfo(np.float64).tiny))
    return chosen if chosen.shape[1] == 2 else np.column_stack([chosen, np.zeros((n, 2 - chosen.shape[1]))])
