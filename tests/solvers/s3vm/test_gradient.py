"""Gradient descent with annealed C*: its schedule, the same minima as Newton's method, CVXPY, bad input."""

import cvxpy as cp
import numpy as np
import pytest
from s3vm_problems import LOSSES, gaussians

from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
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


def by_newton(obj):
    """The same walk, descending by Newton's method: an independent way along it."""
    w = np.zeros(obj.size)
    for i in range(11):
        w = polish(obj.with_(C_star=2.0 ** (i - 10) * obj.C_star), w, tol=1e-8).variables["w"]
    return obj.value_at(w)


def test_newton_finds_the_same_minimum_mostly():
    same = []
    for seed in range(20):
        obj = gaussians(n=50, d=8, seed=seed, gap=1.0, C=10.0, C_star=10.0)
        found = gradient(obj, tol=1e-8).certificate.primal_objective
        same.append(found == pytest.approx(by_newton(obj), rel=1e-6))
    assert np.mean(same) >= 0.8


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


def test_without_unlabeled_samples_it_is_supervised():
    labels = encode_labels([0, 1] * 10)
    X = np.random.default_rng(0).normal(size=(20, 3))
    result = gradient(S3VM(X, labels, "squared_hinge", "exp"), tol=1e-9)
    assert result.status is Status.OPTIMAL
    assert result.variables["labels"].shape == (0,)
    # A free intercept: its derivative vanishes.
    f, y = result.variables["f"], labels.sign
    assert (y * np.maximum(1 - y * f, 0)).sum() == pytest.approx(0.0, abs=1e-7)


def test_annealing_finds_the_clusters_and_supervision_does_not():
    """Two clusters told apart by a direction that the labelled samples hardly show."""
    wins = []
    for seed in range(10):
        obj = gaussians(n=200, d=20, l=4, seed=seed, gap=2.0, C=10.0, C_star=1.0)
        truth = np.where(np.arange(200) % 2 > 0, 1.0, -1.0)[obj.unlabeled]
        errors = [(gradient(one).variables["labels"] != truth).mean() for one in (obj, obj.supervised())]
        wins.append(errors[0] < errors[1])
    assert np.mean(wins) >= 0.8


def test_repeated_samples_are_twice_the_weight():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 4)) + np.where(np.arange(30) % 2, 1.0, -1.0)[:, None]
    y = np.array([0, 1] * 4 + [-1] * 22)
    once = gradient(S3VM(X, encode_labels(y), "squared_hinge", "exp", C=2.0), tol=1e-9)
    twice = gradient(S3VM(np.vstack([X, X]), encode_labels(np.r_[y, y]), "squared_hinge", "exp", C=1.0), tol=1e-9)
    assert twice.certificate.primal_objective == pytest.approx(once.certificate.primal_objective, rel=1e-11)


def test_kinked_losses_make_no_claim():
    result = gradient(gaussians(loss="hinge", unlabeled_loss="symmetric_hinge", C=10.0))
    assert np.isfinite(result.certificate.primal_objective)
    assert result.status is Status.MAX_ITER
    assert "kink" in result.message
