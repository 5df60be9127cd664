"""Searches write down what proves their bounds, and do nothing else differently."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import specmargin as sm
from specmargin.labels import encode_labels
from specmargin.losses import SymmetricRamp
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.s3vm_relaxation import S3VMRelaxation
from specmargin.results import ProofLog, SolveResult
from specmargin.solvers import branch_and_bound, probe, with_bound
from specmargin.solvers.s3vm.label_qp import LabelQP
from specmargin.solvers.s3vm.tree_log import Evidence, TreeLog


def objective(
    seed: int = 0, u: int = 12, loss: str = "hinge", unlabeled_loss: object = None, l: int = 4, **options: object
) -> S3VM:
    rng = np.random.default_rng(seed)
    truth = np.arange(u + l) % 2
    X = rng.normal(size=(u + l, 3)) + 0.7 * (2.0 * truth[:, None] - 1.0)
    labels = encode_labels(np.where(np.arange(u + l) < l, truth, -1))
    return S3VM(X, labels, loss, unlabeled_loss, **{"C": 1.0, **options})


def same(one: SolveResult, two: SolveResult) -> bool:
    """Whether all that both results tell is the same to the last bit, but for their times and logs."""
    values = [
        (r.status, r.certificate, r.n_iter, r.message, r.history.columns, r.solver, r.problem) for r in (one, two)
    ]
    arrays = [{name: np.asarray(x).tobytes() for name, x in r.variables.items()} for r in (one, two)]
    return values[0] == values[1] and arrays[0] == arrays[1]


CASES = [
    {"loss": "hinge"},
    {"loss": "squared_hinge", "intercept": "regularized", "C_star": 0.1},
    {"loss": "hinge", "unlabeled_loss": "symmetric_squared_hinge", "C_star": 0.3},
    {"loss": "squared_hinge", "unlabeled_loss": SymmetricRamp()},
    {"loss": "hinge", "unlabeled_loss": "exp", "u": 6},
    {"loss": "squared_hinge", "C_star": 0.0, "intercept": "regularized"},
]


@pytest.mark.parametrize("solve", [branch_and_bound, probe])
@pytest.mark.parametrize("case", CASES)
def test_a_log_changes_nothing_else(solve: object, case: dict[str, object]) -> None:
    obj = objective(3, **case)
    plain, logged = solve(obj, time_limit=600.0), solve(obj, time_limit=600.0, log=True)
    assert same(plain, logged)
    assert plain.log is None
    log = logged.log
    assert isinstance(log, ProofLog)
    assert log.n_samples == obj.features.n_samples
    assert {name: x.dtype.kind for name, x in log.arrays.items()} == {
        "parent": "i", "sample": "i", "at": "f", "node": "i", "start": "i", "index": "i", "value": "f",
    }  # fmt: skip
    assert np.isin(log.sample, obj.unlabeled).all()
    if not hasattr(obj.unlabeled_loss, "s") or isinstance(obj.unlabeled_loss, SymmetricRamp):
        assert not log.at.any()
    assert len(np.unique(log.node)) == len(log.node) or solve is not branch_and_bound
    assert repr(logged) == repr(plain)
    again = pickle.loads(pickle.dumps(logged))
    assert all(np.array_equal(x, again.log.arrays[name]) for name, x in log.arrays.items())
    assert (again.log.n_samples, repr(again.log)) == (log.n_samples, repr(log))


def test_leaves_of_a_search_that_went_to_its_end_cover_every_labeling_once() -> None:
    for seed in range(4):
        obj = objective(seed, u=14, C_star=0.3)
        log = branch_and_bound(obj, log=True).log
        assert log is not None
        assert len(set(log.parent.tolist())) == len(log.parent)
        signs = {0: {}}
        for k, node in enumerate(log.parent.tolist()):
            assert log.sample[k] not in signs[node]
            for child, sign in ((2 * k + 1, -1), (2 * k + 2, 1)):
                signs[child] = {**signs[node], int(log.sample[k]): sign}
        leaves = set(signs) - set(log.parent.tolist())
        assert sum(2.0 ** -len(signs[leaf]) for leaf in leaves) == 1.0
        assert len(leaves) == log.n_leaves == log.n_nodes - len(log.parent) == len(log.parent) + 1


def test_logs_of_stopped_searches_hold_the_open_nodes() -> None:
    obj = objective(1, u=30, C_star=0.3)
    whole = branch_and_bound(obj, log=True)
    for nodes in (0, 1, 2, 5):
        result = branch_and_bound(obj, max_nodes=nodes, log=True)
        assert same(result, branch_and_bound(obj, max_nodes=nodes))
        assert len(result.log.parent) <= nodes
        assert result.certificate.dual_objective > 0.0
        assert len(result.log.node) > 0
    assert len(whole.log.parent) > 5


def bound_of(obj: S3VM, slopes: np.ndarray, constants: float) -> float:
    """Return the minimum of constants + 1/2 |w|^2 + sum of slopes times decisions."""
    A = obj.features.dense()
    return float(constants + obj.features.offset * slopes.sum() - 0.5 * np.sum((A.T @ slopes) ** 2))


def test_evidence_of_labels_is_the_bound_of_the_dual() -> None:
    for loss in ("hinge", "squared_hinge"):
        obj = objective(2, loss=loss, C_star=0.5)
        qp = LabelQP(S3VMRelaxation(obj))
        signs = np.array([1.0, -1.0] * 3 + [0.0] * 6)
        point = qp.solve(qp.labels(signs))
        evidence = Evidence.of_labels(7, qp, point)
        assert evidence.node == 7
        slopes = np.zeros(16)
        slopes[evidence.index] = evidence.value
        assert (slopes * point.y <= 0).all()
        assert (np.abs(slopes) <= np.where(qp.hinge, qp.c, np.inf)).all()
        assert (slopes[point.y == 0] == 0).all()
        gains = np.abs(slopes).sum() - 0.5 * float(qp.D @ slopes**2)
        assert bound_of(obj, slopes, gains) == pytest.approx(qp.lower(point), rel=1e-12)
        # Beyond their bounds multipliers prove nothing.
        beyond = replace(point, a=2.0 * point.a - 0.1)
        clipped = np.zeros(16)
        clipped[Evidence.of_labels(0, qp, beyond).index] = Evidence.of_labels(0, qp, beyond).value
        assert np.array_equal(clipped, -point.y * np.clip(beyond.a, 0.0, qp.upper))


def test_evidence_of_the_relaxation_is_its_bound() -> None:
    obj = objective(4, loss="squared_hinge", C=2.0, C_star=0.5)
    signs = np.zeros(12)
    signs[[1, 5]] = 1.0, -1.0
    problem = S3VMRelaxation(obj, signs)
    rng = np.random.default_rng(0)
    theta = problem.repair(rng.uniform(0, 1, 10)) * 0.5
    beta = rng.uniform(0, 1, 6)
    theta[3] = -1.0
    beta[2] = -0.3
    evidence = Evidence.of_relaxation(3, problem, theta, beta)
    both = np.zeros(32)
    both[evidence.index] = evidence.value
    g, curvatures = both[:16], both[16:]
    assert (evidence.value != 0).all()
    assert np.array_equal(curvatures[obj.unlabeled[problem.free]], np.maximum(theta, 0.0))
    assert (curvatures[obj.labels.labeled] == 0).all()
    assert curvatures[obj.unlabeled[[1, 5]]].tolist() == [0.0, 0.0]
    expected = np.maximum(beta, 0.0) * np.array([2.0] * 4 + [0.5] * 2) * problem.y
    assert np.array_equal(g[problem.known], -expected)
    assert (g[obj.unlabeled[problem.free]] == 0).all()
    A, b = obj.features.dense(), obj.features.offset
    h = float(problem.minorant_values(np.maximum(theta, 0.0)).sum())
    h += float(problem.weights @ problem.dual_values(np.maximum(beta, 0.0)))
    M = np.eye(A.shape[1]) - (A * curvatures[:, None]).T @ A
    q = A.T @ (g - b * curvatures)
    value = h + b * g.sum() - 0.5 * b**2 * curvatures.sum() - 0.5 * q @ np.linalg.solve(M, q)
    assert problem.dual_bound(np.maximum(theta, 0.0), beta) == pytest.approx(value, rel=1e-10)


def test_numbers_of_nodes_and_evidence_that_is_kept_once() -> None:
    log = TreeLog(5)
    assert (log.split(0, 3), log.split(2, 4, 0.5)) == ((1, 2), (3, 4))
    first, second = Evidence(1, np.array([0, 6]), np.array([-1.0, 0.25])), Evidence(3, np.array([2]), np.array([4.0]))
    for evidence in (first, None, second, first):
        log.keep(evidence)
    log.keep(first, 4)
    log.keep(first, 4)
    finished = log.finished()
    assert finished.n_samples == 5
    assert {name: x.tolist() for name, x in finished.arrays.items()} == {
        "parent": [0, 2],
        "sample": [3, 4],
        "at": [0.0, 0.5],
        "node": [1, 3, 4],
        "start": [0, 2, 3, 5],
        "index": [0, 6, 2, 0, 6],
        "value": [-1.0, 0.25, 4.0, -1.0, 0.25],
    }
    assert repr(finished) == "ProofLog: 3 leaves of 5 nodes, 3 bounds"
    empty = TreeLog(2).finished()
    assert (empty.start.tolist(), empty.index.dtype.kind, empty.n_leaves) == ([0], "i", 1)


def test_probing_keeps_what_refutes_every_label_that_it_proves() -> None:
    for seed in range(5):
        obj = objective(seed, u=14, C_star=0.2)
        result = probe(obj, log=True)
        log, proved = result.log, result.variables["proved"]
        assert log is not None
        assert np.count_nonzero(proved) > 0
        # A proved label goes on at its child; the other child is a leaf with evidence.
        refuted = {(int(log.sample[(node - 1) // 2]), -1 if node % 2 else 1) for node in log.node if node > 0}
        for j in np.flatnonzero(proved):
            assert (int(obj.unlabeled[j]), int(-proved[j])) in refuted


def test_logs_are_small() -> None:
    """Of a multiplier sixteen bytes are kept, of a split twenty-four."""
    obj = objective(1, u=40, C_star=0.2)
    log = branch_and_bound(obj, max_nodes=200, log=True).log
    assert log is not None
    size = sum(x.nbytes for x in log.arrays.values())
    assert size == 24 * len(log.parent) + 16 * len(log.node) + 8 + 16 * len(log.value)
    assert (log.value != 0).all()


def test_logs_belong_to_the_public_solvers() -> None:
    assert "log" in sm.solvers.branch_and_bound.__doc__
    assert "log" in sm.solvers.probe.__doc__


def test_a_better_bound_has_no_log() -> None:
    obj = objective(1, u=30, C_star=0.3)
    stopped = branch_and_bound(obj, max_nodes=0, log=True)
    better = with_bound(obj, stopped, tol=1e-6)
    assert better.certificate.dual_objective > stopped.certificate.dual_objective
    assert better.log is None
    proved = branch_and_bound(obj, log=True)
    same_bound = with_bound(obj, proved)
    assert same_bound.certificate.dual_objective == proved.certificate.dual_objective
    assert same_bound.log is proved.log
