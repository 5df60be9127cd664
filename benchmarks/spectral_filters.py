"""Learned spectra over the features of nodes: speed, memory, certificates, and the ratio to a solver of cones.

    OMP_NUM_THREADS=1 python benchmarks/spectral_filters.py [--quick]

Cora (a stochastic block model where there are no data) with the labels of the public split: the whole fit, and the
margin of all classes by the numpy solver and by Clarabel on the compact form of CVXPY. A stochastic block model of
100,000 nodes with 500 features: the whole fit, in a process of its own, for the peak of memory; one with 100 features
next to SGC (steps along the edges and logistic regression). Then 300 random problems over blocks: 2 to 10 classes, 5 to
50 blocks of rank 1 to 200, equal, empty and constant ones among them, 20 to 1,000 labels, every loss, with and without
an order, C from 1e-4 to 1e5. Small ones are solved by CVXPY, too.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import _harness as harness
import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

import specmargin as sm
from reproduction.data import DataNotFoundError, load
from specmargin.objectives import BlockMargin
from specmargin.solvers import block_margin
from specmargin.spectra import filtered_features

TIGHT = {"tol_gap_rel": 1e-10, "tol_gap_abs": 1e-12, "tol_feas": 1e-10}
"""Of Clarabel, where values are compared: at its defaults it is right to about 1e-6 itself."""
LOSSES = ("hinge", "squared_hinge", "squared")
COST = 3.0
"""C of the margin that CVXPY solves, too: among those that leave-one-out chooses from."""
SMALL = 60
"""Labels up to which a random problem is solved by CVXPY as well."""


class Nodes(NamedTuple):
    """Features, adjacency, all classes, and those that are seen, -1 elsewhere."""

    X: Any
    W: sp.csr_array
    truth: np.ndarray
    y: np.ndarray


def block_model(n: int, d: int, n_classes: int = 5, degree: int = 10, homophily: float = 0.7, seed: int = 0) -> Nodes:
    """Return a stochastic block model with features, 20 labels a class.

    Every edge joins two nodes of one class with the probability `homophily`, of two classes otherwise. Features are
    Gaussian around a mean per class whose distance from the others is a fraction of the noise.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    order = np.argsort(truth, kind="stable")
    starts = np.searchsorted(truth[order], np.arange(n_classes + 1))
    u = rng.integers(n, size=n * degree // 2)
    other = (truth[u] + rng.integers(1, n_classes, size=len(u))) % n_classes
    kind = np.where(rng.random(len(u)) < homophily, truth[u], other)
    v = order[starts[kind] + (rng.random(len(u)) * np.diff(starts)[kind]).astype(int)]
    u, v = u[u != v], v[u != v]
    W = sp.csr_array((np.ones(2 * len(u)), (np.append(u, v), np.append(v, u))), shape=(n, n))
    W.data[:] = 1.0
    X, means = rng.normal(size=(n, d)), 1.5 / np.sqrt(d) * rng.normal(size=(n_classes, d))
    for k in range(n_classes):
        X[truth == k] += means[k]
    return Nodes(X, W, truth, sm.hide_labels(truth, per_class=20, random_state=seed))


def cora(folder: Path | None, quick: bool) -> tuple[str, Nodes]:
    """Return Cora with the labels of its public split, or what stands for it."""
    try:
        data = load("cora", data_home=folder)
    except DataNotFoundError:
        return "block model, 2708 x 300", block_model(300 if quick else 2708, 300, n_classes=7)
    y = np.full(len(data.y), -1)
    y[data.extras["train_idx"]] = data.y[data.extras["train_idx"]]
    return "Cora", Nodes(data.X, sp.csr_array(data.extras["W"]), data.y, y)


def fit(nodes: Nodes, **options: Any) -> Any:
    """Fit; what the graph's components and the classes' shares are like is said elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sm.SpectralFilterClassifier(**options).fit(nodes.X, nodes.y, graph=nodes.W)


def fits(report: harness.Report, name: str, nodes: Nodes, quick: bool) -> None:
    """Time features to predictions; say how many predictions single precision would change."""
    hidden = nodes.y < 0
    for learn in ("alignment", "margin", "ordered"):
        times = harness.compare({learn: partial(fit, nodes, learn=learn)}, repeats=2 if quick else 5)[learn]
        fitted = fit(nodes, learn=learn)
        share = 100 * float((fitted.transduction_ == nodes.truth)[hidden].mean())
        note = f"{share:.1f} % of the other nodes right, gap {fitted.result_.certificate.relative_gap:.0e}"
        goal = {"at_most": 2.0} if not quick else {}
        report.add(f"{name}: fit, {learn}", statistics.median(times), "s", **goal, note=note)
        limit = filtered_features.LARGE
        filtered_features.LARGE = 0
        single = fit(nodes, learn=learn)
        filtered_features.LARGE = limit
        changed = int((single.transduction_ != fitted.transduction_).sum())
        report.add("  predictions that blocks of float32 change", changed, "nodes")


def _large(n: int, d: int, learn: str) -> dict[str, float]:
    """Generate and fit in this process."""
    fit(block_model(300, 20), learn=learn)  # imports what is imported at first use
    nodes = block_model(n, d)
    begin, began = time.perf_counter(), time.process_time()
    fitted = fit(nodes, learn=learn)
    return {
        "seconds": time.perf_counter() - begin,
        "cpu": time.process_time() - began,
        "peak": peak_memory(),
        "right": 100 * float((fitted.transduction_ == nodes.truth)[nodes.y < 0].mean()),
        "gap": fitted.result_.certificate.relative_gap,
    }


def peak_memory() -> float:
    """Peak of this process in GB; the value of getrusage may be that of the parent, from before the exec."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def large(report: harness.Report, quick: bool) -> None:
    """Fit many nodes, features and graph included in the memory."""
    n, d = (5_000, 100) if quick else (100_000, 500)
    for learn in ("alignment", "margin"):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            measured = pool.apply(_large, (n, d, learn))
        note = f"{measured['cpu']:.0f} s of the processor, {measured['right']:.1f} % right, gap {measured['gap']:.0e}"
        report.add(f"{n:,} nodes x {d}: fit, {learn}", measured["seconds"], "s", at_most=60.0, note=note)
        report.add("  peak memory of the process", measured["peak"], "GB", at_most=4.0)


def sgc(nodes: Nodes, steps: Sequence[int]) -> float:
    """Return the share of right predictions of SGC: steps along the edges, chosen with C of logistic regression.

    One number of steps leaves no choice, and C is scikit-learn's default.
    """
    S, Z, seen = sm.graphs.normalized_adjacency(nodes.W), nodes.X, nodes.y >= 0
    best, predicted = -np.inf, nodes.y
    for k in range(1, max(steps) + 1):
        Z = S @ Z
        if k not in steps:
            continue
        if len(steps) == 1:
            predicted = LogisticRegression(max_iter=1000).fit(Z[seen], nodes.y[seen]).predict(Z)
            break
        model = LogisticRegressionCV(Cs=10, cv=5, max_iter=1000).fit(Z[seen], nodes.y[seen])
        score = float(np.mean([scores.mean(axis=0).max() for scores in model.scores_.values()]))
        if score > best:
            best, predicted = score, model.predict(Z)
    return float((predicted == nodes.truth)[~seen].mean())


def against_sgc(report: harness.Report, quick: bool) -> None:
    """Powers up to the fifth, weights and penalty chosen, next to SGC, its steps and C chosen, and five steps alone."""
    n = 5_000 if quick else 100_000
    nodes = block_model(n, 100)
    right = {}

    def ours() -> None:
        fitted = fit(nodes, filters=sm.spectra.Powers(5))
        right["ours"] = float((fitted.transduction_ == nodes.truth)[nodes.y < 0].mean())

    def theirs(name: str, steps: Sequence[int]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right[name] = sgc(nodes, steps)

    rivals = {"ours": ours, "chosen": partial(theirs, "chosen", range(1, 6)), "five": partial(theirs, "five", [5])}
    times = harness.compare(rivals, repeats=3, clock=time.process_time)
    for name, text, goal in (("chosen", "SGC, steps and C chosen", 1.0), ("five", "SGC, five steps", None)):
        goal = None if quick else goal
        text = f"{n:,} nodes, {nodes.W.nnz // 2:,} edges: {text} / powers up to 5, CPU"
        report.add(text, harness.ratio(times, name, "ours"), at_least=goal)
        report.add("  share of errors, ours less theirs", 100 * (right[name] - right["ours"]), "points", at_most=0.0)


def against_cvxpy(report: harness.Report, name: str, nodes: Nodes, quick: bool) -> None:
    """All classes at once on the labelled rows, which both get turned; both gaps are recomputed from the data."""
    bank = sm.spectra.filter_bank(sm.graphs.normalized_adjacency(nodes.W), nodes.X)
    labels = sm.encode_labels(nodes.y)
    rows = [F[labels.labeled] for F in bank.blocks]
    alone = replace(labels, labeled=np.arange(labels.n_labeled), n_samples=labels.n_labeled)
    for loss in ("squared",) if quick else LOSSES:
        obj = BlockMargin(rows, alone, C=COST, loss=loss)
        proved, answer = block_margin(obj), by_cvxpy(obj)
        rivals = {"ours": partial(block_margin, obj), "cvxpy": partial(by_cvxpy, obj)}
        times = harness.compare(rivals, repeats=1 if quick else 3, warm_up=False)
        gap = "no answer" if answer is None else f"gap {answer[1]:.0e}"
        seconds = {rival: statistics.median(measured) for rival, measured in times.items()}
        note = f"{seconds['cvxpy']:.1f} s, {gap}; ours {1e3 * seconds['ours']:.0f} ms"
        goal = {} if quick else {"at_least": 50.0}
        report.add(
            f"{name}, {loss}: compact form, Clarabel / ours", harness.ratio(times, "cvxpy", "ours"), **goal, note=note
        )
        report.add("  our relative gap", proved.certificate.relative_gap, "rel", at_most=1e-8)


def by_cvxpy(obj: BlockMargin, **options: float) -> tuple[float, float] | None:
    """Solve the compact form; return the solver's value and the recomputed gap, None if there is no answer."""
    built = sm.problems.block_margin(obj, form="compact")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = sm.solve(built, solver="CLARABEL", **options)
    except (cp.error.SolverError, sm.exceptions.SolverError):
        return None
    if not result.status.has_solution or built.problem.value is None:
        return None
    return float(built.problem.value), result.certificate.relative_gap


def draw(seed: int) -> BlockMargin:
    """Return a random problem; all of what it is made of depends on the seed."""
    rng = np.random.default_rng([16, seed])
    n_classes, n_blocks, l = int(rng.integers(2, 11)), int(rng.integers(5, 51)), int(20 * 50 ** rng.random())
    y = np.append(rng.integers(n_classes, size=l), -1)
    y[:n_classes] = range(n_classes)
    signal = np.eye(n_classes)[y] * rng.uniform(0, 3)
    blocks: list[np.ndarray] = []
    for _ in range(n_blocks):
        F, kind = rng.normal(size=(l + 1, int(200 ** rng.random()))), rng.random()
        if kind < 0.1 and blocks:
            F = blocks[int(rng.integers(len(blocks)))]
        elif kind < 0.2:
            F = np.zeros_like(F)
        elif kind < 0.25:
            F = np.tile(F[:1], (l + 1, 1))
        elif kind < 0.5:
            F = F + signal @ rng.normal(size=(n_classes, F.shape[1]))
        blocks.append(F * np.sqrt((l + 1) / max(float((F**2).sum()), 1e-300)))
    loss, labels = LOSSES[seed % 3], sm.encode_labels(y)
    if rng.random() < 0.25:
        labels = labels.weighted(rng.random(l) + 0.5)
    C, order, eps = 10 ** rng.uniform(-4, 5), bool(rng.random() < 0.4), 0.0 if rng.random() < 0.7 else 1e-6
    B = float(rng.uniform(1.05, 3)) if loss == "hinge" and rng.random() < 0.3 else np.inf
    return BlockMargin(blocks, labels, C=C, loss=loss, B=B, order=order, eps=eps)


def random_problems(report: harness.Report, quick: bool) -> None:
    """Prove them all; where CVXPY has an answer, hold the values against each other."""
    gaps, steps, seconds, differences, silent = [], [], [], [], 0
    total = 24 if quick else 300
    for seed in range(total):
        obj = draw(seed)
        begin = time.perf_counter()
        result = block_margin(obj)
        seconds.append(time.perf_counter() - begin)
        gaps.append(result.certificate.relative_gap)
        steps.append(result.n_iter)
        if obj.labels.n_labeled <= SMALL:
            answer = by_cvxpy(obj, **TIGHT)
            silent += answer is None
            if answer is not None:
                value = result.certificate.primal_objective
                differences.append(abs(answer[0] - value) / max(abs(value), 1e-300))
        if (seed + 1) % 50 == 0:
            print(f"  {seed + 1} of {total} problems", flush=True)
    report.add("random problems", total, "", at_least=None if quick else 300)
    report.add("share proved to 1e-8", 100 * float(np.mean(np.abs(gaps) <= 1e-8)), "%", at_least=100)
    report.add("largest relative gap", float(np.max(gaps)), "rel", at_most=1e-8)
    report.add("steps in the median", statistics.median(steps), "steps", note=f"{max(steps)} at most")
    report.add("seconds in the median", statistics.median(seconds), "s", note=f"{max(seconds):.1f} at most")
    note = f"{len(differences)} problems; no answer to {silent}"
    report.add("largest difference to CVXPY's value", float(np.max(differences)), "rel", at_most=1e-6, note=note)


def main() -> None:
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("spectral_filters", "Spectra over node features: fits, memory, certificates, CVXPY")
    name, nodes = cora(options.data, options.quick)
    fits(report, name, nodes, options.quick)
    large(report, options.quick)
    against_sgc(report, options.quick)
    against_cvxpy(report, name, nodes, options.quick)
    random_problems(report, options.quick)
    print(f"written to {report.write()}")


if __name__ == "__main__":
    main()
