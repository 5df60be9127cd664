"""Reproduced numbers next to published ones: `compare` applies protocols of tuning and looks the published means up.

Every line names its protocol, with the word "optimistic" where the reported error also chose the parameters.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from reproduction.engine.equivalence import draw_means
from reproduction.engine.protocol import Tuning, select
from reproduction.engine.published import published
from reproduction.engine.records import Row
from reproduction.report import Line
from specmargin.exceptions import InvalidInputError


@dataclass(frozen=True)
class Reference:
    """Place of a published number, and what is written beside it.

    Parameters
    ----------
    paper, table, method : str
        Place of the number, as in `published`.
    split : str, default "U"
        Which points the published error is measured on.
    quantity : str, default "error_percent"
        What was published.
    note : str
        Differences of protocol, for the note column. The note of the published row itself is added.
    where : mapping, optional
        Further columns that tell variants apart, e.g. ``{"n_labeled": 50}``.
    """

    paper: str
    table: str
    method: str
    split: str = "U"
    quantity: str = "error_percent"
    note: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)

    def find(self, dataset: str) -> tuple[float, float, str] | None:
        """Return mean, standard deviation (NaN if not published) and note, or None if nothing was published.

        Raises
        ------
        ValueError
            If several rows match: name what tells them apart in `where`.
        """
        rows = published(self.paper, self.table, method=self.method, quantity=self.quantity, split=self.split)
        rows = rows[rows["dataset"] == dataset]
        for column, value in self.where.items():
            rows = rows[(rows[column] == value).fillna(False)]
        if len(rows) > 1:
            raise InvalidInputError(
                f"{len(rows)} published rows match {self!r} on {dataset!r}; tell them apart with where=: "
                f"n_labeled {rows['n_labeled'].tolist()}, note {rows['note'].tolist()}."
            )
        if rows.empty or math.isnan(rows["mean"].iloc[0]):
            return None
        note = "; ".join(part for part in (self.note, rows["note"].iloc[0]) if part)
        return float(rows["mean"].iloc[0]), float(rows["std"].iloc[0]), note


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float, int]:
    """Return mean, deviation of a sample (n - 1) and number of values; NaN where there are too few.

    Examples
    --------
    >>> mean_and_deviation([1.0, 3.0]), mean_and_deviation([2.0])[::2]
    ((2.0, 1.4142135623730951, 2), (2.0, 1))
    """
    mean = statistics.fmean(values) if values else math.nan
    return mean, statistics.stdev(values) if len(values) > 1 else math.nan, len(values)


def pooled_error(rows: Iterable[Row], column: str) -> dict[str, Any]:
    """Return ``error`` and ``draws`` of a `Line` on runs of several tasks, which share their draws; {} of one task.

    Examples
    --------
    >>> errors = {("a", "0"): 1.0, ("a", "1"): 3.0, ("b", "0"): 5.0, ("b", "1"): 7.0}
    >>> rows = [{"dataset": dataset, "split": split, "e": error} for (dataset, split), error in errors.items()]
    >>> pooled_error(rows, "e"), pooled_error(rows[:2], "e")
    ({'error': 1.0, 'draws': 2}, {})
    """
    rows = list(rows)
    if len({row["dataset"] for row in rows}) < 2:
        return {}
    values, draws, tasks = zip(*[(row[column], row["split"], row["dataset"]) for row in rows], strict=True)
    means = np.asarray(draw_means(pd.Series(values), draws, tasks))
    error = float(means.std(ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    return {"error": error, "draws": len(means)}


def compare(
    rows: Iterable[Row],
    tunings: Iterable[Tuning],
    references: Mapping[str, Sequence[Reference]],
    *,
    column: str = "error_unlabeled",
) -> list[Line]:
    """Apply every protocol to the rows of a sweep and put the published numbers next to the result.

    Parameters
    ----------
    rows : iterable of rows
        Rows in the declared order of the cells.
    tunings : iterable of Tuning
        A line (or several, one per published number) for each.
    references : mapping of str to sequence of Reference
        References by the method of the cells.
    column : str, default "error_unlabeled"
        What is reported.

    Returns
    -------
    list of Line
        Lines by data set, method, protocol. The deviation is that of a sample (n - 1), NaN for a single split.

    Raises
    ------
    ValueError
        If a protocol that chooses by `column` does not call itself optimistic.
    """
    rows, tunings = list(rows), list(tunings)
    for tuning in tunings:
        if tuning.criterion == column and not tuning.optimistic:
            raise InvalidInputError(
                f"{tuning!r} chooses by {column!r}, which is what the table reports, but is not marked optimistic; "
                "report another column or set optimistic = True."
            )
    lines = []
    chosen = {tuning.name: select(rows, tuning) for tuning in tunings}
    for dataset, method in dict.fromkeys((row["dataset"], row["method"]) for row in rows):
        for name, selected in chosen.items():
            errors = [row[column] for row in selected if (row["dataset"], row["method"]) == (dataset, method)]
            known = [(reference, reference.find(dataset)) for reference in references.get(method, ())]
            sources: list[tuple[float, float, str, str]] = [
                (*numbers[:2], f"{reference.paper} table {reference.table} {reference.method}", numbers[2])
                for reference, numbers in known
                if numbers is not None
            ]
            lines += [
                Line(dataset, method, name, *mean_and_deviation(errors), mean, std, source, note)
                for mean, std, source, note in sources or [(math.nan, math.nan, "", "nothing published")]
            ]
    return lines
