"""Bounds on the decisions of the optimum: never wrong, whatever the loss, the weights and the answer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import specmargin as sm
from specmargin.kernels import LowRankKernel
from specmargin.kernels.truncated import TruncatedKernel
from specmargin.objectives import LapSVM, SpectralRidge, SpectrumMargin
from specmargin.objectives.proved_decisions import DecisionBounds, chained, decision_bounds, distances
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.rounding import UNIT

LOSSES = ("hinge", "squared_hinge", "squared", "huber_hinge")
WEIGHTS = ((1e-2, 1.0), (1e-4, 1e-2), (1.0, 0.0), (1e-6, 1e-6), (1e6, 1e6), (1e-6, 1e6))


@pytest.fixture(scope="module")
def moons():
    X, t = sm.datasets.make_two_moons(n_samples=70, noise=0.2, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(t, n_labeled=11, random_state=0))
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    return X, t, labels, W


def kernels(X, W):
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=20)
    landmarks = sm.kernels.landmark_features(X, 20, gamma=4.0, random_state=0)(X)
    return {
        "kernel": sm.kernels.gram(X, gamma=4.0),
        "landmarks": LowRankKernel(landmarks),
        "eigenvectors": LowRankKernel(np.sqrt(len(X)) * spectrum.eigenvectors[:, 1:]),
    }


def away(objective, best, move, gap):
    """Return the point at that relative gap from the optimum, along a direction."""
    value = objective.value(best)
    low, high = -30.0, 30.0
    for _ in range(30):
        middle = (low + high) / 2
        point = {**best, **{name: best[name] + 10.0**middle * step for name, step in move.items()}}
        low, high = (middle, high) if objective.value(point) - value < gap * abs(value) else (low, middle)
    return {**best, **{name: best[name] + 10.0**low * step for name, step in move.items()}}


def directions(objective, best, rng):
    if "alpha" not in best:
        delta = objective.delta
        move = {"v": (rng.normal(size=best["v"].shape).T * np.sqrt(delta)).T, "b": rng.normal(size=best["b"].shape)}
        return [move, {**move, "b": 0.0}]
    alpha = rng.normal(size=best["alpha"].shape)
    free = objective.reduction.coefficients(rng.normal(size=objective.labels.n_labeled))
    b = float(objective.fit_intercept)
    return [{"alpha": alpha, "b": 0.0}, {"alpha": free, "b": b}, {"alpha": 0.0 * free, "b": b}][: 2 + int(b)]


def shares(objective, best, rng, gaps=(1e-2, 1e-4, 1e-6)):
    """Return the shares of decisions that are proved, by gap; no bound leaves the optimum out."""
    exact, known, found = objective.decisions(best), distances(objective), []
    own = decision_bounds(objective, best, known=known)
    for gap in gaps:
        for move in directions(objective, best, rng):
            low, high, *_ = decision_bounds(objective, away(objective, best, move, gap), known=known)
            # The optimum is known up to its own bounds.
            assert (low <= np.maximum(exact, own.high)).all()
            assert (high >= np.minimum(exact, own.low)).all()
            proved = (low > 0) | (high < 0)
            assert (~proved | ((low > 0) == (exact > 0))).all()
            found.append(proved.mean())
    return np.array(found).reshape(len(gaps), -1).mean(axis=1)


@pytest.mark.parametrize("kind", ["kernel", "landmarks", "eigenvectors"])
@pytest.mark.parametrize("loss", LOSSES)
def test_no_proved_decision_of_lapsvm_differs_from_the_optimum(moons, rng, loss, kind):
    X, _, labels, W = moons
    K, L = kernels(X, W)[kind], sm.graphs.laplacian(W)
    usual = []
    turn = LOSSES.index(loss) % 2 == 0  # each weight with and without an intercept, by turns
    for (gamma_A, gamma_I), intercept in zip(WEIGHTS, itertools.cycle((turn, not turn)), strict=False):
        obj = LapSVM(K, L, labels, loss=loss, gamma_A=gamma_A, gamma_I=gamma_I, fit_intercept=intercept)
        found = shares(obj, dict(sm.solvers.factorized(obj, tol=1e-13).variables), rng)
        if gamma_A in (1e-2, 1e-4):
            usual.append(found)
    assert np.mean(usual, axis=0)[1] > 0.9
    assert np.mean(usual, axis=0)[2] > 0.97  # a sample of 70 is 1.4 %


@pytest.mark.parametrize("C", [1e-6, 1.0, 10.0, 1e6])
@pytest.mark.parametrize("B", [1.5, np.inf])
def test_no_proved_decision_over_a_given_spectrum_differs_from_the_optimum(moons, rng, C, B):
    _, _, labels, W = moons
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=20)
    obj = SpectrumMargin(spectrum, labels, C=C, B=B, delta=power_spectrum(spectrum))
    found = shares(obj, dict(sm.solvers.spectrum_margin(obj, tol=1e-13).variables), rng)
    assert C < 1 or found[-1] > 0.95


@pytest.mark.parametrize("weighted", [False, True])
def test_no_proved_decision_of_several_classes_differs_from_the_optimum(moons, rng, weighted):
    _, t, _, W = moons
    labels = sm.encode_labels(sm.hide_labels(t + 2 * (np.arange(len(t)) % 2), per_class=5, random_state=0))
    if weighted:
        labels = labels.weighted(rng.uniform(0.1, 3.0, size=labels.n_labeled))
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=20)
    for penalty in (1e-6, 0.1, 1e6):
        obj = SpectralRidge(spectrum, labels, power_spectrum(spectrum), penalty)
        found = shares(obj, dict(sm.solvers.spectral_ridge(obj, tol=1e-13).variables), rng)
        assert penalty == 1e6 or found[-1] > 0.93


def test_weights_of_labels_are_part_of_the_problem(moons, rng):
    X, _, labels, W = moons
    weighted = labels.weighted(rng.uniform(0.1, 3.0, size=labels.n_labeled))
    for loss in LOSSES:
        obj = LapSVM(
            sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(W), weighted, loss=loss, gamma_A=0.01, gamma_I=1
        )
        assert shares(obj, dict(sm.solvers.factorized(obj, tol=1e-13).variables), rng)[2] > 0.95


def test_distances_are_those_of_the_deformed_kernel(moons):
    from fractions import Fraction

    X, _, labels, W = moons
    K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(W) @ np.eye(len(X))
    obj = LapSVM(K, L, labels, gamma_A=0.5, gamma_I=2.0)
    exact = np.linalg.solve(0.5 * np.eye(len(X)) + 2.0 * K @ L, K)
    at = labels.labeled
    squares = np.diag(exact)[:, None] - 2 * exact[:, at] + np.diag(exact)[at]
    found = distances(obj)
    np.testing.assert_allclose(found.own, np.sqrt(np.diag(exact)), rtol=1e-6)
    np.testing.assert_allclose(found.apart**2, np.maximum(squares, 0), atol=1e-8)
    # Two samples and rational numbers: K = [[2, 1], [1, 2]], S = I + L K with L = [[1, -1], [-1, 1]].
    S = [[Fraction(2), Fraction(-1)], [Fraction(-1), Fraction(2)]]
    det = S[0][0] * S[1][1] - S[0][1] * S[1][0]
    own = float((2 * S[1][1] - 1 * S[1][0]) / det)
    two = LapSVM(
        np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0, -1], [-1, 1]]), sm.encode_labels([0, 1]), gamma_I=1.0
    )
    assert own <= distances(two).own[0] ** 2 <= own * (1 + 1e-7)


def test_a_kernel_that_is_not_stored_has_the_bounds_of_the_kernel_alone(moons):
    X, _, labels, W = moons
    stored = LapSVM(sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(W), labels, gamma_A=0.5, gamma_I=2.0)
    block = sm.kernels.BlockKernel(X, gamma=4.0)
    apart = distances(LapSVM(block, sm.graphs.laplacian(W), labels, gamma_A=0.5, gamma_I=2.0))
    assert (distances(stored).own <= apart.own).all()
    np.testing.assert_allclose(apart.own, np.sqrt(2.0), rtol=1e-8)


def test_an_intercept_that_is_an_interval_leaves_nothing_proved():
    # Both labels at the bound: every b of an interval is optimal.
    obj = LapSVM(0.1 * np.eye(3), None, sm.encode_labels([0, 1, -1]), loss="hinge", gamma_A=1.0)
    low, high, *_ = decision_bounds(obj, sm.solvers.factorized(obj).variables)
    assert low[2] < -0.9
    assert high[2] > 0.9


def test_what_proves_nothing_says_nothing(moons):
    X, _, labels, W = moons
    obj = LapSVM(sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(W), labels, gamma_A=0.01, gamma_I=1.0)
    low, high, *_ = decision_bounds(obj, {"alpha": 1e6 * np.ones(len(X)), "b": 0.0})
    assert not ((low > 0) | (high < 0)).any()


def test_a_learned_norm_is_refused(moons):
    _, _, labels, W = moons
    obj = SpectrumMargin(sm.spectra.laplacian_eigenpairs(W, q=10), labels)
    with pytest.raises(TypeError, match="a norm that is given"):
        decision_bounds(obj, sm.solvers.spectrum_margin(obj).variables)


def test_bounds_pass_on_from_samples_that_are_near():
    at = DecisionBounds(np.array([1.0, -np.inf]), np.array([2.0, np.inf]))
    apart = np.array([[0.5, 0.0]])
    low, high, *_ = chained(at, np.array([1.5]), np.array([1.5, 0.0]), apart, np.zeros(1), np.zeros(2))
    assert low[0] == pytest.approx(0.5, abs=20 * UNIT + 1e-8)
    assert high[0] == pytest.approx(2.5, abs=20 * UNIT + 1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
def test_the_bound_is_attained(loss):
    """Of a sample that nothing ties to labels the value may be off by all that the gap allows."""
    labels, off = sm.encode_labels([0, 1, -1]), 1e-3
    obj = LapSVM(np.eye(3), None, labels, loss=loss, gamma_A=0.25, fit_intercept=False)
    best = dict(sm.solvers.factorized(obj, tol=1e-13).variables)
    alpha = best["alpha"] + np.array([0.0, 0.0, off])
    low, high, radius, _ = decision_bounds(obj, {**best, "alpha": alpha})
    assert radius == pytest.approx(0.5 * off, rel=1e-4)
    assert low[2] <= 0 <= high[2]
    assert low[2] == pytest.approx(0.0, abs=1e-4 * off)


def test_the_bound_over_a_spectrum_is_attained():
    labels, off = sm.encode_labels([0, 1, 0, -1]), 1e-6
    # The first labelled sample has no feature, so that its decision is the intercept.
    spectrum = sm.spectra.Spectrum(np.arange(3.0), np.eye(4)[:, 1:], n_components=1)
    obj = SpectrumMargin(spectrum, labels, C=1.0, delta=np.ones(3))
    best = dict(sm.solvers.spectrum_margin(obj, tol=1e-13).variables)
    v = best["v"] + np.array([0.0, 0.0, off])
    exact = float(best["b"])
    low, high, *_ = decision_bounds(obj, {**best, "v": v})
    assert low[3] <= exact <= high[3]
    assert exact - low[3] < 0.2 * 2 * off


def test_what_a_kernel_leaves_out_is_part_of_the_bounds(moons):
    """Decisions of the optimum over K itself, by a factor of it that leaves much out; also at new samples."""
    X, _, labels, W = moons
    K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(W)
    F = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))[:, :40]
    held = TruncatedKernel(np.asfortranarray(F), np.diag(K - F @ F.T).clip(0.0), lambda rows: K[rows, rows])
    for gamma_I in (0.0, 10.0, 1e4):
        weights = {"loss": "squared_hinge", "gamma_A": 0.1, "gamma_I": gamma_I}
        best = sm.solvers.factorized(LapSVM(K, L, labels, **weights)).variables["f"]
        objective = LapSVM(held, L, labels, **weights)
        answer = sm.solvers.factorized(objective).variables
        bounds = decision_bounds(objective, answer)
        assert np.isfinite(bounds.radius)
        assert ((bounds.low <= best) & (best <= bounds.high)).all()
        g, alpha = K @ answer["alpha"] - F @ (F.T @ answer["alpha"]), answer["alpha"]
        assert np.sqrt(alpha @ g) <= bounds.lost * (1 + 1e-6)
        squares = np.diag(K)[:, None] - 2 * K[:, labels.labeled] + np.diag(K)[labels.labeled]
        if gamma_I == 0:  # the norm is that of K
            assert (distances(objective).apart * (1 + 1e-9) >= np.sqrt(squares.clip(0.0) / 0.1) - 1e-7).all()
