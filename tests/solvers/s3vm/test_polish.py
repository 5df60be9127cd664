"""The polishing Newton method: the rounding floor, indefinite Hessians, both ways to a step, scipy as an oracle."""

import importlib
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from s3vm_problems import gaussians
from scipy.optimize import minimize

from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.results import Status
from specmargin.solvers.s3vm.polish import polish

# The package's attribute of that name is the function.
module = importlib.import_module("specmargin.solvers.s3vm.polish")

smooth = pytest.mark.parametrize(
    ("loss", "unlabeled_loss"),
    [
        ("squared_hinge", "exp"),
        ("smooth_hinge", "exp"),
        ("squared", "exp"),
        ("squared_hinge", "symmetric_squared_hinge"),
    ],
)
intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])


@pytest.fixture(params=["dense", "products"])
def way(request, monkeypatch):
    """By Cholesky's factor, or by conjugate gradients."""
    if request.param == "products":
        monkeypatch.setattr(module, "_DENSE", 0)
    return request.param


@smooth
@intercepts
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_ends_at_the_rounding_floor_from_anywhere(loss, unlabeled_loss, intercept, C, way, rng):
    obj = gaussians(loss=loss, unlabeled_loss=unlabeled_loss, intercept=intercept, C=C)
    for w in (np.zeros(obj.size), rng.normal(size=obj.size), 30.0 * rng.normal(size=obj.size)):
        result = polish(obj, w)
        assert result.status is Status.STATIONARY
        assert result.certificate.dual_residual <= 1e-10
        assert result.certificate.primal_objective <= obj.value_at(w)
        # No saddle: the second differences are those of a minimum.
        assert np.linalg.eigvalsh(obj.hessian(result.variables["w"])).min() > -1e-9


@smooth
def test_it_stays_at_the_minimum_that_scipy_finds(loss, unlabeled_loss, way):
    obj = gaussians(loss=loss, unlabeled_loss=unlabeled_loss)
    theirs = minimize(obj.value_and_gradient, np.full(6, 0.3), jac=True, method="BFGS", options={"gtol": 1e-7})
    ours = polish(obj, theirs.x)
    assert ours.certificate.primal_objective == pytest.approx(theirs.fun, rel=1e-12)
    assert ours.certificate.primal_objective <= theirs.fun * (1 + 1e-15)
    np.testing.assert_allclose(ours.variables["w"], theirs.x, atol=1e-5)


def test_the_last_steps_converge_quadratically():
    obj = gaussians(loss="smooth_hinge", unlabeled_loss="exp", C=10.0)
    near = polish(obj, np.zeros(6)).variables["w"] + 1e-3
    sizes = [s for s in polish(obj, near, tol=1e-13).history["gradient"] if s > 1e-12]
    assert len(sizes) <= 6
    for before, after in itertools.pairwise(sizes):
        assert after < 100 * before**1.8


def test_values_never_rise_and_the_shift_goes_away(rng):
    # Unlabelled samples at the plane: an indefinite Hessian at the start.
    obj = gaussians(C=5.0)
    w = 0.01 * rng.normal(size=6)
    assert np.linalg.eigvalsh(obj.hessian(w)).min() < 0
    history = polish(obj, w).history
    assert max(history["shift"]) > 0
    assert history["shift"][-1] == 0
    assert (np.diff(history["objective"]) <= 1e-14 * history["objective"][0]).all()
    assert history["gradient"][-1] <= 1e-10


def test_impossible_tolerance_ends_at_the_floor(way):
    obj = gaussians(loss="smooth_hinge", unlabeled_loss="exp", C=100.0)
    result = polish(obj, np.zeros(6), tol=1e-300)
    assert result.status is Status.STATIONARY
    assert result.n_iter < 60
    assert result.certificate.dual_residual < 1e-11


def test_step_by_products_is_newtons(rng):
    obj = gaussians(loss="squared_hinge", unlabeled_loss="symmetric_squared_hinge")
    w = rng.normal(size=6)
    H, g = obj.hessian(w), obj.gradient(w)
    assert np.linalg.eigvalsh(H).min() > 0
    np.testing.assert_allclose(module._truncated(obj, w, g, 1e-13), -np.linalg.solve(H, g), rtol=1e-9)


def test_step_by_products_turns_back_at_negative_curvature(rng):
    obj = gaussians(C=5.0)
    w = 0.01 * rng.normal(size=6)
    assert np.linalg.eigvalsh(obj.hessian(w)).min() < 0
    g = obj.gradient(w)
    assert module._truncated(obj, w, g, 1e-13) @ g < 0


def test_many_sparse_features_go_by_products():
    rng = np.random.default_rng(3)
    n, d = 150, 3000
    X = sp.random_array((n, d), density=0.01, rng=rng, format="csr")
    truth = (np.asarray(X[:, :1500].sum(axis=1)).ravel() > np.asarray(X[:, 1500:].sum(axis=1)).ravel()).astype(int)
    y = np.full(n, -1)
    y[:30] = truth[:30]
    obj = S3VM(X, encode_labels(y), "smooth_hinge", "exp")
    result = polish(obj, np.zeros(obj.size))
    assert result.status is Status.STATIONARY
    assert result.certificate.dual_residual <= 1e-10
    assert np.isnan(result.history["shift"]).all()


def test_smoothed_objective_can_be_polished():
    obj = gaussians(loss="hinge", unlabeled_loss="exp").smoothed(0.1)
    assert polish(obj, np.zeros(6)).certificate.dual_residual <= 1e-10


def test_features_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"overflow; divide the features by their largest length"):
        polish(gaussians(form=lambda X: 1e160 * X), np.zeros(6))
