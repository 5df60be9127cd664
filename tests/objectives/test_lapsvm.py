"""LapSVM's value, derivatives, reduction and dual bound against literal formulas and CVXPY models written here."""

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from exact_fractions import fractions
from manifold_problems import by_cvxpy
from scipy.sparse.csgraph import laplacian as csgraph_laplacian

import specmargin as sm
from specmargin.kernels.operators import LowRankKernel
from specmargin.objectives import LapSVM
from specmargin.objectives.pivoted import reduce_pivoted
from specmargin.objectives.rounding import lapsvm as lapsvm_certificate

NAMES = ("hinge", "squared_hinge", "squared")
names = pytest.mark.parametrize("name", NAMES)
TIGHT = {"solver": "CLARABEL", "tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11}


def literal_value(name, K, L, labels, gamma_A, gamma_I, alpha, b):
    """The table of values of the public names, sample by sample."""
    f = K @ alpha + b
    penalty = gamma_A * alpha @ K @ alpha + gamma_I * alpha @ K @ L @ K @ alpha
    t = [y * f[i] for y, i in zip(labels.sign, labels.labeled, strict=True)]
    if name == "hinge":
        return sum(max(0.0, 1 - ti) for ti in t) + penalty
    if name == "squared_hinge":
        return 0.5 * (sum(max(0.0, 1 - ti) ** 2 for ti in t) + penalty)
    return sum((y - f[i]) ** 2 for y, i in zip(labels.sign, labels.labeled, strict=True)) + penalty


def objective(data, name="hinge", gamma_A=0.1, gamma_I=0.5, **options):
    K, L, labels = data
    return LapSVM(K, L, labels, loss=name, gamma_A=gamma_A, gamma_I=gamma_I, **options)


# Value and derivatives


@names
def test_value_is_the_literal_formula(name, manifold_data, rng):
    K, L, labels = manifold_data()
    for _ in range(5):
        alpha, b = rng.normal(size=len(K)), float(rng.normal())
        value = LapSVM(K, L, labels, loss=name, gamma_A=0.3, gamma_I=0.7).value_at(alpha, b)
        assert value == pytest.approx(literal_value(name, K, L, labels, 0.3, 0.7, alpha, b), rel=1e-12)


@names
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_is_the_difference_quotient(name, fit_intercept, manifold_data, rng, tol):
    data = manifold_data()
    obj, n = objective(data, name, fit_intercept=fit_intercept), len(data[0])
    alpha, b, h = rng.normal(size=n), 0.3, 1e-6
    by_alpha, by_b = obj.gradient(alpha, b)
    for _ in range(5):
        d = rng.normal(size=n)
        quotient = (obj.value_at(alpha + h * d, b) - obj.value_at(alpha - h * d, b)) / (2 * h)
        assert by_alpha @ d == pytest.approx(quotient, rel=tol["gradient"])
    quotient = (obj.value_at(alpha, b + h) - obj.value_at(alpha, b - h)) / (2 * h)
    assert by_b == pytest.approx(quotient if fit_intercept else 0.0, rel=tol["gradient"])


@names
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_hessian_product_is_the_difference_quotient_of_the_gradient(name, fit_intercept, manifold_data, rng, tol):
    data = manifold_data()
    obj, n = objective(data, name, fit_intercept=fit_intercept), len(data[0])
    alpha, b, h = rng.normal(size=n), 0.3, 1e-6
    d, d_b = rng.normal(size=n), float(rng.normal()) if fit_intercept else 0.0
    product, product_b = obj.hessian_product(alpha, b, d, d_b)
    after, after_b = obj.gradient(alpha + h * d, b + h * d_b)
    before, before_b = obj.gradient(alpha - h * d, b - h * d_b)
    np.testing.assert_allclose(product, (after - before) / (2 * h), rtol=tol["gradient"], atol=1e-6)
    assert product_b == pytest.approx((after_b - before_b) / (2 * h), rel=tol["gradient"], abs=1e-6)


def test_operators_take_columns(manifold_data, rng):
    data = manifold_data()
    obj, columns = objective(data), rng.normal(size=(len(data[0]), 3))
    together = obj.apply_S(columns)
    S = 0.1 * np.eye(len(data[0])) + 0.5 * data[1] @ data[0]
    np.testing.assert_allclose(together, S @ columns, rtol=1e-12, atol=1e-13)
    for j in range(3):
        np.testing.assert_allclose(obj.apply_S(columns[:, j]), together[:, j], rtol=1e-12, atol=1e-13)


def test_power_of_the_laplacian_is_the_matrix_power(manifold_data, rng):
    K, _, labels = manifold_data()
    W = K - np.diag(np.diag(K))
    L = csgraph_laplacian(W, normed=True)
    applied = objective((K, sm.graphs.laplacian(W, normalized=True, power=2), labels), "squared")
    formed = objective((K, L @ L, labels), "squared")
    alpha = rng.normal(size=len(K))
    assert applied.value_at(alpha, 0.1) == pytest.approx(formed.value_at(alpha, 0.1), rel=1e-12)
    np.testing.assert_allclose(applied.reduction.G, formed.reduction.G, rtol=1e-10)


# The reduction to l right-hand sides


def dense_inverse(obj):
    n, labeled = len(obj.K), obj.labels.labeled
    S = obj.gamma_A * np.eye(n) + (0 if obj.L is None else obj.gamma_I * (obj.L @ np.eye(n)) @ obj.K)
    X = np.linalg.inv(S)[:, labeled]
    return X, obj.K[labeled] @ X


def test_reduction_stays_accurate_when_the_graph_rules(manifold_data):
    # gamma_I / gamma_A = 1e8: X is of size 1e6 on the function that the graph leaves free; these entries cancel.
    K, L, labels = manifold_data(n=30, l=12)
    obj = objective((K + np.eye(30), L, labels), "squared", gamma_A=1e-7, gamma_I=10.0, fit_intercept=False)
    v = np.linalg.solve(obj.reduction.G + np.eye(12), labels.sign)
    stable, plain = obj.reduction.coefficients(v), obj.reduction.X @ v
    assert np.abs(obj.apply_S(stable)[labels.unlabeled]).max() < 1e-13
    assert np.abs(obj.apply_S(plain)[labels.unlabeled]).max() > 1e-11
    assert obj.prove(stable, 0.0, 2 * v).relative_gap < 1e-8


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60])
def test_reduction_does_not_depend_on_the_unit_of_the_kernel(unit, manifold_data):
    # Features on a scale of 1e9, of a linear kernel, with gamma_A to match: the same functions, and the same norms.
    K, L, labels = manifold_data(n=30, l=12)
    near, far = objective((K, L, labels), gamma_A=0.1), objective((unit * K, L, labels), gamma_A=0.1 * unit)
    for one, other in ((near, far), (near.pivoted(), far.pivoted())):
        G = one.reduction.G
        np.testing.assert_allclose(other.reduction.G, G, rtol=0, atol=1e-13 * np.abs(G).max())
    assert sm.solvers.factorized(far).certificate.is_optimal(1e-10)


def test_one_vs_rest_shares_the_factorisation(manifold_data):
    K, L, _ = manifold_data()
    labels = sm.encode_labels([0, 1, 2, 0, 1, 2, 1] + [-1] * 11)
    first = LapSVM(K, L, next(labels.one_vs_rest()), gamma_A=0.1, gamma_I=1.0)
    objectives = list(first.one_vs_rest(labels))
    assert len(objectives) == 3
    for k, other in enumerate(objectives):
        assert other.reduction is first.reduction
        np.testing.assert_array_equal(other.labels.sign, labels.sign[:, k])
        assert (other.gamma_A, other.gamma_I, other.loss) == (0.1, 1.0, first.loss)


# Duality

DUAL_CASES = {
    "plain": ({}, 0.05, 0.5),
    "singular K": ({"copies": 3}, 0.05, 0.5),
    "disconnected": ({"parts": 3}, 0.05, 0.5),
    "no graph": ({}, 0.2, 0.0),
    "strong graph": ({}, 1e-3, 10.0),
}


def test_without_a_graph_the_bound_does_not_depend_on_the_candidate(manifold_data, rng):
    """S = gamma_A I makes K S^-1 = K / gamma_A exact: what a misses is taken off to the last digit."""
    obj = objective(manifold_data(), gamma_A=0.3, gamma_I=0.0)
    theta = obj.repair_multipliers(rng.normal(size=7))
    for a in rng.normal(size=(5, 18)):
        assert obj.dual_bound(theta, a) == pytest.approx(obj.dual_bound(theta), rel=1e-12)


@pytest.mark.parametrize("case", DUAL_CASES.values(), ids=DUAL_CASES)
@names
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_duality_is_tight_at_the_optimum(case, name, fit_intercept, manifold_data):
    kind, gamma_A, gamma_I = case
    K, L, labels = manifold_data(**kind)
    optimum, _, b = by_cvxpy(name, K, L, labels, gamma_A, gamma_I, fit_intercept)
    obj = objective((K, L, labels), name, gamma_A, gamma_I, fit_intercept=fit_intercept)
    # The deformed kernel's dual, written out: max sum V*(beta) - 1/4 (y beta)'G (y beta).
    G = dense_inverse(obj)[1]
    y, beta = labels.sign, cp.Variable(labels.n_labeled)
    terms = cp.sum(beta) if name == "hinge" else cp.sum(beta) - cp.sum_squares(beta) / 4
    constraints = [y @ beta == 0] if fit_intercept else []
    constraints += {"hinge": [beta >= 0, beta <= 1], "squared_hinge": [beta >= 0], "squared": []}[name]
    quadratic = cp.quad_form(cp.multiply(y, beta), cp.psd_wrap((G + G.T) / 2))
    dual = cp.Problem(cp.Maximize(terms - quadratic / 4), constraints)
    dual.solve(**TIGHT)
    theta = obj.repair_multipliers(y * beta.value)
    assert obj.dual_bound(theta) == pytest.approx(optimum, rel=1e-9)
    # And the certificate of the point that these multipliers make.
    certificate = obj.prove(obj.reduction.coefficients(theta / 2), b, theta)
    assert certificate.dual_objective == pytest.approx(optimum, rel=1e-9)
    assert certificate.is_optimal(1e-6)


def test_best_intercept_minimises_the_hinge_and_leaves_the_others_alone(manifold_data, rng):
    data = manifold_data()
    alpha = rng.normal(size=18)
    obj = objective(data)
    grid = np.linspace(-10, 10, 2001)
    for start in (-5.0, 0.1, 5.0):
        b = obj.best_intercept(alpha, start)
        assert obj.value_at(alpha, b) <= min(obj.value_at(alpha, other) for other in grid) + 1e-12
        assert objective(data, "squared").best_intercept(alpha, start) == start
        assert objective(data, fit_intercept=False).best_intercept(alpha, start) == start


# Matrices that rounding, or their owner, has made asymmetric


def exact_squares(K, y, gamma_A, alpha, b):
    """The squared losses and gamma_A alpha'K alpha in fractions, all samples labelled."""
    K, y, alpha = (fractions(x) for x in (K, y, alpha))
    f = K @ alpha
    return sum((y - f - Fraction(b)) ** 2) + Fraction(gamma_A) * (alpha @ f)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_no_point_is_below_the_bound_of_a_kernel_that_is_not_quite_symmetric(form):
    """The penalty does not see the asymmetry, decisions do: coefficients of 1e7 once beat the proved bound by far."""
    K = np.ones((4, 4)) + np.diag([0.0, 0.0, 0.0, 1.0])
    K[0, 3], K[3, 0] = 1 + 5e-9, 1 - 5e-9
    obj = LapSVM(form(K), None, sm.encode_labels([0, 1, 1, 0]), loss="squared", gamma_A=1e-3)
    result, y = sm.solvers.factorized(obj), obj.labels.sign
    assert result.certificate.is_optimal(1e-9)
    least = Fraction(result.certificate.primal_objective) - Fraction(result.certificate.gap)
    alpha, b = result.variables["alpha"], float(result.variables["b"])
    certified = obj.K if isinstance(obj.K, np.ndarray) else obj.K.toarray()
    for step in (-1e7, 1e7):
        rival = alpha + step * np.array([1.0, -1.0, 0.0, 0.0])
        assert exact_squares(certified, y, 1e-3, rival, b) >= least
    np.testing.assert_array_equal(certified, (K + K.T) / 2)
    assert obj.with_(gamma_A=1e-2, gamma_I=0.0).K is obj.K


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_laplacian_must_be_symmetric(form, manifold_data):
    """Of any other one every point that meets the solver's equations once had a gap of zero."""
    K, L, labels = manifold_data()
    walk = form(L.toarray() if sp.issparse(L) else np.array(L)).copy()
    walk[2, 5] += 0.1
    with pytest.raises(ValueError, match=r"L is not symmetric: L\[(2, 5|5, 2)\] = .*pass \(L \+ L\.T\) / 2"):
        LapSVM(K, walk, labels, gamma_A=0.1, gamma_I=1.0)
    walk[2, 5] += 1e-12 - 0.1
    obj = LapSVM(K, walk, labels, "squared", gamma_A=0.1, gamma_I=1.0)
    mean = obj.L.toarray() if sp.issparse(obj.L) else obj.L
    np.testing.assert_array_equal(mean, mean.T)
    assert abs(mean[2, 5] - (L[2, 5] + 5e-13)) < 1e-15
    assert sm.solvers.factorized(obj).certificate.is_optimal(1e-9)


# Scaling


@names
def test_means_and_sums_have_the_same_expansion(name, manifold_data):
    """gamma_A = l gamma_A', gamma_I = l gamma_I' / (l + u)^2: the other paper's form, divided by l, is this one."""
    K, L, labels = manifold_data()
    l, n = labels.n_labeled, len(K)
    gamma_A, gamma_I = 0.02, 8.0
    alpha, b = cp.Variable(n), cp.Variable()
    t = cp.multiply(labels.sign, K[labels.labeled] @ alpha + b)
    loss = {"hinge": cp.pos(1 - t), "squared_hinge": cp.square(cp.pos(1 - t)), "squared": cp.square(1 - t)}[name]
    KLK = K @ L @ K
    means = (
        cp.sum(loss) / l
        + gamma_A * cp.quad_form(alpha, cp.psd_wrap(K))
        + gamma_I / n**2 * cp.quad_form(alpha, cp.psd_wrap((KLK + KLK.T) / 2))
    )
    problem = cp.Problem(cp.Minimize(means))
    problem.solve(**TIGHT)
    obj = objective((K, L, labels), name, l * gamma_A, l * gamma_I / n**2)
    assert obj.value_at(alpha.value, float(b.value)) == pytest.approx(obj.scale * l * problem.value, rel=1e-9)
    mine = sm.solvers.factorized(obj)
    np.testing.assert_allclose(mine.variables["f"] - mine.variables["b"], K @ alpha.value, atol=1e-4)
    assert mine.certificate.primal_objective == pytest.approx(obj.scale * l * problem.value, rel=1e-8)


# Errors


def test_pivoted_systems_are_solved_for_one_side_and_for_many(rng):
    X = rng.standard_normal((7, 2))
    L = np.diag(np.full(7, 2.0)) - np.ones((7, 7)) / 4
    reduction = reduce_pivoted(X @ X.T, L, np.array([0, 1, 2]), gamma_A=0.5, gamma_I=1.0)
    R = rng.standard_normal((7, 3))
    many = reduction.damped.solve(R)
    assert many.shape == (7, 3)
    for column, one in zip(R.T, many.T, strict=True):
        assert reduction.damped.solve(column) == pytest.approx(one, abs=1e-12)
    # S a = r up to what K maps to zero.
    S = 0.5 * np.eye(7) + L @ (X @ X.T)
    assert X @ X.T @ (S @ many - R) == pytest.approx(np.zeros((7, 3)), abs=1e-10)


def test_multipliers_without_bounds_are_balanced_by_their_mean(manifold_data, rng):
    obj = objective(manifold_data(20, 8), "squared")
    theta = rng.standard_normal(8) + 3.0
    np.testing.assert_allclose(obj.repair_multipliers(theta), theta - theta.mean(), atol=1e-14)


@pytest.mark.parametrize("rank", [2, 3])
def test_a_factor_with_columns_too_many_is_its_kernel(rank, rng):
    F = rng.standard_normal((7, rank)) @ rng.standard_normal((rank, 4))
    L, labeled = np.diag(np.full(7, 2.0)) - np.ones((7, 7)) / 4, np.array([0, 1, 2])
    found, expected = (reduce_pivoted(K, L, labeled, 0.5, 1.0) for K in (LowRankKernel(F), F @ F.T))
    np.testing.assert_allclose(found.G, expected.G, atol=1e-12)
    assert found.damped.F.shape == (7, rank)


def test_its_name_says_whether_the_optimum_is_a_linear_system(manifold_data):
    data = manifold_data()
    assert [objective(data, name).name for name in (*NAMES, "smooth_hinge")] == ["LapSVM", "LapSVM", "LapRLS", "LapSVM"]


@names
def test_complementarity_is_the_largest_share_that_a_sample_misses_fenchels_equality_by(name, manifold_data, rng):
    """V(t) + beta t - V*(beta) >= 0, by the formulas of the three losses; zero where beta is minus the slope."""
    obj = objective(manifold_data(), name)
    alpha, b = 0.3 * rng.normal(size=18), 0.2
    theta = obj.repair_multipliers(rng.uniform(-1.0, 1.0, 7))
    y = obj.labels.sign
    t, beta = y * (obj.K[obj.labels.labeled] @ alpha + b), y * theta
    slack = 1 - t if name == "squared" else np.maximum(1 - t, 0)
    losses, duals = (slack, beta) if name == "hinge" else (slack**2, beta - beta**2 / 4)
    missed = losses + beta * t - duals
    assert (missed >= -1e-12).all()
    np.testing.assert_allclose(obj.fenchel_residuals(y * t, theta), missed, atol=1e-13)
    certificate = obj.prove(alpha, b, theta)
    expected = obj.scale * missed.max() / certificate.primal_objective
    assert certificate.complementarity == pytest.approx(expected, rel=1e-9)


def test_multipliers_of_weighted_labels_stay_within_their_weights(manifold_data, rng):
    """To the last digit: beyond its weight the conjugate of the hinge is infinite."""
    K, L, labels = manifold_data(20, 12)
    for _ in range(20):
        weights = rng.uniform(0.1, 1.0, 12)
        obj = LapSVM(K, L, replace(labels, weights=weights), loss="hinge")
        theta = obj.repair_multipliers(labels.sign * weights * rng.choice([1.0, 1.0, 0.5, 3.0], 12))
        beta = labels.sign * theta
        assert ((beta >= 0) & (beta <= weights)).all()
        assert sum(map(Fraction, theta)) == 0
        assert np.isfinite(obj.dual_terms(beta)[0]).all()


@pytest.mark.parametrize("name", ["hinge", "squared", "huber_hinge"])
def test_terms_of_weighted_conjugates_are_within_their_error(name, rng):
    """In fractions, c V*(beta / c), for weights over twelve orders and where the terms of a square cancel."""
    conjugates = {
        "hinge": lambda x: x,
        "squared": lambda x: x - x * x / 4,
        "huber_hinge": lambda x: x + x * (1 - x) / 2,
    }
    y = rng.integers(0, 2, 40)
    y[:2] = 0, 1
    for _ in range(20):
        weights = 10.0 ** rng.uniform(-6, 6, 40)
        obj = LapSVM(np.eye(40), None, replace(sm.encode_labels(y), weights=weights), loss=name)
        share = rng.uniform(0.0, 1.0, 40)
        if name == "squared":
            share = np.where(share < 0.3, 4.0 * (1.0 - 1e-12 * share), 10.0 ** rng.uniform(-3, 8, 40))
        beta = share * weights
        gains, error = obj.dual_terms(beta)
        pairs = zip(beta.tolist(), weights.tolist(), strict=True)
        exact = [Fraction(c) * conjugates[name](Fraction(x) / Fraction(c)) for x, c in pairs]
        off = sum(abs(Fraction(gain) - z) for gain, z in zip(gains.tolist(), exact, strict=True))
        assert off <= Fraction(error)


def test_a_change_of_weights_forgets_what_rests_on_them(manifold_data):
    obj = objective(manifold_data(), gamma_I=0.0)
    assert obj.products.L is None
    assert obj.with_(gamma_A=0.3).products is obj.products
    assert obj.with_(gamma_I=0.5).products.L is obj.L
    assert obj.with_(gamma_I=0.5).with_(gamma_I=0.0).products.L is None


def test_two_points_are_charged_for_two_penalties(manifold_data, rng, monkeypatch):
    """An error of the penalty moves primal and dual alike where both are of one point, not where they are of two."""
    obj = objective(manifold_data())
    alpha, theta = 0.1 * rng.normal(size=18), obj.repair_multipliers(rng.uniform(0.0, 1.0, 7) * manifold_data()[2].sign)
    honest = lapsvm_certificate.penalty_with_error
    monkeypatch.setattr(lapsvm_certificate, "penalty_with_error", lambda *args: (honest(*args)[0], 1.0))
    for a, penalties in ((None, 1), (0.5 * alpha, 2)):
        found = obj.prove(alpha, 0.1, theta, a, thorough=False)
        assert penalties * obj.scale <= found.rounding <= penalties * obj.scale + 1e-9


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_square_of_a_residual_is_charged_for_its_terms(size, rng, monkeypatch):
    """With a unit of 1e-3: of the unit matrix the square itself is far less than that of the sum of the entries."""
    obj = LapSVM(np.eye(18), None, sm.encode_labels([0, 1] + [-1] * 16), loss="hinge", gamma_A=0.25)
    monkeypatch.setattr(lapsvm_certificate, "gamma", lambda n: 1e-3 * n)
    monkeypatch.setattr(type(obj.products), "split_kernel", lambda *args: None)
    r = size * rng.normal(size=18)
    image = obj.products.image(2.0 * r)
    found = lapsvm_certificate.residual_bound(obj, np.zeros(2), image, 0.0)
    assert r @ r + 18e-3 * np.abs(r).sum() ** 2 <= found < np.abs(r).sum() ** 2


@pytest.mark.parametrize("gamma_I", [1e-2, 1.0, 1e4])
def test_a_residual_that_the_graph_penalises_costs_what_it_costs(gamma_I, manifold_data, rng):
    """r'K S^-1 r / 4 by dense algebra: the split of a parallel sum nearly reaches it, and no bound is below."""
    K, L, labels = manifold_data()
    obj = LapSVM(K + 0.1 * np.eye(18), L, labels, "squared", gamma_A=1e-3, gamma_I=gamma_I)
    alpha = rng.normal(size=18)
    image, theta = obj.products.image(alpha), rng.normal(size=7)
    r = lapsvm_certificate.residual(obj, theta, image)[0]
    exact = 0.25 * r @ np.linalg.solve(obj.gamma_A * np.linalg.inv(obj.K) + gamma_I * L, r)
    assert exact <= lapsvm_certificate.residual_bound(obj, theta, image, 0.0) <= 1.2 * exact
    coarse = lapsvm_certificate.residual_bound(obj, theta, image, 0.0, thorough=False)
    assert coarse == pytest.approx(r @ obj.K @ r / (4.0 * obj.gamma_A), rel=1e-9)


@pytest.mark.parametrize("with_graph", [False, True])
def test_an_error_of_the_decisions_is_charged_for_the_slope_of_the_penalty(with_graph, manifold_data, rng):
    """Less theta'J Ka, and to the second order: for errors that all point where that rises, or where it falls."""
    K, L, labels = manifold_data()
    obj = LapSVM(K, L if with_graph else None, labels, gamma_A=0.3, gamma_I=2.0 * with_graph)
    weight = obj.gamma_I * L
    for size in (1e-3, 1.0):
        alpha, theta, off = rng.normal(size=18), rng.normal(size=7), size * rng.uniform(size=18)
        f = K @ alpha
        image = replace(obj.products.image(alpha), f_error=off, g_shift=np.abs(L) @ off)
        value, error = lapsvm_certificate.penalty_with_error(obj, theta, image)
        assert value == pytest.approx(obj.gamma_A * alpha @ f + f @ weight @ f, rel=1e-12)
        slope = obj.gamma_A * alpha + 2.0 * weight @ f
        slope[labels.labeled] -= theta
        for sign in (1.0, -1.0):
            moved = sign * off * np.sign(slope)
            assert abs(slope @ moved + moved @ weight @ moved) <= error
        assert error <= 1.001 * (np.abs(slope) @ off + off @ (obj.gamma_I * np.abs(L)) @ off)


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**30])
def test_the_bound_of_a_residual_is_quadratic(scale, manifold_data, rng):
    obj = objective(manifold_data(), gamma_I=5.0)
    alpha, theta = rng.normal(size=18), rng.normal(size=7)
    whole = lapsvm_certificate.residual_bound(obj, theta, obj.products.image(alpha), 0.0)
    found = lapsvm_certificate.residual_bound(obj, scale * theta, obj.products.image(scale * alpha), 0.0)
    assert found == pytest.approx(scale**2 * whole, rel=1e-6)


def test_the_length_of_a_residual_is_charged_for_its_products_and_its_root(rng, monkeypatch):
    """Products that are off as far as they say, and a root of a thousandth."""
    obj = LapSVM(np.eye(18), None, sm.encode_labels([0, 1] + [-1] * 16), loss="hinge", gamma_A=0.25)
    image = obj.products.image(2.0 * rng.normal(size=18))
    r = lapsvm_certificate.residual(obj, np.zeros(2), image)[0]
    monkeypatch.setattr(type(obj.products), "split_kernel", lambda *args: None)
    monkeypatch.setattr(type(obj.products), "kernel", lambda self, v: (v - 0.1 * np.sign(v), np.full(18, 0.1)))
    found = lapsvm_certificate.residual_bound(obj, np.zeros(2), image, 0.0)
    assert r @ r <= found <= 1.001 * r @ r
    monkeypatch.setattr(lapsvm_certificate, "residual", lambda *args: (r, np.zeros(18)))
    monkeypatch.setattr(lapsvm_certificate, "UNIT", 1e-3)
    assert lapsvm_certificate.residual_bound(obj, np.zeros(2), image, 0.0) >= (1 + 2e-3) * r @ r


def test_how_far_multipliers_had_to_be_moved_is_relative_to_them(manifold_data, rng):
    obj = objective(manifold_data())
    for size in (0.1, 30.0):
        given = size * rng.normal(size=7)
        found = obj.prove(rng.normal(size=18), 0.0, given, thorough=False)
        moved = np.abs(obj.repair_multipliers(given) - given).max() / np.abs(given).max()
        assert found.dual_residual == pytest.approx(moved, rel=1e-12)
        assert moved > 0.01


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "huber_hinge", "smooth_hinge", "squared"])
def test_errors_of_the_decisions_are_charged_for_the_losses_at_either_end(name, manifold_data, rng):
    """Less their product with theta, which the penalty has; all decisions are off towards one side or the other."""
    obj = objective(manifold_data(), name)
    y, labeled = obj.labels.sign, obj.labels.labeled
    for size in (1e-2, 1.0):
        alpha, theta, off = rng.normal(size=18), rng.normal(size=7), size * rng.uniform(size=18)
        image = replace(obj.products.image(alpha), f_error=off)
        value, error = lapsvm_certificate.primal_with_error(obj, image, 0.2, theta, 3.0)
        t = y * (image.f[labeled] + 0.2)
        assert value == pytest.approx(obj.scale * (obj.margin_loss.value(t).sum() + 3.0), rel=1e-12)
        moved = [
            obj.margin_loss.value(t + end) - obj.margin_loss.value(t) + end * y * theta
            for end in (off[labeled], -off[labeled])
        ]
        worst = obj.scale * np.maximum(*moved).sum()
        assert worst <= error <= worst + 1e-6


def test_multipliers_that_are_given_are_those_that_prove(manifold_data, rng):
    obj = objective(manifold_data())
    alpha, theta = rng.normal(size=18), obj.repair_multipliers(rng.uniform(0.0, 1.0, 7) * obj.labels.sign)
    found = obj.certificate({"alpha": alpha, "b": 0.1}, {"beta": obj.labels.sign * theta})
    assert found.dual_objective == obj.prove(alpha, 0.1, theta).dual_objective
    assert found.dual_objective != obj.certificate({"alpha": alpha, "b": 0.1}).dual_objective


@pytest.mark.parametrize("name", NAMES)
def test_the_constant_that_is_best_knows_the_weights_of_the_labels(name):
    y = sm.encode_labels([0, 1, 1, -1]).weighted([1.0, 3.0, 5.0])
    found = LapSVM(np.eye(4), None, y, loss=name).constant()
    assert found == pytest.approx(1.0 if name == "hinge" else 7 / 9)


def test_the_exact_coefficients_of_the_multipliers_prove_the_same_point(manifold_data, rng):
    """At the intercept that is given: the bound gets better, and the value stays."""
    obj = objective(manifold_data(), "squared")
    alpha, b = 0.1 * rng.normal(size=18), 0.4
    duals = {"beta": rng.uniform(0.5, 1.0, 7)}
    plain = obj.certificate({"alpha": alpha, "b": b}, duals)
    better = obj.pivoted().certificate({"alpha": alpha, "b": b}, duals)
    assert better.primal_objective == pytest.approx(plain.primal_objective, rel=1e-12)
    assert better.dual_objective > plain.dual_objective + 1e-3


def test_the_best_intercept_knows_the_weights_of_the_labels():
    y = sm.encode_labels([0, 0, 1, -1])
    obj = LapSVM(np.eye(4), None, y.weighted([1.0, 1.0, 5.0]))
    assert obj.best_intercept(np.zeros(4), 0.0) == 1.0
    assert LapSVM(np.eye(4), None, y).best_intercept(np.zeros(4), 0.0) == -1.0
