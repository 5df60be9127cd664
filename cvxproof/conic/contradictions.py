"""Which constraints of an infeasible problem contradict each other, attributes of variables included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from cvxproof.conic.attempts import feasible_point
from cvxproof.conic.attributes import attribute_constraints, named_constraints, told_apart, written_out
from cvxproof.conic.compiled import compiled
from cvxproof.conic.farkas import has_exact_point
from cvxproof.conic.rays import Ray, infeasible_rows

__all__ = ["Contradiction", "contradiction", "parts_by_name"]

_DRAWS, _FEW = 4, 10
_TRIES = 300
"""Sets of constraints that are looked at."""


@dataclass(frozen=True)
class Contradiction:
    """Constraints that are proved to have no common point.

    Parameters
    ----------
    names : tuple of str
        Their labels; empty where not even all of them are proved to contradict each other.
    unsettled : tuple of str
        Those of which neither is proved: that the others have a common point, or that they have none.
    """

    names: tuple[str, ...]
    unsettled: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.names:
            return "which constraints contradict each other is not proved"
        told = f"what contradicts each other is {', '.join(map(repr, self.names))}"
        if not self.unsettled:
            return f"{told}: none of it could be left out"
        return f"{told}; whether {', '.join(map(repr, self.unsettled))} could be left out is not proved"


def parts_by_name(problem: cp.Problem) -> dict[str, list[Any]]:
    """Return the constraints of a problem, with those that attributes of its variables are, by their names."""
    attributes = attribute_constraints(problem, shapes=True)
    labels = [(name, [one]) for name, one in named_constraints(problem).items()]
    written = written_out(problem, attributes, shapes=True) if attributes else None
    if written is None:
        return dict(labels)
    held = iter(written.constraints)
    return told_apart((name, [next(held) for _ in part]) for name, part in (*attributes.items(), *labels))


def contradiction(problem: cp.Problem) -> Contradiction:
    """Return constraints of a problem that contradict each other, none of which could be left out if that is proved.

    Those without a multiplier in a ray are left out, then halves of the others, then fewer, as far as a ray of what is
    left proves that it has no point. A constraint is needed if the others have a point.
    """
    search = _Search(parts_by_name(problem))
    search.run()
    return Contradiction(tuple(search.kept), tuple(name for name in search.kept if name not in search.needed))


class _Search:
    """What is left of the constraints, and which of them are needed."""

    def __init__(self, parts: dict[str, list[Any]]) -> None:
        self.kept, self.needed, self.tries = parts, set[str](), 0

    def run(self) -> None:
        """Leave out what can be."""
        if not self.leave_out([]):
            self.kept = {}
        size, before = len(self.kept) // 2 or 1, 0
        while size > 1 or before != len(self.kept):  # once more what neither was shown of, next to fewer others
            before, names = len(self.kept) if size == 1 else 0, list(self.kept)
            for k in range(0, len(names), size):
                left_out = [name for name in names[k : k + size] if name in self.kept and name not in self.needed]
                if left_out and self.tries < _TRIES:
                    self.leave_out(left_out)
            size = size // 2 or 1

    def leave_out(self, names: list[str]) -> bool:
        """Leave constraints out if the others are proved to have no point, and return whether they are."""
        those = self.support([name for name in self.kept if name not in names])
        if those:
            self.kept = {name: part for name, part in self.kept.items() if name in those}
        elif those is not None and len(names) == 1:
            self.needed |= set(names)
        return bool(those)

    def support(self, names: list[str]) -> set[str] | None:
        """Return which of some constraints have no point, none if all have one, or None if nothing is proved."""
        self.tries += 1
        parts = {name: self.kept[name] for name in names}
        problem = cp.Problem(cp.Minimize(0), [one for part in parts.values() for one in part])
        if not problem.variables():
            return {name for name in names if not all(one.value() for one in parts[name])}
        form = compiled(problem)
        owned = [name for name, part in parts.items() for _ in part]
        owner = form.owners(problem.constraints)
        # A constraint of many rows counts as one; where there are many constraints, more vertices are looked at.
        cost = 1 / np.bincount(owner + 1, minlength=len(owned) + 1)[owner + 1]
        draws = np.random.default_rng(0).exponential(size=(_DRAWS if len(names) > _FEW else 0, len(cost)))
        rays = [infeasible_rows(form.program, weights=cost * draw) for draw in (np.ones(len(cost)), *draws)]
        ray = min(filter(None, rays), key=lambda one: len(set(owner[one.z != 0])), default=None)
        if ray is None and has_exact_point(form.program):
            return set()
        point = feasible_point(form) if ray is None else ray
        if not isinstance(point, Ray):
            return None if point is None else set()
        used = {owned[k] for k in owner[point.z != 0] if k >= 0}
        smaller = self.support([name for name in names if name in used]) if len(used) < len(names) else used
        return smaller or set(names)
