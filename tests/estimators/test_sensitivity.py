"""Sensitivities of fitted classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import specmargin as sm
from specmargin.estimators._base import manifold


@pytest.fixture(scope="module")
def moons():
    X, truth = sm.datasets.make_two_moons(n_samples=150, noise=0.2, random_state=0)
    return X, truth, sm.hide_labels(truth, per_class=6, random_state=0)


def refitted(clf, X, y, **changes):
    return sm.LapSVM(**(clf.get_params(deep=False) | changes)).fit(X, y).result_.variables["f"]


@pytest.mark.parametrize("solver", ["auto", "newton", "pcg", "CLARABEL"])
@pytest.mark.parametrize("functions", ["kernel", sm.kernels.Landmarks(40), sm.spectra.Eigenvectors(30)])
def test_scores_follow_the_weights(moons, solver, functions):
    X, _, y = moons
    clf = sm.LapSVM(
        gamma_A=1e-2,
        gamma_I=1.0,
        kernel=4.0,
        loss="squared_hinge",
        functions=functions,
        solver=solver,
        class_balance="zscore",
    ).fit(X, y)
    found, h = sm.sensitivity(clf), 1e-4
    for name in ("gamma_A", "gamma_I"):
        up, down = (
            refitted(clf, X, y, solver="auto", **{name: getattr(clf, name) * np.exp(way * h)}) for way in (1, -1)
        )
        expected = clf.balance_.slope * (up - down) / (2 * h)
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(found.C, -found.gamma_A - found.gamma_I)
    new = sm.sensitivity(clf, X[:9])
    if not isinstance(functions, sm.spectra.Eigenvectors):  # whose values at a sample are means over its neighbours
        np.testing.assert_allclose(new.label_weights, found.label_weights[:9], atol=1e-10)
    assert new.gamma_I.shape == (9,)


def test_a_label_weight_of_zero_is_the_label_left_out_to_the_first_order(moons):
    X, _, y = moons
    weights = np.ones(len(X))
    clf = sm.LapRLS(gamma_A=1e-2, gamma_I=1.0, kernel=4.0, class_balance=None).fit(X, y, sample_weight=weights)
    found, h = sm.sensitivity(clf), 1e-5
    row = found.labeled[3]
    more = weights + h * (np.arange(len(X)) == row)
    other = sm.LapRLS(**clf.get_params(deep=False)).fit(X, y, sample_weight=more)
    np.testing.assert_allclose((other.scores_ - clf.scores_) / h, found.label_weights[:, 3], atol=1e-4)


def test_several_classes(moons):
    X, truth, _ = moons
    y = sm.hide_labels(truth + (X[:, 0] > 0.8), per_class=5, random_state=0)
    clf = sm.LapRLS(gamma_A=1e-2, gamma_I=1.0, kernel=4.0).fit(X, y)
    found, h = sm.sensitivity(clf), 1e-4
    up, down = (sm.LapRLS(**clf.get_params(deep=False) | {"gamma_I": np.exp(way * h)}).fit(X, y) for way in (1, -1))
    columns = [np.column_stack([one.variables["f"] for one in fit.result_]) for fit in (up, down)]
    np.testing.assert_allclose(found.gamma_I, clf.balance_.slope * (columns[0] - columns[1]) / (2 * h), atol=1e-6)
    assert found.label_weights.shape == (150, 3, 15)
    assert found.objective["label_weights"].shape == (3, 15)
    assert "1 % more of a weight" in str(found)
    assert "gamma_I" in found._repr_html_()


def test_factors_of_the_last_fit_serve_and_are_forgotten(moons):
    X, _, y = moons
    clf = sm.LapSVM(loss="squared_hinge").fit(X, y)
    kept = manifold._LAST[clf][1].reduction
    first = sm.sensitivity(clf)
    assert manifold._LAST[clf][1].reduction is kept
    other = sm.LapSVM(loss="squared_hinge").fit(X, y)
    assert clf not in manifold._LAST
    assert other in manifold._LAST
    np.testing.assert_allclose(sm.sensitivity(clf).gamma_I, first.gamma_I, atol=1e-9 * np.abs(first.gamma_I).max())
    del other
    assert not manifold._LAST


def test_what_has_no_derivatives_is_refused(moons):
    X, _, y = moons
    with pytest.raises(TypeError, match="of the type STORM, not LapSVM; pass a fitted LapSVM or LapRLS"):
        sm.sensitivity(sm.STORM(q=20).fit(X, y))
    with pytest.raises(ValueError, match="not piecewise quadratic"):
        sm.sensitivity(sm.LapSVM(loss="smooth_hinge").fit(X, y))
    with pytest.raises(ValueError, match="sensitivities of LapSVM follow from its own model"):
        sm.sensitivity(sm.LapSVM(model=lambda built: built.with_()).fit(X, y))
    with pytest.raises(NotFittedError):
        sm.sensitivity(sm.LapSVM())


@pytest.mark.parametrize("classes", [2, 3])
def test_ranges_hold_the_predictions(moons, classes):
    X, truth, y = moons
    if classes == 3:
        y = sm.hide_labels(truth + (X[:, 0] > 0.8), per_class=5, random_state=0)
    clf = sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, kernel=4.0, loss="squared_hinge").fit(X, y)
    sensitive = sm.sensitivity(clf)
    for weight in ("gamma_A", "gamma_I", "C"):
        interval = sensitive.range(weight, limit=10.0)
        assert interval.low < interval.value < interval.high
        for at in np.geomspace(interval.low, interval.high, 5):
            factor = at / interval.value
            weights = {weight: at} if weight != "C" else {"gamma_A": 1e-2 / at, "gamma_I": 1.0 / at}
            fit = sm.LapSVM(**clf.get_params(deep=False) | weights).fit(X, y)
            results = fit.result_ if classes == 3 else [fit.result_]
            scores = clf.balance_(np.column_stack([one.variables["f"] for one in results]).squeeze())
            codes = scores.argmax(axis=1) if classes == 3 else (scores > 0).astype(int)
            np.testing.assert_array_equal(clf.classes_[codes], clf.transduction_, err_msg=f"{weight} times {factor}")
        assert "no prediction changes for " + weight in str(interval)
    with pytest.raises(ValueError, match="weight"):
        sensitive.range("gamma")
    with pytest.raises(ValueError, match="limit"):
        sensitive.range("C", limit=1.0)


def test_the_path_of_a_classifier(moons):
    X, _, y = moons
    clf = sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, kernel=4.0).fit(X, y)
    path = sm.sensitivity(clf).path(2.0)
    refit = sm.LapSVM(**clf.get_params(deep=False) | {"gamma_A": 1e-2 / 1.5, "gamma_I": 1.0 / 1.5}).fit(X, y)
    np.testing.assert_allclose(path.decisions(1.5), refit.result_.variables["f"], atol=1e-8)
