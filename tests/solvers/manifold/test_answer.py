"""Newton's method and conjugate gradients in the space of (alpha, b): one optimum, against independent routes to it."""

import numpy as np
import pytest
from manifold_problems import data, objective, permuted, three_components
from scipy.sparse.csgraph import connected_components
from sklearn.linear_model import Ridge

import specmargin as sm
from specmargin.objectives import LapSVM
from specmargin.results import Status
from specmargin.solvers import factorized, newton, pcg

solvers = pytest.mark.parametrize("solver", [newton, pcg], ids=lambda solver: solver.__name__)
losses = pytest.mark.parametrize("loss", ["squared_hinge", "huber_hinge", "squared"])


@solvers
@losses
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_is_the_optimum_that_cvxpy_finds(solver, loss, fit_intercept):
    obj = objective(data(), loss, 0.1, fit_intercept=fit_intercept)
    theirs = sm.solve(sm.problems.lapsvm_primal(obj), solver="CLARABEL")
    ours = solver(obj, tol=1e-10)
    assert ours.status is Status.OPTIMAL
    assert ours.certificate.primal_objective == pytest.approx(theirs.certificate.primal_objective, rel=1e-9)
    np.testing.assert_allclose(ours.variables["f"], theirs.variables["f"], atol=1e-6)


@solvers
@losses
def test_components_without_a_label_fall_to_the_intercept(solver, loss):
    case = three_components()
    assert connected_components(case[1].matrix)[0] == 3
    obj = objective(case, loss, 1e-6 if solver is newton else 1e-3)
    ours = solver(obj, tol=1e-10)
    assert ours.certificate.is_optimal(1e-9)
    assert ours.certificate.primal_objective == pytest.approx(factorized(obj).certificate.primal_objective, rel=1e-9)
    np.testing.assert_allclose(ours.variables["f"][40:], float(ours.variables["b"]), atol=1e-9)


@solvers
def test_without_a_graph_it_is_ridge_regression(solver):
    """In one step of Newton's method, or in as many conjugate directions as unknowns: five, and a few by rounding."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 4))
    y = (X[:, 0] > 0).astype(int)
    result = solver(LapSVM(X @ X.T, None, sm.encode_labels(y), loss="squared", gamma_A=0.7), tol=1e-12)
    theirs = Ridge(alpha=0.7, tol=1e-12).fit(X, 2 * y - 1)
    assert result.n_iter <= (1 if solver is newton else 8)
    np.testing.assert_allclose(X.T @ result.variables["alpha"], theirs.coef_, rtol=1e-9, atol=1e-12)
    assert float(result.variables["b"]) == pytest.approx(theirs.intercept_, rel=1e-9)


@solvers
@losses
def test_variables_belong_together(solver, loss):
    obj = objective(data(), loss)
    result = solver(obj, tol=1e-10)
    y, labeled = obj.labels.sign, obj.labels.labeled
    alpha, b, f, beta = (result.variables[name] for name in ("alpha", "b", "f", "beta"))
    np.testing.assert_allclose(f, obj.K @ alpha + b, atol=1e-13)
    np.testing.assert_allclose(beta, -obj.margin_loss.gradient(y * f[labeled]))
    assert b == float(result.duals["balance"])
    assert result.problem == ("LapRLS" if loss == "squared" else "LapSVM")
    if solver is newton:
        np.testing.assert_allclose(2 * obj.apply_S(alpha)[labeled], y * beta, atol=1e-9)
        assert (y * beta).sum() == pytest.approx(0.0, abs=1e-10)


@solvers
def test_order_of_the_samples_does_not_matter(solver):
    order = np.random.default_rng(5).permutation(60)
    moved, plain = solver(objective(permuted(data(), order))), solver(objective(data()))
    assert abs(moved.n_iter - plain.n_iter) <= 2
    atol = 1e-9 if solver is newton else 1e-7
    np.testing.assert_allclose(moved.variables["f"], plain.variables["f"][order], atol=atol)
