"""The functions that a classifier chooses from: their values at the training samples, and how they extend to new ones.

`KernelFunctions` are those of all samples, with a stored n x n kernel. Three maps have features, fewer than samples:
`RawFeatures`, the samples as they are, dense or sparse; `LandmarkFunctions`, those of a kernel at some of the samples
(Nyström); `EigenvectorFunctions`, the lowest eigenvectors of a graph Laplacian.

A solver over kernels takes `FeatureMap.kernel` and hands alpha to `from_dual`; one that works in w takes the features
that `deformed` returns, and hands its weights to `from_weights`. Both give the coefficients of the functions, which are
all that predictions need: `values`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.arrays import require_memory, room_for
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN, LaplacianOperator, NeighborSearch
from specmargin.graphs.parts import ties
from specmargin.kernels import Kernel, Landmarks, LowRankKernel, PrincipalComponents
from specmargin.kernels.maps import deformed_features, deformed_kernel, kernel_map
from specmargin.kernels.operators import as_kernel
from specmargin.kernels.parts import OWN
from specmargin.kernels.semidefinite import symmetric
from specmargin.kernels.truncated import truncated_kernel
from specmargin.spectra import Spectrum, extend
from specmargin.spectra.reuse import whole_eigenspaces
from specmargin.typing import FloatArray, IntArray, Matrix

HELD = {"kernel": 2, "landmarks": 3}
"""Matrices of the size of the kernel, or of the landmarks' features, that LapSVM holds at once."""
_STORED = 2000
"""Samples up to which a kernel is stored without a look at its rank or at the memory: 64 MB."""
_FEWEST = 64
"""Columns of a factor without room for which none is looked for."""


class FeatureMap(ABC):
    """Functions h_1, ..., h_m, whose sum with coefficients is f - b; `features` holds their values at the samples."""

    features: Any = None
    _whitening: FloatArray | None = None
    _deformed: Any = None

    @cached_property
    def kernel(self) -> Any:
        """The kernel of the training samples whose functions these are."""
        return LowRankKernel(self.features)

    def deformed(self, L: LaplacianOperator | None, ratio: float) -> Matrix:
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
        self.features = self._whitening = self._deformed = None
        self.__dict__.pop("kernel", None)


class RawFeatures(FeatureMap):
    """The features of the samples themselves, (n, d)."""

    def __init__(self, features: Matrix | None) -> None:
        self.features = features

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return np.asarray(X @ coefficients.T)


class KernelFunctions(FeatureMap):
    """The kernel functions of all samples.

    ``matrix(X)`` is their Gram matrix, ``matrix(X_new, X)`` the block of new samples, and `held` the number of n x n
    matrices that are held at once. Where `truncate` says so, a kernel of low numerical rank is not stored.
    """

    def __init__(self, X: Matrix, matrix: Kernel, held: int, truncate: bool = False) -> None:
        n = X.shape[0]
        self._matrix = matrix
        columns = factor_columns(n, matrix, held, truncate) if n > _STORED else 0
        self.kernel = truncated_kernel(matrix.block, X, columns) if columns else None
        if self.kernel is None:
            if columns:
                require_stored(n, held)
            self.kernel = matrix.block(X)
            if type(matrix) not in OWN:
                self.kernel = symmetric(as_kernel(self.kernel), "K")
        # Predictions with a precomputed kernel are given their block.
        self._X = None if matrix.is_precomputed else X

    def deformed(self, L: LaplacianOperator | None, ratio: float, rank: int | None = None) -> Matrix:
        """Return the features of the map of the kernel, the leading `rank` of them."""
        K = self.__dict__.pop("kernel")
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

    def products(self, X: Matrix, known: Matrix) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return k(x, x) of a few new samples, k(x, x_j) (m, n), and k(x_j, x_j) of the training samples."""
        batches = (known[start : start + X.shape[0]] for start in range(0, known.shape[0], X.shape[0]))
        other = np.concatenate([np.diag(np.asarray(self._matrix(batch, batch))) for batch in batches])
        own = np.diag(np.asarray(self._matrix(X, X)))
        return own, np.asarray(self._matrix.block(X, known)), other

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        reference = X if self._X is None else self._X
        return np.asarray(self._matrix.block(X, reference) @ coefficients.T)


def factor_columns(n: int, matrix: Kernel, held: int = HELD["kernel"], truncate: bool = True) -> int:
    """Return the most columns of a factor that a kernel of n samples is looked for, 0 where it is stored.

    A kernel for which there is room in neither form is refused.
    """
    if n <= _STORED:
        return 0
    if truncate and type(matrix) in OWN and matrix.is_semidefinite:
        columns = int(min(n // 8, room_for(24.0 * n)))  # with what is computed from the factor
        if columns >= _FEWEST:
            return columns
    require_stored(n, held)
    return 0


def require_stored(n: int, held: int) -> None:
    """Raise where there is no room for a stored kernel; say what there is room for."""
    q, m = (int(min(most, room_for(24.0 * n + 32.0 * most))) for most in (200, 500))
    fitting = f"take functions=Eigenvectors({q}), or Landmarks({m})" if q else "take fewer samples"
    most = int(min(np.sqrt(room_for(8.0 * held)), n))
    what = f"the stored kernel of {n} samples and what is computed from it"
    require_memory(8.0 * held * n * n, what, f"{fitting}; a kernel of {most} samples fits")


def is_of_low_rank(X: Matrix, kernel: Kernel) -> bool:
    """Whether a kernel of known width has so low a rank, between some of the samples, that it need not be stored."""
    some = X[np.sort(np.random.default_rng(0).permutation(X.shape[0])[:_STORED])]
    suits = type(kernel) in OWN and kernel.is_semidefinite
    return suits and truncated_kernel(kernel.block, some, X.shape[0] // 8) is not None


def require_landmarks(n: int, m: int, held: int = HELD["landmarks"]) -> None:
    """Raise where there is no room for m landmarks of n samples."""
    fitting = int(min(m, room_for(8.0 * held * n + 32.0 * m)))
    remedy = f"take fewer: Landmarks({fitting})" if fitting else "take fewer samples"
    require_memory(8.0 * held * n * m + 32.0 * m * m, f"{m} landmarks for {n} samples", remedy)


class LandmarkFunctions(FeatureMap):
    """The kernel functions at m samples: the labelled rows, and others that the part draws.

    `held` is the number of n x m matrices that are held at once.
    """

    def __init__(self, X: Matrix, part: Landmarks, kernel: Kernel, labeled: IntArray, held: int) -> None:
        if kernel.is_precomputed:
            raise InvalidInputError(
                f"functions={part!r} draws samples, and kernel='precomputed' holds none; take 'kernel'."
            )
        n = X.shape[0]
        require_landmarks(n, max(min(part.n, n), len(labeled)), held)
        self._map = part(X, kernel, labeled)
        self.features = self._map(X)

    def products(self, X: Matrix, known: Matrix) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the same as `KernelFunctions.products`, of the kernel of the landmarks."""
        new, old = self._map(X), self._map(known)
        return (new**2).sum(axis=1), new @ old.T, (old**2).sum(axis=1)

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return np.asarray(self._map(X) @ coefficients.T)


class EigenvectorFunctions(FeatureMap):
    """The lowest eigenvectors of the graph; new samples get the weighted mean of their neighbours' values.

    `graph` ties new samples to those of `place`, and `first` is the number of eigenvectors that are left out.
    """

    def __init__(self, spectrum: Spectrum, graph: Any, place: Matrix | NeighborSearch, first: int = 0) -> None:
        self._ties, self._place = graph, place
        # The mean of the diagonal is one, as with a radial kernel, so that gamma_A keeps its meaning.
        kept = spectrum.eigenvectors[:, min(first, spectrum.q - 1) :]
        self.features = np.sqrt(spectrum.n_samples / kept.shape[1]) * kept

    def from_dual(self, alpha: FloatArray) -> FloatArray:
        """Return f - b at the training samples: these are what new samples get the means of."""
        return np.asarray(self.kernel @ alpha)

    def from_weights(self, v: FloatArray) -> FloatArray:
        return np.asarray(self.features @ super().from_weights(v))

    def values(self, X: Matrix, coefficients: FloatArray) -> FloatArray:
        return extend(coefficients.T, self._ties.weights(X, self._place))


def opened(graph: Any, place: Matrix | NeighborSearch | None, X: Matrix) -> tuple[Any, Matrix | NeighborSearch]:
    """Return what ties new samples to the training samples X, and these or the search among them, where it is known."""
    graph = ties(graph)
    if place is None:
        place = graph.search(X) if isinstance(graph, KNN) else X
    return graph, place


def feature_map(
    functions: Any,
    kernel: Kernel,
    X: Matrix,
    labeled: IntArray,
    L: LaplacianOperator | None,
    graph: Any,
    place: Matrix | NeighborSearch | None,
    *,
    held: Mapping[str, int] = HELD,
    first: int = 0,
) -> FeatureMap:
    """Return the functions that a parameter means.

    Parameters
    ----------
    functions : {"kernel"} or part
    kernel : Kernel
        Kernel of known width.
    X : {ndarray, sparse matrix} of shape (n, d)
    labeled : ndarray of shape (l,)
        Rows of the labelled samples.
    L : LaplacianOperator, optional
        Laplacian of the graph, where one takes part.
    graph, place : object
        The graph that ties new samples to old ones, and the samples, or their search, that it finds neighbours in.
    held : mapping
        Number of matrices that are held at once, by kind of functions.
    first : int
        Number of eigenvectors that are left out.
    """
    if isinstance(functions, str):
        return KernelFunctions(X, kernel, held["kernel"], held is HELD)
    if isinstance(functions, Landmarks):
        return LandmarkFunctions(X, functions, kernel, labeled, held["landmarks"])
    if isinstance(functions, PrincipalComponents):
        raise InvalidInputError(f"functions={functions!r} are those of an S3VM; take 'kernel', or Landmarks(500).")
    if L is None:
        raise InvalidInputError(
            f"functions={functions!r} are those of the graph, which gamma_I=0 leaves out; take Landmarks(500)."
        )
    spectrum = whole_eigenspaces(functions(replace(L, power=1)))
    return EigenvectorFunctions(spectrum, *opened(graph, place, X), first=first)
