r"""Full conformal prediction of regularised least squares (LapRLS, SpectralRidge): exact, without a calibration split.

A sample j whose label is not known is added to the l labelled samples with a candidate label, and every one of the
l + 1 gets a score: how badly the decision that the *others* make at it fits its label. Where the labelled samples and j
are exchangeable, the rank of j's score at its true label is uniform, so that the set of the candidates with

    p = (1 + number of i with score_i >= score_j) / (l + 1)  >  1 - level

holds the true label with a probability of at least `level`, whatever the model is worth: a bad one has large sets.

For least squares all scores of all candidates come from one inverse. With Q the upper left block of the inverse of
[[G + p I, 1], [1', 0]] (without an intercept that of G + p I), g the kernel between j and the labelled samples, k its
own, and a bar for the mean over the labelled samples,

    w = 1/l + Q (g - Gbar),   s = p (1 + 1/l) + k - 2 gbar + Gbarbar - (g - Gbar)'Q(g - Gbar),
    a_j = (t - w'y) / s,   a_i = (Q y)_i - w_i a_j,   M_ii = Q_ii + w_i^2 / s,   M_jj = 1 / s:

a are the multipliers of the augmented problem and M_ii the diagonal of its inverse, so that y_i - a_i / M_ii is the
decision of the others at i, and w'y that at j. `ConformalRidge` costs O(l^3) once, then O(l^2 + l K) per sample.

Classes are scored by the largest other decision minus the own one. Numbers are scored by |a_i| / sqrt(M_ii), the
studentised residual: by the Cauchy-Schwarz inequality it grows with t no faster at i than at j, so that the set is an
interval, and the interval is known exactly.

**Ties.** Copies, binary features and rows of zeros have equal scores, which rounding tells apart. A score counts as the
larger one unless the difference exceeds what rounding can have made of it, so that no p-value is too low. The bound is
proved: with S the centred G + p I (plus a multiple of 11', which centring takes out), and eps one number with

    |S x - r| <= eps |x|_1  for every system S x = r that was solved (measured), and for rows of the kernel that are
    known to 32 units in the last place of its largest entry,

a solution is wrong by no more than the row S^-1_i turns the residual into: |dx_i| <= eps m_i |x|_1, m_i = |S^-1_i|_1.
With W = 1 + |S^-1 (g - Gbar)|_1 and mu_i = m_i + |w_i| W / s that gives, to first order,

    |da_i| <= eps mu_i (|Q y|_1 + |a_j| W),   |dM_ii| <= eps mu_i^2,   |d(w'y)| <= eps W |Q y|_1,   |ds| <= eps W^2:

mu_i / M_ii is 1 plus the size of the weights by which the others decide at i, hence small where M_ii is, and errors of
1 / p at copies do not reach others. Terms of second order are below 5 % of these, or the scores count as equal; the
bounds are doubled for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.checks import real
from specmargin.exceptions import InvalidInputError
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["ConformalRidge", "label_sets", "level_rank"]

_BATCH = 2**22  # scores that are held at once
_WHOLE = 1e-9  # by which (1 - level) (l + 1) may differ from a whole number that it is meant to be
_UNIT = 2.0**-53
_KNOWN = 32.0 * _UNIT  # to which the entries of a kernel are known, in units of the largest
_SMALL = 0.05  # relative errors beyond which nothing is told apart
_ALIKE = 1e-9  # relative difference of leave-one-out errors that rounding can make


class _Solved(NamedTuple):
    """The labelled samples at one penalty: S and its factor, Q_ii, m_i, Q y, and the least eps."""

    S: FloatArray
    factor: Any
    diagonal: FloatArray
    sizes: FloatArray
    base: FloatArray
    eps: float


class _Added(NamedTuple):
    """What m samples change when one of them is added: w (m, l), s (m,), M_ii (m, l), and what bounds rounding."""

    w: FloatArray
    own: FloatArray
    s: FloatArray
    diagonal: FloatArray
    W: FloatArray
    mu: FloatArray
    eps: FloatArray


@dataclass(frozen=True, eq=False)
class ConformalRidge:
    """Regularised least squares at the labelled samples, and what a further sample changes.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Kernel of the labelled samples, positive semidefinite; the deformed one where a graph takes part
        (`specmargin.kernels.deformed_kernel`, at all samples and of no label).
    targets : ndarray of shape (l,) or (l, K)
        Signs of the labelled samples as in `specmargin.encode_labels`, a column per class with more than two; for
        `intervals` numbers, a column per output.
    penalty : float or sequence of float, default 1.0
        p > 0, weight of the norm against the sum of squares. Of several the one is taken, with each sample and
        candidate anew, whose decisions about all l + 1 samples by the others have the least squared error: it depends
        on them alike, as exchangeability wants.
    fit_intercept : bool, default True
        Whether there is an unpenalised intercept.

    Raises
    ------
    ValueError
        If shapes differ, numbers are not finite, or the penalty is not positive.

    References
    ----------
    Vovk, Gammerman & Shafer, Algorithmic learning in a random world, Springer 2005, sections 2.3 and 4.1. Burnaev &
    Nazarov, Conformalized kernel ridge regression, ICMLA 2016.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 4.0, 5.0, 6.0])
    >>> ridge = ConformalRidge(np.outer(x, x), np.array([-1.0, -1.0, 1.0, 1.0, 1.0]), penalty=0.1)
    >>> ridge.p_values(np.outer([0.5, 5.5], x), np.array([0.25, 30.25])).round(3).tolist()
    [[0.667, 0.167], [0.167, 0.667]]
    """

    G: FloatArray
    targets: FloatArray
    penalty: float | Sequence[float] = 1.0
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        G, targets = np.asarray(self.G, dtype=float), np.asarray(self.targets, dtype=float)
        l = len(targets)
        if G.shape != (l, l) or l == 0:
            raise InvalidInputError(
                f"G has the shape {G.shape}, but targets speak of {l} labelled samples; pass ({l}, {l}), l >= 1."
            )
        finite_numbers("G", G, "what a finite kernel and finite weights make")
        finite_numbers("targets", targets, "signs or numbers of the labelled samples")
        penalties = np.atleast_1d(np.asarray(self.penalty, dtype=float))
        if penalties.ndim > 1 or not penalties.size or not (np.isfinite(penalties) & (penalties > 0)).all():
            raise InvalidInputError(f"penalty={self.penalty!r} must be a positive number, or several.")
        object.__setattr__(self, "G", (G + G.T) / 2)
        object.__setattr__(self, "targets", targets)

    @cached_property
    def _centre(self) -> tuple[FloatArray, FloatArray]:
        """Mean of the targets and of the kernel's rows, where an intercept takes them out; else zero."""
        if not self.fit_intercept:
            return np.zeros(self._columns.shape[1]), np.zeros(len(self.G))
        return self._columns.mean(axis=0), self.G.mean(axis=1)

    @cached_property
    def _apart(self) -> FloatArray:
        return self._columns - self._centre[0]

    @property
    def _rounding(self) -> float:
        """Bound on the rounding of a sum of l products, and of some operations more, relative to their sizes."""
        return (len(self.G) + 16) * _UNIT

    @cached_property
    def _solved(self) -> list[_Solved]:
        return [self._solve(float(penalty)) for penalty in np.atleast_1d(self.penalty)]

    def _solve(self, penalty: float) -> _Solved:
        l, mean = len(self.G), self._centre[1]
        S = self.G - mean - mean[:, None] + mean.mean()
        level = max(float(np.diag(S).max()), penalty) / l if self.fit_intercept else 0.0
        S = S + level
        S[np.diag_indices(l)] += penalty
        try:
            factor = sla.cho_factor(S, lower=True, check_finite=False)
        except sla.LinAlgError:  # of a kernel that is semidefinite but for rounding
            w, V = sla.eigh(S, check_finite=False)
            factor = sla.cho_factor((V * np.maximum(w, penalty)) @ V.T, lower=True, check_finite=False)
        inverse = sla.cho_solve(factor, np.eye(l), check_finite=False)
        base = sla.cho_solve(factor, self._apart, check_finite=False)
        sizes, lengths = np.abs(inverse).sum(axis=0), np.abs(base).sum(axis=0)
        left = np.abs(S @ inverse - np.eye(l)).max(axis=0) / sizes
        residuals = np.abs(S @ base - self._apart).max(axis=0) / np.where(lengths > 0, lengths, 1.0)
        eps = max(float(left.max()), float(residuals.max()))
        taken_out = 1.0 / (l * (penalty + l * level)) if self.fit_intercept else 0.0
        return _Solved(S, factor, np.maximum(np.diag(inverse) - taken_out, 0.0), sizes, base, eps)

    @property
    def _columns(self) -> FloatArray:
        return self.targets[:, None] if self.targets.ndim == 1 else self.targets

    @property
    def _codes(self) -> IntArray:
        """Class of every labelled sample."""
        return (self.targets > 0).astype(np.intp) if self.targets.ndim == 1 else self.targets.argmax(axis=1)

    def _added(self, at: int, cross: FloatArray, diagonal: FloatArray) -> _Added:
        known, l, mean = self._solved[at], len(self.G), self._centre[1]
        largest = np.maximum(np.abs(cross).max(axis=1), np.abs(diagonal))
        share, middle = 0.0, mean.mean()
        if self.fit_intercept:
            share = 1.0 / l
            diagonal = diagonal - 2.0 * cross.mean(axis=1) + middle
            cross = cross - cross.mean(axis=1, keepdims=True) - mean + middle
        solution = sla.cho_solve(known.factor, cross.T, check_finite=False).T
        W, w = 1.0 + np.abs(solution).sum(axis=1), solution + share
        penalty = float(np.atleast_1d(self.penalty)[at])
        # What the labelled samples leave of a squared length is not negative, but for rounding.
        least = diagonal - np.einsum("ij,ij->i", cross, solution)
        s = penalty * (1.0 + share) + np.maximum(least, 0.0)
        measured = np.maximum(np.abs(solution @ known.S - cross).max(axis=1) / W, np.maximum(-least, 0.0) / W**2)
        # Centring adds four numbers up.
        largest = (4.0 if self.fit_intercept else 1.0) * np.maximum(
            largest, max(float(np.abs(self.G).max()), float(np.abs(known.S).max()))
        )
        eps = np.maximum(measured, known.eps) + (self._rounding + _KNOWN) * largest
        mu = known.sizes + np.abs(w) * (W / s)[:, None]
        own = solution @ self._apart + self._centre[0]
        return _Added(w, own, s, known.diagonal + w**2 / s[:, None], W, mu, eps)

    def _relative_errors(self, added: _Added) -> tuple[FloatArray, BoolArray]:
        """Return bounds on those of M_ii, (m, l), and where terms of second order are small enough to be left out."""
        with np.errstate(divide="ignore", over="ignore"):
            errors = (added.eps[:, None] * added.mu + self._rounding) * added.mu / added.diagonal
        whole = added.eps * (added.mu.sum(axis=1) + added.W * (1.0 + added.W) / added.s)
        return errors, (errors <= _SMALL) & (whole <= _SMALL)[:, None]

    def _checked(self, cross: FloatArray, diagonal: FloatArray) -> tuple[FloatArray, FloatArray]:
        cross, diagonal = np.asarray(cross, dtype=float), np.asarray(diagonal, dtype=float)
        m, l = len(diagonal), len(self.G)
        if cross.shape != (m, l) or diagonal.shape != (m,):
            raise InvalidInputError(
                f"cross and diagonal have the shapes {cross.shape} and {diagonal.shape}; pass the (m, {l}) kernel of m "
                "samples with the labelled ones, and their own, (m,)."
            )
        finite_numbers("cross", cross, "what a finite kernel makes")
        finite_numbers("diagonal", diagonal, "what a finite kernel makes")
        return cross, diagonal

    def p_values(self, cross: FloatArray, diagonal: FloatArray, *, class_conditional: bool = False) -> FloatArray:
        """Return the p-value of every class as the label of each of m samples, added one at a time.

        Parameters
        ----------
        cross : ndarray of shape (m, l)
            Kernel of the samples with the labelled ones.
        diagonal : ndarray of shape (m,)
            Kernel of each with itself.
        class_conditional : bool, default False
            Whether a candidate's score is compared with those of the labelled samples of its class only (Mondrian).

        Returns
        -------
        ndarray of shape (m, n_classes)
            Values of at least 1 / (l + 1), or 1 / (l_k + 1) with l_k labels of the class, and at most 1. Two columns
            where `targets` is one column of signs.
        """
        cross, diagonal = self._checked(cross, diagonal)
        l, K = self._columns.shape
        p, rows = np.empty((len(cross), max(K, 2))), max(1, _BATCH // (l * K))
        for start in range(0, len(cross), rows):
            part = slice(start, start + rows)
            tried = [
                self._ranked(at, self._added(at, cross[part], diagonal[part]), class_conditional)
                for at in range(len(self._solved))
            ]
            errors, ranks = np.stack([error for error, _ in tried]), np.stack([rank for _, rank in tried])
            # Where several penalties are equally good but for rounding, the one that excludes least.
            p[part] = np.where(errors <= errors.min(axis=0) * (1.0 + _ALIKE), ranks, 0.0).max(axis=0)
        return p

    def _ranked(self, at: int, added: _Added, class_conditional: bool) -> tuple[FloatArray, FloatArray]:
        """Return the leave-one-out squares of all l + 1 samples and the p-value, (m, n_classes), at one penalty."""
        T, codes, base = self._columns, self._codes, self._solved[at].base
        K, lengths, gamma = T.shape[1], np.abs(base).sum(axis=0), self._rounding
        relative, told = self._relative_errors(added)
        share = added.mu / added.diagonal

        def decided(t: float) -> tuple[FloatArray, FloatArray]:
            """Residuals at the labelled samples, where t is the target of j, and bounds on their rounding."""
            a = (t - added.own) / added.s[:, None]
            residuals = (base - added.w[:, :, None] * a[:, None]) / added.diagonal[:, :, None]
            slack = added.eps[:, None] * (lengths + np.abs(a) * added.W[:, None]) + gamma
            errors = share[:, :, None] * slack[:, None] + np.abs(residuals) * relative[:, :, None]
            return residuals, 2.0 * np.where(told[:, :, None], errors, np.inf)

        (below, unsure), (above, unsure_above) = decided(-1.0), decided(1.0)
        around = unsure.max(axis=2)
        unsure_own = (2.0 * added.W * (added.eps * lengths.max() + gamma))[:, None]
        excess = _Excess(T - below, np.broadcast_to(codes, added.w.shape)) if K > 1 else None
        squares, squares_own = (below**2).sum(axis=(1, 2)), ((1.0 + added.own) ** 2).sum(axis=1)
        error, p = np.empty((2, len(added.w), max(K, 2)))
        for k in range(p.shape[1]):
            column = 0 if excess is None else k
            turned = excess is not None or k == 1
            if excess is None:
                sign = 2.0 * k - 1.0
                scores, score = -2.0 * (T * (T - (above if k else below)))[:, :, 0], -2.0 * sign * added.own[:, 0]
            else:
                scores = excess.with_column(k, T[:, k] - above[:, :, k])
                score = np.delete(added.own, k, axis=1).max(axis=1) - added.own[:, k]
            error[:, k] = squares + squares_own
            if turned:
                error[:, k] += ((above[:, :, column] ** 2) - (below[:, :, column] ** 2)).sum(axis=1)
                error[:, k] += (1.0 - added.own[:, column]) ** 2 - (1.0 + added.own[:, column]) ** 2
            among = codes == k if class_conditional else np.ones(len(codes), dtype=bool)
            width = 2.0 * (np.maximum(around, unsure_above[:, :, column]) + unsure_own)
            count = (~(scores < score[:, None] - width))[:, among].sum(axis=1)
            p[:, k] = (1 + count) / (1 + np.count_nonzero(among))
        return error, p

    def intervals(self, cross: FloatArray, diagonal: FloatArray, level: float = 0.9) -> FloatArray:
        """Return the numbers whose p-value as the target of a sample exceeds 1 - level: an interval for each of m.

        Parameters
        ----------
        cross, diagonal : ndarray of shape (m, l) and (m,)
            The same as for `p_values`.
        level : float, default 0.9
            Level in (0, 1), the probability of holding the target.

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, n_outputs)
            Lower and upper ends, closed; each output by itself. They hold the decision at the sample, and are infinite
            where l + 1 < 1 / (1 - level): too few labels for any bound.

        Examples
        --------
        >>> x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
        >>> ridge = ConformalRidge(np.outer(x, x), 2.0 * x + np.array([0.1, -0.1, 0.1, -0.1, 0.1]), penalty=1e-3)
        >>> ridge.intervals(np.outer([2.5], x), np.array([6.25]), level=0.6).round(2).tolist()
        [[4.86, 5.21]]
        """
        cross, diagonal = self._checked(cross, diagonal)
        l, rank = len(self.G), level_rank(level, len(self.G))
        if np.ndim(self.penalty):
            raise InvalidInputError(f"penalty={self.penalty!r}: intervals are of one penalty; pass a number.")
        known, added, largest = self._solved[0], self._added(0, cross, diagonal), np.abs(self._apart).max(axis=0)
        ends = np.empty((len(cross), 2, known.base.shape[1]))
        if rank == 0 or (l == 1 and self.fit_intercept):  # two residuals of sum zero are alike
            ends[:, 0], ends[:, 1] = -np.inf, np.inf
        else:
            slack = added.eps[:, None] * np.abs(known.base).sum(axis=0) + self._rounding * largest  # of base, over m_i
            around = 2.0 * added.W[:, None] * slack + _UNIT * np.abs(self._centre[0])
            for k, column in enumerate(known.base.T):
                for side, lengths in zip((1, 0), self._lengths(column, slack[:, k], added), strict=True):
                    length = np.partition(lengths, l - rank)[:, l - rank] + around[:, k]
                    ends[:, side, k] = added.own[:, k] + (2 * side - 1) * length
        return ends[:, :, 0] if self.targets.ndim == 1 else ends

    def _lengths(self, base: FloatArray, slack: FloatArray, added: _Added) -> tuple[FloatArray, FloatArray]:
        """Return how far t may rise above w'y, and fall below it, before it fits worse than sample i: (m, l) each.

        Of the studentised residuals that of i is |shift - rho tau|, that of j |tau| for tau = t - w'y; |rho| < 1.
        Lengths are upper bounds, by what rounding can have made of them.
        """
        known = self._solved[0]
        root = np.sqrt(added.s[:, None] * added.diagonal)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rho = added.w / root
            unsure = 2.0 * known.sizes * slack[:, None]
            size = (np.abs(base) + unsure) * np.sqrt(added.s[:, None] / added.diagonal)
            relative, told = self._relative_errors(added)
            relative = 2.0 * relative + (added.eps * added.W**2 / added.s)[:, None]
            # 1 - |rho| without cancellation: 1 - rho^2 = Q_ii / M_ii.
            least = known.diagonal / (added.diagonal * (1.0 + np.abs(rho)))
            more = (added.eps[:, None] * known.sizes + self._rounding) * known.sizes / known.diagonal
            short, long = size * (1.0 + 2.0 * relative), size / least * (1.0 + 2.0 * (relative + more))
            long = np.where(told & (relative + more <= 2.0 * _SMALL), long, np.inf)
            short = np.where(told, short / (1.0 + np.abs(rho)), np.inf)
        up, down = np.where(base < 0, -rho, rho) < 0, np.where(base < 0, -rho, rho) > 0
        either = np.abs(base) <= unsure
        return np.where(up | either, long, short), np.where(down | either, long, short)


def level_rank(level: float, l: int) -> int:
    """Return how many of l scores a candidate's own may not exceed: the largest whole number up to (1 - level) (l + 1).

    Examples
    --------
    >>> level_rank(0.9, 9), level_rank(0.9, 19), level_rank(0.9, 5)
    (1, 2, 0)
    """
    _check_level(level)
    share = (1.0 - level) * (l + 1)
    return int(np.floor(share + _WHOLE))


def label_sets(p_values: FloatArray, level: float = 0.9) -> BoolArray:
    """Return which classes are in the set of each sample: those whose p-value exceeds 1 - level.

    Parameters
    ----------
    p_values : ndarray of shape (m, n_classes)
        P-values that `ConformalRidge.p_values`.
    level : float, default 0.9
        Level in (0, 1), the probability of holding the label. A set may be empty: then every class fits worse than what
        the level allows for.

    Returns
    -------
    ndarray of bool, of shape (m, n_classes)

    Examples
    --------
    >>> label_sets(np.array([[0.1, 0.2], [1.0, 0.05]]), 0.9).tolist()
    [[False, True], [True, False]]
    """
    _check_level(level)
    return np.asarray(p_values > 1.0 - level + _WHOLE)


def _check_level(level: float) -> None:
    if not 0.0 < real("level", level, "a number between 0 and 1, such as 0.9") < 1.0:
        raise InvalidInputError(f"level={level!r} must be a number between 0 and 1, such as 0.9.")


class _Excess:
    """Largest other decision minus the own one, (m, l), and how it changes with one class's decisions (m, l, K)."""

    def __init__(self, decisions: FloatArray, own: IntArray) -> None:
        self.own = own
        self.ours = np.take_along_axis(decisions, own[..., None], axis=-1)[..., 0]
        others = decisions.copy()
        np.put_along_axis(others, own[..., None], -np.inf, axis=-1)
        self.largest, self.first = others.argmax(axis=-1), others.max(axis=-1)
        np.put_along_axis(others, self.largest[..., None], -np.inf, axis=-1)
        self.second = others.max(axis=-1)

    def with_column(self, k: int, column: FloatArray) -> FloatArray:
        """Return the excess where class k decides otherwise."""
        rest = np.where(self.largest == k, self.second, self.first)
        return np.where(self.own == k, self.first - column, np.maximum(rest, column) - self.ours)
