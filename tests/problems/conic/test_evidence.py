"""What is kept of a solve: which rows belong to which constraint, and where the variables stand."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from specmargin.problems.conic.evidence import is_of, violation


def test_rows_and_columns_have_their_names():
    x, X = cp.Variable((2, 3), name="x", nonneg=True), cp.Variable((3, 3), PSD=True, name="X")
    held = [(cp.sum(x, axis=0) <= 1).set_label("sums"), X[0, 1] == 0.3, (cp.norm(x[0]) <= 0.5).set_label("ball")]
    problem = cp.Problem(cp.Minimize(cp.trace(X) - cp.sum(x) + cp.norm1(x[1] - 0.2)), held)
    result = sm.solve(problem)
    log = result.log
    assert log.names == ("sums", "constraint_1", "ball")
    for name, at in log.columns.items():
        np.testing.assert_allclose(log.x[at], result.variables[name], atol=1e-7)
    assert log.columns.keys() == {"x", "X"}
    slacks = log.b - log.A @ log.x
    mine = slacks[log.owner == 0]
    np.testing.assert_allclose(mine, 1 - result.variables["x"].sum(axis=0), atol=1e-7)
    assert (log.owner == 1).sum() == 1
    assert (log.owner == -1).sum() > 6
    assert log.added >= 0


def test_violations_are_those_of_the_rows_where_they_are_larger():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.norm1(x)), [(cp.sum(x) == 2).set_label("sum")])
    result = sm.solve(problem, "SCS", eps=1e-3)
    log = result.log
    own = np.abs(log.b - log.A @ log.x)[log.owner == 0].max()
    assert result.certificate.violations["sum"] >= own
    assert result.certificate.rounding >= abs(result.certificate.primal_objective - log.q @ log.x - log.d)


def test_another_program_is_told_from_the_one_that_was_solved():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Maximize(-cp.sum_squares(x) + x[0]), [cp.sum(x) == 2, x <= 1])
    log = sm.solve(problem).log
    assert (log.sign, repr(log)) == (-1.0, "ConeProof: 3 columns, 4 rows in 4 cones")
    assert is_of(problem, "CLARABEL", log)
    for other in (
        cp.Problem(cp.Minimize(cp.sum_squares(x) - x[0]), problem.constraints),
        cp.Problem(problem.objective, [cp.sum(x) == 2, x <= 1.5]),
        cp.Problem(problem.objective, [cp.sum(x) <= 2, x <= 1]),
        cp.Problem(problem.objective, [cp.sum(x) == 2]),
        cp.Problem(cp.Maximize(-cp.sum_squares(x) + x[0] + 1), problem.constraints),
    ):
        assert not is_of(other, "CLARABEL", log)


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
    "power, by its sign": (cp.PowCone3D(cp.Constant(4.0), cp.Constant(-7.0), cp.Constant(0.0), 0.5), 7.0),
    "powers": (cp.PowConeND(cp.Constant([8.0, 1.0, 1.0]), cp.Constant(3.0), np.full(3, 1 / 3)), 1.0),
    "rows of powers": (cp.PowConeND(np.array([[4.0, 1.0]]), cp.Constant([3.0]), np.full((1, 2), 0.5), axis=1), 1.0),
}
"""Constraints of constants, and how far these are outside by hand."""


@pytest.mark.parametrize("name", OUTSIDE)
def test_violations_of_all_constraints_by_hand(name):
    constraint, expected = OUTSIDE[name]
    assert violation(constraint) == pytest.approx(expected, abs=1e-12)
