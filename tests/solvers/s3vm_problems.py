"""S3VM and weighted SVM problems, and their optima by CVXPY, that the tests of several solvers share."""

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import specmargin as sm
from specmargin import optima, solvers
from specmargin.kernels.maps import kernel_map
from specmargin.labels import encode_labels
from specmargin.objectives import Features, WeightedSVM
from specmargin.objectives.s3vm import S3VM

LOSSES = {
    "hinge": lambda t: cp.pos(1 - t),
    "squared_hinge": lambda t: cp.square(cp.pos(1 - t)),
    # With h = 1/2: half of Huber's function of what t lacks of 3/2.
    "huber_hinge": lambda t: cp.huber(cp.pos(1.5 - t), 1.0) / 2,
    "squared": lambda t: cp.square(1 - t),
    "smooth_hinge": lambda t: cp.logistic(20 * (1 - t)) / 20,
}
"""The losses of the margin in CVXPY's own atoms."""


def gaussians(
    n=60, d=6, *, l=10, seed=0, gap=1.5, loss="squared_hinge", unlabeled_loss="exp", form=np.asarray, **options
):
    """Two clusters, told apart by their first feature; the first l samples are labelled, alternating."""
    rng = np.random.default_rng(seed)
    truth = np.where(np.arange(n) % 2 > 0, 1, 0)
    X = rng.normal(size=(n, d))
    X[:, 0] += gap * (2 * truth - 1)
    y = np.full(n, -1)
    y[:l] = truth[:l]
    return S3VM(form(X), encode_labels(y), loss, unlabeled_loss, **options)


def moons(n=60, per_class=2, seed=0, *, gamma=2.0, rank=None, **options):
    """Two moons in the features of a Gaussian kernel."""
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.12, random_state=seed)
    labels = encode_labels(sm.hide_labels(truth, per_class=per_class, random_state=seed))
    return S3VM(kernel_map(sm.kernels.gram(X, gamma=gamma), rank=rank).Z, labels, **{"C": 5.0, **options})


def clouds(rng, loss="squared_hinge", intercept="free", u=40, d=4, gap=0.8, sparse=False, **options):
    """Two overlapping clouds, three labels of each."""
    n = u + 6
    truth = rng.integers(2, size=n)
    truth[:6] = (0, 1, 0, 1, 0, 1)
    X = rng.normal(size=(n, d)) + gap * (2.0 * truth[:, None] - 1.0)
    y = np.where(np.arange(n) < 6, truth, -1)
    return S3VM(sp.csr_array(X) if sparse else X, encode_labels(y), loss, intercept=intercept, **options)


def convex_svm(rng, loss, intercept, n=40, d=6, C=1.0, *, kind="both", sparse=False):
    """Noisy labels; kind "both" weighs both labels of every sample, with a linear term that any loss can hold."""
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    features = Features.of(sp.csr_array(X) if sparse else X, intercept, rows=np.arange(n), balance=0.1)
    if kind == "one":
        return WeightedSVM(features, C * (y > 0), C * (y < 0), loss)
    linear = C * (0.1 * rng.normal(size=n) - 0.5 * y)
    return WeightedSVM(features, C * rng.random(n), C * rng.random(n), loss, linear=linear - linear.mean())


def kernel_features(K, free=None):
    """Rows whose inner products are K, centred on the mean of the samples `free` where these are given."""
    if free is not None:
        centre = np.eye(len(K))
        centre[:, free] -= 1.0 / len(free)
        K = centre @ K @ centre.T
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def radial(X, width):
    """A radial kernel of that width."""
    square = (X**2).sum(axis=1)
    return np.exp(-np.maximum(square[:, None] + square - 2 * X @ X.T, 0.0) / (2 * width**2))


def weighted_by_cvxpy(svm, tol=1e-11):
    """The optimal value of a weighted SVM in CVXPY, and w."""
    w = cp.Variable(svm.size)
    f = svm.features.dense() @ w + svm.features.offset
    cost = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(svm.features.weights), w))
    for weights, sign in ((svm.plus, 1.0), (svm.minus, -1.0)):
        used = np.flatnonzero(weights)  # a slack that costs nothing would be anywhere
        cost += weights[used] @ LOSSES[svm.loss.name](sign * f[used])
    if svm.linear is not None:
        cost += svm.linear @ f
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver="CLARABEL", tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    return problem.value, w.value


def public_solver(name):
    """Return the solver of that name as users call it."""
    return getattr(solvers if name in solvers.__all__ else optima, name)
