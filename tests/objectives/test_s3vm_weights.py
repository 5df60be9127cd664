"""C in units of the features and C* as a share: against pairwise distances, and what the weights mean."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

import specmargin as sm
from specmargin.objectives.s3vm_weights import labeled_weight, unlabeled_weight


def test_c_is_ten_over_half_the_mean_squared_distance(rng):
    X = rng.normal(size=(40, 6)) * (rng.random(size=(40, 6)) < 0.4)
    mean_squared = euclidean_distances(X, squared=True).mean() / 2  # of all pairs: twice the one from the mean
    for Z in (X, sp.csr_array(X), sp.csc_matrix(X)):
        assert labeled_weight(Z) == pytest.approx(10.0 / mean_squared, rel=1e-10)
        assert labeled_weight(1e-8 * Z) == pytest.approx(1e16 * 10.0 / mean_squared, rel=1e-10)
    assert labeled_weight(X + 1e6) == pytest.approx(10.0 / mean_squared, rel=1e-8)
    assert labeled_weight(sp.csr_array(X + 1e6)) == pytest.approx(10.0 / mean_squared, rel=1e-8)
    for constant in (np.full((5, 2), 3.0), np.zeros((5, 2)), sp.csr_array((5, 2))):
        assert labeled_weight(constant) == 10.0


def test_the_share_lets_both_sums_weigh_alike(rng):
    X = rng.normal(size=(50, 3))
    labels = sm.encode_labels([0, 1, 1, *[-1] * 47])
    obj = sm.objectives.S3VM(X, labels, "hinge", C=7.0, C_star=unlabeled_weight(7.0, 3, 47))
    w = np.zeros(obj.size)  # all decisions equal: every loss is that of f = offset
    weights = obj.C * labels.n_labeled, obj.C_star * len(obj.unlabeled)
    assert weights[0] == pytest.approx(weights[1])
    assert unlabeled_weight(7.0, 3, 47, 0.5) == pytest.approx(obj.C_star / 2)
    assert unlabeled_weight(7.0, 50, 0) == 0.0
    assert np.isfinite(obj.value({"w": w}))
