"""Splits of a data set into labelled, unlabelled, validation and unseen samples.

`published_splits` gives the splits that came with a data set, `random_splits` draws others. Both are deterministic:
a `Cell` names its split, and the worker process makes it again.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from specmargin.arrays import numbers_array
from specmargin.checks import checked, count, flag, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.labels import hide_labels, label_vector
from specmargin.typing import IntArray

_PARTS = ("labeled", "unlabeled", "validation", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint index arrays into the samples of one data set.

    Parameters
    ----------
    labeled, unlabeled : ndarray of int
        The training part: labels seen, labels hidden.
    validation, test : ndarray of int, optional
        Samples that no fit sees; the first may choose parameters, the second never.
    name : str
        What a `Cell` calls the split.

    Raises
    ------
    ValueError
        If no sample is labelled, an index is negative, or two parts share a sample.

    Examples
    --------
    >>> split = Split([4, 1], [0, 2], test=[3], name="tiny")
    >>> split.labeled.tolist(), split.train.tolist()
    ([1, 4], [0, 1, 2, 4])
    """

    labeled: IntArray
    unlabeled: IntArray
    validation: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    test: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    name: str = ""

    def __post_init__(self) -> None:
        for part in _PARTS:
            given = getattr(self, part)
            numbers_array("whole numbers: rows of X, counted from 0", ndim=1)(part, given)
            index = np.asarray(given)
            if index.size and index.dtype.kind not in "iu":
                raise InvalidTypeError(
                    f"{part}={shown(given)} of the split {self.name!r}; pass whole numbers: rows of X."
                )
            index = np.sort(index.astype(np.intp))
            index.flags.writeable = False
            object.__setattr__(self, part, index)
        everything = np.concatenate([getattr(self, part) for part in _PARTS])
        if self.labeled.size == 0:
            raise InvalidInputError(f"the split {self.name!r} has no labelled sample; give at least one per class.")
        if everything.min() < 0:
            raise InvalidInputError(
                f"the split {self.name!r} holds the index {everything.min()}; count samples from 0."
            )
        values, counts = np.unique(everything, return_counts=True)
        if counts.max() > 1:
            raise InvalidInputError(
                f"the split {self.name!r} holds sample {values[counts.argmax()]} {counts.max()} times; "
                "put each sample into one of labeled, unlabeled, validation and test."
            )

    @property
    def train(self) -> IntArray:
        """Increasing indices of what a fit sees: labelled and unlabelled samples."""
        return np.union1d(self.labeled, self.unlabeled)


def published_splits(dataset: Any) -> list[Split]:
    """Return the splits that came with a data set: one per row of its ``labeled_idx``, the rest unlabelled.

    Parameters
    ----------
    dataset : Dataset
        Data set with ``y`` of shape (n,) and ``labeled_idx`` of shape (n_splits, l).

    Returns
    -------
    list of Split
        Named ``published-00``, ``published-01``, ...

    Raises
    ------
    ValueError
        If the data set has no published splits.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> dataset = SimpleNamespace(name="tiny", y=np.zeros(4), labeled_idx=[[0, 3], [1, 2]])
    >>> [(split.name, split.unlabeled.tolist()) for split in published_splits(dataset)]
    [('published-00', [1, 2]), ('published-01', [0, 3])]
    """
    if not hasattr(dataset, "labeled_idx") or not hasattr(dataset, "y"):
        raise InvalidTypeError(f"dataset={shown(dataset)} is none; pass one of reproduction.data.load.")
    rows = dataset.labeled_idx
    if rows is None:
        raise InvalidInputError(
            f"the data set {getattr(dataset, 'name', '')!r} has no published splits; draw some: "
            "random_splits(dataset.y, n_labeled, n_splits, seed)."
        )
    samples = np.arange(len(dataset.y))
    return [Split(row, np.setdiff1d(samples, row), name=f"published-{i:02d}") for i, row in enumerate(np.asarray(rows))]


@checked(n_labeled=count(1), n_splits=count(1), seed=count(0), stratify=flag, n_validation=count(0), n_test=count(0))
def random_splits(
    y: npt.ArrayLike,
    n_labeled: int,
    n_splits: int,
    seed: int,
    *,
    stratify: bool = False,
    n_validation: int = 0,
    n_test: int = 0,
) -> list[Split]:
    """Draw splits with at least one labelled sample of every class.

    Parameters
    ----------
    y : array-like of shape (n,)
        True labels.
    n_labeled, n_splits : int
        Labelled samples of a split; number of splits.
    seed : int
        Split i depends on `seed` and i alone: more splits leave the first ones as they are.
    stratify : bool, default False
        Label each class in proportion to its size (one sample at least) rather than uniformly.
    n_validation, n_test : int, default 0
        Samples kept out of the fits, drawn uniformly from the rest.

    Returns
    -------
    list of Split
        Named ``random<n_labeled>-seed<seed>-00`` and so on.

    Raises
    ------
    ValueError
        If a count cannot be met.

    Examples
    --------
    >>> first, second = random_splits([0] * 50 + [1] * 50, 4, 2, seed=0, stratify=True, n_test=10)
    >>> len(first.labeled), len(first.unlabeled), len(first.test), first.name
    (4, 86, 10, 'random4-seed0-00')
    """
    classes, codes = np.unique(label_vector(y), return_inverse=True)
    if n_labeled + n_validation + n_test > len(codes):
        raise InvalidInputError(
            f"n_labeled={n_labeled}, n_validation={n_validation} and n_test={n_test} do not fit into "
            f"{len(codes)} samples; lower one of them."
        )
    splits = []
    for i in range(n_splits):
        rng = np.random.default_rng([seed, i])
        if stratify:
            quota = _quota(np.bincount(codes), n_labeled)
            labeled = np.concatenate(
                [rng.choice(np.flatnonzero(codes == k), quota[k], replace=False) for k in range(len(classes))]
            )
        else:
            labeled = np.flatnonzero(hide_labels(codes, n_labeled=n_labeled, random_state=rng) >= 0)
        rest = rng.permutation(np.setdiff1d(np.arange(len(codes)), labeled))
        validation, test, unlabeled = np.split(rest, [n_validation, n_validation + n_test])
        splits.append(Split(labeled, unlabeled, validation, test, f"random{n_labeled}-seed{seed}-{i:02d}"))
    return splits


def _quota(counts: IntArray, n_labeled: int) -> IntArray:
    """Largest remainders, one per class at least, never more than a class has."""
    if not len(counts) <= n_labeled <= counts.sum():
        raise InvalidInputError(
            f"n_labeled={n_labeled} cannot hold one sample of each of {len(counts)} classes among "
            f"{counts.sum()} samples; take {len(counts)} to {counts.sum()}."
        )
    share = n_labeled * counts / counts.sum()
    quota = np.maximum(np.floor(share).astype(np.intp), 1)
    while quota.sum() != n_labeled:
        step = 1 if quota.sum() < n_labeled else -1
        able = quota < counts if step > 0 else quota > 1
        quota[np.argmax(np.where(able, step * (share - quota), -np.inf))] += step
    return quota
