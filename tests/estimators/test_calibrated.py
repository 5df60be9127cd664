"""predict_proba: from literal refits without a label, in the order of predictions, nearer to the truth than scores."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits

import specmargin as sm
from specmargin.objectives.calibration import calibrated_scale

MAKERS = {
    "LapRLS": sm.LapRLS(gamma=2.0, gamma_A=0.05, gamma_I=0.5, class_balance=None),
    "LapRLS, zscore": sm.LapRLS(gamma=2.0, gamma_A=0.05, gamma_I=0.5, class_balance="zscore"),
    "LapRLS by CVXPY": sm.LapRLS(gamma=2.0, gamma_A=0.05, gamma_I=0.5, class_balance=None, solver="CLARABEL"),
    "SpectralRidge": sm.SpectralRidge(penalty=0.1, q=20, class_balance=None),
    "SpectralRidge, zscore": sm.SpectralRidge(penalty=0.1, q=20),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("data", ["moons", "blobs"])
def test_the_scale_is_that_of_literal_refits(name, data, request):
    X, _, y = request.getfixturevalue(data)
    marker = -1 if data == "moons" else "?"
    clf = clone(MAKERS[name]).set_params(unlabeled=marker).fit(X, y)
    plain = clone(MAKERS[name]).set_params(unlabeled=marker, solver="auto") if "LapRLS" in name else MAKERS[name]
    plain = clone(plain).set_params(unlabeled=marker)
    known = np.flatnonzero(y != marker)
    held, own = [], []
    for i in known:
        others = y.copy()
        others[i] = marker
        again = clone(plain).fit(X, others)
        assert len(again.classes_) == len(clf.classes_)
        results = again.result_ if isinstance(again.result_, tuple) else (again.result_,)
        held.append(np.concatenate([np.asarray(one.variables["f"])[i].ravel() for one in results]))
        own.append(y[i])
    held = clf.balance_(np.array(held)[:, 0] if data == "moons" else np.array(held))
    sign = np.where(np.array(own)[:, None] == clf.classes_, 1.0, -1.0)
    T = calibrated_scale(held, sign[:, 1] if data == "moons" else sign)
    assert clf.calibration_ == pytest.approx(T, rel=1e-5)
    scores, p = clf.decision_function(X), clf.predict_proba(X)
    if data == "moons":
        np.testing.assert_allclose(p[:, 1], expit(T * scores), atol=1e-5)
    else:
        np.testing.assert_allclose(p, softmax(T * scores, axis=1), atol=1e-5)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))


def test_the_search_has_those_of_its_estimator(blobs):
    X, _, y = blobs
    clf = sm.LapRLSCV(kernels=["rbf"], n_neighbors=[5], powers=[1], ratios=[1e2], unlabeled="?").fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), clf.estimator_.predict_proba(X))
    np.testing.assert_array_equal(clf.classes_[clf.predict_proba(X).argmax(axis=1)], clf.predict(X))


def test_what_has_no_left_out_decisions_has_no_probabilities(moons):
    X, _, y = moons
    assert not hasattr(sm.LapRLS(solver="pcg").fit(X, y), "predict_proba")
    assert not hasattr(sm.SpectralRidge(refine="kmeans").fit(X, y), "predict_proba")
    assert not hasattr(sm.LapSVM().fit(X, y), "predict_proba")
    with pytest.raises(ValueError, match="not fitted"):
        sm.LapRLS().predict_proba(X)


def test_one_label_per_class_leaves_probabilities_in_order(moons):
    X, truth, _ = moons
    y = sm.hide_labels(truth, per_class=1, random_state=0)
    clf = sm.LapRLS(gamma=2.0).fit(X, y)
    p = clf.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))


def calibration_error(p, right, bins=10):
    """Expected calibration error of the largest probabilities."""
    at = np.minimum((p * bins).astype(int), bins - 1)
    return sum(abs(p[at == k].sum() - right[at == k].sum()) for k in range(bins)) / len(p)


def test_probabilities_are_nearer_to_the_truth_than_scores():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:900] / 16.0, truth[:900]
    ours, raw = [], []
    for seed in range(4):
        y = sm.hide_labels(truth, n_labeled=60, random_state=seed)
        clf = sm.LapRLS(gamma="median", gamma_A=0.02, gamma_I=2.0, power=2, n_neighbors=10).fit(X, y)
        new, right = y == -1, clf.transduction_ == truth
        p = clf.predict_proba(X)
        scores = np.clip((1.0 + clf.decision_function(X)) / 2.0, 0.0, 1.0)
        ours.append(calibration_error(p.max(axis=1)[new], right[new]))
        raw.append(calibration_error(scores.max(axis=1)[new], right[new]))
    assert np.mean(ours) <= 0.5 * np.mean(raw)
