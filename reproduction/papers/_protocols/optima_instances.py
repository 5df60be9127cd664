"""Small S3VM problems for the study of global optima: which there are, how each is made again, what is run on it."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from reproduction.methods import Method
from reproduction.tasks import dataset
from specmargin import solvers
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import gram, kernel_map
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.boxes.pivoting import nonnegative_qp
from specmargin.optima.label_flips import one_flip
from specmargin.optima.local_search import LocalSearch
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.typing import AnyArray, FloatArray, IntArray

_FOLDS = 5
_GRID = 0.1 * 10.0 ** (np.arange(13) / 4.0)
"""Values of C, from 0.1 to 100: the features have a mean square of about one."""


class Source(NamedTuple):
    """A data set, and the two classes of it that are told apart, by default its only ones."""

    name: str
    classes: tuple[int, ...] = ()


SETS: Mapping[str, Source] = {
    "art100": Source("s3vm_art100"),
    "art150": Source("s3vm_art150"),
    "2moons": Source("s3vm_2moons"),
    "heart": Source("s3vm_heart"),
    "connectionist": Source("s3vm_connectionist"),
    "ionosphere": Source("s3vm_ionosphere"),
    "USPST 2-7": Source("uspst", (2, 7)),
    "USPST 3-8": Source("uspst", (3, 8)),
    "USPST 4-9": Source("uspst", (4, 9)),
    "mac-windows": Source("mac_windows"),
    "g50c": Source("g50c"),
    "g10n": Source("g10n"),
    "two moons": Source("two_moons"),
    "digits 3-8": Source("digits", (3, 8)),
    "digits 1-7": Source("digits", (1, 7)),
}
SHARES = (0.1, 0.2, 0.3)
KERNELS = ("linear", "rbf")
WEIGHTS = ("equal", "ratio")
"""C* = C, as in the survey; C* = C l / u, as in SDP-S3VM: all unlabelled samples weigh as much as all labelled ones."""

SEARCHES: Mapping[str, Method] = {
    "retraining": Method(solver=partial(one_flip, max_iter=0)),
    "one_flip": Method(solver=one_flip),
    "label_switching": Method(solver=solvers.label_switching),
    "multi_switch": Method(solver=solvers.multi_switch),
    "annealing": Method(solver=solvers.annealing),
    "cccp": Method(options={"loss": "hinge", "unlabeled_loss": "symmetric_hinge"}, solver=solvers.cccp),
    "gradient": Method(options={"unlabeled_loss": "exp"}, solver=solvers.gradient),
    "quasi_newton": Method(options={"loss": "smooth_hinge", "unlabeled_loss": "exp"}, solver=solvers.quasi_newton),
    "continuation": Method(options={"loss": "hinge", "unlabeled_loss": "exp"}, solver=solvers.continuation),
}
"""Every local search of the package, with the losses that it runs on where those are not J's. "retraining" trains with
the labels that were predicted last, until they stay."""
RESTARTED: Mapping[str, Method] = {
    **{name: SEARCHES[name] for name in ("retraining", "one_flip", "cccp")},
    **{
        name: replace(SEARCHES[name], solver=partial(getattr(solvers, name), schedule=(1.0,)))
        for name in ("gradient", "quasi_newton")
    },
}
"""Those that also run from random starts, the last two without annealing. All others forget where they started."""


@dataclass(frozen=True, eq=False)
class Problem:
    """An S3VM problem whose hidden labels are known to the judge.

    Parameters
    ----------
    Z : ndarray of shape (n, r)
        Features: a map of the kernel matrix.
    y : ndarray of shape (n,)
        True labels, 0 and 1.
    labeled : ndarray of int
        Samples whose labels the searches see.
    rows : ndarray of int of shape (n,)
        The samples' rows in the data set.
    C, C_star : float
        Weights of the labelled and of the unlabelled losses.
    seed : tuple of int
        Draws the random starts.
    """

    Z: FloatArray
    y: AnyArray
    labeled: IntArray
    C: float
    C_star: float
    rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    seed: tuple[int, ...] = (0,)

    @property
    def objective(self) -> S3VM:
        """J: squared hinges, the decisions of the unlabelled samples balanced like the known labels."""
        known = np.where(np.isin(np.arange(len(self.y)), self.labeled), self.y, -1)
        return S3VM(self.Z, encode_labels(known), "squared_hinge", C=self.C, C_star=self.C_star)

    def error(self, labels: FloatArray) -> float:
        """Return the percentage of unlabelled samples whose labels, -1 and +1, are wrong."""
        truth = np.delete(2.0 * self.y - 1.0, self.labeled)
        return 100.0 * float(np.mean(labels != truth))


def drawn(name: str, n: int, share: float, kernel: str, weight: str, draw: int, data: Path | None = None) -> Problem:
    """Return a problem: `n` random samples of a set, the first ones of each class labelled, at least two.

    The samples of a draw are the same for all shares, kernels and weights, and the labels of a small share are among
    those of a large one. Dense features are standardised on these samples and divided by the root of their number, rows
    of text have length one; the kernels are x'z and exp(-|x - z|^2).

    Raises
    ------
    ValueError
        If the set has fewer than n samples of the two classes.
    """
    whole, source = dataset(SETS[name].name, data), SETS[name]
    classes = source.classes or tuple(np.unique(whole.y).tolist())
    kept = np.flatnonzero(np.isin(whole.y, classes))
    if n > len(kept):
        raise InvalidInputError(f"n={n}, but {name} has {len(kept)} samples; take fewer.")
    seed = (draw, zlib.crc32(name.encode()))
    rows = np.random.default_rng(seed).permutation(len(kept))[:n]
    y = (whole.y[kept[rows]] == classes[1]).astype(np.intp)
    of_class = [np.flatnonzero(y == label) for label in (0, 1)]
    labeled = np.sort(np.concatenate([each[: max(2, round(share * len(each)))] for each in of_class]))
    X = _scaled(whole.X[kept[rows]])
    K = gram(X, kernel="linear") if kernel == "linear" else gram(X, kernel="rbf", gamma=1.0)
    C = cross_validated(K[np.ix_(labeled, labeled)], 2.0 * y[labeled] - 1.0)
    C_star = C if weight == "equal" else C * len(labeled) / (n - len(labeled))
    return Problem(kernel_map(K, tol=1e-9).Z, y, labeled, C, C_star, kept[rows], seed)


def _scaled(X: Any) -> FloatArray:
    if sp.issparse(X):
        return np.asarray(X.toarray(), dtype=float)
    X = np.asarray(X, dtype=float)
    deviation = X.std(axis=0)
    varies = deviation > 1e-9 * max(float(deviation.max()), 1e-300)
    return np.asarray((X[:, varies] - X[:, varies].mean(axis=0)) / deviation[varies] / np.sqrt(varies.sum()))


def cross_validated(K: FloatArray, y: FloatArray) -> float:
    """Return the C of the supervised SVM with squared hinge that five folds choose; the middle one of the best.

    Parameters
    ----------
    K : ndarray of shape (l, l)
        Kernel matrix of the labelled samples. There is no intercept.
    y : ndarray of shape (l,)
        Labels, -1 and +1. Each class is dealt out to the folds in turns.

    Examples
    --------
    >>> y = np.array([1.0, -1.0, 1.0, -1.0])
    >>> round(cross_validated(np.outer(y, y), y), 3)
    3.162
    """
    fold = np.zeros(len(y), dtype=int)
    for sign in (-1.0, 1.0):
        fold[y == sign] = np.arange(int((y == sign).sum())) % _FOLDS
    right = np.zeros(len(_GRID))
    for k in np.unique(fold):
        rows, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        for i, C in enumerate(_GRID):
            H = (K[np.ix_(rows, rows)] + np.eye(len(rows)) / (2.0 * C)) * np.multiply.outer(y[rows], y[rows])
            a, _ = nonnegative_qp(H, np.ones(len(rows)))
            right[i] += np.count_nonzero(y[held] * (K[np.ix_(held, rows)] @ (y[rows] * a)) > 0)
    best = np.flatnonzero(right == right.max())
    return float(_GRID[best[len(best) // 2]])


def starts(problem: Problem, search: LocalSearch, count: int) -> list[FloatArray | None]:
    """Return where the searches start: their own start, then SVMs of random balanced labels, `count` in all."""
    u = len(problem.y) - len(problem.labeled)
    positive = round(float(np.mean(problem.y[problem.labeled])) * u)
    rng = np.random.default_rng((*problem.seed, 1))
    guesses = [rng.permutation(np.where(np.arange(u) < positive, 1.0, -1.0)) for _ in range(count - 1)]
    zero = np.zeros(search.Z.shape[1])
    return [None, *(search.expand(search.retrain(guess, zero)[1]) for guess in guesses)]


def local_search(problem: Problem) -> LocalSearch:
    """Return the descents of one problem's objective, which judge all answers."""
    return LocalSearch(S3VMRelaxation(problem.objective))
