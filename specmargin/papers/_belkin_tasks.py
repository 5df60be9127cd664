"""What the experiments of the manifold-regularization paper run on: methods, samples, kernels and splits.

`specmargin.papers.belkin_2006` has the protocol. The draws of a pair share one factorisation,
`reduction_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.experiments.engine.records import Cell
from specmargin.experiments.engine.splits import Split, random_splits
from specmargin.experiments.methods import Method
from specmargin.experiments.tasks import dataset, is_available, missing_data
from specmargin.graphs import knn_graph, laplacian
from specmargin.kernels import gram
from specmargin.kernels.maps import KernelMap
from specmargin.objectives.reduction import Reduction, reduce
from specmargin.papers._belkin_tsvm import span
from specmargin.solvers.manifold.factorized import factorized
from specmargin.typing import FloatArray, IntArray, MatrixLike, SparseArray

__all__ = [
    "GRAPH",
    "KERNELS",
    "METHODS",
    "PAIRS",
    "PARTS",
    "SPEAKER_LABELS",
    "TSVM",
    "TSVM_C",
    "TSVM_LABELS",
    "Plan",
    "gammas",
    "kernels_of",
    "laplacian_of",
    "pairs_available",
    "plan_for",
    "reduction_of",
    "samples_of",
    "span_of",
    "speaker_name",
    "splits_of",
    "tasks_available",
]

PARTS = {"unlabeled": "U", "test": "T"}
"""Where errors are measured, and the paper's letter for it."""

GRAPH: dict[str, Any] = {"n_neighbors": 6, "kind": "symmetric", "weight": "binary"}


def _method(loss: str, published: str, *, graph: bool) -> Method:
    # The paper's regularised least squares have no intercept.
    options = {"loss": loss, "fit_intercept": loss == "hinge"}
    return Method(("gamma_A", "gamma_I") if graph else ("gamma_A",), options, factorized, published=published)


METHODS = {
    "RLS": _method("squared", "rls", graph=False),
    "LapRLS": _method("squared", "laprls", graph=True),
    "SVM": _method("hinge", "svm", graph=False),
    "LapSVM": _method("hinge", "lapsvm_dual", graph=True),
}


def gammas(method: str, source: str) -> tuple[float, float]:
    """Return gamma_A and gamma_I of a method on a data set.

    They are the paper's gamma l, gamma_A l and gamma_I l / (u + l)^2, the weights of sums over samples.
    """
    if not METHODS[method].graph:
        return 0.05, 0.0
    return 0.005, 0.005 if source == "isolet" else 0.045


PAIRS = (("RLS", "LapRLS"), ("SVM", "LapSVM"))
"""Supervised and manifold-regularised, by loss."""

TSVM = "TSVM"
"""The rival of figures 4 and 6, Joachims' transductive SVM."""

TSVM_C = 10.0
"""Its weight of a hinge, 1 / (2 gamma l): the paper's C."""

TSVM_LABELS = 2
"""Labels per class with which it is fitted on pairs of digits, the figure's."""

KERNELS = {
    "plain": "(x'z + 1)^3",
    "unit": "(x'z + 1)^3 over the norms in feature space",
    "scaled": "(x'z / 256)^3",
}
"""Of the pairs of digits; Isolet has its Gaussian, "rbf"."""


def pairs_available(data: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the pairs of digits that can be loaded, and what to say where they are not the paper's."""
    here = is_available("usps", data)
    pairs = [f"{'usps' if here else 'digits'} {a}-{b}" for a, b in combinations(range(10), 2)]
    instead = "pairs of scikit-learn's digits (8 x 8 pixels, no PCA), for which nothing is published"
    return pairs, [] if here else missing_data(["usps"], instead, word="its")


def tasks_available(data: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the names of all tasks that can be loaded, Isolet included, and what to say of the others."""
    tasks, said = pairs_available(data)
    if is_available("isolet", data):
        return [*tasks, "isolet"], said
    return tasks, [*said, *missing_data(["isolet"], word="its")]


@dataclass(frozen=True)
class Plan:
    """What is computed.

    Parameters
    ----------
    tasks : sequence of str
        ``"usps 3-8"``, ``"digits 3-8"``, ``"isolet"``.
    per_class : sequence of int
        Labelled samples of each digit. Isolet has its speakers.
    n_draws : int
        Draws of the labelled samples.
    n : int
        Training images of each digit.
    kernels : sequence of {"plain", "unit", "scaled"}
        Of `KERNELS`. Isolet has its Gaussian.
    normalized : sequence of bool
        Laplacians: D - W, as the paper's text says, or the normalised one.
    transductive : bool, default False
        Whether the transductive SVM is fitted, too: on Isolet, and on pairs with `TSVM_LABELS`.
    seed : int
        Of the draws.
    """

    tasks: Sequence[str]
    per_class: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128)
    n_draws: int = 10
    n: int = 400
    kernels: Sequence[str] = ("plain",)
    normalized: Sequence[bool] = (False,)
    transductive: bool = False
    seed: int = 0

    def quick(self) -> Plan:
        """Return a plan of seconds: five tasks, three draws, few labels, small graphs."""
        few = tuple(per_class for per_class in self.per_class if per_class <= 16)[:3]
        tasks = [task for task in self.tasks if task != "isolet"] or list(self.tasks)
        return replace(self, tasks=tasks[:: max(1, len(tasks) // 5)][:5], per_class=few, n_draws=3, n=100)

    def cells(self) -> list[Cell]:
        """Return a cell per task, kernel, Laplacian, method, number of labels and draw.

        RLS, SVM and TSVM see no graph: they have one cell for all Laplacians, with None in the place of `normalized`.
        """
        cells: list[Cell] = []
        # Cells that share a deformed kernel follow one another.
        for task in self.tasks:
            speakers = task == "isolet"
            methods = [*METHODS, TSVM] if self.transductive else list(METHODS)
            for kernel, method in product(("rbf",) if speakers else self.kernels, methods):
                graph = method != TSVM and METHODS[method].graph
                for normalized, per_class in product(
                    self.normalized if graph else (None,), (SPEAKER_LABELS,) if speakers else self.per_class
                ):
                    if method == TSVM and per_class not in (SPEAKER_LABELS, TSVM_LABELS):
                        continue
                    shared = {"per_class": per_class, "n": self.n, "kernel": kernel, "normalized": normalized}
                    n_splits = N_SPEAKERS if speakers else self.n_draws
                    names = [_split_name(task, per_class, self.seed, i) for i in range(n_splits)]
                    cells += [
                        Cell("manifold_regularization", method, task, name, {**shared, "seed": self.seed})
                        for name in names
                    ]
        return cells


N_SPEAKERS = 30
SPEAKER_LABELS = 26
"""Labelled utterances of each class: both of each of thirteen letters."""


def plan_for(tasks: Sequence[str], **options: Any) -> Plan:
    """Return the paper's plan; with fewer images and labels of scikit-learn's digits, so that some are left to test."""
    if not any(task.startswith("digits") for task in tasks):
        return Plan(tasks, **options)
    per_class = tuple(k for k in options.pop("per_class", Plan.per_class) if k <= 32)
    return Plan(tasks, per_class, **{"n": 100, **options})


class _Samples(NamedTuple):
    """Training samples first, then those of the test; y is 0 or 1."""

    X: FloatArray
    y: IntArray
    n_train: int
    speaker: IntArray


class _Kernels(NamedTuple):
    """Among the samples to train on; of those to test with them."""

    K: FloatArray
    K_test: FloatArray


@lru_cache(maxsize=2)
def _digits(source: str, n: int, data: Path | None) -> tuple[FloatArray, IntArray, int]:
    """Return the first n training images of each digit and then all others, after PCA of the first."""
    whole = dataset(source, data)
    X, y = np.asarray(whole.X), whole.y
    if source == "digits":
        X = X / 16.0
    published_part = whole.extras.get("n_train", len(y))
    first = np.concatenate([np.flatnonzero(y[:published_part] == digit)[:n] for digit in range(10)])
    order = np.concatenate([first, np.setdiff1d(np.arange(len(y)), first)])
    X, y = X[order], y[order]
    if X.shape[1] > 100:
        from sklearn.decomposition import PCA

        X = PCA(100, svd_solver="full").fit(X[: len(first)]).transform(X)
    return X, y, len(first)


@lru_cache(maxsize=2)
def samples_of(task: str, n: int, data: Path | None) -> _Samples:
    """Return the samples of a task, those to train on first."""
    source, _, pair = task.partition(" ")
    if source == "isolet":
        isolet = dataset("isolet", data)
        speaker = np.asarray(isolet.extras["speaker"])
        rows = np.concatenate([np.flatnonzero(isolet.extras["group"] == group) for group in (1, 5)])
        return _Samples(
            np.asarray(isolet.X)[rows],
            (isolet.y[rows] < 13).astype(np.intp),
            int((isolet.extras["group"] == 1).sum()),
            speaker[rows],
        )
    X, y, n_train = _digits(source, n, data)
    a, b = (int(digit) for digit in pair.split("-"))
    rows = np.flatnonzero((y == a) | (y == b))
    n_train = int((rows < n_train).sum())
    return _Samples(X[rows], (y[rows] == a).astype(np.intp), n_train, np.zeros(len(rows), dtype=np.intp))


@lru_cache(maxsize=2)
def kernels_of(task: str, n: int, kernel: str, data: Path | None) -> _Kernels:
    """Return the kernel among the training samples, and that of the others with them."""
    samples = samples_of(task, n, data)
    train, test = samples.X[: samples.n_train], samples.X[samples.n_train :]
    if kernel == "rbf":
        width: dict[str, Any] = {"kernel": "rbf", "gamma": 1.0 / (2.0 * 10.0**2)}
        return _Kernels(gram(train, **width), gram(test, train, **width))
    if kernel not in KERNELS:
        raise InvalidInputError(f"kernel={kernel!r} is unknown; take one of {', '.join(KERNELS)}, or 'rbf' for isolet.")
    scale, shift = (1.0 / 256.0, 0.0) if kernel == "scaled" else (1.0, 1.0)
    poly: dict[str, Any] = {"kernel": "poly", "gamma": scale, "degree": 3, "coef0": shift}
    K, K_test = gram(train, **poly), gram(test, train, **poly)
    if kernel == "unit":
        norms, test_norms = (((part**2).sum(axis=1) + 1.0) ** 1.5 for part in (train, test))
        K, K_test = K / np.outer(norms, norms), K_test / np.outer(test_norms, norms)
    return _Kernels(K, K_test)


@lru_cache(maxsize=1)
def span_of(task: str, n: int, kernel: str, data: Path | None) -> KernelMap:
    """Return the map of the kernel that the transductive SVM works on, for all draws."""
    return span(kernels_of(task, n, kernel, data).K)


@lru_cache(maxsize=2)
def _graph(task: str, n: int, data: Path | None) -> SparseArray:
    samples = samples_of(task, n, data)
    return knn_graph(samples.X[: samples.n_train], **GRAPH)


def laplacian_of(task: str, n: int, normalized: bool, data: Path | None) -> MatrixLike:
    """Return the Laplacian of the training samples' graph."""
    return laplacian(_graph(task, n, data), normalized=normalized)


@lru_cache(maxsize=3)  # without a graph, and with either Laplacian
def reduction_of(
    task: str, n: int, kernel: str, normalized: bool | None, gamma_A: float, gamma_I: float, data: Path | None
) -> Reduction:
    """Return the reduction with every sample labelled: that of any draw is its part. None: no graph."""
    K = kernels_of(task, n, kernel, data).K
    L = None if normalized is None else laplacian_of(task, n, normalized, data)
    return reduce(K, L, np.arange(len(K)), gamma_A, gamma_I)


def speaker_name(speaker: int) -> str:
    """Return the name of the split that labels a speaker, counted from 1."""
    return f"speaker-{speaker:02d}"


def _split_name(task: str, per_class: int, seed: int, i: int) -> str:
    return speaker_name(i + 1) if task == "isolet" else f"random{2 * per_class}-seed{seed}-{i:02d}"


@lru_cache(maxsize=16)
def splits_of(task: str, n: int, per_class: int, seed: int, data: Path | None) -> dict[str, Split]:
    """Return the draws of the labelled samples by name; in Isolet the speakers."""
    _, y, n_train, speaker = samples_of(task, n, data)
    train, test = np.arange(n_train), np.arange(n_train, len(y))
    if task == "isolet":
        names = np.unique(speaker[:n_train])
        drawn = [Split(train[speaker[:n_train] == name], train[speaker[:n_train] != name]) for name in names]
    else:
        # Both digits have n samples, or nearly: with stratification each has its share.
        drawn = random_splits(y[:n_train], 2 * per_class, 100, seed, stratify=True)
    return {
        name: replace(split, test=test, name=name)
        for name, split in ((_split_name(task, per_class, seed, i), split) for i, split in enumerate(drawn))
    }
