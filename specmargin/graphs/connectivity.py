"""The connected components of a graph, and what they mean for learning.

A Laplacian does not relate two components: a component without a labelled point learns nothing from the graph. On
real data a mutual neighbour graph has hundreds of components, and every method over its spectrum does no better than
chance. `components` counts them, `warn_components` warns the user.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from specmargin.exceptions import DisconnectedGraphWarning
from specmargin.graphs.adjacency import check_adjacency
from specmargin.typing import BoolArray, IntArray, SparseArray

__all__ = ["Components", "components", "components_of", "unconnected", "warn_components"]


@dataclass(frozen=True, eq=False)
class Components:
    """Connected components, the largest first.

    Parameters
    ----------
    n : int
        Their number.
    index : ndarray of shape (n_samples,)
        Component of every node.
    sizes : ndarray of shape (n,)
        Nodes per component, not increasing.
    n_isolated : int
        Components of one node.
    """

    n: int
    index: IntArray
    sizes: IntArray
    n_isolated: int


def components(W: SparseArray | IntArray) -> Components:
    """Return the connected components of an adjacency.

    Parameters
    ----------
    W : sparse matrix of shape (n_samples, n_samples)
        See `check_adjacency`. Or the component of every node, (n_samples,), where these are known by number.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> c = components(sp.csr_array([[0, 0, 0], [0, 0, 1], [0, 1, 0]]))
    >>> c.n, c.index.tolist(), c.sizes.tolist(), c.n_isolated
    (2, [1, 0, 0], [2, 1], 1)
    """
    is_index = isinstance(W, np.ndarray) and W.ndim == 1 and W.dtype.kind in "iu"
    return components_of(W if is_index else check_adjacency(W))


def components_of(W: SparseArray | IntArray) -> Components:
    """Return the components of an adjacency that has been checked, as `components` does."""
    if isinstance(W, np.ndarray):
        values, raw = np.unique(W, return_inverse=True)
        n = len(values)
    else:
        n, raw = csgraph.connected_components(W, directed=False)
    sizes = np.bincount(raw, minlength=n)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.arange(n)
    return Components(int(n), rank[raw], sizes[order].astype(np.intp), int(np.count_nonzero(sizes == 1)))


def warn_components(W: SparseArray | IntArray, labeled: IntArray | BoolArray, stacklevel: int = 2) -> Components:
    """Warn once if the graph is not connected, and say what is predicted in components without a label.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        Adjacency as `check_adjacency` returns it; or the component of every node, (n,).
    labeled : ndarray
        Indices (or the mask) of the labelled samples.
    stacklevel : int, default 2
        The same as in `warnings.warn`: 2 points at the line that calls this function, 3 at its caller's.

    Returns
    -------
    Components

    Warns
    -----
    DisconnectedGraphWarning
        If there is more than one component, an isolated node included.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> warn_components(sp.csr_array([[0, 1], [1, 0]]), np.array([0])).n
    1
    """
    parts = components(W)
    if parts.n > 1:
        warnings.warn(unconnected(parts, np.asarray(labeled)), DisconnectedGraphWarning, stacklevel=stacklevel)
    return parts


KERNEL = "by the intercept/offset and, for kernel methods, by the kernel expansion"
"""How samples of components without a label are predicted."""
INTERCEPT = "by the intercept alone, whatever they are: their eigenvectors are left out"
"""The same over a spectrum."""


def unconnected(parts: Components, labeled: Any, by: str = KERNEL) -> str:
    """Return the text of a warning about several components: how samples without a label are predicted, the remedy."""
    shown = ", ".join(str(size) for size in parts.sizes[:3])
    text = (
        f"the graph has {parts.n} components (sizes {shown}{', ...' if parts.n > 3 else ''}; "
        f"{parts.n_isolated} isolated nodes)"
    )
    has_label = np.zeros(parts.n, dtype=bool)
    has_label[parts.index[labeled]] = True
    if has_label.all():
        text += ", each with a labelled sample; nothing is learnt across them: each is decided by its own labels."
    else:
        text += (
            f", of which {np.count_nonzero(~has_label)} with {parts.sizes[~has_label].sum()} samples hold no label: "
            f"the graph says nothing of these samples, and they are predicted {by}. Label one of each."
        )
    return text + (
        " To connect a graph of neighbours, raise n_neighbors, or take its kind 'symmetric' or 'mutual+mst'; to one "
        "that was passed add the edges that it lacks, if any."
    )
