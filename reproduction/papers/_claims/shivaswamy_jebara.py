"""The claims of the spectrum paper's experiment, put to the numbers of ours.

The published tables of that paper are not available, only what its text says of them. ``table_claims.toml`` turns that
into quantities over the cells of the table (task and number of labels), `sentences` makes the frames that they are
judged by. Every method is tuned alike, so that [9] is judged with its ratio w chosen as the others' parameters are. The
paper does not say which w it took; w = 1 is judged, too. Who errs least hangs on ranges that the paper leaves open:
`told_wins` shows and judges the readings.
"""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import pandas as pd

from reproduction.engine.records import Row
from reproduction.engine.significance import Entry, Errors, significance_marks
from reproduction.judging import TABLE_CLAIMS, judge, wide_frame
from reproduction.papers._protocols.shivaswamy_jebara_fits import PAPER

_RANKS = {"best": 2, "light": 1, "": 0}
"""Of the marks of a cell."""


def sentences(cells: Sequence[tuple[str, Errors]], methods: Sequence[str]) -> list[str]:
    """Return one sentence per claim, verdict first.

    Parameters
    ----------
    cells : sequence of (task, errors)
        A pair per task and number of labels; the errors by method and split.
    methods : sequence of str
        The columns of the table.
    """
    rows = [errors for _, errors in cells]
    wide = wide_frame(
        [
            {"dataset": k, "split": split, "method": method, "error": error}
            for k, row in enumerate(rows)
            for method, errors in row.items()
            for split, error in errors.items()
        ],
        {"E": "error"},
    )
    ranks = [{name: _RANKS[entry.mark] for name, entry in _of_paper(row).items()} for row in rows]
    marks = pd.DataFrame(ranks, columns=list(PAPER)).rename(columns=lambda name: name.replace("-", "_"))
    tasks = pd.Series([task for task, _ in cells])
    # The cells of a task share its samples, and with more labels the fewer: tasks are the draws.
    frames = {"errors": wide, "marks": marks.assign(split=tasks, dataset=tasks.groupby(tasks).cumcount())}
    judged = judge(TABLE_CLAIMS["spectrum_learning"], frames)
    return ["The paper's claims by these numbers:", *judged, _means(rows, methods)]


def _of_paper(row: Errors) -> Mapping[str, Entry]:
    """Return the marks of a cell among the paper's eight methods."""
    return significance_marks({method: row[method] for method in PAPER if row.get(method)})


def certified(rows: Iterable[Row]) -> list[str]:
    """Say whether all fits of STORM and STOAM are proved to be global optima, from the rows of a sweep."""
    good = pd.DataFrame([row for row in rows if row["status"] == "ok" and row["method"] in ("STOAM", "STORM")])
    return judge(TABLE_CLAIMS["spectrum_learning"], {"fits": good})


FAMILIES = {
    "STORM or STOAM": ("STORM", "STOAM"),
    "SGT": ("SGT",),
    "KTA": ("KTA-S", "KTA-R"),
    "MKL": ("MKL-S", "MKL-R"),
    "[9]": ("Xu",),
}
"""Of the paper's methods, as `wins_by_range` counts them."""


def wins_by_range(rows: Iterable[Row]) -> pd.DataFrame:
    """Count, on the tuning splits, whose mean error is least as the range of SGT's weight of the loss ends earlier.

    The paper names no range. Of a method that has a range of its own the best setting counts; equal means count for
    each. The rows of the tuning phase hold the errors of every setting, so that no fit is made.

    Returns
    -------
    DataFrame
        Columns ``w`` ("tuned" or "1", of [9]), ``end`` (largest weight of SGT), a column for each of `FAMILIES` and
        ``cells``, of how many.
    """
    errors: dict[tuple[str, int], dict[str, list[list[float]]]] = {}
    weights: list[float] = []
    for row in rows:
        if row["status"] == "ok" and row["param_phase"] == "tuning" and row["method"] in (*PAPER, "Xu w=1"):
            cell = errors.setdefault((row["dataset"], row["param_n_labeled"]), {})
            cell.setdefault(row["method"], []).append(json.loads(row["errors"]))
            weights = json.loads(row["param_grid"])["loss_weight"] if row["method"] == "SGT" else weights
    means = [
        {method: [statistics.fmean(each) for each in zip(*draws, strict=True)] for method, draws in cell.items()}
        for cell in errors.values()
        if {*PAPER, "Xu w=1"} <= cell.keys()
    ]
    counts = []
    for (w, xu), end in product((("tuned", "Xu"), ("1", "Xu w=1")), weights):
        within = sum(weight <= end for weight in weights)
        best = [
            {method: min(cell[method]) for method in PAPER} | {"SGT": min(cell["SGT"][:within]), "Xu": min(cell[xu])}
            for cell in means
        ]
        wins = {
            family: sum(min(cell[m] for m in members) <= min(cell.values()) for cell in best)
            for family, members in FAMILIES.items()
        }
        counts.append({"w": w, "end": end, **wins, "cells": len(means)})
    return pd.DataFrame(counts)


def told_wins(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for either w of [9] on how the count of wins moves with the range; nothing without the rows."""
    wins = wins_by_range(rows)
    if wins.empty or not wins["cells"].max():
        return []
    head = (
        "Whose mean error over the tuning splits is least hangs on ranges that the paper does not name, in its "
        f"{wins['cells'].max()} cells with SGT's weight of the loss up to {_listed(wins['end'].unique())}:"
    )
    judged = judge(
        TABLE_CLAIMS["spectrum_learning"], {"ranges": wins.rename(columns=lambda name: name.replace(" ", "_"))}
    )
    return [
        *judged,
        head,
        *(
            f"[9] at w {w}: {'; '.join(f'{family} {_listed(each[family])}' for family in FAMILIES)}."
            for w, each in wins.groupby("w", sort=False)
        ),
    ]


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _means(rows: Sequence[Errors], methods: Sequence[str]) -> str:
    complete = [row for row in rows if all(row.get(method) for method in methods)]
    if not complete:
        return "mean error over all cells: no cell is complete."
    means = {method: statistics.fmean(statistics.fmean(row[method].values()) for row in complete) for method in methods}
    return f"mean error over all cells: {', '.join(f'{method} {mean:.2f}' for method, mean in means.items())}."
