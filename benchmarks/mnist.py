"""All 70,000 digits of MNIST from 1, 10 and 100 labels per class, compared with Poisson learning on the same graph.

    python benchmarks/mnist.py            errors of ten draws, time in units of one exact neighbour search, memory
    python benchmarks/mnist.py --quick    4,000 of the digits, two draws
    python benchmarks/mnist.py --tune     the tables on USPS and 20 newsgroups that the settings below come from

No setting was chosen on MNIST. The graph has the usual ten neighbours and weights without a scale parameter
(self-tuning); the rest is frozen from ``--tune``. Where labels allow it, the penalty of the ridge is chosen by
leave-one-out, C and B of the other methods by folds of the labelled samples; with one label per class nothing can be
left out, and the frozen values are used. Times are CPU seconds of one thread.

Poisson learning (Calder, Cook, Thorpe and Slepcev, ICML 2020) is that of its authors, ``graphlearning``, which is not
a dependency: without it its columns are missing. It has two solvers, and the better one of each cell counts.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")  # graphlearning imports pyplot

import _harness as harness
import numpy as np
import scipy.sparse as sp

import specmargin as sm
from reproduction.data import DataNotFoundError
from reproduction.data import load as load_set
from specmargin import objectives, solvers
from specmargin.estimators.spectral_ridge import SpectralRidge
from specmargin.graphs import KNN, NeighborSearch, knn_graph
from specmargin.objectives.graph_transducer import SpectralGraphTransducer
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.solvers.spectrum.spectral_ridge import choose_penalty, seeded_kmeans
from specmargin.spectra import Spectrum

K_NEIGHBORS, WEIGHT, Q = 10, "self_tuning", 200
POWER, PENALTY, COLUMNS = 2.0, 0.3, 5  # of the ridge: lambda^-power, without leave-one-out, eigenvectors per class
C_MARGIN, C_SGT, B = 1.0, 1e6, 1.5  # without folds
CS_MARGIN, CS_SGT, BS = (0.01, 0.1, 1.0, 10.0), (1e3, 1e4, 1e5, 1e6), (1.1, 1.5, 2.0)  # with folds
RATES = (1, 10, 100)
FOLDS = {10: 5, 100: 3}


@dataclass
class Task:
    """A graph, its eigenpairs and the true classes, 0 to K - 1."""

    name: str
    W: Any
    spectrum: Spectrum
    y: np.ndarray
    weight: str = WEIGHT

    def draws(self, rate: int, count: int, first: int) -> Iterator[np.ndarray]:
        """Yield labels of `rate` samples per class, fewer where a class is too small."""
        rate = min(rate, int(np.bincount(self.y).min() * 0.8))
        for seed in range(first, first + count):
            yield sm.hide_labels(self.y, per_class=rate, random_state=seed)

    def error(self, predicted: np.ndarray, y: np.ndarray) -> float:
        """Return the percentage of unlabelled samples that are wrong."""
        return 100.0 * float((predicted != self.y)[y == -1].mean())


def zscore(F: np.ndarray) -> np.ndarray:
    return (F - F.mean(axis=0)) / F.std(axis=0)


def cpu(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    value = function()
    return time.process_time() - start, value


# Methods: from a task and labels to predicted classes


def ridge(
    task: Task, y: np.ndarray, *, power: float = POWER, penalty: float | None = None, balance: bool = True
) -> Any:
    labels = sm.encode_labels(y)
    objective = objectives.SpectralRidge(task.spectrum, labels, power_spectrum(task.spectrum, power))
    if penalty is None:
        penalty = choose_penalty(objective, default=PENALTY, standardize=balance)
    F = solvers.spectral_ridge(objective.with_(penalty=penalty)).variables["f"]
    return (zscore(F) if balance else F).argmax(axis=1)


def clusters(task: Task, y: np.ndarray, start: np.ndarray, columns: int = COLUMNS) -> np.ndarray:
    labeled = np.flatnonzero(y != -1)
    start = start.copy()
    start[labeled] = y[labeled]
    return seeded_kmeans(task.spectrum.eigenvectors[:, : columns * (task.y.max() + 1)], start, labeled).cluster


Decisions = list[np.ndarray]
"""f of all samples, one per candidate."""


def margins(spectrum: Spectrum, labels: Any, Cs: Sequence[float], Bs: Sequence[float]) -> Decisions:
    """STORM, or STOAM with B = inf, for all pairs (B, C)."""
    decisions = []
    for bound in Bs:
        path = solvers.spectrum_path(objectives.SpectrumMargin(spectrum, labels, B=bound), Cs, tol=1e-6)
        decisions += [result.variables["f"] for result in path]
    return decisions


def aligned(spectrum: Spectrum, labels: Any, Cs: Sequence[float], Bs: Sequence[float]) -> Decisions:
    """KTA: the aligned spectrum, and a support vector machine on it for all C."""
    delta = solvers.alignment(objectives.Alignment(spectrum, labels), tol=1e-6).variables["delta"]
    svm = objectives.SpectrumMargin(spectrum, labels, delta=delta)
    return [result.variables["f"] for result in solvers.spectrum_path(svm, Cs, tol=1e-6)]


def transduced(spectrum: Spectrum, labels: Any, Cs: Sequence[float], Bs: Sequence[float]) -> Decisions:
    """SGT for all C."""
    cuts = [SpectralGraphTransducer(spectrum, labels, C=C) for C in Cs]
    return [solvers.graph_transducer(cut).variables["f"] for cut in cuts]


def all_classes(method: Callable[..., Decisions], spectrum: Spectrum, y: np.ndarray, *grid: Sequence[float]) -> Any:
    """Predicted classes for each candidate, by the largest of the z-scores of one against the rest."""
    parts = [method(spectrum, labels, *grid) for labels in sm.encode_labels(y).one_vs_rest()]
    return [zscore(np.column_stack(F)).argmax(axis=1) for F in zip(*parts, strict=True)]


def tuned(
    method: Callable[..., Decisions],
    Cs: Sequence[float],
    Bs: Sequence[float],
    default: tuple[float, float],
) -> Callable[[Task, np.ndarray, int], np.ndarray]:
    """Choose C and B by the errors on folds of the labelled samples; of equally good ones nearest the default."""

    def predict(task: Task, y: np.ndarray, rate: int) -> np.ndarray:
        C, bound = default
        if rate in FOLDS:
            pairs = [(C, bound) for bound in Bs for C in Cs]
            errors = np.zeros(len(pairs))
            for _, test in sm.LabeledKFold(FOLDS[rate], random_state=0).split(y, y):
                left = y.copy()
                left[test] = -1
                predictions = all_classes(method, task.spectrum, left, Cs, Bs)
                errors += [(predicted[test] != y[test]).sum() for predicted in predictions]
            distance = [abs(np.log(C / default[0])) + (bound != default[1]) for C, bound in pairs]
            C, bound = pairs[int(np.lexsort((distance, errors))[0])]
        return all_classes(method, task.spectrum, y, [C], [bound])[0]

    return predict


def poisson() -> dict[str, Callable[..., np.ndarray]]:
    """Poisson learning by its authors, if it is installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import graphlearning
    except ImportError as error:
        print(f"Poisson learning is missing: {error}. pip install graphlearning", flush=True)
        return {}

    def by(solver: str) -> Callable[..., np.ndarray]:
        def predict(task: Task, y: np.ndarray, rate: int) -> np.ndarray:
            labeled = np.flatnonzero(y != -1)
            model = graphlearning.ssl.poisson(sp.csr_matrix(task.W), solver=solver)
            return np.asarray(model.fit_predict(labeled, y[labeled]))

        return predict

    return {"Poisson, cg": by("conjugate_gradient"), "Poisson, descent": by("gradient_descent")}


def ours() -> dict[str, Callable[..., np.ndarray]]:
    return {
        "SpectralRidge": lambda task, y, rate: ridge(task, y),
        "SpectralRidge, k-means": lambda task, y, rate: clusters(task, y, ridge(task, y)),
        "STOAM": tuned(margins, CS_MARGIN, [np.inf], (C_MARGIN, np.inf)),
        "STORM": tuned(margins, CS_MARGIN, BS, (C_MARGIN, B)),
        "KTA": tuned(aligned, CS_MARGIN, [np.inf], (C_MARGIN, np.inf)),
        "SGT": tuned(transduced, CS_SGT, [np.inf], (C_SGT, np.inf)),
    }


# Data


def load(name: str, folder: Any) -> Any:
    return load_set(name, data_home=folder, download=False)


def digits(options: Any) -> tuple[str, np.ndarray, np.ndarray]:
    try:
        data = load("mnist", options.data)
        rows = np.random.default_rng(0).permutation(len(data.y))[: 4000 if options.quick else None]
        return "MNIST", data.X[rows], data.y[rows]
    except DataNotFoundError:
        data = load_set("digits")
        return "digits of scikit-learn INSTEAD OF MNIST, which is not available", data.X, data.y


def tasks(options: Any, weight: str = WEIGHT) -> Iterator[Task]:
    """Yield the sets that the settings are chosen on."""
    for name, metric in (("usps", "euclidean"), ("20news", "cosine")):
        try:
            data = load(name, options.data)
        except DataNotFoundError:
            print(f"{name} is not available and left out", flush=True)
            continue
        X = data.X
        if metric == "cosine":
            from sklearn.feature_extraction.text import TfidfTransformer

            X = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X))
        rows = np.random.default_rng(0).permutation(X.shape[0])[: 2500 if options.quick else None]
        W = knn_graph(X[rows], K_NEIGHBORS, weight=weight, metric=metric)
        yield Task(name, W, eigenpairs(W), data.y[rows], weight)


def eigenpairs(W: Any) -> Spectrum:
    return sm.spectra.laplacian_eigenpairs(W, min(Q, W.shape[0] // 4), normalized=True, tol=1e-3)


# The benchmark


def pipeline(report: harness.Report, X: np.ndarray, y: np.ndarray) -> Task:
    """From pixels to predictions, each stage in units of the exact search."""
    components = 50 if X.shape[1] > 100 else None
    hidden = sm.hide_labels(y, per_class=10, random_state=0)
    seconds: dict[str, float] = {}
    seconds["search"], search = cpu(lambda: _searched(X, components))
    seconds["weights"], W = cpu(lambda: knn_graph(search, K_NEIGHBORS, weight=WEIGHT))
    model = SpectralRidge(q=min(Q, len(y) // 4), power=POWER, graph=KNN(weight=WEIGHT))
    seconds["fit"], model = cpu(lambda: model.fit(search.rows, hidden, graph=W))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform != "darwin" else 1024**3)
    spectrum = Spectrum(
        model.eigenvalues_,
        model.eigenvectors_,
        n_components=sm.graphs.components(W).n,
        normalized=True,
        degrees=np.asarray(W.sum(axis=1)).ravel(),
    )
    task = Task("digits", W, spectrum, y)
    regression, predicted = cpu(lambda: ridge(task, hidden))
    refinement, _ = cpu(lambda: clusters(task, hidden, predicted))
    agree = float((model.transduction_ == predicted).mean())
    assert agree > 0.9999, f"the estimator and the benchmark agree on {agree:.4%} only"
    unit = seconds["search"]
    print(f"one exact search of {len(y)} rows: {unit:.1f} CPU s")
    report.add("graph weights / exact search", seconds["weights"] / unit)
    report.add("eigenvectors and regression (fit) / exact search", seconds["fit"] / unit)
    report.add("of which regression, penalty and scores", regression / unit)
    report.add("k-means refinement / exact search", refinement / unit)
    # A search among few rows costs next to nothing, the eigenvectors do not: the goal is that of 70,000.
    record = len(y) > 50_000
    report.add("pixels to predictions / exact search", sum(seconds.values()) / unit, at_most=3 if record else None)
    report.add("peak memory of that", memory, "GB", at_most=6 if record else None)
    return task


def _searched(X: np.ndarray, components: int | None) -> NeighborSearch:
    search = NeighborSearch(X, reduce=components)
    search.kneighbors(n_neighbors=K_NEIGHBORS)
    return search


def cells(report: harness.Report, task: Task, draws: int) -> None:
    """Errors of every method at every rate, and our distance from Poisson learning."""
    rivals, methods = poisson(), ours()
    for rate in RATES:
        means: dict[str, float] = {}
        for name, predict in {**methods, **rivals}.items():
            if name.endswith("k-means") and rate > 1:
                continue
            start = time.process_time()
            errors = [task.error(predict(task, y, rate), y) for y in task.draws(rate, draws, first=0)]
            seconds = (time.process_time() - start) / draws
            means[name] = float(np.mean(errors))
            note = f"({np.std(errors):.1f}), median {np.median(errors):.1f}, worst {max(errors):.1f}, {seconds:.2f} s"
            report.add(f"{rate} per class: {name}", means[name], "%", note=note)
        if rivals:
            best = min(means[name] for name in rivals)
            first = "SpectralRidge, k-means" if rate == 1 else "SpectralRidge"
            report.add(f"{rate} per class: {first} minus Poisson", means[first] - best, "points", at_most=1)
            winner = min((name for name in means if name not in rivals), key=means.__getitem__)
            report.add(
                f"{rate} per class: best of ours minus Poisson", means[winner] - best, "points", at_most=1, note=winner
            )


# The choice of the settings

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
WIDE, WIDE_SGT = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0), (1e0, 1e1, 1e2, 1e3, 1e4, 1e6)


def tune(options: Any) -> None:
    """Print mean errors on USPS and 20 newsgroups; the draws are none of the benchmark's."""
    draws = 2 if options.quick else 10
    for task in tasks(options, "binary"):
        ridges(task, draws, RATES[:2], (POWER,))
    for task in tasks(options):
        ridges(task, draws, (1, 3, *RATES[1:]), (1.0, 2.0, 3.0))
        row(task, "k-means in 2, 3, 5, 7, 10 eigenvectors per class", 1, draws, of_columns)
        for rate in RATES[:2]:
            for bound in (np.inf, 1.05, 1.1, 1.25, 1.5, 2.0):
                row(task, f"STORM, B={bound}, C {WIDE}", rate, draws, all_of, margins, WIDE, [bound])
            row(task, f"KTA, C {WIDE}", rate, draws, all_of, aligned, WIDE, [np.inf])
            row(task, f"SGT, C {WIDE_SGT}", rate, draws, all_of, transduced, WIDE_SGT, [np.inf])


def row(task: Task, text: str, rate: int, draws: int, predict: Callable[..., Any], *arguments: Any) -> None:
    """Print the mean errors of several predictions per draw."""
    errors = [
        [task.error(predicted, y) for predicted in predict(task, y, *arguments)] for y in task.draws(rate, draws, 1000)
    ]
    means = " ".join(f"{error:6.1f}" for error in np.mean(errors, axis=0))
    print(f"{task.name:8s}{rate:4d} per class  {means}   {text}", flush=True)


def ridges(task: Task, draws: int, rates: Sequence[int], powers: Sequence[float]) -> None:
    print(f"\n{task.name}: ridge with the penalties {PENALTIES} and leave-one-out", flush=True)
    for rate in rates:
        for power in powers:
            for balance in (True, False):
                text = f"weights {task.weight}, power {power:g}, {'z-scores' if balance else 'raw'}"
                row(task, text, rate, draws, of_penalties, power, balance)


def of_penalties(task: Task, y: np.ndarray, power: float, balance: bool) -> list[np.ndarray]:
    return [ridge(task, y, power=power, penalty=penalty, balance=balance) for penalty in (*PENALTIES, None)]


def of_columns(task: Task, y: np.ndarray) -> list[np.ndarray]:
    start = ridge(task, y)
    return [clusters(task, y, start, columns) for columns in (2, 3, 5, 7, 10)]


def all_of(task: Task, y: np.ndarray, method: Callable[..., Decisions], *grid: Sequence[float]) -> list[np.ndarray]:
    return all_classes(method, task.spectrum, y, *grid)


def main() -> None:
    """Run what the command line asks for."""
    wants_tuning = "--tune" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--tune"]
    options = harness.options(__doc__.splitlines()[0])
    if wants_tuning:
        tune(options)
        return
    name, X, y = digits(options)
    report = harness.Report("mnist", f"{name}: {len(y)} samples, 1, 10 and 100 labels per class")
    task = pipeline(report, X, y)
    cells(report, task, 2 if options.quick else 10)
    print(f"written to {report.write()}")


if __name__ == "__main__":
    main()
