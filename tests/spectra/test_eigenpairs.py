"""Eigenpairs against dense oracles and closed forms; extensions against the eigenvectors themselves."""

import re

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from graph_samples import cloud, pieces, sparse
from scipy.linalg import subspace_angles

import specmargin as sm
from specmargin.exceptions import SolverError
from specmargin.graphs import laplacian
from specmargin.spectra import Spectrum, eigenpairs, laplacian_eigenpairs, nystrom

KINDS = pytest.mark.parametrize("normalized", [False, True])
METHODS = pytest.mark.parametrize("method", ["dense", "arpack"])


def assert_eigenpairs(s, W, normalized, atol=1e-10):
    L = laplacian(W, normalized=normalized).toarray()
    U = s.eigenvectors
    np.testing.assert_allclose(L @ U, U * s.eigenvalues, atol=atol * max(1.0, abs(L).max()))
    np.testing.assert_allclose(U.T @ U, np.eye(s.q), atol=1e-11)
    oracle = scipy.linalg.eigh(L, eigvals_only=True)[: s.q]
    np.testing.assert_allclose(s.eigenvalues, oracle, atol=atol * max(1.0, abs(L).max()))
    assert (np.diff(s.eigenvalues) >= 0).all()
    recomputed = np.linalg.norm(L @ U - U * s.eigenvalues, axis=0).max()
    assert s.residual == pytest.approx(recomputed, abs=1e-12)


@KINDS
@METHODS
def test_connected_graph(method, normalized):
    W = cloud(150)
    s = laplacian_eigenpairs(W, 30, normalized=normalized, method=method)
    assert_eigenpairs(s, W, normalized)
    assert (s.q, s.n_samples, s.n_components, s.normalized, s.cuts_tie) == (30, 150, 1, normalized, False)
    assert s.eigenvalues[0] == 0.0
    assert s.eigenvalues[1] > 0.0
    if normalized:
        root = np.sqrt(W.sum(axis=1))
        np.testing.assert_allclose(s.eigenvectors[:, 0], root / np.linalg.norm(root), rtol=1e-14)
    else:
        assert (s.eigenvectors[:, 0] == 1 / np.sqrt(150)).all()


@KINDS
@METHODS
@pytest.mark.parametrize("q", [1, 3, 5, 6, 20, 52])
def test_disconnected_graph_has_its_whole_null_space(method, normalized, q):
    W = pieces()
    s = laplacian_eigenpairs(W, q, normalized=normalized, method=method)
    assert_eigenpairs(s, W, normalized)
    assert s.n_components == min(5, q)
    assert (s.eigenvalues[: s.n_components] == 0).all()
    assert (s.eigenvalues[s.n_components :] > 1e-8).all()
    assert s.cuts_tie == (q < 5)
    degrees = W.sum(axis=1)
    first = s.eigenvectors[:, 0]
    if normalized:
        np.testing.assert_allclose(first, np.sqrt(degrees) / np.sqrt(degrees.sum()), rtol=1e-13)
        if q >= 5:
            alone = s.eigenvectors[:, 3:5]
            np.testing.assert_array_equal(np.sort(alone, axis=0), np.eye(52)[:, -1:].repeat(2, axis=1))
            np.testing.assert_array_equal(alone.sum(axis=1), degrees == 0)
    else:
        assert (first == 1 / np.sqrt(52)).all()
    if q >= 5:
        L = laplacian(W, normalized=normalized).toarray()
        assert subspace_angles(s.eigenvectors[:, :5], scipy.linalg.null_space(L, rcond=1e-10)).max() < 1e-7


def test_null_space_contrasts_components_by_size():
    s = laplacian_eigenpairs(pieces(), 3, normalized=False)
    sizes = [
        {int(np.count_nonzero(np.isclose(u, value))) for value in np.unique(u.round(12))} for u in s.eigenvectors.T
    ]
    assert sizes == [{52}, {25, 15, 12}, {40, 10, 2}]


def test_signs_hold_in_the_null_space_too():
    # The smaller component has the larger degrees, so that the larger component's entries are the larger ones.
    W = sparse(nx.disjoint_union(nx.path_graph(6), nx.complete_graph(5)))
    s = laplacian_eigenpairs(W, 2, normalized=True)
    u = s.eigenvectors[:, 1]
    assert u[abs(u).argmax()] > 0
    assert (np.sign(u[:6]) == -np.sign(u[6])).all()


@KINDS
def test_graph_without_edges(normalized):
    s = laplacian_eigenpairs(sp.csr_array((4, 4)), 3, normalized=normalized)
    assert s.eigenvalues.tolist() == [0.0, 0.0, 0.0]
    assert s.eigenvectors[:, 0].tolist() == [0.5] * 4
    np.testing.assert_allclose(s.eigenvectors.T @ s.eigenvectors, np.eye(3), atol=1e-15)
    assert s.n_components == 3
    assert s.cuts_tie


def test_single_node():
    s = laplacian_eigenpairs(sp.csr_array((1, 1)), 1, normalized=False)
    assert (s.eigenvalues.tolist(), s.eigenvectors.tolist(), s.cuts_tie) == ([0.0], [[1.0]], False)


@METHODS
def test_path_closed_form(method):
    n = 60
    s = laplacian_eigenpairs(sparse(nx.path_graph(n)), 20, method=method, normalized=False)
    k = np.arange(20)
    np.testing.assert_allclose(s.eigenvalues, 2 - 2 * np.cos(np.pi * k / n), atol=1e-12)
    modes = np.cos(np.pi * k * (np.arange(n)[:, None] + 0.5) / n)
    np.testing.assert_allclose(abs((modes / np.linalg.norm(modes, axis=0)).T @ s.eigenvectors), np.eye(20), atol=1e-9)
    # Antisymmetric modes have two entries of largest modulus; the first is the positive one.
    first = (abs(s.eigenvectors) > (1 - 1e-6) * abs(s.eigenvectors).max(axis=0)).argmax(axis=0)
    assert (s.eigenvectors[first, k] > 0).all()
    assert s.block_ends().tolist() == list(range(1, 20))


@KINDS
@METHODS
def test_cycle_closed_form(method, normalized):
    n = 40
    s = laplacian_eigenpairs(sparse(nx.cycle_graph(n)), 21, normalized=normalized, method=method)
    k = np.array([0] + [j for j in range(1, 11) for _ in range(2)])
    scale = 2 if normalized else 1
    np.testing.assert_allclose(s.eigenvalues, (2 - 2 * np.cos(2 * np.pi * k / n)) / scale, atol=1e-12)
    assert s.block_ends().tolist() == list(range(2, 21, 2))
    assert not s.cuts_tie
    even = s.truncate(20)
    assert even.cuts_tie
    assert even.block_ends().tolist() == [*range(2, 19, 2), 19]
    assert laplacian_eigenpairs(sparse(nx.cycle_graph(n)), 20, normalized=normalized, method=method).cuts_tie


@KINDS
@METHODS
def test_copies_of_a_component_are_all_found(method, normalized):
    # Every eigenvalue has multiplicity 6: what a single start vector does not see.
    W = sp.csr_array(sp.block_diag([cloud(50, weight="binary")] * 6, format="csr"))
    s = laplacian_eigenpairs(W, 60, normalized=normalized, method=method)
    assert_eigenpairs(s, W, normalized)
    assert s.n_components == 6
    assert s.block_ends().tolist() == [5, *range(11, 60, 6)]
    assert not s.cuts_tie


def test_passed_over_eigenvectors_are_searched_for(monkeypatch):
    W = cloud(120)
    honest, calls = eigenpairs._top, []

    def forgetful(L, basis, known, k, bound, tol, rng):
        calls.append(k)
        if len(calls) > 1:
            return honest(L, basis, known, k, bound, tol, rng)
        values, vectors = honest(L, basis, known, k + 1, bound, tol, rng)
        keep = np.delete(np.argsort(-values), 3)
        return values[keep], vectors[:, keep]

    monkeypatch.setattr(eigenpairs, "_top", forgetful)
    s = laplacian_eigenpairs(W, 15, method="arpack", normalized=False)
    assert len(calls) == 4  # first, search, repair, search
    assert_eigenpairs(s, W, False)


def test_barely_connected_components_stay_apart():
    # Eigenvalue 1e-13: below what an eigensolver tells from 0, but the graph is connected.
    W = sp.block_diag([cloud(30), cloud(20, seed=5)]).tolil()
    W[0, 40] = W[40, 0] = 1e-12
    s = laplacian_eigenpairs(W.tocsr(), 4, method="dense", normalized=False)
    assert s.n_components == 1
    assert (s.eigenvectors[:, 0] == 1 / np.sqrt(50)).all()
    np.testing.assert_allclose(s.eigenvectors.T @ s.eigenvectors, np.eye(4), atol=1e-12)
    assert s.residual < 1e-13


@pytest.mark.parametrize("power", [2, 3])
@KINDS
def test_laplacian_with_a_power(normalized, power):
    W = cloud(60)
    s = laplacian_eigenpairs(laplacian(W, normalized=normalized, power=power), 10)
    L = np.linalg.matrix_power(laplacian(W, normalized=normalized).toarray(), power)
    np.testing.assert_allclose(s.eigenvalues, scipy.linalg.eigh(L, eigvals_only=True)[:10], atol=1e-9)
    assert s.normalized == normalized
    assert s.residual < 1e-9
    assert s.power == power
    plain = laplacian_eigenpairs(W, 10, normalized=normalized)
    np.testing.assert_allclose(s.eigenvectors, plain.eigenvectors, atol=1e-12)
    np.testing.assert_allclose(nystrom(s, W), nystrom(plain, W), rtol=1e-9)


def test_stored_zeros_do_not_connect():
    W = sp.csr_array((np.array([1.0, 1, 0, 0]), ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    assert W.nnz == 4
    assert laplacian_eigenpairs(W, 3, normalized=False).n_components == 2
    assert W.nnz == 4


def test_no_convergence_is_an_error_with_a_remedy(monkeypatch):
    honest = eigenpairs.eigsh
    monkeypatch.setattr(eigenpairs, "eigsh", lambda *a, **k: honest(*a, **k, maxiter=1))

    def broken(*args):
        raise SolverError("nor does this")

    monkeypatch.setattr(eigenpairs, "_lanczos", broken)
    monkeypatch.setattr(eigenpairs, "_dense", broken)
    with pytest.raises(SolverError, match=r"ARPACK found \d+ of 6 eigenpairs of 300 nodes .*method='dense'"):
        laplacian_eigenpairs(sparse(nx.path_graph(300)), 6, method="arpack", normalized=False)


PATH = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: laplacian_eigenpairs(PATH, 4, normalized=False),
            ValueError,
            "q=4 eigenpairs, but the graph has 3 nodes; take",
        ),
        (
            lambda: laplacian_eigenpairs(PATH, 0, normalized=False),
            ValueError,
            "q=0 must be a whole number of at least 1",
        ),
        (lambda: laplacian_eigenpairs(PATH, 2.0, normalized=False), ValueError, "q=2.0 must be a whole number"),
        (
            lambda: laplacian_eigenpairs(PATH, 2, method="lobpcg", normalized=False),
            ValueError,
            "method='lobpcg' is unknown",
        ),
        (lambda: laplacian_eigenpairs(PATH[:2], 2, normalized=False), ValueError, "not square (shape (2, 3))"),
        (lambda: laplacian_eigenpairs(-PATH, 2, normalized=False), ValueError, "the first W[0, 1] is -1"),
        (
            lambda: laplacian_eigenpairs(PATH * np.nan, 2, normalized=False),
            ValueError,
            "values that are not finite, the first W[0, 0] is nan; pass",
        ),
        (
            lambda: laplacian_eigenpairs(PATH + np.eye(3), 2, normalized=False),
            ValueError,
            "3 self loops; pass graphs.check_adjacency",
        ),
        (
            lambda: laplacian_eigenpairs(np.triu(PATH), 2, normalized=False),
            ValueError,
            "not symmetric: W[0, 1] = 1 but W[1, 0] = 0",
        ),
        (lambda: laplacian_eigenpairs(nx.path_graph(3), 2, normalized=False), TypeError, "from_networkx"),
        (
            lambda: laplacian_eigenpairs(laplacian(PATH, normalized=False), 2, normalized=True),
            ValueError,
            "combinatorial",
        ),
        (
            lambda: laplacian_eigenpairs(PATH, 2, normalized=False).truncate(3),
            ValueError,
            "q=3, but this spectrum holds 2",
        ),
        (lambda: Spectrum(np.zeros(2), np.eye(3), 1), ValueError, "shapes (3, 3) and (2,)"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


@pytest.mark.parametrize("method", ["dense", "arpack", "lanczos"])
def test_the_global_stream_is_left_alone(method):
    W = cloud(120)
    np.random.seed(5)  # noqa: NPY002 - the global stream is what is looked at
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002 - the global stream is what is looked at
    first = laplacian_eigenpairs(W, 6, method=method, normalized=False)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002 - the global stream is what is looked at
    np.random.seed(6)  # noqa: NPY002 - the global stream is what is looked at
    again = laplacian_eigenpairs(W, 6, method=method, random_state=0, normalized=False)
    np.testing.assert_array_equal(first.eigenvectors, again.eigenvectors)
    if method != "dense":
        drawn = laplacian_eigenpairs(W, 6, method=method, random_state=np.random.default_rng(7), normalized=False)
        assert not np.array_equal(drawn.eigenvectors, first.eigenvectors)
        np.testing.assert_allclose(drawn.eigenvalues, first.eigenvalues, atol=1e-9)


@pytest.mark.parametrize("normalized", [False, True])
def test_arpack_takes_no_null_vector_of_a_disconnected_graph_twice(normalized):
    """Nearly all pairs of small components: what ARPACK brings of the null space is no eigenvector to keep."""
    rng = np.random.default_rng(5)
    for _ in range(15):
        parts = []
        for _ in range(rng.integers(1, 6)):
            m = int(rng.integers(2, 9))
            A = np.triu(rng.random((m, m)) < rng.choice([0.3, 1.0]), 1).astype(float)
            parts.append(A + A.T)
        W = sp.csr_array(sp.block_diag(parts))
        n = W.shape[0]
        for q in {n, n - 1, max(1, n - 2)}:
            found = laplacian_eigenpairs(W, q=q, normalized=normalized, method="arpack")
            U = found.eigenvectors
            np.testing.assert_allclose(U.T @ U, np.eye(q), atol=1e-9)
            exact = laplacian_eigenpairs(W, q=q, normalized=normalized, method="dense")
            np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, atol=1e-9)


def test_vectors_that_are_not_orthogonal_are_not_kept(monkeypatch):
    """A method that returns one vector twice, each with a residual of zero, fails; another one is asked."""
    W = sp.csr_array(np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1))
    exact = laplacian_eigenpairs(W, q=4, method="dense", normalized=False)

    def twice(L, basis, k, bound, tol, random_state):
        return exact.eigenvalues[[1, 1, 2, 3]][:k], exact.eigenvectors[:, [1, 1, 2, 3]][:, :k]

    monkeypatch.setattr(eigenpairs, "_arpack", twice)
    found = laplacian_eigenpairs(W, q=4, method="arpack", normalized=False)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, atol=1e-9)
    monkeypatch.setattr(eigenpairs, "_lanczos", twice)
    monkeypatch.setattr(eigenpairs, "_dense", twice)
    with pytest.raises(SolverError, match=r"orthogonal to 1\.0e"):
        laplacian_eigenpairs(W, q=4, method="arpack", normalized=False)


def test_one_default_of_the_laplacian_everywhere():
    """By hand and by class the same program is solved."""
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.15, random_state=0)
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    assert laplacian_eigenpairs(W, 9).normalized
    assert sm.graphs.laplacian(W).normalized
    assert not laplacian_eigenpairs(sm.graphs.laplacian(W, normalized=False), 9).normalized
    by_class = sm.STORM(q=9, B=1.5, C=10.0).fit(X, y, graph=W).result_.certificate.primal_objective
    obj = sm.objectives.SpectrumMargin(laplacian_eigenpairs(W, 9), sm.encode_labels(y), C=10.0, B=1.5)
    assert sm.solvers.spectrum_margin(obj).certificate.primal_objective == pytest.approx(by_class, rel=1e-6)
