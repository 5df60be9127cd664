"""Primal and bound of every kind at random answers and multipliers: sixty digits against a second implementation."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("flint")
from flint import arb, arb_mat, ctx
from proved import (
    BITS,
    RMM,
    S3VM,
    Alignment,
    Certificate,
    Features,
    LapSVM,
    LowRankKernel,
    RegularizedClustering,
    S3VMRelaxation,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumMargin,
    WeightedSVM,
    answer,
    exact,
    exact_losses,
    exact_numbers,
    is_near,
    kernel_of,
    labels_of,
    laplacian_of,
    proof,
    proof_of,
    record_of,
    sm,
    spectrum_of,
    wide,
    with_arrays,
)

from cvxproof.proofs.balls import (
    ONE,
    Refuted,
    balls,
    floats,
    shift,
)
from specmargin.proofs.bounds import admissible, parabolas_minimum, sums, weights

dot, times, solve, unit = exact_numbers.dot, exact_numbers.times, exact_numbers.solve, exact_numbers.unit
LOSSES = ("hinge", "squared_hinge", "squared", "smooth_hinge", "huber_hinge")


def dyadic(rng, n, low=-1.0, high=1.0):
    """Numbers whose sums have no rounding."""
    return np.round(rng.uniform(low, high, n) * 64) / 64


def balanced_signs(rng, y, high=1.0):
    """Multipliers in [0, high] with y's = 0 exactly."""
    s = np.zeros(len(y))
    plus, minus = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    share = dyadic(rng, 1, 0.25, 0.5)[0] * high
    s[plus[0]], s[minus[0]] = share, share
    if min(len(plus), len(minus)) > 1:
        s[plus[1]] = s[minus[1]] = share / 2
    return s


def assert_near(found, known):
    """Primal and bound are those in a hundred digits, primal first."""
    assert is_near(found.primal, known[0])
    assert is_near(found.bound, known[1])


def singular(*_):
    """In the place of a function of NumPy that fails."""
    raise np.linalg.LinAlgError


class TestLapSVM:
    @pytest.mark.parametrize(("loss", "power"), [*zip(LOSSES, (0, 1, 2, 0, 1), strict=True), ("hinge", 2)])
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_primal_and_bound(self, rng, loss, power, fit_intercept):
        n, l = 7, 5
        labels, K, L = labels_of(rng, n, l), kernel_of(rng, n), laplacian_of(rng, n)
        graph = sm.graphs.LaplacianOperator(sp.csr_array(L), power, False, np.ones(n)) if power else None
        obj = LapSVM(K, graph, labels, loss, gamma_A=0.375, gamma_I=0.75 if power else 0.0, fit_intercept=fit_intercept)
        beta = balanced_signs(rng, labels.sign) if fit_intercept else dyadic(rng, l, 0.1, 0.9)
        alpha, b = rng.standard_normal(n), float(rng.standard_normal()) if fit_intercept else 0.0
        found = proof_of(obj, {"alpha": alpha, "b": b}, {"beta": beta})
        known = exact.Manifold(obj)
        assert_near(found, (known.primal(alpha, b), known.dual(beta)))
        assert found.charges == 0
        assert not any(shift.s > 0 for shift in found.shifts)

    def test_unbalanced_multipliers_are_balanced_in_rationals(self, rng):
        labels, K = labels_of(rng, 6, 4), kernel_of(rng, 6)
        for loss in ("hinge", "squared"):
            obj = LapSVM(K, None, labels, loss, gamma_A=0.5)
            record = record_of(obj, answer({"alpha": np.zeros(6), "b": 0.0}, {"beta": np.full(4, 0.25)}))
            theta = np.array([0.3, -0.1, 0.7, 0.2])
            changed = with_arrays(record, theta=theta)
            known = exact.Manifold(obj)
            lower, upper = exact_losses.bounds(obj.loss)
            s = np.array([min(max(x, lower), upper) for x in wide(labels.sign * theta)], dtype=object)
            first = exact_numbers.balanced(known.y, s, lower, upper)[0]
            pull = np.full(6, exact_numbers.ZERO, dtype=object)
            pull[labels.labeled] = known.y * first
            gains = sum((exact_losses.conjugate(obj.loss, x) for x in first), exact_numbers.ZERO)
            dual = gains - dot(pull, times(known.K, pull)) / (4 * known.gamma_A)
            assert is_near(proof(changed).bound, dual)

    def test_a_factor_is_as_good_as_its_kernel(self, rng):
        n = 6
        labels, F, L = labels_of(rng, n, 4), dyadic(rng, (n, 2)), laplacian_of(rng, n)
        alpha, beta = rng.standard_normal(n), balanced_signs(rng, labels.sign)
        known = LapSVM(F @ F.T, L, labels, "hinge", gamma_A=0.5, gamma_I=2.0)
        obj = LapSVM(LowRankKernel(F), L, labels, "hinge", gamma_A=0.5, gamma_I=2.0)
        found = proof_of(obj, {"alpha": alpha, "b": 0.5}, {"beta": beta})
        assert_near(found, (exact.Manifold(known).primal(alpha, 0.5), exact.Manifold(known).dual(beta)))
        assert found.shifts[0].s == 0
        assert found.charges == 0

    def test_what_shifts_of_the_kernel_and_the_graph_cost(self, rng):
        n = 6
        labels = labels_of(rng, n, 4)
        X, L = rng.standard_normal((n, 2)), laplacian_of(rng, n)
        K, L = X @ X.T, L - 0.25 * np.eye(n)  # singular, both
        K = (K + K.T) / 2
        alpha, beta = rng.standard_normal(n), balanced_signs(rng, labels.sign)
        for power in (1, 2, 3):
            graph = sm.graphs.LaplacianOperator(sp.csr_array(L), power, False, np.ones(n))
            obj = LapSVM(K, graph, labels, "squared_hinge", gamma_A=0.5, gamma_I=2.0)
            found = proof_of(obj, {"alpha": alpha, "b": 0.5}, {"beta": beta})
            (_, s, small), (_, t, _) = found.shifts
            assert 0 < s < 1e-13
            assert small
            assert (t == 0) is (power == 2)
            s, t = (wide(float(x)) for x in (2 * s, t**power))
            shifted = exact.Manifold(obj)
            before = shifted.dual(beta)
            f = times(shifted.K, wide(alpha))
            shifted.K, shifted.L = shifted.K + s * unit(n), shifted.L + t * unit(n)
            more = (s * dot(wide(alpha), wide(alpha)) / 2 + 2 * t * dot(f, f)) / 2
            charges = more + before - shifted.dual(beta)
            assert is_near(found.bound, before, 40)  # K is not semidefinite, and an exact solution needs digits
            assert float(found.charges) == pytest.approx(float(charges), rel=1e-10, abs=0)

    def test_what_floats_do_not_solve_flint_does(self, rng, monkeypatch):
        labels, K, L = labels_of(rng, 6, 4), kernel_of(rng, 6), laplacian_of(rng, 6)
        obj = LapSVM(K, L, labels, "squared_hinge", gamma_A=0.375, gamma_I=2.0)
        beta = balanced_signs(rng, labels.sign)
        expected = exact.Manifold(obj).dual(beta)
        monkeypatch.setattr("numpy.linalg.inv", singular)
        assert is_near(proof_of(obj, {"alpha": np.ones(6), "b": 0.0}, {"beta": beta}).bound, expected)

    def test_multipliers_of_a_loss_whose_box_has_a_parameter(self, rng):
        labels = labels_of(rng, 6, 4)
        obj = LapSVM(kernel_of(rng, 6), None, labels, "hinge", gamma_A=0.5)
        record = record_of(obj, answer({"alpha": np.zeros(6), "b": 0.0}))
        numbers = {**record.numbers, "loss": "exp_envelope", "parameter": 3.0}
        beyond = {**record.arrays, "theta": 9.0 * labels.sign}
        assert proof(replace(record, numbers=numbers, arrays=beyond)).bound > -1e3  # what is beyond the box is clipped

    def test_the_size_of_a_kernel_is_never_below_its_norm(self):
        # Its rows sum up to 1 + 2^-53, and to 1 in floats; coefficients of 0 leave -(1/2, -1/2) of multipliers, times
        # which it has this norm.
        K, labels = np.array([[1.0, -(2.0**-53)], [-(2.0**-53), 1.0]]), sm.encode_labels(np.array([1, 0]))
        obj = LapSVM(K, None, labels, "hinge", gamma_A=0.5, fit_intercept=False)
        given = {"alpha": np.zeros(2), "b": 0.0}, {"beta": np.array([0.5, 0.5])}
        found = proof_of(obj, *given, Certificate(0.0, -1e9)).bound
        with ctx.workprec(BITS):
            scale = arb(record_of(obj, answer(*given)).numbers["scale"])
            known = scale * (1 - (1 + arb(2) ** -53) / 4)
            assert known - scale * 2.0**-52 < found < known

    def test_an_intercept_where_there_is_none(self, rng):
        labels = labels_of(rng, 5, 3)
        obj = LapSVM(kernel_of(rng, 5), None, labels, gamma_A=0.5, fit_intercept=False)
        with pytest.raises(Refuted, match=r"intercept of 0\.25 in a problem without one"):
            proof_of(obj, {"alpha": np.zeros(5), "b": 0.25})

    def test_matrices_that_are_missing_or_indefinite(self, rng):
        labels = labels_of(rng, 5, 3)
        obj = LapSVM(kernel_of(rng, 5), laplacian_of(rng, 5), labels, gamma_A=0.5, gamma_I=1.0)
        record = record_of(obj, answer({"alpha": np.zeros(5), "b": 0.0}))
        for name in ("K", "L"):
            rest = {key: array for key, array in record.arrays.items() if key != name}
            with pytest.raises(Refuted, match="kernel or the graph is missing"):
                proof(replace(record, arrays=rest))
            bad = record.arrays[name] - 1e-3 * np.eye(5) * np.linalg.eigvalsh(record.arrays[name])[-1]
            bad -= np.eye(5) * np.linalg.eigvalsh(bad)[0] + 1e-3 * np.eye(5)
            with pytest.raises(
                Refuted, match=rf"{name} with a diagonal of .* has eigenvalues down to -0\.001: indefinite"
            ):
                proof(replace(record, arrays={**record.arrays, name: bad}))


class TestRMM:
    @pytest.mark.parametrize("B", [np.inf, 1.0, 4.0, 0.5])
    def test_primal_and_bound(self, rng, B):
        l = 6
        labels, K, c = labels_of(rng, l, l), kernel_of(rng, l), rng.standard_normal(l) / 8
        with pytest.warns(UserWarning, match="below 1") if B < 1 else ctx.workprec(BITS):
            obj = RMM(K, labels, C=0.75, B=B)
        c *= min(1.0, 0.4 * B / np.abs(K @ c).max())
        b = 0.125 * min(1.0, B)
        y = labels.sign
        gamma = y * balanced_signs(rng, y, 0.75) if np.inf == B else np.append(dyadic(rng, l - 1, -3, 3), 0.0)
        gamma[-1] -= gamma.sum()
        found = proof_of(obj, {"gamma": c, "b": b}, {"gamma": gamma})
        assert_near(found, exact.on_kernel(obj, c, b, gamma))
        assert not any(shift.s > 0 for shift in found.shifts)

    def test_multipliers_outside_their_box_are_clipped(self, rng):
        labels, K = labels_of(rng, 6, 6), kernel_of(rng, 6)
        record = record_of(RMM(K, labels, C=0.75), answer({"gamma": np.zeros(6), "b": 0.0}))
        y, inside = record.arrays["y"], np.zeros(6)
        inside[[np.argmax(y), np.argmin(y)]] = 0.75, -0.75
        beyond = {"gamma": (1 + 1e-9) * inside - 1e-9 * y * (inside == 0)}
        bounds = [proof(with_arrays(record, **x)).bound for x in ({"gamma": inside}, beyond)]
        assert bounds[0] > -1e6
        assert bounds[0].overlaps(bounds[1])

    def test_decisions_beyond_the_bound_by_rounding_are_shortened(self, rng):
        labels = labels_of(rng, 4, 4)
        obj = RMM(np.eye(4), labels, C=2.0, B=1.5)
        c = 1.5 * (1 + 1e-9) * np.array([1.0, -0.5, 0.5, -1.0]) * labels.sign
        found = proof_of(obj, {"gamma": c, "b": 0.0}, {"gamma": np.zeros(4)})
        share = wide(1.5) / max(abs(x) for x in wide(c))
        f = share * wide(c)
        primal = dot(f, f) / 2 + exact.margin_losses(replace_bound(obj), f)
        assert is_near(found.primal, primal)
        record = record_of(obj, answer({"gamma": c, "b": 0.0}))
        with pytest.raises(Refuted, match=r"decisions are up to 1\.00000000\d+ times B = 1.5"):
            proof(with_arrays(record, c=c * (1 + 2e-9)))

    def test_decisions_that_are_equal_in_floats_are_all_shortened(self):
        labels, x, b = sm.encode_labels(np.array([0, 1])), 1.5 * (1 + 1e-9), 2.0**-60
        obj = RMM(np.eye(2), labels, C=2.0, B=1.5)
        record = record_of(obj, answer({"gamma": np.zeros(2), "b": b}, {"gamma": np.zeros(2)}))
        c = np.array([-x, x])  # decisions of x - b and x + b
        found = proof(with_arrays(record, c=c))
        share = wide(1.5) / (wide(x) + wide(b))
        f = share * (wide(c) + wide(b))
        primal = share * share * dot(wide(c), wide(c)) / 2 + exact.margin_losses(replace_bound(obj), f)
        assert is_near(found.primal, primal)

    def test_charges_of_a_singular_kernel(self, rng):
        labels, X = labels_of(rng, 6, 6), rng.standard_normal((6, 2))
        obj = RMM(X @ X.T, labels, C=2.0)
        c, gamma = rng.standard_normal(6), labels.sign * balanced_signs(rng, labels.sign)
        found = proof_of(obj, {"gamma": c, "b": 0.0}, {"gamma": gamma})
        s = float(found.shifts[0].s)
        assert found.shifts[0].name == "K"
        assert 0 < s < 1e-13
        assert float(found.charges) == pytest.approx(s * (c @ c + gamma @ gamma), rel=1e-12, abs=0)


def replace_bound(obj):
    """The same loss without its bound."""
    return obj.with_(B=np.inf)


class TestOverSpectrum:
    @pytest.mark.parametrize("order", [True, False])
    @pytest.mark.parametrize(("eps", "B", "ties"), [(0.0, np.inf, True), (1e-3, 8.0, True), (1e-3, np.inf, False)])
    def test_spectrum_margin(self, rng, order, eps, B, ties):
        n, l = 9, 5
        labels = labels_of(rng, n, l)
        eigenvalues = np.array([0.0, 0.25, 0.25, 0.5, 0.75])
        several = [spectrum_of(rng, n, 5, eigenvalues), spectrum_of(rng, n, 3)]
        for spectrum in (several[0], several):
            obj = SpectrumMargin(spectrum, labels, C=0.75, B=B, order=order, eps=eps, ties=ties)
            kappa = rng.random(obj.cone.m)
            kappa = kappa / (obj.cone.c @ kappa) * obj.rho + eps
            delta, v = obj.cone.weights(kappa), rng.standard_normal(obj.q) / 4
            gamma = labels.sign * balanced_signs(rng, labels.sign, 0.75)
            b = 0.25
            found = proof_of(obj, {"v": v, "b": b, "delta": delta}, {"gamma": gamma})
            assert_near(found, exact.over_spectrum(obj, {"v": v, "b": b, "delta": delta, "gamma": gamma}))

    def test_a_fixed_spectrum(self, rng):
        labels, delta = labels_of(rng, 8, 5), np.array([0.5, 0.0, 0.25, 0.25])
        obj = SpectrumMargin(spectrum_of(rng, 8, 4), labels, C=0.75, delta=delta)
        v, gamma = np.array([0.5, 0.0, 0.25, -0.125]), labels.sign * balanced_signs(rng, labels.sign, 0.75)
        given = {"v": v, "b": 0.25, "delta": delta}
        found = proof_of(obj, given, {"gamma": gamma})
        assert_near(found, exact.over_spectrum(obj, {**given, "gamma": gamma}))
        record = record_of(obj, answer(given))
        for changed in ({"v": np.array([0.5, 1e-300, 0.25, 0.0])}, {"delta": np.array([0.5, -1e-300, 0.25, 0.25])}):
            with pytest.raises(Refuted, match="delta is negative, or v is not 0 where delta is"):
                proof(with_arrays(record, **changed))

    def test_spectra_that_are_not_admissible(self, rng):
        labels = labels_of(rng, 8, 5)
        obj = SpectrumMargin(spectrum_of(rng, 8, 4), labels, C=0.75)
        record = record_of(obj, answer({"v": np.zeros(4), "b": 0.0, "delta": np.array([0.25, 0.25, 0.25, 0.25])}))
        proof(record)
        for delta in ([0.25, 0.2, 0.3, 0.25], [0.25, 0.25, 0.25, 0.2501], [0.25, 0.25, 0.25 + 6e-9, 0.25]):
            with pytest.raises(Refuted, match=r"delta is not admissible: it is .* away from what is"):
                proof(with_arrays(record, delta=np.array(delta)))
        near = with_arrays(record, delta=np.array([0.25, 0.25, 0.25 + 1e-10, 0.25]))
        assert proof(near).bound == proof(record).bound
        with pytest.raises(Refuted, match="leaves no trace to 4 drops"):
            proof(replace(record, numbers={**record.numbers, "eps": 1.0 / 7.0 + 1e-10}))

    def test_extreme_spectra_that_overlap(self):
        r = SimpleNamespace(first=np.array([0, 0, 1, 1]), last=np.array([1, 3, 1, 2]), delta=np.zeros(5))
        A = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0], [0, 1, 0, 0, 0], [0, 1, 1, 0, 0]])
        p, kappa = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.array([1.0, 2.0, 4.0, 8.0])
        assert floats(sums(r, balls(p))).tolist() == (A @ p).tolist()
        assert floats(weights(r, balls(kappa))).tolist() == (A.T @ kappa).tolist()

    def test_what_is_left_of_a_trace_is_more_than_nothing(self):
        r = SimpleNamespace(first=np.array([0, 0]), last=np.array([0, 2]), delta=balls([0.5, 0.25, 0.25]))
        with ctx.workprec(BITS), pytest.raises(Refuted, match="leaves no trace to 2 drops"):
            admissible(r, arb(0.25))

    @pytest.mark.parametrize("fixed", [True, False])
    def test_decisions_beyond_the_bound_by_rounding_are_shortened(self, rng, fixed):
        labels, delta = labels_of(rng, 8, 5), np.array([0.25, 0.25, 0.25, 0.25])
        obj = SpectrumMargin(spectrum_of(rng, 8, 4), labels, C=0.75, B=1.5, **({"delta": delta} if fixed else {}))
        v = rng.standard_normal(4)
        v *= 1.5 * (1 + 1e-9) / np.abs(obj.U @ v).max()
        record = record_of(obj, answer({"v": v, "b": 0.0, "delta": delta}, {"gamma": np.zeros(5)}))
        found = proof(with_arrays(record, v=v))
        f = times(wide(obj.U), wide(v))
        share = wide(1.5) / max(abs(x) for x in f)
        assert share < 1
        hinges = sum((max(1 - y * share * x, exact_numbers.ZERO) for y, x in zip(wide(labels.sign), f, strict=True)))
        assert is_near(found.primal, share * share * dot(wide(v), wide(v)) / (2 * wide(0.25)) + wide(0.75) * hinges)

    @pytest.mark.parametrize("order", [True, False])
    @pytest.mark.parametrize("l", [3, 5, 6, 7])
    def test_alignment(self, rng, order, l):
        n = 9
        for _ in range(4):
            labels = labels_of(rng, n, l)
            spectra = [spectrum_of(rng, n, 4), spectrum_of(rng, n, 2)]
            obj = Alignment(spectra, labels, order=order)
            kappa = rng.random(obj.cone.m) * (rng.random(obj.cone.m) < 0.7)
            kappa[0] += 0.1
            delta = obj.repair(obj.cone.weights(kappa))
            record = record_of(obj, answer({"delta": delta}))
            found, delta = proof(record), record.arrays["delta"]
            A = exact.rays(obj, delta)
            clean = times(A.T, np.array([max(x, exact_numbers.ZERO) for x in exact.drops(obj, delta, A)]))
            value, bound, scaled_bound = aligned(obj, clean)
            assert_near(found, (value, bound))
            for scale in (2.0**-10, 2.0**10):  # which does not matter to an alignment
                assert_near(proof(with_arrays(record, U=scale * record.arrays["U"])), (value, bound))
            # A wide claim is proved by the smallest ball of half-spaces alone, which needs no sizes.
            rough = proof(replace(record, claim=replace(record.claim, primal=0.0, dual=1e9, sense="maximize")))
            assert_near(rough, (value, scaled_bound))

    def test_columns_that_are_rounding_do_not_count(self, rng):
        labels = labels_of(rng, 8, 5)
        spectrum = spectrum_of(rng, 8, 4)
        obj = Alignment(spectrum, labels)
        assert not proof_of(obj, {"delta": np.full(4, 0.25)}).assumption
        U = spectrum.eigenvectors.copy()
        U[:, 0] = 0.0
        U[labels.labeled, 0] = 1e-17 * labels.sign  # aligned with the labels, all of it rounding
        rounded = proof_of(Alignment(replace(spectrum, eigenvectors=U), labels), {"delta": np.full(4, 0.25)})
        assert "below 1e-28 are rounding" in rounded.assumption
        assert rounded.bound < 1
        # What counts is the share of the largest, however small all of them are.
        record = record_of(obj, answer({"delta": np.full(4, 0.25)}))
        small = record.arrays["U"] * [2.0**-40, 2.0**-20, 2.0**-20, 2.0**-20]
        assert not proof(with_arrays(record, U=small)).assumption


def aligned(obj, delta):
    """`exact.aligned` at a spectrum in a hundred digits, and the bound of the half-space that holds every kernel."""
    U, y = wide(obj.U), wide(obj.labels.sign)
    A, l = exact.rays(obj, np.zeros(obj.q)), len(y)
    a = np.array([x * x for x in times(U.T, y)])
    M = np.vectorize(lambda x: x * x, otypes=[object])(times(U.T, U))
    image = times(M, delta)
    norm = dot(delta, image).sqrt()
    value, t = dot(a, delta) / (l * norm), dot(a, delta) / norm**2
    h, Mh = times(A, a), times(A, image)
    sizes = [dot(row, times(M, row)).sqrt() for row in A]
    excess = sum(
        (max(g - t * m, exact_numbers.ZERO) / k for g, m, k in zip(h, Mh, sizes, strict=True)), exact_numbers.ZERO
    )
    scaled = max(g / m for g, m in zip(h, Mh, strict=True)) * norm
    return value, min(t * norm + excess, scaled) / l, scaled / l


class TestSpectralRidge:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_primal_and_bound(self, rng, n_classes):
        n, l, q = 9, 6, 4
        y = np.full(n, -1)
        y[:l] = np.arange(l) % n_classes
        labels, delta = sm.encode_labels(y), np.array([0.0, 0.5, 0.25, 0.25])
        obj = SpectralRidge(spectrum_of(rng, n, q), labels, delta, penalty=0.375)
        v = rng.standard_normal((q, *labels.sign.shape[1:]))
        v[0] = 0.0
        b, theta = rng.standard_normal(labels.sign.shape[1:]), rng.standard_normal(labels.sign.shape)
        theta = obj.repair_multipliers(theta)
        found = proof_of(obj, {"v": v, "b": b}, {"theta": theta})
        assert found[2:5] == ((), 0, "")  # neither shifts nor charges nor assumptions
        assert_near(found, exact.ridge(obj, {"v": v, "b": b, "theta": theta}))
        record = record_of(obj, answer({"v": v, "b": b}))
        for changed in ({"v": record.arrays["v"] + 1e-300}, {"delta": delta - np.array([1e-300, 0, 0, 0])}):
            with pytest.raises(Refuted, match="delta is negative, or v is not 0 where delta is"):
                proof(with_arrays(record, **changed))
        theta = record.arrays["theta"] + 0.25
        known = exact.ridge(obj, {"v": v, "b": b, "theta": theta})
        assert_near(proof(with_arrays(record, theta=theta)), known)
        assert proof(with_arrays(record, theta=np.zeros_like(theta))).bound == 0


class TestGraphTransducer:
    def problem(self, rng):
        labels = labels_of(rng, 10, 5)
        obj = SpectralGraphTransducer(spectrum_of(rng, 10, 5), labels, C=3.0)
        w = rng.standard_normal(4)
        return obj, w * np.sqrt(10 / (w @ w))

    def known(self, obj, w, lam):
        """Value and Lagrangian bound in a hundred digits."""
        y, V, Q, C = (wide(x) for x in (obj.labels.sign, obj.labeled_rows, obj.Q, obj.C))
        plus = sum(1 for x in y if x > 0)
        sizes = [exact_numbers.ONE * (plus if x > 0 else len(y) - plus) for x in y]
        p = np.array([1 / x for x in sizes])
        tau = np.array([s * ((len(y) - x) / x).sqrt() for s, x in zip(y, sizes, strict=True)])
        w = wide(w)
        w = w * (exact_numbers.ONE * obj.n / dot(w, w)).sqrt()
        miss = times(V, w) - tau
        primal = dot(Q, w * w) / 2 + C * dot(p, miss * miss)
        A = 2 * C * times(V.T * p, V)
        A[np.diag_indices(4)] += Q - wide(lam)
        x = times(A, w) - 2 * C * times(V.T, p * tau)
        return primal, primal - dot(x, solve(A, x)) / 2

    def test_primal_and_bound(self, rng):
        obj, w = self.problem(rng)
        lam = -40.0  # so low that lower ones are worse
        found = proof_of(obj, {"w": w}, {"lam": lam})
        assert_near(found, self.known(obj, w, lam))

    def test_a_multiplier_above_the_eigenvalues_is_lowered(self, rng):
        obj, w = self.problem(rng)
        least = float(obj.eigen[0].min())
        record = record_of(obj, answer({"w": w}))
        at = replace(record, numbers={**record.numbers, "lam": least * (1 + 1e-9)})
        assert -np.inf < proof(at).bound <= proof(record).primal
        beyond = replace(record, numbers={**record.numbers, "lam": least + 100.0})
        assert proof(beyond).bound == -arb.pos_inf()

    def test_a_point_off_the_sphere(self, rng):
        obj, w = self.problem(rng)
        record = record_of(obj, answer({"w": 2 * w}))
        assert is_near(proof(record).primal, self.known(obj, w, 0.0)[0], 14)
        with pytest.raises(Refuted, match=r"\|w\|\^2 is 10.00000.*, not n = 10"):
            proof(with_arrays(record, w=w * (1 + 3e-9)))
        proof(with_arrays(record, w=w * (1 + 1e-9)))


def ritz_sum(obj, alpha):
    """The trace of (F'F)^-1 (gamma a'F + F'LF), F = Ka, once a constant among the coefficients gives F the mean 0."""
    K, L, a = wide(obj.K), exact.dense(obj.L), wide(alpha)
    k = K.sum(axis=0)
    a = a - np.array([dot(k, column) / sum(k) for column in a.T])
    F = times(K, a)
    return np.trace(solve(times(F.T, F), wide(obj.gamma) * times(a.T, F) + times(F.T, times(L, F))))


class TestClustering:
    def problem(self, rng, m, power=1):
        n = 7
        K, L = kernel_of(rng, n), laplacian_of(rng, n)
        obj = RegularizedClustering(K, sm.graphs.LaplacianOperator(sp.csr_array(L), power, False, np.ones(n)), 0.25)
        alpha = obj.feasible(rng.standard_normal((n, m)))
        return obj, alpha

    @pytest.mark.parametrize("m", [1, 2])
    @pytest.mark.parametrize("power", [1, 2])
    def test_primal_and_bound(self, rng, m, power):
        obj, alpha = self.problem(rng, m, power)
        known = exact.Clustering(obj)
        primal, bound = known({"alpha": alpha})
        floor = bound - (primal - bound) / 50  # `known` is that exact
        accepted = Certificate(float(primal), float(floor), rounding=1e-12)
        found = proof_of(obj, {"alpha": alpha}, certificate=accepted)
        assert is_near(found.primal, ritz_sum(obj, alpha))
        assert is_near(found.primal, primal, 13)  # which takes the mean off f, not off its coefficients
        assert float(floor) - 2e-12 < found.bound < float(bound)
        high = bound + (primal - bound) / 50
        refused = Certificate(float(primal), float(high), rounding=1e-12)
        assert proof_of(obj, {"alpha": alpha}, certificate=refused).bound == -arb.pos_inf()

    def test_multipliers_of_another_sign_prove_nothing(self, rng):
        """Any answer would prove its own value to be the least: Z diag(s) Z' - kappa is large but on its columns."""
        obj, alpha = self.problem(rng, 1)
        optimum = sm.solvers.eigenmaps(obj, 1).certificate.primal_objective
        primal = float(ritz_sum(obj, alpha))
        assert primal > 1.1 * optimum
        false = Certificate(primal, (primal + optimum) / 2, rounding=1e-12)
        record = record_of(obj, answer({"alpha": alpha}, certificate=false))
        for s in (0.0, -1e12):
            assert proof(with_arrays(record, s=np.array([s]))).bound == -arb.pos_inf()

    def test_a_kernel_that_is_centred_but_for_rounding(self, rng, monkeypatch):
        obj, _ = self.problem(rng, 1)
        P = np.eye(7) - 1 / 7
        K = P @ obj.K @ P
        centred = RegularizedClustering((K + K.T) / 2, laplacian_of(rng, 7), 0.25)
        result = sm.solvers.eigenmaps(centred, 2)
        found = proof_of(centred, result.variables, certificate=result.certificate)
        record = record_of(centred, answer(result.variables))
        assert record.numbers["centred"]
        assert float(found.primal) == pytest.approx(result.certificate.primal_objective, rel=1e-12)
        assert float(found.bound) == pytest.approx(result.certificate.dual_objective, rel=1e-9)
        s = float(found.shifts[0].s)
        assert 0 < s < 1e-13
        assert found.shifts[0].name == "K"
        with ctx.workprec(BITS):
            assert s <= float(shift(record.arrays["K"], "K").s)  # with all bits it is as small as can be proved
        with ctx.workprec(BITS // 2):
            assert s < 0.9 * float(shift(record.arrays["K"], "K").s)
        alpha = record.arrays["alpha"] - record.arrays["alpha"].mean(axis=0)
        charge = 2 * s * 0.25 * (alpha**2).sum()
        assert float(found.charges) == pytest.approx(charge, rel=1e-6, abs=0)
        # Smaller shifts cost more: of t = (1 + part) s it is t / (t - s), and the half of t is named.
        for tries, part in ((1, 0.25), (2, 0.0625)):
            answers = iter([False] * tries + [True])
            monkeypatch.setattr("specmargin.proofs.bounds.is_definite", lambda A, answers=answers: next(answers))
            again = proof_of(centred, result.variables, certificate=result.certificate)
            assert float(again.shifts[0].s) == pytest.approx((1 + part) / 2 * s, rel=1e-12, abs=0)
            assert float(again.charges) == pytest.approx(charge * (1 + part) / 2 / part, rel=1e-6, abs=0)

    def test_what_a_centred_kernel_has_of_constants_does_not_count(self, rng):
        """Of K, too, the mean is taken on both sides: here it has one that is no rounding."""
        n = 7
        Q = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, n - 1))]))[0][:, 1:]
        K = (Q * rng.uniform(0.5, 1, n - 1)) @ Q.T
        obj = RegularizedClustering((K + K.T) / 2, laplacian_of(rng, n), 0.25)
        alpha = obj.feasible(rng.standard_normal((n, 2)))
        record = record_of(obj, answer({"alpha": alpha}))
        assert record.numbers["centred"]
        X = rng.standard_normal((n, n)) / 2**14
        arrays = {"K": record.arrays["K"] + X + X.T + 2.0**-13, "alpha": record.arrays["alpha"] + [0.0005, -0.0003]}
        found = proof(with_arrays(record, **arrays)).primal
        K, a = wide(arrays["K"]), wide(arrays["alpha"])
        P = unit(n) - np.full((n, n), exact_numbers.ONE / n)
        F = times(P, times(K, times(P, a)))
        expected = np.trace(
            solve(times(F.T, F), wide(0.25) * times(times(P, a).T, F) + times(F.T, times(exact.dense(obj.L), F)))
        )
        assert is_near(found, expected)

    def test_columns_that_are_not_orthonormal(self, rng):
        obj, alpha = self.problem(rng, 2)
        record = record_of(obj, answer({"alpha": alpha}))
        for changed in (1.02 * alpha, alpha + 0.01, np.column_stack([alpha[:, 0], alpha[:, 0] / 2 + alpha[:, 1] / 2])):
            with pytest.raises(Refuted, match="columns of K alpha are not orthonormal and of mean 0: they miss it by"):
                proof(with_arrays(record, alpha=changed))
        longer = proof_of(obj, {"alpha": 3 * alpha}).primal  # which is repaired before it is recorded
        assert float(longer) == pytest.approx(float(proof(record).primal), rel=1e-12)
        negative = with_arrays(record, s=-record.arrays["s"] - 1e-300)
        assert proof(negative).bound == -arb.pos_inf()


class TestWeightedSVM:
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize(("intercept", "is_sparse"), [("balance", True), ("regularized", False), ("free", False)])
    def test_primal_and_bound(self, rng, loss, intercept, is_sparse):
        n = 6
        X = rng.standard_normal((n, 3))
        features = Features.of(sp.csr_array(X) if is_sparse else X, intercept, rows=np.array([0, 2]), balance=0.25)
        plus, minus = rng.random(n) * (rng.random(n) < 0.7), rng.random(n)
        linear = rng.standard_normal(n) / 64 if intercept != "free" else None
        svm = WeightedSVM(features, plus, minus, loss, linear)
        w = rng.standard_normal(svm.size)
        duals = {name: rng.uniform(0.1, 0.9, n) for name in ("plus", "minus")}
        found = proof_of(svm, {"w": w}, duals)
        assert_near(found, exact.weighted(svm, w, duals))

    def test_penalties_of_weights(self, rng):
        features = Features.of(rng.standard_normal((5, 2)), "balance", rows=np.arange(5))
        svm = WeightedSVM(features, rng.random(5), rng.random(5), "squared_hinge", None)
        record = record_of(svm, answer({"w": rng.standard_normal(2)}, {"plus": rng.random(5), "minus": rng.random(5)}))
        a = record.arrays
        four = proof(with_arrays(record, P=4 * a["P"]))
        half = {"X": a["X"] / 2, "w": 2 * a["w"]} | ({"mu": a["mu"] / 2} if "mu" in a else {})
        scaled = proof(with_arrays(record, **half))
        with ctx.workprec(BITS):
            assert abs(four.primal - scaled.primal) < 1e-60
            assert abs(four.bound - scaled.bound) < 1e-60
            assert abs(four.bound - proof(record).bound) > 1e-3

    def test_a_free_intercept_with_a_linear_term(self, rng):
        features = Features.of(rng.standard_normal((5, 2)), "free", rows=np.arange(5))
        svm = WeightedSVM(features, rng.random(5), rng.random(5), "squared", rng.standard_normal(5) / 8)
        w, duals = rng.standard_normal(3), {"plus": rng.random(5), "minus": rng.random(5)}
        assert is_near(proof_of(svm, {"w": w}, duals).bound, exact.weighted(svm, w, duals)[1])
        record = record_of(svm, answer({"w": w}, duals))
        with pytest.raises(Refuted, match="a weight other than that of a constant feature has no penalty"):
            proof(with_arrays(record, P=np.array([1.0, 0.0, 0.0])))


S3VMS = [(V, U) for V in ("hinge", "squared_hinge") for U in ("symmetric_hinge", "symmetric_squared_hinge", "exp")]


class TestS3VM:
    def problem(self, rng, V, U, intercept="balance", is_sparse=False, n=7):
        X, labels = rng.standard_normal((n, 3)), labels_of(rng, n, 3)
        return S3VM(
            sp.csr_array(X) if is_sparse else X, labels, V, U, C=0.75, C_star=0.375, balance=0.25, intercept=intercept
        )

    @pytest.mark.parametrize(("V", "U"), S3VMS)
    @pytest.mark.parametrize(("intercept", "is_sparse"), [("balance", True), ("regularized", False)])
    def test_primal_and_bound(self, rng, V, U, intercept, is_sparse):
        obj = self.problem(rng, V, U, intercept, is_sparse)
        w = rng.standard_normal(obj.size)
        theta = 0.9 * S3VMRelaxation(obj).repair(rng.random(4) * (rng.random(4) < 0.8))
        beta = rng.random(3) / 8
        found = proof_of(obj, {"w": w}, {"theta": theta, "beta": beta})
        assert is_near(found.primal, exact.nonconvex(obj, w))
        assert is_near(found.bound, max(exact.relaxed(obj, theta, beta), exact_numbers.ZERO), 40)
        assert found.bound > 0

    @pytest.mark.parametrize(("V", "U"), S3VMS)
    def test_the_relaxation(self, rng, V, U):
        obj = self.problem(rng, V, U)
        relaxation = S3VMRelaxation(obj)
        B = rng.standard_normal((4, 4)) / 2
        w, S = rng.standard_normal(3), (B @ B.T)[:3, :3]
        M = np.block([[np.ones((1, 1)), w[None]], [w[:, None], np.outer(w, w) + S]])
        theta, beta = relaxation.repair(rng.random(4)) / 2, rng.random(3) / 4
        found = proof_of(relaxation, {"M": M, "w": relaxation.expand(w)}, {"theta": theta, "beta": beta})
        assert float(found.primal) == pytest.approx(relaxation.value({"M": M}), rel=1e-12)
        assert is_near(found.bound, max(exact.relaxed(obj, theta, beta), exact_numbers.ZERO), 40)

    @pytest.mark.parametrize(("V", "U"), S3VMS)
    def test_decided_samples(self, rng, V, U):
        obj = self.problem(rng, V, U)
        relaxation = S3VMRelaxation(obj, np.array([1.0, 0.0, -1.0, 0.0]))
        theta, beta = relaxation.repair(rng.random(2)) / 2, rng.random(5) / 4
        M = np.diag([1.0, 0.25, 0.5, 0.125])
        given = {"M": M, "w": np.zeros(3), "theta": relaxation.over_unlabeled(theta), "beta": beta}
        found = proof_of(relaxation, given)
        assert float(found.primal) == pytest.approx(relaxation.value({"M": M}), rel=1e-12)
        assert float(found.bound) == pytest.approx(relaxation.dual_bound(theta, beta), rel=1e-9)

    def test_multipliers_outside_their_domain(self, rng):
        obj = self.problem(rng, "hinge", "exp")
        record = record_of(obj, answer({"w": np.zeros(3)}, {"theta": np.full(4, 1e3), "beta": np.ones(3)}))
        assert proof(record).bound == 0  # the losses are not negative
        clipped = {"theta": np.array([-1.0, 0.0, 0.0, 0.0]), "beta": np.array([-1.0, 0.25, 2.0])}
        inside = {"theta": np.zeros(4), "beta": np.array([0.0, 0.25, 1.0])}
        bounds = [proof(with_arrays(record, **x)).bound for x in (clipped, inside)]
        assert bounds[0].overlaps(bounds[1])
        for changed in ({"beta": np.ones(2)}, {"theta": np.ones(3)}):
            with pytest.raises(Refuted, match="no multiplier for each of the"):
                proof(with_arrays(record, **changed))
        # Without weight unlabelled samples do not count, whatever multipliers they have.
        weightless = replace(record, numbers={**record.numbers, "C_star": 0.0})
        alone = proof(with_arrays(weightless, **inside))
        assert alone.primal < proof(record).primal
        assert bounds[1] < alone.bound + 1e-9
        beta = np.full(3, 0.0625)
        again, other = (proof(with_arrays(weightless, beta=beta, theta=np.full(n, 0.25))) for n in (1, 4))
        assert again.bound == other.bound > 0
        twice = {"decided": record.arrays["J"][:1], "signs": np.ones(1), "beta": np.ones(4)}
        with pytest.raises(Refuted, match="labelled and decided"):
            proof(with_arrays(record, **twice))


class TestParabolasMinimum:
    @pytest.mark.parametrize("bent", [0, 2, 6])
    def test_it_is_the_minimum(self, rng, bent):
        n, d = 6, 4
        Z, h, g = dyadic(rng, (n, d)), rng.standard_normal(n), rng.standard_normal(n)
        theta = np.zeros(n)
        theta[:bent] = rng.random(bent) / 8
        b = 0.375
        with ctx.workprec(BITS):
            found = parabolas_minimum(arb_mat(Z.tolist()), arb(b), balls(h), balls(g), balls(theta))
        Z, h, g, theta, b = (wide(x) for x in (Z, h, g, theta, b))
        q, A = times(Z.T, theta * b - g), unit(d) - times(Z.T * theta, Z)
        minimum = sum(h + g * b - theta * b * b / 2) - dot(q, solve(A, q)) / 2
        assert is_near(found, minimum)

    def test_it_is_below_where_the_matrix_is_nearly_singular(self, rng):
        Z, g, h = rng.standard_normal((5, 3)), rng.standard_normal(5), np.zeros(5)
        theta = rng.random(5)
        theta /= np.linalg.eigvalsh(Z.T * theta @ Z)[-1]
        with ctx.workprec(BITS):
            F = arb_mat(Z.tolist())
            inside = parabolas_minimum(F, arb(0), balls(h), balls(g), balls((1 - 1e-9) * theta))
            outside = parabolas_minimum(F, arb(0), balls(h), balls(g), balls((1 + 1e-9) * theta))
        assert outside == -arb.pos_inf()
        Z, g, theta = wide(Z), wide(g), wide((1 - 1e-9) * theta)
        q = -times(Z.T, g)
        minimum = -dot(q, solve(unit(3) - times(Z.T * theta, Z), q)) / 2
        assert is_near(inside, minimum, 30)
        with ctx.workprec(400):
            assert inside <= arb(str(minimum))

    def test_what_is_not_definite_by_less_than_a_rounding_is_refused(self):
        with ctx.workprec(BITS):
            Z, nothing, tiny = arb_mat([[1.0]]), balls([0.0]), arb(2) ** -60
            assert parabolas_minimum(Z, arb(0), nothing, nothing, np.array([1 + tiny])) == -arb.pos_inf()
            assert parabolas_minimum(Z, arb(0), nothing, nothing, np.array([arb(1)])) == -arb.pos_inf()

    def test_what_is_not_known_of_the_matrix_is_charged(self, monkeypatch):
        # 1 - theta is 1/4 or more. Without a solution the bound is -g^2 / 2 over what is proved of it.
        monkeypatch.setattr("specmargin.proofs.bounds.solution", lambda A, product, b, stored: 0 * b)
        with ctx.workprec(BITS):
            theta = np.array([arb(0.5, 0.25)])
            found = parabolas_minimum(arb_mat([[ONE]]), arb(0), balls([0.0]), balls([1.0]), theta)
            assert -4 < found <= -2

    def test_what_floats_do_not_solve_flint_does(self, rng, monkeypatch):
        monkeypatch.setattr("numpy.linalg.inv", singular)
        self.test_it_is_the_minimum(rng, 2)

    def test_systems_that_are_singular_in_floats_are_solved_in_balls(self):
        # 1/2 (w_1^2 + w_2^2) + g'w - 1/2 theta'w^2: -g_1^2 / (2 (1 - theta_1)) - g_2^2 / (2 (1 - theta_2)) = -1/2 - 1.
        with ctx.workprec(BITS):
            tiny = arb(2) ** -40
            found = parabolas_minimum(
                arb_mat([[1.0, 0.0], [0.0, 1.0]]),
                arb(0),
                balls([0.0, 0.0]),
                np.array([arb(2) ** -20, arb(1)]),
                np.array([1 - tiny, arb(1) / 2]),
            )
        assert -1.5 - 1e-9 < found <= -1.5


class TestWhatAGuessCosts:
    """A solution of a linear system is a guess: what it leaves is charged in full."""

    @pytest.fixture(autouse=True)
    def no_guess(self, monkeypatch):
        monkeypatch.setattr("specmargin.proofs.bounds.solution", lambda A, product, b, stored: 0 * b)

    def test_lapsvm(self, rng):
        labels, K = labels_of(rng, 6, 4), kernel_of(rng, 6)
        obj = LapSVM(K, None, labels, "squared_hinge", gamma_A=0.375)
        beta = balanced_signs(rng, labels.sign)
        found = proof_of(obj, {"alpha": np.zeros(6), "b": 0.0}, {"beta": beta})
        assert is_near(found.bound, exact.Manifold(obj).dual(beta))  # without a graph the charge is exact
