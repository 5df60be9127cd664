"""Bounds rounded outward against the same formula in fractions."""

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from conic_programs import random_program
from exact_fractions import fractions, solved

from cvxproof.conic import cones, existence
from cvxproof.conic.certificate import judged
from cvxproof.conic.compiled import compiled
from cvxproof.conic.correction import Metric, corrections
from cvxproof.conic.existence import cost_of_exact_dual, upper_end
from cvxproof.conic.outward import Box, Outward, extended
from cvxproof.conic.program import Answer


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
            least, ends = outward.at_point(xh, z, answer.x)
            assert Fraction(least) <= value
            assert float(value - Fraction(least)) <= 1e-9 * (1 + abs(float(value)) + np.abs(z) @ np.abs(program.b))
            assert all(
                Fraction(low) <= one <= Fraction(high) for low, one, high in zip(ends.low, r, ends.high, strict=True)
            )
            open_box = Box(np.full(len(xh), -np.inf), np.full(len(xh), np.inf))
            bound = outward.bound(xh, z, answer.x, open_box, 10.0)
            width = 10.0 * (1 + np.abs(answer.x))
            cost = sum((abs(one) * Fraction(two) for one, two in zip(r, width.tolist(), strict=True)), Fraction(0))
            assert Fraction(bound.value) <= value - cost
            assert bound.is_unconditional is bool((ends.modulus == 0).all())


def test_the_cost_of_a_residual_is_the_largest_at_a_corner():
    """Against all corners of random boxes with and without ends: the most that r (x0 - x) can be, or infinity."""
    rng = np.random.default_rng(0)
    n, x0 = 4000, rng.standard_normal(4000)
    low = np.where(rng.random(n) < 0.4, -np.inf, x0 - rng.random(n) + 0.1)  # a few are above x0: what they gain counts
    high = np.where(rng.random(n) < 0.4, np.inf, x0 + rng.random(n) + 0.1)
    ends = rng.choice([-1.0, 0.0, 1.0], (2, n)) * rng.random((2, n))
    residual = Box(ends.min(axis=0), ends.max(axis=0))
    corners = []
    for r in residual:
        for x in (low, high):
            with np.errstate(invalid="ignore"):
                corners.append(np.where(r == 0, 0.0, r * (x0 - x)))
    cost, exact = Box(low, high).cost(residual, x0), np.max(corners, axis=0)
    assert (cost >= exact).all()
    np.testing.assert_allclose(cost, exact, rtol=1e-12)
    assert np.isinf(cost).sum() > 500
    assert np.isfinite(cost).sum() > 500
    assert (cost < 0).sum() > 20
    crossed = Box(high, low).cost(residual, x0)
    assert np.isinf(crossed[(high > low) & (residual.low != 0)]).all()


@pytest.mark.parametrize("kind", ["lp", "qp", "socp"])
def test_multipliers_of_bounds_take_up_residuals(kind):
    """Where one bound is alone, its multiplier gives the residual the right sign, or is used up; no other moves."""
    found = 0
    for seed in range(4):
        problem = random_program(kind, seed)
        x, rng = problem.variables()[0], np.random.default_rng(seed)
        for held in (x >= -9, x <= 9):
            form = compiled(cp.Problem(problem.objective, [*problem.constraints, held]))
            program, answer, outward = form.program, form.solved(), Outward(form.program)
            spoilt = np.maximum(answer.z * (1 + 1e-7 * rng.standard_normal(len(answer.z))), 0.0) + 1e-5
            z = outward.absorbed(answer.x, program.moved_inside(spoilt, 0.0, program.slacks(answer.x)))
            lower, upper = program.bounds
            others = np.setdiff1d(np.arange(len(z)), np.r_[lower.rows, upper.rows])
            np.testing.assert_array_equal(
                z[others], program.moved_inside(spoilt, 0.0, program.slacks(answer.x))[others]
            )
            assert program.proves(z)
            _, r = outward.at_point(answer.x, z, answer.x)
            for rows, columns, end in ((*lower[:2], r.low), (*upper[:2], -r.high)):
                alone = ~np.isin(columns, np.intersect1d(lower.columns, upper.columns))
                assert ((end[columns] >= 0) | (z[rows] == 0))[alone].all()
                found += int((end[columns] >= 0)[alone].sum())
    assert found >= 20


def test_the_bound_is_below_the_exact_one_where_large_sums_cancel():
    """The value is a small difference of numbers of size 1e10: its rounding is larger than an ulp of it."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        A, x = rng.standard_normal((60, 3)), cp.Variable(3)
        program = compiled(cp.Problem(cp.Minimize(x[0]), [A @ x <= 1e10 * rng.standard_normal(60)])).program
        z, last = rng.random(60), int(np.argmax(np.abs(program.b)))
        z[last] -= program.b @ z / program.b[last]  # b'z is nearly zero
        least, _ = Outward(program).at_point(np.zeros(3), z, np.zeros(3))
        value, _ = by_fractions(program, np.zeros(3), z, np.zeros(3))
        assert Fraction(least) <= value


def test_a_product_stays_where_the_entries_of_its_matrix_are_sorted_later():
    M = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), (2, 3))
    product, counts = extended(M)
    M.sort_indices()
    assert product(np.array([10.0, 100.0, 1000.0])).tolist() == [1020.0, 300.0]
    assert counts.tolist() == [2, 1]


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
    nothing = Box(np.full(len(answer.x), -np.inf), np.full(len(answer.x), np.inf))
    costs = []
    for xh, z in corrections(outward, answer.x, answer.z, 3, boost=2.0**13):
        _, residual = outward.at_point(xh, z, answer.x)
        costs.append(cost_of_exact_dual(outward, z, xh, answer.x, residual, nothing))
    assert 0 < min(costs) < 1e-6
    assert cost_of_exact_dual(outward, z, xh, answer.x, Box(residual.low, residual.high + 1e6), nothing) == np.inf
    assert Metric(outward, z).times().shape == (len(program.b), len(program.q))


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3])
def test_the_exact_dual_point_of_open_columns_is_paid_for(size):
    """min x_0 + x_1 subject to x_0 >= 1, x_1 >= 1: a residual in x_0 alone, and a box of x_1."""
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(cp.sum(x)), [x[0] >= 1, 2 * x[1] + x[0] >= 3])).program
    outward, x0 = Outward(program), np.array([1.0, 1.0])
    z = np.array([0.5 - size, 0.5])  # the exact one is (1/2, 1/2): the optimum is 2
    at_point, residual = outward.at_point(x0, z, x0)
    np.testing.assert_allclose(residual.modulus, [size, 0], atol=1e-15)
    for box in (Box(np.full(2, -np.inf), np.full(2, np.inf)), Box(np.array([-np.inf, -9.0]), np.array([np.inf, 9.0]))):
        cost = cost_of_exact_dual(outward, z, x0, x0, residual, box)
        assert at_point - cost <= 2.0
        assert cost <= 100 * size
    # Bounds of x_0 leave a residual in no open column; those of x_1 are charged for what the step changes there.
    moved = 10.0 * (1 + 1e-9) * 2 * size  # |B_1| = 1, |B_0| about 1 / sqrt 2
    assert cost >= 0.3 * moved


@pytest.mark.parametrize("size", [1e-5, 1e-3])
def test_the_exact_dual_point_of_a_quadratic_program_moves_xh(size):
    """min x'x, the optimum 0, at an x_0 far from xh: before the step the expression is above the optimum."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(np.eye(2)))), [x >= -5])
    program = compiled(problem).program
    outward, z, x0, xh = Outward(program), np.zeros(2), np.ones(2), np.full(2, size)
    at_point, residual = outward.at_point(xh, z, x0)
    assert at_point > size
    nothing = Box(np.full(2, -np.inf), np.full(2, np.inf))
    assert at_point - cost_of_exact_dual(outward, z, xh, x0, residual, nothing) <= 0.0
    assert cost_of_exact_dual(outward, z, xh, x0, residual, nothing) < 10 * size


def test_rows_that_a_free_column_satisfies_bound_nothing():
    """x_2 costs nothing and loosens two rows; x_3 does, too."""
    x = cp.Variable(4)
    held = [x[0] - x[2] <= 1, x[1] - 2 * x[2] + x[3] <= 1, x[3] + x[0] <= 2, x[0] >= 1, x[1] >= 2, x[0] + x[1] == 4]
    program = compiled(cp.Problem(cp.Minimize(x[0] + 2 * x[1]), held)).program
    reduced, idle = program.without_idle_rows()
    rows = program.A.toarray()
    assert all(idle[i] == bool(rows[i, 2] or rows[i, 3]) for i in range(len(rows)))
    assert idle.sum() == 3
    assert not reduced.A.toarray()[idle].any()
    assert not reduced.b[idle].any()
    np.testing.assert_array_equal(reduced.A.toarray()[~idle], rows[~idle])
    # One equality, or one entry of the other sign, and the column is not free.
    for other in (x[2] == 3, x[2] <= 5):
        program = compiled(cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [*held, other])).program
        touching = (program.A.toarray()[:, 2] != 0) & (program.A.toarray()[:, 3] == 0)
        assert not program.without_idle_rows()[1][touching].any()
    costly = compiled(cp.Problem(cp.Minimize(x[0] + 2 * x[1] + x[2] + cp.square(x[3])), held)).program
    same, idle = costly.without_idle_rows()
    assert same is costly
    assert not idle.any()


def test_multipliers_of_idle_rows_are_zero_and_the_bound_needs_no_assumption():
    x = cp.Variable(3)
    held = [x[0] - x[2] <= 1, x[1] - 2 * x[2] <= 1, x[2] >= 0, x[0] >= 1, x[1] >= 2]
    form = compiled(cp.Problem(cp.Minimize(x[0] + 2 * x[1]), held))
    answer = form.solved()
    proof = judged(form.program, Answer("", answer.x, answer.z + 1e-9))
    assert proof.assumptions == ()
    assert proof.bound <= 5.0
    assert proof.bound == pytest.approx(5.0, abs=1e-7)
    assert (proof.z[form.program.A.toarray()[:, 2] != 0] == 0).all()


def test_an_exact_dual_point_needs_balls_inside_of_every_cone(monkeypatch):
    form = compiled(random_program("lp", 0))
    answer, outward = form.solved(), Outward(form.program)
    nothing = Box(np.full(len(answer.x), -np.inf), np.full(len(answer.x), np.inf))
    *_, (xh, z) = corrections(outward, answer.x, answer.z, 3, boost=2.0**13)
    _, residual = outward.at_point(xh, z, answer.x)
    assert cost_of_exact_dual(outward, z, xh, answer.x, residual, nothing) < np.inf
    monkeypatch.setattr(cones.Nonnegative, "holds_balls", lambda self, Z, radius: False)
    assert cost_of_exact_dual(outward, z, xh, answer.x, residual, nothing) == np.inf


def test_a_residual_in_a_column_without_rows_cannot_be_removed():
    """min x_0 + 1e-9 x_1 subject to x_0 >= 1 falls without end."""
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(x[0] + 1e-9 * x[1]), [x[0] >= 1])).program
    outward, x0, z = Outward(program), np.ones(2), np.ones(1)
    _, residual = outward.at_point(x0, z, x0)
    assert residual.modulus[1] > 0
    nothing = Box(np.full(2, -np.inf), np.full(2, np.inf))
    assert cost_of_exact_dual(outward, z, x0, x0, residual, nothing) == np.inf


def test_an_upper_end_pays_for_the_distance_from_the_equalities(monkeypatch):
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(3 * x[0] + 4 * x[1]), [cp.sum(x) == 1, 2 * x[0] >= 0])).program
    point = np.array([0.25, 0.75])
    monkeypatch.setattr(existence, "_onto_equalities", lambda outward, x, rows: (x, 0.2))
    upper = upper_end(Outward(program), point)
    assert upper == pytest.approx(0.75 + 3.0 + 5.0 * 0.2)
    # A slack of 0.5 of a row of length 2 is gone where the point may move by more than 0.25.
    monkeypatch.setattr(existence, "_onto_equalities", lambda outward, x, rows: (x, 0.3))
    assert upper_end(Outward(program), point) == np.inf


def test_an_upper_end_is_above_the_optimum_and_needs_an_inner_point():
    form = compiled(random_program("qp", 0))
    answer = form.solved()
    inner = answer.x + 1e-3
    value = form.problem.solve(solver="CLARABEL")
    upper = upper_end(Outward(form.program), inner)
    assert upper == np.inf or upper >= value
    outside = np.full(len(answer.x), -1e3)
    assert upper_end(Outward(form.program), outside) == np.inf


def equalities(condition, redundant, seed):
    """Return a program with equalities of a condition, and a point near them."""
    rng = np.random.default_rng(seed)
    U, V = np.linalg.qr(rng.standard_normal((12, 12)))[0][:, :5], np.linalg.qr(rng.standard_normal((5, 5)))[0]
    E = (U * np.logspace(0, -np.log10(condition), 5)) @ V
    E = np.column_stack([E, E[:, 0] + E[:, 1]]).T if redundant else E.T
    x, known = cp.Variable(12), rng.standard_normal(12)
    program = compiled(cp.Problem(cp.Minimize(cp.sum(x)), [E @ x == E @ known, x >= -50])).program
    return program, known + 1e-9 * rng.standard_normal(12)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6, 1e10])
@pytest.mark.parametrize("factors", ["both", "orthogonal"])
def test_a_point_on_the_equalities_is_as_near_as_is_said(monkeypatch, condition, factors):
    if factors == "orthogonal":
        monkeypatch.setattr(existence, "_by_gram", lambda B, scale: None)
    for seed in range(10):
        program, near = equalities(condition, redundant=False, seed=seed)
        rows = next(cone.rows.ravel() for cone in program.parts if isinstance(cone, cones.Zero))
        moved, rho = existence._onto_equalities(Outward(program), near, rows)
        # The distance from the solutions, by elimination in fractions: E E' v = b - E x, |E'v|.
        E = fractions(program.A.toarray()[rows])
        step = solved(E @ E.T, fractions(program.b[rows]) - E @ fractions(moved)) @ E
        assert float(step @ step) ** 0.5 <= rho < 1e-13 * condition
        assert np.abs(moved - near).max() < 1e-7 * condition


def test_nothing_is_proved_on_equalities_that_depend_on_each_other():
    program, near = equalities(10.0, redundant=True, seed=0)
    rows = next(cone.rows.ravel() for cone in program.parts if isinstance(cone, cones.Zero))
    assert existence._onto_equalities(Outward(program), near, rows)[1] == np.inf


def test_both_factorisations_bound_the_same_norm(rng):
    B = rng.standard_normal((30, 8)) * np.logspace(-3, 3, 8)
    scale = existence._scale_of_columns(np.linalg.norm(B, axis=0))
    y = np.abs(rng.standard_normal(8))
    gram, qr = existence._by_gram(sp.csc_matrix(B), scale), existence._by_qr(B, np.abs(B), scale)
    least = np.linalg.norm(np.linalg.lstsq((B * scale).T, scale * y, rcond=None)[0])
    for root in (gram, qr):
        assert least <= root.least_norm(y) <= 8 * least
        np.testing.assert_allclose(scale * (B.T @ root.solution(y)), scale * y, rtol=1e-9)


def test_lapack_is_called_with_no_matrix_that_it_would_print_of(monkeypatch):
    """Of an empty one, LAPACK prints that a parameter of DTRTRI has an illegal value."""
    genuine, sizes = existence.dtrtri, []

    def inverse(R):
        sizes.append(np.isfinite(R).all() and len(R))
        return genuine(R)

    monkeypatch.setattr(existence, "dtrtri", inverse)
    B = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]])
    assert existence._least_norm(B, np.zeros(2), np.abs(B)) == 0.0
    assert existence._least_norm(B[:, :0], np.zeros(0), B[:, :0]) == 0.0
    assert existence._least_norm(np.full((3, 2), np.nan), np.ones(2), np.ones((3, 2))) == np.inf
    for empty in (B[:, :0], np.zeros((0, 0))):
        assert existence._by_qr(empty, empty, np.ones(0)) is None
        assert existence._by_gram(sp.csc_matrix(empty), np.ones(0)) is None
    assert existence._by_gram(sp.csc_matrix(np.full((2, 2), np.nan)), np.ones(2)) is None
    assert sizes == []
    assert existence._least_norm(B, np.ones(2), np.abs(B)) < np.inf
    assert sizes == [2]


def test_small_residuals_do_not_vanish_in_a_norm():
    """Squares of 1e-200 are zero in floats: a point that is off by that much is not exact."""
    root = existence._by_qr(np.eye(3), np.eye(3), np.ones(3))
    assert root.least_norm(np.full(3, 1e-200)) >= np.sqrt(3) * 1e-200
    assert root.least_norm(np.zeros(3)) > 0
    for t in (1.0, 1e-170, 1e-200):
        x = cp.Variable(2)
        program = compiled(cp.Problem(cp.Minimize(x[0]), [x[0] == 1e10 * x[1], 2 * x[1] == 0])).program
        assert upper_end(Outward(program), np.array([-t, 0.0])) >= 0  # the only feasible point is zero


def test_sums_that_floats_hold_are_known_to_be_exact(rng):
    """Nothing is added to a residual or slack of whole numbers; where one product does not fit, the error returns."""
    for tiny in (0.0, 2.0**-80):
        A, P = rng.integers(-9, 10, (6, 4)).astype(float), np.diag([2.0, 0, 4, 0])
        A[0, 0] = 1.0 + (2.0**-52 if tiny else 0.0)
        x = cp.Variable(4)
        loss = 0.5 * cp.quad_form(x, cp.psd_wrap(P)) + rng.integers(-9, 10, 4) @ x
        program = compiled(cp.Problem(cp.Minimize(loss), [A @ x <= rng.integers(-9, 10, 6)])).program
        xh, z = rng.integers(-9, 10, 4) + tiny, rng.integers(0, 10, 6) / 2.0**10
        z[0] = 1 / 3 if tiny else 0.5
        vanishing = float(Outward(program).residual(xh, z)[0][1])  # whether sums are exact matters where one is zero
        program = replace(program, q=program.q - vanishing * np.eye(4)[1])
        r, error = Outward(program).residual(xh, z)
        s, off = Outward(program).slacks(xh)
        A = program.A.toarray()
        for j in range(4):
            terms = zip([*program.P.toarray()[j], 1, *A[:, j]], [*xh, program.q[j], *z], strict=True)
            assert abs(
                Fraction(*r[j].as_integer_ratio()) - sum(Fraction(a) * Fraction(b) for a, b in terms)
            ) <= Fraction(error[j])
        for i in range(6):
            terms = zip(A[i].tolist(), xh.tolist(), strict=True)
            exact_slack = Fraction(program.b[i]) - sum(Fraction(a) * Fraction(b) for a, b in terms)
            assert abs(Fraction(s[i]) - exact_slack) <= Fraction(off[i])
        assert (error[0] > 0, off.any()) == (bool(tiny), bool(tiny))
        assert not tiny or (error > 0).sum() >= 1
        assert tiny or not error.any()


def singular(shift, rng):
    """Return P of rank n - 1 in whole numbers, q = P x + shift y with P y = 0, and y."""
    while True:
        n = int(rng.integers(2, 6))
        F = rng.integers(-3, 4, (n - 1, n))
        y = np.array([(-1) ** j * round(np.linalg.det(np.delete(F, j, axis=1))) for j in range(n)], dtype=float)
        if y.any():
            P = (F.T @ F).astype(float)
            return P, P @ rng.integers(-3, 4, n) + shift * y, y


@pytest.mark.parametrize("shift", [0.0, 2.0**-40, 2.0**-30])
def test_a_singular_matrix_is_bounded_where_its_range_holds_the_slope(shift, rng):
    """Along y, with P y = 0, the objective falls without end if q'y is not zero, however small: nothing bounds it."""
    for _ in range(30):
        P, q, y = singular(shift, rng)
        x = cp.Variable(len(q))
        slope = sum(Fraction(a) * Fraction(b) for a, b in zip(q.tolist(), y.tolist(), strict=True))
        problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(P)) + q @ x))
        form = compiled(problem)
        proof = judged(form.program, form.solved())
        assert (proof.bound > -np.inf and proof.assumptions == ()) == (slope == 0)
        if slope == 0:
            least = -0.5 * q @ np.linalg.lstsq(P, q, rcond=None)[0]
            assert proof.bound == pytest.approx(least, rel=1e-7, abs=1e-7)
            columns = np.arange(len(q))
            none, xh = np.zeros(0), rng.standard_normal(len(q))
            loss = existence.cost_of_squares(form.program, none, xh, xh, columns)
            # f at xh less r'P^+ r / 2, r = P xh + q, is the minimum, whatever xh is.
            assert form.program.value(xh) - loss == pytest.approx(least, rel=1e-7, abs=1e-7)
