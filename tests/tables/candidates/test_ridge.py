"""The held-out decisions of the ridge against refits, the fit against its own optimality conditions."""

import numpy as np
import pytest

from specmargin.tables.candidates.ridge import held_out_ridge, shrunken_means, targets

PENALTIES = np.array([1e-4, 1e-2, 1.0])


def refit(G, Y, lam, b0, nu):
    """Return a and b of the normal equations of |Y - G a - b|^2 + lam a'Ga + nu (b - b0)^2, G regular or not."""
    l = len(G)
    A = np.block([[G @ G + lam * G, G.sum(1)[:, None]], [G.sum(0)[None], np.array([[l + nu]])]])
    rhs = np.vstack([G @ Y, Y.sum(0)[None] + nu * b0])
    solution = np.linalg.lstsq(A, rhs, rcond=None)[0]
    return solution[:-1], solution[-1]


def data(l, r, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=l - n_classes)])
    return rng.standard_normal((l, r)) * np.geomspace(1, 0.1, r), codes


@pytest.mark.parametrize(("l", "r"), [(12, 30), (12, 12), (40, 5)])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("nu", [10.0, 0.5])
def test_held_out_decisions_are_those_of_refits(l, r, n_classes, nu):
    P, codes = data(l, r, n_classes)
    Y = targets(codes, n_classes)
    fits = held_out_ridge(P, Y, penalties=PENALTIES, n_classes=n_classes, pseudo_labels=2.0, intercept_labels=nu)
    G = P @ P.T
    for j, penalty in enumerate(PENALTIES):
        lam = penalty * np.trace(G) / l
        for i in range(l):
            k = np.arange(l) != i
            b0 = shrunken_means(Y[k], n_classes, 2.0)[0]
            # A held intercept is one more feature, of variance lam / nu around b0.
            K = G + lam / nu
            held = b0 + K[i, k] @ np.linalg.solve(K[np.ix_(k, k)] + lam * np.eye(l - 1), Y[k] - b0)
            np.testing.assert_allclose(fits.held_out[j, i], held, atol=1e-11)
            # What is left of the decision beyond the held intercept's own feature.
            v = np.linalg.solve(K[np.ix_(k, k)] + lam * np.eye(l - 1), Y[k] - b0)
            np.testing.assert_allclose(fits.intercept_without[j, i], b0 + lam / nu * v.sum(axis=0), atol=1e-11)


@pytest.mark.parametrize(("l", "r"), [(10, 20), (30, 4)])
def test_the_fit_is_optimal(l, r):
    P, codes = data(l, r, 3)
    Y = targets(codes, 3)
    fits = held_out_ridge(P, Y, penalties=PENALTIES, n_classes=3)
    G = P @ P.T
    b0 = shrunken_means(Y, 3, 2.0)[0]
    for penalty, v, b in zip(PENALTIES, fits.dual, fits.intercept, strict=True):
        lam = penalty * np.trace(G) / l
        a, intercept = refit(G, Y, lam, b0, 10.0)
        np.testing.assert_allclose(G @ v, G @ a, atol=1e-7)
        np.testing.assert_allclose(b, intercept, atol=1e-7)


def test_means_without_a_label_count_the_others():
    Y = targets(np.array([0, 1, 1, 2]), 3)
    mean, without = shrunken_means(Y, 3, 2.0)
    np.testing.assert_allclose(mean, 2 * np.array([3, 4, 3]) / 10 - 1)
    for i in range(4):
        np.testing.assert_allclose(without[i], shrunken_means(np.delete(Y, i, 0), 3, 2.0)[0])


def test_no_feature_leaves_the_shrunken_mean():
    Y = targets(np.array([0, 0, 1]), 2)
    fits = held_out_ridge(np.zeros((3, 2)), Y, penalties=PENALTIES, n_classes=2)
    assert np.isfinite(fits.held_out).all()
    assert np.abs(fits.intercept).max() < 1
