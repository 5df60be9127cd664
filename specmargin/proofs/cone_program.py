r"""Bounds of cone programs: a record of the kind "cone program", proved in balls and rational arithmetic.

    minimise  f(x) = x'P x / 2 + q'x + d   subject to   A x + s = b,  s in K

Whatever xh is, and z in the dual cone, every feasible x has

    f(x) >= -b'z - xh'P xh / 2 + d + r'x + (x - xh)'P (x - xh) / 2,    r = P xh + q + A'z.

1. *z is in the dual cone*: by signs, by squares, by a factorisation, by exp and log of balls.
2. *P is positive semidefinite*, and at least diag(c): by its signs where it is diagonal, else block by block.
3. *r'x*, column by column: r_j xh_j - r_j^2 / (2 c_j) where c_j > 0; elsewhere by bounds of x that rows, cones and the
   objective imply (`specmargin.proofs.implied_box`) for every x not worse than the answer, which are tightened once
   more by z's <= what is left. What has no bounds is made to vanish: a linear system, solved in balls, proves that
   there is a z' next to z with r_j = 0, and z' is in the dual cone, ball and all. Else x is supposed to lie within the
   reach that the record states.
4. *The answer*: its objective, and how far its slacks are outside of their cones.
"""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from scipy.sparse.csgraph import connected_components

from specmargin.proofs.balls import BITS, ONE, ZERO, Ball, Refuted, balls, floats, is_definite, largest, matrix, outward
from specmargin.proofs.balls import total as summed
from specmargin.proofs.bounds import Proof
from specmargin.proofs.implied_box import LARGE, Cones, Level, Rows, implied_box, places
from specmargin.proofs.record import ProofRecord, Verification
from specmargin.proofs.verifier import WRONG, judged
from specmargin.typing import AnyArray, FloatArray, IntArray

__all__ = ["check"]

RATIONAL = 30
"""Order of matrices up to which singular ones are proved to be positive semidefinite in rational arithmetic."""
OPEN = 300
"""Columns without bounds up to which a system is solved,"""
WORK = 3_000_000
"""and the products that it may take to write it down."""
ALLOWED = 1e-9
"""Share of a violation, or of the terms of a row times 2^-16, that the measure in floats may be off by."""


def check(record: ProofRecord) -> Verification:
    """Return what is proved of a record, with half of the bits where they are enough."""
    outcome = Verification(False, "")
    for bits in (BITS // 2, BITS):
        with ctx.workprec(bits):
            try:
                outcome = judged(record.claim, proof(record))
            except Refuted as refuted:
                outcome = Verification(False, str(refuted))
            except WRONG as error:
                return Verification(False, f"the record contradicts itself, or leaves the range of floats: {error}")
        if outcome:
            break
    return outcome


def proof(record: ProofRecord) -> Proof:
    """Return objective and bound, in the sense of the problem."""
    p = read(record)
    if record.claim.sense != ("minimize" if p.sign > 0 else "maximize"):
        raise Refuted(f"to {record.claim.sense} is not the problem of a program of the sign {p.sign}")
    require_in_dual(p, p.z)
    p.curvature = curvature(p)
    Px, quadratic = p.P(p.x), p.q + p.P(p.xh)
    value = p.d + summed(p.x * (Px / 2 + p.q))
    if not 0 <= record.claim.scale <= 1e-3 * (1 + ALLOWED) * outward(size_of_terms(p))[1]:
        raise Refuted(f"the scale {record.claim.scale:.3g} is more than a thousandth of the terms of the objective")
    told = violations(p)
    p.r = quadratic + p.A.transposed(p.z)
    p.level = value + (abs(value).max(ONE)) / 1000000
    bound, stated = least(p, quadratic, p.sign * arb(record.claim.dual))
    of = f"the optimum of the cone program; the answer is outside of its constraints by at most {told}"
    if loose := json.loads(record.numbers["loose"]):
        stated = (*stated, f"{', '.join(loose)} of the result, which CVXPY or an objective derives, are not judged")
    return Proof(p.sign * value, p.sign * bound.min(p.level), assumption="; ".join(stated), of=of)


# What a record holds


class Sparse:
    """A matrix of floats: its entries as balls, and products with vectors of balls."""

    def __init__(self, i: IntArray, j: IntArray, a: FloatArray, shape: tuple[int, int]) -> None:
        order = np.lexsort((j, i))
        self.i, self.j, self.a, self.shape = i[order], j[order], a[order], shape
        self.entries = balls(self.a)
        self.by_column = np.argsort(self.j, kind="stable")

    def __call__(self, x: AnyArray) -> AnyArray:
        return _gathered(self.entries * x[self.j], self.i, self.shape[0])

    def transposed(self, z: AnyArray) -> AnyArray:
        by = self.by_column
        return _gathered(self.entries[by] * z[self.i[by]], self.j[by], self.shape[1])


def _gathered(terms: AnyArray, at: IntArray, size: int) -> AnyArray:
    """Return the sums of terms at equal places, which are in order."""
    out = balls(np.zeros(size))
    if len(at):
        out[np.unique(at)] = np.add.reduceat(terms, np.flatnonzero(np.diff(at, prepend=-1)))
    return out


def read(record: ProofRecord) -> SimpleNamespace:
    """Return the numbers of a record, once shapes, indices, cones and ranges are right."""
    p = SimpleNamespace(n=np.size(record.arrays["q"]), m=np.size(record.arrays["b"]))
    for name, size in (("q", p.n), ("b", p.m), ("x", p.n), ("xh", p.n), ("z", p.m), ("violations", None)):
        setattr(p, f"{name}_", _vector(record, name, "f", size))
        setattr(p, name, balls(getattr(p, f"{name}_")))
    for name in ("d", "sign", "reach"):
        number = record.numbers[name]
        if not isinstance(number, float) or not abs(number) <= LARGE or (name == "reach" and number < 0):
            raise Refuted(f"{name}={number!r} is no number of a cone program")
        setattr(p, name, number if name != "d" else arb(number))
    if abs(p.sign) != 1:
        raise Refuted(f"sign={p.sign!r} is neither 1 nor -1")
    for name, shape in (("P", (p.n, p.n)), ("A", (p.m, p.n))):
        a = _vector(record, name, "f")
        i, j = (_vector(record, f"{name}_{end}", "i", len(a)) for end in ("row", "column"))
        inside = (i >= 0) & (i < shape[0]) & (j >= 0) & (j < shape[1])
        if not inside.all() or not (a != 0).all() or len(np.unique(i * shape[1] + j)) < len(a):
            raise Refuted(f"the entries of {name} are not those of a matrix of the shape {shape}")
        setattr(p, name, Sparse(i, j, a, shape))
    p.names, p.owner = json.loads(record.numbers["names"]), _vector(record, "owner", "i", p.m)
    if not isinstance(p.names, list) or not all(isinstance(name, str) for name in p.names):
        raise Refuted("the names of the constraints are no texts")
    if len(p.names) != len(p.violations) or not ((p.owner >= -1) & (p.owner < len(p.names))).all():
        raise Refuted("the rows do not have the names of the constraints")
    p.stated, p.cones = int(record.numbers["open"]), _cones(record, p.m)
    return p


def _vector(record: ProofRecord, name: str, kind: str, size: int | None = None) -> AnyArray:
    x = np.asarray(record.arrays[name])
    if x.ndim != 1 or x.dtype.kind != kind or (size is not None and len(x) != size) or not (abs(x) <= LARGE).all():
        raise Refuted(f"{name} of the shape {x.shape} is no array of a cone program, or beyond {LARGE:g}")
    return x


def _cones(record: ProofRecord, m: int) -> Cones:
    """Return the cones, which hold each of the rows once and have parameters that mean something."""
    kinds = record.numbers["kinds"].split()
    rows, parameters = _vector(record, "rows", "i", m), _vector(record, "parameters", "f")
    shapes = np.asarray(record.arrays["shapes"])  # count, length, and how many parameters
    if shapes.shape != (len(kinds), 3) or (shapes < 0).any() or shapes.dtype.kind != "i":
        raise Refuted("the cones have no shapes")
    if len(np.unique(rows)) != m or ((rows < 0) | (rows >= m)).any() or shapes.max(initial=0) > m + 3:
        raise Refuted("the cones do not hold every row once")
    sizes = shapes[:, 0] * shapes[:, 1]
    if sizes.sum() != m or shapes[:, 2].sum() != len(parameters):
        raise Refuted("the cones do not hold every row once")
    cones: Cones = []
    starts, ends = np.cumsum(sizes) - sizes, np.cumsum(shapes[:, 2]) - shapes[:, 2]
    for kind, (count, length, more), start, end in zip(kinds, shapes.tolist(), starts, ends, strict=True):
        own = tuple(parameters[end : end + more].tolist())
        if not length or not _fits(kind, length, own):
            raise Refuted(f"there is no cone {kind!r} of {length} rows with the parameters {own}")
        cones.append((kind, rows[start : start + count * length].reshape(count, length), own))
    return cones


def _fits(kind: str, length: int, parameters: tuple[float, ...]) -> bool:
    if kind == "semidefinite":
        order, lower = parameters if len(parameters) == 2 else (0.0, 0.0)
        return order == int(order) and order * (order + 1) == 2 * length and lower in (0, 1)
    if kind == "exponential":
        return length == 3 and sorted(parameters) == [0, 1, 2]
    if kind == "power":
        return len(parameters) + 1 == length and min(parameters) > 0 and abs(sum(parameters) - 1) < 1e-12
    return not parameters and (kind == "second_order" or (length == 1 and kind in ("zero", "nonnegative")))


# Cones


def require_in_dual(p: SimpleNamespace, z: AnyArray) -> None:
    """Refute multipliers, balls, that are not proved to lie in the dual cone."""
    for kind, rows, parameters in p.cones:
        for row, one in zip(rows, z[rows], strict=True):
            if not in_dual(kind, one, parameters):
                raise Refuted(f"the multipliers of row {row[0]} are not proved to lie in the dual of a {kind} cone")


def in_dual(kind: str, z: AnyArray, parameters: tuple[float, ...]) -> bool:
    """Whether multipliers lie in a dual cone, for certain."""
    if kind == "zero" or not any(z):
        return True
    if kind == "nonnegative":
        return bool(z[0] >= 0)
    if kind == "second_order":
        rest = summed(z[1:] ** 2)
        return bool(z[0] >= 0 and (z[0] * z[0] >= rest or (len(z) < 50 and _is_exactly_inside(z))))
    if kind == "semidefinite":
        return bool(z[0] >= 0) if len(z) == 1 else is_definite(symmetric(z, parameters))
    if kind == "exponential":
        u, v, w = (z[int(k)] for k in parameters)
        if u == 0:
            return bool(v >= 0 and w >= 0)
        return bool(u < 0 and w > 0 and v / u - 1 < w.log() - (-u).log())
    whole = summed(balls(parameters))
    heads, tail = z[:-1], abs(z[-1])
    if not all(one >= 0 for one in heads):
        return False
    if tail == 0:
        return True
    shares = balls(parameters) / whole
    return bool(all(one > 0 for one in heads)) and bool(
        summed(a * (one / a).log() for a, one in zip(shares, heads, strict=True)) >= tail.log()
    )


def _is_exactly_inside(z: AnyArray) -> bool:
    """Whether z_0 >= |(z_1, ...)|, in rational arithmetic."""
    if not all(one.is_exact() for one in z):
        return False
    head, *rest = (one.fmpq() for one in z)
    return bool(head * head >= sum((one * one for one in rest), fmpq(0)))


def symmetric(z: AnyArray, parameters: tuple[float, ...]) -> arb_mat:
    """Return the matrix of packed entries, off the diagonal over sqrt 2."""
    order, (i, j) = int(parameters[0]), places(parameters)
    M, root = np.full((order, order), ZERO, dtype=object), arb(2).sqrt()
    M[i, j] = M[j, i] = np.where(i == j, z, z / root)
    return arb_mat(M.tolist())


def violations(p: SimpleNamespace) -> str:
    """Return how far the answer is outside, in words, once no constraint is violated by more than is claimed."""
    s = p.b - p.A(p.x)
    sizes = np.abs(p.b_) + np.bincount(p.A.i, np.abs(p.A.a * p.x_[p.A.j]), p.m)
    worst, name = ZERO, "rows that CVXPY added"
    for kind, rows, parameters in p.cones:
        for row, one in zip(rows, s[rows], strict=True):
            outside, k = violation(kind, one, parameters), int(p.owner[row[0]])
            if not (p.owner[row] == k).all():
                raise Refuted(f"a {kind} cone at row {row[0]} belongs to several constraints")
            if not outside <= worst:
                worst, name = outside.max(worst), p.names[k] if k >= 0 else "rows that CVXPY added"
            claimed = float(p.violations_[k]) if k >= 0 else math.inf
            allowed = ALLOWED * (claimed + 2.0**-16 * (sizes[row].max() + abs(floats(one)).max()))
            if not outside <= claimed + allowed:
                told = f"{outward(outside)[1]:.3g}, not by {claimed:.3g}"
                raise Refuted(f"the answer is outside of {p.names[k]!r} by {told}")
    return f"{outward(worst)[1]:.2g} ({name})" if worst > 0 else "0"


def violation(kind: str, s: AnyArray, parameters: tuple[float, ...]) -> Ball:
    """Return how far slacks are outside of their cone, in its own units; of a matrix an upper bound."""
    if kind == "zero":
        return abs(s[0])
    if kind == "nonnegative":
        return (-s[0]).max(ZERO)
    if kind == "second_order":
        return (summed(s[1:] ** 2).sqrt() - s[0]).max(ZERO)
    if kind == "semidefinite":
        return _below_zero(symmetric(s, parameters))
    if kind == "exponential":
        x, y, z = (s[int(k)] for k in parameters)
        if y > 0:
            return (y * (x / y).exp() - z).max(ZERO)
        return largest([ZERO, -y, -z, x])
    shares = balls(parameters) / summed(balls(parameters))
    inside = all(one > 0 for one in s[:-1])
    mean = summed(a * one.log() for a, one in zip(shares, s[:-1], strict=True)).exp() if inside else ZERO
    return largest([ZERO, abs(s[-1]) - mean, *-s[:-1]])


def _below_zero(M: arb_mat) -> Ball:
    """Return a t >= 0 with which M + tI is proved to be positive semidefinite."""
    order = M.nrows()
    mid = np.array([float(one) for one in M.entries()]).reshape(order, order)
    guess, size = max(-float(np.linalg.eigvalsh(mid)[0]), 0.0), 1e-15 * float(np.abs(mid).max()) + 1e-300
    for t in (0.0, *(guess * (1 + 1e-10) + size * 8.0**k for k in range(8))):
        if is_definite(M + arb_mat(np.diag([t] * order).tolist())):
            return arb(t)
    raise Refuted("nothing is proved of a matrix among the slacks of the answer")


# The bound


def size_of_terms(p: SimpleNamespace) -> Ball:
    """Return the sum of the moduli of the terms of the objective, or the largest coefficient."""
    x, terms = abs(p.x), abs(p.P.entries)
    quadratic = summed(_gathered(terms * x[p.P.j], p.P.i, p.n) * x) / 2
    return largest([quadratic + summed(abs(p.q) * x) + abs(p.d), *abs(p.q)])


def curvature(p: SimpleNamespace) -> FloatArray:
    """Return c >= 0 with P - diag(c) positive semidefinite, or refute P."""
    P = np.zeros(p.n)
    on = p.P.i == p.P.j
    P[p.P.i[on]] = p.P.a[on]
    if not (P >= 0).all():
        raise Refuted(f"P has the diagonal entry {P.min():.3g}: the problem is not convex")
    if on.all():
        return P
    from scipy.sparse import coo_array

    whole = coo_array((p.P.a, (p.P.i, p.P.j)), shape=(p.n, p.n)).tocsr()
    if abs(whole - whole.T).nnz:
        raise Refuted("P is not symmetric")
    block = connected_components(whole, directed=False)[1]
    for k in np.unique(block[p.P.i[~on]]):
        at = np.flatnonzero(block == k)
        P[at] = _curvature(whole[at][:, at].toarray())
    return P


def _curvature(P: FloatArray) -> float:
    lowest, unit = float(np.linalg.eigvalsh(P)[0]), np.eye(len(P))
    exact = matrix(P)
    if lowest > 0 and is_definite(exact - matrix(lowest / 2 * unit)):
        return lowest / 2
    if is_definite(exact) or (len(P) <= RATIONAL and _is_semidefinite(P)):
        return 0.0
    raise Refuted(f"P, with eigenvalues down to {lowest:.3g}, is not proved to be positive semidefinite")


def _is_semidefinite(P: FloatArray) -> bool:
    """Whether a symmetric matrix is positive semidefinite, by elimination in rational arithmetic."""
    rows = [[arb(one).fmpq() for one in row] for row in P.tolist()]
    for i, row in enumerate(rows):
        if row[i] < 0 or (row[i] == 0 and any(one != 0 for one in row[i:])):
            return False
        for below in rows[i + 1 :] if row[i] != 0 else ():
            factor = below[i] / row[i]
            below[:] = [one - factor * above for one, above in zip(below, row, strict=True)]
    return True


def least(p: SimpleNamespace, gradient: AnyArray, claimed: Ball) -> tuple[Ball, tuple[str, ...]]:
    """Return the bound, and what it supposes."""
    fixed = p.d - summed(p.b * p.z) - summed(p.xh * (gradient - p.q)) / 2
    flat = np.array([bool(r != 0) or not r.is_exact() for r in p.r]) & (p.curvature == 0)
    low, high = np.full(p.n, -np.inf), np.full(p.n, np.inf)
    most = np.full(p.m, np.inf)
    for _ in range(3 if flat.any() else 1):
        if flat.any():
            low, high = implied_box(Rows(p.A.i, p.A.j, p.A.a, p.b_), p.cones, level_of(p, gradient), most)
        if (flat & ~is_bounded(low, high)).any():
            break
        bound = fixed + cost(p, p.r, low, high)
        if bound >= claimed:
            return bound, ()
        most = slack_limits(p, outward(p.level - bound)[1])
    is_open = flat & ~is_bounded(low, high)
    if not is_open.any():
        return bound, ()
    moved = exact_multipliers(p, is_open)
    if moved is not None:
        r = p.r + p.A.transposed(moved)
        r[is_open] = ZERO
        still = np.array([bool(one != 0) or not one.is_exact() for one in r]) & (p.curvature == 0)
        if is_bounded(low, high)[still].all():
            bound = fixed - summed(p.b * moved) + cost(p, r, low, high)
            if bound >= claimed:
                return bound, ()
    n_open = int(is_open.sum())
    if not p.reach or n_open > p.stated:
        raise Refuted(f"{n_open} columns have a residual and no bounds that the program implies: nothing is proved")
    width = p.reach * (1 + np.abs(p.x_)) * (1 + 1e-15)
    low[is_open] = np.maximum(low, np.nextafter(p.x_ - width, -np.inf))[is_open]
    high[is_open] = np.minimum(high, np.nextafter(p.x_ + width, np.inf))[is_open]
    supposed = f"supposing |x - x0| <= {p.reach:g} (1 + |x0|), x0 the answer, in {n_open} of {p.n} columns"
    return fixed + cost(p, p.r, low, high), (supposed,)


def is_bounded(low: FloatArray, high: FloatArray) -> AnyArray:
    return np.isfinite(low) & np.isfinite(high) & (low <= high)


def cost(p: SimpleNamespace, r: AnyArray, low: FloatArray, high: FloatArray) -> Ball:
    """Return the least that r'x + (x - xh)'P (x - xh) / 2 can be."""
    out = ZERO
    for j, one in enumerate(r):
        if p.curvature[j] > 0:
            out += one * p.xh[j] - one * one / (2 * arb(p.curvature[j]))
        elif not (one == 0 and one.is_exact()):
            out += (one * arb(low[j])).min(one * arb(high[j]))
    return out


def level_of(p: SimpleNamespace, gradient: AnyArray) -> Level:
    """Return f <= level with f at least its tangent at xh and the curvature that is proved."""
    c = balls(p.curvature)
    g = gradient - c * p.xh
    limit = p.level - p.d + summed(p.xh * (gradient - p.q - c * p.xh)) / 2
    is_float = [one.is_exact() and bool(arb(float(one)) == one) for one in g]
    ends = np.array([(float(one),) * 2 if yes else outward(one) for one, yes in zip(g, is_float, strict=True)])
    ends = ends.reshape(-1, 2)
    return Level(ends[:, 0], ends[:, 1], p.curvature, outward(limit)[1])


def slack_limits(p: SimpleNamespace, room: float) -> FloatArray:
    """Return upper bounds of the slacks of x that are not worse than the answer: z's <= level - bound for these."""
    most = np.full(p.m, np.inf)
    for kind, rows, _ in p.cones:
        if kind in ("nonnegative", "second_order"):
            z = p.z_[rows]
            inner = z[:, 0] - np.linalg.norm(z[:, 1:], axis=1) * (1 + 1e-12 * rows.shape[1])
            with np.errstate(divide="ignore", over="ignore"):
                most[rows[:, 0]] = np.where(inner > 1e-140, max(room, 0.0) / inner * (1 + 1e-12), np.inf)
    return most


def exact_multipliers(p: SimpleNamespace, is_open: AnyArray) -> AnyArray | None:
    """Return balls that hold a change of z with which r vanishes in the open columns, z in the dual cone; or None.

    It is F F'A y with A'F F'A y = -r, F by what z may be moved; any F will do.
    """
    at, used = np.flatnonzero(is_open), is_open[p.A.j]
    touched = np.unique(p.A.i[used])
    steps = []
    for kind, rows, parameters in p.cones:
        for row, z in zip(rows, p.z_[rows], strict=True):
            if np.isin(row, touched).any():
                steps.append((row, moves(kind, z, parameters)))
    work = sum(step.size for _, step in steps) * len(at)
    if not steps or len(at) > OPEN or work > WORK or not all(np.isfinite(step).all() for _, step in steps):
        return None
    A = np.full((p.m, len(at)), ZERO, dtype=object)
    A[p.A.i[used], np.searchsorted(at, p.A.j[used])] = p.A.entries[used]
    blocks = [balls(step.T.ravel()).reshape(step.T.shape) for _, step in steps]
    B = np.concatenate([block @ A[row] for block, (row, _) in zip(blocks, steps, strict=True)])
    tall = arb_mat(B.tolist())
    try:
        y = (tall.transpose() * tall).solve(arb_mat([[-one] for one in p.r[at]]))
    except ZeroDivisionError:
        return None
    w = np.array((tall * y).entries(), dtype=object)
    moved, start = balls(np.zeros(p.m)), 0
    for block, (row, _) in zip(blocks, steps, strict=True):
        moved[row] = block.T @ w[start : start + len(block)]
        start += len(block)
    try:
        require_in_dual(p, p.z + moved)
    except Refuted:
        return None
    return moved


@np.errstate(all="ignore")
def moves(kind: str, z: FloatArray, parameters: tuple[float, ...]) -> FloatArray:
    """Guess columns by which multipliers may be moved, about as far, in their dual cone."""
    if kind == "zero":
        return np.ones((1, 1))
    if kind == "second_order" and z[0] > 0:  # the quadratic representation of z^(1/2)
        norm = float(np.linalg.norm(z[1:]))
        root = math.sqrt(max((z[0] - norm) * (z[0] + norm), 0.0))
        half = np.concatenate([[1.0], z[1:] / (z[0] + root)]) * math.sqrt((z[0] + root) / 2)
        return np.asarray(2 * np.outer(half, half) - root * np.diag([1.0, *-np.ones(len(z) - 1)]))
    if kind == "semidefinite":  # W -> Z^(1/2) W Z^(1/2)
        (i, j), order = places(parameters), int(parameters[0])
        packed = np.where(i == j, 1.0, math.sqrt(2.0))
        Z = np.zeros((order, order))
        Z[i, j] = Z[j, i] = z / packed
        values, V = np.linalg.eigh(Z)
        R = (V * np.sqrt(np.maximum(values, 0.0))) @ V.T
        both = np.einsum("ac,bd->abcd", R, R)
        return np.asarray((both + both.swapaxes(2, 3))[i, j][:, i, j] * packed[:, None] / np.where(i == j, 2, packed))
    if kind == "exponential" and (z[int(parameters[0])] < 0):
        u, v, w = (z[int(k)] for k in parameters)
        log = np.log(w / -u)
        inner = max(v - u - u * log, 1e-300)
        k = min(1.0, math.sqrt(inner / abs(u)))
        F = np.zeros((3, 3))
        F[list(map(int, parameters))] = [[-k * u, 0, 0], [-k * log * u, k * u, inner], [0, k * w, 0]]
        return F
    if kind == "power" and z[:-1].min() > 0:
        shares, size = np.array(parameters), abs(z[-1])
        mean = float(np.exp((shares * np.log(z[:-1] / shares)).sum()))
        inner = max(mean - size, 1e-300)
        F = np.diag([*z[:-1] * min(1.0, math.sqrt(inner / mean)), inner])
        F[-1, :-1] = min(1.0, math.sqrt(inner / mean)) * np.sign(z[-1]) * shares * mean
        return F
    return z[:, None]
