"""What the experiments of semi-supervised SVMs run on: tasks, splits and features, made from names.

A task is a data set (``"uspst"``: all classes, one against the rest), two of its classes (``"uspst 3-8"``) or its
first half of classes against the second (``"uspst halves"``); ``"mnist 5-8 n=5020"`` keeps the first samples of the
pair in random order. A pair of a multi-class set takes the splits of the
whole set and leaves the samples of the other classes out of both parts, as Chapelle, Chi & Zien do; where there are no
published splits `N_SPLITS` are drawn with two labelled samples of every class.

`features` is what methods and splits share: the kernel's map, computed once per task and `Representation`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from specmargin.datasets import Dataset
from specmargin.exceptions import InvalidInputError
from specmargin.experiments.engine.splits import Split, published_splits
from specmargin.experiments.tasks import Samples, Task, restricted, samples
from specmargin.graphs import knn_graph, laplacian
from specmargin.kernels import gram, landmark_features
from specmargin.kernels.maps import deformed_kernel, kernel_map
from specmargin.labels import hide_labels
from specmargin.typing import FloatArray, IntArray

__all__ = [
    "BUNDLED",
    "GRAPHS",
    "N_SPLITS",
    "Representation",
    "features",
    "pairs",
    "source_of",
    "task_named",
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
        Number of leading kernel principal components to keep.
    landmarks : int, optional
        Confine the classifier to the kernel functions of that number of random samples, q = p of the paper's section
        5.2, or the subset of regressors of QN-S3VM.
    graph : float, default 0
        Weight of the graph's norm over the kernel's, gamma_I / gamma_A: above 0 the kernel is the deformed one.
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
    """Return the tasks of two classes of a set, or every k-th.

    Examples
    --------
    >>> pairs("uspst", 3), len(pairs("uspst", 10)), len(pairs("coil20", 20))
    (['uspst 0-1', 'uspst 0-2', 'uspst 1-2'], 45, 190)
    """
    return [f"{source} {a}-{b}" for a, b in combinations(range(n_classes), 2)][::every]


def _two_per_class(drawn: Samples, whole: Dataset | None) -> list[Split]:
    """Return the published splits of the whole set or else draws from it, restricted to the task's samples."""
    assert whole is not None
    published = published_splits(whole) if whole.labeled_idx is not None else _draws(whole.y, 2)
    return restricted(published, drawn)


def _own_draws(drawn: Samples, whole: Dataset | None) -> list[Split]:
    return _draws(drawn.y, PER_CLASS)


def _draws(y: IntArray, per_class: int) -> list[Split]:
    """Return `N_SPLITS` draws of a number of labelled samples of each class."""
    found = []
    for i in range(N_SPLITS):
        hidden = hide_labels(y, per_class=per_class, random_state=np.random.default_rng([0, i])) == -1
        found.append(Split(np.flatnonzero(~hidden), np.flatnonzero(hidden), name=f"drawn{per_class}-{i:02d}"))
    return found


@cache
def task_named(name: str) -> Task:
    """Return the task that a name asks for.

    Raises
    ------
    ValueError
        If the name is none.
    """
    match = re.fullmatch(r"(\w+)(?: (?:(halves)|(\d+)-(\d+)(?: n=(\d+))?))?", name)
    if match is None or (match[3] and match[3] == match[4]):
        raise InvalidInputError(
            f"there is no task {name!r}; write a set ('uspst'), two of its classes ('uspst 3-8', or with a number of "
            "samples 'mnist 5-8 n=5020'), or 'uspst halves'."
        )
    source, halves, a, b, n = match.groups()
    return Task(
        name,
        source,
        (int(a), int(b)) if a else halves or "",
        n=int(n) if n else None,
        scale=partial(np.multiply, UNITS.get(source, 1.0)),
        draw=_own_draws if n else _two_per_class,
    )


@lru_cache(maxsize=2)
def features(task: str, representation: Representation, data: Path | None = None) -> Any:
    """Return the features of all samples of a task, (n, r); they are sparse where the data are and the kernel linear.

    Raises
    ------
    ValueError
        If a graph is asked for where the papers name none, a rank, landmarks or a graph for a linear classifier, or
        landmarks together with one of the others.
    """
    X = samples(task_named(task), data).X
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
