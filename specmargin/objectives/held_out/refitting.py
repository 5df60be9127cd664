r"""Leave-one-out and folds of the hinge and the squared hinge, by refitting l unknowns as seldom as possible.

As in `specmargin.objectives.held_out.leave_one_out` the deformed kernel G stays but for the rows and columns of the
samples that are left out. `refitted` solves the rest again, unless no support vector is among them: then nothing
changes. `solution_near` finds the others from the optimum that is known. For single samples and the squared hinge see
`specmargin.objectives.held_out.principal_pivots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from specmargin.losses import get_loss
from specmargin.objectives.held_out.leave_one_out import Fold, check_fold
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["Intercept", "Nearby", "Solve", "of_training", "refitted", "solution_near"]

Solve: TypeAlias = Callable[..., tuple[FloatArray, float]]
"""From (G, sign) of a training part, and its weights if there are any, to its (v, b), f = G v + b."""

Nearby: TypeAlias = Callable[..., "tuple[FloatArray, float] | None"]
"""From (G, sign, v, b), a start, and the weights if there are any, to the (v, b) of (G, sign), or None."""

Intercept: TypeAlias = Callable[..., float]
"""From (sign, G v), and the weights if there are any, to b."""

_MOST_GUESSES = 15
_PENALTY = 0.1  # c of `solution_near` over the mean eigenvalue of G; 0.01 to 1 are as good, 100 fails


def refitted(
    G: FloatArray,
    sign: FloatArray,
    folds: Sequence[Fold],
    solve: Solve,
    *,
    full: tuple[FloatArray, float] | None = None,
    nearby: Nearby | None = None,
    intercept: Intercept | None = None,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return the decisions at the tested samples of one binary problem, by solving it without the samples left out.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Deformed kernel of the problem: the penalty is v'G v.
    sign : ndarray of shape (l,)
        Signs in {-1, +1}.
    folds : sequence of Fold
        Folds; at least one label stays in each.
    solve : callable
        Map from (G, sign) of the training part to (v, b).
    full : tuple of (v, b), optional
        What `solve` says of all samples, where that is known.
    nearby : callable, optional
        Asked first: from (G, sign, v, b), where (v, b) solves the problem with the samples left out, to the solution
        without them, or None where it cannot tell (`solution_near`).
    intercept : callable, optional
        The rule for an intercept that is not unique, from (sign, G v) of a training part: without samples that are no
        support vectors v stays, but there may be more intercepts to choose from.
    weights : ndarray of shape (l,), optional
        Weights of the losses, > 0. Then the callables are given those of the training part as their last argument.

    Returns
    -------
    ndarray of shape (m,)
        Fold by fold.
    """
    v, b = solve(G, sign, *of_training(weights)) if full is None else full
    f, decisions = G @ v, []
    for left_out, test in folds:
        check_fold(left_out, len(G))
        # Without a multiplier to lose, the optimum stays what it was.
        kept = np.delete(np.arange(len(G)), left_out)
        own = of_training(weights, kept)
        if v[left_out].any():
            part, signs = G[np.ix_(kept, kept)], sign[kept]
            near = None if nearby is None else nearby(part, signs, v[kept], b, *own)
            v_kept, b_kept = solve(part, signs, *own) if near is None else near
            decisions.append(G[np.ix_(test, kept)] @ v_kept + b_kept)
        else:
            decisions.append(f[test] + (b if intercept is None else intercept(sign[kept], f[kept], *own)))
    return np.concatenate(decisions)


def of_training(weights: FloatArray | None, kept: IntArray | slice = slice(None)) -> tuple[FloatArray, ...]:
    """Return the weights of some samples as the last argument of a callable; none where there are none."""
    return () if weights is None else (weights[kept],)


def solution_near(
    G: FloatArray,
    sign: FloatArray,
    v: FloatArray,
    b: float,
    weights: FloatArray | None = None,
    *,
    loss: str,
    fit_intercept: bool = True,
) -> tuple[FloatArray, float] | None:
    """Return the solution for a hinge from a point close to it, exactly, or None where this ends nowhere.

    The optimum of the hinge is beta = clip(beta + c (1 - y f), 0, 1), beta = 2 y v, for any c > 0; that of the squared
    hinge v = y max(0, 1 - y f). The weight of a loss takes the place of its 1 in clip, and multiplies that v. Newton's
    method on these equations guesses who is at which bound and solves for the others; a guess that is confirmed is the
    optimum. Two or three guesses do when a sample was left out.

    Parameters
    ----------
    G, sign : ndarray of shape (l, l) and (l,)
        The problem: sum_i max(0, 1 - y_i f_i) + v'G v, f = G v + b, or half of the same with squares.
    v, b : ndarray of shape (l,), float
        The start; it need not be feasible.
    weights : ndarray of shape (l,), optional
        Weights of the losses, > 0; ones where they are not given.
    loss : {"hinge", "squared_hinge"}
        Which. Of any other loss nothing is known here: None.
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.

    Returns
    -------
    v, b : ndarray of shape (l,), float
        Weights and intercept, or None.
    """
    power = get_loss(loss).slack_power
    if power not in (1, 2):
        return None
    l, ridge = len(sign), float(power - 1)
    caps = np.ones(l) if weights is None else weights
    size = float(np.trace(G) - fit_intercept * G.sum() / l) / l
    if not size > 0:
        return None
    last: tuple[BoolArray, BoolArray] = np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    for _ in range(_MOST_GUESSES):
        beta, residual = 2.0 * sign * v, 1.0 - sign * (G @ v + b)
        if ridge:
            at_zero, at_one = residual <= 0, np.zeros(l, dtype=bool)
        else:
            at_zero = beta < -_PENALTY / size * residual
            at_one = (caps - beta < _PENALTY / size * residual) & ~at_zero
        free = np.flatnonzero(~at_zero & ~at_one)
        if np.array_equal(at_zero, last[0]) and np.array_equal(at_one, last[1]):
            off = np.abs(residual - ridge * sign * v / caps)[free].max(initial=0.0)
            # Without a multiplier inside its bounds the intercept is an interval, from which `solve` is to pick.
            inside = ridge or not fit_intercept or ((beta > 1e-9 * caps) & (beta < (1.0 - 1e-9) * caps)).any()
            unbalanced = fit_intercept * abs(v.sum()) / min(1.0, caps.min())
            return (v, b) if inside and max(off, unbalanced) <= 1e-10 else None
        last, k = (at_zero, at_one), len(free)
        if k == 0 and fit_intercept:
            return None
        v = np.where(at_one, caps * sign / 2.0, 0.0)
        A = np.ones((k + 1, k + 1))
        A[:k, :k] = G[np.ix_(free, free)]
        A[np.arange(k), np.arange(k)] += ridge / caps[free]
        A[k, k] = 0.0
        rhs = np.append((sign - G @ v)[free], -v.sum())
        try:
            solution = np.linalg.solve(A, rhs) if fit_intercept else np.linalg.solve(A[:k, :k], rhs[:k])
        except np.linalg.LinAlgError:
            return None
        v[free], b = solution[:k], float(solution[k]) if fit_intercept else 0.0
    return None
