"""The four panels draw what the record holds; every mark is in a legend, every axis has a label."""

import numpy as np
import pytest
from matplotlib.axes import Axes

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.plots import subplots
from specmargin.tables.plots import DiagnosisDisplay


def diagnosis(n_classes=2, n_labeled=24):
    rng = np.random.default_rng(0)
    truth = np.arange(120) % n_classes
    X = rng.standard_normal((120, 3))
    X[:, 0] += 4.0 * truth
    return sm.diagnose(X, sm.hide_labels(truth, n_labeled=n_labeled, random_state=0))


@pytest.fixture
def axes():
    return subplots(2, 2)[1]


def test_panels_draw_the_numbers(axes):
    d = diagnosis()
    display = DiagnosisDisplay(d).plot(axes)
    embedded, eigenvalues, hubs, chance = display.axes_
    drawn = np.vstack([part.get_offsets() for part in embedded.collections])
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(d.embedding, axis=0))
    assert [len(part.get_offsets()) for part in embedded.collections] == [96, *d.label_counts.values()]
    assert eigenvalues.lines[0].get_ydata().tolist() == list(d.gap.eigenvalues)
    band = eigenvalues.collections[0].get_paths()[0].get_extents()
    assert (band.ymin, band.ymax) == (d.gap.low, d.gap.high)
    assert sum(bar.get_height() for bar in hubs.patches) == 120
    random, own = (line.get_xdata() for line in chance.lines)
    assert own[:2].tolist() == [d.edges.share, d.nearest.share]
    assert random[2] == d.evidence.graph.by_chance
    assert [text.get_text() for text in chance.texts][2] == f"p = {d.evidence.graph.p_value:.2g}"


def test_every_axis_and_mark_has_a_name(axes):
    for ax in DiagnosisDisplay(diagnosis()).plot(axes.ravel()).axes_:
        assert ax.get_title()
        assert ax.get_xlabel()
        assert ax.get_legend() is not None
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels
        assert not any(label.startswith("_") for label in labels)


@pytest.mark.parametrize(("n_classes", "named"), [(2, ["unlabelled", "0", "1"]), (12, ["unlabelled", "labelled (12 "])])
def test_legend_names_the_classes_that_can_be_told_apart(axes, n_classes, named):
    ax = DiagnosisDisplay(diagnosis(n_classes, 40)).plot(axes).axes_[0]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(labels) == len(named)
    assert all(label.startswith(start) for label, start in zip(labels, named, strict=True))


def test_without_labels_and_with_a_given_graph(axes):
    display = sm.diagnose(graph=np.ones((6, 6)) - np.eye(6)).plot(axes)
    assert display.axes_[2].get_xlabel() == "edges"
    assert display.axes_[3].texts[0].get_text() == "no labels to compare"


def test_new_figure_and_wrong_arguments():
    display = diagnosis().plot()
    assert all(isinstance(ax, Axes) for ax in display.axes_)
    with pytest.raises(InvalidInputError, match="four Axes"):
        display.plot(display.axes_[:2])
    with pytest.raises(InvalidTypeError, match=r"specmargin\.diagnose"):
        DiagnosisDisplay(3)
