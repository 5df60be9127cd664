"""The tables that README.md and docs take from recorded tables; `python tests/page_numbers.py` writes them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import page_numbers

from reproduction.engine.records import Row
from reproduction.headlines import headline_rows
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
from specmargin.candidates import FAMILIES


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
    return _table(["paper", "what was measured; errors in percent", "published", "ours", "why they differ"], rows)


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


def _optima(title: str, *datasets: str) -> list[Line]:
    """Return the lines of a section of the table of global optima, of all datasets or of some."""
    report = records()["s3vm_optima"].report
    assert report is not None
    (section,) = [section for section in report.sections if section.title.startswith(title)]
    return [line for line in section.lines if not datasets or line.dataset in datasets]


def _limits(line: Line) -> str:
    low, high = line.note.removeprefix("95 %: ").split(";")[0].split(" to ")
    return f"{line.mean:.2f} [{low}, {high}]"


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
        [line.method.replace("_", " "), line.tuning, _limits(line), *line.note.split("; ")[1:]]
        for line in _optima("Error of the optimum less that of a search")
    ]
    return _table(["search", "answer", "error of the optimum less its own", "the optimum", "it"], rows)


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


def optima_roots() -> str:
    """How tight the relaxations of the root are by kind of problem."""
    rows: dict[str, list[str]] = {}
    for line in _optima("Median gap of the root"):
        rows.setdefault(line.dataset, [line.dataset, str(line.n_splits)]).extend([f"{line.mean:.1f}", line.note])
    columns = ["", "problems", "plain relaxation, %", "of it", "with boxes and products, %", "of it"]
    return _table(columns, rows.values())


TABLES: Mapping[str, Callable[[], str]] = {
    "headlines": headlines,
    "auto_ssl_sets": auto_ssl_sets,
    "auto_ssl_published": auto_ssl_published,
    "quadratic_programs": quadratic_programs,
    "optima_answer": optima_answer,
    "optima_counts": optima_counts,
    "optima_searches": optima_searches,
    "optima_parts": optima_parts,
    "optima_profile": optima_profile,
    "optima_proofs": optima_proofs,
    "optima_roots": optima_roots,
}
"""What makes the table of each name."""
