"""`graphs.NeighborSearch` at 70,000 rows: the cost of each search in units of an exact one, and its recall.

The unit is the exact search for 10 neighbours among all rows in 50 principal components. Times are CPU seconds of one
thread, in turns, so that a busy computer matters little. MNIST, or clusters of its size where it is not available; for
the cosine 20 newsgroups, or words drawn from a skewed vocabulary.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import _harness as harness
import numpy as np
import scipy.sparse as sp

from reproduction.data import DataNotFoundError, load
from specmargin.graphs import NeighborSearch, components, knn_graph, neighbor_weights

K = 10


def main() -> None:
    options = harness.options(__doc__)
    report = harness.Report("neighbors", "Neighbour graphs: exact in 50 principal components = 1")
    name, X, y = images(options.data)
    order = np.random.default_rng(0).permutation(len(X))[: 10_000 if options.quick else None]
    X, y = X[order], y[order]
    print(f"{name}, {len(X)} rows of {X.shape[1]}, {K} neighbours", flush=True)
    unit, lists = exact(report, X, y, options.quick)
    raw(report, X[:20_000], y[:20_000], 5000 if options.quick else 20_000)
    approximate(report, X, lists, unit, options.quick)
    cosine(report, options.data, 3000 if options.quick else 6000)
    print(f"written to {report.write()}")


def images(data: Any) -> tuple[str, np.ndarray, np.ndarray]:
    try:
        mnist = load("mnist", data_home=data, download=False)
        return "MNIST", mnist.X, mnist.y
    except DataNotFoundError:
        rng = np.random.default_rng(1)
        y = rng.integers(0, 10, size=70_000)
        # Curved classes of 12 dimensions, so that the neighbours are not those of pure noise.
        centres, maps = rng.normal(size=(10, 784)), rng.normal(size=(10, 12, 784))
        inner = rng.normal(size=(70_000, 12))
        X = np.empty((70_000, 784), dtype=np.float32)
        for c in range(10):
            X[y == c] = 2 * centres[c] + np.tanh(inner[y == c] @ maps[c] / 3)
        return "clusters", np.clip(128 + 30 * X, 0, 255).astype(np.uint8), y


def documents(data: Any) -> tuple[str, sp.csr_array]:
    from sklearn.feature_extraction.text import TfidfTransformer

    try:
        name, counts = "20news", load("20news", data_home=data, download=False).X
    except DataNotFoundError:
        name, rng = "drawn words", np.random.default_rng(2)
        chances = 1.0 / np.arange(1, 30_001)
        cols = rng.choice(30_000, size=18_000 * 150, p=chances / chances.sum())
        counts = sp.csr_array((np.ones(len(cols)), (np.repeat(np.arange(18_000), 150), cols)), shape=(18_000, 30_000))
    return name, sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_matrix(counts, dtype=float)))


def cpu(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of one call, and what it returned."""
    start = time.process_time()
    value = function()
    return time.process_time() - start, value


def purity(lists: np.ndarray, y: np.ndarray) -> float:
    """Percentage of listed neighbours that share the row's class."""
    return 100.0 * float((y[lists] == y[:, None]).mean())


def recall(lists: np.ndarray, truth: np.ndarray) -> float:
    """Share of the true neighbours that are listed."""
    rows = np.arange(len(truth))[:, None] * len(truth)
    return float(np.isin(lists + rows, truth + rows).mean())


def exact(report: harness.Report, X: np.ndarray, y: np.ndarray, quick: bool) -> tuple[float, np.ndarray]:
    # The unit grows with the square of the rows and the rest with the rows: the goals are those of 70,000.
    goals = {} if quick else {"at_most": 0.15}
    NeighborSearch(X[:3000], reduce=50).lists(K)  # loads scikit-learn
    m = len(X) // 7
    rounds = []
    for _ in range(3 if quick else 1):
        making, search = cpu(lambda: NeighborSearch(X, reduce=50))
        unit, lists = cpu(lambda s=search: s.lists(K))
        weighing, W = cpu(lambda s=search: knn_graph(s, K, weight="self_tuning"))
        training = NeighborSearch(X[m:], reduce=50)
        training.lists(K)
        tying, _ = cpu(lambda t=training: neighbor_weights(X[:m], t, K, weight="self_tuning"))
        rounds.append((making / unit, weighing / unit, tying / unit, unit))
    projection, weights, new, unit = (statistics.median(column) for column in zip(*rounds, strict=True))
    report.add("exact search in 50 components, CPU", unit, "s", note="the unit, 1")
    report.add("projection on 50 components", projection, **goals)
    report.add("self-tuning weights of the graph that was searched", weights, **goals)
    report.add("new points, a seventh of the rows against the rest", new, at_most=0.3)
    report.add("neighbours of the same class, 50 components", purity(lists, y), "%")
    mutual = components(knn_graph(search, K, kind="mutual"))
    report.add("components of the symmetric graph", components(W).n, "")
    report.add("components of the mutual graph", mutual.n, "", note=f"{mutual.n_isolated} isolated rows")
    return unit, lists


def raw(report: harness.Report, X: np.ndarray, y: np.ndarray, n: int) -> None:
    X, y = X[:n], y[:n]
    rows = {"raw": NeighborSearch(X), "50": NeighborSearch(X, reduce=50)}
    lists = {}
    seconds = {}
    for name, search in rows.items():
        seconds[name], lists[name] = cpu(lambda s=search: s.lists(K))
    note = f"{n} rows"
    columns = f"exact search in all {X.shape[1]} columns, over 50 components"
    report.add(columns, seconds["raw"] / seconds["50"], note=note)
    report.add("neighbours of the same class, all columns", purity(lists["raw"], y), "%", note=note)
    report.add("neighbours of the same class, 50 components", purity(lists["50"], y), "%", note=note)
    report.add("neighbours of 50 components that are those of all", recall(lists["50"], lists["raw"]), note=note)
    double = NeighborSearch(rows["50"].rows.astype(np.float64))
    single = recall(lists["50"], double.lists(K))
    report.add("recall in single precision", single, at_least=0.9999, note=note)


def approximate(report: harness.Report, X: np.ndarray, truth: np.ndarray, unit: float, quick: bool) -> None:
    try:
        first, _ = cpu(lambda: NeighborSearch(X[:5000], reduce=50, search="approximate").lists(K))
    except ImportError as error:
        print(f"approximate search not measured: {error}", flush=True)
        return
    search = NeighborSearch(X, reduce=50, search="approximate")
    seconds, lists = cpu(lambda: search.lists(K))
    report.add("approximate search, once compiled", seconds / unit, **({} if quick else {"at_most": 0.6}))
    report.add("approximate search, what compiling adds", first / unit)
    report.add("approximate search, recall", recall(lists, truth), at_least=0.99)
    graph = knn_graph(search, K)
    report.add("approximate search, components of the symmetric graph", components(graph).n, "")


def cosine(report: harness.Report, data: Any, n: int) -> None:
    from sklearn.neighbors import NearestNeighbors

    name, X = documents(data)
    X = X[np.random.default_rng(0).permutation(X.shape[0])[:n]]

    def library() -> np.ndarray:
        near = NearestNeighbors(n_neighbors=K + 1, metric="cosine", algorithm="brute").fit(X)
        return near.kneighbors(X, return_distance=False)

    ours = cpu(lambda: NeighborSearch(X, metric="cosine").lists(K))[0]
    theirs = cpu(library)[0]
    note = f"{name}, {n} rows"
    report.add("sparse cosine, time over scikit-learn's", ours / theirs, at_most=1.3, note=note)
    peak = {}
    for rival, function in (("ours", lambda: NeighborSearch(X, metric="cosine").lists(K)), ("theirs", library)):
        tracemalloc.start()
        function()
        peak[rival] = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    report.add("sparse cosine, memory held at most", peak["ours"], "MB", at_most=200, note=note)
    report.add("sparse cosine, memory over scikit-learn's", peak["ours"] / peak["theirs"], note=note)


if __name__ == "__main__":
    main()
