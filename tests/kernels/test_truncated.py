"""Kernels of low numerical rank: what the factor leaves out is known, and certificates hold for the kernel itself."""

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.estimators._base import feature_maps
from specmargin.kernels import RBF, Cosine, Linear, LowRankKernel, Polynomial
from specmargin.kernels.truncated import TruncatedKernel, truncated_kernel


@pytest.fixture
def X(rng):
    return rng.normal(size=(700, 2))


@pytest.mark.parametrize("kernel", [RBF(0.05), Linear(), Polynomial(2), Cosine()])
@pytest.mark.parametrize("form", ["dense", "sparse", "repeated", "far"])
def test_nothing_but_rounding_is_left(X, kernel, form):
    if form == "repeated":
        X[350:] = X[:350]
    if form == "far":
        X += 1e3
    kernel, data = kernel.fitted_to(X), sp.csr_array(X) if form == "sparse" else X
    K, truncated = kernel.block(data), truncated_kernel(kernel.block, data, 200)
    assert truncated is not None
    unit = K.diagonal().mean()
    assert truncated.left.sum() <= 1e-14 * K.trace()
    assert np.abs(K - np.asarray(truncated)).max() < 1e-12 * unit
    assert truncated.factor.shape[1] <= {"Linear": 2, "Cosine": 2, "Polynomial": 6}.get(type(kernel).__name__, 200)


def test_a_kernel_of_full_rank_is_given_up_soon(rng):
    X, computed = rng.normal(size=(2000, 8)), []

    def block(*rows):
        computed.append(rows[0].shape[0] * rows[-1].shape[0])
        return RBF("local").fitted_to(X).block(*rows)

    assert truncated_kernel(block, X, 250) is None
    assert sum(computed) < 0.2 * 2000**2
    assert truncated_kernel(Linear().block, np.zeros((50, 2)), 6) is None


def left_out(rng, n=60, r=12):
    """Return a kernel and its factor by r pivots, of which much is left."""
    X = rng.normal(size=(n, 2))
    K = RBF(2.0)(X)
    F = K[:, :r] @ np.linalg.inv(np.linalg.cholesky(K[:r, :r])).T
    left = np.maximum(K.diagonal() - (F**2).sum(axis=1), 0.0)
    return K, TruncatedKernel(np.asfortranarray(F), left, lambda rows: K[rows, rows]), X


def test_the_length_of_what_is_left(rng, monkeypatch):
    monkeypatch.setattr("specmargin.kernels.truncated._SIZES", (10, 60))
    K, truncated, _ = left_out(rng)
    E = K - truncated.factor @ truncated.factor.T
    for _ in range(20):
        v = rng.normal(size=60)
        exact = np.sqrt(v @ E @ v)
        coarse = truncated.length_left(v, np.inf)
        some = truncated.length_left(v, 0.9 * coarse)
        assert exact <= truncated.length_left(v) <= exact * (1 + 1e-8)
        assert exact < some < coarse


@pytest.mark.parametrize("gamma_A", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("gamma_I", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_certificates_hold_for_the_kernel_itself(rng, gamma_A, gamma_I, loss):
    K, truncated, X = left_out(rng)
    y = np.where(np.arange(60) % 4 == 0, X[:, 0] > 0, -1)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, 5), normalized=False)
    weights = {"gamma_A": gamma_A, "gamma_I": gamma_I, "loss": loss}
    own = sm.solvers.factorized(sm.objectives.LapSVM(K, L, sm.encode_labels(y), **weights)).certificate
    got = sm.solvers.factorized(sm.objectives.LapSVM(truncated, L, sm.encode_labels(y), **weights)).certificate
    plain = sm.objectives.LapSVM(LowRankKernel(truncated.factor), L, sm.encode_labels(y), **weights)
    assert got.dual_objective - got.rounding <= own.primal_objective + own.rounding
    assert own.dual_objective - own.rounding <= got.primal_objective
    # Not so of the problem in the span of F alone, whose optimum is higher.
    assert sm.solvers.factorized(plain).certificate.dual_objective > own.primal_objective


@pytest.mark.parametrize("estimator", [sm.LapSVM, sm.LapRLS])
def test_estimators_find_the_same_optimum(estimator, monkeypatch):
    X, y_true = sm.datasets.make_two_moons(n_samples=2100, noise=0.1, random_state=0)
    y = sm.hide_labels(y_true, per_class=20, random_state=0)
    fits = []
    for stored in (1000, 10_000):
        monkeypatch.setattr(feature_maps, "_STORED", stored)
        fits.append(estimator(gamma_A=1e-2, gamma_I=1e-4).fit(X, y))
    low, full = fits
    assert low.result_.status is sm.Status.OPTIMAL
    assert low.result_.certificate.primal_objective == pytest.approx(
        full.result_.certificate.primal_objective, rel=1e-12
    )
    assert np.abs(low.scores_ - full.scores_).max() < 1e-9
    new = X[:50] + 0.01
    assert np.abs(low.decision_function(new) - full.decision_function(new)).max() < 1e-8
    monkeypatch.setattr(feature_maps, "_STORED", 1000)
    assert low.dual_coef_.shape == full.dual_coef_.shape
    assert estimator().fit(X, y).result_.status is sm.Status.OPTIMAL
