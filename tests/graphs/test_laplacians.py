"""The Laplacian and the normalised adjacency against their definitions."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from graph_samples import adjacency

from specmargin.exceptions import InvalidInputError
from specmargin.graphs import laplacian, normalized_adjacency


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


# The normalised adjacency, written out with dense matrices


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
