"""Folds, scores and the break-even point for partly labelled samples."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import specmargin as sm
from specmargin.datasets import make_two_moons
from specmargin.labels import hide_labels, is_unlabeled
from specmargin.model_selection import LabeledKFold, labeled_accuracy, precision_recall_breakeven

NAN = float("nan")


class LabeledNeighbors(ClassifierMixin, BaseEstimator):
    """Nearest neighbours among the labelled samples; counts the unlabelled ones that it was given."""

    def __init__(self, n_neighbors: int = 1, unlabeled: Any = -1) -> None:
        self.n_neighbors = n_neighbors
        self.unlabeled = unlabeled

    def fit(self, X: Any, y: Any) -> LabeledNeighbors:
        known = ~is_unlabeled(y, self.unlabeled)
        self.n_unlabeled_ = int((~known).sum())
        X, y = np.asarray(X)[known], np.asarray(y)[known]
        self.classes_ = np.array(sorted(set(y.tolist())))
        self.codes_ = KNeighborsClassifier(self.n_neighbors).fit(X, np.searchsorted(self.classes_, y))
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.codes_.predict(np.asarray(X))]


# LabeledKFold.


@st.composite
def partly_labeled(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    k = draw(st.integers(2, 6))
    n_classes = draw(st.integers(1, 4))
    y = [c for c in range(n_classes) for _ in range(draw(st.integers(2, 9)))]
    y += [-1] * draw(st.integers(max(0, k - len(y)), 20))
    while sum(value != -1 for value in y) < k:
        y.append(0)
    return np.array(draw(st.permutations(y))), k


@given(partly_labeled(), st.booleans(), st.integers(0, 1000))
def test_folds(sample: tuple[np.ndarray, int], shuffle: bool, seed: int) -> None:
    y, k = sample
    labeled = np.flatnonzero(y != -1)
    folds = list(LabeledKFold(k, shuffle=shuffle, random_state=seed).split(np.zeros((len(y), 1)), y))
    assert len(folds) == k
    # Every labelled sample is tested once, no unlabelled one ever; training and test part are the whole sample.
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), labeled)
    for train, test in folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
    # Stratified: sizes and class counts differ by one at most.
    sizes = [len(test) for _, test in folds]
    assert max(sizes) - min(sizes) <= 1
    for label in set(y[labeled].tolist()):
        counts = [int((y[test] == label).sum()) for _, test in folds]
        assert max(counts) - min(counts) <= 1


def test_shuffle_and_seed() -> None:
    y = hide_labels(np.arange(60) % 2, n_labeled=30, random_state=0)

    def tests(**arguments: Any) -> list[list[int]]:
        return [test.tolist() for _, test in LabeledKFold(3, **arguments).split(y, y)]

    assert tests(random_state=1) == tests(random_state=1)
    assert tests(random_state=1) != tests(random_state=2)
    assert tests() == tests() == tests(random_state=0)
    assert len({str(tests(random_state=None)) for _ in range(4)}) > 1
    assert tests(shuffle=False) == tests(shuffle=False, random_state=7)
    # Unshuffled: the samples of a class are dealt out in their order.
    assert tests(shuffle=False)[0][0] == np.flatnonzero(y != -1)[0]
    assert LabeledKFold(3).get_n_splits() == LabeledKFold(3).get_n_splits(y, y, None) == 3


@pytest.mark.parametrize(
    ("y", "marker"),
    [(["a", "b", None, "a", "b"], None), ([0.0, 1.0, NAN, 0.0, 1.0], NAN), (["a", "b", -1, "a", "b"], -1)],
)
def test_markers(y: list[Any], marker: Any) -> None:
    for train, test in LabeledKFold(2, unlabeled=marker).split(y, y):
        assert 2 in train
        assert 2 not in test
        assert len(test) == 2


def test_folds_of_a_series() -> None:
    y = pd.Series([0, 1, -1, 0, 1], index=list("vwxyz"))
    assert sorted(i for _, test in LabeledKFold(2).split(y, y) for i in test) == [0, 1, 3, 4]


def test_too_few_labels() -> None:
    with pytest.raises(ValueError, match=r"4 labelled samples for n_splits=5 folds .* at most 4 folds"):
        next(LabeledKFold(5).split(None, [0, 1, 0, 1, -1, -1]))
    with pytest.raises(ValueError, match="0 labelled samples"):
        next(LabeledKFold(2).split(None, [-1, -1]))


@pytest.mark.parametrize(
    ("n_splits", "said"), [(1, "n_splits=1"), (-3, "n_splits=-3"), (2.5, r"n_splits=2.5 must be a whole number")]
)
def test_too_few_folds_or_no_whole_number(n_splits: Any, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        LabeledKFold(n_splits)


def test_a_class_with_one_label_warns() -> None:
    with pytest.warns(UserWarning, match="class rare has one labelled sample"):
        list(LabeledKFold(2).split(None, ["common"] * 4 + ["rare"]))


def test_folds_can_be_copied_and_shown() -> None:
    cv = LabeledKFold(4, random_state=3, unlabeled=None)
    assert repr(cv) == "LabeledKFold(4, shuffle=True, random_state=3, unlabeled=None)"
    for other in (copy.deepcopy(cv), pickle.loads(pickle.dumps(cv))):
        assert repr(other) == repr(cv)


# With scikit-learn.


@pytest.mark.parametrize("marker", [-1, NAN])
def test_grid_search(marker: float) -> None:
    X, y_true = make_two_moons(n_samples=200, noise=0.2, random_state=0)
    y = hide_labels(y_true, per_class=15, unlabeled=marker, random_state=0)
    cv = LabeledKFold(5, random_state=0, unlabeled=marker)
    search = GridSearchCV(
        LabeledNeighbors(unlabeled=marker), {"n_neighbors": [1, 3, 20]}, cv=cv, scoring=labeled_accuracy
    ).fit(X, y)
    assert search.n_splits_ == 5
    # By hand.
    for n, score in zip([1, 3, 20], search.cv_results_["mean_test_score"], strict=True):
        by_hand = []
        for train, test in cv.split(X, y):
            known = train[~is_unlabeled(y[train], marker)]
            assert len(train) - len(known) == 170
            model = KNeighborsClassifier(n).fit(X[known], y[known])
            by_hand.append(model.score(X[test], y_true[test]))
        assert score == pytest.approx(np.mean(by_hand))
    assert search.best_estimator_.n_unlabeled_ == 170
    # The plain accuracy agrees, as the test folds hold labelled samples only; plain folds do not.
    plain, ours = (
        cross_val_score(LabeledNeighbors(unlabeled=marker), X, y, cv=cv, scoring=scoring)
        for scoring in (None, labeled_accuracy)
    )
    np.testing.assert_allclose(plain, ours)
    if marker == -1:
        assert cross_val_score(LabeledNeighbors(), X, y, cv=5).mean() < 0.3 < 0.8 < plain.mean()


def test_scorer_on_full_samples_ignores_the_marker() -> None:
    X = np.arange(6.0)[:, None]
    model = LabeledNeighbors().fit(X, [0, 0, 0, 1, 1, 1])
    assert labeled_accuracy(model, X, [0, 1, -1, -1, 1, 1]) == 0.75
    assert labeled_accuracy(model, pd.DataFrame(X), pd.Series([0, 1, -1, -1, 1, 1])) == 0.75
    assert labeled_accuracy(model, X, [0, 0, 0, 1, 1, 1]) == 1.0


@pytest.mark.parametrize("marker", [-1, NAN, None, "?"])
def test_scorer_reads_the_marker_of_the_estimator(marker: Any) -> None:
    X, y = np.arange(4.0)[:, None], np.array(["a", "a", "b", "b"])
    hidden = np.array(["a", marker, "a", "b"], dtype=object)
    model = LabeledNeighbors(unlabeled=marker)
    assert labeled_accuracy(model.fit(X, y), X, hidden) == pytest.approx(2 / 3)
    pipeline = make_pipeline(StandardScaler(), LabeledNeighbors(unlabeled=marker)).fit(X, y)
    assert labeled_accuracy(pipeline, X, hidden) == pytest.approx(2 / 3)
    search = GridSearchCV(pipeline, {"labeledneighbors__n_neighbors": [1]}, cv=2).fit(X, y)
    assert labeled_accuracy(search, X, hidden) == pytest.approx(2 / 3)


def test_scorer_assumes_minus_one() -> None:
    X = np.arange(4.0)[:, None]
    model = KNeighborsClassifier(1, algorithm="brute").fit(X, [0, 0, 1, 1])
    assert labeled_accuracy(model, sparse.csr_matrix(X), [0, -1, 0, 1]) == pytest.approx(2 / 3)


def test_scorer_needs_a_label() -> None:
    model = LabeledNeighbors().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="none of the 2 samples is labelled"):
        labeled_accuracy(model, [[0.0], [1.0]], [-1, -1])


# Break-even point.


def brute_force(y: list[int], scores: list[float]) -> float:
    """Mean precision at P positives over every order of the sample that sorts the scores."""
    n_positive = sum(y)
    found = [
        sum(y[i] for i in order[:n_positive]) / n_positive
        for order in itertools.permutations(range(len(y)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return float(np.mean(found))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=6))
def test_breakeven_is_the_mean_over_tie_orders(sample: list[tuple[int, int]]) -> None:
    y, scores = [list(column) for column in zip(*sample, strict=True)]
    if not any(y):
        with pytest.raises(ValueError, match="no sample of y_true equals pos_label=1"):
            precision_recall_breakeven(y, scores)
        return
    assert precision_recall_breakeven(y, scores) == pytest.approx(brute_force(y, scores))


def test_breakeven_is_where_precision_equals_recall(rng: np.random.Generator) -> None:
    for _ in range(20):
        y = rng.integers(0, 2, 60)
        scores = y + rng.normal(0, 1.5, 60)
        precision, recall, _ = precision_recall_curve(y, scores)
        crossing = precision[(precision == recall) & (recall > 0)]
        value = precision_recall_breakeven(y, scores)
        assert np.abs(crossing - value).min() < 1e-12
        # Only the order counts, and the best and the worst order are 1 and what is left over.
        assert precision_recall_breakeven(y, np.exp(scores)) == value
        assert precision_recall_breakeven(y, y) == 1.0
        assert precision_recall_breakeven(y, -y) == max(0, 2 * y.sum() - 60) / y.sum()


def test_breakeven_of_other_labels_and_infinite_scores() -> None:
    assert precision_recall_breakeven(["spam", "ham", "spam"], [3, 2, 1], pos_label="spam") == 0.5
    assert precision_recall_breakeven([1, -1], [np.inf, -np.inf]) == 1.0
    assert precision_recall_breakeven([1, 1], [0, 0]) == 1.0


@pytest.mark.parametrize(
    ("y", "scores", "text"),
    [
        ([0, 1], [0.1, NAN], r"scores\[1\] is nan"),
        ([0, 1], [0.1], r"shapes \(2,\) and \(1,\)"),
        ([[0, 1]], [[0.1, 0.2]], r"shape \(1, 2\)"),
        ([], [], "no sample of y_true equals"),
        ([0, -1], [1, 2], "pos_label=1"),
    ],
)
def test_breakeven_refuses(y: list[Any], scores: list[Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        precision_recall_breakeven(y, scores)


def test_two_labels_of_every_class_are_enough_for_silence():
    y = np.array([0, 0, 1, 1, 1, -1, -1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds = list(LabeledKFold(2, shuffle=False).split(None, y))
    assert all(set(y[train]) >= {0, 1} and set(y[test]) == {0, 1} for train, test in folds)


@pytest.mark.parametrize("shuffle", [False, True])
def test_names_of_classes_change_no_fold(shuffle):
    truth, cv = np.random.default_rng(0).integers(0, 3, 31), LabeledKFold(4, shuffle=shuffle, random_state=1)
    folds = [test.tolist() for _, test in cv.split(None, truth)]
    for names in ([2, 0, 1], [1, 0, 2], ["b", "c", "a"]):
        assert folds == [test.tolist() for _, test in cv.split(None, np.array(names)[truth])]


# Nodes: slices that keep all samples


def nodes_of(kind, moons):
    X, _ = moons
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    K = sm.kernels.gram(X, gamma=4.0)
    return {
        "graph": (sm.STORM(q=15), sm.Nodes(graph=W), {"C": [1.0, 10.0]}),
        "named graph": (sm.SpectralRidge(q=15), sm.Nodes(graph=sm.graphs.to_networkx(W)), {"power": [1.0, 2.0]}),
        "features": (sm.LapRLS(), sm.Nodes(X, graph=W), {"gamma_A": [0.01, 1.0]}),
        "kernel": (sm.LapSVM(kernel="precomputed"), sm.Nodes(K, graph=W), {"gamma_A": [0.01, 1.0]}),
        "kernel alone": (sm.LapSVM(kernel="precomputed", gamma_I=0), sm.Nodes(K), {"gamma_A": [0.01, 1.0]}),
    }[kind]


KINDS = ["graph", "named graph", "features", "kernel", "kernel alone"]


@pytest.fixture(scope="module")
def partly():
    X, t = sm.datasets.make_two_moons(n_samples=90, noise=0.1, random_state=0)
    return X, sm.hide_labels(t, per_class=8, random_state=0)


@pytest.mark.filterwarnings("ignore:.*order.*")
@pytest.mark.parametrize("kind", KINDS)
def test_a_fold_keeps_all_nodes_and_hides_its_labels(kind, partly):
    clf, nodes, _ = nodes_of(kind, partly)
    y = partly[1]
    for train, test in sm.LabeledKFold(4).split(nodes, y):
        part = nodes[np.ix_(train, train)] if "kernel" in kind else nodes[train]
        fold = clone(clf).fit(part, y[train])
        hidden = y.copy()
        hidden[test] = -1
        whole = clone(clf).fit(nodes.X, hidden, graph=nodes.graph)
        np.testing.assert_array_equal(fold.scores_, whole.scores_)
        np.testing.assert_array_equal(fold.predict(nodes[test]), whole.transduction_[test])


@pytest.mark.filterwarnings("ignore:.*order.*")
@pytest.mark.parametrize("kind", KINDS)
def test_no_label_of_the_test_fold_is_read(kind, partly):
    clf, nodes, grid = nodes_of(kind, partly)
    y, folds = partly[1], list(sm.LabeledKFold(4).split(None, partly[1]))
    _, test = folds[0]
    changed = y.copy()
    changed[test] = 1 - changed[test]
    scores = []
    for labels in (y, changed):
        search = GridSearchCV(clf, grid, cv=folds[:1], refit=False, error_score="raise").fit(nodes, labels)
        scores.append(search.cv_results_["mean_test_score"])
    # The same predictions are compared with labels that are all false.
    np.testing.assert_allclose(scores[0] + scores[1], 1.0)


@pytest.mark.parametrize("kind", ["graph", "kernel"])
def test_a_grid_ends_in_a_fit_to_all_labels(kind, partly):
    clf, nodes, grid = nodes_of(kind, partly)
    y = partly[1]
    search = GridSearchCV(clf, grid, cv=sm.LabeledKFold(4), error_score="raise").fit(nodes, y)
    again = clone(clf).set_params(**search.best_params_).fit(nodes.X, y, graph=nodes.graph)
    np.testing.assert_array_equal(search.predict(nodes), again.transduction_)
    assert search.score(nodes, y) == again.score(None, y)


def test_weights_follow_their_rows(partly):
    X, y = partly
    nodes, weights = sm.Nodes(X), np.arange(1.0, len(y) + 1)
    rows = np.flatnonzero(y != -1)
    one = sm.LapRLS().fit(nodes[rows], y[rows], sample_weight=weights[rows])
    np.testing.assert_array_equal(one.scores_, sm.LapRLS().fit(X, y, sample_weight=weights).scores_)


def test_classes_with_names_and_numbers_have_their_markers(partly):
    X, y = partly
    names = np.where(y == -1, None, np.where(y == 1, "b", "a"))
    nodes, rows = sm.Nodes(X), np.flatnonzero(y != -1)
    one = sm.LapRLS(unlabeled=None).fit(nodes[rows], names[rows])
    assert set(one.predict(nodes)) == {"a", "b"}
    z = np.where(y == -1, np.nan, y)
    regressor = sm.LapRLSRegressor().fit(nodes[rows], z[rows])
    np.testing.assert_array_equal(regressor.predict(nodes[:5]), sm.LapRLSRegressor().fit(X, z).transduction_[:5])


def test_other_nodes_are_refused(partly):
    X, y = partly
    clf = sm.LapRLS().fit(sm.Nodes(X), y)
    with pytest.raises(ValueError, match="these nodes are not the 90 of fit"):
        clf.predict(sm.Nodes(X))
    with pytest.raises(ValueError, match="are not the 90 of fit"):
        sm.LapRLS().fit(X, y).predict(sm.Nodes(X))
    with pytest.raises(ValueError, match="pass X, graph or both"):
        sm.Nodes()
    with pytest.raises(ValueError, match="3 labels for 90 rows"):
        sm.LapRLS().fit(sm.Nodes(X), y[:3])


def test_rows_of_a_graph_name_what_to_pass(partly):
    X, y = partly
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    with pytest.raises(ValueError, match=r"sm\.Nodes\(X, graph=W\)"):
        sm.SpectralRidge().fit(X[:50], y[:50], graph=W[:50])
