"""Generators against scikit-learn, the papers' formulas and closed-form error rates."""

import inspect
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy.stats import kstest, norm
from sklearn.datasets import make_moons

from specmargin import datasets

RANDOM = [
    datasets.make_two_moons,
    datasets.make_two_circles,
    datasets.make_two_spirals,
    datasets.make_g2c,
    datasets.make_g4c,
    datasets.make_g50c,
]


def as_set(X: np.ndarray, y: np.ndarray) -> list[tuple[float, ...]]:
    return sorted(map(tuple, np.column_stack([y, np.round(X, 9) + 0.0]).tolist()))


@pytest.mark.parametrize("make", RANDOM)
def test_contract(make: Callable) -> None:
    parameters = inspect.signature(make).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
    noise = {"noise": 0.1} if "noise" in inspect.signature(make).parameters else {}
    X, y = make(n_samples=41, random_state=3, **noise)
    assert X.shape[0] == 41
    assert y.shape == (41,)
    assert X.dtype == np.float64
    assert y.dtype == np.intp
    assert set(y.tolist()) == {0, 1}
    assert abs(np.bincount(y) - 20.5).max() <= 0.5
    again, y_again = make(n_samples=41, random_state=np.random.default_rng(3), **noise)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(y_again, y)
    other, _ = make(n_samples=41, random_state=4, **noise)
    assert not np.array_equal(other, X)


@pytest.mark.parametrize("make", RANDOM)
def test_too_few_samples(make: Callable) -> None:
    with pytest.raises(ValueError, match=r"n_samples=1 leaves one of [24] groups empty"):
        make(n_samples=1)
    with pytest.raises(TypeError):
        make(n_samples=10.5)


@pytest.mark.parametrize("make", RANDOM[:3])
@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf])
def test_bad_noise(make: Callable, noise: float) -> None:
    with pytest.raises(ValueError, match="standard deviation"):
        make(noise=noise)


@pytest.mark.parametrize("make", RANDOM[:3])
def test_noise_is_gaussian_of_the_given_deviation(make: Callable) -> None:
    # The shuffling of moons and circles would follow other draws, so the points are compared as a sum of squares.
    n, noise = 4000, 0.2
    clean, _ = make(n_samples=n, noise=0.0, random_state=1)
    noisy, _ = make(n_samples=n, noise=noise, random_state=1)
    added = (noisy**2).sum() - (clean**2).sum()
    # E|x + e|^2 = |x|^2 + 2 noise^2; the deviation of the sum is sqrt(4 noise^2 |x|^2 + 4 n noise^4).
    deviation = np.sqrt(4 * noise**2 * (clean**2).sum() + 4 * n * noise**4)
    assert abs(added - 2 * n * noise**2) < 4 * deviation


@pytest.mark.parametrize("n", [200, 31])
def test_two_moons_are_scikit_learns(n: int) -> None:
    X, y = datasets.make_two_moons(n_samples=n, noise=0.0, random_state=0)
    sizes = ((n + 1) // 2, n // 2)
    assert as_set(X, y) == as_set(*make_moons(n_samples=sizes, noise=None))


def test_two_moons_noise_is_normal() -> None:
    # Upper moon: the distance to the unit circle is nearly normal where the noise is small.
    X, y = datasets.make_two_moons(n_samples=4000, noise=0.02, random_state=0)
    assert kstest((np.hypot(*X[y == 0].T) - 1.0) / 0.02 - 0.01, "norm").pvalue > 0.01


def test_sets_in_random_order_are_shuffled() -> None:
    for make in (RANDOM[0], RANDOM[1], *RANDOM[3:]):
        _, y = make(n_samples=100, random_state=0)
        assert 20 < np.count_nonzero(np.diff(y)) < 80  # 50 expected, 1 when sorted


def test_two_circles_are_circles(tol: Mapping[str, float]) -> None:
    X, y = datasets.make_two_circles(n_samples=101, radii=(2.0, 0.5), random_state=0)
    np.testing.assert_allclose(np.hypot(*X.T), np.where(y == 0, 2.0, 0.5), rtol=tol["exact"])
    assert y.sum() == 51
    gaps = np.diff(np.sort(np.arctan2(X[y == 0, 1], X[y == 0, 0])))
    np.testing.assert_allclose(gaps, 2 * np.pi / 50, rtol=1e-9)


@pytest.mark.parametrize("radii", [(1.0, -1.0), (1.0,), (np.nan, 1.0)])
def test_two_circles_bad_radii(radii: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="radii="):
        datasets.make_two_circles(radii=radii)


def test_two_spirals_formula(tol: Mapping[str, float]) -> None:
    X, y = datasets.make_two_spirals()
    for i in range(97):
        radius, angle = 6.5 * (104 - i) / 104, i * np.pi / 16
        point = np.array([radius * np.cos(angle), radius * np.sin(angle)])
        np.testing.assert_allclose(X[i], point, atol=tol["exact"])
        np.testing.assert_allclose(X[97 + i], -point, atol=tol["exact"])
        assert (y[i], y[97 + i]) == (1, 0)


def test_clock_formula(tol: Mapping[str, float]) -> None:
    X, y = datasets.make_clock()
    points = [(np.cos(0.063 * i), np.sin(0.063 * i)) for i in range(100)]
    points += [(0.01 * j, -0.03 * j) for j in range(26)] + [(0.025 * j, 0.0125 * j) for j in range(21)]
    np.testing.assert_allclose(X, points, atol=tol["exact"])
    np.testing.assert_array_equal(y, [1] * 100 + [0] * 47)


def test_g2c_and_g4c_means() -> None:
    for make, means in (
        (datasets.make_g2c, {0: [(-2.5, 0.0)], 1: [(2.5, 0.0)]}),
        (datasets.make_g4c, {0: [(-2.5, -5.0), (-2.5, 5.0)], 1: [(2.5, -5.0), (2.5, 5.0)]}),
    ):
        X, y = make(n_samples=8000, n_features=4, random_state=0)
        for label, centres in means.items():
            part = X[y == label]
            nearest = np.argmin([np.hypot(*(part[:, :2] - c).T) for c in centres], axis=0)
            for k, centre in enumerate(centres):
                cloud = part[nearest == k]
                assert len(cloud) == 4000 / len(centres)
                error = 4 / np.sqrt(len(cloud))  # four standard deviations of a mean
                np.testing.assert_allclose(cloud.mean(axis=0), [*centre, 0.0, 0.0], atol=error)
                np.testing.assert_allclose(np.cov(cloud.T), np.eye(4), atol=2 * error)


@pytest.mark.parametrize(("make", "least"), [(datasets.make_g2c, 1), (datasets.make_g4c, 2)])
def test_dimension_too_small(make: Callable, least: int) -> None:
    assert make(n_samples=8, n_features=least)[0].shape == (8, least)
    with pytest.raises(ValueError, match=f"ask for {least} or more"):
        make(n_samples=8, n_features=least - 1)


def test_default_sizes_are_the_papers() -> None:
    assert datasets.make_g2c()[0].shape == (500, 500)
    assert datasets.make_g4c()[0].shape == (500, 500)
    assert datasets.make_g50c()[0].shape == (550, 50)
    assert datasets.make_two_circles()[0].shape == (315, 2)


@pytest.mark.parametrize("bayes_error", [0.05, 0.2])
def test_g50c_bayes_error(bayes_error: float) -> None:
    n = 40_000
    X, y = datasets.make_g50c(n_samples=n, n_features=10, bayes_error=bayes_error, random_state=0)
    half = (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) / 2
    # Closed form: with unit covariance the best rule errs with Phi(-|m|).
    assert norm.cdf(-np.linalg.norm(half)) == pytest.approx(bayes_error, rel=0.05)
    # Simulation: that rule on the sample, to four binomial deviations.
    measured = np.mean((X.sum(axis=1) > 0) != y)
    assert abs(measured - bayes_error) < 4 * np.sqrt(bayes_error * (1 - bayes_error) / n)
    np.testing.assert_allclose(np.cov(X[y == 0].T), np.eye(10), atol=0.05)


@pytest.mark.parametrize("bayes_error", [0.0, 0.5, -1.0, np.nan])
def test_g50c_bad_bayes_error(bayes_error: float) -> None:
    with pytest.raises(ValueError, match="bayes_error="):
        datasets.make_g50c(bayes_error=bayes_error)
