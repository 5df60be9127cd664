"""Products with a kernel and a graph are within their bounds of those of fractions, whatever the matrices look like."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from exact_fractions import fractions
from scipy.sparse.linalg import aslinearoperator
from sklearn.preprocessing import KernelCenterer

import specmargin as sm
from specmargin.kernels import BlockKernel, LowRankKernel
from specmargin.objectives import LapSVM
from specmargin.objectives.rounding.lapsvm import Image, Products, dual_with_error, primal_with_error, residual
from specmargin.rounding import bounded_product


def centred(seed):
    """A centred kernel of one sample at the mean of all: its row is nothing but rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 3))
    X = np.r_[X, -X, np.zeros((1, 3))] + 0.3
    K = KernelCenterer().fit_transform(X @ X.T)
    return (K + K.T) / 2


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("slices", [0, 1, 2])
def test_rows_that_are_rounding_have_bounds(slices, form):
    """An entry beside a diagonal of zero, or of -1e-17, was taken for zero: so was its rounding."""
    negative = 0
    for seed in range(12):
        K, alpha = centred(seed), np.random.default_rng(seed).normal(size=9) * 10.0 ** np.arange(9)
        negative += K[8, 8] <= 0
        products = Products(form(K), None)
        assert (np.abs(K) <= (1 + 1e-9) * np.outer(products.roots, products.roots)).all()
        np.testing.assert_allclose(products.roots[:8], np.sqrt(np.diag(K)[:8]), rtol=1e-9)
        image = products.image(alpha, slices=slices)
        off = np.abs(fractions(image.f) + fractions(image.f_low) - fractions(K) @ fractions(alpha))
        assert (off <= fractions(image.f_error)).all()
    assert negative > 5


class Scaled:
    """A graph of one's own whose ``matrix`` is not what it multiplies by."""

    def __init__(self, matrix, factor):
        self.matrix, self.factor, self.shape = matrix, factor, matrix.shape

    def __matmul__(self, x):
        return self.factor * (self.matrix @ x)


def test_the_matrix_of_a_stranger_is_not_what_it_multiplies_by(rng):
    """The bounds on its rounding were those of its attribute, here a millionth of what they had to be."""
    W = sm.graphs.knn_graph(rng.normal(size=(30, 2)), n_neighbors=4)
    L = sm.graphs.laplacian(W, normalized=False).matrix
    products, x = Products(np.eye(30), Scaled(L * 2.0**-20, 2.0**20)), rng.normal(size=30)
    g, error = products.graph(x)
    assert (error >= 2.0**-53 * (abs(L) @ np.abs(x))).all()
    assert (products.spread(np.abs(x)) >= abs(L) @ np.abs(x)).all()
    assert (np.abs(fractions(g) - fractions(L.toarray()) @ fractions(x)) <= fractions(error)).all()


def test_the_products_of_an_asymmetric_graph_prove_nothing_that_is_false(manifold_data):
    """Known by its products only: the penalty is that of the mean of L and its transpose, and so is the proof."""
    K, L, labels = manifold_data()
    skew = np.triu(0.5 * np.ones(L.shape), 1)
    hidden = LapSVM(K, aslinearoperator(L + skew - skew.T), labels, "squared", gamma_A=0.1, gamma_I=1.0)
    rival = sm.solvers.factorized(LapSVM(K, L, labels, "squared", gamma_A=0.1, gamma_I=1.0)).variables
    result = sm.solvers.factorized(hidden)
    least = result.certificate.primal_objective - result.certificate.gap
    assert hidden.value_at(rival["alpha"], rival["b"]) >= least
    assert result.certificate.is_optimal(1e-9)  # by the factorisation that takes the mean, too


@pytest.mark.parametrize("slices", [0, 1, 2])
def test_the_residual_of_the_dual_is_within_its_error(slices):
    """Where its parts cancel, and what rounding has left of them, too: by 135 times the error once."""
    rng, L = np.random.default_rng(0), np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]])
    for draw in range(100):
        gamma_A, gamma_I, graph = rng.uniform(0.1, 1.0), rng.uniform(0.5, 2.0), 2.0 ** -rng.integers(48, 55) * L
        obj = LapSVM(np.eye(3), graph, sm.encode_labels([0, 1, 1]), "squared", gamma_A=gamma_A, gamma_I=gamma_I)
        for alpha in rng.normal(size=(5, 3)):
            theta = 2.0 * gamma_A * alpha
            r, error = residual(obj, theta, obj.products.image(alpha, slices=slices))
            exact = 2 * Fraction(gamma_A) * fractions(alpha) - fractions(theta)
            exact = exact + 2 * Fraction(gamma_I) * (fractions(graph) @ fractions(alpha))
            assert (np.abs(exact - fractions(r)) <= fractions(error)).all(), draw


@pytest.mark.parametrize(("coef0", "degree"), [(-1.0, 1), (1.0, 3), (0.0, 2)])
def test_a_kernel_whose_bases_cancel_is_as_good_as_its_entries(coef0, degree):
    """x'x' - 1 of samples (1, z) is z z': of a rounding 20,000 times as large as what was charged."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(40), 1e-3 * rng.normal(size=40)])
    K = BlockKernel(X, kernel="poly", degree=degree, coef0=coef0, gamma=1.0)
    alpha = rng.normal(size=40)
    f, error = Products(K, None).kernel(alpha)
    exact = ((fractions(X) @ fractions(X).T + Fraction(coef0)) ** degree) @ fractions(alpha)
    assert (np.abs(exact - fractions(f)) <= fractions(error)).all()
    if coef0 >= 0:
        assert K.rounding < 1e-13


def exact_powers(L, x):
    for _ in range(L.power):
        x = fractions(L.matrix.toarray()) @ x
    return x


@pytest.mark.parametrize("slices", [0, 1, 2])
@pytest.mark.parametrize("power", [1, 3])
def test_images_and_their_norms_are_within_their_errors(slices, power):
    """Where all high parts cancel, so that the low ones and their rounding are what is left."""
    rng = np.random.default_rng(power)
    for draw in range(60):
        n = int(rng.integers(4, 9))
        W = np.triu(rng.random((n, n)) * 10.0 ** rng.integers(-6, 7, (n, n)), 1)
        L = sm.graphs.laplacian(W + W.T, normalized=False, power=power)
        F = np.column_stack([np.ones(n), -1.0 + 1e-15 * rng.normal(size=n)])
        K = LowRankKernel(F if draw % 2 else rng.normal(size=(n, 2)))
        alpha = rng.normal(size=n) * 10.0 ** rng.integers(0, 9, n)
        alpha -= K.factor @ np.linalg.lstsq(K.factor, alpha, rcond=None)[0] if draw % 3 else 0.0
        image = Products(K, L).image(alpha, slices=slices)
        f = fractions(K.factor) @ (fractions(K.factor).T @ fractions(alpha))
        known = fractions(image.f) + fractions(image.f_low)
        assert (np.abs(known - f) <= fractions(image.f_error)).all()
        g = exact_powers(L, known)
        assert (np.abs(fractions(image.g) + fractions(image.g_low) - g) <= fractions(image.g_error)).all()
        assert (np.abs(g - exact_powers(L, f)) <= fractions(image.g_shift)).all()
        value, error = image.ambient()
        assert abs(Fraction(value) - fractions(alpha) @ known) <= Fraction(error)
        value, error = image.intrinsic()
        assert abs(Fraction(value) - known @ g) <= Fraction(error)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
def test_slacks_that_are_nothing_but_rounding(loss):
    """1 - b cancels the high part of a decision, and what that rounds to its low part."""
    rng = np.random.default_rng(0)
    obj = LapSVM(np.eye(2), None, sm.encode_labels([0, 1]), loss)
    y, zero = obj.labels.sign, np.zeros(2)
    for _ in range(600):
        b = float(rng.uniform(-0.4, 0.4))
        f = y - b + rng.integers(-2, 3, 2) * 2.0**-53
        low = y * (Fraction(1) - Fraction(b) * fractions(y) - fractions(y) * fractions(f)) * (1 + Fraction(1, 2**50))
        low = low.astype(float)
        value, error = primal_with_error(obj, Image(zero, f, low, zero, zero, zero, zero, zero), b, zero, 0.0)
        slack = 1 - fractions(y) * (fractions(f) + fractions(low) + Fraction(b))
        slack = slack if loss == "squared" else np.maximum(slack, Fraction(0))
        exact = Fraction(obj.scale) * sum(slack if loss == "hinge" else slack**2)
        assert abs(Fraction(value) - exact) <= Fraction(error)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_squares_and_their_conjugates_are_within_their_errors(loss):
    """Beside a penalty that cancels the losses, and at multipliers of four, where a conjugate cancels by itself."""
    rng = np.random.default_rng(0)
    obj = LapSVM(np.eye(2), None, sm.encode_labels([0, 1]), loss, gamma_A=1e30, fit_intercept=False)
    y, zero, scale = obj.labels.sign, np.zeros(2), Fraction(obj.scale)
    for _ in range(300):
        f = y * rng.uniform(-2, 0.5, 2)
        penalty = -float(((1 - y * f) ** 2).sum())
        value, error = primal_with_error(obj, Image(zero, f, zero, zero, zero, zero, zero, zero), 0.0, zero, penalty)
        exact = scale * (sum((1 - fractions(y) * fractions(f)) ** 2) + Fraction(penalty))
        assert abs(Fraction(value) - exact) <= Fraction(error)
        beta = 4.0 + 1e-15 * rng.normal(size=2)
        image = obj.products.image(zero)
        value, error = dual_with_error(obj, y * beta, image, (0.0, 0.0))
        beta = fractions(beta)
        # The residual of multipliers of four costs 1e-29 here.
        exact = scale * (sum(beta - beta**2 / 4) - sum(beta**2) / (4 * Fraction(1e30)))
        assert Fraction(value) - Fraction(error) <= exact


def test_bounded_products(rng):
    """Of entries that cancel, in the rows and in the vector."""
    for n in (1, 3, 40):
        A, x = rng.normal(size=(5, n)) * 10.0 ** rng.integers(-6, 7, (5, n)), rng.normal(size=n)
        x[-1] = -(A[0, :-1] @ x[:-1]) / A[0, -1]
        value, error = bounded_product(A, x)
        assert (np.abs(fractions(value) - fractions(A) @ fractions(x)) <= fractions(error)).all()


def test_norms_of_images_whose_low_parts_round():
    """Low parts as large as the high ones, on different samples: only the rounding of their products is left."""
    rng, n = np.random.default_rng(5), 41
    first, zero = np.arange(n - 1) < (n - 1) // 2, np.zeros(n)
    for _ in range(200):
        f, g, f_low, g_low, alpha = (rng.normal(size=n) for _ in range(5))
        f_low[:-1][~first], g_low[:-1][first] = 0.0, 0.0
        f_low[-1] = g_low[-1] = 0.0
        # Both products of a high and a low part weigh the same, and a last sample cancels all of them.
        g_low *= (np.abs(f_low) @ np.abs(g)) / (np.abs(f) @ np.abs(g_low))
        f[-1], g[-1] = 1.0, 0.0
        g[-1] = -(f @ g + f_low @ g + f @ g_low)
        alpha[-1] = 1.0
        image = Image(alpha, f, f_low, zero, g, g_low, zero, zero)
        value, error = image.intrinsic()
        exact = (fractions(f) + fractions(f_low)) @ (fractions(g) + fractions(g_low))
        assert abs(Fraction(value) - exact) <= Fraction(error)
        f[-1] = -(alpha[:-1] @ f[:-1] + alpha @ f_low)
        value, error = Image(alpha, f, f_low, zero, g, g_low, zero, zero).ambient()
        assert abs(Fraction(value) - fractions(alpha) @ (fractions(f) + fractions(f_low))) <= Fraction(error)
        assert error <= 1e-13 * float(np.abs(alpha) @ (np.abs(f) + np.abs(f_low)))


def test_norms_of_images_are_charged_for_every_error():
    """Each error by itself, with the sign that makes the norm the largest."""
    rng, n, zero = np.random.default_rng(6), 7, np.zeros(7)
    for _ in range(50):
        f, g, off = rng.normal(size=n), rng.normal(size=n), 1e-3 * rng.random(n)
        value, error = Image(zero, f, zero, zero, g, zero, off, zero).intrinsic()
        worst = fractions(f) @ (fractions(g) + fractions(np.sign(f)) * fractions(off))
        assert 0.999 * error <= abs(float(worst - Fraction(value))) <= error
        f_off, shift = 1e-3 * rng.random(n), 1e-2 * rng.random(n)
        value, error = Image(zero, f, zero, f_off, g, zero, off, shift).intrinsic()
        # (f + d)'(g + e + S d) less f'g, but for what is linear in d.
        worst = np.abs(fractions(f)) @ fractions(off) + fractions(f_off) @ (fractions(off) + fractions(shift))
        assert worst <= Fraction(error) * (1 + Fraction(1, 10**6))
        assert error <= 1.1 * float(worst)


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**40])
@pytest.mark.parametrize("slices", [1, 2])
def test_split_products_do_not_depend_on_the_unit_of_the_kernel(scale, slices, rng):
    """Neither they nor their bounds, which are far below a rounding of the product."""
    X, v = rng.normal(size=(12, 3)), rng.normal(size=12)
    K = X @ X.T
    high, low, error = Products(scale * K, None).split_kernel(v, slices)
    off = fractions(scale * K) @ fractions(v) - fractions(high) - fractions(low)
    assert (np.abs(off) <= fractions(error)).all()
    assert (error <= 2.0**-15 * 2.0**-53 * scale * 12 * np.abs(K).max() * np.abs(v).max()).all()
    for part, known in zip((high, low, error), Products(K, None).split_kernel(v, slices), strict=True):
        np.testing.assert_array_equal(part, scale * known)
