"""Graphs and Laplacians as objects: they are the functions of the room with parameters."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN, Laplacian, knn_graph, laplacian, neighbor_weights
from specmargin.graphs.parts import built, graph_of, laplacian_of, ties
from specmargin.kernels import RBF

X = np.random.default_rng(0).normal(size=(30, 3))
NEW = np.random.default_rng(1).normal(size=(4, 3))
PARTS = [
    KNN(4),
    KNN(4, weight="heat"),
    KNN(5, weight="self_tuning", kind="mutual+mst"),
    KNN(4, metric="cosine"),
    KNN(4, metric=lambda a, b: float(np.abs(a - b).max())),
    KNN(4, weight="cosine"),
    KNN(4, reduce=2),
]


@pytest.mark.parametrize("part", PARTS)
def test_a_graph_is_that_of_its_function(part: KNN) -> None:
    options = {"kind": part.kind, "weight": part.weight, "metric": part.metric, "reduce": part.reduce}
    assert (part(X) != knn_graph(X, part.n_neighbors, **options)).nnz == 0
    del options["kind"]
    assert (part.weights(NEW, X) != neighbor_weights(NEW, X, part.n_neighbors, **options)).nnz == 0


@pytest.mark.parametrize("part", PARTS)
def test_a_search_serves_graph_and_new_samples(part: KNN) -> None:
    W, place = built(part, X)
    assert (part(X) != W).nnz == 0
    assert (part.weights(NEW, X) != ties(part).weights(NEW, place)).nnz == 0


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 1), (8, 4), (20, 10), (1000, 10)])
def test_neighbours_by_default(n: int, k: int) -> None:
    assert KNN().count(n) == k
    assert KNN(3).count(n) == 3


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("normalized", [True, False])
def test_a_laplacian_is_that_of_its_function(power: int, normalized: bool) -> None:
    W = KNN(4)(X)
    ours, theirs = Laplacian(power, normalized)(W), laplacian(W, power=power, normalized=normalized)
    assert (ours @ X == theirs @ X).all()
    assert Laplacian(normalized="auto")(W).normalized


class Circle:
    """A graph of one's own."""

    def __call__(self, X: Any) -> Any:
        return nx.cycle_graph(len(X))


def test_any_function_of_samples_is_a_graph() -> None:
    own = Circle()
    assert graph_of("graph", own) is own
    W, place = built(own, X)
    assert W.nnz == 60
    assert place is X
    assert ties(own) == KNN()


def test_short_forms() -> None:
    assert graph_of("graph", 7) == graph_of("graph", np.int64(7)) == KNN(7)
    assert laplacian_of("laplacian", 3) == Laplacian(power=3)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "graph=0"),
        ("knn", "makes no graph"),
        (KNN, "pass an object, KNN"),
        (RBF(1.0), "makes no graph"),
        (Laplacian(), "makes no graph"),
        (np.eye(3), r"pass it to fit, fit\(X, y, graph=W\)"),
    ],
)
def test_what_is_no_graph(value: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        graph_of("graph", value)


@pytest.mark.parametrize("value", [0, 101, 1.5, True, "normalized", KNN(), Laplacian, laplacian(np.ones((2, 2)))])
def test_what_is_no_laplacian(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="laplacian="):
        laplacian_of("laplacian", value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KNN(0),
        lambda: KNN(5, weight="heavy"),
        lambda: KNN(5, kind="friends"),
        lambda: KNN(5, metric="taxi driver"),
        lambda: KNN(5, metric=2),
        lambda: KNN(5, reduce=0),
        lambda: KNN(5, random_state=-1),
        lambda: Laplacian(0),
        lambda: Laplacian(normalized="yes"),
        lambda: Laplacian(normalized=1),
    ],
)
def test_parameters_out_of_range_are_refused_at_once(make: Any) -> None:
    with pytest.raises(InvalidInputError):
        make()


def test_a_generator_draws_a_number() -> None:
    part = KNN(4, reduce=2, random_state=np.random.default_rng(0))
    assert isinstance(part.search(X).random_state, int)
