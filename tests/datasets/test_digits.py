"""Two of scikit-learn's digits."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from specmargin import datasets


def standardised(X: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1, 0 where a column is constant."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def test_digits_pair_against_the_bundled_images() -> None:
    images, digits = load_digits(return_X_y=True)
    X, y = datasets.digits_pair(8, 3, n=None, random_state=0)
    assert X.shape == (np.isin(digits, (3, 8)).sum(), 64)
    rows = np.random.default_rng(0).permutation(np.flatnonzero((digits == 3) | (digits == 8)))
    np.testing.assert_allclose(X, standardised(images[rows]), atol=1e-12)
    np.testing.assert_array_equal(y, digits[rows] == 3)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"a": 3, "b": 3}, ValueError, "two different digits"),
        ({"a": 3, "b": 10}, ValueError, "10 is no digit"),
        ({"a": 3, "b": 8, "n": 1000}, ValueError, "n=1000, but digits has 357 samples"),
        ({"a": 3, "b": 8, "n": 1}, ValueError, "n=1 must be a whole number of at least 2"),
        ({"a": 3, "b": 8, "n": 10.5}, TypeError, "n=10.5 must be a whole number"),
        ({"a": 3.5, "b": 8}, TypeError, "digit=3.5 must be a whole number"),
    ],
)
def test_digits_pair_refuses(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        datasets.digits_pair(**arguments)
