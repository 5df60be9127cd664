"""What is kept of a solve: which rows belong to which constraint, and where the variables stand."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import cvxproof
from cvxproof.conic.evidence import is_of


def test_rows_and_columns_have_their_names():
    x, X = cp.Variable((2, 3), name="x", nonneg=True), cp.Variable((3, 3), PSD=True, name="X")
    held = [(cp.sum(x, axis=0) <= 1).set_label("sums"), X[0, 1] == 0.3, (cp.norm(x[0]) <= 0.5).set_label("ball")]
    problem = cp.Problem(cp.Minimize(cp.trace(X) - cp.sum(x) + cp.norm1(x[1] - 0.2)), held)
    result = cvxproof.solve(problem)
    log = result.log
    assert log.names == ("sums", "constraint_1", "ball", "X is PSD", "x is nonneg")
    for name, at in log.columns.items():
        np.testing.assert_allclose(log.x[at], result.variables[name], atol=1e-7)
    assert log.columns.keys() == {"x", "X"}
    slacks = log.b - log.A @ log.x
    mine = slacks[log.owner == 0]
    np.testing.assert_allclose(mine, 1 - result.variables["x"].sum(axis=0), atol=1e-7)
    assert (log.owner == 1).sum() == 1
    assert [(log.owner == k).sum() for k in (3, 4)] == [6, 6]
    assert (log.owner == -1).sum() > 6
    assert log.added >= 0


def test_violations_are_those_of_the_rows_where_they_are_larger():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.norm1(x)), [(cp.sum(x) == 2).set_label("sum")])
    result = cvxproof.solve(problem, "SCS", eps=1e-3)
    log = result.log
    own = np.abs(log.b - log.A @ log.x)[log.owner == 0].max()
    assert result.certificate.violations["sum"] >= own
    assert result.certificate.rounding >= abs(result.certificate.primal_objective - log.q @ log.x - log.d)


def test_another_program_is_told_from_the_one_that_was_solved():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Maximize(-cp.sum_squares(x) + x[0]), [cp.sum(x) == 2, x <= 1])
    log = cvxproof.solve(problem).log
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
