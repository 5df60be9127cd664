"""S3VM candidates: refits of the folds, the supervised limit against CVXPY, a gap that no label shows."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from specmargin.tables.candidates.ambient_maps import PrincipalComponents, RadialFeatures
from specmargin.tables.candidates.bank import build_bank
from specmargin.tables.candidates.constants import CONSTANTS
from specmargin.tables.candidates.hinge import stratified_folds
from specmargin.tables.candidates.low_density import held_out_s3vm, leading_directions
from specmargin.tables.candidates.mixture import Mixture
from specmargin.tables.candidates.training import train_candidates


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
        expected = X[labeled[~kept]] @ alone.coefficients[..., 0] + alone.intercept[:, 0]
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
    found = np.append(fits.coefficients[:, 0, 0], fits.intercept[0, 0])
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

    found = fits.coefficients[:, 0, 0]
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
    f = components.values @ fits.coefficients[..., 0] + fits.intercept[:, 0]
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
