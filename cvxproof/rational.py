"""Multipliers in rational numbers, which are exactly what those of a solver are nearly: stationary, and in the cones.

Floats are corrected by floats as long as that helps, each step of which is added exactly. What is then left of
P x + q + A'z is made to vanish: a linear system is solved in rational numbers for the columns that no bound of their
own takes it up, and bounds take up that of the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from fractions import Fraction
from itertools import chain, islice

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from cvxproof import check
from cvxproof.check import Problem, Refused
from cvxproof.conic.cones import Zero
from cvxproof.conic.correction import Metric, Stationarity, corrections
from cvxproof.conic.outward import Outward
from cvxproof.conic.program import ConeProgram
from cvxproof.exceptions import SolverNotInstalledError
from cvxproof.typing import FloatArray, IntArray

try:
    from flint import fmpz_mat
except ImportError as error:  # pragma: no cover - who runs the tests has it
    raise SolverNotInstalledError("exact proofs need python-flint: pip install python-flint") from error

__all__ = ["LARGEST", "Evidence", "exact_evidence"]

Evidence = tuple[list[Fraction], list[Fraction]]
"""Multipliers z, and the point x of the bound."""
LARGEST = 400
"""Columns up to which a system is solved in rational numbers."""
_SMALL = 1000
"""Largest denominator of numbers that are tried first: they may be those of the optimum itself."""
_DEPTHS, _DEEPER = 4, 2.0**13
_STEPS = 3
"""Corrections in floats, each of which leaves a share of 1e-10 or so of what is left."""
_LEAST = 1e-9
"""Share of the largest multiplier that any counts as at least, so that small ones are taken where no others are."""
_RANK = 1e-12
"""Share of the largest pivot below which rows count as dependent."""


def exact_evidence(
    program: ConeProgram, problem: Problem, x: FloatArray, z: FloatArray, xh: FloatArray, enough: float
) -> tuple[Fraction, Evidence]:
    """Return the best bound of the minimum that is proved exactly, and by what; the search ends with one of `enough`.

    Parameters
    ----------
    program, problem : ConeProgram, Problem
        The program in floats, and the same in rational numbers.
    x : ndarray of shape (n,)
        Answer.
    z, xh : ndarray of shape (m,), (n,)
        Multipliers in the dual cone, and the point of the bound.
    enough : float
        Bound that is good enough.

    Raises
    ------
    Refused
        If no multipliers were found.
    """
    search, best, m = _Search(program, problem), list[tuple[Fraction, Evidence]](), len(z)
    deeper = (corrections(search.outward, x, z, _DEPTHS, boost) for boost in (1.0, _DEEPER))
    floats = ((one, of) for of, one in chain([(xh, z)], *deeper) if program.proves(one))
    small = [Fraction(one).limit_denominator(_SMALL) for one in (*z.tolist(), *xh.tolist())]
    for u in chain([small], (search.refined(*one) for one in floats)):
        try:
            search.complete(u)
            best.append((check.bound(problem, u[:m], u[m:]), (u[:m], u[m:])))
        except Refused as error:
            last = error
        if best and best[-1][0] >= enough:
            break
    if not best:
        raise last
    return max(best)


class _Search:
    """Unknowns u = (z, x) of q + B'u = 0, where B has the rows of A and P: those of P are free, as of equalities."""

    def __init__(self, program: ConeProgram, problem: Problem) -> None:
        m, n = program.A.shape
        self.program, self.problem, self.outward = program, problem, Outward(program)
        self.rows = sp.vstack([program.A, program.P]).tocsr()
        self.entries = problem.A + [(m + i, j, a) for i, j, a in problem.P]
        flat = {cone.start: cone.kind == "zero" for cone in problem.cones if cone.kind in ("zero", "nonnegative")}
        is_free, count = flat | dict.fromkeys(range(m, m + n), True), Counter(i for i, _, _ in self.entries)
        self.own = defaultdict[int, list[tuple[int, Fraction, bool]]](list)
        for i, j, a in self.entries:
            if count[i] == 1 and i in is_free:
                self.own[j].append((i, a, is_free[i]))

    def residual(self, u: list[Fraction]) -> list[Fraction]:
        """Return q + B'u."""
        given = check.product(self.entries, u, len(self.problem.q), transposed=True)
        return [one + other for one, other in zip(self.problem.q, given, strict=True)]

    def refined(self, z: FloatArray, xh: FloatArray) -> list[Fraction]:
        """Return exact sums of unknowns and steps in floats towards stationary ones."""
        u = [*map(Fraction, z.tolist()), *map(Fraction, xh.tolist())]
        metric = Metric(self.outward, z)
        left = np.array(self.residual(u), dtype=float)
        with suppress(ArithmeticError, RuntimeError, ValueError):  # of factors, and of steps that are no numbers
            solver = Stationarity(metric.times(), self.program.P, augmented=True)
            for _ in range(_STEPS):
                dx, w = solver.step(-left)
                steps = np.concatenate([metric.apply(w), dx]).tolist()
                further = [one + Fraction(step) for one, step in zip(u, steps, strict=True)]
                rest = np.array(self.residual(further), dtype=float)
                if not np.abs(rest).max(initial=0) < np.abs(left).max(initial=0) / 2:
                    break
                u, left = further, rest
        return u

    def complete(self, u: list[Fraction]) -> None:
        """Make unknowns that nearly are stationary so, in place."""
        taken = np.array([self.takes_up(j, u) for j in range(len(self.problem.q))], dtype=bool)
        r, at = self.residual(u), np.flatnonzero(~taken)
        if any(r[j] for j in at):
            self.solve(u, r, at)
            r = self.residual(u)
        for j in np.flatnonzero(taken).tolist():
            rows = ((i, r[j] / a) for i, a, is_free in self.own[j] if is_free or u[i] >= r[j] / a)
            for i, step in islice(rows, 1):
                u[i] -= step

    def takes_up(self, j: int, u: list[Fraction]) -> bool:
        """Whether rows of a column alone take up a small residual of any sign."""
        may = any(is_free or u[i] > 0 for i, _, is_free in self.own[j])
        return may or {a > 0 for _, a, _ in self.own[j]} == {True, False}

    def solve(self, u: list[Fraction], r: list[Fraction], at: IntArray) -> None:
        """Make the residual r vanish in these columns, in place, by as many unknowns: the largest of their cones.

        Which of them, and which columns depend on others, floats say.
        """
        if len(at) > LARGEST:
            raise Refused(f"{len(at)} columns have no bounds of their own, and only {LARGEST} are solved for exactly")
        weighted = (sp.diags(self.sizes(u)) @ self.rows[:, at]).toarray()
        scale = np.abs(weighted).max(axis=0, initial=0)
        weighted /= np.where(scale > 0, scale, 1.0)
        kept = _independent(weighted.T)
        columns = _independent(weighted[kept])
        kept = kept[: len(columns)]
        M = self.rows[kept][:, at[columns]].toarray()
        entries, under = check.whole([Fraction(one) for one in M.T.ravel().tolist()])
        right, below = check.whole([-r[j] for j in at[columns]])
        with suppress(ZeroDivisionError):  # of a singular matrix
            w = fmpz_mat(len(columns), len(kept), entries).solve(fmpz_mat(len(columns), 1, right))
            for k, step in zip(kept.tolist(), w.entries(), strict=True):
                u[k] += Fraction(int(step.p), int(step.q)) * under / below

    def sizes(self, u: list[Fraction]) -> FloatArray:
        """Return the largest multiplier of the cone of each row, that of all for what is free."""
        sizes = np.abs(np.array(u, dtype=float))
        z, largest = sizes[: self.program.A.shape[0]], max(1.0, sizes.max(initial=0))
        for cone in self.program.parts:
            z[cone.rows] = largest if isinstance(cone, Zero) else z[cone.rows].max(axis=1, keepdims=True)
        sizes[len(z) :] = largest
        return np.maximum(sizes, _LEAST * largest)


def _independent(W: FloatArray) -> IntArray:
    """Return independent columns of a matrix, the largest first."""
    R, order = scipy.linalg.qr(W, mode="r", pivoting=True)
    pivots = np.abs(R.diagonal())
    return np.asarray(order[: int((pivots > _RANK * pivots.max(initial=0)).sum())])
