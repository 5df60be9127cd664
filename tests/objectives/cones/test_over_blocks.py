"""Labelled rows of blocks: kernels are kept by the reduction, and functions carried back to all samples."""

import numpy as np
from block_problems import blocks_of, labels_of

from specmargin.objectives import BlockMargin


def test_single_precision_blocks_and_wide_ones_are_read_as_they_are(rng):
    labels = labels_of(2)
    F = rng.normal(size=(labels.n_samples, 90)).astype(np.float32)
    obj = BlockMargin([F], labels)
    rows = F[labels.labeled].astype(float)
    np.testing.assert_allclose(obj.grams[0], rows @ rows.T, rtol=1e-12, atol=1e-12)
    assert obj.U.shape == (labels.n_labeled, labels.n_labeled)


def test_functions_of_reduced_columns_are_those_of_the_features(rng):
    """With w_b = Q_b v_b, of a block that is wider than there are labels and of one that is not."""
    labels = labels_of(3)
    blocks = blocks_of(labels, [3, 45])
    obj = BlockMargin(blocks, labels)
    v = rng.normal(size=(obj.cone.q, 3))
    narrow, wide = np.split(v, obj.cone.starts[1:])
    Q = obj.factors[1][1]
    np.testing.assert_allclose(Q.T @ Q, np.eye(20), atol=1e-12)
    np.testing.assert_allclose(obj.over_samples(v), blocks[0] @ narrow + blocks[1] @ (Q @ wide), atol=1e-12)
    np.testing.assert_allclose(obj.over_samples(v)[labels.labeled], obj.U @ v, atol=1e-10)
