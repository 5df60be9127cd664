"""LapSVM problems that the tests of several manifold solvers share."""

import numpy as np
from scipy.sparse.csgraph import laplacian
from scipy.spatial.distance import cdist

import specmargin as sm
from specmargin.objectives import LapSVM


def data(n=60, l=20, *, seed=0, copies=1, width=4.0, n_classes=2, normed=True):
    """A radial kernel, the Laplacian of the six nearest neighbours, noisy labels of all classes."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n // copies, 2)), copies, axis=0)
    truth = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), np.linspace(-1, 1, n_classes + 1)[1:-1])
    distances = cdist(X, X)
    W = (distances <= np.sort(distances, axis=1)[:, [6 * copies]]).astype(float)
    W = np.maximum(W, W.T) - np.eye(n)
    labeled = rng.permutation(n)[:l]
    truth[labeled[:n_classes]] = np.arange(n_classes)
    y = np.full(n, -1)
    y[labeled] = truth[labeled]
    return np.exp(-width * distances**2), laplacian(W, normed=normed), sm.encode_labels(y)


def objective(case, loss="squared_hinge", gamma_A=1e-2, gamma_I=1.0, **options):
    """The objective on a case of `data`."""
    K, L, labels = case
    return LapSVM(K, L, labels, loss=loss, gamma_A=gamma_A, gamma_I=gamma_I, **options)


def three_components():
    """K, L and labels of three clusters, the third one without a label."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2)) + np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]], 20, axis=0)
    y = np.full(60, -1)
    y[:4], y[20:24] = (0, 1, 1, 1), (1, 1, 1, 0)
    graph = sm.graphs.knn_graph(X, n_neighbors=5)
    return sm.kernels.gram(X, gamma=1.0), sm.graphs.laplacian(graph), sm.encode_labels(y)


def permuted(case, order):
    """The same case with its samples in another order."""
    K, L, labels = case
    y = np.zeros(len(K))
    y[labels.labeled] = labels.sign
    return K[np.ix_(order, order)], L[np.ix_(order, order)], sm.encode_labels(y[order], unlabeled=0)
