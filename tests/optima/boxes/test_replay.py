"""Logs of exact searches in x are replayed; what was tampered with is refused, and no bound exceeds the optimum."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flint")
import box_runs
from box_runs import LOG, OPTIONS, changed, searched, tampered
from flint import arb, ctx
from margin_problems import enumerated

import specmargin as sm
from cvxproof.proofs.balls import BITS, ZERO, Refuted, balls, outward
from cvxproof.proofs.record import ProofRecord
from specmargin.optima import BoxLog
from specmargin.optima.boxes import nodes as box_nodes
from specmargin.optima.boxes import replay as module
from specmargin.optima.boxes.margin_space import MarginSpace, Quadratic
from specmargin.optima.boxes.replay import Box, replay
from specmargin.optima.records import tree_record_of
from specmargin.proofs.files import verify_file

FAST, SLOW = range(8), range(12, 76)


@pytest.fixture(autouse=True)
def precision() -> Any:
    with ctx.workprec(BITS):
        yield


def check(i: int, u: int, **options: Any) -> ProofRecord:
    """The log of a problem proves what is claimed, which is no more than the optimum over all labelings."""
    obj, result = searched(i, u, **options)
    record = tree_record_of(obj, result)
    verification = replay(record)
    assert verification, (i, verification.message)
    optimum = enumerated(MarginSpace.of(obj))[1].min()
    assert record.claim.dual <= verification.bound[1] <= optimum * (1 + 1e-9), i
    assert verification.primal[0] >= optimum * (1 - 1e-9), i
    assert verification.gap[1] <= record.claim.gap * (1 + 1e-9) + 1e-15, i
    return record


@pytest.mark.parametrize("i", FAST)
def test_logs_prove_bounds_below_the_optimum(i: int) -> None:
    like = check(i, 5, poorly=i % 4 != 3).arrays["like"]
    assert i % 4 or (like < np.arange(len(like))).any()  # labels below J less products


@pytest.mark.slow
def test_logs_of_many_problems_prove_bounds_below_the_optimum() -> None:
    records = [check(i, 3 + i % 6, poorly=i % 5 != 4, tol=(1e-2, 1e-3, 1e-6)[i % 3]) for i in SLOW]
    assert sum(len(record.arrays["parent"]) > 0 for record in records) > 40
    assert len(records) == 64


def kinds_of_tampering(problems: Any, u: int) -> Counter[str]:
    """Tamper with the logs of problems; what was refused, by its kind."""
    refused, other = Counter[str](), tree_record_of(*searched(1, 4))
    for i in problems:
        record = tree_record_of(*searched(i, u))
        for what, forged, sentences in tampered(record, other):
            again = replay(forged)
            assert not again, (i, what)
            assert any(part in again.message for part in sentences.split("|")), (i, what, again.message)
            refused[what] += 1
        other = record
    return refused


def test_a_hundred_tampered_logs_are_refused() -> None:
    refused = kinds_of_tampering((0, 3, 5), 5)
    assert sum(refused.values()) > 120
    assert len(refused) > 45


@pytest.mark.slow
def test_a_thousand_tampered_logs_are_refused() -> None:
    assert sum(kinds_of_tampering(range(6, 36), 7).values()) > 1000


@pytest.mark.parametrize("i", [2, 5])
def test_no_change_of_a_log_proves_a_bound_that_is_false(i: int) -> None:
    forge(i, 4, 20)


@pytest.mark.slow
def test_no_change_of_many_proves_a_bound_that_is_false() -> None:
    for i in range(20):
        forge(i, 5, 100)


def forge(i: int, u: int, changes: int) -> None:
    """Whoever forges a log for a bound above the optimum has no success, whatever entry it is that is changed."""
    record, rng = tree_record_of(*searched(i, u)), np.random.default_rng(i)
    raised = record.claim.primal * (1 + 1e-6) + record.claim.rounding
    record = replace(record, claim=replace(record.claim, dual=raised, primal=np.inf, rounding=0.0, status=""))
    for _ in range(changes):
        name = str(rng.choice(LOG))
        x = record.arrays[name].copy()
        if not x.size:
            continue
        k = int(rng.integers(x.size))
        if x.dtype.kind == "f":
            x.flat[k] = rng.choice([-x.flat[k], 2 * x.flat[k], 0.5 * x.flat[k], x.flat[k] + 0.1, 1e3, 0.0])
        else:
            x.flat[k] += rng.choice([-2, -1, 1, 2])
        assert not replay(changed(record, **{name: x})), (name, k)
    # All levels at once, and all sides.
    for name in ("level", "end", "value", "weight"):
        for factor in (0.5, 0.99, 1.01, 2.0):
            assert not replay(changed(record, **{name: factor * record.arrays[name]})), (name, factor)


@pytest.mark.parametrize("name", ["support", "box", "dual_bound"])
def test_a_search_that_rounds_to_the_wrong_side_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = getattr(Quadratic, name)

    def wrong(self: Quadratic, *args: Any) -> Any:
        value = own(self, *args)
        if name == "box":
            middle, half = (value[0] + value[1]) / 2, (value[1] - value[0]) / 2
            return middle - 0.999 * half, middle + 0.999 * half
        return value * (1.0 + 1e-3 * (1 if name == "dual_bound" else -np.sign(value)))

    monkeypatch.setattr(Quadratic, name, wrong)
    refused = 0
    for i in (0, 3, 4):
        obj, result = searched(i, 4)
        if result.status is sm.Status.OPTIMAL:
            refused += not replay(tree_record_of(obj, result))
    assert refused >= 1


@pytest.mark.parametrize("limits", [{"max_nodes": 0}, {"max_nodes": 1}, {"max_nodes": 5}, {"time_limit": 1e-9}])
@pytest.mark.parametrize("i", [1, 5])
def test_logs_of_searches_that_were_stopped_prove_what_they_claim(limits: dict[str, Any], i: int) -> None:
    obj, result = searched(i, 10, tol=1e-6, **limits)
    verification = replay(tree_record_of(obj, result))
    assert verification, verification.message
    assert verification.bound[0] > 0


def test_logs_with_enumerated_labelings_hold_their_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_nodes.Bounding, "tighten", lambda *_, **__: True)
    monkeypatch.setattr(box_nodes.Bounding, "bound", lambda *_, **__: False)
    obj, result = searched(3, 6, poorly=False)
    assert result.log.n_nodes > 20
    assert replay(tree_record_of(obj, result))


@pytest.mark.parametrize("i", [0, 3])
def test_logs_are_saved_and_verified(i: int, tmp_path: Any) -> None:
    obj, result = searched(i, 4)
    assert isinstance(result.log, BoxLog)
    assert sm.verify(obj, result)
    sm.save_result(tmp_path / "it.npz", obj, result)
    again = sm.load_result(tmp_path / "it.npz")[1].log
    assert {name: x.tobytes() for name, x in again.arrays.items()} == {
        name: x.tobytes() for name, x in result.log.arrays.items()
    }
    assert repr(again) == f"BoxLog: {again.n_leaves} leaves of {again.n_nodes} nodes, {len(again.node)} steps"
    assert verify_file(tmp_path / "it.npz").outcome == "proved"


def test_a_log_changes_nothing_else() -> None:
    for i in (0, 3):
        (_, plain), (_, logged) = searched(i, 5, log=False), searched(i, 5)
        assert plain.log is None
        assert plain.certificate == logged.certificate
        assert {n: x.tobytes() for n, x in plain.variables.items()} == {
            n: x.tobytes() for n, x in logged.variables.items()
        }


def test_the_replay_shares_no_code_with_the_search() -> None:
    code = "import sys, specmargin.optima.boxes.replay; print(*sorted(m for m in sys.modules if 'specmargin.' in m))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in loaded if name.split(".")[1] in ("solvers", "objectives", "losses", "problems")]


# By hand


def box(low: list[float], high: list[float]) -> Box:
    return Box(np.array(low), np.array(high), np.inf, 0.0)


@pytest.mark.parametrize(
    ("product", "is_so"),
    [
        ((0, 0, 1.0, -1.0, 1.0), True),  # x^2 >= 1
        ((0, 0, 1.0, -1.0, -1.0), False),
        ((0, 0, 1.01, -1.0, 1.0), False),
        ((0, 0, 0.5, -0.25, 2.0), True),
        ((0, 0, -2.0, 3.0, -1.0), True),  # (x + 2)(3 - x)
        ((0, 0, -1.9, 3.0, -1.0), False),
        ((0, 0, -2.0, 2.9, -1.0), False),
        ((1, 2, 1.0, 0.0, 1.0), False),  # the constant 1 is the last
        ((1, 3, 1.0, 0.0, 1.0), True),
        ((1, 3, 1.0, 0.5, 1.0), False),
        ((1, 3, 1.0, 0.0, -1.0), False),
        ((1, 3, 5.0, 0.0, -1.0), True),
        ((1, 3, 1.5, 0.0, 1.0), False),
        ((0, 1, -2.0, 1.0, 1.0), True),  # low, low
        ((0, 1, -2.0, 1.0, -1.0), False),
        ((0, 1, 3.0, 5.0, 1.0), True),  # high, high
        ((0, 1, -2.0, 5.0, -1.0), True),  # low, high
        ((0, 1, 3.0, 1.0, -1.0), True),
        ((0, 1, 3.0, 1.0, 1.0), False),
        ((0, 1, -2.5, 0.5, 1.0), True),  # ends of a wider box
        ((0, 1, -1.5, 1.0, 1.0), False),
        ((0, 2, -2.0, -np.inf, 1.0), False),
    ],
)
def test_products_hold_where_their_factors_have_one_sign(product: Any, is_so: bool) -> None:
    i, j, p, q, weight = product
    if np.isinf(q):
        q = 0.0
    assert module.holds(box([-2.0, 1.0, -np.inf], [3.0, 5.0, np.inf]), i, j, p, q, weight) is is_so


def test_a_part_has_one_label_and_all_else_of_the_node_above() -> None:
    whole = box([-2.0, -3.0], [3.0, -1.0])._replace(level=7.0, bound=2.0)
    below, above = whole.part(0, False), whole.part(0, True)
    assert (below.low.tolist(), below.high.tolist(), below.level, below.bound) == ([-2, -3], [-1, -1], 7.0, 2.0)
    assert (above.low.tolist(), above.high.tolist()) == ([1, -3], [3, -1])
    assert whole.high.tolist() == [3.0, -1.0]
    assert whole.proved == 2.0
    assert whole._replace(bound=9.0).proved == 7.0
    assert whole.part(1, True).proved == 7.0  # it is empty, below its level


def by_hand(r: SimpleNamespace) -> SimpleNamespace:
    """Two samples, x_0 labelled +1: Q = (2 -1; -1 2), offset 1/4."""
    Q = module.diagonal([2, 2])
    Q[0, 1] = Q[1, 0] = -1
    base = {"Q": Q, "inverse": Q.inv(), "b": arb(0.25), "total": None, "a": balls([0.0, 1.0]), "free": np.array([1])}
    for name, value in {**base, "C": arb(1), "C_star": arb(1)}.items():
        setattr(r, name, vars(r).get(name, value))
    r.whole = module.balanced(r, module.Below(2 * r.Q, balls([0.25, 0.25]), ZERO))
    return r


def steps(**changes: Any) -> SimpleNamespace:
    """One step: x_1^2 >= 1 of weight 1/8 and x_0 >= 1 of weight 1/4; rows of x_0's label."""
    given = {
        "level": [2.0],
        "like": [0],
        "first_product": [0, 2],
        "pair": [[1, 1], [0, 2]],
        "ends": [[1.0, -1.0], [1.0, 0.0]],
        "weight": [0.125, 0.25],
        "first_triangle": [0, 0],
        "triangle": np.zeros((0, 4), dtype=int),
        "triangle_weight": [],
        "first_row": [0, 2],
        "side": [0, 2],
        "first_entry": [0, 1, 2],
        "index": [0, 0],
        "value": [0.5, 0.75],
        "first_claim": [0, 0],
        "claim": [],
        "end": [],
    }
    given.update(changes)
    return SimpleNamespace(**{n: np.array(x, dtype=int if n in ("claim", "index") else None) for n, x in given.items()})


LABELED = ([1.0, -np.inf], [np.inf, np.inf])


def lagrangian(x: np.ndarray, balance: float = 0.0) -> float:
    """J less the products of `steps` at x."""
    inverse = np.array([[2.0, 1.0], [1.0, 2.0]]) / 3.0
    d = x - 0.25
    return float(0.5 * d @ inverse @ d - 0.125 * (x[1] ** 2 - 1) - 0.25 * (x[0] - 1))


@pytest.mark.parametrize("total", [None, 1.25])
def test_a_quadratic_is_j_less_the_products(total: float | None) -> None:
    r = by_hand(SimpleNamespace(total=None if total is None else balls([total])))
    below = module.quadratic(r, steps(), 0)
    rng = np.random.default_rng(0)
    W = np.array([[float(below.W[i, j]) for j in range(2)] for i in range(2)])
    c, m = np.array([float(x) for x in below.c]), float(below.m)
    if total is not None:  # x_1 is what it must be: W has one direction
        assert (c[1], abs(W[1]).max()) == (pytest.approx(total), pytest.approx(0.0, abs=1e-30))
    for _ in range(5):
        x = rng.standard_normal(2)
        if total is None:
            square = (x - c) @ np.linalg.solve(W, x - c)
        else:
            x[1] = total
            square = (x[0] - c[0]) ** 2 / W[0, 0]
        assert m + square == pytest.approx(lagrangian(x), rel=1e-12)


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("at", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 1, 0), (1, 2, 2)])
def test_triangles_are_what_their_formula_says(kind: int, at: tuple[int, int, int]) -> None:
    r = by_hand(SimpleNamespace(total=None))
    below = module.quadratic(r, steps(first_triangle=[0, 1], triangle=[[*at, kind]], triangle_weight=[0.02]), 0)
    W = np.array([[float(below.W[i, j]) for j in range(2)] for i in range(2)])
    c, m = np.array([float(x) for x in below.c]), float(below.m)
    signs = np.ones(3)
    if kind:
        signs[{1: 2, 2: 1, 3: 0}[kind]] = -1.0
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = rng.standard_normal(2)
        three = np.append(x, 1.0)[list(at)]
        value = lagrangian(x) - 0.02 * 0.5 * ((signs @ three) ** 2 + three @ three - 4.0)
        assert m + (x - c) @ np.linalg.solve(W, x - c) == pytest.approx(value, rel=1e-12)


def test_a_step_without_products_may_have_triangles() -> None:
    r, bounds = by_hand(SimpleNamespace(total=None)), []
    for weight in (0.0, 0.05):
        log = steps(
            level=[np.inf],
            first_product=[0, 0],
            first_row=[0, 0],
            first_triangle=[0, 1],
            triangle=[[0, 1, 2, 1]],
            triangle_weight=[weight],
        )
        log.below = partial(module.quadratic, r, log)
        bounds.append(module.after(r, log, 0, box(*LABELED)).bound)
    assert bounds[1] > bounds[0] + 1e-3


def test_rows_and_single_products_bound_sides() -> None:
    r = by_hand(SimpleNamespace())
    below = module.quadratic(r, steps(), 0)
    W = np.array([[float(below.W[i, j]) for j in range(2)] for i in range(2)])
    c, m = np.array([float(x) for x in below.c]), float(below.m)
    (_, bound), (_, side) = module.multiplied(steps(), 0, below, box(*LABELED), arb(2.0) - below.m)
    assert float(bound) == pytest.approx(m + 0.5 - 0.5 * c[0] - 0.25 * W[0, 0] / 4)
    p = np.array([0.75, 1.0])
    assert float(side) == pytest.approx(p @ c - 0.75 + np.sqrt((2.0 - m) * (p @ W @ p)))
    sides = np.full((2, 2), np.inf)
    module.alone(steps(), 0, below, arb(2.0) - below.m, sides)
    radius = np.sqrt((2.0 - m) * W.diagonal())
    high = np.minimum(c + radius, [1.0 + (2.0 - m) / 0.25, np.sqrt(1.0 + (2.0 - m) / 0.125)])
    low = np.minimum(-c + radius, [np.inf, np.sqrt(1.0 + (2.0 - m) / 0.125)])
    np.testing.assert_allclose(sides, [high, low], rtol=1e-12)


def test_a_step_may_have_the_products_of_one_before_it() -> None:
    r, start = by_hand(SimpleNamespace()), box(*LABELED)
    bounds = []
    for log in (
        steps(level=[np.inf], value=[0.25, 0.75]),
        steps(
            level=[np.inf] * 2,
            value=[0.25, 0.75],
            like=[0, 0],
            first_product=[0, 2, 2],
            first_triangle=[0, 0, 0],
            first_row=[0, 0, 2],
            first_claim=[0, 0, 0],
        ),
    ):
        log.below = partial(module.quadratic, r, log)
        bounds.append(module.after(r, log, len(log.level) - 1, start).bound)
        with pytest.raises(Refuted, match="negative in the box"):
            module.after(r, log, len(log.level) - 1, box([-np.inf, -np.inf], [np.inf, np.inf]))
    plain = module.after(r, steps(level=[np.inf], value=[0.25, 0.75], first_product=[0, 0]), 0, start).bound
    assert bounds[0] == bounds[1] > plain > 0.0


def test_a_step_moves_sides_to_what_it_proves_and_no_further() -> None:
    r, start = by_hand(SimpleNamespace()), box(*LABELED)
    free = steps(first_product=[0, 0], first_row=[0, 0])
    # J <= 2: x_0 <= 1/4 + sqrt(2 * 4) = 3.078...
    limit = outward(arb("0.25") + arb(8).sqrt())[1]
    for end, allowed in ((limit, True), (np.nextafter(limit, 0.0), False), (3.5, True)):
        log = steps(**{**vars(free), "first_claim": [0, 1], "claim": [1], "end": [end]})
        if allowed:
            after = module.after(r, log, 0, start)
            assert (after.high[0], after.level) == (end, 2.0)
            assert start.high[0] == np.inf
        else:
            with pytest.raises(Refuted, match=r"proves \+1 x_0"):
                module.after(r, log, 0, start)
    # Where J <= 0.13, x_1 <= 1/4 + sqrt(0.52) < 1 is proved: it is beyond the other margin.
    log = steps(**{**vars(free), "level": [0.13], "first_claim": [0, 1], "claim": [2], "end": [-1.0]})
    assert module.after(r, log, 0, start).high[1] == -1.0
    with pytest.raises(Refuted):
        module.after(r, SimpleNamespace(**{**vars(log), "level": np.array([0.15])}), 0, start)
    with pytest.raises(Refuted):
        module.after(r, SimpleNamespace(**{**vars(log), "end": np.array([-1.1])}), 0, start)


def test_a_balance_that_one_sign_cannot_have_leaves_nothing() -> None:
    none = np.zeros(0, dtype=int)
    log = SimpleNamespace(parent=np.zeros(1, int), sample=np.array([1]), node=none, count=3)
    signs = np.array([1.0, 0.0])
    for total, proved in ((1.5, [0.0, np.inf, 0.0]), (-1.5, [0.0, 0.0, np.inf]), (0.5, [np.inf] * 3)):
        r = SimpleNamespace(signs=signs, free=np.array([1]), total=balls([total]))
        assert module.proved(r, log).tolist() == proved


def test_points_next_to_an_answer_have_the_balance_and_the_margins() -> None:
    base = {"J": np.array([0]), "signs": np.array([1.0, 0, 0, 0]), "free": np.array([1, 2, 3])}
    for x, total, wanted in (
        ([1.0, 2.0, -1.0, 1.5], 2.5, [1.0, 2.0, -1.0, 1.5]),
        ([0.9, 2.0, -0.5, 1.5], 3.0, [1.0, 2.25, -1.0, 1.75]),
        ([1.0, 2.0, -1.0, 1.5], 2.0, [1.0, 2.0, -1.5, 1.5]),
        ([1.0, 2.0, 1.0, 1.5], 4.0, [1.0, 1.5, 1.0, 1.5]),
    ):
        r = SimpleNamespace(x=balls(x), total=balls([total]), **base)
        assert [float(z) for z in module.feasible(r)] == wanted
    with pytest.raises(Refuted, match="no point"):
        module.feasible(SimpleNamespace(x=balls([1.0, 2.0, 1.0, 1.5]), total=balls([2.9]), **base))


def test_runs_are_of_all_kinds() -> None:
    assert {box_runs.problem(i).balance_on for i in range(len(OPTIONS))} == {"decision", "slack"}
