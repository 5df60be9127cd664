"""The parts of the proof against exact sums, eigenvalues, and kernels that were made to be at its limits."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_fractions import fractions

import specmargin as sm
from specmargin.objectives.clustering import RegularizedClustering
from specmargin.objectives.rounding import clustering as bound
from specmargin.objectives.rounding.lapsvm import Products


def kernel(seed, n=9, offset=0.0):
    X = np.random.default_rng(seed).normal(size=(n, 2)) + offset
    return X @ X.T + 1e-12 * n * np.eye(n) * (1.0 + offset**2)


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
def test_the_kernel_of_mean_zero_is_that_of_fractions(offset):
    K = kernel(0, offset=offset)
    exact = [[Fraction(x) for x in row] for row in K.tolist()]
    k = [sum(row) for row in exact]
    exact = [[x - a * b / sum(k) for x, b in zip(row, k, strict=True)] for row, a in zip(exact, k, strict=True)]
    once, error = bound.centred_kernel(K, K.sum(axis=1))
    high, low, least = bound._in_two_parts(K, K.sum(axis=1))
    off = [[Fraction(x) - z for x, z in zip(*rows, strict=True)] for rows in zip(once.tolist(), exact, strict=True)]
    two = [
        [Fraction(x) + Fraction(t) - z for x, t, z in zip(*rows, strict=True)]
        for rows in zip(high.tolist(), low.tolist(), exact, strict=True)
    ]
    assert float(sum(x * x for row in off for x in row)) ** 0.5 <= error
    assert float(sum(x * x for row in two for x in row)) ** 0.5 <= least
    assert least < 1e-9 * error


def nearly_centred(seed=317, delta=2.0**-50):
    """A kernel whose entries are 1 and its row sums delta; of their sum, delta^2, a plain sum knows no digit."""
    rng = np.random.default_rng(seed)
    K = np.zeros((7, 7))
    K[:3, :3] = np.outer([1.0, -1.0, delta], [1.0, -1.0, delta])
    b = rng.integers(-(2**20), 2**20, size=3)
    b = np.append(b, -b.sum()) / 2.0**20
    K[3:, 3:] = np.outer(b, b)
    X = rng.normal(size=(3, 4))
    X -= X.mean(axis=0)
    X -= X.mean(axis=1)[:, None]
    K[:3, 3:] = 2.0**-44 * X
    K[3:, :3] = K[:3, 3:].T
    return K


def test_row_sums_whose_sum_may_be_rounding_divide_nothing():
    K = nearly_centred()
    k = [sum(map(Fraction, row)) for row in K.tolist()]
    for parts in (bound.centred_kernel(K, K.sum(axis=1)), bound._in_two_parts(K, K.sum(axis=1))):
        *K0, error = parts
        exact = [
            [Fraction(x) - a * b / sum(k) for x, b in zip(row, k, strict=True)]
            for row, a in zip(K.tolist(), k, strict=True)
        ]
        off = [
            sum(map(Fraction, map(float, xs))) - z
            for *xs, z in zip(*(np.ravel(x) for x in K0), np.ravel(exact), strict=True)
        ]
        assert float(sum(x * x for x in off)) ** 0.5 <= error
    even = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert np.isinf(bound.centred_kernel(even, even.sum(axis=1))[-1])
    assert np.isinf(bound._in_two_parts(even, even.sum(axis=1))[-1])


def test_a_kernel_without_a_bound_leaves_that_of_the_graph():
    L = sm.graphs.laplacian(sm.graphs.knn_graph(np.arange(9.0)[:, None], n_neighbors=2), normalized=False)
    envelope = RegularizedClustering(kernel(2), L, 0.1).basis.envelope
    boundless = replace(envelope, w=np.full(9, np.inf))
    x = np.linalg.eigh(L.toarray())[1][:, :2]
    assert -1e-12 < boundless.least(0.1, x[:, :1], np.zeros(1)) <= 0.0
    assert boundless.least(0.1, np.eye(9)[:, :1], np.zeros(1)) <= 0.0


@pytest.mark.parametrize("scale", [1.0, 2.0**-80, 2.0**-300, 2.0**300])
@pytest.mark.parametrize("seed", range(20))
def test_a_diagonal_matrix_above_another(seed, scale):
    rng = np.random.default_rng(seed)
    n = 12
    F = 1e-14 * rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-3, 1, size=n)
    F = (F + F.T) / 2
    w = 10.0 ** np.linspace(2, rng.choice([-17, -8]), n)
    d = bound._dominated(scale * w, scale * F, scale * 1e-17) / scale
    above = np.diag(d - w) - F
    assert np.linalg.eigvalsh(above)[0] >= -1e-6 * np.abs(F).max()
    assert (d <= w + 60 * n * np.abs(F).max() + 1e-16).all()


def test_a_bound_below_zero_charges_for_the_longer_diagonal(monkeypatch):
    tried = []
    honest = bound.is_definite

    def watched(T, shift):
        tried.append((T.copy(), shift))
        return honest(T, shift)

    monkeypatch.setattr(bound, "is_definite", watched)
    form, n = np.array([[0.0, 1.0], [1.0, 0.0]]), 2
    envelope = bound.Envelope(np.eye(n), np.full(n, 1e300), form, np.zeros(n), 0.0, 0.0)
    kappa = envelope.least(1e-9, np.array([[1.0], [-1.0]]) / np.sqrt(2), np.zeros(1))
    T, shift = tried[-1]
    B = T - shift * np.eye(n)
    spare = [Fraction(shift) - Fraction(kappa) + Fraction(form[i, i]) - Fraction(T[i, i]) for i in range(n)]
    assert kappa < -1
    assert min(spare) >= n * (n + 1) * Fraction(2.0**-53) * Fraction(B.diagonal().max())


@pytest.mark.parametrize("seed", range(6))
def test_the_envelope_is_above_the_kernel(seed):
    K = kernel(seed, n=12)
    obj = RegularizedClustering(K, np.eye(12), 1.0)
    for envelope in (obj.basis.envelope, obj.basis.envelope.refined):
        K0 = bound.centred_kernel(K, K.sum(axis=1))[0]
        above = (envelope.U * envelope.w) @ envelope.U.T - K0
        assert np.linalg.eigvalsh(above)[0] >= -2e-16 * np.abs(K).max()
        assert np.abs(above).max() <= 1e-13 * np.abs(K).max()
    assert obj.basis.envelope.refined.w.min() <= obj.basis.envelope.w.min()


def test_functions_that_the_solver_leaves_out_are_bounded_all_the_same():
    """Eigenvalues of 1e-13 of the largest: their functions cost gamma / w, which is little where gamma is."""
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(np.column_stack([np.ones(8), rng.normal(size=(8, 7))]))[0]
    w = np.array([1.0, 1.0, 0.5, 0.2, 1e-14, 1e-14, 1e-14, 1e-14])
    K = (Q * w) @ Q.T
    L = sm.graphs.laplacian(sm.graphs.knn_graph(rng.normal(size=(8, 2)), n_neighbors=3), normalized=False)
    for gamma in (1e-12, 1e-14, 1e-16):
        obj = RegularizedClustering((K + K.T) / 2, L, gamma)
        whole = Q[:, 1:].T @ (L @ Q[:, 1:]) + np.diag(gamma / w[1:])
        certificate = sm.solvers.eigenmaps(obj).certificate
        assert certificate.dual_objective <= np.linalg.eigvalsh(whole)[0] * (1 + 1e-2)
        assert certificate.primal_objective - certificate.gap <= np.linalg.eigvalsh(whole)[0] * (1 + 1e-2)


def test_a_bound_that_cannot_be_proved_is_none():
    obj = RegularizedClustering(kernel(1), -1e6 * np.eye(9), 1e-9)
    f = np.eye(9)[:, :1] - 1.0 / 9
    value = obj.dual_bound(f / np.linalg.norm(f), np.array([1.0]))
    assert value <= -1e6 * (1 - 1e-9)


def test_what_is_factorised_is_below_the_matrix_of_fractions(monkeypatch):
    """Whatever rounding made of its entries; without the charges it is not."""
    tried = []
    honest = bound.is_definite

    def watched(T, shift):
        tried.append(T.copy())
        return honest(T, shift)

    monkeypatch.setattr(bound, "is_definite", watched)
    rng = np.random.default_rng(0)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(rng.normal(size=(9, 2)), n_neighbors=3, weight="heat"), normalized=True)
    envelope = RegularizedClustering(kernel(2), L, 0.1).basis.envelope
    Z, s = rng.normal(size=(9, 2)) / 3, np.array([0.0, 0.7])
    assert envelope.least(0.1, Z, s) > 0
    U, dense, columns, weights, w = (fractions(x) for x in (envelope.U, L.toarray(), Z, s, envelope.w))
    x = U.T @ columns
    exact = U.T @ dense @ U + (x * weights) @ x.T
    exact[np.diag_indices(9)] += Fraction(0.1) / w
    above = (exact - fractions(tried[0])).astype(float)
    assert np.linalg.eigvalsh(above)[0] > 0
    assert (above.diagonal() < 1e-12 * (1 + 0.1 / envelope.w)).all()


def test_a_kernel_that_is_not_symmetric_is_off_by_its_skew_part():
    K = kernel(0)
    K[0, 1] += 2.0**-20
    high, low, error = bound._in_two_parts(K, None)
    np.testing.assert_array_equal(high, (K + K.T) / 2)
    assert not low.any()
    skew = np.linalg.norm(K - K.T) / 2
    assert skew * (1 + 1e-16) < error <= 1.0001 * skew + 1e-15 * np.linalg.norm(K)


def test_what_centring_rounds_is_added_to_what_is_left_of_the_kernel():
    """Far from the origin K0 is off by 1e-7; the refined envelope is above what was meant, and comes nearer to it."""
    K = kernel(0, offset=1e4)
    envelope = RegularizedClustering(K, np.eye(9), 1.0).basis.envelope.refined
    high, low, error = bound._in_two_parts(K, K.sum(axis=1))
    U, w, high, low = (x.astype(np.longdouble) for x in (envelope.U, envelope.w, high, low))
    above = ((U * w) @ U.T - high - low).astype(float)
    assert -error < np.linalg.eigvalsh(above)[0] < 1e-8


@pytest.mark.parametrize("total", [0.1, -0.3])
@pytest.mark.parametrize("off", [1e-3, 0.01, 0.03])
def test_what_row_sums_move_covers_every_error_of_theirs(total, off):
    """kk' / 1'k of a k that is off by a vector of that length, in all directions of the plane, signs that cancel."""
    k = np.array([1.0, total - 1.0])
    moved = bound._moved(2, total, float(np.linalg.norm(k)), off)
    exact = np.outer(k, k) / total
    worst = 0.0
    for angle in np.linspace(0, 2 * np.pi, 721):
        other = k + off * np.array([np.cos(angle), np.sin(angle)])
        worst = max(worst, float(np.linalg.norm(np.outer(other, other) / other.sum() - exact)))
    assert 0.8 * moved < worst <= moved
    assert np.isinf(bound._moved(2, total, 1.0, 0.4 * abs(total)))


@pytest.mark.parametrize("n", [5, 16])
def test_what_is_left_of_a_kernel_is_known_to_twice_its_digits(n):
    """By its own rounding, 2^-53 of the kernel, a plain difference would be off; this one by a millionth of that."""
    K = kernel(3, n)
    w, U = np.linalg.eigh(K)
    roots = np.sqrt(np.maximum(w, 1e-16 * w[-1]))
    E, error = bound._left(K, roots, U)
    R = fractions(U * roots)
    exact = fractions(K) - R @ R.T
    off = float((exact - fractions(E)).reshape(-1) @ (exact - E).reshape(-1)) ** 0.5
    assert off <= error <= 2.0**-53 * 2.0**-16 * n * np.linalg.norm(K)


def test_the_powers_of_a_norm_are_charged_for_their_terms(monkeypatch):
    monkeypatch.setattr(bound, "gamma", lambda n: 1e-3 * n)
    assert bound._norm(np.eye(12)) >= (np.sqrt(12) + 3 * 12e-3 * 144) ** 0.25
    assert bound._norm(np.eye(12)) < 2.0
    assert bound._norm(np.eye(100)) >= (10 + 3 * 100e-3 * 10**4) ** 0.25


@pytest.mark.parametrize("power", [-60, 60])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_bounds_have_the_unit_of_the_kernel_and_of_the_graph(power, offset):
    """A power of two comes out as it goes in, to the last digit: of K0, its error, the larger kernel and the form."""
    K, scale, one = (
        kernel(4, offset=offset),
        2.0**power,
        RegularizedClustering(kernel(4, offset=offset), np.eye(9), 1.0),
    )
    for function in (bound.centred_kernel, bound._in_two_parts):
        for k in (None, K.sum(axis=1)):
            for part, other in zip(function(scale * K, None if k is None else scale * k), function(K, k), strict=True):
                np.testing.assert_array_equal(part, scale * other)
    k = K.sum(axis=1)
    K0, error = bound.centred_kernel(K, k)
    w, U = np.linalg.eigh(K0)
    first = bound.Envelope.of(K0, error, k, w, U, one.products)
    for unit, graph in ((scale, 1.0), (1.0, scale)):
        obj = RegularizedClustering(unit * K, graph * np.eye(9), 1.0)
        other = bound.Envelope.of(unit * K0, unit * error, unit * k, unit * w, U, obj.products)
        for envelope, known in ((other, first), (other.refined, first.refined)):
            np.testing.assert_allclose(envelope.w, unit * known.w, rtol=1e-14)
            for name in ("form", "charge", "error"):
                np.testing.assert_array_equal(getattr(envelope, name), graph * getattr(known, name))
            assert envelope.eta == known.eta
        Z, s = np.eye(9)[:, :2], np.array([0.5, 0.0])
        assert other.least(unit * graph * 0.1, Z, graph * s) == pytest.approx(graph * first.least(0.1, Z, s), rel=1e-14)


def test_the_form_of_the_graph_is_charged_for_its_terms(monkeypatch):
    """With a unit of 1e-3: n times what an entry of U'LU may round, relative to the length of its own column of L U."""
    monkeypatch.setattr(bound, "gamma", lambda n: 1e-3 * n)
    n, rng = 40, np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(n, n)))[0]
    L = np.diag(np.geomspace(1e-3, 1.0, n))
    K = (U * np.linspace(1, 2, n)) @ U.T
    products = RegularizedClustering((K + K.T) / 2, L, 1.0).products
    for V in (U, np.eye(n)):
        envelope = bound.Envelope.of((K + K.T) / 2, 0.0, None, np.linspace(1, 2, n), V, products)
        lengths = np.linalg.norm(L @ V, axis=0)
        assert (envelope.charge >= n * 1e-3 * 34 * lengths).all()
        assert (envelope.charge <= n * 1e-3 * 54 * lengths).all()


@pytest.mark.parametrize("size", [2.0**-4, 1.0, 2.0**4])
@pytest.mark.parametrize("m", [1, 30])
def test_columns_are_charged_for_their_terms(size, m, monkeypatch):
    """With a unit of 1e-6: the coordinates x of the columns, the sums of their squares, and the factorisation."""
    tried, n, s = [], 5, 3.0
    monkeypatch.setattr(bound, "gamma", lambda n: 1e-6 * n)
    monkeypatch.setattr(bound, "is_definite", lambda T, shift: tried.append(T.copy()) or True)
    Z = size * np.eye(n)[:, np.arange(m) % n]
    envelope = bound.Envelope(np.eye(n), np.ones(n), np.diag(np.arange(5.0)), np.full(n, 0.01), 0.02, 0.0)
    envelope.least(0.5, Z, np.full(m, s))
    exact = np.diag(np.arange(5.0) + 0.5) + s * Z @ Z.T
    length = np.linalg.norm(Z)
    products = s * 1e-6 * (2 * n * np.sqrt(n * m) * length + (m + 2) * length**2)
    factorised = (n + 1) * (n + 1) * 1e-6 * exact.diagonal()
    taken = (exact - tried[0]).diagonal()
    assert (taken >= 0.01 + 0.02 + products + factorised).all()
    most = s * 1e-6 * (4 * (n + 2) * np.sqrt(n * m) * length + (m + 13) * length**2)
    assert (taken <= 0.01 + 0.02 + most + (n + 9) * (n + 9) * 1e-6 * exact.diagonal()).all()


@pytest.mark.parametrize("stretch", [0.9, 1.1])
@pytest.mark.parametrize("tilt", [0.0, 0.02, 0.1, 0.3, 0.6])
def test_eigenvectors_that_are_too_long_or_too_short_prove_nothing_that_is_false(stretch, tilt):
    """The least quotient in the very functions U x, whatever function the trials begin with."""
    Q = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))[0]
    U, L = stretch * Q, Q @ np.diag([1.0, 2.0, 3.0, 4.0]) @ Q.T
    form = U.T @ L @ U
    envelope = bound.Envelope(U, np.ones(4), (form + form.T) / 2, np.zeros(4), 0.0, abs(stretch**2 - 1.0))
    least = 0.1 / stretch**2 + 1.0
    found = envelope.least(0.1, Q[:, :1] * np.cos(tilt) + Q[:, 1:2] * np.sin(tilt), np.zeros(1))
    assert least - 2.1 * abs(stretch**2 - 1.0) * abs(least) - 1e-12 <= found <= least + 1e-14 * (1 + abs(least))


def test_a_graph_that_is_not_symmetric_is_charged_for_what_it_lacks():
    """U'LU less its transpose is part of the error; a symmetric one is charged for roundings alone."""
    K = kernel(3)
    skew = np.triu(0.1 * np.ones((9, 9)), 1)
    L = np.diag(np.arange(9.0)) + skew - skew.T
    w, U = np.linalg.eigh(K)
    envelope = bound.Envelope.of(K, 0.0, None, w, U, Products(K, L))
    assert envelope.error >= np.linalg.norm(L - L.T)
    assert bound.Envelope.of(K, 0.0, None, w, U, Products(K, (L + L.T) / 2)).error < 1e-12
