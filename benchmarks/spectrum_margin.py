"""`solvers.spectrum_margin`: the share of certified optima, and the speed compared with CVXPY.

A grid of problems on three neighbour graphs (one of them disconnected), then times in turns against the compact form
with Clarabel and ECOS, the literal form with Clarabel, and one eigendecomposition of the graph Laplacian.
"""

from __future__ import annotations

import itertools
import statistics
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import _harness as harness
import cvxpy as cp
import numpy as np
import scipy.linalg as sla

import specmargin as sm
from reproduction.data import DataNotFoundError, mnist_pair, newsgroups_pair
from specmargin.objectives import SpectrumMargin
from specmargin.solvers import spectrum_margin

GRID_C = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3)
GRID_B = (1.05, 1.1, 1.5, 2.5, 4.0, np.inf)
LABELS, EIGENVECTORS = (4, 20, 60, 100, 200, 500), (20, 200, 500)


def main() -> None:
    options = harness.options(__doc__)
    report = harness.Report("spectrum_margin", "STORM, STOAM and MKL: numpy interior point with active set")
    tasks = Tasks(options.data, options.quick)
    print(f"graphs: {', '.join(tasks.names)}", flush=True)
    certify_grid(report, tasks, options.quick)
    certify_hard(report, tasks, options.quick)
    compare_compact(report, tasks, options.quick)
    compare_literal(report, tasks, options.quick)
    compare_eigendecomposition(report, tasks, options.quick)
    print(f"written to {report.write()}")


class Tasks:
    """Three graphs of 1000 samples (less without the real data), the last one in several components."""

    def __init__(self, data: Any, quick: bool) -> None:
        n = 300 if quick else 1000
        try:
            digits = mnist_pair(3, 8, n=n, data_home=data)
            text = newsgroups_pair("pc-mac", n=n, data_home=data)
            self.names = ["MNIST 3-8", "20news pc-mac", "MNIST 3-8, mutual neighbours"]
        except DataNotFoundError:
            digits, text = sm.datasets.digits_pair(3, 8), sm.datasets.digits_pair(4, 9)
            self.names = ["digits 3-8", "digits 4-9", "digits 3-8, mutual neighbours"]
        self.n = len(digits[1])
        self.data = [(*digits, "euclidean", "symmetric"), (*text, "cosine", "symmetric")]
        self.data.append((*digits, "euclidean", "mutual"))

    @lru_cache  # noqa: B019 - one object, as long as the script runs
    def graph(self, k: int) -> Any:
        """Return the neighbour graph; a mutual one of five neighbours would have more components than some q."""
        X, _, metric, kind = self.data[k]
        return sm.graphs.knn_graph(X, n_neighbors=5 if kind == "symmetric" else 12, metric=metric, kind=kind)

    @lru_cache  # noqa: B019 - one object, as long as the script runs
    def spectrum(self, k: int) -> sm.spectra.Spectrum:
        """Return its eigenpairs."""
        return sm.spectra.laplacian_eigenpairs(self.graph(k), q=min(500, self.n - 1), normalized=False)

    def problem(self, k: int, l: int, q: int, C: float, B: float, order: bool, seed: int) -> SpectrumMargin:
        """Return one problem; the seed draws the labels."""
        y = sm.hide_labels(self.data[k][1], n_labeled=l, random_state=seed)
        return SpectrumMargin(self.spectrum(k).truncate(q), sm.encode_labels(y), C=C, B=B, order=order)


def gaps(problems: Iterator[SpectrumMargin], total: int) -> np.ndarray:
    relative_gaps = []
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for k, problem in enumerate(problems, 1):
            relative_gaps.append(abs(spectrum_margin(problem).certificate.relative_gap))
            if k % 200 == 0:
                print(f"  {k} of {total} problems, {time.perf_counter() - began:.0f} s", flush=True)
    return np.array(relative_gaps)


def certify_grid(report: harness.Report, tasks: Tasks, quick: bool) -> None:
    """Every problem of the grid once; splits differ from problem to problem."""
    labels, qs = ((20, 100), (20, 200)) if quick else (LABELS, EIGENVECTORS)
    grid = list(itertools.product(range(3), labels, [q for q in qs if q < tasks.n], GRID_C, GRID_B, (True, False)))
    if quick:
        grid = grid[::8]
    problems = (tasks.problem(k, l, q, C, B, o, seed) for seed, (k, l, q, C, B, o) in enumerate(grid))
    proved = gaps(problems, len(grid))
    report.add("problems of the grid", len(proved), "", at_least=None if quick else 1000)
    report.add("share proved to 1e-8", 100 * np.mean(proved <= 1e-8), "%", at_least=100)
    report.add("share proved to 1e-12", 100 * np.mean(proved <= 1e-12), "%", at_least=60)
    report.add("largest relative gap", proved.max(), "")


def certify_hard(report: harness.Report, tasks: Tasks, quick: bool) -> None:
    labels, qs = ((20, 100), (20, 200)) if quick else (LABELS, (20, 200))
    grid = list(itertools.product(range(3), labels, [q for q in qs if q < tasks.n], GRID_B, (True, False)))
    proved = gaps((tasks.problem(k, l, q, 1e4, B, o, s) for s, (k, l, q, B, o) in enumerate(grid)), len(grid))
    report.add("C = 1e4: share proved to 1e-8", 100 * np.mean(proved <= 1e-8), "%", at_least=95)
    report.add("C = 1e4: largest relative gap", proved.max(), "")


def compare_compact(report: harness.Report, tasks: Tasks, quick: bool) -> None:
    """Whole calls, from the objective to the answer; and CVXPY on a problem that it has compiled before.

    The rivals' answers are not certified, ours are.
    """
    goals = {20: None, 60: 4, 100: 4, 200: 5, 999: 8}
    settings = [(1.0, np.inf), (10.0, 1.5), (100.0, 1.1)]
    names = [name for name in ("CLARABEL", "ECOS") if name in sm.problems.default_solvers()]
    for l in [l for l in goals if l < tasks.n]:
        ratios: dict[str, list[float]] = {}
        failures: list[str] = []
        for k, (C, B) in itertools.product(range(1 if l == 999 else 2), settings[: 1 if quick else None]):
            for seed in range(1 if quick or l > 200 else 3):
                problem = tasks.problem(k, l, min(200, tasks.n - 1), C, B, True, seed)
                rivals = {"numpy": partial(spectrum_margin, problem)}
                for name in names:
                    compiled = sm.problems.storm(problem)
                    rival(compiled, name, failures)
                    rivals[name] = partial(fresh, problem, name, failures)
                    rivals[f"{name} compiled"] = partial(rival, compiled, name, failures)
                times = harness.compare(rivals, repeats=1, warm_up=l <= 200)
                for rival_name in rivals:
                    ratios.setdefault(rival_name, []).append(times[rival_name][0] / times["numpy"][0])
        medians = {
            rival_name: statistics.median(values) for rival_name, values in ratios.items() if rival_name != "numpy"
        }
        fastest = min(medians[name] for name in names)
        note = ", ".join(f"{rival_name} {median:.1f}" for rival_name, median in medians.items())
        note += f"; no answer: {', '.join(sorted(set(failures)))}" if failures else ""
        report.add(f"compact form, faster solver / numpy, l={l}", fastest, at_least=goals[l], note=note)


def fresh(problem: SpectrumMargin, name: str, failures: list[str]) -> None:
    """Build the CVXPY problem and solve it."""
    rival(sm.problems.storm(problem), name, failures)


def rival(built: sm.problems.BuiltProblem, name: str, failures: list[str]) -> None:
    """Solve by CVXPY; a solver that gives up is charged the time until then, and named."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            built.problem.solve(solver=name)
    except cp.error.SolverError:
        failures.append(name)


def compare_literal(report: harness.Report, tasks: Tasks, quick: bool) -> None:
    """Time the paper's literal problem once per l: it takes minutes. A solver that gives up is charged until then."""
    q = 40 if quick else 200
    for l in (60,) if quick else (60, 100):
        problem = tasks.problem(0, l, q, 10.0, 1.5, True, 0)
        built = sm.problems.storm(problem, "literal")
        failures: list[str] = []
        literal = harness.seconds(partial(rival, built, "CLARABEL", failures))
        numpy = statistics.median(harness.compare({"numpy": partial(spectrum_margin, problem)}, repeats=9)["numpy"])
        goal = None if quick else 2000
        note = f"{literal:.0f} s{', no answer' if failures else ''}"
        report.add(f"literal form, Clarabel / numpy, l={l}, q={q}", literal / numpy, at_least=goal, note=note)


def compare_eigendecomposition(report: harness.Report, tasks: Tasks, quick: bool) -> None:
    L = np.asarray(sm.graphs.laplacian(tasks.graph(0)).matrix.toarray())
    for l in (60, 100):
        problem = tasks.problem(0, l, min(200, tasks.n - 1), 10.0, 1.5, True, 0)
        rivals = {
            "eigh": partial(sla.eigh, L, subset_by_index=(0, min(200, tasks.n) - 1)),
            "numpy": partial(spectrum_margin, problem),
        }
        times = harness.compare(rivals, repeats=3 if quick else 7)
        share = harness.ratio(times, "numpy", "eigh")
        goal = None if quick else 0.2
        report.add(f"one STORM fit / one eigendecomposition, n={tasks.n}, l={l}", share, at_most=goal)


if __name__ == "__main__":
    main()
