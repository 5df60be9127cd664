"""The factorised solver against CVXPY, scipy and its own certificate over six orders of the gammas."""

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from manifold_problems import by_cvxpy, data, objective
from sklearn.svm import SVC

import specmargin as sm
from specmargin.losses import Hinge
from specmargin.objectives import LapSVM
from specmargin.objectives.reduction import _refined
from specmargin.results import Status
from specmargin.solvers import factorized

losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber_hinge", "squared"])
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def without_libsvm(monkeypatch):
    """Leave the hinge to the interior point: the function of that name hides its module."""
    monkeypatch.setattr(sys.modules["specmargin.solvers.manifold.factorized"], "_sequential", lambda *_: None)


@losses
@intercepts
@pytest.mark.parametrize("l", [2, 10, 40])
def test_it_is_the_optimum_that_cvxpy_finds(loss, fit_intercept, l):
    obj = objective(data(40, l), loss, fit_intercept=fit_intercept)
    result = factorized(obj)
    value, alpha, _ = by_cvxpy(loss, obj.K, obj.L, obj.labels, 1e-2, 1.0, fit_intercept, tol=1e-12)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(obj.K @ result.variables["alpha"], obj.K @ alpha, atol=1e-5)


@losses
@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("copies", [1, 2])
def test_gap_of_a_dominant_graph_on_a_nearly_singular_kernel(loss, width, copies):
    """gamma_I / gamma_A = 1e8 and cond(S) = 1e10: a plain inverse of S, or a bound that knows K only, stops at 1e-7."""
    for l in (2, 6, 60):
        result = factorized(objective(data(60, l, width=width, copies=copies), loss, 1e-6, 100.0))
        assert -1e-12 < result.certificate.relative_gap <= 1e-9


@losses
def test_variables_belong_together(loss):
    obj = objective(data(l=20), loss, gamma_A=0.1)
    result = factorized(obj)
    values, y, labeled = result.variables, obj.labels.sign, obj.labels.labeled
    b = float(values["b"])
    np.testing.assert_allclose(values["f"], obj.K @ values["alpha"] + b, atol=1e-13)
    np.testing.assert_allclose(values["f"][labeled], obj.reduction.G @ values["v"] + b, atol=1e-9)
    np.testing.assert_allclose(obj.apply_S(values["alpha"])[labeled], values["v"], atol=1e-9)
    np.testing.assert_allclose(values["beta"], 2 * y * values["v"], atol=1e-14)
    assert values["v"].sum() == pytest.approx(0.0, abs=1e-10)
    loss_value = obj.scale * obj.margin_loss.value(y * values["f"][labeled]).sum()
    penalty = obj.scale * values["v"] @ obj.reduction.G @ values["v"]
    assert result.certificate.primal_objective == pytest.approx(loss_value + penalty, rel=1e-9)
    if loss == "hinge":
        assert values["beta"].min() >= 0
        assert values["beta"].max() <= 1
    else:  # v is half the slope of the loss
        np.testing.assert_allclose(values["v"], -y * obj.margin_loss.gradient(y * values["f"][labeled]) / 2, atol=1e-9)


def test_squared_loss_is_the_linear_system():
    """[[G + I, 1], [1', 0]] (v, b) = (y, 0) with the dense inverse of S."""
    obj = objective(data(30, 12), "squared")
    labeled = obj.labels.labeled
    S = obj.gamma_A * np.eye(30) + obj.gamma_I * obj.L @ obj.K
    X = np.linalg.inv(S)[:, labeled]
    A = np.block([[obj.K[labeled] @ X + np.eye(12), np.ones((12, 1))], [np.ones((1, 12)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.append(obj.labels.sign, 0.0))
    result = factorized(obj)
    np.testing.assert_allclose(result.variables["v"], solution[:-1], rtol=1e-9)
    assert float(result.variables["b"]) == pytest.approx(solution[-1], rel=1e-9)
    np.testing.assert_allclose(result.variables["alpha"], X @ solution[:-1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("gamma_A", [1e-3, 0.05, 0.5])
def test_hinge_is_the_svm_on_half_the_deformed_kernel(gamma_A):
    obj = objective(data(l=30), "hinge", gamma_A)
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-10).fit(obj.reduction.G / 2, obj.labels.sign)
    v = np.zeros(30)
    v[svc.support_] = svc.dual_coef_.ravel() / 2
    theirs = obj.value_at(obj.reduction.coefficients(v), svc.intercept_[0])
    ours = factorized(obj).certificate.primal_objective
    assert ours <= theirs * (1 + 1e-12)
    assert ours == pytest.approx(theirs, rel=1e-5)  # libsvm keeps the kernel in single precision


@intercepts
def test_newton_takes_a_handful_of_steps(fit_intercept):
    """The papers' sizes of gammas; interpolating noisy labels (gamma_I = 0 and a tiny gamma_A) takes more."""
    steps = []
    for seed in range(5):
        for l in (6, 20, 60):
            for gammas in ((1e-6, 1e-2), (1e-6, 1.0), (1e-2, 1.0), (1.0, 1.0), (0.1, 0.0)):
                result = factorized(
                    objective(data(60, l, seed=seed), "squared_hinge", *gammas, fit_intercept=fit_intercept)
                )
                steps.append(result.n_iter)
                assert len(result.history) == result.n_iter
                values = result.history["objective"]
                assert (np.diff(values) <= 1e-12 * np.abs(values[0])).all()  # monotone
                assert values[-1] == pytest.approx(result.certificate.primal_objective, rel=1e-6)
    assert max(steps) <= 10
    assert np.mean(steps) < 5


def test_newton_ends_exactly_even_where_the_active_set_wanders():
    result = factorized(objective(data(60, 60, width=1.0), "squared_hinge", 1e-6, 0.0), tol=1e-12)
    assert 10 < result.n_iter < 100
    assert abs(result.certificate.relative_gap) < 1e-12


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_iteration_limit_is_reported(loss):
    result = factorized(objective(data(60, 60, width=1.0), loss, 1e-6, 0.0), max_iter=2)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 2
    assert result.certificate.relative_gap > 1e-6


@dataclass(frozen=True)
class Other(Hinge):
    name: ClassVar[str] = "other"


def test_a_loss_is_taken_for_what_it_declares_not_for_its_name():
    assert factorized(objective(data(l=6), Other())).certificate.is_optimal(1e-9)
    with pytest.raises(ValueError, match=r"solvers\.factorized does not take the loss 'smooth_hinge': it is not"):
        factorized(objective(data(l=6), "smooth_hinge"))


def test_a_gap_that_grows_at_first_does_not_end_the_interior_point(monkeypatch):
    """One positive among fifty digits: the start is far from dual feasible, and the gap grows before it falls."""
    from sklearn.datasets import load_digits

    X, digits = load_digits(return_X_y=True)
    drawn = np.random.default_rng(9).choice(600, 50, replace=False)
    labels = sm.encode_labels((digits[drawn] == 4).astype(int))
    assert (labels.sign > 0).sum() == 1
    K = sm.kernels.gram(X[drawn], gamma=1 / (2 * 20.0**2))
    without_libsvm(monkeypatch)
    result = factorized(LapSVM(K, None, labels, gamma_A=1.0))
    assert np.diff(result.history["gap"]).max() > 0
    assert result.certificate.is_optimal(1e-9)


@pytest.mark.parametrize("gammas", [(1.0, 0.1), (1e-2, 1.0), (1e-4, 1e-2), (1e-6, 1.0)], ids=str)
@pytest.mark.parametrize("l", [2, 12, 60])
def test_libsvm_and_the_interior_point_end_at_one_optimum(monkeypatch, gammas, l):
    case = data(70, l, seed=3)
    found = factorized(objective(case, "hinge", *gammas))
    without_libsvm(monkeypatch)
    other = factorized(objective(case, "hinge", *gammas))
    assert found.certificate.is_optimal(1e-9)
    assert other.certificate.is_optimal(1e-9)
    value = other.certificate.primal_objective
    assert found.certificate.primal_objective == pytest.approx(value, rel=1e-9)
    assert len(other.history) > 3


def test_a_search_that_is_cut_short_is_left_to_the_interior_point(monkeypatch):
    monkeypatch.setattr(sys.modules["specmargin.solvers.manifold.factorized"], "_SMO_STEPS", 1)
    result = factorized(objective(data(70, 60, seed=3), "hinge", 1e-3, 1.0))
    assert result.certificate.is_optimal(1e-9)
    assert len(result.history) > 3


@losses
@pytest.mark.parametrize("copies", [1, 3])
def test_single_precision_is_refined_to_double(loss, copies):
    case = data(90, 10, copies=copies)
    exact = factorized(objective(case, loss, 1e-2, 1.0))
    refined = factorized(objective(case, loss, 1e-2, 1.0), dtype=np.float32)
    assert refined.certificate.is_optimal(1e-10)
    np.testing.assert_allclose(refined.variables["f"], exact.variables["f"], atol=1e-7)
    given = objective(case, loss, 1e-2, 1.0).reduced(np.float32).reduction
    straight = objective(case, loss, 1e-2, 1.0).reduction
    np.testing.assert_allclose(given.G, straight.G, rtol=1e-9, atol=1e-9 * straight.G.max())


@pytest.mark.parametrize("gamma_A", [1e-6, 1e-9])
def test_single_precision_survives_extreme_ratios(gamma_A):
    exact = factorized(objective(data(90, 10), "hinge", gamma_A, 1.0))
    refined = factorized(objective(data(90, 10), "hinge", gamma_A, 1.0), dtype=np.float32)
    value = exact.certificate.primal_objective
    assert refined.certificate.primal_objective == pytest.approx(value, rel=1e-8)


def test_a_refinement_that_gets_nowhere_is_an_error():
    """Corrections of a tenth of the error each, by a factorisation that is mostly wrong."""
    with pytest.raises(sm.exceptions.SolverError, match="float32 is too coarse"):
        _refined(np.zeros(3) + 1e-3, lambda r: 0.1 * r, lambda x: np.ones(3) - x)


def test_margins_that_rounding_leaves_short_do_not_count_where_the_optimum_is_tiny():
    # Two classes far apart and weights of 1e-10: the optimum is some 1e-9, seven digits above the rounding of a margin.
    rng = np.random.default_rng(0)
    for _ in range(5):
        truth = np.arange(30) % 2
        X = rng.standard_normal((30, 3)) + 4.0 * truth[:, None]
        K = sm.kernels.gram(X, gamma=0.05)
        L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=4))
        labels = sm.encode_labels(np.where(np.arange(30) < 14, truth, -1))
        result = factorized(LapSVM(K, L, labels, "hinge", gamma_A=1e-11, gamma_I=1e-7))
        assert result.certificate.primal_objective < 1e-6
        assert result.certificate.is_optimal(1e-9), result
        np.testing.assert_allclose(
            K @ result.variables["alpha"] + result.variables["b"], result.variables["f"], atol=1e-9
        )
