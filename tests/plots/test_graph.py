import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import kneighbors_graph

from specmargin.plots import GraphDisplay

RNG = np.random.default_rng(1)
X = RNG.standard_normal((50, 2))
W = kneighbors_graph(X, 4)
W = W.maximum(W.T)


def test_draws_every_edge_once(ax):
    display = GraphDisplay(X, W).plot(ax)
    segments = display.edges_.get_segments()
    dense = W.toarray()
    expected = {frozenset((i, j)) for i, j in zip(*np.nonzero(dense), strict=True)}
    row_of = {tuple(point): k for k, point in enumerate(X)}
    drawn = [frozenset(row_of[tuple(end)] for end in segment) for segment in segments]
    assert set(drawn) == expected
    assert len(drawn) == len(expected) == W.nnz // 2


def test_graphs_with_names_and_places_by_node(ax):
    graph = nx.path_graph(["c", "a", "b"])
    places = {"a": (0.0, 0.0), "b": (1.0, 0.0), "c": (0.0, 1.0)}
    frame = pd.DataFrame(places.values(), index=list(places))
    edges = nx.to_pandas_edgelist(graph)
    for X, W in ((places, graph), (frame, graph), (places, edges), (frame, nx.to_pandas_adjacency(graph))):
        display = GraphDisplay(X, W)
        np.testing.assert_array_equal(display.pairs, [[0, 1], [0, 2]])  # a to b, a to c
        for y in ({"c": 1, "b": 0}, pd.Series({"c": 1, "b": 0, "a": -1}), [-1, 0, 1]):
            display.plot(ax, y=y, legend=True)
            ax.clear()
    with pytest.raises(ValueError, match="y names 1 nodes"):
        display.plot(ax, y={"nobody": 0})


def test_heavier_edges_are_wider_and_darker(ax):
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 1.0
    W[1, 2] = W[2, 1] = 0.5
    W[2, 3] = W[3, 2] = 0.1
    edges = GraphDisplay(X[:4], W).plot(ax).edges_
    assert len(GraphDisplay(X[:4], 0 * W).plot(ax).edges_.get_segments()) == 0
    assert np.all(np.diff(edges.get_linewidths()) < 0)
    assert np.all(np.diff(edges.get_colors()[:, 3]) < 0)


def test_nodes_by_score_on_a_scale_centred_on_zero(ax):
    score = np.linspace(-1, 3, 50)
    display = GraphDisplay(X, W).plot(ax, score=score, score_label="second eigenvector")
    nodes = ax.collections[-1]
    np.testing.assert_array_equal(nodes.get_array(), score)
    assert nodes.get_clim() == (-3.0, 3.0)
    assert display.colorbar_.ax.get_ylabel() == "second eigenvector"
    assert nodes.get_zorder() > display.edges_.get_zorder()


def test_nodes_by_label(ax):
    y = np.where(np.arange(50) % 3 == 0, -1, np.arange(50) % 2)
    display = GraphDisplay(X, W).plot(ax, y=y, legend=True, title="Graph")
    sizes = [len(item.get_offsets()) for item in ax.collections if item is not display.edges_]
    assert sizes == [(y == -1).sum(), (y == 0).sum(), (y == 1).sum()]
    assert display.colorbar_ is None
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["unlabeled", "class 0", "class 1"]


def test_wrong_input_is_named(ax):
    with pytest.raises(ValueError, match="the graph has 50 nodes but the data has 10 rows"):
        GraphDisplay(X[:10], W)
    with pytest.raises(ValueError, match="both y and score"):
        GraphDisplay(X, W).plot(ax, y=np.zeros(50), score=np.zeros(50))
    with pytest.raises(ValueError, match=r"score has the shape \(3,\)"):
        GraphDisplay(X, W).plot(ax, score=np.zeros(3))
