"""Losses of unlabelled decisions: differences, symmetry, the better of both labels, extreme scales."""

from types import SimpleNamespace

import numpy as np
import pytest

from specmargin.losses import (
    UNLABELED_LOSSES,
    ExpSquared,
    Hinge,
    Ramp,
    SmoothHinge,
    SquaredHinge,
    SymmetricHinge,
    SymmetricRamp,
    SymmetricSquaredHinge,
    get_unlabeled_loss,
)
from specmargin.losses.unlabeled import is_better_label

even = {**UNLABELED_LOSSES, "exp, s=5": ExpSquared(5.0), "symmetric_ramp, s=-0.3": SymmetricRamp(-0.3)}
losses = pytest.mark.parametrize("loss", even.values(), ids=even)
every = {**even, "ramp": Ramp(), "ramp, s=-0.8": Ramp(-0.8), "smooth_hinge, s=1": SmoothHinge(1.0)}


def away_from_kinks(rng, size=400):
    t = rng.uniform(-3.0, 3.0, size)
    kinks = np.array([-1.0, -0.8, -0.3, 0.0, 0.3, 1.0])
    return t[np.abs(t[:, None] - kinks).min(axis=1) > 1e-3]


@pytest.mark.parametrize("loss", every.values(), ids=every)
def test_gradient_and_curvature_are_difference_quotients(loss, rng):
    t, h = away_from_kinks(rng), 1e-4

    def quotient(g):  # of fourth order, so that 1e-7 is rounding and not h
        return (8 * (g(t + h) - g(t - h)) - (g(t + 2 * h) - g(t - 2 * h))) / (12 * h)

    np.testing.assert_allclose(loss.gradient(t), quotient(loss.value), rtol=0, atol=1e-9)
    np.testing.assert_allclose(loss.curvature(t), quotient(loss.gradient), rtol=0, atol=1e-9)


@losses
def test_it_is_even_and_falls_in_the_modulus(loss):
    f = np.linspace(0.0, 3.0, 301)
    assert (loss.value(f) == loss.value(-f)).all()
    assert (loss.gradient(f) == -loss.gradient(-f)).all()
    assert (loss.curvature(f) == loss.curvature(-f)).all()
    assert (np.diff(loss.value(f)) <= 0).all()
    assert (loss.gradient(f) <= 0).all()


@pytest.mark.parametrize(
    ("symmetric", "margin"), [(SymmetricHinge(), Hinge()), (SymmetricSquaredHinge(), SquaredHinge())]
)
def test_symmetric_losses_are_those_of_the_better_label(symmetric, margin):
    f = np.linspace(-3.0, 3.0, 601)
    np.testing.assert_allclose(symmetric.value(f), np.minimum(margin.value(f), margin.value(-f)), rtol=1e-15)


def test_ramp_is_the_difference_of_two_hinges():
    t = np.linspace(-3.0, 3.0, 601)
    np.testing.assert_allclose(
        Ramp(-0.4).value(t), np.maximum(1.0 - t, 0.0) - np.maximum(-0.4 - t, 0.0), rtol=1e-14, atol=1e-15
    )


@pytest.mark.parametrize("loss", every.values(), ids=every)
def test_any_scale_without_warnings(loss):
    t = np.concatenate([s * np.array([1e-300, 1e-150, 1e-8, 1.0, 1e8, 1e150, 1e300]) for s in (-1.0, 1.0)])
    with np.errstate(all="raise", under="ignore"):
        for values in (loss.value(t), loss.gradient(t), loss.curvature(t)):
            assert np.isfinite(values).all()


def test_no_loss_far_from_the_plane():
    for loss in even.values():
        for part in (loss.value, loss.gradient, loss.curvature):
            assert (part(np.array([-1e300, -30.0, 30.0, 1e300])) == 0).all()


@pytest.mark.parametrize(
    ("loss", "values"),
    [
        (SymmetricHinge(), [0.0, 0.5, 1.0, 0.75]),
        (SymmetricSquaredHinge(), [0.0, 0.25, 1.0, 0.5625]),
        (ExpSquared(), [np.exp(-12.0), np.exp(-0.75), 1.0, np.exp(-0.1875)]),
        (SymmetricRamp(-0.4), [0.0, 0.5, 0.6, 0.6]),
    ],
)
def test_values_at_chosen_decisions(loss, values):
    np.testing.assert_allclose(loss.value(np.array([-2.0, 0.5, 0.0, 0.25])), values, rtol=1e-15)


def test_the_slope_of_a_ramp_at_its_ends():
    f = np.array([0.3, 0.4, 1.0, -0.4, -1.0])
    assert SymmetricRamp(-0.4).gradient(f).tolist() == [0.0, -1.0, 0.0, 1.0, 0.0]


def test_facts_that_a_loss_does_not_state():
    assert SymmetricHinge().sharpness == SymmetricRamp().sharpness == 3.0
    assert not is_better_label(Hinge(), SimpleNamespace())
    assert not is_better_label(SimpleNamespace(), SymmetricHinge())


def test_losses_are_found_by_name_and_pass_through():
    assert get_unlabeled_loss("exp") == ExpSquared(3.0)
    assert get_unlabeled_loss("symmetric_ramp") == SymmetricRamp(0.0)
    own = ExpSquared(7.0)
    assert get_unlabeled_loss(own) is own
