"""Learned filters on a task: what `SpectralFilterClassifier` and `STORM` say, with what splits share kept."""

import warnings

import numpy as np
import pytest
from full_size import shortened

import specmargin as sm
from reproduction.papers._protocols import node_filters as filters
from reproduction.papers._protocols.node_filters import OURS, WEIGHTS
from reproduction.papers._protocols.node_sets import (
    STAND_IN,
    NodeSplit,
    NodeTask,
    homophily_task,
    node_graph,
    node_splits,
)
from specmargin.graphs import Laplacian
from specmargin.objectives.held_out.leave_one_out import dealt_folds

MIXED = homophily_task(0.4, 1, n=150, n_labeled=30)
RULES = ("alignment", "margin", "ordered", "single", "mean")


@pytest.fixture(autouse=True)
def no_warnings_of_parts_and_shares():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.exceptions.DisconnectedGraphWarning)
        warnings.simplefilter("ignore", sm.exceptions.ClassShareWarning)
        yield


@pytest.fixture(scope="module")
def problem():
    graph, split = node_graph(STAND_IN), next(iter(node_splits(STAND_IN).values()))
    return graph, split, np.where(np.isin(np.arange(150), split.train), graph.y, -1)


def lopsided(task):
    """Return a split with many labels of one class, so that intercepts matter."""
    graph, split = node_graph(task), next(iter(node_splits(task).values()))
    others = np.setdiff1d(np.flatnonzero(graph.y == 0), split.train)[:30]
    train = np.union1d(split.train, others)
    return NodeSplit("lopsided", train, np.setdiff1d(split.test, others))


@pytest.mark.parametrize("task", [STAND_IN, MIXED], ids=["alike", "mixed"])
@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("rule", RULES)
def test_rules_are_those_of_the_public_estimator(task, even, rule):
    graph, split = node_graph(task), next(iter(node_splits(task).values())) if even else lopsided(task)
    y = np.where(np.isin(np.arange(150), split.train), graph.y, -1)
    clf = sm.SpectralFilterClassifier(learn=rule).fit(graph.X, y, graph=graph.W)
    got = OURS[rule](task, split, None)
    np.testing.assert_array_equal(got.classes, clf.transduction_)
    np.testing.assert_allclose([got.columns[name] for name in WEIGHTS], clf.filter_weights_, atol=1e-12)
    assert got.columns["penalty"] == clf.penalty_
    assert got.columns.get("C", np.nan) == pytest.approx(clf.C_, nan_ok=True)
    assert ("relative_gap" in got.columns) == (clf.result_ is not None)
    if clf.result_ is not None:
        assert got.columns["relative_gap"] == clf.result_.certificate.relative_gap <= 1e-8


def weights_of(task):
    split = next(iter(node_splits(task).values()))
    return {rule: tuple(OURS[rule](task, split, None).columns[w] for w in WEIGHTS) for rule in RULES}


def test_the_rules_differ():
    # Where neighbours differ, the best weights that do not fall are all alike.
    weights = weights_of(MIXED)
    assert len({weights[rule] for rule in RULES if rule != "ordered"}) == len(RULES) - 1
    assert weights_of(STAND_IN)["ordered"] != pytest.approx([1 / 7] * 7, abs=1e-3)
    assert weights["mean"] == pytest.approx([1 / 7] * 7)
    assert all(a <= b + 1e-12 for a, b in zip(weights["ordered"], weights["ordered"][1:], strict=False))


def test_graph_alone_is_the_estimator_on_a_feature_of_its_own_for_each_node(problem):
    graph, split, y = problem
    clf = sm.SpectralFilterClassifier().fit(np.eye(150), y, graph=graph.W)
    got = OURS["graph"](STAND_IN, split, None)
    np.testing.assert_array_equal(got.classes, clf.transduction_)
    np.testing.assert_allclose([got.columns[name] for name in WEIGHTS], clf.filter_weights_, atol=1e-9)


def test_columns_are_those_of_the_default_filters():
    assert tuple(f"weight {g}" for g in ("-0.9", "-0.5", "0", "0.5", "0.8", "0.9", "0.95")) == WEIGHTS


@pytest.mark.slow
@pytest.mark.parametrize("task", shortened([MIXED], [MIXED, STAND_IN]), ids=shortened(["mixed"], ["mixed", "alike"]))
def test_storm_is_the_public_estimator_at_the_setting_of_fewest_errors_in_folds(task):
    """By refits of `STORM` with the labels of a fold hidden."""
    graph, split = node_graph(task), next(iter(node_splits(task).values()))
    y, scores = np.where(np.isin(np.arange(150), split.train), graph.y, -1), {}
    sign = 2.0 * np.eye(3)[graph.y] - 1.0
    for B in (1.5, np.inf):
        for C in (1.0, 10.0, 0.1, 100.0):
            wrong, squares = 0, 0.0
            for fold in dealt_folds(sign[split.train], 5):
                tested = split.train[fold.test]
                shown = y.copy()
                shown[tested] = -1
                f = (
                    sm.STORM(C=C, B=B, q=150, class_balance=None, laplacian=Laplacian(normalized=False))
                    .fit(graph.X, shown, graph=graph.W)
                    .scores_[tested]
                )
                wrong += np.count_nonzero(f.argmax(axis=1) != graph.y[tested])
                squares += ((f - sign[tested]) ** 2).sum()
            scores[C, B] = (wrong, squares)
    C, B = min(scores, key=scores.get)
    got = OURS["storm"](task, split, None)
    assert (got.columns["C"], got.columns.get("B", np.inf)) == (C, B)
    best = sm.STORM(C=C, B=B, q=150, class_balance=None, laplacian=Laplacian(normalized=False)).fit(
        graph.X, y, graph=graph.W
    )
    np.testing.assert_array_equal(got.classes, best.transduction_)
    assert abs(got.columns["relative_gap"]) <= 1e-6


@pytest.mark.parametrize("name", OURS)
def test_other_labels_are_not_seen_and_two_classes_are_enough(problem, name):
    graph, split, _ = problem
    shown = graph.y[split.train]
    assert set(shown) == {0, 1, 2}
    hidden = np.setdiff1d(np.arange(150), split.train)
    other = graph.y.copy()
    other[hidden] = np.random.default_rng(0).integers(0, 3, len(hidden))
    changed = NodeTask("changed", "", lambda data: graph._replace(y=other), STAND_IN.draw)
    expected = OURS[name](STAND_IN, split, None).classes
    np.testing.assert_array_equal(OURS[name](changed, split, None).classes, expected)
    two = NodeSplit("two", split.train[shown > 0], split.test)
    assert set(OURS[name](STAND_IN, two, None).classes) <= {1, 2}


def test_splits_of_a_graph_share_their_filters_and_eigenpairs():
    assert filters.bank(STAND_IN) is filters.bank(STAND_IN)
    assert filters.spectrum(STAND_IN) is filters.spectrum(STAND_IN)
    assert filters.bank(STAND_IN, None, False).features is None
