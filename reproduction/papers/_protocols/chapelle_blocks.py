r"""Experiments of semi-supervised SVMs on published splits: tasks, features, blocks, and the function of their cells.

A task is a data set (``"uspst"``: all classes, one against the rest), two of its classes (``"uspst 3-8"``) or its
first half of classes against the second (``"uspst halves"``); ``"mnist 5-8 n=5020"`` keeps the first samples of the
pair in random order. A pair of a multi-class set takes the splits of the whole set and leaves the samples of the other
classes out of both parts, as Chapelle, Chi & Zien do; where there are no published splits `N_SPLITS` are drawn with two
labelled samples of every class.

`DIRECTION` is no classifier of the papers but section 3.3 of the first: at gamma_0 the smoothed objective stops being
convex along v*, the leading eigenvector of

.. math:: M = \sum_{unlabelled} x x^\top / |x|^3,

which is why that paper expects continuation to set out along v*, and, "ignoring the denominator", calls v* the
principal component of the unlabelled samples in feature space. `along_direction` puts numbers to both steps.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.blocks import Block, Blocks, grouped
from reproduction.data import Dataset
from reproduction.engine.evaluation import percent
from reproduction.engine.records import Cell, Row
from reproduction.engine.splits import Split, published_splits
from reproduction.methods import decide
from reproduction.papers._protocols.s3vm_methods import FINISHED, Fit, Setting, common_objective, fit
from reproduction.run import measured
from reproduction.tasks import Samples, Task, labels_of, rbf, restricted, samples, splits, task_laplacian
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import gram, landmark_features
from specmargin.kernels.maps import deformed_kernel, kernel_map
from specmargin.labels import Labels, hide_labels
from specmargin.solvers import continuation, gradient
from specmargin.solvers.s3vm.continuation import smoothing_path
from specmargin.typing import FloatArray, IntArray

N_SPLITS = 10
PER_CLASS = 10
"""Labelled samples of either class of a task with a number of samples: figure 7 of the continuation paper."""

UNITS = {"coil20": 255.0}
"""What a set is multiplied by: published widths on COIL-20 are those of grey values from 0 to 255, ours is grey / 255.

The images of the papers may have been reduced otherwise, so that a width of 1000 need not mean the same there.
"""

GRAPHS = {"uspst": (10, 2), "mac_windows": (50, 5), "digits": (10, 2)}
"""Graphs of Sindhwani, Niyogi & Belkin (2005): neighbours, and the power of the normalised Laplacian."""

BUNDLED = "digits"
"""Stands for every set where no data folder is named."""

INSTEAD = f"pairs of scikit-learn's {BUNDLED}, for which nothing is published"

DIRECTION = "v_star"
"""Name of the method whose decisions are the projections on v*."""


def source_of(task: str) -> str:
    """Return the data set of a task."""
    return task.split()[0]


def pairs(source: str, n_classes: int, every: int = 1) -> tuple[str, ...]:
    """Return the tasks of two classes of a set, or every k-th."""
    return tuple(f"{source} {a}-{b}" for a, b in combinations(range(n_classes), 2))[::every]


def _two_per_class(drawn: Samples, whole: Dataset | None) -> list[Split]:
    """Return the published splits of the whole set or else draws from it, restricted to the task's samples."""
    assert whole is not None
    return restricted(published_splits(whole) if whole.labeled_idx is not None else _draws(whole.y, 2), drawn)


def _draws(y: IntArray, per_class: int) -> list[Split]:
    """Return `N_SPLITS` draws of a number of labelled samples of each class."""
    seen = [hide_labels(y, per_class=per_class, random_state=np.random.default_rng([0, i])) for i in range(N_SPLITS)]
    parts = [(np.flatnonzero(known != -1), np.flatnonzero(known == -1)) for known in seen]
    return [Split(*each, name=f"drawn{per_class}-{i:02d}") for i, each in enumerate(parts)]


@cache
def task_named(name: str) -> Task:
    """Return the task that a name asks for."""
    match = re.fullmatch(r"(\w+)(?: (?:(halves)|(\d+)-(\d+)(?: n=(\d+))?))?", name)
    if match is None or (match[3] and match[3] == match[4]):
        raise InvalidInputError(
            f"there is no task {name!r}; write a set ('uspst'), two of its classes ('uspst 3-8', or with a number of "
            "samples 'mnist 5-8 n=5020'), or 'uspst halves'."
        )
    source, halves, a, b, n = match.groups()
    n_neighbors, power = GRAPHS.get(source, (0, 1))
    return Task(
        name,
        source,
        (int(a), int(b)) if a else halves or "",
        n=int(n) if n else None,
        scale=partial(np.multiply, UNITS.get(source, 1.0)),
        draw=(lambda drawn, whole: _draws(drawn.y, PER_CLASS)) if n else _two_per_class,
        graph={"n_neighbors": n_neighbors, "weight": "heat"},
        power=power,
    )


@lru_cache(maxsize=2)
def features(
    task: str,
    sigma: float | None = None,
    rank: int | None = None,
    landmarks: int | None = None,
    graph: float = 0.0,
    data: Path | None = None,
) -> Any:
    """Return the features of all samples of a task, (n, r); they are sparse where the data are and the kernel linear.

    The parameters are those of `S3VMBlock`. Rank, landmarks and graph need a kernel, landmarks go with neither of the
    others, and a graph must be one that the papers name.
    """
    X = samples(task_named(task), data).X
    if sigma is None:
        if rank is not None or landmarks is not None or graph:
            raise InvalidInputError(f"{rank=}, {landmarks=}, {graph=}: they need a kernel; give sigma.")
        return X
    if landmarks is not None:
        if rank is not None or graph:
            raise InvalidInputError(f"{landmarks=} go with neither a rank nor a graph: {rank=}, {graph=}.")
        return landmark_features(X, min(landmarks, X.shape[0]), **rbf(sigma))(X)
    K = gram(X, **rbf(sigma))
    if graph:
        if source_of(task) not in GRAPHS:
            raise InvalidInputError(f"no graph is known for {task!r}; take one of {', '.join(GRAPHS)}.")
        K = deformed_kernel(K, task_laplacian(task_named(task), data), graph).matrix
    return kernel_map(K, rank=None if rank is None else min(rank, len(K))).Z


def timed_features(block: S3VMBlock) -> float:
    """Return the mean seconds of making the features of a task of a block; reading its file does not count."""
    start = 0.0
    for task in block.tasks:
        samples(task_named(task))
        features.cache_clear()
        begun = time.perf_counter()
        features(task, block.sigma, block.rank, block.landmarks, block.graph)
        start += time.perf_counter() - begun
    return start / len(block.tasks)


@dataclass(frozen=True)
class S3VMBlock(Block):
    """One setting of an experiment, on one task or on all pairs of a set.

    Parameters
    ----------
    sigma : float, optional
        Width of the Gaussian kernel exp(-|x - z|^2 / (2 sigma^2)), in the units of `UNITS`; None is the linear
        classifier on the features as they are.
    rank : int, optional
        Number of leading kernel principal components to keep.
    landmarks : int, optional
        Confine the classifier to the kernel functions of that number of random samples, q = p of the continuation
        paper's section 5.2.
    graph : float, default 0
        Weight of the graph's norm over the kernel's, gamma_I / gamma_A: above 0 the kernel is the deformed one.
    C, C_star : float, default 100
        Weights.
    table : str
        Name of the table with its published numbers; empty where nothing is published.
    exact : bool, default False
        Whether the class ratio is that of the hidden labels, which is optimistic, and decisions are shifted until the
        share of positive ones is that ratio; otherwise the ratio is that of the labelled samples.
    sharpness : float, default 3
        s of exp(-s f^2).
    """

    sigma: float | None = None
    rank: int | None = None
    landmarks: int | None = None
    graph: float = 0.0
    C: float = 100.0
    C_star: float = 100.0
    table: str = ""
    exact: bool = False
    sharpness: float = 3.0

    @property
    def source(self) -> str:
        """The data set of its tasks."""
        return source_of(self.tasks[0])

    def splits(self, task: str, data: Path | None) -> Iterable[str]:
        """Return the names of the splits of a task."""
        return splits(task_named(task), data)

    def parameters(self, method: str) -> dict[str, Any]:
        """Return the parameters of the cells: features, weights, class ratio."""
        names = ("sigma", "rank", "landmarks", "graph", "C", "C_star", "exact", "sharpness")
        return {name: getattr(self, name) for name in names}


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit the method of a cell on its split; return what `fit` measured, and errors in percent.

    They are ``error_unlabeled``, and ``error_unshifted`` where decisions are shifted. ``features`` is their number.
    """
    p, task = cell.parameters, task_named(cell.dataset)
    X = features(cell.dataset, p["sigma"], p["rank"], p["landmarks"], p["graph"], data)
    y, split = samples(task, data).y, splits(task, data)[cell.split]
    labels, hidden = labels_of(y, split.labeled), split.unlabeled
    shares = _shares(y[hidden], int(y.max()) + 1) if p["exact"] else None
    balance = None if shares is None else tuple(2.0 * shares - 1.0)
    setting = Setting(p["C"], p["C_star"], balance, p["sharpness"])
    fitted = along_direction(X, labels, setting) if cell.method == DIRECTION else fit(cell.method, X, labels, setting)
    row = {
        "error_unlabeled": percent(decide(fitted.f[hidden], shares) != y[hidden]),
        **fitted.measured,
        "features": int(X.shape[1]),
    }
    return row if shares is None else {**row, "error_unshifted": percent(decide(fitted.f[hidden]) != y[hidden])}


def _shares(y: IntArray, n_classes: int) -> FloatArray:
    """Return the share of each class in y, of two classes that of the second alone."""
    shares = np.bincount(y, minlength=n_classes) / len(y)
    return shares[1:] if n_classes == 2 else shares


def directions(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return v* and the first principal component of centred samples, (u, r), each of length one."""
    lengths = np.linalg.norm(A, axis=1)
    seen = lengths > 1e-6 * lengths.max(initial=0.0)
    scaled = A[seen] / lengths[seen, None] ** 1.5
    v, p = (np.linalg.svd(part, full_matrices=False)[2][0] for part in (scaled, A))
    return v, p


def along_direction(X: FloatArray, labels: Labels, setting: Setting) -> Fit:
    """Return the classifier along v*, cut at the mean and signed by the labelled samples, of two classes.

    Measured are also the cosines of the angles between v* and the principal component, the minimum of the first
    objective of the continuation, and the end of all.
    """
    start = time.perf_counter()
    balance = None if setting.balance is None else setting.balance[0]
    obj = setting.objective(X, labels, balance, "hinge", "exp", "balance")
    A = obj.features.dense()
    v, p = directions(A[obj.unlabeled])
    f = A @ v
    if float(labels.sign @ f[labels.labeled]) < 0:
        v, f = -v, -f
    first = gradient(obj.smoothed(float(smoothing_path(obj)[0])), schedule=1.0, tol=1e-4).variables["w"]
    assert obj.features.mu is not None  # its intercept is "balance"
    b = -float(obj.features.mu @ v)
    row = {
        "objective": common_objective(X, labels, setting, v, b),
        "stationarity": 0.0,
        "ended": "stationary",
        "iterations": 0,
        "cosine_principal": _cosine(v, p),
        "cosine_first": _cosine(v, first),
        "cosine_end": _cosine(v, continuation(obj).variables["w"]),
    }
    return Fit(f[:, None], v[:, None], np.array([b]), {**row, "fit_seconds": time.perf_counter() - start})


def _cosine(a: FloatArray, b: FloatArray) -> float:
    """Return |cos| of the angle between two vectors, 0 where one vanishes."""
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return abs(float(a @ b)) / lengths if lengths > 0 else 0.0


def measure(blocks: Sequence[S3VMBlock], data: Path | None = None) -> dict[str, Row]:
    """Compute the cells of all blocks one after the other, without a folder, and return rows by key."""
    return {row["key"]: row for row in measured(work, data)(Blocks(blocks).cells(data))}


def seconds(rows: Iterable[Row]) -> list[str]:
    """Return how long the fits of each method took, by set, and how nearly stationary the worst one was."""
    return [
        f"{name}: {statistics.fmean(row['fit_seconds'] for row in mine):.3f} s a fit, mean of {len(mine)}; "
        f"stationarity {max(row['stationarity'] for row in mine):.0e} or better; "
        f"{sum(row['ended'] not in FINISHED for row in mine)} cut off"
        for name, mine in grouped(rows, lambda row: f"{source_of(row['dataset'])} {row['method']}").items()
    ]
