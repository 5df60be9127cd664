"""What the objectives over a graph's spectrum share: the labelled rows of the eigenvectors, and the cone of spectra."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, Targets, several
from specmargin.objectives.cones.cone import Cone, ProductCone, SpectrumCone
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["OverSpectrum", "require_nodes"]


def require_nodes(labels: Labels | Targets, n: int) -> None:
    """Raise unless labels are those of the n samples that the rows of the eigenvectors belong to."""
    if labels.n_samples != n:
        raise InvalidInputError(
            f"labels speak of {labels.n_samples} samples, but the eigenvectors have {n} rows; pass the labels of "
            "the nodes of the graph."
        )


class OverSpectrum:
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
        require_nodes(labels, n)
        return np.sqrt(n) * np.hstack([s.unit * s.eigenvectors[labels.labeled] for s in self.spectra])

    def over_samples(self, v: FloatArray) -> FloatArray:
        """Return sqrt(n) U v at all samples, (n,)."""
        pieces = np.split(v, np.cumsum([spectrum.q for spectrum in self.spectra])[:-1])
        parts = zip(self.spectra, pieces, strict=True)
        return np.sqrt(self.labels.n_samples) * sum(s.eigenvectors @ (s.unit * piece) for s, piece in parts)

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
