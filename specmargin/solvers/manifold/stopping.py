r"""Rules by which conjugate gradients stop: norms, or decisions of the classifier (section 4 of the primal paper).

`stopping_rule` returns a rule by its name; it is shown every iteration, and answers whether to stop.

Rules that look at a number, relative to its value at the start (figures 4, 13 and 14 of the paper draw them):

- ``"gradient"``, ``"preconditioned_gradient"``, ``"mixed_product"``: a norm has fallen to `tol`;
- ``"objective"``: the objective fell by no more than `tol` of itself in one iteration. One short step is
  enough, so that this stops earlier than its number suggests.

Rules that look at the decisions at every `check_every`-th iteration, by default round(sqrt(n) / 2) (Algorithms 2
and 3):

- ``"stability"``: fewer than 1.5 % of the decisions on the unlabelled samples have changed since the last check;
- ``"validation"``: the error on the validation samples is no sample better than at the best check before;
- ``"mixed"``: both;
- ``"safe"``: three checks in a row find 98.5 % of the decisions unchanged and far from changing, which have moved by
  less than 3 % of their distance from 0 since the last check; and both classes are among the decisions, and the
  mixed product is below 0.03 of its start. The decisions of the first iterations are often constant, hence
  stable, and wrong; and where the graph rules, labels creep along it for long before the next decision changes. A
  graph that is slower than any patience stays possible: only a certificate is a proof.

- ``"decisions"``: the gap proves that a share of the decisions are those of the optimum
  (`specmargin.objectives.proved_decisions`), by distances in the space of the kernel, or by those of the deformed
  kernel where the objective has been factorised. It is looked at whenever the mixed product has halved.

All of them stop, too, where nothing is left to do: at a relative mixed product of `tol`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["NORMS", "RULES", "DecisionRule", "NormRule", "ObjectiveRule", "ProvedRule", "Stagnation", "stopping_rule"]

NORMS = ("gradient", "preconditioned_gradient", "mixed_product")
RULES = (*NORMS, "objective", "stability", "validation", "mixed", "safe", "decisions")
"""The rules by name."""

_STABLE = 0.015  # share of changed decisions, Algorithm 2
_SAFE_CHECKS, _SAFE_PRODUCT, _SAFE_MOVE = 3, 0.03, 0.03

Quantities = Mapping[str, float]
"""What the history holds of one iteration: ``objective`` and the norms."""


def stopping_rule(
    name: str, tol: float, *, check_every: int, watched: IntArray, validation: IntArray, truth: BoolArray
) -> NormRule | ObjectiveRule | DecisionRule:
    """Return a fresh rule, which belongs to one class and remembers what it has seen.

    Its ``stops`` says whether to stop at the quantities of an iteration (0 is the start) and decision values (n,),
    ``confirms`` whether quantities that were computed anew bear out that convergence was reached, and ``early`` whether
    the last answer means less than that.

    Parameters
    ----------
    name : str
        One of `RULES`.
    tol : float
        Relative bound of a norm; see the module's docstring.
    check_every : int
        Iterations between two looks at the decisions.
    watched : ndarray of int
        The samples whose decisions have to be stable.
    validation : ndarray of int
        The validation samples.
    truth : ndarray of bool of shape (len(validation),)
        Whether they are positive.

    Examples
    --------
    >>> nothing = np.array([], dtype=int)
    >>> rule = stopping_rule(
    ...     "gradient", 0.1, check_every=1, watched=nothing, validation=nothing, truth=nothing.astype(bool)
    ... )
    >>> [rule.stops(t, {"gradient": g}, np.zeros(1)) for t, g in enumerate([5.0, 2.0, 0.4])]
    [False, False, True]
    """
    if name in NORMS:
        return NormRule(name, tol)
    if name == "objective":
        return ObjectiveRule(tol)
    return DecisionRule(name, NormRule("mixed_product", tol), check_every, watched, validation, truth)


@dataclass
class NormRule:
    """A norm has fallen to `tol` times its first value."""

    quantity: str
    tol: float
    first: float = math.nan
    early: bool = False

    def stops(self, iteration: int, now: Quantities, f: FloatArray, point: Any = None) -> bool:
        """Compare with the start."""
        if iteration == 0 and math.isnan(self.first):
            self.first = now[self.quantity]
        return self.confirms(now)

    def confirms(self, now: Quantities) -> bool:
        """Compare with the start."""
        return now[self.quantity] <= self.tol * self.first


@dataclass
class ObjectiveRule:
    """The objective fell by no more than `tol` of itself in one iteration."""

    tol: float
    before: float = math.inf
    early: bool = False

    def stops(self, iteration: int, now: Quantities, f: FloatArray, point: Any = None) -> bool:
        """Compare with the iteration before."""
        decrease, self.before = self.before - now["objective"], now["objective"]
        return decrease <= self.tol * abs(now["objective"])

    def confirms(self, now: Quantities) -> bool:
        """Nothing to compare: the fall of the objective is known from the line search."""
        return True


@dataclass
class ProvedRule:
    """A share of the decisions is proved; `proved` returns it at a point (alpha, b).

    It is asked for whenever the mixed product has halved: a proof costs as much as a few iterations.
    """

    converged: NormRule
    least: float
    proved: Callable[[FloatArray, float], float]
    early: bool = False
    next: float = math.inf

    def stops(self, iteration: int, now: Quantities, f: FloatArray, point: Any = None) -> bool:
        """Ask for the share where it is time to."""
        done, due = self.converged.stops(iteration, now, f), iteration > 0 and now["mixed_product"] <= self.next
        if due:
            self.next = 0.5 * now["mixed_product"]
        self.early = due and not done and self.proved(*point) >= self.least
        return done or self.early

    def confirms(self, now: Quantities) -> bool:
        """Whether the mixed product is as small as it was expected to be."""
        return self.converged.confirms(now)


@dataclass
class DecisionRule:
    """The decisions on unlabelled or validation samples have converged."""

    name: str
    converged: NormRule
    check_every: int
    watched: IntArray
    validation: IntArray
    truth: BoolArray
    early: bool = False
    before: FloatArray | None = None
    in_a_row: int = 0
    wrong: int = field(init=False)

    def __post_init__(self) -> None:
        self.wrong = len(self.validation)  # an error of 100 % before the first check

    def stops(self, iteration: int, now: Quantities, f: FloatArray, point: Any = None) -> bool:
        """Check the decisions where it is time to."""
        if self.converged.stops(iteration, now, f):
            self.early = False
            return True
        self.early = iteration > 0 and iteration % self.check_every == 0 and self._converged(now, f)
        return self.early

    def confirms(self, now: Quantities) -> bool:
        """Whether the mixed product is as small as it was expected to be."""
        return self.converged.confirms(now)

    def _converged(self, now: Quantities, f: FloatArray) -> bool:
        seen = f[self.watched]
        stable = False
        if self.before is not None:
            changed = (seen > 0) != (self.before > 0)
            if self.name == "safe":
                changed |= np.abs(seen - self.before) > _SAFE_MOVE * np.abs(seen)
            stable = float(np.mean(changed)) < _STABLE
        self.before = seen
        self.in_a_row = self.in_a_row + 1 if stable else 0
        wrong = int(((f[self.validation] > 0) != self.truth).sum())
        gained = wrong < self.wrong
        if gained:
            self.wrong = wrong
        if self.name == "stability":
            return stable
        if self.name == "validation":
            return not gained
        if self.name == "mixed":
            return stable and not gained
        both = bool((seen > 0).any() and not (seen > 0).all())
        return both and self.in_a_row >= _SAFE_CHECKS and now["mixed_product"] < _SAFE_PRODUCT * self.converged.first


@dataclass
class Stagnation:
    """Whether the iteration makes no headway, and whether that is for good.

    The norms of conjugate gradients rise and fall, in ill-conditioned problems for hundreds of iterations, while the
    objective falls all the time. If the smallest mixed product within `patience` iterations is hardly below that of
    all iterations before, conjugacy is lost and a new start is due. If the objective stands still, too, to its own
    roundings, there is nothing left to gain: `exhausted`.
    """

    patience: int = 200
    exhausted: bool = False
    best: float = math.inf
    recent: float = math.inf
    fallen: float = 0.0
    since: int = 0

    def update(self, mixed_product: float, decrease: float, objective: float) -> bool:
        """Take in an iteration and what the objective fell by in it; return whether there was no headway."""
        self.recent = min(self.recent, mixed_product)
        self.fallen += decrease
        self.since += 1
        if self.since < self.patience:
            return False
        stuck = self.recent > 0.9 * self.best
        self.exhausted = stuck and self.fallen <= 1e-16 * self.patience * abs(objective)
        self.best, self.recent, self.fallen, self.since = min(self.best, self.recent), math.inf, 0.0, 0
        return stuck
