"""The normalised adjacency against its definition, written out with dense matrices."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.exceptions import InvalidInputError
from specmargin.graphs import laplacian, normalized_adjacency


@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.5])
def test_entries_are_those_of_the_definition(self_loops, rng):
    W = np.triu(rng.random((9, 9)) * (rng.random((9, 9)) < 0.4), 1)
    W[:, 4] = W[4] = 0  # a node without edges
    W = W + W.T
    A = W + self_loops * np.eye(9)
    degrees = A.sum(axis=1)
    root = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
    S = normalized_adjacency(W, self_loops=self_loops)
    np.testing.assert_allclose(S.toarray(), root[:, None] * A * root, atol=1e-15)
    assert abs(S - S.T).max() == 0
    assert np.abs(np.linalg.eigvalsh(S.toarray())).max() <= 1 + 1e-12
    assert S[4, 4] == (1 if self_loops else 0)


def test_without_loops_it_is_one_less_the_normalised_laplacian(rng):
    W = nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None)
    S = normalized_adjacency(W, self_loops=0)
    np.testing.assert_allclose(S.toarray(), np.eye(34) - laplacian(W).toarray(), atol=1e-15)


def test_graphs_of_networkx_are_read_in_their_own_order():
    G = nx.Graph([("b", "a"), ("a", "c")])
    S = normalized_adjacency(G)
    assert S.shape == (3, 3)
    assert S[1].toarray().ravel() == pytest.approx([1 / np.sqrt(6), 1 / 3, 1 / np.sqrt(6)])


@pytest.mark.parametrize("self_loops", [-1.0, np.nan, np.inf])
def test_weights_of_loops_are_checked(self_loops):
    with pytest.raises(InvalidInputError, match="must be a finite weight >= 0"):
        normalized_adjacency(sp.eye_array(2), self_loops=self_loops)


@pytest.mark.parametrize("W", [[[0, 1], [0, 0]], [[0, -1], [-1, 0]]])
def test_directed_and_negative_edges_are_refused(W):
    with pytest.raises(InvalidInputError, match=r"symmetric|negative"):
        normalized_adjacency(W)
