"""Blocks without a folder: each cell once, the rows those of `work`."""

from __future__ import annotations

from dataclasses import replace

from specmargin.papers import _chapelle_blocks as s3vm_blocks
from specmargin.papers._chapelle_blocks import Block, measure, work
from specmargin.papers._chapelle_tasks import Representation


def test_measure_computes_shared_cells_once(monkeypatch):
    block = Block("t", "digits", ("digits 3-8",), ("svm", "cs3vm"), Representation(20.0), n_splits=1)
    done = []

    def counted(cell, *, data):
        done.append(cell.key)
        return work(cell, data=data)

    monkeypatch.setattr(s3vm_blocks, "work", counted)
    rows = measure([block, replace(block, title="again", methods=("cs3vm",))])
    cells = block.cells()
    assert done == list(rows) == [cell.key for cell in cells]
    for cell in cells:
        row, found = rows[cell.key], work(cell)
        assert (row["status"], row["method"]) == ("ok", cell.method)
        assert (row["error_unlabeled"], row["objective"]) == (found["error_unlabeled"], found["objective"])
