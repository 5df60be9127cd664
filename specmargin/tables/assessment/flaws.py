"""What is wrong with a table, in words: `find_flaws` names every flaw and what was done about it.

A flaw of columns (constant, repeated, numbering, missing entries, scales) or of labels (classes with one label, unequal
counts, contradictions).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from specmargin.tables.assessment.columns import missing_in, objects, option, spelling
from specmargin.tables.assessment.comparison import FEWEST
from specmargin.tables.assessment.roles import Roles
from specmargin.tables.assessment.table import Table
from specmargin.typing import AnyArray

__all__ = ["Flaw", "find_flaws", "spellings"]

_SCALES = 1e3
_UNEQUAL = 5.0
_MARKERS = ("-1", "unlabeled", "unlabelled", "unknown", "none", "?", "-")
_LISTED = 5
_Named = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Flaw:
    """One flaw.

    Parameters
    ----------
    kind : str
        Such as "constant column".
    text : str
        What is wrong, where, and what was done or should be done.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def spellings(labels: AnyArray) -> dict[str, list[Any]]:
    """Return the labels that differ in capitals and blanks only, the most frequent one first.

    Examples
    --------
    >>> spellings(np.array(["ja", "Ja", "ja", None, "nein"], dtype=object))
    {'ja': ['ja', 'Ja'], 'nein': ['nein']}
    """
    spelled: dict[str, list[Any]] = defaultdict(list)
    for label, _ in Counter(label for label in labels if label is not None).most_common():
        spelled[spelling(str(label))].append(label)
    return dict(spelled)


def find_flaws(table: Table, labels: AnyArray, roles: Roles, target: str = "y", *, exact: bool = False) -> list[Flaw]:
    """Return the flaws of a table and of its labels.

    Parameters
    ----------
    table : Table
        Table without the labels.
    labels : ndarray of shape (n,)
        Objects, None for unlabelled rows.
    roles : Roles
    target : str
        Name of the labels.
    exact : bool, default False
        Whether capitals and blanks tell classes apart.

    Examples
    --------
    >>> from specmargin.tables.assessment.roles import choose_roles
    >>> from specmargin.tables.assessment.table import as_table
    >>> table, labels = as_table({"x": [1.0, 2.0], "z": [3, 3]}), np.array(["a", "b"], dtype=object)
    >>> for flaw in find_flaws(table, labels, choose_roles(table, labels))[:1]:
    ...     print(flaw)
    constant column: 'z' holds one value, 3, in all rows; it is not used.
    """
    of_numbers, spelled = any(isinstance(label, float) for label in labels), spellings(labels)
    if not exact:  # counted as they are learned
        labels = objects([None if label is None else spelled[spelling(str(label))][0] for label in labels])
    named = (
        (("file", note) for note in table.notes),
        (_dropped(name, reason) for name, reason in roles.dropped.items()),
        (("column that tells too much", f"{name!r} {doubt}; it is used.") for name, doubt in roles.doubts.items()),
        _odd(table, roles),
        _missing(table, roles),
        _scales(table, roles),
        _infinite(table, roles),
        () if of_numbers else _classes(labels, target, exact, spelled),
        _contradictions(table, labels, roles),
    )
    return [Flaw(kind, text) for kind, text in chain.from_iterable(named)]


def _dropped(name: str, reason: str) -> tuple[str, str]:
    kind = next((kind for begin, kind in _KINDS.items() if reason.startswith(begin)), "column that tells too much")
    kind = "column that numbers the rows" if reason.endswith(("the row", "the rows", "as stated")) else kind
    asked = f" If it should be, say {option(name, 'KIND')}." if kind in _DECIDED else ""
    return kind, f"{name!r} {reason}; it is not used.{asked}"


_KINDS = {
    "holds one": "constant column",
    "is empty": "empty column",
    "holds the same": "repeated column",
    "repeats the labels": "column that equals the labels",
    "is ignored": "ignored column",
    "is a text": "column without words",
    "tells the class": "the label in other words",
}
_DECIDED = ("column that numbers the rows", "the label in other words", "column that tells too much")


def _odd(table: Table, roles: Roles) -> _Named:
    """Cells that cannot be read, and numbers that stand for missing ones."""
    for name in roles.used:
        kind, n = table.types[name], len(table.odd(name))
        if n:
            read, cells = f"{name!r} is read as {kind.spelled()}", table.told_odd(name, _LISTED)
            yield "odd cells", f"{read}; {n} cells are none and count as missing: {cells}."
        if kind.marks:
            days = kind.kind == "date"
            marks = ", ".join(str(np.datetime64(int(m), "s"))[:10] if days else _plain(m) for m in kind.marks)
            text = f"{name!r} holds {marks}, far from all other {kind.kind}s: it counts as missing. "
            yield "numbers for missing ones", f"{text}If not, say {option(name, f'{kind.kind}:all')}."


def _plain(number: float) -> str:
    return f"{number:.0f}" if abs(number) < 1e15 and number == round(number) else f"{number:g}"


def _missing(table: Table, roles: Roles) -> _Named:
    done = {"category": "they are a category of their own", "text": "they are read as a text without words"}
    for name, role in roles.used.items():
        n = int(missing_in(table.columns[name]).sum()) - len(table.odd(name))
        if n:
            share = f"{n / table.n_rows:.0%}" if n >= table.n_rows / 100 else "less than 1 %"
            what = done.get(role, "they are set to the median, and a feature says where")
            yield "missing entries", f"{name!r} lacks {n} of {table.n_rows} ({share}); {what}."


def _infinite(table: Table, roles: Roles) -> _Named:
    for name in roles.used:
        column = table.columns[name]
        n = int(np.isinf(column).sum()) if column.dtype.kind == "f" else 0
        if n:
            yield "infinite entries", f"{name!r} holds {n}; they count as missing."


def _scales(table: Table, roles: Roles) -> _Named:
    """Deviations that differ by a thousand, of numbers; of the columns of a sparse matrix, by their largest entries."""
    kind = "columns of different scale"
    if table.matrix is not None:
        largest = np.abs(table.matrix).max(axis=0).toarray().ravel()
        large = largest[largest > 0]
        if len(large) and large.max() >= _SCALES * large.min():
            text = f"the largest entries of the columns lie between {large.min():.3g} and {large.max():.3g}"
            yield kind, f"{text}; scale them, e.g. by sklearn's MaxAbsScaler."
        return
    spread = {}
    for name in [name for name, role in roles.used.items() if role == "number"]:
        there = table.columns[name][np.isfinite(table.columns[name])]
        # By the largest entry: the square of an entry may not be representable.
        unit = float(np.abs(there).max(initial=0.0))
        if unit > 0 and (deviation := unit * float(np.std(there / unit))) > 0:
            spread[name] = deviation
    if spread and max(spread.values()) >= _SCALES * min(spread.values()):
        least, most = (choose(spread, key=lambda name: spread[name]) for choose in (min, max))
        deviates = f"the deviation of {most!r} ({spread[most]:.3g}) is {spread[most] / spread[least]:.2g} times"
        yield kind, f"{deviates} that of {least!r} ({spread[least]:.3g}); numbers are standardised."


def _classes(labels: AnyArray, target: str, exact: bool, spelled: dict[str, list[Any]]) -> _Named:
    counts = Counter(label for label in labels if label is not None)
    ordered, total = counts.most_common(), sum(counts.values())
    single = [label for label, n in ordered if n == 1]
    if single:
        names = ", ".join(repr(label) for label in single[:_LISTED]) + (", ..." if len(single) > _LISTED else "")
        which = f"the class {names} has" if len(single) == 1 else f"the classes {names} have"
        left_out = f"{which} one label: left out, nothing is known of the class, so that it counts as wrong"
        yield "class with one label", f"{left_out}; label more of its rows."
    if total < FEWEST:
        yield "few labels", f"{total} labels say nothing about errors; {FEWEST} are the least, 50 better."
    if len(ordered) > 1 and ordered[0][1] >= _UNEQUAL * ordered[-1][1] and ordered[0][1] > _UNEQUAL:
        (most, many), (least, few) = ordered[0], ordered[-1]
        told = f"{many} labels of {most!r}, {few} of {least!r}"
        yield "classes of unequal size", f"{told}; look at the balanced accuracy, too."
    for several in spelled.values():
        if len(several) > 1:
            names = " and ".join(map(repr, several))
            told = f"{names} count as one class, {several[0]!r}; if they are several, say exact=True (--exact-labels)"
            if exact:
                told = f"{names} count as different classes, as stated"
            yield "spelling of labels", f"{told}."
    if len(counts) > 20 and total < 3 * len(counts):
        yield "many classes", f"{total} labels of {len(counts)} classes: is {target!r} the column of labels?"
    for label, n in counts.items():
        if str(label).strip().casefold() in _MARKERS:
            told = f"{label!r} counts as a class with {n} labels"
            yield "label that looks like a marker", f"{told}; if it means 'no label', name it by unlabeled=."


def _contradictions(table: Table, labels: AnyArray, roles: Roles) -> _Named:
    """Rows that are equal but for their labels, and rows that are equal altogether."""
    if table.matrix is not None:
        return
    columns = [table.columns[name].astype(object) for name in roles.used]
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(zip(*columns, strict=True)):
        groups[tuple(map(repr, row))].append(i)
    several = [rows for rows in groups.values() if len(rows) > 1]
    against = [rows for rows in several if len({labels[i] for i in rows if labels[i] is not None}) > 1]
    if against:
        first = ", ".join(str(i + 1) for i in against[0][:_LISTED])
        named = " and ".join(sorted({repr(labels[i]) for i in against[0] if labels[i] is not None}))
        told = f"{len(against)} groups of rows have equal features but different labels, for instance rows {first}"
        yield "equal rows with different labels", f"{told} ({named}); no method can have both right. Check them."
    n_more = sum(len(rows) - 1 for rows in several)
    if n_more:
        told = f"{n_more} of {table.n_rows} rows repeat another one"
        yield "repeated rows", f"{told}; where both are labelled, errors look too small."
