r"""Replay of the log of an exact search in x, the decisions plus slacks of an S3VM with squared hinges.

With slacks s and x = f + s all labels are |x_j| >= 1, and what is left of J at a given x is, b the offset,

    J(x) = 1/2 (x - b)' Q^-1 (x - b),      Q = X X' + diag(1 / 2C_i).

A record "s3vm_boxes" is an "s3vm_tree" with the arrays of a `specmargin.optima.BoxLog`, and where the balance is on x
with x and its ``total``. What is proved, in balls, of the floats as they are, node by node, those above first:

1. *Its box* is at first that of the node above, less one label.
2. *Products*, its own or those of a step before, are not negative in that box: their factors have one sign there, or
   x^2 >= 1; *triangles* (a x_i + b x_j + c x_k)^2 + x_i^2 + x_j^2 + x_k^2 >= 4, signs a, b, c, hold wherever all
   |x| >= 1. J less the sum of both is a quadratic, m + (x - c)'W^-1 (x - c) with W positive definite, and m a bound.
3. *Rows* of multipliers a >= 0 of labels that the box knows, p = y o a (+ e_j), give

       J >= m + 1'a - p'c - p'Wp / 4,        x_j <= p'c - 1'a + sqrt((t - m) p'Wp)      where J <= t.

4. *Sides* of the box may move to where rows, or m and a single product, prove them to be where J <= t, or to the
   margin beyond. From then on the node proves no more than t: points outside of its box are no better.
5. *The bound of the whole*: a node proves the smaller one of its bound and its level, or what both its parts prove.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import product
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat

from cvxproof.proofs.balls import (
    BITS,
    ONE,
    ZERO,
    Refuted,
    balls,
    column,
    diagonal,
    entries,
    gram,
    is_definite,
    outward,
    positive_part,
    times,
    total,
)
from cvxproof.proofs.judging import Proof, concluded, judged
from cvxproof.proofs.record import ProofRecord, Verification
from specmargin.optima.replay import arrays_of, refute, weakest
from specmargin.proofs.bounds import GLOBAL, require_penalties, rows
from specmargin.proofs.verifier import read
from specmargin.typing import AnyArray, FloatArray

__all__ = ["replay"]

_KEPT = 8
"""Quadratics that are kept: steps that have the products of another one follow it soon."""
PRICE = 4096
"""What (sum x - total)^2 costs in a quadratic below J, in units of the largest weight; nothing at feasible points."""
KINDS = {
    **dict.fromkeys(("parent", "sample", "node", "like", "side", "index", "claim"), ("i", 1)),
    **dict.fromkeys(("first_product", "first_triangle", "first_row", "first_entry", "first_claim"), ("i", 1)),
    **dict.fromkeys(("level", "weight", "triangle_weight", "value", "end"), ("f", 1)),
    **dict.fromkeys(("pair", "triangle"), ("i", 2)),
    "ends": ("f", 2),
}
"""Arrays of a log: integers or floats, and how many indices they have."""


class Below(NamedTuple):
    """A quadratic below J, m + (x - c)'W^-1 (x - c)."""

    W: arb_mat
    c: AnyArray
    m: arb


class Box(NamedTuple):
    """What is known at a node: both sides of x, its level, and its bound."""

    low: FloatArray
    high: FloatArray
    level: float
    bound: float

    @property
    def proved(self) -> float:
        """What J is at least in the node's part of the tree."""
        return self.level if (self.low > self.high).any() else min(self.level, self.bound)

    def part(self, i: int, is_high: bool) -> Box:
        """Return that of the label -1 or +1 of a sample."""
        low, high = self.low.copy(), self.high.copy()
        if is_high:
            low[i] = max(low[i], 1.0)
        else:
            high[i] = min(high[i], -1.0)
        return self._replace(low=low, high=high)


def replay(record: ProofRecord) -> Verification:
    """Return what the log of a record of the kind "s3vm_boxes" proves."""
    return concluded(lambda: judged(record.claim, proof(record)), (BITS // 2,))


def proof(record: ProofRecord) -> Proof:
    """Return J at the answer, and the bound of the whole tree."""
    names = "loss parameter unlabeled_loss unlabeled_parameter C C_star b"
    r = read(record, "X=nd mu=d? P=d? J=l y=l w=d x=n? total=t?", names)
    require_penalties(r)
    if (r.loss, r.unlabeled_loss) != ("squared_hinge", "symmetric_squared_hinge") or not r.C_star > 0:
        raise Refuted(f"x stands for squared hinges of positive weights only, not for {r.loss!r}, {r.unlabeled_loss!r}")
    if (r.x is None) != (r.total is None) or (r.total is not None and r.total.shape != (1,)):
        raise Refuted("a balance on x is one number, and goes with x")
    Z = rows(r)
    n, r.costs, r.signs = Z.nrows(), balls(np.zeros(Z.nrows())) + r.C_star, np.zeros(Z.nrows())
    r.free, r.costs[r.J], r.signs[r.J] = np.setdiff1d(np.arange(n), r.J), r.C, [float(y) for y in r.y]
    log = tree(record, r, n)
    r.Q = gram(Z) + diagonal([1 / (2 * c) for c in r.costs])
    r.inverse, r.a = r.Q.inv(), balls(np.isin(np.arange(n), r.free).astype(float))
    r.whole = balanced(r, Below(2 * r.Q, balls(np.zeros(n)) + r.b, ZERO))
    f, x = times(Z, r.w) + r.b, None
    if r.total is None:
        short = [positive_part(1 - y * z) for y, z in zip(r.y, f[r.J], strict=True)]
        short += [positive_part(1 - abs(z)) for z in f[r.free]]
        losses = total(c * s**2 for c, s in zip([*r.costs[r.J], *r.costs[r.free]], short, strict=True))
    else:
        x = feasible(r)
        losses = total(r.costs * (x - f) ** 2)
    bounds = proved(r, log)
    if not bounds[0] >= record.claim.dual - record.claim.rounding:
        raise Refuted(weakest(log, bounds, record.claim.dual))
    primal = r.w @ r.w / 2 + losses
    if bounds[0] > outward(primal)[1]:
        raise Refuted(f"a bound of {bounds[0]:.17g} contradicts the answer")
    return Proof(primal, arb(float(bounds[0])), of=GLOBAL)


def tree(record: ProofRecord, r: SimpleNamespace, n: int) -> SimpleNamespace:
    """Return the arrays of the log, once they make a tree, and speak of samples and steps that are there."""
    log = arrays_of(record, KINDS)
    splits, steps, log.count = len(log.parent), len(log.node), 2 * len(log.parent) + 1
    refute(
        (record.kind != "s3vm_boxes" or record.claim.sense != "minimize", "this is no log of a bound from below"),
        (splits != len(log.sample), "splits are not complete"),
        ((log.parent > 2 * np.arange(splits)).any() or (log.parent < 0).any(), "a node is split before it is there"),
        (not np.isin(log.sample, r.free).all(), "a split is by no unlabelled sample"),
        (len(log.level) != steps or (log.node < 0).any() or (log.node >= log.count).any(), "a step is of no node"),
        (len(log.like) != steps or (log.like < 0).any(), "products are of no step"),
        ((log.like > np.arange(steps)).any(), "products are of no step"),
        (not parted(log.first_product, steps, log.weight, log.pair, log.ends), "products are not complete"),
        (not parted(log.first_triangle, steps, log.triangle, log.triangle_weight), "triangles are not complete"),
        (not parted(log.first_row, steps, log.side), "rows are not complete"),
        (not parted(log.first_entry, len(log.side), log.index, log.value), "multipliers are not complete"),
        (not parted(log.first_claim, steps, log.claim, log.end), "claims are not complete"),
        (log.pair.shape[1:] != (2,) or log.ends.shape[1:] != (2,), "a product has not two factors"),
        ((log.pair < 0).any() or (log.pair > [n - 1, n]).any(), "a product is of no sample"),
        ((log.triangle < 0).any() or (log.triangle > [n, n, n, 3]).any(), "a triangle is of no sample or no kind"),
        ((log.triangle_weight < 0).any(), "a triangle has a negative weight"),
        ((log.index < 0).any() or (log.index >= n).any(), "a multiplier is of no sample"),
        ((np.abs(np.append(log.side, log.claim)) > n).any() or (log.claim == 0).any(), "a side is of no sample"),
        (any(np.isinf(getattr(log, name)).any() for name in KINDS if name != "level"), "a number is infinite"),
    )
    log.below = lru_cache(maxsize=_KEPT)(partial(quadratic, r, log))
    return log


def parted(first: AnyArray, count: int, *of: AnyArray) -> bool:
    """Whether the numbers say where each of `count` parts of the arrays starts, and the last one ends."""
    ends = [0, *(len(x) for x in of)]
    return (
        len(first) == count + 1 and first[0] == 0 and set(ends[1:]) == {first[-1]} and bool((np.diff(first) >= 0).all())
    )


def feasible(r: SimpleNamespace) -> AnyArray:
    """Return a point next to x that has its signs and its balance to the last digit."""
    x, sign = r.x.copy(), np.array([1.0 if z >= 0 else -1.0 for z in r.x])
    sign[r.J] = r.signs[r.J]
    x = sign * np.array([(s * z).max(ONE) for s, z in zip(sign, x, strict=True)])
    off = r.total[0] - total(x[r.free])
    way = r.free[sign[r.free] == (1.0 if off >= 0 else -1.0)]
    if len(way):  # away from the margins
        x[way] += off / len(way)
        return np.asarray(x)
    widest = r.free[int(np.argmax([float(abs(z)) for z in x[r.free]]))]
    x[widest] += off
    if not sign[widest] * x[widest] >= 1:
        raise Refuted("no point next to x has that balance")
    return np.asarray(x)


def balanced(r: SimpleNamespace, below: Below) -> Below:
    """Return the quadratic where the free x add up to `total`, if there is such a balance."""
    if r.total is None:
        return below
    row = times(below.W, r.a)
    d, off = r.a @ row, r.total[0] - r.a @ below.c
    outer = column(row) * column(row).transpose() / d
    return Below(below.W - outer, below.c + row * (off / d), below.m + off**2 / d)


def proved(r: SimpleNamespace, log: SimpleNamespace) -> FloatArray:
    """Return what is proved of all nodes."""
    boxes: list[Box] = []
    steps = [[] for _ in range(log.count)]  # type: list[list[int]]
    for s, node in enumerate(log.node.tolist()):
        steps[node].append(s)
    for node in range(log.count):
        if node:
            k = (node - 1) // 2
            box = boxes[log.parent[k]].part(int(log.sample[k]), node % 2 == 0)
        else:
            box = Box(np.where(r.signs > 0, 1.0, -np.inf), np.where(r.signs < 0, -1.0, np.inf), np.inf, 0.0)
        for s in steps[node]:
            if box.proved == box.level < np.inf:
                break
            box = after(r, log, s, box)
        sides = np.where(box.low >= 1, 1.0, np.where(box.high <= -1, -1.0, 0.0))[r.free]
        if r.total is not None and sides.all() and (sides == sides[0]).all() and sides[0] * r.total[0] < len(sides):
            box = box._replace(bound=np.inf)
        boxes.append(box)
    bounds = np.array([box.proved for box in boxes])
    for k, node in reversed(list(enumerate(log.parent.tolist()))):
        bounds[node] = max(bounds[node], bounds[2 * k + 1 : 2 * k + 3].min())
    return bounds


def after(r: SimpleNamespace, log: SimpleNamespace, s: int, box: Box) -> Box:
    """Return what is known of a node after one more step."""
    of = int(log.like[s])
    for (i, j), (p, q), weight in products(log, of):
        if not holds(box, i, j, p, q, weight):
            raise Refuted(f"a product of samples {i} and {j} in step {s} is negative in the box")
    is_plain = all(first[of] == first[of + 1] for first in (log.first_product, log.first_triangle))
    below = r.whole if is_plain else log.below(of)
    level, bound = float(log.level[s]), max(box.bound, outward(below.m)[0])
    most = arb(level) - below.m if level < np.inf else arb.pos_inf()
    sides = np.full((2, len(box.low)), np.inf)  # upper bounds of x and of -x
    for side, x in multiplied(log, s, below, box, positive_part(most)):
        if side == 0:
            bound = max(bound, outward(x)[0])
        else:
            at = int(side < 0), abs(side) - 1
            sides[at] = min(sides[at], outward(x)[1])
    claims = slice(*log.first_claim[s : s + 2])
    if not log.claim[claims].size:
        return box._replace(bound=bound, level=min(box.level, level))
    if not level < np.inf:
        raise Refuted(f"step {s} moves sides at no level")
    alone(log, s, below, positive_part(most), sides)
    low, high = box.low.copy(), box.high.copy()
    for claim, end in zip(log.claim[claims].tolist(), log.end[claims].tolist(), strict=True):
        i, sign = abs(claim) - 1, np.sign(claim)
        known = sides[int(claim < 0), i]
        # A side within the margins leaves nothing but what is beyond them.
        if not (known <= sign * end or (sign * end == -1.0 and known < 1.0)):
            raise Refuted(f"step {s} proves {sign:+g} x_{i} <= {known:.17g}, not {sign * end:.17g}")
        if claim > 0:
            high[i] = min(high[i], end)
        else:
            low[i] = max(low[i], end)
    return Box(low, high, min(box.level, level), bound)


def products(log: SimpleNamespace, s: int) -> Iterator[tuple[list[int], list[float], float]]:
    """Yield the products of a step: the samples and the ends of both factors, and the weight."""
    own = slice(*log.first_product[s : s + 2])
    return zip(*(x[own].tolist() for x in (log.pair, log.ends, log.weight)), strict=True)


def quadratic(r: SimpleNamespace, log: SimpleNamespace, s: int) -> Below:
    """Return J less the products and the triangles of a step that has its own."""
    n = r.Q.nrows()
    M = arb_mat(n + 1, n + 1)  # of (x, 1): the sum, doubled once its transpose is added
    for (i, j), ends, factor in products(log, s):
        (p, q), weight = map(arb, ends), arb(factor)
        for at, part in (((i, j), weight), ((i, n), -weight * q), ((n, j), -weight * p), ((n, n), weight * p * q)):
            M[at] += part
    own = slice(*log.first_triangle[s : s + 2])
    for (*three, kind), factor in zip(log.triangle[own].tolist(), log.triangle_weight[own].tolist(), strict=True):
        M[n, n] -= 2 * arb(factor)
        for a, b in product(range(3), repeat=2):  # half of the product of two signs, and of each square
            M[three[a], three[b]] += arb(factor) * (1 if a == b else -0.5 if 3 - kind in (a, b) else 0.5)
    N = entries(M + M.transpose()) / 2
    c = balls(np.zeros(n)) + r.b
    slope = times(r.inverse, c) / 2
    H, h, k = r.inverse / 2 - arb_mat(N[:n, :n].tolist()), N[:n, n] + slope, c @ slope - N[n, n]
    if r.total is not None:
        price = PRICE * max(float(r.C), float(r.C_star)) / len(r.free)
        H += column(r.a) * column(r.a).transpose() * price
        h, k = h + r.a * (price * r.total[0]), k + price * r.total[0] ** 2
    if not is_definite(H):
        raise Refuted(f"J less the products and triangles of step {s} is not proved to be convex")
    W = H.inv()
    c = times(W, h)
    return balanced(r, Below(W, c, k - h @ c))


def holds(box: Box, i: int, j: int, p: float, q: float, weight: float) -> bool:
    """Whether weight (x_i - p)(x_j - q) >= 0 in the box, x_n - q being 1."""
    above, below = bool(box.low[i] >= p), bool(box.high[i] <= p)
    if j == len(box.low):
        return q == 0 and (above if weight > 0 else below)
    if i == j and weight > 0 and max(abs(p), abs(q)) <= 1:
        return True
    other = bool(box.low[j] >= q), bool(box.high[j] <= q)
    return (above and other[weight < 0]) or (below and other[weight > 0])


def multiplied(log: SimpleNamespace, s: int, below: Below, box: Box, most: arb) -> list[tuple[int, arb]]:
    """Return what the rows of a step prove: a bound of J (side 0), and upper bounds of x_j or -x_j."""
    own, known = range(*log.first_row[s : s + 2]), np.where(box.low >= 1, 1.0, np.where(box.high <= -1, -1.0, 0.0))
    if not own:
        return []
    p, ones = np.zeros((len(own), len(known)), dtype=object) * ZERO, balls(np.zeros(len(own)))
    for k, row in enumerate(own):
        at = slice(*log.first_entry[row : row + 2])
        index, a, side = log.index[at], log.value[at], int(log.side[row])
        if (a < 0).any() or (known[index] == 0).any() or len(set(index.tolist())) != len(index):
            raise Refuted(f"row {row} in step {s} has no multipliers >= 0 of labels that are known there")
        p[k, index], ones[k] = balls(known[index] * a), total(balls(a))
        if side:
            p[k, abs(side) - 1] += np.sign(side)
    V = arb_mat(p.tolist())
    squared, along = (entries(V * below.W) * p).sum(axis=1), p @ below.c
    out = []
    for k, row in enumerate(own):
        side = int(log.side[row])
        if side == 0:
            out.append((side, below.m + ones[k] - along[k] - squared[k] / 4))
        else:
            out.append((side, along[k] - ones[k] + (most * positive_part(squared[k])).sqrt()))
    return out


def alone(log: SimpleNamespace, s: int, below: Below, most: arb, sides: FloatArray) -> None:
    """Take what the quadratic and single products prove of each x: a product is at most `most` over its weight."""
    n = sides.shape[1]
    for j in range(n):
        radius = (most * positive_part(below.W[j, j])).sqrt()
        for k, x in enumerate((below.c[j], -below.c[j])):
            sides[k, j] = min(sides[k, j], outward(x + radius)[1])
    for (i, j), (p, q), weight in products(log, int(log.like[s])):
        if weight == 0:
            continue
        if j == n:
            k = int(weight < 0)
            sides[k, i] = min(sides[k, i], outward((p if weight > 0 else -p) + most / abs(arb(weight)))[1])
        elif i == j and weight > 0 and (p, q) == (1.0, -1.0):
            sides[:, i] = np.minimum(sides[:, i], outward((1 + most / arb(weight)).sqrt())[1])
