"""`certify` and `solve` of any problem of CVXPY: whoever solved it, in the units of its user."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.constraints import FiniteSet
from cvxpy.transforms.partial_optimize import partial_optimize

import specmargin as sm
from cvxproof.conic.solving import _approximations
from specmargin.exceptions import InfeasibleError, SolverError
from specmargin.results import Certificate, Status

SOLVERS = [name for name in ("CLARABEL", "SCS", "ECOS", "OSQP") if name in cp.installed_solvers()]


def portfolio(sense=cp.Maximize):
    x = cp.Variable(4, name="x", nonneg=True)
    held = [(cp.sum(x) == 1).set_label("budget"), (x <= 0.6).set_label("most"), x[0] >= 0.1]
    gain = np.array([1.0, 2.0, 3.0, 4.0]) @ x - cp.sum_squares(x)
    return cp.Problem(cp.Maximize(gain) if sense is cp.Maximize else cp.Minimize(-gain), held)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sense", [cp.Maximize, cp.Minimize])
def test_any_solver_is_judged_by_one_rule(solver, sense):
    problem = portfolio(sense)
    value = problem.solve(solver="CLARABEL")
    certificate = sm.certify(problem, solver=solver)
    assert certificate.kind == "cone program"
    assert certificate.sense == ("maximize" if sense is cp.Maximize else "minimize")
    assert certificate.primal_objective == pytest.approx(value)
    assert certificate.is_optimal(1e-3)
    assert certificate.assumptions == ()
    side = 1 if sense is cp.Maximize else -1
    assert side * (certificate.dual_objective - value) >= -1e-7
    assert certificate.violations.keys() == {"budget", "most", "constraint_2", "x is nonneg"}


def test_a_result_speaks_by_name():
    result = sm.solve(portfolio())
    assert result.status is Status.OPTIMAL
    assert result.variables["x"].shape == (4,)
    assert result.duals.keys() == {"budget", "most", "constraint_2", "x is nonneg"}
    assert result.n_iter > 0
    assert result.certificate.violation <= 1e-8
    assert result.duals["most"][3] > 0.1


def test_an_interval_holds_the_optimum():
    problem = portfolio()
    problem.solve()
    certificate = sm.certify(problem, interval=True)
    assert certificate.attained is not None
    assert certificate.attained <= certificate.dual_objective
    assert certificate.dual_objective - certificate.attained < 1e-5


def test_a_point_outside_of_its_constraints_is_never_optimal():
    problem = portfolio()
    problem.solve()
    (x,) = problem.variables()
    x.save_value(x.value + np.array([0.0, 0.0, 0.0, 1e-3]))
    certificate = sm.certify(problem)
    assert certificate.violations["most"] == pytest.approx(1e-3, rel=1e-3)
    assert certificate.primal_residual > 1e-4
    assert certificate.status(1e-6) is Status.OPTIMAL_INACCURATE
    x.save_value(x.value + np.array([0.0, 0.0, 0.0, 1.0]))
    assert sm.certify(problem).status(1e-6) is Status.UNPROVED


def test_a_value_below_the_bound_is_a_gap_and_no_contradiction():
    """Solvers stop slightly outside of the constraints; that reads as a distance, never as "nothing is proved"."""
    certificate = Certificate(0.9999999, 1.0, kind="cone program", primal_residual=1e-8)
    assert certificate.relative_gap == pytest.approx(1e-7)
    assert certificate.status(1e-6) is Status.OPTIMAL
    assert Certificate(0.9999999, 1.0).status(1e-6) is Status.NUMERICAL


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "OSQP"])
def test_infeasible_and_unbounded_are_proved(solver):
    x = cp.Variable(2)
    result = sm.solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, cp.norm(x) <= 1]), solver)
    assert result.status is Status.INFEASIBLE
    assert result.message.startswith(
        "infeasible, proved; what contradicts each other is 'constraint_0', 'constraint_1'"
    )
    with pytest.raises(InfeasibleError, match="contradict each other"):
        sm.solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, cp.norm(x) <= 1]), solver, check=True)
    assert sm.solve(cp.Problem(cp.Maximize(cp.sum(x)), [x >= 1]), solver).status is Status.UNBOUNDED


@pytest.mark.parametrize("solver", ["PIQP", "QOCO"])
def test_other_interior_points_are_judged_as_well(solver):
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    problem = portfolio()
    result = sm.solve(problem, solver)
    assert (result.status, result.solver) == (Status.OPTIMAL, solver)
    assert result.certificate.assumptions == ()
    assert result.certificate.dual_objective >= problem.solve(solver="CLARABEL") - 1e-9
    wrong = sm.certify(problem, solver=solver)
    assert wrong.relative_gap <= 1e-6


def test_a_scaled_problem_keeps_its_multipliers():
    """The second attempt scales the objective; what it returns does not show it."""
    duals = []
    for scale in (1.0, 1e-7):
        x = cp.Variable(3)
        problem = cp.Problem(cp.Minimize(scale * cp.sum_squares(x - 3)), [x <= 1])
        result = sm.solve(problem)
        assert result.certificate.is_optimal(1e-6)
        duals.append(result.duals["constraint_0"] / scale)
    np.testing.assert_allclose(duals[1], duals[0], rtol=1e-4)


x, k, p = cp.Variable(name="x"), cp.Variable(name="k", integer=True), cp.Parameter(name="p")
BAD = {
    "not convex": (cp.Problem(cp.Maximize(cp.square(x))), r"not convex by CVXPY's rules \(DCP\)"),
    "integer": (cp.Problem(cp.Minimize(k), [k >= 0]), r"\['k'\] are integer.*Relax"),
    "finite": (
        cp.Problem(cp.Minimize(cp.square(x - 5)), [x >= 1, FiniteSet(x, np.array([0, 10])).set_label("tens")]),
        r"\['tens'\] are finite sets.*Relax",
    ),
    "parameter": (cp.Problem(cp.Minimize(p * x)), r"\['p'\] have no values"),
    "constant": (cp.Problem(cp.Minimize(cp.Constant(3))), "no variables"),
    "empty": (cp.Problem(cp.Minimize(cp.sum(cp.Variable(0)))), "no variables, or empty ones"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_has_no_certificate_is_refused_by_name(name):
    problem, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        sm.solve(problem)
    with pytest.raises(ValueError, match=message):
        sm.certify(problem)


def test_a_hermitian_matrix_is_judged_by_its_eigenvalues():
    Z = cp.Variable((2, 2), hermitian=True, name="Z")
    C = np.array([[1, 1j], [-1j, 0]])
    lmi = (Z >> 0).set_label("lmi")
    problem = cp.Problem(cp.Minimize(cp.real(cp.trace(C @ Z))), [lmi, cp.real(cp.trace(Z)) == 2])
    result = sm.solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(2 * np.linalg.eigvalsh(C)[0], rel=1e-6)
    slack = C + result.duals["constraint_1"] * np.eye(2)  # the multiplier of the matrix, by stationarity
    np.testing.assert_allclose(result.duals["lmi"], slack, atol=1e-6)
    Z.value = np.array([[1, 2j], [-2j, 1]])  # eigenvalues -1 and 3
    certificate = sm.certify(problem)
    assert certificate.violations["lmi"] == pytest.approx(1.0)
    assert not certificate.is_optimal(0.5)


def test_what_a_variable_says_of_itself_is_judged():
    x, Z = cp.Variable(2, name="x", nonneg=True), cp.Variable((2, 2), name="Z", PSD=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x) + cp.trace(Z)), [x[1] + Z[0, 0] >= 1])
    problem.solve()
    assert sm.certify(problem).violation <= 1e-6
    x.save_value(np.array([-0.5, 1.0]))
    Z.save_value(np.diag([0.0, -0.25]))
    certificate = sm.certify(problem)
    assert (certificate.violations["x is nonneg"], certificate.violations["Z is PSD"]) == (0.5, 0.25)
    assert certificate.primal_residual == 0.5


def test_complex_equalities_and_diagonal_variables_are_solved():
    z = cp.Variable(2, complex=True, name="z")
    problem = cp.Problem(cp.Minimize(cp.norm(z - np.array([3 + 4j, 1j]))), [(z[1] == 0.5j).set_label("half")])
    result = sm.solve(problem)
    assert result.certificate.primal_objective == pytest.approx(0.5)
    np.testing.assert_allclose(result.variables["z"], [3 + 4j, 0.5j], atol=1e-6)
    assert abs(result.duals["half"]) == pytest.approx(1.0, rel=1e-6)  # what a move of the right side is worth
    D = cp.Variable((2, 2), diag=True, name="D")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(D - np.array([[1.0, 5], [5, 2]]))), [D <= 1.5])
    result = sm.solve(problem)
    assert result.certificate.primal_objective == pytest.approx(50.25)
    np.testing.assert_allclose(result.variables["D"], np.diag([1.0, 1.5]), atol=1e-5)


def test_parts_of_one_name_are_told_apart(tmp_path):
    one, two = cp.Variable(2, name="w"), cp.Variable(2, name="w")
    held = [(one[0] <= 0.5).set_label("c_2"), (two[0] <= 1).set_label("c"), (two[1] <= 1.5).set_label("c")]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(one - 1) + cp.sum_squares(two - 2)), held)
    result = sm.solve(problem)
    np.testing.assert_allclose(result.variables["w"], [0.5, 1.0], atol=1e-6)
    np.testing.assert_allclose(result.variables["w_1"], [1.0, 1.5], atol=1e-6)
    multipliers = {name: float(dual) for name, dual in result.duals.items()}
    assert multipliers == pytest.approx({"c_2": 1.0, "c": 2.0, "c_2_2": 1.0}, abs=1e-5)
    sm.save_result(tmp_path / "two.npz", problem, result)
    kept = sm.load_result(tmp_path / "two.npz")[1]
    np.testing.assert_array_equal(kept.variables["w_1"], result.variables["w_1"])
    assert str(sm.verify(problem, result)).startswith("proved")


def test_a_constraint_that_is_false_contradicts_by_itself():
    message = sm.solve(cp.Problem(cp.Minimize(cp.square(x)), [x <= 1, cp.Constant(3) <= 2])).message
    assert "'constraint_1'" in message
    assert "'constraint_0'" not in message


def test_a_solver_that_cannot_is_named():
    Z = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(Z)), [Z[0, 1] == 1])
    problem.solve()
    with pytest.raises(SolverError, match=r"OSQP gives no multipliers.*solver='CLARABEL'"):
        sm.certify(problem, solver="OSQP")


def test_what_is_not_solved_is_refused():
    with pytest.raises(ValueError, match=r"variables \['x'\] have no values.*has no solution\. Call"):
        sm.certify(portfolio())
    with pytest.raises(ValueError, match="pass the problem alone"):
        sm.certify(portfolio(), {"x": 1})
    with pytest.raises(TypeError):
        sm.solve("STORM")


def test_a_built_problem_is_certified_by_its_objective(gram_data):
    K, labels = gram_data()
    built = sm.problems.rmm(sm.objectives.RMM(K, labels, C=2.0))
    with pytest.raises(ValueError, match="SVM is not solved"):
        sm.certify(built)
    sm.solve(built)
    assert sm.certify(built).kind == "objective"
    assert sm.certify(built).is_optimal(1e-6)
    other = built.with_(constraints={"small": built.variables["alpha"] <= 0.1})
    sm.solve(other)
    assert sm.certify(other).kind == "cone program"
    assert sm.certify(built.objective, sm.solve(built)).is_optimal(1e-6)
    with pytest.raises(ValueError, match="result is missing"):
        sm.certify(built.objective)


x, w = cp.Variable(name="x"), cp.Variable(3, name="w")
SUPPOSING = {  # with the optimum, which no x up to 1,000 has
    "log": (cp.Problem(cp.Minimize(x), [cp.log(x) >= 24]), np.exp(24)),
    "sqrt": (cp.Problem(cp.Minimize(x), [cp.sqrt(x) >= 1e8]), 1e16),
    "power": (cp.Problem(cp.Minimize(x), [cp.power(x, 0.25) >= 1e4]), 1e16),
    "geo_mean": (cp.Problem(cp.Minimize(cp.sum(w)), [cp.geo_mean(w) >= 1e12]), 3e12),
    "exp": (cp.Problem(cp.Minimize(cp.sum(cp.exp(w)) - 1e10 * cp.sum(w))), 3e10 * (1 - np.log(1e10))),
}


@pytest.mark.parametrize("name", SUPPOSING)
def test_a_ray_that_supposes_something_is_no_proof(name):
    problem, optimum = SUPPOSING[name]
    result = sm.solve(problem)
    assert result.status not in (Status.INFEASIBLE, Status.UNBOUNDED)
    assert result.certificate.dual_objective <= optimum * (1 + 1e-12 * np.sign(optimum))
    if not result.status.has_solution:
        assert "does not prove it but by supposing" in result.message
        with pytest.raises(SolverError, match="is what the solver says") as caught:
            sm.solve(problem, check=True)
        assert not isinstance(caught.value, InfeasibleError)


@pytest.mark.parametrize("held", [[cp.norm(w[1:2] - 5) <= 1, w[1] >= 6.1], [cp.exp(w[1]) <= 1, w[1] >= 0.1]])
def test_an_infeasible_program_is_not_unbounded(held):
    result = sm.solve(cp.Problem(cp.Minimize(-w[0]), held))
    assert result.status is Status.INFEASIBLE
    assert result.message.startswith("infeasible, proved")


A = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 4.0]])
ZEROS = {
    "squares": cp.Problem(cp.Minimize(cp.sum_squares(w - 3))),
    "interpolation": cp.Problem(cp.Minimize(cp.sum_squares(A @ w - [1, 2]))),
    "norm": cp.Problem(cp.Minimize(cp.norm(w - 3)), [w >= 1]),
    "modulus": cp.Problem(cp.Maximize(-cp.norm1(w)), [w <= 5]),
    "nothing": cp.Problem(cp.Minimize(0), [cp.norm(w) <= 1, cp.sum(w) == 1]),
    "hinges": cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - w)))),
    "sum": cp.Problem(cp.Minimize(w[0] + w[1] - 7), [w[0] >= 3, w[1] >= 4]),
}


@pytest.mark.parametrize("name", ZEROS)
def test_an_optimum_of_zero_is_proved_relative_to_the_data(name):
    result = sm.solve(ZEROS[name])
    certificate = result.certificate
    assert (result.status, certificate.assumptions) == (Status.OPTIMAL, ())
    assert certificate.gap <= 3e-10 * certificate.scale
    if name == "squares":
        assert certificate.scale == pytest.approx(27)  # the objective at zero
        assert "of the size of the objective's terms, 2.7e+01" in result.message


def test_a_small_optimum_among_large_terms_is_proved_relative_to_itself():
    def certificate(error):
        return Certificate(1e-3, 1e-3 - error, kind="cone program", scale=1e3)

    assert certificate(0.9e-9).is_optimal(1e-6)
    assert not certificate(1.1e-9).is_optimal(1e-6)
    assert certificate(0.9e-9).described == "gap 9.0e-10, 9.0e-07 of the objective"
    assert certificate(3.6e-7).relative_gap == pytest.approx(3.6e-4)
    # From 1e-10 of the terms on both are zero; one of them alone is not enough, nor is a rounding beyond.
    assert Certificate(9e-8, 0.0, kind="cone program", scale=1e3).relative_gap == pytest.approx(9e-11)
    assert Certificate(9e-8, -2e-7, kind="cone program", scale=1e3).relative_gap > 1
    assert Certificate(9e-8, 0.0, kind="cone program", scale=1e3, rounding=2e-8).relative_gap > 1


@pytest.mark.parametrize("solver", ["CLARABEL", "ECOS", "OSQP", "HIGHS", "PIQP", "DAQP", "QOCO", "PROXQP"])
def test_no_constraint_is_needed_for_a_proof(solver):
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    for loss, optimum in (
        (cp.sum_squares(w) - w[0], -0.25),
        (cp.square(w[0] + w[1] - 1) - (w[0] + w[1]), -1.25),  # curved in one direction only
        (cp.sum_squares(w[:2] - 1) + 3, 3.0),
    ):
        result = sm.solve(cp.Problem(cp.Minimize(loss)), solver)
        assert (result.status, result.certificate.assumptions) == (Status.OPTIMAL, ())
        assert result.certificate.primal_objective == pytest.approx(optimum, abs=1e-6)
    assert sm.solve(cp.Problem(cp.Minimize(w[0])), solver).status is Status.UNBOUNDED


def test_what_cvxpy_approximates_is_supposed():
    held, rounded = [cp.sum(w) == 1, w >= 0.1, w[0] >= 0.5], "that the exponents of "
    for atom, word in (
        (cp.pnorm(w, np.e), rounded),
        (cp.pnorm(w, np.e, approx=False), ""),
        (cp.pnorm(w, 2.7), ""),
        (cp.sum(cp.power(w, np.e)), rounded),
        (cp.sum(cp.power(w, 1.7)), ""),
        (-cp.geo_mean(w, [np.e, 1, 1]), rounded),
        (-cp.geo_mean(w), ""),
        (cp.inv_prod(w), ""),
        (cp.quantum_rel_entr(cp.diag(w), np.eye(3) / 3), "that CVXPY's quadrature of "),
    ):
        told = _approximations(cp.Problem(cp.Minimize(atom), held))
        assert len(told) == bool(word), atom
        assert all(text.startswith(word) and text.endswith("exact") for text in told)
    # The bound of the approximation is above the true optimum, by which it would be a false proof.
    problem = cp.Problem(cp.Minimize(cp.pnorm(w, np.e)), held)
    result = sm.solve(problem)
    exact = sm.solve(cp.Problem(cp.Minimize(cp.pnorm(w, np.e, approx=False)), held))
    assert (result.status, exact.status) == (Status.CONDITIONAL, Status.OPTIMAL)
    assert result.message.startswith("optimal, supposing that the exponents of Pnorm, which CVXPY rounds by 2e-05, are")
    assert result.certificate.dual_objective > exact.certificate.primal_objective * (1 + 1e-6)
    pytest.importorskip("flint")
    assert "supposing that the exponents of Pnorm" in str(sm.verify(problem, result))
    assert "its status is optimal, but its bound" in sm.verify(problem, replace(result, status=Status.OPTIMAL)).message


def test_a_problem_within_a_problem_is_looked_through():
    x, inner = cp.Variable(2, name="x"), cp.Variable(2, name="inner")
    for norm, n_told in ((cp.norm1(inner - x), 0), (cp.pnorm(inner - x, np.e), 1)):
        within = partial_optimize(cp.Problem(cp.Minimize(norm + cp.sum(inner)), [inner >= 3]), [inner], [x])
        problem = cp.Problem(cp.Minimize(within), [x <= 1])
        result = sm.solve(problem)
        assert result.status is (Status.CONDITIONAL if n_told else Status.OPTIMAL)
        assert len(result.certificate.assumptions) == n_told
        optimum = 6 + (2 * 2 ** (1 / np.e) if n_told else 4)
        assert result.certificate.primal_objective == pytest.approx(optimum, rel=1e-4)
