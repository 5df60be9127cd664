"""New nodes of a larger graph, by every classifier that learned from the smaller one."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import specmargin as sm
from specmargin.exceptions import DisconnectedGraphWarning

ALONE = {
    "STORM": sm.STORM(q=20),
    "STOAM": sm.STOAM(q=20),
    "MKL": sm.MKL(q=20),
    "KTA": sm.KTA(q=20),
    "SpectralKernelSVM": sm.SpectralKernelSVM(q=20),
    "SpectralRidge": sm.SpectralRidge(q=20),
    "SpectralGraphTransducer": sm.SpectralGraphTransducer(q=20),
}
BY_FEATURES = {
    "LapSVM": sm.LapSVM(),
    "LapRLS": sm.LapRLS(),
    "LapSVM, eigenvectors": sm.LapSVM(functions=sm.spectra.Eigenvectors(20)),
}


@pytest.fixture(scope="module")
def samples():
    X, t = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    W = sp.csr_array(sm.graphs.knn_graph(X, n_neighbors=6))
    return X, t, W, sm.hide_labels(t[:100], per_class=4, random_state=0)


def fitted(clf, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(clf).fit(*args, **options)


def means(scores, W, n):
    """Return the harmonic extension by a dense solve."""
    L = np.diag(W.sum(axis=1)) - W.toarray()
    return np.linalg.solve(L[n:, n:], -L[n:, :n] @ scores)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ALONE)
def test_each_new_node_has_the_mean_of_its_neighbours(samples, name, n_classes):
    X, t, W, y = samples
    if n_classes == 3:
        y = sm.hide_labels(np.where(X[:100, 0] > 0.8, 2, t[:100]), per_class=4, random_state=0)
    clf = fitted(ALONE[name], None, y, graph=W[:100, :100])
    scores = clf.decision_function(None, graph=W)
    np.testing.assert_allclose(scores, means(clf.scores_, W, 100), rtol=1e-9, atol=1e-12)
    assert clf.predict(None, graph=W).shape == (20,)
    if n_classes == 2:
        assert (clf.predict(None, graph=W) == t[100:]).mean() > 0.85


@pytest.mark.parametrize("name", BY_FEATURES)
def test_features_of_new_nodes_are_decided_by_the_kernel(samples, name):
    X, _, W, y = samples
    clf = fitted(BY_FEATURES[name], X[:100], y, graph=W[:100, :100])
    np.testing.assert_allclose(clf.decision_function(None, graph=W), means(clf.scores_, W, 100), rtol=1e-9, atol=1e-12)
    at_new = clf.decision_function(X[100:], graph=W)
    if "eigenvectors" in name:
        np.testing.assert_array_equal(at_new, clf.decision_function(None, graph=W))
    else:
        np.testing.assert_array_equal(at_new, clf.decision_function(X[100:]))


@pytest.mark.parametrize("name", ["STORM", "SpectralRidge"])
def test_names_of_nodes_decide_and_not_their_places(samples, rng, name):
    _, _, W, y = samples
    names = [f"n{i}" for i in range(120)]
    old = nx.relabel_nodes(nx.from_scipy_sparse_array(W[:100, :100]), dict(enumerate(names)))
    order = rng.permutation(120)
    larger = nx.Graph()
    larger.add_nodes_from(names[i] for i in order)
    edges = nx.from_scipy_sparse_array(W).edges(data="weight")
    larger.add_weighted_edges_from((names[i], names[j], w) for i, j, w in edges)
    clf = fitted(ALONE[name], None, pd.Series(y, index=names[:100]), graph=old)
    expected = pd.Series(means(clf.scores_, W, 100), index=names[100:])
    with pytest.warns(UserWarning, match="order"):
        scores = clf.decision_function(None, graph=larger)
    np.testing.assert_allclose(scores, expected[[names[i] for i in order if i >= 100]], rtol=1e-9)
    rows = pd.DataFrame(index=names[100:][::-1])
    np.testing.assert_allclose(clf.decision_function(rows, graph=larger), expected[::-1], rtol=1e-9)
    larger.remove_node("n7")
    with pytest.raises(ValueError, match="lacks 1 of the 100 nodes of fit, the first 'n7'"):
        clf.predict(None, graph=larger)


def test_a_table_of_edges_may_leave_out_nodes_without_one(samples):
    edges = pd.DataFrame({"source": list("abcde"), "target": list("bcdef")})
    clf = fitted(sm.SpectralRidge(), None, {"a": 0, "f": 1}, graph=edges)
    more = pd.concat([edges, pd.DataFrame({"source": ["f"], "target": ["g"]})])
    assert clf.decision_function(None, graph=more)[0] == pytest.approx(clf.scores_[clf.nodes_.index("f")])


def test_several_graphs_extend_their_own_shares(samples):
    X, _, W, y = samples
    other = sp.csr_array(sm.graphs.knn_graph(X, n_neighbors=12))
    clf = fitted(sm.STORM(q=15), None, y, graph=[W[:100, :100], other[:100, :100]])
    parts = sum(means(part, V, 100) for part, V in zip(clf._parts, (W, other), strict=True))
    scores = clf.decision_function(None, graph=[W, other])
    np.testing.assert_allclose(scores, clf.balance_(parts + clf.intercept_[0]), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="1 graphs were passed, but fit had 2"):
        clf.predict(None, graph=W)


def test_nodes_that_nothing_joins_have_the_intercept(samples):
    _, _, W, y = samples
    clf = fitted(sm.SpectralRidge(), None, y, graph=W[:100, :100])
    larger = sp.block_diag([W[:100, :100], np.array([[0, 1.0], [1.0, 0]])]).tocsr()
    with pytest.warns(DisconnectedGraphWarning, match="2 new nodes"):
        scores = clf.decision_function(None, graph=larger)
    np.testing.assert_allclose(scores, clf.balance_(clf.intercept_[0]))


@pytest.mark.parametrize("n", [60, 99])
def test_a_graph_of_too_few_nodes_is_refused(samples, n):
    _, _, W, y = samples
    clf = fitted(sm.SpectralRidge(), None, y, graph=W[:100, :100])
    with pytest.raises(ValueError, match=f"{n} nodes, which are not the 100 of fit"):
        clf.predict(None, graph=W[:n, :n])


def test_rows_of_features_and_new_nodes_are_as_many(samples):
    X, _, W, y = samples
    clf = fitted(sm.LapRLS(), X[:100], y, graph=W[:100, :100])
    with pytest.raises(ValueError, match="the 5 rows of X"):
        clf.predict(X[100:105], graph=W)


def test_a_classifier_without_a_graph_refuses_one(samples):
    X, _, W, y = samples
    clf = fitted(sm.LapSVM(gamma_I=0), X[:100], y)
    with pytest.raises(ValueError, match="learned from no graph"):
        clf.predict(X[100:], graph=W)
