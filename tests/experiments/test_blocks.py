"""Blocks: shared cells once, lines by method, a section for each title."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specmargin.experiments import Cell
from specmargin.experiments.blocks import Blocks, Published, block_lines
from specmargin.experiments.run import measured


@dataclass(frozen=True)
class Toy:
    title: str
    said: str
    dataset: str = "d"
    methods: tuple[str, ...] = ("a", "b")

    def cells(self, data=None):
        return [Cell("t", method, self.dataset, split) for split in ("s0", "s1") for method in self.methods]


def test_sections_hold_the_lines_of_their_blocks():
    done = []

    def work(cell, *, data):
        done.append(cell.key)
        return {"error_unlabeled": {"a": 1.0, "b": 3.0}[cell.method] + (cell.split == "s1")}

    plan = Blocks([Toy("One", "x"), Toy("Two", "y", methods=("b",)), Toy("One", "z", methods=("a",))])
    rows = {row["key"]: row for row in measured(work)(plan.cells())}
    assert len(done) == len(rows) == 4  # shared cells are computed once

    def published(block, method, values):
        return Published(1.25, source="p", note="") if method == "a" else Published()

    one, two = plan.sections(lambda block: block_lines(block, rows, None, published))
    assert (one.title, two.title) == ("One", "Two")
    assert [(line.method, line.tuning, line.mean, line.n_splits) for line in one.lines] == [
        ("a", "x", 1.5, 2),
        ("b", "x", 3.5, 2),
        ("a", "z", 1.5, 2),
    ]
    assert (one.lines[0].published_mean, one.lines[0].source, one.lines[0].note) == (1.25, "p", "")
    assert math.isnan(two.lines[0].published_mean)
    assert two.lines[0].note == "nothing published"


def test_failed_cells_take_no_part():
    block = Toy("One", "x", methods=("a",))
    first, second = block.cells()
    rows = {first.key: {"status": "ok", "error_unlabeled": 2.0}, second.key: {"status": "failed"}}
    (line,) = block_lines(block, rows, None, lambda *_: Published())
    assert (line.mean, line.n_splits) == (2.0, 1)
