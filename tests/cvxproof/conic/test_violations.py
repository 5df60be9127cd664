"""Violations of all kinds of constraints by hand."""

import cvxpy as cp
import numpy as np
import pytest

from cvxproof.conic.violations import relative, violation

H = np.array([[1, 2j], [-2j, 1]])  # eigenvalues -1 and 3
OUTSIDE = {
    "equality": (cp.Constant([1 + 1j, 2]) == np.array([1, 2]), 1.0),
    "inequality": (cp.Constant([1.0, 5.0]) <= np.array([2.0, 3.0]), 2.0),
    "real matrix": (cp.Constant(np.diag([2.0, -0.5])) >> 0, 0.5),
    "hermitian matrix": (cp.Constant(H) >> 0, 1.0),
    "upper bound of a hermitian matrix": (cp.Constant(H) << np.eye(2), 2.0),
    "second order": (cp.SOC(cp.Constant(1.0), cp.Constant([3.0, 4.0])), 4.0),
    "complex second order": (cp.SOC(cp.Constant(1.0), cp.Constant([3j, 4.0])), 4.0),
    "two of second order": (cp.SOC(cp.Constant([5.0, 1.0]), cp.Constant(np.array([[3.0, 0.0], [4.0, 2.0]]))), 1.0),
    "rows of second order": (
        cp.SOC(cp.Constant([5.0, 1.0]), cp.Constant(np.array([[3.0, 4.0], [0.0, 2.0]])), axis=1),
        1.0,
    ),
    "exponential": (
        cp.ExpCone(cp.Constant([2.0, 0.0]), cp.Constant([2.0, 1.0]), cp.Constant([5.0, 1.0])),
        2 * np.e - 5,
    ),
    "power": (cp.PowCone3D(cp.Constant([4.0, 1.0]), cp.Constant([1.0, 1.0]), cp.Constant([-3.0, 1.0]), 0.5), 1.0),
    "power of a quarter": (cp.PowCone3D(cp.Constant(1.0), cp.Constant(16.0), cp.Constant(-10.0), 0.25), 2.0),
    "power, by its sign": (cp.PowCone3D(cp.Constant(4.0), cp.Constant(-7.0), cp.Constant(0.0), 0.5), 7.0),
    "powers": (cp.PowConeND(cp.Constant([8.0, 1.0, 1.0]), cp.Constant(3.0), np.full(3, 1 / 3)), 1.0),
    "columns of powers": (
        cp.PowConeND(np.array([[4.0, 9.0, 1.0], [1.0, 1.0, 1.0]]), cp.Constant([3.0, 3.0, 1.0]), np.full((2, 3), 0.5)),
        1.0,
    ),
    "rows of powers": (cp.PowConeND(np.array([[4.0, 1.0]]), cp.Constant([3.0]), np.full((1, 2), 0.5), axis=1), 1.0),
}
"""Constraints of constants, and how far these are outside by hand."""


@pytest.mark.parametrize("name", OUTSIDE)
def test_violations_of_all_constraints_by_hand(name):
    constraint, expected = OUTSIDE[name]
    assert violation(constraint) == pytest.approx(expected, abs=1e-12)


def test_a_relative_violation_is_over_the_largest_side_and_no_less_than_one():
    assert relative(cp.Constant([1.0, -50.0]) <= np.array([2.0, 3.0]), 4.0) == 4.0 / 50
    assert relative(cp.Constant([0.5]) <= np.array([0.25]), 0.25) == 0.25
