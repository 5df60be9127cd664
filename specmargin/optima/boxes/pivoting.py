r"""Convex quadratic programs of S3VMs with given labels in x (`MarginSpace`), by block principal pivoting.

With labels s of some samples the dual of min J(x), s_i x_i >= 1, is a nonnegative quadratic program,

    min_{a >= 0} 1/2 a'Ha - d'a,      H = (s s') o Q,   d = 1 - s o c,

with p = s o a, x = c + Qp and f = x - p / 2C. *Every* a >= 0 bounds J from below (`Quadratic.dual_bound`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from specmargin.optima.boxes.margin_space import MarginSpace, Quadratic
from specmargin.rounding import cholesky
from specmargin.typing import BoolArray, FloatArray

__all__ = ["LabeledPoint", "LabelPrograms", "nonnegative_qp"]

_PRECISION = 1e-11
_PATIENCE = 10
"""Exchanges of all violated indices that need not lower their number."""
_FEASIBLE = 1e-6
"""Relative gap, and shortfall of a margin of 1, at which labels have a point."""
_KEPT = 20_000


def nonnegative_qp(
    H: FloatArray, d: FloatArray, active: BoolArray | None = None, max_iter: int = 200
) -> tuple[FloatArray, BoolArray]:
    """Minimise 1/2 a'Ha - d'a over a >= 0.

    All indices that violate their condition change sides at once; where that does not lower their number for long, the
    last of them alone does (Judice & Pires, 1994), which is finite.

    Parameters
    ----------
    H : ndarray of shape (m, m)
        Positive semidefinite.
    d : ndarray of shape (m,)
    active : ndarray of bool, optional
        Indices where a > 0 is expected.
    max_iter : int, default 200
        Factorisations.

    Returns
    -------
    a, active
        a >= 0 is the best that was relaxed where `max_iter` did not suffice.

    Examples
    --------
    >>> nonnegative_qp(np.eye(2), np.array([1.0, -1.0]))[0].tolist()
    [1.0, 0.0]
    """
    m = len(d)
    active = np.zeros(m, dtype=bool) if active is None else active.copy()
    fewest, patience, a = m + 1, _PATIENCE, np.zeros(m)
    unit = _PRECISION * (1.0 + float(np.abs(d).max(initial=0.0)))
    for _ in range(max_iter):
        rows = np.flatnonzero(active)
        a = np.zeros(m)
        if len(rows):
            a[rows] = _solved(H.take(rows, 0).take(rows, 1), d[rows])
        slope = H @ a - d
        wrong = np.where(active, a < -_PRECISION * float(np.abs(a).max(initial=0.0)), slope < -unit)
        count = int(wrong.sum())
        if not count:
            break
        if count < fewest:
            fewest, patience = count, _PATIENCE
        elif patience:
            patience -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        active ^= wrong
    return np.maximum(a, 0.0), active


def _solved(H: FloatArray, d: FloatArray) -> FloatArray:
    """Return H^-1 d, with a ridge where H is singular: all samples at the margin under a balance."""
    diagonal = H.diagonal().copy()
    for ridge in (0.0, 1e-11, 1e-8):
        H[np.diag_indices(len(H))] = diagonal + ridge * diagonal.max()
        factor = cholesky(H.T, clean=False)
        if factor is not None:
            return np.asarray(lapack.dpotrs(factor, d, lower=1)[0])
    return np.zeros(len(d))


@dataclass(frozen=True, eq=False)
class LabeledPoint:
    """The best point with given labels.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        +1, -1, 0 where not given.
    x, p : ndarray of shape (n,)
        Decisions plus slack, and the multipliers times the labels.
    active : ndarray of bool, (n,)
        Samples whose margins bind.
    lower : float
        A proved lower bound of J with these labels.
    value : float
        J there, or another quadratic; infinite where the labels have no point.
    """

    labels: FloatArray
    x: FloatArray
    p: FloatArray
    active: BoolArray
    lower: float
    value: float


class LabelPrograms:
    """The programs of one problem, for all labels.

    Parameters
    ----------
    space : MarginSpace
    quadratic : Quadratic, optional
        What is minimised in the place of J, and bounds it where it is below.

    Examples
    --------
    >>> space = MarginSpace(np.array([[1.0], [-1.0]]), np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    >>> point = LabelPrograms(space).solve(np.array([1.0, -1.0]))
    >>> point.x.round(9).tolist(), round(point.value, 9)
    ([1.0, -1.0], 0.333333333)
    """

    def __init__(self, space: MarginSpace, quadratic: Quadratic | None = None) -> None:
        self.space, self.count = space, 0
        self.quadratic = space.quadratic if quadratic is None else quadratic
        self.reduced = space.reduced if quadratic is None else quadratic.reduced()
        self._seen: dict[bytes, LabeledPoint] = {}

    def solve(self, labels: FloatArray, warm: LabeledPoint | None = None) -> LabeledPoint:
        """Return the best point with these labels; `warm` is that of others."""
        key = labels.astype(np.int8).tobytes()
        if key not in self._seen:
            if len(self._seen) > _KEPT:
                self._seen.clear()
            self._seen[key] = self._solved(labels, warm)
        return self._seen[key]

    def _solved(self, labels: FloatArray, warm: LabeledPoint | None) -> LabeledPoint:
        self.count += 1
        if not self.space.is_possible(labels):
            nothing = np.zeros(len(labels))
            return LabeledPoint(labels.copy(), nothing, nothing, nothing > 0, np.inf, np.inf)
        quadratic, rows = self.reduced, np.flatnonzero(labels)
        s = labels[rows]
        d = 1.0 - s * quadratic.c[rows]
        H = quadratic.Q[rows[:, None], rows] * np.multiply.outer(s, s)
        binding = None if warm is None else warm.active[rows] | (s * warm.x[rows] < 1.0 - _FEASIBLE)
        a, chosen = nonnegative_qp(H, d, binding)
        p, active = np.zeros(len(labels)), np.zeros(len(labels), dtype=bool)
        p[rows], active[rows] = s * a, chosen
        image = quadratic.image(p)
        x = quadratic.c + image
        lower = self.quadratic.dual_bound(p, float(a.sum()))
        value = quadratic.kappa + 0.5 * float(p @ image)
        short = float(np.max(1.0 - s * x[rows], initial=0.0))
        if not (short <= _FEASIBLE and abs(value - lower) <= _FEASIBLE * max(value, 1e-300)):
            value = np.inf
        # Margins may be short by rounding, which makes J too small.
        return LabeledPoint(labels.copy(), x, p, active, lower, max(value, lower))
