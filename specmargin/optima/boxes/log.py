r"""What the exact search in x writes down of its proof: a `specmargin.optima.BoxLog`.

Everything that it proves of a part of the tree is a *step*: products and triangles that are not negative there with
their multipliers, for a bound; rows of multipliers of the labels that are known there (`specmargin.optima.boxes.
margin_boxes.Row`), for bounds and for sides of the box; and the sides that both have moved, below a level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from specmargin.optima.boxes.margin_boxes import MarginBox, Row
from specmargin.optima.boxes.pivoting import LabeledPoint
from specmargin.optima.boxes.product_bound import ProductBound
from specmargin.optima.boxes.products import Products
from specmargin.optima.search_log import BoxLog
from specmargin.typing import AnyArray, FloatArray, IntArray

__all__ = ["BoxTreeLog", "Evidence", "Step", "joined", "starts"]

_PARTS = {
    "first_product": ("pair", "ends", "weight"),
    "first_triangle": ("triangle", "triangle_weight"),
    "first_claim": ("claim", "end"),
}
"""Arrays of a `BoxLog` that say where the parts of a step start, and those arrays of all steps, one after the other."""


@dataclass(frozen=True, eq=False)
class Step:
    """What products, triangles and rows prove of a node at once; sides of its box are at their ends, below a level."""

    node: int
    level: float
    pair: IntArray
    ends: FloatArray
    weight: FloatArray
    triangle: IntArray
    triangle_weight: FloatArray
    rows: Sequence[Row]
    claim: IntArray
    end: FloatArray
    like: Step | None = None
    """The step whose products and triangles are meant, where it has none of its own."""

    @classmethod
    def of(cls, node: int, products: Products | None, lam: FloatArray | None, rows: Sequence[Row] = ()) -> Step:
        """Return a step that moves no side of a box."""
        none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        pair, ends, weight = none.reshape(0, 2), nothing.reshape(0, 2), nothing
        triangle, strength = none.reshape(0, 4), nothing
        if products is not None and lam is not None:
            lam, strength = np.split(lam, [len(products.i)])
            used = products.chosen(lam > 0)
            pair, ends = np.column_stack([used.i, used.j]), np.column_stack([used.p, used.q])
            weight = used.sign * lam[lam > 0]
            triangle, strength = products.triangles[strength > 0], strength[strength > 0]
        return cls(node, np.inf, pair, ends, weight, triangle, strength, rows, none, nothing)

    def moving(self, before: MarginBox, after: MarginBox) -> Step:
        """Return it with the sides that have changed."""
        high, low = (np.flatnonzero(x) for x in (after.high < before.high, after.low > before.low))
        claim, end = np.append(high + 1, -low - 1), np.append(after.high[high], after.low[low])
        return replace(self, level=after.level, claim=claim, end=end)


class Evidence:
    """Steps of one part of the tree, which is node 0 here, and splits of it by labels that are enumerated."""

    def __init__(self) -> None:
        self.splits: list[tuple[int, int]] = []
        self.steps: list[Step] = []

    def split(self, node: int, sample: int) -> tuple[int, int]:
        """Divide a node by the label of a sample; the nodes where it is -1 and +1."""
        self.splits.append((node, sample))
        return 2 * len(self.splits) - 1, 2 * len(self.splits)

    def bounded(self, products: Products, lam: FloatArray) -> Step:
        """Keep a bound by products, and return its step."""
        self.steps.append(Step.of(0, products, lam))
        return self.steps[-1]

    def labeled(self, node: int, point: LabeledPoint, like: Step | None = None) -> None:
        """Keep the bound of the point of known labels, for J or for J less the products of another step."""
        rows = np.flatnonzero(point.p)
        self.steps.append(replace(Step.of(node, None, None, [(0, rows, np.abs(point.p[rows]))]), like=like))

    def cut(self, proof: ProductBound | None, before: MarginBox, after: MarginBox, rows: Sequence[Row] = ()) -> None:
        """Keep what has moved sides of the box."""
        step = Step.of(0, None, None, rows) if proof is None else Step.of(0, proof.products, proof.lam, rows)
        self.steps.append(step.moving(before, after))


class BoxTreeLog(Evidence):
    """A log that grows with the search: the steps and the splits of the whole tree."""

    def __init__(self, n_samples: int) -> None:
        super().__init__()
        self.n_samples = n_samples

    def take(self, number: int, evidence: Evidence) -> None:
        """Take the steps and the splits of the part that has that number."""
        numbers = [number]
        for node, sample in evidence.splits:
            numbers.extend(self.split(numbers[node], sample))
        taken: dict[Step | None, Step | None] = {None: None}
        for step in evidence.steps:
            new = replace(step, node=numbers[step.node], like=taken[step.like])
            taken[step] = new
            self.steps.append(new)

    def finished(self) -> BoxLog:
        """Return the log as arrays."""
        steps, rows = self.steps, [row for step in self.steps for row in step.rows]
        at, nothing = {step: s for s, step in enumerate(steps)}, Step.of(0, None, None)
        parent, sample = np.array(self.splits, dtype=np.int64).reshape(-1, 2).T
        arrays: dict[str, AnyArray] = {"parent": parent.copy(), "sample": sample.copy()}
        arrays["node"] = np.array([step.node for step in steps], dtype=np.int64)
        arrays["level"] = np.array([step.level for step in steps])
        arrays["like"] = np.array([at[step.like or step] for step in steps], dtype=np.int64)
        for first, names in _PARTS.items():
            arrays[first] = starts(len(getattr(step, names[-1])) for step in steps)
            arrays |= {name: joined([getattr(step, name) for step in steps], getattr(nothing, name)) for name in names}
        arrays["first_row"] = starts(len(step.rows) for step in steps)
        arrays["side"] = np.array([side for side, _, _ in rows], dtype=np.int64)
        arrays["first_entry"] = starts(len(index) for _, index, _ in rows)
        arrays["index"] = joined([index for _, index, _ in rows], np.zeros(0, dtype=np.int64))
        arrays["value"] = joined([value for _, _, value in rows], np.zeros(0))
        return BoxLog(self.n_samples, **arrays)

    @classmethod
    def of(cls, log: BoxLog) -> BoxTreeLog:
        """Return the log that grew to that."""
        self = cls(log.n_samples)
        self.splits = list(zip(log.parent.tolist(), log.sample.tolist(), strict=True))
        entries = [slice(*log.first_entry[k : k + 2]) for k in range(len(log.side))]
        rows: list[Row] = [
            (side, log.index[at], log.value[at]) for side, at in zip(log.side.tolist(), entries, strict=True)
        ]
        for k, (node, level) in enumerate(zip(log.node.tolist(), log.level.tolist(), strict=True)):
            parts: dict[str, Any] = {
                name: getattr(log, name)[slice(*getattr(log, first)[k : k + 2])]
                for first, names in _PARTS.items()
                for name in names
            }
            step = Step(node, level, rows=rows[slice(*log.first_row[k : k + 2])], **parts)
            like = int(log.like[k])
            self.steps.append(step if like == k else replace(step, like=self.steps[like]))
        return self


def starts(lengths: Iterable[int]) -> IntArray:
    """Return where each part starts, and where the last one ends."""
    return np.cumsum([0, *lengths], dtype=np.int64)


def joined(parts: list[AnyArray], nothing: AnyArray) -> AnyArray:
    """Return arrays as one, of the type of `nothing`."""
    return np.concatenate([nothing, *parts]).astype(nothing.dtype)
