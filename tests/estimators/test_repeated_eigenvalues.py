"""Graphs with symmetries: answers do not depend on the order of the nodes, or a warning says that they do."""

import warnings

import networkx as nx
import numpy as np
import pytest

import specmargin as sm
from specmargin.exceptions import EigenspaceWarning, UndecidedWarning
from specmargin.spectra import Eigenvectors

GRAPHS = {
    "complete": (nx.complete_graph(12), {0: 0, 1: 0, 2: 1, 3: 1}),
    "star": (nx.star_graph(14), {1: 0, 2: 0, 3: 1, 4: 1}),
    "hypercube": (nx.hypercube_graph(5), {0: 0, 1: 0, 31: 1, 30: 1}),
    "ring": (nx.cycle_graph(24), {0: 0, 1: 0, 12: 1, 13: 1}),
    "torus": (nx.grid_2d_graph(5, 5, periodic=True), {0: 0, 1: 0, 12: 1, 13: 1}),
    "caves": (nx.connected_caveman_graph(5, 4), {0: 0, 1: 0, 12: 1, 13: 1}),
    "equal components": (nx.disjoint_union_all([nx.complete_graph(4)] * 4), {0: 0, 1: 0, 4: 1, 5: 1}),
}
SHARING = ("STORM", "STOAM", "KTA", "SpectralKernelSVM", "XuSpectralSVM", "SpectralRidge", "LapRLS")
"""Those that give one weight to all of an eigenspace."""


def fitted(name, W, y, **options):
    """Return a fitted estimator, and the categories of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = getattr(sm, name)(**options).fit(np.eye(len(W)), y, graph=W)
    return model, {one.category for one in caught}


def changed(name, graph, known, **options):
    """Return the share of nodes whose class the order of the nodes changes, and what was warned of in any order."""
    W = nx.to_numpy_array(graph)
    y = np.full(len(W), -1)
    y[list(known)] = list(known.values())
    first, said = fitted(name, W, y, **options)
    most = 0.0
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(W))
        other, more = fitted(name, W[np.ix_(order, order)], y[order], **options)
        back = np.empty_like(first.transduction_)
        back[order] = other.transduction_
        most, said = max(most, float(np.mean(back != first.transduction_))), said | more
    return most, said


@pytest.mark.parametrize("graph", list(GRAPHS))
@pytest.mark.parametrize("name", SHARING)
def test_all_eigenvectors_make_answers_without_an_order(name, graph):
    share, said = changed(name, *GRAPHS[graph])
    assert share == 0
    assert EigenspaceWarning not in said


@pytest.mark.parametrize("name", ["SpectralKernelSVM", "XuSpectralSVM", "SpectralRidge", "LapRLS", "LapSVM"])
def test_several_classes_of_equal_decisions_are_decided_by_a_rule(name):
    # A learned spectrum has one problem per class, each solved to a gap that leaves decisions equal to 1e-4 only.
    share, said = changed(name, nx.cycle_graph(24), {0: 0, 8: 1, 16: 2})
    assert share == 0
    assert UndecidedWarning in said


@pytest.mark.parametrize("graph", list(GRAPHS))
@pytest.mark.parametrize("name", [*SHARING, "MKL", "SpectralGraphTransducer"])
def test_where_q_cuts_an_eigenspace_its_part_is_left_out_or_said(name, graph):
    options = {"functions": Eigenvectors(6)} if name == "LapRLS" else {"q": 6}
    share, said = changed(name, *GRAPHS[graph], **options)
    assert share == 0 or EigenspaceWarning in said


@pytest.mark.parametrize("name", ["MKL", "SpectralGraphTransducer"])
@pytest.mark.parametrize("graph", list(GRAPHS))
def test_those_that_depend_on_the_basis_say_so(name, graph):
    share, said = changed(name, *GRAPHS[graph])
    assert share == 0 or EigenspaceWarning in said


def test_the_warning_names_q_the_eigenvalue_and_what_is_used():
    W = nx.to_numpy_array(nx.cycle_graph(24))  # pairs of eigenvalues
    y = np.where(np.arange(24) < 2, 0, np.where(np.arange(24) > 21, 1, -1))
    with pytest.warns(EigenspaceWarning, match=r"q=6 cuts .* repeated eigenvalue 0\.29\d*, .* the 5 of .* as with q=5"):
        model = sm.STOAM(q=6).fit(np.eye(24), y, graph=W)
    assert model.delta_.shape == (5,)
    np.testing.assert_allclose(model.scores_, sm.STOAM(q=5).fit(np.eye(24), y, graph=W).scores_, atol=1e-12)
    complete = nx.to_numpy_array(nx.complete_graph(24))
    with pytest.warns(EigenspaceWarning, match=r"answers depend on the order of the nodes\. Take q=24"):
        sm.STOAM(q=6).fit(np.eye(24), y, graph=complete)


def test_distinct_eigenvalues_and_graphs_of_samples_are_not_warned_of(moons):
    X, _, y = moons
    for name in ("STORM", "MKL", "SpectralGraphTransducer", "SpectralRidge"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", EigenspaceWarning)
            warnings.simplefilter("error", UndecidedWarning)
            getattr(sm, name)(q=30).fit(X, y)


@pytest.mark.parametrize("name", ["STORM", "SpectralRidge", "LapRLS"])
def test_decisions_of_rounding_are_undecided_and_of_one_class(name):
    W = nx.to_numpy_array(nx.disjoint_union_all([nx.path_graph(2)] * 20))
    y = np.full(40, -1)
    y[[0, 2]], y[[4, 6]] = 0, 1
    options = {"class_balance": None}
    model, said = fitted(name, W, y, **options)
    assert len(set(model.transduction_[8:])) == 1
    assert UndecidedWarning in said
    np.testing.assert_array_equal(model.predict(np.eye(40)), model.transduction_)
    np.testing.assert_array_equal(model.predict_proba(np.eye(40)).argmax(axis=1), model.transduction_)


def test_undecided_nodes_between_several_classes_get_the_first_of_the_equal_ones():
    W = nx.to_numpy_array(nx.cycle_graph(24))
    y = np.full(24, -1)
    y[[0, 8, 16]] = [0, 1, 2]
    with pytest.warns(UndecidedWarning, match=r"3 of the 21 unlabelled samples are undecided: .* equal .*\(0, 1\)"):
        ridge = sm.SpectralRidge(class_balance=None).fit(np.eye(24), y, graph=W)
    assert ridge.transduction_[[4, 12, 20]].tolist() == [0, 1, 0]
