"""Splits are partitions, deterministic, and hold every class."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from reproduction.engine.splits import Split, published_splits, random_splits

Y = np.repeat([-1, 1, 7], [60, 30, 3])


def parts(split):
    return [split.labeled, split.unlabeled, split.validation, split.test]


@pytest.mark.parametrize("stratify", [False, True])
def test_random_splits_partition_the_samples(stratify):
    for split in random_splits(Y, 9, 20, 5, stratify=stratify, n_validation=11, n_test=13):
        assert [len(part) for part in parts(split)] == [9, 60, 11, 13]
        assert sorted(np.concatenate(parts(split))) == list(range(93))
        assert set(Y[split.labeled]) == {-1, 1, 7}
        assert np.array_equal(split.train, np.sort(np.r_[split.labeled, split.unlabeled]))


def test_random_splits_depend_on_the_seed_and_their_number_alone():
    few, many, other = random_splits(Y, 9, 2, 5), random_splits(Y, 9, 7, 5), random_splits(Y, 9, 2, 6)
    for a, b in zip(few, many, strict=False):
        assert a.name == b.name
        assert all(np.array_equal(p, q) for p, q in zip(parts(a), parts(b), strict=True))
    assert len({tuple(split.labeled) for split in [*many, *other]}) == 9
    assert [split.name for split in other] == ["random9-seed6-00", "random9-seed6-01"]


@pytest.mark.parametrize(
    ("n_labeled", "expected"), [(3, [1, 1, 1]), (9, [5, 3, 1]), (10, [6, 3, 1]), (31, [20, 10, 1]), (93, [60, 30, 3])]
)
def test_stratified_counts(n_labeled, expected):
    (split,) = random_splits(Y, n_labeled, 1, 0, stratify=True)
    assert np.unique(Y[split.labeled], return_counts=True)[1].tolist() == expected


def test_uniform_labels_are_uniform():
    # The first of each class apart, every sample is equally likely.
    y = np.repeat([0, 1], 10)
    counts = np.zeros(20)
    for split in random_splits(y, 6, 400, 1):
        counts[split.labeled] += 1
    assert abs(counts - 120).max() < 4.5 * np.sqrt(400 * 0.3 * 0.7)


def test_published_splits_are_the_rows():
    dataset = SimpleNamespace(name="toy", y=np.zeros(5), labeled_idx=np.array([[4, 0], [2, 1]], dtype=np.int32))
    first, second = published_splits(dataset)
    assert (first.name, first.labeled.tolist(), first.unlabeled.tolist()) == ("published-00", [0, 4], [1, 2, 3])
    assert second.labeled.tolist() == [1, 2]
    assert first.test.size == first.validation.size == 0
    with pytest.raises(ValueError, match=r"'bare' has no published splits.*random_splits"):
        published_splits(SimpleNamespace(name="bare", y=np.zeros(5), labeled_idx=None))


def test_splits_do_not_change():
    given = np.array([3, 1])
    split = Split(given, np.array([0]))
    given[0] = 9
    assert split.labeled.tolist() == [1, 3]
    with pytest.raises(ValueError, match="read-only"):
        split.labeled[0] = 2


def test_quota_is_the_nearest_that_is_allowed(rng):
    """Against all quotas: one of each class at least, no more than there are, and no other is nearer to the shares."""
    fewer = 0
    for _ in range(150):
        counts = np.r_[rng.integers(6, 14, size=2), rng.integers(1, 3, size=rng.integers(2, 5))]
        n_labeled = int(rng.integers(len(counts), counts.sum() + 1))
        (split,) = random_splits(np.repeat(np.arange(len(counts)), counts), n_labeled, 1, 0, stratify=True)
        quota = np.bincount(np.repeat(np.arange(len(counts)), counts)[split.labeled], minlength=len(counts))
        share = n_labeled * counts / counts.sum()
        fewer += np.maximum(np.floor(share), 1).sum() > n_labeled  # some class gives up samples for a rare one
        allowed = [np.array(q) for q in product(*(range(1, c + 1) for c in counts)) if sum(q) == n_labeled]
        assert quota.sum() == n_labeled
        assert ((quota >= 1) & (quota <= counts)).all()
        nearest = min(((q - share) ** 2).sum() for q in allowed)
        assert ((quota - share) ** 2).sum() == pytest.approx(nearest, abs=1e-9)
    assert fewer > 5
