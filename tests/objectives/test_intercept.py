"""Multipliers that are balanced and intercepts that are best, against sums of fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from specmargin.objectives.intercept import balanced, exactly_balanced, hinge_intercepts


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


@pytest.mark.parametrize("lightest", [1.0, 1e-8, 1e-15, 1e-30, 1e15])
@pytest.mark.parametrize("seed", range(10))
def test_weighted_intercepts_are_all_that_are_best(seed, lightest):
    """By fractions: the sum at every kink, of which the least ones are the ends."""
    rng = np.random.default_rng(seed)
    y = rng.permutation([1.0, 1.0, 1.0, -1.0, -1.0, rng.choice([-1.0, 1.0])])
    f, c = rng.choice([-1.0, 0.0, 0.25, 3.0], 6), rng.choice([1.0, 2.0, 3.0], 6)
    c[y < 0] *= lightest
    exact = [tuple(map(Fraction, one)) for one in zip(y, f, c, strict=True)]

    def total(b):
        return sum(weight * max(Fraction(0), 1 - sign * (at + b)) for sign, at, weight in exact)

    kinks = sorted({Fraction(kink) for kink in y - f})
    least = min(map(total, kinks))
    best = [float(kink) for kink in kinks if total(kink) == least]
    assert hinge_intercepts(y, f, c) == (best[0], best[-1])


def test_weights_that_are_equal_but_for_rounding_leave_the_flat_piece_flat():
    y, f = np.array([1.0, 1.0, 1.0, -1.0]), np.array([2.0, 3.0, 4.0, -4.0])
    assert hinge_intercepts(y, f, np.array([0.1, 0.1, 0.1, 0.1 + 0.1 + 0.1])) == hinge_intercepts(y, f)
    one_class = np.ones(3)
    assert hinge_intercepts(one_class, np.arange(3.0), np.full(3, 0.5)) == (1.0, np.inf)
    assert hinge_intercepts(-one_class, np.arange(3.0), np.full(3, 0.5)) == (-np.inf, -3.0)
