"""The search for neighbours against brute force, scikit-learn's pipeline and a stand-in for pynndescent."""

import pickle
import re
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.neighbors import NearestNeighbors

from specmargin.graphs import (
    NeighborSearch,
    _nearest,
    components,
    knn_graph,
    neighbor_weights,
    resolve_sigma,
)

X = np.random.default_rng(0).normal(size=(90, 6))


def smallest(D, k):
    """Return the k smallest entries of every row."""
    return np.sort(D, axis=1)[:, :k]


def others(D):
    """Distances with the own one out of the way."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    return D


def recall(lists, truth):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(lists, truth, strict=True)])


def near_enough(search, exact, *query):
    """Share of listed neighbours no farther than the k-th there is: copies stand for one another."""
    return np.mean(search.kneighbors(*query)[0] <= exact.kneighbors(*query)[0][:, -1:] * (1 + 1e-9))


def documents(n, d, rng, per_row=30):
    """Counts over a skewed vocabulary: most products of two rows are positive, as of documents."""
    chances = 1.0 / np.arange(1, d + 1)
    cols = rng.choice(d, size=(n, per_row), p=chances / chances.sum())
    return sp.csr_array((np.ones(n * per_row), (np.repeat(np.arange(n), per_row), cols.ravel())), shape=(n, d))


# The exact search


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_neighbours_among_copies_and_ties(metric, as_input, rng, tol):
    rows = np.repeat(rng.integers(1, 4, size=(20, 3)).astype(float), 4, axis=0)  # a grid: ties everywhere
    D = cdist(rows, rows, metric.replace("manhattan", "cityblock"))
    distances, indices = NeighborSearch(as_input(rows), metric=metric).kneighbors(n_neighbors=9)
    assert (indices != np.arange(80)[:, None]).all()
    assert all(len(set(row)) == 9 for row in indices)
    # Among ties any may be listed: their distances decide.
    np.testing.assert_allclose(np.sort(distances, axis=1), smallest(others(D), 9), atol=tol["exact"])
    np.testing.assert_allclose(np.take_along_axis(D, indices, axis=1), distances, atol=tol["exact"])

    new = rng.integers(1, 4, size=(15, 3)) + 0.25
    D = cdist(new, rows, metric.replace("manhattan", "cityblock"))
    distances, indices = NeighborSearch(as_input(rows), metric=metric).kneighbors(as_input(new), 7)
    np.testing.assert_allclose(np.sort(distances, axis=1), smallest(D, 7), atol=tol["exact"])
    np.testing.assert_allclose(np.take_along_axis(D, indices, axis=1), distances, atol=tol["exact"])


def pair_by_pair(new, rows, metric):
    """Distances from differences, which no number of threads and no block changes."""
    if metric not in ("euclidean", "sqeuclidean", "minkowski"):
        return cdist(new, rows, metric)
    return np.array([np.sqrt(np.einsum("ij,ij->i", one - rows, one - rows)) for one in new])


def lowest_first(D):
    return np.argsort(D, axis=1, kind="stable")


@pytest.mark.parametrize(
    ("metric", "as_input"),
    [
        ("euclidean", np.asarray),
        ("euclidean", np.asfortranarray),
        ("euclidean", sp.csr_array),
        ("sqeuclidean", np.asarray),
        ("minkowski", np.asfortranarray),
        ("cityblock", sp.csr_array),
        ("hamming", np.asarray),
        ("precomputed", np.asarray),
    ],
)
@pytest.mark.parametrize(("n", "d", "values"), [(150, 30, 3), (150, 2, 4), (60, 1, 1)])
@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_of_equally_near_rows_the_first_ones_are_listed(n, d, values, unit, metric, as_input, rng, monkeypatch):
    unit = 0.25 if as_input is sp.csr_array else unit  # sums of few terms are rounded in another way
    rows, new = (unit * rng.integers(0, values, size=(size, d)) for size in (n, 9))
    given = pair_by_pair(rows, rows, "euclidean") if metric == "precomputed" else rows
    expected = lowest_first(others(given if metric == "precomputed" else pair_by_pair(rows, rows, metric)))
    for block in (4_000_000, 2000):
        monkeypatch.setattr(_nearest, "_BLOCK", block)
        search = NeighborSearch(as_input(given), metric=metric)
        for k in (1, 6, 25):
            np.testing.assert_array_equal(search.lists(k), expected[:, :k])
            search.forget()
        if metric != "precomputed":
            nearest = search.kneighbors(as_input(new), 7)[1]
            np.testing.assert_array_equal(nearest, lowest_first(pair_by_pair(new, rows, metric))[:, :7])
        search.lists(30)
        np.testing.assert_array_equal(search.lists(9), expected[:, :9])


@pytest.mark.parametrize("large", [10, 10_000])
def test_cosines_of_copies_and_multiples(large, rng, monkeypatch):
    monkeypatch.setattr(_nearest, "LARGE", large)
    rows = np.repeat(np.eye(6)[:, [0, 1, 2, 3, 4, 5]] + 0.01 * rng.integers(0, 9, (6, 6)), 12, axis=0)
    rows *= 2.0 ** rng.integers(-3, 4, size=(72, 1))  # whose directions are equal to the last bit
    same = np.arange(72).reshape(6, 12)
    for given in (rows, sp.csr_array(rows)):
        lists = NeighborSearch(given, metric="cosine").lists(5)
        assert [list(row) for row in lists] == [[j for j in same[i // 12] if j != i][:5] for i in range(72)]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_blocks_find_what_dense_rows_do(metric, rng, monkeypatch):
    monkeypatch.setattr(_nearest, "_BLOCK", 1000)
    rows = np.abs(rng.normal(size=(200, 30))) * (rng.random((200, 30)) < 0.4) + 1e-3
    sparse, dense = NeighborSearch(sp.csr_array(rows), metric=metric), NeighborSearch(rows, metric=metric)
    np.testing.assert_array_equal(sparse.lists(8), dense.lists(8))
    new = np.abs(rng.normal(size=(70, 30)))
    expected = np.argsort(cdist(new, rows, metric), axis=1)[:, :8]
    for queries in (new, sp.csr_array(new)):
        np.testing.assert_array_equal(sparse.kneighbors(queries, 8)[1], expected)
        np.testing.assert_array_equal(dense.kneighbors(queries, 8)[1], expected)


def test_sparse_blocks_never_hold_all_products(rng, monkeypatch):
    n = 3000
    rows = documents(n, 1000, rng)
    assert (rows @ rows.T).nnz > 0.9 * n * n
    monkeypatch.setattr(_nearest, "_MEMORY", 2)
    search = NeighborSearch(rows, metric="cosine")
    tracemalloc.start()
    search.lists(10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * n * n / 5


def test_many_dense_rows_under_the_cosine(rng, monkeypatch):
    rows, new = rng.normal(size=(120, 25)) * rng.uniform(0.1, 9, size=(120, 1)), rng.normal(size=(30, 25))
    monkeypatch.setattr(_nearest, "LARGE", 100)
    used = []
    fit = NearestNeighbors.fit
    monkeypatch.setattr(NearestNeighbors, "fit", lambda self, Y: used.append(self.metric) or fit(self, Y))
    search = NeighborSearch(rows, metric="cosine")
    np.testing.assert_array_equal(search.lists(7), np.argsort(others(cdist(rows, rows, "cosine")), axis=1)[:, :7])
    np.testing.assert_array_equal(search.kneighbors(new, 7)[1], np.argsort(cdist(new, rows, "cosine"), axis=1)[:, :7])
    assert used == ["euclidean", "euclidean"]  # of unit rows


def test_single_precision_only_where_it_is_exact(rng, tol):
    pixels = rng.integers(0, 256, size=(10_001, 20)).astype(np.uint8)
    assert NeighborSearch(pixels).rows.dtype == np.float32
    assert NeighborSearch(pixels[:-1]).rows.dtype == np.float64
    assert NeighborSearch(pixels.astype(np.int32)).rows.dtype == np.float64
    values = rng.normal(size=(10_001, 20))
    double, single = NeighborSearch(values), NeighborSearch(np.asfortranarray(values, dtype=np.float32))
    assert (double.rows.dtype, single.rows.dtype) == (np.float64, np.float32)
    assert (double.transform(values[:3]).dtype, single.transform(values[:3]).dtype) == (np.float64, np.float32)
    assert recall(single.lists(10), double.lists(10)) > 0.9999
    distances, indices = single.kneighbors(values[:50] + 0.1, 5)
    np.testing.assert_array_equal(indices, double.kneighbors(values[:50] + 0.1, 5)[1])
    np.testing.assert_allclose(distances, double.kneighbors(values[:50] + 0.1, 5)[0], rtol=tol["float32"])


# The projection


@pytest.mark.parametrize("size", [12, 600])  # the covariance, and a randomized solver that needs the seed
def test_projection_is_that_of_scikit_learn(size, rng, tol):
    scales, columns = np.linspace(1, 3, size), size
    rows, new = rng.normal(size=(150, columns)) * scales + 5.0, rng.normal(size=(40, columns)) * scales + 5.0
    pca = PCA(4, random_state=3).fit(rows)
    search = NeighborSearch(rows, reduce=4, random_state=3)
    assert search.n_components == 4
    near = NearestNeighbors(n_neighbors=6).fit(pca.transform(rows))
    distances, indices = search.kneighbors(n_neighbors=6)
    expected = near.kneighbors()  # own rows left out
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_allclose(distances, expected[0], rtol=tol["linalg"])
    distances, indices = search.kneighbors(new, 6)
    expected = near.kneighbors(pca.transform(new))
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_allclose(distances, expected[0], rtol=tol["linalg"])
    # Graphs and new points see the projected rows and nothing else.
    weights = neighbor_weights(new, rows, 6, weight="self_tuning", reduce=4, random_state=3)
    expected = neighbor_weights(pca.transform(new), pca.transform(rows), 6, weight="self_tuning")
    np.testing.assert_allclose(weights.toarray(), expected.toarray(), rtol=tol["linalg"])


@pytest.mark.parametrize(
    ("as_input", "metric"), [(sp.csr_array, "cosine"), (sp.csr_array, "euclidean"), (None, "cosine")]
)
def test_projection_is_not_centred_where_angles_count(as_input, metric, rng, tol):
    counts = documents(200, 60, rng)
    rows = counts if as_input else counts.toarray()
    svd = TruncatedSVD(10, random_state=0).fit(counts)
    search = NeighborSearch(rows, metric=metric, reduce=10)
    np.testing.assert_allclose(abs(search.rows), abs(svd.transform(counts)), atol=1e-9)
    D = others(cdist(svd.transform(counts), svd.transform(counts), metric))
    np.testing.assert_array_equal(search.lists(5), np.argsort(D, axis=1)[:, :5])


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        ((10_001, 101), {}, 50),
        ((10_001, 101), {"metric": "cosine"}, 50),
        ((10_001, 101), {"metric": "manhattan"}, None),
        ((10_000, 101), {}, None),
        ((10_001, 100), {}, None),
        ((10_001, 101), {"sparse": True}, None),
    ],
)
def test_automatic_projection(rows, options, expected, rng):
    data = rng.integers(0, 9, size=rows).astype(np.uint8)
    options = dict(options)
    data = sp.csr_array(data) if options.pop("sparse", False) else data
    search = NeighborSearch(data, reduce="auto", **options)
    assert search.n_components == expected
    assert search.rows.shape == (rows[0], expected or rows[1])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8])  # uint8: single precision
def test_copies_stay_copies_under_a_projection(metric, dtype, rng):
    rows = rng.integers(1, 250, size=(10_050, 60)).astype(dtype)
    rows[10_000:] = rows[:50]
    search = NeighborSearch(rows, reduce=20, metric=metric)
    assert search.rows.dtype == (np.float32 if dtype == np.uint8 else np.float64)
    distances, indices = search.kneighbors(n_neighbors=3)
    np.testing.assert_array_equal(indices[:50, 0], np.arange(10_000, 10_050))
    np.testing.assert_array_equal(distances[:50, 0], 0.0)
    assert (distances[:, 1] > 0).all()
    # One by one, in an order and a precision of their own: other roundings of the same product.
    weights = sp.vstack([neighbor_weights(rows[[i]].astype(float), search, 4) for i in (7, 60, 9_999)])
    np.testing.assert_array_equal(weights.indptr, [0, 2, 3, 4])
    np.testing.assert_array_equal(weights.indices, [7, 10_007, 60, 9_999])


def test_rows_without_a_part_in_the_components_have_no_direction(rng):
    rows = rng.normal(size=(40, 12)) * np.r_[np.full(6, 100.0), np.full(6, 1e-3)]
    rows[:-1, 11] = 0.0
    rows[-1] = np.eye(12)[11] * 1e-3  # next to everything else
    with pytest.warns(UserWarning, match=r"1 rows of X are zero \(the first is row 39\)"):
        W = knn_graph(rows, 3, metric="cosine", reduce=4)
    assert components(W).n_isolated == 1


def test_projection_in_single_precision_far_from_the_origin(rng):
    rows = np.rint(30_000 + rng.normal(size=(10_001, 101)) * np.linspace(40, 5, 101)).astype(np.int16)
    single, double = NeighborSearch(rows, reduce=20), NeighborSearch(rows.astype(np.float64), reduce=20)
    assert (double.rows.dtype, single.rows.dtype) == (np.float64, np.float32)
    few = rows[:500]
    assert recall(single.kneighbors(few, 10)[1], double.kneighbors(few, 10)[1]) > 0.999


# The approximate search


class StandIn:
    """Lists of pynndescent's kind: neighbours in disorder, some wrong, some missing (-1)."""

    made = 0

    def __init__(self, data, metric, n_neighbors, random_state, n_jobs):
        assert n_jobs == 1
        type(self).made += 1
        self.data, self.metric, self.width = data, metric, n_neighbors
        self.rng = np.random.default_rng(random_state)

    def _lists(self, queries, width):
        near = NearestNeighbors(n_neighbors=width, metric=self.metric).fit(self.data)
        indices = near.kneighbors(queries, return_distance=False).astype(np.int32)
        indices[-1, -1] = -1  # a row less
        indices[3] = -1  # too few rows: searched exactly
        indices[5, 2:] = -1
        indices = self.rng.permuted(indices, axis=1)
        return indices, np.zeros(indices.shape, dtype=np.float32)

    @property
    def neighbor_graph(self):
        return self._lists(self.data, self.width)

    def query(self, queries, k):
        return self._lists(queries, k)


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=StandIn))
    monkeypatch.setattr(_nearest, "_EXACT_ROWS", 50)
    monkeypatch.setattr(StandIn, "made", 0)
    return StandIn


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_candidates_are_cut_to_the_best(metric, as_input, stand_in):
    search = NeighborSearch(as_input(X), metric=metric, search="approximate")
    exact = NeighborSearch(as_input(X), metric=metric)
    np.testing.assert_array_equal(search.lists(4), exact.lists(4))
    new = as_input(X[:20] + 0.01)
    np.testing.assert_array_equal(search.kneighbors(new, 4)[1], exact.kneighbors(new, 4)[1])
    assert stand_in.made == 1
    W = knn_graph(search, 4, kind="mutual+mst")
    assert components(W).n == 1


def test_few_rows_are_compared_with_all(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace())
    W = knn_graph(X, 5, search="approximate")
    np.testing.assert_array_equal(W.toarray(), knn_graph(X, 5).toarray())


def test_without_pynndescent_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    for call in (
        lambda: NeighborSearch(X, search="approximate"),
        lambda: knn_graph(X, search="approximate"),
        lambda: neighbor_weights(X, X, search="approximate"),
    ):
        with pytest.raises(ImportError, match=re.escape("pip install 'specmargin[large]', or take search='exact'")):
            call()
    knn_graph(X)


@pytest.mark.slow  # pynndescent compiles for a minute
def test_pynndescent_finds_nearly_all(rng):
    pytest.importorskip("pynndescent")
    centres = rng.normal(size=(40, 20)) * 3
    rows = centres[rng.integers(0, 40, size=6000)] + rng.normal(size=(6000, 20))
    rows[100:140] = rows[7]  # more copies than neighbours
    new = rows[:500] + 0.3 * rng.normal(size=(500, 20))
    for as_input, metric in ((np.asarray, "euclidean"), (sp.csr_array, "cosine")):
        exact = NeighborSearch(as_input(rows), metric=metric)
        search = NeighborSearch(as_input(rows), metric=metric, search="approximate", random_state=1)
        assert near_enough(search, exact, None, 10) > 0.95
        assert near_enough(search, exact, as_input(new), 10) > 0.95
        distances, indices = search.kneighbors(n_neighbors=10)
        assert (indices != np.arange(6000)[:, None]).all()
        np.testing.assert_array_equal(distances[100:140], 0.0)
        again = NeighborSearch(as_input(rows), metric=metric, search="approximate", random_state=1)
        np.testing.assert_array_equal(again.lists(10), search.lists(10))
    copy = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copy.kneighbors(as_input(new), 10)[1], search.kneighbors(as_input(new), 10)[1])


# One search for several graphs


@pytest.mark.parametrize("options", [{"reduce": 3}, {"metric": "cosine"}])
@pytest.mark.parametrize("weight", ["heat", "self_tuning"])
def test_a_search_stands_for_its_rows(options, weight, tol):
    search, new = NeighborSearch(X, **options), X[:9] + 0.05
    for kind in ("symmetric", "mutual+mst"):
        expected = knn_graph(X, 5, kind=kind, weight=weight, **options)
        np.testing.assert_array_equal(knn_graph(search, 5, kind=kind, weight=weight).toarray(), expected.toarray())
    expected = neighbor_weights(new, X, 5, weight=weight, **options)
    np.testing.assert_array_equal(neighbor_weights(new, search, 5, weight=weight).toarray(), expected.toarray())
    assert resolve_sigma(search, 5) == resolve_sigma(X, 5, **options)
    copy = pickle.loads(pickle.dumps(search))
    # To rounding only: pickling changes the order in memory of the components, and so that of their sums.
    weights = neighbor_weights(new, copy, 5, weight=weight)
    np.testing.assert_allclose(weights.toarray(), expected.toarray(), rtol=tol["exact"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NeighborSearch(X, search="quick"), "search='quick' is unknown; take one of exact, approximate."),
        (lambda: NeighborSearch(X, search="approximate", metric="manhattan"), "not 'manhattan'; take search='exact'."),
        (lambda: NeighborSearch(X, reduce=0), "reduce=0; take a number of components >= 1, 'auto', or None"),
        (lambda: NeighborSearch(X, reduce=2, metric="manhattan"), "not metric='manhattan'; take reduce=None"),
        (lambda: NeighborSearch(cdist(X, X), reduce=2, metric="precomputed"), "not metric='precomputed'"),
        (lambda: NeighborSearch(X).kneighbors(n_neighbors=90), "n_neighbors=90, but X has 90 rows; take 1 to 89."),
        (lambda: knn_graph(NeighborSearch(X), metric="cosine"), "the NeighborSearch was made with 'euclidean'"),
        (lambda: knn_graph(NeighborSearch(X), reduce=3), "reduce=3, but the NeighborSearch was made with None"),
        (lambda: knn_graph(NeighborSearch(X), search="approximate"), "search='approximate', but the NeighborSearch"),
        (lambda: knn_graph(NeighborSearch(X), weight="cosine"), "make the NeighborSearch with angles=True."),
    ],
)
def test_errors_say_the_value_and_the_remedy(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_a_generator_is_a_seed():
    rows = np.random.default_rng(0).normal(size=(60, 30))
    first, again, other = (NeighborSearch(rows, reduce=5, random_state=np.random.default_rng(k)) for k in (1, 1, 2))
    np.testing.assert_array_equal(first.rows, again.rows)
    assert first.random_state == again.random_state != other.random_state
    W = knn_graph(rows, 4, reduce=5, random_state=np.random.default_rng(1))
    np.testing.assert_array_equal(W.toarray(), knn_graph(first, 4).toarray())


@pytest.mark.parametrize("sparse", [False, True])
def test_long_lists_begin_with_those_of_every_shorter_list(rng, sparse):
    X = rng.normal(size=(40, 3))
    X = sp.csr_array(X) if sparse else X
    search = NeighborSearch(X)
    search.lists(12)
    for k in (1, 5, 12, 20):
        np.testing.assert_array_equal(search.lists(k), NeighborSearch(X).lists(k))
    copies = NeighborSearch(np.repeat(rng.normal(size=(4, 2)), 6, axis=0))
    copies.lists(10)
    assert (copies.distances(copies.rows, np.repeat(np.arange(24), 5), copies.lists(5).ravel()) == 0).all()
    assert (copies.lists(5) != np.arange(24)[:, None]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 7, 784])
def test_distances_of_pairs_are_those_of_scikit_learn_to_the_last_bit(dtype, d, monkeypatch):
    rng = np.random.default_rng(d)
    A, B = (rng.normal(size=(n, d)).astype(dtype) + 3 for n in (50, 70))
    rows, cols = rng.integers(50, size=3000), rng.integers(70, size=3000)
    expected = paired_euclidean_distances(A[rows], B[cols])
    for cached in (100_000, 1):
        monkeypatch.setattr(_nearest, "_CACHED", cached)
        for metric in ("euclidean", "l2"):
            np.testing.assert_array_equal(_nearest.pair_distances(A, B, rows, cols, metric), expected)
    assert _nearest.pair_distances(A, B, rows[:0], cols[:0], "euclidean").shape == (0,)
