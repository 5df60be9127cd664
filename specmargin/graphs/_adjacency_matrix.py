"""What a matrix must be to be an adjacency: square, symmetric, with finite nonnegative weights."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import numbers_array
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import Matrix, SparseArray

__all__ = ["clean_adjacency"]

_ROWS_ONLY = (
    "Cross-validation of scikit-learn cuts the rows of what is passed to fit, and leaves the columns: give each fold "
    "its own graph by leaving graph= out; or fit on all samples with the labels of the test fold hidden, and compare "
    "transduction_ with them."
)
"""Why a graph that was cut like rows of features is not square."""

_ASYMMETRY = 1e-10  # relative to the largest weight: rounding, which is averaged away


def clean_adjacency(W: Matrix, n_samples: int | None = None, *, stacklevel: int = 2) -> SparseArray:
    """Return a matrix of weights as `specmargin.graphs.check_adjacency` does, which documents it."""
    if isinstance(W, list | tuple) and len(W) and isinstance(W[0], Mapping):
        raise InvalidTypeError(f"the graph is a list of {len(W)} neighbourhoods of nodes. {_ROWS_ONLY}")
    _refuse_lists(W)
    if hasattr(W, "eigenvectors"):
        raise InvalidTypeError(
            f"the graph is a {type(W).__name__}, which estimators over a spectrum take (STORM, KTA, SpectralRidge, "
            "...); here the adjacency itself is needed: pass the W whose eigenpairs these are."
        )
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
            stacklevel=stacklevel,
        )
        W.setdiag(0.0)
        W.eliminate_zeros()
    return W


def _refuse_lists(W: Any) -> None:
    """Raise for edges or neighbours in lists, with the line that makes a graph of them."""
    listed = isinstance(W, list | tuple) and len(W) > 0 and all(isinstance(edge, list | tuple) for edge in W)
    lengths = {len(edge) for edge in W} if listed else set()
    numbers = hasattr(W, "shape") and not sp.issparse(W) and 2 in W.shape and np.asarray(W).dtype.kind in "iu"
    shape = (len(W), *lengths) if listed else tuple(W.shape) if numbers else ()
    rows, columns = shape if len(shape) == 2 else (0, 0)
    if isinstance(W, Mapping) and not sp.issparse(W):
        what, line = (
            f"a mapping of {len(W)} nodes",
            "networkx.Graph(neighbours), with weights as {a: {b: {'weight': w}}}",
        )
    elif listed and columns == 3 != rows:
        what, line = f"a list of {rows} edges", "graph = networkx.Graph(); graph.add_weighted_edges_from(edges)"
    elif columns == 2 != rows:
        what = f"a list of {rows} edges" if listed else f"an array of the shape {shape}, as a list of edges is"
        line = "networkx.Graph(edges)" if listed else "networkx.Graph(edges.tolist())"
    elif rows == 2 != columns:
        what, line = f"of the shape {shape}, as an edge_index is", "networkx.Graph(edge_index.T.tolist())"
    else:
        return
    raise InvalidTypeError(
        f"the graph is {what}; pass {line}, and nodes without an edge by graph.add_nodes_from(range(n)); or the "
        "adjacency, a square matrix."
    )


def _as_csr(W: Matrix) -> SparseArray:
    """Return a float64 copy in CSR form with sorted indices and no stored zeros."""
    if isinstance(W, np.ma.MaskedArray):
        W = W.filled(0)  # no weight, no edge
    what = "the adjacency: a sparse or dense matrix of real weights, or a networkx.Graph"
    given = numbers_array(what, finite=False)("W", W)
    W = given if sp.issparse(given) else np.asarray(given)
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
    return sp.csr_array(W, dtype=np.float64, copy=True)


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
