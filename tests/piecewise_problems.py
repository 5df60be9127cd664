"""Random problems whose losses are piecewise quadratic, for derivatives and ranges of their weights."""

import numpy as np

import specmargin as sm
from specmargin.kernels import LowRankKernel

LOSSES = ("hinge", "squared_hinge", "squared", "huber_hinge")


def piecewise_problem(seed, most=90, **options):
    """Return a problem on a kernel, on landmarks or on eigenvectors, with weights of the labels or without."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, most))
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.25, random_state=seed)
    labels = sm.encode_labels(sm.hide_labels(truth, n_labeled=int(rng.integers(3, 8)) * 2 + 1, random_state=seed))
    if rng.random() < 0.5:
        labels = labels.weighted(rng.uniform(0.5, 2.0, labels.n_labeled))
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    kernels = (
        lambda: sm.kernels.gram(X, gamma=4.0),
        lambda: LowRankKernel(sm.kernels.landmark_features(X, 25, gamma=4.0, random_state=0)(X)),
        lambda: LowRankKernel(np.sqrt(n) * sm.spectra.laplacian_eigenpairs(W, q=20).eigenvectors[:, 1:]),
    )
    chosen = {
        "loss": LOSSES[seed % 4],
        "gamma_A": 10 ** rng.uniform(-3, 0),
        "gamma_I": 10 ** rng.uniform(-2, 1),
        "fit_intercept": bool(rng.random() < 0.6),
    }
    return sm.objectives.LapSVM(kernels[seed % 3](), sm.graphs.laplacian(W), labels, **(chosen | options))
