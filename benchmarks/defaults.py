"""What every default errs, next to a tuned SVM: LapSVM(), LapRLS() on many draws, all other estimators on a few.

    python benchmarks/defaults.py                   24 sets and iris: 30 draws of four classifiers, 2 of all others
    python benchmarks/defaults.py --quick           two generated sets, two draws of four classifiers
    python benchmarks/defaults.py --draws 5 --others 1
    python benchmarks/defaults.py --others 30 --only STORM,KTA      all four, and these of the others
    python benchmarks/defaults.py --docs            write docs/defaults.md from the cells that exist, and compute none

The sets are those of the table ``auto_ssl``: 19 of two classes, with 4 to 100 labels, and six of more, with 2 to 10
labels per class. A draw labels random samples, at least one of each class, and everything sees the same ones; errors
are those on all other samples. The SVM is tuned by folds of the labels. Half of the 19 sets have chosen defaults
(C of `KTA`, neighbours, weights of the norms); the means of both halves are printed.

No default may name one class for all samples without a warning. `LabelSearch` tries supervised candidates, and says
whether its graph helped: how often that was true is counted. Every cell that is done is a line of
``results/defaults.jsonl``: started again, the command computes what is missing; delete the file to begin anew.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import _harness as harness
import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import specmargin as sm
from reproduction.data import DataNotFoundError
from reproduction.papers._protocols.auto_ssl_sets import CHOOSING, SETS, SEVERAL
from reproduction.papers.auto_ssl import draw_labels, tuned_svm
from reproduction.tasks import Task, samples
from specmargin import estimators

RESULTS = harness.RESULTS / "defaults.jsonl"
DOCS = Path(__file__).parents[1] / "docs" / "defaults.md"
MOST = 1000
LABELS, PER_CLASS = (4, 10, 20, 50, 100), (2, 5, 10)
FEW, MANY = (10, 100), (2, 10)
"""Numbers of labels that the goals name, and those of sets of several classes that stand for them."""

IRIS = Task("iris", "", read=lambda task, folder: _iris())
TASKS = {**SETS, "iris": IRIS}
SEVERAL_CLASSES = SEVERAL | {"iris"}
QUICK = ("one Gaussian", "two_moons")


class Key(NamedTuple):
    """A cell: one classifier on one draw of labels of one set."""

    name: str
    method: str
    labels: int
    draw: int


def _iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def _classifiers() -> dict[str, Callable[[], Any]]:
    """Return every classifier that has defaults and no table of its own."""
    every = {name for name in estimators.__all__ if issubclass(getattr(estimators, name), ClassifierMixin)}
    named = sorted(every - {"S3VM"} | {"LabelSearch"} | harness.S3VM_SEARCHES.keys())
    return {f"{name}()": partial(harness.default, name) for name in named}


SUPERVISED = ("SVC()", "tuned SVM")
FIRST = ("LapSVM()", "LapRLS()", *SUPERVISED)
"""Those of many draws."""
OURS = _classifiers()


@cache
def sample(name: str, folder: Path | None) -> tuple[Any, np.ndarray]:
    """Return at most 1,000 samples of a set."""
    X, y, *_ = samples(TASKS[name], folder)
    kept = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST])
    return X[kept], y[kept]


def cell(X: Any, y: np.ndarray, key: Key) -> dict[str, Any]:
    """Fit one classifier on one draw."""
    several = key.name in SEVERAL_CLASSES
    if several:
        known = sm.hide_labels(y, per_class=key.labels, random_state=key.draw) != -1
    else:
        known = np.isin(np.arange(len(y)), draw_labels(y, key.labels, key.draw))
    more: dict[str, Any] = {}
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if key.method == "tuned SVM":
            predicted = tuned_svm(X, y, np.flatnonzero(known))[~known]
        elif key.method == "SVC()":
            predicted = SVC().fit(X[known], y[known]).predict(X[~known])
        else:
            fitted = OURS[key.method]().fit(X, np.where(known, y, -1))
            predicted = fitted.transduction_[~known]
            if key.method == "LabelSearch()":
                baseline = 100 * float(np.mean(fitted.baseline_.transduction_[~known] != y[~known]))
                more = {"baseline": baseline, "verdict": fitted.comparison_.verdict}
    return {
        **more,
        "error": 100 * float(np.mean(predicted != y[~known])),
        "one class": bool((predicted == predicted[0]).all()),
        "warnings": sorted({warning.category.__name__ for warning in caught}),
        "seconds": round(time.process_time() - start, 3),
    }


def keys(names: Sequence[str], draws: int, others: int, only: Sequence[str]) -> Iterator[Key]:
    """Yield all cells, draw by draw, so that an early look sees every set."""
    for draw in range(max(draws, others)):
        for name in names:
            counts, goals = (PER_CLASS, MANY) if name in SEVERAL_CLASSES else (LABELS, FEW)
            for labels in counts:
                for method in dict.fromkeys([*FIRST, *only]):
                    first = method in FIRST
                    if draw < (draws if first else others) and (first or labels in goals):
                        yield Key(name, method, labels, draw)


def main() -> None:
    """Compute what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two generated sets and two draws: a look, not a record")
    parser.add_argument("--data", type=Path, default=None, help="folder of the real data (else $SPECMARGIN_DATA)")
    parser.add_argument("--draws", type=int, default=30, help="of LapSVM(), LapRLS() and the SVMs")
    parser.add_argument("--others", type=int, default=2, help="of all other classifiers")
    parser.add_argument("--only", default="", help="of the others only these, with commas between them")
    parser.add_argument("--docs", action="store_true", help="write docs/defaults.md from what exists, compute nothing")
    given = parser.parse_args()
    names, draws, others = (QUICK, 2, 0) if given.quick else (tuple(TASKS), given.draws, given.others)
    only = [f"{name}()" for name in given.only.split(",")] if given.only else list(OURS)
    if unknown := sorted(set(only) - set(OURS)):
        parser.error(f"--only {given.only}: there is no {unknown[0]}; take of {', '.join(OURS)}, without parentheses")
    report = harness.Report("defaults", "Errors of the defaults on the unlabelled samples, per cent")
    harness.RESULTS.mkdir(exist_ok=True)
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    done = {Key(*row.pop("key")): row for row in map(json.loads, lines)}
    absent = set(TASKS) if given.docs else set()
    with RESULTS.open("a", encoding="utf-8") as record:
        for key in keys(names, draws, others, only):
            if key in done or key.name in absent:
                continue
            try:
                X, y = sample(key.name, given.data)
            except DataNotFoundError as error:
                print(f"{key.name}: {error}")
                absent.add(key.name)
                continue
            done[key] = cell(X, y, key)
            record.write(json.dumps({"key": key, **done[key]}) + "\n")
            record.flush()
    wanted = set(keys(names, draws, others, only))
    rows = {key: row for key, row in done.items() if key in wanted}
    first, all_others = against_svm(report, rows), table_of_all(rows)
    print("\n".join(["", *first, *all_others]))
    silence(report, rows)
    report.write()
    if given.docs:
        DOCS.write_text("\n".join(page(report, rows, first, all_others)), encoding="utf-8")


Rows = dict[Key, dict[str, Any]]


def means(rows: Rows, methods: Sequence[str], labels: int) -> dict[str, dict[str, float]]:
    """Return the mean error by set and method, over the draws that all methods have."""
    errors: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for key, row in rows.items():
        if key.labels == labels and key.method in methods:
            errors[key.name][key.draw][key.method] = row["error"]
    table = {}
    for name, by_draw in errors.items():
        whole = [each for each in by_draw.values() if len(each) == len(methods)]
        if whole:
            table[name] = {method: float(np.mean([each[method] for each in whole])) for method in methods}
    return {name: table[name] for name in TASKS if name in table}


def against_svm(report: harness.Report, rows: Rows) -> list[str]:
    """Return Markdown: the errors of the first four, set by set; report what the defaults are held against."""
    text = []
    for several, counts, goals in ((False, LABELS, FEW), (True, PER_CLASS, MANY)):
        if not any((key.name in SEVERAL_CLASSES) == several for key in rows):
            continue
        unit = "labels per class" if several else "labels"
        text += [f"| set | {unit} | " + " | ".join(FIRST) + " |", "|---|---:|" + "---:|" * len(FIRST)]
        for labels in counts:
            table = {n: e for n, e in means(rows, FIRST, labels).items() if (n in SEVERAL_CLASSES) == several}
            for name, errors in table.items():
                text.append(_line(name, labels, [errors[method] for method in FIRST]))
            halves = {"": list(table), ", choosing": [n for n in table if n in CHOOSING]}
            halves[", confirming"] = [n for n in table if n not in CHOOSING]
            for half, chosen in halves.items():
                if chosen:
                    mean = [float(np.mean([table[n][method] for n in chosen])) for method in FIRST]
                    text.append(_line(f"**mean{half}**", labels, mean))
            if labels in goals and table:
                _over(report, table, labels, several)
        text.append("")
    return text


def _line(name: str, labels: int, numbers: Sequence[float]) -> str:
    return f"| {name} | {labels} | " + " | ".join(f"{number:.1f}" for number in numbers) + " |"


def _over(report: harness.Report, table: dict[str, dict[str, float]], labels: int, several: bool) -> None:
    unit, few = ("labels per class" if several else "labels"), labels in (FEW[0], MANY[0])
    for method in ("LapSVM()", "LapRLS()"):
        over = {name: errors[method] - errors["tuned SVM"] for name, errors in table.items()}
        worst = max(over, key=lambda name: over[name])
        mean = float(np.mean(list(over.values())))
        report.add(f"{method} over the tuned SVM, mean, {labels} {unit}", mean, "points", at_most=0)
        goal = {"at_most": 4.0} if few else {}
        report.add(f"{method} over it, worst set, {labels} {unit}", over[worst], "points", note=worst, **goal)


def table_of_all(rows: Rows) -> list[str]:
    """Return Markdown: the mean error of every classifier over the sets, next to the tuned SVM on the same draws."""
    methods = tuple(dict.fromkeys(key.method for key in rows))
    if set(methods) <= set(FIRST):
        return []
    lines = {}
    for method in methods:
        pair = tuple(dict.fromkeys([method, "tuned SVM"]))
        tables = [{n: e for n, e in means(rows, pair, l).items() if n not in SEVERAL_CLASSES} for l in FEW]
        if not all(tables):
            continue
        # Means of as many sets, whatever the draws: the tuned SVM has its own mean on those.
        ours = [float(np.mean([e[method] for e in table.values()])) for table in tables]
        theirs = [float(np.mean([e["tuned SVM"] for e in table.values()])) for table in tables]
        above = [(e[method] - e["tuned SVM"], n, l) for l, t in zip(FEW, tables, strict=True) for n, e in t.items()]
        numbers = " | ".join(f"{a:.1f} | {b:.1f}" for a, b in zip(ours, theirs, strict=True))
        worst = max(above)
        drawn = Counter((key.name, key.labels) for key in rows if key.method == method)
        draws = min(drawn[name, l] for table, l in zip(tables, FEW, strict=True) for name in table)
        most = "" if method == "tuned SVM" else f"{worst[0]:+.1f} ({worst[1]}, {worst[2]} labels)"
        text = f"| {method} | {draws} | {numbers} | {most} |"
        lines[text] = sum(ours) - sum(theirs)
    heads = " | ".join(f"{l} labels | SVM" for l in FEW)
    head = [f"| default | draws | {heads} | most above the tuned SVM |", "|---|---:|" + "---:|" * 2 * len(FEW) + "---|"]
    return [*head, *sorted(lines, key=lambda text: lines[text]), ""]


def silence(report: harness.Report, rows: Rows) -> None:
    """Count fits that name one class without a word, the kinds of warnings, and true and false verdicts."""
    judged = [row for key, row in rows.items() if key.method == "LabelSearch()"]
    better = [row for row in judged if row["verdict"].startswith("better")]
    if judged:
        report.add("searches that call themselves better than supervised", 100 * len(better) / len(judged), "%")
        true = sum(row["error"] <= row["baseline"] for row in better)
        report.add("such searches that are", 100 * true / max(len(better), 1), "%", note=f"{true} of {len(better)}")
    ours = {key: row for key, row in rows.items() if key.method not in SUPERVISED}
    silent = [key for key, row in ours.items() if row["one class"] and not row["warnings"]]
    report.add("fits that name one class without a warning", len(silent), "", at_most=0, note=str(silent[:3] or ""))
    for category in sorted({category for row in ours.values() for category in row["warnings"]}):
        share = 100 * np.mean([category in row["warnings"] for row in ours.values()])
        report.add(f"fits with a {category}", float(share), "%")


_ALL_DEFAULTS = (
    "## All defaults",
    "",
    "Means over the sets of two classes, each next to that of the tuned SVM on the same draws; *draws* are those that",
    "every set has. A classifier over a graph can be far above an SVM where the graph says nothing about the",
    "classes: that is what `baseline_` of the searches, `AutoSSL` and `compare` are for.",
    "",
)


def page(report: harness.Report, rows: Rows, first: list[str], all_others: list[str]) -> list[str]:
    """Return docs/defaults.md."""
    draws = {key.draw for key in rows}
    last = " (in the last table as many as it says)" if all_others else ""
    goals = [line for line in report.lines if line.met is not None]
    verdicts = [
        f"| {line.name} | {line.value:.2f} {line.unit} | {line.goal} | {'met' if line.met else '**not met**'} |"
        for line in goals
    ]
    return [
        "# What the defaults err",
        "",
        "Errors in percent on the unlabelled samples, written by",
        f"`python benchmarks/defaults.py --draws {len(draws)} --docs`; the command without `--docs` computes them.",
        "At most 1,000 samples of a set, labels drawn at random until each class has",
        f"one, means over {len(draws)} draws{last}. Everything is fitted to the same",
        "labels and sees no other; the tuned SVM chooses a kernel, its width and C by five folds of the labels. Twelve",
        'sets ("choosing") have chosen defaults of this package by their errors; the others have not.',
        "",
        "| what | measured | goal | |",
        "|---|---:|---:|---|",
        *verdicts,
        "",
        "## Next to a tuned SVM",
        "",
        *first,
        *(_ALL_DEFAULTS if all_others else ()),
        *all_others,
    ]


if __name__ == "__main__":
    main()
