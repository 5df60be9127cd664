"""RMM as an estimator: the SVM without a bound, the literal problem with one, and no eye for unlabelled samples."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

import specmargin as sm
from specmargin.kernels import RBF, Polynomial, Precomputed


@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        (RBF("scale"), {}),
        (RBF(2.0), {"gamma": 2.0}),
        (Polynomial(2, 0.7, 0.5), {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.7}),
        ("linear", {"kernel": "linear"}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_without_a_bound_it_is_the_svm_of_scikit_learn(moons, kernel, params, C):
    X, _, y = moons
    known = y != -1
    rmm = sm.RMM(C=C, B=np.inf, kernel=kernel).fit(X, y)
    svc = SVC(C=C, tol=1e-10, **params).fit(X[known], y[known])  # gamma="scale", too, looks at the labelled samples
    assert rmm.result_.certificate.is_optimal(1e-9)
    difference = rmm.decision_function(X) - svc.decision_function(X)
    assert np.ptp(difference) < 1e-5
    free = (np.abs(svc.dual_coef_) < C * (1 - 1e-6)).any()
    if free:  # else the intercept is an interval
        assert np.abs(difference).max() < 1e-5
        np.testing.assert_array_equal(rmm.transduction_, svc.predict(X))
    assert free == (C == 10.0)


@pytest.mark.parametrize("solver", ["auto", sm.problems.default_solvers()[0], sm.problems.default_solvers()[::-1]])
def test_with_a_bound_it_is_the_literal_problem(moons, solver):
    X, _, y = moons
    rmm = sm.RMM(C=5.0, B=1.2, kernel=RBF(2.0), solver=solver).fit(X, y)
    rows, sign = np.flatnonzero(y != -1), np.where(y[y != -1] == 1, 1.0, -1.0)
    np.testing.assert_array_equal(rmm.labeled_, rows)
    K = np.exp(-2.0 * ((X[rows, None] - X[rows]) ** 2).sum(axis=2))
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(K)))
    w, b = cp.Variable(len(K)), cp.Variable()
    f = root @ w + b
    value = 0.5 * cp.sum_squares(w) + 5.0 * cp.sum(cp.pos(1 - cp.multiply(sign, f)))
    literal = cp.Problem(cp.Minimize(value), [cp.abs(f) <= 1.2])
    literal.solve(solver="CLARABEL")
    assert rmm.result_.certificate.primal_objective == pytest.approx(literal.value, rel=1e-6)
    np.testing.assert_allclose(rmm.decision_function(X)[rows], f.value, atol=1e-4)
    # The learned attributes are the expansion over the labelled samples.
    block = np.exp(-2.0 * ((X[:, None] - X[rows]) ** 2).sum(axis=2))
    np.testing.assert_allclose(rmm.decision_function(X), block @ rmm.dual_coef_[0] + rmm.intercept_[0], atol=1e-12)


def test_unlabelled_samples_play_no_part(moons, rng):
    X, _, y = moons
    moved = np.where((y == -1)[:, None], 10 * rng.normal(size=X.shape), X)
    a, b = sm.RMM(C=5.0).fit(X, y), sm.RMM(C=5.0).fit(moved, y)
    assert a.kernel_ == b.kernel_
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(b.transduction_, b.predict(moved))
    assert not np.array_equal(a.transduction_, b.transduction_)


def test_it_has_no_use_for_a_graph(moons):
    X, _, y = moons
    with pytest.raises(ValueError, match="labelled samples alone and has no use for a graph; take LapSVM or STORM"):
        sm.RMM().fit(X, y, graph=sm.graphs.knn_graph(X))


def test_a_precomputed_kernel(moons):
    X, _, y = moons
    K = sm.kernels.gram(X, gamma=2.0)
    expected = sm.RMM(C=5.0, kernel=RBF(2.0)).fit(X, y)
    for matrix in (K, sp.csr_array(K)):
        clf = sm.RMM(C=5.0, kernel="precomputed").fit(matrix, y)
        np.testing.assert_array_equal(clf.transduction_, expected.transduction_)
        np.testing.assert_allclose(clf.decision_function(matrix[:5]), expected.decision_function(X[:5]), atol=1e-8)
    assert clf.kernel_ == Precomputed()
    assert clf.__sklearn_tags__().input_tags.pairwise


def test_sparse_features_callable_kernels_and_duplicates(moons):
    X, y_true, y = moons
    dense = sm.RMM(C=5.0, kernel=RBF(2.0)).fit(X, y)
    sparse = sm.RMM(C=5.0, kernel=RBF(2.0)).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-8)
    called = sm.RMM(C=5.0, kernel=lambda A, B: np.exp(-2.0 * ((A[:, None] - B) ** 2).sum(axis=2))).fit(X, y)
    np.testing.assert_allclose(called.decision_function(X), dense.decision_function(X), atol=1e-8)
    twice = sm.RMM(C=5.0, kernel=RBF(2.0)).fit(np.concatenate([X, X]), np.concatenate([y_true, y_true]))
    assert twice.result_.certificate.is_optimal(1e-6)
