r"""Alignment of a kernel of a cone with the labels: value, bound and proof, whatever the columns are.

With labelled rows U (l, q), the kernel U diag(delta) U' and the target T of the labels, (l,) or (l, K), this is

    <U diag(delta) U', TT'> / (|U diag(delta) U'| |TT'|) = a'delta / (|TT'| sqrt(delta'M delta)),

a_j = |T'u_j|^2 and M = (U'U)^2 elementwise. `Alignment` is that over eigenvectors, `BlockAlignment` over blocks of
features, whose columns share one weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, Targets
from specmargin.objectives.cones.cone import Cone
from specmargin.objectives.cones.margin import squared_lengths
from specmargin.objectives.contract import Arrays, ByName
from specmargin.results import Certificate
from specmargin.rounding import UNIT
from specmargin.rounding import gamma as gamma_bound
from specmargin.typing import FloatArray

__all__ = ["AlignmentOverCone"]

_VANISHING = 1e-28
"""Share of the largest trace below which an extreme kernel is rounding: eigenvectors of a component without labels.

Such kernels do not count as admissible: the bound is that of the others, and `specmargin.verify` says how many are left
out. Rounding alone decides how well they agree with the labels, which may be perfectly."""


class AlignmentOverCone(ByName):
    """Value, bound and certificate of the alignment of a kernel; a subclass has the fields below."""

    labels: Labels | Targets
    U: FloatArray
    """Labelled rows, (l, q)."""
    cone: Cone
    """The admissible spectra."""
    target: FloatArray
    """What the labels ask for, T: (l,) or a column per class."""
    over_samples: Callable[[FloatArray], FloatArray]
    """The functions of coefficients v at all samples, without an intercept."""

    @cached_property
    def target_norm(self) -> float:
        """|TT'|, the length of the matrix that kernels are compared with."""
        T = self.target if self.target.ndim == 2 else self.target[:, None]
        return float(np.linalg.norm(T.T @ T))

    def weights_of(self, delta: FloatArray) -> FloatArray:
        """Return the weights as `variables` has them from those of all columns."""
        return delta

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Return `prove` at ``delta``; `duals` are not needed."""
        return self.prove(*self._read(variables))

    def decisions_at(self, delta: FloatArray) -> FloatArray:
        """Return the sums of the kernel of delta with the target, sum_i k(x, x_i) t_i, at all samples."""
        z = self.U.T @ self.target
        return self.over_samples((delta if z.ndim == 1 else delta[:, None]) * z)

    def _require_correlation(self, columns: str, remedy: str) -> None:
        """Raise where no column correlates with the labels."""
        scale = float((self.U**2).sum()) * float((self.target**2).sum())
        if not self.a.max() > 1e-24 * scale:
            raise InvalidInputError(
                f"none of the {columns} correlates with the {self.labels.n_labeled} labels, so that the alignment is "
                f"undefined; take {remedy}."
            )

    @cached_property
    def a(self) -> FloatArray:
        """Squared correlation of every column with the target, (q,)."""
        return squared_lengths(self.U.T @ self.target)

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

    def value_at(self, delta: FloatArray) -> float:
        """Return the alignment, in [0, 1]; 0 for the zero kernel."""
        norm = self._norm(delta)
        return float(self.a @ delta) / (self.target_norm * norm) if norm > 0 else 0.0

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
        return bound / self.target_norm

    def repair(self, delta: FloatArray) -> FloatArray:
        """Return an admissible spectrum near delta, its rises levelled, scaled to sum one."""
        admissible = self.cone.weights(self.cone.drops(delta))
        return admissible / admissible.sum()

    def prove(self, delta: FloatArray) -> Certificate:
        """Measure the gap between the alignment of the repaired spectrum and the bound at it."""
        feasible = self.repair(delta)
        scaled = delta / delta.sum()
        value, (least, most) = self.value_at(feasible), self._bounds(feasible)
        # Both bounds hold but for rounding, and neither is always the lower one.
        bound = min(self.upper_bound(feasible), most)
        above = most - bound + 4 * UNIT * bound if most < math.inf else 0.0  # nothing is known, and nothing to add
        return Certificate(
            primal_objective=value,
            dual_objective=bound if most < math.inf else math.inf,
            primal_residual=float(np.abs(feasible - scaled).sum()),
            sense="maximize",
            rounding=max(value - least, 0.0) + above,
        )

    def _bounds(self, delta: FloatArray) -> tuple[float, float]:
        """Return what the alignment is at least, and `upper_bound` at most, whatever rounding does.

        a and M are squares of inner products of l numbers, of which each errs by gamma_l times the lengths; everything
        after that are sums of nonnegative numbers.
        """
        l, unit = self.labels.n_labeled, gamma_bound(self.labels.n_labeled + 1)
        summed = gamma_bound(2 * self.U.shape[1] + self.target.size // len(self.target) + 15)
        lengths = np.linalg.norm(self.U, axis=0)
        target = self.target if self.target.ndim == 2 else self.target[:, None]
        # |sum_k 2 (u't_k) e_k + e_k^2|, e_k = gamma_l |u| |t_k|, by Cauchy and Schwarz
        e = 1.01 * unit * lengths * float(np.linalg.norm(target))
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
            # Each of the three is on the safe side by more than the few roundings that are left.
            bound = min(bound, float((high_h[rays] / low_Mh[rays]).max()) * math.sqrt(high))
        return least / self.target_norm, bound / self.target_norm
