"""Time of label_robustness over that of the fit where decisions are linear; how near LapSVM's bounds are.

    OMP_NUM_THREADS=1 python benchmarks/label_robustness.py [--quick] [--data FOLDER]

Two and ten classes of Gaussian clusters, `LapRLS`, `SpectralRidge` and `SpectralFilterClassifier` with
``class_balance=None``; the goal is one fit. Then `LapSVM` on small problems of l labels: the radius that the bound of
`specmargin.objectives.held_out.flip_bounds` proves, the one that all sets of labels have, and the one of sets that are
found, without anything that `label_robustness` enumerates itself.
"""

from __future__ import annotations

import warnings

import numpy as np
from _harness import Report, compare, options, ratio

import specmargin as sm
from specmargin.objectives.held_out.label_flips import attacked_flips, enumerated_flips


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
    for name in ("moons", "clusters"):
        for loss in ("hinge", "squared_hinge"):
            gaps(report, name, 5 if args.quick else 50, loss)
    report.write()


def gaps(report: Report, name: str, n_problems: int, loss: str) -> None:
    """Report the three radii of LapSVM, means over the samples of all problems, and how often they are ordered."""
    rows = []
    for seed in range(n_problems):
        if name == "moons":
            X, truth = sm.datasets.make_two_moons(n_samples=40, noise=0.15, random_state=seed)
            y, weights = sm.hide_labels(truth, per_class=3 + seed % 3, random_state=seed), {"graph": 5}
        else:
            truth = np.arange(40) % 2
            X = np.random.default_rng(seed).normal(size=(40, 2)) + np.outer(2 * truth - 1, [2.0, 0.0])
            y, weights = sm.hide_labels(truth, per_class=8, random_state=seed), {"gamma_A": 1.0, "gamma_I": 0.0}
        clf = sm.LapSVM(kernel=1.0 if name == "moons" else 0.05, loss=loss, class_balance=None, **weights).fit(X, y)
        labels, refit = clf._remembered().labels, clf._refits(None)

        def answer(codes: np.ndarray, labels: object = labels, refit: object = refit) -> tuple[np.ndarray, np.ndarray]:
            f = refit(labels.with_codes(codes))[0]
            return (f > 1e-9 * np.abs(f).max()).astype(int), f

        known, l = labels.sign_codes, labels.n_labeled
        enumerated = enumerated_flips(lambda codes, answer=answer: answer(codes)[0], known, 2, l)[1]
        found = (attacked_flips(answer, known, 2, np.full((40, l), -1), 0, 300) >= 0).sum(axis=1)
        rows.append(np.stack([clf._certified_flips(None)[0] + 1, enumerated, found]))
    proved, least, found = np.concatenate(rows, axis=1)
    assert (proved <= least).all(), "a bound is wrong"
    assert (least <= found).all(), "a set was missed"
    note = f"proved {proved.mean():.2f}, enumerated {least.mean():.2f}, found {found.mean():.2f}"
    title = f"LapSVM, {loss}, {name}: found = enumerated"
    report.add(title, 100.0 * float((found == least).mean()), "%", note=f"{note}; {n_problems} problems")


if __name__ == "__main__":
    main()
