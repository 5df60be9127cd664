"""Boxes hold every better point, are as tight as a cone program makes them, and are empty where nothing is better."""

import cvxpy as cp
import numpy as np
import pytest
from margin_problems import enumerated, random_space

from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.product_bound import product_bound
from specmargin.optima.boxes.product_sdp import product_sdp
from specmargin.optima.boxes.products import Products


@pytest.mark.parametrize("share", [1.0001, 1.1, 1.5])
@pytest.mark.parametrize("seed", range(6))
def test_all_better_points_are_inside(seed, share):
    space = random_space(seed, most=6)
    labelings, values, points = enumerated(space)
    level = share * values.min()
    space.highest = level
    plain = Products.of(space.y, None)
    found = product_sdp(space, plain)
    squares = plain.squares
    convexified = product_bound(space, plain.chosen(squares), 0.8 * found.lam[squares])
    box = MarginBox.of(space.y)
    for below in (space.quadratic, convexified.quadratic()):
        assert box.tighten(below, level)
        within = points[values <= level]
        assert (within >= box.low - 1e-5).all()
        assert (within <= box.high + 1e-5).all()
        assert (labelings[values <= level] * box.labels >= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_sides_are_those_of_a_cone_program(seed):
    space = random_space(seed, most=5)
    _, values, _ = enumerated(space)
    level, box = 1.2 * values.min(), MarginBox.of(space.y)
    box.tighten(space.quadratic, level, rounds=1)
    n = len(space.y)
    w, x = cp.Variable(space.A.shape[1]), cp.Variable(n)
    known = np.flatnonzero(space.y)
    J = cp.sum_squares(w) / 2 + cp.sum(cp.multiply(space.C, cp.square(x - space.A @ w - space.offset)))
    constraints = [level >= J, cp.multiply(space.y[known], x[known]) >= 1]
    if space.total is not None:
        constraints.append(space.balance @ x == space.total)
    for j in space.free[:3]:
        most = cp.Problem(cp.Maximize(x[j]), constraints).solve("CLARABEL")
        least = cp.Problem(cp.Minimize(x[j]), constraints).solve("CLARABEL")
        # Within what the steps leave, and never inside.
        assert max(most, -1.0) - 1e-5 <= box.high[j] <= max(most, -1.0) + 0.02 * (most - least) or box.high[j] == -1.0
        assert min(least, 1.0) + 1e-5 >= box.low[j] >= min(least, 1.0) - 0.02 * (most - least) or box.low[j] == 1.0


def test_a_level_below_everything_leaves_nothing():
    space = random_space(0)
    _, values, _ = enumerated(space)
    assert not MarginBox.of(space.y).tighten(space.quadratic, 0.2 * values.min())


def test_sides_between_the_margins_fix_labels():
    box = MarginBox(np.array([-3.0, -0.5, -2.0]), np.array([2.0, 4.0, 0.3]))
    assert box.labels.tolist() == [0, 0, 0]
    assert box.meet(np.full(3, -9.0), np.full(3, 9.0), 7.0)
    assert box.labels.tolist() == [0, 1, -1]
    assert (box.low[1], box.high[2]) == (1.0, -1.0)
    child = box.with_label(0, 1.0)
    assert (child.low[0], box.low[0]) == (1.0, -3.0)
    assert not child.meet(np.full(3, -9.0), np.full(3, 0.5), 8.0)
