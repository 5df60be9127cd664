"""Small studies for claims of the papers on S3VMs (continuation, QN-S3VM) that no table judges.

`STUDIES` as in `_claims_manifold`; `_study_claims` holds the claims on the rows. Pairs, splits,
kernel widths and weights are those of `chapelle_2006`, partitions those of `gieseke_2014`.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from reproduction.engine.evaluation import percent
from reproduction.engine.records import Cell
from reproduction.methods import decide
from reproduction.papers._claims.manifold import Study, hidden_error
from reproduction.papers._protocols import chapelle_blocks as chapelle
from reproduction.papers._protocols import gieseke_fits as gieseke
from reproduction.papers._protocols import melacci_belkin_fits as lapsvm
from reproduction.papers._protocols.s3vm_methods import Setting, fit
from reproduction.tasks import kernel_matrix, labels_of, rbf, samples, splits, task_laplacian
from specmargin.datasets import make_g2c
from specmargin.kernels import gram, kernel_map, landmark_features
from specmargin.labels import Labels, encode_labels, hide_labels
from specmargin.objectives import S3VM, LapSVM
from specmargin.objectives.features import Intercept
from specmargin.solvers import continuation, gradient, quasi_newton
from specmargin.solvers.manifold.factorized import factorized
from specmargin.solvers.s3vm.continuation import smoothing_path
from specmargin.typing import FloatArray, IntArray

FOUR = ("svm", "cs3vm", "grad_hinge", "svmlight_s3vm")
SIZES = (400, 800, 1600, 3200)
CLUSTERS = (1, 2, 4, 8)
COMPONENTS = 5
"""Leading components of the kernel that are looked at."""
PAIRS = tuple(f"uspst {pair}" for pair in ("0-1", "1-7", "2-7", "3-8", "4-9", "5-8"))
OBJECTS = tuple(f"coil20 {pair}" for pair in ("0-1", "2-5", "3-18", "5-8", "7-12", "9-16"))
DIGITS = ("usps_2_7", "usps_3_8")


def cell_error(method: str, name: str, draw: int, data: Path | None, **options: Any) -> float:
    """Return the error of a cell of the continuation paper's table, whose width and weights are the default."""
    sigma = {"uspst": 8.0, "coil20": 1000.0}.get(name.split()[0])
    setting = {"sigma": sigma, "rank": None, "landmarks": None, "graph": 0.0, "C": 100.0, "C_star": 100.0}
    parameters = {**setting, "exact": False, "sharpness": 3.0, **options}
    split = list(splits(chapelle.task_named(name), data))[draw]
    return float(chapelle.work(Cell("claims", method, name, split, parameters), data=data)["error_unlabeled"])


def usps_problem(name: str, draw: int, data: Path | None) -> tuple[FloatArray, IntArray, Labels]:
    """Return the features of a pair of USPS digits, the classes, and the labels of a published split."""
    task = chapelle.task_named(name)
    y, split = samples(task, data).y, list(splits(task, data).values())[draw]
    return np.asarray(chapelle.features(name, 8.0, None, None, 0.0, data)), y, labels_of(y, split.labeled)


def without_balance(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 2.2: the share of the larger class among the decisions, without annealing, with and without a balance."""
    X, y, labels = usps_problem(name, draw, data)
    row: dict[str, float] = {}
    choices: tuple[tuple[str, Intercept], ...] = (("free", "free"), ("balanced", "balance"))
    for column, intercept in choices:
        obj = S3VM(X, labels, "squared_hinge", "exp", C=100.0, C_star=100.0, intercept=intercept)
        f = np.asarray(gradient(obj, schedule=np.ones(1), tol=1e-4).variables["f"])
        positive = float((f[labels.unlabeled] > 0).mean())
        row |= {f"error_{column}": hidden_error(f, y, labels), f"larger_{column}": max(positive, 1.0 - positive)}
    return row


def shares(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Sections 2.2 and 4.3: a hard share of positive labels, and the mean decision, from the labels and exactly."""
    task = chapelle.task_named(name)
    y, split = samples(task, data).y, list(splits(task, data).values())[draw]
    row = {"off": 100.0 * abs(float(y[split.labeled].mean()) - float(y[split.unlabeled].mean()))}
    for column, method in (("hard", "svmlight_s3vm"), ("mean", "cs3vm")):
        X = chapelle.features(name, {"uspst": 8.0, "coil20": 1000.0}[name.split()[0]], None, None, 0.0, data)
        labels, hidden = labels_of(y, split.labeled), split.unlabeled
        for how, balance in (("", None), ("_exact", (2.0 * float(y[hidden].mean()) - 1.0,))):
            f = fit(method, X, labels, Setting(100.0, 100.0, balance)).f
            row[f"error_{column}{how}"] = percent(decide(f[hidden]) != y[hidden])
    return row


def no_clusters(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 4.1: a set without clusters."""
    return {f"error_{m}": cell_error(m, name, draw, data, sigma=None, C=1.0, C_star=1.0) for m in FOUR}


def graph_on_text(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.1: LapSVM on the graph of the cited paper, and the linear S3VMs, on text."""
    row = {f"error_{m}": cell_error(m, name, draw, data) for m in FOUR}
    task, setting = lapsvm.TASKS[name], lapsvm.published_setting(name, "lapsvm_dual")
    assert setting is not None
    y, split = samples(task, data).y, list(splits(chapelle.task_named(name), data).values())[draw]
    labels = labels_of(y, split.labeled)
    # Without an intercept, as in the tables of LapSVM.
    obj = LapSVM(kernel_matrix(task, data), task_laplacian(task, data), labels, "hinge", *setting, fit_intercept=False)
    return {**row, "error_graph": hidden_error(factorized(obj).variables["f"], y, labels)}


def time_of_continuation(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.2: processor seconds of features and continuation over the number of samples."""
    row: dict[str, float] = {}
    for n in SIZES:
        X, y = make_g2c(n_samples=n, n_features=50, random_state=draw)
        labels = encode_labels(hide_labels(y, per_class=10, random_state=draw))
        start = time.process_time()
        Z = kernel_map(gram(X, **rbf(5.0))).Z
        f = continuation(S3VM(Z, labels, "hinge", "exp", C=100.0)).variables["f"]
        row[f"seconds_{n}"] = time.process_time() - start
        row[f"error_{n}"] = hidden_error(f, y, labels)
    return row


def clusters_per_class(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.3: continuation and the SVM on classes of one and of several clusters."""
    row: dict[str, float] = {}
    for k in CLUSTERS:
        rng = np.random.default_rng([draw, k])
        centres = 3.0 * rng.normal(size=(2 * k, 10))
        which = rng.permutation(np.arange(400) % (2 * k))
        X, y = centres[which] + rng.normal(size=(400, 10)), (which % 2).astype(np.intp)
        labels = encode_labels(hide_labels(y, per_class=10, random_state=draw))
        Z = kernel_map(gram(X, **rbf(4.0))).Z
        for m in ("svm", "cs3vm"):
            row[f"error_{m}_{k}"] = hidden_error(fit(m, Z, labels, Setting(100.0, 100.0)).f[:, 0], y, labels)
    return row


def components(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 3.3: the split along each of the first principal components, at its mean, next to the SVM."""
    X, y, labels = usps_problem(name, draw, data)
    hidden = labels.unlabeled
    A = X[hidden] - X[hidden].mean(axis=0)
    along = A @ np.linalg.svd(A, full_matrices=False)[2][:COMPONENTS].T
    wrong = 100.0 * ((along > 0) != (y[hidden] == 1)[:, None]).mean(axis=0)
    wrong = np.minimum(wrong, 100.0 - wrong)
    svm = hidden_error(fit("svm", X, labels, Setting(100.0, 100.0)).f[:, 0], y, labels)
    return {"error_first": float(wrong[0]), "error_best": float(wrong.min()), "error_svm": svm}


def minima(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 3, figure 2: local minima of the objective of one weight, smoothed and not, counted on a grid."""
    rng = np.random.default_rng(draw)
    x = np.concatenate([[-1.0, 1.0], rng.normal(size=8)])
    labels = encode_labels(np.array([0, 1, *[-1] * 8]))
    obj, w = S3VM(x[:, None], labels, "hinge", "exp", C=3.0, balance=0.0), np.linspace(-6.0, 6.0, 1201)[:, None]
    path = smoothing_path(obj)
    row: dict[str, float] = {"error_end": 0.0}
    for column, gamma in (("start", path[0]), ("end", path[-1])):
        smooth = obj.smoothed(float(gamma))
        J = np.array([smooth.value_at(each) for each in w])
        row[f"minima_{column}"] = float(((J[1:-1] < J[:-2]) & (J[1:-1] <= J[2:])).sum())
    J = np.array([obj.value_at(each) for each in w])
    end = float(obj.value_at(np.asarray(continuation(obj).variables["w"])))
    row["error_end"] = 100.0 * max(0.0, end / float(J.min()) - 1.0)  # above the least of the grid, in percent
    return row


def _qn(name: str, draw: int, data: Path | None, **how: Any) -> tuple[gieseke.Problem, Labels]:
    partition = gieseke.Partition(20, 200, 300, **how)
    split = list(gieseke.partitions(name, partition, data))[draw]
    shared = gieseke.problem(name, split, partition, data)
    return shared, labels_of(shared.y, shared.labeled)


def _qn_objective(shared: gieseke.Problem, labels: Labels) -> S3VM:
    l, u = len(shared.labeled), len(shared.y) - len(shared.labeled)
    return S3VM(shared.X, labels, "smooth_hinge", "exp", C=0.5 / (0.01 * l), C_star=0.5 / (0.01 * u))


def _unseen(shared: gieseke.Problem, result: Any) -> float:
    f = np.asarray(shared.X_test @ result.variables["v"]) + float(result.variables["b"])
    return percent(decide(f[:, None]) != shared.y_test)


def choices_of_qn(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Sections 3.3.3 and 4.1.4: pairs of L-BFGS and the sequence of weights, with a Gaussian kernel."""
    shared, labels = _qn(name, draw, data, sigma=1.0)
    obj, row = _qn_objective(shared, labels), dict[str, float]()
    schedules = {"six": None, "one": np.array([0.0, 1.0]), "long": np.append(0.0, np.geomspace(1e-6, 1.0, 50))}
    runs: dict[str, dict[str, Any]] = {f"m_{m}": {"m": m} for m in (3, 10, 50)}
    runs |= {f"schedule_{k}": {} if v is None else {"schedule": v} for k, v in schedules.items()}
    for column, options in runs.items():
        result = quasi_newton(obj, **options)
        row |= {f"error_{column}": _unseen(shared, result), f"objective_{column}": float(obj.value(result.variables))}
        row[f"iterations_{column}"] = float(result.n_iter)
    return row


def few_features(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 3.3.2: as many kernel principal components as random kernel functions."""
    task = gieseke.task_named(name)
    X, y = np.asarray(samples(task, data).X), samples(task, data).y
    labels = encode_labels(hide_labels(y, n_labeled=20, random_state=draw))
    kernel, row = rbf(gieseke.box_diameter(X)), dict[str, float]()
    for r in (10, 30, 100):
        for column, make in (
            ("pca", lambda r=r: kernel_map(gram(X, **kernel), rank=r).Z),
            ("landmarks", lambda r=r: landmark_features(X, r, random_state=draw, **kernel)(X)),
        ):
            start = time.process_time()
            Z = make()
            f = fit("qn_s3vm", Z, labels, Setting(1.0, 1.0)).f[:, 0]
            row |= {
                f"error_{column}_{r}": hidden_error(f, y, labels),
                f"seconds_{column}_{r}": time.process_time() - start,
            }
    return row


def _gradient_error(rng: np.random.Generator) -> float:
    """Return how far a gradient is from a difference quotient, in percent."""
    obj = S3VM(rng.normal(size=(60, 5)), encode_labels(np.r_[0, 1, np.full(58, -1)]), "smooth_hinge", "exp", C=1.0)
    w, d = rng.normal(size=(2, obj.size))
    quotient = (obj.value_at(w + 1e-5 * d) - obj.value_at(w - 1e-5 * d)) / 2e-5
    return 100.0 * abs(float(obj.value_and_gradient(w)[1] @ d) / quotient - 1.0)


def calls(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Theorems 1 to 4: processor seconds of a value and gradient, over n (dense kernel), n, d, r and non-zeros."""
    rng = np.random.default_rng(draw)
    row: dict[str, float] = {"error_gradient": _gradient_error(rng)}

    def seconds(X: Any) -> float:
        n = X.shape[0]
        labels = encode_labels(np.r_[0, 1, np.full(n - 2, -1)])
        obj = S3VM(X, labels, "smooth_hinge", "exp", C=1.0)
        w, each = np.zeros(obj.size), []
        for _ in range(12):
            start = time.process_time()
            obj.value_and_gradient(w)
            each.append(time.process_time() - start)
        return min(each)  # what else runs makes a call slower, never faster

    # All larger than a cache, whose end is no power of anything.
    for k in (1, 2, 4):
        row[f"seconds_kernel_{k}"] = seconds(rng.normal(size=(2400 * k, 2400 * k)))
        row[f"seconds_d_{k}"] = seconds(rng.normal(size=(4000, 2000 * k)))
        row[f"seconds_r_{k}"] = seconds(rng.normal(size=(4000 * k, 2000)))
        row[f"seconds_s_{k}"] = seconds(sp.random_array((20000, 5000), density=0.04 * k, rng=rng, format="csr"))
    return row


STUDIES: dict[str, Study] = {
    "no balance": (without_balance, PAIRS, 5),
    "shares of positive labels": (shares, (*PAIRS, *OBJECTS), 5),
    "no clusters": (no_clusters, ("g10n",), 10),
    "a graph on text": (graph_on_text, ("mac_windows",), 5),
    "time of continuation": (time_of_continuation, ("generated clusters",), 5),
    "clusters per class": (clusters_per_class, ("generated clusters",), 10),
    "components of the kernel": (components, PAIRS, 5),
    "minima of one weight": (minima, ("generated line",), 20),
    "choices of QN-S3VM": (choices_of_qn, DIGITS, 5),
    "few features": (few_features, DIGITS, 5),
    "costs of a call": (calls, ("generated matrices",), 5),
}
