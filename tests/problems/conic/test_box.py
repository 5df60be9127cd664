"""Implied bounds against the least and largest values of every column over the feasible set."""

import cvxpy as cp
import numpy as np
import pytest
from conic_programs import random_program

from specmargin.problems.conic.box import implied_box, tightened_box
from specmargin.problems.conic.certificate import judged
from specmargin.problems.conic.outward import Outward
from specmargin.problems.conic.program import compiled


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


@pytest.mark.parametrize("kind", ["lp", "qp"])
def test_no_feasible_point_below_the_level_is_cut_off(kind):
    for seed in (0, 3):
        form = compiled(random_program(kind, seed))
        answer = form.solved()
        level = form.program.value(answer.x) + 0.5
        box = implied_box(form.program, level, answer.x)
        assert np.isfinite(box.low).any()
        low, high = extremes(form, level)
        assert (box.low <= low + 1e-6 * (1 + np.abs(low))).all()
        assert (box.high >= high - 1e-6 * (1 + np.abs(high))).all()


def test_absolute_values_have_bounds_by_pairs_of_rows():
    x = cp.Variable(3)
    form = compiled(cp.Problem(cp.Minimize(cp.norm1(x - 1)), [cp.sum(x) == 0]))
    answer = form.solved()
    box = implied_box(form.program, 10.0, answer.x)
    assert box.is_finite.all()
    assert box.high.max() <= 20.0


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


def test_a_program_without_bounds_implies_none():
    x = cp.Variable(2)
    form = compiled(cp.Problem(cp.Minimize(x[0]), [x[0] >= 0]))
    n = len(form.program.q)
    box = implied_box(form.program, np.inf, np.zeros(n))
    assert box.low[0] == pytest.approx(0.0, abs=1e-12)
    assert not np.isfinite(box.high).any()
    assert box.within(np.zeros(n), 5.0).high.tolist() == [5.0] * n
