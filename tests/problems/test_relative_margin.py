"""The relative margin machine against its literal primal and against scikit-learn's SVC."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

import specmargin as sm
from specmargin.objectives import RMM
from specmargin.problems import rmm, solve
from specmargin.results import Status

solvers = pytest.mark.parametrize("solver", sm.problems.default_solvers())


def literal_primal(K, labels, C, B):
    """Eq. 5: 1/2 w'w + C sum xi with f = R w + b, K = R R'."""
    eigenvalues, V = np.linalg.eigh(K)
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    R = V[:, kept] * np.sqrt(eigenvalues[kept])
    w, b, xi = cp.Variable(R.shape[1]), cp.Variable(), cp.Variable(len(K), nonneg=True)
    f = R @ w + b
    constraints = [cp.multiply(labels.sign, f) >= 1 - xi]
    if np.isfinite(B):
        constraints += [f <= B, f >= -B]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), constraints)
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    return problem.value, f.value


@pytest.mark.parametrize(("rank", "C"), [(None, 5.0), (2, 0.3)])
@pytest.mark.parametrize("B", [1.0, 1.1, 1.5, 50.0, np.inf])
@solvers
def test_it_is_the_literal_primal(rank, C, B, solver, gram_data):
    K, labels = gram_data(rank=rank)
    obj = RMM(K, labels, C=C, B=B)
    result = solve(rmm(obj), solver)
    value, f = literal_primal(K, labels, C, B)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(value, rel=1e-6)
    assert result.certificate.dual_objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(result.variables["f"] - result.variables["b"], f - f.mean() + mean_of(result), atol=2e-3)
    assert np.abs(result.variables["f"]).max() <= B * (1 + 1e-9)
    np.testing.assert_allclose(K @ result.variables["gamma"] + result.variables["b"], result.variables["f"], atol=1e-9)


def mean_of(result):
    return (result.variables["f"] - result.variables["b"]).mean()


@pytest.mark.parametrize("C", [0.3, 5.0])
@solvers
def test_without_a_bound_it_is_the_svm_of_scikit_learn(C, solver, gram_data):
    K, labels = gram_data()
    svc = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, labels.sign)
    gamma = np.zeros(len(K))
    gamma[svc.support_] = svc.dual_coef_.ravel()
    obj = RMM(K, labels, C=C)
    result = solve(rmm(obj), solver)
    assert result.problem == "SVM"
    # libsvm keeps the kernel in single precision.
    assert result.certificate.primal_objective == pytest.approx(obj.value_at(gamma, svc.intercept_[0]), rel=1e-6)
    assert ((np.abs(gamma) > 1e-6) & (np.abs(gamma) < C - 1e-6)).any()  # so that the intercept is unique
    assert float(result.variables["b"]) == pytest.approx(svc.intercept_[0], abs=1e-4)
    assert result.duals["balance"] == pytest.approx(svc.intercept_[0], abs=1e-4)
    np.testing.assert_allclose(result.variables["f"], svc.decision_function(K), atol=1e-4)


def test_only_bounds_between_one_and_the_largest_decision_matter(gram_data):
    K, labels = gram_data()
    svm = solve(rmm(RMM(K, labels, C=5.0)))
    largest = np.abs(svm.variables["f"]).max()
    assert largest > 1.1
    value = {B: solve(rmm(RMM(K, labels, C=5.0, B=B))).certificate.primal_objective for B in (1.05, largest + 0.1, 1e3)}
    assert value[1.05] > svm.certificate.primal_objective * (1 + 1e-4)
    for B in (largest + 0.1, 1e3):
        assert value[B] == pytest.approx(svm.certificate.primal_objective, rel=1e-6)


@pytest.mark.parametrize("B", [0.0, 0.5])
def test_below_one_every_sample_is_charged(B, gram_data):
    K, labels = gram_data()
    with pytest.warns(UserWarning, match="below 1"):
        result = solve(rmm(RMM(K, labels, C=2.0, B=B)))
    assert result.certificate.is_optimal(1e-6)
    assert (labels.sign * result.variables["f"] < 1).all()
    np.testing.assert_allclose(result.variables["alpha"], 2.0, atol=1e-5)


@pytest.mark.parametrize("B", [1.2, np.inf])
def test_parameters_solve_again(B, gram_data):
    K, labels = gram_data()
    obj = RMM(K, labels, C=1.0, B=B)
    built = rmm(obj)
    first = solve(built).certificate.primal_objective
    for change in ({"C": 0.2}, {"C": 4.0}, {"C": 4.0, "B": 1.05})[: 3 if np.isfinite(B) else 2]:
        values = {"C": obj.C, "B": obj.B, **change}
        for name, parameter in built.parameters.items():
            parameter.value = values[name]
        result = solve(built)
        fresh = replace(obj, **values)
        expected = solve(rmm(fresh))
        assert result.certificate.primal_objective == pytest.approx(expected.certificate.primal_objective, rel=1e-7)
        assert fresh.dual_bound(result.variables["gamma"]) <= result.certificate.primal_objective * (1 + 1e-9)
        assert abs(result.certificate.primal_objective / first - 1) > 1e-2


def test_parts_have_their_names(gram_data):
    K, labels = gram_data()
    bounded, free = rmm(RMM(K, labels, B=2.0)), rmm(RMM(K, labels))
    assert bounded.name == "RMM"
    assert set(bounded.variables) == {"alpha", "beta", "eta"}
    assert set(bounded.parameters) == {"C", "B"}
    assert set(free.variables) == {"alpha"}
    assert set(free.parameters) == {"C"}
    assert set(bounded.constraints) == set(free.constraints) == {"balance", "box", "nonnegative"}


def test_unlabelled_samples_are_cut_away(gram_data):
    K, _ = gram_data()
    half = sm.encode_labels([0, 1, 0, 1, 1] + [-1] * 9)
    result = solve(rmm(RMM(K, half, C=1.0)))
    assert result.variables["f"].shape == (5,)
    alone = solve(rmm(RMM(K[:5, :5], half, C=1.0)))
    assert result.certificate.primal_objective == alone.certificate.primal_objective
