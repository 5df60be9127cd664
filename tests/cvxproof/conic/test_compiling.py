"""Compilation of problems with many parameters of one's own."""

import pickle
import tracemalloc

import cvxpy as cp
import cvxpy.lin_ops.lin_utils as counted
import numpy as np
import pytest

import cvxproof
from cvxproof.conic.compiling import ParametrizedProblem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
TRUTH = (X[:, 0] + 0.5 * RNG.normal(size=240) > 0).astype(int)


def peak(function):
    """Return the most bytes that a call holds at a time, arrays of numpy and scipy included."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_problems_of_ones_own_compile_for_the_present_values_where_these_are_many():
    n = 120
    C, at = RNG.normal(size=(n, n)), RNG.normal(size=(n, n))
    P, x = cp.Parameter((n, n), value=at), cp.Variable(n, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(C @ (P @ x) / n - 1) + cp.sum_squares(x)))
    results = []
    assert peak(lambda: results.append(cvxproof.solve(problem))) < 30e6
    P.value = 2 * at
    results.append(cvxproof.solve(problem))
    for M, result in zip((C @ at / n, 2 * C @ at / n), results, strict=True):
        expected = np.linalg.solve(M.T @ M + np.eye(n), M.sum(axis=0))
        np.testing.assert_allclose(result.variables["x"], expected, atol=1e-6)


def test_problems_of_another_process_meet_no_number_of_this_one(monkeypatch):
    w, b = cp.Variable(4, name="w"), cp.Variable(name="b")
    hinge = cp.sum(cp.pos(1 - cp.multiply(2.0 * TRUTH - 1, X @ w + b)))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + hinge), [cp.norm(w, 1) <= 3, w[0] <= 1])
    content, made = pickle.dumps(problem), counted.ID_COUNTER.count
    here = cvxproof.solve(problem)
    monkeypatch.setattr(counted.ID_COUNTER, "count", made)
    for count in range(made - 40, made):
        counted.ID_COUNTER.count = count
        there = cvxproof.solve(pickle.loads(content))
        assert there.status is here.status
        assert there.certificate.primal_objective == pytest.approx(here.certificate.primal_objective, rel=1e-9)
        np.testing.assert_allclose(there.variables["w"], here.variables["w"], atol=1e-8)


@pytest.mark.parametrize(
    ("solver", "given", "ignored"), [("SCS", {}, True), ("SCS", {"enforce_dpp": True}, False), ("DIFFCP", {}, False)]
)
def test_parameters_are_kept_where_they_are_asked_for(solver, given, ignored, monkeypatch):
    w, signs = cp.Variable(1001), cp.Parameter(1000)
    problem, seen = ParametrizedProblem(cp.Minimize(cp.sum(w)), [w[:1000] >= signs]), []
    monkeypatch.setattr(cp.Problem, "get_problem_data", lambda self, *arguments: seen.append(arguments[3]))
    problem.get_problem_data(solver, **given)
    assert seen == [ignored]
