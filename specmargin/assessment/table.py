"""Tables: CSV, Parquet, npz, data frames and arrays as named columns, and the column of labels.

`read_table` reads a file, `as_table` takes what is in memory, `split_target` takes the labels out: an empty label is an
unlabelled row.
"""

from __future__ import annotations

import csv
import io
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import feature_rows, sparse_from_parts
from specmargin.assessment.columns import KINDS, MISSING, ColumnType, as_cells, as_texts, infer_types, option, pandas
from specmargin.checks import among, foreign, shown
from specmargin.checks import path as check_path
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.files import BadContentError, Members, read_file
from specmargin.labels import label_vector
from specmargin.labels.markers import is_missing
from specmargin.typing import AnyArray, FloatArray, SparseArray

__all__ = ["Table", "as_table", "class_labels", "read_settings", "read_table", "split_target", "target_labels"]

_SEPARATORS = ",;\t|"
_PARTS = ("data", "indices", "indptr", "shape")
"""Arrays of an npz file that a sparse matrix is made of."""
_COLUMN = 4096
"""Bytes that a column takes in addition to its values."""
_OTHERS = {"blanks": None, "'~'": "~", "'^'": "^", "':'": ":", "'§'": "§"}
_READ = "pass a CSV file with a line of names, a Parquet file, or an npz file with the arrays X and y"
_QUANTITY = 20
"""Different whole numbers above which a column of labels is rather a quantity."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length, or a sparse matrix of features.

    Parameters
    ----------
    cells : dict of str to ndarray
        What was written or passed: see `specmargin.assessment.columns.as_cells`.
    matrix : sparse matrix of shape (n, d), optional
        Features without names.
    read_notes : tuple of str
        What was noticed while reading.
    given : bool
        Whether the columns have names of their own, not those that an array gets.
    said : dict of str to str
        What columns are said to be.
    separator : str
        Of the file.
    fixed : dict of str to ColumnType
        Types of an earlier table, which this one is read by.
    names : bool
        Whether the file has a line of names.

    Examples
    --------
    >>> table = Table({"age": np.array(["30", "40,5"], dtype=object)})
    >>> table.n_rows, table.columns["age"].tolist(), list(table.without("age").columns)
    (2, [30.0, 40.5], [])
    """

    cells: dict[str, AnyArray]
    matrix: SparseArray | None = None
    read_notes: tuple[str, ...] = ()
    given: bool = True
    said: Mapping[str, str] = field(default_factory=dict)
    separator: str = ""
    fixed: Mapping[str, ColumnType] = field(default_factory=dict)
    names: bool = True

    @cached_property
    def types(self) -> dict[str, ColumnType]:
        """What each column is read as."""
        new = {name: cells for name, cells in self.cells.items() if name not in self.fixed}
        types = {**infer_types(new, self.said, self.separator, marks=self.given), **self.fixed}
        return {name: types[name] for name in self.cells}

    @cached_property
    def _read(self) -> dict[str, Any]:
        return {name: kind.read(self.cells[name]) for name, kind in self.types.items()}

    @property
    def columns(self) -> dict[str, AnyArray]:
        """The columns: float64, datetime64, or texts with None for missing ones."""
        return {name: values for name, (values, _) in self._read.items()}

    def odd(self, name: str) -> list[tuple[int, str]]:
        """Return the cells of a column that cannot be read, each with the number of its row, from 1."""
        cells = as_texts(self.cells[name])
        return [(int(i) + 1, str(cells[i])) for i in np.flatnonzero(self._read[name][1])]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed while reading, and what is ambiguous about a column."""
        told = [f"{name!r} {kind.note}." for name, kind in self.types.items() if kind.note and name not in self.fixed]
        return (*self.read_notes, *told)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.matrix is not None:
            return int(self.matrix.shape[0])
        return len(next(iter(self.cells.values()))) if self.cells else 0

    def without(self, *names: str) -> Table:
        """Return the table without some columns."""
        return replace(self, cells={name: cells for name, cells in self.cells.items() if name not in names})

    def reading(self, said: Mapping[str, str]) -> Table:
        """Return the table whose columns are what the user says.

        Raises
        ------
        ValueError
            If there is no such column, or no such kind.
        """
        for name, kind in said.items():
            if name not in self.cells:
                names = ", ".join(map(repr, self.cells)) or "none: X is a matrix"
                raise InvalidInputError(
                    f"there is no column {name!r} to be read as {kind} or to be ignored; the columns are {names}."
                )
            if kind.partition(":")[0] not in KINDS:
                raise InvalidInputError(f"the column {name!r} cannot be {kind!r}; take one of {', '.join(KINDS)}.")
        return replace(self, said={**self.said, **said})


def as_table(X: Any) -> Table:
    """Return a table of a data frame, a mapping of names to columns, an array or a sparse matrix.

    Examples
    --------
    >>> list(as_table({"age": [30, 40], "town": ["Rome", None]}).columns)
    ['age', 'town']
    >>> list(as_table([[1.0, 2.0], [3.0, 4.0]]).columns)
    ['x0', 'x1']
    """
    if isinstance(X, Table):
        return X
    if sp.issparse(X):
        return Table({}, feature_rows(X, "X", sp.csr_array, small=False), given=False)
    names = getattr(X, "columns", None)
    if isinstance(X, Mapping):
        columns = {str(name): as_cells(values) for name, values in X.items()}
    elif names is not None:
        listed = list(names)
        if len({str(name) for name in listed}) < len(listed):
            raise InvalidInputError(f"X has columns of equal names ({shown(listed)}); give each a name of its own.")
        columns = {str(name): as_cells(X[name]) for name in listed}
    else:
        with foreign("pass a table or an array (n_samples, n_features)"):
            array = np.asarray(X)
        if array.dtype.kind == "c":
            raise InvalidTypeError(f"X={shown(X)} holds complex numbers; pass real ones.")
        if array.ndim != 2:
            raise InvalidInputError(
                f"X={shown(X)} has the shape {array.shape}; pass a table or an array (n_samples, n_features)."
            )
        columns = {f"x{j}": as_cells(array[:, j]) for j in range(array.shape[1])}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"X has columns of different lengths ({shown(lengths)}); pass one value per row.")
    if not columns or not next(iter(lengths.values())):
        raise InvalidInputError(f"X={shown(X)} has no rows or no columns; pass at least two rows with one feature.")
    return Table(columns, given=names is not None or isinstance(X, Mapping))


def read_settings(columns: Any) -> dict[str, str]:
    """Return what columns are said to be: a mapping, lines NAME=KIND, or a TOML file with a table ``[columns]``.

    Examples
    --------
    >>> read_settings(["zip=category", "day=date:%d/%m/%Y"])
    {'zip': 'category', 'day': 'date:%d/%m/%Y'}
    """
    if isinstance(columns, Mapping):
        return {str(name): str(kind) for name, kind in columns.items()}
    said: dict[str, str] = {}
    for line in [columns] if isinstance(columns, str | os.PathLike) else columns or ():
        if str(line).endswith(".toml"):
            try:
                said |= read_settings(tomllib.loads(Path(line).read_text(encoding="utf-8"))["columns"])
            except (OSError, KeyError, ValueError, TypeError) as error:
                raise InvalidInputError(f"{str(line)!r} has no table [columns] of NAME = 'KIND' ({error}).") from error
            continue
        name, equals, kind = str(line).rpartition("=")
        if not equals:
            raise InvalidInputError(f"columns={str(line)!r} is not of the form NAME=KIND, nor a TOML file.")
        said[name] = kind
    return said


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
        raise InvalidInputError(f"the file {str(file)!r} has {len(rows)} lines; {_READ}.")
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
            f"the file {str(file)!r} stops to be CSV at line {skipped + lines.line_num} ({error}); a quote opens a cell and has "
            "to close it: put cells with quotes or line ends into quotes, and double the quotes in them."
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
    numeric = [kind.kind == "number" for kind in infer_types(dict(enumerate(columns))).values()]  # type: ignore[arg-type]
    first = pandas().to_numeric(pandas().Series(list(rows[0])).str.strip(), errors="coerce").to_numpy()
    if any(numeric):
        above = first[numeric]
        steps = set(np.diff(above[np.isfinite(above)]).tolist())
        return bool(np.isfinite(above).all() and not (len(above) > 2 and len(steps) == 1 and min(steps) > 0))
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
    others = {name: as_cells(held[name]) for name in held if name not in _PARTS and held.shape(name) == (table.n_rows,)}
    return replace(table, cells={**table.cells, **others})


def split_target(table: Table, target: str, unlabeled: Any = None) -> tuple[Table, AnyArray]:
    """Return the table without its labels, and the labels as objects: None for rows without one.

    Labels are what was written: "007" and numbers of 19 digits keep their digits, dates are texts. Whole numbers are
    int. Where the table says that the labels are a number, they are floats, for regression.

    Parameters
    ----------
    table : Table
    target : str
        Name of the column of labels.
    unlabeled : scalar, optional
        Another value that marks unlabelled rows; empty cells always do.

    Raises
    ------
    ValueError
        If there is no such column, or its labels are no classes.

    Examples
    --------
    >>> table = as_table({"x": [1.0, 2.0, 3.0], "kind": ["a", "", "b"]})
    >>> split_target(table, "kind")[1].tolist()
    ['a', None, 'b']
    """
    if not isinstance(target, str):
        raise InvalidTypeError(f"target={shown(target)} must be the name of a column.")
    if target not in table.cells:
        names = among(target, table.cells) if table.cells else "none."
        raise InvalidInputError(f"there is no column {target!r}; name the one of the labels. The columns are {names}")
    return table.without(target), target_labels(
        table.cells[target], unlabeled, f"the column {target!r}", table.said.get(target, "")
    )


def target_labels(values: Any, unlabeled: Any, named: str, kind: str) -> AnyArray:
    """Return labels as objects: floats where they are said to be numbers, else classes."""
    if kind.partition(":")[0] != "number":
        return class_labels(values, unlabeled, named, anything=bool(kind))
    cells = as_cells([None if _same(value, unlabeled) else value for value in label_vector(values).tolist()])
    numbers, odd = infer_types({"": cells}, {"": kind})[""].read(cells)
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        raise InvalidInputError(
            f"{named} holds {str(cells[row])!r} in row {row + 1}, which is no number; mend the cell."
        )
    labels = np.empty(len(numbers), dtype=object)
    labels[:] = [float(value) if np.isfinite(value) else None for value in numbers]
    return labels


def class_labels(values: Any, unlabeled: Any = None, named: str = "y", *, anything: bool = False) -> AnyArray:
    """Return labels as objects, None for those that are missing or equal to the marker `unlabeled`.

    Numbers must be whole, and few of them different: a column of other numbers is a quantity, no class, unless
    `anything` says that the labels are classes.
    """
    given = label_vector(values)
    if given.dtype.kind == "M":
        given = as_texts(as_cells(given))
    listed = (as_texts(as_cells(given)) if anything and given.dtype.kind == "f" else given).tolist()
    listed = [str(value) if isinstance(value, date) else value for value in listed]
    gone = [
        is_missing(v) or _same(v, unlabeled) or (isinstance(v, str) and v.strip().lower() in MISSING) for v in listed
    ]
    there = [value for value, missing in zip(listed, gone, strict=True) if not missing]
    whole = {value: _whole(value) for value in there}
    ints = None not in whole.values()
    if not anything and there:
        numbers = _numbers_of(there)
        many = len(whole) > _QUANTITY and 2 * len(whole) > len(there) and given.dtype.kind in "Of"
        if numbers is not None and (many if ints else (numbers != np.round(numbers)).any()):
            first = there[0] if ints else there[int(np.argmax(numbers != np.round(numbers)))]
            raise _quantity(named, first, len(whole))
    out = np.empty(len(listed), dtype=object)
    for i, (value, missing) in enumerate(zip(listed, gone, strict=True)):
        out[i] = None if missing else whole[value] if ints else value
    return out


def _numbers_of(labels: list[Any]) -> FloatArray | None:
    """Return labels as numbers, None if they are names."""
    cells = as_cells(labels)
    kind = infer_types({"": cells}, marks=False)[""]
    return kind.read(cells)[0] if kind.kind == "number" and not any(isinstance(v, bool) for v in labels) else None


def _quantity(named: str, value: Any, different: int) -> InvalidInputError:
    column = named.removeprefix("the column ").strip("'")
    return InvalidInputError(
        f"{named} holds numbers such as {value} ({different} different ones): a quantity, no class. For regression say "
        f"{option(column, 'number')} (in Python columns={{{column!r}: 'number'}}), which sm.LapRLSRegressor and others "
        f"fit; for classes say {column}=category, or give each class a name, 'low' and 'high' by a limit say."
    )


def _whole(value: Any) -> int | None:
    """Return the whole number that a label is, if its text is the plain one of that number."""
    if isinstance(value, bool | int):
        return None if isinstance(value, bool) else value
    text = str(value).removesuffix(".0")
    plain = text.lstrip("-").isdecimal() and text.lstrip("-").isascii()
    return int(text) if plain and str(int(text)) == text and abs(int(text)) < 2**53 else None


def _same(value: Any, marker: Any) -> bool:
    if is_missing(marker) or is_missing(value):
        return False
    return bool(
        value == marker or str(value) == str(marker) or (isinstance(value, float) and f"{value:g}" == str(marker))
    )
