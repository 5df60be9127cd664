r"""Kernel-target alignment of a Laplacian spectrum (eq. 2 of the spectrum paper).

`Alignment` measures how well the kernel of a spectrum agrees with the labels; `specmargin.solvers.alignment` and
`specmargin.problems.kta` find the spectrum that agrees best. No classifier is part of it: its decisions are those of
the kernel mean, whose product with the labels is what the alignment normalises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives.contract import Arrays, Shapes, read, require_fields
from specmargin.objectives.over_spectrum import OverSpectrum
from specmargin.results import Certificate
from specmargin.rounding import UNIT
from specmargin.rounding import gamma as gamma_bound
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["Alignment"]

_VANISHING = 1e-28
"""Share of the largest trace below which an extreme kernel is rounding: eigenvectors of a component without labels."""


@dataclass(frozen=True, eq=False)
class Alignment(OverSpectrum):
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

    Notes
    -----
    ``delta`` (q,) decides the value, whatever its sum is. `certificate` needs no multipliers.

    Examples
    --------
    >>> from specmargin.graphs import knn_graph
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.spectra import laplacian_eigenpairs
    >>> X = np.arange(8.0)[:, None]
    >>> spectrum = laplacian_eigenpairs(knn_graph(X, n_neighbors=2), q=4)
    >>> obj = Alignment(spectrum, encode_labels([0, -1, -1, -1, -1, -1, -1, 1]))
    >>> round(obj.value({"delta": np.array([0.0, 1.0, 0.0, 0.0])}), 12)
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

    name = "KTA"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"delta": (self.q,)}

    def with_(self, **changes: Any) -> Alignment:
        """Return the same problem with fields changed."""
        require_fields(self, changes)
        return replace(self, **changes)

    def value(self, variables: Arrays) -> float:
        """Return the alignment of ``delta``."""
        (delta,) = read(self.variables, variables)
        return self.value_at(delta)

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Return `prove` at ``delta``; `duals` are not needed."""
        (delta,) = read(self.variables, variables)
        return self.prove(delta)

    def decisions(self, variables: Arrays) -> FloatArray:
        """Return the sums of the kernel of ``delta`` with the labels, sum_i k(x, x_i) y_i, at all samples, (n,)."""
        (delta,) = read(self.variables, variables)
        return self.over_samples(delta * (self.U.T @ self.labels.sign))

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

    def value_at(self, delta: FloatArray) -> float:
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

    def prove(self, delta: FloatArray) -> Certificate:
        """Measure the gap between the alignment of the repaired spectrum and the bound at it."""
        feasible = self.repair(delta)
        scaled = delta / delta.sum()
        value, bound = self.value_at(feasible), self.upper_bound(feasible)
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
            # Each of the three is on the safe side by more than the few roundings that are left.
            bound = min(bound, float((high_h[rays] / low_Mh[rays]).max()) * math.sqrt(high))
        return least / l, bound / l
