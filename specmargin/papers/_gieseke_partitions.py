"""What the experiment of the QN-S3VM paper runs on: its sets, and random partitions into labelled, unlabelled, unseen.

`problem` makes everything of one partition from names. A dense linear task with more features than training samples
is rotated into the span of those, which changes no classifier and shortens every product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from specmargin.datasets import digits_pair, make_g2c, make_g4c
from specmargin.exceptions import InvalidInputError
from specmargin.experiments.engine.splits import Split, random_splits
from specmargin.experiments.tasks import Task, dataset, is_available
from specmargin.experiments.tasks import samples as of_task
from specmargin.kernels import gram, landmark_features
from specmargin.kernels.maps import kernel_map
from specmargin.typing import FloatArray, IntArray

__all__ = [
    "SETS",
    "Partition",
    "Problem",
    "available_sets",
    "box_diameter",
    "checksum",
    "partition",
    "problem",
    "samples",
]

N_PARTITIONS = 10
N_MNIST = 1000
"""Of a pair in table 2; table 1 says 10,000."""


def _pairs(prefix: str, source: str, pairs: list[tuple[int, int]], first: int = 0, **options: Any) -> dict[str, Task]:
    names = {f"{prefix}_{a}_{b}": (a - first, b - first) for a, b in pairs}
    return {name: Task(name, source, classes, **options) for name, classes in names.items()}


def _to_grey(X: FloatArray) -> FloatArray:
    return X / 255.0


def _to_unit(X: FloatArray) -> FloatArray:
    return (X + 1.0) / 2.0


SETS: dict[str, Task] = {
    "g2c": Task("g2c", ""),
    "g4c": Task("g4c", ""),
    # Objects are counted from 1 in the papers, from 0 here.
    **_pairs("coil", "coil20", [(3, 6), (5, 9), (6, 19), (18, 19)], first=1),
    **_pairs("mnist", "mnist", [(1, 7), (2, 5), (2, 7), (3, 8)], scale=_to_grey, n=N_MNIST),
    **_pairs("usps", "usps", [(2, 5), (2, 7), (3, 8), (8, 0)], scale=_to_unit),
    **{name: Task(name, name) for name in ("real_sim", "gcat", "ccat", "aut_avn", "mac_windows")},
    "two_moons": Task("two_moons", "two_moons"),
    "digits_3_8": Task("digits_3_8", "digits", (3, 8)),
}
"""The sets by their names in the published tables, and one of scikit-learn's digits."""


@dataclass(frozen=True)
class Partition:
    """How a task is divided, and what its features are.

    Parameters
    ----------
    n_labeled, n_test : int
        Labelled samples of the training part; samples that no fit sees.
    n_unlabeled : int, optional
        Unlabelled samples; by default all others.
    sigma : float, optional
        Width of a Gaussian kernel, as a multiple of `box_diameter`; None is the linear kernel.
    landmarks : int, optional
        Confine the classifier to the kernel functions of that number of random training samples: the subset of
        regressors.
    n : int, optional
        Samples of the set, in place of the paper's.
    sample : int, default 0
        Which sample of a generated set.
    """

    n_labeled: int
    n_test: int
    n_unlabeled: int | None = None
    sigma: float | None = None
    landmarks: int | None = None
    n: int | None = None
    sample: int = 0


class Problem(NamedTuple):
    """Features of the training samples and of the unseen ones, classes of both, and which training ones are known."""

    X: Any
    X_test: Any
    y: IntArray
    y_test: IntArray
    labeled: IntArray


def available_sets(names: list[str], data: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the sets among some that can be loaded, and those that cannot."""
    there = {name: is_available(_set(name).source, data) for name in names}
    return [name for name in names if there[name]], [name for name in names if not there[name]]


def checksum(name: str, data: Path | None = None) -> str | None:
    """Return the SHA-256 of the file behind a set, None for generated and bundled ones."""
    source = _set(name).source
    return dataset(source, data).sha256 if source else None


def _set(name: str) -> Task:
    if name not in SETS:
        raise InvalidInputError(f"there is no set {name!r}; take one of {', '.join(SETS)}.")
    return SETS[name]


@cache
def _sized(name: str, n: int) -> Task:
    return replace(_set(name), n=n)


@lru_cache(maxsize=2)
def samples(name: str, n: int | None = None, data: Path | None = None, sample: int = 0) -> tuple[Any, IntArray]:
    """Return the samples and the classes, 0 and 1, of a set; of MNIST a thousand.

    Parameters
    ----------
    name : str
        In `SETS`.
    n : int, optional
        Samples to draw; by default the paper's number.
    data : path, optional
        Folder of the data sets.
    sample : int, default 0
        Which sample of a generated set: the seed of its generator.

    Raises
    ------
    ValueError
        If there is no such set, or it has fewer samples, or one only.
    """
    task = _set(name)
    if not task.source:
        return (make_g2c if name == "g2c" else make_g4c)(n_samples=n or 500, random_state=sample)
    if sample:
        raise InvalidInputError(f"sample={sample}, but {name} is not generated: there is one sample of it.")
    if name == "digits_3_8":
        return digits_pair(3, 8, n=n)
    drawn = of_task(task if n is None else _sized(name, n), data)
    return drawn.X, drawn.y


@lru_cache(maxsize=4)
def partition(name: str, how: Partition, data: Path | None = None) -> dict[str, Split]:
    """Return ten random partitions by name; the classes share the labelled samples in proportion to their sizes."""
    y = samples(name, how.n, data, how.sample)[1]
    drawn = random_splits(y, how.n_labeled, N_PARTITIONS, 0, stratify=True, n_test=how.n_test)
    found = {}
    for split in drawn:
        unlabeled = split.unlabeled
        if how.n_unlabeled is not None:
            if how.n_unlabeled > len(unlabeled):
                raise InvalidInputError(f"n_unlabeled={how.n_unlabeled}, but {len(unlabeled)} are left of {name}.")
            seed = [int(split.name.rpartition("-")[2]), how.n_unlabeled]
            unlabeled = np.random.default_rng(seed).permutation(unlabeled)[: how.n_unlabeled]
        found[split.name] = Split(split.labeled, unlabeled, test=split.test, name=split.name)
    return found


def box_diameter(X: FloatArray) -> float:
    """Return the diameter of the smallest box around the samples, footnote 7's s.

    Examples
    --------
    >>> box_diameter(np.array([[0.0, 1.0], [3.0, 5.0]]))
    5.0
    """
    return float(np.linalg.norm(np.ptp(X, axis=0)))


@lru_cache(maxsize=2)
def problem(name: str, split: str, how: Partition, data: Path | None = None) -> Problem:
    """Return the features of one partition; the last ones are kept.

    Raises
    ------
    ValueError
        If landmarks are asked for without a kernel.
    """
    X, y = samples(name, how.n, data, how.sample)
    parts = partition(name, how, data)[split]
    train, test = parts.train, parts.test
    labeled = np.flatnonzero(np.isin(train, parts.labeled))
    # Without unseen samples one stands in, whose features are dropped again: no kernel takes an empty matrix.
    A, B = X[train], X[test if len(test) else train[:1]]
    if how.sigma is None:
        if how.landmarks is not None:
            raise InvalidInputError("landmarks need a kernel; give sigma.")
        if not sp.issparse(A) and A.shape[1] > A.shape[0]:
            found = kernel_map(gram(A, kernel="linear"))
            A, B = found.Z, found(gram(B, A, kernel="linear"))
    else:
        gamma = 1.0 / (2.0 * (how.sigma * box_diameter(A)) ** 2)
        if how.landmarks is not None:
            chosen = landmark_features(A, how.landmarks, kernel="rbf", gamma=gamma)
            A, B = chosen(A), chosen(B)
        else:
            K, rows = gram(A, kernel="rbf", gamma=gamma), gram(B, A, kernel="rbf", gamma=gamma)
            found = kernel_map(K)
            A, B = found.Z, found(rows)
    return Problem(A, B[: len(test)], y[train], y[test], labeled)
