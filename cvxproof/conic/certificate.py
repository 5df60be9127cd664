"""What is proved of an answer to a cone program, whoever gave it: a bound of the optimum, and on what it rests.

`judged` bounds the optimum from below with the multipliers of an answer. Three proofs of r'x are tried in turn: bounds
that the program implies, an exactly feasible dual point that is proved to exist, and a stated radius around the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, tee
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from cvxproof.conic.box import implied_box, tightened_box, written_box
from cvxproof.conic.correction import corrections
from cvxproof.conic.existence import FEW, cost_of_exact_dual, cost_of_squares
from cvxproof.conic.outward import Box, Outward
from cvxproof.conic.program import Answer, ConeProgram
from cvxproof.results import ZERO
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
_SMALL = 1000
"""Entries of a program up to which nothing is left out to save time."""
_DIGITS = 20
"""Binary digits of multipliers that are rounded."""
_ROOM = 2.0**-36
"""Share of a column's terms by which its residual has the sign that one bound is enough for, next to an exact point."""
_DECIMALS = (12, 9)
"""Digits of multipliers that are rounded where residuals must vanish."""
_FAR = 10.0
"""How many times the tolerance, of the size of the terms, a solver's own gap may be in a hasty look."""
_USEFUL = 1e-7
"""Share of the objective by which a bound may be worse so that it holds without an assumption."""
_GAINED = 0.95
"""Share of the gap that smaller boxes must leave at most, so that still smaller ones are tried."""
_KNOWN = 2.0
"""Share of the tolerance within which a bound that is known is enough."""
_LOOKS = 5
"""Passes of a first look for bounds of x."""
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
    level : float
        Value up to which x are looked at; the bound is no larger.
    """

    value: float
    bound: float
    assumptions: tuple[str, ...]
    violation: float
    z: FloatArray
    xh: FloatArray
    level: float = math.inf


class _Candidate(NamedTuple):
    bound: float
    from_residual: float
    is_unconditional: bool
    xh: FloatArray
    z: FloatArray
    residual: Box


def judged(
    program: ConeProgram,
    answer: Answer,
    rounds: int = 3,
    tol: float = 1e-9,
    radius: float = RADIUS,
    known: Proof | None = None,
    is_hasty: bool = False,
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
        How often multipliers are moved deeper into the dual cone; without one, only what costs little is tried.
    tol : float, default 1e-9
        Relative gap below which nothing more is tried.
    radius : float, default 1000
        Reach of columns without bounds.
    known : Proof, optional
        Proof without an assumption, by other multipliers: it implies bounds of x, at the level of that proof.
    is_hasty : bool, default False
        Whether less is tried where another answer is better than a long look at this one: where the solver's own gap
        is far above `tol`, and of a large linear program where that of a first correction is.

    Returns
    -------
    Proof
        Proof of a bound of the minimisation.
    """
    x, value = answer.x, program.value(answer.x)
    nothing = Proof(value, -math.inf, ("nothing",), program.violation(x), answer.z, x)
    if not np.isfinite(x).all():
        return nothing
    is_idle = not (program.q.any() or program.P.nnz)  # zero multipliers prove all that there is
    answer = replace(answer, z=np.where(np.abs(answer.z) < (0.0 if is_idle else _LARGEST), answer.z, 0.0))
    if math.isinf(program.convexity[0]):
        return replace(nothing, assumptions=("P is not proved to be positive semidefinite",))
    with np.errstate(all="ignore"):  # multipliers may be anything; what overflows proves nothing
        return _Search(program, answer, tol, radius, known, is_hasty).run(nothing, rounds)


class _Search:
    """The search for the best bound of one answer."""

    def __init__(
        self, program: ConeProgram, answer: Answer, tol: float, radius: float, known: Proof | None, is_hasty: bool
    ) -> None:
        self.is_hasty = is_hasty
        self.program, self.answer, self.radius, self.known = program, answer, radius, known
        self.outward = Outward(program)
        self.value = program.value(answer.x)
        size = program.size(answer.x)
        self.size = max(abs(self.value), 1e-3 * size, 1e-300)
        self.far = _FAR * tol * max(abs(self.value), size)
        self.tol = tol * max(abs(self.value), ZERO * size, 1e-300)
        self.level = self.value + _SLACK * self.size
        if known is not None:
            self.level = min(self.level, known.level)
        self.idle = np.zeros(len(program.b), dtype=bool)

    def _first_box(self) -> Box:
        box = implied_box(self.program, self.level, self.answer.x)
        known = self.known
        # Above its level, what a known proof says of the slacks need not hold.
        if known is None or not math.isfinite(known.bound) or self.level > known.level:
            return box
        return tightened_box(self.outward, self.level, self.answer.x, known.xh, known.z, box, known.bound)

    def run(self, nothing: Proof, rounds: int) -> Proof:
        known = self.known
        if known is not None and abs(self.value - known.bound) <= _KNOWN * self.tol:
            return self._proof_of(nothing, known)
        if self.is_hasty and abs(self.answer.z @ self.program.slacks(self.answer.x)) > self.far:
            rounds = 0  # no correction makes up for the solver's own gap, also of an optimum that counts as zero
        best = self._as_answered() if self.program.is_linear or not rounds else None
        if rounds and not (best is not None and self._is_done(best)):
            best = self._searched(rounds)
        if best is None:
            return nothing
        assumptions = () if best.is_unconditional else self._stated()
        bound, z = min(best.bound, self.level), np.where(self.idle, 0.0, best.z)
        if known is not None and known.bound > bound:
            return self._proof_of(nothing, known)
        return replace(nothing, bound=bound, assumptions=assumptions, level=self.level, z=z, xh=best.xh)

    @staticmethod
    def _proof_of(nothing: Proof, known: Proof) -> Proof:
        """Return what is known as the proof of this answer: the bound is that of the program."""
        return replace(known, value=nothing.value, violation=nothing.violation)

    def _as_answered(self) -> _Candidate | None:
        """Return the answer with its bound next to bounds of x that cost little: rows, and what a few passes find."""
        program, x = self.program, self.answer.x
        z = program.moved_inside(self.answer.z, 0.0, program.slacks(x))
        self.box = written_box(program)
        if not program.proves(z):
            return None
        one = self._judged(x, z)
        if not self._is_done(one):
            self.box = implied_box(program, self.level, x, self.box, passes=_LOOKS)
            one = self._judged(x, z)
        return one

    def _searched(self, rounds: int) -> _Candidate | None:
        """Return the best candidate of corrected multipliers and smaller boxes."""
        reduced, self.idle = self.program.without_idle_rows()
        self.outward = Outward(reduced) if self.idle.any() else self.outward
        pairs, first = tee(corrections(self.outward, self.answer.x, self.answer.z, rounds))
        if self.program.is_linear:  # signs are enough in most columns
            looks = list[_Candidate]()
            for one in self._judged_candidates(islice(first, 1, 3)):
                if self._is_done(one):
                    return one
                looks.append(one)
            best = max(looks, key=lambda one: one.bound, default=None)
            is_large_lp = self.program.is_lp and self.program.A.nnz > _SMALL
            if self.is_hasty and is_large_lp and best is not None and self.value - best.bound > 10 * self.tol:
                return best
        self.box = self._first_box()
        candidates = list(self._judged_candidates(pairs))
        if not candidates:
            return None
        best = max(candidates, key=lambda one: one.bound)
        best = self._in_smaller_boxes(candidates, best)
        for _ in range(_RAISES):
            if not self.level < best.bound < math.inf:
                break
            # The answer is outside of its constraints, and its value below the optimum: look at more x.
            self.level = best.bound + max(best.bound - self.value, _SLACK * self.size)
            self.box = self._first_box()
            candidates = [self._judged(one.xh, one.z) for one in candidates]
            best = self._in_smaller_boxes(candidates, max(candidates, key=lambda one: one.bound))
        if best.is_unconditional:
            return best
        return self._exact(candidates, best) or best

    def _judged(self, xh: FloatArray, z: FloatArray) -> _Candidate:
        z = self.outward.absorbed(xh, z)
        bound = self.outward.bound(xh, z, self.answer.x, self.box, self.radius)
        return _Candidate(bound.value, bound.from_residual, bound.is_unconditional, xh, z, bound.residual)

    def _judged_candidates(self, pairs: Iterable[tuple[FloatArray, FloatArray]]) -> Iterator[_Candidate]:
        """Yield those pairs that are proved to lie in the dual cone, with their bounds.

        The box stays: files are verified with boxes that follow from the last multipliers alone, and would be wider.
        """
        last, least, most = None, math.inf, -math.inf
        for xh, z in pairs:
            if (last is not None and np.array_equal(z, last)) or not self.program.proves(z):
                continue
            one, last = self._judged(xh, z), z
            yield one
            if self._is_enough(one) and math.isfinite(one.bound):
                return  # what is left is the solver's own gap
            most, least = max(most, one.bound), min(least, one.from_residual)
            is_useless = one.is_unconditional or one.bound < most - _USEFUL * self.size
            if is_useless and one.from_residual > _WORSE * least:
                return  # what is deeper costs more

    def _is_enough(self, one: _Candidate) -> bool:
        gap = abs(self.value - one.bound)
        return (one.is_unconditional and gap <= self.tol) or one.from_residual <= 0.1 * max(gap, self.tol)

    def _is_done(self, one: _Candidate) -> bool:
        return one.is_unconditional and self._is_enough(one) and one.bound <= self.level

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
            nearest = sorted(candidates, key=lambda one: float(one.residual.modulus.max(initial=0)))[:3]
            for one in (self._judged(one.xh, one.z) for one in [*nearest, best]):
                if one.bound > best.bound or (one.is_unconditional and not best.is_unconditional):
                    best = one
            if self.value - best.bound > _GAINED * (self.value - before):
                break
        return best

    def _exact(self, candidates: list[_Candidate], best: _Candidate) -> _Candidate | None:
        """Return a candidate next to which a point is proved that is stationary in the open columns, not much worse.

        Or one by completing squares, or a rounded one: with multipliers of few digits, or with none, residuals of open
        columns may vanish.
        """
        least = min(best.bound - _USEFUL * self.size, self.value - 10 * self.tol)
        near = ((one.xh, one.z) for one in sorted(candidates, key=lambda one: -one.bound)[:3])
        rounds = 0 if self.program.is_lp and self.program.A.nnz > _SMALL else 3  # signs do it in large ones
        deeper = corrections(self.outward, self.answer.x, best.z, rounds, boost=2.0**13)
        others = (self._next_to(near, least), self._squared(best), self._rounded(best), self._next_to(deeper, least))
        for one in chain.from_iterable(others):
            if one.is_unconditional and one.bound > least:
                return one
        return None

    def _next_to(self, pairs: Iterable[tuple[FloatArray, FloatArray]], least: float) -> Iterator[_Candidate]:
        """Yield the first pair that has a stationary one next to it."""
        for xh, z in pairs:
            if not self.program.proves(z):
                continue
            if (~self.box.is_finite).sum() > FEW:
                z = self.outward.absorbed(xh, z, _ROOM)
            at_point, residual = self.outward.at_point(xh, z, self.answer.x)
            if at_point > least:
                bound = at_point - cost_of_exact_dual(self.outward, z, xh, self.answer.x, residual, self.box)
                if bound > least:
                    yield _Candidate(bound, 0.0, True, xh, z, residual)
                    return

    def _rounded(self, one: _Candidate) -> Iterator[_Candidate]:
        """Yield candidates of few binary digits, of none, and of few digits where a residual must vanish."""
        digit = math.ldexp(0.5, math.frexp(float(np.abs(one.z).max(initial=1e-300)))[1] - _DIGITS)
        i, j, _ = self.program.entries
        rows = np.unique(i[np.isinf(self.box.cost(one.residual, self.answer.x))[j]])
        short = [one.z.copy() for _ in _DECIMALS]
        for z, digits in zip(short, _DECIMALS, strict=True):
            z[rows] = [float(f"{entry:.{digits}g}") for entry in z[rows].tolist()]
        for z in (np.round(one.z / digit) * digit, np.zeros_like(one.z), *short):
            if self.program.proves(z):
                yield self._judged(one.xh, z)

    def _squared(self, one: _Candidate) -> Iterator[_Candidate]:
        """Yield a candidate whose residuals in open columns of P are within its range, with its bound."""
        program, x = self.program, self.answer.x
        cost = self.box.cost(one.residual, x)
        part = sp.csgraph.connected_components(program.P, directed=False)[1]
        columns = np.flatnonzero(np.isin(part, part[np.isinf(cost)]))
        if math.isinf(loss := cost_of_squares(self.outward.program, one.z, one.xh, x, columns)):
            return
        cost[columns] = 0.0
        bound = self.outward.at_point(one.xh, one.z, x)[0] - loss - float(np.maximum(cost, 0.0).sum()) * (1 + 1e-9)
        yield one._replace(bound=bound, from_residual=0.0, is_unconditional=True)

    def _stated(self) -> tuple[str, ...]:
        n_open = int((~self.box.is_finite).sum())
        stated = (
            [f"|x - x0| <= {self.radius:g} (1 + |x0|) in {n_open} of {len(self.answer.x)} columns"] if n_open else []
        )
        if self.program.convexity[0]:
            stated.append("P is convex up to a rounding that is charged within that radius")
        return tuple(stated) or ("bounds of all columns",)
