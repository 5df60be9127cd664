"""Blocks: shared cells once, lines by method, a section for each title, stand-ins for missing data."""

import math
from dataclasses import dataclass, replace

from reproduction import blocks
from reproduction.blocks import Block, Blocks, Published, available_blocks, grouped
from reproduction.engine.published import published as published_numbers
from reproduction.run import measured


@dataclass(frozen=True)
class Toy(Block):
    experiment = "toy"
    source = "made"

    def splits(self, task, data):
        return ("s0", "s1", "s2")

    def parameters(self, method):
        return {}

    def published(self, method, values):
        return Published(1.25, source="p", note="") if method == "a" else Published()


ONE = Toy("One", "d", ("d",), ("a", "b"), "x", n_splits=2)


def test_sections_hold_the_lines_of_their_blocks():
    done = []

    def work(cell, *, data):
        done.append(cell.key)
        return {"error_unlabeled": {"a": 1.0, "b": 3.0}[cell.method] + (cell.split == "s1")}

    plan = Blocks([ONE, replace(ONE, title="Two", methods=("b",)), replace(ONE, methods=("a",), tuning="z")])
    rows = {row["key"]: row for row in measured(work)(plan.cells())}
    assert len(done) == len(rows) == 4  # shared cells are computed once
    one, two = plan.sections(rows)
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
    block = replace(ONE, methods=("a",))
    first, second = (cell.key for cell in block.cells())
    rows = {first: {"status": "ok", "method": "a", "dataset": "d", "split": "s0", "other": 2.0}}
    rows[second] = {"status": "failed", "method": "a"}
    (line,) = block.lines(rows, column="other")
    assert (line.mean, line.n_splits) == (2.0, 1)
    assert grouped(rows.values(), lambda row: row["method"]) == {"a": [rows[first]]}


def test_stand_ins_take_the_place_of_missing_data_alone(monkeypatch):
    monkeypatch.setattr(blocks, "is_available", lambda source, data: False)
    there, (note,) = available_blocks([ONE], None, [replace(ONE, title="Digits")], "digits")
    assert [block.title for block in there] == ["Digits"]
    assert "made. In their place: digits;" in note
    monkeypatch.setattr(blocks, "is_available", lambda source, data: True)
    assert available_blocks([ONE], None, [], "digits") == ([ONE], [])


def test_a_published_number_is_that_of_the_only_row():
    rows = published_numbers("continuation_s3vm_2006", "2", method="svm")
    assert math.isnan(Published.only(rows, "p").mean)
    assert Published.only(rows[:1], "p", "n")[::2] == (9.7, "p")
