"""Farkas multipliers of linear rows: of few rows, and exact in rational numbers."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from cvxproof import Status, solve
from cvxproof.conic.compiled import compiled
from cvxproof.conic.cones import Zero
from cvxproof.conic.farkas import exact_ray, vertex_ray


def combined(program, z):
    """Return A'z and b'z in rational numbers."""
    A, b = program.A.toarray().tolist(), program.b.tolist()
    z = [Fraction(one) for one in z]
    columns = [sum(Fraction(row[j]) * one for row, one in zip(A, z, strict=True)) for j in range(len(A[0]))]
    return columns, sum(Fraction(one) * other for one, other in zip(b, z, strict=True))


def planted(seed, eps, n=12, m=6):
    """Return rows of whole numbers, and their sum with weights up to 3, which they miss by eps."""
    rng = np.random.default_rng(seed)
    A, x0, weights = rng.integers(-5, 6, (m, n)).astype(float), rng.random(n).round(3), rng.integers(1, 4, m)
    x = cp.Variable(n)
    held = [x >= 0, x <= 10, A @ x >= A @ x0, (weights @ A) @ x <= float(weights @ (A @ x0)) - eps]
    return cp.Problem(cp.Minimize(rng.integers(1, 9, n) @ x), held), weights


@pytest.mark.parametrize("seed", range(5))
def test_a_vertex_has_few_rows_and_is_exact(seed):
    problem, weights = planted(seed, 1.0)
    program = compiled(problem).program
    z = vertex_ray(program)
    ray = exact_ray(program, z)
    columns, value = combined(program, ray)
    assert not any(columns)
    assert value < 0
    assert not any(ray[cone.rows].min() < 0 for cone in program.parts if not isinstance(cone, Zero))
    assert (ray != 0).sum() <= len(weights) + 1
    assert exact_ray(program, -z) is None


def test_nothing_is_proved_of_a_program_with_a_point():
    problem, _ = planted(0, -0.1)
    program = compiled(problem).program
    assert vertex_ray(program) is None
    assert exact_ray(program, np.ones(len(program.b))) is None
    assert exact_ray(program, np.zeros(len(program.b))) is None


@pytest.mark.parametrize("eps", [1e-6, 1e-8, 1e-9, 1e-11])
def test_a_program_that_is_infeasible_by_a_rounding_error_is_not_called_optimal(eps):
    for seed in range(3):
        assert solve(planted(seed, eps)[0]).status is Status.INFEASIBLE
        assert solve(planted(seed, -eps)[0]).status is Status.OPTIMAL


def test_multipliers_that_no_float_has_are_proved_to_exist():
    # 0.1 a = 0.3 b has no small solution in floats next to 3 and 1.
    x = cp.Variable(2)
    program = compiled(
        cp.Problem(cp.Minimize(0), [0.1 * x[0] + 0.7 * x[1] <= 1, -0.3 * x[0] - 2.0 * x[1] <= -3.5, x[1] >= 0])
    ).program
    z = vertex_ray(program)
    columns, _ = combined(program, z)
    assert any(columns)
    assert exact_ray(program, z) is not None
    # Not with another sign of what only rounding left.
    off = compiled(cp.Problem(cp.Minimize(0), [0.1 * x[0] <= 1, -0.3 * x[0] <= -3 + 1e-9])).program
    assert vertex_ray(off) is None


def test_a_matrix_on_a_face_is_exact():
    S = cp.Variable((3, 3), PSD=True)
    assert solve(cp.Problem(cp.Minimize(0), [S[0, 0] == -1])).status is Status.INFEASIBLE
    assert solve(cp.Problem(cp.Minimize(cp.trace(S)), [S[0, 0] == 1])).status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("held", "z"),
    [
        ([[1.0], [-1.0]], [-1.0, -1.0]),  # x <= 2, -x <= 1 by negative multipliers: b'z = -3
        ([[1.0], [-1.0]], [1.0, 1.0]),  # A'z = 0, and b'z = 3
        ([[1.0], [1.0]], [1.0, -1.0]),  # x <= 2, x <= 1: one multiplier is negative
    ],
)
def test_multipliers_of_a_feasible_program_prove_nothing(held, z):
    x = cp.Variable(1)
    program = compiled(cp.Problem(cp.Minimize(0), [np.array(held) @ x <= [2.0, 1.0]])).program
    assert exact_ray(program, np.array(z)) is None
