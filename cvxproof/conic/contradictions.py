"""Which constraints of an infeasible problem contradict each other, attributes of variables included."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from cvxproof.conic.attempts import feasible_point
from cvxproof.conic.attributes import attribute_constraints, named_constraints, told_apart, written_out
from cvxproof.conic.compiled import Compiled, compiled
from cvxproof.conic.farkas import has_exact_point
from cvxproof.conic.rays import Ray, infeasible_rows
from cvxproof.typing import IntArray

__all__ = ["Contradiction", "compiled_parts", "contradiction", "parts_by_name"]

_FEW = 10
"""Constraints up to which all are begun with."""
_DRAWS, _ROUNDS, _LOOKS = 24, 6, 4
_WORK = 500_000
"""Entries of all programs that are solved for a beginning."""
_IDLE = 1e-5
"""Share of a ray below which a constraint counts as unused."""
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

    Where there are many constraints, few that have a ray are looked for first. Those without a multiplier in a ray are
    left out, then one after the other, as far as a ray of what is left proves that it has no point. A constraint is
    needed if the others have a point.
    """
    search = _Search(parts_by_name(problem))
    search.run()
    return Contradiction(tuple(search.kept), tuple(name for name in search.kept if name not in search.needed))


class _Search:
    """What is left of the constraints, and which of them are needed."""

    def __init__(self, parts: dict[str, list[Any]]) -> None:
        self.kept, self.needed, self.tries = parts, set[str](), 0

    def run(self) -> None:
        """Begin with few constraints, where that is proved of some, and leave out what can be."""
        if not any(self.leave_out(set(self.kept) - few) for few in _lightest(self.kept)) and not self.leave_out(set()):
            self.kept = {}
        before = 0
        while before != len(self.kept):  # once more what neither was shown of, next to fewer others
            before = len(self.kept)
            for name in list(self.kept):
                if name in self.kept and name not in self.needed and self.tries < _TRIES:
                    self.leave_out({name})

    def leave_out(self, names: set[str]) -> bool:
        """Leave constraints out if the others are proved to have no point, and return whether they are."""
        those = self.support([name for name in self.kept if name not in names])
        if those:
            self.kept = {name: part for name, part in self.kept.items() if name in those}
        elif those is not None and len(names) == 1:
            self.needed |= names
        return bool(those)

    def support(self, names: list[str]) -> set[str] | None:
        """Return which of some constraints have no point, none if all have one, or None if nothing is proved."""
        self.tries += 1
        parts = {name: self.kept[name] for name in names}
        if not any(one.variables() for part in parts.values() for one in part):
            return {name for name in names if not all(one.value() for one in parts[name])}
        form, owner = compiled_parts(parts)
        # A constraint of many rows counts as one.
        cost = 1 / np.bincount(owner, minlength=len(names) + 1)[owner]
        ray = infeasible_rows(form.program, weights=cost)
        if ray is None and has_exact_point(form.program):
            return set()
        point = feasible_point(form) if ray is None else ray
        if not isinstance(point, Ray):
            return None if point is None else set()
        used = {names[k] for k in owner[point.z != 0] if k < len(names)}
        smaller = self.support([name for name in names if name in used]) if len(used) < len(names) else used
        return smaller or set(names)


def compiled_parts(parts: dict[str, list[Any]]) -> tuple[Compiled, IntArray]:
    """Return constraints as they are compiled, and whose each row is, by its place; that of added rows is the last."""
    held = [one for part in parts.values() for one in part]
    form = compiled(cp.Problem(cp.Minimize(0), held))
    place = np.array([*(k for k, part in enumerate(parts.values()) for _ in part), len(parts)])
    return form, place[form.owners(held)]


def _lightest(parts: dict[str, list[Any]]) -> list[frozenset[str]]:
    """Return constraints that have multipliers in rays of a small weighted sum, the fewest first; nothing is proved.

    Weights are drawn, then each is divided by the constraint's share of the last ray: so a constraint of little use
    leaves it (Candes, Wakin and Boyd, Enhancing sparsity by reweighted l1 minimization, 2008).
    """
    form, owner = compiled_parts(parts) if len(parts) > _FEW else (None, None)
    if form is None or owner is None:
        return []
    program, names, n, rng = form.program, list(parts), len(parts), np.random.default_rng(0)
    (i, _, a), size = program.entries, np.full(n + 1, 1e-300)
    np.maximum.at(size, owner[i], np.abs(a))
    count, sets = np.bincount(owner, minlength=n + 1), dict[frozenset[str], None]()
    work = len(a) + sum(cone.rows.size * cone.rows.shape[1] for cone in program.parts)
    for draw in range(min(_DRAWS, _WORK // work)):
        weight = np.exp(2 * rng.standard_normal(n + 1)) / np.maximum(count, 1.0) ** (draw % 3)
        last: frozenset[str] = frozenset()
        with suppress(cp.SolverError):
            for _ in range(_ROUNDS):
                weight[n] = 0.0
                _, _, z = form.relaxed((size * weight)[owner, None], np.ones(1))
                use = np.bincount(owner, np.abs(z) * size[owner], n + 1)[:n]
                if not use.any():
                    break
                share = use / use.sum()
                few = frozenset(names[k] for k in np.flatnonzero(share > _IDLE))
                sets[few] = None
                if len(few) == len(last):
                    break
                last, weight = few, np.append(1 / (share + 10 * _IDLE), 0.0)
    return sorted((few for few in sets if few), key=len)[:_LOOKS]
