"""Certificates against arithmetic in a hundred digits at returned points; any scale of the features; hard margins."""

from dataclasses import replace

import numpy as np
import pytest
from exact_numbers import wide
from exact_values import aligned, on_kernel, over_spectrum

import specmargin as sm
from specmargin.objectives import RMM, Alignment, SpectrumMargin
from specmargin.results import Status
from specmargin.solvers import relative_margin, spectrum_margin, spectrum_path
from specmargin.solvers.spectrum.interior_system import _Woodbury
from specmargin.spectra import Spectrum

pytestmark = pytest.mark.filterwarnings("ignore:B=")


def moons(seed, n=60, q=12):
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.15, random_state=seed)
    return sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=q, normalized=False), truth


def problem(seed, C, B, l=10, order=True, flipped=0, scale=1.0):
    spectrum, truth = moons(seed)
    y = sm.hide_labels(truth, n_labeled=l, random_state=seed)
    wrong = np.flatnonzero(y != -1)[:flipped]
    y[wrong] = 1 - y[wrong]
    spectrum = replace(spectrum, eigenvectors=scale * spectrum.eigenvectors)
    return SpectrumMargin(spectrum, sm.encode_labels(y), C=C / scale**2, B=B, order=order)


def assert_not_short(certificate, primal, dual):
    assert float(primal - dual) <= certificate.gap
    assert float(primal) <= certificate.primal_objective + certificate.rounding
    assert float(dual) >= certificate.dual_objective - certificate.rounding


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4, 1e7, 1e10])
@pytest.mark.parametrize("B", [np.inf, 1.0001, 1.1, 3.0])
def test_exact_arithmetic_finds_no_larger_gap(C, B):
    for seed, (order, flipped, scale) in enumerate([(True, 0, 1.0), (False, 0, 1e-8), (True, 3, 1e8)]):
        obj = problem(seed, C, B, order=order, flipped=flipped, scale=scale)
        result = spectrum_margin(obj)
        primal, dual = over_spectrum(obj, result.variables)
        assert_not_short(result.certificate, primal, dual)
        assert primal >= dual
        assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("C", [1.0, 1e7])
def test_points_far_from_the_optimum_are_certified_as_such(C, rng):
    for B in (np.inf, 1.2):
        obj = problem(5, C, B, flipped=1)
        for _ in range(5):
            gamma, kappa = C * rng.normal(size=10), rng.exponential(size=obj.cone.m)
            point = obj.repair(gamma, kappa, rng.normal(), rng.normal(size=obj.q))
            variables = {"delta": point.delta, "v": point.v, "b": point.b, "gamma": point.gamma}
            assert_not_short(obj.prove(point), *over_spectrum(obj, variables))


@pytest.mark.parametrize("C", [1e-2, 1e5, 1e10])
@pytest.mark.parametrize("B", [np.inf, 1.05])
def test_relative_margins_on_a_kernel(C, B, rng):
    X = rng.normal(size=(14, 3))
    labels = sm.encode_labels((X[:, 0] + 0.3 * rng.normal(size=14) > 0).astype(int))
    for scale in (1e-6, 1e6):
        for K in (scale * X @ X.T, scale * sm.kernels.gram(X, kernel="rbf", gamma=0.5)):
            obj = RMM((K + K.T) / 2, labels, C=C / scale, B=B)
            result = relative_margin(obj)
            found = result.variables
            assert_not_short(result.certificate, *on_kernel(obj, found["gamma"], found["b"], result.duals["gamma"]))
            gamma = obj.loss.repair_multipliers(labels.sign, found["gamma"])
            certificate, expansion, b = obj.repaired(found["gamma"], float(found["b"]))
            assert_not_short(certificate, *on_kernel(obj, expansion, b, gamma))
            if C <= 1e5:  # beyond, rounding has made K indefinite by more than the gap allows
                assert result.status is Status.OPTIMAL
            assert result.status is not Status.NUMERICAL


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 30.0, 1e6, 1e8])
def test_the_scale_of_the_features_is_that_of_C(scale):
    for order, B in ((True, 1.2), (False, np.inf)):
        one, other = (spectrum_margin(problem(1, 10.0, B, order=order, flipped=1, scale=s)) for s in (1.0, scale))
        value = other.certificate.primal_objective * scale**2
        assert value == pytest.approx(one.certificate.primal_objective, rel=1e-10)
        assert other.status is Status.OPTIMAL
        assert other.n_iter <= one.n_iter + 3
        path = spectrum_path(problem(1, 10.0, B, order=order, scale=scale), np.array([1.0, 2.0]) / scale**2)
        assert all(result.status is Status.OPTIMAL for result in path)


@pytest.mark.parametrize("B", [np.inf, 1.1])
def test_a_hard_margin_does_not_depend_on_C(B):
    values = [spectrum_margin(problem(2, C, B, l=8)).certificate for C in (1e4, 1e7, 1e9, 1e12, 1e15)]
    assert all(certificate.is_optimal(1e-9) for certificate in values)
    np.testing.assert_allclose([c.primal_objective for c in values], values[0].primal_objective, rtol=1e-9)


def test_labels_that_contradict_each_other_at_a_large_C():
    """What is left is C times the least loss: proved by way of smaller C."""
    values = []
    for C in (1e6, 1e8, 1e10):
        result = spectrum_margin(problem(4, C, 1.5, l=30, flipped=10))
        assert result.status is Status.OPTIMAL
        values.append(result.certificate.primal_objective / C)
    np.testing.assert_allclose(values, values[-1], rtol=1e-4)


def test_elimination_corrects_itself_where_samples_of_all_weights_meet(monkeypatch):
    """Weights from 1e-7 to 1e9: the steps lost their digits, by more or less on every processor."""
    before, after = [], []
    solve = _Woodbury.__call__

    def watched(self, r):
        x = solve(self, r)
        if r.ndim == 1 and self.doubtful:
            size = np.abs(r).max()
            before.append(np.abs(r - self._times(self._eliminate(r))).max() / size)
            after.append(np.abs(r - self._times(x)).max() / size)
        return x

    monkeypatch.setattr(_Woodbury, "__call__", watched)
    X, truth = sm.datasets.digits_pair(3, 8, n=300)
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=20, normalized=False)
    labels = sm.encode_labels(sm.hide_labels(truth, n_labeled=200, random_state=1))
    assert spectrum_margin(SpectrumMargin(spectrum, labels, C=1e4, B=1.05, order=False)).status is Status.OPTIMAL
    assert max(before) > 1e-8
    assert max(after) < 0.2 * max(before)
    assert max(after) < 2e-9


@pytest.mark.parametrize("seed", range(4))
def test_alignments_are_bounded_with_their_rounding(seed):
    spectrum, truth = moons(seed)
    labels = sm.encode_labels(sm.hide_labels(truth, n_labeled=8, random_state=seed))
    for scale in (1e-6, 1.0, 1e5):
        obj = Alignment(replace(spectrum, eigenvectors=scale * spectrum.eigenvectors), labels, order=seed % 2 == 0)
        result = sm.solvers.alignment(obj)
        assert result.status is Status.OPTIMAL
        value, bound = aligned(obj, result.variables)
        assert bound - value <= wide(result.certificate.gap)
        built = sm.solve(sm.problems.kta(obj))
        assert built.certificate.primal_objective == pytest.approx(float(value), rel=1e-9)


def test_the_solvers_own_coefficients_answer_where_the_normal_equations_fail(monkeypatch):
    spectrum, truth = moons(0)
    obj = Alignment(spectrum, sm.encode_labels(sm.hide_labels(truth, n_labeled=8, random_state=0)))
    best = sm.solvers.alignment(obj).certificate.primal_objective
    honest = np.linalg.lstsq
    monkeypatch.setattr(np.linalg, "lstsq", lambda a, b, rcond: (0.0 * honest(a, b, rcond=rcond)[0],))
    assert sm.solve(sm.problems.kta(obj)).certificate.primal_objective == pytest.approx(best, rel=1e-3)


def test_spectra_of_every_size_have_a_unit():
    obj = Alignment(Spectrum(np.arange(3.0), 1e-5 * np.eye(6)[:, :3], 1), sm.encode_labels([0, 1, 1, 0, 1, 0]))
    assert 0.5 <= float((obj.U**2).mean()) / obj.unit <= 2.0
