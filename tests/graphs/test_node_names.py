"""Graphs whose nodes have names: brought into one order with features and labels, or the order is said."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.graphs import check_adjacency, from_networkx, node_features
from specmargin.graphs.adjacency import named_adjacency
from specmargin.graphs.node_names import in_one_order, row_names, with_new_nodes

CLUB = nx.karate_club_graph()
OFFICER = np.array([CLUB.nodes[i]["club"] == "Officer" for i in range(34)])
Y = np.full(34, -1)
Y[[0, 1, 2]], Y[[31, 32, 33]] = 0, 1
W = nx.to_numpy_array(CLUB)
ORDER = np.random.default_rng(0).permutation(34).tolist()
NAMES = [f"member {i}" for i in range(34)]


def listed(nodes=ORDER, name=lambda i: i):
    graph = nx.Graph()
    graph.add_nodes_from(map(name, nodes))
    graph.add_edges_from((name(a), name(b), data) for a, b, data in CLUB.edges(data=True))
    return graph


NAMED = listed(name=NAMES.__getitem__)
BY_NODE = {NAMES[i]: int(Y[i]) for i in np.flatnonzero(Y >= 0)}
FRAME = pd.DataFrame(np.eye(34), index=NAMES, columns=[f"x{i}" for i in range(34)])


def right(fitted):
    """Whether a fit gives each node the class that the plain matrix gives it."""
    names = getattr(fitted, "nodes_", range(34))
    plain = sm.STORM().fit(np.eye(34), Y, graph=W)
    numbers = [NAMES.index(name) if name in NAMES else name for name in names]
    return sorted(numbers) == list(range(34)) and (fitted.transduction_ == plain.transduction_[numbers]).all()


@pytest.mark.filterwarnings("error:the 34 nodes")
@pytest.mark.parametrize(
    ("X", "y", "graph", "first"),
    [
        (None, Y, W, None),
        (None, Y, listed(), 0),
        (None, {i: int(Y[i]) for i in (0, 1, 2, 31, 32, 33)}, W, None),
        (None, BY_NODE, NAMED, NAMES[ORDER[0]]),
        (None, pd.Series(BY_NODE), NAMED, NAMES[ORDER[0]]),
        (None, pd.Series(Y, index=NAMES), NAMED, NAMES[0]),
        (FRAME, Y, NAMED, NAMES[0]),
        (FRAME, pd.Series(Y, index=NAMES).iloc[ORDER], NAMED, NAMES[0]),
        (FRAME.iloc[ORDER], BY_NODE, NAMED, NAMES[ORDER[0]]),
        (FRAME, Y, nx.to_pandas_adjacency(NAMED), NAMES[0]),
        (None, BY_NODE, from_networkx(NAMED), NAMES[ORDER[0]]),
        (FRAME, BY_NODE, nx.to_pandas_edgelist(NAMED), NAMES[0]),
        (None, Y, nx.to_pandas_edgelist(listed()), 0),
        (None, Y, [listed(), CLUB], 0),
    ],
)
def test_every_node_gets_its_own_class(X, y, graph, first):
    fitted = sm.STORM().fit(X, y, graph=graph)
    if first is None:
        assert not hasattr(fitted, "nodes_")
    else:
        assert fitted.nodes_[0] == first
    if isinstance(graph, list):
        fitted.transduction_ = sm.STORM().fit(None, y, graph=graph[0]).transduction_
    assert right(fitted)


@pytest.mark.parametrize(
    ("X", "y"), [(None, Y), (np.eye(34), Y), (np.eye(34), BY_NODE), (FRAME.reset_index(drop=True), Y)]
)
def test_an_order_that_nothing_names_is_said(X, y):
    with pytest.warns(
        UserWarning, match=rf"34 nodes of the graph have names \('{NAMES[ORDER[0]]}', .*nodelist"
    ) as caught:
        sm.STORM().fit(X, y, graph=NAMED)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"have names \('0', '1'.*nodetype=int"):
        check_adjacency(nx.relabel_nodes(CLUB, str))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (None, {"nobody": 1}, "y names 1 nodes that graph and rows lack, the first 'nobody'"),
        (FRAME.rename(index={NAMES[3]: "nobody"}), Y, f"'{NAMES[3]}' is in one of them only \\(1 such"),
        (FRAME[:30], Y[:30], "34 nodes and the data 30 rows of other names"),
    ],
)
def test_names_that_do_not_meet_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        sm.STORM().fit(X, y, graph=NAMED)


def test_weights_of_samples_follow_the_nodes():
    weights = pd.Series(np.where(np.arange(34) == 33, 5.0, 1.0), index=NAMES)
    plain = sm.STORM().fit(np.eye(34), Y, graph=W, sample_weight=weights.to_numpy())
    named = sm.STORM().fit(None, BY_NODE, graph=NAMED, sample_weight=weights)
    np.testing.assert_allclose(named.scores_, plain.scores_[ORDER], atol=1e-6)


def test_features_are_needed_by_those_who_learn_from_them():
    for estimator in (sm.LapSVM(), sm.LabelSearch(sm.STORM())):
        with pytest.raises(TypeError, match=f"X=None, but {type(estimator).__name__} learns from features, too; pass"):
            estimator.fit(None, Y, graph=CLUB)
    with pytest.raises(ValueError, match=r"X=None"):
        sm.STORM().fit(None, Y)
    for estimator in (sm.SpectralRidge(), sm.SpectralFilterClassifier()):
        alone, identity = (type(estimator)().fit(X, Y, graph=CLUB) for X in (None, np.eye(34)))
        np.testing.assert_allclose(alone.scores_, identity.scores_, atol=1e-9)
        assert alone.predict(np.eye(34)[:3]).tolist() == alone.transduction_[:3].tolist()


def test_a_refit_on_a_matrix_forgets_the_names():
    fitted = sm.STORM().fit(None, BY_NODE, graph=NAMED).fit(None, Y, graph=W)
    assert not hasattr(fitted, "nodes_")


def test_numbers_are_rows_of_these_numbers():
    graph = nx.Graph([(2, 0), (0, 1)])
    nx.set_node_attributes(graph, {0: 0.0, 1: 1.0, 2: 2.0}, "x")
    assert from_networkx(graph)[1] == [0, 1, 2]
    assert node_features(graph, "x").ravel().tolist() == [0.0, 1.0, 2.0]
    assert check_adjacency(graph).toarray().tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


def test_a_table_of_edges_has_the_nodes_of_the_data():
    table = pd.DataFrame({"source": [2, 0], "target": [0, 1], "weight": [0.5, 2.0]})
    expected = [[0, 2, 0.5, 0], [2, 0, 0, 0], [0.5, 0, 0, 0], [0, 0, 0, 0]]
    assert check_adjacency(table, 4).toarray().tolist() == expected
    named = table.replace({"source": dict(enumerate("abcd")), "target": dict(enumerate("abcd"))})
    assert named_adjacency(named, rows=list("abcd"))[0].toarray().tolist() == expected
    both = pd.DataFrame({"source": [0, 1, 0], "target": [1, 0, 2]})
    assert check_adjacency(both).toarray().tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    with pytest.raises(ValueError, match=r"edge \(1, 0\) twice, of the weights 2.0 and 3.0; merge"):
        check_adjacency(pd.DataFrame({"source": [0, 1], "target": [1, 0], "weight": [2.0, 3.0]}))
    with pytest.raises(ValueError, match=r"edge 1 of the table, \(1.0, nan\), lacks a node; drop"):
        check_adjacency(pd.DataFrame({"source": [0.0, 1.0], "target": [1.0, np.nan]}))


@pytest.mark.parametrize(
    ("attributes", "names"),
    [
        ([{"value": 2.0}, {"value": 3.0}], "2 of the 2 .* under 'value'; name one by graph=from_networkx"),
        ([{"weight": 2.0}, {}], "1 of the 2 .* 'weight' and weigh 1, though the other 1 hold one; give each a weight"),
        ([{"weight": 2.0}, {"value": 3}], "though the other 1 hold one and edges hold numbers under 'value'; name one"),
    ],
)
def test_weights_under_another_name_are_said(attributes, names):
    graph = nx.Graph([(0, 1, attributes[0]), (1, 2, attributes[1])])
    with pytest.warns(UserWarning, match=names):
        check_adjacency(graph)


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_of_edges_whose_weights_are_named_or_none():
    graph = nx.Graph([(0, 1, {"value": 2.0, "colour": "red"}), (1, 2, {"value": 3.0})])
    assert check_adjacency(from_networkx(graph, weight="value")).sum() == 10.0
    assert check_adjacency(from_networkx(graph, weight=None)).sum() == 4.0
    assert check_adjacency(nx.Graph([(0, 1, {"colour": "red"})])).sum() == 2.0


def test_the_pair_of_a_matrix_and_names_must_fit():
    A, nodes = from_networkx(NAMED)
    with pytest.raises(ValueError, match=r"34 rows and 33 names"):
        check_adjacency((A, nodes[:-1]))
    with pytest.raises(ValueError, match=r"34 rows by 33 different names"):
        check_adjacency((A, [*nodes[:-1], nodes[0]]))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([(0, 1), (1, 2), (2, 3)], r"a list of 3 edges; pass networkx\.Graph\(edges\)"),
        ([("a", "b", 1.0), ("b", "c", 1.0)], r"a list of 2 edges; pass .*add_weighted_edges_from"),
        ([("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 1.0)], r"a list of 3 edges; pass .*add_weighted_edges_from"),
        ([("a", "b"), ("b", "c")], r"a list of 2 edges; pass networkx\.Graph\(edges\)"),
        (nx.path_graph(4).edges, r"a list of 3 edges; pass networkx\.Graph\(edges\)"),
        (np.array([("a", "b"), ("b", "c"), ("c", "d")]), r"an array of the shape \(3, 2\), as a list of edges is"),
        (pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "w": 1.0}), r"columns \['from', 'to', 'w'\], of 2 rows"),
        (np.array([[0, 1], [1, 2], [2, 3]]), r"as a list of edges is; pass networkx\.Graph\(edges\.tolist\(\)\)"),
        (np.array([[0, 1, 2], [1, 2, 3]]), r"as an edge_index is; pass networkx\.Graph\(edge_index\.T\.tolist\(\)\)"),
        ({0: [1, 2], 1: [0]}, r"a mapping of 2 nodes; pass networkx\.Graph\(neighbours\)"),
    ],
)
def test_other_forms_are_refused_with_the_line_that_converts_them(graph, message):
    with pytest.raises(TypeError, match=message):
        check_adjacency(graph)
    for y in (Y, {"a": 0, "b": 1}):
        with pytest.raises(TypeError, match=message):
            sm.SpectralRidge().fit(None, y, graph=graph)


@pytest.mark.parametrize("names", [("Source", "Target", "Weight"), ("SOURCE", "target", "weight")])
def test_tables_of_edges_that_gephi_writes(names):
    rows = nx.to_pandas_edgelist(NAMED)[["source", "target", "weight"]]
    table = rows.set_axis(names, axis=1).assign(Type="Undirected", Label="x")
    read = sm.SpectralRidge().fit(None, BY_NODE, graph=table)
    plain = sm.SpectralRidge().fit(None, BY_NODE, graph=rows)
    np.testing.assert_array_equal(read.scores_, plain.scores_)
    with pytest.raises(ValueError, match="type 'Directed'"):
        check_adjacency(table.assign(Type="Directed"))


@pytest.mark.parametrize("gap", [np.nan, None, pd.NA])
def test_edges_without_a_weight_or_a_node_are_named(gap):
    table = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 3], "weight": [1.0, 2.0, 2.0]}).astype(object)
    for column, message in (("weight", r"edge 1 of the table, \(1, 2\), lacks a weight"), ("target", "lacks a node")):
        spoilt = table.copy()
        spoilt.loc[1, column] = gap
        with pytest.raises(ValueError, match=message):
            sm.SpectralRidge().fit(None, {0: 0, 3: 1}, graph=spoilt)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "lil_array"])
def test_zeros_that_are_stored_as_distances_of_copies_are_said(form):
    """The neighbours of a copy are at a distance of 0, and would be no neighbours."""
    D = sp.csr_array(([0.0, 3.0, 0.0, 3.0], ([0, 1, 1, 2], [1, 2, 0, 1])), shape=(3, 3))
    with pytest.warns(UserWarning, match=r"stores 2 zeros off its diagonal, the first W\[\d, \d\].*distances"):
        check_adjacency(D if form == "lil_array" else getattr(sp, form)(D))
    D.data[1] = 2.0
    with pytest.raises(ValueError, match=r"not symmetric: .*distances, 0 between copies.*and then W.maximum"):
        check_adjacency(D)
    W = D.copy()
    W.data = np.exp(-(W.data**2))  # as it says
    assert check_adjacency(W.maximum(W.T))[0, 1] == 1.0


class TestNewNodes:
    X = np.random.default_rng(1).normal(size=(36, 3)) + OFFICER[np.r_[0:34, 0, 33]][:, None]
    NEW = ((34, 0), (34, 1), (35, 33), (35, 32), (34, 35))

    def graph(self, first, name=lambda i: i):
        graph = nx.Graph()
        graph.add_nodes_from(map(name, first))
        graph.add_edges_from((name(a), name(b), data) for a, b, data in CLUB.edges(data=True))
        graph.add_edges_from((name(a), name(b), {"weight": 1.0}) for a, b in self.NEW)
        return graph

    def expected(self):
        larger = nx.to_scipy_sparse_array(self.graph(range(36)), nodelist=range(36))
        return sm.SpectralFilterClassifier().fit(self.X[:34], Y, graph=W).decision_function(self.X[34:], graph=larger)

    @pytest.mark.filterwarnings("error:the")
    @pytest.mark.parametrize("first", [range(36), [35, 34, *ORDER], [34, *ORDER, 35]])
    def test_numbers_in_any_order(self, first):
        for graph in (CLUB, W):
            fitted = sm.SpectralFilterClassifier().fit(self.X[:34], Y, graph=graph)
            np.testing.assert_allclose(
                fitted.decision_function(self.X[34:], graph=self.graph(first)), self.expected(), atol=1e-9
            )

    @pytest.mark.filterwarnings("error:the 34 nodes")
    def test_names_in_any_order(self):
        names = [*NAMES, "new", "newer"]
        X = pd.DataFrame(self.X, index=names)
        fitted = sm.SpectralFilterClassifier().fit(X[:34], Y, graph=NAMED)
        larger = self.graph([35, 34, *ORDER], names.__getitem__)
        np.testing.assert_allclose(fitted.decision_function(X[34:], graph=larger), self.expected(), atol=1e-9)
        with pytest.warns(UserWarning, match=r"2 nodes of the graph have names \('newer', 'new'"):
            swapped = fitted.decision_function(self.X[[35, 34]], graph=larger)
        np.testing.assert_allclose(swapped[::-1], self.expected(), atol=1e-9)
        larger.remove_node(NAMES[3])
        with pytest.raises(ValueError, match=f"lacks 1 of the 34 nodes of fit, the first '{NAMES[3]}'"):
            fitted.predict(X[34:], graph=larger)
        with pytest.raises(ValueError, match=r"new nodes .* and X the rows"):
            fitted.predict(X[34:].rename(index={"new": "old"}), graph=self.graph(range(36), names.__getitem__))


def test_names_of_rows():
    assert row_names(pd.DataFrame({"a": [1, 2]})) is None
    assert row_names(pd.Series([1, 2], index=["x", "x"])) is None
    assert row_names(pd.Series([1, 2], index=[1, 0])) == [1, 0]
    y, graph, nodes = in_one_order(np.eye(2), [0, 1], np.ones((2, 2)), -1)
    assert (y, nodes) == ([0, 1], None)
    assert with_new_nodes(graph, [0], None, 1) is graph


TRUTH = pd.Series(OFFICER.astype(int), index=NAMES)
SHUFFLED = TRUTH.iloc[ORDER]
SPREAD = FRAME * 0.1 + TRUTH.to_numpy()[:, None] * np.linspace(1.0, 2.0, 34)
HALF = pd.Series(np.where(np.isin(np.arange(34), [0, 3, 9, 32, 33, 30]), TRUTH, -1), index=NAMES)


@pytest.mark.parametrize("graph", [None, NAMED])
@pytest.mark.parametrize("method", [sm.LapRLS, sm.RMM, sm.STORM, sm.AutoSSL, sm.LabelSearch])
def test_a_score_is_that_of_the_names(method, graph):
    """The truth in another order, as a mapping, and in parts: the share that numpy counts of predictions by name."""
    given = {} if graph is None or method is sm.RMM else {"graph": graph}
    fitted, other = method().fit(SPREAD, HALF, **given), method().fit(SPREAD, HALF.iloc[ORDER], **given)
    np.testing.assert_array_equal(fitted.transduction_, other.transduction_)
    predicted = pd.Series(fitted.predict(SPREAD), index=NAMES)
    share = float(np.mean(predicted == TRUTH))
    for truth in (TRUTH, SHUFFLED, SHUFFLED.to_dict(), SHUFFLED.astype(object), SHUFFLED.to_frame()):
        assert fitted.score(SPREAD, truth) == sm.labeled_accuracy(fitted, SPREAD, truth) == pytest.approx(share)
    part = SHUFFLED[:10]
    assert fitted.score(SPREAD, part) == pytest.approx(np.mean(predicted[part.index] == part))
    assert fitted.score(SPREAD.iloc[ORDER[:20]], TRUTH.iloc[ORDER[:20][::-1]]) == pytest.approx(
        np.mean(predicted.iloc[ORDER[:20]] == TRUTH.iloc[ORDER[:20]])
    )
    weights = pd.Series(np.arange(34.0), index=NAMES)
    by_hand = np.average(predicted == TRUTH, weights=weights)
    assert fitted.score(SPREAD, SHUFFLED, sample_weight=weights[::-1]) == pytest.approx(by_hand)
    right = np.average(fitted.transduction_ == TRUTH)
    assert fitted.score(None, SHUFFLED) == pytest.approx(right)


def test_a_graph_alone_is_scored_by_what_it_says_of_its_nodes():
    fitted = sm.SpectralRidge().fit(None, BY_NODE, graph=NAMED)
    truth = TRUTH.copy()
    truth.iloc[:9] = 1 - truth.iloc[:9]
    share = np.mean(fitted.transduction_ == truth[fitted.nodes_])
    assert 0.5 < share < 1.0
    for y in (truth, truth.iloc[ORDER], truth.iloc[ORDER].to_dict(), truth[fitted.nodes_].to_numpy()):
        assert fitted.score(None, y) == pytest.approx(share)
    numbered = sm.SpectralRidge().fit(None, Y, graph=W)
    by_number = {i: int(OFFICER[i]) for i in ORDER}
    assert numbered.score(None, by_number) == np.mean(numbered.transduction_ == OFFICER)
    with pytest.raises(ValueError, match=r"no new samples; .* transduction_, and score"):
        fitted.predict(None)
    with pytest.raises(ValueError, match="y names 1 nodes that graph and rows lack, the first 'nobody'"):
        fitted.score(None, {"nobody": 1})


def test_regressors_score_by_names():
    numbers = pd.Series(np.arange(34.0), index=NAMES)
    known = numbers.where(np.arange(34) % 3 == 0)
    fitted = sm.LapRLSRegressor().fit(SPREAD, known.iloc[ORDER], graph=NAMED)
    np.testing.assert_array_equal(
        fitted.transduction_, sm.LapRLSRegressor().fit(SPREAD, known, graph=NAMED).transduction_
    )
    f = fitted.predict(SPREAD)
    R2 = 1 - np.sum((f - numbers) ** 2) / np.sum((numbers - numbers.mean()) ** 2)
    for y in (numbers, numbers.iloc[ORDER], numbers.iloc[ORDER].to_dict()):
        assert fitted.score(SPREAD, y) == pytest.approx(R2)
        assert fitted.score(None, y) == pytest.approx(
            1 - np.sum((fitted.transduction_ - numbers) ** 2) / np.sum((numbers - numbers.mean()) ** 2)
        )
    both = pd.DataFrame({"a": numbers, "b": -(numbers**2)})
    several = sm.LapRLSRegressor().fit(SPREAD, both.iloc[ORDER].where(known.iloc[ORDER].notna(), np.nan))
    assert several.score(SPREAD, both.iloc[ORDER]) == several.score(SPREAD, both) > 0.5


@pytest.mark.filterwarnings("ignore")
def test_tools_and_pictures_match_names_as_fit_does():
    known = HALF[HALF >= 0]
    brings = [sm.WithUnlabeled(sm.RMM(), SPREAD).fit(SPREAD.loc[known.index], y) for y in (known, known.iloc[::-1])]
    assert brings[0].score(SPREAD, TRUTH) == brings[0].score(SPREAD, SHUFFLED) == brings[1].score(SPREAD, SHUFFLED)
    for told in (sm.diagnose(SPREAD, HALF), sm.diagnose(SPREAD, HALF.iloc[ORDER])):
        assert told.labeled.tolist() == np.flatnonzero(HALF >= 0).tolist()
    runs = [sm.compare(SPREAD, y, methods=["svm"]).predictions for y in (HALF, HALF.iloc[ORDER])]
    assert runs[0].labels.tolist() == runs[1].labels.tolist()
    plane = SPREAD.iloc[:, :2]
    shown = sm.plots.LabelDisplay(plane, HALF.iloc[ORDER])
    assert shown.y.tolist() == HALF.tolist()


def test_numbers_of_rows_in_another_order_are_said():
    """Whether they name rows, or are left over from a selection, nothing tells: taken as scikit-learn takes them."""
    X, y = SPREAD.reset_index(drop=True), HALF.reset_index(drop=True)
    fitted = sm.RMM().fit(X, y)
    for other in ((X, y.iloc[::-1]), (X.iloc[::-1], y)):
        with pytest.warns(UserWarning, match="indexed by the numbers of the rows, one of them in another order"):
            fitted.score(*other)
    with pytest.raises(ValueError, match="y has an index of names, such as 33"):
        fitted.score(None, y.iloc[::-1])
    assert fitted.score(None, y) == fitted.score(None, y.to_numpy()) == fitted.score(X, y)


def test_names_that_meet_in_part_are_refused():
    with pytest.raises(ValueError, match="y names 1 nodes that graph and rows lack"):
        sm.RMM().fit(SPREAD, HALF.rename({NAMES[3]: "nobody"}))
    elsewhere = HALF.rename(lambda name: name + "?")
    np.testing.assert_array_equal(sm.RMM().fit(SPREAD, elsewhere).scores_, sm.RMM().fit(SPREAD, HALF).scores_)
