"""Logs of searches over the labels of S3VMs: the tree, and what proves the bounds of its nodes."""

from __future__ import annotations

from dataclasses import dataclass

from specmargin.typing import AnyArray, FloatArray, IntArray

__all__ = ["BoxLog", "ProofLog"]


class _Tree:
    """What the logs of all searches over labels have: splits of nodes, two new ones each."""

    parent: IntArray

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """All arrays by their names: ``ProofLog(log.n_samples, **log.arrays)`` is the same log."""
        return {name: x for name, x in vars(self).items() if name != "n_samples"}

    @property
    def n_nodes(self) -> int:
        """Number of nodes, those that were split included."""
        return 2 * len(self.parent) + 1

    @property
    def n_leaves(self) -> int:
        """Number of nodes that were not split."""
        return self.n_nodes - len(set(self.parent.tolist()))


@dataclass(frozen=True, eq=False, repr=False)
class ProofLog(_Tree):
    """The tree of a search over the labels of unlabelled samples, and what bounds its leaves.

    Node 0 stands for all labelings. Split k divides what the node ``parent[k]`` stands for: the label of the sample
    ``sample[k]`` is -1 at node 2 k + 1 and +1 at node 2 k + 2. With the loss exp(-s f^2), which has no labels, its
    decision is at most ``at[k]`` at the one and at least that at the other. A node may be split several times: every
    split covers it.

    Evidence e bounds the objective from below at ``node[e]`` and all nodes under it: lines and parabolas below the
    losses, of the slopes and curvatures ``value[start[e] : start[e + 1]]``. Where their ``index`` i is below n, it is
    the slope of sample i, else the curvature, downwards, of sample i - n; what is not listed is 0.

    Parameters
    ----------
    n_samples : int
        n.
    parent, sample : ndarray of int, (n_splits,)
        The node that is split, which comes before its two children, and the sample, of all n.
    at : ndarray of shape (n_splits,)
        Decisions at which intervals are split; 0 for labels.
    node : ndarray of int, (n_evidence,)
        Node at which the evidence holds.
    start : ndarray of int, (n_evidence + 1,)
        Index at which its multipliers start, and where the last ones end.
    index, value : ndarray of shape (start[-1],)
        Which multiplier, and how large it is.

    Examples
    --------
    >>> import numpy as np
    >>> none = np.zeros(0, dtype=np.int64)
    >>> one = np.array([0])
    >>> ProofLog(5, one, np.array([3]), np.zeros(1), none, one, none, np.zeros(0))
    ProofLog: 2 leaves of 3 nodes, 0 bounds
    """

    n_samples: int
    parent: IntArray
    sample: IntArray
    at: FloatArray
    node: IntArray
    start: IntArray
    index: IntArray
    value: FloatArray

    def __repr__(self) -> str:
        return f"ProofLog: {self.n_leaves} leaves of {self.n_nodes} nodes, {len(self.node)} bounds"


@dataclass(frozen=True, eq=False, repr=False)
class BoxLog(_Tree):
    """The tree of an exact search in x, decision plus slack, and what proves its bounds and its boxes.

    Node 0 stands for all labelings; at node 2 k + 1 the label of the sample ``sample[k]`` is -1, at node 2 k + 2 it is
    +1, and all else is as at the node ``parent[k]``. Every node has a box, which holds all points of its part below the
    lowest level at which it was cut: what is proved of a part is the smaller one of its bound and that level.

    Step s is of the node ``node[s]``, and steps of one node follow each other. Its products

        weight (x_i - p)(x_j - q) >= 0,      (i, j) = ``pair``, (p, q) = ``ends``,

    hold in the box as it is before the step, and its triangles

        weight ((a x_i + b x_j + c x_k)^2 + x_i^2 + x_j^2 + x_k^2 - 4) / 2 >= 0,      (i, j, k, kind) = ``triangle``,

    wherever all |x| >= 1. J less the sum of both is a quadratic below J; a step may have those of the step ``like[s]``
    instead of its own. Its rows are multipliers of known labels, y_i x_i >= 1 for the samples ``index``: of a bound
    where ``side`` is 0, of the high side of x_j where it is j + 1, and of the low one where it is -(j + 1). The sides
    ``claim`` of the box, numbered so too, are at ``end`` after the step, where J <= ``level``.

    Parameters
    ----------
    n_samples : int
        n.
    parent, sample : ndarray of int, (n_splits,)
        The node that is split, which comes before its two children, and the sample, of all n.
    node : ndarray of int, (n_steps,)
    level : ndarray of shape (n_steps,)
        Infinite where no side is claimed.
    like : ndarray of int, (n_steps,)
        The step whose products are meant: s itself, or one before it.
    first_product, first_triangle, first_row, first_claim : ndarray of int, (n_steps + 1,)
        Places where the products, triangles, rows and claims of a step start, and where the last ones end.
    pair : ndarray of int, (n_products, 2)
        j = n stands for the factor 1; q is 0 then.
    ends : ndarray of shape (n_products, 2)
    weight : ndarray of shape (n_products,)
    triangle : ndarray of int, (n_triangles, 4)
        An index n stands for the constant 1. The signs a, b, c are alike where the kind is 0; where it is 1, 2 or 3,
        that of x_k, x_j or x_i differs.
    triangle_weight : ndarray of shape (n_triangles,)
        Weights of the triangles, >= 0.
    side : ndarray of int, (n_rows,)
    first_entry : ndarray of int, (n_rows + 1,)
        Places where the multipliers of a row start, and where the last ones end.
    index : ndarray of int, (n_entries,)
    value : ndarray of shape (n_entries,)
        Multipliers, >= 0.
    claim : ndarray of int, (n_claims,)
    end : ndarray of shape (n_claims,)

    Examples
    --------
    >>> import numpy as np
    >>> none, pairs, one = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64), np.array([0])
    >>> steps = (none, np.zeros(0), none), (one, pairs, np.zeros((0, 2)), np.zeros(0)), (one, np.zeros((0, 4)), none)
    >>> rows = (one, none), (one, none, np.zeros(0)), (one, none, np.zeros(0))
    >>> BoxLog(5, one, np.array([3]), *steps[0], *steps[1], *steps[2], *rows[0], *rows[1], *rows[2])
    BoxLog: 2 leaves of 3 nodes, 0 steps
    """

    n_samples: int
    parent: IntArray
    sample: IntArray
    node: IntArray
    level: FloatArray
    like: IntArray
    first_product: IntArray
    pair: IntArray
    ends: FloatArray
    weight: FloatArray
    first_triangle: IntArray
    triangle: IntArray
    triangle_weight: FloatArray
    first_row: IntArray
    side: IntArray
    first_entry: IntArray
    index: IntArray
    value: FloatArray
    first_claim: IntArray
    claim: IntArray
    end: FloatArray

    def __repr__(self) -> str:
        return f"BoxLog: {self.n_leaves} leaves of {self.n_nodes} nodes, {len(self.node)} steps"
