"""Principal components against scikit-learn's, RBF features against the centred kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from specmargin.kernels import gram, resolve_gamma
from specmargin.tables.candidates import ambient_maps
from specmargin.tables.candidates.ambient_maps import PrincipalComponents, RadialFeatures, Whitened


def samples(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.geomspace(3, 0.1, d)


@pytest.mark.parametrize(("n", "d", "rank"), [(80, 10, 4), (80, 10, 10), (30, 90, 12), (30, 90, 29), (400, 40, 5)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_components_are_those_of_scikit_learn(n, d, rank, offset):
    X = samples(n, d) + offset
    ours = PrincipalComponents(X, rank=rank)
    scores = PCA(rank, svd_solver="full").fit_transform(X - X.mean(axis=0))
    scores /= np.sqrt((scores**2).sum(axis=1).mean())
    assert ours.rank == rank
    np.testing.assert_allclose(np.abs(ours.values), np.abs(scores), atol=1e-8 * max(1.0, 1e-2 * offset))
    np.testing.assert_allclose(ours.at(X[:5]), ours.values[:5], atol=1e-9)


def test_components_of_many_samples_and_columns_are_searched_for(monkeypatch):
    X = samples(120, 60)
    exact = PrincipalComponents(X, rank=5)
    monkeypatch.setattr(ambient_maps, "_DENSE", 50)
    for A in (X, sp.csr_matrix(X - X.mean(axis=0))):
        near = PrincipalComponents(A, rank=5)
        np.testing.assert_allclose(near.values @ near.values.T, exact.values @ exact.values.T, atol=2e-2)
        np.testing.assert_allclose(near.at(A[:4]), near.values[:4], atol=1e-9)
        np.testing.assert_array_equal(PrincipalComponents(A, rank=5).values, near.values)


def test_components_without_variance_are_left_out():
    X = samples(50, 6)
    more = np.column_stack([X, X[:, :2], np.full(50, 3.0)])
    assert PrincipalComponents(more, rank=9).rank == 6
    assert PrincipalComponents(np.ones((7, 3)), rank=3).rank == 0


def test_whitened_components_have_the_variance_one():
    X = samples(70, 8)
    components = PrincipalComponents(X, rank=8)
    white = Whitened(components, 3)
    np.testing.assert_allclose(white.covariance, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(white.at(X[:4]), white.values[:4], atol=1e-10)


@pytest.mark.parametrize("width", [0.25, 1.0])
def test_radial_features_are_those_of_the_centred_kernel(width):
    X = samples(40, 3)
    features = RadialFeatures(X, width=width, rank=40)
    K = gram(X, kernel="rbf", gamma=resolve_gamma(X, "median") / width**2)
    H = np.eye(40) - 1 / 40
    np.testing.assert_allclose(features.values @ features.values.T, H @ K @ H, atol=1e-8)
    few = RadialFeatures(X, width=width, rank=7)
    assert few.rank == 7
    np.testing.assert_allclose(few.at(X[:6]), few.values[:6], atol=1e-8)


def test_landmarks_and_components_are_mapped_alike():
    X = samples(60, 5)
    components = PrincipalComponents(X, rank=5)
    scores = components.values[:, :2].copy()
    features = RadialFeatures(scores, width=0.5, rank=20, landmarks=scores[::2], components=components)
    np.testing.assert_allclose(features.at(X[:9]), features.values[:9], atol=1e-8)
    values = features.values
    features.forget()
    assert "values" not in vars(features)
    np.testing.assert_allclose(features.at(X[:9]), values[:9], atol=1e-8)


def test_samples_that_are_all_alike_have_no_features():
    assert (RadialFeatures(np.ones((9, 2)), width=1.0, rank=9).values == 0).all()
