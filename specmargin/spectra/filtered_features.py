r"""Filtered node features, normalised: the blocks over which spectral filters are learned.

`filter_bank` applies a family of filters h_b to the features X of a graph's nodes, F_b = h_b(S) X, and normalises each
block without looking at a label: rows of length one, less their mean over all nodes, scaled to trace n. That decides
how well weights can be learned: smoothing leaves a large constant part, which the intercept makes worthless but which
takes up the trace, and it shortens the rows of nodes with many or mixed neighbours, whose direction carries the class.

No n x n array is ever formed: one Chebyshev recursion of the sparse S on a few columns of X at a time serves all the
filters; powers are each S times the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.spectra.filters import GraphFilters, Resolvents, applied, checked_features, operator_of
from specmargin.typing import AnyArray, FloatArray, SparseArray

__all__ = ["FilterBank", "filter_bank", "filter_new_nodes"]

LARGE = 2**31
"""Bytes that blocks of float64 may take before they are float32, unless the caller says so."""
_ROWS = 128
"""Rows that are normalised together, in the cache."""
_NO_DIRECTION = 1e-12
"""Length of a row, relative to the largest, below which it has no direction and stays as it is."""


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
        X / unit, or with "unit" its rows brought to length one; None where the nodes have none.
    normalization : {"unit", "centered", "trace"} or None
        How the blocks were normalised.
    centers, scales : ndarray of shape (m, d) and (m,)
        What was taken off the rows of each block, and what they were multiplied by after that.
    unit : float
        What the features were divided by first, so that squares neither over- nor underflow: the largest, or 1.
    tol : float
        Error of the series.

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
    centers: FloatArray | None = None
    scales: FloatArray | None = None
    unit: float = 1.0
    tol: float = 1e-6

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
    dtype: Any = None,
) -> FilterBank:
    """Filter the features of a graph's nodes, and normalise each block.

    Parameters
    ----------
    S : sparse matrix of shape (n, n)
        `specmargin.graphs.normalized_adjacency`: symmetric, with eigenvalues in [-1, 1].
    X : ndarray or sparse matrix of shape (n, d), or None
        Features of the nodes: with "unit" their rows are brought to length one first. None: a feature of its own for
        each node, so that the graph alone is seen; blocks then have n columns.
    filters : GraphFilters, optional
        `Resolvents()` by default.
    normalization : {"unit", "centered", "trace"} or None, default "unit"
        "unit": rows of length one, less their mean row, scaled to trace n. "centered" leaves out the first, "trace" the
        first two. None: h_b(S) X as it is, in the units of X.
    tol : float, default 1e-6
        Error of the series relative to the largest value of a filter, in (0, 1).
    dtype : {float64, float32}, optional
        Type of the blocks, and of the arithmetic that filters. float32 halves time and memory and keeps six digits, as
        many as the default `tol`. None: float64 unless the blocks would take more than 2 GiB.

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
    if not 0 < tol < 1:
        raise InvalidInputError(f"tol={tol!r} must lie between 0 and 1; take 1e-6, the default.")
    kinds: dict[str, Any] = {"float32": np.float32, "float64": np.float64}
    kind = kinds.get(getattr(dtype, "__name__", str(dtype)))
    if kind is None and dtype is not None:
        raise InvalidInputError(f"dtype={shown(dtype)} must be numpy.float32 or numpy.float64.")
    operator = operator_of(S)
    n = operator.shape[0]
    as_it_is = 1.0 if normalization is None else None
    features, unit = checked_features(X, n, unit_rows=normalization == "unit", unit=as_it_is)
    if kind is None:
        entries = len(family.parameters) * n * (n if features is None else features.shape[1])
        kind = np.float32 if 8 * entries > LARGE else np.float64
    blocks = applied(operator, features, family, tol, kind)
    each = [_normalize(F, normalization) for F in blocks]
    power, scales = np.array([one[0] for one in each]), np.array([one[2] for one in each])
    if not power.any():
        raise InvalidInputError(
            f"every node has the same features once they are filtered (of {blocks[0].shape[1]} feature(s)), so that "
            "nothing tells one from another; pass features that differ, or X=None for the graph alone."
        )
    centers = np.stack([one[1] for one in each])
    return FilterBank(
        tuple(blocks), family, power, operator, features, normalization, centers, scales, unit, float(tol)
    )


def filter_new_nodes(bank: FilterBank, S: Any, X: Any) -> tuple[AnyArray, ...]:
    """Return the blocks at new nodes of a graph that holds the nodes of a bank first.

    Features are filtered on the new graph; lengths, means and scales are those of the bank, so that a classifier that
    was learned on its blocks can be used on these.

    Parameters
    ----------
    bank : FilterBank
        Filter bank with features; its blocks are not needed.
    S : sparse matrix of shape (n + k, n + k)
        `specmargin.graphs.normalized_adjacency` of the new graph.
    X : ndarray or sparse matrix of shape (k, d)
        Features of the new nodes.

    Returns
    -------
    tuple of ndarray of shape (k, d)

    Raises
    ------
    ValueError
        If the bank has no features, or S or X are not of the nodes that they should be.

    Examples
    --------
    >>> import specmargin as sm
    >>> W, X = sm.graphs.knn_graph(np.arange(20.0)[:, None], n_neighbors=2), np.eye(20)
    >>> bank = filter_bank(sm.graphs.normalized_adjacency(W), X)
    >>> twice = sp.block_diag([W, W])  # a copy of the graph next to it
    >>> blocks = filter_new_nodes(bank, sm.graphs.normalized_adjacency(twice), X)
    >>> all(abs(new - old).max() < 1e-9 for new, old in zip(blocks, bank.blocks))
    True
    """
    if bank.features is None or bank.centers is None or bank.scales is None:
        raise InvalidInputError(
            "the nodes of this bank have no features, so that new ones have no place in its blocks; make a "
            "bank of features with filter_bank."
        )
    operator, n = operator_of(S), bank.n_samples
    k, d = operator.shape[0] - n, bank.features.shape[1]
    if k < 1:
        raise InvalidInputError(
            f"the graph has {operator.shape[0]} nodes, and {n} were known before; pass a graph of these and the new "
            "ones, the known ones first."
        )
    new, _ = checked_features(X, k, unit_rows=bank.normalization == "unit", unit=bank.unit)
    if new.shape[1] != d:
        raise InvalidInputError(f"X has {new.shape[1]} features, but the bank has {d}; pass the same features.")
    sparse = sp.issparse(bank.features)
    features = sp.vstack([bank.features, sp.csr_array(new)], format="csr") if sparse else None
    if features is None:
        features = np.vstack([bank.features, new.toarray() if sp.issparse(new) else new])
    blocks = applied(operator, features, bank.filters, bank.tol, bank.centers.dtype.type)
    out = []
    for F, center, scale in zip(blocks, bank.centers, bank.scales, strict=True):
        rows = F[n:]
        if bank.normalization == "unit":
            squares = np.einsum("ij,ij->i", F.astype(np.float64), F)
            rows = rows * _inverse_lengths(squares)[n:, None].astype(F.dtype)
        out.append((rows - center) * F.dtype.type(scale))
    return tuple(out)


def _normalize(F: AnyArray, normalization: str | None) -> tuple[float, AnyArray, float]:
    """Normalise a block in place.

    Returned are the mean squared length of its rows less their mean row before that, what was taken off rows of the
    right length, and what they were multiplied by.
    """
    squares, mean, before = _moments(F)
    total, size = before, float(squares.max())
    if normalization is None:
        return before, np.zeros_like(mean), 1.0
    if normalization == "unit":
        squares, mean, total = _moments(F, _inverse_lengths(squares))
        size = float(squares.max())
    elif normalization == "trace":
        mean, total = np.zeros_like(mean), float(squares.mean())
    # What is left of a block whose rows are all the same is rounding: it becomes a block of zeros.
    scale = 1 / np.sqrt(total) if total > size * (16 * np.finfo(F.dtype).eps) ** 2 else 0.0
    mean = mean.astype(F.dtype)
    for start in range(0, len(F), _ROWS):
        rows = F[start : start + _ROWS]
        rows -= mean
        rows *= F.dtype.type(scale)
    return before if scale else 0.0, mean, float(scale)


def _moments(F: AnyArray, factors: FloatArray | None = None) -> tuple[FloatArray, FloatArray, float]:
    """Return squared lengths of the rows, their mean, and their mean squared distance from it.

    With factors the rows are multiplied by them first. Distances are taken from the first row, so that rows which are
    nearly alike keep their digits.
    """
    n = len(F)
    squares, moved, distance = np.empty(n), np.zeros(F.shape[1]), 0.0
    origin = F[0].astype(np.float64) * (1.0 if factors is None else factors[0])
    for start in range(0, n, _ROWS):
        rows = F[start : start + _ROWS]
        if factors is not None:
            rows *= factors[start : start + _ROWS, None].astype(F.dtype)
        rows = rows.astype(np.float64)
        squares[start : start + _ROWS] = np.einsum("ij,ij->i", rows, rows)
        rows -= origin
        moved += rows.sum(axis=0)
        distance += float(np.vdot(rows, rows))
    moved /= n
    return squares, origin + moved, max(distance / n - float(moved @ moved), 0.0)


def _inverse_lengths(squares: FloatArray) -> FloatArray:
    """Return what brings rows of these squared lengths to length one; 1 for rows without a direction."""
    lengths = np.sqrt(squares)
    kept = lengths > _NO_DIRECTION * lengths.max(initial=0.0)
    return np.divide(1.0, lengths, out=np.ones_like(lengths), where=kept)
