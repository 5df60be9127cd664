"""Branch and bound and probing with their proofs written down, and what is done to a log that must not be believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import numpy as np

import specmargin as sm
from cvxproof.proofs.record import ProofRecord
from specmargin.kernels.maps import kernel_map
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import branch_and_bound, probe
from specmargin.optima.replay import replay
from specmargin.results import SolveResult

SIZES = (5, 8, 12, 18, 25, 40, 60, 100)
"""Unlabelled samples."""

WEAK, MISSING = "splits below the root, proves", "is not below the loss|not proved to be positive definite"


def problem(i: int) -> S3VM:
    """Return the i-th problem: losses, intercepts and features (linear, RBF) in turn; every fifth is smooth."""
    rng = np.random.default_rng(1000 + i)
    loss, intercept = ("hinge", "squared_hinge")[i % 2], ("balance", "regularized")[i // 2 % 2]
    smooth = i % 5 == 4
    u = int(rng.integers(4, 11)) if smooth else SIZES[i % 8]
    l, d = int(rng.integers(2, 7)), int(rng.integers(2, 6))
    truth = np.arange(u + l) % 2
    X = rng.normal(size=(u + l, d)) + 0.9 * (2.0 * truth[:, None] - 1.0) * (np.arange(d) < 2)
    if i // 4 % 2:
        X = kernel_map(sm.kernels.gram(X, gamma=0.2)).Z
    labels = encode_labels(np.where(np.arange(u + l) < l, truth, -1))
    C, share = float(10.0 ** rng.uniform(-1, 1)), float(rng.choice([0.1, 0.3, 1.0]))
    C_star = C * share * (l / u if u > 30 else 1.0)
    return S3VM(X, labels, loss, "exp" if smooth else None, C=C, C_star=C_star, intercept=intercept)


def searched(i: int, nodes: int = 200) -> tuple[S3VM, SolveResult]:
    """Return the i-th problem and its branch and bound, not that by boxes, stopped after some nodes."""
    obj = problem(i)
    smooth = obj.unlabeled_loss.name == "exp"
    with mock.patch("specmargin.optima.branching.is_for_boxes", return_value=False):
        return obj, branch_and_bound(obj, max_nodes=30 if smooth else nodes, time_limit=600.0, log=True)


def probed(i: int) -> tuple[S3VM, SolveResult]:
    """Return the i-th problem and its probing."""
    obj = problem(i)
    return obj, probe(obj, rounds=2, time_limit=600.0, log=True)


def changed(record: ProofRecord, dual: float | None = None, **arrays: np.ndarray) -> ProofRecord:
    """Return the record with other arrays, and another claim."""
    claim = record.claim if dual is None else replace(record.claim, dual=dual)
    return replace(record, arrays={**record.arrays, **arrays}, claim=claim)


def least_leaf(record: ProofRecord) -> tuple[int, float]:
    """Return a piece of evidence without which nothing is proved as claimed, and the bound that is left then."""
    for e in range(len(record.arrays["node"])):
        verification = replay(without(record, e))
        if not verification:
            return e, verification.bound[0]
    raise AssertionError("no evidence of this log matters")


def without(record: ProofRecord, e: int) -> ProofRecord:
    """Return the record less one piece of evidence."""
    start, entries = record.arrays["start"], np.arange(len(record.arrays["index"]))
    kept = (entries < start[e]) | (entries >= start[e + 1])
    ends = np.delete(start, e + 1)
    ends[e + 1 :] -= start[e + 1] - start[e]
    arrays = {name: record.arrays[name][kept] for name in ("index", "value")}
    return changed(record, node=np.delete(record.arrays["node"], e), start=ends, **arrays)


def tampered(record: ProofRecord, other: ProofRecord | None, seed: int = 0) -> Iterator[tuple[str, ProofRecord, str]]:
    """Yield what was done to a record, the record, and what is to be said of it (any of the texts between bars)."""
    yield from tampered_claim(record, other)
    yield from tampered_leaf(record, seed)


def tampered_claim(record: ProofRecord, other: ProofRecord | None) -> Iterator[tuple[str, ProofRecord, str]]:
    """Yield what needs no leaf that matters: other claims, other labels, the log of another record."""
    arrays, claim = record.arrays, record.claim
    raised = claim.dual + max(4.0 * claim.rounding, 1e-3 * abs(claim.dual)) + max(claim.primal - claim.dual, 0.0)
    yield "a bound raised", changed(record, dual=raised), WEAK
    yield (
        "an objective changed",
        replace(record, claim=replace(claim, primal=1.001 * claim.primal + 1e-9)),
        "the objective is",
    )
    y = arrays["y"].copy()
    y[0] *= -1.0
    yield "a label of the data flipped", changed(record, y=y), f"{MISSING}|{WEAK}|the objective is"
    if other is not None:
        log = {name: other.arrays[name] for name in ("parent", "sample", "at", "node", "start", "index", "value")}
        yield (
            "another objective's log",
            changed(record, **log),
            f"{MISSING}|{WEAK}|no log of this problem|not every label",
        )


def tampered_leaf(record: ProofRecord, seed: int) -> Iterator[tuple[str, ProofRecord, str]]:
    """Yield what is done to a leaf without which nothing is proved; to find one takes many replays of a large log."""
    rng, arrays = np.random.default_rng(seed), record.arrays
    e, _ = least_leaf(record)
    yield "a leaf dropped", without(record, e), WEAK
    # Of the smooth loss a line may go either way.
    one_way = arrays["J"] if record.numbers["unlabeled_loss"] == "exp" else np.arange(len(arrays["X"]))
    lines = np.flatnonzero(np.isin(arrays["index"], one_way) & (np.abs(arrays["value"]) > 1e-9))
    if len(lines):
        value = arrays["value"].copy()
        value[rng.choice(lines)] *= -1.0
        yield "a sign flipped", changed(record, value=value), f"{MISSING}|{WEAK}"
    value = arrays["value"].copy()
    value[arrays["start"][e] : arrays["start"][e + 1]] *= 1e3
    yield "multipliers of a leaf times a thousand", changed(record, value=value), f"{MISSING}|{WEAK}"
    value = arrays["value"].copy()
    value[arrays["start"][e] : arrays["start"][e + 1]] *= 0.1
    yield "multipliers of a leaf divided by ten", changed(record, value=value), WEAK
    # A sample whose label that leaf rests on, and one that nobody has split yet on the way to it.
    multiplied = arrays["index"][arrays["start"][e] : arrays["start"][e + 1]]
    path, node = [], int(arrays["node"][e])
    while node > 0:
        path.append((node - 1) // 2)
        node = int(arrays["parent"][path[-1]])
    others = np.setdiff1d(np.arange(len(arrays["X"])), [*arrays["J"], *arrays["sample"][path]])
    needed = [k for k in path if arrays["sample"][k] in np.intersect1d(multiplied, one_way)]
    if needed and len(others):
        sample = arrays["sample"].copy()
        sample[needed[0]] = rng.choice(others)
        yield "another sample branched", changed(record, sample=sample), MISSING
