"""S3VM searches where C |x|^2 is far beyond float64's digits."""

import numpy as np
import pytest

from specmargin import solvers
from specmargin.labels import encode_labels
from specmargin.objectives import S3VM, WeightedSVM
from specmargin.solvers._box_qp import hinge_machine


def blobs(n=60, scale=1.0, shift=0.0):
    """Two groups of samples and the labels of eight."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, n)
    side[:2] = 0, 1
    X = rng.standard_normal((n, 4)) + 2.0 * np.outer(2 * side - 1, [1.0, 0.5, 0.0, 0.0])
    return scale * X + shift, encode_labels(np.where(np.arange(n) < 8, side, -1))


@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
@pytest.mark.parametrize("C", [1e6, 1e10, 1e14])
def test_the_hinge_machine_ends_at_its_rounding(C, intercept):
    """Not after hundreds of systems in search of digits that there are not; and its multipliers keep theirs."""
    X, labels = blobs()
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    obj = S3VM(np.linalg.cholesky(K + 1e-9 * np.eye(len(K))), labels, "hinge", C=C, balance=0.0, intercept=intercept)
    machine = WeightedSVM.guessed(obj, obj.labels_of(solvers.one_flip(obj, max_iter=1).variables["w"]))
    first = hinge_machine(machine, np.zeros(obj.size), obj.decisions(np.zeros(obj.size)), warm=False)
    again = hinge_machine(machine.with_(plus=0.7 * machine.plus, minus=0.7 * machine.minus), first.w, first.f)
    assert again.n_iter <= 20
    assert first.n_iter <= 100
    certificate = machine.certificate(first.w, first.theta_plus, first.theta_minus)
    assert certificate.relative_gap <= 1e-6
