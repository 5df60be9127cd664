"""What the primal-LapSVM paper concludes from its own columns, put to ours: tables 3 to 11, LapSVM, LapRLS, PCG.

The conclusions stand in ``table_claims.toml``; `sentences` has the frames that they are judged by, whose rows are the
splits of the tasks. Errors are compared at the gammas that V chose for each method; iterations and seconds are those of
fits that were made alone. What a rule loses, or gains, by its own gammas is seen next to the fits at Newton's, of which
one split has all rules.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.engine.published import published_sizes
from reproduction.engine.records import Row
from reproduction.judging import TABLE_CLAIMS, judge, reach, slope, wide_frame
from reproduction.papers._protocols.melacci_belkin_fits import PAPER, RULES, Setting

NEWTON = "lapsvm_newton"
COLUMNS = {"U": "error_unlabeled", "T": "error_test"}
_MANY_CLASSES = ("coil20", "uspst")


def sentences(grid: Sequence[Row], timed: Sequence[Row], chosen: Mapping[tuple[str, str], Setting]) -> list[str]:
    """Return one sentence per conclusion, verdict first, of those that the rows allow.

    Parameters
    ----------
    grid, timed : sequence of rows
        Fits of the whole grid, and those that were made alone.
    chosen : mapping
        The setting that V chose, by task and method.
    """
    own = [row for row in grid if row["setting"] == chosen.get((row["dataset"], row["method"]))]
    counted = [{**row, "count": statistics.fmean(row["iterations"])} for row in timed]
    alone = [row for row in counted if row["setting"] == chosen.get((row["dataset"], row["method"]))]
    at_newton = [row for row in counted if row["setting"] == chosen.get((row["dataset"], NEWTON))]
    own_wide = wide_frame(own, {**COLUMNS, "L": "error_labeled"})
    alone_wide = wide_frame(alone, {**COLUMNS, "count": "count", "seconds": "seconds"})
    newton_wide = wide_frame(at_newton, {**COLUMNS, "count": "count"})
    if len(alone_wide):
        alone_wide["samples"] = np.array([samples_of(task) for task, _ in alone_wide.index], dtype=float)
    frames = {
        "errors": own_wide,
        "alone": alone_wide,
        "at Newton's gammas": newton_wide,
        "sizes": _sizes(alone_wide),
        "gaps": _gaps(newton_wide),
        "mixed rule": _mixed(at_newton),
        "gammas": _gammas(chosen),
        "gains": _gains(alone_wide, newton_wide, chosen),
    }
    judged = judge(TABLE_CLAIMS[PAPER], frames)
    return ["What the paper concludes from its own columns, by ours:", *judged] if judged else []


def samples_of(task: str) -> int | None:
    """Return how many samples a classifier is trained on, those of L and U; None for a task that is not the paper's."""
    sizes = published_sizes(PAPER, "2")
    of_task = sizes[sizes["dataset"] == task].set_index("quantity")["value"]
    return int(of_task["n_labeled"]) + int(of_task["n_unlabeled"]) if len(of_task) else None


def _sizes(alone: pd.DataFrame) -> pd.DataFrame:
    """Table 3: the slope of the best ratio to Newton's seconds over the samples, on each split.

    A session moves both times of a ratio, and so twice what it moves of one.
    """
    columns = [f"seconds_{method}" for method in (NEWTON, *RULES)]
    if not {*columns} <= {*alone}:
        return pd.DataFrame()
    best = alone[columns[0]] / alone[columns[1:]].min(axis=1)
    frame = pd.DataFrame({"best": best, "samples": alone["samples"]}).dropna().reset_index()
    # One classifier each: with one against the rest the classes count as well.
    frame["kind"] = frame["dataset"].isin(_MANY_CLASSES).map({True: "one against the rest", False: "two classes"})
    keys = ("kind", "split", "slope", "reach")
    groups: Any = frame.groupby(["kind", "split"], sort=False)
    found = [
        (*key, slope(each["samples"], each["best"]), 2.0 * reach(*each["samples"]))
        for key, each in groups
        if each["samples"].nunique() > 1
    ]
    return pd.DataFrame(found, columns=keys)


def _gaps(at_newton: pd.DataFrame) -> pd.DataFrame:
    """Section 6.4: what early stopping errs more than the optimum of the same gammas, a column for each task."""
    if not {f"{part}_{rule}" for part in COLUMNS for rule in (NEWTON, *RULES)} <= {*at_newton}:
        return pd.DataFrame()
    gaps = pd.concat(
        [at_newton[f"{part}_{rule}"] - at_newton[f"{part}_{NEWTON}"] for part in COLUMNS for rule in RULES], axis=1
    )
    return gaps.mean(axis=1, skipna=False).unstack("dataset")


def _mixed(at_newton: Sequence[Row]) -> pd.DataFrame:
    """Table 6: where the mixed rule stops, and the stricter of the other two."""
    columns = ["dataset", "split", "method", "iterations"]
    runs: Any = pd.DataFrame([row for row in at_newton if row["method"] in RULES], columns=columns)
    runs = runs.pivot(index=columns[:2], columns="method", values="iterations").reindex(columns=RULES).dropna()
    return pd.DataFrame(
        [
            {"dataset": task, "split": split, "mixed": mixed, "stricter": max(first, second)}
            for (task, split), *run in runs.itertuples()
            for first, second, mixed in zip(*run, strict=True)
        ]
    )


def _moved(chosen: Mapping[tuple[str, str], Setting]) -> dict[tuple[str, str], tuple[Setting, Setting]]:
    """Return the gammas of each task and rule, and Newton's there."""
    return {
        (task, rule): (setting, chosen[task, NEWTON])
        for (task, rule), setting in chosen.items()
        if rule in RULES and (task, NEWTON) in chosen
    }


def _gammas(chosen: Mapping[tuple[str, str], Setting]) -> pd.DataFrame:
    """Tables 8 and 9: the gammas of each rule, a task a draw."""
    return pd.DataFrame(
        [
            {"dataset": rule, "split": task, "same": a == b, "larger": any(x > y for x, y in zip(a, b, strict=True))}
            for (task, rule), (a, b) in _moved(chosen).items()
        ]
    )


def _gains(alone: pd.DataFrame, at_newton: pd.DataFrame, chosen: Mapping[tuple[str, str], Setting]) -> pd.DataFrame:
    """Tables 10 and 11: what the gammas of a rule gain over Newton's where they differ, a task a draw."""
    mine, theirs = (frame.groupby("dataset").mean() if len(frame) else frame for frame in (alone, at_newton))
    rows = []
    for (task, rule), (a, b) in _moved(chosen).items():
        names = {name: f"{name}_{rule}" for name in ("count", *COLUMNS)}
        if a != b and all(task in frame.index and {*names.values()} <= {*frame} for frame in (mine, theirs)):
            gains = (theirs - mine).loc[task]
            rows.append({"dataset": rule, "split": task, **{name: gains[column] for name, column in names.items()}})
    return pd.DataFrame(rows)
