"""The continuation paper's tables: settings against the published parameters, rows, sections, claims, resuming."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from reproduction import blocks as common
from reproduction.engine.published import published_parameters
from reproduction.papers import chapelle_2006 as experiment
from reproduction.papers import run_table
from reproduction.papers._protocols.chapelle_blocks import INSTEAD, work
from reproduction.tasks import missing_data


def test_settings_are_the_papers():
    settings = experiment.blocks()
    counts = {(b.title[:7], b.dataset, b.tuning): len(b.tasks) * b.n_splits for b in settings}
    assert counts["Table 1", "uspst_pairs", "fixed"] == 450
    assert counts["Table 1", "coil20_pairs", "fixed"] == 1900
    assert counts["Table 1", "mac_windows", "fixed"] == 10
    sigmas = {"uspst_pairs": 8.0, "coil20_pairs": 1000.0, "uspst": 8.0, "uspstb": 8.0}
    for block in settings:
        if block.title.startswith("Table"):
            assert block.sigma == sigmas.get(block.dataset)
            stated = published_parameters(experiment.PAPER, block.table, block.dataset).set_index("parameter")["value"]
            if "gaussian_sigma" in stated:
                assert block.sigma == float(stated["gaussian_sigma"])
            assert f"{block.C:g}" in stated["C"].split(" | ")
            assert f"{block.C_star:g}" in stated.get("C_star", f"{block.C:g}").split(" | ")
    seventh = [b for b in settings if b.title.startswith("Figure 7")]
    assert [b.landmarks for b in seventh][:6] == [5000 // 2**k for k in range(6, 0, -1)]
    assert {b.sigma for b in seventh} == {5 * 256}


def test_true_shares_are_told_apart_from_figure_6():
    """Pairs with a graph: some are cut at the labelled samples' share, others at the true one and OPTIMISTIC."""
    graphs = [b for b in experiment.blocks() if b.graph]
    exact = [b for b in graphs if b.exact]
    assert [b.tuning for b in exact] == ["gamma_I = 1", "gamma_I = 10"]
    assert all("OPTIMISTIC" in b.title and len(b.tasks) == 45 and math.isnan(b.published("svm").mean) for b in exact)
    named = [json.dumps(b.parameters("svm")) for b in graphs]
    assert len(set(named)) == len(graphs) == 6
    rows = [{"status": "ok", "method": method, "error_unlabeled": 3.0} for method in ("svm", "cs3vm")]
    lowest = [{**row, "error_unlabeled": 1.0} for row in rows]
    frame = experiment.claims._graph(rows, [(b, lowest if b.exact else rows) for b in graphs])
    assert frame[["lapsvm", "hybrid"]].to_numpy().tolist() == [[3.0, 3.0]]


def test_every_table_finds_its_published_number():
    numbers = {
        (b.table, b.dataset, b.tuning, m): b.published(m).mean
        for b in experiment.blocks()
        for m in b.methods
        if b.table
    }
    assert not any(math.isnan(value) for value in numbers.values())
    for key, value in {
        ("1", "uspst_pairs", "fixed", "grad_hinge"): 4.6,
        ("1", "uspst_pairs", "fixed", "grad_s3vm"): 4.6,
        ("1", "uspst_pairs", "fixed", "grad_long"): 4.9,
        ("2", "uspst_pairs", "C = C* = 10", "svm"): 9.7,  # not that of 100
        ("2", "mac_windows", "C = C* = 1", "cs3vm"): 5.0,
        ("3", "uspst_pairs", "C* = 10", "cs3vm"): 2.8,
        ("text 5.1", "uspst_pairs", "gamma_I = 1", "cs3vm"): 1.8,
    }.items():
        assert numbers[key] == value
    fifth = next(b for b in experiment.blocks() if b.title.startswith("Figure 5"))
    assert math.isnan(fifth.published("svm").mean)


def test_quick_table(nowhere, tmp_path, monkeypatch):
    tiny = [replace(b, tasks=b.tasks[:2]) for b in experiment.bundled_blocks()[:2]]
    monkeypatch.setattr(experiment, "bundled_blocks", lambda: tiny)
    report = run_table("continuation_s3vm", out=tmp_path, quick=True, data=nowhere, progress=False)
    assert report.header[:1] == missing_data(["coil20", "mac_windows", "mnist", "uspst"], INSTEAD)
    assert [line.n_splits for line in report.lines] == [4] * 7
    text = report.text()
    assert "cells: 28, failed: 0" in text
    assert "Table 3, in its place" in text
    assert "figure 3: cs3vm and grad_hinge" in text
    assert (tmp_path / "tables" / "continuation_s3vm-quick.csv").read_text().count("digits_pairs") == 7


def test_missing_sets_are_named_and_the_others_kept(monkeypatch):
    monkeypatch.setattr(common, "is_available", lambda source, data: source not in ("coil20", "mnist"))
    there, header = common.available_blocks(experiment.blocks(), None)
    assert {b.dataset for b in there} == {"uspst_pairs", "mac_windows", "uspst", "uspstb"}
    assert header == missing_data(["coil20", "mnist"])


@pytest.mark.data
def test_order_of_the_methods_on_a_hard_pair(data_folder, tol):
    """Two of the paper's pairs, two splits, or digits: semi-supervised beats supervised, and every fit is certified."""
    tasks, sigma = (("uspst 3-5", "uspst 8-9"), 8.0) if data_folder else (("digits 3-8", "digits 1-7"), 20.0)
    block = experiment.ContinuationBlock("t", "t", tasks, experiment.FOUR, sigma=sigma, n_splits=2)
    errors = {name: [] for name in experiment.FOUR}
    for one in block.cells(data_folder):
        row = work(one, data=data_folder)
        errors[one.method].append(row["error_unlabeled"])
        if one.method == "svm":
            assert abs(row["relative_gap"]) < tol["objective"]
    assert np.mean(errors["cs3vm"]) < np.mean(errors["svm"])


def test_what_section_33_shows():
    def row(method, error, split="s0", **more):
        return {"status": "ok", "method": method, "dataset": "d", "split": split, "error_unlabeled": error, **more}

    cosines = {"cosine_principal": 0.95, "cosine_first": 0.8, "cosine_end": 0.3}
    others = [row("svm", 9.0), row("cs3vm", 3.0), row("cs3vm", 1.0) | {"split": "of no projection"}]
    along = [row("v_star", 7.0, f"s{k}", **cosines) for k in range(3)]
    (text,) = experiment.section_33(along, others)
    assert text.startswith(
        "agrees: v* is the principal component (section 3.3). |cos|, at least 0.9: cos 0.95; 3 draws."
    )
    assert "v* errs 7.00 %; svm 9.00 %, cs3vm 3.00 %." in text
    assert experiment.section_33([], []) == []


@pytest.mark.slow
def test_figure_shows_the_runs_of_the_tables(nowhere, beside_figure):
    told = beside_figure("continuation_s3vm")
    assert told["results"]["data"] == missing_data(["uspst", "mnist"])
    assert told["certificates"]["cut off"] == 0
    assert told["certificates"]["worst relative gap of an SVM"] < 1e-6
    errors = told["results"]["mean error of these runs, percent"]
    assert errors["cs3vm"] < errors["svm"]
    # The plain kernel is the leftmost of figure 6, and its runs are the table's.
    curve = told["results"]["figure 6, mean error by gamma_I, percent"]
    assert curve["cs3vm"]["0"] == errors["cs3vm"]
    assert told["results"]["in sentences"][0].startswith("figure 3: cs3vm and grad_hinge end in the same minimum")
