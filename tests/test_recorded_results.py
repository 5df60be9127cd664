"""The committed records: a sample of the cells of every table is computed anew and must come out as it stands there.

Numbers that a clock or an iteration count decides are left out. Searches of non-convex objectives may end elsewhere on
another machine, so that of a sample at most one cell may differ, and never by more than `SEARCH` points of error.
"""

import json
import random

import pytest

from reproduction.data import DataNotFoundError
from reproduction.engine.records import Cell
from reproduction.papers import tables
from reproduction.recorded import recorded_folder, recorded_tables

FOLDER = recorded_folder()
RECORDS = recorded_tables(FOLDER) if FOLDER is not None and FOLDER.is_dir() else {}
SAMPLE, LONGEST = 3, 2.0
"""Cells of every table, all of one data set, and the seconds that each may have taken."""
COMPARED = {"error": 1e-6, "gap_": 2e-3}
"""Beginnings of the names that must come out again, columns or keys in a column of JSON, and what they may be off by:
points of error; gaps, of relaxations that are solved to 0.2 %."""
SEARCH = 5.0
"""Points of error."""


def sample(record):
    rows = [row for row in record.rows() if row["status"] == "ok" and row["seconds"] <= LONGEST]
    rows = rows or sorted(record.rows(), key=lambda row: row["seconds"])[:1]
    drawn = random.Random(record.name)
    dataset = drawn.choice(sorted({row["dataset"] for row in rows}))
    of_it = sorted((row for row in rows if row["dataset"] == dataset), key=lambda row: row["key"])
    return drawn.sample(of_it, min(SAMPLE, len(of_it)))


def errors(part, path=()):
    """Return all floats whose last name begins as `COMPARED`, by their paths in columns and in the JSON they hold."""
    if isinstance(part, str) and part[:1] in ("[", "{"):
        return errors(json.loads(part), path)
    if isinstance(part, float):
        named = [step for step in path if isinstance(step, str)]
        return {path: part} if named and named[-1].startswith(tuple(COMPARED)) else {}
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return {found: value for key, inner in sorted(items) for found, value in errors(inner, (*path, key)).items()}


def off(path):
    """Return what the number at a path may be off by."""
    name = [step for step in path if isinstance(step, str)][-1]
    return next(allowed for begin, allowed in COMPARED.items() if name.startswith(begin))


def test_errors_are_found_in_columns_and_in_their_json():
    row = {"seconds": 2.0, "error_test": 1.5, "fits": '[["svm", {"error": 3.0, "seconds": 1.0}]]', "method": "svm"}
    row |= {"gap_plain": 0.2, "plain_gap": 0.1}
    assert errors(row) == {("error_test",): 1.5, ("fits", 0, 1, "error"): 3.0, ("gap_plain",): 0.2}
    assert [off(path) for path in errors(row)] == [1e-6, 1e-6, 2e-3]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(RECORDS))
def test_cells_come_out_as_they_were_recorded(name, data_folder):
    record = RECORDS[name]
    experiment = tables()[record.experiment]
    different = 0
    for row in sample(record):
        named = (row[part] for part in ("experiment", "method", "dataset", "split"))
        cell = Cell(*named, json.loads(row["parameters"]))
        try:
            outcome = experiment.work(cell, data=data_folder)
        except DataNotFoundError as missing:
            pytest.skip(f"{name}: {missing}")
        computed, recorded = errors(outcome), errors(row)
        assert computed, f"{name} has no errors that could be compared"
        assert list(computed) == list(recorded)
        distances = {key: abs(computed[key] - recorded[key]) for key in computed}
        assert max(distances.values()) <= SEARCH
        different += any(distance > off(key) for key, distance in distances.items())
    assert different <= 1


@pytest.mark.parametrize("name", list(RECORDS))
def test_records_are_small_whole_and_without_failures(name):
    record = RECORDS[name]
    assert sum(path.stat().st_size for path in record.folder.iterdir()) < 5e6
    assert record.failed == 0
    assert record.seconds > 0
    for run in record.runs.values():
        assert run["git"]["commit"]
        assert not run["git"]["dirty"]
