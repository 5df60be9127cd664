"""Proofs that a cone program has no optimum: rays of multipliers, and directions along which the objective falls.

No x is feasible if z in the dual cone has r'x > b'z, r = A'z, for every x that rows and cones leave. The objective
falls without end from any feasible point along a d with P d = 0, q'd < 0 and -A d in K.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import scipy.sparse as sp

from cvxproof.conic.box import implied_box
from cvxproof.conic.certificate import RADIUS
from cvxproof.conic.cones import Nonnegative, Zero
from cvxproof.conic.correction import corrections
from cvxproof.conic.existence import cost_of_exact_dual, upper_end
from cvxproof.conic.farkas import exact_ray, vertex_ray
from cvxproof.conic.outward import Outward
from cvxproof.conic.program import ConeProgram
from cvxproof.typing import FloatArray

__all__ = [
    "NO_POINT",
    "Ray",
    "infeasible_rows",
    "is_proved_feasible",
    "proved_infeasible",
    "proved_unbounded",
    "unbounded_defect",
]

NO_POINT = "that there is a feasible point"
"""What a direction supposes as long as no feasible point is known."""
_OFF = 1e-9
"""Largest relative violation of a direction that would prove unboundedness if it were exact."""


@dataclass(frozen=True, eq=False)
class Ray:
    """A ray that proves that a program has no optimum, if nothing is supposed.

    Parameters
    ----------
    z : ndarray of shape (m,)
        Multipliers that prove infeasibility; zero where it is unboundedness that is proved.
    x : ndarray of shape (n,)
        Direction along which the objective falls without end; zero where it is infeasibility that is proved.
    assumptions : tuple of str
        What would have to be proved as well; with any of it nothing is proved.
    point : ndarray of shape (n,), optional
        A point next to which a feasible one is proved.
    """

    z: FloatArray
    x: FloatArray
    assumptions: tuple[str, ...] = ()
    point: FloatArray | None = None

    @property
    def kind(self) -> str:
        """What it is a ray of, "infeasible" or "unbounded"."""
        return "infeasible" if self.z.any() else "unbounded"

    def from_point(self, point: FloatArray) -> Ray:
        """Return the proof with a point next to which a feasible one is proved."""
        return replace(self, point=point, assumptions=tuple(text for text in self.assumptions if text != NO_POINT))


def proved_infeasible(program: ConeProgram, z: FloatArray, rounds: int = 4, radius: float = RADIUS) -> Ray | None:
    """Return a proof of infeasibility next to the ray z, None without one.

    No x is feasible if r'x > b'z with r = A'z: the bound of the program without an objective is positive.
    """
    length = -float(program.b @ z)
    if not 0 < length < math.inf:
        return None
    empty = program.without_objective()
    outward, zero = Outward(empty), np.zeros(len(program.q))
    box = implied_box(empty, math.inf, zero)
    supposing: Ray | None = None
    rays = [ray for ray in _rays(outward, z / length, rounds) if empty.proves(ray)]
    for ray in rays:
        bound = outward.bound(zero, ray, zero, box, radius)
        if bound.value > 0 and bound.is_unconditional:
            return Ray(ray, zero)
        if bound.value > 0:
            supposing = Ray(ray, zero, (f"|x| <= {radius:g}",))
    has_others = not all(isinstance(cone, Zero | Nonnegative) for cone in program.parts)
    for ray in islice(_rounded(z / length), 0, None, 3) if has_others else ():
        if (exact := exact_ray(empty, ray)) is not None:
            return Ray(exact, zero)
    for ray in rays:
        at_point, residual = outward.at_point(zero, ray, zero)
        if at_point - cost_of_exact_dual(outward, ray, zero, zero, residual, box) > 0:
            return Ray(ray, zero)
    return supposing


def infeasible_rows(program: ConeProgram, weights: FloatArray | None = None) -> Ray | None:
    """Return a proof that the linear rows alone contradict each other, of few rows; None without one.

    Parameters
    ----------
    program : ConeProgram
        The program, whose other cones are not looked at.
    weights : ndarray, optional
        Those of `cvxproof.conic.farkas.vertex_ray`.
    """
    z = vertex_ray(program, weights)
    exact = None if z is None else exact_ray(program, z)
    return None if exact is None else Ray(exact, np.zeros(len(program.q)))


def _rays(outward: Outward, z: FloatArray, rounds: int) -> Iterator[FloatArray]:
    """Yield the ray without its small entries, in which A'z may vanish exactly, then its corrections."""
    yield from _rounded(z)
    for _, ray in corrections(outward, np.zeros(outward.program.A.shape[1]), z, rounds):
        yield ray


def _rounded(x: FloatArray) -> Iterator[FloatArray]:
    """Yield a vector without its small entries, and with few digits."""
    largest = float(np.abs(x).max(initial=0))
    for least in (1e-9, 1e-6, 1e-3):
        rounded = np.where(np.abs(x) > least * largest, x, 0.0)
        yield rounded
        scale = np.abs(rounded).max(initial=0)
        yield np.round(rounded / max(scale, 1e-300), 6)
        yield np.round(rounded * math.ldexp(1.0, 20 - math.frexp(float(scale))[1]))  # whole: their sums are exact


def proved_unbounded(program: ConeProgram, x: FloatArray) -> Ray | None:
    """Return a proof of unboundedness next to the direction x, as far as there is a feasible point; None without one.

    It holds without another assumption if a direction is proved to exist next to x: a feasible point of negative value
    in the program with zero for b, d and P, the rows of P among its equalities.
    """
    none = np.zeros(len(program.b))
    defect = unbounded_defect(program, x)
    if not defect <= _OFF:
        return None
    along = Outward(_homogeneous(program))
    for direction in (x, *_rounded(x)):
        if upper_end(along, direction) < 0:
            return Ray(none, direction, (NO_POINT,))
    off = f"that its ray, which is off by {defect:.0e} of its length, is exact"
    return Ray(none, x, (NO_POINT, off))


def _homogeneous(program: ConeProgram) -> ConeProgram:
    """Return the program whose feasible points are the directions in which all points stay feasible and P is zero."""
    P = program.P.tocsr()
    curved = np.flatnonzero(np.diff(P.indptr))
    m, more = len(program.b), len(curved)
    parts = (*program.parts, Zero(m + np.arange(more)[:, None])) if more else program.parts
    A = sp.csc_matrix(sp.vstack([program.A, P[curved]]))
    return ConeProgram(sp.csc_matrix(P.shape), program.q, A, np.zeros(m + more), parts)


def is_proved_feasible(program: ConeProgram, x: FloatArray) -> bool:
    """Whether a feasible point is proved to exist next to x."""
    return math.isfinite(upper_end(Outward(program.without_objective()), x))


def unbounded_defect(program: ConeProgram, x: FloatArray) -> float:
    """Return how far the direction x / -q'x is from a ray along which the objective falls without end.

    A ray has P x = 0 and -A x in the cone; what is returned is the largest violation, relative to the direction, and
    infinity if q'x >= 0.
    """
    slope = float(program.q @ x)
    if not slope < 0:
        return math.inf
    ray = x / -slope
    flat = replace(program, b=np.zeros_like(program.b))
    worst = max(flat.violation(ray), float(np.abs(program.P @ ray).max(initial=0)))
    return worst / max(1.0, float(np.abs(ray).max()))
