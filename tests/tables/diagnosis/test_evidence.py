"""Decisions at left-out labels against refits, kernels against scikit-learn's, edges across boundaries by counting."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

import specmargin as sm
from specmargin.graphs import knn_graph
from specmargin.spectra import laplacian_eigenpairs
from specmargin.tables.candidates.held_out import targets
from specmargin.tables.diagnosis import evidence as module
from specmargin.tables.diagnosis.evidence import evidence, graph_features, linear_kernel, radial_kernel


def blobs(n: int = 120, classes: int = 2, distance: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % classes
    X = rng.standard_normal((n, 4))
    X[np.arange(n), truth] += distance
    return X, truth


def ridge(K: np.ndarray, kept: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Decide about all samples by a ridge on some, whose penalties are written out and solved as one system."""
    G, Y = K[np.ix_(kept, kept)], targets(codes[kept], n_classes)
    counts = (Y > 0).sum(axis=0)
    b0 = 2 * (counts + 2) / (len(kept) + 2 * n_classes) - 1
    lam = 0.1 * np.trace(K) / len(K)
    H = np.block([[G @ G + lam * G, G.sum(axis=1)[:, None]], [G.sum(axis=0)[None], np.array([[len(kept) + 10.0]])]])
    right = np.vstack([G @ Y, Y.sum(axis=0) + 10 * b0])
    v = np.linalg.lstsq(H, right, rcond=1e-13)[0]
    f = K[:, kept] @ v[:-1] + v[-1]
    return (f[:, 0] > 0).astype(int) if n_classes == 2 else f.argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 3])
def test_errors_are_those_of_refits(classes: int) -> None:
    X, truth = blobs(60, classes, 1.5)
    labeled = np.arange(24)
    codes = truth[labeled]
    W = knn_graph(X, 5)
    spectrum = laplacian_eigenpairs(W, q=30, normalized=True)
    told = evidence(spectrum, W, X, labeled, codes, None)

    def refitted(K: np.ndarray) -> float:
        wrong = [ridge(K, np.delete(labeled, i), codes, classes)[i] != codes[i] for i in range(24)]
        return float(np.mean(wrong))

    assert told.linear is not None
    assert told.radial is not None
    assert told.linear.error == refitted(linear_kernel(X, labeled)[labeled])
    assert told.radial.error == refitted(radial_kernel(X[labeled]))
    features = [graph_features(spectrum, m)[labeled] for m in (2, 8, 30)]
    assert told.graph.error == min(refitted(F @ F.T) for F in features)


def test_kernels() -> None:
    X, _ = blobs(30)
    labeled = np.arange(10)
    centred = X - X.mean(axis=0)
    expected = centred @ centred[labeled].T
    np.testing.assert_allclose(linear_kernel(X, labeled), expected, atol=1e-12)
    np.testing.assert_allclose(linear_kernel(sp.csr_matrix(X), labeled), expected, atol=1e-12)
    np.testing.assert_allclose(linear_kernel(X + 1e6, labeled), expected, atol=1e-8)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(linear_kernel(X, labeled, "cosine"), linear_kernel(unit, labeled), atol=1e-12)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    width = np.median(D[np.triu_indices(30, 1)]) / 2
    K = rbf_kernel(X, gamma=1 / (2 * width**2))
    np.testing.assert_allclose(radial_kernel(X), K, atol=1e-7)
    np.testing.assert_allclose(radial_kernel(D, "precomputed"), K, atol=1e-12)
    assert (radial_kernel(np.ones((4, 2))) == 1).all()


def test_boundary_counts_edges_between_sides() -> None:
    X, truth = blobs(80)
    W = knn_graph(X, 6)
    labeled = np.sort(np.concatenate([np.flatnonzero(truth == 0)[:22], np.flatnonzero(truth == 1)[:8]]))
    codes = truth[labeled]
    told = evidence(laplacian_eigenpairs(W, q=20, normalized=True), W, X, labeled, codes, None).boundary
    assert told is not None
    K = linear_kernel(X, labeled)
    G, Y = K[labeled], targets(codes, 2)
    lam = 0.1 * np.trace(G) / 30
    b0 = 2 * 10 / 34 - 1  # two labels of each class more
    v = np.linalg.solve(
        np.block([[G + lam * np.eye(30), np.ones((30, 1))], [np.ones((1, 30)), -10 * np.eye(1) / lam]]),
        np.append(Y[:, 0] - b0, 0.0),  # b - b0 is the last unknown, held by ten labels
    )
    f = K @ v[:-1]
    above = f >= np.sort(f)[int(80 * (1 - 10 / 34))]  # the classes' shares
    rows, cols = sp.triu(W, 1).nonzero()
    assert told.share == pytest.approx((above[rows] != above[cols]).mean())
    assert told.share < told.by_chance
    assert told.p_value < 0.2


@pytest.mark.parametrize("classes", [2, 4])
def test_random_labels_are_seldom_evidence(classes: int) -> None:
    X, _ = blobs(90, classes)
    W = knn_graph(X, 6)
    spectrum, rng, low = laplacian_eigenpairs(W, q=30, normalized=True), np.random.default_rng(1), []
    for seed in range(40):
        labeled = rng.permutation(90)[:30]
        codes = rng.permutation(np.arange(30) % classes)
        told = evidence(spectrum, W, X, labeled, codes, None, seed=seed)
        assert told.boundary is not None
        assert told.linear is not None
        low.append([told.graph.p_value < 0.05, told.linear.p_value < 0.05, told.boundary.p_value < 0.05])
    assert (np.mean(low, axis=0) <= 0.15).all()


def test_many_labels_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LABELS", 50)
    monkeypatch.setattr(module, "_BOUNDARY_LABELS", 20)
    monkeypatch.setattr(module, "_BOUNDARY_EDGES", 100)
    monkeypatch.setattr(module, "_BLOCK", 1000)
    X, truth = blobs(120, 3)
    W = knn_graph(X, 6)
    near = sm.graphs.NeighborSearch(X).kneighbors(n_neighbors=1)[1].ravel()
    told = evidence(laplacian_eigenpairs(W, q=20, normalized=True), W, X, np.arange(120), truth, near)
    assert told.n_labeled == told.n_paired == 50
    assert told.boundary is not None
    assert told.boundary.p_value < 0.05
    assert told.graph.error < 0.1
    assert told.nearest is not None
    assert told.nearest < 0.2


def test_supervised_is_the_one_that_errs_least() -> None:
    X, truth = blobs(100, 2, 2.0)
    W = knn_graph(X, 6)
    near = sm.graphs.NeighborSearch(X).kneighbors(n_neighbors=1)[1].ravel()
    spectrum = laplacian_eigenpairs(W, q=20, normalized=True)
    told = evidence(spectrum, W, X, np.arange(100), truth, near)
    assert told.linear is not None
    assert told.radial is not None
    errors = {"linear": told.linear.error, "radial": told.radial.error, "nearest": told.nearest}
    assert told.nearest == (truth[near] != truth).mean()
    assert errors[str(told.supervised)] == min(errors.values())
    assert told.majority == 0.5
    alone = evidence(spectrum, W, None, np.arange(100), truth, None)
    assert (alone.linear, alone.boundary, alone.supervised, alone.comparison) == (None, None, None, None)
    other = evidence(spectrum, W, X, np.arange(100), truth, near, metric="cityblock")
    assert other.linear is None
    assert other.radial is not None
