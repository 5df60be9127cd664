"""Columns of a table: what each is read as, inferred once or stated by the user, and read so ever after.

Cells are texts as they were written (None is missing), or the numbers and times that a data frame holds. A `ColumnType`
turns them into float64 (nan is missing), datetime64 (NaT) or texts, and names the cells that it cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from importlib import import_module
from numbers import Real
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import SolverNotInstalledError
from specmargin.labels import label_array
from specmargin.labels.markers import is_missing
from specmargin.typing import AnyArray, BoolArray

__all__ = [
    "KINDS",
    "ColumnType",
    "as_cells",
    "as_texts",
    "distinct",
    "infer_types",
    "missing_in",
    "needed",
    "objects",
    "option",
    "pandas",
    "spelling",
]

KINDS = ("number", "date", "category", "text", "id", "ignore")
"""What a column can be stated to be; "number:1.234,5", "number:all", "date:%d/%m/%Y", "category:exact" say more."""
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "<na>", "null", "?", "nat"})
"""Cells that hold nothing, in small letters;"""
_ABSENT = MISSING | {"-", "--", "–", "—", ".", "none", "nil", "unknown", "missing", "n.a.", "k.a.", "#div/0!"}
_ABSENT |= {"#value!", "#ref!", "#name?", "#num!", "#null!"}
"""and those that hold no number and no date."""
_POINT, _COMMA = "1,234.5", "1.234,5"
_FORMS = {
    _POINT: r"[+-]?(?=[.,]*\d)(?:[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}|\d*)(?:\.\d*)?(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?",
    _COMMA: r"[+-]?(?=[.,]*\d)(?:[1-9]\d{0,2}(?:\.\d{3})+|\d*)(?:,\d*)?(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?",
}
_PARTS = (
    r"^(?P<before>[€$£¥<>~]|EUR|USD|GBP|CHF)?\s*"
    r"(?P<number>[+-]?(?:[\d.,]*\d[\d.,]*(?:[eE][+-]?\d+)?|[Ii]nf(?:inity)?))\s*(?P<after>[^\d\s.,][^\d]{0,14}(?:(?<=[a-zA-Z])[23])?)?$"
)
_GAP = r"(?<=\d)[ '’\u00a0\u202f](?=\d{3}(?!\d))"
_DATES = (
    "ISO8601|%Y/%m/%d|%d.%m.%Y|%d.%m.%y|%m/%d/%Y|%d/%m/%Y|%m/%d/%y|%d/%m/%y|%d-%m-%Y|%m-%d-%Y|%Y.%m.%d|%d %b %Y"
    "|%d %B %Y|%b %d, %Y|%B %d, %Y|%d-%b-%Y|%d-%b-%y|%m/%Y|%d/%b/%Y|%a %d %b %Y|%a, %d %b %Y|%b %Y|%B %Y"
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", ", %H:%M")
_LIKE_A_DATE = (
    r"\d{4}[-/.]\d{1,2}.*|\d{1,2}[-/. ](?:\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2,4}.*|\d{1,2}/\d{4}|[A-Z][a-z]{2,8},? \d.*"
)
_EIGHT_DIGITS = r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_TWO_NUMBERS = r"\d[\d.,]*\s*[/x×–-]\s*\d[\d.,]*"
_SPELLINGS = 6
"""Formats that the dates of a column may have at most."""
_NO_DATES = ("0001-01-01", "1900-01-01", "1970-01-01")
"""Days that programs write where they know none; so is every day from the year 9000 on."""
_MOST = 0.95
"""Share of the cells that a number or a date must fit for the column to be of numbers or dates."""
_LENGTH_OF_TEXT, _DISTINCT_OF_TEXT = 3.0, 0.5
"""Mean number of words, and share of different cells, from which on a column is text."""


def needed(name: str, use: str) -> Any:
    """Return a module of the extra ``tables``, or say what brings it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise SolverNotInstalledError(f"{use}: pip install 'specmargin[tables]'.") from error


def pandas() -> Any:
    """Return pandas, or say what brings it."""
    return needed("pandas", "tables are read with pandas")


@dataclass(frozen=True)
class ColumnType:
    """What a column is read as.

    Parameters
    ----------
    kind : {"number", "date", "category", "text"}
    form : str
        Spelling: of numbers, how one thousand and a half is written, "1,234.5" or "1.234,5"; of dates, a format of
        strptime or "ISO8601", or several of them with "|" between them; of categories, "exact" where capitals and
        blanks count.
    unit : str
        What stands with the numbers, such as "kg".
    marks : tuple of float
        Numbers that stand for missing ones, such as -999; of dates the seconds since 1970 of such days.
    stated : bool
        Whether the user stated so.
    note : str
        What was ambiguous, and how it was decided.

    Examples
    --------
    >>> kind = infer_types({"weight": as_cells(["1,234.5 kg", "950 kg", "-"])})["weight"]
    >>> kind.kind, kind.unit, kind.read(as_cells(["2,000 kg", "heavy"]))[0].tolist()
    ('number', 'kg', [2000.0, nan])
    """

    kind: str
    form: str = ""
    unit: str = ""
    marks: tuple[float, ...] = ()
    stated: bool = False
    note: str = ""

    def read(self, cells: AnyArray) -> tuple[AnyArray, BoolArray]:
        """Return the values of a column, and where a cell is neither missing nor can be read."""
        odd = np.zeros(len(cells), dtype=bool)
        if self.kind in ("category", "text"):
            return as_texts(cells), odd
        values, numeric = cells, self.kind == "number"
        if cells.dtype.kind != ("f" if numeric else "M"):
            texts = _series(cells)
            parsed = _numbers(texts, self.form, self.unit) if numeric else _times(texts, self.form)
            values = parsed.to_numpy()
            odd = (texts.notna() & parsed.isna() & ~texts.str.lower().isin(_ABSENT)).to_numpy(dtype=bool)
        if self.marks:
            marked = np.isin(values if numeric else values.astype(np.int64), self.marks)
            values = np.where(marked, np.nan if numeric else np.datetime64("NaT"), values)
        return values, odd

    def spelled(self) -> str:
        """Return the type in words."""
        told = {_POINT: "", _COMMA: ", decimal comma", "exact": ", exact"}.get(self.form, f" {self.form}")
        return f"{self.kind}{told if self.form else ''}{f', {self.unit}' if self.unit else ''}"


def as_cells(values: Any) -> AnyArray:
    """Return a column of a file, an array, pandas or polars: floats, times, or objects that are texts or None.

    Examples
    --------
    >>> as_cells([1, None]).tolist(), as_cells([" a ", "?"]).tolist(), as_cells([True]).tolist()
    ([1.0, nan], ['a', None], ['True'])
    """
    array = label_array(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind == "M":
        return array.astype("datetime64[s]")
    listed = [None if is_missing(value) else value for value in array.tolist()]
    there = [value for value in listed if value is not None]
    if there and all(isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in there):
        if all(abs(value) < 2**53 or isinstance(value, float) for value in there):
            return np.array([np.nan if value is None else float(value) for value in listed])
    elif there and all(isinstance(value, date) for value in there):
        times = pandas().to_datetime(pandas().Series(listed), utc=True, errors="coerce")
        return np.asarray(times.dt.tz_localize(None).to_numpy().astype("datetime64[s]"))
    texts = [None if value is None else str(value).strip() for value in listed]
    return objects([None if text is None or text.lower() in MISSING else text for text in texts])


def as_texts(cells: AnyArray) -> AnyArray:
    """Return cells as texts, None for missing ones: what was written, whole numbers without a point.

    Examples
    --------
    >>> as_texts(np.array([1234567.0, 0.5, np.nan])).tolist()
    ['1234567', '0.5', None]
    """
    if cells.dtype.kind == "O":
        return cells
    listed = np.datetime_as_string(cells).tolist() if cells.dtype.kind == "M" else cells.tolist()
    whole = [isinstance(v, float) and abs(v) < 1e16 and v == round(v) for v in listed]
    texts = [f"{v:.0f}" if w else str(v).removesuffix("T00:00:00") for v, w in zip(listed, whole, strict=True)]
    return objects([None if gone else text for text, gone in zip(texts, missing_in(cells), strict=True)])


def spelling(text: str) -> str:
    """Return a text without what does not count: capitals, and blanks at its ends or twice.

    Examples
    --------
    >>> spelling(" New  York") == spelling("NEW YORK ")
    True
    """
    return " ".join(text.split()).casefold()


def infer_types(
    columns: Mapping[str, AnyArray], stated: Mapping[str, str] | None = None, separator: str = "", *, marks: bool = True
) -> dict[str, ColumnType]:
    """Return the type of every column.

    Parameters
    ----------
    columns : mapping of str to ndarray
        Cells.
    stated : mapping of str to str, optional
        Some of `KINDS`, by the names of columns.
    separator : str, default ""
        Separator of the file: a comma is rather decimal where cells are separated by semicolons.
    marks : bool, default True
        Whether to look for numbers that stand for missing ones.

    Examples
    --------
    >>> types = infer_types({"pay": as_cells(["1.234,5", "87"]), "day": as_cells(["31.12.2024"])})
    >>> [kind.spelled() for kind in types.values()]
    ['number, decimal comma', 'date %d.%m.%Y']
    """
    # First the columns that tell how numbers are written, then those that may be read in two ways.
    fits = {name: _fit(cells) for name, cells in columns.items() if cells.dtype.kind == "O"}
    forms = {fit.form for fit in fits.values() if fit.form}
    types = {}
    for name, cells in columns.items():
        word, _, detail = (stated or {}).get(name, "").partition(":")
        kind = _typed(cells, fits.get(name), forms, separator, name, word, detail)
        found: tuple[float, ...] = ()
        if kind.kind in ("number", "date") and marks and detail != "all":
            found = (_marks if kind.kind == "number" else _no_dates)(kind.read(cells)[0])
        types[name] = replace(kind, stated=word in KINDS[:4], marks=found)
    return types


class _Fit(NamedTuple):
    """Texts of a column, and how many of them are numbers: `form` is "" where both forms fit as well."""

    there: Any
    numbers: Any
    unit: str
    share: float
    form: str


def _fit(cells: AnyArray) -> _Fit:
    texts = _series(cells)
    there = texts[texts.notna() & ~texts.str.lower().isin(_ABSENT)]
    numbers, units = _split(there)
    given = units[numbers.notna()]
    unit = str(given.mode().iloc[0]) if len(given) else ""
    numbers = numbers[(units == unit) & numbers.notna()]
    counts = {form: int(numbers.str.fullmatch(pattern).sum()) for form, pattern in _FORMS.items()}
    best = max(counts, key=lambda form: counts[form])
    alike = len(set(counts.values())) == 1
    return _Fit(there, numbers, unit, counts[best] / max(len(there), 1), "" if alike else best)


def _split(texts: Any) -> tuple[Any, Any]:
    """Return the numbers in texts, and what stands with them."""
    parts = texts.str.replace(_GAP, "", regex=True).str.replace("−", "-").str.extract(_PARTS)
    beside = parts["before"].fillna("").str.strip() + parts["after"].fillna("").str.strip()
    return parts["number"], beside.where(parts["number"].notna(), "")


def _typed(
    cells: AnyArray, fit: _Fit | None, forms: set[str], separator: str, name: str, word: str, detail: str
) -> ColumnType:
    if word in ("category", "text"):
        return ColumnType(word, detail if word == "category" else "")
    if fit is None:
        return ColumnType(word if word in ("number", "date") else {"f": "number"}.get(cells.dtype.kind, "date"))
    if word == "date":
        return ColumnType("date", detail.removeprefix("all") or _date_form(fit.there, name)[0] or "ISO8601")
    there, n = fit.there, len(fit.there)
    first = there.iloc[0] if n else ""
    if n >= 4 and word != "number" and there.str.fullmatch(_EIGHT_DIGITS).mean() >= _MOST:
        as_number = f"reads {first!r} as a day; if it is a number, say {option(name, 'number')}"
        return ColumnType("date", "%Y%m%d", note=as_number)
    zeros, long = (
        fit.numbers.str.fullmatch(rf"[+-]?{digits}").sum() > (1 - _MOST) * n for digits in (r"0\d+", r"\d{16,}")
    )
    if word == "number" or (n and fit.share >= _MOST and not zeros and not long):
        form, note = (detail, "") if detail in _FORMS else _form(fit, forms, separator, name)
        return ColumnType("number", form, fit.unit, note=note)
    form, note = _date_form(there, name)
    if form or note:
        return ColumnType("date" if form else "category", form, note=note)
    if n and fit.share < _MOST and there.str.fullmatch(_TWO_NUMBERS).mean() >= _MOST:
        note = f"holds two numbers in a cell, as in {first!r}: read as names; write them into two columns"
    elif n and (zeros or long):
        note = f"holds {first!r}, of {'leading zeros' if zeros else '16 digits or more'}: names, not numbers"
    elif fit.share >= 0.5:
        other = there[~there.index.isin(fit.numbers.index)]
        odd = f", others such as {other.iloc[0]!r} (row {other.index[0] + 1})" if len(other) else ""
        remedy = f"read as names; if not, say {option(name, 'number')}"
        note = f"holds numbers in {fit.share:.0%} of its cells{odd}: {remedy}"
    long_texts = n and there.str.split().str.len().mean() >= _LENGTH_OF_TEXT
    text = long_texts and there.nunique() >= _DISTINCT_OF_TEXT * n
    return ColumnType("text" if text else "category", note=note)


def _form(fit: _Fit, forms: set[str], separator: str, name: str) -> tuple[str, str]:
    """Return how numbers are written, and what is ambiguous about it."""
    marks = fit.numbers.str.contains(r"[.,]", regex=True).astype(bool)
    marked, plain = fit.numbers[marks], fit.numbers[~marks]
    if fit.form and len(marked):
        return fit.form, _doubtful(fit, marked)
    if not len(marked):
        return fit.form or _POINT, ""
    small = len(plain) > 0 and bool((plain.str.lstrip("+-").str.len() <= 3).all())
    comma = bool(marked.str.contains(",").any())
    if not comma and not small and separator != ";" and _COMMA not in forms:
        return _POINT, ""
    if len(forms) == 1:
        (form,) = forms
    else:
        form = _COMMA if separator == ";" and (not len(plain) if comma else small) else _POINT
    other = _COMMA if form == _POINT else _POINT
    first, second = (_value(marked.iloc[:1], one).iloc[0] for one in (form, other))
    return form, f"reads {marked.iloc[0]!r} as {first:g}; if it is {second:g}, say {option(name, f'number:{other}')}"


def _doubtful(fit: _Fit, marked: Any) -> str:
    """Name a cell that the form of the others makes a thousand times smaller or larger than these."""
    other = _COMMA if fit.form == _POINT else _POINT
    ours, theirs = _value(marked, fit.form), _value(marked, other)
    both = ours.notna() & theirs.notna() & (ours != theirs)
    sure = ours[ours.notna() & ~both].abs()
    if not both.any() or not len(sure) or sure.median() <= 0:
        return ""
    near, far = (np.abs(np.log10(one[both].abs().median() / sure.median() + 1e-300)) for one in (ours, theirs))
    if near <= 2.0 or far >= near:
        return ""
    cell, here, there = (values[both].iloc[0] for values in (marked, ours, theirs))
    return f"reads {cell!r} as {here:g}, far from its other numbers; if it is {there:g}, write the column in one way"


def option(name: str, kind: str) -> str:
    """Return the option of the command line that says what a column is."""
    return f"--columns {quote(f'{name}={kind}')}"


def _numbers(texts: Any, form: str, unit: str) -> Any:
    numbers, units = _split(texts)
    return _value(numbers.where(units == unit), form or _POINT)


def _value(numbers: Any, form: str) -> Any:
    thousands, decimal = (",", ".") if form == _POINT else (".", ",")
    fits = numbers.str.fullmatch(_FORMS[form]).fillna(False).astype(bool)
    plain = numbers.where(fits).str.replace(thousands, "").str.replace(decimal, ".")
    return pandas().to_numeric(plain, errors="coerce").astype(np.float64)


def _times(texts: Any, form: str) -> Any:
    first, *others = form.split("|")
    times = pandas().to_datetime(texts, format=first, errors="coerce", utc=True)
    times = times.dt.tz_localize(None).astype("datetime64[s]")
    return times.where(times.notna(), _times(texts, "|".join(others))) if others else times


def _date_form(there: Any, name: str) -> tuple[str, str]:
    """Return the formats that fit nearly all cells, "" if none do, and what is ambiguous or strange about it."""
    n = len(there)
    if not n or there.str.fullmatch(_LIKE_A_DATE).mean() < _MOST:
        return "", ""
    first, *days = _DATES.split("|")
    forms = [first, *(day + clock for day in days for clock in _CLOCKS)]
    rest, few, note = there, there.iloc[:: max(1, n // 200)], ""
    chosen: list[str] = []
    while len(rest) and len(chosen) < _SPELLINGS:
        likely = [form for form in forms if _times(rest if chosen else few, form).notna().any()]
        counts = {form: int(_times(rest, form).notna().sum()) for form in likely}
        best = max(counts, key=lambda form: counts[form], default="")
        if not best or not counts[best]:
            break
        read = _times(rest, best).dropna()
        cells = rest[read.index]
        for other in [form for form in counts if counts[form] == counts[best] and form != best and not note]:
            theirs = _times(cells, other)
            if theirs.notna().all() and not (theirs == read).all():
                cell = cells[theirs != read].iloc[:1]
                one, two = (f"{_times(cell, form).iloc[0]:%Y-%m-%d}" for form in (best, other))
                note = f"reads {cell.iloc[0]!r} as {one}; if it is {two}, say {option(name, f'date:{other}')}"
                break
        chosen.append(best)
        rest = rest.drop(read.index)
        if len(chosen) == 1 and len(rest) <= (1 - _MOST) * n:
            break
    if len(rest) > (1 - _MOST) * n:
        odd = f"{rest.iloc[0]!r} (row {rest.index[0] + 1})"
        return "", f"holds dates, some in a spelling that is not known, such as {odd}: read as names; write all alike"
    return "|".join(chosen), note


def _no_dates(times: AnyArray) -> tuple[float, ...]:
    """Return days that stand for none: from the year 9000 on, or 1900-01-01 and such far before others."""
    days = np.unique(times[~np.isnat(times)])
    late, known = days >= np.datetime64("9000-01-01", "s"), np.isin(days, np.array(_NO_DATES, dtype="datetime64[s]"))
    own = days[~late & ~known]
    early = known & ~late & (own.min() - days > np.timedelta64(20 * 365, "D")) if len(own) else np.zeros_like(late)
    return tuple(float(day) for day in [*days[early].astype(np.int64), *days[late].astype(np.int64)])


def _marks(values: AnyArray) -> tuple[float, ...]:
    """Return numbers that stand far from all others, as -999 and 99999999 do: a few, or repeated digits."""
    there, marks = values[np.isfinite(values)], []
    n = len(there)
    for _ in range(6):
        different = np.unique(there)
        if len(different) < 4:
            break
        with np.errstate(over="ignore"):
            low, high = different[1] - different[0], different[-1] - different[-2]
            far, spread = (low, different[-1] - different[1]) if low >= high else (high, different[-2] - different[0])
            mark = different[0] if low >= high else different[-1]
        digits = re.fullmatch(r"-?([789])\1+", f"{mark:.0f}") is not None and mark == round(mark)
        apart = far > (3.0 if digits else 1e3) * spread and (digits or (there == mark).sum() <= (1 - _MOST) * n)
        if not apart and not _is_code(different):
            break
        marks.append(float(mark if apart else different[0]))
        there = there[there != marks[-1]]
    return tuple(marks)


def _is_code(different: AnyArray) -> bool:
    """Whether the least of numbers is a code: -1, -9, -99 and such below numbers from 10 on, or 999 below 10,000."""
    code, least = different[0], different[1]
    nines = re.fullmatch(r"-?([89])\1*|-([79])\2+|-1", f"{code:.0f}") is not None and code == round(code)
    return bool(nines and ((code < 0 and least >= 10) or (code >= 99 and least >= 10 * code)))


def _series(cells: AnyArray) -> Any:
    return pandas().Series(as_texts(cells), dtype="str")


def objects(values: list[Any]) -> AnyArray:
    """Return values as an array of objects, whatever they are.

    Examples
    --------
    >>> objects([1, None, (2, 3)]).tolist()
    [1, None, (2, 3)]
    """
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def missing_in(column: AnyArray) -> BoolArray:
    """Return the mask of the missing entries; infinite numbers count as missing."""
    return ~np.isfinite(column) if column.dtype.kind == "f" else np.asarray(pandas().isna(column), dtype=bool)


def distinct(column: AnyArray) -> AnyArray:
    """Return the values that a column holds, sorted, without the missing ones."""
    there = column[~missing_in(column)]
    return np.unique(there.astype(str)) if column.dtype.kind == "O" else np.unique(there)
