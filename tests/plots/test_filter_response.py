from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from reproduction.figure_scripts import figure_scripts, load_script
from specmargin.plots import FilterResponseDisplay, filter_response, subplots
from specmargin.plots.weights import rule_styles
from specmargin.spectra import Resolvents

LAM = np.linspace(0.0, 1.5, 40)
CURVE = 1.0 / (0.1 + LAM) ** 2


@pytest.fixture(scope="module")
def bank():
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((50, 50)) < 0.1, k=1)
    S = sm.graphs.normalized_adjacency(sp.csr_array((W | W.T).astype(float)))
    return sm.spectra.filter_bank(S, rng.normal(size=(50, 4)), Resolvents([-0.9, 0.0, 0.9]))


def test_lines_are_medians_and_bands_hold_most_draws(ax):
    draws = np.multiply.outer(np.arange(1.0, 12.0), CURVE)
    display = FilterResponseDisplay(LAM, {"margin": draws, "alignment": CURVE}).plot(ax)
    np.testing.assert_allclose(display.lines_["margin"].get_ydata(), 6 * CURVE)
    np.testing.assert_array_equal(display.lines_["margin"].get_xdata(), LAM)
    np.testing.assert_allclose(display.lines_["alignment"].get_ydata(), CURVE)
    (band,) = ax.collections  # a single draw has none
    corners = band.get_paths()[0].vertices
    at_zero = corners[corners[:, 0] == 0.0][:, 1]
    assert (at_zero.min(), at_zero.max()) == pytest.approx((2 * CURVE[0], 10 * CURVE[0]))
    assert display.lines_["margin"].get_color() == rule_styles({"margin": 0})["margin"].color
    assert ax.get_legend().get_texts()[2].get_text() == "10 to 90 % of 11 draws"


def test_axis_ends_with_the_graph(ax):
    FilterResponseDisplay(LAM, {"margin": CURVE}).plot(ax)
    assert ax.get_xlim() == (0.0, 1.5)
    ax.figure.draw_without_rendering()
    ticks = [float(label.get_text()) for label in ax.get_yticklabels() if label.get_text()]
    assert min(ticks) >= 0.99 * CURVE.min()


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_scales_show_the_extremes_and_the_features(ax, scale):
    display = FilterResponseDisplay(LAM, {"margin": CURVE}).plot(ax, scale=scale)
    low, high = ax.get_ylim()
    assert display.extremes() == pytest.approx((CURVE.min(), CURVE.max()))
    assert low < CURVE.min() < CURVE.max() < high
    assert any(line.get_ydata()[0] == 1.0 for line in ax.lines)
    assert (low > 0) == (scale == "log")


def test_panels_side_by_side_share_limits():
    figure, axes = subplots(1, 2, sharey=True)
    for ax, factor in zip(axes.flat, (1.0, 50.0), strict=True):
        FilterResponseDisplay(LAM, {"margin": factor * CURVE}).plot(ax, limits=(0.3, 5e3), legend=False)
    low, high = axes[0, 0].get_ylim()
    assert low < 0.3
    assert high > 5e3
    assert figure is axes[0, 1].figure


def test_a_power_of_zero_is_drawn_below_the_curves(ax):
    display = FilterResponseDisplay(LAM, {"margin": np.where(LAM > 1.0, 0.0, 1.0)}).plot(ax)
    assert display.extremes() == (1e-4, 1.0)
    assert display.lines_["margin"].get_ydata().min() == 5e-5


def test_response_of_a_bank_by_its_definition(bank):
    draws = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    display = FilterResponseDisplay.from_bank(bank, {"margin": draws})
    lam = display.frequencies
    S = bank.operator.toarray()
    values = np.linalg.eigvalsh(S)
    assert lam[0] == 0
    assert lam[-1] == pytest.approx(1 - values[0])
    X = bank.features
    centred = X - X.mean(axis=0)
    for delta, response in zip(draws / draws.sum(axis=1, keepdims=True), display.responses["margin"], strict=True):
        expected = np.zeros_like(lam)
        for weight, g in zip(delta, (-0.9, 0.0, 0.9), strict=True):
            F = (1 - abs(g)) * np.linalg.solve(np.eye(50) - g * S, X)
            F = F - F.mean(axis=0)
            gain = ((1 - abs(g)) / (1 - g * (1 - lam))) ** 2
            expected += weight * gain * (centred**2).sum() / (F**2).sum()
        np.testing.assert_allclose(response, expected, rtol=1e-4)  # the series of the filters ends at 1e-6
    assert display.responses["margin"][1] == pytest.approx(np.ones_like(lam))


def test_large_graphs_and_graphs_without_features_or_edges(bank, monkeypatch):
    dense = FilterResponseDisplay.from_bank(bank, {"a": [1.0, 1.0, 1.0]})
    monkeypatch.setattr(filter_response, "_DENSE", 0)
    sparse = FilterResponseDisplay.from_bank(bank, {"a": [1.0, 1.0, 1.0]})
    np.testing.assert_allclose(sparse.frequencies, dense.frequencies, rtol=1e-5)
    nodes = sm.spectra.filter_bank(bank.operator, None, Resolvents([0.0, 0.5]))
    np.testing.assert_allclose(FilterResponseDisplay.from_bank(nodes, {"a": [1.0, 0.0]}).responses["a"], 1.0)
    alone = sm.spectra.filter_bank(sp.csr_array(np.eye(50)), bank.features, Resolvents([0.0, 0.5]))
    with pytest.raises(ValueError, match="no edge between two nodes"):
        FilterResponseDisplay.from_bank(alone, {"a": [1.0, 0.0]})


def test_estimators_with_several_draws(ax):
    X, y_true = sm.datasets.make_two_moons(n_samples=60, random_state=0)
    graph = sm.graphs.knn_graph(X, n_neighbors=5)
    fits = [
        sm.SpectralFilterClassifier().fit(X, sm.hide_labels(y_true, per_class=5, random_state=k), graph=graph)
        for k in range(2)
    ]
    display = FilterResponseDisplay.from_estimators({"alignment": fits}, ax=ax, title="Moons")
    expected = FilterResponseDisplay.from_bank(fits[0].bank_, {"a": [one.filter_weights_ for one in fits]})
    np.testing.assert_allclose(display.responses["alignment"], expected.responses["a"])
    ax.figure.draw_without_rendering()
    assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1 - 3
    y, wider = sm.hide_labels(y_true, per_class=5, random_state=0), sm.graphs.knn_graph(X, n_neighbors=9)
    other = sm.SpectralFilterClassifier().fit(X, y, graph=wider)
    with pytest.raises(ValueError, match="'b' was fitted on another graph or other features than 'a'"):
        FilterResponseDisplay.from_estimators({"a": fits[0], "b": other}, ax=ax)


def test_figure_of_learned_filters_shows_what_its_graphs_were_made_for(monkeypatch):
    monkeypatch.delenv("SPECMARGIN_DATA", raising=False)
    script = load_script(figure_scripts()["learned_filters"])
    data = script.compute("quick")
    alike, unlike, chance = data["results"]["cora"], data["results"]["texas"], data["results"]["cornell"]
    for rule in script.RULES:
        assert alike[rule]["mean weight, low-pass (g > 0)"] > 0.9
        assert unlike[rule]["mean weight, high-pass (g < 0)"] > 0.8
        assert max(chance[rule].values()) < 0.8
    shares = [one["share of edges within a class"] for one in (alike, unlike, chance)]
    assert np.abs(np.array(shares) - [0.9, 0.05, 1 / 3]).max() < 0.05
    assert data["certificates"]["worst relative gap"] < 1e-9
    figure = script.draw(data)
    top = figure.axes[:3]
    assert len({ax.get_ylim() for ax in top}) == 1
    assert all("block model" in ax.get_title() for ax in top)


def test_without_axes_there_is_a_pyplot_figure():
    before = len(plt.get_fignums())
    display = FilterResponseDisplay(LAM, {"margin": CURVE}).plot()
    assert len(plt.get_fignums()) == before + 1
    plt.close(display.figure_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frequencies": LAM[::-1]}, "must be two or more, not negative, increasing"),
        ({"responses": {"A": CURVE[:-1]}}, r"'A'\] has the shape \(39,\); pass \(40,\)"),
        ({"responses": {"A": np.r_[-1.0, CURVE[1:]]}}, r"'A'\] is negative at \(0, 0\) \(-1\)"),
    ],
)
def test_wrong_arrays_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        FilterResponseDisplay(**{"frequencies": LAM, "responses": {"A": CURVE}, **arguments})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "cubic"}, "scale='cubic' is unknown"),
        ({"limits": (1.0, 0.1)}, r"limits=\(1.0, 0.1\) must be two powers above 0"),
    ],
)
def test_wrong_options_are_named(ax, options, message):
    with pytest.raises(ValueError, match=message):
        FilterResponseDisplay(LAM, {"A": CURVE}).plot(ax, **options)


def test_wrong_banks_and_weights_are_named(bank):
    with pytest.raises(ValueError, match="bank=3"):
        FilterResponseDisplay.from_bank(3, {"A": [1.0]})
    with pytest.raises(ValueError, match="weights=3 names none"):
        FilterResponseDisplay.from_bank(bank, 3)
    with pytest.raises(ValueError, match=r"the weights of 'A' have the shape \(2,\)"):
        FilterResponseDisplay.from_bank(bank, {"A": [1.0, 1.0]})
    with pytest.raises(ValueError, match=r"'A' \(SimpleNamespace\) has no filter_weights_"):
        FilterResponseDisplay.from_estimators({"A": SimpleNamespace()})
