"""Coverage of all sets and intervals that are promised, over draws of labels: copies, ties and rows of zeros included.

`python tests/estimators/test_conformal_coverage.py 500` prints the table at full size, a line per set and estimator.
"""

import sys
import warnings

import numpy as np
import pytest
from full_size import shortened

import specmargin as sm

LABELED, LEVEL = 9, 0.8  # a whole rank: where no scores tie, the coverage is the level exactly


def _words(rng, n, share):
    truth = np.arange(n) % 2
    return (rng.random((n, 8)) < np.where(truth[:, None] == (np.arange(8) % 2), 2 * share, share)).astype(float), truth


def _blobs(rng, n, n_classes, spread=1.5, share=None):
    truth = np.arange(n) % n_classes if share is None else (np.arange(n) < share * n).astype(int)
    return spread * rng.normal(size=(n_classes, 3))[truth] + rng.normal(size=(n, 3)), truth


def samples(name, n=20):
    """Return features and classes of a set of n samples, from which labels are drawn."""
    rng = np.random.default_rng(7)
    if name == "two moons":
        return sm.datasets.make_two_moons(n_samples=n, noise=0.2, random_state=0)
    if name == "three blobs":
        return _blobs(rng, n, 3)
    if name == "one class rare":
        return _blobs(rng, n, 2, share=0.35)
    if name == "noise":
        return _blobs(rng, n, 2, spread=0.0)
    if name == "words":
        return _words(rng, n, 0.3)
    if name == "words, rows of zeros":
        return _words(rng, n, 0.07)
    if name == "copies":
        X, truth = _blobs(rng, n // 5, 2)
        return np.repeat(X, 5, axis=0), np.repeat(truth, 5)
    X, truth = _words(rng, n // 3, 0.3)  # copies whose labels disagree
    X, truth = np.repeat(X, 3, axis=0), np.repeat(truth, 3)
    return X, np.where(rng.random(len(X)) < 0.2, 1 - truth, truth)


SETS = [
    "two moons",
    "three blobs",
    "one class rare",
    "noise",
    "words",
    "words, rows of zeros",
    "copies",
    "copies that disagree",
]
CLASSIFIERS = {
    "LapRLS": lambda: sm.LapRLS(),
    "LapRLS, no intercept": lambda: sm.LapRLS(fit_intercept=False),
    "LapRLS, no graph, 1e-5": lambda: sm.LapRLS(gamma_A=1e-5, gamma_I=0.0, kernel="linear"),
    "SpectralRidge": lambda: sm.SpectralRidge(),
    "SpectralRidge, 1e-5": lambda: sm.SpectralRidge(penalty=1e-5),
    "SpectralFilterClassifier": lambda: sm.SpectralFilterClassifier(),
    "SpectralFilterClassifier, single": lambda: sm.SpectralFilterClassifier(learn="single"),
    "SpectralFilterClassifier, mean": lambda: sm.SpectralFilterClassifier(learn="mean"),
}
REGRESSORS = {
    "LapRLSRegressor": lambda: sm.LapRLSRegressor(),
    "LapRLSRegressor, 1e-6": lambda: sm.LapRLSRegressor(gamma_A=1e-6, gamma_I=0.0),
}


def coverage(name, method, draws, class_conditional=False):
    """Return the mean share of the unlabelled samples that are covered, and its standard error over the draws.

    Draws without a label of some class count as covered: such a class has no column.
    """
    X, truth = samples(name)
    rng, shares = np.random.default_rng(1), []
    for _ in range(draws):
        known = np.zeros(len(X), dtype=bool)
        known[rng.permutation(len(X))[:LABELED]] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method in REGRESSORS:
                z = truth + np.round(X[:, 0], 1)
                low, high = REGRESSORS[method]().fit(X, np.where(known, z, np.nan)).conformal_intervals(level=LEVEL).T
                covered = (low <= z) & (z <= high)
            elif len(set(truth[known])) < len(set(truth)):
                covered = np.ones(len(X), dtype=bool)
            else:
                fitted = CLASSIFIERS[method]().fit(X, np.where(known, truth, -1))
                sets = fitted.conformal_sets(level=LEVEL, class_conditional=class_conditional)
                covered = sets[np.arange(len(X)), truth]
        shares.append(covered[~known].mean())
    return float(np.mean(shares)), float(np.std(shares) / np.sqrt(draws))


def pairs():
    """Return every method with every set; at less than full size other settings, and filters, meet every second one."""
    both = [(method, name) for method in (*CLASSIFIERS, *REGRESSORS) for name in SETS]
    others = [method for method in (*CLASSIFIERS, *REGRESSORS) if "," in method or "Filter" in method]
    left = {(method, name) for k, method in enumerate(others) for name in SETS[k % 2 :: 2]}
    return shortened([each for each in both if each not in left], both)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), pairs())
def test_coverage_is_at_least_the_level(name, method):
    mean, error = coverage(name, method, 12 if "Filter" in method else 60)
    assert mean >= LEVEL - 3.5 * error - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_coverage_within_classes_is_at_least_the_level(name):
    mean, error = coverage(name, "LapRLS", 60, class_conditional=True)
    assert mean >= LEVEL - 3.5 * error - 1e-12


def table(draws):
    """Yield a line per estimator and set."""
    for method in (*CLASSIFIERS, *REGRESSORS):
        for name in SETS:
            for conditional in (False, True) if method == "LapRLS" else (False,):
                mean, error = coverage(name, method, draws, conditional)
                within = "within classes" if conditional else ""
                yield f"{method:34s} {name:22s} {within:15s} {mean:.3f} +- {error:.3f}\n"


if __name__ == "__main__":
    for line in table(int(sys.argv[1])):
        sys.stdout.write(line)
        sys.stdout.flush()
