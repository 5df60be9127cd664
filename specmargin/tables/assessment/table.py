"""Tables: named columns of a file, a data frame or an array, and the column of labels.

`as_table` takes what is in memory, `split_target` takes the labels out: an empty label is an unlabelled row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import feature_rows
from specmargin.checks import among, foreign, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.labels import label_vector
from specmargin.labels.markers import is_missing
from specmargin.tables.assessment.columns import (
    KINDS,
    MISSING,
    ColumnType,
    as_cells,
    as_texts,
    infer_types,
    objects,
    option,
)
from specmargin.typing import AnyArray, FloatArray, SparseArray

__all__ = ["Table", "as_table", "class_labels", "split_target", "target_labels"]

_QUANTITY = 20
"""Different whole numbers above which a column of labels is rather a quantity."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length, or a sparse matrix of features.

    Parameters
    ----------
    cells : dict of str to ndarray
        What was written or passed: see `specmargin.tables.assessment.columns.as_cells`.
    matrix : sparse matrix of shape (n, d), optional
        Features without names.
    read_notes : tuple of str
        What was noticed while reading.
    given : bool
        Whether the columns have names of their own, not those that an array gets.
    stated : dict of str to str
        What columns are stated to be.
    separator : str
        Separator of the file.
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
    stated: Mapping[str, str] = field(default_factory=dict)
    separator: str = ""
    fixed: Mapping[str, ColumnType] = field(default_factory=dict)
    names: bool = True

    @cached_property
    def types(self) -> dict[str, ColumnType]:
        """What each column is read as."""
        new = {name: cells for name, cells in self.cells.items() if name not in self.fixed}
        types = {**infer_types(new, self.stated, self.separator, marks=self.given), **self.fixed}
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

    def told_odd(self, name: str, n: int) -> str:
        """Name the first n cells of a column that cannot be read."""
        odd = self.odd(name)
        return ", ".join(f"{cell!r} (row {row})" for row, cell in odd[:n]) + (", ..." if len(odd) > n else "")

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

    def reading(self, stated: Mapping[str, str]) -> Table:
        """Return the table whose columns are what the user says.

        Raises
        ------
        ValueError
            If there is no such column, or no such kind.
        """
        for name, kind in stated.items():
            if name not in self.cells:
                names = among(name, self.cells) if self.cells else "none: X is a matrix."
                raise InvalidInputError(
                    f"there is no column {name!r} among the columns, to be read as {kind}; name some of {names}"
                )
            if kind.partition(":")[0] not in KINDS:
                raise InvalidInputError(f"columns: {name!r} cannot be {kind!r}; take one of {among(kind, KINDS)}")
        return replace(self, stated={**self.stated, **stated})


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
    named = isinstance(X, Mapping) or getattr(X, "columns", None) is not None
    if named:
        listed = list(X if isinstance(X, Mapping) else X.columns)
        columns = {str(name): as_cells(X[name]) for name in dict.fromkeys(listed)}
        if len(columns) < len(listed):
            raise InvalidInputError(f"X has columns of equal names ({shown(listed)}); give each a name of its own.")
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
    return Table(columns, given=named)


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
    labels = target_labels(
        table.cells[target], unlabeled, f"the column {target!r}", table.stated.get(target, ""), table.types[target]
    )
    numbers = any(isinstance(label, float) for label in labels)
    notes = _notes_of_labels(target, table.types[target], table.cells[target]) if numbers else ()
    return replace(table.without(target), read_notes=(*table.read_notes, *notes)), labels


def _notes_of_labels(target: str, kind: ColumnType, cells: AnyArray) -> tuple[str, ...]:
    """Return what is ambiguous about numbers to be predicted, and which of them count as missing."""
    notes = [f"{target!r} {kind.note}."] if kind.note else []
    values = replace(kind, marks=()).read(cells)[0]
    for mark in kind.marks:
        rows = int((values == mark).sum())
        notes.append(
            f"{target!r} holds {mark:.12g} in {rows} row{'s' if rows > 1 else ''}, far from all other numbers: no "
            f"label. If it is one, say {option(target, 'number:all')}."
        )
    return tuple(notes)


def target_labels(values: Any, unlabeled: Any, named: str, kind: str, known: ColumnType | None = None) -> AnyArray:
    """Return labels as objects: floats where they are stated to be numbers, else classes.

    `known` is how the numbers are written, where a table tells it.
    """
    if kind.partition(":")[0] != "number":
        return class_labels(values, unlabeled, named, anything=bool(kind))
    cells = as_cells([None if _same(value, unlabeled) else value for value in label_vector(values).tolist()])
    numbers, odd = (known or infer_types({"": cells}, {"": kind}, marks=False)[""]).read(cells)
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        raise InvalidInputError(
            f"{named} holds {str(cells[row])!r} in row {row + 1}, which is no number; mend the cell."
        )
    return objects([float(value) if np.isfinite(value) else None for value in numbers])


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
    plain = whole if ints else {}
    return objects([None if missing else plain.get(value, value) for value, missing in zip(listed, gone, strict=True)])


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
