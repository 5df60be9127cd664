"""The held-out decisions of the ridge against refits, the fit against its own optimality conditions."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from specmargin.labels.encoding import as_they_appear
from specmargin.tables.candidates.ambient_maps import PrincipalComponents, RadialFeatures
from specmargin.tables.candidates.bank import build_bank
from specmargin.tables.candidates.constants import CONSTANTS
from specmargin.tables.candidates.held_out import (
    held_out_hinge,
    held_out_ridge,
    held_out_s3vm,
    leading_directions,
    shrunken_means,
    stratified_folds,
    targets,
)
from specmargin.tables.candidates.mixture import Mixture
from specmargin.tables.candidates.training import train_candidates

PENALTIES = np.array([1e-4, 1e-2, 1.0])


def refit(G, Y, lam, b0, nu):
    """Return a and b of the normal equations of |Y - G a - b|^2 + lam a'Ga + nu (b - b0)^2, G regular or not."""
    l = len(G)
    A = np.block([[G @ G + lam * G, G.sum(1)[:, None]], [G.sum(0)[None], np.array([[l + nu]])]])
    rhs = np.vstack([G @ Y, Y.sum(0)[None] + nu * b0])
    solution = np.linalg.lstsq(A, rhs, rcond=None)[0]
    return solution[:-1], solution[-1]


def data(l, r, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=l - n_classes)])
    return rng.standard_normal((l, r)) * np.geomspace(1, 0.1, r), codes


@pytest.mark.parametrize(("l", "r"), [(12, 30), (12, 12), (40, 5)])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("nu", [10.0, 0.5])
def test_held_out_decisions_are_those_of_refits(l, r, n_classes, nu):
    P, codes = data(l, r, n_classes)
    Y = targets(codes, n_classes)
    fits = held_out_ridge(P, Y, penalties=PENALTIES, n_classes=n_classes, pseudo_labels=2.0, intercept_labels=nu)
    G = P @ P.T
    for j, penalty in enumerate(PENALTIES):
        lam = penalty * np.trace(G) / l
        for i in range(l):
            k = np.arange(l) != i
            b0 = shrunken_means(Y[k], n_classes, 2.0)[0]
            # A held intercept is one more feature, of variance lam / nu around b0.
            K = G + lam / nu
            held = b0 + K[i, k] @ np.linalg.solve(K[np.ix_(k, k)] + lam * np.eye(l - 1), Y[k] - b0)
            np.testing.assert_allclose(fits.held_out[j, i], held, atol=1e-11)
            # What is left of the decision beyond the held intercept's own feature.
            v = np.linalg.solve(K[np.ix_(k, k)] + lam * np.eye(l - 1), Y[k] - b0)
            np.testing.assert_allclose(fits.intercept_without[j, i], b0 + lam / nu * v.sum(axis=0), atol=1e-11)


@pytest.mark.parametrize(("l", "r"), [(10, 20), (30, 4)])
def test_the_fit_is_optimal(l, r):
    P, codes = data(l, r, 3)
    Y = targets(codes, 3)
    fits = held_out_ridge(P, Y, penalties=PENALTIES, n_classes=3)
    G = P @ P.T
    b0 = shrunken_means(Y, 3, 2.0)[0]
    for penalty, v, b in zip(PENALTIES, fits.weights, fits.intercept, strict=True):
        lam = penalty * np.trace(G) / l
        a, intercept = refit(G, Y, lam, b0, 10.0)
        np.testing.assert_allclose(G @ v, G @ a, atol=1e-7)
        np.testing.assert_allclose(b, intercept, atol=1e-7)


def test_means_without_a_label_count_the_others():
    Y = targets(np.array([0, 1, 1, 2]), 3)
    mean, without = shrunken_means(Y, 3, 2.0)
    np.testing.assert_allclose(mean, 2 * np.array([3, 4, 3]) / 10 - 1)
    for i in range(4):
        np.testing.assert_allclose(without[i], shrunken_means(np.delete(Y, i, 0), 3, 2.0)[0])


def test_no_feature_leaves_the_shrunken_mean():
    Y = targets(np.array([0, 0, 1]), 2)
    fits = held_out_ridge(np.zeros((3, 2)), Y, penalties=PENALTIES, n_classes=2)
    assert np.isfinite(fits.held_out).all()
    assert np.abs(fits.intercept).max() < 1


def test_folds_are_stratified():
    codes = np.repeat([0, 1, 2], [7, 12, 4])
    folds = stratified_folds(codes, 10, np.random.default_rng(0))
    assert sorted(np.bincount(folds).tolist()) == [2] * 7 + [3] * 3
    for c in range(3):
        assert np.bincount(folds[codes == c], minlength=10).max() <= np.ceil((codes == c).sum() / 10)
    assert stratified_folds(np.array([0, 1, 1]), 10, np.random.default_rng(0)).max() == 2


def test_decisions_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    codes = np.concatenate([np.arange(3), rng.integers(3, size=21)])
    P = rng.standard_normal((24, 5)) + codes[:, None]
    Y, folds = targets(codes, 3), stratified_folds(codes, 10, rng)
    fits = held_out_hinge(P, Y, Cs=(1.0, 10.0), folds=folds)
    for p, C in enumerate((1.0, 10.0)):
        for c in range(3):
            f = P @ (P.T @ fits.weights[p, :, c]) + fits.intercept[p, c]
            np.testing.assert_allclose(f, SVC(kernel="linear", C=C).fit(P, Y[:, c]).decision_function(P), atol=2e-2)
            test = folds == 4
            svm = SVC(kernel="linear", C=C).fit(P[~test], Y[~test, c])
            np.testing.assert_allclose(fits.held_out[p, test, c], svm.decision_function(P[test]), atol=2e-2)
            np.testing.assert_allclose(fits.intercept_without[p, test, c], svm.intercept_[0], atol=2e-2)


def test_one_class_in_a_part_is_its_decision():
    Y = np.array([[-1.0], [1.0], [1.0]])
    held = held_out_hinge(np.arange(3.0)[:, None], Y, Cs=(1.0,), folds=np.arange(3)).held_out
    assert held[0, 0, 0] == 1.0


def test_names_of_classes_change_no_fold():
    codes = np.random.default_rng(3).integers(0, 3, 40)
    folds = [
        stratified_folds(as_they_appear(one), 10, np.random.default_rng(0)).tolist()
        for one in (codes, np.array([2, 0, 1])[codes])
    ]
    assert folds[0] == folds[1]


def gap(n=200, seed=0):
    """Return two classes with a gap along the second column, whose variance is less than half of the first one's."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return np.column_stack([3.0 * rng.standard_normal(n), 1.8 * (2 * y - 1) + 0.3 * rng.standard_normal(n)]), y


def fitted(values, labeled, codes, folds, shares=(1.0, 4.0)):
    directions = np.eye(values.shape[1])
    given = {"C": 1.0, "shares": shares, "folds": folds, "pseudo_labels": 2.0}
    return held_out_s3vm(values, directions, labeled, codes, **given)


def test_each_fold_is_decided_about_by_a_fit_without_its_labels():
    X, y = gap()
    X -= X.mean(axis=0)
    labeled = np.array([31, 4, 77, 150, 9, 62, 101, 40])  # in no order
    folds = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    fits = fitted(X, labeled, y[labeled], folds)
    for fold in range(3):
        kept = folds != fold
        alone = fitted(X, labeled[kept], y[labeled[kept]], np.arange(kept.sum()))
        expected = X[labeled[~kept]] @ alone.weights[..., 0] + alone.intercept[:, 0]
        np.testing.assert_allclose(fits.held_out[:, ~kept, 0].T, expected, atol=1e-12)
        without = np.broadcast_to(alone.intercept, (2, np.count_nonzero(~kept)))
        np.testing.assert_allclose(fits.intercept_without[:, ~kept, 0], without, atol=1e-12)


def test_without_weight_of_the_unlabelled_it_is_the_squared_hinge_of_a_fixed_mean():
    X, y = gap()
    X -= X.mean(axis=0)
    labeled = np.arange(10, 30)
    fits = fitted(X, labeled, y[labeled], np.arange(20), shares=(1e-9,))
    w, b = cp.Variable(2), cp.Variable()
    hidden = np.setdiff1d(np.arange(200), labeled)
    loss = cp.sum_squares(cp.pos(1 - cp.multiply(2.0 * y[labeled] - 1, X[labeled] @ w + b)))
    cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + loss), [cp.sum(X[hidden] @ w) / 180 + b == 0.0]).solve()
    found = np.append(fits.weights[:, 0, 0], fits.intercept[0, 0])
    np.testing.assert_allclose(found, [*w.value, b.value], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_all_unlabelled_samples_weigh_a_share_of_what_the_labels_do(share):
    """A stationary point of the sums as the module defines them, where l / u is far from l / n."""
    X, y = gap(60, seed=3)
    X -= X.mean(axis=0)
    labeled = np.arange(48)
    fits = fitted(X, labeled, y[labeled], np.arange(48) % 3, shares=(share,))
    hidden, signs = np.setdiff1d(np.arange(60), labeled), 2.0 * y[labeled] - 1

    def value(w):
        f = (X - X[hidden].mean(axis=0)) @ w  # as many labels of each class: the mean of the unlabelled is zero
        near = np.exp(-3.0 * f[hidden] ** 2).mean()
        return w @ w / 2 + np.square(np.maximum(0.0, 1.0 - signs * f[labeled])).sum() + share * len(labeled) * near

    found = fits.weights[:, 0, 0]
    assert fits.intercept[0, 0] == pytest.approx(-X[hidden].mean(axis=0) @ found)
    np.testing.assert_allclose(minimize(value, found, options={"gtol": 1e-8}).x, found, rtol=2e-3)


def test_the_gap_is_found_where_labels_alone_do_not_show_it():
    X, y = gap()
    X = np.column_stack([X[:, 1] / 2.0, np.random.default_rng(1).standard_normal((200, 10))])
    labeled = np.arange(6)
    components = PrincipalComponents(X, rank=11)
    directions = leading_directions(components, 11)
    given = {"C": 1.0, "folds": np.arange(6), "pseudo_labels": 2.0}
    fits = held_out_s3vm(components.values, directions, labeled, y[labeled], shares=(1e-9, 4.0), **given)
    f = components.values @ fits.weights[..., 0] + fits.intercept[:, 0]
    wrong = np.mean((f > 0) != (y[:, None] == 1), axis=0)
    assert wrong[1] < 0.02
    assert wrong[0] > 0.15


@pytest.mark.parametrize("rank", [3, 200])
def test_directions_are_those_of_the_largest_variances(rank):
    X = np.random.default_rng(0).standard_normal((60, 5)) * np.arange(1, 6)
    features = RadialFeatures(X, width=1.0, rank=40)
    rows = features.values @ leading_directions(features, rank)
    assert rows.shape[1] == min(rank, features.rank)
    assert np.mean((rows**2).sum(axis=1)) == pytest.approx(1.0)
    values = np.linalg.svd(features.values, compute_uv=False)[: rows.shape[1]]
    np.testing.assert_allclose(
        np.linalg.svd(rows, compute_uv=False), np.sqrt(60.0) * values / np.linalg.norm(values), atol=1e-9
    )


def test_a_part_of_one_class_decides_for_it():
    X, y = gap(40)
    labeled = np.array([0, 1, 3])  # one of class 0
    fits = fitted(X - X.mean(axis=0), labeled, y[labeled], np.array([0, 1, 2]))
    np.testing.assert_array_equal(fits.held_out[:, 0, 0], 1.0)


def test_candidates_are_those_of_two_classes_and_of_unlabelled_samples():
    X, y = gap(60)
    bank = build_bank(X, families=("s3vm",))
    codes, labeled = y[:20], np.arange(20)
    groups = train_candidates(bank, labeled, codes, 2, families=("s3vm",))
    assert {group.family for group in groups} == {"s3vm"}
    assert sum(len(group.names) for group in groups) == 2 * len(CONSTANTS.s3vm_shares)
    folds = stratified_folds(codes, CONSTANTS.s3vm_folds, np.random.default_rng(0))
    linear = next(group for group in groups if group.names[0].startswith("linear"))
    directions = leading_directions(linear.map, CONSTANTS.s3vm_rank)
    given = {"C": CONSTANTS.s3vm_C, "shares": CONSTANTS.s3vm_shares, "folds": folds, "pseudo_labels": 2.0}
    expected = held_out_s3vm(linear.map.values, directions, labeled, codes, **given)
    np.testing.assert_array_equal(linear.held_out, expected.held_out)
    assert np.mean(Mixture(groups, codes, 2).log_probabilities.argmax(axis=1) == y) > 0.95
    assert not train_candidates(bank, np.arange(60), y, 2, families=("s3vm",))
    assert not train_candidates(bank, labeled, np.arange(20) % 3, 3, families=("s3vm",))
