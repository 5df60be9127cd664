"""Bounds that a program implies hold every point that satisfies it, and are those that hand and linprog find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from cvxproof.proofs.implied_box import Level, Rows, implied_box

ORTHANT = "nonnegative"


def rows_of(A, b):
    i, j = np.nonzero(A)
    return Rows(i, j, A[i, j], np.asarray(b, dtype=float))


def no_level(n):
    return Level(np.zeros(n), np.zeros(n), np.zeros(n), 0.0)


def bounds(A, b, *cones, level=None):
    A = np.asarray(A, dtype=float)
    held = [(kind, np.asarray(at), tuple(parameters)) for kind, at, *parameters in cones]
    return implied_box(rows_of(A, b), held, level or no_level(A.shape[1]))


def test_no_point_of_a_polyhedron_is_outside():
    finite = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(2, 5)), int(rng.integers(3, 8))
        A = np.round(rng.standard_normal((m, n)) * 10.0 ** rng.integers(-2, 3, (m, 1)), int(rng.integers(0, 4)))
        b, c = A @ rng.standard_normal(n) + rng.random(m), rng.standard_normal(n)
        A, b = np.vstack([A, np.eye(n)]), np.append(b, 10 * np.ones(n))
        level = Level(c, c, np.zeros(n), 1.0)
        low, high = bounds(A, b, (ORTHANT, np.arange(m + n)[:, None]), level=level)
        for j in range(n):
            for end, sign in ((low[j], 1.0), (high[j], -1.0)):
                unit = sign * np.eye(n)[j]
                best = linprog(unit, np.vstack([A, c]), np.append(b, 1.0), bounds=(None, None))
                if best.status == 0:
                    assert sign * end <= best.fun + 1e-7 * (1 + abs(best.fun))
                    finite += math.isfinite(end)
                elif best.status == 3:
                    assert math.isinf(end)
    assert finite > 40


def test_absolute_values_are_bounded_by_the_level():
    # |x| <= t, t <= 2: as CVXPY writes it, and nothing without the sum of both rows.
    A = [[1.0, -1.0], [-1.0, -1.0]]
    low, high = bounds(A, [0.0, 0.0], (ORTHANT, [[0], [1]]), level=Level(*np.array([[0.0, 1.0]] * 2), np.zeros(2), 2.0))
    assert -1e-9 <= low[1] <= 0.0
    np.testing.assert_allclose([low[0], high[0], high[1]], [-2, 2, 2], rtol=1e-12)


def test_an_order_of_more_columns_than_passes_bounds_all():
    n = 60
    A = np.vstack([np.eye(n, k=1)[:-1] - np.eye(n)[:-1], -np.eye(n)[-1:], np.ones((1, n))])  # x_1 >= x_2 >= ... >= 0
    low, high = bounds(A, np.append(np.zeros(n), 1.0), (ORTHANT, np.arange(n + 1)[:, None]))
    assert (low <= 0).all()
    assert (high >= 1).all()
    np.testing.assert_allclose(low, 0.0, atol=1e-12)
    np.testing.assert_allclose(high, 1.0, atol=1e-12)


def test_pairs_are_of_inequalities():
    A = [[0.0, 0.0, -1.0], [1.0, -1.0, 0.0], [-1.0, -1.0, 0.0]]
    low, high = bounds(A, np.zeros(3), ("second_order", [[0, 1, 2]]))
    assert low[2] == pytest.approx(0.0)
    assert np.isinf([*low[:2], *high]).all()


def test_curvature_bounds_its_column():
    level = Level(np.array([2.0]), np.array([2.0]), np.array([4.0]), 6.0)  # 2 x + 2 x^2 <= 6
    low, high = bounds(np.zeros((0, 1)), [], level=level)
    ends = (-1 + np.array([-1, 1]) * math.sqrt(13)) / 2
    assert low[0] <= ends[0] <= ends[1] <= high[0]
    np.testing.assert_allclose([low[0], high[0]], ends, rtol=1e-12)
    wide = level._replace(low=np.array([1.0]), high=np.array([3.0]))
    assert bounds(np.zeros((0, 1)), [], level=wide)[1][0] > high[0]


def test_lines_of_the_level_with_slopes_between_ends():
    level = Level(np.array([1.0]), np.array([2.0]), np.zeros(1), -3.0)
    assert bounds(np.zeros((0, 1)), [], level=level)[1][0] == pytest.approx(-1.5)
    level = Level(np.array([-2.0]), np.array([-1.0]), np.zeros(1), -3.0)
    assert bounds(np.zeros((0, 1)), [], level=level)[0][0] == pytest.approx(1.5)
    level = Level(np.array([-1.0]), np.array([1.0]), np.zeros(1), 1.0)
    assert np.isinf(bounds(np.zeros((0, 1)), [], level=level)).all()


def test_cones_bound_their_slacks():
    eye = -np.eye(3)  # s = x + b
    cap = np.vstack([eye, [[1.0, 0.0, 0.0]]])  # and x_0 <= 2
    low, high = bounds(cap, [0, 0, 0, 2], ("second_order", [[0, 1, 2]]), (ORTHANT, [[3]]))
    np.testing.assert_allclose([low, high], [[0, -2, -2], [2, 2, 2]], atol=1e-12)
    caps = np.vstack([eye, [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])  # lower triangle: S_00 <= 2, S_11 <= 8
    low, high = bounds(caps, [0, 0, 0, 2, 8], ("semidefinite", [[0, 1, 2]], 2.0, 1.0), (ORTHANT, [[3], [4]]))
    assert high[1] == pytest.approx(4 * math.sqrt(2), rel=1e-12)
    low, high = bounds(caps, [0, 0, 0, 2, 8], ("power", [[0, 2, 1]], 0.25, 0.75), (ORTHANT, [[3], [4]]))
    assert (-low[1], high[1]) == pytest.approx((2**0.25 * 8**0.75,) * 2, rel=1e-9)
    assert high[1] >= 2**0.25 * 8**0.75
    # y exp(x / y) <= z: with z <= 5, x <= 5 / e; with y = 1, x <= log 5.
    caps = np.vstack([eye, [[0.0, 0.0, 1.0]]])
    low, high = bounds(caps, [0, 0, 0, 5], ("exponential", [[0, 1, 2]], 0.0, 1.0, 2.0), (ORTHANT, [[3]]))
    assert high[0] == pytest.approx(5 / math.e)
    fixed = np.vstack([caps, [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]])
    cones = ("exponential", [[0, 1, 2]], 0.0, 1.0, 2.0), (ORTHANT, [[3], [5]]), ("zero", [[4]])
    low, high = bounds(fixed, [0, 0, 0, 5, 1, -0.5], *cones)  # y = 1, x >= 1 / 2
    assert high[0] == pytest.approx(math.log(5))
    assert low[2] == pytest.approx(math.exp(0.5))


def test_nothing_is_told_beyond_what_floats_hold():
    low, high = bounds([[1e-140, 0.0], [-1.0, 1.0]], [1e140, 0.0], (ORTHANT, [[0], [1]]))
    assert np.isinf(low).all()
    assert np.isinf(high).all()
    low, high = bounds([[1.0], [-1.0]], [-1.0, -1.0], (ORTHANT, [[0], [1]]))  # x <= -1 and x >= 1: empty
    np.testing.assert_allclose([low, high], [[-1.0], [1.0]])  # never ends that have crossed
