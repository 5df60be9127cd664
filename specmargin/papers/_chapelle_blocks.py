"""The blocks of the experiments of semi-supervised SVMs: settings, the cells they stand for, and the cells' function.

`setup` makes a table's plan of them, `sections` its body, and `measure` computes blocks without a folder.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from specmargin.experiments.blocks import Blocks, Published, block_lines
from specmargin.experiments.engine.records import Cell, Row
from specmargin.experiments.report import Section
from specmargin.experiments.run import Setup, measured
from specmargin.experiments.tasks import checksums, is_available, labels_of, missing_data, samples, splits
from specmargin.papers._chapelle_directions import DIRECTION
from specmargin.papers._chapelle_directions import row as along_direction
from specmargin.papers._chapelle_tasks import BUNDLED, N_SPLITS, Representation, features, source_of, task_named
from specmargin.papers._s3vm_methods import Setting, decide, fit
from specmargin.typing import FloatArray, IntArray

__all__ = ["Block", "Printed", "available_blocks", "measure", "sections", "seconds", "setup", "work"]


Printed: TypeAlias = Callable[["Block", str], Published]
"""Takes a block and a method and returns what was published."""


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
        Of `_chapelle_tasks` and `_s3vm_methods`.
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
        The first ones only.
    experiment : str
        Name of the experiment in the cells.
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
    experiment: str = "continuation_s3vm"

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per task, split and method; those of one task follow one another."""
        parameters = {
            "representation": asdict(self.representation),
            "C": self.C,
            "C_star": self.C_star,
            **{name: getattr(self, name) for name in ("exact", "shifted", "sharpness")},
        }
        return [
            Cell(self.experiment, method, task, split, parameters)
            for task in self.tasks
            for split in list(splits(task_named(task), data))[: self.n_splits]
            for method in self.methods
        ]


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit the method of a cell on its split.

    Returns
    -------
    dict
        ``error_unlabeled`` in percent, and ``error_unshifted`` where decisions are shifted; ``objective``, the common
        one; ``stationarity`` and ``ended`` of the solver, its ``iterations``, ``fit_seconds``, and ``features``, their
        number; of an SVM the ``relative_gap``. Of `_chapelle_directions.DIRECTION` what that module's ``row`` says.
    """
    p = cell.parameters
    X = features(cell.dataset, Representation(**p["representation"]), data)
    task = task_named(cell.dataset)
    y, split = samples(task, data).y, splits(task, data)[cell.split]
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


def available_blocks(wanted: list[Block], bundled: list[Block], data: Path | None) -> tuple[list[Block], list[str]]:
    """Return the blocks whose sets are there, or the bundled ones, and what to say of the others."""
    lost = [source for source in sorted(_sources(wanted)) if not is_available(source, data)]
    found = [block for block in wanted if source_of(block.tasks[0]) not in lost]
    if found:
        return found, missing_data(lost)
    return bundled, missing_data(lost, f"pairs of scikit-learn's {BUNDLED}, for which nothing is published")


def setup(found: Sequence[Block], header: Sequence[str], data: Path | None) -> Setup:
    """Return the setup of a table of blocks."""
    return Setup(Blocks(found), checksums(_sources(found), data), header)


def sections(rows: Mapping[str, Row], plan: Blocks, printed: Printed, data: Path | None) -> list[Section]:
    """Return a section per title, from the rows by key."""
    return plan.sections(lambda block: block_lines(block, rows, data, lambda b, method, _: printed(b, method)))


def measure(blocks: Sequence[Block], data: Path | None = None) -> dict[str, Row]:
    """Compute the cells of all blocks one after the other, without a folder, and return rows by key."""
    return {row["key"]: row for row in measured(work, data)(Blocks(blocks).cells(data))}


def _sources(found: Iterable[Block]) -> set[str]:
    return {source_of(task) for block in found for task in block.tasks}
