"""Weighted means, what is left of rows, and the complement of the roots of weights, in fractions and by definition."""

from fractions import Fraction

import numpy as np
import pytest

from specmargin.objectives.weighted_rows import centred_basis, checked_weights, less_mean, weighted_mean


@pytest.mark.parametrize("spread", [0.0, 1.0, 12.0])
def test_what_is_left_of_every_row_has_all_its_digits(spread):
    rng = np.random.default_rng(0)
    c = 10.0 ** rng.uniform(-spread, spread, 7)
    rows = rng.normal(size=7)
    exact = [Fraction(x) for x in c]
    mean = sum(w * Fraction(x) for w, x in zip(exact, rows, strict=True)) / sum(exact)
    assert float(weighted_mean(rows, c)) == pytest.approx(float(mean), rel=1e-14)
    apart = [float(Fraction(x) - mean) for x in rows]
    np.testing.assert_allclose(less_mean(rows, c), apart, rtol=1e-12)
    np.testing.assert_array_equal(less_mean(np.column_stack([rows, -rows]), c)[:, 0], less_mean(rows, c))
    assert weighted_mean(np.full(7, 0.1), c) == 0.1


def test_without_weights_it_is_the_mean():
    rows = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(weighted_mean(rows, None), rows.mean(axis=0))
    np.testing.assert_array_equal(less_mean(rows, None), rows - rows.mean(axis=0))


@pytest.mark.parametrize("weights", [None, np.ones(5), np.array([1e12, 1.0, 1e-12, 3.0, 2.0])])
def test_the_basis_is_orthonormal_and_orthogonal_to_the_roots(weights):
    B, r = centred_basis(5, weights), np.sqrt(np.ones(5) if weights is None else weights)
    assert B.shape == (5, 4)
    np.testing.assert_allclose(B.T @ B, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(B.T @ r / np.linalg.norm(r), 0.0, atol=1e-15)
    assert centred_basis(1, None if weights is None else weights[:1]).shape == (1, 0)


def test_weights_are_positive_numbers_one_per_label():
    assert checked_weights(None, 3) is None
    assert checked_weights([1, 2], 2).tolist() == [1.0, 2.0]
    for bad in ([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match="weights"):
            checked_weights(bad, 2)
