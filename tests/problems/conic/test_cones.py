"""Membership, steps and balls of every cone, against what its definition says in fractions or by sampling."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.problems.conic import cones

ROWS3 = np.arange(9).reshape(3, 3)
MADE = {
    "nonnegative": cones.Nonnegative(np.arange(3)[:, None]),
    "second order": cones.SecondOrder(ROWS3),
    "semidefinite lower": cones.Semidefinite(ROWS3, 2, "lower"),
    "semidefinite upper": cones.Semidefinite(ROWS3, 2, "upper"),
    "exponential": cones.Exponential(ROWS3, (0, 1, 2)),
    "exponential, other order": cones.Exponential(ROWS3, (0, 2, 1)),
    "power": cones.Power(ROWS3, (0.3, 0.7)),
}


def points(cone, rng, count):
    """Return points of the primal cone, spread widely: slacks."""
    m = cone.rows.shape[1]
    Z = rng.standard_normal((count, m)) * 10.0 ** rng.integers(-2, 3, (count, 1))
    match cone:
        case cones.Nonnegative():
            return np.abs(Z)
        case cones.SecondOrder():
            Z[:, 0] = np.linalg.norm(Z[:, 1:], axis=1) + np.abs(Z[:, 0])
            return Z
        case cones.Semidefinite():
            halves = rng.standard_normal((count, 2, 2))
            return cone.packed(halves @ np.swapaxes(halves, 1, 2))
        case cones.Exponential():
            x, y = rng.standard_normal(count), rng.exponential(size=count) + 0.1
            out = np.empty((count, 3))
            out[:, list(cone.order)] = np.stack([x, y, y * np.exp(x / y) + rng.exponential(size=count)], axis=1)
            return out
        case _:
            X = rng.exponential(size=(count, 2))
            w = np.prod(X ** np.array(cone.powers), axis=1) * rng.uniform(-1, 1, count)
            return np.concatenate([X, w[:, None]], axis=1)


@pytest.mark.parametrize("name", MADE)
def test_what_is_proved_to_be_in_the_dual_cone_has_no_negative_product(name, rng):
    """z is in the dual cone exactly if z's >= 0 for every s of the cone."""
    cone = MADE[name]
    S = points(cone, rng, 4000)
    assert cone.violation(S).max() <= 1e-9 * np.abs(S).max()
    proved = 0
    for _ in range(300):
        z = rng.standard_normal((1, S.shape[1]))
        products = S @ z[0]
        if cone.proves(z):
            proved += 1
            assert products.min() >= -1e-12 * np.abs(S).max()
        elif products.min() > 0.05 * np.abs(products).max():
            assert cone.proves(z), "no slack speaks against it"
    assert proved > 10


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("depth", [0.0, 1e-9, 1e-3])
def test_pushed_multipliers_are_in_the_dual_cone_and_hardly_moved(name, depth, rng):
    cone = MADE[name]
    S = points(cone, rng, 3)
    for size in (1e-8, 1.0, 1e8):
        Z = size * rng.standard_normal((3, S.shape[1]))
        pushed = cone.moved_inside(Z, depth * size, S)
        assert cone.proves(pushed)
        again = cone.moved_inside(pushed, 0.0, S)
        np.testing.assert_allclose(again, pushed, rtol=1e-10, atol=1e-12 * size)


@pytest.mark.parametrize("name", MADE)
def test_balls_stay_in_the_dual_cone(name, rng):
    cone = MADE[name]
    Z = cone.moved_inside(rng.standard_normal((3, cone.rows.shape[1])), 0.1, points(cone, rng, 3))
    assert cone.holds_balls(Z, 1e-2)
    (ball,) = cone.balls(Z, 1.0) if not isinstance(cone, cones.Semidefinite) else [None]
    for _ in range(200):
        w = rng.standard_normal(Z.size)
        w *= 1e-2 / np.linalg.norm(w)
        if ball is None:
            moved = np.concatenate([one.apply(w[:3]) for one in cone.balls(Z, 1.0)]).reshape(Z.shape)
        else:
            moved = ball.apply(w).reshape(Z.shape)
        assert cone.proves(Z + moved)


@pytest.mark.parametrize("name", MADE)
def test_transposes_belong_together(name, rng):
    """(F w)'z = w'(F'z), and F'A by columns."""
    cone = MADE[name]
    Z = cone.moved_inside(rng.standard_normal((3, cone.rows.shape[1])), 0.1, points(cone, rng, 3))
    for ball in cone.balls(Z, 1.0):
        w, z = rng.standard_normal(len(ball.rows)), rng.standard_normal(len(ball.rows))
        assert ball.apply(w) @ z == pytest.approx(w @ ball.adjoint(z))
        product = ball.transposed(sp.csr_matrix(z[:, None]))
        np.testing.assert_allclose(np.ravel(product.toarray()), ball.adjoint(z))
        assert (ball.sizes(sp.csr_matrix(z[:, None])).ravel() >= np.abs(ball.adjoint(z)) - 1e-12).all()


@pytest.mark.parametrize("name", MADE)
def test_room_is_claimed_only_where_every_corner_is_inside(name, rng):
    cone = MADE[name]
    S = points(cone, rng, 200)
    claimed = 0
    for one in S:
        moved = np.full((1, len(one)), 0.02)
        if cone.has_room(one[None], moved):
            claimed += 1
            corners = one + 0.02 * np.array(np.meshgrid(*[[-1, 1]] * len(one))).reshape(len(one), -1).T
            assert cone.violation(corners).max() <= 1e-12
    assert claimed > 20


def test_implied_bounds_hold_for_slacks_of_the_cone(rng):
    for cone in MADE.values():
        S = points(cone, rng, 3)
        low, high = np.full(9, -np.inf), np.full(9, np.inf)
        high[cone.rows] = S + 1e-9 * (1 + np.abs(S))
        cone.tighten(low, high)
        assert (low[cone.rows] <= S + 1e-12).all()
        assert (high[cone.rows] + 1e-12 >= S).all()


def test_complementarity_bounds_slacks(rng):
    for cone in MADE.values():
        S = points(cone, rng, 3)
        Z = cone.moved_inside(rng.standard_normal(S.shape), 0.1, S)
        high = np.full(9, np.inf)
        cone.slack_limits(Z, float((S * Z).sum()), high)
        assert (high[cone.rows] >= S - 1e-12).all()


def test_the_boundary_of_the_exponential_cone():
    cone = MADE["exponential"]
    edge = np.array([[-1.0, 0.5, math.exp(-0.5 - 1)]])
    assert not cone.proves(edge * np.array([[1, 1, 1 - 1e-12]]))
    assert cone.proves(edge * np.array([[1, 1, 1 + 1e-12]]))
    assert cone.proves(np.array([[0.0, 1.0, 2.0]]))
    assert not cone.proves(np.array([[0.0, -1.0, 2.0]]))
    assert not cone.proves(np.array([[1.0, 1.0, 2.0]]))
    assert not cone.proves(np.array([[np.nan, 1.0, 2.0]]))


def test_definiteness_is_proved_and_never_claimed(rng):
    V = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    for least in (1e-3, 1e-10, -1e-12, -1e-3):
        M = (V * np.array([1.0, 1, 1, 1, 1, least])) @ V.T
        assert cones.is_definite((M + M.T) / 2) is (least > 0)
    assert not cones.is_definite(np.full((2, 2), np.nan))


def test_wide_cones_have_the_identity_as_metric(rng):
    long = cones.SecondOrder(np.arange(500)[None])
    Z = long.moved_inside(rng.standard_normal((1, 500)), 1.0, np.zeros((1, 500)))
    (ball,) = long.balls(Z, 1.0)
    assert (ball.matrix != sp.identity(500) * np.abs(Z).max()).nnz == 0
    wide = cones.Semidefinite(np.arange(41 * 21)[None], 41, "lower")
    Z = wide.packed(np.eye(41)[None])
    (ball,) = wide.balls(Z, 1.0)
    assert wide.holds_balls(Z, 1e-3)
    assert not wide.holds_balls(Z, 1e-2)
    w = rng.standard_normal(Z.size)
    assert wide.proves(Z + ball.apply(1e-3 * w / np.linalg.norm(w)))
