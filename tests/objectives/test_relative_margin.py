"""The margin loss against brute force, and the certificate of the RMM against its literal formula."""

import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import specmargin as sm
from specmargin.objectives import RMM, RelativeMargin, relative_margin, relative_margin_loss
from specmargin.objectives.intercept import balanced, hinge_intercepts
from specmargin.rounding import UNIT

pytestmark = pytest.mark.filterwarnings("ignore:B=.* is below 1")
BOUNDS = (0.0, 0.5, 1.0, 1.2, 3.0)


def some_labels(n, n_hidden=0, seed=0):
    y = np.random.default_rng(seed).integers(0, 2, n)
    y[:2] = 0, 1
    y[n - n_hidden :] = -1
    return sm.encode_labels(y)


def some_gram(n, seed=0, rank=3):
    X = np.random.default_rng(seed).normal(size=(n, rank))
    return X @ X.T


# The loss of one sample


@pytest.mark.parametrize("B", [*BOUNDS, np.inf])
@given(s=st.floats(-5, 5), C=st.floats(0.1, 4.0))
def test_dual_value_is_the_least_over_the_interval(B, s, C):
    # Piecewise linear: the least lies on a corner, and the grid holds all of them.
    end = min(B, 1e3)
    t = np.union1d(np.linspace(-end, end, 2001), [1.0] if B >= 1 else [])
    least = (C * np.maximum(1 - t, 0) + s * t).min()
    unbounded = np.isinf(B) and not 0 <= s <= C
    found = float(RelativeMargin(C, B).dual_value(np.array([s]))[0])
    assert found == -np.inf if unbounded else found == pytest.approx(least, abs=1e-12)


def test_value_is_infinite_beyond_the_bound():
    assert RelativeMargin(2.0, 1.5).value(np.array([-1.6, -1.5, 0.0, 1.5, 1.6])).tolist() == [np.inf, 5, 2, 0, np.inf]
    assert RelativeMargin(2.0).value(np.array([-100.0, 0.5, 7.0])).tolist() == [202.0, 1.0, 0.0]


# Repairs


def hinge_sum(y, f, b):
    return np.maximum(0.0, 1.0 - y * (f + b)).sum()


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9))
def test_hinge_intercepts_are_the_interval_of_minimisers(seed, n):
    rng = np.random.default_rng(seed)
    y, f = rng.choice([-1.0, 1.0], n), rng.normal(size=n).round(rng.integers(1, 12))
    left, right = hinge_intercepts(y, f)
    grid = np.concatenate([np.linspace(-8, 8, 801), y - f])
    values = np.array([hinge_sum(y, f, b) for b in grid])
    best = values.min()
    inside = (grid >= left) & (grid <= right)
    np.testing.assert_allclose(values[inside], best, atol=1e-12)
    assert (values[(grid < left - 1e-9) | (grid > right + 1e-9)] > best).all()
    assert inside.any()


def test_hinge_intercepts_of_one_class_are_unbounded():
    assert hinge_intercepts(np.ones(2), np.zeros(2)) == (1.0, np.inf)
    assert hinge_intercepts(-np.ones(2), np.zeros(2)) == (-np.inf, -1.0)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9))
def test_balanced_scales_the_heavier_class_down(seed, n):
    rng = np.random.default_rng(seed)
    y, s = rng.choice([-1.0, 1.0], n), rng.exponential(size=n) * (rng.random(n) < 0.8)
    before = s.copy()
    out = balanced(y, s)
    assert abs(y @ out) <= 1e-14 * max(1.0, s.sum())
    assert (out >= 0).all()
    assert (out <= before + 1e-15).all()
    np.testing.assert_array_equal(s, before)  # the argument is left alone
    light = y < 0 if y @ s > 0 else y > 0
    np.testing.assert_array_equal(out[light], s[light])


@pytest.mark.parametrize("B", [*BOUNDS, np.inf])
@given(seed=st.integers(0, 10**6))
def test_repairs_are_feasible(B, seed):
    rng = np.random.default_rng(seed)
    n, loss = 7, RelativeMargin(2.0, B)
    y = rng.choice([-1.0, 1.0], n)
    gamma = loss.repair_multipliers(y, 3 * rng.normal(size=n))
    assert abs(gamma.sum()) <= 1e-13
    assert np.isfinite(loss.dual_value(y * gamma)).all()
    f, b = 3 * rng.normal(size=n), float(rng.normal())
    scale, offset = loss.repair_decisions(y, f, b)
    assert 0 <= scale <= 1
    assert np.abs(scale * f + offset).max() <= B * (1 + 1e-14)
    if np.ptp(f) <= 2 * B:
        assert scale == 1.0
    # No other intercept inside the bound does better.
    values = [loss.value(np.clip(y * (scale * f + other), -B, B)).sum() for other in (offset, b)]
    if np.abs(scale * f + b).max() <= B:
        assert values[0] <= values[1] + 1e-12
    for other in np.linspace(-5, 5, 101):
        if np.abs(scale * f + other).max() <= B:
            assert values[0] <= loss.value(y * (scale * f + other)).sum() + 1e-12


def test_a_good_intercept_is_kept():
    # The hinge is flat for -1 <= b <= 1 here: nothing may move b.
    y, f = np.array([-1.0, 1.0]), np.array([-2.0, 2.0])
    assert RelativeMargin(1.0).repair_decisions(y, f, 0.7) == (1.0, 0.7)
    assert RelativeMargin(1.0).repair_decisions(y, f, 1.7) == (1.0, 1.0)


# The objective


@pytest.mark.parametrize("B", [1.1, 1.5, np.inf])
def test_certificate_closes_at_the_optimum_and_bounds_it_elsewhere(B, rng):
    K, labels, C = some_gram(12, rank=2), some_labels(12), 1.5
    y = labels.sign
    X = np.linalg.eigh(K)
    R = X[1][:, -2:] * np.sqrt(X[0][-2:])
    w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(12, nonneg=True)
    constraints = [cp.multiply(y, R @ w + b) >= 1 - xi]
    if np.isfinite(B):
        constraints += [R @ w + b <= B, R @ w + b >= -B]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), constraints)
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-12, tol_gap_abs=1e-12, tol_feas=1e-12)
    gamma = y * constraints[0].dual_value
    if np.isfinite(B):
        gamma = gamma - constraints[1].dual_value + constraints[2].dual_value
    rmm = RMM(K, labels, C=C, B=B)
    at_optimum = rmm.repaired(gamma, float(b.value))[0]
    assert at_optimum.primal_objective == pytest.approx(problem.value, rel=1e-8)
    assert at_optimum.is_optimal(1e-8)
    assert at_optimum.complementarity < 1e-8
    for _ in range(30):
        other = rmm.repaired(gamma + 0.1 * rng.normal(size=12), float(b.value) + 0.1 * rng.normal())[0]
        assert other.dual_objective <= problem.value * (1 + 1e-10) <= other.primal_objective * (1 + 2e-10)


def test_residuals_tell_how_far_the_candidate_was_moved():
    K, labels = some_gram(6), some_labels(6)
    rmm = RMM(K, labels, C=1.0, B=1.2)
    assert rmm.repaired(np.zeros(6), 0.0)[0].dual_residual == 0.0
    moved = rmm.repaired(np.ones(6), 5.0)[0]
    assert moved.dual_residual == pytest.approx(1.0)
    assert moved.primal_residual > 0.1


def test_gram_matrix_of_all_samples_is_cut_to_the_labelled():
    labels = some_labels(9, n_hidden=4)
    K = some_gram(9)
    np.testing.assert_array_equal(RMM(K, labels).K, K[:5, :5])
    np.testing.assert_array_equal(RMM(K[:5, :5], labels).K, K[:5, :5])


def test_a_kernel_that_is_not_quite_symmetric_is_its_symmetric_part():
    """How indefinite that is counts, and not how indefinite its lower triangle is: there are two of them."""
    labels, rng = some_labels(9), np.random.default_rng(0)
    K = some_gram(9)
    N = np.tril(rng.normal(size=K.shape), -1)
    obj = RMM(K + 1e-9 * N.T, labels, C=10.0)  # of a lower triangle that is semidefinite
    np.testing.assert_array_equal(obj.K, obj.K.T)
    assert obj._negative == pytest.approx(-np.linalg.eigvalsh(K + 0.5e-9 * (N + N.T))[0], rel=1e-3)
    assert obj._negative > 1e-10
    certificate = sm.solvers.relative_margin(obj).certificate
    whole = sm.solvers.relative_margin(RMM((K + 1e-9 * N.T + K.T + 1e-9 * N) / 2, labels, C=10.0)).certificate
    assert certificate == whole


# Rounding


def fraction(x):
    """Of any float, long double too."""
    return Fraction(*np.longdouble(x).as_integer_ratio())


@pytest.mark.parametrize("B", [np.inf, 0.75, 1.0, 1.3, 7.0])
@pytest.mark.parametrize("n", [1, 30])
def test_the_bound_below_conjugates_is_below_that_of_fractions(n, B):
    """Also where the two parts of a line cancel, and what they round to is all that is left."""
    rng = np.random.default_rng(n)
    for draw in range(200):
        C = float(np.exp(rng.normal()))
        loss = RelativeMargin(C, B)
        s = C * rng.random(n) if np.isinf(B) else np.full(n, (1 + B) * C / B) * (1 + 1e-16 * rng.integers(-3, 4, n))
        if np.isfinite(B) and draw % 3 == 0:
            s = (-np.ones(n) if draw % 2 else np.ones(n)) * C * rng.exponential(size=n)
        value, least = loss.dual_bounds(s)
        if np.isinf(B):
            exact = sum(map(Fraction, s.tolist()))
        else:
            c, b = Fraction(C), Fraction(B)
            lines = [
                (c * (1 + b) - b * x, c * max(0, 1 - b) + b * x, *([x] if b >= 1 else [])) for x in map(Fraction, s)
            ]
            exact = sum(map(min, lines))
        assert fraction(least) <= exact
        assert abs(fraction(value) - exact) <= fraction(value) - fraction(least)
        assert float(value - least) <= 1e-17 * (n + 8) * (
            sum(np.abs(s)) * (1 if np.isinf(B) else B) + n * C * (1 + B) if np.isfinite(B) else sum(np.abs(s)) * n
        )
    assert RelativeMargin(1.0).dual_bounds(np.array([-1e-9, 0.5]))[1] == -np.inf


@pytest.mark.parametrize("B", [np.inf, 0.9, 1.0, 2.5])
def test_the_bound_above_losses_is_above_those_of_all_decisions_within_the_error(B):
    rng = np.random.default_rng(7)
    for _ in range(100):
        n, C = int(rng.integers(1, 12)), float(np.exp(rng.normal()))
        y, b = np.where(rng.random(n) < 0.5, -1.0, 1.0), float(rng.normal())
        f = rng.uniform(-1, 1, n) * (3.0 if np.isinf(B) else B) - b
        error = 1e-12 * rng.exponential(size=n)
        value, most = RelativeMargin(C, B).value_bounds(y, f.astype(np.longdouble), error, b)
        worst = [Fraction(v) + Fraction(b) - Fraction(sign * e) for v, sign, e in zip(f, y, error, strict=True)]
        share = Fraction(1)
        if np.isfinite(B):
            share = min(share, Fraction(B) / max(map(abs, worst)))
        exact = sum(
            Fraction(C) * max(1 - Fraction(sign) * share * v, Fraction(0)) for v, sign in zip(worst, y, strict=True)
        )
        assert exact <= Fraction(most) * (1 + Fraction(UNIT))  # its own rounding to float64 is charged by the caller
        charged = float(np.sum(error)) + (n * float(error.max()) if np.isfinite(B) else 0.0)
        assert most - value <= 1.001 * C * charged + 1e-14 * n * C * (4.0 + abs(b))


def test_decisions_and_multipliers_beyond_their_bounds():
    loss = RelativeMargin(2.0, 1.5)
    f = np.array([0.5, -6.0, 1.0])
    assert loss.share_within(f) == 0.25
    assert np.abs(loss.share_within(f) * f).max() == 1.5
    assert loss.share_within(np.array([1.5, -1.5])) == 1.0
    y, hard = np.array([1.0, -1.0, 1.0, -1.0]), RelativeMargin(1.0)
    for gamma in (
        np.array([0.5, -1.0, 0.75, -0.25]),
        np.array([0.5, -2.0, 1.75, -0.25]),
        np.array([-0.1, -0.1, 0.3, -0.1]),
    ):
        found = hard.nearest_multipliers(y, gamma)
        assert abs(math.fsum(found)) <= 1e-16
        assert ((y * found >= 0) & (y * found <= 1.0)).all()
        feasible = ((y * gamma >= 0) & (y * gamma <= 1.0)).all() and math.fsum(gamma) == 0
        assert (found is gamma) == feasible
    loose = loss.nearest_multipliers(y, np.array([5.0, 1.0, -4.0, 1.0]))
    np.testing.assert_allclose(loose, [4.25, 0.25, -4.75, 0.25])


def test_decisions_that_fill_the_interval_have_one_intercept():
    """Twice B from end to end, but for rounding: the middle, whatever intercept was given."""
    for B in (0.3, 1.1, 7.7):
        loss = RelativeMargin(1.0, B)
        for f in (np.array([-3.0, 2.0, 21.0]), np.array([0.1, 0.7, 123.456]), np.array([-1e3, 1e3, 1.0 / 3.0])):
            scale, b = loss.repair_decisions(np.array([1.0, -1.0, 1.0]), f, 17.0)
            assert scale == pytest.approx(2 * B / (f.max() - f.min()), rel=1e-12)
            assert np.abs(scale * f + b).max() <= B * (1 + 1e-12)
            assert b == pytest.approx(-scale * (f.max() + f.min()) / 2, abs=1e-9 * B)


def test_what_rounding_left_may_go_to_the_very_end_of_a_box():
    low, high = np.array([0.0, -1.0]), np.array([1.0, 0.0])
    moved = relative_margin_loss.with_sum_zero(np.array([1.0, -1.0 + 2.0**-40]), low, high)
    assert moved.tolist() == [1.0, -1.0]
    moved = relative_margin_loss.with_sum_zero(np.array([1.0 - 2.0**-40, -1.0]), low, high)
    assert moved.tolist() == [1.0, -1.0]


def test_terms_of_a_norm_are_charged_for_their_sum(monkeypatch):
    """With a unit of 1e-6 for that of long doubles; the products of K have their own."""
    K, y = some_gram(6), some_labels(6)
    obj, gamma = RMM(K, y, C=10.0), 0.1 * (y.sign - y.sign.mean())
    honest = obj.prove(gamma, gamma, 0.0).rounding
    monkeypatch.setattr(relative_margin, "EXTENDED_UNIT", 1e-6)
    charge = obj.prove(gamma, gamma, 0.0).rounding - honest
    terms = np.abs(gamma * (K @ gamma)).sum()  # of the norm of the answer, and of that of its multipliers
    assert charge == pytest.approx(2 * 4 * (6 + 4) * 1e-6 * terms, rel=1e-6)


@pytest.mark.parametrize("B", [np.inf, 1.5])
def test_value_is_the_sum_of_the_norm_and_the_losses_within_the_bound(B, rng):
    labels, K = some_labels(8), some_gram(8)
    rmm = RMM(K, labels, C=0.7, B=B)
    inside = 0
    for _ in range(30):
        gamma, b = 0.3 * rng.normal(size=8), float(rng.normal())
        f = K @ gamma + b
        value = 0.5 * gamma @ K @ gamma + 0.7 * np.maximum(1 - labels.sign * f, 0).sum()
        inside += (within := np.abs(f).max() <= B)
        assert rmm.value({"gamma": gamma, "b": b}) == pytest.approx(value if within else np.inf, rel=1e-13)
    assert inside == 30 if np.isinf(B) else 0 < inside < 30
    other = rmm.with_(C=1.4)
    assert (other.C, other.B, other.loss.C, other.loss.B) == (1.4, B, 1.4, B)
    other = rmm.with_(B=7.0)
    assert (other.C, other.B, other.loss.C, other.loss.B) == (0.7, 7.0, 0.7, 7.0)
    assert other.K is rmm.K
    assert (other.name, rmm.with_(B=np.inf).name) == ("RMM", "SVM")


def test_decisions_beyond_the_bound_are_shortened_and_the_certificate_says_by_how_much():
    labels, K = some_labels(8), some_gram(8)
    rmm = RMM(K, labels, B=2.0)
    gamma = labels.sign / 8
    b = 0.1
    share = 2.0 / np.abs(K @ gamma + b).max()
    gamma, b = 2.0 * share * gamma, 2.0 * share * b  # the largest decision is twice the bound
    found = rmm.certificate({"gamma": gamma, "b": b})
    assert found.primal_residual == pytest.approx(0.5, rel=1e-12)
    assert found.primal_objective == pytest.approx(rmm.value_at(gamma / 2, b / 2 * (1 - 1e-15)), rel=1e-12)
    assert rmm.certificate({"gamma": gamma / 4, "b": b / 4}).primal_residual == 0.0


def test_weights_of_labels_multiply_C(rng):
    """Each loss counts as often as its label weighs, in the value and in the box of its multiplier."""
    y = sm.encode_labels([0, 1, 1, 0, 1])
    c, K = rng.uniform(0.5, 3.0, 5), some_gram(5)
    plain, obj = RMM(K, y, C=2.0), RMM(K, y.weighted(c), C=2.0)
    expansion = rng.normal(size=5)
    f = K @ expansion + 0.3
    literal = 0.5 * expansion @ K @ expansion + (2.0 * c * np.maximum(1.0 - y.sign * f, 0.0)).sum()
    answer = {"gamma": expansion, "b": 0.3}
    assert obj.value(answer) == pytest.approx(literal, rel=1e-12)
    assert plain.value(answer) != pytest.approx(literal, rel=1e-3)
    np.testing.assert_allclose(obj.loss.C, 2.0 * c)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_multipliers_balance_relative_to_their_size(size):
    """A rounding is left as it is, a millionth is not."""
    loss, y = RelativeMargin(C=1e9), np.array([1.0, -1.0, 1.0])
    within = size * np.array([1.0, -3.0, 2.0 * (1 + 2.0**-52)])
    np.testing.assert_array_equal(loss.nearest_multipliers(y, within), within)
    beyond = loss.nearest_multipliers(y, size * np.array([1.0, -3.0, 2.0 + 1e-6]))
    assert abs(beyond.sum()) <= 1e-15 * size


def test_decisions_are_shortened_by_the_rounding_of_their_intercept_too(monkeypatch):
    """With a unit of a thousandth, at a decision that is the bound itself: 1 of the kernel and 2 of the intercept."""
    monkeypatch.setattr(relative_margin_loss, "UNIT", 1e-3)
    loss = RelativeMargin(C=1.0, B=3.0)
    v, b = loss.correct_rounding(np.ones(1), np.ones((1, 1)), np.ones(1), 2.0, 10.0)
    assert 2.9 < (v[0] + b) * (1 + 1e-3) <= 3.0


def test_how_far_an_intercept_was_moved_is_relative_to_it():
    """Far from all margins the best one is elsewhere, and the certificate says by which share of it."""
    labels, K = some_labels(8), some_gram(8)
    gamma = labels.sign - labels.sign.mean()
    for b in (300.0, -70.0):
        found, _, offset = RMM(K, labels).repaired(0.1 * gamma, b)
        assert found.primal_residual == pytest.approx(abs(offset - b) / abs(b), rel=1e-12)
        assert found.primal_residual > 0.5
