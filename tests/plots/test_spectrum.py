from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from specmargin.plots import SpectrumDisplay, method_styles

Q = 40
ORDERED = np.r_[5.0, 0.7 ** np.arange(Q - 1)]
FREE = np.r_[3.0, np.zeros(Q - 1)]
FREE[[7, 20, 33]] = [0.2, 0.5, 0.3]


def curves(ax, name):
    """Lines of one method, by colour: step curve, markers."""
    color = method_styles([name])[name].color
    return [line for line in ax.lines if line.get_color() == color]


def test_curve_is_the_shares_from_the_second_weight_on(ax):
    SpectrumDisplay({"STORM": ORDERED}).plot(ax, floor=1e-9)
    step = next(line for line in curves(ax, "STORM") if line.get_drawstyle() == "steps-mid")
    np.testing.assert_array_equal(step.get_xdata(), np.arange(2, Q + 1))
    np.testing.assert_allclose(step.get_ydata(), ORDERED[1:] / ORDERED[1:].sum())
    assert "left out" in ax.get_xlabel()


def test_markers_lie_on_the_curve(ax):
    SpectrumDisplay({"KTA": ORDERED, "STORM": ORDERED}).plot(ax, floor=1e-12)
    shares = dict(zip(np.arange(2, Q + 1), ORDERED[1:] / ORDERED[1:].sum(), strict=True))
    for name in ("KTA", "STORM"):
        marked = next(line for line in curves(ax, name) if line.get_linestyle() == "None")
        assert 4 <= len(marked.get_xdata()) <= 10
        for x, y in zip(marked.get_xdata(), marked.get_ydata(), strict=True):
            assert y == pytest.approx(shares[x])


def test_log_axis_ends_at_a_floor_that_is_named(ax):
    SpectrumDisplay({"STORM": ORDERED}).plot(ax, floor=1e-3)
    shares = ORDERED[1:] / ORDERED[1:].sum()
    first_below = int(np.flatnonzero(shares < 1e-3)[0])
    step = next(line for line in curves(ax, "STORM") if line.get_drawstyle() == "steps-mid")
    assert step.get_ydata().min() == 1e-3
    assert len(step.get_xdata()) == first_below + 1  # the curve ends where it reaches the floor
    assert ax.get_ylim()[0] < 1e-3
    (open_marker,) = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert open_marker.get_xdata().tolist() == [first_below + 2]
    assert open_marker.get_ydata().tolist() == [1e-3]
    ax.figure.draw_without_rendering()
    texts = {tick: label.get_text() for tick, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)}
    assert texts[1e-3] == r"$\leq 10^{-3}$"
    assert texts[0.1] == "$10^{-1}$"


def test_a_spectrum_without_order_is_drawn_as_stems_under_the_curves(ax):
    SpectrumDisplay({"STORM": ORDERED, "MKL": FREE}).plot(ax, title="Task")
    ax.figure.draw_without_rendering()
    assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1 - 3
    (stems,) = [item for item in ax.collections if isinstance(item, LineCollection)]
    segments = stems.get_segments()
    assert [segment[0, 0] for segment in segments] == [8, 21, 34]
    np.testing.assert_allclose([segment[1, 1] for segment in segments], [0.2, 0.5, 0.3])
    assert all(segment[0, 1] == 1e-6 for segment in segments)
    step = next(line for line in curves(ax, "STORM") if line.get_drawstyle() == "steps-mid")
    assert stems.get_zorder() < step.get_zorder()
    zeros = next(line for line in ax.lines if line.get_marker() == "|")
    assert len(zeros.get_xdata()) == Q - 1 - 3


def test_rounding_of_a_solver_does_not_break_the_order(ax):
    noisy = ORDERED + 1e-9 * np.random.default_rng(0).standard_normal(Q)
    SpectrumDisplay({"STORM": np.maximum(noisy, -1e-12)}).plot(ax)
    assert not [item for item in ax.collections if isinstance(item, LineCollection)]


def test_the_legend_is_outside_the_axes(ax):
    display = SpectrumDisplay({"STORM": ORDERED, "MKL": FREE}).plot(ax, title="Task")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    ax.figure.draw_without_rendering()
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["STORM", "MKL"]
    assert legend.get_window_extent().y0 >= ax.get_window_extent().y1 - 1
    # Stems have no line to show.
    assert [handle.get_linestyle() for handle in display.legend_handles()] == ["-", "None"]


def test_all_weight_on_the_constant_eigenvector_is_drawn_at_the_floor(ax):
    SpectrumDisplay({"STORM": np.r_[1.0, np.zeros(9)]}).plot(ax)
    ax.figure.draw_without_rendering()
    assert [line.get_ydata().tolist() for line in ax.lines if line.get_markerfacecolor() == "white"] == [[1e-6]]


def test_estimators_of_any_length_on_a_linear_axis(ax):
    learned = {"KTA": SimpleNamespace(delta_=ORDERED[:9]), "MKL": SimpleNamespace(delta_=FREE)}
    SpectrumDisplay.from_estimators(learned, ax=ax, scale="linear", legend=False)
    assert len(curves(ax, "KTA")[0].get_xdata()) == 8
    (stems,) = ax.collections
    assert all(segment[0, 1] == 0.0 for segment in stems.get_segments())
    assert (ax.get_yscale(), ax.get_ylim()[0], ax.get_legend()) == ("linear", 0.0, None)
    assert ax.get_xlim()[1] > Q
    with pytest.raises(ValueError, match=r"'KTA' \(SimpleNamespace\) has no delta_: fit it first"):
        SpectrumDisplay.from_estimators({"KTA": SimpleNamespace()})
    with pytest.raises(TypeError, match=r"names none; give at least one, e\.g\. \{\"STORM\": storm\}"):
        SpectrumDisplay.from_estimators(learned["KTA"])


@pytest.mark.parametrize(
    ("spectra", "options", "message"),
    [
        ({"A": [1.0, -0.1]}, {}, r"spectra\['A'\] is negative at index 1 \(-0.1\)"),
        ({"A": [1.0]}, {}, r"spectra\['A'\] has 1 weights; give two or more"),
        ({"A": ORDERED}, {"scale": "cubic"}, "scale='cubic' is unknown"),
        ({"A": ORDERED}, {"floor": 0.0}, "floor=0.0"),
    ],
)
def test_wrong_spectra_and_options_are_named(ax, spectra, options, message):
    with pytest.raises(ValueError, match=message):
        SpectrumDisplay(spectra).plot(ax, **options)
