"""One rule for all that is held against a paper: an interval of the quantity, from the draws, and where it lies.

What a paper says of a quantity is a range: an error with a margin on either side, a gain above zero, a ratio of two or
more. The interval of ours, at `LEVEL` on either side, lies inside the range ("agrees"), outside of it
("differs"), or across its end ("inconclusive"). Inside a margin, that is the test of equivalence by two one-sided
tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).

Runs are paired, and not independent: methods run on the same draws of labels, and pairs of classes share them. So
quantities are differences within a run, tasks are averaged first, and the draws alone are counted (`draw_means`). Nor
are twenty labels of a draw and a hundred independent, where the hundred hold the twenty: `draw_of` makes them one. The
interval is one of other draws of the labels on the same sets, and says nothing of other sets.

Repeats of a time are not independent either: the load, the caches and the clock of a session move all of them. What a
session may change, `SESSION`, widens the interval of a ratio of times (`ratio_of_times`) and of a power in them
(`power_of_times`), so that a verdict on times stands only where it would in another session, too.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

LEVEL = 0.05
"""Of each of the two one-sided tests: intervals hold 90 %."""

FEWEST = 3
"""Draws below which nothing is judged: two draws say next to nothing of a spread."""

SESSION = 2.0
"""Factor within which a ratio of two times of one session is known, whatever its repeats say.

Measured on the record `claims`, whose studies of times were computed anew, whole, in seven sessions; each is
``results/recorded/claims/rows.jsonl.gz`` of a commit: f2d35c5a, 20923a67, 00b9b948, 4f9289c3, 037e9d6d, aa983844 and
703fcdbd. Of all ratios of two times of one cell ("seconds_..." of "costs of LapSVM", "costs of STORM", "time of
continuation", "seconds of LapSVM and TSVM") 98 % came back within this factor between two of the sessions, 92 % within
1.5; the one that moved most did so by 3.0. The code of a session is that of its commit.

The kind of clock is not the reason. On a loaded computer 200 fits of "Figure 6, run time" of `qn_s3vm` took 6.4 times
as long by the clock as by the processor. Of the ratios of two methods, means over the repeats, those by one clock were
within 1.02 of those by the other in the median, and within 1.06 at most; between that session and the recorded one,
whichever the clock, within 1.1 in the median and 1.5 at most.
"""

ANSWERS = ("agrees", "differs", "inconclusive")
"""What a quantity can be called."""

NOT_JUDGED = "not judged"
"""Where nothing can be asked of the draws."""


def counted(number: int, name: str) -> str:
    """Return how many claims have an answer.

    Examples
    --------
    >>> [counted(1, "differs"), counted(2, "differs"), counted(2, "inconclusive")]
    ['1 differs', '2 differ', '2 inconclusive']
    """
    return f"{number} {name if number == 1 else name.removesuffix('s')}"


class Interval(NamedTuple):
    """Estimate of a quantity with its two one-sided limits, from `n` draws; a fact of a single value has n = 0."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def text(self) -> str:
        """The estimate, and the limits in brackets where there are any."""
        mean, low, high = (_shown(each) for each in self[:3])
        return mean if low == high else f"{mean} [{low}, {high}]"


def _shown(value: float) -> str:
    return f"{value:.2f}" if value == 0 or 0.01 <= abs(value) < 1e4 else f"{value:.1e}"


def draw_of(split: str) -> str:
    """Return the draw that a split is of, whatever its number of labels.

    Splits of `reproduction.engine.splits.random_splits` with one seed and number are nested.

    Examples
    --------
    >>> draw_of("random20-seed0-07"), draw_of("round0-fold1")
    ('seed0-07', 'round0-fold1')
    """
    return re.sub(r"^random\d+-", "", split)


def draw_means(values: pd.Series, draws: Any, tasks: Any) -> pd.Series:
    """Return the mean over the tasks on each draw, as if every draw had every task.

    Examples
    --------
    >>> values = pd.Series([1.0, 3.0, 11.0, 13.0])
    >>> draw_means(values, ["s0", "s1", "s0", "s1"], ["easy", "easy", "hard", "hard"]).to_dict()
    {'s0': 6.0, 's1': 8.0}
    """
    frame = pd.DataFrame({"value": np.asarray(values, dtype=float), "draw": draws, "task": tasks}).dropna()
    of_task: Any = frame.groupby("task", sort=False)["value"]
    rest: Any = (frame["value"] - of_task.transform("mean")).groupby(frame["draw"].to_numpy(), sort=False)
    return of_task.mean().mean() + rest.mean()


def mean_interval(values: npt.ArrayLike, among: int = 1) -> Interval:
    """Return the t interval of a mean over draws; at ``LEVEL / among`` where it is one of so many.

    Examples
    --------
    >>> mean_interval([1.0, 2.0, 3.0]).text
    '2.00 [0.31, 3.69]'
    """
    from scipy.stats import t

    each = np.asarray(values, dtype=float)
    n = len(each)
    error = float(each.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    half = float(t.isf(LEVEL / among, n - 1)) * error if n > 1 else 0.0
    mean = float(each.mean()) if n else math.nan
    return Interval(mean, mean - half, mean + half, n)


def share_interval(values: npt.ArrayLike, among: int = 1) -> Interval:
    """Return Wilson's interval of a share, from the shares of the draws.

    It is that of as many trials as there are draws: cases of one draw may hang together as they like.

    Examples
    --------
    >>> share_interval([1.0] * 10).text, share_interval([1.0, 0.0, 0.5]).text
    ('1.00 [0.79, 1.00]', '0.50 [0.16, 0.84]')
    """
    from scipy.stats import norm

    each = np.asarray(values, dtype=float)  # without the level of its tasks one of a draw may lie outside [0, 1]
    n, z = len(each), float(norm.isf(LEVEL / among))
    p = min(max(float(each.mean()), 0.0), 1.0) if n else math.nan
    centre = (p + z * z / (2 * n)) / (1 + z * z / n) if n else math.nan
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) if n else math.nan
    return Interval(p, max(centre - half, 0.0), min(centre + half, 1.0), n)


def ratio_of_times(interval: Interval) -> Interval:
    """Return the interval of a ratio of two times with what another session changes of it: `SESSION`, either way.

    Examples
    --------
    >>> ratio_of_times(mean_interval([3.9, 4.0, 4.1])).text
    '4.00 [1.92, 8.34]'
    """
    low = interval.low / SESSION if interval.low > 0 else interval.low
    return interval._replace(low=low, high=interval.high * SESSION)


def power_of_times(interval: Interval, reach: float) -> Interval:
    """Return the interval of a power in times with what another session changes of it: `reach`, either way.

    Examples
    --------
    >>> power_of_times(Interval(2.0, 1.75, 2.25, 5), reach=0.5).text
    '2.00 [1.25, 2.75]'
    """
    return interval._replace(low=interval.low - reach, high=interval.high + reach)


def difference(ours: float, error: float, published: float, published_error: float, n: int) -> Interval:
    """Return the interval of our mean less a published one, each with the standard error of its n draws."""
    from scipy.stats import t

    apart = ours - published
    half = float(t.isf(LEVEL, 2 * n - 2)) * math.hypot(error, published_error) if n > 1 else 0.0
    return Interval(apart, apart - half, apart + half, n)


def margin(published: float, deviation: float = math.nan) -> float:
    """Return how far from a published error, in points, ours may lie and still be that error.

    A quarter of it, for two means of ten draws with the usual deviation of a fifth lie a sixth apart by chance alone,
    so that nothing finer can be shown; or the published deviation where that is less, for one draw of the paper's moves
    by so much; and half a point at the least, for the draws of a small error differ by one or two samples.

    Examples
    --------
    >>> margin(18.8, 11.5), margin(9.33, 2.0), margin(0.83)
    (4.7, 2.0, 0.5)
    """
    return max(0.5, min(0.25 * published, math.inf if math.isnan(deviation) else deviation))


def answer(near: Interval, at_least: float = -math.inf, at_most: float = math.inf, far: Interval | None = None) -> str:
    """Return which of `ANSWERS` an interval gives of a range; `far`, by default the same, is what must lie outside.

    A gain that is zero on every draw is inconclusive: zero is no part of a range that begins or ends there.

    Examples
    --------
    >>> [answer(Interval(x, x - 1.0, x + 1.0, 10), -2.0, 2.0) for x in (0.5, 4.0, 1.5)]
    ['agrees', 'differs', 'inconclusive']
    """
    far = near if far is None else far
    idle = near.n > 0 and near.low == near.high == 0.0 and 0.0 in (at_least, at_most)
    if at_least <= near.low and near.high <= at_most and not idle:
        return ANSWERS[0]
    return ANSWERS[1] if far.high < at_least or at_most < far.low else ANSWERS[2]


def together(answers: Sequence[str]) -> str:
    """Return the answer to all of several at once: one that differs refutes, and all must agree.

    Examples
    --------
    >>> together(["agrees", "inconclusive"]), together(["agrees", "differs"]), together(["agrees"])
    ('inconclusive', 'differs', 'agrees')
    """
    return next(name for name in (ANSWERS[1], ANSWERS[2], ANSWERS[0]) if name in answers)
