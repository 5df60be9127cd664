"""The methods of the S3VM experiments: the supervised one against scikit-learn, all of them on what is plain to see."""

import numpy as np
import pytest
from sklearn.svm import SVC

from reproduction.methods import decide
from reproduction.papers._protocols.s3vm_methods import _SMOOTH, METHODS, Setting, common_objective, fit
from specmargin.labels import encode_labels


@pytest.fixture
def clouds(rng):
    """Return two clouds far apart in three dimensions, with two labels each, and the true classes."""
    y = np.repeat([0, 1], 25)
    X = rng.normal(size=(50, 3)) + np.array([2.5, 0, 0]) * (2 * y - 1)[:, None]
    known = np.isin(np.arange(50), [0, 7, 26, 31])
    return X, encode_labels(np.where(known, y, -1)), y


def test_supervised_is_scikit_learns(clouds, tol):
    X, labels, _ = clouds
    fitted = fit("svm", X, labels, Setting(3.0, 3.0))
    reference = SVC(kernel="linear", C=3.0, tol=1e-10).fit(X[labels.labeled], labels.sign)
    np.testing.assert_allclose(fitted.f[:, 0], reference.decision_function(X), rtol=tol["variables"], atol=1e-5)
    assert abs(fitted.measured["relative_gap"]) < 1e-9
    assert fitted.measured["ended"] == "optimal"


@pytest.mark.parametrize("name", list(METHODS))
def test_methods_find_two_clouds(clouds, name):
    X, labels, y = clouds
    fitted = fit(name, X, labels, Setting(1.0, 1.0))
    assert np.mean(decide(fitted.f) != y) <= 0.04
    np.testing.assert_allclose(fitted.f, X @ fitted.v + fitted.b)
    assert fitted.measured["objective"] == pytest.approx(
        common_objective(X, labels, Setting(1.0, 1.0), fitted.v[:, 0], fitted.b[0]), rel=1e-12
    )
    assert "relative_gap" not in fitted.measured
    assert fitted.measured["ended"] == "stationary"
    if name in _SMOOTH:
        assert fitted.measured["stationarity"] <= 1e-3


def test_common_objective_is_the_papers(clouds, rng):
    X, labels, _ = clouds
    v, b = rng.normal(size=3), 0.3
    f = X @ v + b
    hinge = np.maximum(0, 1 - labels.sign * f[labels.labeled]).sum()
    expected = v @ v / 2 + 2.0 * hinge + 0.5 * np.exp(-3 * f[labels.unlabeled] ** 2).sum()
    assert common_objective(X, labels, Setting(2.0, 0.5, sharpness=5.0), v, b) == pytest.approx(expected, rel=1e-12)


def test_gradient_descent_on_the_hinge_meets_continuations_objective(clouds):
    X, labels, _ = clouds
    setting = Setting(10.0, 1.0)
    continued, descended = (fit(name, X, labels, setting) for name in ("cs3vm", "grad_hinge"))
    # Two clouds: one minimum, found both ways, and no other method of a balanced mean is below it.
    assert descended.measured["objective"] == pytest.approx(continued.measured["objective"], rel=1e-3)
    weak = Setting(0.05, 0.02)
    continued, descended, squared = (
        fit(n, X, labels, weak).measured["objective"] for n in ("cs3vm", "grad_hinge", "grad_s3vm")
    )
    assert descended == pytest.approx(continued, rel=1e-3)
    assert squared > continued * 1.002


def test_sharpness_reaches_the_loss(clouds):
    X, labels, _ = clouds
    fitted = [fit("grad_s3vm", X, labels, Setting(10.0, 1.0, sharpness=s)).v for s in (3.0, 5.0)]
    assert np.abs(fitted[0] - fitted[1]).max() > 1e-3


def test_balance_is_the_mean_decision(clouds):
    X, labels, _ = clouds
    fitted = fit("cs3vm", X, labels, Setting(10.0, 1.0, balance=(0.25,)))
    assert fitted.f[labels.unlabeled].mean() == pytest.approx(0.25, abs=1e-9)
    with pytest.raises(ValueError, match="balance has 2 numbers"):
        fit("cs3vm", X, labels, Setting(10.0, 1.0, balance=(0.1, 0.2)))


def test_several_classes_are_one_against_the_rest(rng):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) * 0.4 + np.array([[3, 0], [-3, 3], [-3, -3]])[y]
    labels = encode_labels(np.where(np.arange(60) < 9, y, -1))
    fitted = fit("grad_s3vm", X, labels, Setting(10.0, 1.0, balance=(-1 / 3,) * 3))
    assert fitted.f.shape == (60, 3)
    assert np.array_equal(decide(fitted.f), y)
    alone = [fit("grad_s3vm", X, column, Setting(10.0, 1.0, balance=(-1 / 3,))) for column in labels.one_vs_rest()]
    np.testing.assert_allclose(fitted.f, np.column_stack([one.f for one in alone]), rtol=1e-12)
    assert fitted.measured["objective"] == pytest.approx(sum(one.measured["objective"] for one in alone))
