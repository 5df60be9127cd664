"""A problem over eigenvectors or over blocks driven to its proof: `solve`.

`InteriorRun` takes the steps: when one only centres, and when there is no more. Where two classes and the hinge have an
active set it is tried on the way. What is kept is the candidate of the smallest gap that the objective proves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.objectives import SpectrumPoint
from specmargin.results import Certificate, History, SolveResult, Status
from specmargin.solvers.spectrum.active_set import ActiveSet, identify, on_spectrum, polish
from specmargin.solvers.spectrum.interior_point import MarginData, Point, interior_step
from specmargin.typing import FloatArray

__all__ = ["Candidate", "InteriorRun", "Iterate", "Outcome", "Problem", "neighbor", "solve"]

_PATIENCE = 12
"""Steps without a smaller gap, once it is small, after which rounding has the last word."""
_TURNS = 5
"""Steps without a smaller gap, of a point that meets the linear conditions, after which a step only centres."""
_MET = 0.1
"""Error of a margin up to which the linear conditions count as met: far from them the gap means little."""
_SMALL = 1e-5
"""Estimated gap from which on it has to shrink; far from the optimum it may well grow for a while."""
_CLOSE = 1e-3
"""Estimated gap from which on the margins must not drift from those of the multipliers."""

_STEEP, _STEEPER, _STEEPEST = 1e5, 4.0, 1e12
"""C of the iteration above which smaller ones lead the way: the first, the ratio of the next, where they end."""
_ON_KINK = 1e-7
"""Distance from a kink of the loss at which a margin of the warm start counts as on it."""


class Candidate(NamedTuple):
    """What the objective makes of an iterate: its certificate, and the variables of the repaired point."""

    certificate: Certificate
    point: SpectrumPoint


class Iterate(NamedTuple):
    """What the objective needs of an iterate, in the units of the iteration."""

    gamma: FloatArray
    kappa: FloatArray
    b: Any


class Problem(NamedTuple):
    """A problem in the units of the iteration, where the mean diagonal of the kernel is next to one.

    Features s U with C / s^2 are the same problem. `scale` is C here over that of the objective, and the multipliers of
    the objective over those here; `certify` is told, where they are known, which margins are fixed; `at` returns the
    same problem at another C of the iteration, for the hinge of two classes.
    """

    data: MarginData
    certify: Callable[[Iterate, FloatArray | None], Candidate]
    name: str
    at: Callable[[float], Problem] | None = None
    scale: float = 1.0


class InteriorRun:
    """The steps of an interior point so far.

    Parameters
    ----------
    data : MarginData
        The numbers of the problem.
    history : History
        History in which each step's estimated gap, length and largest residual are recorded.
    """

    def __init__(self, data: MarginData, history: History) -> None:
        self.data, self.point, self.history = data, data.start(), history
        self.gap = self.residual = self._least = np.inf
        self.stalled = 0
        self.message = ""

    def advance(self) -> bool:
        """Take a step; return whether it led to finite numbers, and say in `message` why not."""
        # Early on the margins may well drift for a while; the path is then left and found again.
        drifted = self.residual if self.gap < _CLOSE else np.inf
        turning = self.stalled > 0 and self.stalled % _TURNS == 0 and self.residual < _MET
        try:
            step = interior_step(self.data, self.point, drifted, centre=turning)
        except np.linalg.LinAlgError:
            self.message = "the linear system became singular"
            return False
        if not np.isfinite(step.length) or not np.isfinite(step.point.pos @ step.point.slack):
            self.message = "the linear system lost its digits"
            return False
        before, self.point, self.residual = self.residual, step.point, step.residual
        self.gap = float(self.point.pos @ self.point.slack) / max(self.data.value(self.point), 1e-300)
        self.history.record(gap=self.gap, length=step.length, residual=step.residual)
        # Products may vanish before the linear conditions are met, which is progress as well.
        advanced = self.gap < 0.9 * self._least or _MET < self.residual < 0.5 * before
        self.stalled = 0 if advanced else self.stalled + 1
        self._least = min(self._least, self.gap)
        if self.stalled > _PATIENCE and self._least < _SMALL:
            self.message = "the gap shrinks no more"
        return True


class Outcome(NamedTuple):
    """The best candidate, and the run that led to it."""

    candidate: Candidate
    history: History
    seconds: float
    message: str
    out_of_steps: bool

    def result(
        self, problem: str, solver: str, variables: dict[str, FloatArray], duals: dict[str, FloatArray], tol: float
    ) -> SolveResult:
        """Return what the solver returns; its status is that of the certificate."""
        certificate = self.candidate.certificate
        return SolveResult(
            problem=problem,
            status=certificate.status(tol, Status.MAX_ITER if self.out_of_steps else None),
            variables=variables,
            duals=duals,
            certificate=certificate,
            history=self.history,
            solver=solver,
            message=self.message,
            n_iter=len(self.history),
            seconds=self.seconds,
        )


class _Best:
    """The candidate of the smallest gap so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.candidate: Candidate | None = None
        self.iterate: Iterate | None = None
        self.gap = np.inf

    def consider(self, iterate: Iterate, kink: FloatArray | None = None) -> bool:
        """Certify an iterate; return whether it is the best one."""
        candidate = self.problem.certify(iterate, kink)
        gap = candidate.certificate.relative_gap
        gap = gap if gap >= 0 else np.inf  # a contradiction, or nan: better than nothing at all
        if not np.isfinite(candidate.certificate.primal_objective) or (self.candidate is not None and gap >= self.gap):
            return False
        self.candidate, self.iterate, self.gap = candidate, iterate, gap
        return True

    def consider_point(self, point: Point) -> bool:
        """Certify a point; of several classes its margins on the kinks of the hinge are told."""
        data = self.problem.data
        kink = identify(data, point).kink if data.y.ndim > 1 and data.n_pairs > 1 else None
        return self.consider(Iterate(point.gamma, point.kappa, point.b), kink)

    def is_optimal(self, tol: float) -> bool:
        """Whether the best candidate is proved."""
        return self.candidate is not None and self.candidate.certificate.is_optimal(tol)


def solve(problem: Problem, tol: float, max_iter: int, neighbor: Iterate | None) -> Outcome:
    """Solve; for a large C by way of smaller ones.

    Where the labels are separated the answer does not depend on C once it is large, and elsewhere the active set no
    longer does: what is hard from a cold start, where the multipliers may be of any size up to C, is easy from there.
    """
    begin = time.perf_counter()
    history, best = History(), _Best(problem)
    if neighbor is not None:
        _from_neighbor(problem.data, neighbor, best)
    C = _STEEP
    last = min(float(np.max(problem.data.C)), _STEEPEST)
    while problem.at is not None and last > C and not best.is_optimal(tol):
        stage = _Best(problem.at(C))
        if neighbor is not None:
            _from_neighbor(stage.problem.data, neighbor, stage)
        if not stage.is_optimal(tol):
            _interior(stage, tol, max_iter, history)
        if (neighbor := stage.iterate) is None:
            break
        _from_neighbor(problem.data, neighbor, best)
        C *= _STEEPER
    message, out_of_steps = "active set of a neighbour", False
    if not best.is_optimal(tol):
        message, out_of_steps = _interior(best, tol, max_iter, history)
    if best.candidate is None:
        raise SolverError(
            f"{problem.name}: no step led to finite numbers ({message}); check features and graph for NaN."
        )
    return Outcome(best.candidate, history, time.perf_counter() - begin, message, out_of_steps)


def _interior(best: _Best, tol: float, max_iter: int, history: History) -> tuple[str, bool]:
    """Run the interior point until the active set, or it itself, is proved optimal; return how it ended."""
    data = best.problem.data
    run = InteriorRun(data, history)
    attempt, tried = 1e-2, 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for k in range(1, max_iter + 1):
            if not run.advance():
                break
            point, gap = run.point, run.gap
            if data.y.ndim == 1 and (gap < attempt or (gap < 1e-2 and k >= tried + 3)):
                attempt, tried = min(attempt, gap) / 10, k
                polished = polish(data, identify(data, point), point.kappa, point.gamma, point.b)
                if polished is not None and polished.violation < 1e-6:
                    best.consider(Iterate(*polished.solution[:3]), polished.active.kink)
                    if best.is_optimal(min(tol, 1e-11)):
                        run.message = f"active set after {k} steps"
                        break
            if gap < 0.1 * tol:
                better = best.consider_point(point)
                if best.is_optimal(tol) and (gap < 1e-4 * tol or not better):
                    run.message = "interior point"
                    break
            if run.message:
                break
    if not best.is_optimal(tol):
        best.consider_point(run.point)
    return run.message, not run.message


def neighbor(problem: Problem, given: SolveResult) -> Iterate:
    """Return a result of another C or B in the units of the iteration."""
    data = problem.data
    gamma, kappa = np.asarray(given.variables["gamma"], dtype=float), np.asarray(given.variables["kappa"], dtype=float)
    if gamma.shape != data.y.shape or kappa.shape != (data.cone.m,):
        raise InvalidInputError(
            f"warm_start has {gamma.shape[0]} multipliers and {kappa.shape[0]} extreme spectra, this problem "
            f"{len(data.y)} and {data.cone.m}; pass a result of the same labels and spectrum."
        )
    return Iterate(gamma * problem.scale, np.maximum(kappa - data.eps, 0.0), float(given.variables["b"]))


def _from_neighbor(data: MarginData, given: Iterate, best: _Best) -> None:
    """Try the active set of a neighbouring problem; multipliers that were at the old C are put at the new one."""
    gamma, kappa, b = given
    delta = data.cone.weights(kappa + data.eps)
    t = data.y * (data.U @ (delta * (data.U.T @ gamma)) + b)
    kink = np.full(len(t), np.nan)
    for value in (1.0, data.B, -data.B):
        if np.isfinite(value):
            kink[np.abs(t - value) < _ON_KINK * max(1.0, value)] = value
    active = ActiveSet(kink, np.where(t < 1.0, data.C, 0.0), kappa * data.cone.c > 1e-9 * data.rho)
    moved = np.isnan(kink) & (np.abs(data.y * gamma - active.fixed) > _ON_KINK * data.C)
    if moved.any() and (grown := on_spectrum(data, active, kappa, gamma)) is not None:
        gamma, b = grown
    polished = polish(data, active, kappa, gamma, b)
    if polished is not None and polished.violation < 1e-6:
        best.consider(Iterate(*polished.solution[:3]), polished.active.kink)
    else:
        best.consider(Iterate(gamma, kappa, b), kink)
