"""The Laplacian against its definition, and the reader of foreign adjacencies."""

import copy
import pickle
import re

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.graphs import check_adjacency, knn_graph, laplacian


def adjacency(n=25, seed=0, isolated=()):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    W[list(isolated)] = 0.0
    W[:, list(isolated)] = 0.0
    return W + W.T


def explicit(W, normalized):
    d = W.sum(axis=1)
    if not normalized:
        return np.diag(d) - W
    root = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0.0)
    return np.diag((d > 0).astype(float)) - root[:, None] * W * root


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_matches_the_definition(normalized, power):
    W = adjacency(isolated=(4, 9))
    L = laplacian(sp.csr_array(W), normalized=normalized, power=power)
    dense = np.linalg.matrix_power(explicit(W, normalized), power)
    rng = np.random.default_rng(1)
    v, V = rng.normal(size=25), rng.normal(size=(25, 3))
    assert L.shape == (25, 25)
    np.testing.assert_allclose(L.toarray(), dense, atol=1e-9)
    np.testing.assert_allclose(L @ v, dense @ v, atol=1e-9)
    np.testing.assert_allclose(L @ V, dense @ V, atol=1e-9)
    np.testing.assert_allclose(v @ L, dense @ v, atol=1e-9)
    np.testing.assert_allclose(V.T @ L, V.T @ dense, atol=1e-9)
    assert L.quadratic(v) == pytest.approx(v @ dense @ v, rel=1e-12)
    np.testing.assert_allclose(L.degrees, W.sum(axis=1), rtol=1e-14)
    assert (L.power, L.normalized) == (power, normalized)
    assert L.matrix.nnz < 25 * 25
    assert abs(L.matrix - L.matrix.T).max() == 0


def test_quadratic_is_the_sum_over_edges():
    W = adjacency()
    f = np.random.default_rng(2).normal(size=25)
    L = laplacian(W, normalized=False)
    assert L.quadratic(f) == pytest.approx((W * (f[:, None] - f) ** 2).sum() / 2, rel=1e-12)
    with pytest.raises(ValueError, match=r"shape \(25,\), one value per node, got \(25, 2\)"):
        L.quadratic(np.ones((25, 2)))


def test_isolated_nodes_are_not_penalised():
    for normalized in (True, False):
        L = laplacian(adjacency(isolated=(3,)), normalized=normalized)
        assert L.quadratic(np.eye(25)[3]) == 0.0


def test_can_be_pickled_and_copied():
    L = laplacian(adjacency(), power=2)
    for other in (pickle.loads(pickle.dumps(L)), copy.deepcopy(L)):
        np.testing.assert_array_equal(other.toarray(), L.toarray())


@pytest.mark.parametrize("power", [0, -1, 1.5, 2.0, True, "2"])
def test_power_must_be_a_positive_integer(power):
    with pytest.raises(ValueError, match=f"power={power!r}"):
        laplacian(adjacency(), power=power)


@pytest.mark.parametrize("convert", [np.asarray, sp.coo_matrix, sp.csc_array, sp.csr_matrix, nx.from_numpy_array])
def test_every_kind_of_adjacency_is_read(convert):
    W = adjacency(isolated=(2,))
    read = check_adjacency(convert(W), n_samples=25)
    assert isinstance(read, sp.csr_array)
    np.testing.assert_array_equal(read.toarray(), W)


def test_a_clean_adjacency_is_returned_equal_and_not_shared():
    W = knn_graph(np.random.default_rng(3).normal(size=(20, 2)), 3)
    read = check_adjacency(W)
    assert abs(read - W).max() == 0
    read.data[:] = 7.0
    np.testing.assert_array_equal(W.data, 1.0)


def test_self_loops_are_removed_with_a_warning():
    W = sp.csr_array(adjacency() + np.diag([1.0, 2.0] + [0.0] * 23))
    with pytest.warns(UserWarning, match="2 self loops"):
        read = check_adjacency(W)
    np.testing.assert_array_equal(read.toarray(), adjacency())
    assert W[0, 0] == 1.0


def test_stored_zeros_and_integers_and_rounding():
    stored = sp.csr_array((np.array([0, 1, 1, 0]), ([0, 0, 1, 2], [2, 1, 0, 0])), shape=(3, 3))
    assert check_adjacency(stored).nnz == 2
    assert check_adjacency(np.array([[False, True], [True, False]])).dtype == np.float64
    rounded = check_adjacency(np.array([[0, 1.0], [1.0 + 1e-14, 0]]))
    assert rounded[0, 1] == rounded[1, 0]


W3 = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.5, 0.0]])


@pytest.mark.parametrize(
    ("W", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, "square, one row and one column per sample, got the shape (2, 3)"),
        (np.ones(3), ValueError, "W=array([1., 1., 1.]) must have two dimensions, got the shape (3,)"),
        (W3, ValueError, "not symmetric: W[1, 2] = 2 but W[2, 1] = 2.5; pass (W + W.T) / 2"),
        (-np.ones((2, 2)), ValueError, "4 negative weights, the first W[0, 0] = -1;"),
        (sp.csr_array([[0, np.nan], [np.nan, 0]]), ValueError, "2 weights that are not finite, the first W[0, 1]"),
        (np.array([["a"]]), TypeError, "holds <U1"),
        (np.ones((2, 2)) * 1j, TypeError, "holds complex128"),
        (nx.DiGraph([(0, 1)]), TypeError, "to_undirected"),
    ],
)
def test_errors_name_the_entry(W, error, message):
    with pytest.raises(error, match=re.escape(message)):
        check_adjacency(W)


def test_wrong_size_and_laplacian_instead_of_adjacency():
    with pytest.raises(ValueError, match="25 nodes but the data has 24 rows"):
        check_adjacency(adjacency(), n_samples=24)
    with pytest.raises(ValueError, match="if this is a Laplacian, pass its adjacency"):
        check_adjacency(laplacian(adjacency()).matrix)
