"""The clustering objective against literal sums, finite differences, and eigenvectors of dense projected matrices."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg as sla
from scipy.sparse.csgraph import laplacian
from scipy.spatial.distance import cdist
from sklearn.preprocessing import KernelCenterer

import specmargin as sm
from specmargin.objectives import clustering
from specmargin.objectives.clustering import RegularizedClustering


def case(n=14, gamma=0.3, seed=0, width=4.0, normed=False):
    """Objective with a well-conditioned K, and the adjacency."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    squares = cdist(X, X, "sqeuclidean")
    W = np.exp(-squares) - np.eye(n)
    return RegularizedClustering(np.exp(-width * squares), laplacian(W, normed=normed), gamma), W


def dense_solution(obj):
    """All eigenvalues, and f and alpha, by K^-1 and an explicit basis of the vectors of mean zero."""
    n = len(obj.K)
    inverse = np.linalg.inv(obj.K)
    N = sla.null_space(np.ones((1, n)))
    theta, V = np.linalg.eigh(N.T @ (obj.gamma * inverse + obj.L @ np.eye(n)) @ N)
    return theta, N @ V, inverse @ N @ V


# Values and derivatives


def test_the_value_is_the_literal_sum(tol):
    obj, W = case()
    alpha = np.random.default_rng(1).normal(size=(14, 2))
    literal = 0.0
    for a in alpha.T:
        f = [sum(obj.K[i, j] * a[j] for j in range(14)) for i in range(14)]
        literal += 0.3 * sum(a[i] * f[i] for i in range(14))
        literal += sum(W[i, j] * (f[i] - f[j]) ** 2 / 2 for i in range(14) for j in range(14))
    assert obj.value_at(alpha) == pytest.approx(literal, rel=tol["exact"])
    assert obj.value_at(alpha[:, 0]) + obj.value_at(alpha[:, 1]) == pytest.approx(literal, rel=tol["exact"])
    f = obj.decisions_at(alpha)
    np.testing.assert_allclose(
        obj.rayleigh_quotients(alpha),
        [obj.value_at(a) / (g @ g) for a, g in zip(alpha.T, f.T, strict=True)],
        rtol=1e-12,
    )


def test_the_gradient_by_central_differences(tol):
    obj, _ = case()
    alpha = np.random.default_rng(2).normal(size=14)
    step = 1e-5
    differences = [(obj.value_at(alpha + step * e) - obj.value_at(alpha - step * e)) / (2 * step) for e in np.eye(14)]
    np.testing.assert_allclose(obj.gradient(alpha), differences, rtol=tol["gradient"], atol=1e-6)


def test_violation_is_the_largest_of_its_parts():
    obj, _ = case()
    _, f, alpha = dense_solution(obj)
    assert obj.violation(alpha[:, :3]) < 1e-13
    assert obj.violation(2 * alpha[:, :1]) == pytest.approx(3.0)
    shifted = alpha[:, :1] + 0.01 * np.linalg.solve(obj.K, np.ones((14, 1)))
    assert obj.violation(shifted) == pytest.approx(0.14)
    mixed = np.column_stack([alpha[:, 0], np.sqrt(0.99) * alpha[:, 1] + 0.1 * alpha[:, 0]])
    assert obj.violation(mixed) == pytest.approx(0.1)
    assert obj.violation(f[:, 0]) > 1e-3  # values are no coefficients


@pytest.mark.parametrize("normed", [False, True])
def test_stationarity_vanishes_at_eigenvectors_only(normed):
    obj, _ = case(normed=normed)
    _, _, alpha = dense_solution(obj)
    assert (obj.stationarity(alpha[:, :4]) < 1e-12).all()
    mixed = alpha[:, 0] + 0.1 * alpha[:, 1]
    assert obj.stationarity(mixed)[0] > 1e-3
    # The multiplier of 1'f = 0 has work to do where 1 is no null vector of L, or K1 none of K.
    f = obj.K @ alpha[:, 0]
    without = obj.K @ (obj.gamma * alpha[:, 0] + obj.L @ f - obj.rayleigh_quotients(alpha[:, 0]) * f)
    assert np.linalg.norm(without) > 1e-3 * np.linalg.norm(obj.K @ f)


# The certificate


@pytest.mark.parametrize("m", [1, 2, 5, 13])
@pytest.mark.parametrize("normed", [False, True])
def test_the_certificate_proves_the_dense_solution(m, normed, tol):
    obj, _ = case(normed=normed)
    theta, _, alpha = dense_solution(obj)
    certificate = obj.certificate({"alpha": alpha[:, :m]})
    assert certificate.primal_objective == pytest.approx(theta[:m].sum(), rel=tol["linalg"])
    assert certificate.is_optimal(1e-11)
    assert certificate.primal_residual < 1e-12
    assert certificate.dual_residual < 1e-10


def test_repair_finds_the_eigenvectors_in_a_span(tol):
    obj, _ = case()
    theta, f, alpha = dense_solution(obj)
    rng = np.random.default_rng(5)
    spoilt = 1e3 * (alpha[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=3))
    certificate = obj.certificate({"alpha": spoilt})
    assert certificate.primal_residual > 1e3
    repaired = obj.feasible(alpha[:, :3] @ rng.normal(size=(3, 3)))
    assert obj.violation(repaired) < 1e-12
    np.testing.assert_allclose(obj.rayleigh_quotients(repaired), theta[:3], rtol=tol["linalg"])
    np.testing.assert_allclose(np.abs((obj.K @ repaired).T @ f[:, :3]), np.eye(3), atol=1e-7)


def test_repair_survives_a_large_offset():
    """Centring cancels eight digits; a second pass restores them."""
    obj, _ = case()
    alpha = dense_solution(obj)[2]
    assert obj.violation(obj.feasible(alpha[:, :2] + 1e8)) < 1e-13


# The coordinates


def test_the_coordinates_hold_the_literal_forms():
    obj, _ = case(n=9)
    basis = obj.basis
    assert basis.dimension == 8
    alpha = basis.coefficients(np.eye(8))
    f = obj.K @ alpha
    np.testing.assert_allclose(f.sum(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(f.T @ f, np.diag(basis.w), atol=1e-12)
    np.testing.assert_allclose(f.T @ obj.L @ f, basis.roughness, atol=1e-12)
    np.testing.assert_allclose(alpha.T @ obj.K @ alpha, np.eye(8), atol=1e-12)


@pytest.mark.parametrize("m", [1, 3, 8])
def test_the_lowest_eigenvalues_rise_with_their_eigenvectors(m):
    obj, _ = case(n=9)
    values, y = obj.basis.lowest(obj.forms, m)
    np.testing.assert_allclose(values, dense_solution(obj)[0][:m], rtol=1e-9)
    np.testing.assert_allclose(obj.forms @ y, obj.basis.w[:, None] * y * values, atol=1e-9)


def test_a_centred_kernel_stays_as_it_is():
    X = np.random.default_rng(0).normal(size=(20, 3)) + 5.0
    L = case(n=20)[0].L
    plain = RegularizedClustering(X @ X.T, L, 0.1)
    centred = RegularizedClustering(KernelCenterer().fit_transform(X @ X.T), L, 0.1)
    assert (plain.basis.row_sums is None, centred.basis.row_sums is None) == (False, True)
    # A linear kernel of rank three has two directions of mean zero, the centred one three.
    assert (plain.basis.dimension, centred.basis.dimension) == (2, 3)


# Bad input


def test_the_laplacian_may_be_an_operator(tol):
    X = np.random.default_rng(0).normal(size=(30, 2))
    K, L = sm.kernels.gram(X), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=4), power=2)
    a = np.random.default_rng(1).normal(size=(30, 2))
    powered, dense = (RegularizedClustering(K, M, 0.1).certificate({"alpha": a}) for M in (L, L.toarray()))
    assert powered.primal_objective == pytest.approx(dense.primal_objective, rel=tol["exact"])
    assert powered.dual_objective == pytest.approx(dense.dual_objective, rel=tol["linalg"])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_the_proved_value_covers_errors_of_the_functions(seed, offset):
    """Whatever the functions are within their errors; smooth ones with a little noise lose most by these."""
    obj = case(seed=seed, gamma=1e-6)[0]
    if offset:
        centred = KernelCenterer().fit_transform(obj.K)
        obj = RegularizedClustering((centred + centred.T) / 2, obj.L, obj.gamma)
    basis, rng = obj.basis, np.random.default_rng(seed)
    y = basis.lowest(obj.forms, 1)[1]
    alpha = basis.coefficients(y / np.linalg.norm(y) + 0.02 * rng.normal(size=y.shape) / np.sqrt(basis.w)[:, None])
    f = obj.K @ alpha
    f = f - f.mean()
    slope = obj.gamma * alpha + 2.0 * (obj.L @ f)
    off = 1e-9 * np.abs(f).max() * np.ones_like(f)
    true = f[:, 0] @ (obj.gamma * alpha[:, 0] + obj.L @ f[:, 0]) / (f[:, 0] @ f[:, 0])
    for away in (np.sign(slope), -np.sign(f), np.sign(slope) - np.sign(f)):
        near = f - off * away / max(np.abs(away).max(), 1.0)
        Lf = obj.L @ near
        highest = obj._highest(alpha, near, off, Lf, 1e-15 * np.abs(Lf))
        assert true <= highest <= true * (1 + 1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_of_a_kernel_that_is_nearly_centred_the_sum_is_known(seed):
    """Below it, and row sums above: a plain sum is rounding."""
    rng = np.random.default_rng(seed)
    n = 12
    Q = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, n - 1))]))[0][:, 1:]
    Q[:, 0] += 3e-12
    K = (Q * np.linspace(1.0, 0.1, n - 1)) @ Q.T
    obj = RegularizedClustering((K + K.T) / 2, np.eye(n), 0.1)
    exact = [sum(map(Fraction, row)) for row in obj.K.tolist()]
    k, total = obj._row_sums
    assert all(abs(x) <= Fraction(y) for x, y in zip(exact, k.tolist(), strict=True))
    assert total == pytest.approx(float(sum(exact)), rel=2e-3)
    assert total < 0 or Fraction(total) <= sum(exact)


@pytest.mark.parametrize("lift", [1e-8, 1e-3, 1e-2])
def test_the_proved_value_covers_the_way_to_mean_zero(lift):
    """Also between columns that are orthogonal before it only."""
    obj = case(gamma=1e-4)[0]
    alpha = dense_solution(obj)[2][:, [0, 8]]
    alpha = alpha + lift * np.array([1.0, -1.0]) * np.abs(alpha).max()
    f = obj.K @ alpha
    alpha = alpha @ np.linalg.inv(np.linalg.cholesky(f.T @ f)).T
    f = obj.K @ alpha
    off, Lf = 1e-15 * np.abs(alpha).sum(axis=0) * np.ones_like(f), obj.L @ f
    g = obj.K @ (alpha - f.sum(axis=0) / obj.K.sum())
    shifted = alpha - f.sum(axis=0) / obj.K.sum()
    true = np.trace(np.linalg.solve(g.T @ g, obj.gamma * shifted.T @ g + g.T @ (obj.L @ g)))
    assert true <= obj._highest(alpha, f, off, Lf, 1e-15 * np.abs(Lf)) * (1 + 1e-13)


def test_a_kernel_that_is_not_quite_symmetric_is_its_symmetric_part():
    obj = case(width=0.3, gamma=1e-9)[0]
    N = np.random.default_rng(0).normal(size=obj.K.shape)
    skewed = RegularizedClustering(obj.K + 1e-9 * (N - N.T), obj.L, obj.gamma)
    np.testing.assert_array_equal(skewed.K, skewed.K.T)
    assert sm.solvers.eigenmaps(skewed).certificate.is_optimal(1e-6)
    np.testing.assert_allclose(skewed.K, obj.K, atol=1e-15)


def test_what_is_certified_is_what_is_returned(monkeypatch):
    """Not what `feasible` makes of it once more, which of large coefficients are other functions."""
    obj, certified = case(width=0.3, gamma=1e-9)[0], []
    honest = RegularizedClustering._highest

    def watched(self, alpha, *rest):
        certified.append(alpha)
        return honest(self, alpha, *rest)

    monkeypatch.setattr(RegularizedClustering, "_highest", watched)
    returned = sm.solvers.eigenmaps(obj, 3).variables["alpha"]
    np.testing.assert_array_equal(np.abs(certified[-1]), np.abs(returned))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_proved_value_covers_shorter_functions_and_rounded_products(sign):
    """Functions that L does not see and K hardly: their lengths decide, and what L rounds is all that it says."""
    n = 10
    obj = RegularizedClustering(np.eye(n) - 1.0 / n, np.zeros((n, n)), 1.0)
    alpha = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    zero, off = np.zeros((n, 1)), np.full((n, 1), 0.1)
    near = alpha * (1.0 + 0.1 * sign)  # of the functions alpha, within 0.1
    true = float((alpha * alpha).sum() / (alpha * alpha).sum())
    assert true <= obj._highest(alpha, near, off, zero, zero)
    seen = obj._highest(alpha, alpha, zero, zero, np.full((n, 1), 0.5))
    assert seen >= 1.5  # an L that is half the unit matrix, and was rounded to nothing


@pytest.mark.parametrize("mean", [-1.0, 1.0])
def test_the_proved_value_covers_row_sums_that_are_rounding(mean, monkeypatch):
    """With a unit of 1e-3: of a kernel that counts as centred row sums of that size are cleared, whichever they are."""
    n, rng = 10, np.random.default_rng(0)
    monkeypatch.setattr(clustering, "gamma", lambda m: 1e-3 * m)
    P, k = np.eye(n) - 1.0 / n, 1e-3 * rng.normal(size=n)
    K = P + np.add.outer(k, k) / n
    obj = RegularizedClustering(K, np.zeros((n, n)), 1.0)
    monkeypatch.setattr(RegularizedClustering, "_centred", True)
    zero, alpha = np.zeros((n, 1)), P @ rng.normal(size=(n, 1)) + 3.0 * mean
    f, g = K @ alpha, P @ K @ P @ alpha
    true = float((g * (P @ alpha)).sum() / (g * g).sum())
    row_sums = np.abs(K.sum(axis=1))
    assert (row_sums < 1e-3 * n * np.abs(K).sum(axis=1)).all()
    highest = obj._highest(alpha, f, zero, zero, zero)
    assert true <= highest
    # What a sum of n terms rounds is part of it: with row sums of zero it is all of it.
    flat = RegularizedClustering(P, np.zeros((n, n)), 1.0)
    off = 1e-3 * n * np.abs(P).sum(axis=1)[:, None] * 3.0
    alpha = P @ rng.normal(size=(n, 1)) + 3.0
    f = P @ alpha
    near = f + 0.5 * off * np.sign(f)
    assert float((f * (P @ alpha)).sum() / (f * f).sum()) <= flat._highest(alpha, near, zero, zero, zero)


def test_the_value_of_columns_that_are_a_little_too_long_is_their_quotient():
    obj = case()[0]
    alpha = dense_solution(obj)[2][:, [0]]
    for stretch in (1.0, 1.0 + 4e-10, 1.0 - 4e-10):
        found = obj.certificate({"alpha": stretch * alpha})
        assert found.primal_objective == pytest.approx(obj.rayleigh_quotients(alpha)[0], rel=1e-12)


@pytest.mark.parametrize("centred", [False, True])
def test_measures_of_several_functions_are_those_of_each(centred):
    obj, _ = case()
    if centred:
        obj = RegularizedClustering(KernelCenterer().fit_transform(obj.K), obj.L, obj.gamma)
    alpha = np.random.default_rng(1).normal(size=(14, 3)) * [1.0, 10.0, 0.1]
    for measure in (obj.stationarity, obj.rayleigh_quotients):
        np.testing.assert_allclose(measure(alpha), [measure(column)[0] for column in alpha.T], rtol=1e-9)
