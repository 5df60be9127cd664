"""Sensitivities: derivatives, ranges and paths against refits, and their time over that of the fit.

    python benchmarks/sensitivity.py [--quick]

Random problems: LapSVM with four losses, with and without an intercept, weighted labels and not, on kernels, landmarks
and eigenvectors. Derivatives are compared with differences of the eighth order between optima that are exact on their
pieces; where a piece ends nearby the step is shorter.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import _harness as harness
import numpy as np

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import LowRankKernel
from specmargin.objectives import LapSVM
from specmargin.objectives.sensitivity import derivatives, pieced
from specmargin.solvers.manifold.ranges import DIRECTIONS, proved_stretch
from specmargin.solvers.manifold.weight_path import weight_path

EIGHTH = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
LOSSES = ("hinge", "squared_hinge", "squared", "huber_hinge")
SMALLEST = 1e-4  # of the decisions, below which a derivative counts as that large: refits have sixteen digits


def problem(seed: int, **options: Any) -> LapSVM:
    """Return a random problem."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 90))
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.25, random_state=seed)
    labels = sm.encode_labels(sm.hide_labels(truth, n_labeled=int(rng.integers(3, 8)) * 2 + 1, random_state=seed))
    if rng.random() < 0.5:
        labels = labels.weighted(rng.uniform(0.5, 2.0, labels.n_labeled))
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    kernels: tuple[Callable[[], Any], ...] = (
        lambda: sm.kernels.gram(X, gamma=4.0),
        lambda: LowRankKernel(sm.kernels.landmark_features(X, 25, gamma=4.0, random_state=0)(X)),
        lambda: LowRankKernel(np.sqrt(n) * sm.spectra.laplacian_eigenpairs(W, q=20).eigenvectors[:, 1:]),
    )
    chosen: dict[str, Any] = {
        "loss": LOSSES[seed % 4],
        "gamma_A": 10 ** rng.uniform(-3, 0),
        "gamma_I": 10 ** rng.uniform(-2, 1),
        "fit_intercept": bool(rng.random() < 0.6),
    }
    return LapSVM(kernels[seed % 3](), sm.graphs.laplacian(W), labels, **(chosen | options))


def optimum(obj: LapSVM) -> tuple[Any, ...]:
    """Return decisions, value and pieces of the optimum."""
    answer = sm.solvers.factorized(obj, tol=1e-13).variables
    rows = obj.labels.labeled
    system = pieced(obj, answer["f"][rows], answer["beta"])
    v, b = system.optimum
    at_labels = np.zeros(obj.labels.n_samples)
    at_labels[rows] = v
    g = obj.reduction.expanded(obj.K, rows, at_labels)[1]
    value = obj.scale * (obj.margin_loss.value(obj.labels.sign * (g[rows] + b)).sum() + v @ g[rows])
    return g + b, value, (system.free.tobytes(), system.at[~system.free].tobytes())


def differences(refit: Callable[[float], tuple[Any, ...]]) -> list[Any] | None:
    """Return derivatives of decisions and value; None where every step crosses a kink."""
    own = refit(0.0)
    for h in (0.06, 0.02, 0.006, 0.002, 0.0005):
        try:
            pairs = [(refit((i + 1) * h), refit(-(i + 1) * h)) for i in range(4)]
        except InvalidInputError:
            continue
        if all(one[2] == own[2] for pair in pairs for one in pair):
            return [sum(w * (up[k] - down[k]) for w, (up, down) in zip(EIGHTH, pairs, strict=True)) / h for k in (0, 1)]
    return None


def errors(obj: LapSVM, label: int) -> dict[str, float]:
    """Return the errors of all derivatives, relative to their size."""
    answer = sm.solvers.factorized(obj, tol=1e-13).variables
    at = derivatives(obj, answer["f"][obj.labels.labeled], answer["beta"])
    c, size, value = obj.labels.weights_or_ones, np.abs(answer["f"]).max(), optimum(obj)[1]
    unit = np.eye(len(c))[label]
    cases: dict[str, tuple[Callable[[float], LapSVM], Any, float]] = {
        "gamma_A": (lambda t: obj.with_(gamma_A=obj.gamma_A * np.exp(t)), at.decisions[:, 0], at.objective["gamma_A"]),
        "gamma_I": (lambda t: obj.with_(gamma_I=obj.gamma_I * np.exp(t)), at.decisions[:, 1], at.objective["gamma_I"]),
        "C": (
            lambda t: obj.with_(labels=obj.labels.weighted(c * np.exp(t))),
            -at.decisions[:, :2].sum(axis=1),
            at.objective["C"],
        ),
        "label weights": (
            lambda t: obj.with_(labels=obj.labels.weighted(c * np.exp(t * unit))),
            c[label] * at.decisions[:, 2 + label],
            c[label] * at.objective["label_weights"][label],
        ),
    }
    worst = {}
    for name, (made, decisions, objective) in cases.items():
        both = differences(lambda t, made=made: optimum(made(t)))
        if both is not None:
            worst[name] = max(
                float(np.abs(both[0] - decisions).max() / max(np.abs(decisions).max(), SMALLEST * size)),
                float(abs(both[1] - objective) / max(abs(objective), SMALLEST * value)),
            )
    return worst


def stays(start: Any, end: Any, radius: Any) -> Any:
    same = np.sign(start[0]) == np.sign(end[0])
    return same & (np.minimum(np.abs(start[0]), np.abs(end[0])) > radius[0])


def flips(f: Any, change: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        at = -f[0] / change[0]
    return np.where(at > 0, at, np.inf)


def refit(obj: LapSVM, weight: str, factor: float) -> Any:
    """Return the decisions where a weight is multiplied."""
    a, e = (factor if part else 1.0 for part in DIRECTIONS[weight])
    other = obj.with_(gamma_A=a * obj.gamma_A, gamma_I=e * obj.gamma_I)
    return sm.solvers.factorized(other, tol=1e-13).variables["f"]


def ranges(report: harness.Report, n_problems: int, refits: int) -> None:
    """Refit inside of proved intervals, half of the time next to their ends."""
    wrong = total = 0
    lost = []
    for seed in range(n_problems):
        obj, rng = problem(seed), np.random.default_rng(seed)
        for weight in DIRECTIONS:
            try:
                ends = [proved_stretch([obj], weight, way, stays, flips, 100.0) for way in (-1.0, 1.0)]
            except InvalidInputError:
                continue
            own = np.sign(refit(obj, weight, 1.0))
            low, high = np.log([one.end for one in ends])
            shares = np.concatenate([rng.uniform(0, 1, refits // 2), rng.uniform(0, 1, refits - refits // 2) ** 9])
            for place in np.exp(
                np.where(rng.random(refits) < 0.5, low + (high - low) * shares, high + (low - high) * shares)
            ):
                total, wrong = total + 1, wrong + int((np.sign(refit(obj, weight, place)) != own).any())
            lost += [abs(np.log(one.at / one.end)) for one in ends if one.sample is not None]
    report.add("refits inside proved intervals", total, "")
    report.add("of these with another decision", wrong, "", at_most=0)
    report.add("from the end of an interval to the first flip, relative, median", float(np.median(lost)), "")


def paths(report: harness.Report, n_problems: int) -> None:
    """Refit on the paths of the hinge."""
    worst, gaps, total, pieces = 0.0, 0.0, 0, 0
    for seed in range(n_problems):
        obj, rng = problem(seed, loss="hinge"), np.random.default_rng(seed)
        for until in (30.0, 1 / 30.0):
            try:
                path = weight_path(obj, until)
            except InvalidInputError:
                continue
            pieces, gaps = pieces + len(path.gaps), max(gaps, float(path.gaps.max()))
            for C in np.exp(rng.uniform(*np.log(path.C[[0, -1]]), 10)):
                f = refit(obj, "gammas", 1.0 / C)
                total, worst = total + 1, max(worst, float(np.abs(path.decisions(C) - f).max() / np.abs(f).max()))
    report.add("refits on paths", total, "")
    report.add("pieces of paths", pieces, "")
    report.add("largest gap proved on a piece", gaps, "", at_most=1e-8)
    report.add("largest error of a path", worst, "", at_most=1e-9)


def times(report: harness.Report, quick: bool) -> None:
    """Compare the time of all derivatives with that of the fit."""
    for n in (300, 1000) if quick else (300, 1000, 2000):
        X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.2, random_state=0)
        y = sm.hide_labels(truth, per_class=25, random_state=0)
        for name, functions in (
            ("kernel", "kernel"),
            ("landmarks", sm.kernels.Landmarks(100)),
            ("eigenvectors", sm.spectra.Eigenvectors(100)),
        ):
            clf = sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, kernel=4.0, loss="squared_hinge", functions=functions)
            fit, own = [], []
            for _ in range(7):
                start = time.process_time()
                clf.fit(X, y)
                middle = time.process_time()
                sm.sensitivity(clf)
                fit.append(middle - start)
                own.append(time.process_time() - middle)
            report.add(f"time over the fit's, {n} samples, {name}", min(own) / min(fit), "", at_most=0.2)


def main() -> None:
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("sensitivity", "Sensitivities")
    warnings.simplefilter("ignore")
    n_problems = 24 if options.quick else 200
    worst: dict[str, list[float]] = {}
    refused = 0
    for seed in range(n_problems):
        obj = problem(seed)
        try:
            for name, error in errors(obj, seed % obj.labels.n_labeled).items():
                worst.setdefault(name, []).append(error)
        except InvalidInputError:
            refused += 1
    report.add("problems", n_problems, "")
    report.add("of these without derivatives", refused, "")
    for name, each in worst.items():
        report.add(f"derivative in {name}, {len(each)} compared: largest relative error", max(each), "", at_most=1e-8)
        report.add(f"derivative in {name}: 95th percentile", float(np.quantile(each, 0.95)), "")
    ranges(report, 6 if options.quick else 34, 20)
    paths(report, 3 if options.quick else 12)
    times(report, options.quick)
    print(f"written to {report.write()}")


if __name__ == "__main__":
    main()
