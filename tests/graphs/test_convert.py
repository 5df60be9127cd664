"""networkx in and out: weights, and features of nodes."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import check_adjacency, from_networkx, knn_graph, node_features, to_networkx


def named_graph():
    graph = nx.Graph()
    graph.add_nodes_from("dacb")
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 0.5)])
    graph.add_edge("c", "d")
    return graph


def test_rows_follow_the_nodes():
    W, nodes = from_networkx(named_graph())
    assert nodes == ["d", "a", "c", "b"]
    assert isinstance(W, sp.csr_array)
    expected = np.array([[0, 0, 1, 0], [0, 0, 0, 2], [1, 0, 0, 0.5], [0, 2, 0.5, 0]])
    np.testing.assert_array_equal(W.toarray(), expected)
    np.testing.assert_array_equal(check_adjacency(named_graph()).toarray(), expected)


def test_nodelist_and_weight():
    W, nodes = from_networkx(named_graph(), nodelist=["b", "a"], weight=None)
    assert nodes == ["b", "a"]
    assert W.toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_round_trip():
    W = knn_graph(np.random.default_rng(0).normal(size=(30, 2)), 4, weight="heat")
    names = [f"n{i}" for i in np.random.default_rng(1).permutation(30)]
    graph = to_networkx(W, nodes=names)
    assert list(graph.nodes) == names
    back, nodes = from_networkx(graph)
    assert nodes == names
    np.testing.assert_array_equal(back.toarray(), W.toarray())
    assert list(to_networkx(W).nodes) == list(range(30))
    again = to_networkx(graph)  # a graph of networkx is read, too: its nodes get the numbers of their rows
    assert list(again.nodes) == list(range(30))
    np.testing.assert_array_equal(from_networkx(again)[0].toarray(), W.toarray())


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (nx.DiGraph([(0, 1)]), TypeError, "directed.*to_undirected"),
        (nx.MultiGraph([(0, 1), (0, 1)]), TypeError, "multigraph; merge parallel edges"),
        (nx.Graph(), ValueError, "no nodes"),
        (np.eye(3), TypeError, "is no networkx.Graph"),
    ],
)
def test_other_graphs_are_refused(graph, error, message):
    with pytest.raises(error, match=message):
        from_networkx(graph)


def test_bad_names():
    with pytest.raises(ValueError, match="nodelist names 1 nodes that the graph lacks, the first 'z'"):
        from_networkx(named_graph(), nodelist=["a", "z"])
    with pytest.raises(ValueError, match="2 entries but only 1 different"):
        from_networkx(named_graph(), nodelist=["a", "a"])
    with pytest.raises(ValueError, match=r"1 names \(1 different\) for 2 rows"):
        to_networkx([[0, 1], [1, 0]], nodes=["a"])


# Features of nodes


def test_features_of_nodes_come_in_the_order_of_the_rows():
    graph = nx.Graph()
    graph.add_nodes_from("dacb")
    graph.add_edges_from(["ab", "bc", "cd"])
    names = list(graph)
    held = {name: [i, 2.0 * i] for i, name in enumerate(names)}
    nx.set_node_attributes(graph, held, "x")
    nx.set_node_attributes(graph, {name: i for i, name in enumerate(names)}, "height")
    np.testing.assert_array_equal(node_features(graph, "x"), [held[name] for name in from_networkx(graph)[1]])
    assert node_features(graph, "height").tolist() == [[float(i)] for i in range(len(names))]
    np.testing.assert_array_equal(node_features(graph, "x", nodelist=names[::-1]), node_features(graph, "x")[::-1])
    fitted = sm.SpectralFilterClassifier(filters="powers").fit(
        node_features(graph, "x"), [0, 1] + [-1] * (len(names) - 2), graph=graph
    )
    assert len(fitted.transduction_) == len(names)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"a": 1.0}, r"'b' has no attribute 'x' \(it has \[\]\)"),
        ({"a": 1.0, "b": "red"}, "'red' of the node 'b' is not 1 finite numbers"),
        ({"a": [1.0, 2.0], "b": [1.0]}, "is not 2 finite numbers"),
        ({"a": np.nan, "b": 1.0}, "of the node 'a' is not finite numbers"),
        ({"a": np.eye(2), "b": np.eye(2)}, "of the node 'a' is not finite numbers"),
    ],
)
def test_bad_features_of_nodes(held, message):
    graph = nx.Graph([("a", "b")])
    nx.set_node_attributes(graph, held, "x")
    with pytest.raises(InvalidInputError, match=message):
        node_features(graph, "x")


def test_features_are_of_nodes_of_a_graph():
    with pytest.raises(TypeError, match=r"no networkx\.Graph; pass the matrix of features itself"):
        node_features(np.eye(3), "x")
    with pytest.raises(InvalidInputError, match="no nodes"):
        node_features(nx.Graph(), "x")
    with pytest.raises(InvalidInputError, match="nodelist names 1 nodes that the graph lacks, the first 'z'"):
        node_features(nx.path_graph(2), "x", nodelist=["z"])
