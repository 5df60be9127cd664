"""Proofs that there is no optimum: rays, and the directions next to which an exact one is proved."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from conic_programs import random_program
from ray_programs import RAYS

import cvxproof
from cvxproof.conic.attempts import attempted
from cvxproof.conic.compiled import compiled
from cvxproof.conic.rays import (
    NO_POINT,
    Ray,
    is_proved_feasible,
    proved_infeasible,
    proved_unbounded,
    unbounded_defect,
)


def test_a_ray_along_which_a_quadratic_grows_is_none():
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(cp.sum(x) + cp.quad_form(x, cp.psd_wrap(np.diag([1.0, 0.0])))))).program
    assert unbounded_defect(program, np.array([0.0, -1.0])) == 0.0
    assert unbounded_defect(program, np.array([-1.0, 0.0])) >= 1.0


INFEASIBLE = {
    "rows": lambda x: [cp.sum(x) <= -1, x >= 0],
    "ball": lambda x: [cp.norm(x) <= 1, cp.sum(x) >= np.sqrt(3) + 0.1],
    "exponential": lambda x: [cp.sum(cp.exp(x)) <= 1, cp.sum(x) >= -3 * np.log(3) + 0.01],
    "equalities": lambda x: [cp.sum(x) == 1, 2 * cp.sum(x) == 2.001],
    "matrix": lambda x: [cp.bmat([[x[0], 1.0], [1.0, x[1]]]) >> 0, x[0] <= 0.5, x[1] <= 1.5],
}


@pytest.mark.parametrize("name", INFEASIBLE)
def test_infeasibility_is_proved_by_its_ray(name):
    x = cp.Variable(3)
    form = compiled(cp.Problem(cp.Minimize(cp.sum_squares(x)), INFEASIBLE[name](x)))
    answer = form.solved()
    assert answer.status == "infeasible"
    ray = proved_infeasible(form.program, answer.z)
    assert (ray.assumptions, ray.kind) == ((), "infeasible")
    assert form.program.proves(ray.z)
    assert form.program.b @ ray.z < 0
    assert proved_infeasible(form.program, -answer.z) is None


def test_a_ray_that_is_rounded_still_separates():
    """Without its small entry the ray has A'z = 0 as well, but b'z = 0: nothing is proved by that."""
    x = cp.Variable(1)
    program = compiled(cp.Problem(cp.Minimize(0 * x), [x <= 0, -x <= 0, 0 * x <= -1])).program
    z = np.where(program.b < 0, 1e-12, 1.0)
    assert not (program.A.T @ z).any()
    ray = proved_infeasible(program, z)
    assert ray is None or program.b @ ray.z < 0


def test_a_feasible_program_is_never_proved_infeasible(rng):
    form = compiled(random_program("lp", 0))
    for _ in range(50):
        assert proved_infeasible(form.program, rng.standard_normal(len(form.program.b))) is None


def test_unboundedness_is_proved_by_its_ray():
    x = cp.Variable(3)
    form = compiled(cp.Problem(cp.Minimize(cp.sum(x) + cp.sum_squares(x[:1])), [x[2] <= 1, cp.norm(x[:2]) <= 1 - x[2]]))
    answer = form.solved()
    assert answer.status == "unbounded"
    assert unbounded_defect(form.program, answer.x) <= 1e-9
    assert unbounded_defect(form.program, -answer.x) == np.inf
    other = answer.x.copy()
    other[0] += 1.0
    assert unbounded_defect(form.program, other) > 1e-3


@pytest.mark.parametrize(("status", "kind"), RAYS)
def test_all_kinds_are_proved(status, kind):
    for seed in range(2):
        attempt = attempted(RAYS[status, kind](seed), "CLARABEL", 1e-6)
        assert status in attempt.answer.status
        assert (attempt.ray.kind, attempt.ray.assumptions, attempt.supposing) == (status, (), ())


def test_a_direction_is_exact_or_says_how_far_it_is_off():
    x = cp.Variable(3)
    rows = np.array([[0.1, 0.2, -0.3], [1 / 3, -1.0, 2 / 3]])  # no float but zero has 0 for both products
    program = compiled(cp.Problem(cp.Minimize(-cp.sum(x)), [rows @ x == 1])).program
    direction = np.cross(*rows)
    direction *= np.sign(direction.sum())
    assert proved_unbounded(program, direction).assumptions == (NO_POINT,)
    # Twice the same equality: no point is proved to satisfy both, whatever the floats say.
    twice = compiled(cp.Problem(cp.Minimize(-cp.sum(x)), [rows @ x == 1, 3 * rows @ x == 3])).program
    assert "is exact" in proved_unbounded(twice, direction).assumptions[1]
    assert proved_unbounded(program, direction + np.array([1e-4, -1e-4, 0.0])) is None
    assert proved_unbounded(program, -direction) is None
    # A sum of floats that is zero only by rounding is no proof of zero.
    tilted = compiled(cp.Problem(cp.Minimize(-x[0]), [1e20 * x[1] + x[0] - 1e20 * x[2] <= 0])).program
    assert tilted.A @ np.array([1.0, 1.0, 1.0]) == pytest.approx(0.0, abs=1.0)
    ray = proved_unbounded(tilted, np.array([1.0, 1.0, 1.0]))
    assert ray is None or ray.assumptions != (NO_POINT,)


def test_along_a_direction_there_is_no_curvature_at_all():
    # On x_0 = 1e10 x_1 the square of x_1 wins in the end: these floats are off by 1e-10, and no direction is exact.
    x = cp.Variable(2)
    curved = cp.quad_form(x, cp.psd_wrap(np.diag([0.0, 1.0])))
    program = compiled(cp.Problem(cp.Minimize(x[0] + curved), [x[0] == 1e10 * x[1]])).program
    for sign in (1, -1):
        ray = proved_unbounded(program, np.array([-1.0, -sign * 1e-10]))
        assert ray is None or "is exact" in ray.assumptions[1]


def test_feasible_points_are_proved():
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(-x[0]), [cp.sum(x) == 0.3, x >= 0.1])).program
    assert is_proved_feasible(program, np.array([0.15, 0.15]))
    assert not is_proved_feasible(program, np.array([0.4, -0.1]))
    ray = Ray(np.zeros(3), np.ones(2), (NO_POINT, "else"))
    assert ray.from_point(np.ones(2)).assumptions == ("else",)
    x = cp.Variable()
    attempt = attempted(cp.Problem(cp.Minimize(x), [x <= -1, cp.exp(x) <= 0.1]), "CLARABEL", 1e-6)
    assert attempt.ray.assumptions == ()
    assert attempt.ray.point[0] < np.log(0.1)


def test_a_claim_that_is_not_proved_leaves_nothing_on_the_problem():
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [x >= -1e20, x <= 1e20])
    result = cvxproof.solve(problem)
    assert result.status is cvxproof.Status.FAILED
    assert "unbounded is what the solver says" in result.message
    assert (problem.status, problem.value, x.value) == (None, None, None)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_what_is_infeasible_by_more_than_the_tolerance_is_so_in_every_cone(scale):
    """By 1e-5 it is proved; by 1e-9, less than `tol`, an answer may stand, and its violation is told."""
    x, X, t = cp.Variable(2), cp.Variable((2, 2), PSD=True), cp.Variable()
    for share in (1e-5, 1e-9):
        more, less = scale * (1 + share), scale * (1 - share)
        problems = {
            "rows": cp.Problem(cp.Minimize(x[0]), [x >= scale, cp.sum(x) <= 2 * less]),
            "second order": cp.Problem(cp.Minimize(x[0]), [cp.norm(x) <= scale, x[0] >= more]),
            "semidefinite": cp.Problem(cp.Minimize(cp.trace(X)), [cp.diag(X) <= scale, X[0, 1] >= more]),
            "exponential": cp.Problem(cp.Minimize(t), [scale * cp.exp(t / scale) <= scale, t >= scale * share]),
        }
        for name, problem in problems.items():
            result = cvxproof.solve(problem)
            if share > 1e-6 or name == "rows":
                assert result.status is cvxproof.Status.INFEASIBLE, name
            elif result.status is cvxproof.Status.OPTIMAL:
                assert 0 < result.certificate.primal_residual <= 1e-6, name
