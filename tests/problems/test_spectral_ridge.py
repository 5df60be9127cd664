"""Ridge regression through CVXPY against its closed form and scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import specmargin as sm
from specmargin.objectives import SpectralRidge
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.problems import spectral_ridge_primal


def objective(n_classes, penalty, power=2.0):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(60, 2)) + 3.0 * np.arange(60)[:, None] % n_classes
    y = np.full(60, -1)
    y[: 5 * n_classes] = np.arange(5 * n_classes) % n_classes
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=12, normalized=False)
    return SpectralRidge(spectrum, sm.encode_labels(y), power_spectrum(spectrum, power), penalty=penalty)


@pytest.mark.parametrize("solver", sm.problems.default_solvers())
@pytest.mark.parametrize("penalty", [1e-6, 0.1, 1e4])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_optimum_of_the_numpy_solver_and_of_scikit_learn(n_classes, penalty, solver):
    obj = objective(n_classes, penalty)
    result = sm.solve(spectral_ridge_primal(obj), solver)
    assert result.certificate.is_optimal(1e-6)
    exact = sm.solvers.spectral_ridge(obj)
    assert result.certificate.primal_objective == pytest.approx(exact.certificate.primal_objective, rel=1e-6, abs=1e-9)
    design = obj.U * np.sqrt(obj.delta)
    fitted = Ridge(alpha=penalty, solver="svd").fit(design, obj.labels.sign)
    np.testing.assert_allclose(obj.decisions(result.variables)[obj.labels.labeled], fitted.predict(design), atol=1e-4)
    # The intercept is the best one, whatever the solver's accuracy.
    assert np.abs(obj.residuals(result.variables["v"], result.variables["b"]).mean(axis=0)).max() < 1e-13


def test_the_multipliers_are_twice_the_residuals_and_the_parameter_may_change():
    obj = objective(2, 0.1)
    built = spectral_ridge_primal(obj)
    result = sm.solve(built, tol=1e-9)
    theta = -result.duals["fit"]
    np.testing.assert_allclose(theta, obj.multipliers(result.variables["v"], result.variables["b"]), atol=1e-6)
    assert obj.certificate(result.variables, {"theta": theta}).is_optimal(1e-6)
    built.parameters["penalty"].value = 3.0
    again = sm.solve(built)
    expected = sm.solvers.spectral_ridge(obj.with_(penalty=3.0)).certificate.primal_objective
    assert again.certificate.is_optimal(1e-6)
    assert again.certificate.primal_objective == pytest.approx(expected, rel=1e-8)


def test_a_weight_of_zero_ties_its_coefficient_to_zero():
    obj = objective(2, 0.1)
    assert obj.delta[0] == 0
    result = sm.solve(spectral_ridge_primal(obj))
    assert result.variables["v"][0] == 0
    assert np.isfinite(result.certificate.primal_objective)
