"""Membership, steps and balls of every cone, against what its definition says in fractions or by sampling."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from cvxproof.conic import cones
from cvxproof.conic.convexity import is_semidefinite

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
        assert (ball.sizes(sp.csr_matrix(z[:, None])).toarray().ravel() >= np.abs(ball.adjoint(z)) - 1e-12).all()


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


def edges(cone, rng, count):
    """Return points on the boundary of the primal cone."""
    S = points(cone, rng, count)
    match cone:
        case cones.Nonnegative():
            S[rng.random(S.shape) < 0.5] = 0.0
        case cones.SecondOrder():
            S[:, 0] = np.linalg.norm(S[:, 1:], axis=1)
        case cones.Semidefinite():
            half = rng.standard_normal((count, 2, 1))
            S = cone.packed(half @ np.swapaxes(half, 1, 2))
        case cones.Exponential():
            x, y, _ = S[:, list(cone.order)].T
            S[:, cone.order[2]] = y * np.exp(x / y)
        case _:
            S[:, -1] = np.prod(S[:, :-1] ** np.array(cone.powers), axis=1) * rng.choice([-1, 1], count)
    return S


@pytest.mark.parametrize("name", MADE)
def test_implied_bounds_hold_for_slacks_of_the_cone(name, rng):
    cone = MADE[name]
    for _ in range(200):
        S = np.concatenate([points(cone, rng, 1), edges(cone, rng, 2)])
        low, high = np.full(9, -np.inf), np.full(9, np.inf)
        # Upper bounds of some entries; of exponential cones sometimes a fixed y and a least x.
        told = rng.random(S.shape) < 0.7
        high[cone.rows[told]] = S[told] * (1 + 1e-12 * np.sign(S[told]))
        if isinstance(cone, cones.Exponential) and rng.random() < 0.5:
            x, y = (cone.rows[:, k] for k in cone.order[:2])
            low[x] = S[:, cone.order[0]]
            low[y] = high[y] = S[:, cone.order[1]]
        cone.tighten(low, high)
        pad = 1e-11 * (1 + np.abs(S))
        assert (low[cone.rows] <= S + pad).all()
        assert (high[cone.rows] + pad >= S).all()


def inward(cone):
    """Return the direction in which right sides move slacks inside."""
    b = np.zeros(cone.rows.size)
    cone.shrunk(b, 1.0)
    return -b[cone.rows]


@pytest.mark.parametrize("name", MADE)
def test_points_inside_have_no_violation_and_points_outside_have_theirs(name, rng):
    cone = MADE[name]
    for _ in range(100):
        S, t = edges(cone, rng, 3), 10.0 ** rng.uniform(-3, -1)
        S[0] = np.abs(S[0]) if isinstance(cone, cones.Nonnegative) else S[0]
        assert cone.violation(S + t * inward(cone)).max() <= 1e-12 * np.abs(S).max()
        if isinstance(cone, cones.Nonnegative):
            S[:] = 0.0
        outside = cone.violation(S - t * inward(cone))
        if isinstance(cone, cones.Power):
            lost = np.prod(S[:, :-1] ** np.array(cone.powers), axis=1)
            lost -= np.prod(np.maximum(S[:, :-1] - t, 0) ** np.array(cone.powers), axis=1)
            np.testing.assert_allclose(outside, np.maximum(lost, t - S[:, :-1].min(axis=1)), rtol=1e-6)
        else:
            np.testing.assert_allclose(outside, t, rtol=1e-6)


@pytest.mark.parametrize("name", MADE)
def test_room_near_the_boundary(name, rng):
    cone = MADE[name]
    claimed = 0
    for _ in range(300):
        t = 10.0 ** rng.uniform(-4, 0)
        S = edges(cone, rng, 3)[:1] + t * inward(cone)[:1]
        moved = np.full(S.shape, t * rng.uniform(0.05, 1.0))
        if cone.has_room(S, moved):
            claimed += 1
            corners = S + moved * np.array(np.meshgrid(*[[-1, 1]] * S.shape[1])).reshape(S.shape[1], -1).T
            assert cone.violation(corners).max() <= 1e-13 * np.abs(S).max()
    assert claimed > 20


def cheapest(cone, Z):
    """Return slacks of a large entry with a small z's, one for every row of Z."""
    match cone:
        case cones.Nonnegative():
            return np.ones_like(Z)
        case cones.SecondOrder():
            return np.concatenate([np.ones((len(Z), 1)), -Z[:, 1:] / np.linalg.norm(Z[:, 1:], axis=1)[:, None]], axis=1)
        case _:
            least = np.linalg.eigh(cone.matrices(Z))[1][:, :, :1]
            return cone.packed(least @ np.swapaxes(least, 1, 2))


@pytest.mark.parametrize("name", MADE)
def test_complementarity_bounds_slacks(name, rng):
    cone = MADE[name]
    for _ in range(50):
        Z = cone.moved_inside(rng.standard_normal((3, cone.rows.shape[1])), 0.1, points(cone, rng, 3))
        found = [points(cone, rng, 3)]
        if isinstance(cone, (cones.Nonnegative, cones.SecondOrder, cones.Semidefinite)):
            found.append(cheapest(cone, Z))
        for S in found:
            for row, s, z in zip(cone.rows, S, Z, strict=True):
                high = np.full(9, np.inf)
                one = type(cone)(row[None], *list(vars(cone).values())[1:])
                one.slack_limits(z[None], float(s @ z), high)
                assert (high[row] >= s - 1e-9 * (1 + np.abs(s))).all()


@pytest.mark.parametrize("name", ["nonnegative", "second order", "semidefinite lower", "semidefinite upper"])
def test_balls_of_symmetric_cones_map_the_identity_to_z_and_have_radius_one(name, rng):
    cone = MADE[name]
    m = cone.rows.shape[1]
    unit = cone.packed(np.eye(2)[None])[0] if isinstance(cone, cones.Semidefinite) else np.eye(1, m)[0]
    Z = cone.moved_inside(rng.standard_normal((3, m)), 0.1, points(cone, rng, 3))
    balls = list(cone.balls(Z, 1.0))
    count = len(Z) // len(balls)

    def moved(w):
        parts = (ball.apply(part) for ball, part in zip(balls, np.split(w.ravel(), len(balls)), strict=True))
        return np.concatenate(list(parts)).reshape(Z.shape)

    np.testing.assert_allclose(moved(np.tile(unit, (len(balls) * count, 1))), Z, rtol=1e-12)
    for _ in range(300):
        w = rng.standard_normal(Z.shape)
        w *= 0.7 / np.linalg.norm(w, axis=1)[:, None]
        assert cone.proves(Z + moved(w))


@pytest.mark.parametrize("share", [0.5, 1.0, 1.9, 2.1, 4.0])
def test_balls_of_wide_cones_are_claimed_only_where_the_worst_step_stays_inside(share):
    """z_0 - |z_1| is so many times the radius in units of |z|; the step goes down and along z_1."""
    radius, m = 1e-2, 500
    cone = cones.SecondOrder(np.arange(m)[None])
    Z = np.zeros((1, m))
    Z[0, 1] = 1.0
    Z[0, 0] = 1.0 / (1 - share * radius)
    (ball,) = cone.balls(Z, 1.0)
    step = np.zeros(m)
    step[:2] = -1, 1
    inside = cone.proves(Z + ball.apply(radius * step / np.linalg.norm(step))[None])
    assert inside or not cone.holds_balls(Z, radius)
    assert cone.holds_balls(Z, radius) is (share > 2)
    wide = cones.Semidefinite(np.arange(41 * 21)[None], 41, "lower")
    values = np.ones(41)
    values[0] = share * radius
    Z = wide.packed(np.diag(values)[None])
    (ball,) = wide.balls(Z, 1.0)
    inside = wide.proves(Z - radius * ball.apply(np.eye(1, 41 * 21)[0])[None])
    assert inside or not wide.holds_balls(Z, radius)


def test_the_boundary_of_the_exponential_cone():
    cone = MADE["exponential"]
    edge = np.array([[-1.0, 0.5, math.exp(-0.5 - 1)]])
    assert not cone.proves(edge * np.array([[1, 1, 1 - 1e-12]]))
    assert cone.proves(edge * np.array([[1, 1, 1 + 1e-12]]))
    assert cone.proves(np.array([[0.0, 1.0, 2.0]]))
    assert not cone.proves(np.array([[0.0, -1.0, 2.0]]))
    assert not cone.proves(np.array([[1.0, 1.0, 2.0]]))
    assert not cone.proves(np.array([[np.nan, 1.0, 2.0]]))


def test_the_boundary_of_the_power_cone():
    cone = MADE["power"]
    edge = np.array([[0.3 * 2.0, 0.7 * 5.0, 2.0**0.3 * 5.0**0.7]])
    for sign in (1, -1):
        assert not cone.proves(edge * np.array([[1, 1, sign * (1 + 1e-12)]]))
        assert cone.proves(edge * np.array([[1, 1, sign * (1 - 1e-12)]]))


def test_definiteness_is_proved_and_never_claimed(rng):
    V = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    for least in (1e-3, 1e-10, -1e-12, -1e-3):
        M = (V * np.array([1.0, 1, 1, 1, 1, least])) @ V.T
        assert cones.is_definite((M + M.T) / 2) is (least > 0)
    assert not cones.is_definite(np.full((2, 2), np.nan))


def test_singular_matrices_are_never_claimed_to_be_definite(rng):
    """Rounding turns some of them indefinite, and plain Cholesky factorisations run through."""
    passed = 0
    for _ in range(200):
        half = rng.standard_normal((6, 5))
        M = half @ half.T
        M = (M + M.T) / 2
        assert not cones.is_definite(M) or is_semidefinite(M.tolist())
        try:
            np.linalg.cholesky(M)
            passed += not is_semidefinite(M.tolist())
        except np.linalg.LinAlgError:
            continue
    assert passed > 5


@pytest.mark.parametrize("name", [name for name in MADE if "exp" in name or "power" in name])
@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5, 2.0])
def test_balls_of_any_radius_are_claimed_only_where_they_are_inside(name, radius, rng):
    cone = MADE[name]
    for depth in (1e-9, 1e-5, 1e-2, 1.0):
        Z = cone.moved_inside(rng.standard_normal((3, 3)), depth, points(cone, rng, 3))
        if not cone.holds_balls(Z, radius):
            continue
        (ball,) = cone.balls(Z, 1.0)
        for _ in range(300):
            w = rng.standard_normal(Z.shape)
            w *= radius / np.linalg.norm(w, axis=1)[:, None]
            assert cone.proves(Z + ball.apply(w.ravel()).reshape(Z.shape))


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


def test_the_face_of_the_exponential_cone_is_exact():
    """Of y = 0 the cone has x <= 0 and z >= 0; a y that may move has nothing there."""
    cone, still = cones.Exponential(np.arange(3)[None], (0, 1, 2)), np.zeros((1, 3))
    assert cone.has_room(np.array([[-1.0, 0.0, 1.0]]), np.array([[0.5, 0.0, 0.5]]))
    assert cone.has_room(np.array([[0.0, 0.0, 0.0]]), still)
    for s, moved in (
        ([0.1, 0.0, 1.0], still),
        ([-1.0, 0.0, -0.1], still),
        ([-1.0, 0.0, 1.0], np.array([[2.0, 0.0, 0.0]])),
        ([-1.0, 0.0, 1.0], np.array([[0.0, 0.0, 2.0]])),
        ([-1.0, 0.0, 1.0], np.array([[0.0, 1e-9, 0.0]])),
        ([-1.0, -1e-9, 1.0], still),
    ):
        assert not cone.has_room(np.array([s]), moved)


def test_a_matrix_on_a_face_has_room_in_the_face_alone():
    """[[0, 0], [0, 1]]: its rows of zeros may stay; moved by anything, they may leave the cone."""
    cone = cones.Semidefinite(np.arange(3)[None], 2, "lower")
    face, still = np.array([[0.0, 0.0, 1.0]]), np.zeros((1, 3))
    assert cone.has_room(face, still)
    assert cone.has_room(face, np.array([[0.0, 0.0, 0.5]]))
    assert not cone.has_room(face, np.array([[0.0, 0.0, 1.5]]))
    assert not cone.has_room(face, np.array([[1e-30, 0.0, 0.0]]))
    assert not cone.has_room(face, np.array([[0.0, 1e-30, 0.0]]))
    assert not cone.has_room(np.array([[0.0, 1e-30, 1.0]]), still)
    assert cone.has_room(still, still)
