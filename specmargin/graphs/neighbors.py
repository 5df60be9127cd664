"""Nearest neighbours of many rows: one exact search, a projection before it, an approximate one beyond it.

`knn_graph` and `neighbor_weights` search by themselves; make a `NeighborSearch` first and pass it instead of
`X` where both are needed, or several graphs, of data so large that most of the time goes into the search: it is then
made once. All pairs of 70,000 rows in 50 columns take scikit-learn half a minute on one core, 784 columns several
times that: ``reduce="auto"`` projects such data on their 50 principal components. The time of the exact search
grows with the square of the rows, that of ``search="approximate"`` (pynndescent, an extra) little faster than the
rows; it first compiles for a minute, so that it is worthwhile from about 100,000 rows on.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import feature_rows, finite_numbers
from specmargin.checks import among, choice, seed, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs._nearest import (
    LARGE,
    PROJECTED_METRICS,
    NeighborDescent,
    exact_neighbors,
    load_pynndescent,
    nonzero_rows,
    pair_distances,
    row_norms,
)
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix

__all__ = ["METRIC", "REDUCE", "NeighborSearch", "mean_length"]

_AUTO_COMPONENTS = 50
_AUTO_FEATURES = 100
_FAR = 100.0  # standard deviations from the origin, beyond which rows are centred
_NEARER, _ALIKE = 1e-3, 1e-6  # of the distance to the next row, and between distances to copies
_ROUNDING = 64.0  # units of rounding by which two projections of one row may differ


def METRIC(name: str, value: Any) -> Any:
    """Check a metric: a name that scikit-learn's neighbours know, or a function of two rows."""
    if callable(value):
        return value
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name}={shown(value)} must be the name of a metric, or a function of two rows.")
    if value in ("euclidean", "cosine"):  # asked of every graph, and worth no import
        return value
    from sklearn.neighbors import VALID_METRICS

    known = {"precomputed", *VALID_METRICS["brute"], *VALID_METRICS["ball_tree"]}
    if value not in known:
        raise InvalidInputError(f"{name}={value!r} is unknown; take one of {among(value, sorted(known))}")
    return value


def REDUCE(name: str, value: Any) -> Any:
    """Check the number of components that rows are projected on."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if isinstance(value, bool | str) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInputError(
            f"{name}={shown(value)}; take a number of components >= 1, 'auto', or None for no projection."
        )
    return int(value)


class NeighborSearch:
    """A search for nearest neighbours among the rows of `X`.

    Rows are compared by their distances after the projection, if there is one: searching ``NeighborSearch(X,
    reduce=50)`` is searching the 50 principal components. A distance within the rounding of the projection is 0,
    so that copies stay copies. Nothing is searched before it is needed; the neighbours of the rows among
    themselves are then kept. Of rows at equal distances the first in `X` is the nearer one, whatever the number of
    threads; equal are distances whose values, computed from the differences of the two rows, are the same number.
    (The projection itself is rounded, and that differs with the number of threads.)

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Rows are samples. More than 10,000 dense rows of a type that float32 holds exactly (uint8 images) are
        kept in float32, all others in float64.
    metric : str or callable, default "euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors`. Under "cosine" a row of zeros has no direction, and so
        no neighbours.
    reduce : int, "auto" or None, default None
        Components to project the rows on first: principal components, or those of a truncated SVD where `X` is
        sparse (never made dense) or `angles` are taken, which centring would change. As many as the rows
        or columns, or more: no projection. "auto": 50 for more than 10,000 dense rows of more than 100 columns under
        the Euclidean metric or the cosine, which projections keep; else none.
    search : {"exact", "approximate"}, default "exact"
        All pairs; or nearest-neighbour descent, which misses a few neighbours in a thousand. It needs pynndescent,
        the extra ``large``, and compares all pairs of fewer than 4,000 rows. For the Euclidean metric and the cosine.
    angles : bool, optional
        Whether angles will be taken, so that rows of zeros have to be left out; by default under
        ``metric="cosine"`` only. Set it for a graph with ``weight="cosine"`` under another metric.
    random_state : int, Generator, RandomState or None, default 0
        Seed of the projection and of the approximate search.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n, n_components or d)
        The rows that are compared.
    used : ndarray of shape (n,)
        Mask of those that can have neighbours: all, but for rows of zeros where angles are taken.
    n_components : int or None
        Components of the projection, if there is one.

    Raises
    ------
    ValueError
        If an option is unknown or does not go with the metric, or X is not finite.
    ImportError
        If the approximate search is asked for and pynndescent is not installed.

    References
    ----------
    Dong, Moses & Li, *Efficient k-nearest neighbor graph construction for generic similarity measures*, WWW 2011
    (the descent).

    Examples
    --------
    >>> search = NeighborSearch([[0.0], [1.0], [3.0]])
    >>> distances, indices = search.kneighbors(n_neighbors=1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    >>> search.kneighbors([[2.5]], n_neighbors=2)[1].tolist()
    [[2, 1]]
    """

    def __init__(
        self,
        X: Matrix,
        *,
        metric: Any = "euclidean",
        reduce: int | str | None = None,
        search: str = "exact",
        angles: bool | None = None,
        random_state: Any = 0,
    ) -> None:
        choice("exact", "approximate")("search", search)
        METRIC("metric", metric)
        if search == "approximate":
            if metric not in PROJECTED_METRICS:
                raise InvalidInputError(
                    f"search='approximate' knows the metrics {', '.join(PROJECTED_METRICS)}, not {metric!r}; "
                    "take search='exact'."
                )
            load_pynndescent()
        seed("random_state", random_state)
        if isinstance(random_state, np.random.Generator):
            # scikit-learn and pynndescent take no Generator.
            random_state = int(random_state.integers(2**31))
        REDUCE("reduce", reduce)
        X = _check_rows(X)
        if metric == "precomputed":
            _check_distances(X)
        self.open(X, metric, reduce, search, angles, random_state)

    def open(
        self, X: Matrix, metric: Any, reduce: int | str | None, search: str, angles: bool | None, random_state: Any
    ) -> Self:
        """Project checked rows, or move them, by checked options, as they are then compared; return the search."""
        self.metric, self.reduce, self.search, self.random_state = metric, reduce, search, random_state
        self.angles = metric == "cosine" if angles is None else bool(angles)
        self.n_samples, self.n_features = X.shape
        self.n_components = _n_components(reduce, X, metric)
        self._sparse, self._dtype = sp.issparse(X), X.dtype
        self._projection: Any = None
        self._centre: AnyArray | None = None
        self._rounding = 0.0
        if self.n_components is not None:
            from sklearn.decomposition import PCA, TruncatedSVD

            if self.angles or self._sparse:
                self._projection = TruncatedSVD(self.n_components, random_state=random_state)
            else:
                # PCA centres too, but squares first: in single precision a large mean would hide the variances.
                self._centre = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
                self._projection = PCA(self.n_components, random_state=random_state)
            X = self._centred(X)
            self._projection.fit(X)
            # Sums depend on the order in memory, which no file keeps of a part of an array.
            self._projection.components_ = self._projection.components_.copy(order="K")
            unit = _ROUNDING * float(np.finfo(X.dtype).eps)
            self._rounding = unit**2 / 2.0 if metric == "cosine" else unit * float(row_norms(X).max())
            X = self._projected(X)
        elif metric in ("euclidean", "l2") and not self.angles and not self._sparse and len(X) > 1:
            mean = X.mean(axis=0, dtype=np.float64)
            if mean @ mean > _FAR**2 * X.var(axis=0, dtype=np.float64).sum():
                # The search squares first, which would lose the distances.
                self._centre = mean.astype(X.dtype)
                X = self._centred(X)
        self.rows: Matrix = X
        self.used: BoolArray = nonzero_rows(X) if self.angles else np.ones(self.n_samples, dtype=bool)
        self._index = np.flatnonzero(self.used)
        self.searched: Matrix = X if len(self._index) == self.n_samples else X[self._index]
        self._lists: IntArray | None = None
        self._descent: NeighborDescent | None = None
        return self

    def kneighbors(self, X_new: Matrix | None = None, n_neighbors: int = 6) -> tuple[FloatArray, IntArray]:
        """Return the distances and the indices of the nearest rows, in the order that the search computed.

        Parameters
        ----------
        X_new : ndarray or sparse matrix of shape (m, d), optional
            New rows; by default every row of `X` that can have neighbours (all, unless there are rows of zeros
            without a direction), which never lists itself, also where it has copies.
        n_neighbors : int, default 6
            k, at most the rows that there are to list.

        Returns
        -------
        distances, indices : ndarray of shape (m, k)
            Distances computed from differences; ``indices`` number the rows of `X`.
        """
        if X_new is None:
            indices = self.lists(self.count(n_neighbors, own=True))
            queries, rows = self.rows, self._index
        else:
            queries = self.transform(X_new)
            indices, rows = self.nearest(queries, self.count(n_neighbors)), np.arange(queries.shape[0])
        distances = self.distances(queries, np.repeat(rows, indices.shape[1]), indices.ravel())
        return distances.reshape(indices.shape), indices

    def transform(self, X_new: Matrix) -> Matrix:
        """Check new rows (m, d) and project them as the rows of `X` are projected."""
        X_new = _check_rows(X_new, "X_new", small=False)
        if X_new.shape[1] != self.n_features:
            raise InvalidInputError(
                f"X_new has {X_new.shape[1]} columns but {self.n_features} were expected from the training data; "
                "measure both in the same columns."
            )
        # As the training rows are kept, so that copies of them come out at distance 0.
        if self._sparse:
            X_new = sp.csr_array(X_new)
        else:
            X_new = X_new.toarray() if sp.issparse(X_new) else X_new
            X_new = X_new.astype(self._dtype, order="C" if self.n_samples > LARGE else "K", copy=False)
        X_new = self._centred(X_new)
        return X_new if self._projection is None else self._projected(X_new)

    def lists(self, k: int) -> IntArray:
        """Return the k nearest others of every row that can have neighbours, by their numbers in `X`.

        The longest lists are kept: shorter ones are their beginnings, and cost no search.
        """
        if self._lists is None or self._lists.shape[1] < k:
            indices = self._find(self.searched, k + 1)
            own = indices == np.arange(len(indices))[:, None]
            # Among duplicates a row may be missing from its own list, whose last entry is then dropped instead.
            own[~own.any(axis=1), -1] = True
            self._lists = self._index[indices[~own].reshape(-1, k)]
        return self._lists[:, :k]

    def pairs(self, k: int) -> tuple[IntArray, IntArray]:
        """Return the two ends of the edges from every row to its k nearest others."""
        return np.repeat(self._index, k), self.lists(k).ravel()

    def mean_distance(self, k: int) -> float:
        """Return the mean distance of the rows to their k nearest others; 1 where it is 0."""
        return mean_length(self.distances(self.rows, *self.pairs(k)))

    def forget(self) -> None:
        """Drop the neighbours of the rows among themselves; they are searched again when they are needed."""
        self._lists = None

    def nearest(self, queries: Matrix, k: int) -> IntArray:
        """Return the k rows nearest to every query that was transformed, by their numbers in `X`."""
        return self._index[self._find(queries, k)]

    def distances(self, queries: Matrix, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return the distance between ``queries[rows[i]]``, transformed, and row ``cols[i]`` of `X`, for every i."""
        distances = pair_distances(queries, self.rows, rows, cols, self.metric)
        distances[distances <= self._rounding] = 0.0
        return distances

    def coincident(self, queries: Matrix, indices: IntArray, distances: FloatArray) -> BoolArray:
        """Return which of its neighbours (m, k) each query, transformed, is a copy of.

        One at distance 0; or the nearest, with its own copies, where the query is this row to single precision (of the
        length of the row, or of the mean row) and a thousand times nearer to it than to the next: features that were
        stored in another type, or computed again.
        """
        same = distances == 0
        if self.metric == "precomputed":
            return same
        nearest = distances.min(axis=1, keepdims=True)
        alike = distances <= nearest * (1.0 + _ALIKE)
        beyond = np.where(alike, np.inf, distances).min(axis=1)
        at = np.flatnonzero((nearest[:, 0] > 0) & (nearest[:, 0] <= _NEARER * beyond))
        rows = indices[at, distances[at].argmin(axis=1)]
        lengths = row_norms(self.rows)
        unit = np.maximum(lengths[rows], lengths.mean())
        unit += 0.0 if self._centre is None else float(np.linalg.norm(self._centre))
        at = at[pair_distances(queries, self.rows, at, rows, "euclidean") <= np.finfo(np.float32).eps * unit]
        same[at] = alike[at]
        return same

    def count(self, n_neighbors: int, *, own: bool = False) -> int:
        """Check a number of neighbours, of the rows themselves (`own`) or of new ones."""
        n_used = len(self._index)
        largest = n_used - 1 if own else n_used
        if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer):
            raise InvalidInputError(f"n_neighbors={n_neighbors!r} is no count; take an integer from 1 to {largest}.")
        if not 1 <= n_neighbors <= largest:
            n = self.n_samples
            rows = f"{n} rows" if n_used == n else f"{n} rows of which {n_used} are not zero"
            remedy = f"take 1 to {largest}" if largest >= 1 else "add samples"
            raise InvalidInputError(f"n_neighbors={n_neighbors}, but X has {rows}; {remedy}.")
        return int(n_neighbors)

    def _find(self, queries: Matrix, k: int) -> IntArray:
        """Return the k rows of those that are searched nearest to every query."""
        if self.search == "exact":
            return exact_neighbors(self.searched, queries, k, self.metric)
        if self._descent is None or self._descent.k < k - (queries is self.searched):
            self._descent = NeighborDescent(
                self.searched, k - (queries is self.searched), self.metric, self.random_state
            )
        return self._descent(queries, k)

    def _centred(self, X: Matrix) -> Matrix:
        return X if self._centre is None else X - self._centre

    def _projected(self, X: Matrix) -> Matrix:
        rows = np.ascontiguousarray(self._projection.transform(X))
        if self.angles:
            # Of a row that lies outside of the components only rounding is left in them: no direction.
            rows[row_norms(rows) <= _ROUNDING * np.finfo(rows.dtype).eps * row_norms(X)] = 0.0
        return rows


def mean_length(distances: FloatArray) -> float:
    """Return the mean of lengths of edges; 1 where there are none, or all are 0."""
    mean = float(distances.mean()) if len(distances) else 0.0
    return mean if mean > 0 else 1.0


def _check_rows(X: Matrix, name: str = "X", *, small: bool = True) -> Matrix:
    """Return `X` as a finite array or CSR matrix; name the first bad entry otherwise.

    In float64, but for more than `LARGE` dense rows of a type that float32 holds exactly (images of uint8).
    """
    from sklearn.utils import check_array

    large = len(X) > LARGE if not sp.issparse(X) and hasattr(X, "__len__") else False
    single = large and hasattr(X, "dtype") and np.can_cast(X.dtype, np.float32)
    order = "C" if large else None  # as scikit-learn's fast search needs it
    keywords = {"accept_sparse": "csr", "order": order, "ensure_all_finite": False, "input_name": name}
    dtype = np.float32 if single else np.float64
    return feature_rows(X, name, lambda X: check_array(X, dtype=dtype, **keywords), small=small)


def _check_distances(D: Matrix) -> None:
    """Raise unless a matrix holds distances between its rows."""
    if D.shape[0] != D.shape[1]:
        raise InvalidInputError(
            f"metric='precomputed' needs the square matrix of distances, got the shape {D.shape}; pass "
            "sklearn.metrics.pairwise_distances(X), or name a metric."
        )
    finite_numbers("X", D, "with metric='precomputed' distances >= 0", least=0.0)


def _n_components(reduce: int | str | None, X: Matrix, metric: Any) -> int | None:
    """Read the option `reduce` for the rows `X`; None: no projection."""
    if reduce is None:
        return None
    if reduce == "auto":
        wide = X.shape[0] > LARGE and X.shape[1] > _AUTO_FEATURES
        return _AUTO_COMPONENTS if wide and metric in PROJECTED_METRICS and not sp.issparse(X) else None
    if metric not in PROJECTED_METRICS:
        raise InvalidInputError(
            f"reduce={reduce} projects the rows, which keeps Euclidean distances and angles but not "
            f"metric={metric!r}; take reduce=None, or one of {', '.join(PROJECTED_METRICS)}."
        )
    return int(reduce) if int(reduce) < min(X.shape) else None
