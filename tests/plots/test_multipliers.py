"""Multipliers of the hinge's dual: the staircase, and the samples that carry them."""

import numpy as np
import pytest

import specmargin as sm
from specmargin.plots import MultiplierDisplay

BETA, MARGIN, SIGN = [1.0, 0.4, 0.0, 1.0], [0.2, 1.0, 1.3, -0.5], [1, -1, 1, -1]


def test_an_optimum_lies_on_the_staircase():
    X, truth = sm.datasets.make_two_moons(n_samples=80, noise=0.2, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(truth, per_class=6, random_state=0))
    obj = sm.objectives.LapSVM(sm.kernels.gram(X, gamma=2.0), None, labels, gamma_A=0.3)
    fit = sm.solvers.factorized(obj, tol=1e-12).variables
    margin = labels.sign * fit["f"][labels.labeled]
    assert MultiplierDisplay(fit["beta"], margin, labels.sign).distance().max() < 1e-8
    assert MultiplierDisplay(fit["beta"], margin + 0.1, labels.sign).distance().max() > 0.05


@pytest.mark.parametrize(
    ("margin", "beta", "distance"),
    [(0.3, 1.0, 0.0), (1.0, 0.3, 0.0), (2.0, 0.0, 0.0), (1.5, 0.2, 0.2), (1.3, 0.9, 0.3), (0.0, 0.5, 0.5)],
)
def test_distance_in_closed_form(margin, beta, distance):
    assert MultiplierDisplay([beta], [margin], [1]).distance()[0] == pytest.approx(distance, abs=1e-12)


def test_notes_and_the_staircase(ax):
    display = MultiplierDisplay(BETA, MARGIN, SIGN).plot(ax, notes={3: "wrong label"}, title="slackness")
    assert display.ax_ is ax
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), np.column_stack([MARGIN, BETA]))
    assert [text.get_text() for text in ax.texts] == ["wrong label"]


def test_samples_are_as_large_as_their_multipliers(ax):
    X = np.arange(8.0).reshape(4, 2)
    MultiplierDisplay(BETA, MARGIN, SIGN).plot_points(X, ax)
    weighted, crosses = ax.collections
    np.testing.assert_allclose(weighted.get_sizes() / weighted.get_sizes()[0], [1.0, 0.4, 1.0])
    np.testing.assert_array_equal(crosses.get_offsets(), X[[2]])
    with pytest.raises(ValueError, match="X has 3 points for 4 multipliers"):
        MultiplierDisplay(BETA, MARGIN, SIGN).plot_points(X[:3], ax)
