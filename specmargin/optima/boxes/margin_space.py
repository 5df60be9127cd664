r"""S3VMs with the squared hinge in x, decisions plus signed slacks: all labels are one and the same constraint.

With x_i = f_i + s_i, y_i x_i >= 1 where the label is known and |x_j| >= 1 where it is not, what is left of

    J = 1/2 |w|^2 + sum_i C_i s_i^2

after minimising over w and s at given x is a convex quadratic in x,

    J(x) = kappa + 1/2 (x - c)' Q^-1 (x - c),      Q = A A' + diag(1 / 2C_i),

with c the offset of the decisions and kappa = 0. Where the balance is on x, a'x = rhs with a the indicator of the
unlabelled samples, it is eliminated: with q = Qa and d = a'q,

    Q - q q'/d,   c = q rhs/d,   kappa = rhs^2 / 2d.

That matrix is singular. Where a factor is needed (`MarginSpace.F`), the balance is priced instead: d + sigma for d adds
(a'x - rhs)^2 / 2 sigma to J, which is nothing at feasible points, whatever sigma > 0 is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.s3vm_slack import has_slacks, slack_costs
from specmargin.rounding import cholesky
from specmargin.typing import FloatArray, IntArray

__all__ = ["MarginSpace", "Quadratic", "has_margin_space"]

_EPS = float(np.finfo(float).eps)
_PRICE = 1e-3
"""sigma in units of |a|^2 over the largest curvature of the losses, which the price then exceeds a thousandfold."""


def has_margin_space(obj: S3VM) -> bool:
    """Whether an objective is a quadratic in x: squared hinges that all cost something, and no free intercept."""
    return has_slacks(obj) and obj.features.penalty != 0.0 and bool(np.all(np.asarray(obj.costs) > 0))


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A convex quadratic below J, kappa + 1/2 (x - c)' Q^+ (x - c), and what rounding may do to its consequences.

    Wherever J(x) <= t, all vectors p satisfy

        p'x <= p'c + shift'|p| + sqrt(2 (t - kappa) (p'Qp + (spread'|p|)^2)),

    and with a balance, balance'x = total, any multiple of `balance` may be added to p (`completed`).

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Positive semidefinite.
    c, spread, shift : ndarray of shape (n,)
    kappa : float
    balance : ndarray of shape (n,), optional
        Coefficients of an equation that all points satisfy; c is zero then.
    total : float, default 0
        Its right-hand side.
    """

    Q: FloatArray
    c: FloatArray
    kappa: float
    spread: FloatArray
    shift: FloatArray
    balance: FloatArray | None = None
    total: float = 0.0

    @cached_property
    def _row(self) -> FloatArray:
        """Q times the balance."""
        return np.zeros(len(self.c)) if self.balance is None else np.asarray(self.Q @ self.balance)

    @cached_property
    def _weight(self) -> float:
        """The balance times Q times the balance."""
        return 1.0 if self.balance is None else float(self.balance @ self._row)

    def reduced(self, sigma: float = 0.0) -> Quadratic:
        """Return the quadratic with the balance eliminated, or at the price sigma, without regard to rounding."""
        if self.balance is None:
            return self
        d = self._weight + sigma
        Q = self.Q - np.multiply.outer(self._row, self._row) / d
        kappa = self.kappa + 0.5 * self.total**2 / d
        return Quadratic((Q + Q.T) / 2.0, self._row * (self.total / d), kappa, self.spread, self.shift)

    def box(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of x where J <= level."""
        sides = []
        own = self.Q.diagonal()
        for side in (-1.0, 1.0):
            nu = np.zeros(len(own))
            squared, size, more = own, self.spread, 0.0
            if self.balance is not None:
                radius = np.sqrt(np.maximum(own - self._row**2 / self._weight, 0.0))
                nu = self._multiple(side * self._row, radius, level)
                squared = own + 2.0 * side * nu * self._row + nu**2 * self._weight
                size = size + np.abs(nu) * float(self.spread @ np.abs(self.balance))
                more = nu * self.total
            radius = np.sqrt(2.0 * max(level - self.kappa, 0.0) * (np.maximum(squared, 0.0) + size**2))
            bound = side * self.c - more + self.shift + radius
            sides.append(side * (bound + 20.0 * _EPS * (radius + np.abs(self.c) + np.abs(more))))
        return sides[0], sides[1]

    def _multiple(self, along: Any, radius: Any, level: float) -> Any:
        """Return how much of the balance, added to p, makes `support` least: along = p'Q balance, radius its rest."""
        rest = 2.0 * (level - self.kappa) - self.total**2 / self._weight
        return (radius * self.total / np.sqrt(max(rest, 1e-300)) - along) / self._weight

    def image(self, p: FloatArray) -> FloatArray:
        """Return Qp; a sparse p needs its own rows alone."""
        used = np.flatnonzero(p)
        return np.asarray(p[used] @ self.Q[used] if 4 * len(used) < len(p) else self.Q @ p)

    def _squared(self, p: FloatArray) -> float:
        """Return an upper bound of p'Qp, rounding of Q included."""
        return max(float(p @ self.image(p)), 0.0) + float(self.spread @ np.abs(p)) ** 2

    def support(self, p: FloatArray, level: float) -> float:
        """Return an upper bound of p'x where J <= level, rounding included."""
        nu = 0.0
        if self.balance is not None:
            along = float(p @ self._row)
            squared = float(p @ self.image(p)) - along**2 / self._weight
            nu = float(self._multiple(along, np.sqrt(max(squared, 0.0)), level))
            p = p + nu * self.balance
        size = np.abs(p)
        radius = float(np.sqrt(2.0 * max(level - self.kappa, 0.0) * self._squared(p)))
        terms = float(size @ np.abs(self.c)) + abs(nu * self.total) + radius
        value = float(p @ self.c) - nu * self.total + float(self.shift @ size) + radius
        return value + (len(p) + 20) * _EPS * terms

    def completed(self, p: FloatArray) -> FloatArray:
        """Return p with the multiple of the balance that makes `dual_bound` largest."""
        return p if self.balance is None else p + (self.total - float(p @ self._row)) / self._weight * self.balance

    def dual_bound(self, p: FloatArray, gain: float) -> float:
        """Return a lower bound of J where p'x >= gain: the dual objective at p, less what rounding may have added."""
        completed = self.completed(p)
        if self.balance is not None:
            gain += float((completed - p) @ self.balance) / float(self.balance @ self.balance) * self.total
        p, size, squared = completed, np.abs(completed), self._squared(completed)
        terms = abs(gain) + float(size @ (np.abs(self.c) + self.shift)) + squared + abs(self.kappa)
        value = self.kappa + gain - float(p @ self.c) - float(self.shift @ size) - 0.5 * squared
        return value - (len(p) + 20) * _EPS * terms


class MarginSpace:
    """The problem in x of one S3VM.

    Parameters
    ----------
    A : ndarray of shape (n, size)
        Features: f = A w + offset.
    C : ndarray of shape (n,)
        Weights of the losses, positive.
    y : ndarray of shape (n,)
        Known labels, 0 where unlabelled.
    offset : float, default 0
        Constant part of the decisions.
    total : float, optional
        What the x of the unlabelled samples add up to; None leaves it open.
    count : int, optional
        How many of the unlabelled x are positive; None leaves it open.
    errors : ndarray of shape (n,), optional
        Bounds of what rounding has changed in the lengths of the rows of A.

    Examples
    --------
    >>> space = MarginSpace(np.array([[1.0], [-1.0]]), np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    >>> space.quadratic.Q.tolist()
    [[2.0, -1.0], [-1.0, 2.0]]
    """

    def __init__(
        self,
        A: FloatArray,
        C: FloatArray,
        y: FloatArray,
        *,
        offset: float = 0.0,
        total: float | None = None,
        count: int | None = None,
        errors: FloatArray | None = None,
    ) -> None:
        n, size = A.shape
        self.A, self.C, self.y, self.offset, self.total, self.count = A, C, y, offset, total, count
        self.free: IntArray = np.flatnonzero(y == 0)
        self.Q = A @ A.T
        self.Q[np.diag_indices(n)] += 0.5 / C
        self.lengths = np.sqrt(self.Q.diagonal())
        rounded = 0.0 if errors is None else float((errors / self.lengths).max())
        self.unit = 4.0 * (n + size + 20) * _EPS + 4.0 * rounded
        """Rounding of an entry of Q, relative to the lengths of its row and column."""
        self.balance = (y == 0).astype(float)
        if total is not None and (not len(self.free) or len(self.free) == 1 > abs(total)):
            raise InvalidInputError(
                f"no x of {len(self.free)} unlabelled samples with |x| >= 1 adds up to {total!r}; give a balance on "
                "the decisions, or more unlabelled samples."
            )
        self.highest = 1.0
        """A value of J that no level exceeds."""

    @classmethod
    def of(cls, obj: S3VM) -> MarginSpace:
        """Return the problem of an objective that `has_margin_space`."""
        features, n = obj.features, obj.features.n_samples
        if not has_margin_space(obj):
            raise InvalidInputError(
                "only squared hinges of positive weights without a free intercept are quadratic in decision plus slack."
            )
        y, C = np.zeros(n), slack_costs(obj)
        y[obj.labels.labeled] = obj.labels.sign
        errors = None
        if features.is_sparse and features.mu is not None:
            lengths = np.sqrt(np.asarray(features.X.multiply(features.X).sum(axis=1)).ravel())
            errors = 2.0 * _EPS * (lengths + float(np.linalg.norm(features.mu)))
        A = features.matrix
        offset = 0.0 if features.penalty is not None else features.offset
        return cls(A, C, y, offset=offset, total=obj.total, count=obj.count, errors=errors)

    def is_possible(self, labels: FloatArray) -> bool:
        """Whether points with these labels exist: with one sign for all, a balance may forbid them; a count does."""
        if self.count is not None:
            positive, negative = (int((side * labels[self.free] > 0).sum()) for side in (1.0, -1.0))
            return positive <= self.count and negative <= len(self.free) - self.count
        if self.total is None:
            return True
        u, side = len(self.free), float(labels[self.free].sum())
        return abs(side) < u or self.total * np.sign(side) >= u * (1.0 - 1e-12)

    def decided(self, labels: FloatArray) -> FloatArray:
        """Return labels (n,), 0 where open, with those that a count leaves no choice of."""
        if self.count is None:
            return labels
        positive, negative = (int((side * labels[self.free] > 0).sum()) for side in (1.0, -1.0))
        for full, side in ((positive >= self.count, -1.0), (negative >= len(self.free) - self.count, 1.0)):
            if full:
                return np.where(labels == 0, side, labels)
        return labels

    @cached_property
    def quadratic(self) -> Quadratic:
        """J itself."""
        n = len(self.y)
        balance = None if self.total is None else self.balance
        spread = np.sqrt(self.unit) * self.lengths
        c = np.full(n, self.offset)
        return Quadratic(self.Q, c, 0.0, spread, np.zeros(n), balance, self.total or 0.0)

    @cached_property
    def reduced(self) -> Quadratic:
        """J with the balance eliminated."""
        return self.quadratic.reduced()

    @property
    def price(self) -> float:
        """1 / 2 sigma, what (a'x - rhs)^2 costs where the balance is priced; 0 without one."""
        return 0.0 if self.total is None else float(self.C.max()) / (_PRICE * len(self.free))

    @cached_property
    def F(self) -> FloatArray:
        """The lower triangular factor of Q: x = `offset` + F v, J = |v|^2 / 2."""
        return self._factor(self.Q)

    @cached_property
    def priced(self) -> tuple[FloatArray, FloatArray, float]:
        """F, c and kappa with the balance at its price: x = c + F v, J = kappa + |v|^2 / 2 where it holds."""
        if self.total is None:
            return self.F, self.quadratic.c, 0.0
        quadratic = self.quadratic.reduced(0.5 / self.price)
        return self._factor(quadratic.Q), quadratic.c, quadratic.kappa

    @staticmethod
    def _factor(Q: FloatArray) -> FloatArray:
        F = cholesky(np.array(Q, order="F"))
        if F is None:
            raise ArithmeticError("Q is not positive definite in floating point: C |z|^2 is too large")
        return np.ascontiguousarray(F)

    @property
    def allowance(self) -> float:
        """What |v|^2 / 2 may exceed J(x) by, up to J = `highest`, as F F' is not Q: relative to 1 / 2C <= Q."""
        return 4.0 * self.unit * float(self.lengths @ self.lengths) * float(self.C.max()) * self.highest
