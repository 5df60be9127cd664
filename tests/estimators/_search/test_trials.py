"""What searches share: criteria of left-out samples, folds, and the record of what was tried."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

import specmargin as sm
from specmargin.estimators._search.candidates import folds_of
from specmargin.estimators._search.trials import OF_DECISIONS, Settings, Trials
from specmargin.estimators._search.trials import judged as judged_labels
from specmargin.kernels import RBF
from specmargin.labels import Labels
from specmargin.objectives.held_out import leave_one_out as loo

LABELS = sm.encode_labels([0, 0, 1, 1, 2, -1, 2])


def labels_of(sign, weights=None):
    """Labels of as many samples as there are signs, all of them labelled."""
    l = len(sign)
    return Labels(sign, np.arange(l), np.arange(2 if sign.ndim == 1 else sign.shape[1]), l, weights)


def judged(raw, compared, sign, criterion, weights=None):
    return judged_labels(raw, compared, labels_of(sign, weights), criterion, np.arange(len(sign)))


def trials_of(raw, sign, criterion, values="C"):
    """A record of settings that differ in one number."""
    each = Settings([{values: k} for k in range(len(raw))], raw, raw)
    return Trials([each], labels_of(sign), loo.one_left_out(len(sign)), criterion)


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
        folds = folds_of(cv, X, LABELS)
        assert len(folds) == n_folds
        assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(6))
        for fold in folds:
            np.testing.assert_array_equal(fold.left_out, fold.test)
    (part,) = folds_of(ShuffleSplit(1, test_size=2, train_size=3, random_state=0), X, LABELS)
    assert len(part.left_out) == 3  # what neither trains nor is tested has no label either
    assert np.isin(part.test, part.left_out).all()


def test_samples_count_whose_class_is_trained_on():
    sign = sm.encode_labels([0, 1, 1]).sign
    raw = np.array([[7.0, 0.5, 1.5], [-7.0, 1.0, 1.0]])
    assert trials_of(raw, sign, "sq").values["sq"] == pytest.approx([0.25, 0.0])
    nothing = trials_of(raw[:, :2], sign[:2], "sq")
    assert np.isnan(nothing.values["sq"]).all()
    assert (nothing.best(), nothing.wrong_when_chosen_by_others().tolist()) == (0, [])


def test_the_record_holds_numbers_as_numbers_and_words_as_words():
    sign = np.array([1.0, 1.0, -1.0, -1.0])
    raw = sign * (1.0 - np.sqrt([[0.2], [0.1], [0.1], [np.nan]]))
    tried = [{"B": B, "q": 5} for B in (1.5, "auto", np.inf, 2.0)]
    trials = Trials([Settings(tried, raw, raw)], labels_of(sign), loo.one_left_out(4), "sq")
    results = trials.results({"eps": 0.1})
    assert trials.best() == 1  # the first of the best
    assert results["params"][1] == {"B": "auto", "q": 5, "eps": 0.1}
    assert results["mean_test_score"][:3] == pytest.approx([-0.2, -0.1, -0.1])
    assert results["param_B"].tolist() == [1.5, "auto", np.inf, 2.0]
    assert results["param_q"].dtype.kind == "i"
    assert results["rank_test_score"].tolist() == [3, 1, 1, 4]


def test_a_label_is_judged_by_the_setting_that_the_others_choose():
    sign, rng = np.sign(np.arange(6) - 2.5), np.random.default_rng(0)
    for criterion in OF_DECISIONS:
        raw = rng.normal(size=(9, 6)) + 0.5 * sign
        trials, losses = trials_of(raw, sign, criterion), judged(raw, raw, sign, criterion).losses
        for some in (np.arange(9) < 9, np.arange(9) % 2 == 0):
            among = np.flatnonzero(some)
            chosen = [among[np.delete(losses[some], i, axis=1).mean(axis=1).argmin()] for i in range(6)]
            expected = np.sign(raw[chosen, np.arange(6)]) != sign
            assert trials.wrong_when_chosen_by_others(some).tolist() == expected.tolist()


def test_a_setting_without_an_answer_is_never_chosen():
    sign, raw = np.array([1.0, -1.0, 1.0, -1.0]), np.array([[np.nan] * 4, [1.0, -1.0, -0.5, -1.0]])
    trials = trials_of(raw, sign, "nll")
    assert trials.best() == 1
    assert trials.wrong_when_chosen_by_others().tolist() == [False, False, True, False]


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
        lambda: sm.LabelSearch(sm.STORM(), cv=3),
        lambda: sm.LabelSearch(sm.KTA(), cv=3),
        lambda: sm.LabelSearch(
            sm.SpectralFilterClassifier(), grid={"learn": ["single", "mean"], "filters": ["powers"]}, cv=3
        ),
        lambda: sm.LabelSearch(
            sm.LapRLS(), grid={"kernel": [RBF("0.5 median"), RBF("median")], "graph__n_neighbors": [5]}, cv=3
        ),
        lambda: sm.LabelSearch(
            sm.LapSVM(loss="squared_hinge"),
            grid={"kernel": [RBF("median")], "graph__n_neighbors": [5], "laplacian__power": [1]},
            cv=3,
        ),
        lambda: sm.AutoSSL(),
    ],
    ids=["STORM", "KTA", "filters", "LapRLS", "LapSVM", "AutoSSL"],
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
