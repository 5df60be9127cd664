"""The ratio of disagreements, by hand."""

import numpy as np
import pytest

from specmargin.tables.candidates.agreement import disagreement_ratio


def flipped(y, rows):
    return np.where(np.isin(np.arange(len(y)), rows), 1 - y, y)


def test_the_ratio_is_that_of_mean_shares():
    truth = np.arange(100) % 2
    graph, pca, lap = flipped(truth, range(10)), flipped(truth, range(10, 15)), flipped(truth, range(15, 20))
    supervised = flipped(truth, range(40, 48))
    apart = (18 + 13 + 13) / 300
    among = (15 + 15 + 10) / 300
    assert disagreement_ratio(supervised, [graph, pca, lap]) == pytest.approx((apart + 0.01) / (among + 0.01))
    assert disagreement_ratio(1 - supervised, [1 - graph, 1 - pca, 1 - lap]) == pytest.approx(
        disagreement_ratio(supervised, [lap, pca, graph])
    )


def test_what_lies_between_the_others_has_a_small_ratio_and_what_lies_apart_a_large_one():
    truth = np.arange(100) % 2
    astray = [flipped(truth, range(start, start + 10)) for start in (0, 10, 20)]
    assert disagreement_ratio(truth, astray) == pytest.approx(0.11 / 0.21)
    assert disagreement_ratio(flipped(truth, range(30, 50)), [truth, flipped(truth, range(15)), truth]) > 1.5


def test_the_ratio_is_bounded_and_one_family_says_nothing():
    y = np.zeros(50, dtype=int)
    assert disagreement_ratio(1 - y, [y, y]) == 2.0
    assert disagreement_ratio(np.arange(50) % 2, [y, 1 - y]) == pytest.approx(0.51 / 1.01)
    assert disagreement_ratio(y, [y, y]) == 1.0
    assert disagreement_ratio(y, [1 - y]) == disagreement_ratio(y, []) == 1.0
