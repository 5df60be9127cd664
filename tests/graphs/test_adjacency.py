"""The reader of a user's graph."""

import re

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from graph_samples import adjacency

from specmargin.graphs import check_adjacency, knn_graph, laplacian


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


@pytest.mark.parametrize("graph", [np.ones((3, 3)), nx.complete_graph(3)])
def test_the_warning_points_at_the_caller(graph):
    if isinstance(graph, nx.Graph):
        graph.add_edge(0, 0)
    with pytest.warns(UserWarning, match="self loops") as caught:
        check_adjacency(graph)
    assert caught[0].filename == __file__


def test_folds_of_cross_validation_are_recognised():
    graph = nx.path_graph(4)
    with pytest.raises(TypeError, match=r"a list of 2 neighbourhoods of nodes\. Cross-validation"):
        check_adjacency([graph[0], graph[1]])
    with pytest.raises(ValueError, match=r"got the shape \(3, 25\)\. Cross-validation"):
        check_adjacency(adjacency()[:3], n_samples=3)
