r"""Filtered node features, normalised: the blocks over which spectral filters are learned.

`filter_bank` applies a family of filters h_b to the features X of a graph's nodes, F_b = h_b(S) X, and normalises each
block without looking at a label: rows of length one, less their mean over all nodes, scaled to trace n. That decides
how well weights can be learned: smoothing leaves a large constant part, which the intercept makes worthless but which
takes up the trace, and it shortens the rows of nodes with many or mixed neighbours, whose direction carries the class.

No n x n array is ever formed: one Chebyshev recursion of the sparse S on a few columns of X at a time serves all the
filters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.spectra.filters import Bands, GraphFilters, Resolvents
from specmargin.typing import AnyArray, FloatArray, SparseArray

__all__ = ["FilterBank", "filter_bank"]

_CHUNK = 32
"""Columns that are filtered together: they, and a sum per filter, stay in the cache."""
_DENSE = 4000
"""Nodes up to which all eigenvectors are computed, for bands."""
_ROWS = 4096
"""Rows that are normalised together."""
_STEPS = 20
"""Of the power method that looks for eigenvalues beyond one."""
_NO_DIRECTION = 1e-12
"""Length of a row, relative to the largest, below which it has no direction and stays as it is."""
NORMALIZATIONS = ("unit", "centered", "trace", None)


@dataclass(frozen=True, eq=False)
class FilterBank:
    """Blocks F_b (n, d) of filtered features.

    Parameters
    ----------
    blocks : tuple of ndarray of shape (n, d)
        Normalised; none where they are not kept, as in a fitted estimator.
    filters : GraphFilters
        The family; block b belongs to its b-th filter.
    power : ndarray of shape (m,)
        Mean squared length of the rows of h_b(S) X, less their mean row, before they were normalised.
    operator : csr_array of shape (n, n)
        S.
    features : csr_array or ndarray of shape (n, d), or None
        X as it was filtered: rows of length one, or units of the largest; None where the nodes have none.
    normalization : {"unit", "centered", "trace"} or None
        How the blocks were normalised.

    Examples
    --------
    >>> import specmargin as sm
    >>> S = sm.graphs.normalized_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> bank = filter_bank(S, np.eye(3), Resolvents([0.0, 0.5]))
    >>> len(bank.blocks), bank.n_samples, [round(float((F**2).sum()), 6) for F in bank.blocks]
    (2, 3, [3.0, 3.0])
    """

    blocks: tuple[AnyArray, ...]
    filters: GraphFilters
    power: FloatArray
    operator: SparseArray
    features: Any
    normalization: str | None = "unit"

    @property
    def n_samples(self) -> int:
        """Number of nodes, n."""
        return self.operator.shape[0]

    def response(self, delta: FloatArray, lam: FloatArray) -> FloatArray:
        """Return how much of each frequency a learned kernel passes, sum_b delta_b h_b(1 - lam)^2 / power_b.

        The blocks are scaled to one trace each; dividing by their power undoes that, so that responses of different
        filters can be added.

        Parameters
        ----------
        delta : ndarray of shape (m,)
            Weights of the blocks.
        lam : ndarray
            Frequencies in [0, 2].
        """
        with np.errstate(divide="ignore"):
            share = np.where(self.power > 0, np.asarray(delta) / self.power, 0.0)
        return np.asarray(share @ self.filters.response(1.0 - np.asarray(lam)) ** 2)


def filter_bank(
    S: Any,
    X: Any,
    filters: GraphFilters | None = None,
    *,
    normalization: str | None = "unit",
    tol: float = 1e-6,
    dtype: Any = np.float64,
) -> FilterBank:
    """Filter the features of a graph's nodes, and normalise each block.

    Parameters
    ----------
    S : sparse matrix of shape (n, n)
        `specmargin.graphs.normalized_adjacency`: symmetric, with eigenvalues in [-1, 1].
    X : ndarray or sparse matrix of shape (n, d), or None
        Features of the nodes: with "unit" their rows are brought to length one first, else they are taken in units of
        the largest. None: a feature of its own for each node, so that the graph alone is seen; blocks then have n
        columns.
    filters : GraphFilters, optional
        `Resolvents()` by default.
    normalization : {"unit", "centered", "trace"} or None, default "unit"
        "unit": rows of length one, less their mean row, scaled to trace n. "centered" leaves out the first, "trace" the
        first two. None leaves the blocks as they are filtered.
    tol : float, default 1e-6
        Error of the series relative to the largest value of a filter, in (0, 1).
    dtype : dtype, default float64
        Of the blocks, and of the arithmetic that filters. float32 halves time and memory and keeps six digits.

    Returns
    -------
    FilterBank

    Raises
    ------
    ValueError
        If S and X have different numbers of rows, X is not finite or has no column, all features are the same for
        every node, or an argument is out of range.

    Examples
    --------
    >>> import specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(20.0)[:, None], n_neighbors=2)
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> bank = filter_bank(sm.graphs.normalized_adjacency(W), X)
    >>> [bool(abs(F.mean(axis=0)).max() < 1e-12) for F in bank.blocks]
    [True, True, True, True, True, True, True]
    """
    family: GraphFilters = Resolvents() if filters is None else filters
    if normalization not in NORMALIZATIONS:
        raise InvalidInputError(f"normalization={shown(normalization)} must be one of {NORMALIZATIONS}.")
    if not 0 < tol < 1:
        raise InvalidInputError(f"tol={tol!r} must lie between 0 and 1; take 1e-6, the default.")
    kinds: dict[str, Any] = {"float32": np.float32, "float64": np.float64}
    kind = kinds.get(getattr(dtype, "__name__", str(dtype)))
    if kind is None:
        raise InvalidInputError(f"dtype={shown(dtype)} must be numpy.float32 or numpy.float64.")
    operator = _operator(S)
    features = _checked_features(X, operator.shape[0], unit_rows=normalization == "unit")
    blocks = _by_eigenvectors(operator, features, family) if isinstance(family, Bands) else None
    if blocks is None:
        blocks = _by_recursion(operator, features, family.chebyshev(tol), kind)
    power = np.array([_normalize(F, normalization) for F in blocks])
    if not power.any():
        raise InvalidInputError(
            f"every node has the same features once they are filtered (of {blocks[0].shape[1]} feature(s)), so that "
            "nothing tells one from another; pass features that differ, or X=None for the graph alone."
        )
    return FilterBank(
        tuple(F.astype(kind, copy=False) for F in blocks), family, power, operator, features, normalization
    )


def _operator(S: Any) -> SparseArray:
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


def _checked_features(X: Any, n: int, unit_rows: bool) -> Any:
    """Return the features in units of the largest, or with rows of length one, rows of zeros as they are."""
    if X is None:
        return None
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] != n or not X.shape[1]:
        raise InvalidInputError(
            f"X has the shape {X.shape}, but the graph has {n} nodes; pass one row of features per node, in the order "
            "of the graph's rows."
        )
    X = sp.csr_array(X).astype(np.float64) if sp.issparse(X) else X.astype(np.float64)
    stored = X.data if sp.issparse(X) else X
    if not np.isfinite(stored).all():
        raise InvalidInputError("X holds NaN or infinite features; impute or drop them first.")
    largest = float(np.abs(stored).max(initial=0.0))
    if largest == 0:
        raise InvalidInputError(
            f"X of the shape {X.shape} holds zeros only; pass features that differ, or X=None for the graph alone."
        )
    X = X / largest  # squares neither over- nor underflow
    if not unit_rows:
        return X
    lengths = np.sqrt(np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1))).ravel()
    inverse = np.divide(1.0, lengths, out=np.zeros(n), where=lengths > 0)
    return sp.csr_array(sp.diags_array(inverse) @ X) if sp.issparse(X) else X * inverse[:, None]


def _columns(features: Any, n: int, start: int, stop: int, kind: Any) -> AnyArray:
    """Return some columns of the features, dense; of None those of the identity."""
    if features is None:
        out = np.zeros((n, stop - start), kind)
        out[np.arange(start, stop), np.arange(stop - start)] = 1.0
        return out
    chunk = features[:, start:stop]
    return np.ascontiguousarray(chunk.toarray() if sp.issparse(chunk) else chunk, dtype=kind)


def _by_recursion(S: SparseArray, features: Any, coefficients: FloatArray, kind: Any) -> list[AnyArray]:
    """Return h_b(S) X of all filters by T_k+1 = 2 S T_k - T_k-1, some columns at a time."""
    n = S.shape[0]
    d = n if features is None else features.shape[1]
    S = S.astype(kind)
    c = coefficients.astype(kind)
    blocks = [np.empty((n, d), kind) for _ in c]
    stops = [int(np.flatnonzero(row)[-1]) + 1 if row.any() else 1 for row in c]
    csc = features.tocsc() if sp.issparse(features) else features
    for start in range(0, d, _CHUNK):
        stop = min(d, start + _CHUNK)
        before = _columns(csc, n, start, stop, kind)
        parts = [row[0] * before for row in c]
        now = S @ before if c.shape[1] > 1 else before
        scratch = np.empty_like(now)
        for k in range(1, c.shape[1]):
            for b, part in enumerate(parts):
                if k < stops[b] and c[b, k]:
                    np.multiply(now, c[b, k], out=scratch)
                    part += scratch
            if k + 1 < c.shape[1]:
                following = S @ now
                following *= 2
                following -= before
                before, now = now, following
        for block, part in zip(blocks, parts, strict=True):
            block[:, start:stop] = part
    return blocks


def _by_eigenvectors(S: SparseArray, features: Any, family: Bands) -> list[AnyArray]:
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


def _normalize(F: AnyArray, normalization: str | None) -> float:
    """Normalise a block in place; return the mean squared length of its rows less their mean row before that."""
    n = len(F)
    before = _mean_square(F, F.mean(axis=0, dtype=np.float64))
    if normalization is None:
        return before
    if normalization == "unit":
        _to_unit_rows(F)
    mean = F.mean(axis=0, dtype=np.float64) if normalization != "trace" else np.zeros(F.shape[1])
    total = _mean_square(F, mean)
    # What is left of a block whose rows are all the same is rounding: it becomes a block of zeros.
    size = float(np.abs(F).max(initial=0.0))
    scale = 1 / np.sqrt(total) if total > F.shape[1] * (16 * np.finfo(F.dtype).eps * size) ** 2 else 0.0
    for start in range(0, n, _ROWS):
        F[start : start + _ROWS] -= mean.astype(F.dtype)
        F[start : start + _ROWS] *= F.dtype.type(scale)
    return before if scale else 0.0


def _to_unit_rows(F: AnyArray) -> None:
    lengths = np.concatenate(
        [np.linalg.norm(F[start : start + _ROWS].astype(np.float64), axis=1) for start in range(0, len(F), _ROWS)]
    )
    kept = lengths > _NO_DIRECTION * lengths.max(initial=0.0)
    inverse = np.divide(1.0, lengths, out=np.ones_like(lengths), where=kept)
    F *= inverse.astype(F.dtype)[:, None]


def _mean_square(F: AnyArray, mean: FloatArray) -> float:
    total = 0.0
    for start in range(0, len(F), _ROWS):
        rows = F[start : start + _ROWS].astype(np.float64) - mean
        total += float(np.vdot(rows, rows))
    return total / len(F)
