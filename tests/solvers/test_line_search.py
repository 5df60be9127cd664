import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from specmargin.losses import HuberHinge, Pieces, Squared, SquaredHinge
from specmargin.solvers.line_search import exact_step

# Three parabolas and a line: curvatures that rise and fall again, and a slope at u = 0.
FOUR = Pieces((-1.0, 0.5, 2.0), ((0.0, 0.0, 0.0), (0.5, 1.0, 0.5), (2.0, -0.5, 0.875), (0.0, 7.5, -7.125)))
TABLES = {
    "squared_hinge": SquaredHinge().pieces,
    "squared": Squared().pieces,
    "huber": HuberHinge().pieces,
    "narrow huber": HuberHinge(1e-3).pieces,
    "four pieces": FOUR,
}


def along(pieces, slack, speed, slope, curvature, scale):
    """Half the objective along a line, up to a constant, and its derivative."""

    def loss_slope(s):
        u = (slack - s * speed) / scale
        at = sum((u > kink).astype(int) for kink in pieces.kinks) if pieces.kinks else np.zeros(len(u), int)
        a, b, _ = np.array(pieces.coefficients).T
        return -0.5 * float(((2 * a[at] * u + b[at]) * scale * speed).sum())

    own = slope - loss_slope(0.0)

    def value(s):
        return 0.5 * (scale**2 * pieces.value((slack - s * speed) / scale)).sum() + own * s + 0.5 * curvature * s * s

    return value, lambda s: loss_slope(s) + own + curvature * s


def test_the_table_of_four_pieces_is_continuous_with_its_slope():
    for kink, (a, b, c), (d, e, f) in zip(FOUR.kinks, FOUR.coefficients, FOUR.coefficients[1:], strict=False):
        assert (a * kink + b) * kink + c == (d * kink + e) * kink + f
        assert 2 * a * kink + b == 2 * d * kink + e


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_exact_step_is_the_minimum_along_the_line(rng, table, weighted):
    """Many random lines, one per column, against a bounded scalar minimiser."""
    pieces, l, c = TABLES[table], 15, 200
    slack, speed = rng.normal(size=(l, c)) * 3, rng.normal(size=(l, c))
    slack[0], speed[1] = 0.0, 0.0
    if pieces.kinks:
        slack[2] = pieces.kinks[-1]  # on a kink
    scale = np.exp(rng.normal(size=(l, 1))) if weighted else np.ones((l, 1))
    root = scale[:, 0] if weighted else None
    slope, curvature = -np.exp(3 * rng.normal(size=c)), np.exp(rng.normal(size=c))
    steps = exact_step(slack, speed, slope, curvature, pieces=pieces, root=root)
    crossed = 0
    for j in range(c):
        lines = (scale[:, 0] * part[:, j] for part in (slack, speed))
        value, derivative = along(pieces, *lines, slope[j], curvature[j], scale[:, 0])
        lowest = minimize_scalar(value, bounds=(0, 10 * steps[j] + 1), method="bounded", options={"xatol": 1e-10})
        assert value(steps[j]) <= lowest.fun + 1e-12 * abs(lowest.fun)
        assert derivative(steps[j] * (1 - 1e-9)) <= 0 <= derivative(steps[j] * (1 + 1e-9))
        for kink in pieces.kinks:
            at = (slack[:, j] - kink) / np.where(speed[:, j] == 0, np.inf, speed[:, j])
            crossed += ((at > 0) & (at < steps[j])).sum()
    assert crossed > c / 2 or not pieces.kinks


def test_exact_step_of_a_line_that_does_not_descend_is_zero():
    one = np.ones((1, 3))
    for pieces in TABLES.values():
        assert exact_step(one, one, np.array([0.0, 1.0, np.nan]), np.ones(3), pieces=pieces).tolist() == [0.0, 0.0, 0.0]
        nothing = np.zeros((1, 1))
        assert exact_step(nothing, nothing, np.array([-1.0]), np.zeros(1), pieces=pieces).tolist() == [0.0]


def test_a_line_without_curvature_ends_at_a_kink_where_the_slope_changes_its_sign():
    """Two samples on the straight piece of a Huber hinge: the faster one wins until it is on its parabola."""
    pieces = HuberHinge(0.5).pieces
    slack, speed = np.array([[3.0], [9.0]]), np.array([[3.0], [-1.0]])
    # Half the derivative: -3/2 + 1/2 while both are on their lines, and -3 (u + 1/2) / 2 + 1/2 after s = 5/6.
    step = exact_step(slack, speed, np.array([-1.0]), np.zeros(1), pieces=pieces)
    assert step[0] == pytest.approx((3.0 - (1.0 / 3.0 - 0.5)) / 3.0, rel=1e-14)
