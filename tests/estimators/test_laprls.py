"""LapRLS and the balance of classes: what is solved, what is compared, and scikit-learn's own suite."""

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.kernel_ridge import KernelRidge

import specmargin as sm
from specmargin.estimators.laprls import LapRLS
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF
from specmargin.labels.shares import Balance, in_force

PLAIN = {"gamma_A": 0.02, "gamma_I": 0.5, "graph": 6, "laplacian": 1, "class_balance": None}
"""The papers' LapRLS: given weights, one graph, decisions compared with 0."""


def literal(X, y, classes, gamma, gamma_A, gamma_I, k=6):
    """Eq. 14 from its normal equations in (alpha, b), class by class."""
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(-1))
    W = sm.graphs.knn_graph(X, n_neighbors=k).toarray()
    d = W.sum(axis=1)
    L = np.eye(len(X)) - W / np.sqrt(np.outer(d, d))
    J = np.isin(y, classes).astype(float)
    n, columns = len(X), []
    for name in classes[1:] if len(classes) == 2 else classes:
        target = np.where(y == name, 1.0, -1.0) * J
        # Derivatives by alpha (less a factor K) and by b.
        A = np.block(
            [[J[:, None] * K + gamma_A * np.eye(n) + gamma_I * L @ K, J[:, None]], [(J @ K)[None], J.sum()[None, None]]]
        )
        solution = np.linalg.solve(A, np.append(target, target.sum()))
        columns.append(K @ solution[:n] + solution[n])
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def test_two_and_three_classes_are_the_normal_equations(moons, blobs, tol):
    X, _, y = moons
    clf = LapRLS(kernel=RBF(2.0), **PLAIN).fit(X, y)
    f = literal(X, y, [0, 1], 2.0, 0.02, 0.5)
    np.testing.assert_allclose(clf.decision_function(X), f, atol=1e-8)
    np.testing.assert_array_equal(clf.transduction_, (f > 0).astype(int))
    assert clf.result_.problem == "LapRLS"
    assert clf.result_.certificate.is_optimal(tol["linalg"])
    X, y_true, y = blobs
    clf = LapRLS(unlabeled="?", kernel=RBF(0.5), **PLAIN).fit(X, y)
    np.testing.assert_allclose(clf.decision_function(X), literal(X, y, list("abc"), 0.5, 0.02, 0.5), atol=1e-8)
    assert len(clf.result_) == 3
    assert (clf.transduction_ == y_true).mean() > 0.9


def test_it_is_lapsvm_with_the_squared_loss(moons):
    X, _, y = moons
    kwargs = {
        "kernel": RBF(2.0),
        "laplacian": Laplacian(2, False),
        "graph": KNN(8, weight="heat"),
        "fit_intercept": False,
    }
    expected = sm.LapSVM(loss="squared", **kwargs).fit(X, y)
    np.testing.assert_array_equal(LapRLS(**kwargs).fit(X, y).decision_function(X), expected.decision_function(X))
    assert "loss" not in LapRLS().get_params()
    with pytest.raises(TypeError, match="loss"):
        LapRLS(loss="hinge")


def test_without_the_graph_it_is_scikit_learns_kernel_ridge(moons):
    X, _, y = moons
    known = y != -1
    clf = LapRLS(gamma_A=0.1, gamma_I=0.0, fit_intercept=False, class_balance=None, kernel=RBF(2.0)).fit(X, y)
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=2.0).fit(X[known], np.where(y[known] == 1, 1.0, -1.0))
    np.testing.assert_allclose(clf.decision_function(X), ridge.predict(X), atol=1e-9)


# Balance


def balanced(f, labels, rule):
    return Balance.of(f, labels, rule)(f)


@pytest.mark.parametrize("rule", ["zscore", "mass"])
def test_balanced_scores_are_the_literal_formula(moons, blobs, rule, tol):
    for X, y, marker in ((moons[0], moons[2], -1), (blobs[0], blobs[2], "?")):
        raw = LapRLS(class_balance=None, unlabeled=marker, kernel=RBF(1.0)).fit(X, y)
        clf = LapRLS(class_balance=rule, unlabeled=marker, kernel=RBF(1.0)).fit(X, y)
        f = raw.decision_function(X)
        q = np.array([(y == name).sum() for name in raw.classes_]) / (y != marker).sum()
        if rule == "zscore":
            expected = (f - f.mean(axis=0)) / f.std(axis=0)
        else:
            h = (1 + (np.column_stack([-f, f]) if f.ndim == 1 else f)) / 2
            expected = q * h / np.maximum(h, 0).mean(axis=0)
            if f.ndim == 1:
                expected = expected[:, 1] - expected[:, 0]
        np.testing.assert_allclose(clf.decision_function(X), expected, atol=tol["linalg"])
        # New samples, one at a time, are scored by the numbers of the training samples.
        one = np.concatenate([clf.decision_function(X[[i]]) for i in range(5)])
        np.testing.assert_allclose(one, expected[:5], atol=tol["linalg"])
        np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
        f_of_result = clf.result_[0].variables["f"] if f.ndim > 1 else clf.result_.variables["f"]
        np.testing.assert_allclose(f_of_result, f if f.ndim == 1 else f[:, 0], atol=tol["linalg"])


def test_mass_weighs_classes_by_their_labels_and_not_by_the_level_of_the_decisions():
    """Decisions that all lie below zero: by equal label counts half of them are positive, by 30 to 10 none."""
    f = np.linspace(-0.9, -0.1, 400)
    for counts, share in (((20, 20), 0.5), ((30, 10), 0.0), ((10, 30), 0.875)):
        labels = sm.encode_labels(np.concatenate([[0] * counts[0], [1] * counts[1], np.full(360, -1)]))
        # q_1 h / (1/4) > q_0 (1 - h) / (3/4), of h from 0.05 to 0.45.
        assert (balanced(f, labels, "mass") > 0).mean() == pytest.approx(share, abs=0.003)
        kept = balanced(f, labels, "zscore")
        assert (kept > 0).mean() == (0.5 if counts == (20, 20) else 0.0)


def test_counts_that_reject_equal_classes_switch_z_scores_off(rng):
    for counts in ((4, 4), (8, 3), (9, 2), (2, 9), (5, 5, 5), (9, 1, 1), (20, 1, 1)):
        labels = sm.encode_labels(np.repeat(np.arange(len(counts)), counts))
        scores = rng.normal(size=(sum(counts),) if len(counts) == 2 else (sum(counts), len(counts)))
        equal = chisquare(counts).pvalue >= 0.05
        assert in_force("zscore", labels) == ("zscore" if equal else None)
        assert in_force("mass", labels) == "mass"
        assert Balance.of(scores, labels, "zscore").is_identity is not equal
        assert Balance.of(scores, labels, None).is_identity


def test_constant_decisions_are_no_division_by_zero():
    labels = sm.encode_labels([0, 1, -1])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(balanced(np.full(3, 0.3), labels, "zscore"), np.zeros(3))
        rounded = 0.3 * (1.0 + 1e-14 * np.arange(3))
        np.testing.assert_allclose(balanced(rounded, labels, "zscore"), np.zeros(3), atol=1e-13)
        assert np.isfinite(balanced(np.full(3, -5.0), labels, "mass")).all()
