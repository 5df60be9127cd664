"""Compilation of every builder's problem against that of the same program in numbers: seconds and memory.

    OMP_NUM_THREADS=1 python benchmarks/compile_builders.py [--quick]

2,000 samples, 300 labels, 200 eigenvectors; `--quick` has a quarter of each. For LapSVM and STORM in the primal and for
the spectral ridge the program in numbers is written by hand; elsewhere it is the built problem with values in place of
its parameters. Each compilation runs in a process forked for it, in turns, so that its peak of memory is its own;
seconds are those of the processor. The literal form of STORM, which is for small oracles, is left out. LapSVM with a
fairness constraint is measured next to Clarabel's own time.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from _harness import Report, options
from cvxpy.reductions.eval_params import EvalParams

import specmargin as sm
from specmargin.objectives.spectral_ridge import power_spectrum

MOST = 100.0
"""Megabytes that a builder may need above the program in numbers."""
LIMIT = 8 << 30
"""Bytes of a process: a compilation that needs more fails instead of filling the computer."""


class Data:
    """Samples of two classes with labels, a kernel, a Laplacian and a spectrum."""

    def __init__(self, n: int, n_labeled: int, q: int) -> None:
        rng = np.random.default_rng(0)
        self.truth = np.arange(n) % 2
        self.X = rng.normal(size=(n, 10)) + 1.2 * self.truth[:, None] * (np.arange(10) < 3)
        y = np.full(n, -1)
        at = np.append([0, 1], 2 + rng.permutation(n - 2)[: n_labeled - 2])
        y[at] = self.truth[at]
        self.y, self.labels = y, sm.encode_labels(y)
        W = sm.graphs.knn_graph(self.X, n_neighbors=10)
        self.K, self.L = sm.kernels.gram(self.X, gamma=0.05), sm.graphs.laplacian(W)
        self.spectrum = sm.spectra.laplacian_eigenpairs(W, q=q)


def problems(data: Data) -> dict[str, Callable[[], Any]]:
    """Return what builds each problem, by its name."""

    def lapsvm(build: Callable[[Any], Any], loss: str) -> Any:
        return build(sm.objectives.LapSVM(data.K, data.L, data.labels, loss=loss, gamma_A=0.01, gamma_I=0.01))

    def storm(form: Any, **given: Any) -> Any:
        return sm.problems.storm(sm.objectives.SpectrumMargin(data.spectrum, data.labels, C=10.0, **given), form)

    def blocks(form: Any) -> Any:
        rest = np.hstack([data.X[:, 5:], data.X**2])
        return sm.problems.block_margin(sm.objectives.BlockMargin([data.X[:, :5], rest], data.labels), form)

    def ridge() -> Any:
        delta = power_spectrum(data.spectrum)
        return sm.problems.spectral_ridge_primal(sm.objectives.SpectralRidge(data.spectrum, data.labels, delta, 0.1))

    def rmm(build: Callable[[Any], Any]) -> Any:
        known = data.labels.labeled
        K = data.K[np.ix_(known, known)]
        return build(sm.objectives.RMM(K, sm.encode_labels(data.truth[known]), C=1.0, B=1.5))

    def cccp(loss: str) -> Any:
        s3vm = sm.objectives.S3VM(data.X, data.labels, loss, C=1.0, C_star=0.1)
        return sm.problems.cccp_subproblem(s3vm, np.zeros(len(s3vm.unlabeled)))

    s3vm = sm.objectives.S3VM(data.X, data.labels, "hinge", C=1.0, C_star=0.1)
    return {
        "lapsvm_dual": partial(lapsvm, sm.problems.lapsvm_dual, "hinge"),
        **{f"lapsvm_primal, {loss}": partial(lapsvm, sm.problems.lapsvm_primal, loss) for loss in HINGES},
        "spectral_ridge_primal": ridge,
        "kta": lambda: sm.problems.kta(sm.objectives.Alignment(data.spectrum, data.labels)),
        "rmm": partial(rmm, sm.problems.rmm),
        "rmm_primal": partial(rmm, sm.problems.rmm_primal),
        **{f"storm, {form}": partial(storm, form, B=1.5) for form in ("chained", "compact", "primal")},
        "stoam, primal": partial(storm, "primal"),
        "mkl, primal": partial(storm, "primal", order=False),
        **{f"block_margin, {form}": partial(blocks, form) for form in ("literal", "compact", "primal")},
        "s3vm_relaxation": lambda: sm.optima.s3vm_relaxation(s3vm),
        **{f"cccp_subproblem, {loss}": partial(cccp, loss) for loss in ("hinge", "squared_hinge", "huber_hinge")},
    }


HINGES: dict[str, Callable[[Any], Any]] = {
    "hinge": lambda t: cp.sum(cp.pos(1 - t)),
    "squared_hinge": lambda t: cp.sum_squares(cp.pos(1 - t)),
    "squared": lambda t: cp.sum_squares(1 - t),
}


def by_hand(name: str, data: Data) -> cp.Problem | None:
    """Return a problem in numbers, where it is written here."""
    sign, labeled = data.labels.sign, data.labels.labeled
    if name.startswith("lapsvm_primal"):
        values, V = np.linalg.eigh(data.K)
        R = (V * np.sqrt(np.maximum(values, 0)))[:, values > 1e-13 * values[-1]]
        rates, turn = np.linalg.eigh(R.T @ (data.L @ R))
        R, w, b = R @ turn, cp.Variable(R.shape[1]), cp.Variable()
        loss = HINGES[name.split(", ")[1]](cp.multiply(sign, R[labeled] @ w + b))
        return cp.Problem(cp.Minimize(loss + 0.01 * (cp.sum_squares(w) + np.maximum(rates, 0) @ cp.square(w))))
    U, q = np.sqrt(len(data.X)) * data.spectrum.eigenvectors[labeled], data.spectrum.q
    v, b = cp.Variable(q), cp.Variable()
    if name == "spectral_ridge_primal":
        f = (U * np.sqrt(power_spectrum(data.spectrum))) @ v + b
        return cp.Problem(cp.Minimize(cp.sum_squares(sign - f) + 0.1 * cp.sum_squares(v)))
    if name != "storm, primal":
        return None
    f, delta, t, xi = U @ v + b, cp.Variable(q), cp.Variable(q), cp.Variable(len(sign), nonneg=True)
    order = [delta[0] >= 0, delta[1:-1] >= delta[2:], delta[-1] >= 0, cp.sum(delta) == 1]
    cones = cp.SOC(t + delta, cp.vstack([np.sqrt(2) * v, t - delta]), axis=0)
    margins = [cp.multiply(sign, f) + xi >= 1, f <= 1.5, f >= -1.5]
    return cp.Problem(cp.Minimize(cp.sum(t) + 10 * cp.sum(xi)), [*order, cones, *margins])


def memory(name: str) -> float:
    """Return megabytes of this process, those of now (VmRSS) or the most there were (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def compiled(problem: cp.Problem, queue: Any) -> None:
    """Compile and put seconds and megabytes, infinite ones where the limit is too low."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what is free, but kept, would be used again unseen
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak counts from now
    before, start = memory("VmRSS"), time.process_time()
    try:
        problem.get_problem_data("CLARABEL")
        queue.put((time.process_time() - start, memory("VmHWM") - before))
    except MemoryError:
        queue.put((np.inf, np.inf))


def forked(problem: cp.Problem) -> tuple[float, float]:
    """Return seconds and megabytes of a compilation in a process of its own."""
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=compiled, args=(problem, queue))
    child.start()
    measured: tuple[float, float] = queue.get()
    child.join()
    return measured


def measure(report: Report, name: str, built: Any, rival: cp.Problem | None, repeats: int) -> None:
    """Compile both in turns and add the ratio of their seconds and the difference of their megabytes."""
    how = "by hand" if rival is not None else "parameters as numbers"
    if rival is None:
        rival, _ = EvalParams().apply(built.problem)
        rival = cp.Problem(rival.objective, rival.constraints)
    pairs = [(forked(built.problem), forked(rival)) for _ in range(repeats)]
    (ours, megabytes), (theirs, others) = (np.median(np.array(one), axis=0) for one in zip(*pairs, strict=True))
    times = statistics.median(a[0] / b[0] for a, b in pairs)
    note = f"{ours:.3f} s and {megabytes:.0f} MB; {how} {theirs:.3f} s and {others:.0f} MB"
    report.add(f"{name}: time", times, "x", at_most=2.0, note=note)
    report.add(f"{name}: memory above it", megabytes - others, "MB", at_most=MOST)


def main() -> None:
    """Measure."""
    given = options(__doc__ or "")
    sizes = (500, 75, 50) if given.quick else (2000, 300, 200)
    report = Report("compile_builders", f"Compilation of the builders: n, l, q = {sizes}")
    data = Data(*sizes)
    for name, build in problems(data).items():
        measure(report, name, build(), by_hand(name, data), 3 if given.quick else 5)
    fair = sm.problems.models.fairness(data.X[:, 5] > 0)(problems(data)["lapsvm_primal, hinge"]())
    start = time.perf_counter()
    result = sm.solve(fair)
    whole, solver = time.perf_counter() - start, fair.problem.solution.attr["solve_time"]
    report.add("LapSVM with fairness: sm.solve over Clarabel", whole / solver, at_most=2.0, note=str(result))
    report.write()


if __name__ == "__main__":
    main()
