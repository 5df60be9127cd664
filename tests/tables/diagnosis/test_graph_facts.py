"""Components, degrees, hubs, gaps and the embedding of small graphs, by hand and by scipy."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import skew

from specmargin.graphs import components
from specmargin.spectra import laplacian_eigenpairs
from specmargin.tables.diagnosis.graph_facts import connectivity, degree_facts, embedding, largest_gap


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
