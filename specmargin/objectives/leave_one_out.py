r"""Decisions at labelled samples whose labels were withheld: leave-one-out and folds of manifold-regularised models.

The deformed kernel G of `specmargin.objectives.LapSVM` is made of all samples and of no label. A labelled sample that
is left out stays as an unlabelled one, so that G stays, too, but for its row and column: what the literal procedure
would refit with n samples is a problem of l - 1 unknowns.

**LapRLS** (`RidgePath`). At a fixed ratio r = gamma_I / gamma_A let G belong to gamma_A = 1. Then for every gamma_A

    (G + gamma_A I) v + b = y,   1'v = 0,   v = M y,   M = B diag(1 / (w + gamma_A)) B',

where the columns of B are an orthonormal basis of the complement of 1 in which B'GB = diag(w) (without an intercept:
the eigenvectors of G). Leaving out the samples F gives them the decisions

    y_F - M_FF^-1 v_F,   for one sample y_i - v_i / M_ii:

exact: it is the residual that makes the multipliers v_F zero, as if F had no labels. One eigendecomposition serves
all gamma_A and all classes.

**Other losses** (`refitted`) are solved again without the rows and columns of F, but a sample that is no support
vector changes nothing when it leaves. For the squared hinge `squared_hinge_leave_one_out` first tries the formula above
on the active set, which is the answer if the active set stays.

The criteria `nll`, `squared_error`, `zero_one` and `RidgePath.gcv` make numbers of the decisions. A criterion that was
minimised over settings is no estimate of the error of the setting found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.linalg as sla
from scipy.special import logsumexp, softmax

from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "Fold",
    "Nearby",
    "RidgePath",
    "Solve",
    "counted",
    "nll",
    "one_left_out",
    "refitted",
    "solution_near",
    "squared_error",
    "squared_hinge_leave_one_out",
    "zero_one",
]

Solve: TypeAlias = Callable[[FloatArray, FloatArray], tuple[FloatArray, float]]
"""From (G, sign) of a training part to its (v, b), f = G v + b."""

Nearby: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray, float], "tuple[FloatArray, float] | None"]
"""From (G, sign, v, b), a start, to the (v, b) of (G, sign), or None."""

_MOST_GUESSES = 15
_PULL = 0.1  # c of `solution_near` over the mean eigenvalue of G; 0.01 to 1 are as good, 100 fails
_LOG_SCALES = (-7.0, 7.0)
_HALVINGS = 30


class Fold(NamedTuple):
    """Labelled samples to leave out, and those of them to look at, by their position among the labelled ones.

    Parameters
    ----------
    left_out : ndarray of int
        Samples whose labels are withheld.
    test : ndarray of int
        The part of them whose decisions count; usually all.
    """

    left_out: IntArray
    test: IntArray


def one_left_out(l: int) -> list[Fold]:
    """Return the l folds of leave-one-out.

    Examples
    --------
    >>> [fold.test.tolist() for fold in one_left_out(2)]
    [[0], [1]]
    """
    return [Fold(np.array([i]), np.array([i])) for i in range(l)]


def counted(sign: FloatArray, folds: Sequence[Fold]) -> BoolArray:
    """Return which tested samples say something: those whose class, and another one, was among the training labels.

    Where the only label of a class is left out, no setting could name the class, and the loss says nothing of them.

    Parameters
    ----------
    sign : ndarray of shape (l,) or (l, K)
        Signs of the labelled samples, one column per class with more than two.
    folds : sequence of Fold
        The folds.

    Returns
    -------
    ndarray of bool, of one entry per tested sample, fold by fold

    Examples
    --------
    >>> counted(np.array([1.0, -1.0, -1.0]), one_left_out(3)).tolist()
    [False, True, True]
    """
    own = _own(sign)
    counts = np.bincount(own, minlength=2)
    found = []
    for fold in folds:
        left = counts - np.bincount(own[fold.left_out], minlength=len(counts))
        found.append((left[own[fold.test]] > 0) & (np.count_nonzero(left) > 1))
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class RidgePath:
    """LapRLS at the labelled samples, for every gamma_A at one ratio gamma_I / gamma_A.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Deformed kernel at gamma_A = 1 and gamma_I = r: ``LapSVM(..., gamma_A=1, gamma_I=r).reduction.G``.
    sign : ndarray of shape (l,) or (l, K)
        Targets; one column per class.
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.

    Raises
    ------
    ValueError
        If the shapes differ or G is not finite.

    Examples
    --------
    >>> path = RidgePath(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0]))
    >>> path.leave_one_out([0.1, 10.0]).round(12).tolist()  # one label left: its own sign is all there is to say
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    G: FloatArray
    sign: FloatArray
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        G, sign = np.asarray(self.G, dtype=float), np.asarray(self.sign, dtype=float)
        l = len(sign)
        if G.shape != (l, l):
            raise ValueError(f"G has the shape {G.shape}, but sign speaks of {l} labelled samples; pass ({l}, {l}).")
        if not np.isfinite(G).all():
            raise ValueError("G holds NaN or infinite entries; check the kernel and the weights it was made with.")
        if l < 2:
            raise ValueError("leaving one of fewer than 2 labelled samples out leaves none; label more.")
        object.__setattr__(self, "G", (G + G.T) / 2)
        object.__setattr__(self, "sign", sign)

    @cached_property
    def _modes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Eigenvalues w >= 0 on the complement of 1, their vectors B (l, l - 1), and B'sign."""
        if self.fit_intercept:
            basis = sla.helmert(len(self.G)).T
            w, Q = sla.eigh(basis.T @ self.G @ basis, check_finite=False)
            B = basis @ Q
        else:
            w, B = sla.eigh(self.G, check_finite=False)
        return np.maximum(w, 0.0), B, B.T @ self.sign

    @property
    def unit(self) -> float:
        """Mean eigenvalue tr(H G H) / l of the centred G (of G itself without intercept): a scale for gamma_A."""
        return float(self._modes[0].sum()) / len(self.G)

    def solution(self, gamma_A: float) -> tuple[FloatArray, FloatArray]:
        """Return v, shaped like `sign`, and b, () or (K,): f = K X v + b with X of gamma_A = 1."""
        w, B, target = self._modes
        _check(gamma_A)
        v = B @ (target.T / (w + gamma_A)).T
        if not self.fit_intercept:
            return v, np.zeros(v.shape[1:])
        return v, np.asarray((self.sign - self.G @ v).mean(axis=0))

    def leave_one_out(self, gamma_As: Sequence[float] | FloatArray) -> FloatArray:
        """Return what the other labelled samples decide at each labelled sample, per gamma_A.

        Returns
        -------
        ndarray of shape (len(gamma_As), l) or (len(gamma_As), l, K)
        """
        w, B, target = self._modes
        squares, found = B**2, []
        for gamma_A in gamma_As:
            _check(gamma_A)
            weights = 1.0 / (w + gamma_A)
            v = B @ (target.T * weights).T
            with np.errstate(divide="ignore", invalid="ignore"):
                found.append(self.sign - (v.T / (squares @ weights)).T)
        return np.stack(found)

    def held_out(self, gamma_As: Sequence[float] | FloatArray, folds: Sequence[Fold]) -> FloatArray:
        """Return the decisions at the tested samples, fold by fold, by the others' labels, per gamma_A.

        Parameters
        ----------
        gamma_As : sequence of float
            Ambient weights, > 0.
        folds : sequence of Fold
            At least one label stays in each.

        Returns
        -------
        ndarray of shape (len(gamma_As), m) or (len(gamma_As), m, K)
            m tested samples in all folds together.
        """
        l = len(self.G)
        if all(len(left_out) == 1 for left_out, _ in folds):
            return self.leave_one_out(gamma_As)[:, np.concatenate([fold.test for fold in folds])]
        w, B, target = self._modes
        found = []
        for gamma_A in gamma_As:
            _check(gamma_A)
            half = B / np.sqrt(w + gamma_A)
            v = B @ (target.T / (w + gamma_A)).T
            parts = []
            for left_out, test in folds:
                _check_fold(left_out, l)
                # M_FF = R'R without squaring the condition number.
                R = sla.qr(half[left_out].T, mode="r", check_finite=False)[0][: len(left_out)]
                residual = sla.solve_triangular(R, v[left_out], trans="T", check_finite=False)
                residual = sla.solve_triangular(R, residual, check_finite=False)
                decisions = np.full_like(self.sign, np.nan)
                decisions[left_out] = self.sign[left_out] - residual
                parts.append(decisions[test])
            found.append(np.concatenate(parts))
        return np.stack(found)

    def gcv(self, gamma_As: Sequence[float] | FloatArray) -> FloatArray:
        """Return generalised cross-validation, mean(v^2) / mean(M_ii)^2, per gamma_A; classes are averaged.

        Leave-one-out's mean square with one M_ii for all, so that it depends on no rotation of the samples.
        """
        w, B, target = self._modes
        found = []
        for gamma_A in gamma_As:
            _check(gamma_A)
            weights = 1.0 / (w + gamma_A)
            v = (target.T * weights).T
            classes = 1 if v.ndim == 1 else v.shape[1]
            found.append((v**2).sum() / (classes * len(B)) / (weights.sum() / len(B)) ** 2)
        return np.array(found)


def refitted(
    G: FloatArray,
    sign: FloatArray,
    folds: Sequence[Fold],
    solve: Solve,
    *,
    full: tuple[FloatArray, float] | None = None,
    nearby: Nearby | None = None,
) -> FloatArray:
    """Return the decisions at the tested samples of one binary problem, by solving it without the samples left out.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Deformed kernel of the problem: the penalty is v'G v.
    sign : ndarray of shape (l,)
        In {-1, +1}.
    folds : sequence of Fold
        At least one label stays in each.
    solve : callable
        From (G, sign) of the training part to (v, b).
    full : tuple of (v, b), optional
        What `solve` says of all samples, where that is known.
    nearby : callable, optional
        Asked first: from (G, sign, v, b), where (v, b) solves the problem with the samples left out, to the solution
        without them, or None where it cannot tell (`solution_near`).

    Returns
    -------
    ndarray of shape (m,)
        Fold by fold.
    """
    v, b = solve(G, sign) if full is None else full
    f, found = G @ v + b, []
    for left_out, test in folds:
        _check_fold(left_out, len(G))
        # Without a multiplier to lose, the optimum stays what it was.
        if v[left_out].any():
            kept = np.delete(np.arange(len(G)), left_out)
            part, signs = G[np.ix_(kept, kept)], sign[kept]
            near = None if nearby is None else nearby(part, signs, v[kept], b)
            v_kept, b_kept = solve(part, signs) if near is None else near
            found.append(G[np.ix_(test, kept)] @ v_kept + b_kept)
        else:
            found.append(f[test])
    return np.concatenate(found)


def solution_near(
    G: FloatArray, sign: FloatArray, v: FloatArray, b: float, *, loss: str, fit_intercept: bool = True
) -> tuple[FloatArray, float] | None:
    """Return the solution for a hinge from a point close to it, exactly, or None where this ends nowhere.

    The optimum of the hinge is beta = clip(beta + c (1 - y f), 0, 1), beta = 2 y v, for any c > 0; that of the squared
    hinge v = y max(0, 1 - y f). Newton's method on these equations guesses who is at which bound and solves for
    the others; a guess that is confirmed is the optimum. Two or three guesses do when a sample was left out.

    Parameters
    ----------
    G, sign : ndarray of shape (l, l) and (l,)
        The problem: sum_i max(0, 1 - y_i f_i) + v'G v, f = G v + b, or half of the same with squares.
    v, b : ndarray of shape (l,), float
        The start; it need not be feasible.
    loss : {"hinge", "squared_hinge"}
        Which.
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.

    Returns
    -------
    v, b : ndarray of shape (l,), float
        Or None.
    """
    l, ridge = len(sign), float(loss == "squared_hinge")
    size = float(np.trace(G) - fit_intercept * G.sum() / l) / l
    if not size > 0:
        return None
    last: tuple[BoolArray, BoolArray] = np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    for _ in range(_MOST_GUESSES):
        beta, miss = 2.0 * sign * v, 1.0 - sign * (G @ v + b)
        if ridge:
            at_zero, at_one = miss <= 0, np.zeros(l, dtype=bool)
        else:
            at_zero = beta < -_PULL / size * miss
            at_one = (1.0 - beta < _PULL / size * miss) & ~at_zero
        free = np.flatnonzero(~at_zero & ~at_one)
        if np.array_equal(at_zero, last[0]) and np.array_equal(at_one, last[1]):
            off = np.abs(miss - ridge * sign * v)[free].max(initial=0.0)
            # Without a multiplier inside its bounds the intercept is an interval, from which `solve` is to pick.
            inside = ridge or not fit_intercept or ((beta > 1e-9) & (beta < 1.0 - 1e-9)).any()
            return (v, b) if inside and max(off, fit_intercept * abs(v.sum())) <= 1e-10 else None
        last, k = (at_zero, at_one), len(free)
        if k == 0 and fit_intercept:
            return None
        v = np.where(at_one, sign / 2.0, 0.0)
        A = np.ones((k + 1, k + 1))
        A[:k, :k] = G[np.ix_(free, free)]
        A[np.arange(k), np.arange(k)] += ridge
        A[k, k] = 0.0
        rhs = np.append((sign - G @ v)[free], -v.sum())
        try:
            found = np.linalg.solve(A, rhs) if fit_intercept else np.linalg.solve(A[:k, :k], rhs[:k])
        except np.linalg.LinAlgError:
            return None
        v[free], b = found[:k], float(found[k]) if fit_intercept else 0.0
    return None


def squared_hinge_leave_one_out(
    G: FloatArray,
    sign: FloatArray,
    solve: Solve,
    *,
    fit_intercept: bool = True,
    full: tuple[FloatArray, float] | None = None,
    nearby: Nearby | None = None,
) -> FloatArray:
    """Return the leave-one-out decisions of the squared hinge, solving again only where the active set changes.

    Within the active set E = {y f < 1} the loss is a square, and the formula of least squares says what leaving out i
    makes of v and b. If the others stay on their sides of the margin, that is the optimum; elsewhere `solve` is asked.

    Parameters
    ----------
    G, sign, solve, full, nearby
        As for `refitted`.
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.

    Returns
    -------
    ndarray of shape (l,)
    """
    v, b = full = solve(G, sign) if full is None else full
    f = G @ v + b
    active = v != 0
    E = np.flatnonzero(active)
    if len(E) < 2:
        return refitted(G, sign, one_left_out(len(G)), solve, full=full, nearby=nearby)
    A = G[np.ix_(E, E)] + np.eye(len(E))
    M = sla.cho_solve(sla.cho_factor(A), np.eye(len(E)))
    if fit_intercept:
        one = M.sum(axis=1)
        M -= np.outer(one, one) / one.sum()
    residual = v[E] / np.diag(M)
    # Column i: what v gains when sample E[i] is left out, and every decision.
    gain = -M * residual
    by_i = f[:, None] + G[:, E] @ gain
    if fit_intercept:
        by_i -= (A @ gain + np.diag(residual)).mean(axis=0)
    same = (sign[:, None] * by_i < 1) == active[:, None]
    same[E, np.arange(len(E))] = True
    stays = same.all(axis=0) & np.isfinite(by_i).all(axis=0)
    f[E] = by_i[E, np.arange(len(E))]
    changed = E[~stays]
    if len(changed):
        f[changed] = refitted(G, sign, [Fold(at, at) for at in changed[:, None]], solve, full=full, nearby=nearby)
    return f


def _own(sign: FloatArray) -> IntArray:
    """Position of each sample's class."""
    return (sign > 0).astype(np.intp) if sign.ndim == 1 else sign.argmax(axis=1)


def nll(decisions: FloatArray, sign: FloatArray) -> FloatArray:
    r"""Return the logistic (softmax) loss of decisions at the scale T > 0 that suits them best, per setting.

    .. math:: \min_{T > 0} \frac1m \sum_i -\log \frac{e^{T f_{i,y_i}}}{\sum_k e^{T f_{ik}}}

    With two classes the columns are -f and f. The loss is convex in T; its slope is bisected.

    Parameters
    ----------
    decisions : ndarray of shape (..., m) or (..., m, K)
        Of the same trailing shape as `sign`.
    sign : ndarray of shape (m,) or (m, K)
        True signs.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> bool(nll(np.array([9.0, -9.0]), np.array([1.0, -1.0])) < 1e-9)
    True
    >>> round(float(nll(np.array([-1.0, 1.0]), np.array([1.0, -1.0]))), 3)  # worse than chance: T = 0
    0.693
    """
    F = np.stack([-decisions, decisions], axis=-1) if sign.ndim == 1 else decisions
    own = _own(sign)[:, None]
    F = F - F.mean(axis=-1, keepdims=True)
    size = np.sqrt((F**2).mean(axis=(-2, -1), keepdims=True))
    F = F / np.where(size > 0, size, 1.0)
    right = np.take_along_axis(F, np.broadcast_to(own, (*F.shape[:-1], 1)), axis=-1)[..., 0]
    low, high = (np.full(F.shape[:-2], bound) for bound in _LOG_SCALES)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        p = softmax(np.exp(middle)[..., None, None] * F, axis=-1)
        rising = ((p * F).sum(axis=-1) - right).mean(axis=-1) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    T = np.exp((low + high) / 2)[..., None]
    loss = (logsumexp(T[..., None] * F, axis=-1) - T * right).mean(axis=-1)
    return np.minimum(loss, np.log(F.shape[-1]))  # T -> 0


def squared_error(decisions: FloatArray, sign: FloatArray) -> FloatArray:
    """Return the mean of (y - f)^2, over classes, too, per setting.

    Examples
    --------
    >>> float(squared_error(np.array([0.5, -1.0]), np.array([1.0, -1.0])))
    0.125
    """
    return np.asarray(((decisions - sign) ** 2).mean(axis=tuple(range(-sign.ndim, 0))))


def zero_one(decisions: FloatArray, sign: FloatArray) -> FloatArray:
    """Return the share of wrong classes, per setting; f > 0 names the second of two classes.

    Examples
    --------
    >>> float(zero_one(np.array([0.5, 1.0]), np.array([1.0, -1.0])))
    0.5
    """
    predicted = decisions > 0 if sign.ndim == 1 else decisions.argmax(axis=-1)
    return np.asarray((predicted != _own(sign)).mean(axis=-1))


def _check(gamma_A: float) -> None:
    if not (np.isfinite(gamma_A) and gamma_A > 0):
        raise ValueError(f"gamma_A={gamma_A!r} must be a positive number: without the ambient norm v is not unique.")


def _check_fold(left_out: IntArray, l: int) -> None:
    if len(left_out) >= l:
        raise ValueError(f"a fold leaves out all {l} labelled samples; leave at least one to train on.")
