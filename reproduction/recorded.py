"""Recorded tables: computed whole once, kept in the repository with every row, read at once.

`record_table` makes a folder NAME of a finished sweep:

- ``table.json``: the finished `Report`, the runs behind it (versions, commit, platform, checksums of the data sets),
  the number of cells and the seconds that they took;
- ``table.md``: the report for reading;
- ``rows.jsonl.gz``: every row, ``pandas.read_json("rows.jsonl.gz", lines=True, precise_float=True)``.

`read_record` and `recorded_tables` read them, without data sets and without computing anything. `restore_rows` puts the
rows into the folder of a sweep, which then computes what is missing: an unfinished table can be recorded, too, and goes
on on another machine. That the code of today gives the same numbers is for a test: it computes a sample of the cells
again.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import specmargin
from cvxproof.files import gunzip, parse_json, read_file, replace_file
from reproduction.engine.artifacts import require_folder
from reproduction.engine.records import Cell, Row, Store, canonical_json, make_row
from reproduction.report import Report
from specmargin.exceptions import InvalidInputError

_FORMAT = 1
_TABLE, _ROWS = "table.json", "rows.jsonl.gz"
_OF_THE_CELL = ("method", "dataset", "split")
_MADE_AGAIN = ("key", "experiment", "parameters", *_OF_THE_CELL)


@dataclass(frozen=True)
class RecordedTable:
    """A table as it was recorded.

    Parameters
    ----------
    name, experiment : str
        Name of the record, which tells the choices, and of the table on the command line.
    choices : mapping of str to str
        Axes that were set.
    report : Report or None
        None while the table is unfinished.
    runs : mapping
        What each run recorded of itself, by its name, which the rows have in their column ``run``.
    cells, failed : int
        Rows, and how many of them hold an error.
    seconds : float
        Seconds of work in all cells, on one thread each.
    checksum : str
        Checksum of the rows.
    folder : path
        Folder of the record.
    """

    name: str
    experiment: str
    choices: Mapping[str, str] = field(default_factory=dict)
    report: Report | None = None
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cells: int = 0
    failed: int = 0
    seconds: float = 0.0
    checksum: str = ""
    folder: Path = Path()

    @property
    def hours(self) -> float:
        """Hours of one core."""
        return self.seconds / 3600.0

    @property
    def commits(self) -> list[str]:
        """Commits that the rows were computed with, sorted."""
        return sorted({git["commit"] for run in self.runs.values() if (git := run.get("git"))})

    @property
    def command(self) -> str:
        """What to type to make the table again."""
        chosen = "".join(f" --set {axis}={value}" for axis, value in sorted(self.choices.items()))
        return f"python -m reproduction tables {self.experiment}{chosen}"

    def rows(self) -> list[Row]:
        """Return every row as the sweep had it. `ValueError` if the file of rows is damaged."""
        return [_whole_row(self.experiment, line, self.runs) for line in _lines(self.folder / _ROWS, self.checksum)]


def recorded_folder() -> Path | None:
    """Return ``results/recorded`` of the checkout that this package lies in; None where it was installed."""
    root = Path(specmargin.__file__).resolve().parents[1]
    return root / "results" / "recorded" if (root / "pyproject.toml").is_file() else None


def recorded_rows(table: str) -> list[Row] | None:
    """Return the rows of a table's record in this checkout; None where there is none."""
    folder = recorded_folder()
    return None if folder is None or not (folder / table).is_dir() else read_record(folder / table).rows()


def record_table(
    experiment: str,
    store: Store,
    rows: Iterable[Row],
    folder: str | Path,
    *,
    report: Report | None = None,
    choices: Mapping[str, str] | None = None,
) -> RecordedTable:
    """Write rows and their report into a folder, in the place of an earlier record.

    Parameters
    ----------
    experiment : str
        The table's name.
    store : Store
        The folder of its sweep, for the provenance of the runs.
    rows : iterable of dict
        Those that the report was made of; of an unfinished table those that there are.
    folder : path
        Folder of the record, made if missing; its last part is the record's name.
    report : Report, optional
        None where the table is unfinished.
    choices : mapping of str to str, optional
        Axes that were set to other than their default.

    Raises
    ------
    ValueError
        If a row is of no run that the store knows, or belongs to another table.
    """
    unique = {row["key"]: row for row in rows}
    known, used = store.provenance(), sorted({row["run"] for row in unique.values()})
    runs = {run: known[run] for run in used if run in known}
    place = require_folder(Path(folder))
    ordered = sorted(unique.values(), key=lambda row: [*(row[name] for name in _OF_THE_CELL), row["parameters"]])
    lines = [canonical_json(_short_row(experiment, row, runs)) for row in ordered]
    table = {
        "format": _FORMAT,
        "experiment": experiment,
        "choices": dict(choices or {}),
        "cells": len(lines),
        "failed": sum(row["status"] != "ok" for row in unique.values()),
        "seconds": round(sum(row["seconds"] for row in unique.values()), 1),
        "crc32": f"{zlib.crc32(_text(lines)):08x}",
        "report": None if report is None else report.as_json(),
        "runs": runs,
    }
    # A reader that comes in between finds rows that do not fit the table, and says so.
    replace_file(place / _ROWS, gzip.compress(_text(lines), mtime=0))
    replace_file(place / _TABLE, (json.dumps(table, indent=1, allow_nan=False) + "\n").encode())
    if report is not None:
        replace_file(place / "table.md", report.markdown().encode())
    return read_record(place)


def read_record(folder: str | Path) -> RecordedTable:
    """Read a record; its rows are read where they are asked for.

    Raises
    ------
    ValueError
        If the folder holds none, or one that was cut off, altered, or written by a later version.
    """
    place = Path(folder)
    if not (place / _TABLE).is_file():
        raise InvalidInputError(
            f"{str(place)!r} holds no recorded table, for {_TABLE} is not there; python -m reproduction "
            "tables NAME --record makes one."
        )
    try:
        content = parse_json(read_file(place / _TABLE))
        if content["format"] > _FORMAT:
            raise InvalidInputError(f"the record {str(place)!r} was written by a later version; update specmargin.")
        report = None if content["report"] is None else Report.from_json(content["report"])
        numbers = (int(content["cells"]), int(content["failed"]), float(content["seconds"]))
        named = (place.name, str(content["experiment"]), dict(content["choices"]))
        return RecordedTable(*named, report, dict(content["runs"]), *numbers, str(content["crc32"]), place)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"the record {str(place)!r} cannot be read ({type(error).__name__}: {error}); take it from version "
            "control again, or make it anew by python -m reproduction tables NAME --record."
        ) from None


def recorded_tables(folder: str | Path) -> dict[str, RecordedTable]:
    """Return all records of a folder by their names, sorted; those that are not whole come with ``report=None``."""
    return {place.parent.name: read_record(place.parent) for place in sorted(Path(folder).glob(f"*/{_TABLE}"))}


def restore_rows(record: RecordedTable, sweep: str | Path) -> int:
    """Put the rows of a record into the folder of a sweep that holds no row yet; return how many there were.

    What was there is not touched: rows that the sweep has may be newer.
    """
    store = Store(sweep)
    if any(store.cells.glob("*.jsonl")):
        return 0
    rows = record.rows()
    for place in (store.cells, store.folder / "runs"):
        place.mkdir(parents=True, exist_ok=True)
    for run, provenance in record.runs.items():
        replace_file(store.folder / "runs" / f"{run}.json", (json.dumps(provenance, indent=1) + "\n").encode())
    by_run: dict[str, list[Row]] = {}
    for row in rows:
        by_run.setdefault(row["run"], []).append(row)
    for run, some in by_run.items():
        store.write(some, run)
    return len(rows)


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _short_row(experiment: str, row: Row, runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row without what `_whole_row` makes again."""
    if row["experiment"] != experiment:
        raise InvalidInputError(f"a row of {row['experiment']!r} is among those of {experiment!r}; keep them apart.")
    if row["run"] not in runs:
        raise InvalidInputError(
            f"nothing is known of the run {row['run']!r}, whose rows are to be recorded; compute them again (--fresh)."
        )
    outcome = {name: row[name] for name in row if name not in _MADE_AGAIN and not name.startswith("param_")}
    cell = {name: row[name] for name in _OF_THE_CELL} | {"parameters": json.loads(row["parameters"])}
    return {**cell, **outcome, "seconds": float(f"{row['seconds']:.4g}")}


def _whole_row(experiment: str, line: Mapping[str, Any], runs: Mapping[str, Any]) -> Row:
    if line["run"] not in runs:
        raise InvalidInputError(
            f"a recorded row of {experiment} is of the run {line['run']!r}, of which nothing is known."
        )
    cell = Cell(experiment, line["method"], line["dataset"], line["split"], line["parameters"])
    outcome = {name: value for name, value in line.items() if name not in (*_OF_THE_CELL, "parameters")}
    return make_row(cell, outcome)


def _lines(file: Path, checksum: str) -> list[dict[str, Any]]:
    try:
        text = gunzip(read_file(file))
        if f"{zlib.crc32(text):08x}" != checksum:
            raise InvalidInputError("its checksum is not that of table.json")
        return [parse_json(line) for line in text.splitlines()]
    except ValueError as error:
        raise InvalidInputError(
            f"the rows {str(file)!r} cannot be read ({error}); take the record from version control again."
        ) from None
