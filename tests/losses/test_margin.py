"""Losses against differences and brute-force minimisation; their CVXPY side is in `problems/test_expressions.py`."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from specmargin.losses import LOSSES, Hinge, HuberHinge, SmoothHinge, Squared, SquaredHinge, get_loss

losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def away_from_kinks(rng, size=200):
    t = rng.uniform(-4.0, 4.0, size)
    return t[(np.abs(t - 1.0) > 1e-2) & (np.abs(np.abs(t - 1.0) - 0.5) > 1e-2)]


@losses
def test_gradient_is_the_difference_quotient(loss, rng, tol):
    t, h = away_from_kinks(rng), 1e-5
    quotient = (loss.value(t + h) - loss.value(t - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(t), quotient, rtol=0, atol=tol["gradient"])


@losses
def test_curvature_is_the_difference_quotient_of_the_gradient(loss, rng, tol):
    t, h = away_from_kinks(rng), 1e-5
    quotient = (loss.gradient(t + h) - loss.gradient(t - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(t), quotient, rtol=0, atol=tol["gradient"])


@losses
def test_gradient_at_the_kink_is_a_subgradient(loss):
    at_kink, t = np.array([1.0]), np.linspace(-5, 5, 101)
    assert (loss.value(t) >= loss.value(at_kink) + loss.gradient(at_kink) * (t - 1.0) - 1e-15).all()


@losses
@given(beta=st.floats(-3.0, 3.0))
def test_dual_value_is_the_least_of_loss_plus_line(loss, beta):
    conjugate = float(loss.dual_value(np.array([beta]))[0])

    def slanted(t):
        return float(loss.value(np.array([t]))[0]) + beta * t

    if not loss.lower <= beta <= loss.upper:
        assert conjugate == -np.inf
        # Far out on one side the line wins against the loss.
        miss = min(abs(beta - bound) for bound in (loss.lower, loss.upper))
        assume(miss > 1e-6)
        assert min(slanted(1e4 / miss), slanted(-1e4 / miss)) < -1e3
        return
    # Far out, too: the infimum of a loss with an asymptote lies anywhere, or nowhere.
    far = np.geomspace(10, 1e4, 200)
    grid = np.concatenate([-far[:0:-1], np.linspace(-10, 10, 4001), far[1:]])
    least = int(np.argmin(loss.value(grid) + beta * grid))
    between = (grid[max(least - 2, 0)], grid[min(least + 2, len(grid) - 1)])
    minimum = minimize_scalar(slanted, bounds=between, method="bounded", options={"xatol": 1e-10})
    assert conjugate == pytest.approx(min(minimum.fun, slanted(grid[least])), abs=1e-8)
    assert conjugate <= slanted(grid[least]) + 1e-12  # a bound on every point of the grid


@pytest.mark.parametrize(
    ("loss", "values"),
    [
        (Hinge(), [3.0, 1.0, 0.0, 0.0]),
        (SquaredHinge(), [9.0, 1.0, 0.0, 0.0]),
        (Squared(), [9.0, 1.0, 0.0, 4.0]),
        (HuberHinge(), [3.0, 1.0, 0.125, 0.0]),
        (HuberHinge(4.0), [3.0625, 1.5625, 1.0, 0.25]),
    ],
)
def test_values_at_chosen_margins(loss, values):
    assert loss.value(np.array([-2.0, 0.0, 1.0, 3.0])).tolist() == values


def test_what_the_smooth_pieces_say_at_their_kink():
    assert SquaredHinge().curvature(np.array([0.5, 1.0, 1.5])).tolist() == [2.0, 0.0, 0.0]
    assert HuberHinge(0.5).curvature(np.array([0.5, 1.0, 1.5])).tolist() == [1.0, 1.0, 0.0]
    with np.errstate(over="raise"):
        assert HuberHinge().value(np.array([-1e200])).tolist() == [1e200]


def test_losses_are_found_by_name_and_pass_through():
    assert get_loss("hinge") == Hinge()
    assert get_loss("squared_hinge") == SquaredHinge()
    assert get_loss("squared") == Squared()
    own = SquaredHinge()
    assert get_loss(own) is own


def test_majorant_touches_the_smooth_hinge_and_lies_above_it():
    for s in (0.5, 20.0, 1e3):
        loss = SmoothHinge(s=s)
        t = np.concatenate([np.linspace(-30, 30, 121), [1.0, 1.0 + 1e-9 / s, -1e9, 1e9]])
        at = np.linspace(-40, 40, 401)[:, None]
        parabola = loss.value(t) + loss.gradient(t) * (at - t) + 0.5 * loss.majorant(t) * (at - t) ** 2
        assert (parabola >= loss.value(at) - 1e-12 * (1.0 + np.abs(parabola))).all()
        mirrored = 2.0 - t  # where it touches once more
        again = loss.value(t) + loss.gradient(t) * (mirrored - t) + 0.5 * loss.majorant(t) * (mirrored - t) ** 2
        np.testing.assert_allclose(again, loss.value(mirrored), rtol=1e-9, atol=1e-6)


def test_dual_value_of_the_smooth_hinge_keeps_its_digits_at_small_multipliers():
    """Of 1 - beta no digit of a small beta is left; a weight of 1e5 brings that to light."""
    beta = np.array([1e-18, 1e-12, 1e-9])
    exact = [float(b) + float(b - b * Decimal(float(b)).ln()) / 20.0 for b in map(Decimal, beta)]
    np.testing.assert_allclose(SmoothHinge().dual_value(beta), exact, rtol=1e-9)


def test_the_huber_hinge_becomes_the_hinge_and_stays_in_range():
    t = np.array([-1e300, -5.0, 0.9, 1.0, 1.1, 1e300])
    for h in (1e-12, 0.5, 1e12):
        values = HuberHinge(h).value(t)
        assert np.isfinite(values).all()
        assert (values >= Hinge().value(t)).all()
        assert (values <= Hinge().value(t) + h / 4 * (1 + 1e-12)).all()
