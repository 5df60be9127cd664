"""The concave-convex procedure against its majoriser, CVXPY, and its fixed points."""

from importlib import import_module

import cvxpy as cp
import numpy as np
import pytest
from s3vm_problems import moons

import specmargin as sm
from specmargin.losses import SymmetricRamp
from specmargin.objectives.s3vm import S3VM
from specmargin.results import Status
from specmargin.solvers.s3vm.cccp import cccp

# The package has the function under the name of its module.
module = import_module("specmargin.solvers.s3vm.cccp")
ramps = pytest.mark.parametrize("s", [0.0, -0.3, -0.9])
intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
_TIGHT = {"solver": "CLARABEL", "tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11}


def problem(*args, s=-0.3, **options):
    return moons(*args, loss="hinge", unlabeled_loss=SymmetricRamp(s=s), **options)


def round_of(obj, beta):
    """Return the SVM of a round, and what its value is short of the objective where beta is the tangent."""
    s = obj.unlabeled_loss.s
    linear = np.zeros(obj.labels.n_samples)
    linear[obj.unlabeled] = beta
    svm = obj.guessed(np.zeros(len(beta)), 2 * obj.C_star, linear=linear)
    return svm, -s * np.abs(beta).sum() - obj.C_star * len(beta) * (1 - s)


@ramps
@intercepts
def test_a_round_lies_above_the_objective_and_touches_it(s, intercept, rng):
    obj = problem(s=s, intercept=intercept, C_star=2.0)
    at = rng.normal(size=obj.size)
    svm, constant = round_of(obj, module._linear_term(obj, obj.decisions_at(at), s))
    assert svm.value_at(at) + constant == pytest.approx(obj.value_at(at), rel=1e-12)
    for size in (0.1, 1.0, 10.0):
        w = at + size * rng.normal(size=obj.size)
        assert svm.value_at(w) + constant >= obj.value_at(w) * (1 - 1e-12)


@ramps
@intercepts
@pytest.mark.parametrize("C", [0.5, 50.0])
def test_the_objective_never_rises(s, intercept, C):
    obj = problem(s=s, intercept=intercept, C=C)
    result = cccp(obj)
    objective = np.array(result.history["objective"])
    assert (np.diff(objective) <= 0).all()
    assert result.status is Status.STATIONARY
    assert result.certificate.primal_objective == objective[-1] == obj.value_at(result.variables["w"])
    assert (result.problem, result.solver, result.n_iter) == ("S3VM", "cccp", len(objective) - 1)
    assert not result.certificate.is_optimal(1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_rounds_end_because_beta_stays(seed):
    """A few rounds; the answer is the optimum of the convex problem with its own tangent."""
    obj = problem(seed=seed, C=5.0)
    result = cccp(obj)
    w, beta = result.variables["w"], result.variables["beta"]
    assert result.message == "beta stays"
    assert result.history["changes"][-1] == 0
    assert result.n_iter <= 20
    assert set(beta) <= {-5.0, 0.0, 5.0}
    np.testing.assert_array_equal(beta, module._linear_term(obj, obj.decisions_at(w), -0.3))
    svm, constant = round_of(obj, beta)
    convex = cp.Variable(obj.size)
    f = obj.features.dense() @ convex + obj.features.offset
    loss = svm.plus @ cp.pos(1 - f) + svm.minus @ cp.pos(1 + f) + svm.linear @ f
    reference = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(convex) + loss))
    reference.solve(**_TIGHT)
    assert obj.value_at(w) == pytest.approx(reference.value + constant, rel=1e-8)


def test_a_start_is_used_and_a_fixed_point_stays():
    obj = problem()
    first = cccp(obj)
    again = cccp(obj, first.variables["w"])
    assert again.n_iter == 1
    assert again.certificate.primal_objective == pytest.approx(first.certificate.primal_objective, rel=1e-9)
    other = cccp(obj, -first.variables["w"])
    assert other.history["objective"][0] == pytest.approx(obj.value_at(-first.variables["w"]), rel=1e-12)


def test_samples_in_the_flat_middle_are_left_alone():
    """At |f| < -s beta is zero; at s = 0 every sample is pushed."""
    X = np.array([[-1.0], [1.0], [0.1], [-0.1], [0.5], [-0.5]])
    y = np.array([0, 1, -1, -1, -1, -1])
    flat = S3VM(X, sm.encode_labels(y), "hinge", SymmetricRamp(s=-0.4), C=3.0)
    f = flat.decisions_at(np.array([1.0]))
    assert module._linear_term(flat, f, -0.4).tolist() == [0.0, 0.0, -3.0, 3.0]
    assert module._linear_term(flat, f, 0.0).tolist() == [-3.0, 3.0, -3.0, 3.0]


def test_the_symmetric_hinge_is_the_ramp_at_zero():
    ramp = problem(s=0.0)
    hinge = ramp.with_(unlabeled_loss="symmetric_hinge")
    assert cccp(hinge).certificate.primal_objective == cccp(ramp).certificate.primal_objective


def test_stopped_early_it_says_so():
    obj = problem(C=100.0, gamma=4.0)
    assert cccp(obj).n_iter > 1
    result = cccp(obj, max_iter=1)
    assert (result.status, result.n_iter, result.message) == (Status.MAX_ITER, 1, "beta still changes")


def test_an_svm_that_fails_is_not_called_stationary(monkeypatch):
    obj = problem(C=100.0, gamma=4.0)
    solve = module.weighted_svm

    def fail(svm, w=None, **words):
        result = solve(svm, w, **words)
        if svm.linear is None:
            return result
        result.variables["w"][:] = 100.0
        return result

    monkeypatch.setattr(module, "weighted_svm", fail)
    result = cccp(obj)
    assert result.status is Status.MAX_ITER
    assert "not solved" in result.message
    assert result.history["objective"][1] == result.history["objective"][0]


# A schedule of C*


@ramps
def test_every_factor_begins_where_the_last_one_ended(s):
    """Factor by factor it is the procedure with that C*, from the end of the one before."""
    obj, schedule = problem(s=s), (0.0, 1e-2, 0.1, 1.0)
    result, w, rows = cccp(obj, schedule=schedule), None, 0
    for factor in schedule:
        step = cccp(obj.with_(C_star=max(factor, 1e-300) * obj.C_star), w)
        w = step.variables["w"]
        at = [k for k, value in enumerate(result.history["factor"]) if value == factor]
        objective = np.array(result.history["objective"])[at]
        assert (np.diff(objective) <= 0).all()
        assert objective[-1] == pytest.approx(step.certificate.primal_objective, rel=1e-9)
        rows += len(at)
    assert rows == len(result.history) == result.n_iter + len(schedule)
    np.testing.assert_allclose(result.variables["f"], step.variables["f"], atol=1e-6)
    assert result.certificate.primal_objective == obj.value_at(result.variables["w"])
