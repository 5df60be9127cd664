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
all gamma_A and classes. With weights and their roots r it is that of diag(r) G diag(r), r y, r for 1, and v / r.

**Other losses** are solved again without the rows and columns of F: `specmargin.objectives.held_out.refitting`.

`nll`, `squared_error`, `zero_one` and `RidgePath.gcv` are criteria; minimised over settings, they estimate no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.exceptions import InvalidInputError
from specmargin.labels.encoding import class_by_class
from specmargin.objectives.held_out.calibration import calibrated_scales, log_probabilities
from specmargin.objectives.intercept import centred_basis, checked_weights, less_mean, weighted_mean
from specmargin.objectives.manifold_weights import mean_eigenvalue
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "Fold",
    "RidgePath",
    "counted",
    "dealt_folds",
    "log_losses",
    "nll",
    "modes",
    "one_left_out",
    "ridge_left_out",
    "squared_error",
    "squares",
    "told_alone",
    "wrong",
    "zero_one",
]

_SCALES = (1e-3, 1e3)
"""T in units of one over the root mean square of the decisions."""


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


def dealt_folds(sign: FloatArray, n_folds: int) -> list[Fold]:
    """Return stratified folds of the labelled samples, dealt out class by class; the only one of a class always trains.

    Names of classes do not matter. Each keeps a label in every fold; there are no folds where each has one label.

    Parameters
    ----------
    sign : ndarray of shape (l,) or (l, K)
        Signs of the labelled samples, one column per class with more than two.
    n_folds : int
        Number of folds, at most; 2 or more.

    Examples
    --------
    >>> [fold.test.tolist() for fold in dealt_folds(np.array([1.0, -1.0, -1.0, 1.0, -1.0]), 2)]
    [[0, 1, 4], [3, 2]]
    """
    order = class_by_class(own := _own(sign))
    order = order[np.bincount(own)[own[order]] > 1]
    n = min(n_folds, len(order))
    return [Fold(order[k::n], order[k::n]) for k in range(n)]


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
    counts = np.bincount(own)
    masks = []
    for fold in folds:
        left = counts - np.bincount(own[fold.left_out], minlength=len(counts))
        masks.append((left[own[fold.test]] > 0) & (np.count_nonzero(left) > 1))
    return np.concatenate(masks)


def told_alone(sign: FloatArray) -> BoolArray:
    """Return `counted` of leave-one-out: which labelled samples the others can name.

    Examples
    --------
    >>> told_alone(np.array([1.0, -1.0, -1.0])).tolist()
    [False, True, True]
    """
    own = _own(sign)
    counts = np.bincount(own)
    return (counts[own] > 1) & (np.count_nonzero(counts) > 1)


def modes(
    G: FloatArray, sign: FloatArray, fit_intercept: bool, weights: FloatArray | None, root: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return w, B and B'sign of `RidgePath`, of an exactly symmetric G; `root` are the roots of the weights."""
    target = sign
    if root is not None:
        target = ((less_mean(sign, weights) if fit_intercept else sign).T * root).T
        G = root[:, None] * G * root
    if fit_intercept:
        basis = centred_basis(len(G), weights)
        w, Q = sla.eigh(basis.T @ G @ basis, check_finite=False)
        B = basis @ Q
    else:
        w, B = sla.eigh(G, check_finite=False)
    return np.maximum(w, 0.0), B, B.T @ target


def ridge_left_out(
    parts: tuple[FloatArray, FloatArray, FloatArray],
    sign: FloatArray,
    gamma_As: Sequence[float] | FloatArray,
    root: FloatArray | float = 1.0,
) -> FloatArray:
    """Return `RidgePath.leave_one_out` by its `modes`, for numbers that have been checked.

    Examples
    --------
    >>> sign = np.array([1.0, -1.0])
    >>> parts = modes(np.array([[2.0, 1.0], [1.0, 2.0]]), sign, True, None, None)
    >>> ridge_left_out(parts, sign, [0.1]).round(12).tolist()
    [[-1.0, 1.0]]
    """
    w, B, target = parts
    squares, decisions = B**2, []
    for gamma_A in gamma_As:
        weights = 1.0 / (w + gamma_A)
        v = B @ (target.T * weights).T
        with np.errstate(divide="ignore", invalid="ignore"):
            decisions.append(sign - (v.T / (squares @ weights) / root).T)
    return np.stack(decisions)


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
    weights : ndarray of shape (l,), optional
        Weights of the squares, > 0; ones where they are not given.

    Raises
    ------
    ValueError
        If the shapes differ, G is not finite, or a weight is not positive.

    Examples
    --------
    >>> path = RidgePath(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0]))
    >>> path.leave_one_out([0.1, 10.0]).round(12).tolist()  # one label left: its own sign is all there is to say
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    G: FloatArray
    sign: FloatArray
    fit_intercept: bool = True
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        G, sign = np.asarray(self.G, dtype=float), np.asarray(self.sign, dtype=float)
        l = len(sign)
        if G.shape != (l, l):
            raise InvalidInputError(
                f"G has the shape {G.shape}, but sign speaks of {l} labelled samples; pass ({l}, {l})."
            )
        finite_numbers("G", G, "what a finite kernel and finite weights make")
        if l < 2:
            raise InvalidInputError("leaving one of fewer than 2 labelled samples out leaves none; label more.")
        object.__setattr__(self, "weights", checked_weights(self.weights, l))
        object.__setattr__(self, "G", (G + G.T) / 2)
        object.__setattr__(self, "sign", sign)

    @cached_property
    def _root(self) -> FloatArray:
        return np.ones(len(self.G)) if self.weights is None else np.sqrt(self.weights)

    @cached_property
    def _modes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        root = None if self.weights is None else self._root
        return modes(self.G, self.sign, self.fit_intercept, self.weights, root)

    @property
    def unit(self) -> float:
        """Mean eigenvalue tr(H G H) / l of the centred G (of G itself without intercept): a scale for gamma_A.

        Zero where that is rounding: all functions of G are constant then.
        """
        return mean_eigenvalue(self.G, centred=self.fit_intercept)

    def solution(self, gamma_A: float) -> tuple[FloatArray, FloatArray]:
        """Return v, shaped like `sign`, and b, () or (K,): f = K X v + b with X of gamma_A = 1."""
        w, B, target = self._modes
        _check(gamma_A)
        v = ((B @ (target.T / (w + gamma_A)).T).T * self._root).T
        return v, weighted_mean(self.sign - self.G @ v, self.weights) if self.fit_intercept else np.zeros(v.shape[1:])

    def leave_one_out(self, gamma_As: Sequence[float] | FloatArray) -> FloatArray:
        """Return what the other labelled samples decide at each labelled sample, per gamma_A.

        Returns
        -------
        ndarray of shape (len(gamma_As), l) or (len(gamma_As), l, K)
        """
        for gamma_A in gamma_As:
            _check(gamma_A)
        return ridge_left_out(self._modes, self.sign, gamma_As, self._root)

    def held_out(self, gamma_As: Sequence[float] | FloatArray, folds: Sequence[Fold]) -> FloatArray:
        """Return the decisions at the tested samples, fold by fold, by the others' labels, per gamma_A.

        Parameters
        ----------
        gamma_As : sequence of float
            Ambient weights, > 0.
        folds : sequence of Fold
            Folds; at least one label stays in each.

        Returns
        -------
        ndarray of shape (len(gamma_As), m) or (len(gamma_As), m, K)
            m tested samples in all folds together.
        """
        l = len(self.G)
        if all(len(left_out) == 1 for left_out, _ in folds):
            return self.leave_one_out(gamma_As)[:, np.concatenate([fold.test for fold in folds])]
        w, B, target = self._modes
        all_decisions = []
        for gamma_A in gamma_As:
            _check(gamma_A)
            half = B / np.sqrt(w + gamma_A)
            v = B @ (target.T / (w + gamma_A)).T
            parts = []
            for left_out, test in folds:
                check_fold(left_out, l)
                # M_FF = R'R without squaring the condition number.
                R = sla.qr(half[left_out].T, mode="r", check_finite=False)[0][: len(left_out)]
                residual = sla.cho_solve((R, False), v[left_out], check_finite=False)
                decisions = np.full_like(self.sign, np.nan)
                decisions[left_out] = self.sign[left_out] - (residual.T / self._root[left_out]).T
                parts.append(decisions[test])
            all_decisions.append(np.concatenate(parts))
        return np.stack(all_decisions)

    def gcv(self, gamma_As: Sequence[float] | FloatArray) -> FloatArray:
        """Return generalised cross-validation, mean(v^2) / mean(M_ii)^2, per gamma_A; classes are averaged.

        Leave-one-out's mean square with one M_ii for all, so that it depends on no rotation of the samples.
        """
        w, B, target = self._modes
        scores = []
        for gamma_A in gamma_As:
            _check(gamma_A)
            weights = 1.0 / (w + gamma_A)
            scores.append(((target.T * weights) ** 2).sum() / self.sign.size / (weights.sum() / len(B)) ** 2)
        return np.array(scores)


def _own(sign: FloatArray) -> IntArray:
    """Position of each sample's class."""
    return (sign > 0).astype(np.intp) if sign.ndim == 1 else sign.argmax(axis=1)


def log_losses(decisions: FloatArray, sign: FloatArray) -> FloatArray:
    """Return -log p_T of the own class of every sample, T the scale of `specmargin.objectives.held_out.calibration`.

    The logistic (softmax) loss of probabilities that are calibrated on these very decisions. Two pseudo-samples keep T
    finite, so that settings without an error are told apart by their margins.

    Parameters
    ----------
    decisions : ndarray of shape (..., m) or (..., m, K)
        Decisions of the same trailing shape as `sign`.
    sign : ndarray of shape (m,) or (m, K)
        True signs.

    Returns
    -------
    ndarray of shape (..., m)
        nan of a setting with decisions that are not finite, log K where all are zero.

    Examples
    --------
    >>> log_losses(np.array([1.0, 1.0, -1.0, 1.0]), np.array([1.0, 1.0, -1.0, -1.0])).round(3).tolist()
    [0.405, 0.405, 0.405, 1.099]
    """
    held = np.asarray(decisions[..., None] if sign.ndim == 1 else decisions, dtype=float)
    settings, codes = held.shape[:-2], _own(sign)
    held = held.reshape(-1, *held.shape[-2:])
    if held.shape[2] > 1:
        held = held - held.mean(axis=2, keepdims=True)
    losses = np.full(held.shape[:2], np.nan)
    largest = np.abs(held).max(axis=(1, 2), initial=0.0)
    finite = np.isfinite(largest)
    held = held[finite] / np.where(largest > 0, largest, 1.0)[finite, None, None]
    size = np.sqrt((held**2).mean(axis=(1, 2), keepdims=True))
    held = held / np.where(size > 0, size, 1.0)
    T = calibrated_scales(held, codes, bounds=_SCALES)
    log_p = log_probabilities(T[:, None, None] * held)
    losses[finite] = -np.take_along_axis(log_p, codes[None, :, None], axis=2)[..., 0]
    return losses.reshape(*settings, len(codes))


def nll(decisions: FloatArray, sign: FloatArray) -> FloatArray:
    """Return the mean of `log_losses`, per setting.

    Examples
    --------
    >>> round(float(nll(np.array([9.0, -9.0]), np.array([1.0, -1.0]))), 3)  # three of four right
    0.288
    >>> round(float(nll(np.array([-1.0, 1.0]), np.array([1.0, -1.0]))), 3)  # worse than chance
    0.694
    """
    return np.asarray(log_losses(decisions, sign).mean(axis=-1))


def squares(decisions: FloatArray, targets: FloatArray) -> FloatArray:
    """Return (y - f)^2 of every sample, the mean over classes or outputs, per setting: (..., m).

    Examples
    --------
    >>> squares(np.array([0.5, -1.0]), np.array([1.0, -1.0])).tolist()
    [0.25, 0.0]
    """
    return np.asarray(((decisions - targets) ** 2).mean(axis=-1) if targets.ndim > 1 else (decisions - targets) ** 2)


def squared_error(decisions: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the mean of `squares`, per setting.

    Examples
    --------
    >>> float(squared_error(np.array([0.5, -1.0]), np.array([1.0, -1.0])))
    0.125
    """
    return np.asarray(squares(decisions, targets).mean(axis=-1))


def wrong(decisions: FloatArray, sign: FloatArray) -> BoolArray:
    """Return which samples are named wrongly, per setting; f > 0 names the second of two classes.

    Examples
    --------
    >>> wrong(np.array([0.5, 1.0]), np.array([1.0, -1.0])).tolist()
    [False, True]
    """
    predicted = decisions > 0 if sign.ndim == 1 else decisions.argmax(axis=-1)
    return np.asarray(predicted != _own(sign))


def zero_one(decisions: FloatArray, sign: FloatArray) -> FloatArray:
    """Return the share of `wrong`, per setting.

    Examples
    --------
    >>> float(zero_one(np.array([0.5, 1.0]), np.array([1.0, -1.0])))
    0.5
    """
    return np.asarray(wrong(decisions, sign).mean(axis=-1))


def _check(gamma_A: float) -> None:
    if not (np.isfinite(gamma_A) and gamma_A > 0):
        raise InvalidInputError(f"gamma_A={gamma_A!r} must be a positive number: without it v is not unique.")


def check_fold(left_out: IntArray, l: int) -> None:
    """Raise where nothing is left to train on."""
    if len(left_out) >= l:
        raise InvalidInputError(f"a fold leaves out all {l} labelled samples; leave at least one to train on.")
