"""Neighbour graphs against brute force over all pairs."""

import re

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from specmargin.graphs import NeighborSearch, knn_graph, neighbor_weights, radius_graph, resolve_sigma
from specmargin.graphs import weights as edges
from specmargin.graphs.neighbor_graphs import with_graph_sections
from specmargin.graphs.weights import EDGE_WEIGHTS, KINDS

X = np.random.default_rng(0).normal(size=(60, 3))


def listed(rows, k, metric="euclidean"):
    """Brute-force neighbour lists as a dense 0/1 matrix (no ties in the data)."""
    D = cdist(rows, rows, metric)
    np.fill_diagonal(D, np.inf)
    A = np.zeros(D.shape)
    np.put_along_axis(A, np.argsort(D, axis=1)[:, :k], 1.0, axis=1)
    return A


def assert_clean(W, n):
    assert isinstance(W, sp.csr_array)
    assert W.shape == (n, n)
    assert W.dtype == np.float64
    assert W.indices.dtype == W.indptr.dtype == np.int32  # SuperLU takes no other
    assert not W.diagonal().any()
    assert (W.data > 0).all()
    assert abs(W - W.T).max() == 0


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", ["symmetric", "mutual"])
def test_edges_match_brute_force(kind, metric, as_input):
    A = listed(X, 5, metric)
    expected = np.maximum(A, A.T) if kind == "symmetric" else np.minimum(A, A.T)
    W = knn_graph(as_input(X), 5, kind=kind, metric=metric)
    assert_clean(W, 60)
    np.testing.assert_array_equal(W.toarray(), expected)


@pytest.mark.parametrize("scale", [1e-140, 1e-16, 1e60])
@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_the_cosine_does_not_see_the_length(scale, as_input):
    """scikit-learn takes dense rows shorter than 2e-15 for rows of zeros."""
    small = as_input(np.where(np.arange(60)[:, None] % 2 == 0, scale, 1.0) * X)
    for graph, of in (
        (lambda rows: knn_graph(rows, 5, metric="cosine", weight="cosine"), small),
        (lambda rows: radius_graph(rows, 0.1, metric="cosine"), small),
        (lambda rows: knn_graph(rows, 5, weight="cosine"), as_input(scale * X)),
    ):
        np.testing.assert_allclose(graph(of).toarray(), graph(X).toarray(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", ["chebyshev", "manhattan", "precomputed"])
def test_other_metrics(metric):
    rows = cdist(X, X) if metric == "precomputed" else X
    name = {"manhattan": "cityblock", "precomputed": "euclidean"}.get(metric, metric)
    A, D = listed(X, 4, name), cdist(X, X, name)
    W = knn_graph(rows, 4, metric=metric, weight="heat", sigma=0.7)
    np.testing.assert_allclose(W.toarray(), np.maximum(A, A.T) * np.exp(-(D**2) / (2 * 0.49)), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_heat_weights_use_the_mean_listed_distance(kind):
    A, D = listed(X, 5), cdist(X, X)
    sigma = D[A > 0].mean()
    W = knn_graph(X, 5, kind=kind, weight="heat")
    edges = knn_graph(X, 5, kind=kind).toarray()
    np.testing.assert_allclose(W.toarray(), edges * np.exp(-(D**2) / (2 * sigma**2)), rtol=1e-12)
    assert resolve_sigma(X, 5) == pytest.approx(sigma, rel=1e-12)
    np.testing.assert_array_equal(knn_graph(X, 5, kind=kind, weight="heat", sigma=sigma).indices, W.indices)


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_cosine_weights_drop_what_is_not_positive(as_input):
    W = knn_graph(as_input(X), 20, weight="cosine")
    A = listed(X, 20)
    cosine = np.maximum(1.0 - cdist(X, X, "cosine"), 0.0)
    np.testing.assert_allclose(W.toarray(), np.maximum(A, A.T) * cosine, rtol=1e-11, atol=1e-14)
    assert W.nnz < np.count_nonzero(np.maximum(A, A.T))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "precomputed"])
def test_self_tuning_weights_match_their_formula(kind, metric):
    D = cdist(X, X, "cosine" if metric == "cosine" else "euclidean")
    scales = np.sort(D, axis=1)[:, 5]  # behind its own 0
    rows = D if metric == "precomputed" else X
    edges = knn_graph(rows, 5, kind=kind, metric=metric).toarray()
    W = knn_graph(rows, 5, kind=kind, metric=metric, weight="self_tuning")
    assert_clean(W, 60)
    np.testing.assert_allclose(W.toarray(), edges * np.exp(-(D**2) / np.outer(scales, scales)), rtol=1e-10)


def test_self_tuning_scales_of_zero():
    rows = np.r_[np.zeros(3), 1.0, 2.0, 5.0][:, None]  # each 0 has two copies, 1 has scale 1, 2 has 2, 5 has 4
    W = knn_graph(rows, 2, weight="self_tuning").toarray()
    np.testing.assert_array_equal(W[:3, :3], 1 - np.eye(3))
    # The scale of the zeros is the median 2 of the positive ones 1, 2, 4, whose mean is larger.
    at = np.flatnonzero(W[3, :3])
    assert len(at) >= 1
    np.testing.assert_allclose(W[3, at], np.exp(-1 / (1.0 * 2.0)), rtol=1e-14)
    np.testing.assert_array_equal(knn_graph(np.ones((9, 2)), 3, weight="self_tuning").data, 1.0)
    tied = neighbor_weights([[0.5]], rows, 4, weight="self_tuning").toarray()
    assert (tied[0, :4] > 0).all()
    assert neighbor_weights([[0.5]], [[0.0]], 1, weight="self_tuning").toarray()[0, 0] > 0


def test_heat_weights_that_underflow_stay_edges():
    W = knn_graph([[0.0], [1e3], [3e3]], 1, weight="heat", sigma=1.0)
    assert_clean(W, 3)
    assert W.nnz == 4


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("dimension", [2, 40])  # a tree and brute force inside scikit-learn
def test_duplicates_never_list_themselves(metric, dimension):
    base = np.random.default_rng(1).normal(size=(12, dimension)) + 100.0
    rows = np.repeat(base, 5, axis=0)
    for kind in KINDS:
        for weight in EDGE_WEIGHTS:
            assert_clean(knn_graph(rows, 3, kind=kind, weight=weight, metric=metric), 60)
    # Every row has 3 neighbours of its own, all duplicates of it.
    W = knn_graph(rows, 3, weight="heat", metric=metric)
    assert (np.diff(W.indptr) >= 3).all()
    i, j = W.nonzero()
    np.testing.assert_array_equal(i // 5, j // 5)
    # Duplicates are at distance 0 exactly, although brute force inside puts them 1e-6 apart.
    np.testing.assert_array_equal(W.data, 1.0)


def test_all_rows_equal():
    W = knn_graph(np.ones((9, 2)), 2, weight="heat", kind="mutual+mst")
    assert_clean(W, 9)
    assert csgraph.connected_components(W)[0] == 1
    np.testing.assert_array_equal(W.data, 1.0)
    assert resolve_sigma(np.ones((9, 2)), 2) == 1.0


def clusters(n_clusters, size, seed=2):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-50, 50, size=(n_clusters, 3))
    return (centres[:, None] + rng.normal(size=(n_clusters, size, 3))).reshape(-1, 3)


def tree_length(rows, cols, X):
    return np.linalg.norm(X[rows] - X[cols], axis=1).sum()


def networkx_tree_length(X):
    graph = nx.from_numpy_array(cdist(X, X))
    return sum(d["weight"] for *_, d in nx.minimum_spanning_edges(graph, data=True))


def test_mst_is_minimal_and_connects():
    rows = clusters(6, 15)
    i, j = edges._spanning_edges(NeighborSearch(rows), 3)
    assert len(i) == len(rows) - 1
    assert tree_length(i, j, rows) == pytest.approx(networkx_tree_length(rows), rel=1e-12)
    mutual, both = knn_graph(rows, 3, kind="mutual"), knn_graph(rows, 3, kind="mutual+mst")
    assert_clean(both, len(rows))
    assert csgraph.connected_components(mutual)[0] > 6
    assert csgraph.connected_components(both)[0] == 1
    tree = sp.coo_array((np.ones(len(i)), (i, j)), shape=both.shape).toarray()
    np.testing.assert_array_equal(both.toarray(), np.maximum(mutual.toarray(), np.maximum(tree, tree.T)))


def test_mst_of_many_rows(monkeypatch):
    # Clusters larger than the neighbour graph joins, so that Boruvka's rounds have to join them.
    rows = clusters(7, 25)
    monkeypatch.setattr(edges, "_DENSE_ROWS", 10)
    i, j = edges._spanning_edges(NeighborSearch(rows), 3)
    assert len(i) == len(rows) - 1
    tree = sp.coo_array((np.ones(len(i)), (i, j)), shape=(len(rows),) * 2)
    assert csgraph.connected_components(tree, directed=False)[0] == 1
    assert tree_length(i, j, rows) == pytest.approx(networkx_tree_length(rows), rel=1e-12)


@pytest.mark.parametrize("dense_rows", [10, 3000])
def test_mst_keeps_edges_of_length_zero(monkeypatch, dense_rows):
    monkeypatch.setattr(edges, "_DENSE_ROWS", dense_rows)
    rows = np.repeat(clusters(4, 2), 20, axis=0)
    W = knn_graph(rows, 2, kind="mutual+mst")
    assert csgraph.connected_components(W)[0] == 1
    i, _ = edges._spanning_edges(NeighborSearch(rows), 2)
    assert len(i) == len(rows) - 1


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("option", [{"metric": "cosine"}, {"weight": "cosine"}])
def test_zero_rows_have_no_direction(option, as_input):
    rows = np.abs(X)
    rows[[3, 17]] = 0.0
    with pytest.warns(UserWarning, match=r"2 rows of X are zero \(the first is row 3\)") as caught:
        W = knn_graph(as_input(rows), 4, kind="mutual+mst", **option)
    assert caught[0].filename == __file__
    assert_clean(W, 60)
    assert (W.sum(axis=1)[[3, 17]] == 0).all()
    kept = np.delete(np.arange(60), [3, 17])
    np.testing.assert_array_equal(
        W.toarray()[np.ix_(kept, kept)], knn_graph(as_input(rows[kept]), 4, kind="mutual+mst", **option).toarray()
    )
    assert csgraph.connected_components(W)[0] == 3


def test_radius_graph():
    D = cdist(X, X)
    expected = (D <= 1.0) & ~np.eye(60, dtype=bool)
    W = radius_graph(X, 1.0)
    assert_clean(W, 60)
    np.testing.assert_array_equal(W.toarray(), expected)
    heat = radius_graph(X, 1.0, weight="heat")
    sigma = D[expected].mean()
    np.testing.assert_allclose(heat.toarray(), expected * np.exp(-(D**2) / (2 * sigma**2)), rtol=1e-12)
    assert radius_graph(X, 1e-9, weight="heat").nnz == 0
    sparse = radius_graph(sp.csr_array(X), 0.3, metric="cosine")
    np.testing.assert_array_equal(sparse.toarray(), (cdist(X, X, "cosine") <= 0.3) & ~np.eye(60, dtype=bool))


@pytest.mark.parametrize("weight", ["binary", "heat", "cosine", "self_tuning"])
@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_neighbor_weights_match_brute_force(weight, as_input):
    new = np.random.default_rng(3).normal(size=(20, 3)) + 1.0
    rows = X + 1.0
    D = cdist(new, rows)
    A = np.zeros(D.shape)
    np.put_along_axis(A, np.argsort(D, axis=1)[:, :4], 1.0, axis=1)
    value = {
        "binary": 1.0,
        "heat": np.exp(-(D**2) / (2 * resolve_sigma(rows, 4) ** 2)),
        "cosine": np.maximum(1 - cdist(new, rows, "cosine"), 0),
        "self_tuning": np.exp(-(D**2) / np.outer(np.sort(D, axis=1)[:, 3], np.sort(cdist(rows, rows), axis=1)[:, 4])),
    }[weight]
    weights = neighbor_weights(as_input(new), as_input(rows), 4, weight=weight)
    assert isinstance(weights, sp.csr_array)
    np.testing.assert_allclose(weights.toarray(), A * value, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("weight", EDGE_WEIGHTS)
@pytest.mark.parametrize("dimension", [3, 40])
def test_coincident_points_are_tied_to_their_copies(weight, dimension):
    rows = np.random.default_rng(4).normal(size=(50, dimension)) + 30.0
    rows[7] = rows[11] = rows[2]
    weights = neighbor_weights(rows[[2, 20]], rows, 6, weight=weight).toarray()
    expected = np.zeros((2, 50))
    expected[0, [2, 7, 11]] = expected[1, 20] = 1.0
    np.testing.assert_array_equal(weights, expected)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("shift", [0.0, 30.0, 300.0])
def test_rows_that_are_copies_to_single_precision_are_tied_to_them(metric, shift):
    rows = np.random.default_rng(4).normal(size=(50, 4)) + shift
    rows[7] = rows[2]
    exact = neighbor_weights(rows, rows, 6, metric=metric).toarray()
    for moved in (rows.astype(np.float32), rows + 1e-9, rows * (1.0 + 1e-12)):
        np.testing.assert_array_equal(neighbor_weights(moved, rows, 6, metric=metric).toarray(), exact)


def test_rows_that_are_none_are_tied_to_their_neighbours():
    rows = np.random.default_rng(4).normal(size=(50, 4))
    assert (np.diff(neighbor_weights(rows + 1e-5, rows, 6).indptr) == 6).all()  # farther than rounding
    near = np.vstack([rows, rows[0] + 1e-7])
    assert neighbor_weights(rows[:1] + 2e-8, near, 6).nnz == 6  # not much nearer than to another row
    whole = 1e9 + rows
    assert (np.diff(neighbor_weights(whole + 0.1, whole, 6).indptr) == 6).all()  # rounding hides nothing of these


def test_no_row_of_neighbor_weights_is_empty():
    far = neighbor_weights([[1e6, 0.0, 0.0]], X, 3, weight="heat", sigma=0.1)
    assert far.data.tolist() == [1.0, 1.0, 1.0]
    opposite = neighbor_weights([[-1.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]], 2, weight="cosine")
    assert opposite.toarray().tolist() == [[1.0, 1.0]]
    zero = neighbor_weights([[0.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]], 2, metric="cosine")
    assert zero.toarray().tolist() == [[1.0, 1.0]]
    zero = neighbor_weights([[0.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]], 2, weight="cosine")
    assert zero.toarray().tolist() == [[1.0, 1.0]]


def test_neighbor_weights_skip_training_rows_of_zeros():
    rows = np.abs(X)
    rows[0] = 0.0
    with pytest.warns(UserWarning, match="1 rows of X are zero"):
        weights = neighbor_weights(np.abs(X[5:8]) * 1.1, rows, 59, metric="cosine")
    assert weights.shape == (3, 60)
    assert not weights[:, [0]].nnz
    full = neighbor_weights(np.abs(X[5:8]) * 1.1, rows[1:], 59, metric="cosine")
    np.testing.assert_array_equal(weights.toarray()[:, 1:], full.toarray())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: knn_graph(X, 60), "n_neighbors=60, but X has 60 rows; take 1 to 59."),
        (lambda: knn_graph(X[:1], 1), "n_neighbors=1, but X has 1 rows; add samples."),
        (lambda: knn_graph(X, True), "n_neighbors=True is no count"),
        (lambda: knn_graph(X, kind="or"), "kind='or' is unknown; take one of symmetric, mutual, mutual+mst."),
        (
            lambda: knn_graph(X, weight="gauss"),
            "weight='gauss' is unknown; take one of binary, heat, cosine, ",
        ),
        (lambda: knn_graph(X, weight="heat", sigma=0.0), "sigma=0.0; take a positive distance"),
        (lambda: knn_graph(np.array([[0, 1], [0, np.nan], [1, 1]]), 1), "X[1, 1] is nan"),
        (lambda: radius_graph(X, 1.0, weight="self_tuning"), "no number; take one of binary, heat, cosine"),
        (lambda: radius_graph(X, -1.0), "radius=-1.0; take a finite distance >= 0"),
        (lambda: neighbor_weights(X[:, :2], X, 3), "X_new has 2 columns but 3 were expected"),
        (lambda: neighbor_weights(X, X, 61), "n_neighbors=61, but X has 60 rows; take 1 to 60."),
        (
            lambda: knn_graph(cdist(X, X), metric="precomputed", weight="cosine"),
            "weight='cosine' needs the rows, not their distances; take one of binary, heat, self_tuning",
        ),
    ],
)
def test_errors_say_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_neighbor_weights_precomputed():
    new = X[:5] + 0.01
    expected = neighbor_weights(new, X, 3, weight="heat", sigma=1.0).toarray()
    weights = neighbor_weights(cdist(new, X), cdist(X, X), 3, weight="heat", sigma=1.0, metric="precomputed")
    np.testing.assert_allclose(weights.toarray(), expected, rtol=1e-10)


def test_too_few_rows_with_a_direction():
    rows = np.zeros((8, 2))
    rows[:3] = [[1, 0], [0, 1], [1, 1]]
    with (
        pytest.warns(UserWarning, match="5 rows"),
        pytest.raises(ValueError, match="n_neighbors=3, but X has 8 rows of which 3 are not zero; take 1 to 2"),
    ):
        knn_graph(rows, 3, metric="cosine")


# Docstrings list the registries


def test_markers_of_functions_and_classes_are_filled():
    @with_graph_sections
    def function(kind):
        """Take one of <kinds>:

        <each kind>
        """

    @with_graph_sections
    class Weighted:
        """weight : <weights>"""

    assert 'Take one of {"symmetric", "mutual", "mutual+mst"}:' in function.__doc__
    names = ", ".join(f'"{name}"' for name in EDGE_WEIGHTS)
    assert names.startswith('"binary", "heat", "cosine", "self_tuning"')
    assert Weighted.__doc__ == f"weight : {{{names}}}"
    for name, kind in KINDS.items():
        assert f'* "{name}": {kind.__doc__}' in function.__doc__


def test_without_docstrings():
    def bare():
        pass

    assert with_graph_sections(bare).__doc__ is None


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.1 * 2**0.5, 0.30000000000000004])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_a_radius_that_rows_lie_at_is_compared_with_distances_of_differences(radius, shift, rng):
    rows = 0.1 * rng.integers(0, 4, size=(80, 20)) * (rng.random((80, 20)) < 0.1) + shift
    expected = np.array([[np.sqrt(np.einsum("i,i", a - b, a - b)) <= radius for b in rows] for a in rows])
    np.fill_diagonal(expected, False)
    for given in (rows, sp.csr_array(rows)):
        np.testing.assert_array_equal(radius_graph(given, radius).toarray() > 0, expected)
