"""Farkas multipliers of the linear rows of a cone program: a vertex, by HiGHS, and exactly, in rational numbers.

No x satisfies A x + s = b, s in K, if A'z = 0 > b'z for a z in the dual cone. A vertex of these z uses few rows. What a
solver returns of it is rounded: the multipliers of linear rows are solved for, so that A'z = 0 holds to the last digit.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from cvxproof.conic.cones import Nonnegative, Zero
from cvxproof.conic.program import ConeProgram
from cvxproof.typing import BoolArray, FloatArray, Matrix

__all__ = ["exact_ray", "has_exact_point", "has_no_vertex", "vertex_ray"]

_ROWS = 2000
"""Rows with a multiplier up to which these are solved for in rational numbers."""
_ENTRIES = 300_000
"""Entries of a program up to which a point is proved in rational numbers."""
_WORK = 200_000
"""Products of rationals that this may take."""
_ROUNDING = 2e-15
"""Share of the largest right side that a row is missed by where it holds as far as floats can tell."""
NEAR = 1e-13
"""Share of the right sides, times the multipliers, by which rows contradict each other at least."""
_WHOLE = 2**53
_LARGE = 1e5
"""What costs are multiplied by, so that differences as small as rounding count."""
_CONSTANT = -1
"""Place of what does not change, in an equation and behind the multipliers."""
_OPTIONS = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-10, "time_limit": 60.0}


def vertex_ray(program: ConeProgram, weights: FloatArray | None = None) -> FloatArray | None:
    """Return multipliers of the linear rows with A'z = 0 > b'z up to rounding, of few rows; None where there are none.

    Parameters
    ----------
    program : ConeProgram
        The program, of which the linear rows are looked at.
    weights : ndarray, optional
        What a multiplier of each row costs, next to those of others.
    """
    equal, above = _kinds(program)
    A, b, size = program.A.tocsr(), program.b, _sizes(program)
    rows = np.concatenate([np.flatnonzero(equal), np.flatnonzero(equal | above)])
    sign = np.where(np.arange(len(rows)) < equal.sum(), -1.0, 1.0)
    right = sign * b[rows] / size[rows]
    if not (right < 0).any():
        return None
    # Their sum is bounded and not b'z: so there is one of programs, too, that are infeasible by less than solvers see.
    M, right = (sp.diags(sign / size[rows]) @ A[rows]).T, right / np.abs(right).max()
    cost = np.ones(len(rows)) if weights is None else weights[rows]
    bounded = {"A_ub": cost[None], "b_ub": [cost.sum()], "A_eq": M, "b_eq": np.zeros(M.shape[0])}
    answer = linprog(_LARGE * right, **bounded, method="highs-ds", options=_OPTIONS)
    if answer.x is None or not right @ answer.x < -NEAR:
        return None
    z = np.zeros(len(b))
    np.add.at(z, rows, sign * answer.x / size[rows])
    return z


def has_no_vertex(program: ConeProgram, x: FloatArray) -> bool:
    """Whether `vertex_ray` finds nothing, since x misses the linear rows by so little: -b'z is z times that at most."""
    equal, above = _kinds(program)
    size, s = _sizes(program), program.slacks(x)
    missed = np.where(equal, np.abs(s), np.where(above, np.maximum(-s, 0.0), 0.0)) / size
    largest = float((np.abs(program.b) / size)[equal | above].max(initial=0.0))
    count = min(2 * equal.sum() + above.sum(), NEAR / _ROUNDING)  # beyond, what is missed is the rounding of rows
    return bool(missed.max(initial=0.0) * count <= NEAR * largest)


def _sizes(program: ConeProgram) -> FloatArray:
    """Return the largest entry of each row; of an empty one its right side, since 0 <= -1 is a row, too."""
    (i, _, a), size = program.entries, np.zeros(len(program.b))
    np.maximum.at(size, i, np.abs(a))
    return np.where(size > 0, np.maximum(size, 1e-300), np.maximum(np.abs(program.b), 1e-300))


def exact_ray(program: ConeProgram, z: FloatArray) -> FloatArray | None:
    """Return multipliers next to which some are proved to satisfy A'z = 0 > b'z exactly, z in the dual cone; or None.

    The multipliers of linear rows are solved for, the others stay. They are whole numbers where these are small.
    """
    equal, above = _kinds(program)
    used = np.flatnonzero(z)
    if not 0 < len(used) <= _ROWS:
        return None
    exact = _solved(program.A.tocsr()[used].tocsc(), (equal | above)[used], list(map(Fraction, z[used].tolist())))
    if exact is None or any(one < 0 for one, row in zip(exact, used, strict=True) if above[row]):
        return None
    if not sum(one * Fraction(b) for one, b in zip(exact, program.b[used].tolist(), strict=True)) < 0:
        return None
    if (equal | above)[used].all():
        scale = Fraction(math.lcm(*(one.denominator for one in exact)), math.gcd(*(one.numerator for one in exact)))
        if max(map(abs, exact)) * scale <= _WHOLE:
            exact = [one * scale for one in exact]
    out = np.zeros(len(z))
    out[used] = [float(one) for one in exact]
    return out if program.proves(out) else None


def has_exact_point(program: ConeProgram) -> bool:
    """Whether a point of a program of linear rows alone is proved in rational numbers, next to one of HiGHS."""
    equal, above = _kinds(program)
    A, b, n = program.A.tocsr(), program.b, len(program.q)
    if not (equal | above).all() or A.nnz > _ENTRIES:
        return False
    sides = {"A_ub": A[above], "b_ub": b[above], "A_eq": A[equal], "b_eq": b[equal]}
    x = linprog(np.zeros(n), **sides, bounds=(None, None), method="highs-ds", options=_OPTIONS).x
    if x is None:
        return False
    size = np.abs(b) + abs(A) @ np.abs(x)
    tight = equal | (b - A @ x <= 1e-8 * size)
    rows = sp.hstack([A, -b[:, None]]).tocsr()
    near = [*(Fraction(one).limit_denominator(10**6) for one in x.tolist()), Fraction(1)]
    exact = _solved(rows[tight].T.tocsc(), np.arange(n + 1) < n, near)
    if exact is None:
        return False
    rest = rows[~tight]
    terms = [Fraction(a) * exact[j] for j, a in zip(rest.indices.tolist(), rest.data.tolist(), strict=True)]
    return all(sum(terms[a:b]) <= 0 for a, b in itertools.pairwise(rest.indptr.tolist()))


def _solved(A: Matrix, is_free: BoolArray, z: list[Fraction]) -> list[Fraction] | None:
    """Return z with A'z = 0 by changes of the free entries; None where there is none, or that takes too long."""
    equations, known, work = [], dict[int, dict[int, Fraction]](), 0
    for j in range(A.shape[1]):
        at, equation = slice(A.indptr[j], A.indptr[j + 1]), defaultdict[int, Fraction](Fraction)
        for i, a in zip(A.indices[at].tolist(), A.data[at].tolist(), strict=True):
            equation[i if is_free[i] else _CONSTANT] += Fraction(a) * (1 if is_free[i] else z[i])
        equations.append(equation)
    for equation in sorted(equations, key=len):
        while (i := next((i for i in equation if i in known), None)) is not None:
            factor = equation.pop(i)
            work += len(known[i]) * (1 + factor.denominator.bit_length() // 64)
            for k, a in known[i].items():
                equation[k] += factor * a
        if work > _WORK:
            return None
        left = {i: a for i, a in equation.items() if a}
        if left.keys() == {_CONSTANT}:
            return None
        if left:
            pivot = max(left)
            known[pivot] = {i: -a / left[pivot] for i, a in left.items() if i != pivot}
    z = [*z, Fraction(1)]
    for pivot, terms in reversed(known.items()):
        z[pivot] = sum((a * z[i] for i, a in terms.items()), Fraction(0))
    return z[:-1]


def _kinds(program: ConeProgram) -> tuple[BoolArray, BoolArray]:
    """Return which rows are equalities, and which are inequalities."""
    equal, above = np.zeros(len(program.b), dtype=bool), np.zeros(len(program.b), dtype=bool)
    for cone in program.parts:
        if isinstance(cone, Zero):
            equal[cone.rows] = True
        elif isinstance(cone, Nonnegative):
            above[cone.rows] = True
    return equal, above
