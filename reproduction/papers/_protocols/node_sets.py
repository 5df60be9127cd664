"""Graphs whose nodes have features, for the table of spectral filters: Cora, Texas, Cornell and a sweep of homophily.

A `NodeTask` is one graph with its features, classes and splits. A split names the nodes whose labels are seen and the
nodes that are counted; all others have no label for anybody, and where a set was published with validation labels,
nobody sees those. Texas and Cornell have the same features and labels: they differ in edges and splits only, so that
they are two tasks but not two independent data sets.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from reproduction.tasks import dataset, is_available
from specmargin.typing import IntArray

N_RANDOM = 100  # splits of Cora
PER_CLASS = 20
N_TEST = 1000
HOMOPHILIES = (0.05, 0.15, 0.33, 0.5, 0.7, 0.9)
N_DRAWS = 12
"""Graphs of each homophily."""
_TOPICAL, _ELSEWHERE = 0.285, 0.14
"""How often a node has a feature of its own class and one of another class: ridge regression errs near 31 %."""


class NodeGraph(NamedTuple):
    """Adjacency, features of the nodes, both CSR, and classes counted from 0."""

    W: sp.csr_matrix
    X: sp.csr_matrix
    y: IntArray

    @property
    def n_classes(self) -> int:
        """Number of classes; a split may label only some of them."""
        return int(self.y.max()) + 1


class NodeSplit(NamedTuple):
    """Nodes whose labels are seen, and nodes on which errors are counted, both in ascending order."""

    name: str
    train: IntArray
    test: IntArray


@dataclass(frozen=True, eq=False)
class NodeTask:
    """One graph and how its nodes are labelled.

    Parameters
    ----------
    name : str
        What tables call it.
    source : str
        Name of the data set; empty where it is generated.
    read : callable
        ``read(data)`` returns the `NodeGraph`.
    draw : callable
        ``draw(graph, data)`` returns its splits.
    """

    name: str
    source: str
    read: Callable[[Path | None], NodeGraph]
    draw: Callable[[NodeGraph, Path | None], Sequence[NodeSplit]]


@lru_cache(maxsize=4)
def node_graph(task: NodeTask, data: Path | None = None) -> NodeGraph:
    """Return graph, features and classes of a task."""
    return task.read(data)


@lru_cache(maxsize=4)
def node_splits(task: NodeTask, data: Path | None = None) -> dict[str, NodeSplit]:
    """Return the splits of a task by name."""
    return {split.name: split for split in task.draw(node_graph(task, data), data)}


def available_node_tasks(data: Path | None = None) -> tuple[list[NodeTask], list[str]]:
    """Return the tasks of `NODE_TASKS` whose data are there, and the names of the others."""
    there = [task for task in NODE_TASKS.values() if is_available(task.source, data)]
    return there, [task.name for task in NODE_TASKS.values() if task not in there]


def edge_homophily(W: Any, y: IntArray) -> float:
    """Return the share of edges that join two nodes of one class."""
    edges = sp.triu(W, k=1, format="coo")
    return float(np.mean(y[edges.row] == y[edges.col]))


def homophily_task(h: float, seed: int, n: int = 600, n_labeled: int = 90) -> NodeTask:
    """Return a stochastic block model with features, of which about the share h of the edges joins nodes of one class.

    Three classes of equal size, mean degree 6, 60 features that are 0 or 1: each class has 20 of its own, which its
    nodes have more often. Classes, features and labels depend on the seed alone, and so do the numbers against which
    the probabilities of the edges are held: graphs of different h are as alike as they can be.

    Parameters
    ----------
    h : float
        Expected edge homophily.
    seed : int
        Seed of the draw.
    n, n_labeled : int
        Nodes, and labelled ones of them, both multiples of three. All others are counted.
    """
    return NodeTask(
        f"blocks of homophily {h:g}, draw {seed}", "", partial(_blocks, h, seed, n), partial(_one_draw, seed, n_labeled)
    )


def _blocks(h: float, seed: int, n: int, data: Path | None) -> NodeGraph:
    rng, degree, n_features = np.random.default_rng([seed, 0]), 6.0, 60
    y = np.repeat(np.arange(3), n // 3)
    topical = np.arange(n_features) // (n_features // 3) == y[:, None]
    X = rng.random((n, n_features)) < np.where(topical, _TOPICAL, _ELSEWHERE)
    rates = np.where(y[:, None] == y, h * degree / (n / 3 - 1), (1.0 - h) * degree / (2 * n / 3))
    edges = np.triu(rng.random((n, n)) < rates, k=1)
    return NodeGraph(sp.csr_matrix((edges | edges.T).astype(float)), sp.csr_matrix(X.astype(float)), y)


def _one_draw(seed: int, n_labeled: int, graph: NodeGraph, data: Path | None) -> list[NodeSplit]:
    rng = np.random.default_rng([seed, 1])
    train = _of_each_class(graph.y, n_labeled // 3, rng)
    return [NodeSplit("drawn-00", train, np.setdiff1d(np.arange(len(graph.y)), train))]


def _of_each_class(y: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return `count` nodes of each class: the first ones of a random order, class by class."""
    return np.sort(np.concatenate([rng.permutation(np.flatnonzero(y == k))[:count] for k in range(int(y.max()) + 1)]))


def _random_splits(graph: NodeGraph, data: Path | None) -> Iterator[NodeSplit]:
    """Yield the random splits: one generator of seed 0 draws all of them in turn.

    For each split it permutes the nodes of class 0, of class 1 and so on, of which the first 20 are labelled, and then
    all nodes that are left in ascending order, of which the first 1000 are counted.
    """
    rng = np.random.default_rng(0)
    for k in range(N_RANDOM):
        train = _of_each_class(graph.y, PER_CLASS, rng)
        test = rng.permutation(np.setdiff1d(np.arange(len(graph.y)), train))[:N_TEST]
        yield NodeSplit(f"random-{k:02d}", train, np.sort(test))


def _published(source: str, graph: NodeGraph, data: Path | None) -> list[NodeSplit]:
    """Return the splits that came with a set, as lists of nodes or as one mask a split; validation nodes stay out."""
    parts = (dataset(source, data).extras[part] for part in ("train_idx", "test_idx"))
    train, test = (np.atleast_2d(part) for part in parts)
    if train.dtype == bool:
        rows = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in zip(train, test, strict=True)]
    else:
        rows = [(np.sort(a).astype(np.intp), np.sort(b).astype(np.intp)) for a, b in zip(train, test, strict=True)]
    return [NodeSplit(f"published-{k:02d}", *pair) for k, pair in enumerate(rows)]


def _read(source: str, data: Path | None) -> NodeGraph:
    whole = dataset(source, data)
    return NodeGraph(sp.csr_matrix(whole.extras["W"]), sp.csr_matrix(whole.X), whole.y)


NODE_TASKS: dict[str, NodeTask] = {
    task.name: task
    for task in (
        NodeTask("cora", "cora", partial(_read, "cora"), partial(_published, "cora")),
        NodeTask("cora random", "cora", partial(_read, "cora"), lambda graph, data: list(_random_splits(graph, data))),
        NodeTask("texas", "texas", partial(_read, "texas"), partial(_published, "texas")),
        NodeTask("cornell", "cornell", partial(_read, "cornell"), partial(_published, "cornell")),
        *(homophily_task(h, seed) for h in HOMOPHILIES for seed in range(N_DRAWS)),
    )
}
"""All tasks by name: Cora with its public split and with 100 random ones, Texas, Cornell, and the sweep."""

STAND_IN = homophily_task(0.8, 0, n=150, n_labeled=30)
"""A small generated graph, for machines without the data and for quick runs."""
