"""Curves, draws of them, points and lines of reference."""

import numpy as np
import pytest
from matplotlib import colors

from specmargin.plots import PALETTE, CurveDisplay, method_styles, subplots

X = np.linspace(1.0, 3.0, 5)


def test_curves_keep_their_numbers_and_their_names(ax):
    display = CurveDisplay({"J": (X, X**2), "_bound": (X, X)}, points={"optimum": ([2.0], [4.0])})
    display.plot(ax, xlabel="w", ylabel="J", title="two", xlim=(0, None), ylim=(None, 9))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["J", "optimum"]
    np.testing.assert_array_equal(display.lines_["J"].get_xydata(), np.column_stack([X, X**2]))
    np.testing.assert_array_equal(display.lines_["optimum"].get_xydata(), [[2.0, 4.0]])
    assert display.lines_["optimum"].get_linestyle() == "None"
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("w", "J", "two")
    assert (ax.get_xlim()[0], ax.get_ylim()[1]) == (0, 9)
    CurveDisplay({"K": (X, X)}).plot(ax)  # over what is there
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("w", "J", "two")


def test_draws_are_thin_below_their_mean(ax):
    y = np.random.default_rng(0).uniform(size=(5, 7))
    display = CurveDisplay({"error": (X, y)}).plot(ax)
    assert len(ax.lines) == 8
    np.testing.assert_allclose(display.lines_["error"].get_ydata(), y.mean(axis=1))
    assert all(line.get_linewidth() < display.lines_["error"].get_linewidth() for line in ax.lines[:-1])
    assert len(ax.get_legend().get_texts()) == 1


def test_methods_look_as_everywhere_and_colours_can_be_given(ax):
    curves = {"STORM": (X, X), "mine": (X, -X)}
    display = CurveDisplay(curves, looks={"mine": "green"}).plot(ax, markers=True)
    assert display.lines_["STORM"].get_color() == method_styles(["STORM"])["STORM"].color
    assert colors.to_hex(display.lines_["mine"].get_color()) == PALETTE["green"].lower()
    assert display.lines_["STORM"].get_marker() == "o"
    same = method_styles(["KTA"])["KTA"]
    assert CurveDisplay(curves, looks={"mine": same}).looks["mine"] == same


def test_scales_steps_and_what_lies_between(ax):
    curves = {"low": (X, X), "high": (X, X + 1)}
    display = CurveDisplay(curves).plot(ax, xscale="symlog", yscale="log", between=("low", "high"), steps=True)
    assert (ax.get_xscale(), ax.get_yscale()) == ("symlog", "log")
    assert display.lines_["low"].get_drawstyle() == "steps-post"
    assert ax.collections[0].get_paths()[0].contains_point((1.5, 1.6))
    assert not ax.collections[0].get_paths()[0].contains_point((1.5, 2.6))


def test_a_scale_with_zero_begins_at_a_power_of_ten():
    for x, threshold in (([0.0, 0.4, 30.0], 0.1), ([0.0, 1e-5, 1.0], 1e-5), ([0.0, 0.0], 1.0)):
        axes = subplots(width="column")[1][0, 0]
        CurveDisplay({}, points={"gap": (x, x)}).plot(axes, xscale="symlog")
        assert axes.xaxis.get_transform().linthresh == pytest.approx(threshold)
        axes.figure.draw_without_rendering()


def test_lines_of_reference_are_told_apart(ax):
    CurveDisplay({"J": (X, X)}).plot(ax, vertical={"truth": 1.5}, horizontal={"optimum": 2.0}, legend="right")
    truth, optimum = ax.lines[-2:]
    assert truth.get_xdata() == [1.5, 1.5]
    assert optimum.get_ydata() == [2.0, 2.0]
    assert truth._dash_pattern != optimum._dash_pattern
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["J", "truth", "optimum"]
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_ticks_are_whole_for_counts_and_plain_over_a_few_decades(ax):
    CurveDisplay({"nodes": ([1, 2, 3], [5.0, 40.0, 2000.5])}).plot(ax, yscale="log")
    ax.figure.draw_without_rendering()
    assert all(tick == round(tick) for tick in ax.get_xticks())
    assert "100" in [label.get_text() for label in ax.get_yticklabels()]
    other = subplots(width="column")[1][0, 0]
    CurveDisplay({"gap": ([1, 2, 3], [1e-9, 1e-4, 1.0])}).plot(other, yscale="log")
    other.figure.draw_without_rendering()
    assert any("mathdefault" in label.get_text() for label in other.get_yticklabels())  # powers of ten


def test_an_axis_from_right_to_left_has_the_same_ticks():
    texts = []
    for x, ends in ((1e-5, (0.5e-5, 2.0)), (1e-2, (0.5e-2, 2.0))):
        for xlim in (ends, ends[::-1]):
            axes = subplots(width="column")[1][0, 0]
            CurveDisplay({"steps": ([x, 1.0], [10.0, 1.0])}).plot(axes, xscale="log", xlim=xlim)
            axes.figure.draw_without_rendering()
            texts.append(sorted(label.get_text() for label in axes.get_xticklabels()))
    assert texts[0] == texts[1]
    assert texts[2] == texts[3] != texts[0]


def test_unnamed_lines_of_reference_look_alike(ax):
    CurveDisplay({"J": (X, X)}).plot(ax, vertical={"_1": 1.5, "_2": 2.5}, horizontal={"_3": 1.2})
    assert len({line._dash_pattern[1][0] for line in ax.lines[-3:]}) == 1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["J"]
    other = subplots()[1][0, 0]
    CurveDisplay({"_J": (X, X)}).plot(other)
    assert other.get_legend() is None


def test_what_lies_between_is_between_two_curves(ax):
    with pytest.raises(ValueError, match="'K' is no curve"):
        CurveDisplay({"J": (X, X)}).plot(ax, between=("J", "K"))
