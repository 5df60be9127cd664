"""Features of samples from graphs of their neighbours: eigenvectors of the Laplacian, one search for many graphs.

New samples get the weighted means of their neighbours' values, with the edge weights of the graph: "heat" weights
whose width is the mean length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.graphs import LaplacianOperator, NeighborSearch, laplacian
from specmargin.spectra import Spectrum, extend, laplacian_eigenpairs
from specmargin.tables.candidates.ambient_maps import FeatureMap, Known, once
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = ["Eigenvectors", "NeighborView", "filter_spectra", "heat_graph", "node_spectra"]

_TOL = 1e-2  # residual of the eigenpairs, relative to the norm: candidates are judged by their errors alone
_LANCZOS = 800  # samples from which on LAPACK takes longer
_ROUNDING = 1e-13  # of a squared length: a squared distance below it is that of copies
_COPY = 1e-8  # of the width: rounding of features that are computed again
_FILTERS = ((2, 20), (2, 80))
_STEPS = (5, 10, 20, 40, 100)
_NODE_FILTERS = ((2, 1), (2, 3), (2, 8), (2, 20))
_NODE_STEPS = (1, 2, 3, 5, 10, 20)
_SPREADS = (0.2, 0.9)


class NeighborView:
    """Nearest neighbours of the samples, searched once for all numbers of neighbours.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        The rows that are searched.
    n_neighbors : int
        The largest number.
    metric : str
        Metric as `specmargin.graphs.NeighborSearch` takes it.
    components : FeatureMap, optional
        X are the leading columns of its values; new samples are mapped by it first.
    products : ndarray of shape (n, n), optional
        Inner products of the rows, from which the Euclidean distances follow without a search.
    """

    def __init__(
        self,
        X: Matrix,
        n_neighbors: int,
        *,
        metric: str = "euclidean",
        components: FeatureMap | None = None,
        products: FloatArray | None = None,
    ) -> None:
        self._components, self._columns, self._k = components, X.shape[1], n_neighbors
        reduce = "auto" if metric in ("euclidean", "l2", "cosine") else None
        self._search = NeighborSearch(X, metric=metric, reduce=reduce)
        self.used = np.flatnonzero(self._search.used)
        self.k = min(n_neighbors, len(self.used) - 1)
        if products is None:
            self.distances, self.indices = self._search.kneighbors(n_neighbors=self.k)
        else:
            self.distances, self.indices = _nearest(products, self.k)

    def neighbors(self, X: Matrix) -> tuple[FloatArray, IntArray]:
        """Return the distances and the numbers of the training samples nearest to new ones."""
        rows = X if self._components is None else self._components.at(X)[:, : self._columns]
        return self._search.kneighbors(rows, n_neighbors=min(self._k, len(self.used)))

    def forget(self) -> None:
        """Drop the neighbours of the samples themselves."""
        self._search.forget()
        if self._components is not None:
            self._components.forget()
        self.__dict__.pop("distances", None)
        self.__dict__.pop("indices", None)

    def width(self, k: int) -> float:
        """Return the mean length of the edges to k neighbours; 1 where all are copies."""
        return float(self.distances[:, :k].mean()) or 1.0


def _nearest(products: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """Return the distances (n, k) and the numbers of the nearest others, the nearest first."""
    lengths = products.diagonal()
    squares = lengths[:, None] + lengths - 2.0 * products
    squares[squares <= _ROUNDING * lengths[:, None]] = 0.0
    np.fill_diagonal(squares, np.inf)
    indices = np.argpartition(squares, k - 1, axis=1)[:, :k]
    near = np.take_along_axis(squares, indices, axis=1)
    order = np.argsort(near, axis=1, kind="stable")
    return np.sqrt(np.take_along_axis(near, order, axis=1)), np.take_along_axis(indices, order, axis=1)


def heat_graph(view: NeighborView, k: int, n: int) -> SparseArray:
    """Return the symmetric graph of k nearest neighbours: that of `specmargin.graphs.knn_graph` with "heat" weights.

    `knn_graph` measures its edges anew for every k; here they have been measured.

    Parameters
    ----------
    view : NeighborView
    k : int
    n : int
        Samples.

    Examples
    --------
    >>> view = NeighborView(np.array([[0.0], [1.0], [3.0]]), 2)
    >>> heat_graph(view, 1, 3).nnz
    4
    """
    weights = np.maximum(np.exp(-((view.distances[:, :k] / view.width(k)) ** 2) / 2.0), np.finfo(np.float64).tiny)
    listed = sp.csr_array(
        (weights.ravel(), (np.repeat(view.used, k), view.indices[:, :k].ravel())), shape=(n, n), dtype=np.float64
    )
    return sp.csr_array(listed.maximum(listed.T))


def filter_spectra(
    theta: FloatArray, filters: Sequence[tuple[int, int]] = _FILTERS, steps: Sequence[int] = _STEPS
) -> tuple[list[str], FloatArray]:
    r"""Return the names and the weights of the kernels of one graph, each of sum one.

    They are :math:`1 / (1 + (\theta / \theta_m)^p)`, which halves the weight behind m eigenvalues that are not
    zero, and steps at the m-th of them: a graph of few neighbours is in many pieces, whose eigenvalues are zero.

    Parameters
    ----------
    theta : ndarray of shape (q,)
        Eigenvalues, not decreasing.
    filters : sequence of (int, int)
        Powers p, and numbers m.
    steps : sequence of int

    Examples
    --------
    >>> names, d = filter_spectra(np.array([0.0, 1.0, 2.0]))
    >>> names[0], d[0].round(3).tolist()
    ('p2 m20', [0.435, 0.348, 0.217])
    """
    zeros = int((theta == 0).sum())
    index = np.arange(len(theta))
    names, d = [], []
    for p, m in filters:
        at = float(theta[min(zeros + m, len(theta) - 1)])
        names.append(f"p{p} m{m}")
        d.append(1.0 / (1.0 + (theta / (at or 1.0)) ** p))
    for m in steps:
        names.append(f"step{m}")
        d.append((index < zeros + m).astype(np.float64))
    weights = np.array(d)
    return names, weights / weights.sum(axis=1, keepdims=True)


def node_spectra(theta: FloatArray) -> tuple[list[str], FloatArray]:
    r"""Return the same for a graph whose nodes have no features: fewer eigenvectors, and label spreading.

    The kernel of label spreading is :math:`(I - \alpha S)^{-1}`, S the graph over the roots of degrees; a ridge with a
    large penalty adds it over the labels of each class, as label spreading does.

    Examples
    --------
    >>> names, d = node_spectra(np.array([0.0, 1.0]))
    >>> names[-2], d[-2].round(3).tolist()
    ('spreading 0.2', [0.556, 0.444])
    """
    names, d = filter_spectra(theta, _NODE_FILTERS, _NODE_STEPS)
    spread = np.array([1.0 / (1.0 - alpha + alpha * theta) for alpha in _SPREADS])
    named = [f"spreading {alpha:g}" for alpha in _SPREADS]
    return names + named, np.vstack([d, spread / spread.sum(axis=1, keepdims=True)])


class Eigenvectors(FeatureMap):
    """The lowest eigenvectors of a graph's normalised Laplacian, with the mean square 1 before they are centred.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
    q : int
        Number of eigenvectors at most.
    view : NeighborView, optional
        Neighbours of the training samples; without it there are no new samples.
    k : int
        Neighbours of new samples.
    random_state : int
        Starts the search for eigenvectors.
    """

    def __init__(
        self, W: SparseArray, *, q: int, view: NeighborView | None = None, k: int = 0, random_state: int = 0
    ) -> None:
        self.laplacian: LaplacianOperator = laplacian(W)
        n = W.shape[0]
        q = min(q, n if view is None else n - 1)
        method = "lanczos" if n > _LANCZOS and q <= n / 3 else "dense"
        self.spectrum: Spectrum = laplacian_eigenpairs(
            self.laplacian, q=q, method=method, tol=_TOL if method == "lanczos" else None, random_state=random_state
        )
        self._view, self._k, self._width = view, k, 1.0 if view is None else view.width(k)
        values = np.sqrt(n) * self.spectrum.eigenvectors
        self._mean = values.mean(axis=0)
        self.values = values - self._mean
        self.covariance = np.eye(q) - np.outer(self._mean, self._mean)  # orthonormal columns

    def at(self, X: Matrix, known: Known | None = None) -> FloatArray:
        """Return the means of the neighbours' values, (m, q)."""
        view: Any = self._view  # nodes without features have none, and nothing new
        distances, indices = once(known, id(view), lambda: view.neighbors(X))
        ties = _tied(distances[:, : self._k], indices[:, : self._k], self._width, len(self.values))
        return extend(self.values, ties)

    def reduced(self, columns: FloatArray) -> Eigenvectors:
        """Return the map of the features times `columns`."""
        return self._for_new_samples(values=self.values @ columns)

    def forget(self) -> None:
        """Drop the graph and its neighbours; the values are what new samples get the means of."""
        if self._view is not None:
            self._view.forget()
        self.__dict__.pop("covariance", None)
        self.__dict__.pop("spectrum", None)
        self.__dict__.pop("laplacian", None)


def _tied(distances: FloatArray, indices: IntArray, width: float, n: int) -> SparseArray:
    """Return the weights (m, n) of new samples to training samples; a copy of one is tied to its copies alone."""
    # In units of the nearest: far from all samples the weights would underflow.
    squares = (distances / width) ** 2 / 2.0
    weights = np.exp(squares.min(axis=1, keepdims=True) - squares)
    copies = distances <= _COPY * width
    weights[copies.any(axis=1)] = copies[copies.any(axis=1)]
    m, k = indices.shape
    return sp.csr_array((weights.ravel(), (np.repeat(np.arange(m), k), indices.ravel())), shape=(m, n))
