"""Bounds rounded outward against the same formula in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from conic_programs import random_program

from specmargin.problems.conic.correction import Metric, corrections
from specmargin.problems.conic.existence import cost_of_exact_dual, upper_end
from specmargin.problems.conic.outward import Box, Outward
from specmargin.problems.conic.program import compiled


def exact(values):
    return [Fraction(value) for value in values.tolist()]


def by_fractions(program, xh, z, x0):
    """Return -b'z - xh'P xh / 2 + d + r'x0 and r as fractions."""
    P, A = program.P.toarray(), program.A.toarray()
    x, z, b, q, start = exact(xh), exact(z), exact(program.b), exact(program.q), exact(x0)
    Px = [sum(Fraction(a) * t for a, t in zip(row, x, strict=True)) for row in P.tolist()]
    Az = [sum(Fraction(a) * t for a, t in zip(row, z, strict=True)) for row in A.T.tolist()]
    r = [one + two + three for one, two, three in zip(Px, q, Az, strict=True)]
    value = -sum(a * t for a, t in zip(b, z, strict=True)) - sum(a * t for a, t in zip(x, Px, strict=True)) / 2
    return value + Fraction(program.d) + sum(a * t for a, t in zip(r, start, strict=True)), r


@pytest.mark.parametrize("kind", ["lp", "qp", "socp"])
def test_value_and_residual_enclose_the_exact_ones(kind):
    for seed in range(3):
        form = compiled(random_program(kind, seed))
        program, answer = form.program, form.solved()
        outward, rng = Outward(program), np.random.default_rng(seed)
        for size in (0.0, 1e-6, 1e3):
            xh = answer.x + size * rng.standard_normal(len(answer.x))
            z = answer.z + size * rng.standard_normal(len(answer.z))
            value, r = by_fractions(program, xh, z, answer.x)
            least, modulus = outward.at_point(xh, z, answer.x)
            assert Fraction(least) <= value
            assert float(value - Fraction(least)) <= 1e-9 * (1 + abs(float(value)) + np.abs(z) @ np.abs(program.b))
            assert all(abs(one) <= Fraction(two) for one, two in zip(r, modulus.tolist(), strict=True))
            open_box = Box(np.full(len(xh), -np.inf), np.full(len(xh), np.inf))
            bound = outward.bound(xh, z, answer.x, open_box, 10.0)
            width = 10.0 * (1 + np.abs(answer.x))
            cost = sum((abs(one) * Fraction(two) for one, two in zip(r, width.tolist(), strict=True)), Fraction(0))
            assert Fraction(bound.value) <= value - cost
            assert bound.is_unconditional is bool((modulus == 0).all())


def test_slacks_come_with_their_rounding():
    form = compiled(random_program("lp", 1))
    program, x = form.program, form.solved().x
    s, error = Outward(program).slacks(x)
    rows = [sum(Fraction(a) * t for a, t in zip(row, exact(x), strict=True)) for row in program.A.toarray().tolist()]
    for end, row, one, width in zip(exact(program.b), rows, s.tolist(), error.tolist(), strict=True):
        assert abs(end - row - Fraction(one)) <= Fraction(width)


@pytest.mark.parametrize("kind", ["lp", "qp", "socp", "sdp", "exp", "power", "logdet"])
def test_corrections_are_dual_feasible_and_more_nearly_stationary(kind):
    form = compiled(random_program(kind, 0))
    answer, outward = form.solved(), Outward(form.program)
    spoilt = answer.z * (1 + 1e-6 * np.random.default_rng(0).standard_normal(len(answer.z)))
    residuals = []
    for xh, z in corrections(outward, answer.x, spoilt, 3):
        if form.program.proves(z):
            residuals.append(float(np.abs(outward.residual(xh, z)[0]).max()))
    assert len(residuals) >= 2
    assert min(residuals[1:]) < 1e-3 * residuals[0]


def test_an_exact_dual_point_is_claimed_only_where_there_is_one():
    form = compiled(random_program("lp", 0))
    program, answer, outward = form.program, form.solved(), Outward(form.program)
    costs = []
    for xh, z in corrections(outward, answer.x, answer.z, 3, boost=2.0**13):
        _, residual = outward.at_point(xh, z, answer.x)
        costs.append(cost_of_exact_dual(outward, z, xh, answer.x, residual))
    assert 0 < min(costs) < 1e-6
    assert cost_of_exact_dual(outward, z, xh, answer.x, residual + 1e6) == np.inf
    assert Metric(outward, z).times().shape == (len(program.b), len(program.q))


def test_an_upper_end_is_above_the_optimum_and_needs_an_inner_point():
    form = compiled(random_program("qp", 0))
    answer = form.solved()
    inner = answer.x + 1e-3
    value = form.problem.solve(solver="CLARABEL")
    upper = upper_end(Outward(form.program), inner)
    assert upper == np.inf or upper >= value
    outside = np.full(len(answer.x), -1e3)
    assert upper_end(Outward(form.program), outside) == np.inf
