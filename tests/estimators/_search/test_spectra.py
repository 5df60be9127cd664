"""STORM and KTA by their labels: the choice is that of brute force, over graphs that are decomposed once."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import specmargin as sm
from specmargin.estimators._search import spectra
from specmargin.estimators._search.candidates import folds_of
from specmargin.estimators._search.spectra import AlignedCandidates, Path, SpectrumCandidates
from specmargin.estimators._search.trials import judged
from specmargin.estimators._search.twin import supervised_twin
from specmargin.estimators.comparison import compare_errors
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN, Laplacian, neighbors, parts
from specmargin.solvers import Solver

both = pytest.mark.parametrize("cls", [sm.STORM, sm.KTA])
GRID = {"graph": [5, 8], "q": [6, 15], "B": [1.2, np.inf], "C": [10.0, 0.5]}
ONE = {"graph": [5], "q": [12], "B": [1.3], "C": [2.0]}


def left_out(estimator, X, y, marker, splits, graph):
    """Refit for every split with its labels hidden; decisions of the tested samples."""
    at = np.flatnonzero(y != marker)
    decisions = []
    for test in splits:
        hidden = y.copy()
        hidden[at[test]] = marker
        decisions.append(clone(estimator).fit(X, hidden, graph=graph).scores_[at[test]])
    return np.concatenate(decisions)


@pytest.mark.parametrize(
    ("cls", "balance", "several"),
    [(sm.STORM, None, False), (sm.KTA, "shrunk", False), (sm.STORM, "shrunk", True), (sm.KTA, None, True)],
)
def test_every_number_is_that_of_brute_force(moons, blobs, cls, balance, several):
    X, _, y = blobs if several else moons
    marker = "?" if several else -1
    Cs = GRID["C"] if several else [10.0]
    more = {"class_balance": balance, "unlabeled": marker, "solver": Solver(tol=1e-9), "laplacian": Laplacian(1, False)}
    grid = {**GRID, "C": Cs, "q": [12], "graph": [5]}
    cv = sm.LabelSearch(cls(**more), grid, cv=3 if several else "auto").fit(X, y)
    labels = sm.encode_labels(y, marker)
    known = y[y != marker]
    splits = (
        [test for _, test in sm.LabeledKFold(3, shuffle=False, unlabeled="?").split(known, known)]
        if several
        else [np.array([i]) for i in range(labels.n_labeled)]
    )
    tested = np.concatenate(splits)
    assert len(cv.cv_results_["params"]) == 2 * len(Cs)
    graph = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=12, normalized=False)
    found = []
    for at, params in enumerate(cv.cv_results_["params"]):
        own = cls(**params)
        compared = raw = left_out(own, X, y, marker, splits, graph)
        if balance is not None:
            raw = left_out(own.set_params(class_balance=None), X, y, marker, splits, graph)
        found.append(judged(raw[None], compared[None], labels, "nll", tested))
        for name, value in found[-1].values.items():
            assert cv.cv_results_[name][at] == pytest.approx(value[0], abs=2e-4), name
    losses, wrong = (np.concatenate([getattr(one, name) for one in found]) for name in ("losses", "wrong"))
    chosen = [np.delete(losses, i, axis=1).sum(axis=1).argmin() for i in range(len(tested))]
    twin = supervised_twin(X, labels, folds_of(cv.cv, X, labels), tuple(Cs), "nll")
    n_wrong = wrong[chosen, np.arange(len(tested))].sum()
    assert cv.comparison_.gains - cv.comparison_.losses == twin.wrong.sum() - n_wrong


@pytest.mark.parametrize(
    ("cls", "criterion"), [(sm.STORM, "nll"), (sm.KTA, "sq"), (sm.KTA, "01")], ids=lambda one: str(one)
)
def test_the_choice_is_the_best_of_the_grid_and_reproduces_the_fit(moons, cls, criterion):
    X, _, y = moons
    cv = sm.LabelSearch(cls(), grid=GRID, criterion=criterion, cv=3).fit(X, y)
    assert len(cv.cv_results_["params"]) == 16
    assert {(p["graph"].n_neighbors, p["q"], p["B"], p["C"]) for p in cv.cv_results_["params"]} == {
        (k, q, B, C) for k in (5, 8) for q in (6, 15) for B in (1.2, np.inf) for C in (0.5, 10.0)
    }
    values = cv.cv_results_[criterion]
    assert cv.best_index_ == values.argmin()
    assert cv.best_score_ == -values.min()
    assert cv.best_params_ == cv.cv_results_["params"][cv.best_index_]
    again = cls(**cv.best_params_).fit(X, y)
    for name in ("scores_", "delta_", "eigenvectors_", "transduction_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(cv, name))
    new = X[:9] + 0.02
    np.testing.assert_array_equal(again.decision_function(new), cv.decision_function(new))
    assert cv.result_.certificate.is_optimal(1e-6)
    copy = pickle.loads(pickle.dumps(cv))
    np.testing.assert_array_equal(copy.predict(new), cv.predict(new))


@both
def test_best_parameters_hold_every_word_that_is_not_the_default(moons, cls):
    X, _, y = moons
    y = np.where(y == -1, np.nan, y)
    W = sm.graphs.knn_graph(X, n_neighbors=7)
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=20, normalized=False)
    words = {"class_balance": "zscore", "solver": Solver(tol=1e-8), "unlabeled": np.nan}
    template = cls(**words, graph=KNN(weight="heat"), laplacian=Laplacian(1, False))
    grid = {"q": [6, 15], "B": [1.2], "C": [2.0], "graph__n_neighbors": [6]}
    for graph in (None, W, spectrum):
        cv = sm.LabelSearch(template, grid, cv=2).fit(X, y, graph=graph)
        assert words.items() <= cv.best_params_.items()
        assert cv.best_params_["graph"] == KNN(6 if graph is None else None, weight="heat")
        again = clone(template).set_params(**cv.best_params_).fit(X, y, graph=graph)
        np.testing.assert_array_equal(again.scores_, cv.scores_)
        np.testing.assert_array_equal(again.decision_function(X + 0.01), cv.decision_function(X + 0.01))
    usual = sm.LabelSearch(cls(), ONE, cv=2).fit(X, np.nan_to_num(y, nan=-1))
    assert usual.best_params_.keys() == ONE.keys()


@both
def test_laplacians_are_searched_as_if_each_were_alone(moons, cls):
    """The orders of the eigenvectors are alike for all powers, those of the two kinds of Laplacians are not."""
    X, _, y = moons
    words, W = [Laplacian(), Laplacian(2), Laplacian(1, False)], sm.graphs.knn_graph(X, n_neighbors=7)
    for graph in (None, W):
        cv = sm.LabelSearch(cls(), grid={**ONE, "laplacian": words}, cv=2).fit(X, y, graph=graph)
        assert [one["laplacian"] for one in cv.cv_results_["params"]] == words
        alone = [sm.LabelSearch(cls(laplacian=word), ONE, cv=2).fit(X, y, graph=graph) for word in words]
        for name in ("nll", "sq", "01"):
            np.testing.assert_array_equal(cv.cv_results_[name], [one.cv_results_[name][0] for one in alone])
        assert cv.cv_results_["nll"][0] == pytest.approx(cv.cv_results_["nll"][1], abs=1e-6)
        assert cv.cv_results_["nll"][0] != pytest.approx(cv.cv_results_["nll"][2], abs=1e-6)
        again = cls(**cv.best_params_).fit(X, y, graph=graph)
        np.testing.assert_array_equal(again.scores_, cv.scores_)
        powers = sm.LabelSearch(cls(), grid={**ONE, "laplacian__power": [1, 2]}, cv=2).fit(X, y, graph=graph)
        np.testing.assert_array_equal(powers.cv_results_["nll"], cv.cv_results_["nll"][:2])
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=20, normalized=True)
    given = sm.LabelSearch(cls(), grid={**ONE, "laplacian": words[:2]}, cv=2).fit(X, y, graph=spectrum)
    assert [one["laplacian"] for one in given.cv_results_["params"]] == words[:2]
    np.testing.assert_allclose(given.cv_results_["nll"], cv.cv_results_["nll"][:2], atol=1e-6)
    with pytest.raises(ValueError, match="that of the normalized Laplacian, but normalized=False"):
        sm.LabelSearch(cls(), grid={**ONE, "laplacian": words[2:]}, cv=2).fit(X, y, graph=spectrum)


@both
def test_a_left_out_label_is_not_looked_at(moons, cls):
    """Turned around, it changes nothing that is decided about its sample: not the spectrum either."""
    X, _, y = moons
    grid = {**ONE, "B": [1.5, "auto"], "C": [1.0, 10.0]}
    for i in np.flatnonzero(y != -1)[2:4]:
        turned, each = np.where(np.arange(len(y)) == i, 1 - y, y), []
        for seen in (y, turned):
            labels = sm.encode_labels(seen)
            kind = AlignedCandidates if cls is sm.KTA else SpectrumCandidates
            one = kind(cls(class_balance="shrunk"), grid, X, seen, labels, None, None, "loo")
            one.folds = [one.folds[np.flatnonzero(labels.labeled == i)[0]]]
            each.append(next(iter(one.settings())))
        assert each[0].raw.shape == (4, 1)
        np.testing.assert_array_equal(each[0].raw, each[1].raw)
        np.testing.assert_array_equal(each[0].compared, each[1].compared)


@both
def test_graphs_are_searched_and_decomposed_once(moons, cls, monkeypatch):
    X, _, y = moons
    calls = []
    for place, name in ((neighbors, "_n_components"), (parts, "neighbor_graph"), (spectra, "labeled_eigenpairs")):
        genuine = getattr(place, name)

        def spy(*args, name=name, genuine=genuine, **options):
            calls.append(name)
            return genuine(*args, **options)

        monkeypatch.setattr(place, name, spy)
    sm.LabelSearch(cls(), grid={**GRID, "C": [1.0], "B": [np.inf]}, cv=2).fit(X, y)
    assert (calls.count("_n_components"), calls.count("neighbor_graph"), calls.count("labeled_eigenpairs")) == (1, 2, 2)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("B", [np.inf, 1.2])
def test_a_path_has_the_answers_of_every_C_alone(moons, monkeypatch, given, B):
    X, _, y = moons
    labels = sm.encode_labels(y)
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=15, normalized=False)
    delta = np.linspace(1.0, 0.1, 15) if given else None
    objective = sm.objectives.SpectrumMargin(spectrum, labels, delta=delta)
    Cs, path, solved = np.logspace(-2, 3, 6), Path(objective), []
    genuine = sm.solvers.spectrum_margin

    def spy(obj, **options):
        solved.append(obj.C)
        return genuine(obj, **options)

    monkeypatch.setattr(sm.solvers, "spectrum_margin", spy)
    for C in Cs:
        alone = genuine(objective.with_(C=C, B=B), tol=1e-6)
        np.testing.assert_allclose(path(C, B).variables["f"], alone.variables["f"], atol=1e-9)
    assert len(solved) < len(Cs) - 1  # separated long before


def test_a_path_of_light_labels_has_the_answers_of_every_C_alone(moons):
    """Multipliers stay below C where weights are below one, and feel it nevertheless."""
    X, _, y = moons
    labels = sm.encode_labels(y).weighted(np.full(8, 0.05))
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=12, normalized=False)
    Cs = [0.1, 1.0, 1e3, 1e4]
    one = SpectrumCandidates(sm.STORM(), {}, X, y, labels, None, None, 2)
    for C, f in zip(Cs, one._decisions(spectrum, labels, [np.inf], Cs), strict=True):
        alone = sm.solvers.spectrum_margin(sm.objectives.SpectrumMargin(spectrum, labels, C=C, B=np.inf), tol=1e-9)
        np.testing.assert_allclose(f, alone.variables["f"], atol=1e-3)


def test_folds_leave_one_out_up_to_ten_labels(moons):
    X, y_true, _ = moons
    for l, cv, n_folds in ((10, "auto", 10), (11, "auto", 10), (24, "auto", 10), (24, "loo", 24), (24, 3, 3)):
        labels = sm.encode_labels(sm.hide_labels(y_true, n_labeled=l, random_state=0))
        folds = folds_of(cv, X, labels)
        assert len(folds) == n_folds
        assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(l))


@both
def test_small_and_odd_data(moons, cls):
    X, y_true, _ = moons
    one_each = sm.hide_labels(y_true, per_class=1, random_state=0)
    with pytest.warns(UserWarning, match="no fold tests a class"):
        clf = sm.LabelSearch(cls(), grid={**GRID, "graph": [5], "C": [0.5]}).fit(X, one_each)
    assert clf.best_index_ == 0
    assert clf.comparison_ == compare_errors(np.zeros(0, bool), np.zeros(0, bool), clf.comparison_.disagreement)
    y = sm.hide_labels(y_true, n_labeled=5, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        large = sm.LabelSearch(cls(), grid={"graph": [5, 500, 119], "q": [12, 7000], "B": ["auto"], "C": [1.0]}).fit(
            X, y
        )
        every = np.where(np.arange(120) % 3, y_true, -1)  # more labels than eigenvectors
        dense, sparse = (sm.LabelSearch(cls(), grid=ONE, cv=2).fit(data, every) for data in (X, sp.csr_array(X)))
    assert [p["graph"].n_neighbors for p in large.cv_results_["params"]] == [5, 5, 119, 119]
    assert {p["q"] for p in large.cv_results_["params"]} == {12, 120}
    np.testing.assert_allclose(dense.scores_, sparse.scores_, atol=1e-9)


def test_settings_that_have_no_answer_come_last(moons, monkeypatch):
    X, _, y = moons
    genuine = AlignedCandidates._objective

    def undefined(self, spectrum, labels):
        if spectrum.q == 6:
            raise InvalidInputError("none of the q=6 eigenvectors correlates with the 7 labels.")
        return genuine(self, spectrum, labels)

    monkeypatch.setattr(AlignedCandidates, "_objective", undefined)
    clf = sm.LabelSearch(sm.KTA(), grid={**ONE, "q": [6, 15]}).fit(X, y)
    assert clf.best_params_["q"] == 15
    assert np.isnan(clf.cv_results_["01"]).tolist() == [True, False]
    assert clf.cv_results_["rank_test_score"].tolist() == [2, 1]
