"""The tables of the primal-LapSVM paper, made of the fits of `lapsvm_primal` and `lapsvm_primal_laplacian`.

`sections` builds a section per table and quantity, `reason_of` knows why some numbers differ, and `laplacian_findings`
says which Laplacian is near to the published errors.
"""

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

from reproduction.claims import LAPLACIANS, verdict_on
from reproduction.comparison import Reference, compare
from reproduction.engine.protocol import FixedSetting, ValidationSet
from reproduction.engine.records import Row
from reproduction.papers._protocols.melacci_belkin_fits import (
    EXACT,
    PAPER,
    RULES,
    STOPPING,
    Setting,
    with_published_gammas,
)
from reproduction.report import Line, Section

CHOICE = ValidationSet(per="dataset")
"""Who chooses gamma_A and gamma_I."""

BY_NEWTON, PUBLISHED = "gammas of Newton", "published gammas"
METHODS_WITH_GRAPH = ("laprls", "lapsvm_dual", "lapsvm_newton")
PARTS = {"U": "error_unlabeled", "V": "error_validation", "T": "error_test"}
_COUNTED = {"newton_steps": "Newton steps", "pcg_iterations": "iterations"}
_JMLR = "lapsvm_primal_jmlr2011"

_COIL = "unknown; to which scaling of the images sigma = 0.6 belongs is not stated"
REASONS: Mapping[str, str] = {
    "lapsvm_newton_intercept": "the intercept, which is not penalised while constants are",
    "coil20": _COIL,
    "coil20b": f"{_COIL}; D - W explains the print, see the table lapsvm_primal_laplacian",
}
"""Why numbers differ, by method or task, as far as that is known."""
REPRINTED = "published with 1e-6, 1e-1, but these numbers are those of 1e-4, 1, the gammas of the validation rule"
MOVED = "V chose other gammas than the published ones; see the section of the latter"


@dataclass(frozen=True)
class _ByItself(ValidationSet):
    """The validation error is reported and chooses."""

    optimistic: ClassVar[bool] = True


def sections(grid: Sequence[Row], timed: Sequence[Row], chosen: Mapping[tuple[str, str], Setting]) -> list[Section]:
    """Return the tables that hold a number, by their numbers in the paper.

    They are made of the fits of the whole grid, of those that were made alone, and of the setting that the validation
    samples chose for each task and method.
    """
    newton = [row for row in timed if row["setting"] == chosen[row["dataset"], "lapsvm_newton"]]
    own = [row for row in timed if row["setting"] == chosen.get((row["dataset"], row["method"]))]
    fixed = with_published_gammas([*grid, *timed])
    by_newton, rules = ("lapsvm_newton",), tuple(STOPPING)
    parts: list[Section] = []
    for title, table, quantity, methods, rows, tuning in (
        ("Table 4", "4", "error_percent", EXACT, grid, ""),
        ("Table 5", "5", "newton_steps", by_newton, own, CHOICE.name),
        ("Table 6", "6", "pcg_iterations", RULES, own, CHOICE.name),
        ("Table 7", "7", "error_percent", (*by_newton, *RULES), grid, ""),
        ("Table 10", "10", "pcg_iterations", rules, newton, BY_NEWTON),
        ("Table 11", "11", "error_percent", rules, newton, BY_NEWTON),
        ("Tables 3 and 6", "6", "train_seconds", (), own, CHOICE.name),
        ("Table 10", "10", "train_seconds", (), newton, BY_NEWTON),
        ("Table 4, published gammas", "4", "error_percent", EXACT, fixed, PUBLISHED),
        ("Table 7, published gammas", "7", "error_percent", RULES, fixed, PUBLISHED),
        ("Table 5, published gammas", "5", "newton_steps", by_newton, fixed, PUBLISHED),
        ("Table 6, published gammas", "6", "pcg_iterations", RULES, fixed, PUBLISHED),
    ):
        if quantity == "error_percent":
            parts += error_sections(title, table, methods, rows, tuning)
        elif quantity == "train_seconds":
            parts.append(Section(f"{title}, time over that of Newton's method", _times(rows, table, tuning)))
        else:
            known = _references(methods, table, quantity)
            lines = fixed_lines(per_class(_of(rows, methods)), known, "count", tuning)
            parts.append(Section(f"{title}, {_COUNTED[quantity]}", lines))
    return [part for part in parts if part.lines]


def error_sections(
    title: str, table: str, methods: Sequence[str], rows: Sequence[Row], tuning: str, parts: Iterable[str] = PARTS
) -> list[Section]:
    """Return a section for each of some `PARTS`, with the numbers of a table of the paper.

    `tuning` is the column of that name where settings are fixed; if it is empty, validation samples choose among them.
    """
    shown, rows = [], _of(rows, methods)
    for part in parts:
        known = _references(methods, table, part=part)
        if tuning:
            lines = fixed_lines(rows, known, PARTS[part], tuning)
        else:
            choice = _ByItself(per="dataset") if part == "V" else CHOICE
            lines = compare(rows, [choice], known, column=PARTS[part])
        shown.append(Section(f"{title}, error on {part} in percent", lines))
    return shown


def fixed_lines(
    rows: Iterable[Row], references: Mapping[str, Sequence[Reference]], column: str, tuning: str = FixedSetting().name
) -> list[Line]:
    """Return the lines of rows that hold one setting per method, with this text in the column "tuning"."""
    return [replace(line, tuning=tuning) for line in compare(rows, [FixedSetting()], references, column=column)]


def per_class(rows: Iterable[Row]) -> list[Row]:
    """Return a row per class, with its iterations in the column "count"."""
    return [
        {**row, "split": f"{row['split']} class {k}", "count": float(count)}
        for row in rows
        for k, count in enumerate(row["iterations"])
    ]


def _of(rows: Iterable[Row], methods: Sequence[str]) -> list[Row]:
    return [row for row in rows if row["method"] in methods]


def _references(
    methods: Sequence[str], table: str, quantity: str = "error_percent", part: str = ""
) -> dict[str, list[Reference]]:
    known = {
        name: [Reference(PAPER, table, name.removesuffix("_intercept"), part, quantity)]
        for name in methods
        if name != "lapsvm_pcg_safe"  # ours
    }
    if table in ("6", "7") and "lapsvm_pcg_mixed" in known:  # one entry was published anew
        known["lapsvm_pcg_mixed"].append(Reference(_JMLR, table, "lapsvm_pcg_mixed", part, quantity))
    return known


def _times(rows: Sequence[Row], table: str, tuning: str) -> list[Line]:
    """Return lines of seconds over those of Newton's method in the same cell."""
    newton = {(row["dataset"], row["split"]): row["seconds"] for row in _of(rows, ("lapsvm_newton",))}
    ratios = [
        {**row, "ratio": row["seconds"] / newton[row["dataset"], row["split"]]}
        for row in rows
        if row["method"] != "lapsvm_newton" and (row["dataset"], row["split"]) in newton
    ]
    lines = []
    for line in fixed_lines(ratios, {}, "ratio", tuning):
        known = _references((line.method, "lapsvm_newton"), table, "train_seconds")
        seconds = [numbers[0] for first, *_ in known.values() if (numbers := first.find(line.dataset))]
        if len(seconds) == 2:
            source = f"{PAPER} table {table} {line.method}"
            line = replace(line, published_mean=seconds[0] / seconds[1], source=source, note="")
        lines.append(line)
    return lines


def reason_of(line: Line, moved: Container[tuple[str, str]]) -> str:
    """Return why a number differs from the published one, or "unknown".

    Other gammas were chosen than the published ones for the tasks and methods in `moved`.
    """
    if line.source.startswith(_JMLR):
        return REPRINTED
    tuned = "lapsvm_newton" if line.tuning == BY_NEWTON else line.method
    if line.tuning != PUBLISHED and (line.dataset, tuned) in moved:
        return MOVED
    return REASONS.get(line.method) or REASONS.get(line.dataset) or "unknown"


PROVED = 1e-6
"""Relative gap up to which a fit counts as optimal in `proof_remark`."""


def laplacian_findings(fits: Sequence[Row]) -> tuple[list[Section], list[str]]:
    """Return table 4 with either Laplacian, and task by task which one explains the published errors on U and T."""
    tables: dict[tuple[str, bool], list[Section]] = {}
    for normalized, name in LAPLACIANS.items():
        rows = [row for row in fits if row["normalized"] == normalized]
        for title, some, tuning in (("", rows, ""), (f", {PUBLISHED}", with_published_gammas(rows), PUBLISHED)):
            parts = error_sections(f"Table 4, {name}{title}", "4", METHODS_WITH_GRAPH, some, tuning, "UT")
            tables[tuning, normalized] = parts
    remarks = []
    for task, tuning in product(dict.fromkeys(row["dataset"] for row in fits), ("", PUBLISHED)):
        lines = {
            normalized: {
                (part, line.method): line
                for part, section in enumerate(tables[tuning, normalized])
                for line in section.lines
                if line.dataset == task and not math.isnan(line.published_mean)
            }
            for normalized in LAPLACIANS
        }
        common = [key for key in lines[False] if key in lines[True]]
        if common:
            theirs = [lines[True][key] for key in common]
            ours = {normalized: [each[key].mean for key in common] for normalized, each in lines.items()}
            name = f"{task}, {tuning or 'gammas chosen on V'}"
            remarks.append(f"  {verdict_on(name, [line.published_mean for line in theirs], ours)}")
    head = "Which Laplacian the published numbers belong to (table 4, errors on U and T of LapRLS and both LapSVMs):"
    return [part for parts in tables.values() for part in parts if part.lines], [head, *remarks] if remarks else []


def proof_remark(fits: Sequence[Row]) -> str:
    """Return how many fits are not proved to be optimal, on which tasks, under which Laplacian, and how they err."""
    unproved = [fit for fit in fits if not abs(fit["relative_gap"]) <= PROVED]
    if not unproved:
        return f"Relative gap of at most {PROVED:g} in all {len(fits)} fits."
    where = Counter(f"{fit['dataset']} under {LAPLACIANS[fit['normalized']]}" for fit in unproved)
    listed = ", ".join(f"{count} on {name}" for name, count in where.items())
    ratio = min(fit["setting"][1] / fit["setting"][0] for fit in unproved)
    return (
        f"Relative gap above {PROVED:g} in {len(unproved)} of {len(fits)} fits: {listed}. Their gamma_I / gamma_A is "
        f"at least {ratio:g}, and their error on U at least {min(fit['error_unlabeled'] for fit in unproved):.1f} %."
    )
