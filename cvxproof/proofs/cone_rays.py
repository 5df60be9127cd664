r"""Cone programs without an optimum: a record of the kind "cone ray", proved in balls.

    minimise  f(x) = x'P x / 2 + q'x + d   subject to   A x + s = b,  s in K

1. *Infeasible*: z lies in the dual cone, and r'x - b'z > 0 with r = A'z for every x that rows and cones leave, which
   is the bound of the program without an objective (`cvxproof.proofs.cone_program.least`). A feasible x would have
   0 <= z's = b'z - r'x.
2. *Unbounded*: a direction y with P y = 0, q'y < 0 and -A y in K leads from any feasible point along feasible points on
   which f falls without end. The record holds a point next to which a feasible one is proved to exist.

Neither supposes anything: what is proved with an assumption alone is refused.

Multipliers of linear rows alone are also judged in rational numbers: next to the floats of the record some are solved
for, with A'z = 0 > b'z.

Floats are hardly ever on the faces of cones on which a direction or a point has to be: `next_to` proves that one exists
next to them by a linear system, solved in balls.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import scipy.linalg
from flint import fmpq, fmpq_mat

from cvxproof.proofs import balls as of
from cvxproof.proofs.balls import INFINITE, ZERO, Ball, Refuted, arb, balls, largest, matrix, outward, total
from cvxproof.proofs.cone_program import FLAT, OPEN, Sparse, least, read, require_dual
from cvxproof.proofs.cones import is_zero, violation
from cvxproof.proofs.judging import concluded
from cvxproof.proofs.record import ProofRecord, Verification
from cvxproof.typing import AnyArray, FloatArray, IntArray

__all__ = ["check"]

NEAR = 1e-7
"""Slacks up to which a row is meant to be an equality, relative to the largest entry of the vector."""
FEW = 250_000
"""Entries of a matrix of rationals up to which it is solved."""
RANK = 1e-10
"""Share of the largest pivot below which rows count as dependent."""


def check(record: ProofRecord) -> Verification:
    """Return what is proved of a record."""
    return concluded(lambda: conclusion(record))


def conclusion(record: ProofRecord) -> Verification:
    """Return what is proved, or raise Refuted."""
    p, claim = read(record), record.claim
    if (claim.primal, claim.dual, claim.rounding) != (p.sign * np.inf, -p.sign * np.inf, 0.0):
        raise Refuted("a program without an optimum has neither a value nor a bound to claim")
    if claim.status == "infeasible":
        require_infeasible(p)
        return Verification(True, "no point satisfies the constraints of the cone program")
    if claim.status == "unbounded":
        require_unbounded(p)
        return Verification(True, f"the objective of the cone program {'falls' if p.sign > 0 else 'rises'} without end")
    raise Refuted(f"a ray proves infeasible or unbounded, not {claim.status!r}")


def require_infeasible(p: SimpleNamespace) -> None:
    """Refute multipliers that do not prove infeasibility."""
    require_dual(p)
    if p.floats["x"].any() or p.floats["xh"].any():
        raise Refuted("a proof of infeasibility is about zero, which its point is not")
    if is_exact_ray(p):
        return
    zero, none = balls(np.zeros(p.n)), np.zeros(0, dtype=np.intp)
    no_objective = {"q": zero, "d": 0.0, "gradient": zero, "curvature": np.zeros(p.n)}
    no_objective["P"] = Sparse(none, none, np.zeros(0), (p.n, p.n))
    empty = SimpleNamespace(**vars(p) | no_objective)
    empty.level, empty.r = INFINITE, p.A.transposed(p.z)
    bound, supposed = least(empty, arb(2) ** -1000)
    if supposed or not bound > 0:
        raise Refuted(f"r'x - b'z is only proved to be at least {outward(bound)[0]:.3g}: the ray does not separate")


def is_exact_ray(p: SimpleNamespace) -> bool:
    """Whether rational multipliers next to those of the record, of linear rows alone, have A'z = 0 > b'z."""
    z, b = p.floats["z"], p.floats["b"]
    kinds = np.empty(p.m, dtype=object)
    for kind, rows, _ in p.cones:
        kinds[rows] = kind
    used = np.flatnonzero(z)
    used = used[np.argsort(np.abs(z[used]), kind="stable")]  # what is not solved for stands last
    here = np.isin(p.A.i, used)
    columns = np.unique(p.A.j[here])
    if not 0 < len(used) <= OPEN or len(used) * len(columns) > FEW or not np.isin(kinds[used], FLAT).all():
        return False
    place, M = {int(i): k for k, i in enumerate(used)}, fmpq_mat(len(columns), len(used))
    for i, j, a in zip(p.A.i[here], np.searchsorted(columns, p.A.j[here]), p.A.a[here], strict=True):
        M[int(j), place[int(i)]] = rational(a)
    R, rank = M.rref()
    exact, lines = [rational(one) for one in z[used]], [[R[k, i] for i in range(len(used))] for k in range(rank)]
    for line in lines:
        pivot = next(i for i, a in enumerate(line) if a != 0)
        exact[pivot] = -sum((a * exact[i] for i, a in enumerate(line) if i != pivot and a != 0), fmpq(0))
    near = rational(NEAR)
    for i, one in zip(used, exact, strict=True):
        if abs(one - rational(z[i])) > near * abs(rational(z[i])) or (kinds[i] == "nonnegative" and one < 0):
            return False
    return bool(sum((one * rational(b[i]) for i, one in zip(used, exact, strict=True)), fmpq(0)) < 0)


def rational(x: float) -> fmpq:
    """Return the number that a float is."""
    return fmpq(*float(x).as_integer_ratio())


def require_unbounded(p: SimpleNamespace) -> None:
    """Refute a direction, or a point, that do not prove unboundedness."""
    _, outside = next_to(p, p.floats["xh"], p.floats["b"], is_direction=False)
    if outside != 0:
        raise Refuted(f"no point next to the stored one is proved to be feasible: off by {outward(outside)[1]:.3g}")
    y, outside = next_to(p, p.floats["x"], np.zeros(p.m), is_direction=True)
    if not total(p.q * y) < 0:
        raise Refuted("the objective is not proved to fall along the direction")
    if outside != 0:
        size = outward(outside / max(float(np.abs(p.floats["x"]).max()), 1e-300))[1]
        raise Refuted(f"the direction leaves the cones by {size:.3g} of its length")


def next_to(p: SimpleNamespace, x: FloatArray, b: FloatArray, is_direction: bool) -> tuple[AnyArray, Ball]:
    """Return a vector next to x, in balls, and how far it is outside: 0 if b - A x is in the cones, and P x = 0.

    Where x is outside, a linear system is solved for it: the rows of equalities, those of P, and those of the cones in
    whose tips the slacks nearly are, or else without the last. P counts for directions only.
    """
    i, j, a, right = p.A.i, p.A.j, p.A.a, b
    if is_direction:
        i, j, a = np.concatenate([i, p.m + p.P.i]), np.concatenate([j, p.P.j]), np.concatenate([a, p.P.a])
        right = np.concatenate([b, np.zeros(p.n)])
    whole = Sparse(i, j, a, (len(right), p.n))
    exact = balls(x)
    rest = balls(right) - whole(exact)
    outside = _outside(p, rest)
    near = NEAR * float(np.abs(x).max(initial=0))
    for limit in (near, -1.0) if outside != 0 else ():
        moved = _moved(whole, exact, rest, np.flatnonzero(_held(p, of.floats(rest), limit)))
        if moved is None:
            continue
        y, kept = moved
        other = balls(right) - whole(y)
        other[kept] = ZERO
        if (far := _outside(p, other)) == 0:
            return y, far
    return exact, outside


def _outside(p: SimpleNamespace, rest: AnyArray) -> Ball:
    """Return the largest violation of slacks, and the largest entry of what comes after them."""
    worst = largest([ZERO, *abs(rest[p.m :])])
    for kind, rows, parameters in p.cones:
        for one in rest[rows]:
            if not is_zero(one):
                worst = worst.max(violation(kind, one, parameters))
    return worst


def _held(p: SimpleNamespace, rest: FloatArray, limit: float) -> AnyArray:
    """Return which rows are equalities, or of cones in whose tips the slacks are but for the limit."""
    held = np.ones(len(rest), dtype=bool)
    for kind, rows, _ in p.cones:
        if kind != "zero":
            held[rows] = (np.abs(rest[rows]).max(axis=1) <= limit)[:, None]
    return held


def _moved(whole: Sparse, x: AnyArray, rest: AnyArray, rows: IntArray) -> tuple[AnyArray, IntArray] | None:
    """Return balls that hold a vector without a rest in independent ones of the rows, and these; None for too many."""
    used = np.isin(whole.i, rows)
    if not used.any():
        return None
    rows, at = np.unique(whole.i[used], return_inverse=True)
    columns, place = np.unique(whole.j[used], return_inverse=True)
    if len(rows) > OPEN or len(columns) > 10 * OPEN:
        return None
    B = np.zeros((len(rows), len(columns)))
    B[at, place] = whole.a[used]
    R, order = scipy.linalg.qr(B.T, mode="r", pivoting=True)
    pivots = np.abs(R.diagonal())
    kept = order[: int((pivots > RANK * pivots[0]).sum())]
    M = matrix(B[kept])
    try:
        y = (M * M.transpose()).solve(of.column(rest[rows[kept]]))
    except ZeroDivisionError:
        return None
    out = x.copy()
    out[columns] = out[columns] + of.entries(M.transpose() * y)[:, 0]
    return out, rows[kept]
