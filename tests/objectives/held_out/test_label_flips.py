"""False labels that change decisions, against refits with every set of labels moved in every way."""

import itertools

import numpy as np
import pytest
from full_size import shortened

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.held_out.label_flips import (
    LabelRobustness,
    enumerated_flips,
    label_sets_up_to,
    linear_flips,
    smoother,
)

ROUNDING = 1e-9


def ridge(G, cross, penalty, y, fit_intercept, weights):
    """Return decisions by the normal equations of the bordered system, one solve for these targets."""
    l = len(G)
    ridge = penalty / (np.ones(l) if weights is None else weights)
    if not fit_intercept:
        return cross @ np.linalg.solve(G + np.diag(ridge), y)
    A = np.block([[G + np.diag(ridge), np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]])
    v = np.linalg.solve(A, np.concatenate([y, np.zeros((1, *y.shape[1:]))]))
    return cross @ v[:l] + v[l]


def problem(seed):
    """Return a small problem: two to four classes, weights in every second, samples on a grid in every third."""
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 3
    l, m = n_classes + int(rng.integers(2, 6 if n_classes == 2 else 4)), 12
    Z = rng.normal(size=(m, 3))
    if seed % 3 == 0:  # ties: copies of samples, whole numbers, opposite points
        Z = rng.integers(-1, 2, size=(m, 2)).astype(float)
    at = rng.choice(m, size=l, replace=l > m)
    known = rng.permutation(np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, l - n_classes)]))
    weights = rng.choice([0.5, 1.0, 3.0], size=l) if seed % 2 else None
    own = Z[at]
    return own @ own.T, Z @ own.T, float(10.0 ** rng.uniform(-2, 1)), known, n_classes, bool(seed % 5), weights


def decide(G, cross, penalty, known, n_classes, fit_intercept, weights):
    """Return the classes that a refit predicts; of those that are equal but for rounding the first."""
    if n_classes == 2:
        f = ridge(G, cross, penalty, np.where(known == 1, 1.0, -1.0)[:, None], fit_intercept, weights)[:, 0]
        return (f > ROUNDING).astype(int)
    f = ridge(G, cross, penalty, np.where(known[:, None] == np.arange(n_classes), 1.0, -1.0), fit_intercept, weights)
    return (f >= f.max(axis=1, keepdims=True) - ROUNDING).argmax(axis=1)


def brute_radius(base, refit, known, n_classes, most):
    """Return the least number of false labels that changes each decision, most + 1 where none does."""
    radius = np.full(len(base), most + 1)
    for r in range(most, 0, -1):
        for at in itertools.combinations(range(len(known)), r):
            for to in itertools.product(range(n_classes), repeat=r):
                moved = known.copy()
                moved[list(at)] = to
                if (moved != known).sum() == r:
                    radius[refit(moved) != base] = r
    return radius


def agrees(seed):
    G, cross, penalty, known, n_classes, fit_intercept, weights = problem(seed)

    def refit(codes):
        return decide(G, cross, penalty, codes, n_classes, fit_intercept, weights)

    H = smoother(G, cross, penalty, fit_intercept, weights)
    codes, radius, flips, decides = linear_flips(H, known, n_classes, rounding=ROUNDING)
    base, most = refit(known), min(3, len(known))
    np.testing.assert_array_equal(codes, base)
    np.testing.assert_array_equal(np.minimum(radius, most + 1), brute_radius(base, refit, known, n_classes, most))
    for j in np.flatnonzero(radius <= len(known)):  # the labels that are named change it, and no more are named
        assert (flips[j] >= 0).sum() == radius[j]
        assert (flips[j] != known).all()
        assert refit(np.where(flips[j] >= 0, flips[j], known))[j] != base[j]
    for i, to in itertools.product(range(len(known)), range(n_classes)):
        moved = known.copy()
        moved[i] = to
        assert (decides[:, i] >= (refit(moved) != base)).all()
    np.testing.assert_array_equal(decides.any(axis=1), radius == 1)


@pytest.mark.parametrize("seed", range(24))
def test_radius_is_that_of_all_refits(seed):
    agrees(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", shortened(range(24, 116, 23), range(24, 300, 23)))
def test_radius_is_that_of_all_refits_of_300_problems(first):
    for seed in range(first, min(first + 23, 300)):
        agrees(seed)


def wrong_certificates(seed, draws):
    """Return how many of random sets of false labels change a decision that is certified against as many."""
    rng = np.random.default_rng(seed)
    n_classes, l, m = 2 + seed % 4, 30, 40
    Z = rng.normal(size=(m, 5))
    own, weights = Z[:l], rng.uniform(0.3, 3.0, size=l) if seed % 2 else None
    known = np.arange(l) % n_classes
    args = (own @ own.T, Z @ own.T, 0.3)
    H = smoother(*args, True, weights)
    codes, radius, _, _ = linear_flips(H, known, n_classes, rounding=ROUNDING)
    wrong = 0
    for _ in range(draws):
        moved = known.copy()
        at = rng.choice(l, size=int(rng.integers(1, 8)), replace=False)
        moved[at] = (moved[at] + rng.integers(1, n_classes, size=len(at))) % n_classes
        wrong += int(((decide(*args, moved, n_classes, True, weights) != codes) & (radius > len(at))).sum())
    return wrong


@pytest.mark.parametrize("seed", range(4))
def test_no_set_of_false_labels_breaks_a_certificate(seed):
    assert wrong_certificates(seed, 250) == 0


@pytest.mark.slow
def test_ten_thousand_sets_of_false_labels_break_no_certificate():
    assert [wrong_certificates(seed, 500) for seed in range(20)] == [0] * 20


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_a_smoother_for_each_class(n_classes):
    rng = np.random.default_rng(n_classes)
    known = np.arange(2 * n_classes) % n_classes
    H = rng.normal(size=(n_classes, 3000, len(known)))
    if n_classes == 2:
        H[1] = H[0]  # two classes have one column

    def classes(codes):
        f = np.stack([H[k] @ np.where(codes == k, 1.0, -1.0) for k in range(n_classes)], axis=1)
        return f.argmax(axis=1)

    radius = linear_flips(H, known, n_classes)[1]
    np.testing.assert_array_equal(np.minimum(radius, 3), brute_radius(classes(known), classes, known, n_classes, 2))


def test_the_worst_labels_of_two_classes_are_the_largest_terms():
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=(50, 9)), np.where(np.arange(9) % 2, 1.0, -1.0)
    f = H @ y
    terms = -np.sort(-np.maximum(2.0 * H * y * np.sign(f)[:, None], 0.0), axis=1)
    radius = linear_flips(H, np.arange(9) % 2, 2)[1]
    for j in range(50):
        r = radius[j]
        assert terms[j, : r - 1].sum() < abs(f[j])
        assert r == 10 or terms[j, :r].sum() >= abs(f[j])


@pytest.mark.parametrize("seed", range(6))
def test_enumeration_is_the_sum_of_the_largest_terms(seed):
    G, cross, penalty, known, n_classes, fit_intercept, weights = problem(seed)
    H = smoother(G, cross, penalty, fit_intercept, weights)
    linear = linear_flips(H, known, n_classes, rounding=ROUNDING)
    tried = enumerated_flips(
        lambda codes: decide(G, cross, penalty, codes, n_classes, fit_intercept, weights), known, n_classes, 2
    )
    np.testing.assert_array_equal(np.minimum(linear[1], 3), tried[1])
    np.testing.assert_array_equal(linear[3], tried[3])
    assert ((tried[2] >= 0).sum(axis=1) == np.where(tried[1] <= 2, tried[1], 0)).all()


def test_limit_is_the_last_whose_sets_are_few_enough():
    for l, n_classes, most in itertools.product((4, 9, 25), (2, 3, 6), (10, 500, 4000)):
        r = label_sets_up_to(l, n_classes, most)
        sizes = [
            sum(
                1
                for at in itertools.combinations(range(l), k)
                for _ in itertools.product(range(n_classes - 1), repeat=k)
            )
            if k <= 2
            else None
            for k in range(3)
        ]
        assert 1 <= r <= l
        if r >= 2:
            assert sizes[1] + sizes[2] <= most
        elif l > 1:
            assert sizes[1] + sizes[2] > most


def robustness(radius, decides, limit=4):
    m, l = decides.shape
    return LabelRobustness(
        codes=np.zeros(m, int),
        radius=np.array(radius),
        flips=np.full((m, l), -1),
        decides=np.array(decides),
        labeled=10 + np.arange(l),
        classes=np.array(["a", "b"]),
        limit=limit,
        counted=np.arange(m) > 0,
    )


def test_shares_and_deciding_labels():
    decides = np.zeros((5, 4), bool)
    decides[0, 3] = decides[1, 1] = decides[2, 1] = decides[2, 0] = decides[3, 2] = True
    one = robustness([1, 1, 1, 1, 3], decides)
    assert [one.share(r) for r in range(5)] == [1.0, 0.25, 0.25, 0.0, 0.0]
    assert one.influence.tolist() == [0.25, 0.5, 0.25, 0.0]  # the first sample is a labelled one
    rows, share = one.deciding(1)
    assert (rows.tolist(), share) == ([11], 0.5)
    assert one.deciding()[0].tolist() == [11, 12]  # the label 10 decides nothing that 11 does not
    assert str(one).startswith("2 of 4 labels decide 75% of the predictions; 25% survive 1 false label,")
    assert str(robustness([5, 5], np.zeros((2, 4), bool))).startswith("no label decides")


@pytest.mark.parametrize(
    ("r", "words"), [(-1, "take 0 to 4"), (5, "there are 4; take 0 to 4"), (3, r"label_robustness\(max_flips=3\)")]
)
def test_numbers_of_labels_out_of_range_are_refused(r, words):
    with pytest.raises(InvalidInputError, match=words):
        robustness([1, 1], np.zeros((2, 4), bool), limit=2).certified(r)
