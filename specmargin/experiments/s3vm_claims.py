"""What the continuation paper and its table say, put to the numbers of our sweep.

`order` and `within` hold mean errors against the printed ones, `objective_and_error` is figure 3 in two sentences,
`wins` figure 4. Each returns text; the arrays that the figures draw come from `paired`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from specmargin.experiments.records import Row
from specmargin.experiments.table_report import Line
from specmargin.typing import FloatArray

__all__ = ["Pairing", "objective_and_error", "order", "paired", "wins", "within"]

_SAME = 1e-3
"""Relative difference of two objectives below which both methods found the same minimum."""


class Pairing(NamedTuple):
    """Two methods on the same runs: errors in percent and common objectives, (runs,) each."""

    first_error: FloatArray
    second_error: FloatArray
    first_objective: FloatArray
    second_objective: FloatArray


def paired(rows: Iterable[Row], first: str, second: str) -> Pairing:
    """Return errors and common objectives of two methods on the runs that both finished.

    Parameters
    ----------
    rows : iterable of rows
        Of one setting: a method occurs once per data set and split.
    first, second : str
        Methods.

    Raises
    ------
    ValueError
        If a method occurs twice on a split.
    """
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row["status"] == "ok" and row["method"] in (first, second):
            run = found.setdefault((row["dataset"], row["split"]), {})
            if row["method"] in run:
                raise ValueError(f"{row['method']} occurs twice on {row['dataset']} {row['split']}; pass one setting.")
            run[row["method"]] = row
    both = [run for run in found.values() if len(run) == 2]
    columns = [[run[name][key] for run in both] for key in ("error_unlabeled", "objective") for name in (first, second)]
    return Pairing(*(np.asarray(column, dtype=float) for column in columns))


def objective_and_error(rows: Iterable[Row], first: str, second: str) -> str:
    """Say whether a lower objective goes with a lower error: figure 3."""
    runs = paired(rows, first, second)
    dJ, de = runs.first_objective - runs.second_objective, runs.first_error - runs.second_error
    scale = np.maximum(np.abs(runs.first_objective), np.abs(runs.second_objective))
    other = np.abs(dJ) > _SAME * scale
    part = int((dJ[other] * de[other] > 0).sum())
    wrong = int((dJ[other] * de[other] < 0).sum())
    text = (
        f"figure 3: {first} and {second} end in the same minimum (common objectives within {_SAME:g}) in "
        f"{int((~other).sum())} of {len(dJ)} runs; {first} is lower in {int((dJ[other] < 0).sum())}, {second} in "
        f"{int((dJ[other] > 0).sum())}. Where they differ the lower objective has the lower error {part} times, the "
        f"higher one {wrong} times"
    )
    if other.sum() > 2 and np.ptp(dJ[other]) > 0 and np.ptp(de[other]) > 0:
        text += f"; correlation of the differences {np.corrcoef(dJ[other], de[other])[0, 1]:.2f}"
    return text + "."


def wins(rows: Iterable[Row], first: str, second: str) -> str:
    """Say how often the first of two methods errs less: figure 4."""
    runs = paired(rows, first, second)
    lower, higher = (int((sign * (runs.first_error - runs.second_error) < 0).sum()) for sign in (1, -1))
    return (
        f"figure 4: {first} errs less than {second} in {lower} of {len(runs.first_error)} runs, more in {higher}, as "
        f"much in {len(runs.first_error) - lower - higher}."
    )


def order(lines: Sequence[Line]) -> str:
    """Say whether methods come in the published order of errors; lines without a published number are left out."""
    held = [line for line in lines if np.isfinite(line.difference)]
    if len(held) < 2:
        return "order: nothing published to hold against."
    ours, theirs = (
        [line.method for line in sorted(held, key=key)]
        for key in (lambda line: line.mean, lambda line: line.published_mean)
    )
    verdict = "reproduced" if ours == theirs else "not reproduced"
    words = f"{verdict}: the order of the methods on {held[0].dataset}: {' < '.join(ours)}"
    return words + ("." if ours == theirs else f"; published {' < '.join(theirs)}.")


def within(line: Line, points: float) -> str:
    """Say whether a mean is no further than so many points from the published one."""
    verdict = "reached" if abs(line.difference) <= points else "missed"
    return (
        f"{verdict}: {line.dataset} {line.method} {line.mean:.2f}, published {line.published_mean:.2f}, within "
        f"{points:g} points."
    )
