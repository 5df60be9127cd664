"""What is proved of an answer to a cone program, whoever gave it: a bound of the optimum, and on what it rests.

`judged` bounds the optimum from below with the multipliers of an answer. Three proofs of r'x are tried in turn: bounds
that the program implies, an exactly feasible dual point that is proved to exist, and a stated radius around the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from cvxproof.conic.box import implied_box, tightened_box
from cvxproof.conic.correction import corrections
from cvxproof.conic.existence import cost_of_exact_dual, cost_of_squares
from cvxproof.conic.outward import Box, Outward
from cvxproof.conic.program import Answer, ConeProgram
from cvxproof.results import ZERO
from cvxproof.rounding import UNIT
from cvxproof.typing import FloatArray

__all__ = ["RADIUS", "Proof", "judged"]

RADIUS = 1000.0
"""Columns without bounds are looked at within |x - x0| <= RADIUS (1 + |x0|), x0 the answer."""
_SLACK = 1e-6
"""How far the level is above the answer's value, relative to it."""
_LARGEST = 1e100
"""Largest multiplier that is looked at: squares must not overflow."""
_WORSE = 10.0
"""How much more than before the residual may cost after a correction, so that a deeper one is tried."""
_DIGITS = 20
"""Binary digits of multipliers that are rounded."""
_RAISES = 8
"""How often the level is raised where more than it is proved."""


@dataclass(frozen=True, eq=False)
class Proof:
    """A bound of a minimisation, and the evidence for it.

    Parameters
    ----------
    value : float
        Objective at the answer.
    bound : float
        Proved lower bound of the optimum; -inf where none is known.
    assumptions : tuple of str
        What the bound supposes; empty if it holds without.
    violation : float
        How far the answer is outside of its constraints.
    z, xh : ndarray
        Multipliers in the dual cone, and the point of the bound.
    box : Box
        Bounds of x that it uses, which hold for feasible x of a value up to `level`.
    level : float
        Value up to which x are looked at; the bound is no larger.
    """

    value: float
    bound: float
    assumptions: tuple[str, ...]
    violation: float
    z: FloatArray
    xh: FloatArray
    box: Box
    level: float = math.inf


class _Candidate(NamedTuple):
    bound: float
    from_residual: float
    is_unconditional: bool
    xh: FloatArray
    z: FloatArray
    residual: FloatArray


def judged(
    program: ConeProgram,
    answer: Answer,
    rounds: int = 3,
    tol: float = 1e-9,
    radius: float = RADIUS,
    known: Proof | None = None,
) -> Proof:
    """Return what the multipliers of an answer prove.

    Parameters
    ----------
    program : ConeProgram
        The program.
    answer : Answer
        Any point and any multipliers: wrong ones prove little, never something wrong. Multipliers that are no numbers
        count as zero.
    rounds : int, default 3
        How often multipliers are moved deeper into the dual cone.
    tol : float, default 1e-9
        Relative gap below which nothing more is tried.
    radius : float, default 1000
        Reach of columns without bounds.
    known : Proof, optional
        Proof without an assumption, by other multipliers: it implies bounds of x, at the level of that proof.

    Returns
    -------
    Proof
        Proof of a bound of the minimisation.
    """
    x, value = answer.x, program.value(answer.x)
    open_box = Box(np.full(len(x), -np.inf), np.full(len(x), np.inf))
    nothing = Proof(value, -math.inf, ("nothing",), program.violation(x), answer.z, x, open_box)
    if not np.isfinite(x).all():
        return nothing
    is_idle = not (program.q.any() or program.P.nnz)  # zero multipliers prove all that there is
    answer = replace(answer, z=np.where(np.abs(answer.z) < (0.0 if is_idle else _LARGEST), answer.z, 0.0))
    if math.isinf(program.convexity[0]):
        return replace(nothing, assumptions=("P is not proved to be positive semidefinite",))
    with np.errstate(all="ignore"):  # multipliers may be anything; what overflows proves nothing
        return _Search(program, answer, tol, radius, known).run(nothing, rounds)


class _Search:
    """The search for the best bound of one answer."""

    def __init__(self, program: ConeProgram, answer: Answer, tol: float, radius: float, known: Proof | None) -> None:
        self.program, self.answer, self.radius, self.known = program, answer, radius, known
        reduced, self.idle = program.without_idle_rows()
        self.outward = Outward(reduced)
        self.value = program.value(answer.x)
        size = program.size(answer.x)
        self.size = max(abs(self.value), 1e-3 * size, 1e-300)
        self.tol = tol * max(abs(self.value), ZERO * size, 1e-300)
        self.level = self.value + _SLACK * self.size
        if known is not None:
            self.level = min(self.level, known.level)
        self.box = self._first_box()

    def _first_box(self) -> Box:
        box = implied_box(self.program, self.level, self.answer.x)
        known = self.known
        # Above its level, what a known proof says of the slacks need not hold.
        if known is None or not math.isfinite(known.bound) or self.level > known.level:
            return box
        return tightened_box(self.outward, self.level, self.answer.x, known.xh, known.z, box, known.bound)

    def run(self, nothing: Proof, rounds: int) -> Proof:
        candidates = list(self._judged_candidates(rounds))
        if not candidates:
            return nothing
        best = self._in_smaller_boxes(candidates, max(candidates, key=lambda one: one.bound))
        for _ in range(_RAISES):
            if not self.level < best.bound < math.inf:
                break
            # The answer is outside of its constraints, and its value below the optimum: look at more x.
            self.level = best.bound + max(best.bound - self.value, _SLACK * self.size)
            self.box = self._first_box()
            candidates = [self._judged(one.xh, one.z) for one in candidates]
            best = self._in_smaller_boxes(candidates, max(candidates, key=lambda one: one.bound))
        assumptions: tuple[str, ...] = ()
        if not best.is_unconditional:
            exact = self._exact(candidates, best)
            best, assumptions = (best, self._stated()) if exact is None else (exact, ())
        bound = min(best.bound, self.level)
        box = self.box.within(self.answer.x, self.radius)
        z = np.where(self.idle, 0.0, best.z)
        proof = replace(nothing, bound=bound, assumptions=assumptions, level=self.level)
        return replace(proof, z=z, xh=best.xh, box=box)

    def _judged(self, xh: FloatArray, z: FloatArray) -> _Candidate:
        bound = self.outward.bound(xh, z, self.answer.x, self.box, self.radius)
        return _Candidate(bound.value, bound.from_residual, bound.is_unconditional, xh, z, bound.residual)

    def _judged_candidates(self, rounds: int) -> Iterator[_Candidate]:
        """Yield corrected multipliers with their bounds.

        The box stays: files are verified with boxes that follow from the last multipliers alone, and would be wider.
        """
        last, least = None, math.inf
        for xh, z in corrections(self.outward, self.answer.x, self.answer.z, rounds):
            if (last is not None and np.array_equal(z, last)) or not self.program.proves(z):
                continue
            one, last = self._judged(xh, z), z
            yield one
            if self._is_enough(one) and math.isfinite(one.bound):
                return  # what is left is the solver's own gap
            if one.is_unconditional and one.from_residual > _WORSE * least:
                return  # what is deeper costs more
            least = min(least, one.from_residual)

    def _is_enough(self, one: _Candidate) -> bool:
        return one.from_residual <= 0.1 * max(self.value - one.bound, self.tol)

    def _in_smaller_boxes(self, candidates: list[_Candidate], best: _Candidate) -> _Candidate:
        """Return the best candidate after bounds by complementarity and curvature; the box becomes smaller."""
        for _ in range(3):
            if best.is_unconditional and self._is_enough(best):
                break
            proved = best.bound if best.is_unconditional else -math.inf
            box = tightened_box(self.outward, self.level, self.answer.x, best.xh, best.z, self.box, proved)
            if box.n_ends <= self.box.n_ends and not best.is_unconditional:
                break
            self.box, before = box, best.bound
            nearest = sorted(candidates, key=lambda one: float(one.residual.max(initial=0)))[:3]
            for one in (self._judged(one.xh, one.z) for one in [*nearest, best]):
                if one.bound > best.bound or (one.is_unconditional and not best.is_unconditional):
                    best = one
            if best.bound <= before + 1e-12 * self.size:
                break
        return best

    def _exact(self, candidates: list[_Candidate], best: _Candidate) -> _Candidate | None:
        """Return a candidate next to which a point is proved that is stationary in the open columns, not much worse.

        Or one by completing squares, or a rounded one: with multipliers of few digits, or with none, residuals of open
        columns may vanish.
        """
        least = min(best.bound - 1e-7 * self.size, self.value - 10 * self.tol)
        if (squared := self._squared(best)).bound > least:
            return squared
        digit = math.ldexp(0.5, math.frexp(float(np.abs(best.z).max(initial=1e-300)))[1] - _DIGITS)
        for z in (np.round(best.z / digit) * digit, np.zeros_like(best.z)):
            if self.program.proves(z) and (one := self._judged(best.xh, z)).is_unconditional and one.bound > least:
                return one
        for xh, z in self._deeper(candidates, best):
            if not self.program.proves(z):
                continue
            at_point, residual = self.outward.at_point(xh, z, self.answer.x)
            if at_point > least:
                bound = at_point - cost_of_exact_dual(self.outward, z, xh, self.answer.x, residual, self.box)
                if bound > least:
                    return _Candidate(bound, 0.0, True, xh, z, residual)
        return None

    def _squared(self, one: _Candidate) -> _Candidate:
        """Return the bound of a candidate whose residuals in open columns of P are within its range."""
        program, x, is_open = self.program, self.answer.x, ~self.box.is_finite & (one.residual > 0)
        part = sp.csgraph.connected_components(program.P, directed=False)[1]
        columns = np.flatnonzero(np.isin(part, part[is_open]))
        if math.isinf(loss := cost_of_squares(self.outward.program, one.z, one.xh, x, columns)):
            return one._replace(bound=-math.inf)
        at_point, modulus = self.outward.at_point(one.xh, one.z, x)
        far = np.maximum(np.abs(self.box.low - x), np.abs(self.box.high - x)) * (1 + 8 * UNIT)
        used = modulus > 0
        used[columns] = False
        return one._replace(
            bound=at_point - loss - float(modulus[used] @ far[used]) * (1 + 1e-9),
            from_residual=0.0,
            is_unconditional=True,
        )

    def _deeper(self, candidates: list[_Candidate], best: _Candidate) -> Iterator[tuple[FloatArray, FloatArray]]:
        yield from ((one.xh, one.z) for one in sorted(candidates, key=lambda one: -one.bound)[:3])
        yield from corrections(self.outward, self.answer.x, best.z, 3, boost=2.0**13)

    def _stated(self) -> tuple[str, ...]:
        n_open = int((~self.box.is_finite).sum())
        stated = (
            [f"|x - x0| <= {self.radius:g} (1 + |x0|) in {n_open} of {len(self.answer.x)} columns"] if n_open else []
        )
        if self.program.convexity[0]:
            stated.append("P is convex up to a rounding that is charged within that radius")
        return tuple(stated) or ("bounds of all columns",)
