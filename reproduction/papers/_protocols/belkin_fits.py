"""What the experiments of the manifold-regularization paper fit: methods, samples, kernels, splits, and a cell.

`reproduction.papers.belkin_2006` has the protocol. Matrices are of the training samples, which come first; the draws of
a pair share one factorisation, `reduction_of`.
"""

from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.engine.records import Cell
from reproduction.engine.splits import Split, random_splits
from reproduction.methods import Method
from reproduction.tasks import Task, dataset, is_available, missing_data, rbf, samples
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import LaplacianOperator, knn_graph, laplacian
from specmargin.kernels import KernelMap, gram, kernel_map
from specmargin.labels import Labels
from specmargin.model_selection import precision_recall_breakeven
from specmargin.objectives import S3VM, LapSVM
from specmargin.objectives.reduction import Reduction, reduce
from specmargin.solvers import label_switching
from specmargin.solvers.manifold.factorized import factorized
from specmargin.typing import FloatArray, IntArray

PARTS = {"unlabeled": "U", "test": "T"}
"""Where errors are measured, and the paper's letter for it."""

GRAPH: dict[str, Any] = {"n_neighbors": 6, "kind": "symmetric", "weight": "binary"}

TSVM = "TSVM"
"""The rival of figures 4 and 6, Joachims' transductive SVM."""

_RLS: dict[str, Any] = {"loss": "squared", "fit_intercept": False}  # the paper's have no intercept
_SVM: dict[str, Any] = {"loss": "hinge", "fit_intercept": True}
METHODS = {
    "RLS": Method(("gamma_A",), _RLS, factorized, published="rls"),
    "LapRLS": Method(("gamma_A", "gamma_I"), _RLS, factorized, published="laprls"),
    "SVM": Method(("gamma_A",), _SVM, factorized, published="svm"),
    "LapSVM": Method(("gamma_A", "gamma_I"), _SVM, factorized, published="lapsvm_dual"),
    TSVM: Method(("C",), published="tsvm"),
}

VARIANTS = {
    "LapRLS with an intercept": Method(("gamma_A", "gamma_I"), {**_RLS, "fit_intercept": True}, factorized),
    "LapSVM without an intercept": Method(("gamma_A", "gamma_I"), {**_SVM, "fit_intercept": False}, factorized),
}
"""LapRLS and LapSVM the other way round, not the paper's: they tell the effect of the intercept from the loss's."""

FITTED = METHODS | VARIANTS

PAIRS = (("RLS", "LapRLS"), ("SVM", "LapSVM"))
"""Supervised and manifold-regularised, by loss."""

CONVEX = ("RLS", "LapRLS", "SVM", "LapSVM")
"""The methods that have a certificate: all but the TSVM, a search."""

TSVM_C = 10.0
"""Weight of a hinge of the TSVM, 1 / (2 gamma l): the paper's C."""

TSVM_LABELS = 2
"""Labels per class with which the TSVM is fitted on pairs of digits, the figure's."""

VARIANT_LABELS = (TSVM_LABELS, 8)
"""Labels per class with which the variants are fitted."""

N_SPEAKERS = 30
SPEAKER_LABELS = 26
"""Labelled utterances of each class of Isolet: both of each of thirteen letters."""


def gammas(method: str, source: str) -> tuple[float, float]:
    """Return gamma_A and gamma_I of a method on a data set.

    They are the paper's gamma l, gamma_A l and gamma_I l / (u + l)^2, the weights of sums over samples.
    """
    if not FITTED[method].graph:
        return 0.05, 0.0
    return 0.005, 0.005 if source == "isolet" else 0.045


def _unit(X: FloatArray, Z: FloatArray) -> FloatArray:
    norms = [((part**2).sum(axis=1) + 1.0) ** 1.5 for part in (X, Z)]
    return gram(X, Z, **KERNELS["plain"][1]) / np.outer(*norms)


KERNELS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("(x'z + 1)^3", {"kernel": "poly", "gamma": 1.0, "degree": 3, "coef0": 1.0}),
    "unit": ("(x'z + 1)^3 over the norms in feature space", {"kernel": _unit}),
    "fitted": ("(x'z / 340)^3", {"kernel": "poly", "gamma": 1.0 / 340.0, "degree": 3, "coef0": 0.0}),
}
"""Of the pairs of digits, as text and as arguments of `gram`; Isolet has its Gaussian, "rbf"."""

MAIN_KERNEL = {"usps": "fitted", "digits": "plain"}
"""With which every number of labels is fitted, by data set: the scale 340 was fitted to figure 5 on USPS."""

TESTED = "rest of the training file"
"""The paper's T, named in the cells: rows of another T are not taken for these."""


def pairs_available(data: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the pairs of digits that can be loaded, and what to say where they are not the paper's."""
    source = "usps" if is_available("usps", data) else "digits"
    instead = "pairs of scikit-learn's digits (8 x 8 pixels, no PCA), for which nothing is published"
    missing = [] if source == "usps" else missing_data(["usps"], instead, word="its")
    return [f"{source} {a}-{b}" for a, b in combinations(range(10), 2)], missing


def tasks_available(data: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the names of all tasks that can be loaded, Isolet included, and what to say of the others."""
    pairs, missing = pairs_available(data)
    if is_available("isolet", data):
        return [*pairs, "isolet"], missing
    return pairs, [*missing, *missing_data(["isolet"], word="its")]


@lru_cache(maxsize=8)
def task_named(name: str, n: int, kernel: str) -> Task:
    """Return the task ``"usps 3-8"``, ``"digits 3-8"`` (n training images of each digit) or ``"isolet"``."""
    if name == "isolet":
        return Task(name, name, kernel=rbf(10.0), graph=GRAPH, read=_read_isolet)
    if kernel not in KERNELS:
        raise InvalidInputError(f"kernel={kernel!r} is unknown; take one of {', '.join(KERNELS)}.")
    source, pair = name.split()
    a, b = map(int, pair.split("-"))
    return Task(name, source, (a, b), n=n, kernel=KERNELS[kernel][1], graph=GRAPH, read=_read_pair)


def read_letters(task: Task, data: Path | None) -> tuple[FloatArray, IntArray, int]:
    """Return isolet1 and then isolet5, all letters, and the number of the former."""
    isolet = dataset("isolet", data)
    train, test = (np.flatnonzero(isolet.extras["group"] == group) for group in (1, 5))
    rows = np.concatenate([train, test])
    return np.asarray(isolet.X)[rows], isolet.y[rows], len(train)


def _read_isolet(task: Task, data: Path | None) -> tuple[FloatArray, IntArray, int]:
    X, letters, n_train = read_letters(task, data)
    return X, (letters < 13).astype(np.intp), n_train


def _read_pair(task: Task, data: Path | None) -> tuple[FloatArray, IntArray, int]:
    assert task.n is not None
    X, y, n_train = _digits(task.source, task.n, data)
    rows = np.flatnonzero(np.isin(y, task.classes))
    return X[rows], (y[rows] == task.classes[0]).astype(np.intp), int((rows < n_train).sum())


@lru_cache(maxsize=2)
def _digits(source: str, n: int, data: Path | None) -> tuple[FloatArray, IntArray, int]:
    """Return the first n training images of each digit and then the other training images, after PCA of the first.

    "The remaining images" of the paper are those of the training file, 3,291 of the 7,291 of USPS: with the 2,007 of
    the test file, which are harder, even the supervised methods err more on T than on U, and the paper's do not.
    """
    whole = dataset(source, data)
    X, y = np.asarray(whole.X), whole.y
    if source == "digits":
        X = X / 16.0
    published_part = whole.extras.get("n_train", len(y))
    first = np.concatenate([np.flatnonzero(y[:published_part] == digit)[:n] for digit in range(10)])
    order = np.concatenate([first, np.setdiff1d(np.arange(published_part), first)])
    X, y = X[order], y[order]
    if X.shape[1] > 100:
        from sklearn.decomposition import PCA

        X = PCA(100, svd_solver="full").fit(X[: len(first)]).transform(X)
    return X, y, len(first)


@lru_cache(maxsize=2)
def kernels_of(task: Task, data: Path | None) -> tuple[FloatArray, FloatArray]:
    """Return the kernel among the training samples, and that of the test samples, if there are some, with them."""
    X, _, _, n_train = samples(task, data)
    K = gram(X[:n_train], **task.kernel)
    return K, np.empty((0, len(K))) if n_train is None else gram(X[n_train:], X[:n_train], **task.kernel)


@lru_cache(maxsize=1)
def features_of(task: Task, data: Path | None) -> KernelMap:
    """Return the features of the kernel that the transductive SVM works on, for all draws."""
    return kernel_map(kernels_of(task, data)[0])


@lru_cache(maxsize=2)
def laplacian_of(task: Task, normalized: bool | None, data: Path | None) -> LaplacianOperator | None:
    """Return the Laplacian of the training samples' graph; None where no graph takes part."""
    if normalized is None:
        return None
    drawn = samples(task, data)
    return laplacian(knn_graph(drawn.X[: drawn.n_train], **task.graph), normalized=normalized, power=task.power)


@lru_cache(maxsize=3)  # without a graph, and with either Laplacian
def reduction_of(task: Task, normalized: bool | None, gamma_A: float, gamma_I: float, data: Path | None) -> Reduction:
    """Return the reduction with every sample labelled: that of any draw is its part."""
    K = kernels_of(task, data)[0]
    return reduce(K, laplacian_of(task, normalized, data), np.arange(len(K)), gamma_A, gamma_I)


def split_names(task: str, per_class: int, seed: int, n_draws: int) -> list[str]:
    """Return the names of the first draws of `splits_of`; on Isolet of all speakers."""
    if task == "isolet":
        return [f"speaker-{i:02d}" for i in range(1, N_SPEAKERS + 1)]
    return [f"random{2 * per_class}-seed{seed}-{i:02d}" for i in range(n_draws)]


@lru_cache(maxsize=16)
def splits_of(task: Task, per_class: int, seed: int, data: Path | None) -> dict[str, Split]:
    """Return the draws of the labelled samples by name; in Isolet one speaker after the other is labelled."""
    if task.source == "isolet":
        extras = dataset("isolet", data).extras
        speaker = np.asarray(extras["speaker"])[extras["group"] == 1]
        drawn = [
            Split(np.flatnonzero(speaker == i), np.flatnonzero(speaker != i), name=f"speaker-{i:02d}")
            for i in np.unique(speaker)
        ]
    else:
        _, y, _, n_train = samples(task, data)
        # Both digits have n samples, or nearly: with stratification each has its share.
        drawn = random_splits(y[:n_train], 2 * per_class, 100, seed, stratify=True)
    return {split.name: split for split in drawn}


def breakeven_error(positive: Any, scores: FloatArray) -> float:
    """Return the error rate in percent at the precision-recall break-even point.

    With P of n samples positive and P called positive, a missed one is paid for by a false one: the rate is
    2 (1 - precision) P / n. Which of two classes counts as positive does not matter.

    Examples
    --------
    >>> breakeven_error([1, 0, 1, 0], np.array([0.9, 0.8, 0.3, 0.1]))
    50.0
    """
    positive = np.asarray(positive) == 1
    return 200.0 * float(positive.mean()) * (1.0 - precision_recall_breakeven(positive, scores, pos_label=True))


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit one method on one draw of the labels.

    Returns
    -------
    dict
        ``error_unlabeled`` and ``error_test`` in percent, ``solver``, and ``relative_gap`` of the certificate; the
        transductive SVM, a search, has none.
    """
    parameters = cell.parameters
    task = task_named(cell.dataset, parameters["n"], parameters["kernel"])
    y, n = samples(task, data).y, len(kernels_of(task, data)[0])
    split = splits_of(task, parameters["per_class"], parameters["seed"], data)[cell.split]
    labels = Labels(np.where(y[split.labeled] == 1, 1.0, -1.0), split.labeled, np.array([0, 1]), n)
    if cell.method == TSVM:
        f, f_test, evidence = transduced(task, labels, TSVM_C, data)
    else:
        weights = gammas(cell.method, task.source)
        f, f_test, evidence = regularised(FITTED[cell.method], task, labels, parameters["normalized"], weights, data)
    return {
        "error_unlabeled": breakeven_error(y[split.unlabeled], f[split.unlabeled]),
        "error_test": breakeven_error(y[n:], f_test),
        **evidence,
    }


def regularised(
    method: Method, task: Task, labels: Labels, normalized: bool | None, weights: tuple[float, float], data: Path | None
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Return the scores of training and test samples, and the evidence, of a method with a certificate.

    `weights` are gamma_A and gamma_I, next to a sum over the labelled samples.
    """
    labeled, (K, K_test), (gamma_A, gamma_I) = labels.labeled, kernels_of(task, data), weights
    shared = reduction_of(task, normalized, gamma_A, gamma_I, data)
    # On the deformed kernel it is a supervised method of l unknowns.
    alone = Labels(labels.sign, np.arange(len(labeled)), labels.classes, len(labeled))
    result = method.solve(LapSVM(shared.G[np.ix_(labeled, labeled)], None, alone, **method.options))
    v = np.zeros(len(K))
    v[labeled] = result.variables["alpha"]
    alpha, b = shared.coefficients(v), float(result.variables["b"])
    f, L = K @ alpha, laplacian_of(task, normalized, data)
    objective = LapSVM(K, L, labels, gamma_A=gamma_A, gamma_I=gamma_I, **method.options)
    certificate = objective.prove(alpha, b, 2.0 * v[labeled], Ka=f)
    return f + b, K_test @ alpha + b, {"relative_gap": certificate.relative_gap, "solver": result.solver}


def transduced(
    task: Task, labels: Labels, C: float, data: Path | None
) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Return the scores of training and test samples, and the solver, of Joachims' transductive SVM."""
    features, (_, K_test) = features_of(task, data), kernels_of(task, data)
    result = label_switching(S3VM(features.Z, labels, "hinge", None, C=C, intercept="free"), rate=2.0)
    f_test = features(K_test) @ result.variables["v"] + float(result.variables["b"])
    return np.asarray(result.variables["f"]), f_test, {"solver": result.solver}
