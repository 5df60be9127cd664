"""The stable eigenproblem against dense ones, closed forms on a ring, smaller exact problems, and two limits."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import scipy.linalg as sla
from scipy.sparse.csgraph import laplacian
from sklearn.decomposition import KernelPCA
from sklearn.manifold import SpectralEmbedding
from sklearn.preprocessing import KernelCenterer

import specmargin as sm
from specmargin.objectives.clustering import RegularizedClustering
from specmargin.results import Status
from specmargin.solvers.manifold.eigenmaps import eigenmaps


def moons(n=120, seed=0, n_neighbors=6, normalized=False):
    X, _ = sm.datasets.make_two_moons(n_samples=n, noise=0.1, random_state=seed)
    return X, sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=n_neighbors), normalized=normalized)


def reduced_eigh(penalty, mass, constraint, m):
    """The m lowest eigenpairs of penalty against mass on the orthogonal complement of the constraint."""
    N = sla.null_space(constraint[None])
    theta, V = sla.eigh(N.T @ penalty @ N, N.T @ mass @ N)
    return theta[:m], N @ V[:, :m]


def same_up_to_sign(a, b):
    return max(np.abs(x - np.sign(x @ y) * y).max() for x, y in zip(a.T, b.T, strict=True))


# Against dense solutions


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 100.0])
def test_it_agrees_with_the_inverse_of_a_well_conditioned_kernel(normalized, gamma, tol):
    X, L = moons(normalized=normalized)
    K = sm.kernels.gram(X, gamma=200.0)
    theta, f = reduced_eigh(gamma * np.linalg.inv(K) + L.toarray(), np.eye(120), np.ones(120), 4)
    result = eigenmaps(RegularizedClustering(K, L, gamma), 4)
    np.testing.assert_allclose(result.variables["eigenvalues"], theta, rtol=tol["linalg"])
    assert same_up_to_sign(result.variables["f"], f) < 1e-8
    assert same_up_to_sign(result.variables["alpha"], np.linalg.solve(K, f)) < 1e-5
    assert result.status is Status.OPTIMAL
    assert result.certificate.dual_residual < 1e-9


def test_repeated_samples_are_a_problem_of_the_distinct_ones(tol):
    X, _ = moons(n=40)
    repeat = np.random.default_rng(1).integers(1, 4, size=40)
    E = np.repeat(np.eye(40), repeat, axis=0)
    distinct = sm.kernels.gram(X, gamma=200.0)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(E @ X, n_neighbors=6), normalized=False).toarray()
    penalty = 0.05 * np.linalg.inv(distinct) + E.T @ L @ E
    theta, f = reduced_eigh(penalty, E.T @ E, E.sum(axis=0), 3)
    result = eigenmaps(RegularizedClustering(E @ distinct @ E.T, L, 0.05), 3)
    np.testing.assert_allclose(result.variables["eigenvalues"], theta, rtol=tol["linalg"])
    assert same_up_to_sign(result.variables["f"], E @ f) < 1e-8
    assert result.certificate.is_optimal(1e-10)


def test_a_ring_in_closed_form():
    """Circulant K and L share the Fourier basis: lambda_k = theta_k + gamma / w_k, at any condition of K."""
    n, gamma = 41, 0.01
    k = np.arange(1, n // 2 + 1)
    wave = np.exp(2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n) / np.sqrt(n)
    frequency = np.minimum(np.arange(n), n - np.arange(n))
    w = 10.0 ** (2 - frequency)  # down to 1e-18, a condition of 1e20
    K = ((wave * w) @ wave.conj().T).real
    L = laplacian(nx.to_numpy_array(nx.cycle_graph(n)))
    closed = np.repeat(2 - 2 * np.cos(2 * np.pi * k / n) + gamma / w[k], 2)
    result = eigenmaps(RegularizedClustering((K + K.T) / 2, L, gamma), 6)
    np.testing.assert_allclose(result.variables["eigenvalues"], closed[:6], rtol=1e-9)
    # Every eigenvalue is double: the plane is known, not its basis.
    F = np.abs(wave.conj().T @ result.variables["f"]) ** 2
    shares = np.array([F[frequency == j].sum(axis=0) for j in (1, 2, 3)])
    np.testing.assert_allclose(shares, np.repeat(np.eye(3), 2, axis=1), atol=1e-9)


# At any condition

ILL_CONDITIONED = {
    "narrow": ("rbf", 10.0, 1),
    "wide": ("rbf", 1e-2, 1),
    "very wide": ("rbf", 1e-4, 1),
    "copies": ("rbf", 1.0, 3),
    "polynomial": ("poly", 0.5, 1),
    "linear": ("linear", 1.0, 2),
}


@pytest.mark.parametrize("name", ILL_CONDITIONED)
@pytest.mark.parametrize(("gamma", "normalized"), [(1e-4, False), (1e-4, True), (1.0, True)])
def test_what_is_returned_is_what_it_claims(name, gamma, normalized):
    kernel, width, copies = ILL_CONDITIONED[name]
    X = np.repeat(moons(n=240 // copies)[0], copies, axis=0)
    K = sm.kernels.gram(X, kernel=kernel, gamma=width, degree=4)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6), normalized=normalized)
    obj = RegularizedClustering(K, L, gamma)
    result = eigenmaps(obj, 1)
    alpha, f, theta = (result.variables[key] for key in ("alpha", "f", "eigenvalues"))
    again = np.asfortranarray(K) @ alpha  # another order of summation
    assert np.abs(again.sum(axis=0)).max() < 1e-9
    assert np.linalg.norm(again) == pytest.approx(1.0, abs=1e-9)
    assert np.linalg.norm(again - f) < 1e-9
    quotient = (gamma * alpha[:, 0] @ again[:, 0] + again[:, 0] @ (L @ again[:, 0])) / (again[:, 0] @ again[:, 0])
    eigenvalue = obj.basis.lowest(obj.forms, 1)[0]
    np.testing.assert_allclose([quotient, theta[0]], [eigenvalue[0]] * 2, rtol=1e-8)
    assert result.status is Status.OPTIMAL
    assert obj.stationarity(alpha).max() < 1e-7


def test_an_answer_beyond_float64_says_so():
    X, L = moons(n=240)
    result = eigenmaps(RegularizedClustering(sm.kernels.gram(X, gamma=1e-2), L, 1e-9))
    assert result.status is Status.OPTIMAL_INACCURATE
    assert result.certificate.primal_residual > 1e-8


def test_a_violation_alone_keeps_an_answer_from_being_optimal(monkeypatch):
    X, L = moons(n=60)
    obj = RegularizedClustering(sm.kernels.gram(X, gamma=4.0), L, 0.1)
    assert eigenmaps(obj).status is Status.OPTIMAL
    measured = RegularizedClustering.prove
    monkeypatch.setattr(
        RegularizedClustering,
        "prove",
        lambda self, alpha, tol: replace(measured(self, alpha, tol=tol), primal_residual=1e-7),
    )
    result = eigenmaps(obj)
    assert result.certificate.is_optimal(1e-8)
    assert result.status is Status.OPTIMAL_INACCURATE


# Two limits


def test_small_gamma_is_laplacian_eigenmaps():
    """On a regular graph both Laplacians, and scikit-learn's scaling of the eigenvectors, agree."""
    W = nx.to_numpy_array(nx.random_regular_graph(4, 40, seed=3))
    embedding = SpectralEmbedding(3, affinity="precomputed", eigen_solver="lobpcg", random_state=0).fit(W)
    expected = embedding.embedding_ / np.linalg.norm(embedding.embedding_, axis=0)
    K = np.exp(-0.05 * (np.subtract.outer(np.arange(40), np.arange(40)) ** 2))
    K += 0.1 * np.eye(40)
    results = [eigenmaps(RegularizedClustering(K, laplacian(W), gamma), 3) for gamma in (1e-3, 1e-4, 1e-5)]
    distance = [same_up_to_sign(result.variables["f"], expected) for result in results]
    np.testing.assert_allclose(np.divide(distance[:-1], distance[1:]), 10, rtol=0.1)  # the first order in gamma
    assert distance[-1] < 1e-3


def test_large_gamma_is_kernel_pca(tol):
    X, L = moons()
    K = KernelCenterer().fit_transform(sm.kernels.gram(X, gamma=1.0))
    pca = KernelPCA(3, kernel="precomputed").fit((K + K.T) / 2)
    values = [eigenmaps(RegularizedClustering((K + K.T) / 2, L, g), 3).variables for g in (1e6, 1e7)]
    np.testing.assert_allclose(values[1]["eigenvalues"] / 1e7, 1 / pca.eigenvalues_, rtol=1e-4)
    distance = [same_up_to_sign(v["f"], pca.eigenvectors_) for v in values]
    assert distance[0] / distance[1] == pytest.approx(10, rel=0.1)
    assert distance[1] < 1e-4


# Graphs that fall apart


def test_components_cost_the_ambient_norm_only():
    W = sla.block_diag(np.ones((5, 5)), np.ones((4, 4)), np.ones((6, 6))) - np.eye(15)
    X = np.random.default_rng(0).normal(size=(15, 2))
    K, L = sm.kernels.gram(X, gamma=1.0), laplacian(W)
    result = eigenmaps(RegularizedClustering(K, L, 1e-6), 3)
    theta, f = result.variables["eigenvalues"], result.variables["f"]
    assert theta[1] < 1e-3 < 1.0 < theta[2]
    for part in (slice(0, 5), slice(5, 9), slice(9, 15)):
        assert np.ptp(f[part, :2], axis=0).max() < 1e-3
    assert result.certificate.is_optimal(1e-8)


@pytest.mark.parametrize("gamma", [1e-12, 1e-16, 1e-25])
def test_weights_beyond_rounding_leave_the_rest_exact(gamma):
    """Components cost next to nothing; the block of four, the loosest, is the next to be cut, at 4."""
    W = sla.block_diag(np.ones((5, 5)), np.ones((4, 4)), np.ones((6, 6))) - np.eye(15)
    K = sm.kernels.gram(np.random.default_rng(0).normal(size=(15, 2)), gamma=1.0)
    theta = eigenmaps(RegularizedClustering(K, laplacian(W), gamma), 4).variables["eigenvalues"]
    np.testing.assert_allclose(theta, [0, 0, 4, 4], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("normalized", [False, True])
def test_nodes_without_edges(normalized, tol):
    X, _ = moons(n=30)
    W = sm.graphs.knn_graph(X, n_neighbors=4).tolil()
    W[[3, 7], :] = 0
    W[:, [3, 7]] = 0
    L = sm.graphs.laplacian(W.tocsr(), normalized=normalized)
    K = sm.kernels.gram(X, gamma=200.0)
    result = eigenmaps(RegularizedClustering(K, L, 0.01), 3)
    theta, f = reduced_eigh(0.01 * np.linalg.inv(K) + L.toarray(), np.eye(30), np.ones(30), 3)
    np.testing.assert_allclose(result.variables["eigenvalues"], theta, rtol=tol["linalg"])
    assert same_up_to_sign(result.variables["f"], f) < 1e-7


# What is said about the answer, and bad input


def test_the_largest_entry_is_positive_and_the_order_rises():
    X, L = moons()
    result = eigenmaps(RegularizedClustering(sm.kernels.gram(X, gamma=5.0), L, 0.1), 5)
    f = result.variables["f"]
    assert f.shape == result.variables["alpha"].shape == (120, 5)
    assert (f[np.abs(f).argmax(axis=0), np.arange(5)] > 0).all()
    assert (np.diff(result.variables["eigenvalues"]) > 0).all()
    first = eigenmaps(RegularizedClustering(sm.kernels.gram(X, gamma=5.0), L, 0.1), 1)
    np.testing.assert_allclose(first.variables["f"], f[:, :1], atol=1e-9)


def test_fewer_functions_than_components():
    X = np.random.default_rng(0).normal(size=(30, 2)) + 1.0
    obj = RegularizedClustering(X @ X.T, np.eye(30), 1.0)
    assert eigenmaps(obj, 1).status is Status.OPTIMAL
    with pytest.raises(ValueError, match="n_components=2, but the kernel of 30 samples has 1 functions with mean zero"):
        eigenmaps(obj, 2)
    with pytest.raises(ValueError, match="kernel of 3 samples has 2"):
        eigenmaps(RegularizedClustering(np.eye(3), np.eye(3), 1.0), 3)


def test_an_indefinite_laplacian_is_an_error():
    with pytest.raises(sm.SolverError, match="L is positive semidefinite"):
        eigenmaps(RegularizedClustering(np.eye(4), -np.eye(4), 0.5), 1)


@pytest.mark.parametrize("width", [1.0, 1e-2, 1e-4])
def test_equation_13_as_printed_fails(width):
    """Not on every machine and not in every order of the samples, which change nothing but the rounding."""
    X, L = moons(n=100)
    K, gamma = sm.kernels.gram(X, gamma=width), 0.01
    P = np.eye(100) - np.outer(K.sum(axis=0), K.sum(axis=0)) / (K.sum(axis=0) @ K.sum(axis=0))
    least = []
    for seed in range(10):
        order = np.ix_(*2 * [np.random.default_rng(seed).permutation(100)])
        printed = sla.eigvals((P @ (gamma * K + K @ (L @ K)) @ P)[order], (P @ K @ K @ P)[order])  # eq. 13
        least.append(printed.real[np.isfinite(printed)].min())
    assert min(least) < -1e-3  # a quotient of squares cannot be negative
    with pytest.raises(np.linalg.LinAlgError):
        sla.eigh(P @ (gamma * K + K @ (L @ K)) @ P, P @ K @ K @ P)
    assert eigenmaps(RegularizedClustering(K, L, gamma)).variables["eigenvalues"][0] > 1e-3
