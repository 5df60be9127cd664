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

Scores that differ by less than 1e-9 of the largest are ties, as those of duplicates are: rounding only adds labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.checks import real
from specmargin.exceptions import InvalidInputError
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["ConformalRidge", "label_sets", "level_rank"]

_TIE = 1e-9
_BATCH = 2**22  # scores that are held at once
_WHOLE = 1e-9  # by which (1 - level) (l + 1) may differ from a whole number that it is meant to be


class _Added(NamedTuple):
    """What m samples change when one of them is added: w (m, l), s (m,), and M_ii (m, l)."""

    w: FloatArray
    s: FloatArray
    diagonal: FloatArray


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
    penalty : float, default 1.0
        p > 0, weight of the norm against the sum of squares.
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
    penalty: float = 1.0
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
        if not (np.isfinite(self.penalty) and self.penalty > 0):
            raise InvalidInputError(f"penalty={self.penalty!r} must be a positive number.")
        object.__setattr__(self, "G", (G + G.T) / 2)
        object.__setattr__(self, "targets", targets)

    @cached_property
    def _inverse(self) -> FloatArray:
        """Q, (l, l), by eigenvalues: those that rounding made negative are 0."""
        l = len(self.G)
        basis = sla.helmert(l).T if self.fit_intercept and l > 1 else np.eye(l)
        if self.fit_intercept and l == 1:
            return np.zeros((1, 1))
        w, V = sla.eigh(basis.T @ self.G @ basis, check_finite=False)
        B = basis @ V
        return np.asarray((B / (np.maximum(w, 0.0) + self.penalty)) @ B.T)

    @property
    def _columns(self) -> FloatArray:
        return self.targets[:, None] if self.targets.ndim == 1 else self.targets

    @property
    def _codes(self) -> IntArray:
        """Class of every labelled sample."""
        return (self.targets > 0).astype(np.intp) if self.targets.ndim == 1 else self.targets.argmax(axis=1)

    def _added(self, cross: FloatArray, diagonal: FloatArray) -> _Added:
        Q, l = self._inverse, len(self.G)
        if self.fit_intercept:
            mean = self.G.mean(axis=1)
            centred = cross - mean
            image = centred @ Q
            own = diagonal - 2.0 * cross.mean(axis=1) + mean.mean()
            w, least = 1.0 / l + image, self.penalty * (1.0 + 1.0 / l)
        else:
            centred, image, own, least = cross, cross @ Q, diagonal, self.penalty
            w = image
        # What the labelled samples leave of a squared length is not negative, but for rounding.
        s = least + np.maximum(own - np.einsum("ij,ij->i", image, centred), 0.0)
        return _Added(w, s, np.diag(Q) + w**2 / s[:, None])

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
            At least 1 / (l + 1), or 1 / (l_k + 1) with l_k labels of the class, and at most 1. Two columns where
            `targets` is one column of signs.
        """
        cross, diagonal = self._checked(cross, diagonal)
        T = self._columns
        l, K = T.shape
        p, rows = np.empty((len(cross), max(K, 2))), max(1, _BATCH // (l * K))
        for start in range(0, len(cross), rows):
            at = slice(start, start + rows)
            p[at] = self._p_values(self._added(cross[at], diagonal[at]), class_conditional)
        return p

    def _p_values(self, added: _Added, class_conditional: bool) -> FloatArray:
        T, codes = self._columns, self._codes
        w, s, diagonal = added
        K = T.shape[1]
        base, own = self._inverse @ T, w @ T
        below, above = (
            T - (base - w[:, :, None] * ((t - own) / s[:, None])[:, None]) / diagonal[:, :, None] for t in (-1.0, 1.0)
        )
        excess = _Excess(below, np.broadcast_to(codes, w.shape)) if K > 1 else None
        p = np.empty((len(w), max(K, 2)))
        for k in range(p.shape[1]):
            if excess is None:
                sign = 2.0 * k - 1.0
                scores, score = -2.0 * (T * (above if k else below))[:, :, 0], -2.0 * sign * own[:, 0]
            else:
                scores = excess.with_column(k, above[:, :, k])
                score = np.delete(own, k, axis=1).max(axis=1) - own[:, k]
            among = codes == k if class_conditional else np.ones(len(codes), dtype=bool)
            scores = scores[:, among]
            size = np.maximum(np.abs(scores).max(axis=1, initial=0.0), np.abs(score))
            count = (scores >= (score - _TIE * size)[:, None]).sum(axis=1)
            p[:, k] = (1 + count) / (1 + np.count_nonzero(among))
        return p

    def intervals(self, cross: FloatArray, diagonal: FloatArray, level: float = 0.9) -> FloatArray:
        """Return the numbers whose p-value as the target of a sample exceeds 1 - level: an interval for each of m.

        Parameters
        ----------
        cross, diagonal : ndarray of shape (m, l) and (m,)
            As for `p_values`.
        level : float, default 0.9
            In (0, 1), the probability of holding the target.

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
        added = self._added(cross, diagonal)
        base, centre = self._inverse @ self._columns, added.w @ self._columns
        ends = np.empty((len(centre), 2, base.shape[1]))
        if rank == 0 or (l == 1 and self.fit_intercept):  # two residuals of sum zero are alike
            ends[:, 0], ends[:, 1] = -np.inf, np.inf
        else:
            for k, column in enumerate(base.T):
                for side, lengths in zip((1, 0), self._lengths(column, added), strict=True):
                    ends[:, side, k] = centre[:, k] + (2 * side - 1) * np.partition(lengths, l - rank)[:, l - rank]
        return ends[:, :, 0] if self.targets.ndim == 1 else ends

    def _lengths(self, base: FloatArray, added: _Added) -> tuple[FloatArray, FloatArray]:
        """Return how far t may rise above w'y, and fall below it, before it fits worse than sample i: (m, l) each.

        Of the studentised residuals that of i is |shift - rho tau|, that of j |tau| for tau = t - w'y; |rho| < 1.
        """
        root = np.sqrt(added.s[:, None] * added.diagonal)
        rho, shift = added.w / root, base * added.s[:, None] / root
        # 1 - |rho| without cancellation: 1 - rho^2 = Q_ii / M_ii.
        least = np.diag(self._inverse) / (added.diagonal * (1.0 + np.abs(rho)))
        sign, size = np.where(shift < 0, -1.0, 1.0), np.abs(shift)
        with np.errstate(divide="ignore"):
            return tuple(size / np.where(turn * rho < 0, least, 1.0 + turn * rho) for turn in (sign, -sign))  # type: ignore[return-value]  # two


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
        Of `ConformalRidge.p_values`.
    level : float, default 0.9
        In (0, 1), the probability of holding the label. A set may be empty: then every class fits worse than what the
        level allows for.

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
