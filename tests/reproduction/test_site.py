"""Pages of records and figures: claims, tables, provenance, and what is damaged or missing."""

import gzip
import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from reproduction import papers, site
from reproduction.engine.records import Cell
from reproduction.engine.significance import significance_marks
from reproduction.engine.sweep import SweepInterruptedError
from reproduction.report import Line, MarkedRow, MarkedSection, Section
from reproduction.run import Experiment, Findings, Setup, run_experiment

LINES = [
    Line("g50c", "svm", "folds", 9.5, 1.25, 10, 9.33, 2.0, "paper table 4", "other <protocol>"),
    Line("g50c", "lapsvm", "folds", 5.55, 0.75, 10, 12.17, math.nan, "paper table 4"),
    Line("us & pst", "svm", "folds", 23.17, math.nan, 10),
]
MARKS = significance_marks({"STOAM": {"s0": 9.0, "s1": 10.0}, "STORM": {"s0": 8.0, "s1": 10.5}})
REMARKS = (
    "By these numbers, D - W:",
    "agrees: the graph <helps>. Gain in points, at least 0: 2.00 [1.00, 3.00]; 10 draws.",
    "inconclusive: it is fast. Ratio, at least 2: 2.00 [1.00, 3.00]; 10 draws.",
    "differs: it is best. Gain in points, at least 0: -2.00 [-3.00, -1.00]; 10 draws.",
    "By these numbers, another Laplacian:",
    "differs: the graph <helps>. Gain in points, at least 0: -5.00; 10 draws.",
    "ties: 3.",
)


def work(cell, *, data=None):
    if cell.parameters["k"] == 99:
        raise KeyboardInterrupt
    return {"error_test": 10.0 / (1 + cell.parameters["k"]), "relative_gap": 1e-9}


def experiment(name: str, ks=(0, 1), *, marked: bool = False, remarks=REMARKS) -> Experiment:
    """Return a table of that name, of a few cells and of the lines above."""
    cells = [Cell(name, "svm", "g50c", f"s{k}", {"k": k}) for k in ks]

    def report(rows, plan, options):
        sections = [Section("Table 4, error on U", LINES)]
        if marked:
            sections = [MarkedSection([MarkedRow("3-8", 20, MARKS)], ["STOAM", "STORM", "KTA"], "folds")]
        return Findings(sections, ["OPTIMISTIC: <so>."], remarks)

    plan = SimpleNamespace(cells=lambda data: cells)
    given = {"setup": lambda options: Setup(plan, ()), "work": work, "report": report, "measure": Experiment.measure}
    return replace(papers.tables()[name], protocol=(), **given)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return what records a table; the tables that it was given are those that are known."""
    known = dict(papers.tables())
    monkeypatch.setattr(papers, "tables", lambda: known)

    def record(name: str, ks=(0, 1), **options):
        quick, choices = options.pop("quick", False), options.pop("choices", None)
        made = known[name] = experiment(name, ks, **options)
        try:
            run_experiment(made, out=tmp_path / "run", progress=False, record=True, quick=quick, choices=choices)
        except SweepInterruptedError:
            assert 99 in ks
        return tmp_path / "run" / "recorded"

    return record


@pytest.fixture
def drawn(tmp_path):
    """Return what leaves a figure in a folder, as `run_figures` does."""
    folder = tmp_path / "figures"
    folder.mkdir()

    def draw(name: str, results=None):
        (folder / f"{name}.png").write_bytes(PNG)
        run = {"utc": "2026-01-02T03:04:05+00:00", "versions": {"numpy": "2.0"}, "git": None}
        sidecar = {"name": name, "caption": "A caption.", "results": results or {}, "provenance": run}
        (folder / f"{name}.json").write_text(json.dumps(sidecar))
        return folder

    return draw


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082"
)


def test_claims_come_first_and_link_to_their_tables(results, drawn, tmp_path):
    results("lapsvm_svm")
    folder = results("spectrum_learning", marked=True)
    sentences = ["agrees: it is fast. Ratio, at least 2: 9.", "agrees: the order helps. Gain, at least 0: 1."]
    figures = drawn("spectra", {"claims": sentences})
    texts, problems = site.record_pages(folder, figures)
    assert problems == []
    assert list(texts) == ["index", "lapsvm_svm", "spectrum_learning"]
    index = texts["index"]
    # What came out is the first sentence.
    first = "Of 6 claims that recorded tables judge: 2 agree, 2 differ, 2 inconclusive, 0 not judged."
    assert index.splitlines()[2].startswith(first)
    table = "table [spectrum\\_learning](spectrum_learning.md)"
    gain = "Gain in points, at least 0: 2.00 \\[1.00, 3.00\\]; 10 draws."
    assert f"- [agrees]{{.agrees}} **the graph \\<helps>.** {gain} ({table}, By these numbers, D - W)\n" in index
    assert "- [inconclusive]{.inconclusive} **it is fast.** Ratio" in index
    # Another setting, and a figure, stand below the claim and count for nothing.
    below = f"  - {table}, By these numbers, another Laplacian: [differs]{{.differs}} Gain in points, at least 0: -5.00"
    assert below in index
    assert (
        "  - figure [spectra](../gallery/spectra.md), standard size: [agrees]{.agrees} Ratio, at least 2: 9." in index
    )
    assert index.count("**the graph") == 2
    alone = index.partition("### Judged by figures")[2]
    assert "**the order helps.** Gain, at least 0: 1." in alone
    assert "[doi:10.1145/1143844.1143868]" not in index  # nothing is judged of that paper
    numbers = "2 published errors: 1 agrees, 1 differs, 0 inconclusive, 0 not judged, by table [lapsvm\\_svm]"
    assert f"- {numbers}" in index
    assert "| [lapsvm\\_svm](lapsvm_svm.md) | 1 / 2 / 1 / 0 | 2 | 0.00 |" in index
    for name in set(papers.tables()) - {"lapsvm_svm", "spectrum_learning"}:
        assert f"| not recorded | | | `python -m reproduction tables {name} --record` |" in index


def test_a_table_says_where_it_comes_from(results, monkeypatch):
    monkeypatch.setattr(site, "since_commit", lambda commit: "the code has changed since then, in 3 files")
    folder = results("lapsvm_svm")
    table = json.loads((folder / "lapsvm_svm" / "table.json").read_text())
    for run in table["runs"].values():
        run |= {"git": {"commit": "a" * 40, "dirty": False}, "data": {"g50c": "0"}, "utc": "2026-01-02T03:04:05+00:00"}
    (folder / "lapsvm_svm" / "table.json").write_text(json.dumps(table))
    body, _, source = site.record_pages(folder, folder)[0]["lapsvm_svm"].partition("## Where this comes from")
    assert "| g50c | lapsvm | folds | 5.55 (0.75) |" in body
    for line in (
        "- computed 2026-01-02",
        "- 0.00 core hours in 2 cells, 0 of them failed",
        "- data sets: g50c",
        "- the code has changed since then, in 3 files",
        "- made again by: `python -m reproduction tables lapsvm_svm --record`",
    ):
        assert line in source.splitlines()
    assert "versions: python" in source


def test_quick_chosen_and_unfinished_records_judge_nothing(results):
    results("lapsvm_svm", quick=True)
    results("qn_s3vm", ks=(0, 99))
    folder = results("spectrum_learning", choices={"eps": "1e-6"})
    texts, problems = site.record_pages(folder, folder)
    assert problems == []
    assert "No claim is judged yet." in texts["index"]
    assert "A quick form" in texts["lapsvm_svm-quick"]
    assert "(eps=1e-6)\n" in texts["spectrum_learning-eps-1e-6"]
    assert "**Unfinished:** 1 cells are recorded" in texts["qn_s3vm"]
    assert "| unfinished | 1 |" in texts["index"]
    results("lapsvm_svm")
    assert "lapsvm_svm-quick" not in site.record_pages(folder, folder)[0]  # the whole one takes its place


def _cut(folder):
    (folder / "table.json").write_text("{")


def _fewer(folder):
    table = json.loads((folder / "table.json").read_text())
    (folder / "table.json").write_text(json.dumps({**table, "cells": 9}))


def _other_rows(folder):
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))


def _unknown(folder):
    table = json.loads((folder / "table.json").read_text())
    (folder / "table.json").write_text(json.dumps({**table, "experiment": "none"}))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [(_cut, "cannot be read"), (_fewer, "has 2 rows and says"), (_other_rows, "checksum"), (_unknown, "")],
)
def test_a_damaged_record_is_named_and_the_others_are_shown(results, spoil, said):
    folder = results("lapsvm_svm")
    results("spectrum_learning")
    spoil(folder / "lapsvm_svm")
    texts, (problem,) = site.record_pages(folder, folder)
    assert list(texts) == ["index", "spectrum_learning"]
    assert said in problem
    assert "lapsvm_svm" in problem
    assert site.plain(problem) in texts["index"].partition("## What could not be read")[2]


def test_a_foreign_file_and_a_missing_picture_are_named(drawn):
    folder = drawn("two_labels")
    drawn("spectra")
    (folder / "spectra.png").unlink()
    (folder / "list.json").write_text("[1]")
    (folder / "cut.json").write_text("{")
    problems = site.record_pages(folder, folder).problems
    assert len(problems) == 3
    for text in ("list.json", "cut.json", "no spectra.png"):
        assert sum(text in problem for problem in problems) == 1
    pages = site.figure_pages(folder, folder.parent / "gallery")
    assert "```{figure} ../figures/two_labels.png" in pages["two_labels"]
    assert "on 2026-01-02: numpy 2.0, outside a checkout." in pages["two_labels"]
    assert "Not drawn yet" in pages["spectra"]
    assert "Not drawn yet" in pages["clock"]


def test_pages_that_are_no_longer_any_go_and_equal_ones_are_not_touched(tmp_path):
    site.write_pages(tmp_path, {"a": "A", "b": "B"})
    before = (tmp_path / "a.md").stat().st_mtime_ns
    site.write_pages(tmp_path, {"a": "A"})
    assert [page.name for page in tmp_path.iterdir()] == ["a.md"]
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
