from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives import SpectrumMargin
from specmargin.plots import SpectrumPathDisplay, subplots
from specmargin.solvers.spectrum.path import spectrum_path

K, Q = 9, 30
CS = np.logspace(-2, 2, K)
DELTAS = np.exp(-np.subtract.outer(np.zeros(K), -np.arange(Q)) / np.linspace(0.3, 6, K)[:, None])
DELTAS /= DELTAS.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def objective():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 12, (X[:, 0] > 0).astype(int), -1)
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=12, normalized=False)
    return SpectrumMargin(spectrum, sm.encode_labels(y), B=1.5)


def test_map_holds_the_shares_and_leaves_small_ones_white(ax):
    display = SpectrumPathDisplay(CS, DELTAS).plot(ax)
    shares = DELTAS[:, 1:] / DELTAS[:, 1:].sum(axis=1, keepdims=True)
    drawn = display.mesh_.get_array()
    assert drawn.shape == (Q - 1, K)
    np.testing.assert_array_equal(np.ma.getmaskarray(drawn), shares.T < 1e-4)
    np.testing.assert_allclose(drawn.compressed(), shares.T[shares.T >= 1e-4])
    assert display.mesh_.get_clim() == (1e-4, 1.0)
    # An ordered spectrum: a column is masked from some index on.
    assert (np.diff(np.ma.getmaskarray(drawn).astype(int), axis=0) >= 0).all()


def test_cells_lie_around_their_C_and_index(ax):
    display = SpectrumPathDisplay(CS, DELTAS).plot(ax)
    corners = display.mesh_.get_coordinates()
    x, y = corners[0, :, 0], corners[:, 0, 1]
    assert ((x[:-1] < CS) & (x[1:] > CS)).all()
    np.testing.assert_allclose(np.sqrt(x[:-1] * x[1:]), CS)
    np.testing.assert_array_equal(y, np.arange(2, Q + 2) - 0.5)
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlim() == display.strips_[0].get_xlim() == pytest.approx((x[0], x[-1]))
    assert "per unit mean kernel diagonal" in display.ax_.get_xlabel()
    assert display.ax_.get_ylabel() == "eigenvector index $i$"


def test_equal_weights_count_as_their_number(ax):
    deltas = np.zeros((3, 8))
    deltas[0, 1:2], deltas[1, 1:6], deltas[2, 0] = 0.7, 0.1, 1.0
    display = SpectrumPathDisplay([1.0, 2.0, 3.0], deltas).plot(ax)
    np.testing.assert_allclose(display.effective(), [1.0, 5.0, np.nan])
    (curve,) = display.strips_[0].lines
    np.testing.assert_array_equal(curve.get_ydata(), display.effective())
    np.testing.assert_array_equal(curve.get_xdata(), [1.0, 2.0, 3.0])
    assert np.ma.getmaskarray(display.mesh_.get_array())[:, 2].all()  # nothing but the constant: white


def test_darker_means_more():
    """In grey, too."""
    display = SpectrumPathDisplay(CS, DELTAS).plot(subplots()[1][0, 0])
    rgb = display.mesh_.get_cmap()(np.linspace(0, 1, 64))[:, :3]
    assert (np.diff(rgb @ [0.2126, 0.7152, 0.0722]) < 0).all()
    assert rgb[0].min() < 0.98  # the least shown weight is not white, zero is


def test_nothing_overlaps():
    figure, axes = subplots(1, 2, width="page")
    displays = [
        SpectrumPathDisplay(CS, DELTAS, margins=1 / CS).plot(ax, title="Task", colorbar=ax is axes[0, 1])
        for ax in axes[0]
    ]
    figure.draw_without_rendering()
    for display in displays:
        stack = [display.ax_, *display.strips_]
        assert len(stack) == 3
        boxes = [ax.get_tightbbox(bbox_extra_artists=[]) for ax in stack]  # without the axes inside
        title = display.strips_[-1].title.get_window_extent()
        assert all(lower.y1 <= upper.y0 for lower, upper in pairwise(boxes))
        assert title.y0 >= display.strips_[-1].get_window_extent().y1
        assert title.y1 <= figure.bbox.y1
        assert display.strips_[0].get_window_extent().width == pytest.approx(display.ax_.get_window_extent().width)
        assert boxes[0].x0 >= 0
        assert min(box.x0 for box in boxes) >= 0
    assert displays[0].colorbar_ is None
    bar = displays[1].colorbar_.ax.get_tightbbox()
    assert bar.x0 >= displays[1].ax_.get_window_extent().x1
    assert bar.x1 <= figure.bbox.x1
    assert displays[0].ax_.get_tightbbox().x1 <= min(ax.get_tightbbox().x0 for ax in displays[1].strips_)


@pytest.mark.parametrize("margins", [1 / CS, np.full(K, 0.5), np.append(np.inf, np.linspace(1.2, 2.4, K - 1))])
def test_margin_axis_has_ticks_wherever_the_margin_lies(margins, ax):
    display = SpectrumPathDisplay(CS, DELTAS, margins=margins).plot(ax)
    strip = display.strips_[1]
    ax.figure.draw_without_rendering()
    low, high = strip.get_ylim()
    ticks = strip.get_yticks()
    assert 1 <= len(ticks) <= 3
    assert ((low <= ticks) & (ticks <= high)).all()


# From answers


def test_answers_give_the_path_of_cvxpy(objective, tol):
    Cs = [10.0, 0.1, 1.0]
    display = SpectrumPathDisplay.from_results(Cs, spectrum_path(objective, Cs))
    np.testing.assert_array_equal(display.Cs, np.sort(Cs))
    for k, C in enumerate(np.sort(Cs)):
        obj = SpectrumMargin(objective.spectrum, objective.labels, B=1.5, C=C)
        variables = sm.solve(sm.problems.storm(obj), tol_gap_rel=1e-11, tol_gap_abs=1e-11).variables
        np.testing.assert_allclose(display.deltas[k], variables["delta"], rtol=0, atol=tol["variables"])
        kept = variables["delta"] > 1e-9
        norm = np.sqrt((variables["v"][kept] ** 2 / variables["delta"][kept]).sum())
        assert display.margins[k] == pytest.approx(1 / norm, rel=1e-4)


def test_answers_that_are_not_certified_are_refused(objective):
    result = sm.solve(sm.problems.storm(objective))
    variables = dict(result.variables)
    wrong = SimpleNamespace(variables=variables, certificate=sm.Certificate(1.0, 0.9))
    with pytest.raises(ValueError, match=r"the answer for C=2 is not certified to 1e-06"):
        SpectrumPathDisplay.from_results([1.0, 2.0], [result, wrong])
    assert SpectrumPathDisplay.from_results([1.0, 2.0], [result, wrong], tol=0.2).deltas.shape == (2, 12)
    with pytest.raises(ValueError, match=r"2 results for Cs of the shape \(3,\)"):
        SpectrumPathDisplay.from_results([1.0, 2.0, 3.0], [result, wrong])


def test_no_margin_where_w_is_zero(objective, ax):
    flat = SimpleNamespace(
        variables={"delta": np.full(12, 1 / 12), "v": np.zeros(12)}, certificate=sm.Certificate(1.0, 1.0)
    )
    display = SpectrumPathDisplay.from_results([1.0, 2.0], [flat, sm.solve(sm.problems.storm(objective))]).plot(ax)
    assert display.margins[0] == np.inf
    assert np.isnan(display.strips_[1].lines[0].get_ydata()[0])


def test_paths_of_one_weight_are_refused():
    with pytest.raises(ValueError, match="Cs must be two or more positive numbers, increasing"):
        SpectrumPathDisplay([1.0], DELTAS[:1])
    with pytest.raises(ValueError, match=r"deltas has the shape \(9, 1\)"):
        SpectrumPathDisplay(CS, DELTAS[:, :1])
