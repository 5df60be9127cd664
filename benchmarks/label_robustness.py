"""Time of label_robustness over that of the fit.

    OMP_NUM_THREADS=1 python benchmarks/label_robustness.py [--quick] [--data FOLDER]

Two and ten classes of Gaussian clusters, `LapRLS`, `SpectralRidge` and `SpectralFilterClassifier` with
``class_balance=None``; the goal is one fit.
"""

from __future__ import annotations

import warnings

import numpy as np
from _harness import Report, compare, options, ratio

import specmargin as sm


def samples(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features of clusters, and labels of ten samples of each."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % n_classes
    X = 3.0 * rng.normal(size=(n_classes, 10))[truth] + rng.normal(size=(n, 10))
    return X, sm.hide_labels(truth, per_class=10, random_state=0)


def main() -> None:
    args = options(__doc__.splitlines()[0])
    warnings.simplefilter("ignore")
    report = Report("label_robustness", "label_robustness of all samples over the fit")
    for n_classes in (2, 10):
        X, y = samples(500 if args.quick else 2000, n_classes)
        for clf in (
            sm.LapRLS(class_balance=None),
            sm.LapRLS(gamma_A=0.1, gamma_I=1.0, kernel=0.1, class_balance=None),
            sm.SpectralRidge(class_balance=None),
            sm.SpectralFilterClassifier(),
        ):
            fitted = clf.fit(X, y)
            rivals = {"fit": lambda clf=clf, X=X, y=y: clf.fit(X, y), "robustness": fitted.label_robustness}
            times = compare(rivals, repeats=3)
            note = f"{np.median(times['robustness']):.3f} s, {fitted.label_robustness()}"
            report.add(f"{clf}, {n_classes} classes"[:58], ratio(times, "robustness", "fit"), at_most=1.0, note=note)
    report.write()


if __name__ == "__main__":
    main()
