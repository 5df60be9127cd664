"""Claims as data: a sentence of a paper, the quantities that it is about, and the range where they are claimed to lie.

`judge` takes an interval of each quantity from the draws and asks where it lies: `reproduction.engine.equivalence` has
the one rule. A quantity is an expression of `pandas.DataFrame.eval` in the columns of a frame of results:

- of numbers, one for each run: the mean over the draws, with its t interval;
- of truths, one for each run: the share of the runs where it holds, with Wilson's interval;
- one number of the whole frame: a fact, which has no interval;
- an `Interval`, as ``@span`` makes it of readings of a protocol that the paper leaves open.

Of times it is a ratio or a power, whose interval holds what another session would change, too.

Frames have a row for each run, with its data set and its draw ("dataset", "split") as columns or as index. What stands
in braces in a sentence is an expression, too; a column stands for its mean, one of text for its first.
"""

import keyword
import re
import statistics
import string
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from pandas.errors import UndefinedVariableError

from reproduction.engine.equivalence import (
    ANSWERS,
    FEWEST,
    NOT_JUDGED,
    SESSION,
    Interval,
    answer,
    counted,
    draw_means,
    draw_of,
    margin,
    mean_interval,
    power_of_times,
    ratio_of_times,
    share_interval,
    together,
)
from reproduction.engine.records import Row


@dataclass(frozen=True)
class ClaimRow:
    """A claim of a paper, and what is held against it.

    Parameters
    ----------
    paper, source : str
        Short name of the paper; the study, or part of a table, whose frame is judged.
    text : str
        Sentence of the paper, and where it stands.
    test : str
        What the quantities are, with their unit.
    values : mapping of str to str
        Quantities by name. All of them must lie in the range.
    over : mapping of str to sequence of str
        Names in braces, in `values`, that stand for each of several.
    at_least, at_most : float or str
        The range; an expression where it is read from the frame.
    where : str, default ""
        Condition of the rows that count; all by default.
    by : str, default ""
        A column or level of the index, each of whose values has quantities of its own: "on every set".
    needs, why : str, default ""
        A condition that holds in one row at least, else the claim is not judged, for the reason `why`.
    times : str, default ""
        What the quantities are of times: "ratio", or a power, by an expression of how far a session moves it (`reach`).
    numbers : str, default ""
        A sentence more.
    """

    paper: str
    source: str
    text: str
    test: str
    values: Mapping[str, str]
    over: Mapping[str, Sequence[str]] = field(default_factory=dict)
    at_least: float | str = -np.inf
    at_most: float | str = np.inf
    where: str = ""
    by: str = ""
    needs: str = ""
    why: str = ""
    times: str = ""
    numbers: str = ""

    def quantities(self) -> dict[str, str]:
        """Return the expressions by name, one for each combination of `over`."""
        combined = [dict(zip(self.over, each, strict=True)) for each in product(*self.over.values())]
        return {
            _filled(name, names): _filled(value, names) for name, value in self.values.items() for names in combined
        }


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _mean_of_task(values: pd.Series) -> pd.Series:
    return values.groupby(level="dataset", sort=False).transform("mean")


def _span(*readings: Any) -> Interval:
    values = np.concatenate([np.atleast_1d(np.asarray(each, dtype=float)) for each in readings])
    return Interval(float(values.mean()), float(values.min()), float(values.max()), 0)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the slope of log y over log x.

    Examples
    --------
    >>> round(slope([1.0, 2.0, 4.0], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-9)), 1)[0])


def reach(*sizes: float) -> float:
    """Return how far a session moves the slope of times over sizes: at worst it slows those above their mean alone.

    Examples
    --------
    >>> round(reach(1000.0, 2000.0), 6), round(reach(1000.0, 2000.0, 4000.0), 6)
    (1.0, 0.5)
    """
    logs = np.log(sizes)
    return slope(sizes, np.where(logs > logs.mean(), SESSION, 1.0).tolist())


TESTS: Mapping[str, Callable[..., Any]] = {
    "mean": lambda values: values.groupby(level="dataset", sort=False).mean(),
    "spread": lambda values: abs(values - _mean_of_task(values)),
    "above": lambda a, b: np.sign(a - b),
    "better": lambda *columns: min(columns, key=lambda values: values.mean()),
    "sign": lambda values: np.sign(values.mean()),
    "span": _span,
    "margin": margin,
    "reach": reach,
}
"""Functions that expressions may call, each with ``@``: the means of data sets, how far a run is from its own, whether
one column is above another or below, the column of the least mean, the sign of a mean, the range of readings, the
margin of a published error, how far a session moves a power."""


def _value(frame: pd.DataFrame, expression: str) -> Any:
    return frame.eval(expression, engine="python", local_dict=TESTS)


class _Numbers(string.Formatter):
    """Format whose fields are expressions in the columns of a frame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        """Return the value of an expression, the mean of a column, "-" where the frame does not have it."""
        if field_name in self.frame.attrs:
            return self.frame.attrs[field_name], field_name
        try:
            value = _value(self.frame, field_name)
        except UndefinedVariableError:
            return "-", field_name
        if isinstance(value, pd.Series):
            numbers = is_numeric_dtype(value)
            value = statistics.fmean(value.dropna()) if numbers and value.notna().any() else value.iloc[0]
        return value, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a text as it is, all else in its format."""
        return value if isinstance(value, str) else format(value, format_spec)


def read_claims(file: Path) -> dict[str, list[ClaimRow]]:
    """Return the claims of a TOML file by paper, in their order; each is a table ``[[claim]]`` of the fields above."""
    papers: dict[str, list[ClaimRow]] = {}
    for fields in tomllib.loads(file.read_text(encoding="utf-8"))["claim"]:
        papers.setdefault(fields["paper"], []).append(ClaimRow(**fields))
    return papers


def frame_of(rows: Iterable[Row], derive: Callable[[pd.DataFrame], Mapping[str, Any]] | None = None) -> pd.DataFrame:
    """Return rows as a frame, with the numbers of each data set as ``COLUMN_on_DATASET`` and what `derive` makes of it.

    On each draw they are those of the same draw. Names are made identifiers: ``error_0.1`` is ``error_0_1``, ``with``
    is ``with_``.

    Examples
    --------
    >>> rows = [{"dataset": name, "split": "s0", "error_0.1": error} for name, error in (("a", 1.0), ("b", 3.0))]
    >>> frame_of(rows)[["error_0_1_on_a", "error_0_1_on_b"]].values.tolist()
    [[1.0, 3.0], [1.0, 3.0]]
    """
    frame = pd.DataFrame(list(rows)).rename(columns=_identifier)
    if "dataset" in frame and frame["dataset"].nunique() > 1:
        numbers = [name for name in frame.select_dtypes("number") if not str(name).startswith("param_")]
        wide: Any = frame.pivot_table(numbers, "split", "dataset", aggfunc="mean")
        wide.columns = pd.Index([f"{column}_on_{_identifier(name)}" for column, name in wide.columns])
        frame = frame.join(wide, on="split")
    return frame.assign(**derive(frame)) if derive else frame


def wide_frame(rows: Iterable[Row], columns: Mapping[str, str], **facts: Any) -> pd.DataFrame:
    """Return a row per data set and split, a column per short name and method; `facts` may be shown with the numbers.

    Examples
    --------
    >>> rows = [{"dataset": "a", "split": "s0", "method": name, "error_test": 1.0} for name in ("svm", "lapsvm")]
    >>> wide_frame(rows, {"T": "error_test"}).to_dict("list")
    {'T_lapsvm': [1.0], 'T_svm': [1.0]}
    """
    long = pd.DataFrame([{name: row.get(name) for name in (*_KEYS, *columns.values())} for row in rows])
    if long.empty:
        return long
    wide = long.pivot(index=list(_KEYS[:2]), columns="method", values=list(columns.values()))
    short = {column: name for name, column in columns.items()}
    pairs: Any = wide.columns
    wide.columns = pd.Index([_identifier(f"{short[column]}_{method}") for column, method in pairs])
    wide = wide.loc[list(dict.fromkeys(zip(long["dataset"], long["split"], strict=True)))].astype(float)
    wide.attrs.update(facts)
    return wide


_KEYS = ("dataset", "split", "method")


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name) + "_" * keyword.iskeyword(name)


def judge(claims: Iterable[ClaimRow], frames: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return a sentence per claim, verdict first; a claim on columns or rows that are missing is left out.

    Examples
    --------
    >>> rows = [{"dataset": "d", "split": f"s{k}", "a": 1.0 + 0.1 * k, "b": 3.0} for k in range(4)]
    >>> one = ClaimRow("p", "s", "a errs less than b", "gain in points", {"a": "b - a"}, at_least=0.0)
    >>> judge([one], {"s": frame_of(rows)})
    ['agrees: a errs less than b. Gain in points, at least 0: a 1.85 [1.70, 2.00]; 4 draws.']
    """
    return [sentence for one in claims if one.source in frames for sentence in _judged(one, frames[one.source])]


def _judged(one: ClaimRow, frame: pd.DataFrame) -> list[str]:
    if one.where and len(frame):
        frame = frame[_value(frame, one.where).astype(bool)]
    if frame.empty:
        return []
    found = dict(_values(one, frame))
    if not found:
        return []
    shown = _Numbers(frame)
    numbers = f" {shown.format(one.numbers)}." if one.numbers else ""
    if one.needs and not _value(frame, one.needs).any():
        return [f"{NOT_JUDGED}: {one.text}. {shown.format(one.why)}.{numbers}"]
    told = {name: interval(1) for name, interval in found.items()}
    few = max(each.n for each in told.values())
    if 0 < few < FEWEST:
        draws = "single fits" if few == 1 else f"{few} draws"
        listed = ", ".join(f"{name} {each.mean:.2f}" for name, each in told.items())
        return [
            f"{NOT_JUDGED}: {one.text}. {draws.capitalize()} have no interval. {_test(one, frame)}: {listed}.{numbers}"
        ]
    low, high = _range(one, frame)
    answers = {
        name: answer(each, low, high, found[name](len(found))) if each.n == 0 or each.n >= FEWEST else ANSWERS[2]
        for name, each in told.items()
    }
    numbers_of = sorted({each.n for each in told.values()} - {0})
    draws = f"; {' to '.join(map(str, dict.fromkeys((numbers_of[0], numbers_of[-1]))))} draws" if numbers_of else ""
    session = f", and a factor of {SESSION:g} from session to session" if one.times else ""
    sentence = f"{_test(one, frame)}: {_listed(told, answers)}{draws}{session}."
    return [f"{together(list(answers.values()))}: {one.text}. {sentence}{numbers}"]


def _range(one: ClaimRow, frame: pd.DataFrame) -> tuple[float, float]:
    low, high = (_value(frame, each) if isinstance(each, str) else each for each in (one.at_least, one.at_most))
    return float(low), float(high)


def _test(one: ClaimRow, frame: pd.DataFrame) -> str:
    """Say what is measured, and in which range it is claimed to lie."""
    low, high = (f"{each:.4g}" for each in _range(one, frame))
    one_sided = f"at most {high}" if low == "-inf" else f"at least {low}"
    bounds = one_sided if "inf" in low + high else f"from {low} to {high}"
    test = _Numbers(frame).format(one.test)
    return f"{test[:1].upper()}{test[1:]}, {bounds}"


_SHOWN = 8
"""Quantities that are all shown."""


def _listed(told: Mapping[str, Interval], answers: Mapping[str, str]) -> str:
    """Show quantities; of many those that do not agree, and the least and the largest mean."""
    each = {name: f"{name} {interval.text}" for name, interval in told.items()}
    if len(each) <= _SHOWN:
        return ", ".join(each.values())
    found = Counter(answers.values())
    ends = [each[pick(told, key=lambda name: told[name].mean)] for pick in (min, max)]
    first, *rest = (counted(found[name], name) for name in ANSWERS if found[name])
    parts = [", ".join([first.replace(" ", f" of {len(each)} ", 1), *rest])]
    others = [text for name, text in each.items() if answers[name] != ANSWERS[0]]
    parts += [f"not so {', '.join(others[:_SHOWN])}{' and others' * (len(others) > _SHOWN)}"] if others else []
    return "; ".join([*parts, f"from {ends[0]} to {ends[1]}"])


def _values(one: ClaimRow, frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[int], Interval]]]:
    """Yield the quantities by name, each with what makes its interval, at a level for one among so many."""
    parts: Any = frame.groupby(one.by).indices if one.by else {"": np.arange(len(frame))}
    for name, expression in one.quantities().items():
        try:
            value = _value(frame, expression)
        except UndefinedVariableError:
            continue
        for of_part, rows in sorted(parts.items()):
            mine = value.iloc[rows] if isinstance(value, pd.Series) else value
            interval = _interval(mine, frame.iloc[rows])
            if interval is not None:
                yield f"{of_part} {name}".strip(), _of_session(one.times, interval, frame.iloc[rows])


def _interval(value: Any, frame: pd.DataFrame) -> Callable[[int], Interval] | None:
    if isinstance(value, Interval):
        return lambda among: value
    if not isinstance(value, pd.Series):
        return (lambda among: Interval(float(value), float(value), float(value), 0)) if np.isfinite(value) else None
    if value.isna().all():
        return None
    tasks, splits = (_keys(frame, name) for name in _KEYS[:2])
    draws = [draw_of(str(split)) for split in splits] if len(splits) else ""
    means = draw_means(value, draws, tasks).to_numpy()
    of = share_interval if is_bool_dtype(value) else mean_interval
    return lambda among: of(means, among)


def _of_session(times: str, interval: Callable[[int], Interval], frame: pd.DataFrame) -> Callable[[int], Interval]:
    """Return an interval with what another session changes of times."""
    if times in ("", "ratio"):
        return (lambda among: ratio_of_times(interval(among))) if times else interval
    widest = float(np.max(_value(frame, times)))
    return lambda among: power_of_times(interval(among), widest)


def _keys(frame: pd.DataFrame, name: str) -> Any:
    if name in frame:
        return frame[name].to_numpy()
    return frame.index.get_level_values(name) if name in frame.index.names else ""


TABLE_CLAIMS = read_claims(Path(__file__).with_name("papers") / "table_claims.toml")
"""The claims that tables judge, by the name of the paper among the published numbers."""
