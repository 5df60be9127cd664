"""How defaults were chosen: weights and widths of LapRLS, numbers of samples, Laplacians and thresholds on graphs.

    python benchmarks/default_choices.py              all three studies
    python benchmarks/default_choices.py --only large     one of: weights, large, graphs
    python benchmarks/default_choices.py --quick          few sets and draws: a look, not a record
    python benchmarks/default_choices.py --docs        write what exists into docs/default_choices.md, compute nothing

"weights": LapRLS with the former width and ratio and with those of today, each alone and together, on generated sets
of two, three and more dimensions and on those of the table ``auto_ssl``. "large": LapRLS(), LapSVM() at 3,000, 12,000
and 30,000 samples. "graphs": every classifier over a spectrum, with either Laplacian and three thresholds, on teaching
graphs and on graphs of neighbours. Errors are per cent of the unlabelled samples. Every cell that is done is a line of
``results/default_choices.jsonl``: started again, the command computes what is missing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _harness as harness
import networkx as nx
import numpy as np
from sklearn.datasets import make_swiss_roll

import specmargin as sm
from reproduction.data import load
from reproduction.papers._protocols.auto_ssl_sets import SETS, SEVERAL
from reproduction.papers.auto_ssl import draw_labels
from reproduction.tasks import samples
from specmargin.graphs import Laplacian
from specmargin.kernels import RBF

RESULTS = harness.RESULTS / "default_choices.jsonl"
DOCS = Path(__file__).parents[1] / "docs" / "default_choices.md"
BEGIN, END = "<!-- tables of benchmarks/default_choices.py -->", "<!-- end of tables -->"
MOST = 400
"""Samples of a real set in the study of weights."""
SIZES = (3_000, 12_000, 30_000)
Samples = tuple[Any, np.ndarray]


def moons(n: int) -> Samples:
    """Two moons."""
    return sm.datasets.make_two_moons(n_samples=n, noise=0.1, random_state=0)


def blobs(n: int) -> Samples:
    """Four overlapping blobs in the plane."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    return 3.0 * np.column_stack([y % 2, y // 2]) + 0.9 * rng.standard_normal((n, 2)), y


def checkerboard(n: int) -> Samples:
    """Nine fields with narrow gaps, black and white."""
    X = 3.0 * np.random.default_rng(0).random((2 * n, 2))
    X = X[np.abs(X - np.round(X)).min(axis=1) > 0.06][:n]
    return X, (np.floor(X).sum(axis=1) % 2).astype(int)


def circles(n: int) -> Samples:
    """Two circles that touch."""
    return sm.datasets.make_two_circles(n_samples=n, noise=0.1, random_state=0)


def roll(n: int) -> Samples:
    """Roll a sheet up, with four classes along it."""
    X, t = make_swiss_roll(n, noise=0.3, random_state=0)
    return X, np.minimum((4 * (t - t.min()) / np.ptp(t)).astype(int), 3)


def gaussians(d: int, distance: float) -> Callable[[int], Samples]:
    """Two Gaussians in d dimensions."""

    def make(n: int) -> Samples:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, n)
        X = rng.standard_normal((n, d))
        X[:, 0] += distance * (y - 0.5)
        return X, y

    return make


def digits(n: int) -> Samples:
    """Return the first of a permutation of MNIST, ten classes."""
    whole = load("mnist")
    order = np.random.default_rng(0).permutation(len(whole.y))[:n]
    return whole.X[order] / 255.0, whole.y[order]


GENERATED: dict[str, Callable[[int], Samples]] = {
    "two moons": moons,
    "four blobs": blobs,
    "checkerboard": checkerboard,
    "two circles": circles,
    "Swiss roll": roll,
    "Gaussians, 10 dimensions": gaussians(10, 3.0),
    "Gaussians, 50 dimensions": gaussians(50, 3.5),
}
WEIGHTS = {
    "median, 100 (former)": {"kernel": RBF("median"), "gamma_I": "100 gamma_A"},
    "local, 100": {"gamma_I": "100 gamma_A"},
    "median, auto": {"kernel": RBF("median")},
    "local, auto": {"kernel": RBF("local")},
}


def fit(estimator: Any, X: Any, y: np.ndarray, known: np.ndarray, graph: Any = None) -> float:
    """Return the error of a fit on the unlabelled samples, nan where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = estimator.fit(X, np.where(known, y, -1), graph=graph)
        except sm.exceptions.SpecmarginError:
            return float("nan")
    return 100 * float(np.mean(fitted.transduction_[~known] != y[~known]))


def labelled(y: np.ndarray, count: int, draw: int, per_class: bool) -> np.ndarray:
    """Return which samples are labelled: so many of each class, or so many at random."""
    if per_class:
        return np.asarray(sm.hide_labels(y, per_class=count, random_state=draw) != -1)
    return np.isin(np.arange(len(y)), draw_labels(y, count, draw))


def weights(draws: int, quick: bool) -> Iterator[tuple[list[Any], Callable[[], float]]]:
    """Yield the cells of the study of weights: a key, and what computes it."""
    sets: list[tuple[str, str, Callable[[], Samples], bool, tuple[int, ...]]] = [
        (f"{name}, {n}", "two to 50 dimensions", lambda make=make, n=n: make(n), True, (3, 10))
        for name, make in GENERATED.items()
        for n in ((200,) if quick else (200, 800))
    ]
    for name, task in {} if quick else SETS.items():
        several = name in SEVERAL

        def read(task: Any = task) -> Samples:
            X, y, *_ = samples(task, None)
            kept = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST])
            return X[kept], y[kept]

        sets.append((name, "table auto_ssl", read, several, (2, 10) if several else (10, 50)))
    for name, group, make, per_class, counts in sets:
        made: list[Samples] = []
        for count in counts:
            for draw in range(draws):
                for word, params in WEIGHTS.items():

                    def compute(make: Any = make, made: Any = made, c: Any = (count, draw, per_class), p: Any = params):
                        if not made:
                            made.append(make())
                        X, y = made[0]
                        return fit(sm.LapRLS(**p), X, y, labelled(y, *c))

                    yield ["weights", group, name, count, draw, word], compute


def large(draws: int, quick: bool) -> Iterator[tuple[list[Any], Callable[[], float]]]:
    """Yield the cells of the study of sizes."""
    sets = dict(list(GENERATED.items())[:2]) if quick else {**GENERATED, "MNIST": digits}
    for n in SIZES[:2] if quick else SIZES:
        for name, make in sets.items():
            made: list[Any] = []
            for draw in range(draws if n == SIZES[0] else 1):
                for cls in (sm.LapRLS, sm.LapSVM):

                    def compute(make: Any = make, made: Any = made, n: int = n, cls: Any = cls, draw: int = draw):
                        if not made:
                            X, y = make(n)
                            made.extend([X, y, sm.graphs.knn_graph(sm.graphs.NeighborSearch(X, random_state=0), 10)])
                        X, y, W = made
                        return fit(cls(), X, y, labelled(y, 10, draw, True), graph=W)

                    yield ["large", name, n, draw, f"{cls.__name__}()"], compute


def teaching_graphs() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield graphs that courses use, with classes, and two whose degrees are far apart."""

    def by_groups(graph: nx.Graph, **options: Any) -> np.ndarray:
        nodes = list(graph)
        y = np.zeros(len(nodes), dtype=int)
        for k, group in enumerate(nx.community.greedy_modularity_communities(graph, **options)):
            y[[nodes.index(node) for node in group]] = k
        return y

    karate, novel = nx.karate_club_graph(), nx.les_miserables_graph()
    club = [int(karate.nodes[node]["club"] == "Officer") for node in karate]
    yield "karate", nx.to_numpy_array(karate), np.array(club)
    yield "les miserables", nx.to_numpy_array(novel), by_groups(novel, weight="weight")
    for name in ("florentine_families", "davis_southern_women"):
        graph = getattr(nx, f"{name}_graph")()
        yield name.replace("_", " "), nx.to_numpy_array(graph), by_groups(graph, cutoff=2, best_n=2)
    yield "caves", nx.to_numpy_array(nx.connected_caveman_graph(6, 10)), np.repeat(range(6), 10)
    yield (
        "two groups",
        nx.to_numpy_array(nx.planted_partition_graph(2, 60, 0.2, 0.05, seed=1)),
        np.repeat([0, 1], 60),
    )
    teams = nx.to_numpy_array(nx.random_partition_graph([11] * 10, 0.65, 0.035, seed=2))
    yield "ten groups", teams, np.repeat(range(10), 11)
    for name, n, groups, within in (("two blocks, hubs", 991, 2, 1.65), ("five blocks, hubs", 800, 5, 3.0)):
        rng = np.random.default_rng(groups - 2)
        y = rng.integers(0, groups, n)
        degrees = np.clip(8.0 * (rng.pareto(1.6, n) + 1.0), 6, 170)
        blocks = np.full((groups, groups), 0.35)
        np.fill_diagonal(blocks, within)
        p = np.minimum(np.outer(degrees, degrees) / degrees.sum() * blocks[np.ix_(y, y)], 1.0)
        W = np.triu(rng.random((n, n)) < p, 1)
        W = (W | W.T).astype(float)
        linked = W.any(axis=1)
        yield name, W[np.ix_(linked, linked)], y[linked]


OVER_SPECTRUM = (
    "STORM", "STOAM", "KTA", "SpectralKernelSVM", "XuSpectralSVM", "SpectralGraphTransducer", "SpectralRidge",
)  # fmt: skip


def graphs(draws: int, quick: bool) -> Iterator[tuple[list[Any], Callable[[], float]]]:
    """Yield the cells of the study of graphs."""
    every = [(name, "teaching", W, y, 3 if np.bincount(y).min() > 6 else 2) for name, W, y in teaching_graphs()]
    for name in () if quick else ("g50c", "mac-windows", "baseball-hockey 1:4", "mnist 3-8 1:4", "mnist 4-9", "pc-mac"):
        X, y, *_ = samples(SETS[name], None)
        kept = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST])
        every.append((name, "neighbours", sm.graphs.knn_graph(X[kept], 10), y[kept], 10))
    for name, group, W, y, count in every[:3] if quick else every:
        for normalized in (False, True):
            spectra: list[Any] = []
            for draw in range(draws):
                for method in OVER_SPECTRUM:
                    for rule in (None, "shrunk", "zscore"):

                        def compute(
                            W: Any = W, y: Any = y, c: Any = (count, draw, group == "teaching"),
                            normalized: bool = normalized, spectra: Any = spectra, method: str = method,
                            rule: Any = rule,
                        ) -> float:  # fmt: skip
                            n = W.shape[0]
                            if not spectra:
                                options = {"q": min(200, n), "normalized": normalized}
                                spectra.append(sm.spectra.laplacian_eigenpairs(W, **options))
                            model = getattr(sm, method)(laplacian=Laplacian(normalized=normalized), class_balance=rule)
                            return fit(model, np.eye(n), y, labelled(y, *c), graph=spectra[0])

                        yield ["graphs", group, name, normalized, draw, method, str(rule)], compute


STUDIES = {"weights": (weights, 4), "large": (large, 2), "graphs": (graphs, 4)}


def tables(done: dict[str, float]) -> list[str]:
    """Return Markdown of what was computed."""
    cells = [(*json.loads(key), error) for key, error in done.items() if error == error]
    return [*_weights_table(cells), *_large_table(cells), *_graphs_table(cells)]


def _mean(errors: dict[Any, list[float]]) -> float:
    """Return the mean over sets of the means over draws."""
    return float(np.mean([np.mean(one) for one in errors.values()]))


def _weights_table(cells: list[Any]) -> list[str]:
    by: dict[Any, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _, group, name, count, _, word, error in (cell for cell in cells if cell[0] == "weights"):
        by[group, word][name, count].append(error)
    groups = list(dict.fromkeys(group for group, _ in by))
    if not groups:
        return []
    sizes = [len({name for name, _ in by[group, next(iter(WEIGHTS))]}) for group in groups]
    heads = " | ".join(
        f"{group} ({size} sets) | most above the former" for group, size in zip(groups, sizes, strict=True)
    )
    lines = [f"| width, ratio of LapRLS | {heads} |", "|---|" + "---:|---|" * len(groups)]
    for word in WEIGHTS:
        parts = []
        for group in groups:
            former = by[group, next(iter(WEIGHTS))]
            above = {key: float(np.mean(e) - np.mean(former[key])) for key, e in by[group, word].items()}
            worst = max(above, key=lambda key: above[key])
            most = "" if word == next(iter(WEIGHTS)) else f"{above[worst]:+.1f} ({worst[0]}, {worst[1]} labels)"
            parts.append(f"{_mean(by[group, word]):.1f} | {most}")
        lines.append(f"| {word} | " + " | ".join(parts) + " |")
    return [*lines, ""]


def _large_table(cells: list[Any]) -> list[str]:
    by: dict[Any, list[float]] = defaultdict(list)
    for _, name, n, _, method, error in (cell for cell in cells if cell[0] == "large"):
        by[name, n, method].append(error)
    names, methods = (list(dict.fromkeys(key[at] for key in by)) for at in (0, 2))
    if not names:
        return []
    heads = " | ".join(f"{method}, {n:,}" for method in methods for n in SIZES)
    lines = [f"| ten labels per class | {heads} |", "|---|" + "---:|" * len(SIZES) * len(methods)]
    for name in names:
        row = [by.get((name, n, method)) for method in methods for n in SIZES]
        lines.append(f"| {name} | " + " | ".join("" if one is None else f"{np.mean(one):.1f}" for one in row) + " |")
    return [*lines, ""]


def _graphs_table(cells: list[Any]) -> list[str]:
    by: dict[Any, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _, group, name, normalized, _, method, rule, error in (cell for cell in cells if cell[0] == "graphs"):
        by[group, method, normalized, rule][name].append(error)
    groups = list(dict.fromkeys(key[0] for key in by))
    if not groups:
        return []
    rules = ("None", "shrunk", "zscore")
    lines = []
    for group in groups:
        count = len(by[group, OVER_SPECTRUM[0], True, "None"])
        heads = " | ".join(f"{kind}, {rule}" for kind in ("D - W", "normalized") for rule in rules)
        lines += [
            f"## Graphs: {group}",
            "",
            f"| {group} ({count} graphs) | {heads} |",
            "|---|" + "---:|" * 2 * len(rules),
        ]
        for method in OVER_SPECTRUM:
            row = [_mean(by[group, method, kind, rule]) for kind in (False, True) for rule in rules]
            lines.append(f"| {method} | " + " | ".join(f"{one:.1f}" for one in row) + " |")
        lines.append("")
    return lines


def main() -> None:
    """Compute what is missing, print the tables, and write them where that is asked for."""
    parser = harness.parser(str(__doc__).partition("\n")[0])
    parser.add_argument("--only", choices=list(STUDIES), default=None, help="one study")
    parser.add_argument(
        "--docs", action="store_true", help="write docs/default_choices.md from what exists, compute nothing"
    )
    given: argparse.Namespace = parser.parse_args()
    harness.RESULTS.mkdir(exist_ok=True)
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    done = {json.dumps(key): error for key, error in map(json.loads, lines)}
    with RESULTS.open("a", encoding="utf-8") as record:
        for name in () if given.docs else [given.only] if given.only else STUDIES:
            study, draws = STUDIES[name]
            for key, compute in study(1 if given.quick else draws, given.quick):
                if json.dumps(key) in done:
                    continue
                start = time.perf_counter()
                error = done[json.dumps(key)] = compute()
                record.write(json.dumps([key, error]) + "\n")
                record.flush()
                if time.perf_counter() - start > 10:
                    print(f"{key}: {error:.1f} % after {time.perf_counter() - start:.0f} s", flush=True)
    text = "\n".join(tables(done))
    print(text)
    if given.docs:
        page = DOCS.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        DOCS.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
