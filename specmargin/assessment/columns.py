"""Columns of a table: cells of text become numbers, dates or texts.

A column is a one-dimensional array of one of three types: float64 (nan is missing), datetime64 (NaT is missing), or
objects that are str (None is missing).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from specmargin.labels import label_array
from specmargin.labels.markers import is_missing, missing_values
from specmargin.typing import AnyArray, BoolArray

__all__ = ["MISSING", "as_column", "distinct", "missing_in", "typed_column"]

MISSING = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "<NA>", "null", "NULL", "?"})
"""Cells that hold nothing."""

_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf|infinity)")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?Z?")
_DOTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")


def typed_column(cells: Sequence[str]) -> AnyArray:
    """Return the column of the cells of a file, read as numbers or dates where all of them can be.

    Examples
    --------
    >>> typed_column(["1.5", "", "2"]).tolist(), typed_column(["1,5", "2"]).tolist()
    ([1.5, nan, 2.0], [1.5, 2.0])
    >>> typed_column(["red", "?"]).tolist(), typed_column(["2024-02-01"]).dtype
    (['red', None], dtype('<M8[s]'))
    """
    stripped = [cell.strip() for cell in cells]
    there = [cell for cell in stripped if cell not in MISSING]
    if all(_NUMBER.fullmatch(cell) for cell in there):
        return np.array([float(cell) if cell not in MISSING else np.nan for cell in stripped], dtype=np.float64)
    if all(_COMMA.fullmatch(cell) for cell in there):
        plain = (cell.replace(".", "").replace(",", ".") if cell not in MISSING else "nan" for cell in stripped)
        return np.array([float(cell) for cell in plain], dtype=np.float64)
    dates = _dates(stripped, there)
    if dates is not None:
        return dates
    return _objects([None if cell in MISSING else cell for cell in stripped])


def _dates(cells: list[str], there: list[str]) -> AnyArray | None:
    if all(_ISO.fullmatch(cell) for cell in there):
        iso = [cell.removesuffix("Z").replace(" ", "T") if cell not in MISSING else "NaT" for cell in cells]
    elif all(_DOTS.fullmatch(cell) for cell in there):
        iso = [_DOTS.sub(_year_first, cell) if cell not in MISSING else "NaT" for cell in cells]
    else:
        return None
    try:
        return np.array(iso, dtype="datetime64[s]")
    except ValueError:  # no such day
        return None


def _year_first(day: re.Match[str]) -> str:
    return f"{day[3]}-{int(day[2]):02d}-{int(day[1]):02d}"


def as_column(values: Any) -> AnyArray:
    """Return a column of an array, of pandas or of polars as one of the three types.

    Examples
    --------
    >>> as_column([1, 2]).tolist(), as_column(["a", None]).tolist(), as_column([True, False]).tolist()
    ([1.0, 2.0], ['a', None], ['True', 'False'])
    """
    array = label_array(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind == "M":
        return array.astype("datetime64[s]")
    missing = missing_values(array) if array.dtype.kind in "OUS" else np.zeros(len(array), dtype=bool)
    listed = array.tolist()
    numbers = [value for value, gone in zip(listed, missing, strict=True) if not gone]
    if numbers and all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers):
        return np.array([np.nan if is_missing(value) else float(value) for value in listed], dtype=np.float64)
    if numbers and all(isinstance(value, date) for value in numbers):
        days = [None if gone else _naive(value) for value, gone in zip(listed, missing, strict=True)]
        return np.array(days, dtype="datetime64[s]")
    return _objects([None if gone else str(value) for value, gone in zip(listed, missing, strict=True)])


def _naive(day: date) -> date:
    return day.replace(tzinfo=None) if isinstance(day, datetime) else day


def _objects(values: Sequence[Any]) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def missing_in(column: AnyArray) -> BoolArray:
    """Return the mask of the missing entries; infinite numbers count as missing."""
    return ~np.isfinite(column) if column.dtype.kind == "f" else missing_values(column)


def distinct(column: AnyArray) -> AnyArray:
    """Return the values that a column holds, sorted, without the missing ones."""
    there = column[~missing_in(column)]
    return np.unique(there.astype(str)) if column.dtype.kind == "O" else np.unique(there)
