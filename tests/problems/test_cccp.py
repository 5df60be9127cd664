"""The CVXPY round of the concave-convex procedure against the numpy one, and the whole procedure through it."""

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.kernels.maps import kernel_map
from specmargin.losses import SymmetricRamp
from specmargin.objectives.s3vm import S3VM
from specmargin.problems import solve
from specmargin.problems.cccp import cccp_subproblem
from specmargin.results import Status
from specmargin.solvers.s3vm.cccp import cccp
from specmargin.solvers.s3vm.weighted_svm import weighted_svm

intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])


@pytest.fixture
def problem():
    def make(n=40, per_class=2, seed=0, *, s=-0.3, loss="hinge", **words):
        X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.12, random_state=seed)
        labels = sm.encode_labels(sm.hide_labels(truth, per_class=per_class, random_state=seed))
        Z = kernel_map(sm.kernels.gram(X, gamma=3.0)).Z
        return S3VM(Z, labels, loss, SymmetricRamp(s=s), **{"C": 5.0, "C_star": 2.0, "balance": 0.2, **words})

    return make


def tangent(obj, f):
    """Return beta by the paper's rule: C* for the copies y = +1, -1 of a sample with y f < s, times that y."""
    s = obj.unlabeled_loss.s
    f = f[obj.unlabeled]
    return sum(y * np.where(y * f < s, obj.C_star, 0.0) for y in (1.0, -1.0))


def guesses(obj, seed=0):
    return obj.C_star * np.random.default_rng(seed).integers(-1, 2, len(obj.unlabeled))


@intercepts
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.2, 20.0])
def test_it_is_the_round_in_numpy(problem, tight, intercept, loss, C):
    obj = problem(intercept=intercept, loss=loss, C=C)
    beta = guesses(obj)
    built = cccp_subproblem(obj, beta)
    result = solve(built, "CLARABEL", tol=1e-8, **tight["CLARABEL"])
    linear = np.zeros(obj.labels.n_samples)
    linear[obj.unlabeled] = beta
    svm = obj.guessed(np.zeros(len(beta)), 2 * obj.C_star, linear=linear)
    reference = weighted_svm(svm)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(reference.certificate.primal_objective, rel=1e-8)
    assert result.certificate.dual_objective == pytest.approx(reference.certificate.primal_objective, rel=1e-7)
    assert built.problem.value == pytest.approx(svm.value_at(result.variables["w"]), rel=1e-8)
    np.testing.assert_allclose(result.variables["f"], reference.variables["f"], atol=1e-4)


@pytest.mark.parametrize("solver", sm.problems.default_solvers())
@intercepts
def test_every_solver_is_certified(problem, solver, intercept):
    obj = problem(intercept=intercept)
    result = solve(cccp_subproblem(obj, guesses(obj)), solver)
    assert result.status is Status.OPTIMAL
    assert result.problem == "CCCP round"


def test_a_new_beta_needs_no_new_problem(problem, tight):
    obj = problem()
    built = cccp_subproblem(obj, np.zeros(len(obj.unlabeled)))
    first = solve(built, **tight["CLARABEL"]).certificate.primal_objective
    compiled = built.problem.get_problem_data("CLARABEL")[1]
    for seed in range(3):
        beta = guesses(obj, seed)
        built.parameters["beta"].value = beta
        again = solve(built, tol=1e-8, **tight["CLARABEL"])
        fresh = solve(cccp_subproblem(obj, beta), **tight["CLARABEL"])
        assert again.status is Status.OPTIMAL
        assert again.certificate.primal_objective == pytest.approx(fresh.certificate.primal_objective, rel=1e-8)
        assert abs(again.certificate.primal_objective / first - 1) > 1e-2
        np.testing.assert_array_equal(built.current_objective().linear[obj.unlabeled], beta)
        # The canonical form was made once: CVXPY keeps the very chain.
        assert built.problem.get_problem_data("CLARABEL")[1] is compiled


@pytest.mark.parametrize("s", [0.0, -0.3])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_whole_procedure_reaches_the_same_objective(problem, tight, s, seed):
    obj = problem(s=s, seed=seed)
    result = cccp(obj)
    w = weighted_svm(obj.guessed(np.zeros(len(obj.unlabeled)), 0.0)).variables["w"]
    beta = tangent(obj, obj.decisions_at(w))
    built = cccp_subproblem(obj, beta)
    values = [obj.value_at(w)]
    for _ in range(30):
        built.parameters["beta"].value = beta
        w = solve(built, **tight["CLARABEL"]).variables["w"]
        values.append(obj.value_at(w))
        before, beta = beta, tangent(obj, obj.decisions_at(w))
        if (beta == before).all():
            break
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert result.message == "beta stays"
    assert values[-1] == pytest.approx(result.certificate.primal_objective, rel=1e-8)
    np.testing.assert_allclose(values, result.history["objective"], rtol=1e-7)
    np.testing.assert_array_equal(beta, result.variables["beta"])


def test_sparse_features_and_parts_by_name(rng):
    X = rng.normal(size=(12, 5)) * (rng.random((12, 5)) < 0.6)
    labels = sm.encode_labels([0, 1, 0, 1] + [-1] * 8)
    dense, sparse = (cccp_subproblem(S3VM(A, labels, "hinge"), np.ones(8)) for A in (X, sp.csr_array(X)))
    values = [solve(built).certificate.primal_objective for built in (dense, sparse)]
    assert values[0] == pytest.approx(values[1], rel=1e-7)
    assert (set(dense.variables), set(dense.parameters), set(dense.constraints)) == ({"w", "t"}, {"beta"}, {"margin"})
    assert dense.problem.is_dcp(dpp=True)


def test_what_it_cannot_do_is_an_error(problem):
    obj = problem()
    for beta in (np.zeros(3), np.full(len(obj.unlabeled), np.nan)):
        with pytest.raises(ValueError, match=r"beta must hold 36 finite numbers"):
            cccp_subproblem(obj, beta)
    with pytest.raises(ValueError, match="no unlabelled samples"):
        cccp_subproblem(problem(n=10, per_class=5), np.empty(0))
    built = cccp_subproblem(obj, np.zeros(36))
    built.parameters["beta"].value = None
    with pytest.raises(ValueError, match="'beta' has no value"):
        solve(built)
