"""Formulas of the papers as published and as corrected, where no test of a module holds them against each other.

Every test writes both down and compares them with something that shares no formula with either: a gradient, a linear
program, a difference quotient, a numerical integral.
"""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog
from scipy.special import erfc
from scipy.stats import norm

import specmargin as sm

# Laplacian support vector machines trained in the primal


@pytest.fixture
def matrices(rng):
    """A kernel, the adjacency of a weighted graph, labels of the first five of twelve samples, and multipliers."""
    A = rng.normal(size=(12, 12))
    W = np.triu(rng.uniform(size=(12, 12)), 1)
    return A @ A.T + np.eye(12), W + W.T, np.array([1.0, -1.0, 1.0, 1.0, -1.0]), rng.uniform(size=5)


def test_alpha_of_the_dual_has_LK_and_not_KL(matrices):
    """Eqs. 5 and 6: where the gradient of the Lagrangian by alpha vanishes, and Q is a symmetric matrix."""
    K, W, y, beta = matrices
    L, J, gamma_A, gamma_I = np.diag(W.sum(axis=1)) - W, np.eye(5, 12), 0.3, 0.05
    residual, asymmetry = {}, {}
    for name, product in (("LK", L @ K), ("KL", K @ L)):
        S = 2 * gamma_A * np.eye(12) + 2 * gamma_I * product
        alpha = np.linalg.solve(S, J.T @ (y * beta))
        residual[name] = np.abs(2 * gamma_A * K @ alpha + 2 * gamma_I * K @ L @ K @ alpha - K @ J.T @ (y * beta)).max()
        Q = y[:, None] * (J @ K @ np.linalg.solve(S, J.T)) * y
        asymmetry[name] = np.abs(Q - Q.T).max()
    assert max(residual["LK"], asymmetry["LK"]) < 1e-10
    assert min(residual["KL"], asymmetry["KL"]) > 1e-2


def test_the_factors_of_the_hessian_need_a_laplacian_that_annihilates_constants(matrices):
    """Between eqs. 9 and 10: multiplied out they have gamma_I 1'L K too much in the first row."""
    K, W, _, _ = matrices
    n, ones, gamma_A, gamma_I = 12, np.ones((12, 1)), 0.3, 0.05
    E = np.diag(np.arange(n) % 2.0)
    d = W.sum(axis=1)
    plain, normalized = np.diag(d) - W, np.eye(n) - W / np.sqrt(np.outer(d, d))
    for L, holds in ((plain, True), (normalized, False)):
        left = np.block([[np.full((1, 1), -gamma_A), ones.T], [np.zeros((n, 1)), K]])
        right = np.block([[np.zeros((1, 1)), ones.T], [E @ ones, E @ K + gamma_A * np.eye(n) + gamma_I * L @ K]])
        by_b = np.hstack([ones.T @ E @ ones, ones.T @ E @ K])
        H = np.vstack([by_b, np.hstack([K @ E @ ones, K @ E @ K + gamma_A * K + gamma_I * K @ L @ K])])
        error = left @ right - H
        np.testing.assert_allclose(error[1:], 0.0, atol=1e-10)
        np.testing.assert_allclose(error[0, 1:], gamma_I * (ones.T @ L @ K)[0], atol=1e-10)
        assert bool(np.abs(error[0]).max() < 1e-10) is holds


def test_macro_error_as_published_is_one_for_a_perfect_classifier():
    """1 - TP/2 + TN/2 with rates TP = TN = 1."""
    assert 1 - 1 / 2 + 1 / 2 == 1.0
    assert 1 - (1 + 1) / 2 == 0.0


# Laplacian spectrum learning


def test_lemma_1_without_lambda_1_in_its_second_equation():
    """Its value is the least of -sum p_i delta_i over ordered spectra, by linear programming on both sides."""
    p = np.array([0.1, 0.5, 0.2, 0.9, 0.3, 0.4])  # 1/2 (gamma'u_i)^2
    q = len(p)
    order = np.zeros((q - 2, q))
    order[np.arange(q - 2), np.arange(1, q - 1)], order[np.arange(q - 2), np.arange(2, q)] = -1.0, 1.0
    primal = linprog(-p, A_ub=order, b_ub=np.zeros(q - 2), A_eq=np.ones((1, q)), b_eq=[1.0]).fun
    value = {}
    for name, first in (("published", 1), ("corrected", 2)):  # the first equation that holds lambda_{i-1}
        equations = np.hstack([np.ones((q, 1)), -np.eye(q)])  # tau, lambda
        for i in range(first, q):
            equations[i, i] = 1.0
        bounds = [(None, None), *[(0, None)] * q]
        value[name] = -linprog([1.0, *[0.0] * q], A_eq=equations, b_eq=p, bounds=bounds).fun
    assert value["corrected"] == pytest.approx(primal, rel=1e-9)
    assert value["published"] > primal + 0.05  # no bound at all


def test_the_transducer_over_all_of_Rn_costs_nothing():
    """Eq. 1 literally: h'1 = 0 and h'h = n, with tau of either reading of the root."""
    X, _ = sm.datasets.make_two_moons(n_samples=40, random_state=0)
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=6), q=9, normalized=False)
    V, sign = spectrum.eigenvectors[:, 1:], np.array([1, 1, -1, -1, -1, -1])
    tau = np.where(sign > 0, np.sqrt(4 / 2), -np.sqrt(2 / 4))
    assert tau.sum() == pytest.approx(0.0, abs=1e-15)  # as h'1 = 0 and h'h = n ask for
    assert tau @ tau == pytest.approx(6.0)
    assert np.where(sign > 0, 4 / 2, 2 / 4).sum() > 1  # without root and sign it is not balanced
    seen = np.column_stack([V, np.ones(40)])
    h = np.append(tau, np.linalg.lstsq(seen[6:].T, -seen[:6].T @ tau, rcond=None)[0])
    h[6:] += null_space(seen[6:].T)[:, 0] * np.sqrt(40 - h @ h)
    assert np.abs(V.T @ h).max() < 1e-12  # no penalty
    assert abs(h.sum()) < 1e-12
    assert h @ h == pytest.approx(40.0)
    np.testing.assert_array_equal(h[:6], tau)  # no loss


@pytest.mark.parametrize(("q", "share"), [(200, 0.0199), (1000, 0.4995), (1414, 0.9990), (1415, 1.0004)])
def test_what_eps_takes_of_the_trace(q, share):
    """Drops of 1e-6 each have the trace 1e-6 (1 + q (q - 1) / 2); above one no spectrum is left."""
    assert 1e-6 * sm.objectives.SpectrumCone(q).c.sum() == pytest.approx(share, abs=5e-5)


# A continuation method for semi-supervised SVMs


def test_equation_5_smooths_with_half_the_variance_of_equations_6_to_8():
    gamma, s = 0.4, 3.0
    t, step = np.linspace(-12, 12, 200_001, retstep=True)
    kernel = np.exp(-(t**2) / gamma) / np.sqrt(np.pi * gamma)
    assert (kernel * t**2).sum() * step == pytest.approx(gamma / 2, rel=1e-9)
    smooth = (kernel * np.exp(-s * t**2)).sum() * step
    assert smooth == pytest.approx((1 + gamma * s) ** -0.5, rel=1e-9)  # and not a^(-1/2) with a = 1 + 2 gamma s
    normal = norm.pdf(t, scale=np.sqrt(gamma))
    assert (normal * np.exp(-s * t**2)).sum() * step == pytest.approx((1 + 2 * gamma * s) ** -0.5, rel=1e-9)


def test_equation_7_with_root_gamma_has_the_published_gradient():
    """With gamma |x| in front, and e over sqrt(2 gamma |x|), it is neither the convolution nor has that gradient."""
    gamma, length, t, step = 0.3, 1.7, np.linspace(-1.0, 3.0, 9), 1e-5

    def term(t, front, below):
        e = (t - 1) / below
        return front * (np.exp(-(e**2)) / np.sqrt(np.pi) - e * erfc(e))

    corrected = (np.sqrt(gamma / 2) * length, np.sqrt(2 * gamma) * length)
    published = (gamma * length / np.sqrt(2), np.sqrt(2 * gamma * length))
    for (front, below), holds in ((corrected, True), (published, False)):
        slope = (term(t + step, front, below) - term(t - step, front, below)) / (2 * step)
        assert np.allclose(slope, -0.5 * erfc((t - 1) / below), atol=1e-8) is holds


def test_equation_9_has_twice_the_factor():
    s, a, f, step = 3.0, 1.7, np.linspace(-2.0, 2.0, 9), 1e-4
    value = lambda f: np.exp(-s * f**2 / a) / np.sqrt(a)
    second = (value(f + step) - 2 * value(f) + value(f - step)) / step**2
    for factor, holds in ((1, False), (2, True)):
        formula = -2 * s * a**-1.5 * (1 - factor * s / a * f**2) * np.exp(-s * f**2 / a)
        assert np.allclose(second, formula, atol=1e-5) is holds


def test_the_bound_of_equation_9():
    """2 s a^(-3/2) < (2 s)^(-1/2) gamma^(-3/2) |x|^-3, tight where gamma |x|^2 is large; the published root is not."""
    s, gamma, length = 3.0, 50.0, 4.0
    curvature = 2 * s * (1 + 2 * gamma * s * length**2) ** -1.5
    bound = (2 * s) ** -0.5 * gamma**-1.5 * length**-3
    assert curvature < bound < 1.001 * curvature
    assert (2 * s * gamma**1.5) ** -0.5 * length**-3 > 10 * bound  # a bound, but not the one that gamma_0 comes from


# Fast and simple gradient-based optimization for semi-supervised support vector machines


def test_the_constraint_of_qn_s3vm_asks_for_a_mean():
    """Eq. 13: a mean decision cannot equal the sum of many labels; with the mean the package meets it."""
    X, truth = sm.datasets.make_g2c(n_samples=60, n_features=5, random_state=0)
    y = np.full(60, -1)
    for label, number in ((0, 4), (1, 12)):
        known = np.flatnonzero(truth == label)[:number]
        y[known] = label
    labels = sm.encode_labels(y)
    result = sm.solvers.quasi_newton(sm.objectives.S3VM(X, labels, "smooth_hinge", "exp", C=0.1))
    assert labels.sign.sum() == 8.0
    assert result.variables["f"][labels.unlabeled].mean() == pytest.approx(0.5, abs=1e-9)
