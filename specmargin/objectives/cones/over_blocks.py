"""What the objectives over blocks share: feature maps of the samples, their labelled rows, the cone of weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, Targets
from specmargin.objectives.cones.block_cone import BlockCone, MonotoneCone
from specmargin.objectives.cones.cone import Cone, FixedSpectrum, SpectrumCone
from specmargin.objectives.cones.over_spectrum import require_nodes
from specmargin.typing import AnyArray, FloatArray

__all__ = ["OverBlocks"]


class OverBlocks:
    """What the objectives over blocks share: labelled rows and the cone.

    A subclass is a frozen dataclass with these fields; `delta` is None where the weights are learned.
    """

    blocks: Any
    labels: Labels | Targets
    order: bool | Cone
    delta: FloatArray | None

    @cached_property
    def maps(self) -> tuple[AnyArray, ...]:
        """The feature maps F_b."""
        given = getattr(self.blocks, "blocks", self.blocks)
        if isinstance(given, np.ndarray) and given.ndim == 2:
            given = (given,)
        listed = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
        maps = tuple(np.asarray(block) for block in given) if listed else ()
        shapes = [np.shape(block) for block in maps]
        fit = all(len(shape) == 2 and shape[1] for shape in shapes) and len({shape[0] for shape in shapes}) == 1
        if not fit or any(block.dtype.kind not in "biuf" for block in maps):
            what = f"blocks of the shapes {shapes}" if listed and maps else f"blocks={shown(self.blocks)}"
            raise InvalidInputError(
                f"{what} are no feature maps of the same samples; pass a list of arrays of numbers (n, d_b), such as "
                "the blocks of specmargin.spectra.filter_bank."
            )
        require_nodes(self.labels, shapes[0][0])
        return maps

    @property
    def n_blocks(self) -> int:
        """Number of blocks, m."""
        return len(self.maps)

    @cached_property
    def factors(self) -> tuple[tuple[FloatArray, FloatArray | None], ...]:
        """R_b (l, r_b) and Q_b (d_b, r_b) with F_b[labelled] = R_b Q_b'; None for a Q_b that is the identity."""
        return tuple(self._reduced(b) for b in range(self.n_blocks))

    def _reduced(self, b: int) -> tuple[FloatArray, FloatArray | None]:
        rows = np.asarray(self.maps[b][self.labels.labeled], dtype=np.float64)
        finite_numbers(f"blocks[{b}]", rows, "finite features")
        if rows.shape[1] <= rows.shape[0]:
            return rows, None
        Q, R = sla.qr(rows.T, mode="economic", check_finite=False)
        return np.ascontiguousarray(R.T), Q

    @cached_property
    def U(self) -> FloatArray:
        """R_1, ..., R_m side by side, (l, q)."""
        return np.hstack([R for R, _ in self.factors])

    @cached_property
    def cone(self) -> BlockCone:
        """The admissible weights."""
        m = self.n_blocks
        if isinstance(self.order, Cone):
            family = self.order
        else:
            family = MonotoneCone(m) if self.order else SpectrumCone(m, order=False)
        if self.delta is not None:
            family = FixedSpectrum(self.delta)
        if family.q != m:
            raise InvalidInputError(f"order is a family of {family.q} weights, but there are {m} blocks.")
        return BlockCone(family, [R.shape[1] for R, _ in self.factors])

    def over_samples(self, v: FloatArray) -> FloatArray:
        """Return sum_b F_b Q_b v_b at all samples, (n,) or (n, K)."""
        f: FloatArray = np.zeros((self.labels.n_samples, *v.shape[1:]))
        for F, (_, Q), piece in zip(self.maps, self.factors, np.split(v, self.cone.starts[1:]), strict=True):
            if piece.any():
                f += F @ (piece if Q is None else Q @ piece).astype(F.dtype, copy=False)
        return f
