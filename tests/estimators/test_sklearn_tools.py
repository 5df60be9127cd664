"""Scikit-learn's tools with partly labelled samples: which work on markers, which need `WithUnlabeled`, which err.

docs/scikit_learn.md has these as a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - without it there is no HalvingGridSearchCV
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

import specmargin as sm
from specmargin.exceptions import MarkerWarning
from specmargin.kernels import RBF

X, TRUTH = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
Y = sm.hide_labels(TRUTH, per_class=12, random_state=0)
KNOWN = Y != -1
FOLDS = sm.LabeledKFold(3, random_state=0)


def laprls(**more: Any) -> sm.LapRLS:
    return sm.LapRLS(kernel=RBF(4.0), **more)


def by_hand(estimator: Any, folds: Any = FOLDS) -> list[float]:
    """Scores of folds, from fits to masked labels: what a tool has to come to."""
    scores = []
    for train, test in folds.split(X, Y):
        fitted = clone(estimator).fit(X[train], Y[train])
        scores.append(float((fitted.predict(X[test]) == TRUTH[test]).mean()))
    return scores


# Tools that pass markers on.


@pytest.mark.parametrize("estimator", [laprls(), sm.STORM(q=20), make_pipeline(StandardScaler(), sm.LapSVM())])
def test_scores_of_folds(estimator: Any) -> None:
    np.testing.assert_allclose(cross_val_score(estimator, X, Y, cv=FOLDS), by_hand(estimator))


def test_measures_of_scikit_learn_need_labelled_folds() -> None:
    told = cross_validate(laprls(), X, Y, cv=FOLDS, scoring=["accuracy", "balanced_accuracy", "roc_auc"])
    np.testing.assert_allclose(told["test_accuracy"], by_hand(laprls()))
    assert told["test_roc_auc"].min() > 0.9
    # Plain folds hold markers, which are errors to any scorer but the estimator's own and `labeled_accuracy`.
    assert cross_val_score(laprls(), X, Y, cv=3, scoring="accuracy").max() < 0.3
    assert cross_val_score(laprls(), X, Y, cv=3).min() > 0.7


def test_searches_and_curves() -> None:
    grid = {"gamma_I": [1e-3, 0.1, 10.0]}
    search = GridSearchCV(laprls(), grid, cv=FOLDS).fit(X, Y)
    expected = [np.mean(by_hand(laprls(gamma_I=value))) for value in grid["gamma_I"]]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    halving = HalvingGridSearchCV(laprls(), grid, cv=FOLDS, min_resources=90, random_state=0).fit(X, Y)
    assert halving.best_score_ > 0.8
    assert halving.n_resources_ == [90]
    for curve in (
        validation_curve(laprls(), X, Y, param_name="gamma_I", param_range=grid["gamma_I"], cv=FOLDS)[1],
        learning_curve(laprls(), X, Y, cv=FOLDS, train_sizes=[0.7, 1.0], shuffle=True, random_state=0)[2],
    ):
        assert curve[-1].mean() > 0.85
    np.testing.assert_allclose(learning_curve(laprls(), X, Y, cv=FOLDS, train_sizes=[1.0])[2][0], by_hand(laprls()))


def test_importances_leave_markers_out() -> None:
    fitted = laprls().fit(X, Y)
    marked = permutation_importance(fitted, X, Y, n_repeats=3, random_state=0, scoring=sm.labeled_accuracy)
    assert (marked.importances_mean > 0.1).all()


def test_frames_and_set_output() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    pipeline = make_pipeline(StandardScaler(), laprls()).set_output(transform="pandas").fit(frame, Y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(pipeline.predict(frame), pipeline.fit(X, Y).predict(X))
    maps = sm.RegularizedEigenmaps(n_components=2).set_output(transform="pandas")
    table = maps.fit_transform(frame)
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == ["regularizedeigenmaps0", "regularizedeigenmaps1"]
    assert table.index.equals(frame.index)


def test_a_graph_is_routed() -> None:
    W = sm.graphs.knn_graph(X, 4)
    expected = laprls().fit(StandardScaler().fit_transform(X), Y, graph=W).scores_
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), laprls().set_fit_request(graph=True)).fit(X, Y, graph=W)
        np.testing.assert_array_equal(routed[-1].scores_, expected)
        with pytest.raises(ValueError, match="graph"):
            make_pipeline(StandardScaler(), laprls()).fit(X, Y, graph=W)  # nobody asked for it
        with pytest.raises(ValueError, match=r"leaving graph= out"):
            cross_val_score(
                laprls().set_fit_request(graph=True), X, Y, cv=FOLDS, params={"graph": W}, error_score="raise"
            )


def test_self_training_gives_a_classifier_the_labelled_samples_alone() -> None:
    with pytest.warns(MarkerWarning):
        fitted = SelfTrainingClassifier(laprls()).fit(X, Y)
    assert (fitted.predict(X) == TRUTH).mean() > 0.9
    inside = SelfTrainingClassifier(sm.WithUnlabeled(laprls(), X[~KNOWN])).fit(X, Y)
    assert (inside.predict(X) == TRUTH).mean() > 0.95


# Tools that take the marker for a class.

TAKE_IT_FOR_A_CLASS = {
    "voting": lambda one: VotingClassifier([("a", one), ("b", clone(one))]),
    "stacking": lambda one: StackingClassifier([("a", one), ("b", clone(one))], cv=3),
    "one vs rest": OneVsRestClassifier,
    "one vs one": OneVsOneClassifier,
    "bagging": lambda one: BaggingClassifier(one, n_estimators=3, random_state=0),
}


@pytest.mark.parametrize("tool", TAKE_IT_FOR_A_CLASS)
def test_tools_that_encode_the_marker_make_the_estimator_warn(tool: str) -> None:
    with pytest.warns(MarkerWarning, match="no sample carries the marker"):
        fitted = TAKE_IT_FOR_A_CLASS[tool](laprls()).fit(X, Y)
    assert fitted.classes_.tolist() == [-1, 0, 1]  # useless
    missing = np.where(KNOWN, np.array(["moon", "sun"])[TRUTH], None)
    with pytest.raises((TypeError, ValueError)):
        TAKE_IT_FOR_A_CLASS[tool](laprls(unlabeled=None)).fit(X, missing)


def test_calibration_takes_the_marker_for_a_class_in_silence() -> None:
    # No estimator can see it: y comes as it is, and the third class is added behind its back.
    assert CalibratedClassifierCV(laprls(), cv=FOLDS).fit(X, Y).classes_.tolist() == [-1, 0, 1]
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        TunedThresholdClassifierCV(laprls(), cv=FOLDS).fit(X, Y)


@pytest.mark.parametrize("tool", [*TAKE_IT_FOR_A_CLASS, "calibration", "threshold"])
@pytest.mark.parametrize("estimator", [laprls(), make_pipeline(StandardScaler(), sm.LapSVM(kernel=RBF(4.0)))])
def test_they_work_with_the_unlabelled_samples_inside(tool: str, estimator: Any) -> None:
    tools = {
        **TAKE_IT_FOR_A_CLASS,
        "calibration": lambda one: CalibratedClassifierCV(one, cv=FOLDS),
        "threshold": lambda one: TunedThresholdClassifierCV(one, cv=3),
    }
    names = np.array(["moon", "sun"])[TRUTH]
    fitted = tools[tool](sm.WithUnlabeled(estimator, X[~KNOWN])).fit(X[KNOWN], names[KNOWN])
    assert fitted.classes_.tolist() == ["moon", "sun"]
    assert (fitted.predict(X) == names).mean() > 0.85


def test_predictions_and_curves_over_labels() -> None:
    with pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(laprls(), X, Y, cv=FOLDS)
    whole = sm.WithUnlabeled(laprls(), X[~KNOWN])
    predicted = cross_val_predict(whole, X[KNOWN], TRUTH[KNOWN], cv=FOLDS)
    assert (predicted == TRUTH[KNOWN]).mean() > 0.9
    sizes, _, scores = learning_curve(
        whole, X[KNOWN], TRUTH[KNOWN], cv=3, train_sizes=[0.5, 1.0], shuffle=True, random_state=0
    )
    assert sizes.tolist() == [8, 16]  # labels
    assert scores[1].mean() > 0.9
    search = GridSearchCV(whole, {"estimator__gamma_I": [0.0, 0.1]}, cv=3, scoring="roc_auc")
    assert search.fit(X[KNOWN], TRUTH[KNOWN]).best_score_ > 0.95
