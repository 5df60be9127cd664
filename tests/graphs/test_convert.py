"""networkx in and out."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.graphs import check_adjacency, from_networkx, knn_graph, to_networkx


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


def test_folds_of_cross_validation_are_recognised():
    graph = nx.path_graph(4)
    with pytest.raises(TypeError, match=r"a list of 2 neighbourhoods of nodes\. Cross-validation"):
        to_networkx([graph[0], graph[1]])


def test_bad_names():
    with pytest.raises(ValueError, match="nodelist names 1 nodes that the graph lacks, the first 'z'"):
        from_networkx(named_graph(), nodelist=["a", "z"])
    with pytest.raises(ValueError, match="2 entries but only 1 different"):
        from_networkx(named_graph(), nodelist=["a", "a"])
    with pytest.raises(ValueError, match=r"1 names \(1 different\) for 2 rows"):
        to_networkx([[0, 1], [1, 0]], nodes=["a"])
