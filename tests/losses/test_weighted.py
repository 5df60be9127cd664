"""Losses with weights: values, slopes, and conjugates by brute force."""

import copy
import pickle

import numpy as np
import pytest

from specmargin.losses import LOSSES
from specmargin.losses.weighted import Weighted

C = np.array([0.25, 1.0, 3.0, 1e3])


@pytest.mark.parametrize("name", LOSSES)
def test_values_are_those_of_the_loss_times_weights(name):
    loss = Weighted(LOSSES[name], C)
    t = np.array([-2.0, 0.3, 0.999, 1.2])
    np.testing.assert_array_equal(loss.value(t), C * LOSSES[name].value(t))
    np.testing.assert_allclose(loss.value_of_slack(1.0 - t), loss.value(t), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(loss.value(np.column_stack([t, t]))[:, 1], loss.value(t))
    step = 1e-6
    slope = (loss.value(t + step) - loss.value(t - step)) / (2 * step)
    np.testing.assert_allclose(loss.gradient(t), slope, rtol=1e-5, atol=1e-6)
    if loss.smooth:
        bend = (loss.gradient(t + step) - loss.gradient(t - step)) / (2 * step)
        np.testing.assert_allclose(loss.curvature(t), bend, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.7, 1.0])
def test_the_dual_value_is_the_infimum(name, share):
    loss = Weighted(LOSSES[name], C)
    beta = share * C
    t = np.linspace(-30.0, 30.0, 600_001)
    least = np.array([(c * LOSSES[name].value(t) + b * t).min() for c, b in zip(C, beta, strict=True)])
    np.testing.assert_allclose(loss.dual_value(beta) / C, least / C, rtol=1e-6, atol=1e-6)
    assert np.isfinite(loss.dual_value(loss.upper)).all() or np.isinf(loss.upper).all()
    if np.isfinite(LOSSES[name].upper):
        assert (loss.dual_value(1.001 * loss.upper) == -np.inf).all()


def test_a_multiplier_on_its_bound_is_inside_whatever_the_quotient_rounds_to():
    c = 10.0 ** np.random.default_rng(0).uniform(-8, 8, 5000)
    assert np.isfinite(Weighted(LOSSES["hinge"], c).dual_value(c * 1.0)).all()


def test_a_loss_that_is_not_there_yet_is_no_recursion():
    with pytest.raises(AttributeError):
        _ = object.__new__(Weighted).slack_power


def test_copies_keep_the_facts():
    loss = Weighted(LOSSES["huber_hinge"], C)
    for again in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert again.piecewise_quadratic
        assert again.name == "huber_hinge"
        assert again.h == loss.h
        np.testing.assert_array_equal(again.upper, C)
