"""Filtered block Lanczos against LAPACK: precision, multiplicities, what it must find and when it must give up."""

import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from graph_samples import cloud, sparse
from numpy.polynomial import chebyshev
from scipy.linalg import subspace_angles

from specmargin.exceptions import SolverError
from specmargin.graphs import laplacian
from specmargin.spectra import eigenpairs, lanczos, laplacian_eigenpairs

KINDS = pytest.mark.parametrize("normalized", [False, True])
SINGLE_AND_DOUBLE = pytest.mark.parametrize("tol", [1e-5, 1e-9])


def bound_of(W, normalized):
    return 2.0 if normalized else 2.0 * W.sum(axis=1).max()


def assert_agrees(s, W, q, normalized, tol):
    """Eigenvalues within the residual of LAPACK's (Weyl: none missing), vectors orthonormal, residual as reported."""
    dense = laplacian_eigenpairs(W, q, normalized=normalized, method="dense")
    asked = tol * bound_of(W, normalized)
    L, U = laplacian(W, normalized=normalized), s.eigenvectors
    np.testing.assert_allclose(s.eigenvalues, dense.eigenvalues, atol=asked)
    np.testing.assert_allclose(U.T @ U, np.eye(q), atol=1e-12)
    assert (np.diff(s.eigenvalues) >= 0).all()
    assert s.n_components == dense.n_components
    c = s.n_components
    np.testing.assert_array_equal(U[:, :c], dense.eigenvectors[:, :c])
    recomputed = np.linalg.norm(L @ U - U * s.eigenvalues, axis=0).max()
    assert s.residual == pytest.approx(recomputed, rel=1e-3, abs=1e-13)
    assert recomputed <= asked
    return dense


@KINDS
@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-8, 0.0])
def test_equals_dense_to_its_residual(normalized, tol):
    W = cloud(700)
    s = laplacian_eigenpairs(W, 80, normalized=normalized, method="lanczos", tol=tol)
    dense = assert_agrees(s, W, 80, normalized, max(tol, 1e-11))
    # Davis & Kahan: the angle of the span is at most |R| over the gap above it.
    oracle = laplacian_eigenpairs(W, 81, normalized=normalized, method="dense").eigenvalues
    angle = subspace_angles(s.eigenvectors, dense.eigenvectors).max()
    assert angle <= 1.1 * np.sqrt(80) * s.residual / (oracle[80] - s.eigenvalues[79]) + 1e-12
    if tol < 1e-6:
        np.testing.assert_allclose(s.eigenvectors, dense.eigenvectors, atol=1e-5 if tol else 1e-8)  # signs included


@KINDS
def test_default_residual(normalized, monkeypatch):
    W = cloud(700)
    exact = laplacian_eigenpairs(W, 60, normalized=normalized, method="lanczos")
    assert_agrees(exact, W, 60, normalized, 1e-11)
    monkeypatch.setattr(eigenpairs, "_EXACT_NODES", 699)
    s = laplacian_eigenpairs(W, 60, normalized=normalized, method="lanczos")
    asked = 1e-3 * (1.0 if normalized else W.sum(axis=1).mean())
    assert_agrees(s, W, 60, normalized, asked / bound_of(W, normalized))
    assert 1e-9 < s.residual <= asked  # float32, and no better than it has to be


@KINDS
@pytest.mark.parametrize("q", [1, 7, 8, 40, 300])
def test_disconnected_graph(normalized, q):
    # Three components and five isolated nodes, shuffled: 300 nodes, 8 components.
    blocks = [cloud(n, seed=n) for n in (170, 85, 40)] + [sp.csr_array((5, 5))]
    order = np.random.default_rng(1).permutation(300)
    W = sp.csr_array(sp.block_diag(blocks, format="csr"))[order][:, order]
    for tol in (1e-5, 1e-9):
        s = laplacian_eigenpairs(W, q, normalized=normalized, method="lanczos", tol=tol)
        assert_agrees(s, W, q, normalized, tol)
        assert s.cuts_tie == (q < 8)


MULTIPLE = {
    "star": (nx.star_graph(399), 100),  # one eigenvalue 398 times
    "complete": (nx.complete_graph(200), 66),
    "complete bipartite": (nx.complete_bipartite_graph(150, 250), 120),
    "windmill": (nx.windmill_graph(60, 6), 100),
    "grid": (nx.grid_2d_graph(24, 24), 100),
    "torus": (nx.grid_2d_graph(24, 24, periodic=True), 121),  # blocks of 4 and 8
    "hypercube": (nx.hypercube_graph(9), 130),  # blocks of 9, 36, 84: more than the block size
    "tree": (nx.full_rary_tree(3, 600), 120),
}


@SINGLE_AND_DOUBLE
@KINDS
@pytest.mark.parametrize("name", MULTIPLE)
def test_multiple_eigenvalues(name, normalized, tol):
    graph, q = MULTIPLE[name]
    W = sparse(graph)
    s = laplacian_eigenpairs(W, q, normalized=normalized, method="lanczos", tol=tol)
    dense = assert_agrees(s, W, q, normalized, tol)
    assert s.cuts_tie >= dense.cuts_tie
    if tol == 1e-9:
        assert s.cuts_tie == dense.cuts_tie
        assert s.block_ends().tolist() == dense.block_ends().tolist()


@SINGLE_AND_DOUBLE
def test_copies_of_a_component_beyond_the_block_size(tol):
    # Every eigenvalue 30 times, from 16 start vectors.
    W = sp.csr_array(sp.block_diag([cloud(40, weight="binary")] * 30, format="csr"))
    assert_agrees(laplacian_eigenpairs(W, 90, method="lanczos", tol=tol, normalized=False), W, 90, False, tol)


@pytest.mark.parametrize("isolated", [10, 600])
def test_many_isolated_nodes(isolated):
    W = sp.csr_array(sp.block_diag([cloud(400), sp.csr_array((isolated, isolated))], format="csr"))
    q = isolated + 60
    assert_agrees(laplacian_eigenpairs(W, q, normalized=True, method="lanczos", tol=1e-5), W, q, True, 1e-5)


def test_a_cut_tie_is_not_missed_at_a_loose_tolerance():
    W = sparse(nx.cycle_graph(500))
    for q, tie in ((40, True), (41, False)):
        assert laplacian_eigenpairs(W, q, method="lanczos", tol=1e-4, normalized=False).cuts_tie == tie


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_units_of_the_weights_do_not_matter(scale):
    W = cloud(400)
    s, scaled = (laplacian_eigenpairs(A, 20, method="lanczos", normalized=False) for A in (W, scale * W))
    np.testing.assert_allclose(scaled.eigenvalues, scale * s.eigenvalues, rtol=1e-6)
    assert subspace_angles(scaled.eigenvectors, s.eigenvectors).max() < 1e-2


def test_nearly_disconnected_graph(monkeypatch):
    # Twenty-five eigenvalues below 1e-7, of which four are wanted: the cut must not follow them down.
    W = sp.block_diag([cloud(12, seed=i) for i in range(25)]).tolil()
    for i in range(24):
        W[12 * i, 12 * i + 12] = W[12 * i + 12, 12 * i] = 1e-8
    W = W.tocsr()
    honest, degrees = lanczos.ChebyshevFilter, []

    def noted(*args):
        S = honest(*args)
        degrees.append(S.degree)
        # Without its floor the degree would be some 100,000.
        assert S.degree < 1000
        return S

    monkeypatch.setattr(lanczos, "ChebyshevFilter", noted)
    for tol in (1e-4, 1e-9):
        assert_agrees(laplacian_eigenpairs(W, 4, method="lanczos", tol=tol, normalized=False), W, 4, False, tol)
    assert max(degrees) > 100


def forgetting(monkeypatch, position):
    """Make the first converged cycle lose one of its Ritz pairs."""
    honest, calls = lanczos._expanded, []

    def forgetful(*args):
        W, ritz, worst = honest(*args)
        calls.append(len(ritz.theta))
        if len(calls) == 1:
            keep = np.delete(np.arange(len(ritz.theta)), position)
            ritz = lanczos._Ritz(ritz.theta[keep], ritz.rotation[:, keep], ritz.residuals[keep])
        return W, ritz, worst

    monkeypatch.setattr(lanczos, "_expanded", forgetful)
    return calls


@pytest.mark.parametrize("position", [0, 40, 65])
@SINGLE_AND_DOUBLE
def test_passed_over_eigenvectors_are_searched_for(monkeypatch, position, tol):
    W = cloud(700)
    calls = forgetting(monkeypatch, position)
    s = laplacian_eigenpairs(W, 70, normalized=True, method="lanczos", tol=tol)
    assert len(calls) > 1
    assert_agrees(s, W, 70, True, tol)
    # It is the search that saw it.
    calls.clear()
    monkeypatch.setattr(lanczos, "_search_complement", lambda *a: (None, False))
    missing = laplacian_eigenpairs(W, 70, normalized=True, method="lanczos", tol=tol)
    assert len(calls) == 1
    assert missing.residual <= 2 * tol
    exact = laplacian_eigenpairs(W, 70, normalized=True, method="dense").eigenvalues
    assert abs(missing.eigenvalues - exact).max() > 100 * tol


@pytest.mark.parametrize("share", [0.2, 0.6])
@SINGLE_AND_DOUBLE
def test_a_cut_that_is_too_low_is_raised(monkeypatch, share, tol):
    honest, counts = lanczos.Density.quantile, []
    monkeypatch.setattr(
        lanczos.Density, "quantile", lambda self, count: counts.append(count) or share * honest(self, count)
    )
    W = cloud(800)
    assert_agrees(laplacian_eigenpairs(W, 60, normalized=True, method="lanczos", tol=tol), W, 60, True, tol)
    assert len(counts) > 1
    assert counts == sorted(counts)


def test_restarts(monkeypatch):
    # A residual that one cycle does not reach: the last block carries over.
    W, cycles, honest = cloud(800), [], lanczos._expanded
    monkeypatch.setattr(lanczos, "_expanded", lambda *a: cycles.append(a[0].size) or honest(*a))
    monkeypatch.setattr(lanczos, "_GROWTH", {4: 4.0, 8: 4.0})
    for tol in (1e-5, 1e-11):
        assert_agrees(laplacian_eigenpairs(W, 40, method="lanczos", tol=tol, normalized=False), W, 40, False, tol)
    assert len(cycles) > 2


def chebyshev_of(x, degree):
    values, vectors = np.linalg.eigh(x)
    return (vectors * chebyshev.chebval(values, np.eye(degree + 1)[degree])) @ vectors.T


@pytest.mark.parametrize("cut", [0.02, 0.4, 0.9])
def test_filter_is_a_chebyshev_polynomial(rng, cut):
    L = laplacian(cloud(80), normalized=True).matrix
    S = lanczos.ChebyshevFilter(L, cut, 1.2, 7.0, np.float64)
    x = (S.centre * np.eye(80) - L.toarray()) / S.half_width
    X = rng.normal(size=(80, 3))
    np.testing.assert_allclose(S(X), chebyshev_of(x, S.degree) @ X, rtol=1e-9, atol=1e-9 * S.value(0.0))
    assert S.degree % 2 == 1
    assert np.log(S.value(0.0)) <= 7.0
    ends = np.array([S.centre - S.half_width, S.centre + S.half_width])
    np.testing.assert_allclose(ends, [cut if cut < 0.7 * 1.2 else 0.0, 1.2], rtol=1e-12)
    for eigenvalue in (0.0, 0.01, 0.5, 1.1, 1.25):
        value = chebyshev.chebval((S.centre - eigenvalue) / S.half_width, np.eye(S.degree + 1)[S.degree])
        assert S.value(eigenvalue) == pytest.approx(value, rel=1e-9, abs=1e-9)
        if eigenvalue < cut:
            assert S.eigenvalue(S.value(eigenvalue)) == pytest.approx(eigenvalue, abs=1e-12)


@pytest.mark.parametrize("cut", [0.02, 0.2, 0.9])
def test_residual_bounds_hold(rng, cut):
    # In coordinates of the eigenvectors everything is diagonal; the spectrum may even stick out above the interval.
    mu = np.concatenate([rng.uniform(0, 1.2, size=60), [0.0, cut, 1.2, 1.22]])
    S = lanczos.ChebyshevFilter(sp.diags_array(mu, format="csr"), cut, 1.2, 7.0, np.float64)
    p = np.array([S.value(m) for m in mu])
    tightest = np.inf
    for _ in range(300):
        eigenvalue = rng.uniform(0, min(cut, 0.8)) * 0.98
        theta = np.array([S.value(eigenvalue)])
        x = rng.normal(size=len(mu)) * rng.choice([1.0, 1e-4], size=len(mu), p=[0.05, 0.95])
        x[rng.integers(len(mu))] = 1.0
        x /= np.linalg.norm(x)
        bound = S.residual_bounds(theta, np.array([np.linalg.norm((p - theta) * x)]))[0]
        true = np.linalg.norm((mu - eigenvalue) * x)
        assert true <= bound * (1 + 1e-9)
        tightest = min(tightest, bound / max(true, 1e-300))
    assert tightest < 3
    if S.degree > 1:
        assert np.isinf(S.residual_bounds(np.array([0.9, 1.0]), np.ones(2))).all()
        assert S.separates(np.array([1.6, 2.0]))
        assert not S.separates(np.array([1.4, 2.0]))


@KINDS
def test_density_counts_eigenvalues(normalized):
    W = cloud(1000)
    L = laplacian(W, normalized=normalized).matrix
    root = np.sqrt(W.sum(axis=1)) if normalized else np.ones(1000)
    basis = sp.csr_array(root[:, None] / np.linalg.norm(root))
    deflate = lanczos.Deflation(basis, np.float64)
    density = lanczos.estimate_density(L, deflate, 999, np.random.default_rng(0))
    exact = np.linalg.eigvalsh(L.toarray())
    for count in (50, 200, 500):
        assert abs(np.searchsorted(exact, density.quantile(count)) - count) < 0.25 * count
    assert 0.97 * exact[-1] < density.largest <= 1.0001 * exact[-1]
    assert density.quantile(0) == 0.0


def test_giving_up_names_the_residual(monkeypatch):
    monkeypatch.setattr(lanczos, "_CYCLES", 1)
    monkeypatch.setattr(lanczos, "_GROWTH", {4: 2.0, 8: 2.0})

    def broken(*args):
        raise SolverError("neither does this")

    monkeypatch.setattr(eigenpairs, "_arpack", broken)
    monkeypatch.setattr(eigenpairs, "_dense", broken)
    with pytest.raises(SolverError, match=r"stopped after 1 cycles at the residual \d\.\de-\d\d .* tol=1.0e-09 .*take"):
        laplacian_eigenpairs(cloud(1500), 40, method="lanczos", tol=1e-9, normalized=False)


@pytest.mark.parametrize("method", ["arpack", "lanczos"])
def test_a_method_that_fails_leaves_it_to_the_other_one(monkeypatch, method):
    def broken(*args):
        raise SolverError("no eigenpairs")

    monkeypatch.setattr(eigenpairs, f"_{method}", broken)
    assert_agrees(laplacian_eigenpairs(cloud(300), 20, method=method, normalized=False), cloud(300), 20, False, 1e-11)


@pytest.mark.parametrize("method", ["arpack", "lanczos"])
@pytest.mark.parametrize("random_state", [0, 1])
def test_graphs_of_few_distinct_eigenvalues(method, random_state):
    """Every second one of these was given up by one of the two methods."""
    graphs = nx.complete_graph(200), nx.ring_of_cliques(6, 50), nx.complete_bipartite_graph(40, 300)
    for graph, q, normalized in itertools.product(graphs, (2, 30), (False, True)):
        W = nx.to_scipy_sparse_array(graph, dtype=float)
        spectrum = laplacian_eigenpairs(W, q, method=method, normalized=normalized, random_state=random_state)
        exact = laplacian_eigenpairs(W, q, method="dense", normalized=normalized)
        np.testing.assert_allclose(spectrum.eigenvalues, exact.eigenvalues, atol=1e-9)


@pytest.mark.parametrize("method", ["dense", "arpack", "lanczos"])
@pytest.mark.parametrize("tol", [None, 1e-6])
def test_every_route_is_held_to_its_residual(monkeypatch, method, tol):
    def sloppy(honest):
        def solve(*args):
            values, vectors = honest(*args)
            vectors[7, 3] += 0.01
            return values, vectors

        return solve

    for name in ("_dense", "_arpack", "_lanczos"):  # where one fails, the others are tried
        monkeypatch.setattr(eigenpairs, name, sloppy(getattr(eigenpairs, name)))
    with pytest.raises(SolverError, match=rf"method='{method}' left the residual \d\.\de-\d\d .*tol=\d\.\de-\d\d .*; "):
        laplacian_eigenpairs(cloud(300), 20, method=method, tol=tol, normalized=True)


@pytest.mark.parametrize("tol", [-1e-3, 1.0, np.nan, np.inf])
def test_tolerances_out_of_range(tol):
    with pytest.raises(ValueError, match=r"must be a number >= 0|relative to the norm of L; take a number from 0"):
        laplacian_eigenpairs(cloud(50), 5, tol=tol, normalized=False)


def test_auto_chooses_by_size(monkeypatch):
    chosen = []
    for name in ("_dense", "_arpack", "_lanczos"):
        solve = getattr(eigenpairs, name)
        monkeypatch.setattr(eigenpairs, name, lambda *a, s=solve, n=name: chosen.append(n) or s(*a))
    monkeypatch.setattr(eigenpairs, "_DENSE_NODES", 50)
    for n, q, tol in ((50, 5, None), (51, 5, None), (51, 5, 1e-10), (51, 17, None), (51, 18, 1e-3)):
        laplacian_eigenpairs(cloud(n), q, tol=tol, normalized=False)
    assert chosen == ["_dense", "_lanczos", "_lanczos", "_lanczos", "_dense"]


@pytest.mark.slow
@KINDS
def test_large_graph_against_arpack(normalized):
    W = cloud(6000, weight="binary")
    s = laplacian_eigenpairs(W, 150, normalized=normalized)
    arpack = laplacian_eigenpairs(W, 150, normalized=normalized, method="arpack")
    np.testing.assert_allclose(s.eigenvalues, arpack.eigenvalues, atol=s.residual)
    assert s.residual <= 1e-3 * (1.0 if normalized else W.sum(axis=1).mean())
    tight = laplacian_eigenpairs(W, 150, normalized=normalized, method="lanczos", tol=0)
    np.testing.assert_allclose(tight.eigenvalues, arpack.eigenvalues, atol=1e-9)
    angle = subspace_angles(tight.eigenvectors, arpack.eigenvectors).max()
    assert angle < 1e-5
