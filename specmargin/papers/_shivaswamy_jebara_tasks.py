"""The tasks of the spectrum paper's experiment: samples, eigenpairs and splits, made from names.

`eigenpairs` is what every method of a task shares: the graph of 5 nearest neighbours (Euclidean over standardised
pixels, cosine over tf-idf), joined when either of two samples is a neighbour of the other, with weights 0 and 1, and
the lowest eigenpairs of its combinatorial Laplacian. Results are kept per process.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from specmargin.datasets import digits_pair, mnist_pair, newsgroups_pair
from specmargin.exceptions import InvalidInputError
from specmargin.experiments.engine.splits import Split, random_splits
from specmargin.experiments.tasks import is_available, missing_data
from specmargin.graphs import knn_graph
from specmargin.spectra import Spectrum, laplacian_eigenpairs
from specmargin.typing import IntArray, SparseArray

__all__ = [
    "GRAPH",
    "KINDS",
    "N_SPLITS",
    "Phase",
    "eigenpairs",
    "neighbor_graph",
    "samples",
    "split_name",
    "splits",
    "tasks_available",
]

Phase: TypeAlias = Literal["tuning", "fresh"]

TEXT = ("baseball-hockey", "pc-mac", "religion-atheism", "windows-xwindows", "mideast-misc")
DIGITS = ("0-9", "1-2", "3-8", "4-7", "5-6")
BUNDLED = ("3-8", "4-7", "5-9", "8-9", "1-8")  # the paper's pairs are too easy at 8 x 8 pixels

GRAPH: dict[str, Any] = {"n_neighbors": 5, "kind": "symmetric", "weight": "binary"}
"""What every task's graph is made with, but for another kind where that is asked for."""

KINDS = ("symmetric", "mutual+mst", "mutual")
"""Graphs that a plan may ask for: ours; the paper's, joined by a minimum spanning tree; the paper's as it is, in
hundreds of components on these data."""

N_SPLITS: dict[Phase, int] = {"tuning": 20, "fresh": 100}
"""The paper's; a plan may use the first few."""

_OFFSET: dict[Phase, int] = {"tuning": 1, "fresh": 2}


def tasks_available(data: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the names of the tasks that can be loaded, and what to say of the others."""
    pairs = {"20news": TEXT, "mnist": DIGITS}
    tasks = [f"{source} {pair}" for source, of in pairs.items() if is_available(source, data) for pair in of]
    lost = [source for source in pairs if not is_available(source, data)]
    if tasks:
        return tasks, missing_data(lost)
    instead = "other pairs, of scikit-learn's digits (8 x 8 pixels)"
    return [f"digits {pair}" for pair in BUNDLED], missing_data(lost, instead, joint=" and ")


@lru_cache(maxsize=16)
def samples(task: str, n: int, data: Path | None = None) -> tuple[Any, IntArray]:
    """Return the samples and the true classes, 0 and 1, of a task.

    Parameters
    ----------
    task : str
        ``"20news pc-mac"``, ``"mnist 3-8"``, ``"digits 3-8"`` and so on.
    n : int
        Samples; of scikit-learn's digits all there are, if fewer.
    data : path, optional
        Folder of the data sets.

    Raises
    ------
    ValueError
        If there is no such task.
    """
    source, _, pair = task.partition(" ")
    if source == "20news":
        return newsgroups_pair(pair, n=n, data_home=data)
    digits = pair.split("-")
    if source not in ("mnist", "digits") or len(digits) != 2 or not all(digit.isdigit() for digit in digits):
        raise InvalidInputError(f"there is no task {task!r}; write '20news pc-mac', 'mnist 3-8' or 'digits 3-8'.")
    a, b = int(digits[0]), int(digits[1])
    if source == "mnist":
        return mnist_pair(a, b, n=n, data_home=data)
    X, y = digits_pair(a, b)
    return X[:n], y[:n]


@lru_cache(maxsize=16)
def neighbor_graph(task: str, n: int, data: Path | None = None, kind: str = GRAPH["kind"]) -> SparseArray:
    """Return the graph of a task; `kind` is one of `KINDS`."""
    metric = "cosine" if task.startswith("20news") else "euclidean"
    return knn_graph(samples(task, n, data)[0], **{**GRAPH, "kind": kind}, metric=metric)


@lru_cache(maxsize=16)
def eigenpairs(task: str, n: int, q: int, data: Path | None = None, kind: str = GRAPH["kind"]) -> Spectrum:
    """Return the q lowest eigenpairs of a task's graph, fewer where there are fewer samples."""
    W = neighbor_graph(task, n, data, kind)
    return laplacian_eigenpairs(W, q=min(q, W.shape[0]), normalized=False)


def split_name(n_labeled: int, phase: Phase, seed: int, i: int) -> str:
    """Return what `splits` calls split i of a phase."""
    return f"random{n_labeled}-seed{2 * seed + _OFFSET[phase]}-{i:02d}"


@lru_cache(maxsize=4)
def splits(task: str, n: int, n_labeled: int, phase: Phase, seed: int, data: Path | None = None) -> dict[str, Split]:
    """Return the splits of a phase by name.

    No phase of any seed shares its generator with another. Split i holds the labelled points of split i for fewer
    labels.
    """
    y = samples(task, n, data)[1]
    drawn = random_splits(y, n_labeled, N_SPLITS[phase], 2 * seed + _OFFSET[phase])
    return {split.name: split for split in drawn}
