"""Small studies for claims of the manifold-regularization paper (LapSVM, LapRLS, TSVM) that no table judges.

`STUDIES` says what computes one draw of each, on what, and how many draws; `_study_claims` holds the claims on their
rows. The two moons of figures 2 and 3 are the published points; elsewhere `make_two_moons` draws them.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from reproduction.engine.evaluation import percent
from reproduction.methods import decide
from reproduction.papers._protocols import belkin_fits as belkin
from reproduction.papers._protocols.s3vm_methods import Setting, fit
from reproduction.tasks import dataset, rbf, samples
from specmargin.datasets import make_two_moons
from specmargin.estimators.clustering import RegularizedEigenmaps, RegularizedSpectralClustering
from specmargin.graphs import KNN, LaplacianOperator, knn_graph, laplacian
from specmargin.kernels import RBF, gram, kernel_map
from specmargin.labels import Labels, encode_labels, hide_labels
from specmargin.objectives import S3VM, LapSVM
from specmargin.optima.branching import branch_and_bound
from specmargin.solvers import label_switching
from specmargin.solvers.manifold.factorized import factorized
from specmargin.typing import FloatArray, IntArray

WIDTHS, WEIGHTS = (0.1, 0.2, 0.35, 0.7, 1.4), (0.1, 1.0, 10.0, 100.0)
GAMMAS = (0.0, 0.01, 1.0)
ISOLET_WIDTHS, ISOLET_WEIGHTS = (2.5, 5.0, 10.0, 20.0, 40.0), (0.1, 1.0, 10.0, 100.0, 1000.0)
SMOOTHNESS = (1e-4, 1.0, 1e2)
PROOF_SECONDS = 5.0
PROVED = ("s3vm_2moons", "s3vm_connectionist", "s3vm_heart", "s3vm_ionosphere")
"""Sets of a later study of proofs; the two moons are others than those of figures 2 and 3."""


def moons(draw: int, n: int = 200) -> tuple[FloatArray, IntArray, Labels]:
    """Return a draw of two moons, and one label of each."""
    X, y = make_two_moons(n_samples=n, noise=0.07, random_state=draw)
    return X, y, encode_labels(hide_labels(y, per_class=1, random_state=draw))


def published_moons(name: str, draw: int, data: Path | None) -> tuple[FloatArray, IntArray, Labels]:
    """Return the published points of figures 2 and 3, and a draw of one label of each moon."""
    points = dataset(name, data)
    y = np.asarray(points.y)
    return np.asarray(points.X), y, encode_labels(hide_labels(y, per_class=1, random_state=draw))


def graph_of(X: FloatArray) -> LaplacianOperator:
    """Return D - W of six nearest neighbours, the paper's graph."""
    return laplacian(knn_graph(X, **belkin.GRAPH), normalized=False)


def hidden_error(f: FloatArray, y: IntArray, labels: Labels) -> float:
    """Return the error in percent on the unlabelled samples."""
    return percent(decide(np.asarray(f)[labels.unlabeled, None]) != y[labels.unlabeled])


def moons_over_parameters(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Figure 2: SVM, TSVM and LapSVM over widths and weights, with gamma_I = 1."""
    X, y, labels = published_moons(name, draw, data)
    L, errors = graph_of(X), dict[str, list[float]](svm=[], tsvm=[], lapsvm=[])
    for sigma in WIDTHS:
        K = gram(X, **rbf(sigma))
        Z = kernel_map(K).Z
        for C in WEIGHTS:
            for method, column in (("svm", "svm"), ("svmlight_s3vm", "tsvm")):
                errors[column].append(hidden_error(fit(method, Z, labels, Setting(C, C)).f[:, 0], y, labels))
            result = factorized(LapSVM(K, L, labels, gamma_A=0.5 / C, gamma_I=1.0))
            errors["lapsvm"].append(hidden_error(result.variables["f"], y, labels))
    return {
        f"error_{method}_{how}": float(of(each))
        for method, each in errors.items()
        for how, of in (("least", min), ("median", statistics.median))
    }


def moons_over_gamma(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Figure 3: LapSVM as gamma_I grows."""
    X, y, labels = published_moons(name, draw, data)
    K, L = gram(X, **rbf(0.35)), graph_of(X)
    answers = (factorized(LapSVM(K, L, labels, gamma_A=0.03125, gamma_I=g)).variables["f"] for g in GAMMAS)
    return {f"error_{g:g}": hidden_error(f, y, labels) for g, f in zip(GAMMAS, answers, strict=True)}


def seconds_of_training(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.2: processor seconds of LapSVM on kernel and graph, and of the TSVM on the features of the kernel."""
    task = belkin.task_named(name, 400, "fitted")
    y, K = samples(task, data).y, belkin.kernels_of(task, data)[0]
    y = y[: len(K)]
    labels = encode_labels(hide_labels(y, per_class=2, random_state=draw))
    L, Z = belkin.laplacian_of(task, False, data), belkin.features_of(task, data).Z
    gamma_A, gamma_I = belkin.gammas("LapSVM", task.source)
    start = time.process_time()
    ours = factorized(LapSVM(K, L, labels, gamma_A=gamma_A, gamma_I=gamma_I))
    middle = time.process_time()
    theirs = label_switching(S3VM(Z, labels, "hinge", None, C=belkin.TSVM_C, intercept="free"), rate=2.0)
    end = time.process_time()
    return {
        "error_lapsvm": hidden_error(ours.variables["f"], y, labels),
        "error_svm": hidden_error(fit("svm", Z, labels, Setting(belkin.TSVM_C, 0.0)).f[:, 0], y, labels),
        "error_tsvm": hidden_error(theirs.variables["f"], y, labels),
        "seconds_lapsvm": middle - start,
        "seconds_tsvm": end - middle,
    }


def _isolet(data: Path | None) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the samples of isolet1, the half of the alphabet, and the speakers."""
    whole = dataset("isolet", data)
    first = np.asarray(whole.extras["group"]) == 1
    return np.asarray(whole.X)[first], (whole.y[first] < 13).astype(np.intp), np.asarray(whole.extras["speaker"])[first]


def isolet_width(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.3: five folds over all labels of isolet1, SVM with C = 10, by the width of the kernel."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import SVC

    X, y, _ = _isolet(data)
    folds = StratifiedKFold(5, shuffle=True, random_state=draw)
    return {
        f"error_{sigma:g}": 100.0 * (1.0 - float(cross_val_score(SVC(C=10.0, **rbf(sigma)), X, y, cv=folds).mean()))
        for sigma in ISOLET_WIDTHS
    }


def isolet_weight(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.3: SVM and RLS of one speaker's utterances, by C; RLS has gamma l = 1 / (2 C)."""
    from sklearn.svm import SVC

    X, y, speaker = _isolet(data)
    known = speaker == np.unique(speaker)[draw]
    K, sign = gram(X, **rbf(10.0)), np.where(y[known] == 1, 1.0, -1.0)
    row: dict[str, float] = {}
    for C in ISOLET_WEIGHTS:
        svm = SVC(C=C, kernel="precomputed").fit(K[np.ix_(known, known)], sign)
        ridge = np.linalg.solve(K[np.ix_(known, known)] + 0.5 / C * np.eye(known.sum()), sign)
        answers = {"svm": svm.decision_function(K[np.ix_(~known, known)]), "rls": K[np.ix_(~known, known)] @ ridge}
        row |= {f"error_{method}_{C:g}": belkin.breakeven_error(y[~known], f) for method, f in answers.items()}
    return row


def clusters(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.4: regularised spectral clustering, on its samples and on others, by the weight of the norm."""
    X, y = make_two_moons(n_samples=400, noise=0.07, random_state=draw)
    row: dict[str, float] = {}
    for weight in SMOOTHNESS:
        parameters: dict[str, Any] = {"kernel": RBF(0.5 / 0.35**2), "graph": KNN(**belkin.GRAPH)}
        clustering = RegularizedSpectralClustering(gamma_A=weight, **parameters).fit(X[:200])
        f, inside, outside = (
            clustering.embedding_[:, 0],
            clustering.labels_ != y[:200],
            clustering.predict(X[200:]) != y[200:],
        )
        row |= {
            f"error_in_{weight:g}": 100.0 * min(float(inside.mean()), 1.0 - float(inside.mean())),
            f"error_out_{weight:g}": 100.0 * min(float(outside.mean()), 1.0 - float(outside.mean())),
            f"roughness_{weight:g}": _squared_norm(gram(X[:200], **rbf(0.35)), f),
        }
    return row


def _squared_norm(K: FloatArray, f: FloatArray) -> float:
    """Return the squared norm of the least function of the kernel's space with the values f, of f of length one."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    return float(((vectors[:, kept].T @ f) ** 2 / values[kept]).sum() / (f @ f))


def eigenmap(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.4: coordinates of left-out samples next to those that an eigenmap of all samples gives them."""
    X, _ = make_two_moons(n_samples=300, noise=0.07, random_state=draw)
    parameters: dict[str, Any] = {"kernel": RBF(0.5 / 0.35**2), "graph": KNN(**belkin.GRAPH)}
    parameters |= {"n_components": 3, "gamma_A": 1e-4}
    part = RegularizedEigenmaps(**parameters).fit(X[:270])
    all_of_it = RegularizedEigenmaps(**parameters).fit_transform(X)
    # Coordinates are known up to a linear map of those of one eigenvalue: the one that fits the samples of both.
    turn = np.linalg.lstsq(part.transform(X[:270]), all_of_it[:270], rcond=None)[0]
    apart = part.transform(X[270:]) @ turn - all_of_it[270:]
    inside = part.transform(X[:270]) @ turn - all_of_it[:270]
    spread = all_of_it.std()
    return {
        f"error_{where}": 100.0 * float(np.sqrt((d**2).mean())) / spread
        for where, d in (("in", inside), ("out", apart))
    }


def proofs(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 4: the gap that branch and bound leaves of an S3VM in a few seconds, with a tenth of the labels."""
    if name.startswith("generated"):
        X, y, labels = moons(draw, 160)
        kernel = rbf(0.35)
    else:
        whole = dataset(name, data)
        X, y = np.asarray(whole.X), whole.y
        labels, kernel = (
            encode_labels(hide_labels(y, n_labeled=len(y) // 10, random_state=draw)),
            {"gamma": 1 / X.shape[1]},
        )
    Z = kernel_map(gram(X, **kernel)).Z
    result = branch_and_bound(S3VM(Z, labels, C=1.0), time_limit=PROOF_SECONDS)
    return {
        "gap": float(result.certificate.relative_gap),
        "unlabeled": float(len(labels.unlabeled)),
        "error_supervised": hidden_error(fit("svm", Z, labels, Setting(1.0, 1.0)).f[:, 0], y, labels),
    }


def restricted_norm(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Remark b: the kernel restricted to the samples as intrinsic norm, f'K^-1 f, is more of the ambient one."""
    X, _, labels = moons(draw, 40)
    K = gram(X, **rbf(0.35)) + 1e-3 * np.eye(len(X))
    both = factorized(LapSVM(K, np.linalg.inv(K), labels, "squared", 0.1, 0.4, False)).variables["f"]
    one = factorized(LapSVM(K, None, labels, "squared", 0.5, 0.0, False)).variables["f"]
    return {"error_apart": 100.0 * float(np.abs(both - one).max() / np.abs(one).max())}


Study: TypeAlias = tuple[Callable[[str, int, "Path | None"], dict[str, float]], tuple[str, ...], int]
"""What computes one draw, ``measure(set, draw, data)``; on which sets; how many draws of each."""

MOONS = ("generated moons",)
STUDIES: dict[str, Study] = {
    "moons over parameters": (moons_over_parameters, ("two_moons",), 10),
    "moons over gamma_I": (moons_over_gamma, ("two_moons",), 10),
    "seconds of LapSVM and TSVM": (seconds_of_training, ("usps 3-8", "usps 1-7", "usps 4-9"), 5),
    "width on Isolet": (isolet_width, ("isolet",), 5),
    "C on Isolet": (isolet_weight, ("isolet",), 30),
    "clustering": (clusters, MOONS, 10),
    "eigenmap of new points": (eigenmap, MOONS, 10),
    "S3VM by branch and bound": (proofs, (*PROVED, *MOONS), 5),
    "restricted norm": (restricted_norm, MOONS, 5),
}
