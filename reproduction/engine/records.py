"""Tidy rows: one dictionary per cell, and how it is kept on disk.

A `Cell` names one computation by values that fit into JSON; its ``key`` is the same on every machine. A row is a flat
dictionary: what the cell is, what its work returned, how it ended. `Store` keeps rows in a folder, one line each,
appended by the process that computed them; ``pandas.DataFrame(rows)`` makes a table of them.
"""

import errno
import hashlib
import json
import logging
import math
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from cvxproof.files import parse_json, read_file, replace_file
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError

Row: TypeAlias = dict[str, Any]
"""Columns: ``key experiment method dataset split parameters param_* status seconds run``, what the work returned
(errors in percent, ``solver``, ``relative_gap``), ``error``, ``traceback``, ``warnings`` where there are any."""

_NAMES = ("experiment", "method", "dataset", "split")

_logger = logging.getLogger(__name__)


def _plain(value: Any) -> Any:
    """Numpy scalars as Python's own, for json."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise InvalidTypeError(
        f"{shown(value)} of type {type(value).__name__} does not fit into JSON; pass None, bool, int, float, str, "
        "or lists and dicts of them (arrays are made inside the cell, from a name)."
    )


def canonical_json(value: Any) -> str:
    """Text that is equal for equal values: sorted names, no spaces, shortest floats that read back exactly."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)


@dataclass(frozen=True, eq=False)
class Cell:
    """One estimator on one data set, split and setting of the parameters: by name, never by value.

    Parameters
    ----------
    experiment, method, dataset, split : str
        What is computed, with what, on what. The work makes the arrays from these names.
    parameters : mapping of str to JSON values
        One setting; numpy scalars are taken as Python's numbers. 1 and 1.0 are different settings.

    Examples
    --------
    >>> cell = Cell("demo", "svm", "g50c", "published-00", {"C": 1.0, "kernel": "rbf"})
    >>> cell == Cell("demo", "svm", "g50c", "published-00", {"kernel": "rbf", "C": 1.0}), cell.key[:12]
    (True, '7654ed4320ab')
    """

    experiment: str
    method: str
    dataset: str
    split: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _NAMES:
            if not isinstance(getattr(self, name), str):
                raise InvalidTypeError(f"{name}={shown(getattr(self, name))} is no text; pass a name.")
        if not isinstance(self.parameters, Mapping) or not all(isinstance(name, str) for name in self.parameters):
            raise InvalidTypeError(f"parameters={shown(self.parameters)}; pass a dict from names to JSON values.")
        # Through JSON and back: tuples become lists now rather than after a resume.
        object.__setattr__(self, "parameters", MappingProxyType(json.loads(canonical_json(dict(self.parameters)))))

    def __getstate__(self) -> dict[str, Any]:
        return self.to_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, MappingProxyType(value) if name == "parameters" else value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {**{name: getattr(self, name) for name in _NAMES}, "parameters": dict(self.parameters)}

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical JSON: the cell's name on disk, equal on every machine."""
        return hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest()


def make_row(cell: Cell, outcome: Mapping[str, Any]) -> Row:
    """Return the row of a cell: its fields, the parameters once as JSON text and once per column, the outcome.

    `ValueError` if the outcome uses a name of the cell, or holds NaN.
    """
    row: Row = {"key": cell.key, **cell.to_dict(), "parameters": canonical_json(dict(cell.parameters))}
    for name, value in cell.parameters.items():
        row[f"param_{name}"] = canonical_json(value) if isinstance(value, dict | list) else value
    taken = sorted(row.keys() & outcome.keys())
    if taken:
        raise InvalidInputError(f"the work returned {taken}, which are columns of the cell itself; rename them.")
    for name, value in outcome.items():
        if isinstance(value, float) and math.isnan(value):
            raise InvalidInputError(f"the work returned {name} = nan; leave out what is not known, or raise an error.")
    return row | dict(outcome)


class Store:
    """Rows in a folder: ``cells/<run>-<process>.jsonl``, one checked line per row.

    Each process appends to a file of its own, so that nothing is locked and a hundred thousand cells are a few files.
    A line is a checksum and JSON, flushed to the disk before the next cell starts; kill -9 at any moment leaves whole
    lines and at most one torn one, which the checksum finds.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.cells = self.folder / "cells"

    def append(self, row: Row, run: str) -> Row:
        """Write one row and return it as it will be read back."""
        text = canonical_json(row)
        line = _line_of(text)
        file = os.open(self.cells / f"{run}-{os.getpid()}.jsonl", os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        try:
            before = os.fstat(file).st_size
            written = os.write(file, line)
            if written != len(line):
                os.ftruncate(file, before)
                raise OSError(errno.ENOSPC, f"no room: wrote {written} of {len(line)} bytes of a row")
            os.fsync(file)
        finally:
            os.close(file)
        return dict(json.loads(text))

    def write(self, rows: Iterable[Row], run: str) -> None:
        """Write rows of one run that are known already, all at once."""
        replace_file(self.cells / f"{run}-0.jsonl", b"".join(_line_of(canonical_json(row)) for row in rows))

    def read(self) -> dict[str, Row]:
        """Return the newest row of every cell by its key; torn and damaged lines are left out, with a warning."""
        return newest(self.all_rows())

    def all_rows(self, *, set_aside: bool = False) -> list[Row]:
        """Return every row, also several of one cell, the oldest first.

        The holder of the folder's lock may have damaged lines moved into ``damaged/``, rather than be warned of them at
        every reading.
        """
        rows, n_damaged = [], 0
        # Names start with the time of the run: a later success replaces an earlier failure.
        for file in sorted(self.cells.glob("*.jsonl")):
            good, bad = [], []
            for line in (_content(file) or b"").split(b"\n"):
                row = _row_of(line)
                if row is not None:
                    good.append(line)
                    rows.append(row)
                elif line.strip():
                    bad.append(line)
            n_damaged += len(bad)
            if bad and set_aside:
                self._put_away(file.name, b"\n".join([*bad, b""]))
                replace_file(file, b"".join(b"\n" + line + b"\n" for line in good))
        if n_damaged:
            what = "set aside in damaged/" if set_aside else "ignored"
            _logger.warning("%d damaged lines in cells are %s; their cells count as missing", n_damaged, what)
        return rows

    def provenance(self, *, set_aside: bool = False) -> dict[str, dict[str, Any]]:
        """Return what each run recorded of itself, by the run's name: the ``run`` column of the rows.

        A record that cannot be read is left out, with a warning; `set_aside` as in `all_rows`.
        """
        runs, n_damaged = {}, 0
        for file in sorted((self.folder / "runs").glob("*.json")):
            content = _content(file)
            if content is None:
                continue
            try:
                record = parse_json(content)
            except ValueError:
                record = None
            if isinstance(record, dict):
                runs[file.stem] = record
                continue
            n_damaged += 1
            if set_aside:
                self._put_away(file.name, content)
                file.unlink()
        if n_damaged:
            _logger.warning("%d damaged records in runs are %s", n_damaged, "set aside" if set_aside else "ignored")
        return runs

    def _put_away(self, name: str, content: bytes) -> None:
        place = self.folder / "damaged" / name
        replace_file(place, (place.read_bytes() if place.is_file() else b"") + content)


def newest(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the last row of every cell by its key; a failure does not replace a success."""
    last: dict[str, Row] = {}
    for row in rows:
        if row["status"] == "ok" or last.get(row["key"], row)["status"] != "ok":
            last[row["key"]] = row
    return last


def _line_of(text: str) -> bytes:
    payload = text.encode()
    # The leading newline keeps this row apart from a torn one that a full disk may have left.
    return b"\n%08x %s\n" % (zlib.crc32(payload), payload)


def _content(file: Path) -> bytes | None:
    """Return what a file holds; None, with a warning, where it is none or cannot be read."""
    try:
        return read_file(file, repr(str(file)))
    except InvalidInputError as error:
        _logger.warning("%s It is ignored; cells that it may hold count as missing", error)
        return None


def _row_of(line: bytes) -> Row | None:
    """Return the row of a line, or None where it is empty, torn, damaged or no row."""
    try:
        checksum, payload = line.split(b" ", 1)
        row = parse_json(payload) if int(checksum, 16) == zlib.crc32(payload) else None
    except ValueError:
        return None
    return row if isinstance(row, dict) and _is_whole(row) else None


def _is_whole(row: Row) -> bool:
    """Return whether a row has the columns that a sweep reads, with values that it can read."""
    texts = (row.get(name) for name in ("key", *_NAMES, "parameters", "run"))
    seconds = row.get("seconds")
    return (
        row.get("status") in ("ok", "failed")
        and all(isinstance(text, str) for text in texts)
        and isinstance(seconds, int | float)
        and 0.0 <= seconds < math.inf
    )


def worst_gap(rows: Iterable[Row]) -> float | None:
    """Return the relative gap of the largest modulus among rows that have a certificate.

    Examples
    --------
    >>> worst_gap([{"relative_gap": 1e-9}, {"relative_gap": -1e-7}, {}])
    -1e-07
    """
    gaps = [row["relative_gap"] for row in rows if row.get("relative_gap") is not None]
    return max(gaps, key=abs, default=None)
