"""Pictures of a comparison: what is drawn where, and colours that a page can change."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from specmargin.plots import subplots
from specmargin.tables.plots.assessment import draw_confusion, draw_errors, draw_learning_curve, inline_svg


def test_errors_have_intervals_and_a_baseline() -> None:
    _, axes = subplots(width="column")
    ax = axes[0, 0]
    draw_errors(ax, ["a", "a very long name of a method indeed"], [0.1, 0.2], [(0.05, 0.2), (0.1, 0.4)], 0.1)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "a very long name of a m…"]
    assert ax.get_legend() is not None
    assert ax.get_xlabel()
    segments = ax.collections[0].get_segments()
    assert [segment[:, 0].tolist() for segment in segments] == [[0.05, 0.2], [0.1, 0.4]]


def test_confusion_counts() -> None:
    _, axes = subplots(width="column")
    draw_confusion(axes[0, 0], np.array([[5, 1], [0, 4]]), ["no", "yes"])
    assert [text.get_text() for text in axes[0, 0].texts] == ["5", "1", "0", "4"]
    assert (axes[0, 0].get_xlabel(), axes[0, 0].get_ylabel()) == ("decided", "label")


def luminance(parts: np.ndarray) -> float:
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def rgb(color: str) -> np.ndarray:
    return np.array([int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)])


@pytest.mark.parametrize(
    ("panel", "blue", "text"), [("#ffffff", "#0072b2", "#1b1f24"), ("#1d2126", "#58b4ee", "#e7eaee")]
)
def test_counts_can_be_read_on_a_light_and_on_a_dark_page(panel: str, blue: str, text: str) -> None:
    """Contrast as WCAG defines it, at least 4.5, of the page's colours."""
    _, axes = subplots(width="column")
    draw_confusion(axes[0, 0], np.array([[5, 1], [0, 4]]), ["no", "yes"])
    assert {one.get_color() for one in axes[0, 0].texts} == {"black"}
    for square in axes[0, 0].patches:
        opacity = square.get_facecolor()[3]
        low, high = sorted([luminance(opacity * rgb(blue) + (1 - opacity) * rgb(panel)), luminance(rgb(text))])
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_learning_curve_and_svg() -> None:
    figure, axes = subplots(width="column")
    sizes, errors = np.array([5, 10]), {"AutoSSL": np.array([0.2, 0.1]), "baseline": np.array([0.3, 0.2])}
    draw_learning_curve(axes[0, 0], sizes, errors, {name: 0.1 * values for name, values in errors.items()})
    first, second = inline_svg(figure, 'a "curve" & more'), inline_svg(figure, "again")
    root = ET.fromstring(first)
    assert root.attrib["aria-label"] == 'a "curve" & more'
    assert "var(--panel)" in first
    assert "#0072b2" not in first
    names = [set(re.findall(r'id="([^"]*)"', text)) for text in (first, second)]
    assert names[0]
    assert not names[0] & names[1]
    assert {name[1:] for name in re.findall(r'href="(#[^"]*)"', first)} <= names[0]
