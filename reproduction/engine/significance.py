"""Which method of a row is best, and which are not significantly worse: the two marks of the spectrum paper's tables.

`significance_marks` compares the methods of one row by a paired t-test over the splits that they share. The splits of
one data set share most of their samples, so that their errors are not independent and the test is bolder than its level
says. The papers mark like that; so does this. Claims are judged by `reproduction.engine.equivalence`.
"""

import math
import statistics
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from specmargin.exceptions import InvalidInputError

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


def paired_p_value(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the two-sided p-value of the paired t-test of equal means, from errors of two methods on the same splits.

    1 where the errors are equal on every split, 0 where they differ by one constant, NaN for fewer than two splits.

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
    from scipy.stats import ttest_rel

    return float(ttest_rel(a, b).pvalue)


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
