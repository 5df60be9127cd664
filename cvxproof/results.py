"""What every solve returns: a status, the variables, the multipliers, and a certificate.

A `Certificate` is never copied from a solver. The *objective* recomputes it in numpy from the data: it repairs
the candidate until it is feasible, evaluates the primal and the dual objective there, and reports the gap that
is left. Weak duality then makes the gap a proof: no feasible point is better than the answer by more than it.

Call `result.certificate.is_optimal(tol)` before believing anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from enum import StrEnum
from html import escape
from types import MappingProxyType
from typing import Any, Literal

from cvxproof.checks import AsText
from cvxproof.exceptions import InvalidInputError
from cvxproof.typing import AnyArray, FloatArray, IntArray, Matrix

__all__ = [
    "CHANGED",
    "INACCURATE_GAP",
    "Certificate",
    "ConeProof",
    "History",
    "SolveResult",
    "Status",
]

CHANGED = ", changed"
"""End of the name of a CVXPY problem that its user has changed: no objective speaks of it."""
INACCURATE_GAP = 1e-2
"""Relative gap above which an answer is UNPROVED: it no longer fixes even the second digit of the objective."""
ZERO = 1e-10
"""Share of the size of its terms up to which the objective of a cone program counts as zero."""


def compared(primal: float, dual: float, scale: float, rounding: float = 0.0) -> float:
    """Return the size that a gap is relative to: the larger modulus of value and bound, or else `scale`.

    A value of zero has no relative error. Where value, bound and rounding are at most 1e-10 of the size of the
    objective's terms, the optimum counts as zero, and the gap is relative to that size.
    """
    size = max(abs(primal), min(abs(dual), 1e300))
    return scale if size + rounding <= ZERO * scale else size


class Status(StrEnum):
    """How a solve ended: what the certificate proves, never what a solver says.

    ===================  ============================================================================================
    status               meaning
    ===================  ============================================================================================
    OPTIMAL              relative gap, rounding included, of at most the solver's `tol`, supposing nothing
    CONDITIONAL          relative gap of at most `INACCURATE_GAP`, supposing what `Certificate.assumptions` names
    OPTIMAL_INACCURATE   relative gap above `tol`, but at most `INACCURATE_GAP` (1 %), supposing nothing
    UNPROVED             a point, but a relative gap above `INACCURATE_GAP`, or none: nothing worth the name is proved
    NUMERICAL            a point, but the arithmetic failed: a bound beyond its objective by more than rounding, NaN
    MAX_ITER             stopped by a limit on iterations, nodes or time; the gap says how far that got
    EARLY_STOPPED        stopped on purpose, before the optimum
    STATIONARY           non-convex: no descent from here; the global optimum may lie anywhere below
    INFEASIBLE           no point satisfies the constraints, supposing nothing
    UNBOUNDED            there is a feasible point from which the objective falls without end, supposing nothing
    FAILED               no usable point, and nothing is proved
    ===================  ============================================================================================

    Estimators warn of CONDITIONAL, OPTIMAL_INACCURATE, UNPROVED, NUMERICAL and MAX_ITER.
    """

    OPTIMAL = "optimal"
    CONDITIONAL = "conditional"
    OPTIMAL_INACCURATE = "optimal_inaccurate"
    UNPROVED = "unproved"
    NUMERICAL = "numerical"
    MAX_ITER = "max_iter"
    EARLY_STOPPED = "early_stopped"
    STATIONARY = "stationary"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    FAILED = "failed"

    @property
    def has_solution(self) -> bool:
        """Whether the result carries variables that can be used."""
        return self not in (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)


@dataclass(frozen=True, slots=True)
class Certificate(AsText):
    """Primal and dual objective at feasible points near a candidate, recomputed from the data.

    Parameters
    ----------
    primal_objective : float
        The objective, in the units of the objective's docstring, at a feasible point.
    dual_objective : float
        A bound on the optimum: from below when minimising, from above when maximising. Infinite where none is
        known (non-convex problems without a bound).
    primal_residual, dual_residual : float, default 0
        How far the candidate was from feasibility before it was repaired, relative to the data.
    complementarity : float, default 0
        Largest product of a multiplier and its slack, relative to the objective.
    sense : {"minimize", "maximize"}
        Direction of the primal problem.
    rounding : float, default 0
        Bound on how far both objectives together can be from those of exact arithmetic at the same points, >= 0. It is
        part of the gap, so that exact arithmetic can never find a larger one. Of a cone program it is also how far the
        objective, as CVXPY evaluates it, is from that of the program that it compiles.
    kind : {"objective", "cone program"}
        Source of it: the objective, or `certify` of any CVXPY problem. In the second case the answer is
        as the solver returned it, and is optimal only if it also satisfies the constraints.
    violations : mapping of str to float
        How far the answer is outside of each constraint, in the units of that constraint.
    assumptions : tuple of str
        What the bound supposes; empty if it holds without. With an assumption nothing is called optimal.
    attained : float, optional
        Value of a point that is proved to be feasible; None where none is known.
    scale : float, default 0
        Size of the terms of a cone program's objective, in units of its data: the sum of their moduli at the answer,
        where each column is at least as large as its right sides allow. It matters only where the optimum is zero.

    Examples
    --------
    >>> c = Certificate(primal_objective=2.0, dual_objective=1.9999998)
    >>> c.is_optimal(1e-6), c.is_optimal(1e-8)
    (True, False)
    >>> Certificate(2.0, 1.9999998, rounding=1e-5).is_optimal(1e-6)
    False
    >>> print(c)
    optimum 2 within 2e-07, proved; constraints hold to 0
    """

    primal_objective: float
    dual_objective: float
    primal_residual: float = 0.0
    dual_residual: float = 0.0
    complementarity: float = 0.0
    sense: Literal["minimize", "maximize"] = "minimize"
    rounding: float = 0.0
    kind: Literal["objective", "cone program"] = "objective"
    violations: Mapping[str, float] = field(default_factory=dict, hash=False)
    assumptions: tuple[str, ...] = ()
    attained: float | None = None
    scale: float = 0.0

    @property
    def violation(self) -> float:
        """The largest violation of a constraint."""
        return max(self.violations.values(), default=0.0)

    @property
    def gap(self) -> float:
        """Primal minus dual objective (dual minus primal when maximising) plus what rounding may have hidden.

        A negative gap contradicts weak duality: something is wrong, and nothing is proved. In the certificate of a cone
        program the primal objective is that of a point which may be a little infeasible: either sign is a distance.
        """
        gap = self.primal_objective - self.dual_objective
        if self.kind == "cone program":
            return abs(gap) + self.rounding
        return (gap if self.sense == "minimize" else -gap) + self.rounding

    @property
    def relative_gap(self) -> float:
        """The gap over the larger of the two objectives' moduli; over `scale` where the optimum is zero.

        It counts as zero where both moduli, with `rounding`, are at most 1e-10 of `scale`.
        """
        gap = self.gap
        if not math.isfinite(gap):
            return math.inf if gap == math.inf else math.nan
        size = compared(self.primal_objective, self.dual_objective, self.scale, self.rounding)
        return gap / size if size > 0 else gap

    @property
    def described(self) -> str:
        """The gap, what it is relative to, and what it supposes, in words.

        Examples
        --------
        >>> Certificate(2.0, 1.9999998).described
        'gap 2.0e-07, 1.0e-07 of the objective'
        """
        size = compared(self.primal_objective, self.dual_objective, self.scale, self.rounding)
        is_zero = max(abs(self.primal_objective), abs(self.dual_objective)) < size
        of = f"the size of the objective's terms, {self.scale:.1e}" if is_zero else "the objective"
        supposes = f"supposing {'; '.join(self.assumptions)}: " if self.assumptions else ""
        return f"{supposes}gap {self.gap:.1e}, {self.relative_gap:.1e} of {of}"

    def is_optimal(self, tol: float = 1e-6) -> bool:
        """Whether the gap proves optimality to the relative tolerance `tol`, supposing nothing.

        A negative gap contradicts weak duality and counts as no proof; so does NaN.
        """
        return self.status(tol) is Status.OPTIMAL

    def __str__(self) -> str:
        value, gap, upwards = self.primal_objective, self.gap, self.sense == "minimize"
        violation = self.violation if self.kind == "cone program" else self.primal_residual
        how = f"supposing {' and '.join(self.assumptions)}, which is not proved" if self.assumptions else "proved"
        if self.status(INACCURATE_GAP) in (Status.OPTIMAL, Status.CONDITIONAL):
            digits = 6
            if value and gap:  # enough for their rounding not to hide the gap
                digits = min(17, max(6, math.floor(math.log10(abs(value))) - math.floor(math.log10(gap)) + 2))
            text = f"{value:.{digits}g}"
            sentence = f"optimum {text} within {rounded(gap + abs(value - float(text)), 2, up=True)}, {how}"
        elif math.isfinite(gap) and gap >= 0:
            bound = self.dual_objective + (-self.rounding if upwards else self.rounding)
            at = f"at {'least' if upwards else 'most'} {rounded(bound, 6, up=not upwards)}"
            sentence = f"objective {value:.6g}; the optimum is {at}, {how}"
        elif gap == math.inf:
            sentence = f"objective {value:.6g}; no bound on the optimum is known"
        else:
            sentence = f"nothing is proved: objective {value:.6g}, bound {self.dual_objective:.6g}"
        return f"{sentence}; constraints hold to {rounded(violation, 2, up=True)}"

    def status(self, tol: float, stopped: Status | None = None) -> Status:
        """Return the name that the gap deserves; every convex solver takes it from here.

        Parameters
        ----------
        tol : float
            Relative gap up to which an answer is OPTIMAL.
        stopped : Status, optional
            MAX_ITER where a limit ended the solver: the status of an answer that is not proved to `tol`.

        Examples
        --------
        >>> Certificate(1.0, 0.999).status(tol=1e-6).name, Certificate(1.0, 0.5).status(tol=1e-6).name
        ('OPTIMAL_INACCURATE', 'UNPROVED')
        >>> Certificate(1.0, 1.5).status(tol=1e-6).name  # a "lower bound" above an attained objective
        'NUMERICAL'
        """
        gap = self.relative_gap
        if math.isnan(gap) or gap < 0:
            return Status.NUMERICAL
        # What is at most `tol` at an optimum; of a residual that is NaN nothing is known, and max keeps its first.
        distance = gap if self.kind == "objective" else max(self.primal_residual, gap)
        if distance <= tol and not self.assumptions:
            return Status.OPTIMAL
        if stopped is not None and not distance <= tol:
            return stopped
        if not distance <= INACCURATE_GAP:
            return Status.UNPROVED
        return Status.CONDITIONAL if self.assumptions else Status.OPTIMAL_INACCURATE


def rounded(number: float, digits: int, up: bool) -> str:
    """Return a number with a few digits, rounded up or down, for bounds that stay bounds."""
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal_from_float(number)):.{digits}g}"


@dataclass
class History:
    """One list per recorded quantity, all of one length: the iterations.

    Examples
    --------
    >>> h = History()
    >>> h.record(objective=3.0, gradient=1.0); h.record(objective=2.0, gradient=0.1)
    >>> len(h), h["objective"]
    (2, [3.0, 2.0])
    """

    columns: dict[str, list[float]] = field(default_factory=dict)

    def record(self, **values: float) -> None:
        """Append one iteration; every call must name the same quantities."""
        if self.columns and self.columns.keys() != values.keys():
            raise InvalidInputError(
                f"History has the columns {sorted(self.columns)}, but {sorted(values)} were recorded; "
                "record every quantity in every iteration (nan where it is not known)."
            )
        numbers = {name: float(value) for name, value in values.items()}
        for name, number in numbers.items():
            self.columns.setdefault(name, []).append(number)

    def __getitem__(self, name: str) -> list[float]:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))


@dataclass(frozen=True, eq=False, repr=False)
class ConeProof:
    """The cone program that a CVXPY problem was compiled to, an answer, and the multipliers that bound its optimum.

        minimise  x'P x / 2 + q'x + d   subject to   A x + s = b,  s in K

    Parameters
    ----------
    P, A : sparse matrix of shape (n, n), (m, n)
        Quadratic objective, and the rows of the constraints.
    q, b : ndarray of shape (n,), (m,)
        Linear objective, and right sides.
    d : float
        Constant of the objective.
    sign : {1, -1}
        -1 if the problem is a maximisation.
    cones : tuple of (str, ndarray of int, tuple of float)
        Kind, rows (count, length) and parameters of equal cones: "zero", "nonnegative", "second_order", "semidefinite"
        (order, and 1 where the lower triangle is packed, else 0), "exponential" (places of x, y and z), "power"
        (exponents).
    x : ndarray of shape (n,)
        Answer.
    z, xh : ndarray of shape (m,), (n,)
        Multipliers in the dual cone, and the point of the bound.
    radius : float
        The bound supposes |x' - x| <= radius (1 + |x|) in columns without bounds; 0 if it holds without.
    names : tuple of str
        Labels of the problem's constraints.
    owner : ndarray of int, (m,)
        Constraint of each row by its place in `names`; -1 for rows that CVXPY added.
    added : float
        How far `x` is outside of rows that CVXPY added.
    columns : mapping of str to ndarray of int
        Places in `x` of the entries of the problem's variables.

    Examples
    --------
    >>> import cvxpy as cp, cvxproof
    >>> x = cp.Variable(2, name="x")
    >>> cvxproof.solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])).log
    ConeProof: 2 columns, 2 rows in 2 cones
    """

    P: Matrix
    q: FloatArray
    A: Matrix
    b: FloatArray
    d: float
    sign: float
    cones: tuple[tuple[str, IntArray, tuple[float, ...]], ...]
    x: FloatArray
    z: FloatArray
    xh: FloatArray
    radius: float
    names: tuple[str, ...]
    owner: IntArray
    added: float
    columns: Mapping[str, IntArray]

    def __repr__(self) -> str:
        count = sum(len(rows) for _, rows, _ in self.cones)
        return f"ConeProof: {len(self.q)} columns, {len(self.b)} rows in {count} cones"


@dataclass(frozen=True, eq=False)
class SolveResult(AsText):
    """The answer of a solver, and the evidence for it.

    Parameters
    ----------
    problem : str
        Name of the problem, e.g. ``"LapSVM dual"``.
    status : Status
        Ours: decided by the certificate, not by the solver's own word.
    variables : mapping of str to array
        Variables by the symbol of the objective's docstring.
    certificate : Certificate
        Recomputed from the data by the objective.
    duals : mapping of str to array
        Multipliers by the label of their constraint.
    history : History
        What the solver recorded per iteration; empty where the solver tells nothing.
    solver : str
        Name of the solver that answered, e.g. ``"CLARABEL"`` or ``"factorized"``.
    solver_version, message : str
        Version of the solver; its own last word.
    n_iter : int
        Iterations, 0 where the solver has none.
    seconds : float
        Wall time of the solve, including the construction by CVXPY where that applies.
    attempts : tuple of str
        Every solver that was tried, in order, with how it ended.
    log : ConeProof or another log, optional
        The proof of the bound: of a problem that was changed in CVXPY, or of any other one, always; of a search over
        labels where it was asked for.
    contradiction : Contradiction, optional
        Constraints of an infeasible problem that have no common point.
    """

    problem: str
    status: Status
    variables: Mapping[str, AnyArray]
    certificate: Certificate
    duals: Mapping[str, FloatArray] = field(default_factory=dict)
    history: History = field(default_factory=History)
    solver: str = ""
    solver_version: str = ""
    message: str = ""
    n_iter: int = 0
    seconds: float = math.nan
    attempts: tuple[str, ...] = ()
    log: Any = None
    contradiction: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", MappingProxyType(dict(self.variables)))
        object.__setattr__(self, "duals", MappingProxyType(dict(self.duals)))

    def __getstate__(self) -> dict[str, Any]:
        # A mapping proxy cannot be pickled, and estimators that keep results must be; skops takes a status for a text.
        plain = {"status": str(self.status), "variables": dict(self.variables), "duals": dict(self.duals)}
        return {**self.__dict__, **plain}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restored: dict[str, Callable[[Any], Any]]
        restored = {"status": Status, "variables": MappingProxyType, "duals": MappingProxyType}
        for name, value in state.items():
            object.__setattr__(self, name, restored[name](value) if name in restored else value)

    def __repr__(self) -> str:
        solver = " ".join(part for part in (self.solver, self.solver_version) if part) or "no solver"
        return (
            f"{self.problem}: {self.status.name}, relative gap {self.certificate.relative_gap:.1e}, "
            f"{self.n_iter} iterations, {solver}"
        )

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}<pre>{escape(str(self.certificate))}</pre>"
