"""The continuation paper's tables: settings against the published parameters, rows, sections, claims, resuming."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

import specmargin as sm
from specmargin.experiments import Cell, SweepInterruptedError, published_parameters
from specmargin.experiments.gallery import run_figures
from specmargin.experiments.report import Report
from specmargin.kernels.maps import kernel_map
from specmargin.objectives.s3vm import S3VM
from specmargin.papers import _chapelle_blocks as blocks
from specmargin.papers import chapelle_2006 as experiment
from specmargin.papers import run_table, tables
from specmargin.papers._chapelle_tasks import Representation
from specmargin.solvers.s3vm.continuation import continuation

RBF = Representation(20.0)


def cell(method="cs3vm", **changes):
    """Return a cell on a pair of the bundled digits."""
    block = replace(blocks.Block("t", "digits", ("digits 3-8",), (method,), RBF, 10.0, 1.0), **changes)
    return block.cells()[0]


def test_settings_are_the_papers():
    found = experiment.blocks()
    counts = {(b.title[:7], b.dataset, b.said): len(b.tasks) * b.n_splits for b in found}
    assert counts["Table 1", "uspst_pairs", "fixed"] == 450
    assert counts["Table 1", "coil20_pairs", "fixed"] == 1900
    assert counts["Table 1", "mac_windows", "fixed"] == 10
    sigmas = {"uspst_pairs": 8.0, "coil20_pairs": 1000.0, "uspst": 8.0, "uspstb": 8.0}
    for block in found:
        if block.title.startswith("Table"):
            assert block.representation.sigma == sigmas.get(block.dataset)
            printed = published_parameters(experiment.PAPER, block.table, block.dataset).set_index("parameter")["value"]
            if "gaussian_sigma" in printed:
                assert block.representation.sigma == float(printed["gaussian_sigma"])
            assert f"{block.C:g}" in printed["C"].split(" | ")
            assert f"{block.C_star:g}" in printed.get("C_star", f"{block.C:g}").split(" | ")
    seventh = [b for b in found if b.title.startswith("Figure 7")]
    assert [b.representation.landmarks for b in seventh][:6] == [5000 // 2**k for k in range(6, 0, -1)]
    assert {b.representation.sigma for b in seventh} == {5 * 256}


def test_every_table_finds_its_published_number():
    printed = {
        (b.table, b.dataset, b.said, m): experiment._printed(b, m)[0]
        for b in experiment.blocks()
        for m in b.methods
        if b.table
    }
    assert not any(math.isnan(value) for value in printed.values())
    assert (
        printed["1", "uspst_pairs", "fixed", "grad_hinge"] == printed["1", "uspst_pairs", "fixed", "grad_s3vm"] == 4.6
    )
    assert printed["1", "uspst_pairs", "fixed", "grad_long"] == 4.9
    assert printed["2", "uspst_pairs", "C = C* = 10", "svm"] == 9.7  # not that of 100
    assert printed["2", "mac_windows", "C = C* = 1", "cs3vm"] == 5.0
    assert printed["3", "uspst_pairs", "C* = 10", "cs3vm"] == 2.8
    assert printed["text 5.1", "uspst_pairs", "gamma_I = 1", "cs3vm"] == 1.8
    fifth = next(b for b in experiment.blocks() if b.title.startswith("Figure 5"))
    assert math.isnan(experiment._printed(fifth, "svm")[0])


def test_row_is_the_solvers_answer(tol):
    found = blocks.work(cell())
    X, y = sm.datasets.load("digits").X, sm.datasets.load("digits").y
    rows = np.flatnonzero((y == 3) | (y == 8))
    X, y = X[rows], (y[rows] == 8).astype(int)
    split = next(iter(blocks.splits(blocks.task_named("digits 3-8")).values()))
    labels = sm.encode_labels(np.where(np.isin(np.arange(len(y)), split.labeled), y, -1))
    Z = kernel_map(sm.kernels.gram(X, gamma=1 / 800)).Z
    obj = S3VM(Z, labels, "hinge", "exp", C=10.0, C_star=1.0)
    result = continuation(obj)
    wrong = (result.variables["labels"] > 0) != (y[labels.unlabeled] == 1)
    assert found["error_unlabeled"] == pytest.approx(100 * wrong.mean())
    # With the mean decision balanced the common objective is the method's own.
    assert found["objective"] == pytest.approx(result.certificate.primal_objective, rel=tol["objective"])
    assert found["ended"] == "stationary"
    assert 0 < found["stationarity"] <= 1e-4
    assert found["features"] == Z.shape[1]


def test_exact_ratio_is_that_of_the_hidden_labels():
    found = {
        key: blocks.work(cell("grad_s3vm", exact=exact, shifted=shifted))
        for key, exact, shifted in (("plain", False, False), ("shifted", False, True), ("exact", True, True))
    }
    assert "error_unshifted" not in found["plain"]
    assert found["shifted"]["error_unshifted"] == found["plain"]["error_unlabeled"]
    assert found["exact"]["objective"] != found["plain"]["objective"]  # another balance
    np.testing.assert_allclose(blocks._shares(np.array([1, 1, 0, 1]), 2), [0.75])
    np.testing.assert_allclose(blocks._shares(np.array([2, 1, 0, 1]), 3), [0.25, 0.5, 0.25])


def test_cells_of_equal_settings_are_one():
    first, again = (cell(n_splits=2), cell(title="other", said="x"))
    assert first == again
    assert cell(C_star=2.0) != first
    assert first.parameters["representation"] == asdict(RBF)


def test_interrupted_table_goes_on_where_it_stopped(nowhere, tmp_path, monkeypatch):
    tiny = [replace(b, tasks=b.tasks[:2]) for b in experiment.bundled_blocks()[:2]]
    monkeypatch.setattr(experiment, "bundled_blocks", lambda: tiny)
    options = {"quick": True, "data": nowhere, "progress": False}
    whole = run_table("continuation_s3vm", out=tmp_path / "whole", **options)
    assert isinstance(whole, Report)
    assert any("NOT AT HAND" in line for line in whole.header)
    assert [line.n_splits for line in whole.lines] == [4] * 7
    work, done = blocks.work, []

    def interrupted(cell, *, data):
        done.append(cell.key)
        if len(done) == 9:
            raise KeyboardInterrupt
        return work(cell, data=data)

    monkeypatch.setitem(tables(), "continuation_s3vm", replace(tables()["continuation_s3vm"], work=interrupted))
    with pytest.raises(SweepInterruptedError, match="the same call goes on from there"):
        run_table("continuation_s3vm", out=tmp_path / "parts", **options)
    again = run_table("continuation_s3vm", out=tmp_path / "parts", **options)
    assert len(done) == 28 + 1
    assert list(map(repr, again.lines)) == list(map(repr, whole.lines))  # nan is nan
    text = whole.text()
    assert "Table 3, in its place" in text
    assert "figure 3: cs3vm and grad_hinge" in text
    assert (tmp_path / "whole" / "tables" / "continuation_s3vm-quick.csv").read_text().count("digits_pairs") == 7


def test_missing_sets_are_named_and_the_others_kept(monkeypatch):
    monkeypatch.setattr(blocks, "is_available", lambda source, data: source not in ("coil20", "mnist"))
    found, header = blocks.available_blocks(experiment.blocks(), [], None)
    assert {b.dataset for b in found} == {"uspst_pairs", "mac_windows", "uspst", "uspstb"}
    assert header == ["NOT AT HAND: coil20, mnist; name their folder by --data or SPECMARGIN_DATA."]


@pytest.mark.data
def test_order_of_the_methods_on_a_hard_pair(data_folder, tol):
    """Two of the paper's pairs, two splits, or digits: semi-supervised beats supervised, and every fit is certified."""
    tasks, sigma = (("uspst 3-5", "uspst 8-9"), 8.0) if data_folder else (("digits 3-8", "digits 1-7"), 20.0)
    block = blocks.Block("t", "t", tasks, experiment.FOUR, Representation(sigma), n_splits=2)
    errors = {name: [] for name in experiment.FOUR}
    for one in block.cells(data_folder):
        found = blocks.work(one, data=data_folder)
        errors[one.method].append(found["error_unlabeled"])
        if one.method == "svm":
            assert abs(found["relative_gap"]) < tol["objective"]
    assert np.mean(errors["cs3vm"]) < np.mean(errors["svm"])


def test_cells_name_everything_as_json():
    one = cell("svm", exact=True)
    assert Cell(**one.to_dict()) == one


@pytest.mark.slow
def test_figure_shows_the_runs_of_the_tables(nowhere, tmp_path):
    (result,) = run_figures(["continuation_s3vm"], quick=True, out=tmp_path, progress=False, formats=("svg",))
    assert not result.warnings
    told = json.loads(result.sidecar.read_text())
    assert "NOT AT HAND" in told["results"]["data"][0]
    assert told["certificates"]["cut off"] == 0
    assert told["certificates"]["worst relative gap of an SVM"] < 1e-6
    errors = told["results"]["mean error of these runs, percent"]
    assert errors["cs3vm"] < errors["svm"]
    # The plain kernel is the leftmost of figure 6, and its runs are the table's.
    curve = told["results"]["figure 6, mean error by gamma_I, percent"]
    assert curve["cs3vm"]["0"] == errors["cs3vm"]
    assert told["results"]["in sentences"][0].startswith("figure 3: cs3vm and grad_hinge end in the same minimum")
