"""Families of filters: formulas, and Chebyshev series against the functions that they stand for."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.stats import binom

from specmargin.exceptions import InvalidInputError
from specmargin.spectra import Bands, Bernstein, Powers, Resolvents

S = np.linspace(-1, 1, 401)
POLYNOMIAL = [
    *(Resolvents(), Resolvents([0.0]), Resolvents([-0.99, 0.3])),
    *(Powers(0), Powers(10), Bernstein(1), Bernstein(12)),
]


@pytest.mark.parametrize("family", POLYNOMIAL, ids=lambda family: f"{family.name} {len(family.parameters)}")
@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-12])
def test_series_are_within_the_tolerance(family, tol):
    coefficients = family.chebyshev(tol)
    assert coefficients.shape[0] == len(family.parameters)
    series = np.stack([chebyshev.chebval(S, row) for row in coefficients])
    assert np.abs(series - family.response(S)).max() <= tol + 1e-13


def test_the_degree_of_resolvents_is_the_one_predicted():
    """Of r^k: with g = 0.95 and a tolerance of 1e-6 some 43 steps, and no more than ten beyond."""
    (row,) = Resolvents([0.95]).chebyshev(1e-6)
    assert 43 <= len(row) <= 53
    assert Resolvents([0.0]).chebyshev(1e-9).tolist() == [[1.0]]


def test_formulas():
    g = np.array([-0.9, 0.0, 0.5])
    np.testing.assert_allclose(Resolvents(g).response(S), (1 - np.abs(g))[:, None] / (1 - g[:, None] * S))
    np.testing.assert_allclose(Powers(3).response(S), np.stack([S**0, S, S**2, S**3]))
    trials = binom.pmf(np.arange(8)[:, None], 7, (1 - S) / 2)
    np.testing.assert_allclose(Bernstein(7).response(S), trials, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(Bands(5).response(S).sum(axis=0), 1.0)
    assert Bands([0.0, 0.5, 2.0]).response(np.array([1 + 1e-15, -1 - 1e-15])).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    np.testing.assert_allclose(Bands(2).parameters, [0.5, 1.5])
    np.testing.assert_allclose(Bernstein(4).parameters, [0, 0.5, 1, 1.5, 2])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Resolvents([]),
        lambda: Resolvents([1.0]),
        lambda: Resolvents([np.nan]),
        lambda: Powers(-1),
        lambda: Powers(61),
        lambda: Bernstein(0),
        lambda: Bands(0),
        lambda: Bands([0.0, 1.0, 1.0, 2.0]),
        lambda: Bands([0.5, 2.0]),
    ],
)
def test_what_is_no_family_is_refused(make):
    with pytest.raises(InvalidInputError):
        make()


def test_bands_are_no_polynomials():
    with pytest.raises(InvalidInputError, match="no polynomials"):
        Bands(3).chebyshev(1e-6)
