"""The alternation against CVXPY and scikit-learn, and its promise that the smoothed objective never rises."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

import specmargin as sm
from specmargin.objectives import SpectrumMargin
from specmargin.results import Status
from specmargin.solvers.spectrum.alternation import alternation

METHODS = {"STORM": (True, 1.2), "STOAM": (True, np.inf), "MKL-R": (False, 1.2), "MKL-S": (False, np.inf)}
TIGHT = {"tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11}
methods = pytest.mark.parametrize("method", METHODS)
kinds = pytest.mark.parametrize("kind", ["simple", "tied", "split"])
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def objective(data, method="STORM", C=5.0, **options):
    order, B = METHODS[method]
    return SpectrumMargin(*data, **{"C": C, "B": B, "order": order, **options})


def rise(history):
    """Largest rise of the objective between turns, as a share of it."""
    values = np.array(history["objective"])
    return (np.diff(values) / values[1:]).max(initial=-np.inf)


@methods
@kinds
@pytest.mark.parametrize("C", [0.5, 50.0])
def test_optimum_of_cvxpy(method, kind, C, spectrum_data, tol):
    obj = objective(spectrum_data(kind), method, C)
    result, reference = alternation(obj), sm.solve(sm.problems.storm(obj), **TIGHT)
    assert reference.certificate.is_optimal(1e-6)
    assert result.certificate.primal_objective == pytest.approx(
        reference.certificate.primal_objective, rel=tol["objective"]
    )
    assert result.certificate.is_optimal(tol["objective"])
    assert rise(result.history) < 1e-12


@methods
def test_spectrum_and_decisions_of_cvxpy(method, spectrum_data, tol):
    obj = objective(spectrum_data(n=40, q=12, l=24), method)
    result, reference = alternation(obj, tol=1e-10), sm.solve(sm.problems.storm(obj, "primal"), **TIGHT)
    for name in ("delta", "v", "b", "f"):
        np.testing.assert_allclose(
            result.variables[name], reference.variables[name], rtol=0, atol=tol["variables"], err_msg=name
        )


def test_handwritten_digits(tol):
    X, y_true = sm.datasets.digits_pair(3, 8)
    labels = sm.encode_labels(sm.hide_labels(y_true, n_labeled=40, random_state=0))
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=60)
    for method in METHODS:
        obj = objective((spectrum, labels), method, C=10.0)
        result, reference = alternation(obj, tol=1e-6), sm.solve(sm.problems.storm(obj), **TIGHT)
        assert result.certificate.is_optimal(1e-5)
        assert result.certificate.primal_objective == pytest.approx(
            reference.certificate.primal_objective, rel=tol["objective"]
        )
        assert rise(result.history) < 1e-12


def test_several_graphs_share_the_trace(spectrum_data, tol):
    one, labels = spectrum_data("simple")
    obj = objective(((one, spectrum_data("tied")[0]), labels))
    result, reference = alternation(obj), sm.solve(sm.problems.storm(obj), **TIGHT)
    assert result.certificate.primal_objective == pytest.approx(
        reference.certificate.primal_objective, rel=tol["objective"]
    )
    assert rise(result.history) < 1e-12


# What the docstring promises


@methods
def test_history_bounds_the_optimum_from_above_and_falls_to_it(method, spectrum_data):
    result = alternation(objective(spectrum_data(n=40, q=12, l=24), method))
    recorded, smoothing = np.array(result.history["objective"]), np.array(result.history["smoothing"])
    optimum = result.certificate.dual_objective
    assert len(recorded) == result.n_iter == len(result.history["relative_gap"])
    assert (np.diff(smoothing) <= 0).all()
    assert np.isin(smoothing[1:] / smoothing[:-1], [0.5, 1.0]).all()
    assert (recorded >= optimum).all()
    assert recorded[0] > 1.01 * optimum
    assert recorded[-1] < (1 + 1e-6) * optimum
    # Before mu is halved the minimum of P_mu is nearly reached, and that is at most this far above (q = 12).
    settled = np.flatnonzero((np.diff(smoothing) < 0) & (smoothing[:-1] > 1e-6) & (smoothing[:-1] < 0.5))
    mu = smoothing[settled]
    assert len(mu) > 3
    assert (recorded[settled] <= result.certificate.primal_objective / (1 - mu) + mu * 12**2 / 2).all()
    assert result.history["relative_gap"][-1] == result.certificate.relative_gap


def test_without_smoothing_a_weight_at_zero_never_returns(spectrum_data):
    """Why mu is needed: turns by hand that start on the wrong side end there."""
    obj = objective(spectrum_data(n=40, q=12, l=24), "MKL-S")
    best = alternation(obj)
    lost = int(best.variables["delta"].argmax())
    delta = np.where(np.arange(obj.q) == lost, 0.0, 1.0 / (obj.q - 1))
    for _ in range(60):
        v = alternation(replace(obj, delta=delta)).variables["v"]
        delta = obj.cone.best_for(v)
    assert delta[lost] == 0
    assert obj.value_at(v, 0.0, delta) > 1.001 * best.certificate.primal_objective


@methods
def test_smoothed_objective_is_the_one_recorded(method, spectrum_data):
    """After one turn: the SVM on the uniform spectrum, then the best spectrum for sqrt(v^2 + mu^2)."""
    obj = objective(spectrum_data(), method)
    uniform = alternation(replace(obj, delta=np.ones(obj.q))).variables
    mu = np.abs(uniform["v"]).mean()
    delta = obj.cone.best_for(np.hypot(uniform["v"], mu))
    f = np.clip(uniform["f"][obj.labels.labeled], -obj.B, obj.B)
    expected = 0.5 * ((uniform["v"] ** 2 + mu**2) / delta).sum() + obj.loss.value(obj.labels.sign * f).sum()
    history = alternation(obj, max_iter=1).history
    assert history["smoothing"] == pytest.approx([mu], rel=1e-9)
    assert history["objective"] == pytest.approx([expected], rel=1e-9)


# One turn: a SVM on a given kernel


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
@pytest.mark.parametrize("B", [0.5, 1.0, 1.05, 1.5, np.inf])
@pytest.mark.parametrize("support", [1, 3, 9])
def test_given_spectrum_is_an_rmm(C, B, support, spectrum_data, tol):
    """Of low rank, too: eight labels in the span of one or three eigenvectors."""
    delta = np.zeros(9)
    delta[1 : 1 + support] = np.linspace(2.0, 1.0, min(support, 8))
    with pytest.warns(UserWarning, match="below 1") if B < 1 else nullcontext():
        obj = SpectrumMargin(*spectrum_data(), C=C, B=B, delta=delta)
    result = alternation(obj)
    with pytest.warns(UserWarning, match="below 1") if B < 1 else nullcontext():
        rmm = sm.objectives.RMM((obj.U * obj.cone.delta) @ obj.U.T, obj.labels, C=C, B=B)
    reference = sm.solve(sm.problems.rmm(rmm), **TIGHT)
    assert result.problem == ("SVM" if np.isinf(B) else "RMM")
    assert (result.status, result.n_iter) == (Status.OPTIMAL, 1)
    assert result.certificate.is_optimal(tol["linalg"])
    assert result.certificate.primal_objective == pytest.approx(
        reference.certificate.primal_objective, rel=tol["objective"]
    )
    np.testing.assert_allclose(result.variables["delta"], obj.cone.delta)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_given_spectrum_without_bound_is_the_svc_of_scikit_learn(C, spectrum_data):
    obj = SpectrumMargin(*spectrum_data(n=60, q=20, l=40), C=C, delta=0.8 ** np.arange(20.0))
    f = alternation(obj).variables["f"][obj.labels.labeled]
    K = (obj.U * obj.cone.delta) @ obj.U.T
    by_svc = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, obj.labels.sign).decision_function(K)
    # Where every multiplier is at a bound (C = 0.1) the intercept is an interval: compare without it. And libsvm keeps
    # kernels in single precision.
    np.testing.assert_allclose(f - f.mean(), by_svc - by_svc.mean(), rtol=0, atol=1e-6 * np.abs(f).max())


def test_samples_that_repeat_and_a_kernel_of_zeros(spectrum_data):
    spectrum, labels = spectrum_data(n=24, q=9, l=16)
    rows = spectrum.eigenvectors.copy()
    rows[labels.labeled[8:]] = rows[labels.labeled[:8]]
    for B in (1.2, np.inf):
        twice = SpectrumMargin(replace(spectrum, eigenvectors=rows), labels, C=2.0, B=B, delta=np.ones(9))
        assert alternation(twice).certificate.is_optimal(1e-9)
        empty = replace(spectrum, eigenvectors=np.zeros_like(rows))
        result = alternation(SpectrumMargin(empty, labels, C=2.0, B=B, delta=np.ones(9)))
        assert result.certificate.is_optimal(1e-12)
        minority = min((labels.sign > 0).sum(), (labels.sign < 0).sum())
        assert result.certificate.primal_objective == pytest.approx(2.0 * 2.0 * minority)


# The result


def test_variables_belong_together(spectrum_data):
    obj = objective(spectrum_data())
    result = alternation(obj)
    values = result.variables
    assert set(values) == {"delta", "kappa", "v", "b", "gamma", "f"}
    assert values["delta"].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(obj.cone.weights(values["kappa"]), values["delta"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(values["f"], obj.decisions_at(values["v"], float(values["b"])), atol=1e-12)
    assert obj.dual_bound(values["gamma"]) == pytest.approx(result.certificate.dual_objective, rel=1e-12)
    assert np.abs(values["f"][obj.labels.labeled]).max() <= obj.B * (1 + 1e-9)
    assert (result.problem, result.solver) == ("STORM", "alternation")
    assert result.duals["balance"] == values["b"]


def test_stopped_early_it_says_so_and_bounds_all_the_same(spectrum_data):
    obj = objective(spectrum_data(), "MKL-S")
    short, long = alternation(obj, max_iter=3), alternation(obj)
    assert (short.status, short.n_iter) == (Status.MAX_ITER, 3)
    assert short.certificate.dual_objective <= long.certificate.primal_objective
    assert short.certificate.primal_objective > long.certificate.primal_objective * (1 + 1e-4)


def test_what_it_cannot_do_is_an_error(spectrum_data):
    with pytest.raises(ValueError, match=r"eps=0\.001: the spectrum has a closed form for eps=0 only"):
        alternation(objective(spectrum_data(), eps=1e-3))
    with pytest.raises(ValueError, match="max_iter=0 must be at least 1"):
        alternation(objective(spectrum_data()), max_iter=0)
