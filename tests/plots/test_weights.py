from types import SimpleNamespace

import numpy as np
import pytest

import specmargin as sm
from specmargin.plots import WeightsDisplay, method_styles, subplots
from specmargin.plots.weights import rule_styles
from specmargin.spectra import Bands, Powers, Resolvents

NAMES = ["-0.9", "0", "0.9"]


def fitted(weights, filters=None):
    bank = SimpleNamespace(filters=Resolvents([-0.9, 0.0, 0.9]) if filters is None else filters)
    return SimpleNamespace(filter_weights_=np.asarray(weights), bank_=bank)


def heights(display, name):
    return [bar.get_height() for bar in display.bars_[name]]


def test_bars_are_shares_side_by_side(ax):
    display = WeightsDisplay({"alignment": [1.0, 1.0, 2.0], "margin": [0.0, 3.0, 0.0]}, names=NAMES).plot(ax)
    assert heights(display, "alignment") == [0.25, 0.25, 0.5]
    assert heights(display, "margin") == [0.0, 1.0, 0.0]
    for k in range(3):
        left, right = (display.bars_[name][k] for name in ("alignment", "margin"))
        assert k - 0.5 < left.get_x() < left.get_x() + left.get_width() < right.get_x() < k + 0.5
    ax.figure.draw_without_rendering()
    assert [label.get_text() for label in ax.get_xticklabels()] == NAMES
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["alignment", "margin"]
    assert ax.get_legend().get_title().get_text() == ""


def test_draws_are_medians_with_whiskers_of_their_shares(ax):
    draws = np.random.default_rng(0).random((21, 3)) * np.arange(1, 22)[:, None]
    display = WeightsDisplay({"margin": draws}, names=NAMES).plot(ax, title="Task")
    shares = np.sort(draws / draws.sum(axis=1, keepdims=True), axis=0)
    assert heights(display, "margin") == pytest.approx(shares[10])
    (whiskers,) = ax.collections
    ends = np.array([segment[:, 1] for segment in whiskers.get_segments()])
    assert ends == pytest.approx(np.c_[shares[2], shares[18]])
    assert "21 draws; whiskers: 10 to 90 %" in ax.get_legend().get_title().get_text()
    ax.figure.draw_without_rendering()
    assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1 - 3


def test_estimators_of_filters_name_the_parameter(ax):
    display = WeightsDisplay.from_estimators({"alignment": [fitted([1, 0, 0]), fitted([0, 0, 1])]}, ax=ax)
    assert display.names == NAMES
    assert heights(display, "alignment") == [0.5, 0.0, 0.5]
    assert "$g$" in ax.get_xlabel()
    powers = WeightsDisplay.from_estimators({"margin": fitted([1.0, 1.0], Powers(1))}, ax=subplots()[1][0, 0])
    assert powers.ax_.get_xlabel() == "power of the adjacency"
    bands = WeightsDisplay.from_estimators({"margin": fitted([1.0, 1.0], Bands(2))}, ax=subplots()[1][0, 0])
    assert bands.names == ["0.5", "1.5"]


def test_estimators_over_several_graphs(ax):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 12, (X[:, 0] > 0).astype(int), -1)
    graphs = [sm.graphs.knn_graph(X, n_neighbors=k) for k in (3, 6)]
    storm = sm.STORM(q=8).fit(X, y, graph=graphs)
    display = WeightsDisplay.from_estimators({"STORM": storm}, ax=ax)
    assert heights(display, "STORM") == pytest.approx(storm.graph_weights_)
    assert (display.names, ax.get_xlabel()) == (["1", "2"], "graph")


def test_rules_look_alike_in_all_figures():
    known = method_styles(["KTA", "STORM"])
    assert rule_styles({"margin": 0, "mine": 0, "alignment": 0})["alignment"] == known["KTA"]
    assert rule_styles({"margin": 0}) == {"margin": known["STORM"]}


def test_weights_of_zero_have_no_shares():
    with pytest.raises(ValueError, match="some of them above 0 in each draw"):
        WeightsDisplay({"A": [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]}, names=NAMES)


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ({}, r"estimators=\{\} names none"),
        ({"A": []}, r"estimators\['A'\] is empty"),
        ({"A": SimpleNamespace()}, r"'A' \(SimpleNamespace\) has no filter_weights_: fit it first"),
        ({"A": fitted([1, 0, 0]), "B": fitted([1, 0], Powers(1))}, r"'B' has other filters \(powers\) than 'A'"),
        ({"A": SimpleNamespace(graph_weights_=np.ones((3, 2)))}, r"'A': graph_weights_ has the shape \(3, 2\)"),
    ],
)
def test_wrong_estimators_are_named(ax, estimators, message):
    with pytest.raises(ValueError, match=message):
        WeightsDisplay.from_estimators(estimators, ax=ax)
