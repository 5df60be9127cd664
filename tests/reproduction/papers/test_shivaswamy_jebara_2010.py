"""The table of the spectrum paper: protocol, certificates, interruption, and whether the order helps."""

import json
from dataclasses import replace

import numpy as np
import pytest

import specmargin as sm
from reproduction.engine.evaluation import evaluate
from reproduction.engine.records import Cell, make_row
from reproduction.engine.sweep import SweepInterruptedError
from reproduction.papers import run_table, tables
from reproduction.papers import shivaswamy_jebara_2010 as table
from reproduction.papers._protocols import shivaswamy_jebara_fits as fits
from reproduction.run import measured
from specmargin.graphs import KNN, Laplacian, knn_graph

GRID = {"C": (1.0, 100.0), "B": (1.5,), "loss_weight": (1e3,), "width": (0.1,)}
TINY = table.Plan(
    ("digits 3-8",), (12, 20), 2, 4, GRID, n=120, q=20, methods=("MKL-R", "SGT", "KTA-S", "STORM", "diffusion")
)


def test_full_plan_is_the_papers():
    assert len(fits.TEXT) == len(fits.DIGITS) == 5
    plan = table.Plan(["20news pc-mac", "mnist 3-8"], methods=tuple(fits.METHODS))
    k = len(fits.METHODS)
    assert (plan.n, plan.q, plan.n_labeled) == (1000, 200, (20, 40, 60, 80, 100))
    tuning = plan.cells()
    chosen = {
        (task, n_labeled, method): fits.METHODS[method].grid(plan.grid)[0]
        for task in plan.tasks
        for n_labeled in plan.n_labeled
        for method in plan.methods
    }
    fresh = plan.cells(chosen)
    assert (len(tuning), len(fresh)) == (2 * 5 * k * 20, 2 * 5 * k * 100)
    assert len({(cell.dataset, cell.method, cell.split) for cell in [*tuning, *fresh]}) == 2 * 5 * k * 120
    n_fits = sum(len(fits.METHODS[cell.method].grid(cell.parameters["grid"])) for cell in tuning)
    assert n_fits == 2 * 5 * 20 * (25 + 5 + 5 + 20 + 6 + 5 + 20 + 5 + 20 + 20 + 20 + 25 + 6 + 1)
    assert not {cell.split for cell in tuning} & {cell.split for cell in fresh}
    # One after the other by task: a process makes each task's eigenpairs once.
    assert [cell.dataset for cell in fresh[:: 5 * k * 100]] == list(plan.tasks)


def test_phases_draw_other_labels_and_fewer_labels_are_a_part():
    drawn = {
        (seed, phase): [tuple(split.labeled) for split in fits.splits("digits 3-8", 300, 20, phase, seed).values()]
        for seed in (0, 1)
        for phase in ("tuning", "fresh")
    }
    assert [len(labels) for labels in drawn.values()] == [20, 100, 20, 100]
    assert len({labels for each in drawn.values() for labels in each}) == 240
    more = fits.splits("digits 3-8", 300, 40, "fresh", 0)
    assert list(more)[3] == fits.split_names(40, "fresh", 0, 4)[3]
    for few, many in zip(drawn[0, "fresh"], more.values(), strict=True):
        assert set(few) < set(many.labeled)


def test_setting_of_least_mean_error_goes_to_the_fresh_splits():
    """Errors written by hand: C=100 is better in the mean, C=1 on most splits."""
    plan = table.Plan(("t",), (20, 40), 3, 2, GRID, methods=("STOAM", "KTA-R"))
    errors = {"00": [30.0, 11.0], "01": [10.0, 11.0], "02": [10.0, 11.0]}
    seen = []

    def work(cell, *, data):
        seen.append(cell)
        if cell.parameters["phase"] == "fresh":
            return {"error_unlabeled": 1.0}
        values = errors[cell.split[-2:]] if cell.parameters["n_labeled"] == 20 else [5.0, 5.0]
        return {"errors": json.dumps(values)}

    _, rows, chosen = table.measure(plan, measured(work))
    assert chosen == {
        ("t", 20, "STOAM"): {"C": 100.0},
        ("t", 20, "KTA-R"): {"C": 100.0, "B": 1.5},
        ("t", 40, "STOAM"): {"C": 1.0},  # among equals the first of the grid
        ("t", 40, "KTA-R"): {"C": 1.0, "B": 1.5},
    }
    fresh = [cell for cell in seen if cell.parameters["phase"] == "fresh"]
    assert len(fresh) == len(rows) == 2 * 2 * 2
    assert {(cell.parameters["n_labeled"], cell.parameters["C"]) for cell in fresh} == {(20, 100.0), (40, 1.0)}
    assert {cell.split[-9:] for cell in fresh} == {"-seed2-00", "-seed2-01"}
    assert table.errors_of(rows)["t", 20] == {
        method: {f"random20-seed2-0{i}": 1.0 for i in range(2)} for method in ("STOAM", "KTA-R")
    }


def test_failed_tuning_cells_take_no_part():
    plan = table.Plan(("t",), (20,), 2, 2, GRID, methods=("STOAM", "SGT"))

    def run(cells):
        rows = []
        for cell in cells:
            if cell.parameters["phase"] == "fresh":
                rows.append(make_row(cell, {"status": "ok", "error_unlabeled": 1.0}))
            elif cell.method == "SGT" or cell.split.endswith("00"):
                rows.append(make_row(cell, {"status": "failed", "error": "x"}))
            else:
                rows.append(make_row(cell, {"status": "ok", "errors": "[9.0,1.0]"}))
        return rows

    _, rows, chosen = table.measure(plan, run)
    assert chosen == {("t", 20, "STOAM"): {"C": 100.0}}
    assert {row["method"] for row in rows} == {"STOAM"}


@pytest.mark.filterwarnings("ignore:the graph has 2 components")
@pytest.mark.parametrize("method", ["STORM", "MKL-R"])
def test_error_of_a_cell_is_that_of_the_estimator(method):
    where = ("digits 1-8", 200, 20, "fresh", 0)
    X, y = fits.samples(*where[:2])
    split = list(fits.splits(*where).values())[1]
    parameters = {"phase": "fresh", "n_labeled": 20, "n": 200, "q": 50, "seed": 0, "C": 10.0, "B": 1.5}
    row = fits.work(Cell("t", method, "digits 1-8", split.name, parameters))
    paper = {"C": 10.0, "B": 1.5, "q": 50, "graph": KNN(5), "laplacian": Laplacian(normalized=False)}
    paper["class_balance"] = None
    estimator = getattr(sm, method.removesuffix("-R"))(**paper)
    expected = evaluate(estimator, X, y, split)
    assert 0 < row["error_unlabeled"] == expected["error_unlabeled"]
    assert (row["fits"], row["uncertified"]) == (1, 0)
    assert abs(row["relative_gap"]) < 1e-6


def test_tuning_cell_holds_the_errors_of_fresh_cells_like_it():
    shared = {"n_labeled": 20, "n": 200, "q": 50, "seed": 0, "phase": "tuning"}
    name = fits.split_names(20, "tuning", 0, 1)[0]
    row = fits.work(Cell("t", "KTA-R", "digits 1-8", name, {**shared, "grid": {"C": [1, 100], "B": [1.1, 4]}}))
    errors = json.loads(row["errors"])
    assert row["fits"] == len(errors) == 4
    split = fits.splits("digits 1-8", 200, 20, "tuning", 0)[name]
    y = fits.samples("digits 1-8", 200)[1]
    spectrum = fits.eigenpairs("digits 1-8", 200, 50)
    labels = sm.encode_labels(np.where(np.isin(np.arange(200), split.labeled), y, -1))
    delta = sm.solve(sm.problems.kta(sm.objectives.Alignment(spectrum, labels))).variables["delta"]
    for (C, B), error in zip([(1, 1.1), (1, 4), (100, 1.1), (100, 4)], errors, strict=True):
        obj = sm.objectives.SpectrumMargin(spectrum, labels, C=C, B=B, delta=delta)
        f = sm.solve(sm.problems.storm(obj), sm.problems.default_solvers()).variables["f"]
        assert error == pytest.approx(100 * np.mean((f > 0)[split.unlabeled] != y[split.unlabeled]))


def test_methods_share_the_eigenpairs_of_a_task():
    fits.eigenpairs.cache_clear()
    table.measure(TINY, measured(fits.work))
    assert fits.eigenpairs.cache_info().misses == 1


@pytest.mark.slow
def test_interrupted_run_goes_on_where_it_stopped(nowhere, tmp_path, monkeypatch):
    monkeypatch.setattr(table.Plan, "quick", lambda self: TINY)
    work = fits.work
    options = {"quick": True, "data": nowhere, "progress": False}
    whole = run_table("spectrum_learning", out=tmp_path / "whole", **options)
    n_cells = 5 * 2 * (2 + 4)
    done = []

    def interrupted(cell, *, data):
        if len(done) in (7, 31):  # once in each phase
            done.append(None)
            raise KeyboardInterrupt
        done.append(cell.key)
        return work(cell, data=data)

    monkeypatch.setitem(tables(), "spectrum_learning", replace(tables()["spectrum_learning"], work=interrupted))
    for _ in range(2):
        with pytest.raises(SweepInterruptedError, match="the same call goes on from there"):
            run_table("spectrum_learning", out=tmp_path / "parts", **options)
    again = run_table("spectrum_learning", out=tmp_path / "parts", **options)
    assert len(done) == n_cells + 2
    assert len(set(done)) == n_cells + 1  # nothing was computed twice
    assert list(map(repr, again.lines)) == list(map(repr, whole.lines))  # nan is nan
    assert again.csv() == whole.csv()
    # Clearing the folder happens once, not before each phase: afterwards it holds both.
    fresh = run_table("spectrum_learning", out=tmp_path / "parts", fresh=True, **options)
    assert len(done) == 2 * n_cells + 2
    assert list(map(repr, fresh.lines)) == list(map(repr, whole.lines))
    run_table("spectrum_learning", out=tmp_path / "parts", **options)
    assert len(done) == 2 * n_cells + 2
    assert any(line.startswith(f"cells: {n_cells}, failed: 0") for line in fresh.footer)


def test_quick_table_without_data_says_so(nowhere, tmp_path, monkeypatch):
    monkeypatch.setattr(table.Plan, "quick", lambda self: TINY)
    report = run_table("spectrum_learning", quick=True, data=nowhere, out=tmp_path, progress=False)
    texts = [path.read_text() for path in sorted((tmp_path / "tables").glob("spectrum_learning-quick.*"))]
    assert len(texts) == 4
    for text in texts[1:]:
        for part in ("NOT AVAILABLE: 20news and mnist. In their place", "QUICK", "OPTIMISTIC", "nothing published"):
            assert part in text
    assert all("optimistic" in line for line in texts[0].splitlines()[1:])  # csv
    assert not any(str(tmp_path) in text for text in texts)
    n_fits = 2 * 2 * (2 + 1 + 2 + 2 + 2) + 5 * 2 * 4
    assert any(line.startswith(f"fits: {n_fits}, with a relative gap above 1e-06: 0; by") for line in report.footer)


def test_shipped_quick_plan_is_small(nowhere):
    names, header = fits.tasks_available(nowhere)
    plan = table.Plan(names, methods=tuple(fits.METHODS)).quick()
    assert plan.tasks == ("digits 3-8", "digits 1-8")
    assert "digits" in header[0]
    assert len(plan.cells()) == 2 * 2 * 2 * len(fits.METHODS)


def test_graph_and_eps_are_axes_with_files_of_their_own(nowhere, tmp_path, monkeypatch):
    monkeypatch.setattr(table.Plan, "quick", lambda self: replace(TINY, graph=self.graph, eps=self.eps))
    options = {"quick": True, "data": nowhere, "progress": False, "out": tmp_path}
    plain = run_table("spectrum_learning", **options)
    chosen = run_table("spectrum_learning", choices={"graph": "mutual+mst", "eps": "1e-6"}, **options)
    assert chosen.name == "spectrum_learning-eps=1e-6-graph=mutual+mst-quick"
    assert (tmp_path / "tables" / f"{chosen.name}.txt").exists()
    assert "mutual+mst 5-NN graph" in chosen.text()
    assert "eps = 1e-06" in chosen.text()
    assert "--set eps=1e-6 --set graph=mutual+mst --quick" in chosen.text()
    assert plain.csv() != chosen.csv()
    refused = [
        ({"graph": "none"}, "graph='none' is unknown"),
        ({"eps": "x"}, "is not a number"),
        ({"k": "1"}, "no axis 'k'; take one of graph, eps"),
    ]
    for wrong, text in refused:
        with pytest.raises(ValueError, match=text):
            run_table("spectrum_learning", choices=wrong, **options)
    with pytest.raises(ValueError, match="has no axis 'graph'; it has none"):
        run_table("lapsvm_primal", choices={"graph": "mutual"}, **options)


@pytest.mark.data
def test_the_order_helps(data_folder, nowhere):
    """The paper's main finding, on a hard pair: ordered below unordered in the mean, every fit certified."""
    data, task, n = (data_folder, "mnist 3-8", 1000) if data_folder else (nowhere, "digits 1-8", 1000)
    grid = {**GRID, "C": (10.0,)}
    plan = table.Plan((task,), (20,), 1, 6, grid, n=n, q=100, methods=("MKL-S", "MKL-R", "STOAM", "STORM"))
    _, rows, _ = table.measure(plan, measured(fits.work, data))
    errors = table.errors_of(rows)[task, 20]
    means = {method: np.mean(list(each.values())) for method, each in errors.items()}
    assert means["STOAM"] < means["MKL-S"]
    assert means["STORM"] < means["MKL-R"]
    assert all(abs(row["relative_gap"]) < 1e-6 for row in rows)


def test_figure_shows_the_means_of_the_same_cells(nowhere, monkeypatch, beside_figure):
    monkeypatch.setattr(table.Plan, "quick", lambda self: TINY)
    told = beside_figure("spectrum_errors")
    assert "optimistic" in told["parameters"]["protocol"]
    assert told["certificates"]["with a relative gap above 1e-6"] == 0
    shown = told["results"]["mean error on unlabelled points, percent"]["digits 3-8"]
    assert list(shown) == list(TINY.methods)
    plan = replace(TINY, n_labeled=(20, 40, 60), n_tuning=1, n_fresh=4)
    errors = table.errors_of(table.measure(plan, measured(fits.work))[1])
    for method, by_labels in shown.items():
        for n_labeled, mean in by_labels.items():
            assert mean == pytest.approx(np.mean(list(errors["digits 3-8", int(n_labeled)][method].values())))


def test_literal_mutual_graph_has_a_zero_for_each_component(nowhere, tmp_path):
    report = run_table("spectrum_mutual", quick=True, data=nowhere, out=tmp_path, progress=False)
    text = report.text()
    assert "mutual 5-NN graph" in text
    assert "reproduced" not in " ".join(report.remarks)  # it judges no claim
    for task in ("digits 3-8", "digits 1-8"):
        X, _ = fits.samples(task, 400)
        W = knn_graph(X, n_neighbors=5, kind="mutual", weight="binary").toarray()
        seen, parts = set(), 0
        for start in range(len(W)):
            parts += start not in seen
            waiting = [] if start in seen else [start]
            while waiting:
                i = waiting.pop()
                seen.add(i)
                waiting += [j for j in np.flatnonzero(W[i]) if j not in seen]
        theta = np.linalg.eigvalsh(np.diag(W.sum(axis=1)) - W)[:60]
        assert f"{task}: {parts} components, {(theta < 1e-8).sum()} of 60 eigenvalues are zero." in text
    cells = table.Plan(("digits 3-8",), experiment="spectrum_mutual").cells()
    assert {cell.experiment for cell in cells} == {"spectrum_mutual"}


def test_figure_of_ranges_shows_the_counts(nowhere, beside_figure):
    told = beside_figure("spectrum_ranges")
    wins = told["results"]["wins"]
    assert [(each["w"], each["end"]) for each in wins] == [
        (w, end) for w in ("tuned", "1") for end in table.GRID["loss_weight"]
    ]
    assert {each["cells"] for each in wins} == {3}
    for w in ("tuned", "1"):
        counts = [each["SGT"] for each in wins if each["w"] == w]
        assert counts == sorted(counts)  # a longer range can only serve SGT
