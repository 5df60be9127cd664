"""Logs are replayed and accepted; what was tampered with is refused, and no bound of any log exceeds the objective."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flint")
from flint import arb, arb_mat, ctx
from replay_runs import changed, probed, problem, searched, tampered, without

from cvxproof.proofs.balls import BITS, Refuted, balls, gram
from cvxproof.proofs.record import Claim, ProofRecord
from specmargin.optima import ProofLog
from specmargin.optima import replay as module
from specmargin.optima.records import tree_record_of
from specmargin.optima.replay import replay

INF = math.inf


@pytest.fixture(autouse=True)
def precision() -> Any:
    with ctx.workprec(BITS):
        yield


# Whole runs


RUNS = [(searched, i) for i in (0, 3, 4, 13)] + [(probed, i) for i in (1, 9, 12)]


@pytest.fixture(scope="module", params=RUNS, ids=[f"{run.__name__} {i}" for run, i in RUNS])
def record(request: Any) -> ProofRecord:
    run, i = request.param
    return tree_record_of(*run(i))


def test_logs_of_searches_are_accepted_and_tampered_ones_refused(record: ProofRecord) -> None:
    verification = replay(record)
    assert verification, verification.message
    claim, (low, high) = record.claim, verification.bound
    assert claim.dual <= low <= high <= claim.primal + claim.rounding
    assert verification.primal[0] - claim.rounding <= claim.primal <= verification.primal[1] + claim.rounding
    assert verification.gap[1] <= claim.gap * (1 + 1e-12)
    other = tree_record_of(*searched(5 if len(record.arrays["X"]) != 45 else 3))
    seen = 0
    for what, wrong, sentences in tampered(record, other, seed=1):
        refused = replay(wrong)
        assert not refused, what
        assert any(part in refused.message for part in sentences.split("|")), (what, refused.message)
        seen += 1
    assert seen >= 6


# A small problem by hand: f = w x + b in one dimension


def small(unlabeled_loss: str = "symmetric_hinge", loss: str = "hinge", **changes: Any) -> ProofRecord:
    """Two labelled samples at -1 and 2 and two unlabelled ones at 1/2 and -3/2, without a log."""
    none = np.zeros(0, dtype=np.int64)
    arrays = {
        "X": np.array([[-1.0], [0.5], [2.0], [-1.5]]),
        "J": np.array([0, 2]),
        "y": np.array([-1.0, 1.0]),
        "w": np.array([0.75]),
        "parent": none,
        "sample": none,
        "at": np.zeros(0),
        "node": none,
        "start": np.zeros(1, dtype=np.int64),
        "index": none,
        "value": np.zeros(0),
    }
    numbers = {"loss": loss, "parameter": 1.0, "unlabeled_loss": unlabeled_loss, "unlabeled_parameter": 2.0}
    numbers.update(C=1.5, C_star=0.5, b=0.25)
    arrays.update({name: x for name, x in changes.items() if name in arrays or name in ("proved", "mu")})
    numbers.update({name: x for name, x in changes.items() if name in numbers})
    return ProofRecord("s3vm_tree", numbers, arrays, changes.get("claim", Claim(1.0, 0.0)))


def logged(record: ProofRecord, splits: Any, evidence: Any) -> ProofRecord:
    """Return the record with splits (parent, sample, at) and evidence (node, {index: value})."""
    ends = np.cumsum([0] + [len(x) for _, x in evidence])
    return changed(
        record,
        parent=np.array([p for p, _, _ in splits], dtype=np.int64),
        sample=np.array([i for _, i, _ in splits], dtype=np.int64),
        at=np.array([at for _, _, at in splits], dtype=float),
        node=np.array([node for node, _ in evidence], dtype=np.int64),
        start=ends.astype(np.int64),
        index=np.array([i for _, x in evidence for i in x], dtype=np.int64),
        value=np.array([v for _, x in evidence for v in x.values()], dtype=float),
    )


def stated(record: ProofRecord, primal: float, dual: float, rounding: float = 0.0) -> ProofRecord:
    return replace(record, claim=Claim(primal, dual, rounding))


def read(record: ProofRecord) -> SimpleNamespace:
    """Return what `proof` makes of the record for its functions."""
    names = "loss parameter unlabeled_loss unlabeled_parameter C C_star b"
    r = module.read(record, "X=nd mu=d? J=l y=l w=d", names)
    n = r.X.nrows()
    r.free, r.G, r.Z = np.setdiff1d(np.arange(n), r.J), gram(r.X), r.X
    r.label = dict(zip(r.J.tolist(), r.y, strict=True))
    r.lo, r.hi = np.full(n, -INF), np.full(n, INF)
    return r


def evident(record: ProofRecord) -> np.ndarray:
    r = read(record)
    return module.evident(r, module.tree(record, r, 4), 4)


# f = 0.75 x + 0.25 is -1/2, 5/8, 7/4, -7/8: J = 9/32 + 3/2 (1/2 + 0) + 1/2 (3/8 + 1/8)
PRIMAL = 9 / 32 + 0.75 + 0.25
# Lines -(y a) f with a = 1 and 1/2 of the labelled samples: 3/2 + b (1 - 1/2) - (-1 - 1)^2 / 2
LINES = {0: 1.0, 2: -0.5}
VALUE = 1.5 + 0.25 * 0.5 - 0.5 * 4.0


def test_a_log_by_hand() -> None:
    weak = {0: 0.25, 2: -0.125}  # a / 4: 3/8 + 1/32 - 1/8
    bound = 0.375 + 1 / 32 - 0.125
    record = logged(small(), [], [(0, LINES), (0, weak)])
    assert evident(record)[0] == math.nextafter(bound, 0.0)
    assert VALUE < 0.0
    verification = replay(stated(record, PRIMAL, bound - 1e-15))
    assert verification
    assert verification.primal == (math.nextafter(PRIMAL, 0), math.nextafter(PRIMAL, 2))
    assert verification.bound[0] <= math.nextafter(bound, 0.0) <= verification.bound[1] <= bound
    assert verification.gap == pytest.approx((PRIMAL - bound,) * 2, rel=1e-15)
    assert replay(stated(record, PRIMAL, math.nextafter(bound, 0)))
    refused = replay(stated(record, PRIMAL, bound))
    assert not refused
    assert refused.message == (
        f"node 0, 0 splits below the root, proves {math.nextafter(bound, 0.0):.17g}, not {bound:.17g}"
    )
    assert replay(stated(record, PRIMAL, bound, rounding=1e-15))
    assert not replay(stated(record, PRIMAL, bound + 1e-14, rounding=1e-15))
    refused = replay(stated(record, PRIMAL + 1e-9, 0.2))
    assert refused.message == f"the objective is {math.nextafter(PRIMAL, 0):.17g}, not {PRIMAL + 1e-9:.17g}"


@pytest.mark.parametrize("unlabeled_loss", ["symmetric_hinge", "symmetric_squared_hinge", "exp"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_objective_is_that_of_the_answer(loss: str, unlabeled_loss: str) -> None:
    f, C, C_star = np.array([-0.5, 0.625, 1.75, -0.875]), 1.5, 0.5
    power = 1 if loss == "hinge" else 2
    U = {
        "symmetric_hinge": 1 - np.abs(f[[1, 3]]),
        "symmetric_squared_hinge": (1 - np.abs(f[[1, 3]])) ** 2,
        "exp": np.exp(-2.0 * f[[1, 3]] ** 2),
    }[unlabeled_loss]
    primal = 9 / 32 + C * 0.5**power + C_star * U.sum()
    record = stated(small(unlabeled_loss, loss), primal, 0.0, 1e-15)
    verification = replay(record)
    assert verification, verification.message
    assert verification.bound == (-5e-324, 5e-324)
    assert verification.primal == pytest.approx((primal, primal), rel=1e-15)
    # Centred features: rows less their mean.
    shifted = changed(record, X=record.arrays["X"] + 3.0, mu=np.array([3.0]))
    assert replay(shifted).primal == verification.primal


def test_a_loss_with_a_parameter() -> None:
    # V(u) = (u + p)^2 / 4p for |u| <= p = 1/2: slacks are 1/2 and -3/4. V*(1/2) = 1/2 + p / 4.
    primal = 0.75**2 / 2 + 1.5 * 0.5 + 0.5 * ((1 - 0.625) + (1 - 0.875))
    record = logged(small(loss="huber_hinge", parameter=0.5), [], [(0, {0: 0.75})])
    bound = 1.5 * (0.5 + 0.125) + 0.75 * 0.25 - 0.75**2 / 2
    assert replay(stated(record, primal, bound, 1e-12))
    assert not replay(stated(record, primal, bound + 1e-9, 1e-12))
    assert not replay(stated(record, primal + 1e-9, bound, 1e-12))


def test_splits_cover_and_bounds_go_up_and_down() -> None:
    log = SimpleNamespace(parent=np.array([0, 1, 0]), count=7)
    # Split 0: nodes 1 and 2; split 1 of node 1: nodes 3 and 4; split 2 of node 0 again: nodes 5 and 6.
    bounds = module.propagated(log, np.array([1.0, 0.0, 5.0, 4.0, 3.0, 0.0, 2.0]))
    # Node 1 has 3 from its parts, node 0 then 3 from 1 and 2, and all have that.
    assert bounds.tolist() == [3.0, 3.0, 5.0, 4.0, 3.0, 3.0, 3.0]
    bounds = module.propagated(log, np.array([0.0, 0.0, 0.5, 0.0, 9.0, 2.0, 7.0]))
    # The second split proves 2 of the root, which all others have, too.
    assert bounds.tolist() == [2.0, 2.0, 2.0, 2.0, 9.0, 2.0, 7.0]
    alone = SimpleNamespace(parent=np.zeros(0, dtype=np.int64), count=1)
    assert module.propagated(alone, np.array([0.25])).tolist() == [0.25]
    # What a later split proves of a node, an earlier one of its child needs.
    log = SimpleNamespace(parent=np.array([0, 2, 2]), count=7)
    bounds = module.propagated(log, np.array([0.0, 4.0, 0.0, 0.0, 6.0, 3.0, 8.0]))
    assert bounds.tolist() == [3.0, 4.0, 3.0, 3.0, 6.0, 3.0, 8.0]


def test_the_weakest_leaf_is_named() -> None:
    for parent, bounds, node, depth in (
        ([0, 2], [1.0, 3.0, 1.0, 2.0, 1.0], 4, 2),
        ([0, 2], [1.0, 1.0, 1.0, 2.0, 1.0], 1, 1),
        ([0, 2], [1.0, 3.0, 1.0, 1.0, 2.0], 3, 2),
        ([0], [2.0, 3.0, 4.0], 1, 1),  # the lower one of both parts
        ([0], [9.0, 4.0, 3.0], 2, 1),
        ([0], [1.0, 2.0, 2.0], 1, 1),
    ):
        said = module.weakest(SimpleNamespace(parent=np.array(parent)), np.array(bounds), 9.5)
        assert said == f"node {node}, {depth} splits below the root, proves {bounds[node]:g}, not 9.5"


def test_regions_are_those_of_all_splits_above() -> None:
    log = SimpleNamespace(
        parent=np.array([0, 2, 3, 5, 0]), sample=np.array([1, 3, 1, 1, 1]), at=np.array([0.0, 0.25, 2.0, 1.5, -1.0])
    )
    r = SimpleNamespace(lo=np.array([-INF, -3.0, -INF, -INF]), hi=np.array([INF, 3.0, INF, INF]))
    # Node 2 is split by sample 3, nodes 3 and 5 by sample 1, and node 0 once more.
    for node, first, third in (
        (0, (-3.0, 3.0), (-INF, INF)),
        (2, (0.0, 3.0), (-INF, INF)),
        (4, (0.0, 3.0), (0.25, INF)),
        (7, (0.0, 1.5), (-INF, 0.25)),
        (8, (1.5, 2.0), (-INF, 0.25)),
        (9, (-3.0, -1.0), (-INF, INF)),
    ):
        lo, hi = module.region(r, log, node)
        assert lo.tolist() == [-INF, first[0], -INF, third[0]]
        assert hi.tolist() == [INF, first[1], INF, third[1]]
    assert r.lo.tolist() == [-INF, -3.0, -INF, -INF]
    # A split beyond what is left changes nothing on its other side.
    log = SimpleNamespace(parent=np.array([0, 1]), sample=np.array([1, 1]), at=np.array([0.5, 1.0]))
    assert module.region(r, log, 3)[1][1] == 0.5
    log = SimpleNamespace(parent=np.array([0, 2]), sample=np.array([1, 1]), at=np.array([0.5, -1.0]))
    assert module.region(r, log, 4)[0][1] == 0.5


def test_labels_that_all_points_share_which_are_not_refuted() -> None:
    def common(parent: list[int], sample: list[int], at: list[float], refuted: list[int]) -> list[int]:
        count = 2 * len(parent) + 1
        log = SimpleNamespace(parent=np.array(parent), sample=np.array(sample), at=np.array(at), count=count)
        return module.common(log, np.isin(np.arange(count), refuted), 4).tolist()

    assert common([0], [1], [0.0], []) == [0, 0, 0, 0]
    assert common([0], [1], [0.0], [1]) == [0, 1, 0, 0]
    assert common([0], [1], [0.0], [2]) == [0, -1, 0, 0]
    assert common([0], [1], [0.5], [2]) == [0, 0, 0, 0]
    # Below the label +1 of sample 1 sample 3 is -1.
    assert common([0, 2], [1, 3], [0.0, 0.0], [4]) == [0, 0, 0, 0]
    assert common([0, 2], [1, 3], [0.0, 0.0], [1, 4]) == [0, 1, 0, -1]
    # It is so for both labels of sample 1, which stays open.
    assert common([0, 1, 2], [1, 3, 3], [0.0, 0.0, 0.0], [4, 6]) == [0, 0, 0, -1]
    assert common([0, 1, 2], [1, 3, 3], [0.0, 0.0, 0.0], [4, 5]) == [0, 0, 0, 0]
    # A node is split twice, and both splits prove a label.
    assert common([0, 0], [1, 3], [0.0, 0.0], [2, 3]) == [0, -1, 0, 1]
    # A decision split away from zero keeps the label that is known of it.
    assert common([0, 2], [1, 1], [0.0, 0.5], [1, 4]) == [0, 1, 0, 0]


def test_claimed_labels_are_held_against_the_log() -> None:
    # With a label -1 of sample 1 (f = w / 2 + 1/4) its hinge and those of the labelled samples cost much.
    lines = {0: 0.25, 2: -0.125}
    record = small(C_star=20.0, w=np.array([1.5]))
    f = 1.5 * np.array([-1.0, 0.5, 2.0, -1.5]) + 0.25
    primal = 1.125 + 20.0 * max(0.0, 1 - abs(f[1]))
    strong = {1: 8.0, **LINES}  # f_1 <= 0: below 20 (1 + f) is 8 + 8 f
    bound = 8 + 1.5 + 0.25 * 8.5 - 0.5 * (8.0 * 0.5 - 1.0 - 1.0) ** 2
    assert bound > primal
    record = logged(stated(record, primal, 0.0), [(0, 1, 0.0)], [(1, strong), (2, lines)])
    assert evident(record).tolist() == [0.0, math.nextafter(bound, 0), math.nextafter(0.375 + 1 / 32 - 0.125, 0)]
    for proved in ([0.0, 0.0], [1.0, 0.0]):
        assert replay(changed(record, proved=np.array(proved))), proved
    for proved in ([-1.0, 0.0], [1.0, 1.0], [0.0, -1.0], [1.0], [1.0, 0.0, 0.0]):
        refused = replay(changed(record, proved=np.array(proved)))
        assert refused.message == "not every label that is claimed for all optima is proved", proved
    # The bound of the other label must exceed J, or no label is proved.
    low = logged(record, [(0, 1, 0.0)], [(1, lines), (2, lines)])
    assert replay(low)
    assert not replay(changed(low, proved=np.array([1.0, 0.0])))


# Evidence


def test_a_bound_that_only_equals_the_objective_refutes_no_label(monkeypatch: Any) -> None:
    record = logged(small(proved=np.array([1, 0])), [(0, 1, 0.0)], [])
    attained = replay(record).primal[1]
    if math.isinf(attained):
        attained = replay(replace(record, arrays={k: x for k, x in record.arrays.items() if k != "proved"})).primal[1]
    for bound, proved in ((attained, False), (math.nextafter(attained, INF), True)):
        monkeypatch.setattr(module, "evident", lambda r, log, n, bound=bound: np.array([0.0, bound, 0.0]))
        verification = replay(stated(record, attained, 0.0, 1e-9))
        assert ("not every label" not in verification.message) is proved


def test_bounds_of_lines_and_parabolas_are_exact() -> None:
    """Against rationals: sum h + b sum (g - b theta / 2) - 1/2 (sum (g - b theta) x)^2 / (1 - sum theta x^2)."""
    x = [Fraction(-1), Fraction(1, 2), Fraction(2), Fraction(-3, 2)]
    b, C, C_star = Fraction(1, 4), Fraction(3, 2), Fraction(1, 2)
    rng = np.random.default_rng(0)
    for loss in ("hinge", "squared_hinge"):
        for unlabeled_loss in ("symmetric_hinge", "symmetric_squared_hinge"):
            evidence, values = [], []
            for _ in range(300):
                a = rng.uniform(0, 1.5, 2).round(6)
                theta = rng.uniform(0, 0.1, 2).round(6) * (rng.uniform() < 0.1)
                evidence.append((0, {0: a[0], 2: -a[1], 5: theta[0], 7: theta[1]}))
                h = sum(Fraction(p) - (Fraction(p) ** 2 / (4 * C) if loss == "squared_hinge" else 0) for p in a)
                for t in map(Fraction, theta.tolist()):
                    h += t / 2 if unlabeled_loss == "symmetric_hinge" else C_star * t / (2 * C_star + t)
                g = [Fraction(a[0]), Fraction(0), -Fraction(a[1]), Fraction(0)]
                t = [Fraction(0), Fraction(theta[0]), Fraction(0), Fraction(theta[1])]
                slope = sum((p - b * q) * z for p, q, z in zip(g, t, x, strict=True))
                curvature = 1 - sum(q * z * z for q, z in zip(t, x, strict=True))
                value = h + b * sum(g) - b**2 / 2 * sum(t) - slope**2 / (2 * curvature)
                values.append(value)
            # Every piece at a node of its own: the root is split again and again.
            splits = [(0, 1, 0.0)] * 150
            own = [(k + 1, multipliers) for k, (_, multipliers) in enumerate(evidence)]
            bounds = evident(logged(small(unlabeled_loss, loss), splits, own))
            assert bounds[0] == 0.0
            for bound, value in zip(bounds[1:].tolist(), values, strict=True):
                exact = max(value, Fraction(0))
                assert Fraction(bound) <= exact
                assert exact - Fraction(bound) <= abs(exact) * Fraction(1, 2**51) + Fraction(1, 10**300)
            best = max(values)
            assert abs(evident(logged(small(unlabeled_loss, loss), [], evidence))[0] - float(best)) <= 4e-16


def test_multipliers_of_one_count_as_any_other() -> None:
    bounds = evident(logged(small(), [(0, 1, 0.0)], [(1, {0: 1.0}), (2, {5: 1.0})]))
    # 1 + b - 1/2, and the top 3/8 of a parabola less b^2 / 2 + (b / 2)^2 / (2 - 1/2).
    assert bounds.tolist() == pytest.approx([0.0, 0.75, 0.375 - 1 / 32 - 1 / 64 / 1.5], rel=1e-15)


def test_evidence_that_is_no_bound_is_refused() -> None:
    at_root = "is not below the loss of sample"
    for multipliers, sample in (
        ({0: -0.5}, 0),  # a label's line of the wrong side
        ({0: 1.6}, 0),  # steeper than the hinge
        ({2: 0.5}, 2),
        ({2: -0.5, 6: 0.1}, 2),  # a parabola of a labelled sample
        ({1: -0.1}, 1),  # the line of a label that is open
        ({1: 0.1}, 1),
        ({5: -0.1}, 1),  # a parabola that opens upwards
        ({1: -0.1, 5: 0.1}, 1),
    ):
        refused = replay(logged(stated(small(), PRIMAL, 0.0), [], [(0, LINES), (0, multipliers)]))
        assert refused.message == f"evidence 1 {at_root} {sample} at node 0"
    refused = replay(logged(stated(small(), PRIMAL, 0.0), [], [(0, {5: 0.1}), (0, {5: 2.0, 7: 0.5})]))
    assert refused.message == "evidence 1: I - Z'diag(theta)Z is not proved to be positive definite"
    # Lines of a decided label, on its side only, and no steeper than its hinge.
    for node, slope, holds in ((1, 0.5, True), (1, -0.5, False), (2, -0.5, True), (2, 0.5, False), (2, -0.6, False)):
        record = logged(stated(small(), PRIMAL, 0.0), [(0, 1, 0.0)], [(node, {1: slope})])
        assert bool(replay(record)) is holds, (node, slope)
    record = logged(stated(small("symmetric_squared_hinge"), PRIMAL, 0.0, 1.0), [(0, 1, 0.0)], [(2, {1: -0.9})])
    value = 0.9 - 0.81 / 2 - 0.9 * 0.25 - 0.5 * 0.45**2
    assert evident(record)[2] == pytest.approx(value, rel=1e-14)
    # Away from zero a side is decided as well, and more than that changes nothing.
    for at, node, slope, holds in (
        (0.5, 2, -0.5, True),
        (0.5, 1, 0.5, False),
        (-0.5, 1, 0.5, True),
        (-0.5, 2, -0.5, False),
    ):
        record = logged(stated(small(), PRIMAL, 0.0), [(0, 1, at)], [(node, {1: slope})])
        assert bool(replay(record)) is holds, (at, node)
    # Without weight there is nothing to be below, and nothing to be proved.
    assert replay(logged(stated(small(C_star=0.0), 9 / 32 + 0.75, 0.28), [], [(0, {0: 0.25, 2: -0.125})]))
    record = logged(stated(small(C_star=0.0), 9 / 32 + 0.75, 0.0), [], [(0, {5: 0.1})])
    assert replay(record).message == f"evidence 0 {at_root} 1 at node 0"


LOSSES = {
    "hinge": lambda t: np.maximum(1 - t, 0),
    "squared_hinge": lambda t: np.maximum(1 - t, 0) ** 2,
    "symmetric_hinge": lambda f: np.maximum(1 - np.abs(f), 0),
    "symmetric_squared_hinge": lambda f: np.maximum(1 - np.abs(f), 0) ** 2,
}


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("unlabeled_loss", ["symmetric_hinge", "symmetric_squared_hinge"])
def test_lines_and_parabolas_are_below_the_losses_and_touch_them(loss: str, unlabeled_loss: str) -> None:
    r = read(small(unlabeled_loss, loss))
    f = np.linspace(-8, 8, 32001)
    rng = np.random.default_rng(1)
    for _ in range(40):
        a, side, theta = rng.uniform(0, 0.5), rng.choice([-1.0, 1.0]), rng.choice([0.05, 0.5, 3.0, 20.0])
        own = float(module.top(r, 0, arb(a), arb(0), arb(-INF), arb(INF)))
        assert (1.5 * LOSSES[loss](-f) - (own + a * f)).min() == pytest.approx(0.0, abs=1e-6)
        decided = (0.0, INF) if side > 0 else (-INF, 0.0)
        line = float(module.top(r, 1, arb(-side * a), arb(0), *map(arb, decided)))
        at = side * f >= 0
        below = 0.5 * LOSSES[unlabeled_loss](f) - (line - side * a * f)
        assert below[at].min() == pytest.approx(0.0, abs=1e-6)
        assert not module.top(r, 1, arb(side * a), arb(0), *map(arb, decided)) > arb.neg_inf()
        parabola = float(module.top(r, 3, arb(0), arb(float(theta)), arb(-INF), arb(INF)))
        assert (0.5 * LOSSES[unlabeled_loss](f) - (parabola - theta * f**2 / 2)).min() == pytest.approx(0.0, abs=1e-5)


# exp(-s f^2)


def test_minima_on_intervals_of_the_smooth_loss() -> None:
    """Against a fine grid and a descent from its best point; unknown only for parabolas too flat to be convex."""
    from scipy.optimize import minimize_scalar

    rng = np.random.default_rng(2)
    unknown, found = 0, 0
    for trial in range(400):
        c, s = 10.0 ** rng.uniform(-2, 2), float(rng.choice([0.5, 2.0, 3.0]))
        lo, hi = np.sort(rng.choice([-1.0, 1.0], 2) * rng.choice([0.0, 0.3, 0.5, 1.0, 2.5], 2) + rng.uniform(-0.1, 0.1))
        g = rng.choice([0.0, 1.0]) * rng.normal() * c
        theta = c * float(rng.choice([0.0, 0.0, 0.1, 1.0, 2.0 * s, 2.1 * s]))
        if trial % 5 == 0:
            lo = hi
        numbers = [arb(float(x)) for x in (c, s, g, theta, lo, hi)]
        least = module.exp_top(*numbers)

        def m(f: Any) -> Any:
            return c * np.exp(-s * f * f) + theta * f * f / 2 - g * f  # noqa: B023 - called in this round alone

        grid = np.linspace(lo, hi, 20001)
        k = int(np.argmin(m(grid)))
        ends = (grid[max(k - 1, 0)], grid[min(k + 1, 20000)])
        best = m(grid[k])
        if ends[1] > ends[0]:
            best = min(best, minimize_scalar(m, bounds=ends, method="bounded", options={"xatol": 1e-12}).fun)
        if not least > arb.neg_inf():
            # Flat parabolas, of a slope, over a part where the loss is concave.
            turn = 1 / math.sqrt(2 * s)
            assert theta > 0
            assert g != 0
            assert lo < turn
            assert hi > -turn
            assert theta < 2 * s * c
            unknown += 1
            continue
        found += 1
        size = c + abs(g) * max(abs(lo), abs(hi)) + theta * max(lo**2, hi**2)
        assert float(least) <= best + 1e-13 * size
        global_height = 0.0 < theta < 2 * s * c and g == 0
        if not global_height:
            assert float(least) >= best - 1e-12 * size
    assert unknown > 20
    assert found > 250


def test_flat_parabolas_of_the_smooth_loss_have_their_height() -> None:
    """Without a slope h is that of the whole line: c x (1 - log x), x = theta / 2sc."""
    for theta in (0.1, 1.0, 2.5):
        x = theta / (2 * 3.0 * 0.5)
        top = module.exp_top(*(arb(float(v)) for v in (0.5, 3.0, 0.0, theta, -2.0, 2.0)))
        assert float(top) == pytest.approx(0.5 * x * (1 - math.log(x)), rel=1e-14)
    assert float(module.exp_top(*(arb(float(v)) for v in (0.5, 3.0, 0.0, 3.0, -2.0, 2.0)))) == pytest.approx(0.5)


@pytest.mark.parametrize(("lo", "hi"), [(0.3, 0.4), (-0.4, -0.3), (-0.1, 0.3), (0.0, 0.4), (0.3, 0.8), (-0.9, -0.2)])
def test_parabolas_of_the_smooth_loss_count_where_what_is_left_is_convex(lo: float, hi: float) -> None:
    c, s = 0.7, 2.0
    nearest = 0.0 if lo <= 0.0 <= hi else s * min(abs(lo), abs(hi)) ** 2
    least_theta = 2 * s * c * (1 - 2 * nearest) * math.exp(-nearest)
    for g in (0.4, -0.4):
        for theta, known in ((least_theta * (1 - 1e-9), False), (least_theta * (1 + 1e-9), True)):
            least = module.exp_top(*(arb(x) for x in (c, s, g, theta, lo, hi)))
            assert bool(least > arb.neg_inf()) is known, (g, theta)


def test_lines_of_the_smooth_loss_on_both_sides_of_its_turn() -> None:
    """Up to 1 / sqrt(2s) what a line leaves has its minimum at an end, and beyond it inside."""
    c, s = 0.7, 2.0  # the turn is at 1/2
    for sign in (1.0, -1.0):
        near = [(lo, 0.499, (lo + 0.499) / 2 + off) for lo in (0.42, 0.45) for off in (-1e-9, 1e-9)]
        for lo, hi, middle in (*near, (0.0, 0.3, 0.15), (0.3, 0.69, 0.65), (0.501, 0.6, 0.55), (0.9, 1.3, 1.1)):
            g = -2 * s * c * middle * math.exp(-s * middle**2)  # of the line that touches it in the middle
            ends = [c * math.exp(-s * f * f) - g * f for f in (lo, middle, hi)]
            lower, upper = (lo, hi) if sign > 0 else (-hi, -lo)
            least = float(module.exp_top(*(arb(x) for x in (c, s, sign * g, 0.0, lower, upper))))
            assert least == pytest.approx(min(ends), rel=1e-13)
            assert (min(ends) == ends[1]) is (middle > 0.5)


def test_minima_of_the_smooth_loss_are_bounds_to_the_last_bit() -> None:
    """Near a minimum inside a convex part no float is the minimiser: what its slope may hide is taken off."""
    for c, s, g, theta, lo, hi, f in (
        (0.7, 2.0, -0.5, 0.0, 0.6, 2.0, 0.9),
        (0.7, 2.0, 0.5, 0.0, -2.0, -0.6, -0.9),
        (0.7, 2.0, 0.3, 3.0, -1.0, 1.0, 0.3),
        (0.7, 2.0, -0.1, 2.9, -0.4, 0.4, 0.0),
    ):
        C, S, G, T, F = (arb(x) for x in (c, s, g, theta, f))
        for _ in range(60):  # Newton's method, from inside the convex part
            rate = T * F - G - 2 * S * C * F * (-S * F * F).exp()
            bend = T + 2 * S * C * (2 * S * F * F - 1) * (-S * F * F).exp()
            F = (F - rate / bend).mid()
        assert lo < float(F) < hi
        true = C * (-S * F * F).exp() + T * F * F / 2 - G * F
        least = module.exp_top(C, S, G, T, arb(lo), arb(hi))
        assert least < true
        assert least > true - 1e-15


def test_decisions_of_better_points_are_enclosed(monkeypatch: Any) -> None:
    seen = []
    monkeypatch.setattr(module, "evident", lambda r, log, n: seen.append(r) or np.zeros(log.count))
    for unlabeled_loss in ("exp", "symmetric_hinge"):
        replay(stated(small(unlabeled_loss), 1.0, 0.0, 1.0))
    r = seen[0]
    f = arb(0.625), arb(-0.875)
    J = arb(9) / 32 + arb(3) / 4 + ((-2 * f[0] ** 2).exp() + (-2 * f[1] ** 2).exp()) / 2
    for i, x in ((1, arb(0.5)), (3, arb(1.5))):
        radius = (2 * J).sqrt() * x
        for end, exact in ((r.lo[i], arb(0.25) - radius), (-r.hi[i], -arb(0.25) - radius)):
            assert arb(float(end)) < exact
            assert exact - arb(float(end)) < 1e-14
            assert arb(math.nextafter(math.nextafter(float(end), INF), INF)) > exact - 1e-15
    for i in (0, 2):
        assert (r.lo[i], r.hi[i]) == (-INF, INF)
    assert np.isinf(seen[1].lo).all()
    assert np.isinf(seen[1].hi).all()
    # They are those of J rounded up: the objective itself is inside.
    attained = module.outward(J)[1]
    assert arb(float(r.lo[3])) <= arb(0.25) - (2 * arb(attained) * arb(2.25)).sqrt()


def test_boxes_by_hand() -> None:
    """J with exp(-2 f^2) at w = 3/4: decisions are within |x| sqrt(2 J), and nodes beyond are empty."""
    f = np.array([0.625, -0.875])
    primal = 9 / 32 + 0.75 + 0.5 * np.exp(-2.0 * f**2).sum()
    radius = np.sqrt(2 * primal) * np.array([0.5, 1.5])
    record = stated(small("exp"), primal, 0.0, 1e-14)
    lines = {0: 0.25, 2: -0.125}
    known = 0.375 + 1 / 32 - 0.125
    ends = np.stack([0.25 - radius, 0.25 + radius])
    floors = 0.5 * np.exp(-2.0 * np.max(np.abs(ends), axis=0) ** 2)
    bound = known + floors.sum()
    for dual, holds in ((bound * (1 - 1e-12), True), (bound * (1 + 1e-12) + 2e-14, False)):
        assert bool(replay(logged(stated(record, primal, dual, 1e-14), [], [(0, lines)]))) is holds
    # A split at the end of the first sample's decisions leaves an empty node, which needs no evidence.
    for at, node, holds in (
        (0.25 + radius[0] * (1 + 1e-9), 1, True),
        (0.25 + radius[0] * (1 - 1e-9), 1, False),
        (0.25 - radius[0] * (1 + 1e-9), 2, True),
        (0.25 - radius[0] * (1 - 1e-9), 2, False),
    ):
        split = logged(stated(record, primal, bound * (1 - 1e-6), 1e-14), [(0, 1, at)], [(node, lines)])
        assert bool(replay(split)) is holds, (at, node)
    # Evidence at an empty node is not even looked at.
    split = [(0, 1, 0.25 + radius[0] * (1 + 1e-9))]
    for absurd in ({0: -1.0}, {5: 1e3}, {5: 1e3, 0: -1.0}):
        assert replay(logged(stated(record, primal, bound * (1 - 1e-6), 1e-14), split, [(1, lines), (2, absurd)]))
    # A line over an interval: with f_3 <= -0.8 its loss is above the line from end to end.
    low = 0.25 - radius[1]
    at, slope = -0.8, 0.02
    node = logged(stated(record, primal, 0.0, 1e-14), [(0, 3, at)], [(1, {**lines, 3: slope})])
    grid = np.linspace(low, at, 200001)
    h = (0.5 * np.exp(-2.0 * grid**2) - slope * grid).min()
    r = read(node)
    r.lo[[1, 3]], r.hi[[1, 3]] = ends
    value = 0.375 + floors[0] + h + 0.25 * (0.125 + slope) - 0.5 * (-0.5 - 1.5 * slope) ** 2
    assert module.evident(r, module.tree(node, r, 4), 4)[1] == pytest.approx(value, rel=1e-9)


# What no search writes


GOOD = {
    "parent": np.array([0, 2]),
    "sample": np.array([1, 3]),
    "at": np.zeros(2),
    "node": np.array([0, 4]),
    "start": np.array([0, 2, 3]),
    "index": np.array([0, 2, 7]),
    "value": np.array([0.25, -0.125, 0.1]),
}


def malformed() -> Any:
    for name, array in GOOD.items():
        other = array.astype(float) if array.dtype.kind == "i" else array.astype(int)
        for wrong in (None, array[:, None], other):
            yield name, wrong, f"the log has no proper array {name}"
    for name, wrong in (("at", [0.0, 1.0]), ("value", [0.25, 1.0, 0.1])):
        yield name, np.where(np.arange(len(wrong)) == 1, math.nan, wrong), f"the log has no proper array {name}"
        yield name, np.where(np.arange(len(wrong)) == 1, INF, wrong), "no log of this problem: a number is infinite"
    for said, name, *wrong in (
        ("splits are not complete", "sample", [1]),
        ("splits are not complete", "at", [0.0, 0.0, 0.0]),
        ("splits are not complete", "parent", [0]),
        ("a node is split before it is there", "parent", [1, 0], [0, 3], [0, -1]),
        ("a split is by no unlabelled sample", "sample", [1, 0], [1, 2], [1, 4], [1, -1]),
        ("evidence is not complete", "node", [0]),
        ("evidence is not complete", "start", [0, 3], np.zeros(0, dtype=int)),
        ("evidence is not complete", "value", [0.25, 0.1]),
        ("evidence is not complete", "index", [0, 2, 7, 7]),
        ("evidence is not in order", "start", [1, 2, 3], [0, 3, 2], [0, 2, 2], [0, 2, 4], [0, -1, 3]),
        ("evidence is of no node", "node", [0, 5], [-1, 4]),
        ("evidence is of no sample", "index", [0, 2, 8], [-1, 2, 7]),
    ):
        for array in wrong:
            yield name, array, f"no log of this problem: {said}"


def test_malformed_logs_are_refused() -> None:
    record = changed(stated(small(), PRIMAL, 0.2), **GOOD)
    assert replay(record)
    for name, wrong, sentence in malformed():
        arrays = {**record.arrays, name: None if wrong is None else np.asarray(wrong)}
        verification = replay(replace(record, arrays={key: x for key, x in arrays.items() if x is not None}))
        assert not verification
        assert verification.message == sentence, (name, wrong)


def test_other_kinds_and_claims_are_refused() -> None:
    record = logged(stated(small(), PRIMAL, 0.2), [], [(0, {0: 0.25, 2: -0.125})])
    assert replay(record)
    for wrong in (replace(record, kind="s3vm"), replace(record, claim=replace(record.claim, sense="maximize"))):
        assert replay(wrong).message == "no log of this problem: this is no log of a bound from below"
    foreign = replace(record, numbers={**record.numbers, "unlabeled_loss": "symmetric_ramp"})
    assert replay(foreign).message == "no log of this problem: the loss 'symmetric_ramp' is not covered"
    for name, x in (("C", -1.0), ("C_star", -1.0), ("loss", 3), ("b", "1")):
        assert not replay(replace(record, numbers={**record.numbers, name: x}))
    assert not replay(replace(record, numbers={k: v for k, v in record.numbers.items() if k != "C"}))
    assert not replay(changed(record, dual=math.nan))
    # Numbers beyond floats are no proof, and no error either.
    huge = logged(record, [], [(0, {5: 1e308, 7: 1e308})])
    assert not replay(huge)
    for unknown in ("smooth", "exp_squared"):
        assert not replay(replace(record, numbers={**record.numbers, "loss": unknown}))


# No bound is above the objective, whatever the log is


@pytest.mark.parametrize("i", [0, 1, 4, 9])
def test_bounds_of_random_logs_hold(i: int) -> None:
    obj = problem(i)
    rng = np.random.default_rng(i)
    n, A, b = obj.features.n_samples, obj.features.dense(), obj.features.offset
    free, smooth = obj.unlabeled, obj.unlabeled_loss.name == "exp"
    W = np.concatenate([10.0 ** rng.uniform(-2, 0.5) * rng.standard_normal((400, A.shape[1])) for _ in range(20)])
    J = np.array([obj.value_at(w) for w in W])
    level = np.sort(J)[len(J) // 2]
    w = W[level == J][0]
    base = obj.result(w, solver="none")
    F = W @ A.T + b
    y, checked = np.zeros(n), 0
    y[obj.labels.labeled] = obj.labels.sign
    for _ in range(25):
        splits, regions = [], [(np.full(n, -INF), np.full(n, INF))]
        for _ in range(4):
            parent, j = int(rng.integers(len(regions))), int(rng.choice(free))
            at = float(rng.normal() * 0.3) if smooth else 0.0
            lo, hi = regions[parent]
            splits.append((parent, j, at))
            low, high = (
                (lo, np.where(np.arange(n) == j, np.minimum(hi, at), hi)),
                (np.where(np.arange(n) == j, np.maximum(lo, at), lo), hi),
            )
            regions += [low, high]
        node = int(rng.integers(len(regions)))
        lo, hi = regions[node]
        multipliers: dict[int, float] = {}
        for k in obj.labels.labeled:
            multipliers[int(k)] = float(-y[k] * rng.uniform(0, obj.C))
        for j in free:
            side = 1.0 if lo[j] >= 0 else -1.0 if hi[j] <= 0 else 0.0
            if side and rng.uniform() < 0.7:
                multipliers[int(j)] = float(-side * rng.uniform(0, obj.C_star))
            elif rng.uniform() < 0.5:
                multipliers[int(j + n)] = float(rng.uniform(0, 0.3) / (A[j] @ A[j] * len(free) + 1e-9))
        none = np.zeros(0, dtype=np.int64)
        record = tree_record_of(obj, replace(base, log=ProofLog(n, none, none, none, none, none, none, none)))
        record = logged(record, splits, [(node, multipliers)])
        r = read(record)
        if smooth:
            radius = np.sqrt(2 * level * (A[free] ** 2).sum(axis=1)) * (1 + 1e-12)
            r.lo[free], r.hi[free] = b - radius, b + radius
        bound = module.evident(r, module.tree(record, r, n), n)[node]
        inside = ((lo <= F) & (hi >= F)).all(axis=1) & (level >= J)
        checked += int(inside.sum())
        assert (J[inside] >= bound).all() or bound == INF
        if bound == INF:
            assert not inside.any()
    assert checked > 1000


def test_evidence_is_verified_in_chunks_and_each_counts() -> None:
    """Two hundred and fifty-six lines make a product: one more is not forgotten."""
    for count in (255, 256, 257, 513):
        splits = [(0, 1, 0.0)] * ((count + 1) // 2)
        values = np.linspace(0.01, 0.2, count)
        bounds = evident(logged(small(), splits, [(k + 1, {0: v}) for k, v in enumerate(values.tolist())]))
        assert bounds[1 : count + 1] == pytest.approx(values + 0.25 * values - 0.5 * values**2, rel=1e-14)


def test_dropping_evidence_keeps_the_others() -> None:
    record = logged(small(), [], [(0, {0: 0.1}), (0, {0: 0.2, 2: -0.1}), (0, {2: -0.3})])
    left = without(record, 1)
    assert [left.arrays[name].tolist() for name in ("node", "start", "index")] == [[0, 0], [0, 1, 2], [0, 2]]
    assert left.arrays["value"].tolist() == [0.1, -0.3]


def test_products_of_lines_are_those_of_the_rows() -> None:
    Z = arb_mat([[1.0, 2.0], [0.5, -1.0]])
    assert [float(x) for x in gram(Z).entries()] == [5.0, -1.5, -1.5, 1.25]
    with pytest.raises(Refuted):
        raise Refuted("as is")
    assert balls(np.array([0.1]))[0] == arb(0.1)
