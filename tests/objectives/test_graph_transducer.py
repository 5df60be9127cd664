"""The spectral graph transducer: eq. 1 written out, its Lagrangian, and what the certificate proves."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from exact_fractions import fractions
from scipy.linalg import eigh
from scipy.optimize import check_grad

import specmargin as sm
from specmargin.objectives.graph_transducer import SpectralGraphTransducer
from specmargin.objectives.rounding import graph_transducer as rounding
from specmargin.objectives.rounding.graph_transducer import GraphTransducerRounding
from specmargin.rounding import EXTENDED_UNIT, UNIT
from specmargin.spectra import Spectrum

kinds = pytest.mark.parametrize("kind", ["simple", "tied", "split"])
losses = pytest.mark.parametrize("C", [1e1, 1e3, 1e6])


def literal(obj, h):
    """Eq. 1 with its n-dimensional matrices, tau corrected: the objective at h."""
    n, labels, V = obj.spectrum.n_samples, obj.labels, obj.spectrum.eigenvectors[:, 1:]
    P, tau = np.zeros((n, n)), np.zeros(n)
    l_plus, l_minus = (labels.sign > 0).sum(), (labels.sign < 0).sum()
    for i, sign in zip(labels.labeled, labels.sign, strict=True):
        P[i, i] = 1 / l_plus if sign > 0 else 1 / l_minus
        tau[i] = np.sqrt(l_minus / l_plus) if sign > 0 else -np.sqrt(l_plus / l_minus)
    return h @ V @ np.diag(obj.Q) @ V.T @ h / 2 + obj.C * (h - tau) @ P @ (h - tau)


def on_sphere(obj, rng):
    w = rng.normal(size=obj.k) * 10.0 ** rng.uniform(-3, 0, size=obj.k)
    return w * np.sqrt(obj.n) / np.linalg.norm(w)


def with_dark_column(Q=(1e-7, 1.0, 4.0, 9.0), C=1e6):
    """Four eigenvectors, the first of which is zero at the labelled samples: A = diag(Q_1, ...) splits."""
    rng = np.random.default_rng(0)
    U = rng.normal(size=(12, 5))
    U[:, 0] = 1.0
    U[:6, 1] = 0.0
    U[6:, 1] -= U[6:, 1].mean()
    U = np.linalg.qr(U)[0]
    U[:6, 1] = 0.0
    labels = sm.encode_labels([0, 1, 0, 1, 1, -1] + [-1] * 6)
    return SpectralGraphTransducer(Spectrum(np.arange(5.0), U, 1), labels, C, np.array(Q))


# Eq. 1


@kinds
@losses
def test_value_is_eq_1(kind, C, spectrum_data, rng):
    obj = SpectralGraphTransducer(*spectrum_data(kind, l=9), C)
    constant = C * (literal(obj, np.zeros(obj.n)) / C)
    for _ in range(5):
        w = on_sphere(obj, rng)
        h = obj.scores(w)
        assert h @ h == pytest.approx(obj.n)
        assert obj.value_at(w) == pytest.approx(literal(obj, h), rel=1e-12)
        assert w @ obj.A @ w / 2 - obj.b @ w + constant == pytest.approx(literal(obj, h), rel=1e-9)
        np.testing.assert_allclose(obj.decisions_at(w), h - obj.threshold, rtol=1e-14)


def test_defaults_and_targets(spectrum_data):
    spectrum, _ = spectrum_data(q=5)
    labels = sm.encode_labels([1, 0, 0, 0, 0, *[-1] * 19])
    obj = SpectralGraphTransducer(spectrum, labels, 10.0)
    assert obj.Q.tolist() == [1.0, 4.0, 9.0, 16.0]
    assert obj.tau.tolist() == [2.0, -0.5, -0.5, -0.5, -0.5]
    assert obj.threshold == 0.75
    # The targets have the mean and the mean square of h.
    assert obj.tau.sum() == 0.0
    assert obj.tau @ obj.tau == obj.labels.n_labeled
    assert (obj.k, obj.n) == (4, 24)
    assert replace(obj, C=20.0).Q.tolist() == obj.Q.tolist()
    cut = SpectralGraphTransducer(spectrum, labels, 10.0, Q=list(spectrum.eigenvalues[1:]))
    np.testing.assert_array_equal(cut.Q, spectrum.eigenvalues[1:])


@kinds
def test_residual_is_the_gradient_in_the_eigenvectors(kind, spectrum_data, rng):
    obj = SpectralGraphTransducer(*spectrum_data(kind), 100.0)
    E = obj.eigen[1]
    for lam in (-3.0, 0.0, 0.5):
        w = on_sphere(obj, rng)
        gradient = E @ obj.residual(w, lam)
        np.testing.assert_allclose(gradient, (obj.A - lam * np.eye(obj.k)) @ w - obj.b, atol=1e-10)
        error = check_grad(obj.lagrangian, lambda w, lam: E @ obj.residual(w, lam), w, lam)
        assert error < 1e-6 * np.linalg.norm(obj.A)
        assert obj.lagrangian(w, lam) == pytest.approx(obj.value_at(w), rel=1e-12)
        assert obj.lagrangian(2 * w, lam) == pytest.approx(obj.value_at(2 * w) - lam / 2 * 3 * obj.n, rel=1e-12)


def test_small_eigenvalues_keep_their_digits(spectrum_data):
    """Rounding of |A| = 1e6 is 1e-10: one of 4e-5 would keep six digits. Singular values keep them."""
    spectrum, labels = spectrum_data("simple", q=12, l=6)
    obj = SpectralGraphTransducer(spectrum, labels, 1e6, Q=1e-5 * np.arange(1.0, 12.0) ** 2)
    root = np.sqrt(2 * obj.C * np.where(labels.sign > 0, 1 / (labels.sign > 0).sum(), 1 / (labels.sign < 0).sum()))
    factor = np.vstack([np.diag(np.sqrt(obj.Q)), root[:, None] * spectrum.eigenvectors[labels.labeled, 1:]])
    singular = np.linalg.svd(factor, compute_uv=False)[::-1]
    assert singular[-1] > 1e5 * singular[0] > 0
    np.testing.assert_allclose(obj.eigen[0], singular**2, rtol=1e-9)


# Duality


@kinds
@losses
@pytest.mark.parametrize("share", [-3.0, 0.0, 0.5, 0.999])
def test_dual_bound_is_the_minimum_of_the_lagrangian(kind, C, share, spectrum_data, rng):
    obj = SpectralGraphTransducer(*spectrum_data(kind), C)
    lam = share * float(eigh(obj.A, eigvals_only=True)[0])
    shifted = obj.A - lam * np.eye(obj.k)
    minimiser = np.linalg.solve(shifted, obj.b)
    constant = C * float(obj.p @ obj.tau**2)
    assert obj.dual_bound(lam) == pytest.approx(obj.lagrangian(minimiser, lam), rel=1e-9)
    explicit = -obj.b @ minimiser / 2 + lam * obj.n / 2 + constant
    assert obj.dual_bound(lam) == pytest.approx(explicit, rel=1e-9, abs=1e-9 * constant)
    for _ in range(10):
        other = minimiser + rng.normal(size=obj.k)
        assert obj.lagrangian(other, lam) > obj.dual_bound(lam)


def test_dual_bound_ends_at_the_smallest_eigenvalue(spectrum_data):
    obj = SpectralGraphTransducer(*spectrum_data(), 100.0)
    lowest = float(obj.eigen[0].min())
    assert np.isfinite(obj.dual_bound(lowest * (1 - 1e-9)))
    assert obj.dual_bound(lowest) == -np.inf  # b has a component along the lowest eigenvector
    assert obj.dual_bound(lowest * (1 + 1e-9)) == -np.inf


def test_dual_bound_in_the_hard_case_reaches_the_smallest_eigenvalue():
    obj = with_dark_column(Q=(1.0, 2.0, 4.0, 9.0), C=100.0)
    assert abs(obj.b[0]) == 0.0
    at = obj.dual_bound(1.0)
    assert np.isfinite(at)
    assert at == pytest.approx(obj.dual_bound(1.0 - 1e-9), rel=1e-7)
    assert obj.dual_bound(1.0 + 1e-9) == -np.inf


# The certificate


@kinds
@losses
def test_certificate_measures_the_distance_of_a_point_from_its_bound(kind, C, spectrum_data, rng):
    """The dual objective is the minimum of the Lagrangian at lam, or a better one just below it, and owes w nothing."""
    obj = SpectralGraphTransducer(*spectrum_data(kind), C)
    lam = 0.7 * float(obj.eigen[0].min())
    below = max(obj.dual_bound(lam - share * obj.eigen[0].max()) for share in np.linspace(0.0, 1e-8, 101))
    for _ in range(5):
        w = on_sphere(obj, rng)
        certificate = obj.prove(w, lam)
        rounding = 1e-9 * certificate.primal_objective
        assert obj.dual_bound(lam) - rounding <= certificate.dual_objective <= below + rounding
        assert certificate.gap > 1e-6 * certificate.primal_objective
        assert not certificate.is_optimal(1e-6)
        assert certificate.primal_residual < 1e-15
        assert certificate.dual_residual == 0.0


def test_certificate_repairs_the_candidate(spectrum_data, rng):
    obj = SpectralGraphTransducer(*spectrum_data(), 100.0)
    lowest, norm = float(obj.eigen[0].min()), float(obj.eigen[0].max())
    w = on_sphere(obj, rng)
    half = obj.prove(w / 2, 0.0)
    assert half.primal_residual == pytest.approx(0.5)
    assert half.primal_objective == pytest.approx(obj.value_at(w), rel=1e-13)
    above = obj.prove(w, lowest + 0.1 * norm)
    assert above.dual_residual == pytest.approx(0.1)
    assert above.dual_objective == obj.prove(w, lowest).dual_objective <= half.primal_objective


@pytest.mark.parametrize("lam", [-1.0, 1.0, 1.0 + 1e-12, 5.0])
def test_a_local_optimum_is_told_from_the_global_one(lam):
    """In the hard case by hand: w_1 completes the stationary rest. A stationary point of a higher lam has a gap."""
    obj = with_dark_column(Q=(1.0, 2.0, 4.0, 9.0), C=100.0)
    rest = np.linalg.solve(obj.A[1:, 1:] - np.eye(3), obj.b[1:])
    w = np.append(np.sqrt(obj.n - rest @ rest), rest)
    certificate = obj.prove(w, lam)
    assert certificate.is_optimal(1e-13) == (lam >= 1.0)
    # w -> -w of the rest is stationary in no sense, and e_1 alone ignores the labels.
    assert obj.prove(np.append(w[0], -rest), lam).relative_gap > 0.1
    assert obj.prove(np.eye(4)[0], lam).relative_gap > 1e-2


@pytest.mark.parametrize("C", [1.0, 3.0, 10.0])
def test_lam_at_the_smallest_eigenvalue_needs_no_luck(C):
    """The hard case up to rounding: labels symmetric on a path, the lowest eigenvector of A antisymmetric, and full."""
    n = 40
    spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(nx.path_graph(n)), q=20, normalized=False)
    y = np.full(n, -1)
    y[[3, 9, n - 10, n - 4]] = 0, 1, 1, 0
    obj = SpectralGraphTransducer(spectrum, sm.encode_labels(y), C)
    a, E = obj.eigen
    assert 0 < abs(E[:, 0] @ obj.b) < 1e-12 * np.linalg.norm(obj.b)
    assert np.count_nonzero(E[:, 0]) > 1
    rest = E[:, 1:] @ ((E[:, 1:].T @ obj.b) / (a[1:] - a[0]))
    w = rest + E[:, 0] * np.sqrt(obj.n - rest @ rest)
    assert obj.prove(w, a[0]).is_optimal(1e-12)


# Errors


def beside_a_large_one():
    """A transducer whose A has an eigenvalue of .01 beside one of 1e9."""
    rng = np.random.default_rng(2)
    U = np.linalg.qr(np.column_stack([np.ones(12), rng.normal(size=(12, 7))]))[0]
    U[:4, 2] = 2.0 * U[:4, 1]  # so that the labels do not see one direction in the plane of both
    labels = sm.encode_labels(np.r_[0, 1, 1, 0, [-1] * 8])
    return SpectralGraphTransducer(Spectrum(np.arange(8.0), U, 1), labels, 1e9, np.array([0.01, 0.01, 2, 3, 4, 5, 6]))


@pytest.fixture
def tried(monkeypatch):
    """Return the list of the matrices that are factorised from here on."""
    matrices, honest = [], rounding.is_definite

    def noted(A, less):
        matrices.append(A.copy())
        matrices[-1][np.diag_indices(len(A))] -= less
        return honest(A, less)

    monkeypatch.setattr(rounding, "is_definite", noted)
    return matrices


@pytest.fixture
def seen(monkeypatch):
    """Return the list of the residuals that are bounded from here on, with their errors."""
    residuals, honest = [], GraphTransducerRounding.solved_bound

    def watched(self, r, error, lam, height):
        residuals.append((r, error))
        return honest(self, r, error, lam, height)

    monkeypatch.setattr(GraphTransducerRounding, "solved_bound", watched)
    return residuals


def test_the_residual_is_within_its_bound_of_that_in_a_hundred_digits(seen):
    """Where hundreds of squares are lost beside a large one, w is off the sphere by half of them."""
    n, k, v, C = 256, 250, 2.0**-14, 1024.0
    U = np.zeros((n, k + 1))
    U[0, 1] = v
    w = np.full(k, 16.0 * np.sqrt(0.9 * EXTENDED_UNIT))
    w[0] = 16.0
    Q = np.full(k, 2.0 * C * v * (1.0 - 16.0 * v) / 16.0)  # of which the loss takes nearly all away
    obj = SpectralGraphTransducer(Spectrum(np.arange(k + 1.0), U, 1), sm.encode_labels([1, 0] + [-1] * 254), C, Q)
    obj.prove(w, 0.0)
    with localcontext() as context:
        context.prec = 100
        on = [Decimal(x) for x in w.tolist()]
        stretch = (n / sum(x * x for x in on)).sqrt()
        exact = [Decimal(q) * stretch * x for q, x in zip(Q.tolist(), on, strict=True)]
        exact[0] += 2 * Decimal(C) * Decimal(v) * (Decimal(v) * stretch * on[0] - 1)
        r, error = seen[0]
        off = [abs(Decimal(x) - z) - Decimal(UNIT) * abs(z) for x, z in zip(r.tolist(), exact, strict=True)]
    assert (np.array(off, dtype=float) <= error).all()


@pytest.mark.parametrize("stretch", [1.0, 3.0])
def test_the_value_is_that_of_the_very_ray(stretch, monkeypatch):
    """Scaled to the sphere in float64 w has another direction, which the loss multiplies by C."""
    monkeypatch.setattr(rounding, "lowered_bound", lambda *_: 0.0)  # what is left is the rounding of the value
    obj, rng = beside_a_large_one(), np.random.default_rng(0)
    for _ in range(20):
        w = on_sphere(obj, rng)
        w = stretch * (
            w + np.linalg.lstsq(obj.labeled_rows, obj.tau - obj.labeled_rows @ w, rcond=None)[0]
        )  # nearly without loss
        certificate = obj.prove(w, 0.0)
        with localcontext() as context:
            context.prec = 100
            on = [Decimal(x) for x in w.tolist()]
            size = (obj.n / sum(x * x for x in on)).sqrt()
            exact = sum(Decimal(q) * (size * x) ** 2 for q, x in zip(obj.Q.tolist(), on, strict=True)) / 2
            for row, target, p in zip(obj.labeled_rows.tolist(), obj.tau.tolist(), obj.p.tolist(), strict=True):
                f = size * sum(Decimal(a) * x for a, x in zip(row, on, strict=True))
                exact += Decimal(obj.C) * Decimal(p) * (f - Decimal(target)) ** 2
        assert abs(exact - Decimal(certificate.primal_objective)) <= Decimal(certificate.rounding)


@pytest.mark.parametrize("length", [1e-18, 1e-16, 1e-14, 1e-3])
@pytest.mark.parametrize("least", [1.0, 1.0 + 2.0**-52, 1.0 - 2.0**-53, 2.0, -1.0])
def test_a_lower_multiplier_adds_to_the_residual(length, least):
    """However little it is lowered: the bound is no better than the best in fractions, and not much worse."""
    height, radius = Fraction(least) - 1, 3
    best = 2 * radius * (Fraction(length) - radius * height)  # of a shift of length / radius - 2 height
    if Fraction(length) < 2 * radius * height:
        best = Fraction(length) ** 2 / height / 2
    bound = Fraction(rounding.lowered_bound(length, float(radius), 1.0, least))
    assert best * (1 - Fraction(1, 10**15)) <= bound <= 2 * best


def test_a_bound_below_zero_charges_for_the_longer_diagonal(tried):
    """Beside large entries whose block is singular a small one is factorised with what the bound adds to it."""
    U = np.zeros((8, 4))
    U[:2, 1:3] = 1.0
    labels = sm.encode_labels([1, 0] + [-1] * 6)
    obj = SpectralGraphTransducer(Spectrum(np.arange(4.0), U, 1), labels, 1e9, np.array([1e-9, 1e-9, 2e-9]))
    least = GraphTransducerRounding(obj).least_eigenvalue
    assert least < -1e-8
    B, k = tried[-1], 3
    V, B_exact, Q = (fractions(x) for x in (obj.labeled_rows, B, obj.Q))
    above = 2 * Fraction(obj.C) * (V.T @ V) - B_exact
    above[np.diag_indices(k)] += Q - Fraction(least)
    size = np.sqrt(B.diagonal())
    assert np.linalg.eigvalsh(above.astype(float) / size[:, None] / size)[0] >= k * (k + 1) * UNIT


@pytest.mark.parametrize("seed", range(3))
def test_the_form_of_a_solved_system_covers_every_residual_within_its_error(seed):
    obj, rng = beside_a_large_one(), np.random.default_rng(seed)
    lam, r = -1.0, rng.normal(size=7)
    B = obj.A - lam * np.eye(7)
    error = 1e-3 * rng.exponential(size=7)
    worst = r + error * np.sign(np.linalg.solve(B, r))
    bound = GraphTransducerRounding(obj).solved_bound(
        r, error, lam, GraphTransducerRounding(obj).least_eigenvalue - lam
    )
    assert 0.5 * worst @ np.linalg.solve(B, worst) <= bound <= 1.1 * (0.5 * worst @ np.linalg.solve(B, worst))


def test_the_form_of_a_solved_system_counts_what_the_solution_leaves():
    """Eigenvectors that are no good solve nothing."""
    obj, r = replace(beside_a_large_one(), C=10.0), np.ones(7)
    obj.__dict__["_E"] = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    bound = GraphTransducerRounding(obj).solved_bound(r, np.zeros(7), -1.0, 1.0)
    assert 0.5 * r @ np.linalg.solve(obj.A + np.eye(7), r) <= bound
    # Where hardly any curvature is left what is missed costs much.
    w, V = np.linalg.eigh(obj.A)
    lam, low = w[0] - 1e-3, 0.9e-3
    for one in (V[:, 0], r):
        bound = GraphTransducerRounding(obj).solved_bound(one, np.zeros(7), lam, low)
        assert 0.5 * one @ np.linalg.solve(obj.A - lam * np.eye(7), one) <= bound


def test_without_a_multiplier_the_one_of_the_least_residual_is_taken(spectrum_data, rng):
    """At the point of the sphere on the ray of w, by least squares; none of a w of zero, which is refused."""
    obj = SpectralGraphTransducer(*spectrum_data(), C=10.0)
    for stretch in (1.0, 3.0):
        w = on_sphere(obj, rng)
        lam = np.linalg.lstsq(w[:, None], obj.A @ w - obj.b, rcond=None)[0][0]
        found = obj.certificate({"w": stretch * w})
        assert obj._multiplier(stretch * w) == pytest.approx(lam, rel=1e-12)
        assert found.dual_objective == pytest.approx(obj.prove(w, lam).dual_objective, rel=1e-9)
        assert found.dual_objective == obj.certificate({"w": stretch * w}, {"lam": obj._multiplier(w)}).dual_objective
    with pytest.raises(ValueError, match="finite nonzero vector"):
        obj.certificate({"w": np.zeros(obj.k)})
    assert obj.name == "SGT"


# Weights of the labels


def weighted_objective(seed, spectrum_data, C=1e3, kind="simple", exponent=1.0):
    """Labels of both classes whose weights spread over 2 `exponent` powers of ten."""
    spectrum, labels = spectrum_data(kind, seed=seed)
    c = 10.0 ** np.random.default_rng(seed).uniform(-exponent, exponent, labels.n_labeled)
    return SpectralGraphTransducer(spectrum, labels.weighted(c), C)


@kinds
def test_the_value_with_weights_is_eq_1_of_shares(kind, spectrum_data, rng):
    obj = weighted_objective(0, spectrum_data, kind=kind)
    w, c, positive = on_sphere(obj, rng), obj.labels.weights, obj.labels.sign > 0
    h, literal = obj.spectrum.eigenvectors[:, 1:] @ w, 0.5 * sum(obj.Q * w**2)
    l_plus, l_minus = sum(c[positive]), sum(c[~positive])
    for i, at in enumerate(obj.labels.labeled):
        tau = np.sqrt(l_minus / l_plus) if positive[i] else -np.sqrt(l_plus / l_minus)
        literal += obj.C * c[i] / (l_plus if positive[i] else l_minus) * (h[at] - tau) ** 2
    assert obj.value({"w": w}) == pytest.approx(literal, rel=1e-12)
    assert check_grad(obj.value_at, lambda w: obj.A @ w - obj.b, w) < 1e-4 * np.abs(obj.A @ w - obj.b).max()


def test_a_bound_without_any_lowest_eigenvalue_is_infinite():
    assert rounding.lowered_bound(1.0, 1.0, -1.0, -1.0) > 0
    with np.errstate(invalid="ignore"):
        assert rounding.lowered_bound(1.0, 1.0, 0.0, -np.inf) == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_the_residual_with_weights_is_within_its_bound_of_that_in_a_hundred_digits(seed, spectrum_data, seen):
    """Sums of weights round, and with them the targets and shares."""
    obj = weighted_objective(seed, spectrum_data, C=1e6)
    w, lam = on_sphere(obj, np.random.default_rng(seed)), -1.0
    w = np.linalg.lstsq(np.vstack([obj.labeled_rows, 1e-6 * np.eye(len(w))]), np.r_[obj.tau, 0 * w], rcond=None)[0]
    obj.prove(w, lam)
    with localcontext() as context:
        context.prec = 100
        c, positive = [Decimal(x) for x in obj.labels.weights.tolist()], obj.labels.sign > 0
        plus, minus = (sum(x for x, own in zip(c, group, strict=True) if own) for group in (positive, ~positive))
        on = [Decimal(x) for x in w.tolist()]
        stretch = (Decimal(obj.n) / sum(x * x for x in on)).sqrt()
        on = [stretch * x for x in on]
        exact = [(Decimal(q) - Decimal(lam)) * x for q, x in zip(obj.Q.tolist(), on, strict=True)]
        for row, x, own in zip(obj.labeled_rows.tolist(), c, positive, strict=True):
            tau = (minus / plus).sqrt() if own else -(plus / minus).sqrt()
            f = sum(Decimal(a) * z for a, z in zip(row, on, strict=True))
            factor = 2 * Decimal(obj.C) * x / (plus if own else minus) * (f - tau)
            exact = [z + factor * Decimal(a) for z, a in zip(exact, row, strict=True)]
        assert seen
        for r, error in seen:
            off = [abs(Decimal(a) - z) for a, z in zip(r.tolist(), exact, strict=True)]
            slack = [Decimal(e) + abs(z) * Decimal(2) ** -53 for e, z in zip(error.tolist(), exact, strict=True)]
            assert all(a <= e for a, e in zip(off, slack, strict=True))
