"""Multipliers that are balanced, against sums of fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from specmargin.objectives.intercept import balanced, exactly_balanced


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e8, 1e200])
@pytest.mark.parametrize("seed", range(20))
def test_the_sum_is_exactly_zero_and_little_is_moved(seed, scale):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(40) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    given = scale * np.exp(4.0 * rng.normal(size=40))
    s = balanced(y, given)
    theta = exactly_balanced(y, s)
    assert sum(map(Fraction, theta)) == 0
    # Sums of what was given are rounded, and all that is left of them is taken from one entry.
    np.testing.assert_allclose(theta, y * s, rtol=0, atol=2.0**-50 * given.sum())
    assert (y * theta >= 0).all()


def test_an_excess_of_many_last_digits_is_taken_from_the_heavier_side():
    y, s = np.array([1.0, 1.0, -1.0]), np.array([1.0, 2.0, 3.0 - 1e-12])
    assert Fraction(1) + 2 - Fraction(s[2]) != 0
    theta = exactly_balanced(y, s)
    assert math.fsum(theta) == 0.0
    assert theta[1] < 2.0


def test_what_is_too_small_or_too_large_for_a_grid_stays_or_vanishes():
    y = np.array([1.0, -1.0])
    assert exactly_balanced(y, np.array([1e-300, 1e-300])).tolist() == [0.0, 0.0]
    assert exactly_balanced(y, np.array([1e300, 1e300])).tolist() == [1e300, -1e300]
    assert exactly_balanced(np.zeros(0), np.zeros(0)).tolist() == []
