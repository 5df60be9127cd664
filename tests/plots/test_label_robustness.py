"""The share of predictions that survive false labels, and the labels that matter most, in pictures."""

import numpy as np
import pytest

import specmargin as sm
from specmargin.plots import LabelRobustnessDisplay


@pytest.fixture(scope="module")
def fitted():
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    return X, sm.SpectralRidge(class_balance=None).fit(X, sm.hide_labels(truth, per_class=3, random_state=0))


def test_lines_are_the_shares_that_survive(ax, fitted):
    _, clf = fitted
    robust = clf.label_robustness()
    display = LabelRobustnessDisplay({"ridge": robust, "one": robust}).plot(ax, title="moons")
    assert len(display.lines_) == 2
    for line in display.lines_:
        r = line.get_xdata()
        np.testing.assert_array_equal(r, np.arange(len(r)))
        np.testing.assert_allclose(line.get_ydata(), [100 * robust.share(k) for k in range(len(r))])
        assert len(r) == 7 or line.get_ydata()[-1] == 0
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ridge", "one"]


def test_labels_have_the_area_of_what_they_decide(ax, fitted):
    X, clf = fitted
    robust = clf.label_robustness()
    LabelRobustnessDisplay({"ridge": robust}).plot_labels(X, ax=ax)
    samples, labels, *named = ax.collections
    np.testing.assert_array_equal(labels.get_offsets(), X[robust.labeled])
    np.testing.assert_allclose(labels.get_sizes(), 16 + 400 * robust.influence)
    opacity = samples.get_facecolors()[:, 3]
    assert (np.diff(opacity[np.argsort(robust.radius)]) >= 0).all()
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    most = robust.influence.max()
    survived = [f"survives {k}" + " or more" * bool(k == 3) for k in np.unique(np.minimum(robust.radius - 1, 3))]
    assert words == [one.get_label() for one in named] == [*survived, "decides 0%", f"decides {most:.0%}"]
    shades = [one.get_facecolors()[0, 3] for one in named[:-2]]
    np.testing.assert_allclose(shades, np.unique(opacity))
    assert [one.get_sizes()[0] for one in named[-2:]] == [16.0, pytest.approx(16 + 400 * most)]
    assert not any(len(one.get_offsets()) for one in named)


def test_wrong_input_is_named(ax, fitted):
    X, clf = fitted
    with pytest.raises(ValueError, match="X has 59 points for 60 predictions; pass one each"):
        LabelRobustnessDisplay({"a": clf.label_robustness()}).plot_labels(X[1:], ax=ax)
