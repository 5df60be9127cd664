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

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from specmargin.labels import Labels
from specmargin.objectives.cones.cone import Cone, FixedSpectrum
from specmargin.objectives.cones.margin_over_cone import MarginOverCone, SpectrumPoint
from specmargin.objectives.cones.over_spectrum import OverSpectrum
from specmargin.objectives.contract import Shapes
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["SpectrumMargin", "SpectrumPoint"]


@dataclass(frozen=True, eq=False)
class SpectrumMargin(OverSpectrum, MarginOverCone):
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
        self.renew()
        self._check_weights(self.q, "eigenvector")

    def renew(self) -> None:
        """Set the loss, after a check of C and B."""
        object.__setattr__(self, "loss", RelativeMargin.of(self.C, self.B, self.labels.weights))

    @cached_property
    def cone(self) -> Cone:
        """The admissible spectra; one ray where `delta` is given."""
        return super().cone if self.delta is None else FixedSpectrum(self.delta)

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
