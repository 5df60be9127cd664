"""Estimators under scikit-learn's searches, and stored: scores, graphs of folds, pickles, copies, random state."""

from __future__ import annotations

import gc
import pickle
import types
from typing import Any

import all_estimators
import numpy as np
import pytest
from contract_estimators import make
from sklearn.model_selection import GridSearchCV, cross_val_score

import specmargin as sm
from specmargin.kernels import RBF
from specmargin.solvers.parts import SEARCHES


def test_score_leaves_unlabelled_samples_out() -> None:
    X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    y = sm.hide_labels(truth, per_class=20, random_state=0)
    clf = sm.LapSVM(kernel=RBF(4.0)).fit(X, y)
    right = clf.predict(X) == y
    assert clf.score(X, y) == right[y != -1].mean() > 0.9
    weight = np.arange(120.0)
    assert clf.score(X, y, weight) == pytest.approx(np.average(right[y != -1], weights=weight[y != -1]))
    # Plain folds: the marker was a class before, and nearly every sample of the test folds an error.
    search = GridSearchCV(sm.LapSVM(kernel=RBF(4.0)), {"gamma_I": [0.0, 1.0]}, cv=4).fit(X, y)
    assert search.best_score_ > 0.9
    by_hand = cross_val_score(sm.LapSVM(kernel=RBF(4.0)), X, y, cv=4, scoring=sm.labeled_accuracy)
    np.testing.assert_allclose(cross_val_score(sm.LapSVM(kernel=RBF(4.0)), X, y, cv=4), by_hand)
    missing = GridSearchCV(
        sm.LapSVM(unlabeled=None, kernel=RBF(4.0)), {"gamma_I": [0.0, 1.0]}, cv=sm.LabeledKFold(4, unlabeled=None)
    ).fit(X, np.where(y == -1, None, y))
    assert missing.best_score_ > 0.9


def test_a_graph_that_a_search_cut_is_explained() -> None:
    import networkx as nx

    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    y = sm.hide_labels(truth, per_class=10, random_state=0)
    W = sm.graphs.knn_graph(X)
    for graph in (W, W.toarray(), nx.from_scipy_sparse_array(W)):
        search = GridSearchCV(sm.LapSVM(), {"gamma_I": [1.0]}, cv=sm.LabeledKFold(2), error_score="raise")
        with pytest.raises(ValueError, match=r"Cross-validation of scikit-learn cuts the rows.*leaving graph= out"):
            search.fit(X, y, graph=graph)


LOCAL = [name for name in SEARCHES if name != "branch_and_bound"]


EACH = [*((name, {}) for name in all_estimators.NAMES), *(("S3VM", {"search": search}) for search in LOCAL)]


@pytest.mark.parametrize(("name", "more"), EACH)
def test_nothing_kept_is_a_method_of_the_estimator(name: str, more: dict[str, Any]) -> None:
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    fitted = make(name, **more).fit(X, sm.hide_labels(truth, per_class=4, random_state=0))
    seen, todo = set(), [fitted]
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, type | types.ModuleType | types.FunctionType):
            continue
        seen.add(id(item))
        assert not (isinstance(item, types.MethodType) and item.__self__ is fitted)
        if item is not fitted and hasattr(item, "__dict__"):
            assert not any(value is fitted for value in vars(item).values()), "a cycle"
        todo += gc.get_referents(item)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("LapSVM", {}),
        ("LapRLS", {}),
        ("RegularizedSpectralClustering", {}),
        ("S3VM", {"search": "annealing"}),
        ("S3VM", {"search": "cccp"}),
    ],
)
def test_a_precomputed_kernel_is_not_kept(name: str, more: dict[str, Any]) -> None:
    n = 160
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.1, random_state=0)
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    K, W = sm.kernels.gram(X, gamma=4.0), sm.graphs.knn_graph(X)
    kwargs = {} if name == "S3VM" else {"graph": W}
    stored, plain = make(name, kernel="precomputed", **more), make(name, kernel=4.0, **more)
    fitted, other = stored.fit(K, y, **kwargs), plain.fit(X, y, **kwargs)
    assert len(pickle.dumps(fitted)) < 8 * n * n / 2
    new = X[:7] + 0.01
    np.testing.assert_allclose(
        fitted.decision_function(sm.kernels.gram(new, X, gamma=4.0)), other.decision_function(new), rtol=1e-8
    )
