"""Two of scikit-learn's bundled digits, and how samples of two classes are drawn from a larger set."""

from __future__ import annotations

from typing import Any

import numpy as np

from specmargin.checks import checked, count, maybe, seed, whole
from specmargin.exceptions import InvalidInputError
from specmargin.typing import AnyArray, FloatArray, IntArray, Matrix

__all__ = ["check_digits", "digits_pair", "draw_pair", "of_a_draw", "standardised"]

of_a_draw = checked(n=maybe(count(2)), random_state=seed)
"""Rules for a function that draws n samples."""


def draw_pair(
    data: tuple[Matrix, AnyArray],
    a: int,
    b: int,
    n: int | None,
    random_state: int | np.random.Generator | None,
    name: str,
) -> tuple[Any, IntArray]:
    """Draw n samples of the classes a and b of X and y uniformly; None takes all of them."""
    X, y = data
    pool = np.flatnonzero((y == a) | (y == b))
    size = len(pool) if n is None else int(n)
    if not 2 <= size <= len(pool):
        raise InvalidInputError(f"n={n}, but {name} has {len(pool)} samples of the two classes; take 2 to {len(pool)}.")
    chosen = np.random.default_rng(random_state).permutation(pool)[:size]
    return X[chosen], (y[chosen] == b).astype(np.intp)


def check_digits(a: int, b: int) -> None:
    """Raise where a pair is none: before a data set is looked for."""
    for value in (a, b):
        if whole("a digit", value) not in range(10):
            raise InvalidInputError(f"{value} is no digit; take one of {list(range(10))}.")
    if a == b:
        raise InvalidInputError(f"a and b are both {a}; name two different digits.")


def standardised(X: AnyArray) -> FloatArray:
    """Return images with mean 0 and variance 1 of every pixel."""
    from sklearn.preprocessing import StandardScaler

    # Border pixels are constant: the scaler leaves them 0 instead of dividing by 0.
    return StandardScaler().fit_transform(X.astype(np.float64))


@of_a_draw
def digits_pair(
    a: int, b: int, n: int | None = None, random_state: int | np.random.Generator | None = 0
) -> tuple[FloatArray, IntArray]:
    """Return two of scikit-learn's bundled digits, every pixel scaled to mean 0 and variance 1.

    They need no file: about 180 images of 8 x 8 pixels per digit.

    Parameters
    ----------
    a, b : int
        The digits; a becomes class 0, b class 1.
    n : int or None, default None
        Images in all; None takes all.
    random_state : int, Generator or None, default 0
        Seed of ``numpy.random.default_rng``.

    Returns
    -------
    X : ndarray of shape (n, 64)
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If a or b is no digit, if they are equal, or if there are fewer than n images.

    Examples
    --------
    >>> X, y = digits_pair(3, 8, n=100)
    >>> X.shape, bool(abs(X.mean(axis=0)).max() < 1e-12)
    ((100, 64), True)
    """
    from sklearn.datasets import load_digits

    check_digits(a, b)
    X, y = draw_pair(load_digits(return_X_y=True), a, b, n, random_state, "digits")
    return standardised(X), y
