"""PCG in the primal: cost of an iteration, preconditioner of the bias, all classes at once, and safe stopping rules.

    python benchmarks/pcg.py            n = 5,000 for times, 1,000 and more for errors
    python benchmarks/pcg.py --quick    n = 1,500 and 500

Kv is one product of K with a vector in double precision: `dense float64 K @ v`. Without the real data,
scikit-learn's digits replace all of them. The twelve settings of the errors are a grid of gammas, with kernel
widths, neighbours and powers of the primal paper, and the median distance where it has none; the twelve with
two moons after them were chosen because the stability rule fails there.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import _harness as harness
import numpy as np

import specmargin as sm
from reproduction.data import DataNotFoundError, load, mnist_pair
from specmargin.objectives import LapSVM
from specmargin.results import SolveResult
from specmargin.solvers import factorized
from specmargin.solvers.manifold.pcg import pcg, pcg_one_vs_rest


@dataclass
class Task:
    """Samples, their classes 0 and 1 (or more), and the paper's kernel and graph."""

    name: str
    X: np.ndarray
    y: np.ndarray
    sigma: float | None = None
    n_neighbors: int = 10
    power: int = 1
    K: np.ndarray | None = None
    W: Any = None

    def objective(self, labels: Any, gamma_A: float, gamma_I: float, **graph: Any) -> LapSVM:
        """Return the problem; kernel and neighbours are computed once."""
        if self.K is None:
            gamma = 1 / (2 * self.sigma**2) if self.sigma else sm.kernels.resolve_gamma(self.X, "median")
            self.K = sm.kernels.gram(self.X, gamma=gamma)
            self.W = sm.graphs.knn_graph(self.X, n_neighbors=self.n_neighbors)
        L = sm.graphs.laplacian(self.W, **{"power": self.power, **graph})
        return LapSVM(self.K, L, labels, loss="squared_hinge", gamma_A=gamma_A, gamma_I=gamma_I)


def bundled(n: int, classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(np.flatnonzero(y < classes))[:n]
    return X[order] / 16.0, y[order]


def tasks(options: Any, n: int) -> Iterator[Task]:
    """Yield the two-class tasks of the comparison of errors."""
    rng = np.random.default_rng(0)
    try:
        for a, b in ((3, 8), (4, 9)):
            X, y = mnist_pair(a, b, n=n, random_state=0)
            yield Task(f"mnist {a}-{b}", X, y)
        uspst = load("uspst", data_home=options.data, download=False)
        order = rng.permutation(len(uspst.y))[:n]
        yield Task("uspst(b)", uspst.X[order], (uspst.y[order] >= 5).astype(int), 9.4, 10, 2)
        g50c = load("g50c", data_home=options.data, download=False)
        yield Task("g50c", g50c.X, g50c.y, 17.5, 50, 5)
    except (DataNotFoundError, ImportError):
        print("  the real data are not available: bundled digits instead")
        X, y = bundled(n)
        for a, b in ((3, 8), (4, 9), (1, 7)):
            pair = (y == a) | (y == b)
            yield Task(f"digits {a}-{b}", X[pair], (y[pair] == b).astype(int))
        yield Task("digits(b)", X, (y >= 5).astype(int))


def ten_classes(options: Any, n: int) -> Task:
    try:
        mnist = load("mnist", data_home=options.data, download=False)
        order = np.random.default_rng(0).permutation(len(mnist.y))[:n]
        return Task("mnist", mnist.X[order] / 255.0, mnist.y[order])
    except DataNotFoundError:
        return Task("digits", *bundled(n))


def cost_of_an_iteration(report: harness.Report, task: Task, repeats: int) -> None:
    """Time two lengths of one run, so that start, certificate and graph cancel."""
    labels = next(sm.encode_labels(sm.hide_labels(task.y, per_class=10, random_state=0)).one_vs_rest())
    obj = task.objective(labels, 1e-2, 1.0)
    v = np.random.default_rng(0).normal(size=len(obj.K))
    count = 40

    def products() -> None:
        for _ in range(count):
            obj.K @ v

    rivals = {
        "short": lambda: pcg(obj, tol=0.0, max_iter=10),
        "long": lambda: pcg(obj, tol=0.0, max_iter=10 + count),
        "products": products,
    }
    times = harness.compare(rivals, repeats=repeats)
    ratios = [(b - a) / c for a, b, c in zip(times["short"], times["long"], times["products"], strict=True)]
    report.add(f"iteration at n = {len(v)}", float(np.median(ratios)), "Kv", at_most=1.6)
    rest = np.median([(a - 10 / count * (b - a)) / (c / count) for a, b, c in zip(*times.values(), strict=True)])
    report.add("start, last check and certificate", float(rest), "Kv")


def preconditioners(report: harness.Report, all_tasks: list[Task]) -> None:
    """Count iterations to a gradient of 1e-8, every task with few, many and all labels."""
    ratios = []
    for task in all_tasks:
        for share in (0.05, 0.3, 1.0):
            n_labeled = max(10, round(share * len(task.y)))
            labels = sm.encode_labels(sm.hide_labels(task.y, n_labeled=n_labeled, random_state=0))
            obj = task.objective(labels, 1e-2, 1.0, power=1)
            ours, theirs = (pcg(obj, preconditioner=p, max_iter=5000).n_iter for p in ("scaled", "printed"))
            ratios.append(ours / theirs)
            report.add(f"  {task.name}, {n_labeled} labels", ratios[-1], "x", note=f"{ours} and {theirs} iterations")
    mean = float(np.exp(np.mean(np.log(ratios))))
    report.add(f"iterations with 1/l over 1, geometric mean of {len(ratios)}", mean, "x", at_most=0.7)


def stacked(report: harness.Report, task: Task) -> None:
    """Train ten classes to one tolerance: stacked in single precision against one by one in double precision."""
    labels = sm.encode_labels(sm.hide_labels(task.y, per_class=10, random_state=0))
    binaries = list(labels.one_vs_rest())
    obj = task.objective(binaries[0], 1e-2, 1.0)
    objectives = [obj, *(task.objective(binary, 1e-2, 1.0) for binary in binaries[1:])]
    for tol, goal in ((1e-4, None), (1e-8, 6.0)):
        results: dict[str, list[SolveResult]] = {}
        seconds: dict[str, float] = {}
        for name, dtype in (("float32", np.float32), ("float64", np.float64), ("one by one", None)):
            start = time.perf_counter()
            if dtype is None:
                results[name] = [pcg(one, tol=tol) for one in objectives]
            else:
                results[name] = pcg_one_vs_rest(obj, labels, tol=tol, dtype=dtype)
            seconds[name] = time.perf_counter() - start
        note = ", ".join(f"{name} {sum(r.n_iter for r in rs)} its" for name, rs in results.items())
        report.add(
            f"ten classes, n = {len(task.y)}, to {tol:g}: float32 stack",
            seconds["one by one"] / seconds["float32"],
            "x",
            at_least=goal,
            note=note,
        )
        report.add("  the same in float64", seconds["one by one"] / seconds["float64"], "x")
        worst = max(
            abs(a.certificate.primal_objective / b.certificate.primal_objective - 1)
            for a, b in zip(results["float32"], results["one by one"], strict=True)
        )
        report.add("  objectives differ by", worst, "rel")


def stopping_rules(report: harness.Report, all_tasks: list[Task]) -> None:
    """Measure the error on the unlabelled samples, in points above that of the exact solution."""
    excess: dict[str, list[float]] = {"stability": [], "safe": []}
    iterations: dict[str, list[int]] = {"stability": [], "safe": []}
    for task in all_tasks:
        labels = sm.encode_labels(sm.hide_labels(task.y, n_labeled=50, random_state=1))
        U = labels.unlabeled

        def error(result: SolveResult, U: Any = U, task: Task = task) -> float:
            return 100 * float(np.mean((result.variables["f"][U] > 0) != (task.y[U] == 1)))

        for gamma_A in (1.0, 1e-1, 1e-2):
            obj = task.objective(labels, gamma_A, 1.0)
            exact = error(factorized(obj))
            row = []
            for rule in excess:
                result = pcg(obj, stopping=rule)
                excess[rule].append(error(result) - exact)
                iterations[rule].append(result.n_iter)
                row.append(f"{rule} {error(result):.1f} after {result.n_iter}")
            report.add(f"  {task.name}, gamma_A = {gamma_A:g}: exact error", exact, "%", note=", ".join(row))
    count = len(excess["safe"])
    report.add(f"safe, worst of {count}", max(excess["safe"]), "points", at_most=0.5)
    report.add(f"stability, worst of {count}", max(excess["stability"]), "points")
    report.add("iterations of safe, mean", float(np.mean(iterations["safe"])), "")
    report.add("iterations of stability, mean", float(np.mean(iterations["stability"])), "")


def proved_decisions(report: harness.Report, all_tasks: list[Task]) -> None:
    """Stop where decisions are proved: iterations to a gap of 1e-8, time of other rules, decisions off the optimum."""
    fewer: dict[float, list[float]] = {0.95: [], 1.0: []}
    slower: dict[str, list[float]] = {"stability": [], "safe": []}
    off = {"stability": 0, "safe": 0, "decisions": 0}
    for task in all_tasks:
        labels = sm.encode_labels(sm.hide_labels(task.y, n_labeled=50, random_state=1))
        for gamma_A in (1.0, 1e-1, 1e-2):
            exact = factorized(task.objective(labels, gamma_A, 1.0), tol=1e-13)
            obj = task.objective(labels, gamma_A, 1.0)  # not factorised
            best, signs = exact.certificate.primal_objective, exact.variables["f"] > 0
            values = np.array(pcg(obj, tol=0.0, max_iter=2000).history["objective"])
            needed = int(np.flatnonzero(values - best <= 1e-8 * best)[0])
            seconds: dict[str, float] = {}
            for rule in off:
                start = time.process_time()
                result = pcg(obj, stopping=rule)
                seconds[rule] = time.process_time() - start
                off[rule] += int(((result.variables["f"] > 0) != signs).sum())
            counts = {proved: pcg(obj, stopping="decisions", proved=proved).n_iter for proved in fewer}
            for proved, count in counts.items():
                fewer[proved].append(needed / count)
            for rule, times in slower.items():
                times.append(seconds["decisions"] / seconds[rule])
            note = ", ".join(f"{proved:.0%} proved after {count}" for proved, count in counts.items())
            report.add(f"  {task.name}, gamma_A = {gamma_A:g}: to a gap of 1e-8", needed, "its", note=note)
    for proved, each in fewer.items():
        name = f"iterations to 1e-8 over those that prove {proved:.0%}"
        report.add(name, float(np.exp(np.mean(np.log(each)))), "x")
    for rule, times in slower.items():
        report.add(f"time of 'decisions' over '{rule}', median", float(np.median(times)), "x")
    for rule, count in off.items():
        report.add(f"decisions off the optimum, {rule}", count, "", at_most=0 if rule == "decisions" else None)


def moons(report: harness.Report) -> None:
    """Label eight samples against three on twelve graphs: three samples, powers 1 and 3, two gammas."""
    excess: dict[str, list[float]] = {"stability": [], "safe": []}
    for power, gamma_A, seed in itertools.product((1, 3), (1e-3, 1e-4), range(3)):
        X, y_true = sm.datasets.make_two_moons(n_samples=400, noise=0.08, random_state=seed)
        rng = np.random.default_rng(seed)
        y = np.full(400, -1)
        for value, number in ((0, 8), (1, 3)):
            y[rng.choice(np.flatnonzero(y_true == value), number, replace=False)] = value
        labels = sm.encode_labels(y)
        L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6), normalized=False, power=power)
        obj = LapSVM(sm.kernels.gram(X, gamma=4.0), L, labels, loss="squared_hinge", gamma_A=gamma_A, gamma_I=1.0)
        U = labels.unlabeled
        results = {"exact": factorized(obj), **{rule: pcg(obj, stopping=rule, max_iter=20_000) for rule in excess}}
        errors = {
            name: 100 * float(np.mean((result.variables["f"][U] > 0) != (y_true[U] == 1)))
            for name, result in results.items()
        }
        errors_noted = [f"{rule} {errors[rule]:.1f} after {results[rule].n_iter}" for rule in excess]
        name = f"  two moons {seed}, power {power}, gamma_A = {gamma_A:g}: exact error"
        report.add(name, errors["exact"], "%", note=", ".join(errors_noted))
        for rule, values in excess.items():
            values.append(errors[rule] - errors["exact"])
    report.add("two moons, safe, worst of 12", max(excess["safe"]), "points", at_most=0.5)
    report.add("two moons, stability, worst of 12", max(excess["stability"]), "points", at_least=0.5)


def main() -> None:
    """Run what the command line asks for."""
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("pcg", "PCG in the primal")
    all_tasks = list(tasks(options, 500 if options.quick else 1000))
    large = ten_classes(options, 1500 if options.quick else 5000)
    cost_of_an_iteration(report, large, 3 if options.quick else 5)
    stacked(report, large)
    stopping_rules(report, all_tasks)
    proved_decisions(report, all_tasks)
    moons(report)
    preconditioners(report, all_tasks)
    print(f"written to {report.write()}")


if __name__ == "__main__":
    main()
