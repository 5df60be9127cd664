"""Exact searches in x with their logs, and what is done to a log that must not be believed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from cvxproof.proofs.record import ProofRecord
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import branch_and_bound
from specmargin.optima.boxes import label_tree
from specmargin.optima.boxes import nodes as box_nodes
from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.replay import replay
from specmargin.results import SolveResult

OPTIONS: list[dict[str, Any]] = [
    {},
    {"intercept": "regularized", "C_star": 0.3},
    {"intercept": "none", "C": 30.0},
    {"intercept": "none", "balance_on": "slack", "balance": 0.1},
    {"C": 0.1, "balance": -0.4},
    {"intercept": "none", "balance_on": "slack", "balance": -0.5, "C": 5.0, "C_star": 1.0},
]


def problem(i: int, u: int = 7) -> S3VM:
    """Return the i-th problem: intercepts, balances on decisions and on x, and weights in turn."""
    rng = np.random.default_rng([5, i])
    y = np.append(np.resize([0, 1], 2 + i % 4), np.full(u, -1))
    X = rng.standard_normal((len(y), 1 + i % 3)) * 10.0 ** rng.uniform(-0.5, 0.5)
    return S3VM(X, encode_labels(y), **{"C": 1.0, **OPTIONS[i % len(OPTIONS)]})


def searched(i: int, u: int = 7, *, poorly: bool = True, nodes: int = 2, **options: Any) -> tuple[S3VM, SolveResult]:
    """Return the i-th problem and its search; with poor labels and trees of labels of few nodes it branches more."""
    obj = problem(i, u)
    with ExitStack() as stack:
        if poorly:
            turns = obj.labels.labeled, obj.labels.sign, obj.unlabeled
            for module, name, value in (
                (box_nodes, "_FEW", 1),
                (label_tree, "_TRIED", nodes),
                (label_tree, "_MOST", -1.0),
                (label_tree, "_PER_SQUARE", 0.0),
            ):
                stack.enter_context(mock.patch.object(module, name, value))
            for name, fake in (
                ("_flipped", lambda self, point: point),
                ("_relabeled", lambda self, point: point),
                ("sample", lambda *_: False),
                ("signs", lambda self, x: poor(*turns)),
            ):
                stack.enter_context(mock.patch.object(MarginSearch, name, fake))
        return obj, branch_and_bound(obj, **{"tol": 1e-3, "time_limit": 600.0, "log": True, **options})


def poor(labeled: Any, sign: Any, unlabeled: Any) -> Any:
    """Return labels of all samples, those of the unlabelled ones by turns."""
    labels = np.zeros(len(labeled) + len(unlabeled))
    labels[labeled], labels[unlabeled] = sign, np.resize([1.0, -1.0], len(unlabeled))
    return labels


def changed(record: ProofRecord, **arrays: Any) -> ProofRecord:
    """Return the record with other arrays."""
    return replace(record, arrays={**record.arrays, **arrays})


def at(x: Any, k: int, value: Any) -> Any:
    """Return an array with another entry."""
    x = x.copy()
    x[k] = value
    return x


def without(record: ProofRecord, s: int) -> ProofRecord:
    """Return the record less a step: its level, products, triangles, rows and claims are no more."""
    a = record.arrays
    kept = np.arange(len(a["node"])) != s
    new = {"node": a["node"][kept], "level": a["level"][kept]}
    new["like"] = np.minimum(np.cumsum(kept) - 1, np.arange(len(kept)))[a["like"]][kept]
    for first, names in (
        ("first_product", ("pair", "ends", "weight")),
        ("first_triangle", ("triangle", "triangle_weight")),
        ("first_row", ("side",)),
        ("first_claim", ("claim", "end")),
    ):
        lengths = np.diff(a[first])
        new[first] = np.append(0, np.cumsum(lengths[kept]))
        new |= {name: a[name][np.repeat(kept, lengths)] for name in names}
    rows = np.repeat(kept, np.diff(a["first_row"]))
    lengths = np.diff(a["first_entry"])
    new["first_entry"] = np.append(0, np.cumsum(lengths[rows]))
    new |= {name: a[name][np.repeat(rows, lengths)] for name in ("index", "value")}
    return changed(record, **new)


def tampered(record: ProofRecord, other: ProofRecord) -> Iterator[tuple[str, ProofRecord, str]]:
    """Yield what was done to a record, the record, and what is to be said of it (any of the texts between bars)."""
    claim = record.claim
    raised = claim.dual + 1e-3 * abs(claim.dual) + max(claim.primal - claim.dual, 0.0)
    yield "a bound raised", replace(record, claim=replace(claim, dual=raised)), "proves"
    yield "an objective changed", replace(record, claim=replace(claim, primal=1.01 * claim.primal)), "the objective is"
    for name, factor, more in (("C", 0.5, 0.0), ("C_star", 0.5, 0.0), ("b", 1.0, 0.3)):
        numbers = {**record.numbers, name: factor * record.numbers[name] + more}
        yield f"another {name}", replace(record, numbers=numbers), "proves|the objective is|convex"
    yield "a loss changed", replace(record, numbers={**record.numbers, "loss": "hinge"}), "squared hinges"
    yield "another objective's log", changed(record, **{n: x for n, x in other.arrays.items() if n in LOG}), ""
    yield from tampered_data(record)
    yield from tampered_form(record)
    yield from tampered_steps(record)


LOG = (
    *("parent", "sample", "node", "level", "like", "first_product", "pair", "ends", "weight", "first_triangle"),
    *("triangle", "triangle_weight", "first_row", "side", "first_entry", "index", "value", "first_claim"),
    *("claim", "end"),
)


def tampered_data(record: ProofRecord) -> Iterator[tuple[str, ProofRecord, str]]:
    """Yield other data and answers."""
    a = record.arrays
    yield (
        "a label of the data flipped",
        changed(record, y=at(a["y"], 0, -a["y"][0])),
        "known there|proves|objective|in the",
    )
    yield "a sample moved", changed(record, X=at(a["X"], 0, 1.5 * a["X"][0] + 0.1)), "proves|the objective is"
    yield "another answer", changed(record, w=1.1 * a["w"] + 0.01), "the objective is"
    if "total" in a:
        yield "another balance", changed(record, total=a["total"] + 0.5), "proves|the objective is"
        yield "no balance", replace(record, arrays={n: x for n, x in a.items() if n != "total"}), "goes with x"
        yield "another x", changed(record, x=1.3 * a["x"]), "the objective is"


def tampered_form(record: ProofRecord) -> Iterator[tuple[str, ProofRecord, str]]:
    """Yield logs that are none."""
    a, n = record.arrays, len(record.arrays["X"])
    steps = len(a["node"])
    for name in ("first_product", "first_triangle", "first_row", "first_entry", "first_claim"):
        yield f"{name} begins late", changed(record, **{name: a[name] + 1}), "not complete"
        yield f"{name} lacks its end", changed(record, **{name: a[name][:-1]}), "not complete"
    for name, wrong, sentence in (
        ("node", 2 * len(a["parent"]) + 1, "of no node"),
        ("like", steps, "products are of no step"),
        ("level", np.nan, "no proper array level"),
        ("side", n + 1, "of no sample"),
        ("index", n, "of no sample"),
        ("claim", 0, "of no sample"),
        ("end", np.inf, "infinite"),
        ("value", np.inf, "infinite"),
        ("weight", np.inf, "infinite"),
        ("triangle_weight", np.inf, "infinite"),
        ("triangle_weight", -1e-3, "negative weight"),
        ("triangle", [0, 1, n + 1, 0], "of no sample"),
        ("triangle", [-1, 1, n, 0], "of no sample"),
        ("triangle", [0, 1, 2, 4], "no kind"),
        ("triangle", [0, 1, 2, -1], "no kind"),
        ("parent", 2 * len(a["parent"]), "before it is there"),
        ("sample", int(a["J"][0]), "no unlabelled sample"),
    ):
        if len(a[name]):
            yield f"{name} out of range: {wrong}", changed(record, **{name: at(a[name], -1, wrong)}), sentence
    yield "floats for nodes", changed(record, node=a["node"] + 0.0), "no proper array node"
    yield "levels missing", changed(record, level=a["level"][: steps - 1]), "of no node"
    yield "no weights", replace(record, arrays={name: x for name, x in a.items() if name != "weight"}), "no proper"
    if len(a["pair"]):
        yield "pair out of range", changed(record, pair=at(a["pair"], 0, [n, n])), "of no sample"


def tampered_steps(record: ProofRecord) -> Iterator[tuple[str, ProofRecord, str]]:
    """Yield what is done to steps: the sentences are those of the replay."""
    a, dual = record.arrays, record.claim.dual
    not_so, weak = "proves", "proves"
    steps = range(len(a["node"]))
    for s in steps:
        if not replay(without(record, s)):
            yield "a step dropped", without(record, s), "proves|known there|in the box|goes|convex"
            break
    # Sides between the margins claim the margin; the others are what rows and products prove to the last digits.
    sharp = [s for s in steps if (np.abs(a["end"][slice(*a["first_claim"][s : s + 2])]) != 1).any()]
    if sharp:
        s = sharp[0]
        k = a["first_claim"][s] + int(np.argmax(np.abs(a["end"][slice(*a["first_claim"][s : s + 2])]) != 1))
        side, end = a["claim"][k], a["end"][k]
        inward = end - np.sign(side) * 1e-6 * max(1.0, abs(end))
        yield "a side moved inward", changed(record, end=at(a["end"], k, inward)), not_so
        yield "a level raised", changed(record, level=at(a["level"], s, 1.01 * a["level"][s])), not_so
        yield "no level", changed(record, level=at(a["level"], s, np.inf)), "at no level"
        yield "a level lowered", changed(record, level=at(a["level"], s, 0.99 * dual)), f"{weak}|{not_so}"
        yield "a side of the other kind", changed(record, claim=at(a["claim"], k, -side)), f"{not_so}|{weak}|in the box"
        own = [r for r in range(*a["first_row"][s : s + 2]) if a["side"][r] == side]
        entries = slice(*a["first_entry"][own[0] : own[0] + 2]) if own else slice(0, 0)
        if own and a["value"][entries].max(initial=0.0) > 0.1:
            e = entries.start + int(np.argmax(a["value"][entries]))
            yield "a multiplier halved", changed(record, value=at(a["value"], e, 0.5 * a["value"][e])), not_so
            yield "a multiplier doubled", changed(record, value=at(a["value"], e, 2.0 * a["value"][e])), not_so
            others = a["side"].copy()
            others[own[0]] = -side
            yield "a row of the other side", changed(record, side=others), f"{not_so}|known there"
    if len(a["value"]):
        # Steps of a node that is proved already are not replayed: the root's first one with a row is.
        roots = [s for s in steps if a["node"][s] == 0 and a["first_row"][s] < a["first_row"][s + 1]] or steps
        rows = a["first_row"][roots[0]], a["first_row"][roots[0] + 1]
        first, last = a["first_entry"][rows[0]], a["first_entry"][rows[1]]
        e = int(first + np.argmax(a["value"][first:last])) if last > first else int(np.argmax(a["value"]))
        yield "a multiplier negated", changed(record, value=at(a["value"], e, -a["value"][e])), "no multipliers >= 0"
        r = int(np.searchsorted(a["first_entry"], 0, side="right")) - 1
        free = np.setdiff1d(np.arange(len(a["X"])), a["J"])
        yield (
            "a multiplier of an unknown label",
            changed(record, index=at(a["index"], int(a["first_entry"][r]), int(free[0]))),
            "known there",
        )
    if a["triangle_weight"].max(initial=0.0) > 1e-3:
        k = int(np.argmax(a["triangle_weight"]))
        heavier = at(a["triangle_weight"], k, 1e4 * a["triangle_weight"][k])
        yield "a heavy triangle", changed(record, triangle_weight=heavier), "convex|proves"
    lines = np.flatnonzero((a["pair"][:, 1] == len(a["X"])) & np.isin(a["pair"][:, 0], a["J"]))
    if len(lines):
        k, j = int(lines[0]), a["pair"][lines[0], 1]
        free = int(np.setdiff1d(np.arange(len(a["X"])), a["J"])[0])
        yield "a product negated", changed(record, weight=at(a["weight"], k, -a["weight"][k])), "negative in the box"
        yield (
            "an end moved",
            changed(record, ends=at(a["ends"], k, [1.5 * a["ends"][k, 0], 0.0])),
            "negative in the box",
        )
        yield "a factor other than 1", changed(record, ends=at(a["ends"], k, [a["ends"][k, 0], 0.5])), "negative in"
        yield "a product of another sample", changed(record, pair=at(a["pair"], k, [free, j])), "negative in the box"
        yield "large multipliers", changed(record, weight=1e6 * a["weight"]), "convex|proves"
