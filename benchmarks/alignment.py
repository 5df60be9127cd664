"""Kernel-target alignment: the active set against the projected QP in CVXPY, and how exact it is.

    OMP_NUM_THREADS=1 python benchmarks/alignment.py [--quick]

Digits 3 and 8 of scikit-learn's data, q = 200 eigenvectors of the graph of five nearest neighbours, l = 100 labels.
Every timed call starts from a fresh objective: both solvers build the matrices of the problem. Ours takes about a
millisecond, shorter than a slice of the scheduler, so that a round times twenty calls of it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _harness import Report, compare, options, ratio
from sklearn.datasets import load_digits

import specmargin as sm
from specmargin.solvers.spectrum.alignment import alignment


def choose(truth: np.ndarray, l: int, seed: int) -> sm.labels.Labels:
    shuffled = np.random.default_rng(seed).permutation(len(truth))
    first = [shuffled[truth[shuffled] == c][0] for c in (0, 1)]
    labeled = np.append(first, shuffled[~np.isin(shuffled, first)][: l - 2])
    y = np.full(len(truth), -1)
    y[labeled] = truth[labeled]
    return sm.encode_labels(y)


CALLS = 20


def main() -> None:
    args = options(__doc__.splitlines()[0])
    report = Report("alignment", "Kernel-target alignment, digits 3-8, ratios of one run")
    X, target = load_digits(return_X_y=True)
    pair = np.isin(target, (3, 8))
    truth = (target[pair] == 3).astype(int)
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X[pair], n_neighbors=5), q=200, normalized=False)
    repeats = 5 if args.quick else 15

    for name, order in (("ordered", True), ("unordered", False)):
        fresh = partial(sm.objectives.Alignment, spectrum, choose(truth, 100, 0), order=order)
        rivals = {
            "cvxpy": lambda fresh=fresh: sm.solve(sm.problems.kta(fresh())),
            "ours": lambda fresh=fresh: [alignment(fresh()) for _ in range(CALLS)],
        }
        times = compare(rivals, repeats=repeats)
        milliseconds = 1e3 * float(np.median(times["ours"])) / CALLS
        report.add(
            f"{name}, l=100, q=200: CVXPY (QP, Clarabel) / active set",
            CALLS * ratio(times, "cvxpy", "ours"),
            at_least=50,
            note=f"ours {milliseconds:.2f} ms",
        )

    kkt, gap, ahead, steps = 0.0, 0.0, -np.inf, 0
    for l in (4, 10, 30, 100, 200):  # H is singular for l = 4 and l = 10
        for seed in range(2 if args.quick else 10):
            for order in (True, False):
                obj = sm.objectives.Alignment(spectrum, choose(truth, l, seed), order=order)
                result = alignment(obj)
                kkt = max(kkt, result.history["kkt"][-1])
                gap = max(gap, result.certificate.relative_gap)
                steps = max(steps, result.n_iter)
                if seed < 2:
                    theirs = sm.solve(sm.problems.kta(obj)).certificate.primal_objective
                    ahead = max(ahead, theirs / result.certificate.primal_objective - 1)
    report.add("largest violation of the optimality conditions", kkt, "rel", at_most=1e-12)
    report.add("largest certified gap, rounding included", gap, "rel", at_most=1e-10)
    report.add("alignment of CVXPY over ours, less one, at most", ahead, "rel", at_most=1e-12)
    report.add("most steps", steps, "steps")
    report.write()


if __name__ == "__main__":
    main()
