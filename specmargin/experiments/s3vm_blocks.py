"""Blocks: settings of an experiment of semi-supervised SVMs, the cells they stand for, and a section for each title.

`run_blocks` computes the cells of all blocks in one sweep, `measure` without a folder; cells that two blocks share are
computed once. `work` is the function of a cell.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from specmargin.datasets import load
from specmargin.experiments.engine.provenance import collect
from specmargin.experiments.engine.records import Cell, Row, make_row
from specmargin.experiments.engine.sweep import run_sweep
from specmargin.experiments.s3vm_directions import DIRECTION
from specmargin.experiments.s3vm_directions import row as along_direction
from specmargin.experiments.s3vm_methods import Setting, decide, fit
from specmargin.experiments.s3vm_tasks import (
    BUNDLED,
    N_SPLITS,
    Representation,
    features,
    labels_of,
    missing,
    samples,
    source_of,
    splits,
)
from specmargin.experiments.table_report import Line, TableReport
from specmargin.experiments.tables import TableOptions
from specmargin.typing import FloatArray, IntArray

__all__ = ["Block", "Printed", "at_hand", "measure", "run_blocks", "seconds", "work"]


@dataclass(frozen=True)
class Block:
    """One setting of an experiment, on one task or on all pairs of a set.

    Parameters
    ----------
    title : str
        Of its section; blocks of one title share a section.
    dataset : str
        What the published tables call the tasks together.
    tasks, methods : sequence of str
        Of `s3vm_tasks` and `s3vm_methods`.
    representation : Representation
        Kernel, rank, graph.
    C, C_star : float
        Weights.
    table, note : str
        Where the published number is, and what its note begins with; an empty table: nothing is published.
    said : str
        What the setting is, for the column "tuning".
    exact : bool, default False
        Whether the class ratio is that of the hidden labels, which is optimistic, or that of the labelled ones.
    shifted : bool, default False
        Whether decisions are shifted until the share of positive ones is the class ratio's.
    sharpness : float, default 3
        s of exp(-s f^2).
    n_splits : int, default 10
        The first so many.
    """

    title: str
    dataset: str
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    representation: Representation
    C: float = 100.0
    C_star: float = 100.0
    table: str = ""
    note: str = ""
    said: str = "fixed"
    exact: bool = False
    shifted: bool = False
    sharpness: float = 3.0
    n_splits: int = N_SPLITS

    def cells(self, experiment: str, data: Path | None) -> list[Cell]:
        """Return a cell per task, split and method; those of one task follow one another."""
        parameters = {
            "representation": asdict(self.representation),
            "C": self.C,
            "C_star": self.C_star,
            **{name: getattr(self, name) for name in ("exact", "shifted", "sharpness")},
        }
        return [
            Cell(experiment, method, task, split, parameters)
            for task in self.tasks
            for split in list(splits(task, data))[: self.n_splits]
            for method in self.methods
        ]


Printed: TypeAlias = Callable[[Block, str], tuple[float, str, str]]
"""Takes a block and a method; returns the published error or NaN, where it is, and what to say of it."""


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit the method of a cell on its split.

    Returns
    -------
    dict
        ``error_unlabeled`` in percent, and ``error_unshifted`` where decisions are shifted; ``objective``, the common
        one; ``stationarity`` and ``ended`` of the solver, its ``iterations``, ``fit_seconds``, and ``features``, their
        number; of an SVM the ``relative_gap``. Of `s3vm_directions.DIRECTION` what that module's ``row`` says.
    """
    p = cell.parameters
    X = features(cell.dataset, Representation(**p["representation"]), data)
    _, y = samples(cell.dataset, data)
    split = splits(cell.dataset, data)[cell.split]
    labels, hidden = labels_of(y, split.labeled), split.unlabeled
    shares = _shares(y[hidden] if p["exact"] else y[split.labeled], int(y.max()) + 1)
    balance = tuple(2.0 * shares - 1.0) if p["exact"] else None
    setting = Setting(p["C"], p["C_star"], balance, p["sharpness"])
    if cell.method == DIRECTION:
        f, row = along_direction(X, labels, setting)
        return {**row, "error_unlabeled": _error((f[hidden] > 0).astype(np.intp), y[hidden])}
    found = fit(cell.method, X, labels, setting)
    error = _error(decide(found.f[hidden]), y[hidden])
    row = {
        "error_unlabeled": _error(decide(found.f[hidden], shares), y[hidden]) if p["shifted"] else error,
        "objective": found.objective,
        "stationarity": found.stationarity,
        "ended": found.ended,
        "iterations": found.iterations,
        "fit_seconds": found.seconds,
        "features": int(X.shape[1]),
    }
    if p["shifted"]:
        row["error_unshifted"] = error
    return row if found.relative_gap is None else {**row, "relative_gap": found.relative_gap}


def _shares(y: IntArray, n_classes: int) -> FloatArray:
    """Return the share of each class in y, of two classes that of the second alone."""
    shares = np.bincount(y, minlength=n_classes) / len(y)
    return shares[1:] if n_classes == 2 else shares


def _error(decided: IntArray, y: IntArray) -> float:
    return 100.0 * float(np.mean(decided != y))


def _section(
    found: Iterable[Block], rows: Mapping[str, Row], experiment: str, data: Path | None, printed: Printed
) -> list[Line]:
    lines = []
    for block in found:
        cells = block.cells(experiment, data)
        for method in block.methods:
            mine = [rows[cell.key] for cell in cells if cell.method == method]
            errors = [row["error_unlabeled"] for row in mine if row["status"] == "ok"]
            value, source, note = printed(block, method)
            lines.append(
                Line(
                    block.dataset,
                    method,
                    block.said,
                    statistics.fmean(errors) if errors else math.nan,
                    statistics.stdev(errors) if len(errors) > 1 else math.nan,
                    len(errors),
                    value,
                    source=source,
                    note=note,
                )
            )
    return lines


def seconds(rows: Iterable[Row]) -> list[str]:
    """Say how long the fits of each method took, by set, and how nearly stationary the worst one was."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["status"] == "ok":
            found.setdefault((source_of(row["dataset"]), row["method"]), []).append(row)
    return [
        f"{source} {method}: {statistics.fmean(row['fit_seconds'] for row in mine):.3f} s a fit, mean of {len(mine)}; "
        f"stationarity {max(row['stationarity'] for row in mine):.0e} or better; "
        f"{sum(row['ended'] not in ('stationary', 'optimal') for row in mine)} cut off"
        for (source, method), mine in found.items()
    ]


def at_hand(wanted: list[Block], bundled: list[Block], data: Path | None) -> tuple[list[Block], list[str]]:
    """Return the blocks whose sets are there, or the bundled ones, and what to say of the others."""
    sources = sorted({source_of(task) for block in wanted for task in block.tasks})
    lost = missing(sources, data)
    found = [block for block in wanted if source_of(block.tasks[0]) not in lost]
    where = "name their folder by --data or SPECMARGIN_DATA"
    if not lost:
        return found, []
    if found:
        return found, [f"NOT AT HAND: {', '.join(lost)}; {where}."]
    return bundled, [
        f"NOT AT HAND: {', '.join(lost)}. In their place: pairs of scikit-learn's {BUNDLED}, for which nothing is "
        f"published; {where}."
    ]


def run_blocks(
    experiment: str, found: Sequence[Block], options: TableOptions, printed: Printed
) -> tuple[list[TableReport], dict[str, Row]]:
    """Run the cells of all blocks in one sweep, and return a section per title and the rows by key."""
    data = {s: load(s, data_home=options.data, download=False).sha256 for s in sorted(_sources(found))}
    rows = run_sweep(
        [cell for block in found for cell in block.cells(experiment, options.data)],
        partial(work, data=options.data),
        provenance=collect(data=data, solver="numpy"),
        **options.of_sweep(),
    )
    by_key = {row["key"]: row for row in rows}
    report = [
        TableReport(
            "", title, _section([b for b in found if b.title == title], by_key, experiment, options.data, printed)
        )
        for title in dict.fromkeys(block.title for block in found)
    ]
    return report, by_key


def measure(experiment: str, found: Iterable[Block], data: Path | None = None) -> dict[str, Row]:
    """Compute the cells of all blocks one after the other, without a folder: for the figures.

    Parameters
    ----------
    experiment : str
        Name of the experiment in the cells.
    found : iterable of Block
        Settings; a cell that two of them share is computed once.
    data : Path, optional
        Data folder; default ``$SPECMARGIN_DATA``.

    Returns
    -------
    dict
        Rows by the key of their cell.
    """
    cells = {cell.key: cell for block in found for cell in block.cells(experiment, data)}
    return {key: make_row(cell, {"status": "ok", **work(cell, data=data)}) for key, cell in cells.items()}


def _sources(found: Iterable[Block]) -> set[str]:
    return {source_of(task) for block in found for task in block.tasks}
