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
delta = A'(kappa + eps) and with v = delta z a feasible point above. `certificate` evaluates both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, several
from specmargin.objectives.cone import Cone, FixedSpectrum, ProductCone, SpectrumCone
from specmargin.objectives.relative_margin import RelativeMargin
from specmargin.results import Certificate
from specmargin.rounding import EXTENDED_UNIT, UNIT, bounded_product, extended_product
from specmargin.rounding import gamma as gamma_bound
from specmargin.spectra import Spectrum
from specmargin.typing import AnyArray, FloatArray

_NEAR = 1e-6
"""Relative gap from which on decisions and scores are computed in extended precision,"""

_MINOR = 1e-2
"""as they are where a bound on the rounding would make up a larger share of the gap."""

__all__ = ["Alignment", "SpectrumMargin", "SpectrumPoint"]

_VANISHING = 1e-28
"""Share of the largest trace below which an extreme kernel is rounding: eigenvectors of a component without labels."""


class SpectrumPoint(NamedTuple):
    """A feasible point of `SpectrumMargin`, repaired from a candidate."""

    gamma: FloatArray
    kappa: FloatArray
    delta: FloatArray
    v: FloatArray
    b: float


class _OverSpectrum:
    """What the objectives over a spectrum share: the labelled rows and the cone."""

    spectrum: Spectrum | Sequence[Spectrum]
    labels: Labels
    order: bool
    ties: bool

    @cached_property
    def spectra(self) -> tuple[Spectrum, ...]:
        """The spectrum, or those of all graphs."""
        spectra = (self.spectrum,) if isinstance(self.spectrum, Spectrum) else tuple(self.spectrum)
        if not spectra or len({spectrum.n_samples for spectrum in spectra}) > 1:
            sizes = [spectrum.n_samples for spectrum in spectra]
            raise InvalidInputError(f"several graphs must be over the same samples, but these have {sizes} nodes.")
        return spectra

    @cached_property
    def U(self) -> FloatArray:
        """Labelled rows of sqrt(n) times the eigenvectors, (l, q); those of several graphs side by side."""
        n, labels = self.spectra[0].n_samples, self.labels
        if not labels.is_binary:
            raise InvalidInputError(f"spectra are learned for binary labels, not {several(labels)}.")
        if labels.n_samples != n:
            raise InvalidInputError(
                f"labels speak of {labels.n_samples} samples, but the eigenvectors have {n} rows; pass the labels of "
                "the nodes of the graph."
            )
        return np.sqrt(n) * np.hstack([spectrum.eigenvectors[labels.labeled] for spectrum in self.spectra])

    @property
    def q(self) -> int:
        """Number of eigenvectors, of all graphs together."""
        return sum(spectrum.q for spectrum in self.spectra)

    @cached_property
    def cone(self) -> Cone:
        """The admissible spectra."""
        parts = [
            SpectrumCone(spectrum.q, self.order, spectrum.block_ends() if self.ties and self.order else None)
            for spectrum in self.spectra
        ]
        return parts[0] if len(parts) == 1 else ProductCone(tuple(parts))


@dataclass(frozen=True, eq=False)
class SpectrumMargin(_OverSpectrum):
    """Large absolute or relative margin, jointly over the classifier and the spectrum.

    Parameters
    ----------
    spectrum : Spectrum or sequence of Spectrum
        The q lowest eigenpairs of a Laplacian of n samples. Of several graphs over the same samples each keeps an
        order of its own, and one problem shares the trace among them: delta is the concatenation of their spectra.
    labels : Labels
        Binary labels of these samples.
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

    Examples
    --------
    >>> from specmargin.graphs import knn_graph
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.spectra import laplacian_eigenpairs
    >>> X = np.arange(8.0)[:, None]
    >>> spectrum = laplacian_eigenpairs(knn_graph(X, n_neighbors=2), q=4)
    >>> obj = SpectrumMargin(spectrum, encode_labels([0, -1, -1, -1, -1, -1, -1, 1]), C=1.0)
    >>> obj.certificate(gamma=np.array([-0.1, 0.1]), kappa=np.ones(4), b=0.0).relative_gap < 1
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

    def __post_init__(self) -> None:
        _ = self.U, self.loss  # which check spectra, labels, C and B
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
    def loss(self) -> RelativeMargin:
        """The loss of one sample."""
        return RelativeMargin(self.C, self.B)

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

    def decision(self, v: FloatArray, b: float) -> FloatArray:
        """Return f = sqrt(n) U v + b at all samples."""
        pieces = np.split(v, np.cumsum([spectrum.q for spectrum in self.spectra])[:-1])
        parts = zip(self.spectra, pieces, strict=True)
        return np.sqrt(self.labels.n_samples) * sum(spectrum.eigenvectors @ piece for spectrum, piece in parts) + b

    def value(self, v: FloatArray, b: float, delta: FloatArray) -> float:
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
        kappa = np.maximum(kappa, 0.0)
        total = float(self.cone.c @ kappa)
        kappa = (kappa / total) * self.rho if total > 0 else np.full(self.cone.m, self.rho / self.cone.c.sum())
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
        v, b = self.loss.settle(y, self.U, point.v, point.b, self.primal_objective(point))
        return point._replace(v=v, b=b)

    def certificate(self, gamma: FloatArray, kappa: FloatArray, b: float, v: FloatArray | None = None) -> Certificate:
        """Measure the gap at the feasible point nearest to a candidate; the parameters are those of `repair`."""
        return self.certify(self.repair(gamma, kappa, b, v), gamma, kappa)

    def certify(
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


@dataclass(frozen=True, eq=False)
class Alignment(_OverSpectrum):
    r"""Alignment of the kernel of a spectrum with the labels (eq. 2 of the spectrum paper).

    With a_j = (ubar_j'y)^2 and the elementwise square M = (Ubar'Ubar)^2 the alignment of delta is

        a'delta / (l sqrt(delta'M delta)),

    to be maximised over the cone. It is the cosine between the label matrix yy' and the kernel, so the best ray
    is the projection of yy' on a cone: min 1/2 delta'M delta - a'delta. That projection also gives the bound: for
    a spectrum delta = A'kappa, any t with A a <= t A M delta makes yy' - t K the normal of a half-space that holds
    every admissible kernel, so no alignment exceeds t |K| / l.

    Parameters
    ----------
    spectrum : Spectrum or sequence of Spectrum
        The q lowest eigenpairs of a Laplacian of n samples, or those of several graphs.
    labels : Labels
        Binary labels of these samples.
    order, ties : bool, default True
        As in `SpectrumMargin`.

    Raises
    ------
    ValueError
        If no eigenvector correlates with the labels: the alignment is then undefined.

    Examples
    --------
    >>> from specmargin.graphs import knn_graph
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.spectra import laplacian_eigenpairs
    >>> X = np.arange(8.0)[:, None]
    >>> spectrum = laplacian_eigenpairs(knn_graph(X, n_neighbors=2), q=4)
    >>> obj = Alignment(spectrum, encode_labels([0, -1, -1, -1, -1, -1, -1, 1]))
    >>> round(obj.value(np.array([0.0, 1.0, 0.0, 0.0])), 12)
    1.0
    """

    spectrum: Spectrum | Sequence[Spectrum]
    labels: Labels
    order: bool = True
    ties: bool = True

    def __post_init__(self) -> None:
        scale = float((self.U**2).sum()) * self.labels.n_labeled
        if not self.a.max() > 1e-24 * scale:
            raise InvalidInputError(
                f"none of the q={self.q} eigenvectors correlates with the {self.labels.n_labeled} labels, so that the "
                "alignment is undefined; take more eigenvectors, more labels or another graph."
            )

    @cached_property
    def a(self) -> FloatArray:
        """Squared correlation of every eigenvector with the labels, (q,)."""
        return (self.U.T @ self.labels.sign) ** 2

    @cached_property
    def M(self) -> FloatArray:
        """Inner products of the rank-one kernels u_j u_j' on the labelled samples, (q, q)."""
        return (self.U.T @ self.U) ** 2

    @property
    def unit(self) -> float:
        """The power of two next to the mean square of U: one for eigenvectors, and what their scale made of it."""
        mean = float((self.U**2).mean())
        return 2.0 ** round(math.log2(mean)) if 0 < mean < math.inf else 1.0

    def _norm(self, delta: FloatArray) -> float:
        """Return the Frobenius norm of the kernel of delta on the labelled samples."""
        return math.sqrt(max(float(delta @ self.M @ delta), 0.0))

    def value(self, delta: FloatArray) -> float:
        """Return the alignment, in [0, 1]; 0 for the zero kernel."""
        norm = self._norm(delta)
        return float(self.a @ delta) / (self.labels.n_labeled * norm) if norm > 0 else 0.0

    def upper_bound(self, delta: FloatArray) -> float:
        """Return the bound on every alignment that the normal at delta gives.

        Rays beyond the half-space are met in one of two ways. Lengthening t brings all of them inside. But a ray of
        norm nearly zero may stick out by nothing but rounding, and t would have to double for it: as inner products of
        admissible kernels are not negative, a kernel of norm one holds at most 1 / |K_r| <= sqrt(l) / trace(K_r) of
        ray r, and what sticks out counts by that much.
        """
        l, norm = self.labels.n_labeled, self._norm(delta)
        if norm == 0:
            return np.inf
        h, Mh = self.cone.sums(self.a), self.cone.sums(self.M @ np.ascontiguousarray(delta))
        t = float(self.a @ delta) / norm**2
        traces = self.cone.sums(np.sqrt(self.M.diagonal()))
        kept = traces > _VANISHING * traces.max()
        excess = math.sqrt(l) * float((np.maximum(h - t * Mh, 0.0)[kept] / traces[kept]).sum())
        bound = t * norm + excess
        if (Mh[h > 0] > 0).all():
            bound = min(bound, float((h[h > 0] / Mh[h > 0]).max()) * norm)
        return bound / l

    def repair(self, delta: FloatArray) -> FloatArray:
        """Return an admissible spectrum near delta, its rises levelled, scaled to sum one."""
        admissible = self.cone.weights(self.cone.drops(delta))
        return admissible / admissible.sum()

    def certificate(self, delta: FloatArray) -> Certificate:
        """Measure the gap between the alignment of the repaired spectrum and the bound at it."""
        feasible = self.repair(delta)
        scaled = delta / delta.sum()
        value, bound = self.value(feasible), self.upper_bound(feasible)
        least, most = self._bounds(feasible)
        return Certificate(
            primal_objective=value,
            dual_objective=bound,
            primal_residual=float(np.abs(feasible - scaled).sum()),
            sense="maximize",
            rounding=value - least + most - bound + 4 * UNIT * bound,
        )

    def _bounds(self, delta: FloatArray) -> tuple[float, float]:
        """Return what the alignment is at least, and `upper_bound` at most, whatever rounding does.

        a and M are squares of inner products of l numbers, of which each errs by gamma_l times the lengths; everything
        after that are sums of nonnegative numbers.
        """
        l, unit, summed = self.labels.n_labeled, gamma_bound(self.labels.n_labeled + 1), gamma_bound(2 * self.q + 16)
        lengths = np.linalg.norm(self.U, axis=0)
        e = 1.01 * unit * lengths * math.sqrt(l)
        a_error = 2 * e * np.sqrt(self.a) + e**2
        image = self.M @ np.ascontiguousarray(delta)
        trace = float(lengths**2 @ delta)
        # sum_k delta_k (2 |G_jk| E_jk + E_jk^2) with E_jk = gamma_l |u_j| |u_k|, by Cauchy and Schwarz
        image_error = 1.01 * (2 * unit * lengths * np.sqrt(image * trace) + (unit * lengths) ** 2 * trace)
        squared, squared_error = float(delta @ image), float(delta @ image_error)
        aligned, aligned_error = float(self.a @ delta), float(delta @ a_error)
        if not squared > 2 * squared_error:
            return 0.0, math.inf
        low, high = (1 - summed) * (squared - squared_error), (1 + summed) * (squared + squared_error)
        least = (1 - summed) * max(aligned - aligned_error, 0.0) / math.sqrt(high)
        most = (1 + summed) * (aligned + aligned_error) / math.sqrt(low)
        t = least / math.sqrt(high)  # any t will do; with this one what sticks out is bounded from above
        terms = (self.a, a_error, image, image_error)
        h, h_error, Mh, Mh_error = (self.cone.sums(np.ascontiguousarray(x)) for x in terms)
        high_h, low_Mh = (1 + summed) * (h + h_error), np.maximum((1 - summed) * (Mh - Mh_error), 0.0)
        traces = self.cone.sums(lengths**2)
        kept = traces > _VANISHING * traces.max()
        out = np.maximum(high_h - t * low_Mh, 0.0)[kept] / traces[kept]
        bound = most + (1 + summed) * math.sqrt(l) * float(out.sum())
        if (low_Mh > 0)[kept & (high_h > 0)].all():
            rays = kept & (high_h > 0)
            bound = min(bound, (1 + summed) * float((high_h[rays] / low_Mh[rays]).max()) * math.sqrt(high))
        return least / l, bound / l
