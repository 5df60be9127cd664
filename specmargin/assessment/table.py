"""Tables: CSV, Parquet, npz, data frames and arrays as named columns, and the column of labels.

`read_table` reads a file, `as_table` takes what is in memory, `split_target` takes the labels out: an empty label is an
unlabelled row.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import feature_rows
from specmargin.assessment.columns import MISSING, as_column, typed_column
from specmargin.checks import foreign, shown
from specmargin.checks import path as check_path
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.files import BadContentError, Members, read_file
from specmargin.labels import label_vector
from specmargin.labels.markers import is_missing, missing_values
from specmargin.typing import AnyArray, SparseArray

__all__ = ["Table", "as_table", "read_table", "split_target"]

_SEPARATORS = ",;\t|"
_PARTS = ("data", "indices", "indptr", "shape")
"""Arrays of an npz file that a sparse matrix is made of."""
_COLUMN = 4096
"""Bytes that a column takes in addition to its values."""
_READ = "pass a CSV file with a line of names, a Parquet file, or an npz file with the arrays X and y"


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length, or a sparse matrix of features.

    Parameters
    ----------
    columns : dict of str to ndarray
        See `specmargin.assessment.columns`.
    matrix : sparse matrix of shape (n, d), optional
        Features without names.
    notes : tuple of str
        What was noticed while reading.
    given : bool
        Whether the columns have names of their own, not those that an array gets.

    Examples
    --------
    >>> table = Table({"age": np.array([30.0, 40.0])})
    >>> table.n_rows, list(table.without("age").columns)
    (2, [])
    """

    columns: dict[str, AnyArray]
    matrix: SparseArray | None = None
    notes: tuple[str, ...] = ()
    given: bool = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.matrix is not None:
            return int(self.matrix.shape[0])
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def without(self, *names: str) -> Table:
        """Return the table without some columns."""
        return replace(self, columns={name: column for name, column in self.columns.items() if name not in names})


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
        columns = {str(name): as_column(values) for name, values in X.items()}
    elif names is not None:
        listed = list(names)
        if len({str(name) for name in listed}) < len(listed):
            raise InvalidInputError(f"X has columns of equal names ({shown(listed)}); give each a name of its own.")
        columns = {str(name): as_column(X[name]) for name in listed}
    else:
        with foreign("pass a table or an array (n_samples, n_features)"):
            array = np.asarray(X)
        if array.dtype.kind == "c":
            raise InvalidTypeError(f"X={shown(X)} holds complex numbers; pass real ones.")
        if array.ndim != 2:
            raise InvalidInputError(
                f"X={shown(X)} has the shape {array.shape}; pass a table or an array (n_samples, n_features)."
            )
        columns = {f"x{j}": as_column(array[:, j]) for j in range(array.shape[1])}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"X has columns of different lengths ({shown(lengths)}); pass one value per row.")
    if not columns or not next(iter(lengths.values())):
        raise InvalidInputError(f"X={shown(X)} has no rows or no columns; pass at least two rows with one feature.")
    return Table(columns, given=names is not None or isinstance(X, Mapping))


def read_table(path: str | os.PathLike[str]) -> Table:
    r"""Read a table from a file: Parquet and npz by their suffix, everything else as CSV.

    The separator of a CSV file is the one of ``, ; tab |`` that its first line holds most often; the encoding is UTF-8
    (UTF-16 with its mark), else Windows-1252; numbers may have a decimal comma.

    Parameters
    ----------
    path : str or path
        The file. An npz file holds ``X`` and maybe ``y``, which becomes the column "y".

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
    file = Path(path)
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise InvalidInputError(f"the file {str(path)!r} {what}; {_READ}.")
    try:
        if file.suffix.lower() in (".parquet", ".pq"):
            return _parquet(file)
        if file.suffix.lower() == ".npz":
            return _npz(file)
        return _csv(file)
    except OSError as error:
        raise InvalidInputError(
            f"the file {str(path)!r} cannot be read ({error.strerror or error}); {_READ}."
        ) from error


def _csv(file: Path) -> Table:
    content = file.read_bytes()
    notes: list[str] = []
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16", errors="replace")
    else:
        if b"\0" in content[:4096]:
            raise InvalidInputError(f"the file {str(file)!r} holds zero bytes, and is no text; {_READ}.")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
            notes.append("The file is not UTF-8; it was read as Windows-1252. Look at letters with accents.")
    first = text.split("\n", 1)[0]
    separator = max(_SEPARATORS, key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        rows = [(lines.line_num, row) for row in lines if row]
    except csv.Error as error:
        raise InvalidInputError(
            f"the file {str(file)!r} stops to be CSV at line {lines.line_num} ({error}); put cells with quotes or line "
            "ends into quotes."
        ) from error
    if len(rows) < 2:
        raise InvalidInputError(f"the file {str(file)!r} has {len(rows)} lines; {_READ}.")
    (_, header), *body = rows
    header = [name.strip() or f"column {j + 1}" for j, name in enumerate(header)]
    for line, row in body:
        if len(row) != len(header):
            raise InvalidInputError(
                f"line {line} of {str(file)!r} has {len(row)} cells, its first line has {len(header)} (separator "
                f"{separator!r}); mend that line, or put cells that hold {separator!r} into quotes."
            )
    names, twice = _unique(header)
    if twice:
        notes.append(f"Several columns are named {', '.join(map(repr, twice))}; the later ones got a number.")
    columns = {name: typed_column([row[j] for _, row in body]) for j, name in enumerate(names)}
    return Table(columns, notes=tuple(notes))


def _unique(names: list[str]) -> tuple[list[str], list[str]]:
    known: dict[str, int] = {}
    out, twice = [], []
    for name in names:
        known[name] = known.get(name, 0) + 1
        out.append(name if known[name] == 1 else f"{name}.{known[name]}")
        if known[name] == 2:
            twice.append(name)
    return out, twice


def _parquet(file: Path) -> Table:
    try:
        import pyarrow.parquet as pq
        from pyarrow import ArrowException
    except ImportError as error:
        raise InvalidInputError(
            f"the file {str(file)!r} is Parquet, which pyarrow reads: pip install 'specmargin[parquet]', or save it as "
            "CSV."
        ) from error
    try:
        read = pq.read_table(file)
    except ArrowException as error:
        raise InvalidInputError(f"the file {str(file)!r} is no Parquet file ({error}); {_READ}.") from error
    return as_table({name: _arrow(read, name) for name in read.column_names})


def _arrow(read: Any, name: str) -> AnyArray:
    column = read.column(name)
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    return np.asarray(column.to_pylist(), dtype=object)


def _npz(file: Path) -> Table:
    try:
        return _of_members(Members(read_file(file)), file)
    except BadContentError as error:
        raise InvalidInputError(f"the file {str(file)!r} cannot be read as npz ({error}); {_READ}.") from error


def _of_members(held: Members, file: Path) -> Table:
    """Return a table of the features and of the arrays that have one value for each row; no other array is read."""
    if held.keys() >= set(_PARTS):
        X: Any = sp.csr_array((held["data"], held["indices"], held["indptr"]), shape=tuple(held["shape"]))
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
    others = {name: held[name] for name in held if name not in _PARTS and held.shape(name) == (table.n_rows,)}
    return replace(table, columns={**table.columns, **others})


def split_target(table: Table, target: str, unlabeled: Any = None) -> tuple[Table, AnyArray]:
    """Return the table without its labels, and the labels as objects: None for rows without one.

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
    if target not in table.columns:
        names = ", ".join(map(repr, table.columns)) or "none"
        raise InvalidInputError(f"there is no column {target!r}; the columns are {names}. Name the one of the labels.")
    return table.without(target), class_labels(table.columns[target], unlabeled, f"the column {target!r}")


def class_labels(values: Any, unlabeled: Any = None, named: str = "y") -> AnyArray:
    """Return labels as objects, None for those that are missing or equal to the marker `unlabeled`.

    Numbers must be whole: a column of other numbers is a quantity, no class.
    """
    array = label_vector(values)
    missing = missing_values(array)
    out = np.empty(len(array), dtype=object)
    out[:] = array.tolist()
    fractions = [value for value in out[~missing] if isinstance(value, float) and not value.is_integer()]
    if fractions:
        n = len(set(out[~missing].tolist()))
        raise InvalidInputError(
            f"{named} holds numbers such as {fractions[0]!r} ({n} different ones): a quantity, no class. Give each "
            "class a name, for instance 'low' and 'high' by a limit; or fit the numbers by sm.LapRLSRegressor."
        )
    for i, value in enumerate(out):
        if missing[i] or (isinstance(value, str) and value.strip() in MISSING):
            out[i] = None
        elif isinstance(value, float):
            out[i] = int(value)
        if unlabeled is not None and out[i] is not None and _same(out[i], unlabeled):
            out[i] = None
    return out


def _same(value: Any, marker: Any) -> bool:
    return not is_missing(marker) and (value == marker or str(value) == str(marker))
