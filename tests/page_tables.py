"""The tables that README.md and docs take from recorded tables; `python tests/page_numbers.py` writes them."""

from __future__ import annotations

import contextlib
import io
import math
import re
import statistics
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import page_numbers
from scipy.stats import t

from reproduction.engine.records import Row
from reproduction.headlines import headline_rows
from reproduction.papers import gieseke_2014 as gieseke
from reproduction.papers._protocols.auto_ssl_sets import (
    CHOOSING,
    CONFIRMING,
    PUBLISHED,
    SETS,
    SEVERAL,
    TEST_TUNED,
    UNSEEN,
)
from reproduction.recorded import RecordedTable, recorded_tables
from reproduction.report import Line
from specmargin.exceptions import ClassShareWarning
from specmargin.tables.candidates import FAMILIES


@cache
def records() -> Mapping[str, RecordedTable]:
    return recorded_tables(page_numbers.ROOT / page_numbers.RECORDED)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """Return a table of Markdown; with `numbers` all columns but the first are set to the right."""
    line = ["---", *["---:" if numbers else "---"] * (len(columns) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, line, *rows))


def headlines() -> str:
    """The headline of each of the five papers, for README.md."""
    rows = [
        [f"[{headline.name}](docs/papers/{headline.page}.md)", headline.measured, *shown]
        for headline, *shown in headline_rows(records())
    ]
    return _table(["paper", "quantity; errors in percent", "published", "ours", "agreement"], rows)


@cache
def two_labels(draws: int = 20) -> str:
    """Return how often the five lines of the start page err on other draws, and a support vector machine there."""
    page = (page_numbers.ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    lines = page.split("```python\n")[1].split("```")[0]
    errors: dict[str, list[float]] = {"graph=12": [], "graph=12, gamma_I=0": []}
    for options, found in errors.items():
        for seed in range(draws):
            drawn = lines.replace("random_state=0", f"random_state={seed}").replace("graph=12", options)
            space: dict[str, Any] = {}
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore", ClassShareWarning)  # of the SVM, which sees no share
                exec(drawn, space)
            hidden = space["y"] == -1
            found.append(100.0 * float((space["model"].transduction_ != space["truth"])[hidden].mean()))
    rows = [
        [name, f"{statistics.fmean(found):.1f}", f"{statistics.median(found):.1f}", f"{max(found):.1f}"]
        for name, found in zip(("LapSVM", "SVM: the same with `gamma_I=0`"), errors.values(), strict=True)
    ]
    columns = [f"{draws} draws of points and labels; percent of the unlabelled points", "mean", "median", "worst"]
    return _table(columns, rows, numbers=True)


# AutoSSL


@cache
def _draws() -> dict[int, dict[str, list[Row]]]:
    """Return the rows on sets of two classes, by number of labels and set; 30 draws, of the unseen ones 12."""
    found: dict[int, dict[str, list[Row]]] = {}
    for name in ("auto_ssl-draws=30", "auto_ssl-half=unseen"):
        for row in records()[name].rows():
            if row["dataset"] not in SEVERAL:
                found.setdefault(row["param_labels"], {}).setdefault(row["dataset"], []).append(row)
    return found


def _mean_error(rows: Sequence[Row], method: str) -> float:
    return statistics.fmean(row[f"error_{method}"] for row in rows if row.get(f"error_{method}") is not None)


def _over_sets(of_set: Callable[[list[Row]], float], digits: int, labels: int) -> str:
    """Return the mean of a number over both halves, over each of them, and over the unseen sets."""
    values = {name: of_set(rows) for name, rows in _draws()[labels].items()}
    halves = [
        {k: v for k, v in values.items() if k in SETS},
        {k: v for k, v in values.items() if k in CHOOSING},
        {k: v for k, v in values.items() if k in CONFIRMING},
        {k: v for k, v in values.items() if k in UNSEEN},
    ]
    means = [f"{statistics.fmean(half.values()):.{digits}f}" for half in halves]
    return " / ".join(mean.removeprefix("0") if digits == 2 else mean for mean in means)


def auto_ssl_sets() -> str:
    """Errors of AutoSSL over the sets of two classes, at 20 and at 100 labels."""

    def above_best(rows: list[Row]) -> float:
        tried = [family for family in FAMILIES if f"error_{family}" in rows[0]]
        return _mean_error(rows, "auto") - min(_mean_error(rows, family) for family in tried)

    def worse_than(other: str) -> Callable[[list[Row]], float]:
        # Every set has as many draws, so that the mean of the shares is the share of all.
        return lambda rows: statistics.fmean(row["error_auto"] > row[f"error_{other}"] + 1 for row in rows)

    kinds: list[tuple[str, Callable[[list[Row]], float], int, str]] = [
        ("tuned SVM", lambda rows: _mean_error(rows, "tuned"), 1, ""),
        ("`baseline_`", lambda rows: _mean_error(rows, "baseline"), 1, ""),
        ("**AutoSSL**", lambda rows: _mean_error(rows, "auto"), 1, "**"),
        ("above the best family of each set, with hindsight", above_best, 1, ""),
        ("P(error > tuned SVM + 1)", worse_than("tuned"), 2, ""),
        ("P(error > baseline + 1)", worse_than("baseline"), 2, ""),
    ]
    rows = [
        [name, *(f"{marks}{_over_sets(of_set, digits, labels)}{marks}" for labels in (20, 100))]
        for name, of_set, digits, marks in kinds
    ]
    return _table(["", "20 labels, both halves / choosing / confirming / unseen", "100 labels"], rows)


def auto_ssl_published() -> str:
    """AutoSSL on whole data sets with their published splits."""
    by_set: dict[str, list[Row]] = {}
    for row in records()["auto_ssl-half=published"].rows():
        by_set.setdefault(row["dataset"], []).append(row)
    rows = [
        [name.removesuffix(" whole"), *means, f"{TEST_TUNED[name]:.1f}"]
        for name in PUBLISHED
        for means in [[f"{_mean_error(by_set[name], method):.1f}" for method in ("tuned", "baseline", "auto", "known")]]
    ]
    return _table(["", "tuned SVM", "`baseline_`", "AutoSSL", "AutoSSL, exact class shares", "test-tuned"], rows)


# Numbers of independent code


def _line(source: str) -> Line:
    """Return the one line of a record that a source of `page_numbers` names."""
    name, *wanted = source.split(" | ")
    report = records()[name].report
    assert report is not None, f"{name} is not recorded whole"
    found = {
        line.mean: line
        for section in report.sections
        for line in section.lines
        if not Counter(wanted) - Counter([f"# {section.title}", line.dataset, line.method, line.tuning])
    }
    if len(found) != 1:
        raise LookupError(f"{len(found)} lines of {name!r} are called {source!r}")
    return next(iter(found.values()))


def _two_labels(name: str, kernel: str, normalized: bool) -> dict[str, dict[str, list[Row]]]:
    """Return the rows of each method on each pair of USPS digits, with two labels of each digit."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in records()[name].rows():
        chosen = (row.get("param_kernel"), row.get("param_per_class")) == (kernel, 2)
        if chosen and row["param_normalized"] in (None, normalized):
            found.setdefault(row["method"], {}).setdefault(row["dataset"], []).append(row)
    return found


def _measured(entry: Mapping[str, Any]) -> tuple[str, str, float, float, int]:
    """Return the published number and ours, as they are shown; ours, its standard error (NaN: none), its draws."""
    if "line" in entry:
        line = _line(entry["line"])
        n = line.draws or line.n_splits
        error = line.error if line.draws else line.std / math.sqrt(n)
        known = "-" if math.isnan(line.published_mean) else f"{line.published_mean:.2f}"
        return known, f"{line.mean:.2f}", line.mean, error, n
    if "distance" in entry:
        name, part, method, tuning = entry["distance"]
        report = records()[name].report
        assert report is not None
        away = [
            abs(line.difference)
            for section in report.sections
            for line in section.lines
            if part in line.dataset and (line.method, line.tuning) == (method, tuning)
            if not math.isnan(line.difference)
        ]
        return "0", f"{statistics.fmean(away):.2f}", statistics.fmean(away), math.nan, len(away)
    if "pairs" in entry:
        name, method, *setting = entry["pairs"]
        pairs = _two_labels(name, *setting)[method].values()
        apart = [[row["error_test"] - row["error_unlabeled"] for row in rows] for rows in pairs]
        near = sum(abs(statistics.fmean(each)) <= 1.0 for each in apart)
        return "-", f"{near} of {len(apart)}", near, math.nan, 0
    if "steadier" in entry:
        name, rival, *setting = entry["steadier"]
        deviations = {
            method: {pair: statistics.stdev(row["error_unlabeled"] for row in rows) for pair, rows in pairs.items()}
            for method, pairs in _two_labels(name, *setting).items()
        }
        steadier = [
            deviation < deviations[rival][pair]
            for method in ("LapRLS", "LapSVM")
            for pair, deviation in deviations[method].items()
        ]
        return "-", f"{sum(steadier)} of {len(steadier)}", sum(steadier), math.nan, 0
    name, pattern = entry["words"]
    found = re.search(pattern, " ".join(page_numbers.text_of(name).split()))
    if found is None:
        raise LookupError(f"{name!r} has no words {pattern!r}")
    told = found.groupdict()
    n = int(told.get("n", 0))
    error = float(told["std"]) / math.sqrt(n) if n else math.nan
    return told.get("published", "-"), told["mean"], float(told["mean"]), error, n


def independent_row(entry: Mapping[str, Any]) -> list[str]:
    """Return the row of one number, a star where it is the package's own.

    ValueError where ours is outside of what the draws explain and nothing says why.
    """
    published, shown, ours, error, n = _measured(entry)
    apart = ours - entry["independent"]
    if "distance" not in entry and math.isnan(error):  # a count
        told = "the same" if apart == 0 else "outside"
    elif math.isnan(error):
        told = f"{apart:+.2f}"
    else:
        # Both are means over draws, whose deviation is taken to be that of ours.
        other = entry["draws"]
        half = float(t.isf(0.025, n + other - 2)) * error * math.sqrt(1 + n / other)
        told = f"{apart:+.2f} of {half:.2f}: {'within' if abs(apart) <= half else 'outside'}"
    if told.endswith("outside") and "why" not in entry:
        raise ValueError(f"{entry['what']!r}: ours less the independent number is {told}; say why")
    known = entry.get("published", published)
    star = " *" if entry.get("by") == "package" else ""
    return [entry["what"] + star, known, shown, f"{entry['independent']:g}", told, entry.get("why", "")]


def independent_numbers() -> str:
    """Numbers of independent code next to ours and the published ones; whether the draws explain what is between."""
    entries = tomllib.loads((page_numbers.ROOT / "tests" / "independent_numbers.toml").read_text(encoding="utf-8"))
    columns = ["number", "published", "ours", "independent", "ours less independent", "why they differ"]
    return _table(columns, [independent_row(entry) for entry in entries["number"]])


# Table 2 of QN-S3VM with labels drawn uniformly, in parts

_UNIFORM = "qn_s3vm-labels=uniform-"


def _parts() -> list[str]:
    return [f"rows={part}" for part in ("few", *gieseke.FAMILIES)]


def _table_2(name: str) -> dict[tuple[str, str], dict[str, Line]]:
    """Return the lines of table 2 in a record of QN-S3VM: by set and division, then by method; none if not whole."""
    found: dict[tuple[str, str], dict[str, Line]] = {}
    report = records()[name].report if name in records() else None
    for section in report.sections if report else ():
        for line in section.lines if section.title == "Table 2" else ():
            found.setdefault((line.dataset, line.tuning), {})[line.method] = line
    return found


def uniform_labels() -> str:
    """Table 2 of QN-S3VM with labels in proportion and drawn uniformly, as far as its parts are recorded."""
    usual, drawn = _table_2("qn_s3vm"), dict[tuple[str, str], dict[str, Line]]()
    for name in (f"{_UNIFORM}{axes}" for axes in _parts()):  # the later ones have more methods
        drawn |= _table_2(name)

    def shown(lines: Mapping[str, Line], value: Callable[[Line], float]) -> str:
        each = [f"{value(lines[method]):.1f}" if method in lines else "-" for method in gieseke.METHODS]
        return " / ".join(number if number != "nan" else "-" for number in each)

    rows = [
        [
            f"{place[0]}, {place[1].partition(',')[0]}",
            shown(lines, lambda line: line.published_mean),
            shown(lines, lambda line: line.mean),
            shown(drawn[place], lambda line: line.mean),
        ]
        for place, lines in usual.items()
        if place in drawn
    ]
    return _table(["SVM / CCCP / multi-switch / annealing / QN-S3VM", "published", "in proportion", "uniformly"], rows)


def uniform_parts() -> str:
    """The parts of that table: their rows, and the hours that they took."""
    rows = []
    for part in gieseke.FAMILIES:
        table = records()[f"{_UNIFORM}rows={part}"]
        rows.append([f"`--set labels=uniform --set rows={part}`", f"{len(_table_2(table.name))}", f"{table.hours:.2f}"])
    return _table(["part", "rows", "hours"], rows)


# Failures

_NAMES = {"CLARABEL": "Clarabel", "HIGHS": "HiGHS", "PROXQP": "ProxQP"}


def quadratic_programs() -> str:
    """Ours next to the others on quadratic programs in the papers' ranges, of docs/failures.md, the quickest first."""
    (table,) = [t for t in page_numbers.tables_of("failures") if t.heading == "Quadratic programs: the papers' ranges"]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    shown = [row for row in rows if row["setting"] == "default"]
    shown.sort(key=lambda row: float(row["time"]))
    columns = {
        "<= 1e-8": "proved to 1e-8, percent",
        "time": "time",
        "own time": "own time",
        "false optimal": "false optimal",
    }
    body = [[_NAMES.get(row["solver"], row["solver"]), *(row[column] for column in columns)] for row in shown]
    return _table(["solver", *columns.values()], body, numbers=True)


# Global optima of S3VMs


def _optima(title: str, table: str = "s3vm_optima") -> list[Line]:
    """Return the lines of a section of the table of global optima, or of another one."""
    report = records()[table].report
    assert report is not None
    (section,) = [section for section in report.sections if section.title.startswith(title)]
    return list(section.lines)


def _limits(line: Line, digits: int = 2) -> str:
    low, high = line.note.removeprefix("95 %: ").split(";")[0].split(" to ")
    return f"{line.mean:.{digits}f} [{low}, {high}]"


def optima_answer() -> str:
    """The answer in three sentences, of docs/global_optima.md."""
    report = records()["s3vm_optima"].report
    assert report is not None
    return "\n".join(f"{number}. {text}" for number, text in enumerate(report.remarks[:3], 1))


def optima_counts() -> str:
    """How many problems there are and how many are proved."""
    report = records()["s3vm_optima"].report
    assert report is not None
    return "\n".join(f"- {text}" for text in report.header[:2])


def optima_searches() -> str:
    """Error of the optimum less that of each search."""
    rows = [
        [line.method.replace("_", " "), line.tuning, _limits(line), judged, ends.rpartition(" in ")[2]]
        for line in _optima("Error of the optimum less that of a search")
        for _, judged, ends in [line.note.split("; ")]
    ]
    columns = ["search", "answer", "error of the optimum less its own", "the optimum", "ends within 0.1 % of it in"]
    return _table(columns, rows)


def optima_parts() -> str:
    """The quantities by kind of problem."""
    columns = {
        "problems": lambda part: str(part["best answer"].n_splits),
        "less that of the best answer": lambda part: _limits(part["best answer"]),
        "where that missed the optimum (problems)": lambda part: (
            f"{_limits(line := part['best answer, where it missed the optimum'])} ({line.n_splits})"
        ),
        "less that of the SVM of the labels": lambda part: _limits(part["SVM of the labels alone"]),
        "correlation": lambda part: _limits(part["correlation all minima"]),
        "near the optimum": lambda part: _limits(part["correlation within 5 % of the optimum"]),
        "pairs near it where the worse J errs less, %": lambda part: _limits(part["pairs within 5 % of the optimum"]),
    }
    parts: dict[str, dict[str, Line]] = {}
    for title in ("Error of the optimum less that of another", "Correlation", "Share of pairs"):
        for line in _optima(title):
            parts.setdefault(line.dataset, {})[f"{line.method} {line.tuning}".strip()] = line
    rows = [[name, *(_cell(of, part) for of in columns.values())] for name, part in parts.items()]
    return _table(["", *columns], rows)


def _cell(of: Callable[[dict[str, Line]], str], part: dict[str, Line]) -> str:
    try:
        return of(part)
    except KeyError:
        return "-"


def optima_profile() -> str:
    """Error of other minima less that of the optimum, by their gap."""
    rows = [[line.tuning, str(line.n_splits), _limits(line)] for line in _optima("Error of other minima")]
    return _table(["gap", "problems", "error less that of the optimum"], rows, numbers=True)


def optima_proofs() -> str:
    """Share of proved problems by set, and the gaps of the root."""
    rows = [[line.dataset, str(line.n_splits), f"{line.mean:.0f}", line.note] for line in _optima("Share of problems")]
    return _table(["set", "problems", "proved, %", "how"], rows)


# The root of the exact search


def tightness_answer() -> str:
    """What the stages of the root's relaxation do, in sentences."""
    report = records()["s3vm_tightness"].report
    assert report is not None
    return "\n".join(f"{number}. {text}" for number, text in enumerate(report.remarks, 1))


def tightness_stages() -> str:
    """Gaps of all problems by stage, what was closed, and what it took."""
    rows: dict[str, list[str]] = {}
    for title in ("Mean gap", "Mean share", "Median CPU"):
        for line in _optima(title, "s3vm_tightness"):
            if line.dataset != "all problems":
                continue
            numbers = re.findall(r"\d+(?:\.\d+)?", line.note)
            shown = [f"{line.mean:.2f}", *numbers[:2]] if title == "Median CPU" else [_limits(line, 1)]
            if title == "Mean gap":  # after the limits: the median, its quartiles, 0.1 and its share
                shown += ["{} [{}, {}]".format(*numbers[3:6]), numbers[7]]
            rows.setdefault(line.method, []).extend(shown)
    columns = ["mean gap, %", "median [quartiles], %", "at most 0.1 % in, %", "closed of the plain gap, %"]
    columns += ["CPU s so far: median", "mean", "labels that boxes fix, %"]
    # Of the plain gap the plain relaxation closes nothing.
    body = [[name, *cells[:3], *["-"] * (len(columns) - len(cells)), *cells[3:]] for name, cells in rows.items()]
    return _table(["stage", *columns], body, numbers=True)


def tightness_parts() -> str:
    """Mean gaps by kind of problem and stage, and how often the last one is at most 0.1 %."""
    rows: dict[str, list[str]] = {}
    lines = _optima("Mean gap", "s3vm_tightness")
    for line in lines:
        rows.setdefault(line.dataset, [str(line.n_splits)]).append(_limits(line, 1))
    closed = {line.dataset: line.note.rpartition(" in ")[2] for line in lines}  # of the last stage
    stages = list(dict.fromkeys(line.method for line in lines))
    body = [[name, *cells, closed[name].removesuffix(" %")] for name, cells in rows.items()]
    return _table(["", "problems", *stages, "at most 0.1 % in the end, %"], body, numbers=True)


TABLES: Mapping[str, Callable[[], str]] = {
    "headlines": headlines,
    "two_labels": two_labels,
    "independent_numbers": independent_numbers,
    "uniform_labels": uniform_labels,
    "uniform_parts": uniform_parts,
    "auto_ssl_sets": auto_ssl_sets,
    "auto_ssl_published": auto_ssl_published,
    "quadratic_programs": quadratic_programs,
    "optima_answer": optima_answer,
    "optima_counts": optima_counts,
    "optima_searches": optima_searches,
    "optima_parts": optima_parts,
    "optima_profile": optima_profile,
    "optima_proofs": optima_proofs,
    "tightness_answer": tightness_answer,
    "tightness_stages": tightness_stages,
    "tightness_parts": tightness_parts,
}
"""What makes the table of each name."""
