"""LapSVM as an estimator: what it solves, several classes, graphs, kernels, new samples."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import specmargin as sm
from specmargin.graphs import Laplacian
from specmargin.kernels import RBF, Polynomial
from specmargin.solvers import Solver

PLAIN = {"gamma_A": 0.01, "gamma_I": 1.0, "graph": 6, "laplacian": 1, "class_balance": None}
"""The papers' LapSVM: given weights, one graph, decisions compared with 0."""
ALONE = {**PLAIN, "gamma_A": 0.1, "gamma_I": 0.0}
"""The same without the graph."""


def test_decisions_are_those_of_the_literal_formula(moons, tol):
    X, _, y = moons
    clf = sm.LapSVM(
        gamma_A=0.02,
        gamma_I=0.5,
        class_balance=None,
        kernel=RBF(4.0),
        graph=8,
        laplacian=Laplacian(power=2, normalized="auto"),
    ).fit(X, y)
    W = sm.graphs.knn_graph(X, n_neighbors=8).toarray()
    d = W.sum(1)
    L = np.eye(len(X)) - W / np.sqrt(np.outer(d, d))
    K = np.exp(-4.0 * ((X[:, None] - X[None]) ** 2).sum(-1))
    alpha, b = clf.dual_coef_[0], clf.intercept_[0]
    labeled, sign = np.flatnonzero(y != -1), np.where(y[y != -1] == 1, 1.0, -1.0)
    f = K @ alpha + b
    value = np.maximum(1 - sign * f[labeled], 0).sum() + 0.02 * alpha @ K @ alpha + 0.5 * f_norm(K @ alpha, L @ L)
    assert clf.result_.certificate.primal_objective == pytest.approx(value, rel=tol["linalg"])
    assert clf.result_.certificate.is_optimal(1e-9)
    np.testing.assert_allclose(clf.decision_function(X), f, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(clf.transduction_, (f > 0).astype(int))


def f_norm(f, L):
    return f @ L @ f


def test_every_solver_finds_the_same_objective(moons):
    X, _, y = moons
    installed = sm.problems.default_solvers()
    values = [
        sm.LapSVM(kernel=RBF(2.0), solver=solver).fit(X, y).result_.certificate.primal_objective
        for solver in ("auto", "factorized", "dual", *installed, installed[::-1])
    ]
    np.testing.assert_allclose(values, values[0], rtol=2e-6)


@pytest.mark.parametrize("loss", [*sm.losses.LOSSES, sm.losses.HuberHinge(0.1), sm.losses.SmoothHinge(2.0)], ids=str)
def test_auto_fits_every_convex_loss(moons, loss):
    X, _, y = moons
    clf = clone(sm.LapSVM(loss=loss, kernel=RBF(4.0))).fit(X, y)
    assert clf.result_.status is sm.Status.OPTIMAL
    assert clf.result_.certificate.is_optimal(1e-6)
    takes_it = sm.losses.get_loss(loss).piecewise_quadratic
    assert clf.result_.solver.startswith("factorized") == takes_it
    # The dual in words is that of the same problem.
    other = sm.LapSVM(loss=loss, kernel=RBF(4.0), solver="dual").fit(X, y)
    assert other.result_.certificate.primal_objective == pytest.approx(
        clf.result_.certificate.primal_objective, rel=2e-6
    )


@dataclass(frozen=True)
class Exponential(sm.losses.MarginLoss):
    """exp(-t), which AdaBoost minimises: convex, and nothing else that a solver here asks for."""

    name: ClassVar[str] = "exponential"
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = np.inf
    convex = True

    def value(self, t):
        return np.exp(-t)

    def gradient(self, t):
        return -np.exp(-t)

    def curvature(self, t):
        return np.exp(-t)

    def dual_value(self, beta):
        safe = np.maximum(beta, 1e-300)
        return np.where(beta < 0, -np.inf, np.where(beta > 0, beta - beta * np.log(safe), 0.0))


def test_a_loss_of_ones_own_fits_once_cvxpy_knows_it(moons):
    import cvxpy as cp

    X, _, y = moons
    clf = sm.LapSVM(gamma_A=0.1, loss=Exponential(), kernel=RBF(4.0))
    with pytest.raises(TypeError, match=r"has no convex CVXPY expression.*as_cvxpy\.register"):
        clf.fit(X, y)
    sm.problems.as_cvxpy.register(Exponential, lambda loss, t: cp.exp(-t))
    first = clf.fit(X, y).result_  # the primal: no dual value is registered
    assert first.problem == "LapSVM primal"
    sm.problems.conjugate_as_cvxpy.register(Exponential, lambda loss, beta: beta + cp.entr(beta))
    second = clf.fit(X, y).result_
    assert second.problem == "LapSVM dual"
    for result in (first, second):
        assert result.certificate.is_optimal(1e-6)
        assert result.certificate.primal_objective == pytest.approx(first.certificate.primal_objective, rel=2e-6)
    with pytest.raises(ValueError, match="does not take the loss 'exponential': it is not piecewise quadratic"):
        sm.LapSVM(loss=Exponential(), solver="factorized").fit(X, y)


def test_without_the_graph_it_is_scikit_learns_svm(moons):
    X, _, y = moons
    known = y != -1
    clf = sm.LapSVM(kernel=RBF(2.0), **ALONE).fit(X, y)
    svc = SVC(C=1 / (2 * 0.1), gamma=2.0, tol=1e-10).fit(X[known], y[known])
    np.testing.assert_allclose(clf.decision_function(X), svc.decision_function(X), atol=1e-6)


def test_the_kernels_parameters_reach_the_kernel(moons):
    X, _, y = moons
    known = y != -1
    for kernel, params in (
        (Polynomial(2, 0.7, 0.5), {"kernel": "poly", "degree": 2, "coef0": 0.5}),
        (Polynomial(4, 0.7), {"kernel": "poly", "degree": 4}),
        ("linear", {"kernel": "linear"}),
    ):
        clf = sm.LapSVM(kernel=kernel, **ALONE).fit(X, y)
        svc = SVC(C=5.0, gamma=0.7, tol=1e-10, **{"coef0": 1.0, **params}).fit(X[known], y[known])
        np.testing.assert_allclose(clf.decision_function(X), svc.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("normalized", [True, False])
def test_the_laplacian_is_the_one_that_was_asked_for(moons, normalized, tol):
    X, _, y = moons
    clf = sm.LapSVM(
        loss="squared",
        kernel=RBF(4.0),
        **{**PLAIN, "gamma_A": 0.1, "laplacian": Laplacian(normalized=normalized)},
    ).fit(X, y)
    K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, 6), normalized=normalized)
    obj = sm.objectives.LapSVM(K, L, sm.encode_labels(y), loss="squared", gamma_A=0.1, gamma_I=1.0)
    assert clf.result_.certificate.primal_objective == pytest.approx(obj.value_at(clf.dual_coef_[0], *clf.intercept_))
    slope = np.append(*obj.gradient(clf.dual_coef_[0], clf.intercept_[0]))
    np.testing.assert_allclose(slope, 0.0, atol=tol["linalg"])


def test_without_an_intercept_there_is_none(moons):
    X, _, y = moons
    for solver in ("auto", "dual"):
        assert sm.LapSVM(fit_intercept=False, kernel=RBF(2.0), solver=solver).fit(X, y).intercept_.tolist() == [0.0]


def test_a_precomputed_kernel_is_sliced_on_both_sides():
    assert sm.LapSVM(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert not sm.LapSVM().__sklearn_tags__().input_tags.pairwise


def test_several_classes_are_one_against_the_rest(blobs):
    X, y_true, y = blobs
    clf = sm.LapSVM(unlabeled="?", kernel=RBF(0.5), **PLAIN).fit(X, y)
    assert clf.decision_function(X).shape == (120, 3)
    assert len(clf.result_) == 3
    assert all(result.certificate.is_optimal(1e-9) for result in clf.result_)
    assert (clf.transduction_ == y_true).mean() > 0.9
    for k, name in enumerate("abc"):
        one = np.where(y == "?", -1, (y == name).astype(int))
        alone = sm.LapSVM(kernel=RBF(0.5), **PLAIN).fit(X, one)
        np.testing.assert_allclose(clf.decision_function(X)[:, k], alone.decision_function(X), atol=1e-8)


def test_a_precomputed_kernel_with_a_graph(moons):
    X, _, y = moons
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    K = sm.kernels.gram(X, gamma=2.0)
    clf = sm.LapSVM(kernel="precomputed").fit(K, y, graph=W)
    expected = sm.LapSVM(kernel=RBF(2.0), graph=6).fit(X, y)
    np.testing.assert_allclose(clf.decision_function(K[:5]), expected.decision_function(X[:5]), atol=1e-8)
    with pytest.raises(ValueError, match="leaves no features to build a graph"):
        sm.LapSVM(kernel="precomputed").fit(K, y)
    sm.LapSVM(gamma_I=0.0, kernel="precomputed").fit(K, y)


def test_duplicates_a_singular_kernel_and_full_labels_simply_work(moons):
    X, y_true, y = moons
    twice, labels = np.concatenate([X, X]), np.concatenate([y, y])
    clf = sm.LapSVM(kernel=RBF(2.0), graph=12, gamma_I="100.0 gamma_A").fit(twice, labels)
    assert clf.result_.certificate.is_optimal(1e-8)
    default = sm.LapSVM(kernel=RBF(2.0), graph=12).fit(twice, labels)
    assert default.result_.certificate.is_optimal(1e-6)
    linear = sm.LapSVM(kernel="linear", gamma_I="100.0 gamma_A").fit(X, y)  # Gram matrix of rank two
    assert linear.result_.certificate.is_optimal(1e-8)
    full = sm.LapSVM(kernel=RBF(2.0)).fit(X, y_true)
    assert full.result_.certificate.is_optimal(1e-8)
    assert full.score(X, y_true) > 0.99


def test_an_uncertified_answer_warns_with_its_gap(moons):
    X, _, y = moons
    with pytest.warns(ConvergenceWarning, match=r"proved to a relative gap of .*e-"):
        sm.LapSVM(kernel=RBF(2.0), solver=Solver("SCS", options={"max_iters": 5}), **PLAIN).fit(X, y)
