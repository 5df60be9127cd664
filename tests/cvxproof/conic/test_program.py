"""What CVXPY compiles, read off for every solver: one optimum, and multipliers that fit."""

import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from conic_programs import KINDS, random_program
from cvxpy.constraints import NonNeg
from scipy.linalg import block_diag, null_space

import cvxproof
from cvxproof.conic import compiled as compiled_module
from cvxproof.conic import cones
from cvxproof.conic.compiled import compiled
from cvxproof.conic.convexity import convexity, is_semidefinite
from cvxproof.conic.running import solver_for

QUADRATIC = ("OSQP", "HIGHS")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "ECOS", *QUADRATIC])
def test_answers_of_all_solvers_are_stationary(kind, solver):
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    if (solver in QUADRATIC and kind not in ("lp", "qp")) or (solver == "ECOS" and kind not in ("lp", "socp", "exp")):
        pytest.skip(f"{solver} does not take it")
    problem = random_program(kind, 0)
    form = compiled(problem, solver)
    program, answer = form.program, form.solved()
    assert answer.status == "optimal"
    reference = problem.solve(solver="CLARABEL")
    loose = 2e-3 if solver in ("SCS", "OSQP") else 1e-5
    assert program.value(answer.x) == pytest.approx(reference, rel=loose, abs=loose)
    size = np.abs(program.q).max() + np.abs(answer.z).max()
    assert np.abs(program.P @ answer.x + program.q + program.A.T @ answer.z).max() <= loose * size
    dual = -program.b @ answer.z - answer.x @ (program.P @ answer.x) / 2 + program.d
    assert dual == pytest.approx(reference, rel=10 * loose, abs=10 * loose)
    assert program.violation(answer.x) <= loose * (1 + np.abs(answer.x).max())
    pushed = program.moved_inside(answer.z, 0.0, program.slacks(answer.x))
    assert np.abs(pushed - answer.z).max() <= 10 * loose * size


def test_a_scaled_objective_leaves_the_answer_as_it_is():
    form = compiled(random_program("qp", 3))
    plain, scaled = form.solved(), form.solved(2.0**20)
    assert form.program.value(scaled.x) == pytest.approx(form.program.value(plain.x), rel=1e-3)
    assert scaled.z @ form.program.b == pytest.approx(plain.z @ form.program.b, rel=1e-2, abs=1e-9)
    form.unpack(scaled)
    value = form.problem.value
    assert form.problem.solve(solver="CLARABEL") == pytest.approx(value, rel=1e-4)
    assert scaled.solution.opt_val == pytest.approx(value, rel=1e-6)


def test_a_maximisation_changes_its_sign():
    x = cp.Variable()
    form = compiled(cp.Problem(cp.Maximize(-cp.square(x - 3) + 5)))
    assert form.program.sign == -1.0
    assert form.program.value(form.solved().x) == pytest.approx(-5.0)


def test_equal_cones_stand_together():
    x = cp.Variable(4)
    held = [cp.norm(x[:2]) <= 1, x >= 0, cp.norm(x[2:]) <= 2, cp.exp(x) <= 3, cp.sum(x) == 1]
    parts = compiled(cp.Problem(cp.Minimize(cp.sum(x)), held)).program.parts
    assert [type(part) for part in parts] == [cones.Zero, cones.Nonnegative, cones.SecondOrder, cones.Exponential]
    assert [part.rows.shape[1] for part in parts] == [1, 1, 3, 3]
    assert [len(part.rows) for part in parts[2:]] == [2, 4]
    rows = np.concatenate([part.rows.ravel() for part in parts])
    assert sorted(rows.tolist()) == list(range(len(rows)))


@pytest.mark.parametrize(
    ("M", "defect", "strength"),
    [
        ([[2.0, 0.0], [0.0, 3.0]], 0.0, True),
        ([[2.0, 1.0], [1.0, 2.0]], 0.0, True),
        ([[1.0, 1.0], [1.0, 1.0]], 0.0, False),  # singular: in rational arithmetic
        ([[1.0, 2.0], [2.0, 1.0]], None, False),
        ([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]], None, False),  # a pivot of zero with a row that is not
        ([[0.0, 1.0], [1.0, 5.0]], None, False),
        (block_diag([[1.0, 2.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]]), None, False),  # the worst block decides
        (block_diag([[1.0, 1.0], [1.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]]), 0.0, False),
        ([[-1.0, 0.0], [0.0, 1.0]], None, False),
    ],
)
def test_convexity_is_proved_or_denied(M, defect, strength):
    """A matrix that is not convex has an infinite defect, or one that covers its least eigenvalue."""
    program = compiled(random_program("lp", 0)).program
    P = np.zeros(program.P.shape)
    P[: len(M), : len(M)] = M
    c, k = replace(program, P=sp.csc_matrix(P)).convexity
    if defect is None:
        assert c > 0
        if np.isfinite(c):
            assert np.linalg.eigvalsh(np.array(M) + c * np.diag(np.diag(M)))[0] >= 0
    else:
        assert c == defect
    assert (k > 0) is strength
    if k:
        assert np.linalg.eigvalsh(np.array(M) - k * np.diag(np.diag(M)))[0] >= -1e-15


@pytest.mark.parametrize("below", [2.0**-46, 2.0**-30, 2.0**-20])
def test_the_defect_covers_an_eigenvalue_that_is_known_exactly(below):
    """A singular matrix of whole numbers, of more rows than are looked at in fractions, less a power of two."""
    F = np.random.default_rng(0).integers(-2, 3, size=(60, 4))
    P = (F @ F.T + 8 * np.outer(np.ones(60), np.ones(60))) - below * np.eye(60)
    assert np.array_equal(P + below * np.eye(60), np.round(P))  # no rounding
    c, k = convexity(sp.csc_matrix(P))
    null = null_space(np.column_stack([F, np.ones(60)]).T)
    least = below / np.linalg.eigvalsh(null.T @ (np.diag(P)[:, None] * null))[0]  # of x'P x + c x' diag(P) x >= 0
    assert least <= c <= max(1e5 * below, 1e-10)
    assert k == 0


@pytest.mark.parametrize("part", ["whole", "upper", "rounded"])
def test_one_triangle_of_the_quadratic_form_is_completed(part):
    whole = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 4.0]])
    rounded = whole + np.triu(np.full((3, 3), 2.3e-16), 1) * whole
    given = {"whole": whole, "upper": np.triu(whole), "rounded": rounded}[part]
    P = compiled_module._symmetric(sp.csc_matrix(given), 3).toarray()
    np.testing.assert_array_equal(P, P.T)
    np.testing.assert_allclose(P, whole, rtol=1e-15)


def test_semidefinite_matrices_are_told_in_fractions():
    assert is_semidefinite([[0.0, 0.0], [0.0, 1.0]])
    assert not is_semidefinite([[0.0, 1e-300], [1e-300, 1.0]])
    assert not is_semidefinite([[1.0, 1.0], [1.0, 1.0 - 2.0**-52]])


def test_sparse_elimination_knows_singular_matrices(rng):
    """Of integers B'B is exact; a millionth less in one place of its diagonal is seen in the kernel of B."""
    for seed in range(30):
        n = int(rng.integers(2, 9))
        B = rng.integers(-3, 4, (n - 1, n)) * (rng.random((n - 1, n)) < 0.6)
        M = (B.T @ B).astype(float)
        assert is_semidefinite(M)
        kernel = np.linalg.svd(B)[2][-1]
        i = int(np.argmax(np.abs(kernel)))
        M[i, i] -= 2.0**-20
        assert not is_semidefinite(M), seed


@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL"])
def test_bounds_that_the_user_wrote_are_rows_of_the_right_side(solver):
    x = cp.Variable(2, bounds=[np.array([1.0, -2.0]), np.array([3.0, 5.0])])
    form = compiled(cp.Problem(cp.Minimize(np.array([1.0, -1.0]) @ x)), solver)
    program = form.program
    assert program.violation(np.array([1.0, 5.0])) == 0.0
    for outside in ([0.0, 0.0], [4.0, 0.0], [2.0, -3.0], [2.0, 6.0]):
        assert program.violation(np.array(outside)) == 1.0
    answer = form.solved()
    np.testing.assert_allclose(answer.x, [1.0, 5.0], atol=1e-6)
    np.testing.assert_allclose(program.q + program.A.T @ answer.z, 0.0, atol=1e-6)
    assert program.b @ answer.z == pytest.approx(4.0, abs=1e-5)


PIECES = {
    "hinge": (lambda t: cp.sum(cp.pos(1 - t)), lambda t: np.maximum(1 - t, 0).sum()),
    "quantile": (lambda t: cp.sum(cp.maximum(0.3 * t, -0.7 * t)), lambda t: np.maximum(0.3 * t, -0.7 * t).sum()),
    "absolute": (lambda t: cp.sum(cp.abs(3 * t - 1)), lambda t: np.abs(3 * t - 1).sum()),
    "norm1": (lambda t: cp.norm1(t + 2), lambda t: np.abs(t + 2).sum()),
    "norm_inf": (lambda t: cp.norm_inf(2 * t), lambda t: np.abs(2 * t).max()),
    "max": (lambda t: cp.max(-t) + cp.max(t), lambda t: np.ptp(t)),
    "minimum": (lambda t: -cp.sum(cp.minimum(t, 1, -2 * t)), lambda t: -np.minimum(np.minimum(t, 1), -2 * t).sum()),
    "largest": (lambda t: cp.sum_largest(t, 2), lambda t: np.sort(t)[-2:].sum()),
    "nested": (lambda t: cp.sum(cp.pos(cp.abs(t) - 1)), lambda t: np.maximum(np.abs(t) - 1, 0).sum()),
    "variation": (cp.tv, lambda t: np.abs(np.diff(t)).sum()),
    "huber": (lambda t: cp.sum(cp.huber(t)), lambda t: np.where(abs(t) <= 1, t**2, 2 * abs(t) - 1).sum()),
    "squares": (lambda t: cp.sum_squares(cp.pos(t)), lambda t: (np.maximum(t, 0) ** 2).sum()),
}
"""Piecewise linear and quadratic functions with their values by numpy."""
BOUNDED = [name for name in ("HIGHS", "SCIPY", "PIQP", "DAQP") if name in cp.installed_solvers()]
"""Solvers that take bounds; PROXQP does, too, and calls feasible linear programs infeasible."""


@pytest.mark.parametrize("solver", BOUNDED)
@pytest.mark.parametrize("atom", PIECES)
def test_no_bound_that_was_derived_is_part_of_the_program(atom, solver):
    """At any point, over products of both signs, the program has the value of the function, for all solvers."""
    written, value = PIECES[atom]
    rng = np.random.default_rng(0)
    M, x, at = rng.standard_normal((6, 3)), cp.Variable(3), 2 * rng.standard_normal(3)
    problem = cp.Problem(cp.Minimize(written(M @ x) + 0.1 * x[0]), [x == at])
    try:
        form = compiled(problem, solver)
    except cp.SolverError:
        pytest.skip(f"{solver} does not take it")
    assert form.data["param_prob"].lower_bounds is form.data["param_prob"].upper_bounds is None
    answer = form.solved()
    assert answer.status == "optimal"
    assert form.program.value(answer.x) == pytest.approx(value(M @ at) + 0.1 * at[0], rel=1e-5)


def test_the_solver_without_bounds_is_one_and_travels():
    """CVXPY keeps what it has compiled by the solver."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm1(x)), [cp.sum(x) == 2])
    solver = solver_for(problem, "HIGHS")
    assert solver is solver_for(problem, "HIGHS") is pickle.loads(pickle.dumps(solver))
    assert solver_for(problem, "CLARABEL") == "CLARABEL"
    first = problem.get_problem_data(solver)[0]["param_prob"]
    assert problem.get_problem_data(solver)[0]["param_prob"] is first


def test_whole_semidefinite_matrices_are_packed_by_their_symmetric_parts(rng):
    X, t = cp.Variable((3, 3)), cp.Variable(2)
    packing = compiled_module._packing([NonNeg(t), X >> 0]).toarray()
    assert packing.shape == (2 + 6, 2 + 9)
    cone = cones.Semidefinite(np.arange(6)[None], 3, "upper")
    for _ in range(5):
        M, Z = rng.standard_normal((2, 3, 3))
        rows, z = (packing @ np.r_[1.0, 2.0, part.ravel(order="F")] for part in (M, Z + Z.T))
        assert rows[:2].tolist() == [1.0, 2.0]
        np.testing.assert_allclose(rows[2:], cone.packed(((M + M.T) / 2)[None])[0], atol=1e-15)
        assert rows[2:] @ z[2:] == pytest.approx(np.sum(M * (Z + Z.T)))  # an inner product of matrices stays


def test_multipliers_of_whole_semidefinite_matrices_prove_the_optimum():
    if "CVXOPT" not in cp.installed_solvers():
        pytest.skip("CVXOPT is not installed")
    C = np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 1.0], [0.0, 1.0, 0.5]])
    X = cp.Variable((3, 3), symmetric=True)
    held = [X >> 0, cp.trace(X) == 1, X[0, 1] >= -5]
    result = cvxproof.solve(cp.Problem(cp.Minimize(cp.trace(C @ X)), held), "CVXOPT")
    assert result.status is cvxproof.Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(np.linalg.eigvalsh(C)[0], abs=1e-6)
    assert result.certificate.assumptions == ()
    np.testing.assert_allclose(result.duals["constraint_0"], C - np.linalg.eigvalsh(C)[0] * np.eye(3), atol=1e-5)
    outside = cp.Problem(cp.Minimize(cp.trace(X)), [X >> np.eye(3), X[0, 0] == 0.5])
    assert cvxproof.solve(outside, "CVXOPT").status is cvxproof.Status.INFEASIBLE


def test_units_follow_every_scaling_of_rows_and_columns(rng):
    x = cp.Variable(4)
    held = [x[0] + 2 * x[1] <= 6, x[1] >= x[2], x[2] == 4, cp.SOC(8 * x[3], x[2:3])]
    program = compiled(cp.Problem(cp.Minimize(x[0] - x[1] + 3 * x[3]), held)).program
    # By hand: x_2 = 4 of its own row, x_0 <= 6, x_1 <= 3, and x_3 from the cone of x_2: 4 / 8.
    assert program.units.tolist() == [6.0, 3.0, 4.0, 0.5]
    assert program.size(np.zeros(4)) == 6 + 3 + 1.5
    assert program.size(np.array([0, 0, 0, 10.0])) == 6 + 3 + 30
    for _ in range(5):
        columns = np.exp2(rng.integers(-36, 37, 4))
        rows = np.exp2(rng.integers(-36, 37, len(program.b)))
        for cone in program.parts:
            rows[cone.rows] = rows[cone.rows][:, :1]
        A = sp.diags(rows) @ program.A @ sp.diags(columns)
        scaled = replace(program, A=sp.csc_matrix(A), b=rows * program.b, q=program.q * columns)
        assert (scaled.units * columns).tolist() == program.units.tolist()
        assert scaled.size(np.zeros(4)) == program.size(np.zeros(4))
        y = rng.standard_normal(4)
        assert scaled.relative_violation(y / columns) == pytest.approx(program.relative_violation(y), rel=1e-12)
    # A right side that is rounding makes no violation a large one: with y <= 8 the unit of x is 8, else 2^-60.
    y = cp.Variable(2)
    held = [y[0] - y[1] <= 2.0**-60, y[1] <= 8, y[0] >= 0]
    tiny = compiled(cp.Problem(cp.Minimize(y[0]), held)).program
    assert tiny.units.min() == 2.0**-60
    assert tiny.relative_violation(np.array([-(2.0**-50), 0.0])) == 2.0**-50 / 8
    # Without right sides every multiple of a point is as feasible as the point.
    assert compiled(cp.Problem(cp.Minimize(cp.norm(x)), [x[0] >= x[1]])).program.units.tolist() == [1.0] * 5


def test_what_violations_are_worth():
    x = cp.Variable(2)
    program = compiled(cp.Problem(cp.Minimize(cp.sum(x)), [x[0] >= 1, x[1] >= 2])).program
    z = np.array([3.0, 5.0])
    assert program.worth(np.array([1.5, 2.0]), z) == 0.0
    assert program.worth(np.array([0.9, 1.5]), z) == pytest.approx(3 * 0.1 + 5 * 0.5)
