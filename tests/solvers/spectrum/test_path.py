"""The path over C: one by one, by CVXPY, and as a function of C."""

from dataclasses import replace

import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives import SpectrumMargin
from specmargin.solvers.spectrum.path import spectrum_path
from specmargin.solvers.spectrum.spectrum_margin import spectrum_margin

METHODS = {"STORM": (True, 1.2), "STOAM": (True, np.inf), "MKL-R": (False, 1.2), "MKL-S": (False, np.inf)}
methods = pytest.mark.parametrize("method", METHODS)
CS = np.logspace(-2, 3, 16)


def objective(data, method):
    order, B = METHODS[method]
    return SpectrumMargin(*data, B=B, order=order)


def optima(path):
    return np.array([result.certificate.primal_objective for result in path])


@methods
@pytest.mark.parametrize("kind", ["simple", "tied", "split"])
def test_every_answer_is_that_of_its_own_problem(method, kind, spectrum_data, tol):
    obj = objective(spectrum_data(kind), method)
    path = spectrum_path(obj, CS)
    alone = [spectrum_margin(replace(obj, C=C)) for C in CS]
    assert all(result.certificate.is_optimal(1e-9) for result in path)
    assert optima(path) == pytest.approx(optima(alone), rel=tol["linalg"])
    for k in (0, 7, 15):
        by_cvxpy = sm.solve(sm.problems.storm(replace(obj, C=CS[k])))
        assert optima(path)[k] == pytest.approx(by_cvxpy.certificate.primal_objective, rel=tol["objective"])


@methods
def test_the_optimum_is_a_concave_function_of_C_whose_slope_is_the_loss(method, spectrum_data):
    """The least of functions that are linear in C; at the minimiser the slope is its sum of slacks."""
    obj = objective(spectrum_data(n=40, q=12, l=24), method)
    Cs = np.linspace(0.2, 3.0, 29)
    path = spectrum_path(obj, Cs)
    values, slopes = optima(path), np.diff(optima(path)) / np.diff(Cs)
    losses = [
        np.maximum(0.0, 1.0 - obj.labels.sign * result.variables["f"][obj.labels.labeled]).sum() for result in path
    ]
    slack = 1e-8 * values.max()
    assert (np.diff(values) >= -slack).all()
    assert (np.diff(slopes) <= slack).all()
    assert (slopes <= np.array(losses[:-1]) + slack).all()
    assert (slopes >= np.array(losses[1:]) - slack).all()


def test_once_the_labels_are_separated_C_does_not_matter(spectrum_data):
    obj = objective(spectrum_data(n=40, q=20, l=6), "STOAM")
    first, last = spectrum_path(obj, [1e3, 1e5])
    assert (obj.labels.sign * first.variables["gamma"]).max() < 1e3
    np.testing.assert_allclose(last.variables["delta"], first.variables["delta"], rtol=0, atol=1e-9)


def test_answers_come_in_the_order_asked_for(spectrum_data):
    obj = objective(spectrum_data(), "STORM")
    order = np.array([5, 0, 12, 5, 3])
    shuffled, sorted_path = spectrum_path(obj, CS[order]), spectrum_path(obj, np.sort(CS[order]))
    assert optima(shuffled).tolist() == pytest.approx(optima(sorted_path)[[2, 0, 4, 3, 1]].tolist(), rel=1e-9)
    assert optima(shuffled)[1] < optima(shuffled)[4] < optima(shuffled)[0]


@pytest.mark.parametrize(
    ("Cs", "message"),
    [
        ([], r"Cs has the shape \(0,\); pass a list of at least one C"),
        (1.0, r"Cs has the shape \(\)"),
        ([[1.0]], r"Cs has the shape \(1, 1\)"),
        ([1.0, 0.0], "Cs holds 0.0; every C must be a positive number"),
        ([1.0, np.nan], "Cs holds nan"),
        ([np.inf], "Cs holds inf"),
    ],
)
def test_wrong_Cs_are_named(Cs, message, spectrum_data):
    with pytest.raises(ValueError, match=message):
        spectrum_path(objective(spectrum_data(), "STORM"), Cs)
