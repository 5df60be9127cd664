"""Label switching: seconds on text over those of QN-S3VM, seconds per pair of images, and its weighted SVM.

mac_windows (1946 messages, 7511 words, 50 labelled): `multi_switch` over `quasi_newton`, end to end and in turns, and
its error on the ten published splits, SVMlin's lam = 1e-3 and lam' = 1 in the units of `specmargin.objectives.S3VM`.
USPST, one digit against another: `label_switching` with the hinge, sigma = 8, C = C* = 100, as in the continuation
paper. Last, `finite_newton` on one weighted SVM against CVXPY: how far the objectives are apart, and the seconds.
Lines of real data that are not available are left out.
"""

from __future__ import annotations

import statistics
import time
import warnings
from functools import partial
from itertools import combinations
from typing import Any

import _harness as harness
import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import specmargin as sm
from reproduction.data import DataNotFoundError, load
from specmargin.objectives import S3VM, Features, WeightedSVM
from specmargin.solvers.s3vm.finite_newton import finite_newton
from specmargin.solvers.s3vm.label_switching import label_switching
from specmargin.solvers.s3vm.multi_switch import multi_switch
from specmargin.solvers.s3vm.quasi_newton import quasi_newton


def main() -> None:
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("label_switching", "Label switching and its weighted SVM")
    compare_cvxpy(report, options.quick)
    for part in (text, images):
        try:
            part(report, options.data, options.quick)
        except DataNotFoundError as error:
            print(f"left out: {error}")
    print(f"written to {report.write()}")


def hidden(truth: Any, labeled: Any) -> Any:
    """Return the labels of the binary truth with all but some hidden."""
    y = np.full(len(truth), -1)
    y[labeled] = truth[labeled]
    return sm.encode_labels(y)


def error(result: Any, truth: Any, labeled: Any) -> float:
    """Return the per cent of unlabelled samples on the wrong side."""
    wrong = (result.variables["f"] > 0) != truth.astype(bool)
    return 100.0 * float(np.delete(wrong, labeled).mean())


def text(report: harness.Report, folder: Any, quick: bool) -> None:
    data = load("mac_windows", data_home=folder, download=False)
    X, truth = sp.csr_array(data.X, dtype=float), (data.y > 0).astype(int)
    splits = data.labeled_idx[: 2 if quick else 10]
    l, u = splits.shape[1], len(truth) - splits.shape[1]

    def objectives(labeled: Any, lam: float) -> tuple[S3VM, S3VM]:
        labels, weights = hidden(truth, labeled), {"C": 1 / (2 * lam * l), "C_star": 1 / (2 * lam * u)}
        return (
            S3VM(X, labels, "squared_hinge", intercept="regularized", **weights),
            S3VM(X, labels, "smooth_hinge", "exp", **weights),
        )

    for lam in (1e-2, 1e-3, 1e-4):
        ours, theirs = objectives(splits[0], lam)
        rivals = {"switch": partial(multi_switch, ours), "qn": partial(quasi_newton, theirs)}
        times = harness.compare(rivals, repeats=2 if quick else 7)
        goal = 2.0 if lam == 1e-3 and not quick else None
        note = f"{statistics.median(times['switch']):.3f} s / {statistics.median(times['qn']):.3f} s"
        report.add(
            f"mac_windows, lam={lam:g}: multi_switch / quasi_newton",
            harness.ratio(times, "switch", "qn"),
            at_most=goal,
            note=note,
        )
    results = [(multi_switch(a), multi_switch(a.supervised())) for a, _ in (objectives(one, 1e-3) for one in splits)]
    pairs = list(zip(results, splits, strict=True))
    report.add("mac_windows: error of multi_switch", mean([error(r, truth, s) for (r, _), s in pairs]), "%")
    report.add("mac_windows: error of the supervised SVM", mean([error(r, truth, s) for (_, r), s in pairs]), "%")


def mean(values: list[float]) -> float:
    return float(np.mean(values))


def images(report: harness.Report, folder: Any, quick: bool) -> None:
    data = load("uspst", data_home=folder, download=False)
    errors, supervised, seconds, trainings = [], [], [], []
    for a, b in list(combinations(range(10), 2))[:: 9 if quick else 1]:
        rows = np.flatnonzero((data.y == a) | (data.y == b))
        X, truth = data.X[rows].astype(float), (data.y[rows] == b).astype(int)
        values, vectors = np.linalg.eigh(sm.kernels.gram(X, gamma=1 / (2 * 8.0**2)))
        kept = values > 1e-10 * values[-1]
        Z = vectors[:, kept] * np.sqrt(values[kept])
        for split in data.labeled_idx[: 1 if quick else 2]:
            labeled = np.flatnonzero(np.isin(rows, split))
            if len(np.unique(truth[labeled])) < 2:
                continue
            obj = S3VM(Z, hidden(truth, labeled), "hinge", C=100.0, intercept="free")
            start = time.perf_counter()
            result = label_switching(obj)
            seconds.append(time.perf_counter() - start)
            trainings.append(result.n_iter)
            errors.append(error(result, truth, labeled))
            supervised.append(error(label_switching(obj.supervised()), truth, labeled))
    note = f"{len(errors)} runs, {mean(trainings):.0f} trainings each"
    report.add("USPST pairs: label_switching", mean(seconds), "s", at_most=1.0, note=note)
    report.add("USPST pairs: error of label_switching, from 13.0", abs(mean(errors) - 13.0), "points",
               at_most=None if quick else 0.7, note=f"{mean(errors):.2f} %")  # fmt: skip
    report.add("USPST pairs: error of the supervised SVM", mean(supervised), "%")


def compare_cvxpy(report: harness.Report, quick: bool) -> None:
    rng = np.random.default_rng(0)
    n, d = (200, 30) if quick else (600, 100)
    X = rng.normal(size=(n, d))
    y = np.sign(X[:, 0] + 0.7 * rng.normal(size=n))
    svm = WeightedSVM(Features.of(X, "regularized", rows=np.arange(n)), 1.0 * (y > 0), 1.0 * (y < 0))
    w, b = cp.Variable(d), cp.Variable()
    cost = 0.5 * cp.sum_squares(w) + 0.5 * cp.square(b) + cp.sum_squares(cp.pos(1 - cp.multiply(y, X @ w + b)))
    problem = cp.Problem(cp.Minimize(cost))

    def by_cvxpy() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)

    times = harness.compare({"cvxpy": by_cvxpy, "ours": partial(finite_newton, svm)}, repeats=3)
    value = finite_newton(svm).certificate.primal_objective
    report.add("finite_newton: relative distance to CVXPY's optimum", abs(value / problem.value - 1), "", at_most=1e-10)
    report.add(f"n={n}, d={d}: CVXPY's solve / finite_newton", harness.ratio(times, "cvxpy", "ours"))


if __name__ == "__main__":
    main()
