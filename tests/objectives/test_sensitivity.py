"""Derivatives of LapSVM and LapRLS: central differences of refits, and what has none."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from piecewise_problems import piecewise_problem

import specmargin as sm
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.objectives.sensitivity import derivatives, pieced

EIGHTH = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def solved(obj):
    """Return decisions and the value of the optimum, and the pieces, to the last digit."""
    found = sm.solvers.factorized(obj, tol=1e-13).variables
    system = pieced(obj, found["f"][obj.labels.labeled], found["beta"])
    v, b = system.optimum
    units = np.zeros(obj.labels.n_samples)
    units[obj.labels.labeled] = v
    _alpha, g = obj.reduction.expanded(obj.K, obj.labels.labeled, units)
    value = obj.scale * (
        obj.margin_loss.value(obj.labels.sign * (g[obj.labels.labeled] + b)).sum() + v @ g[obj.labels.labeled]
    )
    return g + b, value, (system.free.tobytes(), system.curved.tobytes(), system.half.tobytes())


def central(refit):
    """Return the derivatives by differences of the eighth order, the step as long as the pieces stay."""
    own = refit(0.0)
    for h in (0.06, 0.02, 0.006, 0.002, 0.0005):
        try:
            pairs = [(refit((i + 1) * h), refit(-(i + 1) * h)) for i in range(4)]
        except InvalidInputError:
            continue
        if all(one[2] == own[2] for pair in pairs for one in pair):
            return [sum(w * (up[k] - down[k]) for w, (up, down) in zip(EIGHTH, pairs, strict=True)) / h for k in (0, 1)]
    return None


def compare(seed):
    """Return the largest error of the derivatives of a problem, relative to their size; nan where it has none."""
    obj = piecewise_problem(seed)
    found = sm.solvers.factorized(obj, tol=1e-13).variables
    try:
        at = derivatives(obj, found["f"][obj.labels.labeled], found["beta"])
    except InvalidInputError:
        return np.nan
    weights = obj.labels.weights_or_ones
    one = np.eye(len(weights))[seed % len(weights)]
    weighted = lambda t, which: obj.with_(labels=obj.labels.weighted(weights * np.exp(t * which)))
    k, c = seed % len(weights), weights[seed % len(weights)]
    cases = [
        (lambda t: obj.with_(gamma_A=obj.gamma_A * np.exp(t)), at.decisions[:, 0], at.objective["gamma_A"]),
        (lambda t: obj.with_(gamma_I=obj.gamma_I * np.exp(t)), at.decisions[:, 1], at.objective["gamma_I"]),
        (lambda t: weighted(t, np.ones(len(weights))), -at.decisions[:, :2].sum(axis=1), at.objective["C"]),
        (lambda t: weighted(t, one), c * at.decisions[:, 2 + k], c * at.objective["label_weights"][k]),
    ]
    worst, size, value = 0.0, np.abs(found["f"]).max(), solved(obj)[1]
    for made, decisions, objective in cases:
        differences = central(lambda t, made=made: solved(made(t)))
        if differences is not None:
            worst = max(worst, np.abs(differences[0] - decisions).max() / max(np.abs(decisions).max(), 1e-4 * size))
            worst = max(worst, abs(differences[1] - objective) / max(abs(objective), 1e-4 * value))
    return worst


@pytest.mark.parametrize("seed", range(12))
def test_derivatives_are_central_differences(seed):
    assert not compare(seed) > 1e-8


@pytest.mark.slow
def test_derivatives_of_two_hundred_problems():
    """Refits have sixteen digits of the decisions: of derivatives a ten-thousandth of these, differences have few."""
    errors = np.array([compare(seed) for seed in range(200)])
    assert np.isfinite(errors).sum() >= 190
    assert np.nanquantile(errors, 0.95) <= 1e-8
    assert np.nanmax(errors) <= 1e-6


@pytest.mark.parametrize("seed", [35, 41])
def test_small_derivatives_are_those_of_three_hundred_bits(seed):
    """The two of which differences of refits are worst, in the span of few functions."""
    flint = pytest.importorskip("flint")
    obj = piecewise_problem(seed)
    answer = sm.solvers.factorized(obj, tol=1e-13).variables
    system = pieced(obj, answer["f"][obj.labels.labeled], answer["beta"])
    at = derivatives(obj, answer["f"][obj.labels.labeled], answer["beta"]).decisions[:, 0]
    matrix = lambda rows: flint.arb_mat([[flint.arb(float(x)) for x in row] for row in rows])
    rows, ones, c, y = obj.labels.labeled, np.ones((len(at), 1)), obj.labels.weights_or_ones, obj.labels.sign
    own = np.hstack([obj.K.factor, ones] if obj.fit_intercept else [obj.K.factor])
    norm = np.append(np.ones(obj.K.factor.shape[1]), np.zeros(own.shape[1] - obj.K.factor.shape[1]))
    before, flint.ctx.prec = flint.ctx.prec, 300
    try:
        F, Z, L = matrix(own), matrix(own[rows]), matrix(obj.L.matrix.toarray())
        penalised = smooth = matrix(own * norm)
        for _ in range(obj.L.power):
            smooth = L * smooth
        ambient = matrix(np.diag(obj.gamma_A * norm))
        H = ambient + penalised.transpose() * smooth * flint.arb(obj.gamma_I)
        H = H + Z.transpose() * matrix(np.diag(c * np.where(system.curved, system.square, 0.0))) * Z
        w = H.solve(Z.transpose() * matrix((c * y * (system.square + system.half))[:, None]))
        change = F * H.solve(ambient * w) * flint.arb(-1)
        exact = np.array([float(change[i, 0].mid()) for i in range(len(at))])
    finally:
        flint.ctx.prec = before
    assert np.abs(exact).max() < 1e-3
    np.testing.assert_allclose(at, exact, atol=3e-8 * np.abs(exact).max())


def test_scaled_reductions_and_copies():
    obj = piecewise_problem(1, loss="squared")
    other = obj.with_(gamma_A=3 * obj.gamma_A, gamma_I=3 * obj.gamma_I)
    units = np.eye(obj.labels.n_samples)[:, :2]
    _ = obj.reduction
    assert "reduction" not in vars(other)
    scaled = obj.with_(gamma_A=3 * obj.gamma_A, gamma_I=3 * obj.gamma_I)
    assert "reduction" in vars(scaled)
    for one, its in zip(
        scaled.reduction.expanded(obj.K, obj.labels.labeled, units),
        other.reduction.expanded(obj.K, obj.labels.labeled, units),
        strict=True,
    ):
        np.testing.assert_allclose(one, its, rtol=1e-9, atol=1e-9 * np.abs(its).max())
    with pytest.raises(SolverError, match="copy without the factors"):
        pickle.loads(pickle.dumps(obj.reduction)).expanded(obj.K, obj.labels.labeled, units)


def refusal(obj):
    found = sm.solvers.factorized(obj, tol=1e-13).variables
    with pytest.raises(InvalidInputError) as error:
        derivatives(obj, found["f"][obj.labels.labeled], found["beta"])
    return str(error.value)


def test_an_intercept_that_is_an_interval_is_refused():
    # Two labels, strongly regularised: both multipliers are at their bound, and any b between the margins will do.
    K, labels = np.eye(3), sm.encode_labels([0, 1, -1])
    assert "intercept is an interval" in refusal(sm.objectives.LapSVM(K, None, labels, gamma_A=10.0))


def test_a_kink_is_refused():
    # One sample and no intercept: f = 1 / gamma_A / 2 until that reaches the margin, from where on f = 1.
    K, labels = np.eye(2), sm.encode_labels([0, 1])
    at = {
        gamma_A: sm.objectives.LapSVM(K, None, labels, gamma_A=gamma_A, fit_intercept=False)
        for gamma_A in (0.4, 0.5, 0.6)
    }
    assert "kink at the decision of sample 0 and of 1 more" in refusal(at[0.5])
    for gamma_A, slope in ((0.4, 0.0), (0.6, -0.5 / 0.6)):
        found = sm.solvers.factorized(at[gamma_A], tol=1e-13).variables
        got = derivatives(at[gamma_A], found["f"], found["beta"])
        np.testing.assert_allclose(got.decisions[:, 0], slope * labels.sign, atol=1e-12)


def test_a_loss_without_pieces_and_a_far_answer_are_refused():
    obj = piecewise_problem(0, loss="smooth_hinge")
    with pytest.raises(InvalidInputError, match="not piecewise quadratic"):
        derivatives(obj, obj.labels.sign, np.zeros(obj.labels.n_labeled))


def test_samples_that_repeat_are_refused_where_both_are_free():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    labels = sm.encode_labels([0, 0, 1, 1])
    obj = sm.objectives.LapSVM(sm.kernels.gram(X, gamma=1.0), None, labels, gamma_A=0.01)
    assert "depend on each other" in refusal(obj)
