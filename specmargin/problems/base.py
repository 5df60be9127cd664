"""A CVXPY problem with names: `BuiltProblem`.

A builder returns one: the `cvxpy.Problem` itself, its variables, parameters, constraints and expressions by name, and
the objective that certifies its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np

from cvxproof.conic.values import dual_of, parts_of
from specmargin.checks import AsText
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, Targets
from specmargin.problems.changing import changed
from specmargin.problems.copying import dumped, loaded
from specmargin.problems.relabel import LabelData
from specmargin.results import Certificate
from specmargin.typing import AnyArray, FloatArray

__all__ = ["BuiltProblem", "Recovered"]

Constraint = Any


class Recovered(NamedTuple):
    """What a builder reads off a solved problem."""

    variables: dict[str, AnyArray]
    certificate: Certificate
    duals: Mapping[str, FloatArray] = MappingProxyType({})
    """Multipliers that the certificate rests on, by the names of the objective, where `variables` lack them."""


@dataclass(frozen=True, eq=False, repr=False)
class BuiltProblem(AsText):
    """A CVXPY problem and the names of its parts.

    It can be pickled and sent to other processes; a copy shares nothing with its origin.

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
    n_classes: int = 2
    """Number of classes, each of which has such a problem if there are more than two."""
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
        object.__setattr__(self, "_held", self.problem.constraints)
        for label, constraint in self.constraints.items():
            for part in parts_of(constraint):
                part.set_label(label)

    def __repr__(self) -> str:
        sense = "minimisation" if isinstance(self.problem.objective, cp.Minimize) else "maximisation"
        sizes = [f"{key} ({', '.join(map(str, x.shape))})" if x.shape else key for key, x in self.variables.items()]
        values = [key if p.ndim or p.value is None else f"{key} = {p.value:.4g}" for key, p in self.parameters.items()]
        labels = dict.fromkeys(one.label for one in self.problem.constraints if one.label)
        parts = {"constraints": labels, "terms added": list(self.terms), "parameters": values}
        named = [f"{kind} {', '.join(names)}" for kind, names in parts.items() if names]
        return "; ".join([f"{self.name}: {sense} over {', '.join(sizes)}", *named])

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
        """Give the problem other labels in place, as many as it has.

        Any samples may be labelled, and with any signs and weights. A small problem is not compiled anew; a large one
        is, in a fraction of the solver's time. Problems that `with_` makes share their labels with the one that they
        were made from, as they share its parameters. What was added to the problem stays as it is.

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
        return _ids(self.problem) != {constraint.id for constraint in vars(self)["_held"]}

    def __copy__(self) -> BuiltProblem:
        return replace(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return loaded, (type(self), dumped(self))

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

    def duals(self) -> dict[str, AnyArray]:
        """Return the multipliers by the label of their constraint, of an added cone its parts one after the other."""
        values, held = {}, _ids(self.problem)
        for label, constraint in self.constraints.items():
            if any(part.id not in held for part in (constraint if isinstance(constraint, list) else [constraint])):
                continue  # taken out: what it holds is of another solve
            if isinstance(constraint, list):
                parts = [part for part in map(dual_of, constraint) if part is not None]
                if len(parts) == len(constraint):
                    values[label] = np.concatenate([np.ravel(part) for part in parts])
            elif (dual := dual_of(constraint)) is not None and not isinstance(constraint.dual_value, list):
                values[label] = dual
        added = {label: dual_of(constraint) for label, constraint in self.added().items()}
        return values | {label: dual for label, dual in added.items() if dual is not None}


def _ids(problem: cp.Problem) -> set[int]:
    return {constraint.id for constraint in problem.constraints}


def _not_dcp(problem: cp.Problem) -> str:
    parts = [problem.objective, *problem.constraints]
    return "; ".join(str(part) for part in parts if not part.is_dcp(dpp=True)) or str(problem)
