"""What a column is used as: number, date, category or text; and which columns are of no use, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specmargin.assessment.columns import distinct, missing_in
from specmargin.assessment.table import Table
from specmargin.exceptions import InvalidInputError
from specmargin.typing import AnyArray

__all__ = ["Roles", "choose_roles"]

_LENGTH_OF_TEXT = 3.0
"""Mean number of words from which on a column is text,"""
_DISTINCT_OF_TEXT = 0.5
"""and the share of different values."""
_ID = re.compile(r"(^|[_\W])(id|ids|index|uuid|guid|key|rownum|row|nr|no|number)$", re.IGNORECASE)


@dataclass(frozen=True)
class Roles:
    """Roles of the columns that are used, and reasons for those that are not.

    Parameters
    ----------
    used : dict of str to {"number", "date", "category", "text"}
    dropped : dict of str to str
        Reason, as the end of a sentence whose subject is the column.
    """

    used: dict[str, str]
    dropped: dict[str, str]


def choose_roles(
    table: Table, labels: AnyArray, *, text: Sequence[str] = (), ignore: Sequence[str] = (), target: str = "y"
) -> Roles:
    """Choose a role for each column of a table.

    Parameters
    ----------
    table : Table
    labels : ndarray of shape (n,)
        Objects, None for unlabelled rows: a column that repeats them is not used.
    text, ignore : sequence of str
        Columns that are text, and columns not to be used.
    target : str
        Name of the labels, for the reasons.

    Examples
    --------
    >>> from specmargin.assessment.table import as_table
    >>> table = as_table({"id": [1, 2, 3, 4], "x": [0.1, 0.3, 0.2, 0.5], "z": [1, 1, 1, 1]})
    >>> roles = choose_roles(table, np.array(["a", None, "b", None], dtype=object))
    >>> roles.used, roles.dropped["z"]
    ({'x': 'number'}, 'holds one value, 1, in all rows')
    """
    for name in (*text, *ignore):
        if name not in table.columns:
            raise InvalidInputError(
                f"there is no column {name!r} to be read as text or to be ignored; name some of "
                f"{', '.join(map(repr, table.columns)) or 'none: X is a matrix'}."
            )
    used: dict[str, str] = {}
    dropped: dict[str, str] = {}
    known: dict[tuple[str, bytes], str] = {}
    for name, column in table.columns.items():
        if name in ignore:
            dropped[name] = "is ignored, as you asked"
            continue
        reason = _useless(name, column, labels, target, table.given, name in text)
        key = (column.dtype.kind, _content(column))
        if not reason and key in known:
            reason = f"holds the same as the column {known[key]!r}"
        if reason:
            dropped[name] = reason
        else:
            known.setdefault(key, name)
            used[name] = "text" if name in text else _role(column)
    if not used and table.matrix is None:
        reasons = "; ".join(f"{name!r} {reason}" for name, reason in dropped.items())
        raise InvalidInputError(f"no column is left to learn from: {reasons}. Pass at least one feature that varies.")
    return Roles(used, dropped)


def _content(column: AnyArray) -> bytes:
    return repr(column.tolist()).encode() if column.dtype.kind == "O" else column.tobytes()


def _useless(name: str, column: AnyArray, labels: AnyArray, target: str, given: bool, is_text: bool) -> str:
    """Return the reason why a column is of no use, "" if there is none."""
    missing, values = missing_in(column), distinct(column)
    if missing.all():
        return "is empty"
    if len(values) == 1 and not missing.any():
        return f"holds one value, {_shown(values[0])}, in all rows"
    if _repeats(column, labels):
        return f"repeats the labels of {target!r}: what it says is not known for new rows"
    if not given or is_text or missing.any() or len(values) < len(column) or len(column) < 4:
        return ""
    if column.dtype.kind == "O":
        length = np.mean([len(value.split()) for value in column])
        return "has another value in every row, and names the row" if length < _LENGTH_OF_TEXT else ""
    if column.dtype.kind == "f" and np.all(column == np.round(column)):
        counted = np.ptp(column) == len(column) - 1
        if counted or _ID.search(name):
            return "has another whole number in every row, and numbers the rows"
    return ""


def _repeats(column: AnyArray, labels: AnyArray) -> bool:
    there = np.flatnonzero([label is not None for label in labels])
    if len(there) < 2 or len({str(labels[i]) for i in there}) < 2:
        return False
    return all(_same(column[i], labels[i]) for i in there)


def _same(value: object, label: object) -> bool:
    if isinstance(label, int) and isinstance(value, float):
        return value == label
    return value is not None and str(value) == str(label)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(str(value))


def _role(column: AnyArray) -> str:
    if column.dtype.kind == "f":
        return "number"
    if column.dtype.kind == "M":
        return "date"
    there = column[~missing_in(column)]
    length = np.mean([len(value.split()) for value in there])
    different = len(set(there.tolist())) / len(there)
    return "text" if length >= _LENGTH_OF_TEXT and different >= _DISTINCT_OF_TEXT else "category"
