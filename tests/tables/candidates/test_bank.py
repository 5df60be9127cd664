"""The bank: every group is a kernel, deformed ones are those of the package, new samples get the same features."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin import graphs, kernels
from specmargin.tables.candidates.bank import build_bank
from specmargin.tables.candidates.constants import CONSTANTS, FAMILIES


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((90, 40)) * np.linspace(2, 0.1, 40) + 3.0


@pytest.fixture(scope="module")
def bank(X):
    return build_bank(X, families=FAMILIES)


def test_families_and_sizes(bank):
    sizes = {family: sum(len(g.names) for g in bank if g.family == family) for family in ("sup", "pca", "graph", "lap")}
    assert sizes == {"sup": 4, "pca": 8, "graph": 35, "lap": 16}
    assert len({id(g.map) for g in bank}) < 20
    assert all(g.weights.shape == (len(g.names), g.labeled(np.arange(2)).shape[1]) for g in bank)
    assert all((g.weights >= 0).all() for g in bank)


def test_features_are_centred_and_extend(bank, X):
    for group in bank:
        values = group.map.values
        assert np.abs(values.mean(axis=0)).max() < 1e-9 * np.abs(values).max()
        np.testing.assert_allclose(group.map.at(X[:7]), values[:7], atol=1e-6 * np.abs(values).max())
        np.testing.assert_allclose(
            group.map.covariance, np.cov(values.T, bias=True).reshape(group.map.rank, -1), atol=1e-9
        )


def test_deformed_kernels_are_those_of_the_package(bank, X):
    groups = [g for g in bank if g.family == "lap"]
    for group in (groups[0], groups[3], groups[-1]):
        K = group.map.values @ group.map.values.T
        power = int(group.names[0].split("power ")[1][0])
        k = int(group.names[0].split(", ")[1].split()[0])
        L = graphs.laplacian(graphs.knn_graph(X, k, weight="heat"), power=power)
        for d, ratio in zip(group.weights, CONSTANTS.ratios, strict=True):
            features = group.labeled(np.arange(90))
            np.testing.assert_allclose(
                (features * d) @ features.T, kernels.deformed_kernel(K, L, ratio).matrix, atol=1e-7 * np.abs(K).max()
            )


def test_the_linear_kernel_is_that_of_the_centred_samples(bank, X):
    values = bank[0].map.values
    centred = X - X.mean(axis=0)
    K = centred @ centred.T
    np.testing.assert_allclose(values @ values.T, K * len(X) / np.trace(K), atol=1e-10)


@pytest.mark.parametrize("shape", [(60, 200), (60, 30)])
@pytest.mark.parametrize("density", [0.2, 0.03])
def test_sparse_samples_have_the_features_of_dense_ones(shape, density):
    S = sp.random_array(shape, density=density, rng=np.random.default_rng(1), format="csr")
    sparse, dense = (build_bank(A, families=("sup", "pca")) for A in (S, S.toarray()))
    for a, b in zip(sparse, dense, strict=True):
        np.testing.assert_allclose(a.map.values @ a.map.values.T, b.map.values @ b.map.values.T, atol=1e-7)
    new = S[:3]
    np.testing.assert_allclose(sparse[0].map.at(new), sparse[0].map.values[:3], atol=1e-9)


def test_landmarks_serve_many_samples(X):
    few = replace(CONSTANTS, landmarks=40)
    group = build_bank(X, families=("sup",), constants=few)[1]
    assert group.map.rank <= 40
    np.testing.assert_allclose(group.map.at(X[:5]), group.map.values[:5], atol=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_units_and_origin_do_not_matter(X, scale, offset):
    moved = build_bank(scale * (X + offset), families=FAMILIES)
    plain = build_bank(X, families=FAMILIES)
    for a, b in zip(moved, plain, strict=True):
        if a.family in ("sup", "pca"):
            P, Q = a.map.values, b.map.values
            np.testing.assert_allclose(P @ P.T, Q @ Q.T, atol=1e-6 * np.abs(Q @ Q.T).max())
        else:
            np.testing.assert_allclose(a.weights, b.weights, atol=1e-5)


def test_a_given_graph_takes_the_place_of_all_others(X):
    W = graphs.knn_graph(X, 4)
    groups = build_bank(X, families=("graph", "lap"), graph=W)
    assert {g.names[0].split(",")[0] for g in groups if g.family == "graph"} == {"given graph"}
    assert sum(len(g.names) for g in groups) == 7 + 4
