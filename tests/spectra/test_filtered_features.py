"""Filtered features: against all eigenvectors, what normalising promises, and input of every kind."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs import normalized_adjacency
from specmargin.spectra import Bands, Bernstein, Powers, Resolvents, filter_bank
from specmargin.spectra import filtered_features as module


class Halves:
    """A family by a stranger: a low and a high half, which are the two polynomials of `Bernstein(1)`."""

    name = "halves"
    parameters = np.array([0.0, 2.0])

    def response(self, s):
        return np.stack([1 + np.asarray(s), 1 - np.asarray(s)]) / 2

    def chebyshev(self, tol):
        return np.array([[0.5, 0.5], [0.5, -0.5]])


FAMILIES = [Resolvents(), Powers(4), Bernstein(5), Bands([0.0, 0.61, 1.03, 2.0])]
families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


@pytest.fixture(scope="module")
def graph():
    return normalized_adjacency(nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None))


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(34, 70))


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@families
def test_blocks_are_functions_of_the_operator(graph, X, family):
    values, vectors = np.linalg.eigh(graph.toarray())
    bank = filter_bank(graph, X, family, normalization=None, tol=1e-10)
    for h, F in zip(family.response(values), bank.blocks, strict=True):
        np.testing.assert_allclose(F, vectors @ (h[:, None] * (vectors.T @ X)), atol=1e-9)
    centred = [F - F.mean(axis=0) for F in bank.blocks]
    np.testing.assert_allclose(bank.power, [(F**2).sum() / 34 for F in centred], rtol=1e-9)


def test_a_family_of_ones_own_is_taken_as_an_object(graph, X):
    own, same = filter_bank(graph, X, Halves()), filter_bank(graph, X, Bernstein(1))
    np.testing.assert_allclose(own.blocks, same.blocks, atol=1e-12)
    y = np.where(np.arange(34) < 6, np.arange(34) % 2, -1)
    fits = [sm.SpectralFilterClassifier(filters=one).fit(X, y, graph=graph) for one in (Halves(), Bernstein(1))]
    np.testing.assert_allclose(fits[0].scores_, fits[1].scores_, atol=1e-9)
    for wrong in (Halves, Resolvents, "resolvents", 3):  # a class is no family
        with pytest.raises(InvalidTypeError, match=r"is no family of filters; pass one of specmargin.spectra"):
            filter_bank(graph, X, wrong)


@families
@pytest.mark.parametrize("normalization", ["unit", "centered", "trace"])
def test_normalising_is_what_it_says(graph, X, family, normalization):
    raw = filter_bank(graph, unit(X) if normalization == "unit" else X, family, normalization=None).blocks
    for plain, F in zip(raw, filter_bank(graph, X, family, normalization=normalization).blocks, strict=True):
        expected = unit(plain) if normalization == "unit" else plain
        expected = expected if normalization == "trace" else expected - expected.mean(axis=0)
        np.testing.assert_allclose(F, expected * np.sqrt(34 / (expected**2).sum()), atol=1e-10)
        assert (F**2).sum() == pytest.approx(34)


@families
def test_sparse_features_are_dense_ones(graph, family):
    X = sp.random_array((34, 70), density=0.2, random_state=np.random.default_rng(0), format="csr")
    dense, sparse = filter_bank(graph, X.toarray(), family), filter_bank(graph, X, family)
    for first, second in zip(dense.blocks, sparse.blocks, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-12)


def test_single_precision_has_six_digits(graph, X):
    double, single = filter_bank(graph, X), filter_bank(graph, X, dtype=np.float32)
    for first, second in zip(double.blocks, single.blocks, strict=True):
        assert second.dtype == np.float32
        assert np.abs(first @ first.T - second.astype(float) @ second.T.astype(float)).max() < 1e-5


def test_blocks_beyond_two_gigabytes_are_of_single_precision(graph, X, monkeypatch):
    size = 7 * X.size * 8
    for limit, kind in ((size, np.float64), (size - 1, np.float32)):
        monkeypatch.setattr(module, "LARGE", limit)
        assert {F.dtype for F in filter_bank(graph, X).blocks} == {np.dtype(kind)}
    assert filter_bank(graph, X, dtype=np.float64).blocks[0].dtype == np.float64
    monkeypatch.setattr(module, "LARGE", 7 * 34**2 * 8 - 1)
    assert filter_bank(graph, None).blocks[0].dtype == np.float32


@pytest.mark.parametrize("difference", [1e-3, 1e-6, 1e-9])
def test_features_that_are_nearly_alike_keep_their_digits(difference):
    """What is left after the mean is small; written out in extended precision."""
    noise = np.random.default_rng(0).normal(size=(34, 5))
    X = np.ones((34, 5)) + difference * noise
    bank = filter_bank(sp.eye_array(34), X, Resolvents([0.0]))
    U = X.astype(np.longdouble)
    U /= np.sqrt((U * U).sum(axis=1))[:, None]
    U -= U.mean(axis=0)
    power = float((U * U).sum()) / 34
    assert bank.power[0] == pytest.approx(power, rel=1e-14 / difference)
    np.testing.assert_allclose(bank.blocks[0], (U / np.sqrt(power)).astype(float), atol=1e-14 / difference)


def test_without_features_the_graph_alone_is_seen(graph):
    bank = filter_bank(graph, None, normalization=None, tol=1e-10)
    given = filter_bank(graph, np.eye(34), normalization=None, tol=1e-10)
    for first, second in zip(bank.blocks, given.blocks, strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_response_adds_filters_in_one_unit(graph, X):
    """The trace of h(S) X X' h(S) of a learned kernel, frequency by frequency."""
    bank = filter_bank(graph, X, Resolvents([-0.5, 0.0, 0.8]))
    delta, lam = np.array([0.2, 0.3, 0.5]), np.linspace(0, 2, 9)
    expected = sum(d * h**2 / p for d, h, p in zip(delta, bank.filters.response(1 - lam), bank.power, strict=True))
    np.testing.assert_allclose(bank.response(delta, lam), expected)


@pytest.mark.parametrize("n", [1, 2])
def test_two_nodes_are_enough_and_one_is_not(n):
    S = normalized_adjacency(np.ones((n, n)) - np.eye(n))
    if n == 2:
        assert np.isfinite(filter_bank(S, np.eye(2)).blocks[0]).all()
    else:
        with pytest.raises(InvalidInputError, match="every node has the same features"):
            filter_bank(S, np.ones((1, 3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_features_are_refused(graph, dtype):
    with pytest.raises(InvalidInputError, match="the same features"):
        filter_bank(sp.eye_array(34), np.full((34, 3), 0.1), dtype=dtype)


def test_a_filter_that_leaves_nothing_is_a_block_of_zeros(graph, X):
    bank = filter_bank(graph, X, Bands([0.0, 1e-6, 1.99, 2.0]))
    assert not bank.blocks[2].any()
    assert bank.power[2] == 0
    assert np.isfinite(bank.response(np.ones(3) / 3, np.array([1.0]))).all()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scales_of_features_do_not_matter(graph, X, scale):
    for first, second in zip(filter_bank(graph, X).blocks, filter_bank(graph, scale * X).blocks, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"S": np.ones((3, 2))}, r"S has the shape \(3, 2\)"),
        ({"S": np.triu(np.ones((34, 34)))}, "no finite symmetric matrix|not a finite symmetric"),
        ({"S": np.ones((34, 34))}, "S has an eigenvalue of at least 34"),
        ({"X": np.ones((33, 2))}, r"X has the shape \(33, 2\), but the graph has 34 nodes"),
        ({"X": np.ones((34, 0))}, r"X has the shape \(34, 0\)"),
        ({"X": np.zeros((34, 2))}, "holds zeros only"),
        ({"X": np.full((34, 2), np.nan)}, r"X.*not finite"),
        ({"normalization": "l1"}, "normalization='l1'"),
        ({"tol": 0.0}, r"tol=0\.0"),
        ({"dtype": int}, r"must be numpy\.float32"),
    ],
)
def test_what_does_not_fit_is_refused(graph, X, change, message):
    arguments = {"S": graph, "X": X, **change}
    with pytest.raises(InvalidInputError, match=message):
        filter_bank(**arguments)


def test_bands_of_large_graphs_are_refused():
    with pytest.raises(InvalidInputError, match="bands take all eigenvectors of the 4001 nodes"):
        filter_bank(sp.eye_array(4001), np.random.default_rng(0).normal(size=(4001, 2)), Bands(2))
