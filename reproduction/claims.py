"""What is compared apart from the claims of `reproduction.judging`: Laplacians, and two methods run by run.

`verdict_on` says which of two graph Laplacians is nearer to published errors. `objective_and_error` and `wins` compare
two methods run by run; what figures draw of that comes from `paired`. All of them return text.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reproduction.engine.records import Row
from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray

LAPLACIANS = {False: "D - W", True: "the normalised Laplacian"}
"""By the values of the axis ``normalized``."""

CLOSE = 0.5
"""Points of error within which a number counts as explained."""

_NEARER = 0.5  # of the other's mean distance: from there on one counts as nearer


def verdict_on(
    name: str,
    published: Sequence[float],
    ours: Mapping[bool, Sequence[float]],
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

    Returns
    -------
    str
        A Laplacian explains the numbers if none is further off than `CLOSE`, both may, or neither; in the last case the
        sentence says which is nearer, if its mean distance is at most half of the other's.

    Examples
    --------
    >>> print(verdict_on("isolet", [17.0, 23.9], {False: [19.4, 25.3], True: [17.1, 24.0]}))  # doctest: +ELLIPSIS
    isolet: the normalised Laplacian explains the print. Mean distance (largest): D - W 1.90 (2.40), ...
    """
    distances = {
        normalized: [abs(a - b) for a, b in zip(errors, published, strict=True)] for normalized, errors in ours.items()
    }
    mean = {normalized: statistics.fmean(each) for normalized, each in distances.items()}
    close = [normalized for normalized, each in distances.items() if max(each) <= CLOSE]
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
