"""The alternation against CVXPY and scikit-learn, and its promise that the smoothed objective never rises."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

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


# What the docstring promises


@methods
def test_history_bounds_the_optimum_from_above_and_falls_to_it(method, spectrum_data):
    result = alternation(objective(spectrum_data(n=40, q=12, l=24), method))
    recorded, smoothing = np.array(result.history["objective"]), np.array(result.history["smoothing"])
    optimum = result.certificate.dual_objective
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
@pytest.mark.parametrize("B", [0.5, 1.0, 1.05, np.inf])
@pytest.mark.parametrize("support", [1, 9])
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
    np.testing.assert_allclose(obj.cone.weights(values["kappa"]), values["delta"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(values["f"], obj.decisions_at(values["v"], float(values["b"])), atol=1e-12)
    assert obj.dual_bound(values["gamma"]) == pytest.approx(result.certificate.dual_objective, rel=1e-12)
    assert np.abs(values["f"][obj.labels.labeled]).max() <= obj.B * (1 + 1e-9)


def test_stopped_early_it_says_so_and_bounds_all_the_same(spectrum_data):
    obj = objective(spectrum_data(), "MKL-S")
    short, long = alternation(obj, max_iter=3), alternation(obj)
    assert (short.status, short.n_iter) == (Status.MAX_ITER, 3)
    assert short.certificate.dual_objective <= long.certificate.primal_objective
    assert short.certificate.primal_objective > long.certificate.primal_objective * (1 + 1e-4)


def test_what_it_cannot_do_is_an_error(spectrum_data):
    with pytest.raises(ValueError, match=r"eps=0\.001: the spectrum has a closed form for eps=0 only"):
        alternation(objective(spectrum_data(), eps=1e-3))
