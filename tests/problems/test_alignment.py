"""Kernel-target alignment against nonnegative least squares and against the cosine maximised directly."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import specmargin as sm
from specmargin.objectives import Alignment
from specmargin.problems import kta, solve
from specmargin.results import Status

kinds = pytest.mark.parametrize("kind", ["simple", "tied", "split"])
orders = pytest.mark.parametrize("order", [True, False], ids=["ordered", "unordered"])
solvers = pytest.mark.parametrize("solver", [*sm.problems.default_solvers(), "OSQP"])


def by_least_squares(obj):
    """The projection of yy' on the cone of kernels, vectorised: its ray has the best cosine."""
    rays = obj.cone.matrix()
    kernels = np.array([((obj.U * ray) @ obj.U.T).ravel() for ray in rays]).T
    scale = np.linalg.norm(kernels, axis=0)
    kappa, _ = nnls(kernels / scale, np.outer(obj.labels.sign, obj.labels.sign).ravel())
    delta = rays.T @ (kappa / scale)
    return delta / delta.sum()


@kinds
@orders
@pytest.mark.parametrize("solver", sm.problems.default_solvers())
def test_it_is_nonnegative_least_squares(kind, order, solver, spectrum_data):
    obj = Alignment(*spectrum_data(kind, l=12), order=order)
    result = solve(kta(obj), solver)
    delta = by_least_squares(obj)
    assert result.certificate.is_optimal(1e-9)
    assert result.certificate.primal_objective == pytest.approx(obj.value_at(delta), rel=1e-9)
    np.testing.assert_allclose(result.variables["delta"], delta, atol=1e-8)


@kinds
@orders
def test_it_is_the_projected_qp(kind, order, spectrum_data, tight):
    """min 1/2 d'M d - a'd over the cone, the order spelled out in delta, then the sum is set to one."""
    obj = Alignment(*spectrum_data(kind, l=12), order=order)
    delta, l = cp.Variable(obj.q), obj.labels.n_labeled
    constraints = [delta >= 0]
    if order:
        constraints += [delta[j] >= delta[j + 1] for j in range(1, obj.q - 1)]
        inside = set(range(1, obj.q)) - set(obj.cone.block_ends)
        constraints += [delta[j] == delta[j + 1] for j in inside]
    value = cp.quad_form(delta, cp.psd_wrap(obj.M / l**2)) / 2 - obj.a @ delta / l**2
    cp.Problem(cp.Minimize(value), constraints).solve(solver="CLARABEL", **tight["CLARABEL"])
    expected = np.maximum(delta.value, 0)
    result = solve(kta(obj), **tight["CLARABEL"])
    assert result.certificate.primal_objective == pytest.approx(obj.value_at(expected), rel=1e-8)
    np.testing.assert_allclose(result.variables["delta"], expected / expected.sum(), atol=1e-5)


@orders
def test_nothing_admissible_is_better_aligned(order, spectrum_data, rng):
    obj = Alignment(*spectrum_data("simple", q=5, l=12), order=order)
    best = solve(kta(obj)).certificate

    def of_logs(x):
        return -obj.value_at(obj.cone.weights(np.exp(x)))

    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000}
    reached = []
    for _ in range(3):
        start = rng.normal(size=obj.cone.m)
        found = minimize(of_logs, start, method="L-BFGS-B", bounds=[(-25, 5)] * obj.cone.m, options=options)
        assert -found.fun <= best.dual_objective + 1e-9
        reached.append(-found.fun)
    assert max(reached) == pytest.approx(best.primal_objective, rel=1e-6)


@kinds
def test_result_is_a_spectrum_of_sum_one(kind, spectrum_data):
    obj = Alignment(*spectrum_data(kind))
    result = solve(kta(obj))
    delta = result.variables["delta"]
    assert delta.sum() == pytest.approx(1.0)
    assert delta.min() >= 0
    assert (np.diff(delta[1:]) <= 1e-15).all()
    assert obj.value_at(delta) == result.certificate.primal_objective
    assert 0 < result.certificate.primal_objective <= result.certificate.dual_objective * (1 + 1e-12) <= 1 + 1e-6
    assert result.problem == "KTA"
    assert set(result.duals) == {"order"}


def test_an_order_can_only_lower_the_alignment(spectrum_data):
    lost = []
    for seed in range(4):
        data = spectrum_data("tied", l=12, seed=seed)
        free, tied, untied = (
            solve(kta(Alignment(*data, **options))).certificate.primal_objective
            for options in ({"order": False}, {}, {"ties": False})
        )
        assert free >= untied * (1 - 1e-8)
        assert untied >= tied * (1 - 1e-8)
        lost.append((1 - untied / free, 1 - tied / untied))
    # How much depends on the eigenvectors that LAPACK takes for an eigenvalue of several.
    assert (np.max(lost, axis=0) > 1e-4).all()


@solvers
def test_solvers_agree(solver, spectrum_data):
    obj = Alignment(*spectrum_data())
    result = solve(kta(obj), solver)
    assert result.certificate.primal_objective == pytest.approx(obj.value_at(by_least_squares(obj)), rel=1e-6)


def test_an_interrupted_solver_still_leaves_a_spectrum(spectrum_data):
    result = solve(kta(Alignment(*spectrum_data())), "CLARABEL", max_iter=1)
    assert result.status in (Status.MAX_ITER, Status.OPTIMAL_INACCURATE)
    assert result.variables["delta"].sum() == pytest.approx(1.0)
    assert result.certificate.relative_gap > 1e-6
