"""Weights of blocks by a rule of choice: alignment, a margin whose C leave-one-out chooses, one block, or all alike.

What follows is always ridge regression on the kernel that the weights make, its penalty by exact leave-one-out
(`ridge_on_blocks`). Weights that were learned from a label make its leave-one-out error optimistic: it ranks settings,
and is no estimate of the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, Targets
from specmargin.objectives.blocks import BlockAlignment, BlockMargin
from specmargin.objectives.held_out.leave_one_out import RidgePath, squared_error
from specmargin.results import SolveResult
from specmargin.rounding import first_least
from specmargin.solvers.spectrum.alignment import alignment
from specmargin.solvers.spectrum.block_margin import block_margin
from specmargin.typing import AnyArray, FloatArray, IntArray

__all__ = [
    "COSTS",
    "PENALTIES",
    "RULES",
    "BlockRidge",
    "LearnedWeights",
    "labeled_grams",
    "learn_weights",
    "ridge_on_blocks",
]

RULES = ("alignment", "margin", "ordered", "single", "mean")
"""How weights are found."""
COSTS = tuple(float(C) for C in 10.0 ** np.arange(-1, 2.1, 0.5))
"""C of the margin, per unit mean kernel diagonal."""
PENALTIES = tuple(float(p) for p in 10.0 ** np.arange(-4, 2.01, 0.25))
"""Penalties of the ridge regression, per unit mean kernel diagonal."""

_TOUCHING, _DEPENDENT, _ROUNDING = 1e-9, 1e-10, 1e-14  # multipliers, products of kernels, alignments: equal up to these


class LearnedWeights(NamedTuple):
    """Weights of blocks, and where they are from."""

    delta: FloatArray
    """Of sum one, (m,)."""
    results: list[SolveResult]
    """Of the problem that was solved, none where there was nothing to solve."""
    C: float | None
    """Of the margin."""


@dataclass(frozen=True, eq=False)
class BlockRidge:
    """Ridge regression on the kernel of weighted blocks: (K(delta) + penalty I) gamma + b = T, 1'gamma = 0."""

    delta: FloatArray
    penalty: float
    gamma: FloatArray
    b: FloatArray
    left_out: FloatArray
    """Decisions at each labelled sample by the labels of the others, (l,) or (l, K)."""
    error: float
    """Their mean squared error."""


def labeled_grams(maps: Sequence[AnyArray], labeled: IntArray) -> FloatArray:
    """Return the kernels of feature maps at the labelled samples, (m, l, l)."""
    rows = (np.asarray(F[labeled], dtype=np.float64) for F in maps)
    return np.stack([R @ R.T for R in rows])


def ridge_on_blocks(
    delta: FloatArray, grams: FloatArray, labels: Labels | Targets, penalties: Sequence[float] = PENALTIES
) -> BlockRidge:
    """Fit the ridge regression on K(delta), its penalty by exact leave-one-out, of equally good ones the first.

    Parameters
    ----------
    delta : ndarray of shape (m,)
        Weights of the blocks.
    grams : ndarray of shape (m, l, l)
        Their kernels at the labelled samples.
    labels : Labels or Targets
        Signs or numbers; weights, where they have such, are those of the squared losses.
    penalties : sequence of float
        Values to choose from.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> fitted = ridge_on_blocks(np.ones(1), (X @ X.T)[None], encode_labels([0, 0, 1, 1]))
    >>> (X[:, 0] * (X[:, 0] @ fitted.gamma) > 0).tolist()
    [False, False, True, True]
    """
    wanted = labels.sign if isinstance(labels, Labels) else labels.values
    if labels.n_labeled < 2:  # a constant; without the sample nothing is known
        unknown = np.full(wanted.shape, np.nan)
        return BlockRidge(delta, float(max(penalties)), np.zeros_like(wanted), wanted[0], unknown, np.nan)
    path = RidgePath(np.tensordot(delta, grams, 1), wanted, weights=labels.weights)
    decisions = path.leave_one_out(penalties)
    errors = squared_error(decisions, wanted)
    best = int(first_least(errors)) if np.isfinite(errors).any() else len(penalties) - 1
    gamma, b = path.solution(float(penalties[best]))
    return BlockRidge(delta, float(penalties[best]), gamma, np.asarray(b), decisions[best], float(errors[best]))


def learn_weights(
    blocks: Any,
    labels: Labels | Targets,
    rule: str = "alignment",
    *,
    loss: str = "squared",
    costs: Sequence[float] = COSTS,
    penalties: Sequence[float] = PENALTIES,
    smooth_first: IntArray | None = None,
    tol: float = 1e-9,
) -> LearnedWeights:
    """Learn the weights of blocks.

    Parameters
    ----------
    blocks : sequence of ndarray of shape (n, d_b), or an object with such ``blocks``
        Feature maps of trace n.
    labels : Labels or Targets
        Labels of two classes or more; numbers have no margin.
    rule : {"alignment", "margin", "ordered", "single", "mean"}, default "alignment"
        "alignment" solves `BlockAlignment`; of weights that are aligned as well, as all are where two classes have one
        label each, it takes those of the fewest of the smoothest blocks. "margin" solves `BlockMargin`, its C by the
        leave-one-out error of the ridge regression with penalty 1 / C on the kernel found; "ordered" the same with
        weights that do not rise from the smoothest block to the roughest. "single" takes the one block of least
        leave-one-out error, the smoothest of equal ones, "mean" all alike.
    loss : {"squared", "squared_hinge", "hinge"}, default "squared"
        Loss of the margin.
    costs : sequence of float
        The C to choose from.
    penalties : sequence of float
        Those of the ridge regression, at the best of which "single" judges each block.
    smooth_first : ndarray of int of shape (m,), optional
        Blocks from the smoothest on; by default the last one is the smoothest.
    tol : float, default 1e-9
        Relative gap to be proved.

    Raises
    ------
    ValueError
        If there is no such rule, or a margin is asked for numbers.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[1.0, 0.3], [-1.0, 0.2], [1.0, -0.4], [-1.0, -0.3]])
    >>> learn_weights([X[:, :1], X[:, 1:]], encode_labels([1, 0, 1, 0])).delta.round(6).tolist()
    [1.0, 0.0]
    """
    if rule not in RULES:
        raise InvalidInputError(f"rule={rule!r} is unknown; take one of {', '.join(RULES)}.")
    maps = tuple(getattr(blocks, "blocks", blocks))
    m = len(maps)
    smoothest = np.arange(m)[::-1] if smooth_first is None else np.asarray(smooth_first)
    if rule == "alignment":
        result = _aligned(BlockAlignment(blocks, _without_weights(labels)), smoothest, tol)
        return LearnedWeights(np.asarray(result.variables["delta"]), [result], None)
    if rule == "mean":
        return LearnedWeights(np.full(m, 1.0 / m), [], None)
    if rule == "single":
        grams = labeled_grams(maps, labels.labeled)
        errors = np.array([ridge_on_blocks(one, grams, labels, penalties).error for one in np.eye(m)[smoothest]])
        return LearnedWeights(np.eye(m)[smoothest[first_least(errors)]], [], None)
    if not isinstance(labels, Labels):
        raise InvalidInputError(
            f"rule={rule!r} is a margin of classes; for numbers take 'alignment', 'single' or 'mean'."
        )
    order = smoothest if rule == "ordered" else np.arange(m)
    # Every C is solved on the labelled rows; the decisions at all samples are wanted once.
    rows = [np.asarray(maps[b])[labels.labeled] for b in order]
    alone = replace(labels, labeled=np.arange(labels.n_labeled), n_samples=labels.n_labeled)
    margin = BlockMargin(rows, alone, C=costs[0], loss=loss, order=rule == "ordered")
    fits = []
    for C in costs:
        result = block_margin(margin.with_(C=float(C)), tol=tol)
        delta = np.asarray(result.variables["delta"])
        fits.append((ridge_on_blocks(delta, margin.grams, labels, [1.0 / C]).error, float(C), delta, result))
    _, C, delta, result = fits[first_least(np.array([error for error, *_ in fits]))]
    learned = np.empty(m)
    learned[order] = delta
    whole = BlockMargin([maps[b] for b in order], labels, C=C, loss=loss, order=rule == "ordered")
    f = whole.decisions_at(result.variables["v"], result.variables["b"])
    return LearnedWeights(learned, [replace(result, variables={**result.variables, "f": f})], C)


def _aligned(obj: BlockAlignment, smoothest: IntArray, tol: float) -> SolveResult:
    """Return the weights of largest alignment; where others have it, too, those of the fewest of the smoothest blocks.

    The best kernel on the labelled samples is unique. Its weights are, if the kernels of the blocks that have weights,
    or multipliers of zero, are independent.
    """
    result = alignment(obj, tol=tol)
    weights, best = np.asarray(result.variables["delta"]), float(result.variables["alignment"])
    products = obj.cone.sums(obj.cone.sums(obj.M).T)
    lengths = np.sqrt(products.diagonal())
    touching = (lengths > 0) & ((weights > 0) | (result.duals["order"] <= _TOUCHING))
    cosines = products[touching][:, touching] / np.outer(lengths[touching], lengths[touching])
    if np.linalg.eigvalsh(cosines)[0] > _DEPENDENT:
        return result
    for k in range(1, obj.n_blocks):
        few = smoothest[:k]
        if not weights[smoothest[k:]].any():
            break
        try:
            part = alignment(BlockAlignment([obj.maps[b] for b in few], obj.labels, centered=obj.centered), tol=tol)
        except InvalidInputError:  # none of them is like the labels
            continue
        if part.variables["alignment"] >= (1.0 - _ROUNDING) * best:
            delta = np.zeros(obj.n_blocks)
            delta[few] = part.variables["delta"]
            certificate, value = obj.certificate({"delta": delta}), np.asarray(part.variables["alignment"])
            variables = {"delta": delta, "kappa": obj.cone.drops(obj.cone.over_columns(delta)), "alignment": value}
            return replace(result, variables=variables, certificate=certificate, status=certificate.status(tol))
    return result


def _without_weights(labels: Labels | Targets) -> Labels | Targets:
    """Return labels for an alignment, which has no place for their weights."""
    return replace(labels, weights=None)
