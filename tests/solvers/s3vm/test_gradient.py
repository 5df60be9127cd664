"""Gradient descent with annealed C*: its schedule, the same minima as Newton's method, CVXPY, bad input."""

import cvxpy as cp
import numpy as np
import pytest
from s3vm_problems import LOSSES, gaussians

from specmargin.results import Status
from specmargin.solvers.s3vm.gradient import gradient
from specmargin.solvers.s3vm.polish import polish


@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge", "squared"])
def test_end_is_a_minimum(loss, intercept):
    obj = gaussians(loss=loss, intercept=intercept, C=10.0, C_star=5.0)
    result = gradient(obj, tol=1e-8)
    assert result.status is Status.STATIONARY
    assert result.certificate.dual_residual <= 1e-8
    w = result.variables["w"]
    assert np.linalg.eigvalsh(obj.hessian(w)).min() > 0
    assert polish(obj, w).certificate.primal_objective == pytest.approx(obj.value_at(w), rel=1e-12)
    assert result.certificate.primal_objective == obj.value_at(w)


def test_schedule_is_that_of_the_paper():
    """C*_i = 2^(i - 10) C*, i = 0 ... 10, each step started at the last end."""
    obj = gaussians(C=3.0)
    result = gradient(obj, tol=1e-7)
    history = result.history
    assert set(history) == {"factor", "objective", "gradient", "n_iter", "n_calls"}
    assert history["factor"] == [2.0 ** (i - 10) for i in range(11)]
    assert history["objective"][-1] == result.certificate.primal_objective
    assert max(history["gradient"][:-1]) <= 1e-3
    # The least value rises with C*.
    assert (np.diff(history["objective"]) > 0).all()
    assert result.n_iter == sum(history["n_iter"])
    assert result.solver == "gradient"


def test_other_schedules_are_taken():
    obj = gaussians()
    assert gradient(obj, n_steps=3).history["factor"] == [0.125, 0.25, 0.5, 1.0]
    assert gradient(obj, n_steps=0).history["factor"] == [1.0]
    assert gradient(obj, schedule=[0, 0.5, 1]).history["factor"] == [0.0, 0.5, 1.0]
    # A part of C* only: the certificate is still that of the whole objective.
    half = gradient(obj, schedule=[0.5], tol=1e-9)
    assert half.history["objective"][0] == pytest.approx(obj.with_(C_star=0.5).value_at(half.variables["w"]), rel=1e-12)
    assert half.certificate.primal_objective == obj.value_at(half.variables["w"])


@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge"])
@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
def test_supervised_svm_is_that_of_cvxpy(loss, intercept):
    """The primal problem, the losses written out in CVXPY's own atoms."""
    obj = gaussians(loss=loss, intercept=intercept, C=2.0, C_star=0.0)
    A, y = obj.features.dense()[:10], obj.labels.sign
    w = cp.Variable(obj.size)
    losses = LOSSES[loss](cp.multiply(y, A @ w + obj.features.offset))
    penalty = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(obj.features.weights), w))
    problem = cp.Problem(cp.Minimize(penalty + 2.0 * cp.sum(losses)))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    result = gradient(obj, tol=1e-10)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(problem.value, rel=1e-9)
    np.testing.assert_allclose(result.variables["w"], w.value, atol=1e-4)


def test_kinked_losses_make_no_claim():
    result = gradient(gaussians(loss="hinge", unlabeled_loss="symmetric_hinge", C=10.0))
    assert np.isfinite(result.certificate.primal_objective)
    assert result.status is Status.MAX_ITER
    assert "kink" in result.message
