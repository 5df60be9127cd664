"""Classifiers on spectra that no label has touched: parametric transforms, Xu et al., the spectral graph transducer."""

from functools import partial

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import minimize
from sklearn.svm import SVC

import specmargin as sm
from specmargin.graphs import Laplacian
from specmargin.spectra import Transform
from specmargin.spectra.transforms import TRANSFORMS, analytic_centre

SETTINGS = [
    ("diffusion", {"sigma": 0.6}),
    ("diffusion", {}),
    ("gaussian_field", {"sigma": 0.2}),
    ("inverse", {}),
    ("power", {"exponent": 1.3}),
    ("step", {"k": 7}),
    ("geometric", {"w": 1.3}),
]


def laplacian_of(X):
    return sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=10), normalized=False).toarray()


@pytest.mark.parametrize(("transform", "params"), SETTINGS)
def test_parameters_reach_the_transform(moons, transform, params):
    X, _, y = moons
    fitted = sm.SpectralKernelSVM(q=40, transformation=Transform(transform, **params)).fit(X, y)
    np.testing.assert_allclose(fitted.delta_, TRANSFORMS[transform](fitted.eigenvalues_, **params), rtol=1e-9)


def test_it_is_the_svm_on_the_diffusion_kernel(moons):
    """All eigenpairs and scipy's matrix exponential instead of the estimator's spectrum."""
    X, _, y = moons
    known = y != -1
    K = scipy.linalg.expm(-laplacian_of(X) / 0.5**2)
    K *= len(X) / np.trace(K)
    svc = SVC(C=3.0, kernel="precomputed", tol=1e-10).fit(K[np.ix_(known, known)], y[known])
    fitted = sm.SpectralKernelSVM(
        C=3.0, class_balance=None, laplacian=Laplacian(normalized=False), transformation=Transform(sigma=0.5)
    ).fit(X, y)  # q: min(200, n) = n
    assert fitted.delta_.shape == (120,)
    np.testing.assert_allclose(fitted.scores_, svc.decision_function(K[:, known]), atol=1e-6)


def test_a_transform_of_ones_own(moons):
    X, _, y = moons

    def cut(spectrum, k):
        return 7.0 * (np.arange(spectrum.q) < k)  # any scale will do

    own = sm.SpectralKernelSVM(q=20, transformation=partial(cut, k=6)).fit(X, y)
    named = sm.SpectralKernelSVM(q=20, transformation=Transform("step", k=6)).fit(X, y)
    np.testing.assert_allclose(own.delta_, named.delta_, atol=1e-15)
    np.testing.assert_allclose(own.scores_, named.scores_, atol=1e-9)


def test_one_spectrum_serves_all_classes(blobs):
    X, y_true, y = blobs
    for method in (sm.SpectralKernelSVM(C=10.0, transformation="inverse"), sm.SpectralGraphTransducer()):
        fitted = method.set_params(q=20, unlabeled="?").fit(X, y)
        assert fitted.delta_.shape == (3, 20)
        assert (fitted.delta_[0] == fitted.delta_[1]).all()
        assert (fitted.transduction_ == y_true).mean() > 0.9


# Xu et al.


def test_the_spectrum_of_xu_et_al_knows_no_labels(moons):
    X, y_true, y = moons
    fitted = sm.XuSpectralSVM(C=10.0, q=25).fit(X, y)
    np.testing.assert_allclose(fitted.delta_, analytic_centre(fitted.eigenvalues_), atol=1e-15)
    other = sm.XuSpectralSVM(C=0.1, q=25).fit(X, sm.hide_labels(1 - y_true, per_class=9, random_state=8))
    np.testing.assert_array_equal(other.delta_, fitted.delta_)
    steep = sm.XuSpectralSVM(q=25, w=1.3).fit(X, y)
    np.testing.assert_allclose(steep.delta_, analytic_centre(fitted.eigenvalues_, 1.3), atol=1e-15)
    assert (steep.delta_[1:-1] >= 1.3 * steep.delta_[2:]).all()


# The spectral graph transducer


def literal_transducer(X, y, q, C, exponent):
    """Eq. 1 in all of span(V), by many local searches on the sphere, from formulas written here."""
    n = len(X)
    V = np.linalg.eigh(laplacian_of(X))[1][:, 1:q]
    Q = np.arange(1.0, q) ** exponent
    positive, negative = y == 1, y == 0
    ratio = np.sqrt(negative.sum() / positive.sum())
    tau = np.where(positive, ratio, np.where(negative, -1 / ratio, 0.0))
    P = np.where(positive, 1 / positive.sum(), np.where(negative, 1 / negative.sum(), 0.0))

    def value(x):
        h = V @ (np.sqrt(n) * x / np.linalg.norm(x))
        return 0.5 * ((V.T @ h) ** 2 * Q).sum() + C * (P * (h - tau) ** 2).sum()

    rng = np.random.default_rng(0)
    runs = [minimize(value, rng.normal(size=q - 1), method="BFGS", options={"gtol": 1e-9}) for _ in range(12)]
    best = min(runs, key=lambda run: run.fun)
    return best.fun, V @ (np.sqrt(n) * best.x / np.linalg.norm(best.x)), (ratio - 1 / ratio) / 2


@pytest.mark.parametrize(("C", "exponent"), [(30.0, 2.0), (300.0, 1.5)])
def test_the_transducer_is_the_global_minimum_of_the_literal_problem(moons, C, exponent):
    X, _, y = moons
    y = y.copy()
    y[np.flatnonzero(y == 1)[:2]] = -1  # unequal classes: the threshold is not zero
    best, h, threshold = literal_transducer(X, y, 9, C, exponent)
    fitted = sm.SpectralGraphTransducer(
        q=9, C=C, exponent=exponent, class_balance=None, laplacian=Laplacian(normalized=False)
    ).fit(X, y)
    certificate = fitted.result_.certificate
    assert certificate.is_optimal(1e-9)
    assert certificate.primal_objective == pytest.approx(best, rel=1e-7)
    assert fitted.intercept_.tolist() == pytest.approx([-threshold])
    np.testing.assert_allclose(fitted.scores_, h - threshold, atol=1e-3)
    assert ((fitted.scores_ + threshold) ** 2).sum() == pytest.approx(len(X))
    np.testing.assert_array_equal(fitted.transduction_, (h > threshold).astype(int))
    i = np.arange(1.0, 9.0)
    np.testing.assert_allclose(fitted.delta_, np.append(0.0, i**-exponent) / (i**-exponent).sum(), rtol=1e-12)
