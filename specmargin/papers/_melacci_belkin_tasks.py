"""The data of the primal-LapSVM paper: tasks, the splits of its section 6.2, and what a split trains on.

Training samples are the labelled and the unlabelled ones, L and U (table 2); kernel and graph see no others. The
validation samples V and the test samples T are predicted from outside, V also while conjugate gradients run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from specmargin.datasets import Dataset
from specmargin.exceptions import InvalidInputError
from specmargin.experiments.engine.splits import Split
from specmargin.experiments.methods import decide
from specmargin.experiments.tasks import Samples, Task, available_tasks, kernel_matrix, rbf, samples, splits
from specmargin.graphs import Laplacian, knn_graph, laplacian
from specmargin.labels import Labels, encode_labels
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, IntArray, SparseArray

N_FOLDS = 4
_MOST_DRAWS = 2000


@dataclass(frozen=True)
class FourFolds:
    """The splits of section 6.2: four stratified folds, dealt three times, each fold once the test set.

    L and V are drawn from the other three folds, each with at least one sample of every class and no further balance; U
    is the rest. Where the test set is fixed there are no folds, and a split per round. Splits are named
    ``round<r>-fold<k>``; more rounds leave the first ones as they are.

    Parameters
    ----------
    n_labeled, n_validation : int
        Samples of L and of V.
    n_train : int, optional
        Samples before a fixed test set, by default those of the task.
    n_rounds : int, default 3
        How often the folds are dealt.

    Raises
    ------
    ValueError
        Of a call, if a class or the whole is too small.

    Examples
    --------
    >>> dealt = FourFolds(6, 4)(Samples(None, np.array([0, 1] * 40), np.arange(80)))
    >>> len(dealt), dealt[0].name, [len(getattr(dealt[0], part)) for part in ("labeled", "unlabeled", "test")]
    (12, 'round0-fold0', [6, 50, 20])
    """

    n_labeled: int
    n_validation: int
    n_train: int | None = None
    n_rounds: int = 3

    def __call__(self, drawn: Samples, whole: Dataset | None = None) -> list[Split]:
        """Return the splits."""
        from sklearn.model_selection import StratifiedKFold

        y, n_train = drawn.y, drawn.n_train if self.n_train is None else self.n_train
        tests: dict[str, IntArray] = {}
        for r in range(self.n_rounds):
            if n_train is None:
                folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=r).split(y, y)
                tests |= {f"round{r}-fold{k}": test for k, (_, test) in enumerate(folds)}
            else:
                tests[f"round{r}-fold0"] = np.arange(n_train, len(y))
        dealt = []
        for i, (name, test) in enumerate(tests.items()):
            rng = np.random.default_rng([0, i])
            rest = np.setdiff1d(np.arange(len(y)), test)
            labeled = _draw(y, rest, self.n_labeled, rng)
            rest = np.setdiff1d(rest, labeled)
            validation = _draw(y, rest, self.n_validation, rng)
            dealt.append(Split(labeled, np.setdiff1d(rest, validation), validation, test, name))
        return dealt


def _draw(y: IntArray, pool: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw uniformly until every class is there.

    Not `hide_labels`, which takes one sample of each class first: classes are then more alike in size, and the errors
    with ten classes two points lower than the published ones. COIL20 asks for the contrary: with two labels of each of
    its twenty classes SVM and RLS would err as published, which uniform draws miss by three to five points; the
    Laplacian methods would still be two to three points above, for reasons that we do not know.
    """
    n_classes = len(np.unique(y))
    for _ in range(_MOST_DRAWS):
        drawn = rng.choice(pool, min(size, len(pool)), replace=False)
        if len(np.unique(y[drawn])) == n_classes and len(drawn) == size:
            return drawn
    raise InvalidInputError(
        f"{_MOST_DRAWS} draws of {size} from {len(pool)} samples did not meet all of {n_classes} classes; draw more."
    )


def unit_rows(X: FloatArray) -> FloatArray:
    """Return the rows divided by their lengths."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _graph(n_neighbors: int) -> dict[str, Any]:
    return {"n_neighbors": n_neighbors, "metric": "euclidean", "weight": "heat"}


_50: dict[str, Any] = {"draw": FourFolds(50, 50)}
_COIL: dict[str, Any] = {"kernel": rbf(0.6), "graph": _graph(2), "scale": unit_rows, "draw": FourFolds(40, 40)}
_USPST: dict[str, Any] = {"kernel": rbf(9.4), "graph": _graph(10), "power": 2, **_50}
_POLY = {"kernel": "poly", "gamma": 0.5, "degree": 9, "coef0": 0.5}
_MNIST: dict[str, Any] = {"kernel": _POLY, "graph": _graph(20), "power": 3, "scale": unit_rows}
_DIGITS: dict[str, Any] = {"n": 600, "first": True, **_USPST, "kernel": rbf(20.0)}
TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("g50c", "g50c", kernel=rbf(17.5), graph=_graph(50), power=5, **_50),
        Task("coil20b", "coil20", "halves", **_COIL),
        Task("mac_windows", "mac_windows", kernel=rbf(2.7), graph=_graph(50), power=5, **_50),
        Task("uspstb", "uspst", "halves", **_USPST),
        Task("coil20", "coil20", **_COIL),
        Task("uspst", "uspst", **_USPST),
        Task("mnist3vs8", "mnist", (3, 8), **_MNIST, draw=FourFolds(80, 80), fixed_test=True),
        Task("digitsb", "digits", "halves", **_DIGITS),
        Task("digits", "digits", **_DIGITS),
    )
}
"""The tasks of table 1 by their names there (mac_windows is PCMAC), with the published parameters of table 8."""

SMALL = ("g50c", "coil20b", "mac_windows", "uspstb", "coil20", "uspst")
LARGE = ("mnist3vs8",)
BUNDLED = ("digitsb", "digits")
"""In their place where no data are there."""


def tasks_available(names: Sequence[str], data: Path | None = None) -> tuple[list[Task], list[str]]:
    """Return the tasks that can be loaded, and the note on those that cannot."""
    instead = "600 of scikit-learn's digits, 0-4 against 5-9 and as ten classes, for which nothing is published"
    return available_tasks([TASKS[name] for name in names], [TASKS[name] for name in BUNDLED], instead, data)


Training: TypeAlias = tuple[FloatArray, Laplacian, Labels]
"""Kernel, Laplacian and labels of the samples that a classifier is trained on."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What the methods share on one split; "outside" are the samples of V, then those of T.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel of the training samples.
    K_outside : ndarray of shape (v + t, n)
        Its rows at the samples outside.
    K_validation : ndarray of shape (v, v)
        Kernel of the validation samples.
    W : sparse matrix of shape (n, n)
        Graph of the training samples.
    L : Laplacian of shape (n, n)
        Its Laplacian, to its power.
    labels : Labels
        Of the training samples.
    y : mapping of str to ndarray
        True classes by "labeled", "unlabeled", "validation" and "test".
    """

    K: FloatArray
    K_outside: FloatArray
    K_validation: FloatArray
    W: SparseArray
    L: Laplacian
    labels: Labels
    y: Mapping[str, IntArray]

    def errors(self, results: Sequence[SolveResult]) -> dict[str, float]:
        """Return the errors in percent on L, U, V and T of classifiers, one per class, or one in all for two."""
        n, v = len(self.K), len(self.y["validation"])
        alpha, F = (np.column_stack([result.variables[name][:n] for result in results]) for name in ("alpha", "f"))
        outside = self.K_outside @ alpha + np.array([float(result.variables["b"]) for result in results])
        inside = {"labeled": F[self.labels.labeled], "unlabeled": F[self.labels.unlabeled]}
        parts = inside | {"validation": outside[:v], "test": outside[v:]}
        return {f"error_{name}": 100.0 * float(np.mean(decide(part) != self.y[name])) for name, part in parts.items()}

    @property
    def training(self) -> Training:
        """Of the training samples."""
        return self.K, self.L, self.labels

    @cached_property
    def with_validation(self) -> Training:
        """Of the training samples and, behind them, the validation samples.

        The latter have no edges, so that neither loss nor graph ever gives them a coefficient: every iterate is the one
        without them, and its decisions at V are known.
        """
        v = len(self.y["validation"])
        cross = self.K_outside[:v]
        W = sp.csr_array(sp.block_diag([self.W, sp.csr_array((v, v))], format="csr"))
        return (
            np.block([[self.K, cross.T], [cross, self.K_validation]]),
            laplacian(W, normalized=self.L.normalized, power=self.L.power),
            Labels(self.labels.sign, self.labels.labeled, self.labels.classes, len(self.K) + v),
        )


@lru_cache(maxsize=1)
def problem(task: Task, split: str, data: Path | None = None, normalized: bool = True) -> Problem:
    """Return what is shared on one split of a task; the last one is kept.

    Raises
    ------
    ValueError
        If there is no such split.
    """
    drawn = splits(task, data)
    if split not in drawn:
        raise InvalidInputError(f"there is no split {split!r} of {task.name}; take one of {', '.join(drawn)}.")
    parts = drawn[split]
    X, y, *_ = samples(task, data)
    K, train, outside = kernel_matrix(task, data), parts.train, np.concatenate([parts.validation, parts.test])
    W = knn_graph(X[train], **task.graph)
    return Problem(
        K=K[np.ix_(train, train)],
        K_outside=K[np.ix_(outside, train)],
        K_validation=K[np.ix_(parts.validation, parts.validation)],
        W=W,
        L=laplacian(W, normalized=normalized, power=task.power),
        labels=encode_labels(np.where(np.isin(train, parts.labeled), y[train], -1)),
        y={part: y[getattr(parts, part)] for part in ("labeled", "unlabeled", "validation", "test")},
    )
