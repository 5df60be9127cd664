"""The one rule of the judge, against scipy's tests, by simulation, and by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reproduction.engine.equivalence import (
    SESSION,
    Interval,
    answer,
    difference,
    draw_means,
    draw_of,
    margin,
    mean_interval,
    power_of_times,
    ratio_of_times,
    share_interval,
    together,
)
from reproduction.engine.splits import random_splits


def test_the_interval_of_a_mean_is_that_of_scipy(rng):
    values = rng.normal(2.0, 1.0, 9)
    for among in (1, 4):
        expected = stats.t.interval(1 - 0.1 / among, 8, values.mean(), stats.sem(values))
        assert mean_interval(values, among)[1:3] == pytest.approx(expected, rel=1e-12)
    assert mean_interval([3.0])[:3] == (3.0, 3.0, 3.0)


def test_the_interval_of_a_share_is_that_of_scipy():
    for good in range(13):
        shares = [1.0] * good + [0.0] * (12 - good)
        expected = stats.binomtest(good, 12).proportion_ci(0.9, method="wilson")
        assert share_interval(shares)[1:3] == pytest.approx(tuple(expected), abs=1e-12)
    assert share_interval([0.5, 0.5]) == share_interval([1.0, 0.0])  # cases of one draw are no trials of their own
    # Two sets with shares of 3/4 and 0 on draws of their own, whose draws lie at -3/8 and 5/8: the share is 3/8.
    truths, sets = [1.0, 1.0, 1.0, 0.0, *[0.0] * 4], ["x"] * 4 + ["y"] * 4
    assert share_interval(draw_means(pd.Series(truths), range(8), sets)).mean == pytest.approx(0.375)


def test_agreement_within_a_margin_is_both_one_sided_tests(rng):
    """Schuirmann: the 90 % interval lies inside the margin where both tests reject at 5 %."""
    seen = set()
    for shift in np.linspace(-2.0, 2.0, 81):
        d = shift + rng.normal(0.0, 0.8, 10)
        below = stats.ttest_1samp(d, -1.0, alternative="greater").pvalue
        above = stats.ttest_1samp(d, 1.0, alternative="less").pvalue
        told = answer(mean_interval(d), -1.0, 1.0)
        assert (told == "agrees") == (below < 0.05 and above < 0.05)
        outside = min(
            stats.ttest_1samp(d, -1.0, alternative="less").pvalue,
            stats.ttest_1samp(d, 1.0, alternative="greater").pvalue,
        )
        assert (told == "differs") == (outside < 0.05)
        seen.add(told)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1, 0.3, "agrees"),
        (0.0, 0.0, "inconclusive"),  # nothing moved
        (0.0, 0.2, "agrees"),
        (-0.3, -0.1, "differs"),
        (-0.1, 0.3, "inconclusive"),
        (-0.1, 0.0, "inconclusive"),
    ],
)
def test_the_sign_of_a_gain_decides(low, high, expected):
    gain = Interval((low + high) / 2, low, high, 10)
    assert answer(gain, at_least=0.0) == expected
    assert answer(Interval(-gain.mean, -high, -low, 10), at_most=0.0) == expected


def test_a_ratio_of_times_is_told_only_where_every_session_would_tell_it(rng):
    """The times above the line of a whole session are multiplied by a factor, or those below it."""
    seen = set()
    for level in np.geomspace(0.1, 10.0, 41):
        ratios = level * rng.uniform(0.95, 1.05, 5)
        sessions = [mean_interval(ratios * factor) for factor in np.geomspace(1 / SESSION, SESSION, 5)]
        for bounds in ((1.0, math.inf), (-math.inf, 1.0), (0.2, 5.0)):
            told = {answer(each, *bounds) for each in sessions}
            expected = told.pop() if len(told) == 1 else "inconclusive"
            assert answer(ratio_of_times(mean_interval(ratios)), *bounds) == expected
            seen.add(expected)
    assert len(seen) == 3
    assert SESSION == 2.0
    # What the repeats leave open on either side of zero, a session leaves open, too.
    assert ratio_of_times(Interval(1.0, -1.0, 3.0, 3)) == (1.0, -1.0, 6.0, 3)


def test_a_power_of_times_is_widened_by_the_same_on_either_side():
    assert power_of_times(Interval(2.0, 1.75, 2.5, 5), 1.0) == (2.0, 0.75, 3.5, 5)


def test_zero_is_no_gain_but_lies_within_a_margin_and_facts_are_as_they_are():
    idle = mean_interval([0.0] * 5)
    assert answer(idle, at_least=0.0) == answer(idle, at_most=0.0) == "inconclusive"
    assert answer(idle, -0.5, 0.5) == answer(idle, at_least=-0.5) == answer(mean_interval([5.0] * 5), at_most=5.0)
    assert answer(idle, -0.5, 0.5) == answer(Interval(0.0, 0.0, 0.0, 0), at_most=0.0) == "agrees"


def test_one_of_many_differs_only_by_a_wider_interval():
    near, far = Interval(-1.0, -1.5, -0.1, 10), Interval(-1.0, -2.0, 0.4, 10)
    assert answer(near, at_least=0.0) == "differs"
    assert answer(near, at_least=0.0, far=far) == "inconclusive"
    assert together(["agrees", "agrees"]) == "agrees"
    assert together(["agrees", "inconclusive", "differs"]) == "differs"


def test_draws_are_counted_and_not_their_runs(rng):
    """A gain of zero on 45 tasks that share ten draws: nine of ten intervals hold it, of the runs far fewer."""
    tasks, draws = np.repeat(np.arange(45), 10), np.tile(np.arange(10), 45)
    held = {"draws": 0, "runs": 0}
    for _ in range(300):
        shared, easy = rng.normal(0.0, 1.0, 10), rng.normal(0.0, 3.0, 45)
        errors = easy[tasks] + shared[draws] + rng.normal(0.0, 0.5, 450)
        gain = pd.Series(errors - easy[tasks].mean())
        means = draw_means(gain, draws, tasks)
        assert len(means) == 10
        for name, interval in (
            ("draws", mean_interval(means)),
            ("runs", mean_interval(gain - easy[tasks] + easy.mean())),
        ):
            held[name] += interval.low <= 0.0 <= interval.high
    assert abs(held["draws"] / 300 - 0.9) < 3 * math.sqrt(0.09 / 300)
    assert held["runs"] < 120


def test_more_labels_of_a_draw_hold_the_fewer_and_make_no_draws_of_their_own():
    y = [0] * 50 + [1] * 50
    few, many = (random_splits(y, n_labeled, 4, seed=0) for n_labeled in (6, 20))
    for a, b in zip(few, many, strict=True):
        assert set(a.labeled) < set(b.labeled)
        assert draw_of(a.name) == draw_of(b.name)
    assert len({draw_of(split.name) for split in (*few, *many)}) == 4
    assert draw_of(random_splits(y, 6, 1, seed=1)[0].name) not in {draw_of(split.name) for split in few}
    assert [draw_of(name) for name in ("speaker-01", "drawn2-03")] == ["speaker-01", "drawn2-03"]


def test_differences_are_taken_within_a_run(rng):
    """Two methods on the same draws: what the draw adds to both is no spread of their difference."""
    draw = rng.normal(0.0, 5.0, 10)
    a, b = draw + rng.normal(0.0, 0.1, 10), draw + 1.0 + rng.normal(0.0, 0.1, 10)
    paired = mean_interval(b - a)
    assert answer(paired, 0.5, 1.5) == "agrees"
    alone = difference(b.mean(), stats.sem(b), a.mean(), stats.sem(a), 10)
    assert answer(alone, 0.5, 1.5) == "inconclusive"
    expected = stats.ttest_ind(b, a).confidence_interval(0.9)
    assert alone[1:3] == pytest.approx(tuple(expected), rel=1e-9)


def test_tasks_weigh_alike_whoever_lacks_a_draw():
    frame = pd.DataFrame({"v": [1.0, 3.0, 11.0], "d": ["a", "b", "a"], "t": ["x", "x", "y"]})
    assert draw_means(frame["v"], frame["d"], frame["t"]).to_dict() == {"a": 6.0, "b": 7.5}
    with_nan = pd.concat([frame, pd.DataFrame({"v": [math.nan], "d": ["c"], "t": ["y"]})])
    assert list(draw_means(with_nan["v"], with_nan["d"], with_nan["t"]).index) == ["a", "b"]


@pytest.mark.parametrize(
    ("published", "deviation", "expected"),
    [(20.0, math.nan, 5.0), (20.0, 8.0, 5.0), (20.0, 2.0, 2.0), (1.0, math.nan, 0.5), (20.0, 0.1, 0.5)],
)
def test_margins(published, deviation, expected):
    assert margin(published, deviation) == expected
