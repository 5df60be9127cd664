"""`compare`: CPU seconds, and what its folds gain from the factorisations that they share.

    OMP_NUM_THREADS=1 python benchmarks/comparison.py [--quick]

Two overlapping Gaussians in 50 dimensions: all standard methods on 5,000 rows with 200 labels. Then the search over
LapRLS alone on 1,000 rows with 100 labels, with factorisations that eleven sets of labels share, next to eleven fits;
the numbers of the table must be those of the fits.
"""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
from _harness import Report, compare, options, ratio

import specmargin as sm
from specmargin.tables.assessment.methods import Named


def table(n: int, n_labeled: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features, and labels with -1 where there are none."""
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(n, 50)), np.arange(n) % 2
    X[truth == 1, :3] += 1.2
    y, known = np.full(n, -1), rng.permutation(n)[:n_labeled]
    y[known] = truth[known]
    return X, y


def searched(X: np.ndarray, y: np.ndarray, refits: bool) -> sm.tables.Comparison:
    """Compare the search over LapRLS with the baseline; with refits every fold factorises for itself."""
    shared, Named.judged_fit = Named.judged_fit, _refitted if refits else Named.judged_fit
    try:
        return sm.compare(X, y, methods=["LabelSearch-LapRLS"])
    finally:
        Named.judged_fit = shared


def _refitted(method: Named, X: np.ndarray, codes: np.ndarray, seed: int, *_: object) -> tuple[object, None]:
    return method.fit(X, codes, seed), None


def main() -> None:
    args = options(__doc__.splitlines()[0])
    warnings.simplefilter("ignore")
    report = Report("comparison", "A comparison: CPU seconds, and folds that share factorisations")
    X, y = table(*((300, 40) if args.quick else (1000, 100)))
    rivals = {"shared": partial(searched, X, y, False), "refits": partial(searched, X, y, True)}
    times = compare(rivals, repeats=1, warm_up=False, clock=time.process_time)
    report.add("search over LapRLS: refits / shared", ratio(times, "refits", "shared"))
    shared, refitted = (function().row("LabelSearch-LapRLS") for function in rivals.values())
    same = all(
        np.isclose(getattr(shared, name), getattr(refitted, name), rtol=1e-9, equal_nan=True)
        for name in ("error", "balanced_accuracy", "log_loss", "wins", "losses", "p", "p_worse", "differs")
    )
    report.add("numbers of the table that are those of refits", 100.0 * same, "%", at_least=100)
    n, n_labeled = (600, 60) if args.quick else (5000, 200)
    start = time.process_time()
    sm.compare(*table(n, n_labeled), progress=True)
    report.add(
        f"all standard methods, {n} rows x 50, {n_labeled} labels", time.process_time() - start, "s", at_most=240
    )
    report.write()


if __name__ == "__main__":
    main()
