"""LapSVM problems that the tests of several manifold solvers share."""

import cvxpy as cp
import numpy as np
from s3vm_problems import LOSSES
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


def by_cvxpy(name, K, L, labels, gamma_A, gamma_I, fit_intercept=True, tol=1e-11):
    """The primal as the papers print it, by CVXPY: its optimum, an alpha and b.

    K alpha = R w with K = R R' instead of alpha itself: interior-point methods stop early on a nearly singular K.
    """
    eigenvalues, V = np.linalg.eigh(K)
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    R = V[:, kept] * np.sqrt(eigenvalues[kept])
    w, b = cp.Variable(R.shape[1]), cp.Variable()
    t = cp.multiply(labels.sign, R[labels.labeled] @ w + b)
    RLR = R.T @ L @ R
    penalty = gamma_A * cp.sum_squares(w) + gamma_I * cp.quad_form(w, cp.psd_wrap((RLR + RLR.T) / 2))
    value = (0.5 if name == "squared_hinge" else 1.0) * (cp.sum(LOSSES[name](t)) + penalty)
    problem = cp.Problem(cp.Minimize(value), [] if fit_intercept else [b == 0])
    problem.solve(solver="CLARABEL", tol_gap_rel=tol, tol_gap_abs=tol, tol_feas=tol)
    return problem.value, V[:, kept] @ (w.value / np.sqrt(eigenvalues[kept])), float(b.value)
