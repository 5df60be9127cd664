"""A finished table as HTML: sections, notes, remarks, and a page of its own; `write_report` writes all its forms.

`section_html` and `notes_html` are pieces of any page; `report_html` is a page. Significance marks are grey.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from reproduction.engine.significance import Entry
from reproduction.report import MARKS, MarkedSection, Report, Section
from specmargin.files import replace_file
from specmargin.markup import Cell, document, escape, items, table

__all__ = ["notes_html", "report_html", "section_html", "write_report"]


def section_html(section: Section | MarkedSection, label: str) -> str:
    """Return the table of a section, without its title; `label` is for who does not see it."""
    return _marked(section, label) if isinstance(section, MarkedSection) else _plain(section, label)


_ORDER = ("dataset", "method", "reproduced", "published", "difference", "splits", "tuning", "source", "note")
"""Of the columns: first what is compared."""

_NOTES = 6
"""Different notes that are always told below the table."""

_ONCE = ("splits", "tuning", "source")
"""Columns that are told once, below the table, where they are the same in all rows."""


def _plain(section: Section, label: str) -> str:
    """Return lines as a table without empty columns; notes stand below, by number, unless most rows have their own."""
    head, *body = section.cells()
    notes = list(dict.fromkeys(row[-1] for row in body if row[-1]))
    rows = [dict(zip(head, row, strict=True)) for row in body]
    numbered = len(notes) <= max(_NOTES, len(rows) // 3)
    for row in rows if numbered else ():
        row["note"] = f"[{notes.index(row['note']) + 1}]" if row["note"] else ""
    used = {name: {row[name] for row in rows} for name in _ORDER}
    same = [name for name in _ONCE if len(rows) > 1 and len(used[name]) == 1 and used[name] != {""}]
    kept = [name for name in _ORDER if name == "dataset" or (used[name] - {"", "-"} and name not in same)]
    texts = ("method", "tuning", "source") if numbered else ("method", "tuning", "source", "note")
    left = [k for k, name in enumerate(kept) if name in texts]
    shown = table(kept, [[row[name] for name in kept] for row in rows], label=label, texts=left, grouped=True)
    below = [f"in all rows: {', '.join(f'{name} {rows[0][name]}' for name in same)}"] if same else []
    below += [f"[{number}] {note}" for number, note in enumerate(notes, 1)] if numbered else []
    return shown + "".join(f"<p class=note>{escape(line)}</p>" for line in below)


def _marked(section: MarkedSection, label: str) -> str:
    head, *_ = section.cells()
    rows: list[list[str | Cell]] = [
        [row.dataset, str(row.n_labeled), *(_marked_cell(row.entries.get(method)) for method in section.methods)]
        for row in section.rows
    ]
    first, *counts = section.counts()
    return (
        f"<p>{escape(section.key('dark and bold', 'light and italic'))}</p>"
        + table(head, rows, label=label, grouped=True)
        + f"<p>{escape(section.often())}</p>"
        + table(first, counts, label=f"{label}: {section.often()}")
    )


def _marked_cell(entry: Entry | None) -> Cell:
    if entry is None:
        return Cell("-")
    small = "" if math.isnan(entry.std) else f"({entry.std:.2f})"
    return Cell(f"{entry.mean:.2f}", small, entry.mark, MARKS[entry.mark])


def notes_html(lines: Sequence[str]) -> str:
    """Return remarks as a list; what is indented below another one stays below it, and lines that end in ":" lead."""
    parts: list[str] = []
    open_list = False
    for line in lines:
        text = line.strip()
        if not text:
            continue
        heads = text.endswith(":") and not line.startswith(" ")
        if heads and open_list:
            parts.append("</ul>")
        elif not heads and not open_list:
            parts.append("<ul>")
        open_list = not heads
        under = " class=under" if line.startswith(" ") else ""
        parts.append(f"<p>{escape(text)}</p>" if heads else f"<li{under}>{escape(text)}</li>")
    return "".join([*parts, "</ul>" if open_list else ""])


def report_html(report: Report) -> str:
    """Return a page of its own."""
    parts = [
        f"<header><h1>{escape(report.title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in report.header),
        "</header>",
    ]
    for section in report.sections:
        title = f"<h2>{escape(section.title)}</h2>" if section.title else ""
        parts.append(f"<section>{title}{section_html(section, section.title or report.title)}</section>")
    parts += [f"<section>{notes_html(report.remarks)}</section>"] if report.remarks else []
    parts += [f"<section>{items(report.footer)}</section>"] if report.footer else []
    return document(report.title, "\n".join(parts))


def write_report(report: Report, folder: str | Path) -> list[Path]:
    """Write ``<name>.txt``, ``.csv``, ``.md``, ``.json`` and ``.html`` into a folder and return their paths."""
    forms = {
        "txt": report.text,
        "csv": report.csv,
        "md": report.markdown,
        "json": lambda: json.dumps(report.as_json(), indent=1, allow_nan=False) + "\n",
        "html": lambda: report_html(report),
    }
    paths = []
    for ending, form in forms.items():
        paths.append(Path(folder) / f"{report.name}.{ending}")
        replace_file(paths[-1], form().encode())
    return paths
