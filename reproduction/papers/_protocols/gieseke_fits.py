"""The cells of the QN-S3VM paper's experiment: sets, random partitions, features, cross-validation, fits.

`problem` makes everything of one partition from names. `work` tunes a method on it by 5-fold cross-validation on the
labelled part, or times it; `optimistic` is the choice on the test set of the paper's figure 4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from reproduction.engine.evaluation import percent
from reproduction.engine.protocol import LabeledFolds, labeled_folds
from reproduction.engine.records import Cell
from reproduction.engine.splits import Split, random_splits
from reproduction.methods import decide
from reproduction.papers._protocols.s3vm_methods import Setting, fit
from reproduction.tasks import Task, labels_of, rbf, samples
from specmargin.datasets import digits_pair, make_g2c, make_g4c
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import gram, landmark_features
from specmargin.kernels.maps import kernel_map
from specmargin.typing import FloatArray, IntArray

N_PARTITIONS = 10
FOLDS = LabeledFolds(5)
RULES: dict[str, Callable[[Setting, float], tuple[float, ...]]] = {
    "least hinge loss": lambda setting, loss: (loss,),
    "first": lambda setting, loss: (),
    # lam is 1 / C but for a factor.
    "largest lam": lambda setting, loss: (setting.C,),
}
"""Which of the settings of least fold error is taken: the least key counts, then the first of the grid."""


def _pairs(prefix: str, source: str, pairs: list[tuple[int, int]], first: int = 0, **options: Any) -> dict[str, Task]:
    names = {f"{prefix}_{a}_{b}": (a - first, b - first) for a, b in pairs}
    return {name: Task(name, source, classes, **options) for name, classes in names.items()}


SETS: dict[str, Task] = {
    "g2c": Task("g2c", ""),
    "g4c": Task("g4c", ""),
    # Objects are counted from 1 in the papers, from 0 here.
    **_pairs("coil", "coil20", [(3, 6), (5, 9), (6, 19), (18, 19)], first=1),
    # 1000 of a pair in table 2; table 1 says 10,000.
    **_pairs("mnist", "mnist", [(1, 7), (2, 5), (2, 7), (3, 8)], scale=lambda X: X / 255.0, n=1000),
    **_pairs("usps", "usps", [(2, 5), (2, 7), (3, 8), (8, 0)], scale=lambda X: (X + 1.0) / 2.0),
    **{name: Task(name, name) for name in ("real_sim", "gcat", "ccat", "aut_avn", "mac_windows", "two_moons")},
    "digits_3_8": Task("digits_3_8", "digits", read=lambda task, data: digits_pair(3, 8, n=task.n)),
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
        Which sample of a generated set: the seed of its generator.
    uniform : bool, default False
        Draw the labelled samples uniformly, one of each class at least, rather than in proportion to the classes.
    """

    n_labeled: int
    n_test: int
    n_unlabeled: int | None = None
    sigma: float | None = None
    landmarks: int | None = None
    n: int | None = None
    sample: int = 0
    uniform: bool = False


class Problem(NamedTuple):
    """Features of the training samples and of the unseen ones, classes of both, and which training ones are known."""

    X: Any
    X_test: Any
    y: IntArray
    y_test: IntArray
    labeled: IntArray


@cache
def task_named(name: str, n: int | None = None, sample: int = 0) -> Task:
    """Return a set of `SETS`, with another number of samples, or another sample of a generated one."""
    if name not in SETS:
        raise InvalidInputError(f"there is no set {name!r}; take one of {', '.join(SETS)}.")
    task = replace(SETS[name], n=n or SETS[name].n)
    if not task.source:
        make = make_g2c if name == "g2c" else make_g4c
        return replace(task, read=lambda task, data: make(n_samples=task.n or 500, random_state=sample))
    if sample:
        raise InvalidInputError(f"sample={sample}, but {name} is not generated: there is one sample of it.")
    return task


@lru_cache(maxsize=4)
def partitions(name: str, how: Partition, data: Path | None = None) -> dict[str, Split]:
    """Return ten random partitions by name."""
    y = samples(task_named(name, how.n, how.sample), data).y
    splits = random_splits(y, how.n_labeled, N_PARTITIONS, 0, stratify=not how.uniform, n_test=how.n_test)
    if how.n_unlabeled is not None:
        if how.n_unlabeled > len(splits[0].unlabeled):
            raise InvalidInputError(
                f"n_unlabeled={how.n_unlabeled}, but {len(splits[0].unlabeled)} are left of {name}."
            )
        for k, split in enumerate(splits):
            some = np.random.default_rng([k, how.n_unlabeled]).permutation(split.unlabeled)[: how.n_unlabeled]
            splits[k] = replace(split, unlabeled=some)
    return {split.name: split for split in splits}


def box_diameter(X: FloatArray) -> float:
    """Return the diameter of the smallest box around the samples, footnote 7's s."""
    return float(np.linalg.norm(np.ptp(X, axis=0)))


def features(A: Any, how: Partition) -> tuple[Any, Callable[[Any], Any]]:
    """Return the features of training samples, and what returns those of other samples.

    A dense linear task with more features than samples is rotated into the span of those, which changes no classifier
    and shortens every product.
    """
    if how.sigma is None:
        if how.landmarks is not None:
            raise InvalidInputError("landmarks need a kernel; give sigma.")
        if sp.issparse(A) or A.shape[1] <= A.shape[0]:
            return A, lambda P: P
    kernel: dict[str, Any] = {"kernel": "linear"} if how.sigma is None else rbf(how.sigma * box_diameter(A))
    if how.landmarks is not None:
        landmark_map = landmark_features(A, how.landmarks, **kernel)
        return landmark_map(A), landmark_map
    mapped = kernel_map(gram(A, **kernel))
    return mapped.Z, lambda P: mapped(gram(P, A, **kernel))


def divided(X: Any, y: IntArray, split: Split, how: Partition) -> tuple[Problem, Callable[[Any], Any]]:
    """Return the problem of one partition, and what returns the features of further samples."""
    train, test = split.train, split.test
    Z, transform = features(X[train], how)
    labeled = np.flatnonzero(np.isin(train, split.labeled))
    # No kernel takes an empty matrix.
    Z_test = transform(X[test]) if len(test) else Z[:0]
    return Problem(Z, Z_test, y[train], y[test], labeled), transform


@lru_cache(maxsize=2)
def problem(name: str, split: str, how: Partition, data: Path | None = None) -> Problem:
    """Return the problem of one partition of a set; the last ones are kept."""
    X, y, *_ = samples(task_named(name, how.n, how.sample), data)
    return divided(X, y, partitions(name, how, data)[split], how)[0]


def grid(method: str, powers: Sequence[int], primes: Sequence[float], l: int, u: int) -> list[Setting]:
    """Return the settings of a method for l labelled and u unlabelled samples, in the units of `S3VM`."""
    if method == "svm":
        return [Setting(2.0**k, 0.0) for k in powers]
    if method == "cccp_s3vm":
        return [Setting(2.0**k, prime / u) for k, prime in product(powers, primes)]
    return [Setting(0.5 / (2.0**k * l), 0.5 * prime / (2.0**k * u)) for k, prime in product(powers, primes)]


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Tune a method on one partition, or time it.

    Returned are ``error_test`` in percent of the chosen setting, its ``C`` and ``C_star``, and what `fit` measured; of
    a tuned cell ``error_folds`` of it, how many settings ``tied``, and error and C by each of the `RULES`. The rule
    that chooses is the cell's ``ties``, by default the least hinge loss.
    """
    p = cell.parameters
    shared = problem(cell.dataset, cell.split, Partition(**p["how"]), data)
    l, u = len(shared.labeled), len(shared.y) - len(shared.labeled)
    if p["kind"] == "timed":
        setting = Setting(1.0, 1.0) if cell.method == "cccp_s3vm" else grid(cell.method, (0,), (1.0,), l, u)[0]
        return _measured(shared, cell.method, setting)
    if p["kind"] == "optimistic":
        return optimistic(shared, cell.method, p["powers"], p["primes"])
    settings = grid(cell.method, p["powers"], p["primes"], l, u)
    entirely = p.get("left_out") == "entirely"
    scores = [_fold_error(shared, cell.method, setting, entirely) for setting in settings]
    least = min(error for error, _ in scores)
    tied = [k for k, (error, _) in enumerate(scores) if error == least]
    chosen = {rule: min(tied, key=lambda k: (*key(settings[k], scores[k][1]), k)) for rule, key in RULES.items()}
    rows = {k: _measured(shared, cell.method, settings[k]) for k in dict.fromkeys(chosen.values())}
    row = {**rows[chosen[p.get("ties", "least hinge loss")]], "error_folds": 100.0 * least / l, "tied": len(tied)}
    for rule, k in chosen.items():
        row |= {f"error, {rule}": rows[k]["error_test"], f"C, {rule}": settings[k].C}
    return row


def optimistic(shared: Problem, method: str, powers: Sequence[int], primes: Sequence[float]) -> dict[str, Any]:
    """Choose the setting by the error on the unseen samples themselves, as figure 4 does: no estimate of anything.

    Of equal errors the first counts; the row is that of `work` of one fit.
    """
    settings = grid(method, powers, primes, len(shared.labeled), len(shared.y) - len(shared.labeled))
    return min((_measured(shared, method, setting) for setting in settings), key=lambda row: row["error_test"])


def _fold_error(shared: Problem, method: str, setting: Setting, entirely: bool = False) -> tuple[int, float]:
    """Return the number of errors on labelled samples left out, and their hinge loss."""
    errors, loss = 0, 0.0
    for left_out in labeled_folds(shared.y, shared.labeled, FOLDS):
        known = np.setdiff1d(shared.labeled, left_out)
        y = shared.y[left_out]
        if len(np.unique(shared.y[known])) < 2:
            # The only labelled sample of a class was left out: nothing can be learned, and nothing of it is right.
            errors, loss = errors + len(y), loss + 2.0 * len(y)
            continue
        if entirely:
            rest = np.setdiff1d(np.arange(len(shared.y)), left_out)
            labels = labels_of(shared.y[rest], np.searchsorted(rest, known))
            fitted = fit(method, shared.X[rest], labels, setting)
            f = np.asarray(shared.X[left_out] @ fitted.v)[:, 0] + fitted.b[0]
        else:
            f = fit(method, shared.X, labels_of(shared.y, known), setting).f[left_out, 0]
        errors += int((decide(f[:, None]) != y).sum())
        loss += float(np.maximum(0.0, 1.0 - np.where(y == 1, f, -f)).sum())
    return errors, loss


def _measured(shared: Problem, method: str, setting: Setting) -> dict[str, Any]:
    """Fit with all labels and measure on the unseen samples; without any, on the unlabelled ones."""
    fitted = fit(method, shared.X, labels_of(shared.y, shared.labeled), setting)
    if len(shared.y_test):
        error = percent(decide(np.asarray(shared.X_test @ fitted.v) + fitted.b) != shared.y_test)
    else:
        hidden = np.setdiff1d(np.arange(len(shared.y)), shared.labeled)
        error = percent(decide(fitted.f[hidden]) != shared.y[hidden])
    return {"error_test": error, "C": setting.C, "C_star": setting.C_star, **fitted.measured}
