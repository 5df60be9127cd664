r"""A classifier and one weight per block of features: spectral filters, several kernels, any rank.

Blocks F_b (n, d_b) are feature maps of the same n samples: filters of the features of a graph's nodes
(`specmargin.spectra.filter_bank`), or views. The kernel is K(delta) = sum_b delta_b F_b F_b', and `BlockMargin` learns
delta together with the classifier,

    min  1/2 sum_b sum_k |w_bk|^2 / delta_b + sum_ik loss(y_ik f_ik),   f_k = sum_b F_b w_bk + b_k,

over delta >= 0 with sum one, or delta_1 >= delta_2 >= ... as well. This is eq. 7 of the spectrum paper, whose blocks
are eigenvectors: their kernels have rank one (`SpectrumMargin`). Classes are told from the rest and share one delta.
Without an order delta can be eliminated: what is left is the group lasso 1/2 (sum_b |W_b|)^2.

**Units.** Blocks are meant to have trace n, so that the mean of K_ii is one and C is per unit mean kernel diagonal.

**Labelled rows.** Nothing but the kernels of the labelled samples enters. Where a block has more features than there
are labels it is turned orthogonally, F_b[labelled] = R_b Q_b', and v = Q'w takes the place of w.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.labels import Labels
from specmargin.objectives.cones.cone import Cone
from specmargin.objectives.cones.margin_over_cone import MarginOverCone, SpectrumPoint
from specmargin.objectives.cones.over_blocks import OverBlocks
from specmargin.objectives.contract import Arrays, Shapes
from specmargin.objectives.squared_losses import loss_of
from specmargin.typing import FloatArray

__all__ = ["BlockMargin"]


@dataclass(frozen=True, eq=False)
class BlockMargin(OverBlocks, MarginOverCone):
    """Large absolute or relative margin, or least squares, jointly over the classifier and the weights of blocks.

    Parameters
    ----------
    blocks : sequence of ndarray of shape (n, d_b), or an object with such ``blocks``
        Feature maps of all samples, of trace n each (sum of their squares).
    labels : Labels
        Labels of these samples, of two classes or more. Their weights, where they have such, multiply C.
    C : float
        Weight of the loss per unit mean kernel diagonal, > 0.
    loss : {"hinge", "squared_hinge", "squared"}, default "hinge"
        C max(0, 1 - t), or C / 2 times the square of the hinge, or C / 2 (1 - t)^2. The attribute is an object with
        the value and all that duality needs, as `RelativeMargin` is for the hinge.
    B : float, default inf
        Bound on the labelled decisions, with the hinge.
    order : bool or Cone, default False
        Whether weights must not rise from one block to the next, or the family that they are taken from.
    eps : float, default 0
        Least drop between consecutive weights, or least weight without an order; zero is exact.
    delta : ndarray of shape (m,), optional
        Keep the weights at these, scaled to sum one.

    Raises
    ------
    ValueError
        For C <= 0, an unknown loss, eps < 0 or too large, blocks that are not finite or of different samples, or none.

    Notes
    -----
    ``v`` (q,) or (q, K), ``b`` () or (K,) and ``delta`` (m,) decide the value; q is the number of columns of all R_b,
    K that of classes where there are more than two. The multipliers of `certificate` are ``gamma`` (l,) or (l, K).

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eqs. 7 and 16, for blocks of rank one. Bach, Lanckriet & Jordan,
    Multiple kernel learning, conic duality, and the SMO algorithm, ICML 2004.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> obj = BlockMargin([X[:, :1] * 2**0.5, X[:, 1:] * 2**0.5], encode_labels([1, 0, -1, -1]))
    >>> point = obj.repair(gamma=np.array([0.25, -0.25]), kappa=np.array([1.0, 0.0]), b=0.0)
    >>> point.delta.tolist(), obj.prove(point).is_optimal(1e-12)
    ([1.0, 0.0], True)
    """

    blocks: Any
    labels: Labels
    C: float = 1.0
    loss: Any = "hinge"
    B: float = np.inf
    order: bool | Cone = False
    eps: float = 0.0
    delta: FloatArray | None = None

    def __post_init__(self) -> None:
        _ = self.factors  # which checks blocks and labels
        self.renew()
        self._check_weights(self.n_blocks, "block")

    def renew(self) -> None:
        """Set the loss, after a check of C and B."""
        n_classes = 1 if self.labels.is_binary else self.labels.sign.shape[1]
        loss = loss_of(getattr(self.loss, "name", self.loss), self.C, self.B, self.labels.weights, n_classes)
        object.__setattr__(self, "loss", loss)

    @property
    def name(self) -> str:
        """What the problem is called: the loss tells one from another."""
        kind = "relative margin" if np.isfinite(self.B) else self.loss.name.replace("_", " ")
        return f"{kind} over {'fixed' if self.delta is not None else 'ordered' if self.order else 'free'} blocks"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        classes = self.labels.sign.shape[1:]
        return {"v": (self.cone.q, *classes), "b": classes, "delta": (self.n_blocks,)}

    def _read(self, variables: Arrays) -> list[Any]:
        v, b, delta = super()._read(variables)
        return [v, b, self.cone.over_columns(delta)]

    def solution(self, point: SpectrumPoint) -> dict[str, FloatArray]:
        """Return what solvers and problems give at a repaired point; delta has a weight per block."""
        return {**super().solution(point), "delta": point.delta[self.cone.starts]}

    @cached_property
    def grams(self) -> FloatArray:
        """R_b R_b' of all blocks, (m, l, l)."""
        return np.stack([R @ R.T for R, _ in self.factors])
