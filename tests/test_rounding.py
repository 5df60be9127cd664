"""Bounds on rounding hold against rational arithmetic, and are not wide beyond use."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin import rounding
from specmargin.rounding import (
    EXTENDED_UNIT,
    UNIT,
    accurate_product,
    blocked_depth,
    blocked_product,
    bounded_product,
    cholesky,
    directions,
    exact_dot,
    exact_sum,
    extended_product,
    first_least,
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
        value, error = (float(one[0]) for one in accurate_product(x[None], y))
        assert abs(Fraction(value) - true) <= Fraction(error)
        if np.finfo(np.longdouble).eps < 1e-18:
            assert error < plain / 100 or error <= 4 * UNIT * abs(value)


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
    product = blocked_product(A, x)
    np.testing.assert_allclose(product, A @ x, rtol=1e-9)
    for i in (0, 1, 127, 128, 130):  # of both blocks of rows
        off = abs(Fraction(float(product[i])) - exact(A[i], x))
        assert off <= Fraction(gamma(depth)) * exact(A[i], np.abs(x))


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


def test_depths_of_blocks_count_the_pairwise_sums() -> None:
    """Blocks of 256, whose sums are added in a binary tree: one of 256, then a level for every doubling."""
    for n in range(512, 5000, 37):
        sums, levels = -(-n // 256), 0
        while sums > 1:
            sums, levels = (sums + 1) // 2, levels + 1
        assert blocked_depth(n) == 256 + levels
    A = np.random.default_rng(0).standard_normal((3, 512))
    x = np.random.default_rng(1).standard_normal(512)
    halves = A[:, :256] @ x[:256] + A[:, 256:] @ x[256:]
    np.testing.assert_allclose(blocked_product(A, x), halves, rtol=1e-12)


def test_units_are_those_of_the_formats() -> None:
    """The unit roundoff u: 1 + u rounds to 1, and 1 + 1.5 u does not."""
    for unit, kind in ((UNIT, np.float64), (EXTENDED_UNIT, np.longdouble)):
        one = kind(1)
        assert one + kind(unit) == one
        assert one + kind(1.5) * kind(unit) > one


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_tiny_rows_are_scaled_by_powers_of_two(form) -> None:
    X = np.array([[3.0, 4.0], [3e-300, 4e-300], [0.0, 0.0], [-7e-6, 2e-6], [1e-5, 0.0], [0.0, 5e-324]])
    found = directions(form(X))
    found = found.toarray() if sp.issparse(found) else found
    np.testing.assert_array_equal(found[[0, 2, 4]], X[[0, 2, 4]])
    for i in (1, 3):
        assert 0.5 <= np.abs(found[i]).max() < 1.0
        j = int(np.abs(X[i]).argmax())
        factor = Fraction(found[i, j]) / Fraction(X[i, j])
        assert factor.denominator == 1
        assert factor.numerator & (factor.numerator - 1) == 0
        assert [Fraction(value) * factor for value in X[i].tolist()] == [Fraction(v) for v in found[i].tolist()]
    assert found[5].tolist() == [0.0, 2.0**-74]  # by 2^1000 and no more
    plain = form(X[[0, 4]])
    assert directions(plain) is plain
    nothing = form(np.zeros((2, 3)))
    assert directions(nothing) is nothing


@pytest.mark.parametrize("n", [1, 2, 5, 60])
def test_bounds_are_those_of_the_theory(n: int) -> None:
    """No smaller than gamma_n |a||x| in rationals, which rounding may attain, and no more than some times that."""
    rng = np.random.default_rng(n)
    A, x = rng.standard_normal((4, n)) * 10.0 ** rng.integers(-3, 4, (4, n)), rng.standard_normal(n)
    value, error = bounded_product(A, x)
    np.testing.assert_allclose(value, A @ x)
    far = gamma(n + 1) * np.linalg.norm(A, axis=1) * np.linalg.norm(x)
    for row, bound, most in zip(A, error, far, strict=True):
        assert Fraction(gamma(n)) * exact(np.abs(row), np.abs(x)) <= Fraction(float(bound))
        assert bound <= 1.01 * most
    wide, error = extended_product(A, x)
    rounded, coarse = accurate_product(A, x)
    assert wide.dtype == np.longdouble
    for i, row in enumerate(A):
        share = Fraction(EXTENDED_UNIT) * exact(np.abs(row), np.abs(x))
        assert (n + 1) * share <= Fraction(float(error[i])) <= 2 * (n + 1) * share * (1 + Fraction(1, 10**9))
        last = Fraction(UNIT) * abs(Fraction(float(rounded[i])))
        assert last * (1 - Fraction(1, 10**9)) <= Fraction(float(coarse[i])) - Fraction(float(error[i]))
        assert Fraction(float(coarse[i])) <= (Fraction(float(error[i])) + last) * (1 + Fraction(1, 10**9))


def test_extended_products_in_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    A, x = rng.standard_normal((11, 6)), rng.standard_normal(6)
    whole = extended_product(A, x)
    for entries in (1, 6, 13, 24):
        monkeypatch.setattr(rounding, "_BLOCK", entries)
        for got, expected in zip(extended_product(A, x), whole, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-15)
    assert extended_product(np.zeros((2, 0)), np.zeros(0))[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("slices", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_split_products_of_few_columns(n: int, sparse: bool, slices: int) -> None:
    """Where gamma_n is small, and its bound has little to spare; -1e-3 is the largest modulus of some."""
    rng = np.random.default_rng(n)
    for draw in range(40):
        A = rng.standard_normal((3, n)) * (-1e-3 if draw % 2 else 1.0)
        A = -np.abs(A) if draw % 4 > 1 else A
        x = rng.standard_normal(n) * 10.0 ** rng.integers(-4, 5, n)
        high, low, error = split_product(sp.csr_array(A) if sparse else A, x, slices)
        largest, depth = float(np.abs(A).max()), max(4, (51 - max(1, n - 1).bit_length()) // 2)
        theory = gamma(n) * 2.0 ** (-depth * slices) * largest * np.abs(x).sum()
        assert (error >= theory).all()
        assert (error <= 100.0 * theory + 100.0 * n * UNIT**2 * largest * np.abs(x).sum()).all()
        for row, h, l, bound in zip(A, high.tolist(), low.tolist(), error.tolist(), strict=True):
            assert abs(Fraction(h) + Fraction(l) - exact(row, x)) <= Fraction(bound)


@pytest.mark.parametrize("sparse", [False, True])
def test_split_products_know_no_scale(sparse: bool) -> None:
    """Powers of two in either factor are those of the answer and of its bound, to the last bit."""
    rng = np.random.default_rng(3)
    A, x = rng.standard_normal((5, 30)), rng.standard_normal(30) * 10.0 ** rng.integers(0, 6, 30)
    form = sp.csr_array if sparse else np.asarray
    known = split_product(form(A), x)
    for a, b in ((2.0**-40, 1.0), (1.0, 2.0**-60), (2.0**30, 2.0**50), (-(2.0**-20), 2.0**-20)):
        for got, expected, sign in zip(split_product(form(a * A), b * x), known, (a, a, abs(a)), strict=True):
            np.testing.assert_array_equal(got, sign * b * expected)
    given = split_product(form(A), x, largest=float(np.abs(A).max()))
    for got, expected in zip(given, known, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_split_products_in_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    A, x = rng.standard_normal((9, 5)), rng.standard_normal(5)
    whole = split_product(A, x, 2)
    for entries in (1, 5, 11, 20):
        monkeypatch.setattr(rounding, "_TILE", entries)
        high, low, error = split_product(A, x, 2)
        np.testing.assert_allclose(error, whole[2], rtol=1e-9)
        for row, h, l, bound in zip(A, high.tolist(), low.tolist(), error.tolist(), strict=True):
            assert abs(Fraction(h) + Fraction(l) - exact(row, x)) <= Fraction(bound)


def test_of_numbers_equal_but_for_rounding_the_first_is_least() -> None:
    assert first_least(np.array([3.0, 1.0 + 1e-15, 1.0, 1.0 + 1e-6])) == 1
    assert first_least(np.array([np.nan, np.inf, 2.0])) == 2
    assert first_least(np.full(3, np.inf)) == first_least(np.full(3, np.nan)) == 0
    assert first_least(np.array([-1.0, -1.0 - 1e-15, -2.0])) == 2
    assert first_least(np.array([[1.0, 5.0], [1.0 - 1e-16, 4.0]])).tolist() == [0, 1]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_factor_of_a_definite_matrix_and_none_of_others(rng, clean, overwrite):
    A = rng.normal(size=(9, 12))
    A = A @ A.T
    C = cholesky(A.copy(), clean=clean, overwrite=overwrite)
    assert C is not None
    np.testing.assert_allclose(np.tril(C) @ np.tril(C).T, A, rtol=1e-12, atol=1e-12)
    assert (np.triu(C, 1) == 0).all() or not clean
    A[4, 4] = -1.0
    assert cholesky(A.copy(), clean=clean, overwrite=overwrite) is None


def test_the_callers_matrix_stays_unless_it_may_be_used():
    A = np.asfortranarray(np.eye(5) + 0.1)
    before = A.copy()
    cholesky(A)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_array_equal(cholesky(A.T, clean=False), cholesky(A, clean=False))
