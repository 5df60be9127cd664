"""What losses declare of themselves, against numbers on a grid; a declaration turned round has to be noticed."""

import numpy as np
import pytest

from specmargin.losses import (
    LOSSES,
    UNLABELED_LOSSES,
    ExpSquared,
    HuberHinge,
    Ramp,
    SmoothHinge,
    SymmetricRamp,
    better_label,
    is_better_label,
    smoothed,
)
from specmargin.losses.protocols import MarginLoss

MARGIN = {**LOSSES, "huber_hinge, h=0.1": HuberHinge(0.1), "huber_hinge, h=2": HuberHinge(2.0), "s=3": SmoothHinge(3.0)}
BOTH = {**MARGIN, "ramp": Ramp(), "ramp, s=-1": Ramp(-1.0), **UNLABELED_LOSSES}
BOTH |= {"exp, s=5": ExpSquared(5.0), "symmetric_ramp, s=-0.25": SymmetricRamp(-0.25)}
every = pytest.mark.parametrize("name", BOTH)

STEP = 2.0**-10
GRID = np.arange(-8.0, 8.0, STEP)  # kinks at multiples of it are on it


def convex(loss):
    return bool((np.diff(loss.value(GRID), 2) >= -1e-12).all())


def slopes(loss):
    return np.diff(loss.value(GRID)) / STEP


def smooth(loss):
    """A jump of the slope stays when the steps shrink; without one they shrink alike."""
    coarse, fine = (np.abs(np.diff(loss.value(np.arange(-3, 3, h)), 2)).max() / h for h in (2.0**-8, 2.0**-14))
    return bool(fine < 0.1 * coarse)


def change_of_curvature(loss):
    """Third differences, which a parabola does not have, and where they do not vanish."""
    third = np.abs(np.diff(loss.value(GRID), 3)) / STEP**2
    return int((third > 1e-5).sum())


def piecewise_quadratic(loss):
    return change_of_curvature(loss) <= 40  # a few around each of a handful of kinks


def curved(loss):
    second = np.abs(np.diff(loss.value(GRID), 2)) / STEP**2
    return int((second > 1e-3).sum()) > 40


def nonincreasing(loss):
    along = GRID if loss.name in {one.name for one in (*LOSSES.values(), Ramp())} else GRID[GRID >= 0]
    return bool((np.diff(loss.value(along)) <= 1e-15).all())


def slack_power(loss):
    short = np.maximum(1.0 - (GRID if loss.name in LOSSES else np.abs(GRID)), 0.0)
    return next((p for p in (1, 2) if np.abs(loss.value(GRID) - short**p).max() < 1e-12), 0)


def gaussian(loss):
    try:
        smoothed(loss, 0.5)
    except TypeError:
        return False
    return True


def box_dual(loss):
    inside, outside = np.linspace(0.0, 1.0, 101), np.array([-1e-3, 1.0 + 1e-3])
    same = np.abs(loss.dual_value(inside) - inside).max() < 1e-12
    return bool(same and (loss.dual_value(outside) == -np.inf).all())


def convex_in_square(loss):
    s = np.linspace(1e-6, 4.0, 4001)
    v = loss.value(np.sqrt(s))
    return bool((np.diff(v) <= 1e-15).all() and (np.diff(v, 2) >= -1e-12).all())


def two_ramps(loss):
    """U(f) = R_s(f) + R_s(-f) - (1 - s) for some s in (-1, 0]."""
    for s in np.arange(-0.9375, 0.01, 0.0625):
        ramp = Ramp(s)
        if np.abs(loss.value(GRID) - (ramp.value(GRID) + ramp.value(-GRID) - (1.0 - s))).max() < 1e-12:
            return True
    return False


FACTS = {f.__name__: f for f in (convex, smooth, curved, piecewise_quadratic, nonincreasing, slack_power, gaussian)}
OF_MARGIN, OF_UNLABELED = {"box_dual": box_dual}, {"convex_in_square": convex_in_square, "two_ramps": two_ramps}


def facts_of(loss):
    own = OF_MARGIN if hasattr(loss, "dual_value") else OF_UNLABELED if loss.name in UNLABELED_LOSSES else {}
    return {**FACTS, **own}


def wrong(loss):
    """The facts that a loss declares otherwise than its numbers are."""
    return [name for name, numbers in facts_of(loss).items() if getattr(loss, name) != numbers(loss)]


@every
def test_every_declaration_is_true(name):
    assert wrong(BOTH[name]) == []


@every
def test_curvature_bound_is_the_steepest_change_of_the_slope(name):
    loss = BOTH[name]
    steepest = np.abs(np.diff(slopes(loss))).max() / STEP
    if np.isinf(loss.curvature_bound):
        assert steepest > 0.3 / STEP  # a jump of the slope, whatever the step
    else:
        assert steepest <= loss.curvature_bound * (1 + 1e-9)
        assert np.abs(loss.curvature(GRID)).max() == pytest.approx(loss.curvature_bound, rel=1e-4)


@pytest.mark.parametrize("name", MARGIN)
def test_pieces_are_the_loss(name, rng):
    loss = MARGIN[name]
    if not loss.piecewise_quadratic:
        assert loss.pieces is None
        return
    u = np.concatenate([rng.uniform(-6, 6, 500), loss.pieces.kinks])
    np.testing.assert_allclose(loss.pieces.value(u), loss.value(1.0 - u), rtol=1e-13, atol=1e-13)
    if loss.smooth:
        at = loss.pieces.index(u)
        slope = -2.0 * (loss.pieces.square[at] * u + loss.pieces.linear[at])
        np.testing.assert_allclose(slope, loss.gradient(1.0 - u), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", MARGIN)
def test_the_value_of_a_slack_does_not_round_the_margin(name, rng):
    loss = MARGIN[name]
    u = rng.uniform(-6, 6, 500)
    np.testing.assert_allclose(loss.value_of_slack(u), loss.value(1.0 - u), rtol=1e-13, atol=1e-13)
    tiny = np.array([1e-20, 3e-18])
    if loss.piecewise_quadratic:
        np.testing.assert_allclose(loss.value_of_slack(tiny), loss.pieces.value(tiny), rtol=1e-15, atol=0)


@pytest.mark.parametrize("name", MARGIN)
def test_dual_derivatives_are_difference_quotients(name):
    loss, h = MARGIN[name], 1e-5
    beta = np.linspace(0.1, 0.9, 9)
    if not loss.nonincreasing:
        with pytest.raises(TypeError, match="no derivatives of its dual value"):
            loss.dual_derivatives(beta)
        return
    first, second = loss.dual_derivatives(beta)
    np.testing.assert_allclose(first, (loss.dual_value(beta + h) - loss.dual_value(beta - h)) / (2 * h), atol=1e-9)
    change = [loss.dual_derivatives(beta + sign * h)[0] for sign in (1, -1)]
    np.testing.assert_allclose(second, (change[0] - change[1]) / (2 * h), atol=1e-7)
    for ends in loss.dual_derivatives(np.array([0.0, 1.0])):
        assert np.isfinite(ends).all()


def test_dual_derivatives_of_a_smooth_loss_are_found_where_it_states_none():
    beta = np.linspace(0.05, 0.95, 19)
    found, stated = MarginLoss.dual_derivatives(SmoothHinge(), beta), SmoothHinge().dual_derivatives(beta)
    np.testing.assert_allclose(found, stated, rtol=1e-9)


def test_the_better_label_of_a_loss_costs_its_loss_of_the_distance():
    f = np.linspace(-3, 3, 301)
    for name, loss in LOSSES.items():
        for other in UNLABELED_LOSSES.values():
            same = np.abs(loss.value(np.abs(f)) - other.value(f)).max() < 1e-12
            assert is_better_label(loss, other) == same, (name, other)
        known = better_label(loss)
        assert (known is None) == (loss.slack_power == 0)
        if known is not None:
            assert is_better_label(loss, known)


def test_where_the_sum_of_two_ramps_is_flat():
    for s in (0.0, -0.25):
        assert SymmetricRamp(s).flat_half_width == -s
    assert UNLABELED_LOSSES["symmetric_hinge"].flat_half_width == 0.0
    assert np.isnan(UNLABELED_LOSSES["exp"].flat_half_width)
    assert ExpSquared(5.0).sharpness == 5.0
