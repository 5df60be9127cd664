"""The table of the root's gaps: bounds of all stages against enumeration and CVXPY, parts, and the recorded rows."""

import itertools
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from reproduction.engine.records import Cell
from reproduction.papers import root_gaps, run_table
from reproduction.papers._protocols.optima_instances import Problem
from reproduction.papers.root_gaps import PARTS, QUICK, STAGES, Plan, measured, parts_of, quantities, rank, stages
from reproduction.recorded import read_record, recorded_folder
from specmargin.exceptions import SpecmarginError
from specmargin.optima import s3vm_relaxation
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.pivoting import LabelPrograms

RECORDED = recorded_folder()


def small(seed, C=3.0, C_star=2.0, u=8):
    rng = np.random.default_rng(seed)
    y = np.arange(u + 4) % 2
    return Problem(rng.standard_normal((u + 4, 3)) + 0.8 * y[:, None], y, np.arange(4), C, C_star)


def optimum(space):
    """The best point of all labelings, by the program of each."""
    programs, best = LabelPrograms(space), None
    for signs in itertools.product((-1.0, 1.0), repeat=len(space.free)):
        labels = space.y.copy()
        labels[space.free] = signs
        point = programs.solve(labels)
        best = point if best is None or point.value < best.value else best
    return best


CASES = [(seed, C, excess) for seed in range(4) for C in (0.5, 5.0) for excess in (1.0, 1.1)]


@pytest.mark.parametrize(("seed", "C", "excess"), CASES)
def test_no_stage_proves_more_than_the_optimum_and_every_box_holds_it(seed, C, excess):
    space = MarginSpace.of(small(seed, C, C).objective)
    best = optimum(space)
    lowers = []
    for name, root in stages(space, best.value * excess):
        lowers.append(root.proved)
        assert root.proved <= best.value * (1 + 1e-9), name
        if np.isfinite(root.lower):
            assert (root.box.low <= best.x + 1e-7).all()
            assert (best.x <= root.box.high + 1e-7).all()
            fixed = root.box.labels != 0
            assert (root.box.labels[fixed] == best.labels[fixed]).all()
    assert len(lowers) == len(STAGES)
    assert lowers == sorted(lowers)


def test_every_stage_gains_where_there_is_something_to_gain():
    gains = []
    for seed in range(6):
        space = MarginSpace.of(small(seed, 3.0, 3.0, u=9).objective)
        best = optimum(space).value
        gains.append(np.diff([1 - root.proved / best for _, root in stages(space, best * 1.3)]) < -1e-3)
    assert np.array(gains).any(axis=0).all()


@pytest.mark.parametrize("seed", range(4))
def test_stages_are_at_least_what_cvxpy_finds_in_simple_boxes(seed):
    obj = small(seed, 3.0, 3.0).objective
    level = optimum(MarginSpace.of(obj)).value * 1.3
    bounds = {name: root.proved for name, root in stages(MarginSpace.of(obj), level)}
    plain = cp.Problem.solve(s3vm_relaxation(obj).problem, solver=cp.CLARABEL)
    assert bounds["plain"] == pytest.approx(plain, rel=3e-3)
    assert bounds["plain"] <= plain * (1 + 1e-6)
    for name in ("diagonal", "products", "triangles"):
        value = s3vm_relaxation(obj, cuts=name, level=level).problem.solve(solver=cp.CLARABEL)
        assert bounds[name] >= min(value, level * 0.999) * (1 - 3e-3)


def test_a_bound_above_the_optimum_is_an_alarm():
    problem = small(0)
    value = optimum(MarginSpace.of(problem.objective)).value
    row = measured(problem, value, value)
    assert (row["l"], row["u"], row["C"], row["rank"]) == (4, 8, 3.0, 3)
    gaps = [row[f"gap_{name}"] for name in STAGES]
    proved = [root.proved for _, root in stages(MarginSpace.of(problem.objective), value)]
    assert gaps == pytest.approx([(value - bound) / value for bound in proved], rel=1e-9, abs=1e-12)
    assert gaps == sorted(gaps, reverse=True)
    assert row["seconds_plain"] <= row["seconds_triangles"]
    with pytest.raises(SpecmarginError, match="lies above the value"):
        measured(problem, value * 0.3, value)


def test_rank_counts_what_makes_up_the_trace():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((9, 5)) * [10.0, 5.0, 1.0, 0.1, 1e-5]
    values = np.sort(np.linalg.eigvalsh(Z @ Z.T))[::-1]
    assert values[: rank(Z)].sum() >= 0.99 * values.sum() > values[: rank(Z) - 1].sum()
    assert rank(np.ones((4, 1))) == 1


def row_of(gaps, dataset="a", split="draw0", **more):
    told = {f"gap_{name}": gap for name, gap in zip(STAGES, gaps, strict=True)}
    told |= {f"{kind}_{name}": 0.5 for kind in ("fixed", "seconds") for name in STAGES}
    told |= {"dataset": dataset, "split": split, "param_n": 40, "param_share": 0.1, "param_kernel": "rbf"}
    return told | {"param_weight": "equal", "C": 1.0, "dimension": 3, "rank": 30, "status": "ok"} | more


def test_quantities_and_parts_by_hand():
    rows = [
        row_of([0.2, 0.1, 0.05, 0.002, 0.001]),
        row_of([0.0005] * 5, C=11.0, dimension=2, rank=37),
        row_of([0.4] * 5, C=0.5, dimension=65, rank=2),
        row_of([0.4] * 5, status="failed"),
    ]
    frame = quantities(rows)
    assert list(frame["gap_boxes"]) == pytest.approx([10.0, 0.05, 40.0])
    assert list(frame["closed_diagonal"].fillna(-1)) == pytest.approx([75.0, -1.0, 0.0])
    assert list(frame["part dimension"]) == ["3 to 34 features", "up to 2 features", "above 64 features"]
    assert list(frame["part rank"]) == ["rank 21 to 36", "rank above 36", "rank up to 2"]
    assert list(frame["part C"]) == ["C from 1 to 10", "C above 10", "C below 1"]
    assert set(frame["part all"]) == {"all problems"}
    names = [part for by, part, _ in parts_of(frame) if by == "dimension"]
    assert names == ["up to 2 features", "3 to 34 features", "above 64 features"]
    assert {by for by, *_ in parts_of(frame)} == set(PARTS)


def test_the_report_says_what_the_rows_say():
    rows = [row_of([0.2, 0.1, 0.05, 0.002, 0.001], f"s{k % 4}", f"draw{k // 4}", param_share=0.1) for k in range(12)]
    rows += [row_of([0.4, 0.3, 0.2, 0.15, 0.1], f"s{k % 4}", f"draw{k // 4}", param_share=0.3) for k in range(4)]
    findings = root_gaps._report(rows, None, SimpleNamespace())
    gaps, closed, costs = (section.lines for section in findings.sections)
    of = {(line.dataset, line.method): line for line in gaps}
    assert of["30 % labels", "with boxes"].mean == pytest.approx(30.0)
    assert of["all problems", "with triangle inequalities"].mean == pytest.approx((12 * 0.1 + 4 * 10) / 16)
    assert of["all problems", "with triangle inequalities"].note.endswith(
        "median 0.1 %, half of them from 0.1 to 2.6 %; at most 0.1 % in 75 %"
    )
    of = {(line.dataset, line.method): line for line in closed}
    assert of["all problems", "with boxes"].mean == pytest.approx((12 * 50 + 4 * 25) / 16)
    assert ("all problems", "plain relaxation") not in of
    assert [line.mean for line in costs] == [0.5] * 5
    first, second, third = findings.remarks
    assert "falls from 20.0 % (plain relaxation) to 10.0 % (with boxes), 5.0 % (with diagonal cuts), 0.2 %" in first
    assert first.endswith("0 %, 0 %, 0 %, 0 % and 75 % of the problems.")
    assert "43.8 [" in second
    assert third.endswith("most by labels: mean gaps of 0.1 % (10 % labels), 10.0 % (30 % labels).")


def test_the_incumbent_is_the_lowest_answer_of_the_searches():
    row = {"optimum": 2.0, "minima": [[0.0, 5.0], [0.1, 5.0], [0.2, 6.0]], "found": {"a": [None, 2], "b": [1]}}
    assert root_gaps._values(row) == {"optimum": 2.0, "incumbent": pytest.approx(2.2)}
    params = {"param_n": 24, "param_share": 0.2, "param_kernel": "rbf", "param_weight": "equal"}
    row |= {"dataset": "digits 3-8", "status": "ok", "proved": True} | params
    rows = [row | {"split": f"draw{k}", "proved": k != 1} for k in (4, 2, 1, 0)]
    cells = Plan(rows).cells()
    assert [cell.split for cell in cells] == ["draw0", "draw2"]
    assert cells[0].parameters["incumbent"] == pytest.approx(2.2)


def test_the_quick_table_is_made_without_records(nowhere, tmp_path, monkeypatch):
    monkeypatch.setattr(root_gaps, "recorded_folder", lambda: None)
    report = run_table("s3vm_tightness", quick=True, data=nowhere, out=tmp_path, progress=False)
    assert report.header[1].startswith("16 proved problems of 2 pairs of classes")
    with pytest.raises(SpecmarginError, match="pass --quick"):
        run_table("s3vm_tightness", data=nowhere, out=tmp_path, progress=False)
    assert all(isinstance(cell, Cell) and "optimum" not in cell.parameters for cell in QUICK.cells())


def test_the_recorded_gaps_are_those_of_the_table_of_optima():
    """There the plain relaxation is another program, solved by another method: a barrier over w, not over x."""
    if RECORDED is None or not (RECORDED / "s3vm_tightness").is_dir():
        pytest.skip("the records are in the checkout alone")
    rows = pd.DataFrame(read_record(RECORDED / "s3vm_tightness").rows())
    optima = pd.DataFrame(read_record(RECORDED / "s3vm_optima").rows())
    at = ["dataset", "split", "param_n", "param_share", "param_kernel", "param_weight"]
    both = rows.merge(optima, on=at, suffixes=("", " of optima"), validate="one_to_one")
    assert len(both) == len(rows) >= 500
    assert (both["param_optimum"] == both["optimum"]).all()
    assert both["proved"].all()
    assert np.abs(both["gap_plain"] - both["plain_gap"]).max() < 3e-3
    for before, after in itertools.pairwise(STAGES):
        assert (both[f"gap_{after}"] <= both[f"gap_{before}"]).all()
    assert (both["gap_triangles"] >= 0).all()
    # What the root of the search proved, with at most as many products, and other incumbents.
    assert both["gap_triangles"].median() <= both["root_gap"].median() + 1e-4
