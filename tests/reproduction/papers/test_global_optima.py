"""The study of global optima: proofs against enumeration, quantities by hand, intervals, and the proved problems."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from reproduction.data import DataNotFoundError
from reproduction.engine.equivalence import Interval
from reproduction.engine.records import Cell
from reproduction.methods import Method
from reproduction.papers import global_optima
from reproduction.papers._protocols import optima_archive
from reproduction.papers._protocols.optima_instances import (
    RESTARTED,
    SEARCHES,
    SETS,
    Problem,
    cross_validated,
    drawn,
    local_search,
    starts,
)
from reproduction.papers._protocols.optima_quantities import intervals, of_problem, quantities, verdict
from reproduction.papers._protocols.optima_report import answer, unproved
from reproduction.papers.global_optima import QUICK, Plan, judged, solved
from reproduction.recorded import read_record, recorded_folder
from specmargin.exceptions import InvalidInputError, SpecmarginError

RECORD = None if recorded_folder() is None else recorded_folder() / "s3vm_optima"


def trained(problem, signs):
    """Return the least J with given labels, -1 and +1, by L-BFGS on a convex function written down here."""
    X, target = problem.Z, 2.0 * problem.y - 1.0
    free = np.ones(len(X), dtype=bool)
    free[problem.labeled] = False
    balance = target[~free].mean()
    target[free] = signs
    A, weight = X - X[free].mean(axis=0), np.where(free, problem.C_star, problem.C)

    def J(w):
        slack = np.maximum(0.0, 1.0 - target * (A @ w + balance))
        return 0.5 * w @ w + weight @ slack**2, w - 2.0 * A.T @ (weight * target * slack)

    return minimize(J, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}).fun


def small(seed, C=3.0, C_star=2.0):
    rng = np.random.default_rng(seed)
    y = np.arange(12) % 2
    return Problem(rng.standard_normal((12, 3)) + 0.8 * y[:, None], y, np.arange(4), C, C_star)


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_all_labelings(seed):
    problem = small(seed)
    values = {signs: trained(problem, np.array(signs)) for signs in itertools.product((-1.0, 1.0), repeat=8)}
    least = min(values.values())
    row = solved(problem, 3)
    assert row["proved"]
    assert row["bound"] <= least * (1 + 1e-7)
    assert least * (1 - 1e-7) <= row["optimum"] <= least * (1 + 1e-3)
    signs = tuple(1.0 if sign == "+" else -1.0 for sign in row["labels"])
    assert values[signs] == pytest.approx(row["optimum"], rel=1e-6)
    assert row["error_optimum"] == problem.error(np.array(signs)) == row["minima"][0][1]
    assert row["plain_gap"] >= row["root_gap"] - 1e-9
    gaps = [gap for gap, _ in row["minima"]]
    assert gaps == sorted(gaps)
    assert gaps[0] == 0.0  # a point below the optimum would have a gap below zero
    known = sorted({round(value / row["optimum"] - 1.0, 6) for value in values.values()})
    assert all(min(abs(np.array(known) - gap)) < 1e-5 for gap in gaps)
    assert row["found"].keys() == SEARCHES.keys()
    assert {name: len(each) for name, each in row["found"].items()} == {
        name: 3 if name in RESTARTED else 1 for name in SEARCHES
    }


def test_a_bound_above_a_point_is_an_alarm(monkeypatch):
    exact = global_optima.branch_and_bound

    def wrong(obj, *args, **options):
        result = exact(obj, *args, **options)
        worse = replace(result.certificate, dual_objective=1.01 * result.certificate.primal_objective)
        return replace(result, certificate=worse)

    monkeypatch.setattr(global_optima, "branch_and_bound", wrong)
    with pytest.raises(SpecmarginError, match="lies above the value"):
        solved(small(0), 1)


def test_what_was_not_proved_is_not_called_so(monkeypatch):
    row = solved(small(1, C=100.0, C_star=100.0), 1, max_nodes=1)
    assert row["proved"] == (row["optimum"] - row["bound"] <= 1e-3 * row["optimum"])
    stopped = row | {"proved": False, "relative_gap": 0.2, "status": "ok"}
    assert quantities([stopped]).empty
    assert unproved([stopped, row]).startswith("1 of 2 problems are not proved, with a median gap of 20.0 %")


def test_a_search_that_fails_is_named(monkeypatch):
    def fails(obj, w=None):
        raise ValueError("not today")

    searches = {"fails": Method(solver=fails), "retraining": SEARCHES["retraining"]}
    monkeypatch.setattr(global_optima, "SEARCHES", searches)
    row = solved(small(2), 1)
    assert row["failures"] == ["fails: not today"]
    assert row["found"]["fails"] == [None]
    assert row["proved"]


def row_of(minima, own=1, lowest=0, **more):
    """Return a row whose searches end in the minimum `own`, and at best in `lowest`."""
    ends = {name: [own, lowest] if name in RESTARTED else [own] for name in SEARCHES}
    row = {"minima": minima, "found": ends, "error_optimum": minima[0][1], "error_supervised": 40.0}
    row |= {"dataset": "a", "split": "draw0", "param_share": 0.1, "param_kernel": "rbf", "param_weight": "equal"}
    row |= {"param_n": 40, "C": 1.0, "features": 9, "proved": True, "status": "ok", "relative_gap": 1e-3}
    return row | more


def test_quantities_by_hand():
    one = of_problem(row_of([[0.0, 10.0], [0.0005, 20.0], [0.02, 5.0], [0.3, 60.0]], own=2, lowest=1))
    assert one["best"] == -10.0
    assert one["missed"] == 0.0
    assert "best where missed" not in one
    assert (one["search cccp"], one["lowest cccp"], one["search annealing"]) == (5.0, -10.0, 5.0)
    assert (one["search hit cccp"], one["lowest hit cccp"]) == (0.0, 1.0)
    assert one["supervised"] == -30.0
    assert one["correlation"] == pytest.approx(0.4)
    assert one["correlation near"] == pytest.approx(-0.5)
    assert "correlation own" not in one
    assert one["pairs"] == pytest.approx(2 / 5)  # the first two are the same up to the proof
    assert one["pairs near"] == 1.0
    assert [one.get(f"profile {k}") for k in range(5)] == [10.0, None, -5.0, None, 50.0]
    missed = of_problem(row_of([[0.0, 10.0], [0.02, 30.0], [0.03, 20.0]], own=2, lowest=1))
    assert (missed["missed"], missed["best where missed"]) == (1.0, -20.0)
    assert of_problem(row_of([[0.0, 10.0], [0.02, 10.0]]))["pairs"] == 0.5


def test_a_gap_of_the_wrong_sign_is_noticed():
    """Minima that err the more the higher they lie: everything speaks for the optimum, and against it when turned."""
    rising = [[0.0, 5.0], [0.01, 10.0], [0.02, 15.0], [0.3, 40.0]]
    falling = [[gap, 45.0 - error] for gap, error in rising]
    up, down = of_problem(row_of(rising, lowest=1)), of_problem(row_of(falling, lowest=1))
    assert (up["correlation"], up["pairs"], np.sign(up["best"]), np.sign(up["profile 4"])) == (1.0, 0.0, -1.0, 1.0)
    turned = (down["correlation"], down["pairs"], np.sign(down["best"]), np.sign(down["profile 4"]))
    assert turned == (-1.0, 1.0, 1.0, -1.0)


def test_limits_are_those_of_sets_and_draws():
    rng = np.random.default_rng(0)
    names = [(f"s{k}", f"draw{j}") for k in range(30) for j in range(4)]
    level = dict(zip({name for name, _ in names}, rng.standard_normal(30), strict=True))
    rows = [{"dataset": name, "split": split, "x": level[name]} for name, split in names for _ in range(5)]
    import pandas as pd

    of = intervals(pd.DataFrame(rows), ["x", "none"])
    assert of.keys() == {"x"}
    values = np.array(list(level.values()))
    expected = 1.96 * values.std() / np.sqrt(30)  # that of thirty sets, however many problems of each
    assert of["x"].mean == pytest.approx(values.mean())
    assert (of["x"].high - of["x"].low) / 2 == pytest.approx(expected, rel=0.1)
    assert of["x"].n == 600
    one = intervals(pd.DataFrame(rows[:20]), ["x"])["x"]
    assert one.low == pytest.approx(one.high)


def many(minima, own, n=40):
    return [row_of(minima, own=own, lowest=own, dataset=f"s{k % 5}", split=f"draw{k // 5}") for k in range(n)]


@pytest.mark.parametrize(
    ("minima", "own", "words"),
    [
        ([[0.0, 5.0], [0.02, 10.0], [0.3, 40.0]], 1, "errs less than the best answer"),
        ([[0.0, 15.0], [0.02, 10.0], [0.3, 40.0]], 1, "errs more than the best answer"),
        ([[0.0, 15.0], [0.02, 10.0], [0.3, 40.0]], 0, "errs like the best answer"),
    ],
)
def test_the_answer_says_what_was_found_whichever_way(minima, own, words):
    first, second, third = answer(quantities(many(minima, own)))
    assert first.startswith("On 40 proved problems of 5 pairs of classes the optimum " + words)
    assert second.count("(") == 1 + len(SEARCHES)  # what is measured, and each search
    assert third.startswith("Within a problem gap and error correlate by ")


def test_few_problems_are_not_judged():
    assert verdict(Interval(-1.0, -2.0, -0.5, 3)) == "not judged"


def test_label_switching_ends_in_local_minima():
    above = [
        row_of([[0.0, 5.0], [gap, 6.0]], C=C, split=f"draw{k}")
        for k in range(4)
        for gap, C in ((0.1, 1.0), (0.2, 100.0))
    ]
    (line,) = judged([*above, row_of([[0.0, 5.0]], own=0, proved=False)])
    assert line.startswith("agrees: the TSVM ends in local minima")
    assert line.endswith("share 1.00 [0.60, 1.00]; 4 draws. Median excess 15.0 %, 20.0 % with C above 10.")
    (line,) = judged([row_of([[0.0, 5.0]], own=0, split=f"draw{k}") for k in range(4)])
    assert line.startswith("differs")


def test_problems_are_made_alike_each_time():
    one, more = (drawn("digits 3-8", 24, share, "rbf", "ratio", 1) for share in (0.1, 0.3))
    np.testing.assert_array_equal(one.Z, drawn("digits 3-8", 24, 0.1, "rbf", "equal", 1).Z)
    assert set(one.labeled) < set(more.labeled)
    assert set(one.y[one.labeled]) == {0, 1}
    assert more.C_star == pytest.approx(more.C * len(more.labeled) / (24 - len(more.labeled)))
    assert (drawn("digits 3-8", 24, 0.1, "rbf", "ratio", 2).rows != one.rows).any()
    with pytest.raises(InvalidInputError, match="n=999"):
        drawn("digits 3-8", 999, 0.1, "rbf", "ratio", 1)


def test_folds_choose_the_middle_one_of_the_best():
    rng = np.random.default_rng(3)
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    X = y[:, None] * [3.0, 0.0] + 0.1 * rng.standard_normal((12, 2))
    assert cross_validated(X @ X.T, y) == pytest.approx(10**0.5)  # every C separates: the middle of 0.1 to 100


def test_starts_are_the_own_one_and_random_ones():
    problem = small(0)
    first, *others = starts(problem, local_search(problem), 4)
    assert first is None
    assert len(others) == 3
    assert len({tuple(np.round(w, 9)) for w in others}) > 1


def test_cell_of_a_missing_file_names_the_file(nowhere):
    with pytest.raises(DataNotFoundError, match="uspst"):
        global_optima.work(Plan(("USPST 2-7",)).cells()[0], data=nowhere)
    row = global_optima.work(QUICK.cells()[0], data=nowhere)
    assert row["proved"]


def test_cells_of_a_draw_are_all_problems():
    cells = Plan(sizes=(50, 40)).cells()
    assert len(cells) == len(set(cells)) == 2 * 15 * 3 * 2 * 2
    assert all(isinstance(cell, Cell) and cell.split == "draw0" for cell in cells[:180])


@pytest.fixture(scope="module")
def proved():
    if RECORD is None or not (RECORD / optima_archive.FILE).is_file():
        pytest.skip("the records are in the checkout alone")
    with np.load(RECORD / optima_archive.FILE, allow_pickle=False) as file:
        return SimpleNamespace(**{name: file[name] for name in file.files})


def test_the_proved_problems_are_those_of_the_record(proved):
    rows = [row for row in read_record(RECORD).rows() if row["proved"]]
    assert len(rows) == len(proved.optimum)
    assert (RECORD / optima_archive.FILE).stat().st_size < 1 << 20
    assert (proved.optimum - proved.bound <= 1e-3 * proved.optimum).all()
    assert (proved.bound <= proved.optimum).all()
    np.testing.assert_array_equal(proved.optimum, [row["optimum"] for row in rows])
    for row, labels, labeled in zip(rows, proved.labels, proved.labeled, strict=True):
        hidden = labels[~labeled & (labels != 0)]
        assert "".join("+" if label > 0 else "-" for label in hidden) == row["labels"]
    assert set(proved.set) <= set(SETS)


def again(proved, k, data=None):
    """Make one of the problems again and return J of its labels, trained here."""
    name, kernel, weight = (str(each[k]) for each in (proved.set, proved.kernel, proved.weight))
    n = int(np.count_nonzero(proved.labels[k]))
    problem = drawn(name, n, float(proved.share[k]), kernel, weight, int(proved.draw[k]), data)
    np.testing.assert_array_equal(problem.rows, proved.rows[k, :n])
    np.testing.assert_array_equal(problem.labeled, np.flatnonzero(proved.labeled[k]))
    assert (problem.C, problem.C_star) == pytest.approx((proved.C[k], proved.C_star[k]))
    return trained(problem, proved.labels[k, :n][~proved.labeled[k, :n]])


def test_an_optimum_has_its_value_again_from_its_labels(proved):
    bundled = np.flatnonzero(np.char.startswith(proved.set, "digits"))
    for k in bundled[:: max(1, len(bundled) // 4)]:
        assert again(proved, k) == pytest.approx(proved.optimum[k], rel=1e-6)


@pytest.mark.slow
def test_the_search_by_parabolas_proves_the_same_optima(proved):
    """With a log of the proof branch and bound goes another way: other relaxations, other bounds."""
    bundled = np.flatnonzero(np.char.startswith(proved.set, "digits"))
    for k in bundled[:: max(1, len(bundled) // 4)]:
        settings = (str(proved.kernel[k]), str(proved.weight[k]), int(proved.draw[k]))
        n = int(np.count_nonzero(proved.labels[k]))
        obj = drawn(str(proved.set[k]), n, float(proved.share[k]), *settings).objective
        other = global_optima.branch_and_bound(obj, tol=1e-3, log=True).certificate
        assert other.is_optimal(1e-3)
        assert other.dual_objective <= proved.optimum[k] * (1 + 1e-9)
        assert proved.bound[k] <= other.primal_objective * (1 + 1e-9)


@pytest.mark.data
@pytest.mark.slow
def test_every_optimum_has_its_value_again(proved, real_data):
    for k in range(len(proved.optimum)):
        assert again(proved, k, real_data) == pytest.approx(proved.optimum[k], rel=1e-5)
