"""Components against networkx, and the one warning about them."""

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.exceptions import DisconnectedGraphWarning
from specmargin.graphs import components, warn_components


def pieces(sizes, seed=0):
    """Paths of the given sizes, their nodes shuffled."""
    graph = nx.disjoint_union_all([nx.path_graph(size) for size in sizes])
    order = np.random.default_rng(seed).permutation(sum(sizes))
    return nx.to_scipy_sparse_array(graph, dtype=float, format="csr")[order][:, order]


def test_components_match_networkx():
    W = pieces([3, 7, 1, 5, 1])
    parts = components(W)
    assert parts.n == 5
    assert parts.sizes.tolist() == [7, 5, 3, 1, 1]
    assert parts.n_isolated == 2
    expected = {frozenset(c) for c in nx.connected_components(nx.from_scipy_sparse_array(W))}
    assert {frozenset(np.flatnonzero(parts.index == k).tolist()) for k in range(5)} == expected
    np.testing.assert_array_equal(np.bincount(parts.index), parts.sizes)


def test_connected_graph_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warn_components(pieces([6]), np.array([0])).n == 1


@pytest.mark.parametrize("as_mask", [False, True])
def test_unreached_components_are_counted(as_mask):
    W = pieces([4, 3, 2, 1, 1])
    index = components(W).index
    labeled = np.flatnonzero(np.isin(index, [0, 2]))
    if as_mask:
        labeled = np.isin(np.arange(11), labeled)
    with pytest.warns(DisconnectedGraphWarning) as record:
        warn_components(W, labeled)
    assert len(record) == 1
    text = str(record[0].message)
    assert "5 components (sizes 4, 3, 2, ...; 2 isolated nodes), of which 3 with 5 samples hold no label" in text
    assert "predicted by the intercept/offset and, for kernel methods, by the kernel expansion" in text
    assert record[0].filename == __file__


def test_labels_everywhere():
    with pytest.warns(DisconnectedGraphWarning, match="each with a labelled sample; nothing is learnt across"):
        warn_components(pieces([4, 3]), np.arange(7))


def test_graph_without_edges():
    with pytest.warns(DisconnectedGraphWarning, match="3 components .*3 isolated nodes.*2 with 2 samples"):
        warn_components(sp.csr_array((3, 3)), np.array([1]))
