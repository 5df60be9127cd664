"""Allowances for rounding against fractions, one small problem for each: quick tests, made to be at their limits."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from exact_fractions import fractions, is_definite

import specmargin as sm
from specmargin import rounding
from specmargin.objectives import S3VM, RegularizedClustering, SpectrumMargin
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.objectives.rounding import clustering as bound
from specmargin.optima import S3VMRelaxation
from specmargin.optima import bound as s3vm_bound
from specmargin.spectra import Spectrum


def longdouble(x):
    """A long double as a fraction: its two halves are floats."""
    high = float(x)
    return Fraction(high) + Fraction(float(x - np.longdouble(high)))


# Products


@pytest.mark.parametrize("n", [1, 10, 2**30, 2**45, 2**52])
def test_the_cost_of_n_operations(n):
    exact = Fraction(n, 2**53) / (1 - Fraction(n, 2**53))
    assert abs(Fraction(rounding.gamma(n)) / exact - 1) < Fraction(1, 2**50)
    assert np.isinf(rounding.gamma(2**53))


def test_the_unit_of_long_doubles_is_their_largest_rounding():
    half = np.finfo(np.longdouble).eps / 2
    lost = 1 + longdouble(half) - longdouble(np.longdouble(1) + half)
    assert 0 < lost <= Fraction(rounding.EXTENDED_UNIT)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_products_of_few_terms_have_a_rounding_too(n):
    rng = np.random.default_rng(n)
    A, x = rng.uniform(1, 2, (40, n)), rng.uniform(1, 2, n)
    exact = fractions(A) @ fractions(x)
    value, error = rounding.extended_product(A, x)
    off = [abs(longdouble(v) - z) for v, z in zip(value, exact, strict=True)]
    assert all(d <= Fraction(e) for d, e in zip(off, error.tolist(), strict=True))
    assert any(off)
    for parts in (1, 2):
        high, low, error = rounding.split_product(A, x, parts)
        off = [abs(Fraction(h) + Fraction(t) - z) for h, t, z in zip(high.tolist(), low.tolist(), exact, strict=True)]
        assert all(d <= Fraction(e) for d, e in zip(off, error.tolist(), strict=True))


@pytest.mark.parametrize("n", [255, 512, 600, 1100, 1792])
def test_blocks_of_whole_numbers_are_exact(n):
    rng = np.random.default_rng(n)
    A, x = rng.integers(-9, 10, (300, n)), rng.integers(-9, 10, n)
    assert (rounding.blocked_product(A.astype(float), x.astype(float)) == A @ x).all()


def test_split_products_scale_with_powers_of_two_and_know_zeros():
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(5, 7)), rng.normal(size=7)
    for one, other in zip(rounding.split_product(A, x, 2), rounding.split_product(A, 2.0**-70 * x, 2), strict=True):
        assert (2.0**-70 * one == other).all()
    for B, z in ((0 * A, x), (A, 0 * x), (A[:, :0], x[:0])):
        assert not any(part.any() for part in rounding.split_product(B, z, 2))


def test_a_product_of_large_numbers_is_none_of_nan():
    assert rounding.exact_dot(np.array([1e308, 1e307]), np.array([0.5, 1.0])) == pytest.approx(6e307)


# Over eigenvectors


def over_eigenvectors(eps=0.0):
    rng = np.random.default_rng(5)
    spectrum = Spectrum(np.array([0.1, 0.2]), rng.normal(size=(8, 2)), 1)
    y = np.array([0, 1, 0, 1, -1, -1, -1, -1])
    return SpectrumMargin(spectrum, sm.encode_labels(y), C=4.0, order=False, eps=eps)


@pytest.mark.parametrize("eps", [0.0, 0.25, 0.5 - 2.0**-12])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_two_eigenvectors_is_below_that_of_fractions(eps, seed):
    """Where the sum of the conjugates cancels, what is left shows the rounding of long doubles."""
    rng, obj = np.random.default_rng(seed), over_eigenvectors(eps)
    gamma = obj.labels.sign * rng.uniform(0.5, 1, 4)
    rho = 1 - 2 * Fraction(eps)

    def exact(z):
        S = [Fraction(x) ** 2 / 2 for x in z.tolist()]  # of two weights the extreme ones are each alone
        return rho * max(S) + Fraction(eps) * sum(S)

    total = sum(Fraction(x) for x in np.abs(gamma).tolist())
    z = rng.uniform(0.5, 1, 2)
    for _ in range(60):  # scores whose quadratic form is the sum of the conjugates, as nearly as floats can
        z = z * np.sqrt(float(total / exact(z)))
    least = obj._dual_bounds(gamma, z, np.zeros(2))[1]
    assert Fraction(least) <= total - exact(z)


@pytest.mark.parametrize("seed", range(20))
def test_differences_of_objectives_have_a_rounding(monkeypatch, seed):
    rng, obj = np.random.default_rng(seed), over_eigenvectors()
    primal = rng.uniform(1, 1.9)
    upper, dual = primal * (1 + 3e-16), primal * (1 - 2e-16)
    lower = dual * (1 - rng.uniform(0.1, 0.9))
    monkeypatch.setattr(SpectrumMargin, "_primal_bounds", lambda *_: (primal, upper))
    monkeypatch.setattr(SpectrumMargin, "_dual_bounds", lambda *_: (dual, lower))
    monkeypatch.setattr(SpectrumMargin, "primal_objective", lambda *_: primal)
    monkeypatch.setattr(SpectrumMargin, "dual_bound", lambda *_: dual)
    point = SimpleNamespace(v=np.zeros(2), b=0.0, gamma=np.zeros(4), kappa=np.zeros(obj.cone.m))
    found = obj.prove(point)
    exact = Fraction(upper) - Fraction(primal) + Fraction(dual) - Fraction(lower)
    # The gap of the certificate, too, is a difference of floats.
    assert Fraction(found.rounding) >= exact + Fraction(primal + dual) / 2**53


# Clustering


def hadamard():
    return np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2


@pytest.mark.parametrize("seed", range(40))
def test_the_refined_envelope_is_above_the_kernel_of_fractions(seed):
    """In coordinates that have no rounding of their own: those of a Hadamard matrix."""
    rng, U = np.random.default_rng(seed), hadamard()
    F = U[:, 1:] * np.array([1.0, 1e-7, 1e-8]) * rng.uniform(0.5, 1, 3)
    K = F @ F.T + rng.uniform(0.1, 1)
    K = (K + K.T) / 2
    k = K.sum(axis=1)
    K0, error = bound.centred_kernel(K, k)
    obj = RegularizedClustering(K, np.eye(4), 1.0)
    # Eigenvalues that are off by as much as the kernel: what is left of both may add up.
    w = np.array([U[:, j] @ K0 @ U[:, j] for j in range(4)]) + 1e-16 * rng.uniform(-1, 1, 4)
    envelope = bound.Envelope.of(K0, error, k, w, U, obj.products).refined
    exact = fractions(K)
    sums = exact.sum(axis=1)
    exact = exact - np.multiply.outer(sums, sums) / sums.sum()
    wide = fractions(U)
    above = np.diag(fractions(envelope.w)) - wide.T @ exact @ wide
    assert is_definite(above, strictly=False)
    assert float(max(above.diagonal())) < 1e-13 * np.abs(K).max()


def clustered(seed=1, n=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n + 2))
    W = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) == 1
    return RegularizedClustering(X @ X.T / n, np.diag(W.sum(axis=1)) - 1.0 * W, 0.1), rng


@pytest.mark.parametrize("t", [-0.05, 0.05])
def test_columns_that_are_not_orthogonal_may_cost_more_than_each_alone(t):
    obj, rng = clustered()
    f = rng.normal(size=(9, 2))
    f = np.linalg.qr(f - f.mean(axis=0))[0]
    alpha = np.linalg.solve(obj.K, f) @ np.array([[1.0, t], [t, 1.0]])
    f = obj.K @ alpha
    Lf, off = obj.L @ f, np.full_like(f, 1e-14)
    true = np.trace(np.linalg.solve(f.T @ f, obj.gamma * alpha.T @ f + f.T @ Lf))
    assert true <= obj._highest(alpha, f, off, Lf, 1e-15 * np.abs(Lf)) * (1 + 1e-12)


def test_columns_of_very_different_lengths_are_independent():
    obj, rng = clustered()
    alpha = rng.normal(size=(9, 2))
    f = obj.K @ obj.feasible(alpha * np.array([1.0, 1e-9]))
    assert np.abs(f.T @ f - np.eye(2)).max() < 1e-10
    g = obj.K @ alpha
    k = obj.K.sum(axis=1)
    g = g - np.outer(k, g.sum(axis=0) / k.sum())
    assert np.abs(g - f @ (f.T @ g)).max() < 1e-6


# Others


def test_an_intercept_between_bounds_that_rounding_has_crossed():
    rng, loss = np.random.default_rng(0), RelativeMargin(1.0, 1.1)
    y, crossed = np.array([-1.0, 1.0]), 0
    for c in rng.uniform(0.1, 3, 300):
        f = np.array([-1.1, 1.1]) + c
        crossed += -1.1 - f.min() > 1.1 - f.max() and f.max() - f.min() <= 2.2
        scale, b = loss.repair_decisions(y, f, 0.0)
        assert np.abs(scale * f + b).max() <= 1.1 * (1 + 1e-14)
    assert crossed > 5


def test_a_bound_that_is_known_is_kept(monkeypatch):
    X = np.array([[-2.0], [2.0], [-1.0], [1.0]])
    relaxation = S3VMRelaxation(S3VM(X, sm.encode_labels([0, 1, -1, -1]), C=1.0))
    monkeypatch.setattr(s3vm_bound, "PIVOTED", -1)
    theta, beta = np.full(2, 0.25), np.full(2, 0.5)
    for lower, kept in ((0.5, 0.5), (0.0, 0.0), (-1.0, 0.0)):
        found = s3vm_bound._at_least(relaxation, lower, theta, beta)
        assert found[0] == kept
        assert found[1].any() == found[2].any() == (lower >= 0)


def test_sparse_rows_that_are_tiny_stay_sparse():
    X = np.array([[3.0, 0.0], [2.0**-300, 0.0]])
    found = rounding.directions(sp.csr_array(X))
    assert found.format == "csr"
    assert found.toarray().tolist() == rounding.directions(X).tolist() == [[3.0, 0.0], [0.5, 0.0]]


def test_what_a_certificate_is_not_told_counts_nothing():
    plain = sm.Certificate(1.0, 1.0, rounding=0.01)
    assert plain.primal_residual == plain.dual_residual == plain.complementarity == 0.0
    assert plain.status(1e-6) is sm.Status.OPTIMAL_INACCURATE  # up to a hundredth, and that itself
    assert sm.Certificate(1.0, 1.0, rounding=np.nextafter(0.01, 1)).status(1e-6) is sm.Status.UNPROVED
