"""Labels of every kind, edges and nearest labels against brute force, eigenpairs of graphs in many pieces."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.exceptions import InvalidInputError
from specmargin.graphs import NeighborSearch, knn_graph
from specmargin.tables.diagnosis.inputs import (
    edges_between,
    eigenpairs,
    integer_seed,
    nearest_labels,
    neighbor_counts,
    read_labels,
    read_samples,
)


@pytest.mark.parametrize(
    ("y", "marker", "labeled", "codes", "classes"),
    [
        ([0, -1, 1, -1], -1, [0, 2], [0, 1], [0, 1]),
        (["cat", "", "dog", "cat"], None, [0, 2, 3], [0, 1, 0], ["cat", "dog"]),
        ([2.0, np.nan, 5.0, 2.0], np.nan, [0, 2, 3], [0, 1, 0], [2.0, 5.0]),
        ([-1, -1, -1, -1], -1, [], [], []),
        ([1, 1, -1, -1], -1, [0, 1], [0, 0], [1]),
        ([3, 1, 2, 1], -1, [0, 1, 2, 3], [2, 0, 1, 0], [1, 2, 3]),
    ],
)
def test_labels(y: Any, marker: Any, labeled: list[int], codes: list[int], classes: list[Any]) -> None:
    told = read_labels(y, marker, 4)
    assert told[0].tolist() == labeled
    assert told[1].tolist() == codes
    assert told[2] == classes


def test_no_labels_and_wrong_ones() -> None:
    assert read_labels(None, -1, 3)[2] == []
    with pytest.raises(InvalidInputError, match="X has 3 rows, but y has 2 labels"):
        read_labels([0, 1], -1, 3)
    for missing in ([0.0, np.nan, 1.0], [np.nan, np.nan, np.nan], [1.0, np.nan, 1.0]):
        with pytest.raises(InvalidInputError, match=r"unlabeled=np\.nan"):
            read_labels(missing, -1, 3)


def test_edges_and_nearest_labels_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    labeled = np.sort(rng.permutation(60)[:20])
    W = knn_graph(X, 5)
    rows, cols = edges_between(W, labeled)
    dense = W.toarray()
    assert {(i, j) for i in range(20) for j in range(i + 1, 20) if dense[labeled[i], labeled[j]]} == set(
        zip(rows.tolist(), cols.tolist(), strict=True)
    )
    D = np.sqrt(((X[labeled, None] - X[labeled]) ** 2).sum(axis=2)) + np.diag(np.full(20, np.inf))
    assert nearest_labels(NeighborSearch(X), labeled).tolist() == D.argmin(axis=1).tolist()
    full = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    near = nearest_labels(NeighborSearch(full, metric="precomputed"), labeled)
    assert near.tolist() == D.argmin(axis=1).tolist()
    counts, distances = neighbor_counts(NeighborSearch(X), 4, 60)
    lists = (full + np.diag(np.full(60, np.inf))).argsort(axis=1)[:, :4]
    assert counts.tolist() == [int((lists == i).sum()) for i in range(60)]
    assert distances.shape == (60, 4)


def test_rows_without_a_direction_have_no_nearest_label() -> None:
    X = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.1], [0.0, 1.0]])
    near = nearest_labels(NeighborSearch(X, metric="cosine"), np.array([0, 1, 2]))
    assert near.tolist() == [2, -1, 0]
    assert nearest_labels(None, np.array([0, 1])) is None
    assert nearest_labels(NeighborSearch(X), np.array([0])) is None


def test_eigenpairs_of_many_pieces() -> None:
    pieces = sp.csr_array(sp.block_diag([[[0.0, 1.0], [1.0, 0.0]]] * 220))
    assert eigenpairs(pieces, 220, 0).q == 220
    assert eigenpairs(knn_graph(np.arange(90.0)[:, None], 2), 1, 0).q == 51


def test_what_cannot_be_looked_at() -> None:
    for X, graph, text in ((None, None, "nothing to look at"), ([[1.0], [2.0]], None, "three or more")):
        with pytest.raises(InvalidInputError, match=text):
            read_samples(X, graph, "euclidean", 0)
    with pytest.raises(InvalidInputError, match="defined for 0 of 3 rows"):
        read_samples(np.zeros((3, 2)), None, "cosine", 0)
    with pytest.raises(InvalidInputError, match="three or more"):
        read_samples(None, np.zeros((2, 2)), "euclidean", 0)


def test_seeds() -> None:
    assert integer_seed(np.int64(4)) == 4
    assert integer_seed(np.random.default_rng(0)) == integer_seed(np.random.default_rng(0))
    assert isinstance(integer_seed(np.random.RandomState(0)), int)
    assert integer_seed(None) != integer_seed(None)
