"""Deterministic annealing against its definition, its cold limit, and enumeration of labels."""

from functools import partial
from importlib import import_module
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from s3vm_problems import moons
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit

from specmargin.labels import encode_labels
from specmargin.losses import SquaredHinge
from specmargin.objectives import S3VM
from specmargin.results import Status
from specmargin.solvers.s3vm.annealing import annealing
from specmargin.solvers.s3vm.weighted_svm import weighted_svm

# The package has the function under the name of its module.
module = import_module("specmargin.solvers.s3vm.annealing")
intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])


problem = partial(moons, n=40)


# What is returned


@intercepts
@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge", "hinge"])
def test_the_lowest_of_the_path_is_returned(intercept, loss):
    obj = problem(intercept=intercept, loss=loss)
    result = annealing(obj)
    assert (result.problem, result.solver, result.status) == ("S3VM", "annealing", Status.STATIONARY)
    objective = result.history["objective"]
    assert result.certificate.primal_objective == min(objective)
    assert result.certificate.primal_objective == obj.value_at(result.variables["w"])
    assert result.n_iter == len(objective)
    # The columns speak of one SVM.
    k = int(np.argmin(objective))
    p = result.variables["p"]
    svm = obj.guessed(2 * p - 1)
    solved = weighted_svm(svm)
    assert svm.value_at(result.variables["w"]) == pytest.approx(solved.certificate.primal_objective, rel=1e-6)
    assert len(np.unique(result.history["temperature"])) > 8
    assert result.history["gradient"][k] == pytest.approx(obj.stationarity(result.variables["w"]))
    entropy = -(p * np.log(np.maximum(p, 1e-300)) + (1 - p) * np.log(np.maximum(1 - p, 1e-300))).mean()
    assert result.history["entropy"][k] == pytest.approx(entropy, abs=1e-12)


# The path


def test_temperatures_are_those_of_the_paper():
    obj = problem(C=5.0, C_star=2.0)
    temperatures = np.array(annealing(obj).history["temperature"])
    distinct = np.unique(temperatures)[::-1]
    assert (np.diff(temperatures) <= 0).all()
    assert distinct[0] == 20.0
    np.testing.assert_allclose(distinct[:-1] / distinct[1:], 1.5)
    assert len(distinct) <= 30
    assert max(np.unique(temperatures, return_counts=True)[1]) <= 100


@intercepts
@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge"])
@pytest.mark.parametrize("temperature", [50.0, 3.0, 0.2])
def test_gradient_of_the_free_energy_is_its_differences(intercept, loss, temperature, rng):
    obj = problem(n=20, intercept=intercept, loss=loss, balance=0.3)
    w, directions = 0.5 * rng.normal(size=obj.size), rng.normal(size=(5, obj.size))
    value, gradient = module.FreeEnergy(obj, temperature)(w)
    for d in directions:
        ahead, behind = (module.FreeEnergy(obj, temperature)(w + step * d)[0] for step in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(gradient @ d, rel=1e-6, abs=1e-7 * abs(value))
    p = module._probabilities(obj, obj.decisions_at(w), temperature)
    svm = obj.guessed(2.0 * p - 1.0)
    assert value == svm.value_at(w) - temperature * module._entropy(p)
    np.testing.assert_array_equal(gradient, svm.gradient(w))


@pytest.mark.parametrize("temperature", [100.0, 3.0, 0.05])
@pytest.mark.parametrize("balance", [-0.7, 0.0, 0.31])
def test_the_free_energy_is_the_least_over_all_probabilities(temperature, balance, rng):
    """Expected cost less T times entropy under the mean R, against CVXPY."""
    obj = problem(n=24, balance=balance)
    w = 0.7 * rng.normal(size=obj.size)
    f, loss = obj.decisions_at(w), SquaredHinge()
    g, t = f[obj.unlabeled], obj.labels.sign * f[obj.labels.labeled]
    q = cp.Variable(len(g))
    cost = obj.C_star * (loss.value(g) @ q + loss.value(-g) @ (1 - q)) - temperature * cp.sum(
        cp.entr(q) + cp.entr(1 - q)
    )
    convex = cp.Problem(cp.Minimize(cost), [cp.sum(q) == obj.positive_share * len(g)])
    convex.solve(solver="CLARABEL", tol_gap_rel=1e-11, tol_gap_abs=1e-11, tol_feas=1e-11)
    rest = 0.5 * obj.features.weights @ w**2 + obj.C * loss.value(t).sum()
    assert module.FreeEnergy(obj, temperature)(w)[0] == pytest.approx(rest + convex.solution.opt_val, rel=1e-8)
    p = module._probabilities(obj, f, temperature)
    assert p.mean() == pytest.approx(obj.positive_share, abs=1e-10)
    np.testing.assert_allclose(p, q.value, atol=1e-5)


def test_the_hot_end_is_that_of_scipy_and_of_the_alternation():
    """At the first temperature there is one minimum."""
    obj = problem(balance=0.2)
    first = annealing(obj, max_iter=1)
    assert len(first.history) == 1
    assert first.status is Status.STATIONARY
    value = module.FreeEnergy(obj, 50.0)(first.variables["w"])[0]
    reference = minimize(module.FreeEnergy(obj, 50.0), np.zeros(obj.size), jac=True, method="L-BFGS-B", tol=1e-14)
    assert value == pytest.approx(reference.fun, rel=1e-7)
    p = np.full(len(obj.unlabeled), obj.positive_share)
    path = module._Progress(obj)
    w, _, settled = module._Alternation(obj, 1e-12, 500)(None, p, 50.0, path)
    assert settled
    assert module.FreeEnergy(obj, 50.0)(w)[0] == pytest.approx(reference.fun, rel=1e-7)
    assert annealing(obj, max_iter=1, max_inner=1).status is Status.MAX_ITER


def test_small_problems_against_all_labels():
    """Ten unlabelled samples: never below the best of 1024 labellings, which it reaches at times."""
    gaps = []
    for seed in range(4):
        obj = problem(n=14, seed=seed, C=1.0, rank=6)
        svms = [obj.guessed(np.array(signs)) for signs in product((-1.0, 1.0), repeat=10)]
        best = min(weighted_svm(svm, tol=1e-8).certificate.primal_objective for svm in svms)
        gaps.append(annealing(obj).certificate.primal_objective / best - 1)
    assert min(gaps) > -1e-7
    assert sum(gap < 1e-6 for gap in gaps) >= 2


# Extremes


@pytest.mark.parametrize("temperature", [1e-300, 1e-12, 1.0, 1e300])
def test_extreme_temperatures_are_finite_and_keep_the_share(temperature, rng):
    obj = problem(balance=0.0)
    f = rng.normal(size=40)
    with np.errstate(all="raise", under="ignore"):
        p = module._probabilities(obj, f, temperature)
    assert np.isfinite(p).all()
    assert p.mean() == pytest.approx(0.5, abs=1e-9)
    if temperature < 1e-6:
        cost = np.argsort(f[obj.unlabeled])[::-1]
        assert (p[cost[:18]] > 0.99).all()
        assert (p[cost[18:]] < 0.01).all()


@pytest.mark.parametrize("n", [1, 2, 7, 500])
@pytest.mark.parametrize("scale", [1e-9, 0.3, 20.0, 1e6, 1e14])
def test_level_is_that_of_bisection(n, scale, rng):
    for share in (1e-10, 0.1, 0.25, 0.5, 3 / 7, 0.77, 1 - 1e-10):
        e = np.clip(scale * rng.standard_t(2, size=n), -1e15, 1e15)
        nu = module._level(e, share)
        assert expit(nu - e).mean() == pytest.approx(share, abs=1e-9 if scale < 1e10 else 0.5 / n)
        if scale < 100:
            ends = e.min() + logit(share) - 1, e.max() + logit(share) + 1
            reference = brentq(lambda t, e=e, share=share: expit(t - e).mean() - share, *ends, xtol=1e-14)
            np.testing.assert_allclose(expit(nu - e), expit(reference - e), atol=1e-9)


def test_ties_share_the_probability():
    obj = problem(balance=0.5)
    np.testing.assert_allclose(module._probabilities(obj, np.full(40, 0.3), 1e-9), 0.75, atol=1e-9)


@pytest.mark.parametrize("balance", [-1.0, 1.0])
def test_all_of_one_class(balance):
    """R = 0 or 1: nothing is to be decided, one SVM is all."""
    obj = problem(balance=balance)
    result = annealing(obj)
    assert (result.variables["p"] == (1 + balance) / 2).all()
    assert result.status is Status.STATIONARY
    assert result.n_iter == 1
    svm = obj.guessed(np.full(len(obj.unlabeled), balance))
    assert svm.value_at(result.variables["w"]) == pytest.approx(
        weighted_svm(svm).certificate.primal_objective, rel=1e-7
    )


def test_a_share_that_no_labels_have_still_ends_cold():
    """36 samples, R = 0.52: one of them stays undecided."""
    obj = problem(balance=0.04, C=0.5)
    assert obj.positive_share * len(obj.unlabeled) % 1 > 0.1
    result = annealing(obj)
    assert result.status is Status.STATIONARY
    assert len(np.unique(result.history["temperature"])) < 30


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_start_is_used(loss):
    obj = problem(C=1.0, loss=loss)
    end = annealing(obj, max_iter=1, max_inner=1000, tol=1e-12).variables["w"]
    again = annealing(obj, end, max_iter=1, max_inner=1)
    assert again.status is Status.STATIONARY  # from zero one step is not enough
    assert annealing(obj, max_iter=1, max_inner=1).status is Status.MAX_ITER
    np.testing.assert_allclose(again.variables["w"], end, atol=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_a_free_intercept_is_descended_on_until_its_svm_is_proved(seed):
    # The gap that a free intercept leaves is proportional to its gradient, and not to the square of that.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=30) > 0).astype(int)
    y[6:], y[:2] = -1, [0, 1]
    obj = S3VM(X, encode_labels(y), "smooth_hinge", C=1.0, C_star=0.1, intercept="free")
    assert annealing(obj).status is Status.STATIONARY
