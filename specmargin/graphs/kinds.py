"""How neighbour lists become an undirected graph, each kind a function of this module.

Row i lists its k nearest others; j need not list i in return. A new kind is one function here under
`neighbor_kind`: it takes the lists and returns the edges. Checks, messages and docstrings list `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.sparse as sp

from specmargin.graphs._spanning import spanning_edges
from specmargin.typing import SparseArray

if TYPE_CHECKING:
    from specmargin.graphs.neighbors import NeighborSearch

__all__ = ["KINDS", "neighbor_kind"]

Kind: TypeAlias = Callable[[SparseArray, "NeighborSearch", int], SparseArray]
"""From the lists (n, n), 1 where row i lists j, the search and k to the symmetric edges (n, n)."""

KINDS: dict[str, Kind] = {}
"""The kinds by name."""


def neighbor_kind(name: str) -> Callable[[Kind], Kind]:
    """Register a function as the kind of that name."""

    def register(kind: Kind) -> Kind:
        KINDS[name] = kind
        return kind

    return register


@neighbor_kind("symmetric")
def either_end(listed: SparseArray, search: NeighborSearch, k: int) -> SparseArray:
    """Join two rows if either lists the other."""
    return listed.maximum(listed.T)


@neighbor_kind("mutual")
def both_ends(listed: SparseArray, search: NeighborSearch, k: int) -> SparseArray:
    """Join two rows if both list each other."""
    return listed.minimum(listed.T)


@neighbor_kind("mutual+mst")
def both_ends_or_tree(listed: SparseArray, search: NeighborSearch, k: int) -> SparseArray:
    """Join as "mutual" does, and along a minimum spanning tree of the data (exact up to 3000 rows)."""
    edges = both_ends(listed, search, k)
    start, end = spanning_edges(search, k)
    tree = sp.csr_array((np.ones(len(start)), (start, end)), shape=edges.shape)
    return edges.maximum(tree.maximum(tree.T))
