r"""Alignment of a weighted sum of kernels of any rank with the labels, for two classes or several.

`BlockAlignment` asks for the weights of blocks of features (`specmargin.objectives.BlockMargin`) whose kernel looks
most like the labels: eq. 2 of the spectrum paper with blocks in place of eigenvectors. As for `Alignment`, the best
ray is a projection on a cone: nonnegative least squares of as many unknowns as there are blocks. Kernels and target
are centred over the labelled samples, so that what the intercept can do does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.labels import Labels, Targets
from specmargin.objectives.cones.alignment_over_cone import AlignmentOverCone
from specmargin.objectives.cones.cone import Cone
from specmargin.objectives.cones.over_blocks import OverBlocks
from specmargin.objectives.contract import Arrays, Shapes
from specmargin.typing import FloatArray

__all__ = ["BlockAlignment"]


@dataclass(frozen=True, eq=False)
class BlockAlignment(OverBlocks, AlignmentOverCone):
    """Alignment of sum_b delta_b F_b F_b' with the labels, over the labelled samples.

    Parameters
    ----------
    blocks, order
        The same as in `BlockMargin`.
    labels : Labels or Targets
        Labels of these samples, or numbers; weights have no place here.
    centered : bool, default True
        Whether rows of blocks, and the target, are taken less their means over the labelled samples.

    Raises
    ------
    ValueError
        If no block correlates with the labels, or labels have weights.

    Notes
    -----
    ``delta`` (m,) decides the value, whatever its sum is. `certificate` needs no multipliers. With two classes the
    target is y, with several a column of zeros and ones per class; numbers are taken in units of their largest.

    References
    ----------
    Cortes, Mohri & Rostamizadeh, Algorithms for learning kernels based on centered alignment, JMLR 2012. Shivaswamy &
    Jebara, Laplacian spectrum learning, eq. 2, for blocks of rank one.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> obj = BlockAlignment([X[:, :1], X[:, 1:]], encode_labels([1, 0, 1, 0], unlabeled=-1))
    >>> round(obj.value({"delta": np.array([1.0, 0.0])}), 12), round(obj.value({"delta": np.array([0.0, 1.0])}), 12)
    (1.0, 0.0)
    """

    blocks: Any
    labels: Labels | Targets
    order: bool | Cone = False
    centered: bool = True
    delta: None = field(default=None, init=False)

    def __post_init__(self) -> None:
        _ = self.cone  # which checks the order
        self._require_correlation(f"{self.n_blocks} blocks", "other features, or more labels")

    name = "KTA over blocks"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"delta": (self.n_blocks,)}

    @cached_property
    def U(self) -> FloatArray:
        """R_1, ..., R_m side by side, (l, q), less their means where they are centred."""
        U = super().U
        return U - U.mean(axis=0) if self.centered else U

    @cached_property
    def target(self) -> FloatArray:
        """The signs of two classes, zeros and ones in a column per class, or numbers; centred, where it is so asked."""
        if not isinstance(self.labels, Labels):
            T = _in_units(self.labels.values)
        else:
            T = self.labels.sign if self.labels.is_binary else (self.labels.sign + 1.0) / 2.0
        return T - T.mean(axis=0) if self.centered else T

    def _read(self, variables: Arrays) -> list[Any]:
        return [self.cone.over_columns(delta) for delta in super()._read(variables)]

    def weights_of(self, delta: FloatArray) -> FloatArray:
        """Return the weights of the blocks from those of all columns."""
        return delta[self.cone.starts] / delta[self.cone.starts].sum()


def _in_units(values: FloatArray) -> FloatArray:
    """Return numbers less the first, over the largest that is left: squares neither over- nor underflow."""
    T = values - values[0]
    largest = float(np.abs(T).max())
    return T / largest if largest > 0 else T
