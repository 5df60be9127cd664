r"""Derivatives of decisions in the weights of LapSVM and LapRLS, from the factorisation of the fit.

Of a loss that is piecewise quadratic the optimum solves a linear system as long as every label stays on its piece: with
v = theta / 2, f = G v + b at the labelled samples, and V = a u^2 + 2 h u + const in the slack u = 1 - y f,

    f_i + v_i / (c_i a_i) = y_i (1 + h_i / a_i)    on a parabola,
    f_i = y_i (1 - kink)                           at a kink, v_i between its bounds,
    v_i = c_i y_i h_i                              on a line,        sum v = 0.

With R = K S^-1 gamma_I L g the deformed kernel changes by dG v = -R per change of log gamma_I, and by R - G v per
change of log gamma_A, at all samples; so that both derivatives, and those in the weights c of the labels, are solutions
of this system with other right-hand sides. Decisions stay where both gammas and all c are multiplied by one number,
which gives log C. The derivatives of the objective are its parts: those in the variables vanish.

Where a label is at the end of its piece derivatives are one-sided, and where no label ties the intercept it is an
interval; both are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.exceptions import InvalidInputError
from specmargin.losses import Pieces
from specmargin.objectives.lapsvm import LapSVM
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["Derivatives", "Pieced", "derivatives", "derivatives_of", "pieced"]

_KINK = 1e-8
"""Slack up to which a label is at the end of its piece, of the largest decision; and multiplier, of its bound."""
_ROUNDS = 8
_INDEPENDENT = 1e-13  # smallest pivot of free multipliers, of the largest


class Derivatives(NamedTuple):
    """What one problem changes by: columns per change of log gamma_A, of log gamma_I, and of each label's weight."""

    decisions: FloatArray
    """Of all samples, (n, 2 + l)."""
    coefficients: FloatArray
    """Alpha, (n, 2 + l)."""
    intercept: FloatArray
    """(2 + l,)."""
    multipliers: FloatArray
    """Theta, (l, 2 + l)."""
    objective: dict[str, Any]
    """The objective, by the names gamma_A, gamma_I, C (of their logarithms) and label_weights (l,)."""


@dataclass(frozen=True, eq=False)
class Pieced:
    """The optimum as the solution of the linear system of its pieces.

    Parameters
    ----------
    obj : LapSVM
        The problem, reduced.
    at : ndarray of int, of shape (l,)
        The piece of each label.
    free : ndarray of bool, of shape (l,)
        Labels at the kink of the hinge.
    """

    obj: LapSVM
    at: IntArray
    free: BoolArray

    @cached_property
    def square(self) -> FloatArray:
        """The a of each label's piece, (l,)."""
        return self._pieces.square[self.at]

    @cached_property
    def half(self) -> FloatArray:
        """The h of each label's piece, (l,)."""
        return self._pieces.linear[self.at]

    @cached_property
    def curved(self) -> BoolArray:
        """Labels on a parabola; those that are neither at a kink are on lines."""
        return ~self.free & (self.square > 0)

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The slacks between which each label's piece lies."""
        ends = np.array([-np.inf, *self._pieces.kinks, np.inf])
        return ends[self.at], ends[self.at + 1]

    @property
    def _pieces(self) -> Pieces:
        pieces: Pieces | None = self.obj.margin_loss.pieces
        assert pieces is not None
        return pieces

    @property
    def active(self) -> BoolArray:
        """Labels whose multiplier the system determines."""
        return self.free | self.curved

    @cached_property
    def _reduced(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the matrix, a basis of what 1'v = 0 leaves, and the factor on it."""
        on, weights = self.active, self.obj.labels.weights_or_ones
        k = int(on.sum())
        A = self.obj.reduction.G[np.ix_(on, on)].copy()
        A[np.diag_indices(k)] += np.where(
            self.free[on], 0.0, 1.0 / (weights * np.where(self.square > 0, self.square, 1.0))[on]
        )
        basis = sla.helmert(k).T if self.obj.fit_intercept and k else np.eye(k)
        try:
            factor = np.linalg.cholesky(basis.T @ A @ basis)
        except np.linalg.LinAlgError:
            factor = np.zeros((1, 1))
        pivots = factor.diagonal() ** 2
        if len(pivots) and not pivots.min() > _INDEPENDENT * pivots.max():
            raise InvalidInputError(
                "the labels on their margins depend on each other (samples that repeat, or a kernel of lower rank), so "
                "that their multipliers are not unique; take loss='squared_hinge'."
            )
        return A, basis, factor

    def solve(self, right: FloatArray, total: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return v and b of the system with right-hand sides (k, ...), where v adds up to the total."""
        A, basis, factor = self._reduced
        k = len(A)
        if k == 0:
            return np.zeros(right.shape), np.zeros(right.shape[1:])
        intercept = self.obj.fit_intercept
        v = np.broadcast_to(np.asarray(total) / k * intercept, right.shape).copy()
        for _ in range(2):  # the second refines
            v += basis @ sla.cho_solve((factor, True), basis.T @ (right - A @ v)) if basis.size else 0.0
        return v, (right - A @ v).mean(axis=0) * intercept

    @cached_property
    def optimum(self) -> tuple[FloatArray, float]:
        """Its v (l,) and b."""
        on, y, weights = self.active, self.obj.labels.sign, self.obj.labels.weights_or_ones
        v = np.where(on, 0.0, weights * y * self.half)
        target = y * (1.0 + np.where(self.curved, self.half / np.where(self.curved, self.square, 1.0), 0.0))
        v[on], b = self.solve((target - self.obj.reduction.G @ v)[on], -v.sum())
        return v, float(b)


def pieced(obj: LapSVM, f: FloatArray, beta: FloatArray) -> Pieced:
    """Return the system of an optimum from labelled decisions (l,) and multipliers (l,) that are near to it.

    Raises
    ------
    ValueError
        For a loss that is not piecewise quadratic, at a kink, for an intercept that is an interval, and for an answer
        that is too far from the optimum to say which piece a label is on.
    """
    pieces, y, weights = obj.margin_loss.pieces, obj.labels.sign, obj.labels.weights_or_ones
    if pieces is None or not (obj.margin_loss.smooth or obj.margin_loss.box_dual):
        raise InvalidInputError(
            f"loss={obj.loss!r} is not piecewise quadratic, and has no derivatives here; take 'squared_hinge', "
            "'squared', 'huber_hinge' or 'hinge'."
        )
    at, free = _pieces(obj, f, beta)
    for _ in range(_ROUNDS):  # from answers that are not precise, as Newton's method
        system = Pieced(obj, at, free)
        if obj.fit_intercept and not system.active.any():
            raise InvalidInputError(
                "the optimal intercept is an interval: no label is on its margin or a parabola, so that decisions have "
                "no derivative; take loss='squared_hinge', fit_intercept=False, or another weight."
            )
        v, b = system.optimum
        f, beta = obj.reduction.G @ v + b, 2.0 * y * v
        at, free = _pieces(obj, f, beta)
        if (at == system.at)[~free].all() and (free == system.free).all():
            break
    near = _KINK * (1.0 + np.abs(f).max())
    slack, (low, high) = 1.0 - y * f, system.ends
    room = np.minimum(slack - low, high - slack)
    room = np.where(system.free, np.minimum(beta, weights - beta) / weights, room)
    if (room < -near).any():
        raise InvalidInputError(
            f"the answer is not near enough to the optimum to tell the pieces of {(room < -near).sum()} labels; take "
            "solver='factorized' or a smaller tol."
        )
    if (room <= near).any():
        rows = obj.labels.labeled[room <= near]
        more = f" and of {len(rows) - 1} more" * (len(rows) > 1)
        raise InvalidInputError(
            f"the loss has a kink at the decision of sample {rows[0]}{more}: derivatives are one-sided there; change a "
            "weight by a little, or take loss='squared'."
        )
    return system


def _pieces(obj: LapSVM, f: FloatArray, beta: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return the piece of each label, and which labels are at the kink of the hinge."""
    pieces, slack = obj.margin_loss.pieces, 1.0 - obj.labels.sign * f
    assert pieces is not None
    if not obj.margin_loss.box_dual:
        return pieces.index(slack), np.zeros(len(f), dtype=bool)
    rest = obj.labels.weights_or_ones - beta
    return (beta > rest).astype(np.intp), (beta >= -slack) & (rest >= slack)


def derivatives(obj: LapSVM, f: FloatArray, beta: FloatArray) -> Derivatives:
    """Return the derivatives of the optimum of a problem, from an answer as `pieced`.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    >>> labels = sm.encode_labels(sm.hide_labels(y, per_class=4, random_state=0))
    >>> K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=5))
    >>> obj = sm.objectives.LapSVM(K, L, labels, loss="squared_hinge", gamma_A=0.1, gamma_I=1.0)
    >>> answer = sm.solvers.factorized(obj)
    >>> at = derivatives(obj, answer.variables["f"][labels.labeled], answer.variables["beta"])
    >>> total = at.objective["gamma_A"] + at.objective["gamma_I"] + at.objective["C"]
    >>> at.decisions.shape, bool(np.isclose(total, answer.certificate.primal_objective))
    ((60, 10), True)
    """
    return derivatives_of(pieced(obj, f, beta))


def derivatives_of(system: Pieced) -> Derivatives:
    """Return the same from the system of the pieces."""
    obj, (v, b) = system.obj, system.optimum
    G, labeled, y, weights = obj.reduction.G, obj.labels.labeled, obj.labels.sign, obj.labels.weights_or_ones
    alpha = obj.reduction.coefficients(v)
    g = np.asarray(obj.K @ alpha)
    eased, expansion, Lg = np.zeros(len(g)), np.zeros(len(g)), np.zeros(len(g))
    if obj.L is not None and obj.gamma_I > 0:
        Lg = np.asarray(obj.L @ g)
        expansion, eased = obj.reduction.expanded(obj.K, labeled, obj.gamma_I * Lg)
    on = system.active
    direct, own = np.stack([eased - g, -eased], axis=1), np.stack([expansion - alpha, -expansion], axis=1)
    # Columns: log gamma_A, log gamma_I, then the weight of each label.
    right, fixed = np.zeros((len(y), 2 + len(y))), np.zeros((len(y), 2 + len(y)))
    right[:, :2] = -direct[labeled]
    each = np.arange(len(y))
    right[each, 2 + each] = np.where(system.curved, v / (weights**2 * np.where(system.curved, system.square, 1.0)), 0.0)
    fixed[each, 2 + each] = np.where(on, 0.0, y * system.half)
    right -= G @ fixed
    moves = fixed
    moves[on], shift = system.solve(right[on], -fixed.sum(axis=0))
    more = obj.reduction.coefficients(moves)
    decisions = np.asarray(obj.K @ more) + shift
    decisions[:, :2] += direct
    more[:, :2] += own
    losses, intrinsic = obj.margin_loss.value(y * (g[labeled] + b)), obj.gamma_I * float(g @ Lg)
    parts = {"gamma_A": obj.gamma_A * float(alpha @ g), "gamma_I": intrinsic, "C": float(losses.sum())}
    objective = {name: obj.scale * part for name, part in (parts | {"label_weights": losses / weights}).items()}
    return Derivatives(decisions, more, shift, 2.0 * moves, objective)
