"""Graphs against `knn_graph`, weights of new samples against `neighbor_weights`, spectra by hand."""

import numpy as np
import pytest

from specmargin.graphs import knn_graph, neighbor_weights
from specmargin.spectra import extend, laplacian_eigenpairs
from specmargin.tables.candidates import ambient_maps
from specmargin.tables.candidates.ambient_maps import RadialFeatures
from specmargin.tables.candidates.graph_maps import Eigenvectors, NeighborView, filter_spectra, heat_graph


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((80, 3))


@pytest.mark.parametrize("k", [2, 5, 15])
def test_graphs_of_one_search_are_those_of_many(X, k):
    W = heat_graph(NeighborView(X, 15), k, len(X))
    np.testing.assert_allclose(W.toarray(), knn_graph(X, k, weight="heat").toarray(), rtol=1e-12)


@pytest.mark.parametrize("k", [2, 5])
def test_new_samples_get_the_means_of_their_neighbours(X, k):
    view = NeighborView(X, 15)
    features = Eigenvectors(heat_graph(view, k, len(X)), q=10, view=view, k=k)
    new = np.vstack([np.random.default_rng(1).standard_normal((20, 3)), X[:4]])
    weights = neighbor_weights(new, X, k, weight="heat")
    np.testing.assert_allclose(features.at(new), extend(features.values, weights), atol=1e-9)
    assert np.isfinite(features.at(np.full((1, 3), 1e6))).all()


def test_lanczos_and_lapack_give_the_same_kernels():
    X = np.random.default_rng(3).standard_normal((900, 2))
    view = NeighborView(X, 15)
    W = heat_graph(view, 15, 900)
    loose = Eigenvectors(W, q=60, view=view, k=15)
    exact = laplacian_eigenpairs(loose.laplacian, q=60, method="dense")
    np.testing.assert_allclose(loose.spectrum.eigenvalues, exact.eigenvalues, atol=1e-4)
    U = exact.eigenvectors * np.sqrt(900)
    U = U - U.mean(axis=0)
    for d in filter_spectra(exact.eigenvalues)[1][:3]:
        K, near = (U * d) @ U.T, (loose.values * d) @ loose.values.T
        assert np.abs(K - near).max() < 0.02 * np.abs(K).max()


def test_spectra_count_beyond_the_zeros():
    theta = np.concatenate([np.zeros(3), np.linspace(0.1, 1.0, 30)])
    names, d = filter_spectra(theta)
    np.testing.assert_allclose(d.sum(axis=1), 1.0)
    by_name = dict(zip(names, d, strict=True))
    np.testing.assert_allclose(by_name["p2 m20"] / by_name["p2 m20"][0], 1 / (1 + (theta / theta[23]) ** 2))
    np.testing.assert_allclose(by_name["step5"], np.repeat([1 / 8, 0.0], [8, 25]))
    assert np.isfinite(filter_spectra(np.zeros(5))[1]).all()


def test_neighbours_from_inner_products_are_those_of_the_search():
    X = np.random.default_rng(3).standard_normal((70, 90))
    X[7] = X[40]
    searched, computed = NeighborView(X, 6), NeighborView(X, 6, products=X @ X.T)
    np.testing.assert_array_equal(computed.indices, searched.indices)
    np.testing.assert_allclose(computed.distances, searched.distances, atol=1e-10)
    assert computed.distances[7, 0] == 0.0
    assert computed.neighbors(X[7:8])[0][0, 0] == 0.0


def test_what_several_maps_compute_of_new_samples_is_computed_once(X, monkeypatch):
    view = NeighborView(X, 15)
    maps = [Eigenvectors(heat_graph(view, k, len(X)), q=10, view=view, k=k) for k in (2, 5, 15)]
    maps += [RadialFeatures(X, width=width, rank=20, landmarks=X) for width in (0.5, 1.0)]
    new = np.random.default_rng(1).standard_normal((20, 3))
    alone = [features.at(new) for features in maps]
    calls = []
    for place, name in ((NeighborView, "neighbors"), (ambient_maps, "squared_distances")):
        own = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given, own=own, name=name: calls.append(name) or own(*given))
    known = {}
    for features, values in zip(maps, alone, strict=True):
        np.testing.assert_array_equal(features.at(new, known), values)
    assert calls == ["neighbors", "squared_distances"]
    np.testing.assert_allclose(alone[3], maps[3]._map(new) - maps[3]._mean, atol=1e-12)
