"""The Laplacian of an adjacency, and what must hold of an adjacency before it has one.

``L = D - W`` measures how much a function differs along the edges, ``f'Lf = 1/2 sum_ij w_ij (f_i - f_j)**2``;
the normalised form ``I - D**-1/2 W D**-1/2`` discounts the degrees. `check_adjacency` reads whatever a user
passes as a graph, `laplacian` builds the matrix. A power p is *applied* p times and never formed: ``L**p``
fills up quickly.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from specmargin.arrays import numbers_array
from specmargin.checks import flag, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["POWERS", "Laplacian", "check_adjacency", "laplacian"]

POWERS = 100
"""Largest power: beyond it the products overflow on any graph."""

_ROWS_ONLY = (
    "Cross-validation of scikit-learn cuts the rows of what is passed to fit, and leaves the columns: give each fold "
    "its own graph by leaving graph= out; or fit on all samples with the labels of the test fold hidden, and compare "
    "transduction_ with them."
)
_ASYMMETRY = 1e-10  # relative to the largest weight: rounding, which is averaged away


@dataclass(frozen=True, eq=False)
class Laplacian:
    """The operator ``L**p``; multiply with ``@``.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        L itself, exactly symmetric.
    power : int
        p, the number of times that ``@`` applies `matrix`.
    normalized : bool
        Whether L is ``I - D**-1/2 W D**-1/2`` instead of ``D - W``.
    degrees : ndarray of shape (n,)
        Row sums of W.

    Examples
    --------
    >>> L = laplacian([[0, 1], [1, 0]], normalized=False, power=2)
    >>> (L @ np.array([1.0, 0.0])).tolist(), L.quadratic(np.array([1.0, 0.0]))
    ([2.0, -2.0], 2.0)
    """

    matrix: SparseArray
    power: int
    normalized: bool
    degrees: FloatArray

    # ndarray @ Laplacian must come here instead of being tried element by element.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        n = len(self.degrees)
        return n, n

    def __matmul__(self, other: FloatArray) -> FloatArray:
        for _ in range(self.power):
            other = self.matrix @ other
        return other

    def __rmatmul__(self, other: FloatArray) -> FloatArray:
        return (self @ np.asarray(other).T).T  # L is symmetric

    def toarray(self) -> FloatArray:
        """Return the dense (n, n) matrix ``L**p``: for tests and small examples."""
        return self @ np.eye(len(self.degrees))

    def quadratic(self, f: FloatArray) -> float:
        """Return ``f'L**p f`` for a vector `f` of shape (n,): how much it differs along the edges."""
        f = np.asarray(f, dtype=np.float64)
        if f.shape != self.degrees.shape:
            raise InvalidInputError(f"f must have the shape {self.degrees.shape}, one value per node, got {f.shape}.")
        for _ in range(self.power // 2):
            f = self.matrix @ f
        return float(f @ (self.matrix @ f)) if self.power % 2 else float(f @ f)

    def __repr__(self) -> str:
        kind = "normalized" if self.normalized else "combinatorial"
        return f"Laplacian({kind}, power={self.power}, {len(self.degrees)} nodes, {self.matrix.nnz} entries)"


def laplacian(W: Any, *, normalized: bool = True, power: int = 1) -> Laplacian:
    """Return the Laplacian of the adjacency `W`, to be applied `power` times.

    Parameters
    ----------
    W : sparse matrix, ndarray or networkx.Graph of shape (n, n)
        Symmetric nonnegative weights; see `check_adjacency`.
    normalized : bool, default True
        ``I - D**-1/2 W D**-1/2`` (eigenvalues in [0, 2]) instead of ``D - W``. A node without edges has a row
        of zeros in both, so that it is not penalised at all.
    power : int, default 1
        p in ``L**p``, 1 to 100.

    Returns
    -------
    Laplacian

    Raises
    ------
    ValueError
        If `power` is no positive integer, or `W` is no adjacency.

    Examples
    --------
    >>> laplacian([[0, 4, 0], [4, 0, 0], [0, 0, 0]], normalized=True).toarray().tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    if not isinstance(power, int | np.integer) or isinstance(power, bool) or not 1 <= power <= POWERS:
        raise InvalidInputError(
            f"power={shown(power)}, but L is applied a whole number of times; take an integer >= 1 and at most "
            f"{POWERS}."
        )
    flag("normalized", normalized)
    W = check_adjacency(W)
    degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    L = sp.csr_array(csgraph.laplacian(W, normed=normalized))
    # scipy divides by the two roots one after the other, which rounds the two triangles differently.
    L = sp.csr_array((L + L.T) / 2)
    L.eliminate_zeros()
    L.sort_indices()
    return Laplacian(L, int(power), bool(normalized), degrees)


def check_adjacency(W: Any, n_samples: int | None = None) -> SparseArray:
    """Return `W` as a clean CSR adjacency: symmetric, nonnegative, without self loops or stored zeros.

    Parameters
    ----------
    W : sparse matrix, ndarray or networkx.Graph
        Weights between nodes. The nodes of a networkx graph are taken in their own order. `W` is not
        modified.
    n_samples : int, optional
        Number of rows of the data that the graph must match.

    Returns
    -------
    csr_array of shape (n, n)

    Raises
    ------
    ValueError
        If W is not square, has the wrong size, is asymmetric, or holds negative or non-finite weights.
    TypeError
        If W is no matrix of real numbers.

    Warns
    -----
    UserWarning
        If W has self loops: they change no difference along an edge, and are removed.

    Examples
    --------
    >>> check_adjacency(np.array([[0, 1], [1, 0]]), n_samples=2).nnz
    2
    """
    if isinstance(W, list | tuple) and len(W) and isinstance(W[0], Mapping):
        raise InvalidTypeError(f"the graph is a list of {len(W)} neighbourhoods of nodes. {_ROWS_ONLY}")
    if hasattr(W, "is_directed") and hasattr(W, "adjacency"):
        from specmargin.graphs.convert import from_networkx

        W, _ = from_networkx(W)
    W = _as_csr(W)
    n = W.shape[0]
    if n_samples is not None and W.shape[0] == n_samples < W.shape[1]:
        raise InvalidInputError(
            f"the adjacency must be square, one row and one column per sample, got the shape {W.shape}. {_ROWS_ONLY}"
        )
    if W.shape[0] != W.shape[1]:
        raise InvalidInputError(
            f"the adjacency must be square, one row and one column per sample, got the shape {W.shape}; "
            "graphs.knn_graph(X) builds one from data."
        )
    if n_samples is not None and n != n_samples:
        raise InvalidInputError(
            f"the graph has {n} nodes but the data has {n_samples} rows; build it on the same rows, labelled and "
            "unlabelled together, in the same order."
        )
    _check_values(W)
    W = _symmetric(W)
    loops = int(np.count_nonzero(W.diagonal()))
    if loops:
        warnings.warn(
            f"the graph has {loops} self loops, which are removed; they do not change any difference along an edge.",
            UserWarning,
            stacklevel=2,
        )
        W.setdiag(0.0)
        W.eliminate_zeros()
    return W


def _as_csr(W: Matrix) -> SparseArray:
    """Return a float64 copy in CSR form with sorted indices and no stored zeros."""
    if isinstance(W, np.ma.MaskedArray):
        W = W.filled(0)  # no weight, no edge
    numbers_array("the adjacency: a sparse or dense matrix of real weights, or a networkx.Graph", finite=False)("W", W)
    given, W = W, W if sp.issparse(W) else np.asarray(W)
    if W.dtype.kind == "O":
        W = W.astype(np.float64)
    if W.ndim != 2:
        raise InvalidInputError(
            f"the adjacency W={shown(given)} must have two dimensions, got the shape {W.shape}; pass a square matrix, "
            "a row per sample."
        )
    if W.shape[0] == 0:
        raise InvalidInputError(
            f"the adjacency is empty, of the shape {W.shape}; pass a square matrix, a row per sample."
        )
    W = sp.csr_array(W, dtype=np.float64, copy=True)
    W.sum_duplicates()
    W.eliminate_zeros()
    return W


def _check_values(W: SparseArray) -> None:
    bad = ~np.isfinite(W.data)
    if bad.any():
        i, j, value = _entry(W, int(bad.argmax()))
        raise InvalidInputError(
            f"the adjacency holds {np.count_nonzero(bad)} weights that are not finite, the first W[{i}, "
            f"{j}] = {value}; leave out edges without a weight."
        )
    largest = float(W.data.max(initial=0.0))
    if not 1e-75 <= largest <= 1e75 and largest > 0:
        raise InvalidInputError(
            f"the adjacency holds weights up to {largest:.1e}, whose fourth powers {'over' if largest > 1 else 'under'}"
            "flow; scale them, e.g. divide by the largest."
        )
    bad = W.data < 0
    if bad.any():
        i, j, value = _entry(W, int(bad.argmax()))
        raise InvalidInputError(
            f"the adjacency holds {np.count_nonzero(bad)} negative weights, the first W[{i}, {j}] = {value:.6g}; "
            "weights are similarities >= 0. Clip them at 0; if this is a Laplacian, pass its adjacency instead."
        )


def _symmetric(W: SparseArray) -> SparseArray:
    difference = abs(W - W.T).tocoo()
    if difference.nnz == 0:
        return W
    k = int(difference.data.argmax())
    if difference.data[k] > _ASYMMETRY * W.data.max():
        i, j = int(difference.row[k]), int(difference.col[k])
        raise InvalidInputError(
            f"the adjacency is not symmetric: W[{i}, {j}] = {W[i, j]:.6g} but W[{j}, {i}] = {W[j, i]:.6g}; "
            "pass (W + W.T) / 2, or W.maximum(W.T) to keep every edge at full weight."
        )
    W = sp.csr_array((W + W.T) / 2)
    W.sort_indices()
    return W


def _entry(W: SparseArray, k: int) -> tuple[int, int, float]:
    """Row, column and value of the k-th stored entry."""
    row = int(np.searchsorted(W.indptr, k, side="right")) - 1
    return row, int(W.indices[k]), float(W.data[k])
