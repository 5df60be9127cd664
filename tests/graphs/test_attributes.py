"""Features of the nodes of networkx graphs."""

import networkx as nx
import numpy as np
import pytest

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import from_networkx
from specmargin.graphs.attributes import node_features


def named_graph():
    graph = nx.Graph()
    graph.add_nodes_from("dacb")
    graph.add_edges_from(["ab", "bc", "cd"])
    return graph


def test_features_of_nodes_come_in_the_order_of_the_rows():
    graph = named_graph()
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
    with pytest.raises(InvalidInputError, match="nodelist names 'z'"):
        node_features(nx.path_graph(2), "x", nodelist=["z"])
