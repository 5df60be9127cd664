"""Small studies for claims of the manifold-regularization paper (LapSVM, LapRLS, TSVM) that no table judges.

Each of `MEASURES` computes one draw of a study, and each of `JUDGES` makes sentences of its rows; `SETS` says on what,
and how many draws. The two moons are drawn by `make_two_moons`, with one label each.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.claims import claim
from reproduction.engine.records import Row
from reproduction.methods import decide
from reproduction.papers import _belkin_fits as belkin
from reproduction.papers._s3vm_methods import Setting, error_percent, fit
from reproduction.tasks import dataset, rbf, samples
from specmargin.datasets import make_two_moons
from specmargin.estimators.clustering import RegularizedEigenmaps, RegularizedSpectralClustering
from specmargin.graphs import Laplacian, knn_graph, laplacian
from specmargin.kernels import gram, kernel_map
from specmargin.labels import Labels, encode_labels, hide_labels
from specmargin.objectives import S3VM, LapSVM
from specmargin.solvers import label_switching
from specmargin.solvers.manifold.factorized import factorized
from specmargin.solvers.s3vm.branch_and_bound import branch_and_bound
from specmargin.typing import FloatArray, IntArray

WIDTHS, WEIGHTS = (0.1, 0.2, 0.35, 0.7, 1.4), (0.1, 1.0, 10.0, 100.0)
GAMMAS = (0.0, 0.01, 1.0)
ISOLET_WIDTHS, ISOLET_WEIGHTS = (2.5, 5.0, 10.0, 20.0, 40.0), (0.1, 1.0, 10.0, 100.0, 1000.0)
SMOOTHNESS = (1e-4, 1.0, 1e2)
PROOF_SECONDS = 5.0
NEAR = 2.0
"""Points of error, or percent of a coordinate's deviation, within which an extension is good."""


def moons(draw: int, n: int = 200) -> tuple[FloatArray, IntArray, Labels]:
    """Return a draw of two moons, and one label of each."""
    X, y = make_two_moons(n_samples=n, noise=0.07, random_state=draw)
    return X, y, encode_labels(hide_labels(y, per_class=1, random_state=draw))


def graph_of(X: FloatArray) -> Laplacian:
    """Return D - W of six nearest neighbours, the paper's graph."""
    return laplacian(knn_graph(X, **belkin.GRAPH), normalized=False)


def hidden_error(f: FloatArray, y: IntArray, labels: Labels) -> float:
    """Return the error in percent on the unlabelled samples."""
    return error_percent(decide(np.asarray(f)[labels.unlabeled, None]), y[labels.unlabeled])


def moons_over_parameters(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Figure 2: SVM, TSVM and LapSVM over widths and weights, with gamma_I = 1."""
    X, y, labels = moons(draw)
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
    X, y, labels = moons(draw)
    K, L = gram(X, **rbf(0.35)), graph_of(X)
    answers = (factorized(LapSVM(K, L, labels, gamma_A=0.03125, gamma_I=g)).variables["f"] for g in GAMMAS)
    return {f"error_{g:g}": hidden_error(f, y, labels) for g, f in zip(GAMMAS, answers, strict=True)}


def seconds_of_training(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5.2: processor seconds of LapSVM on kernel and graph, and of the TSVM on the features of the kernel."""
    task = belkin.task_named(name, 400, "plain")
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
        clustering = RegularizedSpectralClustering(gamma=0.5 / 0.35**2, gamma_A=weight, **belkin.GRAPH).fit(X[:200])
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
    parameters: dict[str, Any] = {"n_components": 3, "gamma": 0.5 / 0.35**2, "gamma_A": 1e-4, **belkin.GRAPH}
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
    """Section 4: whether branch and bound proves the optimum of an S3VM in a few seconds, by the unlabelled samples."""
    row: dict[str, float] = {}
    for n in (20, 40, 80, 160):
        X, y, labels = moons(draw, n)
        Z = kernel_map(gram(X, **rbf(0.35))).Z
        result = branch_and_bound(S3VM(Z, labels, C=1.0), time_limit=PROOF_SECONDS)
        row[f"proved_{n}"] = float(result.certificate.is_optimal(1e-6))
        row[f"error_supervised_{n}"] = hidden_error(fit("svm", Z, labels, Setting(1.0, 1.0)).f[:, 0], y, labels)
    return row


def restricted_norm(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Remark b: the kernel restricted to the samples as intrinsic norm, f'K^-1 f, is more of the ambient one."""
    X, _, labels = moons(draw, 40)
    K = gram(X, **rbf(0.35)) + 1e-3 * np.eye(len(X))
    both = factorized(LapSVM(K, np.linalg.inv(K), labels, "squared", 0.1, 0.4, False)).variables["f"]
    one = factorized(LapSVM(K, None, labels, "squared", 0.5, 0.0, False)).variables["f"]
    return {"error_apart": 100.0 * float(np.abs(both - one).max() / np.abs(one).max())}


Measure = Callable[[str, int, "Path | None"], dict[str, float]]
MEASURES: dict[str, Measure] = {
    "moons over parameters": moons_over_parameters,
    "moons over gamma_I": moons_over_gamma,
    "seconds of LapSVM and TSVM": seconds_of_training,
    "width on Isolet": isolet_width,
    "C on Isolet": isolet_weight,
    "clustering": clusters,
    "eigenmap of new points": eigenmap,
    "S3VM by branch and bound": proofs,
    "restricted norm": restricted_norm,
}
MOONS = ("generated moons",)
SETS: dict[str, tuple[tuple[str, ...], int]] = {
    "moons over parameters": (MOONS, 10),
    "moons over gamma_I": (MOONS, 10),
    "seconds of LapSVM and TSVM": (("usps 3-8", "usps 1-7", "usps 4-9"), 2),
    "width on Isolet": (("isolet",), 2),
    "C on Isolet": (("isolet",), 30),
    "clustering": (MOONS, 10),
    "eigenmap of new points": (MOONS, 10),
    "S3VM by branch and bound": (MOONS, 2),
    "restricted norm": (MOONS, 5),
}


def mean_of(rows: Sequence[Row], column: str) -> float:
    """Return the mean of a column."""
    return statistics.fmean(row[column] for row in rows)


def _judge_parameters(rows: Sequence[Row]) -> list[str]:
    right = sum(row["error_lapsvm_least"] == 0.0 < row["error_tsvm_least"] for row in rows)
    wide = sum(row["error_lapsvm_median"] < row["error_tsvm_median"] for row in rows)
    numbers = ", ".join(
        f"{name} {mean_of(rows, f'error_{name}_least'):.1f} and {mean_of(rows, f'error_{name}_median'):.1f}"
        for name in ("svm", "tsvm", "lapsvm")
    )
    grid = f"{len(WIDTHS)} widths and {len(WEIGHTS)} weights; least and median errors {numbers} %"
    text = "the TSVM does not get the two moons right with one label each, LapSVM does (figure 2)"
    return [
        claim(text, right, len(rows), f"At its best setting each, in {{part}} of {{whole}} draws; {grid}"),
        claim(
            "LapSVM does over a wide range of parameters (section 5.1)",
            wide,
            len(rows),
            "Lower median error over the grid than the TSVM in {part} of {whole} draws",
        ),
    ]


def _judge_gamma(rows: Sequence[Row]) -> list[str]:
    columns = [f"error_{g:g}" for g in GAMMAS]
    down = sum(
        row[columns[-1]] <= row[columns[1]] <= row[columns[0]] and row[columns[-1]] < row[columns[0]] for row in rows
    )
    numbers = ", ".join(f"{g:g}: {mean_of(rows, c):.1f} %" for g, c in zip(GAMMAS, columns, strict=True))
    counts = f"The error falls in {{part}} of {{whole}} draws; mean by gamma_I: {numbers}"
    return [claim("the boundary follows the moons as gamma_I grows (figure 3)", down, len(rows), counts)]


def _judge_seconds(rows: Sequence[Row]) -> list[str]:
    ratios = [row["seconds_tsvm"] / row["seconds_lapsvm"] for row in rows]
    faster = sum(ratio >= 2.0 for ratio in ratios)
    counts = (
        f"At least twice as fast in {{part}} of {{whole}} fits (pairs of digits, draws), median ratio "
        f"{statistics.median(ratios):.1f}; our solvers of both, the features of the TSVM's kernel are not counted"
    )
    return [claim("LapSVM trains substantially faster than the TSVM (section 5.2)", faster, len(rows), counts)]


def _judge_width(rows: Sequence[Row]) -> list[str]:
    means = {sigma: mean_of(rows, f"error_{sigma:g}") for sigma in ISOLET_WIDTHS}
    return [_best("sigma = 10 is the best width on Isolet by five folds over all labels (section 5.3)", means, 10.0)]


def _judge_weight(rows: Sequence[Row]) -> list[str]:
    judged = []
    for method, name in (("svm", "SVM"), ("rls", "RLS")):
        means = {C: mean_of(rows, f"error_{method}_{C:g}") for C in ISOLET_WEIGHTS}
        text = f"C = 10 has the least mean error over the speakers for the {name} (section 5.3)"
        judged.append(_best(text, means, 10.0))
    return judged


def _best(text: str, means: dict[float, float], claimed: float) -> str:
    others = [value for value in means if value != claimed]
    lower = sum(means[claimed] <= means[value] for value in others)
    numbers = ", ".join(f"{value:g}: {mean:.2f} %" for value, mean in means.items())
    return claim(text, lower, len(others), f"Not above {{part}} of {{whole}} other values. {numbers}")


def _judge_clusters(rows: Sequence[Row]) -> list[str]:
    small, *_, large = SMOOTHNESS
    smooth = sum(row[f"roughness_{large:g}"] < row[f"roughness_{small:g}"] for row in rows)
    near = sum(row[f"error_out_{small:g}"] <= row[f"error_in_{small:g}"] + NEAR for row in rows)
    numbers = ", ".join(
        f"{w:g}: {mean_of(rows, f'error_in_{w:g}'):.1f} and {mean_of(rows, f'error_out_{w:g}'):.1f} %"
        for w in SMOOTHNESS
    )
    return [
        claim(
            "gamma controls how smooth a clustering is in the ambient space (section 5.4, figure 7)",
            smooth,
            len(rows),
            f"Less of the kernel's norm at gamma = {large:g} than at {small:g} in {{part}} of {{whole}} draws",
        ),
        claim(
            "a clustering extends to points outside the set (section 5.4)",
            near,
            len(rows),
            f"At gamma = {small:g} the error on new points is within {NEAR:g} points in {{part}} of {{whole}} draws; "
            f"in and out of sample by gamma: {numbers}",
        ),
    ]


def _judge_eigenmap(rows: Sequence[Row]) -> list[str]:
    near = sum(row["error_out"] <= 5.0 * NEAR for row in rows)
    counts = (
        f"Within {5 * NEAR:g} % of the deviation of the coordinates in {{part}} of {{whole}} draws; mean distance "
        f"{mean_of(rows, 'error_out'):.1f} % at new points, {mean_of(rows, 'error_in'):.1f} % at the others"
    )
    text = "several eigenfunctions are a Laplacian eigenmap for new points (section 5.4)"
    return [claim(text, near, len(rows), counts)]


def _judge_proofs(rows: Sequence[Row]) -> list[str]:
    sizes = (20, 40, 80, 160)
    proved = {n: sum(row[f"proved_{n}"] for row in rows) for n in sizes}
    not_many = sum(proved[n] == 0 for n in sizes[-2:])
    numbers = ", ".join(f"{n}: {count:.0f} of {len(rows)}" for n, count in proved.items())
    text = "the S3VM as a mixed-integer program is intractable for many unlabelled samples (section 4)"
    counts = (
        f"No optimum proved in {PROOF_SECONDS:g} s by our branch and bound at {{part}} of {{whole}} sizes from 80 on; "
        f"proofs by size: {numbers}"
    )
    return [claim(text, not_many, 2, counts)]


def _judge_norm(rows: Sequence[Row]) -> list[str]:
    worst = max(row["error_apart"] for row in rows)
    same = sum(row["error_apart"] <= 1e-4 for row in rows)
    text = "a kernel restricted to the samples as intrinsic norm changes nothing but gamma (remark b)"
    counts = f"The same decisions in {{part}} of {{whole}} draws, LapRLS; furthest apart {worst:.0e} %"
    return [claim(text, same, len(rows), counts)]


JUDGES: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "moons over parameters": _judge_parameters,
    "moons over gamma_I": _judge_gamma,
    "seconds of LapSVM and TSVM": _judge_seconds,
    "width on Isolet": _judge_width,
    "C on Isolet": _judge_weight,
    "clustering": _judge_clusters,
    "eigenmap of new points": _judge_eigenmap,
    "S3VM by branch and bound": _judge_proofs,
    "restricted norm": _judge_norm,
}
