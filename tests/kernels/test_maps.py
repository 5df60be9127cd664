"""Kernel maps against their Gram matrices; deformed kernels against closed forms and LapSVM."""

import numpy as np
import pytest
import scipy.linalg as sla

import specmargin as sm
from specmargin.kernels import gram
from specmargin.kernels.maps import deformed_features, deformed_kernel, kernel_map


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 3))


# Features of a kernel


@pytest.mark.parametrize(
    ("options", "rank"),
    [
        ({"kernel": "rbf", "gamma": 2.0}, 30),
        ({"kernel": "linear"}, 3),
        ({"kernel": "poly", "gamma": 1.0, "degree": 2}, 10),
    ],
)
def test_inner_products_of_the_features_are_the_kernel(X, options, rank, tol):
    K = gram(X, **options)
    features = kernel_map(K)
    assert features.rank == rank
    np.testing.assert_allclose(features.Z @ features.Z.T, K, atol=tol["linalg"] * np.abs(K).max())
    np.testing.assert_allclose(features(K), features.Z, atol=tol["linalg"] * np.abs(features.Z).max())
    lengths = np.linalg.norm(features.Z, axis=0)
    assert (np.diff(lengths) <= 0).all()


def test_leading_components_are_the_best_approximation(X, tol):
    K = gram(X, gamma=0.2)
    values = np.sort(np.linalg.eigvalsh(K))[::-1]
    for rank in (1, 5, 30):
        features = kernel_map(K, rank=rank)
        assert features.rank == rank
        missed = np.linalg.norm(features.Z @ features.Z.T - K)
        assert missed == pytest.approx(np.linalg.norm(values[rank:]), abs=tol["linalg"])
        np.testing.assert_allclose(features(K), features.Z, atol=tol["linalg"])


def test_small_eigenvalues_are_dropped(rng):
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    K = (Q * [1.0, 1e-3, 1e-6, 1e-9, 1e-11, -1e-12]) @ Q.T
    K = (K + K.T) / 2
    assert kernel_map(K).rank == 4
    assert kernel_map(K, tol=1e-5).rank == 2
    assert kernel_map(K, rank=3).rank == 3
    assert kernel_map(K, rank=5).rank == 4


# The kernel that a graph deforms


@pytest.fixture
def graph(X):
    return sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=4), power=2)


@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_it_is_the_formula(X, graph, ratio, rng, tol):
    K, L = gram(X, gamma=2.0), graph.toarray()
    deformed = deformed_kernel(K, graph, ratio)
    # With a regular K the norms add: K~^-1 = K^-1 + ratio L.
    np.testing.assert_allclose(deformed.matrix @ (np.linalg.inv(K) + ratio * L), np.eye(30), atol=tol["linalg"])
    np.testing.assert_array_equal(deformed.matrix, deformed.matrix.T)
    # The definition of a new sample's row: k(x, z) - k_x'(I + M K)^-1 M k_z with M = ratio L.
    block = gram(rng.normal(size=(5, 3)), X, gamma=2.0)
    rows = block - block @ np.linalg.solve(np.eye(30) + ratio * L @ K, ratio * L @ K)
    np.testing.assert_allclose(deformed.rows(block), rows, atol=tol["linalg"])
    np.testing.assert_allclose(deformed.rows(K), deformed.matrix, atol=tol["linalg"])
    v = rng.normal(size=(30, 2))
    np.testing.assert_allclose(block @ deformed.coefficients(v), rows @ v, atol=tol["linalg"])
    np.testing.assert_allclose(block @ deformed.coefficients(v[:, 0]), rows @ v[:, 0], atol=tol["linalg"])


@pytest.mark.parametrize("ratio", [1.0, 1e3, 1e6])
def test_large_ratios_keep_their_digits(ratio):
    """On a cycle kernel and Laplacian share the Fourier basis: the eigenvalues are k / (1 + ratio k l)."""
    n = 64
    around = np.minimum(np.arange(n), n - np.arange(n))
    first = np.exp(-0.1 * around**2)
    lags = np.where(around == 0, 1.0, np.where(around == 1, -0.5, 0.0))
    k, spectrum = np.fft.fft(first).real, np.fft.fft(lags).real
    exact = sla.circulant(np.fft.ifft(k / (1.0 + ratio * k * spectrum)).real)
    deformed = deformed_kernel(sla.circulant(first), sla.circulant(lags), ratio)
    allowed = 1e-17 * max(1e4, ratio) * np.abs(exact).max()
    np.testing.assert_allclose(deformed.matrix, exact, rtol=0, atol=allowed)
    np.testing.assert_allclose(deformed.rows(sla.circulant(first)), exact, rtol=0, atol=allowed)
    v = np.sin(np.arange(n))
    np.testing.assert_allclose(
        sla.circulant(first) @ deformed.coefficients(v), exact @ v, rtol=0, atol=allowed * np.abs(v).sum()
    )


@pytest.mark.parametrize(("loss", "power"), [("hinge", 2), ("squared", 1)])
def test_a_supervised_svm_on_it_is_lapsvm(loss, power, rng):
    """In the sample and out of it; gamma_I = 0 on the deformed kernel against gamma_I > 0 on the plain one."""
    X, truth = sm.datasets.make_two_moons(n_samples=50, noise=0.1, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(truth, per_class=4, random_state=0))
    K, block = gram(X, gamma=4.0), gram(rng.normal(size=(8, 2)), X, gamma=4.0)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=5), power=power)
    options = {"loss": loss, "gamma_A": 0.1}
    manifold = sm.solvers.factorized(sm.objectives.LapSVM(K, L, labels, gamma_I=20.0, **options)).variables
    deformed = deformed_kernel(K, L, 200.0)
    plain = sm.solvers.factorized(sm.objectives.LapSVM(deformed.matrix, None, labels, gamma_I=0.0, **options)).variables
    np.testing.assert_allclose(plain["f"], manifold["f"], atol=1e-8)
    np.testing.assert_allclose(deformed.rows(block) @ plain["alpha"], block @ manifold["alpha"], atol=1e-8)
    np.testing.assert_allclose(deformed.coefficients(plain["alpha"]), manifold["alpha"], atol=1e-6)


def test_without_the_graph_it_is_the_kernel(X, graph, rng):
    K, block = gram(X), gram(rng.normal(size=(2, 3)), X)
    deformed = deformed_kernel(K, graph, 0.0)
    assert deformed.matrix is K
    np.testing.assert_array_equal(deformed.rows(block), block)
    np.testing.assert_array_equal(deformed.coefficients(K[0]), K[0])


def test_a_singular_kernel_and_an_isolated_node(rng, tol):
    """No inverse of K exists: the features of K say what the deformed kernel is."""
    X = rng.normal(size=(12, 2))
    W = sm.graphs.knn_graph(X, n_neighbors=3).tolil()
    W[5], W[:, 5] = 0, 0
    L, K = sm.graphs.laplacian(W.tocsr()), gram(X, kernel="linear")
    expected = X @ np.linalg.solve(np.eye(2) + 3.0 * X.T @ (L @ X), X.T)
    np.testing.assert_allclose(deformed_kernel(K, L, 3.0).matrix, expected, atol=tol["linalg"])


# The same from features


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1e4])
def test_features_of_the_deformed_kernel(X, graph, ratio, rng, tol):
    F, new = np.tanh(X @ rng.normal(size=(3, 6))), rng.normal(size=(4, 6))
    features, deformed = deformed_features(F, graph, ratio), deformed_kernel(F @ F.T, graph, ratio)
    scale = tol["linalg"] * np.abs(F @ F.T).max()
    np.testing.assert_allclose(features.Z @ features.Z.T, deformed.matrix, rtol=0, atol=scale)
    np.testing.assert_allclose(features(new) @ features.Z.T, deformed.rows(new @ F.T), rtol=0, atol=scale)
    np.testing.assert_allclose(features(F), features.Z, rtol=0, atol=scale)


def test_new_samples_have_the_kernel_with_the_old_ones(X, rng, tol):
    new = rng.normal(size=(7, 3))
    options = {"kernel": "rbf", "gamma": 2.0}
    features, block = kernel_map(gram(X, **options)), gram(new, X, **options)
    np.testing.assert_allclose(features(block) @ features.Z.T, block, atol=tol["linalg"])
