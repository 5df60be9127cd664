"""The registries of edges: one function makes a kind or a weight that every graph and every estimator takes."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.graphs import KNN, NeighborSearch, knn_graph, neighbor_weights, radius_graph
from specmargin.graphs.weights import EDGE_WEIGHTS, KINDS, edge_weight, neighbor_kind

X = np.array([[0.0, 3.0], [1.0, 2.0], [3.0, 1.0], [7.0, 5.0], [8.0, 5.0], [9.0, 7.0]])


@pytest.fixture
def registered():
    """Take back what a test registers."""
    known = [(registry, dict(registry)) for registry in (EDGE_WEIGHTS, KINDS)]
    yield
    for registry, before in known:
        registry.clear()
        registry.update(before)


@pytest.mark.filterwarnings("ignore:the graph has 2 components")
def test_a_weight_is_checked_by_the_registry(registered):
    with pytest.raises(ValueError, match="weight='third' is unknown; take one of "):
        knn_graph(X, 2, weight="third")

    @edge_weight()
    def third(edges):
        return np.full(len(edges), 1.0 / 3.0)

    np.testing.assert_array_equal(knn_graph(X, 2, weight="third").data, 1.0 / 3.0)
    np.testing.assert_array_equal(radius_graph(X, 3.0, weight="third").data, 1.0 / 3.0)
    np.testing.assert_array_equal(neighbor_weights(X + 0.1, X, 2, weight="third").data, 1.0 / 3.0)
    y = np.array([0, -1, -1, 1, -1, -1])
    assert sm.LapSVM(graph=KNN(2, weight="third")).fit(X, y).score(X, [0, 0, 0, 1, 1, 1]) == 1.0
    with pytest.raises(ValueError, match=r"weight='gauss' is unknown; take one of binary, .*, third"):
        knn_graph(X, 2, weight="gauss")


def test_what_a_weight_declares_is_asked_for(registered):
    @edge_weight(angles=True)
    def squared_cosine(edges):
        return edges.cosines**2

    @edge_weight(neighbors=True)
    def scaled(edges):
        own, other = edges.scales
        return np.minimum(own, other)

    with pytest.raises(ValueError, match=re.escape("make the NeighborSearch with angles=True")):
        knn_graph(NeighborSearch(X), 2, weight="squared_cosine")
    with pytest.raises(ValueError, match="weight='squared_cosine' needs the rows, not their distances; take one of "):
        knn_graph(np.ones((6, 6)) - np.eye(6), 2, weight="squared_cosine", metric="precomputed")
    with pytest.raises(ValueError, match="weight='scaled' measures in neighbours"):
        radius_graph(X, 1.0, weight="scaled")
    # 1 is next to 0, and two apart from 2: scales are the distances to the nearest other row.
    line = np.array([[0.0], [1.0], [3.0]])
    assert knn_graph(line, 1, weight="scaled").toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    length = np.linalg.norm(X, axis=1)
    cosines = X @ X.T / np.outer(length, length)
    W = knn_graph(X, 2, weight="squared_cosine").tocoo()
    np.testing.assert_allclose(W.data, cosines[W.row, W.col] ** 2, rtol=1e-12)


def test_nothing_is_computed_that_a_weight_does_not_read(monkeypatch):
    search = NeighborSearch(X)
    monkeypatch.setattr(NeighborSearch, "distances", None)
    assert set(knn_graph(search, 2, weight="binary").data) == {1.0}


# 2 lists 1, which lists 0; 4 is nearest to 3 and lists it.
LINE = np.array([[0.0], [1.0], [3.0], [10.0], [14.0]])


def edges(kind):
    W = sp.triu(knn_graph(LINE, 1, kind=kind)).tocoo()
    return sorted(zip(W.row.tolist(), W.col.tolist(), strict=True))


def test_kinds_by_hand():
    assert edges("symmetric") == [(0, 1), (1, 2), (3, 4)]
    assert edges("mutual") == [(0, 1), (3, 4)]
    assert edges("mutual+mst") == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_a_kind_is_one_function(registered):
    with pytest.raises(ValueError, match="kind='joined' is unknown; take one of symmetric, mutual, mutual"):
        edges("joined")

    @neighbor_kind("joined")
    def joined(listed, search, k):
        return listed + listed.T

    assert edges("joined") == edges("symmetric")
    with pytest.raises(ValueError, match=r"take one of symmetric, mutual, mutual\+mst, joined"):
        edges("jointed")


def test_docstrings_list_the_kinds():
    assert "{" + ", ".join(f'"{kind}"' for kind in KINDS) + "}" in knn_graph.__doc__
