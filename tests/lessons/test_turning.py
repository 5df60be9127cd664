"""A picture that is turned: a strip without ipywidgets, a slider with it, and what is refused."""

import sys
import types

import pytest
from matplotlib.figure import Figure
from teaching import slider


def draw(ax, value):
    ax.plot([0, 1], [0, value])
    ax.set(title=f"slope {value}", ylabel="line")


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # as if it were not installed


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("values", [[1, 2, 5], [3]])
def test_a_strip_has_a_picture_for_each_value(values):
    figure = slider(draw, values, name="slope")
    assert [ax.get_title() for ax in figure.axes] == [f"slope {value}" for value in values]
    assert [ax.lines[0].get_ydata()[1] for ax in figure.axes] == values
    assert [ax.get_ylabel() for ax in figure.axes] == ["line"] + [""] * (len(values) - 1)


def test_a_slider_draws_the_value_that_is_chosen(monkeypatch):
    """The part of ipywidgets that is used, so that this runs where ipywidgets is missing."""
    displayed = []
    monkeypatch.setattr("IPython.display.display", displayed.append)
    parts = {"SelectionSlider": lambda **given: given, "interactive": lambda show, value: (show, value)}
    monkeypatch.setitem(sys.modules, "ipywidgets", types.SimpleNamespace(**parts))
    show, turned = slider(draw, [1, 2.5], name="slope")
    assert turned == {"options": [("1", 1), ("2.5", 2.5)], "description": "slope"}
    show(2.5)
    (figure,) = displayed
    assert [ax.get_title() for ax in figure.axes] == ["slope 2.5"]


def test_the_slider_of_ipywidgets_draws_what_it_is_set_to(monkeypatch):
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed; no lesson needs it")
    displayed = []
    monkeypatch.setattr("IPython.display.display", displayed.append)
    turned = slider(draw, [1, 2, 5], name="slope")
    turned.children[0].value = 5
    turned.update()
    assert isinstance(displayed[-1], Figure)
    assert displayed[-1].axes[0].get_title() == "slope 5"


def test_wrong_input_is_named():
    with pytest.raises(TypeError, match="draw=3 cannot be called"):
        slider(3, [1], name="slope")
    with pytest.raises(ValueError, match="holds none"):
        slider(draw, [], name="slope")
