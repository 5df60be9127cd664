"""Multipliers in rational numbers, next to wrong or rounded ones."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from cvxproof import check
from cvxproof.conic.compiled import compiled
from cvxproof.rational import LARGEST, exact_evidence


def both(problem: cp.Problem) -> tuple[object, check.Problem]:
    """Return what a problem of one kind of rows compiles to, in floats and in rational numbers."""
    program = compiled(problem).program
    names = {"Zero": "zero", "Nonnegative": "nonnegative", "SecondOrder": "second_order"}
    cones = [
        check.Cone(names[type(part).__name__], int(row[0]), int(row[-1]) + 1, 0)
        for part in program.parts
        for row in part.rows
    ]
    cones.sort(key=lambda cone: cone.start)
    q, b = ([Fraction(one) for one in given.tolist()] for given in (program.q, program.b))
    P, A = (
        sorted((int(i), int(j), Fraction(float(a))) for i, j, a in zip(M.row, M.col, M.data, strict=True))
        for M in (program.P.tocoo(), program.A.tocoo())
    )
    return program, check.Problem("minimize", Fraction(program.d), q, b, P, A, cones, ["rows"])


def test_a_vertex_is_met_exactly() -> None:
    x = cp.Variable(2)
    program, exact = both(cp.Problem(cp.Minimize(cp.sum(x)), [3 * x[0] + x[1] >= 1, x[0] + 3 * x[1] >= 1]))
    near = np.array([0.25, 0.25])
    noise = 1e-9 * np.array([1.0, -2.0])
    bound, (z, _) = exact_evidence(program, exact, near, near + noise, near, -1.0)
    assert bound == Fraction(1, 2)
    assert z == [Fraction(1, 4), Fraction(1, 4)]


def test_what_small_denominators_do_not_meet_a_system_does() -> None:
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((5, 3)), cp.Variable(3)
    z = rng.random(5)
    program, exact = both(cp.Problem(cp.Minimize((A.T @ z) @ x), [A @ x >= rng.standard_normal(5)]))
    point = np.zeros(3)
    bound, (moved, _) = exact_evidence(program, exact, point, z + 1e-7 * rng.random(5), point, -np.inf)
    assert max(one.denominator for one in moved) > 2**100
    assert bound == check.bound(exact, moved, [Fraction(0)] * 3)
    assert float(bound) == pytest.approx(-float(program.b @ z), abs=1e-6)


def test_bounds_of_their_own_take_up_a_residual() -> None:
    x = cp.Variable(3)
    program, exact = both(
        cp.Problem(cp.Minimize(x @ [1.0, -0.1, 0.3] + cp.quad_form(x, np.diag([2.0, 0.0, 0.0]))), [7 * x >= -1, x <= 1])
    )
    bound, (z, point) = exact_evidence(program, exact, np.zeros(3), np.ones(6), np.zeros(3), -np.inf)
    check.bound(exact, z, point)
    assert float(bound) < -0.1


def test_too_many_columns_are_refused() -> None:
    n = LARGEST + 1
    x = cp.Variable(n)
    program, exact = both(cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum(x) + np.arange(n) @ x >= 0, cp.diff(x) <= 1]))
    rng = np.random.default_rng(0)
    with pytest.raises(check.Refused, match=f"{n} columns have no bounds of their own"):
        exact_evidence(program, exact, np.zeros(n), rng.random(n), np.zeros(n), 0.0)
