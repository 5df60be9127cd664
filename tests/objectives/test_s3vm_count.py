"""A balance on the number of positive labels: values, certificates, and who refuses it."""

from itertools import product

import numpy as np
import pytest

import specmargin as sm
from specmargin import optima
from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.s3vm_count import counted_labels

U = 6


def objective(seed=0, **options):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1, 1], np.full(U, -1))
    given = {"C": 2.0, "C_star": 0.5, "balance": 0.3, "intercept": "none", "balance_on": "labels", **options}
    return S3VM(rng.standard_normal((U + 3, 3)), encode_labels(y), **given)


def by_definition(obj, w):
    """The least over all labels of that count, sample by sample."""
    f = obj.decisions_at(w)
    fixed = 0.5 * w @ w + obj.C * (np.maximum(1 - obj.labels.sign * f[:3], 0) ** 2).sum()
    labelings = (np.array(y) for y in product([-1.0, 1.0], repeat=U) if y.count(1.0) == obj.count)
    return min(fixed + obj.C_star * (np.maximum(1 - y * f[3:], 0) ** 2).sum() for y in labelings)


@pytest.mark.parametrize("intercept", ["none", "regularized"])
@pytest.mark.parametrize(("balance", "count"), [(-1.0, 0), (-0.6, 1), (0.0, 3), (0.3, 4), (1.0, 6)])
def test_j_is_the_least_over_all_labels_of_that_count(balance, count, intercept, rng):
    obj = objective(balance=balance, intercept=intercept)
    assert obj.count == count
    for size in (0.1, 1.0, 5.0):
        w = size * rng.standard_normal(obj.size)
        J = by_definition(obj, w)
        assert obj.value({"w": w}) == pytest.approx(J, rel=1e-13)
        labels = obj.labels_of(w)
        assert (labels > 0).sum() == count
        assert obj.with_labels(labels).value_at(w) == pytest.approx(J, rel=1e-13)
        proof = obj.certificate({"w": w})
        assert proof.primal_objective == pytest.approx(J, rel=1e-13)
        assert (proof.dual_objective, obj.prove(w, 0.25).dual_objective) == (-np.inf, 0.25)
        assert 0.0 < proof.rounding < 1e-11 * J
        assert sm.objectives.S3VM(obj.X, obj.labels, C=2.0, C_star=0.5).value_at(w) <= J * (1 + 1e-14)


def test_equal_decisions_have_labels_of_that_count():
    assert counted_labels(np.zeros(4), 2).tolist() == [1.0, 1.0, -1.0, -1.0]
    assert counted_labels(np.array([2.0]), 0).tolist() == [-1.0]


def test_a_bound_holds_with_the_count(rng):
    obj = objective()
    w = rng.standard_normal(obj.size)
    certified = optima.with_bound(obj, obj.result(w, solver="mine"))
    assert certified.certificate.primal_objective == pytest.approx(by_definition(obj, w), rel=1e-12)
    free = optima.s3vm_bound(S3VM(obj.X, obj.labels, C=2.0, C_star=0.5, intercept="none")).certificate
    assert certified.certificate.dual_objective == free.dual_objective > 0
    for cuts in (None, "diagonal"):
        with pytest.raises(InvalidInputError, match=r"only optima\.branch_and_bound minimises it"):
            sm.optima.s3vm_relaxation(obj, cuts=cuts, level=5.0)
    with pytest.raises(InvalidInputError, match="no proof that is written down"):
        sm.verify(obj, certified)
