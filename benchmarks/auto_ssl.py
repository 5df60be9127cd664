"""What AutoSSL costs next to LabelSpreading and LapSVM, and what it does with a class of one sample in fifty.

    python benchmarks/auto_ssl.py            1,500 and 20,000 digits, five sets of 1:50, eight draws
    python benchmarks/auto_ssl.py --quick    500 of scikit-learn's digits, two moons, two draws
    python benchmarks/auto_ssl.py --graphs   graphs alone: nine that courses use, four of nearest neighbours
    python benchmarks/auto_ssl.py --small    the cost of 1,500 digits alone
    python benchmarks/auto_ssl.py --predict  what predictions cost alone

Cost: seconds of the processor of a fit with 100 labels, in units of ``LabelSpreading(kernel="knn")`` on the same
samples in the same process; of `predict` at 1,000 new samples, in units of LapSVM's. A class of one in fifty: 1,000
samples, 20 of them of the rare class, 150 labels, 3 of them of the rare class; balanced accuracy on the unlabelled
samples, next to ``SVC(class_weight="balanced")``. How well it does on sets of even classes is the table ``python -m
reproduction tables auto_ssl``. Graphs alone: errors next to label spreading with alpha 0.2 and `SpectralRidge`, six
draws of two or three labels a class, on graphs of neighbours three draws of ten labels.
"""

from __future__ import annotations

import pickle
import resource
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import _harness as harness
import default_choices
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics import balanced_accuracy_score
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import specmargin as sm
from reproduction.data import DataNotFoundError, load
from reproduction.data.pairs import newsgroups_pair
from reproduction.papers._protocols.auto_ssl_sets import SETS as AUTO_SSL_SETS
from reproduction.tasks import samples

GOAL = 30.0
LABELS = 100
SAMPLES, RARE, KNOWN, KNOWN_RARE = 1000, 20, 150, 3

Data = tuple[Any, np.ndarray]


def mnist(folder: Any, *digits: int) -> Data:
    """Return MNIST in [0, 1], or two of its digits."""
    data = load("mnist", data_home=folder, download=False)
    rows = np.flatnonzero(np.isin(data.y, digits)) if digits else np.arange(len(data.y))
    y = (data.y[rows] == digits[0]).astype(int) if digits else data.y[rows].astype(int)
    return np.asarray(data.X[rows], dtype=float) / 255.0, y


def uspst(folder: Any) -> Data:
    """Return USPS, zeros against the rest."""
    data = load("uspst", data_home=folder, download=False)
    return np.asarray(data.X, dtype=float), (data.y == data.y.min()).astype(int)


def text(folder: Any) -> Data:
    """Return the two newsgroups on personal computers of the primal paper."""
    data = load("mac_windows", data_home=folder, download=False)
    return data.X, (data.y == data.y.max()).astype(int)


SETS: dict[str, Callable[[Any], Data]] = {
    "two moons": lambda folder: sm.datasets.make_two_moons(n_samples=3000, noise=0.15, random_state=0),
    "uspst, 0": uspst,
    "mnist 3-8": lambda folder: mnist(folder, 3, 8),
    "baseball-hockey": lambda folder: newsgroups_pair("baseball-hockey", n=None, data_home=folder),
    "mac_windows": text,
}


def seconds(work: Callable[[], Any]) -> float:
    """Return the seconds of the processor that one call takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def cost(report: harness.Report, name: str, X: np.ndarray, y: np.ndarray, repeats: int) -> None:
    """Compare one fit with one of LabelSpreading's."""
    hidden = sm.hide_labels(y, n_labeled=LABELS, random_state=0)
    fits: list[Any] = []
    ratios = []
    for _ in range(repeats):
        spreading = min(seconds(lambda: LabelSpreading(kernel="knn").fit(X, hidden)) for _ in range(3))
        own = seconds(lambda: fits.append(sm.AutoSSL().fit(X, hidden)))
        ratios.append(own / spreading)
    goal = {"at_most": GOAL} if len(X) == 1500 else {}
    note = f"{own:.1f} s against {spreading:.2f} s; pickle {len(pickle.dumps(fits[-1])) / 1e6:.1f} MB"
    report.add(f"cost: {name}, n = {len(X):,}", float(np.median(ratios)), "fits", note=note, **goal)


def predictions(report: harness.Report, n: int, d: int) -> None:
    """Compare the predictions of new samples, in the processor's time of rounds that alternate."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=n)
    X = rng.normal(size=(n, d)) + 0.6 * truth[:, None] * (np.arange(d) < 6)
    if d == 2:
        X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.2, random_state=0)
    y, new = np.where(rng.permutation(n) < LABELS, truth, -1), X[rng.integers(n, size=1000)]
    new = new + 0.3 * rng.normal(size=new.shape)
    fitted = {"ours": sm.AutoSSL().fit(X, y), "LapSVM": sm.LapSVM().fit(X, y)}
    rivals = {name: partial(model.predict, new) for name, model in fitted.items()}
    times = harness.compare(rivals, repeats=9, clock=time.process_time)
    note = f"{1e3 * min(times['ours']):.1f} and {1e3 * min(times['LapSVM']):.1f} ms at best"
    share = harness.ratio(times, "ours", "LapSVM")
    report.add(f"predict / LapSVM's, n = {n:,}, {d} features", share, at_most=5.0, note=note)


def rare(report: harness.Report, name: str, X: Any, y: np.ndarray, draws: int) -> None:
    """Compare balanced accuracies where one sample in fifty is positive."""
    scores = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        few, many = (rng.permutation(np.flatnonzero(y == k)) for k in (1, 0))
        rows = np.concatenate([few[:RARE], many[: SAMPLES - RARE]])
        truth = y[rows]
        known = np.zeros(len(rows), dtype=bool)
        known[:KNOWN_RARE] = known[RARE : RARE + KNOWN - KNOWN_RARE] = True
        svc = SVC(class_weight="balanced").fit(X[rows][known], truth[known]).predict(X[rows][~known])
        auto = sm.AutoSSL().fit(X[rows], np.where(known, truth, -1)).transduction_[~known]
        scores.append([balanced_accuracy_score(truth[~known], predicted) for predicted in (auto, svc)])
    (own, theirs), wins = np.mean(scores, axis=0), sum(a >= b for a, b in scores)
    note = f"SVC {theirs:.3f}; at least as good in {wins} of {draws} draws"
    report.add(f"1:50, balanced accuracy: {name}", float(own), "", at_least=float(theirs), note=note)


def graphs(report: harness.Report) -> None:
    """Compare errors on graphs whose nodes have no features."""
    every = [(name, W, y, 3 if np.bincount(y).min() > 6 else 2, 6) for name, W, y in default_choices.teaching_graphs()]
    for name in ("g50c", "mac-windows", "mnist 3-8 1:4", "pc-mac"):
        X, y, *_ = samples(AUTO_SSL_SETS[name], None)
        kept = np.sort(np.random.default_rng(0).permutation(len(y))[:800])
        every.append((name, sm.graphs.knn_graph(X[kept], 10), y[kept], 10, 3))
    table: dict[str, list[np.ndarray]] = {}
    for name, W, y, count, draws in every:
        errors = []
        for draw in range(draws):
            known = default_choices.labelled(y, count, draw, draws == 6)
            hidden, models = np.where(known, y, -1), [sm.SpectralRidge(), sm.AutoSSL()]
            predicted = [spread(W, y, known), *(one.fit(None, hidden, graph=W).transduction_ for one in models)]
            errors.append([100 * np.mean(one[~known] != y[~known]) for one in predicted])
        table.setdefault("teaching" if draws == 6 else "neighbours", []).append(np.mean(errors, axis=0))
        print(f"{name:24}", *(f"{error:6.1f}" for error in np.mean(errors, axis=0)))
    for kind, rows in table.items():
        spreading, ridge, auto = np.mean(rows, axis=0)
        note = f"label spreading {spreading:.1f}, SpectralRidge {ridge:.1f}"
        report.add(f"graphs alone, {kind}: error", float(auto), "%", at_most=min(spreading, ridge) + 1.0, note=note)


def spread(W: Any, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the classes of label spreading on a given graph, which scikit-learn's takes none of."""
    A = sp.csr_array(W).toarray().astype(float)
    root = np.sqrt(np.maximum(A.sum(axis=1), 1e-300))
    marked = np.zeros((len(y), y.max() + 1))
    marked[np.flatnonzero(known), y[known]] = 1.0
    return np.linalg.solve(np.eye(len(y)) - 0.2 * A / np.outer(root, root), marked).argmax(axis=1)


def main() -> None:
    """Measure all."""
    flags = {
        "predict": "what predictions cost alone",
        "graphs": "graphs alone",
        "small": "the cost of 1,500 digits alone",
    }
    given = harness.options(str(__doc__).partition("\n")[0], **flags)
    warnings.simplefilter("ignore")
    report = harness.Report("auto_ssl", "AutoSSL: cost in LabelSpreadings, rare classes, and graphs alone")
    if given.graphs:
        graphs(report)
        report.write()
        return
    for n, d in (
        ()
        if given.small
        else ((500, 20),)
        if given.quick
        else ((1000, 2), (1000, 20), (2000, 50), (4000, 20), (4000, 50))
    ):
        predictions(report, n, d)
    if given.predict:
        report.write()
        return
    sizes: list[tuple[str, Callable[[], Data], int]] = [
        ("MNIST 3 and 8", lambda: mnist(given.data, 3, 8), 1500),
        ("MNIST", lambda: mnist(given.data), 1500),
        ("MNIST", lambda: mnist(given.data), 20_000),
    ]
    if given.quick:
        sizes = [("digits", lambda: load_digits(return_X_y=True), 500)]
    for name, read, n in sizes:
        try:
            X, y = read()
        except DataNotFoundError as error:
            print(f"{name}: {error}")
            continue
        rows = np.random.default_rng(0).permutation(len(y))[:n]
        if not given.small or n == 1500:
            cost(report, name, np.asarray(X[rows], dtype=float), y[rows], 1 if n > 5000 or given.quick else 3)
    if given.small:
        report.write()
        return
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    report.add("peak memory of all that", peak, "GB", at_most=4.0)
    for name, read in list(SETS.items())[: 1 if given.quick else None]:
        try:
            X, y = read(given.data)
        except DataNotFoundError as error:
            print(f"{name}: {error}")
            continue
        rare(report, name, X, np.asarray(y), 2 if given.quick else 8)
    report.write()


if __name__ == "__main__":
    main()
