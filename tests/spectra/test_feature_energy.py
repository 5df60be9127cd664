import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.spectra import feature_energy
from specmargin.spectra.feature_energy import spectral_energy


def block_model(h, n=300, d=40, seed=0):
    """Return the S and the features of a graph of three groups whose neighbours agree with probability h."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    W = np.zeros((n, n))
    for i in range(n):
        for _ in range(3):
            alike = rng.random() < h
            j = rng.choice(np.flatnonzero((y == y[i]) == alike))
            W[i, j] = W[j, i] = i != j
    X = rng.normal(size=(3, d))[y] + rng.normal(size=(n, d))
    return sm.graphs.normalized_adjacency(sp.csr_array(W)), X


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_bands_hold_the_squares_of_the_coefficients(kind):
    S, X = block_model(0.9)
    bank = sm.spectra.filter_bank(S, kind(X))
    energy = spectral_energy(bank, 10)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    rows -= rows.mean(axis=0)
    values, vectors = np.linalg.eigh(S.toarray())
    squares = ((vectors.T @ rows) ** 2).sum(axis=1)
    assert energy.edges[-1] == pytest.approx(1 - values[0])
    for low, high, share in zip(energy.edges[:-1], energy.edges[1:], energy.share, strict=True):
        inside = (1 - values >= low - 1e-12) & ((1 - values < high) | (high == energy.edges[-1]))
        assert share == pytest.approx(squares[inside].sum() / squares.sum(), abs=1e-12)
    assert energy.total == pytest.approx((rows**2).sum() / len(X))


@pytest.mark.parametrize("features", ["dense", "sparse", "many", "none"])
def test_polynomial_method_agrees_with_the_eigenvectors(features, monkeypatch):
    S, X = block_model(0.8, n=600, d=400 if features == "many" else 40)
    if features == "many":  # of high rank: there random columns stand well for all
        noise = np.random.default_rng(1).normal(size=X.shape)
        X = noise + 2 * S @ noise
    X = {"sparse": sp.csr_array(X), "none": None}.get(features, X)
    bank = sm.spectra.filter_bank(S, X, sm.spectra.Resolvents([0.0, 0.5]))
    exact = spectral_energy(bank, 8)
    monkeypatch.setattr(feature_energy, "_EXACT", 0)
    near = spectral_energy(bank, 8)
    assert near.edges == pytest.approx(exact.edges, abs=1e-5)
    assert near.total == pytest.approx(exact.total)
    # The width of the damped steps is left; of the random columns much less, for hundreds of directions average.
    assert np.abs(near.share - exact.share).max() < 0.012
    assert near.share.min() >= 0


def test_a_star_has_three_frequencies():
    S = sm.graphs.normalized_adjacency(nx.to_scipy_sparse_array(nx.star_graph(4)), self_loops=0)
    energy = spectral_energy(sm.spectra.filter_bank(S, None), 4)
    assert energy.share[1] == 0  # 0, 1 three times, 2; the third band begins at 1
    assert energy.share[2] == pytest.approx(3 / 4)  # four dimensions are left of five


@pytest.mark.parametrize(("self_loops", "frequency"), [(1.0, 0), (0.0, 1)])
def test_a_graph_without_edges_is_refused(self_loops, frequency):
    S = sm.graphs.normalized_adjacency(sp.csr_array((4, 4)), self_loops=self_loops)
    with pytest.raises(ValueError, match=f"all frequencies of this graph are {frequency}: it has no edge"):
        spectral_energy(sm.spectra.filter_bank(S, np.eye(4)))


def test_damping_keeps_a_line_where_it_is():
    """Without Jackson's factors the step of each band would ring through all others."""
    moments = np.cos(np.arange(257) * np.arccos(0.3))
    edges = np.linspace(0.0, 2.0, 41)
    share = feature_energy._in_bands(moments, edges)
    middles = (edges[1:] + edges[:-1]) / 2
    assert share[np.abs(middles - 0.7) > 0.15].sum() < 2e-4
    assert share.sum() == pytest.approx(1.0)
