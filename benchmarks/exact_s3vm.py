"""Exact S3VMs on the instances of SDP-S3VM (arXiv 2312.09789): value, proved bound, gap, nodes, seconds, cuts, labels.

    python benchmarks/exact_s3vm.py                      six instances, five draws, an hour each
    python benchmarks/exact_s3vm.py --quick              one draw, a minute each
    python benchmarks/exact_s3vm.py --only heart --limit 600 --share 0.1 0.2 0.3
    python benchmarks/exact_s3vm.py --jobs 2             with two processes: how much faster, and could be

The problem is the reference's: no intercept, the sum of decisions plus slacks of the unlabelled samples fixed to the
mean of the labels, C for labelled and C l / u for unlabelled samples, a linear kernel or exp(-|x - z|^2 / d), and C on
0.01 .. 100 by ten-fold cross-validation of the supervised SVM on the labelled samples: the smallest best C, the
linear kernel only if it is better. Of every class the first floor(0.3 n) samples of a permutation are labelled. Theirs
is Julia's, ours numpy's: the draws are others. ``--own`` minimises the package's objective instead: centred features,
the balance on the decisions, C* = C.

``--jobs`` solves each problem by one process and by several. The speed that is possible is simulated from the CPU
seconds that one process spends on each part of a round of nodes: free processes take the parts in their order, the rest
of the work stays serial, sending data costs nothing. It does not depend on what else the computer does; the seconds on
the wall do.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import _harness as harness
import numpy as np

import specmargin as sm
from reproduction.data import load
from specmargin.objectives import S3VM
from specmargin.optima.boxes.nodes import Bounding
from specmargin.optima.boxes.pivoting import nonnegative_qp
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, IntArray

NAMES = ("art100", "art150", "2moons", "connectionist", "heart", "ionosphere")
FOLDS = 10
GRID = 0.01 * 10.0 ** (4.0 * np.arange(21) / 20.0)


def drawn(name: str, share: float, draw: int, data: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return features, labels and known labels (0 where hidden) of one draw, -1 and +1."""
    data_set = load(f"s3vm_{name}", data_home=data)
    X, y = np.asarray(data_set.X), 2.0 * data_set.y - 1.0
    order = np.random.default_rng(12345 + draw).permutation(len(y))
    X, y = X[order], y[order]
    known = np.zeros(len(y))
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero(y == sign)
        rows = rows[: int(share * len(rows))]
        known[rows] = sign
    return X, y, known


def gram(X: FloatArray, kernel: str) -> FloatArray:
    """Return X X', or the radial kernel of width 1/d."""
    return X @ X.T if kernel == "linear" else sm.kernels.gram(X, kernel="rbf", gamma=1.0 / X.shape[1])


def accuracy(K: FloatArray, y: FloatArray, C: float, fold: IntArray) -> float:
    """Return the mean accuracy of the squared hinge without intercept on held-out folds."""
    right = []
    for k in range(FOLDS):
        rows, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if not len(held):
            continue
        H = (K[np.ix_(rows, rows)] + np.eye(len(rows)) / (2.0 * C)) * np.multiply.outer(y[rows], y[rows])
        a, _ = nonnegative_qp(H, np.ones(len(rows)))
        right.append(float(np.mean(y[held] * (K[np.ix_(held, rows)] @ (y[rows] * a)) > 0)))
    return round(float(np.mean(right)), 9)  # ties are ties


def chosen(X: FloatArray, known: FloatArray) -> tuple[str, float]:
    """Return kernel and C by cross-validation on the labelled samples."""
    rows = np.flatnonzero(known)
    y, fold = known[rows], np.zeros(len(rows), dtype=int)
    for sign in (-1.0, 1.0):
        fold[y == sign] = np.arange(int((y == sign).sum())) % FOLDS
    best = {}
    for kernel in ("rbf", "linear"):
        K = gram(X[rows], kernel)
        scores = [accuracy(K, y, C, fold) for C in GRID]
        k = int(np.argmax(scores))
        best[kernel] = (scores[k], float(GRID[k]))
    kernel = "linear" if best["linear"][0] > best["rbf"][0] else "rbf"
    return kernel, best[kernel][1]


def objective(X: FloatArray, known: FloatArray, kernel: str, C: float, own: bool) -> S3VM:
    """Return the reference's objective, or the package's."""
    Z = X if kernel == "linear" else sm.kernels.kernel_map(gram(X, kernel)).Z
    labels = sm.encode_labels(np.where(known == 0, np.nan, known), unlabeled=np.nan)
    if own:
        return S3VM(Z, labels, C=C)
    l, u = labels.n_labeled, len(labels.unlabeled)
    return S3VM(Z, labels, C=C, C_star=C * l / u, intercept="none", balance_on="slack")


def report_gap(report: harness.Report, name: str, obj: S3VM, how: str, y: FloatArray, limit: float) -> None:
    """Solve a problem and report its gap, with all else that the search tells."""
    start = time.process_time()
    result = sm.optima.branch_and_bound(obj, tol=1e-3, time_limit=limit)
    seconds, of = time.process_time() - start, result.certificate
    extra = {key: float(x) for key, x in result.variables.items() if key in ("n_cuts", "n_fixed", "root_bound")}
    root = 100.0 * (1.0 - extra.get("root_bound", np.nan) / of.primal_objective)
    right = float(np.mean(result.variables["labels"] == y[obj.unlabeled]))
    note = (
        f"{how}, u {len(obj.unlabeled)}, J {of.primal_objective:.8g}, bound "
        f"{of.dual_objective:.8g}, root {root:.2f} %, nodes {result.n_iter}, "
        f"cuts {extra.get('n_cuts', 0):.0f}, fixed {extra.get('n_fixed', 0):.0f}, "
        f"{seconds:.1f} CPU s, accuracy {right:.3f}"
    )
    report.add(f"{name}: gap", 100.0 * of.relative_gap, "%", at_most=0.1, note=note)


@contextmanager
def timed_parts() -> Iterator[list[list[float]]]:
    """Yield a list that gets the CPU seconds of every part, by rounds; a new round is an empty list at its end."""
    rounds: list[list[float]] = [[]]
    part = Bounding.part

    def timed(self: Bounding, *arguments: Any) -> Any:
        start = time.process_time()
        try:
            return part(self, *arguments)
        finally:
            rounds[-1].append(time.process_time() - start)

    Bounding.part = timed  # type: ignore[method-assign]
    try:
        yield rounds
    finally:
        Bounding.part = part  # type: ignore[method-assign]


def makespan(times: list[float], n_jobs: int) -> float:
    """Return the time until the last of some tasks ends, if each is taken by the first process that is free."""
    ends = [0.0] * n_jobs
    for each in times:
        k = int(np.argmin(ends))
        ends[k] += each
    return max(ends)


def compare_processes(report: harness.Report, name: str, obj: S3VM, n_jobs: int, limit: float) -> None:
    """Report how much faster several processes are than one, and could be by the times of the parts."""
    settings: dict[str, Any] = {"tol": 1e-3, "time_limit": limit}

    def solved(jobs: int, **more: Any) -> tuple[SolveResult, float, float]:
        start, cpu = time.perf_counter(), time.process_time()
        result = sm.optima.branch_and_bound(obj, n_jobs=jobs, **settings, **more)
        return result, time.perf_counter() - start, time.process_time() - cpu

    with timed_parts() as rounds:

        def ended(*_: Any) -> None:
            if rounds[-1]:
                rounds.append([])

        one, wall, cpu = solved(1, progress=ended)
    parts = sum(map(sum, rounds))
    apart = cpu - parts + sum(makespan(each, n_jobs) for each in rounds)
    several, quick, _ = solved(n_jobs)
    same = one.certificate == several.certificate
    note = (
        f"{one.n_iter} nodes, {cpu:.1f} CPU s, of it {100.0 * parts / cpu:.0f} % in parts of {len(rounds) - 1} rounds"
    )
    report.add(f"{name}: simulated, {n_jobs} processes", cpu / apart, note=note)
    note = f"{wall:.1f} and {quick:.1f} s; {'the same proof' if same else 'another proof, cut off by the limit'}"
    report.add(f"{name}: on the wall, {n_jobs} processes", wall / quick, note=note)


def main() -> None:
    given = harness.parser(__doc__ or "")
    given.add_argument("--only", nargs="*", default=NAMES, choices=NAMES, help="instances")
    given.add_argument("--limit", type=float, default=None, help="seconds of each")
    given.add_argument("--draws", type=int, default=None, help="draws of each")
    given.add_argument("--share", type=float, nargs="+", default=[0.3], help="labelled shares of every class")
    given.add_argument("--jobs", type=int, default=1, help="compare that many processes with one")
    given.add_argument("--own", action="store_true", help="the package's objective, C* = C")
    options = given.parse_args()
    limit = options.limit or (60.0 if options.quick else 3600.0)
    shares = ", ".join(f"{share:.0%}" for share in options.share)
    report = harness.Report("exact_s3vm", f"Exact S3VMs, {shares} labelled, {limit:g} s each")
    draws = range(options.draws or (1 if options.quick else 5))
    for name, share, draw in itertools.product(options.only, options.share, draws):
        X, y, known = drawn(name, share, draw, options.data)
        kernel, C = chosen(X, known)
        obj, of = objective(X, known, kernel, C, options.own), f"{name}, {share:.0%}, draw {draw}"
        if options.jobs > 1:
            compare_processes(report, of, obj, options.jobs, limit)
        else:
            report_gap(report, of, obj, f"{kernel} C {C:.3g}", y, limit)
    report.write()


if __name__ == "__main__":
    main()
