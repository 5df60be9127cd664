"""What the experiment of the QN-S3VM paper runs on: its sets, and random partitions into labelled, unlabelled, unseen.

`problem` makes everything of one partition from names. A dense linear task with more features than training samples
is rotated into the span of those, which changes no machine and shortens every product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from specmargin.datasets import available, digits_pair, load, make_g2c, make_g4c
from specmargin.datasets.text import TEXT_SETS, find_text, load_text
from specmargin.exceptions import InvalidInputError
from specmargin.experiments.engine.splits import Split, random_splits
from specmargin.kernels import gram, landmark_features
from specmargin.kernels.maps import kernel_map
from specmargin.typing import FloatArray, IntArray

__all__ = ["SETS", "Partition", "Problem", "at_hand", "box_diameter", "checksum", "partition", "problem", "samples"]

N_PARTITIONS = 10
N_MNIST = 1000
"""Of a pair in table 2; table 1 says 10,000."""


class Source(NamedTuple):
    """Data set that must be there, the pair of its classes, and how values are brought to [0, 1]."""

    name: str
    pair: tuple[int, int] | None = None
    scale: Callable[[FloatArray], FloatArray] = lambda X: X
    most: int | None = None


def _pairs(name: str, prefix: str, pairs: list[tuple[int, int]], **options: Any) -> dict[str, Source]:
    return {f"{prefix}_{a}_{b}": Source(name, (a, b), **options) for a, b in pairs}


SETS: dict[str, Source] = {
    "g2c": Source(""),
    "g4c": Source(""),
    # Objects are counted from 1 in the papers, from 0 here.
    **{f"coil_{a}_{b}": Source("coil20", (a - 1, b - 1)) for a, b in ((3, 6), (5, 9), (6, 19), (18, 19))},
    **_pairs("mnist", "mnist", [(1, 7), (2, 5), (2, 7), (3, 8)], scale=lambda X: X / 255.0, most=N_MNIST),
    **_pairs("usps", "usps", [(2, 5), (2, 7), (3, 8), (8, 0)], scale=lambda X: (X + 1.0) / 2.0),
    **{name: Source(name) for name in ("real_sim", "gcat", "ccat", "aut_avn", "mac_windows")},
    "two_moons": Source("two_moons"),
    "digits_3_8": Source("digits"),
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
        Confine the machine to the kernel functions of so many random training samples: the subset of regressors.
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


def at_hand(names: list[str], data: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the sets among some that can be loaded, and those that cannot."""
    here = available(data)

    def found(name: str) -> bool:
        source = _source(name).name
        return not source or (find_text(source, data) is not None if source in TEXT_SETS else bool(here[source]))

    return [name for name in names if found(name)], [name for name in names if not found(name)]


def checksum(name: str, data: Path | None = None) -> str | None:
    """Return the SHA-256 of the file behind a set, None for generated and bundled ones."""
    source = _source(name).name
    if not source:
        return None
    if source in TEXT_SETS:
        return load_text(source, data_home=data).sha256
    return load(source, data_home=data, download=False).sha256


def _source(name: str) -> Source:
    if name not in SETS:
        raise InvalidInputError(f"there is no set {name!r}; take one of {', '.join(SETS)}.")
    return SETS[name]


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
    source = _source(name)
    size = source.most if n is None else n
    if name in ("g2c", "g4c"):
        return (make_g2c if name == "g2c" else make_g4c)(n_samples=size or 500, random_state=sample)
    if sample:
        raise InvalidInputError(f"sample={sample}, but {name} is not generated: there is one sample of it.")
    if name == "digits_3_8":
        return digits_pair(3, 8, n=size)
    dataset = (
        load_text(source.name, data_home=data)
        if source.name in TEXT_SETS
        else load(source.name, data_home=data, download=False)
    )
    y = dataset.y
    rows = np.arange(len(y)) if source.pair is None else np.flatnonzero(np.isin(y, source.pair))
    if size is not None:
        if size > len(rows):
            raise InvalidInputError(f"n={size}, but {name} has {len(rows)} samples; take fewer.")
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:size])
    X, y = dataset.X[rows], y[rows]
    if source.pair is not None:
        y = (y == source.pair[1]).astype(np.intp)
    return X if sp.issparse(X) else source.scale(np.asarray(X, dtype=np.float64)), y


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
