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

**Alignment.** `BlockAlignment` asks for the weights of blocks whose kernel looks
most like the labels: eq. 2 of the spectrum paper with blocks in place of eigenvectors. As for `Alignment`, the best
ray is a projection on a cone: nonnegative least squares of as many unknowns as there are blocks. Kernels and target
are centred over the labelled samples, so that what the intercept can do does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, Targets
from specmargin.objectives.cones.alignment import AlignmentOverCone
from specmargin.objectives.cones.block_cone import BlockCone, MonotoneCone
from specmargin.objectives.cones.cone import Cone, SpectrumCone, kept_spectrum
from specmargin.objectives.cones.margin import MarginOverCone, SpectrumPoint
from specmargin.objectives.contract import Arrays, ByName, Shapes
from specmargin.objectives.spectrum_margin import require_nodes
from specmargin.objectives.squared_losses import loss_of
from specmargin.typing import AnyArray, FloatArray

__all__ = ["BlockAlignment", "BlockMargin"]


class OverBlocks(ByName):
    """What the objectives over blocks share: labelled rows and the cone, set once."""

    blocks: Any
    labels: Labels | Targets
    order: bool | Cone
    maps: tuple[AnyArray, ...]
    """The feature maps F_b."""
    n_blocks: int
    """Number of blocks, m."""
    factors: list[tuple[FloatArray, FloatArray | None]]
    """R_b (l, r_b) and Q_b (d_b, r_b) with F_b[labelled] = R_b Q_b'; None for a Q_b that is the identity."""
    U: FloatArray
    """R_1, ..., R_m side by side, (l, q)."""
    cone: Any
    """The admissible weights."""

    def _set_blocks(self, delta: FloatArray | None = None) -> None:
        """Set what follows from blocks and labels, after a check that they match; `delta` are weights to keep."""
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
        factors = [_factor(f"blocks[{b}]", F[self.labels.labeled]) for b, F in enumerate(maps)]
        m, family = len(maps), self.order
        if delta is not None:
            family = kept_spectrum(delta, m, "block")
        elif not isinstance(family, Cone):
            family = MonotoneCone(m) if family else SpectrumCone(m, order=False)
        if family.q != m:
            raise InvalidInputError(f"order is a family of {family.q} weights, but there are {m} blocks.")
        cone = BlockCone(family, [R.shape[1] for R, _ in factors])
        vars(self).update(maps=maps, n_blocks=m, factors=factors, U=np.hstack([R for R, _ in factors]), cone=cone)

    def over_samples(self, v: FloatArray) -> FloatArray:
        """Return sum_b F_b Q_b v_b at all samples, (n,) or (n, K)."""
        f: FloatArray = np.zeros((self.labels.n_samples, *v.shape[1:]))
        for F, (_, Q), piece in zip(self.maps, self.factors, np.split(v, self.cone.starts[1:]), strict=True):
            if piece.any():
                f += F @ (piece if Q is None else Q @ piece).astype(F.dtype, copy=False)
        return f


def _factor(name: str, rows: AnyArray) -> tuple[FloatArray, FloatArray | None]:
    """Return R and Q with rows = R Q', R of as many columns as there are rows at most."""
    rows = np.asarray(rows, dtype=np.float64)
    finite_numbers(name, rows, "finite features")
    if rows.shape[1] <= rows.shape[0]:
        return rows, None
    Q, R = sla.qr(rows.T, mode="economic", check_finite=False)
    return np.ascontiguousarray(R.T), Q


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
        self._set_blocks(self.delta)
        self.renew()
        self._set_free_trace(self.n_blocks, "block")

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

    def __post_init__(self) -> None:
        self._set_blocks()
        if not isinstance(self.labels, Labels):
            T = _in_units(self.labels.values)
        else:
            T = self.labels.sign if self.labels.is_binary else (self.labels.sign + 1.0) / 2.0
        if self.centered:
            vars(self).update(U=self.U - self.U.mean(axis=0), target=T - T.mean(axis=0))
        else:
            vars(self)["target"] = T
        self._require_correlation(f"{self.n_blocks} blocks", "other features, or more labels")

    name = "KTA over blocks"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"delta": (self.n_blocks,)}

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
