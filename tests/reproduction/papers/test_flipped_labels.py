"""The table of flipped labels: its cells, what it refuses, and what the report says."""

from pathlib import Path

import numpy as np
import pytest

from reproduction.engine.records import Cell
from reproduction.papers import flipped_labels as table
from reproduction.papers import tables
from reproduction.papers._claims import flips
from reproduction.papers._protocols.flipped_fits import METHODS, RATES
from reproduction.run import Options, run_experiment
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import gram

SMALL = {"labels": 20, "n": 60, "trials": 1}


def cell(method="kernel ridge", dataset="two_moons", **parameters):
    return Cell("flipped_labels", method, dataset, "draw0", SMALL | parameters)


def test_eleven_sets_four_of_which_need_no_data(nowhere):
    assert len(table.TASKS) == 11
    assert tables()["flipped_labels"] is table.FLIPPED_LABELS
    plan, sources, (missing,) = table.FLIPPED_LABELS.setup(Options(Path(), data=nowhere))
    assert plan.sets == tuple(table.TASKS)[:4]
    assert "NOT AVAILABLE: g50c, mac-windows, " in missing
    assert sources == set()
    cells = plan.cells(nowhere)
    assert len(cells) == 4 * 5 * len(METHODS)
    assert {one.split for one in cells[: 4 * len(METHODS)]} == {"draw0"}


def test_choices_are_those_of_the_command_line(nowhere):
    choices = {"sets": "rings,one Gaussian", "draws": "2", "labels": "100"}
    plan = table.FLIPPED_LABELS.setup(Options(Path(), data=nowhere, choices=choices)).plan
    assert (plan.sets, plan.draws, plan.labels) == (("rings", "one Gaussian"), 2, 100)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"sets": "rings,moon"}, "there is no 'moon'; take breast_cancer, two_moons"),
        ({"draws": "0"}, "--set draws=0: take a whole number, 1 or more"),
        ({"labels": "10"}, "--set labels=10: take a whole number, 20 or more"),
        ({"labels": "many"}, "--set labels=many: take a whole number, 20 or more"),
    ],
)
def test_wrong_choices_are_refused(choice, message):
    with pytest.raises(InvalidInputError, match=message):
        table.FLIPPED_LABELS.setup(Options(Path(), choices=choice))


def test_wrong_cells_are_refused():
    with pytest.raises(InvalidInputError, match="there is no method 'svm'; take one of "):
        table.work(cell("svm"))
    with pytest.raises(InvalidInputError, match="there is no set 'moons'; take one of "):
        table.work(cell(dataset="moons"))
    with pytest.raises(InvalidInputError, match=r"4 labels, \d of the second class, hardly ever have two"):
        table.work(cell(labels=4))


def test_more_features_than_samples_are_given_in_their_span():
    X, y = table._drawn("breast_cancer", 20, None)
    few, same = table._drawn("breast_cancer", 60, None)
    assert (X.shape, few.shape) == ((20, 20), (60, 30))
    whole = table.samples(table.TASKS["breast_cancer"])
    rows = np.sort(np.random.default_rng(1).permutation(len(whole.y))[:20])
    np.testing.assert_array_equal(y, whole.y[rows])
    np.testing.assert_allclose(X @ X.T, whole.X[rows] @ whole.X[rows].T, atol=1e-9)
    np.testing.assert_allclose(gram(X, gamma=0.1), gram(whole.X[rows], gamma=0.1), atol=1e-9)
    assert len(same) == 60


def test_a_table_says_what_it_found(nowhere, tmp_path, monkeypatch):
    monkeypatch.setattr(flips, "_RESAMPLED", 20)
    monkeypatch.setattr(table, "METHODS", {name: METHODS[name] for name in ("LapRLS", "kernel ridge")})
    report = run_experiment(table.FLIPPED_LABELS, quick=True, data=nowhere, out=tmp_path, progress=False)
    overall, ranks, each = report.sections
    assert len(overall.lines) == 2 * len(RATES)
    assert len(each.lines) == 2 * 2 * len(RATES)
    line = overall.lines[0]
    assert (line.dataset, line.method, line.n_splits) == ("5 % (2 of 40)", "LapRLS", 2)
    assert line.mean == pytest.approx(np.mean([one.mean for one in each.lines if one.dataset.endswith(", 5 %")][::2]))
    assert {one.method for one in ranks.lines} >= {"as many, true labels", "trial flips, as given"}
    text = report.text()
    assert "Predictions that survive any one false label, percent: " in text
    assert "cells: 8, failed: 0" in text
    assert "With parameters held it is none, which is asserted in 32 comparisons" in text
