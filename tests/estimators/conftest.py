"""Small data sets for the estimators."""

import numpy as np
import pytest

import specmargin as sm


@pytest.fixture
def moons():
    """Two moons of 120 samples, true classes, and classes of which 4 per moon are known."""
    X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.13, random_state=3)
    return X, y_true, sm.hide_labels(y_true, per_class=4, random_state=3)


@pytest.fixture
def blobs():
    """Three Gaussian blobs, 40 samples each, 3 labels per class."""
    rng = np.random.default_rng(5)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    X = np.concatenate([centre + 1.1 * rng.standard_normal((40, 2)) for centre in centres])
    y_true = np.repeat(["a", "b", "c"], 40)
    return X, y_true, sm.hide_labels(y_true, per_class=3, unlabeled="?", random_state=1)
