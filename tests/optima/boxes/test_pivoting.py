"""Block pivoting against Clarabel and the optimality conditions; labels that a balance forbids."""

import cvxpy as cp
import numpy as np
import pytest
from margin_problems import enumerated, random_space

from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.pivoting import LabelPrograms, nonnegative_qp


@pytest.mark.parametrize("seed", range(20))
def test_the_answer_satisfies_the_optimality_conditions(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 40))
    B = rng.standard_normal((m, m + 2))
    H, d = B @ B.T + 1e-3 * np.eye(m), rng.standard_normal(m)
    a, active = nonnegative_qp(H, d, rng.random(m) < 0.5)
    slope = H @ a - d
    assert (a >= 0).all()
    assert (slope > -1e-8).all()
    assert np.abs(a * slope).max() < 1e-8
    assert (active == (a > 0)).all()


@pytest.mark.parametrize("seed", range(8))
def test_values_of_all_labelings_are_those_of_another_solver(seed):
    space = random_space(seed, most=6)
    programs = LabelPrograms(space)
    labelings, values, points = enumerated(space)
    warm = None
    for labels, value, x in zip(labelings, values, points, strict=True):
        point = programs.solve(labels, warm)
        assert point.value == pytest.approx(value, rel=1e-7)
        assert point.lower <= point.value <= point.lower * (1 + 1e-6)
        assert point.lower <= value * (1 + 1e-9)
        assert point.x == pytest.approx(x, abs=1e-3)
        warm = point
    assert programs.solve(space.y).lower <= values.min()


@pytest.mark.parametrize("seed", range(6))  # every second one with a balance on x
def test_the_point_of_few_labels_is_where_j_is_least(seed):
    space = random_space(seed, most=30, least=30)
    rows = np.flatnonzero(space.y)
    point = LabelPrograms(space).solve(space.y)
    x = cp.Variable(len(space.y))
    inverse = np.linalg.inv(space.Q)
    constraints = [cp.multiply(space.y[rows], x[rows]) >= 1]
    if space.total is not None:
        constraints.append(space.balance @ x == space.total)
    J = 0.5 * cp.quad_form(x - space.offset, cp.psd_wrap(0.5 * (inverse + inverse.T)))
    assert point.value == pytest.approx(cp.Problem(cp.Minimize(J), constraints).solve("CLARABEL"), rel=1e-5)
    np.testing.assert_allclose(point.x, x.value, rtol=1e-3, atol=1e-3)
    assert point.lower <= point.value * (1 + 1e-9)


def test_labels_of_one_sign_have_no_point_under_a_balance():
    A = np.array([[1.0], [-1.0], [0.5], [0.2]])
    space = MarginSpace(A, np.ones(4), np.array([1.0, -1.0, 0.0, 0.0]), total=0.4)
    point = LabelPrograms(space).solve(np.array([1.0, -1.0, 1.0, 1.0]))
    assert point.lower == point.value == np.inf
    assert np.isfinite(LabelPrograms(space).solve(np.array([1.0, -1.0, 1.0, -1.0])).value)
