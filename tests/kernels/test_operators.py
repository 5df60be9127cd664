"""Kernels that are not stored, against those that are; landmarks against their defining formula."""

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.kernels import (
    LowRankKernel,
    as_kernel,
    gram,
    kernel_rows,
    kernel_trace,
)
from specmargin.objectives.manifold_weights import usual_ratio


@pytest.fixture
def X(rng):
    return rng.normal(size=(37, 4))


def test_a_low_rank_kernel_is_the_product_of_its_factor(rng):
    F, v = rng.normal(size=(9, 3)), rng.normal(size=9)
    K = LowRankKernel(F)
    np.testing.assert_allclose(K @ v, F @ F.T @ v)
    np.testing.assert_allclose(kernel_rows(K, np.array([4, 1])), (F @ F.T)[[4, 1]])
    assert kernel_trace(K) == pytest.approx(np.trace(F @ F.T))


def test_forms_of_a_kernel(rng):
    dense = np.eye(4)
    assert kernel_trace(as_kernel(sp.csr_matrix(dense))) == 4.0
    np.testing.assert_array_equal(kernel_rows(as_kernel(sp.coo_matrix(dense)), np.array([2])), dense[[2]])
    assert as_kernel(dense) is dense


# LapSVM on them


def case(n=50, m=15, l=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.full(n, -1)
    y[:l] = np.arange(l) % 2
    W = sm.graphs.knn_graph(X, n_neighbors=5)
    return X, sm.graphs.laplacian(W, normalized=True), sm.encode_labels(y), rng.normal(size=(n, m))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("gammas", [(1e-2, 1.0), (1e-5, 10.0), (1.0, 0.0)], ids=str)
def test_a_factor_is_solved_like_its_product(loss, gammas):
    _, L, labels, F = case()
    keywords = {"loss": loss, "gamma_A": gammas[0], "gamma_I": gammas[1]}
    span = sm.solvers.factorized(sm.objectives.LapSVM(LowRankKernel(F), L, labels, **keywords))
    full = sm.solvers.factorized(sm.objectives.LapSVM(F @ F.T, L, labels, **keywords))
    assert span.certificate.is_optimal(1e-9)
    value = full.certificate.primal_objective
    assert span.certificate.primal_objective == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(span.variables["f"], full.variables["f"], atol=1e-6)


def test_a_sparse_kernel_is_its_dense_self():
    X, L, labels, _ = case()
    K = np.where(gram(X, gamma=3.0) > 0.02, gram(X, gamma=3.0), 0.0) + 2 * np.eye(50)
    keywords = {"gamma_A": 0.1, "gamma_I": 1.0}
    sparse = sm.solvers.factorized(sm.objectives.LapSVM(sp.csr_array(K), L, labels, **keywords))
    dense = sm.solvers.factorized(sm.objectives.LapSVM(K, L, labels, **keywords))
    np.testing.assert_allclose(sparse.variables["f"], dense.variables["f"], atol=1e-9)


def test_cvxpy_takes_a_span_and_a_sparse_kernel():
    _, L, labels, F = case()
    for K in (LowRankKernel(F), sp.csr_array(F @ F.T)):
        obj = sm.objectives.LapSVM(K, L, labels, loss="squared_hinge", gamma_A=0.1, gamma_I=1.0)
        built = sm.solve(sm.problems.lapsvm_primal(obj))
        exact = sm.solvers.factorized(obj).certificate.primal_objective
        assert built.certificate.primal_objective == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_penalty_of_a_wide_factor_is_half_computed(rng, power, order):
    F = np.asarray(rng.normal(size=(600, 530)), order=order)
    L = sm.graphs.Laplacian(power=power, normalized=False).of(sm.graphs.knn_graph(F[:, :3], 5))
    expected = F.T @ (L @ F)
    got = LowRankKernel(F).penalty(L)
    np.testing.assert_allclose(got, expected, atol=1e-12 * np.abs(expected).max())
    assert np.array_equal(got, got.T)
    narrow, unit = LowRankKernel(F[:, :512]), np.mean((F**2).sum(axis=1))
    np.testing.assert_allclose(narrow.penalty(L), expected[:512, :512], atol=1e-12 * np.abs(expected).max())
    ratio = 1e4 * 600**2 / np.linalg.norm(F.T @ F / unit) ** 2 / np.trace(expected / unit) / unit
    assert usual_ratio(LowRankKernel(F), L) == pytest.approx(ratio, rel=1e-10)
