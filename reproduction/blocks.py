"""Tables that are made of blocks: settings with a title, tasks, methods, and cells of their own.

A block is one setting on one or several tasks; blocks of one title share a section of the report. The blocks of a paper
inherit from `Block` and say which splits and parameters their cells have, and what was published. `Blocks` is the plan
of such a table: cells that two blocks share are computed once. `available_blocks` leaves out those without data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from reproduction.comparison import mean_and_deviation, pooled_error
from reproduction.engine.records import Cell, Row
from reproduction.report import Line, Section
from reproduction.run import Setup
from reproduction.tasks import is_available, missing_data


class Published(NamedTuple):
    """A published mean and deviation, NaN where there is none; where it is, and a note on it."""

    mean: float = math.nan
    std: float = math.nan
    source: str = ""
    note: str = "nothing published"

    @classmethod
    def only(cls, rows: Any, source: str, note: str = "") -> Published:
        """Return the number of a table of `published` that has one row; otherwise nothing is published."""
        return cls(float(rows["mean"].iloc[0]), float(rows["std"].iloc[0]), source, note) if len(rows) == 1 else cls()


@dataclass(frozen=True)
class Block:
    """One setting of a table.

    Parameters
    ----------
    title : str
        Title of its section; blocks of one title share a section.
    dataset : str
        What the published tables call the tasks together.
    tasks, methods : tuple of str
        What is computed.
    tuning : str, default "fixed"
        Name of the setting, for the column "tuning".
    n_splits : int, default 10
        The first ones only.
    """

    experiment: ClassVar[str]

    title: str
    dataset: str
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    tuning: str = "fixed"
    n_splits: int = 10

    @property
    def source(self) -> str:
        """The data set that is loaded, empty for a generated one."""
        raise NotImplementedError

    @property
    def source_name(self) -> str:
        """What a report of missing data calls it."""
        return self.source

    def splits(self, task: str, data: Path | None) -> Iterable[str]:
        """Return the names of the splits of a task."""
        raise NotImplementedError

    def parameters(self, method: str) -> dict[str, Any]:
        """Return the parameters of a method's cells."""
        raise NotImplementedError

    @property
    def column(self) -> str:
        """What is reported."""
        return "error_unlabeled"

    def published(self, method: str, values: Sequence[float]) -> Published:
        """Return what was published of a method; `values` are those of our splits."""
        raise NotImplementedError

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per task, split and method; those of one task follow one another."""
        return [
            Cell(self.experiment, method, task, split, self.parameters(method))
            for task in self.tasks
            for split in list(self.splits(task, data))[: self.n_splits]
            for method in self.methods
        ]

    def rows(self, by_key: Mapping[str, Row], data: Path | None = None) -> list[Row]:
        """Return the rows of its cells, in their order, from rows by the key of the cell."""
        return [by_key[cell.key] for cell in self.cells(data)]

    def lines(self, by_key: Mapping[str, Row], data: Path | None = None, column: str = "") -> list[Line]:
        """Return a line per method with the mean of a column, by default `column`; failed cells take no part."""
        rows = [row for row in self.rows(by_key, data) if row["status"] == "ok"]
        lines = []
        for method in self.methods:
            mine = [row for row in rows if row["method"] == method]
            values = [row[column or self.column] for row in mine]
            mean, std, source, note = self.published(method, values)
            own = mean_and_deviation(values)
            pooled = pooled_error(mine, column or self.column)
            lines.append(Line(self.dataset, method, self.tuning, *own, mean, std, source, note, **pooled))
        return lines


@dataclass(frozen=True)
class Blocks:
    """The settings of a table, computed in one sweep."""

    blocks: Sequence[Any]

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return the cells of all blocks."""
        return [cell for block in self.blocks for cell in block.cells(data)]

    def setup(self, header: Sequence[str]) -> Setup:
        """Return the setup of the table: this plan, its data sets, and lines of the header."""
        return Setup(self, {block.source for block in self.blocks if block.source}, header)

    def sections(self, by_key: Mapping[str, Row], data: Path | None = None) -> list[Section]:
        """Return a section per title with the lines of its blocks."""
        return [
            Section(title, [line for b in self.blocks if b.title == title for line in b.lines(by_key, data)])
            for title in dict.fromkeys(block.title for block in self.blocks)
        ]


def grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Return rows by a key, in the order in which the keys come first; failed ones are left out."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        if row.get("status", "ok") == "ok":
            groups.setdefault(key(row), []).append(row)
    return groups


def available_blocks(
    wanted: Sequence[Any], data: Path | None, stand_ins: Sequence[Any] = (), instead: str = ""
) -> tuple[list[Any], list[str]]:
    """Return the blocks whose data are available, else the stand-ins, and a note on missing data.

    `instead` says what the stand-ins are.
    """
    available = [block for block in wanted if is_available(block.source, data)]
    missing = sorted({block.source_name for block in wanted if block not in available})
    if available:
        return available, missing_data(missing)
    return list(stand_ins), missing_data(missing, instead)
