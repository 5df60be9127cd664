"""The headline of each paper: one or a few numbers, as published and as our recorded tables have them.

`HEADLINES`, read from ``headlines.toml``, says which numbers, and `headline_rows` looks them up: the published ones in
the package's CSV files, ours in the records. Of the spectrum paper no table is available; what is counted there are the
cells that agree with its sentences.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.engine.equivalence import ANSWERS, counted
from reproduction.engine.published import published
from reproduction.recorded import RecordedTable
from reproduction.report import Report
from specmargin.exceptions import InvalidInputError

NOT_RECORDED = "not recorded yet"
"""What stands in the place of our numbers where the table has not been recorded whole."""


@dataclass(frozen=True)
class Number:
    """A mean of a table, and where the paper has it.

    Parameters
    ----------
    section, dataset, method, tuning : str
        The line of our report; the section's title is empty where there is one section.
    source : tuple of str
        Paper, table, data set, method, quantity and split of the published number; a seventh is its number of labels.
    over : str
        A published method by whose number the first one is divided, for a ratio.
    decimals : int
        Decimals that are shown.
    """

    section: str
    dataset: str
    method: str
    tuning: str
    source: tuple[str, ...]
    over: str = ""
    decimals: int = 1

    def published(self) -> str:
        """Return the published number."""
        value = _published(self.source)
        if self.over:
            value /= _published((*self.source[:3], self.over, *self.source[4:]))
        return f"{value:.{self.decimals}f}"

    def ours(self, report: Report) -> tuple[str, str]:
        """Return the number of a report, and whether it agrees with the published one, which is not asked of a ratio.

        `ValueError` if the report does not have the line, or has it twice.
        """
        wanted = (self.section, self.dataset, self.method, self.tuning)
        lines = {
            line.mean: line
            for section in report.sections
            for line in section.lines
            if (section.title, line.dataset, line.method, line.tuning) == wanted
        }
        if len(lines) != 1:
            raise InvalidInputError(
                f"the table {report.name!r} has {len(lines)} numbers at {' | '.join(wanted)!r}, and its headline needs "
                "one; name another line in reproduction/headlines.toml."
            )
        (line,) = lines.values()
        return f"{line.mean:.{self.decimals}f}", "" if self.over else line.agreement


@dataclass(frozen=True)
class Count:
    """How many cells agree with a sentence of the paper, as a remark of the table counts them.

    Parameters
    ----------
    claim : str
        Words of the remark, which has them once.
    pattern : str
        A regular expression, whose group is the count.
    statement : str
        What the paper says.
    """

    claim: str
    pattern: str
    statement: str

    def published(self) -> str:
        """Return what the paper says."""
        return self.statement

    def ours(self, report: Report) -> tuple[str, str]:
        """Return the count in a report, and the verdict on the claim. `ValueError` if no remark has it."""
        matches = [
            (verdict, re.search(self.pattern, rest))
            for remark in report.remarks
            for verdict, mark, rest in [remark.partition(": ")]
            if mark and rest.startswith(self.claim)
        ]
        verdict, match = matches[0] if len(matches) == 1 else ("", None)
        if match is None:
            raise InvalidInputError(
                f"the table {report.name!r} has no remark with {self.claim!r} and {self.pattern!r}, or several; its "
                "headline needs one: correct it in reproduction/headlines.toml."
            )
        return match[1], verdict


@dataclass(frozen=True)
class Headline:
    """What a paper is about, in one row.

    Parameters
    ----------
    paper : str
        Key of `reproduction.papers.bibliography.PAPERS`.
    name : str
        A few words for it.
    page : str
        The page of docs on it.
    measured : str
        What the numbers are, in their order.
    table : str
        The name of the record.
    why : str
        Why they differ, as far as they do.
    numbers : sequence of Number or Count
        What is shown.
    fitted : bool
        Whether a parameter was chosen by the published numbers: ours may agree, and reproduce nothing.
    """

    paper: str
    name: str
    page: str
    measured: str
    table: str
    why: str
    numbers: Sequence[Number | Count]
    fitted: bool = False


def _read() -> Iterator[Headline]:
    for fields in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["headline"]:
        numbers = [
            Count(**each) if "claim" in each else Number(**{**each, "source": tuple(each["source"])})
            for each in fields.pop("numbers")
        ]
        yield Headline(**fields, numbers=tuple(numbers))


HEADLINES = tuple(_read())
"""One of each of the five papers, in the order of `PAPERS`."""


def headline_rows(records: Mapping[str, RecordedTable]) -> list[tuple[Headline, str, str, str]]:
    """Return each headline with its published numbers, ours, and why they differ.

    Parameters
    ----------
    records : mapping of str to RecordedTable
        Records by name, as `reproduction.recorded.recorded_tables` returns them.

    Returns
    -------
    list of (Headline, str, str, str)
        `NOT_RECORDED` in the place of our numbers where the table is not there, or not whole. The last is "reproduced"
        where all numbers that can be asked agree and none was fitted to them, else how many do, and the reason.

    Raises
    ------
    ValueError
        If a record lacks a line that the headline names.

    Examples
    --------
    >>> headline, theirs, *ours = headline_rows({})[0]
    >>> headline.table, theirs, ours
    ('manifold_regularization', '9.9 / 2.6', ['not recorded yet', ''])
    """
    rows = []
    for headline in HEADLINES:
        record = records.get(headline.table)
        theirs = " / ".join(number.published() for number in headline.numbers)
        if record is None or record.report is None:
            rows.append((headline, theirs, NOT_RECORDED, ""))
            continue
        ours = [number.ours(record.report) for number in headline.numbers]
        asked = [verdict for _, verdict in ours if verdict]
        same = asked.count(ANSWERS[0])
        others = [counted(asked.count(name), name) for name in ANSWERS[:0:-1] if name in asked]
        word = "agree" if headline.fitted else "reproduced"
        told = ", ".join([f"{same} of {len(asked)} {word}", *others]) if others else word * bool(asked)
        told += f": {headline.why}" if told not in ("", "reproduced") else ""
        rows.append((headline, theirs, " / ".join(shown for shown, _ in ours), told))
    return rows


def _published(source: Sequence[str]) -> float:
    """Return one published number; `ValueError` if there is none, or several."""
    names, n_labeled = source[:6], source[6:]
    rows = published(*names)
    if n_labeled:
        rows = rows[rows["n_labeled"] == int(n_labeled[0])]
    if len(rows) != 1:
        raise InvalidInputError(f"{len(rows)} published numbers are at {' | '.join(source)!r}; a headline needs one.")
    return float(rows["mean"].item())
