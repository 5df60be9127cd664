"""Compilation of what the builders make: as large and as quick as that of the same program with numbers."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from cvxproof.conic.compiling import ParametrizedProblem, is_wide
from specmargin.problems import models

N, L, Q = 240, 60, 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
TRUTH = (X[:, 0] + 0.5 * RNG.normal(size=N) > 0).astype(int)
W = sm.graphs.knn_graph(X, n_neighbors=8)
K, LAPLACIAN = sm.kernels.gram(X, gamma=0.5), sm.graphs.laplacian(W)
SPECTRUM = sm.spectra.laplacian_eigenpairs(W, q=Q)
LOSSES = {
    "hinge": lambda t: cp.sum(cp.pos(1 - t)),
    "squared_hinge": lambda t: cp.sum_squares(cp.pos(1 - t)),
    "squared": lambda t: cp.sum_squares(1 - t),
    "smooth_hinge": lambda t: cp.sum(cp.logistic(sm.losses.SmoothHinge().s * (1 - t))) / sm.losses.SmoothHinge().s,
}


def labels(seed):
    at = np.random.default_rng(seed).permutation(N)[:L]
    y = np.full(N, -1)
    y[at] = TRUTH[at]
    return sm.encode_labels(y)


def lapsvm(loss, given):
    return sm.problems.lapsvm_primal(sm.objectives.LapSVM(K, LAPLACIAN, given, loss=loss, gamma_A=0.1, gamma_I=0.1))


def lapsvm_by_hand(loss, given):
    """Return the program over the decisions f = R w + b, K = R R', in numbers."""
    values, V = np.linalg.eigh(K)
    R = (V * np.sqrt(np.maximum(values, 0)))[:, values > 1e-13 * values[-1]]
    rates, turn = np.linalg.eigh(R.T @ (LAPLACIAN @ R))
    R, w, b = R @ turn, cp.Variable(R.shape[1]), cp.Variable()
    t = cp.multiply(given.sign, R[given.labeled] @ w + b)
    norms = 0.1 * cp.sum_squares(w) + 0.1 * (np.maximum(rates, 0) @ cp.square(w))
    return cp.Problem(cp.Minimize(LOSSES[loss](t) + norms))


def storm(given):
    return sm.problems.storm(sm.objectives.SpectrumMargin(SPECTRUM, given, C=10.0, B=1.5), "primal")


def storm_by_hand(given):
    """Return min 1/2 sum v_j^2 / delta_j + C sum xi over ordered delta of sum one, in numbers."""
    U = np.sqrt(N) * SPECTRUM.eigenvectors[given.labeled]
    v, delta, t, b, xi = cp.Variable(Q), cp.Variable(Q), cp.Variable(Q), cp.Variable(), cp.Variable(L, nonneg=True)
    f = U @ v + b
    order = [delta[0] >= 0, delta[1:-1] >= delta[2:], delta[-1] >= 0, cp.sum(delta) == 1]
    cones = cp.SOC(t + delta, cp.vstack([np.sqrt(2) * v, t - delta]), axis=0)
    margins = [cp.multiply(given.sign, f) + xi >= 1, f <= 1.5, f >= -1.5]
    return cp.Problem(cp.Minimize(cp.sum(t) + 10.0 * cp.sum(xi)), [*order, cones, *margins])


def ridge(given):
    delta = sm.objectives.spectral_ridge.power_spectrum(SPECTRUM)
    return sm.problems.spectral_ridge_primal(sm.objectives.SpectralRidge(SPECTRUM, given, delta, penalty=0.1))


def ridge_by_hand(given):
    delta = sm.objectives.spectral_ridge.power_spectrum(SPECTRUM)
    w, b = cp.Variable(Q), cp.Variable()
    U = np.sqrt(N * delta) * SPECTRUM.eigenvectors[given.labeled]
    return cp.Problem(cp.Minimize(cp.sum_squares(given.sign - U @ w - b) + 0.1 * cp.sum_squares(w)))


PAIRS = {
    **{loss: (lambda y, a=loss: lapsvm(a, y), lambda y, a=loss: lapsvm_by_hand(a, y)) for loss in LOSSES},
    "storm": (storm, storm_by_hand),
    "ridge": (ridge, ridge_by_hand),
}


def peak(function):
    """Return the most bytes that a call holds at a time, arrays of numpy and scipy included."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", PAIRS)
def test_builders_compile_as_by_hand_and_to_the_same_program(name):
    build, by_hand = PAIRS[name]
    built, other = build(labels(0)), by_hand(labels(0))
    theirs = peak(lambda: other.get_problem_data("CLARABEL"))
    for options in ({}, {"canon_backend": cp.COO_CANON_BACKEND}):
        assert peak(lambda given=options: built.problem.get_problem_data("CLARABEL", **given)) < 2 * theirs + 2e6
    for seed in (0, 1):
        built.relabel(labels(seed))
        value = by_hand(labels(seed)).solve(solver="CLARABEL") * getattr(built.objective, "scale", 1.0)
        assert built.problem.solve(solver="CLARABEL") == pytest.approx(value, rel=1e-5)
        assert sm.solve(built, check=True).certificate.primal_objective == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", ["lapsvm", "storm"])
def test_changed_problems_compile_as_the_unchanged_and_follow_their_parameters(name):
    built = lapsvm("hinge", labels(0)) if name == "lapsvm" else storm(labels(0))
    changed = models.fairness(X[:, 1] > 0)(built)
    assert type(changed.problem) is ParametrizedProblem
    assert is_wide(changed.problem)
    assert peak(lambda: changed.problem.get_problem_data("CLARABEL")) < 8e6
    parameter = built.parameters["gamma_A" if name == "lapsvm" else "C"]
    values = []
    for factor in (1.0, 3.0, 1 / 3):
        parameter.value *= factor
        values.append(sm.solve(changed, check=True).certificate.primal_objective)
    assert values[0] == pytest.approx(values[2], rel=1e-6)
    assert values[1] > values[0] * (1 + 1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_round_of_cccp_compiles_as_by_hand(loss):
    n, l = 900, 60
    rng = np.random.default_rng(0)
    points, y = rng.normal(size=(n, 2)), np.repeat([0, 1, -1], [l // 2, l // 2, n - l])
    obj = sm.objectives.S3VM(points, sm.encode_labels(y), loss, C=1.0, C_star=0.1)
    A, offset, sign, V = obj.features.dense(), obj.features.offset, np.repeat([-1.0, 1.0], l // 2), LOSSES[loss]
    built = sm.problems.cccp_subproblem(obj, np.zeros(n - l))
    for beta in (np.zeros(n - l), 0.01 * rng.normal(size=n - l)):
        w = cp.Variable(A.shape[1])
        known, free = A[:l] @ w + offset, A[l:] @ w + offset
        value = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(obj.features.weights), w)) + V(cp.multiply(sign, known))
        other = cp.Problem(cp.Minimize(value + 0.1 * (V(free) + V(-free)) + beta @ free))
        built.parameters["beta"].value = beta
        theirs = peak(lambda given=other: given.get_problem_data("CLARABEL"))
        assert peak(lambda: built.problem.get_problem_data("CLARABEL")) < 2 * theirs + 2e6
        best = other.solve(solver="CLARABEL")
        assert sm.solve(built, check=True).certificate.primal_objective == pytest.approx(best, rel=1e-5)


def test_what_needs_the_parameters_keeps_them():
    built = lapsvm("hinge", labels(0)).problem
    assert "EvalParams" in str([type(one) for one in built.get_problem_data("CLARABEL")[1].reductions])
    small = storm(labels(0)).problem
    small.get_problem_data("CLARABEL", enforce_dpp=True, canon_backend=cp.COO_CANON_BACKEND)
    assert small._cache.param_prog is not None
