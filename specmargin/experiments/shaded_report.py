"""A table of methods side by side with the two shades of the spectrum paper: text, CSV, Markdown and HTML.

Each row is a task and a number of labels, each column a method. The method of least mean error is dark in HTML, bold in
Markdown and stands between double asterisks in text; those that are not significantly worse are light, italic, and
between single asterisks. `ShadedReport` adds the count of the shades, and what the numbers say of the paper's claims.
"""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specmargin.experiments.engine.artifacts import replace_file
from specmargin.experiments.engine.significance import Entry, Shade, tally
from specmargin.experiments.table_report import Line, TableReport

__all__ = ["ShadedReport", "ShadedRow", "lines_of"]

_MARKS: dict[Shade, str] = {"best": "**", "light": "*", "": ""}
_WORDS: dict[Shade, str] = {"best": "best", "light": "not significantly worse", "": ""}
_KEY = "least mean error, {}, or not significantly worse than it (paired t-test, 5 %), {}; mean (deviation) in percent"
_STYLE = """body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 82em;
  color: #1a1a1a; padding: 0 1em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1em 0 }
th, td { padding: .25em .55em; text-align: right; white-space: nowrap }
th { border-bottom: 1px solid #888 } th:first-child, td:first-child { text-align: left }
tr.task td { border-top: 1px solid #bbb } small { color: #444 }
.best { background: #8f8f8f; font-weight: bold } .best small { color: #1a1a1a } .light { background: #dcdcdc }
div { overflow-x: auto }"""


@dataclass(frozen=True)
class ShadedRow:
    """One task at one number of labels.

    Parameters
    ----------
    dataset : str
        Name of the task.
    n_labeled : int
        Labelled samples.
    entries : mapping of str to Entry
        By method, of `significance.shades`. A method that is missing has failed everywhere.
    settings : mapping of str to str
        The chosen hyper-parameters of each method, in words.
    """

    dataset: str
    n_labeled: int
    entries: Mapping[str, Entry]
    settings: Mapping[str, str] = field(default_factory=dict)


def lines_of(rows: Iterable[ShadedRow], tuning: str, note: str = "") -> list[Line]:
    """Return the rows as `Line` s of an ordinary table, one per method: nothing published beside."""
    return [
        Line(f"{row.dataset}, l = {row.n_labeled}", method, tuning, entry.mean, entry.std, entry.n_splits, note=note)
        for row in rows
        for method, entry in row.entries.items()
    ]


@dataclass(frozen=True)
class ShadedReport(TableReport):
    r"""A finished table with shades.

    Parameters
    ----------
    name, title, lines, header, footer
        As in `TableReport`; `lines` from `lines_of`.
    rows : sequence of ShadedRow
        The body.
    methods : sequence of str
        The columns.
    claims : sequence of str
        What the numbers say, sentence by sentence.

    Examples
    --------
    >>> from specmargin.experiments.engine.significance import shades
    >>> entries = shades({"STOAM": {"s0": 9.0, "s1": 10.0}, "STORM": {"s0": 8.0, "s1": 10.0}})
    >>> report = ShadedReport("demo", "Demo", [], rows=[ShadedRow("3-8", 20, entries)], methods=["STOAM", "STORM"])
    >>> print("\n".join(report.text().splitlines()[2:4]))
    task  l   STOAM          STORM
    3-8   20  *9.50 (0.71)*  **9.00 (1.41)**
    """

    rows: Sequence[ShadedRow] = ()
    methods: Sequence[str] = ()
    claims: Sequence[str] = ()

    def _tally(self) -> list[list[str]]:
        """Return the paper's table 3: dark, light, and their sum, per method."""
        counts = tally((row.entries for row in self.rows), self.methods)
        head = ["", *self.methods]
        names = ("best", "not significantly worse", "either")
        values = [(dark, light, dark + light) for dark, light in counts.values()]
        return [head, *([name, *(str(value[k]) for value in values)] for k, name in enumerate(names))]

    def _body(self) -> list[list[str]]:
        head = ["task", "l", *self.methods]
        return [head, *([row.dataset, str(row.n_labeled), *self._marked(row)] for row in self.rows)]

    def _marked(self, row: ShadedRow) -> list[str]:
        found = [row.entries.get(method) for method in self.methods]
        return [
            "-" if entry is None else f"{_MARKS[entry.shade]}{_mean_std(entry)}{_MARKS[entry.shade]}" for entry in found
        ]

    def text(self) -> str:
        """Return the table with aligned columns."""
        lines = [self.title, *self.header, _KEY.format("**", "*"), *_aligned(self._body())]
        lines += ["", f"How often of {len(self.rows)} rows:", *_aligned(self._tally())]
        lines += ["", *([*self.claims, ""] if self.claims else []), *self.footer]
        return "\n".join(lines) + "\n"

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [f"# {self.title}", "", *(f"{line}\n" for line in self.header), _KEY.format("bold", "italic"), ""]
        lines += [*_piped(self._body()), "", f"How often of {len(self.rows)} rows:", "", *_piped(self._tally()), ""]
        for part in (self.claims, self.footer):
            lines += [*(f"- {line}" for line in part), ""] if part else []
        return "\n".join(lines)

    def csv(self) -> str:
        """Return one line per task, number of labels and method, unrounded; empty where there is no number."""
        names = ["dataset", "n_labeled", "method", "tuning", "mean", "std", "n_splits", "p_value", "shade", "setting"]
        tunings = {(line.dataset, line.method): line.tuning for line in self.lines}
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        for row in self.rows:
            for method, entry in row.entries.items():
                tuning = tunings.get((f"{row.dataset}, l = {row.n_labeled}", method), "")
                numbers = [entry.mean, entry.std, entry.n_splits, entry.p_value]
                values = ["" if math.isnan(number) else number for number in numbers]
                setting = row.settings.get(method, "")
                writer.writerow([row.dataset, row.n_labeled, method, tuning, *values, _WORDS[entry.shade], setting])
        return stream.getvalue()

    def html(self) -> str:
        """Return a page of its own in which the shades are shades."""
        page = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>{_e(self.title)}</title>"]
        page += [f"<style>{_STYLE}</style></head><body>", f"<h1>{_e(self.title)}</h1>"]
        page += [f"<p>{_e(line)}</p>" for line in self.header]
        page += [f"<p>{_e(_KEY.format('dark grey', 'light grey'))}</p>", "<div><table>", _tr("th", self._body()[0])]
        previous = None
        for row in self.rows:
            page.append('<tr class="task">' if row.dataset != previous else "<tr>")
            page.append(f"<td>{_e(row.dataset) if row.dataset != previous else ''}</td><td>{row.n_labeled}</td>")
            page += [self._shaded(row, method) for method in self.methods]
            page.append("</tr>")
            previous = row.dataset
        page += ["</table></div>", f"<p>How often of {len(self.rows)} rows:</p>", "<div><table>"]
        head, *counts = self._tally()
        page += [_tr("th", head), *(_tr("td", count) for count in counts), "</table></div>"]
        for part in (self.claims, self.footer):
            page += ["<ul>", *(f"<li>{_e(line)}</li>" for line in part), "</ul>"] if part else []
        return "\n".join([*page, "</body></html>"]) + "\n"

    @staticmethod
    def _shaded(row: ShadedRow, method: str) -> str:
        entry = row.entries.get(method)
        if entry is None:
            return "<td>-</td>"
        kind = f' class="{entry.shade}" title="{_WORDS[entry.shade]}"' if entry.shade else ""
        std = "" if math.isnan(entry.std) else f" <small>({entry.std:.2f})</small>"
        return f"<td{kind}>{entry.mean:.2f}{std}</td>"

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``<name>.txt``, ``.csv``, ``.md`` and ``.html`` into a folder and return their paths."""
        paths = super().write(folder)
        page = Path(folder) / f"{self.name}.html"
        replace_file(page, self.html().encode())
        return [*paths, page]


def _mean_std(entry: Entry) -> str:
    return f"{entry.mean:.2f}" if math.isnan(entry.std) else f"{entry.mean:.2f} ({entry.std:.2f})"


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    width = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, width, strict=True)).rstrip() for row in table]


def _piped(table: Sequence[Sequence[str]]) -> list[str]:
    head, *body = table
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]


def _tr(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_e(cell)}</{tag}>" for cell in cells) + "</tr>"


def _e(text: str) -> str:
    return html.escape(text, quote=False)
