"""Several attempts at one problem: which are made, which counts, and what an earlier one proves for a later one."""

import cvxpy as cp
import numpy as np
import pytest
from conic_programs import KINDS, random_program
from cvxpy.reductions.solvers.solving_chain import SolvingChain
from planted_programs import planted

import cvxproof
from cvxproof.conic import attempts
from cvxproof.conic.attempts import Attempt, attempted
from cvxproof.conic.certificate import _Search, judged
from cvxproof.conic.compiled import Compiled, compiled
from cvxproof.conic.program import Answer
from cvxproof.conic.rays import NO_POINT, Ray
from cvxproof.conic.violations import relative, violation


def corner():
    """Return min x + y, x + y / 2 >= 1, y + x / 2 >= 1: the optimum 4/3 at (2/3, 2/3), no bounds of x by rows."""
    x = cp.Variable(2)
    return compiled(cp.Problem(cp.Minimize(cp.sum(x)), [x[0] + x[1] / 2 >= 1, x[1] + x[0] / 2 >= 1]))


@pytest.mark.parametrize("kind", KINDS)
def test_programs_of_any_scale_are_proved_relative_to_their_value(kind):
    for seed in range(6):
        attempt = attempted(random_program(kind, seed), "CLARABEL", 1e-6)
        assert attempt.distance <= 1e-6, seed
        assert attempt.proof.assumptions == ()


@pytest.mark.parametrize("size", [0.9, 0.5, -1.0])
def test_the_bound_is_not_cut_off_at_the_value_of_an_answer_outside(size):
    form = corner()
    x = size * np.full(2, 2 / 3)
    proof = judged(form.program, Answer("", x, np.full(2, 2 / 3)))
    assert proof.value == pytest.approx(size * 4 / 3)
    assert proof.bound == pytest.approx(4 / 3, abs=1e-9)
    assert proof.bound <= 4 / 3
    attempt = Attempt(form, Answer("", x, np.full(2, 2 / 3)), proof)
    assert attempt.relative_gap < 0
    assert attempt.distance >= (1 - size) / 3


def test_an_answer_outside_is_no_better_than_one_with_a_gap():
    """The gap of the first is -1e-9 of its value: its distance is the violation."""
    form = corner()
    outside = Answer("", np.array([2 / 3 + 0.1, 2 / 3 - 0.1]), np.full(2, 2 / 3))
    attempt = Attempt(form, outside, judged(form.program, outside))
    assert abs(attempt.relative_gap) < 1e-6
    # The violation 0.05 is worth 0.05 * 2 / 3 of the objective, which is 4 / 3; of its row it is a little less.
    assert attempt.distance == pytest.approx(0.05 * (2 / 3) / (4 / 3), rel=1e-3)
    assert form.program.relative_violation(outside.x) == pytest.approx(0.05 / 2.5, rel=1e-3)


def test_a_violation_is_relative_to_the_terms_of_its_rows():
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(cp.sum(x)), [1e6 * x[0] >= 1e6, x[1] >= 1])).program
    assert program.violation(np.array([0.9, 1.0])) == pytest.approx(1e5)
    # The right sides set the unit one for both columns: the terms of either row are 1 + 1 of its own size.
    assert program.relative_violation(np.array([0.9, 1.0])) == pytest.approx(0.1 / 2, rel=1e-9)
    assert program.relative_violation(np.array([1.0, 0.9])) == pytest.approx(0.1 / 2, rel=1e-9)


def test_a_known_proof_bounds_the_columns_for_another_answer():
    """Intervals alone leave x_0 open above; z_2 > 0 and complementarity close it."""
    x = cp.Variable(2)
    held = [x[0] + x[1] / 2 >= 1, x[1] + x[0] / 2 >= 1, x[0] >= 2 / 3]
    program, point = compiled(cp.Problem(cp.Minimize(cp.sum(x)), held)).program, np.full(2, 2 / 3)
    known = judged(program, Answer("", point, np.array([0.5, 0.75, 0.125])))  # stationary without any rounding
    assert known.assumptions == ()
    assert known.bound == pytest.approx(4 / 3)
    spoilt = Answer("", point, np.array([0.6, 0.8, 0.0]))
    alone, after = (_Search(program, spoilt, 1e-7, 1e3, one, False)._first_box() for one in (None, known))
    assert alone.high[0] > 1e3
    assert (after.high - after.low).max() < 1e-4
    assert (after.low <= point).all()
    assert (after.high >= point).all()
    # The bound is that of the program: another answer of that value needs no more, and no proof becomes worse.
    assert judged(program, spoilt, known=known).bound == known.bound
    outside = judged(program, Answer("", point + 1e-3, spoilt.z), rounds=0, known=known)
    assert (outside.bound, outside.value) == (known.bound, pytest.approx(4 / 3 + 2e-3))


@pytest.mark.parametrize(("order", "whole"), [(3, True), (101, False)])
def test_later_attempts_change_settings_and_leave_large_cones_decomposed(monkeypatch, order, whole):
    genuine, asked = Compiled.solved, []

    def poor(self, scale=1.0, **options):
        asked.append((scale, options))
        answer = genuine(self, scale)
        return Answer(answer.status, answer.x, np.zeros_like(answer.z), answer.solution)

    monkeypatch.setattr(Compiled, "solved", poor)
    x, M = cp.Variable(), np.diag(np.arange(1.0, order + 1)) + 1  # more than its diagonal bounds x
    attempted(cp.Problem(cp.Minimize(1e4 * x), [x * np.eye(order) - M >> 0]), "CLARABEL", 1e-7, max_iter=7)
    (first, settings), *others = asked
    assert (first, settings) == (1.0, {"max_iter": 7})
    assert len(others) == 5
    assert others[0][0] == pytest.approx(1e-4, rel=0.5)
    assert all(("chordal_decomposition_enable" in options) is whole for _, options in others)
    assert all(options["max_iter"] == 7 for _, options in others)
    assert len({str(options) for _, options in others}) == 5


def test_a_first_attempt_that_is_proved_is_the_only_one(monkeypatch):
    genuine, count = Compiled.solved, []
    monkeypatch.setattr(Compiled, "solved", lambda self, *a, **b: count.append(1) or genuine(self, *a, **b))
    attempted(random_program("lp", 0), "CLARABEL", 1e-4)
    assert len(count) == 1


@pytest.mark.parametrize("kind", ["lp", "power"])
def test_a_violation_of_a_constraint_as_it_is_written_calls_for_another_attempt(kind):
    """Of its rows it is within the tolerance, whose terms cancel; the certificate counts what is left of these."""
    known = planted(kind, "optimal", {"lp": 13, "power": 7}[kind], 20)
    first = compiled(known.problem)
    first.unpack(answer := first.solved())
    assert first.program.relative_violation(answer.x) < 1e-6
    assert max(relative(one, violation(one)) for one in known.problem.constraints) > 1e-6
    result = cvxproof.solve(known.problem)
    assert result.certificate.primal_residual <= 1e-6
    assert result.status is cvxproof.Status.OPTIMAL


@pytest.mark.parametrize(("kind", "seed"), [("qp", 10), ("exp", 6)])
def test_an_optimum_of_zero_is_zero_with_the_rounding_of_its_certificate(kind, seed):
    """An attempt that counts as zero by a hair, without that rounding, was the last, and UNPROVED."""
    result = cvxproof.solve(planted(kind, "zero", seed, 20).problem)
    assert result.status is cvxproof.Status.OPTIMAL


def test_infeasibility_that_is_not_proved_is_looked_at_again(monkeypatch):
    genuine, count = Compiled.solved, []

    def denies(self, scale=1.0, **options):
        count.append(1)
        answer = genuine(self, scale, **options)
        return answer if len(count) > 1 else Answer("infeasible", answer.x, np.zeros_like(answer.z), answer.solution)

    monkeypatch.setattr(Compiled, "solved", denies)
    attempt = attempted(random_program("lp", 0), "CLARABEL", 1e-6)
    assert attempt.proof is not None
    assert attempt.distance <= 1e-6


class Panic(BaseException):
    """What native code raises where it panics; it is no Exception."""


@pytest.mark.parametrize("error", [cp.SolverError, Panic, ValueError])
@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP"])
def test_an_answer_stays_where_a_further_attempt_raises(monkeypatch, solver, error):
    genuine, count = SolvingChain.solve_via_data, []

    def breaks(self, *args, **options):
        count.append(self.solver.name())
        if len(count) > 1:
            raise error("index out of bounds")
        return genuine(self, *args, **options)

    monkeypatch.setattr(SolvingChain, "solve_via_data", breaks)
    attempt = attempted(tiny(), solver, 1e-15)
    assert attempt.proof is not None
    assert len(count) > 1
    assert set(count) == {solver}
    count.clear()
    x = cp.Variable(2)  # what OSQP says without a proof, Clarabel is asked again
    problem = cp.Problem(cp.Minimize(cp.square(x[0]) - x[1]), [x >= -1])
    monkeypatch.setattr(attempts, "_judged", lambda form, answer, *_, **__: Attempt(form, answer))
    assert attempted(problem, "OSQP", 1e-6).answer.status == "unbounded"
    assert count == ["OSQP", "CLARABEL"]


def tiny():
    """Return min 1e-7 (|x - 3|^2 + 1), x >= -10, whose optimum is at 3: solvers stop far from it."""
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(1e-7 * (cp.sum_squares(x - 3) + 1)), [x >= -10])


@pytest.mark.parametrize("solver", ["CLARABEL", "DAQP", "ECOS", "OSQP", "PIQP", "PROXQP", "QOCO", "SCS", "CVXOPT"])
def test_a_tiny_objective_is_scaled_for_every_solver(solver):
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    problem = tiny()
    attempt = attempted(problem, solver, 1e-6)
    attempt.compiled.unpack(attempt.answer)
    np.testing.assert_allclose(problem.variables()[0].value, 3.0, atol=0.01)
    assert attempt.proof.bound <= 1e-7


@pytest.mark.parametrize("solver", ["DAQP", "ECOS", "HIGHS", "OSQP", "PIQP"])
def test_a_solver_that_said_unbounded_is_not_run_again(monkeypatch, solver):
    """With right sides of a cone program, PIQP has ended the process: its own are of other sizes."""
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    genuine, seen = SolvingChain.solve_via_data, []

    def recorded(self, problem, data, **options):
        seen.append((self.solver.name().split()[0], np.shape(data["b"])))
        return genuine(self, problem, data, **options)

    monkeypatch.setattr(SolvingChain, "solve_via_data", recorded)
    monkeypatch.setattr(attempts, "proved_unbounded", lambda program, x: Ray(program.b, program.q, (NO_POINT,)))
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.square(x[0]) - x[1]), [x >= 2, x[2] + x[0] <= 9])
    assert attempted(problem, solver, 1e-6).answer.status == "unbounded"
    assert [name for name, _ in seen].count(solver) == 1
    assert seen[0] == (solver, np.shape(compiled(problem, solver).data["b"]))
