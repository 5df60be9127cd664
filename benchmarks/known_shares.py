"""What known class shares are worth: LapSVM on uspst and its pairs with true shares, with wrong ones, and without.

    OMP_NUM_THREADS=1 python benchmarks/known_shares.py [--quick] [--data FOLDER]

The published splits of uspst, heat weights, gamma_A 1e-6 and gamma_I 1e-2 (table 8 of the primal paper). What is
given as ``class_balance`` is None, a rule, the true shares of the classes, an interval of 10 points to both sides of
each, and shares that are wrong by 10 points: a tenth of the samples, drawn from random classes, is said to be of
others. Of pairs all 45 with the labels that the splits have of them.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Report, options

import specmargin as sm
from reproduction.data import DataNotFoundError, load

GAMMAS = {"gamma_A": 1e-6, "gamma_I": 1e-2}
WRONG = 0.1
GOALS = {"uspst": 9.0, "pairs": 2.0}


def wrong_shares(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return shares of which ten points are of other classes: half of these lose in proportion, the others gain."""
    loses = rng.permutation(len(shares)) < len(shares) / 2
    less = np.where(loses, shares, 0.0)
    more = np.where(loses, 0.0, shares)
    return np.asarray(shares - WRONG * less / less.sum() + WRONG * more / more.sum())


def rules(y: np.ndarray, rng: np.random.Generator, usual: str) -> dict[str, Any]:
    """Return what `class_balance` is given, by name."""
    names, shares = np.unique(y).tolist(), np.bincount(y)[np.unique(y)] / len(y)
    near = [(max(0.0, s - WRONG), min(1.0, s + WRONG)) for s in shares]
    given = {"true shares": shares, "within 10 points": near, "wrong by 10 points": wrong_shares(shares, rng)}
    return {"None": None, usual: usual, **{name: dict(zip(names, one, strict=True)) for name, one in given.items()}}


def errors(X: Any, y: np.ndarray, splits: Any, usual: str) -> dict[str, list[float]]:
    """Return the errors on the unlabelled samples in percent, split by split, by rule."""
    K = sm.kernels.gram(X, gamma=1.0 / (2.0 * 9.4**2))
    W = sm.graphs.KNN(10, kind="symmetric", weight="heat")(X)
    L = sm.graphs.Laplacian(power=2, normalized=True)(W)
    deformed = sm.kernels.deformed_kernel(K, L, GAMMAS["gamma_I"] / GAMMAS["gamma_A"]).matrix
    percent: dict[str, list[float]] = {}
    for split, labeled in enumerate(splits):
        hidden = np.full(len(y), -1)
        hidden[labeled] = y[labeled]
        if len(np.unique(y[labeled])) < len(np.unique(y)):
            continue
        for name, rule in rules(y, np.random.default_rng(split), usual).items():
            clf = sm.LapSVM(gamma_A=GAMMAS["gamma_A"], gamma_I=0.0, kernel="precomputed", class_balance=rule)
            wrong = clf.fit(deformed, hidden).transduction_ != y
            percent.setdefault(name, []).append(100.0 * float(np.mean(wrong[hidden < 0])))
    return percent


def main() -> None:
    args = options(__doc__.splitlines()[0])
    warnings.simplefilter("ignore")
    report = Report("known_shares", "LapSVM and known class shares: error on the unlabelled samples")
    try:
        data = load("uspst", data_home=None if args.data is None else Path(args.data))
    except DataNotFoundError as missing:
        sys.exit(str(missing))
    X, y = np.asarray(data.X), np.asarray(data.y)
    splits = data.labeled_idx[:3] if args.quick else data.labeled_idx
    of_all = errors(X, y, splits, "zscore")
    pairs: dict[str, list[float]] = {}
    for a, b in list(itertools.combinations(range(10), 2))[:: 9 if args.quick else 1]:
        rows = np.flatnonzero((y == a) | (y == b))
        inside = [np.flatnonzero(np.isin(rows, labeled)) for labeled in splits]
        for name, percent in errors(X[rows], (y[rows] == b).astype(int), inside, "shrunk").items():
            pairs.setdefault(name, []).extend(percent)
    for kind, table in (("uspst", of_all), ("pairs", pairs)):
        for name, percent in table.items():
            goal = {"at_most": GOALS[kind]} if name == "true shares" else {}
            note = f"{len(percent)} fits, s.e. {np.std(percent) / np.sqrt(len(percent)):.2f}"
            report.add(f"{kind}, class_balance: {name}", float(np.mean(percent)), "%", note=note, **goal)
    report.write()


if __name__ == "__main__":
    main()
