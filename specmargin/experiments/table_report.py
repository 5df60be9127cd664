"""A finished table, as text, CSV and Markdown: reproduced numbers beside published ones."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specmargin.experiments.engine.artifacts import replace_file

__all__ = ["Line", "TableReport"]


@dataclass(frozen=True)
class Line:
    """One reproduced number beside one published number, both in percent; NaN where there is none."""

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


_COLUMNS = (
    "dataset",
    "method",
    "tuning",
    "reproduced",
    "splits",
    "published",
    "source",
    "difference",
    "note",
)


@dataclass(frozen=True)
class TableReport:
    """A finished table.

    Parameters
    ----------
    name, title : str
        Its name in the register; what it shows.
    lines : sequence of Line
        The body.
    header, footer : sequence of str
        What to know before and after: substitutes for missing data, failures, certificates, versions, command.

    Examples
    --------
    >>> report = TableReport("demo", "Demo", [Line("g50c", "svm", "5 labelled folds", 9.5, 1.2, 10, 9.33, 2.0, "p4")])
    >>> print(report.text())
    Demo
    <BLANKLINE>
    dataset  method  tuning            reproduced   splits  published    source  difference  note
    g50c     svm     5 labelled folds  9.50 (1.20)  10      9.33 (2.00)  p4      +0.17
    <BLANKLINE>
    <BLANKLINE>
    """

    name: str
    title: str
    lines: Sequence[Line]
    header: Sequence[str] = ()
    footer: Sequence[str] = ()

    def _cells(self) -> list[list[str]]:
        return [
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

    def text(self) -> str:
        """Return the table with aligned columns; long notes stand below it, by number."""
        body = self._cells()
        notes = list(dict.fromkeys(row[-1] for row in body if row[-1]))
        for row in body:
            row[-1] = f"[{notes.index(row[-1]) + 1}]" if row[-1] else ""
        width = [max(len(row[k]) for row in [list(_COLUMNS), *body]) for k in range(len(_COLUMNS))]
        lines = [self.title, *self.header, ""]
        lines += [
            "  ".join(cell.ljust(w) for cell, w in zip(row, width, strict=True)).rstrip()
            for row in [list(_COLUMNS), *body]
        ]
        lines += ["", *(f"[{number}] {note}" for number, note in enumerate(notes, 1))]
        return "\n".join([*lines, *self.footer]) + "\n"

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [f"# {self.title}", "", *(f"{line}\n" for line in self.header)]
        lines += [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
            for row in [list(_COLUMNS), ["---"] * len(_COLUMNS), *self._cells()]
        ]
        return "\n".join([*lines, "", *(f"- {line}" for line in self.footer)]) + "\n"

    def csv(self) -> str:
        """Return the body with one number per column, unrounded; empty where there is none."""
        names = ["dataset", "method", "tuning", "mean", "std", "n_splits", "published_mean", "published_std"]
        names += ["source", "difference", "note"]
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        for line in self.lines:
            values = [getattr(line, name) for name in names]
            writer.writerow(["" if isinstance(v, float) and math.isnan(v) else v for v in values])
        return stream.getvalue()

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``<name>.txt``, ``.csv`` and ``.md`` into a folder and return their paths."""
        paths = []
        for ending, content in (("txt", self.text()), ("csv", self.csv()), ("md", self.markdown())):
            paths.append(Path(folder) / f"{self.name}.{ending}")
            replace_file(paths[-1], content.encode())
        return paths


def _mean_std(mean: float, std: float) -> str:
    if math.isnan(mean):
        return "-"
    return f"{mean:.2f}" if math.isnan(std) else f"{mean:.2f} ({std:.2f})"
