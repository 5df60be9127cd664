"""Bounds on rounding hold against rational arithmetic, and are not wide beyond use."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from specmargin.rounding import UNIT, accurate_dot, accurate_product, dot_error, gamma, sum_error


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
        assert abs(Fraction(float(x @ y)) - true) <= Fraction(dot_error(x, y))
        value, error = accurate_dot(x, y)
        assert abs(Fraction(value) - true) <= Fraction(error)
        assert abs(Fraction(float((x * y).sum())) - sum(map(Fraction, (x * y).tolist()))) <= Fraction(sum_error(x * y))
        if np.finfo(np.longdouble).eps < 1e-18:
            assert error < dot_error(x, y) / 100 or error <= 4 * UNIT * abs(value)


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
