"""SpectralRidge with weights, and its left-out decisions: scikit-learn, CVXPY, repeated labels, refitting."""

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg as sla
from exact_fractions import fractions
from sklearn.linear_model import Ridge

import specmargin as sm
from specmargin.objectives.held_out.ridge_factors import RidgeFactors
from specmargin.objectives.spectral_ridge import SpectralRidge, power_spectrum
from specmargin.proofs.translation import record_of
from specmargin.solvers.spectrum.spectral_ridge import choose_penalty

sizes = pytest.mark.parametrize(("l", "q"), [(5, 9), (10, 9), (11, 9), (20, 9)])  # both routes, and where they change
classes = pytest.mark.parametrize("n_classes", [2, 3])
weighted = pytest.mark.parametrize("weighted", [True, False])


def objective(l=12, q=9, n_classes=2, penalty=0.2, seed=0, weights=None):
    """Noisy classes on a graph, and weights from 0.2 to 5 unless they are given."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) + 1.5 * (np.arange(40) % n_classes)[:, None]
    y = np.where(np.arange(40) < l, np.arange(40) % n_classes, -1)
    y[rng.permutation(40)] = y.copy()
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=q, normalized=False)
    labels = sm.encode_labels(y).weighted(rng.uniform(0.2, 5.0, l) if weights is None else weights)
    return SpectralRidge(spectrum, labels, power_spectrum(spectrum), penalty)


def by_scikit_learn(obj, kept=slice(None)):
    """v, b and the decisions of all samples by its weighted ridge."""
    Z = np.sqrt(obj.spectrum.n_samples * obj.delta) * obj.spectrum.eigenvectors
    at = obj.labels.labeled[kept]
    model = Ridge(alpha=obj.penalty, solver="svd", tol=1e-14)
    model.fit(Z[at], obj.labels.sign[kept], sample_weight=obj.labels.weights_or_ones[kept])
    return (model.coef_ * np.sqrt(obj.delta)).T, model.intercept_, model.predict(Z)


@sizes
@classes
def test_it_is_scikit_learns_ridge(l, q, n_classes):
    obj = objective(l, q, n_classes)
    result = sm.solvers.spectral_ridge(obj)
    v, b, f = by_scikit_learn(obj)
    np.testing.assert_allclose(result.variables["v"], v, atol=1e-10)
    np.testing.assert_allclose(result.variables["b"], b, atol=1e-10)
    np.testing.assert_allclose(result.variables["f"], f, atol=1e-10)
    assert result.certificate.is_optimal(1e-12)
    theta = 2.0 * (obj.labels.weights * obj.residuals(v, b).T).T
    np.testing.assert_allclose(result.variables["theta"], theta, atol=1e-9)
    np.testing.assert_allclose(obj.multipliers(v, b), theta, atol=1e-9)
    plain = replace(obj, labels=replace(obj.labels, weights=None))
    assert np.abs(sm.solvers.spectral_ridge(plain).variables["f"] - f).max() > 1e-2


@classes
@weighted
@pytest.mark.parametrize("penalty", [1e-3, 50.0])
def test_cvxpy_finds_the_same_optimum_and_the_bound(n_classes, penalty, weighted):
    obj = objective(n_classes=n_classes, penalty=penalty, weights=None if weighted else np.ones(12))
    result = sm.solvers.spectral_ridge(obj)
    target, c = obj.labels.sign.reshape(12, -1), obj.labels.weights_or_ones
    V, b = cp.Variable((obj.q, target.shape[1])), cp.Variable((1, target.shape[1]))
    F = obj.U @ V + np.ones((12, 1)) @ b
    loss = sum(c[i] * cp.sum_squares(target[i] - F[i]) for i in range(12))
    norm = sum(cp.sum_squares(V[j]) / obj.delta[j] for j in range(1, obj.q))
    problem = cp.Problem(cp.Minimize(loss + penalty * norm), [V[0] == 0])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-11, tol_gap_abs=1e-11, tol_feas=1e-11)
    assert result.certificate.primal_objective == pytest.approx(problem.value, rel=1e-7)
    assert result.certificate.dual_objective == pytest.approx(problem.value, rel=1e-7)
    built = sm.solve(sm.problems.spectral_ridge_primal(obj))
    assert built.certificate.is_optimal(1e-6)
    assert built.certificate.primal_objective == pytest.approx(problem.value, rel=1e-7)
    np.testing.assert_allclose(-built.duals["fit"], result.variables["theta"], atol=1e-4)
    assert sm.certify(obj, result).is_optimal(1e-12)
    if weighted:
        with pytest.raises(TypeError, match="no proof record"):
            record_of(obj, result)


@classes
def test_no_dual_value_exceeds_a_primal_value(n_classes):
    rng = np.random.default_rng(0)
    for seed in range(30):
        obj = objective(n_classes=n_classes, seed=seed, weights=10.0 ** rng.uniform(-6, 6, 12))
        theta = obj.repair_multipliers(rng.normal(size=obj.labels.sign.shape))
        np.testing.assert_array_equal([sum(map(Fraction, one)) for one in np.atleast_2d(theta.T)], 0)
        assert 0 <= obj.dual_bound(theta) <= sm.solvers.spectral_ridge(obj).certificate.primal_objective * (1 + 1e-12)


@classes
def test_multipliers_of_another_intercept_are_those_of_the_best_one(n_classes):
    obj = objective(n_classes=n_classes, weights=10.0 ** np.random.default_rng(0).uniform(-6, 6, 12))
    v, b, _ = by_scikit_learn(obj)
    best, off = obj.multipliers(v, b), obj.multipliers(v, b + 0.5)
    np.testing.assert_allclose(obj.repair_multipliers(off), best, rtol=1e-6, atol=1e-9 * np.abs(off).max())
    assert obj.prove(v, b, off).is_optimal(1e-8)


@classes
@weighted
def test_the_gradient_by_central_differences(n_classes, weighted):
    obj = objective(n_classes=n_classes, weights=None if weighted else np.ones(12))
    rng = np.random.default_rng(1)
    v, b = rng.normal(size=obj.variables["v"]), rng.normal(size=obj.variables["b"])
    v[obj.delta == 0] = 0.0
    slope_v, slope_b = obj.gradient(v, b)
    for at in np.ndindex(v.shape):
        if obj.delta[at[0]] > 0:
            move = np.zeros_like(v)
            move[at] = 1e-5
            difference = (obj.value_at(v + move, b) - obj.value_at(v - move, b)) / 2e-5
            assert slope_v[at] == pytest.approx(difference, rel=1e-6, abs=1e-6)
    for at in np.ndindex(np.shape(b)):
        move = np.zeros_like(b)
        move[at] = 1e-5
        difference = (obj.value_at(v, b + move) - obj.value_at(v, b - move)) / 2e-5
        assert slope_b[at] == pytest.approx(difference, rel=1e-6, abs=1e-6)
    _, slope = obj.gradient(v, obj.best_intercept(v))
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)


@sizes
@classes
@weighted
def test_leave_one_out_is_refitting(l, q, n_classes, weighted):
    for penalty in (1e-6, 0.2, 30.0):
        obj = objective(l, q, n_classes, penalty, weights=None if weighted else np.ones(l))
        found = obj.leave_one_out()
        for i, at in enumerate(obj.labels.labeled):
            f = by_scikit_learn(obj, np.arange(l) != i)[2]
            np.testing.assert_allclose(found[i], f[at], rtol=1e-7, atol=1e-7)


@sizes
def test_leave_one_out_of_a_label_that_outweighs_all_others(l, q):
    """The others decide about it as if it were not there, to as many digits as they have themselves."""
    weights = np.ones(l)
    weights[3] = 1e14
    obj = objective(l, q, weights=weights)
    others = np.delete(np.arange(l), 3)
    expected = by_scikit_learn(obj, others)[2][obj.labels.labeled[3]]
    assert obj.leave_one_out()[3] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@sizes
def test_far_weights_are_certified(l, q, scale):
    rng = np.random.default_rng(2)
    for weights in (np.full(l, scale), 10.0 ** rng.uniform(-8, 8, l), np.where(np.arange(l) % 2, scale, 1.0)):
        for n_classes in (2, 3):
            result = sm.solvers.spectral_ridge(objective(l, q, n_classes, weights=weights))
            assert result.certificate.is_optimal(1e-9)
            assert result.certificate.gap >= 0


def test_one_weight_for_all_divides_the_penalty():
    ours, plain = objective(penalty=0.8, weights=np.full(12, 4.0)), objective(penalty=0.2, weights=np.ones(12))
    assert plain.labels.weights is None
    f = [sm.solvers.spectral_ridge(one).variables["f"] for one in (ours, plain)]
    np.testing.assert_allclose(*f, atol=1e-12)
    np.testing.assert_allclose(ours.leave_one_out(), plain.leave_one_out(), atol=1e-12)


def test_the_penalty_is_chosen_by_losses_with_weights():
    """Whole weights choose as repeated losses do: `_scaled_loss` of repeated rows is the mean by weights."""
    from specmargin.solvers.spectrum.spectral_ridge import _scaled_loss

    rng = np.random.default_rng(0)
    f, c = rng.normal(size=(20, 3)), rng.integers(1, 5, 20)
    one_hot = np.eye(3)[np.arange(20) % 3] > 0
    rows = np.arange(20) > 2
    repeated = np.repeat(np.arange(20), c)
    ours = _scaled_loss(f, one_hot, rows, c.astype(float))
    assert ours == pytest.approx(_scaled_loss(f[repeated], one_hot[repeated], rows[repeated]), rel=1e-9)
    chosen = set()
    for seed in range(8):
        obj = objective(20, 15, seed=seed)
        losses = []
        for penalty in (1e-3, 0.1, 10.0):
            f = obj.with_(penalty=penalty).leave_one_out()
            both = np.column_stack([-f, f]) / 2
            losses.append(
                _scaled_loss(
                    both,
                    np.column_stack([-obj.labels.sign, obj.labels.sign]) > 0,
                    np.ones(20, dtype=bool),
                    obj.labels.weights,
                )
            )
        found = choose_penalty(obj, (1e-3, 0.1, 10.0), standardize=False, default=7.0)
        assert found == (7.0 if min(losses) >= np.log(2) else (1e-3, 0.1, 10.0)[int(np.argmin(losses))])
        chosen.add(found)
    assert len(chosen) > 1


@weighted
@pytest.mark.parametrize("seed", range(10))
def test_value_and_bound_are_within_their_rounding(seed, weighted):
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-8, 8, 14) if weighted else np.ones(14)
    obj = objective(14, 5, seed=seed, penalty=10.0 ** rng.integers(-30, 1), weights=spread)
    U, y, delta, penalty = fractions(obj.U), fractions(obj.labels.sign), fractions(obj.delta), Fraction(obj.penalty)
    c = fractions(obj.labels.weights_or_ones)
    v, b = rng.normal(size=5) * 10.0 ** rng.uniform(-8, 4, 5), rng.normal()
    used = obj.delta > 0
    v[~used] = 0.0
    r = y - U @ fractions(v) - Fraction(b)
    value = (c * r**2).sum() + penalty * (fractions(v)[used] ** 2 / delta[used]).sum()
    assert abs(Fraction(obj.value_at(v, b)) - value) <= Fraction(obj._value_error(v, b))
    assert obj._value_error(v, b) <= 1e-9 * float(value)
    theta = rng.normal(size=14) * obj.labels.weights_or_ones
    hidden = np.column_stack([np.ones(14), obj.U])
    for multipliers in (theta, theta - hidden @ np.linalg.lstsq(hidden, theta)[0]):
        balanced = obj.repair_multipliers(multipliers)
        gain, image = (fractions(balanced) * y).sum(), U.T @ fractions(balanced)
        bound = gain**2 / ((fractions(balanced) ** 2 / c).sum() + (delta * image**2).sum() / penalty)
        proved = Fraction(obj.dual_bound(balanced)) - Fraction(obj._bound_error(balanced))
        assert proved <= bound
        above = replace(obj)
        above.__dict__["design"] = 0.9 * obj.design
        assert Fraction(above.dual_bound(balanced)) - Fraction(above._bound_error(balanced)) <= bound


@pytest.mark.parametrize(("l", "q"), [(5, 9), (9, 9), (10, 9)])
def test_a_design_that_can_fit_all_labels_keeps_the_digits_of_what_is_left(l, q, rng):
    """At a penalty that is nearly nothing: [M y]_i / M_ii with M = (X X' + penalty)^-1 among vectors of mean zero."""
    X, y = rng.normal(size=(l, q)), rng.normal(size=l)
    X, y = X - X.mean(axis=0), y - y.mean()
    basis = sla.helmert(l).T
    M = basis @ np.linalg.solve(basis.T @ X @ X.T @ basis + 1e-13 * np.eye(l - 1), basis.T)
    found = RidgeFactors.of(X, y, None).left_out(1e-13)
    np.testing.assert_allclose(found, (M @ y) / M.diagonal(), rtol=1e-9)
