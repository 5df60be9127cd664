"""Conformal sets of LapRLS and SpectralRidge against literal refits of the estimators, and what is refused."""

import numpy as np
import pytest

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian
from specmargin.kernels import RBF, Landmarks
from specmargin.objectives.held_out.conformal import ConformalRidge
from specmargin.objectives.manifold_weights import usual_ratio
from specmargin.solvers.spectrum.spectral_ridge import PENALTIES
from specmargin.spectra import Eigenvectors


def refits(make, X, y, j, classes):
    """p-values of the classes as the label of sample j: l + 1 fits of the estimator for each."""
    known = np.flatnonzero(y != -1)
    p = []
    for k in classes:
        scores = []
        for i in (*known, j):
            others = y.copy()
            others[j] = k
            own = others[i]
            others[i] = -1
            clf = make().fit(X, others)
            results = clf.result_ if isinstance(clf.result_, tuple) else (clf.result_,)
            f = np.concatenate([np.asarray(one.variables["f"])[i].ravel() for one in results])
            f = np.array([-f[0], f[0]]) if len(f) == 1 else f
            scores.append(np.delete(f, own).max() - f[own])
        scores = np.array(scores)
        p.append(np.mean(np.append(scores[:-1] >= scores[-1] - 1e-8, True)))
    return np.array(p)


MAKERS = {
    "LapRLS": lambda: sm.LapRLS(gamma_A=0.03, gamma_I=0.5, kernel=RBF(1.0), graph=4),
    "LapRLS, power 2, no intercept": lambda: sm.LapRLS(
        gamma_A=0.03,
        fit_intercept=False,
        kernel=RBF(1.0),
        laplacian=Laplacian(power=2, normalized="auto"),
        gamma_I="100.0 gamma_A",
    ),
    "LapRLS, supervised": lambda: sm.LapRLS(gamma_A=0.03, gamma_I=0.0, kernel=RBF(1.0)),
    "LapRLS, eigenvectors": lambda: sm.LapRLS(gamma_A=0.03, functions=Eigenvectors(8), gamma_I="100.0 gamma_A"),
    "LapRLS, zscore": lambda: sm.LapRLS(gamma_A=0.03, class_balance="zscore", kernel=RBF(1.0), gamma_I="100.0 gamma_A"),
    "SpectralRidge": lambda: sm.SpectralRidge(penalty=0.1, class_balance=None, q=12, eigen_tol=0.0),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_p_values_are_those_of_refits_of_the_estimator(rng, name, n_classes):
    n = 30
    truth = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 2)) + 2.0 * np.column_stack([truth == 0, truth == 1])
    # Two labels and more of every class: the estimator needs two classes to be left.
    y = np.full(n, -1)
    for k in range(n_classes):
        y[np.flatnonzero(truth == k)[: 3 + (k == 0)]] = k
    fitted = MAKERS[name]().fit(X, y)
    p = fitted.conformal_p_values()
    for j in np.flatnonzero(y == -1)[:2]:
        np.testing.assert_allclose(p[j], refits(MAKERS[name], X, y, j, np.arange(n_classes)), atol=1e-10)
    known = y != -1
    np.testing.assert_array_equal(p[known], y[known][:, None] == np.arange(n_classes))
    np.testing.assert_array_equal(fitted.conformal_sets(level=0.7), p > 0.3 + 1e-9)


def test_new_samples_of_a_supervised_model_are_as_unlabelled_ones(moons):
    X, _, y = moons
    clf = sm.LapRLS(gamma_A=0.1, gamma_I=0.0, kernel=RBF(2.0)).fit(X, y)
    new = y == -1
    for conditional in (False, True):
        np.testing.assert_array_equal(
            clf.conformal_p_values(X[new], class_conditional=conditional),
            clf.conformal_p_values(class_conditional=conditional)[new],
        )


@pytest.mark.parametrize("gamma_I", ["auto", 0.5])
def test_automatic_weights_look_at_no_label(moons, gamma_I):
    """gamma_A="auto" is that of all training samples as labelled ones, and the graph takes part."""
    X, truth, y = moons
    clf = sm.LapRLS(gamma_I=gamma_I).fit(X, y)
    p = clf.conformal_p_values()
    W = sm.graphs.knn_graph(X, n_neighbors=min(10, len(X) - 1))
    K, L = clf.kernel_(X), clf.laplacian_(W)
    ratio = usual_ratio(K, L) if gamma_I == "auto" else 100.0
    whole = sm.LapRLS(
        unlabeled=-2,
        kernel=clf.kernel_,
        laplacian=clf.laplacian_,
        gamma_I=f"{ratio} gamma_A",
    )
    gamma_A = whole.fit(X, truth, graph=W).gamma_A_
    ratio = ratio if gamma_I == "auto" else gamma_I / gamma_A
    G, known = sm.kernels.deformed_kernel(K, L, ratio).matrix, np.flatnonzero(y != -1)
    ridge = ConformalRidge(G[np.ix_(known, known)], np.where(y[known] == 1, 1.0, -1.0), gamma_A)
    expected = ridge.p_values(G[:, known], np.diag(G))
    new = y == -1
    np.testing.assert_array_equal(p[new], expected[new])


def test_a_penalty_that_leave_one_out_chooses_is_chosen_with_every_candidate(moons):
    X, _, y = moons
    clf = sm.SpectralRidge(q=30).fit(X, y)
    Z = clf.eigenvectors_ * np.sqrt(len(X) * clf.delta_)
    known, new = y != -1, y == -1
    ridge = ConformalRidge(Z[known] @ Z[known].T, np.where(y[known] == 1, 1.0, -1.0), PENALTIES)
    expected = ridge.p_values(Z[new] @ Z[known].T, (Z[new] ** 2).sum(axis=1))
    np.testing.assert_array_equal(clf.conformal_p_values()[new], expected)


def test_what_would_prove_nothing_is_refused(moons):
    X, _, y = moons
    for gamma_I in (0.0, 1.0):
        clf = sm.LapRLS(gamma_I=gamma_I, functions=Landmarks(20)).fit(X, y)
        with pytest.raises(InvalidInputError, match="landmarks"):
            clf.conformal_sets()
    with pytest.raises(InvalidInputError, match="landmarks"):
        sm.LapRLS(gamma_I=0.0, functions=Landmarks(20)).fit(X, y).conformal_p_values(X[:2])
    clf = sm.LapRLS(gamma_I=0.0, kernel="precomputed").fit(sm.kernels.gram(X, gamma=2.0), y)
    with pytest.raises(InvalidInputError, match="ConformalRidge"):
        clf.conformal_sets()
