"""Several graphs at once: the joint problem, its limits, shares of the trace, new samples, and refusals."""

import pickle

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.exceptions import DisconnectedGraphWarning
from specmargin.graphs import KNN, Laplacian

RAW = {"C": 10.0, "laplacian": Laplacian(normalized=False), "class_balance": None}
JOINT = [sm.STORM(B=1.2, **RAW), sm.STOAM(**RAW), sm.MKL(**RAW), sm.MKL(B=1.2, **RAW)]
methods = pytest.mark.parametrize("method", JOINT, ids=repr)


@pytest.fixture
def graphs(moons):
    """Neighbour graphs of 5 and 12 neighbours."""
    return [sm.graphs.knn_graph(moons[0], n_neighbors=k) for k in (5, 12)]


def value_of(fitted):
    return fitted.result_.certificate.primal_objective


def literal_value(method, spectra, y):
    """Eq. 7 with the eigenvectors side by side, each graph under its own order, written down anew."""
    n, rows, sign = len(y), np.flatnonzero(y != -1), np.where(y[y != -1] == 1, 1.0, -1.0)
    Phi = np.sqrt(n) * np.hstack([spectrum.eigenvectors for spectrum in spectra])
    q = spectra[0].q
    v, delta, b = cp.Variable(Phi.shape[1]), cp.Variable(Phi.shape[1], nonneg=True), cp.Variable()
    f = Phi[rows] @ v + b
    norm = cp.sum([cp.quad_over_lin(v[j], delta[j]) for j in range(Phi.shape[1])])
    constraints = [cp.sum(delta) == 1, cp.abs(f) <= min(getattr(method, "B", np.inf), 1e3)]
    if not isinstance(method, sm.MKL):
        for g in range(len(spectra)):
            constraints += [delta[g * q + j] >= delta[g * q + j + 1] for j in range(1, q - 1)]
    problem = cp.Problem(cp.Minimize(0.5 * norm + method.C * cp.sum(cp.pos(1 - cp.multiply(sign, f)))), constraints)
    problem.solve(solver="CLARABEL")
    return problem.value


@methods
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_it_is_the_literal_joint_problem(moons, graphs, method, solver):
    X, _, y = moons
    fitted = clone(method).set_params(q=10, solver=solver).fit(X, y, graph=graphs)
    expected = literal_value(method, [sm.spectra.laplacian_eigenpairs(W, q=10, normalized=False) for W in graphs], y)
    assert value_of(fitted) == pytest.approx(expected, rel=2e-6)


@methods
def test_what_is_learned_is_laid_out_graph_by_graph(moons, graphs, method):
    X, _, y = moons
    fitted = clone(method).set_params(q=20).fit(X, y, graph=graphs)
    assert fitted.result_.certificate.is_optimal(1e-8)
    assert fitted.delta_.shape == fitted.eigenvalues_.shape == (40,)
    assert fitted.eigenvectors_.shape == (120, 40)
    for g, W in enumerate(graphs):
        own = slice(20 * g, 20 * (g + 1))
        s = sm.spectra.laplacian_eigenpairs(W, q=20, normalized=False)
        np.testing.assert_array_equal(fitted.eigenvalues_[own], s.eigenvalues)
        np.testing.assert_array_equal(fitted.eigenvectors_[:, own], s.eigenvectors)
        assert fitted.graph_weights_[g] == pytest.approx(fitted.delta_[own].sum())
        if not isinstance(method, sm.MKL):
            assert np.diff(fitted.delta_[own][1:]).max() <= 1e-12
    assert fitted.graph_weights_.sum() == pytest.approx(1.0)
    v = fitted.result_.variables["v"]
    decisions = np.sqrt(120) * fitted.eigenvectors_ @ v + fitted.intercept_
    np.testing.assert_allclose(fitted.scores_, decisions, atol=1e-10)


@methods
def test_one_graph_twice_is_one_graph(moons, graphs, method):
    X, _, y = moons
    once, listed, twice = (
        clone(method).set_params(q=15).fit(X, y, graph=graph) for graph in (graphs[0], graphs[:1], [graphs[0]] * 2)
    )
    np.testing.assert_array_equal(once.scores_, listed.scores_)
    assert value_of(twice) == pytest.approx(value_of(once), rel=1e-7)


def test_lists_of_parameters_build_the_graphs(moons):
    X, _, y = moons
    parts = [KNN(5, weight="heat"), KNN(9, weight="heat", metric="manhattan")]
    a = sm.STORM(q=15, graph=parts).fit(X, y)
    built = [
        sm.graphs.knn_graph(X, n_neighbors=k, metric=metric, weight="heat")
        for k, metric in ((5, "euclidean"), (9, "manhattan"))
    ]
    b = sm.STORM(q=15).fit(X, y, graph=built)
    np.testing.assert_array_equal(a.scores_, b.scores_)
    c = sm.STORM(q=15, graph=tuple(parts)).fit(X, y)
    np.testing.assert_array_equal(a.scores_, c.scores_)
    short = [
        sm.STORM(q=15, graph=spelled).fit(X, y).scores_ for spelled in ([KNN(5), KNN(9)], (5, 9), np.array([5, 9]))
    ]
    np.testing.assert_array_equal(short[0], short[1])
    np.testing.assert_array_equal(short[0], short[2])
    again = clone(a)
    assert again.get_params() == a.get_params()


def test_new_samples_find_neighbours_graph_by_graph(moons, rng):
    X, _, y = moons
    graphs = [KNN(5), KNN(9, metric="manhattan")]
    fitted = sm.STORM(C=10.0, q=15, graph=graphs, class_balance=None).fit(X, y)
    np.testing.assert_allclose(fitted.decision_function(X), fitted.scores_, atol=1e-12)
    new = X[:20] + 0.02 * rng.normal(size=(20, 2))
    expected = np.full(20, fitted.intercept_[0])
    v = fitted.result_.variables["v"]
    for g, (k, metric) in enumerate(((5, "euclidean"), (9, "manhattan"))):
        own = slice(15 * g, 15 * (g + 1))
        part = np.sqrt(120) * fitted.eigenvectors_[:, own] @ v[own]
        expected += sm.spectra.extend(part, sm.graphs.neighbor_weights(new, X, k, metric=metric))
    np.testing.assert_allclose(fitted.decision_function(new), expected, atol=1e-12)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(new), fitted.decision_function(new))


def test_graphs_that_are_passed_share_the_neighbours_of_new_samples(moons, graphs, rng):
    X, _, y = moons
    fitted = sm.STORM(C=10.0, q=15, graph=6).fit(X, y, graph=graphs)
    new = X[:20] + 0.02 * rng.normal(size=(20, 2))
    expected = sm.spectra.extend(fitted.scores_, sm.graphs.neighbor_weights(new, X, 6))
    np.testing.assert_array_equal(fitted.decision_function(new), expected)


def test_several_classes_over_several_graphs(blobs):
    X, y_true, y = blobs
    fitted = sm.STOAM(q=15, unlabeled="?", graph=[5, 9], **RAW).fit(X, y)
    assert fitted.delta_.shape == (3, 30)
    assert fitted.graph_weights_.shape == (3, 2)
    np.testing.assert_allclose(fitted.graph_weights_.sum(axis=1), 1.0)
    np.testing.assert_allclose(fitted.decision_function(X), fitted.scores_, atol=1e-12)
    assert (fitted.transduction_ == y_true).mean() > 0.9
    one = sm.STOAM(q=15, graph=[5, 9], **RAW).fit(X, np.where(y == "?", -1, (y == "b").astype(int)))
    np.testing.assert_allclose(fitted.decision_function(X + 0.1)[:, 1], one.decision_function(X + 0.1), atol=1e-7)


def test_graphs_come_in_every_dress(moons, graphs):
    X, _, y = moons
    expected = sm.STOAM(q=10).fit(X, y, graph=graphs).scores_
    mixed = [nx.from_scipy_sparse_array(graphs[0]), graphs[1].toarray()]
    np.testing.assert_array_equal(sm.STOAM(q=10).fit(X, y, graph=tuple(mixed)).scores_, expected)


@pytest.mark.parametrize("cls", [sm.KTA, sm.SpectralKernelSVM, sm.XuSpectralSVM, sm.SpectralGraphTransducer])
def test_the_others_work_on_one_graph(moons, graphs, cls):
    X, _, y = moons
    text = rf"{cls.__name__} works on one graph, got 2; pass one, or take STORM, STOAM or MKL"
    with pytest.raises(ValueError, match=text):
        cls().fit(X, y, graph=graphs)
    with pytest.raises(ValueError, match=text):
        cls(graph=[KNN(weight="binary"), KNN(weight="heat")]).fit(X, y)
    cls(graph=[6]).fit(X, y, graph=graphs[:1])


def test_lists_that_do_not_fit(moons, graphs):
    X, _, y = moons
    with pytest.raises(ValueError, match=r"one length, got {'graph': 2, 'q': 3}"):
        sm.STORM(graph=[5, 6], q=[10, 20, 30]).fit(X, y)
    with pytest.raises(ValueError, match=r"one length, got {'graph': 0}"):
        sm.STORM(graph=[]).fit(X, y)
    with pytest.raises(ValueError, match=r"2 graphs were passed, but .* describe 3; give single values or 2 each"):
        sm.STORM(graph=[5, 6, 7]).fit(X, y, graph=graphs)
    with pytest.raises(ValueError, match="graph has 60 nodes but the data has 120 rows"):
        sm.STORM().fit(X, y, graph=[graphs[0], graphs[1][:60, :60]])


def test_every_graph_that_falls_apart_is_named(moons, graphs):
    X, _, y = moons
    W = graphs[1].tolil()
    node = np.flatnonzero(y == -1)[0]
    W[node, :] = 0
    W[:, node] = 0
    with pytest.warns(DisconnectedGraphWarning, match="1 isolated nodes") as caught:
        sm.STORM(q=10).fit(X, y, graph=[graphs[0], W.tocsr()])
    assert len([entry for entry in caught if entry.category is DisconnectedGraphWarning]) == 1
    assert caught[0].filename == __file__
