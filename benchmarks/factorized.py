"""`solvers.factorized`: ten exact classes in units of one LU factorisation, and its SVM against CVXPY.

Ten classes of 10,000 digits (MNIST, or Gaussian clusters without the real data), 100 labels: the factorisation, every
class, and every certificate, in units of one bare LU factorisation of the same matrix; the same in single precision
with refinement; against ten runs of preconditioned conjugate gradients in float64, one class at a time. Then the hinge
on 1,000 labelled samples against CVXPY, and a grid of 49 pairs of gammas in units of one fit.
"""

from __future__ import annotations

import statistics
import time
import warnings
from functools import partial
from typing import Any

import _harness as harness
import numpy as np
import scipy.linalg as sla

import specmargin as sm
from reproduction.data import DataNotFoundError, load
from specmargin.objectives import LapSVM
from specmargin.solvers import factorized
from specmargin.solvers.manifold.pcg import pcg

GAMMAS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def main() -> None:
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("factorized", "LapSVM and LapRLS from one factorisation")
    base, labels = ten_classes(options.data, 1500 if options.quick else 10_000)
    compare_lu(report, base, labels, options.quick)
    compare_pcg(report, base, labels)
    compare_cvxpy(report, options.quick)
    compare_grid(report)
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
