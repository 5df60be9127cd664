"""Blocks and labels for the tests of `BlockMargin`, its problems and its solver."""

import numpy as np

import specmargin as sm

LOSSES = ("hinge", "squared_hinge", "squared")


def labels_of(n_classes, *, n=30, labelled=20, seed=0, weights=None):
    """Labels of n samples, each class at least twice."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.concatenate([np.repeat(np.arange(n_classes), 2), rng.integers(n_classes, size=n)])[:n])
    hidden = rng.permutation(n)[labelled:]
    y[hidden] = -1
    labels = sm.encode_labels(y)
    return labels if weights is None else labels.weighted(rng.random(labels.n_labeled) + 0.5)


def blocks_of(labels, sizes, *, seed=0, signal=1.0):
    """Feature maps of trace n, the first of which knows something of the classes."""
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(labels.n_samples, size)) for size in sizes]
    sign = labels.sign if labels.sign.ndim == 2 else labels.sign[:, None]
    width = min(sizes[0], sign.shape[1])
    blocks[0][labels.labeled, :width] += signal * sign[:, :width]
    return [F * np.sqrt(len(F) / (F**2).sum()) for F in blocks]
