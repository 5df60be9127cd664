"""Extensions to new points against the eigenvectors themselves."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from graph_samples import cloud, pieces, sparse

from specmargin.graphs import knn_graph, neighbor_weights
from specmargin.spectra import Spectrum, extend, laplacian_eigenpairs, nystrom

KINDS = pytest.mark.parametrize("normalized", [False, True])


PATH = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


@KINDS
def test_nystrom_reproduces_every_eigenvector_at_training_points(normalized):
    W = cloud(80)
    s = laplacian_eigenpairs(W, 80, normalized=normalized)
    degrees = W.sum(axis=1)
    relative = 1 - s.eigenvalues / (np.ones(80) if normalized else degrees)[:, None]
    clear = abs(relative) >= 1e-2
    values = nystrom(s, W)
    assert clear.mean() > 0.95
    np.testing.assert_allclose(values[clear], s.eigenvectors[clear], atol=1e-10)
    if normalized:
        # The same statement for the random walk, I - D^-1 W, whose eigenvectors are u / sqrt(d).
        walk = np.eye(80) - W.toarray() / degrees[:, None]
        V = values[:, :20] / np.sqrt(degrees)[:, None]
        np.testing.assert_allclose(walk @ V, V * s.eigenvalues[:20], atol=1e-10)


@KINDS
def test_nystrom_of_a_disconnected_graph(normalized):
    W = pieces()
    s = laplacian_eigenpairs(W, 10, normalized=normalized)
    tied = W.sum(axis=1) > 0
    np.testing.assert_allclose(nystrom(s, W[tied]), s.eigenvectors[tied], atol=1e-10)
    # A new point tied to an isolated node alone takes what its null vectors are there.
    alone = np.flatnonzero(~tied)[0]
    value = nystrom(s, np.eye(52)[[alone]])
    np.testing.assert_allclose(value[0, :5], s.eigenvectors[alone, :5], atol=1e-12)


@KINDS
def test_nystrom_is_guarded_where_the_equation_is_singular(normalized):
    # A star's hub and leaves: combinatorial eigenvalue 1 equals the leaves' degree, normalized eigenvalue 1.
    W = sparse(nx.star_graph(5))
    s = laplacian_eigenpairs(W, 6, normalized=normalized)
    assert s.eigenvalues[1] == pytest.approx(1.0)
    values = nystrom(s, W)
    assert np.isfinite(values).all()
    assert abs(values).max() < 1.0 / 1e-2
    s = Spectrum(np.array([1.0]), np.ones((2, 1)), 0, normalized, degrees=np.array([4.0, 4.0]))
    value = nystrom(s, np.array([[0.5, 0.5]]), floor=0.1)[0, 0]
    assert value == pytest.approx(1 / 0.1 * (0.5 if normalized else 1.0))
    beyond = Spectrum(np.array([1.01]), np.ones((2, 1)), 0, normalized, degrees=np.array([4.0, 4.0]))
    assert nystrom(beyond, np.array([[0.5, 0.5]]), floor=0.1)[0, 0] == pytest.approx(-value)


def test_nystrom_follows_a_smooth_eigenvector():
    # On a ring the second eigenvector is a sinusoid of the angle, also between the nodes.
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    new_angle = angle[:20] + np.pi / 100
    new = np.column_stack([np.cos(new_angle), np.sin(new_angle)])
    for normalized in (False, True):
        s = laplacian_eigenpairs(knn_graph(X, 4), 3, normalized=normalized)
        values = nystrom(s, neighbor_weights(new, X, 4))
        coefficients = np.linalg.lstsq(np.column_stack([np.ones(100), X]), s.eigenvectors, rcond=None)[0]
        np.testing.assert_allclose(values, np.column_stack([np.ones(20), new]) @ coefficients, atol=1e-3)


def test_nystrom_errors():
    with pytest.raises(ValueError, match="degrees"):
        nystrom(Spectrum(np.zeros(1), np.ones((2, 1)), 1, normalized=True), np.ones((1, 2)))
    s = laplacian_eigenpairs(PATH, 2, normalized=False)
    with pytest.raises(ValueError, match=r"shape \(1, 2\), but values are of 3 training points"):
        nystrom(s, np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"row 1 of weights is empty \(1 such rows\)"):
        nystrom(s, np.array([[1.0, 0, 0], [0, 0, 0]]))
    with pytest.raises(ValueError, match=r"not finite or below 0, the first weights\[0, 1\] is -1"):
        nystrom(s, np.array([[1.0, -1, 1]]))


def test_extend_is_a_weighted_mean():
    rng = np.random.default_rng(0)
    weights, values = rng.random((5, 8)), rng.normal(size=(8, 3))
    expected = np.array([np.average(values, axis=0, weights=row) for row in weights])
    np.testing.assert_allclose(extend(values, sp.csr_array(weights)), expected, rtol=1e-13)
    np.testing.assert_allclose(extend(values[:, 0], 7 * weights), expected[:, 0], rtol=1e-13)
    with pytest.raises(ValueError, match="row 0 of weights is empty"):
        extend(values, sp.csr_array((1, 8)))
    with pytest.raises(ValueError, match="8 training points"):
        extend(values, np.ones((2, 7)))
