"""The modified finite Newton method against CVXPY, scikit-learn and other routes of its own."""

import numpy as np
import pytest
import s3vm_problems
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from specmargin.objectives import Features, WeightedSVM
from specmargin.results import Status
from specmargin.solvers import newton_system as _newton_system
from specmargin.solvers.newton_system import NewtonSystem
from specmargin.solvers.s3vm.finite_newton import descend, finite_newton

intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])


def convex_svm(rng, n, d, intercept, C=1.0, kind="one", sparse=False):
    return s3vm_problems.convex_svm(rng, "squared_hinge", intercept, n, d, C, kind=kind, sparse=sparse)


def test_liblinear_has_the_same_svm(rng):
    """Its squared hinge is C sum max(0, 1 - y f)^2 with the intercept penalised as a feature of one."""
    svm = convex_svm(rng, 120, 6, "regularized", 0.7)
    y = np.where(svm.plus > 0, 1, -1)
    theirs = LinearSVC(C=0.7, tol=1e-10, max_iter=100_000).fit(svm.features.X, y)
    result = finite_newton(svm)
    np.testing.assert_allclose(result.variables["v"], theirs.coef_[0], atol=1e-6)
    assert float(result.variables["b"]) == pytest.approx(float(theirs.intercept_[0]), abs=1e-6)


@intercepts
@pytest.mark.parametrize("route", ["samples", "features", "gradients"])
def test_the_three_routes_to_a_newton_step_agree(intercept, route, monkeypatch, rng):
    """Cholesky by samples, by features (with updates of the matrix by rows), and conjugate gradients."""
    sparse = route == "gradients"
    if sparse:
        monkeypatch.setattr(_newton_system, "_FEW_FEATURES", 0)
        monkeypatch.setattr(_newton_system, "_SPARSE_ORDER", 10)
    n, d = (40, 70) if route == "samples" else (90, 12)
    svm = convex_svm(rng, n, d, intercept, 3.0, kind="both", sparse=sparse)
    called = []
    names = {"samples": "_by_samples", "features": "_by_features", "gradients": "_by_conjugate_gradients"}
    for name in names.values():
        method = getattr(NewtonSystem, name)
        monkeypatch.setattr(NewtonSystem, name, lambda *a, name=name, method=method: called.append(name) or method(*a))
    result = finite_newton(svm)
    assert set(called) == {names[route]}
    dense = WeightedSVM(
        Features(svm.features.X.toarray() if sparse else svm.features.X, svm.features.mu, svm.features.offset,
                 svm.features.penalty),
        svm.plus, svm.minus, linear=svm.linear,
    )  # fmt: skip
    reference = minimize(dense.value_at, np.zeros(svm.size), jac=dense.gradient, method="BFGS", options={"gtol": 1e-9})
    assert result.certificate.primal_objective == pytest.approx(reference.fun, rel=1e-9)
    np.testing.assert_allclose(result.variables["w"], reference.x, atol=2e-5)


@intercepts
def test_heavy_samples_are_preconditioned_away(intercept, monkeypatch, rng):
    """A few labelled samples of large weight among many light ones, on the route of conjugate gradients."""
    monkeypatch.setattr(_newton_system, "_FEW_FEATURES", 0)
    X = sp.random_array((400, 60), density=0.1, rng=rng, format="csr")
    y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    cost = np.where(np.arange(400) < 20, 1e4, 0.01)
    svm = WeightedSVM(Features.of(X, intercept, rows=np.arange(20, 400)), cost * (y > 0), cost * (y < 0))
    products = []
    method = Features.products
    monkeypatch.setattr(Features, "products", lambda self, w: products.append(self.n_samples) or method(self, w))
    result = finite_newton(svm)
    assert result.status is Status.OPTIMAL
    with_it = products.count(400)
    products.clear()
    monkeypatch.setattr(NewtonSystem, "_preconditioner", lambda *_: np.copy)
    plain = finite_newton(svm)
    assert with_it < 0.3 * products.count(400)
    assert result.certificate.primal_objective == pytest.approx(plain.certificate.primal_objective, rel=1e-9)


def test_updated_matrix_stays_that_of_its_rows(rng):
    """Curvatures that change sample by sample, past the point where the matrix is summed anew."""
    svm = convex_svm(rng, 80, 6, "regularized")
    system, A = NewtonSystem(svm.features), svm.features.dense()
    bends = rng.uniform(1.0, 2.0, 80)
    for _ in range(120):
        bends = bends.copy()
        bends[rng.integers(80, size=3)] = rng.uniform(0.0, 2.0, 3) * (rng.random(3) < 0.7)
        step = system._by_features(bends, np.ones(7), 0.0)
        np.testing.assert_allclose((np.eye(7) + (A * bends[:, None]).T @ A) @ step, np.ones(7), atol=1e-10)


@intercepts
def test_objective_falls_in_every_step_and_a_warm_start_needs_none(intercept, rng):
    svm = convex_svm(rng, 300, 40, intercept, 50.0)
    cold = finite_newton(svm)
    assert (np.diff(cold.history["objective"]) < 0).all()
    assert 3 <= cold.n_iter <= 40
    assert finite_newton(svm, cold.variables["w"]).n_iter == 0


@intercepts
def test_a_kept_factor_serves_near_matrices_and_is_replaced_for_far_ones(intercept, rng, monkeypatch):
    svm = convex_svm(rng, 300, 220, intercept)
    system, A, weights = NewtonSystem(svm.features), svm.features.dense(), svm.features.weights
    factors, factor = [], _newton_system._factor
    monkeypatch.setattr(_newton_system, "_factor", lambda M: factors.append(len(M)) or factor(M))
    w, f, g, bends = np.zeros(svm.size), np.zeros(300), rng.normal(size=svm.size), rng.uniform(1.0, 2.0, 300)

    def residual(tolerance):
        target, _ = system.target(w, f, np.zeros(300), bends, g, tolerance)
        return float(np.linalg.norm(weights * target + (A * bends[:, None]).T @ (A @ target) + g))

    assert residual(0.0) < 1e-9
    for _ in range(5):
        bends = bends * rng.uniform(0.9, 1.1, 300)
        assert residual(1e-3) <= 1.01e-3
    assert len(factors) == 1
    assert residual(0.0) < 1e-9  # who asks for an exact step gets one
    assert len(factors) == 2
    bends = bends * 10.0 ** rng.uniform(-4, 4, 300)
    assert residual(1e-6) <= 1e-6
    assert len(factors) == 3
    bends = bends * rng.uniform(0.9, 1.1, 300)
    assert residual(1e-3) <= 1.01e-3
    assert len(factors) == 3


@intercepts
@pytest.mark.parametrize("d", [10, 220])
def test_repeated_calls_share_a_system(intercept, d, rng):
    """Labels that flip from call to call, as in label switching: the remembered matrix is never stale."""
    svm = convex_svm(rng, 150 if d == 10 else 300, d, intercept)
    system, w = NewtonSystem(svm.features), np.zeros(svm.size)
    plus, minus = svm.plus.copy(), svm.minus.copy()
    for i in range(30):
        plus[i], minus[i] = minus[i], plus[i]
        current = svm.with_(plus=plus, minus=minus)
        w = descend(current, w, svm.features.decisions(w), system=system).w
        assert current.prove(w).is_optimal(1e-11)


@intercepts
def test_features_that_are_all_equal_leave_the_intercept(intercept):
    features = Features.of(np.ones((6, 2)), intercept, rows=np.arange(6), balance=0.0)
    svm = WeightedSVM(features, np.array([1.0, 1, 1, 1, 0, 0]), np.array([0.0, 0, 0, 0, 1, 1]))
    result = finite_newton(svm)
    assert result.status is Status.OPTIMAL
    if intercept == "free":  # 4 (1 - b)^2 + 2 (1 + b)^2
        np.testing.assert_allclose(result.variables["f"], 1 / 3, atol=1e-9)
    assert np.ptp(result.variables["f"]) < 1e-12


def test_no_weights_at_all_is_the_zero_svm():
    svm = WeightedSVM(Features.of(np.eye(3), "balance", rows=np.arange(3)), np.zeros(3), np.zeros(3))
    result = finite_newton(svm, np.ones(3))
    np.testing.assert_allclose(result.variables["w"], 0.0, atol=1e-15)
    assert result.status is Status.OPTIMAL


def test_cut_off_it_says_so(rng):
    result = finite_newton(convex_svm(rng, 200, 50, "balance", 100.0), max_iter=1)
    assert (result.status, result.n_iter) == (Status.MAX_ITER, 1)
