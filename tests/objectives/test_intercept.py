"""Multipliers that are balanced and intercepts that are best, against sums of fractions; weighted means."""

import math
from fractions import Fraction

import numpy as np
import pytest

from specmargin.objectives.intercept import (
    balanced,
    centred_basis,
    checked_weights,
    exactly_balanced,
    hinge_intercepts,
    less_mean,
    weighted_mean,
)


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


@pytest.mark.parametrize("spread", [0.0, 1.0, 12.0])
def test_what_is_left_of_every_row_has_all_its_digits(spread):
    rng = np.random.default_rng(0)
    c = 10.0 ** rng.uniform(-spread, spread, 7)
    rows = rng.normal(size=7)
    exact = [Fraction(x) for x in c]
    mean = sum(w * Fraction(x) for w, x in zip(exact, rows, strict=True)) / sum(exact)
    assert float(weighted_mean(rows, c)) == pytest.approx(float(mean), rel=1e-14)
    apart = [float(Fraction(x) - mean) for x in rows]
    np.testing.assert_allclose(less_mean(rows, c), apart, rtol=1e-12)
    np.testing.assert_array_equal(less_mean(np.column_stack([rows, -rows]), c)[:, 0], less_mean(rows, c))
    assert weighted_mean(np.full(7, 0.1), c) == 0.1


def test_without_weights_it_is_the_mean():
    rows = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(weighted_mean(rows, None), rows.mean(axis=0))
    np.testing.assert_array_equal(less_mean(rows, None), rows - rows.mean(axis=0))


@pytest.mark.parametrize("weights", [None, np.ones(5), np.array([1e12, 1.0, 1e-12, 3.0, 2.0])])
def test_the_basis_is_orthonormal_and_orthogonal_to_the_roots(weights):
    B, r = centred_basis(5, weights), np.sqrt(np.ones(5) if weights is None else weights)
    assert B.shape == (5, 4)
    np.testing.assert_allclose(B.T @ B, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(B.T @ r / np.linalg.norm(r), 0.0, atol=1e-15)
    assert centred_basis(1, None if weights is None else weights[:1]).shape == (1, 0)


def test_weights_are_positive_numbers_one_per_label():
    assert checked_weights(None, 3) is None
    assert checked_weights([1, 2], 2).tolist() == [1.0, 2.0]
    for bad in ([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match="weights"):
            checked_weights(bad, 2)
