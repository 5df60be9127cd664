r"""What the objectives that learn a kernel of a cone together with a classifier share: value, bound and proof.

With labelled rows U (l, q) the kernel is K(delta) = U diag(delta) U', and

    min  1/2 sum_k sum_j v_jk^2 / delta_j + sum_ik loss(y_ik f_ik),   f_k = U v_k + b_k,   delta = A'(kappa + eps),

over kappa >= 0 with c'kappa = rho. With z_k = U'gamma_k and p_j = 1/2 sum_k z_jk^2 the dual is

    max  sum_ik g(y_ik gamma_ik) - rho max_r (A p)_r / c_r - eps sum_r (A p)_r,   1'gamma_k = 0,

rho = 1 - eps sum(c): g is the concave conjugate of the loss (`dual_value`), A and c describe the cone. Two classes are
one k, and the arrays then have one axis less; of several each is told from the rest, and all share one delta: the
sums p are where they meet. A column of U is an eigenvector (`SpectrumMargin`) or a direction of a block of features
(`BlockMargin`), whose columns share one weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives.cones.cone import Cone
from specmargin.objectives.contract import Arrays, ByName, multipliers_of
from specmargin.results import Certificate
from specmargin.rounding import EXTENDED_UNIT, UNIT, bounded_product, extended_product
from specmargin.typing import AnyArray, FloatArray

__all__ = ["MarginOverCone", "SpectrumPoint", "squared_lengths"]

_NEAR = 1e-6
"""Relative gap from which on decisions and scores are computed in extended precision,"""

_MINOR = 1e-2
"""as they are where a bound on the rounding would make up a larger share of the gap."""

_FEASIBLE = 1e-9
"""Violation of the constraints on a spectrum that counts as rounding: such a point is certified as it is."""


class SpectrumPoint(NamedTuple):
    """A feasible point, repaired from a candidate; gamma, v and b have a column per class where there are several."""

    gamma: FloatArray
    kappa: FloatArray
    delta: FloatArray
    v: FloatArray
    b: Any


def squared_lengths(z: FloatArray) -> FloatArray:
    """Return z_j^2, of several classes the sum over them, (q,).

    Examples
    --------
    >>> squared_lengths(np.array([3.0, 1.0])).tolist(), squared_lengths(np.array([[3.0, 1.0], [0.0, 2.0]])).tolist()
    ([9.0, 1.0], [10.0, 4.0])
    """
    return z**2 if z.ndim == 1 else (z**2).sum(axis=1)


def _by_column(
    product: Callable[[FloatArray, FloatArray], tuple[AnyArray, FloatArray]], A: FloatArray, x: FloatArray
) -> tuple[AnyArray, FloatArray]:
    """Return a product and the bounds on its errors, of several classes column by column."""
    if x.ndim == 1:
        return product(A, x)
    products, errors = zip(*(product(A, column) for column in x.T), strict=True)
    return np.column_stack(products), np.column_stack(errors)


class MarginOverCone(ByName):
    """Value, bound and certificate of a classifier and the kernel that is learned with it.

    A subclass is a frozen dataclass with the fields below; its `renew` sets the loss.
    """

    weights_only = frozenset({"C", "B"})
    labels: Labels
    C: float
    B: float
    eps: float
    delta: FloatArray | None
    loss: Any
    """Loss of the margins, as `RelativeMargin` is one."""
    U: FloatArray
    """Labelled rows, (l, q)."""
    cone: Cone
    """The admissible spectra."""
    rho: float
    """Share of the trace that eps leaves free."""
    over_samples: Callable[[FloatArray], FloatArray]
    """The functions of coefficients v at all samples, without an intercept."""

    def _set_free_trace(self, n: int, each: str) -> None:
        """Set `rho`; raise where `eps` leaves nothing to learn."""
        if self.delta is not None and self.eps != 0:
            raise InvalidInputError(
                f"eps={self.eps!r} keeps learned weights apart; with delta given there is nothing to keep."
            )
        total = float(self.cone.c.sum())
        if not (np.isfinite(self.eps) and self.eps >= 0):
            raise InvalidInputError(f"eps={self.eps!r} must be a number >= 0; 0 is exact and the default.")
        if self.eps * total >= 1:
            raise InvalidInputError(
                f"eps={self.eps!r} is too large for {n} {each}s: the least weights alone sum to eps * {total:.0f} = "
                f"{self.eps * total:.3g}, but all sum to 1. Take eps below {1 / total:.1e}, or 0."
            )
        vars(self)["rho"] = 1.0 - self.eps * total

    def value(self, variables: Arrays) -> float:
        """Return the objective; inf where a constraint is violated by more than rounding."""
        v, b, delta = self._read(variables)
        if not self._is_feasible(v, b, delta):
            return np.inf
        return self.primal_objective(SpectrumPoint(np.zeros(0), np.zeros(0), delta, v, b))

    def decisions(self, variables: Arrays) -> FloatArray:
        """Return f at all samples, (n,) or (n, K)."""
        v, b, _ = self._read(variables)
        return self.decisions_at(v, b)

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Measure the gap at ``v``, ``b`` and ``delta``, repaired if infeasible, with the multipliers ``gamma``."""
        point, given, before, share = self.feasible(variables, duals)
        certificate = self.prove(point, given, before)
        return replace(certificate, primal_residual=certificate.primal_residual + (1.0 - share))

    def feasible(
        self, variables: Arrays, duals: Arrays | None = None
    ) -> tuple[SpectrumPoint, FloatArray, FloatArray, float]:
        """Return the point that `certificate` is for, with the multipliers, drops and share of f that it is made of."""
        v, offset, delta = self._read(variables)
        (known,) = multipliers_of({"gamma": self.labels.sign.shape}, duals)
        given = self._multipliers(v, delta) if known is None else known
        gamma = self.loss.nearest_multipliers(self.labels.sign, given)
        before = self.cone.drops(delta) - self.eps
        kappa, share = np.maximum(before, 0.0), 1.0
        if not self._is_feasible(v, offset, delta):
            kappa = self._scaled(kappa)
            delta = self.cone.weights(kappa + self.eps)
            v = v.copy()
            v[~(delta > 0)] = 0.0
            share = self.loss.share_within(self.U @ v + offset)
            v, offset = share * v, share * offset
        return SpectrumPoint(gamma, kappa, delta, v, offset), given, before, share

    def _multipliers(self, v: FloatArray, delta: FloatArray) -> FloatArray:
        """Return the gamma of least |v - delta z|, z = Ubar'gamma."""
        return np.asarray(np.linalg.lstsq(delta[:, None] * self.U.T, v, rcond=None)[0])

    def _is_feasible(self, v: FloatArray, b: Any, delta: FloatArray) -> bool:
        """Whether a point violates no constraint by more than rounding."""
        nearest = self.cone.weights(self._scaled(np.maximum(self.cone.drops(delta) - self.eps, 0.0)) + self.eps)
        if not (np.abs(nearest - delta).max() <= _FEASIBLE and (v[delta <= 0] == 0).all()):
            return False
        return bool(self.loss.holds(self.U @ v + b))

    def _scaled(self, kappa: FloatArray) -> FloatArray:
        """Return drops beyond eps that take up the trace; all rays alike where there are none."""
        total = float(self.cone.c @ kappa)
        return (kappa / total) * self.rho if total > 0 else np.full(self.cone.m, self.rho / self.cone.c.sum())

    def decisions_at(self, v: FloatArray, b: Any) -> FloatArray:
        """Return f = over_samples(v) + b at all samples."""
        return self.over_samples(v) + b

    def dual_bound(self, gamma: FloatArray) -> float:
        """Return the dual objective at balanced multipliers: a lower bound on the optimum."""
        S = self.cone.sums(squared_lengths(self.U.T @ gamma) / 2)
        conjugate = self.loss.dual_value(self.labels.sign * gamma).sum()
        return float(conjugate - self.rho * (S / self.cone.c).max() - self.eps * S.sum())

    def repair(self, gamma: FloatArray, kappa: FloatArray, b: Any, v: FloatArray | None = None) -> SpectrumPoint:
        """Return the best feasible point near a candidate.

        Parameters
        ----------
        gamma : ndarray of shape (l,) or (l, K)
            Multipliers; y alpha - beta + eta of eq. 16 of the spectrum paper.
        kappa : ndarray of shape (m,)
            Multipliers of its quadratic constraints, less eps: `Cone.drops` of a spectrum, less eps.
        b : float or ndarray of shape (K,)
            Intercepts: the multipliers of 1'gamma_k = 0.
        v : ndarray of shape (q,) or (q, K), optional
            Coefficients, where the solver has them. They are as exact as its feasibility, while delta * z, which is
            taken otherwise, inherits the error of delta: the loss then shows it times C.
        """
        y = self.labels.sign
        gamma = self.loss.repair_multipliers(y, gamma)
        kappa = self._scaled(np.maximum(kappa, 0.0))
        delta = self.cone.weights(kappa + self.eps)
        z = self.U.T @ gamma
        candidates = [(delta, (delta if z.ndim == 1 else delta[:, None]) * z)]
        if v is not None:
            candidates.append((delta, v))
            if self.eps == 0:
                candidates.append((self.cone.best_for(v if v.ndim == 1 else np.sqrt(squared_lengths(v))), v))
        points = []
        for spectrum, coefficients in candidates:
            scale, offset = self.loss.repair_decisions(y, self.U @ coefficients, b)
            drops = kappa if spectrum is delta else self.cone.drops(spectrum)
            points.append(SpectrumPoint(gamma, drops, spectrum, scale * coefficients, offset))
        point = min(points, key=self.primal_objective)
        v, b = self.loss.correct_rounding(y, self.U, point.v, point.b, self.primal_objective(point))
        return point._replace(v=v, b=b)

    def solution(self, point: SpectrumPoint) -> dict[str, FloatArray]:
        """Return what solvers and problems give at a repaired point: all variables and multipliers by name."""
        return {
            "delta": point.delta,
            "kappa": point.kappa + self.eps,
            "v": point.v,
            "b": np.asarray(point.b),
            "gamma": point.gamma,
            "f": self.over_samples(point.v) + point.b,
        }

    def prove(
        self, point: SpectrumPoint, gamma: FloatArray | None = None, kappa: FloatArray | None = None
    ) -> Certificate:
        """Measure the gap at a repaired point; with the candidate given also how far the repair moved it."""
        primal = self.primal_objective(point)
        # In extended precision where a bound on the rounding of the two products would be what is left of the gap.
        near = primal - self.dual_bound(point.gamma) < _NEAR * abs(primal)
        for product in (extended_product,) if near else (bounded_product, extended_product):
            primal, upper = self._primal_bounds(point, *_by_column(product, self.U, point.v))
            dual, lower = self._dual_bounds(point.gamma, *_by_column(product, self.U.T, point.gamma))
            rounding = upper - primal + dual - lower + 8 * UNIT * (abs(primal) + abs(dual))
            unbalanced = sum(abs(math.fsum(gamma)) for gamma in np.atleast_2d(point.gamma.T))
            if unbalanced > 0:
                rounding += unbalanced * self._largest_intercept(upper)
            rounding *= 1 + 8 * UNIT
            if rounding <= _MINOR * (primal - dual):
                break
        S = self.cone.sums(squared_lengths(self.U.T @ point.gamma) / 2)
        slack = self.cone.c * (S / self.cone.c).max() - S
        moved = 0.0 if kappa is None else abs(float(self.cone.c @ kappa) / self.rho - 1.0)
        shift = 0.0 if gamma is None else float(np.abs(point.gamma - gamma).max() / max(1e-300, np.abs(gamma).max()))
        return Certificate(
            primal_objective=primal,
            dual_objective=dual,
            primal_residual=moved,
            dual_residual=shift,
            complementarity=float((point.kappa * slack).max() / max(abs(primal), 1e-300)),
            rounding=rounding,
        )

    def _primal_bounds(self, point: SpectrumPoint, f: AnyArray, error: FloatArray) -> tuple[float, float]:
        """Return the primal objective, and a bound on it at an exactly feasible point, from the decisions without b."""
        loss, most = self.loss.value_bounds(self.labels.sign, f, error, point.b)
        squares = squared_lengths(point.v.astype(np.longdouble))
        with np.errstate(divide="ignore", invalid="ignore"):
            norms = [
                float(np.where(squares == 0, 0, squares / delta).sum() / 2)
                for delta in (self.cone.admissible(point.delta, self.eps), point.delta)
            ]
        terms = len(point.delta) + point.v.size // len(point.delta) - 1
        slack = 1 + 16 * (terms + 4) * EXTENDED_UNIT / self.rho
        return norms[0] + loss, max(norms) * slack + most

    def _dual_bounds(self, gamma: FloatArray, z: AnyArray, error: FloatArray) -> tuple[float, float]:
        """Return the dual objective at multipliers, and a bound below it, from the scores z."""
        conjugate, least = self.loss.dual_bounds(self.labels.sign * gamma)
        rho = 1 - np.longdouble(self.eps) * np.longdouble(self.cone.c.sum())  # `rho` has the rounding of float64
        quadratic = []
        for sizes in (z, np.abs(z) + error):
            squares: AnyArray = squared_lengths(sizes.astype(np.longdouble))
            S = self.cone.sums(squares) / 2
            quadratic.append(rho * (S / self.cone.c).max() + self.eps * S.sum())
        terms = len(z) + z.size // len(z) - 1
        slack = 1 + 8 * (terms + 4) * EXTENDED_UNIT / self.rho
        return float(conjugate - quadratic[0]), float(least - quadratic[1] * slack)

    def _largest_intercept(self, primal: float) -> float:
        """Return a bound on every |b_k| at some optimum.

        There |f| <= B, or a margin of the hinge is on its kink. Residuals of a squared loss balance, or there are
        none, and then b may move until a margin is one.
        """
        free = self.loss.B if np.isfinite(self.loss.B) else 1.0
        S = self.cone.sums((self.U**2).T)
        # The diagonal of any admissible kernel is at most this.
        largest = float((self.rho * (S / self.cone.c[:, None]).max(axis=0) + self.eps * S.sum(axis=0)).max())
        return 1.001 * (free + math.sqrt(2 * primal * largest))

    def primal_objective(self, point: SpectrumPoint) -> float:
        """Return `value` at a repaired point, whose decisions touch the bound B up to rounding."""
        v, delta = point.v, point.delta if point.v.ndim == 1 else point.delta[:, None]
        f = np.clip(self.U @ v + point.b, -self.loss.B, self.loss.B)
        with np.errstate(divide="ignore", invalid="ignore"):
            norm = 0.5 * float(np.where(v == 0, 0.0, v**2 / delta).sum())
        return norm + float(self.loss.value(self.labels.sign * f).sum())
