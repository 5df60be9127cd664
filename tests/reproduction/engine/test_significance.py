"""Paired tests and significance marks, by hand and against the published example of Student (1908)."""

import math

import numpy as np
import pytest

from reproduction.engine.significance import paired_p_value, significance_marks

# Hours of sleep gained by ten patients under two drugs, from Student's paper: t = -4.0621 with 9 degrees of freedom.
SLEEP = (
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
)


def row(**errors):
    return {method: {f"s{i}": value for i, value in enumerate(values)} for method, values in errors.items()}


def test_p_value_is_students():
    assert paired_p_value(*SLEEP) == pytest.approx(0.00283289, abs=1e-8)
    assert paired_p_value(*SLEEP[::-1]) == paired_p_value(*SLEEP)


def test_p_value_without_spread():
    assert paired_p_value([1.0, 2.0, 5.0], [1.0, 2.0, 5.0]) == 1.0
    assert paired_p_value([1.0, 2.0, 5.0], [2.0, 3.0, 6.0]) == 0.0
    # Errors in percent are fractions: differences that are equal but for rounding have no spread either.
    assert paired_p_value([100 / 3, 100 / 7], [100 / 3 + 0.1, 100 / 7 + 0.1]) == 0.0
    assert math.isnan(paired_p_value([1.0], [2.0]))


def test_marks_by_hand():
    entries = significance_marks(row(a=[1, 2, 3], b=[1.5, 2.5, 2.5], c=[2, 3, 4.1], d=[9.0, 1.0, 2.0]))
    assert {method: entry.mark for method, entry in entries.items()} == {
        "a": "best",
        "b": "light",  # higher in the mean by chance
        "c": "",  # always higher, by nearly the same
        "d": "light",  # far higher, but by one split only
    }
    assert entries["a"].mean == 2.0
    assert entries["a"].std == pytest.approx(1.0)
    assert entries["a"].p_value == 1.0
    # a - c: mean -31/30, deviation sqrt(1/300), so t = -31 with 2 degrees of freedom, where P = 1 - t / sqrt(2 + t^2).
    assert entries["c"].p_value == pytest.approx(1 - 31 / math.sqrt(963), rel=1e-9)
    assert entries["c"].n_splits == 3


def test_equal_means_are_all_best_and_failures_pair_with_what_is_left():
    entries = significance_marks(row(a=[1, 3], b=[3, 1], c=[2, 2]))
    assert [entry.mark for entry in entries.values()] == ["best"] * 3
    errors = row(a=[1, 2, 3, 4], b=[2, 3, 4, 5])
    del errors["b"]["s0"]
    errors["failed"] = {}
    entries = significance_marks(errors)
    assert list(entries) == ["a", "b"]
    assert (entries["b"].n_splits, entries["b"].mean, entries["b"].p_value) == (3, 4.0, 0.0)
    assert significance_marks({}) == {}


def test_single_split_has_no_light_mark_and_deviation_is_that_of_a_sample():
    entries = significance_marks(row(a=[1], b=[2]))
    assert [entry.mark for entry in entries.values()] == ["best", ""]
    assert math.isnan(entries["a"].std)
    entries = significance_marks(row(a=[1, 3], b=[2.0, 2.5]))
    assert [entry.std for entry in entries.values()] == pytest.approx([math.sqrt(2), math.sqrt(0.125)])
    assert [entry.n_splits for entry in entries.values()] == [2, 2]


@pytest.mark.parametrize("level", [0.01, 0.05, 0.4])
def test_p_value_equal_to_the_level_is_light(level):
    """ "Not significantly worse" is p >= level, at the border too; the best has p = 1 whatever the others are."""
    errors = row(a=[1, 2, 3], c=[2, 3, 4.1], d=[1.2, 2.5, 2.9])
    p_values = {method: entry.p_value for method, entry in significance_marks(errors, level=level).items()}
    assert p_values["a"] == 1.0
    for method in ("c", "d"):
        assert significance_marks(errors, level=p_values[method])[method].mark == "light"
        assert significance_marks(errors, level=np.nextafter(p_values[method], 1.0))[method].mark == ""
