r"""The semidefinite relaxation of the S3VM objective and its dual: lower bounds on the global optimum.

J(w) = 1/2 |w|^2 + C sum_labelled V(y_i f_i) + C* sum_unlabelled v(f_j^2), f = Z w + b with a fixed b, where V is convex
and never rises, and v is convex and decreasing, or has such an envelope below it
(`specmargin.optima.minorants`). Writing W for w w' and relaxing it to W >= w w' gives

    min  1/2 tr W + C sum V(y_i f_i) + C* sum v(s_j),     s_j = z_j'W z_j + 2 b z_j'w + b^2,

which is convex. **Its dual** puts a parabola h(theta_j) - theta_j f_j^2 / 2 below the loss of every unlabelled sample
and a line V*(beta_i) - beta_i y_i f_i below that of every labelled one; what is left is quadratic in w. With
A(theta) = I - sum theta_j z_j z_j' positive definite and q = b sum theta_j z_j + C sum beta_i y_i z_i,

    LB(theta, beta) = sum_j [h(theta_j) - theta_j b^2 / 2] + C sum_i [V*(beta_i) - beta_i y_i b] - 1/2 q'A^-1 q,

jointly concave. *Every* theta >= 0 with A(theta) > 0 and every beta in the bounds of V* give a lower bound: nothing
has to be solved well, or at all. The strong convexity of the inner problem in w is in it: with beta = -V'(y f) at a
point w, LB is the inner objective at w less 1/2 g'A^-1 g, g its gradient there.

**Some sides decided.** Where the label of an unlabelled sample is taken as known (`signs`), as in
branch and bound, it becomes one more labelled sample of weight C* with the loss `Minorant.branch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla

from specmargin.checks import checked, instance
from specmargin.exceptions import InvalidInputError
from specmargin.losses import MarginLoss
from specmargin.objectives.contract import Arrays, ByName, Shapes, multipliers_of
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import relaxation_rounding as proof
from specmargin.optima.minorants import Minorant, minorant
from specmargin.optima.row_space import RowSpace
from specmargin.results import Certificate
from specmargin.typing import FloatArray, IntArray

__all__ = ["S3VMRelaxation"]

_FEASIBLE = 1e-9
"""Relative violation of the constraints that counts as rounding."""


@dataclass(frozen=True, eq=False)
class S3VMRelaxation(ByName):
    """The relaxation of an S3VM, some labels of unlabelled samples possibly decided.

    Parameters
    ----------
    obj : S3VM
        Objective with V a convex loss that never rises, U one of the symmetric hinges, exp(-s f^2) or the symmetric
        ramp, and the intercept "balance" or "regularized".
    signs : ndarray of shape (u,), optional
        Decided labels of the unlabelled samples: +1, -1, or 0 where free. Default: all free, as with a ramp that has a
        plateau, of which a side is no convex loss.
    space : RowSpace, optional
        Row space of the objective, where it is known.

    Raises
    ------
    ValueError
        For a free intercept, whose relaxation is unbounded below, and for losses that the bounds do not cover.

    Notes
    -----
    The matrix ``M`` = [[1, w'], [w, W]], (rank + 1, rank + 1), decides the value, in the coordinates of `space`. The
    multipliers of `certificate` are ``theta`` (u,), those of the free samples, and ``beta`` (m,), those of the labelled
    and decided ones; by default the slopes of the losses.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> obj = S3VM(np.array([[-2.0], [2.0], [-1.0], [1.0]]), encode_labels([0, 1, -1, -1]), C=1.0)
    >>> relaxation = S3VMRelaxation(obj)
    >>> theta = relaxation.repair(np.array([9.0, 9.0]))
    >>> theta.round(6).tolist(), bool(relaxation.dual_bound(0.5 * theta, np.ones(2)) <= obj.value({"w": [0.8]}))
    ([0.5, 0.5], True)
    """

    obj: S3VM
    signs: Any = None
    space: Any = None
    minorant: Minorant = field(init=False)
    """The parabolas below the losses of the free samples."""
    rank: int = field(init=False)
    """Number of coordinates of w that matter."""
    offset: float = field(init=False)
    """The fixed part b of the decisions."""
    largest: float = field(init=False)
    """A theta beyond which nothing is gained."""
    free: IntArray = field(init=False)
    """Which unlabelled samples are free, as indices into them, (k,); none where C* = 0."""
    decided: IntArray = field(init=False)
    """Which unlabelled samples have a decided label, as indices into them; none where C* = 0."""
    known: IntArray = field(init=False)
    """Which samples are labelled or decided, as indices into all samples, (m,)."""
    y: FloatArray = field(init=False)
    """Labels of the labelled and of the decided samples, (m,)."""
    weights: FloatArray = field(init=False)
    """C for the labelled samples, C* for the decided ones, (m,)."""

    def __post_init__(self) -> None:
        obj, signs = self.obj, self.signs
        obj.require_weights()
        if obj.features.penalty not in (None, 1.0):
            raise InvalidInputError(
                "the relaxation is unbounded for a free intercept; use intercept='balance' or 'regularized' "
                "(without unlabelled samples only 'regularized' is not free)."
            )
        if not (getattr(obj.loss, "convex", False) and getattr(obj.loss, "nonincreasing", False)):
            raise InvalidInputError(f"the bounds cover convex losses of the margin that never rise, not {obj.loss!r}.")
        object.__setattr__(self, "minorant", minorant(obj.unlabeled_loss))
        u = len(obj.unlabeled)
        signs = np.zeros(u) if signs is None else np.asarray(signs, dtype=float)
        if signs.shape != (u,) or not np.isin(signs, (-1.0, 0.0, 1.0)).all():
            raise InvalidInputError(
                f"signs must hold {u} numbers, +1 or -1 where a label is decided and 0 where it is free."
            )
        if signs.any() and not obj.unlabeled_loss.convex_in_square:
            raise InvalidInputError(f"signs are decided, but a side of {obj.unlabeled_loss!r} is no convex loss.")
        space = RowSpace.of(obj) if self.space is None else self.space
        free, decided = (np.flatnonzero(each) if obj.C_star else np.zeros(0, np.intp) for each in (signs == 0, signs))
        y = np.concatenate([obj.labels.sign, signs[decided]])
        weights = np.full(len(y), obj.C_star)
        weights[: obj.labels.n_labeled] = obj.costs
        vars(self).update(
            signs=signs,
            space=space,
            rank=space.Z.shape[1],
            offset=obj.features.offset,
            largest=self.minorant.largest * obj.C_star,
            free=free,
            decided=decided,
            known=np.concatenate([obj.labels.labeled, obj.unlabeled[decided]]),
            y=y,
            weights=weights,
        )

    name = "S3VM relaxation"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"M": (self.rank + 1, self.rank + 1)}

    def with_(self, **changes: Any) -> S3VMRelaxation:
        """Return the relaxation with fields changed: other `signs` share the coordinates, another `obj` has its own."""
        return super().with_(**({"space": None, **changes} if "obj" in changes else changes))

    def value(self, variables: Arrays) -> float:
        """Return the relaxed objective at ``M``; inf where that is not feasible up to rounding."""
        (M,) = self._read(variables)
        scale = max(1.0, float(np.abs(M).max()))
        off = max(abs(float(M[0, 0]) - 1.0), float(np.abs(M - M.T).max()), -float(np.linalg.eigvalsh((M + M.T) / 2)[0]))
        return self.value_at(*self.point_of(M)) if off <= _FEASIBLE * scale else np.inf

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Return `prove` at ``M``, repaired, with the multipliers ``theta`` and ``beta`` where they are given."""
        (M,) = self._read(variables)
        w, spread, trace = self.point_of(M)
        given, beta = multipliers_of({"theta": (len(self.signs),), "beta": self.y.shape}, duals)
        theta = self._slopes(w, spread) if given is None else given[self.free]
        beta = self.multipliers(w) if beta is None else beta
        certificate = self.prove(w, spread, trace, theta, beta)
        if certificate.dual_objective > 0.0 or not len(theta):
            return certificate
        return self.prove(w, spread, trace, *self.best_inwards(theta, beta))

    def decisions_at(self, M: FloatArray) -> FloatArray:
        """Return the decisions of the w in M at all samples, (n,)."""
        return self.obj.decisions_at(self.expand(self.point_of(M)[0]))

    def point_of(self, M: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return w, and z_j'S z_j of the free samples and tr S of the positive semidefinite part of S = W - w w'.

        Parameters
        ----------
        M : ndarray of shape (rank + 1, rank + 1)
            [[1, w'], [w, W]], up to a factor.
        """
        M = M / M[0, 0]
        w, W = M[0, 1:], M[1:, 1:]
        S = W - np.outer(w, w)
        eigenvalues, vectors = np.linalg.eigh((S + S.T) / 2)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        return w, ((self.Z_free @ vectors) ** 2) @ eigenvalues, float(eigenvalues.sum())

    def _slopes(self, w: FloatArray, spread: FloatArray) -> FloatArray:
        """Return theta = -2 C* v'(s) of the free samples, where U(f) = v(f^2), (k,)."""
        f = np.sqrt((self.Z_free @ w + self.offset) ** 2 + spread)
        slope = -self.obj.C_star * self.obj.unlabeled_loss.gradient(f)
        return np.divide(slope, f, out=np.full(len(f), self.largest), where=f > 0)

    def over_unlabeled(self, theta: FloatArray) -> FloatArray:
        """Return multipliers of the free samples as those of all unlabelled ones, (u,), 0 for the others."""
        full = np.zeros(len(self.signs))
        full[self.free] = theta
        return full

    @cached_property
    def Z_free(self) -> FloatArray:
        """Rows of the free samples, (k, rank)."""
        return np.ascontiguousarray(self.space.Z[self.obj.unlabeled[self.free]])

    @cached_property
    def Z_known(self) -> FloatArray:
        """Rows of the labelled samples, then of the decided ones, (m, rank)."""
        return np.ascontiguousarray(self.space.Z[self.known])

    @cached_property
    def lengths(self) -> tuple[FloatArray, FloatArray]:
        """Lengths of the rows of the free and of the known samples."""
        lengths = self.space.lengths
        return lengths[self.obj.unlabeled[self.free]], lengths[self.known]

    @cached_property
    def errors(self) -> tuple[FloatArray, FloatArray]:
        """Errors of the rows of the free and of the known samples."""
        errors = np.broadcast_to(np.asarray(self.space.errors, dtype=float), self.space.lengths.shape)
        return errors[self.obj.unlabeled[self.free]], errors[self.known]

    @cached_property
    def groups(self) -> tuple[tuple[slice, MarginLoss], ...]:
        """The losses of the margin and who has them: V, and that of a decided side."""
        l, loss, branch = self.obj.labels.n_labeled, self.obj.loss, self.minorant.branch
        if type(loss) is type(branch) or not len(self.decided):
            return ((slice(None), loss),)
        return ((slice(0, l), loss), (slice(l, None), branch))

    @cached_property
    def upper(self) -> FloatArray:
        """Largest multipliers of the known samples, (m,); infinite for the squared hinge. The smallest are 0."""
        return self._by_loss(lambda loss, group: loss.upper)

    def _by_loss(self, of: Callable[[MarginLoss, slice], Any]) -> FloatArray:
        """Return numbers of the known samples, (m,), from what a loss says of those that have it."""
        out = np.empty(len(self.y))
        for group, loss in self.groups:
            out[group] = of(loss, group)
        return out

    # The dual

    def minorant_values(self, theta: FloatArray) -> FloatArray:
        """h(theta) of the free samples, C* included, (k,)."""
        c = self.obj.C_star
        return c * self.minorant.value(theta / c)

    def minorant_derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of `minorant_values`."""
        first, second = self.minorant.derivatives(theta / self.obj.C_star)
        return first, second / self.obj.C_star

    def dual_values(self, beta: FloatArray) -> FloatArray:
        """V*(beta) of the known samples, without weights, (m,)."""
        return self._by_loss(lambda loss, group: loss.dual_value(beta[group]))

    def dual_value_derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of `dual_values`."""
        parts = [loss.dual_derivatives(beta[group]) for group, loss in self.groups]
        return np.concatenate([first for first, _ in parts]), np.concatenate([second for _, second in parts])

    def multipliers(self, w: FloatArray) -> FloatArray:
        """Return the multipliers beta = -V'(y f) at a point w of the row space, (m,)."""
        t = self.y * (self.Z_known @ w + self.offset)
        return self._by_loss(lambda loss, group: -loss.gradient(t[group]))

    def linear(self, theta: FloatArray, beta: FloatArray) -> FloatArray:
        """Return q = b sum theta_j z_j + sum c_i beta_i y_i z_i, (rank,)."""
        return self.offset * (theta @ self.Z_free) + (self.weights * beta * self.y) @ self.Z_known

    def matrix(self, theta: FloatArray) -> FloatArray:
        """Return A(theta) = I - sum theta_j z_j z_j', (rank, rank)."""
        scaled = np.sqrt(theta)[:, None] * self.Z_free
        A = -(scaled.T @ scaled)
        A[np.diag_indices(len(A))] += 1.0
        return A

    def repair(self, theta: FloatArray) -> FloatArray:
        """Return theta clipped to be nonnegative and scaled until A(theta) is positive definite, (k,).

        Its factor is min(1, (1 - 1e-9) / lambda_max(sum theta_j z_j z_j')), a little less where rounding asks for it.
        """
        theta = np.asarray(theta, dtype=float)
        if theta.shape != self.free.shape:
            raise InvalidInputError(
                f"theta must hold {len(self.free)} numbers, one per free sample, got {theta.shape}."
            )
        theta = np.minimum(np.nan_to_num(np.maximum(theta, 0.0), nan=0.0, posinf=0.0), self.largest)
        if not len(theta) or not self.rank:
            return theta
        scaled = np.sqrt(theta)[:, None] * self.Z_free
        small = scaled @ scaled.T if len(theta) < self.rank else scaled.T @ scaled
        k = len(small)
        top = float(sla.eigh(small, eigvals_only=True, subset_by_index=[k - 1, k - 1], check_finite=False)[0])
        margin = max(1e-9, 4.0 * proof.definiteness_shift(self, theta / max(top, 1.0)))
        return theta * min(1.0, (1.0 - margin) / max(top, 1e-300))

    def inwards(self, theta: FloatArray) -> Iterator[FloatArray]:
        """Yield theta, repaired, and smaller multiples of it.

        Where A(theta) is nearly singular the bound is poor, and the boundary is where inexact solvers end.
        """
        theta = self.repair(theta)
        for factor in (1.0, 1 - 1e-7, 1 - 1e-6, 1 - 1e-5, 1 - 1e-4, 0.999, 0.99, 0.9, 0.5, 0.0):
            yield factor * theta

    def best_inwards(self, theta: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the multipliers of the best bound among theta drawn `inwards` with beta, and none at all."""
        pairs = [(inside, beta) for inside in self.inwards(theta)]
        bounds = [self.dual_bound(*pair) for pair in pairs]
        best = int(np.argmax(bounds))
        return pairs[best] if bounds[best] > 0.0 else (np.zeros_like(theta), np.zeros_like(beta))

    def minimizer(self, theta: FloatArray, beta: FloatArray) -> FloatArray | None:
        """Return w = A^-1 q, what minimises the minorant of J; None where A(theta) is not positive definite."""
        proved = proof.proved_factor(self, theta)
        return None if proved is None else proof.solved(self, proved[0], theta, self.linear(theta, beta))

    def dual_bound(self, theta: FloatArray, beta: FloatArray) -> float:
        r"""Return a proved lower bound on J, also against rounding; -inf where A(theta) > 0 cannot be proved.

        For any w, with r = q - A w,

            LB = 1/2 |w|^2 + sum [h - theta f^2 / 2] + sum c [V*(beta) - beta y f] - 1/2 r'A^-1 r,

        which is evaluated at the computed w = A^-1 q. Then (i) r'A^-1 r <= |r|^2 / lambda_min, lambda_min from the
        proof of definiteness and |r| with the roundings it was computed with; (ii) every term is charged
        (n + rank + 20) roundings of its own largest part, |z||w| instead of z'w; (iii) both are those of the
        features themselves, whose rows are off by `RowSpace.errors`.

        Parameters
        ----------
        theta : ndarray of shape (k,)
            Multipliers of the free samples; negative ones count as 0.
        beta : ndarray of shape (m,)
            Multipliers of the labelled and decided samples; clipped to the bounds of V*.
        """
        theta = np.maximum(theta, 0.0)
        if not np.isfinite(theta).all():
            return -np.inf
        return self.minorant_bound(theta, self.minorant_values(theta), np.zeros_like(theta), beta)

    minorant_bound = proof.minorant_bound
    rounding = proof.value_rounding

    # The primal

    def value_at(self, w: FloatArray, spread: FloatArray, trace: float) -> float:
        """Return the relaxed objective at w and W = w w' + S, S positive semidefinite.

        Parameters
        ----------
        w : ndarray of shape (rank,)
            Weights in the row space.
        spread : ndarray of shape (k,)
            z_j'S z_j of the free samples.
        trace : float
            tr S.
        """
        f = self.Z_free @ w + self.offset
        t = self.y * (self.Z_known @ w + self.offset)
        value = 0.5 * (float(w @ w) + trace) + self.obj.C_star * float(self.minorant.relaxed(f**2 + spread).sum())
        for group, loss in self.groups:
            value += float(self.weights[group] @ loss.value(t[group]))
        return float(value)

    def prove(
        self, w: FloatArray, spread: FloatArray, trace: float, theta: FloatArray, beta: FloatArray
    ) -> Certificate:
        """Return the relaxation's own gap: its value at (w, w w' + S) and the proved bound of (theta, beta).

        The multipliers count as they are, which is nothing outside their domain (`best_inwards` leads into it). The gap
        tells how well the relaxation was solved, not how tight it is.
        """
        bound = max(0.0, self.dual_bound(theta, beta))
        value = self.value_at(w, spread, trace)
        return Certificate(value, bound, rounding=self.rounding(w, spread, trace))

    def expand(self, w: FloatArray) -> FloatArray:
        """Return the weights of the objective, (size,), at coordinates of the row space."""
        return self.space.V @ w

    def coordinates(self, w: FloatArray) -> FloatArray:
        """Return the coordinates of weights of the objective in the row space, (rank,)."""
        return self.space.V.T @ w


S3VMRelaxation.__init__ = checked(obj=instance(S3VM, "pass specmargin.objectives.S3VM(X, labels)"))(  # type: ignore[method-assign]
    S3VMRelaxation.__init__
)
