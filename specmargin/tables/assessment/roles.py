"""What a column is used as, and which are not used: useless ones, names of rows, and those that give labels away.

A column may tell the labels of labelled rows, and be unknown or another thing for the rows that are to be predicted.
`shifts` looks for that: what holds for more of the unlabelled rows than of the rows of any class cannot come from other
shares of the classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import hypergeom

from specmargin.exceptions import InvalidInputError
from specmargin.tables.assessment.columns import as_texts, distinct, missing_in, spelling
from specmargin.tables.assessment.comparison import holm
from specmargin.tables.assessment.table import Table
from specmargin.typing import AnyArray, BoolArray

__all__ = ["Roles", "choose_roles", "described", "shifts"]

_ID = re.compile(
    r"(^|[_\W])(id|ids|idx|index|uuid|guid|key|rownum|row|nr|no|number|obs|observation|case|record|subject)$"
    r"|^unnamed: ?\d+$|^#$",
    re.IGNORECASE,
)
_LEVEL = 0.01
_LARGE = 0.5
"""Difference of shares from which on a column is left out, not only named."""
_FEWEST = 5
"""Rows of a class or of the unlabelled ones that a share is told of."""


@dataclass(frozen=True)
class Roles:
    """Roles of the columns that are used, and reasons for those that are not.

    Parameters
    ----------
    used : dict of str to {"number", "date", "category", "text"}
    dropped : dict of str to str
        Reason, as the end of a sentence whose subject is the column.
    doubts : dict of str to str
        What is strange about columns that are used.
    identifier : str
        The column that names the rows, "" if there is none.
    """

    used: dict[str, str]
    dropped: dict[str, str]
    doubts: dict[str, str] = field(default_factory=dict)
    identifier: str = ""


def choose_roles(table: Table, labels: AnyArray, *, target: str = "y", strict: bool = True) -> Roles:
    """Choose a role for each column of a table.

    Parameters
    ----------
    table : Table
    labels : ndarray of shape (n,)
        Objects, None for unlabelled rows: a column that repeats them is not used.
    target : str
        Name of the labels, for the reasons.
    strict : bool, default True
        Whether a column with one value for each class is left out; a fit that tells no error only names it.

    Examples
    --------
    >>> from specmargin.tables.assessment.table import as_table
    >>> table = as_table({"id": [1, 2, 3, 4], "x": [0.1, 0.3, 0.2, 0.5], "z": [1, 1, 1, 1]})
    >>> roles = choose_roles(table, np.array(["a", None, "b", None], dtype=object))
    >>> roles.used, roles.dropped["z"], roles.identifier
    ({'x': 'number'}, 'holds one value, 1, in all rows', 'id')
    """
    used: dict[str, str] = {}
    dropped: dict[str, str] = {}
    doubts: dict[str, str] = {}
    known: dict[tuple[str, bytes], str] = {}
    labelled = np.array([label is not None for label in labels], dtype=bool)
    names_rows = [name for name, kind in table.stated.items() if kind == "id" and name in table.cells]
    for name, column in table.columns.items():
        kind, asked = table.types[name], table.stated.get(name)
        if asked in ("ignore", "id"):
            dropped[name] = "is ignored, as you asked" if asked == "ignore" else "names the row, as stated"
            continue
        reason = _useless(column) or ("" if kind.stated else _of_rows(name, column, table))
        key = (column.dtype.kind, repr(column.tolist()).encode() if column.dtype.kind == "O" else column.tobytes())
        if not reason and key in known:
            reason = f"holds the same as the column {known[key]!r}"
        if "the row" in reason:
            names_rows.append(name)
        if not reason and not kind.stated:
            doubts[name], certain = _gives_away(column[labelled], labels[labelled], len(table.cells), target)
            if certain == "same" or (certain and strict):
                reason = doubts.pop(name)
        if not reason and kind.kind == "text" and not _repeats_terms(column):
            reason = "is a text whose words do not repeat"
        if reason:
            dropped[name] = reason
        else:
            known.setdefault(key, name)
            used[name] = kind.kind
    for name, (text, large) in shifts(table, used, labels).items():
        if large and strict and not table.types[name].stated:
            dropped[name] = text
            del used[name]
        else:
            doubts[name] = f"{doubts[name]}; it {text}" if doubts.get(name) else text
    if not used and table.matrix is None:
        reasons = "; ".join(f"{name!r} {reason}" for name, reason in dropped.items())
        raise InvalidInputError(
            f"no column is left to learn from: {reasons}. Pass at least one feature that varies, or say what such a "
            "column is, --columns NAME=number say: then it is used."
        )
    doubts = {name: doubt for name, doubt in doubts.items() if doubt and name in used}
    return Roles(used, dropped, doubts, names_rows[0] if names_rows else "")


def _gives_away(column: AnyArray, labels: AnyArray, n_columns: int, target: str) -> tuple[str, str]:
    """Return how a column tells the labels of labelled rows, and "" where that may be chance or is known before."""
    doubt, exact = _follows(column, labels, target)
    if doubt:
        return doubt, "all" if exact else ""
    texts = as_texts(column)
    doubt, certain = _tells(texts, labels, n_columns, target)
    if not doubt:
        doubt, certain = _tells(np.where(missing_in(texts), "empty", "filled"), labels, n_columns, target)
        doubt = f"by being empty or not {doubt}" if doubt else ""
    return doubt, certain


def _useless(column: AnyArray) -> str:
    """Return the reason why a column is of no use, "" if there is none."""
    missing, values = missing_in(column), distinct(column)
    if missing.all():
        return "is empty"
    if len(values) > 1 or missing.any():
        return ""
    return f"holds one value, {f'{values[0]:g}' if column.dtype.kind == 'f' else repr(str(values[0]))}, in all rows"


def _of_rows(name: str, column: AnyArray, table: Table) -> str:
    """Return why a column names or numbers the rows, "" if it does not."""
    missing, texts, different = missing_in(column), column.dtype.kind == "O", len(distinct(column))
    if missing.any() and not (texts and missing.sum() <= 0.05 * len(column)):  # but for a name that was forgotten
        return ""
    column = column[~missing]
    n = len(column)
    if not table.given or n < 4:
        return ""
    if texts and different >= (0.95 * n if n >= 20 else n):
        if np.mean([len(value.split()) for value in column]) >= 3:
            return ""
        own = "another value in every row" if n == different else f"{different} values in {n} rows"
        return f"has {own}, and names the row"
    if column.dtype.kind == "f" and n > different >= max(n / 2, 4) and len(table.columns) > 1:
        # Rows that are repeated repeat their number, too.
        rows = list(zip(*(one.tolist() for one in table.columns.values()), strict=True))
        if len({tuple(map(repr, row)) for row in rows}) == different:
            column, n = column[np.sort(np.unique(column, return_index=True)[1])], different
    if column.dtype.kind == "f" and different == n and np.all(column == np.round(column)):
        steps = np.diff(column)
        if np.ptp(column) == n - 1 or _ID.search(name) or (name == "column 1" and "column 2" not in table.cells):
            return "has another whole number in every row, and numbers the rows"
        if n >= 10 and (np.all(steps > 0) or np.all(steps < 0)):
            return "has a whole number that grows from row to row, and numbers the rows"
    return ""


def _repeats_terms(column: AnyArray) -> bool:
    seen: set[str] = set()
    for text in column[~missing_in(column)]:
        terms = set(re.findall(r"\b\w\w+\b", text.lower()))
        if terms & seen:
            return True
        seen |= terms
    return False


def _tells(values: AnyArray, labels: AnyArray, n_columns: int, target: str) -> tuple[str, str]:
    """Return how a column tells the classes of labelled rows, and "same", "one to one" or "" for less than that."""
    rows = [i for i, value in enumerate(values) if value is not None]
    if len(rows) < 2 or any(isinstance(labels[i], float) for i in rows):
        return "", ""  # of numbers: `_follows`
    keys, classes = [spelling(values[i]) for i in rows], [spelling(str(labels[i])) for i in rows]
    if len(set(classes)) < 2 or 3 * len(set(keys)) > 2 * len(rows):
        return "", ""
    if keys == classes and len(rows) == len(labels):
        return f"repeats the labels of {target!r}: what it says is not known for new rows", "same"
    pairs, k, K = len(set(zip(keys, classes, strict=True))), len(set(keys)), len(set(classes))
    if pairs > max(k, K) or (pairs == k and k > K and 3 * k > len(rows)):
        return "", ""
    # At most this number of all orders of the labels have this property: the chance, for labels without any relation.
    few, log_maps = (classes, k * np.log(K)) if pairs == k else (keys, K * np.log(k))
    log_chance = log_maps + sum(gammaln(few.count(one) + 1) for one in set(few)) - gammaln(len(rows) + 1)
    if log_chance + np.log(n_columns) > np.log(_LEVEL):
        return "", ""
    where = f"all {len(rows)} labelled rows{' that have one' if len(rows) < len(labels) else ''}"
    if pairs == k == K:
        return f"tells the class on {where}, one value for each: the label in other words", "all"
    how = "its value tells the class" if pairs == k else "the class tells its value"
    return f"is strange: on {where} {how}; is it known before the label?", ""


def _follows(column: AnyArray, labels: AnyArray, target: str) -> tuple[str, bool]:
    """Return how a column of numbers follows labels that are numbers, and whether up to a factor and a shift."""
    if column.dtype.kind != "f" or len(labels) == 0 or not isinstance(labels[0], float):
        return "", False
    there = np.isfinite(column)
    x, y = column[there], np.asarray(labels[there], dtype=np.float64)
    if len(x) < 8 or len(np.unique(x)) < 8 or len(np.unique(y)) < 8:
        return "", False
    where = f"on all {len(x)} labelled rows{'' if there.all() else ' that have it'}"
    fitted = np.polynomial.Polynomial.fit(x, y, 1)(x)
    if np.abs(fitted - y).max() <= 1e-3 * np.ptp(y):
        return f"is the label {target!r} in another unit {where}", True
    order = np.argsort(x, kind="stable")
    steps, same = np.diff(y[order]), np.diff(x[order]) == 0
    if (steps[~same] > 0).all() or (steps[~same] < 0).all():
        return f"is strange: it orders the rows as {target!r} does {where}; is it known before the label?", False
    return "", False


def shifts(table: Table, used: Mapping[str, str], labels: AnyArray) -> dict[str, tuple[str, bool]]:
    """Return what holds for more of the unlabelled rows than of any class, and whether for many more, by column.

    Exact one-sided tests (hypergeometric) of missing entries, of values, and of both sides of the deciles, each
    against the class where it holds most; Bonferroni within a column, Holm over the columns.

    Parameters
    ----------
    table : Table
    used : mapping of str to str
        Kinds of the columns to be looked at.
    labels : ndarray of shape (n,)
        Objects, None for unlabelled rows.

    Examples
    --------
    >>> from specmargin.tables.assessment.table import as_table
    >>> reason = [None if i > 19 else "moved" for i in range(60)]
    >>> labels = np.array(["a" if i % 2 else "b" for i in range(20)] + [None] * 40, dtype=object)
    >>> shifts(as_table({"reason": reason}), {"reason": "category"}, labels)["reason"][1]
    True
    """
    hidden = np.array([label is None for label in labels], dtype=bool)
    names = sorted({str(label) for label in labels[~hidden]})
    groups = [np.array([label is not None and str(label) == name for label in labels]) for name in names]
    groups = [group for group in groups if group.sum() >= _FEWEST] if len(names) <= 50 else []
    groups = groups or [~hidden]
    n, sizes = int(hidden.sum()), np.array([group.sum() for group in groups])
    if n < _FEWEST or sizes.min() < _FEWEST:
        return {}
    worst: dict[str, tuple[float, float, str]] = {}
    for name in used:
        texts, events = zip(*_events(table.columns[name]), strict=True)
        holds = np.array(events)
        k, others = holds[:, hidden].sum(axis=1), np.array([holds[:, group].sum(axis=1) for group in groups]).T
        share, most = k / n, (others / sizes).max(axis=1)
        p_all, more = np.ones(len(k)), np.flatnonzero(share > most)  # elsewhere p is large
        p_all[more] = hypergeom.sf(k[more, None] - 1, n + sizes, k[more, None] + others[more], n).max(axis=1)
        at = min(range(len(texts)), key=lambda j: (p_all[j], most[j] - share[j]))
        text = f"{texts[at]} in {share[at]:.0%} of the unlabelled rows, in {most[at]:.0%} of any class"
        worst[name] = min(1.0, p_all[at] * len(texts)), float(share[at] - most[at]), text
    p_values = holm([p for p, *_ in worst.values()])
    return {
        name: (f"{text} (p = {p:.1g}): not the same thing for new rows", more >= _LARGE)
        for (name, (_, more, text)), p in zip(worst.items(), p_values, strict=True)
        if p < _LEVEL
    }


def _events(column: AnyArray) -> Iterator[tuple[str, BoolArray]]:
    missing = missing_in(column)
    yield "is missing", missing
    yield "is known", ~missing
    if column.dtype.kind == "O":
        values, counts = np.unique(column[~missing].astype(str), return_counts=True)
        for value in values[np.argsort(-counts, kind="stable")[:20]]:
            yield f"is {str(value)[:30]!r}", column == value
            yield f"is something else than {str(value)[:30]!r}", (column != value) & ~missing
        return
    numbers = column.astype(np.float64) if column.dtype.kind == "M" else column
    for limit in np.unique(np.quantile(numbers[~missing], np.linspace(0, 1, 11), method="lower")):
        shown = str(np.datetime64(int(limit), "s"))[:10] if column.dtype.kind == "M" else f"{limit:g}"
        with np.errstate(invalid="ignore"):
            yield f"is at most {shown}", ~missing & (numbers <= limit)
            yield f"is above {shown}", ~missing & (numbers > limit)


def described(table: Table, roles: Roles, labels: AnyArray, target: str) -> list[dict[str, Any]]:
    """Return what was read: name, role, type, example, missing cells and odd ones of each column, the labels first.

    Examples
    --------
    >>> from specmargin.tables.assessment.table import as_table
    >>> table, labels = as_table({"x": ["1,5", "2,5"]}), np.array(["a", None], dtype=object)
    >>> [list(row.values()) for row in described(table, choose_roles(table, labels), labels, "y")][1]
    ['x', 'feature', 'number, decimal comma', '1,5', 0, '']
    """
    known = [label for label in labels if label is not None]
    kinds = "number" if known and isinstance(known[0], float) else f"{len(set(map(str, known)))} classes"
    rows = [(target, "label", kinds, _short(str(known[0])) if known else "", len(labels) - len(known), "")]
    for name, kind in table.types.items():
        role = "feature" if name in roles.used else "id" if name == roles.identifier else "left out"
        there = next((cell for cell in as_texts(table.cells[name]) if cell is not None), "")
        missing = int(missing_in(table.columns[name]).sum()) - len(table.odd(name))
        told = kind.spelled() + (", as stated" if kind.stated else "")
        rows.append((name, role, told, _short(there), missing, table.told_odd(name, 3)))
    return [dict(zip(("column", "role", "type", "example", "missing", "odd cells"), row, strict=True)) for row in rows]


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"
