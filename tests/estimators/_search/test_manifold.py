"""LapRLS and LapSVM by their labels: the choice is that of brute force, at one factorisation per graph and ratio."""

import itertools
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

import specmargin as sm
from reproduction.data import load
from specmargin.estimators._base.feature_maps import FeatureMap
from specmargin.estimators._search.manifold import MarginCandidates, SquaredCandidates
from specmargin.estimators.laprls import LapRLS
from specmargin.estimators.lapsvm import LapSVM
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF, Landmarks, Linear, Polynomial, Precomputed
from specmargin.labels.shares import Balance
from specmargin.solvers import Solver
from specmargin.spectra import Eigenvectors

both = pytest.mark.parametrize("template", [sm.LapRLS(), sm.LapSVM(loss="squared_hinge")], ids=["LapRLS", "LapSVM"])
SMALL = {"kernel": [RBF(2.0)], "graph": [6], "laplacian": [1], "gamma_I": ["100 gamma_A"]}
GRID = {
    "kernel": [RBF(0.5), RBF(4.0)],
    "graph": [4, 8],
    "laplacian": [1, 2],
    "gamma_I": ["1 gamma_A", "1e3 gamma_A"],
    "gamma_A": [1e-3, 0.1],
}


def grid_of(kwargs):
    """All settings as parameters of the underlying estimator."""
    for kernel, k, p, r, a in itertools.product(*(kwargs[name] for name in GRID)):
        gamma_I = a * float(r.removesuffix(" gamma_A"))
        yield {"kernel": kernel, "graph": KNN(k), "laplacian": Laplacian(p), "gamma_A": a, "gamma_I": gamma_I}


def of_the_grid(params):
    """What of a setting was tried: the rest is common to all."""
    return {name: params[name] for name in ("kernel", "graph", "laplacian", "gamma_A", "gamma_I")}


def left_out_scores(make, X, y, marker, splits, balance):
    """Refit for every split with its labels hidden, balance by the full fit; scores of the tested samples."""
    full = make().fit(X, y)
    labels = sm.encode_labels(y, marker)
    change = Balance.of(full.decision_function(X), labels, balance)
    decisions = []
    for test in splits:
        hidden = y.copy()
        hidden[labels.labeled[test]] = marker
        decisions.append(make().fit(X, hidden).decision_function(X[labels.labeled[test]]))
    raw = np.concatenate(decisions)
    return raw, change(raw)


def literal_nll(scores, own, n_classes):
    """The log-loss of the probabilities that predict_proba would give, T by a fine grid."""
    f = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
    assert f.shape[1] == n_classes
    ordered = np.sort(f, axis=1)
    m = np.abs(scores).mean() if scores.ndim == 1 else (ordered[:, -1] - ordered[:, :-1].mean(axis=1)).mean()
    T = np.exp(np.linspace(-6.9, 6.9, 4001)) / m
    f = f - f.max(axis=1, keepdims=True)
    losses = np.log(np.exp(T[:, None, None] * f).sum(axis=2)) - T[:, None] * f[np.arange(len(f)), own]
    pseudo = 2 * np.log(1 + (n_classes - 1) * np.exp(-T * m)) + T * m
    return losses.mean(axis=1)[(losses.sum(axis=1) + pseudo).argmin()]


@pytest.mark.parametrize("balance", ["shrunk", "zscore", "mass", None])
@pytest.mark.parametrize("several", [False, True])
def test_every_number_is_that_of_brute_force(moons, blobs, balance, several):
    X, _, y = blobs if several else moons
    marker = "?" if several else -1
    kwargs = {**GRID, "kernel": [RBF(2.0)], "graph": [5], "laplacian": [3, 1]}
    cv = sm.LabelSearch(estimator=LapRLS(class_balance=balance, unlabeled=marker), grid=kwargs).fit(X, y)
    labels = sm.encode_labels(y, marker)
    own = labels.sign.argmax(axis=1) if several else (labels.sign > 0).astype(int)
    splits = [np.array([i]) for i in range(labels.n_labeled)]
    for params in grid_of(kwargs):
        raw, scores = left_out_scores(
            partial(LapRLS, **params, class_balance=None, unlabeled=marker),
            X,
            y,
            marker,
            splits,
            balance,
        )
        at = [of_the_grid(one) for one in cv.cv_results_["params"]].index(params)
        expected = literal_nll(scores, own, len(labels.classes))
        assert cv.cv_results_["nll"][at] == pytest.approx(expected, abs=2e-3)
        assert cv.cv_results_["sq"][at] == pytest.approx(((raw - labels.sign) ** 2).mean(), rel=1e-6)
        predicted = scores.argmax(axis=1) if several else (scores > 0).astype(int)
        assert cv.cv_results_["01"][at] == pytest.approx((predicted != own).mean() + 1e-3 * expected, abs=1e-5)
    assert len(cv.cv_results_["params"]) == 8


@both
@pytest.mark.parametrize("criterion", ["nll", "sq", "01"])
def test_the_choice_is_the_best_of_the_grid(moons, template, criterion):
    X, _, y = moons
    cv = sm.LabelSearch(template, grid=GRID, criterion=criterion).fit(X, y)
    values = cv.cv_results_[criterion]
    assert len(values) == 32
    assert sorted(str(of_the_grid(one)) for one in cv.cv_results_["params"]) == sorted(map(str, grid_of(GRID)))
    np.testing.assert_array_equal(cv.cv_results_["mean_test_score"], -values)
    assert cv.best_index_ == values.argmin()
    assert cv.best_params_ == cv.cv_results_["params"][cv.best_index_]
    assert cv.best_score_ == -values.min()
    assert cv.cv_results_["rank_test_score"][cv.best_index_] == 1
    for name, value in of_the_grid(cv.best_params_).items():
        assert cv.cv_results_[f"param_{name}"][cv.best_index_] == value


def test_folds_are_those_of_the_splitter_on_the_labelled_samples(moons):
    X, y_true, _ = moons
    y = sm.hide_labels(y_true, per_class=8, random_state=1)
    known = y[y != -1]
    params = {"kernel": RBF(2.0), "graph": KNN(6), "laplacian": Laplacian(), "gamma_A": 0.1, "gamma_I": 10.0}
    splitters = (
        3,
        StratifiedKFold(4, shuffle=True, random_state=2),
        sm.LabeledKFold(5, random_state=3),
        ShuffleSplit(3, test_size=0.2, train_size=0.8, random_state=0),
    )
    for splitter in splitters:
        cv = sm.LabelSearch(estimator=LapRLS(class_balance=None), grid={**SMALL, "gamma_A": [0.1]}, cv=splitter).fit(
            X, y
        )
        assert cv.best_params_ == {**params, "class_balance": None}
        whole = sm.LabeledKFold(3, shuffle=False) if splitter == 3 else splitter
        splits = [test for _, test in whole.split(known, known)]
        raw, _ = left_out_scores(lambda: LapRLS(**params, class_balance=None), X, y, -1, splits, None)
        sign = np.concatenate([np.where(known[test] == 1, 1.0, -1.0) for test in splits])
        assert cv.cv_results_["sq"][0] == pytest.approx(((raw - sign) ** 2).mean(), rel=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_support_vector_machine_is_refitted_without_the_sample(blobs, loss):
    X, _, y = blobs
    cv = sm.LabelSearch(
        estimator=LapSVM(loss=loss, class_balance="zscore", unlabeled="?"), grid={**SMALL, "gamma_A": [0.01, 0.5]}
    ).fit(X, y)
    labels = sm.encode_labels(y, "?")
    for at, gamma_A in enumerate((0.01, 0.5)):
        weights = {"gamma_A": gamma_A, "gamma_I": 100.0 * gamma_A}
        params = {"kernel": RBF(2.0), "graph": 6, "laplacian": 1, **weights}
        raw, scores = left_out_scores(
            partial(sm.LapSVM, **params, loss=loss, class_balance=None, unlabeled="?"),
            X,
            y,
            "?",
            [np.array([i]) for i in range(9)],
            "zscore",
        )
        assert cv.cv_results_["sq"][at] == pytest.approx(((raw - labels.sign) ** 2).mean(), rel=1e-6)
        expected = literal_nll(scores, labels.sign.argmax(axis=1), 3)
        assert cv.cv_results_["nll"][at] == pytest.approx(expected, abs=2e-3)
    assert cv.result_[0].problem == "LapSVM"
    assert all(result.certificate.is_optimal(1e-6) for result in cv.result_)


def counted_factorisations(monkeypatch, n):
    """Sizes n that reach scipy's LU, however the package imported it."""
    sizes = []
    genuine = scipy.linalg.lu_factor

    def spy(A, *args, **kwargs):
        if len(A) == n:
            sizes.append(len(A))
        return genuine(A, *args, **kwargs)

    monkeypatch.setattr(scipy.linalg, "lu_factor", spy)
    return sizes


@both
@pytest.mark.parametrize("several", [False, True])
def test_a_factorisation_per_width_graph_power_and_ratio_and_one_to_refit(moons, blobs, template, several, monkeypatch):
    X, _, y = blobs if several else moons
    sizes = counted_factorisations(monkeypatch, len(X))
    clf = sm.LabelSearch(template, grid={**GRID, "gamma_A": [1e-3, 0.1, 1.0]}).set_params(
        estimator__unlabeled="?" if several else -1
    )
    clf.fit(X, y)
    assert len(sizes) == 2 * 2 * 2 * 2 + 1
    assert len(clf.cv_results_["params"]) == 48
    sizes.clear()
    gammas = [1e-2, 1e-1, 1.0, 10.0]
    clf = clf.set_params(grid={**SMALL, "gamma_A": gammas, "gamma_I": [0.0, *gammas]}).fit(X, y)
    results = clf.cv_results_
    assert len(sizes) == 7 + (clf.best_params_["gamma_I"] > 0)
    pairs = set(zip(results["param_gamma_A"], results["param_gamma_I"], strict=True))
    assert pairs == set(itertools.product(gammas, [0.0, *gammas]))


def test_the_default_path_is_in_units_of_the_deformed_kernel(moons):
    X, _, y = moons
    a = sm.LabelSearch(sm.LapRLS(), grid=SMALL).fit(X, y)
    K = sm.kernels.gram(X, gamma=2.0)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, 6)).toarray()
    labeled = np.flatnonzero(y != -1)
    G = np.linalg.solve(np.eye(len(X)) + 100.0 * K @ L, K)[np.ix_(labeled, labeled)]
    G = G - G.mean(axis=0)
    unit = np.trace(G - G.mean(axis=1, keepdims=True)) / len(labeled)
    np.testing.assert_allclose(a.cv_results_["param_gamma_A"], unit * 10.0 ** np.arange(-4, 0.5, 0.5), rtol=1e-6)
    np.testing.assert_allclose(a.cv_results_["param_gamma_I"], 100 * a.cv_results_["param_gamma_A"])


def test_a_graph_of_ones_own_and_a_precomputed_kernel(moons):
    X, _, y = moons
    W = sm.graphs.knn_graph(X, 6)
    expected = sm.LabelSearch(sm.LapRLS(), grid=SMALL).fit(X, y)
    own = sm.LabelSearch(sm.LapRLS(), grid=SMALL).fit(X, y, graph=W)
    assert "graph" not in own.best_params_
    np.testing.assert_allclose(own.cv_results_["nll"], expected.cv_results_["nll"], atol=1e-9)
    K = sm.kernels.gram(X, gamma=2.0)
    pre = sm.LabelSearch(sm.LapRLS(), grid={**SMALL, "kernel": ["precomputed"]}).fit(K, y, graph=W)
    assert pre.best_params_["kernel"] == Precomputed()
    np.testing.assert_allclose(pre.decision_function(K[:4]), expected.decision_function(X[:4]), atol=1e-6)
    with pytest.raises(ValueError, match="leaves no features to build a graph"):
        sm.LabelSearch(sm.LapRLS(), grid={**SMALL, "kernel": ["precomputed"]}).fit(K, y)
    sm.LabelSearch(sm.LapRLS(), grid={**SMALL, "kernel": ["precomputed"], "gamma_I": [0.0]}).fit(K, y)
    own = sm.LabelSearch(estimator=LapRLS(kernel="precomputed"), grid={"laplacian": [1], "gamma_I": ["100 gamma_A"]})
    np.testing.assert_array_equal(own.fit(K, y, graph=W).scores_, pre.scores_)


def test_widths_in_every_dress(moons):
    X, _, y = moons
    median = sm.kernels.resolve_gamma(X, "median")
    rules = ["median", "0.5 median", "scale", 3.0, "1 median"]
    kernels = (
        sm.LabelSearch(sm.LapRLS(), grid={**SMALL, "kernel": [RBF(rule) for rule in rules]})
        .fit(X, y)
        .cv_results_["param_kernel"]
    )
    widths = [kernel.gamma for kernel in kernels]
    expected = [median, 4 * median, sm.kernels.resolve_gamma(X, "scale"), 3.0]
    np.testing.assert_allclose(list(dict.fromkeys(widths)), expected)
    by_name = sm.LabelSearch(sm.LapRLS(), grid={**SMALL, "kernel": [1.0]}).set_params(
        grid={"kernel__gamma": rules, "graph": [6]}
    )
    named = by_name.fit(X, y).cv_results_["param_kernel"]
    assert list(dict.fromkeys(named)) == list(dict.fromkeys(kernels))
    linear = sm.LabelSearch(sm.LapRLS(), grid={**SMALL, "kernel": ["linear"]}).fit(X, y).cv_results_
    assert set(linear["param_kernel"]) == {Linear()}
    tried = {"kernel", "graph", "laplacian", "gamma_A", "gamma_I"}
    assert {name for name in linear if name.startswith("param_")} == {f"param_{name}" for name in tried}


@pytest.mark.parametrize("functions", [Landmarks(20), Eigenvectors(20)])
def test_fewer_functions_for_many_samples(moons, functions, monkeypatch):
    """The criteria are those of the functions: each left-out sample refitted in it."""
    monkeypatch.setattr(FeatureMap, "forget", lambda self: None)  # the kernel of the functions is asked for below
    X, _, y = moons
    template = LapRLS(functions=functions, class_balance=None)
    grid = {**GRID, "kernel": [RBF(2.0)], "graph": [6], "gamma_I": ["10 gamma_A"]}
    cv = sm.LabelSearch(estimator=template, grid=grid).fit(X, y)
    labels = sm.encode_labels(y)
    for at, params in enumerate(cv.cv_results_["params"]):
        estimator = LapRLS(**params).fit(X, y)
        K, W = estimator._functions.kernel, sm.graphs.knn_graph(X, 6)
        L = params["laplacian"](W)
        errors = []
        for i in range(labels.n_labeled):
            kept = np.arange(labels.n_labeled) != i
            rest = sm.objectives.LapSVM(
                K,
                L,
                sm.encode_labels(np.where(np.isin(np.arange(120), labels.labeled[kept]), y, -1)),
                loss="squared",
                gamma_A=params["gamma_A"],
                gamma_I=params["gamma_I"],
            )
            f = sm.solvers.factorized(rest).variables["f"]
            errors.append((f[labels.labeled[i]] - labels.sign[i]) ** 2)
        assert cv.cv_results_["sq"][at] == pytest.approx(np.mean(errors), rel=1e-6)
    np.testing.assert_array_equal(cv.transduction_, LapRLS(**cv.best_params_).fit(X, y).transduction_)
    # Two widths and two graphs: landmarks have a kernel, eigenvectors do not.
    three = {**GRID, "kernel": [RBF(0.5), RBF(2.0), RBF(4.0)]}
    several = sm.LabelSearch(estimator=template, grid=three).fit(X, y).cv_results_
    assert len(several["params"]) == (48 if isinstance(functions, Landmarks) else 16)


def test_what_does_not_fit_into_the_memory_is_refused(moons, monkeypatch):
    X, _, y = moons
    monkeypatch.setattr("specmargin.arrays.available_memory", lambda: 17.9 * 120**2 / 0.9)
    with pytest.raises(MemoryError, match="sharing L K among the settings of 120 samples needs about"):
        sm.LabelSearch(sm.LapRLS(), grid=SMALL).fit(X, y)


# The best parameters, and the supervised candidates


@pytest.mark.parametrize(
    ("search", "grid"),
    [
        (sm.LabelSearch(sm.LapRLS()), {}),
        (
            sm.LabelSearch(LapRLS(class_balance="zscore", fit_intercept=False, laplacian=Laplacian(2, False))),
            {"laplacian__power": [1, 2]},
        ),
        (
            sm.LabelSearch(LapRLS(graph=KNN(weight="heat"))),
            {"kernel": [Polynomial(2), "cosine", sm.kernels.gram], "graph__n_neighbors": [3, 8]},
        ),
        (sm.LabelSearch(LapRLS(functions=Landmarks(25, random_state=3))), {}),
        (sm.LabelSearch(LapRLS(functions=Eigenvectors(15), class_balance=None)), {}),
        (
            sm.LabelSearch(LapRLS(graph=KNN(metric="manhattan", kind="mutual")), criterion="01"),
            {"gamma_A": [0.01, "auto"], "graph__n_neighbors": [3, 8]},
        ),
        (sm.LabelSearch(sm.LapSVM(loss="squared_hinge")), {"kernel": ["linear"]}),
        (
            sm.LabelSearch(LapSVM(loss="hinge", class_balance="mass", solver=Solver(tol=1e-7))),
            {"gamma_A": [0.1], "gamma_I": [0.0, 1.0]},
        ),
    ],
    ids=["defaults", "balance", "kernels", "landmarks", "eigenvectors", "graphs", "linear", "hinge"],
)
@pytest.mark.parametrize("own_graph", [False, True])
def test_the_best_parameters_make_the_fit_again(moons, search, grid, own_graph):
    X, _, y = moons
    y = np.where(y == -1, "?", y.astype(str))
    graph = sm.graphs.knn_graph(X, 7) if own_graph else None
    own = {} if "graph__n_neighbors" in grid else {"graph__n_neighbors": [3, 8]}
    grid = {"laplacian__power": [1, 2], "gamma_I": [0.0, "100 gamma_A"], **own, **grid}
    if "gamma_A" in grid and "auto" not in grid["gamma_A"]:
        grid["gamma_I"] = [0.0, 1.0]
    criterion = "nll" if search.criterion == "auto" else search.criterion
    search = clone(search).set_params(grid=grid, estimator__unlabeled="?").fit(X, y, graph=graph)
    again = type(search.best_estimator_)(**search.best_params_).fit(X, y, graph=graph)
    np.testing.assert_array_equal(again.scores_, search.scores_)
    np.testing.assert_array_equal(again.transduction_, search.transduction_)
    np.testing.assert_array_equal(again.decision_function(X[:5] + 0.01), search.decision_function(X[:5] + 0.01))
    results = search.cv_results_
    assert search.best_params_ == results["params"][search.best_index_]
    # The supervised one, too; no graph takes part in it.
    at = np.flatnonzero(results["supervised"])[results[criterion][results["supervised"]].argmin()]
    assert results["params"][at]["gamma_I"] == 0
    baseline = type(search.best_estimator_)(**results["params"][at]).fit(X, y)
    np.testing.assert_array_equal(search.baseline_.scores_, baseline.scores_)
    np.testing.assert_array_equal(results["supervised"], results["param_gamma_I"] == 0)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(gamma=1.0), RBF(1.0)])
def test_every_kernel_is_judged_as_if_it_were_alone(moons, kernel):
    X, _, y = moons
    grid = {"graph": [4, 9], "laplacian": [1, 4], "gamma_I": ["0 gamma_A", "1e2 gamma_A", "1e4 gamma_A"]}
    grid["gamma_A"] = [1e-3, "auto"]
    both = sm.LabelSearch(
        sm.LapRLS(), grid={"kernel": ["cosine", "linear", RBF(1.0), Polynomial(gamma=1.0)], **grid}
    ).fit(X, y)
    alone = sm.LabelSearch(sm.LapRLS(), grid={"kernel": [kernel], **grid}).fit(X, y)
    of_it = np.array([one["kernel"] == kernel for one in both.cv_results_["params"]])
    assert of_it.sum() == len(alone.cv_results_["params"]) == 2 + 2 * 2 * 2 * 2
    for name in ("nll", "sq", "01", "gcv"):
        np.testing.assert_allclose(both.cv_results_[name][of_it], alone.cv_results_[name], rtol=1e-9)
    # A linear kernel is worked with as that of its features: refits know the kernel matrix only.
    for at in np.flatnonzero(of_it)[::5]:
        params = both.cv_results_["params"][at]
        K, W = kernel(X), params.get("graph", KNN(4))(X)
        by_pairs = {"gamma_A": [params["gamma_A"]], "gamma_I": [params["gamma_I"]]}
        by_pairs |= {"kernel": ["precomputed"], "laplacian": [params.get("laplacian", 1)]}
        stored = sm.LabelSearch(sm.LapRLS(), grid=by_pairs).fit(K, y, graph=W).cv_results_
        assert stored["sq"][0] == pytest.approx(both.cv_results_["sq"][at], rel=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_unit_of_the_features_changes_nothing(moons, kernel, scale):
    X, _, y = moons
    kernels = [Linear()] if kernel == "linear" else [RBF("0.5 median"), RBF("median")]
    grid = {"kernel": kernels, "graph": [5], "laplacian": [1, 4]}
    here, there = (sm.LabelSearch(sm.LapRLS(), grid=grid).fit(Z, y) for Z in (X, scale * X))
    np.testing.assert_allclose(there.cv_results_["nll"], here.cv_results_["nll"], rtol=1e-6)
    np.testing.assert_array_equal(there.transduction_, here.transduction_)


@pytest.mark.parametrize("asked", [False, True])
def test_large_samples_have_eigenvectors_and_supervised_landmarks(moons, monkeypatch, asked):
    monkeypatch.setattr("specmargin.estimators._base.manifold._FULL_SAMPLES", 100)
    if asked:  # a fit by itself would ask the labels, and the search tells which functions it has had
        monkeypatch.setattr("specmargin.estimators._base.manifold.STORED_SAMPLES", 100)
        monkeypatch.setattr("specmargin.estimators._search.manifold.STORED_SAMPLES", 100)
    monkeypatch.setattr("specmargin.estimators._base.manifold._FEWER", {True: Eigenvectors(20), False: Landmarks(20)})
    X, _, y = moons
    clf = sm.LabelSearch(
        sm.LapRLS(),
        grid={
            "kernel": ["linear", RBF("0.5 median"), RBF("median")],
            "graph__n_neighbors": [4, 8],
            "laplacian__power": [1, 2],
        },
    ).fit(X, y)
    results = clf.cv_results_
    assert results["supervised"].sum() == 9 * 3
    assert len(results["params"]) == 9 * (3 + 2 * 2)  # the eigenvectors of a graph have no kernel
    np.testing.assert_array_equal(LapRLS(**clf.best_params_).fit(X, y).scores_, clf.scores_)
    assert type(clf.baseline_._functions).__name__ == "LandmarkFunctions"
    assert clf.baseline_._functions._map.landmarks.shape == (20, 2)


def test_neighbours_are_searched_once(moons, monkeypatch):
    from specmargin.graphs import neighbors

    searched = []
    genuine = neighbors.exact_neighbors

    def spy(X, queries, k, metric):
        searched.append(k)
        return genuine(X, queries, k, metric)

    monkeypatch.setattr(neighbors, "exact_neighbors", spy)
    X, _, y = moons
    clf = sm.LabelSearch(
        sm.LapRLS(),
        grid={
            "kernel": [RBF("0.5 median"), RBF("median")],
            "graph__n_neighbors": [2, 12, 5],
            "laplacian__power": [1],
            "gamma_I": ["1.0 gamma_A"],
        },
    ).fit(X, y)
    assert searched == [13, clf.best_params_["graph"].n_neighbors + 1]  # and once for the refit


def test_without_a_supervised_candidate_there_is_no_baseline(moons):
    X, _, y = moons
    clf = sm.LabelSearch(sm.LapRLS(), grid=SMALL).fit(X, y)
    assert (clf.baseline_, clf.comparison_) == (None, None)
    alone = sm.LabelSearch(sm.LapRLS(), grid={**SMALL, "gamma_I": [0.0]}).fit(X, y)
    assert alone.baseline_ is alone.best_estimator_
    assert (alone.comparison_.gains, alone.comparison_.losses, alone.comparison_.disagreement) == (0, 0, 0.0)
    assert alone.comparison_.verdict == "too few labels to judge"


@pytest.mark.parametrize("helps", [True, False])
def test_the_comparison_counts_labels_that_others_chose_for(helps):
    """By brute force: the setting that the other labels choose, refitted without the label that it is to name."""
    X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    y_true = y_true if helps else (X[:, 0] > np.median(X[:, 0])).astype(int)
    y = sm.hide_labels(y_true, n_labeled=14, random_state=1)
    grid = {"kernel": ["linear", 0.3, 10.0], "graph": [6], "laplacian": [1, 2], "gamma_A": [1e-3, 1e-1]}
    grid["gamma_I"] = ["0 gamma_A", "100 gamma_A"]
    clf = sm.LabelSearch(LapRLS(class_balance=None), grid, criterion="sq").fit(X, y)
    labeled, params = np.flatnonzero(y != -1), clf.cv_results_["params"]
    f = np.empty((len(params), 14))
    for j, one in enumerate(params):
        for i, sample in enumerate(labeled):
            f[j, i] = LapRLS(**one).fit(X, np.where(np.arange(120) == sample, -1, y)).decision_function(X[[sample]])[0]
    sign = np.where(y[labeled] == 1, 1.0, -1.0)
    squares, wrong = (f - sign) ** 2, (f > 0) != (sign > 0)
    found = []
    for some in (np.arange(len(params)), np.flatnonzero(clf.cv_results_["supervised"])):
        chosen = [some[np.delete(squares[some], i, axis=1).sum(axis=1).argmin()] for i in range(14)]
        found.append(wrong[chosen, np.arange(14)])
    comparison = clf.comparison_
    assert (comparison.gains, comparison.losses) == ((found[1] & ~found[0]).sum(), (found[0] & ~found[1]).sum())
    assert comparison.disagreement == np.mean(clf.transduction_ != clf.baseline_.transduction_)


# Few labels


@both
def test_one_label_per_class_cannot_choose(moons, template, monkeypatch):
    X, y_true, _ = moons
    y = sm.hide_labels(y_true, per_class=1, random_state=0)
    grid = {**GRID, "kernel": ["linear", RBF("0.5 median"), RBF("median")]}
    grid["gamma_I"] = ["0 gamma_A", "100 gamma_A", "1e4 gamma_A"]
    monkeypatch.setattr(SquaredCandidates, "_left_out", None)
    monkeypatch.setattr(MarginCandidates, "_left_out", None)  # that nothing would look at
    with pytest.warns(UserWarning, match="cannot choose; the setting nearest to the defaults of Lap... is taken"):
        clf = sm.LabelSearch(template, grid=grid).fit(X, y)
    chosen = of_the_grid(clf.best_params_)
    assert (chosen["graph"].n_neighbors, chosen["laplacian"].power) == (8, 2)
    assert chosen["kernel"] == RBF("median").at(X)
    assert chosen["gamma_I"] == pytest.approx(100.0 * chosen["gamma_A"])
    assert clf.comparison_.verdict.startswith("too few labels to judge")
    assert np.isnan(clf.best_score_)
    assert (clf.cv_results_["rank_test_score"] == 1).all()
    assert clf.transduction_.shape == (120,)


def test_a_class_of_one_label_does_not_count(blobs):
    X, _, y = blobs
    y = y.copy()
    y[np.flatnonzero(y == "c")[1:]] = "?"
    clf = sm.LabelSearch(LapRLS(class_balance=None, unlabeled="?"), {**SMALL, "gamma_A": [0.1]}).fit(X, y)
    labels = sm.encode_labels(y, "?")
    alone = int(np.flatnonzero(labels.sign[:, 2] > 0)[0])
    errors = []
    for i in range(7):
        if i != alone:
            hidden = y.copy()
            hidden[labels.labeled[i]] = "?"
            f = LapRLS(**clf.best_params_).fit(X, hidden).decision_function(X[[labels.labeled[i]]])[0]
            errors.append(((f - labels.sign[i]) ** 2).mean())
    assert clf.cv_results_["sq"][0] == pytest.approx(np.mean(errors), rel=1e-7)


def test_neighbours_beyond_the_samples_are_cut():
    X = np.arange(8.0)[:, None]
    y = [0, 0, -1, -1, -1, -1, 1, 1]
    search = sm.LabelSearch(sm.LapRLS(), grid={"graph__n_neighbors": [3, 20, 30], "gamma_I": ["1.0 gamma_A"]}).fit(X, y)
    assert {graph.n_neighbors for graph in search.cv_results_["param_graph"]} == {3, 7}


@pytest.mark.data
def test_digits_by_fifty_labels(data_folder):
    """Far better than supervised learning on the same labels; the prototype's mean over splits is 9.3 % on USPST."""
    data = load("uspst" if data_folder else "digits", data_home=data_folder)
    keep = np.random.default_rng(0).permutation(len(data.y))[:1200]
    X, y_true = data.X[keep], data.y[keep]
    y = sm.hide_labels(y_true, n_labeled=50, random_state=0)
    clf = sm.LabelSearch(
        sm.LapRLS(),
        grid={
            "kernel": [RBF("median")],
            "graph__n_neighbors": [5, 10],
            "laplacian__power": [1, 2],
            "gamma_I": ["0.0 gamma_A", "1e4 gamma_A"],
        },
    ).fit(X, y)
    errors = [(fitted.transduction_ != y_true)[y == -1].mean() for fitted in (clf, clf.baseline_)]
    assert errors[0] < 0.2
    assert errors[0] < 0.8 * errors[1]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("cv", ["loo", 3])
def test_a_class_of_one_label_may_be_left_out(loss, cv):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.full(30, -1)
    y[:6] = 0, 0, 0, 0, 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sm.LabelSearch(
            estimator=LapSVM(loss=loss),
            grid={"kernel": [RBF(1.0)], "graph__n_neighbors": [5], "laplacian__power": [1]},
            cv=cv,
        ).fit(X, y)
    assert np.isfinite(model.best_score_)


@pytest.mark.parametrize("X", [np.ones((20, 3)), np.zeros((20, 3)), 1e-70 * np.arange(60.0).reshape(20, 3)])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_features_that_say_nothing_give_an_answer(X, kernel):
    y = np.full(20, -1)
    y[:6] = 0, 0, 0, 1, 1, 1
    graph = np.diag(np.ones(19), 1) + np.diag(np.ones(19), -1)
    kernels = [Linear()] if kernel == "linear" else [RBF("0.5 median"), RBF("median")]
    grid = {"kernel": kernels, "laplacian": [1], "gamma_I": [0.0, "1 gamma_A", "1e6 gamma_A"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator in (
            sm.LabelSearch(sm.LapRLS(), grid=grid),
            sm.LabelSearch(sm.LapSVM(loss="squared_hinge"), grid=grid),
            sm.LabelSearch(LapSVM(loss="hinge"), grid),
        ):
            assert np.isfinite(estimator.fit(X, y, graph=graph).decision_function(X)).all()


def test_the_fit_and_what_is_left_out_choose_the_same_intercept():
    """Where every multiplier is at a bound the optimal intercepts are an interval: one rule picks from it."""
    from specmargin.objectives.held_out.leave_one_out import one_left_out
    from specmargin.objectives.held_out.refitting import refitted
    from specmargin.objectives.intercept import hinge_intercept, hinge_intercepts

    free = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, sign = rng.normal(size=(7, 2)), rng.choice([-1.0, 1.0], size=7)
        sign[:2] = -1.0, 1.0
        G = 0.05 * sm.kernels.gram(X, gamma=1.0)  # a weak kernel: multipliers at their bounds

        def fitted(G, sign, X=X):
            labels = sm.labels.Labels(sign, np.arange(len(sign)), np.array([0, 1]), len(sign))
            return MarginCandidates(LapSVM(loss="hinge"), {}, X, sign, labels, None, None, "loo")._solve(G, sign)

        held_out = refitted(G, sign, one_left_out(7), fitted, intercept=hinge_intercept)
        for i in range(7):
            kept = np.delete(np.arange(7), i)
            v, b = fitted(G[np.ix_(kept, kept)], sign[kept])
            left, right = hinge_intercepts(sign[kept], G[np.ix_(kept, kept)] @ v)
            free += right - left > 1e-3
            if np.isfinite(right - left):
                assert b == pytest.approx((left + right) / 2, abs=1e-9)
            assert held_out[i] == pytest.approx(float(G[i, kept] @ v + b), abs=1e-7)
    assert free > 20
