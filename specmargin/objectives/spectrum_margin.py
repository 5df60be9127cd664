r"""Learning the spectrum of a graph Laplacian: STORM, STOAM and MKL by a (relative) margin, KTA by alignment.

Given the q lowest eigenvectors U of a Laplacian, a spectrum delta >= 0 with sum 1 makes the kernel
K = U diag(delta) U'. `SpectrumMargin` learns delta together with the classifier (eq. 7 of the spectrum paper):

    min  1/2 sum_j v_j^2 / delta_j + C sum_i xi_i
    s.t. f = Ubar v + b,  y_i f_i >= 1 - xi_i,  xi >= 0,  |f_i| <= B,  delta in the cone,  sum(delta) = 1,

with Ubar the labelled rows. Ordered it is STORM (B finite) or STOAM (B = inf), unordered MKL-R or MKL-S.

**Units.** Everything is in scaled units: eigenvectors times sqrt(n), so that the mean of K_ii is one and C is "per
unit mean kernel diagonal". In the paper's own units C is n times as large, and so is the objective. Unscaled,
interior-point solvers lose half their digits.

**Duality.** With z = Ubar'gamma and p = z^2 / 2 the dual is

    max_gamma  sum_i g(y_i gamma_i) - rho max_r (A p)_r / c_r - eps sum_r (A p)_r,   1'gamma = 0,

rho = 1 - eps sum(c): g is the concave conjugate of the loss (`RelativeMargin.dual_value`), A and c describe the
cone. Any balanced gamma bounds the optimum from below; any kappa >= 0 with c'kappa = rho gives a spectrum
delta = A'(kappa + eps) and with v = delta z a feasible point above. `SpectrumMargin.prove` evaluates both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives.cone import Cone, FixedSpectrum
from specmargin.objectives.contract import Arrays, Shapes, changed, multipliers_of, read, require_fields
from specmargin.objectives.over_spectrum import OverSpectrum
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.results import Certificate
from specmargin.rounding import EXTENDED_UNIT, UNIT, bounded_product, extended_product
from specmargin.spectra import Spectrum
from specmargin.typing import AnyArray, FloatArray

__all__ = ["SpectrumMargin", "SpectrumPoint"]

_NEAR = 1e-6
"""Relative gap from which on decisions and scores are computed in extended precision,"""

_MINOR = 1e-2
"""as they are where a bound on the rounding would make up a larger share of the gap."""

_FEASIBLE = 1e-9
"""Violation of the constraints on a spectrum that counts as rounding: such a point is certified as it is."""


class SpectrumPoint(NamedTuple):
    """A feasible point of `SpectrumMargin`, repaired from a candidate."""

    gamma: FloatArray
    kappa: FloatArray
    delta: FloatArray
    v: FloatArray
    b: float


@dataclass(frozen=True, eq=False)
class SpectrumMargin(OverSpectrum):
    """Large absolute or relative margin, jointly over the classifier and the spectrum.

    Parameters
    ----------
    spectrum : Spectrum or sequence of Spectrum
        The q lowest eigenpairs of a Laplacian of n samples. Of several graphs over the same samples each keeps an
        order of its own, and one problem shares the trace among them: delta is the concatenation of their spectra.
    labels : Labels
        Binary labels of these samples. Their weights, where they have such, multiply C.
    C : float
        Weight of the loss per unit mean kernel diagonal, > 0.
    B : float, default inf
        Bound on the labelled decisions. Only 1 < B < max |f| of the unbounded solution changes anything.
    order : bool, default True
        Whether the spectrum is nonincreasing (STORM, STOAM) or free (MKL).
    eps : float, default 0
        Least drop between consecutive weights. The paper needs eps > 0 for its derivation (1e-6); zero is exact.
        It fixes a share eps * sum(c) of the trace, which must stay below one.
    ties : bool, default True
        Whether equal eigenvalues get equal weights (ordered spectra only).
    delta : ndarray of shape (q,), optional
        Keep the spectrum at these weights, scaled to sum one: what is left to learn is an SVM or a relative margin
        machine on the kernel U diag(delta) U'. `order`, `eps` and `ties` then play no part.

    Raises
    ------
    ValueError
        For C <= 0, B < 0, eps < 0 or too large for q, or labels, spectra or weights that do not match.

    Notes
    -----
    ``v`` (q,), ``b`` and ``delta`` (q,) decide the value. The multipliers of `certificate` are ``gamma`` (l,), by
    default those of least squares |v - delta z|.

    Examples
    --------
    >>> from specmargin.graphs import knn_graph
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.spectra import laplacian_eigenpairs
    >>> X = np.arange(8.0)[:, None]
    >>> spectrum = laplacian_eigenpairs(knn_graph(X, n_neighbors=2), q=4)
    >>> obj = SpectrumMargin(spectrum, encode_labels([0, -1, -1, -1, -1, -1, -1, 1]), C=1.0)
    >>> point = obj.repair(gamma=np.array([-0.1, 0.1]), kappa=np.ones(4), b=0.0)
    >>> obj.certificate({"v": point.v, "b": point.b, "delta": point.delta}, {"gamma": point.gamma}).relative_gap < 1
    True
    """

    spectrum: Spectrum | Sequence[Spectrum]
    labels: Labels
    C: float = 1.0
    B: float = np.inf
    order: bool = True
    eps: float = 0.0
    ties: bool = True
    delta: FloatArray | None = None
    loss: RelativeMargin = field(init=False)
    """The loss of one sample."""

    def __post_init__(self) -> None:
        _ = self.U  # which checks spectra and labels
        object.__setattr__(self, "loss", RelativeMargin.of(self.C, self.B, self.labels.weights))
        if self.delta is not None and np.shape(self.delta) != (self.q,):
            raise InvalidInputError(
                f"delta has the shape {np.shape(self.delta)}; pass one weight per eigenvector, ({self.q},)."
            )
        if self.delta is not None and self.eps != 0:
            raise InvalidInputError(
                f"eps={self.eps!r} keeps learned weights apart; with delta given there is nothing to keep."
            )
        total = float(self.cone.c.sum())
        if not (np.isfinite(self.eps) and self.eps >= 0):
            raise InvalidInputError(f"eps={self.eps!r} must be a number >= 0; 0 is exact and the default.")
        if self.eps * total >= 1:
            raise InvalidInputError(
                f"eps={self.eps!r} is too large for q={self.q}: the least drops alone sum to eps * {total:.0f} = "
                f"{self.eps * total:.3g}, but the spectrum sums to 1. Take eps below {1 / total:.1e}, or 0."
            )

    @cached_property
    def cone(self) -> Cone:
        """The admissible spectra; one ray where `delta` is given."""
        return super().cone if self.delta is None else FixedSpectrum(self.delta)

    @property
    def rho(self) -> float:
        """Share of the trace that eps leaves free."""
        return 1.0 - self.eps * float(self.cone.c.sum())

    @property
    def name(self) -> str:
        """STORM, STOAM, MKL-R or MKL-S; RMM or SVM where the spectrum is given."""
        relative = np.isfinite(self.B)
        if self.delta is not None:
            return "RMM" if relative else "SVM"
        if self.order:
            return "STORM" if relative else "STOAM"
        return "MKL-R" if relative else "MKL-S"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"v": (self.q,), "b": (), "delta": (self.q,)}

    def with_(self, **changes: Any) -> SpectrumMargin:
        """Return the same problem with fields changed; another C or B shares the eigenvectors' rows and the cone."""
        require_fields(self, changes)
        if changes.keys() - {"C", "B"}:
            return replace(self, **changes)
        new = {"C": self.C, "B": self.B, **changes}
        return changed(self, {**changes, "loss": RelativeMargin.of(new["C"], new["B"], self.labels.weights)})

    def value(self, variables: Arrays) -> float:
        """Return the objective; inf where a constraint is violated by more than rounding."""
        v, b, delta = read(self.variables, variables)
        if not self._is_feasible(v, float(b), delta):
            return np.inf
        return self.primal_objective(SpectrumPoint(np.zeros(0), np.zeros(0), delta, v, float(b)))

    def decisions(self, variables: Arrays) -> FloatArray:
        """Return f at all samples, (n,)."""
        v, b, _ = read(self.variables, variables)
        return self.decisions_at(v, float(b))

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Measure the gap at ``v``, ``b`` and ``delta``, repaired if infeasible, with the multipliers ``gamma``."""
        v, b, delta = read(self.variables, variables)
        (known,) = multipliers_of({"gamma": (self.labels.n_labeled,)}, duals)
        given = self._multipliers(v, delta) if known is None else known
        gamma = self.loss.nearest_multipliers(self.labels.sign, given)
        before = self.cone.drops(delta) - self.eps
        if self._is_feasible(v, float(b), delta):
            return self.prove(SpectrumPoint(gamma, np.maximum(before, 0.0), delta, v, float(b)), given, before)
        kappa = self._scaled(np.maximum(before, 0.0))
        delta = self.cone.weights(kappa + self.eps)
        v = np.where(delta > 0, v, 0.0)
        share = self.loss.share_within(self.U @ v + float(b))
        certificate = self.prove(SpectrumPoint(gamma, kappa, delta, share * v, share * float(b)), given, before)
        return replace(certificate, primal_residual=certificate.primal_residual + 1.0 - share)

    def _multipliers(self, v: FloatArray, delta: FloatArray) -> FloatArray:
        """Return the gamma of least |v - delta z|, z = Ubar'gamma."""
        return np.asarray(np.linalg.lstsq(delta[:, None] * self.U.T, v, rcond=None)[0])

    def _is_feasible(self, v: FloatArray, b: float, delta: FloatArray) -> bool:
        """Whether a point violates no constraint by more than rounding."""
        nearest = self.cone.weights(self._scaled(np.maximum(self.cone.drops(delta) - self.eps, 0.0)) + self.eps)
        if not (np.abs(nearest - delta).max() <= _FEASIBLE and (v[delta <= 0] == 0).all()):
            return False
        return self.loss.holds(self.U @ v + b)

    def _scaled(self, kappa: FloatArray) -> FloatArray:
        """Return drops beyond eps that take up the trace; all rays alike where there are none."""
        total = float(self.cone.c @ kappa)
        return (kappa / total) * self.rho if total > 0 else np.full(self.cone.m, self.rho / self.cone.c.sum())

    def decisions_at(self, v: FloatArray, b: float) -> FloatArray:
        """Return f = sqrt(n) U v + b at all samples."""
        return self.over_samples(v) + b

    def value_at(self, v: FloatArray, b: float, delta: FloatArray) -> float:
        """Return the primal objective at a spectrum; inf where v_j != 0 meets delta_j = 0 or |f| > B."""
        return self._norm(v, delta) + float(self.loss.value(self.labels.sign * (self.U @ v + b)).sum())

    @staticmethod
    def _norm(v: FloatArray, delta: FloatArray) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return 0.5 * float(np.where(v == 0, 0.0, v**2 / delta).sum())

    def dual_bound(self, gamma: FloatArray) -> float:
        """Return the dual objective at balanced multipliers: a lower bound on the optimum."""
        S = self.cone.sums((self.U.T @ gamma) ** 2 / 2)
        conjugate = self.loss.dual_value(self.labels.sign * gamma).sum()
        return float(conjugate - self.rho * (S / self.cone.c).max() - self.eps * S.sum())

    def repair(self, gamma: FloatArray, kappa: FloatArray, b: float, v: FloatArray | None = None) -> SpectrumPoint:
        """Return the best feasible point near a candidate.

        Parameters
        ----------
        gamma : ndarray of shape (l,)
            Multipliers y alpha - beta + eta of eq. 16.
        kappa : ndarray of shape (m,)
            Multipliers of its quadratic constraints, less eps: `SpectrumCone.drops` of a spectrum, less eps.
        b : float
            Intercept: the multiplier of 1'gamma = 0.
        v : ndarray of shape (q,), optional
            Coefficients, where the solver has them. They are as exact as its feasibility, while delta * z, which is
            taken otherwise, inherits the error of delta: the loss then shows it times C.
        """
        y = self.labels.sign
        gamma = self.loss.repair_multipliers(y, gamma)
        kappa = self._scaled(np.maximum(kappa, 0.0))
        delta = self.cone.weights(kappa + self.eps)
        candidates = [(delta, delta * (self.U.T @ gamma))]
        if v is not None:
            candidates.append((delta, v))
            if self.eps == 0:
                candidates.append((self.cone.best_for(v), v))
        points = []
        for spectrum, coefficients in candidates:
            scale, offset = self.loss.repair_decisions(y, self.U @ coefficients, b)
            drops = kappa if spectrum is delta else self.cone.drops(spectrum)
            points.append(SpectrumPoint(gamma, drops, spectrum, scale * coefficients, offset))
        point = min(points, key=self.primal_objective)
        v, b = self.loss.correct_rounding(y, self.U, point.v, point.b, self.primal_objective(point))
        return point._replace(v=v, b=b)

    def prove(
        self, point: SpectrumPoint, gamma: FloatArray | None = None, kappa: FloatArray | None = None
    ) -> Certificate:
        """Measure the gap at a repaired point; with the candidate given also how far the repair moved it."""
        primal, dual, rounding = self._measured(point)
        S = self.cone.sums((self.U.T @ point.gamma) ** 2 / 2)
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

    def _measured(self, point: SpectrumPoint) -> tuple[float, float, float]:
        """Return the primal and the dual objective, and a bound on the rounding of both together.

        The two products with U are computed in extended precision where a bound on their float64 rounding would be
        what is left of the gap.
        """
        primal = self.primal_objective(point)
        near = primal - self.dual_bound(point.gamma) < _NEAR * abs(primal)
        for product in (extended_product,) if near else (bounded_product, extended_product):
            primal, upper = self._primal_bounds(point, *product(self.U, point.v))
            dual, lower = self._dual_bounds(point.gamma, *product(self.U.T, point.gamma))
            rounding = upper - primal + dual - lower + 8 * UNIT * (abs(primal) + abs(dual))
            unbalanced = abs(math.fsum(point.gamma))
            if unbalanced > 0:
                rounding += unbalanced * self._largest_intercept(upper)
            rounding *= 1 + 8 * UNIT
            if rounding <= _MINOR * (primal - dual):
                break
        return primal, dual, rounding

    def _primal_bounds(self, point: SpectrumPoint, f: AnyArray, error: FloatArray) -> tuple[float, float]:
        """Return the primal objective, and a bound on it at an exactly feasible point, from the decisions without b."""
        loss, most = self.loss.value_bounds(self.labels.sign, f, error, point.b)
        squares = point.v.astype(np.longdouble) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            norms = [
                float(np.where(squares == 0, 0, squares / delta).sum() / 2)
                for delta in (self.cone.admissible(point.delta, self.eps), point.delta)
            ]
        slack = 1 + 16 * (self.q + 4) * EXTENDED_UNIT / self.rho
        return norms[0] + loss, max(norms) * slack + most

    def _dual_bounds(self, gamma: FloatArray, z: AnyArray, error: FloatArray) -> tuple[float, float]:
        """Return the dual objective at multipliers, and a bound below it, from the scores z."""
        conjugate, least = self.loss.dual_bounds(self.labels.sign * gamma)
        rho = 1 - np.longdouble(self.eps) * np.longdouble(self.cone.c.sum())  # `rho` has the rounding of float64
        quadratic = []
        for sizes in (z, np.abs(z) + error):
            squares: AnyArray = sizes.astype(np.longdouble) ** 2
            S = self.cone.sums(squares) / 2
            quadratic.append(rho * (S / self.cone.c).max() + self.eps * S.sum())
        slack = 1 + 8 * (self.q + 4) * EXTENDED_UNIT / self.rho
        return float(conjugate - quadratic[0]), float(least - quadratic[1] * slack)

    def _largest_intercept(self, primal: float) -> float:
        """Return a bound on |b| at some optimum: there |f| <= B, or else some margin is on its kink."""
        free = self.B if np.isfinite(self.B) else 1.0
        return 1.001 * (free + math.sqrt(2 * primal * self._largest_kernel))

    @cached_property
    def _largest_kernel(self) -> float:
        """Largest entry of the diagonal of any admissible kernel, to three digits."""
        S = self.cone.sums((self.U**2).T)
        return float((self.rho * (S / self.cone.c[:, None]).max(axis=0) + self.eps * S.sum(axis=0)).max())

    def primal_objective(self, point: SpectrumPoint) -> float:
        """Return `value` at a repaired point, whose decisions touch the bound B up to rounding."""
        f = np.clip(self.U @ point.v + point.b, -self.B, self.B)
        return self._norm(point.v, point.delta) + float(self.loss.value(self.labels.sign * f).sum())
