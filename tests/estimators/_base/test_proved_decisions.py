"""`proved_`: what it holds, where it is absent, and that it is what a fit to the last digit decides."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.solvers import Solver

PROVING = {
    "LapSVM": sm.LapSVM(),
    "LapSVM, squared hinge": sm.LapSVM(loss="squared_hinge", class_balance=None),
    "LapSVM, landmarks": sm.LapSVM(functions=sm.kernels.Landmarks(60)),
    "LapSVM, eigenvectors": sm.LapSVM(functions=sm.spectra.Eigenvectors(40)),
    "LapSVM, no graph": sm.LapSVM(gamma_I=0),
    "LapRLS": sm.LapRLS(),
    "SpectralRidge": sm.SpectralRidge(),
    "SpectralKernelSVM": sm.SpectralKernelSVM(C=10.0, B="auto"),
    "XuSpectralSVM": sm.XuSpectralSVM(C=10.0),
}


@pytest.fixture(scope="module")
def samples():
    X, t = sm.datasets.make_two_moons(n_samples=200, noise=0.15, random_state=0)
    return X[:150], t[:150], X[150:]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", PROVING)
def test_exact_fits_prove_their_predictions(samples, name, n_classes):
    X, t, new = samples
    classes = t if n_classes == 2 else t + 2 * (X[:, 0] > 0.5)
    y = sm.hide_labels(classes, per_class=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = clone(PROVING[name]).fit(X, y)
    found, at_new = clf.proved_decisions(), clf.proved_decisions(new)
    assert clf.proved_.shape == ((150,) if n_classes == 2 else (150, n_classes))
    assert found.share > 0.98
    assert at_new.share > 0.95
    assert at_new.proved.shape[0] == 50
    for part, scores in ((found, clf.scores_), (at_new, clf.decision_function(new))):
        assert (part.low <= scores).all()
        assert (scores <= part.high).all()
    assert str(found).endswith("are proved to be those of the optimum")
    assert "proved" in found._repr_html_()


def test_a_coarse_answer_proves_no_decision_that_the_optimum_changes(samples):
    X, t, new = samples
    y = sm.hide_labels(t, per_class=5, random_state=0)
    weights = {"gamma_A": 1e-3, "gamma_I": 1.0, "loss": "squared_hinge", "class_balance": None, "kernel": 4.0}
    exact = sm.LapSVM(**weights).fit(X, y)
    shares = []
    for max_iter in (1, 5, 20, 60, 200):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf = sm.LapSVM(**weights, solver=Solver("pcg", max_iter=max_iter)).fit(X, y)
        for X_at, f in ((None, exact.scores_), (new, exact.decision_function(new))):
            part = clf.proved_decisions(X_at)
            assert (part.low <= f + 1e-9).all()
            assert (f - 1e-9 <= part.high).all()
        same = clf.transduction_ == exact.transduction_
        assert same[clf.proved_].all()
        shares.append(clf.proved_.mean())
    assert shares[0] < 0.5 < shares[-1]


def test_scores_of_classes_are_compared_pair_by_pair(samples):
    X, t, _ = samples
    y = sm.hide_labels(t + 2 * (X[:, 0] > 0.5), per_class=4, random_state=0)
    solver = Solver("pcg", options={"stopping": "safe"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, loss="squared_hinge", solver=solver).fit(X, y)
    found = clf.proved_decisions()
    own = np.arange(4) == np.searchsorted(clf.classes_, clf.transduction_)[:, None]
    np.testing.assert_array_equal(found.predicted, found.proved[own])
    # Of a prediction that is proved every other class is proved to lose.
    assert found.proved[found.predicted].all()


@pytest.mark.parametrize(
    "clf",
    [sm.STORM(), sm.STOAM(), sm.MKL(), sm.KTA(), sm.SpectralRidge(refine="kmeans"), sm.S3VM()],
    ids=lambda clf: type(clf).__name__,
)
def test_where_nothing_is_proved_there_is_no_proved(samples, clf):
    X, t, _ = samples
    clf = clone(clf).fit(X, sm.hide_labels(t, per_class=4, random_state=0))
    assert not hasattr(clf, "proved_")


def test_a_kernel_matrix_is_not_kept_and_says_so(samples):
    X, t, _ = samples
    K = sm.kernels.gram(X, gamma=4.0)
    clf = sm.LapSVM(kernel="precomputed", gamma_I=0).fit(K, sm.hide_labels(t, per_class=4, random_state=0))
    assert not hasattr(clf, "proved_")
    with pytest.raises(ValueError, match="keeps no kernel matrix"):
        clf.proved_decisions()


def test_a_changed_problem_is_refused(samples):
    X, t, _ = samples
    y = sm.hide_labels(t, per_class=4, random_state=0)
    clf = sm.LapSVM(gamma_A=0.1, gamma_I=1.0, model=lambda built: built.with_(constraints=[])).fit(X, y)
    with pytest.raises(ValueError, match="leave model out"):
        clf.proved_decisions()


def test_before_fit_there_is_none():
    assert not hasattr(sm.LapSVM(), "proved_")


def test_a_copy_by_pickle_proves_the_same(samples):
    X, t, _ = samples
    clf = sm.LapRLS().fit(X, sm.hide_labels(t, per_class=4, random_state=0))
    before = clf.proved_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).proved_, before)


def test_a_second_fit_is_looked_at_anew(samples):
    X, t, _ = samples
    y = sm.hide_labels(t, per_class=4, random_state=0)
    clf = sm.LapSVM().fit(X, y)
    assert len(clf.proved_) == 150
    assert len(clf.fit(X[:100], y[:100]).proved_) == 100


def test_landmarks_drawn_anew_are_noticed(samples):
    X, t, _ = samples
    drawn = sm.kernels.Landmarks(20, random_state=np.random.default_rng(0))
    clf = sm.LapSVM(functions=drawn).fit(X, sm.hide_labels(t, per_class=4, random_state=0))
    sm.LapSVM().fit(X, sm.hide_labels(t, per_class=4, random_state=0))
    with pytest.raises(sm.SolverError, match="cannot be made again"):
        clf.proved_decisions()


def test_a_class_loses_where_its_highest_score_is_below_a_rivals_lowest(samples, monkeypatch):
    X, t, _ = samples
    y = sm.hide_labels(t + (X[:, 0] > 0.5), per_class=4, random_state=0)
    clf = sm.SpectralRidge(class_balance=None).fit(X, y)
    own = clf.scores_.argmax(axis=1)[:, None] == np.arange(3)
    other = (own.argmax(axis=1)[:, None] + 1) % 3 == np.arange(3)
    low = np.where(own, 2.0, -9.0)
    for high, loses in ((1.0, True), (3.0, False)):
        ends = low, np.where(own, 4.0, np.where(other, high, 1.0))
        monkeypatch.setattr("specmargin.estimators._base.proved_decisions._score_bounds", lambda *_, ends=ends: ends)
        proved = clf.proved_decisions()
        assert (proved.proved[other] == loses).all()
        assert (proved.predicted == loses).all()
        assert proved.proved[~own & ~other].all()
