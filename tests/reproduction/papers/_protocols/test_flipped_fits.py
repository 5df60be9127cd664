"""Fits before and after flips, on problems so small that every set of labels can be flipped."""

import warnings
from itertools import combinations

import numpy as np
import pytest

import specmargin as sm
from reproduction.papers._protocols import flipped_fits
from reproduction.papers._protocols.flipped_fits import METHODS, RATES, compared, flip_order, held, n_flips
from specmargin.exceptions import InvalidInputError, SpecmarginError, SpecmarginWarning
from specmargin.objectives.held_out import label_flips


@pytest.fixture(scope="module")
def moons():
    X, y = sm.datasets.make_two_moons(n_samples=40, noise=0.2, random_state=1)
    labeled = np.sort(np.concatenate([np.flatnonzero(y == code)[:4] for code in (0, 1)]))
    return X, y, labeled


def shown_of(y, labeled, flipped=()):
    shown = np.full(len(y), -1)
    shown[labeled] = y[labeled]
    at = labeled[list(flipped)]
    shown[at] = 1 - shown[at]
    return shown


@pytest.mark.parametrize("method", METHODS)
def test_what_is_certified_is_what_no_set_of_flips_changes(moons, method):
    X, y, labeled = moons
    stays, known = np.ones(len(y), dtype=bool), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecmarginWarning)  # some sets of flips leave hardly a class
        told, shown = compared(METHODS[method], X, y, labeled, trials=1), shown_of(y, labeled)
        clf, hidden = METHODS[method]().fit(X, shown), shown < 0
        again = held(clf, X)
        for r in range(1, n_flips(RATES[-1], len(labeled)) + 1):
            for at in combinations(range(len(labeled)), r):
                stays &= again(shown_of(y, labeled, at)) == clf.transduction_
            known[r] = 100 * np.mean(stays[hidden])
    assert told["one"] == pytest.approx(known[1])
    for rate in RATES:
        r = n_flips(rate, len(labeled))
        if method == "LapSVM":  # proved, and not found to change: the truth lies between
            assert told[f"survive_{rate}"] <= known[r] + 1e-9 <= told[f"found_{rate}"] + 2e-9
        else:
            assert told[f"survive_{rate}"] == told[f"found_{rate}"] == pytest.approx(known[r])
        assert told[f"changed_held_{rate}"] <= 100 - told[f"survive_{rate}"] + 1e-9
        assert told[f"broken_{rate}"] <= min(told[f"user_{rate}"], told[f"changed_{rate}"]) + 1e-9


def test_errors_are_those_of_fits_of_their_own(moons):
    X, y, labeled = moons
    told = compared(METHODS["LapRLS"], X, y, labeled, seed=3)
    order, hidden = flip_order(y[labeled], 2, 3), shown_of(y, labeled) < 0
    before = sm.LapRLS(class_balance=None).fit(X, shown_of(y, labeled)).transduction_
    clf = sm.LapRLS(class_balance=None).fit(X, shown_of(y, labeled, order[:2]))
    assert told["error_clean"] == pytest.approx(100 * np.mean(before[hidden] != y[hidden]))
    assert told["error_30"] == pytest.approx(100 * np.mean(clf.transduction_[hidden] != y[hidden]))
    moved = (clf.transduction_ != before)[hidden]
    assert told["changed_30"] == pytest.approx(100 * np.mean(moved))
    margin, pairs = np.abs(clf.scores_[hidden]), []
    for one in margin[moved]:
        pairs += [(one < other) + 0.5 * (one == other) for other in margin[~moved]]
    assert told["auc_margin_30"] == pytest.approx(100 * np.mean(pairs))
    assert compared(METHODS["LapRLS"], X, y, labeled, seed=3) == told


def test_a_wrong_sign_in_the_certificate_is_noticed(moons, monkeypatch):
    right = label_flips._drops

    def wrong(own, rival, *others):
        return right(-own, -rival, *others)

    monkeypatch.setattr(label_flips, "_drops", wrong)
    with pytest.raises(SpecmarginError, match=r"predictions that were certified for \d flips changed"):
        compared(METHODS["kernel ridge"], *moons, trials=1)


def test_parameters_that_are_not_held_are_noticed(moons, monkeypatch):
    right = flipped_fits.held
    monkeypatch.setattr(flipped_fits, "held", lambda clf, X: lambda shown: 1 - right(clf, X)(shown))
    with pytest.raises(SpecmarginError, match="a fit with its parameters is not the fit"):
        compared(METHODS["LapRLS"], *moons)


def test_flips_leave_two_labels_of_each_class():
    codes = np.array([0, 0, 0, 1, 1, 1, 1])
    for seed in range(20):
        order = flip_order(codes, 4, seed)
        assert sorted(order) == list(range(7))
        for r in range(5):
            flipped = codes.copy()
            flipped[order[:r]] = 1 - flipped[order[:r]]
            assert min(np.bincount(flipped, minlength=2)) >= 2
    with pytest.raises(InvalidInputError, match="4 labels, 1 of the second class, hardly ever"):
        flip_order(np.array([0, 0, 0, 1]), 1, seed=0)


def test_rates_are_whole_numbers_of_labels():
    assert [n_flips(rate, 40) for rate in RATES] == [2, 4, 8, 12]
    assert n_flips(5, 4) == 1
