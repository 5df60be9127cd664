"""Candidates by refits: whatever the estimator, its decisions about a fold are those of a fit without its labels."""

import warnings

import numpy as np
import pytest

import specmargin as sm
from specmargin.estimators._search.candidates import folds_of
from specmargin.objectives.held_out import leave_one_out as loo

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize(
    ("template", "grid"),
    [
        (sm.SpectralRidge(q=10), {"penalty": [0.01, 1.0], "power": [1, 2]}),
        (sm.LapSVM(kernel=1.0, graph=5), {"loss": ["squared", "huber_hinge"], "gamma_A": [0.1]}),
        (sm.S3VM(kernel="linear"), {"C": [0.1, 1.0], "search": ["gradient"]}),
        (sm.STORM(graph=[4, 8], q=8), {"C": [0.1, 1.0]}),
    ],
    ids=["SpectralRidge", "losses", "S3VM", "several graphs"],
)
@pytest.mark.parametrize("several", [False, True])
def test_every_number_is_that_of_refits(moons, blobs, template, grid, several):
    X, _, y = blobs if several else moons
    marker = "?" if several else -1
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    search = sm.LabelSearch(template, grid, cv=3).set_params(estimator__unlabeled=marker)
    search.fit(X, y, sample_weight=weights)
    labels = sm.encode_labels(y, marker)
    folds, results = folds_of(3, X, labels), search.cv_results_
    assert len(results["params"]) == np.prod([len(values) for values in grid.values()])
    tested = np.concatenate([fold.test for fold in folds])
    for k, params in enumerate(results["params"]):
        held = []
        for left, test in folds:
            hidden = y.copy()
            hidden[labels.labeled[left]] = marker
            fitted = type(template)(**params).fit(X, hidden, sample_weight=weights)
            held.append(fitted.scores_[labels.labeled[test]])
        f, sign, c = np.concatenate(held), labels.sign[tested], weights[labels.labeled[tested]]
        assert results["nll"][k] == pytest.approx(np.average(loo.log_losses(f, sign), weights=c))
        assert results["sq"][k] == pytest.approx(np.average(loo.squares(f, sign), weights=c))
    again = type(template)(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(again.scores_, search.scores_)
    assert type(search.baseline_) is sm.RMM
    assert search.comparison_.verdict


def test_refits_choose_as_the_shorter_way_does(moons):
    """The same settings by both ways: a subclass has none but refits."""

    class Own(sm.LapRLS):
        pass

    X, _, y = moons
    grid = {"kernel": [1.0, 4.0], "graph": [5], "laplacian": [1, 2], "gamma_A": [0.01, 1.0], "gamma_I": [0.1, 1.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [sm.LabelSearch(cls(class_balance=None), grid).fit(X, y).cv_results_ for cls in (sm.LapRLS, Own)]
    of = [{str({k: v for k, v in p.items() if k in grid}): k for k, p in enumerate(one["params"])} for one in found]
    assert of[0].keys() == of[1].keys()
    for key, at in of[0].items():
        for name in ("nll", "sq", "01"):
            assert found[0][name][at] == pytest.approx(found[1][name][of[1][key]], rel=1e-5)


def test_numbers_of_any_regressor_are_refitted(rng):
    X = rng.normal(size=(60, 3))
    y = np.where(np.arange(60) < 20, X[:, 0] + 0.1 * rng.normal(size=60), np.nan)
    search = sm.LabelSearch(sm.SpectralFilterRegressor(), {"filters": ["resolvents", "powers"]}, cv=4).fit(X, y)
    folds = folds_of(4, X, sm.labels.encode_targets(y))
    for params, sq in zip(search.cv_results_["params"], search.cv_results_["sq"], strict=True):
        errors = []
        for left, test in folds:
            hidden = y.copy()
            hidden[left] = np.nan
            errors.append((sm.SpectralFilterRegressor(**params).fit(X, hidden).transduction_[test] - y[test]) ** 2)
        assert sq == pytest.approx(np.mean(np.concatenate(errors)))
    assert (search.baseline_, search.comparison_) == (None, None)
    assert np.isnan(search.baseline_score_)


def test_a_class_that_a_fold_hides_is_none_of_its_answers(blobs):
    X, _, y = blobs
    y = y.copy()
    y[np.flatnonzero(y == "c")[1:]] = "?"
    search = sm.LabelSearch(sm.SpectralRidge(unlabeled="?", q=10), {"penalty": [0.1, 1.0]}, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["nll"]).all()


def test_a_setting_that_has_no_fit_comes_last(moons):
    X, _, y = moons
    grid = {"q": [500, 10], "penalty": [0.1]}  # more eigenvectors than samples
    search = sm.LabelSearch(sm.SpectralRidge(), grid, cv=3).fit(X, y)
    assert search.best_params_["q"] == 10
    assert np.isnan(search.cv_results_["nll"]).tolist() == [True, False]
