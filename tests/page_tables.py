"""The tables that README.md and docs take from recorded tables; `python tests/page_numbers.py` writes them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import page_numbers
import pandas as pd

from reproduction.engine.records import Row
from reproduction.headlines import headline_rows
from reproduction.papers._claims.flips import PREDICTORS, by_rate, correlations, means
from reproduction.papers._protocols.auto_ssl_sets import (
    CHOOSING,
    CONFIRMING,
    PUBLISHED,
    SETS,
    SEVERAL,
    TEST_TUNED,
    UNSEEN,
)
from reproduction.papers._protocols.flipped_fits import METHODS, RATES
from reproduction.recorded import RecordedTable, recorded_tables
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


# Flipped labels


@cache
def _flips() -> pd.DataFrame:
    """Return the means over the draws of each set, rate and method."""
    return means(by_rate(records()["flipped_labels"].rows()))


def flipped_labels() -> str:
    """What survives flips by certificate, and what they cost, by classifier, means over the sets."""
    mean = _flips().groupby(["method", "rate"], sort=False).mean(numeric_only=True)
    rows = []
    for method in METHODS:
        at = mean.loc[method]
        row = [method, f"{at['error_clean'].iloc[0]:.1f}", f"{at['one'].iloc[0]:.1f}"]
        for rate in RATES[:2]:
            found = f" to {at['found'][rate]:.1f}" if method == "LapSVM" else ""
            row.append(f"{at['survive'][rate]:.1f}{found}")
        rows.append([*row, *(f"{at['changed'][rate]:.1f} / {at['loss'][rate]:.1f}" for rate in RATES)])
    survive = ["survive any 1", *(f"any {n} ({rate} %)" for n, rate in ((2, 5), (4, 10)))]
    return _table(["", "error", *survive, *(f"{rate} %: changed / loss" for rate in RATES)], rows, numbers=True)


def flipped_ranks() -> str:
    """How what a fit to flipped labels can say goes together with the loss, over all rates."""
    found = {(c.predictor, c.where): c for c in correlations(_flips(), ["loss"]) if c.rate == 0}
    names = {name: name.removesuffix(", as given") for name in PREDICTORS if name.endswith("as given")}
    cells = {key: f"{c.mean:.2f} [{c.low:.2f}, {c.high:.2f}]" for key, c in found.items()}
    rows = [[_RANKED[short], *(cells[name, f"{where} sets"] for where in _PLACES)] for name, short in names.items()]
    return _table(["", "within a set, over the methods", "across the sets, for a method"], rows, numbers=True)


_PLACES = ("within", "across")
_RANKED = {
    "as many": "not certified for as many false labels",
    "one": "not certified for one",
    "flips": "few flips change a prediction",
    "trial flips": "changes in trial flips",
}


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


TABLES: Mapping[str, Callable[[], str]] = {
    "headlines": headlines,
    "auto_ssl_sets": auto_ssl_sets,
    "auto_ssl_published": auto_ssl_published,
    "flipped_labels": flipped_labels,
    "flipped_ranks": flipped_ranks,
    "quadratic_programs": quadratic_programs,
}
"""What makes the table of each name."""
