"""Kernels of blocks and landmarks, against stored matrices and the defining formula."""

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.kernels import (
    BlockKernel,
    gram,
    landmark_features,
)

KERNELS = pytest.mark.parametrize(
    "keywords", [{"kernel": "rbf", "gamma": 0.3}, {"kernel": "poly", "gamma": 0.5, "degree": 2}, {"kernel": "linear"}]
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(37, 4))


@KERNELS
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_the_stored_kernel(X, keywords, sparse, rng, tol):
    K = gram(X, **keywords)
    blocks = BlockKernel(sp.csr_array(X) if sparse else X, **keywords, block_elements=100)
    V = rng.normal(size=(37, 3))
    np.testing.assert_allclose(blocks @ V, K @ V, atol=tol["linalg"])
    np.testing.assert_allclose(blocks @ V[:, 0], K @ V[:, 0], atol=tol["linalg"])
    np.testing.assert_allclose(blocks.rows(np.array([3, 0])), K[[3, 0]], atol=1e-12)
    np.testing.assert_allclose(np.asarray(blocks), K, atol=1e-12)
    assert blocks.trace() == pytest.approx(np.trace(K))
    assert (len(blocks), blocks.shape) == (37, (37, 37))


def test_a_rule_for_the_width_is_that_of_all_samples(X):
    np.testing.assert_allclose(np.asarray(BlockKernel(X, gamma="median")), gram(X, gamma="median"), atol=1e-12)


@KERNELS
def test_landmarks_give_nystroms_kernel(X, keywords):
    """k(x, Z) k(Z, Z)^+ k(Z, x'), with a pseudo-inverse, for training and for new samples."""
    features = landmark_features(X, 12, include=np.array([5, 30]), random_state=1, **keywords)
    Z, new = features.landmarks, X[:5] + 0.2
    if len(Z) == 12:
        assert (X[5] == Z).all(axis=1).any()
    else:  # those that the others span are left out: of this kernel four span all
        assert keywords["kernel"] == "linear"
        assert len(Z) == 4
        np.testing.assert_allclose(features(X) @ features(X).T, X @ X.T, atol=1e-7)
    inverse = np.linalg.pinv(gram(Z, **keywords), rcond=1e-12, hermitian=True)
    expected = gram(X, Z, **keywords) @ inverse @ gram(Z, X, **keywords)
    np.testing.assert_allclose(features(X) @ features(X).T, expected, atol=1e-7)
    np.testing.assert_allclose(
        features(new) @ features(X).T, gram(new, Z, **keywords) @ inverse @ gram(Z, X, **keywords), atol=1e-7
    )
    rank = np.linalg.matrix_rank(gram(Z, **keywords), tol=1e-10)
    assert features.W.shape == (rank, rank)
    assert np.array_equal(features.W, np.triu(features.W))


def test_all_samples_as_landmarks_lose_nothing(X):
    F = landmark_features(X, 37, gamma=0.3)(X)
    np.testing.assert_allclose(F @ F.T, gram(X, gamma=0.3), atol=1e-10)


def test_blocks_cannot_be_factorised_but_serve_conjugate_gradients(rng):
    X = rng.normal(size=(50, 3))
    labels = sm.encode_labels(np.where(np.arange(50) < 8, np.arange(50) % 2, -1))
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=5), normalized=True)
    keywords = {"loss": "squared_hinge", "gamma_A": 0.1, "gamma_I": 1.0}
    blocks = sm.objectives.LapSVM(BlockKernel(X, gamma=0.5, block_elements=200), L, labels, **keywords)
    with pytest.raises(TypeError, match="BlockKernel is not stored"):
        sm.solvers.factorized(blocks)
    from specmargin.solvers.manifold.pcg import pcg

    stored = sm.solvers.factorized(sm.objectives.LapSVM(gram(X, gamma=0.5), L, labels, **keywords))
    result = pcg(blocks, stopping="gradient", tol=1e-10, max_iter=2000)
    assert result.certificate.is_optimal(1e-8)
    np.testing.assert_allclose(result.variables["f"], stored.variables["f"], atol=1e-5)
