"""Bounds never exceed the optimum, whatever multipliers they are made of; rays prove what they say."""

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from conic_programs import KINDS, random_program, rational_program

from cvxproof.conic.attempts import attempted, proved_upper_end
from cvxproof.conic.certificate import (
    Proof,
    _Candidate,
    _Search,
    judged,
)
from cvxproof.conic.compiled import compiled
from cvxproof.conic.cones import Nonnegative
from cvxproof.conic.outward import Box
from cvxproof.conic.program import Answer


def wrong(z, rng, k):
    """Return multipliers that are more and more wrong."""
    return (
        z,
        z * (1 + 10.0 ** rng.integers(-9, 0) * rng.standard_normal(len(z))),
        rng.standard_normal(len(z)) * np.abs(z).max(initial=1),
        np.zeros(len(z)),
        -z,
        100 * z,
        z[::-1].copy(),
        np.full(len(z), 1e6),
    )[k]


def test_no_bound_of_a_linear_program_exceeds_its_rational_optimum():
    gaps = []
    for seed in range(40):
        found = rational_program(seed)
        if found is None:
            continue
        problem, optimum = found
        form = compiled(problem)
        answer, rng = form.solved(), np.random.default_rng(seed)
        for k in range(4):
            x = answer.x + 1e-6 * rng.standard_normal(len(answer.x)) if k else answer.x
            proof = judged(form.program, Answer("", x, wrong(answer.z, rng, k)))
            if np.isfinite(proof.bound):
                assert Fraction(proof.bound) <= optimum
            if k == 0:
                gaps.append(float(optimum - Fraction(proof.bound)) / max(1.0, abs(float(optimum))))
    assert len(gaps) > 30
    assert np.median(gaps) < 1e-7
    assert max(gaps) < 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_exceeds_a_feasible_value(kind):
    for seed in range(3):
        attempt = attempted(random_program(kind, seed), "CLARABEL", 1e-8)
        upper = proved_upper_end(attempt)
        assert np.isfinite(upper)
        assert attempt.proof.bound <= upper
        rng = np.random.default_rng(seed)
        for k in range(8):
            x = attempt.answer.x * (1 + 10.0 ** (k - 9) * rng.standard_normal(len(attempt.answer.x)))
            proof = judged(attempt.compiled.program, Answer("", x, wrong(attempt.answer.z, rng, k)))
            assert proof.bound <= upper, k


def test_a_matrix_that_is_not_convex_is_not_proved():
    x = cp.Variable(2)
    M = np.array([[1.0, 2.0], [2.0, 1.0]])
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(M))), [cp.abs(x) <= 1])
    form = compiled(problem)
    zero = Answer("", np.zeros(len(form.program.q)), np.zeros(len(form.program.b)))
    proof = judged(form.program, zero)
    assert proof.bound < -1.0, "the optimum is -2"


def test_what_the_bound_supposes_is_named():
    """min x subject to exp(x) >= ... has no interior dual point where the optimum is not attained."""
    x, y = cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [cp.SOC(x + y, cp.hstack([x - y, 2.0])), x >= 0])  # x y >= 1: inf 0
    form = compiled(problem)
    proof = judged(form.program, form.solved())
    assert proof.bound <= 1e-9
    assert all(isinstance(text, str) for text in proof.assumptions)


def test_bounds_of_better_points_alone_bound_no_more_than_their_level():
    """min -x_0 + x_1 subject to x_1 >= x_0 - 1: the box at the level of an answer says nothing of points above it."""
    x = cp.Variable(2)
    form = compiled(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0]))
    program = form.program
    # The optimum is 0. The answer is outside, its level -2: no feasible point is below it, and any z seems to do.
    proof = judged(program, Answer("", np.full(2, -1.0), np.zeros(2)))
    assert proof.bound <= 0.0
    for z in (np.full(2, 0.5), np.full(2, 0.9), np.array([1.0, 0.0])):
        for size in (-1.0, -1e-3, 1e-3, 1.0):
            assert judged(program, Answer("", np.full(2, size), z)).bound <= 0.0


def test_a_bound_above_the_level_is_cut_off_at_it():
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0])).program
    search = _Search(program, Answer("", np.full(2, -1.0), np.ones(2)), 1e-9, 1000.0, None, False)
    far = _Candidate(1e9, 0.0, True, np.zeros(2), np.ones(2), Box(np.zeros(2), np.zeros(2)))
    search._as_answered = lambda: None
    search._judged_candidates = lambda pairs: iter([far])
    search._judged = lambda xh, z: far._replace(bound=2 * search.level + 1e9)
    search._in_smaller_boxes = lambda candidates, best: best
    nothing = Proof(-2.0, -np.inf, (), 0.0, np.ones(2), np.zeros(2))
    assert search.run(nothing, 3).bound <= search.level


@pytest.mark.parametrize(("entry", "is_hasty", "looks"), [(1e-3, True, 0), (1e-3, False, 1), (1e-9, True, 1)])
def test_a_hasty_look_leaves_a_solver_with_a_gap_of_its_own(monkeypatch, entry, is_hasty, looks):
    """The optimum is zero: the gap is relative to the size of the terms, or none would be near."""
    x = cp.Variable(2)
    form = compiled(cp.Problem(cp.Minimize(cp.norm(x - 1)), [cp.sum(x) == 2, x <= 5]))
    program, answer = form.program, form.solved()
    row = next(cone.rows[0, 0] for cone in program.parts if isinstance(cone, Nonnegative))
    z, counted = answer.z.copy(), []
    z[row] += entry
    monkeypatch.setattr(_Search, "_searched", lambda *args: counted.append(args))
    judged(program, replace(answer, z=z), tol=1e-7, is_hasty=is_hasty)
    assert len(counted) == looks


def test_a_bound_within_a_radius_says_so():
    """min x_0 subject to x_0 + 0 x_1 >= 1, |x_1| free with a residual that nothing bounds."""
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(x[0] + 1e-12 * x[1]), [x[0] >= 1])).program
    proof = judged(program, Answer("", np.ones(2), np.ones(1)))
    assert proof.assumptions == ("|x - x0| <= 1000 (1 + |x0|) in 2 of 2 columns",) or (
        len(proof.assumptions) == 1 and "in 1 of 2 columns" in proof.assumptions[0]
    )
    assert proof.bound <= 1.0 + 1e-12 - 1e-12 * 2000
    assert proof.bound == pytest.approx(1.0)


def test_a_matrix_that_is_far_from_convex_proves_nothing():
    x = cp.Variable(2)
    M = np.array([[1.0, 0.0], [0.0, -1.0]])
    program = compiled(cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(M))), [cp.abs(x) <= 1])).program
    proof = judged(program, Answer("", np.zeros(len(program.q)), np.zeros(len(program.b))))
    assert proof.bound == -np.inf
    assert "semidefinite" in proof.assumptions[0]


def test_a_known_proof_is_not_used_above_its_level():
    # Minimise x over 1 <= x <= 3. Of feasible x up to 0.5 there are none, so that anything is proved of these, such as
    # the bound 0.5 by a hundred times the multiplier of x <= 3: up to 3 it would leave nothing but x near 3.
    x = cp.Variable()
    program = compiled(cp.Problem(cp.Minimize(x), [x >= 1, x <= 3])).program
    upper = (program.A.toarray()[:, 0] > 0).astype(float)
    answer = Answer("", np.array([3.0]), np.zeros(2))
    known = replace(judged(program, answer), bound=0.5, level=0.5, z=100 * upper, xh=np.zeros(1))
    assert judged(program, answer, known=known).bound <= 1.0
