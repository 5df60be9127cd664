"""LapSVM and LapRLS: dual against primal, against scikit-learn's SVC, and along their parameters."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

import specmargin as sm
from specmargin.problems import lapsvm_dual, lapsvm_primal, solve

losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber_hinge", "squared"])
builders = pytest.mark.parametrize("build", [lapsvm_dual, lapsvm_primal])
CASES = {
    "plain": {},
    "duplicates": {"copies": 2},
    "disconnected": {"parts": 3},
    "combinatorial": {"normed": False},
    "fully labelled": {"l": 18},
    "two labels": {"l": 2},
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def objective(data, loss="hinge", gamma_A=0.05, gamma_I=0.5, **options):
    K, L, labels = data
    return sm.objectives.LapSVM(K, L, labels, loss=loss, gamma_A=gamma_A, gamma_I=gamma_I, **options)


@cases
@losses
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_dual_and_primal_agree(case, loss, fit_intercept, manifold_data):
    obj = objective(manifold_data(**case), loss, fit_intercept=fit_intercept)
    solver = sm.problems.default_solvers()[0 if fit_intercept else -1]
    dual, primal = solve(lapsvm_dual(obj), solver), solve(lapsvm_primal(obj), solver)
    family = "LapRLS" if loss == "squared" else "LapSVM"
    assert [dual.problem, primal.problem] == [f"{family} dual", f"{family} primal"]
    for result in (dual, primal):
        assert result.certificate.is_optimal(1e-6)
        alpha, b = result.variables["alpha"], float(result.variables["b"])
        assert result.certificate.primal_objective == pytest.approx(obj.value_at(alpha, b), rel=1e-13)
        np.testing.assert_allclose(result.variables["f"], obj.K @ alpha + b, atol=1e-12)
        assert fit_intercept or b == 0.0
    assert dual.certificate.primal_objective == pytest.approx(primal.certificate.primal_objective, rel=1e-7)
    assert dual.certificate.dual_objective == pytest.approx(primal.certificate.dual_objective, rel=1e-6)
    np.testing.assert_allclose(dual.variables["beta"], primal.variables["beta"], atol=2e-3)


@builders
@losses
def test_problem_value_is_the_objective(build, loss, manifold_data, tight):
    obj = objective(manifold_data(), loss)
    built = build(obj)
    result = solve(built, **tight["CLARABEL"])
    assert built.problem.value == pytest.approx(result.certificate.primal_objective, rel=1e-8)


@builders
@losses
def test_intercept_has_the_sign_of_the_decision(build, loss, manifold_data, tight):
    """Labels of one kind four times as frequent pull b towards them; the condition of b alone then holds."""
    K, L, _ = manifold_data(n=18)
    y = np.full(18, -1)
    y[:10] = [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    obj = objective((K, L, sm.encode_labels(y)), loss, gamma_A=0.5)
    result = solve(build(obj), **tight["CLARABEL"])
    b, alpha = float(result.variables["b"]), result.variables["alpha"]
    assert b > 0.1
    around = [obj.value_at(alpha, b + shift) for shift in (-1e-2, 0.0, 1e-2)]
    assert around[1] <= min(around)
    if build is lapsvm_dual:
        assert result.duals["balance"] == pytest.approx(obj.scale * b, abs=1e-4)
    else:
        assert result.variables["beta"] == pytest.approx(
            -obj.labels.sign * result.duals["margin"] * obj.labels.sign / obj.scale
        )


@builders
@pytest.mark.parametrize("gamma_A", [0.01, 0.3])
def test_without_a_graph_it_is_the_svm_of_scikit_learn(build, gamma_A, manifold_data, tight):
    K, L, labels = manifold_data(n=30, l=20)
    at = np.ix_(labels.labeled, labels.labeled)
    svc = SVC(C=1 / (2 * gamma_A), kernel="precomputed", tol=1e-10).fit(K[at], labels.sign)
    alpha = np.zeros(30)
    alpha[labels.labeled[svc.support_]] = svc.dual_coef_.ravel()
    for graph in (L, None):
        obj = objective((K, graph, labels), gamma_A=gamma_A, gamma_I=0.0)
        result = solve(build(obj), **tight["CLARABEL"])
        # libsvm keeps the kernel in single precision: no better than 1e-7, and never below the optimum.
        theirs = obj.value_at(alpha, svc.intercept_[0])
        assert result.certificate.primal_objective == pytest.approx(theirs, rel=1e-6)
        assert result.certificate.primal_objective <= theirs * (1 + 1e-9)
        # A free support vector pins the intercept, the radial kernel the expansion.
        free = (np.abs(svc.dual_coef_) < svc.C * (1 - 1e-6)).any()
        assert free
        np.testing.assert_allclose(
            result.variables["f"][labels.labeled], svc.decision_function(K[at]), rtol=0, atol=1e-5
        )


@losses
def test_bounds_of_beta_become_constraints(loss, manifold_data):
    expected = {
        "hinge": {"balance", "nonnegative", "box"},
        "squared_hinge": {"balance", "nonnegative"},
        "huber_hinge": {"balance", "nonnegative", "box"},
        "squared": {"balance"},
    }[loss]
    assert set(lapsvm_dual(objective(manifold_data(), loss)).constraints) == expected
    without = lapsvm_dual(objective(manifold_data(), loss, fit_intercept=False))
    assert set(without.constraints) == expected - {"balance"}
    result = solve(without)
    assert result.certificate.is_optimal(1e-6)


def test_multipliers_of_the_box_are_the_slacks(manifold_data, tight):
    obj = objective(manifold_data(l=12), gamma_A=0.5)
    result = solve(lapsvm_dual(obj), **tight["CLARABEL"])
    f = result.variables["f"][obj.labels.labeled]
    xi = np.maximum(0, 1 - obj.labels.sign * f)
    assert xi.max() > 0.1
    np.testing.assert_allclose(result.duals["box"], xi, atol=1e-6)


# Parameters


@losses
@pytest.mark.parametrize("factor", [0.1, 3.0])
def test_gamma_A_walks_a_path_of_one_ratio(loss, factor, manifold_data):
    obj = objective(manifold_data(), loss)
    built = lapsvm_dual(obj)
    before = solve(built)
    built.parameters["gamma_A"].value = factor * obj.gamma_A
    walked = solve(built)
    fresh = replace(obj, gamma_A=factor * obj.gamma_A, gamma_I=factor * obj.gamma_I)
    expected = solve(lapsvm_dual(fresh))
    assert walked.certificate.is_optimal(1e-6)
    assert walked.certificate.primal_objective == pytest.approx(expected.certificate.primal_objective, rel=1e-6)
    assert walked.certificate.primal_objective == pytest.approx(
        fresh.value_at(walked.variables["alpha"], float(walked.variables["b"])), rel=1e-12
    )
    assert abs(walked.certificate.primal_objective / before.certificate.primal_objective - 1) > 1e-2
    built.parameters["gamma_A"].value = obj.gamma_A
    assert solve(built).certificate.primal_objective == pytest.approx(before.certificate.primal_objective, rel=1e-7)


@losses
def test_both_gammas_of_the_primal(loss, manifold_data):
    obj = objective(manifold_data(), loss)
    built = lapsvm_primal(obj)
    solve(built)
    for gamma_A, gamma_I in ((0.5, 0.1), (0.02, 2.0), (0.5, 0.0)):
        built.parameters["gamma_A"].value, built.parameters["gamma_I"].value = gamma_A, gamma_I
        fresh = replace(obj, gamma_A=gamma_A, gamma_I=gamma_I)
        result, expected = solve(built), solve(lapsvm_dual(fresh))
        assert result.certificate.is_optimal(1e-6)
        assert result.certificate.primal_objective == pytest.approx(expected.certificate.primal_objective, rel=1e-6)


def test_without_a_laplacian_there_is_no_gamma_I(manifold_data):
    K, _, labels = manifold_data()
    built = lapsvm_primal(objective((K, None, labels), gamma_I=0.0))
    assert set(built.parameters) == {"gamma_A"}
    assert solve(built).certificate.is_optimal(1e-6)


@cases
@losses
def test_reduced_solver_agrees(case, loss, manifold_data, tight):
    obj = objective(manifold_data(**case), loss)
    direct = sm.solvers.factorized(obj)
    result = solve(lapsvm_primal(obj), **tight["CLARABEL"])
    assert direct.certificate.is_optimal(1e-9)
    assert result.certificate.primal_objective == pytest.approx(direct.certificate.primal_objective, rel=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_kernel_of_zeros_leaves_the_intercept(loss, fit_intercept):
    labels = sm.encode_labels([0, 1, 1, 1] + [-1] * 4)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(np.arange(8.0)[:, None], 2))
    obj = sm.objectives.LapSVM(
        np.zeros((8, 8)), L, labels, loss=loss, gamma_A=0.1, gamma_I=0.1, fit_intercept=fit_intercept
    )
    V = sm.losses.get_loss(loss).value
    tried = np.linspace(-2, 2, 4001) if fit_intercept else np.zeros(1)
    expected = obj.scale * (V(-tried) + 3 * V(tried)).min()
    for build in (lapsvm_primal, lapsvm_dual):
        result = solve(build(obj))
        assert result.certificate.is_optimal(1e-6)
        assert result.certificate.primal_objective == pytest.approx(expected, abs=1e-6)
        np.testing.assert_allclose(result.variables["f"], float(result.variables["b"]))
