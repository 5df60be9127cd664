"""What searches share: criteria of left-out samples, folds, and the record of what was tried."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

import specmargin as sm
from specmargin.estimators._base.label_search import OF_DECISIONS, Judged, Trials, judged
from specmargin.kernels import RBF
from specmargin.objectives.held_out import leave_one_out as loo

LABELS = sm.encode_labels([0, 0, 1, 1, 2, -1, 2])


def test_criteria_are_those_of_the_definitions():
    sign = np.array([1.0, -1.0, -1.0])
    raw = np.array([[2.0, -1.0, 0.5], [1.0, -1.0, -1.0]])
    compared = raw + 0.25
    values = judged(raw, compared, sign, "nll").values
    assert values["sq"] == pytest.approx([(1.0 + 0.0 + 2.25) / 3.0, 0.0])
    T = np.exp(np.linspace(-7, 7, 20001))[:, None]
    for i in range(2):  # at the scale of calibrated probabilities, with two pseudo-samples at the mean distance
        losses, m = np.log1p(np.exp(-T * sign * compared[i])), np.abs(compared[i]).mean()
        at = (losses.sum(axis=1) + (2 * np.log1p(np.exp(-T * m)) + T * m)[:, 0]).argmin()
        assert values["nll"][i] == pytest.approx(losses[at].mean(), abs=1e-3)
    assert values["01"] - 1e-3 * values["nll"] == pytest.approx([1 / 3, 0.0])
    nothing = judged(raw[:, :0], raw[:, :0], sign[:0], "nll").values
    assert list(nothing) == list(OF_DECISIONS)
    assert all(np.isnan(column).all() for column in nothing.values())


def test_folds_leave_every_labelled_sample_out_once():
    X = np.zeros((7, 1))
    for cv, n_folds in (("loo", 6), (2, 2), (sm.LabeledKFold(3, random_state=0), 3)):
        folds = sm.LapRLSCV(cv=cv)._folds(X, LABELS)
        assert len(folds) == n_folds
        assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(6))
        for fold in folds:
            np.testing.assert_array_equal(fold.left_out, fold.test)
    (part,) = sm.LapRLSCV(cv=ShuffleSplit(1, test_size=2, train_size=3, random_state=0))._folds(X, LABELS)
    assert len(part.left_out) == 3  # what neither trains nor is tested has no label either
    assert np.isin(part.test, part.left_out).all()


def test_samples_count_whose_class_is_trained_on():
    search, single = sm.LapRLSCV(), sm.encode_labels([0, 1, 1])
    assert search._counted(single, search._folds(np.zeros((3, 1)), single)).tolist() == [False, True, True]
    pair = sm.encode_labels([0, 1])
    with pytest.warns(UserWarning, match="no fold tests a class that it trains on"):
        assert not search._counted(pair, search._folds(np.zeros((2, 1)), pair)).any()


def test_the_record_holds_numbers_as_numbers_and_words_as_words():
    search = sm.LapSVMCV(criterion="sq")
    values = [(1.5, 0.2), ("auto", 0.1), (np.inf, 0.1), (2.0, np.nan)]
    losses = np.array([loss for _, loss in values])
    judgements = Judged(dict.fromkeys(OF_DECISIONS, losses), losses[:, None], np.zeros((4, 1), dtype=bool))
    trials = Trials("sq", np.array([0]))
    trials.add([{"B": B, "q": 5} for B, _ in values], judgements, common={})
    search._record(trials)
    assert search.best_params_ == {"B": "auto", "q": 5}  # the first of the best
    assert (search.best_index_, search.best_score_) == (1, -0.1)
    assert search.cv_results_["param_B"].tolist() == [1.5, "auto", np.inf, 2.0]
    assert search.cv_results_["param_q"].dtype.kind == "i"
    assert search.cv_results_["rank_test_score"].tolist() == [3, 1, 1, 4]
    search.best_params_["q"] = 7
    assert search.cv_results_["params"][1]["q"] == 5


def test_a_label_is_judged_by_the_setting_that_the_others_choose():
    sign, rng = np.sign(np.arange(6) - 2.5), np.random.default_rng(0)
    for criterion in OF_DECISIONS:
        raw = rng.normal(size=(9, 6)) + 0.5 * sign
        trials = Trials(criterion, np.arange(6))
        trials.add([{"C": k} for k in range(9)], judged(raw, raw, sign, criterion), common={}, supervised=False)
        losses = judged(raw, raw, sign, criterion).losses
        expected = [np.sign(raw[np.delete(losses, i, axis=1).mean(axis=1).argmin(), i]) != sign[i] for i in range(6)]
        assert trials.wrong_when_chosen_by_others().tolist() == expected
        some = np.arange(9) % 2 == 0
        among = np.flatnonzero(some)
        expected = [
            np.sign(raw[among[np.delete(losses[some], i, axis=1).mean(axis=1).argmin()], i]) != sign[i]
            for i in range(6)
        ]
        assert trials.wrong_when_chosen_by_others(some).tolist() == expected


def test_a_setting_without_an_answer_is_never_chosen():
    sign, raw = np.array([1.0, -1.0, 1.0]), np.array([[np.nan] * 3, [1.0, -1.0, -0.5]])
    trials = Trials("nll", np.arange(3))
    trials.add([{"C": 1.0}, {"C": 2.0}], judged(raw, raw, sign, "nll"), common={})
    assert trials.best() == 1
    assert trials.wrong_when_chosen_by_others().tolist() == [False, False, True]


def test_whole_weights_of_losses_are_repeated_losses():
    rng = np.random.default_rng(0)
    f, sign, c = rng.normal(size=(4, 9, 3)), np.where(np.eye(3)[np.arange(9) % 3] > 0, 1.0, -1.0), rng.integers(1, 4, 9)
    losses = {"sq": loo.squares(f, sign), "nll": loo.log_losses(f, sign)}  # the scale is that of the labels
    for criterion, each in losses.items():
        ours = judged(f, f, sign, criterion, c)
        assert ours.values[criterion] == pytest.approx(np.repeat(each, c, axis=1).mean(axis=1))
        repeated = np.repeat(each, c, axis=1)
        for i in range(9):  # what the others choose by
            others = np.repeat(np.arange(9), c) != i
            assert np.delete(ours.losses, i, axis=1).sum(axis=1) == pytest.approx(repeated[:, others].sum(axis=1))
        np.testing.assert_array_equal(ours.wrong, loo.wrong(f, sign))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sm.STORMCV(cv=3),
        lambda: sm.KTACV(cv=3),
        lambda: sm.SpectralFilterCV(grid={"learn": ["single", "mean"], "filters": ["powers"]}, cv=3),
        lambda: sm.LapRLSCV(grid={"kernel": [RBF("0.5 median"), RBF("median")], "graph__n_neighbors": [5]}, cv=3),
        lambda: sm.LapSVMCV(grid={"kernel": [RBF("median")], "graph__n_neighbors": [5], "laplacian__power": [1]}, cv=3),
        lambda: sm.AutoSSL(),
    ],
    ids=["STORMCV", "KTACV", "SpectralFilterCV", "LapRLSCV", "LapSVMCV", "AutoSSL"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_names_of_classes_change_no_prediction(make, n_classes):
    rng = np.random.default_rng(n_classes)
    truth = n_classes - 1 - np.append(np.arange(n_classes), rng.integers(0, n_classes, 50 - n_classes))
    X, renamed = rng.normal(size=(50, 4)) + np.eye(4)[truth], np.roll(np.arange(n_classes), 1)
    y = np.where(np.arange(50) < 16, truth, -1)  # the classes do not appear in the order of their names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        as_named = make().fit(X, y)
        otherwise = make().fit(X, np.where(y < 0, -1, renamed[y]))
    np.testing.assert_array_equal(renamed[as_named.transduction_.astype(int)], otherwise.transduction_)
    np.testing.assert_allclose(as_named.predict_proba(X), otherwise.predict_proba(X)[:, renamed], atol=1e-3)
