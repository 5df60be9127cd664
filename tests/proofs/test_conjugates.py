"""Losses, conjugates and parabolas in balls: against their definitions, and against the losses of the package."""

import numpy as np
import pytest

pytest.importorskip("flint")
from flint import arb, ctx, fmpq

from cvxproof.proofs.balls import BITS, INFINITE, Refuted
from specmargin import losses
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.optima.minorants import ExpEnvelope, minorant
from specmargin.proofs.conjugates import (
    box,
    branch,
    conjugate,
    margin_conjugate,
    parabola_top,
    touch,
    unlabeled_value,
    value,
)

LOSSES = {
    "hinge": (losses.Hinge(), 1.0),
    "squared_hinge": (losses.SquaredHinge(), 1.0),
    "squared": (losses.Squared(), 1.0),
    "huber_hinge": (losses.HuberHinge(0.3), 0.3),
    "smooth_hinge": (losses.SmoothHinge(7.0), 7.0),
    "exp_envelope": (ExpEnvelope(2.5), 2.5),
}
UNLABELED = {
    "symmetric_hinge": (losses.SymmetricHinge(), 1.0),
    "symmetric_squared_hinge": (losses.SymmetricSquaredHinge(), 1.0),
    "exp": (losses.ExpSquared(2.5), 2.5),
    "symmetric_ramp": (losses.SymmetricRamp(-0.25), 0.25),
}
GRID = np.linspace(-3, 3, 49)


@pytest.fixture(autouse=True)
def precision():
    with ctx.workprec(BITS):
        yield


@pytest.mark.parametrize("name", LOSSES)
def test_values_are_those_of_the_package(name):
    loss, p = LOSSES[name]
    found = [float(value(name, arb(p), 1 - arb(t))) for t in GRID]
    assert found == pytest.approx(loss.value(GRID).tolist(), rel=1e-14, abs=1e-15)


def test_values_in_rationals():
    third = arb(fmpq(1, 3))
    exact = {
        "hinge": fmpq(1, 3),
        "squared_hinge": fmpq(1, 9),
        "squared": fmpq(1, 9),
        "huber_hinge": fmpq(25, 72),  # (1/3 + 1/2)^2 / 2
    }
    for name, known in exact.items():
        assert value(name, arb(0.5), third).overlaps(arb(known))
        assert abs(value(name, arb(0.5), third) - arb(known)) < 1e-70
        assert value(name, arb(0.5), arb(-1)) == (1 if name == "squared" else 0)
    assert value("huber_hinge", arb(0.5), arb(2)) == 2
    exact = (1 + arb(2).exp()).log() / 3
    assert abs(value("smooth_hinge", arb(3), arb(2) / 3) - exact) < 1e-70
    assert abs(value("smooth_hinge", arb(3), -arb(2) / 3) - (1 + arb(-2).exp()).log() / 3) < 1e-70
    assert abs(value("smooth_hinge", arb(20), arb(1e9)) - 1e9) < 1e-60


@pytest.mark.parametrize("name", UNLABELED)
def test_values_of_decisions_are_those_of_the_package(name):
    loss, p = UNLABELED[name]
    found = [float(unlabeled_value(name, arb(p), arb(f))) for f in GRID]
    assert found == pytest.approx(loss.value(GRID).tolist(), rel=1e-14, abs=1e-15)
    assert abs(unlabeled_value("exp", arb(2), arb(fmpq(1, 3))) - (-arb(fmpq(2, 9))).exp()) < 1e-70


def test_what_is_not_covered_is_refuted():
    for name in ("ramp", "hinge", "squared", "", "symmetric_"):
        with pytest.raises(Refuted, match=f"the loss '{name}' is not covered"):
            unlabeled_value(name, arb(1), arb(0))
        with pytest.raises(Refuted, match=f"no parabola is known below the loss '{name}'"):
            parabola_top(name, arb(1), arb(1))
        with pytest.raises(Refuted, match=f"the loss '{name}' is not covered"):
            branch(name)
    for name in ("ramp", "exp", "symmetric_hinge", ""):
        with pytest.raises(Refuted, match=f"the loss '{name}' is not covered"):
            conjugate(name, arb(1), arb(0.5))


@pytest.mark.parametrize("s", [-0.9, -0.25])
def test_the_ramp_is_that_of_two_ramps(s):
    ramp, f = losses.Ramp(s), np.linspace(-2, 2, 81)
    two = ramp.value(f) + ramp.value(-f) - (1 - s)
    found = [float(unlabeled_value("symmetric_ramp", arb(-s), arb(x))) for x in f.tolist()]
    assert np.allclose(found, two, atol=1e-14)


@pytest.mark.parametrize("name", LOSSES)
def test_conjugates_are_infima(name):
    loss, p = LOSSES[name]
    low, high = (float(x) for x in box(name, arb(p)))
    assert (low, high) == (loss.lower, pytest.approx(loss.upper, rel=1e-15))
    wide = np.linspace(-40, 40, 160001)
    for beta in np.linspace(max(low, -3.0), min(high * (1 - 1e-15), 3.0), 23):
        found = float(conjugate(name, arb(p), arb(beta)))
        least = float((loss.value(wide) + beta * wide).min())
        assert found <= least + 1e-12
        assert found == pytest.approx(least, abs=2e-3 if beta in (low, high) else 1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_conjugates_meet_their_losses_to_seventy_digits(name):
    p = arb(LOSSES[name][1])
    slopes = {
        "hinge": lambda t: arb(1) if t < 1 else arb(0),
        "squared_hinge": lambda t: 2 * (1 - t).max(arb(0)),
        "squared": lambda t: 2 * (1 - t),
        "huber_hinge": lambda t: ((1 - t + p) / (2 * p)).max(arb(0)).min(arb(1)),
        "smooth_hinge": lambda t: 1 / (1 + (-p * (1 - t)).exp()),
        "exp_envelope": lambda t: 2 * p * t * (-p * t**2).exp() if t > touch(p)[0] else touch(p)[1].lower(),
    }
    for t in (-1.25, 0.125, 0.5, 0.75, 0.875, 1.125, 2.5):
        beta = slopes[name](arb(t))
        below = value(name, p, 1 - arb(t)) + beta * t - conjugate(name, p, beta)
        assert abs(below) < 1e-70


def test_conjugates_outside_their_box_are_minus_infinity():
    for name, (_, p) in LOSSES.items():
        low, high = box(name, arb(p))
        for beta in (low - 1e-30, high + 1e-30):
            if abs(beta) < INFINITE:
                assert conjugate(name, arb(p), beta) == -INFINITE
        assert conjugate(name, arb(p), arb(0.5)) > 0
    assert conjugate("smooth_hinge", arb(3), arb(0)) == 0
    assert conjugate("smooth_hinge", arb(3), arb(1)) == 1
    assert conjugate("exp_envelope", arb(3), arb(0)) == 0
    assert not conjugate("hinge", arb(1), arb(1, 1e-9)) > -INFINITE


def test_the_line_touches_the_envelope():
    p = arb(2.5)
    t, slope = touch(p)
    assert abs(1 - slope * t - (-p * t**2).exp()) < 1e-70
    assert abs(slope - 2 * p * t * (-p * t**2).exp()) < 1e-70
    assert t > 0.1
    assert box("exp_envelope", p)[1] <= slope


@pytest.mark.parametrize("name", UNLABELED)
def test_heights_are_minima(name):
    loss, p = UNLABELED[name]
    wide = np.linspace(0, 20, 200001)
    for theta in (0.0, 0.125, 0.5, 1.0, 1.5, 4.75, 5.5, 100.0):
        found = float(parabola_top(name, arb(p), arb(theta)))
        least = float((loss.value(wide) + theta * wide**2 / 2).min())
        assert found <= least + 1e-12
        assert found == pytest.approx(least, abs=1e-7)
        assert found == pytest.approx(float(minorant(loss).value(np.array(theta))), rel=1e-14)


def test_heights_in_rationals():
    assert parabola_top("symmetric_squared_hinge", arb(1), arb(2)) == 0.5
    assert parabola_top("symmetric_hinge", arb(1), arb(0.5)) == 0.25
    assert parabola_top("symmetric_hinge", arb(1), arb(4)) == 0.875
    assert parabola_top("exp", arb(2), arb(0)) == 0
    assert parabola_top("exp", arb(2), arb(9)) == 1
    x = arb(fmpq(1, 4))
    assert abs(parabola_top("exp", arb(2), arb(1)) - x * (1 - x.log())) < 1e-70
    # A multiplier that is known up to a radius has a parabola_top of that radius, on either side of the kink.
    assert parabola_top("symmetric_hinge", arb(1), arb(1, 1e-9)).contains(arb(0.5) - arb(4e-10))


@pytest.mark.parametrize("B", [0.25, 1.0, 1.5, np.inf])
def test_conjugates_of_relative_margins_are_those_of_the_package(B):
    with pytest.warns(UserWarning, match="below 1") if B < 1 else ctx.workprec(BITS):
        loss = RelativeMargin(2.0, B)
    for s in np.linspace(-3, 5, 33):
        found, known = margin_conjugate(arb(2), arb(B), arb(s)), float(loss.dual_value(np.array([s]))[0])
        assert float(found) == pytest.approx(known, rel=1e-14, abs=1e-14)
    if np.inf == B:
        assert margin_conjugate(arb(2), arb(B), arb(2)) == 2
        assert margin_conjugate(arb(2), arb(B), arb(0)) == 0
        assert margin_conjugate(arb(2), arb(B), arb(2) + 1e-30) == -INFINITE
