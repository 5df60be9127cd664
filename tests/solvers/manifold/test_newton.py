"""Newton's method in the full space and its exact line search, against independent routes to the same minimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from manifold_problems import data, objective

import specmargin as sm
from specmargin.objectives import LapSVM
from specmargin.results import Status
from specmargin.solvers import factorized
from specmargin.solvers.manifold.newton import newton

losses = pytest.mark.parametrize("loss", ["squared_hinge", "huber_hinge", "squared"])
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def point(result):
    return result.variables["alpha"], float(result.variables["b"])


@losses
@intercepts
@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("width", [0.1, 4.0])
def test_same_objective_as_the_factorisation_with_cond_S_to_1e8(loss, fit_intercept, copies, width):
    """Singular K (a wide kernel, copies of samples) and gammas over six orders; the gradient is the full one."""
    K, L, _ = data(copies=copies, width=width)
    gamma_A = np.linalg.norm(L @ K, 2) / 1e8
    worst, hardest = 0.0, (gamma_A * np.linalg.cond(gamma_A * np.eye(60) + L @ K) / 1e8, 1.0)
    for l in (2, 20, 60):
        for gamma_A, gamma_I in (hardest, (1e-6, 0.01), (1e-3, 100.0), (1e-2, 1.0), (1.0, 1.0), (1e-4, 0.0)):
            obj = objective(
                data(60, l, copies=copies, width=width), loss, gamma_A, gamma_I, fit_intercept=fit_intercept
            )
            worst = max(worst, np.linalg.cond(gamma_A * np.eye(60) + gamma_I * obj.L @ obj.K))
            ours, theirs = newton(obj), factorized(obj)
            assert ours.status is Status.OPTIMAL
            assert ours.certificate.primal_objective == pytest.approx(theirs.certificate.primal_objective, rel=1e-9)
            by_alpha, by_b = obj.gradient(*point(ours))
            # K (S alpha + ...) cannot be computed better than to the roundings of K alpha.
            floor = (
                1e-13
                * np.abs(obj.K).sum(axis=1).max()
                * (1.0 + np.abs(obj.K * ours.variables["alpha"]).sum(axis=1).max())
            )
            assert max(np.abs(by_alpha).max(), abs(by_b)) < 1e-9 + floor
    assert 5e7 < worst < 2e8


def test_refinement_closes_the_gap_to_rounding():
    """Where the graph dominates 1e8-fold the bare solution of the system leaves a gap of 1e-9."""
    for l in (2, 20, 60):
        for copies in (1, 2):
            for gamma_A, gamma_I in ((1e-6, 1.0), (1e-6, 100.0)):
                obj = objective(data(60, l, copies=copies, width=0.1), "squared", gamma_A, gamma_I)
                assert abs(newton(obj).certificate.relative_gap) < 1e-11


def test_the_printed_first_row_is_another_point():
    """Eq. 11 as printed, 1'alpha = 0, on a graph whose normalised Laplacian does not annihilate constants."""

    def printed(obj):
        n, labeled = 60, obj.labels.labeled
        E, right = np.zeros(n), np.zeros(n + 1)
        E[labeled], right[1 + labeled] = 1.0, obj.labels.sign
        S = obj.gamma_A * np.eye(n) + obj.gamma_I * obj.L @ obj.K
        rows = [[np.zeros((1, 1)), np.ones((1, n))], [E[:, None], E[:, None] * obj.K + S]]
        b, *alpha = np.linalg.solve(np.block(rows), right)
        return obj.value_at(np.array(alpha), b)

    normalized, flat = (objective(data(normed=normed), "squared") for normed in (True, False))
    assert printed(normalized) > newton(normalized).certificate.primal_objective * (1 + 1e-4)
    assert printed(flat) == pytest.approx(newton(flat).certificate.primal_objective, rel=1e-9)


@pytest.mark.parametrize("gamma_A", [1e-6, 1e-2])
def test_where_the_set_cycles_the_line_search_ends_it(gamma_A):
    """Interpolating noisy labels: the whole steps of the paper never settle here, ours fall to the optimum."""
    obj = objective(data(60, 60, width=1.0), gamma_A=gamma_A, gamma_I=0.0)
    result = newton(obj)
    values, steps = np.array(result.history["objective"]), np.array(result.history["step"])
    assert result.status is Status.OPTIMAL
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert values[-1] == pytest.approx(result.certificate.primal_objective, rel=1e-12)
    assert steps[-1] == 1.0
    if gamma_A == 1e-6:
        assert (steps != 1.0).sum() > 5
    assert result.certificate.primal_objective == pytest.approx(factorized(obj).certificate.primal_objective, rel=1e-9)


def test_papers_settings_take_a_handful_of_steps():
    steps = [newton(objective(data(seed=seed), gamma_A=gA)).n_iter for seed in range(3) for gA in (1e-6, 1e-2)]
    assert max(steps) <= 8


def test_sparse_and_powered_laplacians():
    X, _ = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    W = sm.graphs.knn_graph(X, n_neighbors=5)
    labels, K = data()[2], sm.kernels.gram(X, gamma=2.0)
    powered = newton(
        LapSVM(K, sm.graphs.laplacian(W, power=2), labels, loss="squared_hinge", gamma_A=0.01, gamma_I=1.0)
    )
    L = sm.graphs.laplacian(W).toarray()
    dense = newton(LapSVM(K, L @ L, labels, loss="squared_hinge", gamma_A=0.01, gamma_I=1.0))
    csr = newton(LapSVM(K, sp.csr_array(L @ L), labels, loss="squared_hinge", gamma_A=0.01, gamma_I=1.0))
    np.testing.assert_allclose(powered.variables["f"], dense.variables["f"], atol=1e-9)
    np.testing.assert_allclose(csr.variables["f"], dense.variables["f"], atol=1e-9)


def test_limit_of_steps_is_reported():
    result = newton(objective(data(60, 60, width=1.0), gamma_A=1e-6, gamma_I=0.0), max_iter=2)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 2
    assert result.certificate.relative_gap > 1e-6
    assert newton(objective(data()), tol=1e-30).status is Status.OPTIMAL_INACCURATE
