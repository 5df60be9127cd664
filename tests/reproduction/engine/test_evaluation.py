"""What a cell measures, against the same thing done by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import specmargin as sm
from reproduction.engine.evaluation import evaluate
from reproduction.engine.protocol import LabeledFolds, ValidationSet, labeled_folds
from reproduction.engine.splits import Split, random_splits
from specmargin.kernels import RBF, Precomputed


@pytest.fixture(scope="module")
def moons():
    X, y = sm.datasets.make_two_moons(n_samples=120, noise=0.25, random_state=3)
    return X, np.where(y == 1, 1, -1)


@pytest.fixture(scope="module")
def split(moons):
    return random_splits(moons[1], 12, 1, 0, n_validation=15, n_test=25)[0]


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers what it is fitted on and predicts class code 1."""

    seen: list = []  # noqa: RUF012  shared by clones on purpose

    def __init__(self, unlabeled=np.nan, gaps=(1e-9,)):
        self.unlabeled = unlabeled
        self.gaps = gaps

    def fit(self, X, y, graph=None):
        self.seen.append((X, y, graph, self.unlabeled))
        results = [SimpleNamespace(certificate=SimpleNamespace(relative_gap=g), solver="spy") for g in self.gaps]
        self.result_ = results[0] if len(results) == 1 else results
        return self

    def predict(self, X):
        return np.ones(X.shape[0], dtype=int)


@pytest.fixture
def seen():
    Spy.seen = []
    yield Spy.seen
    Spy.seen = []


def percent_wrong(a, b):
    return 100 * np.mean(a != b)


def test_supervised_learner_against_scikit_learn(moons, split):
    X, y = moons
    svc = SVC(C=3.0)
    got = evaluate(svc, X, y, split, tunings=[ValidationSet(), LabeledFolds(4)], labeled_only=True)
    fitted = SVC(C=3.0).fit(X[split.labeled], y[split.labeled])
    expected = {
        "error_unlabeled": percent_wrong(fitted.predict(X[split.unlabeled]), y[split.unlabeled]),
        "error_validation": percent_wrong(fitted.predict(X[split.validation]), y[split.validation]),
        "error_test": percent_wrong(fitted.predict(X[split.test]), y[split.test]),
    }
    wrong = []
    for fold in labeled_folds(y, split.labeled, LabeledFolds(4)):
        rest = np.setdiff1d(split.labeled, fold)
        wrong.extend(SVC(C=3.0).fit(X[rest], y[rest]).predict(X[fold]) != y[fold])
    expected["error_4fold_seed0"] = 100 * np.mean(wrong)
    assert got == pytest.approx(expected, rel=1e-12)
    assert not hasattr(svc, "support_")


def test_transductive_learner_keeps_left_out_samples_as_unlabelled(moons, split):
    X, y = moons
    codes, train = (y > 0).astype(int), split.train
    got = evaluate(LabelSpreading(gamma=5), X, y, split, tunings=[LabeledFolds(3, seed=1)])
    marked = np.where(np.isin(train, split.labeled), codes[train], -1)
    fitted = LabelSpreading(gamma=5).fit(X[train], marked)
    at = np.isin(train, split.unlabeled)
    assert got["error_unlabeled"] == percent_wrong(fitted.transduction_[at], codes[train][at])
    assert got["error_test"] == percent_wrong(fitted.predict(X[split.test]), codes[split.test])
    wrong = []
    for fold in labeled_folds(y, split.labeled, LabeledFolds(3, seed=1)):
        left_out = np.isin(train, fold)
        hidden = np.where(left_out, -1, marked)
        wrong.extend(LabelSpreading(gamma=5).fit(X[train], hidden).transduction_[left_out] != codes[train][left_out])
    assert got["error_3fold_seed1"] == pytest.approx(100 * np.mean(wrong), rel=1e-12)


def test_every_fit_sees_the_training_samples_and_no_hidden_label(moons, split, seen):
    X, y = moons
    graph = csr_array(np.eye(len(split.train)))
    evaluate(Spy(), X, y, split, tunings=[LabeledFolds(3)], graph=graph)
    assert len(seen) == 4
    for X_seen, labels, graph_seen, marker in seen:
        assert np.array_equal(X_seen, X[split.train])
        assert graph_seen is graph
        assert marker == -1
        shown = split.train[labels >= 0]
        assert set(shown) <= set(split.labeled)
        assert np.array_equal(labels[labels >= 0], (y[shown] > 0).astype(int))
    assert [int(np.sum(labels >= 0)) for _, labels, _, _ in seen] == [12, 8, 8, 8]


def test_precomputed_kernel_equals_features(moons, split):
    X, y = moons
    K = rbf_kernel(X, gamma=2.0)
    K.flags.writeable = False
    for options, kernel in (({"labeled_only": True}, "precomputed"), ({}, "precomputed"), ({}, Precomputed())):
        a = sm.LapSVM(gamma_I=0.0, gamma_A=0.1, kernel=RBF(2.0))
        b = sm.LapSVM(gamma_I=0.0, gamma_A=0.1, kernel=kernel)
        tunings = [LabeledFolds(3)]
        one, two = (evaluate(e, Z, y, split, tunings=tunings, **options) for e, Z in ((a, X), (b, K)))
        errors = [name for name in one if name.startswith("error")]
        assert len(errors) == 4
        assert {name: one[name] for name in errors} == {name: two[name] for name in errors}


def test_lapsvm_with_a_graph_reports_its_certificate(moons):
    X, y = moons
    split = random_splits(y, 12, 1, 0)[0]
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    row = evaluate(
        sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, kernel=RBF(2.0)), X, y, split, tunings=[LabeledFolds(3)], graph=W
    )
    assert row["solver"] == "factorized"
    assert abs(row["relative_gap"]) < 1e-6
    clf = sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, unlabeled=0, kernel=RBF(2.0))
    marked = np.where(np.isin(np.arange(len(y)), split.labeled), y, 0)
    wrong = clf.fit(X, marked, graph=W).transduction_ != y
    assert row["error_unlabeled"] == pytest.approx(100 * wrong[split.unlabeled].mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("gaps", "worst"), [((1e-9,), 1e-9), ((1e-9, -1e-3, 1e-6), -1e-3), ((1.0, math.nan), math.inf)]
)
def test_worst_certificate_of_all_classes(moons, split, seen, gaps, worst):
    row = evaluate(Spy(gaps=gaps), *moons, split)
    assert row["relative_gap"] == worst
    assert row["solver"] == "spy"


def test_fold_that_leaves_one_class_predicts_it(seen):
    y = np.array([0, 0, 0, 1, 1, 0])
    row = evaluate(Spy(), np.arange(6.0)[:, None], y, Split([0, 1, 2, 3], [4, 5]), tunings=[LabeledFolds(4)])
    # Three folds of class 0 go to the spy, who says 1; the fold of the single 1 is predicted 0.
    assert row["error_4fold_seed0"] == 100.0
    assert len(seen) == 1 + 3
    assert row["error_unlabeled"] == 50.0


def test_labels_that_are_hidden_on_purpose_are_no_news(recwarn):
    X, y = sm.datasets.make_two_moons(n_samples=24, random_state=0)
    evaluate(sm.LapSVM(gamma_I=0.0, kernel=RBF(4.0)), X, y, Split(np.arange(12), np.arange(12, 24)), labeled_only=True)
    assert [str(one.message) for one in recwarn if one.category is sm.exceptions.MarkerWarning] == []
