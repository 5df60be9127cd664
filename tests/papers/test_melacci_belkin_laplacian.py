"""Table 4 of the primal paper with either Laplacian: cells, fits, sections, verdicts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import specmargin as sm
from specmargin.experiments import Cell, evaluate
from specmargin.experiments import tasks as common
from specmargin.experiments.engine.records import make_row
from specmargin.papers import _melacci_belkin_fits as methods
from specmargin.papers import _melacci_belkin_laplacian as laplacian
from specmargin.papers import _melacci_belkin_tasks as tasks
from specmargin.papers import melacci_belkin_2011 as table
from specmargin.papers import run_table

PAPER = "lapsvm_primal_2009"


def samples_of(name, data=None):
    return common.samples(tasks.task_named(name), data)


def splits_of(name, data=None):
    return common.splits(tasks.task_named(name), data)


@pytest.fixture
def nowhere(nowhere, monkeypatch):
    """Make the bundled tasks smaller."""
    for name, task in tasks.BUNDLED.items():
        monkeypatch.setitem(tasks.BUNDLED, name, replace(task, n=200, draw=tasks.FourFolds(30, 30)))
    return nowhere


@pytest.mark.parametrize("normalized", [False, True])
def test_errors_are_those_of_the_estimator(nowhere, normalized):
    setting = (1e-2, 1e-1)
    cell = Cell(
        "t",
        "exact",
        "digitsb",
        "round1-fold2",
        {"phase": "exact", "weight": "heat", "normalized": normalized, "settings": [setting]},
    )
    rows = methods.fits_of([make_row(cell, {"status": "ok", **table.work(cell, data=nowhere)})])
    assert {row["normalized"] for row in rows} == {normalized}
    X, y, *_ = samples_of("digitsb", nowhere)
    options = {"gamma": 1 / 800, "n_neighbors": 10, "weight": "heat", "power": 2, "normalized": normalized}
    losses = {"laprls": "squared", "lapsvm_dual": "hinge", "lapsvm_newton": "squared_hinge"}
    for row in rows:
        if row["method"] in losses:
            estimator = sm.LapSVM(
                **options, gamma_A=setting[0], gamma_I=setting[1], loss=losses[row["method"]], fit_intercept=False
            )
            expected = evaluate(estimator, X, y, splits_of("digitsb", nowhere)["round1-fold2"])
            assert {key: row[key] for key in expected if key.startswith("error")} == {
                key: value for key, value in expected.items() if key.startswith("error")
            }


def test_every_split_sees_both_laplacians_and_the_printed_settings(nowhere):
    found = laplacian.Plan(["digitsb"], 2, (1e-2, 1.0)).cells(nowhere)
    assert len(found) == len(set(found)) == 2 * 2 * 3
    for cell in found:
        a, i = np.array(cell.parameters["settings"]).T
        assert np.ptp(np.log(i / a)) < 1e-9
    for normalized in (False, True):
        mine = [cell for cell in found if cell.parameters["normalized"] == normalized and cell.split == "round0-fold0"]
        settings = [tuple(s) for cell in mine for s in cell.parameters["settings"]]
        assert sorted(settings) == [(1e-2, 1e-2), (1e-2, 1.0), (1.0, 1e-2), (1.0, 1.0)]


def rows_by_hand(errors):
    """Return fits of g50c on two splits from {(normalized, method): errors on U and T}, with the printed gammas."""
    rows = []
    for normalized in (False, True):
        for split in ("s0", "s1"):
            fits = []
            for method in laplacian.METHODS_WITH_GRAPH:
                u, t = errors[normalized, method]
                fit = {"unlabeled": u, "validation": 5.0, "test": t, "relative_gap": 0, "seconds": 0, "iterations": [1]}
                fits.append([method, *table.printed_setting("g50c", method), fit])
            cell = Cell("t", "exact", "g50c", split, {"normalized": normalized})
            rows.append(make_row(cell, {"status": "ok", "fits": json.dumps(fits)}))
    return methods.fits_of(rows)


def test_verdicts_by_hand():
    printed = {"laprls": (6.03, 6.54), "lapsvm_dual": (5.52, 5.51), "lapsvm_newton": (6.16, 7.27)}
    fits = rows_by_hand(
        {(True, name): values for name, values in printed.items()}
        | {(False, name): (u + 20, t + 10) for name, (u, t) in printed.items()}
    )
    head, chosen, fixed = laplacian.verdicts(fits)
    assert "Which Laplacian" in head
    for sentence, words in ((chosen, "gammas chosen on V"), (fixed, "printed gammas")):
        assert f"g50c, {words}: the normalised Laplacian explains the print" in sentence
        assert "D - W 15.00 (20.00), the normalised Laplacian 0.00 (0.00)" in sentence
    # 2 * 1.15 * sqrt(2 / 12) = 0.94, the least of the allowed distances, is that of lapsvm_dual on U.
    near = printed | {"lapsvm_dual": (5.52 + 0.93, 5.51)}
    far = printed | {"lapsvm_dual": (5.52 + 0.95, 5.51)}
    fits = rows_by_hand({(True, name): far[name] for name in far} | {(False, name): near[name] for name in near})
    assert "g50c, printed gammas: D - W explains the print" in laplacian.verdicts(fits)[2]


def test_quick_table(nowhere, tmp_path):
    found = run_table("lapsvm_primal_laplacian", quick=True, data=nowhere, out=tmp_path, progress=False)
    text = found.text()
    assert "NOT AT HAND" in text
    assert "failed: 0" in text
    titles = [part.title for part in found.sections]
    assert titles == [
        f"Table 4, {words}, error on {part} in percent"
        for words in ("D - W", "the normalised Laplacian")
        for part in "UT"
    ]
    errors = [[line.mean for line in part.lines] for part in found.sections]
    assert errors[0] != errors[2]
    assert all({line.method for line in part.lines} == set(laplacian.METHODS_WITH_GRAPH) for part in found.sections)
