"""Contours of an objective of two weights, and trails on them."""

import numpy as np

from specmargin.plots import LandscapeDisplay, method_styles

W1, W2 = np.linspace(-1, 1, 21), np.linspace(-2, 2, 31)
VALUES = np.add.outer(W2**2, (W1 - 0.5) ** 2)


def test_contours_lie_where_the_function_has_their_level(ax):
    display = LandscapeDisplay(W1, W2, VALUES).plot(ax, title="J")
    assert (np.diff(display.contours_.levels, 2) > 0).all()  # closer near the minimum
    for level, segments in zip(display.contours_.levels, display.contours_.allsegs, strict=True):
        points = np.vstack(segments)
        on_them = points[:, 1] ** 2 + (points[:, 0] - 0.5) ** 2
        np.testing.assert_allclose(on_them, level, atol=0.02)
    assert ax.get_title() == "J"


def test_trails_end_in_a_large_mark(ax):
    trails = {"gradient": [[0.0, 0.0], [0.5, 1.0]], "descent": [[1.0, 1.0], [0.5, 0.0], [0.4, 0.0]]}
    LandscapeDisplay(W1, W2, VALUES, trails=trails).plot(ax)
    ways, ends = ax.lines[::2], ax.lines[1::2]
    for name, way, end in zip(trails, ways, ends, strict=True):
        np.testing.assert_array_equal(way.get_xydata(), trails[name])
        np.testing.assert_array_equal(end.get_xydata(), trails[name][-1:])
        assert end.get_markersize() > way.get_markersize()
    assert ways[0].get_color() == method_styles(["gradient"])["gradient"].color
