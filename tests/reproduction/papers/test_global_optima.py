"""The table of global optima: its rows against the bounds, its arithmetic by hand."""

import numpy as np
import pytest

from reproduction.engine.records import Cell
from reproduction.methods import Method
from reproduction.papers import global_optima
from reproduction.papers.global_optima import METHODS, Problem, rows, summary, tasks
from specmargin.exceptions import DataNotFoundError
from specmargin.solvers.exact_s3vm.branch_and_bound import branch_and_bound


@pytest.mark.data
def test_rows_of_a_small_run(data_folder):
    problems = list(tasks(10, 1, data_folder))
    assert [task.seed for task in problems] == [0] * 4
    assert problems[0].name == "two moons"
    assert problems[2].name == ("USPST 2-7" if data_folder else "digits 2-7")
    table = rows(problems, [10.0])
    assert len(table) == 4 * len(METHODS)
    assert {row["solver"] for row in table} <= set(METHODS)
    for row in table:
        assert "failed" not in row
        assert row["proved"]
        assert row["bound"] <= row["optimum"] * (1 + 1e-9)
        assert row["optimum"] * (1 - 1e-6) <= row["flipped"] <= row["converged"] * (1 + 1e-9)
        assert row["converged"] <= row["objective"] * (1 + 1e-9)
        assert 0 <= row["error"] <= 100
    exact = branch_and_bound(problems[1].objective(10.0))
    optima = [row["optimum"] for row in table if row["task"] == problems[1].name]
    np.testing.assert_allclose(optima, exact.certificate.primal_objective, rtol=1e-6)
    lines = summary(table)
    assert len(lines) == len(METHODS)
    for line in lines:
        assert line["runs"] == 4
        assert line["hit"] <= line["hit_flipped"]


def test_failures_are_rows_too(rng, monkeypatch):
    task = Problem("noise", 3, rng.standard_normal((9, 2)), np.arange(9) % 2)

    def fails(obj):
        raise ValueError("not today")

    monkeypatch.setattr(global_optima, "METHODS", {"fails": Method(solver=fails)})
    (row,) = rows([task], [1.0])
    assert row["failed"] == "not today"
    assert row["proved"]
    assert summary([row]) == []


def test_summary_counts_hits_among_proved_problems():
    base = {"C": 1.0, "solver": "s", "proved": True, "optimum": 2.0}
    base |= {"error": 30.0, "error_flipped": 20.0, "error_optimum": 10.0}
    values = [(2.0, 2.0), (2.00001, 2.0), (2.1, 2.0), (3.0, 2.2)]
    table = [{**base, "converged": converged, "flipped": flipped} for converged, flipped in values]
    table.append({**base, "converged": 9.0, "flipped": 9.0, "proved": False})
    (line,) = summary(table)
    assert line["runs"] == 4
    assert line["hit"] == 50.0
    assert line["hit_flipped"] == 75.0
    assert line["gap"] == pytest.approx((0.0005 + 5.0) / 2, rel=1e-6)
    assert line["gap_flipped"] == 0.0
    assert (line["error"], line["error_flipped"], line["error_optimum"]) == (30.0, 20.0, 10.0)


def test_label_switching_ends_in_local_minima():
    def row(C, converged, proved=True, solver="label_switching", seed=0):
        of_run = {"C": C, "dataset": "d", "split": f"seed{seed}", "solver": solver}
        return {**of_run, "converged": converged, "optimum": 2.0, "proved": proved}

    local = [row(C, J, seed=seed) for seed in range(4) for C, J in ((1.0, 2.2), (1.0, 2.4), (100.0, 4.0))]
    others = [row(1.0, 2.0, proved=False), row(1.0, 2.0, solver="cccp")]
    (line,) = global_optima.judged([*local, *others])
    assert line.startswith("agrees: the TSVM ends in local minima")
    assert line.endswith("share 1.00 [0.60, 1.00]; 4 draws. Median excess 15.0 % with C = 1, 100.0 % with C = 100.")
    (line,) = global_optima.judged([row(C, 2.0 + 1e-6, seed=seed) for seed in range(4) for C in (1.0, 100.0)])
    assert line.startswith("differs")
    assert global_optima.judged(others) == []


def test_cell_of_a_missing_file_names_the_file(nowhere):
    parameters = {"C": 10.0, "n_unlabeled": 4, "seeds": 1, "time_limit": 1.0}
    with pytest.raises(DataNotFoundError, match="uspst"):
        global_optima.work(Cell("s3vm_optima", "all", "USPST 2-7", "seed0", parameters), data=nowhere)
    assert global_optima.work(Cell("s3vm_optima", "all", "digits 2-7", "seed0", parameters), data=nowhere)["proved"]
