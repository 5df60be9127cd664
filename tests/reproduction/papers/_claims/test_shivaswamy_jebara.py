"""Sentences of the paper put to errors whose verdict is known."""

import json

import pytest
from claim_rows import line_on

from reproduction.papers._claims import shivaswamy_jebara as claims
from reproduction.papers._claims.shivaswamy_jebara import sentences
from reproduction.papers._protocols.shivaswamy_jebara_fits import METHODS, PAPER

AS_PUBLISHED = {
    "Xu": 40.0,
    "Xu w=1": 41.0,
    "MKL-S": 30.0,
    "MKL-R": 29.0,
    "SGT": 20.0,
    "KTA-S": 15.0,
    "KTA-R": 14.0,
    "STOAM": 9.0,
    "STORM": 8.0,
    "diffusion": 25.0,
    "Gaussian field": 25.5,
    "geometric": 26.0,
    "ridge": 27.0,
    "Poisson": 28.0,
}


def cell(**means):
    """Errors on three splits, close enough together for every difference of one to be significant."""
    return {method: {f"s{i}": mean + 0.01 * i for i in range(3)} for method, mean in (AS_PUBLISHED | means).items()}


def verdict(text, *cells):
    return line_on(text, sentences(list(enumerate(cells)), list(METHODS))).split(":")[0]


def test_numbers_as_published_bear_out_every_claim():
    lines = sentences([(name, cell()) for name in "abc"], list(METHODS))
    assert [line.split(":")[0] for line in lines[1:-2]] == ["agrees"] * 7
    # STOAM is one point behind STORM in every cell, and therefore never among the best.
    assert lines[-2].startswith("differs: STORM and STOAM are more often best")
    assert "One of the two has the least mean error in 3 of 3 cells" in lines[-2]
    assert lines[-1].startswith("mean error over all cells: Xu 40.01, Xu w=1 41.01, MKL-S 30.01")


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("the order of the spectrum", {"MKL-S": 1.0}),
        ("the order of the spectrum", {"MKL-R": 1.0}),
        ("joint learning", {"KTA-R": 1.0}),
        ("spectral graph transducer", {"SGT": 1.0}),
        ("very poor", {"Xu": 29.0}),  # far from the best, but not beyond MKL-S
        ("very poor", {"Xu w=1": 1.0}),
        ("alignment beats", {"Gaussian field": 1.0}),
        ("alignment beats", {"diffusion": 1.0}),
        ("a relative margin", {"KTA-R": 16.0}),
        ("MKL is not competitive", {"MKL-S": 7.0}),
    ],
)
def test_a_conclusion_comes_out_each_way(text, means):
    assert verdict(text, cell(), cell()) == "agrees"
    assert verdict(text, cell(**means), cell(**means)) == "differs"


def test_how_often_a_method_is_best_is_counted_over_the_cells():
    text = "(table 3)"
    even = [cell(STOAM=8.0) for _ in range(4)]
    assert verdict(text, *even) == "agrees"
    assert verdict(text, *[cell(STOAM=9.0, SGT=1.0) for _ in range(4)]) == "differs"
    assert verdict(text, *even[:2], cell(SGT=1.0), cell(SGT=1.0)) == "inconclusive"
    line = line_on(text, sentences(list(enumerate([*even, cell(SGT=1.0)])), list(METHODS)))
    assert "least mean error in 4 of 5 cells and is not significantly worse than the best in 0 more" in line


def test_cells_of_a_task_are_no_draws_of_their_own():
    best, lost = cell(STOAM=8.0), cell(SGT=1.0)
    lines = sentences([(task, errors) for task in "abcd" for errors in (best, best, best, lost)], list(METHODS))
    assert "a task a draw, at least 0.02: " in line_on("(table 3)", lines)
    assert line_on("(table 3)", lines).split(". One of the two")[0].endswith("; 4 draws")


def test_certified_fits():
    def row(method, gap=1e-9, status="ok"):
        return {"status": status, "method": method, "fits": 10, "relative_gap": gap}

    rows = [row("STORM"), row("STOAM", -1e-7), row("MKL-S", 0.5), row("STORM", 0.5, status="failed")]
    (line,) = claims.certified(rows)
    assert line.startswith("agrees: the optimum of STORM and STOAM is the global one. Largest relative gap of 20 fits")
    assert line.endswith("at most 1e-06: gap 1.0e-07.")
    assert claims.certified([*rows, row("STORM", 1e-3)])[0].startswith("differs")


def test_failed_methods_are_left_out():
    lacking = cell()
    del lacking["STORM"]
    cells = [("a", cell()), ("b", lacking)]
    assert "Lower in 3 of 3 cells" in line_on("the order of the spectrum", sentences(cells, list(METHODS)))
    assert "mean error over all cells: Xu 40.01" in sentences(cells, list(METHODS))[-1]
    assert "no cell is complete" in sentences(cells[1:], list(METHODS))[-1]


def tuning_rows(dataset, errors, ends=(10.0, 1000.0, 1e6)):
    """Return two splits whose errors differ by one, with a list of errors by method; of the others one of 50."""
    rows = []
    for method in (*PAPER, "Xu w=1"):
        grid = {"loss_weight": list(ends)} if method == "SGT" else {"C": [1.0]}
        for k in (0, 1):
            of_split = [error + k for error in errors.get(method, [50.0])]
            row = {"method": method, "dataset": dataset, "split": f"s{k}", "param_n_labeled": 20, "status": "ok"}
            of_phase = {"param_phase": "tuning", "param_grid": json.dumps(grid), "errors": json.dumps(of_split)}
            rows += [row | of_phase, row | {"param_phase": "fresh", "error_unlabeled": 0.0}]
    return rows


def test_wins_are_counted_up_to_each_end_of_the_range():
    rows = tuning_rows("a", {"STORM": [9.0, 8.0], "SGT": [20.0, 10.0, 7.0], "Xu": [30.0], "Xu w=1": [31.0]})
    rows += tuning_rows("b", {"STOAM": [9.0], "SGT": [9.0, 12.0, 12.0], "KTA-R": [11.0], "Xu": [5.0], "Xu w=1": [40.0]})
    rows += tuning_rows("c", {"KTA-S": [3.0, 20.0], "SGT": [40.0, 40.0, 2.0], "Xu w=1": [60.0]})
    lost = [row | {"status": "failed"} if row["method"] == "MKL-S" else row for row in tuning_rows("d", {})]
    wins = claims.wins_by_range([*rows, *lost]).set_index(["w", "end"])
    assert list(wins) == ["STORM or STOAM", "SGT", "KTA", "MKL", "[9]", "cells"]
    assert wins.loc[("tuned", 10.0)].tolist() == [1, 0, 1, 0, 1, 3]
    assert wins.loc[("1", 10.0)].tolist() == [2, 1, 1, 0, 0, 3]  # equal on b: both count
    assert wins.loc[("1", 1000.0)].tolist() == [2, 1, 1, 0, 0, 3]
    assert wins.loc[("1", 1e6)].tolist() == [1, 3, 0, 0, 0, 3]
    judged, head, tuned, one = claims.told_wins([*rows, *lost])
    assert judged.startswith("inconclusive: STORM and STOAM perform much better than all the methods. ")
    assert ", at least 0.5: share 0.39 [0.00, 0.67]. In 0 to 2 of 3 cells, with SGT's" in judged
    assert "in its 3 cells with SGT's weight of the loss up to 10, 1000, 1e+06" in head
    assert one == "[9] at w 1: STORM or STOAM 2, 2, 1; SGT 1, 1, 3; KTA 1, 1, 0; MKL 0, 0, 0; [9] 0, 0, 0."
    assert tuned.startswith("[9] at w tuned: STORM or STOAM 1, 1, 0; SGT 0, 0, 2; KTA 1, 1, 0")
    assert claims.told_wins(lost) == claims.told_wins([]) == []
