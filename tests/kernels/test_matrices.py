"""Kernel matrices against explicit formulas, and the width rules against scikit-learn's SVC."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.svm import SVC

from specmargin.kernels import gram, resolve_gamma
from specmargin.kernels.matrices import KERNELS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = RNG.normal(size=(7, 4))

EXPLICIT = {
    "rbf": lambda a, b: np.exp(-0.3 * cdist(a, b) ** 2),
    "poly": lambda a, b: (0.3 * a @ b.T + 2.0) ** 4,
    "linear": lambda a, b: a @ b.T,
    "cosine": lambda a, b: 1.0 - cdist(a, b, "cosine"),
}


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("name", sorted(EXPLICIT))
def test_blocks_match_their_formula(name, as_input):
    options = {"kernel": name, "gamma": 0.3, "degree": 4, "coef0": 2.0}
    K, block = gram(as_input(X), **options), gram(as_input(X), as_input(Y), **options)
    assert isinstance(K, np.ndarray)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, EXPLICIT[name](X, X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(block, EXPLICIT[name](X, Y), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 1e-74, 1e-16, 1e60])
@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_the_cosine_does_not_see_the_length(scale, as_input):
    """scikit-learn takes dense rows shorter than 2e-15 for rows of zeros."""
    small = np.where(np.arange(7)[:, None] % 2 == 0, scale, 1.0) * Y
    np.testing.assert_allclose(gram(as_input(small), X, kernel="cosine"), EXPLICIT["cosine"](Y, X), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear", "cosine"])
def test_training_matrix_is_exactly_symmetric(name):
    # More rows than one block of the mirror, and float32 input, which scikit-learn computes chunk by chunk.
    rows = RNG.normal(size=(1100, 3)).astype(np.float32)
    K = gram(rows, kernel=name)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, gram(rows, rows.copy(), kernel=name), rtol=1e-9, atol=1e-9)


def test_mirroring_repairs_an_asymmetric_matrix_of_several_blocks():
    exact = np.random.default_rng(1).normal(size=(1100, 1100))
    exact = exact + exact.T
    noisy = exact + 1e-12 * np.tril(np.ones_like(exact), -1)
    before = noisy.copy()
    K = gram(noisy, kernel="precomputed")
    np.testing.assert_array_equal(K, exact)
    np.testing.assert_array_equal(noisy, before)


def test_every_named_kernel_has_its_formula_here():
    assert set(KERNELS) == {*EXPLICIT, "polynomial", "precomputed"}


def test_callable_gets_both_matrices():
    K = gram(X, Y, kernel=lambda a, b: (a @ b.T) ** 2)
    np.testing.assert_allclose(K, (X @ Y.T) ** 2)
    np.testing.assert_allclose(gram(X, kernel=lambda a, b: sp.csr_array(a @ b.T)), X @ X.T)


def test_precomputed():
    K = X @ X.T
    np.testing.assert_allclose(gram(K, kernel="precomputed"), K)
    np.testing.assert_allclose(gram(sp.csr_array(K), kernel="precomputed"), K)
    block = Y @ X.T
    np.testing.assert_array_equal(gram(block, K, kernel="precomputed"), block)
    with pytest.raises(ValueError, match=r"square kernel matrix, got the shape \(7, 30\)"):
        gram(block, kernel="precomputed")
    with pytest.raises(ValueError, match="7 columns but there are 30 reference rows"):
        gram(block.T, K, kernel="precomputed")
    K[2, 5] += 1.0
    with pytest.raises(ValueError, match=r"not symmetric: K\[2, 5\]"):
        gram(K, kernel="precomputed")


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_scale_is_the_gamma_of_svc(as_input):
    rows = np.abs(X) * (RNG.random(X.shape) < 0.5)
    svc = SVC(gamma="scale").fit(as_input(rows), np.arange(30) % 2)
    assert resolve_gamma(as_input(rows), "scale") == pytest.approx(svc._gamma, rel=1e-12)


@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_median(as_input):
    expected = 1.0 / (2.0 * np.median(pdist(X)) ** 2)
    assert resolve_gamma(as_input(X), "median") == pytest.approx(expected, rel=1e-10)


def test_median_of_many_rows_is_repeatable_and_close():
    rows = np.random.default_rng(2).normal(size=(2500, 3))
    value = resolve_gamma(rows, "median")
    assert value == resolve_gamma(rows, "median")
    assert value == pytest.approx(1.0 / (2.0 * np.median(pdist(rows)) ** 2), rel=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_median_of_mostly_equal_rows_is_over_the_others(seed):
    # Forty features: scikit-learn then mostly finds equal rows slightly apart, which must not count as a distance.
    rows = np.repeat(1e3 * np.random.default_rng(seed).normal(size=(1, 40)), 22, axis=0)
    rows[20:, 0] += 5.0
    assert resolve_gamma(rows, "median") == pytest.approx(1.0 / (2.0 * 25.0), rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("as_input", [np.asarray, sp.csr_array])
def test_constant_data_has_a_finite_kernel(value, rule, as_input):
    rows = as_input(np.full((50, 7), value))
    assert resolve_gamma(rows, rule) == 1.0
    np.testing.assert_allclose(gram(rows, gamma=rule), np.ones((50, 50)))


def test_single_row():
    assert resolve_gamma([[3.0, 1.0]], "median") == 1.0
    assert gram([[3.0]]).tolist() == [[1.0]]
