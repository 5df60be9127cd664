"""Bounds on rounding hold against rational arithmetic, and are not wide beyond use."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.rounding import (
    UNIT,
    accurate_dot,
    accurate_product,
    blocked_depth,
    blocked_product,
    exact_dot,
    exact_sum,
    gamma,
    split_product,
    two_product,
    two_sum,
)


def exact(x: np.ndarray, y: np.ndarray) -> Fraction:
    return sum((Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)), Fraction(0))


def cancelling(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7, n)
    y = rng.standard_normal(n)
    return np.r_[x, -x], np.r_[y, y * (1 + 1e-14 * rng.standard_normal(n))]


@pytest.mark.parametrize("n", [1, 3, 50, 1000])
def test_bounds_hold_where_terms_cancel(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        x, y = cancelling(rng, n)
        true = exact(x, y)
        plain = gamma(len(x) + 1) * float(np.abs(x) @ np.abs(y))
        assert abs(Fraction(float(x @ y)) - true) <= Fraction(plain)
        value, error = accurate_dot(x, y)
        assert abs(Fraction(value) - true) <= Fraction(error)
        if np.finfo(np.longdouble).eps < 1e-18:
            assert error < plain / 100 or error <= 4 * UNIT * abs(value)


def test_rows_of_an_accurate_product() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((7, 400))
    x = np.linalg.svd(A)[2][-1] * 1e8  # nearly in the null space: everything cancels
    value, error = accurate_product(A, x)
    for row, v, e in zip(A, value, error, strict=True):
        assert abs(Fraction(float(v)) - exact(row, x)) <= Fraction(float(e))


def test_gamma_is_no_promise_beyond_its_range() -> None:
    assert gamma(1) == pytest.approx(UNIT, rel=1e-15)
    assert gamma(2**53) == np.inf


@pytest.mark.parametrize("slices", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_split_products_are_far_better_than_plain_ones(slices: int, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    A = np.exp(-5.0 * rng.random((12, 400)))
    A[rng.random(A.shape) < 0.3] = 0.0
    x = rng.standard_normal(400) * 10.0 ** rng.integers(0, 9, 400)
    high, low, error = split_product(sp.csr_array(A) if sparse else A, x, slices)
    plain = max(abs(Fraction(float(value)) - exact(row, x)) for row, value in zip(A, A @ x, strict=True))
    for row, h, l, bound in zip(A, high.tolist(), low.tolist(), error.tolist(), strict=True):
        off = abs(Fraction(h) + Fraction(l) - exact(row, x))
        assert off <= Fraction(bound)
        assert off < plain / 10 ** (3 * slices)
    assert error.max() < 1e-6 / 10 ** (4 * slices) * float(np.abs(x).sum()) * 1e-5


@pytest.mark.parametrize("n", [1, 511, 512, 700, 2100])
def test_blocked_products_pass_through_few_roundings(n: int) -> None:
    rng = np.random.default_rng(n)
    A = rng.random((131, n))
    x = rng.standard_normal(n) * 10.0 ** rng.integers(0, 9, n)
    depth = blocked_depth(n)
    assert depth == n if n < 512 else 256 < depth <= 260
    for row, value in zip(A, blocked_product(A, x), strict=True):
        off = abs(Fraction(float(value)) - exact(row, x))
        assert off <= Fraction(gamma(depth)) * exact(row, np.abs(x))


def test_exact_sums_products_and_dots() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 40, 700):
        x, y = cancelling(rng, n)
        total, lost = two_sum(x, y)
        assert all(
            Fraction(a) + Fraction(b) == Fraction(c) + Fraction(d) for a, b, c, d in zip(x, y, total, lost, strict=True)
        )
        value, rest = two_product(x, y)
        assert all(
            Fraction(a) * Fraction(b) == Fraction(c) + Fraction(d) for a, b, c, d in zip(x, y, value, rest, strict=True)
        )
        assert abs(Fraction(exact_dot(x, y)) - exact(x, y)) <= Fraction(2 * UNIT) * abs(exact(x, y))
        assert exact_sum(np.r_[x, y, -x]) == pytest.approx(float(sum(map(Fraction, y.tolist()))), rel=1e-15)
    # Beyond 1e280, too, where sums were plain ones once.
    assert exact_sum(np.array([1e300, 3e283, -1e300])) == 3e283
    x, y = np.array([1e200, 3.0, -1e200]), np.array([1e100, 1e283, 1e100])
    assert abs(Fraction(exact_dot(x, y)) - exact(x, y)) <= Fraction(2 * UNIT) * exact(x, y)
    assert np.isinf(exact_sum(np.array([1.7e308, 1.7e308, -1.7e308])))
    assert exact_dot(np.array([1e300]), np.array([1e-290])) == pytest.approx(1e10, rel=1e-15)
    assert np.isnan(exact_dot(np.array([np.nan]), np.ones(1)))
    high, low, error = split_product(np.zeros((2, 3)), np.ones(3))
    assert high.tolist() == low.tolist() == error.tolist() == [0.0, 0.0]
