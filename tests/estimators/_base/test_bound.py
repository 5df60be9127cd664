"""B="auto": halfway between 1 and the range of the absolute margin, wherever a relative margin can be asked for."""

import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.kernels import RBF

RELATIVE = [
    sm.STORM(class_balance=None, C=100.0, q=30, graph=5),
    sm.MKL(class_balance=None, C=100.0, q=30, graph=5),
    sm.KTA(class_balance=None, C=100.0, q=30, B=1.5, graph=5),
    sm.SpectralKernelSVM(class_balance=None, C=100.0, q=30, B=1.5, graph=5, transformation="power"),
    sm.RMM(C=100.0, kernel=RBF(2.0)),
]
methods = pytest.mark.parametrize("method", RELATIVE, ids=lambda method: type(method).__name__)


@methods
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_it_is_halfway_between_one_and_the_free_range(moons, method, solver):
    X, _, y = moons
    known = y != -1
    free, auto = (clone(method).set_params(B=B, solver=solver).fit(X, y) for B in (np.inf, "auto"))
    largest = np.abs(free.decision_function(X)[known]).max()
    assert largest > 1.05
    bound = auto.B_
    assert np.isinf(free.B_)
    assert bound == pytest.approx((1 + largest) / 2, rel=1e-6)
    assert auto.get_params()["B"] == "auto"
    assert np.abs(auto.decision_function(X)[known]).max() == pytest.approx(bound, rel=1e-6)
    given = clone(method).set_params(B=bound, solver=solver).fit(X, y)
    assert bound == given.B_
    np.testing.assert_array_equal(given.decision_function(X), auto.decision_function(X))


@methods
def test_where_all_is_margin_there_is_nothing_to_bound(moons, method):
    """With one label per class the absolute margin puts both exactly on it."""
    X, y_true, _ = moons
    y = sm.hide_labels(y_true, per_class=1, random_state=0)
    auto = clone(method).set_params(B="auto").fit(X, y)
    assert np.isinf(auto.B_)
    np.testing.assert_allclose(np.abs(auto.decision_function(X)[y != -1]), 1.0, atol=1e-6)
    free = clone(method).set_params(B=np.inf).fit(X, y)
    np.testing.assert_array_equal(auto.decision_function(X), free.decision_function(X))


@methods
def test_every_class_has_its_own(blobs, method):
    X, _, y = blobs
    auto = clone(method).set_params(B="auto", unlabeled="?").fit(X, y)
    assert auto.B_.shape == (3,)
    for k, name in enumerate("abc"):
        alone = clone(method).set_params(B="auto").fit(X, np.where(y == "?", -1, (y == name).astype(int)))
        assert auto.B_[k] == pytest.approx(alone.B_, rel=1e-6)
    fixed = clone(method).set_params(B=3.0, unlabeled="?").fit(X, y)
    assert fixed.B_.tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("cls", [sm.KTA, sm.SpectralKernelSVM])
def test_an_absolute_margin_has_no_bound(moons, cls):
    X, _, y = moons
    assert np.isinf(cls().B)
    assert np.isinf(cls(q=20).fit(X, y).B_)
    assert not hasattr(sm.STOAM(q=20).fit(X, y), "B_")
