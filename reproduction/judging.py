"""Claims as data: a sentence, the conditions that it stands on, and the numbers that are shown with its verdict.

A condition is an expression of `pandas.DataFrame.eval` in the columns of a frame of results:

- lower in pairs, ``"error_STORM < error_MKL"``, or significantly so on a data set, ``"@clearly_lower(a, b)"``;
- within d, ``"abs(error_a - error_b) <= 0.5"``;
- a ratio of at least r, ``"seconds_a / seconds_b >= 2"``;
- a share of cells, ``"larger >= 0.95"``;
- an order, ``"error_1 <= error_2 <= error_3"``;
- a correlation or a slope, ``"@correlation(a, b) >= 0.9"``.

Each condition is counted over all rows, and the share of cases that hold is the verdict. What stands in braces in the
numbers of a claim is such an expression, too; a column stands for its mean, one of text for its first. `TESTS` holds
the functions after ``@``; those of data sets take frames of `wide_frame`, a row for each data set and split.
"""

from __future__ import annotations

import keyword
import re
import statistics
import string
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from pandas.errors import UndefinedVariableError

from reproduction.claims import claim, comparison_counts
from reproduction.engine.records import Row
from reproduction.engine.significance import Comparison, paired_comparison, paired_p_value

__all__ = [
    "TABLE_CLAIMS",
    "TESTS",
    "ClaimRow",
    "Named",
    "frame_of",
    "judge",
    "named_frame",
    "read_claims",
    "slope",
    "wide_frame",
]


@dataclass(frozen=True)
class ClaimRow:
    """A claim of a paper, and what is held against it.

    Parameters
    ----------
    paper, source : str
        Short name of the paper; the study, or part of a table, whose frame is judged.
    text : str
        Sentence of the paper, and where it stands; facts of the frame, and numbers, may stand in braces.
    holds : sequence of str
        Conditions, each counted over all rows.
    numbers : str
        Sentence on the numbers; ``{part}`` and ``{whole}`` are the cases that hold and all cases, ``{each}`` the
        numbers of every row, ``{missed}`` those of the rows where the first condition fails.
    where : str, default ""
        Condition of the rows that count; all by default.
    means : bool, default False
        Whether the conditions are ones of the means over the rows.
    strict : bool, default False
        Whether one case that fails refutes the claim.
    each : str, default ""
        Numbers of one row, whose name is ``{name}``.
    apart : str, default ", "
        What stands between those of two rows.
    partly : str, default "partly reproduced"
        What it is called that half of the cases hold.
    claimed : bool, default True
        Whether the paper says it; else no verdict is given.
    """

    paper: str
    source: str
    text: str
    holds: Sequence[str]
    numbers: str
    where: str = ""
    means: bool = False
    strict: bool = False
    each: str = ""
    apart: str = ", "
    partly: str = "partly reproduced"
    claimed: bool = True


class Named(float):
    """A number that is shown with what it belongs to.

    Examples
    --------
    >>> format(Named(1.25, "SVM on usps"), "+.1f")
    '+1.2 (SVM on usps)'
    """

    def __new__(cls, value: float, name: str) -> Named:
        """Return a float that knows a name."""
        number = super().__new__(cls, value)
        number.name = name
        return number

    name: str

    def __format__(self, spec: str) -> str:
        """Return the number in a format, its name after it."""
        return f"{float(self):{spec}} ({self.name})"


def _by_dataset(values: pd.Series) -> Any:
    return values.groupby(level="dataset", sort=False)


def _compare(a: pd.Series, b: pd.Series, test_to_train: float | pd.Series = 0.0) -> Comparison:
    """Compare two methods on each data set, split by split; the corrected test has one ratio, or one per data set."""
    both = pd.DataFrame({"a": a, "b": b, "ratio": test_to_train}).dropna()
    cells: list[Any] = [each.droplevel("dataset") for _, each in both.groupby(level="dataset", sort=False)]
    ratios = [float(each["ratio"].iloc[0]) for each in cells]
    return paired_comparison([each.to_dict() for each in cells], "a", "b", test_to_train=ratios if any(ratios) else [])


def _cases(part: int, whole: int) -> list[bool]:
    return [True] * int(part) + [False] * int(whole - part)


def _counted(count: Callable[[Comparison], int]) -> Callable[..., list[bool]]:
    """Return a test of two methods: one case per data set, as many hold as `count` says."""

    def test(a: pd.Series, b: pd.Series) -> list[bool]:
        compared = _compare(a, b)
        return _cases(count(compared), compared.rows)

    return test


def _correlation(a: pd.Series, b: pd.Series) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if len(a) > 2 and np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan


def _named(values: pd.Series, index: Any) -> Named:
    return Named(values[index], str(index))


TESTS: Mapping[str, Callable[..., Any]] = {
    "mean": lambda values: _by_dataset(values).mean(),
    "spread": lambda values: _by_dataset(values).std(),
    "compare": _compare,
    "total": lambda *compared: Comparison(*map(sum, zip(*compared, strict=True))),
    "lower": _counted(lambda compared: compared.lower),
    "clearly_lower": _counted(lambda compared: compared.clearly_lower),
    "not_clearly_higher": _counted(lambda compared: compared.rows - compared.clearly_higher),
    "p": paired_p_value,
    "cases": _cases,
    "correlation": _correlation,
    "largest": lambda *values: max(abs(each).max() for each in values),
    "median": lambda *values: statistics.median(np.concatenate(values)),
    "furthest": lambda values: _named(values, abs(values).idxmax()),
    "highest": lambda values: _named(values, values.idxmax()),
    "lowest": lambda values: _named(values, values.idxmin()),
    "tally": lambda names, which: ", ".join(f"{name} ({n})" for name, n in Counter(names[which]).items()) or "none",
}
"""Functions that conditions and numbers may call, each with ``@``."""


def _value(frame: pd.DataFrame, expression: str, **known: Any) -> Any:
    return frame.eval(expression, engine="python", local_dict={**TESTS, **known})


class _Numbers(string.Formatter):
    """Format whose fields are expressions in the columns of a frame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        """Return the value of an expression, the mean of a column, "-" where the frame does not have it."""
        if field_name in kwargs:
            return kwargs[field_name], field_name
        try:
            value = _value(self.frame, field_name, **kwargs)
        except UndefinedVariableError:
            return "-", field_name
        if isinstance(value, pd.Series):
            value = statistics.fmean(value) if is_numeric_dtype(value) else value.iloc[0]
        return value, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return counts of a comparison in a unit ("cases", or "corrected cases, equal"), all else in its format."""
        if not isinstance(value, Comparison):
            return value if isinstance(value, str) else format(value, format_spec)
        spec, equal, _ = format_spec.partition(", equal")
        unit = spec.removeprefix("corrected ")
        counts = comparison_counts(value, unit, corrected=unit != spec)
        return f"{counts}, equal in {value.equal}" if equal and value.equal else counts


def read_claims(file: Path) -> dict[str, list[ClaimRow]]:
    """Return the claims of a TOML file by paper, in their order; each is a table ``[[claim]]`` of the fields above."""
    papers: dict[str, list[ClaimRow]] = {}
    for fields in tomllib.loads(file.read_text(encoding="utf-8"))["claim"]:
        papers.setdefault(fields["paper"], []).append(ClaimRow(**fields))
    return papers


def frame_of(rows: Iterable[Row], derive: Callable[[pd.DataFrame], Mapping[str, float]] | None = None) -> pd.DataFrame:
    """Return rows as a frame, with the means of each data set as ``COLUMN_on_DATASET`` and what `derive` makes of it.

    Names are made identifiers: ``error_0.1`` is ``error_0_1``, ``with`` is ``with_``.

    Examples
    --------
    >>> list(frame_of([{"dataset": "a", "error_0.1": 1.0}, {"dataset": "b", "error_0.1": 3.0}]))
    ['dataset', 'error_0_1', 'error_0_1_on_a', 'error_0_1_on_b']
    """
    frame = pd.DataFrame(list(rows)).rename(columns=_identifier)
    more: dict[str, float] = {}
    if "dataset" in frame and frame["dataset"].nunique() > 1:
        means: Any = frame.groupby("dataset").mean(numeric_only=True)
        more = {f"{column}_on_{_identifier(name)}": means.loc[name, column] for column in means for name in means.index}
    more |= derive(frame) if derive else {}
    return pd.concat([frame, pd.DataFrame(more, index=frame.index)], axis=1)


def wide_frame(rows: Iterable[Row], columns: Mapping[str, str], **facts: Any) -> pd.DataFrame:
    """Return a row per data set and split, a column per short name and method; `facts` may be shown with the numbers.

    Examples
    --------
    >>> rows = [{"dataset": "a", "split": "s0", "method": name, "error_test": 1.0} for name in ("svm", "lapsvm")]
    >>> wide_frame(rows, {"T": "error_test"}).to_dict("list")
    {'T_lapsvm': [1.0], 'T_svm': [1.0]}
    """
    long = pd.DataFrame([{name: row.get(name) for name in (*_KEYS, *columns.values())} for row in rows])
    wide = long.pivot(index=list(_KEYS[:2]), columns="method", values=list(columns.values()))
    short = {column: name for name, column in columns.items()}
    pairs: Any = wide.columns
    wide.columns = pd.Index([_identifier(f"{short[column]}_{method}") for column, method in pairs])
    wide = wide.loc[list(dict.fromkeys(zip(long["dataset"], long["split"], strict=True)))].astype(float)
    wide.attrs.update(facts)
    return wide


_KEYS = ("dataset", "split", "method")


def named_frame(columns: Mapping[str, Mapping[str, float] | pd.Series], **facts: Any) -> pd.DataFrame:
    """Return a row per name, of those that every column has; `facts` may be shown with the numbers.

    Examples
    --------
    >>> named_frame({"apart": {"g50c U": 0.5, "g50c T": np.nan}}).to_dict()
    {'apart': {'g50c U': 0.5}}
    """
    frame = pd.DataFrame({name: pd.Series(each, dtype=float) for name, each in columns.items()}).dropna()
    frame.attrs.update(facts)
    return frame


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name) + "_" * keyword.iskeyword(name)


def judge(claims: Iterable[ClaimRow], frames: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return a sentence per claim, verdict first; a claim on columns or rows that are missing is left out.

    Examples
    --------
    >>> rows = [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 2.0}]
    >>> one = ClaimRow("p", "s", "a errs less than b", ["a < b"], "In {part} of {whole} draws, {a:.1f} for {b:.1f} %")
    >>> judge([one], {"s": frame_of(rows)})
    ['partly reproduced: a errs less than b. In 1 of 2 draws, 2.0 for 2.0 %.']
    """
    return [sentence for one in claims if one.source in frames for sentence in _judged(one, frames[one.source])]


def _judged(one: ClaimRow, frame: pd.DataFrame) -> list[str]:
    if one.where and len(frame):
        frame = frame[_value(frame, one.where).astype(bool)]
    if frame.empty:
        return []
    cases = frame.mean(numeric_only=True).to_frame().T if one.means else frame
    held: list[bool] = []
    for condition in one.holds:
        try:
            held += map(bool, np.atleast_1d(_value(cases, condition)))
        except UndefinedVariableError:
            continue
    if not held:
        return []
    part, whole = sum(held), len(held)
    facts = {str(name): fact for name, fact in frame.attrs.items()}
    listed: dict[str, str] = {}
    if one.each:
        rows = [_Numbers(frame.iloc[[k]]).format(one.each, name=name) for k, name in enumerate(frame.index)]
        missed = [row for row, holds in zip(rows, held, strict=False) if not holds]
        listed = {"each": one.apart.join(rows), "missed": one.apart.join(missed) or "none"}
    shown = _Numbers(frame)
    numbers = shown.format(one.numbers, part=part, whole=whole, **listed, **facts)
    text = shown.format(one.text, **facts)
    if not one.claimed:
        return [f"{text}. {numbers}."]
    sentence = claim(text, *((int(part == whole), 1) if one.strict else (part, whole)), numbers)
    return [re.sub(r"^partly reproduced", one.partly, sentence)]


TABLE_CLAIMS = read_claims(Path(__file__).with_name("papers") / "table_claims.toml")
"""The claims that tables judge, by the name of the paper among the published numbers."""


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the slope of log y over log x.

    Examples
    --------
    >>> round(slope([1.0, 2.0, 4.0], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-9)), 1)[0])
