"""h(S) X for a family of filters: the operator S and the features X, checked, and the two ways to apply filters.

One Chebyshev recursion of the sparse S on a few columns of X at a time serves all the filters of a family. Bands have
no such series, and take all eigenvectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.linalg import get_blas_funcs

from specmargin.exceptions import InvalidInputError
from specmargin.spectra.filters import Bands, GraphFilters
from specmargin.typing import AnyArray, FloatArray, SparseArray

_CHUNK = 256
"""Bytes of a row of the columns that are filtered together: they, and a sum per filter, stay in the cache."""
_TERMS = 8
"""Terms of the recursion that are added to all filters by one product of matrices."""
_DENSE = 4000
"""Nodes up to which all eigenvectors are computed, for bands."""
_STEPS = 20
"""Of the power method that looks for eigenvalues beyond one."""


def operator_of(S: Any) -> SparseArray:
    """Return a normalised adjacency, checked."""
    if not sp.issparse(S):
        S = np.asarray(S, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not S.shape[0]:
        raise InvalidInputError(
            f"S has the shape {S.shape}; pass the square matrix of specmargin.graphs.normalized_adjacency(W)."
        )
    S = sp.csr_array(S).astype(np.float64)
    if not np.isfinite(S.data).all() or (S.nnz and abs(S - S.T).max() > 1e-12):
        raise InvalidInputError("S is not a finite symmetric matrix; pass specmargin.graphs.normalized_adjacency(W).")
    radius = _radius(S)
    if radius > 1 + 1e-6:
        raise InvalidInputError(
            f"S has an eigenvalue of at least {radius:.3g} in size, but those of a normalised adjacency lie in "
            "[-1, 1]; pass specmargin.graphs.normalized_adjacency(W) for an adjacency W."
        )
    return S


def _radius(S: SparseArray) -> float:
    """Return a lower bound on the largest eigenvalue in size: the growth in a few steps of the power method."""
    v = np.random.default_rng(0).normal(size=S.shape[0])
    growth = 0.0
    for _ in range(_STEPS):
        length = float(np.linalg.norm(v))
        if length == 0:
            break
        image = S @ (v / length)
        growth = max(growth, float(np.linalg.norm(image)))
        v = image
    return growth


def checked_features(X: Any, n: int, unit_rows: bool, unit: float | None = None) -> tuple[Any, float]:
    """Return the features in a unit, by default the largest, or with rows of length one; and that unit."""
    if X is None:
        return None, 1.0
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] != n or not X.shape[1]:
        raise InvalidInputError(
            f"X has the shape {X.shape}, but the graph has {n} nodes; pass one row of features per node, in the order "
            "of the graph's rows."
        )
    X = sp.csr_array(X, dtype=np.float64, copy=True) if sp.issparse(X) else np.array(X, dtype=np.float64)
    stored = X.data if sp.issparse(X) else X
    low, high = float(stored.min(initial=0.0)), float(stored.max(initial=0.0))
    if not np.isfinite([low, high]).all():
        raise InvalidInputError("X holds NaN or infinite features; impute or drop them first.")
    if low == high:
        raise InvalidInputError(
            f"X of the shape {X.shape} holds zeros only; pass features that differ, or X=None for the graph alone."
        )
    unit = max(-low, high) if unit is None else unit
    stored /= unit  # squares neither over- nor underflow
    if not unit_rows:
        return X, unit
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    lengths = np.sqrt(np.asarray(squares)).ravel()
    inverse = np.divide(1.0, lengths, out=np.zeros(n), where=lengths > 0)
    if sp.issparse(X):
        return sp.csr_array(sp.diags_array(inverse) @ X), unit
    X *= inverse[:, None]
    return X, unit


def _columns(features: Any, n: int, start: int, stop: int, kind: Any) -> AnyArray:
    """Return some columns of the features, dense; of None those of the identity."""
    if features is None:
        out = np.zeros((n, stop - start), kind)
        out[np.arange(start, stop), np.arange(stop - start)] = 1.0
        return out
    chunk = features[:, start:stop]
    return np.ascontiguousarray(chunk.toarray() if sp.issparse(chunk) else chunk, dtype=kind)


def by_recursion(S: SparseArray, features: Any, coefficients: FloatArray, kind: Any) -> list[AnyArray]:
    """Return h_b(S) X of all filters by T_k+1 = 2 S T_k - T_k-1, some columns at a time."""
    n = S.shape[0]
    d = n if features is None else features.shape[1]
    S = S.astype(kind)
    twice = 2 * S
    c = np.asfortranarray(coefficients.T.astype(kind))
    n_terms, m = c.shape
    (gemm,) = get_blas_funcs(("gemm",), dtype=np.dtype(kind))
    csc = features.tocsc() if sp.issparse(features) else features
    width, held = max(1, _CHUNK // np.dtype(kind).itemsize), min(_TERMS, n_terms)
    blocks = [np.empty((n, d), kind) for _ in range(m)]
    for start in range(0, d, width):
        stop = min(d, start + width)
        if start == 0 or stop - start < width:  # the last columns may be fewer
            terms, parts = np.empty((held, n, stop - start), kind), np.empty((m, n, stop - start), kind)
        # Both are columns of all entries to BLAS, which adds in place.
        listed, sums = terms.reshape(held, -1).T, parts.reshape(m, -1).T
        for first in range(0, n_terms, held):
            last = min(n_terms, first + held)
            for k in range(first, last):
                if k == 0:
                    terms[0] = _columns(csc, n, start, stop, kind)
                elif k == 1:
                    terms[1] = S @ terms[0]
                else:
                    np.subtract(twice @ terms[(k - 1) % held], terms[(k - 2) % held], out=terms[k - first])
            gemm(1.0, listed[:, : last - first], c[first:last], float(first > 0), sums, overwrite_c=True)
        for block, part in zip(blocks, parts, strict=True):
            block[:, start:stop] = part
    return blocks


def by_eigenvectors(S: SparseArray, features: Any, family: Bands) -> list[AnyArray]:
    n = S.shape[0]
    if n > _DENSE:
        raise InvalidInputError(
            f"bands take all eigenvectors of the {n} nodes, which are computed up to {_DENSE}; take Resolvents(), "
            "Powers() or Bernstein()."
        )
    values, vectors = sla.eigh(S.toarray(), check_finite=False)
    X = np.eye(n) if features is None else features.toarray() if sp.issparse(features) else features
    projected = vectors.T @ X
    return [vectors[:, kept > 0] @ projected[kept > 0] for kept in family.response(values)]


def applied(S: SparseArray, features: Any, family: GraphFilters, tol: float, kind: Any) -> list[AnyArray]:
    """Return h_b(S) X of all filters of a family."""
    if isinstance(family, Bands):
        return [F.astype(kind, copy=False) for F in by_eigenvectors(S, features, family)]
    return by_recursion(S, features, family.chebyshev(tol), kind)
