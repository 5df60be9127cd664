"""The functions that a classifier chooses from: their values at the training samples, and how they extend to new ones.

`KernelFunctions` are those of all samples, with a stored n x n kernel. Three maps have features, fewer than samples:
`RawFeatures`, the samples as they are, dense or sparse; `Landmarks`, the kernel functions at some of the samples
(Nyström); `Eigenvectors`, the lowest ones of a graph Laplacian.

A solver over kernels takes `FeatureMap.kernel` and hands alpha to `from_dual`; one that works in w takes the features
that `deformed` returns, and hands its weights to `from_weights`. Both give the coefficients of the functions, which are
all that predictions need: `values`. `ChosenFunctions` are the parameters by which an estimator chooses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.checks import outside
from specmargin.estimators._memory import require_memory
from specmargin.estimators._shared_parameters import KernelFunction
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian, NeighborSearch, neighbor_weights
from specmargin.kernels import LowRankKernel, landmark_features, require_semidefinite
from specmargin.kernels.maps import deformed_features, deformed_kernel, kernel_map
from specmargin.labels import Labels, Targets
from specmargin.spectra import Spectrum, extend, laplacian_eigenpairs
from specmargin.spectra.reuse import whole_eigenspaces
from specmargin.typing import FloatArray, IntArray, Matrix

_LANDMARKS, _EIGENVECTORS = 2000, 200
_FULL_SAMPLES = 10_000  # up to here one factorisation of LapSVM takes seconds
_HELD = {"kernel": 2, "landmarks": 3}
"""Matrices of the size of the kernel, or of the landmarks' features, that LapSVM holds at once."""

_LARGEST = 1e75
"""Fourth powers of features, times their number, stay below the largest double."""


def require_scale(X: Matrix) -> None:
    """Raise where squared lengths of samples, or products of two, would overflow."""
    stored = X.data if sp.issparse(X) else X
    largest = float(np.abs(stored).max(initial=0.0))
    if largest > _LARGEST:
        raise InvalidInputError(
            f"X holds values up to {largest:.1e}, whose fourth powers overflow; scale the features, e.g. by "
            "sklearn.preprocessing.MaxAbsScaler."
        )


class FeatureMap(ABC):
    """Functions h_1, ..., h_m, whose sum with coefficients is f - b; `features` holds their values at the samples."""

    def __init__(self, features: Matrix) -> None:
        self.features: Any = features
        self._whitening: FloatArray | None = None

    @cached_property
    def kernel(self) -> Any:
        """The kernel of the training samples whose functions these are."""
        return LowRankKernel(self.features)

    def deformed(self, L: Laplacian | None, ratio: float) -> Matrix:
        """Return features (n, r) in which |w|^2 is the norm: with a graph that of the deformed kernel."""
        if L is None:
            return self.features
        features = deformed_features(self.features, L, ratio)
        self._whitening = features.W
        return features.Z

    def from_dual(self, alpha: FloatArray) -> FloatArray:
        """Return the coefficients of f = K alpha + b."""
        return np.asarray(self.kernel.factor.T @ alpha)

    def from_weights(self, v: FloatArray) -> FloatArray:
        """Return the coefficients of the weights v (r,) of the features of `deformed`."""
        return v if self._whitening is None else np.asarray(self._whitening @ v)

    @abstractmethod
    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        """Return f - b at new samples, (m, c), from the coefficients (c, ...) of c classifiers."""

    def forget(self) -> None:
        """Drop what belongs to the training samples once all coefficients are known: predictions do not need it."""
        self.features = self._whitening = None
        self.__dict__.pop("kernel", None)


class RawFeatures(FeatureMap):
    """The features of the samples themselves, (n, d)."""

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return np.asarray(X @ coefficients.T)


class KernelFunctions(FeatureMap):
    """The kernel functions of all samples.

    ``matrix(X)`` is their Gram matrix, ``matrix(X_new, X)`` the block of new samples, and `held` the number of n x n
    matrices that are held at once.
    """

    def __init__(self, X: Matrix, matrix: KernelFunction, held: int) -> None:
        n = X.shape[0]
        require_memory(
            8.0 * held * n * n,
            f"the stored kernel of {n} samples and what is computed from it",
            "take span='eigenvectors', or span='landmarks' and n_landmarks=",
        )
        # Predictions with a precomputed kernel are given their block.
        self._X, self._matrix = (None if matrix.is_precomputed else X), matrix
        super().__init__(matrix(X))
        self._deformed: Any = None

    @property
    def kernel(self) -> Any:
        """The Gram matrix."""
        return self.features

    def deformed(self, L: Laplacian | None, ratio: float, rank: int | None = None) -> Matrix:
        """Return the features of the map of the kernel, the leading `rank` of them."""
        K, self.features = self.features, None
        self._deformed = None if L is None else deformed_kernel(K, L, ratio)
        rank = None if rank is None else min(rank, len(K))
        features = kernel_map(K if self._deformed is None else self._deformed.matrix, rank=rank)
        self._whitening = features.W
        return features.Z

    def from_dual(self, alpha: FloatArray) -> FloatArray:
        return alpha

    def from_weights(self, v: FloatArray) -> FloatArray:
        alpha = super().from_weights(v)
        return alpha if self._deformed is None else np.asarray(self._deformed.coefficients(alpha))

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        reference = X if self._X is None else self._X
        return np.asarray(self._matrix(X, reference) @ coefficients.T)

    def forget(self) -> None:
        self.features = self._whitening = self._deformed = None


class Landmarks(FeatureMap):
    """The kernel functions at m samples: the labelled rows, and others that `random_state` draws.

    `held` is the number of n x m matrices that are held at once, `kernel` that of
    `specmargin.kernels.landmark_features`.
    """

    def __init__(self, X: Matrix, m: int, labeled: IntArray, random_state: Any, held: int, **kernel: Any) -> None:
        n, m = X.shape[0], max(min(m, X.shape[0]), len(labeled))
        require_memory(8.0 * held * n * m + 32.0 * m * m, f"{m} landmarks for {n} samples", "take fewer: n_landmarks")
        self._map = landmark_features(X, m, include=labeled, random_state=random_state, **kernel)
        super().__init__(self._map(X))

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return np.asarray(self._map(X) @ coefficients.T)


class Eigenvectors(FeatureMap):
    """The lowest eigenvectors of the graph; new samples get the weighted mean of their neighbours' values.

    `search` is over the training samples, `first` the number of eigenvectors that are left out, `weights` are keyword
    arguments of `specmargin.graphs.neighbor_weights`.
    """

    def __init__(self, spectrum: Spectrum, search: NeighborSearch, first: int = 0, **weights: Any) -> None:
        self._search, self._weights = search, weights
        # The mean of the diagonal is one, as with a radial kernel, so that gamma_A keeps its meaning.
        kept = spectrum.eigenvectors[:, min(first, spectrum.q - 1) :]
        super().__init__(np.sqrt(spectrum.n_samples / kept.shape[1]) * kept)

    def from_dual(self, alpha: FloatArray) -> FloatArray:
        """Return f - b at the training samples: these are what new samples get the means of."""
        return np.asarray(self.kernel @ alpha)

    def from_weights(self, v: FloatArray) -> FloatArray:
        return np.asarray(self.features @ super().from_weights(v))

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return extend(coefficients.T, neighbor_weights(X, self._search, **self._weights))


@dataclass(kw_only=True, eq=False, repr=False)
class ChosenFunctions:
    """The functions to choose from: all samples' kernel functions, or fewer.

    Parameters
    ----------
    span : {"auto", "kernel", "landmarks", "eigenvectors"}
        The functions to choose from. "kernel": the expansion over all samples, which stores n x n numbers twice;
        "landmarks": that over `n_landmarks` of them (Nyström), the labelled ones included; "eigenvectors": the `q`
        lowest eigenvectors of the graph Laplacian, with no kernel. In each the optimum is exact. "auto" takes "kernel"
        up to 10,000 samples, then "eigenvectors", or "landmarks" where gamma_I is 0.
    n_landmarks : int
        Number of landmarks; by default 2000.
    q : int
        Number of eigenvectors, at most n; by default min(200, n).
    random_state : int, Generator or None
        Draws landmarks; starts the search for eigenvectors and, where there are many features, for neighbours.
    """

    span: str = "auto"
    n_landmarks: int | None = None
    q: int | None = None
    random_state: Any = 0

    def _map(
        self: Any,
        span: str,
        X: Matrix,
        labels: Labels | Targets,
        L: Laplacian | None,
        held: dict[str, int],
        gamma: float,
        n_neighbors: int,
        first: int = 0,
    ) -> FeatureMap:
        """Return the functions of a span, at a kernel width and for new samples with a number of neighbours.

        The kernel is that of a `KernelFamily`, the neighbours those of `SearchedNeighbors`; `held` is the number of
        matrices that are held at once, by span, and `first` that of eigenvectors that are left out.
        """
        if span == "kernel":
            return KernelFunctions(X, self._gram_at(gamma), held[span])
        if span == "landmarks":
            if self._is_precomputed:
                raise InvalidInputError(
                    "span='landmarks' draws samples, and kernel='precomputed' holds none; take 'kernel'."
                )
            m = _LANDMARKS if self.n_landmarks is None else self.n_landmarks
            kernel = self._kernel_arguments(gamma)
            return Landmarks(X, m, labels.labeled, self.random_state, held[span], **kernel)
        if L is None:
            raise InvalidInputError(
                "span='eigenvectors' are those of the graph, which gamma_I=0 leaves out; take 'landmarks'."
            )
        q = min(X.shape[0], _EIGENVECTORS if self.q is None else self.q)
        spectrum = laplacian_eigenpairs(replace(L, power=1), q=q, random_state=self.random_state)
        spectrum = whole_eigenspaces(spectrum, stacklevel=outside())
        search = self._opened(X) if self._search is None else self._search
        return Eigenvectors(spectrum, search, first=first, n_neighbors=n_neighbors, weight=self.weight)

    def _manifold_span(self: Any, n: int, with_graph: bool) -> str:
        """Return the span that was asked for, or that suits n samples."""
        if self.span != "auto":
            return str(self.span)
        large = n > _FULL_SAMPLES and not self._is_precomputed
        return ("eigenvectors" if with_graph else "landmarks") if large else "kernel"

    def _manifold_map(
        self: Any, X: Matrix, labels: Labels | Targets, L: Laplacian | None, gamma: float, n_neighbors: int
    ) -> FeatureMap:
        """Return the functions of LapSVM: those that were asked for, or that suit the number of samples."""
        span = self._manifold_span(X.shape[0], L is not None)
        # The first eigenvector, constant or the roots of the degrees, is the intercept's where there is one.
        functions: FeatureMap = self._map(span, X, labels, L, _HELD, gamma, n_neighbors, int(self.fit_intercept))
        if span == "kernel":
            kernel = {"kernel": self.kernel, "degree": self.degree, "coef0": self.coef0}
            require_semidefinite(functions.kernel, **kernel, name="the kernel matrix")
        return functions
