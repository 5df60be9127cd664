"""Attributes of variables are constraints with names, multipliers and violations."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxproof
from cvxproof.conic.attributes import attribute_constraints, written_out
from cvxproof.conic.compiled import compiled


def nonneg(rng, n, with_attributes):
    a, c = rng.standard_normal(n), rng.standard_normal(n) + 0.3
    x = cp.Variable(n, name="x", nonneg=with_attributes)
    held = [] if with_attributes else [(x >= 0).set_label("x is nonneg")]
    return cp.Problem(cp.Minimize(cp.sum_squares(x - a) + c @ x), held)


def nonpos(rng, n, with_attributes):
    a = rng.standard_normal(n)
    x = cp.Variable(n, name="x", nonpos=with_attributes)
    return cp.Problem(
        cp.Minimize(cp.sum_squares(x - a)), [] if with_attributes else [(x <= 0).set_label("x is nonpos")]
    )


def bounds(rng, n, with_attributes):
    low, high = -rng.random(n), rng.random(n)
    low[0], high[1] = -np.inf, np.inf
    x = cp.Variable(n, name="x", bounds=[low, high] if with_attributes else None)
    held = [(x[1:] >= low[1:]).set_label("x has lower bounds")]
    held += [(x[high < np.inf] <= high[high < np.inf]).set_label("x has upper bounds")]
    return cp.Problem(cp.Minimize(cp.sum_squares(x - 2 * rng.standard_normal(n))), [] if with_attributes else held)


def psd(rng, n, with_attributes):
    B = rng.standard_normal((n, n))
    X = cp.Variable((n, n), name="X", PSD=True) if with_attributes else cp.Variable((n, n), name="X", symmetric=True)
    held = [] if with_attributes else [(X >> 0).set_label("X is PSD")]
    return cp.Problem(cp.Minimize(cp.sum_squares(X - B - B.T)), held)


def nsd(rng, n, with_attributes):
    B = rng.standard_normal((n, n))
    X = cp.Variable((n, n), name="X", NSD=True) if with_attributes else cp.Variable((n, n), name="X", symmetric=True)
    held = [] if with_attributes else [(X << 0).set_label("X is NSD")]
    return cp.Problem(cp.Minimize(cp.sum_squares(X - B - B.T)), held)


@pytest.mark.parametrize("kind", [nonneg, nonpos, bounds, psd, nsd])
@pytest.mark.parametrize("seed", range(10))
def test_multipliers_are_those_of_the_constraint_written_out(kind, seed):
    results = [cvxproof.solve(kind(np.random.default_rng(seed), 3 + seed % 3, one)) for one in (True, False)]
    assert [one.status.name for one in results] == ["OPTIMAL", "OPTIMAL"]
    own, written = results
    assert own.duals.keys() == written.duals.keys()
    assert own.certificate.violations.keys() == written.certificate.violations.keys()
    for name, dual in written.duals.items():
        np.testing.assert_allclose(own.duals[name], dual, atol=1e-5)
        assert np.abs(dual).max() > 1e-3 or kind is not psd


def test_a_problem_that_needs_the_attribute_to_be_convex_keeps_it():
    x, y = cp.Variable(2, nonneg=True, name="x"), cp.Variable(name="y")
    problem = cp.Problem(cp.Minimize(cp.square(cp.norm(x) + cp.sum(x)) + y**2), [cp.sum(x) + y >= 1])
    assert written_out(problem, attribute_constraints(problem)) is None
    form = compiled(problem)
    assert form.attributes == {}
    assert cvxproof.solve(problem).status.name == "OPTIMAL"


def test_variables_of_all_kinds_keep_their_values():
    parts = [cp.Variable((2, 2), diag=True), cp.Variable((2, 2), hermitian=True), cp.Variable(2, complex=True)]
    parts += [cp.Variable((2, 2), symmetric=True), cp.Variable((2, 2), PSD=True), cp.Variable(2, neg=True)]
    loss = sum(cp.sum_squares(part - np.full(part.shape, 1.0)) for part in parts)
    result = cvxproof.solve(cp.Problem(cp.Minimize(loss)))
    assert result.status.name == "OPTIMAL"
    assert all(part.value is not None for part in parts)
    np.testing.assert_allclose(parts[1].value, np.ones((2, 2)), atol=1e-6)
    np.testing.assert_allclose(parts[5].value, 0, atol=1e-6)
    assert [name.split(" ", 1)[1] for name in result.duals] == ["is PSD", "is neg"]


def test_entries_of_diagonal_and_sparse_matrices_are_constrained():
    """CVXPY 1.9 cannot evaluate an entry of a diagonal matrix that it has solved for."""
    D, T = cp.Variable((3, 3), diag=True, name="D"), cp.Variable((2, 3), sparsity=[(0, 1), (0, 2)], name="T")
    held = [D[0, 0] >= 2, D[0, 1] <= 1, T[0, 0] >= 3, T[0, 1] == 0]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(D - 1) + cp.sum_squares(T)), held)
    result = cvxproof.solve(problem)
    assert result.status is cvxproof.Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(1 + 6 + 9)
    np.testing.assert_allclose(result.variables["D"], np.diag([2.0, 1.0, 1.0]), atol=1e-6)
    problem.solve()
    assert cvxproof.certify(problem).is_optimal()


@pytest.mark.parametrize(
    ("function", "optimum"),
    [
        (cp.lambda_max, 1.0),
        (lambda D: cp.norm(D, "nuc"), 3.0),
        (lambda D: -cp.log_det(D), 0.0),
        (lambda D: cp.sum_squares(D[0, 0] - 2), 0.0),
    ],
)
def test_functions_that_cvxpy_does_not_evaluate_at_diagonal_variables_are_proved(function, optimum):
    D = cp.Variable((3, 3), diag=True, name="D")
    result = cvxproof.solve(cp.Problem(cp.Minimize(function(D)), [cp.trace(D) == 3]))
    assert result.status is cvxproof.Status.OPTIMAL, result
    assert abs(result.certificate.primal_objective - optimum) < 1e-6
