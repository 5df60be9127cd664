"""Filters by their labels: the choice is that of refits that have not seen the label, and is held against an SVM."""

import numpy as np
import pytest

import specmargin as sm
from specmargin.estimators._search.candidates import folds_of
from specmargin.estimators.spectral_filter import SpectralFilterClassifier
from specmargin.spectra import Powers, Resolvents

from ..test_spectral_filter import block_graph, hidden


def brute_force(clf, X, seen, graph, folds, params):
    """Mean square of what refits without a fold's labels decide there, over the nodes whose class is trained on."""
    squares = []
    for fold in folds:
        labeled = np.flatnonzero(seen >= 0)
        without = seen.copy()
        without[labeled[fold.left_out]] = -1
        fitted = SpectralFilterClassifier(**params).fit(X, without, graph=graph)
        for i in labeled[fold.test]:
            if fitted.scores_.ndim == 1:
                squares.append((fitted.scores_[i] - np.where(seen[i] == fitted.classes_[1], 1, -1)) ** 2)
            else:
                wanted = np.where(fitted.classes_ == seen[i], 1.0, -1.0)
                squares.append(((fitted.scores_[i] - wanted) ** 2).mean())
    return np.mean(squares)


@pytest.mark.parametrize(
    ("two", "joint", "loss"), [(True, True, "squared"), (False, True, "hinge"), (False, False, "squared")]
)
def test_criteria_are_those_of_refits(two, joint, loss):
    W, X, y = block_graph(0.8, n=120)
    seen = hidden((y > 0).astype(int) if two else y, 8)
    search = sm.LabelSearch(
        estimator=SpectralFilterClassifier(joint=joint, loss=loss, C=1.0),
        grid={"learn": ["alignment", "margin", "single"], "filters": [Resolvents([0.0, 0.8]), Powers(2)]},
        criterion="sq",
        cv=4,
    ).fit(X, seen, graph=W)
    labels = sm.encode_labels(seen)
    folds = folds_of(search.cv, X, labels)
    assert search.cv_results_["sq"].shape == (6,)
    for params, sq in zip(search.cv_results_["params"], search.cv_results_["sq"], strict=True):
        assert sq == pytest.approx(brute_force(search, X, seen, W, folds, params), rel=1e-5)
    assert search.best_score_ == -search.cv_results_["sq"].min()


def test_the_refit_is_that_of_the_best_parameters():
    W, X, y = block_graph(0.9)
    search = sm.LabelSearch(
        sm.SpectralFilterClassifier(), grid={"learn": ["alignment", "mean"], "self_loops": [0.0, 1.0]}
    ).fit(X, hidden(y), graph=W)
    again = SpectralFilterClassifier(**search.best_params_).fit(X, hidden(y), graph=W)
    np.testing.assert_array_equal(again.scores_, search.scores_)
    np.testing.assert_array_equal(search.filter_weights_, again.filter_weights_)
    assert len(search.cv_results_["params"]) == 8
    assert search.comparison_.verdict
    assert (search.transduction_ == y).mean() > (search.baseline_.transduction_ == y).mean()
    np.testing.assert_array_equal(search.predict(X[:9]), again.predict(X[:9]))


def test_balancing_takes_part_in_the_choice():
    W, X, y = block_graph(0.7, n=120)
    search = sm.LabelSearch(
        estimator=SpectralFilterClassifier(class_balance="zscore"),
        grid={"learn": ["alignment"], "filters": ["resolvents"]},
        cv=3,
    )
    search.fit(X, hidden(y, 4), graph=W)
    labels = sm.encode_labels(hidden(y, 4))
    losses = []
    for fold in folds_of(search.cv, X, labels):
        seen = hidden(y, 4)
        seen[labels.labeled[fold.left_out]] = -1
        fitted = SpectralFilterClassifier(class_balance="zscore").fit(X, seen, graph=W)
        at = labels.labeled[fold.test]
        losses += (fitted.transduction_[at] != y[at]).tolist()
    wrong = search.set_params(criterion="01").fit(X, hidden(y, 4), graph=W).cv_results_["01"][0]
    assert wrong == pytest.approx(np.mean(losses), abs=2e-3 * 10)


def test_a_fold_without_a_class_still_tells_the_others_apart():
    W, X, y = block_graph(0.9)
    seen = hidden(y)
    seen[np.flatnonzero(seen == 0)[1:]] = -1
    search = sm.LabelSearch(
        estimator=SpectralFilterClassifier(joint=False), grid={"learn": ["alignment"], "filters": ["resolvents"]}
    ).fit(X, seen, graph=W)
    assert search.cv_results_["01"][0] < 0.1


def test_one_label_a_class_cannot_choose():
    W, X, y = block_graph(0.9, n=60)
    with pytest.warns(UserWarning, match="cannot choose; the first candidates are taken"):
        search = sm.LabelSearch(sm.SpectralFilterClassifier(), grid={"learn": ["single", "mean"]}).fit(
            X, hidden(y, 1), graph=W
        )
    assert search.best_params_["learn"] == "single"
