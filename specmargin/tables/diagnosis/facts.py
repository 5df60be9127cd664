"""Facts about features and labels: scales, constants, copies, distances; and how often neighbours share a class.

The reference of `Purity` are the same labels, dealt out anew among the labelled samples. Its mean is exact; the p-value
is exact, too, where there are few arrangements, and else that of 999 random ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.typing import BoolArray, FloatArray, IntArray, Matrix

__all__ = ["Columns", "Distances", "Purity", "arrangements", "chance_of_one_class", "column_facts"]
__all__ += ["copies", "distance_facts", "permutations", "purity"]

_ROUNDING = 1e-12  # of the largest entry of a column: a deviation up to it is that of a constant
_SAMPLED = 1000  # samples whose pairwise distances are measured


@dataclass(frozen=True)
class Columns:
    """Columns and copies.

    Parameters
    ----------
    n_columns : int
    n_constant : int
        Columns that have one value.
    n_copies : int
        Columns that are equal to one before them; constants do not count.
    scale_ratio : float
        The largest standard deviation of a column over the smallest, constants left out; 1 where fewer than two vary.
    widest, narrowest : int
        The columns of these deviations; -1 where none varies.
    n_copied_samples : int
        Samples that are equal to one before them.
    n_contradictions : int
        Labelled samples that have a copy of another class.
    is_sparse : bool
    """

    n_columns: int
    n_constant: int
    n_copies: int
    scale_ratio: float
    widest: int
    narrowest: int
    n_copied_samples: int
    n_contradictions: int
    is_sparse: bool


@dataclass(frozen=True)
class Distances:
    """Whether distances tell samples apart.

    Parameters
    ----------
    mean : float
        Mean of the distances of all pairs, in units of the metric; of at most 1000 samples.
    variation : float
        Their coefficient of variation: standard deviation over mean. Of independent normal columns, d of them, it is
        about 1 / sqrt(2 d).
    contrast : float
        Mean distance to the nearest neighbours over the mean distance of all pairs: near 1, neighbours are hardly
        nearer than anybody else.
    """

    mean: float
    variation: float
    contrast: float


def column_facts(X: Matrix, codes: IntArray, labeled: IntArray) -> Columns:
    """Return the facts about the columns of `X` (n, d), and about samples that are copies.

    Parameters
    ----------
    X : ndarray or csr matrix of shape (n, d)
    codes : ndarray of shape (l,)
        Classes of the labelled samples.
    labeled : ndarray of shape (l,)

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 0.0, 0.0], [2.0, 1.0, 20.0, 20.0], [2.0, 1.0, 20.0, 20.0]])
    >>> facts = column_facts(X, np.array([0, 1]), np.array([1, 2]))
    >>> facts.n_constant, facts.n_copies, facts.scale_ratio, facts.n_copied_samples, facts.n_contradictions
    (1, 1, 10.0, 1, 2)
    """
    deviations, varying = _deviations(X)
    used = np.flatnonzero(varying)
    by_column = X.T.tocsr() if sp.issparse(X) else X.T
    first_column, first_row = copies(by_column), copies(X)
    n_copies = int(np.count_nonzero((first_column != np.arange(X.shape[1])) & varying))
    wide, narrow = (used[deviations[used].argmax()], used[deviations[used].argmin()]) if len(used) else (-1, -1)
    return Columns(
        X.shape[1],
        int(np.count_nonzero(~varying)),
        n_copies,
        float(deviations[wide] / deviations[narrow]) if len(used) > 1 else 1.0,
        int(wide),
        int(narrow),
        int(np.count_nonzero(first_row != np.arange(X.shape[0]))),
        _contradictions(first_row[labeled], codes),
        bool(sp.issparse(X)),
    )


def _deviations(X: Matrix) -> tuple[FloatArray, BoolArray]:
    """Return the standard deviation of every column, and whether it varies by more than rounding."""
    if sp.issparse(X):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        low, high = (np.asarray(part.toarray(), dtype=np.float64).ravel() for part in (X.min(axis=0), X.max(axis=0)))
        deviations = np.sqrt(mean_variance_axis(sp.csr_matrix(X), axis=0)[1])
    else:
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        deviations = X.std(axis=0, dtype=np.float64)
    varying = high - low > _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return np.asarray(deviations, dtype=np.float64), varying


def copies(X: Matrix) -> IntArray:
    """Return for every row the number of the first row that equals it.

    Examples
    --------
    >>> copies(np.array([[0.0, 1.0], [2.0, 3.0], [-0.0, 1.0]])).tolist()
    [0, 1, 0]
    """
    seen: dict[bytes, int] = {}
    first = np.empty(X.shape[0], dtype=np.intp)
    rows: Any = X
    if sp.issparse(X):
        rows = sp.csr_array(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
    for i in range(X.shape[0]):
        if sp.issparse(X):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            key = rows.indices[part].tobytes() + b"|" + rows.data[part].tobytes()
        else:
            key = (rows[i] + 0.0).tobytes()  # -0 becomes 0
        first[i] = seen.setdefault(key, i)
    return first


def _contradictions(groups: IntArray, codes: IntArray) -> int:
    """Count samples whose group of copies holds several classes."""
    if len(codes) == 0:
        return 0
    _, inverse = np.unique(groups, return_inverse=True)
    low, high = np.full(inverse.max() + 1, codes.max()), np.full(inverse.max() + 1, codes.min())
    np.minimum.at(low, inverse, codes)
    np.maximum.at(high, inverse, codes)
    return int(np.count_nonzero((low < high)[inverse]))


def distance_facts(X: Matrix, metric: Any, to_neighbors: float, seed: int = 0) -> Distances:
    """Return how much distances vary, of at most 1000 samples.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Rows, or distances where the metric is "precomputed".
    metric : str or callable
    to_neighbors : float
        Mean distance to the nearest neighbours.
    seed : int, default 0
        Draws the samples.

    Examples
    --------
    >>> facts = distance_facts(np.array([[0.0], [3.0], [6.0]]), "euclidean", 3.0)
    >>> facts.mean, round(facts.variation, 3), facts.contrast
    (4.0, 0.354, 0.75)
    """
    from sklearn.metrics import pairwise_distances

    n = X.shape[0]
    rows = np.arange(n) if n <= _SAMPLED else np.sort(np.random.default_rng(seed).permutation(n)[:_SAMPLED])
    if metric == "precomputed":
        D = X[np.ix_(rows, rows)]
        D = D.toarray() if sp.issparse(D) else D
    else:
        D = pairwise_distances(X[rows], metric=metric)
    pairs = np.asarray(D, dtype=np.float64)[np.triu_indices(len(rows), 1)]
    mean = float(pairs.mean())
    if not mean > 0:
        return Distances(0.0, 0.0, 1.0)
    return Distances(mean, float(pairs.std() / mean), to_neighbors / mean)


_LISTED = 5000  # arrangements that are all tried
_DRAWS = 999
_CHUNK = 20_000_000  # pairs of labels that are compared at a time


@dataclass(frozen=True)
class Purity:
    """Pairs of labelled samples of one class.

    Parameters
    ----------
    n_pairs : int
    share : float or None
        Share of pairs of one class; None without pairs.
    by_chance : float or None
        The mean share of random labels of the same counts.
    p_value : float or None
        Probability of random labels to be as pure.
    is_exact : bool
        Whether all arrangements of the labels were tried.
    """

    n_pairs: int
    share: float | None
    by_chance: float | None
    p_value: float | None
    is_exact: bool


def chance_of_one_class(counts: IntArray) -> float:
    """Return the probability that two of the labelled samples, drawn without replacement, are of one class.

    Examples
    --------
    >>> chance_of_one_class(np.array([2, 2]))
    0.3333333333333333
    """
    l = int(counts.sum())
    return float((counts * (counts - 1.0)).sum() / (l * (l - 1.0))) if l > 1 else 1.0


def arrangements(counts: IntArray) -> int:
    """Return in how many ways labels of these counts can be dealt out.

    Examples
    --------
    >>> arrangements(np.array([2, 2])), arrangements(np.array([1, 1, 1]))
    (6, 6)
    """
    return math.factorial(int(counts.sum())) // math.prod(math.factorial(int(count)) for count in counts)


def permutations(codes: IntArray, draws: int, rng: np.random.Generator) -> IntArray:
    """Return the codes (l,) in random orders, (draws, l).

    Examples
    --------
    >>> permutations(np.array([0, 1, 1]), 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [2, 2]
    """
    return rng.permuted(np.tile(codes, (draws, 1)), axis=1)


def purity(codes: IntArray, rows: IntArray, cols: IntArray, seed: int = 0) -> Purity:
    """Return how often pairs of labelled samples are of one class, and how often random labels are.

    Parameters
    ----------
    codes : ndarray of shape (l,)
        Classes of the labelled samples, 0 to K - 1.
    rows, cols : ndarray of shape (m,)
        The pairs: indices into `codes`.
    seed : int, default 0
        Draws arrangements of the labels where there are more than 5000.

    Examples
    --------
    >>> purity(np.array([0, 0, 1, 1]), np.array([0, 2]), np.array([1, 3]))
    Purity(n_pairs=2, share=1.0, by_chance=0.3333333333333333, p_value=0.3333333333333333, is_exact=True)
    """
    m = len(rows)
    if m == 0:
        return Purity(0, None, None, None, False)
    counts = np.bincount(codes)
    same = int((codes[rows] == codes[cols]).sum())
    ways = arrangements(counts)
    if ways <= _LISTED:
        dealt = np.array(list(_all_arrangements(counts.tolist())), dtype=np.intp)
        p = float(np.mean(_same(dealt, rows, cols) >= same))
    else:
        rng, step = np.random.default_rng(seed), max(1, _CHUNK // max(m, len(codes)))
        at_least, left = 0, _DRAWS
        while left:
            dealt = permutations(codes.astype(np.int16), min(step, left), rng)
            at_least += int((_same(dealt, rows, cols) >= same).sum())
            left -= len(dealt)
        p = (1 + at_least) / (1 + _DRAWS)
    return Purity(m, same / m, chance_of_one_class(counts), p, ways <= _LISTED)


def _same(dealt: IntArray, rows: IntArray, cols: IntArray) -> FloatArray:
    return np.asarray((dealt[:, rows] == dealt[:, cols]).sum(axis=1))


def _all_arrangements(counts: list[int]) -> Iterator[list[int]]:
    """Yield every arrangement of labels of these counts."""
    if not any(counts):
        yield []
    for k, count in enumerate(counts):
        if count:
            counts[k] -= 1
            for rest in _all_arrangements(counts):
                yield [k, *rest]
            counts[k] += 1
