from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import colors
from matplotlib.contour import ContourSet
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import specmargin as sm
from specmargin.plots import DecisionDisplay, decision_grid, decision_panels, subplots
from specmargin.plots.theme import CLASS_COLORS

RNG = np.random.default_rng(0)
X = RNG.uniform([-1, -1], [3, 1], size=(60, 2))
Y_TRUE = (X[:, 0] - 2 * X[:, 1] > 0.5).astype(int)


def plane(points):
    return points[:, 0] - 2 * points[:, 1] - 0.5


def contours(ax):
    return [item for item in ax.collections if isinstance(item, ContourSet)]


def offsets(ax):
    """Points and face colours of the scatters."""
    return [
        (np.asarray(item.get_offsets()), colors.to_hex(item.get_facecolor()[0]).upper())
        for item in ax.collections
        if not isinstance(item, ContourSet)
    ]


def test_surface_is_the_decision_function_and_not_its_transpose(ax):
    display = DecisionDisplay.from_estimator(SimpleNamespace(decision_function=plane), X, ax=ax, resolution=37)
    assert display.response.shape == (len(display.xx1), len(display.xx0))
    for i, j in [(0, 0), (3, 11), (len(display.xx1) - 1, 5)]:
        node = np.array([[display.xx0[j], display.xx1[i]]])
        assert display.response[i, j] == pytest.approx(plane(node)[0])
    # The picture puts row i at height xx1[i]: origin below, cell centres on the grid.
    left, right, bottom, top = display.surface_.get_extent()
    assert display.surface_.origin == "lower"
    step = display.xx0[1] - display.xx0[0]
    assert left == pytest.approx(display.xx0[0] - step / 2)
    assert right == pytest.approx(display.xx0[-1] + step / 2)
    assert top - bottom == pytest.approx(step * len(display.xx1))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_classifiers_of_frames_get_frames(ax, frame):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) + 2.0 * (np.arange(30) % 2)[:, None]
    y, named = np.where(np.arange(30) < 20, np.arange(30) % 2, -1), frame(X, columns=["length", "width"])
    for clf in (sm.RMM(), make_pipeline(StandardScaler(), sm.RMM())):
        display = DecisionDisplay.from_estimator(clf.fit(named, y), named, y, resolution=9, ax=ax)
        plain = DecisionDisplay.from_estimator(clf.fit(X, y), X, y, resolution=9)
        np.testing.assert_allclose(display.response, plain.response, rtol=1e-11)  # columns lie otherwise in memory
        assert display.ax_.get_xlabel() == "length"
    assert DecisionDisplay.from_function(lambda nodes: nodes[:, 0], named).response.ndim == 2


def test_zero_contour_lies_on_the_boundary(ax):
    DecisionDisplay.from_estimator(SimpleNamespace(decision_function=plane), X, ax=ax)
    (contour,) = contours(ax)
    vertices = np.vstack([path.vertices for path in contour.get_paths()])
    np.testing.assert_allclose(plane(vertices), 0, atol=1e-9)
    assert len(vertices) > 50


def test_margins_are_drawn_on_request_and_only_where_they_exist(ax):
    DecisionDisplay.from_estimator(SimpleNamespace(decision_function=plane), X, ax=ax, margins=True)
    assert sorted(float(contour.levels[0]) for contour in contours(ax)) == [-1.0, 0.0, 1.0]
    other = subplots()[1][0, 0]
    constant = SimpleNamespace(decision_function=lambda points: np.full(len(points), 2.0))
    DecisionDisplay.from_estimator(constant, X, ax=other, margins=True)
    assert contours(other) == []


def test_colours_are_centred_on_zero_whatever_the_values(ax):
    lopsided = SimpleNamespace(decision_function=lambda points: plane(points) + 30)
    display = DecisionDisplay.from_estimator(lopsided, X, ax=ax)
    low, high = display.surface_.get_clim()
    assert low == -high
    assert high == pytest.approx(np.abs(display.response).max())
    assert display.surface_.to_rgba(np.array([0.0]))[0].tolist() == [1.0, 1.0, 1.0, 1.0]
    assert display.colorbar_.ax.get_ylabel() == "decision function $f(x)$"
    assert display.colorbar_.extend == "neither"


def test_a_given_limit_clips_and_the_bar_says_so(ax):
    display = DecisionDisplay.from_estimator(SimpleNamespace(decision_function=plane), X, ax=ax, limit=0.5)
    assert display.surface_.get_clim() == (-0.5, 0.5)
    assert display.colorbar_.extend == "both"
    with pytest.raises(ValueError, match="limit=0"):
        display.plot(ax, limit=0)


def test_a_constant_zero_decision_is_drawn(ax):
    zero = SimpleNamespace(decision_function=lambda points: np.zeros(len(points)))
    assert DecisionDisplay.from_estimator(zero, X, ax=ax).surface_.get_clim() == (-1.0, 1.0)


def test_points_by_label_with_the_estimators_own_marker(ax):
    y = np.where(np.arange(60) < 6, Y_TRUE, 9)
    classifier = SimpleNamespace(decision_function=plane, unlabeled=9, classes_=np.array([0, 1]))
    DecisionDisplay.from_estimator(classifier, X, y, ax=ax)
    hidden, negative, positive = offsets(ax)
    np.testing.assert_allclose(hidden[0], X[6:])
    np.testing.assert_allclose(negative[0], X[:6][Y_TRUE[:6] == 0])
    np.testing.assert_allclose(positive[0], X[:6][Y_TRUE[:6] == 1])
    assert (negative[1], positive[1]) == CLASS_COLORS
    assert ax.get_aspect() == 1.0


def test_the_positive_side_has_the_colour_of_the_positive_class(ax):
    classifier = SVC().fit(X, Y_TRUE)
    display = DecisionDisplay.from_estimator(classifier, X, Y_TRUE, unlabeled=-1, ax=ax)
    red, _, blue = display.surface_.to_rgba(np.array([display.response.max()]))[0][:3]
    assert red > blue
    assert (colors.to_rgb(CLASS_COLORS[1])[0] > colors.to_rgb(CLASS_COLORS[1])[2]) is True


def test_more_classes_have_no_single_surface(ax):
    y = np.arange(60) % 3
    classifier = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"gives the shape \(.*, 3\)"):
        DecisionDisplay.from_estimator(classifier, X, y, ax=ax)


def test_grid_covers_the_points_with_square_cells():
    xx0, xx1 = decision_grid(X, resolution=50, margin=0.1)
    side = np.ptp(X, axis=0).max()
    assert len(xx0) == 50
    np.testing.assert_allclose(np.diff(xx0), np.diff(xx1)[0])
    assert xx0[0] == pytest.approx(X[:, 0].min() - 0.1 * side)
    assert xx1[-1] >= X[:, 1].max() + 0.1 * side - 1e-12
    assert [len(part) for part in decision_grid([[1.0, 1.0]], resolution=3)] == [3, 3]


def test_a_function_of_points_needs_no_estimator(ax):
    told = DecisionDisplay.from_function(plane, X, resolution=37)
    seen = DecisionDisplay.from_estimator(SimpleNamespace(decision_function=plane), X, ax=ax, resolution=37)
    np.testing.assert_array_equal(told.response, seen.response)
    np.testing.assert_array_equal(told.xx0, seen.xx0)


GRID = np.linspace(-1, 1, 11)


def steeper(*slopes):
    return {f"slope {slope}": DecisionDisplay(GRID, GRID, slope * np.add.outer(GRID, GRID)) for slope in slopes}


def test_panels_share_a_scale_and_a_bar_per_full_row():
    drawn = steeper(0.5, 1.0, 3.0)
    figure = decision_panels(drawn, n_rows=2)
    assert [display.surface_.get_clim() for display in drawn.values()] == [(-6.0, 6.0)] * 3
    assert [ax.get_title() for ax in figure.axes[:4]] == ["slope 0.5", "slope 1.0", "slope 3.0", ""]
    bars = [ax for panel in figure.axes for ax in panel.child_axes]
    assert len(bars) == 1
    assert len([ax for ax in decision_panels(steeper(1, 2, 3, 4), n_rows=2).axes[:4] if ax.child_axes]) == 2
    assert not figure.axes[3].axison
    figure.draw_without_rendering()
    clipped = decision_panels(drawn, limit=1.5, margins=True)
    assert drawn["slope 3.0"].surface_.get_clim() == (-1.5, 1.5)
    assert clipped.axes[2].child_axes[0]._colorbar.extend == "both"
