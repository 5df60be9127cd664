"""Files of tables: CSV, Parquet and npz as columns of cells, and what is stated about the columns."""

from __future__ import annotations

import csv
import io
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cvxproof.files import BadContentError, Members, read_file
from specmargin.arrays import sparse_from_parts
from specmargin.checks import path as check_path
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.tables.assessment.columns import MISSING, as_cells, as_texts, infer_types, pandas
from specmargin.tables.assessment.table import Table, as_table

__all__ = ["read_settings", "read_table"]

_SEPARATORS = ",;\t|"
_PARTS = ("data", "indices", "indptr", "shape")
"""Arrays of an npz file that a sparse matrix is made of."""
_COLUMN = 4096
"""Bytes that a column takes in addition to its values."""
_OTHERS = {"blanks": None, "'~'": "~", "'^'": "^", "':'": ":", "'§'": "§"}
_READ = "pass a CSV file with a line of names, a Parquet file, or an npz file with the arrays X and y"


def read_settings(columns: Any) -> dict[str, str]:
    """Return what columns are stated to be: a mapping, lines NAME=KIND, or a TOML file with a table ``[columns]``.

    Examples
    --------
    >>> read_settings(["zip=category", "day=date:%d/%m/%Y"])
    {'zip': 'category', 'day': 'date:%d/%m/%Y'}
    """
    if isinstance(columns, Mapping):
        return {str(name): str(kind) for name, kind in columns.items()}
    if not isinstance(columns, Sequence | os.PathLike | None):
        raise InvalidInputError(f"columns={shown(columns)} states nothing of columns; pass {{'age': 'number'}} say.")
    stated: dict[str, str] = {}
    for line in [columns] if isinstance(columns, str | os.PathLike) else columns or ():
        if str(line).endswith(".toml"):
            try:
                stated |= read_settings(tomllib.loads(Path(line).read_text(encoding="utf-8"))["columns"])
            except (OSError, KeyError, ValueError, TypeError) as error:
                raise InvalidInputError(f"{str(line)!r} has no table [columns] of NAME = 'KIND' ({error}).") from error
            continue
        name, equals, kind = str(line).rpartition("=")
        if not equals:
            raise InvalidInputError(f"columns={str(line)!r} is not of the form NAME=KIND, nor a TOML file.")
        stated[name] = kind
    return stated


def read_table(path: str | os.PathLike[str], *, columns: Any = (), names: bool | None = None) -> Table:
    r"""Read a table from a file: Parquet and npz by their suffix, everything else as CSV.

    Cells of a CSV file are separated by that of ``, ; tab |`` that cuts its lines into most cells of equal number; the
    encoding is UTF-8 (UTF-16 with its mark), else Windows-1252. What a column holds is inferred from its cells.

    Parameters
    ----------
    path : str or path
        The file. An npz file holds ``X`` and maybe ``y``, which becomes the column "y".
    columns : mapping of str to str, sequence of NAME=KIND, or path of a TOML file
        What columns are, where it is not to be inferred: number, date, category, text, id, ignore.
    names : bool, optional
        Whether the first line of a CSV file holds names; by default that is looked at.

    Raises
    ------
    ValueError
        If there is no such file, or it is no table; the text says where it stops to be one.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age;town\n30,5;Rome\n41;\n")
    >>> {name: column.tolist() for name, column in read_table(path).columns.items()}
    {'age': [30.5, 41.0], 'town': ['Rome', None]}
    """
    check_path("path", path)
    pandas()
    file = Path(path)
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise InvalidInputError(f"the file {str(path)!r} {what}; {_READ}.")
    try:
        if file.suffix.lower() in (".parquet", ".pq"):
            table = _parquet(file)
        else:
            table = _npz(file) if file.suffix.lower() == ".npz" else _csv(file, names)
    except OSError as error:
        raise InvalidInputError(
            f"the file {str(path)!r} cannot be read ({error.strerror or error}); {_READ}."
        ) from error
    return table.reading(read_settings(columns))


def _csv(file: Path, names: bool | None) -> Table:
    text, notes = _decoded(file)
    skipped = 0
    first, _, rest = text.lstrip("\r\n").partition("\n")
    told = first.strip().lower().removeprefix('"').removeprefix("sep=")
    if first.strip().lower().lstrip('"').startswith("sep=") and len(told.strip('"')) <= 1:
        separator, skipped, text = told.strip('"') or "\t", text.count("\n") - rest.count("\n"), rest
    else:
        separator = max(_SEPARATORS, key=lambda one: _cut(text, one))
    rows = _records(file, text, separator, skipped)
    if len(rows) < 2 and names is not False:
        raise InvalidInputError(f"the file {str(file)!r} has {len(rows)} lines, and no row below its names; {_READ}.")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise InvalidInputError(
                f"line {line} of {str(file)!r} has {len(row)} cells, its first line has {width} (separator "
                f"{separator!r}); mend that line, or put cells that hold {separator!r} into quotes."
            )
    if width == 1:
        _refuse_one_column(file, [row[0] for _, row in rows])
    body = [row for _, row in rows]
    if names is None:
        names = not _holds_values(body)
        if not names:
            notes.append("The first line holds values, not names: the columns are named column 1, column 2, ...")
    header = [name.strip() for name in body.pop(0)] if names else [""] * width
    unique, twice = _unique([name or f"column {j + 1}" for j, name in enumerate(header)])
    if twice:
        notes.append(f"Several columns are named {', '.join(map(repr, twice))}; the later ones got a number.")
    notes += _swallowed(rows, separator, width)
    columns = {name: as_cells([row[j] for row in body]) for j, name in enumerate(unique)}
    notes += [note for j, name in enumerate(unique) if (note := _texts_for_missing(name, [row[j] for row in body]))]
    return Table(columns, read_notes=tuple(notes), separator=separator, names=names)


def _decoded(file: Path) -> tuple[str, list[str]]:
    content = file.read_bytes()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace"), []
    if b"\0" in content[:4096]:
        raise InvalidInputError(f"the file {str(file)!r} holds zero bytes, and is no text; {_READ}.")
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        note = "The file is not UTF-8; it was read as Windows-1252. Look at letters with accents."
        return content.decode("cp1252", errors="replace"), [note]


def _cut(text: str, separator: str) -> tuple[float, int]:
    """Return how well a separator cuts the first lines: the share of lines as wide as the first, and their width."""
    lines = csv.reader(io.StringIO(text[:200_000], newline=""), delimiter=separator)
    try:
        widths = [len(row) for row, _ in zip(filter(None, lines), range(200), strict=False)]
    except csv.Error:
        return 0.0, 0
    width = widths[0] if widths else 1
    return (float(np.mean(np.array(widths) == width)), width) if width > 1 else (0.0, 0)


def _records(file: Path, text: str, separator: str, skipped: int) -> list[tuple[int, list[str]]]:
    """Return the lines with cells, by csv: pandas fills short lines up, and closes quotes where a file ends."""
    limit = csv.field_size_limit(sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return [(skipped + lines.line_num, row) for row in lines if any(cell.strip() for cell in row) or len(row) > 1]
    except csv.Error as error:
        raise InvalidInputError(
            f"the file {str(file)!r} stops to be CSV at line {skipped + lines.line_num} ({error}); a quote opens a "
            "cell and has to close it: put cells with quotes or line ends into quotes, and double the quotes in them."
        ) from error
    finally:
        csv.field_size_limit(limit)


def _refuse_one_column(file: Path, cells: list[str]) -> None:
    for name, other in _OTHERS.items():
        widths = {len(cell.split(other)) for cell in cells}
        if len(cells) > 2 and len(widths) == 1 and widths != {1}:
            raise InvalidInputError(
                f"the file {str(file)!r} has one column, {cells[0][:60]!r}: its cells seem to be separated by {name}; "
                "separate them by commas, semicolons, tabs or '|'."
            )


def _holds_values(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line looks like the others: numbers above numbers, and no steps such as years."""
    columns = [as_cells([row[j] for row in rows[1:]]) for j in range(len(rows[0]))]
    kinds = infer_types({str(j): cells for j, cells in enumerate(columns)}).values()
    numeric = np.array([kind.kind == "number" for kind in kinds])
    first = pandas().to_numeric(pandas().Series(list(rows[0])).str.strip(), errors="coerce").to_numpy()
    if numeric.any():
        missing = np.array([cell is None and bool(rows[0][j]) for j, cell in enumerate(as_texts(as_cells(rows[0])))])
        above = first[numeric & ~missing]
        steps = set(np.diff(above[np.isfinite(above)]).tolist())
        values = len(above) > 0 and np.isfinite(above).all()
        return bool(values and not (len(above) > 2 and len(steps) == 1 and min(steps) > 0))
    seen = [first in column for first, column in zip(rows[0], (set(as_texts(c)) for c in columns), strict=True)]
    return bool(len(rows) > 3 and np.mean(seen) > 0.5)


def _swallowed(rows: list[tuple[int, list[str]]], separator: str, width: int) -> list[str]:
    """Name a cell in quotes that holds what looks like whole lines: a quote is missing, maybe."""
    for line, row in rows:
        for cell in row:
            inner = cell.split("\n")[1:-1]
            if width > 1 and inner and all(len(one.split(separator)) == width for one in inner):
                return [f"A cell that ends in line {line} holds {len(inner)} whole lines: is a quote missing?"]
    return []


def _texts_for_missing(name: str, cells: list[str]) -> str:
    """Name texts that count as missing among other texts: NA is a country, too."""
    texts = [cell.strip() for cell in cells if cell.strip()]
    absent = Counter(text for text in texts if text.lower() in MISSING and any(map(str.isalpha, text)))
    if not absent or any(any(map(str.isdigit, text)) for text in texts if text not in absent):
        return ""
    told = ", ".join(f"{text!r} ({n} times)" for text, n in absent.items())
    return f"{name!r} holds {told}: counted as missing; where it is a value, write it in another word."


def _unique(names: list[str]) -> tuple[list[str], list[str]]:
    out: list[str] = []
    for k, name in enumerate(names):
        number, taken = 2, {*out, *names[k + 1 :]} if name in out else {*out}
        new = name
        while new in taken:
            new, number = f"{name}.{number}", number + 1
        out.append(new)
    return out, list(dict.fromkeys(name for name in names if names.count(name) > 1))


def _parquet(file: Path) -> Table:
    try:
        import pyarrow
    except ImportError as error:
        raise InvalidInputError(
            f"the file {str(file)!r} is Parquet, which pyarrow reads: pip install 'specmargin[parquet]', or save it as "
            "CSV."
        ) from error
    try:
        return as_table(pandas().read_parquet(file, engine="pyarrow").reset_index(drop=True))
    except (pyarrow.ArrowException, ValueError) as error:
        raise InvalidInputError(f"the file {str(file)!r} is no Parquet file ({error}); {_READ}.") from error


def _npz(file: Path) -> Table:
    try:
        return _of_members(Members(read_file(file)), file)
    except BadContentError as error:
        raise InvalidInputError(f"the file {str(file)!r} cannot be read as npz ({error}); {_READ}.") from error


def _of_members(held: Members, file: Path) -> Table:
    """Return a table of the features and of the arrays that have one value for each row; no other array is read."""
    if held.keys() >= set(_PARTS):
        X: Any = sparse_from_parts("X", (held["data"], held["indices"], held["indptr"]), held["shape"].tolist())
    elif "X" in held:
        rows, columns = (*held.shape("X"), 1, 1)[:2]
        if columns * (8 * rows + _COLUMN) > held.left:
            raise BadContentError(f"X of the shape {held.shape('X')} is more than a file of this size may hold")
        X = held["X"]
    else:
        raise InvalidInputError(
            f"the file {str(file)!r} holds {shown(sorted(held))}; name the features X and the labels y, or save X by "
            "scipy.sparse.save_npz with y as one more array."
        )
    table = as_table(X)
    others = [name for name in held if name not in (*_PARTS, "X") and held.shape(name) == (table.n_rows,)]
    return replace(table, cells={**table.cells, **{name: as_cells(held[name]) for name in others}})
