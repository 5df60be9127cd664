r"""Bounds of cone programs: a record of the kind "cone program", proved in balls and rational arithmetic.

    minimise  f(x) = x'P x / 2 + q'x + d   subject to   A x + s = b,  s in K

Whatever xh is, and z in the dual cone, every feasible x has

    f(x) >= -b'z - xh'P xh / 2 + d + r'x + (x - xh)'P (x - xh) / 2,    r = P xh + q + A'z.

1. *z is in the dual cone*: by signs, by squares, by a factorisation, by exp and log of balls.
2. *P is positive semidefinite*, and at least diag(c): by its signs where it is diagonal, else block by block.
3. *r'x*, column by column: r_j xh_j - r_j^2 / (2 c_j) where c_j > 0; elsewhere by bounds of x that rows, cones and the
   objective imply (`cvxproof.proofs.implied_box`) for every x not worse than the answer. What has no bounds is made
   to vanish: a linear system, solved in balls, proves that there is a z' next to z with r_j = 0, and z' is in the dual
   cone, ball and all. Else x is supposed to lie within the radius that the record states.
4. *The answer*: its objective, and how far its slacks are outside of their cones.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cvxproof.check import is_semidefinite
from cvxproof.proofs import balls as of
from cvxproof.proofs.balls import INFINITE, ZERO, Ball, Refuted, arb, arb_mat, balls, matrix, outward, total
from cvxproof.proofs.cones import directions, in_dual, violation
from cvxproof.proofs.implied_box import LARGE, Level, Rows, complementary, implied_box
from cvxproof.proofs.judging import STATUS_GAP, Proof, concluded, judged, require_numbers
from cvxproof.proofs.record import ProofRecord, Verification
from cvxproof.typing import AnyArray, FloatArray, IntArray

__all__ = ["check"]

RATIONAL = 30
"""Order of matrices up to which singular ones are proved to be positive semidefinite in rational arithmetic."""
OPEN = 300
"""Columns without bounds up to which a system is solved,"""
WORK = 3_000_000
"""and the products that it may take to write it down."""
ROUNDS = 3
"""How often bounds of x are looked for, each time after a better bound of the optimum."""
ALLOWED = 1e-9
"""Share of a violation, and a thousandth of it of the terms of the rows, by which floats may measure wrongly."""
MOST = 100
"""Rows across which a column may have its unit from others."""
FLAT = ("zero", "nonnegative")
"""Cones of one row."""


def check(record: ProofRecord) -> Verification:
    """Return what is proved of a record."""
    return concluded(lambda: judged(record.claim, proof(record)))


def proof(record: ProofRecord) -> Proof:
    """Return objective and bound, in the sense of the problem."""
    p, claim = read(record), record.claim
    require_numbers(claim)
    require_dual(p)
    p.curvature = curvature(p)
    value = p.d + total(p.x * (p.P(p.x) / 2 + p.q))
    size = size_of_terms(p)
    if not 0 <= claim.scale <= (1 + ALLOWED) * outward(size)[1]:
        raise Refuted(f"the scale {claim.scale:.3g} is more than the size of the objective's terms")
    outside = violations(p, claim.status)
    told = f"the optimum of the cone program; the answer is outside of its constraints by at most {outside}"
    p.gradient = p.q + p.P(p.xh)
    p.r = p.gradient + p.A.transposed(p.z)
    p.level = value + abs(value).max(size / 1000) / 1000000
    bound, supposed = least(p, p.sign * arb(claim.dual) - claim.rounding)
    supposed = (*supposed, *filter(None, record.numbers["approximated"].split("\n")))
    if supposed and claim.status in ("optimal", "optimal_inaccurate"):
        raise Refuted(f"its status is {claim.status}, but its bound holds only {'; '.join(supposed)}")
    if record.numbers["loose"]:
        supposed = (*supposed, f"not judged: {record.numbers['loose']} of the result, derived from the answer")
    return Proof(p.sign * value, p.sign * bound.min(p.level), assumption="; ".join(supposed), of=told)


# What a record holds


class Sparse:
    """A matrix of floats: its entries as balls in order of rows, and products with vectors of balls."""

    def __init__(self, i: IntArray, j: IntArray, a: FloatArray, shape: tuple[int, int]) -> None:
        order = np.lexsort((j, i))
        self.i, self.j, self.a, self.shape = i[order], j[order], a[order], shape
        self.entries, self.by_column = balls(self.a), np.argsort(self.j, kind="stable")

    def __call__(self, x: AnyArray) -> AnyArray:
        return _gathered(self.entries * x[self.j], self.i, self.shape[0])

    def transposed(self, z: AnyArray) -> AnyArray:
        by = self.by_column
        return _gathered((self.entries * z[self.i])[by], self.j[by], self.shape[1])


def _gathered(terms: AnyArray, at: IntArray, size: int) -> AnyArray:
    """Return the sums of terms at equal places, which are in order."""
    out = balls(np.zeros(size))
    if len(at):
        out[np.unique(at)] = np.add.reduceat(terms, np.flatnonzero(np.diff(at, prepend=-1)))
    return out


def read(record: ProofRecord) -> SimpleNamespace:
    """Return the numbers of a record, once shapes, indices, cones and ranges are right."""
    names = record.numbers["names"].split("\n")[1:]
    p = SimpleNamespace(n=np.size(record.arrays["q"]), m=np.size(record.arrays["b"]), names=names)
    lengths = {"q": p.n, "b": p.m, "x": p.n, "xh": p.n, "z": p.m, "violations": len(names) + 1}
    p.floats = {name: _vector(record, name, "f", size) for name, size in lengths.items()}
    for name, x in p.floats.items():
        setattr(p, name, balls(x))
    p.d, p.sign, p.radius, p.stated = (record.numbers[name] for name in ("d", "sign", "radius", "n_open"))
    if (p.floats["violations"] < 0).any():
        raise Refuted("no violation is below zero")
    if not (abs(p.d) <= LARGE and abs(p.sign) == 1 and 0 <= p.radius <= LARGE):
        raise Refuted(f"d={p.d!r}, sign={p.sign!r} or radius={p.radius!r} is no number of a cone program")
    if record.claim.sense != ("minimize" if p.sign > 0 else "maximize"):
        raise Refuted(f"to {record.claim.sense} is not the problem of a program of the sign {p.sign}")
    for name, shape in (("P", (p.n, p.n)), ("A", (p.m, p.n))):
        a = _vector(record, name, "f")
        i, j = (_vector(record, f"{name}_{end}", "i", len(a)) for end in ("row", "column"))
        inside = (i >= 0) & (i < shape[0]) & (j >= 0) & (j < shape[1]) & (a != 0)
        if not inside.all() or len(np.unique(i * shape[1] + j)) < len(a):
            raise Refuted(f"the entries of {name} are not those of a matrix of the shape {shape}")
        setattr(p, name, Sparse(i, j, a, shape))
    p.owner, p.cones = _vector(record, "owner", "i", p.m), []
    for k, kind in enumerate(record.numbers["cones"].split()):
        rows, parameters = np.asarray(record.arrays[f"rows {k}"]), _vector(record, f"parameters {k}", "f").tolist()
        if rows.ndim != 2 or not _fits(kind, rows.shape[1], parameters):
            raise Refuted(f"there is no cone {kind!r} of rows of the shape {rows.shape} with {parameters}")
        p.cones.append((kind, rows, tuple(parameters)))
    whole = np.concatenate([np.zeros(0, dtype=int), *(rows.ravel() for _, rows, _ in p.cones)])
    if whole.dtype.kind != "i" or not np.array_equal(np.sort(whole), np.arange(p.m)):
        raise Refuted("the cones do not hold every row once")
    if not ((p.owner >= -1) & (p.owner < len(names))).all():
        raise Refuted("rows belong to constraints that have no name")
    return p


def _vector(record: ProofRecord, name: str, kind: str, size: int | None = None) -> AnyArray:
    x = np.asarray(record.arrays[name])
    if x.ndim != 1 or x.dtype.kind != kind or size not in (None, len(x)) or not (abs(x) <= LARGE).all():
        raise Refuted(f"{name} of the shape {x.shape} is no array of a cone program, or beyond {LARGE:g}")
    return x


def _fits(kind: str, length: int, parameters: list[float]) -> bool:
    if kind == "semidefinite":
        order = parameters[0]
        return len(parameters) == 2 and order * (order + 1) == 2 * length and parameters[1] in (0, 1)
    if kind == "exponential":
        return length == 3 and sorted(parameters) == [0, 1, 2]
    if kind == "power":
        return len(parameters) + 1 == length and min(parameters) > 0 and abs(sum(parameters) - 1) < 1e-12
    return not parameters and length > 0 and (kind == "second_order" or (length == 1 and kind in FLAT))


# Cones


def require_dual(p: SimpleNamespace) -> None:
    """Refute multipliers outside of the dual cone."""
    for kind, rows, parameters in p.cones:
        for row, one in zip(rows, p.z[rows], strict=True):
            if not in_dual(kind, one, parameters):
                raise Refuted(f"the multipliers of row {row[0]} are not proved to lie in the dual of a {kind} cone")


def violations(p: SimpleNamespace, status: str) -> str:
    """Return how far the answer is outside, in words, once no constraint is violated by more than is claimed."""
    s, worst, name = p.b - p.A(p.x), ZERO, ""
    size = max(np.abs(p.floats["b"]).max(initial=0), np.abs(p.A.a * p.floats["x"][p.A.j]).max(initial=0))
    names, claims = [*p.names, "rows that CVXPY added"], p.floats["violations"]
    for kind, rows, parameters in p.cones:
        for row, one in zip(rows, s[rows], strict=True):
            outside, k = violation(kind, one, parameters), int(p.owner[row].max())
            if not outside <= claims[k] * (1 + ALLOWED) + ALLOWED * 1e-3 * size:
                told = f"{outward(outside)[1]:.3g}, not {claims[k]:.3g}"
                raise Refuted(f"the answer is outside of {names[k]!r} by {told}")
            if not outside <= worst:
                worst, name = outside.max(worst), f" ({names[k]})"
    if status in STATUS_GAP and not worst <= STATUS_GAP[status] * max(1.0, size):
        raise Refuted(f"its status is {status}, next to a violation of {outward(worst)[1]:.2g}{name}")
    return f"{outward(worst)[1]:.2g}{name}" if worst != 0 else "0"


# The bound


def size_of_terms(p: SimpleNamespace) -> Ball:
    """Return the sum of the moduli of the terms of the objective, each column at least as large as its unit."""
    x, P = np.array([abs(one).max(arb(unit)) for one, unit in zip(p.x, units(p), strict=True)], dtype=object), p.P
    return total(abs(P.entries) * x[P.i] * x[P.j]) / 2 + total(abs(p.q) * x) + abs(p.d)


def units(p: SimpleNamespace) -> FloatArray:
    """Return the sizes of columns that right sides set, in floats: a statement about the scale of data, not a bound.

    That of a column is the least of what its rows have without it over its entry, where a row of a cone of several
    counts for all of them; columns take them from those next to them, and where there is none it is one.
    """
    i, j, a = p.A.i, p.A.j, np.abs(p.A.a)
    unit, known = np.zeros(p.n), np.abs(p.floats["b"])
    for _ in range(MOST):
        rows = np.fmax(known, np.bincount(i, a * unit[j], p.m))
        for _, at, _ in p.cones:
            rows[at] = rows[at].max(axis=1, keepdims=True)
        least = np.full(p.n, np.inf)
        np.minimum.at(least, j[rows[i] > 0], (rows[i] / a)[rows[i] > 0])
        new = (unit == 0) & np.isfinite(least)
        if not new.any():
            unit[unit == 0] = 1.0
            break
        unit[new] = least[new]
    return unit


def curvature(p: SimpleNamespace) -> FloatArray:
    """Return c >= 0 with P - diag(c) positive semidefinite, or refute P."""
    on, out = p.P.i == p.P.j, np.zeros(p.n)
    out[p.P.i[on]] = p.P.a[on]
    P = coo_array((p.P.a, (p.P.i, p.P.j)), shape=(p.n, p.n)).tocsr()
    if (out < 0).any() or abs(P - P.T).nnz:
        raise Refuted("P is not symmetric, or has entries below zero on its diagonal: the problem is not convex")
    block = connected_components(P, directed=False)[1]
    for k in np.unique(block[p.P.i[~on]]):
        at = np.flatnonzero(block == k)
        # Scaled by powers of two, which is exact, to a diagonal near one.
        scale = np.exp2(-np.round(np.log2(np.maximum(out[at], 2.0**-900)) / 2))
        out[at] = _curvature(P[at][:, at].toarray() * np.outer(scale, scale)) / scale**2
    return out


def _curvature(P: FloatArray) -> float:
    lowest, exact = float(np.linalg.eigvalsh(P)[0]), matrix(P)
    if lowest > 0 and of.is_definite(exact - of.diagonal([lowest / 2] * len(P))):
        return lowest / 2
    if of.is_definite(exact) or (
        len(P) <= RATIONAL and is_semidefinite([[Fraction(one) for one in row] for row in P.tolist()])
    ):
        return 0.0
    raise Refuted(f"P, with eigenvalues down to {lowest:.3g}, is not proved to be positive semidefinite")


def least(p: SimpleNamespace, claimed: Ball) -> tuple[Ball, tuple[str, ...]]:
    """Return the bound, and what it supposes."""
    fixed = p.d - total(p.b * p.z) - total(p.xh * (p.gradient - p.q)) / 2
    matters, bound = np.array([not (one == 0 and one.is_exact()) for one in p.r], dtype=bool), -INFINITE
    down, up = np.array([(one > 0, one < 0) for one in p.r], dtype=bool).reshape(-1, 2).T  # to which end r leads
    rows, level, most, z = Rows(p.A.i, p.A.j, p.A.a, p.floats["b"]), level_of(p), None, p.z
    for _ in range(ROUNDS):
        low, high = implied_box(rows, p.cones, level, most)
        is_held = np.isfinite(low) & np.isfinite(high)
        is_open = ~(is_held | (p.curvature > 0) | (down & np.isfinite(low)) | (up & np.isfinite(high)))
        before = bound
        if not (is_open & matters).any() and (own := fixed + cost(p, p.r, low, high)) > bound:
            bound, z = own, p.z
        exact = (p.curvature == 0) & ~is_held
        exact = exact if exact.sum() <= OPEN else is_open
        if not bound >= claimed and (moved := exact_multipliers(p, exact)) is not None:
            r = p.r + p.A.transposed(moved)
            r[exact] = ZERO
            if (other := fixed - total(p.b * moved) + cost(p, r, low, high)) > bound:
                bound, z = other, p.z + moved
        if not bound >= claimed and (squares := completed(p, is_open & matters)) is not None:
            r = p.r.copy()
            r[squares[0]] = ZERO
            bound = bound.max(fixed + squares[1] + cost(p, r, low, high))
        if bound >= claimed or not bound > before or not INFINITE > p.level > bound:
            break
        # Complementarity: s'z is at most what the level is above the bound.
        least_z, most_z = np.array([outward(one) for one in z]).reshape(-1, 2).T
        most = complementary(p.cones, least_z, most_z, outward(p.level - bound)[1])
    is_open &= matters
    n_open = int(is_open.sum())
    if bound >= claimed or not n_open or not p.radius:
        if bound > -INFINITE:
            return bound, ()
        raise Refuted(f"{n_open} columns have a residual, and nothing bounds them")
    if n_open > p.stated:
        raise Refuted(f"the bound supposes a radius of {n_open} columns, not of {p.stated}")
    x, width = p.floats["x"], p.radius * (1 + np.abs(p.floats["x"])) * (1 + 1e-15)
    low[is_open] = np.maximum(low, np.nextafter(x - width, -np.inf))[is_open]
    high[is_open] = np.minimum(high, np.nextafter(x + width, np.inf))[is_open]
    supposed = f"supposing |x - x0| <= {p.radius:g} (1 + |x0|), x0 the answer, in {n_open} of {p.n} columns"
    return fixed + cost(p, p.r, low, high), (supposed,)


def completed(p: SimpleNamespace, is_open: AnyArray) -> tuple[IntArray, Ball] | None:
    """Return the columns of P with open ones among them, and the least of r'x + (x - xh)'P (x - xh) / 2 over these.

    P is reduced in rational arithmetic, and r with it: where a pivot is zero what is left of r must be zero. None
    where it is not, or where another open column is left.
    """
    P = coo_array((p.P.a, (p.P.i, p.P.j)), shape=(p.n, p.n)).tocsr()
    block = connected_components(P, directed=False)[1]
    at = np.flatnonzero(np.isin(block, block[is_open]))
    if not 0 < len(at) <= RATIONAL or not all(one.is_exact() for one in p.r[at]):
        return None
    P = P[at][:, at].toarray()
    rows = [[*(arb(one).fmpq() for one in row), r.fmpq()] for row, r in zip(P.tolist(), p.r[at], strict=True)]
    out = total(p.r[at] * p.xh[at])
    for i, row in enumerate(rows):
        if row[i] == 0 and row[-1] != 0:
            return None
        if row[i] != 0:
            out -= arb(row[-1] * row[-1] / row[i] / 2)
            for below in rows[i + 1 :]:
                factor = below[i] / row[i]
                below[:] = [one - factor * above for one, above in zip(below, row, strict=True)]
    return at, out


def cost(p: SimpleNamespace, r: AnyArray, low: FloatArray, high: FloatArray) -> Ball:
    """Return the least that r'x + (x - xh)'P (x - xh) / 2 can be."""
    out = ZERO
    for j, one in enumerate(r):
        if p.curvature[j] > 0:
            out += one * p.xh[j] - one * one / (2 * arb(p.curvature[j]))
        elif one > 0 or one < 0:
            out += one * arb(low[j] if one > 0 else high[j])
        elif not (one == 0 and one.is_exact()):
            out += (one * arb(low[j])).min(one * arb(high[j])) if np.isfinite(high[j] - low[j]) else -INFINITE
    return out


def level_of(p: SimpleNamespace) -> Level:
    """Return f <= level with f at least its tangent at xh and the curvature that is proved."""
    c = balls(p.curvature)
    slope = p.gradient - c * p.xh
    limit = p.level - p.d + total(p.xh * (p.gradient - p.q - c * p.xh)) / 2
    near = [float(one) for one in slope]
    is_float = [one.is_exact() and bool(arb(x) == one) for one, x in zip(slope, near, strict=True)]
    ends = [(x, x) if yes else outward(one) for one, x, yes in zip(slope, near, is_float, strict=True)]
    low, high = np.array(ends).reshape(-1, 2).T
    return Level(low, high, p.curvature, outward(limit)[1])


def exact_multipliers(p: SimpleNamespace, is_open: AnyArray) -> AnyArray | None:
    """Return balls that hold a change of z with which r vanishes in the open columns, z in the dual cone; or None.

    It is F F'A y with A'F F'A y = -r, where F may be anything.
    """
    is_empty = is_open & ~np.isin(np.arange(p.n), p.A.j)  # no multiplier changes the residual of such a column
    if any(one != 0 or not one.is_exact() for one in p.r[is_empty]):
        return None
    at, used, steps = np.flatnonzero(is_open & ~is_empty), is_open[p.A.j], []
    is_touched = np.isin(np.arange(p.m), p.A.i[used])
    for kind, rows, parameters in p.cones:
        for row, z in zip(rows, p.floats["z"][rows], strict=True):
            if is_touched[row].any():
                steps.append((row, directions(kind, z, parameters)))
    if not 0 < len(at) <= OPEN or not 0 < len(at) * sum(step.size for _, step in steps) <= WORK:
        return None
    A = np.full((p.m, len(at)), ZERO, dtype=object)
    place = np.searchsorted(at, p.A.j[used])
    size = np.zeros(len(at))
    np.maximum.at(size, place, np.abs(p.A.a[used]))
    scale = balls(np.exp2(-np.round(np.log2(np.maximum(size, 1e-300)))))  # of columns, to the size of one
    A[p.A.i[used], place] = p.A.entries[used] * scale[place]
    blocks = [balls(step.T.ravel()).reshape(step.T.shape) for _, step in steps]
    tall = arb_mat([line for block, (row, _) in zip(blocks, steps, strict=True) for line in (block @ A[row]).tolist()])
    try:
        w = of.entries(tall * (tall.transpose() * tall).solve(of.column(-p.r[at] * scale)))[:, 0]
    except ZeroDivisionError:
        return None
    moved, start = balls(np.zeros(p.m)), 0
    for block, (row, _) in zip(blocks, steps, strict=True):
        moved[row] = block.T @ w[start : start + len(block)]
        start += len(block)
    z = p.z + moved
    is_inside = all(in_dual(kind, z[row], parameters) for kind, rows, parameters in p.cones for row in rows)
    return moved if is_inside else None
