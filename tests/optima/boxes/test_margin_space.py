"""S3VMs in decision plus slack: the quadratic is the objective, its consequences hold in fifty digits."""

import numpy as np
import pytest
from flint import arb, ctx
from margin_problems import column, exact, quadratic_form, random_space

from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.boxes.margin_space import MarginSpace, has_margin_space

LABELS = encode_labels([0, 1, -1, -1, -1])
X = np.array([[-2.0, 0.3], [2.0, 0.1], [-1.0, -0.4], [0.1, 1.0], [0.9, 0.2]])


@pytest.mark.parametrize("intercept", ["balance", "regularized", "none"])
def test_j_is_the_objective_where_the_slack_is_least(intercept):
    obj = S3VM(X, LABELS, C=2.0, C_star=0.5, balance=0.2, intercept=intercept)
    space = MarginSpace.of(obj)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = rng.standard_normal(5)
        x = np.where(np.abs(x) < 1, np.sign(x), x)
        x[:2] = -1.5, 1.2
        p = np.linalg.solve(space.Q, x - space.quadratic.c)
        J = 0.5 * p @ space.Q @ p
        v = np.linalg.solve(space.F, x - space.offset)
        assert 0.5 * v @ v == pytest.approx(J, rel=1e-10)
        w = space.A.T @ p
        f = obj.decisions_at(w)
        assert 0.5 * w @ w + space.C @ (x - f) ** 2 == pytest.approx(J, rel=1e-10)
        assert obj.value_at(w) <= J * (1 + 1e-12)  # slack of the wrong sign is not charged there


@pytest.mark.parametrize("seed", [1, 3, 5, 7, 9])
def test_a_priced_balance_costs_nothing_where_it_holds(seed):
    space = random_space(seed)
    F, c, kappa = space.priced
    rng = np.random.default_rng(0)
    x = rng.standard_normal(len(space.y))
    x[space.free] += (space.total - x[space.free].sum()) / len(space.free)
    v = np.linalg.solve(F, x - c)
    J = 0.5 * x @ np.linalg.solve(space.Q, x)
    assert kappa + 0.5 * v @ v == pytest.approx(J, rel=1e-8)
    reduced = space.reduced
    assert space.balance @ reduced.Q == pytest.approx(0.0, abs=1e-10)
    assert reduced.c @ space.balance == pytest.approx(space.total, rel=1e-9)
    apart = x - reduced.c
    assert reduced.kappa + 0.5 * apart @ np.linalg.pinv(reduced.Q, rcond=1e-12) @ apart == pytest.approx(J, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_supports_boxes_and_dual_bounds_hold_in_fifty_digits(seed):
    with ctx.workprec(200):
        consequences(random_space(seed), np.random.default_rng(seed))


def consequences(space, rng):
    (Q, a), n, quadratic = exact(space), len(space.y), space.quadratic
    kappa = arb(0)
    if space.total is not None:
        d, row = quadratic_form(Q, a), Q * a
        kappa = arb(space.total) ** 2 / (2 * d)
    for _ in range(3):
        level, p = float(kappa) + 10.0 ** rng.uniform(-1, 2), rng.standard_normal(n)
        e = column(p)
        along, center = quadratic_form(Q, e), space.offset * sum(arb(x) for x in p.tolist())
        if space.total is not None:
            cross = (e.transpose() * row)[0, 0]
            along, center = along - cross**2 / d, cross * space.total / d
        most = center + (2 * (level - kappa) * along).sqrt()
        bound = quadratic.support(p, level)
        assert most <= bound <= most + 1e-5 * (1 + abs(most))
        # The least J where p'x >= gain: beyond the centre a squared distance.
        gain = float(center) + rng.uniform(0.1, 3.0)
        scale = float((gain - center) / along)
        least = kappa + (gain - center) ** 2 / (2 * along)
        bound = quadratic.dual_bound(scale * p, scale * gain)
        assert least - 1e-6 * (1 + least) <= bound <= least
        low, high = quadratic.box(level)
        for j in range(n):
            unit = np.eye(n)[j]
            assert high[j] == pytest.approx(quadratic.support(unit, level), rel=1e-4, abs=1e-4)
            assert low[j] == pytest.approx(-quadratic.support(-unit, level), rel=1e-4, abs=1e-4)


def test_what_is_no_quadratic_in_x_is_refused():
    assert has_margin_space(S3VM(X, LABELS))
    for obj in (
        S3VM(X, LABELS, "hinge"),
        S3VM(X, LABELS, "squared_hinge", "exp"),
        S3VM(X, LABELS, intercept="free"),
        S3VM(X, LABELS, C_star=0.0),
    ):
        assert not has_margin_space(obj)
        with pytest.raises(InvalidInputError, match="only squared hinges"):
            MarginSpace.of(obj)


def test_a_balance_that_no_point_satisfies_is_refused():
    A, y = np.array([[1.0], [-1.0], [0.5]]), np.array([1.0, -1.0, 0.0])
    with pytest.raises(InvalidInputError, match=r"no x of 1 unlabelled samples .* adds up to 0\.3"):
        MarginSpace(A, np.ones(3), y, total=0.3)
    assert MarginSpace(A, np.ones(3), y, total=1.0).is_possible(np.array([1.0, -1.0, 1.0]))
    assert not MarginSpace(A, np.ones(3), y, total=1.0).is_possible(np.array([1.0, -1.0, -1.0]))
