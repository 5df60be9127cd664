"""Objectives and what they are made of as JSON and arrays, and back: `pack` and `unpack`, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxproof.packing import Packing
from specmargin import objectives
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.laplacians import LaplacianOperator
from specmargin.kernels.blocks import BlockKernel
from specmargin.kernels.operators import KernelOperator, LowRankKernel
from specmargin.labels import Labels
from specmargin.losses import LOSSES, UNLABELED_LOSSES, Ramp
from specmargin.objectives import (
    BlockAlignment,
    BlockMargin,
    Features,
    FixedSpectrum,
    LapSVM,
    MonotoneCone,
    ProductCone,
    SpectrumCone,
)
from specmargin.objectives.reduction import Applied
from specmargin.proofs.wings import CLASSES
from specmargin.spectra import Spectrum
from specmargin.typing import AnyArray

__all__ = ["LARGEST_DENSE", "OBJECTIVES", "PACKED", "PACKING", "pack", "unpack"]

LARGEST_DENSE = 5000
"""Samples up to which an operator of which nothing is known but its products is saved as the matrix that it is."""
OBJECTIVES: dict[str, Any] = {
    name: getattr(objectives, name)
    for name in sorted(set(objectives.__all__) - {"Objective"})
    if hasattr(getattr(objectives, name), "certificate")
}
"""The classes of objectives that can be saved, by name."""
_LOSSES: dict[str, Any] = {
    type(loss).__name__: type(loss)
    for loss in (*LOSSES.values(), *UNLABELED_LOSSES.values(), Ramp())
    if type(loss).__module__.startswith("specmargin.losses.")
}
_CONES = (FixedSpectrum, MonotoneCone, ProductCone, SpectrumCone)
_PARTS = (*_CONES, BlockKernel, Features, Labels, LaplacianOperator, LowRankKernel, Spectrum)


class _OfObjectives(Packing):
    """Objectives, losses, cones, spectra; kernels and graphs of which only products are known as matrices."""

    def fields(self, value: Any) -> dict[str, Any]:
        """Return what an object is built from again, and whether a LapSVM is factorised."""
        given = super().fields(value)
        if isinstance(value, BlockAlignment | BlockMargin):
            given["blocks"] = list(value.maps)
        if isinstance(value, BlockMargin):
            given["loss"] = value.loss.name
        return given | ({"reduced": value.is_reduced} if isinstance(value, LapSVM) else {})

    def packed_other(self, value: Any, arrays: dict[str, AnyArray], at: str) -> Any:
        """Return a kernel or a graph of which only products are known as the matrix of them."""
        if isinstance(value, Applied):
            return self.pack(value.L, arrays, at)  # the product with K is the same again
        cls = f"{type(value).__module__}.{type(value).__qualname__}"
        shape = getattr(value, "shape", None)
        if not (isinstance(value, KernelOperator) or (isinstance(shape, tuple) and hasattr(value, "__matmul__"))):
            raise InvalidTypeError(
                f"{at}={shown(value)} is of the class {cls}, which a file cannot hold; take one of the package: "
                f"{', '.join(sorted(_LOSSES if hasattr(value, 'gradient') else self.classes))}."
            )
        n = int(value.shape[0])
        if n > LARGEST_DENSE:
            raise InvalidInputError(
                f"{at}={shown(value)} is of the class {cls}, which is saved as a matrix, but not of {n} samples; take "
                f"a LowRankKernel, a sparse matrix, or at most {LARGEST_DENSE} samples."
            )
        dense = np.asarray(value) if isinstance(value, KernelOperator) else np.asarray(value @ np.eye(n))
        return self.pack(dense, arrays, at)

    def built(self, cls: Any, given: dict[str, Any]) -> Any:
        """Return the object of a class that has these fields, a LapSVM factorised if it was."""
        reduced = given.pop("reduced", False)
        made = cls(**given)
        if reduced:
            _ = made.reduction  # with which `certificate` proves more
        return made


PACKING = _OfObjectives({**OBJECTIVES, **_LOSSES, **{cls.__name__: cls for cls in _PARTS}, **CLASSES})
PACKED = PACKING.classes
"""All classes that a file can hold, or the dotted names of those of the wings, by name."""
pack, unpack = PACKING.pack, PACKING.unpack
