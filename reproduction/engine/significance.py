"""Which method of a row is best, and which are not significantly worse: the two marks of the spectrum paper's tables.

`significance_marks` compares the methods of one row by a paired t-test over the splits that they share, and
`paired_comparison` compares two methods over many rows.

The splits of one data set share most of their samples, so that their errors are not independent and the test is bolder
than its level says. The papers test like that; so does this. `paired_comparison` counts a second test as well, the
corrected resampled t-test, which errs on the side of caution: it takes two splits to be as dependent as if all of what
they share of the test points were shared knowledge.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from specmargin.exceptions import InvalidInputError

__all__ = ["Comparison", "Entry", "Errors", "Mark", "paired_comparison", "paired_p_value", "significance_marks"]

Errors: TypeAlias = Mapping[str, Mapping[str, float]]
"""Errors in percent by method and by split."""

Mark = Literal["best", "light", ""]
"""Least mean error; not significantly worse; significantly worse."""

_ROUNDING = 1e-9  # percent: the same errors in another order may differ by so much in their mean


class Entry(NamedTuple):
    """One method in one row: its error over the splits, and whether it is significantly worse than the best.

    The deviation is that of a sample (n - 1), NaN for a single split. The p-value is that of the test against the best
    method: 1 for the best itself, NaN where there was nothing to test.
    """

    mean: float
    std: float
    n_splits: int
    p_value: float
    mark: Mark


def paired_p_value(a: npt.ArrayLike, b: npt.ArrayLike, test_to_train: float = 0.0) -> float:
    """Return the two-sided p-value of the paired t-test of equal means, from errors of two methods on the same splits.

    1 where the errors are equal on every split, 0 where they differ by one constant, NaN for fewer than two splits.
    Where `test_to_train`, the number of test points over that of training points of a split, is not zero, the variance
    of the mean of k splits is taken as (1/k + test_to_train) s^2 instead of s^2 / k: the corrected resampled t-test of
    Nadeau & Bengio, Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    >>> round(paired_p_value([1.0, 2.0, 3.0], [1.5, 2.0, 4.0]), 3), paired_p_value([1.0, 2.0], [1.0, 2.0])
    (0.225, 1.0)
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape or a.ndim != 1 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InvalidInputError(
            f"a paired test needs one finite error per split of both methods, got the shapes {a.shape} and {b.shape}; "
            "leave out the splits that one of them lacks."
        )
    if len(a) < 2:
        return math.nan
    difference = a - b
    if np.ptp(difference) <= _ROUNDING:  # no spread: the statistic is 0/0 or infinite
        return 1.0 if np.abs(difference).max() <= _ROUNDING else 0.0
    from scipy.stats import t

    k = len(a)
    statistic = float(difference.mean()) / math.sqrt((1.0 / k + test_to_train) * float(difference.var(ddof=1)))
    return float(2.0 * t.sf(abs(statistic), k - 1))


def _paired(a: Mapping[str, float], b: Mapping[str, float]) -> tuple[list[float], list[float]]:
    common = [split for split in a if split in b]
    return [a[split] for split in common], [b[split] for split in common]


def significance_marks(errors: Errors, level: float = 0.05) -> dict[str, Entry]:
    """Compare the methods of one row, at a level of the test.

    A method without any split is left out. Methods with exactly the least mean are all best; the test is against the
    first of them.

    Examples
    --------
    >>> row = {"a": {"s0": 1.0, "s1": 2.0}, "b": {"s0": 1.0, "s1": 2.5}, "c": {"s0": 9.0, "s1": 10.0}}
    >>> {method: entry.mark for method, entry in significance_marks(row).items()}
    {'a': 'best', 'b': 'light', 'c': ''}
    """
    if not 0 < level < 1:
        raise InvalidInputError(f"level={level!r} must lie between 0 and 1; the papers test at 0.05.")
    means = {method: statistics.fmean(splits.values()) for method, splits in errors.items() if splits}
    if not means:
        return {}
    best = min(means, key=lambda method: means[method])
    entries = {}
    for method, mean in means.items():
        p_value = 1.0 if method == best else paired_p_value(*_paired(errors[method], errors[best]))
        mark: Mark = "best" if mean - means[best] <= _ROUNDING else "light" if p_value >= level else ""
        values = list(errors[method].values())
        std = statistics.stdev(values) if len(values) > 1 else math.nan
        entries[method] = Entry(mean, std, len(values), p_value, mark)
    return entries


class Comparison(NamedTuple):
    """Rows in which the first of two methods has the lower mean error, the same one, the higher one.

    `clearly_lower` and `clearly_higher` count those in which the paired test finds the difference significant,
    `surely_lower` and `surely_higher` those in which the corrected resampled test does, too.
    """

    lower: int
    equal: int
    higher: int
    clearly_lower: int
    clearly_higher: int
    surely_lower: int = 0
    surely_higher: int = 0

    @property
    def rows(self) -> int:
        """Number of rows that hold both methods."""
        return self.lower + self.equal + self.higher


def paired_comparison(
    rows: Iterable[Errors], first: str, second: str, level: float = 0.05, test_to_train: Sequence[float] = ()
) -> Comparison:
    """Compare two methods on the splits that they share, row by row.

    The corrected test is made where `test_to_train` has the ratio of each row (see `paired_p_value`).

    Examples
    --------
    >>> paired_comparison([{"a": {"s0": 1.0, "s1": 2.0}, "b": {"s0": 3.0, "s1": 4.5}}], "a", "b")
    Comparison(lower=1, equal=0, higher=0, clearly_lower=0, clearly_higher=0, surely_lower=0, surely_higher=0)
    """
    signs, clear, sure = [], [], []
    for k, row in enumerate(rows):
        a, b = _paired(row.get(first, {}), row.get(second, {}))
        if not a:
            continue
        difference = statistics.fmean(a) - statistics.fmean(b)
        sign = 0 if abs(difference) <= _ROUNDING else int(math.copysign(1, difference))
        signs.append(sign)
        clear.append(sign if paired_p_value(a, b) < level else 0)
        sure.append(sign if len(test_to_train) and paired_p_value(a, b, test_to_train[k]) < level else 0)
    tests = [part.count(side) for part in (clear, sure) for side in (-1, 1)]
    return Comparison(signs.count(-1), signs.count(0), signs.count(1), *tests)
