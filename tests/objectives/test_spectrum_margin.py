"""Spectrum objectives: weak duality, extreme spectra, units, and the alignment's literal definition."""

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

import specmargin as sm
from specmargin.objectives import Alignment, SpectrumMargin
from specmargin.objectives.cones import alignment as over_cone
from specmargin.objectives.cones.margin import SpectrumPoint
from specmargin.rounding import EXTENDED_UNIT, extended_product

TIGHT = {"solver": "CLARABEL", "tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11}
# All the digits there are: Clarabel may stop short of what TIGHT asks for, the comparisons say whether that mattered.
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
KINDS = ("simple", "tied", "split")
kinds = pytest.mark.parametrize("kind", KINDS)
orders = pytest.mark.parametrize("order", [True, False], ids=["ordered", "unordered"])


def order_constraints(obj, delta, eps):
    """delta_2 >= delta_3 >= ..., with drops of at least eps where eigenvalues differ, equal where they do not."""
    q, eigenvalues = obj.q, obj.spectrum.eigenvalues
    if not obj.order:
        return [delta >= eps]
    constraints = [delta[0] >= eps, delta[q - 1] >= eps]
    for j in range(1, q - 1):
        tied = abs(eigenvalues[j + 1] - eigenvalues[j]) < 1e-8 * eigenvalues[-1]
        constraints.append(delta[j] == delta[j + 1] if tied else delta[j] - delta[j + 1] >= eps)
    return constraints


def literal_model(obj, U, C):
    """Eq. 7 on the labelled rows of U, by CVXPY: (optimum, delta, v, b, gamma)."""
    y, q = obj.labels.sign, obj.q
    v, b, delta = cp.Variable(q), cp.Variable(), cp.Variable(q)
    xi = cp.Variable(len(y), nonneg=True)
    f = U @ v + b
    bounds = [f <= obj.B, f >= -obj.B] if np.isfinite(obj.B) else []
    margin = cp.multiply(y, f) >= 1 - xi
    norm = sum(cp.quad_over_lin(v[j], delta[j]) for j in range(q)) / 2
    constraints = [margin, *bounds, cp.sum(delta) == 1, *order_constraints(obj, delta, obj.eps)]
    problem = cp.Problem(cp.Minimize(norm + C * cp.sum(xi)), constraints)
    problem.solve(**TIGHT)
    gamma = y * margin.dual_value
    if bounds:
        gamma = gamma - bounds[0].dual_value + bounds[1].dual_value
    return problem.value, delta.value, v.value, float(b.value), gamma


def random_spectrum(obj, rng, eps):
    kappa = rng.exponential(size=obj.cone.m) * (rng.random(obj.cone.m) < 0.6)
    if kappa.sum() == 0:
        kappa[-1] = 1.0
    kappa *= (1 - eps * obj.cone.c.sum()) / (obj.cone.c @ kappa)
    return obj.cone.weights(kappa + eps)


# Weak duality and the certificate


@kinds
@orders
@pytest.mark.parametrize("B", [1.2, np.inf])
@given(seed=st.integers(0, 10**6))
def test_repair_makes_feasible_points_of_anything(kind, order, B, seed, spectrum_data):
    rng = np.random.default_rng(seed)
    spectrum, labels = spectrum_data(kind)
    eps = float(rng.choice([0.0, 1e-3]))
    obj = SpectrumMargin(spectrum, labels, C=2.0, B=B, order=order, eps=eps)
    gamma, kappa = 3 * rng.normal(size=labels.n_labeled), rng.normal(size=obj.cone.m)
    v = None if rng.random() < 0.5 else rng.normal(size=obj.q)
    point = obj.repair(gamma, kappa, float(rng.normal()), v)
    assert abs(point.gamma.sum()) < 1e-13
    assert point.delta.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(obj.cone.weights(point.kappa + eps), point.delta, rtol=0, atol=1e-14)
    assert point.kappa.min() >= 0
    assert np.abs(obj.U @ point.v + point.b).max() <= B * (1 + 1e-12)
    certificate = obj.prove(obj.repair(gamma, kappa, point.b, v), gamma, kappa)
    assert certificate.gap >= -1e-12 * certificate.primal_objective
    assert certificate.complementarity >= 0
    # The objective claimed for the point is its literal value.
    f = np.clip(obj.U @ point.v + point.b, -B, B)
    used = point.v != 0
    expected = 0.5 * (point.v[used] ** 2 / point.delta[used]).sum() + 2.0 * np.maximum(0, 1 - labels.sign * f).sum()
    assert obj.primal_objective(point) == pytest.approx(expected, rel=1e-12)


@kinds
@orders
@pytest.mark.parametrize(("C", "B"), [(0.5, np.inf), (5.0, np.inf), (5.0, 1.2)])
@pytest.mark.parametrize("eps", [0.0, 1e-3])
def test_certificate_closes_at_the_optimum_of_the_literal_model(kind, order, C, B, eps, spectrum_data, rng):
    spectrum, labels = spectrum_data(kind)
    obj = SpectrumMargin(spectrum, labels, C=C, B=B, order=order, eps=eps)
    optimum, delta, v, b, gamma = literal_model(obj, obj.U, C)
    certificate = obj.prove(obj.repair(gamma, obj.cone.drops(delta) - eps, b, v))
    assert certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert certificate.dual_objective == pytest.approx(optimum, rel=1e-6)
    assert certificate.dual_objective <= optimum * (1 + 1e-7)
    assert certificate.is_optimal(1e-6)
    assert certificate.complementarity < 1e-5
    for _ in range(10):
        near, kappa = gamma + 0.1 * rng.normal(size=len(gamma)), np.abs(rng.normal(size=obj.cone.m))
        other = obj.prove(obj.repair(near, kappa, b), near, kappa)
        assert other.dual_objective <= optimum * (1 + 1e-7)
        assert other.primal_objective >= optimum * (1 - 1e-7)
        assert other.dual_residual > 0
        assert other.primal_residual > 0


# The extreme spectra


@kinds
@orders
@pytest.mark.parametrize("eps", [0.0, 1e-3])
def test_the_worst_spectrum_is_an_extreme_one(kind, order, eps, spectrum_data, rng):
    """max over the polytope of sum_j p_j delta_j, by linear programming, is rho max_r S_r / c_r + eps sum S."""
    spectrum, labels = spectrum_data(kind)
    obj = SpectrumMargin(spectrum, labels, order=order, eps=eps)
    for _ in range(5):
        gamma = rng.normal(size=labels.n_labeled)
        gamma -= gamma.mean()
        p = (obj.U.T @ gamma) ** 2 / 2
        delta = cp.Variable(obj.q)
        program = cp.Problem(cp.Maximize(p @ delta), [cp.sum(delta) == 1, *order_constraints(obj, delta, eps)])
        program.solve(solver="HIGHS")
        S = obj.cone.sums(p)
        assert obj.rho * (S / obj.cone.c).max() + eps * S.sum() == pytest.approx(program.value, rel=1e-9)
        unbounded = SpectrumMargin(spectrum, labels, C=1e6, B=2.0, order=order, eps=eps)
        linear = unbounded.loss.dual_value(labels.sign * gamma).sum()
        assert unbounded.dual_bound(gamma) == pytest.approx(linear - program.value, rel=1e-9)


# Units


@pytest.mark.parametrize("B", [1.2, np.inf])
def test_unscaled_eigenvectors_with_n_times_C_give_n_times_the_objective(B, spectrum_data):
    spectrum, labels = spectrum_data("simple")
    n, C = spectrum.n_samples, 2.0
    obj = SpectrumMargin(spectrum, labels, C=C, B=B)
    scaled, delta, v, _, _ = literal_model(obj, obj.U, C)
    plain, plain_delta, plain_v, _, _ = literal_model(obj, spectrum.eigenvectors[labels.labeled], n * C)
    assert plain == pytest.approx(n * scaled, rel=1e-7)
    np.testing.assert_allclose(plain_delta, delta, atol=1e-4)
    np.testing.assert_allclose(plain_v, np.sqrt(n) * v, atol=1e-3)


def test_mean_kernel_diagonal_is_one(spectrum_data, rng):
    spectrum, labels = spectrum_data("simple")
    obj = SpectrumMargin(spectrum, labels)
    delta = random_spectrum(obj, rng, 0.0)
    features = np.array([obj.decisions_at(row, 0.0) for row in np.eye(obj.q)]).T
    assert np.trace(features * delta @ features.T) / spectrum.n_samples == pytest.approx(1.0)
    np.testing.assert_allclose(features[labels.labeled], obj.U, rtol=1e-13)
    assert obj.decisions_at(np.zeros(obj.q), 0.3).tolist() == [0.3] * spectrum.n_samples


def test_value_is_infinite_outside_the_domain(spectrum_data):
    obj = SpectrumMargin(*spectrum_data("simple"), C=1.0, B=1.5)
    delta = np.zeros(obj.q)
    delta[1] = 1.0
    v = np.zeros(obj.q)
    v[1] = 0.1
    assert np.isfinite(obj.value({"v": v, "b": 0.0, "delta": delta}))
    assert obj.value({"v": v, "b": 5.0, "delta": delta}) == np.inf
    v[2] = 1e-9
    assert obj.value({"v": v, "b": 0.0, "delta": delta}) == np.inf


# Names and errors


@pytest.mark.parametrize(
    ("order", "B", "name"),
    [(True, 2.0, "STORM"), (True, np.inf, "STOAM"), (False, 2.0, "MKL-R"), (False, np.inf, "MKL-S")],
)
def test_name(order, B, name, spectrum_data):
    assert SpectrumMargin(*spectrum_data(), B=B, order=order).name == name


def test_ties_are_tied_only_when_asked_and_ordered(spectrum_data):
    data = spectrum_data("tied", q=9)  # a cycle: 0 and four pairs
    assert SpectrumMargin(*data).cone.block_ends.tolist() == [2, 4, 6, 8]
    assert SpectrumMargin(*data, ties=False).cone.m == 9
    assert SpectrumMargin(*data, order=False).cone.m == 9
    assert Alignment(*data).cone.block_ends.tolist() == [2, 4, 6, 8]


# Alignment


def literal_alignment(obj, delta):
    """Eq. 2: <K, yy'> / sqrt(<K, K> <yy', yy'>) with Frobenius products on the labelled samples."""
    U = obj.spectrum.eigenvectors[obj.labels.labeled]
    K, yy = (U * delta) @ U.T, np.outer(obj.labels.sign, obj.labels.sign)
    return np.vdot(K, yy) / np.sqrt(np.vdot(K, K) * np.vdot(yy, yy))


def best_delta(obj):
    """The projection on the cone as nonnegative least squares between vectorised kernels."""
    rays = obj.cone.matrix()
    kernels = np.array([((obj.U * ray) @ obj.U.T).ravel() for ray in rays]).T
    kappa, _ = nnls(kernels / obj.labels.n_labeled, np.outer(obj.labels.sign, obj.labels.sign).ravel())
    delta = rays.T @ kappa
    return delta / delta.sum()


@kinds
@orders
def test_alignment_is_the_literal_formula(kind, order, spectrum_data, rng):
    obj = Alignment(*spectrum_data(kind), order=order)
    for _ in range(10):
        delta = random_spectrum(obj, rng, 0.0)
        assert obj.value_at(delta) == pytest.approx(literal_alignment(obj, delta), rel=1e-12)
        assert obj.value_at(7.5 * delta) == pytest.approx(obj.value_at(delta), rel=1e-13)
        assert obj.upper_bound(7.5 * delta) == pytest.approx(obj.upper_bound(delta), rel=1e-12)
    assert obj.value_at(np.zeros(obj.q)) == 0.0


@kinds
@orders
def test_upper_bound_is_tight_at_the_optimum(kind, order, spectrum_data, rng):
    obj = Alignment(*spectrum_data(kind), order=order)
    best = best_delta(obj)
    certificate = obj.prove(3.0 * best)
    assert certificate.is_optimal(1e-9)
    assert certificate.sense == "maximize"
    assert certificate.primal_objective == pytest.approx(literal_alignment(obj, best), rel=1e-12)
    for _ in range(100):
        assert obj.value_at(random_spectrum(obj, rng, 0.0)) <= certificate.primal_objective + 1e-12


def test_certificate_repairs_what_is_not_admissible(spectrum_data):
    obj = Alignment(*spectrum_data("simple"))
    delta = best_delta(obj)
    bent = delta.copy()
    bent[-1] += 0.1  # rises at the end
    certificate = obj.prove(bent)
    assert certificate.primal_residual > 0.01
    assert certificate.gap >= 0
    repaired = obj.repair(bent)
    assert repaired.sum() == pytest.approx(1.0)
    assert (np.diff(repaired[1:]) <= 1e-15).all()
    assert certificate.primal_objective == pytest.approx(literal_alignment(obj, repaired), rel=1e-12)


def test_alignment_without_correlation_is_an_error(spectrum_data):
    spectrum, _ = spectrum_data("simple", q=1)
    balanced = sm.encode_labels([0, 1, 0, 1] + [-1] * 20)
    with pytest.raises(ValueError, match="none of the q=1 eigenvectors correlates with the 4 labels"):
        Alignment(spectrum, balanced)
    assert Alignment(spectrum, sm.encode_labels([0, 1, 1, 1] + [-1] * 20)).value_at(np.ones(1)) == pytest.approx(0.25)


def test_a_given_spectrum_must_fit(spectrum_data):
    spectrum, labels = spectrum_data(q=9)
    with pytest.raises(ValueError, match=r"shape \(8,\); pass one weight per eigenvector, \(9,\)"):
        SpectrumMargin(spectrum, labels, delta=np.ones(8))
    with pytest.raises(ValueError, match="nothing to keep"):
        SpectrumMargin(spectrum, labels, delta=np.ones(9), eps=1e-3)
    assert SpectrumMargin(spectrum, labels, delta=np.ones(9)).name == "SVM"
    assert SpectrumMargin(spectrum, labels, delta=np.ones(9), B=1.5).name == "RMM"


# Rounding


@pytest.mark.parametrize("eps", [0.1, 0.07, 0.05, 1e-3])
def test_the_bound_below_the_dual_is_below_that_of_fractions(eps, spectrum_data):
    """Also where conjugates and scores nearly cancel, and what is left shows how the free share of the trace rounds."""
    spectrum, labels = spectrum_data(q=4)
    obj = SpectrumMargin(spectrum, labels, C=1e3, eps=eps)
    y, U = labels.sign, [[Fraction(x) for x in row] for row in obj.U.T.tolist()]
    gamma = obj.loss.repair_multipliers(y, y * np.linspace(0.5, 1.5, len(y)))

    def exact(gamma):
        p = [sum(x * Fraction(g) for x, g in zip(row, gamma.tolist(), strict=True)) ** 2 / 2 for row in U]
        S, c = [p[0], p[1], p[1] + p[2], sum(p[1:])], (1, 1, 2, 3)
        rho = 1 - Fraction(eps) * sum(c)
        cost = rho * max(s / t for s, t in zip(S, c, strict=True)) + Fraction(eps) * sum(S)
        return sum(Fraction(s) for s in (y * gamma).tolist()), cost

    gain, cost = exact(gamma)
    gamma = gamma * float(gain / cost)
    gain, cost = exact(gamma)
    dual, lower = obj._dual_bounds(gamma, *extended_product(obj.U.T, gamma))
    assert lower <= gain - cost <= lower + 200 * EXTENDED_UNIT * cost / Fraction(obj.rho)
    assert abs(dual - float(gain - cost)) <= dual - lower


@pytest.mark.parametrize("B", [np.inf, 2.0])
@pytest.mark.parametrize("eps", [0.0, 1e-3])
def test_multipliers_that_are_not_balanced_are_charged(B, eps, spectrum_data):
    """Their Lagrangian has no minimum: what it claims too much is at most their sum times an optimal intercept."""
    spectrum, labels = spectrum_data(seed=3)
    obj = SpectrumMargin(spectrum, labels, C=10.0, B=B, eps=eps)
    result = sm.solvers.spectrum_margin(obj)
    optimum, v, delta = result.certificate.primal_objective, result.variables["v"], result.variables["delta"]
    b = float(result.variables["b"])
    balanced = obj.loss.nearest_multipliers(labels.sign, result.variables["gamma"])
    assert abs(b) > 1e-3
    drops, claims = np.maximum(obj.cone.drops(delta) - eps, 0.0), 0
    for shift in np.multiply.outer([-1.0, 1.0], 10.0 ** np.arange(-9, -2.0)).ravel():
        inside = np.abs(balanced) * (obj.C - np.abs(balanced)) > 1e-3 * obj.C
        gamma = balanced + shift * inside
        certificate = obj.prove(SpectrumPoint(gamma, drops, delta, v, b))
        claims += certificate.dual_objective > optimum * (1 + 1e-12)
        assert certificate.dual_objective - certificate.rounding <= optimum * (1 + 1e-12)
    assert claims > 2


def test_a_candidate_without_multipliers_has_those_of_least_squares(spectrum_data):
    spectrum, labels = spectrum_data(l=8, q=9)
    obj = SpectrumMargin(spectrum, labels, C=1.0)
    result = sm.solvers.spectrum_margin(obj)
    bare = obj.certificate(result.variables)
    assert bare.primal_objective == pytest.approx(result.certificate.primal_objective, rel=1e-9)
    assert bare.dual_objective <= result.certificate.primal_objective * (1 + 1e-9)
    v, delta = result.variables["v"], result.variables["delta"]
    gamma = obj._multipliers(v, delta)
    left = v - delta * (obj.U.T @ gamma)
    # The normal equations of least squares.
    np.testing.assert_allclose(obj.U @ (delta * left), 0.0, atol=1e-9 * np.abs(v).max() * np.abs(delta).max())


@orders
def test_several_graphs_make_one_problem_with_one_trace(order, spectrum_data, rng):
    """Its spectra are those of either graph, shares of them included: the cone is the product of both."""
    (first, labels), (second, _) = spectrum_data("simple"), spectrum_data("tied", q=5)
    obj = SpectrumMargin([first, second], labels, C=0.5, order=order)
    parts = [SpectrumMargin(one, labels, C=0.5, order=order) for one in (first, second)]
    A = [part.cone.matrix() for part in parts]
    whole = np.block([[A[0], np.zeros((len(A[0]), 5))], [np.zeros((len(A[1]), 9)), A[1]]])
    np.testing.assert_array_equal(obj.cone.matrix(), whole)
    assert (obj.q, obj.cone.q, obj.cone.m) == (14, 14, len(whole))
    np.testing.assert_array_equal(obj.U, np.hstack([part.U for part in parts]))
    v = rng.normal(size=14)
    expected = np.sqrt(24) * np.hstack([first.eigenvectors, second.eigenvectors]) @ v
    np.testing.assert_allclose(obj.over_samples(v), expected, atol=1e-13)
    gamma = obj.loss.repair_multipliers(labels.sign, rng.normal(size=8))
    worst = [part.loss.dual_value(labels.sign * gamma).sum() - part.dual_bound(gamma) for part in parts]
    conjugate = obj.loss.dual_value(labels.sign * gamma).sum()
    assert conjugate - obj.dual_bound(gamma) == pytest.approx(max(worst), rel=1e-12)


def test_a_spectrum_that_is_not_admissible_is_repaired_by_definition(spectrum_data, rng):
    """Without an order: what exceeds eps is scaled to the trace, and eps is added; v is zero where delta is."""
    for eps in (0.0, 0.02):
        obj = SpectrumMargin(*spectrum_data(), C=0.5, order=False, eps=eps)
        delta = np.maximum(rng.normal(size=9), 0.0)
        v, b = 0.1 * rng.normal(size=9), 0.1
        beyond = np.maximum(delta - eps, 0.0)
        repaired = beyond * (1 - 9 * eps) / beyond.sum() + eps
        assert repaired.sum() == pytest.approx(1.0)
        kept = np.where(repaired > 0, v, 0.0)
        used = repaired > 0
        value = 0.5 * (kept[used] ** 2 / repaired[used]).sum()
        value += 0.5 * np.maximum(1 - obj.labels.sign * (obj.U @ kept + b), 0.0).sum()
        found = obj.certificate({"v": v, "b": b, "delta": delta})
        assert found.primal_objective == pytest.approx(value, rel=1e-12)
        assert found.primal_residual == pytest.approx(abs((delta - eps).sum() / (1 - 9 * eps) - 1), rel=1e-9)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_decisions_that_touch_the_bound_from_outside_cost_as_on_it(side, spectrum_data, rng):
    obj = SpectrumMargin(*spectrum_data(), C=0.5, B=1.5)
    v, delta = rng.normal(size=9), np.full(9, 1 / 9)
    f = obj.U @ v
    v *= 1.5 * (1 + 1e-14) / np.abs(f).max() * (side * np.sign(f[np.abs(f).argmax()]))
    f = obj.U @ v
    assert side * f[np.abs(f).argmax()] > 1.5
    loss = 0.5 * np.maximum(1 - obj.labels.sign * np.clip(f, -1.5, 1.5), 0.0).sum()
    point = SpectrumPoint(np.zeros(8), np.zeros(9), delta, v, 0.0)
    assert obj.primal_objective(point) == pytest.approx(4.5 * v @ v + loss, rel=1e-12)
    assert obj.value({"v": v, "b": 0.0, "delta": delta}) == obj.primal_objective(point)


def test_every_sum_of_an_alignment_is_charged_for_its_terms(monkeypatch):
    """With a unit of 1e-6 and two labels: every eigenvector is the labels themselves, every alignment one."""
    q = 40
    U = np.zeros((q + 5, q))
    U[:2] = np.outer([1.0, -1.0], np.linspace(0.5, 1.0, q)) / 10
    obj = Alignment(sm.spectra.Spectrum(np.arange(1.0 * q), U, 1), sm.encode_labels([1, 0] + [-1] * (q + 3)))
    monkeypatch.setattr(over_cone, "gamma_bound", lambda n: 1e-6 * n)
    least, most = obj._bounds(np.full(q, 1.0 / q))
    assert least <= 1.0 - 1e-6 * q < 1.0 + 1e-6 * q <= most
    assert most - least < 1e-3


def test_rays_that_a_spectrum_does_not_meet_count_by_their_correlation():
    """Eigenvectors that are orthogonal at the labelled samples: of the others each adds sqrt(l) h / trace."""
    H = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]).T / 2
    U = np.vstack([H, np.zeros((4, 4))])
    obj = Alignment(sm.spectra.Spectrum(np.arange(4.0), U, 1), sm.encode_labels([1, 1, 1, 0] + [-1] * 4), order=False)
    delta = np.array([1.0, 0.0, 0.0, 0.0])
    value = obj.a[0] / (4 * obj.M[0, 0] ** 0.5)
    expected = value + (2.0 * obj.a[1:] / obj.M.diagonal()[1:] ** 0.5).sum() / 4
    assert obj.upper_bound(delta) == pytest.approx(expected, rel=1e-13)
    least, most = obj._bounds(delta)
    assert (least, most) == (pytest.approx(value, rel=1e-12), pytest.approx(expected, rel=1e-12))


@pytest.mark.parametrize("order", [False, True])
def test_an_eigenvector_that_is_rounding_at_the_labels_bounds_nothing(order):
    """Orthogonal to the kernel itself: a ratio of what rounding left of it would be any number."""
    rng = np.random.default_rng(3)
    U = np.zeros((9, 4))
    U[:4, :3] = 0.3 + 0.1 * rng.normal(size=(4, 3))
    y = sm.encode_labels([1, 1, 0, 1] + [-1] * 5)
    without = Alignment(sm.spectra.Spectrum(np.arange(3.0), U[:, :3], 1), y, order=order)
    U[:4, 3] = 1e-18 * np.linalg.svd(U[:4, :3])[0][:, 3]
    held = Alignment(sm.spectra.Spectrum(np.arange(4.0), U, 1), y, order=order)
    for delta in ([0.0, 0.0, 1.0], [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]):
        known, found = without._bounds(np.array(delta)), held._bounds(np.array([*delta, 0.0]))
        assert found == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("power", [-30, 30])
@pytest.mark.parametrize("order", [False, True])
def test_an_alignment_and_its_bounds_have_no_unit(power, order, spectrum_data):
    """Eigenvectors of another length, all by the same power of two, change no digit of them."""
    spectrum, labels = spectrum_data("simple")
    obj = Alignment(spectrum, labels, order=order)
    other = Alignment(replace(spectrum, eigenvectors=2.0**power * spectrum.eigenvectors), labels, order=order)
    for delta in (np.ones(9), np.linspace(0.0, 1.0, 9), obj.a):
        assert other.value_at(delta) == obj.value_at(delta)
        assert other.upper_bound(delta) == obj.upper_bound(delta)
        assert other._bounds(delta) == obj._bounds(delta)
        assert other._bounds(3.0 * delta) == pytest.approx(obj._bounds(delta), rel=1e-13)
        assert other.prove(delta).rounding == obj.prove(delta).rounding


def test_decisions_are_within_the_bound_with_their_intercept(spectrum_data):
    """Coefficients whose decisions the intercept keeps within B are feasible; with another sign they are not."""
    obj = SpectrumMargin(*spectrum_data(), C=2.0, B=1.5, order=False)
    delta = np.full(obj.q, obj.rho / obj.q)
    v = np.linalg.lstsq(obj.U, -np.linspace(0.0, 2.9, len(obj.U)), rcond=None)[0]
    decisions = obj.U @ v
    b = -(decisions.max() + decisions.min()) / 2
    scale = 1.49 / np.abs(decisions + b).max()
    assert obj._is_feasible(scale * v, scale * b, delta)
    assert not obj._is_feasible(scale * v, -scale * b, delta)
