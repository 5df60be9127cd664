"""A CVXPY problem with names, and the one way to solve it.

A builder returns a `BuiltProblem`: the `cvxpy.Problem` itself, its variables, parameters and constraints by name,
and the objective that certifies its answers. `solve` tries the solvers in the order given, asks the *objective*
for the certificate of what each of them returned, and decides the status by that gap: a solver's "optimal" is
recorded, never believed.

Of a problem that its user changed (`BuiltProblem.with_`) the objective knows nothing, nor of any other `cvxpy.Problem`:
there the answer holds CVXPY's own values and multipliers, and its certificate is that of the compiled cone program
(`specmargin.problems.conic`).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np

from specmargin.exceptions import (
    InfeasibleError,
    InvalidInputError,
    InvalidTypeError,
    SolverError,
    SolverNotInstalledError,
)
from specmargin.labels import Labels, Targets
from specmargin.problems import conic
from specmargin.problems.changing import changed
from specmargin.problems.relabel import LabelData
from specmargin.results import CHANGED, Certificate, ConeProof, SolveResult, Status
from specmargin.typing import AnyArray, FloatArray

__all__ = ["BuiltProblem", "Recovered", "default_solvers", "solve"]

Constraint = Any


class Recovered(NamedTuple):
    """What a builder reads off a solved problem."""

    variables: dict[str, AnyArray]
    certificate: Certificate
    duals: Mapping[str, FloatArray] = MappingProxyType({})
    """Multipliers that the certificate rests on, by the names of the objective, where `variables` lack them."""


@dataclass(frozen=True, eq=False)
class BuiltProblem:
    """A CVXPY problem and the names of its parts.

    Parameters
    ----------
    name : str
        Name of the problem and its form.
    problem : cvxpy.Problem
        An ordinary problem, DPP in its parameters. CVXPY takes no constraint into a problem that was made: a changed
        one is a new one, see `with_`.
    objective : object
        The `specmargin.objectives` object that it was built from; `current_objective` is that of its answers.
    variables, parameters : mapping of str to cvxpy.Variable or cvxpy.Parameter
        Variables and parameters by the symbol of the builder's docstring. Parameters may be assigned new values between
        solves; the objective that certifies the answer follows.
    constraints : mapping of str to constraint or list of constraints
        Constraints by label.
    recover : callable
        Maps an objective to `Recovered` once the problem, as its builder made it, holds values.
    expressions : mapping of str to cvxpy.Expression
        Parts for constraints and terms of one's own: "decisions" (n,) of all samples, affine in the variables, and what
        the objective consists of. Forms without decisions, the duals, have none.
    """

    name: str
    problem: cp.Problem
    objective: Any
    variables: Mapping[str, cp.Variable]
    constraints: Mapping[str, Constraint]
    recover: Callable[[Any], Recovered]
    parameters: Mapping[str, cp.Parameter] = field(default_factory=dict)
    update: Callable[[Any, dict[str, float]], Any] = lambda objective, values: replace(objective, **values)
    has_optimum: bool = True
    """Whether the problem as it was built has an optimum, so that a solver that denies it has failed."""
    has_value: bool = True
    """Whether its optimal value is that which the certificate bounds."""
    derived: Callable[[Any], dict[str, AnyArray]] = lambda objective: {}
    """Maps an objective to what follows from the values of `variables` alone, whatever was added to the problem."""
    original: cp.Problem | None = None
    """The problem as its builder made it."""
    expressions: Mapping[str, cp.Expression] = field(default_factory=dict)
    terms: Mapping[str, cp.Expression] = field(default_factory=dict)
    """What `with_` has added to the objective, by name."""
    samples: Any = None
    """The features that an estimator is fitted on, where it built the problem."""
    positive: Any = None
    """The class whose decisions are positive, where an estimator built the problem of one class."""
    label_data: LabelData | None = None
    """What labels decide, for `relabel`; None where that is constant. The primal forms have it."""

    def __post_init__(self) -> None:
        if self.original is None:
            object.__setattr__(self, "original", self.problem)
        if not self.problem.is_dcp(dpp=True):
            if self.problem is self.original:
                raise AssertionError(f"{self.name} is not DPP; this is a bug in its builder.")
            raise InvalidInputError(
                f"{self.name} as it was changed is not convex by CVXPY's rules with its parameters (DPP): "
                f"{_not_dcp(self.problem)}; write the terms and constraints that were added otherwise."
            )
        object.__setattr__(self, "_held", _ids(self.problem))
        for label, constraint in self.constraints.items():
            for part in parts_of(constraint):
                part.set_label(label)

    def with_(
        self,
        constraints: Mapping[str, Constraint] | None = None,
        terms: Mapping[str, cp.Expression] | None = None,
        without: Collection[str] = (),
    ) -> BuiltProblem:
        """Return the problem with more constraints, more terms in its loss, or without some of its constraints.

        Parameters
        ----------
        constraints : mapping of str to constraint, optional
            Constraints by new labels, made of `variables`, `expressions` and variables of one's own.
        terms : mapping of str to expression, optional
            Convex terms by new names. They are added to the loss: subtracted where the problem is a maximisation.
        without : collection of str, default ()
            Labels of constraints that are taken out; their labels are free for `constraints`.

        Returns
        -------
        BuiltProblem
            A new one; this one stays as it is. Its certificates are those of the cone program.

        Raises
        ------
        ValueError
            If a label is taken, or one to be taken out is not there; if a part is not convex by CVXPY's rules, or has
            nothing to do with the problem.

        Examples
        --------
        >>> import cvxpy as cp, numpy as np, specmargin as sm
        >>> obj = sm.objectives.LapSVM(np.eye(3), None, sm.encode_labels([0, 1, -1]), gamma_A=0.1)
        >>> built = sm.problems.lapsvm_primal(obj)
        >>> changed = built.with_(constraints={"small": cp.abs(built.expressions["decisions"]) <= 0.5})
        >>> result = sm.solve(changed)
        >>> result.status.name, result.variables["f"][:2].round(3).tolist()
        ('OPTIMAL', [-0.5, 0.5])
        """
        return changed(self, dict(constraints or {}), dict(terms or {}), without)

    def relabel(self, labels: Labels | Targets) -> None:
        """Give the problem other labels in place, as many as it has: nothing is compiled anew.

        Any samples may be labelled, and with any signs and weights. Problems that `with_` makes share their labels with
        the one that they were made from, as they share its parameters. What was added to the problem stays as it is.

        Parameters
        ----------
        labels : Labels or Targets
            Labels of the same n samples, of which as many are labelled; numbers for `LapRLS`.

        Raises
        ------
        ValueError
            If another number of samples is labelled, or there are other classes; if the labels have weights and those
            that the problem was built from had none; or if the form holds its labels as constants, as all but the
            primal forms do: their quadratic forms, or cones, are products of what labels decide.

        Examples
        --------
        >>> import numpy as np, specmargin as sm
        >>> first, second = sm.encode_labels([0, 1, -1]), sm.encode_labels([-1, 1, 0])
        >>> built = sm.problems.lapsvm_primal(sm.objectives.LapSVM(np.eye(3), None, first, gamma_A=0.1))
        >>> for labels in (first, second):
        ...     built.relabel(labels)
        ...     (sm.solve(built).variables["f"].round(3) + 0.0).tolist()
        [-1.0, 1.0, 0.0]
        [0.0, 1.0, -1.0]
        """
        if self.label_data is None:
            raise InvalidInputError(
                f"{self.name} takes no other labels: it holds them as constants, or has the shape that they give it. "
                "Build it anew, or in its primal form (specmargin.problems.primal) where it has one."
            )
        self.label_data.assign(self.name, labels)

    def current_objective(self) -> Any:
        """Return the objective at the parameters' present values, and of the labels that the problem has now."""
        objective = self.objective if self.label_data is None else self.label_data.objective
        for name, parameter in self.parameters.items():
            if parameter.value is None:
                raise InvalidInputError(
                    f"the parameter {name!r} has no value; assign built.parameters[{name!r}].value."
                )
        values = {name: float(parameter.value) for name, parameter in self.parameters.items()}
        changed = {name: value for name, value in values.items() if value != getattr(objective, name)}
        return self.update(objective, changed) if changed else objective

    def is_as_built(self) -> bool:
        """Whether `problem` has the objective and the constraints of its builder, no fewer and no more."""
        return not self.changes()

    def is_changed_in_place(self) -> bool:
        """Whether the list of constraints is another one than that of the problem when it was handed over."""
        held: set[int] = vars(self)["_held"]
        return _ids(self.problem) != held

    def changes(self) -> list[str]:
        """Return in parts_changed what of `problem` is not as its builder made it."""
        assert self.original is not None
        ours, theirs = self.original.objective, self.problem.objective
        added, missing = _ids(self.problem) - _ids(self.original), _ids(self.original) - _ids(self.problem)
        parts_changed = [f"constraints added: {len(added)}"] if added else []
        parts_changed += [f"constraints taken out: {len(missing)}"] if missing else []
        is_same = type(ours) is type(theirs) and ours.expr is theirs.expr
        return parts_changed if is_same else [*parts_changed, "another objective"]

    def added(self) -> dict[str, Constraint]:
        """Return the constraints that no builder made, by their label; those without one as added_0, added_1 ..."""
        assert self.original is not None
        known = _ids(self.original) | {part.id for held in self.constraints.values() for part in parts_of(held)}
        named: dict[str, Constraint] = {}
        for k, constraint in enumerate(one for one in self.problem.constraints if one.id not in known):
            label = f"added_{k}" if constraint.label is None else str(constraint.label)
            if label in named or label in self.constraints:
                raise InvalidInputError(f"two constraints have the label {label!r}; give the added one another label.")
            named[label] = constraint
        return named

    def duals(self) -> dict[str, FloatArray]:
        """Return the multipliers by the label of their constraint, of an added cone its parts one after the other."""
        values, held = {}, _ids(self.problem)
        for label, constraint in self.constraints.items():
            if any(part.id not in held for part in (constraint if isinstance(constraint, list) else [constraint])):
                continue  # taken out: what it holds is of another solve
            if isinstance(constraint, list):
                parts = [part.dual_value for part in constraint]
                if all(part is not None for part in parts):
                    values[label] = np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])
            elif constraint.dual_value is not None and not isinstance(constraint.dual_value, list):
                values[label] = np.asarray(constraint.dual_value, dtype=float)
        for label, constraint in self.added().items():
            parts = parts_of(constraint.dual_value)
            if all(part is not None for part in parts):
                whole = [np.asarray(part, dtype=float) for part in parts]
                values[label] = whole[0] if len(whole) == 1 else np.concatenate([np.ravel(part) for part in whole])
        return values


def parts_of(held: Any) -> list[Any]:
    """Return what is held under one label, such as constraints, as a list of them."""
    return held if isinstance(held, list) else [held]


def _ids(problem: cp.Problem) -> set[int]:
    return {constraint.id for constraint in problem.constraints}


def _not_dcp(problem: cp.Problem) -> str:
    parts = [problem.objective, *problem.constraints]
    return "; ".join(str(part) for part in parts if not part.is_dcp(dpp=True)) or str(problem)


_STATUS = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.OPTIMAL_INACCURATE: Status.OPTIMAL_INACCURATE,
    cp.USER_LIMIT: Status.MAX_ITER,
    cp.INFEASIBLE: Status.INFEASIBLE,
    cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
    cp.UNBOUNDED: Status.UNBOUNDED,
    cp.UNBOUNDED_INACCURATE: Status.UNBOUNDED,
}
_NOTHING = Certificate(primal_objective=math.inf, dual_objective=-math.inf)


def solve(
    built: BuiltProblem | cp.Problem,
    solver: str | Sequence[str] = "CLARABEL",
    *,
    tol: float = 1e-6,
    check: bool = False,
    **solver_params: Any,
) -> SolveResult:
    """Solve a problem and certify the answer.

    Parameters
    ----------
    built : BuiltProblem or cvxpy.Problem
        Problem from one of the builders of `specmargin.problems`, changed or not, or any convex problem of CVXPY.
    solver : str or sequence of str, default "CLARABEL"
        Any installed CVXPY solver. A sequence is an explicit order of fallback: the next one is tried when a
        solver fails or its answer is not certified to `tol`. The best answer is returned.
    tol : float, default 1e-6
        Relative gap to which the certificate must prove the answer for it to be called OPTIMAL.
    check : bool, default False
        Raise where there is no usable answer, instead of returning a result that says so.
    **solver_params
        Passed on to ``cvxpy.Problem.solve``.

    Returns
    -------
    SolveResult
        ``solver`` names who answered, ``attempts`` everyone who was asked and how that ended. Of a problem that was
        changed, or was not made here, variables and multipliers are CVXPY's own, by their names and labels, and the
        certificate is that of the cone program (`Certificate.kind`).

    Raises
    ------
    SolverNotInstalledError
        If a named solver is not installed.
    InfeasibleError, SolverError
        With ``check=True``: the problem is infeasible or unbounded, or every solver failed. ``.result`` holds
        what is known.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> labels = sm.encode_labels([0, 0, 1, 1])
    >>> result = sm.solve(sm.problems.rmm(sm.objectives.RMM(X @ X.T, labels, C=1.0)))
    >>> result.certificate.is_optimal(1e-6), result.solver
    (True, 'CLARABEL')
    """
    order = [solver] if isinstance(solver, str) else list(solver)
    if not order:
        raise InvalidInputError("solver is an empty sequence; name at least one solver, e.g. 'CLARABEL'.")
    for name in order:
        _require(name)
    objective: Any = None
    attempt: Callable[..., SolveResult] = _of_cones
    if isinstance(built, cp.Problem):
        conic.require_convex(built)
    else:
        attempt, objective = _attempt, built.current_objective()
    attempts: list[str] = []
    best: SolveResult | None = None
    problem = built if isinstance(built, cp.Problem) else built.problem
    values = None
    for name in order:
        result = attempt(built, objective, name.upper(), tol, solver_params)
        attempts.append(f"{result.solver}: {result.message}")
        if best is None or _rank(result) < _rank(best):
            best, values = result, problem.solution
        if result.status is Status.OPTIMAL:
            break
    assert best is not None
    if best.status.has_solution and problem.solution is not values:
        problem.unpack(values)  # the variables hold the answer that is returned, not that of the last solver
    best = replace(best, attempts=tuple(attempts))
    if check and not best.status.has_solution:
        raise _error(best)
    return best


def default_solvers() -> tuple[str, ...]:
    """Return the order of solvers that the estimators use when none is named: Clarabel, then ECOS if installed.

    ECOS has no wheels for Python 3.13 and later.

    Examples
    --------
    >>> default_solvers()[0]
    'CLARABEL'
    """
    return tuple(name for name in ("CLARABEL", "ECOS") if name in cp.installed_solvers())


@cache  # CVXPY tries to import all solvers that it knows of
def _require(name: str) -> None:
    installed = cp.installed_solvers()
    if not isinstance(name, str) or name.upper() not in installed:
        raise SolverNotInstalledError(
            f"the solver {name!r} is not installed or not known to CVXPY; installed are {installed}. "
            f"Install it, or pass solver='CLARABEL'."
        )


def _rank(result: SolveResult) -> tuple[bool, float, float]:
    """Return what is smaller of the better answer: whether there is none, its gap or violation, its violation."""
    certificate = result.certificate
    gap, outside = certificate.relative_gap, certificate.primal_residual
    distance = gap if 0 <= gap < math.inf else math.inf  # negative, of an objective: nothing is proved
    if certificate.kind == "objective":  # a gap at a point that was made feasible
        return not result.status.has_solution, distance, 0.0
    return not result.status.has_solution, max(distance, outside), outside


def _attempt(
    built: BuiltProblem, objective: Any, name: str, tol: float, solver_params: Mapping[str, Any]
) -> SolveResult:
    """Run one solver; its failure becomes a result like any other."""
    start, problem = time.perf_counter(), built.problem
    if built.is_changed_in_place():
        raise InvalidInputError(
            f"the list of constraints of {built.name} was changed in place, which CVXPY may ignore; make a new "
            "problem, built.with_(constraints={'name': new})."
        )
    if not built.is_as_built():
        return _of_changed(built, objective, name, tol, solver_params)
    answer = _failed(built.name, name, "failed")
    try:
        with _heard(name, solver_params):
            problem.solve(solver=name, **{"canon_backend": conic.backend_for(problem), **solver_params})
    except cp.SolverError as error:
        return replace(answer, message=f"failed ({error})", seconds=time.perf_counter() - start)
    reported = str(problem.status)
    status = _STATUS.get(reported, Status.FAILED)
    n_iter = int(getattr(problem.solver_stats, "num_iters", None) or 0)
    if status in (Status.INFEASIBLE, Status.UNBOUNDED) and built.has_optimum:
        reported, status = f"failed (said {reported} of a problem that has an optimum)", Status.FAILED
    answer = replace(answer, status=status, message=reported, n_iter=n_iter)
    if status.has_solution and all(_is_finite(variable.value) for variable in problem.variables()):
        duals = built.duals()
        if not all(_is_finite(multipliers) for multipliers in duals.values()):
            return replace(answer, status=Status.FAILED, message=f"failed ({reported}, multipliers are not finite)")
        recovered = built.recover(objective)
        status = recovered.certificate.status(tol, Status.MAX_ITER if status is Status.MAX_ITER else None)
        raw = {name: np.asarray(variable.value) for name, variable in built.variables.items()}
        answer = replace(
            answer,
            status=status,
            variables={**raw, **recovered.variables},
            duals={**duals, **recovered.duals},
            certificate=recovered.certificate,
            message=f"{reported}, relative gap {recovered.certificate.relative_gap:.1e}",
        )
    elif status.has_solution:
        answer = replace(answer, status=Status.FAILED, message=f"failed ({reported}, values are missing or not finite)")
    return replace(answer, seconds=time.perf_counter() - start)


def _of_cones(
    problem: cp.Problem, objective: None, name: str, tol: float, solver_params: Mapping[str, Any]
) -> SolveResult:
    """Run one solver on any problem; its certificate is that of the cone program."""
    try:
        with _heard(name, solver_params):
            answer = conic.solved(problem, "CVXPY problem", name, tol, solver_params)
    except cp.SolverError as error:
        return _failed("CVXPY problem", name, f"failed ({error})")
    return replace(answer, solver_version=_version(name))


def _of_changed(
    built: BuiltProblem, objective: Any, name: str, tol: float, solver_params: Mapping[str, Any]
) -> SolveResult:
    """Run one solver on a problem that its user changed: values and multipliers are those of the changed one."""
    answer = _of_cones(built.problem, None, name, tol, solver_params)
    message = f"{answer.message}; changed: {', '.join(built.changes())}"
    answer = replace(answer, problem=f"{built.name}{CHANGED}", message=message)
    if not answer.status.has_solution:
        return answer
    ours = {id(variable): symbol for symbol, variable in built.variables.items()}
    values: dict[str, AnyArray] = {symbol: np.asarray(one.value) for symbol, one in built.variables.items()}
    for variable in built.problem.variables():
        if id(variable) not in ours and variable.id not in _ids_of_variables(built.original):
            if variable.name() in values:
                raise InvalidInputError(f"two variables are called {variable.name()!r}; give yours another name.")
            values[variable.name()] = np.asarray(variable.value)
    derived = built.derived(objective)
    if isinstance(answer.log, ConeProof):
        columns = {name: at for name, at in answer.log.columns.items() if name in values and name not in derived}
        answer = replace(answer, log=replace(answer.log, columns=columns))
    return replace(answer, variables={**values, **derived}, duals=built.duals())


def _ids_of_variables(problem: cp.Problem | None) -> set[int]:
    return set() if problem is None else {variable.id for variable in problem.variables()}


def _failed(problem: str, solver: str, message: str) -> SolveResult:
    version = _version(solver)
    return SolveResult(problem, Status.FAILED, {}, _NOTHING, solver=solver, solver_version=version, message=message)


@contextlib.contextmanager
def _heard(name: str, solver_params: Mapping[str, Any]) -> Iterator[None]:
    """Run a solver without CVXPY's warning of inaccuracy, which is a status here; name parameters that it refuses."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        try:
            yield
        except TypeError as error:
            if not solver_params:
                raise
            raise InvalidTypeError(
                f"{name} does not take all of {dict(solver_params)} ({error}); an order of solvers can only be given "
                "parameters that each of them takes."
            ) from error


def _is_finite(value: Any) -> bool:
    return value is not None and bool(np.isfinite(value).all())


@cache
def _version(name: str) -> str:
    try:
        return importlib.metadata.version({"HIGHS": "highspy", "SCIPY": "scipy"}.get(name, name.lower()))
    except importlib.metadata.PackageNotFoundError:
        return ""


def _error(result: SolveResult) -> SolverError:
    tried = "; ".join(result.attempts)
    if result.status is Status.INFEASIBLE:
        return InfeasibleError(
            f"{result.problem} is infeasible ({tried}): its constraints contradict each other. Loosen the ones that "
            "were added or the bounds that were changed.",
            result,
        )
    if result.status is Status.UNBOUNDED:
        return InfeasibleError(
            f"{result.problem} is unbounded ({tried}). Put back the constraint that was taken out.", result
        )
    return SolverError(
        f"{result.problem} was not solved ({tried}). Try another solver or an order of them, e.g. "
        "solver=('CLARABEL', 'SCS'), a larger max_iter, or features of a common scale.",
        result,
    )
