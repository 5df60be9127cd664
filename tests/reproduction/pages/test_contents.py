"""Records and figures are read, and what cannot be read is named without losing the others."""

from __future__ import annotations

import gzip
import json

import pytest

from reproduction.pages.contents import read_figures, read_reports, read_tables
from reproduction.report_page import write_report


def test_a_record_is_read(results):
    folder = results("lapsvm_svm")
    results("spectrum_learning", marked=True)
    there, problems = read_tables(folder)
    assert problems == []
    assert sorted(there) == ["lapsvm_svm", "spectrum_learning"]
    assert there["lapsvm_svm"].plain
    assert there["lapsvm_svm"].command == "python -m reproduction tables lapsvm_svm --record"


def test_quick_and_chosen_records_are_told_apart(results):
    folder = results("lapsvm_svm", quick=True)
    results("spectrum_learning", choices={"eps": "1e-6"})
    there, _ = read_tables(folder)
    assert there["lapsvm_svm-quick"].command == "python -m reproduction tables lapsvm_svm --quick --record"
    assert (
        there["spectrum_learning-eps=1e-6"].command
        == "python -m reproduction tables spectrum_learning --set eps=1e-6 --record"
    )
    assert not any(table.plain for table in there.values())


def _foreign(folder):
    table = json.loads((folder / "table.json").read_text())
    (folder / "table.json").write_text(json.dumps(table | {"experiment": "unheard_of"}))


def _cut(folder):
    (folder / "table.json").write_text((folder / "table.json").read_text()[:200])


def _rows(folder):
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n'))


def _cells(folder):
    table = json.loads((folder / "table.json").read_text())
    (folder / "table.json").write_text(json.dumps(table | {"cells": 99}))


def _runs(folder):
    table = json.loads((folder / "table.json").read_text())
    (folder / "table.json").write_text(json.dumps(table | {"runs": {}}))


def _emptied(folder):
    (folder / "table.json").unlink()


def _later(folder):
    table = json.loads((folder / "table.json").read_text())
    (folder / "table.json").write_text(json.dumps(table | {"format": 99}))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_foreign, "'unheard_of', which this version does not have"),
        (_cut, "cannot be read"),
        (_rows, "checksum"),
        (_runs, "of which nothing is known"),
        (_cells, "has 2 rows and says that it has 99"),
        (_emptied, "holds no recorded table"),
        (_later, "later version"),
    ],
)
def test_a_damaged_record_is_named_and_the_others_are_read(results, spoil, said):
    folder = results("lapsvm_svm")
    results("spectrum_learning")
    spoil(folder / "lapsvm_svm")
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    there, problems = read_tables(folder)
    assert list(there) == ["spectrum_learning"]
    assert len(problems) == 1
    assert said in problems[0]
    assert "lapsvm_svm" in problems[0]
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_figures_are_read_and_foreign_files_named(drawn):
    folder = drawn("two_labels")
    drawn("spectra")
    drawn("of_nobody")
    (folder / "other.json").write_text('{"a": 1}')
    (folder / "list.json").write_text("[1]")
    (folder / "cut.json").write_text("{")
    (folder / "spectra.svg").unlink()
    (folder / "of_nobody.svg").unlink()
    (folder / "of_nobody.png").unlink()
    there, problems = read_figures(folder)
    assert sorted(there) == ["of_nobody", "spectra", "two_labels"]
    assert list(there["two_labels"].pictures) == ["svg", "png"]
    assert list(there["spectra"].pictures) == ["png"]
    assert len(problems) == 4
    for text in ("other.json", "list.json", "cut.json", "of_nobody"):
        assert sum(text in problem for problem in problems) == 1


def test_a_figure_says_how_it_is_made_again(drawn):
    drawn("spectra", size="full")
    there, _ = read_figures(drawn("two_labels"))
    assert there["spectra"].command == "python -m reproduction figures spectra --full"
    assert there["two_labels"].command == "python -m reproduction figures two_labels"


def test_finished_tables_come_back(results, tmp_path):
    there, _ = read_tables(results("lapsvm_svm"))
    report = there["lapsvm_svm"].record.report
    write_report(report, tmp_path / "tables")
    (tmp_path / "tables" / "cut.json").write_text("{")
    reports, problems = read_reports(tmp_path / "tables")
    assert reports["lapsvm_svm"].csv() == report.csv()
    assert len(problems) == 1
    assert "cut.json" in problems[0]


def test_folders_that_are_not_there_hold_nothing(tmp_path):
    for read in (read_tables, read_figures, read_reports):
        assert read(tmp_path / "none") == ({}, [])
