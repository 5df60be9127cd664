"""The graphs: sizes of the splits, who is labelled, homophily, archives like Cora's and Texas's."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from reproduction.data.registry import REGISTRY
from reproduction.papers._protocols import node_sets as sets
from reproduction.papers._protocols.node_sets import NODE_TASKS, STAND_IN, edge_homophily, homophily_task


@pytest.fixture
def archives(nowhere, rng, monkeypatch):
    """Put graphs of 240 nodes into the data folder: "cora" with lists of nodes, "texas" with masks of two splits."""
    n = 240
    y = rng.permutation(np.repeat(np.arange(3), n // 3))
    X, W = sp.csr_matrix(rng.random((n, 12)) < 0.3, dtype=float), sp.random(n, n, 0.02, format="csr", rng=rng)
    W = sp.csr_matrix((W + W.T) > 0, dtype=float)
    order = rng.permutation(n)
    masks = np.zeros((3, 2, n), dtype=bool)
    for k in range(2):
        for part, nodes in enumerate(np.split(rng.permutation(n), [120, 180])):
            masks[part, k, nodes] = True
    parts = {
        "cora": dict(zip(("train_idx", "val_idx", "test_idx"), np.split(order, [30, 90]), strict=True)),
        "texas": dict(zip(("train_idx", "val_idx", "test_idx"), masks, strict=True)),
    }
    for name, part in parts.items():
        matrices = {
            f"{letter}_{field}": np.asarray(getattr(A, field))
            for letter, A in (("X", X), ("W", W))
            for field in ("data", "indices", "indptr", "shape")
        }
        path = nowhere / f"{name}.npz"
        np.savez(path, y=y, **matrices, **part)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        monkeypatch.setitem(REGISTRY, name, replace(REGISTRY[name], sha256=digest))
    return nowhere, y, parts


def test_lists_of_nodes_are_the_public_split(archives):
    data, y, parts = archives
    task = NODE_TASKS["cora"]
    graph, (split,) = sets.node_graph(task, data), sets.node_splits(task, data).values()
    assert graph.y.tolist() == y.tolist()
    assert graph.n_classes == 3
    assert graph.W.shape == (240, 240)
    assert (graph.W != graph.W.T).nnz == 0
    assert split.train.tolist() == sorted(parts["cora"]["train_idx"])
    assert split.test.tolist() == sorted(parts["cora"]["test_idx"])


def test_masks_are_splits_without_the_validation_nodes(archives):
    data, _, parts = archives
    splits = sets.node_splits(NODE_TASKS["texas"], data)
    assert list(splits) == ["published-00", "published-01"]
    for k, split in enumerate(splits.values()):
        used = np.zeros(240, dtype=bool)
        used[split.train] = used[split.test] = True
        assert np.array_equal(~used, parts["texas"]["val_idx"][k])
        assert (len(split.train), len(split.test)) == (120, 60)


def test_random_splits_have_twenty_of_each_class_and_no_node_twice(archives):
    data, y, _ = archives
    splits = list(sets.node_splits(NODE_TASKS["cora random"], data).values())
    assert len(splits) == 100
    assert len({split.name for split in splits}) == 100
    assert len({tuple(split.train) for split in splits}) == 100
    for split in splits:
        assert np.bincount(y[split.train]).tolist() == [20, 20, 20]
        assert len(np.intersect1d(split.train, split.test)) == 0
        assert len(np.unique(split.test)) == 180  # all that are left: fewer than 1000


def test_random_splits_are_drawn_as_described():
    """The first two by the words of the docstring, from one generator of seed 0."""
    y = np.arange(1500) % 2
    graph = sets.NodeGraph(sp.csr_matrix((1500, 1500)), sp.csr_matrix((1500, 1)), y)
    got = list(sets._random_splits(graph, None))[:2]
    rng = np.random.default_rng(0)
    for split in got:
        evens, odds = np.arange(0, 1500, 2), np.arange(1, 1500, 2)
        train = np.r_[rng.permutation(evens)[:20], rng.permutation(odds)[:20]]
        rest = np.array([i for i in range(1500) if i not in set(train.tolist())])
        assert split.train.tolist() == sorted(train)
        assert split.test.tolist() == sorted(rng.permutation(rest)[:1000])


def test_without_data_the_generated_graphs_are_left(nowhere):
    there, lost = sets.available_node_tasks(nowhere)
    assert lost == ["cora", "cora random", "texas", "cornell"]
    assert len(there) == len(sets.HOMOPHILIES) * 12
    assert all(task.source == "" for task in there)


def test_edge_homophily_of_a_path():
    path = sp.diags([np.ones(4), np.ones(4)], [1, -1])
    assert edge_homophily(path, np.array([0, 0, 1, 1, 0])) == 0.5


@pytest.mark.parametrize("h", sets.HOMOPHILIES)
def test_sweep_has_the_homophily_and_the_degree_asked_for(h):
    graphs = [sets.node_graph(homophily_task(h, seed)) for seed in range(12)]
    # 12 graphs have about 21,600 edges: a standard error of 0.0034 at one half, of 0.04 of the degree.
    assert abs(np.mean([edge_homophily(graph.W, graph.y) for graph in graphs]) - h) < 0.012
    assert abs(np.mean([graph.W.sum() / 600 for graph in graphs]) - 6.0) < 0.15
    for graph in graphs:
        assert graph.X.shape == (600, 60)
        assert np.bincount(graph.y).tolist() == [200, 200, 200]
        assert set(graph.W.data) == set(graph.X.data) == {1.0}
        assert (graph.W != graph.W.T).nnz == 0
        assert graph.W.diagonal().sum() == 0


def test_sweep_changes_the_edges_alone():
    low, high = homophily_task(0.05, 3), homophily_task(0.9, 3)
    a, b = sets.node_graph(low), sets.node_graph(high)
    assert (a.X != b.X).nnz == 0
    assert (a.W != b.W).nnz > 0
    (one,), (other,) = sets.node_splits(low).values(), sets.node_splits(high).values()
    assert one.train.tolist() == other.train.tolist()
    assert np.bincount(a.y[one.train]).tolist() == [30, 30, 30]
    assert len(one.test) == 510
    again = sets.node_graph(homophily_task(0.05, 3))
    assert (a.W != again.W).nnz == 0
    assert (a.X != sets.node_graph(homophily_task(0.05, 4)).X).nnz > 0


def test_features_of_the_sweep_err_near_31_percent():
    """Scikit-learn's ridge regression with its own leave-one-out, mean of twelve draws."""
    from sklearn.linear_model import RidgeCV
    from sklearn.preprocessing import normalize

    errors = []
    for seed in range(12):
        task = homophily_task(0.5, seed)
        graph, (split,) = sets.node_graph(task), sets.node_splits(task).values()
        X = normalize(graph.X.toarray())
        model = RidgeCV(10.0 ** np.arange(-4, 2.1, 0.5)).fit(X[split.train], np.eye(3)[graph.y[split.train]])
        errors.append(np.mean(model.predict(X[split.test]).argmax(axis=1) != graph.y[split.test]))
    assert abs(np.mean(errors) - 0.31) < 0.02


def test_stand_in_is_small():
    graph, (split,) = sets.node_graph(STAND_IN), sets.node_splits(STAND_IN).values()
    assert graph.W.shape == (150, 150)
    assert (len(split.train), len(split.test)) == (30, 120)
