"""Points in the plane by their labels."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import colors

from specmargin.plots import LabelDisplay, ring, subplots
from specmargin.plots.points import point_handles

RNG = np.random.default_rng(0)


X = RNG.uniform([-1, -1], [3, 1], size=(60, 2))


Y_TRUE = (X[:, 0] - 2 * X[:, 1] > 0.5).astype(int)


def test_labels_alone_with_names_and_strings(ax):
    y = np.array(["moon", "sun", "?"] * 20)
    display = LabelDisplay(X, y, unlabeled="?").plot(ax, legend=True, names=["Moon", "Sun"], title="Sky")
    assert display.classes.tolist() == ["moon", "sun"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["unlabeled", "Moon", "Sun"]
    markers = [item.get_paths()[0].vertices.shape for item in ax.collections]
    assert markers[1] != markers[2]
    for item in ax.collections[1:]:
        assert colors.to_hex(item.get_edgecolor()[0]) == "#000000"


def test_few_labels_are_large_and_many_small():
    few, many = (subplots()[1][0, 0] for _ in range(2))
    LabelDisplay(X, np.where(np.arange(60) < 4, Y_TRUE, -1)).plot(few)
    LabelDisplay(X, Y_TRUE).plot(many)
    assert few.collections[-1].get_sizes()[0] > 3 * many.collections[-1].get_sizes()[0]
    assert len(many.collections) == 2  # no scatter, and no legend entry, for unlabelled points


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": Y_TRUE[:5]}, r"y has the shape \(5,\), but X has 60 points"),
        ({"y": Y_TRUE, "classes": [0, 7]}, r"y holds \[.*1.*\], which classes=\[0, 7\]"),
        ({"X": np.zeros((65, 2)), "y": np.arange(65)}, "65 classes, but there are 64 pairs of a colour and a marker"),
    ],
)
def test_wrong_labels_are_named(ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        LabelDisplay(**{"X": X} | arguments)
    with pytest.raises(ValueError, match=r"names=\['a'\]"):
        LabelDisplay(X, Y_TRUE).plot(ax, names=["a"])


def test_each_of_many_classes_has_a_look_of_its_own(ax):
    display = LabelDisplay(np.random.default_rng(0).normal(size=(64, 2)), np.arange(64)).plot(ax)
    looks = {(tuple(one.get_facecolor()[0]), one.get_paths()[0].vertices.tobytes()) for one in ax.collections}
    assert len(looks) == len(display.classes) == 64


def test_axes_are_called_as_the_columns_of_a_frame(ax):
    display = LabelDisplay(pd.DataFrame(X, columns=["length", "width_$"]), Y_TRUE).plot(ax)
    assert display.ax_.get_xlabel() == "length"
    assert display.ax_.get_ylabel().replace("\\", "") == "width_$"


def test_rings_go_around_points_on_top(ax):
    LabelDisplay(X, Y_TRUE).plot(ax)
    rings = ring(ax, X[:2], size=14.0)
    np.testing.assert_array_equal(rings.get_xydata(), X[:2])
    assert rings.get_markersize() == 14.0
    assert rings.get_markerfacecolor() == "none"
    assert rings.get_zorder() > max(item.get_zorder() for item in ax.collections)
    with pytest.raises(ValueError, match="shape"):
        ring(ax, X[0])


def test_handles_look_like_the_points(ax):
    LabelDisplay(X, np.where(np.arange(60) < 6, Y_TRUE, -1)).plot(ax)
    drawn = [colors.to_hex(item.get_facecolor()[0]) for item in ax.collections]  # unlabelled points come first
    zero, one, unlabelled = point_handles(boundary=False)
    assert [colors.to_hex(handle.get_color()) for handle in (unlabelled, zero, one)] == drawn
    assert zero.get_marker() != one.get_marker()
    assert unlabelled.get_markersize() < zero.get_markersize()
    assert [handle.get_label() for handle in point_handles()][3:] == ["boundary"]
