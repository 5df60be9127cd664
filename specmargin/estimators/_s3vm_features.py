"""The features that a semi-supervised SVM works in, and how its weights become a function of new samples.

Three routes: `LinearRoute`, the samples as they are, dense or sparse; `KernelRoute`, the map of a stored kernel;
`LandmarkRoute`, the kernel functions at some of the samples. With a Laplacian each is that of the deformed kernel.
Predictions need no features: they are expansions over the raw ones, the kernel, or the landmarks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.estimators._memory import require_memory
from specmargin.estimators._span import precomputed
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian
from specmargin.kernels import landmark_features
from specmargin.kernels.maps import deformed_features, deformed_kernel, kernel_map
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = ["FeatureRoute", "KernelRoute", "LandmarkRoute", "LinearRoute", "require_scale"]

_LARGEST = 1e75
"""Fourth powers of features, times their number, stay below the largest double."""
_KERNEL_MATRICES, _DEFORMED_MATRICES = 6, 8
"""How many n x n matrices are held at once, measured: by the maps (four, six), and by a solver on their features."""


def require_scale(X: Matrix) -> None:
    """Raise where squared lengths of samples, or products of two, would overflow."""
    stored = X.data if sp.issparse(X) else X
    largest = float(np.abs(stored).max(initial=0.0))
    if largest > _LARGEST:
        raise InvalidInputError(
            f"X holds values up to {largest:.1e}, whose fourth powers overflow; scale the features, e.g. by "
            "sklearn.preprocessing.MaxAbsScaler."
        )


class FeatureRoute(ABC):
    """Features of the training samples and the way back from weights."""

    Z: Matrix
    """(n, r): what the objective takes."""

    @abstractmethod
    def expansion(self, v: FloatArray) -> FloatArray:
        """Return what predictions need of the weights v (r,) of one machine."""

    @abstractmethod
    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        """Return f - b at new samples, (m, c), from the expansions (c, ...) of c machines."""

    def forget(self) -> None:
        """Drop the features once all machines are found: predictions do not need them."""
        self.Z = None


class LinearRoute(FeatureRoute):
    """The samples as they are; coefficients are those of the features.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training samples; dense where there is a graph.
    L : Laplacian or None
        Of the graph.
    ratio : float
        gamma_I / gamma_A.
    """

    def __init__(self, X: Matrix, L: Laplacian | None, ratio: float) -> None:
        self._map = None if L is None else deformed_features(X, L, ratio)
        self.Z = X if self._map is None else self._map.Z

    def expansion(self, v: FloatArray) -> FloatArray:
        return v if self._map is None else np.asarray(self._map.W @ v)

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return np.asarray(X @ coefficients.T)


class KernelRoute(FeatureRoute):
    """The map of a stored kernel; coefficients are those of the kernel functions of all samples.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training samples.
    matrix : callable
        ``matrix(X)`` is their Gram matrix, ``matrix(X_new, X)`` the block of new samples.
    rank : int or None
        Leading components to keep.
    L : Laplacian or None
        Of the graph.
    ratio : float
        gamma_I / gamma_A.
    """

    def __init__(
        self, X: Matrix, matrix: Callable[..., FloatArray], rank: int | None, L: Laplacian | None, ratio: float
    ) -> None:
        n = X.shape[0]
        require_memory(
            8.0 * n * n * (_KERNEL_MATRICES if L is None else _DEFORMED_MATRICES),
            f"the stored kernel of {n} samples and its features",
            "take n_landmarks=, or kernel='linear'",
        )
        # Predictions with a precomputed kernel are given their block.
        self._X, self._matrix = (None if matrix is precomputed else X), matrix
        K = matrix(X)
        deformed = None if L is None else deformed_kernel(K, L, ratio)
        found = kernel_map(K if deformed is None else deformed.matrix, rank=None if rank is None else min(rank, n))
        self.Z = found.Z
        self._W: FloatArray | None = found.W
        self._deformed = deformed

    def expansion(self, v: FloatArray) -> FloatArray:
        assert self._W is not None
        alpha = self._W @ v
        return alpha if self._deformed is None else self._deformed.coefficients(alpha)

    def forget(self) -> None:
        self.Z = self._W = self._deformed = None

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        reference = X if self._X is None else self._X
        return np.asarray(self._matrix(X, reference) @ coefficients.T)


class LandmarkRoute(FeatureRoute):
    """The kernel functions at m samples, the labelled ones among them; coefficients are those of their features.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training samples.
    m : int
        Number of landmarks.
    labeled : ndarray of int
        Labelled rows.
    random_state
        Draws the others.
    L : Laplacian or None
        Of the graph.
    ratio : float
        gamma_I / gamma_A.
    words
        Of the kernel.
    """

    def __init__(
        self, X: Matrix, m: int, labeled: IntArray, random_state: Any, L: Laplacian | None, ratio: float, **words: Any
    ) -> None:
        n = X.shape[0]
        m = max(min(m, n), len(labeled))
        require_memory(32.0 * n * m + 32.0 * m * m, f"{m} landmarks for {n} samples", "take fewer")
        self._features = landmark_features(X, m, include=labeled, random_state=random_state, **words)
        F = self._features(X)
        self._map = None if L is None else deformed_features(F, L, ratio)
        self.Z = F if self._map is None else self._map.Z

    def expansion(self, v: FloatArray) -> FloatArray:
        return v if self._map is None else np.asarray(self._map.W @ v)

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return np.asarray(self._features(X) @ coefficients.T)
