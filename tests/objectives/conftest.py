"""Small data for the objectives, made without the package where that is possible."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import laplacian
from scipy.spatial.distance import cdist

import specmargin as sm


def _labels(truth, labeled):
    y = np.full(len(truth), -1)
    y[labeled] = truth[labeled]
    return sm.encode_labels(y)


@pytest.fixture(scope="session")
def manifold_data():
    """Return make(...) -> (K, L, labels); `parts` graph components, `copies` of every sample, `power` of L."""

    def make(n=18, l=7, *, seed=0, parts=1, copies=1, normed=True):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.normal(size=(n // copies, 2)), copies, axis=0)
        truth = (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)
        labeled = rng.permutation(n)[:l]
        truth[labeled[:2]] = 0, 1
        squares = cdist(X, X, "sqeuclidean")
        W = np.exp(-squares) * (np.subtract.outer(np.arange(n) % parts, np.arange(n) % parts) == 0)
        np.fill_diagonal(W, 0.0)
        return np.exp(-squares), laplacian(W, normed=normed), _labels(truth, labeled)

    return make


@pytest.fixture(scope="session")
def spectrum_data():
    """Return make(kind, ...) -> (Spectrum, labels) on a graph with simple or tied eigenvalues or in two parts."""

    def make(kind="simple", n=24, q=9, l=8, *, seed=0):
        rng = np.random.default_rng(seed)
        if kind == "tied":
            W = nx.to_numpy_array(nx.cycle_graph(n))
        elif kind == "split":
            W = nx.to_numpy_array(nx.disjoint_union(nx.cycle_graph(n // 2), nx.path_graph(n - n // 2)))
        else:
            W = nx.to_numpy_array(nx.path_graph(n)) * 1.0
            W += np.exp(-cdist(*2 * [rng.normal(size=(n, 2))], "sqeuclidean")) * (1 - np.eye(n))
        truth = (np.sin(2 * np.pi * np.arange(n) / n) + 0.5 * rng.normal(size=n) > 0).astype(int)
        labeled = rng.permutation(n)[:l]
        truth[labeled[:2]] = 0, 1
        return sm.spectra.laplacian_eigenpairs(W, q=q, normalized=False), _labels(truth, labeled)

    return make
