"""Ticks: plain numbers, whole numbers, and those that were asked for."""

import pytest

from specmargin.plots import subplots
from specmargin.plots.ticks import plain_ticks, ticks_at, whole_ticks


def shown(axis):
    """Return the texts of the ticks within the axis."""
    low, high = axis.get_view_interval()
    places = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    return [label.get_text() for place, label in places if low <= place <= high]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.008, 0.05, {"0.01", "0.02", "0.03", "0.05"}),
        (0.1, 20, {"0.1", "0.3", "1", "3", "10"}),
        (1, 1e5, {"1", "1000"}),
    ],
)
def test_plain_ticks_are_numbers_in_any_range(low, high, expected):
    figure, axes = subplots()
    axes[0, 0].set(yscale="log", ylim=(low, high))
    plain_ticks(axes[0, 0].yaxis)
    figure.canvas.draw()
    shown = {label.get_text() for label in axes[0, 0].get_yticklabels() if low <= label.get_position()[1] <= high}
    assert expected <= shown
    assert len(shown) <= 7
    assert not axes[0, 0].yaxis.get_minorticklabels()


@pytest.mark.parametrize("high", [1.2, 11, 1000])
def test_what_is_counted_has_whole_ticks(high):
    figure, axes = subplots()
    axis = axes[0, 0].xaxis
    axes[0, 0].set(xlim=(0.8, high))
    whole_ticks(axis)
    figure.canvas.draw()
    places = shown(axis)
    assert 1 <= len(places) <= 7
    assert all(float(place.replace("\N{MINUS SIGN}", "-")).is_integer() for place in places)
    assert not axis.get_minorticklabels()


def test_ticks_stand_where_they_are_asked_for():
    figure, axes = subplots()
    axis = axes[0, 0].xaxis
    axes[0, 0].set(xscale="log", xlim=(0.01, 200.0))
    ticks_at(axis, [0.02, 1.5, 100])
    figure.canvas.draw()
    assert shown(axis) == ["0.02", "1.5", "100"]
    ticks_at(axis, [0.02, 100], ["0", "all"])
    figure.canvas.draw()
    assert shown(axis) == ["0", "all"]
    assert not len(axis.get_minorticklocs())
