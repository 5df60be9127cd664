"""Implied bounds against the least and largest values of every column over the feasible set."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from conic_programs import random_program

from cvxproof.conic.box import implied_box, tightened_box
from cvxproof.conic.certificate import judged
from cvxproof.conic.compiled import compiled
from cvxproof.conic.outward import Box, Outward


def extremes(form, level):
    """Return the least and largest value of every column of the compiled linear or quadratic program, by CVXPY."""
    program = form.program
    n = len(program.q)
    x = cp.Variable(n)
    held = [program.q @ x + cp.quad_form(x, cp.psd_wrap(program.P.toarray())) / 2 + program.d <= level]
    for cone in program.parts:
        rows = cone.rows.ravel()
        slack = program.b[rows] - program.A.tocsr()[rows] @ x
        held.append(slack == 0 if type(cone).__name__ == "Zero" else slack >= 0)
    ends = []
    for sign in (1, -1):
        found = []
        for j in range(n):
            problem = cp.Problem(cp.Minimize(sign * x[j]), held)
            found.append(sign * problem.solve(solver="CLARABEL") if np.isfinite(problem.solve()) else -sign * np.inf)
        ends.append(np.array(found))
    return ends


def coupled(seed):
    """Return a quadratic program whose P is not diagonal, with columns that have a bound on one side only."""
    rng = np.random.default_rng(seed)
    half, x = rng.standard_normal((4, 3)), cp.Variable(3)
    loss = cp.quad_form(x, cp.psd_wrap(half.T @ half)) + np.array([1.0, 2.0, 3.0]) @ x
    return cp.Problem(cp.Minimize(loss), [x >= 0.5])


@pytest.mark.parametrize("kind", ["lp", "qp", "coupled"])
def test_no_feasible_point_below_the_level_is_cut_off(kind):
    for seed in (0, 3):
        form = compiled(coupled(seed) if kind == "coupled" else random_program(kind, seed))
        answer = form.solved()
        level = form.program.value(answer.x) + 0.5
        box = implied_box(form.program, level, answer.x)
        assert np.isfinite(box.low).any()
        low, high = extremes(form, level)
        assert (box.low <= low + 1e-6 * (1 + np.abs(low))).all()
        assert (box.high >= high - 1e-6 * (1 + np.abs(high))).all()


def test_ends_are_widened_by_more_than_the_rounding_of_sums():
    """y = b - sum a_j x_j for known x: a small difference of large sums, as a fraction."""
    for seed in range(20):
        a, known = np.random.default_rng(seed).standard_normal((2, 30))
        x, y, b = cp.Variable(30), cp.Variable(), float(a @ known)
        program = compiled(cp.Problem(cp.Minimize(y), [a @ x + y == b])).program
        column = int(np.flatnonzero(program.q)[0])
        low, high = (np.insert(known, column, end) for end in (-np.inf, np.inf))
        box = implied_box(program, np.inf, np.zeros(31), Box(low, high))
        exact = Fraction(b) - sum(
            Fraction(one) * Fraction(two) for one, two in zip(a.tolist(), known.tolist(), strict=True)
        )
        assert Fraction(box.low[column]) <= exact <= Fraction(box.high[column])
        assert box.high[column] - box.low[column] < 1e-10


def test_absolute_values_have_bounds_by_pairs_of_rows():
    x = cp.Variable(3)
    form = compiled(cp.Problem(cp.Minimize(cp.norm1(x - 1)), [cp.sum(x) == 0]))
    answer = form.solved()
    box = implied_box(form.program, 10.0, answer.x)
    assert box.is_finite.all()
    assert box.high.max() <= 20.0


def test_pairs_of_rows_bound_from_both_sides():
    x, t, u = cp.Variable(), cp.Variable(), cp.Variable()
    held = [t >= x + 1, t >= 2 - x, u <= x + 1, u <= 2 - x]
    program = compiled(cp.Problem(cp.Minimize(t - 2 * u), held)).program
    box = implied_box(program, np.inf, np.zeros(3))
    low, high = int(np.flatnonzero(program.q == 1)[0]), int(np.flatnonzero(program.q == -2)[0])
    assert box.low[low] == pytest.approx(1.5, abs=1e-12)
    assert box.low[low] <= 1.5
    assert box.high[high] == pytest.approx(1.5, abs=1e-12)
    assert box.high[high] >= 1.5


def test_complementarity_and_curvature_tighten_and_keep_the_optimum():
    form = compiled(random_program("qp", 0))
    answer = form.solved()
    outward, value = Outward(form.program), form.program.value(answer.x)
    proof = judged(form.program, answer)
    wide = implied_box(form.program, value + 1.0, answer.x)
    box = tightened_box(outward, value + 1.0, answer.x, proof.xh, proof.z, wide, proof.bound)
    assert (box.high - box.low <= wide.high - wide.low).all()
    low, high = extremes(form, value + 1.0)
    assert (box.low <= low + 1e-6 * (1 + np.abs(low))).all()
    assert (box.high >= high - 1e-6 * (1 + np.abs(high))).all()


def test_a_level_below_the_optimum_claims_nothing_that_is_empty():
    form = compiled(random_program("lp", 0))
    box = implied_box(form.program, form.program.value(form.solved().x) - 100.0, np.zeros(len(form.program.q)))
    assert (box.low <= box.high).all()


def test_a_program_without_bounds_implies_none():
    x = cp.Variable(2)
    form = compiled(cp.Problem(cp.Minimize(x[0]), [x[0] >= 0]))
    n = len(form.program.q)
    box = implied_box(form.program, np.inf, np.zeros(n))
    assert box.low[0] == pytest.approx(0.0, abs=1e-12)
    assert not np.isfinite(box.high).any()
    assert box.within(np.zeros(n), 5.0).high.tolist() == [5.0] * n


def decreasing(n, offset=0.0):
    """Return a program over x_1 + offset >= x_2 >= ... >= x_n >= 0 whose sum is at most 1."""
    x = cp.Variable(n)
    size = np.r_[1.0, np.full(n - 2, 3.0)]
    held = [cp.multiply(size, x[:-1]) + offset >= cp.multiply(size, x[1:])]
    return cp.Problem(cp.Minimize(cp.sum(x[::2])), [*held, x[-1] >= 0, cp.sum(x) <= 1])


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_an_order_of_more_columns_than_there_are_passes_bounds_all(offset):
    n = 60
    program = compiled(decreasing(n, offset)).program
    box = implied_box(program, np.inf, np.zeros(n))
    assert box.is_finite.all()
    least = -offset * np.append((n - 2) / 3 + 1, np.arange(n - 2, -1, -1) / 3)
    np.testing.assert_allclose(box.low, least, atol=1e-12)
    assert (box.low <= least).all()


def test_ends_that_are_handed_on_are_rounded_outward():
    """x_1 >= (c x_2 - b) / a along a chain of odd coefficients, against fractions."""
    for seed in range(20):
        n = 40
        a, c, b = np.random.default_rng(seed).uniform(0.5, 2.0, (3, n))
        x = cp.Variable(n + 1)
        held = [cp.multiply(a, x[:-1]) + b >= cp.multiply(c, x[1:])]
        program = compiled(cp.Problem(cp.Minimize(x[0]), held)).program
        low, high = np.full(n + 1, -np.inf), np.full(n + 1, np.inf)
        low[n], high[0] = 1.1, 0.3
        box = implied_box(program, np.inf, np.zeros(n + 1), Box(low, high))
        at_least, at_most = Fraction(1.1), Fraction(0.3)
        for i in reversed(range(n)):
            at_least = (Fraction(c[i]) * at_least - Fraction(b[i])) / Fraction(a[i])
            assert Fraction(box.low[i]) <= at_least
            assert box.low[i] == pytest.approx(float(at_least), rel=1e-10)
        for i in range(n):
            at_most = (Fraction(a[i]) * at_most + Fraction(b[i])) / Fraction(c[i])
            assert Fraction(box.high[i + 1]) >= at_most
            assert box.high[i + 1] == pytest.approx(float(at_most), rel=1e-10)
