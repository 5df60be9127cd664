"""Recorded tables: rows and report come back as they were, in whatever folder, and what is damaged is named."""

import gzip
import json
import math
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from toy_rows import rows_of

import specmargin
from reproduction.engine.provenance import collect
from reproduction.engine.records import Cell, Store
from reproduction.engine.significance import significance_marks
from reproduction.engine.sweep import SweepInterruptedError
from reproduction.recorded import (
    read_record,
    record_table,
    recorded_folder,
    recorded_rows,
    recorded_tables,
    restore_rows,
)
from reproduction.report import Line, MarkedRow, MarkedSection, Report, Section
from reproduction.run import Experiment, Findings, Setup, run_experiment
from specmargin.exceptions import InvalidInputError

MARKS = significance_marks({"a": {"s0": 9.0, "s1": 10.0}, "b": {"s0": 8.0, "s1": 10.5}, "c": {"s0": 1.0}})
REPORT = Report(
    "toy",
    "Toy",
    [
        Section("One", [Line("g50c", "svm", "folds", 9.5, math.nan, 10, 9.33, 2.0, "p4", "a note")]),
        MarkedSection([MarkedRow("3-8", 20, MARKS, {"a": "C=1"})], ["a", "b", "c"], "folds", "nothing", "Two"),
    ],
    ["before"],
    ["after"],
    ["reproduced: so it is."],
)
CALLS = []


def work(cell, *, data=None):
    CALLS.append(cell)
    if cell.parameters["k"] == 99:
        raise KeyboardInterrupt
    return {"error_test": 10.0 / (1 + cell.parameters["k"]), "relative_gap": 1e-9, "lists": None}


def toy(ks):
    cells = [Cell("toy", "svm", "g50c", f"s{k}", {"k": k, "widths": [1, 2.0]}) for k in ks]
    plan = SimpleNamespace(cells=lambda data: cells)

    def report(rows, plan, options):
        lines = [Line("g50c", "svm", "none", row["error_test"], math.nan, 1) for row in rows]
        return Findings([Section("", lines)])

    return Experiment("toy", "A toy", "Toy", lambda options: Setup(plan, ()), work, report)


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


@pytest.mark.parametrize("form", ["text", "markdown", "csv"])
def test_a_report_comes_back_from_json(form):
    again = Report.from_json(json.loads(json.dumps(REPORT.as_json(), allow_nan=False)))
    assert getattr(again, form)() == getattr(REPORT, form)()


def test_rows_come_back_in_another_folder_and_are_not_computed_again(tmp_path):
    first = run_experiment(toy(range(5)), out=tmp_path / "a", progress=False, record=True)
    record = read_record(tmp_path / "a" / "recorded" / "toy")
    assert (record.cells, record.failed, len(CALLS)) == (5, 0, 5)
    assert record.report.csv() == first.csv()
    before = Store(tmp_path / "a" / "sweeps" / "toy").read()
    exact = {"seconds": 0.0}  # rounded to four digits
    assert {row["key"]: row | exact for row in record.rows()} == {key: row | exact for key, row in before.items()}
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "recorded").rename(tmp_path / "b" / "recorded")
    again = run_experiment(toy(range(6)), out=tmp_path / "b", progress=False)  # one cell more
    assert len(CALLS) == 6
    assert [line.mean for line in again.lines][:5] == [line.mean for line in first.lines]


def test_rows_can_be_read_by_pandas(tmp_path):
    run_experiment(toy(range(3)), out=tmp_path, progress=False, record=True)
    table = pd.read_json(tmp_path / "recorded" / "toy" / "rows.jsonl.gz", lines=True, precise_float=True)
    assert table["error_test"].tolist() == [10.0, 5.0, 10.0 / 3.0]
    assert table["parameters"][1] == {"k": 1, "widths": [1, 2.0]}


def test_an_interrupted_table_is_recorded_without_a_report_and_goes_on_elsewhere(tmp_path):
    with pytest.raises(SweepInterruptedError):
        run_experiment(toy([0, 1, 99]), out=tmp_path / "a", progress=False, record=True)
    record = read_record(tmp_path / "a" / "recorded" / "toy")
    assert (record.cells, record.report) == (2, None)
    (tmp_path / "a" / "sweeps").rename(tmp_path / "gone")
    CALLS.clear()
    run_experiment(toy([0, 1, 2]), out=tmp_path / "a", progress=False, record=True)
    assert [cell.parameters["k"] for cell in CALLS] == [2]
    assert read_record(tmp_path / "a" / "recorded" / "toy").report is not None


def test_rows_that_a_sweep_has_are_not_replaced(tmp_path):
    run_experiment(toy(range(2)), out=tmp_path, progress=False, record=True)
    record = read_record(tmp_path / "recorded" / "toy")
    assert restore_rows(record, tmp_path / "sweeps" / "toy") == 0
    assert restore_rows(record, tmp_path / "new") == 2
    rows = Store(tmp_path / "new").read().values()
    assert sorted(row["error_test"] for row in rows) == [5.0, 10.0]


def test_a_record_names_the_commits_of_its_rows(tmp_path):
    run_experiment(toy(range(2)), out=tmp_path, progress=False, record=True)
    record = read_record(tmp_path / "recorded" / "toy")
    git = collect()["git"]
    assert record.commits == ([] if git is None else [git["commit"]])


def test_foreign_rows_and_rows_of_unknown_runs_are_refused(tmp_path):
    rows = rows_of(tmp_path)
    store = Store(tmp_path / "sweep")
    with pytest.raises(InvalidInputError, match="'t' is among those of 'toy'"):
        record_table("toy", store, rows, tmp_path / "record")
    with pytest.raises(InvalidInputError, match="nothing is known of the run 'other'"):
        record_table("t", store, [rows[0] | {"run": "other"}], tmp_path / "record")
    assert not (tmp_path / "record" / "table.json").exists()


def damaged(place, how):
    table, rows = place / "table.json", place / "rows.jsonl.gz"
    if how == "cut":
        rows.write_bytes(rows.read_bytes()[:-20])
    elif how == "altered":
        text = gzip.decompress(rows.read_bytes()).replace(b"error_test", b"error_best")
        rows.write_bytes(gzip.compress(text))
    elif how == "gone":
        rows.unlink()
    elif how == "table cut":
        table.write_bytes(table.read_bytes()[:100])
    elif how == "no table":
        table.unlink()
    elif how == "later":
        table.write_text(json.dumps(json.loads(table.read_text()) | {"format": 99}))
    else:
        table.write_text("[]")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("cut", "cannot be read"),
        ("altered", "checksum"),
        ("gone", "cannot be read"),
        ("table cut", "cannot be read"),
        ("no table", "holds no recorded table"),
        ("later", "later version"),
        ("list", "cannot be read"),
    ],
)
def test_damaged_records_are_named_and_nothing_is_overwritten(tmp_path, how, says):
    run_experiment(toy(range(2)), out=tmp_path, progress=False, record=True)
    place = tmp_path / "recorded" / "toy"
    damaged(place, how)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    with pytest.raises(InvalidInputError, match=says):
        read_record(place).rows()
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_all_records_of_a_folder(tmp_path):
    run_experiment(toy(range(2)), out=tmp_path, progress=False, record=True)
    run_experiment(toy(range(1)), out=tmp_path, quick=True, progress=False, record=True)
    assert list(recorded_tables(tmp_path / "recorded")) == ["toy", "toy-quick"]
    assert recorded_tables(tmp_path / "nowhere") == {}
    root = Path(specmargin.__file__).resolve().parents[1]
    is_checkout = (root / "pyproject.toml").is_file()  # and not a wheel that was installed
    assert recorded_folder() == (root / "results" / "recorded" if is_checkout else None)
    assert recorded_rows("no table") is None


def test_the_same_rows_make_the_same_bytes(tmp_path):
    for out in ("a", "b"):
        run_experiment(toy(range(3)), out=tmp_path / out, progress=False, record=True)
    rows = [read_record(tmp_path / out / "recorded" / "toy").rows() for out in "ab"]
    own = {"seconds": 0, "run": ""}
    assert [row | own for row in rows[0]] == [row | own for row in rows[1]]
    place, store = tmp_path / "a" / "recorded" / "toy", Store(tmp_path / "a" / "sweeps" / "toy")
    before = (place / "rows.jsonl.gz").read_bytes()
    record_table("toy", store, reversed(list(store.read().values())), place)
    assert (place / "rows.jsonl.gz").read_bytes() == before
