"""Multipliers in rational numbers, which are exactly what those of a solver are nearly: stationary, and in the cones.

Floats are corrected by floats as long as that helps, each step of which is added exactly. What is then left of
P x + q + A'z is made to vanish: a linear system is solved in rational numbers for the columns that no bound of their
own takes it up, and bounds take up that of the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

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
"""Multipliers, and the point of the bound."""
LARGEST = 400
"""Columns up to which a system is solved in rational numbers."""
_SMALL = 1000
"""Largest denominator of numbers that are tried first: they may be those of the optimum itself."""
_DEPTHS, _DEEPER = 4, 2.0**13
_STEPS = 3
"""Corrections in floats, each of which leaves a share of 1e-10 or so of what is left."""
_RANK = 1e-11
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
    best: tuple[Fraction, Evidence] | None = None
    last: Exception = Refused("there are no multipliers")
    for candidate in _candidates(program, problem, x, z, xh):
        try:
            evidence = _completed(program, problem, *candidate)
            proved = check.bound(problem, *evidence)
        except Refused as error:
            last = error
            continue
        if best is None or proved > best[0]:
            best = proved, evidence
        if proved >= enough:
            break
    if best is None:
        raise last
    return best


def _candidates(
    program: ConeProgram, problem: Problem, x: FloatArray, z: FloatArray, xh: FloatArray
) -> Iterator[Evidence]:
    """Yield multipliers and points that are nearly stationary, of small denominators, then deeper and deeper."""
    yield _small(z), _small(xh)
    outward = Outward(program)
    yield _refined(program, problem, xh, z)
    for boost in (1.0, _DEEPER):
        for point, moved in corrections(outward, x, z, _DEPTHS, boost):
            if program.proves(moved):
                yield _refined(program, problem, point, moved)


def _small(values: FloatArray) -> list[Fraction]:
    return [Fraction(one).limit_denominator(_SMALL) for one in values.tolist()]


def _residual(problem: Problem, z: list[Fraction], x: list[Fraction]) -> list[Fraction]:
    """Return P x + q + A'z."""
    n = len(problem.q)
    terms = check.product(problem.P, x, n), problem.q, check.product(problem.A, z, n, transposed=True)
    return [sum(one, Fraction(0)) for one in zip(*terms, strict=True)]


def _refined(program: ConeProgram, problem: Problem, xh: FloatArray, z: FloatArray) -> Evidence:
    """Return exact sums of multipliers and steps in floats towards stationary ones."""
    best = [*map(Fraction, z.tolist())], [*map(Fraction, xh.tolist())]
    metric = Metric(Outward(program), z)
    try:
        solver = Stationarity(metric.times(), program.P, augmented=True)
    except (RuntimeError, np.linalg.LinAlgError, ValueError):
        return best
    left = np.array(_residual(problem, *best), dtype=float)
    for _ in range(_STEPS):
        dx, w = solver.step(-left)
        dz = metric.apply(w)
        if not (np.isfinite(dx).all() and np.isfinite(dz).all()):
            break
        further = _moved(best[0], dz), _moved(best[1], dx)
        rest = np.array(_residual(problem, *further), dtype=float)
        if not np.abs(rest).max(initial=0) < np.abs(left).max(initial=0) / 2:
            break
        best, left = further, rest
    return best


def _moved(values: list[Fraction], steps: FloatArray) -> list[Fraction]:
    return [one + Fraction(step) for one, step in zip(values, steps.tolist(), strict=True)]


def _completed(program: ConeProgram, problem: Problem, z: list[Fraction], x: list[Fraction]) -> Evidence:
    """Return multipliers and a point that are stationary, next to those that nearly are."""
    r, singles = _residual(problem, z, x), _singles(problem)
    is_open = np.array([not _takes_up(singles[j], z) for j in range(len(r))], dtype=bool)
    z, x = list(z), list(x)
    at = np.flatnonzero(is_open)
    if any(r[j] for j in at):
        _solve(program, problem, z, x, r, at)
        r = _residual(problem, z, x)
    for j in np.flatnonzero(~is_open).tolist():
        _take_up(singles[j], j, z, x, r[j])
    return z, x


def _solve(
    program: ConeProgram, problem: Problem, z: list[Fraction], x: list[Fraction], r: list[Fraction], at: IntArray
) -> None:
    """Make the residual r vanish in these columns, in place: by as many multipliers, deep in their cones, or entries.

    Which of them, and which columns depend on others, floats say.
    """
    if len(at) > LARGEST:
        raise Refused(f"{len(at)} columns have no bounds of their own; systems of up to {LARGEST} are solved exactly")
    m = len(z)
    unknowns = sp.vstack([program.A, program.P]).tocsr()[:, at]
    sizes = np.concatenate([_sizes(program, np.array(z, dtype=float)), np.ones(len(x))])
    weighted = sp.diags(sizes) @ unknowns
    scale = np.ravel(abs(weighted).max(axis=0).toarray())
    W = (weighted @ sp.diags(1 / np.where(scale > 0, scale, 1.0))).toarray()
    kept = _independent(W.T)
    columns = _independent(W[kept])
    kept = kept[: len(columns)]
    M = unknowns[kept][:, columns].toarray()
    entries, under = check.whole([Fraction(one) for one in M.ravel().tolist()])
    right, below = check.whole([-r[j] for j in at[columns]])
    try:
        w = fmpz_mat(len(kept), len(columns), entries).transpose().solve(fmpz_mat(len(columns), 1, right))
    except ZeroDivisionError:
        raise Refused("the multipliers that are deep in their cones do not reach every column") from None
    for k, step in zip(kept.tolist(), w.entries(), strict=True):
        change = Fraction(int(step.p), int(step.q)) * under / below
        if k < m:
            z[k] += change
        else:
            x[k - m] += change


def _independent(W: FloatArray) -> IntArray:
    """Return independent columns of a matrix, the largest first."""
    R, order = scipy.linalg.qr(W, mode="r", pivoting=True)
    pivots = np.abs(R.diagonal())
    return np.asarray(order[: int((pivots > _RANK * pivots.max(initial=0)).sum())])


def _sizes(program: ConeProgram, z: FloatArray) -> FloatArray:
    """Return the largest multiplier of the cone of each row, and of all for equalities: how far it may be moved."""
    sizes = np.full(len(z), max(1.0, float(np.abs(z).max(initial=0))))
    for cone in program.parts:
        if not isinstance(cone, Zero):
            sizes[cone.rows] = np.abs(z[cone.rows]).max(axis=1, keepdims=True)
    return sizes


# Columns whose residual a bound of theirs takes up, or their own curvature

Single = tuple[int, Fraction, str]
"""A row with one entry, or -1 for that of P, the entry, and the kind of its cone."""


def _singles(problem: Problem) -> dict[int, list[Single]]:
    """Return what each column has for itself alone."""
    kinds = {cone.start: cone.kind for cone in problem.cones if cone.kind in ("zero", "nonnegative")}
    count, curved, out = Counter(i for i, _, _ in problem.A), Counter(i for i, _, _ in problem.P), defaultdict(list)
    for i, j, a in problem.P:
        if i == j and curved[i] == 1:
            out[j].append((-1, a, "zero"))
    for i, j, a in problem.A:
        if count[i] == 1 and i in kinds:
            out[j].append((i, a, kinds[i]))
    return out


def _takes_up(own: list[Single], z: list[Fraction]) -> bool:
    """Whether a small residual of any sign is taken up."""
    is_free = any(kind == "zero" or z[i] > 0 for i, _, kind in own)
    return is_free or {a > 0 for _, a, _ in own} == {True, False}


def _take_up(own: list[Single], j: int, z: list[Fraction], x: list[Fraction], r: Fraction) -> None:
    """Take up the residual of a column, in place, by the first of its own that may."""
    for i, a, kind in own:
        if i < 0:
            x[j] -= r / a
            return
        if kind == "zero" or z[i] >= r / a:
            z[i] -= r / a
            return
