r"""Leave-one-out of the squared hinge for all samples at once, by pivots on the solution of all.

With the weights c of the losses the optimum of sum_i c_i max(0, 1 - y_i f_i)^2 / 2 + v'G v / 2, f = G v + b, has
v_i = c_i (y_i - f_i) on the active set E = {y f < 1} and v_i = 0 elsewhere. For a set E that is held fixed this is a
linear system, and what changes when samples leave or enter E is told by one matrix Q, its principal pivot transform
(Tsatsomeros 2000, section 3): with q_i the slack y_i - f_i of a sample of E that has left it, or v_i of one that has
entered, and p_i the v_i of those in E and the slack of those outside,

    p = p0 - Q q,   q = 0 but on the samples Z that have changed sides, p = 0 on Z.

So one guess of the active set costs a system of |Z| unknowns; Z holds the sample that is left out and the few that
follow it. Where y_i times the slack is positive a sample is active: Newton's method takes those as its next guess,
for all left-out samples at once, until nothing changes. A guess that is confirmed is the optimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.objectives.held_out.leave_one_out import one_left_out
from specmargin.objectives.held_out.refitting import Nearby, Solve, of_training, refitted
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["squared_hinge_leave_one_out"]

_MOST_GUESSES = 15
"""Three or four do; those that cycle, one in a hundred, are refitted."""
_MOST_CHANGED = 100
"""Samples that change sides: beyond, the systems of all samples at once would take gigabytes."""
_OFF = 1e-10
"""Largest error of an optimality condition, in units of the margin, that still confirms a guess."""


def squared_hinge_leave_one_out(
    G: FloatArray,
    sign: FloatArray,
    solve: Solve,
    *,
    fit_intercept: bool = True,
    full: tuple[FloatArray, float] | None = None,
    nearby: Nearby | None = None,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return the leave-one-out decisions of the squared hinge, solving again only where the pivots end nowhere.

    Parameters
    ----------
    G, sign, solve, full, nearby, weights
        The same as for `specmargin.objectives.held_out.refitting.refitted`.
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.

    Returns
    -------
    ndarray of shape (l,)

    References
    ----------
    Tsatsomeros, Principal pivot transforms: properties and applications, Linear Algebra and its Applications 2000.
    """
    v, b = full = solve(G, sign, *of_training(weights)) if full is None else full
    f, active = G @ v + b, v != 0
    asked = np.flatnonzero(active)
    caps = np.ones(len(G)) if weights is None else weights
    pivots = _Pivots.at(G, sign, v, f, caps, fit_intercept)
    if pivots is not None:
        f[asked], known = pivots.left_out(asked)
        asked = asked[~known]
    if len(asked):
        folds = [fold for fold in one_left_out(len(G)) if fold.test[0] in asked]
        f[asked] = refitted(G, sign, folds, solve, full=full, nearby=nearby, weights=weights)
    return f


class _Pivots(NamedTuple):
    """The problem around its optimum."""

    G: FloatArray
    sign: FloatArray
    caps: FloatArray
    fit_intercept: bool
    active: BoolArray
    Q: FloatArray
    start: FloatArray
    """p0: v of the active samples, the slack of all others."""

    @classmethod
    def at(
        cls, G: FloatArray, sign: FloatArray, v: FloatArray, f: FloatArray, caps: FloatArray, fit_intercept: bool
    ) -> _Pivots | None:
        """Return the pivots around an optimum, None where rounding hides the active samples from one another."""
        active = v != 0
        E, rest = np.flatnonzero(active), np.flatnonzero(~active)
        if len(E) < 2:
            return None
        try:
            factor = sla.cho_factor(G[np.ix_(E, E)] + np.diag(1.0 / caps[E]))
        except np.linalg.LinAlgError:  # G is so large that the unit matrix is lost in it
            return None
        inverse = sla.cho_solve(factor, np.eye(len(E)))
        T = inverse @ G[np.ix_(E, rest)]
        S = G[np.ix_(rest, rest)] + np.diag(1.0 / caps[rest]) - G[np.ix_(rest, E)] @ T
        if fit_intercept:
            ones = inverse.sum(axis=1)
            total, towards = float(ones.sum()), 1.0 - T.sum(axis=0)
            inverse = inverse - np.outer(ones, ones) / total
            T += np.outer(ones, towards) / total
            S += np.outer(towards, towards) / total
        Q = np.empty_like(G)
        Q[np.ix_(E, E)], Q[np.ix_(E, rest)] = inverse, T
        Q[np.ix_(rest, E)], Q[np.ix_(rest, rest)] = -T.T, S
        return cls(G, sign, caps, fit_intercept, active, Q, np.where(active, v, sign - f))

    def left_out(self, samples: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the decisions at active samples of the problems without them, and which of these are optima."""
        decisions, known = np.zeros(len(samples)), np.zeros(len(samples), dtype=bool)
        own = np.arange(len(samples))
        changed = np.arange(len(self.sign)) == samples[:, None]
        for _ in range(_MOST_GUESSES):
            q = self._pivoted(changed)
            guess = (self.sign * np.where(changed, q, self.start - q @ self.Q.T) > 0) != self.active
            wrong = guess != changed
            wrong[np.arange(len(own)), samples[own]] = False
            done = ~wrong.any(axis=1)
            decisions[own[done]], known[own[done]] = self._checked(samples[own[done]], changed[done], q[done])
            changed = changed ^ wrong
            left = (
                ~done
                & (changed.sum(axis=1) <= _MOST_CHANGED)
                & (self._now_active(changed).any(axis=1) | (not self.fit_intercept))
            )
            own, changed = own[left], changed[left]
            if not len(own):
                break
        return decisions, known

    def _now_active(self, changed: BoolArray) -> BoolArray:
        return self.active != changed

    def _pivoted(self, changed: BoolArray) -> FloatArray:
        """Return q, row by row: zero but on the samples that have changed sides."""
        # Systems of different sizes are filled up by unit rows, so that one call solves all of them.
        order = np.argsort(~changed, axis=1, kind="stable")[:, : int(changed.sum(axis=1).max(initial=0))]
        there = np.take_along_axis(changed, order, axis=1)
        systems = np.where(there[:, :, None] & there[:, None, :], self.Q[order[:, :, None], order[:, None, :]], 0.0)
        systems += np.eye(order.shape[1]) * ~there[:, :, None]
        try:
            solved = np.linalg.solve(systems, np.where(there, self.start[order], 0.0)[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            solved = np.full(order.shape, np.nan)
        q = np.zeros(changed.shape)
        np.put_along_axis(q, order, np.where(there, solved, 0.0), axis=1)
        return q

    def _checked(self, samples: IntArray, changed: BoolArray, q: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the decisions at the samples left out, and where the conditions of an optimum hold, computed anew."""
        now = self._now_active(changed)
        v = np.where(now, np.where(changed, q, self.start - q @ self.Q.T), 0.0)
        f = v @ self.G
        own = np.where(now, self.caps, 0.0)
        if self.fit_intercept:
            f += ((own * (self.sign - f) - v).sum(axis=1) / own.sum(axis=1))[:, None]
        slack = self.sign - f
        broken = np.where(now, np.abs(slack - v / self.caps), self.sign * slack)
        broken[np.arange(len(samples)), samples] = 0.0
        backwards = np.where(now, -self.sign * v / self.caps, 0.0)
        unbalanced = self.fit_intercept * np.abs(v.sum(axis=1)) / min(1.0, self.caps.min())
        off = np.maximum(np.maximum(broken, backwards).max(axis=1, initial=0.0), unbalanced)
        return f[np.arange(len(samples)), samples], off <= _OFF
