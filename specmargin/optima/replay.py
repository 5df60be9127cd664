r"""Replay of a proof log: the tree of a branch and bound, or of probing, over the labels of an S3VM.

A record "s3vm_tree" is an "s3vm" (`specmargin.proofs.verifier`) without its multipliers, but with the arrays of a
`specmargin.optima.ProofLog`. What is proved, in balls, of the floats as they are:

1. *The leaves cover everything.* Split k divides a node that is there already between the nodes 2k + 1, where the
   decision f of one unlabelled sample is at most ``at[k]``, and 2k + 2, where it is at least that. With at = 0 these
   are its labels: U(f) = V(|f|) is the loss of the label +1 where f >= 0.
2. *Evidence is a bound at its node*: for the highest h, which is computed here, its lines and parabolas
   h + g f - theta f^2 / 2 are below the losses, and what is left is quadratic in w (`parabolas_minimum`).
3. *The bound of the whole*: a node has the bounds of those above it, and that which both parts of a split have.
4. *Labels that all optima share* (``proved``, where it is there): bounds above J(w) refute the other ones.

With exp(-s f^2) decisions are bounded, too: better points v than w have |v|^2 <= 2 J(w). Nodes without any are empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from cvxproof.proofs.balls import BITS, Refuted, balls, entries, gram, outward, times, total
from cvxproof.proofs.judging import Proof, concluded, judged
from cvxproof.proofs.record import ProofRecord, Verification
from specmargin.proofs.bounds import GLOBAL, parabolas_minimum, require_penalties, rows
from specmargin.proofs.conjugates import branch, conjugate, parabola_top, unlabeled_value, value
from specmargin.proofs.verifier import read
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["replay"]


def replay(record: ProofRecord) -> Verification:
    """Return what the log of a record of the kind "s3vm_tree" proves."""
    return concluded(lambda: judged(record.claim, proof(record)), (BITS,))


def proof(record: ProofRecord) -> Proof:
    """Return J(w) and the bound of the whole tree."""
    r = read(record, "X=nd mu=d? P=d? J=l y=l w=d", "loss parameter unlabeled_loss unlabeled_parameter C C_star b")
    require_penalties(r)
    Z = rows(r)
    n, r.Z, r.G, r.label = Z.nrows(), Z, gram(Z), dict(zip(r.J.tolist(), r.y, strict=True))
    r.free = np.setdiff1d(np.arange(n), r.J)
    log, f = tree(record, r, n), times(Z, r.w) + r.b
    J = r.w @ r.w / 2 + r.C * total(value(r.loss, r.parameter, u) for u in 1 - r.y * f[r.J])
    J += r.C_star * total(unlabeled_value(r.unlabeled_loss, r.unlabeled_parameter, x) for x in f[r.free])
    attained, r.lo, r.hi = outward(J)[1], np.full(n, -np.inf), np.full(n, np.inf)
    for i in r.free.tolist() if r.unlabeled_loss == "exp" else ():
        radius = (2 * arb(attained) * r.G[i, i]).sqrt()
        r.lo[i], r.hi[i] = outward(r.b - radius)[0], outward(r.b + radius)[1]
    bounds = propagated(log, evident(r, log, n))
    if not bounds[0] >= record.claim.dual - record.claim.rounding:
        raise Refuted(weakest(log, bounds, record.claim.dual))
    of = GLOBAL
    if "proved" in record.arrays:
        claimed, shared = np.asarray(record.arrays["proved"]), common(log, bounds > attained, n)[r.free]
        if claimed.shape != shared.shape or not ((claimed == 0) | (claimed == shared)).all():
            raise Refuted("not every label that is claimed for all optima is proved")
        of += f", and {np.count_nonzero(claimed)} labels of unlabelled samples are those of every minimum"
    return Proof(J, arb(float(bounds[0])), of=of)


def tree(record: ProofRecord, r: SimpleNamespace, n: int) -> SimpleNamespace:
    """Return the arrays of the log, once they make a tree and tell of samples that are there."""
    kinds = dict.fromkeys(("parent", "sample", "node", "start", "index"), ("i", 1)) | dict.fromkeys(
        ("at", "value"), ("f", 1)
    )
    log = arrays_of(record, kinds)
    splits, log.count = len(log.parent), 2 * len(log.parent) + 1
    later, length, U = log.parent > 2 * np.arange(splits), np.diff(log.start, append=len(log.index)), r.unlabeled_loss
    refute(
        (record.kind != "s3vm_tree" or record.claim.sense != "minimize", "this is no log of a bound from below"),
        (U not in ("symmetric_hinge", "symmetric_squared_hinge", "exp"), f"the loss {U!r} is not covered"),
        (not splits == len(log.sample) == len(log.at), "splits are not complete"),
        (later.any() or (log.parent < 0).any(), "a node is split before it is there"),
        (not np.isin(log.sample, r.free).all(), "a split is by no unlabelled sample"),
        (len(log.start) != len(log.node) + 1 or len(log.index) != len(log.value), "evidence is not complete"),
        (log.start[:1].any() or (length < 0).any() or length[-1:].any(), "evidence is not in order"),
        ((log.node < 0).any() or (log.node >= log.count).any(), "evidence is of no node"),
        ((log.index < 0).any() or (log.index >= 2 * n).any(), "evidence is of no sample"),
        (not all(np.isfinite(x).all() for x in (log.at, log.value)), "a number is infinite"),
    )
    return log


def arrays_of(record: ProofRecord, kinds: Mapping[str, tuple[str, int]]) -> SimpleNamespace:
    """Return the arrays of a log: integers or floats, and how many indices they have."""
    log = SimpleNamespace(**{name: np.asarray(record.arrays.get(name)) for name in kinds})
    for name, x in vars(log).items():
        if (x.dtype.kind, x.ndim) != kinds[name] or np.isnan(x).any():
            raise Refuted(f"the log has no proper array {name}")
    return log


def refute(*faults: tuple[Any, str]) -> None:
    """Refute a log that has one of the faults."""
    for wrong, sentence in faults:
        if wrong:
            raise Refuted(f"no log of this problem: {sentence}")


def region(r: SimpleNamespace, log: SimpleNamespace, node: int) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest decisions of all samples at a node."""
    lo, hi = r.lo.copy(), r.hi.copy()
    while node > 0:
        k, left = (node - 1) // 2, node % 2 == 1
        i, at, node = log.sample[k], log.at[k], int(log.parent[k])
        lo[i], hi[i] = (lo[i], min(hi[i], at)) if left else (max(lo[i], at), hi[i])
    return lo, hi


def evident(r: SimpleNamespace, log: SimpleNamespace, n: int) -> FloatArray:
    """Return what the evidence proves of every node: J >= 0 without any, and infinity where a node is empty."""
    bounds, lines = np.zeros(log.count), []
    if r.unlabeled_loss == "exp":
        bounds[[node for node in range(log.count) if np.greater(*region(r, log, node)).any()]] = np.inf
    for e, node in enumerate(log.node.tolist()):
        own, both, h = slice(log.start[e], log.start[e + 1]), np.zeros(2 * n), arb(0)
        both[log.index[own]] = log.value[own]
        g, theta, (lo, hi) = both[:n], both[n:], region(r, log, node)
        for i in np.flatnonzero((g != 0) | (theta != 0) | (r.hi < np.inf)).tolist() if bounds[node] < np.inf else ():
            h += top(r, i, *(arb(float(x[i])) for x in (g, theta, lo, hi)))
            if not h > arb.neg_inf():
                raise Refuted(f"evidence {e} is not below the loss of sample {i} at node {node}")
        lines += [] if theta.any() else [(node, h, g)]
        if theta.any() and bounds[node] < np.inf:
            with ctx.workprec(BITS // 2):
                h += parabolas_minimum(r.Z, r.b, *(balls(x) for x in (0.0 * g, g, theta)))
            if not h > arb.neg_inf():
                raise Refuted(f"evidence {e}: I - Z'diag(theta)Z is not proved to be positive definite")
            bounds[node] = max(bounds[node], outward(h)[0])
    for first in range(0, len(lines), 256):  # without parabolas the minimum is that of |w|^2 / 2 + g'(Zw + b)
        V = arb_mat([g.tolist() for _, _, g in lines[first : first + 256]])
        squares = (entries(V * r.G) * entries(V)).sum(axis=1)
        for (node, h, g), square in zip(lines[first:], squares, strict=False):
            bounds[node] = max(bounds[node], outward(h + r.b * balls(g).sum() - square / 2)[0])
    return bounds


def propagated(log: SimpleNamespace, bounds: FloatArray) -> FloatArray:
    """Return the bounds of all nodes; a second pass brings what splits prove of a node to those below it."""
    for _ in range(2):
        for k, node in enumerate(log.parent.tolist()):
            bounds[2 * k + 1 : 2 * k + 3] = np.maximum(bounds[2 * k + 1 : 2 * k + 3], bounds[node])
        for k, node in reversed(list(enumerate(log.parent.tolist()))):
            bounds[node] = max(bounds[node], bounds[2 * k + 1 : 2 * k + 3].min())
    return bounds


def top(r: SimpleNamespace, i: int, g: arb, theta: arb, lo: arb, hi: arb) -> arb:
    """Return the highest h with h + g f - theta f^2 / 2 below the loss of sample i on [lo, hi], or less; or -inf."""
    c, U, none = r.C_star, r.unlabeled_loss, arb.neg_inf()
    if i in r.label:
        return r.C * conjugate(r.loss, r.parameter, -r.label[i] * g / r.C) if theta == 0 else none
    if not (c > 0 and theta >= 0):
        return none
    if U == "exp":
        return exp_top(c, r.unlabeled_parameter, g, theta, lo, hi)
    if g == 0:
        return c * parabola_top(U, r.unlabeled_parameter, theta / c)
    decided = theta == 0 and (lo >= 0 if g < 0 else hi <= 0)
    return c * conjugate(branch(U), r.parameter, abs(g) / c) if decided else none


def exp_top(c: arb, s: arb, g: arb, theta: arb, lo: arb, hi: arb) -> arb:
    """Return the minimum of m(f) = c exp(-s f^2) + theta f^2 / 2 - g f on [lo, hi], or less; or -inf."""
    # exp(-s f^2) is concave for |f| <= 1 / sqrt(2s), and convex beyond; its least curvature is that of the least |f|.
    turn, least = (1 / (2 * s)).sqrt(), arb.pos_inf()

    def slope(f: arb) -> arb:
        return theta * f - g - 2 * s * c * f * (-s * f * f).exp()

    for a, z, outer in ((lo, hi.min(-turn), True), (lo.max(-turn), hi.min(turn), False), (lo.max(turn), hi, True)):
        nearest = s * a.max(-z).max(arb(0)) ** 2
        convex = outer or theta >= 2 * s * c * (1 - 2 * nearest) * (-nearest).exp()
        if z < a:
            continue
        if not convex and theta > 0:  # one parabola below the loss wherever it is
            least = least.min(c * parabola_top("exp", s, theta / c) if g == 0 else arb.neg_inf())
            continue
        left, right = a, z
        for _ in range(BITS // 2 if convex else 0):
            f = ((left + right) / 2).mid()
            left, right = (f, right) if slope(f) < 0 else (left, f)
        # Where m is convex it is above its tangent near the minimum, where it is concave above the lower end.
        for at in (right.max(a).min(z),) if convex else (a, z):
            rest = (slope(at) * (a - at)).min(slope(at) * (z - at)) if convex else 0
            least = least.min(c * (-s * at * at).exp() + theta * at * at / 2 - g * at + rest)
    return least


def weakest(log: SimpleNamespace, bounds: FloatArray, claimed: float) -> str:
    """Return what stands against a bound: a leaf that has a lower one."""
    node, depth, splits = 0, 0, {parent: k for k, parent in enumerate(log.parent.tolist())}
    while node in splits:
        low, depth = 2 * splits[node] + 1, depth + 1
        node = low + int(bounds[low] > bounds[low + 1])
    return f"node {node}, {depth} splits below the root, proves {bounds[node]:.17g}, not {claimed:.17g}"


def common(log: SimpleNamespace, refuted: BoolArray, n: int) -> IntArray:
    """Return the signs of the decisions that all points share which no bound refutes, 0 where they may differ."""
    signs = np.zeros((log.count, n), dtype=np.int64)
    for k, node in enumerate(log.parent.tolist()):
        signs[[2 * k + 1, 2 * k + 2]] = signs[node]
        signs[[2 * k + 1, 2 * k + 2], log.sample[k]] = (-1, 1) if log.at[k] == 0 else signs[node, log.sample[k]]
    for k, node in reversed(list(enumerate(log.parent.tolist()))):
        low, high = signs[2 * k + 1], signs[2 * k + 2]
        shared = high if refuted[2 * k + 1] else low if refuted[2 * k + 2] else np.where(low == high, low, 0)
        signs[node] = np.where(signs[node] != 0, signs[node], shared)
    return np.asarray(signs[0])
