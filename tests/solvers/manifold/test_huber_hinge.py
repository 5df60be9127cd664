"""LapSVM with the Huber hinge: a loss that came after the solvers, which read its table of pieces."""

import numpy as np
import pytest
from scipy.optimize import minimize

import specmargin as sm
from specmargin.losses import HuberHinge
from specmargin.objectives import LapSVM

SOLVERS = (sm.solvers.factorized, sm.solvers.newton, sm.solvers.pcg)


def objective(h=0.5, gamma_A=0.02, gamma_I=0.3, fit_intercept=True, per_class=4, copies=False, one_of=None):
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.2, random_state=1)
    if copies:
        X[10:20], X[40:50] = X[10], X[40]
    y = sm.hide_labels(truth, per_class=per_class, random_state=0)
    if one_of is not None:
        y[np.flatnonzero(y == one_of)[1:]] = -1
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    K = sm.kernels.gram(X, gamma=4.0)
    return LapSVM(K, L, sm.encode_labels(y), HuberHinge(h), gamma_A, gamma_I, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("h", [0.5, 0.05, 2.0])
def test_every_solver_agrees_with_cvxpys_dual_and_primal(h, fit_intercept):
    obj = objective(h, fit_intercept=fit_intercept)
    best = sm.solvers.factorized(obj)
    assert best.certificate.is_optimal(1e-9)
    for solver in SOLVERS:
        result = solver(obj)
        assert result.status is sm.Status.OPTIMAL
        np.testing.assert_allclose(result.variables["f"], best.variables["f"], rtol=0, atol=1e-5)
    for build in (sm.problems.lapsvm_dual, sm.problems.lapsvm_primal):
        result = sm.solve(build(obj), "CLARABEL")
        assert result.certificate.primal_objective == pytest.approx(best.certificate.primal_objective, rel=1e-6)
        np.testing.assert_allclose(result.variables["f"], best.variables["f"], rtol=0, atol=1e-3)


def test_all_pieces_occur_in_what_these_tests_solve():
    """Samples beyond the margin, on the parabola and on the line, or the line would be tested by name only."""
    obj = objective(0.05, gamma_A=0.5, gamma_I=1.0, per_class=12)
    f = sm.solvers.factorized(obj).variables["f"]
    u = 1.0 - obj.labels.sign * f[obj.labels.labeled]
    assert len(set(obj.loss.pieces.index(u).tolist())) == 3


def test_against_a_general_minimiser_of_the_formula():
    obj = objective(0.3, gamma_A=0.2, gamma_I=0.1)
    y, labeled, K = obj.labels.sign, obj.labels.labeled, obj.K
    quadratic = 0.2 * K + 0.1 * K @ (obj.L @ K)

    def value(z):
        t = y * (K[labeled] @ z[1:] + z[0])
        losses = np.where(t > 1.3, 0, np.where(t < 0.7, 1 - t, (1.3 - t) ** 2 / 1.2))
        return losses.sum() + z[1:] @ quadratic @ z[1:]

    lowest = minimize(value, np.zeros(len(K) + 1), method="BFGS", options={"gtol": 1e-7}).fun
    for solver in SOLVERS:
        result = solver(obj)
        alpha, b = result.variables["alpha"], float(result.variables["b"])
        assert value(np.append(b, alpha)) == pytest.approx(lowest, rel=1e-6)
        assert obj.value_at(alpha, b) == pytest.approx(value(np.append(b, alpha)), rel=1e-12)


def test_gradient_and_hessian_are_difference_quotients(rng):
    obj = objective(0.4)
    alpha, d = rng.normal(size=(2, 60)) * 0.1
    h = 1e-6
    gradient, by_b = obj.gradient(alpha, 0.2)
    quotient = (obj.value_at(alpha + h * d, 0.2 + h) - obj.value_at(alpha - h * d, 0.2 - h)) / (2 * h)
    assert gradient @ d + by_b == pytest.approx(quotient, rel=1e-6)
    product, product_b = obj.hessian_product(alpha, 0.2, d, 1.0)
    ends = [obj.gradient(alpha + s * h * d, 0.2 + s * h) for s in (1, -1)]
    np.testing.assert_allclose(product, (ends[0][0] - ends[1][0]) / (2 * h), rtol=1e-5, atol=1e-5)
    assert product_b == pytest.approx((ends[0][1] - ends[1][1]) / (2 * h), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("case", [{"copies": True}, {"one_of": 0}, {"one_of": 1, "copies": True}], ids=str)
@pytest.mark.parametrize(
    "gammas", [(1e10, 1.0), (1e-10, 1.0), (1.0, 1e10), (1e10, 0.0), (1e10, 1e10), (1e-6, 1e-3)], ids=str
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_extreme_weights_copies_and_lone_labels_are_proved(gammas, case, fit_intercept):
    obj = objective(0.5, *gammas, fit_intercept=fit_intercept, **case)
    result = sm.solvers.factorized(obj)
    assert result.status is sm.Status.OPTIMAL
    assert result.certificate.is_optimal(1e-9)
    # No solver is below the proved bound, nor claims more than it has.
    for solver in (sm.solvers.newton, sm.solvers.pcg):
        other = solver(obj, max_iter=300).certificate
        assert (
            other.primal_objective + other.rounding >= result.certificate.dual_objective - result.certificate.rounding
        )


def test_classes_of_one_size_on_straight_pieces_leave_the_intercept_where_it_is():
    """Everybody on the line, and the lines in balance: Newton's method ends there, on any intercept between."""
    obj = objective(0.01, gamma_A=10.0, gamma_I=0.0)
    for solver in (sm.solvers.factorized, sm.solvers.newton):
        result = solver(obj)
        assert result.status is sm.Status.OPTIMAL
        assert result.history["active"][-1] == 0


def test_more_samples_of_one_class_on_straight_pieces_pull_the_intercept():
    """No sample is curved at first, and the larger class would pull the intercept without end."""
    obj = objective(0.01, gamma_A=10.0, gamma_I=0.0, one_of=0)
    values = [solver(obj).certificate for solver in SOLVERS]
    assert all(one.is_optimal(1e-6) for one in values)
    assert abs(float(sm.solvers.newton(obj).variables["b"])) > 0.9


def test_a_small_width_is_the_hinge():
    smooth, kinked = objective(1e-5), objective()
    kinked = LapSVM(kinked.K, kinked.L, kinked.labels, "hinge", 0.02, 0.3)
    a, b = (sm.solvers.factorized(obj).certificate.primal_objective for obj in (smooth, kinked))
    assert 0 <= a - b <= 8 * 1e-5 / 4
