"""The line of a comparison about false labels, against fits with each of them."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

import specmargin as sm
from specmargin.tables.assessment.choice import told_false_labels


def moons():
    X, truth = sm.datasets.make_two_moons(n_samples=80, noise=0.15, random_state=1)
    return X, sm.hide_labels(truth, per_class=5, random_state=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "clf", [sm.SpectralRidge(penalty=0.1), sm.LapRLS(gamma_A=0.1, gamma_I=1.0, kernel=4.0, graph=5)]
)
def test_the_labels_named_change_as_many_predictions(clf):
    X, y = moons()
    clf = clf.fit(X, y)
    line = told_false_labels(clf, "ours")
    rows = [int(one) for one in re.search(r"\(rows (.*?)\)", line)[1].split(", ")]
    fixed, changed = clone(clf), np.zeros(80, dtype=bool)
    for row in rows:
        false = y.copy()
        false[row] ^= 1
        changed |= fixed.fit(X, false).transduction_ != clf.transduction_
    assert line.startswith(f"False labels: {len(rows)} of 10 labels")
    assert f"decide {changed[y < 0].mean():.0%} of the predictions of ours. " in line


def test_what_is_not_told_says_so():
    X, y = moons()
    for clf in (sm.LapSVM().fit(X, y), DummyClassifier().fit(X[y >= 0], y[y >= 0])):
        assert "of theirs it is not told how many labels decide, because" in told_false_labels(clf, "theirs")
    y[:] = -1
    y[:3] = 0, 0, 1
    with pytest.warns(sm.exceptions.SpecmarginWarning):
        one = sm.SpectralRidge().fit(X, y)
    assert "not told how many labels decide: the class 1 has one label" in told_false_labels(one, "ours")


@pytest.mark.filterwarnings("ignore")
def test_labels_that_decide_nothing_and_searches():
    X = np.concatenate([np.zeros((20, 1)), np.ones((20, 1))]) + 0.01 * np.random.default_rng(0).normal(size=(40, 1))
    y = np.repeat([0, 1], 20)
    y[::4] = -1
    assert "none of the 30 labels changes" in told_false_labels(sm.SpectralRidge(q=2).fit(X, y), "ours")
    X, y = moons()
    line = told_false_labels(sm.LabelSearch(sm.LapRLS(), grid={"graph": [5]}).fit(X, y), "the search")
    assert ", its parameters held fixed" in line


@pytest.mark.filterwarnings("ignore")
def test_compare_and_the_report_have_the_line():
    X, y = moons()
    comparison = sm.compare(X, y, methods=["SpectralRidge", "AutoSSL"])
    assert comparison.false_labels.startswith("False labels: ")
    assert comparison.false_labels in repr(comparison)
    report = sm.AutoSSL(families=["sup"]).fit(X, y).report_
    assert dict(report.lines())["false labels"].startswith("not told")
