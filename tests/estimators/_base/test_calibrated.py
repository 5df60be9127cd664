"""predict_proba: from literal refits without a label, in the order of predictions, nearer to the truth than scores."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier

import specmargin as sm
from specmargin.kernels import RBF
from specmargin.objectives.held_out.calibration import calibrated_scale

MAKERS = {
    "LapRLS": sm.LapRLS(gamma_A=0.05, gamma_I=0.5, class_balance=None, kernel=RBF(2.0)),
    "LapRLS, zscore": sm.LapRLS(gamma_A=0.05, gamma_I=0.5, class_balance="zscore", kernel=RBF(2.0)),
    "LapRLS by CVXPY": sm.LapRLS(gamma_A=0.05, gamma_I=0.5, class_balance=None, kernel=RBF(2.0), solver="CLARABEL"),
    "LapSVM": sm.LapSVM(gamma_A=0.05, gamma_I=0.5, class_balance=None, kernel=RBF(2.0)),
    "LapSVM, squared hinge": sm.LapSVM(loss="squared_hinge", gamma_A=0.05, gamma_I=0.5, kernel=RBF(2.0)),
    "LapSVM, Huber by CVXPY": sm.LapSVM(
        loss="huber_hinge", gamma_A=0.05, gamma_I=0.5, kernel=RBF(2.0), solver="CLARABEL"
    ),
    "SpectralRidge": sm.SpectralRidge(penalty=0.1, q=20, class_balance=None),
    "SpectralRidge, zscore": sm.SpectralRidge(penalty=0.1, q=20),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("data", ["moons", "blobs"])
def test_the_scale_is_that_of_literal_refits(name, data, request):
    X, _, y = request.getfixturevalue(data)
    marker = -1 if data == "moons" else "?"
    clf = clone(MAKERS[name]).set_params(unlabeled=marker).fit(X, y)
    plain = clone(MAKERS[name]).set_params(unlabeled=marker, solver="auto") if "Lap" in name else MAKERS[name]
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


BY_FOLDS = {
    "LapSVM, loss of no pieces": sm.LapSVM(loss="smooth_hinge", kernel=RBF(2.0)),
    "KTA": sm.KTA(q=20),
    "STORM, two graphs": sm.STORM(q=20, graph=[4, 8]),
    "SpectralGraphTransducer": sm.SpectralGraphTransducer(q=20),
    "SpectralRidge, kmeans": sm.SpectralRidge(q=20, refine="kmeans"),
    "QuasiNewtonS3VM, ovo": sm.S3VM(multi_class="ovo", search="quasi_newton"),
}


OF_THREE = ("KTA", "SpectralGraphTransducer", "SpectralRidge, kmeans", "QuasiNewtonS3VM, ovo")


@pytest.mark.parametrize(
    ("name", "data"),
    [*((name, "moons") for name in BY_FOLDS if "ovo" not in name), *((name, "blobs") for name in OF_THREE)],
)
def test_the_scale_is_that_of_literal_folds(name, data, request):
    X, truth, y = request.getfixturevalue(data)
    marker = -1 if data == "moons" else "?"
    y = sm.hide_labels(truth, per_class=2, unlabeled=marker, random_state=2)
    clf = clone(BY_FOLDS[name]).set_params(unlabeled=marker).fit(X, y)
    known = np.flatnonzero(y != marker)
    known = known[np.argsort(y[known], kind="stable")]
    n_folds = min(5, len(known))
    scores, own = [], []
    for k in range(n_folds):
        others, out = y.copy(), known[k::n_folds]
        others[out] = marker
        scores.append(clone(BY_FOLDS[name]).set_params(unlabeled=marker).fit(X, others).scores_[out])
        own.append(y[out])
    sign = np.where(np.concatenate(own)[:, None] == clf.classes_, 1.0, -1.0)
    T = calibrated_scale(np.concatenate(scores), sign[:, 1] if data == "moons" else sign)
    assert clf.calibration_ == pytest.approx(T, rel=1e-6)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))
    assert clf._calibration.fitted_to is None


def test_many_labels_are_left_out_by_folds_and_at_once():
    X, truth = sm.datasets.make_two_moons(n_samples=110, noise=0.3, random_state=0)
    truth[0] = 2  # the only one of its class: never left out
    clf = sm.LapSVM(gamma_A=0.1, gamma_I=0.0, class_balance=None, kernel=RBF(2.0)).fit(X, truth)
    assert clf._calibration.scale is not None
    assert clf._calibration.held_out is None
    classes = list(dict.fromkeys(truth[1:].tolist()))  # as they appear
    own = np.concatenate([np.flatnonzero(truth == k) for k in classes])
    scores = []
    for k in range(5):
        y = truth.copy()
        y[own[k::5]] = -1
        scores.append(clone(clf).fit(X, y).scores_[own[k::5]])
    sign = np.where(np.concatenate([truth[own[k::5]] for k in range(5)])[:, None] == clf.classes_, 1.0, -1.0)
    assert clf.calibration_ == pytest.approx(calibrated_scale(np.concatenate(scores), sign), rel=1e-4)


def test_stored_before_it_was_calibrated(moons):
    X, _, y = moons
    clf = sm.S3VM(search="quasi_newton", kernel=RBF(2.0)).fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X[:5]), clf.predict_proba(X[:5]))
    K = sm.kernels.gram(X, gamma=2.0)
    clf = sm.RMM(kernel="precomputed").fit(K, y)
    again = pickle.loads(pickle.dumps(clf))
    with pytest.raises(ValueError, match="calibration_ before"):
        again.predict_proba(K[:5])
    assert clf.calibration_ > 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(K[:5]), clf.predict_proba(K[:5]))


def test_the_largest_probability_is_that_of_the_prediction_however_small_the_decision(moons):
    X, _, y = moons
    clf = sm.LapRLS(class_balance=None, kernel=RBF(2.0)).fit(X, y)
    clf.decision_function = lambda X: np.array([1e-18, 0.0, -1e-18])
    p = clf.predict_proba(X)
    assert p.argmax(axis=1).tolist() == [0, 0, 0]  # undecided but for rounding: the first class, as predict says
    assert clf.predict(X[:3]).tolist() == [0, 0, 0]
    clf.decision_function = lambda X: np.array([1e-6, 0.0, -1e-6])
    assert clf.predict_proba(X).argmax(axis=1).tolist() == [1, 0, 0]
    p = p[:3]
    np.testing.assert_allclose(p, 0.5, atol=1e-15)


def test_one_label_per_class_leaves_probabilities_in_order(moons):
    X, truth, _ = moons
    y = sm.hide_labels(truth, per_class=1, random_state=0)
    clf = sm.LapRLS(kernel=RBF(2.0)).fit(X, y)
    p = clf.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))


@pytest.mark.parametrize("marker", [2, "~"])
def test_soft_votes_of_a_marker_that_sorts_last(marker, moons):
    X, truth, y = moons
    names = np.array([0, 1]) if marker == 2 else np.array(["a", "b"])
    labels = np.where(y == -1, marker, names[truth])
    members = {"lap": sm.LapRLS(kernel=RBF(2.0)), "rmm": sm.RMM(kernel=RBF(2.0)), "ridge": sm.SpectralRidge(q=20)}
    # The vote numbers the classes in their order: the marker, behind two classes, is 2 for its members.
    vote = VotingClassifier(
        [(name, clone(one).set_params(unlabeled=2)) for name, one in members.items()], voting="soft"
    )
    vote.fit(X, labels)
    fitted = [one.set_params(unlabeled=marker).fit(X, labels) for one in members.values()]
    mean = np.mean([one.predict_proba(X) for one in fitted], axis=0)
    np.testing.assert_allclose(vote.predict_proba(X), mean, atol=1e-12)
    np.testing.assert_array_equal(vote.predict(X), names[mean.argmax(axis=1)])
    assert (vote.predict(X) == names[truth]).mean() > 0.8
