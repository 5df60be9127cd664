"""What papers say, put to our numbers: one vocabulary of verdicts for all tables.

`verdict` turns a share of agreeing cases into "reproduced", "partly reproduced" or "not reproduced", `yes_or_no` a
single fact; `claim` makes a sentence of it. `order` and `within` hold mean errors against published ones, `verdict_on`
says which of two graph Laplacians explains them. `objective_and_error`, `wins` and `significance` compare two methods
run by run; what figures draw of that comes from `paired`. Every function of claims returns text, verdict first.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reproduction.engine.records import Row
from reproduction.engine.significance import Comparison, paired_p_value
from reproduction.report import Line
from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray

__all__ = [
    "CLOSE",
    "LAPLACIANS",
    "RULE",
    "Pairing",
    "claim",
    "comparison_counts",
    "objective_and_error",
    "order",
    "paired",
    "significance",
    "verdict",
    "verdict_on",
    "wins",
    "within",
    "yes_or_no",
]

RULE = "reproduced: in 90 % or more; partly: in half or more"
"""Of `verdict`."""


def verdict(part: int, whole: int) -> str:
    """Return "reproduced", "partly reproduced" or "not reproduced".

    Examples
    --------
    >>> verdict(9, 10), verdict(5, 10), verdict(0, 10)
    ('reproduced', 'partly reproduced', 'not reproduced')
    """
    share = part / whole if whole else 0.0
    return "reproduced" if share >= 0.9 else "partly reproduced" if share >= 0.5 else "not reproduced"


def yes_or_no(holds: bool) -> str:
    """Return "reproduced" or "not reproduced"."""
    return verdict(int(holds), 1)


def claim(text: str, part: int, whole: int, counts: str) -> str:
    """Return the sentence of a claim: verdict, text, and counts, in which ``{part}`` and ``{whole}`` are filled in.

    Examples
    --------
    >>> claim("the graph helps", 9, 10, "Lower error in {part} of {whole} pairs")
    'reproduced: the graph helps. Lower error in 9 of 10 pairs.'
    """
    return f"{verdict(part, whole)}: {text}. {counts.format(part=part, whole=whole)}."


def comparison_counts(result: Comparison, unit: str, *, corrected: bool = False) -> str:
    """Return the counts of a comparison as text; `corrected` adds those of the corrected test."""
    lower, higher = (f"; {n} corrected" * corrected for n in (result.surely_lower, result.surely_higher))
    return (
        f"lower mean error in {result.lower} of {result.rows} {unit} ({result.clearly_lower} significant{lower}), "
        f"higher in {result.higher} ({result.clearly_higher}{higher})"
    )


LAPLACIANS = {False: "D - W", True: "the normalised Laplacian"}
"""By the values of the axis ``normalized``."""

CLOSE = 0.5
"""Points of error within which a number counts as explained."""

_NEARER = 0.5  # of the other's mean distance: from there on one counts as nearer


def verdict_on(
    name: str,
    published: Sequence[float],
    ours: Mapping[bool, Sequence[float]],
    tolerances: Sequence[float] | None = None,
) -> str:
    """Return a sentence on the published errors of a set: which Laplacian explains them.

    Parameters
    ----------
    name : str
        Name of the set and the setting.
    published : sequence of float
        Published errors in percent.
    ours : mapping of bool to sequence of float
        Errors with D - W (False) and with the normalised Laplacian (True), in the same order.
    tolerances : sequence of float, optional
        How far off a number may be that counts as explained; by default `CLOSE` for all.

    Returns
    -------
    str
        A Laplacian explains the numbers if none is further off than its tolerance, both may, or neither; in the last
        case the sentence says which is nearer, if its mean distance is at most half of the other's.

    Examples
    --------
    >>> print(verdict_on("isolet", [17.0, 23.9], {False: [19.4, 25.3], True: [17.1, 24.0]}))  # doctest: +ELLIPSIS
    isolet: the normalised Laplacian explains the print. Mean distance (largest): D - W 1.90 (2.40), ...
    """
    distances = {
        normalized: [abs(a - b) for a, b in zip(errors, published, strict=True)] for normalized, errors in ours.items()
    }
    mean = {normalized: statistics.fmean(each) for normalized, each in distances.items()}
    allowed = [CLOSE] * len(published) if tolerances is None else tolerances
    close = [
        normalized
        for normalized, each in distances.items()
        if all(distance <= most for distance, most in zip(each, allowed, strict=True))
    ]
    near, far = sorted(mean, key=lambda normalized: mean[normalized])
    if len(close) == 1:
        text = f"{LAPLACIANS[close[0]]} explains the print"
    elif close:
        text = "both Laplacians explain the print"
    elif mean[near] <= _NEARER * mean[far]:
        text = f"neither Laplacian explains the print, {LAPLACIANS[near]} is nearer"
    else:
        text = "neither Laplacian explains the print, nor is one clearly nearer"
    counts = ", ".join(f"{each} {mean[key]:.2f} ({max(distances[key]):.2f})" for key, each in LAPLACIANS.items())
    return f"{name}: {text}. Mean distance (largest): {counts}."


_LEVEL = 0.05
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
        Rows of one setting: a method occurs once per data set and split.
    first, second : str
        Methods.

    Raises
    ------
    ValueError
        If a method occurs twice on a split.
    """
    runs = _common_runs(rows, first, second)
    columns = (runs[key, name].to_numpy() for key in ("error_unlabeled", "objective") for name in (first, second))
    return Pairing(*columns)


def _common_runs(rows: Iterable[Row], first: str, second: str) -> pd.DataFrame:
    """Return errors and objectives of both methods by data set and split, where both finished."""
    keys, values = ["dataset", "split", "method"], ["error_unlabeled", "objective"]
    frame = pd.DataFrame([row for row in rows if row["status"] == "ok"], columns=[*keys, *values])
    frame = frame[frame["method"].isin((first, second))]
    for dataset, split, method in frame.loc[frame.duplicated(keys), keys].itertuples(index=False):
        raise InvalidInputError(f"{method} occurs twice on {dataset} {split}; pass one setting.")
    wide: Any = frame.set_index(keys)[values].astype(float).unstack(sort=False)
    wanted = pd.MultiIndex.from_product([values, [first, second]])
    return wide.reindex(columns=wanted).dropna(subset=[(values[0], first), (values[0], second)])


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


def significance(rows: Iterable[Row], first: str, second: str, published: bool | None = None) -> str:
    """Say whether two methods differ at the 5 % level, by paired t-tests.

    Runs of one pair share samples, and pairs share splits: over all runs the test is bolder than it says. So it is made
    three times: over runs, over the means of every task, and over those of every split.

    Parameters
    ----------
    rows : iterable of rows
        Rows of one setting.
    first, second : str
        Methods.
    published : bool, optional
        Whether they do in the paper.
    """
    errors = _common_runs(rows, first, second)["error_unlabeled"]
    runs = errors[first] - errors[second]
    if len(runs) < 2:
        return f"significance: {first} and {second} share fewer than two runs."
    means = (runs.groupby(level=level, sort=False).mean() for level in ("dataset", "split"))
    groups = [each.to_numpy() for each in (runs, *means)]
    p = [paired_p_value(values, np.zeros(len(values))) for values in groups]
    text = (
        f"significance: {first} errs {np.mean(groups[0]):+.2f} points against {second}; p = {p[0]:.2g} over "
        f"{len(groups[0])} runs, {p[1]:.2g} over {len(groups[1])} tasks, {p[2]:.2g} over {len(groups[2])} splits"
    )
    if published is None:
        return text + "."
    same = yes_or_no((p[0] < _LEVEL) == published)
    return f"{same}: {text}; published {'significant' if published else 'not significant'} at 95 %."


def order(lines: Sequence[Line]) -> str:
    """Say whether methods come in the published order of errors; lines without a published number are left out."""
    held = [line for line in lines if np.isfinite(line.difference)]
    if len(held) < 2:
        return "order: nothing published to hold against."
    ours, theirs = (
        [line.method for line in sorted(held, key=key)]
        for key in (lambda line: line.mean, lambda line: line.published_mean)
    )
    text = f"{yes_or_no(ours == theirs)}: the order of the methods on {held[0].dataset}: {' < '.join(ours)}"
    return text + ("." if ours == theirs else f"; published {' < '.join(theirs)}.")


def within(line: Line, points: float) -> str:
    """Say whether a mean is at most a number of points away from the published one."""
    reached = "reached" if abs(line.difference) <= points else "missed"
    return (
        f"{reached}: {line.dataset} {line.method} {line.mean:.2f}, published {line.published_mean:.2f}, within "
        f"{points:g} points."
    )
