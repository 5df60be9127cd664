"""The cone of spectra over blocks of columns: `BlockCone`, one weight for all columns of a block.

`Cone` speaks of eigenvectors, each a kernel of rank one. A block is a kernel K_b = R_b R_b' of any rank, and what is
learned is one weight per block; its columns repeat it. Whatever is written for a cone then serves blocks, too. The
traces `c` count blocks, not columns: delta sums to one over the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.optimize import isotonic_regression

from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.objectives.cones.cone import Cone
from specmargin.typing import AnyArray, FloatArray, IntArray, SparseArray

__all__ = ["BlockCone", "MonotoneCone"]


@dataclass(frozen=True, eq=False)
class MonotoneCone(Cone):
    """The spectra delta_1 >= delta_2 >= ... >= delta_q >= 0: unlike in `SpectrumCone` the first weight is not free.

    Parameters
    ----------
    q : int
        Number of weights.

    Examples
    --------
    >>> cone = MonotoneCone(3)
    >>> cone.weights(np.array([0.1, 0.0, 0.2])).round(3).tolist(), cone.c.tolist()
    ([0.3, 0.2, 0.2], [1.0, 2.0, 3.0])
    """

    q: int

    def __post_init__(self) -> None:
        vars(self).update(m=self.q, c=np.arange(1.0, self.q + 1.0))

    def sums(self, p: FloatArray) -> FloatArray:
        """Return A p, along the first axis."""
        return np.cumsum(p, axis=0)

    def weights(self, kappa: FloatArray) -> FloatArray:
        """Return delta = A'kappa, along the first axis."""
        return np.cumsum(kappa[::-1], axis=0)[::-1]

    def drops(self, delta: FloatArray) -> FloatArray:
        """Return the drops of a spectrum."""
        return np.maximum(delta - np.append(delta[1:], np.zeros(1, delta.dtype)), 0.0)

    def best_unscaled(self, v: FloatArray) -> FloatArray:
        """Return the spectrum, not scaled, that minimises sum_j v_j^2 / delta_j for its sum."""
        means = isotonic_regression(v**2, increasing=False).x
        return np.asarray(np.sqrt(np.maximum(means, 0.0)))

    def chain(self) -> tuple[SparseArray, SparseArray]:
        """Return differences of consecutive sums, and the identity."""
        first = sp.diags_array([np.ones(self.q), np.full(self.q - 1, -1.0)], offsets=[0, -1], format="csr")
        return first, sp.eye_array(self.q, format="csr")


@dataclass(frozen=True, eq=False)
class BlockCone(Cone):
    """A cone over blocks, seen from their columns.

    Parameters
    ----------
    blocks : Cone
        The family of one weight per block, with ``blocks.q`` of them.
    sizes : sequence of int
        Number of columns of each block, >= 1.

    Raises
    ------
    ValueError
        If the sizes are not positive, or not one per block.

    Examples
    --------
    >>> cone = BlockCone(MonotoneCone(2), [1, 3])
    >>> cone.weights(np.array([0.2, 0.4])).round(3).tolist(), cone.sums(np.ones(4)).tolist(), cone.c.tolist()
    ([0.6, 0.4, 0.4, 0.4], [1.0, 4.0], [1.0, 2.0])
    """

    blocks: Cone
    sizes: Sequence[int] | IntArray
    starts: IntArray = field(init=False, repr=False)
    """First column of each block."""

    def __post_init__(self) -> None:
        sizes = np.asarray(self.sizes)
        if sizes.shape != (self.blocks.q,) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise InvalidInputError(
                f"sizes={shown(self.sizes)} must hold a number of columns, at least one, for each of the "
                f"{self.blocks.q} blocks; pass their widths, or a family of as many weights as there are blocks."
            )
        sizes = sizes.astype(np.intp)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        vars(self).update(sizes=sizes, starts=starts, q=int(np.sum(sizes)), m=self.blocks.m, c=self.blocks.c)

    def of_blocks(self, p: FloatArray) -> FloatArray:
        """Return sums over the columns of each block, along the first axis."""
        return np.add.reduceat(p, self.starts, axis=0)

    def over_columns(self, delta: FloatArray) -> FloatArray:
        """Return the weights of blocks, repeated for their columns."""
        return np.repeat(delta, self.sizes, axis=0)

    def of_rays(self, arrays: FloatArray) -> FloatArray:
        """Return the sums over the rays of one array per block, such as its kernel: (blocks, ...) to (m, ...)."""
        return self.blocks.sums(arrays.reshape(len(arrays), -1)).reshape(self.m, *arrays.shape[1:])

    def sums(self, p: FloatArray) -> FloatArray:
        """Return A p, along the first axis: (q, ...) to (m, ...)."""
        return self.blocks.sums(self.of_blocks(p))

    def weights(self, kappa: FloatArray) -> FloatArray:
        """Return delta = A'kappa, along the first axis: (m, ...) to (q, ...)."""
        return self.over_columns(self.blocks.weights(kappa))

    def drops(self, delta: FloatArray) -> FloatArray:
        """Return the kappa of a spectrum, read off the first column of each block."""
        return self.blocks.drops(delta[self.starts])

    def admissible(self, delta: FloatArray, eps: float = 0.0) -> AnyArray:
        """Return, in extended precision, the spectrum of trace one that floats stand for."""
        return self.over_columns(self.blocks.admissible(delta[self.starts], eps))

    def best_unscaled(self, v: FloatArray) -> FloatArray:
        """Return the spectrum that minimises sum_j v_j^2 / delta_j for the sum over its blocks, not scaled."""
        return self.over_columns(self.blocks.best_unscaled(np.sqrt(self.of_blocks(v**2))))

    def best_for(self, v: FloatArray) -> FloatArray:
        """Return the spectrum of sum one over the blocks that minimises sum_j v_j^2 / delta_j."""
        return self.over_columns(self.blocks.best_for(np.sqrt(self.of_blocks(v**2))))

    def chain(self) -> tuple[SparseArray, SparseArray]:
        """Return the chain of the blocks, whose second matrix gathers their columns first."""
        first, second = self.blocks.chain()
        block = np.repeat(np.arange(self.blocks.q), self.sizes)
        gather = sp.csr_array((np.ones(self.q), (block, np.arange(self.q))))
        return first, sp.csr_array(second @ gather)
