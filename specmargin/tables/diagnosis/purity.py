"""Do pairs of labelled samples share their class more often than random labels would: `Purity` and its p-value.

The reference are the same labels, dealt out anew among the labelled samples. Its mean is exact; the p-value is exact,
too, where there are few arrangements, and else that of 999 random ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from specmargin.typing import FloatArray, IntArray

__all__ = ["Purity", "arrangements", "chance_of_one_class", "permutations", "purity"]

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
