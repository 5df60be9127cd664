"""The functions that a manifold-regularised classifier chooses from, and how they extend to new samples.

`KernelSpan` is the whole expansion over all samples, with a stored n x n kernel. Two spans of fewer functions serve
large samples: `LandmarkSpan`, the kernel functions at some of the samples (Nyström), and `EigenvectorSpan`, the lowest
eigenvectors of the graph Laplacian. In both the problem is solved exactly, on a `specmargin.kernels.LowRankKernel`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from specmargin.estimators._memory import require_memory
from specmargin.graphs import NeighborSearch, neighbor_weights
from specmargin.kernels import LowRankKernel, gram, landmark_features
from specmargin.spectra import Spectrum, extend
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = ["SPANS", "EigenvectorSpan", "KernelSpan", "LandmarkSpan", "Span", "precomputed"]

SPANS = ("auto", "kernel", "landmarks", "eigenvectors")


class Span(ABC):
    """A space of functions over the training samples."""

    kernel: Any
    """What the objective takes for K."""

    @abstractmethod
    def coefficients(self, alpha: FloatArray) -> FloatArray:
        """Return what predictions need of the coefficients alpha of one class."""

    @abstractmethod
    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        """Return f - b at new samples, (m, n_outputs), from coefficients (n_outputs, ...)."""

    def forget(self) -> None:
        """Drop the kernel of the training samples once all coefficients are known: predictions do not need it."""
        self.kernel = None


class KernelSpan(Span):
    """All samples' kernel functions.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training samples.
    matrix : callable
        ``matrix(X)`` is their Gram matrix, ``matrix(X_new, X)`` the block of new samples. No method of the estimator:
        that would be a cycle, which copies and pickles of some libraries do not take.
    """

    def __init__(self, X: Matrix, matrix: Callable[..., FloatArray]) -> None:
        n = X.shape[0]
        require_memory(
            16.0 * n * n,
            f"the stored kernel of {n} samples and its factorisation",
            "take span='eigenvectors', or span='landmarks'",
        )
        # Predictions with a precomputed kernel are given their block.
        self._X, self._matrix = (None if matrix is precomputed else X), matrix
        self.kernel = matrix(X)

    def coefficients(self, alpha: FloatArray) -> FloatArray:
        return alpha

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        reference = X if self._X is None else self._X
        return self._matrix(X, reference) @ coefficients.T


def precomputed(K: Matrix, Y: Matrix | None = None) -> FloatArray:
    """Return a Gram matrix, checked, or the block of new samples, dense."""
    dense: Any = K.toarray() if hasattr(K, "toarray") else K
    return gram(dense, kernel="precomputed") if Y is None else np.asarray(dense)


class LandmarkSpan(Span):
    """The kernel functions at m samples, the labelled ones among them.

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
    words
        Of the kernel.
    """

    def __init__(self, X: Matrix, m: int, labeled: IntArray, random_state: Any, **words: Any) -> None:
        n, m = X.shape[0], min(m, X.shape[0])
        require_memory(24.0 * n * m + 32.0 * m * m, f"{m} landmarks for {n} samples", "take fewer: n_functions")
        self._features = landmark_features(X, max(m, len(labeled)), include=labeled, random_state=random_state, **words)
        self.kernel = LowRankKernel(self._features(X))

    def coefficients(self, alpha: FloatArray) -> FloatArray:
        return np.asarray(self.kernel.factor.T @ alpha)

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return self._features(X) @ coefficients.T


class EigenvectorSpan(Span):
    """The lowest eigenvectors of the graph; new samples get the weighted mean of their neighbours' values.

    Parameters
    ----------
    spectrum : Spectrum
        Of the graph of the training samples.
    search : NeighborSearch
        Over them.
    weights : dict
        Words of `specmargin.graphs.neighbor_weights`.
    """

    def __init__(self, spectrum: Spectrum, search: NeighborSearch, weights: dict[str, Any]) -> None:
        self._search, self._weights = search, weights
        # The mean of the diagonal is one, as with a radial kernel, so that gamma_A keeps its meaning.
        self.kernel = LowRankKernel(np.sqrt(spectrum.n_samples / spectrum.q) * spectrum.eigenvectors)

    def coefficients(self, alpha: FloatArray) -> FloatArray:
        return np.asarray(self.kernel @ alpha)

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return extend(coefficients.T, neighbor_weights(X, self._search, **self._weights))
