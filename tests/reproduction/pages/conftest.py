"""Records and figures to make pages of: small, and of tables and figures that there are."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from reproduction import Experiment, Findings, Line, Section, Setup, papers, run_experiment
from reproduction.engine.records import Cell
from reproduction.engine.significance import significance_marks
from reproduction.engine.sweep import SweepInterruptedError
from reproduction.report import MarkedRow, MarkedSection

LINES = [
    Line("g50c", "svm", "folds", 9.5, 1.25, 10, 9.33, 2.0, "paper table 4", "other <protocol>"),
    Line("g50c", "lapsvm", "folds", 5.55, 0.75, 10, 12.17, math.nan, "paper table 4"),
    Line("us & pst", "svm", "folds", 23.17, math.nan, 10),
]
MARKS = significance_marks({"STOAM": {"s0": 9.0, "s1": 10.0}, "STORM": {"s0": 8.0, "s1": 10.5}})
REMARKS = (
    "The paper's claims by these numbers, D - W (reproduced: in 90 % or more; partly: in half or more):",
    "reproduced: the graph <helps>. Lower error in 9 of 10 pairs.",
    "partly reproduced: it is fast. In 5 of 10.",
    "not reproduced: it is best. In 0 of 10.",
    "ties: 3.",
)


def work(cell, *, data=None):
    if cell.parameters["k"] == 99:
        raise KeyboardInterrupt
    return {"error_test": 10.0 / (1 + cell.parameters["k"]), "relative_gap": 1e-9}


def experiment(name: str, ks=(0, 1), *, marked: bool = False, remarks=REMARKS, worker=work) -> Experiment:
    """Return a table of that name, of a few cells and of the lines above."""
    cells = [Cell(name, "svm", "g50c", f"s{k}", {"k": k}) for k in ks]

    class Plan:
        @staticmethod
        def cells(data):
            return cells

    def report(rows, plan, options):
        sections = [Section("Table 4, error on U", LINES)]
        if marked:
            sections = [MarkedSection([MarkedRow("3-8", 20, MARKS)], ["STOAM", "STORM", "KTA"], "folds")]
        return Findings(sections, ["OPTIMISTIC: <so>."], remarks)

    return replace(
        papers.tables()[name], setup=lambda options: Setup(Plan, {}), work=worker, report=report, measure=_rows_of
    )


def _rows_of(plan, sweep, data):
    return sweep(plan.cells(data))


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return what records a table; the tables that it was given are those that are known."""
    known = dict(papers.tables())
    monkeypatch.setattr(papers, "tables", lambda: known)

    def record(name: str, ks=(0, 1), **options):
        quick, choices = options.pop("quick", False), options.pop("choices", None)
        made = experiment(name, ks, **options)
        known[name] = replace(made, work=work)
        try:
            run_experiment(made, out=tmp_path / "run", progress=False, record=True, quick=quick, choices=choices)
        except SweepInterruptedError:
            assert 99 in ks
        return tmp_path / "run" / "recorded"

    return record


SVG = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="400pt" height="10pt"><path d="{}"/></svg>'


@pytest.fixture
def drawn(tmp_path):
    """Return what leaves a figure in a folder, as `run_figures` does."""
    folder = tmp_path / "figures"
    folder.mkdir()

    def draw(name: str, *, size="standard", results=None, svg="M0 0", png=b"\x89PNG"):
        (folder / f"{name}.svg").write_text(SVG.format(svg))
        (folder / f"{name}.png").write_bytes(png)
        sidecar = {
            "name": name,
            "caption": f"The <figure> {name}.",
            "description": 'After "figure 1". See `sm.LapSVM`.\n\nA second\nparagraph.',
            "size": size,
            "results": results or {},
            "seconds": {"compute": 3.0},
            "depends": {"seed": 0},
            "provenance": {"utc": "2026-01-02T03:04:05+00:00", "versions": {"numpy": "2.0"}, "git": None},
        }
        (folder / f"{name}.json").write_text(json.dumps(sidecar))
        return folder

    return draw
