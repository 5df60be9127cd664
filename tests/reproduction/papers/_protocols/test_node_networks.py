"""The networks: gradients against finite differences, Adam against its formula, training against the whole graph."""

import numpy as np
import pytest
import scipy.sparse as sp

from reproduction.papers._protocols import node_networks as networks
from reproduction.papers._protocols.node_networks import Adam, Network, pagerank, unit_rows
from reproduction.papers._protocols.node_sets import STAND_IN, node_graph, node_splits
from specmargin.graphs import normalized_adjacency


@pytest.fixture(scope="module")
def problem():
    return node_graph(STAND_IN), next(iter(node_splits(STAND_IN).values()))


def drawn(rng, first):
    """Return a network of random parts, weights, features and what is left out."""
    A = sp.random(7, 9, 0.5, format="csr", rng=rng) if first else None
    p = 9 if first else 7
    network = Network(A, rng.standard_normal((4, 7)), np.eye(3)[rng.integers(0, 3, 4)], 0.3)
    weights = rng.standard_normal((5, 6)), rng.standard_normal((6, 3))
    return network, weights, sp.random(p, 5, 0.7, format="csr", rng=rng), 2.0 * (rng.random((7, 6)) < 0.5)


@pytest.mark.parametrize("first", [True, False])
def test_gradients_are_central_differences(rng, first):
    network, weights, X, kept = drawn(rng, first)
    _, gradients = network.loss_and_gradient(weights, X, kept)
    for which, gradient in enumerate(gradients):
        for position in np.ndindex(gradient.shape):
            moved = []
            for step in (1e-6, -1e-6):
                changed = [w.copy() for w in weights]
                changed[which][position] += step
                moved.append(network.loss_and_gradient(tuple(changed), X, kept)[0])
            assert abs((moved[0] - moved[1]) / 2e-6 - gradient[position]) < 1e-7


def test_loss_is_cross_entropy_and_decay(rng):
    network, (V, U), X, kept = drawn(rng, True)
    logits = network.B @ ((np.maximum(network.A.toarray() @ X.toarray() @ V, 0) * kept) @ U)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = -np.log(p[network.targets > 0]).mean() + 0.15 * (V**2).sum()
    assert abs(network.loss_and_gradient((V, U), X, kept)[0] - expected) < 1e-12


def test_adam_by_its_sums(rng):
    """Moments as the weighted sums of all gradients that they are."""
    gradients = rng.standard_normal((5, 4))
    start = rng.standard_normal(4)
    weights = (start.copy(),)
    adam = Adam(weights, step=0.1)
    expected = start.copy()
    for t in range(1, 6):
        adam.update((gradients[t - 1],))
        first = 0.9 ** np.arange(t)[::-1] @ gradients[:t] / (0.9 ** np.arange(t)).sum()
        second = 0.999 ** np.arange(t)[::-1] @ gradients[:t] ** 2 / (0.999 ** np.arange(t)).sum()
        expected -= 0.1 * first / (np.sqrt(second) + 1e-8)
    np.testing.assert_allclose(weights[0], expected, rtol=1e-12)


def test_unit_rows():
    X = sp.csr_matrix([[3.0, -4.0], [0.0, 0.0]])
    np.testing.assert_allclose(unit_rows(X).toarray(), [[0.6, -0.8], [0, 0]])
    np.testing.assert_allclose(unit_rows(X, 1).toarray(), [[3 / 7, -4 / 7], [0, 0]])


def test_many_steps_of_pagerank_solve_its_equation(problem):
    graph, _ = problem
    S = normalized_adjacency(graph.W)
    F = graph.X.toarray()
    dense = 0.1 * np.linalg.solve(np.eye(len(F)) - 0.9 * S.toarray(), F)
    np.testing.assert_allclose(pagerank(S, graph.X, 0.1, 300), dense, atol=1e-12)
    two = 0.9**2 * S @ S @ F + 0.9 * 0.1 * S @ F + 0.1 * F
    np.testing.assert_allclose(pagerank(S, F, 0.1, 2), two, atol=1e-12)


@pytest.mark.parametrize("name", ["gcn", "appnp"])
def test_training_sees_all_that_matters(problem, monkeypatch, name):
    """Without dropout, the same as training on whole dense matrices: only nodes without influence were left out."""
    graph, split = problem
    monkeypatch.setattr(networks, "DROPOUT", 0.0)
    y = graph.y[split.train]
    got = getattr(networks, name)(graph.W, graph.X, y, split.train, 3, seed=4)
    S, F = normalized_adjacency(graph.W).toarray(), unit_rows(graph.X, 1)
    P = sum(0.1 * np.linalg.matrix_power(0.9 * S, k) for k in range(10)) + np.linalg.matrix_power(0.9 * S, 10)
    A, B = (sp.csr_matrix(S), S) if name == "gcn" else (None, P)
    hidden, decay = (16, 5e-4) if name == "gcn" else (64, 5e-3)
    V, U = networks.train_network(Network(A, B[split.train], np.eye(3)[y], decay), F, hidden, 4)
    expected = B @ np.maximum((S if name == "gcn" else np.eye(len(S))) @ (F @ V), 0) @ U
    np.testing.assert_allclose(got, expected, atol=1e-6)
    assert np.abs(got).max() > 0.5


@pytest.mark.parametrize("name", ["gcn", "appnp"])
def test_networks_learn_and_are_seeded(problem, name):
    graph, split = problem
    fit = getattr(networks, name)
    f = fit(graph.W, graph.X, graph.y[split.train], split.train, 3, 0)
    assert np.mean(f[split.test].argmax(axis=1) == graph.y[split.test]) > 0.85
    assert np.array_equal(f, fit(graph.W, graph.X, graph.y[split.train], split.train, 3, 0))
    assert not np.array_equal(f, fit(graph.W, graph.X, graph.y[split.train], split.train, 3, 1))


def test_half_is_left_out_and_the_mean_stays():
    kept = networks._kept((400, 500), np.random.default_rng(0))
    assert set(np.unique(kept)) == {0.0, 2.0}
    assert abs(kept.mean() - 1.0) < 0.01


def test_glorot_is_uniform_within_its_bound():
    w = networks.glorot(40, 20, np.random.default_rng(0))
    bound = np.sqrt(6 / 60)
    assert np.abs(w).max() <= bound
    assert abs(w.var() - bound**2 / 3) < 0.1 * bound**2 / 3
