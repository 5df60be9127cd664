"""The S3VM objective: derivatives, smoothing in w, sparse against dense, intercepts, bad input."""

import itertools
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from specmargin.labels import encode_labels
from specmargin.losses import LOSSES, UNLABELED_LOSSES, ExpSquared, SmoothHinge
from specmargin.losses.smoothing import smoothed
from specmargin.objectives.rounding.s3vm import exact_value as exact_value_of_hinges
from specmargin.objectives.rounding.s3vm import value_rounding
from specmargin.objectives.s3vm import S3VM
from specmargin.problems.expressions import as_cvxpy
from specmargin.results import Status

pairs = pytest.mark.parametrize(("loss", "unlabeled_loss"), list(itertools.product(LOSSES, UNLABELED_LOSSES)))
intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])


def case(n=40, d=5, l=12, *, seed=0, gap=1.0):
    """Two Gaussians; the first l samples are labelled, two thirds of them positive."""
    rng = np.random.default_rng(seed)
    truth = np.where(np.arange(n) % 3 > 0, 1, 0)
    X = rng.normal(size=(n, d))
    X[:, 0] += gap * (2 * truth - 1)
    y = np.full(n, -1)
    y[:l] = truth[:l]
    return X, encode_labels(y)


def objective(loss="squared_hinge", unlabeled_loss=None, *, C=0.7, C_star=0.4, form=np.asarray, **options):
    X, labels = case()
    return S3VM(form(X), labels, loss, unlabeled_loss, C=C, C_star=C_star, **options)


def quotient(g, w, direction, h=1e-4):
    """Derivative along a direction, of fourth order."""
    near, far = (g(w + h * direction) - g(w - h * direction)), (g(w + 2 * h * direction) - g(w - 2 * h * direction))
    return (8 * near - far) / (12 * h)


def away_from_kinks(obj, rng):
    """A point around which no decision is near a kink."""
    while True:
        w = rng.normal(size=obj.size)
        f = np.abs(obj.decisions_at(w))
        if min(np.abs(f - 1.0).min(), f.min()) > 4e-3:
            return w


def literal(X, labels, obj, w, b):
    """J by its definition, sample by sample, the intercept outside of w."""
    f = X @ w + b
    value = 0.5 * w @ w
    for i, y in zip(labels.labeled, labels.sign, strict=True):
        value += obj.C * obj.loss.value(np.array([y * f[i]]))[0]
    return value + sum(obj.C_star * obj.unlabeled_loss.value(f[[j]])[0] for j in labels.unlabeled)


@pairs
@intercepts
def test_value_is_the_sum_by_its_definition(loss, unlabeled_loss, intercept, rng, tol):
    X, labels = case()
    obj = S3VM(X, labels, loss, unlabeled_loss, C=0.7, C_star=0.4, intercept=intercept, balance=0.2)
    w = rng.normal(size=obj.size)
    if intercept == "balance":
        expected = literal(X, labels, obj, w, 0.2 - X[12:].mean(axis=0) @ w)
    else:
        expected = literal(X, labels, obj, w[:-1], w[-1])
        expected += 0.5 * w[-1] ** 2 if intercept == "regularized" else 0.0
    assert obj.value_at(w) == pytest.approx(expected, rel=tol["exact"])


@pairs
@intercepts
def test_derivatives_are_difference_quotients(loss, unlabeled_loss, intercept, rng):
    obj = objective(loss, unlabeled_loss, intercept=intercept)
    for _ in range(3):
        w, v = away_from_kinks(obj, rng), rng.normal(size=obj.size)
        v /= np.linalg.norm(v)
        assert obj.gradient(w) @ v == pytest.approx(quotient(obj.value_at, w, v, 1e-4), rel=1e-7, abs=1e-7)
        np.testing.assert_allclose(obj.hessian(w) @ v, quotient(obj.gradient, w, v, 1e-4), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("loss", "unlabeled_loss"), [("hinge", "exp"), ("squared_hinge", "symmetric_hinge")])
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
def test_derivatives_of_the_smoothed_objective_are_difference_quotients(loss, unlabeled_loss, gamma, rng):
    obj = objective(loss, unlabeled_loss).smoothed(gamma)
    w, v = rng.normal(size=5), rng.normal(size=5)
    h = 2e-3 * np.sqrt(gamma)
    assert obj.gradient(w) @ v == pytest.approx(quotient(obj.value_at, w, v, h), rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(obj.hessian(w) @ v, quotient(obj.gradient, w, v, h), rtol=1e-7, atol=1e-7)


def test_smoothed_is_the_convolution_by_simulation(rng):
    """Independent of any rule of quadrature, and in more dimensions."""
    obj = objective("hinge", "exp", C=3.0, C_star=2.0)
    w, gamma = rng.normal(size=5), 0.3
    shifts = np.sqrt(gamma) * rng.normal(size=(200_000, 5))
    shifts = np.concatenate([shifts, -shifts])
    f = obj.features.products((w + shifts).T) + obj.features.offset
    y = obj.labels.sign[:, None]
    values = 3.0 * np.maximum(1 - y * f[:12], 0).sum(axis=0) + 2.0 * np.exp(-3 * f[12:] ** 2).sum(axis=0)
    noise = values.std() / np.sqrt(len(values))
    assert obj.smoothed(gamma).value_at(w) - 0.5 * w @ w == pytest.approx(values.mean(), abs=4 * noise)
    assert noise < 2e-3 * values.mean()


@pairs
@intercepts
def test_sparse_is_dense(loss, unlabeled_loss, intercept, rng, tol):
    dense, sparse = (
        objective(loss, unlabeled_loss, form=form, intercept=intercept) for form in (np.asarray, sp.csr_array)
    )
    w = rng.normal(size=dense.size)
    assert sparse.value_at(w) == pytest.approx(dense.value_at(w), rel=tol["exact"])
    np.testing.assert_allclose(sparse.gradient(w), dense.gradient(w), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sparse.hessian(w), dense.hessian(w), rtol=1e-10, atol=1e-12)
    if dense.loss.gaussian:
        assert sparse.smoothed(0.2).value_at(w) == pytest.approx(dense.smoothed(0.2).value_at(w), rel=1e-10)
    assert sparse.stationarity(w) == pytest.approx(dense.stationarity(w), rel=1e-10)


def test_balance_is_the_mean_of_the_known_labels_unless_given(rng):
    X, labels = case()
    for balance, expected in ((None, labels.sign.mean()), (-0.25, -0.25)):
        obj = S3VM(X, labels, balance=balance)
        assert obj.balance == expected
        assert obj.positive_share == pytest.approx((1 + expected) / 2)
        assert obj.decisions_at(rng.normal(size=5))[labels.unlabeled].mean() == pytest.approx(expected, abs=1e-13)


def test_default_losses_and_weights():
    X, labels = case()
    assert S3VM(X, labels, "hinge").unlabeled_loss.name == "symmetric_hinge"
    assert S3VM(X, labels).unlabeled_loss.name == "symmetric_squared_hinge"
    assert S3VM(X, labels, "smooth_hinge").unlabeled_loss == ExpSquared(3.0)
    own = S3VM(X, labels, SmoothHinge(5.0), ExpSquared(5.0), C=2.0)
    assert (own.loss.s, own.unlabeled_loss.s, own.C_star) == (5.0, 5.0, 2.0)


def test_shift_of_the_features_changes_nothing_but_the_plane(rng):
    X, labels = case()
    w = rng.normal(size=5)
    here, there = S3VM(X, labels, balance=0.1), S3VM(X + 100.0, labels, balance=0.1)
    assert there.value_at(w) == pytest.approx(here.value_at(w), rel=1e-11)


@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge"])
@intercepts
def test_supervised_minimum_is_that_of_cvxpy(loss, intercept):
    obj = objective(loss, "exp", intercept=intercept).supervised()
    A, y = obj.features.dense()[:12], obj.labels.sign
    w = cp.Variable(obj.size)
    margins = cp.multiply(y, A @ w + obj.features.offset)
    penalty = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(obj.features.weights), w))
    problem = cp.Problem(cp.Minimize(penalty + 0.7 * cp.sum(as_cvxpy(obj.loss, margins))))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    ours = minimize(obj.value_and_gradient, np.zeros(obj.size), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert problem.value == pytest.approx(ours.fun, rel=1e-9)
    assert obj.value_at(w.value) == pytest.approx(ours.fun, rel=1e-9)


@intercepts
def test_without_unlabeled_samples_it_is_the_supervised_svm(intercept, rng):
    X, _ = case(n=12)
    labels = encode_labels([1, 0] * 6)
    obj = S3VM(X, labels, "squared_hinge", intercept=intercept)
    w = rng.normal(size=obj.size)
    b = w[-1]
    expected = 0.5 * w[:-1] @ w[:-1] + (np.maximum(1 - labels.sign * (X @ w[:-1] + b), 0) ** 2).sum()
    expected += 0.5 * b**2 if intercept == "regularized" else 0.0
    assert obj.value_at(w) == pytest.approx(expected, rel=1e-12)
    assert obj.labels_of(w).shape == (0,)
    assert obj.supervised().value_at(w) == obj.value_at(w)
    result = obj.result(w, solver="nobody")
    assert result.variables["labels"].shape == (0,)


def test_one_labeled_class_and_zero_rows_have_finite_values(rng):
    X = np.zeros((6, 2))
    both = encode_labels([1, 0, -1, -1, -1, -1])
    for labels in (both, replace(both, sign=np.ones(2))):
        obj = S3VM(X, labels, "hinge", "exp")
        for one in (obj, obj.smoothed(0.5), obj.smoothed(0.0)):
            w = rng.normal(size=2)
            assert np.isfinite(one.value_at(w))
            np.testing.assert_allclose(one.gradient(w), w, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_of_extreme_scale_give_numbers(scale, form, rng):
    X, labels = case()
    w = rng.normal(size=5)
    for loss, unlabeled_loss in (("squared_hinge", "exp"), ("hinge", "symmetric_hinge"), ("smooth_hinge", "exp")):
        unit = S3VM(form(X), labels, loss, unlabeled_loss)
        obj = S3VM(form(scale * X), labels, loss, unlabeled_loss)
        # The losses see the same decisions.
        expected = unit.value_at(w) - 0.5 * w @ w + 0.5 * (w / scale) @ (w / scale)
        assert obj.value_at(w / scale) == pytest.approx(expected, rel=1e-9)
        for v in (w, w / scale):
            assert not np.isnan(obj.value_at(v))
            assert not np.isnan(obj.gradient(v)).any()
            assert not np.isnan(obj.stationarity(v))


def test_labels_of_are_the_better_labels(rng):
    obj = objective("hinge")
    w = rng.normal(size=5)
    f, labels = obj.decisions_at(w)[12:], obj.labels_of(w)
    hinge = obj.loss.value
    assert (hinge(labels * f) <= hinge(-labels * f)).all()
    # With them J is the value of an SVM: the minimum over the labels.
    svm = 0.5 * w @ w + 0.7 * hinge(obj.labels.sign * obj.decisions_at(w)[:12]).sum() + 0.4 * hinge(labels * f).sum()
    assert obj.value_at(w) == pytest.approx(svm, rel=1e-13)


def test_stationarity_is_zero_at_a_minimum_and_without_units(rng):
    obj = objective("squared_hinge", "exp")
    end = minimize(obj.value_and_gradient, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-10})
    assert obj.stationarity(end.x) < 1e-6
    assert obj.stationarity(1.001 * end.x) > 1e-4
    w = rng.normal(size=5)
    assert 1e-2 < obj.stationarity(w) <= 2.0
    assert obj.stationarity(np.zeros(5)) == pytest.approx(1.0)


def test_certificate_knows_no_bound_unless_told():
    obj = objective()
    w = np.ones(5)
    blind, told = obj.prove(w), obj.prove(w, lower_bound=0.9 * obj.value_at(w))
    assert blind.gap == np.inf
    assert not blind.is_optimal(1e6)
    assert told.relative_gap == pytest.approx(0.1)
    assert blind.dual_residual == obj.stationarity(w)
    assert blind.primal_objective == obj.value_at(w)


def test_result_holds_the_plane_and_the_decisions(rng):
    X, labels = case()
    obj = S3VM(X, labels)
    w = rng.normal(size=5)
    result = obj.result(w, solver="me", n_iter=3, seconds=2.5, message="as told", extra=np.array([1.0]))
    found = result.variables
    assert (result.solver, result.n_iter, result.seconds, result.message) == ("me", 3, 2.5, "as told")
    assert set(found) == {"w", "v", "b", "f", "labels", "extra"}
    assert result.status is Status.STATIONARY
    assert result.problem == "S3VM"
    np.testing.assert_allclose(X @ found["v"] + found["b"], found["f"], rtol=1e-12, atol=1e-13)
    assert (found["labels"] == np.where(found["f"][labels.unlabeled] >= 0, 1, -1)).all()
    assert found["extra"].tolist() == [1.0]


def test_with_changes_weights_and_shares_the_features():
    obj = objective("squared_hinge", "exp")
    other = obj.with_(C_star=0.0, loss="smooth_hinge")
    assert other.features is obj.features
    assert (other.C_star, other.loss.name, other.balance) == (0.0, "smooth_hinge", obj.balance)
    for name in ("X", "labels", "balance", "intercept"):
        with pytest.raises(ValueError, match=rf"\['{name}'\] shape the features; build a new S3VM"):
            obj.with_(**{name: None})


# The rounding of J


def exact_value(obj, X, w):
    """J at w in fractions, of the hinges; the features as the map has them."""
    mu = obj.features.mu if obj.features.is_sparse else None
    A = X if mu is not None else obj.features.dense()
    centre = [Fraction(0)] * A.shape[1] if mu is None else [Fraction(x) for x in mu]
    w, b = [Fraction(x) for x in w], Fraction(obj.features.offset)
    value = sum(x * x for x in w) / 2
    signs = dict(zip(obj.labels.labeled.tolist(), obj.labels.sign.tolist(), strict=True))
    for i, row in enumerate(A):
        f = sum(((Fraction(x) - m) * z for x, m, z in zip(row, centre, w, strict=True)), b)
        slack = max(1 - (Fraction(signs[i]) * f if i in signs else abs(f)), Fraction(0))
        plain = (obj.loss if i in signs else obj.unlabeled_loss).name in ("hinge", "symmetric_hinge")
        value += Fraction(obj.C if i in signs else obj.C_star) * (slack if plain else slack * slack)
    return value


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_certificate_contains_the_rounding_of_its_value(loss, far, sparse, rng):
    """At points with samples on the kink, where a weight of 1e10 makes roundings large."""
    for trial in range(20):
        X = rng.normal(size=(8, 3)) + far
        labels = encode_labels([0, 1, 1] + [-1] * 5)
        obj = S3VM(sp.csr_array(X) if sparse else X, labels, loss, C=10.0 ** rng.integers(-2, 11), balance=0.1)
        A = obj.features.dense()
        w = np.linalg.lstsq(A[:3], labels.sign - 0.1, rcond=None)[0] * (1.0 if trial % 2 else rng.uniform(0, 2))
        certificate = obj.prove(w)
        value = exact_value(obj, X, w)
        assert abs(Fraction(certificate.primal_objective) - value) <= Fraction(certificate.rounding)
        # A lower bound that is the exact value is none that contradicts.
        assert obj.prove(w, float(value)).gap >= 0
        assert obj.prove(w, certificate.primal_objective + 1.1 * certificate.rounding).gap < 0
        if not far:
            assert certificate.rounding <= 1e-9 * certificate.primal_objective or loss == "hinge"


@pytest.mark.parametrize("unlabeled_loss", ["exp", "symmetric_hinge", "symmetric_squared_hinge", "symmetric_ramp"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "smooth_hinge", "squared"])
def test_rounding_covers_decisions_that_are_off(loss, unlabeled_loss, rng):
    """J at decisions moved by up to their errors stays within the bound, kinks and the plane included."""
    obj = S3VM(rng.normal(size=(9, 2)), encode_labels([0, 1, 1] + [-1] * 6), loss, unlabeled_loss, C=1e3)
    w = rng.normal(size=2)
    f = obj.decisions_at(w)
    f[:6] = [-1.0, 1.0, 1.0 + 1e-9, 0.0, 1e-9, -1.0]
    errors = np.full(9, 1e-7)
    value, rounding = obj.value_at(w, f), value_rounding(obj, w, f, errors)
    moves = [
        abs(obj.value_at(w, f + errors * rng.choice([-1.0, 1.0], 9) * rng.uniform(0, 1)) - value) for _ in range(300)
    ]
    assert max(moves) <= rounding <= 1e-2
    assert max(moves) > 0.05 * rounding


def test_losses_that_do_not_know_their_rounding_are_charged_for_one_at_least(rng):
    """Smoothed ones, as `continuation` minimises them: their values come from sums of terms that cancel."""
    plain = S3VM(rng.normal(size=(9, 2)), encode_labels([0, 1, 1] + [-1] * 6), "squared_hinge", "exp", C=10.0)
    own, other = smoothed(plain.loss, 0.3), smoothed(plain.unlabeled_loss, 0.3)
    assert not hasattr(own, "rounding_scale")
    obj = plain.with_(loss=own, unlabeled_loss=other)
    w = rng.normal(size=2)
    f = obj.decisions_at(w)
    errors = np.full(9, 1e-7)
    value, rounding = obj.value_at(w, f), value_rounding(obj, w, f, errors)
    moves = [abs(obj.value_at(w, f + errors * rng.choice([-1.0, 1.0], 9)) - value) for _ in range(300)]
    assert 0.05 * rounding < max(moves) <= rounding
    still = value_rounding(obj, w, f, np.zeros(9))
    assert still >= 16 * 2.0**-53 * 10.0 * 9  # C times the losses, of which each is charged for one
    assert obj.prove(w).rounding > 0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_exact_value_does_not_depend_on_the_side_that_rounding_put_a_decision_on(loss, rng):
    obj = S3VM(rng.normal(size=(8, 3)), encode_labels([0, 1, 1] + [-1] * 5), loss, C=2.0, balance=0.1)
    w = 0.3 * rng.normal(size=3)
    f = obj.decisions_at(w)
    value, error = exact_value_of_hinges(obj, w, f)
    flipped = np.where(np.isin(np.arange(8), obj.labels.labeled), f, -f)
    assert exact_value_of_hinges(obj, w, flipped)[0] == pytest.approx(value, rel=1e-14)
    assert value == pytest.approx(obj.value_at(w), rel=1e-13)
    assert 0 < error < 1e-13 * value


def test_hinges_are_powers_of_what_a_margin_lacks():
    """Of the losses that count: those of unlabelled samples do not where nothing is unlabelled, or weighs anything."""
    X, y = np.arange(6.0).reshape(3, 2), encode_labels([0, 1, -1])
    for loss, own in (("hinge", True), ("squared_hinge", True), ("smooth_hinge", False), ("squared", False)):
        for unlabeled, other in (("symmetric_hinge", True), ("symmetric_squared_hinge", True), ("exp", False)):
            assert S3VM(X, y, loss, unlabeled).has_hinges == (own and other)
            assert S3VM(X, y, loss, unlabeled).supervised().has_hinges == own
