"""Tables that are made of blocks: settings with a title, methods, and cells of their own.

A block is one setting on one or several tasks; blocks of one title share a section of the report. `Blocks` is the plan
of such a table: cells that two blocks share are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from specmargin.experiments.comparison import mean_and_deviation
from specmargin.experiments.engine.records import Cell, Row
from specmargin.experiments.report import Line, Section

__all__ = ["Block", "Blocks", "Published", "block_lines"]


class Block(Protocol):
    """One setting: `title` of its section, `dataset` and `said` in the columns "dataset" and "tuning"."""

    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def said(self) -> str: ...  # noqa: D102
    @property
    def dataset(self) -> str: ...  # noqa: D102
    @property
    def methods(self) -> tuple[str, ...]: ...  # noqa: D102

    def cells(self, data: Path | None) -> list[Cell]:
        """Return the cells of the setting."""
        ...


class Published(NamedTuple):
    """A published mean and deviation, NaN where there is none; where it is, and what to say of it."""

    mean: float = math.nan
    std: float = math.nan
    source: str = ""
    note: str = "nothing published"


def block_lines(
    block: Any,
    rows: Mapping[str, Row],
    data: Path | None,
    published: Callable[[Any, str, Sequence[float]], Published],
    *,
    column: str = "error_unlabeled",
) -> list[Line]:
    """Return a line per method of a block.

    Parameters
    ----------
    block : Block
        The setting.
    rows : mapping of str to row
        By the key of the cell.
    data : path, optional
        Folder of the data sets.
    published : callable
        Takes block, method and the values of its splits and returns what was published.
    column : str
        What is reported.
    """
    cells, lines = block.cells(data), []
    for method in block.methods:
        values = [row[column] for cell in cells if cell.method == method and (row := rows[cell.key])["status"] == "ok"]
        mean, std, source, note = published(block, method, values)
        lines.append(Line(block.dataset, method, block.said, *mean_and_deviation(values), mean, std, source, note))
    return lines


@dataclass(frozen=True)
class Blocks:
    """The settings of a table, computed in one sweep."""

    blocks: Sequence[Any]

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return the cells of all blocks."""
        return [cell for block in self.blocks for cell in block.cells(data)]

    def sections(self, lines_of: Callable[[Any], list[Line]]) -> list[Section]:
        """Return a section per title from the lines of each block."""
        return [
            Section(title, [line for block in self.blocks if block.title == title for line in lines_of(block)])
            for title in dict.fromkeys(block.title for block in self.blocks)
        ]
