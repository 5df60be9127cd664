"""L-BFGS against the dense BFGS update, closed forms and scipy; its line search; where it must stop."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from specmargin.solvers.lbfgs import _Pairs, lbfgs, line_search, relative_norm


class Counted:
    """A function that counts its calls and remembers whether it was asked for NaN."""

    def __init__(self, fun):
        self.fun, self.calls = fun, 0

    def __call__(self, w):
        assert not np.isnan(w).any()
        self.calls += 1
        return self.fun(w)


def quadratic(rng, d=30, condition=1e3):
    """1/2 w'w + 1/2 |R(w - a)|^2, as S3VMs are built: with B = R'R itself its value would round far more coarsely."""
    R = np.sqrt(np.geomspace(1.0, condition, d))[:, None] * np.linalg.qr(rng.normal(size=(d, d)))[0]
    a = rng.normal(size=d)

    def fun(w):
        miss = R @ (w - a)
        return 0.5 * w @ w + 0.5 * miss @ miss, w + R.T @ miss

    return fun, np.linalg.solve(np.eye(d) + R.T @ R, R.T @ (R @ a))


def logistic(rng, n=200, d=30, C=10.0):
    """1/2 w'w + C sum log(1 + exp(-z'w))."""
    Z = rng.normal(size=(n, d)) * np.geomspace(0.1, 3.0, d)

    def fun(w):
        t = Z @ w
        return 0.5 * w @ w + C * np.logaddexp(0.0, -t).sum(), w - C * Z.T @ expit(-t)

    return fun


def dense_inverse(pairs, scale, d):
    """Eq. 7 of the QN-S3VM paper, pair by pair."""
    H = scale * np.eye(d)
    for s, y in pairs:
        V = np.eye(d) - np.outer(y, s) / (y @ s)
        H = V.T @ H @ V + np.outer(s, s) / (y @ s)
    return H


@pytest.mark.parametrize("memory", [1, 3, 8, 40])
def test_direction_is_that_of_the_dense_update(memory, rng):
    """Also after the ring has been overwritten several times, and across pairs that were refused."""
    d = 12
    fun, _ = quadratic(rng, d, condition=50.0)
    pairs, kept = _Pairs.empty(memory, d), []
    w = rng.normal(size=d)
    gradient = fun(w)[1]
    for step in range(20):
        direction = pairs.direction(gradient)
        if kept:
            H = dense_inverse(kept[-memory:], pairs.scale, d)
            np.testing.assert_allclose(direction, -H @ gradient, rtol=1e-9, atol=1e-9 * np.abs(direction).max())
        # Not along the direction: any steps make pairs, and the differences stay large.
        moved = rng.normal(size=d)
        after = fun(w + moved)[1]
        y = after - gradient if step % 5 else -moved  # negative curvature
        pairs.add(moved, y)
        if step % 5:
            kept.append((moved, y))
        w, gradient = w + moved, after


def test_scale_is_that_of_the_newest_pair(rng):
    pairs = _Pairs.empty(4, 3)
    s, y = rng.normal(size=3), np.array([3.0, -1.0, 2.0])
    s = s * np.sign(s @ y)
    pairs.add(s, y)
    assert pairs.scale == pytest.approx(s @ y / (y @ y), rel=1e-14)


@pytest.mark.parametrize("memory", [2, 5, 50])
def test_quadratic_is_solved(memory, rng):
    fun, expected = quadratic(rng)
    end = lbfgs(fun, np.zeros(30), np.ones(30), tol=1e-10, memory=memory)
    assert end.converged
    np.testing.assert_allclose(end.w, expected, atol=1e-8)


def test_end_is_what_scipy_finds_and_what_it_says(rng, tol):
    fun = Counted(logistic(rng))
    theirs = minimize(fun, np.zeros(30), jac=True, method="BFGS", options={"gtol": 1e-9})
    fun.calls = 0
    ours = lbfgs(fun, np.zeros(30), np.ones(30), tol=1e-11)
    assert ours.converged
    assert ours.n_calls == fun.calls
    assert ours.value == pytest.approx(theirs.fun, rel=tol["exact"])
    np.testing.assert_allclose(ours.w, theirs.x, atol=1e-7)
    value, gradient = fun.fun(ours.w)
    assert ours.value == value
    assert (ours.gradient == gradient).all()
    assert relative_norm(ours.w, gradient, np.ones(30)) <= 1e-11


def test_no_more_calls_than_scipy_needs(rng):
    """The same method with the same memory: a wrong recursion would still converge, but slowly."""
    calls = []
    for _ in range(5):
        fun = logistic(rng)
        theirs = minimize(
            fun, np.zeros(30), jac=True, method="L-BFGS-B", options={"maxcor": 50, "gtol": 1e-9, "ftol": 0}
        )
        ours = lbfgs(fun, np.zeros(30), np.ones(30), tol=1e-9 / np.linalg.norm(theirs.x))
        calls.append((ours.n_calls, theirs.nfev))
    ours, theirs = np.sum(calls, axis=0)
    assert ours <= 1.3 * theirs, calls


def test_it_stops_at_the_rounding_floor(rng):
    """Asked for the impossible it ends by itself, long before max_iter, and says that this is convergence."""
    for fun in (logistic(rng), logistic(rng, C=1e6), quadratic(rng, condition=1e8)[0]):
        counted = Counted(fun)
        end = lbfgs(counted, np.zeros(30), np.ones(30), tol=1e-300, max_iter=10_000)
        assert counted.calls < 1500
        assert end.converged
        assert np.linalg.norm(end.gradient) < 1e-14 * np.linalg.norm(fun(np.ones(30))[1])


def test_value_never_rises(rng):
    fun = logistic(rng)
    values = [lbfgs(fun, np.zeros(30), np.ones(30), tol=1e-12, max_iter=steps).value for steps in range(1, 25)]
    assert (np.diff(values) <= 1e-13 * np.abs(values[:-1])).all()


def test_it_is_cut_off_after_max_iter(rng):
    end = lbfgs(logistic(rng), np.zeros(30), np.ones(30), tol=1e-12, max_iter=4)
    assert not end.converged
    assert end.n_iter == 4


@pytest.mark.parametrize("beyond", [np.nan, np.inf])
def test_trials_that_overflow_are_cut_back(beyond):
    """The value is not finite beyond |w| = 2, the minimum is inside, and the first steps overshoot."""

    def fun(w):
        if np.abs(w).max() > 2.0:
            return beyond, np.full_like(w, beyond)
        return 0.5 * w @ w + 1e4 * ((w - 1.9) ** 2).sum(), w + 2e4 * (w - 1.9)

    end = lbfgs(fun, np.array([-1.9, 0.5, 1.0]), np.ones(3), tol=1e-10, scale=1e3)
    assert end.converged
    np.testing.assert_allclose(end.w, 2e4 * 1.9 / (1.0 + 2e4), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_any_scale_of_the_data(scale):
    """1/2 w^2 + (1 - scale w)^2 has its minimum at 2 scale / (1 + 2 scale^2)."""

    def fun(w):
        miss = 1.0 - scale * w
        return float(0.5 * w @ w + miss @ miss), w - 2.0 * scale * miss

    end = lbfgs(fun, np.zeros(1), np.ones(1), tol=1e-8)
    assert end.converged
    assert end.w[0] == pytest.approx(2.0 / (1.0 / scale + 2.0 * scale), rel=1e-7)
    # At 1e30 the value is the rounding of the loss: searches fail, but not for long.
    assert end.n_calls < 300


def test_a_kink_ends_the_descent_without_a_claim(rng):
    """1/2 w^2 + sum |w - a|: at the minimum most entries sit on a kink, where no gradient vanishes."""
    a = rng.uniform(-0.5, 0.5, 8)
    counted = Counted(lambda w: (0.5 * w @ w + np.abs(w - a).sum(), w + np.sign(w - a)))
    end = lbfgs(counted, np.zeros(8), np.ones(8), tol=1e-8)
    assert not end.converged
    assert counted.calls < 2000
    assert end.value == pytest.approx(0.5 * a @ a, rel=1e-3)


def test_overflow_at_the_start_is_refused():
    with pytest.raises(ValueError, match=r"overflows at the start; divide the features"):
        lbfgs(lambda w: (np.inf, w), np.ones(2), np.ones(2), tol=1e-6)


def test_zero_gradient_ends_at_once():
    end = lbfgs(lambda w: (0.0, 0.0 * w), np.zeros(3), np.ones(3), tol=1e-6)
    assert (end.n_iter, end.converged) == (0, True)


def test_relative_norm_compares_with_the_parts_that_cancel():
    w, weights = np.array([2.0, 5.0]), np.array([1.0, 0.0])
    # P w = (2, 0), the losses' gradient is (-1, 3).
    assert relative_norm(w, np.array([1.0, 3.0]), weights) == pytest.approx(1.0)
    assert relative_norm(w, np.array([0.0, 1e-3]), weights) == pytest.approx(5e-4, rel=1e-6)
    assert relative_norm(np.zeros(2), np.zeros(2), weights) == 0.0


@pytest.mark.parametrize("stretch", [1e-6, 0.01, 0.3, 1.0, 3.0, 100.0, 1e8])
def test_line_search_meets_the_weak_wolfe_conditions(stretch):
    """On a wave on a bowl, from first steps that are far too short or far too long."""

    def fun(w):
        x = float(w[0])
        return 0.5 * x**2 + np.sin(3.0 * x), np.array([x + 3.0 * np.cos(3.0 * x)])

    for x in (-3.0, -1.0, 0.1, 2.5):
        w = np.array([x])
        value, gradient = fun(w)
        direction = -stretch * gradient
        step = line_search(fun, w, value, gradient, direction)
        slope = float(gradient @ direction)
        assert step.n_calls <= 12
        assert step.value <= value + 1e-4 * float(gradient @ step.moved)
        assert float(step.gradient @ direction) >= 0.9 * slope
        assert (step.value, step.gradient) == fun(w + step.moved)


def test_line_search_refuses_a_direction_that_rises():
    step = line_search(lambda w: (float(w @ w), 2 * w), np.ones(2), 2.0, 2 * np.ones(2), np.ones(2))
    assert step.gradient is None
    assert step.n_calls == 0
