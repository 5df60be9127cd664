"""The table of failures: programs that their names draw again, what a row is counted as, and the table of made-up rows.

And the random problems and the generated graph of the benchmark of spectral filters.

The scripts in `benchmarks` are run by `make bench`; here is what they rest on.
"""

import importlib
import json
import math
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import specmargin as sm

FOLDER = str(Path(__file__).resolve().parents[1] / "benchmarks")


@pytest.fixture(scope="module")
def bench():
    """The modules of the table, imported as the scripts import them."""
    sys.path.insert(0, FOLDER)
    try:
        yield importlib.import_module("failures")
    finally:
        sys.path.remove(FOLDER)


@pytest.fixture
def row(bench):
    """An answer that is proved to 1e-9 and claimed to be optimal."""
    return bench.Row(
        key="SVM/0", family="SVM", kind="QP", regime="ties", size=20, solver="A", setting="default", end="answer",
        claimed="optimal", gap=1e-9, rounding=1e-15, primal=1.0, dual=1.0, seconds=0.2, own_seconds=0.1,
    )  # fmt: skip


def test_there_are_a_thousand_programs_and_half_of_them_at_an_edge(bench):
    programs = bench.programs
    some = programs.instances()
    kinds = Counter(programs.FAMILIES[instance.family].kind for instance in some)
    assert kinds["QP"] + kinds["QCQP"] == 1000
    assert len({instance.key for instance in some}) == len(some)
    assert sum(instance.regime == programs.PAPERS for instance in some) == len(some) / 2
    assert {instance.family for instance in some[:24]} == set(programs.FAMILIES)  # what --quick looks at
    for name, family in programs.FAMILIES.items():
        assert {i.regime for i in some if i.family == name} == {programs.PAPERS, *family.edges}


def test_a_name_draws_its_program_again_and_another_one_another(bench):
    programs = bench.programs
    for name in programs.FAMILIES:
        first, again = (programs.Instance(name, programs.PAPERS, 1).program() for _ in range(2))
        other = programs.Instance(name, programs.PAPERS, 2).program()
        values = [p.ours().certificate.primal_objective for p in (first, again, other)]
        assert values[0] == values[1]
        assert values[0] != values[2]


def test_ours_and_cvxpy_solve_the_same_program(bench):
    programs = bench.programs
    for name in programs.FAMILIES:
        program = programs.Instance(name, programs.PAPERS, 1).program()
        ours, built = program.ours(), program.built()
        theirs = sm.solve(built)
        assert theirs.certificate.is_optimal(1e-4), theirs
        assert ours.certificate.is_optimal(1e-8), ours
        values = [result.certificate.primal_objective for result in (ours, theirs)]
        np.testing.assert_allclose(values[0], values[1], rtol=2e-4)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"tight", "loose"}),
        ({"gap": 1e-7}, {"loose"}),
        ({"gap": 1e-4}, {"loose"}),
        ({"gap": 1e-3}, {"false_optimal"}),
        ({"gap": -1e-3}, {"false_optimal"}),
        ({"gap": math.nan}, {"false_optimal"}),
        ({"gap": math.inf}, {"false_optimal"}),
        ({"gap": 1e-3, "primal": 1.01}, {"false_optimal", "wrong"}),
        ({"gap": 1e-3, "primal": 0.99, "sense": "maximize"}, {"false_optimal", "wrong"}),
        ({"gap": 1e-3, "primal": 1.01, "sense": "maximize"}, {"false_optimal"}),
        ({"gap": 1e-3, "claimed": "optimal_inaccurate"}, set()),
        ({"claimed": "optimal_inaccurate"}, {"tight", "loose", "pessimistic"}),
        ({"claimed": "user_limit", "gap": 1e-5}, {"loose"}),
        ({"end": "failed", "claimed": "infeasible", "gap": math.inf}, {"denied"}),
        ({"end": "failed", "claimed": "unbounded_inaccurate", "gap": math.inf}, {"denied"}),
        ({"end": "failed", "claimed": "solver_error", "gap": math.inf}, {"nothing"}),
        ({"end": "error", "claimed": "", "gap": math.nan}, {"nothing"}),
        ({"end": "crash", "claimed": "", "gap": math.nan}, {"crash"}),
        ({"end": "timeout", "claimed": "", "gap": math.nan}, {"timeout"}),
    ],
)
def test_what_a_row_is_counted_as(bench, row, changes, expected):
    verdict = bench.verdicts.judged(replace(row, **changes), best=1.0)
    assert {name for name in verdict.__dataclass_fields__ if getattr(verdict, name)} == expected


def test_the_best_bound_is_the_highest_that_a_sound_certificate_proved(bench, row):
    rows = [replace(row, dual=0.9), replace(row, dual=0.95), replace(row, dual=2.0, gap=-1.0)]
    rows += [replace(row, dual=math.inf), replace(row, dual=3.0, end="failed")]
    assert bench.verdicts.best_bounds(rows) == {"SVM/0": 0.95}
    rows = [replace(row, dual=0.9, sense="maximize"), replace(row, dual=0.95, sense="maximize")]
    assert bench.verdicts.best_bounds(rows) == {"SVM/0": 0.9}


def test_table_of_made_up_rows(bench, row):
    ours = replace(row, solver=bench.OURS, seconds=0.1)
    rows = [replace(row, key="SVM/1", gap=1e-3, seconds=9.0), row, ours]
    text = bench.verdicts.table(
        rows, {"SVM/0": 1.0, "SVM/1": 0.5}, dict.fromkeys([("SVM/0", "default"), ("SVM/1", "default")], 0.1)
    )
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert lines[0][:6] == ["solver", "setting", "programs", "<= 1e-8", "<= 1e-4", "time"]
    assert lines[2] == [bench.OURS, "default", "1", "100", "100", "1", "1", "0", "0", "0", "0", "0", "0", "0"]
    assert lines[3] == ["A", "default", "2", "50.0", "50.0", "2", "1", "1", "1", "0", "0", "0", "0", "0"]
    assert "| 50.0 / 50.0 |" in bench.verdicts.shares(rows, "regime")
    assert bench.verdicts.exceptions(rows) == "None."
    short = [replace(ours, gap=1e-7, rounding=9e-8), replace(ours, gap=1e-3, rounding=2e-8, key="SVM/1")]
    lines = bench.verdicts.exceptions([*short, replace(row, key="SVM/1", gap=1e-6)]).splitlines()
    assert lines[0].endswith("allowance 9.0e-08: rounding.")
    assert lines[1].endswith("allowance 2.0e-08: not rounding; best of the others 1.0e-06 (A, default).")
    ended = [
        replace(row, end="crash"),
        replace(row, end="crash", key="SVM/1"),
        replace(row, end="error", message="why"),
    ]
    assert bench.verdicts.ends(ended) == (
        "- A, default, 2 x, `SVM/0` for one: the process ended\n- A, default, 1 x, `SVM/0` for one: why"
    )


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 0, "-"), (0, 9, "0"), (9, 9, "100"), (1, 3, "33.3"), (1, 9999, "0.1"), (9998, 9999, "99.9")],
)
def test_a_share_is_100_or_0_where_it_is_all_or_none_only(bench, part, whole, text):
    assert bench.verdicts.percent(part, whole) == text


def test_rows_are_taken_up_again_but_those_of_another_plan_and_a_line_that_was_cut(bench, row, tmp_path):
    record = tmp_path / "failures.jsonl"
    mine, other = replace(row, plan=bench.plan(), gap=math.nan), replace(row, plan="another")
    lines = [json.dumps(some.record()) for some in (mine, other)]
    record.write_text("\n".join([*lines, lines[0][:40]]), encoding="utf-8")
    assert [some.plan for some in bench.kept(record)] == [bench.plan()]
    assert list(bench.kept(tmp_path / "none.jsonl")) == []


def test_a_solve_that_takes_too_long_or_ends_its_process_becomes_a_row(bench, monkeypatch):
    instance = bench.programs.Instance("SVM, RMM", bench.programs.PAPERS, 0)
    monkeypatch.setattr(bench, "LIMIT", 0.5)
    usual = bench.outcome
    for end, act in (("timeout", "while True: pass"), ("crash", "import os; os._exit(3)")):
        monkeypatch.setattr(bench, "outcome", lambda *given, act=act: exec(act) if "tol" in given[2] else usual(*given))
        worker = bench.Worker()
        assert worker.solve(instance, bench.OURS, "tight").end == end
        row = worker.solve(instance, bench.OURS, "default")  # by the process that came after
        worker.end()
        assert row.end == "answer"
        assert 0 <= row.gap <= 1e-8
        assert row.size == instance.program().size


def test_an_exception_of_a_solver_becomes_a_row(bench):
    program = bench.programs.Instance("the same, literal", bench.programs.PAPERS, 0).program()
    found = bench.outcome(program, "OSQP", {})  # which takes no cones
    assert found["end"] in ("error", "failed")
    assert found["message"]


@pytest.fixture(scope="module")
def filters():
    """The benchmark of spectral filters, imported as its script."""
    sys.path.insert(0, FOLDER)
    try:
        yield importlib.import_module("spectral_filters")
    finally:
        sys.path.remove(FOLDER)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(12), 60, 79, 114, 135, 203])
def test_random_problems_over_blocks_are_proved_and_small_ones_agree_with_cvxpy(filters, seed):
    """The larger seeds took the most steps, lost digits, or ran away from another start."""
    obj = filters.draw(seed)
    result = filters.block_margin(obj)
    assert result.certificate.is_optimal(1e-8)
    if obj.labels.n_labeled <= filters.SMALL:
        value, _ = filters.by_cvxpy(obj, **filters.TIGHT)
        assert value == pytest.approx(result.certificate.primal_objective, rel=1e-6)


def test_the_block_model_has_the_degree_and_the_homophily_it_was_asked_for(filters):
    nodes = filters.block_model(4000, 30, n_classes=4, degree=10, homophily=0.7)
    assert abs(nodes.W - nodes.W.T).max() == 0
    assert nodes.W.diagonal().max() == 0
    assert nodes.W.sum() / 4000 == pytest.approx(10, rel=0.02)
    edges = nodes.W.tocoo()
    assert np.mean(nodes.truth[edges.row] == nodes.truth[edges.col]) == pytest.approx(0.7, abs=0.02)
    assert np.bincount(nodes.y[nodes.y >= 0]).tolist() == [20] * 4
    means = np.array([nodes.X[nodes.truth == k].mean(axis=0) for k in range(4)])
    assert 0.7 < np.linalg.norm(means, axis=1).mean() < 2.5
