"""The manifold-regularization paper's table of special cases, each against scikit-learn or a closed form.

| gamma_A      | gamma_I | becomes                                          |
|--------------|---------|--------------------------------------------------|
| >= 0         | >= 0    | manifold regularization                          |
| >= 0         | = 0     | SVM, RLSC                                        |
| -> 0         | > 0     | graph regularization, extended out of sample     |
| << gamma_I   | -> 0    | label propagation, extended out of sample        |
| -> 0         | = 0     | hard margin, interpolation                       |

A limit is tested by its rate, too: ten times smaller weights must come ten times closer.
"""

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.semi_supervised import LabelPropagation
from sklearn.svm import SVC

import specmargin as sm
from specmargin.objectives import LapSVM
from specmargin.solvers import factorized


@pytest.fixture(scope="module")
def data():
    """Forty points on two moons, ten labelled; K is well-conditioned and the graph connected."""
    X, y_true = sm.datasets.make_two_moons(n_samples=40, noise=0.08, random_state=1)
    W = sm.graphs.knn_graph(X, n_neighbors=5).toarray()
    assert sm.graphs.components(sm.graphs.check_adjacency(W)).n == 1
    K, L = sm.kernels.gram(X, gamma=30.0), np.diag(W.sum(axis=1)) - W
    assert np.linalg.cond(K) < 1e4
    return X, K, L, W, sm.encode_labels(sm.hide_labels(y_true, per_class=5, random_state=2))


def solve(data, loss, gamma_A, gamma_I, fit_intercept=True):
    _, K, L, _, labels = data
    result = factorized(LapSVM(K, L, labels, loss, gamma_A, gamma_I, fit_intercept))
    return result.variables


def approaches(errors, factor=10.0, rel=0.15):
    """Errors at weights that fall by `factor` fall by the same, to the first order."""
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), factor, rtol=rel)


def distance(a, b):
    return float(np.abs(a - b).max())


# gamma_I = 0: standard regularization


@pytest.mark.parametrize("gamma_A", [0.02, 0.5, 5.0])
def test_svm(data, gamma_A):
    _, K, _, _, labels = data
    rows = np.ix_(labels.labeled, labels.labeled)
    svc = SVC(kernel="precomputed", C=1 / (2 * gamma_A), tol=1e-10).fit(K[rows], labels.sign)
    found = solve(data, "hinge", gamma_A, 0.0)
    f = svc.decision_function(K[:, labels.labeled])
    # With every multiplier at a bound the intercept is an interval: compare the functions without it.
    np.testing.assert_allclose(found["f"] - found["b"], f - svc.intercept_[0], atol=1e-6)
    if ((np.abs(svc.dual_coef_) < svc.C * (1 - 1e-6)) & (np.abs(svc.dual_coef_) > 0)).any():
        assert found["b"] == pytest.approx(svc.intercept_[0], abs=1e-6)
    unlabeled = np.setdiff1d(np.arange(40), labels.labeled)
    np.testing.assert_array_equal(found["alpha"][unlabeled], 0.0)


@pytest.mark.parametrize("gamma_A", [0.02, 0.5, 5.0])
def test_rlsc(data, gamma_A):
    _, K, _, _, labels = data
    rows = K[np.ix_(labels.labeled, labels.labeled)]
    theirs = KernelRidge(alpha=gamma_A, kernel="precomputed").fit(rows, labels.sign)
    f = solve(data, "squared", gamma_A, 0.0, fit_intercept=False)["f"]
    np.testing.assert_allclose(f, theirs.predict(K[:, labels.labeled]), atol=1e-10)
    # With an intercept: ridge regression on any features whose inner products are K.
    features = np.linalg.cholesky(K)
    ridge = Ridge(alpha=gamma_A, solver="svd").fit(features[labels.labeled], labels.sign)
    np.testing.assert_allclose(solve(data, "squared", gamma_A, 0.0)["f"], ridge.predict(features), atol=1e-10)


def test_svm_with_the_squared_hinge(data):
    _, K, _, _, labels = data
    features = np.linalg.cholesky(K)[labels.labeled]

    def primal(x):
        slack = np.maximum(0.0, 1.0 - labels.sign * (features @ x[:-1] + x[-1]))
        pull = np.append(-features.T @ (labels.sign * slack), -(labels.sign * slack).sum())
        return 0.5 * (slack @ slack + 0.2 * x[:-1] @ x[:-1]), pull + 0.2 * np.append(x[:-1], 0.0)

    best = minimize(primal, np.zeros(41), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    f = solve(data, "squared_hinge", 0.2, 0.0)["f"]
    np.testing.assert_allclose(f, np.linalg.cholesky(K) @ best.x[:-1] + best.x[-1], atol=1e-6)


# gamma_A -> 0, gamma_I > 0: graph regularization


@pytest.mark.parametrize("gamma_I", [0.05, 1.0])
def test_graph_regularization_with_least_squares(data, gamma_I):
    """(J'J + gamma_I L) f = J'y, which needs no kernel."""
    _, _, L, _, labels = data
    A, rhs = gamma_I * L, np.zeros(40)
    A[labels.labeled, labels.labeled] += 1.0
    rhs[labels.labeled] = labels.sign
    f = np.linalg.solve(A, rhs)
    errors = [distance(solve(data, "squared", g, gamma_I, False)["f"], f) for g in (1e-5, 1e-6, 1e-7)]
    approaches(errors)
    assert errors[-1] < 1e-4


@pytest.mark.parametrize("gamma_I", [0.05, 1.0])
def test_graph_regularization_with_the_hinge(data, gamma_I):
    """An SVM whose kernel is the pseudo-inverse of L; the intercept is the null space of L."""
    _, _, L, _, labels = data
    kernel = np.linalg.pinv(L, rcond=1e-10, hermitian=True)
    svc = SVC(kernel="precomputed", C=1 / (2 * gamma_I), tol=1e-10)
    svc.fit(kernel[np.ix_(labels.labeled, labels.labeled)], labels.sign)
    f = svc.decision_function(kernel[:, labels.labeled])
    errors = [distance(solve(data, "hinge", g, gamma_I)["f"], f) for g in (1e-5, 1e-6, 1e-7)]
    assert errors[2] < errors[1] < errors[0]
    assert errors[-1] < 1e-4


def test_the_graphs_solution_goes_out_of_sample(data):
    """In the limit the expansion interpolates the transductive solution, by the function of least norm."""
    X, K, L, _, labels = data
    A, rhs = 0.3 * L, np.zeros(40)
    A[labels.labeled, labels.labeled] += 1.0
    rhs[labels.labeled] = labels.sign
    f = np.linalg.solve(A, rhs)
    new = np.random.default_rng(0).normal(size=(25, 2)) * 0.5 + [0.5, 0.25]
    block = sm.kernels.gram(new, X, gamma=30.0)
    least_norm = block @ np.linalg.solve(K, f)
    errors = [distance(block @ solve(data, "squared", g, 0.3, False)["alpha"], least_norm) for g in (1e-5, 1e-6, 1e-7)]
    approaches(errors)
    assert errors[-1] < 1e-4


# gamma_A << gamma_I -> 0: label propagation


def harmonic(L, labels):
    free = np.setdiff1d(np.arange(len(L)), labels.labeled)
    f = np.zeros(len(L))
    f[labels.labeled] = labels.sign
    f[free] = np.linalg.solve(L[np.ix_(free, free)], -L[np.ix_(free, labels.labeled)] @ labels.sign)
    return f


def test_label_propagation_with_least_squares(data):
    X, _, L, W, labels = data
    y = np.full(40, -1)
    y[labels.labeled] = (labels.sign + 1) / 2
    theirs = LabelPropagation(kernel=lambda A, B: W, max_iter=100_000, tol=1e-14).fit(X, y)
    f = 2 * theirs.label_distributions_[:, 1] - 1
    np.testing.assert_allclose(f, harmonic(L, labels), atol=1e-9)
    # gamma_A = gamma_I^2 goes to zero faster; what is left is of the order of gamma_I.
    for fit_intercept in (False, True):
        errors = [distance(solve(data, "squared", g**2, g, fit_intercept)["f"], f) for g in (1e-2, 1e-3, 1e-4)]
        assert errors[1] < errors[0] / 5
        assert errors[2] < errors[1] / 5
        assert errors[-1] < 1e-3


def test_label_propagation_with_the_hinge(data):
    """The smoothest function on the graph with y f >= 1 at the labels."""
    _, _, L, _, labels = data
    f = cp.Variable(40)
    margins = cp.multiply(labels.sign, f[labels.labeled]) >= 1
    cp.Problem(cp.Minimize(cp.quad_form(f, cp.psd_wrap(L))), [margins]).solve(solver="CLARABEL")
    errors = [distance(solve(data, "hinge", g * 1e-4, g)["f"], f.value) for g in (1e-1, 1e-2, 1e-3)]
    assert errors[-1] < 1e-3
    assert (labels.sign * solve(data, "hinge", 1e-7, 1e-3)["f"][labels.labeled]).min() > 1 - 1e-6


# gamma_A -> 0, gamma_I = 0: hard margin


def test_hard_margin_svm(data):
    _, K, _, _, labels = data
    rows = np.ix_(labels.labeled, labels.labeled)
    hard = SVC(kernel="precomputed", C=1e8, tol=1e-10).fit(K[rows], labels.sign)
    f = hard.decision_function(K[:, labels.labeled])
    enough = 0.49 / np.abs(hard.dual_coef_).max()  # C = 1 / (2 gamma_A) above every multiplier
    for gamma_A in (enough, 1e-3 * enough, 1e-6 * enough):
        np.testing.assert_allclose(solve(data, "hinge", gamma_A, 0.0)["f"], f, atol=1e-6)
    assert (labels.sign * f[labels.labeled]).min() == pytest.approx(1.0, abs=1e-6)


def test_interpolation(data):
    """Least squares without regularization: the function of least norm through the labels."""
    _, K, _, _, labels = data
    rows = K[np.ix_(labels.labeled, labels.labeled)]
    through = K[:, labels.labeled] @ np.linalg.solve(rows, labels.sign)
    errors = [distance(solve(data, "squared", g, 0.0, False)["f"], through) for g in (1e-4, 1e-5, 1e-6)]
    approaches(errors, rel=0.02)
    assert errors[-1] < 1e-5
    # With an intercept the norm is least over b, too: 1'alpha = 0.
    l = len(rows)
    bordered = np.block([[rows, np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]])
    solution = np.linalg.solve(bordered, np.append(labels.sign, 0.0))
    expected = K[:, labels.labeled] @ solution[:-1] + solution[-1]
    errors = [distance(solve(data, "squared", g, 0.0)["f"], expected) for g in (1e-4, 1e-5, 1e-6)]
    approaches(errors, rel=0.02)


# Everything above is one method


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
def test_the_cases_are_reached_continuously(data, loss):
    """gamma_I -> 0 at fixed gamma_A ends where gamma_I = 0 begins."""
    f = solve(data, loss, 0.3, 0.0)["f"]
    errors = [distance(solve(data, loss, 0.3, g)["f"], f) for g in (1e-4, 1e-5, 1e-6)]
    assert errors[-1] < 1e-3
    if loss != "hinge" or errors[0] > 0:
        approaches(errors)


# Remark a: other intrinsic norms


@pytest.mark.parametrize("t", [0.3, 2.0])
def test_the_norm_of_the_heat_kernel(data, t):
    """exp(-t L) is a kernel on the nodes, whose norm f' exp(t L) f takes the place of f'L f."""
    _, K, L, _, labels = data
    theta, phi = np.linalg.eigh(L)
    heat = (phi * np.exp(-t * theta)) @ phi.T
    gamma_A, gamma_I = 0.5, 0.01
    ours = factorized(LapSVM(K, expm(t * L), labels, "squared", gamma_A, gamma_I, False)).variables["f"]
    # A function that is f in both spaces: the sum of both norms is that of the kernel (gA K^-1 + gI H^-1)^-1.
    both = np.linalg.inv(gamma_A * np.linalg.inv(K) + gamma_I * np.linalg.inv(heat))
    rows = labels.labeled
    expected = both[:, rows] @ np.linalg.solve(both[np.ix_(rows, rows)] + np.eye(len(rows)), labels.sign)
    np.testing.assert_allclose(ours, expected, atol=1e-8)


def test_the_heat_kernel_of_a_short_time_is_the_laplacian(data):
    _, K, L, _, labels = data
    expected = solve(data, "hinge", 0.1, 0.5)["f"]
    errors = [
        distance(
            factorized(LapSVM(K, (expm(t * L) - np.eye(len(L))) / t, labels, "hinge", 0.1, 0.5)).variables["f"],
            expected,
        )
        for t in (1e-2, 1e-3, 1e-4)
    ]
    approaches(errors)
