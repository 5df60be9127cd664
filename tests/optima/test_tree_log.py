"""Searches write down what proves their bounds, and do nothing else differently."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import specmargin as sm
from specmargin.labels import encode_labels
from specmargin.losses import SymmetricRamp
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import ProofLog, branch_and_bound, probe, with_bound
from specmargin.optima import branching as by_labels
from specmargin.results import SolveResult


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
def test_a_log_changes_nothing_else(solve: object, case: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_labels, "is_for_boxes", lambda *_: False)  # boxes write another
    obj = objective(3, **case)
    plain, logged = solve(obj, time_limit=600.0), solve(obj, time_limit=600.0, log=True)
    assert same(plain, logged)
    assert plain.log is None
    assert sm.verify(obj, logged)  # the bound follows from the log, in exact arithmetic
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
