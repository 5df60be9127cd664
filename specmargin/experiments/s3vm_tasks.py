"""What the experiments of semi-supervised SVMs run on: tasks, splits and features, made from names.

A task is a data set (``"uspst"``: all classes, one against the rest), two of its classes (``"uspst 3-8"``) or its
first half of classes against the second (``"uspst halves"``); ``"mnist 5-8 n=5020"`` keeps the first samples of the
pair in random order. A pair of a multi-class set takes the splits of the
whole set and leaves the samples of the other classes out of both parts, as Chapelle, Chi & Zien do; where there are no
published splits `N_SPLITS` are drawn with two labelled samples of every class.

`features` is what methods and splits share: the kernel's map, computed once per task and `Representation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.datasets import available, load
from specmargin.exceptions import InvalidInputError
from specmargin.experiments.engine.splits import Split, published_splits
from specmargin.graphs import knn_graph, laplacian
from specmargin.kernels import gram, landmark_features
from specmargin.kernels.maps import deformed_kernel, kernel_map
from specmargin.labels import Labels, encode_labels, hide_labels
from specmargin.typing import FloatArray, IntArray

__all__ = [
    "BUNDLED",
    "GRAPHS",
    "N_SPLITS",
    "Representation",
    "features",
    "labels_of",
    "missing",
    "pairs",
    "samples",
    "source_of",
    "splits",
]

N_SPLITS = 10
PER_CLASS = 10
"""Labelled samples of either class of a task with a number of samples: figure 7 of the continuation paper."""

UNITS = {"coil20": 255.0}
"""What a set is multiplied by: published widths on COIL-20 are those of grey values from 0 to 255, ours is grey / 255.

The images of the papers may have been reduced otherwise, so that a width of 1000 need not mean the same there.
"""

GRAPHS: dict[str, dict[str, int]] = {
    "uspst": {"n_neighbors": 10, "power": 2},
    "mac_windows": {"n_neighbors": 50, "power": 5},
    "digits": {"n_neighbors": 10, "power": 2},
}
"""Graphs of Sindhwani, Niyogi & Belkin (2005): neighbours, and the power of the normalised Laplacian."""

BUNDLED = "digits"
"""Stands for every set where no data folder is named."""


@dataclass(frozen=True)
class Representation:
    """How a task's samples become features.

    Parameters
    ----------
    sigma : float, optional
        Width of the Gaussian kernel exp(-|x - z|^2 / (2 sigma^2)), in the units of `UNITS`; None is the linear
        classifier on the features as they are.
    rank : int, optional
        Keep the leading so many kernel principal components.
    landmarks : int, optional
        Confine the machine to the kernel functions of so many random samples, q = p of the paper's section 5.2, or the
        subset of regressors of QN-S3VM.
    graph : float, default 0
        Weight of the graph's norm beside the kernel's, gamma_I / gamma_A: above 0 the kernel is the deformed one.
    """

    sigma: float | None = None
    rank: int | None = None
    graph: float = 0.0
    landmarks: int | None = None


def source_of(task: str) -> str:
    """Return the data set of a task.

    Examples
    --------
    >>> source_of("uspst 3-8"), source_of("mac_windows")
    ('uspst', 'mac_windows')
    """
    return task.split()[0]


def pairs(source: str, n_classes: int, every: int = 1) -> list[str]:
    """Return the tasks of two classes of a set, or every so manieth.

    Examples
    --------
    >>> pairs("uspst", 3), len(pairs("uspst", 10)), len(pairs("coil20", 20))
    (['uspst 0-1', 'uspst 0-2', 'uspst 1-2'], 45, 190)
    """
    return [f"{source} {a}-{b}" for a, b in combinations(range(n_classes), 2)][::every]


def missing(sources: Sequence[str], data: Path | None = None) -> list[str]:
    """Return the sets among some that are not at hand."""
    here = available(data)
    return [source for source in sources if not here[source]]


@lru_cache(maxsize=2)
def _whole(source: str, data: Path | None) -> tuple[Any, IntArray, tuple[Split, ...]]:
    dataset = load(source, data_home=data, download=False)
    y = dataset.y
    drawn = _draws(y, 2) if dataset.labeled_idx is None else published_splits(dataset)
    return dataset.X, y, tuple(drawn)


def _draws(y: IntArray, per_class: int) -> list[Split]:
    """Return `N_SPLITS` draws of so many labelled samples of each class."""
    found = []
    for i in range(N_SPLITS):
        hidden = hide_labels(y, per_class=per_class, random_state=np.random.default_rng([0, i])) == -1
        found.append(Split(np.flatnonzero(~hidden), np.flatnonzero(hidden), name=f"drawn{per_class}-{i:02d}"))
    return found


def _kept(task: str, y: IntArray) -> tuple[IntArray, IntArray]:
    """Return the samples of a task and their classes, counted from 0."""
    which, size = _parsed(task)
    everything, n_classes = np.arange(len(y)), int(y.max()) + 1
    if not which:
        return everything, y
    if which == "halves":
        return everything, (y >= n_classes / 2).astype(np.intp)
    digits = which.split("-")
    if len(digits) != 2 or not all(d.isdigit() and int(d) < n_classes for d in digits) or digits[0] == digits[1]:
        raise InvalidInputError(
            f"there is no task {task!r}; write a set ('uspst'), two of its classes ('uspst 3-8'), or 'uspst halves'."
        )
    a, b = map(int, digits)
    rows = np.flatnonzero((y == a) | (y == b))
    if size is not None:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:size])
    return rows, (y[rows] == b).astype(np.intp)


def _parsed(task: str) -> tuple[str, int | None]:
    """Return which classes, and how many samples, a task's name asks for."""
    _, which, size = [*task.split(" "), "", ""][:3]
    if not size:
        return which, None
    if not size.startswith("n=") or not size[2:].isdigit():
        raise InvalidInputError(f"there is no task {task!r}; a number of samples is written 'mnist 5-8 n=5020'.")
    return which, int(size[2:])


@lru_cache(maxsize=8)
def samples(task: str, data: Path | None = None) -> tuple[Any, IntArray]:
    """Return the samples and the true classes, counted from 0, of a task.

    Raises
    ------
    ValueError
        If there is no such task.
    """
    X, y, _ = _whole(source_of(task), data)
    rows, classes = _kept(task, y)
    X = X[rows]  # of MNIST the few rows become numbers of eight bytes, not all
    return X if sp.issparse(X) else np.asarray(X, dtype=np.float64) * UNITS.get(source_of(task), 1.0), classes


@lru_cache(maxsize=8)
def splits(task: str, data: Path | None = None) -> dict[str, Split]:
    """Return the splits of a task by name: those of the whole set, restricted to the task's samples.

    A task with a number of samples has draws of its own.
    """
    _, y, whole = _whole(source_of(task), data)
    rows, classes = _kept(task, y)
    if _parsed(task)[1] is not None:
        return {split.name: split for split in _draws(classes, PER_CLASS)}
    place = np.full(len(y), -1)
    place[rows] = np.arange(len(rows))
    found = {}
    for split in whole:
        labeled, unlabeled = (place[part][place[part] >= 0] for part in (split.labeled, split.unlabeled))
        found[split.name] = replace(split, labeled=labeled, unlabeled=unlabeled)
    return found


def labels_of(y: IntArray, labeled: IntArray) -> Labels:
    """Return what a method sees of the classes y: those of the labelled samples."""
    return encode_labels(np.where(np.isin(np.arange(len(y)), labeled), y, -1))


@lru_cache(maxsize=2)
def features(task: str, representation: Representation, data: Path | None = None) -> Any:
    """Return the features of all samples of a task, (n, r); they are sparse where the data are and the kernel linear.

    Raises
    ------
    ValueError
        If a graph is asked for where the papers name none, a rank, landmarks or a graph for a linear classifier, or
        landmarks together with one of the others.
    """
    X, _ = samples(task, data)
    source, rank, landmarks = source_of(task), representation.rank, representation.landmarks
    if representation.sigma is None:
        if rank is not None or landmarks is not None or representation.graph:
            raise InvalidInputError(f"{representation!r}: rank, landmarks and graph need a kernel; give sigma.")
        return X
    gamma = 1.0 / (2.0 * representation.sigma**2)
    if landmarks is not None:
        if rank is not None or representation.graph:
            raise InvalidInputError(f"{representation!r}: landmarks go with neither a rank nor a graph.")
        return landmark_features(X, min(landmarks, X.shape[0]), kernel="rbf", gamma=gamma)(X)
    K = gram(X, kernel="rbf", gamma=gamma)
    if representation.graph:
        K = _deformed(task, source, X, K, representation.graph)
    return kernel_map(K, rank=None if rank is None else min(rank, len(K))).Z


def _deformed(task: str, source: str, X: Any, K: FloatArray, ratio: float) -> FloatArray:
    graph = GRAPHS.get(source)
    if graph is None:
        raise InvalidInputError(f"no graph is known for {task!r}; take one of {', '.join(GRAPHS)}.")
    W = knn_graph(X, n_neighbors=graph["n_neighbors"], weight="heat")
    return deformed_kernel(K, laplacian(W, normalized=True, power=graph["power"]), ratio).matrix
