"""Units of gamma_A and gamma_I, and the weights of papers: against literal formulas."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.objectives.manifold_weights import ambient_weight, mean_eigenvalue, ratio_for, weights_of_paper


@pytest.mark.parametrize("centred", [True, False])
def test_the_unit_is_the_mean_eigenvalue_of_the_centred_kernel(rng, centred):
    for l, rank in ((2, 2), (7, 7), (7, 3), (40, 5)):
        A = rng.normal(size=(l, rank))
        G = A @ A.T
        H = np.eye(l) - np.ones((l, l)) / l if centred else np.eye(l)
        expected = np.linalg.eigvalsh(H @ G @ H).mean()
        assert mean_eigenvalue(G, centred=centred) == pytest.approx(expected, rel=1e-10)
        assert ambient_weight(G, centred=centred) == pytest.approx(0.1 * expected, rel=1e-10)
        # Copies of the labelled samples change neither.
        twice = np.kron(np.ones((2, 2)), G)
        assert mean_eigenvalue(twice, centred=centred) == pytest.approx(expected, rel=1e-10)


def test_constant_functions_and_none_have_a_weight_all_the_same():
    constant = 3.0 * np.ones((5, 5)) * (1.0 + 1e-15)
    assert mean_eigenvalue(constant) == 0.0
    assert ambient_weight(constant) == pytest.approx(0.3)
    assert ambient_weight(np.zeros((4, 4))) == 0.1
    assert mean_eigenvalue(constant, centred=False) == pytest.approx(3.0)


def test_a_ratio_is_over_the_mean_of_the_diagonal(rng):
    F = rng.normal(size=(6, 3))
    expected = 100.0 / (F**2).sum(axis=1).mean()
    for K in (F @ F.T, sp.csr_array(F @ F.T), sm.kernels.LowRankKernel(F)):
        assert ratio_for(K, 100.0) == pytest.approx(expected, rel=1e-12)
    assert ratio_for(np.zeros((3, 3)), 7.0) == 7.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
def test_the_weights_of_a_paper_make_its_objective(rng, loss):
    """The papers' sums, written out, are multiples of ours at every point: the minimisers are the same."""
    n, l = 12, 5
    A = rng.normal(size=(n, n))
    K, y = A @ A.T, np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    W = sm.graphs.knn_graph(rng.normal(size=(n, 2)), n_neighbors=3)
    L = sm.graphs.laplacian(W).toarray()
    labels = sm.encode_labels([1, 0, 1, 1, 0, *[-1] * (n - l)])
    losses = {
        "hinge": lambda t: np.maximum(0, 1 - t).sum(),
        "squared_hinge": lambda t: (np.maximum(0, 1 - t) ** 2).sum(),
        "squared": lambda t: ((1 - t) ** 2).sum(),
    }
    for form in ("means", "sums"):
        gammas = weights_of_paper(0.3, 0.7, l, n - l, form)
        ours = sm.objectives.LapSVM(K, L, labels, loss, *gammas)
        ratios = []
        for _ in range(4):
            alpha, b = rng.normal(size=n), rng.normal()
            f = K @ alpha
            norms = (0.3 * alpha @ f, 0.7 * f @ L @ f)
            empirical = losses[loss](y * (f[:l] + b))
            theirs = empirical / l + norms[0] + norms[1] / n**2 if form == "means" else empirical + sum(norms)
            ratios.append(ours.value({"alpha": alpha, "b": b}) / theirs)
        factor = (l if form == "means" else 1) * (0.5 if loss == "squared_hinge" else 1)
        np.testing.assert_allclose(ratios, factor, rtol=1e-12)


def test_the_other_weight_of_equation_6_is_another_number_in_means(rng):
    """gamma_I over the sum of W, in the place of (l + u)^2: the literal objective has its minimum where ours has."""
    n, l = 14, 6
    X = rng.normal(size=(n, 2))
    W, K = sm.graphs.knn_graph(X, n_neighbors=3, weight="heat"), sm.kernels.gram(X, gamma=0.7)
    L, y = sm.graphs.laplacian(W, normalized=False).toarray(), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    gamma_A, gamma_I = weights_of_paper(0.05, 0.8 * n**2 / W.sum(), l, n - l, "means")
    labels = sm.encode_labels([1, 0, 1, 0, 1, 0, *[-1] * (n - l)])
    ours = sm.solvers.factorized(sm.objectives.LapSVM(K, L, labels, "hinge", gamma_A, gamma_I))
    f, b = cp.Variable(n), cp.Variable()
    roots = [np.linalg.cholesky(M + 1e-13 * np.eye(n)).T for M in (np.linalg.inv(K), L)]
    norms = [cp.sum_squares(root @ f) for root in roots]
    losses = cp.sum(cp.pos(1 - cp.multiply(y, f[:l] + b))) / l
    literal = cp.Problem(cp.Minimize(losses + 0.05 * norms[0] + 0.8 * norms[1] / W.sum()))
    literal.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    np.testing.assert_allclose(ours.variables["f"], f.value + b.value, atol=1e-5)
