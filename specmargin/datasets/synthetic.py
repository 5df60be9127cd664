"""Artificial sets: shapes that a linear classifier misses, and Gaussians whose best error is known.

Two kinds. In the plane, `make_two_moons`, `make_two_circles`, `make_two_spirals` and `make_clock` draw
classes that are curves: the *manifold* assumption holds and two labels can be enough. In many dimensions
`make_g2c`, `make_g4c` and `make_g50c` draw Gaussian clusters: the *cluster* assumption holds, and `make_g4c` misleads a
semi-supervised method to separate along the wrong axis. Begin with `make_two_moons`.

Every function returns ``(X, y)``: X of shape (n, d) and float64, y of shape (n,) with the classes 0 and 1,
never -1, which marks unlabelled samples. Random sets come in random order, curves given by a formula in its
order.
"""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np

from specmargin.checks import checked, numeric, real, seed, shown, whole
from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray, IntArray

__all__ = [
    "make_clock",
    "make_g2c",
    "make_g4c",
    "make_g50c",
    "make_two_circles",
    "make_two_moons",
    "make_two_spirals",
]

RandomState: TypeAlias = int | np.random.Generator | None


def _radii(name: str, value: Any) -> Any:
    radii = value if isinstance(value, list | tuple | np.ndarray) else ()
    if len(radii) != 2 or not all(isinstance(r, int | float | np.number) and np.isfinite(r) and r > 0 for r in radii):
        raise InvalidInputError(f"{name}={shown(value)}; pass two positive numbers, of class 0 and of class 1.")
    return value


def _bayes_error(name: str, value: Any) -> float:
    what = "a number in (0, 0.5), where 0.5 is a coin's"
    if not 0.0 < real(name, value, what) < 0.5:
        raise InvalidInputError(f"{name}={value!r} must be {what}.")
    return float(value)


def _sizes(n_samples: int, n_groups: int) -> list[int]:
    """Sizes of `n_groups` groups that differ by one at most, the first ones larger."""
    n = operator.index(n_samples)
    if n < n_groups:
        raise InvalidInputError(f"n_samples={n} leaves one of {n_groups} groups empty; ask for {n_groups} or more.")
    return [n // n_groups + (k < n % n_groups) for k in range(n_groups)]


def _with_noise(X: FloatArray, noise: float, rng: np.random.Generator) -> FloatArray:
    if not (np.isfinite(noise) and noise >= 0):
        raise InvalidInputError(f"noise={noise!r} is no standard deviation; pass a finite number, 0 or larger.")
    return X + noise * rng.standard_normal(X.shape) if noise else X


def _shuffled(X: FloatArray, y: IntArray, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    order = rng.permutation(len(y))
    return X[order], y[order]


def _gaussians(
    means: FloatArray, y_of_mean: list[int], n_samples: int, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Unit-variance Gaussians around the rows of `means`, in equal parts and random order."""
    sizes = _sizes(n_samples, len(means))
    X = np.repeat(means, sizes, axis=0) + rng.standard_normal((sum(sizes), means.shape[1]))
    return _shuffled(X, np.repeat(np.asarray(y_of_mean, dtype=np.intp), sizes), rng)


@checked(n_samples=whole, noise=numeric, random_state=seed)
def make_two_moons(
    *, n_samples: int = 200, noise: float = 0.1, random_state: RandomState = None
) -> tuple[FloatArray, IntArray]:
    """Draw two interleaved half circles of radius 1.

    Class 0 is the upper half circle around (0, 0), class 1 the lower one around (1, 1/2), as in scikit-learn.

    Parameters
    ----------
    n_samples : int, default 200
        Samples in all; class 0 gets the odd one.
    noise : float, default 0.1
        Standard deviation of the Gaussian noise on each coordinate, in units of the radius.
    random_state : int, Generator or None
        Seed of ``numpy.random.default_rng``.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.

    Examples
    --------
    >>> X, y = make_two_moons(n_samples=100, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 2), [0, 1])
    """
    rng = np.random.default_rng(random_state)
    sizes = _sizes(n_samples, 2)
    upper, lower = (np.linspace(0.0, np.pi, size) for size in sizes)
    across = np.concatenate([np.cos(upper), 1.0 - np.cos(lower)])
    X = np.column_stack([across, np.concatenate([np.sin(upper), 0.5 - np.sin(lower)])])
    return _shuffled(_with_noise(X, noise, rng), np.repeat(np.arange(2), sizes), rng)


@checked(n_samples=whole, noise=numeric, radii=_radii, random_state=seed)
def make_two_circles(
    *,
    n_samples: int = 315,
    noise: float = 0.0,
    radii: tuple[float, float] = (0.5, 0.25),
    random_state: RandomState = None,
) -> tuple[FloatArray, IntArray]:
    """Draw two concentric circles, each with evenly spaced angles.

    Parameters
    ----------
    n_samples : int, default 315
        Samples in all; class 1 gets the odd one. The default is the size of the published set.
    noise : float, default 0
        Standard deviation of the Gaussian noise on each coordinate, in the units of the radii.
    radii : tuple of float, default (0.5, 0.25)
        Radius of the circle of class 0 and of class 1.
    random_state : int, Generator or None
        Seed of ``numpy.random.default_rng``.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.

    Examples
    --------
    >>> X, y = make_two_circles(random_state=0)
    >>> np.unique(np.round(np.hypot(*X[y == 1].T), 12)).tolist()
    [0.25]
    """
    rng = np.random.default_rng(random_state)
    sizes = _sizes(n_samples, 2)[::-1]
    angles = np.concatenate([np.arange(size) * (2.0 * np.pi / size) for size in sizes])
    y = np.repeat(np.arange(2), sizes)
    X = np.asarray(radii, dtype=float)[y, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return _shuffled(_with_noise(X, noise, rng), y, rng)


@checked(n_samples=whole, noise=numeric, random_state=seed)
def make_two_spirals(
    *, n_samples: int = 194, noise: float = 0.0, random_state: RandomState = None
) -> tuple[FloatArray, IntArray]:
    """Wind two spirals around each other, three turns each.

    Class 1 runs inwards from (6.5, 0): at ``t`` in [0, 96] the angle is ``t pi / 16`` and the radius
    ``6.5 (104 - t) / 104``. Class 0 is its reflection in the origin. The default takes ``t = 0, 1, ..., 96``,
    the classical benchmark.

    Parameters
    ----------
    n_samples : int, default 194
        Samples in all; class 1, which comes first, gets the odd one.
    noise : float, default 0
        Standard deviation of the Gaussian noise on each coordinate; the arms of the two classes lie 1 apart.
    random_state : int, Generator or None
        Seed of ``numpy.random.default_rng``; of no effect without noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.

    Examples
    --------
    >>> X, y = make_two_spirals()
    >>> X[0].tolist(), X[97].tolist(), y[[0, 97]].tolist()
    ([6.5, 0.0], [-6.5, -0.0], [1, 0])
    """
    rng = np.random.default_rng(random_state)
    sizes = _sizes(n_samples, 2)
    arms = []
    for size, sign in zip(sizes, (1.0, -1.0), strict=True):
        t = np.linspace(0.0, 96.0, size)
        radius = sign * 6.5 * (104.0 - t) / 104.0
        arms.append(radius[:, None] * np.column_stack([np.cos(t * np.pi / 16), np.sin(t * np.pi / 16)]))
    return _with_noise(np.vstack(arms), noise, rng), np.repeat(np.array([1, 0]), sizes)


def make_clock() -> tuple[FloatArray, IntArray]:
    """Return the "clock" of the primal LapSVM paper: a dial around two hands.

    Class 1 is the dial, 100 points of the unit circle at the angles 0, 0.063, 0.126, ...; class 0 is the
    hands, ``(0.01 j, -0.03 j)`` for j = 0..25 and ``(0.025 j, 0.0125 j)`` for j = 0..20. Both hands start in
    the origin, so that the sample holds one point twice.

    Returns
    -------
    X : ndarray of shape (147, 2)
    y : ndarray of shape (147,)
        Classes 0 and 1.

    Examples
    --------
    >>> X, y = make_clock()
    >>> X.shape, int(y.sum())
    ((147, 2), 100)
    """
    angle = 0.063 * np.arange(100)
    long, short = np.arange(26.0), np.arange(21.0)
    across = np.concatenate([np.cos(angle), 0.01 * long, 0.025 * short])
    X = np.column_stack([across, np.concatenate([np.sin(angle), -0.03 * long, 0.0125 * short])])
    return X, np.repeat(np.array([1, 0]), [100, 47])


@checked(n_samples=whole, n_features=whole, random_state=seed)
def make_g2c(
    *, n_samples: int = 500, n_features: int = 500, random_state: RandomState = None
) -> tuple[FloatArray, IntArray]:
    """Draw the G2C set of the QN-S3VM paper: two Gaussians, the classes.

    Both have unit covariance; the means are (-2.5, 0, ..., 0) for class 0 and (2.5, 0, ..., 0) for class 1.
    The Bayes error is Phi(-2.5) = 0.6 %.

    Parameters
    ----------
    n_samples, n_features : int, default 500
        Sample size n and dimension d, 500 each in the paper.
    random_state : int, Generator or None
        Seed of ``numpy.random.default_rng``.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Classes 0 and 1, equally frequent.

    Examples
    --------
    >>> X, y = make_g2c(random_state=0)
    >>> bool(((X[:, 0] > 0) == (y == 1)).mean() > 0.98)
    True
    """
    means = np.zeros((2, _dimension(n_features, 1)))
    means[:, 0] = -2.5, 2.5
    return _gaussians(means, [0, 1], n_samples, np.random.default_rng(random_state))


@checked(n_samples=whole, n_features=whole, random_state=seed)
def make_g4c(
    *, n_samples: int = 500, n_features: int = 500, random_state: RandomState = None
) -> tuple[FloatArray, IntArray]:
    """Draw the G4C set of the QN-S3VM paper: four Gaussians, two per class, with a misleading gap.

    Unit covariance around (-2.5, -5), (-2.5, 5) (class 0) and (2.5, -5), (2.5, 5) (class 1), zeros after
    that. The widest gap in the sample separates the second coordinate, the classes differ in the first. The
    Bayes error is Phi(-2.5) = 0.6 %.

    Parameters
    ----------
    n_samples, n_features : int, default 500
        Sample size n and dimension d (2 or more), 500 each in the paper.
    random_state : int, Generator or None
        Seed of ``numpy.random.default_rng``.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Classes 0 and 1, equally frequent where n_samples is a multiple of 4.

    Examples
    --------
    >>> X, y = make_g4c(random_state=0)
    >>> X.shape, int(y.sum())
    ((500, 500), 250)
    """
    means = np.zeros((4, _dimension(n_features, 2)))
    means[:, :2] = [[-2.5, -5.0], [2.5, -5.0], [-2.5, 5.0], [2.5, 5.0]]
    return _gaussians(means, [0, 1, 0, 1], n_samples, np.random.default_rng(random_state))


@checked(n_samples=whole, n_features=whole, bayes_error=_bayes_error, random_state=seed)
def make_g50c(
    *,
    n_samples: int = 550,
    n_features: int = 50,
    bayes_error: float = 0.05,
    random_state: RandomState = None,
) -> tuple[FloatArray, IntArray]:
    """Draw a sample like g50c: two Gaussians so close that even the best rule errs.

    Unit covariance around -m (class 0) and +m (class 1), every coordinate of m equal. The best rule is the
    sign of the sum of the coordinates; it errs with probability Phi(-|m|), so ``|m| = -Phi^-1(bayes_error)``:
    0.23 per coordinate for 5 % in 50 dimensions. The published sample itself is ``load("g50c")``.

    Parameters
    ----------
    n_samples : int, default 550
        Sample size.
    n_features : int, default 50
        Dimension.
    bayes_error : float, default 0.05
        Smallest possible probability of an error, in (0, 0.5).
    random_state : int, Generator or None
        Seed of ``numpy.random.default_rng``.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Classes 0 and 1, equally frequent.

    Examples
    --------
    >>> X, y = make_g50c(random_state=0)
    >>> best = X.sum(axis=1) > 0
    >>> bool(0.02 < (best != y).mean() < 0.08)
    True
    """
    from scipy.special import ndtri

    d = _dimension(n_features, 1)
    m = -ndtri(bayes_error) / np.sqrt(d)
    means = np.full((2, d), m) * np.array([[-1.0], [1.0]])
    return _gaussians(means, [0, 1], n_samples, np.random.default_rng(random_state))


def _dimension(n_features: int, least: int) -> int:
    d = operator.index(n_features)
    if d < least:
        raise InvalidInputError(f"n_features={d} is too small for this set; ask for {least} or more.")
    return d
