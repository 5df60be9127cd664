"""Features of samples that ignore the graph: principal components, and RBF kernels on all features or on components.

Every map is centred over the training samples: its `values` (n, r) there have the mean zero, and `at` returns those of
new samples. A kernel is ``values diag(d) values'`` with any weights d >= 0, so that one map serves many kernels.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.kernels import LandmarkFeatures, gram, resolve_gamma
from specmargin.kernels.matrices import near_origin, squared_distances
from specmargin.typing import FloatArray, Matrix

__all__ = ["FeatureMap", "Known", "PrincipalComponents", "RadialFeatures", "Whitened", "once"]

_DENSE = 2000  # rows or columns up to which principal components are exact
_LARGE = 1000  # rows and columns from which on they are searched for in single precision
_DEPENDENT = 1e-10  # what the other landmarks leave of the diagonal of an RBF kernel, 1
_CONSTANT = 1e-20  # variance of a feature of a kernel whose diagonal is 1
_NOISE = 1e-10  # of the largest variance: components below are rounding


Known: TypeAlias = dict[Any, Any]
"""What maps have computed of the same new samples, by what it is and the identity of what it follows from."""


def once(known: Known | None, what: Hashable, compute: Callable[[], Any]) -> Any:
    """Return what is known, or compute it and keep it."""
    if known is None:
        return compute()
    if what not in known:
        known[what] = compute()
    return known[what]


class FeatureMap(ABC):
    """Centred features of the training samples, and how new samples get theirs."""

    values: FloatArray
    """Of the training samples, (n, r)."""
    _components: FeatureMap | None = None
    """The map that new samples go through first."""

    @property
    def rank(self) -> int:
        """Number of features, r."""
        return int(self.values.shape[1])

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the features over the training samples, (r, r): the variance of w'phi is w' covariance w."""
        return np.asarray(self.values.T @ self.values / len(self.values))

    @abstractmethod
    def at(self, X: Matrix, known: Known | None = None) -> FloatArray:
        """Return the features of new samples, (m, r); what several maps compute of them is in `known`, or put there."""

    def reduced(self, columns: FloatArray) -> Self | None:
        """Return the map of the features times `columns` (r, k), for new samples alone; None where nothing is saved."""
        return None

    def forget(self) -> None:
        """Drop what belongs to the training samples and is not needed for new ones."""
        self.__dict__.pop("values", None)
        self.__dict__.pop("covariance", None)
        if self._components is not None:
            self._components.forget()

    def _for_new_samples(self, **changed: Any) -> Self:
        """Return a copy with other attributes, without what belongs to the training samples."""
        few = copy.copy(self)
        vars(few).update(changed)
        few.forget()
        return few


class PrincipalComponents(FeatureMap):
    """Scores on the leading principal components, scaled to the mean squared length 1; sparse X is never made dense.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    rank : int
        Components at most; those whose variance is rounding are left out.
    random_state : int
        Seed of the search for components where n and d exceed 2000.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> components = PrincipalComponents(X, rank=2)
    >>> bool(np.allclose(components.at(X), components.values)), (components.values**2).sum(axis=1).round(9).tolist()
    (True, [1.0, 1.0, 1.0, 1.0])
    """

    def __init__(self, X: Matrix, *, rank: int, random_state: int = 0) -> None:
        n, d = X.shape
        self._centre = np.zeros(d) if sp.issparse(X) else X.mean(axis=0)
        # Dense rows are centred before anything is squared: far from the origin the variances would be lost.
        scale = float(np.abs(X.data if sp.issparse(X) else X - self._centre).max(initial=0.0)) or 1.0
        centred = X / scale if sp.issparse(X) else (X - self._centre) / scale
        sources, scores, products = _leading_directions(centred, min(rank, n - 1, d), random_state)
        mean = scores.mean(axis=0)
        scores -= mean
        # The directions are those of the uncentred rows where they are sparse: turn them to the principal ones.
        variances, turn = sla.eigh(scores.T @ scores)
        kept = variances[::-1] > _NOISE * max(float(variances[-1]), 0.0)
        turn = turn[:, ::-1][:, kept]
        unit = np.sqrt(max(float(variances[::-1][kept].sum()), 0.0) / n) or 1.0
        turned = sources @ (turn / unit)
        self._directions = np.asarray(centred.T @ turned if len(turned) == n != d else turned) / scale
        self._mean = mean @ turn / unit
        self.values = scores @ turn / unit
        self.products = None if products is None else products * scale**2
        """Inner products (n, n) of the rows, centred where dense, if they had to be computed."""

    def at(self, X: Matrix, known: Known | None = None) -> FloatArray:
        """Return the scores of new samples, (m, r)."""
        if sp.issparse(X):
            return np.asarray(X @ self._directions) - (self._centre @ self._directions + self._mean)
        return np.asarray((X - self._centre) @ self._directions) - self._mean

    def leading(self, m: int) -> PrincipalComponents:
        """Return the first m components alone."""
        few = copy.copy(self)
        few.__dict__.pop("covariance", None)
        few.products = None
        few.values = self.values[:, :m]
        vars(few).update(_directions=self._directions[:, :m].copy(), _mean=self._mean[:m])
        return few

    def reduced(self, columns: FloatArray) -> PrincipalComponents:
        """Return the map of the scores times `columns`."""
        changed = {"_directions": self._directions @ columns, "_mean": self._mean @ columns}
        return self._for_new_samples(**changed, products=None)


def _leading_directions(X: Matrix, r: int, random_state: int) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return r orthonormal directions in which the rows, centred where dense, have most of their length, and scores.

    The directions (d, r) themselves, or where d > n what X' has to be multiplied with for them, (n, r). Then the inner
    products of the rows come third.
    """
    n, d = X.shape
    if min(n, d) > _DENSE:
        from sklearn.decomposition import TruncatedSVD

        V = np.asarray(TruncatedSVD(r, random_state=random_state).fit(X).components_.T)
        return V, np.asarray(X @ V), None
    if d <= n:
        product = X.T @ X
        V = _top(product.toarray() if sp.issparse(product) else product, r)
        return V, np.asarray(X @ V), None
    product = X @ X.T
    if sp.issparse(X):
        r = min(r + 1, n)  # one of them is the direction of the mean, which centring takes out
        product = product.toarray()
    U = _top(product, r)
    image = product @ U
    squares, turn = sla.eigh(U.T @ image)
    # Directions of small length are rounding.
    kept = squares > _NOISE * max(float(squares[-1]), 0.0)
    turn = turn[:, kept] / np.sqrt(squares[kept])
    return U @ turn, image @ turn, product


def _top(A: FloatArray, r: int) -> FloatArray:
    """Return the r leading eigenvectors of a symmetric matrix, the first of the largest eigenvalue."""
    n = len(A)
    if n >= _LARGE:
        # Half the time; what single precision mistakes are the directions of the least variances.
        A = A.astype(np.float32)
    if 4 * r < n:
        V = sla.eigh(A, subset_by_index=(n - r, n - 1), check_finite=False)[1][:, ::-1]
    else:
        V = sla.eigh(A, driver="evd", check_finite=False)[1][:, : -r - 1 : -1]
    return np.asarray(V, dtype=np.float64)


class Whitened(FeatureMap):
    """The leading principal components, each with the variance 1: the features of the cluster kernel.

    Parameters
    ----------
    components : PrincipalComponents
    m : int
        Number of components, at most their rank.
    """

    _components: FeatureMap

    def __init__(self, components: FeatureMap, m: int) -> None:
        self._components, self._m = components, m
        leading = components.values[:, :m]
        self._deviations = leading.std(axis=0)
        self.values = leading / self._deviations

    def at(self, X: Matrix, known: Known | None = None) -> FloatArray:
        """Return the whitened scores of new samples, (m, r)."""
        return self._components.at(X)[:, : self._m] / self._deviations


class RadialFeatures(FeatureMap):
    """Features of an RBF kernel: its values at landmarks, times the inverse Cholesky factor of their kernel (Nyström).

    A kernel of all samples has about as many large eigenvalues as the landmarks span; those that depend on the others
    are left out. Where all samples are landmarks the kernel is exact.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    width : float
        Width in units of the median distance.
    rank : int
        Features at most.
    landmarks : ndarray or sparse matrix of shape (m, d), optional
        Rows of X; by default all.
    components : FeatureMap, optional
        X are the leading columns of its values; new samples are mapped by it first.

    Examples
    --------
    >>> X = np.arange(6.0)[:, None]
    >>> features = RadialFeatures(X, width=1.0, rank=6)
    >>> bool(np.allclose(features.at(X), features.values))
    True
    """

    def __init__(
        self,
        X: Matrix,
        *,
        width: float,
        rank: int,
        landmarks: Matrix | None = None,
        components: FeatureMap | None = None,
    ) -> None:
        self._components, self._width = components, X.shape[1]
        rows = X if landmarks is None else landmarks
        gamma = resolve_gamma(rows, "median") / width**2
        # Pivots: where few features suffice, the factor of all landmarks would be that of a singular matrix.
        factor, pivots, r, _ = sla.lapack.dpstrf(gram(rows, kernel="rbf", gamma=gamma), tol=_DEPENDENT)
        r = min(int(r), rank)
        # In the order of the landmarks, which several maps share.
        W = np.zeros((rows.shape[0], r))
        W[pivots[:r] - 1] = np.triu(sla.lapack.dtrtri(factor[:r, :r])[0])
        self._map = LandmarkFeatures(rows, W, "rbf", gamma, 3, 1.0)
        values = self._map(X)
        self._mean = values.mean(axis=0)
        centred = values - self._mean
        # Penalties are relative: what is only rounding would count as much as anything.
        self.values = np.where(centred.var(axis=0) > _CONSTANT, centred, 0.0)

    def at(self, X: Matrix, known: Known | None = None) -> FloatArray:
        """Return the features of new samples, (m, r)."""
        rows = X if self._components is None else self._components.at(X)[:, : self._width]
        landmarks = self._map.landmarks  # which the kernels of several widths share
        squares = once(known, id(landmarks), lambda: squared_distances(*near_origin(rows, landmarks)))
        return np.asarray(np.exp(-self._map.gamma * squares) @ self._map.W - self._mean)

    def reduced(self, columns: FloatArray) -> RadialFeatures:
        """Return the map of the features times `columns`."""
        fewer = replace(self._map, W=self._map.W @ columns)
        return self._for_new_samples(_map=fewer, _mean=self._mean @ columns)
