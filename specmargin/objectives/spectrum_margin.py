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

**Alignment.** `Alignment` measures how well the kernel of a spectrum agrees with the labels;
`specmargin.solvers.alignment` and `specmargin.problems.kta` find the spectrum that agrees best. No classifier is part
of it: its decisions are those of the kernel mean, whose product with the labels is what the alignment normalises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, Targets, several
from specmargin.objectives.cones.alignment import AlignmentOverCone
from specmargin.objectives.cones.cone import Cone, ProductCone, SpectrumCone, kept_spectrum
from specmargin.objectives.cones.margin import MarginOverCone
from specmargin.objectives.contract import ByName, Shapes, unchecked
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["Alignment", "SpectrumMargin", "require_nodes"]


def require_nodes(labels: Labels | Targets, n: int) -> None:
    """Raise unless labels are those of the n samples that the rows of the eigenvectors belong to."""
    if labels.n_samples != n:
        raise InvalidInputError(
            f"labels speak of {labels.n_samples} samples, but the eigenvectors have {n} rows; pass the labels of "
            "the nodes of the graph."
        )


class OverSpectrum(ByName):
    """What the objectives over a spectrum share: the labelled rows and the cone, set once."""

    spectrum: Spectrum | Sequence[Spectrum]
    labels: Labels
    order: bool
    ties: bool
    spectra: tuple[Spectrum, ...]
    """The spectrum, or those of all graphs."""
    U: FloatArray
    """Labelled rows of sqrt(n) times the eigenvectors, (l, q); those of several graphs side by side."""
    q: int
    """Number of eigenvectors, of all graphs together."""
    cone: Cone
    """The admissible spectra."""

    def _set_spectra(self, delta: FloatArray | None = None) -> None:
        """Set what follows from spectra and labels, after a check that they match; `delta` is a spectrum to keep."""
        spectra = (self.spectrum,) if isinstance(self.spectrum, Spectrum) else tuple(self.spectrum)
        sizes, labels = [spectrum.n_samples for spectrum in spectra], self.labels
        if len(set(sizes)) != 1:
            raise InvalidInputError(f"several graphs must be over the same samples, but these have {sizes} nodes.")
        if not labels.is_binary:
            raise InvalidInputError(f"spectra are learned for binary labels, not {several(labels)}.")
        require_nodes(labels, sizes[0])
        U = np.sqrt(sizes[0]) * np.hstack([s.unit * s.eigenvectors[labels.labeled] for s in spectra])
        if delta is None:
            ends = [s.block_ends() if self.ties and self.order else None for s in spectra]
            cones = [unchecked(SpectrumCone, s.q, self.order, end) for s, end in zip(spectra, ends, strict=True)]
            cone: Cone = cones[0] if len(cones) == 1 else ProductCone(tuple(cones))
        else:
            cone = kept_spectrum(delta, U.shape[1], "eigenvector")
        vars(self).update(spectra=spectra, U=U, q=U.shape[1], cone=cone)

    def over_samples(self, v: FloatArray) -> FloatArray:
        """Return sqrt(n) U v at all samples, (n,)."""
        pieces = np.split(v, np.cumsum([spectrum.q for spectrum in self.spectra])[:-1])
        parts = zip(self.spectra, pieces, strict=True)
        return np.sqrt(self.labels.n_samples) * sum(s.eigenvectors @ (s.unit * piece) for s, piece in parts)


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
    name: str = field(init=False, default="STORM")
    """STORM, STOAM, MKL-R or MKL-S; RMM or SVM where the spectrum is given."""

    def __post_init__(self) -> None:
        self._set_spectra(self.delta)
        self.renew()
        self._set_free_trace(self.q, "eigenvector")

    def renew(self) -> None:
        """Set the loss, after a check of C and B, and the name."""
        weights, relative = self.labels.weights, np.isfinite(self.B)
        names = ("RMM", "SVM") if self.delta is not None else ("STORM", "STOAM") if self.order else ("MKL-R", "MKL-S")
        loss = unchecked(RelativeMargin, self.C if weights is None else self.C * weights, self.B)
        vars(self).update(loss=loss, name=names[0] if relative else names[1])

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"v": (self.q,), "b": (), "delta": (self.q,)}


@dataclass(frozen=True, eq=False)
class Alignment(OverSpectrum, AlignmentOverCone):
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
        The same as in `SpectrumMargin`.

    Raises
    ------
    ValueError
        If no eigenvector correlates with the labels: the alignment is then undefined.

    Notes
    -----
    ``delta`` (q,) decides the value, whatever its sum is. `certificate` needs no multipliers.

    An extreme kernel with less than 1e-28 of the largest trace is rounding, as the eigenvector of a component without
    labels: it is no candidate, and the bound of the certificate is that of the others.

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
        self._set_spectra()
        vars(self)["target"] = self.labels.sign
        self._require_correlation(f"q={self.q} eigenvectors", "more eigenvectors, more labels or another graph")

    name = "KTA"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"delta": (self.q,)}
