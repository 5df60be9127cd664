"""A finished table as text, CSV, Markdown and HTML: sections of reproduced numbers next to published ones.

A `Report` has sections of two kinds. A `Section` has a `Line` for each number: reproduced, published, difference, note.
A `MarkedSection` has methods side by side, a row for each task, with significance marks: the method of least mean error
and those that are not significantly worse. A report with marks is also written as HTML, where they are shades of grey.
"""

from __future__ import annotations

import csv
import html
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from specmargin.archive import replace_file
from specmargin.experiments.engine.significance import Entry, Mark

__all__ = ["Line", "MarkedRow", "MarkedSection", "Report", "Section"]


@dataclass(frozen=True)
class Line:
    """One reproduced number next to one published number, both in percent; NaN where there is none."""

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

    @property
    def difference(self) -> float:
        """Reproduced minus published mean."""
        return self.mean - self.published_mean


_COLUMNS = ("dataset", "method", "tuning", "reproduced", "splits", "published", "source", "difference", "note")
_CSV = [*_COLUMNS[:3], "mean", "std", "n_splits", "published_mean", "published_std", "source", "difference", "note"]


@dataclass(frozen=True)
class Section:
    """Lines under a title, which is empty where the section is the whole report."""

    title: str
    lines: Sequence[Line]

    def _body(self) -> list[list[str]]:
        return [list(_COLUMNS)] + [
            [
                line.dataset,
                line.method,
                line.tuning,
                _mean_std(line.mean, line.std),
                str(line.n_splits),
                _mean_std(line.published_mean, line.published_std),
                line.source,
                "-" if math.isnan(line.difference) else f"{line.difference:+.2f}",
                line.note,
            ]
            for line in self.lines
        ]

    def text(self) -> list[str]:
        """Return lines with aligned columns; long notes stand below the table, by number."""
        head, *body = self._body()
        notes = list(dict.fromkeys(row[-1] for row in body if row[-1]))
        for row in body:
            row[-1] = f"[{notes.index(row[-1]) + 1}]" if row[-1] else ""
        title = [self.title, ""] if self.title else []
        return [*title, *_aligned([head, *body]), "", *(f"[{number}] {note}" for number, note in enumerate(notes, 1))]

    def markdown(self) -> list[str]:
        """Return lines of Markdown."""
        return [*([f"## {self.title}", ""] if self.title else []), *_piped(self._body()), ""]

    def as_json(self) -> dict[str, Any]:
        """Return JSON values; numbers that are not known are None."""
        return {"title": self.title, "lines": [_known(vars(line)) for line in self.lines]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Section:
        """Return the section that `as_json` was asked of."""
        return cls(values["title"], [Line(**_unknown(line)) for line in values["lines"]])

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
_MEANING: dict[Mark, str] = {"best": "best", "light": "not significantly worse", "": ""}
_KEY = "least mean error, {}, or not significantly worse than it (paired t-test, 5 %), {}; mean (deviation) in percent"


@dataclass(frozen=True)
class MarkedSection:
    r"""Methods side by side, with significance marks and their count.

    The method of least mean error is dark in HTML, bold in Markdown and stands between double asterisks in text; those
    that are not significantly worse are light, italic, and between single asterisks.
    `tuning` says how settings were chosen, and `note` what to know of every number.

    Examples
    --------
    >>> from specmargin.experiments.engine.significance import significance_marks
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

    def counts(self) -> list[list[str]]:
        """Return how often each method is best, not significantly worse, or either: the spectrum paper's table 3."""
        count: Counter[tuple[str, str]] = Counter((m, e.mark) for row in self.rows for m, e in row.entries.items())
        kinds = {"best": ["best"], "not significantly worse": ["light"], "either": ["best", "light"]}
        body = [[name, *(str(sum(count[m, k] for k in marks)) for m in self.methods)] for name, marks in kinds.items()]
        return [["", *self.methods], *body]

    def _body(self) -> list[list[str]]:
        rows = [
            [row.dataset, str(row.n_labeled), *(_marked_text(row.entries.get(method)) for method in self.methods)]
            for row in self.rows
        ]
        return [["task", "l", *self.methods], *rows]

    def _often(self) -> str:
        return f"How often of {len(self.rows)} rows:"

    def text(self) -> list[str]:
        """Return lines with aligned columns."""
        return [_KEY.format("**", "*"), *_aligned(self._body()), "", self._often(), *_aligned(self.counts()), ""]

    def markdown(self) -> list[str]:
        """Return lines of Markdown."""
        key = _KEY.format("bold", "italic")
        return [key, "", *_piped(self._body()), "", self._often(), "", *_piped(self.counts()), ""]

    def as_json(self) -> dict[str, Any]:
        """Return JSON values; numbers that are not known are None."""
        rows = [
            {
                "dataset": row.dataset,
                "n_labeled": row.n_labeled,
                "entries": {method: _known(entry._asdict()) for method, entry in row.entries.items()},
                "settings": dict(row.settings),
            }
            for row in self.rows
        ]
        shared = {part: getattr(self, part) for part in ("tuning", "note", "title")}
        return {"rows": rows, "methods": list(self.methods), **shared}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> MarkedSection:
        """Return the section that `as_json` was asked of."""
        rows = [
            MarkedRow(
                row["dataset"],
                row["n_labeled"],
                {method: Entry(**_unknown(entry)) for method, entry in row["entries"].items()},
                row["settings"],
            )
            for row in values["rows"]
        ]
        return cls(rows, values["methods"], *(values[part] for part in ("tuning", "note", "title")))

    def csv(self) -> list[list[Any]]:
        """Return head and body, a row for each task, number of labels and method, unrounded."""
        names = ["dataset", "n_labeled", "method", "tuning", "mean", "std", "n_splits", "p_value", "mark", "setting"]
        body = [
            [row.dataset, row.n_labeled, method, self.tuning]
            + [_blank(number) for number in (entry.mean, entry.std, entry.n_splits, entry.p_value)]
            + [_MEANING[entry.mark], row.settings.get(method, "")]
            for row in self.rows
            for method, entry in row.entries.items()
        ]
        return [names, *body]

    def html(self) -> list[str]:
        """Return lines of HTML in which the marks are shades of grey."""
        page = [f"<p>{_e(_KEY.format('dark grey', 'light grey'))}</p>", "<div><table>", _tr("th", self._body()[0])]
        previous = None
        for row in self.rows:
            page.append('<tr class="task">' if row.dataset != previous else "<tr>")
            page.append(f"<td>{_e(row.dataset) if row.dataset != previous else ''}</td><td>{row.n_labeled}</td>")
            page += [_marked_cell(row.entries.get(method)) for method in self.methods]
            page.append("</tr>")
            previous = row.dataset
        page += ["</table></div>", f"<p>{self._often()}</p>", "<div><table>"]
        head, *counts = self.counts()
        return [*page, _tr("th", head), *(_tr("td", count) for count in counts), "</table></div>"]


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
    >>> line = Line("g50c", "svm", "5 labelled folds", 9.5, 1.2, 10, 9.33, 2.0, "p4")
    >>> print(Report("demo", "Demo", [Section("", [line])]).text())
    Demo
    <BLANKLINE>
    dataset  method  tuning            reproduced   splits  published    source  difference  note
    g50c     svm     5 labelled folds  9.50 (1.20)  10      9.33 (2.00)  p4      +0.17
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

    def html(self) -> str:
        """Return a page of its own for the sections with marks."""
        page = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>{_e(self.title)}</title>"]
        page += [f"<style>{_STYLE}</style></head><body>", f"<h1>{_e(self.title)}</h1>"]
        page += [f"<p>{_e(line)}</p>" for line in self.header]
        page += [line for section in self.marked for line in section.html()]
        for part in (self.remarks, self.footer):
            page += ["<ul>", *(f"<li>{_e(line)}</li>" for line in part), "</ul>"] if part else []
        return "\n".join([*page, "</body></html>"]) + "\n"

    def as_json(self) -> dict[str, Any]:
        """Return JSON values, from which `from_json` makes an equal report."""
        return {
            "name": self.name,
            "title": self.title,
            "sections": [section.as_json() for section in self.sections],
            **{part: list(getattr(self, part)) for part in ("header", "footer", "remarks")},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Report:
        """Return the report that `as_json` was asked of."""
        sections = [(Section if "lines" in part else MarkedSection).from_json(part) for part in values["sections"]]
        parts = (values[part] for part in ("header", "footer", "remarks"))
        return cls(values["name"], values["title"], sections, *parts)

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``<name>.txt``, ``.csv``, ``.md`` and, with marks, ``.html`` into a folder and return their paths."""
        forms = {"txt": self.text, "csv": self.csv, "md": self.markdown} | ({"html": self.html} if self.marked else {})
        paths = []
        for ending, form in forms.items():
            paths.append(Path(folder) / f"{self.name}.{ending}")
            replace_file(paths[-1], form().encode())
        return paths


_STYLE = """body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 82em;
  color: #1a1a1a; padding: 0 1em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1em 0 }
th, td { padding: .25em .55em; text-align: right; white-space: nowrap }
th { border-bottom: 1px solid #888 } th:first-child, td:first-child { text-align: left }
tr.task td { border-top: 1px solid #bbb } small { color: #444 }
.best { background: #8f8f8f; font-weight: bold } .best small { color: #1a1a1a } .light { background: #dcdcdc }
div { overflow-x: auto }"""


def _mean_std(mean: float, std: float) -> str:
    if math.isnan(mean):
        return "-"
    return f"{mean:.2f}" if math.isnan(std) else f"{mean:.2f} ({std:.2f})"


def _blank(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}


def _unknown(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in values.items()}


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    width = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, width, strict=True)).rstrip() for row in table]


def _piped(table: Iterable[Sequence[str]]) -> list[str]:
    head, *body = ([cell.replace("|", "\\|") for cell in row] for row in table)
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]


def _tr(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_e(cell)}</{tag}>" for cell in cells) + "</tr>"


def _marked_text(entry: Entry | None) -> str:
    return "-" if entry is None else _mean_std(entry.mean, entry.std).join([_ASTERISKS[entry.mark]] * 2)


def _marked_cell(entry: Entry | None) -> str:
    if entry is None:
        return "<td>-</td>"
    kind = f' class="{entry.mark}" title="{_MEANING[entry.mark]}"' if entry.mark else ""
    std = "" if math.isnan(entry.std) else f" <small>({entry.std:.2f})</small>"
    return f"<td{kind}>{entry.mean:.2f}{std}</td>"


def _e(text: str) -> str:
    return html.escape(text, quote=False)
