"""Programs that CVXPY compiled wrongly are refused, right ones of all atoms and scales are not, and solvers agree."""

import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from conic_programs import KINDS, random_program
from full_size import shortened

import cvxproof
from cvxproof.conic import agreement, cones, running
from cvxproof.conic.compiled import compiled
from cvxproof.results import Status

n = 5
M = np.random.default_rng(0).standard_normal((6, n))


def with_derived_bounds(problem, solver):
    """Return the program as CVXPY hands it to a solver that takes bounds, these as rows."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(running, "solver_for", lambda problem, name: name)
        form = compiled(problem, solver)
    held = form.data["param_prob"]
    own, A, b, parts = form.program, form.program.A, form.program.b, form.program.parts
    for side, bounds in ((-1.0, held.lower_bounds), (1.0, held.upper_bounds)):
        at = np.flatnonzero(np.isfinite(bounds)) if bounds is not None else np.zeros(0, dtype=int)
        rows = sp.csc_matrix((np.full(len(at), side), (np.arange(len(at)), at)), (len(at), A.shape[1]))
        parts = (*parts, cones.Nonnegative(len(b) + np.arange(len(at))[:, None])) if len(at) else parts
        A, b = sp.vstack([A, rows]).tocsc(), np.concatenate([b, side * bounds[at]]) if len(at) else b
    return replace(form, program=replace(own, A=A, b=b, parts=parts))


x = cp.Variable(n, name="x")
WRONG = {
    "hinge": (cp.sum(cp.pos(1 - cp.multiply(np.sign(M[:, 0]), M @ x))) + cp.sum_squares(x), []),
    "quantile": (cp.sum(cp.maximum(0.3 * (M @ x), -0.7 * (M @ x))), [x >= -1]),
    "absolute": (cp.sum(cp.abs(3 * (M @ x) - 1)), [cp.sum(x) == 1]),
    "in a constraint": (cp.sum(x), [cp.abs(2 * (M @ x) - 1) <= 3]),
    "largest": (cp.norm_inf(2 * (M @ x) - 1), []),
}


@pytest.mark.parametrize("name", WRONG)
def test_bounds_that_cvxpy_derives_wrongly_are_noticed(name, monkeypatch):
    if not cp.__version__.startswith("1.9."):
        pytest.skip("another version of CVXPY may derive them rightly")
    objective, held = WRONG[name]
    problem = cp.Problem(cp.Minimize(objective), held)
    assert agreement.compiled_as_written(problem, "HIGHS").program.parts
    monkeypatch.setattr(agreement, "compiled", with_derived_bounds)
    result = cvxproof.solve(problem, "HIGHS")
    assert result.status is Status.FAILED
    assert f"CVXPY {cp.__version__} compiles another program than was written" in result.message


@pytest.mark.parametrize("change", ["entries of rows", "a right side", "the objective"])
def test_a_changed_program_is_noticed(change, monkeypatch):
    problem = cp.Problem(cp.Minimize(cp.sum(cp.abs(M @ x)) + x[0]))
    form = compiled(problem)
    own = form.program
    if change == "entries of rows":
        columns = np.ones(own.A.shape[1])
        columns[next(iter(form.columns().values()))] = 3.0
        wrong = replace(own, A=(own.A @ sp.diags(columns)).tocsc())
    elif change == "a right side":
        wrong = replace(own, b=own.b - 1.0)
    else:
        wrong = replace(own, q=2 * own.q)
    monkeypatch.setattr(agreement, "compiled", lambda problem, solver: replace(form, program=wrong))
    with pytest.raises(cp.SolverError, match="another program"):
        agreement.compiled_as_written(problem)


def test_a_program_that_is_wrong_at_negative_values_alone_is_noticed(monkeypatch):
    problem = cp.Problem(cp.Minimize(cp.sum(cp.neg(x))))  # -3x is below 0, too, where -x is
    form = compiled(problem)
    columns = np.ones(form.program.A.shape[1])
    columns[form.columns()[x.id]] = 3.0
    wrong = replace(form.program, A=(form.program.A @ sp.diags(columns)).tocsc())
    monkeypatch.setattr(agreement, "compiled", lambda problem, solver: replace(form, program=wrong))
    with pytest.raises(cp.SolverError, match="another program"):
        agreement.compiled_as_written(problem)


X, t = cp.Variable((3, 3), symmetric=True), cp.Variable(nonneg=True)
P = cp.Variable((2, 2), PSD=True)
RIGHT = {
    "norms": cp.norm(M @ x)
    + cp.norm1(x)
    + cp.norm_inf(x)
    + cp.pnorm(x, 3)
    + cp.mixed_norm(cp.reshape(M @ x, (3, 2), "F")),
    "exponentials": cp.sum(cp.exp(x)) + cp.log_sum_exp(M @ x) + cp.sum(cp.logistic(x)) + cp.sum(cp.huber(M @ x)),
    "logarithms": -cp.sum(cp.log(x)) - cp.sum(cp.entr(x)) + cp.sum(cp.kl_div(x, 1 + x)) - cp.sum(cp.log1p(x)),
    "entropies": cp.sum(cp.rel_entr(x, 2 + x)) + cp.sum(cp.xexp(t)),
    "powers": cp.sum(cp.power(x, 3)) + cp.sum(cp.power(x, -0.7)) - cp.sum(cp.power(x, 0.123)) + cp.sum(cp.power(x, 4)),
    "means": -cp.geo_mean(x) - cp.harmonic_mean(x) + cp.inv_prod(x) - cp.pnorm(x, 0.5) - cp.sum(cp.sqrt(x)),
    "quotients": cp.quad_over_lin(M @ x, cp.min(x)) + cp.sum(cp.inv_pos(cp.minimum(x, 2))),
    "orders": cp.sum_largest(M @ x, 3) - cp.sum_smallest(x, 2) + cp.max(x) + cp.cvar(M @ x, 0.5) + cp.dotsort(x, M[0]),
    "nested": cp.sum(cp.square(cp.pos(cp.abs(M @ x) - 1))) + cp.pos(cp.norm(x) - 1) + cp.exp(cp.max(M @ x)),
    "variation": cp.tv(x) + cp.sum(cp.abs(cp.diff(x, 2))) + cp.sum(cp.cumsum(cp.pos(x))) + cp.sum(cp.cummax(x)),
    "eigenvalues": cp.lambda_max(X) - cp.lambda_min(X) + cp.sigma_max(X) + cp.normNuc(X) + cp.lambda_sum_largest(X, 2),
    "determinants": -cp.log_det(X) + cp.tr_inv(X) + cp.matrix_frac(np.ones(3), X) - cp.log_det(np.eye(2) + P),
    "attributes": -cp.sqrt(t) + cp.inv_pos(t) + cp.trace(P) + cp.square(t),
    "perspective": cp.perspective(cp.square(t), cp.Variable(nonneg=True)) + cp.norm(cp.vec(P, "F")),
}


@pytest.mark.parametrize("exponent", [0, 20, -20, 36, -36])
@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_of_all_atoms_and_scales_are_not_refused(name, exponent):
    scale = 2.0**exponent
    for sign, objective in ((1, cp.Minimize(scale * RIGHT[name])), (-1, cp.Maximize(-scale * RIGHT[name]))):
        agreement.compiled_as_written(cp.Problem(objective, [x <= 3 * scale, scale * x >= -2, RIGHT[name] <= 1e6]))
        assert sign


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_right_random_programs_are_not_refused(kind, seed):
    problem = random_program(kind, seed)
    agreement.compiled_as_written(problem)
    assert all(variable.value is None for variable in problem.variables())


SOLVERS = ("CLARABEL", "ECOS", "SCS", "OSQP", "HIGHS", "PIQP", "QOCO", "DAQP", "PROXQP")
"""Those that are not installed are left out."""
OPTIONS = {"HIGHS": {"time_limit": 10.0}}
TERMS = (
    lambda t, y: cp.sum(cp.pos(1 - cp.multiply(y, t))),
    lambda t, y: cp.sum(cp.maximum(0.3 * (t - y), -0.7 * (t - y))),
    lambda t, y: cp.sum(cp.abs(2 * (t - y))),
    lambda t, y: cp.max(3 * t - y) + cp.max(y - t),
    lambda t, y: cp.sum(cp.maximum(t, 1 - 2 * t, y)),
    lambda t, y: cp.norm1(-0.5 * t + y) + cp.norm_inf(2 * t),
    lambda t, y: cp.sum(cp.huber(t - y, 0.5)),
    lambda t, y: cp.sum_squares(cp.pos(1 - cp.multiply(y, t))),
    lambda t, y: cp.norm(t - y),
    lambda t, y: cp.sum_largest(cp.abs(t - y), 3),
)


def program_of_losses(seed):
    """Return a program with an optimum, or one without a feasible point."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(6, 25)), int(rng.integers(2, 6))
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    x, b = cp.Variable(n), cp.Variable()
    t = (rng.standard_normal((m, n)) + 0.5 * y[:, None]) @ x + b
    chosen = rng.choice(len(TERMS), size=rng.integers(1, 4), replace=False)
    loss = sum(float(rng.uniform(0.1, 2)) * TERMS[k](t, y) for k in chosen)
    if rng.random() < 0.6:
        loss += float(10 ** rng.uniform(-2, 1)) * cp.sum_squares(x)
    held = [cp.abs(x) <= float(rng.uniform(0.5, 5)), cp.abs(b) <= 10]
    if rng.random() < 0.3:
        held.append(cp.sum(x) == float(rng.uniform(-1, 1)))
    if rng.random() < 0.3:
        held.append(cp.abs(2 * t - y) <= float(rng.uniform(0.2, 8)))
    if rng.random() < 0.3:
        held.append(cp.norm1(3 * t[:4]) <= float(rng.uniform(1, 9)))
    return cp.Problem(cp.Minimize(loss) if rng.random() < 0.7 else cp.Maximize(-loss), held)


def contradictions(results):
    """Return the pairs of proofs that cannot both be right."""
    found = []
    proved = {name: one for name, one in results.items() if one.status in (Status.OPTIMAL, Status.INFEASIBLE)}
    for name, one in proved.items():
        for other, two in proved.items():
            if one.status is not two.status:
                found.append((name, other, one.status.name, two.status.name))
            elif one.status is Status.OPTIMAL:
                side = 1 if one.certificate.sense == "minimize" else -1
                size = 1 + abs(two.certificate.primal_objective)
                above = side * (one.certificate.dual_objective - two.certificate.primal_objective)
                found += [(name, other, above)] if above > 2e-6 * size else []
    return found


@pytest.mark.parametrize("seed", range(shortened(12, 500)))
def test_no_proof_contradicts_that_of_another_solver(seed):
    results = {}
    for name in filter(cp.installed_solvers().__contains__, SOLVERS):
        results[name] = cvxproof.solve(program_of_losses(seed), name, **OPTIONS.get(name, {}))
    assert contradictions(results) == []
    assert any(one.status in (Status.OPTIMAL, Status.INFEASIBLE) for one in results.values())
