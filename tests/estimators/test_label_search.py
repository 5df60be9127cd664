"""LabelSearch as its users know searches: what it delegates, refuses, and how it lives in pipelines and copies."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import specmargin as sm
from specmargin.kernels import RBF

SMALL = {"kernel": [RBF(2.0)], "graph": [6], "laplacian": [1], "gamma_I": ["100 gamma_A"]}


def test_predictions_and_attributes_are_those_of_the_chosen_estimator(moons):
    X, truth, y = moons
    search = sm.LabelSearch(sm.LapSVM(), {**SMALL, "gamma_A": [0.01, 1.0]}).fit(X, y)
    best, new = search.best_estimator_, X[:9] + 0.02
    assert type(best) is sm.LapSVM
    for name in ("predict", "decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(search, name)(new), getattr(best, name)(new))
    assert search.score(X, truth) == best.score(X, truth) == np.mean(search.predict(X) == truth)
    assert search.score(None, y) == best.score(None, y)
    for name in ("classes_", "transduction_", "scores_", "intercept_", "kernel_", "result_", "calibration_"):
        assert getattr(search, name) is getattr(best, name) or getattr(search, name) == getattr(best, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing_'"):
        search.nothing_  # noqa: B018
    assert not hasattr(search, "label_robustness")  # of labels that chose nothing: ask best_estimator_


def test_the_estimator_that_is_passed_stays_unfitted(moons):
    X, _, y = moons
    passed = sm.LapRLS()
    sm.LabelSearch(passed, {**SMALL, "gamma_A": [1.0]}).fit(X, y)
    assert vars(passed).keys() == vars(sm.LapRLS()).keys()


def test_it_is_what_its_estimator_is(moons):
    X = moons[0]
    assert is_classifier(sm.LabelSearch(sm.STORM()))
    assert is_classifier(sm.LabelSearch())
    numbers = sm.LabelSearch(sm.LapRLSRegressor())
    assert is_regressor(numbers)
    assert not hasattr(numbers, "predict_proba")
    assert not hasattr(numbers, "decision_function")
    with pytest.raises(NotFittedError, match="LabelSearch instance is not fitted yet"):
        sm.LabelSearch().predict(X)
    assert not hasattr(sm.LabelSearch(), "classes_")


def test_names_of_rows_and_columns_are_known_to_the_chosen_estimator_too(moons):
    X, _, y = moons
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"row {i}" for i in range(len(X))])
    labels = pd.Series(y, index=frame.index).sample(frac=1.0, random_state=0)
    search = sm.LabelSearch(sm.LapRLS(), SMALL).fit(frame, labels)
    plain = sm.LabelSearch(sm.LapRLS(), SMALL).fit(X, y)
    np.testing.assert_array_equal(search.scores_, plain.scores_)
    for one in (search, search.best_estimator_):
        assert one.feature_names_in_.tolist() == ["a", "b"]
        assert one.score(frame, labels) == one.score(None, labels) == plain.score(X, y)
        with pytest.raises(ValueError, match="feature names"):
            one.predict(frame.rename(columns={"a": "c"}))


def test_pipelines_copies_and_files(moons, tmp_path):
    X, truth, y = moons
    search = sm.LabelSearch(sm.LapSVM(gamma_I=1.0), {**SMALL, "gamma_A": [0.01, 1.0]})
    assert clone(search).get_params()["estimator__gamma_I"] == 1.0
    search.set_params(estimator__class_balance=None)
    pipeline = make_pipeline(StandardScaler(), search).fit(X, y)
    assert pipeline.score(X, truth) > 0.8
    fitted = pipeline[-1]
    assert fitted.best_params_["class_balance"] is None
    sm.save(fitted, tmp_path / "search.npz")
    for copy in (pickle.loads(pickle.dumps(fitted)), sm.load(tmp_path / "search.npz")):
        np.testing.assert_array_equal(copy.decision_function(X), fitted.decision_function(X))
        assert repr(copy.best_params_) == repr(fitted.best_params_)
        assert copy.comparison_ == fitted.comparison_
        np.testing.assert_array_equal(copy.fit(X, y).scores_, clone(fitted).fit(X, y).scores_)


def test_the_usual_candidates_are_of_what_neither_grid_nor_estimator_says(moons):
    X, _, y = moons
    tried = sm.LabelSearch(sm.LapRLS(kernel=2.0), {"graph": [5]}).fit(X, y).cv_results_
    assert set(tried["param_kernel"]) == {RBF(2.0)}
    assert {one["laplacian"].power for one in tried["params"] if "laplacian" in one} == {1, 2, 4}
    as_it_stands = sm.LabelSearch(sm.LapRLS(), {"graph": [5], "class_balance": [None, "zscore"]}, cv=2).fit(X, y)
    assert len(as_it_stands.cv_results_["params"]) == 2


@pytest.mark.parametrize(
    ("search", "text"),
    [
        (sm.LabelSearch(LogisticRegression()), r"LogisticRegression\(\) is no classifier or regressor of this package"),
        (sm.LabelSearch(sm.LapSVM), "is no classifier or regressor of this package"),
        (sm.LabelSearch(sm.LabelSearch()), "is no classifier or regressor of this package"),
        (sm.LabelSearch(sm.RegularizedSpectralClustering()), "is no classifier or regressor of this package"),
        (sm.LabelSearch(sm.LapSVM(gamma_A=-1.0), SMALL), "gamma_A=-1.0"),
        (sm.LabelSearch(sm.SpectralRidge()), "grid=None names nothing to try, and SpectralRidge has no usual"),
        (sm.LabelSearch(sm.LapRLS(), [1]), r"grid=\[1\] must be a dict"),
        (sm.LabelSearch(sm.LapRLS(), {"width": [1.0]}), "LapRLS has no parameter 'width'; it takes"),
        (sm.LabelSearch(sm.LapRLS(), {1: [1.0]}), "grid names 1, which is no text"),
        (sm.LabelSearch(sm.LapRLS(), {"unlabeled": [-1, 0]}), "grid names 'unlabeled', but y has one marker"),
        (sm.LabelSearch(sm.LapRLS(), {"gamma": [1.0]}), "a part has it: set_params"),
        (sm.LabelSearch(sm.LapRLS(), {"kernel": "rbf"}), "grid.'kernel'.='rbf' must be a list of at least one"),
        (sm.LabelSearch(sm.LapRLS(), {"kernel": []}), r"grid.'kernel'.=\[\] must be a list of at least one"),
        (sm.LabelSearch(sm.LapRLS(), {"kernel__gamma": ["-1 median"]}), "'-1 median' is unknown; .* such as '0.5"),
        (sm.LabelSearch(sm.LapRLS(), {"gamma_A": [1.0, -1.0]}), "gamma_A=-1.0"),
        (sm.LabelSearch(sm.LapRLS(), {"gamma_I": [1.0]}), "holds numbers, which need numbers for gamma_A"),
        (sm.LabelSearch(sm.LapRLS(), {"kernel": ["linear"], "kernel__gamma": [1.0]}), r"Linear\(\) has no parameters"),
        (sm.LabelSearch(sm.LapRLS(), {"kernel": [RBF(1.0), "precomputed"]}), "leaves no features|no other kernel can"),
        (sm.LabelSearch(sm.SpectralFilterClassifier(), {"learn": ["best"]}), "learn='best' is unknown; take one of"),
        (sm.LabelSearch(sm.LapSVM(), SMALL, criterion="gcv"), "criterion='gcv' is unknown; take one of nll, sq, 01"),
        (sm.LabelSearch(sm.LapSVM(), SMALL, criterion="accuracy"), "criterion='accuracy' is unknown"),
        (sm.LabelSearch(sm.LapRLS(), SMALL, cv=9), "8 labelled samples for n_splits=9"),
        (sm.LabelSearch(sm.LapRLS(), SMALL, cv=GroupKFold(2)), "groups"),
        (sm.LabelSearch(sm.LapRLS(), SMALL, cv=[(np.arange(8), np.arange(2))]), "tests labelled samples that it"),
    ],
    ids=lambda one: "" if isinstance(one, str) else None,
)
def test_what_cannot_be_searched_is_refused_by_name(moons, search, text):
    X, _, y = moons
    with pytest.raises(ValueError, match=text):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")


def test_another_model_is_refitted_with_its_change(moons):
    """Folds by the unchanged problem would say nothing of a changed one."""
    X, _, y = moons
    template = sm.LapSVM(kernel=2.0, model=lambda built: built)
    search = sm.LabelSearch(template, {"gamma_A": [0.1, 1.0]}, cv=2).fit(X, y)
    plain = sm.LabelSearch(sm.LapSVM(kernel=2.0), {"gamma_A": [0.1, 1.0]}, cv=2)
    assert len(search.cv_results_["params"]) == 2 < len(plain.fit(X, y).cv_results_["params"])


@pytest.mark.parametrize("balance", ["shrunk", "mass", None])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_folds_that_share_factorisations_are_those_of_refits(n_classes, balance, monkeypatch):
    rng = np.random.default_rng(n_classes)
    truth = np.arange(90) % n_classes
    X = rng.normal(size=(90, 4)) + 2.0 * np.eye(4)[truth]
    y = np.where(np.arange(90) < 25, truth, -1)
    grid = {"kernel": [RBF(0.2), "linear"], "graph": [6], "laplacian": [1, 2], "gamma_I": ["0 gamma_A", "100 gamma_A"]}
    search, folds = sm.LabelSearch(sm.LapRLS(class_balance=balance), grid), list(sm.LabeledKFold(4).split(X, y))
    apart = np.full((90, n_classes), np.nan)
    for train, test in folds:
        apart[test] = clone(search).fit(X, np.where(np.isin(np.arange(90), train), y, -1)).predict_proba(X[test])
    fits, lines, fit = [], [], sm.LabelSearch.fit
    monkeypatch.setattr(sm.LabelSearch, "fit", lambda *given, **known: fits.append(0) or fit(*given, **known))
    p = search.fit_held_out(X, y, folds, progress=lines.append)
    np.testing.assert_allclose(p, apart, atol=1e-9)
    np.testing.assert_array_equal(search.scores_, fit(clone(search), X, y).scores_)
    assert fits == []
    assert lines == [f"factorisation {k} for 5 sets of labels" for k in range(1, 7)]


@pytest.mark.parametrize("estimator", [sm.LapSVM(loss="squared_hinge"), sm.LapRLS(functions=sm.kernels.Landmarks(20))])
def test_folds_that_share_nothing_are_refused(moons, estimator):
    X, _, y = moons
    search = sm.LabelSearch(estimator, {"graph": [6], "gamma_A": [0.01, 1.0]})
    with pytest.raises(ValueError, match="shares no factorisations among folds; fit a clone"):
        search.fit_held_out(X, y, sm.LabeledKFold(2).split(X, y))
    assert not hasattr(search, "best_params_")


def test_a_fold_may_hide_a_class_and_leaves_labels_enough(moons):
    X, truth, _ = moons
    y = np.full(len(X), -1)
    y[:9] = truth[:9]
    y[9] = 2
    search, every = sm.LabelSearch(sm.LapRLS(), {**SMALL, "gamma_A": [0.1]}), np.arange(len(X))
    p = search.fit_held_out(X, y, [(np.delete(every, [0, 9]), np.array([0, 9]))])
    assert (p[[0, 9], 2] == 0).all()
    np.testing.assert_allclose(p[[0, 9]].sum(axis=1), 1.0)
    two = [int(np.flatnonzero(truth == k)[0]) for k in (0, 1)]
    for left, text in ((two, "leaves one label of each class"), (two[:1], "labelled samples of one class only")):
        with pytest.raises(ValueError, match=text):
            search.fit_held_out(X, y, [(left, np.setdiff1d(every, left))])
