"""Changes of a built problem: more constraints, fewer, more terms in its loss, each checked under its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import cvxpy as cp

from cvxproof.conic.hints import remedy
from specmargin.checks import among, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError

__all__ = ["changed"]


def changed(built: Any, constraints: dict[str, Any], terms: dict[str, Any], without: Collection[str] = ()) -> Any:
    """Return a built problem with more parts, each of which was checked under its name, and without others."""
    held = {**built.constraints, **built.added()}
    out = _taken_out(held, without)
    taken = {*held, *built.terms}.difference(without)
    for label in [*constraints, *terms]:
        if label in taken:
            raise InvalidInputError(f"{built.name} has a part {label!r} already; give the added one another name.")
    ours = {variable.id for variable in built.problem.variables()}
    parts = {**constraints, **terms}
    for label, part in parts.items():
        _require_part(built, label, part, convex=label in terms)
    _require_ties(built, ours, parts)
    for label, constraint in constraints.items():
        constraint.set_label(label)
    objective = built.problem.objective
    loss = sum(terms.values())
    if terms:
        maximised = isinstance(objective, cp.Maximize)
        objective = cp.Maximize(objective.expr - loss) if maximised else cp.Minimize(objective.expr + loss)
    kept = [constraint for constraint in built.problem.constraints if constraint.id not in out]
    return replace(
        built,
        problem=type(built.problem)(objective, [*kept, *constraints.values()]),
        constraints={label: one for label, one in built.constraints.items() if label not in without},
        terms={**built.terms, **terms},
    )


def _taken_out(held: Mapping[str, Any], without: Collection[str]) -> set[int]:
    """Return the ids of the constraints that are taken out, by the labels of all that there are."""
    if isinstance(without, str) or not isinstance(without, Collection):
        raise InvalidTypeError(f"without={shown(without)} must be a list of labels of constraints.")
    for label in without:
        if not isinstance(label, str) or label not in held:
            raise InvalidInputError(f"without={shown(label)} is no constraint; take {among(label, sorted(held))}")
    parts = (held[label] for label in without)
    return {part.id for one in parts for part in (one if isinstance(one, list) else [one])}


def _require_part(built: Any, label: str, part: Any, convex: bool) -> None:
    """Raise for a part of the wrong kind, or one that CVXPY's rules do not know to be convex."""
    kind = cp.Expression if convex else cp.constraints.constraint.Constraint
    if not isinstance(part, kind):
        raise InvalidTypeError(
            f"{label!r} is a {type(part).__name__}; pass {'an expression' if convex else 'a constraint'} of CVXPY, "
            f"made of built.variables or built.expressions ({sorted(built.expressions) or 'none in this form'})."
        )
    if convex and not part.is_scalar():
        raise InvalidInputError(f"the term {label!r} has the shape {part.shape}; add up its entries, cvxpy.sum(...).")
    if not (part.is_convex() if convex else part.is_dcp()):
        raise InvalidInputError(
            f"{label!r} is not convex by CVXPY's rules (DCP): {part}.{remedy([part])} "
            "https://www.cvxpy.org/tutorial/dcp has these."
        )


def _require_ties(built: Any, ours: set[int], parts: Mapping[str, Any]) -> None:
    """Raise for parts that share no variable with the problem, not even through one another."""
    known, open_parts = set(ours), dict(parts)
    while tied := [label for label, part in open_parts.items() if _variables(part) & known]:
        for label in tied:
            known |= _variables(open_parts.pop(label))
    if open_parts:
        raise InvalidInputError(
            f"{sorted(open_parts)} have none of the variables of {built.name}: make them of built.variables or "
            "built.expressions, of this problem and no other."
        )


def _variables(part: Any) -> set[int]:
    return {variable.id for variable in part.variables()}
