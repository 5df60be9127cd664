"""`solvers.factorized`: ten exact classes in units of one LU factorisation, and its SVM against CVXPY.

Ten classes of 10,000 digits (MNIST, or Gaussian clusters without the real data), 100 labels: the factorisation, every
class, and every certificate, in units of one bare LU factorisation of the same matrix; the same in single precision
with refinement; against ten runs of preconditioned conjugate gradients in float64, one class at a time. Then the hinge
on 1,000 labelled samples against CVXPY, and a grid of 49 pairs of gammas in units of one fit.

Then kernels of few features, whose numerical rank is low, next to the same kernels stored (as functions they are), each
fit in a process of its own: CPU seconds, memory, and the optimum; and landmarks next to scikit-learn's.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import _harness as harness
import numpy as np
import scipy.linalg as sla

import specmargin as sm
from reproduction.data import DataNotFoundError, load
from specmargin.kernels import RBF, Landmarks
from specmargin.objectives import LapSVM
from specmargin.solvers import factorized
from specmargin.solvers.manifold.pcg import pcg

GAMMAS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        one_fit(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("factorized", "LapSVM and LapRLS from one factorisation")
    base, labels = ten_classes(options.data, 1500 if options.quick else 10_000)
    compare_lu(report, base, labels, options.quick)
    compare_pcg(report, base, labels)
    compare_cvxpy(report, options.quick)
    compare_grid(report)
    compare_ranks(report, options.quick)
    compare_landmarks(report, options.quick)
    print(f"written to {report.write()}")


def ten_classes(data: Any, n: int) -> tuple[LapSVM, sm.labels.Labels]:
    """Return the objective of the first class, and the labels of all."""
    rng = np.random.default_rng(0)
    try:
        mnist = load("mnist", data_home=data, download=False)
        rows = rng.permutation(len(mnist.y))[:n]
        X, truth = mnist.X[rows].astype(float) / 255.0, mnist.y[rows]
    except DataNotFoundError:
        truth = rng.integers(10, size=n)
        X = 2.0 * rng.normal(size=(10, 50))[truth] + rng.normal(size=(n, 50))
    y = sm.hide_labels(truth, per_class=10, random_state=0)
    K = sm.kernels.gram(X, gamma="median")
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=10, reduce="auto"), normalized=True)
    labels = sm.encode_labels(y)
    first = next(iter(labels.one_vs_rest()))
    return LapSVM(K, L, first, loss="squared_hinge", gamma_A=1e-2, gamma_I=1.0), labels


def fresh(base: LapSVM, **changes: Any) -> LapSVM:
    """Return a copy of the objective without its cached matrices."""
    keywords = {name: getattr(base, name) for name in ("labels", "loss", "gamma_A", "gamma_I", "fit_intercept")}
    return LapSVM(base.K, base.L, **{**keywords, **changes})


def every_class(base: LapSVM, labels: sm.labels.Labels, dtype: Any = np.float64) -> list[Any]:
    return [factorized(objective) for objective in fresh(base).reduced(dtype).one_vs_rest(labels)]


def bare_lu(base: LapSVM) -> float:
    """Return the seconds of LAPACK's factorisation of S, in place, in its own memory order."""
    S = np.asfortranarray(base.gamma_I * (base.L @ base.K))
    S[np.diag_indices_from(S)] += base.gamma_A
    return harness.seconds(partial(sla.lu_factor, S, overwrite_a=True, check_finite=False))


def compare_lu(report: harness.Report, base: LapSVM, labels: sm.labels.Labels, quick: bool) -> None:
    unit = bare_lu(base)
    for name, dtype, most in (("float64", np.float64, 1.4), ("float32, refined", np.float32, None)):
        start = time.perf_counter()
        results = every_class(base, labels, dtype)
        seconds = time.perf_counter() - start
        worst = max(result.certificate.relative_gap for result in results)
        goal = None if quick else most
        text = f"ten classes with proof / one bare LU, n={len(base.K)}, {name}"
        report.add(text, seconds / unit, at_most=goal, note=f"one LU {unit:.1f} s, worst gap {worst:.0e}")


def compare_pcg(report: harness.Report, base: LapSVM, labels: sm.labels.Labels) -> None:
    ours = harness.seconds(partial(every_class, base, labels))
    theirs = harness.seconds(
        lambda: [pcg(fresh(base, labels=one), stopping="gradient", tol=1e-8) for one in labels.one_vs_rest()]
    )
    report.add(f"ten runs of PCG, float64 / ten classes, n={len(base.K)}", theirs / ours, at_least=4)


def compare_cvxpy(report: harness.Report, quick: bool) -> None:
    rng = np.random.default_rng(0)
    l = 300 if quick else 1000
    X = rng.normal(size=(l + 200, 10))
    X[: len(X) // 2] += 0.8
    y = np.full(len(X), -1)
    labeled = rng.permutation(len(X))[:l]
    y[labeled] = labeled < len(X) // 2
    K = sm.kernels.gram(X, gamma=0.05)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    for gammas in ((0.1, 0.1), (1e-2, 1e-2), (1e-3, 1.0), (1e-6, 1.0)):
        obj = LapSVM(K, L, sm.encode_labels(y), gamma_A=gammas[0], gamma_I=gammas[1])
        obj = obj.reduced()
        built = sm.problems.lapsvm_dual(obj)
        rivals = {"cvxpy": partial(by_cvxpy, built), "ours": partial(factorized, obj)}
        times = harness.compare(rivals, repeats=3)
        gap = factorized(obj).certificate.relative_gap
        name = f"hinge, l={l}, gammas {gammas[0]:g}, {gammas[1]:g}: CVXPY's solve / ours"
        goal = None if quick else 10
        report.add(name, harness.ratio(times, "cvxpy", "ours"), at_least=goal, note=f"our gap {gap:.0e}")


def by_cvxpy(built: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built.problem.solve(solver="CLARABEL")


def samples(name: str, n: int) -> tuple[Any, Any]:
    """Return samples of a few features, or of eight, and labels of a hundred of them."""
    rng = np.random.default_rng(0)
    if name == "two moons":
        X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.1, random_state=0)
    elif name == "Swiss roll":
        angle = 1.5 * np.pi * (1 + 2 * rng.random(n))
        X = np.column_stack([angle * np.cos(angle) / 5, 4 * rng.random(n), angle * np.sin(angle) / 5])
        truth = angle > 9.4
    elif name == "3-D sensors":  # that see one state, which drifts, with noise
        state = np.cumsum(rng.normal(size=n)) / np.sqrt(n)
        X = np.column_stack([state, state**2, np.sin(3 * state)]) + 0.1 * rng.normal(size=(n, 3))
        truth = state > np.median(state)
    else:
        truth = np.arange(n) % 2
        X = rng.normal(size=(n, 8)) + 2.0 * truth[:, None] * (np.arange(8) < 2)
    y, shown = np.full(n, -1), rng.permutation(n)[:100]
    y[shown] = truth[shown]
    return X, y


def memory(field: str) -> float:
    """Return megabytes that this process holds (VmRSS), or has held (VmHWM); on Linux."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def one_fit(name: str, n: int, form: str) -> None:
    """Fit LapSVM in this process and write what it took as JSON: with the kernel as it is, or stored."""
    X, y = samples(name, n)
    kernel: Any = RBF("local").at(X)
    sm.LapSVM().fit(*samples(name, 300))
    before, start = memory("VmRSS"), time.process_time()
    weights = {"gamma_A": 1e-2, "gamma_I": 1e-4}
    model = sm.LapSVM(kernel=kernel if form == "own" else kernel.block, functions="kernel", **weights).fit(X, y)
    spent, proof = time.process_time() - start, model.result_.certificate
    told = {"seconds": spent, "MB": memory("VmHWM") - before, "gap": proof.relative_gap}
    print(json.dumps({**told, "objective": proof.primal_objective}))


def compare_ranks(report: harness.Report, quick: bool) -> None:
    """Fit kernels of low and of full rank as they are and stored, each in a process of its own."""

    def fitted(name: str, n: int, form: str) -> dict[str, float]:
        run = subprocess.run(
            [sys.executable, __file__, "--one", name, str(n), form], capture_output=True, text=True, check=True
        )
        return dict(json.loads(run.stdout.strip().splitlines()[-1]))

    n, many = (2500, 10_000) if quick else (10_000, 100_000)
    for name in ("two moons", "Swiss roll", "3-D sensors"):
        stored, own = fitted(name, n, "stored"), fitted(name, n, "own")
        goal, text = None if quick else 15, f"{name}, n={n}: stored / as it is,"
        note = f"{stored['seconds']:.2f} and {own['seconds']:.2f} s, gap {own['gap']:.0e}"
        report.add(f"{text} CPU", stored["seconds"] / own["seconds"], at_least=goal, note=note)
        note = f"{stored['MB']:.0f} and {own['MB']:.0f} MB"
        report.add(f"{text} memory", stored["MB"] / own["MB"], at_least=goal, note=note)
        apart = abs(stored["objective"] / own["objective"] - 1.0)
        report.add(f"{name}, n={n}: objectives differ by a share of", apart, at_most=1e-12)
    stored, own = fitted("8-D Gaussians", n, "stored"), fitted("8-D Gaussians", n, "own")
    report.add(f"8-D Gaussians, n={n}: as it is / stored, CPU", own["seconds"] / stored["seconds"], at_most=1.05)
    own = fitted("two moons", many, "own")
    note = f"{own['MB']:.0f} MB, gap {own['gap']:.0e}"
    report.add(f"two moons, n={many}: CPU", own["seconds"], "s", at_most=20, note=note)


def compare_landmarks(report: harness.Report, quick: bool) -> None:
    """Fit LapSVM on landmarks, its graph given, next to scikit-learn's Nystroem and RidgeClassifier without a graph."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeClassifier

    n, m = (2000, 400) if quick else (10_000, 2000)
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=n)
    X = rng.normal(size=(n, 50)) + 0.5 * truth[:, None]
    y = np.where(rng.permutation(n) < 100, truth, -1)
    W, width = sm.graphs.knn_graph(X, n_neighbors=10), RBF("local").at(X)

    def theirs() -> None:
        Z = Nystroem(gamma=width.gamma, n_components=m, random_state=0).fit_transform(X)
        RidgeClassifier().fit(Z[y >= 0], y[y >= 0]).predict(Z)

    ours = partial(sm.LapSVM(kernel=width, functions=Landmarks(m)).fit, X, y, W)
    times = harness.compare({"ours": ours, "scikit-learn": theirs}, repeats=3, clock=time.process_time)
    text = f"LapSVM on {m} landmarks, n={n} / scikit-learn's Nystroem and RidgeClassifier, CPU"
    report.add(text, harness.ratio(times, "ours", "scikit-learn"), at_most=None if quick else 0.35)


def compare_grid(report: harness.Report) -> None:
    """Walk a grid ratio by ratio: one factorisation serves all its pairs."""
    base, labels = ten_classes(None, 1000)
    pairs = sorted(((a, i) for a in GAMMAS for i in GAMMAS), key=lambda pair: round(np.log(pair[1] / pair[0]), 6))
    ratios = len({round(float(np.log(i / a)), 6) for a, i in pairs})
    unit = statistics.median([harness.seconds(partial(every_class, base, labels)) for _ in range(3)])

    def walk() -> None:
        current = fresh(base, gamma_A=pairs[0][0], gamma_I=pairs[0][1])
        for gamma_A, gamma_I in pairs:
            current = current.with_(gamma_A=gamma_A, gamma_I=gamma_I)
            for objective in current.one_vs_rest(labels):
                factorized(objective)

    seconds = harness.seconds(walk)
    report.add(f"a grid of {len(pairs)} pairs, {ratios} ratios / one fit, n=1000", seconds / unit, "fits")


if __name__ == "__main__":
    main()
