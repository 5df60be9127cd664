"""Components, degrees, hubs, gaps and the embedding of small graphs, by hand and by scipy."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import skew

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import NeighborSearch, components, knn_graph
from specmargin.spectra import laplacian_eigenpairs
from specmargin.tables.diagnosis.graph_facts import (
    connectivity,
    degree_facts,
    edges_between,
    eigenpairs,
    embedding,
    integer_seed,
    largest_gap,
    nearest_labels,
    read_labels,
    read_samples,
)


def cliques(*sizes: int) -> sp.csr_array:
    return sp.csr_array(sp.block_diag([np.ones((m, m)) - np.eye(m) for m in sizes]))


def test_components_without_labels() -> None:
    W = cliques(5, 3, 1, 1)
    facts = connectivity(components(W), np.array([0, 6]))
    assert (facts.n_components, facts.sizes, facts.n_isolated) == (4, (5, 3, 1, 1), 2)
    assert (facts.n_without_label, facts.n_samples_without_label) == (2, 2)
    unknown = connectivity(components(W), np.zeros(0, dtype=np.intp))
    assert (unknown.n_without_label, unknown.n_samples_without_label) == (0, 0)


def test_degrees_and_hubs() -> None:
    W = sp.csr_array(nx.to_scipy_sparse_array(nx.star_graph(6), dtype=float))
    counts = np.array([6, 1, 0, 0, 2, 1, 1])
    facts = degree_facts(W, counts, "in-degree")
    assert (facts.least, facts.most, facts.mean) == (1, 6, 12 / 7)
    assert (facts.largest_hub, facts.largest_count, facts.never_listed) == (0, 6, 2)
    third = ((counts - counts.mean()) ** 3).mean() / counts.std() ** 3
    assert facts.hubness == pytest.approx(third) == pytest.approx(skew(counts))


@pytest.mark.parametrize("n_clusters", [1, 2, 4])
def test_gap_counts_cliques(n_clusters: int) -> None:
    W = cliques(*[16] * n_clusters).toarray()
    for k in range(n_clusters - 1):
        W[16 * k, 16 * k + 16] = W[16 * k + 16, 16 * k] = 0.1  # a chain of cliques
    values = laplacian_eigenpairs(W, q=15, normalized=True).eigenvalues
    gap = largest_gap(values, 1)
    assert gap.n_clusters == n_clusters
    assert gap.is_clear
    assert gap.size == pytest.approx(np.diff(values).max())
    assert (gap.low, gap.high) == (values[n_clusters - 1], values[n_clusters])


def test_gap_counts_components_at_least() -> None:
    values = laplacian_eigenpairs(cliques(6, 6, 6), q=8, normalized=True).eigenvalues
    assert largest_gap(values, 3).n_clusters == 3
    alike = largest_gap(np.zeros(3), 3)
    assert (alike.n_clusters, alike.size, alike.is_clear) == (3, 0.0, False)
    assert not largest_gap(np.array([0.0, 0.3, 0.5, 0.51]), 1).is_clear


def test_embedding_leaves_small_pieces_out() -> None:
    path = nx.to_scipy_sparse_array(nx.path_graph(60), dtype=float)
    W = sp.csr_array(sp.block_diag([path, cliques(2), cliques(2)]))
    E = embedding(laplacian_eigenpairs(W, q=10, normalized=True))
    assert E.shape == (64, 2)
    # Along a path the first eigenvector is monotone: no small piece took its place.
    steps = np.diff(E[:60, 0])
    assert np.ptp(E[:60, 0]) > 1.0
    assert (steps > -1e-9).all() or (steps < 1e-9).all()
    np.testing.assert_allclose((E**2).mean(axis=0), 1.0)


def test_embedding_of_two_eigenpairs() -> None:
    E = embedding(laplacian_eigenpairs(cliques(3), q=2, normalized=True))
    assert E.shape == (3, 2)
    assert (E[:, 1] == 0).all()


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
    lists = (full + np.diag(np.full(60, np.inf))).argsort(axis=1)[:, :4]
    assert sm.diagnose(X, n_neighbors=4).counts.tolist() == [int((lists == i).sum()) for i in range(60)]


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
