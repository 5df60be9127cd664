"""A finished table as text, CSV and Markdown: sections of our numbers next to published ones.

A `Report` has sections of two kinds. A `Section` has a `Line` for each number: ours, published, whether they agree. A
`MarkedSection` has methods side by side, a row for each task, with significance marks: the method of least mean error
and those that are not significantly worse. `write_report` writes it in all forms.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from cvxproof.files import replace_file
from reproduction.engine.equivalence import FEWEST, NOT_JUDGED, Interval, answer, difference, margin
from reproduction.engine.significance import Entry, Mark


@dataclass(frozen=True)
class Line:
    """One of our numbers next to one published number, both in percent; NaN where there is none.

    Where runs of several tasks are pooled, which share their draws, `error` is the standard error of the mean over
    `draws`; else it is that of `n_splits` independent values.
    """

    dataset: str
    method: str
    tuning: str
    mean: float
    std: float
    n_splits: int
    published_mean: float = math.nan
    published_std: float = math.nan
    source: str = ""
    note: str = ""
    error: float = math.nan
    draws: int = 0

    @property
    def difference(self) -> float:
        """Our mean less the published one."""
        return self.mean - self.published_mean

    @property
    def margin(self) -> float:
        """How far from the published error ours may lie and still be that error."""
        return margin(self.published_mean, self.published_std)

    @property
    def interval(self) -> Interval:
        """Interval of the difference, the published mean being one of as many draws as ours.

        Its deviation is ours where none is published, and where runs of several tasks are pooled in it.
        """
        n, spread = self.draws or self.n_splits, 0.0 if math.isnan(self.std) else self.std
        if self.draws:
            return difference(self.mean, self.error, self.published_mean, self.error, n)
        theirs = spread if math.isnan(self.published_std) else self.published_std
        root = math.sqrt(max(n, 1))
        return difference(self.mean, spread / root, self.published_mean, theirs / root, n)

    @property
    def agreement(self) -> str:
        """Answer to the claim that the error is the published one, "not judged" of too few draws, "" without one."""
        if math.isnan(self.difference):
            return ""
        few = (self.draws or self.n_splits) < FEWEST
        return NOT_JUDGED if few else answer(self.interval, -self.margin, self.margin)


_COLUMNS = ("dataset", "method", "tuning", "ours", "splits", "published", "source", "difference", "agreement", "note")
_CSV = [*_COLUMNS[:3], "mean", "std", "n_splits", "published_mean", "published_std", "source", "difference"]
_CSV += ["error", "draws", "agreement", "note"]
_NOT_ERRORS = re.compile(r"\b(times?|seconds|iterations|steps)\b")


@dataclass(frozen=True)
class Section:
    """Lines under a title, which is empty where the section is the whole report."""

    title: str
    lines: Sequence[Line]

    @property
    def compared(self) -> list[Line]:
        """Lines whose error is asked to be the published one: none where seconds or iterations are shown."""
        return [] if _NOT_ERRORS.search(self.title) else [line for line in self.lines if line.agreement]

    def cells(self) -> list[list[str]]:
        """Return head and body as text, the note last."""
        body, compared = [], {id(line) for line in self.compared}
        for line in self.lines:
            ours, theirs = _mean_std(line.mean, line.std), _mean_std(line.published_mean, line.published_std)
            apart = "-" if math.isnan(line.difference) else f"{line.difference:+.2f}"
            if id(line) in compared and line.interval.low < line.interval.high:
                apart += f" [{line.interval.low:+.2f}, {line.interval.high:+.2f}]"
            told = f"{line.agreement} (margin {line.margin:.2f})" if id(line) in compared else ""
            setting, published = [line.dataset, line.method, line.tuning], [theirs, line.source, apart, told, line.note]
            body.append([*setting, ours, str(line.n_splits), *published])
        return [list(_COLUMNS), *body]

    def text(self) -> list[str]:
        """Return lines with aligned columns; long notes stand below the table, by number."""
        head, *body = self.cells()
        notes = list(dict.fromkeys(row[-1] for row in body if row[-1]))
        for row in body:
            row[-1] = f"[{notes.index(row[-1]) + 1}]" if row[-1] else ""
        title = [self.title, ""] if self.title else []
        return [*title, *_aligned([head, *body]), "", *(f"[{number}] {note}" for number, note in enumerate(notes, 1))]

    def markdown(self) -> list[str]:
        """Return lines of Markdown."""
        return [*([f"## {self.title}", ""] if self.title else []), *_piped(self.cells()), ""]

    def csv(self) -> list[list[Any]]:
        """Return head and body, a number to a column, unrounded; empty where there is none."""
        rows = ([getattr(line, name) for name in _CSV] for line in self.lines)
        return [_CSV, *([_blank(value) for value in row] for row in rows)]


class MarkedRow(NamedTuple):
    """One task at one number of labels: entries of `significance_marks`, and chosen hyper-parameters, by method.

    A method without an entry has failed everywhere.
    """

    dataset: str
    n_labeled: int
    entries: Mapping[str, Entry]
    settings: Mapping[str, str] = MappingProxyType({})


_ASTERISKS: dict[Mark, str] = {"best": "**", "light": "*", "": ""}
MARKS: dict[Mark, str] = {"best": "best", "light": "not significantly worse", "": ""}
"""What each mark means."""

_KEY = "least mean error, {}, or not significantly worse than it (paired t-test, 5 %), {}; mean (deviation) in percent"


@dataclass(frozen=True)
class MarkedSection:
    r"""Methods side by side, with significance marks and their count.

    The method of least mean error is bold in Markdown and stands between double asterisks in text; those that are not
    significantly worse are italic, and between single asterisks.
    `tuning` says how settings were chosen, and `note` what to know of every number.

    Examples
    --------
    >>> from reproduction.engine.significance import significance_marks
    >>> entries = significance_marks({"STOAM": {"s0": 9.0, "s1": 10.0}, "STORM": {"s0": 8.0, "s1": 10.0}})
    >>> print("\n".join(MarkedSection([MarkedRow("3-8", 20, entries)], ["STOAM", "STORM"]).text()[1:3]))
    task  l   STOAM          STORM
    3-8   20  *9.50 (0.71)*  **9.00 (1.41)**
    """

    rows: Sequence[MarkedRow]
    methods: Sequence[str]
    tuning: str = ""
    note: str = ""
    title: str = ""

    @property
    def lines(self) -> list[Line]:
        """The numbers as those of an ordinary section, one per row and method: nothing published next to them."""
        return [
            Line(f"{row.dataset}, l = {row.n_labeled}", name, self.tuning, e.mean, e.std, e.n_splits, note=self.note)
            for row in self.rows
            for name, e in row.entries.items()
        ]

    @property
    def compared(self) -> list[Line]:
        """Nothing is published next to them."""
        return []

    def counts(self) -> list[list[str]]:
        """Return how often each method is best, not significantly worse, or either: the spectrum paper's table 3."""
        count: Counter[tuple[str, str]] = Counter((m, e.mark) for row in self.rows for m, e in row.entries.items())
        kinds = {"best": ["best"], "not significantly worse": ["light"], "either": ["best", "light"]}
        body = [[name, *(str(sum(count[m, k] for k in marks)) for m in self.methods)] for name, marks in kinds.items()]
        return [["", *self.methods], *body]

    def cells(self) -> list[list[str]]:
        """Return head and body as text, with asterisks for marks."""
        rows = [
            [row.dataset, str(row.n_labeled), *(_marked_text(row.entries.get(method)) for method in self.methods)]
            for row in self.rows
        ]
        return [["task", "l", *self.methods], *rows]

    def key(self, best: str, light: str) -> str:
        """Say what the two kinds of marks mean, which are called so."""
        return _KEY.format(best, light)

    def often(self) -> str:
        """Return what stands before `counts`."""
        return f"How often of {len(self.rows)} rows:"

    def text(self) -> list[str]:
        """Return lines with aligned columns."""
        return [self.key("**", "*"), *_aligned(self.cells()), "", self.often(), *_aligned(self.counts()), ""]

    def markdown(self) -> list[str]:
        """Return lines of Markdown."""
        key = self.key("bold", "italic")
        return [key, "", *_piped(self.cells()), "", self.often(), "", *_piped(self.counts()), ""]

    def csv(self) -> list[list[Any]]:
        """Return head and body, a row for each task, number of labels and method, unrounded."""
        names = ["dataset", "n_labeled", "method", "tuning", "mean", "std", "n_splits", "p_value", "mark", "setting"]
        body = [
            [row.dataset, row.n_labeled, method, self.tuning]
            + [_blank(number) for number in (entry.mean, entry.std, entry.n_splits, entry.p_value)]
            + [MARKS[entry.mark], row.settings.get(method, "")]
            for row in self.rows
            for method, entry in row.entries.items()
        ]
        return [names, *body]


@dataclass(frozen=True)
class Report:
    """A finished table.

    Parameters
    ----------
    name, title : str
        Its name on the command line; what it shows.
    sections : sequence of Section or MarkedSection
        The body: one section without a title, several with titles, or one with marks.
    header, footer : sequence of str
        What to know before and after: substitutes for missing data, failures, certificates, versions, command.
    remarks : sequence of str
        What the numbers say.

    Examples
    --------
    >>> line = Line("g50c", "svm", "5 folds", 9.5, 1.2, 10, 9.33, 2.0, "p4")
    >>> print(Report("demo", "Demo", [Section("", [line])]).text())
    Demo
    <BLANKLINE>
    dataset  method  tuning   ours         splits  published    source  difference            agreement             note
    g50c     svm     5 folds  9.50 (1.20)  10      9.33 (2.00)  p4      +0.17 [-1.11, +1.45]  agrees (margin 2.00)
    <BLANKLINE>
    <BLANKLINE>
    >>> Report("demo", "Demo", [Section("Table 4, U", [line])]).text().splitlines()[2:4]
    ['Table 4, U', '']
    """

    name: str
    title: str
    sections: Sequence[Section | MarkedSection] = ()
    header: Sequence[str] = ()
    footer: Sequence[str] = ()
    remarks: Sequence[str] = ()

    @property
    def lines(self) -> list[Line]:
        """The numbers of all sections."""
        return [line for section in self.sections for line in section.lines]

    @property
    def marked(self) -> list[MarkedSection]:
        """The sections with marks."""
        return [section for section in self.sections if isinstance(section, MarkedSection)]

    @property
    def _single(self) -> bool:
        return len(self.sections) == 1 and not self.sections[0].title

    def text(self) -> str:
        """Return everything with aligned columns."""
        lines = [self.title, *self.header, *([] if self.marked else [""])]
        lines += [line for section in self.sections for line in section.text()]
        apart = bool(self.remarks) if self.marked else not self._single
        return "\n".join([*lines, *self.remarks, *([""] if apart else []), *self.footer]) + "\n"

    def markdown(self) -> str:
        """Return everything in Markdown."""
        lines = [f"# {self.title}", "", *(f"{line}\n" for line in self.header)]
        lines += [line for section in self.sections for line in section.markdown()]
        # Remarks on many sections have lines that are indented below others.
        remarks = [f"- {line}" if self._single else f"    {line}" for line in self.remarks]
        return "\n".join([*lines, *remarks, "", *(f"- {line}" for line in self.footer)]) + "\n"

    def csv(self) -> str:
        """Return the numbers of all sections, each row with the title of its section first where there are titles."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        for k, section in enumerate(self.sections):
            head, *body = section.csv()
            named = bool(section.title)
            writer.writerows([["section", *head] if named else head] if k == 0 else [])
            writer.writerows([section.title, *row] if named else row for row in body)
        return stream.getvalue()

    def as_json(self) -> dict[str, Any]:
        """Return JSON values, from which `from_json` makes an equal report; numbers that are not known are None."""
        return dict(_known(vars(self)))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Report:
        """Return the report that `as_json` was asked of."""
        return cls(**{**values, "sections": [_section(dict(part)) for part in values["sections"]]})


def _section(part: dict[str, Any]) -> Section | MarkedSection:
    if "lines" in part:
        return Section(part["title"], [Line(**_unknown(line)) for line in part["lines"]])
    rows = [
        MarkedRow(**{**row, "entries": {method: Entry(**_unknown(entry)) for method, entry in row["entries"].items()}})
        for row in part.pop("rows")
    ]
    return MarkedSection(rows, **part)


def write_report(report: Report, folder: str | Path) -> list[Path]:
    """Write ``<name>.txt``, ``.csv``, ``.md`` and ``.json`` into a folder and return their paths."""
    values = json.dumps(report.as_json(), indent=1, allow_nan=False) + "\n"
    forms = {"txt": report.text(), "csv": report.csv(), "md": report.markdown(), "json": values}
    paths = {ending: Path(folder) / f"{report.name}.{ending}" for ending in forms}
    for ending, text in forms.items():
        replace_file(paths[ending], text.encode())
    return list(paths.values())


def _mean_std(mean: float, std: float) -> str:
    if math.isnan(mean):
        return "-"
    return f"{mean:.2f}" if math.isnan(std) else f"{mean:.2f} ({std:.2f})"


def _blank(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value


def _known(value: Any) -> Any:
    """Return a value as JSON has it: fields by name, None in the place of NaN."""
    if isinstance(value, Line | Section | MarkedSection):
        value = vars(value)
    if isinstance(value, MarkedRow | Entry):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: _known(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_known(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _unknown(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in values.items()}


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    width = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, width, strict=True)).rstrip() for row in table]


def _piped(table: Iterable[Sequence[str]]) -> list[str]:
    head, *body = ([cell.replace("|", "\\|") for cell in row] for row in table)
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]


def _marked_text(entry: Entry | None) -> str:
    return "-" if entry is None else _mean_std(entry.mean, entry.std).join([_ASTERISKS[entry.mark]] * 2)
