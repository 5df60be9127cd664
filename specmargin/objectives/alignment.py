r"""Kernel-target alignment of a Laplacian spectrum (eq. 2 of the spectrum paper).

`Alignment` measures how well the kernel of a spectrum agrees with the labels; `specmargin.solvers.alignment` and
`specmargin.problems.kta` find the spectrum that agrees best. No classifier is part of it: its decisions are those of
the kernel mean, whose product with the labels is what the alignment normalises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from specmargin.labels import Labels
from specmargin.objectives.cones.alignment_over_cone import AlignmentOverCone
from specmargin.objectives.cones.over_spectrum import OverSpectrum
from specmargin.objectives.contract import Shapes
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["Alignment"]


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
    >>> import numpy as np
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
        self._require_correlation(f"q={self.q} eigenvectors", "more eigenvectors, more labels or another graph")

    name = "KTA"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"delta": (self.q,)}

    @cached_property
    def target(self) -> FloatArray:
        """The signs y."""
        return self.labels.sign
